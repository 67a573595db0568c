#' Suggest a grid for `mil_tune()`
#'
#' Suggests at most twelve configurations of a method that are worth trying on these bags.
#' Parameters without a natural unit are derived from the data: `beta` of [dlfumi()] from the
#' residuals of negative instances, `lambda` from the correlations between instances, widths of
#' kernels from distances between them. Numbers of atoms and clusters are limited by the number of
#' instances.
#'
#' The first row is the default of the method, with fewer atoms where there are too few instances
#' for it, except for [dlfumi()]; the others go from simple to complex, so that `rule = "one-se"` of
#' [mil_tune()], its default with this grid, keeps the first unless another configuration is clearly
#' better. No random numbers are used, so the grid is reproducible.
#'
#' For [dlfumi()], rows with `noise = "background"` come before those with white noise, its default:
#' this choice matters more than any other parameter and depends on the data, and if there are too
#' few positive bags to tell the two apart, noise of the background is the safer choice. If there
#' are at least as many negative instances as features, as in scenes, and at least five positive
#' bags, the first rows look for witnesses and score by the direction of whitened instances and not
#' by their strength, as [mi_ace()] does, so that rare outliers count no more than others. If there
#' are fewer positive bags, the first row has few atoms and the ratio as score. If there are fewer
#' negative instances, as in photographs, every instance of a positive bag differs from them in some
#' way; then the first rows have more atoms, and look for witnesses if there are at least six
#' positive bags. Where the target is the whole instance, as with digits, white noise is better (see
#' [dlfumi()], *Noise*), and a few dozen bags do not always show it: fix it, as in `mil_tune(b,
#' dlfumi, noise = "white")`, and only the rows that agree are tried.
#'
#' @param x [bags()], or a list of them as in [mil_tune()], which then get one common grid.
#' @param fitter the method: a function of this package such as [dlfumi()] (the default), or its
#'   name.
#' @return A data frame with one configuration per row and one parameter per column, for the `grid`
#'   of [mil_tune()]. `NA` means the method's default.
#' @seealso [mil_tune()], which uses this grid by default
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, n_features = 10)
#' suggest_grid(b, sil)
#' mil_tune(b, sil, suggest_grid(b, sil)[1:3, ])
#' @export
suggest_grid <- function(x, fitter = dlfumi) {
  problems <- check_problems(x)
  name <- grid_name(check_fitter(fitter, rlang::caller_env()))
  if (is.null(name))
    stop_fumi("`fitter` must be one of ", enumerate(names(grid_makers), 20), " for a suggested ",
              "grid: other methods need a `grid` of your own, a data frame with one configuration ",
              "per row.", class = "grid")
  distinct_rows(grid_makers[[name]](grid_scales(problems)))
}

# The name of a fitter of this package, NULL for others.
grid_name <- function(fitter) {
  own <- function(name) identical(get(name, mode = "function"), fitter)
  Find(own, names(grid_makers))
}

# The default grid without the parameters that the user fixed for all configurations: rows with
# other values are dropped, if any others remain, and so are these columns.
narrowed_grid <- function(grid, fixed) {
  for (name in intersect(names(grid), names(fixed))) {
    agrees <- vapply(grid[[name]], function(v) identical(v, fixed[[name]]), NA)
    if (any(agrees)) grid <- grid[agrees, , drop = FALSE]
  }
  distinct_rows(grid[setdiff(names(grid), names(fixed))])
}

# At most twelve of them.
distinct_rows <- function(grid) {
  if (!ncol(grid)) return(grid[1, , drop = FALSE])
  grid <- utils::head(grid[!duplicated(grid), , drop = FALSE], 12)
  rownames(grid) <- NULL
  grid
}

# ---- what the data say -----------------------------------------------------------------------

# Of some hundred instances of norm 1, the median over `problems`: `distance`, their median squared
# distance; and for negatives, `correlation`, the median of the largest cosine with another, and
# `residual`, the median squared norm of what 15 directions of one half leave of the other half.
# Also the smallest counts.
grid_scales <- function(problems) {
  each <- vapply(lapply(problems, sort_instances), function(b) {
    negative <- !in_positive(b)
    some <- unit_columns(sampled_columns(b, negative))
    positive <- unit_columns(sampled_columns(b, !negative))
    c(distance = median_square(squared_distances(t(unit_columns(sampled_columns(b))))),
      correlation = usual_correlation(some), residual = usual_residual(some),
      n_positive = n_distinct(positive, sum(!negative)),
      n_negative = n_distinct(some, sum(negative)), n_positive_bags = sum(b$label),
      n_features = nrow(b$x))
  }, numeric(7))
  counts <- startsWith(rownames(each), "n_")
  as.list(c(apply(each[!counts, , drop = FALSE], 1, stats::median),
            apply(each[counts, , drop = FALSE], 1, min)))
}

# The number of different instances among `n`, of which `x` is a sample.
n_distinct <- function(x, n) {
  distinct <- sum(!duplicated(t(x)))
  if (distinct < ncol(x)) distinct else n
}

sampled_columns <- function(b, among = TRUE, size = 300) {
  i <- seq_along(b$bag)[among]
  as.matrix(b$x[, i[unique(round(seq(1, length(i), length.out = size)))], drop = FALSE])
}

usual_correlation <- function(x) {
  cosine <- abs(crossprod(x))
  diag(cosine) <- 0
  if (ncol(x) > 1) stats::median(apply(cosine, 1, max)) else 1
}

usual_residual <- function(x) {
  half <- seq_len(ncol(x)) %% 2 == 0
  if (sum(half) < 2) return(1)
  n <- min(15, sum(half) - 1, nrow(x) - 1)
  other <- x[, !half, drop = FALSE]
  direction <- if (n) svd(x[, half, drop = FALSE], nu = n, nv = 0)$u else matrix(0, nrow(x), 0)
  max(stats::median(colSums((other - direction %*% crossprod(direction, other))^2)), 1e-6)
}

# ---- grids -----------------------------------------------------------------------------------

# One row per list, with columns for all names: NA where a row does not name one.
grid_rows <- function(...) {
  rows <- list(...)
  names <- unique(unlist(lapply(rows, names)))
  data.frame(lapply(stats::setNames(names, names), function(name)
    unlist(lapply(rows, function(row) if (is.null(row[[name]])) NA else row[[name]]))))
}

# The default, then what is left of `grid` in its order.
after_default <- function(default, grid) rbind(grid_rows(default), grid[names(default)])

# A number of atoms that the instances of training folds certainly allow.
at_most <- function(n, available) max(1, min(n, available %/% 2))

# `beta` is three halvings of 1 - p for what 15 directions leave of a typical negative: p spreads
# over (0, 1) there, while targets, of which more is left, are near 1. Witnesses need bags to be
# looked for in, in the folds of `mil_tune()` too: fewer in a scene, whose instances are alike.
dlfumi_grid <- function(s) {
  row <- function(noise, variant, lambda, n_target, n_background, ...)
    list(noise = noise, variant = variant, lambda = signif(lambda, 2),
         n_target = at_most(n_target, s$n_positive),
         n_background = at_most(n_background, s$n_negative), ...)
  white <- function(...) row("white", "paper", ...)
  background <- function(n_target, n_background, ridge = 0.001, ...)
    row("background", "exact", 0.05, n_target, n_background, ridge = ridge, nonneg = "codes", ...)
  is_scene <- s$n_negative >= s$n_features
  few <- s$n_positive_bags
  n_seen <- seen_for_witnesses(few - ceiling(few / 3))
  witness <- function(n_target, n_background, rounds, ...) if (few >= if (is_scene) 5 else 6)
    background(min(at_most(n_target, few), n_seen), n_background, witnesses = rounds, ...)
  one <- list(background(3, 1, score = "ratio"), background(3, 1))
  many <- list(background(6, 8), background(6, 8, 0.1))
  each <- witness(6, 8, 2)
  direction <- function(...) witness(6, 8, 2, score = "ratio", normalize_after = "unit", ...)
  whitened <- direction()
  unit <- direction(ridge = 0.01, normalize = "unit")
  if (is_scene && length(unit)) many <- many[1]
  noisy <- if (is_scene) c(list(whitened, unit), one, many, list(each))
           else c(list(each, witness(3, 1, 2)), many, one)
  rows <- c(noisy, list(
    witness(1, 1, 1),
    white(dlfumi_defaults("paper")$lambda, 4, 15),
    white(0.03 * s$correlation, 4, 15),
    white(0.01 * s$correlation, 4, 15, beta = signif(3 * log(2) / s$residual, 2)),
    white(0.01 * s$correlation, 8, 30),
    row("white", "exact", 0.1 * s$correlation, 8, 30)))
  do.call(grid_rows, Filter(length, rows))
}

mi_svm_grid <- function(s) {
  row <- function(type, kernel, cost, width = NULL) {
    kpar <- if (is.null(width)) NA else list(sigma = signif(width / s$distance, 2))
    data.frame(type = type, kernel = kernel, cost = cost, kpar = I(rep(list(kpar), length(cost))))
  }
  rbind(row("MI", "rbf", 10),
        row(c("MI", "MI", "mi", "MI"), "linear", c(1, 10, 10, 100)),
        row(c("mi", "MI", "mi", "MI"), "rbf", c(1, 1, 10, 100)),
        row(c("MI", "mi"), "rbf", c(10, 10), 3),
        row("MI", "rbf", 10, 1 / 3))
}

miles_grid <- function(s) {
  after_default(list(cost = 1, sigma = NA), expand.grid(
    cost = c(1, 10, 100), sigma = c(NA, signif(c(1 / 3, 3, 9) / s$distance, 2))))
}

em_dd_grid <- function(s) {
  after_default(list(scale_type = "feature", normalize = "unit"), expand.grid(
    scale_type = c("fixed", "single", "feature"), normalize = c("unit", "none"),
    stringsAsFactors = FALSE))
}

diverse_density_grid <- function(s) {
  after_default(list(model = "noisy-or", scale_type = "feature", normalize = "unit"), expand.grid(
    scale_type = c("fixed", "single", "feature"), normalize = c("unit", "none"),
    model = c("noisy-or", "most-likely-cause"), stringsAsFactors = FALSE))
}

mmdl_grid <- function(s) {
  expand.grid(n_clusters = c(NA, at_most(5, s$n_positive), at_most(20, s$n_positive)),
              cost = c(1, 10), assign0 = c(FALSE, TRUE))
}

dmil_grid <- function(s) {
  n_atoms <- unique(c(at_most(4, s$n_positive), at_most(12, s$n_positive)))
  after_default(list(n_atoms = n_atoms[1], beta = 5, lambda = 0.05), expand.grid(
    lambda = c(0.05, 0.005), beta = c(1, 5, 20), n_atoms = n_atoms))
}

mi_ace_grid <- function(s) {
  row <- function(type, ridge, normalize, n_target = 1)
    data.frame(type = type, ridge = ridge, normalize = normalize, n_target = n_target)
  rbind(row("ace", c(0.01, 0.1, 0.001), "none"), row("smf", c(0.01, 0.1, 0.001), "none"),
        row("ace", c(0.01, 0.1), "unit"), row("smf", c(0.01, 0.1), "unit"),
        row(c("ace", "smf"), 0.01, "none", 2))
}

mi_he_grid <- function(s) {
  background <- function(n) at_most(n, s$n_negative)
  row <- function(n_target, n_background, lambda, beta)
    data.frame(n_target, n_background = background(n_background), lambda, beta)
  rbind(row(1, 9, 0.001, 5), row(1, 4, 0.001, 5), row(1, 18, 0.001, 5),
        row(1, 9, c(0.01, 0.05), 5), row(1, 18, c(0.01, 0.05), 5), row(1, 9, 0.01, c(2, 10)),
        row(2, 9, c(0.001, 0.01), 5))
}

e_fumi_grid <- function(s) {
  beta <- signif(log(2) / s$residual, 2)
  row <- function(n_background, gamma, beta = NA, n_target = 1)
    data.frame(n_target, n_background = at_most(n_background, s$n_negative), gamma, beta)
  rbind(row(3, NA), row(3, 0.1), row(6, c(NA, 0.1)), row(12, c(NA, 0.1)),
        row(3, 0.1, beta), row(6, 0.1, beta), row(12, 0.1, beta),
        row(3, 0.1, NA, 2), row(12, 0.1, beta, 2))
}

sil_grid <- function(s) {
  after_default(list(classifier = "logistic", cost = 1), expand.grid(
    cost = c(0.01, 0.1, 1, 10), classifier = c("logistic", "svm"), stringsAsFactors = FALSE))
}

grid_makers <- list(
  dlfumi = dlfumi_grid, mi_svm = mi_svm_grid, miles = miles_grid, em_dd = em_dd_grid,
  diverse_density = diverse_density_grid, mmdl = mmdl_grid, dmil = dmil_grid, mi_ace = mi_ace_grid,
  mi_he = mi_he_grid, e_fumi = e_fumi_grid, sil = sil_grid)
