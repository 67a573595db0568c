#' Plots of a fit
#'
#' `plot()` shows what a fit of any method has learned, and how it scores bags.
#'
#' If instances are not images, features are on the horizontal axis. Names such as `900 nm` or
#' `t017ms` become numbers with their unit as axis label, and up to twelve other names are shown;
#' otherwise the argument `axis` of [bags()] can give the numbers.
#'
#' Each picture has its own grey scale, from its lowest to its highest value. The grey scale of
#' weights of classifiers and signatures of [mi_ace()], whose signs have a meaning, is symmetric
#' about 0. A line under the pictures says which.
#'
#' @param x a fitted model.
#' @param what `"atoms"` (default): what the method has learned in the space of the features, as
#'   images or as curves, target atoms first and framed. These are atoms, signatures
#'   (`"signatures"` is a synonym), the target and its scales ([em_dd()]), weights of a linear
#'   classifier (`"weights"` is a synonym), or, largest weights first, the instances that [miles()]
#'   selected and the support vectors of [mi_svm()] with another kernel. `"objective"`: the
#'   objective by iteration, for all starts. `"scores"`: the scores of all bags of `new_data` by
#'   label, with the threshold. `"bag"`: the instances of one bag with their numbers and scores,
#'   highest first.
#' @param new_data [bags()], for `"scores"` and `"bag"`, which need them: a fit keeps no training
#'   data.
#' @param bag number or id, default 1, for `"bag"`: which bag of `new_data`.
#' @param ... for `"scores"` and `"bag"`, passed to [predict.mil_model()].
#' @return The fit, invisibly.
#' @seealso [autoplot.mil_model()] for ggplot2.
#' @aliases plot.dlfumi plot.mi_ace plot.dmil plot.mi_he
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 30, image_dim = c(8, 8))
#' fit <- dlfumi(b, n_target = 1, n_background = 5)
#' plot(fit)
#' plot(fit, "objective")
#' plot(fit, "scores", new_data = b)
#' plot(fit, "bag", new_data = b, bag = 1)
#' plot(mi_svm(b, kernel = "linear"))
#' @export
plot.mil_model <- function(x, what = c("atoms", "objective", "scores", "bag", "signatures",
                                       "weights"), ..., new_data = NULL, bag = 1) {
  what <- check_choice(what, plot_kinds, "what")
  if (!what %in% c("scores", "bag")) check_dots_empty(..., known = names(formals()))
  validate_model(x, "x")
  switch(what, objective = plot_objective(x), scores = plot_scores(x, new_data, ...),
         bag = plot_bag(x, new_data, bag, ...), plot_atoms(x))
  invisible(x)
}

plot_kinds <- c("atoms", "objective", "scores", "bag", "signatures", "weights")

# ---- what was learned ----------------------------------------------------------------------------

plot_atoms <- function(x, call = rlang::caller_env()) {
  shown <- learned_parts(x, call)
  if (!is.null(x$image_dim))
    return(picture_page(shown$values, x$image_dim, shown$name, shown$frame, shown$group,
                        shown$limits, shown$main))
  curve_page(curve_panels(shown), feature_axis(x$features, x$axis, x$n_features), shown$ylab,
             shown$main, share = !"scale" %in% shown$group)
}

# What a method has learned, for plots: `values` (features x parts); the `name`, `colour`, `frame`
# (of its picture) and `group` (parts drawn together) of each part; the `limits` of pictures, see
# picture_page(); and the title, `main`.
learned_parts <- function(x, call = rlang::caller_env()) {
  if (inherits(x, "miles") && length(x$selected))
    return(weighted_instances(x$instances, x$weights, x$selected,
                              "Instances that were kept: number and weight"))
  if (inherits(x, "mi_svm") && !is.null(x$model$support))
    return(weighted_instances(x$model$support, x$model$alpha,
                              rank(-abs(x$model$alpha), ties.method = "first"),
                              "Support vectors: rank and weight"))
  atoms <- learned_matrix(x, call)
  role <- atom_roles(x, atoms)
  # A single scale for all features is a number, not a picture.
  if (inherits(x, c("diverse_density", "em_dd")) && !is.unsorted(-range(atoms["scale", ]))) {
    atoms <- atoms["target", , drop = FALSE]
    role <- "target"
  }
  signed <- inherits(x, c("mi_ace", "sil", "mi_svm", "mmdl"))
  other <- role %in% c("background", "scale")
  colour <- ifelse(other, background_colour, target_colour)
  list(values = t(atoms), name = part_names(rownames(atoms)), group = role, colour = colour,
       frame = if (inherits(x, "dmil")) colour else ifelse(other, "grey70", colour),
       limits = if (signed) "zero" else "own", ylab = if (signed) "weight" else "")
}

# The 24 columns of `instances` with the largest weights, those that speak for a target first.
weighted_instances <- function(instances, weight, number, main) {
  first <- utils::head(order(-abs(weight)), 24)
  first <- first[order(-sign(weight[first]))]
  positive <- weight[first] > 0
  colour <- ifelse(positive, target_colour, background_colour)
  list(values = unname(instances[, first, drop = FALSE]),
       name = sprintf("%.0f: %+.2g", number[first], weight[first]),
       group = ifelse(positive, "weight > 0", "weight < 0"),
       colour = colour, frame = colour, limits = "own", ylab = "", main = main)
}

learned_matrix <- function(x, call) {
  atoms <- tryCatch(atom_matrix(x), fumi_error_no_meaning = function(e) NULL)
  if (!is.null(atoms) && nrow(atoms)) return(atoms)
  stop_fumi("`x` must have atoms or weights of features to plot, but this model of class ",
            class(x)[1], " has none: `plot(x, \"scores\", new_data = bags)` shows the scores of ",
            "bags, `plot(x, \"bag\", new_data = bags)` the instances of one.", class = "no_meaning",
            call = call)
}

# "target1" is written "target 1".
part_names <- function(name) sub("([a-z])([0-9])", "\\1 \\2", name)

# Up to six curves of a kind share a panel with a legend; seven to thirty have a panel each; more
# share one panel again.
curve_panels <- function(shown) {
  count <- table(factor(shown$group, unique(shown$group)))
  if (max(count) > 6 && length(shown$name) <= 30)
    return(lapply(seq_along(shown$name), function(k)
      list(x = shown$values[, k, drop = FALSE], col = shown$colour[k], main = shown$name[k])))
  lapply(names(count), function(group) {
    mine <- which(shown$group == group)
    several <- length(mine) %in% 2:6
    crowd <- if (length(mine) > 6) 0.5 else 1
    list(x = shown$values[, mine, drop = FALSE], main = panel_title(shown$name[mine], group),
         col = if (several) shades_of(shown$colour[mine[1]], length(mine)) else
           grDevices::adjustcolor(shown$colour[mine], crowd),
         key = if (several) shown$name[mine])
  })
}

# Up to six colours for curves of a kind, which begin with `first`, the colour of the kind, and have
# that of no other kind.
shades_of <- function(first, n)
  c(first, setdiff(okabe_ito, c(target_colour, background_colour)))[seq_len(n)]

panel_title <- function(name, group) {
  if (length(name) == 1) return(name)
  word <- unique(sub(" [0-9]+$", "", name))
  if (startsWith(group, "weight")) paste("instances of", group)
  else if (identical(word, group)) paste(group, "atoms")
  else if (length(word) == 1) paste0(word, "s") else group
}

# The objective by start and iteration, and which of the starts are the `best` one.
objective_path <- function(x, call = rlang::caller_env(2)) {
  if (is.null(x$starts))
    stop_fumi("`what` must not be \"objective\" for a model of class ", class(x)[1],
              ", which keeps no objective by iteration.", class = "no_meaning", call = call)
  path <- loss_path(x)
  if (is.null(path))
    stop_fumi("`x` must have at least one iteration to plot its objective.", class = "no_data",
              call = call)
  last <- x$objective
  if (is.data.frame(last)) last <- last$objective[nrow(last)]
  ends <- tapply(path$objective, path$start, function(v) v[length(v)])
  best <- if (!is.null(x$start_objective)) which.min(x$start_objective)
          else if (is.null(last)) 1 else which.min(abs(ends - last))
  path$best <- path$start == names(ends)[best]
  path
}

objective_title <- function(path)
  paste0("Objective by iteration", if (!all(path$best)) ", the best start in orange")

plot_objective <- function(x) {
  path <- objective_path(x)
  best <- path[path$best, ]
  old <- graphics::par(mar = c(3.2, 4.5, 1.8, 1), mgp = c(2, 0.5, 0), tcl = -0.25)
  on.exit(graphics::par(old))
  graphics::plot(range(path$iteration), range(path$objective), type = "n", xlab = "iteration",
                 ylab = "", las = 1, bty = "l", xaxt = "n")
  fitted_title(objective_title(path))
  graphics::axis(1, whole_numbers(path$iteration))
  for (part in split(path, path$start))
    graphics::lines(part$iteration, part$objective, col = "grey75")
  graphics::lines(best$iteration, best$objective, type = if (nrow(best) < 2) "p" else "l", lwd = 2,
                  col = target_colour)
}

whole_numbers <- function(x) unique(round(pretty(range(x))))

# ---- one bag -------------------------------------------------------------------------------------

plot_bag <- function(x, new_data, bag, ..., call = rlang::caller_env()) {
  shown <- scored_bag(x, new_data, bag, ..., call = call)
  colour <- ifelse(shown$score > shown$cut, target_colour, "grey70")
  if (is.null(x$image_dim)) return(plot_instance_scores(shown, colour))
  picture_page(shown$instances, x$image_dim, shown$name, colour, limits = range(shown$instances),
               main = shown$title)
}

# The instances of one bag by decreasing score, each with its number and score as `name`, and the
# threshold of instances, infinite if there is none.
scored_bag <- function(x, new_data, bag, ..., call = rlang::caller_env()) {
  check_plotted_bags(new_data, call)
  one <- new_data[bag_index(new_data, bag, "bag", call)]
  if (length(one) != 1) stop_fumi("`bag` must name one bag, not ", length(one), ".", call = call)
  score <- predict(x, one, ...)$.score
  if (is.null(score)) stop_fumi("`type` must be \"score\" to plot a bag.", call = call)
  rank <- order(score, decreasing = TRUE)
  cut <- calibration_of(x)$instance$threshold
  if (is.null(cut) || is.na(cut)) cut <- Inf
  title <- paste0("bag ", one$ids, " (label ", one$classes[1 + one$label], "): score by instance",
                  if (is.finite(cut)) paste0(", threshold ", format(cut, digits = 3)))
  list(score = score[rank], rank = rank, cut = cut, title = title,
       name = paste0(rank, ": ", vapply(score[rank], format, "", digits = 3)),
       instances = t(as.matrix(one))[, rank, drop = FALSE])
}

check_plotted_bags <- function(new_data, call) {
  if (!inherits(new_data, "bags"))
    stop_fumi("`new_data` must be bags: a fit keeps no training data, and `new_data` is ",
              describe(new_data), ".", class = "no_data", call = call)
}

# Bars from the threshold: those above it rise, all others fall.
plot_instance_scores <- function(shown, colour) {
  cut <- if (is.finite(shown$cut)) shown$cut
  from <- if (is.null(cut)) 0 else cut
  old <- graphics::par(mar = c(3.2, 4, 1.8, 0.5), mgp = c(2, 0.5, 0), tcl = -0.25)
  on.exit(graphics::par(old))
  graphics::barplot(shown$score - from, names.arg = shown$rank, col = colour, border = NA, las = 1,
                    xlab = "instance", offset = from, ylim = range(from, shown$score))
  fitted_title(shown$title)
  graphics::mtext("score", 2, 2.9)
  graphics::abline(h = cut, lty = 2, col = "grey30")
}

#' Plot bags
#'
#' Shows the first instances of some bags: as pictures (one row per bag, all with the same grey
#' scale) if instances are images, otherwise as curves.
#'
#' @param x [bags()].
#' @param n_bags,n_instances whole numbers >= 1, default 3 and 8: number of bags per label, and of
#'   instances per bag, to show.
#' @param ... must be empty: an unknown argument is an error.
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
  if (!is.null(x$image_dim)) {
    bag <- rep(shown, lengths(columns))
    name <- in_lines(name, 24)
    picture_page(x$x[, unlist(columns), drop = FALSE], x$image_dim,
                 ifelse(duplicated(bag), "", name[bag]), colour[bag], bag, range(x$x),
                 n_col = max(lengths(columns)), by_row = TRUE)
    return(invisible(x))
  }
  panels <- lapply(seq_along(shown), function(s)
    list(x = x$x[, columns[[s]], drop = FALSE], main = name[shown[s]],
         col = grDevices::adjustcolor(colour[shown[s]], 0.7)))
  curve_page(panels, feature_axis(x$features, x$axis, nrow(x$x)))
  invisible(x)
}
