# How a fitted model prints: its training data, what it has learned, its parameters and how the fit
# ended.

#' @rdname mil_model-methods
#' @export
print.mil_model <- function(x, digits = 4, ...) {
  cat(model_title(x), " fit\n", sep = "")
  print_model_data(x)
  print_fact("learned", learned_words(x))
  print_fact("parameters", parameter_words(x))
  print_fact("objective", objective_words(x, digits))
  print_fact("stopped", stopped_words(x))
  print_fact("starts", starts_words(x))
  print_calibration(x, digits)
  print_problems(x)
  invisible(x)
}

# Each number with `digits` significant digits of its own.
significant <- function(x, digits = 3) {
  small <- is.finite(x) & x != 0 & abs(x) < 1e-4
  format <- ifelse(small, "g", "fg")
  one <- function(x, format) formatC(x, digits, format = format, flag = "#")
  text <- unlist(Map(one, x, format))
  sub("\\.$", "", trimws(text))
}

# One line "  name:  text", continued below its text where it is long; nothing for no text.
print_fact <- function(name, ...) {
  text <- paste0(unlist(list(...)), collapse = "")
  if (!nzchar(text)) return(invisible())
  label <- format(paste0("  ", name, ":"), width = 14)
  wrap <- if (name == "parameters") at_commas else strwrap
  cat(wrap(text, getOption("width"), initial = label, prefix = strrep(" ", 14)), sep = "\n")
}

# `text` in lines of less than `width` letters that end at commas, so that no parameter is apart
# from its value.
at_commas <- function(text, width, initial = "", prefix = "") {
  items <- strsplit(text, "(?<=,) ", perl = TRUE)[[1]]
  lines <- paste0(initial, c(items, "")[1])
  for (item in items[-1]) {
    last <- length(lines)
    longer <- paste(lines[last], item)
    if (nchar(longer) < width) lines[last] <- longer else lines <- c(lines, paste0(prefix, item))
  }
  lines
}

print_model_data <- function(x) {
  n <- length(x$bag)
  d <- x$n_features
  print_fact("bags", x$n_bags[["positive"]], " positive, ", x$n_bags[["negative"]], " negative (",
             pluralize("{n} instance{?s} of {d} feature{?s}"), ")")
}

model_title <- function(x) {
  switch(x$method, dlfumi = "DL-FUMI", diverse_density = "Diverse density", em_dd = "EM-DD",
         dmil = if (x$spec$pool == "gmean" || !is.null(x$spec$kernel)) "GD-MIL" else "DMIL",
         mi_he = "MI-HE", mmdl = "MMDL", miles = "MILES", e_fumi = "eFUMI",
         mi_svm = if (x$spec$type == "mi") "mi-SVM" else "MI-SVM",
         mi_ace = if (x$spec$type == "ace") "MI-ACE" else "MI-SMF",
         sil = "Single-instance", x$method)
}

learned_words <- function(x) {
  n <- length(x$bag)
  count <- function(n, words) pluralize(paste0("{n} ", words))
  switch(x$method,
    e_fumi = , mi_he = paste0(x$n_target, " target and ",
                              count(x$n_background, "background atom{?s}"), dropped_words(x)),
    mi_ace = paste0(count(x$n_target, "signature{?s}"), dropped_words(x)),
    mi_svm = paste0("a boundary; ", sum(x$is_target), " of ",
                    count(n, "training instance{?s}"), " taken for targets"),
    miles = paste0("weights of ", length(x$selected), " of ", count(n, "training instance{?s}")),
    mmdl = paste0(count(ncol(x$weights) - 1L, "cluster{?s}"), " of target instances",
                  if (isTRUE(x$spec$bag_route)) ", and a classifier of bags"),
    sil = if (is.character(x$spec$classifier)) count(x$n_features, "weight{?s} of features") else
      "a classifier of your own")
}

dropped_words <- function(x) if (isTRUE(x$n_dropped > 0)) paste0(" (", x$n_dropped, " dropped)")

# All parameters except those that control the number of iterations and starts.
parameter_words <- function(x) {
  if (!length(x$spec)) return()
  spec <- tidy_params(x)
  quoted <- vapply(x$spec[spec$parameter], is.character, NA)
  spec$value[quoted] <- paste0("\"", spec$value[quoted], "\"")
  shown <- !is.na(spec$value) & nzchar(spec$value) &
    !spec$parameter %in% not_shown(x$spec, x$method)
  width <- if (is.list(x$kernel)) Filter(is.numeric, x$kernel$kpar)
  paste(c(spec$parameter[shown], names(width)),
        c(spec$value[shown], vapply(width, format, "", digits = 4)), collapse = ", ")
}

not_shown <- function(spec, method) {
  c("n_target", "n_background", "n_atoms", "max_iter", "inner", "tol", "n_start", "combine",
    "calibrate", "progress", "bag_weights", "init", "sigma"[is.null(spec$sigma)],
    if (!identical(spec$pool, "gmean")) "exponent", if (isFALSE(spec$swap)) "swap",
    if (identical(spec$init, "instances")) "n_clusters",
    if (method == "mi_ace" && !isTRUE(spec$n_target > 1)) "alpha",
    if (method == "mi_he") c("step"[spec$variant == "fast"], "lambda"[spec$coding == "convex"]),
    if (identical(spec$whitener, "ridge")) "energy")
}

objective_words <- function(x, digits) {
  path <- x$objective$objective
  if (!length(path)) return()
  n <- x$n_iter
  paste0(format(path[1], digits = digits), " -> ", format(path[length(path)], digits = digits),
         pluralize(" in {n} iteration{?s}"))
}

starts_words <- function(x) {
  n <- length(x$starts)
  if (n > 1) paste0(n, ", ", if (identical(x$combine, "average")) "scores averaged" else
    "the best kept")
}

stopped_words <- function(x) {
  if (is.null(x$stop_reason)) return()
  if (x$method %in% c("mi_svm", "mi_ace") && x$stop_reason == "converged")
    return("the choice of instances no longer changed")
  stop_words[[x$stop_reason]]
}

stop_words <- c(converged = "the objective settled", max_iter = "at `max_iter`",
                interrupt = "interrupted; holds the last complete iteration",
                cycle = "the labels cycle; the fit with the lowest objective is kept")

print_calibration <- function(x, digits) {
  all <- calibration_of(x)
  cut <- usual_threshold(x)
  print_fact("threshold", if (is.na(cut)) "none" else
    c("a bag is \"", x$classes[2], "\" if its score is above ", format(cut, digits = digits)))
  n <- all$n_bags
  used <- if (n < sum(x$n_bags)) paste(n, "of", sum(x$n_bags), "bags")
          else pluralize("{n} bag{?s}")
  print_fact("calibrated", switch(all$source,
    `out-of-fold` = c("by ", all$folds, "-fold cross-validation (", used, ")",
                      if (!is.null(all$why)) c("; ", all$why)),
    given = pluralize("on {n} other bag{?s}"), none = paste0("not (", all$why, ")"),
    paste0("in-sample (", all$why, "): probabilities may be overconfident")),
    if (all$kept == "model") "; probabilities of the model")
}
