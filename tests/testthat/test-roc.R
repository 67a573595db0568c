# 2 positives and 4 negatives; the vertices, by hand:
# threshold passed by  9 (P): (0, .5)   7 (N): (.25, .5)   5 (P and N tie): (.5, 1)   then (1, 1).
by_hand <- function() mil_roc(c(9, 7, 5, 5, 2, 1), c(1, 0, 1, 0, 0, 0))

test_that("an ROC is what pROC makes of it with the direction fixed", {
  r <- by_hand()
  expect_s3_class(r, c("mil_roc", "roc"), exact = TRUE)
  # Pairs won: 4 of 4 for 9, and 2 + a half for 5.
  expect_equal(as.numeric(pROC::auc(r)), (4 + 2.5) / 8)
  expect_identical(r$direction, "<")
  upside_down <- mil_roc(-c(9, 7, 5, 5, 2, 1), c(1, 0, 1, 0, 0, 0))
  expect_equal(as.numeric(upside_down$auc), 1 - (4 + 2.5) / 8)
  expect_silent(mil_roc(1:4, c(0, 0, 1, 1)))
})

test_that("truth may be logical, numbers, a factor, or two values with the positive one named", {
  score <- c(3, 1, 2, 5)
  auc <- function(...) as.numeric(mil_roc(score, ...)$auc)
  y <- c(TRUE, FALSE, FALSE, TRUE)
  expect_equal(auc(y), 1)
  expect_equal(auc(as.integer(y)), 1)
  expect_equal(auc(ifelse(y, 1, -1)), 1)
  expect_equal(auc(factor(y, c(FALSE, TRUE), c("z", "a"))), 1)
  expect_equal(auc(ifelse(y, "a", "z"), positive = "a"), 1)
  expect_equal(auc(ifelse(y, "a", "z"), positive = "z"), 0)
})

test_that("noise has an AUC of one half, and not the better of both directions", {
  set.seed(1)
  auc <- replicate(100, as.numeric(mil_roc(rnorm(60), rep(0:1, 30))$auc))
  expect_lt(abs(mean(auc) - 0.5), 0.02)
  expect_gt(sum(auc < 0.5), 30)
})

test_that("scores that differ in the last bit remain apart", {
  score <- 1 + c(0, 1, 2, 3) * .Machine$double.eps
  expect_equal(as.numeric(mil_roc(score, c(0, 0, 1, 1))$auc), 1)
})

test_that("non-finite scores stop or are dropped", {
  score <- c(1, NA, 3, Inf, 5, NaN)
  truth <- c(0, 1, 1, 0, 1, 0)
  expect_error(mil_roc(score, truth), "3 of 6", class = "fumi_error_nonfinite")
  expect_equal(mil_roc(score, truth, na = "drop")$auc[1], mil_roc(c(1, 3, 5), c(0, 1, 1))$auc[1])
  expect_error(mil_roc(1:3, c(0, NA, 1)), class = "fumi_error_nonfinite")
  expect_length(mil_roc(1:3, c(0, NA, 1), na = "drop")$response, 2)
})

test_that("wrong input stops with its class", {
  expect_error(mil_roc(1:3, c(1, 1, 1)), class = "fumi_error_label")
  expect_error(mil_roc(c(NA_real_, 1), c(0, 1), na = "drop"), class = "fumi_error_label")
  expect_error(mil_roc(1:3, c("a", "b", "b")), class = "fumi_error_label")
  expect_error(mil_roc(1:3, 0:1), class = "fumi_error_dimension")
  expect_error(mil_roc(1:3), class = "fumi_error_truth")
  expect_error(mil_roc("a", 1), class = "fumi_error_type")
  expect_error(mil_roc(1:2, 0:1, na = "keep"), class = "fumi_error_input")
  expect_error(mil_roc(1:2, 0:1, direction = ">"), class = "fumi_error_argument")
})

test_that("tpr_at reads straight lines and the top of a step", {
  r <- by_hand()
  expect_equal(tpr_at(r, c(0, 0.1, 0.25, 0.375, 0.5, 0.9, 1)), c(0.5, 0.5, 0.5, 0.75, 1, 1, 1))
  # A step at one false positive in ten: 0.1, however it is computed, is on it.
  step <- mil_roc(c(10:1, 9.5, 8.5), rep(0:1, c(10, 2)))
  expect_equal(tpr_at(step, c(0, 0.1, 1 - 0.9, 0.2, 0.15)), c(0, 0.5, 0.5, 1, 0.5))
  perfect <- mil_roc(1:4, c(0, 0, 1, 1))
  expect_equal(tpr_at(perfect, c(0, 0.5, 1)), c(1, 1, 1))
  tied <- mil_roc(rep(1, 6), rep(0:1, 3))
  expect_equal(tpr_at(tied, c(0, 0.3, 1)), c(0, 0.3, 1))
})

test_that("tpr_at agrees with counting on random scores", {
  set.seed(2)
  score <- round(rnorm(80), 1)
  truth <- rep(0:1, c(50, 30))
  r <- mil_roc(score, truth)
  threshold <- sort(unique(score))
  fpr <- vapply(threshold, function(t) mean(score[truth == 0] >= t), 1)
  top <- vapply(fpr, function(f) max(vapply(threshold[fpr == f],
                                            function(t) mean(score[truth == 1] >= t), 1)), 1)
  expect_equal(tpr_at(r, fpr), top)
})

test_that("tpr_at takes lists and the curves of pROC, in percent or not", {
  r <- by_hand()
  rates <- c(0.1, 0.375)
  expect_equal(tpr_at(list(a = r, b = r), rates),
               matrix(c(0.5, 0.5, 0.75, 0.75), 2, dimnames = list(c("a", "b"), c("0.1", "0.375"))))
  expect_identical(dim(tpr_at(list(r), 0.1)), c(1L, 1L))
  percent <- pROC::roc(c(1, 0, 1, 0, 0, 0), c(9, 7, 5, 5, 2, 1), quiet = TRUE, direction = "<",
                       percent = TRUE)
  expect_equal(tpr_at(percent, rates), tpr_at(r, rates))
  expect_error(tpr_at(r, 1.2), class = "fumi_error_input")
  expect_error(tpr_at(r, NA_real_), class = "fumi_error_input")
  expect_error(tpr_at(r, "a"), class = "fumi_error_input")
  expect_error(tpr_at(list(r, 1), 0.1), class = "fumi_error_type")
  expect_error(tpr_at(list(), 0.1), class = "fumi_error_type")
})

# A model whose scores are the first feature, in the user's order.
predict.roc_stub <- function(object, new_data, type, level, ...) {
  x <- in_user_order(new_data, new_data$x)[1, ]
  bag <- new_data$bag[order(new_data$order)]
  if (level == "instance") return(data.frame(.bag = new_data$ids[bag], .score = x))
  data.frame(.bag = new_data$ids, .score = as.vector(tapply(x, bag, max)))
}

test_that("a model is judged by the truth or the labels of its data, in the user's order", {
  registerS3method("predict", "roc_stub", predict.roc_stub)
  model <- structure(list(), class = c("roc_stub", "mil_model"))
  truth <- c(0, 0, 0, 1, 0, 0, 1, 0)
  x <- cbind(c(1, 2, 3, 9, 4, 5, 8, 0))
  b <- bags(x, rep(1:4, each = 2), c(0, 1, 0, 1), truth = truth)
  r <- mil_roc(model, b)
  expect_equal(as.numeric(r$auc), 1)
  expect_equal(as.vector(r$original.predictor), as.vector(x))
  expect_equal(as.numeric(mil_roc(model, b, level = "bag")$auc), 1)
  expect_equal(as.numeric(mil_roc(model, b, truth = 1 - truth)$auc), 0)
  blind <- bags(x, rep(1:4, each = 2), c(0, 1, 0, 1))
  expect_error(mil_roc(model, blind), class = "fumi_error_truth")
  expect_equal(as.numeric(mil_roc(model, blind, level = "bag")$auc), 1)
  expect_error(mil_roc(model, x), class = "fumi_error_truth")
  expect_error(mil_roc(model), class = "fumi_error_input")
  expect_error(mil_roc(model, b, truth = 1:3), class = "fumi_error_dimension")
})

test_that("an ROC prints in one line", {
  r <- mil_roc(1:5, c(0, 1, 0, 1, 1))
  expect_identical(capture.output(print(r)), "ROC curve: AUC 0.833, 3 positive and 2 negative")
})

test_that("curves are named by their arguments, their variables or their numbers", {
  r <- mil_roc(1:4, c(0, 1, 0, 1))
  expect_identical(curve_labels(list(r, b = r, r), list(quote(r1), quote(f(x)), quote(f(x)))),
                   c("r1", "b", "curve 3"))
  expect_identical(curve_labels(list(r), list(quote(f(x)))), "")
  expect_identical(curve_labels(list(r), list(quote(r))), "")
  key <- curve_key(list(r, r), c("one", ""), paste("AUC", vapply(list(r, r), format_auc, "")),
                   check_points(NULL), NULL)
  expect_identical(key$text, c("one, AUC 0.750", "AUC 0.750"))
})

test_that("all kinds of plots run and leave the device as it was", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  settings <- c("mar", "pty", "xpd", "mfrow", "new")
  before <- graphics::par(settings)
  r <- by_hand()
  noise <- mil_roc(c(1, 3, 2, 4), c(1, 0, 1, 0))
  points <- data.frame(fpr = c(0.1, 0.4), tpr = c(0.5, 0.6), label = c("a", "b"))
  expect_identical(expect_invisible(plot(r)), r)
  expect_no_error(plot(r, noise, labels = c("one", "two"), points = points, main = "title"))
  expect_no_error(plot(`DL-FUMI` = r, `EM-DD` = noise, xlim = c(0, 0.2)))
  expect_no_error(do.call(plot, setNames(rep(list(r), 9), letters[1:9])))
  expect_no_error(plot(r, noise, col = c("black", "grey"), labels = c(strrep("long ", 20), "")))
  expect_identical(graphics::par(settings), before)
  expect_error(plot(r, 3), class = "fumi_error_type")
  expect_error(plot(r, labels = c("a", "b")), class = "fumi_error_dimension")
  expect_error(plot(r, points = data.frame(x = 1)), class = "fumi_error_type")
})

test_that("bags whose positive class is the negative one of the fit are refused", {
  set.seed(20)
  d <- as.data.frame(sim_bags(n_bags = 16, bag_size = 3, n_features = 4))
  d$label <- ifelse(d$label == 1, "tumour", "healthy")
  d$truth <- NULL
  b <- bags(d, "bag", "label", positive = "tumour")
  swapped <- bags(d, "bag", "label", positive = "healthy")
  fit <- sil(b)
  comparisons <- list(
    function(b) mil_roc(fit, b, level = "bag"), function(b) mil_auc(fit, b, level = "bag"),
    function(b) mil_calibrate(fit, b), function(b) plot(fit, "scores", new_data = b),
    function(b) mil_view(fit, b, open = FALSE), function(b) check_fit(fit, b))
  grDevices::pdf(NULL)
  for (compare in comparisons) {
    expect_error(compare(swapped), "positive class of the fit, \"tumour\"",
                 class = "fumi_error_label")
    expect_no_error(compare(b))
  }
  grDevices::dev.off()
  expect_equal(predict(fit, swapped), predict(fit, b))
})
