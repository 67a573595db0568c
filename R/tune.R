#' Folds of whole bags
#'
#' @param x [bags()].
#' @param k number of folds.
#' @return An integer vector, one fold a bag, named by the bags. Positive and negative bags are each
#'   spread evenly over the folds, at random.
#' @seealso [mil_cv()], [mil_tune()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 12)
#' table(bag_folds(b, 3), summary(b)$label)
#' @export
bag_folds <- function(x, k = 3) {
  if (!inherits(x, "bags")) stop_fumi("`x` must be bags, not ", describe(x), ".", class = "type")
  draw_folds(x, k, "k")
}

draw_folds <- function(b, k, name, call = rlang::caller_env()) {
  k <- check_count(k, name, min = 2, call = call)
  fewest <- min(sum(b$label), sum(!b$label))
  if (k > fewest)
    stop_fumi("`", name, "` must be at most the number of bags of each label (", sum(b$label), " positive, ",
              sum(!b$label), " negative), not ", k, ".", call = call)
  fold <- integer(length(b))
  for (label in c(TRUE, FALSE)) {
    of_label <- which(b$label == label)
    fold[of_label[sample.int(length(of_label))]] <- rep_len(seq_len(k), length(of_label))
  }
  stats::setNames(fold, b$ids)
}

#' Choose parameters by cross-validation over whole bags
#'
#' `mil_tune()` fits a method with every configuration of a grid to all folds of bags but one, scores
#' the bags that were left out, and chooses the configuration with the best mean. `mil_cv()` does so
#' for one configuration.
#'
#' @section Levels:
#' `"bag"` compares the scores of held-out bags. `"instance"` compares those of instances with their
#' `truth`, which the bags must hold. `"witness"` needs no truth: it compares the largest score of
#' each positive bag with the score of each instance of the negative bags, all of which are known to be no
#' targets. It does not depend on the sizes of bags, where the largest of fifty scores of a negative bag
#' is easily above the largest of four.
#'
#' @param x [bags()], or a named list of them (as in [one_vs_rest()]): then one configuration is chosen for
#'   all, by the mean over them.
#' @param fitter the method, such as [dlfumi()].
#' @param grid a data frame with one configuration a row and one parameter a column; entries that are `NA`
#'   are left at the method's default.
#' @param ... further parameters of the method, the same for all configurations.
#' @param folds their number, or for one `bags` what [bag_folds()] gives: the fold of each bag. For a list
#'   of bags, a list of such vectors is taken too.
#' @param metric `"auc"`; `"tpr"`, the true positive rate at `fpr`; or `"accuracy"` of the classes that the fit
#'   assigns (not for `"witness"`).
#' @param level of what; see below.
#' @param fpr the false positive rate for `"tpr"`.
#' @param rule `"best"`: the best mean; `"one-se"`: the first configuration of the grid whose mean is within
#'   one standard error of the best, so that a grid sorted from simple to complex gives the simplest.
#' @param refit fit the chosen configuration to all bags?
#' @param dir a folder in which results are kept: a run that was stopped goes on where it was.
#' @param progress show a progress bar.
#' @return `mil_tune()`: a list of class `mil_tune`:
#'   \item{results}{the grid with columns `mean`, `se` (over folds) and `failed` (fits that stopped with an error)}
#'   \item{folds}{one row a configuration, fold and bags object, with the `metric`, seconds and error}
#'   \item{best}{the row chosen; `parameters`, a list, for `do.call()`}
#'   \item{fit}{the refit, or `NULL`}
#'   `mil_cv()`: a data frame with one row a fold. Every fit draws from a random stream of its own, made from
#'   the seed: the number of workers (daemons of mirai, or of a plan of the package future)
#'   changes nothing.
#' @seealso [bag_folds()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, n_features = 10)
#' tuned <- mil_tune(b, sil, data.frame(cost = c(0.01, 1)))
#' tuned
#' predict(tuned$fit, b, level = "bag")[1:2, ]
#' @export
mil_tune <- function(x, fitter = dlfumi, grid, ..., folds = 3, metric = c("auc", "tpr", "accuracy"),
                     level = c("bag", "witness", "instance"), fpr = 0.1, rule = c("best", "one-se"), refit = TRUE,
                     dir = NULL, progress = getOption("fumi.progress", interactive())) {
  measure <- check_measure(metric, level, fpr)
  rule <- check_choice(rule, c("best", "one-se"), "rule")
  refit <- check_flag(refit, "refit")
  problems <- check_problems(x)
  folds <- check_folds(folds, problems)
  if (missing(grid)) stop_fumi("`grid` must be given: a data frame with one configuration a row.")
  configurations <- check_grid(grid, list(...))
  fitter <- check_fitter(fitter, rlang::caller_env())
  tried <- cross_validate(problems, folds, fitter, configurations, measure, dir, progress)
  new_mil_tune(tried, grid, configurations, measure, rule, refit, problems, fitter)
}

#' @rdname mil_tune
#' @export
mil_cv <- function(x, fitter = dlfumi, ..., folds = 3, metric = c("auc", "tpr", "accuracy"),
                   level = c("bag", "witness", "instance"), fpr = 0.1, dir = NULL,
                   progress = getOption("fumi.progress", interactive())) {
  measure <- check_measure(metric, level, fpr)
  problems <- check_problems(x)
  tried <- cross_validate(problems, check_folds(folds, problems), check_fitter(fitter, rlang::caller_env()),
                          list(list(...)), measure, dir, progress)
  failed <- which(!is.na(tried$error))
  if (length(failed)) stop_fumi("Fold ", tried$fold[failed[1]], " could not be fitted: ", tried$error[failed[1]],
                                class = "fit")
  tried[setdiff(names(tried), c("configuration", "error"))]
}

# ---- arguments ---------------------------------------------------------------------------

check_measure <- function(metric, level, fpr, call = rlang::caller_env()) {
  measure <- list(metric = check_choice(metric, c("auc", "tpr", "accuracy"), "metric", call = call),
                  level = check_choice(level, c("bag", "witness", "instance"), "level", call = call),
                  fpr = check_number(fpr, "fpr", min = 0, max = 1, call = call))
  if (measure$metric == "accuracy" && measure$level == "witness")
    stop_fumi("`level` must be \"bag\" or \"instance\" for `metric = \"accuracy\"`, not \"witness\".", call = call)
  measure
}

check_problems <- function(x, call = rlang::caller_env()) {
  if (inherits(x, "bags")) return(list(all = check_both_labels(x, call)))
  if (is.list(x) && !is.data.frame(x) && length(x) && all(vapply(x, inherits, NA, "bags"))) {
    if (is.null(names(x))) names(x) <- seq_along(x)
    return(lapply(x, check_both_labels, call))
  }
  stop_fumi("`x` must be bags or a list of them, not ", describe(x), ".", call = call)
}

check_folds <- function(folds, problems, call = rlang::caller_env()) {
  if (is.numeric(folds) && length(folds) == 1) return(lapply(problems, draw_folds, folds, "folds", call))
  if (!is.list(folds)) folds <- list(folds)
  ok <- length(folds) == length(problems) &&
    all(mapply(function(f, b) length(f) == length(b) && !anyNA(f) && length(unique(f)) > 1, folds, problems))
  if (!ok)
    stop_fumi("`folds` must be a number of folds, or give two or more folds, one entry for each of the ",
              paste(lengths(problems), collapse = ", "), " bags, not ", describe(folds), ".", call = call)
  folds
}

# One list of parameters a row.
check_grid <- function(grid, fixed, call = rlang::caller_env()) {
  if (!is.data.frame(grid) || nrow(grid) == 0)
    stop_fumi("`grid` must be a data frame with one configuration a row, not ", describe(grid), ".", call = call)
  lapply(seq_len(nrow(grid)), function(i) {
    row <- lapply(grid, function(column) column[[i]])
    c(row[!vapply(row, function(v) is.atomic(v) && anyNA(v), NA)], fixed)
  })
}

# ---- cross-validation --------------------------------------------------------------------

cross_validate <- function(problems, folds, fitter, configurations, measure, dir, progress, call = rlang::caller_env()) {
  seed <- sample.int(.Machine$integer.max, 1)
  place <- do.call(rbind, lapply(seq_along(problems), function(j)
    data.frame(problem = j, fold = sort(unique(folds[[j]])))))
  tasks <- lapply(seq_along(configurations), function(i) lapply(seq_len(nrow(place)), function(k)
    list(name = paste(i, names(problems)[place$problem[k]], place$fold[k], sep = "-"),
         configuration = i, parameters = configurations[[i]], problem = place$problem[k], fold = place$fold[k],
         stream = task_stream(seed, 0, k), folds = folds[[place$problem[k]]], data = problems[[place$problem[k]]])))
  tasks <- unlist(tasks, recursive = FALSE)
  done <- run_tasks(tasks, fold_runner(fitter, measure), dir, check_flag(progress, "progress", call),
                    "cross-validation", call)
  described <- lapply(tasks, function(task) data.frame(
    configuration = task$configuration, bags = names(problems)[task$problem], fold = task$fold))
  empty <- data.frame(metric = NA_real_, seconds = NA_real_, error = "not run")
  cbind(do.call(rbind, described), do.call(rbind, lapply(done, function(d) if (is.null(d)) empty else d)))
}

fold_runner <- function(fitter, measure) {
  force(list(fitter, measure))
  function(task) one_fold(task, fitter, measure)
}

# Fits to all bags outside the fold, and measures on those in it. All configurations meet the
# same random numbers.
one_fold <- function(task, fitter, measure) {
  b <- task$data
  out <- task$folds == task$fold
  attempt <- function() {
    if (measure$metric != "accuracy") rlang::local_options(fumi.calibrate = 0)
    fit <- with_stream(task$stream, do.call(fitter, c(list(b[!out]), task$parameters, progress = FALSE)))
    if (identical(fit$stop_reason, "interrupt")) check_status("interrupt")
    data.frame(metric = held_out_metric(fit, b[out], measure), error = NA_character_)
  }
  failed <- function(e) data.frame(metric = NA_real_, error = why_failed(e))
  start <- proc.time()[["elapsed"]]
  result <- tryCatch(attempt(), error = failed)
  data.frame(metric = result$metric, seconds = proc.time()[["elapsed"]] - start, error = result$error)
}

held_out_metric <- function(fit, b, measure) {
  if (measure$metric == "accuracy") return(held_out_accuracy(fit, b, measure$level))
  s <- stats::predict(fit, b)
  truth <- if (measure$level == "instance") truth_of(b, "instance") else
    stats::setNames(b$label, b$ids)[s$.bag]
  curve <- switch(measure$level, instance = mil_roc(s$.score, truth), bag = mil_roc(fit, b, level = "bag"),
                  witness = mil_roc(c(pool_bags(s$.score[truth], s$.bag[truth]), s$.score[!truth]),
                                    rep(c(TRUE, FALSE), c(sum(b$label), sum(!truth)))))
  if (measure$metric == "auc") as.numeric(curve$auc) else tpr_at(curve, measure$fpr)
}

held_out_accuracy <- function(fit, b, level) {
  called <- stats::predict(fit, b, type = "class", level = level)$.pred_class == fit$classes[2]
  mean(called == truth_of(b, level))
}

# ---- result ------------------------------------------------------------------------------

new_mil_tune <- function(tried, grid, configurations, measure, rule, refit, problems, fitter,
                         call = rlang::caller_env()) {
  by_fold <- split(tried, tried$configuration)
  mean_of <- vapply(by_fold, function(d) mean(d$metric), 0)
  if (all(is.na(mean_of)))
    stop_fumi("At least one configuration of `grid` must run, but all fail: ", tried$error[!is.na(tried$error)][1],
              class = "fit", call = call)
  se <- vapply(by_fold, function(d) stats::sd(d$metric) / sqrt(nrow(d)), 0)
  results <- data.frame(grid, mean = mean_of, se = se,
                        failed = vapply(by_fold, function(d) sum(!is.na(d$error)), 0), check.names = FALSE)
  best <- which.max(mean_of)
  if (rule == "one-se") best <- which(mean_of >= mean_of[best] - se[best])[[1]]
  parameters <- configurations[[best]]
  fits <- if (refit) lapply(problems, function(b) do.call(fitter, c(list(b), parameters, progress = FALSE)))
  structure(list(results = results, folds = tried, best = unname(best), parameters = parameters,
                 fit = if (length(problems) == 1) fits[[1]] else fits, measure = measure, rule = rule),
            class = "mil_tune")
}

#' @export
print.mil_tune <- function(x, digits = 3, ...) {
  m <- x$measure
  cat("Cross-validation of ", nrow(x$results), " configurations, ", nrow(x$folds) / nrow(x$results), " folds, by ",
      m$level, "-level ", m$metric, if (m$metric == "tpr") paste(" at FPR", m$fpr), "\n", sep = "")
  shown <- x$results
  shown[c("mean", "se")] <- lapply(shown[c("mean", "se")], signif, digits)
  if (all(shown$failed == 0)) shown$failed <- NULL
  shown$` ` <- ifelse(seq_len(nrow(shown)) == x$best, "<-", "")
  print(shown, row.names = FALSE)
  invisible(x)
}

#' @rdname mil_tune
#' @export
plot.mil_tune <- function(x, ...) {
  shown <- x$results
  i <- seq_len(nrow(shown))
  colour <- ifelse(i == x$best, target_colour, background_colour)
  graphics::plot(i, shown$mean, ylim = range(shown$mean - shown$se, shown$mean + shown$se, na.rm = TRUE), pch = 19,
                 col = colour, xlab = "configuration", ylab = paste(x$measure$level, x$measure$metric), las = 1, ...)
  graphics::segments(i, shown$mean - shown$se, i, shown$mean + shown$se, col = colour)
  invisible(x)
}
