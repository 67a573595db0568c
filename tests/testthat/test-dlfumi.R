fit_fixture <- function(f, variant, n_iter, order = seq_len(ncol(f$X))) {
  bag <- rep(seq_len(ncol(f$X) / 2), each = 2, length.out = ncol(f$X))
  bag <- paste(bag, f$positive)
  b <- bags(t(f$X)[order, ], bag[order], f$positive[order])
  dlfumi(b, n_target = f$n_target, n_background = f$n_background, lambda = f$lambda, beta = f$beta,
         gamma = f$Gamma, psi = f$psi, normalize = "none",
         init = list(dictionary = f$dictionary0, codes = f$codes0[, order]),
         control = dlfumi_control(variant, inner = f$inner, max_iter = n_iter, tol = 0))
}

expect_trajectory <- function(name) {
  f <- trajectory(name)
  variant <- sub("-.*", "", name)
  for (i in seq_along(f$trajectory)) {
    truth <- f$trajectory[[i]]
    for (order in list(seq_len(ncol(f$X)), sample(ncol(f$X)))) {
      fit <- fit_fixture(f, variant, i, order)
      back <- order(order)
      expect_lt(relative_difference(unname(fit$dictionary), unname(truth$D)), 1e-9)
      expect_lt(relative_difference(unname(fit$codes)[, back], truth$A), 1e-9)
      expect_lt(relative_difference(fit$prob_target[back], truth$p), 1e-9)
      expect_lt(relative_difference(fit$objective$objective[i], truth$objective), 1e-9)
    }
  }
}

test_that("the trajectories of the paper's equations are matched at every iteration", {
  expect_trajectory("paper-a")
  expect_trajectory("paper-b")
})

test_that("the trajectories of the authors' code are matched at every iteration", {
  expect_trajectory("matlab-a")
  expect_trajectory("matlab-b")
})

test_that("the portable inner loops and those of AVX2 match them too", {
  old <- options(fumi.simd = "portable")
  on.exit(options(old))
  for (simd in c("portable", "avx2")) {
    options(fumi.simd = simd)
    expect_trajectory("paper-b")
    expect_trajectory("matlab-a")
  }
})

sizes <- list(list(), list(d = 1), list(n_target = 1), list(n_background = 1), list(n_pos = 1),
              list(n_neg = 1), list(d = 1, n_target = 1, n_background = 1, n_pos = 1, n_neg = 1),
              list(d = 30, n_target = 5, n_background = 9, n_pos = 130, n_neg = 110, inner = 3),
              list(d = 4, n_target = 6, n_background = 7), list(inner = 50))

for_each_problem <- function(check) {
  set.seed(20161204)
  for (size in sizes) for (repeated in 1:3) check(do.call(random_problem, size))
}

test_that("the E-step equals its transcription", {
  for_each_problem(function(s)
    expect_lt(relative_difference(core_step(s, "expect")$p,
                                  ref_expect(s$X, s$n_pos, s$D, s$A, s$n_target, s$beta)), 1e-10))
})

test_that("the dictionary updates equal their transcription in both orders", {
  for_each_problem(function(s) for (variant in c("paper", "matlab")) {
    D <- ref_target_atoms(s$X, s$n_pos, s$D, s$A, s$p, s$n_target)
    compared <- if (variant == "matlab") D else s$D
    D <- ref_background_atoms(s$X, s$n_pos, D, s$D, s$A, s$p, s$n_target, s$psi, s$gamma,
                              ref_cosines(s$D, compared, s$n_target))
    expect_lt(relative_difference(core_step(s, "atoms", variant)$dictionary, D), 1e-10)
  })
})

test_that("the codes equal their transcription", {
  for_each_problem(function(s) {
    A <- ref_codes(s$X, s$n_pos, s$D, s$A, s$p, s$n_target, s$lambda, s$inner)
    expect_lt(relative_difference(core_step(s, "codes")$codes, A), 1e-10)
  })
})

test_that("the objective and its three terms equal their transcription", {
  for_each_problem(function(s) for (variant in c("paper", "matlab")) {
    compared <- if (variant == "matlab") s$D else s$D_old
    f <- ref_objective(s$X, s$n_pos, s$D, s$A, s$p, s$n_target, s$psi, s$lambda, s$gamma,
                       ref_cosines(s$D_old, compared, s$n_target), compared)
    expect_lt(relative_difference(core_step(s, "objective", variant)$terms, f), 1e-10)
  })
})

test_that("residuals that are tiny beside the data keep their digits", {
  set.seed(2)
  s <- random_problem(d = 12)
  s$X <- s$D %*% s$A + 1e-7 * matrix(rnorm(length(s$X)), 12)
  s$A[seq_len(s$n_target), ] <- 0
  s$X[, seq_len(s$n_pos)] <- s$D %*% s$A[, seq_len(s$n_pos)] + 1e-7 * rnorm(12 * s$n_pos)
  expect_lt(relative_difference(core_step(s, "expect")$p,
                                -expm1(-s$beta * colSums((s$X - s$D %*% s$A)[, seq_len(s$n_pos)]^2))), 1e-8)
})

test_that("whole iterations equal the transcription from the package's own start", {
  set.seed(3)
  b <- sim_bags(n_bags = 10, bag_size = 4, n_features = 12, n_background = 3)
  for (variant in c("paper", "matlab")) {
    fit <- function(n) {
      set.seed(5)
      dlfumi(b, n_target = 2, n_background = 3, gamma = .1, lambda = .01,
             control = dlfumi_control(variant, max_iter = n, tol = 0))
    }
    start <- dlfumi(b, n_target = 2, n_background = 3, init = fit(1), gamma = .1, lambda = .01,
                    control = dlfumi_control(variant, max_iter = 1, tol = 0))
    one <- fit(1)
    x <- t(as.matrix(b))
    x <- apply(x, 2, ref_unit)
    psi <- if (variant == "matlab") 1.5 else 1
    truth <- ref_iterate(variant, x, b$n_positive, unname(one$dictionary), unname(one$codes), 2,
                         .01, 30, .1, psi, 50)
    expect_lt(relative_difference(unname(start$dictionary), truth$D), 1e-10)
    expect_lt(relative_difference(unname(start$codes), truth$A), 1e-10)
    expect_lt(relative_difference(start$objective$objective, truth$objective[1]), 1e-10)
  }
})

# ---- exact ---------------------------------------------------------------------------

frozen_objective <- function(s, D = s$D, A = s$A) {
  cosine <- ref_cosines(s$D, s$D, s$n_target)
  ref_objective(s$X, s$n_pos, D, A, s$p, s$n_target, s$psi, s$lambda, s$gamma, cosine, s$D)[1]
}

test_that("no sub-step of variant exact raises the objective with p, gamma and old atoms frozen", {
  set.seed(7)
  for (trial in 1:100) {
    s <- random_problem(d = sample(2:12, 1), n_target = sample(1:3, 1),
                        n_background = sample(1:4, 1))
    before <- frozen_objective(s)
    codes <- core_step(s, "codes", "exact")$codes
    expect_lte(frozen_objective(s, A = codes), before * (1 + 1e-10))

    updated <- core_step(s, "atoms", "exact")$dictionary
    expect_equal(colSums(updated^2), rep(1, ncol(updated)))
    targets_only <- replace(s$D, seq_len(nrow(s$D) * s$n_target), updated[, seq_len(s$n_target)])
    middle <- frozen_objective(s, D = targets_only)
    expect_lte(middle, before * (1 + 1e-10))
    expect_lte(frozen_objective(s, D = updated), middle * (1 + 1e-10))
  }
})

test_that("exact codes are those of an independent lasso", {
  skip_if_not_installed("glmnet")
  set.seed(8)
  s <- random_problem(d = 20, n_target = 2, n_background = 4, n_pos = 10, n_neg = 10)
  s$lambda <- .05
  codes <- core_step(s, "codes", "exact")$codes
  background <- s$D[, -(1:2)]
  precision <- list(thresh = 1e-20, maxit = 1e6)
  if ("control" %in% names(formals(glmnet::glmnet))) precision <- list(control = precision)
  for (i in seq_len(ncol(s$X))) {
    p <- if (i <= s$n_pos) s$p[i] else 0
    y <- c(sqrt(p) * s$X[, i], sqrt(1 - p) * s$X[, i])
    design <- rbind(sqrt(p) * s$D, sqrt(1 - p) * cbind(0 * s$D[, 1:2], background))
    if (p == 0) design[, 1:2] <- 0
    used <- if (p > 0) 1:6 else 3:6
    penalty <- c(p, p, 1, 1, 1, 1)[used]
    # glmnet: 1/(2n) ||y - Xb||^2 + l sum pf |b|, with pf brought to mean 1
    l <- s$lambda / length(y) * mean(penalty)
    g <- do.call(glmnet::glmnet, c(list(design[, used], y, lambda = l, penalty.factor = penalty,
                                        intercept = FALSE, standardize = FALSE), precision))
    truth <- replace(numeric(6), used, as.numeric(g$beta))
    expect_lt(max(abs(codes[, i] - truth)), 1e-6)
  }
})

test_that("the active set and the proximal steps agree, and report their gap", {
  set.seed(9)
  s <- random_problem(d = 15, n_target = 2, n_background = 5, n_pos = 20, n_neg = 20, inner = 50)
  active <- core_step(s, "codes", "exact")
  proximal <- core_step(s, "codes", "exact", solver = "ista")
  expect_lt(active$worst_gap, 1e-9)
  expect_lt(proximal$worst_gap, 1e-6)
  expect_lt(max(abs(active$codes - proximal$codes)), 1e-2)
  expect_equal(frozen_objective(s, A = active$codes), frozen_objective(s, A = proximal$codes),
               tolerance = 1e-6)
})

test_that("duplicate and zero atoms do no harm to exact codes", {
  set.seed(10)
  s <- random_problem(d = 8, n_target = 2, n_background = 4)
  s$D[, 4] <- s$D[, 5]
  s$D[, 6] <- 0
  out <- core_step(s, "codes", "exact")
  expect_true(all(is.finite(out$codes)))
  expect_lt(out$worst_gap, 1e-5)
  expect_equal(out$codes[6, ], numeric(15))
})

# ---- atoms without use -----------------------------------------------------------------

test_that("an unused atom follows the policy, is counted, and is never NaN", {
  set.seed(11)
  s <- random_problem(d = 10, n_target = 2, n_background = 3, n_pos = 20, n_neg = 20)
  s$A[c(1, 4), ] <- 0
  for (variant in c("paper", "matlab", "exact")) {
    keep <- core_step(s, "atoms", variant, "keep")
    expect_equal(keep$dictionary[, c(1, 4)], s$D[, c(1, 4)])
    expect_equal(keep$n_dead, c(1, 0, 0, 1, 0))
    drop <- core_step(s, "atoms", variant, "drop")
    expect_equal(drop$dictionary[, c(1, 4)], matrix(0, 10, 2))
    fresh <- core_step(s, "atoms", variant, "resample")$dictionary
    full <- s$X - s$D %*% s$A
    worst <- which.max(s$p * colSums(full[, 1:20]^2))
    expect_equal(fresh[, 1], ref_unit(s$X[, worst]))
    expect_equal(fresh[, 4], ref_unit(s$X[, 20 + which.max(colSums(full[, 21:40]^2))]))
    expect_true(all(is.finite(fresh)))
  }
})

test_that("two unused atoms take two different instances", {
  set.seed(12)
  s <- random_problem(d = 10, n_target = 3, n_background = 2)
  s$A[1:2, ] <- 0
  fresh <- core_step(s, "atoms", "paper", "resample")$dictionary
  expect_gt(max(abs(fresh[, 1] - fresh[, 2])), 1e-6)
})

# ---- the fit --------------------------------------------------------------------------------

test_that("set.seed decides a fit wholly, and RNG kind and state are left as R leaves them", {
  b <- easy()
  fit <- function() {
    set.seed(1)
    dlfumi(b, n_target = 2, n_background = 3, n_start = 2, control = dlfumi_control(max_iter = 10))
  }
  kind <- RNGkind()
  first <- fit()
  after <- .Random.seed
  expect_identical(fit(), first)
  expect_identical(.Random.seed, after)
  expect_identical(RNGkind(), kind)
  expect_identical(first$rng_kind, kind)
  set.seed(1)
  for (s in 1:2) {
    sample.int(b$n_positive)
    runif(3)
  }
  expect_identical(.Random.seed, after)
})

test_that("the order of instances and bags changes nothing beyond order, given the same start", {
  b <- easy()
  x <- as.matrix(b)
  info <- as.data.frame(b)
  set.seed(15)
  start <- dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control(max_iter = 1))
  shuffle <- sample(nrow(x))
  for (variant in c("paper", "matlab", "exact")) {
    fit <- function(order) dlfumi(x[order, ], info$bag[order], info$label[order], n_target = 1,
                                  n_background = 3, init = list(dictionary = start$dictionary),
                                  control = dlfumi_control(variant, max_iter = 20))
    plain <- fit(seq_len(nrow(x)))
    mixed <- fit(shuffle)
    expect_equal(mixed$dictionary, plain$dictionary, tolerance = 1e-8)
    expect_equal(predict(mixed, x)$.score, predict(plain, x)$.score, tolerance = 1e-8)
    expect_equal(mixed$codes, plain$codes[, shuffle], tolerance = 1e-8)
  }
})

test_that("easy bags are separated by every variant", {
  for (variant in c("paper", "matlab", "exact")) {
    set.seed(16)
    b <- sim_bags(n_bags = 40, n_features = 20, noise = .05)
    parts <- split(b, .5)
    fit <- dlfumi(parts$train, n_target = 1, n_background = 4, n_start = 3,
                  control = dlfumi_control(variant))
    expect_gt(as.numeric(pROC::auc(mil_roc(fit, parts$test))), .95)
    truth <- attr(b, "dictionary")[, 1]
    background <- qr.Q(qr(attr(b, "dictionary")[, -1]))
    distinct <- ref_unit(truth - background %*% crossprod(background, truth))
    found <- ref_unit(drop(coef(fit, "target")) - background %*% crossprod(background, drop(coef(fit, "target"))))
    expect_gt(abs(sum(distinct * found)), .9)
  }
})

test_that("blank bags are refused, and a blank start does no harm", {
  b <- easy()
  x <- as.matrix(b)
  d <- as.data.frame(b)
  for (label in c("0", "1"))
    expect_error(dlfumi(x * (d$label != label), d$bag, d$label), class = "fumi_error_scale")
  for (dead in c("resample", "keep", "drop")) {
    fit <- suppressWarnings(dlfumi(b, n_target = 1, n_background = 2,
                                   init = list(dictionary = cbind(1, diag(12)[, 1], 0)),
                                   control = dlfumi_control(dead = dead, max_iter = 3)))
    expect_true(all(is.finite(predict(fit, b)$.score)))
    expect_equal(fit$n_dropped, if (dead == "drop") 1 else 0)
  }
  fit <- suppressWarnings(dlfumi(b, n_target = 1, n_background = 3,
                                 init = list(dictionary = cbind(1, matrix(0, 12, 3))),
                                 control = dlfumi_control(dead = "drop", max_iter = 3)))
  expect_equal(fit$n_dropped, 2)
  expect_equal(colnames(fit$dictionary), c("target1", "background1"))
})

test_that("parameters are those of the variant unless given, and are checked by name", {
  b <- easy()
  fit <- dlfumi(b, control = dlfumi_control("matlab", max_iter = 1))
  expect_equal(unlist(fit[c("n_target", "n_background", "lambda", "beta", "gamma", "psi")]),
               c(n_target = 2, n_background = 5, lambda = .001, beta = 30, gamma = .001, psi = 1.5))
  other <- update(fit, b, control = dlfumi_control("exact", max_iter = 1))
  expect_equal(other$lambda, .05)
  expect_equal(other$n_background, 15)
  expect_error(dlfumi(b, control = list(max_itr = 3)), class = "fumi_error_argument")
  bad <- list(list(n_target = 0), list(n_target = 1.5), list(n_background = -1),
              list(n_target = "2"),
              list(n_target = c(1, 2)), list(n_target = 1e10), list(n_background = Inf),
              list(n_target = 1000),
              list(n_background = 1000), list(lambda = -1), list(lambda = NA), list(beta = 0),
              list(beta = Inf), list(gamma = -1), list(psi = 0), list(psi = "a"),
              list(normalize = "max"),
              list(init = 3), list(n_start = 0), list(combine = "mean"), list(control = 3),
              list(lamda = .1), list(progress = NA), list(keep_background = 1))
  for (arguments in bad)
    expect_error(do.call(dlfumi, c(list(b), arguments)), class = "fumi_error")
})

test_that("an interrupt returns the last whole iteration, bit for bit, as a usable fit", {
  skip_on_cran()
  skip_on_os("windows")
  for (variant in c("paper", "matlab", "exact")) {
    res <- interrupted(c(
      "set.seed(1)", "b <- sim_bags(n_bags = 200, bag_size = 20, n_features = 200)",
      "fit <- function(n, ...) { set.seed(2); suppressWarnings(dlfumi(b, n_target = 2, n_background = 8,",
      sprintf("  control = dlfumi_control('%s', max_iter = n, tol = 0), ...), 'fumi_warning_max_iter') }", variant)), c(
      "f <- fit(1e5, n_start = 3)",
      "result <- list(f = f, g = fit(f$n_iter), score = predict(f, b)$.score)"))
    expect_identical(res$f$stop_reason, "interrupt")
    expect_true("fumi_warning_interrupt" %in% res$warned)
    expect_length(res$f$starts, 1)
    expect_gt(res$f$n_iter, 0)
    same <- c("dictionary", "codes", "prob_target", "n_dead", "worst_gap", "objective", "n_iter")
    expect_identical(res$f[same], res$g[same])
    expect_true(all(is.finite(res$score)))
  }
})

test_that("the paper's parameters are a word away, and what is given wins", {
  b <- easy()
  numbers <- c("n_target", "n_background", "lambda", "beta", "gamma", "psi", "variant")
  fit <- function(...) dlfumi(b, max_iter = 1, calibrate = 0, ...)[numbers]
  expect_equal(fit(paper = "usps"), list(n_target = 4, n_background = 15, lambda = .001, beta = 25,
                                         gamma = .1, psi = 1, variant = "paper"))
  expect_equal(fit(paper = "olivetti_person", beta = 7)[c("beta", "n_background")],
               list(beta = 7, n_background = 20))
  expect_error(fit(paper = "mnist"), "`paper`", class = "fumi_error_input")
  own <- dlfumi(b, paper = "usps", max_iter = 1, calibrate = 0)
  expect_equal(update(own, b, psi = 2)[c("gamma", "psi")], list(gamma = .1, psi = 2))
})
