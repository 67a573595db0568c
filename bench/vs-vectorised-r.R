#!/usr/bin/env Rscript
# CPU time of an EM iteration of the package against vectorised R (bench/vectorised.R),
# both from the same start, in one process, on one thread. README.md says what is printed.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
bench <- normalizePath(dirname(gsub("~+~", " ", script, fixed = TRUE)))
goal <- 6
rounds <- 5

# ---- on OpenBLAS, one thread ----------------------------------------------------

blas <- function() extSoftVersion()[["BLAS"]]
is_openblas <- function() grepl("openblas", blas(), ignore.case = TRUE)

# The BLAS and its threads are fixed when R starts, so the script runs in an R of its own,
# with OpenBLAS loaded first if R is linked to another BLAS and there is one.
restart_on_openblas <- function() {
  if (nzchar(Sys.getenv("FUMI_BENCH_CHILD"))) return(invisible())
  found <- Sys.glob(paste0("/usr/", c("lib*", "lib*/*", "lib*/*/*", "local/lib"), "/libopenblas.so.0"))
  env <- c("FUMI_BENCH_CHILD=1", "OPENBLAS_NUM_THREADS=1",
           if (!is_openblas() && length(found)) paste0("LD_PRELOAD=", found[1]))
  rscript <- file.path(R.home("bin"), "Rscript")
  quit(status = system2(rscript, shQuote(file.path(bench, "vs-vectorised-r.R")), env = env))
}

# ---- problems ---------------------------------------------------------------------

# Bags of USPS digits in which one instance of each positive bag is a 3; with more instances
# than digits, noise tells repeated ones apart.
digit_bags <- function(n_bags, size) {
  digit <- fumi::usps$digit
  n <- n_bags * size
  draw <- function(from, n) sample(from, n, replace = n > length(from))
  used <- c(draw(which(digit == 3), n_bags[1]), draw(which(digit != 3), sum(n) - n_bags[1]))
  bag <- c(rep(seq_len(n_bags[1]), size[1]), rep(n_bags[1] + seq_len(n_bags[2]), each = size[2]))
  x <- fumi::usps_images(used)
  fumi::bags(x + rnorm(length(x), sd = if (anyDuplicated(used)) 0.05 else 0), bag, rep(1:0, n_bags))
}

problems <- list(
  list(name = "USPS class", make = function() digit_bags(c(50, 50), c(4, 50)),
       n_target = 4, n_background = 15, beta = 25, gamma = 0.1, n_iter = c(r = 20, core = 100)),
  list(name = "AR-sized",
       make = function() fumi::sim_bags(100, 10, n_features = 4980, n_target = 3, n_background = 8),
       n_target = 3, n_background = 8, beta = 30, gamma = 0.001, n_iter = c(r = 8, core = 60)),
  list(name = "20000 digits", make = function() digit_bags(c(1000, 320), c(4, 50)),
       n_target = 10, n_background = 50, beta = 25, gamma = 0.1, n_iter = c(r = 2, core = 20))
)
lambda <- 0.001

unit <- function(x) x / rep(sqrt(colSums(x^2)), each = nrow(x))

# Target atoms: means of the first instances of positive bags; background atoms: instances
# of negative bags; codes by least squares.
make_start <- function(x, n_positive, n_target, n_background) {
  positive <- seq_len(n_positive)
  subset <- split(positive, rep_len(seq_len(n_target), n_positive))
  target <- vapply(subset, function(i) rowMeans(x[, i]), numeric(nrow(x)))
  chosen <- n_positive + seq_len(n_background) * ((ncol(x) - n_positive) %/% n_background)
  d <- unname(unit(cbind(target, x[, chosen])))
  least_squares <- function(d, x) solve(crossprod(d), crossprod(d, x))
  zero <- matrix(0, n_target, ncol(x) - n_positive)
  negative <- rbind(zero, least_squares(d[, -seq_len(n_target)], x[, -positive]))
  list(dictionary = d, codes = cbind(least_squares(d, x[, positive]), negative))
}

# ---- contenders -----------------------------------------------------------------------

# Functions that run `n_iter` iterations and return the objective by iteration.
contenders <- function(problem, b) {
  x <- unit(b$x)
  start <- with(problem, make_start(x, b$n_positive, n_target, n_background))
  vectorised <- function() with(problem, vectorised_dlfumi(
    x, b$n_positive, start, n_target, lambda, beta, gamma, n_iter[["r"]]))
  fit <- function() with(problem, fumi::dlfumi(
    b, n_target = n_target, n_background = n_background, lambda = lambda, beta = beta, gamma = gamma,
    init = start, control = fumi::dlfumi_control(max_iter = n_iter[["core"]], tol = 0), progress = FALSE))
  made <- fit()
  spec <- c(made[c("n_target", "lambda", "beta", "gamma", "psi")], made$spec["control"])
  scale <- fumi:::instance_scale(b$x, "unit")
  core <- function(simd) {
    options(fumi.simd = simd)
    on.exit(options(fumi.simd = NULL))
    own <- function() list(dictionary = start$dictionary, codes = start$codes + 0)
    fumi:::dlfumi_run(b, scale, own, spec, NULL, NULL)$objective$objective
  }
  list(vectorised = vectorised, dlfumi = function() fit()$objective$objective,
       core = function() core(""), portable = function() core("portable"))
}

# Milliseconds of CPU an iteration, rounds x contenders; who goes first rotates. `off` is the
# largest relative difference of a contender's objective from that of vectorised R.
measure <- function(run) {
  ms <- matrix(NA_real_, rounds, length(run), dimnames = list(NULL, names(run)))
  path <- list()
  for (round in seq_len(rounds)) {
    for (name in names(run)[1 + (seq_along(run) + round) %% length(run)]) {
      used <- system.time(path[[name]] <- run[[name]]())
      ms[round, name] <- 1000 * sum(used[c("user.self", "sys.self")]) / length(path[[name]])
    }
  }
  shared <- seq_along(path$vectorised)
  off <- vapply(path, function(o) max(abs(o[shared] / path$vectorised - 1)), 0)
  list(ms = ms, off = off[names(run)])
}

# ---- report ------------------------------------------------------------------------------

# One row a contender other than vectorised R. A row with a wrong answer has no times.
compare <- function(problem) {
  set.seed(1)
  b <- problem$make()
  timed(paste("timing", problem$name), measured <- measure(contenders(problem, b)))
  r <- measured$ms[, "vectorised"]
  ms <- measured$ms[, -1]
  off <- measured$off[-1]
  ms[, off > 1e-9] <- NA
  least <- apply(ms, 2, min)
  data.frame(
    problem = problem$name, d = nrow(b$x), n = ncol(b$x), n_positive = b$n_positive,
    n_target = problem$n_target, n_background = problem$n_background, contender = colnames(ms),
    vectorised_ms = min(r), ms = least, ratio = min(r) / least, median_ratio = apply(r / ms, 2, median),
    difference = off, row.names = NULL)
}

first_match <- function(file, pattern) {
  line <- if (file.exists(file)) grep(pattern, readLines(file), value = TRUE)
  if (length(line)) trimws(sub(".*:", "", line[1])) else "unknown"
}

git <- function(...) suppressWarnings(system2("git", c("-C", shQuote(root), ...), stdout = TRUE, stderr = FALSE))

machine <- function() {
  commit <- c(git("rev-parse", "--short", "HEAD"), "unknown")[1]
  changed <- length(git("status", "--porcelain", "--", "R", "src")) > 0
  load <- if (file.exists("/proc/loadavg")) sub(" .*", "", readLines("/proc/loadavg")) else "unknown"
  data.frame(
    date = format(Sys.time(), "%Y-%m-%dT%H:%M:%S%z"), commit = paste0(commit, if (changed) "+changes"),
    cpu = first_match("/proc/cpuinfo", "^model name"), load = load,
    blas = if (is_openblas()) "OpenBLAS" else "another BLAS",
    kernel = .Call(fumi:::ffi_kernel_name, FALSE), portable = .Call(fumi:::ffi_kernel_name, TRUE))
}

append_csv <- function(rows) {
  file <- file.path(bench, "results", "vs-vectorised-r.csv")
  dir.create(dirname(file), showWarnings = FALSE)
  write.table(rows, file, append = file.exists(file), col.names = !file.exists(file), row.names = FALSE,
              sep = ",", qmethod = "double")
}

main <- function() {
  need(described("Imports"))
  lib <- tempfile("library")
  install_own(lib)
  use_libraries(c(lib, .libPaths()))
  here <- machine()
  cat("", paste0(names(here), ": ", unlist(here)), paste("BLAS file:", blas()), "", sep = "\n")
  if (!is_openblas()) cat("No OpenBLAS was found: vectorised R runs on a slower BLAS than it could.\n\n")
  rows <- do.call(rbind, lapply(problems, compare))
  cat("\nCPU milliseconds an iteration, the least of", rounds, "rounds:\n")
  print(rows[c("problem", "d", "n", "contender", "vectorised_ms", "ms", "ratio", "median_ratio", "difference")],
        digits = 3, row.names = FALSE)
  append_csv(cbind(here, rows))
  decide(rows[rows$problem == problems[[1]]$name & rows$contender == "core", ])
}

# Noise can spoil one of the two ratios; the goal is missed if both are below it.
decide <- function(row) {
  met <- !is.na(row$ratio) && max(row$ratio, row$median_ratio) >= goal
  cat("\nGoal: the core at least", goal, "times as fast on one USPS class:", if (met) "met" else "NOT met", "\n")
  quit(status = as.integer(!met))
}

restart_on_openblas()
source(file.path(dirname(bench), "tools", "setup.R"), chdir = TRUE)
source(file.path(bench, "vectorised.R"))
main()
