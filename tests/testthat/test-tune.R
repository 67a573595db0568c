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

test_that("metrics are what they say", {
  b <- known_bags()
  fit <- first_feature(b)
  at <- function(metric, level,
                 fpr = 0.1) held_out_metric(fit, b, list(metric = metric, level = level, fpr = fpr))
  expect_equal(at("auc", "bag"), 1)
  expect_equal(at("auc", "instance"), 1)
  expect_equal(at("auc", "witness"), 1)
  expect_equal(at("accuracy", "bag"), 1)
  expect_equal(at("tpr", "bag"), 1)
  fit <- first_feature(b, -1)
  expect_equal(at("auc", "bag"), as.numeric(pROC::auc(b$label, -c(1, 2, 3, 1, 3, 0), quiet = TRUE,
                                                      direction = "<")))
  expect_equal(at("auc", "witness-0.1"),
               as.numeric(pROC::auc(c(1, 1, 1, 0, 0, 0, 0, 0, 0), -c(1, 2, 3, 1, 2, 3, 4, 0, 5),
                                    quiet = TRUE, direction = "<")))
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
  tried <- data.frame(configuration = rep(1:3, each = 2), metric = c(.5, .7, .78, .82, .7, .95),
                      error = NA)
  grid <- data.frame(sign = 1:3)
  choose <- function(rule) new_mil_tune(tried, grid, lapply(1:3, function(s) list(sign = s)),
                                        list(), rule)$best
  expect_equal(choose("best"), 3)
  expect_equal(choose("one-se"), 2)
  tried$metric <- c(.5, .9, .58, .98, .7, .7)       # always .08 below: no error of the difference
  expect_equal(choose("one-se"), 2)
})

test_that("a difference in one fold alone is one standard error, however it is rounded", {
  measure <- list(metric = "auc", level = "bag", fpr = .1)
  rows <- list(list(a = 1), list(a = 2))
  set.seed(1)
  for (lost in runif(500, 0, .2)) {
    tried <- data.frame(configuration = rep(1:2, each = 3), metric = c(1 - lost, 1, 1, 1, 1, 1),
                        error = NA_character_)
    expect_equal(new_mil_tune(tried, data.frame(a = 1:2), rows, measure, "one-se")$best, 1)
  }
})

test_that("a configuration that fails is reported, and is an error when all do", {
  tuned <- mil_tune(known_bags(), first_feature, data.frame(fail = c(TRUE, FALSE)))
  expect_equal(tuned$results$failed, c(3, 0))
  expect_equal(tuned$best, 2)
  expect_error(mil_tune(known_bags(), first_feature, data.frame(fail = TRUE)), "told to fail",
               class = "fumi_error_fit")
  expect_error(mil_cv(known_bags(), first_feature, fail = TRUE), "told to fail",
               class = "fumi_error_fit")
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

test_that("a stopped search goes on, without a seed, to the same result", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  b <- easy_bags()
  search <- function() mil_tune(b, dlfumi, data.frame(n_background = 2:3), n_target = 1, folds = 2,
                                dir = dir)
  whole <- search()
  files <- list.files(dir, full.names = TRUE)
  expect_length(files, 4)
  unlink(files[1:2])
  again <- search()
  untimed <- function(tuned) tuned$folds[setdiff(names(tuned$folds), "seconds")]
  expect_identical(untimed(again), untimed(whole))
  expect_identical(again$fit$dictionary, whole$fit$dictionary)
})

test_that("results of other work are refused, with what differs", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  b <- known_bags()
  search <- function(x = b, fitter = first_feature, grid = data.frame(sign = c(1, -1)), ...)
    mil_tune(x, fitter, grid, ..., folds = 3, dir = dir, refit = FALSE)
  search()
  expect_no_error(search())
  other <- b
  other$x[1] <- 0
  refused <- function(code, what) expect_error(code, paste0(what, ":"),
                                               class = "fumi_error_dir")
  refused(search(other), "other data")
  refused(search(grid = data.frame(sign = c(1, 2))), "another method or other parameters")
  refused(search(fail = FALSE), "another method or other parameters")
  refused(search(fitter = function(b, sign) first_feature(b, -sign)),
          "another method or other parameters")
  refused(search(level = "instance"), "another measure")
  refused(search(metric = "tpr", fpr = .2), "another measure")
  refused(mil_tune(b, first_feature, data.frame(sign = 1), folds = 2, dir = dir), "other folds")
  refused(mil_cv(b, first_feature, folds = 3, group = c(1:3, 1:3), dir = dir), "other folds")
  refused(mil_benchmark(b, list(one = first_feature), folds = 3, dir = dir),
          "another measure, other folds")
  expect_error(mil_cv(b, first_feature, sign = -1, folds = 3, dir = dir), "another method",
               class = "fumi_error_dir")
})

test_that("a fitter need not know of progress bars, and one that does shows none", {
  plain <- function(b, sign = 1) first_feature(b, sign)
  tuned <- mil_tune(known_bags(), plain, data.frame(sign = c(-1, 1)))
  expect_equal(tuned$best, 2)
  expect_equal(mil_cv(known_bags(), plain)$metric, rep(1, 3))
  seen <- NULL
  inner <- function(b, ...) {
    seen <<- c(seen, getOption("fumi.progress"), ...)
    first_feature(b)
  }
  rlang::local_options(fumi.progress = TRUE)
  fit_quietly(inner, known_bags(), list())
  expect_identical(seen, FALSE)
  expect_true(getOption("fumi.progress"))
})

test_that("a fitter that returns no model is told so", {
  no_model <- function(b) list(score = 1)
  expect_error(mil_cv(known_bags(), no_model), "`fitter` must return a fitted model",
               class = "fumi_error_fit")
  compared <- mil_benchmark(known_bags(), list(none = no_model, one = first_feature), folds = 2,
                            repeats = 1)
  expect_match(compared$results$error[2], "`fitter` must return a fitted model", fixed = TRUE)
  expect_error(one_vs_rest(list(a = known_bags(), b = known_bags()), fitter = no_model),
               "`fitter` must return a fitted model", class = "fumi_error_model")
})

test_that("groups stay together in cross-validation, too", {
  small <- known_bags()
  expect_equal(nrow(mil_cv(small, first_feature, folds = 2, group = c(1, 2, 3, 1, 2, 3))), 2)
  expect_error(mil_cv(small, first_feature, folds = rep(1:2, 3), group = rep(1:2, each = 3)),
               "`folds`.*in several", class = "fumi_error_input")
  expect_error(mil_cv(list(a = small, b = small), first_feature, group = rep(1:3, 2)), "`group`",
               class = "fumi_error_input")
})

test_that("the witness level is exactly the chance of the best of random draws", {
  set.seed(8)
  negative <- sample(c(round(rnorm(6), 1), .3, .3))
  positive <- list(c(.3, .1), c(-1, 1, 0), -2, c(.2, .3, .1, 0, -1, 5, .3, -.2, -2))
  # all draws of as many as both have
  draws <- function(s, n) utils::combn(s, min(length(s), n), max)
  above <- function(compare) vapply(positive, function(s)
    mean(outer(draws(s, 8), draws(negative, length(s)), compare)), 0)
  at <- function(metric, fpr = .1) witness_metric(positive, negative,
                                                  list(metric = metric, fpr = fpr))
  expect_equal(at("auc"), mean(above(">") + above("==") / 2))
  for (fpr in c(0, .1, .5, 1)) expect_equal(at("tpr", fpr), mean(above("<=") <= fpr))
})

test_that("noise has 0.5 at the witness level, whatever the sizes of bags", {
  set.seed(9)
  for (sizes in list(c(6, 6), c(4, 20), c(20, 4), c(30, 2), c(50, 1))) {
    auc <- replicate(300, {
      positive <- replicate(10, rnorm(sizes[1]), simplify = FALSE)
      witness_metric(positive, rnorm(10 * sizes[2]), list(metric = "auc"))
    })
    expect_lt(abs(mean(auc) - .5), 4 * sd(auc) / sqrt(300))
  }
})

test_that("an interrupt ends a search, and no fold is kept as one that failed", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  cut <- structure(list(stop_reason = "interrupt"), class = "mil_model")
  stopped <- function(b, sign, progress) if (sign > 0) first_feature(b) else cut
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
  expect_error(mil_tune(b, sil, data.frame(cost = 1), folds = c(1, 2)), "`folds`",
               class = "fumi_error_input")
  expect_error(mil_cv(b, sil, metric = "accuracy", level = "witness"), "`level`",
               class = "fumi_error_input")
  expect_error(mil_cv(b, sil, metric = "f1"), "`metric`", class = "fumi_error_input")
})

test_that("the picture of a search is drawn", {
  picture <- drawn(plot(mil_tune(known_bags(), first_feature, data.frame(sign = c(-1, 1)),
                                 refit = FALSE)))
  expect_true("C_segments" %in% picture$calls)
  expect_equal(picture$left_changed, character())
})

test_that("warnings of folds are one, in words", {
  b <- easy_bags()
  found <- function(grid, ...) conditionMessage(expect_warning(
    mil_tune(b, dlfumi, grid, n_target = 1, n_background = 2, refit = FALSE, ...),
    class = "fumi_warning_folds"))
  expect_match(found(data.frame(lambda = c(0.01, 9)), folds = 4),
               "^lambda = 9: every code is 0 in 4 of 4 folds$")
  expect_match(found(data.frame(lambda = 5:9)), "5 of 5 configurations: every code is 0 in 15 of 15")
  expect_warning(mil_cv(b, dlfumi, lambda = 9, n_target = 1, n_background = 2),
                 "^every code is 0 in 3 of 3 folds$", class = "fumi_warning_folds")
})

test_that("a search prints in 80 columns, as a table or in words", {
  rlang::local_options(width = 80)
  expect_lines <- function(tuned, pattern) {
    lines <- capture.output(print(tuned))
    expect_lte(max(nchar(lines)), 80)
    expect_match(lines, pattern, all = FALSE)
  }
  tuned <- mil_tune(known_bags(), first_feature, data.frame(sign = c(-1, 1), fail = FALSE))
  expect_lines(tuned, "all with fail = FALSE")
  expect_lines(tuned, "^ +1 1.000? +0.0* <-")
  wide <- tuned$results
  for (name in c("normalize", "normalize_after", "a_long_name", "another_long_name", "the_last_name"))
    wide[[name]] <- c("unit", NA)
  tuned$results <- wide
  expect_lines(tuned, "sign = -1, normalize = unit,")
})

test_that("bags objects with one name are refused", {
  b <- easy_bags()
  expect_error(mil_tune(list(a = b, a = b[1:6]), sil, data.frame(cost = 1)), "appears twice",
               class = "fumi_error_input")
})

test_that("the folds of several sets of bags are told apart from those of one", {
  b <- sim_bags(n_bags = 8, bag_size = 2, n_features = 4)
  tuned <- mil_tune(list(one = b, two = b), sil, data.frame(cost = 1), folds = 2, refit = FALSE)
  expect_output(print(tuned), "1 configuration, 4 folds of 2 sets of bags", fixed = TRUE)
})

test_that("words of expand.grid() are words, not factors", {
  set.seed(1)
  b <- sim_bags(n_bags = 12, bag_size = 3, n_features = 4)
  grid <- expand.grid(kernel = c("linear", "rbf"), cost = c(0.1, 1))
  tuned <- mil_tune(b, mi_svm, grid, folds = 2, refit = FALSE)
  expect_identical(tuned$results$kernel, as.character(grid$kernel))
  expect_identical(sum(tuned$results$failed), 0)
})
