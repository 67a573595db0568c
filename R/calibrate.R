# What turns the scores of a fit into classes and probabilities: `calibration`, a plain list in
# every fit, made from scores of bags by fits that have not seen them.

#' Calibrate a fit
#'
#' Every fitter of this package calibrates what it returns: it chooses the threshold for
#' `predict(type = "class")` and the curves that turn scores into the probabilities of
#' `predict(type = "prob")`. `mil_calibrate()` does the same for a method of your own, or
#' recalibrates a fit with bags that it has not seen.
#'
#' @section How it works:
#' A fit scores its training bags higher or lower than new ones, so these scores say little about
#' new bags. The training bags are therefore split into `folds` parts of whole bags, with both
#' labels spread evenly, and each part is scored by a fit to the other parts. The scores of such a
#' fit may be on a different scale from those of the fit to all bags: they are shifted and
#' stretched so that the scores of the bags on which both were trained agree in mean and standard
#' deviation (ratios are taken as logarithms). If such a fit separates its training bags much
#' better or worse than the whole fit does (by more than 0.04 in Brier score), it has ended in
#' another optimum, and the bags that it scored are left out. If fewer than half of the bags
#' remain, all are used, and the scores of the folds are instead shifted and stretched so that the
#' logistic curves to the labels of the bags on which both were trained agree; `print()` says so,
#' and such probabilities are less reliable. From the scores are computed
#'
#' * the threshold: the score with the best balanced accuracy, among ties the middle of the widest
#'   gap;
#' * a logistic curve from the score of a bag to the probability that it is positive, with Platt's
#'   (1999) smoothed labels and a positive slope;
#' * a logistic curve from the score of an instance to the probability that it is a target. Since
#'   the labels of instances are unknown, the curve is fitted by maximum likelihood to the labels
#'   of the bags, with \eqn{1 - \prod_i (1 - p_i)} as the probability that a bag holds at least one
#'   target. This assumes that a bag is positive because of single instances, which are independent
#'   given their scores. The probability of a bag is not computed from those of its instances.
#'
#' A method with a probability model ([diverse_density()], [em_dd()], [dmil()]) keeps the
#' probabilities of its model if they have a lower Brier score (the mean squared difference from
#' the labels) on these bags than the logistic curve, and if the scores are not in-sample.
#' Probabilities assume that positive bags are as frequent as in the training data.
#'
#' Calibration uses a random stream of its own: a fit has the same atoms or weights with and
#' without it, and random numbers drawn after a fit do not change.
#'
#' @section When it is in-sample:
#' `calibrate = 0`, or `FALSE`, uses the fit's own scores of its training bags, as version 0.1.0
#' did; `print()` says so. Such probabilities are too close to 0 and 1, and the threshold may be
#' too high. The default, `"auto"`, uses five folds, but is in-sample for large fits: those of more
#' than 1e10 multiplications, estimated from the numbers of instances, features, atoms and
#' iterations (not from the time taken). A given number of folds is always used, however large the
#' fit. Calibration is also in-sample with fewer than 4 bags of a label, for [bag_shards()], after
#' an interrupt, and if a fit to part of the bags fails. `options(fumi.calibrate = 0)` changes the
#' default.
#'
#' [mil_tune()], [mil_cv()], [mil_benchmark()] and [paper_experiment()] need scores only, and fit
#' without cross-validated calibration.
#'
#' @param object a fitted model.
#' @param x,... [bags()], or what [bags()] takes. With `refit`, the training bags.
#' @param refit `NULL` (default), or a function of bags that fits the same method with the same
#'   parameters and without calibration. By default `object` scores the bags itself, which is right
#'   for bags that it has not seen.
#' @param folds for `refit`: `"auto"` (default), a number of folds >= 2, or 0, like the argument
#'   `calibrate` of a fitter.
#' @param work number, default 0, for `folds = "auto"`: an estimate of the number of
#'   multiplications in a fit.
#' @param progress `TRUE` or `FALSE`: whether to show a progress bar; by default in interactive
#'   sessions.
#' @return The model, with `calibration`, a list:
#'   \item{source}{`"out-of-fold"`, `"in-sample"`, or `"given"` without `refit`}
#'   \item{folds, n_bags}{number of folds, and of bags}
#'   \item{why}{why it is in-sample, a note that fits of folds differ from the whole fit, or
#'     `NULL`}
#'   \item{bag}{for the method's own score of a bag (`own`) and for each pooling a list of
#'     `threshold` and `curve`}
#'   \item{instance}{the same for instances}
#'   \item{kept}{`"curve"`, or `"model"` if the probabilities are those of the method's model}
#'   \item{brier}{the Brier scores of both on these bags}
#' @references Platt, J. C. (1999). Probabilistic outputs for support vector machines and
#'   comparisons to regularized likelihood methods. *Advances in Large Margin Classifiers*, MIT
#'   Press.
#' @seealso [predict.mil_model()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 40, noise = 0.5)
#' parts <- split(b, 0.5)
#' fit <- sil(parts$train, calibrate = 0)
#' fit
#' mil_calibrate(fit, parts$test)
#' @export
mil_calibrate <- function(object, x, ..., refit = NULL, folds = "auto", work = 0,
                          progress = getOption("fumi.progress", interactive())) {
  if (!inherits(object, "mil_model"))
    stop_fumi("`object` must be a fitted model, not ", describe(object), ".", class = "model")
  if (!is.null(refit) && !is.function(refit))
    stop_fumi("`refit` must be a function of bags, not ", describe(refit), ".")
  folds <- check_calibrate(folds, "folds")
  b <- check_same_positive(object, check_both_labels(bags(x, ...)), "x")
  if (is.null(refit)) return(with_calibration(object, given_scores(object, b), "given"))
  calibrate_fit(object, b, folds, refit, work, check_flag(progress, "progress"))
}

# "auto", or a number of folds, 0 for none.
check_calibrate <- function(calibrate, name = "calibrate", call = rlang::caller_env()) {
  if (identical(calibrate, "auto")) return(calibrate)
  if (isTRUE(calibrate)) return(default_folds)
  if (isFALSE(calibrate)) return(0L)
  ok <- is.numeric(calibrate) && length(calibrate) == 1 && is.finite(calibrate) &&
    calibrate == round(calibrate) &&
    (calibrate == 0 || calibrate >= 2)
  if (ok) return(as.integer(calibrate))
  stop_fumi("`", name, "` must be \"auto\", a number of folds >= 2, or 0, not ",
            describe(calibrate), ".", call = call)
}

default_folds <- 5L
fewest_bags <- 4L
quick_work <- 1e10

# ---- the scores that it is made from --------------------------------------------------------

# The model with its calibration. `refit(b)` fits the same to some of the bags.
calibrate_fit <- function(object, b, folds, refit, work, progress = FALSE,
                          call = rlang::caller_env()) {
  fewest <- min(sum(b$label), sum(!b$label))
  why <- if (identical(folds, 0L)) "`calibrate = 0`"
         else if (identical(object$stop_reason, "interrupt")) "the fit was interrupted"
         else if (inherits(b, "bag_shards")) "the bags are in parts"
         else if (fewest < fewest_bags) "there are few bags"
         else if (folds == "auto" && work > quick_work) "the fit is large"
  late <- function(e) {
    warn_fumi("Interrupted before calibration: the fit has no threshold and no probabilities.",
              class = "interrupt", call = call)
    NULL
  }
  whole <- tryCatch(given_scores(object, b), interrupt = late, fumi_error_interrupt = late)
  if (is.null(whole)) return(without_calibration(object))
  if (is.null(why)) {
    n_folds <- min(if (folds == "auto") default_folds else folds, fewest)
    stopped <- function(e) {
      warn_fumi("Interrupted during calibration: the fit is complete, but calibrated in-sample.",
                class = "interrupt", call = call)
      "it was interrupted"
    }
    held <- tryCatch(out_of_fold(object, b, n_folds, refit, whole, progress), interrupt = stopped,
                     fumi_error_interrupt = stopped,
                     error = function(e) "a fit to a part of the bags failed")
    if (is.list(held))
      return(with_calibration(object, held, "out-of-fold", n_folds, held$why,
                              known = if (is.null(held$why)) held else whole))
    why <- held
  }
  with_calibration(object, whole, "in-sample", why = why)
}

# Scores of bags by a fit: of their instances, and of bags by the method's own function; `raw` are
# the latter on the scale of the fit that they are from.
given_scores <- function(object, b) {
  instance <- training_scores(object, b)
  own <- if (has_bag_function(object)) score_bags(object, columns_for(object, b$x), b$bag)
         else pool_codes(instance, b$bag)
  list(instance = instance, own = own, raw = own, bag = b$bag, positive = b$label)
}

training_scores <- function(object, b) {
  if (inherits(b, "bag_shards")) score_shards(object, b, score_instances)[b$order]
  else score_instances(object, columns_for(object, b$x))
}

has_bag_function <- function(object) !is.null(utils::getS3method("score_bags", class(object)[1],
                                                                 optional = TRUE))

out_of_fold <- function(object, b, n_folds, refit, whole, progress) {
  bar <- task_progress(progress, "calibration", n_folds)
  on.exit(bar$done())
  by_moments <- by_curve <- whole
  fold <- calibration_folds(b, n_folds)
  alike <- logical(n_folds)
  largest <- pool_codes(whole$instance, whole$bag)
  for (k in seq_len(n_folds)) {
    train <- b[fold != k]
    model <- with_stream(calibration_stream(k), suppressWarnings(refit(train)))
    if (identical(model$stop_reason, "interrupt")) check_status("interrupt")
    seen <- given_scores(model, train)
    left_out <- b[fold == k]
    new <- given_scores(model, left_out)
    columns <- which(fold[b$bag] == k)          # which b[] keeps in their order
    numbers <- match(left_out$ids, b$ids)
    trained <- match(train$ids, b$ids)
    from <- pool_codes(seen$instance, seen$bag)
    to <- largest[trained]
    by_moments$instance[columns] <- same_scale(object, new$instance, from, to)
    by_moments$own[numbers] <- same_scale(object, new$own, seen$own, whole$own[trained])
    by_curve$instance[columns] <- same_curve(object, new$instance, from, to, train$label)
    by_curve$own[numbers] <- same_curve(object, new$own, seen$own, whole$own[trained], train$label)
    by_moments$raw[numbers] <- by_curve$raw[numbers] <- new$own
    alike[k] <- abs(own_brier(object, seen$own, train$label) -
                      own_brier(object, whole$own[trained], train$label)) <= 0.04
    bar$tick(paste("fold", k))
  }
  scores_of_folds(by_moments, by_curve, fold %in% which(alike))
}

# How well scores separate the bags that they were learned from.
own_brier <- function(object, score, positive) {
  score <- comparable(object, score)
  brier_score(bag_curve(score, positive), score, positive)
}

# A fold's fit that separates its bags much worse, or better, than the whole fit separates them has
# ended in another optimum and does not represent it: the bags that it scored are left out. If
# these are most bags, none is left out; such fits then only tell how much of what a fit sees in
# its own bags holds for others.
scores_of_folds <- function(by_moments, by_curve, kept) {
  if (all(kept)) return(by_moments)
  fewest <- min(sum(by_moments$positive[kept]), sum(!by_moments$positive[kept]))
  if (mean(kept) < 0.5 || fewest < fewest_bags)
    return(c(by_curve, why = "the fits of most folds differ from this one"))
  mine <- kept[by_moments$bag]
  list(instance = by_moments$instance[mine], own = by_moments$own[kept],
       raw = by_moments$raw[kept], bag = match(by_moments$bag[mine], which(kept)),
       positive = by_moments$positive[kept])
}

calibration_seed <- 1999
calibration_stream <- function(k) task_stream(calibration_seed, 0, k)

# One fold per bag, the same whatever the order of bags and instances.
calibration_folds <- function(b, n_folds) {
  sorted <- sort_instances(b)
  fold <- with_stream(calibration_stream(0), draw_folds(sorted, n_folds, "calibrate"))
  unname(fold[b$ids])
}

# Scores by one fit on the scale of another, by the scores that each gives the bags it was trained
# on: such that these agree in mean and standard deviation,
same_scale <- function(object, score, from, to) {
  from <- comparable(object, from)
  to <- comparable(object, to)
  z <- (comparable(object, score) - mean(from)) / positive_sd(from)
  on_scale(object, mean(to) + z * positive_sd(to))
}

# or such that the logistic curves to their labels are the same.
same_curve <- function(object, score, from, to, positive) {
  from <- bag_curve(comparable(object, from), positive)
  to <- bag_curve(comparable(object, to), positive)
  eta <- from$intercept + from$slope * comparable(object, score)
  on_scale(object, (eta - to$intercept) / to$slope)
}

# What comparable() undoes, within a range in which ratios can be added up.
on_scale <- function(object, score) {
  if (identical(object$score_scale, "log")) exp(pmin(pmax(score, -600), 600)) else score
}

# ---- the calibration ------------------------------------------------------------------------

# The scores of folds whose fits differ are stretched: thresholds then stay among the scores
# `known`, which the fit gives its training bags.
with_calibration <- function(object, scores, source, folds = 0L, why = NULL, known = scores) {
  positive <- scores$positive
  pooled <- all_poolings(scores)
  within <- lapply(all_poolings(known), range)
  bag <- Map(function(score, limits) {
    threshold <- choose_threshold(score, positive)
    list(threshold = min(max(threshold, limits[1]), limits[2]),
         curve = bag_curve(comparable(object, score), positive))
  }, pooled, within)
  instance <- list(threshold = bag$max$threshold,
                   curve = instance_curve(comparable(object, scores$instance), scores$bag,
                                          positive))
  model <- probability_curves(object)
  brier <- c(curve = brier_score(bag$own$curve, comparable(object, scores$own), positive),
             model = if (is.null(model)) NA else brier_score(model$bag, scores$raw, positive))
  seen_fairly <- source != "in-sample" && is.null(why)
  kept <- if (seen_fairly && isTRUE(brier[["model"]] < brier[["curve"]])) "model" else "curve"
  if (kept == "model") {
    bag$own$curve <- model$bag
    instance$curve <- model$instance
  }
  object$calibration <- list(source = source, folds = folds, why = why, n_bags = length(positive),
                             bag = bag, instance = instance, kept = kept, brier = brier)
  object
}

# Scores of bags by the method's own function and by each pooling that has no parameter.
all_poolings <- function(scores) {
  pools <- setdiff(names(poolers), "noisy-or")
  c(list(own = scores$own), lapply(stats::setNames(pools, pools), function(pool)
    pool_codes(scores$instance, scores$bag, pool)))
}

without_calibration <- function(object, why = "the fit was interrupted") {
  object$calibration <- list(source = "none", folds = 0L, why = why, n_bags = 0L, bag = list(),
                             instance = list(), kept = "curve")
  object
}

# The cut with the best balanced accuracy; among equals, the midpoint of the widest gap.
choose_threshold <- function(score, positive) {
  at <- sort(unique(score))
  if (length(at) < 2) return(at)
  cut <- (at[-1] + at[-length(at)]) / 2
  below <- function(s) findInterval(cut, sort(s)) / length(s)
  accuracy <- below(score[!positive]) - below(score[positive])
  best <- which(accuracy >= max(accuracy) - 1e-12)
  cut[best[which.max(diff(at)[best])]]
}

brier_score <- function(curve, score, positive) mean((curve_probability(curve, score) - positive)^2)

# Platt's (1999) smoothed labels.
smooth_labels <- function(positive) {
  ifelse(positive, (sum(positive) + 1) / (sum(positive) + 2), 1 / (sum(!positive) + 2))
}

# The logistic curve with the largest likelihood of the labels of bags.
bag_curve <- function(score, positive) {
  label <- smooth_labels(positive)
  fit_curve(score, stats::qlogis(mean(label)), function(eta) {
    p <- stats::plogis(eta)
    list(value = -sum(label * stats::plogis(eta, log.p = TRUE) +
                       (1 - label) * stats::plogis(-eta, log.p = TRUE)),
         gradient = p - label)
  })
}

# The same for instances, of which only the labels of their bags are known: with L = sum_i log(1 -
# p_i) of a bag, log P = log(1 - exp(L)) and log(1 - P) = L.
instance_curve <- function(score, bag, positive) {
  label <- smooth_labels(positive)
  share <- -expm1(log1p(-mean(label)) / (length(bag) / length(positive)))
  fit_curve(score, stats::qlogis(share), function(eta) {
    none <- rowsum(stats::plogis(-eta, log.p = TRUE), bag, reorder = TRUE)[, 1]
    none <- pmin(none, -1e-300)
    some <- log(-expm1(none))
    slope <- (1 - label) - label * exp(none - some)
    list(value = -sum(label * some + (1 - label) * none),
         gradient = slope[bag] * stats::plogis(eta))
  })
}

# Intercept and slope for which loss(intercept + slope * score) is least. The slope is positive; a
# small penalty keeps it finite where the scores separate the labels.
fit_curve <- function(score, intercept, loss) {
  center <- mean(score)
  scale <- positive_sd(score)
  z <- (score - center) / scale
  at <- function(h) {
    l <- loss(h[1] + h[2] * z)
    list(value = l$value + 0.01 * h[2]^2, gradient = c(sum(l$gradient),
                                                       sum(l$gradient * z) + 0.02 * h[2]))
  }
  fits <- lapply(c(0.5, 3), function(slope)
    stats::optim(c(intercept, slope), function(h) at(h)$value, function(h) at(h)$gradient,
                 method = "L-BFGS-B",
                 lower = c(-50, 1e-3), upper = c(50, 50), control = list(factr = 10, maxit = 200)))
  best <- fits[[which.min(vapply(fits, `[[`, 0, "value"))]]$par
  list(link = "logit", intercept = best[1] - best[2] * center / scale, slope = best[2] / scale)
}

inverse_links <- list(logit = stats::plogis, cloglog = function(eta) -expm1(-exp(eta)),
                      log = function(eta) exp(pmin(eta, 0)))

curve_probability <- function(curve, score)
  inverse_links[[curve$link]](curve$intercept + curve$slope * score)

# ---- reading it -----------------------------------------------------------------------------

# The calibration of a fit. Models of version 0.1.0 kept thresholds of pooled scores and sometimes
# a logistic curve; theirs is made from these.
calibration_of <- function(object) {
  if (!is.null(object$calibration)) return(object$calibration)
  if (is.null(object$thresholds))
    return(without_calibration(object, "`mil_calibrate()` does it")$calibration)
  cut <- object$thresholds
  curve <- if (!is.null(object$logistic)) list(link = "logit", intercept = object$logistic[1],
                                               slope = object$logistic[2])
           else probability_curves(object)$instance
  bag <- lapply(as.list(cut), function(threshold) list(threshold = threshold, curve = NULL))
  bag$max$curve <- curve
  list(source = "in-sample", folds = 0L, why = "it was fitted by version 0.1.0",
       n_bags = sum(object$n_bags), bag = bag, instance = bag$max, kept = "curve", pool = "max")
}

# Threshold and curve for scores of a level and pooling. `dots`: what was asked of the score.
calibrated <- function(object, level, pool, dots, call = rlang::caller_env()) {
  changed <- intersect(names(dots), c("detector", "coding", "coding_steps"))
  usual <- vapply(changed, function(name) dots[[name]] %in% c("confidence", "joint"), NA)
  all <- calibration_of(object)
  if (is.null(pool)) pool <- if (is.null(all$pool)) "own" else all$pool
  list(usual = all(usual) && (level == "instance" || pool %in% names(all$bag)),
       part = if (level == "instance") all$instance else all$bag[[pool]])
}

check_calibrated <- function(object, what, call) {
  all <- calibration_of(object)
  if (all$source == "none")
    stop_fumi(what, " for a fit that is not calibrated (", all$why, ").", class = "no_threshold",
              call = call)
}

# The threshold as given, else that of the calibration.
model_threshold <- function(object, threshold, level, pool, dots, call = rlang::caller_env()) {
  if (!is.null(threshold)) return(check_number(threshold, "threshold", call = call))
  check_calibrated(object, "`threshold` must be given", call)
  found <- calibrated(object, level, pool, dots)
  if (!found$usual)
    stop_fumi(
      "`threshold` must be given for another `detector`, `coding` or `pool` than those for ",
      "which the fit's was chosen.", class = "no_threshold", call = call)
  if (is.null(found$part$threshold) || is.na(found$part$threshold))
    stop_fumi("`threshold` must be given: the fit was interrupted before one was chosen.",
              class = "no_threshold", call = call)
  found$part$threshold
}

model_probability <- function(object, score, level, pool, dots, call = rlang::caller_env()) {
  check_calibrated(object, "`type` must not be \"prob\"", call)
  found <- calibrated(object, level, pool, dots)
  if (!found$usual)
    stop_fumi("`type` must not be \"prob\" for another `detector`, `coding` or `pool` than those ",
              "for which the fit was calibrated.", class = "no_threshold", call = call)
  if (is.null(found$part$curve))
    stop_fumi(
      "`type` must not be \"prob\" for a fit without probability curves: refit it, or use ",
      "`mil_calibrate()`.", class = "no_probability", call = call)
  curve_probability(found$part$curve, comparable(object, score))
}

# Probabilities of instances, NA where the fit has no curve.
instance_probability <- function(object, score) {
  curve <- calibration_of(object)$instance$curve
  if (is.null(curve)) rep(NA_real_, length(score))
  else curve_probability(curve, comparable(object, score))
}

# The threshold of bag scores, NA if there is none: for prints, plots and tables.
usual_threshold <- function(object) {
  cut <- calibrated(object, "bag", NULL, list())$part$threshold
  if (is.null(cut)) NA_real_ else cut
}
