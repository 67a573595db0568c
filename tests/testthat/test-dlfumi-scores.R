test_that("new instances are coded to the fixed point of the fit's own codes", {
  b <- easy()
  set.seed(21)
  fit <- dlfumi(b, n_target = 1, n_background = 3, lambda = .01,
                control = dlfumi_control(max_iter = 30))
  many <- predict(fit, b, type = "codes", coding_steps = 20000)
  expect_lt(max(abs(predict(fit, b, type = "codes") - many)), 1e-6)
  exact <- dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control("exact"))
  negative <- !b$label[as.integer(exact$bag)]
  separate <- predict(exact, b, coding = "separate")$.score
  expect_true(all(separate[negative] >= 1 - 1e-6))
})

test_that("the confidence is eq. 7 in both readings", {
  b <- easy()
  set.seed(22)
  fit <- dlfumi(b, n_target = 2, n_background = 3, lambda = .005)
  x <- as.matrix(b)
  x[3, ] <- 0
  unit <- x / pmax(sqrt(rowSums(x^2)), 1e-300)
  codes <- predict(fit, x, type = "codes")
  joint <- vapply(seq_len(nrow(x)), function(i)
    ref_confidence(unit[i, ], fit$dictionary, codes[i, ], codes[i, 3:5], 2), 0)
  joint[3] <- 1
  expect_lt(max(abs(predict(fit, x)$.score / joint - 1)), 1e-10)
  d_minus <- unname(fit$dictionary[, 3:5])
  penalty <- fit$lambda * ref_largest(crossprod(d_minus))
  alone <- .Call(ffi_code, t(unit), rep(1, nrow(x)), d_minus, code_par(penalty))$codes
  separate <- vapply(seq_len(nrow(x)), function(i)
    ref_confidence(unit[i, ], fit$dictionary, codes[i, ], alone[, i], 2), 0)
  separate[3] <- 1
  expect_lt(max(abs(predict(fit, x, coding = "separate")$.score / separate - 1)), 1e-10)
  p <- 1 - exp(-fit$beta * colSums((t(unit) - d_minus %*% t(codes[, 3:5]))^2))
  expect_equal(predict(fit, x, type = "weight")$.weight, p)
})

test_that("a score may be the difference of the residuals", {
  b <- easy()
  fit_by <- function(...) {
    set.seed(22)
    dlfumi(b, n_target = 2, n_background = 3, lambda = .005, ...)
  }
  ratio <- fit_by()
  fit <- fit_by(score = "difference")
  expect_identical(fit$dictionary, ratio$dictionary)
  expect_output(print(fit), "score \"difference\"", fixed = TRUE)
  x <- rbind(as.matrix(b), 0)
  unit <- t(x / pmax(sqrt(rowSums(x^2)), 1e-300))
  codes <- t(predict(fit, x, type = "codes"))
  residual <- function(k) colSums((unit - unname(fit$dictionary)[, k] %*% codes[k, ])^2)
  expect_equal(predict(fit, x)$.score, residual(3:5) - residual(1:5), tolerance = 1e-10)
  expect_gt(mil_roc(fit, b)$auc, .9)
  several <- fit_by(score = "difference", n_start = 2, combine = "average")
  negative <- b[!b$label]
  one <- function(m) {
    fit$dictionary[] <- m$dictionary
    s <- predict(fit, negative)$.score
    (s - mean(s)) / stats::sd(s)
  }
  expect_equal(predict(several, negative)$.score,
               (one(several$members[[1]]) + one(several$members[[2]])) / 2)
  both <- one_vs_rest(list(a = b, b = b), fitter = dlfumi, n_target = 2, n_background = 3,
                      score = "difference", scale = TRUE)
  s <- predict(both, negative, type = "score")$.score_a
  expect_equal(c(mean(s), stats::sd(s)), c(0, 1))
  expect_error(fit_by(score = "log"), "`score`", class = "fumi_error_input")
})

test_that("an interrupt during predict() gives no unfinished scores", {
  skip_on_cran()
  skip_on_os("windows")
  res <- interrupted(c(
    "set.seed(1)", "b <- sim_bags(n_bags = 20, n_features = 200)",
    "fit <- dlfumi(b, n_target = 2, n_background = 30, control = dlfumi_control(max_iter = 2))",
    "x <- matrix(rnorm(200 * 2e4), ncol = 200)"), c("for (i in 1:1000) {",
    "  s <- tryCatch({ predict(fit, x); NULL }, fumi_error_interrupt = identity, interrupt = identity)",
    "  if (!is.null(s)) break }", "result <- list(s = class(s))"))
  expect_true(any(c("fumi_error_interrupt", "interrupt") %in% res$s))
})

test_that("scores that would not be finite are refused", {
  b <- easy()
  fit <- dlfumi(b, n_target = 1, n_background = 3, normalize = "none")
  expect_error(score_instances(fit, b$x * 1e200), "squares", class = "fumi_error_scale")
})

test_that("averaged scores have one coding", {
  b <- easy()
  fit <- dlfumi(b, n_target = 1, n_background = 3, n_start = 2, combine = "average")
  expect_error(predict(fit, b, coding = "separate"), "`coding`", class = "fumi_error_no_meaning")
  expect_error(predict(fit, b, coding_steps = 5), "`coding_steps`", class = "fumi_error_no_meaning")
})
