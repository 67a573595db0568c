#!/usr/bin/env Rscript
# CPU time of the exact coder, one thread, codes from 0. With FUMI_BENCH_CODER, the path of a C program
# `lasso X D lambda fs gap threads repeats -`, that is built and takes turns with it on the same files.
# The package must be installed.

rounds <- 5
lambda <- 0.1
n <- 20000
other <- Sys.getenv("FUMI_BENCH_CODER")

unit <- function(x) x / rep(sqrt(colSums(x^2)), each = nrow(x))

# USPS digits drawn again, with noise
make_signals <- function() {
  x <- matrix(fumi::usps_images(sample(length(fumi::usps$digit), n, replace = TRUE)), 256)
  unit(x + rnorm(length(x), sd = 0.05))
}

# centres of clusters, some of them alike, as learned atoms are
make_atoms <- function(x, n_atoms) {
  unit(.Call(fumi:::ffi_kmeans, x, rep(1, n), 0L, runif(n_atoms), 10L, FALSE)$centres)
}

write_matrix <- function(x) {
  file <- tempfile()
  to <- file(file, "wb")
  on.exit(close(to))
  writeBin(dim(x), to)
  writeBin(as.vector(x), to)
  file
}

build_other <- function() {
  program <- tempfile("lasso")
  status <- system2(Sys.getenv("CC", "gcc"), c("-O2", "-fopenmp", "-w", "-I", shQuote(dirname(other)), shQuote(other), "-o", program,
                             "-llapack -lblas -lm"))
  if (status != 0) stop("cannot build ", other)
  program
}

# Largest relative duality gap, by the definition; codes in columns.
largest_gap <- function(x, d, a) {
  rest <- x - d %*% a
  shrink <- pmin(1, lambda / apply(abs(crossprod(d, rest)), 2, max))
  primal <- colSums(rest^2) / 2 + lambda * colSums(abs(a))
  dual <- shrink * colSums(x * rest) - shrink^2 * colSums(rest^2) / 2
  max((primal - dual) / primal)
}

own_seconds <- function(x, d) {
  used <- system.time(out <- .Call(fumi:::ffi_code, x, rep(1, n), d, lambda, 0L, FALSE, 1L))
  structure(sum(used[c("user.self", "sys.self")]), codes = out$codes)
}

other_seconds <- function(program, files) {
  line <- system2(program, c(files, lambda, "fs", 1e-6, 1, 1, "-"), env = "OPENBLAS_NUM_THREADS=1", stdout = TRUE)
  as.numeric(sub(".*cpu ([0-9.]+) s.*", "\\1", line))
}

compare <- function(x, n_atoms, program) {
  d <- make_atoms(x, n_atoms)
  files <- if (nzchar(other)) c(write_matrix(x), write_matrix(d))
  seconds <- matrix(NA_real_, rounds, 2, dimnames = list(NULL, c("own", "other")))
  for (round in seq_len(rounds)) {
    own <- own_seconds(x, d)
    seconds[round, "own"] <- own
    if (nzchar(other)) seconds[round, "other"] <- other_seconds(program, files)
  }
  few <- seq_len(2000)
  codes <- attr(own, "codes")
  data.frame(atoms = n_atoms, non_zero = mean(colSums(codes != 0)), own_thousand_a_second = n / 1000 / min(seconds[, "own"]),
             other_thousand_a_second = n / 1000 / min(seconds[, "other"]),
             ratio = min(seconds[, "other"]) / min(seconds[, "own"]),
             median_ratio = median(seconds[, "other"] / seconds[, "own"]),
             gap = largest_gap(x[, few], d, codes[, few]))
}

set.seed(1)
x <- make_signals()
program <- if (nzchar(other)) build_other()
print(do.call(rbind, lapply(c(20, 64, 256), compare, x = x, program = program)), digits = 3, row.names = FALSE)
