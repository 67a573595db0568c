#!/usr/bin/env Rscript
# Growth of the peak memory by a fit, over the process that holds the bags, in sizes of X; the goal is
# 0.05 + K / d + 8 K / N. Linux only; the package must be installed.

kilobytes <- function(field) {
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line))
}

grown <- function(d, n, n_target, n_background) {
  set.seed(1)
  b <- fumi::sim_bags(n / 10, 10, n_features = d, n_target = n_target, n_background = n_background)
  invisible(gc())
  cat("5", file = "/proc/self/clear_refs") # the peak begins again from here
  before <- kilobytes("VmRSS")
  fumi::dlfumi(b, n_target = n_target, n_background = n_background, progress = FALSE,
               control = fumi::dlfumi_control(max_iter = 2))
  k <- n_target + n_background
  data.frame(d, n, k, x_mb = d * n * 8 / 2^20, growth = (kilobytes("VmHWM") - before) * 1024 / (d * n * 8),
             goal = 0.05 + k / d + 8 * k / n)
}

size <- as.numeric(commandArgs(TRUE))
if (length(size) == 4) print(do.call(grown, as.list(size)), digits = 3, row.names = FALSE) else {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  for (size in c("256 20000 10 50", "4980 1000 3 8", "1024 10000 4 15"))
    system2(file.path(R.home("bin"), "Rscript"), c(shQuote(script), size))
}
