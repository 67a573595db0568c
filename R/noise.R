# The noise of DL-FUMI. DEVIATES D11: eq. 3 takes the noise for white; with `noise = "background"`
# it has the covariance of the negative bags,
#
#   x = mu + D a + e,   e ~ N(0, Sigma),
#
# and the model is fitted to  z = W (x - mu) / c,  W = s0^(1/2) Sigma^(-1/2) = I + V diag(g - 1)
# V', in which the noise is white again. V (d x r) are the directions in which the negatives vary,
# g_k^2 = s0 / (variance of Sigma along v_k); W leaves all other directions, in which Sigma has the
# variance s0, as they are. c makes the mean squared norm of the negatives 1.

noise_kinds <- c("white", "background")

# Sigma fits the instances from which it was estimated better than others, all the more so if there
# are few. With fewer than `well_covered` negatives per feature, those of each fold of bags are
# therefore transformed with the statistics of the other folds, like new data.
well_covered <- 5
noise_folds <- 5

# list(noise, data): the transform for new data, and the training data (bags or shards) in its
# space; for shards also the `file` that they need while they are used.
fit_noise <- function(b, spec, call) {
  check_noise_negatives(b, call)
  fold <- negative_folds(b)
  in_parts <- inherits(b, "bag_shards")
  sums <- if (in_parts) shards_noise_sums(b, fold, spec$normalize, call)
          else noise_sums(b, fold, spec$normalize)
  noise <- new_noise(sums, spec)
  if (!length(noise$gain))
    stop_fumi("`noise` must be \"white\" when the instances of negative bags do not vary, not ",
              "\"background\".", class = "scale", call = call)
  k <- seq_along(sums)
  folds <- if (length(k) > 1) lapply(k, function(j) new_noise(sums[-j], spec, noise$shrinkage))
           else list(noise)
  if (in_parts) return(shards_in_noise_space(b, noise, folds, fold, call))
  data <- bags_in_noise_space(b, noise, folds, fold)
  noise$scale <- sqrt(negative_energy(data)[["energy"]] / negative_energy(data)[["n"]])
  data$x <- data$x / noise$scale
  list(noise = noise, data = data)
}

fewest_negatives <- 3

check_noise_negatives <- function(b, call) {
  n <- length(b$bag) - b$n_positive
  if (n < fewest_negatives)
    stop_fumi("`noise` must be \"white\" when there are fewer than three instances in negative ",
              "bags, not \"background\".",
              call = call)
}

# The fold of each bag, 0 for positive ones. Negative bags take turns; all are in fold 1 when there
# are enough instances, a single negative bag, or a fold outside of which hardly any is left.
negative_folds <- function(b) {
  size <- tabulate(b$bag, length(b$ids))[!b$label]
  k <- if (sum(size) >= well_covered * nrow(b$x)) 1 else min(noise_folds, length(size))
  turn <- rep_len(seq_len(k), length(size))
  if (sum(size) - max(rowsum(size, turn)) < fewest_negatives) turn[] <- 1
  fold <- integer(length(b$ids))
  fold[!b$label] <- turn
  fold
}

# ---- arguments ------------------------------------------------------------------------------

# Defaults of dlfumi() that differ from those of its formals.
noise_defaults <- function(noise) {
  if (noise == "white") return(list())
  list(normalize = "none", n_start = 4, combine = "average", score = "difference")
}

check_noise <- function(noise, ridge, normalize_after, nonneg, given, call = rlang::caller_env()) {
  after <- check_choice(normalize_after, c("none", "unit"), "normalize_after", call = call)
  odd <- if (noise == "white") intersect(c("ridge", "normalize_after"), given)
  if (length(odd))
    stop_fumi("`", odd[1],
              "` must not be given for `noise = \"white\"`: it is for `noise = \"background\"`.",
    call = call)
  if (noise == "background" && any(c("dictionary", "both") %in% nonneg[1]))
    stop_fumi("`nonneg` must be \"none\" or \"codes\" for `noise = \"background\"`: atoms are ",
              "differences from the mean ",
              "of the background, which have both signs.", class = "no_meaning", call = call)
  list(noise = noise, ridge = if (!is.null(ridge)) check_number(ridge, "ridge", above = 0,
                                                                call = call),
       normalize_after = after)
}

# ---- a fit ----------------------------------------------------------------------------------

# A fit in the transformed space, its atoms in both: `dictionary` in the user's units,
# `noise$dictionary` as it was fitted and as instances are coded on it.
fit_background_noise <- function(b, spec, init, progress, call) {
  found <- fit_noise(b, spec, call)
  on.exit(unlink(as.character(found$file)))
  inner <- spec
  inner[c("noise", "normalize", "keep_background")] <- list("white", spec$normalize_after, FALSE)
  init <- init_in_noise_space(init, found$noise, b, call)
  fit <- fit_white_noise(found$data, inner, init, progress, call)
  noise <- found$noise
  noise$dictionary <- fit$dictionary
  noise$normalize_after <- spec$normalize_after
  names <- dimnames(fit$dictionary)
  fit$dictionary <- structure(unit_columns(unname(from_noise_space(noise, fit$dictionary))),
                              dimnames = names)
  fit$normalize <- spec$normalize
  fit$noise <- noise
  fit$spec[c("noise", "normalize", "normalize_after", "keep_background")] <-
    spec[c("noise", "normalize", "normalize_after", "keep_background")]
  fit$spec$ridge <- spec$ridge
  if (spec$keep_background)
    fit$background <- background_stats(normalised_negatives(b, instance_scale(b$x, spec$normalize)))
  fit
}

# A start in the user's units: atoms, a fit, or a function of bags in these units. Codes are those
# of atoms of norm 1 in the transformed space, as a fit has them.
init_in_noise_space <- function(init, noise, b, call) {
  if (inherits(init, "dlfumi")) init <- list(dictionary = init$dictionary)
  if (is.function(init)) return(function(some, ...) {
    some <- if (inherits(b, "bag_shards")) sample_shards(b, call) else b
    init_in_noise_space(init(some, ...), noise, b, call)
  })
  if (is.matrix(init)) init <- list(dictionary = init)
  atoms <- if (is.list(init)) init$dictionary
  d <- length(noise$mean)
  if (is.matrix(atoms) && is.numeric(atoms) && d %in% dim(atoms))
    init$dictionary <- unit_columns(noise_filter(
      noise, atoms_in_columns(atoms, d, b$features, "init$dictionary", call)))
  init
}

# The model of the transformed space, for instances that are in it.
white_model <- function(object) {
  object[c("dictionary", "normalize")] <- object$noise[c("dictionary", "normalize_after")]
  object$noise <- NULL
  object
}

# What atoms rebuild, in the user's units: `codes` are those of the instances `x` (d x n).
rebuild <- function(object, codes, x) {
  noise <- object$noise
  scale <- nonzero_scale(x, object$normalize)
  if (is.null(noise)) return(object$dictionary %*% codes / rep(scale, each = nrow(x)))
  z <- noise$dictionary %*% codes / rep(nonzero_scale(to_noise_space(noise, x),
                                                      noise$normalize_after), each = nrow(x))
  (noise$mean + from_noise_space(noise, z)) / rep(scale, each = nrow(x))
}

nonzero_scale <- function(x, normalize) {
  scale <- instance_scale(x, normalize)
  ifelse(scale > 0, scale, 1)
}

# ---- statistics of the negatives ------------------------------------------------------------

# What each fold adds to mean and covariance: `n`, the sum of the instances and of their products
# about `about`, and of the fourth power of their norms; or, where there are fewer negatives than
# features, the instances themselves.
noise_sums <- function(b, fold, normalize) {
  x <- normalised_columns(b, normalize)
  of_fold <- unname(split(seq_len(ncol(x)), fold[b$bag[!in_positive(b)]]))
  if (ncol(x) <= nrow(x)) return(lapply(of_fold, function(i) list(x = x[, i, drop = FALSE])))
  about <- rowMeans(x)
  lapply(of_fold, function(i) products_about(x[, i, drop = FALSE], about))
}

# Instances of the negative bags, one per column.
normalised_columns <- function(b, normalize) {
  x <- b$x[, !in_positive(b), drop = FALSE]
  x * rep(instance_scale(x, normalize), each = nrow(x))
}

products_about <- function(x, about) {
  z <- centre(x, about)
  list(n = ncol(x), about = about, sum = rowSums(z), products = tcrossprod(z),
       fourth = sum(colSums(z^2)^2))
}

# Mean, principal axes and their variances of the folds together. `fourth`: sum of |x - mean|^4,
# which the share of Ledoit and Wolf needs.
noise_axes <- function(sums) {
  if (!is.null(sums[[1]]$x)) {
    x <- do.call(cbind, lapply(sums, `[[`, "x"))
    mean <- rowMeans(x)
    z <- centre(x, mean)
    return(c(list(mean = mean, n = ncol(x), fourth = sum(colSums(z^2)^2)), principal_axes(z)))
  }
  total <- function(what) Reduce(`+`, lapply(sums, `[[`, what))
  n <- total("n")
  off <- total("sum") / n
  e <- eigen((total("products") - n * tcrossprod(off)) / (n - 1), symmetric = TRUE)
  kept <- e$values >= 1e-10 * e$values[1]
  list(mean = sums[[1]]$about + off, n = n, fourth = total("fourth"),
       basis = e$vectors[, kept, drop = FALSE],
       lambda = e$values[kept], total = sum(e$values[kept]))
}

# The transform by statistics of some folds. The share by which Ledoit and Wolf shrink is estimated
# once, from all of them.
new_noise <- function(sums, spec, shrinkage = NULL) {
  a <- noise_axes(sums)
  d <- length(a$mean)
  if (length(a$lambda) == 0 || a$total == 0)
    return(list(mean = a$mean, basis = matrix(0, d, 0), gain = numeric(), shrinkage = 1, scale = 1,
                normalize = spec$normalize))
  if (is.null(spec$ridge)) {
    if (is.null(shrinkage)) shrinkage <- ledoit_wolf_share(a, d)
    floor <- shrinkage * a$total / d
    variance <- (1 - shrinkage) * a$lambda + floor
  } else {
    floor <- spec$ridge * a$total / min(a$n - 1, d)
    variance <- a$lambda + floor
  }
  list(mean = a$mean, basis = a$basis, gain = sqrt(floor / variance), shrinkage = shrinkage,
       scale = 1, normalize = spec$normalize)
}

# At least 1e-6, so that every direction has noise.
ledoit_wolf_share <- function(a, d) {
  lambda <- a$lambda * (a$n - 1) / a$n
  squared <- sum(lambda^2)
  spread <- squared - sum(lambda)^2 / d
  error <- a$fourth / a$n^2 - squared / a$n
  if (spread > 0) min(1, max(1e-6, error / spread)) else 1
}

# ---- there and back -------------------------------------------------------------------------

# W (x - mu) / c, by blocks, so that no second copy of all instances is made on the way. Of many
# instances it takes half the time with W itself, where V is as large: never with fewer negatives
# than features, whose V has at most d - 2 directions.
to_noise_space <- function(noise, x) {
  out <- matrix(0, nrow(x), ncol(x))
  whole <- if (ncol(x) > nrow(x) && length(noise$gain) >= nrow(x) - 1)
    diag(nrow(x)) + tcrossprod(noise$basis * rep(noise$gain - 1, each = nrow(x)), noise$basis)
  for (j in column_blocks(x)) {
    part <- x[, j, drop = FALSE]
    z <- part * rep(instance_scale(part, noise$normalize), each = nrow(x)) - noise$mean
    z <- if (is.null(whole)) z + noise$basis %*% ((noise$gain - 1) * crossprod(noise$basis, z))
         else whole %*% z
    out[, j] <- z / noise$scale
  }
  out
}

column_blocks <- function(x) {
  size <- max(1, 4e6 %/% nrow(x))
  split(seq_len(ncol(x)), (seq_len(ncol(x)) - 1) %/% size)
}

# c W^-1 z: what a vector of the transformed space adds to an instance.
from_noise_space <- function(noise, z) {
  noise$scale * (z + noise$basis %*% ((1 / noise$gain - 1) * crossprod(noise$basis, z)))
}

# Directions f with f'(x - mu) = d'z for the columns d of the transformed space: the detection
# filters of atoms.
noise_filter <- function(noise, z) {
  (z + noise$basis %*% ((noise$gain - 1) * crossprod(noise$basis, z))) / noise$scale
}

# ---- training data --------------------------------------------------------------------------

# Negatives by the statistics of the other folds, instances of positive bags by those of all.
bags_in_noise_space <- function(b, noise, folds, fold) {
  of_instance <- fold[b$bag]
  x <- matrix(0, nrow(b$x), ncol(b$x))
  for (k in 0:length(folds)) {
    mine <- which(of_instance == k)
    x[, mine] <- to_noise_space(if (k == 0) noise else folds[[k]], b$x[, mine, drop = FALSE])
  }
  b$x <- x
  b
}

negative_energy <- function(b, ...) {
  z <- b$x[, !in_positive(b), drop = FALSE]
  c(energy = sum(z^2), n = ncol(z))
}

# ---- bags in parts --------------------------------------------------------------------------

# The same sums, added up over parts: the means in a first pass, products about the mean of all in
# a second.
shards_noise_sums <- function(b, fold, normalize, call) {
  fold <- stats::setNames(fold, b$ids)
  few <- length(b$bag) - b$n_positive <= nrow(b$x)
  args <- list(fold = fold, n_folds = max(fold), normalize = normalize)
  if (!few) {
    first <- map_shards(b, shard_sum, args, call)
    args$about <- Reduce(`+`, lapply(first, `[[`, "sum")) / Reduce(`+`, lapply(first, `[[`, "n"))
  }
  parts <- map_shards(b, shard_noise_sums, args, call)
  lapply(seq_len(max(fold)), function(k) {
    mine <- lapply(parts, `[[`, k)
    if (few) return(list(x = do.call(cbind, lapply(mine, `[[`, "x"))))
    total <- function(what) Reduce(`+`, lapply(mine, `[[`, what))
    list(n = total("n"), about = args$about, sum = total("sum"), products = total("products"),
         fourth = total("fourth"))
  })
}

shard_sum <- function(b, i, args) {
  x <- normalised_columns(b, args$normalize)
  list(n = ncol(x), sum = rowSums(x))
}

shard_noise_sums <- function(b, i, args) {
  x <- normalised_columns(b, args$normalize)
  of_instance <- args$fold[b$ids[b$bag[!in_positive(b)]]]
  lapply(seq_len(args$n_folds), function(k) {
    mine <- x[, of_instance == k, drop = FALSE]
    if (is.null(args$about)) list(x = mine) else products_about(mine, args$about)
  })
}

# Parts that are transformed when loaded. The statistics are in a file, so that they need not be
# sent to workers in each iteration.
shards_in_noise_space <- function(b, noise, folds, fold, call) {
  file <- tempfile("noise-", b$dir, ".rds")
  write <- function() save_whole(list(noise = noise, folds = folds,
                                      fold = stats::setNames(fold, b$ids)), file)
  load <- lapply(b$load, noise_loader, file = file)
  write()
  energy <- Reduce(`+`, map_shards(list(load = load, key = basename(tempfile("key"))),
                                   negative_energy, call = call))
  noise$scale <- sqrt(energy[["energy"]] / energy[["n"]])
  folds <- lapply(folds, function(f) { f$scale <- noise$scale; f })
  write()
  list(noise = noise, data = new_shards(load, b$dir, call), file = file)
}

noise_loader <- function(load, file) {
  force(list(load, file))
  function() {
    b <- load()
    known <- readRDS(file)
    bags_in_noise_space(b, known$noise, known$folds, unname(known$fold[b$ids]))
  }
}
