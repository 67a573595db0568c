many_bags <- function() {
  set.seed(1)
  sim_bags(n_bags = 40, bag_size = 50, n_features = 20, n_target = 2, n_background = 4, noise = .3)
}

online <- function(x, ..., epochs = 2, batch = 512, threads = NULL) {
  force(x)
  set.seed(3)
  dlfumi(x, n_target = 2, n_background = 4, control = dlfumi_control("exact", batch = batch,
                                                                     epochs = epochs,
                                                                    threads = threads), ...)
}

in_batch <- function(x, ...) {
  set.seed(3)
  dlfumi(x, n_target = 2, n_background = 4, control = dlfumi_control("exact", tol = 0), ...)
}

last_objective <- function(fit) fit$objective$objective[fit$n_iter]

test_that("two epochs reach the objective of 100 iterations over all instances, to 1 %", {
  b <- many_bags()
  fit <- online(b)
  whole <- in_batch(b)
  expect_equal(fit$n_iter, 160)
  expect_lt(last_objective(fit) / last_objective(whole), 1.01)
  expect_lt(fit$worst_gap, 1e-6)
  expect_identical(fit$variant, "exact")
  expect_gt(mil_roc(fit, b)$auc, .9)
})

test_that("the last objective is eq. 4 of all instances, with their codes", {
  b <- many_bags()
  fit <- online(b)
  x <- t(as.matrix(b))
  x <- x / rep(sqrt(colSums(x^2)), each = 20)
  p <- fit$prob_target
  background <- fit$dictionary[, 3:6] %*% fit$codes[3:6, ]
  r_bg <- colSums((x - background)^2)
  r_full <- colSums((x - background - fit$dictionary[, 1:2] %*% fit$codes[1:2, ])^2)
  terms <- unlist(fit$objective[fit$n_iter, c("reconstruction", "sparsity")])
  expect_equal(terms[[1]], sum(p * r_full + (1 - p) * r_bg) / 2)
  expect_equal(terms[[2]],
               .05 * sum(p * colSums(abs(fit$codes[1:2, ])) + colSums(abs(fit$codes[3:6, ]))))
  positive <- seq_along(p) <= 1000
  expect_equal(p[!positive], numeric(sum(!positive)))
  expect_lt(max(abs(p - (1 - exp(-30 * r_bg)))[positive]), 1e-3)
})

test_that("the visits of an epoch meet each instance once, positives in their true ratio", {
  b <- many_bags()
  check <- function(b, batch) {
    visits <- draw_visits(b, n_batches(b, list(batch = batch)))
    place <- unlist(visits)
    expect_setequal(place, 1:2000)
    expect_length(place, 2000)
    n <- vapply(visits, lengths, c(positive = 0, negative = 0))
    expect_true(all(unlist(lapply(visits, `[[`, "positive")) <= 1000))
    expect_lte(max(colSums(n)), batch + 1)
    expect_lte(diff(range(n[1, ])), 1)
    length(visits)
  }
  expect_equal(check(b, 25), 80)
  expect_equal(check(bag_shards(b, n = 4), 25), 80)
  expect_false(identical(draw_visits(b, 80), draw_visits(b, 80)))
  expect_equal(n_iterations(b, dlfumi_control("exact", batch = 10, epochs = 3)), 600)
})

test_that("steps are 1 at first and never grow", {
  rho <- step_lengths(160, 6, many_bags(), dlfumi_control("exact", batch = 25))
  expect_equal(rho[1:2], c(1, 1 / 2))
  expect_true(all(diff(rho) <= 0))
  expect_lt(rho[160], 1 / 80)
})

test_that("sums of mini-batches blend into those of all", {
  now <- list(U = matrix(1, 2, 2), S = diag(2), terms = c(1, 1, 1, 1), scale = c(1, 1),
              status = "ok")
  first <- blend(NULL, now, 10, .5)
  expect_equal(first, list(U = 5 * now$U, S = 5 * now$S, terms = c(5, 5, 1, 5), status = "ok"))
  now$U <- 3 * now$U
  expect_equal(blend(first, now, 10, .25)$U, matrix(.75 * 5 + .25 * 15, 2, 2))
})

test_that("a seed, not threads or parts, decides", {
  b <- many_bags()
  fit <- online(b)
  expect_identical(online(b, threads = 2)[c("dictionary", "codes")], fit[c("dictionary", "codes")])
  one <- online(bag_shards(b, n = 1))
  expect_equal(one[c("dictionary", "codes", "prob_target", "objective")],
               fit[c("dictionary", "codes", "prob_target", "objective")], tolerance = 1e-10)
})

test_that("parts and file-backed matrices reach that objective too", {
  b <- many_bags()
  whole <- in_batch(b)
  expect_lt(last_objective(online(bag_shards(b, n = 3))) / last_objective(whole), 1.01)
  expect_null(shard_cache$parts)
  skip_if_not_installed("bigmemory")
  dir.create(dir <- tempfile())
  x <- bigmemory::as.big.matrix(t(as.matrix(b)), backingfile = "x.bin", descriptorfile = "x.desc",
                                backingpath = dir)
  d <- as.data.frame(b)
  on_file <- bags(x, d$bag, d$label, block = 300)
  expect_lt(last_objective(online(on_file)) / last_objective(whole), 1.01)
})

test_that("a label that a part lacks is no harm", {
  set.seed(1)
  b <- sim_bags(n_bags = 20, bag_size = 20, n_features = 12, n_background = 3)
  parts <- bag_shards(list(function() b[b$label], function() b[!b$label]))
  read <- part_reader(parts, NULL, "none")
  expect_equal(read("positive", 3:4)$x, b$x[, 3:4])
  expect_equal(read("negative", c(210, 200, 7))$x, b$x[, c(210, 200, 7)])
  fit <- online(parts)
  expect_true(all(is.finite(fit$codes)))
  expect_equal(sum(fit$prob_target > 0), 200)
})

test_that("an atom that its mini-batch did not use stays, one that none used is put to use", {
  set.seed(1)
  b <- sim_bags(n_bags = 20, bag_size = 20, n_features = 12, n_background = 3)
  unused <- c(rep(0, 11), 1)
  x <- cbind(as.matrix(b)[, 1:11], 0)
  d <- as.data.frame(b)
  b <- bags(x, d$bag, d$label)
  start <- list(dictionary = cbind(diag(12)[, 1:2], unused, diag(12)[, 3:5]))
  fit <- function(epochs, dead) {
    set.seed(1)
    dlfumi(b, n_target = 2, n_background = 4, init = start,
           control = dlfumi_control("exact", batch = 20, epochs = epochs, dead = dead))
  }
  alone <- function(fit) any(abs(unused %*% fit$dictionary) > 1 - 1e-8)
  expect_true(alone(fit(1, "resample")))
  put <- fit(2, "resample")
  expect_gt(sum(put$n_dead), 0)
  expect_false(alone(put))
  expect_equal(fit(2, "drop")$n_dropped, 1)
})

test_that("an interrupt leaves a usable fit, before the first iteration an error", {
  b <- many_bags()
  stop_at <- function(at) {
    real <- visit
    on.exit(utils::assignInNamespace("visit", real, "fumi"))
    n <- 0
    utils::assignInNamespace("visit", function(...) {
      n <<- n + 1
      if (n == at) rlang::interrupt()
      real(...)
    }, "fumi")
    online(b)
  }
  for (at in c(50, 161)) {
    expect_warning(fit <- stop_at(at), paste0("iteration \\(", at - 2, "\\)"),
                   class = "fumi_warning_interrupt")
    expect_identical(fit$stop_reason, "interrupt")
    expect_equal(dim(fit$codes), c(6, 2000))
    expect_lt(fit$worst_gap, 1e-6)
    expect_true(all(is.finite(predict(fit, b)$.score)))
  }
  expect_error(stop_at(1), class = "fumi_error_interrupt")
})

test_that("a fit that diverges says so, whether the core finds it or a mini-batch", {
  b <- many_bags()[c(1:4, 37:40)]
  expect_error(online(b, gamma = 1.7e308), "iteration 1:", class = "fumi_error_diverged")
  real <- visit
  on.exit(utils::assignInNamespace("visit", real, "fumi"))
  # in an iteration, and in the last of 160, which visits all
  for (at in c(3, 161)) {
    n <- 0
    utils::assignInNamespace("visit", function(...) {
      out <- real(...)
      if ((n <<- n + 1) == at) out$negative$status <- "nonfinite"
      out
    }, "fumi")
    expect_error(online(b, batch = 50), paste0("iteration ", at - 1, ":"),
                 class = "fumi_error_diverged")
  }
})

test_that("weights, a prior and bounds enter mini-batches", {
  b <- many_bags()
  fit <- online(b)
  weighted <- online(b, bag_weights = rep(2, length(b)))
  expect_equal(weighted$objective$reconstruction, 2 * fit$objective$reconstruction, tolerance = 0.1)
  prior <- rep(NA_real_, 2000)
  nowhere <- which(fit$prob_target > 0)[1:20]
  prior[nowhere] <- 0
  expect_identical(online(b, instance_prior = prior)$prob_target[nowhere], numeric(20))
  expect_gte(min(online(b, nonneg = "codes")$codes), 0)
})

test_that("few instances make mini-batches of one", {
  set.seed(1)
  b <- sim_bags(n_bags = 12, bag_size = 3, n_features = 5, n_target = 1, n_background = 2)
  fit <- dlfumi(b, n_target = 1, n_background = 2, control = dlfumi_control("exact", batch = 8))
  expect_true(all(is.finite(fit$objective$objective)))
  expect_lt(fit$worst_gap, 1e-6)
})
