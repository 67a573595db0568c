#!/usr/bin/env Rscript
# Runs the jobs that try to break the package, by name, and keeps what they found:
#
#   Rscript tools/hardening.R list            the jobs
#   Rscript tools/hardening.R mutate [n]      one of them, n times in place of its own number
#   Rscript tools/hardening.R quick           all that take a minute or two
#   Rscript tools/hardening.R report          writes RELIABILITY.md
#
# A job returns list(what, n, failures); its line is printed and kept in bench/results/reliability.csv, from
# which RELIABILITY.md is written. The exit status is 1 if a job found anything.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(gsub("~+~", " ", script, fixed = TRUE)), "setup.R"), chdir = TRUE)

results_file <- file.path(root, "bench", "results", "reliability.csv")
found <- function(what, n, failures) list(what = what, n = n, failures = failures)

# ---- what the jobs share -------------------------------------------------------------------------

# This package in a library of its own (or in FUMI_LIB, where it is already), and the helpers of its tests,
# for a job that runs in this session.
load_package <- function() {
  lib <- Sys.getenv("FUMI_LIB", tempfile("library"))
  if (!dir.exists(file.path(lib, "fumi"))) install_own(lib)
  use_libraries(c(lib, .libPaths()))
  load_helpers()
}

load_helpers <- function() {
  suppressMessages({library(testthat); library(fumi)})
  tests <- file.path(root, "tests", "testthat")
  for (file in list.files(tests, "^helper-", full.names = TRUE)) sys.source(file, globalenv())
}

fixture <- function(name) file.path(root, "tests", "testthat", "fixtures", name)

# A script in an R process of its own: its path, made of the lines.
script_of <- function(lines) {
  file <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")), "library(fumi)", lines), file)
  file
}

r_output <- function(lines, env = character(), wrapper = NULL) {
  suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script_of(lines)), stdout = TRUE, stderr = TRUE,
                           env = env))
}

# Lines that fit a small model of every method and print a hash of all scores.
every_method <- c(
  "set.seed(1)", "b <- sim_bags(n_bags = 12, bag_size = 5, n_features = 17)",
  "fits <- list(dlfumi(b, n_target = 1, n_background = 3), dmil(b, max_iter = 3), em_dd(b, n_start = 2), e_fumi(b, max_iter = 5),",
  "  diverse_density(b, n_start = 1, max_iter = 5), mi_svm(b), miles(b), mmdl(b, n_clusters = 2), mi_ace(b), sil(b),",
  "  dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control('exact')))",
  "scores <- lapply(fits, function(f) predict(f, b)$.score)",
  "file <- tempfile(); mil_save(fits[[1]], file); stopifnot(identical(mil_load(file), fits[[1]]))",
  "writeLines(paste('hash', rlang::hash(scores)))")

# ---- jobs ------------------------------------------------------------------------------------------

jobs <- list()

jobs$mutate <- function(n = 10000) {
  load_package()
  bytes <- readBin(fixture("model-0.1.0.fumi"), raw(), 1e6)
  answers <- try_mutants(bytes, seq_len(n), readRDS(fixture("model-0.1.0-scores.rds"))$x)
  bad <- setdiff(answers, c("refused", "model"))
  writeLines(utils::head(bad))
  found(sprintf("damaged model files; %d refused, the others whole models with other numbers", sum(answers == "refused")),
        n, sum(answers %in% bad))
}

jobs$`kill-save` <- function(n = 50) {
  load_package()
  found("kill -9 while a model is saved: the old file or the new one, whole", n, killed_saves(n))
}

# An R process fits in a loop; it gets SIGINT at a random moment, and must answer with a condition of ours,
# or a fit that says so, and then fit again.
jobs$interrupt <- function(n = 20) {
  load_package()
  lines <- c(
    "b <- {set.seed(1); sim_bags(n_bags = 60, bag_size = 20, n_features = 200)}",
    "again <- function() {set.seed(2); predict(dlfumi(b[c(1:5, 31:35)], n_target = 1, n_background = 3), b)}",
    "before <- again()", "cat(Sys.getpid(), file = commandArgs(TRUE)[1])",
    "answer <- tryCatch({repeat {fit <- dlfumi(b, n_target = 2, n_background = 8, control = dlfumi_control(max_iter = 1e4))",
    "  if (fit$stop_reason == 'interrupt') break}; 'fit'}, fumi_error_interrupt = function(e) 'error', interrupt = function(e) 'plain')",
    "at <- Sys.time()", "saveRDS(list(answer, at, identical(again(), before)), commandArgs(TRUE)[1])")
  script <- script_of(lines)
  one <- function(i) {
    out <- tempfile()
    system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script, out), wait = FALSE, stdout = FALSE, stderr = FALSE)
    while (!file.exists(out) || !file.size(out)) Sys.sleep(.01)
    pid <- scan(out, quiet = TRUE)
    Sys.sleep(.05 + 2 * (i * .618) %% 1)
    sent <- Sys.time()
    tools::pskill(pid, tools::SIGINT)
    for (wait in 1:500) {
      got <- tryCatch(suppressWarnings(readRDS(out)), error = function(e) NULL)
      if (!is.null(got)) return(list(ok = got[[1]] != "plain" && got[[3]], seconds = as.numeric(got[[2]] - sent, units = "secs")))
      Sys.sleep(.02)
    }
    tools::pskill(pid, tools::SIGKILL)
    list(ok = FALSE, seconds = Inf)
  }
  got <- lapply(seq_len(n), one)
  found(sprintf("SIGINT at a random moment of a fit: answered in at most %.2f s, the next fit right",
                max(vapply(got, `[[`, 0, "seconds"))), n, sum(!vapply(got, `[[`, NA, "ok")))
}

# Fits of random sizes, methods and parameters in one session.
jobs$soak <- function(n = 300) {
  load_package()
  set.seed(1)
  resident <- function() as.numeric(sub("[^0-9]*([0-9]+).*", "\\1", grep("VmRSS", readLines("/proc/self/status"), value = TRUE))) / 1024
  one <- function(i) {
    b <- sim_bags(n_bags = sample(4:30, 1), bag_size = sample(1:10, 1), n_features = sample(c(1, 2, 5, 30, 300), 1), noise = runif(1))
    fit <- mil_methods[[sample(length(mil_methods), 1)]]
    tryCatch(all(is.finite(suppressWarnings(predict(fit(b), b)$.score))), fumi_error = function(e) TRUE, error = function(e) {
      message(i, ": ", conditionMessage(e))
      FALSE
    })
  }
  ok <- logical()
  for (i in seq_len(n)) {
    ok[i] <- one(i)
    if (i == ceiling(n / 3)) {gc(); start <- resident()}
  }
  gc()
  found(sprintf("fits of random methods and sizes; %+.1f MB resident after the first third", resident() - start), n, sum(!ok))
}

jobs$`bad-input` <- function() {
  load_package()
  methods <- names(method_parameters)
  grDevices::pdf(NULL)
  cases <- c(unlist(lapply(methods, data_cases), FALSE), unlist(lapply(methods, parameter_cases), FALSE), method_cases(), function_cases())
  wrong <- run_cases(cases)
  writeLines(as.character(utils::head(wrong)))
  found("cases of bad and odd input, each with its answer", length(cases), length(wrong))
}

jobs$locale <- function() {
  load_package()
  plain <- grep("^hash", r_output(every_method), value = TRUE)
  there <- system2("locale", "-a", stdout = TRUE)
  settings <- c("LC_ALL=C", "LC_ALL=C.UTF-8", paste0("LC_ALL=", grep("de_DE|fr_FR|tr_TR", there, value = TRUE)))
  settings <- settings[settings != "LC_ALL="]
  same <- vapply(settings, function(s) identical(grep("^hash", r_output(every_method, s), value = TRUE), plain), NA)
  comma <- grep("^hash", r_output(c("options(OutDec = ',', scipen = -9, digits = 3)", every_method)), value = TRUE)
  found(paste0("settings (", toString(settings), ", a decimal comma) with the same scores to the last bit"),
        length(same) + 1, sum(!same, !identical(comma, plain)))
}

jobs$mclapply <- function(n = 10) {
  load_package()
  b <- contract_bags()
  fit <- function(i) {set.seed(1); predict(dlfumi(b, n_target = 1, n_background = 3), b)$.score}
  right <- fit(0)
  seconds <- system.time(got <- parallel::mclapply(seq_len(n), fit, mc.cores = 2))[["elapsed"]]
  found(sprintf("fits in forked children after one in the parent, %.1f s", seconds), n, sum(!vapply(got, identical, NA, right)))
}

# Every .Call entry, bare and with tiny arguments, with a collection at each allocation.
jobs$gctorture <- function(n = 1) {
  load_package()
  lines <- c(
    "set.seed(1); x <- matrix(rnorm(100), 5); s <- rep(1, 20); d <- apply(matrix(rnorm(20), 5), 2, function(v) v / sqrt(sum(v^2)))",
    "bag <- rep(0:3, each = 5); lab <- c(1L, 1L, 0L, 0L); par <- c(0, 0, 0, 1, 2, 2, 0, 1, .01, 1, .1, 1, 0, 1e-6, 1, 0, 0)",
    "dpar <- c(0, 2, 1, 5, 1, .05, 0); f <- asNamespace('fumi')",
    "a <- matrix(0, 4, 20)", "compiler::enableJIT(0)",
    "calls <- function() list(",     # anew each time: a fit works in the codes that it is given
    " ffi_dlfumi_carried = list(a, rep(.5, 10), 1L, 1, NULL), ffi_arrange = list(a + 0, 1:4, rep(1, 4), 20:1, letters[1:4]),",
    " ffi_code = list(x, s, d, .05, 0L, FALSE, TRUE, 1L), ffi_dd_moments = list(x, s, 10L), ffi_dd_select = list(s, bag, 4L),",
    " ffi_dd_objective = list(x, s, bag, lab, rep(1, 5), c(0L, 0L), rep(.1, 10)), ffi_dd_quadratic = list(x, s, rep(.1, 5), rep(1, 5)),",
    " ffi_dlfumi_confidence = list(x, s, d, 1L, c(.05, .05), FALSE, 0L, FALSE, TRUE, 1L), ffi_dlfumi_fit = list(x, s, 10L, d, a + 0, par, s, NULL, NULL),",
    " ffi_dlfumi_start_codes = list(x, s, 10L, d, 1L, TRUE), ffi_dlfumi_step = list(x, s, 10L, 3L, d, d, a, rep(.5, 10), par, s, NULL),",
    " ffi_efumi_unmix = list(crossprod(d), 1L, s, crossprod(d, x)), ffi_dmil_code = list(x, s, d, NULL, NULL, .05, TRUE),",
    " ffi_dmil_fit = list(x, s, bag, lab > 0, d, dpar, NULL), ffi_dmil_step = list(x, s, bag, lab > 0, d, a, dpar),",
    " ffi_kernel_name = list(TRUE), ffi_kmeans = list(x, s, 10L, c(.1, .6), 5L, TRUE), ffi_unit_scale = list(x))",
    "stopifnot(setequal(names(calls()), names(getDLLRegisteredRoutines('fumi')$.Call)))",
    "for (name in names(calls())) {args <- function() c(list(f[[name]]), calls()[[name]]); right <- do.call(.Call, args())",
    sprintf(" for (i in 1:%d) {new <- args(); gctorture(TRUE); got <- do.call(.Call, new); gctorture(FALSE)", n),
    "  writeLines(paste('call', name, identical(got, right)))}}", "writeLines(paste('entries', length(calls())))")
  out <- r_output(lines)
  entries <- as.numeric(sub("entries ", "", grep("^entries", out, value = TRUE)))
  if (!length(entries)) return(found("calls: the job itself stopped", 0, 1))
  found("calls, of all entries, with a collection at every allocation", entries * n, entries * n - sum(grepl("^call.*TRUE$", out)))
}

jobs$ctest <- function() {
  need(system = c(clang = "clang", "libclang-rt-dev"))
  out <- system2("make", c("-C", shQuote(file.path(root, "ctest"))), stdout = TRUE, stderr = TRUE)
  counts <- grep("^[0-9]+ checks", out, value = TRUE)
  sums <- function(pattern) sum(as.numeric(sub(pattern, "\\1", counts)))
  stopped <- !is.null(attr(out, "status")) && !any(grepl("does not hold", out))
  found("checks of the core without R, under gcc's and clang's address and undefined-behaviour sanitizers",
        sums("^([0-9]+) checks.*"), sums(".*, ([0-9]+) failed") + stopped)
}

jobs$fuzz <- function(seconds = 60) {
  out <- system2("make", c("-C", shQuote(file.path(root, "ctest")), "fuzz", paste0("SECONDS=", seconds)), stdout = TRUE, stderr = TRUE)
  runs <- as.numeric(sub("[^0-9]*", "", grep("number_of_executed_units", out, value = TRUE)))
  failed <- !is.null(attr(out, "status")) || length(runs) == 0
  if (failed) writeLines(grep("ERROR|does not hold|Test unit", out, value = TRUE))
  found(sprintf("inputs of libFuzzer to eight entries of the core, %.0f s", seconds), if (length(runs)) runs else 0, as.integer(failed))
}

# The package compiled with sanitizers, in an R that is not: all methods, then the tests of what calls C.
jobs$asan <- function() {
  flags <- tempfile()
  writeLines(c("CC = gcc -std=gnu99 -fsanitize=address,undefined,bounds-strict -fno-omit-frame-pointer", "CFLAGS = -g -O1"), flags)
  Sys.setenv(R_MAKEVARS_USER = flags)
  lib <- tempfile("library")
  dir.create(lib)
  copy <- file.path(tempfile(), "fumi")
  dir.create(dirname(copy))
  file.copy(root, dirname(copy), recursive = TRUE)
  file.rename(file.path(dirname(copy), basename(root)), copy)
  r_cmd("INSTALL", "--preclean", "--no-test-load", paste0("--library=", lib), copy)
  use_libraries(c(lib, .libPaths()))
  preload <- vapply(c("libasan.so", "libubsan.so"), function(l) system2("gcc", paste0("-print-file-name=", l), stdout = TRUE), "")
  env <- c("ASAN_OPTIONS=detect_leaks=0:exitcode=97:detect_odr_violation=0", "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1",
           "R_DONT_USE_TK=true", paste0("LD_PRELOAD='", paste(preload, collapse = " "), "'"))
  tests <- sprintf("r <- as.data.frame(testthat::test_dir('%s', filter = '^(dlfumi|dmil|e-fumi|em-dd|core|init-dictionary|mmdl|mi-ace)$', package = 'fumi', load_package = 'installed', reporter = 'silent', stop_on_failure = FALSE)); writeLines(paste('passed', sum(r$passed), 'failed', sum(r$failed) + sum(r$error)))",
                   file.path(root, "tests", "testthat"))
  out <- r_output(c(every_method, tests), env)
  reports <- sum(grepl("ERROR: AddressSanitizer|runtime error:", out))
  done <- grep("^passed", out, value = TRUE)
  found("expectations of the tests that call C, under gcc's address and undefined-behaviour sanitizers",
        sum(as.numeric(sub("passed ([0-9]+).*", "\\1", done))), reports + (length(done) == 0))
}

jobs$valgrind <- function() {
  load_package()
  command <- "valgrind --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=96"
  out <- suppressWarnings(system2(file.path(R.home("bin"), "R"), c("--vanilla", "--no-echo", "-d", shQuote(command), "-f", script_of(every_method)),
                                  stdout = TRUE, stderr = TRUE, env = "OPENBLAS_NUM_THREADS=1"))
  errors <- as.numeric(sub(".*ERROR SUMMARY: ([0-9]+) errors.*", "\\1", grep("ERROR SUMMARY", out, value = TRUE)))
  found("methods fitted and predicted under valgrind, leaks counted", 11, if (any(grepl("^hash", out))) sum(errors) else 1)
}

jobs$coverage <- function() {
  got <- covr::coverage_to_list(covr::package_coverage(root, type = "tests"))
  below <- sum(got$filecoverage < 90)
  found(sprintf("files of R/ and src/; %.1f %% of all lines run in the tests, and those files below 90 %% count", got$totalcoverage),
        length(got$filecoverage), below)
}

quick <- c("mutate", "kill-save", "interrupt", "soak", "bad-input", "locale", "mclapply", "gctorture", "ctest", "fuzz")

# ---- results -----------------------------------------------------------------------------------------

run_job <- function(name, n = NULL) {
  seconds <- system.time(got <- do.call(jobs[[name]], as.list(n)))[["elapsed"]]
  cat(sprintf("%s: %s %s, %d failures (%.0f s)\n", name, format(got$n, big.mark = ","), got$what, got$failures, seconds))
  row <- data.frame(job = name, n = got$n, failures = got$failures, what = got$what, seconds = round(seconds), date = format(Sys.Date()),
                    command = trimws(paste("Rscript tools/hardening.R", name, n)))
  kept <- if (file.exists(results_file)) utils::read.csv(results_file)
  all <- rbind(kept[!kept$job %in% name, ], row)
  utils::write.csv(all[order(match(all$job, names(jobs))), ], results_file, row.names = FALSE)
  got$failures
}

blind_spots <- c(
  "Only Linux on x86-64, R 4.2 and gcc/clang of Debian 12 were used: no Windows, macOS, ARM or big-endian machine.",
  "R itself was not compiled with sanitizers: a write past a vector of up to 16 doubles that R owns is not seen.",
  "gctorture on an R without strict barriers sees little of a missing PROTECT; rchk was not run.",
  "A damaged file whose checksum was made to fit can hold other numbers than were saved: the checksum is against accidents.",
  "`readRDS()` of a model from somebody else can run code on R before 4.4.0; `mil_load()` cannot.",
  "Locales are those that the machine has; see the line of that job.")

write_report <- function() {
  r <- utils::read.csv(results_file)
  number <- format(r$n, big.mark = ",", trim = TRUE, scientific = FALSE)
  table <- sprintf("| %s | %s %s | %d | %s | `%s` |", r$job, number, r$what, r$failures, r$date, r$command)
  writeLines(c("# Reliability", "", "What was tried to break the package, and what came of it. Written by `Rscript tools/hardening.R report`",
               "from `bench/results/reliability.csv`; every line is renewed by its command.", "",
               "| job | tried | failures | date | command |", "|---|---|---|---|---|", table, "", "## Blind spots", "",
               paste("*", blind_spots)), file.path(root, "RELIABILITY.md"))
}

arguments <- commandArgs(TRUE)
asked <- if (length(arguments)) arguments[1] else "list"
if (asked == "list") {
  writeLines(c(names(jobs), "quick", "report"))
} else if (asked == "report") {
  write_report()
} else {
  names <- if (asked == "quick") quick else asked
  if (!all(names %in% names(jobs))) stop("no job ", asked, ": `list` names them", call. = FALSE)
  failures <- vapply(names, run_job, 0, n = if (length(arguments) > 1) as.numeric(arguments[2]))
  quit(status = as.integer(any(failures > 0)))
}
