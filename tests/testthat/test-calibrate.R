# Scores of known quality: instances scored by their first feature.
by_first <- list(fit = function(x, y) NULL, score = function(model, x) x[, 1])

# Knows every instance that it was trained on, and nothing of others.
memory <- list(fit = function(x, y) list(x = x, y = y), score = function(model, x) {
  place <- match(x[, 1], model$x[, 1])
  ifelse(is.na(place), x[, 2], ifelse(model$y[place], 5, -5))
})

noise_bags <- function(n = 60, size = 4, d = 2) {
  bags(matrix(rnorm(n * size * d), ncol = d), rep(seq_len(n), each = size),
       rep(0:1, length.out = n))
}

# Bags that are positive because of single instances: p of an instance is plogis(-3 + 2 x).
independent_bags <- function(n = 4000, size = 5) {
  x <- rnorm(n * size)
  target <- runif(n * size) < plogis(-3 + 2 * x)
  bag <- rep(seq_len(n), each = size)
  bags(cbind(x, 1), bag, as.vector(tapply(target, bag, any)), truth = NULL)
}

# Bags of ten instances that are positive as the model of diverse density says: p = exp(-|x|^2).
blob_model_bags <- function(n = 800) {
  x <- matrix(rnorm(n * 20, sd = 3), ncol = 2)
  target <- runif(n * 10) < exp(-rowSums(x^2))
  bag <- rep(seq_len(n), each = 10)
  bags(x, bag, as.vector(tapply(target, bag, any)))
}

# ---- threshold ---------------------------------------------------------------------------

test_that("the threshold has the best balanced accuracy, in the middle of the widest of the best gaps", {
  pick <- function(score, positive) choose_threshold(score, as.logical(positive))
  expect_identical(pick(c(1, 2, 5, 7), c(0, 0, 1, 1)), 3.5)
  expect_identical(pick(c(7, 1, 5, 2), c(1, 0, 1, 0)), 3.5)
  # Negatives 1, 4, 6; positives 3, 8, 9. Cut 7: 2/3 + 1. Cut 2: 1 + 1/3. Cut 5: 2/3 + 2/3.
  expect_identical(pick(c(1, 4, 6, 3, 8, 9), c(0, 0, 0, 1, 1, 1)), 7)
  # Positives 2, 10; negatives 1, 5: the cuts 1.5 (1 + 1/2) and 7.5 (1/2 + 1) are equal; the gap 5
  # to 10 is wider.
  expect_identical(pick(c(2, 10, 1, 5), c(1, 1, 0, 0)), 7.5)
  # One positive among many negatives counts as much as all of them.
  expect_identical(pick(c(1, 2, 3, 4, 6, 5), c(0, 0, 0, 0, 0, 1)), 4.5)
  expect_identical(pick(c(3, 3, 3), c(0, 1, 1)), 3)
})

test_that("without folds, each pool has the best threshold on the training bags", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b, calibrate = 0)
  for (pool in c("max", "mean", "lse")) {
    score <- predict(fit, b, level = "bag", pool = pool)$.score
    expect_equal(fit$calibration$bag[[pool]]$threshold, choose_threshold(score, d$y == "yes"),
                 info = pool)
  }
  expect_identical(fit$calibration$bag$own, fit$calibration$bag$max)
})

# ---- curves ------------------------------------------------------------------------------

test_that("the curve of bags is the logistic regression on Platt's targets", {
  set.seed(1)
  positive <- rep(c(TRUE, FALSE), c(40, 60))
  score <- rnorm(100, 2 * positive, 3)
  target <- ifelse(positive, 41 / 42, 1 / 62)
  by_hand <- suppressWarnings(coef(glm(target ~ score, family = binomial)))
  curve <- bag_curve(score, positive)
  expect_equal(c(curve$intercept, curve$slope), unname(by_hand), tolerance = 1e-3)
  # on any scale
  scaled <- bag_curve(1e6 * score - 7, positive)
  expect_equal(curve_probability(scaled, 1e6 * score - 7), curve_probability(curve, score),
               tolerance = 1e-5)
})

test_that("the curve never falls, and is flat where scores say nothing", {
  positive <- rep(c(TRUE, FALSE), 20)
  expect_gt(bag_curve(ifelse(positive, -1, 1) + 1:40 / 100, positive)$slope, 0)
  same <- bag_curve(rep(3, 40), rep(c(TRUE, FALSE), c(10, 30)))
  share <- mean(ifelse(1:40 <= 10, 11 / 12, 1 / 32))
  expect_equal(curve_probability(same, 3), share, tolerance = 1e-3)
})

test_that("the curve of instances finds their probabilities from the labels of bags alone", {
  set.seed(2)
  b <- independent_bags()
  fit <- sil(b, classifier = by_first, normalize = "none", calibrate = 0)
  curve <- fit$calibration$instance$curve
  expect_equal(c(curve$intercept, curve$slope), c(-3, 2), tolerance = 0.1)
  x <- c(-2, 0, 2)
  expect_equal(predict(fit, cbind(x, 1), "prob")[[4]], plogis(-3 + 2 * x), tolerance = 0.05,
               ignore_attr = TRUE)
  # The gradient by which it is found is that of the likelihood.
  label <- smooth_labels(b$label)
  loss <- function(h) {
    none <- as.vector(tapply(plogis(-(h[1] + h[2] * b$x[1, ]), log.p = TRUE), b$bag, sum))
    -sum(label * log(-expm1(none)) + (1 - label) * none)
  }
  best <- optim(c(-2, 1), loss)
  expect_equal(c(curve$intercept, curve$slope), best$par, tolerance = 0.01)
})

test_that("probabilities of new bags are right where the scores are", {
  set.seed(3)
  b <- independent_bags()
  fit <- sil(b, classifier = by_first, normalize = "none", calibrate = 5)
  new <- independent_bags()
  p <- predict(fit, new, "prob", level = "bag")$.pred_TRUE
  group <- cut(p, c(0, .2, .4, .6, .8, 1))
  expect_lt(max(abs(tapply(p, group, mean) - tapply(new$label, group, mean))), .06)
})

# ---- out of fold -------------------------------------------------------------------------

test_that("a fit that only remembers is not believed", {
  set.seed(4)
  b <- noise_bags()
  new <- noise_bags()
  honest <- sil(b, classifier = memory, normalize = "none", calibrate = 5)
  expect_identical(honest$calibration$source, "out-of-fold")
  fooled <- sil(b, classifier = memory, normalize = "none", calibrate = 0)
  expect_identical(fooled$calibration$source, "in-sample")
  sure <- function(fit) mean(abs(predict(fit, b, "prob", level = "bag")$.pred_1 - .5))
  expect_gt(sure(fooled), .45)
  brier <- function(fit) mean((predict(fit, new, "prob", level = "bag")$.pred_1 - new$label)^2)
  expect_lt(brier(honest), .27)
})

test_that("folds hold whole bags of both labels, whatever the order of the bags", {
  set.seed(5)
  b <- noise_bags(22)
  fold <- calibration_folds(b, 5)
  expect_true(all(table(fold, b$label) %in% 2:3))
  mixed <- sample(22)
  d <- as.data.frame(b)
  o <- order(match(d$bag, mixed))
  again <- bags(as.matrix(b)[o, ], d$bag[o], d$label[o])
  expect_identical(setNames(calibration_folds(again, 5), again$ids)[b$ids], setNames(fold, b$ids))
})

test_that("each bag is scored by a fit that has not seen it", {
  set.seed(6)
  b <- noise_bags(20)
  seen <- list()
  refit <- function(part) {
    seen[[length(seen) + 1]] <<- part$ids
    sil(part, classifier = by_first, normalize = "none", calibrate = 0)
  }
  fit <- mil_calibrate(refit(b), b, refit = refit, folds = 4)
  expect_length(seen, 5)
  left_out <- lapply(seen[-1], function(ids) setdiff(b$ids, ids))
  expect_setequal(unlist(left_out), b$ids)
  expect_length(unlist(left_out), 20)
  # All these fits score alike, so that nothing is moved.
  expect_equal(fit$calibration$bag, refit(b)$calibration$bag)
})

test_that("scores of another scale are brought to that of the fit", {
  plain <- list(score_scale = NULL)
  expect_equal(same_scale(plain, c(10, 30), c(0, 20), c(0, 2)), c(1, 3))
  ratio <- list(score_scale = "log")
  expect_equal(same_scale(ratio, exp(c(1, 3)), exp(c(0, 2)), exp(c(5, 9))), exp(c(7, 11)))
  expect_true(all(is.finite(same_scale(plain, 1:2, c(1, 1), c(2, 2)))))
})

test_that("curves to the same labels bring scores of another scale to that of the fit, too", {
  set.seed(6)
  positive <- rep(c(TRUE, FALSE), 100)
  to <- rnorm(200, positive)
  expect_equal(same_curve(list(), c(1, 5), 3 * to + 7, to, positive), (c(1, 5) - 7) / 3,
               tolerance = 1e-4)
  ratio <- list(score_scale = "log")
  expect_equal(same_curve(ratio, c(1, 5), exp(3 * to + 7), exp(to), positive),
               exp((log(c(1, 5)) - 7) / 3), tolerance = 1e-3)
})

test_that("where fits of folds differ from the whole fit, the threshold is among its scores", {
  set.seed(1)
  b <- sim_bags(n_bags = 20, image_dim = c(8, 8))
  fit <- suppressWarnings(dlfumi(b, n_target = 1, n_background = 3))
  expect_match(fit$calibration$why, "most folds differ")
  threshold <- fit$calibration$bag$own$threshold
  score <- predict(fit, b, level = "bag")$.score
  expect_true(min(score) <= threshold && threshold <= max(score))
})

test_that("calibration changes neither the fit nor the random numbers after it", {
  b <- contract_bags()
  for (method in c("dlfumi", "em_dd", "mmdl")) {
    with <- seeded(mil_methods[[method]], b)
    after <- runif(1)
    without <- seeded(mil_methods[[method]], b, calibrate = 0)
    expect_identical(runif(1), after)
    with$calibration <- without$calibration <- NULL
    with$spec$calibrate <- without$spec$calibrate <- NULL
    with$given <- without$given <- NULL
    with$given <- without$given <- NULL
    expect_identical(with, without, info = method)
  }
})

test_that("weights, priors and a given start go to the folds with their bags", {
  b <- contract_bags()
  d <- as.data.frame(b)
  weights <- setNames(seq_along(b$ids), b$ids)
  prior <- ifelse(d$label == 1, ifelse(d$truth, .9, .2), 0)
  start <- list(dictionary = diag(15)[, 1:4], codes = matrix(seq_len(4 * 240), 4) / 1000)
  spec <- function(part) {
    spec <- list(weight = unname(weights)[b$bag], prior = prior[b$order[seq_len(b$n_positive)]],
                 n_target = 1, n_background = 3)
    environment(dlfumi_refit) <- list2env(list(check_dlfumi_sizes = function(...) NULL,
                                               dlfumi_bridge = function(b, spec, init, progress)
      list(b = b, spec = spec, init = init)), parent = environment(dlfumi_refit))
    dlfumi_refit(b, spec, start)(part)
  }
  part <- b[c(2:7, 15, 25:40)]
  got <- spec(part)
  expect_equal(got$spec$weight, unname(weights[part$ids])[part$bag])
  mine <- which(d$bag %in% part$ids)
  expect_equal(got$spec$prior, prior[mine][part$order[seq_len(part$n_positive)]])
  expect_equal(got$init$codes, start$codes[, mine])
  expect_identical(dlfumi(b, n_target = 1, n_background = 3, bag_weights = weights,
                          instance_prior = prior, init = start,
                          control = dlfumi_control(max_iter = 2))$calibration$source, "out-of-fold")
})

# ---- when it is in-sample ----------------------------------------------------------------

test_that("calibration is in-sample where folds cannot be or are not wanted, and print() says so", {
  set.seed(7)
  b <- noise_bags(20)
  why <- function(fit) {
    expect_identical(fit$calibration$source, "in-sample")
    expect_output(print(fit), "in-sample", fixed = TRUE)
    fit$calibration$why
  }
  expect_match(why(sil(b, calibrate = 0)), "calibrate = 0")
  expect_identical(sil(b, calibrate = FALSE)$calibration, sil(b, calibrate = 0)$calibration)
  expect_match(why(sil(b[c(1:3, 4, 6, 8, 10)])), "few bags")
  one <- function(b) sil(b, calibrate = 0)
  expect_match(why(mil_calibrate(one(b), b, refit = one, work = 1e20)), "large")
  expect_identical(mil_calibrate(one(b), b, refit = one, work = 1e20, folds = 3)$calibration$folds,
                   3L)
  fails <- function(b) stop("no")
  expect_match(why(mil_calibrate(one(b), b, refit = fails)), "failed")
  old <- options(fumi.calibrate = 0)
  on.exit(options(old))
  expect_match(why(sil(b)), "calibrate = 0")
  parts <- dlfumi(bag_shards(contract_bags()), n_target = 1, n_background = 3, calibrate = 5,
                  control = dlfumi_control(max_iter = 2))
  expect_match(why(parts), "in parts")
})

test_that("an interrupt of calibration leaves the fit whole, and says so", {
  set.seed(8)
  b <- noise_bags(20)
  one <- function(b) sil(b, calibrate = 0)
  for (kind in list("interrupt", c("fumi_error_interrupt", "error"))) {
    stops <- function(b) stop(structure(class = c(kind, "condition"),
                                        list(message = "", call = NULL)))
    expect_warning(fit <- mil_calibrate(one(b), b, refit = stops), "during calibration",
                   class = "fumi_warning_interrupt")
    expect_identical(fit$calibration$bag, one(b)$calibration$bag)
  }
  cut_short <- function(b) replace(one(b), "stop_reason", "interrupt")
  expect_warning(fit <- mil_calibrate(one(b), b, refit = cut_short),
                 class = "fumi_warning_interrupt")
  expect_match(fit$calibration$why, "interrupted")
})

test_that("fits of folds that ended elsewhere do not stand for the whole fit", {
  set.seed(9)
  x <- rnorm(200) + rep(c(2, 0), each = 100)
  b <- bags(cbind(x, rnorm(200)), rep(1:40, each = 5), rep(c(1, 0), each = 20))
  good <- function(b) sil(b, classifier = by_first, normalize = "none", calibrate = 0)
  poor <- sil(b, classifier = list(fit = function(x, y) NULL, score = function(model, x) x[, 2]),
              normalize = "none", calibrate = 0)
  fit <- mil_calibrate(poor, b, refit = good)
  expect_identical(fit$calibration$source, "out-of-fold")
  expect_identical(fit$calibration$n_bags, 40L)
  expect_output(print(fit), "40 bags); the fits of most folds", fixed = TRUE)
  expect_lt(max(abs(predict(fit, b, "prob", level = "bag")$.pred_1 - .5)), .4)
  # what they say of it is how much of a curve to their own bags holds for others
  curve <- bag_curve(predict(poor, b, level = "bag")$.score, b$label)
  expect_equal(fit$calibration$bag$own$curve$slope / curve$slope, 1, tolerance = .5)
  # one of five folds
  times <- 0
  mostly <- function(b) if ((times <<- times + 1) == 2) poor else good(b)
  fit <- mil_calibrate(good(b), b, refit = mostly)
  expect_identical(fit$calibration$source, "out-of-fold")
  expect_identical(fit$calibration$n_bags, 32L)
  expect_output(print(fit), "by 5-fold cross-validation .32 of 40 bags.")
})

# ---- bags given, a model's own probabilities, models of old --------------------------------

test_that("bags that the fit has not seen may calibrate it", {
  set.seed(10)
  b <- noise_bags()
  fooled <- sil(b, classifier = memory, normalize = "none", calibrate = 0)
  fit <- mil_calibrate(fooled, noise_bags())
  expect_identical(fit$calibration$source, "given")
  expect_output(print(fit), "on 60 other bags")
  expect_lt(mean(abs(predict(fit, noise_bags(), "prob", level = "bag")$.pred_1 - .5)), .1)
})

test_that("a model keeps its own probabilities if they are better than the curve", {
  set.seed(11)
  b <- blob_model_bags()
  fit <- diverse_density(b, n_start = 3, normalize = "none", calibrate = 0)
  true <- fit
  true$target[] <- c(0, 0)
  true$feature_scale[] <- c(1, 1)
  true <- mil_calibrate(true, blob_model_bags())
  expect_identical(true$calibration$kept, "model")
  expect_lt(true$calibration$brier[["model"]], true$calibration$brier[["curve"]])
  expect_output(print(true), "probabilities of the model")
  wrong <- true
  wrong$feature_scale[] <- c(.1, .1)
  wrong <- mil_calibrate(wrong, blob_model_bags())
  expect_identical(wrong$calibration$kept, "curve")
})

test_that("models of version 0.1.0 score and classify as they did, and give probabilities where they can", {
  golden <- readRDS("golden-0.1.0-models.rds")
  b <- bags(golden$x, golden$bag, golden$label)
  for (name in names(golden$fits)) {
    fit <- golden$fits[[name]]
    said <- golden$said[[name]]
    now <- predict(fit, b, type = "score")
    expect_equal(now[names(said$score)], said$score, info = name)
    if (name == "one_vs_rest") next
    expect_null(fit$calibration)
    expect_equal(predict(fit, b, level = "bag"), said$bag, info = name)
    expect_equal(predict(fit, b, "class", level = "bag"), said$class, info = name)
    expect_equal(predict(fit, b, "class", level = "bag", pool = "mean"), said$class_mean,
                 info = name)
    expect_equal(predict(fit, b, "class")$.pred_class, said$class_instance$.pred_class, info = name)
    expect_output(print(fit), "in-sample (it was fitted by version 0.1.0)", fixed = TRUE)
    expect_identical(glance(fit)$threshold, fit$thresholds[["max"]])
    has_curve <- !is.null(fit$logistic) || !is.null(probability_curves(fit))
    for (level in c("instance", "bag")) {
      if (has_curve) {
        p <- predict(fit, b, "prob", level = level)[[if (level == "bag") 3 else 4]]
        score <- predict(fit, b, level = level)$.score
        expect_true(all(diff(p[order(score)]) >= 0), info = name)
      } else expect_error(predict(fit, b, "prob", level = level), "mil_calibrate",
                          class = "fumi_error_no_probability")
    }
    expect_identical(".pred_1" %in% names(augment(fit, b)), has_curve, info = name)
    expect_named(predict(mil_calibrate(fit, b), b, "prob", level = "bag"),
                 c(".bag", ".pred_0", ".pred_1"))
  }
  expect_identical(mil_load("golden-0.1.0-dmil.fumi"), golden$fits$dmil)
  expect_identical(mil_load("golden-0.1.0-one-vs-rest.fumi"), golden$fits$one_vs_rest)
})

test_that("a probability model is kept only by bags that it has not seen", {
  set.seed(11)
  b <- noise_bags(6)
  fit <- em_dd(b, n_start = 3)
  expect_identical(fit$calibration$source, "in-sample")
  expect_identical(fit$calibration$kept, "curve")
})

test_that("a fit that nobody calibrated says so", {
  b <- noise_bags(20)
  fit <- new_mil_model("nobody", b)
  expect_output(print(fit), "not (`mil_calibrate()` does it)", fixed = TRUE)
  registerS3method("score_instances", "nobody", function(object, x, ...) colSums(x),
                   envir = asNamespace("fumi"))
  expect_error(predict(fit, b, type = "class"), "mil_calibrate", class = "fumi_error_no_threshold")
  expect_error(predict(fit, b, type = "prob"), "mil_calibrate", class = "fumi_error_no_threshold")
  expect_error(mil_save(fit, tempfile()), "saveRDS", class = "fumi_error_model")
})

test_that("what a method scores is one column per instance", {
  b <- noise_bags(20)
  fit <- sil(b, calibrate = 0)
  expect_error(score_instances(fit, as.matrix(b)), "one column per instance",
               class = "fumi_error_type")
  expect_error(score_instances(fit, b), "`predict\\(\\)` takes", class = "fumi_error_type")
  expect_error(score_bags(fit, b$x), "`bag` must be the number", class = "fumi_error")
  expect_identical(unname(score_bags(fit, b$x, b$bag)),
                   predict(fit, b, level = "bag")$.score[match(b$ids, predict(fit, b, level = "bag")$.bag)])
})

test_that("ratios from a fold far off the scale of the fit can be pooled and give a curve", {
  ratio <- list(score_scale = "log")
  bag <- rep(1:40, each = 5)
  set.seed(9)
  far <- on_scale(ratio, c(-1e4, 1e4, rnorm(198, sd = 300)))
  expect_true(all(is.finite(log(far))))
  for (pool in c("max", "mean", "lse", "top")) {
    pooled <- comparable(ratio, pool_codes(far, bag, pool))
    expect_true(all(is.finite(pooled)), info = pool)
    expect_gt(bag_curve(pooled, rep(c(TRUE, FALSE), 20))$slope, 0)
  }
})
