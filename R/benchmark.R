#' Compare methods on the same folds of bags
#'
#' Every method is fitted to all folds of bags but one and scores the bags that were left out. The scores of all
#' held-out bags together give one ROC curve a method, and the curves are compared in pairs by the test of DeLong et
#' al. (1988) for curves from the same bags.
#'
#' @details
#' Fits of different folds have scores on different scales. So before they are put together, the scores of each fit
#' are centred and scaled by their mean and standard deviation over the instances of its own negative training bags
#' (as in [one_vs_rest()], `scale = TRUE`). A bag's score is that of its best instance.
#'
#' Bags are the independent units here, not the instances in them: the test is not offered for instances. The folds
#' share most of their training bags, which the test does not know of: a p-value is that of these fits, not of the
#' methods on new training data.
#'
#' @param x [bags()]; for `plot()` and `print()`, what `mil_benchmark()` returned.
#' @param methods a named list with one entry a method: a function that fits, such as [dlfumi()], or a list of such a
#'   function and parameters, `list(dlfumi, n_target = 2)`; or the names of functions of this package,
#'   `c("dlfumi", "sil")`.
#' @param folds their number, or the fold of each bag, as [bag_folds()] gives it.
#' @param level of the confidence intervals.
#' @param adjust how p-values are adjusted for the number of pairs, see [stats::p.adjust()].
#' @param dir,progress as in [mil_tune()].
#' @param digits number of decimals.
#' @param ... for `plot()`, passed to [plot.mil_roc()]; otherwise nothing.
#' @return A list of class `mil_benchmark`:
#'   \item{results}{one row a method, best first: `method`, `auc` of all held-out bags with its interval `low` to
#'     `high` (DeLong), `fold_mean` and `fold_sd` of the AUCs of the folds, `accuracy` of the classes that the fits
#'     assign, `seconds` of training, and `error`, why a method that failed has no numbers}
#'   \item{tests}{one row a pair: the methods, the difference of their AUCs, `p` and `p_adjusted`}
#'   \item{scores}{one row a held-out bag and method: `method`, `bag`, `fold`, `positive`, `score`, `called`}
#'   \item{curves}{the ROC curves, by method}
#' @references DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two or more
#'   correlated receiver operating characteristic curves. *Biometrics*, 44(3), 837--845.
#' @seealso [mil_tune()] to choose the parameters of one method.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 16, bag_size = 4, n_features = 10)
#' methods <- list(SIL = sil, `DL-FUMI` = list(dlfumi, n_target = 1, n_background = 3))
#' compared <- mil_benchmark(b, methods, folds = 2)
#' compared
#' plot(compared)
#' @export
mil_benchmark <- function(x, methods, ..., folds = 5, level = 0.95, adjust = "holm", dir = NULL,
                          progress = getOption("fumi.progress", interactive())) {
  check_dots_empty(..., known = names(formals()))
  problems <- check_problems(x)
  if (length(problems) > 1) stop_fumi("`x` must be bags, not ", describe(x), ".")
  methods <- check_methods(methods)
  level <- check_number(level, "level", above = 0, max = 1)
  adjust <- check_choice(adjust, stats::p.adjust.methods, "adjust")
  progress <- check_flag(progress, "progress")
  folds <- check_folds(folds, problems)[[1]]
  tasks <- benchmark_tasks(problems[[1]], methods, folds)
  done <- run_tasks(tasks, benchmark_runner(lapply(methods, `[[`, 1)), dir, progress, "benchmark")
  new_mil_benchmark(done, tasks, names(methods), level, adjust)
}

# A named list of list(fitter, parameters...).
check_methods <- function(methods, call = rlang::caller_env()) {
  if (is.character(methods)) {
    known <- getNamespaceExports(topenv())
    odd <- setdiff(methods, known)
    if (length(odd))
      stop_fumi("`methods` must be names of functions of this package, but ", odd[1], " is none",
                did_you_mean(odd[1], known), ".", call = call)
    methods <- stats::setNames(lapply(methods, get, envir = topenv(), mode = "function"), methods)
  }
  entry <- lapply(methods, function(m) if (is.function(m)) list(m) else m)
  fits <- function(m) is.list(m) && length(m) && is.function(m[[1]])
  if (!is.list(methods) || !length(methods) || !all(vapply(entry, fits, NA)))
    stop_fumi("`methods` must be a list of functions that fit, or of lists of such a function and parameters, or names ",
              "of functions of this package, not ", describe(methods), ".", call = call)
  if (any(rlang::names2(entry) == "") || anyDuplicated(names(entry)))
    stop_fumi("`methods` must have a name of its own for each method.", call = call)
  entry
}

# All methods meet the same bags and the same random numbers in a fold.
benchmark_tasks <- function(b, methods, folds) {
  seed <- sample.int(.Machine$integer.max, 1)
  place <- expand.grid(fold = sort(unique(folds)), method = names(methods), stringsAsFactors = FALSE)
  lapply(seq_len(nrow(place)), function(i) {
    at <- place[i, ]
    list(name = paste(at$method, at$fold, sep = "-"), method = at$method, parameters = methods[[at$method]][-1],
         fold = at$fold, folds = folds, stream = task_stream(seed, 0, match(at$fold, place$fold)), data = b)
  })
}

benchmark_runner <- function(fitters) {
  force(fitters)
  function(task) benchmark_fold(task, fitters[[task$method]])
}

# The scores of the bags of one fold by a fit to the others, or why there are none.
benchmark_fold <- function(task, fitter) {
  train <- task$data[task$folds != task$fold]
  held <- task$data[task$folds == task$fold]
  attempt <- function() {
    start <- proc.time()[["elapsed"]]
    fit <- with_stream(task$stream, do.call(fitter, c(list(train), task$parameters, progress = FALSE)))
    seconds <- proc.time()[["elapsed"]] - start
    if (identical(fit$stop_reason, "interrupt")) check_status("interrupt")
    scale <- negative_scale(fit, train)
    score <- (comparable(fit, predict(fit, held, level = "bag")$.score) - scale[["center"]]) / scale[["scale"]]
    called <- predict(fit, held, type = "class", level = "bag")$.pred_class == fit$classes[2]
    list(scores = data.frame(method = task$method, bag = held$ids, fold = task$fold, positive = held$label, score, called),
         seconds = seconds, error = NA_character_)
  }
  tryCatch(attempt(), error = function(e) list(scores = NULL, seconds = NA_real_, error = why_failed(e)))
}

# ---- result --------------------------------------------------------------------------------------

new_mil_benchmark <- function(done, tasks, methods, level, adjust, call = rlang::caller_env()) {
  not_run <- list(scores = NULL, seconds = NA_real_, error = "not run")
  done <- lapply(done, function(d) if (is.null(d)) not_run else d)
  of <- split(done, factor(vapply(tasks, `[[`, "", "method"), methods))
  errors <- vapply(of, function(folds) c(stats::na.omit(vapply(folds, `[[`, "", "error")), NA)[[1]], "")
  whole <- is.na(errors)
  if (!any(whole))
    stop_fumi("At least one of `methods` must run, but all fail: ", errors[[1]], class = "fit", call = call)
  scores <- lapply(of[whole], function(folds) do.call(rbind, lapply(folds, `[[`, "scores")))
  curves <- lapply(scores, function(s) mil_roc(s$score, s$positive))
  rows <- lapply(methods, function(m) benchmark_row(m, scores[[m]], curves[[m]], of[[m]], errors[[m]], level))
  results <- do.call(rbind, rows)
  results <- results[order(-results$auc), ]
  rownames(results) <- NULL
  curves <- curves[intersect(results$method, names(curves))]
  structure(list(results = results, tests = benchmark_tests(curves, adjust), scores = do.call(rbind, unname(scores)),
                 curves = curves, level = level, adjust = adjust), class = "mil_benchmark")
}

benchmark_row <- function(method, scores, curve, folds, error, level) {
  if (is.null(scores))
    return(data.frame(method, auc = NA_real_, low = NA_real_, high = NA_real_, fold_mean = NA_real_,
                      fold_sd = NA_real_, accuracy = NA_real_, seconds = NA_real_, error))
  # The interval of an AUC of 1 is a point, of which pROC warns.
  interval <- suppressWarnings(as.numeric(pROC::ci.auc(curve, conf.level = level, method = "delong")))
  both <- Filter(function(s) length(unique(s$positive)) == 2, split(scores, scores$fold))
  by_fold <- vapply(both, function(s) as.numeric(mil_roc(s$score, s$positive)$auc), 0)
  data.frame(method, auc = as.numeric(curve$auc), low = interval[1], high = interval[3], fold_mean = mean(by_fold),
             fold_sd = stats::sd(by_fold), accuracy = mean(scores$called == scores$positive),
             seconds = sum(vapply(folds, `[[`, 0, "seconds")), error)
}

# DeLong's test of each pair, the better method first. Curves without any difference have p = 1.
benchmark_tests <- function(curves, adjust) {
  if (length(curves) < 2) return(NULL)
  pair <- utils::combn(length(curves), 2)
  one <- function(i, j) {
    a <- curves[[i]]
    b <- curves[[j]]
    p <- as.numeric(pROC::roc.test(a, b, method = "delong", paired = TRUE)$p.value)
    data.frame(first = names(curves)[i], second = names(curves)[j],
               difference = as.numeric(a$auc) - as.numeric(b$auc), p = if (is.nan(p)) 1 else p)
  }
  tests <- do.call(rbind, Map(one, pair[1, ], pair[2, ]))
  tests$p_adjusted <- stats::p.adjust(tests$p, adjust)
  tests
}

#' @rdname mil_benchmark
#' @export
print.mil_benchmark <- function(x, digits = 3, ...) {
  s <- x$scores
  r <- x$results
  cat("Benchmark of ", nrow(r), if (nrow(r) > 1) " methods: " else " method: ", sum(s$method == s$method[1]),
      " held-out bags, ", length(unique(s$fold)), " folds\n", sep = "")
  number <- function(v) ifelse(is.na(v), "", formatC(v, digits, format = "f"))
  both <- function(a, word, b) ifelse(is.na(r$auc), "", paste(number(a), word, number(b)))
  shown <- data.frame(method = r$method, AUC = number(r$auc), both(r$low, "to", r$high),
                      folds = both(r$fold_mean, "+-", r$fold_sd), accuracy = number(r$accuracy),
                      seconds = ifelse(is.na(r$seconds), "", round(r$seconds, 1)))
  names(shown)[3] <- paste0(100 * x$level, " %")
  print(shown, row.names = FALSE)
  for (i in which(!is.na(r$error))) cat(r$method[i], " failed: ", r$error[i], "\n", sep = "")
  if (!is.null(x$tests)) {
    t <- x$tests
    p_text <- function(p) format.pval(p, digits, eps = 1e-4)
    cat("\nPaired DeLong tests (p adjusted: ", x$adjust, ")\n", sep = "")
    print(data.frame(pair = paste(t$first, "-", t$second), difference = number(t$difference), p = p_text(t$p),
                     adjusted = p_text(t$p_adjusted)), row.names = FALSE)
  }
  invisible(x)
}

#' @rdname mil_benchmark
#' @export
plot.mil_benchmark <- function(x, ...) {
  do.call(graphics::plot, c(unname(x$curves), list(labels = names(x$curves), ...)))
  invisible(x)
}
