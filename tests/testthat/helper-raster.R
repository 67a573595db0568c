# A small cube on a map with pixels of 2 m, its values given or random, in the order of the cells.
small_cube <- function(rows = 12, columns = 15, bands = 4,
                       values = stats::rexp(rows * columns * bands)) {
  skip_if_not_installed("terra")
  cube <- terra::rast(nrows = rows, ncols = columns, nlyrs = bands, xmin = 100,
                      xmax = 100 + 2 * columns, ymin = 50,
                      ymax = 50 + 2 * rows, crs = "EPSG:32616",
                      names = paste0("band", seq_len(bands)))
  terra::values(cube) <- matrix(values, rows * columns)
  cube
}

# The cells within `halo` of a point, one by one, and the cell that holds it.
cells_near <- function(cube, point, halo) {
  centre <- terra::xyFromCell(cube, seq_len(terra::ncell(cube)))
  distance <- sqrt((centre[, 1] - point[1])^2 + (centre[, 2] - point[2])^2)
  sort(union(which(distance <= halo), stats::na.omit(terra::cellFromXY(cube, rbind(point)))))
}
