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
  expect_output(print(fit), "bag is \"yes\" above")
})
