he_fixture <- function(name) {
  f <- trajectory(paste0("mihe-", name))
  c(f[setdiff(names(f), "parameters")], f$parameters)
}

# The fixture as the bridge sees it: instances of positive bags come first there too.
he_bags <- function(f) list(x = f$X, bag = f$bag, n_positive = sum(f$label[f$bag] == 1))

he_spec <- function(f, variant, max_iter, tol = 0) {
  own <- f[c("n_target", "coding", "beta", "power", "rho", "lambda", "alpha", "step")]
  own$n_target <- as.integer(own$n_target)
  c(own, list(variant = variant, max_iter = as.integer(max_iter), tol = tol))
}

he_run <- function(f, ...) mi_he_run(he_bags(f), rep(1, ncol(f$X)), f$start, he_spec(f, ...))

he_evaluate <- function(f, D, variant = "literal") {
  b <- he_bags(f)
  bag <- f$bag[seq_len(b$n_positive)]
  .Call(ffi_mihe_evaluate, f$X, rep(1, ncol(f$X)), b$n_positive, match(bag, unique(bag)) - 1L,
        length(unique(bag)), D, mi_he_par(he_spec(f, variant, 1)))
}

test_that("the literal variant follows the released code", {
  for (name in c("a", "b", "c")) {
    f <- he_fixture(name)
    start <- he_evaluate(f, f$start)
    expect_equal(start$codes, f$start_values$A, tolerance = 1e-9)
    expect_equal(start$background_codes, f$start_values$A_background, tolerance = 1e-9)
    expect_equal(start$objective, f$start_values$objective, tolerance = 1e-9)
    expect_equal(start$gradient, f$start_values$gradient, tolerance = 1e-9)
    n <- nrow(f$iterations$objective)
    fit <- he_run(f, "literal", n)
    expect_equal(unname(as.matrix(fit$objective[-1, -1])), unname(f$iterations$objective),
                 tolerance = 1e-9)
    expect_equal(t(fit$length) / f$step, f$iterations$steps_R, tolerance = 1e-9)
    for (j in seq_along(f$iterations$at))
      expect_equal(he_run(f, "literal", f$iterations$at[j])$last, f$iterations$D[, , j],
                   tolerance = 1e-9)
    full <- he_run(f, "literal", f$full$max_iter, f$full$tol)
    expect_equal(full$n_iter, f$full$n_iter_R)
    expect_equal(full$last, f$full$D, tolerance = 1e-9)
  }
})

test_that("the transcription follows the released code", {
  for (name in c("a", "c")) {
    f <- he_fixture(name)
    D <- f$start
    for (it in 1:2) {
      one <- ref_mihe_iteration(f, D)
      D <- one$D
      expect_equal(D, f$iterations$D[, , match(it, f$iterations$at)], tolerance = 1e-9)
      expect_equal(one$objective, unname(f$iterations$objective[it, ]), tolerance = 1e-9)
    }
  }
})

test_that("the fast variant ends no higher than the literal one, and never rises", {
  for (name in c("a", "b", "c")) {
    f <- he_fixture(name)
    literal <- he_run(f, "literal", 200, 1e-5)
    fast <- he_run(f, "fast", 200, 1e-5)
    J <- fast$objective$objective
    expect_true(all(diff(J) <= 0))
    expect_lte(min(J), min(literal$objective$objective))
    # its J is that of its dictionary, with exact codes by another route
    again <- he_evaluate(f, fast$dictionary, "fast")
    expect_equal(again$objective[1], min(J), tolerance = 1e-8)
    if (f$coding == "sparse") {
      expect_equal(colSums(fast$dictionary^2), rep(1, ncol(f$start)))
      spec <- list(lambda = f$lambda, steps = 0L, nonneg = FALSE, simd = 0L, threads = 1L)
      exact <- .Call(ffi_code, f$X, rep(1, ncol(f$X)), fast$dictionary, spec)$codes
      expect_equal(again$codes, exact, tolerance = 1e-6)
      expect_equal(again$objective, ref_mihe_objective(f, fast$dictionary, exact,
                                                       again$background_codes), tolerance = 1e-6)
    }
  }
})

test_that("the gradient is that of the objective with the codes fixed", {
  for (name in c("b", "c")) {
    f <- he_fixture(name)
    at <- he_evaluate(f, f$start, "fast")
    J <- function(D) ref_mihe_objective(f, D, at$codes, at$background_codes)[1]
    for (k in seq_len(ncol(f$start))) for (r in c(1, 7)) {
      h <- replace(f$start * 0, cbind(r, k), 1e-6)
      expect_equal(at$gradient[r, k], (J(f$start + h) - J(f$start - h)) / 2e-6, tolerance = 1e-5)
    }
  }
})

test_that("the best dictionary is returned", {
  f <- he_fixture("b")
  fit <- he_run(f, "literal", 200, 1e-5)
  J <- fit$objective$objective
  expect_lt(min(J), J[length(J)])
  expect_equal(fit$best_iter, which.min(J) - 1)
  expect_equal(he_evaluate(f, fit$dictionary)$objective[1], min(J), tolerance = 1e-9)
})

test_that("large ratios do not underflow", {
  f <- he_fixture("a")
  f$beta <- 1e5
  expect_true(is.finite(he_evaluate(f, f$start)$objective[1]))
  expect_true(all(is.finite(he_run(f, "fast", 5)$objective$objective)))
})

test_that("threads and kernels change nothing", {
  set.seed(2)
  b <- sim_bags(n_bags = 40, bag_size = 10, n_features = 20)
  fit <- function(...) {
    old <- options(...)
    on.exit(options(old))
    set.seed(3)
    mi_he(b, n_background = 4, max_iter = 5, calibrate = 0)
  }
  one <- fit(fumi.threads = 1)
  expect_identical(fit(fumi.threads = 2), one)
  expect_equal(coef(fit(fumi.simd = "portable")), coef(one), tolerance = 1e-6)
})

test_that("scores are the ratio of residuals with separate codes, or ACE with the target atoms", {
  set.seed(4)
  b <- sim_bags(n_bags = 20, bag_size = 5, n_features = 12)
  x <- as.matrix(b)
  unit <- t(x / sqrt(rowSums(x^2)))
  for (coding in c("sparse", "convex")) {
    fit <- mi_he(b, n_background = 3, coding = coding, max_iter = 5, calibrate = 0)
    D <- unname(t(coef(fit)))
    code <- function(D) if (coding == "convex") unmix(D, unit)
      else .Call(ffi_code, unit, rep(1, ncol(unit)), D,
                 list(lambda = 1e-3, steps = 0L, nonneg = FALSE, simd = 0L, threads = 1L))$codes
    left <- function(D) colSums((unit - D %*% code(D))^2)
    expect_equal(predict(fit, b)$.score, log(left(D[, -1]) / left(D)), tolerance = 1e-6)
    expect_equal(unname(t(predict(fit, b, type = "codes")[, rownames(coef(fit))])),
                 unname(code(D)), tolerance = 1e-6)
    fit$spec$score <- "ace"
    expect_equal(predict(fit, b)$.score,
                 ace(t(unit), coef(fit, "target"), background = fit$background,
                     center_target = coding == "convex"))
  }
  several <- mi_he(b, n_target = 2, n_background = 3, score = "ace", max_iter = 3, calibrate = 0)
  expect_equal(predict(several, b)$.score, sub_ace(t(unit), coef(several, "target"),
                                                   background = several$background))
})

test_that("a target that is planted is found, and drawn", {
  set.seed(5)
  b <- sim_bags(n_bags = 30, n_features = 20, image_dim = c(4, 5))
  fit <- mi_he(b, n_background = 4, n_start = 2)
  expect_gt(as.numeric(pROC::auc(mil_roc(fit, b))), .99)
  expect_length(fit$starts, 2)
  best <- vapply(fit$starts, function(s) min(s$objective), 0)
  expect_equal(min(fit$objective$objective), min(best))
  expect_named(loss_path(fit), c("start", "iteration", "objective", "positive", "background",
                                 "discrimination"))
  expect_equal(drawn(plot(fit))$n_pictures, 5)
  expect_identical(drawn(plot(fit, "objective"))$returned$value, fit)
  expect_equal(dim(coef(fit, "target")), c(1L, 20L))
  file <- tempfile()
  on.exit(unlink(file))
  mil_save(fit, file)
  expect_identical(predict(mil_load(file), b), predict(fit, b))
})
