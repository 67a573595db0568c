# Bags from a raster whose targets are known only to lie near some points.

#' Bags from a raster with imprecise target points
#'
#' A hyperspectral cube with ground truth from a GPS receiver is multiple-instance data: the target
#' is in one of the pixels near the point, but it is not known in which. Each point gives a
#' positive bag, the pixels of its halo; negative bags consist of pixels outside all haloes. This
#' needs the package terra, which reads GeoTIFF, ENVI and many other formats.
#'
#' @section Haloes:
#' The halo of a point is the pixel that contains the point and all pixels whose centre is at most
#' `halo` away from it, in the units of the map: usually metres, or pixels if the raster has no
#' coordinate system. A good value is the error of the positions plus the radius of a target. A
#' raster in degrees is refused: use `terra::project()` first.
#'
#' A pixel that lies in the haloes of two points is in both bags, so that each bag holds its
#' target.
#'
#' Pixels with a missing or infinite band are left out. If no pixel of a halo remains, its point
#' gives no bag, with a warning.
#'
#' @param x a `SpatRaster` of terra, one layer per band. It is read in blocks; only the pixels of
#'   bags are kept.
#' @param points the targets: a `SpatVector` of points, or a matrix or data frame with columns `x`
#'   and `y`, or with two columns, in the coordinates of the map.
#' @param halo number >= 0, in the units of the map: how far a target may be from its point, see
#'   below.
#' @param negative `"random"` (default): negative bags are random pixels outside all haloes.
#'   `"tiles"`: they are square tiles of the raster, drawn at random, without the pixels of haloes.
#' @param n_negative,negative_size whole numbers >= 1, default 50 each: number of negative bags,
#'   and of pixels per bag (for tiles, rounded up to a square, without the pixels of haloes); fewer
#'   if the raster does not have as many.
#' @param ... must be empty: an unknown argument is an error.
#' @return `bags()`: [bags()] with the ids `target<i>` for point i, and `background<j>`, and the
#'   names of the layers as names of the features. `bag_cells()`: a data frame with one row per
#'   instance, in the order of `as.matrix()`: its `bag` and its `cell` in the raster, for
#'   `terra::xyFromCell()`.
#' @seealso [predict_raster()], [pd_far()], `vignette("hyperspectral")`
#' @name bags.SpatRaster
#' @examplesIf requireNamespace("terra", quietly = TRUE)
#' set.seed(1)
#' area <- terra::ext(0, 40, 0, 40)
#' cube <- terra::rast(array(rexp(2000), c(20, 20, 5)), extent = area, crs = "local")
#' b <- bags(cube, points = data.frame(x = c(10, 31), y = c(20, 8)), halo = 4, n_negative = 5)
#' b
#' head(bag_cells(b), 3)
NULL

#' @rdname bags.SpatRaster
#' @export
bags.SpatRaster <- function(x, points, halo, ..., negative = c("random", "tiles"), n_negative = 50,
                            negative_size = 50) {
  check_dots_empty(..., known = names(formals()))
  if (missing(points) || missing(halo)) stop_fumi("`points` and `halo` must both be given.")
  check_map(x, "x")
  points <- check_map_points(points, x)
  halo <- check_number(halo, "halo", min = 0)
  negative <- check_choice(negative, c("random", "tiles"), "negative")
  n_negative <- check_count(n_negative, "n_negative")
  negative_size <- check_count(negative_size, "negative_size")
  complete <- complete_cells(x)
  near <- halo_cells(x, points, halo)
  positive <- positive_cells(near, complete)
  free <- setdiff(which(complete), unlist(near))
  away <- if (negative == "random") random_cells(free, n_negative, negative_size)
          else tile_cells(free, terra::ncol(x), n_negative, negative_size)
  if (!length(away))
    stop_fumi("`halo` must leave pixels without a target for negative bags, but ", format(halo),
              " leaves none.")
  cell <- unlist(c(positive, away), use.names = FALSE)
  values <- as.matrix(terra::extract(x, cell))
  colnames(values) <- names(x)
  size <- lengths(c(positive, away))
  b <- bags(values, bag = rep(names(size), size),
            label = rep(c(1, 0), c(length(positive), length(away))))
  b$cell <- cell[b$order]
  b
}

#' @rdname bags.SpatRaster
#' @param b [bags()] that were made from a raster.
#' @export
bag_cells <- function(b) {
  if (!inherits(b, "bags") || is.null(b$cell))
    stop_fumi("`b` must be bags that were made from a raster, not ", describe(b), ".",
              class = "type")
  data.frame(bag = in_user_order(b, b$ids[b$bag]), cell = in_user_order(b, b$cell))
}

# ---- cells of bags -----------------------------------------------------------------------------

positive_cells <- function(near, complete, call = rlang::caller_env()) {
  cells <- lapply(near, function(cell) cell[complete[cell]])
  names(cells) <- paste0("target", seq_along(cells))
  empty <- lengths(cells) == 0
  if (all(empty))
    stop_fumi("`points` must have pixels with data within `halo`, but none of the ", length(cells),
              " has.", call = call)
  if (any(empty))
    warn_fumi("`points` without a pixel with data within `halo` give no bag: ",
              enumerate(which(empty)), ".", class = "points", call = call)
  cells[!empty]
}

random_cells <- function(free, n_bags, size) {
  drawn <- free[sample.int(length(free), min(length(free), n_bags * size))]
  named_background(split(drawn, (seq_along(drawn) - 1) %/% size))
}

tile_cells <- function(free, width, n_bags, size) {
  side <- ceiling(sqrt(size))
  tiles <- split(free, (free - 1) %/% width %/% side * width + (free - 1) %% width %/% side)
  named_background(tiles[sort(sample.int(length(tiles), min(length(tiles), n_bags)))])
}

named_background <- function(cells) stats::setNames(cells, paste0("background", seq_along(cells),
                                                                  recycle0 = TRUE))

# The cells of each point's halo, by their numbers. The distance may exceed `halo` by rounding.
halo_cells <- function(x, points, halo) {
  across <- terra::xFromCol(x, seq_len(terra::ncol(x)))
  down <- terra::yFromRow(x, seq_len(terra::nrow(x)))
  reach <- halo + 1e-6 * min(terra::res(x))
  own <- terra::cellFromXY(x, points)
  lapply(seq_len(nrow(points)), function(i) {
    columns <- which(abs(across - points[i, 1]) <= reach)
    rows <- which(abs(down - points[i, 2]) <= reach)
    near <- outer((across[columns] - points[i, 1])^2, (down[rows] - points[i, 2])^2, `+`) <= reach^2
    cell <- outer(columns, (rows - 1) * terra::ncol(x), `+`)[near]
    sort(union(cell, own[i][is.finite(own[i])]))
  })
}

# ---- rasters --------------------------------------------------------------------------------

check_map <- function(x, name, call = rlang::caller_env()) {
  check_package("terra", "to work with a raster", call)
  if (!inherits(x, "SpatRaster"))
    stop_fumi("`", name, "` must be a SpatRaster of terra, not ", describe(x), ".", class = "type",
              call = call)
  if (!terra::hasValues(x))
    stop_fumi("`", name, "` must have values, but it has none.", class = "empty", call = call)
}

# Coordinates as a matrix with two columns, on the map of `x`.
check_map_points <- function(points, x, call = rlang::caller_env()) {
  if (isTRUE(terra::is.lonlat(x, warn = FALSE)))
    stop_fumi("`halo` must be a distance on a map, but the raster is in degrees: project it with ",
              "`terra::project()`.",
              class = "crs", call = call)
  if (inherits(points, "SpatVector") && terra::geomtype(points) == "points") {
    known <- nzchar(terra::crs(points)) && nzchar(terra::crs(x))
    points <- terra::crds(if (known) terra::project(points, terra::crs(x)) else points)
  }
  if (is.data.frame(points) || is.matrix(points)) {
    xy <- if (all(c("x", "y") %in% colnames(points))) points[, c("x", "y")] else points
    xy <- as.matrix(xy)
    if (is.numeric(xy) && ncol(xy) == 2 && nrow(xy) > 0 && all(is.finite(xy))) return(unname(xy))
  }
  stop_fumi("`points` must be points of terra, or a matrix or data frame with finite columns `x` ",
            "and `y`, not ", describe(points), ".", class = "type", call = call)
}

# The raster in blocks of whole rows: what `each` makes of the values of a block (cells x layers)
# and its first row.
for_blocks <- function(x, rows, each) {
  terra::readStart(x)
  on.exit(terra::readStop(x))
  first <- seq(1, terra::nrow(x), by = rows)
  lapply(first, function(row) {
    n <- min(rows, terra::nrow(x) - row + 1)
    each(terra::readValues(x, row = row, nrows = n, mat = TRUE), row, n)
  })
}

# As many rows as 16 MB hold.
block_rows <- function(x) max(1, floor(2e6 / (terra::ncol(x) * terra::nlyr(x))))

complete_rows <- function(values) rowSums(!is.finite(values)) == 0

complete_cells <- function(x) {
  unlist(for_blocks(x, block_rows(x), function(values, row, n) complete_rows(values)))
}
