#' DMIL and GD-MIL: a dictionary for the target alone
#'
#' Learns a dictionary that represents some instance of each positive bag well and all instances of
#' negative bags badly. There are no background atoms: an instance is scored by how well the atoms
#' represent it.
#'
#' @details
#' With \eqn{a_i} the lasso code of \eqn{x_i} on the dictionary \eqn{D} of unit-norm atoms
#' (\eqn{\tfrac12 \|x - D a\|^2 + \lambda |a|_1}{1/2 |x - D a|^2 + lambda |a|_1}), \eqn{e_i = \|x_i
#' - D a_i\|^2}{e_i = |x_i - D a_i|^2} and \eqn{p_i = \exp(-\beta e_i)}{p_i = exp(-beta e_i)}, it
#' minimises
#' \deqn{J(D) = -\sum_{\mathrm{positive\ bags}\ j} \log P_j -
#'   \sum_{i\ \mathrm{in\ negative\ bags}} \log(1 - p_i),}{J(D) = -sum_{positive bags j} log P_j
#'   - sum_{i in negative bags} log(1 - p_i),}
#' where \eqn{P_j = 1 - \prod_i (1 - p_i)} for `pool = "noisy-or"` (DMIL), and \eqn{P_j = (n_j^{-1}
#' \sum_i p_i^r)^{1/r}}, \eqn{r} the `exponent`, for `pool = "gmean"` (GD-MIL): the mean of a bag's
#' probabilities for \eqn{r = 1}, close to their maximum for large \eqn{r}. With one instance per
#' bag the two agree.
#'
#' Each iteration moves one atom after the other on the unit sphere, in the direction of steepest
#' descent and by a step that lowers \eqn{J} with the codes fixed, and then recomputes the codes.
#' Codes minimise the reconstruction error and not \eqn{J}, so **\eqn{J} may rise** from one
#' iteration to the next; the fit is the dictionary with the lowest \eqn{J} found. An atom that no
#' code uses is replaced by the instance of a positive bag with the largest \eqn{p e}. For an
#' instance of zeros, \eqn{e} is set to 1.
#'
#' The score of an instance is \eqn{-e}. That of a bag is \eqn{\log(-\log(1 - P))}{log(-log(1 -
#' P))}, which rises with \eqn{P}, or, with `combine = "average"`, the largest score of its
#' instances. `predict(type = "prob")` returns the model's probabilities \eqn{p} and \eqn{P} only if
#' they are well calibrated: see [mil_calibrate()]. **Try several values of `beta`**, say 1, 2, 5
#' and 10. Instances of norm 1 have \eqn{e \le 1}, hence \eqn{p \ge \exp(-\beta)}{p >= exp(-beta)}:
#' with `beta = 1`, even atoms that represent nothing make a bag of four positive with probability
#' 0.84, and such atoms win if there are many more negative instances than positive bags. With a
#' large `beta` the weights concentrate on the instances that the first atoms happen to represent.
#'
#' @section Kernels:
#' With a `kernel` the atoms lie in the span of the training instances in its feature space,
#' \eqn{D = \Phi(X) B}, with unit norm there; errors, codes and the gradient in feature space need
#' only inner products. The computation uses coordinates of that span, from a pivoted Cholesky
#' factor of the Gram matrix of all training instances, because coefficients \eqn{B} updated
#' directly would drift in directions that the kernel cannot see. `"linear"` gives the plain
#' version. A fit with a kernel has no atoms to show, and keeps the training instances that span
#' the others.
#'
#' @section What comes from the papers:
#' The abstracts of the papers, and their description in Jiao and Zare (2016), say the following: a
#' dictionary for each class is learned by maximising a noisy-or, so that negative instances are
#' represented badly; the second paper adds a generalised mean and dictionaries in feature space;
#' with one instance per bag this is discriminative dictionary learning. The full texts were not
#' available, and the form of \eqn{p} (\eqn{\beta = 1}) and of \eqn{J} is quoted from memory.
#' Everything else is our choice: the start (k-means centres of the instances of positive bags),
#' the lasso as the coder, the step rule, `beta` as a parameter, the replacement of unused atoms,
#' the treatment of kernels, and all defaults. `n_atoms` is the number of target atoms of
#' [dlfumi()] for the digits, `exponent` that of the released code of MI-HE for the same
#' construction; `beta` was chosen among 1, 5 and 20 by cross-validation on training bags of digits
#' (`paper_tuning("usps")`), `lambda` and `max_iter` on simulated bags.
#'
#' @inheritParams mi_svm
#' @inheritParams dlfumi
#' @param n_atoms whole number >= 1, default 4: number of atoms; try 1 to 16.
#' @param pool `"noisy-or"` (default) or `"gmean"`, the generalised mean: how the probability of a
#'   bag is computed from those of its instances.
#' @param exponent number > 0, default 5: \eqn{r} of the generalised mean; try 1 to 10.
#' @param beta number > 0, default 5: how fast the probability falls with the error, \eqn{p =
#'   \exp(-\beta e)}{p = exp(-beta e)}; try 1 to 30.
#' @param lambda number >= 0, default 0.05: weight of the sparsity penalty of the codes; try 0.01
#'   to 0.1.
#' @param kernel `NULL` (default: none), or a positive definite kernel, given as for [mi_svm()]. It
#'   is applied after `normalize`.
#' @param kpar list, default empty: parameters for a kernel given by its name, with the defaults of
#'   [mi_svm()].
#' @param swap `TRUE` or `FALSE` (default): whether to swap the labels. Atoms then represent some
#'   instance of each negative bag and none of the positive bags, which is how Jiao and Zare (2016)
#'   obtained background atoms of DMIL. Scores keep their direction: \eqn{e} instead of \eqn{-e},
#'   and for a bag the largest. Such atoms are meant to be looked at; they detect little, because
#'   they leave out background that also occurs in positive bags.
#' @param max_iter whole number >= 1, default 30: largest number of iterations.
#' @param tol number >= 0, default 1e-5: stop when the objective changes by less than this,
#'   relative to its value at the start; with 0 it never stops early.
#' @param n_start whole number >= 1, default 1: number of random starts; try 8.
#' @param combine `"best"` (default) keeps the start with the lowest objective; `"average"` keeps
#'   all and scores by the mean of their scores, each standardised on the instances of the negative
#'   training bags.
#' @return A list of class `c("dmil", "mil_model")`, for `predict()`, [mil_roc()] and `plot()`:
#'   \item{dictionary}{features x atoms, unit-norm columns, ordered by the energy they carry in the
#'     bags that they represent; with a kernel, instead, `kernel`, `support` (instances that span
#'     the training instances), `coefficients` (\eqn{B}, instances of `support` x atoms), and
#'     `gram` (the inner products of the atoms)}
#'   \item{objective}{one row per iteration, from the start (0): `objective` with the codes of that
#'     dictionary, and `fixed_codes`, its value before the codes were recomputed; see
#'     [loss_path()]}
#'   \item{n_iter, converged, stop_reason}{how it ended, as in [dlfumi()]}
#'   \item{n_dead}{how often each atom was found unused}
#'   \item{calibration}{the threshold and probability curves, see [mil_calibrate()]}
#' @references Shrivastava, A., Pillai, J. K., Patel, V. M. and Chellappa, R. (2014).
#'   Dictionary-based multiple instance learning. *IEEE International Conference on Image
#'   Processing*.
#'
#'   Shrivastava, A., Patel, V. M., Pillai, J. K. and Chellappa, R. (2015). Generalized dictionaries
#'   for multiple instance learning. *International Journal of Computer Vision*.
#'
#'   Jiao, C. and Zare, A. (2016). Multiple instance dictionary learning using functions of multiple
#'   instances. *International Conference on Pattern Recognition*. arXiv:1511.02825.
#' @seealso [plot.mil_model()], [predict.mil_model()], [mil_roc()], [one_vs_rest()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20, image_dim = c(8, 8))
#' fit <- dmil(b, n_atoms = 2)
#' fit
#' plot(fit)
#' mil_roc(fit, b)
#' @export
dmil <- function(x, ..., n_atoms = 4, pool = c("noisy-or", "gmean"), exponent = 5, beta = 5,
                 lambda = 0.05, kernel = NULL, kpar = list(), swap = FALSE, bag_weights = NULL,
                 max_iter = 30,
                 tol = 1e-5, n_start = 1, combine = c("best", "average"),
                 normalize = c("unit", "none"), calibrate = getOption("fumi.calibrate", "auto"),
                 progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  kernel <- if (is.null(kernel)) list(kpar = list()) else check_kernel(kernel, kpar)
  given <- with_kernel(given, kernel)
  spec <- list(n_atoms = check_count(n_atoms, "n_atoms"),
               pool = check_choice(pool, c("noisy-or", "gmean"), "pool"),
               exponent = check_number(exponent, "exponent", above = 0),
               beta = check_number(beta, "beta", above = 0),
               lambda = check_number(lambda, "lambda", min = 0),
               kernel = kernel$name, kpar = kernel$kpar,
               swap = check_flag(swap, "swap"),
               max_iter = check_count(max_iter, "max_iter"),
               tol = check_number(tol, "tol", min = 0),
               n_start = check_count(n_start, "n_start"),
               combine = check_choice(combine, c("best", "average"), "combine"),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- bags(x, ...)
  spec$bag_weights <- given$bag_weights <- check_bag_weights(bag_weights, b)
  n_copies <- sum(bag_copies(spec$bag_weights, b)$n[b$bag])
  gram <- if (is.null(spec$kernel)) 0 else 2 * n_copies^2
  b <- check_trainable(b, spec$normalize, copies = n_copies / length(b$bag), more = gram)
  fit <- dmil_bridge(b, spec, progress)
  size <- n_copies * (if (is.null(spec$kernel)) nrow(b$x) else n_copies)
  with_given(calibrate_fit(fit, b, spec$calibrate, function(b) dmil_bridge(b, spec, FALSE),
                           work = 20 * size * spec$n_atoms * fit$n_iter * spec$n_start, progress),
                           given)
}

# ---- kernels ---------------------------------------------------------------------------

# k(x, y) for the columns of x and y
kernel_columns <- function(kernel, x, y) {
  matrix(as.vector(kernlab::kernelMatrix(kernlab_kernel(kernel), t(x), t(y))), ncol(x))
}

# k(x, x) for the columns of x
kernel_norm2 <- function(kernel, x) {
  k <- kernlab_kernel(kernel)
  vapply(seq_len(ncol(x)), function(i) as.numeric(k(x[, i], x[, i])), 0)
}

scaled_columns <- function(x, normalize) x * rep(instance_scale(x, normalize), each = nrow(x))

# ---- bridge ----------------------------------------------------------------------------

dmil_bridge <- function(b, spec, progress) {
  call <- rlang::caller_env()
  whole <- sort_instances(b)
  b <- repeat_bags(whole, bag_copies(spec$bag_weights, whole, call)$n)
  data <- dmil_data(b, spec, call)
  check_distinct(b, data, spec, call)
  draws <- lapply(seq_len(spec$n_start), function(s) stats::runif(spec$n_atoms))
  bar <- fit_progress(progress, spec$n_start, spec$max_iter)
  on.exit(bar$done())
  fits <- run_starts(spec$n_start, function(s)
    dmil_run(data, dmil_start(b, data, spec, draws[[s]], call), spec, bar$report(s), call))
  interrupted <- attr(fits, "interrupted")
  if (interrupted)
    warn_fumi("Interrupted: the fit holds the best of ", fits[[length(fits)]]$n_iter,
              " iterations of start ", length(fits), " of ", spec$n_start, ".", class = "interrupt",
              call = call)
  new_dmil(fits, interrupted, whole, data, spec)
}

# What the core gets: instances, or their coordinates in feature space, and bags whose label says
# whether the atoms are to represent them.
dmil_data <- function(b, spec, call = rlang::caller_env()) {
  data <- list(x = b$x, scale = instance_scale(b$x, spec$normalize), bag = b$bag - 1L,
               positive = xor(b$label, spec$swap))
  data$represented <- which(data$positive[b$bag])
  if (is.null(spec$kernel)) return(data)
  x <- scaled_columns(b$x, spec$normalize)
  data$kernel <- with_sigma(list(name = spec$kernel, kpar = spec$kpar), squared_distances(t(x)))
  span <- kernel_span(kernel_columns(data$kernel, x, x), call)
  data$x <- span$coordinates
  data$scale <- rep(1, ncol(x))
  data$root <- span$root
  data$support <- x[, span$pivot, drop = FALSE]
  data
}

# Coordinates of the instances (rank x N) whose inner products are the Gram matrix, from its
# Cholesky factor with pivots: those of the pivots are the columns of the triangular `root`.
kernel_span <- function(gram, call) {
  largest <- max(diag(gram))
  if (!all(is.finite(gram)) || largest <= 0)
    stop_fumi(
      "`kernel` must be finite, and not 0 for all instances, but its largest value is ",
      signif(max(gram), 3), ".", class = "scale", call = call)
  # its only warning is that the rank is not full, which is expected here
  factor <- suppressWarnings(chol(gram, pivot = TRUE, tol = 1e-10 * largest))
  kept <- seq_len(attr(factor, "rank"))
  pivot <- attr(factor, "pivot")
  coordinates <- factor[kept, order(pivot), drop = FALSE]
  list(coordinates = coordinates, root = factor[kept, kept, drop = FALSE], pivot = pivot[kept])
}

dmil_clusters <- function(x, draw, max_iter, call) {
  clusters <- cluster_instances(x, rep(1, ncol(x)), draw, max_iter = max_iter)
  check_status(clusters$status, call)
  clusters
}

# Checked before a random number is drawn: how many seeds k-means finds does not depend on them.
check_distinct <- function(b, data, spec, call) {
  x <- scaled_columns(b$x[, data$represented, drop = FALSE], spec$normalize)
  n <- dmil_clusters(x, rep(.5, min(spec$n_atoms, ncol(x) + 1)), 1L, call)$n_distinct
  if (n < spec$n_atoms)
    stop_fumi("`n_atoms` must be at most the number of distinct instances in ",
              if (spec$swap) "negative"
              else "positive", " bags (", n, "), not ", spec$n_atoms, ".", call = call)
}

# Atoms are the means of clusters of the instances to represent. With a kernel these are clusters
# of the instances too, and their means are taken in feature space.
dmil_start <- function(b, data, spec, draw, call) {
  x <- scaled_columns(b$x[, data$represented, drop = FALSE], spec$normalize)
  centres <- dmil_clusters(x, draw, 50L, call)$centres
  nearness <- crossprod(x, centres) - rep(colSums(centres^2) / 2, each = ncol(x))
  member <- outer(max.col(nearness, "first"), seq_len(spec$n_atoms), "==") + 0
  if (!is.null(spec$kernel)) x <- data$x[, data$represented, drop = FALSE]
  unit_columns(x %*% member)
}

# What read_param() in src/r_dmil.c reads.
dmil_par <- function(spec) {
  c(spec[c("pool", "max_iter", "exponent", "beta", "lambda", "tol")], list(simd = simd()))
}

dmil_run <- function(data, start, spec, report = NULL, call = rlang::caller_env()) {
  out <- .Call(ffi_dmil_fit, data$x, data$scale, data$bag, data$positive, start, dmil_par(spec),
               report)
  if (out$status == "nonfinite")
    stop_fumi(
      "The objective must stay finite, but it was not in iteration ", out$n_iter + 1,
      ": the data are probably too large or too uneven in scale; try `normalize = \"unit\"` ",
      "or rescale `x`.", class = "diverged", call = call)
  if (out$status != "interrupt" || out$n_iter == 0) check_status(out$status, call)
  path <- out$trace[, seq_len(1 + out$n_iter), drop = FALSE]
  fit <- list(dictionary = out$dictionary, n_dead = out$n_dead, n_iter = out$n_iter,
              objective = data.frame(iteration = seq(0, out$n_iter), objective = path[1, ],
                                     fixed_codes = path[2, ]),
              stop_reason = out$status)
  tidy_dmil(fit, data, spec)
}

# Sorts atoms by the energy they carry in the bags that they represent, and gives each the sign
# that makes its codes positive on balance.
tidy_dmil <- function(fit, data, spec) {
  out <- .Call(ffi_dmil_code, data$x, data$scale, fit$dictionary, NULL, NULL, spec$lambda, simd())
  check_status(out$status)
  codes <- out$codes[, data$represented, drop = FALSE]
  atom <- order(-rowSums(codes^2))
  sign <- ifelse(rowSums(codes) < 0, -1, 1)[atom]
  fit$dictionary <- fit$dictionary[, atom, drop = FALSE] * rep(sign, each = nrow(fit$dictionary))
  fit$n_dead <- fit$n_dead[atom]
  fit
}

new_dmil <- function(fits, interrupted, b, data, spec) {
  best <- fits[[which.min(vapply(fits, function(f) min(f$objective$objective), 0))]]
  atoms <- paste0("atom", seq_len(spec$n_atoms))
  object <- new_mil_model(
    "dmil", b, objective = best$objective, n_iter = best$n_iter,
    converged = best$stop_reason == "converged",
    stop_reason = if (interrupted) "interrupt" else best$stop_reason,
    n_dead = stats::setNames(best$n_dead, atoms), n_target = if (spec$swap) 0L else spec$n_atoms,
    normalize = spec$normalize, starts = lapply(fits, `[[`, "objective"), kernel = data$kernel,
    support = data$support, spec = spec)
  with_atoms <- function(fit) {
    object[c("dictionary", "coefficients",
             "gram")] <- dmil_model_atoms(fit$dictionary, atoms, b, data)
    object
  }
  members <- if (spec$combine == "average")
    lapply(fits, function(fit) dmil_member(with_atoms(fit), b))
  object <- with_atoms(best)
  object$members <- members
  object
}

# Atoms as a model keeps them; those of a kernel by coefficients, Phi(support) B = D.
dmil_model_atoms <- function(dictionary, atoms, b, data) {
  if (is.null(data$root))
    return(list(structure(dictionary, dimnames = list(b$features, atoms)), NULL, NULL))
  coefficients <- backsolve(data$root, dictionary)
  list(NULL, structure(coefficients, dimnames = list(NULL, atoms)), crossprod(dictionary))
}

# A member of an average: its atoms, and how its score is standardised.
dmil_member <- function(object, b) {
  score <- score_instances(object, b$x[, -seq_len(b$n_positive), drop = FALSE])
  c(unclass(object)[c("dictionary", "coefficients", "gram")],
    center = mean(score), scale = positive_sd(score))
}

# ---- scores ----------------------------------------------------------------------------

# Codes and e of instances, on the atoms of the fit or of a member.
dmil_code <- function(object, x, member = object) {
  spec <- object$spec
  if (is.null(spec$kernel)) {
    out <- .Call(ffi_dmil_code, x, instance_scale(x, spec$normalize), unname(member$dictionary),
                 NULL, NULL, spec$lambda, simd())
  } else {
    x <- scaled_columns(x, spec$normalize)
    out <- .Call(ffi_dmil_code, kernel_columns(object$kernel, object$support, x), rep(1, ncol(x)),
                 unname(member$coefficients), member$gram, kernel_norm2(object$kernel, x),
                 spec$lambda, simd())
  }
  check_status(out$status)
  out
}

dmil_errors <- function(object, x) {
  members <- if (is.null(object$members)) list(object) else object$members
  lapply(members, function(m) dmil_code(object, x, m)$e)
}

#' @export
score_instances.dmil <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  score <- lapply(dmil_errors(object, x), if (object$spec$swap) `+` else `-`)
  if (is.null(object$members)) return(score[[1]])
  standard <- Map(function(s, m) (s - m$center) / m$scale, score, object$members)
  Reduce(`+`, standard) / length(standard)
}

# log(-log(1 - P)) with P of the objective. An average of scores, and atoms of the other class,
# have none.
#' @export
score_bags.dmil <- function(object, x, bag, ..., call = rlang::caller_env()) {
  score <- score_instances(object, x, ..., call = call)
  if (!dmil_has_model(object)) return(pool_codes(score, bag))
  beta <- object$spec$beta
  if (object$spec$pool == "noisy-or") return(noisy_or_score(-beta * score, bag))
  cloglog_score(-pool_codes(object$spec$exponent * beta * score, bag, "lse") / object$spec$exponent)
}

dmil_has_model <- function(object) is.null(object$members) && !object$spec$swap

#' @export
probability_curves.dmil <- function(object) {
  if (dmil_has_model(object))
    list(bag = list(link = "cloglog", intercept = 0, slope = 1),
         instance = list(link = "log", intercept = 0, slope = object$spec$beta))
}

#' @export
code_instances.dmil <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = "new_data", call = call)
  codes <- dmil_code(object, x)$codes
  rownames(codes) <- names(object$n_dead)
  codes
}

# ---- looking at a fit --------------------------------------------------------------------

#' @rdname mil_model-methods
#' @export
coef.dmil <- function(object, ...) {
  check_dots_empty(...)
  validate_model(object)
  t(dmil_atoms(object))
}

dmil_atoms <- function(object, call = rlang::caller_env()) {
  if (is.null(object$dictionary))
    stop_fumi(
      "The fit must have no `kernel` to show its atoms: those of a kernel are not in the space ",
      "of the features.", class = "no_meaning", call = call)
  object$dictionary
}

#' @rdname mil_model-methods
#' @export
print.dmil <- function(x, digits = 4, ...) {
  spec <- x$spec
  path <- x$objective$objective
  kernel <- if (is.character(spec$kernel)) paste0(", kernel \"", spec$kernel, "\"") else
    if (!is.null(spec$kernel)) ", own kernel"
  cat(model_title(x), " fit (\"", spec$pool, "\"", kernel, if (spec$swap) ", labels swapped", ")\n",
      sep = "")
  print_model_data(x)
  print_fact("atoms", spec$n_atoms, if (any(x$n_dead > 0))
    paste0(" (", sum(x$n_dead > 0), " found unused at times)"))
  print_fact("parameters", parameter_words(x))
  print_fact("objective", format(path[1], digits = digits), " -> ",
             format(min(path), digits = digits),
             pluralize(", the lowest of {x$n_iter} iteration{?s}"))
  print_fact("stopped", stopped_words(x))
  print_fact("starts", starts_words(x))
  print_calibration(x, digits)
  print_problems(x)
  invisible(x)
}
