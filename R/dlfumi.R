#' DL-FUMI: target and background atoms from bags
#'
#' Estimates a dictionary of `n_target` target atoms and `n_background` background
#' atoms from bags of which only the labels are known: an instance of a positive
#' bag may be a mixture of target and background atoms, an instance of a negative
#' bag is a mixture of background atoms only.
#'
#' @details
#' The objective is eq. 4 of Jiao and Zare (2016),
#' \deqn{\sum_i w_i \{\tfrac12 [p_i \|x_i - D a_i\|^2 + (1 - p_i) \|x_i - D^- a_i^-\|^2]
#'   + \lambda (p_i |a_i^+|_1 + |a_i^-|_1)\} + \Gamma \sum_{kt} \cos\theta_{kt}
#'   \langle d_k^-, d_t^+ \rangle,}{sum_i w_i {1/2 [p_i |x_i - D a_i|^2 + (1 - p_i) |x_i - D-
#'   a_i-|^2] + lambda (p_i |a_i+|_1 + |a_i-|_1)} + gamma sum_kt cos_kt <d_k-, d_t+>,}
#' minimised by expectation-maximisation: the E-step computes the weight
#' \eqn{p_i} that instance \eqn{i} has as a target, the M-step updates the atoms one
#' by one and the sparse codes. `vignette("dlfumi-math")` has every equation, and
#' every departure from the paper.
#'
#' There is no right number of atoms: the defaults are those of the paper's digits, and
#' [mil_tune()] finds others. `lambda` does not mean the same in all variants, see
#' [dlfumi_control()]. For more data than memory, or more than one machine, see [bag_shards()].
#'
#' @section For what data it is made:
#' The model is additive and sparse: an instance is a sum of few atoms, and what tells a target is
#' the *direction* of an instance, not where it lies. That suits spectra, images, and spectrograms
#' or counts: many features of one kind, on one scale, with 0 for "nothing there". It does not suit
#' a table of unlike measurements, where a large unit drowns the others, where 0 has no meaning,
#' and where a target is a region rather than a direction. With `lambda = 0.001` its AUC is 0.73
#' for held-out bags of MUSK1 (molecules by 166 distances; ten folds of bags, five times), where
#' [mi_svm()] has 0.91. For such data prefer [mi_svm()] or [miles()]. To try `dlfumi()` on them,
#' give every feature mean 0 and variance 1 by the training data, and the same numbers to new data:
#'
#' ```r
#' x_scaled <- scale(x)
#' fit <- dlfumi(x_scaled, bag, label)
#' predict(fit, scale(x_new, attr(x_scaled, "scaled:center"), attr(x_scaled, "scaled:scale")))
#' ```
#'
#' Instances are brought to norm 1 afterwards unless `normalize = "none"`, and `beta` must suit
#' their norm; a warning tells when it does not. `lambda`, `beta` and the numbers of atoms are then
#' worth a [mil_tune()].
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
#' `lambda` was chosen by cross-validation over training bags of ten sets, three of digits, two each
#' of faces and spectra, and three of [sim_bags()]. The mean AUC of held-out instances by their
#' truth (`Rscript bench/dlfumi-defaults.R` in the sources, seed 2026, version 0.2.0, 18 November
#' 2026; each set is in `bench/results/dlfumi-defaults.csv`):
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
#' No row is best everywhere: [mil_tune()] is worth its time, above all for spectra and faces, where
#' the choice of `noise` matters more than any of these.
#'
#' With `noise = "background"` the defaults are variant `"exact"`, `n_target = 3`,
#' `n_background = 8`, `normalize = "none"`, `n_start = 4` with `combine = "average"` (`"best"` for
#' [bag_shards()]), and `score = "difference"`.
#'
#' @section Noise:
#' Eq. 3 of the paper takes what atoms leave of an instance for white noise. A background often
#' varies far more along some directions than along others: light in photographs, brightness in
#' spectra. With `noise = "background"` the model is \eqn{x = \mu + D a + e}{x = mu + D a + e},
#' where \eqn{\mu}{mu} and the covariance of \eqn{e} are those of the instances of the negative
#' bags, and DL-FUMI is fitted to instances from which both have been taken out. `coef()`, `plot()`
#' and `predict(type = "reconstruction")` show atoms and instances in the units of the data; the
#' atoms as they are fitted are in `noise$dictionary`, and `coef(filter = TRUE)` gives the
#' directions that instances are multiplied with to detect them.
#'
#' Instances of the background then have a squared norm near 1, few atoms take anything from it,
#' and with the default `beta` every instance of a positive bag has a weight \eqn{p} near 1: target
#' atoms are learned from all of them. `witnesses` is the remedy where a bag holds few targets among
#' other things that the negative bags lack, such as other people. A target adds its signature to
#' the background and does not take it away, which `nonneg = "codes"` says. [suggest_grid()] has
#' both.
#'
#' Use it where the target is a part of an instance or lies on top of a background: sub-pixel
#' targets in spectra, glasses on faces. Where the target is the whole instance, as with digits,
#' white noise is better. [mil_tune()] can choose: `noise`, `ridge`, `normalize` and
#' `normalize_after` may be columns of its grid. Directions in which the negatives do not vary at
#' all count most, so that whatever is new, a new person or sensor, scores like a target: compare
#' with the squared norm alone, `predict(detector = "norm")`, and keep groups apart in
#' cross-validation (`group = ` of [bag_folds()]).
#'
#' @section Bounds and prior knowledge:
#' With `nonneg = "codes"`, every threshold step on a code is followed by \eqn{\max(0, \cdot)}, and
#' variant `"exact"` minimises over non-negative codes; with `"dictionary"`, the numerator of an
#' atom loses its negative part before it is brought to norm 1, which is the minimiser over
#' non-negative atoms (a numerator without a positive part counts as an atom without use, see
#' `dead` in [dlfumi_control()]). The start is clipped at 0 alike. The data may be negative.
#'
#' An `instance_prior` \eqn{\pi_i} multiplies the odds of the E-step by its own,
#' \deqn{p_i / (1 - p_i) = (e^{\beta \|x_i - D^- a_i^-\|^2} - 1) \, \pi_i /
#'   (1 - \pi_i).}{p / (1 - p) = (exp(beta |x - D- a-|^2) - 1) pi / (1 - pi).}
#'   Instances with a prior of 0 do not enter the start of target atoms.
#'
#' @section Witnesses:
#' The E-step looks at one instance at a time: with many atoms or a large `beta` nearly all
#' instances of positive bags are taken for targets, and target atoms are learned from background
#' too. With `witnesses` > 0, one instance of each positive bag is taken for its target
#' (\eqn{p_i = 1}) and the others for background (\eqn{p_i = 0}): the one with the highest score. A
#' fit rebuilds what it has seen, so the scores are those of fits that have not seen the bag:
#' positive bags are split at random into five parts (fewer, if there are fewer of them), and each
#' part is scored by the average of two starts on all other bags. A second round does the same with
#' the witnesses of the first. Instances with an `instance_prior` of 0 are never witnesses; where
#' it is 1, these are the witnesses of their bag. Each round takes ten fits. It is for bags that
#' hold one target, or few.
#'
#' With `noise = "background"`, what background is like is known from the negative bags, and the
#' instances that are no witness are left out of the fit: they may well be targets, too.
#'
#' @param x,... the data: [bags()], or what [bags()] takes, for instance
#'   `dlfumi(x, bag, label)` or `dlfumi(mi(label, bag) ~ ., data = d)`.
#' @param n_target,n_background whole numbers >= 1, by default 4 and 15: how many target atoms and
#'   background atoms to learn. Try 1 to 8 target atoms and 5 to 60 background atoms; too few
#'   background atoms make everything look like a target. `NULL` stands for the default of the
#'   variant and noise, see below, for these and the next four arguments.
#' @param lambda number >= 0, default 0.01: weight of the sparsity penalty; try 0.001 to 0.1. A
#'   larger one uses fewer atoms per instance; a warning says when all codes are 0. 0.05 for
#'   variant `"exact"`, where it has another meaning, see [dlfumi_control()].
#' @param beta number > 0, default 30: how quickly the E-step takes an instance for a target,
#'   \eqn{p = 1 - \exp(-\beta \|x - D^- a^-\|^2)}{p = 1 - exp(-beta |x - D- a-|^2)}; try 3 to 300.
#'   A warning proposes a value where all weights are 0 or 1.
#' @param gamma number >= 0, default 0.001: weight of the term that keeps background atoms away
#'   from target atoms; try 0 to 1.
#' @param psi number > 0, default 1 (1.5 for variant `"matlab"`): weight of the instances of
#'   positive bags; try 0.3 to 3.
#' @param paper `NULL` (default: none), or the name of an experiment of the paper, such as `"usps"`
#'   (see [paper_bags()]): its numbers of atoms, `lambda`, `beta`, `gamma` and `psi` in place of the
#'   defaults. Arguments that are given win.
#' @param nonneg `"none"` (default), `"codes"` (also those of new data), `"dictionary"` or
#'   `"both"`: what must not be negative, for spectra, images and counts. See below.
#' @param bag_weights `NULL` (default: 1 for each bag), or positive numbers, one per bag, in the
#'   order in which the bags first appear or named by their ids: \eqn{w_i} of the instances of a
#'   bag is multiplied by its weight, so that a bag of weight 2 counts as two. Names of bags that
#'   are not there are ignored. The start does not look at weights.
#' @param instance_prior `NULL` (default: nothing is known), or what is known of single instances:
#'   a number between 0 and 1 for each instance, in the order given, the probability of a target
#'   before the instance is looked at. `NA` and 0.5: no opinion; 0: "not here", \eqn{p_i = 0}; 1:
#'   \eqn{p_i = 1}. It must be 0 or `NA` in negative bags. See below.
#' @param witnesses whole number >= 0, default 0 (none, as in the paper): rounds in which a witness
#'   is looked for in each positive bag; try 1 or 2 where bags hold one target or few. See below.
#' @param noise `"white"` (default), as in the paper, or `"background"`: noise with the covariance
#'   of the negative bags. See below.
#' @param ridge number > 0, default 0.001, for `noise = "background"`: the variance that is added
#'   to the covariance in all directions, as a share of the mean variance along those in which the
#'   negatives vary; try 1e-4 to 0.1. `NULL`: the shrinkage of Ledoit and Wolf (2004), which adds
#'   much where a few directions are far stronger than the others.
#' @param normalize `"unit"` brings every instance to norm 1 (the same is done to new data),
#'   `"none"` takes them as they are. The default is `"unit"`, or `"none"` with `noise =
#'   "background"`.
#' @param normalize_after `"none"` (default) or, for `noise = "background"`, `"unit"`: also bring
#'   instances to norm 1 after the covariance has been taken out, so that their direction counts
#'   and not their strength.
#' @param init the start, default `"paper"`: target atoms are means of random disjoint subsets of
#'   the instances of positive bags, background atoms are k-means centres of the instances of
#'   negative bags, codes by least squares. Or a matrix of atoms x features, target atoms first, as
#'   `coef(fit)` gives it, or of the target atoms alone, as `coef(fit, "target")` gives them, with
#'   background atoms as in `"paper"`; a list with such a matrix as `dictionary` and optionally
#'   `codes` (atoms x instances); a function of the bags, `n_target` and `n_background` that
#'   returns all atoms or such a list; or a fit, for a warm start. A matrix of features x atoms is
#'   taken too; of a square matrix the names must tell which it is.
#' @param n_start whole number >= 1, default 1 (4 with `noise = "background"`): number of random
#'   starts; try 8. They run on workers, if there are some (see [bag_shards()]).
#' @param combine `"best"` (default) keeps the start with the lowest objective; `"average"` keeps
#'   all, and scores are the mean of the members' log confidences (or differences), each
#'   standardised on the instances of the negative training bags.
#' @param score the score of an instance: `"ratio"` (default), the confidence of eq. 7, \eqn{\|x -
#'   D^- a^-\|^2 / \|x - D a\|^2}{|x - D- a-|^2 / |x - D a|^2}; or `"difference"`, numerator less
#'   denominator, which is twice the logarithm of the ratio of likelihoods under the model.
#' @param keep_background `TRUE` or `FALSE` (default): keep the statistics of the negative bags
#'   that `predict(detector = "subace")` needs?
#' @param control a list made by [dlfumi_control()]. Its options may also be given by name,
#'   `dlfumi(b, max_iter = 50)`.
#' @param calibrate how classes and probabilities are calibrated: `"auto"` (default), by the scores
#'   of training bags in five folds where the fit is quick; a number of folds >= 2; or 0, by the
#'   fit's own scores of its training bags. See [mil_calibrate()].
#' @param progress `TRUE` or `FALSE`: show a progress bar? By default in interactive sessions.
#'
#' @return A plain list of class `c("dlfumi", "mil_model")` that holds neither data nor
#'   functions, unless `init` is one:
#'   \item{dictionary}{features x atoms, unit-norm columns, target atoms first, in the units of the
#'     data}
#'   \item{noise}{for `noise = "background"`: `mean`, `basis`, `gain` and `scale` of the transform,
#'     and `dictionary`, the atoms in its space}
#'   \item{codes}{atoms x instances, in the order of the instances given}
#'   \item{prob_target}{the weight \eqn{p} of the last E-step for each instance, 0 in negative bags}
#'   \item{objective}{one row per iteration: the objective and its three terms; see
#'     [loss_path()]}
#'   \item{n_iter, converged, stop_reason}{how it ended: `"converged"`, `"max_iter"` or
#'     `"interrupt"`}
#'   \item{n_dead}{how often each atom was found without use}
#'   \item{worst_gap}{largest relative duality gap of a code, for variant `"exact"`}
#'   \item{calibration}{what classes and probabilities are made by, see [mil_calibrate()]}
#'   and the parameters, normalisation, feature names, image size, bag ids, classes and
#'   kind of random numbers.
#'
#'   Atoms are ordered by the energy they carry and their codes are positive on balance, unless
#'   atoms must not be negative; for variants `"paper"` and `"matlab"` with a given `init` they
#'   keep its order and sign.
#'
#'   Ctrl-C during a fit returns the last whole iteration, with a warning: the same as a fit with
#'   that `max_iter`.
#'
#'   A fit that ends at `max_iter` while its objective still changes by more than 0.1 % in ten
#'   iterations says so in a warning of class `fumi_warning_max_iter`, once in a session; `print()`
#'   always tells how much it still changed.
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
  check_door(c(names(formals()), control_names()), ...names())
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

# The same fit to some of the bags, with what is known of these.
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

# Parameters as given, those that are not from an experiment of the paper.
with_paper_values <- function(asked, paper, call = rlang::caller_env()) {
  if (is.null(paper)) return(asked)
  values <- paper_protocols[[check_choice(paper, names(paper_protocols), "paper", call = call)]]
  open <- names(asked)[vapply(asked, is.null, NA)]
  asked[open] <- c(values$parameters, psi = 1)[open]
  asked
}

# Parameters as given, completed by a fit that is the start, then by the variant.
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

# ---- bridge: numbers in, model out -----------------------------------------------

dlfumi_bridge <- function(b, spec, init, progress, call = rlang::caller_env()) {
  fit <- if (spec$noise == "white") fit_white_noise else fit_background_noise
  fit(b, spec, init, progress, call)
}

fit_white_noise <- function(b, spec, init, progress, call) {
  scale <- instance_scale(b$x, spec$normalize)
  starts <- (if (inherits(b, "bag_shards")) shards_starts
             else dlfumi_starts)(b, scale, spec, init, call)
  starts <- online_starts(starts, b, spec$control)
  bar <- fit_progress(progress, spec$n_start, n_iterations(b, spec$control))
  on.exit(bar$done())
  run <- if (inherits(b, "bag_shards")) keep_until_interrupt else run_starts
  fits <- run(spec$n_start, function(s)
    dlfumi_run(b, scale, starts[[s]], spec, bar$report(s), call), call)
  interrupted <- attr(fits, "interrupted")
  given <- !identical(init, "paper") && spec$control$variant != "exact"
  fits <- lapply(fits, tidy_atoms, b = b, spec = spec, keep_order = given)
  warn_dlfumi(fits, interrupted, b, scale, spec, call)
  new_dlfumi(fits, interrupted, b, scale, spec, call)
}

# What r_dlfumi_param() in src/r_dlfumi.c reads.
dlfumi_par <- function(spec) {
  control <- spec$control
  c(spec[c("n_target", "lambda", "beta", "gamma", "psi")],
    control[c("variant", "solver", "dead", "inner", "max_iter", "tol", "gap")],
    list(absolute_tol = control$variant == "matlab", nonneg_codes = nonneg_codes(spec),
         nonneg_atoms = nonneg_atoms(spec), accelerate = isTRUE(control$accelerate), simd = simd(),
         threads = n_threads(control$threads)))
}

# What must not be negative, by the parameters of a fit or by a fit.
nonneg_codes <- function(spec) isTRUE(spec$nonneg %in% c("codes", "both"))
nonneg_atoms <- function(spec) isTRUE(spec$nonneg %in% c("dictionary", "both"))

dlfumi_run <- function(b, scale, start, spec, report, call) {
  start <- start()
  out <- if (is_online(spec$control)) online_fit(b, scale, start, spec, report, call)
         else if (inherits(b, "bag_shards")) shards_fit(b, start, spec, report, call)
         else .Call(ffi_dlfumi_fit, b$x, scale, b$n_positive, start$dictionary,
                    .Call(ffi_take, start, "codes"),
                    dlfumi_par(spec), spec$weight, spec$prior, report)
  if (out$status == "nonfinite")
    stop_fumi("The objective must stay finite, but it was not in iteration ", out$n_iter + 1, ": ",
              if (spec$normalize == "unit")
                "`psi`, `gamma`, `lambda` or `init$codes` is probably too large."
              else "the data are probably too large; try `normalize = \"unit\"` or rescale `x`.",
              class = "diverged", call = call)
  if (out$status != "interrupt") check_status(out$status, call)
  terms <- t(out$trace[, seq_len(out$n_iter), drop = FALSE])
  colnames(terms) <- c("objective", "reconstruction", "sparsity", "incoherence")
  list(dictionary = out$dictionary, codes = .Call(ffi_take, out, "codes"), p = out$p,
       n_dead = out$n_dead,
       objective = data.frame(iteration = seq_len(out$n_iter), terms), n_iter = out$n_iter,
       worst_gap = out$worst_gap, stop_reason = out$status)
}

# Removes dropped atoms; unless `keep_order`, sorts atoms of each kind by the energy they
# carry and gives each the sign that makes its codes positive on balance, if it may have it. Codes
# get names and the order of the user.
tidy_atoms <- function(fit, b, spec, keep_order) {
  is_target <- seq_len(ncol(fit$dictionary)) <= spec$n_target
  carried <- .Call(ffi_dlfumi_carried, fit$codes, fit$p, spec$n_target, spec$psi, spec$weight)
  kept <- spec$control$dead != "drop" | colSums(fit$dictionary^2) > 0
  for (kind in list(is_target, !is_target)) if (!any(kept & kind)) kept[which(kind)[1]] <- TRUE
  atom <- if (keep_order) seq_along(kept) else order(!is_target, -carried[1, ])
  atom <- atom[kept[atom]]
  sign <- if (keep_order || nonneg_atoms(spec)) rep(1, length(atom))
          else ifelse(carried[2, atom] < 0, -1, 1)
  kinds <- c(target = sum(is_target[atom]), background = sum(!is_target[atom]))
  names <- paste0(rep(names(kinds), kinds), unlist(lapply(kinds, seq_len)))
  if (!all(kept)) fit$codes <- fit$codes[kept, , drop = FALSE]
  fit$codes <- .Call(ffi_arrange, fit$codes, match(atom, which(kept)), sign, b$order, names)
  fit$dictionary <- fit$dictionary[, atom, drop = FALSE] * rep(sign, each = nrow(b$x))
  fit$n_dropped <- sum(!kept)
  fit$n_target <- kinds[["target"]]
  fit$n_dead <- fit$n_dead[atom]
  fit
}

warn_dlfumi <- function(fits, interrupted, b, scale, spec, call) {
  if (interrupted)
    warn_fumi("Interrupted: the fit holds the last whole iteration (", fits[[length(fits)]]$n_iter,
              ") of start ", length(fits), " of ", spec$n_start, ".", class = "interrupt",
              call = call)
  best <- fits[[best_fit(fits)]]
  p <- best$p[if (is.null(spec$prior)) TRUE else spec$prior > 0 & spec$prior < 1]
  if (max(best$codes) == 0 && min(best$codes) == 0)
    warn_fumi("`lambda` = ", spec$lambda, " makes every code 0: try a smaller one.",
              class = "lambda", call = call)
  else if (length(p) && all(p < 1e-12 | p > 1 - 1e-12)) {
    beta <- log(2) / stats::median(background_residual(best, b, scale))
    warn_fumi("`beta` = ", spec$beta, " makes every weight of the E-step 0 or 1",
              if (is.finite(beta)) paste0(": try `beta` = ", signif(beta, 2)), ".", class = "beta",
              call = call)
  }
  if (best$worst_gap > spec$control$gap)
    warn_fumi("The codes are not exact: their largest relative duality gap is ",
              signif(best$worst_gap, 2),
              ", because atoms depend on each other; try fewer atoms or a larger `lambda`.",
              class = "gap", call = call)
  warn_max_iter(best, spec$control, call)
}

# A fit without `tol` was asked for so many iterations, and one by mini-batches for so many epochs.
warn_max_iter <- function(fit, control, call) {
  if (fit$stop_reason != "max_iter" || control$tol == 0 || is_online(control)) return()
  if (isTRUE(still_moves(fit) > 0.001))
    warn_fumi("The fit ended at `max_iter` = ", fit$n_iter, " before it settled: ",
              moves_words(fit), ". Try a larger `max_iter` in `dlfumi_control()`",
              if (control$variant != "exact")
                ", or `variant = \"exact\"`, which takes fewer iterations",
              ".", class = "max_iter", call = call, once = "fumi_max_iter")
}

# The relative change of the objective over the last ten iterations; NA if there was one only.
still_moves <- function(fit) {
  path <- fit$objective$objective
  n <- length(path)
  if (n < 2) NA_real_ else abs(path[n] - path[max(1, n - 10)]) / abs(path[n])
}

moves_words <- function(fit) {
  paste0("the objective still changed by ", signif(100 * still_moves(fit), 2), " % over the last ",
         min(10, fit$n_iter - 1), " iterations")
}

# The start with the lowest objective.
best_fit <- function(fits) {
  which.min(vapply(fits, function(f) if (f$n_iter) f$objective$objective[f$n_iter] else Inf, 0))
}

# ||x - D- a-||^2 of instances of positive bags, a thousand at most, if they are at hand
background_residual <- function(fit, b, scale) {
  if (inherits(b, "bag_shards")) return(NA)
  positive <- unique(round(seq(1, b$n_positive, length.out = 1000)))
  background <- -seq_len(fit$n_target)
  x <- b$x[, positive, drop = FALSE] * rep(scale[positive], each = nrow(b$x))
  colSums((x - fit$dictionary[, background, drop = FALSE] %*%
             fit$codes[background, b$order[positive], drop = FALSE])^2)
}

new_dlfumi <- function(fits, interrupted, b, scale, spec, call) {
  best <- fits[[best_fit(fits)]]
  atoms <- rownames(best$codes)
  object <- new_mil_model(
    "dlfumi", b,
    dictionary = structure(best$dictionary, dimnames = list(b$features, atoms)),
    codes = best$codes,
    prob_target = in_user_order(b, c(best$p, numeric(length(b$bag) - b$n_positive))),
    objective = best$objective, n_iter = best$n_iter, converged = best$stop_reason == "converged",
    stop_reason = if (interrupted) "interrupt" else best$stop_reason, n_target = best$n_target,
    n_background = length(atoms) - best$n_target, n_dead = stats::setNames(best$n_dead, atoms),
    n_dropped = best$n_dropped, worst_gap = best$worst_gap, lambda = spec$lambda, beta = spec$beta,
    gamma = spec$gamma, psi = spec$psi, nonneg = spec$nonneg, normalize = spec$normalize,
    variant = spec$control$variant,
    witnesses = spec$witnesses, combine = spec$combine, score = spec$score,
    score_scale = score_scale(spec), starts = lapply(fits, `[[`, "objective"),
    spec = c(spec$given, spec[c("witnesses", "nonneg", "normalize", "combine", "score", "n_start",
                                "keep_background", "calibrate", "control")]))
  if (spec$keep_background) object$background <- background_stats(normalised_negatives(b, scale))
  if (spec$combine == "average") add_members(object, fits, b, call) else object
}

# The members of an average, which need the scores of training instances. An interrupt leaves the
# best start.
add_members <- function(object, fits, b, call) {
  late <- function(e) {
    warn_fumi("Interrupted after the last iteration: the fit holds its best start.",
              class = "interrupt", call = call)
    object[c("combine", "stop_reason")] <- c("best", "interrupt")
    object$score_scale <- score_scale(object)
    object
  }
  tryCatch({ object$members <- lapply(fits, new_member, object, b); object },
           fumi_error_interrupt = late, interrupt = late)
}

# A member of an average: its dictionary, and how its comparable score is standardised.
new_member <- function(fit, object, b) {
  object$members <- NULL
  object[c("dictionary", "n_target")] <- fit[c("dictionary", "n_target")]
  negative <- b$x[, -seq_len(b$n_positive), drop = FALSE]
  score <- averaged_score(object, negative)
  list(dictionary = fit$dictionary, n_target = fit$n_target, center = mean(score),
       scale = positive_sd(score))
}
