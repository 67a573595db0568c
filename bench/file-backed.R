#!/usr/bin/env Rscript
# Time and growth of the peak memory of a fit to a file-backed matrix, which is made, fitted and
#   removed: Rscript bench/file-backed.R [features] [instances] [atoms] [iterations] [folder]
# Each stage appends a row to bench/results/file-backed.csv. Linux only; the package must be
# installed.

kilobytes <- function(field) {
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line))
}

# This process's own memory, without the pages of the file that the system caches.
own_mb <- function() kilobytes("RssAnon") / 1024

# Mixtures of 20 smooth atoms and noise, as doubles: one block repeated, each time in another
# order.
write_file <- function(file, d, n, block = 20000) {
  atoms <- vapply(1:20, function(k) sin(seq_len(d) * k / 20), numeric(d))
  x <- atoms %*% matrix(rexp(20 * block)^2, 20) + rnorm(d * block, sd = .5)
  to <- file(file, "wb")
  on.exit(close(to))
  for (from in seq(1, n, block))
    writeBin(as.vector(x[, sample.int(block, min(block, n - from + 1))]), to)
}

attach_file <- function(folder, d, n) {
  x <- bigmemory::filebacked.big.matrix(1, 1, backingfile = "one.bin", backingpath = folder,
                                        descriptorfile = "x.desc")
  d0 <- bigmemory::describe(x)
  d0@description[c("filename", "totalRows", "totalCols", "nrow", "ncol", "rowOffset",
                   "colOffset")] <-
    list("x.bin", d, n, d, n, c(0, d), c(0, n))
  bigmemory::attach.big.matrix(d0)
}

# The largest memory of the process while `code` runs, looked at from outside every 50 ms.
with_peak <- function(code) {
  log <- tempfile()
  watch <- sprintf("while kill -0 %d 2>/dev/null; do grep RssAnon /proc/%d/status >> %s; sleep .05; done",
                   Sys.getpid(), Sys.getpid(), log)
  pid <- as.integer(system(paste("sh -c", shQuote(watch), "> /dev/null 2>&1 & echo $!"),
                           intern = TRUE))
  seconds <- tryCatch(system.time(code)[["elapsed"]], finally = tools::pskill(pid))
  c(seconds = seconds, peak_mb = max(as.numeric(gsub("[^0-9]", "", readLines(log)))) / 1024)
}

run <- function(d = 256, n = 1e6, atoms = 5, iterations = 2, folder = tempfile("file-backed")) {
  dir.create(folder, showWarnings = FALSE)
  on.exit(unlink(file.path(folder, c("x.bin", "x.desc", "one.bin"))))
  set.seed(1)
  write_file(file.path(folder, "x.bin"), d, n)
  x <- attach_file(folder, d, n)
  stopifnot(dim(x) == c(d, n))
  before <- own_mb()
  record <- function(what, got) append_row(
    data.frame(date = format(Sys.Date()), what, features = d, instances = n, atoms, iterations,
               gigabytes = round(d * n * 8 / 2^30, 2), seconds = round(got[["seconds"]], 1),
               growth_mb = round(got[["peak_mb"]] - before)))
  fit <- function(control) fumi::dlfumi(b, n_target = 1, n_background = atoms - 1, beta = 1,
                                        progress = FALSE, control = control)
  record("bags", with_peak(b <- fumi::bags(x, rep(seq_len(n / 100), each = 100),
                                           rep(0:1, n / 200))))
  record("fit", with_peak(model <- fit(fumi::dlfumi_control("exact", max_iter = iterations))))
  record("predict", with_peak(predict(model, b, level = "bag")))
  record("fit by mini-batches, 1 epoch",
         with_peak(fit(fumi::dlfumi_control("exact", batch = 4096, epochs = 1))))
}

append_row <- function(row) {
  print(row, row.names = FALSE)
  out <- file.path(dirname(script), "results", "file-backed.csv")
  utils::write.table(row, out, sep = ",", row.names = FALSE, append = file.exists(out),
                     col.names = !file.exists(out))
}

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
asked <- commandArgs(TRUE)
names(asked) <- c("d", "n", "atoms", "iterations", "folder")[seq_along(asked)]
do.call(run, lapply(as.list(asked), function(a) if (grepl("^[0-9]", a)) as.numeric(a) else a))
