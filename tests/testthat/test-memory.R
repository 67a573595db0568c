# A root directory that tells `...`, files by name.
told <- function(...) {
  root <- tempfile()
  files <- list(...)
  for (name in names(files)) {
    dir.create(dirname(file.path(root, name)), recursive = TRUE, showWarnings = FALSE)
    writeLines(files[[name]], file.path(root, name))
  }
  root
}

test_that("memory that is free is the least that the system tells of", {
  machine <- c("MemTotal:  9000 kB", "MemAvailable:   4000 kB", "SwapFree:  96 kB")
  expect_identical(bytes_free(told()), Inf)
  expect_identical(bytes_free(told("proc/meminfo" = machine)), 4096 * 1024)
  group <- c("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current")
  limited <- function(max, used) do.call(told, c(list("proc/meminfo" = machine),
                                                 stats::setNames(list(max, used), group)))
  expect_identical(bytes_free(limited("3000", "1000")), 2000)
  expect_identical(bytes_free(limited("max", "1000")), 4096 * 1024)
  old <- "sys/fs/cgroup/memory/memory."
  expect_identical(bytes_free(do.call(told, stats::setNames(list("700", "200"),
                                                            paste0(old, c("limit", "usage"),
                                                                   "_in_bytes")))), 500)
  address <- function(limit) told("proc/self/limits" = paste("Max address space   ", limit,
                                                             "   unlimited  bytes"),
                                  "proc/self/status" = c("VmPeak: 9 kB", "VmSize:   1000 kB"))
  expect_identical(bytes_free(address("2000000000")), 2e9 - 1024000 - 2^27)
  expect_identical(bytes_free(address("unlimited")), Inf)
  expect_gt(bytes_free(), 0)
})

test_that("a fit that cannot have its memory is refused with an estimate, unless that is turned off", {
  expect_error(check_memory(1e18, NULL), "at least 888.2 Pb .* free", class = "fumi_error_memory")
  expect_silent(check_memory(8, NULL))
  old <- options(fumi.check_memory = FALSE)
  on.exit(options(old))
  expect_silent(check_memory(1e18, NULL))
  options(fumi.check_memory = NA)
  expect_error(check_memory(1, NULL), "`fumi.check_memory`", class = "fumi_error_input")
})

test_that("under a limit of the address space a fit says what it lacks, before it is at work", {
  skip_on_cran()
  skip_on_os(c("windows", "mac"))
  script <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
               "library(fumi)",
               "b <- bags(matrix(rnorm(3e4), 1e4), rep(1:100, each = 100), rep(0:1, 50))",
               "for (fit in list(mi_svm, miles, function(b) dlfumi(b, n_background = 4900, n_start = 4)))",
               "  tryCatch(fit(b), error = function(e) writeLines(class(e)[1]))"), script)
  out <- system2("sh", c("-c", shQuote(paste("ulimit -v 900000; timeout 600",
                                             file.path(R.home("bin"), "Rscript"), "--vanilla",
  script))),
                 stdout = TRUE, stderr = FALSE, env = "OPENBLAS_NUM_THREADS=1")
  expect_identical(out, rep("fumi_error_memory", 3))
})
