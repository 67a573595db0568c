# Detection in a scene: targets found against false alarms per area.

#' Probability of detection against false alarms per area
#'
#' The usual measure for maps of scores: the share of targets that are found against the number of
#' false alarms per unit of searched area. It needs the package terra.
#'
#' A target is found at a threshold if the largest score in its halo reaches it (for haloes see
#' [bags.SpatRaster()]). A false alarm is a pixel outside all haloes whose score reaches the
#' threshold; the rate is their number divided by the area of all pixels outside haloes that have a
#' score. Pixels are counted one by one: neighbouring pixels above the threshold are separate
#' alarms. A target without a score in its halo is never found, and a warning says so.
#'
#' @param map a `SpatRaster` with one layer of scores, higher = more target, such as from
#'   [predict_raster()].
#' @param points,halo as in [bags.SpatRaster()].
#' @param unit `"m2"` (default), `"ha"`, `"km2"` or `"pixel"`, the unit of area for the false alarm
#'   rate: square metres, hectares, square kilometres, or pixels. The units of a map without a
#'   coordinate system are assumed to be metres.
#' @param x what `pd_far()` returned.
#' @param far numbers >= 0: false alarm rates per `unit`. For `glance()`, one number > 0, the rate
#'   up to which the area under the curve is taken; `NULL` (default): the rate beyond which no more
#'   targets are found.
#' @param ... for `plot()`: further curves, named or not, and graphical parameters (`xlim`,
#'   `log = "x"`, ...), as in [plot.mil_roc()]; otherwise ignored.
#' @param labels,col,main as in [plot.mil_roc()].
#' @return An object of class `pd_far`: a list with `curve`, a data frame with one row per score at
#'   which a target is found (`threshold`, `pd`, `false_alarms`, `far`), `n_targets`, `area` (in
#'   `unit`), `unit`, and `halo`. `tidy()` returns the curve; `pd_at()` the largest share of
#'   targets found at a rate of at most `far`; `glance()` one row with `nauc`, the area under the
#'   curve up to `far` as a share of the largest possible.
#' @references Glenn, T., Zare, A., Gader, P. and Dranishnikov, D. (2016). *Bullwinkle: Scoring
#'   code for sub-pixel targets*, version 1.0. There the area of haloes is included, and haloes are
#'   squares.
#' @seealso [predict_raster()], [mil_roc()]
#' @examplesIf requireNamespace("terra", quietly = TRUE)
#' set.seed(1)
#' map <- terra::rast(nrows = 40, ncols = 40, xmin = 0, xmax = 40, ymin = 0, ymax = 40, crs = "")
#' terra::values(map) <- rnorm(1600)
#' points <- cbind(x = c(5, 20, 33), y = c(8, 31, 12))
#' near <- terra::cellFromXY(map, points + 0.8)
#' map[near] <- 3:5
#' found <- pd_far(map, points, halo = 2)
#' found
#' found$curve
#' pd_at(found, c(0, 0.001, 0.01))
#' plot(found)
#' @export
pd_far <- function(map, points, halo, ..., unit = c("m2", "ha", "km2", "pixel")) {
  check_dots_empty(..., known = names(formals()))
  if (missing(points) || missing(halo)) stop_fumi("`points` and `halo` must both be given.")
  check_map(map, "map")
  if (terra::nlyr(map) != 1)
    stop_fumi("`map` must have one layer of scores, not ", terra::nlyr(map), ".",
              class = "dimension")
  points <- check_map_points(points, map)
  halo <- check_number(halo, "halo", min = 0)
  unit <- check_choice(unit, c("m2", "ha", "km2", "pixel"), "unit")
  score <- terra::values(map, mat = FALSE)
  score[!is.finite(score)] <- NA
  near <- halo_cells(map, points, halo)
  best <- vapply(near, function(cell) max(score[cell], -Inf, na.rm = TRUE), 0)
  if (any(best == -Inf))
    warn_fumi("`points` without a score within `halo` count as not found: ",
              enumerate(which(best == -Inf)), ".", class = "points")
  outside <- sort(score[setdiff(seq_along(score), unlist(near))])
  if (!length(outside))
    stop_fumi("`halo` must leave pixels where there is no target, but ", format(halo),
              " leaves none with a score.")
  area <- length(outside) * pixel_area(map, unit)
  threshold <- sort(unique(best[best > -Inf]), decreasing = TRUE)
  alarms <- length(outside) - findInterval(threshold, outside, left.open = TRUE)
  curve <- data.frame(threshold = threshold, pd = vapply(threshold, function(t) mean(best >= t), 0),
                      false_alarms = alarms, far = alarms / area)
  structure(list(curve = curve, n_targets = length(best), area = area, unit = unit, halo = halo),
            class = "pd_far")
}

pixel_area <- function(map, unit) {
  if (unit == "pixel") return(1)
  metres <- terra::linearUnits(map)
  if (!is.finite(metres)) metres <- 1
  prod(terra::res(map)) * metres^2 / c(m2 = 1, ha = 1e4, km2 = 1e6)[[unit]]
}

#' @rdname pd_far
#' @export
pd_at <- function(x, far) {
  if (!inherits(x, "pd_far"))
    stop_fumi("`x` must be what `pd_far()` returned, not ", describe(x), ".", class = "type")
  if (!is.numeric(far) || length(far) == 0 || anyNA(far) || any(far < 0))
    stop_fumi("`far` must be numbers >= 0, not ", describe(far), ".")
  # In counts of false alarms, as tpr_at() does.
  c(0, x$curve$pd)[1 + findInterval(far * x$area + 1e-9, x$curve$false_alarms)]
}

#' @rdname pd_far
#' @export
print.pd_far <- function(x, ...) {
  last <- x$curve[nrow(x$curve), ]
  cat("Detection of ", x$n_targets, " targets; ", format(x$area, big.mark = ",", digits = 4), " ",
      x$unit, if (x$unit == "pixel" && x$area != 1) "s", " outside of their haloes\n", sep = "")
  cat("PD ", format(pd_at(x, 0), digits = 3), " without a false alarm", if (nrow(x$curve)) c(
    "; PD ", format(last$pd, digits = 3), " with ", last$false_alarms, " (",
    format(last$far, digits = 3), " per ", x$unit, ")"), "\n", sep = "")
  invisible(x)
}

#' @rdname pd_far
#' @export
tidy.pd_far <- function(x, ...) {
  check_dots_empty(...)
  as_table(x$curve)
}

#' @rdname pd_far
#' @export
glance.pd_far <- function(x, far = NULL, ...) {
  check_dots_empty(..., known = names(formals()))
  far <- if (is.null(far)) farthest(list(x)) else check_number(far, "far", above = 0)
  as_table(data.frame(n_targets = x$n_targets, area = x$area, unit = x$unit, far = far,
                      nauc = nauc(x, far)))
}

# The rate beyond which no curve finds more targets; one false alarm if none needs any.
farthest <- function(curves) {
  far <- max(unlist(lapply(curves, function(x) x$curve$far)), 0)
  if (far > 0) far else 1 / curves[[1]]$area
}

nauc <- function(x, far) {
  gained <- diff(c(0, x$curve$pd))
  sum(gained * pmax(0, 1 - x$curve$far / far))
}

#' @rdname pd_far
#' @export
plot.pd_far <- function(x, ..., labels = NULL, col = NULL, main = NULL) {
  all <- plot_arguments()
  is_curve <- vapply(all$given, inherits, NA, "pd_far")
  curves <- all$given[is_curve]
  frame <- all$given[!is_curve]
  check_frame(frame)
  unit <- one_unit(curves)
  if (is.null(labels)) labels <- curve_labels(curves, all$written[is_curve])
  if (is.null(frame$xlim)) frame$xlim <- far_limits(curves, frame$log)
  areas <- sprintf("NAUC %.3f", vapply(curves, nauc, 0, far = frame$xlim[2]))
  key <- curve_key(curves, labels, areas, check_points(NULL), col)
  if (is.null(frame$ylim)) frame$ylim <- c(0, 1)
  old <- graphics::par(c("mar", "mgp", "tcl"))
  on.exit(graphics::par(old))
  place <- key_place(key, lapply(curves, function(x) list(fpr = x$curve$far, tpr = x$curve$pd)),
                     frame, main)
  start <- list(x = NA, type = "n", main = main, font.main = 1, cex.main = 1, las = 1, bty = "l",
                xlab = far_label(unit), ylab = "Probability of detection",
                xaxt = if (identical(frame$log, "x")) "n" else "s")
  do.call(graphics::plot.default, utils::modifyList(start, frame))
  if (is.null(frame$xaxt) && identical(frame$log, "x")) plain_axis()
  for (i in seq_along(curves)) draw_steps(curves[[i]]$curve, key$col[i], key$lty[i])
  draw_key(key, place)
  invisible(curves[[1]])
}

one_unit <- function(curves, call = rlang::caller_env()) {
  unit <- unique(vapply(curves, `[[`, "", "unit"))
  if (length(unit) == 1) return(unit)
  stop_fumi("`...` must be curves of one unit, not ", enumerate(unit), ".", class = "type",
            call = call)
}

far_label <- function(unit) {
  switch(unit, m2 = expression("False alarms per " * m^2),
         km2 = expression("False alarms per " * km^2), paste("False alarms per", unit))
}

# From 0, or on a logarithmic axis from a tenth of a false alarm.
far_limits <- function(curves, log) {
  least <- 0.1 / max(vapply(curves, `[[`, 0, "area"))
  c(if (identical(log, "x")) least else 0, farthest(curves))
}

# A staircase: between two scores of targets only false alarms are added.
draw_steps <- function(curve, col, lty) {
  edge <- graphics::par("usr")[1:2]
  edge <- if (graphics::par("xlog")) 10^edge else c(0, edge[2])
  far <- pmax(curve$far, edge[1])
  graphics::lines(c(edge[1], rep(far, each = 2), max(edge[2], far)), rep(c(0, curve$pd), each = 2),
                  col = col, lty = lty, lwd = 2)
}
