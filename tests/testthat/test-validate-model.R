# A model of each method, each with the fields whose damage must be found.
whole_models <- function() {
  b <- bags_of(eight_bags())
  set.seed(3)
  list(
    dlfumi = fit_to(b, n_start = 2, combine = "average", keep_background = TRUE),
    dmil = dmil(b, n_atoms = 2, max_iter = 2),
    dmil_kernel = dmil(b, n_atoms = 2, kernel = "rbf", max_iter = 2, n_start = 2,
                       combine = "average"),
    em_dd = em_dd(b, n_start = 2, combine = "average", max_iter = 2),
    diverse_density = diverse_density(b, n_start = 1, max_iter = 2),
    mi_svm = mi_svm(b, kernel = "linear", max_iter = 2),
    mi_svm_rbf = mi_svm(b, kernel = "rbf", max_iter = 2), miles = miles(b),
    mmdl = mmdl(b, n_clusters = 2, bag_route = TRUE, max_iter = 1), mi_ace = mi_ace(b),
    mi_ace_several = mi_ace(b, n_target = 2), e_fumi = e_fumi(b, max_iter = 2),
    mi_he = mi_he(b, n_background = 2, max_iter = 2),
    sil = sil(b))
}

common_fields <- c("method", "n_features", "classes", "bag", "n_bags", "version")
own_fields <- list(
  dlfumi = c("dictionary", "n_target", "n_background", "codes", "prob_target", "lambda", "beta",
             "variant", "normalize",
             "background$mean", "background$basis", "background$kappa", "background$delta",
             "members$2$dictionary",
             "members$1$n_target", "members$1$center", "members$2$scale", "gamma", "psi",
             "worst_gap", "n_dead", "n_dropped", "combine", "stop_reason"),
  dmil = c("dictionary", "spec$lambda", "spec$beta", "spec$swap", "spec$pool", "spec$n_atoms",
           "normalize", "spec$normalize", "n_dead", "objective", "stop_reason"),
  dmil_kernel = c("kernel$name", "kernel$kpar", "support", "coefficients", "gram",
                  "members$1$gram", "members$2$coefficients"),
  em_dd = c("target", "feature_scale", "start_scale", "members$2$target",
            "members$1$feature_scale", "normalize", "combine"),
  diverse_density = c("target", "feature_scale", "start_scale", "normalize", "objective",
                      "stop_reason", "spec$scale_type", "spec$model"),
  mi_svm = c("kernel$name", "model$weights", "model$bias"),
  mi_svm_rbf = c("kernel$kpar", "model$support", "model$alpha", "model$bias"),
  miles = c("instances", "weights", "bias", "kernel$kpar$sigma", "selected"),
  mmdl = c("weights"),
  mi_ace = c("dictionary", "n_target", "spec$type", "background$mean", "background$basis",
             "background$kappa", "background$delta"),
  mi_ace_several = c("dictionary", "n_target", "spec$type"),
  e_fumi = c("dictionary", "n_target", "n_background", "codes", "prob_target", "normalize",
             "n_dropped", "stop_reason"),
  mi_he = c("dictionary", "n_target", "n_background", "normalize", "best_iter", "spec$coding",
            "spec$score", "spec$variant",
            "spec$lambda", "stop_reason", "background$mean", "background$basis",
            "background$kappa", "background$delta"),
  sil = c("model$weights", "model$bias", "normalize"))

with_part <- function(model, path, value) {
  steps <- lapply(strsplit(path, "$", fixed = TRUE)[[1]],
                  function(s) if (grepl("^[0-9]+$", s)) as.integer(s) else s)
  put <- function(m, steps) {
    m[steps[[1]]] <- list(if (length(steps) == 1) value else put(m[[steps[[1]]]], steps[-1]))
    m
  }
  structure(put(unclass(model), steps), class = class(model))
}

test_that("whole models pass, and are returned as they are", {
  for (model in whole_models()) expect_identical(validate_model(model), model)
})

# Values that a field must not have, given what it has.
damages <- function(old) {
  bad <- list("none such", list(1), if (is.matrix(old)) old[, 0], if (is.matrix(old)) t(old)[, -1],
              if (is.double(old)) replace(old, length(old), NaN), if (is.numeric(old)) c(old, 1))
  c(list(NULL), bad[!vapply(bad, is.null, NA)])
}

# What a field may be all the same: values that no prediction reads, and a field's other legal
# types.
harmless <- function(path, value, old) {
  unread <- c("codes", "prob_target", "background$delta", "worst_gap")
  path %in% unread && is.numeric(value) && identical(dim(value), dim(old)) &&
    length(value) == length(old) ||
    is.character(value) && path %in% c("bag", "version") || is.list(value) && path == "kernel$kpar"
}

test_that("each damaged field is found before it is used", {
  skip_on_cran()
  without_traces()
  models <- whole_models()
  x <- eight_bags()$x
  answer <- function(model) tryCatch({predict(model, x); "used"},
                                     fumi_error_model = function(e) "refused",
                                     error = function(e) conditionMessage(e))
  for (method in names(models))
    for (path in c(if (method == "sil") common_fields, own_fields[[method]])) {
    old <- part(unclass(models[[method]]), path)
    bad <- Filter(function(value) !harmless(path, value, old), damages(old))
    answers <- vapply(bad, function(value) answer(with_part(models[[method]], path, value)), "")
    expect_identical(unique(answers), "refused", info = paste(method, path))
  }
})

test_that("the message names the field, what it must be and what it is", {
  models <- whole_models()
  expect_error(validate_model(with_part(models$dlfumi, "members$2$dictionary", matrix(1, 2, 2))),
               "`object$members$2$dictionary` must be a matrix of finite doubles with 6 rows, not a matrix of 2 x 2",
               fixed = TRUE, class = "fumi_error_model")
  expect_error(coef(with_part(models$mi_ace, "background$mean", 1:2)), "`object$background$mean`",
               fixed = TRUE)
  huge <- replace(models$dlfumi$dictionary, 2, 1e200)
  expect_error(coef(with_part(models$dlfumi, "dictionary", huge)),
               "`object$dictionary` must be a matrix of finite", fixed = TRUE)
  expect_error(plot(with_part(models$dlfumi, "n_target", 3L)),
               "`x$n_target` must be a whole number", fixed = TRUE)
  for (x in list(1, NULL, list(), structure(1, class = "mil_model")))
    expect_error(validate_model(x), "`object` must be a fitted model", class = "fumi_error_model")
  expect_error(validate_model(structure(list(method = "a"), class = c("b", "mil_model"))),
               "`object$method`", fixed = TRUE)
})

test_that("two classes of one name and a damaged record of the iterations are found", {
  whole <- whole_models()
  refused <- function(model, path, value, words)
    expect_error(print(summary(with_part(model, path, value))), words, fixed = TRUE,
                 class = "fumi_error_model")
  refused(whole$sil, "classes", c("a", "a"), "`object$classes` must be two different strings")
  refused(whole$sil, "classes", c("a", NA), "`object$classes` must be two different strings")
  path <- whole$dmil$objective
  refused(whole$dmil, "objective", replace(path, "objective", NULL),
          "`object$objective` must be a data frame of numbers")
  refused(whole$dmil, "objective", structure(unclass(path)[c(1, 1)], class = "data.frame",
                                             names = c("objective", "b"),
                                             row.names = 1:99), "`object$objective` must be")
  refused(whole$dmil, "starts", list(path, 1), "`object$starts` must be a list of data frames")
  expect_output(print(summary(with_part(whole$dlfumi, "prob_target",
                                        replace(whole$dlfumi$prob_target, 1, NA)))),
  "Weight of the E-step")
})

test_that("coef(), plot(), summary(), update() and bag scores refuse a damaged model", {
  models <- whole_models()
  b <- bags_of(eight_bags())
  refused <- function(code) expect_error(code, class = "fumi_error_model")
  for (method in c("dlfumi", "dmil", "e_fumi", "mi_ace"))
    refused(coef(with_part(models[[method]], "dictionary", matrix(0, 2, 2))))
  for (method in c("em_dd", "diverse_density")) {
    refused(coef(with_part(models[[method]], "target", "a")))
    refused(plot(with_part(models[[method]], "target", "a")))
  }
  refused(coef(with_part(models$mmdl, "weights", NULL)))
  refused(coef(with_part(models$mi_svm, "model$weights", NULL)))
  refused(plot(with_part(models$dmil, "dictionary", 1)))
  refused(summary(with_part(models$dlfumi, "codes", matrix(0, 3, 3))))
  refused(update(with_part(models$dlfumi, "method", "system"), b))
  refused(predict(with_part(models$mmdl, "bag_weights", 1), b, level = "bag"))
  refused(predict(with_part(models$sil, "calibration$instance$curve$slope", "a"), b, "prob"))
  refused(predict(with_part(models$sil, "calibration$bag$own$curve$link", "system"), b, "prob"))
})

test_that("a one-vs-rest object is checked, and each of its models", {
  b <- bags_of(eight_bags())
  whole <- one_vs_rest(list(a = b, b = b), fitter = sil, scale = TRUE)
  expect_identical(validate_model(whole), whole)
  refused <- function(path, value, words)
    expect_error(predict(with_part(whole, path, value), b), words, fixed = TRUE,
                 class = "fumi_error_model")
  refused("fits", list(), "`object$fits`")
  refused("fits", unname(whole$fits), "`object$fits`")
  refused("fits", stats::setNames(whole$fits, c("a", "a")),
          "`object$fits` must be a list of models with different names")
  refused("fits", stats::setNames(whole$fits, c("a", "")), "`object$fits`")
  refused("fits$b", 1, "`object$fits$b`")
  refused("fits$a$model$weights", 1, "`object$fits$a$model$weights`")
  refused("fits$a$scale", 1, "`object$fits$a$scale`")
  refused("scaled", NA, "`object$scaled`")
})

test_that("a method from elsewhere is held to what all models have", {
  fit <- structure(unclass(sil(bags_of(eight_bags()))), class = c("other", "mil_model"))
  fit$method <- "other"
  expect_identical(validate_model(fit), fit)
  fit$n_features <- NULL
  expect_error(validate_model(fit), "`object$n_features`", fixed = TRUE, class = "fumi_error_model")
})

test_that("the check makes nothing that grows with the training data", {
  fit <- fit_to(bags_of(eight_bags()))
  validate_model(fit)
  big <- fit
  big$bag <- rep("a", 1e6)
  big$codes <- matrix(0, 3, 1e6, dimnames = list(rownames(fit$codes), NULL))
  big$prob_target <- numeric(1e6)
  used <- gc(reset = TRUE)[, 6]
  validate_model(big)
  expect_lt(sum(gc()[, 6] - used), 1) # MB; a logical for each instance is 4
})
