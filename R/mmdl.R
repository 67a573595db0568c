#' MMDL: max-margin dictionary learning
#'
#' Learns linear classifiers, one for each cluster of the instances of positive bags and one for
#' the negative bags, and moves instances between the clusters until nothing changes.
#'
#' @details
#' Every instance has a label \eqn{z_i}: a cluster \eqn{1, \dots, K} in positive bags, 0 in negative
#' ones. The published objective is a multi-class support vector machine with hidden labels,
#' \deqn{\min_{W, z} \sum_{k=0}^K \|w_k\|^2 + \lambda \sum_i
#'   \max(0, 1 + \max_{k \ne z_i} w_k'x_i - w_{z_i}'x_i),}{min_{W, z} sum_{k = 0..K} |w_k|^2
#'   + lambda sum_i max(0, 1 + max_{k != z_i} w_k'x_i - w_zi'x_i),}
#' with at least one \eqn{z_i > 0} in every positive bag. The authors' released code, which is
#' followed here, works differently:
#'
#' 1. \eqn{z} is the k-means cluster of each instance of a positive bag; all weigh the same.
#' 2. A share `rho` of the instances of positive bags is drawn with replacement, by systematic
#'    resampling, with probability proportional to their weight.
#' 3. One-vs-rest support vector machines with squared hinge loss and without bias are trained on
#'    these and on all instances of negative bags (LiblineaR). Class \eqn{k} against the rest has
#'    cost `cost` on both sides, but class 0 has `cost` times `negative_weight` on its own side.
#' 4. With \eqn{v_i = \max_k w_k'x_i - w_0'x_i}{v_i = max_k w_k'x_i - w_0'x_i}, an instance of a
#'    positive bag goes to the cluster of the maximum and weighs \eqn{1 / (1 + \exp(-v_i /
#'    \sigma))}{1 / (1 + exp(-v_i / sigma))}.
#' 5. Steps 2 to 4 are repeated until no instance moves, at most `max_iter` times.
#'
#' So no instance of a positive bag is ever given the label 0. With `assign0 = TRUE` the published
#' constraints hold: such an instance gets the label 0 if \eqn{v_i < 0} and joins the negative
#' class, unless it has the largest \eqn{v_i} of its bag. The default of `negative_weight` is then
#' 1: at 0.01 hardly any instance has \eqn{v_i < 0}. With `resample = FALSE` the weights are used
#' as costs of the instances instead of step 2.
#'
#' A cluster from which nothing is drawn vanishes, permanently if no instance returns to it. If a
#' single cluster is left, there is one classifier of the cluster against the negative bags, with
#' costs `cost` and `cost` times `negative_weight`, and \eqn{w_0 = 0}, as LIBLINEAR does with two
#' classes. With few instances, where a single cluster is the default, `negative_weight = 1` is the
#' better choice: at 0.01 the negative bags count for little.
#'
#' The score of an instance is \eqn{v}; its sign is a hard label,
#' `predict(type = "class", threshold = 0)`.
#'
#' **Bag route.** In the paper the classifiers are a codebook: a bag is described by the maximum of
#' \eqn{w_k'x} over its instances for each \eqn{k = 0, \dots, K}, scaled to norm 1, and a linear
#' support vector machine (\eqn{C = 20}) classifies bags. With `bag_route = TRUE` this machine is
#' trained too (without the paper's spatial pyramid) and scores bags in `predict(level = "bag")`;
#' otherwise the score of a bag is the largest of its instances. With `combine = "average"` the
#' codebook is that of all starts.
#'
#' @section Defaults:
#' They are those of the released code, except for `n_clusters`, which is 10 there and here at most
#' one per ten instances of positive bags. Several starts are our addition, and so is the criterion
#' to compare them: the sum of the objectives of the one-vs-rest machines over all instances, with
#' their last labels and weights.
#'
#' @inheritParams dlfumi
#' @param n_clusters whole number >= 1: \eqn{K}, the number of clusters. `NULL` (default): a tenth
#'   of the number of instances of positive bags, between 1 and 10; try 2 to 20.
#' @param assign0 `TRUE` or `FALSE` (default): whether instances of positive bags may get the label
#'   of the negative bags.
#' @param resample `TRUE` (default): draw instances by their weights; `FALSE`: use the weights as
#'   costs.
#' @param rho number > 0, default 0.7: share of the instances of positive bags to draw; try 0.5 to
#'   1.
#' @param sigma number > 0, default 1: scale of \eqn{v} in the weights.
#' @param cost number > 0, default 1: weight of the loss; try 0.1 to 100.
#' @param negative_weight number > 0, default 0.01, or 1 with `assign0 = TRUE`: factor for the cost
#'   of the negative class, see below; try 0.01 to 1.
#' @param max_iter whole number >= 1, default 5: largest number of iterations.
#' @param bag_route `TRUE` or `FALSE` (default): whether to train the classifier of bags too, and
#'   score bags by it.
#' @param n_start whole number >= 1, default 1: number of random starts; try 8.
#' @param combine `"best"` (default) keeps the start with the lowest objective; `"average"` keeps
#'   all and scores by the mean of their scores, each standardised on the instances of the negative
#'   training bags.
#' @param normalize `"unit"` (default) scales every instance, also of new data, to norm 1; `"none"`
#'   leaves instances as they are.
#' @return A model of class `c("mmdl", "mil_model")`, for `predict()` and [mil_roc()], with
#'   \item{weights}{features x classifiers, named by cluster, that of the negative bags last; see
#'     `coef()`}
#'   \item{cluster}{the last label of each instance, in the order given, 0 for the negative class}
#'   \item{hard_label}{whether the score of each instance is above `natural_threshold`, 0}
#'   \item{objective, n_iter, stop_reason}{the objective by iteration, and how the fit ended:
#'     `"converged"`, `"max_iter"` or `"interrupt"`}
#' @references Wang, X., Wang, B., Bai, X., Liu, W. and Tu, Z. (2013). Max-margin multiple-instance
#'   dictionary learning. *International Conference on Machine Learning*.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- mmdl(b, n_clusters = 3, bag_route = TRUE)
#' fit
#' table(fit$cluster)
#' head(predict(fit, b, level = "bag"))
#' mil_roc(fit, b)
#' @export
mmdl <- function(x, ..., n_clusters = NULL, assign0 = FALSE, resample = TRUE, rho = 0.7, sigma = 1,
                 cost = 1,
                 negative_weight = if (assign0) 1
                                   else 0.01, max_iter = 5, bag_route = FALSE,
                 normalize = c("unit", "none"),
                 n_start = 1, combine = c("best", "average"),
                 calibrate = getOption("fumi.calibrate", "auto"),
                 progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  spec <- list(n_clusters = if (!is.null(n_clusters)) check_count(n_clusters, "n_clusters"),
               assign0 = check_flag(assign0, "assign0"),
               resample = check_flag(resample, "resample"),
               rho = check_number(rho, "rho", above = 0),
               sigma = check_number(sigma, "sigma", above = 0),
               cost = check_number(cost, "cost", above = 0),
               negative_weight = check_number(negative_weight, "negative_weight", above = 0),
               max_iter = check_count(max_iter, "max_iter"),
               bag_route = check_flag(bag_route, "bag_route"),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               n_start = check_count(n_start, "n_start"),
               combine = check_choice(combine, c("best", "average"), "combine"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- check_trainable(bags(x, ...), spec$normalize, copies = 2, sparse = TRUE)
  n_clusters <- mmdl_n_clusters(b, spec$n_clusters)
  fit <- mmdl_bridge(b, spec, n_clusters, progress)
  fit <- calibrate_fit(fit, b, spec$calibrate,
                       function(b) mmdl_bridge(b, spec, min(n_clusters, b$n_positive), FALSE),
                       work = 100 * n_stored(b$x) * (n_clusters + 1) * fit$n_iter * spec$n_start,
                       progress)
  with_given(fit, given)
}

mmdl_n_clusters <- function(b, n_clusters, call = rlang::caller_env()) {
  if (is.null(n_clusters)) return(max(1, min(10, b$n_positive %/% 10)))
  if (n_clusters > b$n_positive)
    stop_fumi("`n_clusters` must be at most the number of instances in positive bags (",
              b$n_positive, "), not ", n_clusters, ".", call = call)
  n_clusters
}

# ---- bridge: numbers in, model out -----------------------------------------------

mmdl_bridge <- function(b, spec, n_clusters, progress, call = rlang::caller_env()) {
  b <- sort_instances(b)
  draws <- lapply(seq_len(spec$n_start), function(s) mmdl_draw(b$n_positive, n_clusters, spec))
  x <- instance_rows(b$x, spec$normalize)
  bar <- fit_progress(progress, spec$n_start, spec$max_iter)
  on.exit(bar$done())
  fits <- run_starts(spec$n_start, function(s)
    mmdl_run(x, b, kmeans_labels(x, b, draws[[s]]$seed, call), draws[[s]]$resample, spec,
             bar$report(s)))
  warn_interrupted(fits, spec$n_start, call)
  new_mmdl(fits, b, spec)
}

# All random numbers of a start: the seeds of k-means, and for each iteration an order and an
# offset.
mmdl_draw <- function(n_positive, n_clusters, spec) {
  list(seed = stats::runif(n_clusters),
       resample = if (spec$resample) lapply(seq_len(spec$max_iter), function(it)
         list(order = sample.int(n_positive), offset = stats::runif(1))))
}

new_mmdl <- function(fits, b, spec) {
  final <- vapply(fits, function(f) f$objective$objective[f$n_iter], 0)
  best <- fits[[which.min(final)]]
  negative <- numeric(ncol(b$x) - b$n_positive)
  object <- new_mil_model(
    "mmdl", b,
    weights = structure(best$weights, dimnames = list(b$features, colnames(best$weights))),
    cluster = in_user_order(b, c(best$z, negative)), objective = best$objective,
    n_iter = best$n_iter,
    stop_reason = if (attr(fits, "interrupted")) "interrupt"
                  else best$stop_reason, normalize = spec$normalize,
    starts = lapply(fits, `[[`, "objective"), spec = spec)
  object$hard_label <- in_user_order(b, score_instances(object, b$x) > 0)
  if (spec$combine == "average") object$members <- lapply(fits, mmdl_member, object, b)
  else object$natural_threshold <- 0
  if (spec$bag_route) object$bag_weights <- bag_classifier(object, b)
  object
}

# A member of an average: its classifiers, and how its score is standardised.
mmdl_member <- function(fit, object, b) {
  negative <- b$x[, -seq_len(b$n_positive), drop = FALSE]
  score <- cluster_margin(class_values(fit$weights, negative, object$normalize))$value
  list(weights = fit$weights, center = mean(score), scale = positive_sd(score))
}

# ---- the iteration -----------------------------------------------------------------

# `z`: the cluster of each instance of a positive bag, or 0; `draws`: NULL without resampling.
mmdl_run <- function(x, b, z, draws, spec, report) {
  state <- list(z = z, weight = rep(1, b$n_positive))
  iterate <- function() {
    for (it in seq_len(spec$max_iter)) {
      before <- state$z
      state <<- mmdl_step(state, x, b, draws[[it]], spec)
      if (!is.null(report)) report(it, state$path[it])
      if (identical(state$z, before)) return("converged")
    }
    "max_iter"
  }
  # The state is replaced in one step, so that an interrupt finds a complete iteration.
  reason <- until_interrupt(iterate(), started = !is.null(state$path))
  n_iter <- length(state$path)
  list(weights = state$weights, z = state$z, n_iter = n_iter, stop_reason = reason,
       objective = data.frame(iteration = seq_len(n_iter), objective = state$path))
}

mmdl_step <- function(state, x, b, draw, spec) {
  positive <- seq_len(b$n_positive)
  state$weights <- mmdl_train(x, state$z, state$weight, draw, spec)
  values <- as.matrix(x %*% state$weights)
  best <- cluster_margin(values[positive, , drop = FALSE])
  state$z <- if (spec$assign0) assign_labels(best, b$bag[positive]) else best$cluster
  state$weight <- stats::plogis(best$value / spec$sigma)       # c_i = 1 / (1 + exp(-v_i / sigma))
  state$path <- c(state$path, mmdl_objective(state$weights, values, state$z, state$weight, spec))
  state
}

# The nearest k-means centre of each instance of a positive bag (the first, if tied).
kmeans_labels <- function(x, b, seed, call) {
  positive <- dense_columns(transpose(x[seq_len(b$n_positive), , drop = FALSE]),
                            "the clusters of `mmdl()`", call)
  out <- cluster_instances(unname(positive), rep(1, ncol(positive)), seed)
  check_status(out$status, call)
  centres <- out$centres[, seq_len(out$n_distinct), drop = FALSE]
  max.col(crossprod(positive, centres) - rep(colSums(centres^2) / 2, each = ncol(positive)),
          "first")
}

# From values of the classifiers, instances x classifiers: the maximum over the clusters minus the
# value of class 0.
cluster_margin <- function(values) {
  last <- ncol(values)
  margin <- values[, -last, drop = FALSE] - values[, last]
  best <- max.col(margin, "first")
  list(value = margin[cbind(seq_along(best), best)], cluster = as.integer(colnames(values)[best]))
}

# Label 0 below 0, but one instance of each bag keeps its cluster.
assign_labels <- function(best, bag) {
  first <- order(bag, -best$value)
  first <- first[!duplicated(bag[first])]
  keep <- best$value >= 0
  keep[first] <- TRUE
  ifelse(keep, best$cluster, 0L)
}

# round(rho n) of the instances with a cluster, by systematic resampling of their weights: the
# points u, ..., 1, evenly spaced, on the cumulated weights of the instances in random order, 0 < u
# < 1 / n.
systematic_resample <- function(weight, n, order, offset) {
  points <- if (n == 1) 1 else seq(offset / n, 1, length.out = n)
  cumulated <- cumsum(weight[order])
  order[findInterval(points, cumulated / cumulated[length(order)], left.open = TRUE) + 1]
}

# The one-vs-rest machines, features x classifiers, named by cluster, "0" last.
mmdl_train <- function(x, z, weight, draw, spec) {
  clustered <- which(z > 0)
  rest <- setdiff(seq_len(nrow(x)), clustered)             # negative bags, and label 0
  if (spec$resample) {
    n <- max(1, floor(spec$rho * length(clustered) + .5))
    clustered <- systematic_resample(weight, n, draw$order[z[draw$order] > 0], draw$offset)
  }
  label <- c(z[clustered], numeric(length(rest)))
  data <- x[c(clustered, rest), , drop = FALSE]
  if (!spec$resample) data <- cbind(data, cost_columns(weight[clustered], length(rest), spec$cost))
  present <- sort(unique(z[clustered]))
  single <- length(present) == 1
  machine <- function(k)
    squared_hinge(data, label == k, spec$cost, side_weights(k, single, spec$negative_weight),
                  ncol(x))
  w <- if (single) cbind(machine(present), 0) else vapply(c(present, 0), machine, numeric(ncol(x)))
  matrix(w, ncol(x), dimnames = list(NULL, c(present, 0)))
}

# Factors of the cost of class k itself and of the rest. LIBLINEAR applies a class weight to the
# class's own side only, but to both sides if two classes make a single machine.
side_weights <- function(k, single, negative_weight) {
  if (single) c(1, negative_weight) else if (k == 0) c(negative_weight, 1) else c(1, 1)
}

# min_w .5 |w|^2 + cost sum_i weight_i max(0, 1 - y_i w'x_i)^2, weights of own class and rest; the
# first d entries of w.
squared_hinge <- function(data, own, cost, weight, d = ncol(data)) {
  fit <- LiblineaR::LiblineaR(liblinear_rows(data), factor(ifelse(own, "own", "rest")), type = 2,
                              cost = cost, bias = 0,
                              wi = stats::setNames(weight, c("own", "rest")))
  unname(fit$W[1, seq_len(d)]) * (if (fit$ClassNames[1] == "own") 1 else -1)
}

# LIBLINEAR takes no cost per instance. A feature s that is 0 for all other instances gives one: the
# least of .5 u^2 + C max(0, m - s u)^2 over u is C c max(0, m)^2 when s^2 = (1 / c - 1) / (2 C).
cost_columns <- function(weight, n_rest, cost) {
  s <- sqrt((1 / pmax(weight, 1e-6) - 1) / (2 * cost))
  rbind(diag(s, length(s)), matrix(0, n_rest, length(s)))
}

# Sum over the machines of .5 |w_k|^2 + sum_i C_ik c_i max(0, 1 - y_ik w_k'x_i)^2, over all
# instances.
mmdl_objective <- function(weights, values, z, weight, spec) {
  label <- c(z, numeric(nrow(values) - length(z)))
  share <- c(ifelse(z > 0, weight, 1), rep(1, nrow(values) - length(z)))
  single <- ncol(weights) == 2
  machine <- function(k) {
    class <- as.integer(colnames(weights)[k])
    side <- spec$cost * side_weights(class, single, spec$negative_weight)
    own <- label == class
    loss <- pmax(0, 1 - ifelse(own, 1, -1) * values[, k])^2
    sum(weights[, k]^2) / 2 + sum(ifelse(own, side[1], side[2]) * share * loss)
  }
  sum(vapply(if (single) 1 else seq_len(ncol(weights)), machine, 0))
}

# ---- scores ------------------------------------------------------------------------------

# w_k'x, instances x classifiers
class_values <- function(weights, x, normalize) cross(x, weights) * instance_scale(x, normalize)

#' @export
score_instances.mmdl <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  one <- function(weights) cluster_margin(class_values(weights, x, object$normalize))$value
  if (is.null(object$members)) return(one(object$weights))
  standard <- lapply(object$members, function(m) (one(m$weights) - m$center) / m$scale)
  Reduce(`+`, standard) / length(standard)
}

#' @rdname mil_model-methods
#' @export
coef.mmdl <- function(object, ...) t(validate_model(object)$weights)

# The code of each bag, bags x classifiers: max_i w_k'x_i, brought to norm 1.
bag_codes <- function(object, x, bag) {
  codebook <- if (is.null(object$members)) object$weights
              else do.call(cbind, lapply(object$members, `[[`, "weights"))
  values <- class_values(codebook, x, object$normalize)
  codes <- vapply(seq_len(ncol(values)), function(k) pool_codes(values[, k], bag),
                  numeric(max(bag)))
  t(unit_columns(t(matrix(codes, max(bag)))))
}

bag_classifier <- function(object, b) {
  codes <- bag_codes(object, b$x, b$bag)
  squared_hinge(codes, b$label, 20, c(1, 1))
}

#' @export
score_bags.mmdl <- function(object, x, bag, ..., call = rlang::caller_env()) {
  if (is.null(object$bag_weights)) return(score_bags.default(object, x, bag, ..., call = call))
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  drop(bag_codes(object, x, bag) %*% object$bag_weights)
}
