#' Receiver operating characteristic of scores
#'
#' `mil_roc()` compares scores with the truth and returns an ROC curve of the package pROC. A
#' higher score always means more target: the direction is never chosen from the data, so a
#' detector that is worse than chance has an AUC below 0.5.
#'
#' @param x numeric scores, higher = more target; or a fitted model.
#' @param truth the true label of each score: logical, `0`/`1`, `-1`/`1`, a factor with two levels
#'   (the second one is the positive one unless `positive` says otherwise), or any two values, with
#'   `positive` naming the positive one. For a model it is in the order of the rows of its
#'   predictions; by default, the truth (of instances) or the labels (of bags) in `new_data`.
#' @param na `"stop"` (default) or `"drop"`: what to do with scores that are `NA`, `NaN` or
#'   infinite, and with a truth that is `NA`.
#' @param positive `NULL` (default: 1, `TRUE` or the second level of a factor), or the value of
#'   `truth` that means "target"; values of another kind need it.
#' @param new_data the data to score: [bags()], or what `predict()` takes.
#' @param level `"instance"` (default) or `"bag"`: whether to score instances or bags.
#' @param ... for a model: passed on to `predict()`.
#'
#' @return An object of class `mil_roc`, which is a `roc` of pROC: `pROC::auc()` and
#'   `pROC::coords()` take it. For a confidence interval of the AUC use [mil_auc()]: `pROC::ci()`
#'   and `pROC::roc.test()` treat all values as independent, which instances of one bag are not.
#' @seealso [mil_auc()], [tpr_at()], [plot.mil_roc()].
#' @examples
#' set.seed(1)
#' truth <- rep(c(TRUE, FALSE), c(30, 70))
#' r <- mil_roc(rnorm(100, mean = truth), truth)
#' r
#' tpr_at(r, c(0.05, 0.1))
#' plot(r)
#' @export
mil_roc <- function(x, ...) UseMethod("mil_roc")

#' @rdname mil_roc
#' @export
mil_roc.default <- function(x, truth, ..., positive = NULL, na = c("stop", "drop")) {
  check_dots_empty(..., known = names(formals()))
  if (missing(truth)) stop_fumi("`truth` must be given.", class = "truth")
  make_roc(x, truth, positive, check_choice(na, c("stop", "drop"), "na"))
}

#' @rdname mil_roc
#' @export
mil_roc.mil_model <- function(x, new_data, truth = NULL, level = c("instance", "bag"), ...,
                              positive = NULL, na = c("stop", "drop")) {
  level <- check_choice(level, c("instance", "bag"), "level")
  na <- check_choice(na, c("stop", "drop"), "na")
  if (missing(new_data)) stop_fumi("`new_data` must be given.")
  if (is.null(truth)) truth <- truth_of(x, new_data, level)
  score <- stats::predict(x, new_data, type = "score", level = level, ...)$.score
  make_roc(score, truth, positive, na)
}

make_roc <- function(score, truth, positive, na, call = rlang::caller_env()) {
  if (!is.numeric(score) || is.object(score))
    stop_fumi("`x` must be numeric scores or a fitted model, not ", describe(score),
              if (is.data.frame(score) &&
                  ".score" %in% names(score)) " (its column `.score` has them)", ".",
              class = "type", call = call)
  if (length(truth) != length(score))
    stop_fumi("`truth` must have one value for each of the ", length(score), " scores, not ",
              length(truth), ".", class = "dimension", call = call)
  kept <- is.finite(score) & !(na == "drop" & is.na(truth))
  if (na == "stop" && !all(kept))
    stop_fumi("`x` must have finite scores, but ", sum(!kept), " of ", length(kept),
              " are not (`na = \"drop\"` leaves them out).", class = "nonfinite", call = call)
  truth <- check_both_classes(truth[kept], positive, call)
  roc <- pROC::roc(response = truth, predictor = as.double(score[kept]), levels = c(FALSE, TRUE),
                   direction = "<", quiet = TRUE)
  class(roc) <- c("mil_roc", class(roc))
  roc
}

check_both_classes <- function(truth, positive, call) {
  if (length(truth)) truth <- parse_label(truth, positive, "truth", call)$is_positive
  if (any(truth) && !all(truth)) return(truth)
  stop_fumi("`truth` must have at least one positive and one negative, not ", sum(truth),
            " positive and ", sum(!truth), " negative.", class = "label", call = call)
}

# The truth that the data hold, in the order of the rows of their predictions.
truth_of <- function(object, new_data, level, call = rlang::caller_env()) {
  if (!inherits(new_data, "bags"))
    stop_fumi("`truth` must be given when `new_data` is not a `bags` object, but it is NULL.",
              class = "truth", call = call)
  check_same_positive(object, new_data, "new_data", call)
  if (level == "bag") return(new_data$label)
  if (is.null(new_data$truth))
    stop_fumi("`truth` must be given when `new_data` has none for its instances, but it is NULL ",
              "(`level = \"bag\"` needs only the labels).", class = "truth", call = call)
  in_user_order(new_data, new_data$truth)
}

# Bags whose positive class is the negative one of the fit would turn all comparisons round.
check_same_positive <- function(object, b, name, call = rlang::caller_env()) {
  if (!identical(b$classes, rev(object$classes))) return(invisible(b))
  stop_fumi("`", name, "` must have the positive class of the fit, ", describe(object$classes[2]),
            ", but its positive class is ", describe(b$classes[2]),
            ": make these bags with `positive = ", describe(object$classes[2]), "`.",
            class = "label", call = call)
}

#' @export
print.mil_roc <- function(x, ...) {
  cat("ROC curve: AUC ", format_auc(x), ", ", length(x$cases), " positive and ",
      length(x$controls), " negative\n", sep = "")
  invisible(x)
}

# As a share of 1, also for an ROC that pROC made in percent.
format_auc <- function(roc)
  sprintf("%.3f", as.numeric(roc$auc) / if (isTRUE(roc$percent)) 100 else 1)

# ---- reading off -------------------------------------------------------------

#' True positive rate at given false positive rates
#'
#' Reads ROC curves at given false positive rates, with linear interpolation between the vertices
#' of a curve; where the curve steps up, the result is the largest true positive rate at that false
#' positive rate.
#'
#' @param roc a curve made by [mil_roc()] or `pROC::roc()`, or a list of them.
#' @param fpr numbers in \[0, 1\]: the false positive rates.
#' @return For one curve, a vector as long as `fpr`; for a list, a matrix with one row per curve
#'   (named like the list) and one column per rate.
#' @examples
#' r <- mil_roc(c(5, 4, 3, 2, 1), c(1, 0, 1, 1, 0))
#' tpr_at(r, c(0, 0.25, 0.5))
#' tpr_at(list(a = r, b = r), c(0.25, 0.5))
#' @export
tpr_at <- function(roc, fpr) {
  if (!is.numeric(fpr) || length(fpr) == 0 || anyNA(fpr) || any(fpr < 0 | fpr > 1))
    stop_fumi("`fpr` must be numbers from 0 to 1, not ",
              if (is.numeric(fpr) && length(fpr)) enumerate(fpr[is.na(fpr) | fpr < 0 | fpr > 1])
              else describe(fpr), ".")
  if (inherits(roc, "roc")) return(read_roc(roc, fpr))
  if (!is.list(roc) || length(roc) == 0 || !all(vapply(roc, inherits, NA, "roc")))
    stop_fumi("`roc` must be an ROC curve or a list of them, not ", describe(roc), ".",
              class = "type")
  matrix(unlist(lapply(roc, read_roc, fpr), use.names = FALSE), nrow = length(roc), byrow = TRUE,
         dimnames = list(names(roc), format(fpr, trim = TRUE, drop0trailing = TRUE)))
}

read_roc <- function(roc, fpr) {
  v <- roc_vertices(roc)
  # In counts of false positives, so that 1 - 0.9 finds the step at one in ten.
  n <- length(roc$controls)
  at <- fpr * n
  whole <- abs(at - round(at)) < 1e-9 * n
  at[whole] <- round(at[whole])
  count <- round(v$fpr * n)
  left <- findInterval(at, count)              # the last vertex there: the top of a step
  right <- pmin(left + 1, length(count))
  share <- ifelse(right > left, (at - count[left]) / (count[right] - count[left]), 0)
  v$tpr[left] + share * (v$tpr[right] - v$tpr[left])
}

# Vertices from (0, 0) to (1, 1).
roc_vertices <- function(roc) {
  one <- if (isTRUE(roc$percent)) 100 else 1
  fpr <- 1 - roc$specificities / one
  tpr <- roc$sensitivities / one
  up <- order(fpr, tpr)
  list(fpr = fpr[up], tpr = tpr[up])
}

# ---- pictures ----------------------------------------------------------------

#' ROC curves in one picture
#'
#' Draws one or several ROC curves over the whole range of false positive rates, with the AUC of
#' each in the legend and the diagonal (chance level) in grey. The legend is in the lower right
#' corner, or beside the curves if one of them passes there.
#'
#' @param x a curve made by [mil_roc()].
#' @param ... further curves. Named arguments name the curves,
#'   ``plot(`DL-FUMI` = r1, `EM-DD` = r2)``, and `do.call(plot, list_of_curves)`
#'   draws a named list. Other named arguments go to [graphics::plot.default()]
#'   (`xlim`, `cex.axis`, ...).
#' @param labels `NULL` (default: the names of the arguments), or names for the legend, one per
#'   curve.
#' @param points `NULL` (default: none), or a data frame with columns `fpr`, `tpr` and `label`:
#'   classifiers with a single operating point instead of a curve.
#' @param col `NULL` (default: those of Okabe and Ito, which colour-blind people can tell apart),
#'   or colours for the curves and then the points.
#' @param main `NULL` (default: none), or a string: the title.
#' @return The first curve, invisibly.
#' @examples
#' set.seed(1)
#' truth <- rep(0:1, each = 50)
#' good <- mil_roc(rnorm(100, 2 * truth), truth)
#' fair <- mil_roc(rnorm(100, truth), truth)
#' plot(good, fair, labels = c("good", "fair"),
#'      points = data.frame(fpr = 0.1, tpr = 0.6, label = "a rule"))
#' @export
plot.mil_roc <- function(x, ..., labels = NULL, points = NULL, col = NULL, main = NULL) {
  all <- plot_arguments()
  is_curve <- vapply(all$given, inherits, NA, "roc")
  curves <- all$given[is_curve]
  check_frame(all$given[!is_curve])
  if (is.null(labels)) labels <- curve_labels(curves, all$written[is_curve])
  key <- curve_key(curves, labels, paste("AUC", vapply(curves, format_auc, "")),
                   check_points(points), col)

  frame <- utils::modifyList(list(xlim = c(0, 1), ylim = c(0, 1)), all$given[!is_curve])
  old <- graphics::par(c("mar", "mgp", "tcl"))
  on.exit(graphics::par(old))
  place <- key_place(key, lapply(curves, roc_vertices), frame, main)
  draw_frame(main, frame)
  draw_curves(curves, key)
  draw_key(key, place)
  invisible(curves[[1]])
}

# The arguments `x` and `...` of a plot of curves, and how they were written. In plot(a = r1, b =
# r2) R dispatches on the first argument but leaves `x` missing.
plot_arguments <- function(plot = parent.frame()) {
  given <- eval(quote(list(...)), plot)
  written <- eval(quote(as.list(substitute(list(...)))[-1]), plot)
  if (eval(quote(missing(x)), plot)) return(list(given = given, written = written))
  list(given = c(list(plot$x), given), written = c(list(eval(quote(substitute(x)), plot)), written))
}

# The name of an argument; for several curves else the variable that it is, else its number.
curve_labels <- function(curves, written) {
  name <- rlang::names2(curves)
  if (length(curves) == 1) return(name)
  symbol <- vapply(written, is.symbol, NA)
  name[name == "" & symbol] <- vapply(written[name == "" & symbol], as.character, "")
  bare <- name == ""
  name[bare] <- paste("curve", which(bare))
  name
}

check_frame <- function(dots, call = rlang::caller_env()) {
  bare <- rlang::names2(dots) == ""
  if (any(bare))
    stop_fumi("`...` must be ROC curves and named graphical parameters, not ",
              describe(dots[bare][[1]]), ".", class = "type", call = call)
}

check_points <- function(points, call = rlang::caller_env()) {
  if (is.null(points)) return(data.frame(fpr = numeric(), tpr = numeric(), label = character()))
  ok <- is.data.frame(points) && all(c("fpr", "tpr", "label") %in% names(points))
  if (!ok || !is.numeric(points$fpr) || !is.numeric(points$tpr))
    stop_fumi("`points` must be a data frame with numeric columns `fpr` and `tpr` and a column ",
              "`label`, not ", describe(points), ".", class = "type", call = call)
  points
}

# How each curve, and then each point, is drawn and what the legend says of it: its label, and its
# area.
curve_key <- function(curves, labels, areas, points, col, call = rlang::caller_env()) {
  if (!is.character(labels) || length(labels) != length(curves))
    stop_fumi("`labels` must be one name for each of the ", length(curves), " curves, not ",
              describe(labels), ".", class = "dimension", call = call)
  text <- c(paste0(in_lines(labels, 25), ifelse(labels == "", "", ", "), areas),
            in_lines(points$label, 25))
  n <- length(curves)
  m <- nrow(points)
  if (is.null(col)) col <- okabe_ito
  list(text = text, pitch = if (any(grepl("\n", text))) 1.5 else 1.2, col = rep_len(col, n + m),
       lty = c(line_types(n), rep(NA, m)),
       pch = c(rep(NA, n), rep_len(c(16, 17, 15, 18, 1, 2, 0, 5), m)),
       fpr = c(rep(NA, n), points$fpr), tpr = c(rep(NA, n), points$tpr))
}

# One type of line for as many curves as there are colours.
line_types <- function(n) rep_len(rep(c(1, 2, 4), each = length(okabe_ito)), n)

in_lines <- function(text, width) {
  as.character(unlist(Map(function(text, width) paste(strwrap(text, width), collapse = "\n"),
                          as.character(text), width, USE.NAMES = FALSE)))
}

# Okabe and Ito's colours, without the yellow, which is hard to see on white.
okabe_ito <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")

# Where the legend goes: into the lower right corner, if no curve (`x`, `y`) passes there, else
# into a right margin of at most half the figure. `cex`: the factor by which its text must shrink.
# Text can be measured only on an open page, so the page is opened here and used by the next plot.
key_place <- function(key, curves, frame, main) {
  plain <- c(3.3, 3.6, if (is.null(main)) 0.6 else 2, 0.6)
  graphics::par(mar = plain, mgp = c(2.3, 0.6, 0), tcl = -0.3)
  graphics::plot.new()
  graphics::par(new = TRUE)
  line <- graphics::strheight("M", "inches") * 1.9
  row <- graphics::par("cin")[2]
  entry <- max(row, graphics::strheight(key$text, "inches")) + row * (key$pitch - 1)
  need <- c(max(graphics::strwidth(key$text, "inches")) + 3 * line,
            length(key$text) * entry + row)
  room <- graphics::par("pin")
  cex <- min(1, 0.65 * room / need)
  if (cex >= 0.6 && corner_is_free(key, curves, frame, cex * need / room))
    return(list(cex = cex, inside = TRUE))
  largest <- if (length(key$text) > 6) 0.85 else 1
  cex <- min(largest, graphics::par("fin")[1] / 2 / need[1], room[2] / need[2])
  csi <- graphics::par("csi")
  margin <- min(need[1] * cex + 0.1, graphics::par("fin")[1] / 2)
  graphics::par(mar = replace(plain, 4, margin / csi))
  list(cex = cex, inside = FALSE)
}

corner_is_free <- function(key, curves, frame, size) {
  scale <- function(x) if (identical(frame$log, "x")) log10(x) else x
  xlim <- scale(frame$xlim)
  left <- xlim[2] - size[1] * diff(xlim)
  height <- vapply(curves, function(v) {
    x <- scale(pmax(v$fpr, frame$xlim[1]))
    if (sum(x <= left)) max(v$tpr[x <= left]) else 0
  }, 0)
  top <- frame$ylim[1] + size[2] * diff(frame$ylim)
  in_corner <- scale(key$fpr) > left & key$tpr < top
  all(height >= top) && !any(in_corner, na.rm = TRUE)
}

draw_frame <- function(main, frame) {
  start <- list(x = NA, type = "n", main = main, font.main = 1, cex.main = 1, las = 1, bty = "l",
                xlab = "False positive rate", ylab = "True positive rate")
  do.call(graphics::plot.default, utils::modifyList(start, frame))
  graphics::segments(0, 0, 1, 1, col = "grey70")
}

draw_curves <- function(curves, key) {
  for (i in seq_along(curves)) {
    v <- roc_vertices(curves[[i]])
    graphics::lines(v$fpr, v$tpr, col = key$col[i], lty = key$lty[i], lwd = 2)
  }
  graphics::points(key$fpr, key$tpr, pch = key$pch, col = key$col, cex = 1.4, lwd = 2)
}

draw_key <- function(key, place) {
  edge <- graphics::grconvertX(1, "npc", "inches") + 0.1
  at <- if (place$inside) list(x = "bottomright", bg = "white", box.col = NA, inset = 0.005)
        else list(x = graphics::grconvertX(edge, "inches"), y = graphics::grconvertY(1, "npc"),
                  bty = "n", xpd = NA)
  do.call(graphics::legend, c(at, list(
    legend = key$text, col = key$col, lty = key$lty, pch = key$pch, pt.cex = 1.4 * place$cex,
    lwd = 2, seg.len = 1.5, y.intersp = key$pitch, cex = place$cex)))
}
