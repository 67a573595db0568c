#' Figures of the paper's experiments
#'
#' Draws ROC curves, confusions, misclassified digits or atoms of an experiment, from its stored
#' results or from a run of your own.
#'
#' @param x what [paper_experiment()] returned, or for `"roc"` and `"confusion"` the name of a
#'   stored experiment, as in [paper_table()], given to `paper_plot()`.
#' @param what `"roc"` (default): for the digits, the curves of all ten for one setting; otherwise
#'   the curves of all settings for one run and unit, with points for methods that have their own
#'   threshold (mi-SVM, MMDL). `"confusion"`: true by predicted digit over all runs, in per cent of
#'   each row. `"errors"`: misclassified digits and their reconstructions by the atoms of the
#'   predicted digit. `"atoms"`: the atoms of all units, target atoms first. The last two need
#'   `keep_fits = TRUE`.
#' @param method,setting `NULL` (default: the first in `x`), or strings: which method and setting,
#'   as in [paper_table()].
#' @param run whole number >= 1, default 1: which run.
#' @param unit `NULL` (default: the first in `x`), or a number: which digit or person.
#' @param n whole number >= 1, default 8: number of digits to show with `"errors"`.
#' @param ... for `"roc"`, passed to [plot.mil_roc()].
#' @return For `"confusion"` the table that is drawn, otherwise `x`, invisibly.
#' @examples
#' paper_plot("olivetti_eyeglasses", "roc")
#' paper_plot("usps", "confusion", method = "DL-FUMI", setting = "tuned, averaged, one scale")
#' @export
paper_plot <- function(x, what = c("roc", "confusion", "errors", "atoms"), method = NULL,
                       setting = NULL, run = 1, unit = NULL, n = 8, ...) {
  if (is.character(x)) x <- paper_results(x)
  if (!inherits(x, "paper_experiment"))
    stop_fumi("`x` must be the result of `paper_experiment()` or the name of an experiment, not ",
              describe(x), ".", class = "type")
  what <- check_choice(what, c("roc", "confusion", "errors", "atoms"), "what")
  digits <- x$name == "usps"
  if (!digits && what %in% c("confusion", "errors"))
    stop_fumi("`what` must be \"roc\" or \"atoms\" for \"", x$name, "\", not \"", what, "\".",
              class = "no_meaning")
  unit <- if (is.null(unit)) x$tasks$unit[1] else check_unit(unit, x$protocol)
  if (what == "confusion") return(invisible(plot_confusion(x, method, setting)))
  switch(what,
         errors = plot_errors(x, method, setting, run, n),
         atoms = plot_dictionaries(x, method, setting, run),
         roc = if (digits) plot_digit_roc(x, method, setting, run, ...)
               else plot_setting_roc(x, run, unit, ...))
  invisible(x)
}

#' @rdname paper_plot
#' @export
plot.paper_experiment <- function(x, ...) paper_plot(x, ...)

# Rows of `frame` of one method and setting; by default those of its first row.
rows_of <- function(frame, method, setting, call = rlang::caller_env(2)) {
  if (is.null(method)) method <- frame$method[1]
  if (is.null(setting)) setting <- frame$setting[frame$method == method][1]
  found <- which(frame$method == method & frame$setting == setting)
  if (!length(found))
    stop_fumi("`method` and `setting` must be those of a row of `paper_table(x)`, not ",
              describe(method), " and ", describe(setting), ".", call = call)
  found
}

# ---- ROC ---------------------------------------------------------------------------------------

plot_digit_roc <- function(x, method, setting, run, ...) {
  i <- rows_of(x$tasks, method, setting)
  i <- with_scores(x, i[x$tasks$run[i] == run], rlang::caller_env())
  curves <- stats::setNames(lapply(i, task_roc, x = x), paste("digit", x$tasks$unit[i]))
  title <- paste0(x$tasks$method[i[1]], ", ", x$tasks$setting[i[1]])
  do.call(graphics::plot, c(curves, utils::modifyList(list(main = title), list(...))))
}

plot_setting_roc <- function(x, run, unit, ...) {
  shown <- setting_curves(x, run, unit, rlang::caller_env())
  more <- utils::modifyList(list(points = shown$points, main = shown$title), list(...))
  do.call(graphics::plot, c(shown$curves, more))
}

# The curves of all settings for one run and unit, the points of those with their own threshold, and
# the title.
setting_curves <- function(x, run, unit, call = rlang::caller_env()) {
  t <- x$tasks
  i <- which(t$run %in% run & t$unit %in% unit)
  if (!length(i))
    stop_fumi("`run` and `unit` must be among those of the experiment, not ", describe(run),
              " and ", describe(unit), ".", call = call)
  i <- with_scores(x, i, call)
  hard <- !is.na(t$above[i])
  person <- if (length(unique(t$unit)) > 1)
    paste0(if (x$name == "usps") ", digit " else ", person ", unit)
  list(curves = stats::setNames(lapply(i[!hard], task_roc, x = x),
                                paste0(t$method[i[!hard]], ", ", setting_label(t[i[!hard], ]))),
       points = do.call(rbind, lapply(i[hard], hard_point, x = x)),
       title = paste0(x$name, person, ", run ", run))
}

# Those of the tasks `i` whose scores are kept.
with_scores <- function(x, i, call) {
  kept <- i[!vapply(x$scores[i], is.null, NA)]
  if (length(kept)) return(kept)
  stop_fumi("`x` must keep the scores of the run to draw ROC curves, but \"", x$name,
            "\" has none of this run: `paper_table()` shows its results.", class = "no_data",
            call = call)
}

# False and true positive rate at a classifier's own threshold.
hard_point <- function(i, x) {
  truth <- task_test(x, i)$truth
  called <- rank(-x$scores[[i]], ties.method = "first") <= x$tasks$above[i]
  data.frame(fpr = mean(called[!truth]), tpr = mean(called[truth]),
             label = paste0(x$tasks$method[i], ", ", x$tasks$setting[i]))
}

# ---- digits ------------------------------------------------------------------------------------

confusion <- function(x, method, setting) {
  predicted <- digit_predictions(x)
  i <- rows_of(predicted, method, setting, rlang::caller_env(3))
  true <- unlist(lapply(predicted$run[i], function(run) x$tests[[test_key("usps", run)]]$group))
  counts <- table(true, predicted = factor(unlist(predicted$predicted[i]), x$protocol$units))
  structure(round(100 * counts / rowSums(counts), 1),
            title = paste0(predicted$method[i[1]], ", ", predicted$setting[i[1]]))
}

plot_confusion <- function(x, method, setting) {
  share <- confusion(x, method, setting)
  n <- nrow(share)
  old <- graphics::par(mar = c(3, 3, 1.6, 0.5), mgp = c(1.9, 0.3, 0))
  on.exit(graphics::par(old))
  graphics::image(seq_len(n), seq_len(n), t(share[n:1, ]),
                  col = grDevices::hcl.colors(50, "Blues", rev = TRUE), axes = FALSE,
                  zlim = c(0, 100), xlab = "predicted digit", ylab = "digit")
  fitted_title(paste0(attr(share, "title"), ": per cent of each row"))
  graphics::axis(1, seq_len(n), colnames(share), tick = FALSE, gap.axis = 0)
  graphics::axis(2, seq_len(n), rev(rownames(share)), tick = FALSE, las = 1)
  graphics::text(col(share), n + 1 - row(share),
                 ifelse(share == 0, "", formatC(share, 1, format = "f")),
                 col = ifelse(share > 50, "white", "grey20"),
                 cex = min(0.9, 0.8 / max(graphics::strwidth("99.9"),
                                          1.5 * graphics::strheight("9"))))
  share
}

# Pairs of a misclassified digit and its reconstruction by the fit of the predicted digit.
plot_errors <- function(x, method, setting, run, n) {
  fits <- fits_of(x, method, sub(", one scale$", "", setting), run)
  predicted <- digit_predictions(x)
  i <- rows_of(predicted, method, setting)
  i <- i[predicted$run[i] == run]
  test <- x$tests[[test_key("usps", run)]]
  called <- predicted$predicted[[i]]
  wrong <- which(called != test$group)
  wrong <- wrong[unique(round(seq(1, length(wrong), length.out = min(n, length(wrong)))))]
  image <- usps_images(test$index[wrong])
  fit_of <- fits[as.character(called[wrong])]
  remake <- function(k) stats::predict(fit_of[[k]], image[, , k, drop = FALSE],
                                       type = "reconstruction")[1, ]
  remade <- vapply(seq_along(wrong), remake, numeric(256))
  title <- c(paste(test$group[wrong], "as", called[wrong]), paste("atoms of", called[wrong]))
  picture_page(cbind(matrix(image, 256), remade), dim(image)[1:2], title,
               group = rep(1:2, each = length(wrong)), n_col = length(wrong),
               main = "Misclassified digits and their reconstructions")
}

# ---- atoms -------------------------------------------------------------------------------------

fits_of <- function(x, method, setting, run) {
  if (is.null(x$fits))
    stop_fumi("`x` must hold its fits for this picture: `paper_experiment(keep_fits = TRUE)`.",
              class = "no_data", call = rlang::caller_env(2))
  if (!length(setting)) setting <- NULL
  i <- rows_of(x$tasks, method, setting, rlang::caller_env(2))
  i <- i[x$tasks$run[i] == run]
  i <- i[!duplicated(x$tasks$unit[i])]
  stats::setNames(x$fits[i], x$tasks$unit[i])
}

# A row for each unit, whose name is at its left: target atoms, framed, then the first background
# atoms, as many as can be seen side by side.
plot_dictionaries <- function(x, method, setting, run) {
  fits <- fits_of(x, method, setting, run)
  one_unit <- length(fits) == 1
  shown <- function(fit) seq_len(min(ncol(fit$dictionary), if (!one_unit) 16))
  atoms <- lapply(fits, function(fit) fit$dictionary[, shown(fit), drop = FALSE])
  target <- unlist(lapply(fits, function(fit) shown(fit) <= fit$n_target))
  unit <- rep(seq_along(fits), vapply(atoms, ncol, 1L))
  name <- ifelse(duplicated(unit), "", names(fits)[unit])
  of <- if (one_unit) "" else if (x$name == "usps") " of each digit" else " of each person"
  picture_page(do.call(cbind, atoms), fits[[1]]$image_dim,
               if (one_unit) part_names(colnames(atoms[[1]])) else name,
               ifelse(target, target_colour, "grey70"), if (one_unit) !target else unit,
               by_row = !one_unit, main = paste0("Target atoms (framed) and background atoms", of))
}
