#' Choose parameters by cross-validation over whole bags
#'
#' `mil_tune()` fits a method with every configuration of a grid to all folds of bags but one,
#' scores the bags that were left out, and chooses the configuration with the best mean over folds,
#' or an earlier one that is as good up to chance (`rule`). `mil_cv()` measures a single
#' configuration in the same way.
#'
#' @section Levels:
#' `"bag"` compares the scores of held-out bags. `"instance"` compares the scores of instances with
#' their `truth`, which the bags must contain. `"witness"` needs no truth: it compares the largest
#' score of each positive bag with the largest score of the same number of instances drawn from all
#' negative bags, none of which is a target. The AUC is the probability that the positive bag has
#' the larger one, computed exactly over all such draws; of a bag with more instances than all
#' negative bags together, as many are drawn as these have. So a method that has learned nothing
#' gets 0.5 whatever the sizes of the bags, and a `tpr` near `fpr` (a little above it where a fold
#' has few negative bags, as on any ROC curve of few scores). If the instances of a bag resemble
#' each other, it gets less than 0.5, because draws from several bags vary more than those from one.
#' The level `"bag"`, in contrast, depends on the sizes: the largest of fifty scores tends to exceed
#' the largest of four.
#'
#' `"witness-0.1"` is the level `"witness"` of version 0.1.0, kept for results that were made with
#' it: it compares the largest score of each positive bag with the score of every single instance
#' of the negative bags. Its chance level is not 0.5: scores of pure noise give 0.86 with bags of
#' six.
#'
#' @section Resuming:
#' With `dir`, each result is saved as soon as it is available, and the same call continues where
#' it was stopped, also in another session. The random numbers that it started from are stored with
#' the results, so [set.seed()] is not needed for that. A folder with results of other data,
#' another method, other parameters, another measure, other folds or another version of the package
#' is refused with an error that says what differs. Functions are compared by their code and the
#' values that they use, functions of packages by their name and the version of the package.
#'
#' @param x [bags()], or a named list of them (as in [one_vs_rest()]), for which one common
#'   configuration is chosen by the mean over them.
#' @param fitter the method, such as [dlfumi()] (default), or a function of your own whose first
#'   argument is the bags.
#' @param grid a data frame with one configuration per row and one parameter per column, as made by
#'   `expand.grid()`; `NA` means the method's default. Default: the configurations of
#'   [suggest_grid()], at most twelve. Parameters given in `...` are not varied.
#' @param ... further parameters of the method, the same for all configurations; they must not be
#'   columns of `grid`.
#' @param folds whole number >= 2, default 3, or for one `bags` what [bag_folds()] gives: the fold
#'   of each bag. For a list of bags, it may also be a list of such vectors.
#' @param group `NULL` (default: none), or one value per bag, such as its person or scene, to keep
#'   such bags in one fold, see [bag_folds()]. For a list of bags, a list of such vectors.
#' @param metric `"auc"` (default), the area under the ROC curve; `"tpr"`, the true positive rate
#'   at `fpr`; or `"accuracy"` of the predicted classes (not for `"witness"`).
#' @param level what `metric` measures: `"bag"` (default), `"witness"`, `"instance"` or
#'   `"witness-0.1"`; see below.
#' @param fpr number in \[0, 1\], default 0.1: the false positive rate for `"tpr"`.
#' @param rule `"best"` (default with a grid of your own): the best mean; `"one-se"` (default with
#'   the grid of [suggest_grid()]): the first configuration of the grid whose mean is not below the
#'   best by more than one standard error of the difference between the two over folds, which is the
#'   simplest such configuration if the grid is sorted from simple to complex.
#' @param refit `TRUE` (default) or `FALSE`: whether to fit the chosen configuration to all bags.
#' @param dir `NULL` (default: nothing is kept), or a folder for results, from which a run that was
#'   stopped continues, see below.
#' @param progress `TRUE` or `FALSE`: whether to show a progress bar; by default in interactive
#'   sessions.
#' @return `mil_tune()`: a list of class `mil_tune`:
#'   \item{results}{the grid with columns `mean`, `se` (over folds) and `failed` (number of fits
#'     that stopped with an error)}
#'   \item{folds}{one row per configuration, fold and bags object, with the `metric`, seconds,
#'     `error` and `warning`}
#'   \item{best}{the chosen row; and `parameters`, a list, for `do.call()`}
#'   \item{fit}{the refit, or `NULL`}
#'
#'   `mil_cv()`: a data frame with one row per fold.
#'
#'   Every fit, also the refit, has its own random stream derived from the seed, so results do not
#'   depend on the number of workers (daemons of mirai, or workers of a plan of the package future).
#' @seealso [bag_folds()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, n_features = 10)
#' tuned <- mil_tune(b, sil, data.frame(cost = c(0.01, 1)))
#' tuned
#' predict(tuned$fit, b, level = "bag")[1:2, ]
#' @export
mil_tune <- function(x, fitter = dlfumi, grid = suggest_grid(x, fitter), ..., folds = 3,
                     group = NULL,
                     metric = c("auc", "tpr", "accuracy"),
                     level = c("bag", "witness", "instance", "witness-0.1"), fpr = 0.1,
                     rule = if (missing(grid)) "one-se" else "best",
                     refit = TRUE, dir = NULL,
                     progress = getOption("fumi.progress", interactive())) {
  measure <- check_measure(metric, level, fpr)
  rule <- check_choice(rule, c("best", "one-se"), "rule")
  refit <- check_flag(refit, "refit")
  problems <- check_problems(x)
  drawn <- list(folds = check_folds(folds, problems, group), seed = draw_seed())
  fitter <- check_fitter(fitter, rlang::caller_env())
  if (missing(grid)) grid <- narrowed_grid(suggest_grid(problems, fitter), list(...))
  check_misspelt(...names(), names(formals()), fitter)
  grid <- without_factors(grid)
  configurations <- check_grid(grid, list(...))
  work <- open_work(dir, list(data = problems, measure = measure, folds = list(folds, group)),
                    drawn)
  tried <- cross_validate(problems, fitter, configurations, measure, work, progress)
  warn_gathered(tried, configuration_labels(grid))
  chosen <- new_mil_tune(tried, grid, configurations, measure, rule)
  if (!refit) return(chosen)
  fits <- with_stream(task_stream(work$drawn$seed, 1), lapply(problems, function(b)
    fit_quietly(fitter, b, chosen$parameters, calibrate = TRUE)))
  chosen["fit"] <- list(if (length(problems) == 1) fits[[1]] else fits)
  chosen
}

#' @rdname mil_tune
#' @export
mil_cv <- function(x, fitter = dlfumi, ..., folds = 3, group = NULL,
                   metric = c("auc", "tpr", "accuracy"),
                   level = c("bag", "witness", "instance", "witness-0.1"), fpr = 0.1, dir = NULL,
                   progress = getOption("fumi.progress", interactive())) {
  measure <- check_measure(metric, level, fpr)
  problems <- check_problems(x)
  drawn <- list(folds = check_folds(folds, problems, group), seed = draw_seed())
  fitter <- check_fitter(fitter, rlang::caller_env())
  check_misspelt(...names(), names(formals()), fitter)
  work <- open_work(dir, list(data = problems, measure = measure, folds = list(folds, group)),
                    drawn)
  tried <- cross_validate(problems, fitter, list(list(...)), measure, work, progress)
  failed <- which(!is.na(tried$error))
  if (length(failed))
    stop_fumi("Fold ", tried$fold[failed[1]], " could not be fitted: ", tried$error[failed[1]],
                                class = "fit")
  warn_gathered(tried, "")
  tried[setdiff(names(tried), c("configuration", "error", "warning"))]
}

draw_seed <- function() sample.int(.Machine$integer.max, 1)

# ---- arguments ---------------------------------------------------------------------------

check_measure <- function(metric, level, fpr, call = rlang::caller_env()) {
  levels <- c("bag", "witness", "instance", "witness-0.1")
  measure <- list(metric = check_choice(metric, c("auc", "tpr", "accuracy"), "metric", call = call),
                  level = check_choice(level, levels, "level", call = call),
                  fpr = check_number(fpr, "fpr", min = 0, max = 1, call = call))
  if (measure$metric == "accuracy" && startsWith(measure$level, "witness"))
    stop_fumi("`level` must be \"bag\" or \"instance\" for `metric = \"accuracy\"`, not \"",
              measure$level, "\".", call = call)
  measure
}

check_problems <- function(x, call = rlang::caller_env()) {
  if (inherits(x, "bags")) return(list(all = check_both_labels(x, call)))
  if (is.list(x) && !is.data.frame(x) && length(x) && all(vapply(x, inherits, NA, "bags"))) {
    if (is.null(names(x))) names(x) <- seq_along(x)
    if (anyDuplicated(names(x)))
      stop_fumi("`x` must have a name of its own for each bags object, but ",
                describe(names(x)[duplicated(names(x))][1]), " appears twice.", call = call)
    return(lapply(x, check_both_labels, call))
  }
  stop_fumi("`x` must be bags or a list of them, not ", describe(x), ".", call = call)
}

# One vector of folds for each of the `problems`, drawn or as given.
check_folds <- function(folds, problems, group = NULL, call = rlang::caller_env()) {
  if (is.list(group) && length(group) != length(problems) || !is.list(group) && !is.null(group) &&
      length(problems) > 1)
    stop_fumi("`group` must be a list with one vector for each of the ", length(problems),
              " bags objects, not ", describe(group), ".", call = call)
  group <- Map(check_group, if (is.list(group)) group else list(group), problems,
               MoreArgs = list(call = call))
  if (is.numeric(folds) && length(folds) == 1)
    return(Map(draw_folds, problems, folds, "folds", group, MoreArgs = list(call = call)))
  if (!is.list(folds)) folds <- list(folds)
  ok <- length(folds) == length(problems) &&
    all(mapply(function(f, b) length(f) == length(b) && !anyNA(f) && length(unique(f)) > 1, folds,
               problems))
  if (!ok)
    stop_fumi(
      "`folds` must be a number of folds, or give two or more folds, one entry for each of the ",
      paste(lengths(problems), collapse = ", "), " bags, not ", describe(folds), ".",
      call = call)
  Map(check_apart, folds, group, MoreArgs = list(call = call))
}

# Folds of which no group is in two.
check_apart <- function(folds, group, call) {
  torn <- unique(group)[vapply(unique(group), function(g) length(unique(folds[group == g])) > 1,
                               NA)]
  if (length(torn))
    stop_fumi("`folds` must keep each `group` in one fold, but ", enumerate(torn),
              if (length(torn) > 1) " are" else " is", " in several.", call = call)
  folds
}

# A name in `...` that is not a parameter of the fitter but nearly one of the caller's `own`
# arguments was meant as that.
check_misspelt <- function(given, own, fitter, call = rlang::caller_env()) {
  known <- c(names(formals(args(fitter))), control_names())
  for (name in setdiff(given, known)) {
    near <- nearest_name(name, c(known, own))
    if (!is.null(near) && near %in% own && utils::adist(name, near) <= 2)
      stop_unknown(name, own, call)
  }
}

# The words that expand.grid() made factors of.
without_factors <- function(grid) {
  if (!is.data.frame(grid)) return(grid)
  words <- vapply(grid, is.factor, NA)
  grid[words] <- lapply(grid[words], as.character)
  grid
}

# One list of parameters per row.
check_grid <- function(grid, fixed, call = rlang::caller_env()) {
  if (!is.data.frame(grid) || nrow(grid) == 0)
    stop_fumi("`grid` must be a data frame with one configuration per row, not ", describe(grid),
              ".", call = call)
  both <- intersect(names(grid), names(fixed))
  if (length(both))
    stop_fumi("`", both[1], "` must be given as a column of `grid` or as an argument, not both.",
              call = call)
  lapply(seq_len(nrow(grid)), function(i) {
    row <- lapply(grid, function(column) column[[i]])
    c(row[!vapply(row, function(v) is.atomic(v) && anyNA(v), NA)], fixed)
  })
}

# ---- cross-validation --------------------------------------------------------------------

cross_validate <- function(problems, fitter, configurations, measure, work, progress,
                           call = rlang::caller_env()) {
  folds <- work$drawn$folds
  place <- do.call(rbind, lapply(seq_along(problems), function(j)
    data.frame(problem = j, fold = sort(unique(folds[[j]])))))
  tasks <- lapply(seq_along(configurations), function(i) lapply(seq_len(nrow(place)), function(k)
    list(name = paste(i, names(problems)[place$problem[k]], place$fold[k], sep = "-"),
         configuration = i, method = list(fitter, configurations[[i]]), problem = place$problem[k],
         fold = place$fold[k],
         stream = task_stream(work$drawn$seed, 0, k), folds = folds[[place$problem[k]]],
         data = problems[[place$problem[k]]])))
  tasks <- unlist(tasks, recursive = FALSE)
  done <- run_tasks(tasks, fold_runner(measure), work, check_flag(progress, "progress", call),
                    "cross-validation", call)
  described <- lapply(tasks, function(task) data.frame(
    configuration = task$configuration, bags = names(problems)[task$problem], fold = task$fold))
  empty <- data.frame(metric = NA_real_, seconds = NA_real_, error = "not run", warning = "")
  cbind(do.call(rbind, described),
        do.call(rbind, lapply(done, function(d) if (is.null(d)) empty else d)))
}

fold_runner <- function(measure) {
  force(measure)
  function(task) one_fold(task, measure)
}

# Fits to all bags outside the fold, and measures on those in it, with the same random numbers for
# all configurations.
one_fold <- function(task, measure) {
  b <- task$data
  out <- task$folds == task$fold
  attempt <- function() {
    fit <- with_stream(task$stream, fit_quietly(task$method[[1]], b[!out], task$method[[2]],
                                                calibrate = measure$metric == "accuracy"))
    if (identical(fit$stop_reason, "interrupt")) check_status("interrupt")
    data.frame(metric = held_out_metric(fit, b[out], measure), error = NA_character_)
  }
  failed <- function(e) data.frame(metric = NA_real_, error = why_failed(e))
  start <- proc.time()[["elapsed"]]
  heard <- with_warnings_heard(tryCatch(attempt(), error = failed))
  data.frame(metric = heard$value$metric, seconds = proc.time()[["elapsed"]] - start,
             error = heard$value$error, warning = paste(unique(heard$warnings), collapse = "\n"))
}

# The value of `code`, and a short form of its warnings, which are not passed on.
with_warnings_heard <- function(code) {
  rlang::local_options(rlib_warning_verbosity = "verbose")
  warnings <- character()
  value <- withCallingHandlers(code, warning = function(w) {
    warnings <<- c(warnings, warning_words(w))
    rlang::cnd_muffle(w)
  })
  list(value = value, warnings = warnings)
}

# The numbers in warnings differ between folds, so our warnings are grouped by what they are about.
# Whether a fit settled matters only for the refit, which warns itself.
warning_words <- function(w) {
  if (inherits(w, "fumi_warning_max_iter")) return()
  words <- c(lambda = "every code is 0", beta = "every weight of the E-step is 0 or 1",
             gap = "codes are not exact")
  of_class <- words[inherits(w, paste0("fumi_warning_", names(words)), which = TRUE) > 0]
  if (length(of_class)) of_class[[1]] else strsplit(conditionMessage(w), "\n")[[1]][1]
}

# One warning for all folds: a line for each configuration and kind of warning.
warn_gathered <- function(tried, labels, call = rlang::caller_env()) {
  heard <- strsplit(tried$warning, "\n")
  if (!any(lengths(heard))) return()
  d <- data.frame(configuration = rep(tried$configuration, lengths(heard)), what = unlist(heard))
  count <- table(factor(d$what, unique(d$what)), d$configuration)
  n_folds <- tabulate(tried$configuration)[as.integer(colnames(count))]
  lines <- unlist(lapply(rownames(count), function(what) warning_lines(
    what, count[what, ], n_folds, labels[as.integer(colnames(count))], length(labels))))
  warn_fumi(paste(lines, collapse = "\n"), class = "folds", call = call)
}

# If many configurations have the same number of warnings, they share a line.
warning_lines <- function(what, count, n_folds, labels, n_configurations) {
  hit <- count > 0
  if (sum(hit) > 3)
    return(paste0(sum(hit), " of ", n_configurations, " configurations: ", what, " in ",
                  sum(count), " of ", sum(n_folds[hit]), " folds"))
  paste0(ifelse(nzchar(labels), paste0(labels, ": "), ""), what, " in ", count, " of ", n_folds,
         " folds")[hit]
}

# What tells configurations apart, in words: "lambda = 0.1, noise = white".
configuration_labels <- function(grid) {
  if (!ncol(grid)) return("")
  varies <- vapply(grid, function(column) length(unique(column)) > 1, NA)
  if (any(varies)) grid <- grid[varies]
  parts <- Map(function(name, column) {
    value <- vapply(column, value_words, "")
    ifelse(is.na(value), NA, paste(name, "=", value))
  }, names(grid), grid)
  unname(apply(do.call(cbind, parts), 1, function(part)
    if (all(is.na(part))) "defaults" else paste(part[!is.na(part)], collapse = ", ")))
}

# A parameter as text, NA for the method's default.
value_words <- function(v) {
  if (is.atomic(v) && anyNA(v)) return(NA_character_)
  if (is.list(v)) return(paste(names(v), vapply(v, value_words, ""), collapse = " "))
  if (is.atomic(v) && length(v) == 1) format(v, digits = 3) else describe(v)
}

held_out_metric <- function(fit, b, measure) {
  if (measure$metric == "accuracy") return(held_out_accuracy(fit, b, measure$level))
  if (measure$level %in% c("bag", "instance")) curve <- mil_roc(fit, b, level = measure$level)
  else {
    s <- stats::predict(fit, b)
    positive <- stats::setNames(b$label, b$ids)[s$.bag]
    negative <- s$.score[!positive]
    if (measure$level == "witness")
      return(witness_metric(split(s$.score[positive], s$.bag[positive]), negative, measure))
    best <- pool_bags(s$.score[positive], s$.bag[positive])
    curve <- mil_roc(c(best, negative), rep(c(TRUE, FALSE), c(length(best), length(negative))))
  }
  if (measure$metric == "auc") as.numeric(curve$auc) else tpr_at(curve, measure$fpr)
}

# The best score of each positive bag (`positive`, a list) against the best of as many draws from
# `negative`, all without replacement. A bag with more instances than there are negatives gives as
# many draws as there are negatives.
witness_metric <- function(positive, negative, measure) {
  lower <- function(left_open) vapply(positive, function(s) {
    few <- findInterval(max(s), sort(negative), left.open = left_open)
    if (length(s) <= length(negative)) return(chance_of_best(few, length(s), length(negative)))
    few <- if (left_open) sum(s <= max(negative)) else sum(s < max(negative))
    1 - chance_of_best(few, length(negative), length(s))
  }, 0)
  below <- lower(TRUE)                        # the probability that the negative is lower
  if (measure$metric == "auc") mean((below + lower(FALSE)) / 2)
  else mean(1 - below <= measure$fpr + 1e-12)
}

# The probability that `size` draws from `n` values are all among the `few` smallest.
chance_of_best <- function(few, size, n) exp(lchoose(few, size) - lchoose(n, size))

held_out_accuracy <- function(fit, b, level) {
  called <- stats::predict(fit, b, type = "class", level = level)$.pred_class == fit$classes[2]
  mean(called == truth_of(fit, b, level))
}

# ---- result ------------------------------------------------------------------------------

new_mil_tune <- function(tried, grid, configurations, measure, rule, call = rlang::caller_env()) {
  by_fold <- split(tried, tried$configuration)
  mean_of <- vapply(by_fold, function(d) mean(d$metric), 0)
  if (all(is.na(mean_of)))
    stop_fumi("At least one configuration of `grid` must run, but all failed: ",
              tried$error[!is.na(tried$error)][1], class = "fit", call = call)
  se <- vapply(by_fold, function(d) standard_error(d$metric), 0)
  results <- data.frame(grid, mean = mean_of, se = se,
                        failed = vapply(by_fold, function(d) sum(!is.na(d$error)), 0),
                        check.names = FALSE)
  best <- which.max(mean_of)
  if (rule == "one-se") {
    # A difference in a single fold equals its standard error, but for rounding.
    near <- function(d) {
      below <- by_fold[[best]]$metric - d$metric
      mean(below) <= standard_error(below) + 1e-9
    }
    best <- which(vapply(by_fold, near, NA))[[1]]
  }
  structure(list(results = results, folds = tried, best = unname(best),
                 parameters = configurations[[best]],
                 fit = NULL, measure = measure, rule = rule), class = "mil_tune")
}

standard_error <- function(x) stats::sd(x) / sqrt(length(x))

#' @export
print.mil_tune <- function(x, digits = 3, ...) {
  m <- x$measure
  n_folds <- nrow(x$folds) / nrow(x$results)
  n_sets <- length(unique(x$folds$bags))
  cat(pluralize("Cross-validation of {nrow(x$results)} configuration{?s}, {n_folds} folds"),
      if (n_sets > 1) paste(" of", n_sets, "sets of bags"), ": ", m$level, "-level ",
      switch(m$metric, accuracy = "accuracy", toupper(m$metric)),
      if (m$metric == "tpr") paste(" at FPR", m$fpr), "\n", sep = "")
  grid <- x$results[setdiff(names(x$results), c("mean", "se", "failed"))]
  same <- vapply(grid, function(column) length(unique(column)) == 1, NA) & nrow(grid) > 1
  if (any(!is.na(unlist(grid[1, same]))))
    cat(at_commas(configuration_labels(grid[1, same, drop = FALSE]), getOption("width"),
                  "  all with ", strrep(" ", 4)), sep = "\n")
  measured <- data.frame(mean = format(round(x$results$mean, digits)),
                         se = format(round(x$results$se, digits)))
  if (any(x$results$failed > 0)) measured$failed <- x$results$failed
  measured$` ` <- ifelse(seq_len(nrow(grid)) == x$best, "<-", "")
  print_configurations(grid[!same], measured)
  if (x$best != which.max(x$results$mean))
    cat("<- the first whose difference from the best is within one standard error\n")
  invisible(x)
}

#' @export
summary.mil_tune <- function(object, ...) object

# A table if it fits the width; otherwise one entry per configuration.
print_configurations <- function(grid, measured) {
  cells <- lapply(grid, function(column) {
    value <- vapply(column, value_words, "", USE.NAMES = FALSE)
    ifelse(is.na(value), "", value)
  })
  table <- data.frame(c(cells, measured), check.names = FALSE)
  wide <- sum(pmax(nchar(names(table)), vapply(table, function(v) max(nchar(v)), 0)) + 1)
  if (wide <= getOption("width")) return(print(table, row.names = FALSE))
  lines <- utils::capture.output(print(measured, row.names = FALSE))
  indent <- strrep(" ", nchar(lines[1]) + 2)
  cat(lines[1], "  configuration\n", sep = "")
  for (i in seq_len(nrow(grid)))
    cat(at_commas(configuration_labels(grid)[i], getOption("width"), paste0(lines[i + 1], "  "),
                  indent), sep = "\n")
}
