test_that("a point makes a positive bag of its halo, and the other pixels make negative ones", {
  set.seed(1)
  cube <- small_cube()
  points <- cbind(c(107.3, 125.1, 99), c(58.2, 71, 50.5))
  b <- bags(cube, points, halo = 3.1, n_negative = 6, negative_size = 10)
  cells <- bag_cells(b)
  near <- lapply(1:3, function(i) cells_near(cube, points[i, ], 3.1))
  for (i in 1:3)
    expect_identical(cells$cell[cells$bag == paste0("target", i)], as.numeric(near[[i]]))
  expect_identical(summary(b)$instances, c(lengths(near), rep(10L, 6)))
  expect_identical(b$label, rep(c(TRUE, FALSE), c(3, 6)))
  away <- cells$cell[grepl("background", cells$bag)]
  expect_identical(intersect(away, unlist(near)), numeric())
  expect_identical(anyDuplicated(away), 0L)
  expect_identical(as.matrix(b), terra::values(cube)[cells$cell, ])
  expect_identical(b$features, paste0("band", 1:4))
  set.seed(1)
  expect_identical(as_bags(small_cube(), points, halo = 3.1, n_negative = 6, negative_size = 10), b)
})

test_that("points may be a data frame, a matrix or a vector layer on another map", {
  cube <- small_cube()
  xy <- data.frame(id = 1:2, y = c(58, 70), x = c(108, 122))
  same <- function(points) {
    set.seed(2)
    bags(cube, points, 4, n_negative = 3)
  }
  b <- same(xy)
  expect_identical(same(as.matrix(xy[c("x", "y")])), b)
  expect_identical(same(unname(as.matrix(xy[c("x", "y")]))), b)
  layer <- terra::vect(xy, geom = c("x", "y"), crs = "EPSG:32616")
  expect_identical(same(layer), b)
  expect_identical(same(terra::project(layer, "EPSG:32617")), b)
})

test_that("a halo of 0 is the pixel of the point, and shared pixels are in both bags", {
  cube <- small_cube()
  b <- bags(cube, rbind(c(100.1, 73.9), c(129.9, 50.1)), halo = 0, n_negative = 2)
  expect_identical(bag_cells(b)$cell[1:2], c(1, 180))
  both <- bag_cells(bags(cube, rbind(c(110, 60), c(112, 60)), halo = 3, n_negative = 2))
  shared <- intersect(both$cell[both$bag == "target1"], both$cell[both$bag == "target2"])
  expect_identical(shared, as.numeric(intersect(cells_near(cube, c(110, 60), 3),
                                                cells_near(cube, c(112, 60), 3))))
  expect_gt(length(shared), 0)
})

test_that("tiles are squares without the haloes", {
  set.seed(3)
  cube <- small_cube()
  point <- c(107, 67)
  cells <- bag_cells(bags(cube, rbind(point), 3, negative = "tiles", n_negative = 100,
                          negative_size = 9))
  away <- cells[cells$bag != "target1", ]
  expect_setequal(away$cell, setdiff(1:180, cells_near(cube, point, 3)))
  for (tile in split(away$cell, away$bag)) {
    place <- terra::rowColFromCell(cube, tile)
    expect_lte(max(apply(place, 2, function(v) diff(range(v)))), 2)
    expect_identical(nrow(unique((place - 1) %/% 3)), 1L)
  }
  few <- bags(cube, rbind(point), 3, negative = "tiles", n_negative = 4, negative_size = 9)
  expect_length(few, 5)
})

test_that("pixels without data are left out, and points without pixels are named", {
  cube <- small_cube()
  values <- terra::values(cube)
  gone <- cells_near(cube, c(110, 60), 3)
  values[gone, 2] <- NA
  values[1, 3] <- Inf
  terra::values(cube) <- values
  points <- rbind(c(110, 60), c(120, 70), c(0, 0))
  expect_warning(b <- bags(cube, points, 3, n_negative = 99, negative_size = 5),
                 "give no bag: 1, 3", class = "fumi_warning_points")
  expect_identical(b$ids[b$label], "target2")
  expect_setequal(bag_cells(b)$cell, setdiff(2:180, gone))
  expect_error(bags(cube, points[-2, ], 3), "`points`", class = "fumi_error_input")
  expect_error(bags(cube, points[2, , drop = FALSE], 100), "`halo`", class = "fumi_error_input")
})

test_that("cells stay with their instances when bags are taken or put together", {
  cube <- small_cube()
  b <- bags(cube, rbind(c(110, 60), c(120, 70)), 3, n_negative = 4, negative_size = 6)
  values <- terra::values(cube)
  some <- b[c("background2", "target2")]
  expect_identical(as.matrix(some), values[bag_cells(some)$cell, ])
  again <- c(some, b["target1"])
  expect_identical(as.matrix(again), values[bag_cells(again)$cell, ])
  expect_error(bag_cells(bags(diag(2), 1:2, 0:1)), "`b`", class = "fumi_error_type")
})

test_that("the raster is read in blocks and goes through a fitter", {
  set.seed(4)
  cube <- small_cube(values = c(NA, stats::rexp(719)))
  expect_identical(unlist(for_blocks(cube, 5, function(values, row, n) complete_rows(values))),
                   1:180 != 1)
  expect_identical(unlist(for_blocks(cube, 5, function(values, row, n) n)), c(5, 5, 2))
  file <- tempfile(fileext = ".tif")
  on.exit(unlink(file))
  terra::writeRaster(cube, file, datatype = "FLT8S")
  set.seed(5)
  b <- bags(cube, rbind(c(110, 60)), 3, n_negative = 4)
  set.seed(5)
  expect_identical(bags(terra::rast(file), rbind(c(110, 60)), 3, n_negative = 4), b)
  set.seed(5)
  fit <- mi_ace(cube, points = rbind(c(110, 60)), halo = 3, n_negative = 4)
  expect_equal(coef(fit), coef(mi_ace(b)))
})

test_that("what is no map, point or length is refused", {
  cube <- small_cube()
  point <- rbind(c(110, 60))
  for (bad in list(1, "a", cbind(1:2, 1:2, 1:2), cbind(NA, 1), matrix(0, 0, 2),
                   data.frame(x = "a", y = 1), terra::as.polygons(terra::ext(cube))))
    expect_error(bags(cube, bad, 3), "`points`", class = "fumi_error_type")
  expect_error(bags(cube, point, -1), "`halo`", class = "fumi_error_input")
  expect_error(dlfumi(cube), "`points` and `halo`", class = "fumi_error_input")
  expect_error(bags(cube, point, 3, negative = "all"), "`negative`", class = "fumi_error_input")
  expect_error(bags(cube, point, 3, n_negative = 0), "`n_negative`", class = "fumi_error_input")
  expect_error(bags(cube, point, 3, size = 2), "`size`", class = "fumi_error_argument")
  expect_error(bags(terra::rast(nrows = 2, ncols = 2), point, 3), "`x`", class = "fumi_error_empty")
  terra::crs(cube) <- "EPSG:4326"
  expect_error(bags(cube, point, 3), "degrees", class = "fumi_error_crs")
})
