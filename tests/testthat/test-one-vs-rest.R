# Three classes, each with a direction of its own; four bags of three instances per class.
three <- function() {
  set.seed(1)
  label <- rep(c("c", "a", "b"), each = 4)
  x <- matrix(rnorm(36 * 5, sd = .3), 36, dimnames = list(NULL, letters[1:5])) + 1
  for (i in seq_len(36)) {
    own <- match(rep(label, each = 3)[i], c("a", "b", "c"))
    x[i, own] <- x[i, own] + 4
  }
  list(x = x, bag = rep(1:12, each = 3), label = label)
}
quick <- dlfumi_control(max_iter = 3)
ovr <- function(..., scale = FALSE) {
  set.seed(2)
  suppressWarnings(one_vs_rest(..., n_target = 1, n_background = 2, control = quick, scale = scale))
}

test_that("classes come from labels, of bags or instances, named or not, or from a list of bags", {
  d <- three()
  reference <- ovr(d$x, bag = d$bag, label = d$label)
  expect_s3_class(reference, "mil_one_vs_rest")
  expect_named(reference$fits, c("a", "b", "c"))
  expect_identical(ovr(d$x, bag = d$bag, label = rep(d$label, each = 3)), reference)
  expect_identical(ovr(d$x, bag = d$bag, label = setNames(rev(d$label), 12:1)), reference)
  expect_identical(ovr(d$x, bag = d$bag, label = factor(d$label, c("a", "b", "c", "none"))),
                   reference)
  own <- lapply(c(a = "a", b = "b", c = "c"), function(v) bags(d$x, d$bag, d$label == v))
  expect_identical(ovr(own), reference)
  frame <- data.frame(d$x, id = d$bag, y = rep(d$label, each = 3))
  expect_identical(ovr(frame, bag = "id", label = "y"), reference)
  matrices <- lapply(split(1:36, d$bag), function(i) d$x[i, ])
  expect_identical(ovr(matrices, label = d$label), reference)
})

test_that("a formula is a door, too, and the column `truth` is no feature in any", {
  d <- three()
  frame <- data.frame(d$x, id = d$bag, y = rep(d$label, each = 3), truth = rep(1:0, 18))
  formula <- mi(y, id) ~ .
  reference <- one_vs_rest(d$x, d$bag, d$label, sil)
  expect_silent(by_formula <- one_vs_rest(formula, data = frame, fitter = sil))
  expect_identical(predict(by_formula, d$x, "score"), predict(reference, d$x, "score"))
  expect_identical(one_vs_rest(formula, frame, fitter = sil), by_formula)
  expect_silent(by_column <- one_vs_rest(frame, "id", "y", sil))
  expect_identical(predict(by_column, d$x, "score"), predict(reference, d$x, "score"))
  for (fit in by_formula$fits) expect_identical(fit$features, letters[1:5])
  by_matrix <- one_vs_rest(cbind(d$x, truth = 1), d$bag, d$label, sil)
  expect_identical(predict(by_matrix, d$x, "score"), predict(reference, d$x, "score"))

  terms <- one_vs_rest(mi(y, id) ~ log(a + 9) + factor(round(b)), frame, fitter = sil)
  b <- bags(mi(y == "b", id) ~ log(a + 9) + factor(round(b)), frame[-8])
  expect_identical(predict(terms$fits$b, frame[3:9, ]), predict(sil(b), frame[3:9, ]))
  frame$a[2] <- NA
  expect_error(one_vs_rest(formula, frame, fitter = sil), class = "fumi_error_nonfinite")
  kept <- one_vs_rest(formula, frame, fitter = sil, na.action = na.omit)
  expect_identical(which(is.na(predict(kept, frame)$.pred_class)), 2L)
  expect_error(one_vs_rest(formula, fitter = sil), "`data`", class = "fumi_error_input")
  expect_error(one_vs_rest(formula, frame[frame$y == "a", ], fitter = sil), "`label`",
               class = "fumi_error_label")
  expect_error(one_vs_rest(y ~ ., frame, fitter = sil), "mi(label, bag)", fixed = TRUE)
})

test_that("each fit has its class positive and all others negative", {
  d <- three()
  fits <- ovr(d$x, bag = d$bag, label = d$label)$fits
  set.seed(2)
  first <- suppressWarnings(dlfumi(d$x, d$bag, d$label == "a", n_target = 1, n_background = 2,
                                   control = quick, calibrate = 0))
  for (part in c("dictionary", "codes", "calibration"))
    expect_identical(fits$a[[part]], first[[part]], info = part)
  for (fit in fits) expect_identical(fit$n_bags, c(positive = 4L, negative = 8L))
})

test_that("levels of a factor give the order, numbers are sorted", {
  d <- three()
  expect_named(ovr(d$x, bag = d$bag, label = factor(d$label, c("b", "c", "a")))$fits,
               c("b", "c", "a"))
  expect_named(ovr(d$x, bag = d$bag, label = rep(c(10, 9, 1), each = 4))$fits, c("1", "9", "10"))
})

test_that("other fitters and their parameters are passed on", {
  d <- three()
  fitter <- function(x, ..., progress)
    structure(list(size = length(x), given = list(...), progress = progress), class = "mil_model")
  made <- one_vs_rest(d$x, d$bag, d$label, fitter, lambda = 3, scale = FALSE)
  expect_identical(unclass(made$fits$b), list(size = 12L, given = list(lambda = 3), progress = FALSE))
  expect_identical(ovr(d$x, bag = d$bag, label = d$label, lambda = .25)$fits$a$lambda, .25)
})

test_that("the class is the one with the largest score", {
  d <- three()
  fit <- ovr(d$x, bag = d$bag, label = d$label)
  for (level in c("instance", "bag")) {
    data <- bags(d$x, d$bag, rep(0, 12))
    score <- predict(fit, data, "score", level = level)
    expect_named(score, c(".bag", if (level == "instance") ".instance", ".score_a", ".score_b",
                          ".score_c"))
    class <- predict(fit, data, level = level)
    expect_named(class, c(".bag", if (level == "instance") ".instance", ".pred_class"))
    expect_identical(class$.bag, score$.bag)
    expect_identical(class$.pred_class, factor(c("a", "b",
                                                 "c")[apply(score[startsWith(names(score), ".score")], 1, which.max)]))
    expect_identical(score$.score_b, predict(fit$fits$b, data, level = level)$.score)
  }
  expect_identical(unique(score$.bag), as.character(1:12))
  expect_gt(mean(predict(fit, d$x)$.pred_class == rep(d$label, each = 3)), .7)
})

test_that("arguments of predict() reach the models", {
  d <- three()
  fit <- ovr(d$x, bag = d$bag, label = d$label)
  expect_identical(predict(fit, d$x, "score", level = "bag", bag = d$bag, pool = "mean")$.score_a,
                   predict(fit$fits$a, d$x, level = "bag", bag = d$bag, pool = "mean")$.score)
  expect_identical(predict(fit, d$x, "score", coding = "separate")$.score_a,
                   predict(fit$fits$a, d$x, coding = "separate")$.score)
})

test_that("scale = TRUE standardises by the negative training instances of each class, and no others", {
  d <- three()
  plain <- ovr(d$x, bag = d$bag, label = d$label)
  scaled <- ovr(d$x, bag = d$bag, label = d$label, scale = TRUE)
  set.seed(3)
  new <- matrix(rnorm(50), 10, dimnames = list(NULL, letters[1:5]))
  score <- predict(scaled, new, "score")
  for (class in c("a", "b", "c")) {
    negative <- log(predict(plain$fits[[class]], d$x[rep(d$label, each = 3) != class, ])$.score)
    by_hand <- (log(predict(plain$fits[[class]], new)$.score) - mean(negative)) / sd(negative)
    expect_equal(score[[paste0(".score_", class)]], by_hand, info = class)
  }
  expect_identical(predict(scaled, new)$.pred_class,
                   factor(c("a", "b", "c")[max.col(as.matrix(score[-(1:2)]), "first")],
                          c("a", "b", "c")))
})

test_that("data are in the places that they have elsewhere, scores are scaled, and a fitter need not know of progress", {
  d <- three()
  plain <- function(b, cost = 1) sil(b, cost = cost)
  by_place <- one_vs_rest(d$x, d$bag, d$label, plain)
  expect_true(by_place$scaled)
  by_name <- one_vs_rest(d$x, bag = d$bag, label = d$label, fitter = sil, scale = TRUE)
  expect_equal(predict(by_place, d$x, "score"), predict(by_name, d$x, "score"))
  expect_false(one_vs_rest(d$x, d$bag, d$label, plain, scale = FALSE)$scaled)
})

test_that("scores that are no ratios are not put on a log scale", {
  d <- three()
  fit <- suppressWarnings(ovr(d$x, bag = d$bag, label = d$label, scale = TRUE, n_start = 2,
                              combine = "average"))
  average <- fit$fits$a
  average$scale <- NULL
  negative <- predict(average, d$x[rep(d$label, each = 3) != "a", ])$.score
  expect_equal(predict(fit, d$x, "score")$.score_a,
               (predict(average, d$x)$.score - mean(negative)) / sd(negative))
})

test_that("one row, no row and odd class names keep the shape", {
  d <- three()
  fit <- ovr(d$x, bag = d$bag, label = paste("my", d$label))
  expect_named(predict(fit, d$x[1, , drop = FALSE], "score"),
               c(".bag", ".instance", paste(".score_my", c("a", "b", "c"))))
  expect_identical(nrow(predict(fit, d$x[1, , drop = FALSE])), 1L)
  none <- predict(fit, d$x[0, ])
  expect_identical(nrow(none), 0L)
  expect_identical(levels(none$.pred_class), paste("my", c("a", "b", "c")))
  expect_identical(dim(predict(fit, d$x[0, ], "score")), c(0L, 5L))
})

test_that("an interrupt keeps the classes that are done, with a warning", {
  d <- three()
  calls <- 0
  fitter <- function(x, ..., progress) {
    calls <<- calls + 1
    if (calls == 3) stop_fumi("no", class = "interrupt")
    dlfumi(x, n_target = 1, n_background = 2, control = quick, progress = progress)
  }
  expect_warning(fit <- one_vs_rest(d$x, bag = d$bag, label = d$label, fitter = fitter,
                                    scale = FALSE), "2 of 3",
                 class = "fumi_warning_interrupt")
  expect_named(fit$fits, c("a", "b"))
  expect_identical(levels(predict(fit, d$x)$.pred_class), c("a", "b"))
})

test_that("print says what it is", {
  d <- three()
  expect_output(print(ovr(d$x, bag = d$bag, label = d$label)),
                "One-vs-rest of 3 classes (dlfumi): a, b, c", fixed = TRUE)
  expect_output(print(ovr(d$x, bag = d$bag, label = d$label, scale = TRUE)), "one scale")
})

test_that("bad input is refused by name", {
  d <- three()
  b <- bags(d$x, d$bag, d$label == "a")
  for (x in list(d$x, b, list(b, b), list(a = b), list(a = b, 3), list(a = b, b), "a", NULL))
    expect_error(ovr(x), "`x`", class = "fumi_error_input", info = describe(x))
  expect_error(ovr(list(a = b, a = b)), "\"a\"", class = "fumi_error_input")
  expect_error(ovr(d$x, label = d$label), "`bag`", class = "fumi_error_input")
  expect_error(ovr(d$x, bag = d$bag, label = rep("a", 12)), "`label`", class = "fumi_error_label")
  expect_error(ovr(d$x, bag = d$bag, label = c(NA, d$label[-1])), "`label`",
               class = "fumi_error_nonfinite")
  expect_error(ovr(d$x, bag = d$bag, label = d$label[-1]), "`label`", class = "fumi_error_input")
  expect_error(ovr(d$x, bag = d$bag, label = rep(d$label, 3)), "`label`",
               class = "fumi_error_label")
  expect_error(ovr(d$x, bag = d$bag, label = d$label, scale = NA), "`scale`",
               class = "fumi_error_input")
  expect_error(ovr(d$x, bag = d$bag, label = d$label, progress = 2), "`progress`",
               class = "fumi_error_input")
  expect_error(ovr(d$x, bag = d$bag, label = d$label, lamda = 2), "`lamda`",
               class = "fumi_error_argument")
  expect_error(predict(ovr(d$x, bag = d$bag, label = d$label, scale = TRUE), d$x,
                       coding = "separate"), "`coding`",
               class = "fumi_error_no_meaning")
  fit <- ovr(d$x, bag = d$bag, label = d$label)
  expect_error(predict(fit), "`new_data`", class = "fumi_error_no_data")
  expect_error(predict(fit, d$x, "prob"), "`type`", class = "fumi_error_input")
  expect_error(predict(fit, d$x, level = "set"), "`level`", class = "fumi_error_input")
  expect_error(predict(fit, d$x[, -1]), "`new_data`", class = "fumi_error_column")
  expect_error(predict(fit, d$x, nwe_data = 1), "`new_data`", class = "fumi_error_argument")
})

test_that("a warning of a fit names the fitter and its parameters, not its code", {
  loud <- function(x, ...) {
    warning("loud")
    sil(x)
  }
  b <- sim_bags(n_bags = 4, bag_size = 2, n_features = 3)
  heard <- tryCatch(fit_quietly(loud, b, list(cost = 1)), warning = conditionCall)
  expect_identical(heard, quote(fitter(b, cost = 1)))
})
