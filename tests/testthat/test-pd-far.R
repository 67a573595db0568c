# A map of pixels of 2 m with background scores 1..n in the order of the cells and three targets.
detected <- function(..., unit = "m2") {
  map <- small_cube(bands = 1, values = 1:180)
  points <- rbind(c(105, 57), c(117, 61), c(125, 69))
  own <- terra::cellFromXY(map, points)
  values <- terra::values(map)
  for (i in 1:3) values[cells_near(map, points[i, ], 2)] <- -1
  values[own + 1] <- c(200, 170.5, 3.5)
  terra::values(map) <- values
  list(map = map, points = points, result = pd_far(map, points, 2, ..., unit = unit))
}

test_that("targets are found by the largest score of their haloes, and the others are false alarms", {
  d <- detected()
  outside <- terra::values(d$map)[-unlist(lapply(1:3, function(i) cells_near(d$map, d$points[i, ], 2)))]
  threshold <- c(200, 170.5, 3.5)
  alarms <- vapply(threshold, function(t) sum(outside >= t), 1)
  expect_equal(d$result$curve, data.frame(threshold = threshold, pd = 1:3 / 3,
                                          false_alarms = alarms,
                                          far = alarms / (4 * length(outside))))
  expect_equal(d$result$area, 4 * length(outside))
  expect_equal(as.data.frame(tidy(d$result)), d$result$curve)
  expect_equal(detected(unit = "km2")$result$curve$far, 1e6 * d$result$curve$far)
  expect_equal(detected(unit = "ha")$result$curve$far, 1e4 * d$result$curve$far)
  expect_equal(detected(unit = "pixel")$result$curve$far, 4 * d$result$curve$far)
})

test_that("ties, missing scores and targets without a score count as they should", {
  map <- small_cube(rows = 1, columns = 10, bands = 1, values = c(5, NA, 5, 5, 1, 1, 1, Inf, 1, 2))
  points <- cbind(c(101, 107, 119), 51)
  expect_warning(r <- pd_far(map, rbind(points, c(103, 51)), 0), "not found: 4",
                 class = "fumi_warning_points")
  expect_identical(r$curve$threshold, c(5, 2))
  expect_identical(r$curve$pd, c(.5, .75))
  # Outside: 5, 1, 1, 1, 1; the infinite one and those of the targets do not count.
  expect_identical(r$curve$false_alarms, c(1L, 1L))
  expect_equal(r$area, 5 * 4)
})

test_that("area is in metres whatever the units of the map", {
  map <- small_cube(rows = 2, columns = 5, bands = 1, values = 1:10)
  area <- function(crs) {
    terra::crs(map) <- crs
    pd_far(map, rbind(c(101, 51)), 0)$area
  }
  expect_equal(area("EPSG:32616"), 9 * 4)
  expect_equal(area(""), 9 * 4)
  expect_equal(area("EPSG:2225"), 9 * 4 * (1200 / 3937)^2)
})

test_that("PD is read off as a staircase", {
  r <- detected()$result
  far <- r$curve$far
  expect_identical(pd_at(r, 0), 1 / 3)
  expect_identical(pd_at(r, c(far[2], far[2] * .99, far[3], 10)), c(2 / 3, 1 / 3, 1, 1))
  # The area under the stairs, strip by strip.
  grid <- seq(0, far[3], length.out = 1e5)
  expect_equal(glance(r, far = far[3])$nauc, mean(pd_at(r, grid)), tolerance = 1e-4)
  expect_identical(glance(r)$far, far[3])
  expect_error(pd_at(r, -1), "`far`", class = "fumi_error_input")
  expect_error(pd_at(1, 1), "`x`", class = "fumi_error_type")
  expect_error(glance(r, far = 0), "`far`", class = "fumi_error_input")
})

test_that("it prints and draws", {
  d <- detected()
  r <- d$result
  expect_output(print(r), "3 targets; .* m2 outside")
  expect_output(print(r), "PD 0.333 without a false alarm; PD 1 with [0-9]+ \\(0.2[0-9]+ per m2\\)")
  picture <- drawn(plot(first = r, second = r, log = "x"))
  expect_identical(intersect(picture$left_changed, c("mar", "pty", "new")), character())
  lines <- function(picture) sum(picture$calls == "C_plotXY")
  expect_identical(lines(picture), lines(drawn(plot(r))) + 1L)
  expect_identical(picture$returned, list(value = r, visible = FALSE))
  expect_silent(drawn(plot(r, main = "one", xlim = c(0, .1))))
  perfect <- pd_far(d$map, d$points[1, , drop = FALSE], 2)
  expect_identical(glance(perfect)$far, 1 / perfect$area)
  expect_silent(drawn(plot(perfect)))
  expect_error(drawn(plot(r, detected(unit = "ha")$result)), "one unit", class = "fumi_error_type")
  expect_error(drawn(plot(r, 1)), "`...`", class = "fumi_error_type")
})

test_that("what is no map of scores is refused", {
  d <- detected()
  expect_error(pd_far(1, d$points, 2), "`map`", class = "fumi_error_type")
  expect_error(pd_far(d$map, d$points), "`points` and `halo`", class = "fumi_error_input")
  expect_error(pd_far(c(d$map, d$map), d$points, 2), "`map`", class = "fumi_error_dimension")
  expect_error(pd_far(d$map, d$points, 1e3), "`halo`", class = "fumi_error_input")
  expect_error(pd_far(d$map, d$points, 2, unit = "acre"), "`unit`", class = "fumi_error_input")
  expect_error(pd_far(d$map, "a", 2), "`points`", class = "fumi_error_type")
})
