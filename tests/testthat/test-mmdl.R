mmdl_bags <- function(n_bags = 20) sim_bags(n_bags = n_bags, bag_size = 5, n_features = 12)

test_that("systematic resampling draws the instances that a hand count gives", {
  # order 3, 1, 4, 2: cumulated weights .3, .4, .8, 1; points .1, .4, .7, 1
  weight <- c(.1, .2, .3, .4)
  expect_equal(systematic_resample(weight, 4, c(3, 1, 4, 2), .4), c(3, 1, 4, 2))
  # points .2, .6, 1 (u = .6 / 3), scale of the weights is of no matter
  expect_equal(systematic_resample(7 * weight, 3, c(3, 1, 4, 2), .6), c(3, 4, 2))
  expect_equal(systematic_resample(weight, 1, c(3, 1, 4, 2), .3), 2)
  # an instance that holds nearly all weight is drawn by all points but the last
  expect_equal(systematic_resample(c(1, 1e6, 1), 5, c(1, 2, 3), .5), c(2, 2, 2, 2, 3))
  # only the instances in `order` can be drawn
  expect_equal(sort(unique(systematic_resample(weight, 50, c(4, 2), .5))), c(2, 4))
})

test_that("a machine has cost weights on its own side only, and is LiblineaR without bias", {
  set.seed(1)
  x <- matrix(rnorm(200), 40)
  z <- rep(c(1L, 3L), c(6, 9))
  spec <- list(resample = FALSE, cost = 2, negative_weight = .01)
  w <- mmdl_train(x, z, rep(1, 15), NULL, spec)
  expect_equal(colnames(w), c("1", "3", "0"))
  label <- c(z, rep(0, 25))
  loss <- function(k, side) function(v) {
    own <- label == k
    sum(v^2) / 2 + 2 * sum(ifelse(own, side, 1) * pmax(0, 1 - ifelse(own, 1, -1) * x %*% v)^2)
  }
  for (k in c(1, 3, 0)) {
    f <- loss(k, if (k == 0) .01 else 1)
    best <- optim(numeric(5), f, method = "BFGS",
                  control = list(reltol = 1e-14, maxit = 1000))$value
    expect_lt(f(w[, paste(k)]), best * (1 + 1e-3))
  }
})

test_that("two classes make one machine with both weights", {
  set.seed(2)
  x <- matrix(rnorm(200), 40)
  w <- mmdl_train(x, rep(2L, 15), rep(1, 15), NULL,
                  list(resample = FALSE, cost = 1, negative_weight = .2))
  expect_equal(colnames(w), c("2", "0"))
  expect_equal(w[, "0"], numeric(5))
  y <- rep(c(1, -1), c(15, 25))
  f <- function(v) sum(v^2) / 2 + sum(ifelse(y > 0, 1, .2) * pmax(0, 1 - y * x %*% v)^2)
  best <- optim(numeric(5), f, method = "BFGS", control = list(reltol = 1e-14, maxit = 1000))$value
  expect_lt(f(w[, 1]), best * (1 + 1e-3))
})

test_that("without resampling, weights are costs of the instances", {
  set.seed(3)
  x <- matrix(rnorm(200), 40)
  y <- rep(c(1, -1), c(15, 25))
  weight <- runif(15)
  data <- cbind(x, cost_columns(weight, 25, 3))
  w <- squared_hinge(data, y > 0, 3, c(1, 1), 5)
  f <- function(v) sum(v^2) / 2 + 3 * sum(c(weight, rep(1, 25)) * pmax(0, 1 - y * x %*% v)^2)
  best <- optim(numeric(5), f, method = "BFGS", control = list(reltol = 1e-14, maxit = 1000))$value
  expect_lt(f(w), best * (1 + 1e-3))
})

test_that("a vanished cluster keeps the others' names", {
  values <- cbind(`2` = c(1, 3), `5` = c(2, -1), `0` = c(.5, 4))
  expect_equal(cluster_margin(values), list(value = c(1.5, -1), cluster = c(5L, 2L)))
  # the first of equals
  expect_equal(cluster_margin(cbind(`1` = 1, `2` = 1, `0` = 0))$cluster, 1L)
})

test_that("the released algorithm labels no instance of a positive bag 0, the published one keeps one per bag", {
  set.seed(4)
  b <- mmdl_bags()
  positive <- as.data.frame(b)$label == "1"
  released <- mmdl(b)
  expect_true(all(released$cluster[positive] > 0))
  expect_true(all(released$cluster[!positive] == 0))
  for (resample in c(TRUE, FALSE)) {
    published <- mmdl(b, assign0 = TRUE, resample = resample)
    kept <- tapply(published$cluster[positive] > 0, published$bag[positive], sum)
    expect_true(all(kept >= 1))
    expect_lt(mean(kept), 5)
    expect_equal(published$spec$negative_weight, 1)
  }
  # one instance per bag, though all are on the wrong side
  best <- list(value = c(-3, -1, -2, -2), cluster = c(1L, 2L, 3L, 1L))
  expect_equal(assign_labels(best, c(7, 7, 4, 4)), c(0L, 2L, 3L, 0L))
})

test_that("scores are the margin of the best cluster over the negative class, and labels their signs", {
  set.seed(5)
  b <- mmdl_bags()
  fit <- mmdl(b, n_clusters = 3)
  v <- (as.matrix(b) / sqrt(rowSums(as.matrix(b)^2))) %*% t(coef(fit))
  last <- ncol(v)
  expect_equal(predict(fit, b)$.score, unname(apply(v[, -last, drop = FALSE], 1, max) - v[, last]))
  expect_identical(fit$hard_label, predict(fit, b)$.score > 0)
  expect_identical(fit$hard_label, predict(fit, b, type = "class",
                                           threshold = 0)$.pred_class == "1")
})

test_that("without resampling only the k-means seeds are drawn", {
  set.seed(6)
  b <- mmdl_bags()
  one <- seeded(mmdl, b, n_clusters = 1, resample = FALSE)
  set.seed(7)
  expect_equal(mmdl(b, n_clusters = 1, resample = FALSE)$weights, one$weights)
})

test_that("an interrupt keeps the last whole iteration", {
  set.seed(9)
  b <- mmdl_bags()
  x <- t(b$x)
  spec <- mmdl(b, resample = FALSE)$spec
  run <- function(max_iter, report)
    mmdl_run(x, b, rep_len(1:3, b$n_positive), NULL, replace(spec, "max_iter", max_iter), report)
  cut <- run(5, function(it, objective) if (it == 2) rlang::interrupt())
  expect_equal(cut[c("n_iter", "stop_reason")], list(n_iter = 2L, stop_reason = "interrupt"))
  whole <- run(2, NULL)
  expect_equal(cut[c("weights", "z", "objective")], whole[c("weights", "z", "objective")])
})

test_that("several starts are kept by their objective, or averaged", {
  set.seed(8)
  b <- mmdl_bags()
  best <- seeded(mmdl, b, n_start = 3)
  last <- tapply(loss_path(best)$objective, loss_path(best)$start, function(o) o[length(o)])
  expect_equal(best$objective$objective[best$n_iter], min(last))
  mean_score <- seeded(mmdl, b, n_start = 3, combine = "average")
  expect_length(mean_score$members, 3)
  one <- vapply(mean_score$members, function(m) {
    object <- best
    object$weights <- m$weights
    (predict(object, b)$.score - m$center) / m$scale
  }, numeric(100))
  expect_equal(predict(mean_score, b)$.score, rowMeans(one))
  # the first start does not depend on how many follow
  expect_equal(mean_score$members[[1]]$weights, seeded(mmdl, b)$weights, ignore_attr = TRUE)
})

test_that("the bag route scores bags by a classifier of pooled codes", {
  set.seed(9)
  b <- contract_bags()
  for (combine in c("best", "average")) {
    fit <- mmdl(b, bag_route = TRUE, n_start = 2, combine = combine)
    scores <- predict(fit, b, level = "bag")
    expect_equal(scores$.bag, b$ids)
    expect_gt(as.numeric(pROC::auc(summary(b)$label, scores$.score, direction = "<",
                                   quiet = TRUE)), .95)
  }
  b <- mmdl_bags()
  fit <- mmdl(b, n_clusters = 3, bag_route = TRUE)
  v <- (as.matrix(b) / sqrt(rowSums(as.matrix(b)^2))) %*% t(coef(fit))
  code <- apply(v[fit$bag == fit$bag[1], ], 2, max)
  expect_equal(predict(fit, b, level = "bag")$.score[1],
               sum(code * fit$bag_weights) / sqrt(sum(code^2)))
  # bags are taken as they come
  shuffled <- sample(nrow(as.matrix(b)))
  again <- predict(fit, as.matrix(b)[shuffled, ], bag = fit$bag[shuffled], level = "bag")
  expect_equal(again$.score[match(fit$bag[1], again$.bag)],
               predict(fit, b, level = "bag")$.score[1])
  # without the route, the largest score of an instance
  without <- mmdl(b, n_clusters = 3)
  expect_identical(predict(without, b, level = "bag"),
                   predict(without, b, level = "bag", pool = "max"))
})

test_that("parameters are checked, and the number of clusters follows the data", {
  set.seed(10)
  b <- mmdl_bags()
  expect_error(mmdl(b, n_clusters = 51),
               "at most the number of instances in positive bags \\(50\\)")
  for (bad in list(list(rho = 0), list(sigma = 0), list(cost = -1), list(assign0 = NA),
                   list(max_iter = 0),
                   list(combine = "sum"), list(bag_route = 1), list(negative_weight = 0)))
    expect_error(do.call(mmdl, c(list(b), bad)), class = "fumi_error_input")
  expect_equal(mmdl_n_clusters(list(n_positive = 7), NULL), 1)
  expect_equal(mmdl_n_clusters(list(n_positive = 45), NULL), 4)
  expect_equal(mmdl_n_clusters(list(n_positive = 4500), NULL), 10)
  expect_equal(update(mmdl(b), b, max_iter = 2)$n_iter, 2)
})

test_that("fewer distinct instances than clusters are no trouble", {
  x <- rbind(matrix(c(1, 0, 0), 8, 3, byrow = TRUE), matrix(c(0, 1, 0), 8, 3, byrow = TRUE),
             matrix(c(0, 0, 1), 16, 3, byrow = TRUE))
  fit <- seeded(mmdl, x, rep(1:8, each = 4), rep(1:0, each = 4), n_clusters = 5)
  expect_true(all(predict(fit, x)$.score[1:16] > predict(fit, x)$.score[17]))
})
