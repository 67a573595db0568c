# The objective of the paper with a linear kernel.
linear_svm <- function(x, ..., type = "mi", kernel = "linear",
                       cost = 1) mi_svm(x, ..., type = type, kernel = kernel, cost = cost)

# Decision values of kernlab's SVM trained on the instances themselves.
plain_svm <- function(x, y, kernel, cost, new = x) {
  fit <- kernlab::ksvm(x, factor(y, c(FALSE, TRUE)), kernel = kernel, scaled = FALSE, C = cost,
                       tol = 1e-5, fit = FALSE)
  drop(kernlab::predict(fit, new, type = "decision"))
}

bags_of_two <- function() bags(matrix(1:8, 8), rep(1:4, each = 2), c(1, 1, 0, 0))

test_that("with one instance per bag both types are kernlab's SVM", {
  set.seed(1)
  x <- matrix(rnorm(160), 40)
  y <- x[, 1] + rnorm(40) > 0
  for (type in c("mi", "MI")) {
    fit <- linear_svm(x, 1:40, y, type = type, cost = 3, normalize = "none")
    expect_equal(predict(fit, x)$.score, plain_svm(x, y, kernlab::vanilladot(), 3),
                 tolerance = 5e-3)
    expect_equal(fit$is_target, y)
    expect_equal(fit$n_iter, if (type == "MI") 1 else fit$n_iter)
    fit <- linear_svm(x, 1:40, y, type = type, kernel = "rbf", kpar = list(sigma = .3),
                      normalize = "none")
    expect_equal(predict(fit, x)$.score, plain_svm(x, y, kernlab::rbfdot(.3), 1), tolerance = 5e-3)
  }
})

test_that("each SVM is solved: its primal and dual objectives meet", {
  set.seed(2)
  x <- matrix(rnorm(300 * 50), 300)
  y <- rep(c(TRUE, FALSE), c(60, 240))
  gram <- tcrossprod(x / sqrt(rowSums(x^2)))
  fit <- svm_on_points(gram, list(id = seq_along(y), positive = y), c(.5, 3))
  dual <- sum(abs(fit$alpha)) - sum(fit$alpha * gram %*% fit$alpha) / 2
  expect_equal(fit$objective, dual, tolerance = 1e-3)
  expect_equal(sum(fit$alpha), 0, tolerance = 1e-8)
  expect_true(all(fit$alpha[y] >= 0 & fit$alpha[y] <= 3 & fit$alpha[!y] <= 0 & fit$alpha[!y] >= -.5))
})

test_that("\"MI\" starts with the means of positive bags", {
  set.seed(3)
  b <- sim_bags(n_bags = 12, bag_size = 4, n_features = 6)
  fit <- linear_svm(b, type = "MI", max_iter = 1, class_weights = c(1, 1), normalize = "none")
  x <- as.matrix(b)
  bag <- as.integer(as.data.frame(b)$bag)
  points <- rbind(rowsum(x, bag)[b$label, ] / 4, x[!b$label[bag], ])
  y <- rep(c(TRUE, FALSE), c(sum(b$label), 4 * sum(!b$label)))
  expect_equal(predict(fit, x)$.score, plain_svm(points, y, kernlab::vanilladot(), 1, x),
               tolerance = 5e-3)
  expect_equal(fit$stop_reason, "max_iter")
  expect_false(fit$converged)
})

test_that("positive bags keep a target: at least one for \"mi\", exactly one for \"MI\"", {
  set.seed(4)
  b <- sim_bags(n_bags = 30, noise = 1)
  bag <- as.data.frame(b)$bag
  label <- b$label[match(unique(bag), b$ids)]
  for (cost in c(.01, 1, 100)) {
    count <- function(type) tapply(linear_svm(b, type = type, cost = cost)$is_target,
                                   factor(bag, unique(bag)), sum)
    mi <- count("mi")
    expect_true(all(mi[label] >= 1))
    expect_true(all(mi[!label] == 0))
    expect_equal(unname(c(count("MI"))), as.numeric(label))
  }
})

test_that("the first largest score of a bag is its target, whatever other bags have", {
  b <- bags_of_two()
  score <- c(-2, -2, -3, -1, 5, -1, -2, 5)
  expect_equal(which(call_targets(b, score, "mi")), c(1, 4))
  expect_equal(which(call_targets(b, score, "MI")), c(1, 4))
  score[1:4] <- c(1, 2, 0, -1)
  expect_equal(which(call_targets(b, score, "mi")), c(1, 2, 3))
  expect_equal(which(call_targets(b, score, "MI")), c(2, 3))
})

test_that("a cycle ends the fit and its best member is kept", {
  step_through <- function(follows, objective) function(target)
    list(target = follows[target], objective = objective[target], trained_on = target)
  fit <- alternate(1, step_through(c(2, 3, 4, 2), c(1, 9, 5, 7)), 50)
  expect_equal(fit$stop_reason, "cycle")
  expect_equal(fit$converged, "cycle")
  expect_equal(fit$trained_on, 3)
  expect_equal(fit$path, c(1, 9, 5, 7))
  fit <- alternate(1, step_through(c(2, 2), c(1, 2)), 50)
  expect_equal(fit[c("converged", "trained_on")], list(converged = TRUE, trained_on = 2))
  fit <- alternate(1, step_through(2:9, 1:8), 3)
  expect_equal(fit[c("converged", "trained_on")], list(converged = FALSE, trained_on = 3))
  expect_equal(fit$stop_reason, "max_iter")
})

test_that("an interrupt keeps the last SVM that is done", {
  step <- function(target) if (target < 3) list(target = target + 1, objective = -target)
                           else rlang::interrupt()
  fit <- alternate(1, step, 50)
  expect_equal(fit, list(target = 3, objective = -2, path = c(-1, -2), stop_reason = "interrupt",
                         converged = FALSE))
  expect_error(alternate(3, step, 50), class = "fumi_error_interrupt")
})

test_that("folded weights give the scores of the kernel", {
  set.seed(5)
  b <- sim_bags(n_bags = 16, noise = .3)
  linear <- linear_svm(b)
  expect_null(linear$model$support)
  unfolded <- list(linear_svm(b, kernel = function(x, y) sum(x * y)),
                   linear_svm(b, kernel = "polydot",
                              kpar = list(degree = 1, scale = 1, offset = 0)))
  for (fit in unfolded) {
    expect_null(fit$model$weights)
    expect_lt(ncol(fit$model$support), ncol(b$x))
    unit <- as.matrix(b) / sqrt(rowSums(as.matrix(b)^2))
    own <- drop(unit %*% fit$model$support %*% fit$model$alpha) + fit$model$bias
    expect_equal(predict(fit, b)$.score, own)
    expect_equal(predict(linear, b)$.score, own, tolerance = 5e-3)
  }
  expect_equal(predict(linear, b)$.score, drop(unit %*% coef(linear)) + linear$model$bias)
  expect_error(coef(unfolded[[1]]), class = "fumi_error_no_meaning")
})

test_that("an RBF kernel separates what a line cannot", {
  set.seed(6)
  angle <- runif(240, 0, 2 * pi)
  x <- cbind(cos(angle), sin(angle)) + rnorm(480, sd = .1)
  truth <- rep(c(TRUE, FALSE, FALSE), 80) & rep(c(TRUE, FALSE), each = 120)
  x[truth, ] <- rnorm(2 * sum(truth), sd = .1)
  b <- bags(x, rep(1:80, each = 3), rep(c(1, 0), each = 40), truth = truth)
  auc <- function(...) as.numeric(pROC::auc(mil_roc(linear_svm(b, normalize = "none", ...), b)))
  for (type in c("mi", "MI")) {
    expect_gt(auc(type = type, kernel = "rbf"), .98)
    expect_lt(auc(type = type), .8)
  }
})

test_that("every kernel of kernlab can be named or given, and a named one stays plain", {
  set.seed(7)
  b <- sim_bags(n_bags = 8, bag_size = 3, n_features = 5)
  for (kernel in names(kernel_makers)) {
    fit <- linear_svm(b, kernel = kernel)
    expect_true(all(is.finite(predict(fit, b)$.score)))
    expect_false("function" %in% rapply(unclass(fit), class))
  }
  made <- linear_svm(b, kernel = kernlab::laplacedot(sigma = 2))
  named <- linear_svm(b, kernel = "laplacedot", kpar = list(sigma = 2))
  expect_identical(made, named)
  expect_identical(linear_svm(b, kernel = "vanilladot"),
                   linear_svm(b, kernel = kernlab::vanilladot()))
  own <- structure(function(x, y) exp(-sum(abs(x - y))), class = "kernel")
  expect_identical(linear_svm(b, kernel = own)$kernel$name, own)
})

test_that("the RBF kernel is as wide as the median distance", {
  set.seed(8)
  b <- sim_bags(n_bags = 8, bag_size = 3, n_features = 5)
  x <- as.matrix(b)
  expect_equal(1 / linear_svm(b, kernel = "rbf", normalize = "none")$kernel$kpar$sigma,
               median(dist(x)^2))
})

test_that("class weights count instances for \"mi\" and bags for \"MI\"", {
  b <- bags(matrix(rnorm(24), 12), rep(1:4, c(2, 4, 2, 4)), c(1, 0, 0, 0))
  weights <- function(type, class_weights) svm_weights(b, list(type = type,
                                                               class_weights = class_weights),
  rep(1, 4))
  expect_equal(weights("mi", "none"), c(1, 1))
  expect_equal(weights("mi", "balanced"), c(12 / 20, 12 / 4))
  expect_equal(weights("MI", "none"), c(3 / 10, 1))
  expect_equal(weights("MI", "balanced"), c(4 / 6 * 3 / 10, 4 / 2))
  expect_equal(weights("MI", c(2, 5)), c(2, 5))
})

test_that("the order of instances and bags does not matter", {
  set.seed(9)
  b <- sim_bags(n_bags = 20, noise = .5)
  x <- as.matrix(b)
  d <- as.data.frame(b)
  mixed <- sample(nrow(x))
  for (type in c("mi", "MI")) for (kernel in c("linear", "rbf")) {
    fit <- linear_svm(b, type = type, kernel = kernel)
    again <- linear_svm(x[mixed, ], d$bag[mixed], d$label[mixed], type = type, kernel = kernel)
    expect_lt(max(abs(predict(fit, x)$.score - predict(again, x)$.score)), 1e-8)
    expect_equal(again$is_target, fit$is_target[mixed])
  }
})

test_that("update() and loss_path() know the fit", {
  set.seed(10)
  b <- sim_bags(n_bags = 10)
  fit <- linear_svm(b, kernel = kernlab::rbfdot(.7), type = "MI")
  expect_identical(update(fit, b), fit)
  expect_equal(update(fit, b, cost = 5)$spec$cost, 5)
  expect_equal(loss_path(fit)$iteration, seq_len(fit$n_iter))
  expect_equal(fit$natural_threshold, 0)
})

test_that("many features need no matrix of their square", {
  set.seed(11)
  x <- matrix(rnorm(40 * 4980), 40)
  for (kernel in c("linear", "rbf")) {
    fit <- linear_svm(x, rep(1:10, each = 4), rep(0:1, each = 5), kernel = kernel)
    expect_true(all(is.finite(predict(fit, x)$.score)))
  }
})

test_that("an interrupt keeps the last whole iteration", {
  b <- bags_of_two()
  real <- svm_on_points
  on.exit(utils::assignInNamespace("svm_on_points", real, "fumi"))
  n <- 0
  utils::assignInNamespace("svm_on_points",
                           function(...) if ((n <<- n + 1) == 2) rlang::interrupt() else real(...),
  "fumi")
  expect_warning(fit <- linear_svm(b), "iteration (1)", fixed = TRUE,
                 class = "fumi_warning_interrupt")
  expect_identical(fit$stop_reason, "interrupt")
  utils::assignInNamespace("svm_on_points", real, "fumi")
  expect_identical(predict(fit, b), predict(linear_svm(b, max_iter = 1), b))
})

test_that("what cannot be is refused", {
  b <- bags_of_two()
  refuse <- function(..., class = "input") expect_error(mi_svm(b, ...),
                                                        class = paste0("fumi_error_", class))
  refuse(type = "Mi")
  refuse(cost = 0)
  refuse(max_iter = 0)
  refuse(kernel = "no such kernel")
  refuse(kernel = NULL)
  refuse(kpar = 2)
  refuse(kernel = "rbf", kpar = list(2), class = "argument")
  refuse(kernel = "rbf", kpar = list(degree = 2), class = "argument")
  refuse(kernel = "linear", kpar = list(sigma = 2), class = "argument")
  refuse(kernel = "rbf", kpar = list(sigma = 0))
  refuse(kernel = kernlab::rbfdot(1), kpar = list(sigma = 2))
  refuse(class_weights = c(1, -1))
  refuse(class_weights = "some")
  refuse(kernel = function(x, y) NaN, class = "scale")
  refuse(progress = NA)
})
