# The paper's equations, transcribed literally: slow, instance by instance, and independent
# of the package. X is d x N with instances of positive bags first; D is d x (T + M) with
# target atoms first; A is (T + M) x N; p has one value per instance of a positive bag.

ref_soft <- function(x, l, nonneg = FALSE) {
  soft <- sign(x) * pmax(abs(x) - l, 0)
  if (nonneg) pmax(soft, 0) else soft
}
# A numerator brought to norm 1, of its positive part if atoms must not be negative.
ref_atom <- function(v, nonneg = FALSE) ref_unit(if (nonneg) pmax(v, 0) else v)
ref_unit <- function(v) v / sqrt(sum(v^2))
ref_largest <- function(G) max(eigen(G, symmetric = TRUE)$values)

# eq. 6; its odds times those of a prior
ref_expect <- function(X, n_pos, D, A, n_target, beta, prior = rep(.5, n_pos)) {
  vapply(seq_len(n_pos), function(i) {
    r <- X[, i]
    for (k in seq_len(ncol(D))[-seq_len(n_target)]) r <- r - A[k, i] * D[, k]
    p <- 1 - exp(-beta * sum(r^2))
    p * prior[i] / (p * prior[i] + (1 - p) * (1 - prior[i]))
  }, 0)
}

# eq. 5
ref_cosines <- function(D_background, D_target, n_target) {
  M <- ncol(D_background) - n_target
  out <- matrix(0, M, n_target)
  for (k in seq_len(M)) for (t in seq_len(n_target))
    out[k, t] <- sum(D_background[, n_target + k] * D_target[, t]) /
      sqrt(sum(D_background[, n_target + k]^2) * sum(D_target[, t]^2))
  out
}

# eq. 9, atom by atom, each using those already updated
ref_target_atoms <- function(X, n_pos, D, A, p, n_target, weight = rep(1, ncol(X)),
                             nonneg = FALSE) {
  for (t in seq_len(n_target)) {
    numerator <- numeric(nrow(X))
    denominator <- 0
    for (i in seq_len(n_pos)) {
      r <- X[, i]
      for (l in seq_len(ncol(D))[-t]) r <- r - A[l, i] * D[, l]
      numerator <- numerator + weight[i] * p[i] * A[t, i] * r
      denominator <- denominator + weight[i] * p[i] * A[t, i]^2
    }
    D[, t] <- ref_atom(numerator / denominator, nonneg)
  }
  D
}

# eq. 8; D holds the new target atoms, D_old those of the last iteration
ref_background_atoms <- function(X, n_pos, D, D_old, A, p, n_target, psi, gamma, cosine,
                                 weight = rep(1, ncol(X)), nonneg = FALSE) {
  target <- seq_len(n_target)
  for (k in seq_len(ncol(D))[-target]) {
    numerator <- numeric(nrow(X))
    denominator <- 0
    for (i in seq_len(ncol(X))) {
      without <- X[, i]
      for (l in setdiff(seq_len(ncol(D))[-target], k)) without <- without - A[l, i] * D[, l]
      with <- without
      for (t in target) with <- with - A[t, i] * D[, t]
      positive <- i <= n_pos
      part <- if (positive) p[i] * psi * A[k, i] * with + (1 - p[i]) * psi * A[k, i] * without
              else A[k, i] * without
      numerator <- numerator + weight[i] * part
      denominator <- denominator + weight[i] * (if (positive) psi else 1) * A[k, i]^2
    }
    for (t in target) numerator <- numerator - gamma * cosine[k - n_target, t] * D_old[, t]
    D[, k] <- ref_atom(numerator / denominator, nonneg)
  }
  D
}

# eq. 10-13; `scaled` multiplies the threshold by the step length (variant "exact")
ref_codes <- function(X, n_pos, D, A, p, n_target, lambda, inner, scaled = FALSE, nonneg = FALSE) {
  target <- seq_len(n_target)
  D_minus <- D[, -target, drop = FALSE]
  padded <- cbind(matrix(0, nrow(D), n_target), D_minus)
  eta <- 1 / ref_largest(crossprod(D))
  eta_minus <- 1 / ref_largest(crossprod(D_minus))
  for (i in seq_len(ncol(X))) for (q in seq_len(inner)) {
    if (i <= n_pos) {
      weighted <- cbind(p[i] * D[, target, drop = FALSE], D_minus)
      gradient <- -crossprod(weighted, X[, i]) +
        (p[i] * crossprod(D) + (1 - p[i]) * crossprod(padded)) %*% A[, i]
      a <- A[, i] - eta * gradient
      l <- lambda * (if (scaled) eta else 1)
      A[target, i] <- ref_soft(a[target], l * p[i], nonneg)
      A[-target, i] <- ref_soft(a[-target], l, nonneg)
    } else {
      a <- A[-target, i]
      step <- eta_minus * crossprod(D_minus, X[, i] - D_minus %*% a)
      A[-target, i] <- ref_soft(a + step, lambda * (if (scaled) eta_minus else 1), nonneg)
      A[target, i] <- 0
    }
  }
  A
}

# eq. 4: objective and its three terms
ref_objective <- function(X, n_pos, D, A, p, n_target, psi, lambda, gamma, cosine, D_compared,
                          weight = rep(1, ncol(X))) {
  target <- seq_len(n_target)
  first <- second <- third <- 0
  for (i in seq_len(ncol(X))) {
    w <- weight[i] * (if (i <= n_pos) psi else 1)
    pi <- if (i <= n_pos) p[i] else 0
    background <- X[, i] - D[, -target, drop = FALSE] %*% A[-target, i]
    full <- background - D[, target, drop = FALSE] %*% A[target, i]
    first <- first + .5 * w * (pi * sum(full^2) + (1 - pi) * sum(background^2))
    second <- second + lambda * w * (pi * sum(abs(A[target, i])) + sum(abs(A[-target, i])))
  }
  for (k in seq_len(nrow(cosine))) for (t in target)
    third <- third + gamma * cosine[k, t] * sum(D[, n_target + k] * D_compared[, t])
  c(first + second + third, first, second, third)
}

# One iteration of Algorithm 1, or of the authors' code.
ref_iterate <- function(variant, X, n_pos, D, A, n_target, lambda, beta, gamma, psi, inner,
                        nonneg = "none", weight = rep(1, ncol(X)), prior = rep(.5, n_pos)) {
  codes <- function() ref_codes(X, n_pos, D, A, p, n_target, lambda, inner,
                                nonneg = nonneg %in% c("codes", "both"))
  atoms <- nonneg %in% c("dictionary", "both")
  p <- ref_expect(X, n_pos, D, A, n_target, beta, prior)
  D_old <- D
  if (variant == "matlab") A <- codes()
  D <- ref_target_atoms(X, n_pos, D, A, p, n_target, weight, atoms)
  compared <- if (variant == "matlab") D else D_old
  cosine <- ref_cosines(D_old, compared, n_target)
  D <- ref_background_atoms(X, n_pos, D, D_old, A, p, n_target, psi, gamma, cosine, weight, atoms)
  if (variant == "paper") A <- codes()
  f <- ref_objective(X, n_pos, D, A, p, n_target, psi, lambda, gamma, cosine, compared, weight)
  list(D = D, A = A, p = p, objective = f)
}

# eq. 7
ref_confidence <- function(x, D, a, a_minus, n_target) {
  e <- 1e-12 * sum(x^2)
  (sum((x - D[, -seq_len(n_target), drop = FALSE] %*% a_minus)^2) + e) / (sum((x - D %*% a)^2) + e)
}

# Largest absolute difference over the largest absolute value.
relative_difference <- function(x, y) max(abs(x - y)) / max(abs(y), 1e-300)

# A random problem in the core's form, not of unit norm, with its own parameters.
random_problem <- function(d = 6, n_target = 2, n_background = 3, n_pos = 7, n_neg = 8, inner = 5) {
  K <- n_target + n_background
  unit <- function(m) apply(m, 2, ref_unit)
  list(X = matrix(rnorm(d * (n_pos + n_neg), sd = runif(1, .2, 2)), d), n_pos = n_pos,
       D = matrix(unit(matrix(rnorm(d * K), d)), d),
       D_old = matrix(unit(matrix(rnorm(d * K), d)), d),
       A = rbind(matrix(rnorm(n_target * (n_pos + n_neg)), n_target) *
                   rep(seq_len(n_pos + n_neg) <= n_pos, each = n_target),
                 matrix(rnorm(n_background * (n_pos + n_neg)), n_background)),
       p = runif(n_pos), n_target = n_target, inner = inner, lambda = runif(1, .01, .2),
       beta = runif(1, .05, 3), gamma = runif(1, 0, .5), psi = runif(1, .5, 2))
}

# One step of the C core on such a problem.
core_step <- function(problem, kind, variant = "paper", dead = "keep", solver = NULL,
                      nonneg = "none") {
  spec <- c(problem[c("n_target", "lambda", "beta", "gamma", "psi")],
            list(nonneg = nonneg, control = dlfumi_control(variant, inner = problem$inner,
                                                           dead = dead, solver = solver)))
  .Call(ffi_dlfumi_step, problem$X, rep(1, ncol(problem$X)), problem$n_pos, kind,
        problem$D_old, problem$D, problem$A, problem$p, dlfumi_par(spec), problem$weight,
        problem$prior)
}

# What ffi_code reads, for exact codes.
code_par <- function(lambda, nonneg = FALSE) {
  list(lambda = lambda, steps = 0L, nonneg = nonneg, simd = 0L, threads = 1L)
}

# A stored trajectory. The tarball holds the smaller two of DL-FUMI only.
trajectory <- function(name) {
  file <- test_path("fixtures", paste0(name, ".rds"))
  skip_if_not(file.exists(file), "the trajectory is in the repository, not in the tarball, and it")
  readRDS(file)
}
