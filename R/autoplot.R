# What plot() draws, as ggplot2 objects; the methods are registered when ggplot2 is loaded.

#' Plots for ggplot2
#'
#' `ggplot2::autoplot()` shows what `plot()` shows, as a ggplot2 object to which you can add themes
#' and scales.
#'
#' @param object a fitted model, [bags()], or what [mil_roc()], [mil_benchmark()], [mil_explain()],
#'   [pd_far()], [mil_tune()] or [paper_experiment()] returned.
#' @param what,new_data,bag as in [plot.mil_model()].
#' @param n_bags,n_instances whole numbers >= 1, default 3 and 8: number of bags per label, and of
#'   instances per bag, to show.
#' @param n whole number >= 1, default 6: number of instances to show.
#' @param labels `NULL` (default), or names of the curves, as in [plot.mil_roc()].
#' @param run,unit `NULL` (default: the first), or a number: which run and unit of an experiment.
#' @param ... for curves: further curves, named or not. For `what = "scores"` and `"bag"`, passed
#'   to [predict.mil_model()]. Otherwise it must be empty: an unknown argument is an error.
#' @return A ggplot2 object.
#' @name autoplot.mil_model
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, image_dim = c(6, 6))
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' ggplot2::autoplot(fit)
#' ggplot2::autoplot(fit, "scores", new_data = b)
#' ggplot2::autoplot(mil_roc(fit, b)) + ggplot2::theme_minimal()
NULL

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.mil_model <- function(object, what = c("atoms", "objective", "scores", "bag",
                                                "signatures", "weights"), ...,
                               new_data = NULL, bag = 1) {
  what <- check_choice(what, plot_kinds, "what")
  if (!what %in% c("scores", "bag")) check_dots_empty(..., known = names(formals()))
  validate_model(object)
  switch(what, objective = autoplot_objective(object),
         scores = autoplot_scores(object, new_data, ...),
         bag = autoplot_bag(object, new_data, bag, ...), autoplot_atoms(object))
}

autoplot_atoms <- function(object, call = rlang::caller_env()) {
  shown <- learned_parts(object, call)
  role <- ifelse(shown$colour == target_colour, "target", "background")
  if (!is.null(object$image_dim)) return(autoplot_pictures(shown, role, object$image_dim))
  crowd <- length(shown$name) > 12
  long <- long_parts(shown$values, if (crowd) short_titles(shown$name) else shown$name, role)
  names(long)[1] <- "atom"
  draw_instances(long, feature_axis(object$features, object$axis, object$n_features), "atom",
                 "role", scales = if ("scale" %in% shown$group) "free_y" else "fixed") +
    ggplot2::labs(title = shown$main, y = shown$ylab) + ggplot2::guides(colour = "none")
}

# Each picture has its own limits, as in plot().
autoplot_pictures <- function(shown, role, image_dim) {
  value <- apply(shown$values, 2, function(v) {
    limits <- picture_limits(v, shown$limits)
    if (diff(limits) > 0) (v - limits[1]) / diff(limits) else rep(0.5, length(v))
  })
  crowd <- length(shown$name) > 12 || is_narrow(image_dim)
  long <- long_parts(value, if (crowd) short_titles(shown$name) else shown$name, role)
  names(long)[1] <- "atom"
  framed <- rep(shown$frame, each = nrow(value))
  draw_pictures(long, image_dim, 0:1, "atom", framed) +
    ggplot2::labs(title = shown$main, caption = in_lines(limits_note(shown$limits), 60))
}

# One row per feature of each column of `values`.
long_parts <- function(values, name, role) {
  n <- nrow(values)
  data.frame(part = rep(factor(name, unique(name)), each = n), role = rep(role, each = n),
             instance = rep(seq_along(name), each = n), .feature = rep(seq_len(n), length(name)),
             value = as.vector(values))
}

autoplot_objective <- function(object) {
  path <- objective_path(object)
  path <- path[order(path$best), ]
  path$start <- factor(path$start, unique(path$start))
  ggplot2::ggplot(path, ggplot2::aes(.data$iteration, .data$objective, group = .data$start,
                                     colour = .data$best)) +
    lines_if_several(path$start) + ggplot2::geom_point(size = 0.7) +
    ggplot2::scale_colour_manual(values = c(`FALSE` = "grey65", `TRUE` = target_colour),
                                 guide = "none") +
    ggplot2::scale_x_continuous(breaks = whole_numbers) +
    ggplot2::labs(title = objective_title(path)) + small_title()
}

# For titles that are sentences.
small_title <- function()
  ggplot2::theme(plot.title = ggplot2::element_text(size = ggplot2::rel(1)))

# No line through a single point, of which ggplot2 would complain.
lines_if_several <- function(group, ...) if (anyDuplicated(group)) ggplot2::geom_line(...)

autoplot_scores <- function(object, new_data, ..., call = rlang::caller_env()) {
  said <- bag_scores(object, new_data, ..., call = call)
  log <- is_ratio(said$score)
  row <- as.integer(said$label)
  log_axis <- if (log) "x" else ""
  said$offset <- beside(said$score, row, log_axis)
  label <- levels(said$label)
  plot <- ggplot2::ggplot(said, ggplot2::aes(.data$score, as.integer(.data$label) + .data$offset,
                                             colour = .data$positive)) +
    ggplot2::geom_point(alpha = 0.7) + two_colours() +
    ggplot2::scale_y_continuous(breaks = seq_along(label), limits = c(0.5, length(label) + 0.5),
                                labels = rows_of_scores(said)) +
    ggplot2::labs(x = "score of the bag", y = NULL, title = scores_title(said)) + small_title()
  if (log) plot <- plot + ggplot2::scale_x_log10()
  cut <- drawn_threshold(said, log_axis)
  if (is.na(cut)) return(plot)
  plot + ggplot2::geom_vline(xintercept = cut, linetype = 2, colour = "grey30")
}

two_colours <- function() ggplot2::scale_colour_manual(
  values = c(`FALSE` = background_colour, `TRUE` = target_colour), guide = "none")

autoplot_bag <- function(object, new_data, bag, ..., call = rlang::caller_env()) {
  shown <- scored_bag(object, new_data, bag, ..., call = call)
  title <- ggplot2::labs(title = in_lines(shown$title, 60))
  if (!is.null(object$image_dim)) {
    long <- long_parts(shown$instances, shown$name, "instance")
    framed <- ifelse(shown$score[long$instance] > shown$cut, target_colour, "grey70")
    limits <- range(long$value)
    return(draw_pictures(long, object$image_dim, limits, "part", framed) + title +
             ggplot2::labs(caption = limits_note(limits)))
  }
  d <- data.frame(instance = factor(shown$rank, shown$rank), score = shown$score,
                  above = shown$score > shown$cut, place = seq_along(shown$rank),
                  from = if (is.finite(shown$cut)) shown$cut else 0)
  bars <- ggplot2::aes(xmin = .data$place - 0.45, xmax = .data$place + 0.45, ymin = .data$from,
                       ymax = .data$score)
  ggplot2::ggplot(d, ggplot2::aes(.data$instance, .data$score, fill = .data$above)) +
    ggplot2::scale_x_discrete(guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::geom_rect(bars) + title + small_title() +
    ggplot2::scale_fill_manual(values = c(`FALSE` = "grey70", `TRUE` = target_colour),
                               guide = "none") +
    if (is.finite(shown$cut)) ggplot2::geom_hline(yintercept = shown$cut, linetype = 2)
}

# One panel with curves over `axis` per value of `panel`.
draw_instances <- function(long, axis, panel, role, scales = "fixed") {
  long$.at <- axis$at[long$.feature]
  n <- length(unique(long[[panel]]))
  colours <- c(target = target_colour, background = background_colour)
  plot <- ggplot2::ggplot(long, ggplot2::aes(.data$.at, .data$value, group = .data$instance,
                                             colour = .data[[role]])) +
    lines_if_several(long$instance) +
    ggplot2::facet_wrap(ggplot2::vars(.data[[panel]]), scales = scales) +
    ggplot2::scale_y_continuous(guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    feature_scale(axis, n > 1) + ggplot2::labs(x = axis$label, y = NULL, colour = role)
  if (length(axis$at) <= most_names) plot <- plot + ggplot2::geom_point(size = 0.8)
  if (n > 12) plot <- plot + ggplot2::theme(
    strip.text = ggplot2::element_text(size = ggplot2::rel(0.7),
                                       margin = ggplot2::margin(1, 0, 1, 0)))
  if (all(long[[role]] %in% names(colours)))
    plot <- plot + ggplot2::scale_colour_manual(values = colours)
  plot
}

# Names that do not overlap, turned if they are long; or numbers within the range of the data.
feature_scale <- function(axis, several) {
  turn <- if (any(nchar(axis$names) > 2)) 90
  within <- function(limits) {
    at <- pretty(limits, if (several) 3 else 5)
    at[at >= limits[1] & at <= limits[2]]
  }
  ggplot2::scale_x_continuous(
    breaks = if (is.null(axis$names)) within else axis$at,
    labels = if (is.null(axis$names)) ggplot2::waiver() else short_names(axis$names),
    guide = ggplot2::guide_axis(angle = turn, check.overlap = TRUE))
}

# One picture per value of `panel`. `framed`: the colour of its frame, one per row of `long`.
draw_pictures <- function(long, image_dim, limits, panel, framed) {
  n <- length(unique(long[[panel]]))
  small <- if (n > 30) 0.45 else if (n > 12) 0.6 else if (n > 6) 0.75 else 0.9
  draw_rasters(long, image_dim, limits) + draw_frames(long, image_dim, framed) +
    ggplot2::facet_wrap(ggplot2::vars(.data[[panel]]), ncol = picture_columns(n, image_dim)) +
    ggplot2::theme(strip.text = ggplot2::element_text(size = ggplot2::rel(small),
                                                      margin = ggplot2::margin(2, 0, 3, 0)))
}

# Those that make pictures with titles largest on a page of three to two.
picture_columns <- function(n, image_dim) {
  columns <- seq_len(n)
  wide <- columns * max(image_dim[2], image_dim[1] / 2)
  which.max(pmin(1.5 / wide, 1 / (ceiling(n / columns) * 1.2 * image_dim[1])))
}

# Pictures that are narrower than their titles.
is_narrow <- function(image_dim) image_dim[2] < image_dim[1] / 3

draw_frames <- function(long, image_dim, framed) {
  long$.height <- image_dim[1]
  long$.width <- image_dim[2]
  place <- ggplot2::aes(xmin = 0.5, xmax = .data$.width + 0.5, ymin = 0.5,
                        ymax = .data$.height + 0.5)
  lapply(unique(framed), function(colour)
    ggplot2::geom_rect(place, long[long$.feature == 1 & framed == colour, ], fill = NA,
                       inherit.aes = FALSE, linewidth = if (colour == "grey70") 0.3 else 0.9,
                       colour = colour))
}

draw_rasters <- function(long, image_dim, limits) {
  long$.row <- (long$.feature - 1) %% image_dim[1] + 1
  long$.column <- (long$.feature - 1) %/% image_dim[1] + 1
  ggplot2::ggplot(long, ggplot2::aes(.data$.column, .data$.row, fill = .data$value)) +
    ggplot2::geom_raster() + ggplot2::scale_y_reverse() +
    ggplot2::scale_fill_gradient(low = "black", high = "white", limits = limits) +
    ggplot2::coord_equal(expand = FALSE, clip = "off") + ggplot2::theme_void() +
    ggplot2::theme(legend.position = "none", plot.caption.position = "plot",
                   plot.title.position = "plot", plot.margin = ggplot2::margin(3, 4, 3, 4),
                   panel.spacing = ggplot2::unit(4, "pt"),
                   panel.spacing.x = ggplot2::unit(if (is_narrow(image_dim)) 24 else 4, "pt"),
                   plot.caption = ggplot2::element_text(hjust = 0.5),
                   plot.title = ggplot2::element_text(hjust = 0.5, size = ggplot2::rel(1),
                                                      margin = ggplot2::margin(3, 0, 5, 0)))
}

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.bags <- function(object, n_bags = 3, n_instances = 8, ...) {
  check_dots_empty(..., known = names(formals()))
  n_bags <- check_count(n_bags, "n_bags")
  n_instances <- check_count(n_instances, "n_instances")
  if (length(object) == 0)
    stop_fumi("`object` must have at least one bag to plot.", class = "empty")
  object <- dense_bags(object, "a plot")
  shown <- c(utils::head(which(object$label), n_bags), utils::head(which(!object$label), n_bags))
  columns <- unlist(lapply(shown, function(j) utils::head(which(object$bag == j), n_instances)))
  bag <- object$bag[columns]
  name <- in_lines(paste0("bag ", object$ids, ": ", object$classes[1 + object$label]), 24)[bag]
  long <- long_parts(object$x[, columns, drop = FALSE], name,
                     ifelse(object$label[bag], "target", "background"))
  if (!is.null(object$image_dim)) {
    long$nth <- stats::ave(long$instance, long$part, long$.feature, FUN = seq_along)
    framed <- ifelse(long$role == "target", target_colour, background_colour)
    return(draw_rasters(long, object$image_dim, range(long$value)) +
             draw_frames(long, object$image_dim, framed) +
             ggplot2::facet_grid(ggplot2::vars(.data$part), ggplot2::vars(.data$nth),
                                 switch = "y") +
             ggplot2::theme(strip.text.x = ggplot2::element_blank(),
                            strip.text.y = ggplot2::element_text(margin = ggplot2::margin(r = 6))) +
             ggplot2::labs(caption = limits_note(range(long$value))))
  }
  draw_instances(long, feature_axis(object$features, object$axis, nrow(object$x)), "part",
                 "role") +
    ggplot2::guides(colour = "none")
}

# ---- curves --------------------------------------------------------------------------------------

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.mil_roc <- function(object, ..., labels = NULL) {
  curves <- given_curves(object, ..., class = "roc")
  draw_rocs(curves, given_labels(curves, labels))
}

given_curves <- function(object, ..., class, call = rlang::caller_env()) {
  curves <- c(list(object), list(...))
  odd <- !vapply(curves, inherits, NA, class)
  if (any(odd))
    stop_fumi("`...` must be further curves, not ", describe(curves[odd][[1]]), ".", class = "type",
              call = call)
  curves
}

given_labels <- function(curves, labels, call = rlang::caller_env()) {
  if (is.null(labels)) {
    if (length(curves) == 1) return("")
    labels <- rlang::names2(curves)
    labels[labels == ""] <- paste("curve", seq_along(curves))[labels == ""]
  }
  if (!is.character(labels) || length(labels) != length(curves))
    stop_fumi("`labels` must be one name for each of the ", length(curves), " curves, not ",
              describe(labels), ".", class = "dimension", call = call)
  labels
}

# One curve, or several with a legend.
draw_rocs <- function(curves, labels) {
  long <- long_curves(lapply(curves, roc_vertices), labels,
                      paste("AUC", vapply(curves, format_auc, "")))
  ggplot2::ggplot(long, ggplot2::aes(.data$fpr, .data$tpr, colour = .data$curve,
                                     linetype = .data$curve)) +
    ggplot2::geom_abline(intercept = 0, slope = 1, colour = "grey70") + ggplot2::geom_path() +
    curve_colours(levels(long$curve)) +
    ggplot2::coord_cartesian(xlim = c(0, 1), ylim = c(0, 1)) +
    ggplot2::labs(x = "False positive rate", y = "True positive rate")
}

long_curves <- function(curves, labels, areas) {
  text <- make.unique(paste0(in_lines(labels, 22), ifelse(labels == "", "", ", "), areas), " #")
  do.call(rbind, lapply(seq_along(curves), function(i)
    data.frame(curve = factor(text[i], text), curves[[i]])))
}

# The legend of several curves, or the title of one.
curve_colours <- function(labels) {
  n <- length(labels)
  one <- n == 1
  list(ggplot2::scale_colour_manual(values = rep_len(okabe_ito, n), name = NULL),
       ggplot2::scale_linetype_manual(values = line_types(n), name = NULL),
       if (one) ggplot2::guides(colour = "none", linetype = "none"),
       if (one) ggplot2::ggtitle(labels),
       if (n > 6) ggplot2::theme(legend.text = ggplot2::element_text(size = ggplot2::rel(0.75))),
       ggplot2::theme(legend.key.height = ggplot2::unit(
         if (any(grepl("\n", labels, fixed = TRUE))) 1.7 else 1.1, "lines")))
}

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.mil_benchmark <- function(object, ...) {
  check_dots_empty(...)
  draw_rocs(object$curves, names(object$curves))
}

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.pd_far <- function(object, ..., labels = NULL) {
  curves <- given_curves(object, ..., class = "pd_far")
  unit <- one_unit(curves)
  edge <- farthest(curves)
  steps <- lapply(curves, function(x) data.frame(
    far = c(0, rep(x$curve$far, each = 2), max(edge, x$curve$far)),
    pd = rep(c(0, x$curve$pd), each = 2)))
  areas <- sprintf("NAUC %.3f", vapply(curves, nauc, 0, far = edge))
  long <- long_curves(steps, given_labels(curves, labels), areas)
  ggplot2::ggplot(long, ggplot2::aes(.data$far, .data$pd, colour = .data$curve,
                                     linetype = .data$curve)) +
    ggplot2::geom_path() + curve_colours(levels(long$curve)) + ggplot2::ylim(0, 1) +
    ggplot2::labs(x = far_label(unit), y = "Probability of detection")
}

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.paper_experiment <- function(object, run = NULL, unit = NULL, ...) {
  check_dots_empty(..., known = names(formals()))
  shown <- setting_curves(object, if (is.null(run)) object$tasks$run[1] else run,
                          if (is.null(unit)) object$tasks$unit[1] else unit)
  plot <- draw_rocs(unname(shown$curves), names(shown$curves)) +
    ggplot2::labs(title = shown$title) + small_title()
  if (is.null(shown$points)) return(plot)
  plot + ggplot2::geom_point(ggplot2::aes(.data$fpr, .data$tpr, shape = .data$label), shown$points,
                             inherit.aes = FALSE, size = 2.5) +
    ggplot2::scale_shape_manual(values = c(16, 17, 15, 18, 1, 2, 0, 5), name = NULL)
}

# ---- what was tried, and why ---------------------------------------------------------------------

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.mil_tune <- function(object, ...) {
  check_dots_empty(...)
  tried <- tried_parameters(object)
  r <- tidy(object)
  ends <- ggplot2::aes(ymin = .data$mean - .data$se, ymax = .data$mean + .data$se)
  if (is.null(tried$x)) {
    text <- given_lines(tried$text)
    small <- if (any(grepl("\n", text, fixed = TRUE))) 0.6 else if (length(text) > 15) 0.7 else 0.9
    r$x <- factor(text, rev(unique(text)))
    plot <- ggplot2::ggplot(r, ggplot2::aes(.data$x, .data$mean, colour = .data$chosen)) +
      two_colours() + ggplot2::coord_flip() + ggplot2::labs(x = NULL, y = tried$wanted)
    return(plot + ggplot2::geom_pointrange(ends, na.rm = TRUE) +
             ggplot2::theme(axis.text.y = ggplot2::element_text(size = ggplot2::rel(small))))
  }
  r[c("x", "line")] <- tried[c("x", "line")]
  several <- nlevels(r$line) > 1
  together <- ggplot2::position_dodge(width = if (several) 0.1 else 0)
  ggplot2::ggplot(r, ggplot2::aes(.data$x, .data$mean, colour = .data$line, group = .data$line)) +
    ggplot2::geom_pointrange(ends, position = together, na.rm = TRUE) +
    lines_if_several(r$line, position = together, na.rm = TRUE) +
    ggplot2::geom_point(data = r[r$chosen, ], shape = 1, size = 6, stroke = 1.2,
                        colour = target_colour) +
    ggplot2::scale_colour_manual(values = okabe_ito, guide = if (several) "legend" else "none") +
    ggplot2::labs(x = tried$name[1], y = tried$wanted, colour = if (several) tried$name[2])
}

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.mil_explanation <- function(object, n = 6, ...) {
  check_dots_empty(..., known = names(formals()))
  shown <- utils::head(order(-object$score), check_count(n, "n"))
  if (!length(shown))
    stop_fumi("`object` must have at least one instance to plot.", class = "empty")
  image_dim <- attr(object, "image_dim")
  title <- paste0(explained_title(object, shown), ",\ndrop ", round(100 * object$drop[shown]), " %")
  if (!is.null(image_dim)) title <- gsub(": |,\n", "\n", title)
  said <- c(instances = "instance", with = "with target", without = "without")
  long <- do.call(rbind, lapply(explained_parts, function(part)
    long_parts(attr(object, part)[, object$instance[shown], drop = FALSE], title, said[[part]])))
  long$role <- factor(long$role, said)
  names(long)[1] <- "title"
  labels <- ggplot2::labs(title = attr(object, "title"))
  if (!is.null(image_dim)) {
    framed <- ifelse(long$role == "with target", target_colour, "grey70")
    limits <- range(long$value)
    return(draw_rasters(long, image_dim, limits) + draw_frames(long, image_dim, framed) + labels +
             ggplot2::facet_grid(ggplot2::vars(.data$role), ggplot2::vars(.data$title),
                                 switch = "y") +
             ggplot2::theme(strip.text.x = ggplot2::element_text(size = ggplot2::rel(0.8),
                                                                 margin = ggplot2::margin(b = 3)),
                            strip.text.y = ggplot2::element_text(margin = ggplot2::margin(r = 6))) +
             ggplot2::labs(caption = limits_note(limits)))
  }
  long$instance <- interaction(long$instance, long$role)
  draw_instances(long, attr(object, "axis"), "title", "role") + labels +
    ggplot2::scale_colour_manual(values = c("grey30", target_colour, background_colour),
                                 name = NULL) + ggplot2::theme(legend.position = "top")
}
