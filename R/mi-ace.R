#' MI-ACE and MI-SMF: one target signature for a matched detector
#'
#' Finds the signature whose adaptive cosine estimator (ACE), or spectral matched filter (SMF), is
#' largest on the best instance of each positive bag and smallest on the negative bags.
#'
#' @details
#' With \eqn{\hat x} the instance less the mean of the negative bags, whitened by their covariance (see
#' [background_stats()]), and for ACE brought to norm 1, the objective over \eqn{\|s\| = 1} is
#' \deqn{\frac{1}{J^+} \sum_{j:\,Y_j = 1} \max_{i \in j} s'\hat x_i -
#'   \frac{1}{J^-} \sum_{j:\,Y_j = 0} \frac{1}{n_j} \sum_{i \in j} s'\hat x_i.}
#' A step takes the best instance \eqn{x^*_j} of each positive bag and sets \eqn{s} to the direction of
#' \eqn{\mathrm{mean}_j \hat x^*_j - \mathrm{mean}_j \mathrm{mean}_i \hat x_i}, the maximiser for that choice, so that
#' the objective never falls. It ends when a choice of instances comes back. The score is the signed
#' statistic, \eqn{s'\hat x}.
#'
#' The first start, its 1000 centres and the 1000 steps are those of the released code, which departs in
#' three ways. It stops when a signature comes back exactly, which rounding can prevent. It loads the
#' covariance with 2.2e-16, which leaves scores to rounding when there are more features than instances: the
#' default here is the ridge of [background_stats()]. And it compares the starts of MI-SMF before it brings
#' them to norm 1, here after.
#'
#' @inheritParams mi_svm
#' @inheritParams dlfumi
#' @inheritParams background_stats
#' @param x,... the data: [bags()], or what [bags()] takes.
#' @param type `"ace"`, or `"smf"`, which also counts how strong an instance is.
#' @param init the start: `"instances"`, the instance of a positive bag with the largest objective;
#'   `"kmeans"`, the k-means centre of those instances with the largest objective.
#' @param n_clusters for `init = "kmeans"`: the number of centres, at most one an instance.
#' @param max_iter largest number of steps.
#' @param normalize `"none"` takes instances as they are, `"unit"` brings each to norm 1 first.
#' @return A model of class `c("mi_ace", "mil_model")`, for `predict()` and [mil_roc()]. `coef()` gives the
#'   signature, of norm 1, on the scale of the data less the background mean; [ace()] takes the model as
#'   its target. Further
#'   \item{background}{the [background_stats()] of the negative bags}
#'   \item{objective}{one row a step; see [loss_path()]}
#'   \item{selected}{the instance chosen in each positive bag, as its number in the order given}
#'   \item{n_iter, stop_reason}{how it ended: `"converged"` or `"max_iter"`}
#' @references Zare, A., Jiao, C. and Glenn, T. (2018). Discriminative multiple instance hyperspectral
#'   target characterization. *IEEE Transactions on Pattern Analysis and Machine Intelligence*, 40(10),
#'   2342--2354.
#' @seealso [ace()], [background_stats()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- mi_ace(b)
#' fit
#' sum(coef(fit)^2)
#' mil_roc(fit, b)
#' @export
mi_ace <- function(x, ..., type = c("ace", "smf"), init = c("instances", "kmeans"),
                   n_clusters = 1000, whitener = c("ridge", "ledoit-wolf", "ppca", "pinv", "none"),
                   ridge = 1e-2, energy = 0.95, bag_weights = NULL, max_iter = 1000, normalize = c("none", "unit"),
                   calibrate = getOption("fumi.calibrate", "auto"),
                   progress = getOption("fumi.progress", interactive())) {
  check_door(names(formals()), ...names())
  given <- given_arguments()
  spec <- list(type = check_choice(type, c("ace", "smf"), "type"),
               init = check_choice(init, c("instances", "kmeans"), "init"),
               n_clusters = check_count(n_clusters, "n_clusters"),
               whitener = check_choice(whitener, whiteners, "whitener"),
               ridge = check_number(ridge, "ridge", above = 0),
               energy = check_number(energy, "energy", above = 0, max = 1),
               max_iter = check_count(max_iter, "max_iter"),
               normalize = check_choice(normalize, c("none", "unit"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- check_trainable(bags(x, ...), spec$normalize, copies = 2)
  spec$bag_weights <- given$bag_weights <- check_bag_weights(bag_weights, b)
  fit <- mi_ace_bridge(b, spec, progress)
  with_given(calibrate_fit(fit, b, spec$calibrate, function(b) mi_ace_bridge(b, spec, FALSE),
                           work = length(b$x) * (b$n_positive + min(dim(b$x))), progress), given)
}

mi_ace_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  bar <- task_progress(progress, "MI-ACE", 3)
  on.exit(bar$done())
  b <- sort_instances(b)
  draws <- if (spec$init == "kmeans") stats::runif(min(spec$n_clusters, b$n_positive))
  x <- b$x * rep(instance_scale(b$x, spec$normalize), each = nrow(b$x))
  copies <- bag_copies(spec$bag_weights, b, call)$n
  negative <- with_copies(seq_along(b$bag), copies[b$bag] * !in_positive(b))
  background <- make_background(t(x[, negative, drop = FALSE]), "x", spec$whitener, spec$ridge, spec$energy, call = call)
  problem <- mi_ace_problem(x, b, background, spec$type, copies, call)
  bar$tick("whitened")
  start <- mi_ace_start(problem, draws, spec, call)
  bar$tick("start chosen")
  fit <- mi_ace_ascend(start, problem, spec$max_iter)
  bar$tick("signature found")
  target <- unwhiten(fit$target, background)
  chosen <- stats::setNames(b$order[fit$selected], b$ids[b$bag[fit$selected]])
  new_mil_model(
    "mi_ace", b,
    dictionary = matrix(target / sqrt(sum(target^2)), dimnames = list(b$features, "target1")),
    n_target = 1L, background = background, objective = fit$objective, n_iter = fit$n_iter,
    stop_reason = fit$stop_reason, starts = list(fit$objective), normalize = spec$normalize,
    selected = chosen[intersect(in_user_order(b, b$ids[b$bag]), names(chosen))], spec = spec)
}

# Whitened instances of positive bags, their bags and the shares of these, and mean_j mean_i of the negative
# bags, in means that count the `copies` of each bag.
mi_ace_problem <- function(x, b, background, type, copies, call) {
  w <- mi_ace_whiten(x, background, type)
  positive <- seq_len(ncol(x)) <= b$n_positive
  bag <- b$bag[!positive]
  share <- copies[bag] / (tabulate(bag)[bag] * sum(copies[!b$label]))
  problem <- list(positive = w[, positive, drop = FALSE], bag = b$bag[positive],
                  share = (copies / sum(copies[b$label]))[b$label],
                  negative = drop(w[, !positive, drop = FALSE] %*% share))
  if (all(problem$positive == 0))
    stop_fumi("`x` must have instances of positive bags that the whitener can tell from the mean of the ",
              "negative bags.", class = "scale", call = call)
  problem
}

mi_ace_whiten <- function(x, background, type) {
  z <- centre(x, background$mean)
  if (type == "ace") whitened_directions(z, background) else whiten(z, background)
}

# The inverse of whiten(), for a vector in what the whitener sees.
unwhiten <- function(w, background) {
  inside <- seq_along(w) <= ncol(background$basis)
  z <- drop(background$basis %*% (w[inside] * sqrt(background$kappa)))
  if (all(inside)) z else z + w[!inside] * sqrt(background$delta)
}

# ---- start -----------------------------------------------------------------------------

mi_ace_start <- function(problem, draws, spec, call) {
  candidates <- if (spec$init == "kmeans") whitened_centres(problem$positive, draws, call) else problem$positive
  candidates <- unit_columns(candidates[, colSums(candidates^2) > 0, drop = FALSE])
  candidates[, which.max(candidate_values(candidates, problem))]
}

whitened_centres <- function(w, draws, call) {
  clusters <- cluster_instances(w, rep(1, ncol(w)), draws)
  check_status(clusters$status, call)
  clusters$centres[, seq_len(clusters$n_distinct), drop = FALSE]
}

# The objective of each column, a few hundred at a time, so that no N x N matrix is made.
candidate_values <- function(candidates, problem) {
  value <- numeric(ncol(candidates))
  for (j in split(seq_along(value), (seq_along(value) - 1) %/% 256)) {
    cosine <- crossprod(problem$positive, candidates[, j, drop = FALSE])
    best <- vapply(split(seq_along(problem$bag), problem$bag), function(i)
      apply(cosine[i, , drop = FALSE], 2, max), numeric(length(j)))
    value[j] <- drop(matrix(best, length(j)) %*% problem$share) - drop(crossprod(candidates[, j, drop = FALSE], problem$negative))
  }
  value
}

# ---- ascent ----------------------------------------------------------------------------

# The best instance of each positive bag for `target`, the first of equals, and the objective.
mi_ace_select <- function(target, problem) {
  score <- drop(crossprod(problem$positive, target))
  best <- order(match(problem$bag, unique(problem$bag)), -score)
  best <- best[!duplicated(problem$bag[best])]
  list(selected = best, objective = sum(problem$share * score[best]) - sum(target * problem$negative))
}

mi_ace_ascend <- function(target, problem, max_iter) {
  now <- mi_ace_select(target, problem)
  path <- now$objective
  seen <- character()
  while (length(seen) < max_iter) {
    key <- paste(now$selected, collapse = " ")
    if (key %in% seen) break
    seen <- c(seen, key)
    direction <- drop(problem$positive[, now$selected, drop = FALSE] %*% problem$share) - problem$negative
    norm <- sqrt(sum(direction^2))
    if (norm > 0) target <- direction / norm        # otherwise every target is as good
    now <- mi_ace_select(target, problem)
    path <- c(path, now$objective)
  }
  list(target = target, selected = now$selected, n_iter = length(seen),
       stop_reason = if (length(seen) < max_iter) "converged" else "max_iter",
       objective = data.frame(iteration = seq_along(path) - 1L, objective = path))
}

# ---- scores ------------------------------------------------------------------------------

#' @export
score_instances.mi_ace <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"), call = call)
  x <- x * rep(instance_scale(x, object$normalize), each = nrow(x))
  basis <- target_basis(unname(object$dictionary), object$background, FALSE)
  if (object$spec$type == "ace") return(by_block(x, object$background, basis, colSums))
  # s'x, with s the whitened target of norm 1
  filter <- whiten(centre(x, object$background$mean), object$background)
  drop(crossprod(filter, basis))
}

#' @rdname mil_model-methods
#' @export
coef.mi_ace <- function(object, ...) t(validate_model(object)$dictionary)
