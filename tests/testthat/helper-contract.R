# What every method must satisfy. A new method joins by one line in `mil_methods`.

mil_methods <- list(
  dlfumi = function(b, ...) dlfumi(b, ..., n_target = 1, n_background = 3),
  dmil = function(b, ...) dmil(b, ...),
  dmil_gmean = function(b, ...) dmil(b, ..., pool = "gmean"),
  diverse_density = function(b, ...) diverse_density(b, ...),
  em_dd = function(b, ...) em_dd(b, ...),
  mi_svm = function(b, ...) mi_svm(b, ...),
  mi_svm_linear = function(b, ...) mi_svm(b, ..., type = "mi", kernel = "linear"),
  miles = function(b, ...) miles(b, ...),
  e_fumi = function(b, ...) e_fumi(b, ...),
  mi_ace = function(b, ...) mi_ace(b, ...),
  mi_smf = function(b, ...) mi_ace(b, ..., type = "smf"),
  mi_ace_several = function(b, ...) mi_ace(b, ..., n_target = 2, alpha = .2),
  mi_he = function(b, ...) mi_he(b, ..., n_background = 3),
  mmdl = function(b, ...) mmdl(b, ...),
  mmdl_published = function(b, ...) mmdl(b, ..., assign0 = TRUE, resample = FALSE),
  sil = function(b, ...) sil(b, ...))

# Bags that every method separates with its defaults.
contract_bags <- function() {
  set.seed(101)
  b <- sim_bags(n_bags = 40, bag_size = 6, n_features = 15, n_background = 1)
  colnames_of <- paste0("f", seq_len(15))
  d <- as.data.frame(b)
  x <- as.matrix(b)
  colnames(x) <- colnames_of
  bags(x, d$bag, d$label, truth = d$truth)
}

seeded <- function(fit, ...) {
  set.seed(102)
  fit(...)
}

# Arguments that give a method the same start whatever the order of the data, where `set.seed()`
# does not: the first target atoms of DL-FUMI are means of random instances.
same_start <- list(dlfumi = list(init = list(dictionary = diag(15)[, 1:4])))

expect_mil_contract <- function(fit) {
  b <- contract_bags()
  x <- as.matrix(b)
  d <- as.data.frame(b)
  model <- seeded(fit, b)

  # shapes, order, types
  s <- predict(model, b)
  expect_s3_class(model, "mil_model")
  expect_equal(names(s), c(".bag", ".instance", ".score"))
  expect_equal(s$.bag, d$bag)
  expect_equal(s$.instance, seq_along(d$bag))
  expect_true(all(is.finite(s$.score)))
  expect_equal(predict(model, x)$.score, s$.score, tolerance = 1e-10)
  expect_equal(predict(model, x[7, , drop = FALSE])$.score, s$.score[7], tolerance = 1e-8)
  expect_equal(nrow(predict(model, x[0, ])), 0)
  expect_equal(predict(model, b, level = "bag", pool = "max")$.score,
               unname(pool_bags(s$.score, d$bag)))
  expect_equal(levels(predict(model, b, type = "class")$.pred_class), c("0", "1"))
  expect_calibrated(model, b)
  expect_equal(predict(model, x[, 15:1])$.score, s$.score, tolerance = 1e-10)
  expect_equal(predict(model, cbind(x, extra = 1))$.score, s$.score, tolerance = 1e-10)
  expect_error(predict(model, x[, -1]), class = "fumi_error_column")
  expect_error(predict(model, x, newdata = x), class = "fumi_error_argument")
  expect_error(predict(model), class = "fumi_error_no_data")
  expect_output(print(model), "fit")

  # it separates what is easy, and its classes mean something
  expect_gt(as.numeric(pROC::auc(mil_roc(model, b))), .95)
  accuracy <- mean(predict(model, b, type = "class", level = "bag")$.pred_class == summary(b)$label)
  expect_gt(accuracy, .9)

  # set.seed decides; saving keeps; the input stays
  before <- b$x + 0
  expect_identical(seeded(fit, b), model)
  expect_identical(b$x, before)
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(model, file)
  expect_identical(predict(readRDS(file), b), s)

  # one-instance bags, and refusals (more of them in helper-bad-input.R)
  single <- seeded(fit, x, seq_len(nrow(x)), d$truth)
  expect_true(all(is.finite(predict(single, x)$.score)))
  expect_error(fit(b, normalise = "unit"), "Did you mean `normalize`",
               class = "fumi_error_argument")
}

# One calibration, which bag scores, classes and probabilities of both levels agree with.
expect_calibrated <- function(model, b) {
  expect_identical(model$calibration$source, "out-of-fold")
  expect_identical(predict(model, b, level = "bag")$.score, unname(score_bags(model, b$x, b$bag)))
  for (level in c("instance", "bag")) {
    p <- predict(model, b, type = "prob", level = level)
    expect_named(p, c(".bag", if (level == "instance") ".instance", ".pred_0", ".pred_1"))
    expect_true(all(is.finite(p$.pred_1) & p$.pred_1 >= 0 & p$.pred_1 <= 1))
    expect_equal(p$.pred_0 + p$.pred_1, rep(1, nrow(p)))
    called <- predict(model, b, type = "class", level = level)$.pred_class == "1"
    score <- predict(model, b, level = level)$.score
    cut <- model_threshold(model, NULL, level, NULL, list())
    at_cut <- model_probability(model, cut, level, NULL, list())
    expect_identical(called, score > cut)
    expect_true(all(p$.pred_1[called] >= at_cut) && all(p$.pred_1[!called] <= at_cut),
                label = paste(level, "classes agree"))
    expect_true(all(diff(p$.pred_1[order(score)]) >= 0),
                label = paste(level, "probabilities rise with scores"))
  }
  said <- augment(model, b)
  expect_identical(names(said)[1:2], c(".bag", ".instance"))
  expect_true(all(c(".score", ".pred_class", ".pred_0", ".pred_1") %in% names(said)))
}

# Probabilities of new bags of 4 and of 20 instances mean something: little is lost against the
# best monotone map of the same scores, and those of negative bags are low.
expect_honest <- function(fit, quick, limit = .02) {
  for (size in c(4, 20)) {
    b <- noisy_bags(size)
    model <- suppressWarnings(do.call(seeded, c(list(fit, b$train), quick)))
    new <- b$new
    p <- predict(model, new, type = "prob", level = "bag")$.pred_1
    score <- predict(model, new, level = "bag")$.score
    lost <- mean((p - new$label)^2) - isotonic_brier(score, new$label)
    expect_lt(lost, limit, label = paste("Brier score lost with bags of", size))
    expect_lt(mean(p[!new$label]), .55, label = paste("mean probability of negative bags of", size))
    expect_lt(abs(mean(p) - .5), .12, label = paste("bias of probability with bags of", size))
  }
}

# 64 bags to train on and 1016 new ones, with as much noise as signal.
noisy_bags <- function(size) {
  set.seed(104)
  b <- sim_bags(n_bags = 1080, bag_size = size, n_features = 15, n_background = 1, noise = 1)
  train <- c(1:32, 541:572)
  list(train = b[train], new = b[-train])
}

# Brier score of the isotonic regression of labels on scores.
isotonic_brier <- function(score, label) {
  up <- order(score)
  p <- ave(isoreg(label[up])$yf, score[up])
  mean((p - label[up])^2)
}

# The order of instances, within bags and across them, the order of the bags and their names change
# no score.
expect_order_free <- function(fit, start) {
  b <- contract_bags()
  x <- as.matrix(b)
  d <- as.data.frame(b)
  scores <- function(order, bag = d$bag) {
    model <- do.call(seeded, c(list(fit, x[order, ], bag[order], d$label[order]), start))
    c(predict(model, x)$.score, predict(model, x, "prob")$.pred_1)
  }
  given <- scores(seq_along(d$bag))
  set.seed(103)
  ids <- unique(d$bag)
  orders <- list(within = order(match(d$bag, ids), runif(nrow(x))),
                 of_bags = order(match(d$bag, sample(ids))), all = sample(nrow(x)))
  for (name in names(orders))
    expect_lt(max(abs(scores(orders[[name]]) - given)), 1e-8,
              label = paste("change by order", name))
  expect_lt(max(abs(scores(orders$all, paste0("bag", sample(ids))[match(d$bag, ids)]) - given)),
            1e-8)
}

# `update()` is a refit of what was given: with nothing changed it is the same fit, with a
# parameter changed it is that of a call with this parameter. `first`: arguments of the fit that is
# updated.
expect_update <- function(fit, first, changes) {
  old <- options(fumi.calibrate = 0)
  on.exit(options(old))
  b <- contract_bags()
  model <- do.call(seeded, c(list(fit, b), first))
  expect_identical(seeded(update, model, b), model)
  for (name in names(changes)) {
    fresh <- do.call(seeded, c(list(fit, b), utils::modifyList(first, changes[name])))
    expect_identical(do.call(seeded, c(list(update, model, b), changes[name])), fresh,
                     label = paste("update with", name))
    expect_false(identical(fresh, model), label = paste(name, "changes nothing, which"))
  }
  file <- tempfile()
  on.exit(unlink(file), add = TRUE)
  mil_save(model, file)
  expect_identical(seeded(update, mil_load(file), b), model)
}

# Parameters to change, among them those on which the defaults of others depend.
changed_parameters <- local({
  dd <- list(scale_type = "single", scale_init = 2, n_start = 2, max_iter = 2, normalize = "none")
  dmil <- list(n_atoms = 2, exponent = 2, beta = 2, lambda = .01, kernel = "rbf", swap = TRUE,
               bag_weights = rep(1:2, 20), max_iter = 2, tol = .1, n_start = 2, normalize = "none")
  mi_ace <- list(n_clusters = 5, whitener = "ppca", ridge = .1, bag_weights = rep(1:2, 20),
                 max_iter = 1, normalize = "unit")
  mmdl <- list(n_clusters = 3, rho = .5, sigma = 2, cost = 2, negative_weight = .5, max_iter = 2,
               bag_route = TRUE, n_start = 2)
  mi_svm <- list(cost = 3, class_weights = "balanced", bag_weights = rep(1:2, 20), max_iter = 1,
                 normalize = "none")
  list(dlfumi = list(lambda = .01, beta = 5, gamma = .1, psi = 2, nonneg = "codes",
                     bag_weights = rep(1:2, 20), witnesses = 1,
                     normalize = "none", init = list(dictionary = diag(15)[, 1:4]), n_start = 2,
                     score = "difference",
                     keep_background = TRUE, control = dlfumi_control(max_iter = 4), max_iter = 5,
                     variant = "exact"),
       dmil = c(dmil, pool = "gmean"), dmil_gmean = dmil,
       diverse_density = c(dd, model = "most-likely-cause"),
       em_dd = c(dd, inner = 2, combine = "average"),
       mi_svm = c(mi_svm, list(type = "mi", kernel = "linear", kpar = list(sigma = 2))),
       mi_svm_linear = mi_svm,
       miles = list(sigma = 2, cost = 3, bag_weights = rep(1:2, 20), normalize = "none"),
       e_fumi = list(n_target = 2, n_background = 2, u = .02, alpha = 1, gamma = 1, beta = 20,
                     max_iter = 3, tol = .1, n_start = 2, normalize = "none"),
       mi_ace = c(mi_ace, n_target = 2, type = "smf", init = "kmeans"), mi_smf = mi_ace,
       mi_ace_several = c(mi_ace, init = "kmeans"),
       mi_he = list(n_target = 2, beta = 2, power = 2, rho = 2, lambda = .1, alpha = 1,
                    coding = "convex", score = "ace",
                    variant = "literal", max_iter = 2, tol = .1, n_start = 2, normalize = "none"),
       mmdl = c(mmdl, assign0 = TRUE, resample = FALSE), mmdl_published = mmdl,
       sil = list(classifier = "svm", cost = 3, bag_weights = rep(1:2, 20), normalize = "none"))
})

# A bar that counts up and is closed, on request, with the same fit; nothing without; an option is
# the default.
expect_progress <- function(fit) {
  b <- contract_bags()
  old <- options(cli.progress_handlers_force = "logger", fumi.progress = NA)
  on.exit(options(old))
  expect_error(fit(b), "`progress`", class = "fumi_error_input")
  bar <- capture.output(type = "message",
                        shown <- capture.output(with_bar <- seeded(fit, b, progress = TRUE)))
  expect_match(shown[1], " 0/[0-9]+ created$")
  expect_match(shown[length(shown)], " [1-9][0-9]*/[0-9]+ terminated \\(done\\)$")
  expect_silent(without <- seeded(fit, b, progress = FALSE))
  expect_identical(with_bar, without)
}

# Fits, with a bar, and predicts 700 instances of 4980 features without anything of size 4980 x 4980
# (198 MB). `quick` holds arguments that keep a slow method short.
expect_no_square <- function(fit, quick) {
  old <- options(fumi.calibrate = 0)
  on.exit(options(old))
  set.seed(103)
  b <- sim_bags(n_bags = 70, bag_size = 10, n_features = 4980)
  gc(reset = TRUE)
  before <- sum(gc()[, 2])
  bar <- capture.output(type = "message", model <- do.call(fit, c(list(b), quick, progress = TRUE)))
  expect_true(all(is.finite(predict(model, b)$.score)))
  expect_lt(sum(gc()[, 6]) - before, 600)
}

quick_arguments <- list(diverse_density = list(n_start = 1, max_iter = 10),
                        em_dd = list(n_start = 1),
                        dmil = list(max_iter = 3), dmil_gmean = list(max_iter = 3),
                        e_fumi = list(max_iter = 5), mi_he = list(max_iter = 30),
                        mmdl = list(max_iter = 1), mmdl_published = list(max_iter = 1))

# Arguments that keep a slow method short, and let it find the optimum that it would find.
# Fits of MMDL's published algorithm to a part of the bags are worse than those to all, so that its
# scores are better than its probabilities say; those of EM-DD end in different optima.
honest_limits <- list(em_dd = .025, mmdl_published = .03)
honest_arguments <- list(diverse_density = list(n_start = 5), em_dd = list(n_start = 5))

# Arguments that keep an iterative method at work until it is interrupted.
endless_arguments <- list(dlfumi = list(control = dlfumi_control(max_iter = 1e5, tol = 0)),
                          dmil = list(max_iter = 1e5, tol = 0),
                          dmil_gmean = list(max_iter = 1e5, tol = 0),
                          diverse_density = list(n_start = 1000), em_dd = list(n_start = 1000),
                          e_fumi = list(max_iter = 1e5, tol = 0),
                          mi_he = list(max_iter = 1e5, tol = 0),
                          mmdl = list(n_start = 300, n_clusters = 2))
