#' DL-FUMI: target and background atoms from bags
#'
#' Learns a dictionary of `n_target` target atoms and `n_background` background atoms from bags
#' whose labels alone are known. An instance of a positive bag may be a mixture of target and
#' background atoms; an instance of a negative bag is a mixture of background atoms only.
#'
#' @details
#' The objective is eq. 4 of Jiao and Zare (2016),
#' \deqn{\sum_i w_i \{\tfrac12 [p_i \|x_i - D a_i\|^2 + (1 - p_i) \|x_i - D^- a_i^-\|^2]
#'   + \lambda (p_i |a_i^+|_1 + |a_i^-|_1)\} + \Gamma \sum_{kt} \cos\theta_{kt}
#'   \langle d_k^-, d_t^+ \rangle,}{sum_i w_i {1/2 [p_i |x_i - D a_i|^2 + (1 - p_i) |x_i - D-
#'   a_i-|^2] + lambda (p_i |a_i+|_1 + |a_i-|_1)} + gamma sum_kt cos_kt <d_k-, d_t+>,}
#' minimised by expectation-maximisation: the E-step computes the weight \eqn{p_i} of instance
#' \eqn{i} as a target; the M-step updates the atoms, one at a time, and the sparse codes.
#' `vignette("dlfumi-math")` lists every equation and every departure from the paper.
#'
#' No number of atoms suits all data: the defaults are the paper's for digits, and [mil_tune()]
#' finds others. The meaning of `lambda` depends on the variant, see [dlfumi_control()]. For data
#' that do not fit into memory, or for several machines, see [bag_shards()].
#'
#' @section Which data it suits:
#' The model is additive and sparse: an instance is a sum of a few atoms, and a target is
#' recognised by the *direction* of an instance, not by its position. This suits spectra, images,
#' spectrograms and counts: many features of one kind, on one scale, where 0 means "nothing there".
#' It does not suit a table of unlike measurements, in which one large unit dominates the others, 0
#' has no meaning, and a target is a region rather than a direction. On scaled features of
#' MUSK1 (molecules described by 166 distances), its AUC for held-out bags is 0.66, against 0.92 for
#' [mi_svm()] (both with their defaults, see `vignette("benchmarks")`). For such data prefer
#' [mi_svm()] or [miles()].
#' To try `dlfumi()` on them, scale every feature to mean 0 and variance 1 on the training data,
#' and apply the same scaling to new data:
#'
#' ```r
#' x_scaled <- scale(x)
#' fit <- dlfumi(x_scaled, bag, label)
#' predict(fit, scale(x_new, attr(x_scaled, "scaled:center"), attr(x_scaled, "scaled:scale")))
#' ```
#'
#' Unless `normalize = "none"`, instances are then scaled to norm 1. `beta` must suit their norm; a
#' warning says when it does not. Use [mil_tune()] to choose `lambda`, `beta` and the numbers of
#' atoms for such data.
#'
#' @section Defaults by variant:
#' | | `"paper"` | `"matlab"` | `"exact"` |
#' |---|---|---|---|
#' | `n_target`, `n_background` | 4, 15 | 2, 5 | 4, 15 |
#' | `lambda` | 0.01 | 0.001 | 0.05 |
#' | `beta`, `gamma` | 30, 0.001 | 30, 0.001 | 30, 0.001 |
#' | `psi` | 1 | 1.5 | 1 |
#' | `tol` | 1e-8 of the first objective | 1e-8 | 1e-6 of the first objective |
#'
#' The numbers of atoms are the paper's for the digits; `paper = "usps"` takes all its parameters.
#' `lambda` was chosen by cross-validation over the training bags of ten data sets: three of
#' digits, two each of faces and spectra, and three from [sim_bags()]. The table gives the mean AUC
#' of held-out instances against their truth (`Rscript bench/dlfumi-defaults.R` in the sources,
#' seed 2026, version 0.2.0, 18 November 2026; each set is in `bench/results/dlfumi-defaults.csv`):
#'
#' | | digits | faces | spectra | simulated | all sets |
#' |---|---|---|---|---|---|
#' | `"paper"`, `lambda = 0.001` | 0.915 | 0.796 | 0.863 | 0.769 | 0.837 |
#' | `"paper"`, `lambda = 0.003` | 0.927 | 0.832 | 0.863 | 0.741 | 0.840 |
#' | `"paper"`, `lambda = 0.01` | 0.966 | 0.815 | 0.879 | 0.804 | 0.870 |
#' | `"paper"`, `lambda = 0.03` | 0.952 | 0.707 | 0.731 | 0.849 | 0.828 |
#' | `"paper"`, `lambda = 0.01`, 8 and 30 atoms | 0.966 | 0.793 | 0.738 | 0.863 | 0.855 |
#' | `"exact"`, `lambda = 0.05` | 0.961 | 0.801 | 0.704 | 0.807 | 0.831 |
#' | `"exact"`, `lambda = 0.1` | 0.962 | 0.821 | 0.616 | 0.888 | 0.842 |
#'
#' No row is best everywhere, so [mil_tune()] is worth its time, above all for spectra and faces,
#' where the choice of `noise` matters more than any of these values.
#'
#' With `noise = "background"` the defaults are variant `"exact"`, `n_target = 3`,
#' `n_background = 8`, `normalize = "none"`, `n_start = 4` with `combine = "average"` (`"best"` for
#' [bag_shards()]), and `score = "difference"`.
#'
#' @section Noise:
#' Eq. 3 of the paper assumes that what the atoms do not explain of an instance is white noise. A
#' background often varies far more in some directions than in others: lighting in photographs,
#' brightness in spectra. With `noise = "background"` the model is \eqn{x = \mu + D a + e}{x = mu +
#' D a + e}, where \eqn{\mu}{mu} and the covariance of \eqn{e} are those of the instances of the
#' negative bags, and DL-FUMI is fitted to centred and whitened instances. `coef()`, `plot()` and
#' `predict(type = "reconstruction")` show atoms and instances in the units of the data.
#' `noise$dictionary` holds the atoms of the whitened space, and `coef(filter = TRUE)` gives the
#' directions with which instances are multiplied to detect them.
#'
#' Instances of the background then have a squared norm near 1 and are hardly described by atoms,
#' and with the default `beta` every instance of a positive bag has a weight \eqn{p} near 1, so that
#' target atoms are learned from all of them. Use `witnesses` where a bag holds few targets among
#' other things that the negative bags lack, such as other people. If a target adds its signature to
#' the background rather than taking something away, use `nonneg = "codes"`. [suggest_grid()] has
#' both.
#'
#' Use it where the target is only part of an instance or is added to a background: sub-pixel
#' targets in spectra, glasses on faces. Where the target is the whole instance, as with digits,
#' white noise works better. [mil_tune()] can choose: `noise`, `ridge`, `normalize` and
#' `normalize_after` may be columns of its grid. Directions in which the negatives hardly vary
#' count most, so anything new, such as a new person or sensor, can score like a target. Compare
#' with the squared norm alone, `predict(detector = "norm")`, and keep groups apart in
#' cross-validation (`group = ` of [bag_folds()]).
#'
#' @section Bounds and prior knowledge:
#' With `nonneg = "codes"`, every threshold step on a code is followed by \eqn{\max(0,
#' \cdot)}{max(0, .)}, and variant `"exact"` minimises over non-negative codes; with `"dictionary"`,
#' the negative part of an atom's numerator is set to 0 before the atom is scaled to norm 1, which
#' gives the minimiser over non-negative atoms (an atom whose numerator has no positive part counts
#' as unused, see `dead` in [dlfumi_control()]). The start is clipped at 0 too. The data may be
#' negative.
#'
#' An `instance_prior` \eqn{\pi_i} multiplies the odds of the E-step by its own odds,
#' \deqn{p_i / (1 - p_i) = (e^{\beta \|x_i - D^- a_i^-\|^2} - 1) \, \pi_i /
#'   (1 - \pi_i).}{p / (1 - p) = (exp(beta |x - D- a-|^2) - 1) pi / (1 - pi).}
#'   Instances with a prior of 0 are not used to start the target atoms.
#'
#' @section Witnesses:
#' The E-step looks at one instance at a time: with many atoms or a large `beta`, it takes nearly
#' all instances of positive bags for targets, and the target atoms then learn background too. With
#' `witnesses` > 0, the instance with the highest score in each positive bag is taken for its
#' target (\eqn{p_i = 1}) and all others for background (\eqn{p_i = 0}). Because a fit reconstructs
#' well what it was trained on, the scores come from fits that have not seen the bag: positive bags
#' are split at random into five parts (fewer if there are fewer bags), and each part is scored by
#' the average of two starts on all other bags. A second round repeats this with the witnesses of
#' the first. Instances with an `instance_prior` of 0 are never witnesses; those with a prior of 1
#' are the witnesses of their bag. Each round takes ten fits. Use it for bags with one target or a
#' few.
#'
#' With `noise = "background"`, the negative bags tell what background is like, and the instances of
#' positive bags that are not witnesses are left out of the fit, because they may be targets too.
#' With a `ridge` of 1 or more, the noise is nearly white, and they are background as with white
#' noise.
#'
#' @param x,... the data: [bags()], or what [bags()] takes, such as a matrix with `bag` and `label`,
#'   or a formula `mi(label, bag) ~ .` with `data`.
#' @param n_target,n_background whole numbers >= 1, by default 4 and 15: numbers of target and
#'   background atoms to learn. Try 1 to 8 target atoms and 5 to 60 background atoms; with too few
#'   background atoms everything looks like a target. For these and the next four arguments, `NULL`
#'   means the default of the variant and noise, see below.
#' @param lambda number >= 0, default 0.01: weight of the sparsity penalty; try 0.001 to 0.1. A
#'   larger value uses fewer atoms per instance; a warning says when all codes are 0. For variant
#'   `"exact"` the default is 0.05 and the meaning differs, see [dlfumi_control()].
#' @param beta number > 0, default 30: how readily the E-step takes an instance for a target,
#'   \eqn{p = 1 - \exp(-\beta \|x - D^- a^-\|^2)}{p = 1 - exp(-beta |x - D- a-|^2)}; try 3 to 300.
#'   If all weights are 0 or 1, a warning suggests a value.
#' @param gamma number >= 0, default 0.001: weight of the term that keeps background atoms away
#'   from target atoms; try 0 to 1.
#' @param psi number > 0, default 1 (1.5 for variant `"matlab"`): weight of the instances of
#'   positive bags relative to those of negative bags; try 0.3 to 3.
#' @param paper `NULL` (default: none), or the name of an experiment of the paper, such as `"usps"`
#'   (see [paper_bags()]): its numbers of atoms, `lambda`, `beta`, `gamma` and `psi` replace the
#'   defaults. Arguments that you give take precedence.
#' @param nonneg `"none"` (default), `"codes"` (also those of new data), `"dictionary"` or
#'   `"both"`: what must be non-negative, for spectra, images and counts. See below.
#' @param bag_weights `NULL` (default: 1 for each bag), or positive numbers, one per bag, in the
#'   order in which the bags first appear, or named by their ids. The weights \eqn{w_i} of a bag's
#'   instances are multiplied by it, so a bag of weight 2 counts twice. Names of bags that are not
#'   in the data are ignored. The start and the covariance of the noise do not use the weights.
#' @param instance_prior `NULL` (default: nothing is known), or one number between 0 and 1 per
#'   instance, in the order given: the prior probability that it is a target. `NA` or 0.5: nothing
#'   is known; 0: no target, \eqn{p_i = 0}; 1: a target, \eqn{p_i = 1}. It must be 0 or `NA` in
#'   negative bags. See below.
#' @param witnesses whole number >= 0, default 0 (none, as in the paper): number of rounds that
#'   look for a witness in each positive bag; try 1 or 2 where bags hold one target or a few. See
#'   below.
#' @param noise `"white"` (default), as in the paper, or `"background"`, noise with the covariance
#'   of the negative bags. See below.
#' @param ridge number > 0, default 0.001, for `noise = "background"`: the variance added to the
#'   covariance in all directions, as a share of the mean variance over the directions in which
#'   so many negatives can vary: as many as features, or as instances less one; try 1e-4 to 0.1.
#'   `NULL`: the shrinkage of Ledoit and Wolf (2004), which adds much where a few directions are
#'   far stronger than the others.
#' @param normalize `"unit"` (default) scales every instance, also of new data, to norm 1; `"none"`
#'   (default with `noise = "background"`) leaves instances as they are.
#' @param normalize_after `"none"` (default) or, for `noise = "background"`, `"unit"`: scale
#'   instances to norm 1 again after whitening, so that their direction counts and not their
#'   strength.
#' @param init the start, default `"paper"`: target atoms are means of random disjoint subsets of
#'   the instances of positive bags, background atoms are k-means centres of the instances of
#'   negative bags, codes by least squares. Or a matrix of atoms x features, target atoms first, as
#'   returned by `coef(fit)`; the target atoms alone, as returned by `coef(fit, "target")`, with
#'   background atoms as in `"paper"`; a list with such a matrix as `dictionary` and optionally
#'   `codes` (atoms x instances); a function of the bags, `n_target` and `n_background` that
#'   returns all atoms or such a list; or a fit, for a warm start. A matrix of features x atoms
#'   also works; if it is square, its dimnames must tell which it is.
#' @param n_start whole number >= 1, default 1 (4 with `noise = "background"`): number of random
#'   starts; try 8. They run in parallel if there are workers (see [bag_shards()]).
#' @param combine `"best"` (default) keeps the start with the lowest objective; `"average"` keeps
#'   all and scores by the mean of their log confidences (or differences), each standardised on the
#'   instances of the negative training bags.
#' @param score the score of an instance: `"ratio"` (default), the confidence of eq. 7,
#'   \eqn{\|x - D^- a^-\|^2 / \|x - D a\|^2}{|x - D- a-|^2 / |x - D a|^2}; or `"difference"`,
#'   numerator minus denominator, which is twice the log likelihood ratio under the model.
#' @param keep_background `TRUE` or `FALSE` (default): whether to keep the statistics of the
#'   negative bags that `predict(detector = "subace")` needs.
#' @param control a list made by [dlfumi_control()]. Its options may also be given directly by
#'   name, as in `dlfumi(b, max_iter = 50)`.
#' @param calibrate how classes and probabilities are calibrated: `"auto"` (default), by five-fold
#'   cross-validation over the training bags where the fit is quick; a number of folds >= 2; or 0,
#'   from the fit's own scores of its training bags. See [mil_calibrate()].
#' @param progress `TRUE` or `FALSE`: whether to show a progress bar; by default in interactive
#'   sessions.
#'
#' @return A plain list of class `c("dlfumi", "mil_model")` that holds no data, and no function
#'   unless `init` is one:
#'   \item{dictionary}{features x atoms, unit-norm columns, target atoms first, in the units of the
#'     data}
#'   \item{noise}{for `noise = "background"`: `mean`, `basis`, `gain` and `scale` of the transform,
#'     and `dictionary`, the atoms in the transformed space}
#'   \item{codes}{atoms x instances, in the order of the instances given}
#'   \item{prob_target}{the weight \eqn{p} of the last E-step for each instance, 0 in negative bags}
#'   \item{objective}{one row per iteration: the objective and its three terms; see
#'     [loss_path()]}
#'   \item{n_iter, converged, stop_reason}{how the fit ended: `"converged"`, `"max_iter"` or
#'     `"interrupt"`}
#'   \item{n_dead}{how often each atom was found unused}
#'   \item{worst_gap}{largest relative duality gap of a code, for variant `"exact"`}
#'   \item{calibration}{the threshold and probability curves, see [mil_calibrate()]} It also holds
#'   the parameters, normalisation, feature names, image size, bag ids, classes and the kind of
#'   random numbers.
#'
#'   Atoms are sorted by the energy that they carry, and each has the sign that makes its codes
#'   positive on balance (unless atoms must be non-negative). With variants `"paper"` and
#'   `"matlab"`, atoms given by `init` keep their order and sign.
#'
#'   Ctrl-C during a fit returns the last complete iteration, with a warning: the same fit as with
#'   that `max_iter`.
#'
#'   If a fit reaches `max_iter` while its objective still changes by more than 0.1 % in ten
#'   iterations, a warning of class `fumi_warning_max_iter` says so, once per session; `print()`
#'   always shows how much the objective still changed.
#' @references Jiao, C. and Zare, A. (2016). Multiple instance dictionary learning using
#'   functions of multiple instances. *International Conference on Pattern Recognition*.
#'   arXiv:1511.02825.
#'
#'   Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance
#'   matrices. *Journal of Multivariate Analysis*, 88(2), 365--411.
#' @seealso [predict.mil_model()], [plot.mil_model()], [mil_roc()], [one_vs_rest()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20, bag_size = 5, image_dim = c(8, 8))
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' fit
#' plot(fit)
#' head(predict(fit, b))
#' @export
dlfumi <- function(x, ..., n_target = NULL, n_background = NULL, lambda = NULL, beta = NULL,
                   gamma = NULL, psi = NULL, paper = NULL,
                   nonneg = c("none", "codes", "dictionary", "both"), bag_weights = NULL,
                   instance_prior = NULL, witnesses = 0, noise = c("white", "background"),
                   ridge = 0.001,
                   normalize = c("unit", "none"), normalize_after = c("none", "unit"),
                   init = "paper",
                   n_start = 1, combine = c("best", "average"), score = c("ratio", "difference"),
                   keep_background = FALSE,
                   calibrate = getOption("fumi.calibrate", "auto"), control = dlfumi_control(),
                   progress = getOption("fumi.progress", interactive())) {
  check_arguments(c(names(formals()), control_names()), ...names())
  given <- given_arguments()
  dots <- list(...)
  by_name <- names(dots) %in% control_names()
  noise <- check_choice(noise, noise_kinds, "noise")
  other <- noise_defaults(noise)
  for (name in setdiff(names(other), names(given))) assign(name, other[[name]])
  options <- c(dots[by_name], if (noise == "background" &&
                                  is.null(c(given$control, dots$variant))) list(variant = "exact"))
  control <- merged_dlfumi_control(control, options, !is.null(given$control))
  asked <- list(n_target = n_target, n_background = n_background, lambda = lambda, beta = beta,
                gamma = gamma, psi = psi)
  asked <- with_paper_values(asked, paper)
  spec <- check_dlfumi_spec(asked, control$variant, noise, init)
  spec <- c(spec, check_noise(noise, ridge, normalize_after, nonneg, names(given)))
  spec$normalize <- check_choice(normalize, c("unit", "none"), "normalize")
  spec$nonneg <- check_choice(nonneg, c("none", "codes", "dictionary", "both"), "nonneg")
  spec$combine <- check_choice(combine, c("best", "average"), "combine")
  spec$witnesses <- check_count(witnesses, "witnesses", min = 0)
  spec$score <- check_choice(score, c("ratio", "difference"), "score")
  spec$n_start <- check_count(n_start, "n_start")
  spec$keep_background <- check_flag(keep_background, "keep_background")
  spec$calibrate <- check_calibrate(calibrate)
  spec$control <- control
  progress <- check_flag(progress, "progress")
  b <- if (any(by_name)) do.call("bags", c(list(x), dots[!by_name])) else bags(x, ...)
  if (inherits(b, "bag_shards") && is.null(given$combine)) spec$combine <- "best"
  b <- check_trainable(b, spec$normalize, copies = if (noise == "white") 0.05 else 1.1,
                       shards = TRUE)
  check_dlfumi_sizes(b, spec)
  known <- list(bag_weights = check_bag_weights(bag_weights, b),
                instance_prior = check_instance_prior(instance_prior, b, spec$n_target))
  spec$weight <- unname(known$bag_weights)[b$bag]
  spec$prior <- known$instance_prior[b$order[seq_len(b$n_positive)]]
  spec$given <- c(asked, known)
  check_witnesses(b, spec)
  if (spec$witnesses > 0) spec <- find_witnesses(b, spec, progress, rlang::current_env())
  given[names(given) == "bag_weights"] <- known["bag_weights"]
  given[names(given) == "init"] <- list(as_warm_start(init))
  fit <- dlfumi_bridge(b, spec, init, progress)
  fit <- calibrate_fit(fit, b, spec$calibrate, dlfumi_refit(b, spec, init),
                       dlfumi_work(b, spec, fit), progress)
  with_given(fit, c(given, dots[by_name]))
}

# Multiplications of a fit: codes by gradient steps, and sums for the atoms.
dlfumi_work <- function(b, spec, fit) {
  n_atoms <- spec$n_target + spec$n_background
  as.numeric(length(b$bag)) * n_atoms * (4 * nrow(b$x) + 2 * spec$control$inner * n_atoms) *
    fit$n_iter * spec$n_start
}

# The same fit on some of the bags, with the weights and priors of these.
dlfumi_refit <- function(b, spec, init) {
  spec$keep_background <- FALSE
  function(some) {
    mine <- which(b$ids[b$bag] %in% some$ids)
    spec["weight"] <- list(spec$weight[mine])
    spec["prior"] <- list(spec$prior[mine[mine <= b$n_positive]])
    if (is.list(init) && !inherits(init, "dlfumi") && !is.null(init$codes))
      init$codes <- init$codes[, sort(b$order[mine]), drop = FALSE]
    check_dlfumi_sizes(some, spec)
    dlfumi_bridge(some, spec, init, FALSE)
  }
}

# Parameters as given; those not given come from an experiment of the paper.
with_paper_values <- function(asked, paper, call = rlang::caller_env()) {
  if (is.null(paper)) return(asked)
  values <- paper_protocols[[check_choice(paper, names(paper_protocols), "paper", call = call)]]
  open <- names(asked)[vapply(asked, is.null, NA)]
  asked[open] <- c(values$parameters, psi = 1)[open]
  asked
}

# Parameters as given, completed from the fit that is the start, then by the defaults of the
# variant.
check_dlfumi_spec <- function(spec, variant, noise, init, call = rlang::caller_env()) {
  default <- dlfumi_defaults(variant, noise)
  if (inherits(init, "dlfumi"))
    default[c("n_target", "n_background")] <- init[c("n_target", "n_background")]
  for (name in names(spec)) if (is.null(spec[[name]])) spec[[name]] <- default[[name]]
  list(n_target = check_count(spec$n_target, "n_target", call = call),
       n_background = check_count(spec$n_background, "n_background", call = call),
       lambda = check_number(spec$lambda, "lambda", min = 0, call = call),
       beta = check_number(spec$beta, "beta", above = 0, call = call),
       gamma = check_number(spec$gamma, "gamma", min = 0, call = call),
       psi = check_number(spec$psi, "psi", above = 0, call = call))
}

check_dlfumi_sizes <- function(b, spec, call = rlang::caller_env()) {
  n <- c(b$n_positive, length(b$bag) - b$n_positive)
  if (inherits(b, "bag_shards") && (spec$combine == "average" || spec$keep_background))
    stop_fumi("`combine` must be \"best\" and `keep_background` FALSE for bags in parts.",
              class = "no_meaning", call = call)
  if (spec$n_target > n[1])
    stop_fumi("`n_target` must be at most the number of instances in positive bags (", n[1],
              "), not ", spec$n_target, ".", call = call)
  if (spec$n_background > n[2])
    stop_fumi("`n_background` must be at most the number of instances in negative bags (", n[2],
              "), not ", spec$n_background, ".", call = call)
  # codes, and those before
  check_memory(8 * (spec$n_start + 1) * (spec$n_target + spec$n_background) * sum(n), call)
}
