easy_bags <- function(n = 12) {
  set.seed(301)
  sim_bags(n_bags = n, bag_size = 4, n_features = 10, noise = 0.05)
}

# Scores an instance by its own first feature times `sign`, so that what is right is known.
first_feature <- function(b, sign = 1, fail = FALSE, progress = FALSE) {
  if (fail) stop("told to fail")
  object <- new_mil_model("first_feature", b, sign = sign, normalize = "none")
  mil_calibrate(object, b)
}
registerS3method("score_instances", "first_feature", function(object, x, ...) object$sign * x[1, ],
                 envir = asNamespace("fumi"))

known_bags <- function() {
  x <- cbind(c(9, 1, 8, 2, 3, 7, 1, 2, 3, 4, 0, 5), 1)
  bags(x, rep(1:6, each = 2), c(1, 1, 1, 0, 0, 0), truth = x[, 1] > 6)
}

test_that("folds hold whole bags, evenly by label", {
  b <- easy_bags(14)
  folds <- bag_folds(b, 3)
  expect_named(folds, b$ids)
  counts <- table(folds, b$label)
  expect_true(all(apply(counts, 2, function(n) diff(range(n))) <= 1))
  expect_error(bag_folds(b, 8), "7 positive, 7 negative", class = "fumi_error_input")
})

test_that("metrics are what they say", {
  b <- known_bags()
  fit <- first_feature(b)
  at <- function(metric, level, fpr = 0.1) held_out_metric(fit, b, list(metric = metric, level = level, fpr = fpr))
  expect_equal(at("auc", "bag"), 1)
  expect_equal(at("auc", "instance"), 1)
  expect_equal(at("auc", "witness"), 1)
  expect_equal(at("accuracy", "bag"), 1)
  expect_equal(at("tpr", "bag"), 1)
  fit <- first_feature(b, -1)
  expect_equal(at("auc", "bag"), as.numeric(pROC::auc(b$label, -c(1, 2, 3, 1, 3, 0), quiet = TRUE, direction = "<")))
  expect_equal(at("auc", "witness"),
               as.numeric(pROC::auc(c(1, 1, 1, 0, 0, 0, 0, 0, 0), -c(1, 2, 3, 1, 2, 3, 4, 0, 5), quiet = TRUE,
                                    direction = "<")))
})

test_that("the best configuration is chosen and refitted", {
  tuned <- mil_tune(known_bags(), first_feature, data.frame(sign = c(-1, 1)))
  expect_equal(tuned$best, 2)
  expect_equal(tuned$parameters, list(sign = 1))
  expect_equal(tuned$fit$sign, 1)
  expect_equal(tuned$results$mean[2], 1)
  expect_equal(nrow(tuned$folds), 6)
  expect_output(print(tuned), "<-")
  expect_null(mil_tune(known_bags(), first_feature, data.frame(sign = 1), refit = FALSE)$fit)
})

test_that("one standard error takes the first that is near", {
  tried <- data.frame(configuration = rep(1:3, each = 2), metric = c(.5, .7, .78, .82, .7, .95), error = NA)
  grid <- data.frame(sign = 1:3)
  choose <- function(rule) new_mil_tune(tried, grid, lapply(1:3, function(s) list(sign = s)), list(), rule, FALSE, list(1), NULL)$best
  expect_equal(choose("best"), 3)
  expect_equal(choose("one-se"), 2)
})

test_that("a configuration that fails is reported, and is an error when all do", {
  tuned <- mil_tune(known_bags(), first_feature, data.frame(fail = c(TRUE, FALSE)))
  expect_equal(tuned$results$failed, c(3, 0))
  expect_equal(tuned$best, 2)
  expect_error(mil_tune(known_bags(), first_feature, data.frame(fail = TRUE)), "told to fail", class = "fumi_error_fit")
  expect_error(mil_cv(known_bags(), first_feature, fail = TRUE), "told to fail", class = "fumi_error_fit")
})

test_that("several bags share one configuration; NA leaves a default", {
  both <- list(a = known_bags(), b = known_bags())
  tuned <- mil_tune(both, first_feature, data.frame(sign = c(NA, -1)))
  expect_equal(tuned$parameters, list())
  expect_named(tuned$fit, c("a", "b"))
  expect_setequal(tuned$folds$bags, c("a", "b"))
})

test_that("cross-validation is decided by the seed, the folds, and not by workers", {
  b <- easy_bags()
  folds <- rep(1:3, 4)
  run <- function() {
    set.seed(5)
    out <- mil_cv(b, dlfumi, n_target = 1, n_background = 3, folds = folds)
    out$metric
  }
  one <- run()
  expect_gt(mean(one), .8)
  expect_identical(run(), one)
  skip_on_cran()
  skip_if_not_installed("future")
  old <- future::plan("multisession", workers = 2)
  on.exit(future::plan(old))
  expect_identical(run(), one)
})

test_that("a stopped search goes on", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  search <- function() {
    set.seed(5)
    mil_tune(easy_bags(), sil, data.frame(cost = c(.1, 1)), dir = dir, refit = FALSE)$results
  }
  whole <- search()
  files <- list.files(dir, full.names = TRUE)
  expect_length(files, 6)
  unlink(files[1:2])
  expect_equal(search(), whole)
})

test_that("an interrupt ends a search, and no fold is kept as one that failed", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  stopped <- function(b, sign, progress) if (sign > 0) first_feature(b) else list(stop_reason = "interrupt")
  search <- function(sign) {
    set.seed(5)
    mil_tune(known_bags(), stopped, data.frame(sign = sign), folds = 3, dir = dir, refit = FALSE)
  }
  expect_error(search(-1), class = "fumi_error_interrupt")
  expect_length(list.files(dir), 0)
  expect_warning(search(c(1, -1)), "3 of 6", class = "fumi_warning_interrupt")
  expect_length(list.files(dir), 3)
})

test_that("what cannot be is refused", {
  b <- known_bags()
  expect_error(mil_tune(1, sil, data.frame(cost = 1)), "`x`", class = "fumi_error_input")
  expect_error(mil_tune(b, sil, list(cost = 1)), "`grid`", class = "fumi_error_input")
  expect_error(mil_tune(b, sil, data.frame(cost = 1), folds = c(1, 2)), "`folds`", class = "fumi_error_input")
  expect_error(mil_cv(b, sil, metric = "accuracy", level = "witness"), "`level`", class = "fumi_error_input")
  expect_error(mil_cv(b, sil, metric = "f1"), "`metric`", class = "fumi_error_input")
})

test_that("the picture of a search is drawn", {
  picture <- drawn(plot(mil_tune(known_bags(), first_feature, data.frame(sign = c(-1, 1)), refit = FALSE)))
  expect_true("C_segments" %in% picture$calls)
  expect_equal(picture$left_changed, character())
})
