#' Pool instance scores to bag scores
#'
#' @param score scores or probabilities, one an instance.
#' @param bag bag ids, one an instance.
#' @param pool `"max"`, `"mean"`, `"lse"` (log of the mean of exponentials, a smooth
#'   maximum), or `"noisy-or"`, \eqn{1 - \prod (1 - p)}, for probabilities only.
#' @return A numeric vector with one value a bag, named by the bags in the order of their
#'   first appearance.
#' @examples
#' pool_bags(c(.1, .8, .3, .2), c("a", "a", "b", "b"))
#' pool_bags(c(.1, .8, .3, .2), c("a", "a", "b", "b"), "noisy-or")
#' @export
pool_bags <- function(score, bag, pool = c("max", "mean", "lse", "noisy-or")) {
  pool <- check_choice(pool, c("max", "mean", "lse", "noisy-or"), "pool")
  if (!is.numeric(score)) stop_fumi("`score` must be numeric, not ", describe(score), ".")
  if (anyNA(bag)) stop_fumi("`bag` must not be missing, but it is for ", sum(is.na(bag)), " instances.",
                            class = "nonfinite")
  if (length(score) != length(bag))
    stop_fumi("`score` and `bag` must have one value an instance each, not ", length(score), " and ",
              length(bag), " values.")
  if (pool == "noisy-or" && any(score < 0 | score > 1, na.rm = TRUE))
    stop_fumi("`score` must be probabilities between 0 and 1 for `pool = \"noisy-or\"`, but it goes from ",
              paste(signif(range(score, na.rm = TRUE), 3), collapse = " to "), ".", class = "pool")
  ids <- unique(value_names(bag))
  parts <- split(score, factor(value_names(bag), levels = ids))
  vapply(parts, poolers[[pool]], 0)
}

# The same for bags given as whole numbers from 1 to their number, without checks or names.
pool_codes <- function(score, code, pool = "max") {
  bags <- structure(as.integer(code), levels = as.character(seq_len(max(code, 0))), class = "factor")
  unname(vapply(split(score, bags), poolers[[pool]], 0))
}

poolers <- list(
  max = max,
  mean = mean,
  lse = function(s) if (is.infinite(max(s))) max(s) else max(s) + log(mean(exp(s - max(s)))),
  `noisy-or` = function(p) -expm1(sum(log1p(-p))))
