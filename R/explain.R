# Why an instance is called a target: what the target atoms add to its reconstruction.

#' @importFrom generics explain
#' @export
generics::explain

#' Why a bag is called positive
#'
#' Shows, for each instance of a bag, how much its reconstruction leaves unexplained with the
#' target atoms and without them. The explanation is part of the model itself: these residuals are
#' what the score is made of.
#'
#' The instance is coded once on all atoms; "without" omits the target atoms' part of that code, as
#' in eq. 7, so `without / with` is the score of [dlfumi()]. If several starts are averaged, the
#' best one is explained. For [e_fumi()], "without" is the convex mixture of background endmembers
#' nearest to the instance, as in its score. Instances are normalised as in the fit: to norm 1 for
#' `normalize = "unit"`.
#'
#' `explain()` does the same as `mil_explain()`. Other packages, such as dplyr, also have an
#' `explain()`, and R finds the one that was attached last; `mil_explain()` is always this one.
#'
#' @param x a fit made by [dlfumi()] or [e_fumi()]; for `plot()` and `print()`, what
#'   `mil_explain()` returned.
#' @param new_data [bags()], or instances as [predict.mil_model()] takes them.
#' @param bag `NULL` (default: the first), or the number or id of a bag in `new_data`, which may be
#'   [bags()], a data frame with a column `bag`, or a list of bags. Instances without bags are
#'   treated as one bag.
#' @param n whole number >= 1, default 6 for `plot()` and 10 for `print()`: number of instances to
#'   show, those with the highest score.
#' @param ... must be empty: an unknown argument is an error.
#' @return A data frame of class `mil_explanation`, one row per instance, in the order given:
#'   \item{instance}{the number of the instance within the bag}
#'   \item{prob, score}{as in [predict.mil_model()]}
#'   \item{atom}{the target atom that it uses most, `NA` if it uses none}
#'   \item{with, without}{squared norm of the residual of the reconstruction with and without
#'     target atoms}
#'   \item{drop}{`1 - with / without`: the share of the residual without target atoms that they
#'   explain} `plot()` shows the instances by decreasing score: as images, each above its
#'   reconstructions with and without target atoms, or as curves.
#' @name mil_explain
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, image_dim = c(6, 6))
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' why <- mil_explain(fit, b, bag = 1)
#' why
#' plot(why)
NULL

#' @rdname mil_explain
#' @export
mil_explain <- function(x, ...) UseMethod("mil_explain")

#' @rdname mil_explain
#' @export
#' @rawNamespace S3method(dplyr::explain, mil_model)
explain.mil_model <- function(x, ...) mil_explain(x, ...)

#' @rdname mil_explain
#' @export
mil_explain.default <- function(x, ...) {
  stop_fumi("`x` must be a fitted model, not ", describe(x), ".", class = "model")
}

#' @rdname mil_explain
#' @export
mil_explain.mil_model <- function(x, new_data, bag = NULL, ...) {
  check_dots_empty(..., known = names(formals()))
  if (!inherits(x, c("dlfumi", "e_fumi")))
    stop_fumi("`x` must be a fit of `dlfumi()` or `e_fumi()`, whose atoms explain an instance, ",
              "not one of class ", class(x)[1], ".", class = "no_meaning")
  validate_model(x, "x")
  if (missing(new_data))
    stop_fumi("`new_data` must be given: a fit keeps no training data.", class = "no_data")
  one <- one_bag(x, new_data, bag)
  columns <- one$x * rep(instance_scale(one$x, x$normalize), each = nrow(one$x))
  parts <- explain_parts(x, columns)
  out <- data.frame(
    instance = seq_len(ncol(one$x)), score = unname(score_instances(x, one$x)),
    atom = strongest_target(x, t(parts$codes)), parts$left[c("with", "without")])
  out <- data.frame(out["instance"], prob = instance_probability(x, out$score), out[-1])
  # If the atoms reconstruct an instance up to rounding error, so is its residual.
  out$drop <- ifelse(out$without > 1e-14 * parts$left$all, 1 - out$with / out$without, 0)
  structure(out, title = one$title, image_dim = x$image_dim, instances = columns, with = parts$with,
            axis = feature_axis(x$features, x$axis, x$n_features), without = parts$without,
            class = c("mil_explanation", "data.frame"))
}

# The instances of one bag, features x instances in the order given, and its name in titles.
one_bag <- function(object, new_data, bag, call = rlang::caller_env()) {
  is_bags <- inherits(new_data, "bags")
  new <- if (!is_bags) forge(object, new_data, NULL, call)
  ids <- if (is_bags) new_data$ids else unique(new$bag[!is.na(new$bag)])
  if (!is_bags && !length(ids)) {
    if (!is.null(bag)) stop_fumi("`bag` must not be given for instances without bags.", call = call)
    return(list(x = new$x, title = "this bag"))
  }
  i <- bag_index(list(ids = ids), if (is.null(bag)) 1 else bag, "bag", call)
  if (length(i) != 1) stop_fumi("`bag` must name one bag, not ", length(i), ".", call = call)
  title <- paste("bag", ids[i])
  if (!is_bags) return(list(x = new$x[, new$bag %in% ids[i], drop = FALSE], title = title))
  one <- new_data[i]
  new <- forge(object, one, NULL, call)
  list(x = new$x[, order(new$order), drop = FALSE],
       title = paste0(title, " (label ", one$classes[1 + one$label], ")"))
}

# Codes of the columns of `x` (as the method takes them), their reconstructions with and without
# target atoms, and the squared norms of what these leave, and of all. With noise of the background
# all but the reconstructions, which are in the user's units, are those of the transformed space.
explain_parts <- function(object, x) {
  noise <- object$noise
  if (!is.null(noise)) {
    noise$normalize <- "none"
    z <- to_noise_space(noise, x)
    scale <- nonzero_scale(z, noise$normalize_after)
    parts <- explain_parts(white_model(object), z * rep(scale, each = nrow(z)))
    back <- function(part) noise$mean + from_noise_space(noise, part / rep(scale, each = nrow(z)))
    parts[c("with", "without")] <- list(back(parts$with), back(parts$without))
    return(parts)
  }
  object$normalize <- "none"
  codes <- code_instances(object, x)
  atoms <- unname(object$dictionary)
  target <- seq_len(object$n_target)
  background <- atoms[, -target, drop = FALSE]
  alone <- if (inherits(object, "e_fumi")) unmix(background, x) else codes[-target, , drop = FALSE]
  with <- atoms %*% codes
  without <- background %*% alone
  list(codes = codes, with = with, without = without,
       left = list(with = colSums((x - with)^2), without = colSums((x - without)^2),
                   all = colSums(x^2)))
}

#' @rdname mil_explain
#' @export
print.mil_explanation <- function(x, n = 10, ...) {
  n <- check_count(n, "n")
  shown <- as.data.frame(x)[utils::head(order(-x$score), n), ]
  title <- attr(x, "title")
  cat(toupper(substr(title, 1, 1)), substring(title, 2), ": ",
      pluralize("{nrow(x)} instance{?s}"), " by decreasing score\n", sep = "")
  shown$drop <- paste(round(100 * shown$drop), "%")
  numeric <- vapply(shown, is.double, NA)
  shown[numeric] <- lapply(shown[numeric], significant)
  shown$atom[is.na(shown$atom)] <- "none"
  print(shown, row.names = FALSE)
  if (nrow(x) > n) cat("and ", nrow(x) - n, " more\n", sep = "")
  invisible(x)
}

#' @rdname mil_explain
#' @export
as.data.frame.mil_explanation <- function(x, ...) {
  for (name in c("title", "image_dim", "axis", "instances", "with", "without"))
    attr(x, name) <- NULL
  class(x) <- "data.frame"
  x
}

#' @rdname mil_explain
#' @export
plot.mil_explanation <- function(x, n = 6, ...) {
  check_dots_empty(..., known = names(formals()))
  n <- check_count(n, "n")
  if (nrow(x) == 0) stop_fumi("`x` must have at least one instance to plot.", class = "empty")
  shown <- utils::head(order(-x$score), n)
  if (is.null(attr(x, "image_dim"))) plot_explained_curves(x, shown)
  else plot_explained_images(x, shown)
  invisible(x)
}

# Three rows of pictures on the same grey: the instance, with, without.
plot_explained_images <- function(x, shown) {
  pictures <- do.call(cbind, lapply(explained_parts, function(part)
    attr(x, part)[, x$instance[shown], drop = FALSE]))
  n <- length(shown)
  title <- c(explained_title(x, shown), rep("with target", n),
             paste0("drop ", round(100 * x$drop[shown]), " %"))
  picture_page(pictures, attr(x, "image_dim"), title,
               rep(c("grey70", target_colour, "grey70"), each = n), rep(1:3, each = n),
               range(pictures), n_col = n,
               main = paste0(attr(x, "title"), ": instances, with target atoms, without them"))
}

plot_explained_curves <- function(x, shown) {
  colours <- c("grey30", target_colour, background_colour)
  title <- paste0(explained_title(x, shown), ", drop ", round(100 * x$drop[shown]), " %")
  panels <- lapply(seq_along(shown), function(i) {
    curves <- vapply(explained_parts, function(part) attr(x, part)[, x$instance[shown[i]]],
                     attr(x, "with")[, 1])
    list(x = matrix(curves, ncol = 3), col = colours, main = title[i])
  })
  curve_page(panels, attr(x, "axis"), main = c(paste0(attr(x, "title"), ":"), "instance",
                                               "with target", "without"),
             main_col = c("black", colours))
}

# Attributes of an explanation, features x instances.
explained_parts <- c("instances", "with", "without")

explained_title <- function(x, shown) paste0(x$instance[shown], ": p ", signif(x$prob[shown], 2))
