# The cost of noise with the background's covariance: processor time of a fit to the bags of a USPS
# digit with `noise = "background"` over the same fit with white noise (same atoms, variant and
# number of iterations, one start, one thread), the smallest of several, taken in turn.
#
#   Rscript bench/noise.R [repeats]
#
# Result: bench/results/noise.csv. Needs the package installed.

library(fumi)

repeats <- max(3, as.integer(commandArgs(TRUE)[1]), na.rm = TRUE)
options(fumi.threads = 1, fumi.calibrate = 0, fumi.progress = FALSE)
b <- paper_bags("usps", 1, 3)$train
fit <- function(noise) {
  set.seed(1)
  dlfumi(b, noise = noise, n_target = 4, n_background = 15, variant = "exact", lambda = 0.05,
         max_iter = 50, tol = 0, n_start = 1, combine = "best")
}
seconds <- function(noise) sum(system.time(suppressWarnings(fit(noise)))[c("user.self", "sys.self")])

times <- replicate(repeats, c(white = seconds("white"), background = seconds("background")))
least <- apply(times, 1, min)
row <- data.frame(white = least[["white"]], background = least[["background"]],
                  ratio = least[["background"]] / least[["white"]], repeats = repeats,
                  version = as.character(packageVersion("fumi")), date = as.character(Sys.Date()))
print(row, digits = 3)
utils::write.csv(row, "bench/results/noise.csv", row.names = FALSE)
