small_fits <- function() {
  set.seed(3)
  suppressWarnings(lapply(mil_methods, function(fit) fit(odd_data$b)))
}

test_that("every method has a summary, a row, its parameters, and gives instances back with what it says of them", {
  b <- odd_data$b
  columns <- NULL
  for (fit in small_fits()) {
    method <- class(fit)[1]
    facts <- glance(fit)
    expect_identical(dim(facts), c(1L, 14L), info = method)
    if (is.null(columns)) columns <- names(facts)
    expect_identical(names(facts), columns, info = method)
    expect_identical(unlist(facts[2:5], use.names = FALSE), c(6L, 3L, 12L, 4L), info = method)
    expect_identical(facts$threshold, fit$calibration$bag$own$threshold, info = method)
    expect_true(all(c("parameter", "value") == names(tidy(fit, "params"))), info = method)
    expect_true("normalize" %in% tidy(fit, "params")$parameter, info = method)
    a <- augment(fit, b)
    plain <- as.data.frame(a)
    expect_identical(plain[names(as.data.frame(b))], as.data.frame(b), info = method)
    expect_identical(plain[c(".bag", ".instance", ".score")], predict(fit, b), info = method)
    expect_identical(a$.pred_class, predict(fit, b, "class")$.pred_class, info = method)
    expect_s3_class(summary(fit), "summary.mil_model")
    expect_output(print(summary(fit)), "fit")
  }
})

test_that("coef, fitted, residuals, update and the trace work or say why not", {
  b <- odd_data$b
  for (fit in small_fits()) {
    method <- class(fit)[1]
    answer <- function(code) tryCatch({ force(code); "works" },
                                      fumi_error_no_meaning = function(e) "none")
    rebuilt <- method %in% c("dlfumi", "e_fumi", "dmil", "mi_he")
    expect_identical(answer(fitted(fit, b)), if (rebuilt) "works" else "none", info = method)
    expect_identical(answer(residuals(fit, b)), if (rebuilt) "works" else "none", info = method)
    expect_identical(rebuilt, ".resid" %in% names(augment(fit, b)), info = method)
    traced <- !method %in% c("sil", "miles", "diverse_density")
    expect_identical(answer(tidy(fit, "trace")), if (traced) "works" else "none", info = method)
    kernel <- method == "mi_svm" && identical(fit$kernel$name, "rbf")
    expect_identical(answer(coef(fit)), if (kernel) "none" else "works", info = method)
    expect_s3_class(suppressWarnings(update(fit, b, normalize = "none")), method)
  }
  own <- list(fit = function(x, y) colMeans(x[y, ]), score = function(model, x) drop(x %*% model))
  expect_error(coef(sil(b, classifier = own)), "own", class = "fumi_error_no_meaning")
  other <- structure(unclass(sil(b)), class = c("other", "mil_model"))
  expect_error(coef(other), "`object`.*other", class = "fumi_error_no_meaning")
})

test_that("tidy atoms are the coefficients, with the role of each", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d), n_target = 2)
  long <- tidy(fit)
  expect_named(long, c("atom", "role", "feature", "value"))
  expect_identical(unique(long[c("atom", "role")])$role,
                   c("target", "target", "background", "background"))
  wide <- tapply(long$value, list(factor(long$atom, unique(long$atom)), long$feature), sum)
  expect_equal(matrix(wide, 4), unname(coef(fit)))
  expect_identical(unique(tidy(fit_to(bags(unname(d$x), d$id, d$y, positive = "yes")))$feature),
                   as.character(1:6))
  fits <- small_fits()
  expect_identical(unique(tidy(fits$mmdl)$role), c("target", "background"))
  expect_identical(unique(tidy(fits$dmil)$role), "target")
  expect_identical(unique(tidy(fits$em_dd)$atom), c("target", "scale"))
  expect_identical(unique(tidy(fits$sil)$atom), "weights")
  kept <- fits$miles
  expect_equal(tidy(kept)$value, as.vector(t(kept$instances)))
  expect_identical(names(coef(kept)), as.character(kept$selected))
  expect_error(tidy(fit, "codes"), "`what`", class = "fumi_error_input")
  expect_error(tidy(fit, whta = "params"), "`whta`", class = "fumi_error_argument")
})

test_that("parameters are those of the fit, defaults included", {
  params <- tidy(fit_to(bags_of(eight_bags()), gamma = .5), "params")
  value <- function(name) params$value[params$parameter == name]
  expect_identical(value("gamma"), "0.5")
  expect_identical(value("lambda"), "0.01")
  expect_identical(value("variant"), "paper")
  expect_identical(value("threads"), NA_character_)
  expect_false("control" %in% params$parameter)
})

test_that("augment names the target atom and the rest, for data in any form", {
  d <- eight_bags()
  b <- bags_of(d)
  fit <- fit_to(b, n_target = 2)
  a <- augment(fit, b)
  expect_equal(a$.resid, sqrt(rowSums(residuals(fit, b)^2)))
  codes <- abs(predict(fit, b, "codes")[, 1:2])
  expect_identical(a$.atom, ifelse(apply(codes, 1, max) > 0,
                                   colnames(codes)[apply(codes, 1, which.max)], NA))
  said <- c(".bag", ".instance", ".score", ".pred_class", ".pred_no", ".pred_yes", ".atom",
            ".resid")
  expect_equal(augment(fit, data.frame(d$x, id = d$id), bag = "id")[said], a[said])
  expect_equal(augment(fit, d$x, bag = d$id)[said], a[said])
  expect_true(all(augment(fit, b, threshold = -1)$.pred_class == "yes"))
  expect_identical(nrow(augment(fit, d$x[0, ])), 0L)
  expect_error(augment(fit), "`new_data`", class = "fumi_error_no_data")
  expect_error(augment(fit, b, detector = "subace"), "`detector`", class = "fumi_error_argument")
})

test_that("curves and cross-validations are tables", {
  r <- mil_roc(c(5, 4, 3, 2, 1), c(1, 0, 1, 1, 0))
  curve <- tidy(r)
  expect_identical(c(curve$fpr[1], curve$tpr[1], curve$fpr[6], curve$tpr[6]), c(0, 0, 1, 1))
  expect_false(is.unsorted(curve$fpr))
  expect_equal(as.data.frame(glance(r)), data.frame(auc = 4 / 6, n_positive = 3L, n_negative = 2L))
  set.seed(4)
  tuned <- mil_tune(odd_data$b, sil, data.frame(cost = c(.1, 1)), folds = 2, refit = FALSE)
  expect_identical(which(tidy(tuned)$chosen), tuned$best)
  expect_identical(tidy(tuned)$cost, c(.1, 1))
  expect_identical(glance(tuned)$mean, tuned$results$mean[tuned$best])
  expect_identical(glance(tuned)$folds, 2)
})

test_that("a summary shows the use of atoms, or the features with the largest values", {
  fit <- sil(odd_data$b)
  expect_identical(summary(fit)$features$feature, names(sort(-abs(coef(fit)))))
  expect_null(summary(fit)$atoms)
  s <- summary(suppressWarnings(e_fumi(odd_data$b)))
  expect_equal(sum(s$atoms$energy), 1)
  expect_null(s$atoms$unused)
  expect_output(print(s), "Atoms (share of instances using it, share of the codes' energy):",
                fixed = TRUE)
  many <- mi_he(odd_data$b, n_background = 4, max_iter = 2, calibrate = 0)
  expect_null(summary(many)$features)
})

test_that("tables are tibbles where the package is installed", {
  skip_if_not_installed("tibble")
  fit <- sil(odd_data$b)
  tables <- list(tidy(fit), tidy(fit, "params"), glance(fit), augment(fit, odd_data$b),
                 tidy(mil_roc(3:1, c(1, 0, 0))), glance(mil_roc(3:1, c(1, 0, 0))))
  for (table in tables) expect_s3_class(table, "tbl_df")
  mixed <- data.frame(a = 1:2, check.names = FALSE)
  expect_identical(as.data.frame(as_table(mixed)), mixed)
})
