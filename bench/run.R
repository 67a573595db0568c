#!/usr/bin/env Rscript
# Rscript bench/run.R [iteration] [threads] [acceleration] [coder] [memory] [growth]
# All parts but the last run by default. README.md says what is measured and how the comparison is
# kept fair.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
bench <- normalizePath(dirname(gsub("~+~", " ", script, fixed = TRUE)))
source(file.path(dirname(bench), "tools", "setup.R"), chdir = TRUE)
source(file.path(bench, "problems.R"))
rounds <- 5
contenders <- c("vectorised", "core", "dlfumi", "avx2", "portable", "reference", "threads")
parts <- c("iteration", "threads", "acceleration", "coder", "memory", "growth")

# ---- the machine ------------------------------------------------------------------

need(system = c("libopenblas0-pthread", "libblas3"))
library_file <- function(pattern) {
  found <- Sys.glob(file.path("/usr", c("lib*", "lib*/*", "lib*/*/*", "local/lib"), pattern))
  if (length(found)) found[1] else NA
}
blas <- c(open = library_file("openblas*/libblas.so.3"),
          reference = library_file("blas/libblas.so.3"))

# c(GF/s, GB/s) of one core, NA where the program cannot be built.
peak <- function() {
  program <- tempfile("peak")
  flags <- c("-O3", "-mavx2", "-mfma", "-w", shQuote(file.path(bench, "peak.c")), "-o", program)
  if (system2(Sys.getenv("CC", "cc"), flags, stderr = FALSE) != 0) return(c(NA_real_, NA_real_))
  scan(text = system2(program, stdout = TRUE), quiet = TRUE)[1:2]
}

first_match <- function(file, pattern) {
  line <- if (file.exists(file)) grep(pattern, readLines(file), value = TRUE)
  if (length(line)) trimws(sub(".*:", "", line[1])) else "unknown"
}

git <- function(...) suppressWarnings(system2("git", c("-C", shQuote(root), ...), stdout = TRUE,
                                              stderr = FALSE))

machine <- function() {
  commit <- c(git("rev-parse", "--short", "HEAD"), "unknown")[1]
  changed <- length(git("status", "--porcelain", "--", "R", "src")) > 0
  data.frame(
    date = format(Sys.time(), "%Y-%m-%dT%H:%M:%S%z"),
    commit = paste0(commit, if (changed) "+changes"),
    cpu = first_match("/proc/cpuinfo", "^model name"),
    kernel = .Call(fumi:::ffi_kernel_name, FALSE))
}

append_csv <- function(rows, name) {
  file <- file.path(bench, "results", paste0(name, ".csv"))
  write.table(rows, file, append = file.exists(file), col.names = !file.exists(file),
              row.names = FALSE, sep = ",", qmethod = "double")
}

# ---- an EM iteration ----------------------------------------------------------------

# One process: everything on OpenBLAS with one thread, but "reference" on the reference BLAS. NULL
# where the machine has no such library.
compete <- function(contender, problem) {
  library <- blas[[if (contender == "reference") "reference" else "open"]]
  if (is.na(library)) return(NULL)
  lines <- system2(file.path(R.home("bin"), "Rscript"),
                   c(shQuote(file.path(bench, "contender.R")), contender, problem),
                   env = c(paste0("LD_PRELOAD=", library), "OPENBLAS_NUM_THREADS=1"), stdout = TRUE)
  eval(parse(text = lines))
}

# rounds x contenders: who goes first rotates
iteration <- function(here, gflops) {
  for (name in names(problems)) {
    runs <- lapply(seq_len(rounds), function(round) {
      order <- contenders[1 + (seq_along(contenders) + round) %% length(contenders)]
      timed(sprintf("%s, round %d of %d", name, round, rounds),
            made <- stats::setNames(lapply(order, compete, name), order))
      made[contenders]
    })
    rows <- compare(runs, name, gflops)
    print(rows[-1], digits = 3, row.names = FALSE)
    append_csv(cbind(here, rows), "iteration")
  }
}

# One row per contender, with times only if its objectives are those of vectorised R to 1e-9. ratio
# and median_ratio: vectorised R over it, for "portable" AVX2 over it, for "avx2", "reference" and
# "threads" the core over it.
compare <- function(runs, name, gflops) {
  of <- function(what) vapply(runs, function(r) vapply(contenders, function(c)
    if (is.null(r[[c]])) NA_real_ else as.numeric(r[[c]][[what]]), 0), numeric(length(contenders)))
  off <- vapply(contenders, function(c) max(0, vapply(runs, function(r)
    if (is.null(r[[c]])) NA_real_ else max(abs(r[[c]]$path / r$vectorised$path - 1)), 0)), 0)
  ms <- of("cpu")
  quiet <- of("idle")["threads", ] >= 0.8
  ms["threads", ] <- ifelse(quiet, of("wall")["threads", ], NA)
  ms[which(off > 1e-9), ] <- NA
  least <- apply(ms, 1, function(x) if (all(is.na(x))) NA else min(x, na.rm = TRUE))
  over <- ifelse(contenders %in% c("core", "dlfumi"), "vectorised",
                 ifelse(contenders == "portable", "avx2", "core"))
  one <- runs[[1]]$core
  share <- with(problems[[name]], flops(one$d, one$n_positive, one$n - one$n_positive, n_target,
                                        n_background)) /
    least / 1e6 / gflops
  data.frame(
    problem = name, d = one$d, n = one$n, contender = contenders, ms = least, over = over,
    ratio = least[over] / least, median_ratio = apply(ms[over, ] / ms, 1, stats::median,
                                                      na.rm = TRUE),
    share_of_peak = ifelse(contenders == "vectorised", NA, share),
    share_of_r = apply(of("share_of_r"), 1, stats::median), difference = off,
    row.names = NULL)[-1, ]
}

# ---- what threads cost ------------------------------------------------------------------

# Processor time of an iteration with 2 and 8 requested threads, divided by that with one: waiting
# threads must cost nothing. The minimum over several rounds.
threads <- function(here, gflops) {
  rows <- do.call(rbind, lapply(names(problems), function(name) {
    asked <- c("core", "threads", "threads8")
    ms <- vapply(1:2, function(round) vapply(asked, function(contender)
      compete(contender, name)$cpu, 0), numeric(3))
    least <- apply(ms, 1, min)
    data.frame(problem = name, threads = c(2, 8), ms = least[-1], ratio = least[-1] / least[1],
               goal = 1.3, row.names = NULL)
  }))
  print(rows, digits = 3, row.names = FALSE)
  append_csv(cbind(here, rows), "threads")
}

# ---- acceleration -----------------------------------------------------------------------

# "exact" from the same start, plain and accelerated: iterations and processor time to within 1e-4
# of the best objective of both. Where the plain way does not come so near, all of its time counts
# and the ratio is a lower bound.
acceleration <- function(here, gflops) {
  n_iter <- list(usps = c(2600, 600), ar = c(1500, 500), large = c(150, 60))
  rows <- do.call(rbind, lapply(names(n_iter), function(name) {
    timed(paste("acceleration,", name),
          fits <- Map(settle, c(FALSE, TRUE), name, n_iter[[name]]))
    best <- min(unlist(lapply(fits, `[[`, "path")))
    near <- vapply(fits, function(fit) which(fit$path <= best * (1 + 1e-4))[1], 0L)
    seconds <- vapply(fits, `[[`, 0, "seconds") * ifelse(is.na(near), 1, near / n_iter[[name]])
    data.frame(problem = name, accelerate = c(FALSE, TRUE), max_iter = n_iter[[name]],
               iterations = near, seconds = seconds, gap = vapply(fits, function(fit)
                 utils::tail(fit$path, 1) / best - 1, 0), ratio = seconds[1] / seconds, goal = 2)
  }))
  print(rows, digits = 3, row.names = FALSE)
  append_csv(cbind(here, rows), "acceleration")
}

settle <- function(accelerate, name, n_iter) {
  problem <- make_problem(name)
  control <- fumi::dlfumi_control("exact", max_iter = n_iter, tol = 0, accelerate = accelerate)
  scale <- fumi:::instance_scale(problem$bags$x, "unit")
  seconds <- sum(system.time(path <- run_core(problem, n_iter, scale, control))[1:2])
  list(path = path, seconds = seconds)
}

# ---- how the cost grows -----------------------------------------------------------------

# Milliseconds of the core as c1 (4 d K N) + c2 (100 K^2 N): products with X, and inner steps.
growth <- function(here, gflops) {
  sizes <- rbind(
    data.frame(d = 256, n = c(1e3, 1e4, 1e5, 1e6), n_target = 4, n_background = 15),
    data.frame(d = c(16, 64, 1024, 4096), n = 1e4, n_target = 4, n_background = 15),
    data.frame(d = 256, n = 1e4, n_target = 4, n_background = c(5, 30, 60, 120)),
    data.frame(d = 256, n = 1e4, n_target = c(1, 8, 16, 32), n_background = 15))
  sizes$ms <- vapply(seq_len(nrow(sizes)), function(i) with(sizes[i, ],
                                                            grow(d, n, n_target, n_background)), 0)
  half <- function(f) with(sizes, n / 2 * (f(n_target + n_background) + f(n_background)))
  terms <- cbind(products = 4 * sizes$d * half(identity), steps = 100 * half(function(k) k^2)) / 1e6
  fit <- stats::lm.fit(terms / sizes$ms, rep(1, nrow(sizes)))
  sizes$law <- drop(terms %*% fit$coefficients)
  print(sizes, digits = 3, row.names = FALSE)
  cat("ms = ", paste(signif(fit$coefficients, 3), colnames(terms), collapse = " + "),
      " (in millions)\n", sep = "")
  append_csv(cbind(here, sizes), "growth")
}

grow <- function(d, n, n_target, n_background) {
  set.seed(1)
  x <- matrix(stats::runif(d * n), d)
  b <- structure(list(x = x, n_positive = n %/% 2L), class = "bags")
  start <- list(dictionary = unit(x[, n %/% 2 + seq(1 - n_target, n_background)]),
                # in use, all of them: none is to be replaced
                codes = matrix(0.1, n_target + n_background, n))
  problem <- list(bags = b, start = start, n_target = n_target, n_background = n_background,
                  beta = 1, gamma = 0.01)
  scale <- fumi:::instance_scale(x, "unit")
  n_iter <- max(2, ceiling(1e9 / flops(d, n / 2, n / 2, n_target, n_background)))
  1000 / n_iter * min(vapply(1:5, function(i) sum(system.time(run_core(problem, n_iter, scale))[1:2]), 0))
}

# ---- all of it -----------------------------------------------------------------------------

coder <- function(here, gflops) child("coder.R")
memory <- function(here, gflops) child("memory.R")
child <- function(file) {
  status <- system2(file.path(R.home("bin"), "Rscript"), shQuote(file.path(bench, file)),
                    env = "OPENBLAS_NUM_THREADS=1")
  if (status != 0) stop(file, " failed")
}

# The ratio to vectorised R by commit, with the goal.
draw <- function() {
  file <- file.path(bench, "results", "iteration.csv")
  if (!file.exists(file)) return()
  rows <- subset(read.csv(file), contender == "core")
  grDevices::png(file.path(bench, "results", "iteration.png"), 900, 300)
  on.exit(grDevices::dev.off())
  graphics::par(mfrow = c(1, 3), mar = c(6, 4, 2, 1), las = 2)
  for (name in names(problems)) {
    of <- rows[rows$problem == name, ]
    goal <- problems[[name]]$goal[1]
    at <- seq_len(nrow(of))
    graphics::plot(at, of$median_ratio, type = "b", pch = 19, xaxt = "n", xlab = "",
                   ylab = "times vectorised R",
                   main = name, ylim = c(0, 1.1 * max(of$median_ratio, of$ratio, goal,
                                                      na.rm = TRUE)))
    graphics::points(at, of$ratio)
    graphics::axis(1, at, of$commit)
    graphics::abline(h = goal, lty = 2)
  }
}

main <- function(asked) {
  if (!all(asked %in% parts)) stop("there are only: ", paste(parts, collapse = ", "))
  need(described("Imports"))
  lib <- tempfile("library")
  install_own(lib)
  use_libraries(c(lib, .libPaths()))
  here <- machine()
  first <- peak()
  cat(paste0(names(here), ": ", unlist(here)), paste("peak:", first[1], "GF/s,", first[2], "GB/s"),
      paste("BLAS:", blas), sep = "\n")
  for (part in asked) get(part)(here, first[1])
  last <- peak()
  cat(sprintf("peak at the end: %.1f GF/s, %.1f GB/s%s\n", last[1], last[2],
              if (isTRUE(abs(last[1] / first[1] - 1) > 0.05)) ": NOISY, run it again" else ""))
  draw()
}

asked <- commandArgs(TRUE)
main(if (length(asked)) asked else setdiff(parts, "growth"))
