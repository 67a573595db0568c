# Sigma as an explicit d x d matrix, straight from the definitions.
explicit_precision <- function(b, whitener, ridge = 1e-2, energy = 0.95) {
  n <- nrow(b)
  d <- ncol(b)
  s <- cov(b)
  tr <- sum(diag(s))
  e <- eigen(s, symmetric = TRUE)
  switch(whitener,
    ridge = solve(s + ridge * tr / d * diag(d)),
    "ledoit-wolf" = {
      z <- scale(b, scale = FALSE)
      s <- crossprod(z) / n
      m <- sum(diag(s)) / d
      spread <- sum((s - m * diag(d))^2)
      error <- sum(apply(z, 1, function(v) sum((tcrossprod(v) - s)^2))) / n^2
      rho <- min(error, spread) / spread
      solve((1 - rho) * s + rho * m * diag(d))
    },
    ppca = {
      q <- which(cumsum(e$values) >= energy * tr)[1]
      rest <- mean(e$values[-seq_len(q)])
      e$vectors %*% (c(1 / e$values[seq_len(q)], rep(1 / rest, d - q)) * t(e$vectors))
    },
    pinv = {
      k <- e$values > 1e-9 * e$values[1]
      e$vectors[, k] %*% (t(e$vectors[, k]) / e$values[k])
    },
    none = diag(d))
}

explicit_sub_ace <- function(x, s, b, precision) {
  z <- t(x) - colMeans(b)
  a <- crossprod(s, precision %*% z)
  colSums(a * solve(crossprod(s, precision %*% s), a)) / colSums(z * (precision %*% z))
}

correlated <- function(n, d) matrix(rnorm(n * d), n) %*% diag(seq(3, 0.3, length.out = d)) %*%
  matrix(rnorm(d * d), d) + rep(seq_len(d), each = n)

whitener_names <- c("ridge", "ledoit-wolf", "ppca", "pinv", "none")

test_that("sub_ace agrees with an explicit inverse, for fewer and for more features than instances", {
  set.seed(1)
  for (n in c(40, 6)) {
    b <- correlated(n, 9)
    x <- correlated(7, 9)
    s <- matrix(rnorm(18), 9)
    for (w in whitener_names) {
      stats <- suppressWarnings(background_stats(b, w))
      expect_equal(sub_ace(x, s, stats), explicit_sub_ace(x, s, b, explicit_precision(b, w)),
                   tolerance = 1e-8, info = paste(w, n))
    }
  }
})

test_that("the Gram matrix gives the same axes as the covariance", {
  set.seed(2)
  b <- t(correlated(8, 12))                              # d = 12 features, 8 columns
  z <- b - rowMeans(b)
  by_gram <- principal_axes(z)
  by_covariance <- eigen(tcrossprod(z), symmetric = TRUE)
  expect_equal(by_gram$lambda, by_covariance$values[1:7] / 7)
  expect_equal(abs(colSums(by_gram$basis * by_covariance$vectors[, 1:7])), rep(1, 7))
  expect_equal(crossprod(by_gram$basis), diag(7))
})

test_that("options reach the whitener", {
  set.seed(3)
  b <- correlated(30, 6)
  x <- correlated(5, 6)
  s <- matrix(rnorm(12), 6)
  expect_equal(sub_ace(x, s, b, ridge = 2),
               explicit_sub_ace(x, s, b, explicit_precision(b, "ridge", ridge = 2)))
  expect_equal(sub_ace(x, s, b, whitener = "ppca", energy = 0.6),
               explicit_sub_ace(x, s, b, explicit_precision(b, "ppca", energy = 0.6)))
  expect_equal(sub_ace(x, s, b, whitener = "ppca", energy = 1), sub_ace(x, s, b, whitener = "pinv"))
  expect_equal(sub_ace(x, s, b, center_target = TRUE), sub_ace(x, s - colMeans(b), b))
  expect_equal(sub_ace(x, s), sub_ace(x, s, background = x))
})

test_that("the score ignores the length of z, the basis of the target and the basis of the space", {
  set.seed(4)
  b <- correlated(40, 8)
  x <- correlated(6, 8)
  s <- matrix(rnorm(24), 8)
  for (w in whitener_names) {
    stats <- background_stats(b, w)
    score <- sub_ace(x, s, stats)
    expect_true(all(score >= 0 & score <= 1))
    longer <- sweep(sweep(x, 2, stats$mean) * 37, 2, stats$mean, "+")
    expect_equal(sub_ace(longer, s, stats), score)
    expect_equal(sub_ace(x, s %*% matrix(rnorm(9), 3), stats), score)
    expect_equal(sub_ace(x, s %*% diag(c(1e-6, 1, 1e6)), stats), score)
    rotation <- qr.Q(qr(matrix(rnorm(64), 8)))
    expect_equal(sub_ace(x %*% rotation, t(rotation) %*% s, b %*% rotation, whitener = w), score)
  }
  a <- matrix(rnorm(64), 8)
  expect_equal(sub_ace(x %*% a, t(a) %*% s, b %*% a, whitener = "pinv"),
               sub_ace(x, s, b, whitener = "pinv"), tolerance = 1e-6)
})

test_that("without a target the score is Beta(T/2, (d - T)/2)", {
  set.seed(5)
  half <- matrix(rnorm(20 * 40), 20)
  stats <- background_stats(rbind(half, -half), "none")
  expect_equal(stats$mean, rep(0, 40))
  score <- sub_ace(matrix(rnorm(3000 * 40), 3000), matrix(rnorm(120), 40), stats)
  expect_gt(ks.test(score, "pbeta", 3 / 2, 37 / 2)$p.value, 0.01)
})

test_that("ace is the signed root of sub_ace for one atom", {
  set.seed(6)
  b <- correlated(40, 8)
  x <- correlated(9, 8)
  s <- rnorm(8)
  signed <- ace(x, s, b)
  expect_equal(signed^2, sub_ace(x, as.matrix(s), b))
  expect_equal(ace(x, s, b, sign = FALSE), signed^2)
  expect_equal(ace(x, -s, b), -signed)
  precision <- explicit_precision(b, "ridge")
  z <- t(x) - colMeans(b)
  expect_equal(signed, as.vector(crossprod(s, precision %*% z)) /
                 sqrt(sum(s * (precision %*% s)) * colSums(z * (precision %*% z))))
  expect_equal(ace(rbind(s, -s) + rep(colMeans(b), each = 2), s, b), c(1, -1))
})

test_that("degenerate instances and targets score without noise", {
  set.seed(7)
  b <- correlated(40, 8)
  s <- matrix(rnorm(16), 8)
  stats <- background_stats(b)
  expect_identical(sub_ace(rbind(colMeans(b)), s, stats), 0)
  x <- correlated(5, 8)
  expect_equal(sub_ace(x, cbind(s, s[, 1] + s[, 2], 0), stats), sub_ace(x, s, stats))
  expect_equal(sub_ace(x, matrix(rnorm(72), 8), stats), rep(1, 5))
  expect_identical(sub_ace(x[0, ], s, stats), numeric())
  # pinv does not see the second half of the features here.
  blind <- background_stats(cbind(b[, 1:4], 0, 0, 0, 0), "pinv")
  unseen <- c(0, 0, 0, 0, 1, 2, 3, 4)
  expect_identical(ace(x, unseen, blind), rep(0, 5))
  expect_identical(sub_ace(rbind(blind$mean + unseen), s, blind), 0)
})

test_that("many instances are scored in blocks without a trace", {
  set.seed(8)
  stats <- background_stats(matrix(rnorm(20 * 2000), 20))
  x <- matrix(rnorm(4500 * 2000), 4500)
  s <- matrix(rnorm(4000), 2000)
  some <- c(1, 1979, 1980, 1981, 1982, 4500)
  expect_equal(sub_ace(x, s, stats)[some], sub_ace(x[some, ], s, stats))
})

test_that("thousands of features cost memory in proportion to instances", {
  set.seed(9)
  b <- matrix(rnorm(300 * 4980), 300)
  stats <- background_stats(b)
  expect_lt(as.numeric(object.size(stats)), 1.1 * as.numeric(object.size(b)))
  expect_identical(dim(stats$basis), c(4980L, 299L))
  score <- sub_ace(b[1:5, ], matrix(rnorm(4980 * 2), 4980), stats)
  expect_true(all(score > 0 & score < 1))
})

test_that("bags give their negative instances as background and keep the user's order", {
  set.seed(10)
  x <- correlated(24, 5)
  b <- bags(x, rep(1:6, each = 4), c(0, 1, 0, 1, 0, 1))
  negative <- rep(c(TRUE, FALSE), each = 4, times = 3)
  s <- matrix(rnorm(10), 5)
  expect_equal(background_stats(b), background_stats(x[negative, ]))
  expect_equal(sub_ace(b, s), sub_ace(x, s, x[negative, ]))
  expect_equal(sub_ace(x, s, b), sub_ace(x, s, x[negative, ]))
})

test_that("a model lends its target atoms", {
  set.seed(11)
  x <- correlated(20, 5)
  model <- structure(list(dictionary = matrix(rnorm(20), 5), n_target = 2), class = "mil_model")
  expect_equal(sub_ace(x, model, x), sub_ace(x, model$dictionary[, 1:2], x))
  expect_error(ace(x, model, x), class = "fumi_error_dimension")
  expect_error(sub_ace(x, structure(list(), class = "mil_model"), x), class = "fumi_error_type")
})

test_that("what cannot be inverted gets a floor and a warning", {
  s <- c(1, 2, 3)
  expect_warning(stats <- background_stats(matrix(0.1, 10, 3)), class = "fumi_warning_constant")
  expect_equal(ace(rbind(s + 0.1), s, stats), 1)
  set.seed(12)
  two <- matrix(rnorm(10), 2)
  expect_warning(stats <- background_stats(two, "ledoit-wolf"), class = "fumi_warning_floor")
  expect_gt(stats$delta, 0)
  expect_warning(background_stats(two, "ppca"), class = "fumi_warning_floor")
  expect_warning(background_stats(two, "pinv"), class = "fumi_warning_pinv")
  expect_no_warning(background_stats(matrix(rnorm(60), 20), "pinv"))
})

test_that("coef() of a fit is a target, whichever way it is turned", {
  b <- bags_of(eight_bags())
  fit <- fit_to(b, n_target = 2)
  expect_equal(sub_ace(b, coef(fit, "target")), sub_ace(b, fit))
  expect_equal(sub_ace(b, t(coef(fit, "target"))), sub_ace(b, fit))
  signature <- mi_ace(b)
  expect_equal(ace(b, coef(signature)), ace(b, signature))
  expect_equal(ace(b, as.vector(coef(signature))), ace(b, signature))
  six <- fit_to(b, n_target = 6)
  expect_equal(sub_ace(b, coef(six, "target")[6:1, ]), sub_ace(b, six))
})

test_that("wrong input stops with its class", {
  set.seed(13)
  b <- matrix(rnorm(60), 20)
  s <- matrix(rnorm(6), 3)
  expect_error(background_stats(b, "pca"), class = "fumi_error_input")
  expect_error(background_stats(b, ridge = 0), class = "fumi_error_input")
  expect_error(background_stats(b, "ppca", energy = 1.5), class = "fumi_error_input")
  expect_error(background_stats(b[1, , drop = FALSE]), class = "fumi_error_empty")
  expect_error(background_stats(replace(b, 3, NA)), class = "fumi_error_nonfinite")
  expect_error(background_stats(letters), class = "fumi_error_type")
  expect_error(sub_ace(b[, 1:2], s, b), class = "fumi_error_dimension")
  expect_error(sub_ace(b, s[-1, ], b), class = "fumi_error_dimension")
  expect_error(sub_ace(b, matrix(1:9, 3), b), "square", class = "fumi_error_dimension")
  expect_error(sub_ace(b, "a", b), class = "fumi_error_type")
  expect_error(sub_ace(b, replace(s, 1, Inf), b), class = "fumi_error_nonfinite")
  expect_error(sub_ace(b, 0 * s, b), class = "fumi_error_input")
  expect_error(sub_ace(replace(b, 1, Inf), s, b), class = "fumi_error_nonfinite")
  expect_error(ace(b, s, b), class = "fumi_error_dimension")
  expect_error(ace(b, s[, 1], b, sign = NA), class = "fumi_error_input")
  expect_error(sub_ace(b, s, b, ridg = 1), "Did you mean `ridge`", class = "fumi_error_argument")
  expect_error(sub_ace(b, s, background_stats(b), ridge = 1), class = "fumi_error_argument")
  named <- as.data.frame(b)
  expect_error(sub_ace(named[3:1], s, named), class = "fumi_error_column")
  expect_error(sub_ace(b, s, replace(b, 1, NA)), "`background`", class = "fumi_error_nonfinite")
})

test_that("a background prints in few lines", {
  set.seed(14)
  b <- matrix(rnorm(60), 6)
  expect_output(print(background_stats(b)),
                "6 instances with 10 features.*ridge, 5 directions.*Outside")
  expect_output(print(background_stats(b, "none")), "Whitener: none")
  expect_length(capture.output(print(background_stats(b))), 3)
})

test_that("numbers whose squares overflow or vanish are refused, not taken for constants", {
  set.seed(1)
  x <- matrix(rnorm(15), 5)
  background <- background_stats(x)
  expect_equal(ace(x * 1e100, 1:3), ace(x, 1:3))
  expect_equal(ace(x * 1e-100, 1:3), ace(x, 1:3))
  for (k in c(1e200, 1e300, 1e-200, 1e-310)) {
    expect_error(ace(x * k, 1:3), "rescale", class = "fumi_error_scale")
    expect_error(sub_ace(x * k, 1:3), "rescale", class = "fumi_error_scale")
  }
  expect_error(ace(x * 1e200, 1:3, background), "rescale", class = "fumi_error_scale")
  expect_true(all(is.finite(ace(x * 1e-200, 1:3, background))))
})
