#' Diverse density: a point that all positive bags share
#'
#' Finds a point in feature space, and a scale for each feature, such that every positive bag has
#' an instance near the point and no negative bag has one.
#'
#' @details
#' A hypothesis is a point \eqn{t} and scales \eqn{s}. An instance is a target with probability
#' \eqn{p_i = \exp(-q_i)}{p_i = exp(-q_i)}, \eqn{q_i = \sum_r s_r^2 (x_{ri} - t_r)^2}; a bag holds a
#' target with probability \eqn{P_j = 1 - \prod_i (1 - p_i)} (`"noisy-or"`) or \eqn{P_j = \max_i
#' p_i}{P_j = max_i p_i} (`"most-likely-cause"`). With \eqn{Y_j} the label of the bag, the objective
#' \deqn{-\sum_{j: Y_j = 1} \log P_j -
#'   \sum_{j: Y_j = 0} \log(1 - P_j),}{-sum_{j: Y_j = 1} log P_j - sum_{j: Y_j = 0} log(1 - P_j),}
#' is minimised over \eqn{t} and \eqn{s} by L-BFGS-B ([stats::optim()]) from each start; the start
#' with the lowest objective is kept.
#'
#' The objective and its gradient are computed in logarithms throughout. With thousands of features
#' every \eqn{p_i} is below the smallest number that a computer can represent, and a lower bound on
#' it would be a plateau that a start never leaves.
#'
#' The score of an instance is \eqn{-q}, which has no ties even far from the point. That of a bag is
#' \eqn{\log(-\log(1 - P_j))}{log(-log(1 - P_j))}, which rises with \eqn{P_j}.
#' `predict(type = "prob")` gives \eqn{p} and \eqn{P} only if they are well calibrated: see
#' [mil_calibrate()].
#'
#' @section Defaults:
#' Starts are instances of at most three positive bags, as in Weka's `MIEMDD`, and at most 30; the
#' `maxDD` of Zhou and Zhang starts from all. `scale_init` is \eqn{1 / \sqrt{\bar q}}{1 / sqrt(mean
#' q)}, with \eqn{\bar q}{mean q} the mean of \eqn{q} at \eqn{s = 1} over all pairs of instances of
#' positive bags, so that the first probabilities are neither 0 nor 1 for any number of features;
#' this, `max_iter`, and the bounds \eqn{|s_r| \le 1000 / \sigma_r}, with \eqn{\sigma_r} the
#' standard deviation of the feature, are our choices. A feature that is constant over all training
#' instances gets \eqn{s_r = 0}, and \eqn{q} is kept above \eqn{10^{-12}} in the objective.
#'
#' @inheritParams dlfumi
#' @param model `"noisy-or"` (default) or `"most-likely-cause"`: how the probability of a bag is
#'   computed from those of its instances.
#' @param scale_type `"feature"` (default): one scale per feature; `"single"`: one scale for all;
#'   `"fixed"`: all scales stay at `scale_init`.
#' @param scale_init number > 0: the scale at the start. `NULL` (default): from the distances
#'   between instances, see Defaults.
#' @param n_start whole number >= 1: number of starts, which are random instances of positive bags,
#'   without duplicates. `NULL` (default): the instances of three random positive bags (or of all,
#'   if there are fewer), at most 30.
#' @param max_iter whole number >= 1, default 100: largest number of L-BFGS-B iterations from a
#'   start.
#' @param normalize `"unit"` (default) scales every instance, also of new data, to norm 1; `"none"`
#'   leaves instances as they are.
#' @return A model of class `c("diverse_density", "mil_model")`, for `predict()` and [mil_roc()],
#'   with
#'   \item{target, feature_scale}{\eqn{t} and \eqn{|s|}, see [coef()][coef.diverse_density()]}
#'   \item{objective}{the final objective of the best start}
#'   \item{start_objective}{the same for all starts}
#'   \item{start_scale}{the scale at the start}
#'   \item{stop_reason}{`"converged"`, also if no lower point was found along the last search
#'     direction; `"max_iter"`; or `"interrupt"`: Ctrl-C keeps the completed starts, with a
#'     warning}
#' @references Maron, O. and Lozano-Perez, T. (1998). A framework for multiple-instance learning.
#'   *Advances in Neural Information Processing Systems* 10.
#' @seealso [em_dd()], which fits the same model by alternation, using one instance per bag.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20, image_dim = c(6, 6))
#' fit <- diverse_density(b, n_start = 5)
#' fit
#' mil_roc(fit, b)
#' plot(fit)
#' @export
diverse_density <- function(x, ..., model = c("noisy-or", "most-likely-cause"),
                            scale_type = c("feature", "single", "fixed"), scale_init = NULL,
                            n_start = NULL, max_iter = 100, normalize = c("unit", "none"),
                            calibrate = getOption("fumi.calibrate", "auto"),
                            progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  spec <- list(model = check_choice(model, dd_models, "model"),
               scale_type = check_choice(scale_type, dd_scale_types, "scale_type"),
               scale_init = if (!is.null(scale_init)) check_number(scale_init, "scale_init",
                                                                   above = 0),
               n_start = if (!is.null(n_start)) check_count(n_start, "n_start"),
               max_iter = check_count(max_iter, "max_iter"),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- check_trainable(bags(x, ...), spec$normalize, copies = 0.1)
  fit <- diverse_density_bridge(b, spec, progress)
  fit <- calibrate_fit(fit, b, spec$calibrate, function(b) diverse_density_bridge(b, spec, FALSE),
                       work = 5 * length(b$x) * spec$max_iter * length(fit$start_objective),
                       progress)
  with_given(fit, given)
}

diverse_density_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  b <- sort_instances(b)
  problem <- dd_problem(b, spec, call)
  fits <- dd_from_starts(b, problem, spec, progress, call, function(theta)
    dd_minimise(problem, theta, spec$model, spec$max_iter))
  new_dd_model("diverse_density", fits, b, problem, spec)
}

# ---- shared with em_dd(): the problem, the starts, the minimiser ---------------------

dd_models <- c("noisy-or", "most-likely-cause")
dd_scale_types <- c("feature", "single", "fixed")

# What the objective is made of; a hypothesis `theta` is c(t, s), c(t, factor of unit), or t. The
# bounds keep scales finite for a start that isolates one instance.
dd_problem <- function(b, spec, call = rlang::caller_env()) {
  scale <- instance_scale(b$x, spec$normalize)
  all <- .Call(ffi_dd_moments, b$x, scale, ncol(b$x))
  varies <- all$variance > 1e-24 * all$mean^2
  if (!any(varies))
    stop_fumi("`x` must not be the same in all instances",
              if (spec$normalize == "unit") ", each brought to norm 1",
              ", but it is.", class = "scale", call = call)
  spread <- sum(.Call(ffi_dd_moments, b$x, scale, b$n_positive)$variance)
  if (spread == 0) spread <- sum(all$variance)
  # the mean of ||x_i - x_j||^2 over all pairs is twice the sum of the variances
  init <- if (is.null(spec$scale_init)) 1 / sqrt(2 * spread) else spec$scale_init
  unit <- init * varies
  limit <- switch(spec$scale_type,
                  feature = ifelse(varies, pmax(1e3 / sqrt(all$variance), init), 0),
                  single = max(1e3 / sqrt(mean((unit^2 * all$variance)[varies])), 1))
  t_size <- rep(sqrt(2 * spread / sum(varies)), length(varies))
  s_size <- switch(spec$scale_type, feature = rep(init, length(varies)), single = 1)
  list(x = b$x, scale = scale, bag = b$bag - 1L, label = as.integer(b$label), unit = unit,
       scale_type = spec$scale_type, scale_init = init, limit = c(rep(Inf, length(varies)), limit),
       size = c(t_size, s_size))
}

# The problem on one instance per bag: that of column which[j] for bag j.
dd_subset <- function(problem, which) {
  problem$x <- problem$x[, which, drop = FALSE]
  problem$scale <- problem$scale[which]
  problem$bag <- seq_along(which) - 1L
  problem
}

# Columns to start from: see `n_start`.
dd_start_columns <- function(b, scale, n_start, most = 30) {
  if (is.null(n_start)) {
    positive <- which(b$label)
    chosen <- positive[sample.int(length(positive), min(3, length(positive)))]
    column <- which(b$bag %in% chosen)
    if (length(column) > most) column <- sort(column[sample.int(length(column), most)])
  } else {
    column <- sample.int(b$n_positive, min(n_start, b$n_positive))
  }
  column[!duplicated(lapply(column, function(i) b$x[, i] * scale[i]))]
}

dd_theta <- function(problem, column) {
  c(problem$x[, column] * problem$scale[column],
    switch(problem$scale_type, feature = problem$unit, single = 1))
}

dd_point <- function(problem, theta) theta[seq_along(problem$unit)]

dd_scales <- function(problem, theta) {
  rest <- abs(theta[-seq_along(problem$unit)])
  switch(problem$scale_type, feature = rest, single = rest * problem$unit, fixed = problem$unit)
}

# -log diverse density and its gradient
dd_objective <- function(problem, theta, model) {
  out <- .Call(ffi_dd_objective, problem$x, problem$scale, problem$bag, problem$label, problem$unit,
               list(model = model, scale_type = problem$scale_type), theta)
  check_status(out$status)
  out
}

# optim() asks for value and gradient in turn at the same point, so they are computed together. It
# sees only the features that vary, so that constant ones do not influence its steps.
dd_minimise <- function(problem, theta, model, max_iter) {
  free <- rep_len(problem$unit > 0, length(theta))
  if (problem$scale_type == "single") free[length(theta)] <- TRUE
  last <- NULL
  at <- function(h) {
    if (!identical(h, last$h)) {
      theta[free] <- h
      last <<- c(list(h = h), dd_objective(problem, theta, model))
    }
    last
  }
  out <- stats::optim(theta[free], function(h) at(h)$value, function(h) at(h)$gradient[free],
                      method = "L-BFGS-B",
                      lower = -problem$limit[free], upper = problem$limit[free],
                      control = list(maxit = max_iter, lmm = 10, parscale = problem$size[free]))
  theta[free] <- out$par
  list(theta = theta, objective = out$value,
       stop_reason = if (out$convergence == 1) "max_iter" else "converged")
}

# run(theta) from each start; Ctrl-C keeps the completed starts.
dd_from_starts <- function(b, problem, spec, progress, call, run) {
  column <- dd_start_columns(b, problem$scale, spec$n_start)
  bar <- task_progress(progress, "starts", length(column))
  on.exit(bar$done())
  no_fit <- function(e)
    stop_fumi("Interrupted before the end of the first start: there is no fit to return.",
              class = "interrupt", call = call)
  fits <- keep_until_interrupt(length(column), function(s) {
    fit <- tryCatch(run(dd_theta(problem, column[s])), interrupt = no_fit)
    bar$tick(paste("objective", format(fit$objective, digits = 4)))
    fit
  })
  if (attr(fits, "interrupted"))
    warn_fumi("Interrupted: the fit holds the best of ", length(fits), " starts of ",
              length(column), ".", class = "interrupt", call = call)
  fits
}

new_dd_model <- function(method, fits, b, problem, spec, ...) {
  objective <- vapply(fits, `[[`, 0, "objective")
  best <- fits[[which.min(objective)]]
  new_mil_model(
    method, b,
    target = stats::setNames(dd_point(problem, best$theta), b$features),
    feature_scale = stats::setNames(dd_scales(problem, best$theta), b$features),
    objective = best$objective, start_objective = objective, start_scale = problem$scale_init,
    stop_reason = if (attr(fits, "interrupted")) "interrupt" else best$stop_reason, ...,
    normalize = spec$normalize, spec = spec)
}

# q of the columns of x at the hypothesis `h`
dd_quadratic <- function(x, h, normalize) {
  .Call(ffi_dd_quadratic, x, instance_scale(x, normalize), unname(h$target),
        unname(h$feature_scale))
}

#' @export
score_instances.diverse_density <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  -dd_quadratic(x, object, object$normalize)
}

#' @export
score_bags.diverse_density <- function(object, x, bag, ..., call = rlang::caller_env()) {
  score <- score_instances(object, x, ..., call = call)
  if (object$spec$model == "noisy-or") noisy_or_score(-score, bag)
  else cloglog_score(-pool_codes(score, bag))
}

# log(-log(1 - p)) for p = exp(-q). It rises with p and, unlike p, has no ties at 0 and 1; for a q
# above 30, -log(1 - p) is p.
cloglog_score <- function(q) {
  q <- pmax(q, 1e-12)
  none <- ifelse(q > log(2), log1p(-exp(-q)), log(-expm1(-q)))       # log(1 - p)
  ifelse(q > 30, -q, log(-none))
}

# The same of each bag for P = 1 - prod(1 - p): the logarithm of the sum of -log(1 - p).
noisy_or_score <- function(q, bag) {
  h <- cloglog_score(q)
  largest <- pool_codes(h, bag)
  largest + log(rowsum(exp(h - largest[bag]), bag, reorder = TRUE)[, 1])
}

#' @export
probability_curves.diverse_density <- function(object) {
  list(bag = list(link = "cloglog", intercept = 0, slope = 1),
       instance = list(link = "log", intercept = 0, slope = 1))
}

# ---- looking at a fit ------------------------------------------------------------------

#' Inspect a diverse-density fit
#'
#' `coef()` gives the point and the scales; `plot()` shows both, see [plot.mil_model()].
#'
#' @param object,x a fit made by [diverse_density()] or [em_dd()].
#' @param digits whole number >= 1, default 4: significant digits.
#' @param ... ignored.
#' @return `coef()`: a matrix of two rows, `target` (the point \eqn{t}, on the scale of the
#'   normalised instances) and `scale` (\eqn{|s|}: 0 for a feature that does not matter). `print()`:
#'   the fit, invisibly.
#' @name diverse_density-methods
#' @examples
#' set.seed(1)
#' fit <- em_dd(sim_bags(n_bags = 20, image_dim = c(6, 6)), n_start = 5)
#' coef(fit)[, 1:4]
#' plot(fit)
NULL

#' @rdname diverse_density-methods
#' @export
coef.diverse_density <- function(object, ...) {
  check_dots_empty(...)
  validate_model(object)
  rbind(target = object$target, scale = object$feature_scale)
}

#' @rdname diverse_density-methods
#' @export
print.diverse_density <- function(x, digits = 4, ...) {
  print_dd(x, paste0("Diverse density fit (", x$spec$model, ")"), digits)
}

print_dd <- function(x, title, digits) {
  n <- length(x$start_objective)
  cat(title, "\n", sep = "")
  print_model_data(x)
  scales <- vapply(range(x$feature_scale), format, "", digits = digits)
  print_fact("learned", "a target point and ", if (x$spec$scale_type == "feature")
    paste(x$n_features, "scales of features,", paste(scales, collapse = " to ")) else
    paste("one scale,", scales[1]))
  print_fact("parameters", parameter_words(x))
  print_fact("objective", format(x$objective, digits = digits),
             pluralize(", the best of {n} start{?s}"))
  print_fact("stopped", if (x$stop_reason == "interrupt")
    "interrupted; holds the completed starts" else stop_words[[x$stop_reason]])
  print_calibration(x, digits)
  print_problems(x)
  invisible(x)
}
