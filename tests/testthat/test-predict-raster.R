scored_cube <- function() {
  set.seed(1)
  cube <- small_cube()
  values <- terra::values(cube)
  values[c(3, 77), 2] <- c(NA, Inf)
  terra::values(cube) <- values
  b <- bags(cube, rbind(c(110, 60), c(120, 70)), 3, n_negative = 10, negative_size = 6)
  list(cube = cube, values = values, missing = c(3, 77), fit = fit_to(b))
}

test_that("the map holds what predict() says of its pixels, whatever the blocks", {
  s <- scored_cube()
  expected <- predict(s$fit, s$values[-s$missing, ])$.score
  for (rows in list(NULL, 1, 5, 100)) {
    map <- predict_raster(s$fit, s$cube, rows = rows)
    score <- terra::values(map)
    expect_identical(which(is.na(score)), as.integer(s$missing))
    expect_equal(score[-s$missing], expected, tolerance = 1e-12)
  }
  expect_true(terra::compareGeom(map, s$cube, lyrs = FALSE))
  expect_identical(names(map), "score")
  expect_identical(terra::values(predict(s$fit, s$cube)), score)
})

test_that("the map goes to a file with all its digits, and no half file remains", {
  s <- scored_cube()
  file <- tempfile(fileext = ".tif")
  on.exit(unlink(file))
  map <- predict_raster(s$fit, s$cube, file, rows = 5)
  again <- terra::rast(file)
  expect_equal(terra::values(again)[-s$missing], predict(s$fit, s$values[-s$missing, ])$.score,
               tolerance = 1e-12)
  expect_true(terra::compareGeom(again, s$cube, lyrs = FALSE))
  expect_error(predict_raster(s$fit, s$cube, file), "`filename`", class = "fumi_error_file")
  expect_error(predict_raster(s$fit, again, file, overwrite = TRUE), "`filename`",
               class = "fumi_error_file")
  expect_silent(predict_raster(s$fit, s$cube, file, overwrite = TRUE))
  half <- tempfile(fileext = ".tif")
  values <- s$values
  values[150, 1] <- 1e308
  terra::values(s$cube) <- values
  expect_error(predict_raster(s$fit, s$cube, half, rows = 2), "`new_data`",
               class = "fumi_error_scale")
  expect_false(file.exists(half))
})

test_that("classes, probabilities and codes are maps too", {
  s <- scored_cube()
  inside <- s$values[-s$missing, ]
  prob <- terra::values(predict_raster(s$fit, s$cube, type = "prob"))
  expect_equal(prob[-s$missing, "prob"], predict(s$fit, inside, "prob")$.pred_1, tolerance = 1e-12,
               ignore_attr = TRUE)
  file <- tempfile(fileext = ".tif")
  on.exit(unlink(file))
  expect_silent(class <- predict_raster(s$fit, s$cube, file, type = "class", threshold = 2))
  expected <- predict(s$fit, inside, "class", threshold = 2)$.pred_class
  expect_identical(terra::values(class)[-s$missing] == 1, expected == "1")
  expect_identical(as.character(terra::levels(class)[[1]]$class), c("0", "1"))
  codes <- predict_raster(s$fit, s$cube, type = "codes", rows = 4)
  expect_identical(names(codes), c("target1", "background1", "background2"))
  expect_equal(terra::values(codes)[-s$missing, ], predict(s$fit, inside, "codes"),
               tolerance = 1e-12)
  subace <- predict_raster(s$fit, s$cube, detector = "subace", background = inside, rows = 4)
  expect_equal(terra::values(subace)[-s$missing],
               predict(s$fit, inside, detector = "subace", background = inside)$.score,
               tolerance = 1e-12)
})

test_that("layers are matched by name, and mistakes come before a file is begun", {
  s <- scored_cube()
  expect_equal(terra::values(predict_raster(s$fit, s$cube[[4:1]])),
               terra::values(predict_raster(s$fit, s$cube)))
  file <- tempfile(fileext = ".tif")
  expect_error(predict_raster(s$fit, s$cube[[1:3]], file), "band4", class = "fumi_error_column")
  expect_error(predict_raster(s$fit, s$cube, file, colour = 1), "`colour`",
               class = "fumi_error_argument")
  expect_false(file.exists(file))
  expect_error(predict_raster(s$fit, s$values), "`new_data`", class = "fumi_error_type")
  expect_error(predict_raster(s$fit, s$cube, 1), "`filename`", class = "fumi_error_file")
  expect_error(predict_raster(s$fit, s$cube, rows = 0), "`rows`", class = "fumi_error_input")
  expect_error(predict(s$fit, s$cube, level = "bag"), "`level`", class = "fumi_error_input")
})
