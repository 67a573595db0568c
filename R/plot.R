#' Plots of a DL-FUMI fit
#'
#' @param x a fit made by [dlfumi()] or [mi_he()].
#' @param what `"atoms"`: the atoms as images, target atoms first and framed, each on limits
#'   symmetric about 0; or as curves if instances are no images. `"objective"`: the objective by
#'   iteration, of all starts. `"bag"`: the instances of one bag with their scores, highest first.
#' @param new_data,bag for `"bag"`: [bags()] (a fit keeps no training data) and the id or number of
#'   the bag.
#' @param ... for `"bag"`, passed to [predict.mil_model()].
#' @return The fit, invisibly.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20, image_dim = c(8, 8))
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' plot(fit)
#' plot(fit, "objective")
#' plot(fit, "bag", new_data = b, bag = 1)
#' @export
plot.dlfumi <- function(x, what = c("atoms", "objective", "bag"), ..., new_data = NULL, bag = 1) {
  what <- check_choice(what, c("atoms", "objective", "bag"), "what")
  if (what != "bag") check_dots_empty(..., known = names(formals()))
  validate_model(x, "x")
  switch(what, atoms = plot_atoms(x), objective = plot_objective(x),
         bag = plot_bag(x, new_data, bag, ...))
  invisible(x)
}

plot_atoms <- function(x) {
  target <- seq_len(ncol(x$dictionary)) <= x$n_target
  if (is.null(x$image_dim)) {
    old <- graphics::par(mfrow = c(2, 1), mar = c(4, 4, 2, 1))
    on.exit(graphics::par(old))
    draw_feature_curves(x$dictionary[, target, drop = FALSE], target_colour, "target atoms")
    return(draw_feature_curves(x$dictionary[, !target, drop = FALSE], background_colour,
                               "background atoms"))
  }
  name <- sub("([a-z])([0-9])", "\\1 \\2", colnames(x$dictionary))
  if (length(name) > 60) name <- sub("background ", "", name)
  draw <- lapply(seq_along(target), function(k) function()
    draw_picture(x$dictionary[, k], x$image_dim, name[k],
                 if (target[k]) target_colour else "grey70", if (target[k]) 2.5 else 1))
  picture_grid(target, draw)
}

plot_objective <- function(x) {
  path <- loss_path(x)
  if (is.null(path))
    stop_fumi("`x` must have at least one iteration to plot its objective.", class = "no_data",
              call = rlang::caller_env())
  best <- x$objective
  graphics::plot(range(path$iteration), range(path$objective), type = "n", xlab = "iteration",
                 ylab = "objective", las = 1, bty = "n", main = "Objective by iteration",
                 font.main = 1)
  for (part in split(path, path$start))
    graphics::lines(part$iteration, part$objective, col = "grey75")
  graphics::lines(best$iteration, best$objective, type = if (nrow(best) < 2) "p" else "l", lwd = 2,
                  col = target_colour)
}

plot_bag <- function(x, new_data, bag, ..., call = rlang::caller_env()) {
  if (!inherits(new_data, "bags"))
    stop_fumi("`new_data` must be bags: a fit keeps no training data, and `new_data` is ",
              describe(new_data), ".", class = "no_data", call = call)
  one <- new_data[bag_index(new_data, bag, "bag", call)]
  if (length(one) != 1) stop_fumi("`bag` must name one bag, not ", length(one), ".", call = call)
  score <- predict(x, one, ...)$.score
  if (is.null(score)) stop_fumi("`type` must be \"score\" to plot a bag.", call = call)
  rank <- order(score, decreasing = TRUE)
  instances <- as.matrix(one)
  cut <- calibration_of(x)$instance$threshold
  if (is.null(cut) || is.na(cut)) cut <- Inf
  title <- paste0("bag ", one$ids, " (label ", one$classes[1 + one$label], "): score by instance")
  if (is.null(x$image_dim)) {
    colour <- ifelse(score[rank] > cut, target_colour, "grey60")
    graphics::barplot(score[rank], names.arg = rank, col = colour, border = NA, las = 1,
                      xlab = "instance", ylab = "score", main = title, font.main = 1)
    return(graphics::abline(h = cut, lty = 2, col = "grey30"))
  }
  limits <- range(instances)
  draw <- lapply(rank, function(i) function()
    draw_picture(instances[i, ], x$image_dim, format(score[i], digits = 3),
                 if (score[i] > cut) target_colour else "grey70", if (score[i] > cut) 2.5
                 else 1, limits))
  picture_grid(rep(1, length(rank)), draw, main = title)
}

#' Plot bags
#'
#' Shows the first instances of some bags: as pictures (one row per bag) if instances are images,
#' else as curves.
#'
#' @param x [bags()].
#' @param n_bags,n_instances how many bags of each label, and how many instances of each, to show.
#' @param ... nothing: an unknown argument is an error.
#' @return The bags, invisibly.
#' @examples
#' set.seed(1)
#' plot(sim_bags(n_bags = 10, image_dim = c(8, 8)))
#' @export
plot.bags <- function(x, n_bags = 3, n_instances = 8, ...) {
  check_dots_empty(..., known = names(formals()))
  n_bags <- check_count(n_bags, "n_bags")
  n_instances <- check_count(n_instances, "n_instances")
  if (length(x$ids) == 0) stop_fumi("`x` must have at least one bag to plot.", class = "empty")
  x <- dense_bags(x, "a plot")
  shown <- c(utils::head(which(x$label), n_bags), utils::head(which(!x$label), n_bags))
  name <- paste0("bag ", x$ids, ": ", x$classes[1 + x$label])
  colour <- ifelse(x$label, target_colour, background_colour)
  columns <- lapply(shown, function(j) utils::head(which(x$bag == j), n_instances))
  if (is.null(x$image_dim)) {
    old <- graphics::par(mfrow = grDevices::n2mfrow(length(shown)), mar = c(4, 4, 2, 1))
    on.exit(graphics::par(old))
    for (s in seq_along(shown))
      draw_feature_curves(x$x[, columns[[s]], drop = FALSE], colour[shown[s]], name[shown[s]])
    return(invisible(x))
  }
  limits <- range(x$x)
  draw <- lapply(seq_along(shown), function(s) lapply(columns[[s]], function(i) function()
    draw_picture(x$x[, i], x$image_dim, if (i == columns[[s]][1]) name[shown[s]] else "",
                 colour[shown[s]], 1, limits)))
  picture_grid(rep(shown, lengths(columns)), do.call(c, draw), n_col = max(lengths(columns)))
  invisible(x)
}
