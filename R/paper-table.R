#' Tables of the paper's experiments
#'
#' The results of an experiment beside those of the paper. They are stored with the package (made
#' by `inst/replication/run_all.R`), or come from your own experiment.
#'
#' @param x the name of an experiment, see [paper_bags()]; or, for `paper_table()`, what
#'   [paper_experiment()] returned.
#' @param seed whole number >= 0, for a name: the seed of the stored results. `NULL` (default): the
#'   seed of the experiment. There are also fresh draws: seed 2030 for `"usps"`,
#'   `"olivetti_eyeglasses"`, `"olivetti_eyeglasses_apart"` and `"cmu_sunglasses"`, 2028 for
#'   `"olivetti_eyeglasses"`, 2029 to 2032 for `"hyper_sandiego"` and `"hyper_hydice"`, and 2031
#'   and 2032 for `"hyper_hydice_points"`.
#' @return `paper_table()`: a data frame of class `paper_table`, one row per method and setting,
#'   best first. For `"usps"` its columns are `method`, `setting`, `mean` and `sd` of the accuracy
#'   in per cent over `runs` repetitions, and the `paper`'s accuracy. For the others: `method`,
#'   `setting`, the mean true positive rate in per cent at each false positive rate of the paper
#'   (`1 %`, ...), the mean `AUC`, the limits `low` and `high` of its 95 % confidence interval
#'   (from resampling people), `runs`, and the paper's rates (`paper 1 %`, ..., on its AR faces).
#'   For scenes: the mean true positive rates of pixels, the mean probabilities in per cent that a
#'   whole target is detected (`PD at 0.001`: at 0.001 false alarms per pixel, see [pd_far()]), and
#'   the mean `AUC` of pixels with its standard deviation `sd` over runs.
#'
#'   It prints in a more readable form, which `format()` returns: the digits as methods x settings,
#'   other experiments with the interval in one column. Use
#'   `knitr::kable(format(paper_table("usps")))` in a report. The paper's numbers are shown with as
#'   many decimals as were published.
#'
#'   `paper_results()`: the stored results of an experiment, as returned by [paper_experiment()],
#'   without fits. For the digits it has `predicted`, the predicted digits of all runs, in the
#'   order of `tests`. Most scores are replaced by whole numbers with the same ROC curve. The
#'   numbers of the test images, `index`, are left out; [paper_bags()] has them for the same run,
#'   unit and seed.
#' @details
#' "One scale" means that the scores of each digit's detector are standardised on its negative
#' training instances before the digits are compared, see [one_vs_rest()]. True positive rates are
#' read off the ROC curve by linear interpolation, see [tpr_at()]: with 91 negatives, a false
#' positive rate of 1 % is less than one false alarm.
#' @seealso [paper_experiment()]
#' @examples
#' paper_table("usps")
#' subset(paper_table("usps"), method == "DL-FUMI")$mean
#' paper_results("usps")$date
#' @export
paper_table <- function(x, seed = NULL) {
  if (is.character(x)) x <- paper_results(x, seed)
  if (!inherits(x, "paper_experiment"))
    stop_fumi("`x` must be the name of an experiment or the result of `paper_experiment()`, not ",
              describe(x), ".")
  out <- if (x$name == "usps") digits_table(x)
         else if (is_scene(x)) scene_table(x)
         else detection_table(x)
  structure(out, class = c("paper_table", "data.frame"))
}

#' @export
print.paper_table <- function(x, ...) {
  shown <- narrow(format(x))
  lines <- table_caption(x)
  if (length(lines)) cat(strwrap(lines, getOption("width")), sep = "\n")
  ours <- !startsWith(names(shown), "paper ")
  print_strings(shown[ours])
  if (!all(ours)) {
    cat("The paper's true positive rates, in per cent (for its AR faces):\n")
    print_strings(published_rates(shown))
  }
  invisible(x)
}

# The same settings abbreviated, to fit 80 columns.
narrow <- function(shown) {
  names(shown) <- sub("^PD at (0(?=[.]))?", "PD ", names(shown), perl = TRUE)
  names(shown) <- sub("the paper's parameters", "paper's", names(shown))
  for (name in intersect("setting", names(shown)))
    shown[[name]] <- sub("the paper's (parameters|lambda)", "paper's", shown[[name]])
  if ("95 % interval" %in% names(shown))
    shown[["95 % interval"]] <- sub(" - ", "-", shown[["95 % interval"]], fixed = TRUE)
  shown
}

#' @export
format.paper_table <- function(x, ...) {
  if (all(c("method", "setting", "mean", "paper") %in% names(x))) return(format_digits(x))
  if (all(c("method", "setting", "AUC", "low", "high") %in% names(x))) return(format_detection(x))
  if (all(c("method", "setting", "PD at 0") %in% names(x))) return(format_scene(x))
  NextMethod()
}

table_caption <- function(x) {
  if (!all(c("runs", "setting") %in% names(x)) || !nrow(x)) return()
  runs <- paste0("mean of ", paste(unique(range(x$runs)), collapse = " to "),
                 if (max(x$runs) == 1) " run" else " runs")
  if ("PD at 0" %in% names(x))
    return(paste0(if ("AUC" %in% names(x)) "Pixels: true positive rate in per cent at each false ",
                  if ("AUC" %in% names(x)) "positive rate, AUC. ", "Targets: probability of ",
                  "detection (PD) in per cent at false alarms per pixel: ", runs))
  if ("AUC" %in% names(x))
    return(paste0("True positive rate in per cent at each false positive rate: ", runs))
  if ("mean" %in% names(x))
    c(paste0("Accuracy in per cent (", runs, "): raw scores / scores on one scale"),
      if (max(x$runs) > 1) paste("Standard deviation between runs, column `sd`:",
                                 paste(decimals(range(x$sd)), collapse = " to ")))
}

# One row per method, one column per setting; a setting's raw accuracy sorts before "one scale".
format_digits <- function(x) {
  rows <- x[order(x$setting), ]
  setting <- function(x) sub(", one scale$", "", x$setting)
  methods <- unique(x$method)
  by <- list(factor(rows$method, methods), factor(setting(rows), unique(setting(x))))
  cells <- tapply(decimals(rows$mean), by, paste, collapse = " / ")
  cells[is.na(cells)] <- ""
  data.frame(method = methods, cells, paper = published_text(x$paper[match(methods, x$method)]),
             row.names = NULL, check.names = FALSE)
}

format_detection <- function(x) {
  rates <- grep(" %$", names(x), value = TRUE)
  ours <- rates[!startsWith(rates, "paper ")]
  columns <- c(as.list(x)[c("method", "setting")], lapply(x[ours], decimals),
               list(AUC = decimals(x$AUC, 3),
                    `95 % interval` = paste(decimals(x$low, 3), "-", decimals(x$high, 3))),
               lapply(x[setdiff(rates, ours)], published_text))
  data.frame(columns, check.names = FALSE)
}

format_scene <- function(x) {
  rates <- grep(" %$|^PD", names(x), value = TRUE)
  columns <- c(as.list(x)[c("method", "setting")], lapply(x[rates], decimals),
               lapply(x[intersect(c("AUC", "sd"), names(x))], decimals, 3))
  data.frame(columns, check.names = FALSE)
}

# The rows of methods for which the paper has rates.
published_rates <- function(shown) {
  rates <- startsWith(names(shown), "paper ")
  subace <- ifelse(grepl("subACE$", shown$setting), ", subACE", "")
  out <- data.frame(method = paste0(shown$method, subace), shown[rates], check.names = FALSE)
  names(out) <- sub("^paper ", "", names(out))
  out[!duplicated(out$method) & rowSums(shown[rates] != "") > 0, ]
}

decimals <- function(x, digits = 1) ifelse(is.na(x), "", formatC(x, digits, format = "f"))

# The paper's numbers have one decimal, and two where they were published with two.
published_text <- function(x) ifelse(is.na(x), "", ifelse(x == round(x, 1), decimals(x),
                                                          decimals(x, 2)))

# Names to the left, numbers to the right.
print_strings <- function(shown) {
  left <- names(shown) %in% c("method", "setting")
  padded <- lapply(names(shown)[left], function(name) format(c(name, shown[[name]])))
  shown[left] <- lapply(padded, `[`, -1)
  names(shown)[left] <- vapply(padded, `[`, "", 1)
  print(shown, row.names = FALSE)
}

# ---- digits --------------------------------------------------------------------------------

# One row per setting, with raw scores and with scores on one scale.
digits_table <- function(x) {
  each <- digits_accuracy(x)
  key <- paste(each$method, each$setting, sep = "|")
  rows <- lapply(split(each, factor(key, unique(key))), function(r) data.frame(
    r[1, c("method", "setting")], mean = mean(r$accuracy), sd = stats::sd(r$accuracy),
    runs = nrow(r), paper = paper_number(x, r$method[1])))
  rows <- do.call(rbind, rows)
  rows <- rows[order(-rows$mean), ]
  rownames(rows) <- NULL
  rows
}

# Per cent of the test digits that each setting recognises in each run.
digits_accuracy <- function(x) {
  predicted <- digit_predictions(x)
  hit <- mapply(function(run, p) 100 * mean(p == x$tests[[test_key("usps", run)]]$group),
                predicted$run, predicted$predicted)
  data.frame(predicted[c("method", "setting", "run")], accuracy = hit)
}

# The paper's numbers for a method, NA where it has none.
paper_number <- function(x, method, n = 1) {
  found <- x$protocol$paper[[method]]
  if (is.null(found)) rep(NA_real_, n) else found
}

# The class of each test digit, one row per method, setting (and scale) and run.
digit_predictions <- function(x) {
  if (!is.null(x$predicted)) return(x$predicted)
  t <- x$tasks
  missing <- setdiff(x$protocol$units, t$unit)
  if (length(missing))
    stop_fumi("`x` must have all digits for their accuracy, but it lacks ", enumerate(missing),
              ".", class = "units", call = rlang::caller_env(3))
  cases <- unique(t[c("method", "setting", "run")])
  parts <- lapply(seq_len(nrow(cases)), function(i) {
    mine <- which(t$method == cases$method[i] & t$setting == cases$setting[i] &
                    t$run == cases$run[i])
    mine <- mine[order(t$unit[mine])]
    if (length(mine) < length(x$protocol$units)) return(NULL)
    raw <- do.call(cbind, x$scores[mine])
    one <- do.call(cbind, lapply(mine, scaled_score, x = x))
    best <- function(s) t$unit[mine][max.col(s, "first")]
    out <- cases[c(i, i), ]
    out$setting[2] <- paste0(out$setting[2], ", one scale")
    out$predicted <- list(best(raw), best(one))
    out
  })
  do.call(rbind, parts)
}

# Scores of a task on the scale on which classes are compared.
scaled_score <- function(i, x) {
  s <- x$scores[[i]]
  ((if (x$tasks$ratio[i]) log(s) else s) - x$tasks$center[i]) / x$tasks$scale[i]
}

# ---- detection -----------------------------------------------------------------------------

detection_table <- function(x) {
  t <- x$tasks
  label <- setting_label(t)
  rows <- lapply(split(seq_len(nrow(t)), factor(paste(t$method, label),
                                                unique(paste(t$method, label)))), function(i) {
    curves <- lapply(i, task_roc, x = x)
    rates <- colMeans(100 * tpr_at(curves, x$protocol$fpr))
    auc <- vapply(curves, function(r) as.numeric(r$auc), 0)
    interval <- auc_interval(x, i, auc)
    method <- if (t$detector[i[1]] == "subace") paste0(t$method[i[1]], ", subACE")
              else t$method[i[1]]
    data.frame(method = t$method[i[1]], setting = label[i[1]],
               t(stats::setNames(rates, paste(100 * x$protocol$fpr, "%"))), AUC = mean(auc),
               low = interval[1], high = interval[2], runs = length(unique(t$run[i])),
               t(stats::setNames(paper_number(x, method, length(rates)),
                                 paste("paper", 100 * x$protocol$fpr, "%"))),
               check.names = FALSE)
  })
  rows <- do.call(rbind, rows)
  rows <- rows[order(-rows$AUC), ]
  if (!length(x$protocol$paper)) rows <- rows[!startsWith(names(rows), "paper")]
  rownames(rows) <- NULL
  rows
}

setting_label <- function(tasks)
  paste0(tasks$setting, ifelse(tasks$detector == "subace", ", subACE", ""))

# All digits of a run share their test images.
test_key <- function(name, run, unit)
  if (name == "usps") paste("run", run) else paste("run", run, "unit", unit)

task_test <- function(x, i) {
  unit <- x$tasks$unit[i]
  test <- x$tests[[test_key(x$name, x$tasks$run[i], unit)]]
  if (x$name == "usps") test$truth <- test$group == unit
  test
}

task_roc <- function(i, x) mil_roc(x$scores[[i]], task_test(x, i)$truth)

# A 95 % interval of the mean AUC, from resampling people: the targets, or, if there is only one
# target, the people in the test set, with all their images.
auc_interval <- function(x, i, auc, n = 500) {
  means <- with_stream(task_stream(1, 0), if (length(unique(x$tasks$unit[i])) > 1) {
    by_unit <- tapply(auc, x$tasks$unit[i], mean)
    replicate(n, mean(by_unit[sample.int(length(by_unit), replace = TRUE)]))
  } else {
    cases <- lapply(i, auc_parts, x = x)
    people <- sort(unique(unlist(lapply(cases, function(case) c(case$positive, case$negative)))))
    replicate(n, {
      weight <- stats::setNames(tabulate(sample.int(length(people), replace = TRUE),
                                         length(people)), people)
      mean(vapply(cases, weighted_auc, 0, weight))
    })
  })
  unname(stats::quantile(means, c(0.025, 0.975), na.rm = TRUE))
}

# People of the positive and negative test images (the images themselves where all targets are one
# person), and which positive is above which negative.
auc_parts <- function(i, x) {
  test <- task_test(x, i)
  s <- x$scores[[i]]
  positive <- which(test$truth)
  negative <- which(!test$truth)
  of_one <- length(unique(test$group[positive])) == 1
  list(positive = as.character(if (of_one) test$index[positive] else test$group[positive]),
       negative = as.character(test$group[negative]),
       above = outer(s[positive], s[negative], ">") + outer(s[positive], s[negative], "==") / 2)
}

weighted_auc <- function(case, weight) {
  p <- weight[case$positive]
  q <- weight[case$negative]
  sum(p * (case$above %*% q)) / (sum(p) * sum(q))
}

# ---- stored results ------------------------------------------------------------------------

stored <- function(file) readRDS(system.file("extdata", file, package = "fumi", mustWork = TRUE))

#' @rdname paper_table
#' @export
paper_results <- function(x, seed = NULL) {
  name <- check_choice(x, setdiff(names(paper_protocols), c("ar_sunglasses", "ar_person")), "x")
  seed <- check_seed(seed, paper_protocol(name))
  file <- result_file(name, seed)
  if (!nzchar(system.file("extdata", file, package = "fumi")))
    stop_fumi("`x` must be an experiment with stored results, but there are none for \"", name,
              "\" with seed ", seed, ".", class = "no_data")
  x <- stored(file)
  x$scores <- lapply(x$scores, whole_score)
  x
}

# Results by the protocol's own seed have its name alone.
result_file <- function(name, seed) {
  paste0(name, if (seed != paper_protocol(name)$seed) paste0("_", seed), ".rds")
}

whole_score <- function(s) if (is.null(attr(s, "unit"))) s else as.vector(s) * attr(s, "unit")

# What is stored of an experiment: the scores of one unit in run 1, as integers of 25 bits, so that
# a new run can be compared with them; otherwise the steps of the ROC curve. For digits, the
# predicted classes and, besides that unit, the scores of the tuned DL-FUMI in run 1, for its ROC
# curves.
compact_experiment <- function(x) {
  t <- x$tasks
  first <- t$run == min(t$run)
  exact <- first & t$unit == x$protocol$units[min(4, length(x$protocol$units))]
  in_units <- function(s) {
    unit <- max(abs(s)) / 2^24
    structure(as.integer(round(s / unit)), unit = unit)
  }
  if (x$name == "usps") x$predicted <- digit_predictions(x)
  if (is_scene(x)) return(compact_scene(x))
  x$scores <- lapply(seq_along(x$scores), function(i)
    if (exact[i]) in_units(x$scores[[i]]) else roc_steps(x$scores[[i]], task_test(x, i)$truth))
  if (x$name == "usps") {
    kept <- exact & (t$method == "DL-FUMI" | !grepl("averaged", t$setting)) |
      first & t$method == "DL-FUMI" & t$setting == "tuned"
    x$scores <- x$scores[kept]
    x$tasks <- t[kept, ]
  }
  # paper_bags() has the numbers of the images.
  x$tests <- lapply(x$tests, function(test) test[names(test) != "index"])
  x["fits"] <- NULL
  x
}

# Of a scene, what tables read, and of run 1 the steps of the ROC curves.
compact_scene <- function(x) {
  first <- x$tasks$run == min(x$tasks$run)
  known <- !anyNA(x$tests[[1]]$truth)
  x$scores <- lapply(seq_along(x$scores), function(i)
    if (first[i] && known) roc_steps(x$scores[[i]], task_test(x, i)$truth))
  x$tests <- x$tests[1]
  x$tests[[1]][c("index", "group")] <- NULL
  x["fits"] <- NULL
  x
}

# Scores with the same ROC curve: neighbours in the order of scores that are all true or all false
# become equal.
roc_steps <- function(score, truth) {
  level <- match(score, sort(unique(score)))
  share <- as.vector(tapply(truth, level, mean))
  same <- diff(share) == 0 & share[-1] %in% 0:1
  cumsum(c(0L, !same))[level]
}
