kinds <- c("codes", "dictionary", "both")

# A random problem that meets the bounds, on data that do not.
bounded_problem <- function(nonneg, ...) {
  s <- random_problem(...)
  if (nonneg != "codes")
    s[c("D", "D_old")] <- lapply(s[c("D", "D_old")], function(d) apply(abs(d), 2, ref_unit))
  if (nonneg != "dictionary") s$A <- abs(s$A)
  s
}

spectra <- function(...) {
  set.seed(1)
  b <- sim_bags(n_bags = 14, bag_size = 4, n_features = 12, n_background = 3, ...)
  b$x <- abs(b$x)
  b
}

fit_spectra <- function(nonneg, b = spectra(), variant = "paper", ..., max_iter = 6, inner = 50,
                        threads = 1) {
  set.seed(2)
  dlfumi(b, n_target = 2, n_background = 3, nonneg = nonneg, ...,
         control = dlfumi_control(variant, inner, max_iter, tol = 0, threads = threads))
}

# Codes of the instances of a problem by coordinate descent on .5 a'Qa - c'a + penalty'a, a >= 0.
slow_codes <- function(s) {
  K <- ncol(s$D)
  target <- seq_len(K) <= s$n_target
  G <- crossprod(s$D)
  vapply(seq_len(ncol(s$X)), function(i) {
    p <- if (i <= s$n_pos) s$p[i] else 0
    w <- ifelse(target, p, 1)
    Q <- pmin(outer(w, rep(1, K)), outer(rep(1, K), w)) * G
    c <- w * drop(crossprod(s$D, s$X[, i]))
    a <- numeric(K)
    repeat {
      before <- a
      for (k in which(w > 0))
        a[k] <- max(0, c[k] - sum(Q[k, -k] * a[-k]) - s$lambda * w[k]) / Q[k, k]
      if (max(abs(a - before)) < 1e-13) return(a)
    }
  }, numeric(K))
}

test_that("bounded steps equal their transcription", {
  set.seed(3)
  for (nonneg in kinds) for (trial in 1:10) {
    s <- bounded_problem(nonneg, d = 9, n_background = 4, inner = c(1, 5, 50)[1 + trial %% 3])
    A <- ref_codes(s$X, s$n_pos, s$D, s$A, s$p, s$n_target, s$lambda, s$inner,
                   nonneg = nonneg != "dictionary")
    expect_lt(relative_difference(core_step(s, "codes", nonneg = nonneg)$codes, A), 1e-10)
    for (variant in c("paper", "matlab")) {
      D <- ref_target_atoms(s$X, s$n_pos, s$D, s$A, s$p, s$n_target, nonneg = nonneg != "codes")
      cosine <- ref_cosines(s$D, if (variant == "matlab") D else s$D, s$n_target)
      D <- ref_background_atoms(s$X, s$n_pos, D, s$D, s$A, s$p, s$n_target, s$psi, s$gamma, cosine,
                                nonneg = nonneg != "codes")
      if (anyNA(D)) next                                       # a numerator without a positive part
      expect_lt(relative_difference(core_step(s, "atoms", variant, nonneg = nonneg)$dictionary, D),
                1e-10)
    }
  }
})

test_that("bounded iterations equal the transcription, with either kernel", {
  b <- spectra()
  x <- apply(b$x, 2, ref_unit)
  for (simd in c("", "avx2", "portable"))
    for (nonneg in kinds) for (variant in c("paper", "matlab")) {
    old <- options(fumi.simd = simd)
    start <- fit_spectra(nonneg, b, variant, lambda = .001, max_iter = 1)
    one <- fit_spectra(nonneg, b, variant, lambda = .001, init = start, max_iter = 1, inner = 7)
    options(old)
    truth <- ref_iterate(variant, x, b$n_positive, unname(start$dictionary),
                         unname(start$codes)[, b$order], 2, .001, 30, .001, start$psi, 7, nonneg)
    expect_lt(relative_difference(unname(one$dictionary), truth$D), 1e-9)
    expect_lt(relative_difference(unname(one$codes)[, b$order], truth$A), 1e-9)
    expect_lt(relative_difference(one$objective$objective, truth$objective[1]), 1e-9)
  }
})

test_that("exact codes are those of independent non-negative lassos", {
  set.seed(4)
  s <- random_problem(d = 20, n_target = 2, n_background = 4, n_pos = 10, n_neg = 10)
  s$p[1] <- 0
  out <- core_step(s, "codes", "exact", nonneg = "codes")
  expect_lt(out$worst_gap, 1e-9)
  expect_gt(mean(out$codes > 0), .2)
  expect_lt(max(abs(out$codes - slow_codes(s))), 1e-9)
  expect_lt(max(abs(core_step(s, "codes", "exact", solver = "ista",
                              nonneg = "codes")$codes - out$codes)[-(1:2), ]), .01)

  skip_if_not_installed("glmnet")
  codes <- .Call(ffi_code, s$X, rep(1, 20), s$D, code_par(.05, nonneg = TRUE))$codes
  precision <- list(thresh = 1e-20, maxit = 1e6)
  if ("control" %in% names(formals(glmnet::glmnet))) precision <- list(control = precision)
  for (i in seq_len(20)) {
    g <- do.call(glmnet::glmnet, c(list(s$D, s$X[, i], lambda = .05 / 20, lower.limits = 0,
                                        intercept = FALSE, standardize = FALSE), precision))
    expect_lt(max(abs(codes[, i] - as.numeric(g$beta))), 1e-6)
  }
})

test_that("no bounded sub-step of variant exact raises the objective", {
  set.seed(5)
  objective <- function(s, D, A) {
    ref_objective(s$X, s$n_pos, D, A, s$p, s$n_target, s$psi, s$lambda, s$gamma,
                  ref_cosines(s$D, s$D, s$n_target), s$D)[1]
  }
  for (nonneg in kinds) for (trial in 1:15) {
    s <- bounded_problem(nonneg, d = sample(3:12, 1), n_background = sample(1:4, 1))
    before <- objective(s, s$D, s$A)
    expect_lte(objective(s, s$D, core_step(s, "codes", "exact", nonneg = nonneg)$codes),
               before * (1 + 1e-10))
    expect_lte(objective(s, core_step(s, "atoms", "exact", nonneg = nonneg)$dictionary, s$A),
               before * (1 + 1e-10))
  }
})

test_that("atoms, codes and what is rebuilt from them keep the bounds", {
  b <- spectra()
  for (variant in c("paper", "matlab", "exact")) for (nonneg in kinds) {
    fit <- fit_spectra(nonneg, b, variant)
    expect_equal(unname(colSums(fit$dictionary^2)), rep(1, 5))
    expect_identical(fit$nonneg, nonneg)
    if (nonneg != "codes") expect_gte(min(fit$dictionary), 0)
    if (nonneg != "dictionary") {
      expect_gte(min(fit$codes), 0)
      for (steps in list(NULL, 3))
        expect_gte(min(predict(fit, b, "codes", coding_steps = steps)), 0)
    }
    if (nonneg == "both") expect_gte(min(predict(fit, b, "reconstruction")), 0)
  }
})

test_that("scores are those of non-negative codes", {
  b <- spectra()
  fit <- fit_spectra("codes", b, "exact", lambda = .02, n_start = 2)
  x <- apply(b$x, 2, ref_unit)
  problem <- function(D, n_target) list(X = x, D = unname(D), n_pos = 0, n_target = n_target,
                                        lambda = .02)
  codes <- slow_codes(modifyList(problem(fit$dictionary, 2),
                                 list(n_pos = ncol(x), p = rep(1, ncol(x)))))
  alone <- slow_codes(problem(fit$dictionary[, 3:5], 0))
  confidence <- function(background) vapply(seq_len(ncol(x)), function(i)
    ref_confidence(x[, i], unname(fit$dictionary), codes[, i], background[, i], 2),
    0)[order(b$order)]
  expect_equal(predict(fit, b)$.score, confidence(codes[3:5, ]), tolerance = 1e-6)
  expect_equal(predict(fit, b, coding = "separate")$.score, confidence(alone), tolerance = 1e-6)
  expect_false(isTRUE(all.equal(predict(fit, b),
                                predict(modifyList(fit, list(nonneg = "none")), b))))
  average <- fit_spectra("codes", b, n_start = 2, combine = "average")
  signed <- modifyList(average, list(nonneg = "none"))
  expect_false(isTRUE(all.equal(predict(average, b), predict(signed, b))))
})

test_that("a start is clipped, given or made", {
  b <- spectra()
  start <- function(init, nonneg) {
    set.seed(6)
    spec <- list(n_target = 2, n_background = 3, n_start = 1, normalize = "unit", nonneg = nonneg)
    dlfumi_starts(b, instance_scale(b$x, "unit"), spec, init, rlang::current_env())[[1]]()
  }
  plain <- start("paper", "none")
  expect_identical(start("paper", "both"), list(dictionary = plain$dictionary,
                                                codes = pmax(plain$codes, 0)))
  given <- list(dictionary = diag(12)[, 1:5] - .5 * diag(12)[, 6:10], codes = matrix(rnorm(280), 5))
  clipped <- start(given, "both")
  expect_equal(clipped$dictionary, diag(12)[, 1:5])
  expect_equal(clipped$codes, pmax(given$codes, 0)[, b$order])
  expect_equal(start(given, "dictionary")$codes, given$codes[, b$order])
  b$x <- -b$x
  for (init in list("paper", list(dictionary = -diag(12)[, 1:5])))
    expect_error(fit_spectra("dictionary", b, init = init), "`nonneg`", class = "fumi_error_scale")
  expect_true(all(is.finite(fit_spectra("codes", b)$dictionary)))
})

test_that("a numerator without a positive part counts as an atom without use", {
  set.seed(7)
  s <- bounded_problem("dictionary", d = 6, n_target = 2, n_background = 3, n_pos = 20, n_neg = 20)
  s$A[c(2, 4), ] <- 0
  # its residual: that of one instance, turned round
  s$A[2, 1] <- -1
  s$A[4, 21] <- -1
  s$X <- abs(s$X) + 9
  keep <- core_step(s, "atoms", nonneg = "dictionary")
  expect_equal(keep$n_dead[c(2, 4)], c(1, 1))
  expect_equal(keep$dictionary[, c(2, 4)], s$D[, c(2, 4)])
  expect_equal(core_step(s, "atoms", dead = "drop", nonneg = "dictionary")$dictionary[, c(2, 4)],
               matrix(0, 6, 2))
  s$X[1, -c(1, 21)] <- -20
  fresh <- core_step(s, "atoms", dead = "resample", nonneg = "dictionary")$dictionary
  worst <- which.max(s$p * colSums((s$X - s$D %*% s$A)[, 1:20]^2))
  expect_equal(fresh[, 2], ref_unit(pmax(s$X[, worst], 0)))
})

test_that("an atom that must not be negative is not turned round", {
  b <- spectra()
  fit <- fit_spectra("dictionary", b, "exact", init = list(dictionary = abs(diag(12)[, 1:5])),
                     max_iter = 2)
  b$x <- -b$x
  turned <- fit_spectra("dictionary", b, "exact", init = list(dictionary = abs(diag(12)[, 1:5])),
                        max_iter = 2)
  expect_lt(sum(turned$codes), 0)
  expect_gte(min(turned$dictionary), 0)
  expect_equal(turned$dictionary, fit$dictionary, tolerance = 1e-8)
})

test_that("threads, parts, files, updates and warm starts keep the bounds", {
  b <- spectra()
  for (variant in c("paper", "matlab", "exact")) {
    fit <- fit_spectra("both", b, variant)
    other <- fit_spectra("both", b, variant, threads = 2)
    same <- c("dictionary", "codes", "prob_target", "objective")
    expect_identical(other[same], fit[same])
    parts <- fit_spectra("both", bag_shards(b, n = 3), variant)
    expect_equal(parts[same], fit[same], tolerance = 1e-9)
  }
  mil_save(fit, file <- tempfile())
  expect_identical(mil_load(file), fit)
  expect_error(mil_save(modifyList(fit, list(nonneg = "all")), file), "`object$nonneg`",
               fixed = TRUE, class = "fumi_error_model")
  before <- fit
  before$nonneg <- NULL                                  # a model of before there were bounds
  expect_gt(sum(predict(before, b, "codes") < 0), 0)
  expect_identical(update(fit, b, lambda = .1)$nonneg, "both")
  expect_output(print(fit), "nonneg \"both\"")
  expect_gte(min(fit_spectra("codes", b, init = fit_spectra("none", b))$codes), 0)
})
