#' EM-DD: diverse density with one instance per bag
#'
#' Finds the point and scales of [diverse_density()] by alternation: choose the instance of each
#' bag that is nearest to the point, then fit the point and scales to the chosen instances.
#'
#' @details
#' With \eqn{q_i = \sum_r s_r^2 (x_{ri} - t_r)^2}, the E-step chooses in each bag \eqn{j}, positive
#' or negative, the instance \eqn{i_j} with the smallest \eqn{q} (the first, if tied); the M-step
#' minimises over \eqn{t} and \eqn{s}
#' \deqn{\sum_{j: Y_j = 1} q_{i_j} - \sum_{j: Y_j = 0}
#'   \log(1 - \exp(-q_{i_j}))}{sum_{j: Y_j = 1} q_ij - sum_{j: Y_j = 0} log(1 - exp(-q_ij))}
#' by L-BFGS-B. A start ends with the first round that lowers this by no more than \eqn{10^{-6}};
#' the result of that round is discarded. Only the M-step is guaranteed to lower it, since an E-step
#' may choose nearer negative instances. The start with the lowest most-likely-cause objective of
#' [diverse_density()] on all training bags is kept; neither this choice nor the threshold uses
#' other data.
#'
#' The score of an instance is \eqn{-q}. With \eqn{P = \exp(-q)}{P = exp(-q)} for its nearest
#' instance, the score of a bag is \eqn{\log(-\log(1 - P))}{log(-log(1 - P))}, or, with
#' `combine = "average"`, the largest score of its instances. `predict(type = "prob")` returns the
#' probabilities of the model only if they are well calibrated: see [mil_calibrate()].
#'
#' @section Defaults:
#' Starts and `max_iter` are those of Weka's `MIEMDD`: the instances of three random positive bags
#' (or of all, if there are fewer), ten rounds. The limit of 30 starts, `scale_init`, `inner` and
#' the choice among starts are ours: see [diverse_density()].
#'
#' @inheritParams diverse_density
#' @param combine `"best"` (default) keeps the start with the lowest objective; `"average"` keeps
#'   all and scores by the mean of their scores, each standardised on the instances of the negative
#'   training bags.
#' @param max_iter whole number >= 1, default 10: largest number of rounds from a start.
#' @param inner whole number >= 1, default 100: largest number of L-BFGS-B iterations in an M-step.
#' @return A model of class `c("em_dd", "mil_model")`, for `predict()` and [mil_roc()], with
#'   \item{target, feature_scale}{\eqn{t} and \eqn{|s|} of the best start, see
#'     [coef()][coef.em_dd()]}
#'   \item{objective, start_objective}{the most-likely-cause objective of the best start, and of
#'     all}
#'   \item{starts}{the M-step's objective by round, of all starts; see [loss_path()]}
#'   \item{start_scale}{the scale at the start}
#'   \item{stop_reason}{`"converged"`; `"max_iter"`; or `"interrupt"`: Ctrl-C keeps the completed
#'     starts, with a warning}
#' @references Zhang, Q. and Goldman, S. A. (2001). EM-DD: an improved multiple-instance learning
#'   technique. *Advances in Neural Information Processing Systems* 14.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- em_dd(b, n_start = 10)
#' fit
#' mil_roc(fit, b)
#' @export
em_dd <- function(x, ..., scale_type = c("feature", "single", "fixed"), scale_init = NULL,
                  n_start = NULL, combine = c("best", "average"), max_iter = 10, inner = 100,
                  normalize = c("unit", "none"), calibrate = getOption("fumi.calibrate", "auto"),
                  progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  spec <- list(scale_type = check_choice(scale_type, dd_scale_types, "scale_type"),
               scale_init = if (!is.null(scale_init)) check_number(scale_init, "scale_init",
                                                                   above = 0),
               n_start = if (!is.null(n_start)) check_count(n_start, "n_start"),
               combine = check_choice(combine, c("best", "average"), "combine"),
               max_iter = check_count(max_iter, "max_iter"),
               inner = check_count(inner, "inner"),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- check_trainable(bags(x, ...), spec$normalize, copies = 0.1)
  fit <- em_dd_bridge(b, spec, progress)
  fit <- calibrate_fit(fit, b, spec$calibrate, function(b) em_dd_bridge(b, spec, FALSE),
                       work = 5 * length(b$ids) * nrow(b$x) * spec$max_iter * spec$inner *
                         length(fit$start_objective), progress)
  with_given(fit, given)
}

em_dd_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  b <- sort_instances(b)
  problem <- dd_problem(b, spec, call)
  fits <- dd_from_starts(b, problem, spec, progress, call, function(theta)
    em_dd_run(problem, theta, spec$max_iter, spec$inner))
  object <- new_dd_model("em_dd", fits, b, problem, spec, combine = spec$combine,
                         starts = lapply(fits, `[[`, "path"))
  if (spec$combine == "average") object$members <- lapply(fits, em_dd_member, problem, b, spec)
  object
}

em_dd_run <- function(problem, theta, max_iter, inner) {
  path <- numeric()
  stop_reason <- "max_iter"
  for (it in seq_len(max_iter)) {
    chosen <- em_dd_choose(problem, theta)
    step <- dd_minimise(dd_subset(problem, chosen), theta, "most-likely-cause", inner)
    if (it > 1 && step$objective >= path[it - 1] - 1e-6) {
      stop_reason <- "converged"
      break
    }
    theta <- step$theta
    path[it] <- step$objective
  }
  list(theta = theta, path = data.frame(iteration = seq_along(path), objective = path),
       objective = dd_objective(problem, theta, "most-likely-cause")$value,
       stop_reason = stop_reason)
}

# The E-step: the column of each bag with the smallest q.
em_dd_choose <- function(problem, theta) {
  q <- .Call(ffi_dd_quadratic, problem$x, problem$scale, dd_point(problem, theta),
             dd_scales(problem, theta))
  .Call(ffi_dd_select, q, problem$bag, length(problem$label))
}

# A member of an average: its hypothesis, and how its score is standardised.
em_dd_member <- function(fit, problem, b, spec) {
  h <- list(target = dd_point(problem, fit$theta), feature_scale = dd_scales(problem, fit$theta))
  score <- -dd_quadratic(b$x[, -seq_len(b$n_positive), drop = FALSE], h, spec$normalize)
  c(h, list(center = mean(score), scale = positive_sd(score)))
}

mean_over_members <- function(object, f) Reduce(`+`, lapply(object$members,
                                                            f)) / length(object$members)

#' @export
score_instances.em_dd <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  if (is.null(object$members)) return(-dd_quadratic(x, object, object$normalize))
  mean_over_members(object, function(m)
    (-dd_quadratic(x, m, object$normalize) - m$center) / m$scale)
}

# An average of scores has no model.
#' @export
score_bags.em_dd <- function(object, x, bag, ..., call = rlang::caller_env()) {
  largest <- pool_codes(score_instances(object, x, ..., call = call), bag)
  if (is.null(object$members)) cloglog_score(-largest) else largest
}

#' @export
probability_curves.em_dd <- function(object) {
  if (is.null(object$members)) probability_curves.diverse_density(object)
}

#' @rdname diverse_density-methods
#' @export
coef.em_dd <- coef.diverse_density

#' @rdname diverse_density-methods
#' @export
print.em_dd <- function(x, digits = 4, ...) {
  print_dd(x, paste0("EM-DD fit", if (x$combine == "average") " (scores of all starts averaged)"),
           digits)
}
