#!/usr/bin/env Rscript
# CPU time of the exact coder, one thread, codes from 0, against scikit-learn's lasso_cd where
# python3 has it and, with FUMI_BENCH_CODER, the path of a C program
# `lasso X D lambda fs gap threads repeats -`, against that; they take turns on the same files. The
# package must be installed.

rounds <- 5
lambda <- 0.1
n <- 20000
few <- seq_len(2000) # signals for which the gap is computed, and for scikit-learn
other <- Sys.getenv("FUMI_BENCH_CODER")
bench <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))

unit <- function(x) x / rep(sqrt(colSums(x^2)), each = nrow(x))

# USPS digits drawn again, with noise
make_signals <- function() {
  x <- matrix(fumi::usps_images(sample(length(fumi::usps$digit), n, replace = TRUE)), 256)
  unit(x + rnorm(length(x), sd = 0.05))
}

# centres of clusters, some of them alike, as learned atoms are
make_atoms <- function(x, n_atoms) {
  unit(fumi:::cluster_instances(x, rep(1, n), runif(n_atoms), max_iter = 10L)$centres)
}

write_matrix <- function(x) {
  file <- tempfile()
  to <- file(file, "wb")
  on.exit(close(to))
  writeBin(dim(x), to)
  writeBin(as.vector(x), to)
  file
}

# A python3 that has scikit-learn, or "".
find_python <- function() {
  for (python in unique(c(Sys.which("python3"), "/usr/bin/python3")))
    if (nzchar(python) && system2(python, c("-c", shQuote("import sklearn")), stdout = FALSE,
                                  stderr = FALSE) == 0)
      return(python)
  ""
}

build_other <- function() {
  program <- tempfile("lasso")
  status <- system2(Sys.getenv("CC", "gcc"), c("-O2", "-fopenmp", "-w", "-I",
                                               shQuote(dirname(other)), shQuote(other), "-o",
  program,
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
  used <- system.time(out <- .Call(fumi:::ffi_code, x, rep(1, n), d,
                                   list(lambda = lambda, steps = 0L, nonneg = FALSE, simd = 0L,
                                        threads = 1L)))
  structure(sum(used[c("user.self", "sys.self")]), codes = out$codes)
}

other_seconds <- function(program, files) {
  line <- system2(program, c(files, lambda, "fs", 1e-6, 1, 1, "-"), env = "OPENBLAS_NUM_THREADS=1",
                  stdout = TRUE)
  as.numeric(sub(".*cpu ([0-9.]+) s.*", "\\1", line))
}

sklearn_seconds <- function(python, files, n_atoms) {
  out <- tempfile()
  line <- system2(python, c(shQuote(file.path(bench, "sklearn_coder.py")), files, lambda, out),
                  env = c("OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1"), stdout = TRUE)
  codes <- matrix(readBin(out, "double", n_atoms * length(few)), n_atoms)
  structure(as.numeric(line) * n / length(few), codes = codes)
}

compare <- function(x, n_atoms, program, python) {
  d <- make_atoms(x, n_atoms)
  files <- c(write_matrix(x), write_matrix(x[, few]), write_matrix(d))
  seconds <- matrix(NA_real_, rounds, 3, dimnames = list(NULL, c("own", "other", "sklearn")))
  gap <- c(own = NA, sklearn = NA)
  for (round in seq_len(rounds)) {
    seconds[round, "own"] <- own <- own_seconds(x, d)
    if (nzchar(other)) seconds[round, "other"] <- other_seconds(program, files[c(1, 3)])
    if (nzchar(python))
      seconds[round, "sklearn"] <- theirs <- sklearn_seconds(python, files[2:3], n_atoms)
  }
  gap[["own"]] <- largest_gap(x[, few], d, attr(own, "codes")[, few])
  if (nzchar(python)) gap[["sklearn"]] <- largest_gap(x[, few], d, attr(theirs, "codes"))
  least <- apply(seconds, 2, min)
  data.frame(atoms = n_atoms, non_zero = mean(colSums(attr(own, "codes") != 0)),
             thousand_a_second = n / 1000 / least[["own"]],
             gap = gap[["own"]], over_other = least[["other"]] / least[["own"]],
             median_other = median(seconds[, "other"] / seconds[, "own"]),
             over_sklearn = least[["sklearn"]] / least[["own"]],
             median_sklearn = median(seconds[, "sklearn"] / seconds[, "own"]),
             gap_sklearn = gap[["sklearn"]])
}

set.seed(1)
x <- make_signals()
program <- if (nzchar(other)) build_other()
python <- find_python()
rows <- do.call(rbind, lapply(c(20, 64, 256), compare, x = x, program = program, python = python))
print(rows, digits = 3, row.names = FALSE)
write.csv(rows, file.path(bench, "results", "coder.csv"), row.names = FALSE)
