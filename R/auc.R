#' Area under the ROC curve with its confidence interval
#'
#' The AUC of scores, or of a fitted model on new data, with a confidence interval that treats
#' bags, not instances, as independent. Instances of one bag resemble each other, so the interval
#' for instances comes from a bootstrap over whole bags; `pROC::ci()`, which treats every instance
#' as independent, gives intervals that are too short.
#'
#' @details
#' For bags, the variance is that of DeLong et al. (1988). For instances, whole bags are drawn with
#' replacement `n_boot` times, separately for bags with and without a positive instance, and the
#' variance is that of the AUCs of the draws; [set.seed()] makes it reproducible. Each draw takes
#' one bag fewer than there are (Rao and Wu 1988). The variance is the sum of a part from the bags
#' with a positive and a part from the others, and the interval uses Student's t with
#' Satterthwaite's degrees of freedom of such a sum: where one kind of bags is rare, the interval
#' would be too short otherwise. A single bag does not tell how such bags vary; its part of the
#' variance is then the largest possible one. The interval is symmetric on the probit scale, where
#' the AUC of normal scores is the distance between their means, and stays between 0 and 1. If all
#' pairs are in order, or none is, this variance is 0; the inner end of the interval is then
#' \eqn{(\alpha / 2)^{1/m}} (or one minus that), where m is a number of mutually independent pairs.
#'
#' The interval is for one fit on bags that it has not seen. It does not say how much the AUC would
#' vary with other training bags: for that, see [mil_benchmark()].
#'
#' @param x numeric scores, higher = more target; a fitted model; or a curve of [mil_roc()], whose
#'   values are treated as independent.
#' @param truth,new_data,level,positive as in [mil_roc()].
#' @param bag `NULL` (default), or, for scores of instances, a vector with the bag of each; for
#'   scores of bags, what groups them, such as the person of each. Without it, scores are treated as
#'   independent, like those of bags.
#' @param conf number in (0, 1\], default 0.95: the confidence level.
#' @param n_boot whole number >= 2, default 2000: number of bootstrap draws.
#' @param ... for a model: passed on to `predict()`.
#' @return A data frame with one row: `auc`, `low`, `high`, `se` (on the scale of the AUC), `conf`,
#'   and the numbers of `positive` and `negative` scores.
#' @references DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas
#'   under two or more correlated receiver operating characteristic curves. *Biometrics*, 44(3),
#'   837--845.
#'
#'   Obuchowski, N. A. (1997). Nonparametric analysis of clustered ROC curve data. *Biometrics*,
#'   53(2), 567--578.
#'
#'   Rao, J. N. K. and Wu, C. F. J. (1988). Resampling inference with complex survey data. *Journal
#'   of the American Statistical Association*, 83(401), 231--241.
#' @seealso [mil_roc()] for the curve.
#' @examples
#' set.seed(1)
#' parts <- split(sim_bags(n_bags = 60, noise = 0.5), 0.5)
#' fit <- sil(parts$train)
#' mil_auc(fit, parts$test, level = "bag")
#' mil_auc(fit, parts$test, level = "instance", n_boot = 200)
#' @export
mil_auc <- function(x, ...) UseMethod("mil_auc")

#' @rdname mil_auc
#' @export
mil_auc.default <- function(x, truth, bag = NULL, ..., conf = 0.95, positive = NULL,
                            n_boot = 2000) {
  check_dots_empty(..., known = names(formals()))
  if (missing(truth)) stop_fumi("`truth` must be given.", class = "truth")
  auc_of_curve(make_roc(x, truth, positive, "stop"), bag, conf, n_boot)
}

#' @rdname mil_auc
#' @export
mil_auc.mil_model <- function(x, new_data, truth = NULL, level = c("instance", "bag"), ...,
                              conf = 0.95, positive = NULL, n_boot = 2000) {
  level <- check_choice(level, c("instance", "bag"), "level")
  if (missing(new_data)) stop_fumi("`new_data` must be given.")
  if (is.null(truth)) truth <- truth_of(x, new_data, level)
  out <- stats::predict(x, new_data, type = "score", level = level, ...)
  if (level == "instance" && anyNA(out$.bag))
    stop_fumi("`bag` must be given for `level = \"instance\"`: the new data do not carry bag ids.",
              class = "no_bag")
  auc_of_curve(make_roc(out$.score, truth, positive, "stop"), if (level == "instance") out$.bag,
               conf, n_boot)
}

#' @rdname mil_auc
#' @export
mil_auc.roc <- function(x, bag = NULL, ..., conf = 0.95, n_boot = 2000) {
  check_dots_empty(..., known = names(formals()))
  if (x$direction != "<")
    stop_fumi("`x` must be a curve for which larger scores mean more target (`direction = \"<\"`).")
  auc_of_curve(x, bag, conf, n_boot)
}

auc_of_curve <- function(roc, bag, conf, n_boot, call = rlang::caller_env()) {
  conf <- check_number(conf, "conf", above = 0, max = 1, call = call)
  score <- as.vector(roc$original.predictor)
  truth <- roc$original.response == roc$levels[2]
  positive <- placements(score, truth)
  auc <- mean(positive)
  parts_of <- function(bag) variance_parts(positive, placements(-score, !truth), bag[truth],
                                           bag[!truth])
  if (is.null(bag)) {
    parts <- parts_of(seq_along(score))
    variance <- sum(parts$variance)
    pairs <- min(sum(truth), sum(!truth))
  } else {
    if (length(bag) != length(score) || anyNA(bag))
      stop_fumi("`bag` must give the bag of each of the ", length(score), " scores, not ",
                describe(bag), ".", call = call)
    bag <- match(bag, unique(bag))
    parts <- parts_of(bag)
    n_boot <- check_count(n_boot, "n_boot", min = 2, call = call)
    variance <- bootstrap_variance(score, truth, bag, n_boot) + sum(parts$variance[parts$n == 1])
    pairs <- min(length(unique(bag[truth])), length(unique(bag[!truth])), max(1, max(bag) %/% 2))
  }
  interval <- probit_interval(auc, variance, conf, pairs,
                             satterthwaite(parts$variance, parts$n))
  data.frame(auc, low = interval[1], high = interval[2], se = sqrt(variance), conf,
             positive = sum(truth), negative = sum(!truth))
}

# For each positive, the share of negatives that it is above; ties count as half.
placements <- function(score, truth) {
  (rank(score)[truth] - rank(score[truth])) / sum(!truth)
}

# The variances of the AUC that come from the bags without a positive and from those with one, by
# Obuchowski (1997), which for bags of a single score is DeLong's: from the sum of the placements
# of each bag, less their mean. `n`: the numbers of these bags. A single bag says nothing of its
# kind; its placements are between 0 and 1, which bounds their variance.
variance_parts <- function(positive, negative, bag_of_positive, bag_of_negative) {
  auc <- mean(positive)
  share <- c((positive - auc) / length(positive), (negative - auc) / length(negative))
  sums <- rowsum(share, c(bag_of_positive, bag_of_negative))
  of_kind <- split(sums[, 1], factor(rownames(sums) %in% bag_of_positive, c(FALSE, TRUE)))
  n <- unname(lengths(of_kind))
  spread <- vapply(of_kind, stats::var, 0, USE.NAMES = FALSE)
  list(variance = ifelse(n > 1, n * spread, (n == 1) * auc * (1 - auc)), n = n)
}

# Satterthwaite's degrees of freedom of the sum of these variances.
satterthwaite <- function(variance, n) {
  weight <- ifelse(n > 1, variance^2 / pmax(n - 1, 1), 0)
  if (sum(weight) > 0) sum(variance)^2 / sum(weight) else Inf
}

# The variance of the AUC over draws of whole bags, drawn separately from those with a positive and
# those without. With as many draws as there are bags the variance would be too small: one fewer.
bootstrap_variance <- function(score, truth, bag, n_boot) {
  up <- order(score)
  truth <- truth[up]
  bag <- bag[up]
  first <- match(score[up], score[up])
  last <- length(up) + 1 - match(score[up], rev(score[up]))
  strata <- split(seq_len(max(bag)), seq_len(max(bag)) %in% bag[truth])
  area <- vapply(seq_len(n_boot), function(i) {
    drawn <- unlist(lapply(strata, function(s)
      s[sample.int(length(s), max(1, length(s) - 1), replace = TRUE)]))
    weight <- tabulate(drawn, max(bag))[bag]
    below <- c(0, cumsum(weight * !truth))
    sum((weight * (below[first] + below[last + 1]) / 2)[truth]) /
      (sum(weight[truth]) * below[length(below)])
  }, 0)
  stats::var(area[is.finite(area)])
}

# The interval of an AUC, symmetric on the probit scale. `pairs`: the number of independent pairs
# of a positive and a negative; if all of them are in order, or none, the probability of that
# bounds the AUC. `df`: the degrees of freedom of the variance.
probit_interval <- function(auc, variance, conf, pairs, df = Inf) {
  tail <- (1 - conf) / 2
  if (auc == 1) return(c(tail^(1 / pairs), 1))
  if (auc == 0) return(c(0, 1 - tail^(1 / pairs)))
  at <- stats::qnorm(auc)
  stats::pnorm(at + c(-1, 1) * stats::qt(1 - tail, df) * sqrt(variance) / stats::dnorm(at))
}
