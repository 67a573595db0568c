#' Adaptive cosine detectors
#'
#' `ace()` and `sub_ace()` measure how much of an instance, relative to a background, points along
#' a target: along one signature, or into the span of several. The target may be the atoms of a
#' fitted model or any other signatures.
#'
#' @section The statistic:
#' With background mean \eqn{\mu} and covariance \eqn{\Sigma} (see
#' [background_stats()]), \eqn{z = x - \mu}{z = x - mu} and target matrix S,
#' \deqn{subACE(x) = \frac{z'\Sigma^{-1}S (S'\Sigma^{-1}S)^+ S'\Sigma^{-1}z}{z'\Sigma^{-1}z}}{
#'   subACE(x) = z'W S (S'W S)^+ S'W z / z'W z, W = Sigma^-1,}
#' the squared cosine between the whitened instance and the whitened span of the target. It lies in
#' \[0, 1\]. For one signature its square root has a sign: `ace()` returns that signed cosine, in
#' \[-1, 1\], unless `sign = FALSE`; `sub_ace()` has no sign, so that `-s` scores like `s`.
#' Linearly dependent target columns are dropped; an instance at the background mean scores 0.
#'
#' @param x the instances: an n x d matrix or data frame with one row per
#'   instance, an array of images, or [bags()].
#' @param target a matrix with one row per target atom and one column per feature, as
#'   `coef(fit, "target")` gives it, or a model with a dictionary, whose target atoms are then
#'   used. A single atom may be a vector; `ace()` needs a single one. A matrix of features x atoms
#'   also works; if it is square, its dimnames must tell which it is.
#' @param background a `fumi_background` made by [background_stats()], or the instances to make it
#'   from (for `bags`, the negative bags). By default `x` itself: its negative bags if it is
#'   `bags`, otherwise all its rows, which is sound only if targets are rare in it.
#' @param ... passed on to [background_stats()], unless `background` is a `fumi_background`.
#' @param center_target `TRUE` or `FALSE` (default): whether to subtract the background mean from
#'   the target too. Use `FALSE` for atoms of a dictionary, which are directions added to a
#'   background, and `TRUE` for pure signatures measured like the instances.
#' @param sign `TRUE` (default): `ace()` returns the signed cosine; `FALSE`: its square.
#'
#' @return A numeric vector with one score per instance, in the order of `x`.
#' @references
#' Kraut, S., Scharf, L. L. and McWhorter, L. T. (2001). Adaptive subspace
#' detectors. *IEEE Transactions on Signal Processing*, 49(1), 1--16.
#' @seealso [background_stats()], [mil_roc()].
#' @examples
#' set.seed(1)
#' background <- matrix(rnorm(200 * 10), ncol = 10)
#' s <- rep(c(1, -1), 5)
#' x <- rbind(matrix(rnorm(50), ncol = 10), matrix(rnorm(50), ncol = 10) + rep(s, each = 5))
#' round(ace(x, s, background), 2)
#' round(sub_ace(x, rbind(s, 1), background, whitener = "ledoit-wolf"), 2)
#' @name ace
NULL

#' @rdname ace
#' @export
sub_ace <- function(x, target, background = NULL, ..., center_target = FALSE) {
  center_target <- check_flag(center_target, "center_target")
  stats <- as_background(background, x, ...)
  x <- check_features(as_instances(x), stats)
  detect_columns(x, check_target(target, x), stats, center_target)
}

#' @rdname ace
#' @export
ace <- function(x, target, background = NULL, ..., sign = TRUE, center_target = FALSE) {
  sign <- check_flag(sign, "sign")
  center_target <- check_flag(center_target, "center_target")
  stats <- as_background(background, x, ...)
  x <- check_features(as_instances(x), stats)
  target <- check_target(target, x)
  if (ncol(target) != 1)
    stop_fumi("`target` must be a single atom, not ", ncol(target), ": `sub_ace()` takes several.",
              class = "dimension")
  if (!sign) return(detect_columns(x, target, stats, center_target))
  # One row, or none when the whitener cannot see the target: the sum is that row, or 0.
  by_block(x, stats, target_basis(target, stats, center_target), colSums)
}

# subACE of the columns of `x` (d x N) for the target columns (d x T): |Q'z_w|^2 / |z_w|^2.
detect_columns <- function(x, target, stats, center_target = FALSE) {
  by_block(x, stats, target_basis(target, stats, center_target), function(cosine) colSums(cosine^2))
}

# `pool` turns the cosines of a block (rank x instances) into scores. A block keeps
# the whitened copy of the instances near 32 MB, however many there are.
by_block <- function(x, stats, basis, pool) {
  size <- max(1, floor(4e6 / (nrow(x) + ncol(stats$basis))))
  score <- numeric(ncol(x))
  for (first in seq(1, by = size, length.out = ceiling(ncol(x) / size))) {
    j <- first:min(first + size - 1, ncol(x))
    z <- centre(x[, j, drop = FALSE], stats$mean)
    score[j] <- pool(crossprod(basis, whitened_directions(z, stats)))
  }
  pmax(pmin(score, 1), -1)
}

# z = x - mu, and exactly 0 where x differs from mu by no more than rounding.
centre <- function(x, mean) {
  z <- x - mean
  z[, colSums(z^2) <= (8 * .Machine$double.eps)^2 * sum(mean^2)] <- 0
  z
}

# Whitened coordinates of the columns of `z`: inside the span of the basis U, and
# outside it. Their inner products are
#   z' Sigma^-1 y = sum_i (u_i'z)(u_i'y) / kappa_i + r_z'r_y / delta,  r = z - U U'z,
# which is z'y / delta + sum_i (1/kappa_i - 1/delta)(u_i'z)(u_i'y) without its
# cancellation between large terms.
whiten <- function(z, stats) {
  inside <- crossprod(stats$basis, z)
  seen <- inside / sqrt(stats$kappa)
  if (is.infinite(stats$delta) || ncol(stats$basis) == nrow(stats$basis)) return(seen)
  rbind(seen, (z - stats$basis %*% inside) / sqrt(stats$delta))
}

# Whitened columns of length one. A column of which the whitener sees less than
# 1e-10 (pinv is blind outside the background's span) has no direction: 0.
whitened_directions <- function(z, stats) {
  w <- whiten(z, stats)
  norm <- sqrt(colSums(w^2))
  widest <- max(stats$kappa, stats$delta[is.finite(stats$delta)])
  blind <- norm <= 1e-10 * sqrt(colSums(z^2) / widest)
  w <- w / rep(norm, each = nrow(w))
  w[, blind] <- 0
  w
}

# Q of the thin QR of the whitened target, without the columns |R_kk| < 1e-10 |R_11|.
# R_kk > 0 orients it, so that a single column is the target's own direction.
target_basis <- function(target, stats, center_target) {
  if (center_target) target <- target - stats$mean
  decomposition <- qr(whitened_directions(target, stats), LAPACK = TRUE)
  r <- diag(qr.R(decomposition))
  kept <- which(abs(r) >= 1e-10 * abs(r[1]) & r != 0)
  q <- qr.Q(decomposition)[, kept, drop = FALSE]
  q * rep(sign(r[kept]), each = nrow(q))
}

# ---- arguments ---------------------------------------------------------------

as_instances <- function(x, name = "x", call = rlang::caller_env()) {
  x <- if (inherits(x, "bags")) in_user_order(x, x$x) else as_columns(x, name, call)
  check_squares(dense_columns(x, "a detector", call), name, call)
}

as_background <- function(background, x, ..., call = rlang::caller_env()) {
  known <- c("whitener", "ridge", "energy")
  made <- inherits(background, "fumi_background")
  dots <- list(...)
  surplus <- if (made) dots else dots[!rlang::names2(dots) %in% known]
  do.call(check_dots_empty, c(surplus, list(known = if (!made) known, call = call)))
  if (made) return(background)
  if (is.null(background)) make_background(x, "x", ..., call = call)
  else make_background(background, "background", ..., call = call)
}

# The columns of `x`, if they are the features that the background was made of.
check_features <- function(x, stats, call = rlang::caller_env()) {
  if (nrow(x) != length(stats$mean))
    stop_fumi("`x` must have the ", length(stats$mean), " features of the background, not ",
              nrow(x), ".", class = "dimension", call = call)
  odd <- which(rownames(x) != stats$features)
  if (length(odd))
    stop_fumi("`x` must have the features of the background in the same order, but feature ",
              odd[1], " is ", rownames(x)[odd[1]], " and not ", stats$features[odd[1]], ".",
              class = "column", call = call)
  x
}

# Target atoms as a d x T matrix of doubles, for instances in the columns of `x`.
check_target <- function(target, x, call = rlang::caller_env()) {
  d <- nrow(x)
  if (inherits(target, "mil_model")) target <- target_atoms(target, call)
  if (!is.numeric(target) || is.object(target) || length(dim(target)) > 2)
    stop_fumi("`target` must be a numeric matrix with one row per atom, or a model with a ",
              "dictionary, not ", describe(target), ".", class = "type", call = call)
  target <- as.matrix(target)
  if (!d %in% dim(target) || length(target) == 0)
    stop_fumi("`target` must have ", d, " columns (features) and at least one row (atom), not ",
              nrow(target), " x ", ncol(target), ".", class = "dimension", call = call)
  target <- unname(atoms_in_columns(target, d, rownames(x), "target", call))
  if (!all(is.finite(target)))
    stop_fumi("`target` must be finite, but ", sum(!is.finite(target)), " of its values are not.",
              class = "nonfinite", call = call)
  if (all(target == 0))
    stop_fumi("`target` must have an atom that is not 0 everywhere.", call = call)
  storage.mode(target) <- "double"
  target
}

target_atoms <- function(model, call) {
  if (is.null(model$dictionary) || is.null(model$n_target))
    stop_fumi("`target` must be a model with a dictionary, not ", describe(model), ".",
              class = "type", call = call)
  model$dictionary[, seq_len(model$n_target), drop = FALSE]
}

# ---- the background ------------------------------------------------------------

#' Mean and covariance of a background
#'
#' What [ace()] and [sub_ace()] need to know about instances without a target:
#' their mean, and a covariance that can be inverted even when there are fewer
#' instances than features. No d x d matrix is made when d > n.
#'
#' @section Whiteners:
#' The sample covariance has eigenvalues \eqn{\lambda_i}{lambda_i} and directions
#' \eqn{u_i}. The covariance that is used has variance \eqn{\kappa_i}{kappa_i}
#' along the directions that are kept and \eqn{\delta}{delta} along all others;
#' tr is the total variance.
#'
#' * `"ridge"`: \eqn{\delta}{delta} is `ridge` x tr / d, and
#'   \eqn{\kappa_i = \lambda_i + \delta}{kappa_i = lambda_i + delta}.
#' * `"ledoit-wolf"`: \eqn{(1 - \rho) S + \rho m I}{(1 - rho) S + rho m I} with
#'   S the covariance of divisor n and m its mean variance, so that
#'   \eqn{\delta = \rho m}{delta = rho m}.
#' * `"ppca"`: \eqn{\kappa_i = \lambda_i}{kappa_i = lambda_i} for the first q
#'   directions, the fewest that hold the share `energy` of tr;
#'   \eqn{\delta}{delta} is the mean of the d - q other eigenvalues.
#' * `"pinv"`: \eqn{\kappa_i = \lambda_i}{kappa_i = lambda_i}, and an infinite
#'   \eqn{\delta}{delta}: what lies outside the background's span is ignored.
#' * `"none"`: the identity.
#'
#' The share \eqn{\rho}{rho} is Ledoit and Wolf's estimate and needs no tuning. `"pinv"` ignores
#' everything outside the span of the background, which is most of the space when d >= n and often
#' contains the target; it then warns. It is meant for comparison with toolboxes that use it. Do
#' not choose a threshold by the scores of the instances from which the background was made.
#'
#' @param x background instances: an n x d matrix or data frame with one row per
#'   instance, an array of images, or [bags()], whose negative bags are used. At
#'   least two instances.
#' @param whitener `"ridge"` (default), `"ledoit-wolf"`, `"ppca"`, `"pinv"` or `"none"`: how to
#'   make the covariance invertible; see below.
#' @param ridge number > 0, default 0.01, for `"ridge"`: the variance added in all directions, as a
#'   share of the mean variance; try 1e-4 to 0.1.
#' @param energy number in (0, 1\], default 0.95, for `"ppca"`: the share of the variance to keep;
#'   try 0.8 to 0.99.
#'
#' @return A list of class `fumi_background`: `mean` (length d), `basis` (d x q,
#'   orthonormal), `kappa` (length q), `delta`, `whitener`, `n`, and `features`
#'   (the names of the features, or `NULL`).
#' @references
#' Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for
#' large-dimensional covariance matrices. *Journal of Multivariate Analysis*,
#' 88(2), 365--411.
#'
#' Tipping, M. E. and Bishop, C. M. (1999). Probabilistic principal component
#' analysis. *Journal of the Royal Statistical Society B*, 61(3), 611--622.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(20 * 100), nrow = 20)
#' background_stats(x)
#' background_stats(x, "ppca", energy = 0.8)
#' @export
background_stats <- function(x, whitener = c("ridge", "ledoit-wolf", "ppca", "pinv", "none"),
                             ridge = 1e-2, energy = 0.95) {
  make_background(x, "x", whitener, ridge, energy)
}

whiteners <- c("ridge", "ledoit-wolf", "ppca", "pinv", "none")

# As `background_stats()`; `name` is what the user calls the instances.
make_background <- function(x, name, whitener = whiteners, ridge = 1e-2, energy = 0.95,
                            call = rlang::caller_env()) {
  whitener <- check_choice(whitener, whiteners, "whitener", call)
  ridge <- check_number(ridge, "ridge", above = 0, call = call)
  energy <- check_number(energy, "energy", above = 0, max = 1, call = call)
  x <- background_columns(x, name, call)
  mean <- rowMeans(x)
  z <- centre(x, mean)
  constant <- all(z == 0)
  fit <- if (whitener == "none" || constant) no_whitening(nrow(z))
         else fit_whitener(z, whitener, ridge, energy, call)
  if (constant && whitener != "none")
    warn_fumi("`", name, "` must vary to be whitened, but all ", ncol(x),
              " background instances are the same, so no whitening is done.", class = "constant",
              call = call)
  structure(c(list(mean = unname(mean)), fit,
              list(whitener = whitener, n = ncol(x), features = rownames(x))),
            class = "fumi_background")
}

# Numbers whose squares neither overflow nor vanish.
check_squares <- function(x, name, call, lowest = 0) {
  largest <- largest_value(x)
  if (largest > 1e150 || largest > 0 && largest < lowest)
    stop_fumi("`", name, "` must have a largest value below 1e+150",
              if (lowest > 0) paste(" and above", lowest), " for a detector, not ",
              signif(largest, 3), ": rescale the data.", class = "scale", call = call)
  x
}

background_columns <- function(x, name, call) {
  x <- if (inherits(x, "bags")) x$x[, !in_positive(x), drop = FALSE]
       else as_columns(x, name, call)
  x <- check_squares(dense_columns(x, "a background", call), name, call, lowest = 1e-150)
  if (ncol(x) >= 2 && nrow(x) >= 1) return(x)
  stop_fumi("`", name, "` must have at least two background instances and one feature, not ",
            ncol(x), " and ", nrow(x), ".", class = "empty", call = call)
}

no_whitening <- function(d) list(basis = matrix(0, d, 0), kappa = numeric(), delta = 1)

fit_whitener <- function(z, whitener, ridge, energy, call) {
  axes <- principal_axes(z)
  fit <- switch(whitener,
    ridge = fit_ridge(axes, ridge),
    "ledoit-wolf" = fit_ledoit_wolf(axes, z),
    ppca = fit_ppca(axes, energy),
    pinv = fit_pinv(axes, ncol(z), call))
  lowest <- 1e-10 * axes$total / nrow(z)
  if (fit$delta < lowest) {
    warn_fumi("The \"", whitener, "\" whitener leaves no variance outside ", ncol(fit$basis),
              " directions, so a floor of ", format(lowest, digits = 3), " is set.",
              class = "floor", call = call)
    fit$delta <- lowest
    fit$kappa <- pmax(fit$kappa, lowest)
  }
  fit
}

# Directions U (d x q) and variances lambda = g / (n - 1) of centred columns. The
# smaller of Z Z' (d x d) and the Gram matrix Z'Z (n x n) is decomposed: they share
# their eigenvalues g, and u_i = Z v_i / sqrt(g_i).
principal_axes <- function(z) {
  small <- eigen(if (nrow(z) > ncol(z)) crossprod(z) else tcrossprod(z), symmetric = TRUE)
  kept <- which(small$values >= 1e-10 * small$values[1])
  g <- small$values[kept]
  basis <- small$vectors[, kept, drop = FALSE]
  if (nrow(z) > ncol(z)) basis <- z %*% (basis / rep(sqrt(g), each = nrow(basis)))
  list(basis = unname(basis), lambda = g / (ncol(z) - 1), total = sum(z^2) / (ncol(z) - 1))
}

# delta = ridge tr / d, kappa_i = lambda_i + delta.
fit_ridge <- function(axes, ridge) {
  delta <- ridge * axes$total / nrow(axes$basis)
  list(basis = axes$basis, kappa = axes$lambda + delta, delta = delta)
}

# Sigma = (1 - rho) S + rho m I with S = Z Z'/n; every quantity comes from G = Z'Z.
fit_ledoit_wolf <- function(axes, z) {
  n <- ncol(z)
  d <- nrow(z)
  lambda <- axes$lambda * (n - 1) / n
  m <- sum(z^2) / (n * d)                                # tr G / (n d)
  norm2 <- sum(lambda^2)                                 # |S|^2 = |G|^2 / n^2
  spread2 <- norm2 - d * m^2                             # |S - m I|^2
  error2 <- sum(colSums(z^2)^2) / n^2 - norm2 / n        # sum_i G_ii^2 / n^2 - |S|^2 / n
  rho <- if (spread2 > 0) max(0, min(error2, spread2)) / spread2 else 1
  list(basis = axes$basis, kappa = (1 - rho) * lambda + rho * m, delta = rho * m)
}

# The first q directions as they are; delta = (tr - sum_{i <= q} lambda_i) / (d - q).
fit_ppca <- function(axes, energy) {
  held <- cumsum(axes$lambda)
  # Rounding must not ask for more than there is.
  q <- which(held >= min(energy * axes$total, held[length(held)]))[1]
  d <- nrow(axes$basis)
  list(basis = axes$basis[, seq_len(q), drop = FALSE], kappa = axes$lambda[seq_len(q)],
       delta = if (q < d) max(0, axes$total - held[q]) / (d - q) else Inf)
}

# kappa_i = lambda_i, and no weight (1 / Inf) outside their span.
fit_pinv <- function(axes, n, call) {
  d <- nrow(axes$basis)
  if (d >= n)
    warn_fumi("The \"pinv\" whitener ignores all but ", ncol(axes$basis), " of the ", d,
              " dimensions, because there are only ", n, " background instances.",
              class = "pinv", call = call)
  list(basis = axes$basis, kappa = axes$lambda, delta = Inf)
}

#' @export
print.fumi_background <- function(x, ...) {
  cat("Background of ", x$n, " instances with ", length(x$mean), " features\n", sep = "")
  cat("Whitener: ", x$whitener, if (length(x$kappa)) paste0(
    ", ", length(x$kappa), " directions with variance ",
    paste(signif(rev(range(x$kappa)), 3), collapse = " to ")), "\n", sep = "")
  if (ncol(x$basis) %in% seq_len(nrow(x$basis) - 1))
    cat("Outside them: ", if (is.finite(x$delta)) paste("variance", signif(x$delta, 3))
        else "ignored", "\n", sep = "")
  invisible(x)
}
