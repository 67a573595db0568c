#' e-FUMI: target and background endmembers by convex mixing
#'
#' Estimates `n_target` target endmembers and `n_background` background endmembers: every instance
#' is a convex mixture of endmembers, and in negative bags of background endmembers only. It is the
#' predecessor of [dlfumi()], for data in which proportions have a meaning, such as spectra.
#'
#' @details
#' With proportions \eqn{a_i \ge 0}, \eqn{\sum_k a_{ik} = 1}, and the hidden \eqn{z_i} of an
#' instance of a positive bag (1 if it holds a target), the objective is
#' \deqn{J = \tfrac12 (1 - u) \sum_i w_i E_z \|x_i - z_i E^+ a_i^+ - E^- a_i^-\|^2 +
#'   \tfrac12 u \sum_k \|e_k - \mu\|^2 +
#'   \sum_k \gamma_k \sum_i a_{ik},}{J = 1/2 (1 - u) sum_i w_i E_z |x_i - z_i E+ a_i+ - E- a_i-|^2
#'   + 1/2 u sum_k |e_k - mu|^2 + sum_k gamma_k sum_i a_ik,}
#' where \eqn{w_i = \alpha N^- / N^+} in positive bags and 1 in negative ones, \eqn{\mu} is the mean
#' of all instances, and \eqn{\gamma_k = \Gamma / \sum_i a_{ik}} with the proportions of the
#' previous iteration, and 0 for targets. An iteration computes \eqn{P(z_i = 1) = 1 - \exp(-\beta
#' \|x_i - E^- a_i^-\|^2)}{P(z_i = 1) = 1 - exp(-beta |x_i - E^- a_i^-|^2)}, then the proportions,
#' then the endmembers, each as an exact minimiser, and drops background endmembers whose proportion
#' is below `prune` in all instances (but never the last one).
#'
#' **Start.** Background endmembers are k-means centres of the negative bags; each target endmember
#' is the instance of a positive bag that the endmembers chosen before unmix worst; proportions are
#' equal.
#'
#' **Score.** An instance is unmixed on the background endmembers (residual \eqn{r^-}) and on all of
#' them (\eqn{r}). If a target lowers the residual, the score is \eqn{\log(r^- / r) > 0}{log(r^- /
#' r) > 0}, the logarithm of the ratio by which [dlfumi()] scores. Otherwise that ratio would be 1
#' for all instances, and the score is the rate at which a small amount of the nearest target would
#' raise the residual, \eqn{-\partial \log r / \partial a_t < 0}{-d log r / d a_t < 0}; the two
#' definitions meet at 0. `predict(type = "codes")` gives the proportions. Other detectors accept
#' the endmembers of a fit, for example `ace(x, fit, center_target = TRUE)`.
#'
#' @section Departures:
#' * The released code adds \eqn{u} to every entry of the matrix that it inverts for the
#'   endmembers, and its objective measures their spread around their own mean. Here \eqn{u I} and
#'   \eqn{\mu} are used, as derived in the paper, so that the update minimises the objective.
#' * The released code drops all negative proportions at once and solves again for the rest, and
#'   ignores \eqn{w_i} if the target is among those dropped. Here proportions are the exact
#'   minimiser.
#' * It starts from vertex component analysis or k-means. Here the start is k-means, and targets
#'   are chosen one after the other as in its start by vertex component analysis.
#' * It stops when \eqn{J} changes by less than `tol`, here when it changes by less than `tol`
#'   times the first \eqn{J}.
#' * It uses the data as they are: reflectances, for which the default `beta` is chosen. Here
#'   instances are scaled to norm 1 unless `normalize = "none"`.
#'
#' @section Defaults:
#' They are those of the released code of e-FUMI and, where a second value is given, of its
#' extension to several targets; the latter allows 500 iterations and prunes at 1e-8. Whatever the
#' background endmembers cannot mix looks like target, so too few of them do more harm than too
#' many. \eqn{\Gamma} is not relative to the number of instances: with a few hundred instances, 1
#' or less gives the data more weight than 10 does.
#'
#' @inheritParams dlfumi
#' @param n_target,n_background whole numbers >= 1, default 1 and 3: numbers of endmembers; try 3
#'   to 15 background endmembers. Those that no instance uses are dropped.
#' @param u number in \[0, 1): weight of the volume term. `NULL` (default): 0.05, or 0.01 for
#'   several targets.
#' @param alpha number > 0, default 2: total weight of positive bags relative to negative ones.
#' @param gamma number >= 0: \eqn{\Gamma}, weight of the term that drives unneeded background
#'   endmembers to 0; try 0.01 to 10. `NULL` (default): 10, or 0.01 for several targets.
#' @param beta number > 0: scale of the E-step; try 5 to 500. `NULL` (default): 45, or 50 for
#'   several targets.
#' @param max_iter whole number >= 1, default 100: largest number of iterations.
#' @param tol number >= 0, default 1e-6: stop when the objective changes by less than this,
#'   relative to the first objective.
#' @param prune number in (0, 1\], default 0.001: drop a background endmember whose largest
#'   proportion is below this.
#' @param n_start whole number >= 1, default 1: number of random starts; the one with the lowest
#'   objective is kept.
#' @param normalize `"unit"` (default) scales every instance, also of new data, to norm 1; `"none"`
#'   leaves instances as they are.
#' @return A model of class `c("e_fumi", "mil_model")`, for `predict()` and [mil_roc()], with
#'   \item{dictionary}{features x endmembers, targets first; see `coef()`}
#'   \item{codes}{proportions, endmembers x instances, in the order of the instances given}
#'   \item{prob_target}{the weight \eqn{P(z = 1)} of the last E-step for each instance, 0 in
#'     negative bags}
#'   \item{objective}{one row per iteration: the objective and its three terms; see [loss_path()]}
#'   \item{n_iter, stop_reason, n_dropped}{how it ended, and how many endmembers were dropped}
#' @references Jiao, C. and Zare, A. (2015). Functions of multiple instances for learning target
#'   signatures. *IEEE Transactions on Geoscience and Remote Sensing*, 53(8), 4670--4686.
#' @seealso [dlfumi()], [ace()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- e_fumi(b, n_background = 5, gamma = 1)
#' fit
#' round(head(predict(fit, b, type = "codes")), 2)
#' mil_roc(fit, b)
#' @export
e_fumi <- function(x, ..., n_target = 1, n_background = 3, u = NULL, alpha = 2, gamma = NULL,
                   beta = NULL,
                   max_iter = 100, tol = 1e-6, prune = 1e-3, n_start = 1,
                   normalize = c("unit", "none"), calibrate = getOption("fumi.calibrate", "auto"),
                   progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  n_target <- check_count(n_target, "n_target")
  several <- n_target > 1
  spec <- list(n_target = n_target,
               n_background = check_count(n_background, "n_background"),
               u = check_number(if (is.null(u)) if (several) .01 else .05 else u, "u", min = 0,
                                max = .999),
               alpha = check_number(alpha, "alpha", above = 0),
               gamma = check_number(if (is.null(gamma)) if (several) .01 else 10 else gamma,
                                    "gamma", min = 0),
               beta = check_number(if (is.null(beta)) if (several) 50 else 45 else beta, "beta",
                                   above = 0),
               max_iter = check_count(max_iter, "max_iter"),
               tol = check_number(tol, "tol", min = 0),
               prune = check_number(prune, "prune", above = 0, max = 1),
               n_start = check_count(n_start, "n_start"),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- check_trainable(bags(x, ...), spec$normalize, copies = 2)
  check_dlfumi_sizes(b, spec)
  fit <- e_fumi_bridge(b, spec, progress)
  n_atoms <- n_target + spec$n_background
  fit <- calibrate_fit(fit, b, spec$calibrate, function(b) e_fumi_bridge(b, spec, FALSE),
                       work = as.numeric(length(b$bag)) * n_atoms *
                         (4 * nrow(b$x) + 20 * n_atoms^2) * fit$n_iter * spec$n_start, progress)
  with_given(fit, given)
}

# ---- bridge: numbers in, model out -----------------------------------------------

e_fumi_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  b <- sort_instances(b)
  check_distinct_negatives(b, instance_scale(b$x, spec$normalize), spec, call)
  data <- e_fumi_data(b, spec)
  draws <- lapply(seq_len(spec$n_start), function(s) stats::runif(spec$n_background))
  bar <- fit_progress(progress, spec$n_start, spec$max_iter)
  on.exit(bar$done())
  fits <- run_starts(spec$n_start, function(s)
    e_fumi_run(e_fumi_start(data, draws[[s]], spec, call), data, spec, bar$report(s)))
  warn_interrupted(fits, spec$n_start, call)
  final <- vapply(fits, function(f) f$objective$objective[f$n_iter], 0)
  best <- fits[[which.min(final)]]
  warn_e_fumi_beta(best$p[data$positive], spec, call)
  new_e_fumi(best, fits, b, spec)
}

e_fumi_data <- function(b, spec) {
  x <- b$x * rep(instance_scale(b$x, spec$normalize), each = nrow(b$x))
  n <- c(b$n_positive, ncol(x) - b$n_positive)
  list(x = x, norm2 = colSums(x^2), mean = rowMeans(x), positive = seq_len(ncol(x)) <= n[1],
       weight = rep(c(spec$alpha * n[2] / n[1], 1), n))                # w_i
}

new_e_fumi <- function(best, fits, b, spec) {
  n_background <- ncol(best$endmembers) - spec$n_target
  names <- c(paste0("target", seq_len(spec$n_target)), paste0("background", seq_len(n_background)))
  new_mil_model(
    "e_fumi", b,
    dictionary = structure(best$endmembers, dimnames = list(b$features, names)),
    codes = structure(in_user_order(b, best$codes), dimnames = list(names, NULL)),
    prob_target = in_user_order(b, best$p), objective = best$objective, n_iter = best$n_iter,
    stop_reason = if (attr(fits, "interrupted")) "interrupt"
                  else best$stop_reason, n_target = spec$n_target,
    n_background = n_background, n_dropped = spec$n_background - n_background,
    normalize = spec$normalize, starts = lapply(fits, `[[`, "objective"), spec = spec)
}

warn_e_fumi_beta <- function(p, spec, call) {
  if (all(p < 1e-12) || all(p > 1 - 1e-12))
    warn_fumi("`beta` = ", spec$beta, " makes every weight of the E-step ",
              if (p[1] < .5) "0" else "1",
              ": it must suit the scale of the data.", class = "beta", call = call)
}

# ---- the iteration -----------------------------------------------------------------

e_fumi_start <- function(data, draw, spec, call) {
  n_positive <- sum(data$positive)
  clusters <- cluster_instances(data$x, rep(1, ncol(data$x)), draw, n_positive)
  check_status(clusters$status, call)
  check_n_distinct(clusters$n_distinct, spec, call)
  target <- NULL
  x <- data$x[, data$positive, drop = FALSE]
  for (t in seq_len(spec$n_target)) {
    endmembers <- cbind(target, clusters$centres)
    worst <- which.max(colSums((x - endmembers %*% unmix(endmembers, x))^2))
    target <- cbind(target, x[, worst])
  }
  kinds <- c(spec$n_target, spec$n_background)
  codes <- matrix(1 / sum(kinds), sum(kinds), ncol(data$x))
  codes[, !data$positive] <- rep(c(0, 1 / spec$n_background), kinds)
  with_endmembers(list(codes = codes), data, cbind(target, clusters$centres))
}

# The state of a fit: endmembers E, codes A, and what every step needs of E.
with_endmembers <- function(state, data, endmembers) {
  state$endmembers <- endmembers
  state$cross <- crossprod(endmembers, data$x)     # E'X
  state$gram <- crossprod(endmembers)              # E'E
  state
}

e_fumi_run <- function(state, data, spec, report) {
  iterate <- function() {
    for (it in seq_len(spec$max_iter)) {
      state <<- drop_unused(e_fumi_step(state, data, spec), spec)
      path <- state$path[, "objective"]
      if (!is.null(report)) report(it, path[it])
      if (it > 1 && abs(path[it] - path[it - 1]) < spec$tol * abs(path[1])) return("converged")
    }
    "max_iter"
  }
  # The state is replaced in one step, so that an interrupt finds a complete iteration.
  reason <- until_interrupt(iterate(), started = !is.null(state$path))
  n_iter <- nrow(state$path)
  c(state, list(objective = data.frame(iteration = seq_len(n_iter), state$path), n_iter = n_iter,
                stop_reason = reason))
}

e_fumi_step <- function(state, data, spec) {
  background <- -seq_len(spec$n_target)
  # E-step: P(z = 1) = 1 - exp(-beta ||x - E- a-||^2)
  state$p <- -expm1(-spec$beta * mixing_residual(state, data, background)) * data$positive
  state$gamma <- spec$gamma / rowSums(state$codes)                  # gamma_k = Gamma / sum_i a_ik
  state$gamma[-background] <- 0
  state$codes <- e_fumi_codes(state, data, spec)
  state <- with_endmembers(state, data, e_fumi_endmembers(state, data, spec))
  state$path <- rbind(state$path, e_fumi_objective(state, data, spec))
  state
}

# ||x - E_k a_k||^2 = ||x||^2 - 2 a_k'E_k'x + a_k'E_k'E_k a_k, for the endmembers k alone
mixing_residual <- function(state, data, k) {
  a <- state$codes[k, , drop = FALSE]
  r <- data$norm2 - 2 * colSums(a * state$cross[k, , drop = FALSE]) +
    colSums(a * (state$gram[k, k, drop = FALSE] %*% a))
  pmax(r, 0)
}

# The minimiser of J over the proportions: J / ((1 - u) w_i) is
# .5 [(1 - p) ||x - E- a-||^2 + p ||x - E a||^2] + gamma'a / ((1 - u) w_i).
e_fumi_codes <- function(state, data, spec) {
  target <- seq_len(spec$n_target)
  linear <- state$cross
  linear[target, ] <- linear[target, ] * rep(state$p, each = spec$n_target)
  linear <- linear - outer(state$gamma, 1 / ((1 - spec$u) * data$weight))
  codes <- matrix(0, nrow(linear), ncol(linear))
  codes[, data$positive] <- solve_simplex(state$gram, linear[, data$positive, drop = FALSE],
                                          spec$n_target, state$p[data$positive])
  codes[-target, !data$positive] <- solve_simplex(state$gram[-target, -target, drop = FALSE],
                                                  linear[-target, !data$positive, drop = FALSE])
  codes
}

# The minimiser of J over the endmembers,
# E [(1 - u) sum_i w_i E_z(a_i a_i') + u I] = (1 - u) sum_i w_i x_i E_z(a_i)' + u mu 1',
# where z_i is a factor of the target entries of a_i, so that E_z puts p_i before them.
e_fumi_endmembers <- function(state, data, spec) {
  target <- seq_len(spec$n_target)
  codes <- state$codes
  weighted <- codes * rep((1 - spec$u) * data$weight, each = nrow(codes))
  expected <- weighted
  expected[target, ] <- expected[target, ] * rep(state$p, each = spec$n_target)
  moment <- tcrossprod(weighted, codes)
  moment[target, ] <- tcrossprod(expected[target, , drop = FALSE], codes)
  moment[-target, target] <- t(moment[target, -target])
  diag(moment) <- diag(moment) + spec$u
  # Without the volume term, an unused endmember is not determined.
  diag(moment) <- diag(moment) + 1e-12 * max(diag(moment))
  t(solve(moment, t(tcrossprod(data$x, expected) + spec$u * data$mean)))
}

e_fumi_objective <- function(state, data, spec) {
  background <- -seq_len(spec$n_target)
  residual <- (1 - state$p) * mixing_residual(state, data, background) +
    state$p * mixing_residual(state, data, seq_len(nrow(state$gram)))
  terms <- c(reconstruction = .5 * (1 - spec$u) * sum(data$weight * residual),
             volume = .5 * spec$u * sum((state$endmembers - data$mean)^2),
             sparsity = sum(state$gamma * rowSums(state$codes)))
  c(objective = sum(terms), terms)
}

# Drops the background endmembers that no instance uses, but never all of them.
drop_unused <- function(state, spec) {
  most <- apply(state$codes, 1, max)
  background <- seq_along(most) > spec$n_target
  out <- background & most < spec$prune
  if (all(out[background])) out[which.max(most * background)] <- FALSE
  if (!any(out)) return(state)
  state$endmembers <- state$endmembers[, !out, drop = FALSE]
  for (part in c("codes", "cross")) state[[part]] <- state[[part]][!out, , drop = FALSE]
  state$gram <- state$gram[!out, !out, drop = FALSE]
  state
}

# ---- unmixing and scores -------------------------------------------------------------

# Column i: the minimiser of .5 a'Qa - linear_i'a over the simplex, where Q is `gram` with the rows
# and columns of the first `n_target` endmembers times p_i.
solve_simplex <- function(gram, linear, n_target = 0L, p = rep(1, ncol(linear))) {
  out <- .Call(ffi_efumi_unmix, unname(gram), n_target, p, unname(linear))
  check_status(out$status)
  out$codes
}

# Proportions of the columns of `x`: the convex mixture of endmembers nearest to each.
unmix <- function(endmembers, x) solve_simplex(crossprod(endmembers), crossprod(endmembers, x))

#' @export
score_instances.e_fumi <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  x <- x * rep(instance_scale(x, object$normalize), each = nrow(x))
  endmembers <- unname(object$dictionary)
  target <- endmembers[, seq_len(object$n_target), drop = FALSE]
  background <- endmembers[, -seq_len(object$n_target), drop = FALSE]
  # A residual below rounding error is rounding error.
  floor <- 1e-14 * (colSums(x^2) + mean(colSums(endmembers^2)))
  rest <- background %*% unmix(background, x) - x
  slope <- target_slope(target, background, rest, x)
  r_background <- pmax(colSums(rest^2), floor)
  r <- pmax(colSums((x - endmembers %*% unmix(endmembers, x))^2), floor)
  ifelse(slope < 0, pmax(log(r_background / r), 0), -2 * slope / r_background)
}

# d (.5 ||E a - x||^2) as the first bit of the nearest target takes the place of background:
# min_t e_t'r - a'E-'r, with r = E- a - x and so E- a = r + x.
target_slope <- function(target, background, rest, x) {
  nearest <- Reduce(pmin, lapply(seq_len(ncol(target)),
                                 function(t) drop(crossprod(rest, target[, t]))))
  nearest - colSums((rest + x) * rest)
}

#' @export
code_instances.e_fumi <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = "new_data", call = call)
  codes <- unmix(unname(object$dictionary), x * rep(instance_scale(x, object$normalize),
                                                    each = nrow(x)))
  rownames(codes) <- colnames(object$dictionary)
  codes
}

#' @rdname mil_model-methods
#' @export
coef.e_fumi <- function(object, which = c("all", "target", "background"), ...) {
  coef.dlfumi(object, which, ...)
}
