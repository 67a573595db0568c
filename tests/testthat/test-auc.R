test_that("the AUC and its variance for independent scores are those of pROC", {
  set.seed(1)
  truth <- rep(c(TRUE, FALSE), c(13, 22))
  for (score in list(rnorm(35, truth), round(rnorm(35, truth)))) {
    direct <- pROC::roc(truth, score, quiet = TRUE, direction = "<")
    a <- mil_auc(score, truth)
    expect_equal(a$auc, as.numeric(direct$auc))
    expect_equal(a$se^2, pROC::var(direct, method = "delong"))
    expect_equal(c(a$positive, a$negative, a$conf), c(13, 22, .95))
    expect_equal(qnorm(a$high) - qnorm(a$auc), qnorm(a$auc) - qnorm(a$low))
    expect_equal(mil_auc(mil_roc(score, truth)), a)
    expect_lt(a$high, mil_auc(score, truth, conf = .99)$high)
  }
})

test_that("instances are drawn by whole bags, as a bootstrap by hand draws them", {
  set.seed(2)
  bag <- rep(1:12, times = rep(2:5, 3))
  truth <- bag %% 3 == 0 & !duplicated(bag) | bag == 6
  score <- round(rnorm(length(bag), truth), 1)
  set.seed(3)
  fast <- bootstrap_variance(score, truth, bag, 50)
  set.seed(3)
  strata <- list(setdiff(1:12, bag[truth]), unique(bag[truth]))
  slow <- replicate(50, {
    drawn <- unlist(lapply(strata, function(s)
      s[sample.int(length(s), length(s) - 1, replace = TRUE)]))
    i <- unlist(lapply(drawn, function(b) which(bag == b)))
    mean(outer(score[i][truth[i]], score[i][!truth[i]], function(a, b) (a > b) + (a == b) / 2))
  })
  expect_equal(fast, var(slow))
  set.seed(4)
  a <- mil_auc(score, truth, letters[bag], n_boot = 100)
  set.seed(4)
  expect_identical(mil_auc(score, truth, letters[bag], n_boot = 100), a)
})

test_that("a bootstrap of few bags is not too short", {
  set.seed(8)
  truth <- rep(c(TRUE, FALSE), c(6, 7))
  score <- c(1, 3, 5, 8, 9, 13, 2, 4, 6, 7, 10, 11, 12)
  ratio <- bootstrap_variance(score, truth, 1:13, 4000) / mil_auc(score, truth)$se^2
  expect_lt(abs(ratio - 1), .1)
  a <- mil_auc(score, truth, bag = 1:13, n_boot = 50)
  parts <- variance_parts(placements(score, truth), placements(-score, !truth), 1:6, 7:13)
  df <- satterthwaite(parts$variance, parts$n)
  expect_true(df > 5 && df <= 11)
  expect_equal(qnorm(a$high) - qnorm(a$auc), qt(.975, df) * a$se / dnorm(qnorm(a$auc)))
})

test_that("a rare kind of bags makes intervals wide", {
  set.seed(9)
  covers <- function(m, n, shift) mean(replicate(400, {
    a <- mil_auc(rnorm(m + n, rep(c(shift, 0), c(m, n))), rep(1:0, c(m, n)))
    true <- pnorm(shift / sqrt(2))
    a$low <= true && true <= a$high
  }))
  expect_gt(covers(1, 30, 1), .95)
  expect_gt(covers(3, 30, 0), .89)
  expect_gt(covers(5, 100, 0), .91)
  for (truth in list(c(TRUE, FALSE, FALSE, FALSE), c(FALSE, TRUE, TRUE, TRUE))) {
    alone <- mil_auc(c(3, 1, 2, 4), truth)
    expect_gt(alone$high - alone$low, .9)
    expect_gt(mil_auc(c(3, 1, 2, 4), truth, bag = 1:4)$se, .9 * alone$se)
  }
  every <- mil_auc(c(1, 3, 2, 4, 1, 2), c(0, 1, 0, 1, 1, 0), bag = c(1, 1, 2, 2, 3, 3))
  expect_true(every$low < every$auc && every$auc < every$high)
})

test_that("instances that are copies of each other within bags add nothing", {
  set.seed(5)
  truth <- rep(c(TRUE, FALSE), each = 30)
  score <- rnorm(60, truth)
  one <- mil_auc(score, truth)
  copied <- mil_auc(rep(score, each = 10), rep(truth, each = 10), rep(1:60, each = 10))
  expect_equal(copied$auc, one$auc)
  expect_equal(copied$se, one$se, tolerance = .1)
  expect_lt(mil_auc(rep(score, each = 10), rep(truth, each = 10))$se, one$se / 2)
})

test_that("a perfect order is no certainty: the bound is exact", {
  a <- mil_auc(1:10, rep(c(FALSE, TRUE), each = 5))
  expect_equal(c(a$auc, a$low, a$high), c(1, .025^(1 / 5), 1))
  expect_equal(unlist(mil_auc(1:10, rep(c(TRUE, FALSE), each = 5))[c("low", "high")],
                      use.names = FALSE), c(0, 1 - .025^(1 / 5)))
  expect_equal(mil_auc(rep(1, 6), rep(0:1, 3))$auc, .5)
})

test_that("a model is judged on bags or instances of its data", {
  set.seed(6)
  parts <- split(sim_bags(n_bags = 30, bag_size = 4, n_features = 8, noise = .5), .5)
  fit <- sil(parts$train)
  expect_equal(mil_auc(fit, parts$test, level = "bag")$auc,
               as.numeric(mil_roc(fit, parts$test, level = "bag")$auc))
  a <- mil_auc(fit, parts$test, n_boot = 50)
  expect_equal(a$auc, as.numeric(mil_roc(fit, parts$test)$auc))
  expect_true(a$low < a$auc && a$auc < a$high)
  expect_error(mil_auc(fit, as.matrix(parts$test), truth = as.data.frame(parts$test)$truth),
               "`bag`", class = "fumi_error_no_bag")
})

test_that("intervals of noise and of signal cover the truth", {
  set.seed(7)
  truth <- rep(c(TRUE, FALSE), each = 20)
  covers <- function(shift) mean(replicate(400, {
    a <- mil_auc(rnorm(40, shift * truth), truth)
    true <- pnorm(shift / sqrt(2))
    a$low <= true && true <= a$high
  }))
  for (shift in c(0, 1)) expect_lt(abs(covers(shift) - .95), .04)
})

test_that("bad input is refused by name", {
  expect_error(mil_auc(1:4), "`truth`", class = "fumi_error_truth")
  expect_error(mil_auc(1:4, c(0, 1, 0, 1), bag = 1:3), "`bag`", class = "fumi_error_input")
  expect_error(mil_auc(1:4, c(0, 1, 0, 1), conf = 95), "`conf`", class = "fumi_error_input")
  expect_error(mil_auc(1:4, c(0, 1, 0, 1), bag = 1:4, n_boot = 0), "`n_boot`",
               class = "fumi_error_input")
  expect_error(mil_auc(1:4, c(0, 1, 0, 1), cnof = .9), "`cnof`", class = "fumi_error_argument")
  expect_error(mil_auc("a", 1), "`x`", class = "fumi_error_type")
})
