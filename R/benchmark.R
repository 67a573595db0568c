#' Compare methods by repeated cross-validation over whole bags
#'
#' Every method is fitted to all folds of bags but one and scores the bags that were left out; this
#' is repeated with several draws of the folds. The AUC of a method is the mean over the held-out
#' folds, with a confidence interval. Methods are compared in pairs by a test that allows for the
#' training bags that fits share.
#'
#' @section What the interval means:
#' An AUC is computed within each held-out fold, from bags that one fit has scored. Its mean
#' estimates the AUC that the method reaches *on average over training sets of that size* (with 5
#' folds, four fifths of the bags), on new bags of the same kind. The interval is for this average,
#' and the test of a pair is for the difference of two such averages. It is not the AUC of one of
#' these fits, nor of a fit to all bags, which is often a little higher.
#'
#' @section Variance:
#' The AUCs of the folds are not independent: fits share training bags and, across repeats, test
#' bags too. With \eqn{J} folds in all, variance \eqn{\sigma^2} of the AUC of one fold and
#' correlation \eqn{\rho} of any two, the variance of their mean is
#' \eqn{\sigma^2 (\rho + (1 - \rho) / J)}. There is no unbiased estimate of \eqn{\rho} (Bengio and
#' Grandvalet, 2004); as Nadeau and Bengio (2003) propose, it is taken to be the share of test
#' bags, \eqn{1 / }`folds`. For \eqn{\sigma^2} they take the variance between folds, divided by
#' \eqn{1 - \rho}, which varies a lot between data sets; here it is the mean of the unbiased
#' estimates within the folds, from all pairs of a positive and a negative bag. A pair of methods is
#' tested by Student's t with Satterthwaite's degrees of freedom, as in [mil_auc()]: few where one
#' label has few bags. If one method is better by the same amount in all pairs of bags, the variance
#' is 0, and the test is a sign test of as many pairs as are independent. Intervals are symmetric on
#' the probit scale, as in [mil_auc()], with the quantile of the normal distribution, which suits
#' equal numbers of both labels; where one label is rare, it is larger by the ratio of the quantiles
#' of Student's t with these degrees of freedom and with the most there could be.
#'
#' With `group`, pairs that have a group in common tell nothing of the variance, and groups are
#' counted in place of bags. Where no fold holds two groups of each label, the variance between
#' folds is used.
#'
#' The script `bench/coverage.R` of the sources checks this by simulation: with 40 bags, 5 folds
#' and 5 repeats, 95 % intervals cover the truth in 95.6 and 96.4 % of data sets of pure noise and
#' in 93.9 and 94.7 % with a weak signal (two methods, 700 data sets each), and a test at the 5 %
#' level rejects in 4.4, 4.1, 6.1 and 5.4 % of cases where two methods are equally good. With a
#' single repeat (`repeats = 1`) intervals are wider than necessary. Methods that do not learn at
#' all, and differences between methods with very similar scores, vary less than this estimate:
#' their intervals are too wide, and small differences are found less often than they could be. For
#' two methods that used the same features, the test rejected in at most 2 % of simulations. The
#' estimator was chosen among several by simulations of the same kind of data with other seeds;
#' other numbers of bags and folds were not simulated.
#'
#' @section Bags of different sizes:
#' By default the score of a bag is that of its best instance, and the best of twenty is larger
#' than the best of four whatever the labels: where positive bags have four instances and negative
#' bags twenty, scores that are pure noise have an AUC of 0.17, and 0.83 the other way round. If
#' sizes differ but carry no information about the label, compare with `pool = "top"`, see
#' [pool_bags()].
#'
#' @param x [bags()]; for `plot()` and `print()`, what `mil_benchmark()` returned.
#' @param methods a named list with one entry per method: a fitting function, such as [dlfumi()],
#'   or a list of such a function and parameters, `list(dlfumi, n_target = 2)`; or the names of
#'   functions of this package, `c("dlfumi", "sil")`.
#' @param folds whole number >= 2, default 5; or the fold of each bag, as [bag_folds()] gives it;
#'   or a matrix with one column of folds per repeat.
#' @param repeats whole number >= 1, default 5: how often the folds are drawn, if `folds` is a
#'   number.
#' @param level number in (0, 1), default 0.95: confidence level of the intervals.
#' @param adjust string, default `"holm"`: how p-values are adjusted for the number of pairs, see
#'   [stats::p.adjust()].
#' @param pool `NULL` (default: as each method does it), or a string: how the score of a bag is
#'   computed from those of its instances, see [pool_bags()].
#' @param group,dir,progress as in [mil_tune()].
#' @param digits whole number >= 0, default 3: number of decimals.
#' @param ... for `plot()`, passed to [plot.mil_roc()]; otherwise nothing.
#' @return A list of class `mil_benchmark`:
#'   \item{results}{one row per method, best first: `method`, `auc`, the mean over held-out folds,
#'     its interval `low` to `high` and standard error `se`, `fold_sd`, the standard deviation of
#'     the AUCs of folds, `accuracy` of the predicted classes, whose thresholds come from the fits'
#'     own training bags unless a method is given `calibrate = 5`, `seconds` of training, and
#'     `error`, the reason why a method failed}
#'   \item{tests}{one row per pair: the methods, the `difference` of their AUCs, its standard error
#'     `se`, `p` and `p_adjusted`}
#'   \item{scores}{one row per method, repeat and held-out bag: `method`, `bag`, `run`, `fold`,
#'     `positive`, `score`, `called`. Scores of different fits are on different scales, so each
#'     fit's scores are centred and scaled by their mean and standard deviation over the instances
#'     of its negative training bags, as in [one_vs_rest()]}
#'   \item{curves}{for each method, the ROC curve of all these scores together. It also compares
#'     bags of different folds, so its area differs a little from `auc`}
#' @references Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. *Machine
#'   Learning*, 52(3), 239--281.
#'
#'   Bengio, Y. and Grandvalet, Y. (2004). No unbiased estimator of the variance of k-fold
#'   cross-validation. *Journal of Machine Learning Research*, 5, 1089--1105.
#'
#'   Bouckaert, R. R. and Frank, E. (2004). Evaluating the replicability of significance tests for
#'   comparing learning algorithms. *Advances in Knowledge Discovery and Data Mining*, 3--12.
#' @seealso [mil_tune()] to choose the parameters of one method, [mil_auc()] for the AUC of one fit
#'   on new bags.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 16, bag_size = 4, n_features = 10)
#' methods <- list(SIL = sil, `DL-FUMI` = list(dlfumi, n_target = 1, n_background = 3))
#' compared <- mil_benchmark(b, methods, folds = 2, repeats = 2)
#' compared
#' plot(compared)
#' @export
mil_benchmark <- function(x, methods, ..., folds = 5, repeats = 5, group = NULL, level = 0.95,
                          adjust = "holm",
                          pool = NULL, dir = NULL,
                          progress = getOption("fumi.progress", interactive())) {
  check_dots_empty(..., known = names(formals()))
  problems <- check_problems(x)
  if (length(problems) > 1) stop_fumi("`x` must be bags, not ", describe(x), ".")
  methods <- check_methods(methods)
  level <- check_number(level, "level", above = 0, max = 1)
  adjust <- check_choice(adjust, stats::p.adjust.methods, "adjust")
  if (!is.null(pool)) pool <- check_choice(pool, names(poolers), "pool")
  progress <- check_flag(progress, "progress")
  drawn <- list(folds = repeated_folds(folds, check_count(repeats, "repeats"), problems, group),
                seed = draw_seed())
  work <- open_work(dir, list(data = problems, measure = list("benchmark", pool),
                              folds = list(folds, repeats, group)),
                    drawn)
  tasks <- benchmark_tasks(problems[[1]], methods, work$drawn)
  done <- run_tasks(tasks, benchmark_runner(pool), work, progress, "benchmark")
  new_mil_benchmark(done, tasks, names(methods), level, adjust,
                    check_group(if (is.list(group)) group[[1]] else group, problems[[1]]))
}

# A matrix with one column of folds per repeat.
repeated_folds <- function(folds, repeats, problems, group, call = rlang::caller_env()) {
  if (is.numeric(folds) && length(folds) == 1)
    return(vapply(seq_len(repeats), function(i) check_folds(folds, problems, group, call)[[1]],
                  integer(length(problems[[1]]))))
  columns <- if (is.matrix(folds)) asplit(folds, 2) else list(folds)
  do.call(cbind, lapply(columns, function(f) as.vector(check_folds(c(f), problems, group,
                                                                   call)[[1]])))
}

# A named list of list(fitter, parameters...).
check_methods <- function(methods, call = rlang::caller_env()) {
  if (is.character(methods)) {
    known <- getNamespaceExports(topenv())
    odd <- setdiff(methods, known)
    if (length(odd))
      stop_fumi("`methods` must be names of functions of this package, but ", odd[1], " is not one",
                did_you_mean(odd[1], known), ".", call = call)
    methods <- stats::setNames(lapply(methods, get, envir = topenv(), mode = "function"), methods)
  }
  entry <- lapply(methods, function(m) if (is.function(m)) list(m) else m)
  fits <- function(m) is.list(m) && length(m) && is.function(m[[1]])
  if (!is.list(methods) || !length(methods) || !all(vapply(entry, fits, NA)))
    stop_fumi("`methods` must be a list of fitting functions, or of lists of such a function and ",
              "its parameters, or names ",
              "of functions of this package, not ", describe(methods), ".", call = call)
  if (any(rlang::names2(entry) == "") || anyDuplicated(names(entry)))
    stop_fumi("`methods` must have a name of its own for each method.", call = call)
  entry
}

# In a fold, all methods get the same bags and the same random numbers.
benchmark_tasks <- function(b, methods, drawn) {
  place <- do.call(rbind, lapply(seq_len(ncol(drawn$folds)), function(j)
    data.frame(run = j, fold = sort(unique(drawn$folds[, j])))))
  streams <- lapply(seq_len(nrow(place)), function(k) task_stream(drawn$seed, 0, k))
  tasks <- lapply(names(methods), function(m) lapply(seq_len(nrow(place)), function(k)
    list(name = paste(m, place$run[k], place$fold[k], sep = "-"), title = m,
         method = list(methods[[m]][[1]], methods[[m]][-1]), run = place$run[k],
         fold = place$fold[k],
         folds = drawn$folds[, place$run[k]], stream = streams[[k]], data = b)))
  unlist(tasks, recursive = FALSE)
}

benchmark_runner <- function(pool) {
  force(pool)
  function(task) benchmark_fold(task, pool)
}

# The scores of the bags of one fold by a fit to the others, or the error that prevented them.
benchmark_fold <- function(task, pool) {
  train <- task$data[task$folds != task$fold]
  held <- task$data[task$folds == task$fold]
  attempt <- function() {
    start <- proc.time()[["elapsed"]]
    fit <- with_stream(task$stream, fit_quietly(task$method[[1]], train, task$method[[2]]))
    seconds <- proc.time()[["elapsed"]] - start
    if (identical(fit$stop_reason, "interrupt")) check_status("interrupt")
    scale <- negative_scale(fit, train)
    score <- comparable(fit, predict(fit, held, level = "bag", pool = pool)$.score)
    scores <- data.frame(method = task$title, bag = held$ids, run = task$run, fold = task$fold,
                         positive = held$label,
                         score = (score - scale[["center"]]) / scale[["scale"]],
                         called = called_positive(fit, held, pool))
    list(scores = scores, seconds = seconds, error = NA_character_)
  }
  tryCatch(attempt(), error = function(e) list(scores = NULL, seconds = NA_real_,
                                               error = why_failed(e)))
}

# NA where the fit has no threshold for this pooling.
called_positive <- function(fit, held, pool) {
  tryCatch(predict(fit, held, type = "class", level = "bag",
                   pool = pool)$.pred_class == fit$classes[2],
           fumi_error_no_threshold = function(e) NA)
}

# ---- the mean over folds and its variance ---------------------------------------------------

# For each fold, which positive bags (rows) are scored above which negative ones (columns): 1, 1/2
# for a tie, or 0. Rows and columns are named by the bags, or by the groups in `group`, which is
# named by the bags. Folds without both labels are left out.
fold_pairs <- function(scores, group = NULL) {
  pairs <- lapply(split(scores, list(scores$fold, scores$run), drop = TRUE), function(s) {
    s <- s[order(s$bag), ]
    above <- outer(s$score[s$positive], s$score[!s$positive], "-")
    name <- as.character(s$bag)
    if (!is.null(group)) name <- group[name]
    array((above > 0) + (above == 0) / 2, dim(above), list(name[s$positive], name[!s$positive]))
  })
  Filter(length, pairs)
}

# The mean over folds of the means of such matrices (or of the differences of two), and its
# variance by Nadeau and Bengio (2003) with `share` of the bags in a fold.
mean_over_folds <- function(pairs, share) {
  by_fold <- vapply(pairs, mean, 0)
  of_fold <- mean(vapply(pairs, pair_variance, 0), na.rm = TRUE)
  between <- stats::var(by_fold) / (1 - share)
  if (!isTRUE(of_fold > 0)) of_fold <- if (is.na(between)) 0 else between
  c(list(mean = mean(by_fold), sd = stats::sd(by_fold),
         variance = of_fold * (share + (1 - share) / length(by_fold))), independent_bags(pairs))
}

# An unbiased estimate of the variance of the mean of such a matrix: the square of the mean minus
# the mean product of entries that have no bag or group in common. NA if there are none.
pair_variance <- function(pairs) {
  all <- unique(unlist(dimnames(pairs)))
  add_up <- function(values) {
    sums <- matrix(0, length(all), length(all), dimnames = list(all, all))
    by_row <- rowsum(values, rownames(pairs))
    by_both <- rowsum(t(by_row), colnames(pairs))
    sums[colnames(by_both), rownames(by_both)] <- t(by_both)
    sums
  }
  apart <- products_apart(add_up(array(1, dim(pairs), dimnames(pairs))))
  if (apart == 0) NA_real_ else mean(pairs)^2 - products_apart(add_up(pairs)) / apart
}

# The sum of sums[g, h] * sums[i, j] over all g, h, i, j of which neither i nor j is g or h.
products_apart <- function(sums) {
  of <- rowSums(sums) + colSums(sums) - diag(sums)
  both <- sums + t(sums)
  diag(both) <- of
  sum(sums * (sum(sums) - outer(of, of, "+") + both))
}

# The number of independent pairs of bags (or groups) in all folds; Satterthwaite's degrees of
# freedom of the variance, from the mean over folds of its two parts; and the most there could be.
independent_bags <- function(pairs) {
  positive <- unique(unlist(lapply(pairs, rownames)))
  negative <- unique(unlist(lapply(pairs, colnames)))
  n <- c(length(setdiff(negative, positive)), length(positive))
  parts <- vapply(pairs, function(p) {
    of <- variance_parts(rowMeans(p), colMeans(p), rownames(p), colnames(p))
    ifelse(of$n > 1, of$variance, NA)
  }, c(0, 0))
  variance <- rowMeans(parts, na.rm = TRUE)
  variance[n == 0] <- 0
  list(n = min(length(positive), length(negative), length(union(positive, negative)) %/% 2),
       most = max(1, sum(n - 1)),
       df = if (anyNA(variance) || all(variance == 0)) max(1, min(n[n > 0]) - 1)
            else satterthwaite(variance, n))
}

# ---- result --------------------------------------------------------------------------------------

new_mil_benchmark <- function(done, tasks, methods, level, adjust, group,
                              call = rlang::caller_env()) {
  not_run <- list(scores = NULL, seconds = NA_real_, error = "not run")
  done <- lapply(done, function(d) if (is.null(d)) not_run else d)
  of <- split(done, factor(vapply(tasks, `[[`, "", "title"), methods))
  errors <- vapply(of, function(folds) c(stats::na.omit(vapply(folds, `[[`, "", "error")),
                                         NA)[[1]], "")
  whole <- is.na(errors)
  if (!any(whole))
    stop_fumi("At least one of `methods` must run, but all failed: ", errors[[1]], class = "fit",
              call = call)
  scores <- lapply(of[whole], function(folds) do.call(rbind, lapply(folds, `[[`, "scores")))
  pairs <- lapply(scores, fold_pairs, independent_groups(group, tasks[[1]]$data))
  rows <- lapply(methods, function(m) benchmark_row(m, scores[[m]], pairs[[m]], of[[m]],
                                                    errors[[m]], level))
  results <- do.call(rbind, rows)
  results <- results[order(-results$auc), ]
  rownames(results) <- NULL
  ranked <- intersect(results$method, names(scores))
  structure(list(results = results, tests = benchmark_tests(pairs[ranked], scores[[1]], adjust),
                 scores = do.call(rbind, unname(scores)),
                 curves = lapply(scores[ranked], function(s) mil_roc(s$score, s$positive)),
                 level = level, adjust = adjust),
            class = "mil_benchmark")
}

# The group of each bag, named by the bags; NULL if each is independent of the others.
independent_groups <- function(group, b) {
  if (is.null(group)) group <- equal_bags(b)
  if (!is.null(group)) stats::setNames(group, b$ids)
}

# The mean share of the bags in a fold.
fold_share <- function(scores) {
  length(unique(scores$run)) / nrow(unique(scores[c("run", "fold")]))
}

benchmark_row <- function(method, scores, pairs, folds, error, level) {
  if (is.null(scores))
    return(data.frame(method, auc = NA_real_, low = NA_real_, high = NA_real_, se = NA_real_,
                      fold_sd = NA_real_, accuracy = NA_real_, seconds = NA_real_, error))
  over <- mean_over_folds(pairs, fold_share(scores))
  # Normal quantiles suit equal numbers of both labels, see `?mil_benchmark`.
  rare <- stats::qt((1 - level) / 2, over$df) / stats::qt((1 - level) / 2, over$most)
  interval <- probit_interval(over$mean, over$variance * rare^2, level, over$n)
  data.frame(method, auc = over$mean, low = interval[1], high = interval[2],
             se = sqrt(over$variance),
             fold_sd = over$sd, accuracy = mean(scores$called == scores$positive),
             seconds = sum(vapply(folds, `[[`, 0, "seconds")), error)
}

# A test of each pair, the better method first. Methods without any difference have p = 1; if one
# is better by the same amount in all pairs of bags, p is that of a sign test of independent pairs.
benchmark_tests <- function(pairs, scores, adjust) {
  if (length(pairs) < 2) return(NULL)
  share <- fold_share(scores)
  pair <- utils::combn(length(pairs), 2)
  one <- function(i, j) {
    over <- mean_over_folds(Map(`-`, pairs[[i]], pairs[[j]]), share)
    se <- sqrt(over$variance)
    p <- if (over$mean == 0) 1
         else if (se == 0) min(1, 2^(1 - over$n))
         else 2 * stats::pt(-abs(over$mean) / se, over$df)
    data.frame(first = names(pairs)[i], second = names(pairs)[j], difference = over$mean, se, p)
  }
  tests <- do.call(rbind, Map(one, pair[1, ], pair[2, ]))
  tests$p_adjusted <- stats::p.adjust(tests$p, adjust)
  tests
}

#' @rdname mil_benchmark
#' @export
print.mil_benchmark <- function(x, digits = 3, ...) {
  s <- x$scores[x$scores$method == x$scores$method[1], ]
  r <- x$results
  runs <- length(unique(s$run))
  cat(pluralize("Benchmark of {nrow(r)} method{?s}: "), length(unique(s$bag)), " bags, ",
      length(unique(s$fold)), " folds", if (runs > 1) paste0(", repeated ", runs, " times"), "\n",
      sep = "")
  number <- function(v) ifelse(is.na(v), "", formatC(v, digits, format = "f"))
  shown <- data.frame(method = r$method, AUC = number(r$auc),
                      ifelse(is.na(r$auc), "", paste(number(r$low), "to", number(r$high))),
                      accuracy = number(r$accuracy),
                      seconds = ifelse(is.na(r$seconds), "", round(r$seconds, 1)))
  names(shown)[3] <- paste0(100 * x$level, " %")
  print(shown, row.names = FALSE)
  for (i in which(!is.na(r$error))) cat(r$method[i], " failed: ", r$error[i], "\n", sep = "")
  if (!is.null(x$tests)) {
    t <- x$tests
    p_text <- function(p) format.pval(p, digits, eps = 1e-4)
    cat("\nPaired tests, corrected for shared training bags (p adjusted: ", x$adjust, ")\n",
        sep = "")
    print(data.frame(pair = paste(t$first, "-", t$second), difference = number(t$difference),
                     p = p_text(t$p), adjusted = p_text(t$p_adjusted)), row.names = FALSE)
  }
  invisible(x)
}

#' @export
summary.mil_benchmark <- function(object, ...) object

#' @rdname mil_benchmark
#' @export
plot.mil_benchmark <- function(x, ...) {
  do.call(graphics::plot, c(unname(x$curves), list(labels = names(x$curves), ...)))
  invisible(x)
}
