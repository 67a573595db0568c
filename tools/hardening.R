#!/usr/bin/env Rscript
# Runs the jobs that try to break the package, by name, and stores their results:
#
#   Rscript tools/hardening.R list            the jobs
#   Rscript tools/hardening.R mutate [n]      one of them, n times in place of its own number, or
#                                             with the tests that n names ("core|dlfumi")
#   Rscript tools/hardening.R quick           all that take a minute or two
#   Rscript tools/hardening.R ci              some, with small numbers, of which nothing is kept
#   Rscript tools/hardening.R report          writes RELIABILITY.md
#
# Other platforms are in platforms.R, shared code in jobs.R. The exit status is 1 if a job found
# anything.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(gsub("~+~", " ", script, fixed = TRUE)), "setup.R"), chdir = TRUE)
source(file.path(root, "tools", "jobs.R"))

# ---- what the jobs share -------------------------------------------------------------------------

# This package in a library of its own (or in FUMI_LIB, where it is already), and the helpers of
# its tests, for a job that runs in this session.
load_package <- function() {
  lib <- Sys.getenv("FUMI_LIB", tempfile("library"))
  if (!dir.exists(file.path(lib, "fumi"))) install_own(lib)
  Sys.setenv(FUMI_LIB = lib)
  use_libraries(c(lib, .libPaths()))
  load_helpers()
}

load_helpers <- function() {
  suppressMessages({library(testthat); library(fumi)})
  tests <- file.path(root, "tests", "testthat")
  for (file in list.files(tests, "^helper-", full.names = TRUE)) sys.source(file, globalenv())
}

fixture <- function(name) file.path(root, "tests", "testthat", "fixtures", name)

# A script for an R process of its own: its path, made of the lines.
script_of <- function(lines) {
  file <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
               "library(fumi)", lines), file)
  file
}

r_output <- function(lines, env = character()) {
  suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script_of(lines)),
                           stdout = TRUE, stderr = TRUE, env = env))
}

# This package compiled with the lines of a Makevars, or by another R, in a library of its own,
# which becomes the first. Returns what R CMD INSTALL said.
install_with <- function(makevars = character(), home = R.home()) {
  lib <- tempfile("library")
  dir.create(lib)
  flags <- tempfile()
  writeLines(makevars, flags)
  log <- suppressWarnings(system2(file.path(home, "bin", "R"),
    c("CMD", "INSTALL", "--no-test-load", "--no-docs", "--no-byte-compile",
      paste0("--library=", lib), copy_of_package()),
    stdout = TRUE, stderr = TRUE, env = paste0("R_MAKEVARS_USER=", flags)))
  if (!is.null(attr(log, "status")))
    stop(paste(utils::tail(log, 20), collapse = "\n"), call. = FALSE)
  use_libraries(c(lib, .libPaths()))
  log
}

# Planted bugs, one for each kind that a tool must detect: compiled like the package and called
# first; if the tool does not detect it, that is an error. A single block that leaks may still have
# its address on the stack.
bugs <- c(
  "#include <stdlib.h>", "#include <Rinternals.h>",
  "void overflow(double *x) { double *p = malloc(80); volatile int i = 10; p[i] = *x; *x = p[0]; free(p); }",
  "void signed_overflow(double *x) { volatile int i = 2147483647; i = i + 1; *x = i; }",
  "void uninitialised(double *x) { double *volatile p = malloc(80); if (p[3] > 1) *x = 2; free(p); }",
  "void leak(double *x) { for (int i = 0; i < 50; i++) { double *volatile p = malloc(4000); p[0] = *x; p = NULL; } }",
  "SEXP unprotected(void) { SEXP x = Rf_allocVector(REALSXP, 50); R_gc(); REAL(x)[0] = 1; return x; }",
  "SEXP writes(SEXP x) { REAL(x)[0] += 1; return R_NilValue; }")

# Lines that load the bugs and call one of them.
planted <- function(bug, makevars = character(), home = R.home()) {
  work <- tempfile()
  dir.create(work)
  before <- setwd(work)
  on.exit(setwd(before))
  writeLines(bugs, "bugs.c")
  writeLines(makevars, "flags")
  system2(file.path(home, "bin", "R"), c("CMD", "SHLIB", "bugs.c"), stdout = FALSE, stderr = FALSE,
          env = "R_MAKEVARS_USER=flags")
  call <- switch(bug, unprotected = ".Call('unprotected')",
                 writes = "f <- compiler::cmpfun(eval(bquote(function() .Call('writes', .(c(1, 2, 3)))))); f()",
                 sprintf(".C('%s', 1)", bug))
  c(sprintf("dyn.load('%s')", file.path(work, "bugs.so")), call)
}

must_see <- function(bug, out, pattern) {
  if (!any(grepl(pattern, out)))
    stop("the planted bug `", bug, "` was not seen:\n", paste(utils::tail(out), collapse = "\n"),
         call. = FALSE)
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

# Lines that define calls(), the arguments of every .Call entry (anew each time: a fit works in the
# codes that it is given), and entry(), which calls one.
every_entry <- c(
  "set.seed(1); x <- matrix(rnorm(100), 5); s <- rep(1, 20); d <- apply(matrix(rnorm(20), 5), 2, function(v) v / sqrt(sum(v^2)))",
  "bag <- rep(0:3, each = 5); lab <- c(1L, 1L, 0L, 0L); p <- rep(.5, 10); a <- matrix(0, 4, 20); f <- asNamespace('fumi')",
  "par <- f$dlfumi_par(list(n_target = 1, lambda = .01, beta = 1, gamma = .1, psi = 1, control = dlfumi_control(inner = 2, max_iter = 2)))",
  "dpar <- list(pool = 'noisy-or', max_iter = 2, exponent = 5, beta = 1, lambda = .05, tol = 0, simd = 1, threads = 1)",
  "cpar <- list(n_target = 1, lambda = .05, lambda_separate = .05, separate = FALSE, steps = 0, nonneg = FALSE, simd = 1, threads = 1)",
  "pass <- function(kind, D) .Call(f$ffi_dlfumi_pass, x, s, 10L, kind, D, a + 1, p, par, s, p, NULL)[c('U', 'S', 'terms')]",
  "worst <- function(target, D) x[, 2]",
  "hpar <- list(n_target = 1, coding = 'sparse', variant = 'fast', max_iter = 2, beta = 5, power = 5, rho = .8, lambda = .01,",
  " alpha = .01, step = .001, tol = 0, simd = 1, threads = 1)",
  "calls <- function() list(",
  " ffi_dlfumi_carried = list(a, p, 1L, 1, NULL), ffi_arrange = list(a + 0, 1:4, rep(1, 4), 20:1, letters[1:4]),",
  " ffi_code = list(x, s, d, cpar), ffi_dd_moments = list(x, s, 10L), ffi_dd_select = list(s, bag, 4L),",
  " ffi_dd_objective = list(x, s, bag, lab, rep(1, 5), list(model = 'noisy-or', scale_type = 'feature'), rep(.1, 10)),",
  " ffi_dd_quadratic = list(x, s, rep(.1, 5), rep(1, 5)), ffi_dlfumi_confidence = list(x, s, d, cpar),",
  " ffi_dlfumi_fit = list(x, s, 10L, d, a + 0, par, s, p, function(it, objective) NULL),",
  " ffi_dlfumi_fit_kept = list(d, par, NULL, pass, worst), ffi_dlfumi_pass = list(x, s, 10L, 'paper', d, a, p, par, s, NULL, NULL),",
  " ffi_dlfumi_worst = list(x, s, 10L, TRUE, d, a, p, 3L, par, NULL), ffi_squared_norms = list(x, s, 1L),",
  " ffi_sum_columns = list(x, s, 3:1),",
  " ffi_dlfumi_start_codes = list(x, s, 10L, d, cpar), ffi_dlfumi_step = list(x, s, 10L, 'objective', d, d, a, p, par, s, NULL),",
  " ffi_efumi_unmix = list(crossprod(d), 1L, s, crossprod(d, x)), ffi_dmil_code = list(x, s, d, NULL, NULL, .05, 1L),",
  " ffi_dmil_fit = list(x, s, bag, lab > 0, d, dpar, NULL), ffi_dmil_step = list(x, s, bag, lab > 0, d, a, dpar),",
  " ffi_mihe_evaluate = list(x, s, 10L, bag[1:10], 2L, d, hpar), ffi_mihe_fit = list(x, s, 10L, bag[1:10], 2L, d, hpar, NULL),",
  " ffi_kernel_name = list(1L), ffi_n_cores = list(), ffi_take = list(list(a = 1), 'a'), ffi_kmeans = list(x, s, 10L, c(.1, .6), dpar), ffi_unit_scale = list(x))",
  "stopifnot(setequal(names(calls()), names(getDLLRegisteredRoutines('fumi')$.Call)))",
  "entry <- function(name, args = calls()[[name]]) do.call(.Call, c(list(f[[name]]), args))",
  "writeLines(paste('entries', length(calls())))")

call_entries <- c(every_entry, "for (name in names(calls())) entry(name)")

# Lines that run the tests of the files that `filter` names, and count them; `slow`: also those
# that are skipped on CRAN.
suite <- function(filter = NULL, slow = TRUE) {
  sprintf(paste("Sys.setenv(NOT_CRAN = '%s'); r <- as.data.frame(testthat::test_dir('%s', filter = %s, package = 'fumi', load_package = 'installed',",
                "reporter = 'silent', stop_on_failure = FALSE)); bad <- r$failed > 0 | r$error;",
                "writeLines(c(sprintf('not ok %%s: %%s', r$file, r$test)[bad],",
                "sprintf('suite %%d %%d %%d', sum(r$passed), sum(bad), sum(r$skipped))))"),
          tolower(slow), file.path(root, "tests", "testthat"),
          if (is.null(filter)) "NULL" else paste0("'^(", filter, ")$'"))
}

# c(passed, failed, skipped) of such an output; a suite that does not finish has failed.
counted <- function(out) {
  line <- grep("^suite ", out, value = TRUE)
  writeLines(grep("^not ok", out, value = TRUE))
  if (!length(line)) {
    writeLines(utils::tail(out, 20))
    return(c(passed = 0, failed = 1, skipped = 0))
  }
  stats::setNames(as.numeric(strsplit(line, " ")[[1]][-1]), c("passed", "failed", "skipped"))
}

# ---- jobs -----------------------------------------------------------------------------------

jobs <- list()

jobs$mutate <- function(n = 10000) {
  load_package()
  bytes <- readBin(fixture("model-0.1.0.fumi"), raw(), 1e6)
  answers <- try_mutants(bytes, seq_len(n), readRDS(fixture("model-0.1.0-scores.rds"))$x)
  bad <- setdiff(answers, c("refused", "model"))
  writeLines(utils::head(bad))
  found(sprintf("damaged model files; %d refused, the others read as complete models with other numbers",
                sum(answers == "refused")),
        n, sum(answers %in% bad))
}

jobs$`kill-save` <- function(n = 50) {
  load_package()
  found("kill -9 while a model is saved: the file is the complete old or new one", n, killed_saves(n))
}

# An R process fits in a loop; it gets SIGINT at a random moment, and must answer with a condition
# of this package, a fit that reports it, or, inside code of R, R's own interrupt; then it must fit
# again.
jobs$interrupt <- function(n = 20) {
  load_package()
  lines <- c(
    "b <- {set.seed(1); sim_bags(n_bags = 54, bag_size = 50, n_features = 256)}",
    "again <- function() {set.seed(2); predict(dlfumi(b[c(1:5, 28:32)], n_target = 1, n_background = 3), b)}",
    "before <- again()", "cat(Sys.getpid(), file = commandArgs(TRUE)[1])",
    "answer <- tryCatch({repeat {fit <- dlfumi(b, n_target = 4, n_background = 15, control = dlfumi_control(max_iter = 1e4))",
    "  if (fit$stop_reason == 'interrupt') break}; 'fit'}, fumi_error_interrupt = function(e) 'error', interrupt = function(e) 'plain')",
    "at <- sum(proc.time()[1:2])",
    "saveRDS(list(answer, at, identical(again(), before)), commandArgs(TRUE)[1])")
  script <- script_of(lines)
  one <- function(i) {
    out <- tempfile()
    system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script, out), wait = FALSE,
            stdout = FALSE, stderr = FALSE)
    while (!file.exists(out) || !file.size(out)) Sys.sleep(.01)
    pid <- scan(out, quiet = TRUE)
    Sys.sleep(.05 + 2 * (i * .618) %% 1)
    sent <- processor_seconds(pid)
    tools::pskill(pid, tools::SIGINT)
    for (wait in 1:3000) {
      got <- tryCatch(suppressWarnings(readRDS(out)), error = function(e) NULL)
      if (!is.null(got))
        return(list(ok = got[[3]], plain = got[[1]] == "plain",
                    seconds = got[[2]] - sent))
      Sys.sleep(.02)
    }
    tools::pskill(pid, tools::SIGKILL)
    list(ok = FALSE, plain = FALSE, seconds = Inf)
  }
  got <- lapply(seq_len(n), one)
  seconds <- vapply(got, `[[`, 0, "seconds")
  found(sprintf("SIGINT at random moments of a fit: answered within %.2f s of the processor (limit 0.5), %d times by R itself; the next fit is correct",
                max(seconds), sum(vapply(got, `[[`, NA, "plain"))), n,
                sum(!vapply(got, `[[`, NA, "ok") | seconds > .5))
}

# What a process has used, which does not depend on how busy the machine is.
processor_seconds <- function(pid) {
  sum(as.numeric(scan(sprintf("/proc/%d/stat", pid), "", quiet = TRUE)[14:15])) / 100
}

# Fits of random sizes, methods and parameters in one session. Memory: the median of its last tenth
# of fits against that of the second tenth.
jobs$soak <- function(n = 1000) {
  load_package()
  set.seed(1)
  resident <- function() as.numeric(sub("[^0-9]*([0-9]+).*", "\\1",
                                        grep("VmRSS", readLines("/proc/self/status"),
                                             value = TRUE))) / 1024
  one <- function(i) {
    b <- sim_bags(n_bags = sample(4:30, 1), bag_size = sample(1:10, 1),
                  n_features = sample(c(1, 2, 5, 30, 300), 1), noise = runif(1))
    fit <- mil_methods[[sample(length(mil_methods), 1)]]
    tryCatch(all(is.finite(suppressWarnings(predict(fit(b), b)$.score))),
             fumi_error = function(e) TRUE, error = function(e) {
      message(i, ": ", conditionMessage(e))
      FALSE
    })
  }
  ok <- logical(n)
  megabytes <- numeric(n)
  for (i in seq_len(n)) {
    ok[i] <- one(i)
    gc()
    megabytes[i] <- resident()
  }
  tenth <- ceiling(10 * seq_len(n) / n)
  grown <- stats::median(megabytes[tenth == 10]) - stats::median(megabytes[tenth == 2])
  found(sprintf("fits of random methods and sizes; %+.1f MB resident memory from the second tenth of the fits to the last, at most 5", grown),
        n, sum(!ok) + (grown > 5))
}

jobs$`bad-input` <- function() {
  load_package()
  methods <- names(method_parameters)
  grDevices::pdf(NULL)
  cases <- c(unlist(lapply(methods, data_cases), FALSE),
             unlist(lapply(methods, parameter_cases), FALSE), method_cases(), function_cases())
  wrong <- run_cases(cases)
  writeLines(as.character(utils::head(wrong)))
  found("cases of invalid and unusual input, each with its expected answer", length(cases), length(wrong))
}

# The tests in the C locale and in a German one, which is created if the system can. R itself still
# reads and writes numbers with a decimal point there unless it is told not to; with a comma, most
# of the tests run once more. Scores must be the same in each setting.
jobs$locale <- function(tests = NULL) {
  need(system = "locales")
  load_package()
  made <- tempfile("locales")
  dir.create(made)
  suppressWarnings(system2("localedef", c("-i", "de_DE", "-f", "UTF-8",
                                          file.path(made, "de_DE.UTF-8"))))
  german <- c(paste0("LOCPATH=", made), "LC_ALL=de_DE.UTF-8")
  comma <- "invisible(suppressWarnings(Sys.setlocale('LC_NUMERIC', 'de_DE.UTF-8')))"
  if (!"," %in% r_output(c(comma, "writeLines(Sys.localeconv()[['decimal_point']])"), german))
    stop("no locale with a decimal comma can be made", call. = FALSE)
  hash <- function(env = character(),
                   first = NULL) grep("^hash", r_output(c(first, every_method), env), value = TRUE)
  got <- c(hash("LC_ALL=C"), hash("LC_ALL=C.UTF-8"),
           hash(first = "options(OutDec = ',', scipen = -9, digits = 3)"), hash(german),
  hash(german, comma))
  under_comma <- if (is.null(tests)) paste(setdiff(test_names(), no_comma), collapse = "|")
                 else tests
  outs <- list(r_output(suite(tests), "LC_ALL=C"), r_output(suite(tests), german),
               r_output(c(comma, suite(under_comma)), german))
  tests <- vapply(outs, counted, numeric(3))
  found(sprintf(paste("expectations: %.0f with LC_ALL=C, %.0f in a German locale, %.0f there with C's decimal comma, which R avoids;",
                      "and bitwise the same scores in five settings"), tests["passed", 1],
                      tests["passed", 2], tests["passed", 3]),
        sum(tests["passed", ]), sum(tests["failed", ]) + 5 - sum(got == hash()))
}

# Tests that compare printed numbers, which then have the comma, write some with functions of R, or
# start workers of future, which cannot draw their port then.
no_comma <- c("autoplot", "benchmark", "conditions", "dlfumi-methods", "mistakes", "newcomer",
              "paper-experiment", "paper-table", "peers", "progress",
              "roc", "shards", "tasks", "tidy", "tune", "view", "weights")

jobs$mclapply <- function(n = 10) {
  load_package()
  b <- contract_bags()
  fit <- function(i) {set.seed(1); predict(dlfumi(b, n_target = 1, n_background = 3,
                                                  control = dlfumi_control(threads = 2)), b)$.score}
  right <- fit(0)
  seconds <- system.time(got <- parallel::mclapply(seq_len(n), fit, mc.cores = 2))[["elapsed"]]
  found(sprintf("fits in forked children after a fit on two threads in the parent, %.1f s", seconds),
        n, sum(!vapply(got, identical, NA, right)))
}

# Every .Call entry, bare and with tiny arguments, with a collection at each allocation.
jobs$gctorture <- function(n = 1) {
  load_package()
  out <- r_output(c(every_entry, "compiler::enableJIT(0)",
                    sprintf("for (i in 1:%d) for (name in names(calls())) {", n),
                    " right <- entry(name); args <- calls()[[name]]",
                    " gctorture(TRUE); got <- entry(name, args); gctorture(FALSE); writeLines(paste('call', name, identical(got, right)))}"))
  total <- n * entries_of(out)
  found("calls of all entries, with a garbage collection at every allocation", total,
        total - sum(grepl("^call.*TRUE$", out)))
}

entries_of <- function(out) {
  line <- grep("^entries", out, value = TRUE)
  if (!length(line)) stop(paste(utils::tail(out), collapse = "\n"), call. = FALSE)
  as.numeric(sub("entries ", "", line))
}

jobs$ctest <- function() {
  need(system = c(clang = "clang", "libclang-rt-dev"))
  out <- system2("make", c("-C", shQuote(file.path(root, "ctest")), "all", "threads"),
                 stdout = TRUE, stderr = TRUE)
  got <- core_checks(out)
  found("checks of the core without R, under gcc's and clang's address and undefined-behaviour sanitizers and gcc's thread sanitizer",
        got[["checks"]], got[["failures"]])
}

jobs$fuzz <- function(seconds = 60) {
  out <- system2("make", c("-C", shQuote(file.path(root, "ctest")), "fuzz",
                           paste0("SECONDS=", seconds)), stdout = TRUE, stderr = TRUE)
  runs <- as.numeric(sub("[^0-9]*", "", grep("number_of_executed_units", out, value = TRUE)))
  failed <- !is.null(attr(out, "status")) || length(runs) == 0
  if (failed) writeLines(grep("ERROR|does not hold|Test unit", out, value = TRUE))
  found(sprintf("inputs of libFuzzer to eight entries of the core, %.0f s", seconds),
        if (length(runs)) runs else 0, as.integer(failed))
}

# libFuzzer on the reader of models, in a process that holds R and the package, compiled for it and
# for the address sanitizer. 0 seconds replay the corpus. What the fuzzer must see is a reader that
# fails where a byte is one of two.
jobs$`fuzz-reader` <- function(seconds = 60) {
  need(system = c(clang = "clang", "libclang-rt-dev"))
  reader <- file.path(root, "tools", "reader")
  install_with(c("CC = clang -std=gnu99 -fsanitize=address,undefined,fuzzer-no-link",
                 "CFLAGS = -g -O1", "SHLIB_OPENMP_CFLAGS ="))
  work <- tempfile("fuzz")
  dir.create(work)
  system2("clang", c("-g -O1 -fsanitize=fuzzer,address,undefined", paste0("-I", R.home("include")),
                     shQuote(file.path(reader, "fuzz.c")),
                     paste0("-L", R.home("lib")), "-lR", "-o", file.path(work, "fuzz")))
  run <- function(script, seconds, corpus) suppressWarnings(system2(file.path(R.home("bin"), "R"),
                                                                    c(
    "CMD", file.path(work, "fuzz"), if (seconds > 0) paste0("-max_total_time=", seconds)
                                    else "-runs=0", "-max_len=16384 -len_control=0",
    "-timeout=20 -rss_limit_mb=4096 -print_final_stats=1", paste0("-artifact_prefix=", work, "/"),
    corpus), stdout = TRUE, stderr = TRUE,
    env = c(paste0("FUMI_READER=", script), "ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0",
            "OPENBLAS_NUM_THREADS=1")))
  fault <- "does not hold its promise|ERROR: |runtime error"
  careless <- plain_script("one_input <- function(input) if (any(input[1:2] %in% as.raw(1:2))) stop('careless') else 0L")
  must_see("a reader that stops", run(careless, 20, file.path(work, "none")), fault)
  dir.create(new <- file.path(work, "new"))
  out <- run(file.path(reader, "one-input.R"), seconds, c(new, file.path(reader, "corpus")))
  runs <- as.numeric(sub("[^0-9]*", "", grep("number_of_executed_units", out, value = TRUE)))
  failed <- !is.null(attr(out, "status")) || length(runs) == 0 || any(grepl(fault, out))
  if (failed) writeLines(grep(paste0("^Error|Test unit|", fault), out, value = TRUE))
  found(sprintf("inputs of libFuzzer to the reader of models, %.0f s, the package under the address sanitizer; planted: a reader that stops", seconds),
        max(runs, 0), as.integer(failed))
}

# The package compiled with sanitizers, in an R that is not. Leaks are sought in the process of the
# tests and not in those that tests start; there they count if the package is in their stack, as
# suggested packages have some of their own.
jobs$asan <- function(tests = test_names()) {
  flags <- c("CC = gcc -std=gnu99 -fsanitize=address,undefined,bounds-strict -fno-omit-frame-pointer", "CFLAGS = -g -O1")
  install_with(flags)
  preload <- vapply(c("libasan.so", "libubsan.so"),
                    function(l) system2("gcc", paste0("-print-file-name=", l), stdout = TRUE), "")
  options <- function(leaks, slow = leaks)
    sprintf("detect_leaks=%d:exitcode=97:detect_odr_violation=0:fast_unwind_on_malloc=%d", leaks,
            1 - slow)
  env <- function(...) c(paste0("ASAN_OPTIONS=", options(...)),
                         "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1",
                         "R_DONT_USE_TK=true", "OPENBLAS_NUM_THREADS=1",
                         paste0("LD_PRELOAD='", paste(preload, collapse = " "), "'"))
  report <- "ERROR: AddressSanitizer|runtime error:|ERROR: LeakSanitizer"
  for (bug in c("overflow", "signed_overflow"))
    must_see(bug, r_output(planted(bug, flags), env(0)), report)
  must_see("leak", bare_r(planted("leak", flags), env(1)), report)
  must_see("leak", bare_r(planted("leak", flags), env(1, 0)), "^ *#[0-9].*bugs[.]c")
  alone <- bare_r(c(call_entries, every_method), env(1))
  children <- sprintf("Sys.setenv(ASAN_OPTIONS = '%s')", options(0))
  outs <- lapply(parts_of(tests), function(part) bare_r(c(children, suite(part, slow = FALSE)),
                                                        env(1, 0)))
  tests <- rowSums(vapply(outs, counted, numeric(3)))
  reports <- c(grep(report, alone, value = TRUE),
               grep("ERROR: AddressSanitizer|runtime error:|^ *#[0-9].*(r|core)_[a-z]+[.]c",
                    unlist(outs), value = TRUE))
  writeLines(reports)
  found(sprintf(paste("expectations (%d tests skipped), %d entries and all methods under gcc's address and undefined-behaviour sanitizers, with",
                      "a search for leaks; planted: an overflow of the heap, one of an integer, a leak"),
                tests[["skipped"]], entries_of(alone)), tests[["passed"]],
        tests[["failed"]] + length(reports) + !any(grepl("^hash", alone)))
}

# Names of test files, and patterns for parts of them: a report ends its process.
test_names <- function() sub("^test-(.*)[.]R$", "\\1",
                             list.files(file.path(root, "tests", "testthat"), "^test-"))
parts_of <- function(tests) vapply(split(tests, ceiling(seq_along(tests) / 8)), paste, "",
                                   collapse = "|")

# The binary of R without the shell script before it, which has leaks of its own.
bare_r <- function(lines, env) {
  home <- R.home()
  places <- c(R_HOME = home, R_SHARE_DIR = R.home("share"), R_INCLUDE_DIR = R.home("include"),
              R_DOC_DIR = R.home("doc"), LD_LIBRARY_PATH = file.path(home, "lib"))
  suppressWarnings(system2(file.path(home, "bin", "exec", "R"),
                           c("--vanilla", "--no-echo", "-f", script_of(lines)), stdout = TRUE,
                           stderr = TRUE, env = c(paste0(names(places), "=", places), env)))
}

jobs$valgrind <- function() {
  need(system = c(valgrind = "valgrind"))
  load_package()
  for (bug in c("uninitialised", "leak"))
    must_see(bug, under_valgrind(planted(bug)), "ERROR SUMMARY: [1-9]")
  out <- under_valgrind(c(call_entries, every_method,
                          suite("kernels|init-dictionary", slow = FALSE)))
  errors <- as.numeric(sub(".*ERROR SUMMARY: ([0-9]+) errors.*", "\\1",
                           grep("ERROR SUMMARY", out, value = TRUE)))
  tests <- counted(out)
  found(sprintf("calls, of all entries, all methods and %d expectations under valgrind, leaks counted; planted: an uninitialised read, a leak",
                tests[["passed"]]), entries_of(out),
                sum(errors) + tests[["failed"]] + !any(grepl("^hash", out)))
}

under_valgrind <- function(lines, home = R.home()) {
  command <- "valgrind --trace-children=no --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=96"
  suppressWarnings(system2(file.path(home, "bin", "R"),
                           c("--vanilla", "--no-echo", "-d", shQuote(command), "-f",
                             script_of(lines)),
                           stdout = TRUE, stderr = TRUE,
                           env = c("OPENBLAS_NUM_THREADS=1", "R_DONT_USE_TK=true")))
}

# Reference BLAS and OpenBLAS, the latter with one thread and with two. That they are others shows
# in their path and in the last bits of a product.
jobs$blas <- function(tests = NULL) {
  load_package()
  here <- function(...) Sys.glob(file.path("/usr/lib", "*-linux-gnu", ...))[1]
  reference <- paste0("R_LD_LIBRARY_PATH=", here("blas"), ":", here("lapack"))
  openblas <- paste0("R_LD_LIBRARY_PATH=", here("openblas-pthread"))
  ways <- list(c(reference, "OMP_NUM_THREADS=1"), c(openblas, "OPENBLAS_NUM_THREADS=1"),
               c(openblas, "OPENBLAS_NUM_THREADS=2"))
  outs <- lapply(ways, function(env)
    r_output(c("writeLines(paste('blas', extSoftVersion()['BLAS']))", suite(tests)), env))
  library <- vapply(outs, function(out) grep("^blas", out, value = TRUE)[1], "")
  if (library[1] == library[2]) stop("only one BLAS is here: ", library[1], call. = FALSE)
  tests <- vapply(outs, counted, numeric(3))
  found("expectations with reference BLAS and with OpenBLAS of one and of two threads, a third each", sum(tests["passed", ]), sum(tests["failed", ]))
}

jobs$`no-openmp` <- function(tests = NULL) {
  load_package()
  with <- symbols_of("fumi")
  install_with("SHLIB_OPENMP_CFLAGS =")
  if (!any(grepl("GOMP", with)) || any(grepl("GOMP", symbols_of("fumi"))))
    stop("the builds do not differ in OpenMP", call. = FALSE)
  tests <- counted(r_output(suite(tests)))
  found("expectations of a package built without OpenMP", tests[["passed"]], tests[["failed"]])
}

# Of the package that comes first in the libraries, whatever is loaded.
symbols_of <- function(package) {
  system2("nm", c("-D", file.path(find.package(package, lib.loc = .libPaths()), "libs",
                                  paste0(package, ".so"))), stdout = TRUE)
}

jobs$lto <- function(tests = NULL) {
  mismatch <- "-Wlto-type-mismatch"
  work <- tempfile(fileext = c(".c", ".c", ".so"))
  writeLines("double f(double x) { return x; }", work[1])
  writeLines("int f(int); int g(void) { return f(1); }", work[2])
  must_see("type mismatch", system2("gcc", c("-flto", "-shared", "-fPIC", work[1:2], "-o",
                                             work[3]), stdout = TRUE, stderr = TRUE), mismatch)
  log <- install_with(c("CFLAGS = -g -O2 -flto", "LDFLAGS = -flto -O2"))
  out <- r_output(c(call_entries, every_method, suite(tests)))
  tests <- counted(out)
  found(sprintf("expectations, %d entries and all methods, linked with LTO; planted: a mismatch of types", entries_of(out)), tests[["passed"]],
        tests[["failed"]] + sum(grepl(mismatch, log,
                                      fixed = TRUE)) + !any(grepl(" -flto",
                                                                  log)) + !any(grepl("^hash", out)))
}

# R looks after each call whether a constant of compiled code was written to.
jobs$constants <- function(tests = NULL) {
  load_package()
  env <- c("R_COMPILE_PKGS=1", "R_JIT_STRATEGY=4", "R_CHECK_CONSTANTS=5")
  changed <- "compiler constants were modified"
  must_see("writes", r_output(planted("writes"), env), changed)
  out <- r_output(c(call_entries, every_method, suite(tests)), env)
  tests <- counted(out)
  found(sprintf("expectations, %d entries and all methods with a look at the constants of compiled code; planted: a write to an argument",
                entries_of(out)), tests[["passed"]],
                tests[["failed"]] + sum(grepl(changed, out)) + !any(grepl("^hash", out)))
}

# A library with what DESCRIPTION imports and testthat, in which what is suggested cannot be found.
jobs$`no-suggests` <- function() {
  load_package()
  env <- tools:::setRlibs(pkgdir = root, libdir = dirname(find.package("fumi")), tests = TRUE,
                          self = TRUE)
  there <- "for (p in c('future', 'ggplot2', 'glmnet', 'png', 'cli')) if (requireNamespace(p, quietly = TRUE)) writeLines(paste('has', p))"
  out <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"),
                                  c("--vanilla", plain_script(c("library(fumi)", there, suite()))),
                                  stdout = TRUE, stderr = TRUE, env = env))
  if (!identical(grep("^has", out, value = TRUE), "has cli"))
    stop("what is suggested is not hidden:", paste(out, collapse = "\n"), call. = FALSE)
  tests <- counted(out)
  found(sprintf("expectations without the packages that are only suggested, %d tests skipped",
                tests[["skipped"]]), tests[["passed"]], tests[["failed"]])
}

plain_script <- function(lines) {
  file <- tempfile(fileext = ".R")
  writeLines(lines, file)
  file
}

# An R with strict write barriers, no long double and marks for valgrind: FUMI_STRICT_R is its
# home, else it is made. Slow tests are left out: some start workers, which packages that were
# built for another R cannot promise here.
jobs$strict <- function() {
  home <- Sys.getenv("FUMI_STRICT_R")
  if (!nzchar(home)) home <- build_strict_r()
  env <- paste0("R_LIBS=", library_without_base())
  run <- function(command, ...) suppressWarnings(system2(file.path(home, "bin", command), c(...),
                                                         stdout = TRUE, stderr = TRUE, env = env))
  must_see("unprotected", run("Rscript", "--vanilla",
                              plain_script(planted("unprotected", home = home))),
  "can only be applied to a 'numeric'")
  log <- run("R", "CMD", "INSTALL", "--no-docs", "--no-byte-compile", "--no-test-load",
             copy_of_package())
  if (!is.null(attr(log, "status"))) stop(paste(utils::tail(log), collapse = "\n"), call. = FALSE)
  out <- run("Rscript", "--vanilla", plain_script(c("library(fumi)",
                                                    "stopifnot(.Machine$sizeof.longdouble == 0)",
  call_entries, every_method,
                                                    suite(strict_tests, slow = FALSE))))
  tests <- counted(out)
  found(sprintf(paste("expectations of the tests that call C, %d entries and all methods in an R with strict write barriers and without",
                      "long double; planted: a missing PROTECT"), entries_of(out)),
                      tests[["passed"]], tests[["failed"]] + !any(grepl("^hash", out)))
}

strict_tests <- "dlfumi|dmil|init-dictionary|shards"

# A new library of links to all installed packages but this one and those that each R has of its
# own.
library_without_base <- function() {
  lib <- tempfile("library")
  dir.create(lib)
  installed <- utils::installed.packages()
  extra <- installed[!installed[, "Priority"] %in% "base" & installed[, "Package"] != "fumi" & !duplicated(installed[, "Package"]), ]
  file.symlink(file.path(extra[, "LibPath"], extra[, "Package"]),
               file.path(lib, extra[, "Package"]))
  lib
}

# From Debian's source package, of the place that apt has its packages from: 5 minutes.
build_strict_r <- function() {
  need(system = c("libcurl4-openssl-dev", "libpcre2-dev", "liblzma-dev", "libbz2-dev",
                  "zlib1g-dev"))
  work <- tempfile("strict")
  dir.create(file.path(work, "parts"), recursive = TRUE)
  dir.create(file.path(work, "lists", "partial"), recursive = TRUE)
  from <- readLines(list.files("/etc/apt/sources.list.d", "^debian[.]sources$", full.names = TRUE))
  writeLines(sub("^Types: deb$", "Types: deb-src", from),
             file.path(work, "parts", "source.sources"))
  configure <- paste("./configure --enable-strict-barrier --disable-long-double --with-valgrind-instrumentation=2",
    "--without-recommended-packages --disable-byte-compiled-packages --without-x --without-readline --disable-java --disable-nls",
    "--enable-R-shlib --with-blas --with-lapack CFLAGS='-g -O1' FFLAGS=-O1 CXXFLAGS=-O1")
  script <- c("set -e", paste("cd", work),
              'apt="apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$PWD/parts -o Dir::State::lists=$PWD/lists"',
              "$apt update", "$apt --download-only source r-base", "tar xzf r-base_*.orig.tar.gz",
              "cd R-*", configure, "nice make R")
  log <- suppressWarnings(system2("sh", plain_script(script), stdout = TRUE, stderr = TRUE))
  if (!is.null(attr(log, "status")))
    stop(paste(utils::tail(log, 20), collapse = "\n"), call. = FALSE)
  list.files(work, "^R-", full.names = TRUE)
}

# ---- memory and size ------------------------------------------------------------------------

# A fit in less and less address space: it is done, or refused with a condition, and never hangs.
jobs$memory <- function(n = 12) {
  load_package()
  under <- function(megabytes, lines) {
    command <- sprintf("ulimit -v %.0f; timeout 120 %s --vanilla %s", 1024 * megabytes,
                       file.path(R.home("bin"), "Rscript"), script_of(lines))
    out <- suppressWarnings(system2("sh", c("-c", shQuote(command)), stdout = TRUE, stderr = TRUE,
                                    env = "OPENBLAS_NUM_THREADS=1"))
    answer <- grep("^answer", out, value = TRUE)
    if (length(answer)) return(answer)
    if (identical(attr(out, "status"), 1L)) "outside"
    else paste("none: status", attr(out, "status"), utils::tail(out, 1))
  }
  must_see("a vector beyond the limit",
           under(1000, "tryCatch(numeric(2e8), error = function(e) writeLines('answer'))"),
  "^answer")
  lines <- c("fits <- list(mi_svm, miles, function(b) dlfumi(b, n_target = 2, n_background = 20, n_start = 20, control = dlfumi_control(max_iter = 1)))",
             # no product, in which OpenBLAS may hang
             "set.seed(1); b <- bags(matrix(rnorm(4e5), 4000), rep(1:100, each = 40), rep(0:1, 50))",
             "answer <- function(fit) tryCatch({fit(b); 'fit'}, fumi_error_memory = function(e) 'refused', error = function(e) 'R')",
             "writeLines(paste('answer', paste(vapply(fits, answer, ''), collapse = ' ')))")
  base <- as.numeric(sub("[^0-9]*", "",
                         r_output("writeLines(sub(' kB', '', grep('VmSize', readLines('/proc/self/status'), value = TRUE)))",
                                               "OPENBLAS_NUM_THREADS=1"))) / 1024
  answers <- vapply(base + 150 * 1.3^seq_len(n) - 150, under, "", lines = lines)
  each <- unlist(strsplit(sub("^answer ", "", grep("^answer", answers, value = TRUE)), " "))
  writeLines(answers)
  found(sprintf("limits of the address space for three fits each: %d done, %d refused with an estimate, %d by R; %d limits too small for the package and the data",
                sum(each == "fit"), sum(each == "refused"), sum(each == "R"),
                sum(answers == "outside")), n, sum(grepl("^none", answers)))
}

# Lines that make bags of `n` instances of `d` features of numbers that are cheap to draw, positive
# bags first.
large_bags <- function(d, n) c(
  "kb <- function(f) as.numeric(gsub('[^0-9]', '', grep(f, readLines('/proc/self/status'), value = TRUE)))",
  sprintf("d <- %.0f; n <- %.0f; set.seed(1)", d, n),
  "b <- bags(matrix(rep_len(rnorm(1000003), n * d), n), rep(seq_len(n / 100), each = 100), rep(1:0, each = n / 200)); invisible(gc())",
  "fit <- function() dlfumi(b, n_target = 2, n_background = 5, control = dlfumi_control(max_iter = 2))")

enough_memory <- function(d, n) {
  free <- fumi:::bytes_free()
  if (free < 3 * 8 * d * n)
    stop("this takes ", round(3 * 8 * d * n / 1e9), " GB of free memory, and there are ",
         round(free / 1e9), call. = FALSE)
}

jobs$size <- function(n = 100000, d = 5000) {
  load_package()
  enough_memory(d, n)
  out <- r_output(c(large_bags(d, n), "fit()",
                    "writeLines(sprintf('peak %.3f', kb('VmHWM') * 1024 / (8 * d * n)))"))
  peak <- as.numeric(sub("peak ", "", grep("^peak", out, value = TRUE)))
  if (!length(peak)) writeLines(utils::tail(out))
  found(sprintf("instances of %.0f features, made into bags and fitted: peak memory of the process %.2f times the data, at most 2.5", d, max(peak, 0)),
        n, sum(!length(peak), peak > 2.5))
}

# As `interrupt`, for one process whose data are large: what counts is how soon it answers.
jobs$`interrupt-large` <- function(n = 5, d = 5000, size = 100000) {
  load_package()
  enough_memory(d, size)
  out <- r_output(c(
    large_bags(d, size),
    "whole <- system.time(fit())[['elapsed']]; writeLines(sprintf('whole %.1f', whole))",
    "sent <- tempfile()", sprintf("for (i in 1:%d) {", n),
    " system(sprintf('(sleep %.3f; cut -d\\\\  -f14,15 /proc/%d/stat > %s; kill -INT %d) &', .05 + whole * .9 * (i * .618) %% 1, Sys.getpid(), sent, Sys.getpid()))",
    " got <- tryCatch({r <- suppressWarnings(fit()); r$stop_reason}, fumi_error_interrupt = function(e) 'refused', interrupt = function(e) 'R')",
    " at <- sum(proc.time()[1:2]); if (!got %in% c('interrupt', 'refused', 'R')) tryCatch(Sys.sleep(60), interrupt = identity)",
    " writeLines(sprintf('answer %s %.2f', got, at - sum(scan(sent, quiet = TRUE)) / 100))}",
    "fit(); writeLines('again')"))
  answers <- grep("^answer", out, value = TRUE)
  writeLines(answers)
  seconds <- as.numeric(sub(".* ", "", answers))
  found(sprintf("SIGINT at moments of a fit to %.0f instances of %.0f features (%s s): answered in at most %.2f s of the processor, and the next fit done",
                size, d, sub("whole ", "", grep("^whole", out, value = TRUE)), max(seconds, 0)), n,
        n - sum(seconds <= 2) + !any(out == "again"))
}

# ---- coverage -------------------------------------------------------------------------------

# Expressions of R by covr, lines and branches of C by gcov, of the tests and of ctest/ together.
# What is not run is kept by its text, with the reason that was written beside it by hand.
jobs$coverage <- function() {
  need(c("covr", "jsonlite"))
  copy <- copy_of_package()
  dir.create(traces <- tempfile("traces"))
  Sys.setenv(NOT_CRAN = "true", OPENBLAS_NUM_THREADS = 1, COVERAGE_DIR = traces)
  tests <- sprintf("testthat::test_dir('%s', package = 'fumi', load_package = 'installed', reporter = 'silent', stop_on_failure = FALSE)",
                   file.path(copy, "tests", "testthat"))
  covr::package_coverage(copy, type = "none", code = tests, clean = FALSE, quiet = TRUE)
  r <- r_runs(traces)
  c <- c_runs(copy)
  missing <- keep_uncovered(rbind(r[!r$run, ], c[!c$run, names(r)]))
  counts <- !grepl("GLUE_ASSERT", code_of(c))
  share <- 100 * c(mean(r$run), mean(c$run), sum(c$taken[counts]) / sum(c$branches[counts]))
  found(sprintf(paste("places: %.1f %% of the expressions of R, %.1f %% of the lines of C and %.1f %% of its branches are run",
                      "(assertions against bugs of our own apart); at least 98, 98 and 90 %%, and each line that is not has its reason below"),
                share[1], share[2], share[3]), nrow(r) + nrow(c),
                missing + sum(share < c(98, 98, 90)))
}

# The core by ctest/ alone, which takes a minute.
jobs$`core-coverage` <- function() {
  need("jsonlite")
  c <- c_runs(copy_of_package())
  share <- 100 * c(mean(c$run), sum(c$taken) / sum(c$branches))
  found(sprintf("lines of the core; ctest/ alone runs %.1f %% of them and %.1f %% of the branches, at least 95 and 90 %%", share[1], share[2]),
        nrow(c), sum(share < c(95, 90)))
}

# One row an expression of R, from the traces that each process left. A process that a test killed
# may have left half of one, of which covr itself would make an error.
r_runs <- function(traces) {
  read <- function(file) tryCatch(suppressWarnings(as.list(readRDS(file))),
                                  error = function(e) NULL)
  traces <- unlist(lapply(list.files(traces, full.names = TRUE), read), recursive = FALSE)
  run <- tapply(vapply(traces, `[[`, 0, "value") > 0, names(traces), any)
  place <- lapply(traces[match(names(run), names(traces))], `[[`, "srcref")
  data.frame(file = vapply(place, function(p) file.path("R", basename(attr(p, "srcfile")$filename)), ""),
             line = vapply(place, `[[`, 0L, 1), run = as.vector(run))
}

# The lines of C in a copy of the package, after ctest/ and whatever has run there before.
c_runs <- function(copy) {
  system2("make", c("-C", file.path(copy, "ctest"), "coverage"), stdout = FALSE)
  objects <- list.files(copy, "^(core|r)_.*[.]gcda$", recursive = TRUE, full.names = TRUE)
  merge_runs(do.call(rbind, lapply(objects, gcov_lines)))
}

# One row per line of C of this package: whether it ran, and which of its branches.
gcov_lines <- function(object) {
  text <- system2("gcov", c("--json-format", "--stdout", "-b", "-o", dirname(object),
                            shQuote(object)), stdout = TRUE, stderr = FALSE)
  files <- unlist(lapply(text, function(t) jsonlite::fromJSON(t, simplifyVector = FALSE)$files),
                  recursive = FALSE)
  files <- files[grepl("(core[a-z_]*|r_[a-z]+)[.][ch]$", vapply(files, `[[`, "", "file"))]
  rows <- lapply(files, function(f) lapply(f$lines, function(l)
    list(file = file.path("src", basename(f$file)), line = l$line_number, run = l$count > 0,
         taken = vapply(l$branches, function(b) b$count > 0, NA))))
  rows <- unlist(rows, recursive = FALSE)
  data.frame(file = vapply(rows, `[[`, "", "file"), line = vapply(rows, `[[`, 0L, "line"),
             run = vapply(rows, `[[`, NA, "run"), taken = I(lapply(rows, `[[`, "taken")))
}

# A line of a header is there once for each file that includes it, and each file once for each way
# it is built.
merge_runs <- function(lines) {
  parts <- split(lines, list(lines$file, lines$line), drop = TRUE)
  do.call(rbind, lapply(parts, function(part) {
    longest <- max(lengths(part$taken))
    taken <- Reduce(`|`, part$taken[lengths(part$taken) == longest])
    data.frame(file = part$file[1], line = part$line[1], run = any(part$run), branches = longest,
               taken = sum(taken))
  }))
}

code_of <- function(places) {
  text <- lapply(split(places$line, places$file), identity)
  text <- Map(function(lines, file) trimws(readLines(file.path(root, file)))[lines], text,
              names(text))
  unsplit(text, places$file)
}

uncovered_file <- file.path(root, "bench", "results", "uncovered.csv")

# Writes the places that were not run, with the reasons that are known; returns how many have none.
keep_uncovered <- function(places) {
  now <- unique(data.frame(file = places$file, code = code_of(places)))
  known <- if (file.exists(uncovered_file)) utils::read.csv(uncovered_file)
           else data.frame(file = character(), code = character(), reason = character())
  now$reason <- known$reason[match(paste(now$file, now$code), paste(known$file, known$code))]
  now$reason[is.na(now$reason)] <- ""
  utils::write.csv(now[order(now$file, now$code), ], uncovered_file, row.names = FALSE)
  writeLines(sprintf("%s: %s", now$file, now$code)[now$reason == ""])
  sum(now$reason == "")
}

quick <- c("mutate", "kill-save", "interrupt", "soak", "bad-input", "mclapply", "gctorture",
           "ctest", "fuzz", "fuzz-reader", "memory")
ci <- list(mutate = 400, `kill-save` = 5, `fuzz-reader` = 0, locale = "validate-model",
           constants = "validate-model", `no-openmp` = "core")

# ---- results --------------------------------------------------------------------------------

run_named <- function(name, n = NULL, keep = TRUE) run_job("hardening.R", jobs[[name]], name, n,
                                                           keep)

blind_spots <- c(
  "Other processors and systems are emulated, and only the core's own tests run there (`tools/platforms.R`): R was not run on Windows, macOS, musl or a big-endian machine, nor R-devel, and neither MKL nor ATLAS as BLAS.",
  "rchk was not run: it needs an R compiled to LLVM bitcode. The R with strict write barriers finds a missing PROTECT only if a garbage collection happens in between.",
  "gctorture on an R without strict write barriers misses most missing PROTECTs.",
  "R itself was not compiled with sanitizers: a write past the end of an R vector of up to 16 doubles is not detected.",
  "Under sanitizers and without suggested packages, tests that are slow or start other processes may be skipped; the lines say how many.",
  "The reader of models is R code, for which libFuzzer has no coverage; it uses the messages of the reader instead.",
  "The memory estimate is a lower bound: a fit that passes it can still fail with R's own `cannot allocate`.",
  "Data of more than 2^31 numbers were fitted once, from a file (`bench/results/file-backed.csv`), but not in any job.",
  "A file changed on purpose, with a matching checksum, can hold other numbers than were saved: the checksum detects accidents only.",
  "`readRDS()` of somebody else's model can run code on R before 4.4.0; `mil_load()` cannot.",
  "Locales other than those named in the line of that job.")

write_report <- function() {
  r <- utils::read.csv(results_file)
  number <- format(r$n, big.mark = ",", trim = TRUE, scientific = FALSE)
  table <- sprintf("| %s | %s %s | %d | %s | %s | `%s` |", r$job, number, r$what, r$failures, r$date,
                   r$version, r$command)
  writeLines(c("# Reliability", "",
               "What was tried to break the package, and the result. `Rscript tools/hardening.R report` writes this file from",
               "`bench/results/reliability.csv`; the command of a line updates it. A job that relies on a tool first runs the tool",
               "on a planted bug, and stops if the tool does not find it.", "",
               "| job | tried | failures | date | version | command |", "|------|------------------------|----|-----|----|-----------|", table, "",
               "## Not tested", "",
               paste("*", c(not_run(r$job), not_again(r), blind_spots)), uncovered_section()),
               file.path(root, "RELIABILITY.md"))
}

not_run <- function(done) {
  lacking <- setdiff(names(jobs), done)
  if (length(lacking)) paste0("These jobs have no result yet: ", toString(lacking), ".")
}

# Jobs whose line is of an earlier version.
not_again <- function(r) {
  earlier <- r$job[r$version != description("Version")]
  if (length(earlier)) sprintf("These jobs have not run again since an earlier version, which their line names: %s.", toString(earlier))
}

# Lines that no test runs, by reason.
uncovered_section <- function() {
  if (!file.exists(uncovered_file)) return(NULL)
  u <- utils::read.csv(uncovered_file)
  c("", "## Lines that no test runs", "", "| file | line | why |", "|---|---|---|",
    sprintf("| %s | `%s` | %s |", u$file, gsub("|", "\\|", u$code, fixed = TRUE), u$reason))
}

arguments <- commandArgs(TRUE)
asked <- if (length(arguments)) arguments[1] else "list"
if (asked == "list") {
  writeLines(c(names(jobs), "quick", "ci", "report"))
} else if (asked == "report") {
  write_report()
} else if (asked == "ci") {
  quit(status = as.integer(any(mapply(run_named, names(ci), ci, keep = FALSE) > 0)))
} else {
  names <- if (asked == "quick") quick else asked
  if (!all(names %in% names(jobs))) stop("no job ", asked, ": `list` names them", call. = FALSE)
  failures <- vapply(names, run_named, 0,
                     n = if (length(arguments) > 1) utils::type.convert(arguments[2], as.is = TRUE))
  quit(status = as.integer(any(failures > 0)))
}
