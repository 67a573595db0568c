test_that("a bag is its largest similarity to each instance", {
  set.seed(1)
  x <- matrix(rnorm(30), 10)
  bag <- c(1, 2, 3, 2, 3, 4, 4, 3, 4, 4)
  m <- embed_bags(squared_distances(x), bag, 1.7)
  for (j in 1:4) for (k in 1:10) {
    similarity <- sapply(which(bag == j), function(i) exp(-1.7 * sum((x[i, ] - x[k, ])^2)))
    expect_equal(m[j, k], max(similarity))
  }
})

test_that("sigma is that of mi_svm(), by default one over the median squared distance", {
  set.seed(3)
  b <- sim_bags(n_bags = 8, bag_size = 4)
  fit <- miles(b, cost = 10, normalize = "none")
  expect_equal(fit$kernel$kpar$sigma, 1 / median(dist(as.matrix(b))^2))
  expect_identical(fit$kernel, mi_svm(b, kernel = "rbf", normalize = "none")$kernel)
  expect_equal(miles(b, sigma = 2, cost = 50)$kernel$kpar$sigma, 2)
  expect_equal(median_square(matrix(0, 5, 5)), 1)
})

test_that("the sparse SVM comes near the minimum of its objective", {
  set.seed(4)
  m <- matrix(runif(20 * 30), 20)
  label <- rep(c(TRUE, FALSE), c(8, 12))
  m[label, 1] <- m[label, 1] + .5
  y <- 2 * label - 1
  weight <- 20 / ifelse(label, 16, 24)
  with_bias <- cbind(m, 1)
  slack <- function(w) pmax(0, 1 - y * drop(with_bias %*% w))
  objective <- function(w) sum(abs(w)) + 2 * sum(weight * slack(w)^2)
  w <- numeric(31)
  step <- 1 / (4 * max(weight) * norm(with_bias, "2")^2)
  for (i in 1:5000) {
    w <- w + 4 * step * drop(crossprod(with_bias, weight * y * slack(w)))
    w <- sign(w) * pmax(abs(w) - step, 0)
  }
  fit <- linear_classifier(m, label, 5, 2, epsilon = 1e-6)
  expect_equal(objective(c(fit$weights, fit$bias)), objective(w), tolerance = 1e-3)
  expect_lt(sum(fit$weights != 0), 30)
})

test_that("scores are weighted similarities; a bag of one instance has the score of the paper", {
  set.seed(5)
  b <- sim_bags(n_bags = 12, bag_size = 3, n_features = 6)
  fit <- miles(b, cost = 5, normalize = "none")
  x <- as.matrix(b)
  expect_equal(t(fit$instances), x[fit$selected, ])
  expect_true(all(fit$weights != 0))
  expect_lt(length(fit$weights), nrow(x))
  own <- function(v) sum(fit$weights * exp(-fit$kernel$kpar$sigma * colSums((fit$instances - v)^2))) + fit$bias
  expect_equal(predict(fit, x)$.score, apply(x, 1, own))

  single <- miles(x, seq_len(nrow(x)), as.data.frame(b)$truth, normalize = "none")
  m <- embed_bags(squared_distances(x), seq_len(nrow(x)), single$kernel$kpar$sigma)
  paper <- drop(m[, single$selected] %*% single$weights) + single$bias
  expect_equal(predict(single, x)$.score, paper)
})

test_that("the order of instances and bags does not matter", {
  set.seed(6)
  b <- sim_bags(n_bags = 20, noise = .3)
  x <- as.matrix(b)
  d <- as.data.frame(b)
  mixed <- sample(nrow(x))
  set.seed(1)
  fit <- miles(b)
  set.seed(1)
  again <- miles(x[mixed, ], d$bag[mixed], d$label[mixed])
  expect_lt(max(abs(predict(fit, x)$.score - predict(again, x)$.score)), 1e-8)
  expect_setequal(mixed[again$selected], fit$selected)
})

test_that("a cost too small selects nothing and says so", {
  set.seed(7)
  b <- sim_bags(n_bags = 10)
  expect_warning(fit <- miles(b, cost = 1e-6), class = "fumi_warning_no_instance")
  expect_equal(predict(fit, b)$.score, rep(fit$bias, ncol(b$x)))
})

test_that("many features need no matrix of their square", {
  set.seed(8)
  x <- matrix(rnorm(40 * 4980), 40)
  fit <- miles(x, rep(1:10, each = 4), rep(0:1, each = 5))
  expect_true(all(is.finite(predict(fit, x)$.score)))
})

test_that("what cannot be is refused, and update() knows the rest", {
  set.seed(9)
  b <- sim_bags(n_bags = 10)
  expect_error(miles(b, sigma = 0), class = "fumi_error_input")
  expect_error(miles(b, cost = -1), class = "fumi_error_input")
  expect_error(miles(b, progress = 1), class = "fumi_error_input")
  expect_equal(update(miles(b), b, sigma = 3)$kernel$kpar$sigma, 3)
})

test_that("a fit of version 0.1.0, which holds a width, scores and is updated as it was", {
  set.seed(10)
  b <- sim_bags(n_bags = 12)
  fit <- miles(b, sigma = 1 / 4)
  old <- fit
  old[c("kernel", "given")] <- NULL
  old$sigma <- old$spec$sigma <- 2
  expect_identical(predict(validate_model(old), b), predict(fit, b))
  set.seed(1)
  again <- update(old, b)
  set.seed(1)
  expect_identical(again$weights, miles(b, sigma = 1 / 4)$weights)
})

test_that("a bag of weight 2 counts twice", {
  set.seed(11)
  b <- sim_bags(n_bags = 20, noise = .5)
  weights <- rep(c(1, 3, 2, 1), 5)
  m <- embed_bags(squared_distances(as.matrix(b)), as.data.frame(b)$bag, .5)
  y <- ifelse(b$label, 1, -1)
  balance <- sum(weights) / (2 * tapply(weights, b$label, sum)[1 + b$label])
  objective <- function(fit) {
    w <- replace(numeric(ncol(m)), fit$selected, fit$weights)
    slack <- pmax(0, 1 - y * (drop(m %*% w) + fit$bias))
    sum(abs(w)) + abs(fit$bias) + 2 * sum(weights * balance * slack^2)
  }
  weighted <- miles(b, sigma = .5, cost = 2, bag_weights = weights, normalize = "none")
  repeated <- miles(repeated_bags(b, weights), sigma = .5, cost = 2, normalize = "none")
  # The weights of the copies of an instance add up to its own.
  instance <- rep(seq_len(ncol(m)), weights[as.integer(as.data.frame(b)$bag)])[repeated$selected]
  repeated$weights <- as.vector(rowsum(repeated$weights, instance))
  repeated$selected <- sort(unique(instance))
  plain <- miles(b, sigma = .5, cost = 2, normalize = "none")
  # LiblineaR stops near the minimum, with more features farther from it.
  expect_equal(objective(repeated), objective(weighted), tolerance = .02)
  expect_gt(objective(plain), 1.05 * objective(weighted))
})

test_that("a fit that selected nothing can be shown", {
  expect_warning(fit <- miles(instances()[, 1:2], bag = ids, label = per_bag, cost = 1e-6, calibrate = 0),
                 class = "fumi_warning")
  expect_length(fit$selected, 0)
  expect_identical(dim(atom_matrix(fit)), c(0L, 2L))
  expect_identical(nrow(as.data.frame(tidy(fit))), 0L)
  expect_error(plot(fit), class = "fumi_error_no_meaning")
  skip_if_not_installed("ggplot2")
  expect_error(ggplot2::autoplot(fit), class = "fumi_error_no_meaning")
})
