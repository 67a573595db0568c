test_that("bags have the size, labels and truth asked for", {
  set.seed(1)
  b <- sim_bags(n_bags = 7, bag_size = 8, n_features = 5, witness_rate = 0.25)
  expect_s3_class(b, "bags")
  expect_length(b, 7)
  expect_identical(b$label, rep(c(TRUE, FALSE), c(4, 3)))
  expect_identical(dim(as.matrix(b)), c(56L, 5L))
  expect_identical(summary(b)$targets, rep(c(2L, 0L), c(4, 3)))
  expect_identical(summary(b)$instances, rep(8L, 7))
  set.seed(1)
  expect_identical(sim_bags(n_bags = 7, bag_size = 8, n_features = 5), b)
})

test_that("a positive bag has at least one target, and at most all", {
  count <- function(rate) {
    set.seed(2)
    summary(sim_bags(n_bags = 4, bag_size = 5, witness_rate = rate))$targets
  }
  expect_identical(count(0), c(1L, 1L, 0L, 0L))
  expect_identical(count(1), c(5L, 5L, 0L, 0L))
})

test_that("targets are not always the first of their bag", {
  set.seed(3)
  truth <- matrix(as.data.frame(sim_bags(n_bags = 40, bag_size = 5, witness_rate = .2))$truth,
                  5)[, 1:20]
  expect_gt(sum(rowSums(truth) > 0), 3)
})

test_that("without noise, instances lie in the span of their atoms, and only targets need target atoms", {
  set.seed(4)
  b <- sim_bags(n_bags = 6, bag_size = 5, n_features = 12, n_target = 2, n_background = 3,
                noise = 0)
  D <- attr(b, "dictionary")
  expect_identical(dim(D), c(12L, 5L))
  expect_equal(colSums(D^2), rep(1, 5))
  left <- function(atoms) rowSums((as.matrix(b) - t(qr.fitted(qr(D[, atoms]), t(as.matrix(b)))))^2)
  expect_lt(max(left(1:5)), 1e-20)
  expect_identical(left(3:5) > 1e-10, as.data.frame(b)$truth)
})

test_that("noise has the size asked for", {
  x <- function(noise) {
    set.seed(5)
    as.matrix(sim_bags(n_bags = 100, n_features = 40, noise = noise))
  }
  clean <- x(0)
  expect_equal(sqrt(sum((x(.3) - clean)^2) / sum(clean^2)), .3, tolerance = .02)
})

test_that("images are smooth spots of their size", {
  set.seed(6)
  b <- sim_bags(n_bags = 2, bag_size = 2, image_dim = c(6, 9), n_target = 1, n_background = 2)
  expect_identical(b$image_dim, c(6L, 9L))
  D <- attr(b, "dictionary")
  expect_identical(dim(D), c(54L, 3L))
  expect_true(all(D > 0))
  for (k in 1:3) {
    spot <- matrix(D[, k], 6)
    expect_lt(svd(spot)$d[2], 1e-8)
    expect_true(all(diff(sign(diff(spot[which.max(apply(spot, 1, max)), ]))) <= 0))
  }
})

test_that("the smallest sizes work", {
  set.seed(7)
  expect_length(sim_bags(n_bags = 2, bag_size = 1, n_features = 1, n_target = 1, n_background = 1),
                2)
  expect_identical(dim(as.matrix(sim_bags(n_bags = 2, bag_size = 1, image_dim = c(1, 1)))),
                   c(2L, 1L))
  expect_identical(dim(attr(sim_bags(n_bags = 2, n_target = 3, n_background = 1), "dictionary")),
                   c(30L, 4L))
})

test_that("bad arguments are refused by name", {
  bad <- list(n_bags = list(1, 2.5, NA, "a"), bag_size = list(0, NA), n_features = list(0, 1.5),
              n_target = list(0),
              n_background = list(0), witness_rate = list(-.1, 1.1, NA), noise = list(-1, Inf),
              image_dim = list(3, c(2.5, 2), c(0, 4), c(-2, -2), "a", c(NA, 2)))
  for (name in names(bad)) for (value in bad[[name]])
    expect_error(do.call(sim_bags, setNames(list(value), name)), paste0("`", name, "`"),
                 class = "fumi_error_input", info = paste(name, describe(value)))
})
