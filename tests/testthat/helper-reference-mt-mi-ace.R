# Multi-target MI-ACE and MI-SMF, literally and slowly, with the released assignment and stop
# (`paired`, `sumstop`) and the mended ones that the package ships.

ref_mt_whiten <- function(f) {
  background <- f$X[, f$background == "all" | f$label[f$bag] == 0]
  mu <- rowMeans(background)
  e <- eigen(stats::cov(t(background)) + .Machine$double.eps * diag(nrow(f$X)), symmetric = TRUE)
  z <- crossprod(e$vectors, f$X - mu) / sqrt(e$values)
  if (f$detector == "ace") z <- z / rep(sqrt(colSums(z^2)), each = nrow(z))
  list(z = z, mu = mu, values = e$values, vectors = e$vectors)
}

ref_mt_bags <- function(f, positive) {
  bags <- split(seq_along(f$bag), f$bag)
  bags[f$label[as.integer(names(bags))] == positive]
}

# c_tj, the value of signature t in positive bag j: its own maximum, or with the released pairs the
# larger of that and of the maximum over pairs of instances and signatures that are repeated side
# by side. The stored objectives have the latter in both modes.
ref_mt_select <- function(f, z, s) {
  bags <- ref_mt_bags(f, 1)
  selection <- confidence <- released <- matrix(0, ncol(s), length(bags))
  for (j in seq_along(bags)) {
    value <- crossprod(s, z[, bags[[j]], drop = FALSE])
    selection[, j] <- max.col(value, "first")
    own <- apply(value, 1, max)
    n <- ncol(value) * nrow(value)
    pairs <- cbind(rep_len(seq_len(nrow(value)), n), rep_len(seq_len(ncol(value)), n))
    released[, j] <- pmax(own, max(value[pairs]))
    confidence[, j] <- if (f$paired) released[, j] else own
  }
  list(selection = selection, confidence = confidence, released = released)
}

ref_mt_negative <- function(f, z) {
  bags <- ref_mt_bags(f, 0)
  rowMeans(vapply(bags, function(i) rowMeans(z[, i, drop = FALSE]), numeric(nrow(z))))
}

ref_mt_objective <- function(f, z, s, confidence) {
  vapply(seq_len(ncol(s)), function(t)
    mean(confidence[t, ]) - sum(s[, t] * ref_mt_negative(f, z)) - f$alpha * mean(crossprod(s, s[, t])), 0)
}

# One pass over the signatures. A signature that wins no bag is dropped, and ends the pass.
ref_mt_update <- function(f, z, s, chosen, winner) {
  bags <- ref_mt_bags(f, 1)
  negative <- ref_mt_negative(f, z)
  for (t in seq_len(ncol(s))) {
    won <- which(winner == t)
    if (length(won) == 0) return(list(s = s[, -t, drop = FALSE], dropped = t))
    best <- vapply(won, function(j) bags[[j]][chosen[t, j]], 0L)
    v <- rowMeans(z[, best, drop = FALSE]) - negative
    if (ncol(s) > 1) v <- v - f$alpha * rowMeans(s[, -t, drop = FALSE])
    if (all(v != 0)) s[, t] <- v / sqrt(sum(v^2))
  }
  list(s = s, dropped = 0)
}

ref_mt_stops <- function(f, now, before) {
  if (is.null(before) || !identical(dim(now), dim(before))) return(FALSE)
  if (!f$sumstop) return(all(now == before))
  if (nrow(now) == 1) sum(now - before) == 0 else all(colSums(now - before) == 0)
}

# Signatures in the space of x, of norm 1.
ref_mt_back <- function(w, s) {
  x <- w$vectors %*% (s * sqrt(w$values))
  x / rep(sqrt(colSums(x^2)), each = nrow(x))
}

ref_mt_fit <- function(f, s) {
  w <- ref_mt_whiten(f)
  before <- NULL
  path <- list()
  for (it in seq_len(f$max_iter)) {
    now <- ref_mt_select(f, w$z, s)
    winner <- apply(now$confidence, 2, which.max)
    objective <- ref_mt_objective(f, w$z, s, now$released)
    new <- ref_mt_update(f, w$z, s, now$selection, winner)
    s <- new$s
    path[[it]] <- list(signature = ref_mt_back(w, s), objective = objective,
                       selection = now$selection,
                       confidence = now$confidence, winner = winner, dropped = new$dropped)
    if (ref_mt_stops(f, now$selection, before)) break
    before <- now$selection
  }
  list(path = path, signature = ref_mt_back(w, s), s = s)
}

# Greedy start from the instances of positive bags. `first`: the released code compares a candidate
# with the first instance of a chosen one's bag.
ref_mt_start <- function(f, z, first = TRUE) {
  positive <- ref_mt_bags(f, 1)
  negative <- ref_mt_bags(f, 0)
  candidates <- unlist(positive)
  chosen <- integer()
  value <- numeric()
  best <- function(C, bags) vapply(bags, function(i) max(crossprod(C, z[, i, drop = FALSE])), 0)
  for (t in seq_len(f$n_target)) {
    gain <- vapply(candidates, function(c) {
      if (c %in% chosen) return(-Inf)
      C <- z[, c(chosen, c), drop = FALSE]
      if (t == 1) return(mean(best(C, positive)))
      off <- mean(vapply(negative, function(i) mean(apply(crossprod(C, z[, i, drop = FALSE]), 2,
                                                          max)), 0))
      other <- if (first) vapply(chosen, function(i) positive[[match(f$bag[i],
                                                                     names(positive))]][1],
      0L) else chosen
      mean(best(C, positive)) - off - f$alpha * mean(crossprod(z[, other, drop = FALSE], z[, c]))
    }, 0)
    value[t] <- max(gain)
    chosen <- c(chosen, candidates[which.max(gain)])
  }
  list(index = match(chosen, candidates), objective = value)
}
