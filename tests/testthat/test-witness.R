witness_bags <- function() {
  set.seed(1)
  sim_bags(n_bags = 20, bag_size = 5, image_dim = c(8, 8))
}

fit_witnesses <- function(b, ..., n_target = 1, witnesses = 1) {
  set.seed(2)
  dlfumi(b, n_target = n_target, n_background = 3, lambda = .001, witnesses = witnesses, ...)
}

test_that("the witnesses are the targets, where the E-step alone takes others too", {
  b <- witness_bags()
  d <- as.data.frame(b)
  found <- fit_witnesses(b)
  expect_identical(found$prob_target, as.numeric(d$truth & d$label == "1"))
  expect_gt(sum(fit_witnesses(b, witnesses = 0)$prob_target > .5), sum(found$prob_target))
  expect_identical(fit_witnesses(b)$dictionary, found$dictionary)
  expect_output(print(found), "one in each positive bag, found in 1 round\n")
  set.seed(2)
  expect_identical(update(found, data = b)$dictionary, found$dictionary)
})

test_that("instances are scored by a fit to all other bags", {
  b <- witness_bags()
  unseen <- which(b$bag %in% c(2, 5))
  weights <- stats::setNames(as.numeric(seq_along(b$ids)), b$ids)
  prior <- rep(c(.2, .9), length.out = b$n_positive)
  spec <- list(n_target = 2, n_background = 3, lambda = .01, beta = 1, gamma = .1, psi = 2,
               weight = unname(weights)[b$bag], prior = prior,
                 noise = "white", normalize = "unit", nonneg = "none",
                 control = dlfumi_control("exact", max_iter = 3))
  set.seed(3)
  score <- score_unseen(b, unseen, spec, rlang::current_env())
  others <- b[-c(2, 5)]
  given <- numeric(length(others$bag))
  given[others$order[seq_len(others$n_positive)]] <- prior[-unseen]
  set.seed(3)
  fit <- dlfumi(others, n_target = 2, n_background = 3, lambda = .01, beta = 1, gamma = .1,
                psi = 2, n_start = witness_starts,
                combine = "average", bag_weights = weights, instance_prior = given,
                control = dlfumi_control("exact", max_iter = 3))
  expect_identical(score, score_instances(fit, b$x[, unseen]))
})

test_that("the best instance of a bag is its witness, unless more is known", {
  score <- c(3, 1, 2, 5, 6, 4)
  bag <- c(1, 1, 2, 2, 2, 1)
  expect_identical(best_of_bags(score, bag, NULL), c(0, 0, 0, 0, 1, 1))
  expect_identical(best_of_bags(score, bag, rep(.5, 6)), c(0, 0, 0, 0, 1, 1))
  expect_identical(best_of_bags(score, bag, c(.5, .5, .5, .5, 0, 0)), c(1, 0, 0, 1, 0, 0))
  expect_identical(best_of_bags(score, bag, c(1, 1, .5, .5, .5, .5)), c(1, 1, 0, 0, 1, 0))
  expect_identical(best_of_bags(score, bag, c(0, 0, .5, .5, .5, 0)), c(0, 0, 0, 0, 1, 0))
})

test_that("weights and priors stay with their instances", {
  b <- witness_bags()
  d <- as.data.frame(b)
  prior <- ifelse(d$label == "1" & d$truth, 0, NA)
  weights <- stats::setNames(as.numeric(seq_along(b$ids)), b$ids)
  found <- fit_witnesses(b, instance_prior = prior, bag_weights = weights)
  expect_identical(sum(found$prob_target), 10)
  expect_identical(sum(found$prob_target[d$truth]), 0)
})

test_that("with noise of the background's shape, the others of a bag are left out", {
  b <- witness_bags()
  fit <- fit_witnesses(b, noise = "background")
  expect_identical(sum(fit$prob_target), 10)
  chosen <- b$order[seq_len(b$n_positive)][fit$prob_target[b$order[seq_len(b$n_positive)]] == 1]
  others <- setdiff(which(as.data.frame(b)$label == "1"), chosen)
  moved <- as.matrix(b)
  moved[others, ] <- 0
  fitted <- function(x) {
    b <- bags(x, rep(b$ids, each = 5), as.character(as.data.frame(b)$label), positive = "1")
    spec <- list(n_target = 1, n_background = 3, lambda = .001, beta = 30, gamma = .001, psi = 1,
                 noise = "background", ridge = .001, normalize = "none", normalize_after = "none",
                 nonneg = "none", n_start = 1, combine = "best", score = "difference",
                 keep_background = FALSE, witnesses = 0, control = dlfumi_control("exact"))
    spec <- with_witnesses(spec, b, as.numeric(b$order[seq_len(b$n_positive)] %in% chosen))
    set.seed(4)
    dlfumi_bridge(b, spec, "paper", FALSE)$dictionary
  }
  expect_equal(fitted(moved), fitted(as.matrix(b)), ignore_attr = TRUE)
})

test_that("what cannot be looked for is said", {
  b <- witness_bags()
  refused <- function(..., words, class = "fumi_error_input")
    expect_error(fit_witnesses(...), words, fixed = TRUE, class = class)
  refused(b, witnesses = -1, words = "`witnesses`")
  refused(b, witnesses = "a", words = "`witnesses`")
  refused(b, n_target = 9,
          words = "`n_target` must be at most the number of positive bags that a fit sees when it looks for `witnesses` (8), not 9.")
  refused(b[c(1, 11:20)], words = "`witnesses` must be 0 when there is one positive bag")
  refused(bag_shards(b, n = 2), words = "`witnesses` must be 0 for bags in parts",
          class = "fumi_error_no_meaning")
})

test_that("an interrupt while witnesses are looked for is an error, since there is no fit yet", {
  skip_on_cran()
  res <- interrupted(
    c("set.seed(1)", "b <- sim_bags(n_bags = 60, bag_size = 20, n_features = 100)"),
    c("answer <- tryCatch(dlfumi(b, n_target = 2, n_background = 8, witnesses = 1e4), fumi_error_interrupt = function(e) 'classed',",
      "                   interrupt = function(e) 'plain')", "result <- list(answer = answer)"))
  expect_true(res$answer %in% c("classed", "plain"))
})
