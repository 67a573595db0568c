#' Pool instance scores to bag scores
#'
#' Computes one score per bag from the scores of its instances, as `predict(level = "bag")` does
#' with its argument `pool`.
#'
#' @param score numbers: the scores or probabilities, one per instance.
#' @param bag vector: the bag ids, one per instance.
#' @param pool `"max"` (default), `"mean"`, `"lse"` (the log of the mean of exponentials, a smooth
#'   maximum), `"top"` (see below), or `"noisy-or"`, \eqn{1 - \prod (1 - p)}, for probabilities
#'   only.
#' @return A numeric vector with one value per bag, named by the bags in the order of their
#'   first appearance.
#' @section Bags of different sizes:
#' The largest of many scores tends to be larger than the largest of a few, even if the scores are
#' pure noise, and so does their `"noisy-or"`. Where positive bags have 4 instances and negative
#' bags 20, scores that are pure noise have an AUC of 0.17 after `"max"`; with the sizes exchanged,
#' 0.83. This is right if larger bags are more likely to be positive because each instance is a
#' chance to hold a target. It is wrong if sizes differ for other reasons, for example because
#' negative bags were made larger.
#'
#' `"top"` is not misled by sizes: it is the largest of 4 scores drawn from the bag without
#' replacement, averaged over all such draws (in a bag of up to 4 instances, the largest score).
#' Its expectation does not depend on the size of the bag, so the AUC of noise is near 0.5 (not
#' exactly 0.5 where scores are skewed, because the medians of bags of different sizes then differ
#' a little). It is a weighted mean of the higher scores: a single target among 20 instances has a
#' fifth of the weight that it has among 4, so with bags of equal size `"max"` finds rare targets
#' better. Bags of fewer than 4 instances get lower scores. `"mean"` is not misled either, but
#' gives a single target even less weight.
#' @examples
#' pool_bags(c(.1, .8, .3, .2), c("a", "a", "b", "b"))
#' pool_bags(c(.1, .8, .3, .2), c("a", "a", "b", "b"), "noisy-or")
#' @export
pool_bags <- function(score, bag, pool = c("max", "mean", "lse", "noisy-or", "top")) {
  pool <- check_choice(pool, c("max", "mean", "lse", "noisy-or", "top"), "pool")
  if (!is.numeric(score)) stop_fumi("`score` must be numeric, not ", describe(score), ".")
  if (anyNA(bag))
    stop_fumi("`bag` must have no missing values, but it has ", sum(is.na(bag)), ".",
              class = "nonfinite")
  if (length(score) != length(bag))
    stop_fumi("`score` and `bag` must have one value per instance each, not ", length(score),
              " and ", length(bag), " values.")
  if (pool == "noisy-or" && any(score < 0 | score > 1, na.rm = TRUE))
    stop_fumi(
      "`score` must be probabilities between 0 and 1 for `pool = \"noisy-or\"`, but it goes from ",
      paste(signif(range(score, na.rm = TRUE), 3), collapse = " to "), ".", class = "pool")
  ids <- unique(value_names(bag))
  parts <- split(score, factor(value_names(bag), levels = ids))
  vapply(parts, poolers[[pool]], 0)
}

# The same for bags given as whole numbers from 1 to their number, without checks or names.
pool_codes <- function(score, code, pool = "max") {
  bags <- structure(as.integer(code), levels = as.character(seq_len(max(code, 0))),
                    class = "factor")
  unname(vapply(split(score, bags), poolers[[pool]], 0))
}

poolers <- list(
  max = max,
  mean = mean,
  lse = function(s) log_mean_exp(s),
  `noisy-or` = function(p) -expm1(sum(log1p(-p))),
  top = function(s) mean_of_best(s))

# Never below the mean, as rounding could have it: ratios stay positive.
log_mean_exp <- function(s) {
  if (anyNA(s) || is.infinite(max(s))) return(max(s))
  max(mean(s), max(s) + log(mean(exp(s - max(s)))))
}

# The largest of `draws` scores drawn without replacement, averaged over all such draws.
mean_of_best <- function(s, draws = 4) {
  n <- length(s)
  if (n <= draws || anyNA(s)) return(max(s))
  rank <- draws:n
  # probability that the largest has this rank
  best <- exp(lchoose(rank - 1, draws - 1) - lchoose(n, draws))
  sum(best * sort(s)[rank])
}
