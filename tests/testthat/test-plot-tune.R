tuned <- function(grid, mean = seq_len(nrow(grid)) / 100) {
  results <- data.frame(grid, mean = mean, se = 0.01, failed = 0, check.names = FALSE)
  structure(list(results = results, best = which.max(mean), folds = results,
                 measure = list(metric = "auc", level = "bag"), rule = "best"), class = "mil_tune")
}
x_labels <- function(tune) levels(tried_parameters(tune)$x)

test_that("one parameter is on the axis, in order", {
  tune <- tuned(data.frame(cost = c(10, 0.001, NA), fixed = 1))
  tried <- tried_parameters(tune)
  expect_identical(levels(tried$x), c("0.001", "10", "default"))
  page <- drawn(plot(tune))
  expect_true("cost" %in% page$labels)
  expect_true("AUC of held-out bags" %in% page$text)
  expect_identical(page$left_changed, character())
  expect_identical(page$returned, list(value = tune, visible = FALSE))
})

test_that("of two parameters, one has a line for each value", {
  tune <- tuned(expand.grid(n_target = 1:2, n_background = c(3, 6, 10)))
  tried <- tried_parameters(tune)
  expect_identical(tried$name, c("n_background", "n_target"))
  expect_identical(levels(tried$line), c("1", "2"))
  page <- drawn(plot(tune))
  expect_true("n_background" %in% page$labels)
  expect_true(all(c("n_target = 1", "n_target = 2") %in% page$text))
})

test_that("other grids are a table with one row per configuration, at most thirty", {
  tune <- tuned(expand.grid(n_target = 1:2, n_background = c(3, 6), lambda = c(.001, .01)))
  page <- drawn(plot(tune))
  expect_true(all(c("n_\ntarget", "n_\nbackground", "lambda", "0.001") %in% page$text))
  expect_true("AUC of held-out bags" %in% page$labels)
  part <- tuned(data.frame(a = c(1, 1, 2), b = c(1, 2, 2)))
  expect_null(tried_parameters(part)$x)
  many <- drawn(plot(tuned(expand.grid(a = 1:4, b = 1:4, c = 1:4))))
  expect_identical(sum(many$text == "a"), 1L)
  expect_lte(length(many$text), 3 * 31)
  expect_identical(many$left_changed, character())
})

test_that("more parameters than a table has room for are lines of text, without defaults", {
  grid <- data.frame(noise = c("white", "background", NA), lambda = c(0.1, 0.2, 0.3))
  said <- given_text(as.data.frame(lapply(grid, value_text)))
  expect_identical(said, c("white, lambda = 0.1", "background, lambda = 0.2", "lambda = 0.3"))
  expect_identical(given_text(data.frame(a = "default")), "defaults")
  wide <- expand.grid(c(rep(list(c("background", "white")), 2), list(n_background_atoms = c(0.001, NA))))
  wide <- cbind(wide, stats::setNames(rep(list(runif(8)), 16), paste0("a_long_parameter", 1:16)))
  page <- drawn(plot(tuned(wide)))
  expect_true("parameters" %in% page$text)
})

test_that("a grid of one row, lists and functions are drawn", {
  expect_true("configuration" %in% drawn(plot(tuned(data.frame(a = 1))))$labels)
  grid <- data.frame(a = 1:2)
  grid$init <- list(matrix(0, 2, 2), "paper")
  expect_silent(drawn(plot(tuned(grid))))
  failed <- tuned(data.frame(a = 1:3), c(1, NA, 2))
  expect_silent(drawn(plot(failed)))
})

test_that("what was measured is said in words", {
  expect_identical(measure_words(list(metric = "tpr", level = "witness", fpr = 0.1)),
                   "true positive rate at FPR 0.1 of held-out witnesses")
  expect_identical(measure_words(list(metric = "accuracy", level = "instance")),
                   "accuracy of held-out instances")
})

test_that("names of parameters are turned where a table has little room", {
  grid <- expand.grid(variant = c("exact", "paper"), n_background_atoms = 1:2, lambda = c(.1, .2))
  wide <- function(width) {
    pdf(NULL, width = width, height = 3)
    on.exit(dev.off())
    open_table(as.data.frame(lapply(grid, value_text)))
  }
  expect_false(wide(8)$turned)
  expect_true(wide(1.8)$turned)
  expect_gt(wide(1.8)$cex, 0.45)
  expect_identical(wide(1.8)$head, names(grid))
})
