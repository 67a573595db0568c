score <- c(0.1, 0.8, 0.3, 0.2, 0.5)
bag <- c("b", "a", "b", "a", "c")

test_that("pools are what they are called, bag by bag as they first appear", {
  expect_identical(pool_bags(score, bag), c(b = 0.3, a = 0.8, c = 0.5))
  expect_identical(pool_bags(score, bag, "max"), pool_bags(score, bag))
  expect_equal(pool_bags(score, bag, "mean"), c(b = 0.2, a = 0.5, c = 0.5))
  expect_equal(pool_bags(score, bag, "lse"), c(b = log((exp(.1) + exp(.3)) / 2),
                                               a = log((exp(.8) + exp(.2)) / 2), c = .5))
  expect_equal(pool_bags(score, bag, "noisy-or"), c(b = 1 - .9 * .7, a = 1 - .2 * .8, c = .5))
  expect_equal(pool_bags(score, bag, "top"), pool_bags(score, bag, "max"))
  set.seed(1)
  s <- c(rnorm(8), 2, 2)
  expect_equal(pool_bags(s, rep(1, 10), "top")[[1]], mean(utils::combn(s, 4, max)))
})

test_that("the order of instances changes only the order of the bags", {
  o <- c(5, 2, 4, 1, 3)
  for (pool in c("max", "mean", "lse", "noisy-or", "top"))
    expect_equal(pool_bags(score[o], bag[o], pool)[c("b", "a", "c")], pool_bags(score, bag, pool),
                 info = pool)
})

test_that("ids may be numbers or factors, whose unused levels give no bag", {
  expect_identical(pool_bags(1:3, c(20, 3, 20)), c("20" = 3, "3" = 2))
  expect_identical(pool_bags(1:3, factor(c("z", "a", "z"), c("a", "q", "z"))), c(z = 3, a = 2))
  expect_length(pool_bags(numeric(), character()), 0)
})

test_that("nothing overflows or loses digits", {
  expect_equal(pool_bags(c(1e4, 1), c(1, 1), "lse")[[1]], 1e4 - log(2))
  expect_equal(pool_bags(c(-1e4, -1e4), c(1, 1), "lse")[[1]], -1e4)
  expect_equal(pool_bags(c(1e-20, 1e-20), c(1, 1), "noisy-or")[[1]], 2e-20)
  expect_identical(pool_bags(c(1, 0.5), c(1, 1), "noisy-or")[[1]], 1)
  expect_identical(pool_bags(c(0, 0), c(1, 1), "noisy-or")[[1]], 0)
  expect_identical(pool_bags(c(Inf, 1, -Inf, -Inf), c(1, 1, 2, 2), "lse"), c("1" = Inf, "2" = -Inf))
})

test_that("a missing score makes its bag missing, and no other", {
  for (pool in c("max", "mean", "lse", "noisy-or", "top"))
    expect_identical(is.na(pool_bags(c(NA, .5, .2), c("a", "a", "b"), pool)),
                     c(a = TRUE, b = FALSE), info = pool)
})

test_that("bad input is refused by name", {
  expect_error(pool_bags(1:2, 1), "`score` and `bag`", class = "fumi_error_input")
  expect_error(pool_bags("a", 1), "`score`", class = "fumi_error_input")
  expect_error(pool_bags(1, 1, "median"), "`pool`", class = "fumi_error_input")
  expect_error(pool_bags(c(.2, 1.1), c(1, 1), "noisy-or"), "`score`", class = "fumi_error_pool")
  expect_error(pool_bags(c(-.1, .5), c(1, 1), "noisy-or"), class = "fumi_error_pool")
  expect_error(pool_bags(1:2, c(NA, 1)), "`bag`", class = "fumi_error_nonfinite")
})

test_that("sizes of bags fool max, and not top, which still finds targets", {
  set.seed(2)
  auc <- function(pool, shift, size) mean(replicate(60, {
    label <- rep(c(TRUE, FALSE), each = 20)
    n <- rep(size, each = 20)
    score <- rnorm(sum(n))
    first <- cumsum(c(1, n))[seq_along(n)][label]
    score[first] <- score[first] + shift
    bags <- pool_bags(score, rep(seq_along(n), n), pool)
    mil_auc(bags, label)$auc
  }))
  expect_lt(auc("max", 0, c(4, 20)), .22)
  for (size in list(c(4, 20), c(20, 4), c(9, 35))) expect_lt(abs(auc("top", 0, size) - .5), .05)
  for (size in list(c(4, 20), c(20, 4), c(9, 35))) expect_gt(auc("top", 5, size), .8)
})

test_that("tiny ratios stay positive when they are pooled", {
  tiny <- c(7.72e-17, 1.53e-18, 4.15e-18, 3.39e-18)
  for (pool in c("max", "mean", "lse", "top"))
    expect_gt(pool_bags(tiny, rep(1, 4), pool)[[1]], 0)
  expect_equal(pool_bags(tiny, rep(1, 4), "lse")[[1]], mean(tiny))
})
