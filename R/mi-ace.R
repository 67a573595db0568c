#' MI-ACE and MI-SMF: target signatures for a matched detector
#'
#' Finds the signature for which the adaptive cosine estimator (ACE) or spectral matched filter
#' (SMF) is large on the best instance of each positive bag and small on the negative bags; or
#' several signatures, for targets of several kinds.
#'
#' @details
#' With \eqn{\hat x}{z} the instance minus the mean of the negative bags, whitened by their
#' covariance (see [background_stats()]), and for ACE scaled to norm 1, the objective over
#' \eqn{\|s\| = 1}{|s| = 1} is
#' \deqn{\frac{1}{J^+} \sum_{j:\,Y_j = 1} \max_{i \in j} s'\hat x_i -
#'   \frac{1}{J^-} \sum_{j:\,Y_j = 0} \frac{1}{n_j} \sum_{i \in j}
#'   s'\hat x_i.}{1/J+ sum_{j: Y_j = 1} max_{i in j} s'z_i
#'   - 1/J- sum_{j: Y_j = 0} 1/n_j sum_{i in j} s'z_i.}
#' A step takes the best instance \eqn{x^*_j} of each positive bag and sets \eqn{s} to the direction
#' of \eqn{\mathrm{mean}_j \hat x^*_j - \mathrm{mean}_j \mathrm{mean}_i \hat x_i}{mean_j z^*_j -
#' mean_j mean_i z_i}, which maximises the objective for that choice; the objective therefore never
#' falls. It stops when a choice of instances recurs. The score is the signed statistic, \eqn{s'\hat
#' x}{s'z}.
#'
#' The two starts, the 1000 centres and the 1000 steps are those of the released code, which
#' differs in three ways. It stops when a signature recurs exactly, which rounding can prevent. It
#' adds 2.2e-16 to the diagonal of the covariance, so that scores are mere rounding error if there
#' are more features than instances; the default here is the ridge of [background_stats()]. And it
#' compares the starts of MI-SMF before scaling them to norm 1, here they are compared afterwards.
#'
#' @section Several signatures:
#' With `n_target` > 1 (multi-target MI-ACE and MI-SMF), each positive bag belongs to the signature
#' that is largest on it, and signature \eqn{t} maximises
#' \deqn{\mathrm{mean}_{j \in W_t} \max_{i \in j} s_t'\hat x_i -
#'   \mathrm{mean}_{j:\,Y_j = 0} \mathrm{mean}_{i \in j} s_t'\hat x_i - \alpha\,
#'   \mathrm{mean}_{l \ne t} s_l's_t}{mean_{j in W_t} max_{i in j} s_t'z_i
#'   - mean_{j: Y_j = 0} mean_{i in j} s_t'z_i - alpha mean_{l != t} s_l's_t}
#' over the bags \eqn{W_t} that it won. Signatures are updated one after the other. A signature that
#' wins no bag is dropped, which ends the pass. Starts are chosen one after the other among the
#' instances, or centres: each maximises the mean over positive bags of the set's best score, minus
#' the mean of the best scores of negative instances, minus `alpha` times its mean cosine with those
#' chosen before. The objective in [loss_path()] is the mean over signatures of the objective above,
#' taken over all positive bags.
#'
#' The score is the largest over the signatures. By chance, the maximum of several statistics is
#' larger than a single one, so there are more false alarms at the same threshold. Thresholds and
#' probabilities are calibrated for the maximum, but detection at a given false alarm rate still
#' falls if there are more signatures than kinds of targets. `alpha` pushes signatures apart even
#' if there is only one kind, and one of them may end up on background: look at `bags_won`, and let
#' [mil_tune()] choose `n_target` and `alpha`.
#'
#' There are four departures from the released code of the multi-target method. To assign bags, it
#' compares maxima that do not belong to any one signature, so that the first one usually wins
#' every bag; here each signature's own maximum counts. It stops when the differences between
#' choices sum to 0, here when a choice recurs. Its start compares a candidate with the first
#' instance of a chosen instance's bag, here with the chosen instance. And its first start ignores
#' the negative bags.
#'
#' @param x,... the data: [bags()], or what [bags()] takes, such as a matrix with `bag` and `label`,
#'   or a formula `mi(label, bag) ~ .` with `data`.
#' @inheritParams background_stats
#' @inheritParams mi_svm
#' @inheritParams dlfumi
#' @param n_target whole number >= 1, default 1: number of signatures; try 1 to 4.
#' @param alpha number >= 0, default 1: for several signatures, the weight of the term that pushes
#'   them apart; try 0 to 1.
#' @param type `"ace"` (default), or `"smf"`, which also depends on the strength of an instance.
#' @param init the start: `"instances"` (default), the instance of a positive bag with the largest
#'   objective; `"kmeans"`, the k-means centre of those instances with the largest objective; for
#'   several signatures see below.
#' @param n_clusters whole number >= 1, default 1000, for `init = "kmeans"`: the number of centres,
#'   at most one per instance.
#' @param max_iter whole number >= 1, default 1000: largest number of steps.
#' @param normalize `"none"` (default) leaves instances as they are; `"unit"` scales each to norm 1
#'   first.
#' @return A model of class `c("mi_ace", "mil_model")`, for `predict()` and [mil_roc()]. `coef()`
#'   gives one row per signature, of norm 1, on the scale of the data minus the background mean;
#'   [ace()], or [sub_ace()] for several signatures, accepts the model as its target. It also holds
#'   \item{background}{the [background_stats()] of the negative bags}
#'   \item{objective}{one row per step; see [loss_path()]}
#'   \item{selected}{the instance chosen in each positive bag, as its number in the order given;
#'     with several signatures, chosen by the one that won the bag}
#'   \item{n_target, n_dropped}{the number of signatures, and how many were dropped}
#'   \item{bags_won}{the number of positive bags that each signature won}
#'   \item{n_iter, stop_reason}{how it ended: `"converged"` or `"max_iter"`}
#' @references Zare, A., Jiao, C. and Glenn, T. (2018). Discriminative multiple instance
#'   hyperspectral target characterization. *IEEE Transactions on Pattern Analysis and Machine
#'   Intelligence*, 40(10), 2342--2354.
#'
#'   Meerdink, S., Bocinsky, J., Zare, A., Kroeger, N., McCurley, C., Shats, D. and Gader, P.
#'   (2022). Multitarget multiple-instance learning for hyperspectral target detection. *IEEE
#'   Transactions on Geoscience and Remote Sensing*, 60, 5502814. \doi{10.1109/TGRS.2021.3060966}
#' @seealso [ace()], [background_stats()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- mi_ace(b)
#' fit
#' sum(coef(fit)^2)
#' mil_roc(fit, b)
#' mi_ace(b, n_target = 2)$bags_won
#' @export
mi_ace <- function(x, ..., n_target = 1, alpha = 1, type = c("ace", "smf"),
                   init = c("instances", "kmeans"), n_clusters = 1000,
                   whitener = c("ridge", "ledoit-wolf", "ppca", "pinv", "none"),
                   ridge = 1e-2, energy = 0.95, bag_weights = NULL, max_iter = 1000,
                   normalize = c("none", "unit"), calibrate = getOption("fumi.calibrate", "auto"),
                   progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  spec <- list(n_target = check_count(n_target, "n_target"),
               alpha = check_number(alpha, "alpha", min = 0),
               type = check_choice(type, c("ace", "smf"), "type"),
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
                           work = as.double(length(b$x)) *
                             (spec$n_target * b$n_positive + min(dim(b$x))), progress), given)
}

mi_ace_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  bar <- task_progress(progress, "MI-ACE", 3)
  on.exit(bar$done())
  b <- sort_instances(b)
  draws <- if (spec$init == "kmeans") stats::runif(min(spec$n_clusters, b$n_positive))
  x <- b$x * rep(instance_scale(b$x, spec$normalize), each = nrow(b$x))
  copies <- bag_copies(spec$bag_weights, b, call)$n
  negative <- with_copies(seq_along(b$bag), copies[b$bag] * !in_positive(b))
  background <- make_background(t(x[, negative, drop = FALSE]), "x", spec$whitener, spec$ridge,
                                spec$energy, call = call)
  problem <- mi_ace_problem(x, b, background, spec$type, copies, call)
  bar$tick("whitened")
  start <- mi_ace_start(problem, draws, spec, call)
  bar$tick("start chosen")
  fit <- mi_ace_ascend(start, problem, spec$max_iter, spec$alpha)
  bar$tick("signatures found")
  new_mi_ace(fit, background, b, spec)
}

new_mi_ace <- function(fit, background, b, spec) {
  n_target <- ncol(fit$targets)
  names <- paste0("target", seq_len(n_target))
  signature <- apply(fit$targets, 2, function(w) {
    s <- unwhiten(w, background)
    s / sqrt(sum(s^2))
  })
  chosen <- stats::setNames(b$order[fit$selected], b$ids[b$bag[fit$selected]])
  new_mil_model(
    "mi_ace", b,
    dictionary = matrix(signature, ncol = n_target, dimnames = list(b$features, names)),
    n_target = n_target,
    n_dropped = spec$n_target - n_target,
    bags_won = stats::setNames(tabulate(fit$winner, n_target), names),
    background = background, objective = fit$objective, n_iter = fit$n_iter,
    stop_reason = fit$stop_reason, starts = list(fit$objective), normalize = spec$normalize,
    selected = chosen[intersect(in_user_order(b, b$ids[b$bag]), names(chosen))], spec = spec)
}

# Whitened instances of positive and of negative bags, the bags and the shares of the former, and
# mean_j mean_i of the latter, in means that count the `copies` of each bag.
mi_ace_problem <- function(x, b, background, type, copies, call) {
  w <- mi_ace_whiten(x, background, type)
  positive <- seq_len(ncol(x)) <= b$n_positive
  bag <- b$bag[!positive]
  share <- copies[bag] / (tabulate(bag)[bag] * sum(copies[!b$label]))
  problem <- list(positive = w[, positive, drop = FALSE], bag = b$bag[positive],
                  share = (copies / sum(copies[b$label]))[b$label],
                  others = w[, !positive, drop = FALSE], other_share = share)
  problem$negative <- drop(problem$others %*% share)
  if (all(problem$positive == 0))
    stop_fumi(
      "`x` must have instances of positive bags that the whitener can tell from the mean of the ",
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

# Signatures in columns, one chosen after the other. DEVIATES D12: compared with the chosen ones
# themselves, and by the negative bags from the first on.
mi_ace_start <- function(problem, draws, spec, call) {
  candidates <- if (spec$init == "kmeans") whitened_centres(problem$positive, draws, call)
                else problem$positive
  candidates <- unit_columns(candidates[, colSums(candidates^2) > 0, drop = FALSE])
  if (ncol(candidates) < spec$n_target)
    stop_fumi("`n_target` must be at most the number of ",
              if (spec$init == "kmeans") "centres" else "instances",
              " to start from (", ncol(candidates), "), not ", spec$n_target, ".", call = call)
  chosen <- integer()
  for (t in seq_len(spec$n_target)) {
    value <- candidate_values(candidates, problem, candidates[, chosen, drop = FALSE], spec$alpha)
    value[chosen] <- -Inf
    chosen <- c(chosen, which.max(value))
  }
  candidates[, chosen, drop = FALSE]
}

whitened_centres <- function(w, draws, call) {
  clusters <- cluster_instances(w, rep(1, ncol(w)), draws)
  check_status(clusters$status, call)
  clusters$centres[, seq_len(clusters$n_distinct), drop = FALSE]
}

# The objective of each column beside those that are chosen, a few hundred at a time, so that no N
# x N matrix is made.
candidate_values <- function(candidates, problem, chosen = candidates[, 0, drop = FALSE],
                             alpha = 0) {
  value <- numeric(ncol(candidates))
  first <- ncol(chosen) == 0
  known <- if (!first) lapply(problem[c("positive", "others")],
                              function(z) row_max(crossprod(z, chosen)))
  with_known <- function(z, j, known) {
    score <- crossprod(z, candidates[, j, drop = FALSE])
    if (first) score else pmax(score, known)
  }
  for (j in split(seq_along(value), (seq_along(value) - 1) %/% 256)) {
    cosine <- with_known(problem$positive, j, known$positive)
    best <- vapply(split(seq_along(problem$bag), problem$bag), function(i)
      apply(cosine[i, , drop = FALSE], 2, max), numeric(length(j)))
    off <- if (first) crossprod(candidates[, j, drop = FALSE], problem$negative)
           else crossprod(with_known(problem$others, j, known$others), problem$other_share) +
             alpha * rowMeans(crossprod(candidates[, j, drop = FALSE], chosen))
    value[j] <- drop(matrix(best, length(j)) %*% problem$share) - drop(off)
  }
  value
}

row_max <- function(x) Reduce(pmax, lapply(seq_len(ncol(x)), function(k) x[, k]))

# ---- ascent ----------------------------------------------------------------------------

# Of each target (column), the best instance of each positive bag, the first of equals, and the
# objective over all of them; and the target that wins each bag, by its own maximum (DEVIATES D12).
mi_ace_select <- function(targets, problem, alpha = 0) {
  score <- crossprod(problem$positive, targets)
  bag <- match(problem$bag, unique(problem$bag))
  best <- lapply(seq_len(ncol(targets)), function(t) {
    ranked <- order(bag, -score[, t])
    ranked[!duplicated(bag[ranked])]
  })
  value <- vapply(seq_along(best), function(t) score[best[[t]], t], numeric(length(best[[1]])))
  value <- matrix(value, ncol = ncol(targets))
  alike <- crossprod(targets)
  diag(alike) <- 0
  # Starts from the same bag are equal on it, but for rounding.
  largest <- row_max(value)
  list(selected = do.call(cbind, best),
       winner = max.col(value >= largest - 1e-12 * abs(largest), "first"),
       objective = drop(problem$share %*% value - problem$negative %*% targets) -
         alpha * rowSums(alike) / max(1, ncol(targets) - 1))
}

# Each target as the maximiser for its choice, given the current others. One that wins no bag is
# dropped, and those after it are left unchanged.
mi_ace_pass <- function(targets, now, problem, alpha) {
  for (t in seq_len(ncol(targets))) {
    won <- now$winner == t
    if (!any(won)) return(targets[, -t, drop = FALSE])
    share <- problem$share[won] / sum(problem$share[won])
    direction <- drop(problem$positive[, now$selected[won, t],
                                       drop = FALSE] %*% share) - problem$negative
    if (ncol(targets) > 1) direction <- direction - alpha * rowMeans(targets[, -t, drop = FALSE])
    norm <- sqrt(sum(direction^2))
    if (norm > 0) targets[, t] <- direction / norm      # otherwise every target is as good
  }
  targets
}

# Ends when a choice recurs (DEVIATES D12); for several targets after one more pass, as in the
# released code.
mi_ace_ascend <- function(targets, problem, max_iter, alpha = 0) {
  now <- mi_ace_select(targets, problem, alpha)
  path <- mean(now$objective)
  seen <- character()
  back <- FALSE
  while (!back && length(path) <= max_iter) {
    key <- paste(c(ncol(targets), now$selected), collapse = " ")
    back <- key %in% seen
    if (back && ncol(targets) == 1) break
    seen <- c(seen, key)
    targets <- mi_ace_pass(targets, now, problem, alpha)
    now <- mi_ace_select(targets, problem, alpha)
    path <- c(path, mean(now$objective))
  }
  list(targets = targets, winner = now$winner,
       selected = now$selected[cbind(seq_along(now$winner), now$winner)],
       n_iter = length(path) - 1L, stop_reason = if (back) "converged" else "max_iter",
       objective = data.frame(iteration = seq_along(path) - 1L, objective = path))
}

# ---- scores ------------------------------------------------------------------------------

#' @export
score_instances.mi_ace <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  x <- x * rep(instance_scale(x, object$normalize), each = nrow(x))
  # whitened targets of norm 1, without those that the whitener cannot see
  basis <- do.call(cbind, lapply(seq_len(object$n_target), function(t)
    target_basis(unname(object$dictionary[, t, drop = FALSE]), object$background, FALSE)))
  if (ncol(basis) == 0) return(numeric(ncol(x)))
  if (object$spec$type == "ace")
    return(by_block(x, object$background, basis, function(cosine) row_max(t(cosine))))
  # s'x
  row_max(crossprod(whiten(centre(x, object$background$mean), object$background), basis))
}

#' @rdname mil_model-methods
#' @export
coef.mi_ace <- function(object, ...) t(validate_model(object)$dictionary)
