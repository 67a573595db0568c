# Bags of spectra-like curves: strong common variation, a weak target on top of it.
scene <- function(seed = 1, n_bags = 24, size = 6, d = 15, strength = 1.5) {
  set.seed(seed)
  label <- rep(c(1, 0), each = n_bags / 2)
  n <- n_bags * size
  loud <- matrix(rnorm(d * 3), d) * 20
  x <- t(loud %*% matrix(rnorm(3 * n), 3)) + matrix(rnorm(n * d), n) + 100
  target <- sin(seq_len(d))
  truth <- rep(label, each = size) == 1 & rep(seq_len(size), n_bags) == 1
  x[truth, ] <- x[truth, ] + strength * 3 * rep(target, each = sum(truth))
  bags(x, rep(seq_len(n_bags), each = size), label, truth = truth)
}

# Mean, covariance and root by their definitions.
noise_by_hand <- function(x, ridge) {
  d <- nrow(x)
  n <- ncol(x)
  S <- stats::cov(t(x))
  if (is.null(ridge)) {
    stats <- background_stats(t(x), "ledoit-wolf")
    shrunk <- stats$basis %*% (stats$kappa * t(stats$basis)) + stats$delta * (diag(d) - tcrossprod(stats$basis))
    floor <- stats$delta
  } else {
    floor <- ridge * sum(diag(S)) / min(n - 1, d)
    shrunk <- S + floor * diag(d)
  }
  e <- eigen(shrunk, symmetric = TRUE)
  list(mean = rowMeans(x), W = sqrt(floor) * e$vectors %*% (t(e$vectors) / sqrt(e$values)))
}

test_that("the transform is that of its definition, there and back, for more and for fewer features than negatives", {
  for (d in c(5, 15, 120)) for (ridge in list(NULL, 0.01)) for (normalize in c("none", "unit")) {
    b <- scene(d = d)
    noise <- fit_noise(b, list(ridge = ridge, normalize = normalize), NULL)$noise
    x <- b$x * rep(instance_scale(b$x, normalize), each = d)
    hand <- noise_by_hand(x[, !in_positive(b)], ridge)
    z <- hand$W %*% (x - hand$mean) / noise$scale
    expect_equal(to_noise_space(noise, b$x), z, tolerance = 1e-8)
    expect_equal(noise$mean + from_noise_space(noise, z), x, tolerance = 1e-8, ignore_attr = TRUE)
    expect_equal(crossprod(noise_filter(noise, z[, 1:2]), x - hand$mean), crossprod(z[, 1:2], z),
                 tolerance = 1e-7)
    expect_lte(ncol(noise$basis), min(d, sum(!in_positive(b)) - 1))
  }
})

test_that("negatives of a fit look like those of new data when there are few of them", {
  b <- scene(d = 120, n_bags = 20)
  energy <- function(z) mean(colSums(z^2))
  spec <- list(ridge = 0.001, normalize = "none")
  seen <- c(which(b$label), which(!b$label)[1:8])
  found <- fit_noise(b[seen], spec, NULL)
  negative <- !in_positive(b[seen])
  expect_equal(energy(found$data$x[, negative]), 1)
  expect_lt(energy(to_noise_space(found$noise, b[seen]$x[, negative])), 0.7)
  expect_equal(energy(to_noise_space(found$noise, b[-seen]$x)), 1, tolerance = 0.3)
})

test_that("with one target atom, no background atom and no penalty the score is the matched filter, or subACE", {
  b <- scene(d = 15)
  stats <- background_stats(t(b$x[, !in_positive(b)]), "ridge", ridge = 0.01)
  noise <- new_noise(noise_sums(b, rep(1, length(b)), "none"),
                     list(ridge = 0.01, normalize = "none"))
  s <- sin(1:15)
  z <- to_noise_space(noise, b$x)
  atom <- unit_columns(noise_filter(noise, matrix(s)))
  projected <- drop(crossprod(atom, z))^2
  # |z|^2 - |z - a d|^2 = (d'z)^2 for the best a, and its share of |z|^2 is subACE of the same statistics
  expect_equal(projected / colSums(z^2), detect_columns(b$x, matrix(s), stats, FALSE),
               tolerance = 1e-8)
  filter <- drop(crossprod(whiten(b$x - stats$mean, stats), target_basis(matrix(s), stats, FALSE)))
  expect_equal(projected / max(projected), filter^2 / max(filter^2), tolerance = 1e-8)
})

test_that("a fit finds a weak target in a loud background, where white noise does not", {
  train <- scene(1)
  test <- scene(1, n_bags = 60)
  set.seed(2)
  background <- dlfumi(train, noise = "background", n_target = 1, n_background = 2, calibrate = 0)
  auc <- function(fit) as.numeric(mil_roc(fit, test)$auc)
  set.seed(2)
  white <- dlfumi(train, n_target = 1, n_background = 2, calibrate = 0)
  expect_gt(auc(background), 0.95)
  expect_lt(auc(white), 0.75)
  expect_equal(dim(coef(background, "target")), c(1, 15))
  # The direction that detects the target is that of the matched filter.
  matched <- solve(stats::cov(as.matrix(scene(1, n_bags = 400)[201:400])), sin(1:15))
  found <- coef(background, "target", filter = TRUE)
  expect_gt(abs(sum(found * matched)) / sqrt(sum(found^2) * sum(matched^2)), 0.8)
  expect_equal(crossprod(t(coef(background, filter = TRUE)), train$x - background$noise$mean),
               crossprod(background$noise$dictionary, to_noise_space(background$noise, train$x)),
               ignore_attr = TRUE)
})

test_that("codes rebuild instances in the units of the data", {
  b <- scene(1)
  for (after in c("none", "unit")) for (normalize in c("none", "unit")) {
    set.seed(1)
    fit <- dlfumi(b, noise = "background", n_target = 2, n_background = 12, lambda = 1e-4,
                  n_start = 1, combine = "best",
                  normalize = normalize, normalize_after = after, calibrate = 0)
    rebuilt <- predict(fit, b, type = "reconstruction")
    inner <- fit$noise
    inner$normalize <- "none"
    z <- to_noise_space(inner, t(rebuilt) * rep(in_user_order(b, instance_scale(b$x, normalize)),
                                                each = 15))
    after_scale <- in_user_order(b, instance_scale(to_noise_space(fit$noise, b$x), after))
    expect_equal(z * rep(after_scale, each = 15),
                 fit$noise$dictionary %*% t(predict(fit, b, type = "codes")),
                 tolerance = 1e-6, ignore_attr = TRUE)
    expect_equal(residuals(fit, b), as.matrix(b) - rebuilt, ignore_attr = TRUE)
    why <- mil_explain(fit, b, bag = 1)
    expect_equal(why$score, why$without - why$with, tolerance = 1e-6)
    expect_equal(attr(why, "with"), t(predict(fit, b[1], type = "reconstruction")) *
                   rep(instance_scale(b[1]$x, normalize), each = 15), tolerance = 1e-6,
                   ignore_attr = TRUE)
  }
})

test_that("scores, weights, codes and the norm of new data go through the transform", {
  b <- scene(1)
  set.seed(1)
  fit <- dlfumi(b, noise = "background", n_target = 1, n_background = 3, n_start = 1,
                combine = "best", calibrate = 0)
  z <- to_noise_space(fit$noise, b$x)
  inner <- white_model(fit)
  expect_identical(predict(fit, b)$.score, in_user_order(b, score_instances(inner, z)))
  expect_identical(predict(fit, b, type = "weight")$.weight,
                   in_user_order(b, weight_instances(inner, z)))
  expect_identical(predict(fit, b, type = "codes"), t(in_user_order(b, code_instances(inner, z))))
  expect_equal(predict(fit, b, detector = "norm")$.score, in_user_order(b, colSums(z^2)))
  expect_error(predict(dlfumi(b, n_target = 1, n_background = 2, calibrate = 0), b,
                       detector = "norm"),
               class = "fumi_error_no_meaning")
})

test_that("averages, witnesses, update, saving and calibration work with it", {
  b <- scene(1)
  set.seed(3)
  fit <- dlfumi(b, noise = "background", n_target = 1, n_background = 3, n_start = 2, witnesses = 1)
  expect_length(fit$members, 2)
  expect_identical(fit$calibration$source, "out-of-fold")
  set.seed(3)
  again <- update(fit, b)
  expect_equal(again$dictionary, fit$dictionary)
  expect_equal(predict(again, b), predict(fit, b))
  file <- tempfile(fileext = ".fumi")
  mil_save(fit, file)
  expect_equal(predict(mil_load(file), b), predict(fit, b))
  expect_output(print(fit), "noise: +of the background")
  damaged <- fit
  damaged$noise$gain <- damaged$noise$gain[-1]
  expect_error(predict(damaged, b), "noise\\$gain", class = "fumi_error_model")
})

test_that("bags in parts give the fit of all instances", {
  for (d in c(15, 120)) {
    b <- scene(1, d = d)
    parts <- bag_shards(b, n = 3)
    start <- list(dictionary = t(as.matrix(b)[c(1, 80, 90, 100), ]))
    whole <- dlfumi(b, noise = "background", n_target = 1, n_background = 3, n_start = 1,
                    combine = "best", init = start, calibrate = 0)
    split <- dlfumi(parts, noise = "background", n_target = 1, n_background = 3, n_start = 1,
                    init = start, calibrate = 0)
    expect_equal(split$dictionary, whole$dictionary, tolerance = 1e-6)
    expect_equal(predict(split, parts)$.score, predict(whole, b)$.score, tolerance = 1e-6)
  }
})

test_that("maps, threads and files go through the transform, with non-negative codes", {
  cube <- small_cube(bands = 8)
  set.seed(5)
  b <- bags(cube, rbind(c(106, 56), c(110, 68), c(124, 62)), 3, n_negative = 8, negative_size = 9)
  fitted <- function(...) {
    set.seed(6)
    dlfumi(b, noise = "background", n_target = 1, n_background = 2, n_start = 2, nonneg = "codes",
           calibrate = 0, ...)
  }
  fit <- fitted()
  expect_gte(min(fit$codes), 0)
  expect_gte(min(predict(fit, b, type = "codes")), 0)
  expect_identical(fitted(threads = 2)$codes, fit$codes)
  pixels <- as.matrix(terra::values(cube))
  map <- terra::values(predict_raster(fit, cube, rows = 5))
  expect_equal(unname(map[, 1]), predict(fit, pixels)$.score, tolerance = 1e-12)
  file <- tempfile(fileext = ".fumi")
  mil_save(fit, file)
  expect_identical(terra::values(predict(mil_load(file), cube)), terra::values(predict(fit, cube)))
})

test_that("a start is in the units of the data", {
  b <- scene(1)
  set.seed(1)
  fit <- dlfumi(b, noise = "background", n_target = 1, n_background = 3, n_start = 1,
                combine = "best", calibrate = 0)
  warm <- dlfumi(b, noise = "background", n_target = 1, n_background = 3, n_start = 1,
                 combine = "best", init = fit, max_iter = 1, variant = "exact", calibrate = 0)
  expect_gt(min(abs(colSums(warm$noise$dictionary * fit$noise$dictionary))), 0.99)
})

test_that("a start may be atoms in rows or columns, or a function of bags in the units of the data", {
  b <- scene(1)
  fitted <- function(x, init, ...) dlfumi(x, noise = "background", n_target = 1, n_background = 3,
                                          n_start = 1, combine = "best", max_iter = 3,
                                          init = init, calibrate = 0, ...)
  atoms <- as.matrix(b)[c(1, 80, 90, 100), ]
  expected <- fitted(b, list(dictionary = t(atoms)))$dictionary
  expect_equal(fitted(b, atoms)$dictionary, expected)
  expect_equal(fitted(b, list(dictionary = atoms))$dictionary, expected)
  own <- function(some, n_target, n_background) as.matrix(some)[c(1, 80, 90, 100), ]
  expect_equal(fitted(b, own)$dictionary, expected)
  fit <- fitted(b, own)
  again <- fitted(b, list(dictionary = coef(fit), codes = fit$codes))
  expect_lte(again$objective$objective[1], fit$objective$objective[3])
  parts <- bag_shards(b, n = 3)
  expect_equal(dlfumi(parts, noise = "background", n_target = 1, n_background = 3, n_start = 1,
                      max_iter = 3, init = own, calibrate = 0)$dictionary, expected,
               tolerance = 1e-6)
})

test_that("negatives of a few bags of very different sizes, or all alike, give a fit or say why not", {
  set.seed(1)
  negative <- matrix(rnorm(51 * 30), 51)
  fitted <- function(negative, bag) dlfumi(
    rbind(matrix(rnorm(12 * 30), 12) + 1, negative), c(rep(1:4, 3), 10 + bag),
    rep(1:0, c(12, nrow(negative))), noise = "background", n_target = 1, n_background = 1,
    n_start = 1, calibrate = 0)
  for (n in c(4, 51)) {
    fit <- suppressWarnings(fitted(negative[seq_len(n), ], rep(1:2, c(n - 1, 1))))
    expect_true(all(is.finite(fit$dictionary)))
  }
  for (value in c(0.1, 1 / 3))
    expect_error(fitted(matrix(value, 7, 30), 1:7), "do not vary", class = "fumi_error_scale")
})

test_that("a fit to bags in parts leaves no file behind", {
  parts <- bag_shards(scene(1), n = 2)
  before <- list.files(parts$dir)
  dlfumi(parts, noise = "background", n_target = 1, n_background = 2, n_start = 1, max_iter = 2,
         calibrate = 0)
  expect_identical(list.files(parts$dir), before)
})

test_that("arguments that make no sense together are refused", {
  b <- scene(1)
  expect_error(dlfumi(b, ridge = 0.1), "`ridge` must not be given", class = "fumi_error")
  expect_error(dlfumi(b, normalize_after = "unit"), "`normalize_after` must not be given",
               class = "fumi_error")
  expect_error(dlfumi(b, noise = "background", nonneg = "both"), "`nonneg`",
               class = "fumi_error_no_meaning")
  expect_error(dlfumi(b, noise = "background", ridge = 0), "`ridge`", class = "fumi_error")
  expect_error(dlfumi(b, noise = "pink"), "`noise`", class = "fumi_error")
})

test_that("tuning chooses between kinds of noise", {
  set.seed(4)
  tuned <- mil_tune(scene(1), dlfumi, data.frame(noise = c("white", "background")), n_target = 1,
                    n_background = 2, folds = 2, level = "instance", refit = FALSE)
  expect_identical(tuned$parameters$noise, "background")
})
