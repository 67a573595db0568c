#' MILES: bags described by their similarities to training instances
#'
#' Describes a bag by its largest similarity to each training instance, and lets a sparse linear SVM
#' select the instances that matter.
#'
#' @details
#' Bag \eqn{B} becomes \eqn{m_k(B) = \max_{x \in B} \exp(-\sigma \|x - x^k\|^2)}{m_k(B) = max_{x in
#' B} exp(-sigma |x - x^k|^2)}, with one feature for each training instance \eqn{x^k}, and
#' \deqn{\|w\|_1 + |b| + C \sum_j c_j
#'   \max(0, 1 - Y_j (w'm(B_j) + b))^2}{|w|_1 + |b| + C sum_j c_j max(0, 1 - Y_j (w'm(B_j) + b))^2}
#' is minimised by LiblineaR, with \eqn{c_j} balancing the classes. Instances with \eqn{w_k = 0} are
#' dropped. LiblineaR visits the features in random order and stops after at most 1000 rounds, so
#' weights, and which of several similar instances is selected, depend slightly on `set.seed()`.
#'
#' The score of a bag is \eqn{w'm(B) + b}, in which the nearest neighbour of each selected instance
#' may be a different instance of the bag. The score of an instance is that of a bag that contains
#' it alone, \eqn{\sum_k w_k \exp(-\sigma \|x - x^k\|^2) + b}{sum_k w_k exp(-sigma |x - x^k|^2) +
#' b}; `predict(level = "bag", pool = "max")` scores bags by the largest of those.
#'
#' The more instances a bag has, the larger are all \eqn{m_k}: if positive and negative training
#' bags differ in size, the SVM may learn the size instead of the target, and then scores instances
#' badly. Bags of equal size avoid this; a larger `cost` reduces it.
#'
#' @section Departures from the paper:
#' The paper uses the plain hinge loss, a linear program; the squared hinge needs no LP solver and
#' gives similar results. The bias is penalised like a weight. The paper tunes `cost` and `sigma`;
#' the defaults are ours.
#'
#' @inheritParams mi_svm
#' @inheritParams dlfumi
#' @param sigma number > 0: \eqn{\sigma} of the similarity \eqn{\exp(-\sigma \|x -
#'   y\|^2)}{exp(-sigma |x - y|^2)}, as in kernlab and [mi_svm()]. `NULL` (default): \eqn{1/\sigma}
#'   is the median squared distance between the (normalised) training instances; try a third and
#'   three times that. In the paper \eqn{\sigma} is a width: its \eqn{1 / \sigma^2} is \eqn{\sigma}
#'   here.
#' @param cost number > 0, default 1: \eqn{C}, the weight of the loss; try 0.1 to 100. A larger
#'   value selects more instances.
#' @return A plain list of class `c("miles", "mil_model")`, for `predict()` and [mil_roc()], with
#'   the selected `instances` (features x instances, normalised), their `weights`, `bias`,
#'   `kernel`, and `selected` (the numbers of the selected instances in the data given).
#' @references Chen, Y., Bi, J. and Wang, J. Z. (2006). MILES: multiple-instance learning via
#'   embedded instance selection. *IEEE Transactions on Pattern Analysis and Machine Intelligence*
#'   28(12), 1931-1947. \doi{10.1109/TPAMI.2006.248}
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- miles(b)
#' fit
#' table(as.data.frame(b)$truth[fit$selected], sign(fit$weights))
#' mil_roc(fit, b)
#' @export
miles <- function(x, ..., sigma = NULL, cost = 1, bag_weights = NULL, normalize = c("unit", "none"),
                  calibrate = getOption("fumi.calibrate", "auto"),
                  progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  spec <- list(sigma = if (!is.null(sigma)) check_number(sigma, "sigma", above = 0),
               cost = check_number(cost, "cost", above = 0),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- bags(x, ...)
  b <- check_trainable(b, spec$normalize, copies = 2, more = 3 * length(b$bag)^2, sparse = TRUE)
  spec$bag_weights <- given$bag_weights <- check_bag_weights(bag_weights, b)
  fit <- miles_bridge(b, spec, progress)
  with_given(calibrate_fit(fit, b, spec$calibrate, function(b) miles_bridge(b, spec, FALSE),
                           work = length(b$bag) * (n_stored(b$x) + 1000 * length(b$ids)), progress),
             given)
}

miles_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  bar <- task_progress(progress, "MILES", 3)
  on.exit(bar$done())
  b <- sort_instances(b)
  x <- instance_rows(b$x, spec$normalize)
  distance <- squared_distances(x)
  kernel <- with_sigma(list(name = "rbf", kpar = list(sigma = spec$sigma)), distance)
  bar$tick("distances")
  embedded <- embed_bags(distance, b$bag, kernel$kpar$sigma)
  bar$tick("bags described")
  copies <- bag_copies(spec$bag_weights, b, call)
  fit <- linear_classifier(with_copies(embedded, copies$n), with_copies(b$label, copies$n), 5,
                           spec$cost * copies$unit, epsilon = 1e-6)
  bar$tick("instances selected")
  kept <- which(fit$weights != 0)
  if (!length(kept))
    warn_fumi("No instance was selected: all scores are the same; a larger `cost` selects more.",
              class = "no_instance", call = call)
  place <- b$order[kept]
  kept <- kept[order(place)]
  new_mil_model(
    "miles", b, instances = t(as.matrix(x[kept, , drop = FALSE])), weights = fit$weights[kept],
    bias = fit$bias, kernel = kernel, selected = sort(place), normalize = spec$normalize,
    spec = spec)
}

# m of all bags, bags x instances, from the squared distances of all instances; bags in the order
# of their first instances.
embed_bags <- function(distance, bag, sigma) {
  nearest <- vapply(unique(bag), function(j)
    do.call(pmin, lapply(which(bag == j), function(i) distance[, i])), numeric(length(bag)))
  exp(-sigma * t(nearest))
}

#' @export
score_instances.miles <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  new <- instance_rows(x, object$normalize)
  distance <- squared_distances(new, t(object$instances))
  drop(exp(-miles_sigma(object) * distance) %*% object$weights) + object$bias
}

# w'm(B) + b of each bag, over the selected instances.
#' @export
score_bags.miles <- function(object, x, bag, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  new <- instance_rows(x, object$normalize)
  near <- exp(-miles_sigma(object) * squared_distances(new, t(object$instances)))
  largest <- vapply(seq_len(ncol(near)), function(k) pool_codes(near[, k], bag),
                    numeric(max(bag, 0)))
  drop(matrix(largest, max(bag, 0)) %*% object$weights) + object$bias
}

# In fits of version 0.1.0, `sigma` is a width.
miles_sigma <- function(object)
  if (is.null(object$kernel)) object$sigma^-2 else object$kernel$kpar$sigma

#' @rdname mil_model-methods
#' @export
coef.miles <- function(object, ...) {
  check_dots_empty(...)
  validate_model(object)
  stats::setNames(object$weights, object$selected)
}
