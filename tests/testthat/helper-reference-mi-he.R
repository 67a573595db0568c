# MI-HE, literally and slowly: what the authors' released code does, in the words of its
# specification. The C code in its literal mode equals it, and both follow the fixtures, which that
# code made.

ref_mihe_codes <- function(X, D, lambda, coding) {
  G <- crossprod(D)
  if (coding == "convex") return(matrix(apply(X, 2, function(x) ref_convex_code(x, D)), ncol(D)))
  eta <- .99 / max(eigen(G, TRUE, TRUE)$values)
  B <- crossprod(D, X)
  A <- solve(G, B)
  for (step in 1:100) {
    A <- A + eta * (B - G %*% A)
    A <- sign(A) * pmax(abs(A) - lambda, 0)
  }
  A
}

# a >= 0, sum a = 1: the closed form for the sum, without the negative entries, again and again.
ref_convex_code <- function(x, E) {
  a <- numeric(ncol(E))
  kept <- seq_len(ncol(E))
  repeat {
    if (length(kept) == 1) {
      a[kept] <- 1
      return(a)
    }
    P <- solve(crossprod(E[, kept]))
    u <- rowSums(P)
    v <- drop(P %*% crossprod(E[, kept], x))
    now <- v + u * (1 - sum(v)) / sum(u)
    if (all(now >= 0)) {
      a[kept] <- now
      return(a)
    }
    kept <- kept[now >= 0]
  }
}

# total, positive, background, discrimination
ref_mihe_objective <- function(f, D, A, B) {
  target <- seq_len(f$n_target)
  r_full <- colSums((f$X - D %*% A)^2)
  r_bg <- colSums((f$X - D[, -target, drop = FALSE] %*% B)^2)
  p <- exp(-f$beta * (r_full + f$eps) / (r_bg + f$eps))
  positive <- f$label[f$bag] == 1
  bags <- split(p[positive], f$bag[positive])
  generalised <- vapply(bags, function(p) mean(p^f$power)^(1 / f$power), 0)
  match <- colSums((D[, target, drop = FALSE] %*% A[target, , drop = FALSE]) * f$X)
  terms <- c(-sum(log(generalised)), f$rho * sum(r_bg[!positive]),
             f$alpha / 2 * sum(match[!positive]^2))
  c(sum(terms), terms)
}

ref_mihe_prob <- function(f, D, A, B) {
  target <- seq_len(f$n_target)
  exp(-f$beta * (colSums((f$X - D %*% A)^2) + f$eps) /
        (colSums((f$X - D[, -target, drop = FALSE] %*% B)^2) + f$eps))
}

ref_mihe_gradient <- function(f, D, A, B, k) {
  target <- seq_len(f$n_target)
  R <- f$X - D %*% A
  Q <- f$X - D[, -target, drop = FALSE] %*% B
  r2 <- colSums(R^2)
  q2 <- colSums(Q^2)
  positive <- f$label[f$bag] == 1
  w <- ifelse(positive, ref_mihe_prob(f, D, A, B)^f$power, 0)
  w[positive] <- w[positive] / ave(w[positive], f$bag[positive], FUN = sum)
  # The ratio of an instance without a rest is 1 or more.
  w[q2 == 0] <- 0
  q2[q2 == 0] <- 1
  if (k %in% target) {
    match <- colSums((D[, target, drop = FALSE] %*% A[target, , drop = FALSE]) * f$X)
    return(drop(-R %*% (2 * f$beta * w * A[k, ] / q2) + f$alpha * f$X %*% (ifelse(positive, 0, match * A[k, ]))))
  }
  b <- B[k - f$n_target, ]
  drop(-R %*% (2 * f$beta * w * A[k, ] / q2) + Q %*% (2 * f$beta * w * b * r2 / q2^2) -
         2 * f$rho * Q %*% ifelse(positive, 0, b))
}

# The number of steps that an atom goes along -g with its codes held.
ref_mihe_steps <- function(f, D, A, B, k, g) {
  J0 <- ref_mihe_objective(f, D, A, B)[1]
  kept <- 0
  for (trial in 1:20) {
    l <- trial * f$step
    moved <- D
    moved[, k] <- D[, k] - l * g
    J1 <- ref_mihe_objective(f, moved, A, B)[1]
    if (!(J1 <= J0 - .3 * l)) break
    if (J1 >= J0 - .7 * l || trial == 20) break
    kept <- trial
  }
  kept
}

ref_mihe_iteration <- function(f, D) {
  steps <- numeric(ncol(D))
  target <- seq_len(f$n_target)
  for (k in seq_len(ncol(D))) {
    A <- ref_mihe_codes(f$X, D, f$lambda, f$coding)
    B <- ref_mihe_codes(f$X, D[, -target, drop = FALSE], f$lambda, f$coding)
    g <- ref_mihe_gradient(f, D, A, B, k)
    if (all(g == 0)) next
    g <- g / sqrt(sum(g^2))
    steps[k] <- ref_mihe_steps(f, D, A, B, k, g)
    D[, k] <- D[, k] - steps[k] * f$step * g
    if (f$coding == "sparse") D[, k] <- D[, k] / sqrt(sum(D[, k]^2))
  }
  A <- ref_mihe_codes(f$X, D, f$lambda, f$coding)
  B <- ref_mihe_codes(f$X, D[, -target, drop = FALSE], f$lambda, f$coding)
  list(D = D, A = A, B = B, objective = ref_mihe_objective(f, D, A, B),
       prob = ref_mihe_prob(f, D, A, B), steps = steps)
}
