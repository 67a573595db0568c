# Sourced after setup.R by the scripts that run jobs by name: a job returns found(what, n,
# failures), its line is printed and kept in bench/results/reliability.csv, from which
# `hardening.R report` writes RELIABILITY.md.

results_file <- file.path(root, "bench", "results", "reliability.csv")

found <- function(what, n, failures) list(what = what, n = n, failures = failures)

# Runs a job of a script and returns its failures.
run_job <- function(script, job, name, n = NULL, keep = TRUE) {
  seconds <- system.time(got <- do.call(job, as.list(n)))[["elapsed"]]
  cat(sprintf("%s: %s %s, %d failures (%.0f s)\n", name,
              format(got$n, big.mark = ",", scientific = FALSE), got$what,
              as.integer(got$failures), seconds))
  if (keep) keep_result(data.frame(
    job = name, n = got$n, failures = got$failures, what = got$what, seconds = round(seconds),
    date = format(Sys.Date()), version = description("Version"),
    command = trimws(paste("Rscript", file.path("tools", script), name, n))))
  got$failures
}

# A job's row replaces its previous one.
keep_result <- function(row) {
  kept <- if (file.exists(results_file)) utils::read.csv(results_file)
  at <- match(row$job, kept$job, nomatch = NROW(kept) + 1)
  utils::write.csv(rbind(kept[seq_len(at - 1), ], row, utils::tail(kept, -at)), results_file,
                   row.names = FALSE)
}

# A copy of the sources without build products.
copy_of_package <- function() {
  copy <- file.path(tempfile(), "fumi")
  dir.create(copy, recursive = TRUE)
  file.copy(c(list.files(root, full.names = TRUE), file.path(root, ".Rbuildignore")), copy,
            recursive = TRUE)
  unlink(c(file.path(copy, "ctest", "build"),
           list.files(file.path(copy, "src"), "[.](o|so)$", full.names = TRUE)), recursive = TRUE)
  copy
}

# The results of the tests of ctest/ from the output of make: c(checks, failures). A run that
# stopped before its end has failed.
core_checks <- function(out) {
  counts <- grep("^[0-9]+ checks", out, value = TRUE)
  sums <- function(pattern) sum(as.numeric(sub(pattern, "\\1", counts)))
  got <- c(checks = sums("^([0-9]+) checks.*"), failures = sums(".*, ([0-9]+) failed.*"))
  if (got[["failures"]] > 0)
    writeLines(utils::head(grep(":[0-9]+: .*( is | does not hold)", out, value = TRUE), 20))
  if (got[["failures"]] == 0 && !is.null(attr(out, "status"))) {
    writeLines(utils::tail(out, 20))
    got[["failures"]] <- 1
  }
  got
}
