#!/usr/bin/env Rscript
# Installs the package from its own source tarball into a temporary library, runs all tests against
# it, and ends with the number of expectations.

# Rscript writes a space in the script's path as ~+~.
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(gsub("~+~", " ", script, fixed = TRUE)), "setup.R"), chdir = TRUE)

# What packages of the tests are built with, and the browser for the tests of mil_view().
tools <- c(compilers, cmake = "cmake", chromium = "chromium")

run_tests <- function() {
  need(c(described("Imports"), "testthat", "glmnet", "future"), system = tools)
  tryCatch(need(described("Suggests")), error = function(e)
    cat("tests that need a package that is not here are skipped: ", conditionMessage(e), "\n",
        sep = ""))
  lib <- tempfile("library")
  install_own(lib)
  use_libraries(c(lib, .libPaths()))
  # Plots in tests are discarded instead of written to Rplots.pdf in the sources.
  options(device = function(...) grDevices::pdf(NULL))
  Sys.setenv(NOT_CRAN = "true")
  results <- testthat::test_dir(
    file.path(root, "tests", "testthat"),
    package = description("Package"), load_package = "installed",
    reporter = one_line_a_file(), stop_on_failure = FALSE
  )
  count(as.data.frame(results))
}

# With failures in full and without a spinner, which would clutter a log.
one_line_a_file <- function() {
  testthat::ProgressReporter$new(update_interval = Inf, max_failures = Inf, show_praise = FALSE)
}

# An error outside an expectation ends its test, so it counts as one failure.
count <- function(tests) {
  c(passed = sum(tests$passed), failed = sum(tests$failed, tests$error),
    skipped = sum(tests$skipped))
}

# A run that does not reach its end is a failure, whatever passed before.
n <- tryCatch(run_tests(), error = function(e) {
  cat("the tests did not run to the end: ", conditionMessage(e), "\n", sep = "")
  c(passed = 0, failed = 1, skipped = 0)
})
cat(sprintf("%d passed, %d failed", n[["passed"]], n[["failed"]]),
    if (n[["skipped"]] > 0) sprintf(", %d skipped", n[["skipped"]]), "\n", sep = "")
quit(status = as.integer(n[["failed"]] > 0 || n[["passed"]] == 0))
