test_that("coef gives the atoms", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d), n_target = 2)
  expect_identical(coef(fit), t(fit$dictionary))
  expect_identical(coef(fit, "target"), t(fit$dictionary[, 1:2]))
  expect_identical(coef(fit, "background"), t(fit$dictionary[, 3:4]))
  expect_identical(dimnames(coef(fit_to(bags_of(d)), "target")), list("target1", letters[1:6]))
  expect_equal(rowSums(coef(fit)^2), setNames(rep(1, 4), colnames(fit$dictionary)))
  expect_error(coef(fit, "both"), "`which`", class = "fumi_error_input")
})

test_that("print and summary say what a user asks first", {
  b <- bags_of(eight_bags())
  fit <- fit_to(b)
  shown <- c("variant \"paper\"", "4 positive, 4 negative (32 instances of 6 features)",
             "1 target, 2 background",
             "lambda 0.01, beta 30, gamma 0.001, psi 1, normalize \"unit\"", "in 3 iterations",
             "at `max_iter`", "a bag is \"yes\" if its score is above")
  for (text in shown) expect_output(print(fit), text, fixed = TRUE)
  expect_output(print(fit), format(fit$calibration$bag$own$threshold, digits = 4), fixed = TRUE)
  capture.output(expect_identical(withVisible(print(fit)), list(value = fit, visible = FALSE)))
  expect_output(print(fit_to(b, n_start = 2)), "2, the best kept")
  expect_output(print(fit_to(b, n_start = 2, combine = "average")), "scores averaged")
  s <- summary(fit)
  expect_s3_class(s, "summary.mil_model")
  expect_identical(s$atoms$atom, c("target1", "background1", "background2"))
  expect_equal(sum(s$atoms$energy), 1)
  expect_equal(s$atoms$used, unname(rowMeans(fit$codes != 0)))
  expect_output(print(s), "Weight of the E-step")
  expect_output(print(s), "background2")
})

test_that("a stop reason of its own is shown", {
  fit <- fit_to(bags_of(eight_bags()))
  fit$stop_reason <- "interrupt"
  expect_output(print(fit), "interrupted")
  fit$stop_reason <- "converged"
  expect_output(print(fit), "settled")
  fit$n_dead[2] <- 3L
  fit$n_dropped <- 1L
  expect_output(print(fit), "1 found unused at times, 1 dropped")
})

test_that("a fit prints in 80 columns", {
  local_reproducible_output(width = 80)
  fit <- suppressWarnings(dlfumi(easy(), noise = "background", n_background = 4, max_iter = 3))
  shown <- capture.output(print(fit))
  expect_true(any(grepl("objective still changed", shown)))
  expect_lte(max(nchar(shown)), 80)
})
