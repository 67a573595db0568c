# Types of all that an object holds, attributes included.
types_in <- function(x) {
  inside <- c(if (is.list(x)) unclass(x), attributes(x))
  unique(c(typeof(x), unlist(lapply(inside, types_in))))
}

test_that("a fit is plain data, and survives a file", {
  d <- eight_bags()
  b <- bags_of(d)
  plain <- c("NULL", "logical", "integer", "double", "character", "list")
  for (fit in list(fit_to(b, keep_background = TRUE), fit_to(b, n_start = 2, combine = "average"),
                   fit_to(mi(y, id) ~ ., data = data.frame(d$x, id = d$id, y = factor(rep(d$y, each = 4)))))) {
    expect_identical(setdiff(types_in(fit), plain), character())
    file <- tempfile(fileext = ".rds")
    saveRDS(fit, file)
    again <- readRDS(file)
    unlink(file)
    expect_identical(again, fit)
    for (type in c("score", "class", "prob", "codes")) expect_identical(predict(again, b, type), predict(fit, b, type))
  }
  expect_false("closure" %in% types_in(fit))
})

test_that("a fit grows with the instances by its codes, ids and probabilities only", {
  size <- function(n, ...) {
    set.seed(4)
    b <- sim_bags(n_bags = 4, bag_size = n, n_features = 50)
    as.numeric(object.size(fit_to(b, ..., max_iter = 2)))
  }
  a_instance <- (size(200) - size(50)) / (4 * 150)
  # Three codes, one probability and one pointer to an id, of 8 bytes each; an instance has 400 bytes.
  expect_lt(a_instance, 8 * (3 + 1 + 1) + 4)
})

test_that("a fit knows its version, its random numbers and its data's names", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  expect_s3_class(fit, c("dlfumi", "mil_model"), exact = TRUE)
  expect_identical(fit$version, as.character(utils::packageVersion("fumi")))
  expect_identical(fit$rng_kind, RNGkind())
  expect_identical(fit[c("features", "n_features", "classes", "bag", "n_bags")],
                   list(features = letters[1:6], n_features = 6L, classes = c("no", "yes"), bag = d$id,
                        n_bags = c(positive = 4L, negative = 4L)))
})

test_that("fitted and residuals add up to the data, and need them", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b)
  expect_identical(fitted(fit, b), predict(fit, b, "reconstruction"))
  expect_equal(fitted(fit, b) + residuals(fit, b), d$x)
  expect_equal(fitted(fit, d$x[, 6:1]) + residuals(fit, d$x[, 6:1]), d$x)
  d$data <- data.frame(d$x, id = d$id)
  bare <- fit_to(bags(unname(d$x), d$id, d$y, positive = "yes"))
  expect_equal(fitted(bare, d$data, bag = "id") + residuals(bare, d$data, bag = "id"), d$x, ignore_attr = TRUE)
  expect_equal(residuals(fit, d$data, bag = "id"), residuals(fit, b))
  expect_equal(residuals(fit, d$x, bag = d$id), residuals(fit, b))
  expect_error(fitted(fit), "`new_data`", class = "fumi_error_no_data")
  expect_error(residuals(fit), "`new_data`", class = "fumi_error_no_data")
})

test_that("update fits again with what is changed, and needs the data", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b, gamma = .01)
  set.seed(2)
  expect_identical(update(fit, b), fit)
  set.seed(2)
  expect_identical(update(fit, b, lambda = .02, n_background = 3), fit_to(b, gamma = .01, lambda = .02, n_background = 3))
  set.seed(2)
  expect_identical(update(fit, d$x, bag = d$id, label = d$y, positive = "yes"), fit)
  expect_identical(update(fit, b, control = dlfumi_control(max_iter = 2))$n_iter, 2L)
  expect_error(update(fit), "`data`", class = "fumi_error_no_data")
  expect_error(update(fit, b, lambda = -1), "`lambda`", class = "fumi_error_input")
  expect_error(update(fit, b, lamda = 1), "`lamda`", class = "fumi_error_argument")
})

test_that("update takes a formula in any of the places where fitters do", {
  d <- as.data.frame(contract_bags())
  fit <- sil(mi(label, bag) ~ f1 + f2, data = d)
  wanted <- sil(mi(label, bag) ~ f1 + f2, d, cost = 2)
  expect_identical(update(fit, mi(label, bag) ~ f1 + f2, data = d, cost = 2), wanted)
  expect_identical(update(fit, mi(label, bag) ~ f1 + f2, d, cost = 2), wanted)
  expect_identical(update(fit, d, "bag", "label"), sil(d, "bag", "label"))
})

test_that("defaults that depend on what is changed are those of a new fit", {
  b <- bags_of(eight_bags())
  again <- function(f, ...) {
    given <- list(...)
    set.seed(2)
    do.call(f, given)
  }
  expect_identical(again(update, suppressWarnings(e_fumi(b)), b, n_target = 2), again(e_fumi, b, n_target = 2))
  expect_identical(again(update, mmdl(b), b, assign0 = TRUE), again(mmdl, b, assign0 = TRUE))
  start <- list(dictionary = diag(6)[, 1:3])
  expect_identical(again(update, fit_to(b, init = start), b), fit_to(b, init = start))
  expect_identical(again(update, fit_to(b, init = start), b, lambda = .1), fit_to(b, init = start, lambda = .1))
  first <- fit_to(b)
  warm <- dlfumi(b, init = first)
  expect_identical(update(warm, b), warm)
  expect_lt(as.numeric(object.size(warm$given)), as.numeric(object.size(first)))
  exact <- again(dlfumi, b, n_target = 1, n_background = 2, variant = "exact", max_iter = 3)
  expect_identical(again(update, fit_to(b), b, variant = "exact")[c("lambda", "dictionary")], exact[c("lambda", "dictionary")])
})

test_that("options of a fit change by name or as a whole, however they were given", {
  b <- bags_of(eight_bags())
  n_iter <- function(...) update(...)$n_iter
  by_name <- dlfumi(b, n_target = 1, n_background = 2, max_iter = 4, tol = 0)
  whole <- dlfumi(b, n_target = 1, n_background = 2, control = dlfumi_control("exact", max_iter = 4, tol = 0))
  for (fit in list(by_name, whole)) {
    expect_identical(n_iter(fit, b), 4L)
    expect_identical(n_iter(fit, b, max_iter = 3), 3L)
    expect_identical(n_iter(fit, b, control = dlfumi_control(max_iter = 2, tol = 0)), 2L)
  }
  expect_identical(update(whole, b, max_iter = 3)$variant, "exact")
  expect_identical(update(whole, b, variant = "paper")$spec$control[c("tol", "solver", "max_iter")],
                   dlfumi_control("paper", max_iter = 4)[c("tol", "solver", "max_iter")])
})

test_that("what was given to wrappers and by variables is kept as its value", {
  b <- bags_of(eight_bags())
  wrapped <- function(x, strength = 1, ...) sil(x, cost = strength, ...)
  expect_identical(wrapped(b, 2)$given, list(cost = 2))
  expect_identical(wrapped(b)$given, list(cost = 1))
  expect_length(sil(b)$given, 0)
  fit <- wrapped(b, 2, normalize = "none")
  expect_identical(update(fit, b), fit)
})

test_that("a fit of version 0.1.0 is updated by the parameters that it holds", {
  b <- bags_of(eight_bags())
  fit <- fit_to(b, lambda = .02)
  old <- fit
  old$given <- NULL
  set.seed(2)
  again <- update(old, b, beta = 5)
  expect_identical(again[c("lambda", "beta", "n_target")], list(lambda = .02, beta = 5, n_target = 1L))
})

test_that("update takes the package's own method, attached or not, masked or not", {
  b <- bags_of(eight_bags())
  fit <- fit_to(b)
  bare <- new.env(parent = baseenv())
  bare$fit <- fit
  bare$b <- b
  bare$dlfumi <- function(...) "not this one"
  expect_s3_class(eval(quote(stats::update(fit, b)), bare), "dlfumi")
})

test_that("the loss path has all starts and the terms that make the objective", {
  b <- bags_of(eight_bags())
  path <- loss_path(fit_to(b, n_start = 2))
  expect_named(path, c("start", "iteration", "objective", "reconstruction", "sparsity", "incoherence"))
  expect_identical(path$start, rep(1:2, each = 3))
  expect_identical(path$iteration, rep(1:3, 2))
  expect_equal(path$objective, path$reconstruction + path$sparsity + path$incoherence)
  for (x in list(1, NULL, list())) expect_error(loss_path(x), "`object`", class = "fumi_error_input")
})

test_that("a model without a print method of its own says what it learnt from", {
  fit <- fit_to(bags_of(eight_bags()))
  class(fit) <- c("other", "mil_model")
  fit$method <- "other"
  expect_output(print(fit), "other fit")
  expect_output(print(fit), "4 positive, 4 negative (32 instances of 6 features)", fixed = TRUE)
  expect_output(print(fit), "a bag is \"yes\" if its score is above")
})

# ---- a method in another package ------------------------------------------------------------------

# The sources of a package that adds the method `nearmiss`: how far an instance lies from the mean of the negative bags,
# with a function of bags of its own, their mean.
write_package <- function(dir) {
  dir.create(file.path(dir, "R"), recursive = TRUE)
  writeLines(c("Package: nearmiss", "Title: A Method", "Version: 0.0.1", "Description: A method.", "License: GPL-3",
               "Encoding: UTF-8", "Imports: fumi"), file.path(dir, "DESCRIPTION"))
  writeLines(c("export(nearmiss)", "importFrom(fumi, bags, new_mil_model, mil_calibrate, score_instances, score_bags)",
               "S3method(score_instances, nearmiss)", "S3method(score_bags, nearmiss)"), file.path(dir, "NAMESPACE"))
  writeLines("
    nearmiss <- function(x, ..., power = 2, calibrate = getOption('fumi.calibrate', 'auto'), progress = FALSE) {
      b <- bags(x, ...)
      spec <- list(power = power, calibrate = calibrate)
      one <- function(b) new_mil_model('nearmiss', b, centre = rowMeans(b$x[, !b$label[b$bag], drop = FALSE]), spec = spec)
      mil_calibrate(one(b), b, refit = one, folds = calibrate, progress = progress)
    }
    score_instances.nearmiss <- function(object, x, ...) colSums(abs(x - object$centre)^object$spec$power)
    score_bags.nearmiss <- function(object, x, bag, ...) as.vector(tapply(score_instances(object, x, ...), bag, mean))
  ", file.path(dir, "R", "nearmiss.R"))
}

test_that("a method may live in another package", {
  skip_on_cran()
  dir <- tempfile("nearmiss")
  lib <- tempfile("lib")
  dir.create(lib)
  on.exit({
    if (isNamespaceLoaded("nearmiss")) unloadNamespace("nearmiss")
    unlink(c(dir, lib), recursive = TRUE)
  })
  write_package(dir)
  paths <- paste(c(lib, .libPaths()), collapse = .Platform$path.sep)
  answer <- system2(file.path(R.home("bin"), "R"), c("CMD", "INSTALL", "--no-docs", "--no-test-load", "-l", shQuote(lib), shQuote(dir)),
                    stdout = TRUE, stderr = TRUE, env = paste0("R_LIBS=", shQuote(paths)))
  nearmiss <- getExportedValue(do.call("loadNamespace", list("nearmiss", lib.loc = lib)), "nearmiss")
  set.seed(1)
  b <- sim_bags(n_bags = 40, bag_size = 4, n_features = 6)
  fit <- nearmiss(b)
  expect_calibrated(fit, b)
  score <- predict(fit, b)
  expect_equal(predict(fit, b, level = "bag")$.score, unname(pool_bags(score$.score, score$.bag, "mean")))
  expect_output(print(fit), "nearmiss fit.*cross-validation")
  expect_gt(as.numeric(mil_roc(fit, b, level = "bag")$auc), .5)
  tuned <- mil_tune(b, nearmiss, data.frame(power = c(1, 2)), folds = 2)
  expect_identical(tuned$results$failed, c(0, 0))
  expect_s3_class(tuned$fit, "nearmiss")
  expect_equal(nrow(mil_benchmark(b, list(a = nearmiss, s = sil), folds = 2)$results), 2)
  expect_true(file.exists(mil_view(fit, b, open = FALSE)))
})
