test_that("a bag is its largest similarity to each instance", {
  set.seed(1)
  x <- matrix(rnorm(30), 10)
  bag <- c(1, 2, 3, 2, 3, 4, 4, 3, 4, 4)
  m <- embed_bags(squared_distances(x), bag, 1.7)
  for (j in 1:4) for (k in 1:10) {
    similarity <- sapply(which(bag == j), function(i) exp(-sum((x[i, ] - x[k, ])^2) / 1.7^2))
    expect_equal(m[j, k], max(similarity))
  }
})

test_that("the default width is the median distance", {
  set.seed(3)
  b <- sim_bags(n_bags = 8, bag_size = 4)
  expect_equal(miles(b, cost = 10, normalize = "none")$sigma, sqrt(median(dist(as.matrix(b))^2)))
  expect_equal(miles(b, sigma = 2, cost = 50)$sigma, 2)
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
  own <- function(v) sum(fit$weights * exp(-colSums((fit$instances - v)^2) / fit$sigma^2)) + fit$bias
  expect_equal(predict(fit, x)$.score, apply(x, 1, own))

  single <- miles(x, seq_len(nrow(x)), as.data.frame(b)$truth, normalize = "none")
  m <- embed_bags(squared_distances(x), seq_len(nrow(x)), single$sigma)
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
  expect_equal(update(miles(b), b, sigma = 3)$sigma, 3)
})
