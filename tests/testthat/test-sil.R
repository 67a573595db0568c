test_that("a linear single-instance learner is LiblineaR on inherited labels", {
  set.seed(1)
  b <- sim_bags(n_bags = 10, n_features = 6)
  sorted <- sort_instances(b)
  for (classifier in c("logistic", "svm")) {
    set.seed(1)
    fit <- sil(b, classifier = classifier, cost = 2, normalize = "none")
    x <- as.matrix(b)
    y <- as.data.frame(b)$label == "1"
    set.seed(1)
    own <- LiblineaR::LiblineaR(t(sorted$x), ifelse(in_positive(b), "positive", "negative"),
                                cost = 2, bias = 1, type = c(logistic = 0, svm = 1)[[classifier]],
                                wi = c(positive = .5 / mean(y), negative = .5 / mean(!y)))
    value <- predict(own, x, decisionValues = TRUE)$decisionValues[, "positive"]
    expect_equal(predict(fit, x)$.score, unname(value), tolerance = 1e-8)
  }
})

test_that("any classifier can be given", {
  set.seed(2)
  b <- sim_bags(n_bags = 10, n_features = 6)
  nearest <- list(fit = function(x, y) colMeans(x[y, ]) - colMeans(x[!y, ]),
                  score = function(model, x) x %*% model)
  fit <- sil(b, classifier = nearest, normalize = "none")
  x <- as.matrix(b)
  y <- as.data.frame(b)$label == "1"
  expect_equal(predict(fit, x)$.score, drop(x %*% (colMeans(x[y, ]) - colMeans(x[!y, ]))))
  expect_error(sil(b, classifier = list(1)), class = "fumi_error_input")
  expect_error(sil(b, cost = 0), class = "fumi_error_input")
})

test_that("probabilities come from logistic curves of the calibration", {
  set.seed(3)
  b <- sim_bags(n_bags = 20)
  fit <- sil(b)
  for (level in c("instance", "bag")) {
    curve <- if (level == "bag") fit$calibration$bag$own$curve else fit$calibration$instance$curve
    s <- predict(fit, b, level = level)$.score
    expect_equal(predict(fit, b, type = "prob", level = level)$.pred_1,
                 plogis(curve$intercept + curve$slope * s))
    expect_gt(curve$slope, 0)
  }
})
