#' MI-HE: the multiple-instance hybrid estimator
#'
#' Learns background atoms that represent the negative bags, and target atoms with which some
#' instance of each positive bag is represented much better than by background atoms alone.
#'
#' @details
#' Each instance has two codes: \eqn{a} on all atoms \eqn{D = [D^+ D^-]}, and \eqn{c} on the
#' background atoms alone. With the residuals \eqn{r^+ = x - D a} and \eqn{r^- = x - D^- c}, and
#' \eqn{q_i = \|r^+_i\|^2 / \|r^-_i\|^2}{q_i = |r^+_i|^2 / |r^-_i|^2}, the objective is
#' \deqn{J = -\sum_{j:\,Y_j = 1} \log \Big( \frac{1}{n_j} \sum_{i \in j} e^{-\beta b q_i}
#'   \Big)^{1/b} + \rho \sum_{i:\,Y_i = 0} \|r^-_i\|^2 +
#'   \frac{\alpha}{2} \sum_{i:\,Y_i = 0} \big( (D^+ a^+_i)'x_i
#'   \big)^2}{J = -sum_{j: Y_j = 1} log(1/n_j sum_{i in j} exp(-beta b q_i))^(1/b)
#'   + rho sum_{i: Y_i = 0} |r-_i|^2 + alpha/2 sum_{i: Y_i = 0} ((D+ a+_i)'x_i)^2}
#' with \eqn{b} the `power` of the generalised mean: the larger it is, the more the best instance of
#' a bag counts. The third term keeps target atoms away from negative instances. Codes are sparse,
#' with the penalty \eqn{\lambda \|a\|_1}{lambda |a|_1} on \eqn{\frac12 \|x - D a\|^2}{1/2 |x - D
#' a|^2} and atoms of norm 1, or, with `coding = "convex"`, proportions: \eqn{a \ge 0}, \eqn{\sum_k
#' a_k = 1}, with atoms of any norm. Atoms are moved one at a time against the gradient, with the
#' codes fixed.
#'
#' **Start.** Background atoms are k-means centres of the negative bags; target atoms are means of
#' random parts of the instances of positive bags.
#'
#' **Score.** `"confidence"`: \eqn{\log(\|r^-\|^2 / \|r^+\|^2)}{log(|r^-|^2 / |r^+|^2)}, the
#' logarithm of the ratio by which [dlfumi()] scores, with each residual from its own code. `"ace"`:
#' [ace()] with the target atom, or [sub_ace()] with several, against the mean and covariance of the
#' negative bags; with proportions, that mean is subtracted from the target. The default was chosen
#' by cross-validation over the training bags of 16 simulated sets (2 or 6 background sources, 15 or
#' 40 features, two levels of noise): the mean area under the ROC curve of bags was 0.98 with
#' `"confidence"` and 0.80 with `"ace"`.
#'
#' @section Variants:
#' `"literal"` reproduces the authors' released code up to rounding: before each atom, all codes
#' are recomputed by 100 iterations of ISTA from least squares with \eqn{\lambda} as the threshold,
#' followed by up to 19 steps of length `step`. `"fast"` departs from it: codes are exact
#' minimisers, started from the previous ones; an atom of norm 1 moves along the sphere with a line
#' search, and returns if \eqn{J} is higher after the codes are updated, so that \eqn{J} never
#' rises; convergence is relative to the first \eqn{J}. Both keep the dictionary with the lowest
#' objective, where the released code keeps the last one and starts from vertex component analysis.
#'
#' @section Defaults:
#' The values are those of the released code. They suit instances of norm near 1.
#'
#' @inheritParams dlfumi
#' @param n_target,n_background whole numbers >= 1, default 1 and 9: numbers of target and
#'   background atoms to learn; try 4 to 18 background atoms.
#' @param beta number > 0, default 5: scale of the ratio \eqn{q}; try 1 to 20.
#' @param power number > 0, default 5: \eqn{b}, power of the generalised mean over the instances of
#'   a positive bag; larger values come closer to the maximum.
#' @param rho number >= 0, default 0.8: weight of the background term; try 0.1 to 2.
#' @param lambda number >= 0, default 0.001: weight of the sparsity penalty of the codes; not used
#'   with `coding = "convex"`; try 0.0001 to 0.05.
#' @param alpha number >= 0, default 0.01: weight of the discrimination term; try 0 to 0.1.
#' @param coding `"sparse"` (default), codes of any sign, or `"convex"`, proportions; see below.
#' @param score `"confidence"` (default) or `"ace"`: the score of an instance; see below.
#' @param variant `"fast"` (default), or `"literal"`, as in the released code; see below.
#' @param step number > 0, default 0.001: for `variant = "literal"`, the length of a step.
#' @param max_iter whole number >= 1, default 200: largest number of iterations.
#' @param tol number >= 0, default 1e-5: stop when the objective changes by less than this, for
#'   `variant = "fast"` relative to its value at the start.
#' @param n_start whole number >= 1, default 1: number of random starts; the one with the lowest
#'   objective is kept.
#' @param normalize `"unit"` (default) scales every instance, also of new data, to norm 1; `"none"`
#'   leaves instances as they are.
#' @return A model of class `c("mi_he", "mil_model")`, for `predict()`, `plot()` and [mil_roc()],
#'   with
#'   \item{dictionary}{features x atoms, targets first; see `coef()`}
#'   \item{objective}{one row per iteration, from the start (0): the objective and its three terms;
#'     see [loss_path()]}
#'   \item{best_iter}{the iteration from which the dictionary is taken}
#'   \item{background}{the [background_stats()] of the negative bags}
#'   \item{n_iter, stop_reason}{how it ended}
#' @references Jiao, C., Chen, C., McGarvey, R. G., Bohlman, S., Jiao, L. and Zare, A. (2018).
#'   Multiple instance hybrid estimator for hyperspectral target characterization and sub-pixel
#'   target detection. *ISPRS Journal of Photogrammetry and Remote Sensing*. arXiv:1710.11599.
#' @seealso [dlfumi()], [e_fumi()], [mi_ace()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- mi_he(b, n_background = 4)
#' fit
#' tail(loss_path(fit), 2)
#' mil_roc(fit, b)
#' @export
mi_he <- function(x, ..., n_target = 1, n_background = 9, beta = 5, power = 5, rho = 0.8,
                  lambda = 1e-3, alpha = 1e-2,
                  coding = c("sparse", "convex"), score = c("confidence", "ace"),
                  variant = c("fast", "literal"),
                  step = 1e-3, max_iter = 200, tol = 1e-5, n_start = 1,
                  normalize = c("unit", "none"), calibrate = getOption("fumi.calibrate", "auto"),
                  progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  spec <- list(n_target = check_count(n_target, "n_target"),
               n_background = check_count(n_background, "n_background"),
               beta = check_number(beta, "beta", above = 0),
               power = check_number(power, "power", above = 0),
               rho = check_number(rho, "rho", min = 0),
               lambda = check_number(lambda, "lambda", min = 0),
               alpha = check_number(alpha, "alpha", min = 0),
               coding = check_choice(coding, c("sparse", "convex"), "coding"),
               score = check_choice(score, c("confidence", "ace"), "score"),
               variant = check_choice(variant, c("fast", "literal"), "variant"),
               step = check_number(step, "step", above = 0),
               max_iter = check_count(max_iter, "max_iter"),
               tol = check_number(tol, "tol", min = 0),
               n_start = check_count(n_start, "n_start"),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- check_trainable(bags(x, ...), spec$normalize, copies = 2)
  check_dlfumi_sizes(b, spec)
  fit <- mi_he_bridge(b, spec, progress)
  n_atoms <- n_target + n_background
  with_given(calibrate_fit(fit, b, spec$calibrate, function(b) mi_he_bridge(b, spec, FALSE),
                           work = 4 * length(b$bag) * n_atoms * (nrow(b$x) + n_atoms^2) *
                             fit$n_iter * spec$n_start, progress),
             given)
}

# ---- bridge: numbers in, model out -----------------------------------------------

mi_he_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  b <- sort_instances(b)
  scale <- instance_scale(b$x, spec$normalize)
  check_distinct_negatives(b, scale, spec, call)
  draws <- lapply(seq_len(spec$n_start), function(s)
    list(order = sample.int(b$n_positive), uniform = stats::runif(spec$n_background)))
  bar <- fit_progress(progress, spec$n_start, spec$max_iter)
  on.exit(bar$done())
  fits <- run_starts(spec$n_start, function(s)
    mi_he_run(b, scale, mi_he_start(b, scale, spec, draws[[s]], call), spec, bar$report(s), call))
  if (attr(fits, "interrupted"))
    warn_fumi("Interrupted: the fit holds the best of ", fits[[length(fits)]]$n_iter,
              " iterations of start ",
              length(fits), " of ", spec$n_start, ".", class = "interrupt", call = call)
  new_mi_he(fits, b, scale, spec, call)
}

# Target atoms: means of random parts of the instances of positive bags. Background atoms: k-means
# centres.
mi_he_start <- function(b, scale, spec, draw, call) {
  size <- b$n_positive %/% spec$n_target
  target <- vapply(seq_len(spec$n_target), function(t)
    .Call(ffi_sum_columns, b$x, scale, draw$order[(t - 1) * size + seq_len(size)]) / size,
    numeric(nrow(b$x)))
  clusters <- cluster_instances(b$x, scale, draw$uniform, b$n_positive)
  check_status(clusters$status, call)
  check_n_distinct(clusters$n_distinct, spec, call)
  atoms <- cbind(matrix(target, nrow(b$x)), clusters$centres)
  if (spec$coding == "sparse") unit_columns(atoms) else atoms
}

# What read_param() in src/r_mihe.c reads.
mi_he_par <- function(spec) {
  c(spec[c("n_target", "coding", "variant", "max_iter", "beta", "power", "rho", "lambda", "alpha",
           "step", "tol")],
    list(simd = simd(), threads = n_threads()))
}

mi_he_run <- function(b, scale, start, spec, report = NULL, call = rlang::caller_env()) {
  bag <- b$bag[seq_len(b$n_positive)]
  bag <- match(bag, unique(bag))
  out <- .Call(ffi_mihe_fit, b$x, scale, b$n_positive, bag - 1L, max(bag), start, mi_he_par(spec),
               report)
  if (out$status == "nonfinite")
    stop_fumi("The objective must stay finite, but it was not in iteration ", out$n_iter + 1,
              ": the data are probably too ",
              "large or too uneven in scale; try `normalize = \"unit\"` or rescale `x`.",
              class = "diverged", call = call)
  if (out$status != "interrupt" || out$n_iter == 0) check_status(out$status, call)
  path <- t(out$trace[, seq_len(1 + out$n_iter), drop = FALSE])
  colnames(path) <- c("objective", "positive", "background", "discrimination")
  list(dictionary = out$dictionary, last = out$last, length = out$length, n_iter = out$n_iter,
       best_iter = out$best,
       stop_reason = out$status, objective = data.frame(iteration = seq(0, out$n_iter), path))
}

new_mi_he <- function(fits, b, scale, spec, call) {
  best <- fits[[which.min(vapply(fits, function(f) min(f$objective$objective), 0))]]
  names <- c(paste0("target", seq_len(spec$n_target)),
             paste0("background", seq_len(spec$n_background)))
  new_mil_model(
    "mi_he", b,
    dictionary = structure(best$dictionary, dimnames = list(b$features, names)),
    n_target = spec$n_target,
    n_background = spec$n_background, objective = best$objective, n_iter = best$n_iter,
    best_iter = best$best_iter,
    stop_reason = if (attr(fits, "interrupted")) "interrupt" else best$stop_reason,
    background = make_background(normalised_negatives(b, scale), "x", call = call),
    normalize = spec$normalize, starts = lapply(fits, `[[`, "objective"), spec = spec)
}

# ---- scores ------------------------------------------------------------------------

# Penalties of the lasso whose solutions the codes converge to, on all atoms and on background
# atoms alone.
mi_he_penalty <- function(object) {
  background <- object$dictionary[, -seq_len(object$n_target), drop = FALSE]
  largest <- function(d) max(eigen(crossprod(d), TRUE, TRUE)$values)
  object$spec$lambda * if (object$spec$variant == "fast") c(1, 1)
                       else c(largest(object$dictionary), largest(background)) / .99
}

# |r-|^2 / |r+|^2, with 1e-12 |x|^2 added to both; 1 for an instance of zeros.
mi_he_confidence <- function(object, x) {
  atoms <- unname(object$dictionary)
  scale <- instance_scale(x, object$normalize)
  if (object$spec$coding == "sparse") {
    lambda <- mi_he_penalty(object)
    out <- .Call(ffi_dlfumi_confidence, x, scale, atoms,
                 list(n_target = object$n_target, lambda = lambda[1], lambda_separate = lambda[2],
                      separate = TRUE,
                      steps = 0L, nonneg = FALSE, simd = simd(), threads = n_threads()))
    check_status(out$status)
    return(out$confidence)
  }
  x <- x * rep(scale, each = nrow(x))
  least <- 1e-12 * colSums(x^2) + .Machine$double.xmin
  left <- function(atoms) colSums((x - atoms %*% unmix(atoms, x))^2) + least
  left(atoms[, -seq_len(object$n_target), drop = FALSE]) / left(atoms)
}

#' @export
score_instances.mi_he <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  if (object$spec$score == "confidence") {
    score <- log(mi_he_confidence(object, x))
    if (!all(is.finite(score)))
      stop_fumi("`new_data` must have values whose squares are finite, but its largest value is ",
                signif(largest_value(x), 3), ".", class = "scale", call = rlang::caller_env(2))
    return(score)
  }
  x <- x * rep(instance_scale(x, object$normalize), each = nrow(x))
  target <- unname(object$dictionary[, seq_len(object$n_target), drop = FALSE])
  centred <- object$spec$coding == "convex"
  if (object$n_target > 1) return(detect_columns(x, target, object$background, centred))
  by_block(x, object$background, target_basis(target, object$background, centred), colSums)
}

#' @export
code_instances.mi_he <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = "new_data", call = call)
  scale <- instance_scale(x, object$normalize)
  if (object$spec$coding == "convex") {
    codes <- unmix(unname(object$dictionary), x * rep(scale, each = nrow(x)))
  } else {
    out <- .Call(ffi_code, x, scale, unname(object$dictionary),
                 list(lambda = mi_he_penalty(object)[1], steps = 0L, nonneg = FALSE, simd = simd(),
                      threads = n_threads()))
    check_status(out$status, call)
    codes <- out$codes
  }
  rownames(codes) <- colnames(object$dictionary)
  codes
}

# ---- looking at a fit ----------------------------------------------------------------

#' @rdname mil_model-methods
#' @export
coef.mi_he <- coef.dlfumi
