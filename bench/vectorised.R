# DL-FUMI, variant "paper", in vectorised R: the reference for the C core in bench/run.R. The same
# algebra on Gram matrices and the same order of steps, written for speed. `x` is features x
# instances with unit columns, those of positive bags first; `start` is a list with `dictionary`
# and `codes`; psi is 1.

# The objective (eq. 4) after each of `n_iter` iterations.
vectorised_dlfumi <- function(x, n_positive, start, n_target, lambda, beta, gamma, n_iter,
                              inner = 50) {
  positive <- seq_len(n_positive)
  background <- -seq_len(n_target)
  x <- list(pos = x[, positive], neg = x[, -positive])
  d <- list(target = start$dictionary[, -background], background = start$dictionary[, background])
  a <- list(target = start$codes[-background, positive],
            background = start$codes[background, positive],
            neg = start$codes[background, -positive])
  path <- numeric(n_iter)
  rest <- x$pos - d$background %*% a$background
  for (iteration in seq_len(n_iter)) {
    p <- 1 - exp(-beta * colSums(rest^2))
    old <- d$target
    pull <- gamma * crossprod(old, d$background)
    d <- update_atoms(x, d, a, p, old %*% pull)
    a <- update_codes(x, d, a, p, lambda, inner)
    rest <- x$pos - d$background %*% a$background
    path[iteration] <- objective(x, d, a, p, lambda,
                                 rest) + sum(pull * crossprod(old, d$background))
  }
  path
}

# Eq. 8 and 9: one atom at a time, each with those before it already updated.
update_atoms <- function(x, d, a, p, pull) {
  weighted <- by_column(a$target, p)
  between <- tcrossprod(a$background, weighted)
  s <- tcrossprod(weighted, a$target)
  numerator <- tcrossprod(x$pos, weighted) - d$background %*% between
  d$target <- sweep_atoms(d$target, numerator, s)
  s <- tcrossprod(a$background) + tcrossprod(a$neg)
  numerator <- tcrossprod(x$pos, a$background) + tcrossprod(x$neg, a$neg) -
    tcrossprod(d$target, between) - pull
  d$background <- sweep_atoms(d$background, numerator, s)
  d
}

sweep_atoms <- function(d, numerator, s) {
  for (k in seq_len(ncol(d))) {
    atom <- numerator[, k] - d %*% s[, k] + s[k, k] * d[, k]
    d[, k] <- atom / sqrt(sum(atom^2))
  }
  d
}

# Eq. 10 to 13: `inner` gradient steps, thresholded by lambda itself.
update_codes <- function(x, d, a, p, lambda, inner) {
  a$neg <- code_negative(d$background, x$neg, a$neg, lambda, inner)
  c(code_positive(d, x$pos, a, p, lambda, inner), a["neg"])
}

code_negative <- function(d, x, a, lambda, inner) {
  gram <- crossprod(d)
  eta <- step_length(gram)
  h <- diag(ncol(d)) - eta * gram
  b <- eta * crossprod(d, x)
  for (q in seq_len(inner)) a <- soft(h %*% a + b, lambda)
  a
}

# Rows of target codes move by p times their gradient; background codes see them weighted by p.
code_positive <- function(d, x, a, p, lambda, inner) {
  n_target <- ncol(d$target)
  n_background <- ncol(d$background)
  d <- cbind(d$target, d$background)
  target <- seq_len(n_target)
  gram <- crossprod(d)
  eta <- step_length(gram)
  b <- eta * crossprod(d, x)
  h_target <- -eta * gram[target, ]
  h_background <- cbind(matrix(0, n_background, n_target),
                        diag(n_background)) - eta * gram[-target, ]
  p <- rep(p, each = n_target)
  for (q in seq_len(inner)) {
    stepped <- a$target + p * (h_target %*% rbind(a$target, a$background) + b[target, ])
    a$background <- soft(h_background %*% rbind(p * a$target, a$background) + b[-target, ], lambda)
    a$target <- soft(stepped, lambda * p)
  }
  a[c("target", "background")]
}

# The first two terms of eq. 4; `rest` is what the background atoms leave of positive bags.
objective <- function(x, d, a, p, lambda, rest) {
  full <- colSums((rest - d$target %*% a$target)^2)
  fit <- sum(p * full + (1 - p) * colSums(rest^2)) + sum((x$neg - d$background %*% a$neg)^2)
  fit / 2 + lambda * (sum(p * colSums(abs(a$target))) + sum(abs(a$background)) + sum(abs(a$neg)))
}

step_length <- function(gram) 1 / eigen(gram, symmetric = TRUE, only.values = TRUE)$values[1]

by_column <- function(a, w) a * rep(w, each = nrow(a))

# max(z - l, 0) + min(z + l, 0): of the forms that give exact zeros, the fastest in R.
soft <- function(z, l) {
  above <- z - l
  below <- z + l
  ((above + abs(above)) + (below - abs(below))) / 2
}
