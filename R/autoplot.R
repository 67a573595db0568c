# The plots of plot() for ggplot2, as objects that can be changed; registered when ggplot2 is
# loaded.

#' Plots for ggplot2
#'
#' `ggplot2::autoplot()` shows what `plot()` shows, as an object of ggplot2 to add themes and
#' scales to.
#'
#' @param object a fitted model, [bags()], or what [mil_roc()], [mil_tune()] or
#'   [paper_experiment()] returned.
#' @param what `"atoms"`: atoms, signatures or weights, as images or curves; `"objective"`: by
#'   iteration, of all starts.
#' @param n_bags,n_instances how many bags of each label, and how many instances of each, to show.
#' @param run,unit which run and unit of an experiment; by default the first.
#' @param ... nothing: an unknown argument is an error.
#' @return An object of ggplot2.
#' @name autoplot.mil_model
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, image_dim = c(6, 6))
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' ggplot2::autoplot(fit)
#' ggplot2::autoplot(mil_roc(fit, b)) + ggplot2::theme_minimal()
NULL

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.mil_model <- function(object, what = c("atoms", "objective"), ...) {
  check_dots_empty(..., known = names(formals()))
  what <- check_choice(what, c("atoms", "objective"), "what")
  validate_model(object)
  if (what == "objective") return(autoplot_objective(object))
  long <- tidy(object)
  long$instance <- long$atom <- factor(long$atom, unique(long$atom))
  # Each atom on limits of its own that are symmetric about 0, as plot() draws them.
  if (!is.null(object$image_dim))
    long$value <- long$value / stats::ave(abs(long$value), long$atom,
                                          FUN = function(v) max(v, 1e-300))
  feature <- rep(seq_len(object$n_features), each = nlevels(long$atom))
  draw_instances(long, feature, object$image_dim, "atom", "role", c(-1, 1))
}

autoplot_objective <- function(object) {
  path <- tidy_trace(object)
  path$start <- factor(path$start)
  ggplot2::ggplot(path, ggplot2::aes(.data$iteration, .data$objective, group = .data$start)) +
    ggplot2::geom_line(colour = background_colour,
                       alpha = if (nlevels(path$start) > 1) 0.6 else 1) +
    ggplot2::geom_point(colour = background_colour, size = 0.7)
}

# One panel per value of `panel`: images if they are, curves otherwise. `feature` numbers the rows of
# `long`.
draw_instances <- function(long, feature, image_dim, panel, role, limits) {
  facet <- ggplot2::facet_wrap(ggplot2::vars(.data[[panel]]))
  if (is.null(image_dim)) {
    long$.feature <- feature
    colours <- c(target = target_colour, background = background_colour)
    each <- ggplot2::aes(.data$.feature, .data$value, group = .data$instance,
                         colour = .data[[role]])
    curves <- ggplot2::ggplot(long, each) + ggplot2::geom_line() + facet +
      ggplot2::labs(x = "feature", y = NULL, colour = role)
    if (all(long[[role]] %in% names(colours)))
      curves <- curves + ggplot2::scale_colour_manual(values = colours)
    return(curves)
  }
  long$.row <- (feature - 1) %% image_dim[1] + 1
  long$.column <- (feature - 1) %/% image_dim[1] + 1
  ggplot2::ggplot(long, ggplot2::aes(.data$.column, .data$.row,
                                     fill = .data$value)) + ggplot2::geom_raster() + facet +
    ggplot2::scale_y_reverse() + ggplot2::scale_fill_gradient(low = "black", high = "white",
                                                              limits = limits) +
    ggplot2::coord_equal(expand = FALSE) + ggplot2::theme_void() + ggplot2::theme(legend.position = "none")
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
  d <- nrow(object$x)
  nth <- stats::ave(seq_along(columns), bag, FUN = seq_along)
  name <- paste0("bag ", object$ids, ": ", object$classes[1 + object$label])
  if (!is.null(object$image_dim)) name <- paste0(name[bag], ", ", nth) else name <- name[bag]
  long <- data.frame(bag = rep(factor(name, unique(name)), each = d), instance = rep(nth, each = d),
                     label = rep(ifelse(object$label[bag], "target", "background"), each = d),
                     value = as.vector(object$x[, columns]))
  draw_instances(long, rep(seq_len(d), length(columns)), object$image_dim, "bag", "label",
                 range(long$value)) +
    ggplot2::guides(colour = "none")
}

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.mil_roc <- function(object, ...) {
  check_dots_empty(...)
  draw_rocs(list(object), "")
}

# One curve, or several with a legend.
draw_rocs <- function(curves, labels) {
  text <- paste0(labels, ifelse(labels == "", "", ", "), "AUC ", vapply(curves, format_auc, ""))
  long <- do.call(rbind, lapply(seq_along(curves), function(i)
    data.frame(curve = factor(text[i], unique(text)), roc_vertices(curves[[i]]))))
  ggplot2::ggplot(long, ggplot2::aes(.data$fpr, .data$tpr, colour = .data$curve)) +
    ggplot2::geom_abline(intercept = 0, slope = 1, colour = "grey70") + ggplot2::geom_path() +
    ggplot2::scale_colour_manual(values = rep_len(okabe_ito, length(curves)), name = NULL) +
    ggplot2::coord_equal(xlim = c(0, 1), ylim = c(0, 1)) +
    ggplot2::labs(x = "False positive rate", y = "True positive rate")
}

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.mil_tune <- function(object, ...) {
  check_dots_empty(...)
  table <- tidy(object)
  ggplot2::ggplot(table, ggplot2::aes(.data$configuration, .data$mean, colour = .data$chosen)) +
    ggplot2::geom_pointrange(ggplot2::aes(ymin = .data$mean - .data$se,
                                          ymax = .data$mean + .data$se), na.rm = TRUE) +
    ggplot2::scale_colour_manual(values = c(`FALSE` = background_colour, `TRUE` = target_colour),
                                 guide = "none") +
    ggplot2::labs(y = paste(object$measure$level, object$measure$metric))
}

#' @rdname autoplot.mil_model
#' @exportS3Method ggplot2::autoplot
autoplot.paper_experiment <- function(object, run = NULL, unit = NULL, ...) {
  check_dots_empty(..., known = names(formals()))
  tasks <- object$tasks
  i <- which(tasks$run == (if (is.null(run)) tasks$run[1] else run) &
               tasks$unit == (if (is.null(unit)) tasks$unit[1] else unit))
  if (!length(i))
    stop_fumi("`run` and `unit` must be among those of the experiment, not ", describe(run),
              " and ", describe(unit), ".")
  draw_rocs(lapply(i, task_roc, x = object), paste0(tasks$method[i], ", ",
                                                    setting_label(tasks[i, ])))
}
