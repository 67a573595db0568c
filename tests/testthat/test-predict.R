# ---- shapes and order --------------------------------------------------------

test_that("a prediction has one row per instance or per bag, in the order given", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  columns <- list(score = ".score", class = ".pred_class", prob = c(".pred_no", ".pred_yes"))
  for (type in names(columns)) {
    p <- predict(fit, bags_of(d), type)
    expect_s3_class(p, "data.frame", exact = TRUE)
    expect_named(p, c(".bag", ".instance", columns[[type]]))
    expect_identical(p$.bag, d$id)
    expect_identical(p$.instance, 1:32)
    p <- predict(fit, bags_of(d), type, level = "bag")
    expect_named(p, c(".bag", columns[[type]]))
    expect_identical(p$.bag, unique(d$id))
  }
  p <- predict(fit, bags_of(d))$.score
  expect_type(p, "double")
  expect_true(all(is.finite(p)))
})

test_that("every container of the same instances gets the same scores", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  reference <- predict(fit, bags_of(d))
  by_bag <- lapply(split(1:32, factor(d$id, unique(d$id))), function(i) d$x[i, ])
  expect_identical(predict(fit, d$x, bag = d$id), reference)
  expect_identical(predict(fit, by_bag), reference)
  expect_identical(predict(fit, unname(by_bag), bag = names(by_bag)), reference)
  expect_identical(predict(fit, data.frame(d$x, box = d$id), bag = "box"), reference)
  expect_identical(predict(fit, data.frame(d$x), bag = d$id), reference)
  expect_identical(predict(fit, d$x)$.score, reference$.score)
  expect_identical(predict(fit, d$x)$.bag, rep(NA_character_, 32))
  expect_identical(predict(fit, unname(by_bag))$.bag, as.character(rep(1:8, each = 4)))
})

test_that("images may come as an array or a list of arrays", {
  d <- eight_bags()
  colnames(d$x) <- NULL
  fit <- fit_to(bags_of(d, image_dim = c(2, 3)))
  images <- array(t(d$x), c(2, 3, 32))
  expect_identical(predict(fit, images), predict(fit, d$x))
  parts <- list(a = images[, , 1:5], b = images[, , 6:32])
  expect_identical(predict(fit, parts), predict(fit, d$x, bag = rep(c("a", "b"), c(5, 27))))
})

test_that("shuffled instances get their own scores", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  set.seed(3)
  o <- sample(32)
  shuffled <- bags(d$x[o, ], d$id[o], rep(d$y, each = 4)[o], positive = "yes")
  for (type in c("score", "prob")) {
    p <- predict(fit, bags_of(d), type)
    expect_equal(predict(fit, d$x[o, ], type)[[3]], p[[3]][o], tolerance = 1e-12)
    expect_equal(predict(fit, shuffled, type)[[3]], p[[3]][o], tolerance = 1e-12)
    expect_identical(predict(fit, shuffled, type)$.bag, d$id[o])
    by_bag <- predict(fit, bags_of(d), type, level = "bag")
    again <- predict(fit, shuffled, type, level = "bag")
    expect_identical(again$.bag, unique(d$id[o]))
    expect_equal(again[[2]], by_bag[[2]][match(again$.bag, by_bag$.bag)], tolerance = 1e-12)
  }
  for (type in c("codes", "reconstruction"))
    expect_equal(predict(fit, shuffled, type), predict(fit, bags_of(d), type)[o, ],
                 tolerance = 1e-12)
})

test_that("an instance is scored alone as in company", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  all <- predict(fit, d$x)$.score
  expect_equal(vapply(1:32, function(i) predict(fit, d$x[i, , drop = FALSE])$.score, 0), all,
               tolerance = 1e-12)
})

test_that("no rows give an answer of length 0 and of the right type", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d), keep_background = TRUE)
  for (none in list(d$x[0, ], data.frame(d$x)[0, ], bags_of(d)[0]))
    for (level in c("instance", "bag")) {
    rows <- data.frame(.bag = character())
    if (level == "instance") rows$.instance <- integer()
    expect_identical(predict(fit, none, level = level), cbind(rows, .score = numeric()))
    expect_identical(predict(fit, none, "prob", level = level),
                     cbind(rows, .pred_no = numeric(), .pred_yes = numeric()))
    expect_identical(predict(fit, none, "class", level = level)$.pred_class,
                     factor(character(), c("no", "yes")))
  }
  expect_identical(dim(predict(fit, d$x[0, ], "codes")), c(0L, 3L))
  expect_identical(dim(predict(fit, d$x[0, ], "reconstruction")), c(0L, 6L))
  expect_identical(predict(fit, d$x[0, ], detector = "subace")$.score, numeric())
})

test_that("codes and reconstruction are matrices with names, and belong together", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b, n_target = 2)
  codes <- predict(fit, b, "codes")
  expect_identical(dimnames(codes), list(NULL, c("target1", "target2", "background1",
                                                 "background2")))
  made <- predict(fit, b, "reconstruction")
  expect_identical(dimnames(made), list(NULL, letters[1:6]))
  expect_equal(made, codes %*% coef(fit) * sqrt(rowSums(d$x^2)))
  raw <- fit_to(b, normalize = "none")
  expect_equal(predict(raw, b, "reconstruction"), predict(raw, b, "codes") %*% coef(raw))
  expect_error(predict(fit, b, "codes", level = "bag"), "`level`", class = "fumi_error_input")
})

test_that("a score is the confidence of eq. 7, by hand from the codes", {
  d <- eight_bags()
  b <- bags_of(d)
  for (fit in list(fit_to(b), fit_to(b, normalize = "none"))) {
    x <- d$x
    if (fit$normalize == "unit") x <- x / sqrt(rowSums(x^2))
    codes <- predict(fit, b, "codes")
    full <- rowSums((x - codes %*% coef(fit))^2)
    background <- rowSums((x - codes[, 2:3] %*% coef(fit, "background"))^2)
    e <- 1e-12 * rowSums(x^2)
    expect_equal(predict(fit, b)$.score, (background + e) / (full + e), tolerance = 1e-8)
    expect_equal(predict(fit, b, "weight")$.weight, 1 - exp(-fit$beta * background),
                 tolerance = 1e-8)
  }
})

test_that("with instances brought to norm 1, their length changes nothing", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  expect_equal(predict(fit, d$x * 1e6)$.score, predict(fit, d$x)$.score, tolerance = 1e-8)
  expect_equal(predict(fit, d$x * 100, "reconstruction"),
               100 * predict(fit, d$x, "reconstruction"), tolerance = 1e-8)
})

# ---- levels, pools, classes ----------------------------------------------------

test_that("bag scores are pooled instance scores, for every pool", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  score <- predict(fit, d$x)$.score
  for (pool in c("max", "mean", "lse")) {
    p <- predict(fit, bags_of(d), level = "bag", pool = pool)
    expect_identical(setNames(p$.score, p$.bag), pool_bags(score, d$id, pool), info = pool)
  }
  expect_identical(predict(fit, bags_of(d), level = "bag"),
                   predict(fit, bags_of(d), level = "bag", pool = "max"))
  prob <- predict(fit, d$x, "prob")$.pred_yes
  p <- predict(fit, bags_of(d), "prob", level = "bag", pool = "noisy-or")
  expect_identical(setNames(p$.pred_yes, p$.bag), pool_bags(prob, d$id, "noisy-or"))
  expect_equal(p$.pred_yes, as.vector(1 - tapply(1 - prob, factor(d$id, unique(d$id)), prod)))
  for (pool in c("max", "mean", "lse")) {
    curve <- fit$calibration$bag[[pool]]$curve
    score <- predict(fit, bags_of(d), level = "bag", pool = pool)$.score
    expect_equal(predict(fit, bags_of(d), "prob", level = "bag", pool = pool)$.pred_yes,
                 plogis(curve$intercept + curve$slope * log(score)), info = pool)
  }
  expect_error(predict(fit, bags_of(d), "weight", level = "bag"), "`level`",
               class = "fumi_error_input")
  expect_error(predict(fit, bags_of(d), level = "bag", pool = "noisy-or"),
               class = "fumi_error_pool")
  for (level in c("bag", "instance"))
    expect_error(predict(fit, bags_of(d), level = level, pool = "median"), "`pool`",
                 class = "fumi_error_input")
})

test_that("bag ids are needed for bags, and are written as bags() writes them", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  expect_error(predict(fit, d$x, level = "bag"), "`bag`", class = "fumi_error_no_bag")
  expect_error(predict(fit, d$x, level = "bag", bag = c(d$id[1], NA, d$id[-(1:2)])),
               "missing for 1 instances, the first is 2", class = "fumi_error_no_bag")
  expect_error(predict(fit, d$x, bag = 1:3), "`bag`", class = "fumi_error_input")
  expect_error(predict(fit, data.frame(d$x), bag = "nope"), "`bag`", class = "fumi_error")
  expect_error(predict(fit, bags_of(d), bag = d$id), "`bag`", class = "fumi_error")
  number <- rep(c(1e5, 1), each = 16)
  expect_identical(predict(fit, d$x, level = "bag", bag = number)$.bag, bags(d$x, number, 0:1)$ids)
  expect_identical(predict(fit, d$x, level = "bag", bag = factor(rep(c("z", "a"), 16)))$.bag,
                   c("z", "a"))
})

test_that("classes are the user's own, on the sides of the threshold", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b)
  for (level in c("instance", "bag")) {
    score <- predict(fit, b, level = level)$.score
    class <- predict(fit, b, "class", level = level)$.pred_class
    expect_identical(class, factor(ifelse(score > fit$calibration$bag$max$threshold, "yes", "no"),
                                   c("no", "yes")))
    at <- sort(score)[3]
    moved <- predict(fit, b, "class", level = level, threshold = at)$.pred_class
    expect_identical(moved, factor(ifelse(score > at, "yes", "no"), c("no", "yes")))
    expect_identical(sum(moved == "no"), 3L)
  }
  for (pool in c("mean", "lse")) {
    score <- predict(fit, b, level = "bag", pool = pool)$.score
    expect_identical(predict(fit, b, "class", level = "bag", pool = pool)$.pred_class == "yes",
                     score > fit$calibration$bag[[pool]]$threshold, info = pool)
  }
  logical <- fit_to(bags(d$x, d$id, d$y == "yes"))
  expect_identical(levels(predict(logical, d$x, "class")$.pred_class), c("FALSE", "TRUE"))
})

test_that("a threshold is not used for scores that it was not chosen on", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b, keep_background = TRUE)
  expect_error(predict(fit, b, "class", coding = "separate"), "`threshold`",
               class = "fumi_error_no_threshold")
  expect_error(predict(fit, b, "class", detector = "subace"), "`threshold`",
               class = "fumi_error_no_threshold")
  expect_identical(predict(fit, b, "class", coding = "separate", threshold = 0)$.pred_class,
                   factor(rep("yes", 32), c("no", "yes")))
  expect_identical(predict(fit, b, "class", detector = "confidence", coding = "joint"),
                   predict(fit, b, "class"))
  for (threshold in list(NA, "a", c(1, 2), Inf))
    expect_error(predict(fit, b, "class", threshold = threshold), "`threshold`",
                 class = "fumi_error_input")
})

# ---- options of DL-FUMI ----------------------------------------------------------

test_that("separate coding codes on background atoms alone", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  joint <- predict(fit, d$x)$.score
  expect_identical(predict(fit, d$x, coding = "joint")$.score, joint)
  separate <- predict(fit, d$x, coding = "separate")$.score
  expect_false(isTRUE(all.equal(separate, joint)))
  expect_true(all(separate <= joint + 1e-8))
  expect_false(identical(predict(fit, d$x, "weight", coding = "separate"),
                         predict(fit, d$x, "weight")))
  expect_error(predict(fit, d$x, "prob", coding = "separate"), "`type`",
               class = "fumi_error_no_threshold")
  expect_error(predict(fit, d$x, coding = "both"), "`coding`", class = "fumi_error_input")
  expect_error(predict(fit, d$x, "codes", coding = "joint"), "`coding`",
               class = "fumi_error_argument")
})

test_that("many coding steps come near the codes to convergence, few do not", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  exact <- predict(fit, d$x, "codes")
  error <- vapply(c(1, 10, 2000), function(n) max(abs(predict(fit, d$x, "codes",
                                                              coding_steps = n) - exact)), 0)
  expect_true(all(diff(error) < 0))
  expect_lt(error[3], 1e-6)
  expect_equal(predict(fit, d$x, coding_steps = 2000)$.score, predict(fit, d$x)$.score,
               tolerance = 1e-4)
  expect_equal(predict(fit, d$x, "weight", coding_steps = 2000)$.weight,
               predict(fit, d$x, "weight")$.weight, tolerance = 1e-4)
  for (n in list(0, 1.5, NA, "a")) for (type in c("score", "weight", "codes"))
    expect_error(predict(fit, d$x, type, coding_steps = n), "`coding_steps`",
                 class = "fumi_error_input")
})

test_that("the detector subace takes its background from the fit or from the user", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b, keep_background = TRUE)
  kept <- predict(fit, b, detector = "subace")$.score
  unit <- d$x / sqrt(rowSums(d$x^2))
  expect_equal(kept, sub_ace(unname(unit), t(unname(coef(fit, "target"))), unname(unit[17:32, ])),
               tolerance = 1e-10)
  plain <- fit_to(b)
  expect_null(plain$background)
  expect_error(predict(plain, b, detector = "subace"), "`background`",
               class = "fumi_error_no_background")
  expect_equal(predict(plain, b, detector = "subace", background = d$x[17:32, ])$.score, kept,
               tolerance = 1e-10)
  expect_equal(predict(plain, b, detector = "subace", background = d$x[17:32, 6:1])$.score, kept,
               tolerance = 1e-10)
  expect_equal(predict(plain, b, detector = "subace",
                       background = background_stats(unit[17:32, ]))$.score, kept,
               tolerance = 1e-10)
  # Bags give their negative bags, as in sub_ace().
  expect_equal(predict(plain, b, detector = "subace", background = b)$.score, kept,
               tolerance = 1e-10)
  expect_identical(predict(plain, b, detector = "subace", background = d$x[17:32, ],
                           level = "bag")$.score,
                   unname(pool_bags(predict(plain, b, detector = "subace",
                                            background = d$x[17:32, ])$.score, d$id)))
})

test_that("a background that does not fit is refused by its own name", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  subace <- function(background) predict(fit, d$x, detector = "subace", background = background)
  for (bad in list(d$x[, 1:3], background_stats(d$x[, 1:3]), unname(d$x[, 1:3]), "a",
                   replace(d$x, 1, NA), d$x[1, , drop = FALSE]))
    expect_error(subace(bad), "`background`", class = "fumi_error", info = describe(bad))
  expect_error(predict(fit, d$x, detector = "ace"), "`detector`", class = "fumi_error_input")
})

test_that("several starts may be averaged: the mean of standardised log confidences", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b, n_start = 3, combine = "average")
  expect_length(fit$members, 3)
  one <- function(m) {
    single <- fit
    single$members <- NULL
    single[c("dictionary", "n_target")] <- m[c("dictionary", "n_target")]
    log_score <- log(predict(single, b)$.score)
    (log_score - mean(log_score[17:32])) / sd(log_score[17:32])
  }
  expect_equal(predict(fit, b)$.score, rowMeans(vapply(fit$members, one, numeric(32))))
})

# ---- odd instances ---------------------------------------------------------------

test_that("an instance of zeros scores 1, has weight 0, code 0 and is never NaN", {
  d <- eight_bags()
  zero <- matrix(0, 1, 6)
  for (normalize in c("unit", "none")) {
    fit <- fit_to(bags_of(d), normalize = normalize)
    expect_identical(predict(fit, zero)$.score, 1)
    expect_identical(predict(fit, zero, coding = "separate")$.score, 1)
    expect_identical(predict(fit, zero, coding_steps = 5)$.score, 1)
    expect_identical(predict(fit, zero, "weight")$.weight, 0)
    expect_true(all(predict(fit, zero, "codes") == 0))
    expect_true(all(predict(fit, zero, "reconstruction") == 0))
  }
})

test_that("instances at the ends of the range of doubles get a score or are refused, never NaN", {
  d <- eight_bags()
  for (normalize in c("unit", "none")) {
    fit <- fit_to(bags_of(d), normalize = normalize)
    direction <- predict(fit, matrix(1, 1, 6))$.score
    for (size in c(1e-310, 5e-324, 1e200, 1e308)) {
      p <- tryCatch(predict(fit, matrix(size, 1, 6))$.score, error = identity)
      if (inherits(p, "error")) expect_s3_class(p, "fumi_error_scale")
      else expect_true(is.finite(p) && (isTRUE(all.equal(p, direction, tolerance = 1e-6)) ||
                                        size < 1e-300),
                       info = paste(normalize, size))
    }
  }
})

test_that("an instance that the atoms represent wholly has a finite score", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d), lambda = 0)
  expect_true(is.finite(predict(fit, coef(fit, "target"))$.score))
  expect_gt(predict(fit, coef(fit, "target"))$.score, 1e3)
  expect_equal(predict(fit, coef(fit, "background"))$.score, c(1, 1), tolerance = 1e-6)
})

# ---- arguments -----------------------------------------------------------------------

test_that("unknown arguments are refused, with the nearest one suggested, as errors of predict()", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  for (type in c("score", "prob", "weight", "codes", "reconstruction", "class"))
    expect_error(predict(fit, d$x, type, newdata = 1), "Did you mean `new_data`",
                 class = "fumi_error_argument", info = type)
  expect_error(predict(fit, newdata = d$x), "`newdata`", class = "fumi_error")
  expect_error(predict(fit, d$x, levels = "bag"), "`level`", class = "fumi_error_argument")
  e <- rlang::catch_cnd(predict(fit, d$x, newdata = 1), "error")
  expect_identical(deparse(as.list(conditionCall(e))[[1]]), "predict")
  expect_error(predict(fit, d$x, "scores"), "`type`", class = "fumi_error_input")
  expect_error(predict(fit, d$x, level = "bags"), "`level`", class = "fumi_error_input")
})

test_that("a type that a model does not have is refused as such", {
  d <- eight_bags()
  fit <- sil(bags_of(d))
  expect_error(predict(fit, d$x, "weight"), "`type`.*sil", class = "fumi_error_no_meaning")
  expect_error(predict(fit, d$x, "codes"), "`type`", class = "fumi_error_no_meaning")
})
