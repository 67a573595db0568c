#!/usr/bin/env Rscript
# Increase of the peak memory by a fit, compared with a process that only holds the bags, in
# multiples of the size of X; the goal is 0.05 + 2 K / d + max(8 K / N, K / 192). Linux only; the
# package must be installed.

kilobytes <- function(field) {
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line))
}

make <- function(file, d, n, n_target, n_background) {
  set.seed(1)
  b <- fumi::sim_bags(n / 100, 100, n_features = d, n_target = n_target,
                      n_background = n_background)
  saveRDS(b, file, compress = FALSE)
}

fit <- function(file, d, n, n_target, n_background) {
  once <- function(b) fumi::dlfumi(b, n_target = n_target, n_background = n_background,
                                   progress = FALSE, control = fumi::dlfumi_control(max_iter = 2))
  set.seed(1)
  # loads and compiles whatever a fit needs, and lets BLAS allocate its buffers
  once(fumi::sim_bags(20, 100, n_features = d))
  b <- readRDS(file)
  invisible(gc())
  cat("5", file = "/proc/self/clear_refs") # the peak begins again from here
  before <- kilobytes("VmRSS")
  once(b)
  k <- n_target + n_background
  grown <- data.frame(d, n, k, x_mb = d * n * 8 / 2^20,
                      goal = 0.05 + 2 * k / d + max(8 * k / n, k / 192),
                      growth = (kilobytes("VmHWM") - before) * 1024 / (d * n * 8))
  print(grown, digits = 3, row.names = FALSE)
}

# Each problem is made in one process and fitted in another.
main <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  rscript <- function(...) system2(file.path(R.home("bin"), "Rscript"), c(shQuote(script), ...))
  for (size in c("256 50000 10 50", "4980 4000 3 8", "1024 10000 4 15")) {
    file <- tempfile()
    for (what in c("make", "fit")) rscript(what, file, size)
    unlink(file)
  }
}

asked <- commandArgs(TRUE)
if (length(asked)) do.call(asked[1], c(asked[2], as.list(as.numeric(asked[-(1:2)])))) else main()
