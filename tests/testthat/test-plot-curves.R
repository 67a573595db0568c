panel <- function(n, k, ...) list(x = matrix(seq_len(n * k) %% 7, n, k), main = "curves",
                                  col = rep_len(okabe_ito, k), ...)
numbers <- function(d) list(at = seq_len(d), label = "feature")

test_that("curves are drawn for any number of features, curves and panels", {
  for (size in list(c(1, 1), c(1, 5), c(10, 1), c(40, 30))) for (panels in c(1L, 2L, 7L, 30L)) {
    page <- drawn(curve_page(rep(list(panel(size[1], size[2])), panels), numbers(size[1])))
    expect_identical(sum(page$text == "curves"), panels)
    expect_identical(sum(page$text == "feature"), 1L)
    expect_identical(page$left_changed, character())
  }
})

test_that("panels share their axes", {
  page <- drawn(curve_page(rep(list(panel(40, 1)), 6), numbers(40)))
  shape <- panel_shape(6, c(7, 7))
  expect_identical(sum(page$calls == "C_axis"), as.integer(sum(shape)))
  expect_identical(panel_shape(6, c(5.5, 3.6)), c(3, 2))
  own <- drawn(curve_page(rep(list(panel(40, 1)), 2), numbers(40), share = FALSE))
  expect_identical(sum(own$calls == "C_axis"), 3L)
})

test_that("a legend has a corner of its own, or the title is the legend", {
  expect_identical(free_corner(1, 1, c(0, 1), c(0, 1), c(.4, .4)), "topleft")
  x <- c(0, 0, 1, 1)
  expect_null(free_corner(x, c(0, 1, 0, 1), c(0, 1), c(0, 1), c(.4, .4)))
  drawn({
    plot.new()
    free <- key_room(list(list(x = cbind(c(1, 0, 0)), key = c("a", "b"))), numbers(3))
    expect_identical(free, list(ylim = c(0, 1), corner = "topright"))
    full <- key_room(list(list(x = cbind(c(1, 0, 1), 0), key = c("a", "b"))), numbers(3))
    expect_identical(full, list(ylim = c(0, 1), corner = NULL))
  })
  # A line between two features passes where no feature is.
  pdf(NULL, width = 3, height = 2.4)
  plot.new()
  steep <- key_room(list(list(x = cbind(c(-1, 1, 0.6), -1), key = c("target 1", "target 2"))), numbers(3))
  dev.off()
  expect_null(steep$corner)
  page <- drawn(curve_page(list(panel(40, 4, key = letters[1:4])), numbers(40)))
  expect_true(all(c("curves:", letters[1:4]) %in% page$text))
  small <- drawn(curve_page(rep(list(panel(40, 4, key = paste("atom", 1:4))), 6), numbers(40)))
  expect_identical(sum(small$text == "curves:"), 6L)
  expect_true(all(1:4 %in% small$text))
})

test_that("numbers in names are an axis with their unit", {
  axis <- function(...) numbers_in_names(c(...))
  expect_identical(axis("900 nm", "910 nm"), list(at = c(900, 910), label = "nm"))
  expect_identical(axis("X900.nm", "X910.nm"), list(at = c(900, 910), label = "nm"))
  expect_identical(axis("t017ms", "t018ms"), list(at = c(17, 18), label = "t (ms)"))
  expect_identical(axis("band1", "band2"), list(at = c(1, 2), label = "band"))
  expect_identical(axis("V1", "V2"), list(at = c(1, 2), label = "feature"))
  expect_identical(axis("1.5", "0.5", "-2")$at, c(1.5, .5, -2))
  expect_null(axis("900 nm", "910 um"))
  expect_null(axis("a1", "b2"))
  expect_null(axis("a1b2", "a1b3"))
  expect_null(axis("a3", "a1", "a2"))
  expect_null(axis("a"))
  expect_null(numbers_in_names(NULL))
})

test_that("up to twelve names are written, and an axis that was given comes first", {
  expect_identical(feature_axis(letters[1:12], NULL, 12), list(at = 1:12, label = "",
                                                               names = letters[1:12]))
  expect_identical(feature_axis(letters[1:13], NULL, 13), list(at = 1:13, label = "feature"))
  given <- check_axis(list("wavelength in nm" = c(4, 5)), 2)
  expect_identical(feature_axis(c("900 nm", "910 nm"), given, 2),
                   list(at = c(4, 5), label = "wavelength in nm"))
  long <- drawn({
    plot.new()
    expect_true(turned_names(feature_axis(c("magnesium", "b"), NULL, 2), 1)$turn)
    expect_false(turned_names(feature_axis(c("a", "b"), NULL, 2), 5)$turn)
    wide <- turned_names(feature_axis(c("blood pressure", "age"), NULL, 2), 5)
    expect_identical(wide$names, c("blood\npressure", "age"))
    expect_gt(wide$over, 0.5)
  })
})

# ---- the axis of bags ----------------------------------------------------------------------------

test_that("bags keep an axis, and so do their parts, their fits and the files of these", {
  set.seed(1)
  x <- matrix(rnorm(80), 20)
  made <- bags(x, rep(1:10, each = 2), rep(1:0, each = 5), axis = list(nm = c(400, 500, 600, 700)))
  expect_identical(made$axis, list(values = c(400, 500, 600, 700), label = "nm"))
  expect_identical(made[c(2, 9)]$axis, made$axis)
  expect_identical(split(made, 0.6)$test$axis, made$axis)
  expect_identical(c(made[1:2], made[3:10])$axis, made$axis)
  other <- bags(x, rep(11:20, each = 2), rep(1:0, each = 5))
  expect_error(c(made, other), "axis", class = "fumi_error_combine")
  fit <- sil(made)
  expect_identical(fit$axis, made$axis)
  file <- tempfile()
  on.exit(unlink(file))
  mil_save(fit, file)
  expect_identical(mil_load(file), fit)
  expect_true("nm" %in% drawn(plot(fit))$text)
  expect_true("nm" %in% drawn(plot(made))$text)
  expect_identical(nrow(predict(fit, x)), 20L)
  fit$axis$values <- 1
  expect_error(predict(fit, x), "axis", class = "fumi_error_model")
})

test_that("every shape of data takes an axis", {
  d <- data.frame(a = 1:4, b = c(2, 1, 5, 3), bag = c(1, 1, 2, 2), label = c(1, 1, 0, 0))
  expected <- list(values = c(1.5, 2.5), label = "feature")
  at <- c(1.5, 2.5)
  expect_identical(bags(d, "bag", "label", axis = at)$axis, expected)
  expect_identical(bags(mi(label, bag) ~ a + b, d, axis = at)$axis, expected)
  expect_identical(bags(list(as.matrix(d[1:2, 1:2]), as.matrix(d[3:4, 1:2])), label = 1:0,
                        axis = at)$axis, expected)
  expect_null(bags(d, "bag", "label")$axis)
})

test_that("an axis that is none is refused", {
  for (axis in list(1, c(1, NA), "nm", c("a", "b"), list(1:3), list(1:2, 1:2), c(1, Inf)))
    expect_error(bags(matrix(1:4, 2), 1:2, 1:0, axis = axis), "`axis`",
                 class = "fumi_error_dimension")
})

test_that("features without names have whole numbers, and curves of zeros are drawn", {
  expect_identical(feature_axis(NULL, NULL, 3), list(at = 1:3, label = "feature", names = c("1", "2", "3")))
  axes <- drawn(curve_page(list(panel(2, 1)), feature_axis(NULL, NULL, 2)))$axes
  expect_true(any(vapply(axes, function(args) identical(args[[4]], c("1", "2")), NA)))
  flat <- list(x = matrix(0, 10, 2), main = "curves", col = 1:2, key = c("a", "b"))
  expect_true("curves" %in% drawn(curve_page(list(flat), numbers(10)))$text)
})

test_that("the margin has room for turned names, and for half of the last number", {
  drawn({
    named <- turned_names(feature_axis(c("magnesium", "b"), NULL, 2), 1)
    expect_gte((named$lines - 0.9) * par("csi"), 0.9 * strwidth("magnesium", "inches"))
    number <- turned_names(list(at = c(1, 12345), label = "feature"), 5)
    expect_false(number$turn)
    expect_gte(number$over * par("csi"), 0.45 * strwidth("12345", "inches"))
  })
})

test_that("curves of a single feature have a legend, too", {
  expect_identical(free_corner(1, 0.5, c(1, 1), c(0, 1), c(0.2, 0.2)), "topright")
})
