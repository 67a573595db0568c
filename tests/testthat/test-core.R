test_that("the scale of an instance is one over its norm, or 1", {
  x <- cbind(c(3, 4), c(0, 0), c(1e200, 1e200), c(-1e-200, 0))
  expect_equal(instance_scale(x, "unit"), c(1 / 5, 0, 1 / (sqrt(2) * 1e200), 1e200))
  expect_identical(instance_scale(x, "none"), rep(1, 4))
  expect_identical(instance_scale(x[, 0], "unit"), numeric())
})

test_that("a scale is finite, and puts the norm at 1, at both ends of the range of doubles", {
  ends <- cbind(rep(1e308, 3), rep(1e-310, 3), rep(5e-324, 3))
  scale <- instance_scale(ends, "unit")
  expect_true(all(is.finite(scale)))
  norm <- sqrt(colSums((ends * rep(scale, each = 3))^2))
  expect_true(all(abs(norm - 1) < 1e-6 | norm == 0))
})

test_that("the portable loops are chosen by option or environment, and agree", {
  old <- options(fumi.simd = NULL)
  env <- Sys.getenv("FUMI_SIMD", NA)
  on.exit({
    options(old)
    if (is.na(env)) Sys.unsetenv("FUMI_SIMD") else Sys.setenv(FUMI_SIMD = env)
  })
  Sys.unsetenv("FUMI_SIMD")
  expect_identical(simd(), 0L)
  Sys.setenv(FUMI_SIMD = "portable")
  expect_identical(simd(), 1L)
  options(fumi.simd = "fast")
  expect_identical(simd(), 0L)
  options(fumi.simd = "avx2")
  expect_identical(simd(), 2L)
  options(fumi.simd = "portable")
  expect_identical(simd(), 1L)

  set.seed(1)
  b <- sim_bags(n_bags = 6, n_features = 7)
  fit <- function() {
    set.seed(2)
    dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control(max_iter = 5))
  }
  slow <- fit()
  slow_score <- predict(slow, b)$.score
  Sys.unsetenv("FUMI_SIMD")
  for (other in c("avx2", "any")) {
    options(fumi.simd = other)
    expect_equal(fit()$dictionary, slow$dictionary, tolerance = 1e-10)
    expect_equal(predict(slow, b)$.score, slow_score, tolerance = 1e-8)
  }
})

# As if this machine had n processors, and no option or environment variable said how many threads
# to use, until the calling test ends.
pretend <- function(n, env = parent.frame()) {
  real <- n_cores
  names <- c("FUMI_THREADS", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT")
  old <- Sys.getenv(names, NA, names = TRUE)
  old_options <- options(fumi.threads = NULL)
  back <- function() {
    utils::assignInNamespace("n_cores", real, "fumi")
    options(old_options)
    Sys.unsetenv(names)
    if (!all(is.na(old))) do.call(Sys.setenv, as.list(old[!is.na(old)]))
  }
  do.call(on.exit, list(as.call(list(back)), add = TRUE), envir = env)
  utils::assignInNamespace("n_cores", function() n, "fumi")
  Sys.unsetenv(names)
}

test_that("the number of threads is as given, else by option, else by environment, else 1", {
  pretend(8L)
  expect_identical(n_threads(), 1L)
  for (none in c("", "0", "all")) {
    Sys.setenv(OMP_NUM_THREADS = none)
    expect_identical(n_threads(), 1L)
  }
  Sys.setenv(OMP_NUM_THREADS = "5,2")
  expect_identical(n_threads(), 5L)
  Sys.setenv(FUMI_THREADS = "")
  expect_identical(n_threads(), 5L)
  Sys.setenv(FUMI_THREADS = "2")
  expect_identical(n_threads(), 2L)
  Sys.setenv(FUMI_THREADS = "many")
  expect_error(n_threads(), "`FUMI_THREADS`", class = "fumi_error_input")
  options(fumi.threads = 3)
  expect_identical(n_threads(), 3L)
  expect_identical(n_threads(4L), 4L)
  options(fumi.threads = 0)
  expect_error(n_threads(), "`fumi.threads`", class = "fumi_error_input")
})

test_that("there are no more threads than processors, nor than OpenMP's limit", {
  cores <- n_cores()
  expect_true(is.integer(cores) && cores >= 1)
  pretend(8L)
  expect_identical(n_threads(1000), 8L)
  Sys.setenv(OMP_THREAD_LIMIT = "3", OMP_NUM_THREADS = "6")
  expect_identical(n_threads(1000), 3L)
  expect_identical(n_threads(2), 2L)
  expect_identical(n_threads(), 3L)
  Sys.setenv(OMP_THREAD_LIMIT = "none")
  expect_identical(n_threads(1000), 8L)
  pretend(1L)
  expect_identical(n_threads(2), 1L)
})

test_that("threads change no bit of a fit or of a score", {
  set.seed(1)
  b <- sim_bags(n_bags = 40, bag_size = 30, n_features = 9)
  pretend(64L)
  run <- function(threads, variant) {
    options(fumi.threads = threads)
    set.seed(2)
    fit <- dlfumi(b, n_target = 2, n_background = 4,
                  control = dlfumi_control(variant, max_iter = 4))
    list(fit, predict(fit, b), predict(fit, b, type = "codes"))
  }
  for (variant in c("paper", "matlab", "exact")) {
    one <- run(1, variant)
    for (threads in c(2, 3, 20)) expect_identical(run(threads, variant), one)
  }
})

test_that("a forked process after threads does not hang", {
  skip_on_os("windows")
  set.seed(1)
  b <- sim_bags(n_bags = 20, bag_size = 30, n_features = 9)
  fit <- function(...) {
    set.seed(2)
    dlfumi(b, n_target = 1, n_background = 3,
           control = dlfumi_control(max_iter = 2, threads = 2))$codes
  }
  pretend(2L)
  before <- fit()
  job <- parallel::mcparallel(list(n_threads(2), par_here(list(threads = 2))$threads, fit()))
  on.exit(tools::pskill(job$pid, tools::SIGKILL))
  result <- NULL
  for (i in 1:600)
    if (is.null(result)) result <- parallel::mccollect(job, wait = FALSE, timeout = .2)
  expect_identical(result[[1]], list(1L, 1L, before))
})

test_that("a failure of the core becomes a classed error", {
  expect_error(check_status("memory"), class = "fumi_error_memory")
  expect_error(check_status("singular"), class = "fumi_error_singular")
  expect_error(check_status("interrupt"), class = "fumi_error_interrupt")
  for (fine in c("ok", "converged", "max_iter")) expect_silent(check_status(fine))
})

test_that("a fitter gets both labels, something to learn from, and squares that do not overflow", {
  x <- matrix(c(1, 2, 3, -4), 2)
  trainable <- function(x, normalize, label = 0:1) check_trainable(bags(x, 1:2, label), normalize,
                                                                   0)
  for (normalize in c("unit", "none")) {
    expect_s3_class(trainable(x, normalize), "bags")
    expect_s3_class(trainable(x * 1e99, normalize), "bags")
    expect_error(trainable(x * 0, normalize), "`x`", class = "fumi_error_scale")
    for (label in list(c(1, 1), c(0, 0)))
      expect_error(trainable(x, normalize, label), "`label`", class = "fumi_error_label")
  }
  expect_s3_class(trainable(x * 1e101, "unit"), "bags")
  expect_error(trainable(x * 1e101, "none"), "`x`", class = "fumi_error_scale")
})

test_that("positive_sd never divides by 0", {
  expect_identical(positive_sd(c(1, 3)), sd(c(1, 3)))
  expect_identical(positive_sd(c(2, 2)), 1)
  expect_identical(positive_sd(7), 1)
})

test_that("the negatives are one per row, normalised", {
  x <- rbind(c(3, 4), c(5, 12), c(0, 2))
  b <- bags(x, 1:3, c(0, 1, 0))
  expect_equal(normalised_negatives(b, instance_scale(b$x, "unit")), rbind(c(.6, .8), c(0, 1)))
  expect_equal(normalised_negatives(b, rep(1, 3)), x[c(1, 3), ])
})

test_that("a loop keeps what is done when it is interrupted", {
  run <- function(n, at, how) keep_until_interrupt(n, function(i) {
    if (i == at && how == "error") stop_fumi("no", class = "interrupt")
    if (i == at && how == "condition") rlang::interrupt()
    list(i = i, stop_reason = if (i == at && how == "status") "interrupt" else "converged")
  })
  kept <- function(loop) vapply(loop, `[[`, 1L, "i")
  whole <- run(3, 0, "")
  expect_identical(kept(whole), 1:3)
  expect_false(attr(whole, "interrupted"))
  for (how in c("error", "condition")) {
    cut <- run(3, 2, how)
    expect_identical(kept(cut), 1L)
    expect_true(attr(cut, "interrupted"))
  }
  # A fit that was stopped holds its last whole iteration, and is the last one kept.
  expect_identical(kept(run(3, 2, "status")), 1:2)
  expect_true(attr(run(3, 2, "status"), "interrupted"))
  # Nothing is done yet: the interrupt goes on to the user.
  expect_error(run(3, 1, "error"), class = "fumi_error_interrupt")
  expect_error(keep_until_interrupt(2, function(i) stop("other")), "other")
})

test_that("starts on workers that are all interrupted are an error", {
  real <- list(n_workers = n_workers, run_on_workers = run_on_workers)
  on.exit(for (name in names(real)) utils::assignInNamespace(name, real[[name]], "fumi"))
  utils::assignInNamespace("n_workers", function() 2, "fumi")
  stop_after <- function(n) utils::assignInNamespace("run_on_workers",
                                                     function(tasks, todo, f, keep, call) {
    for (i in seq_len(n)) keep(i, f(tasks[[i]]))
    rlang::interrupt()
  }, "fumi")
  stop_after(2)
  expect_identical(run_starts(3, identity), structure(list(1L, 2L), interrupted = TRUE))
  stop_after(0)
  expect_error(run_starts(3, identity), class = "fumi_error_interrupt")
})

test_that("an iteration that is interrupted ends with what it has, if that is anything", {
  for (stopped in list(function() rlang::interrupt(), function() check_status("interrupt"))) {
    state <- NULL
    iterate <- function(n) {
      for (i in seq_len(4)) if (i > n) stopped() else state <<- i
      "max_iter"
    }
    expect_identical(until_interrupt(iterate(2), !is.null(state)), "interrupt")
    expect_identical(state, 2L)
    expect_identical(until_interrupt(iterate(4), FALSE), "max_iter")
    expect_error(until_interrupt(iterate(0), FALSE), class = "fumi_error_interrupt")
  }
  expect_error(until_interrupt(stop("other"), TRUE), "other")
  expect_silent(warn_interrupted(structure(list(1), interrupted = FALSE), 3, NULL))
  expect_warning(warn_interrupted(structure(list(1, 2), interrupted = TRUE), 3, NULL),
                 "start 2 of 3", class = "fumi_warning_interrupt")
})

test_that("sorted bags are the same bags, in an order that is not the user's", {
  set.seed(1)
  x <- matrix(rnorm(60), 20)
  x[c(2, 7, 12, 17), ] <- 0                         # the same instance in many bags
  x[5:6, ] <- x[3:4, ]                              # and one bag twice
  x[11, ] <- x[1, ]
  bag <- rep(letters[1:10], each = 2)
  label <- rep(1:0, each = 10)
  b <- bags(x, bag, label, truth = label == 1)
  sorted <- sort_instances(b)
  expect_equal(in_user_order(sorted, sorted$x), t(x))
  expect_equal(in_user_order(sorted, sorted$ids[sorted$bag]), bag)
  expect_equal(in_user_order(sorted, sorted$label[sorted$bag]), label == 1)
  expect_equal(in_user_order(sorted, sorted$truth), label == 1)
  expect_equal(unique(sorted$bag), 1:10)
  expect_true(all(in_positive(sorted) == sorted$label[sorted$bag]))
  for (i in 1:5) {
    mixed <- sample(20)
    other <- sort_instances(bags(x[mixed, ], bag[mixed], label[mixed]))
    for (part in c("x", "bag", "label")) expect_identical(other[[part]], sorted[[part]])
  }
})

test_that("a forked process gets one thread", {
  old <- as.list(loaded)
  on.exit(list2env(old, loaded))
  pretend(8L)
  expect_identical(n_threads(3), 3L)
  loaded$pid <- -1L
  expect_identical(n_threads(3), 1L)
  list2env(old, loaded)
  loaded$by_fork <- TRUE
  expect_identical(n_threads(3), 1L)
})

test_that("a fork is known by the system's flags", {
  stat <- function(flags) {
    writeLines(paste("7 (a (name) 1 2) R 1 7 7 0 -1", flags, "98 0 0 0 0"), file <- tempfile())
    file
  }
  expect_true(is_fork(stat(64)))
  expect_true(is_fork(stat(4194304 + 64)))
  expect_true(is_fork(stat(2^31 + 64)))
  expect_false(is_fork(stat(4194304)))
  expect_false(is_fork(stat(2^31 + 128 + 32)))
  expect_false(is_fork(stat("?")))
  expect_false(is_fork(tempfile()))
  expect_false(is_fork())
  skip_on_os("windows")
  job <- parallel::mcparallel(is_fork())
  expect_true(parallel::mccollect(job)[[1]])
})

# OpenMP's threads run in a process that has not loaded the package: by its library, as a
# stranger's. Then a fork loads the package and fits on two threads.
test_that("a fork that loads the package after threads of another library does not hang", {
  skip_on_os("windows")
  skip_on_cran()
  out <- tempfile()
  script <- tempfile(fileext = ".R")
  writeLines(c(
    sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
    sprintf("stranger <- dyn.load('%s')", getLoadedDLLs()[["fumi"]][["path"]]),
    "set.seed(1); x <- matrix(rnorm(9 * 4000), 9); d <- matrix(rnorm(36), 9)",
    "par <- list(lambda = .05, steps = 50L, nonneg = FALSE, simd = 0L, threads = 2L)",
    "codes <- .Call(getNativeSymbolInfo('ffi_code', stranger), x, rep(1, 4000), d, par)",
    "stopifnot(!isNamespaceLoaded('fumi'))",
    "job <- parallel::mcparallel({",
    "  fumi <- asNamespace('fumi')",
    "  b <- fumi$bags(t(x), rep(1:40, each = 100), rep(0:1, each = 20))",
    "  control <- fumi$dlfumi_control(max_iter = 2, threads = 2)",
    "  fumi$dlfumi(b, n_target = 1, n_background = 3, control = control)$n_iter})",
    "got <- NULL",
    "for (i in 1:600) if (is.null(got)) got <- parallel::mccollect(job, wait = FALSE, timeout = .2)",
    "if (is.null(got)) tools::pskill(job$pid, tools::SIGKILL)",
    sprintf("saveRDS(list(got[[1]], codes$status), '%s')", out)), script)
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), stdout = FALSE,
          stderr = FALSE)
  expect_equal(readRDS(out), list(2, "ok"))
})

test_that("the core says why there are no codes, and which loops it runs", {
  x <- diag(2)
  out <- .Call(ffi_dlfumi_start_codes, x, c(1, 1), 1L, cbind(1:2 / 2, NaN),
               list(n_target = 1L, simd = 1L, threads = 1L))
  expect_identical(out$status, "singular")
  expect_error(check_status(out$status), class = "fumi_error_singular")
  expect_identical(.Call(ffi_kernel_name, 1L), "portable")
  expect_true(.Call(ffi_kernel_name, 2L) %in% c("portable", "avx2", "neon"))
  expect_true(.Call(ffi_kernel_name, 0L) %in% c("portable", "avx2", "avx512", "neon"))
})

# ---- the entries ------------------------------------------------------------------------------

# Arguments of every .Call entry, anew each time, because some entries work in theirs.
entry_calls <- function() {
  set.seed(1)
  x <- matrix(rnorm(100), 5)
  s <- rep(1, 20)
  d <- unit_columns(matrix(rnorm(20), 5))
  bag <- rep(0:3, each = 5)
  p <- rep(.5, 10)
  a <- function() matrix(.1, 4, 20)
  par <- dlfumi_par(list(n_target = 1, lambda = .01, beta = 1, gamma = .1, psi = 1,
                         control = dlfumi_control(inner = 2, max_iter = 3, threads = 1)))
  coding <- list(n_target = 1L, lambda = .05, lambda_separate = .05, separate = FALSE, steps = 0L,
                 nonneg = FALSE, simd = 1L, threads = 1L)
  dmil <- list(pool = "gmean", max_iter = 2L, exponent = 5, beta = 1, lambda = .05, tol = 0,
               simd = 1L)
  mihe <- list(n_target = 1L, coding = "sparse", variant = "fast", max_iter = 2L, beta = 5,
               power = 5, rho = .8,
               lambda = .01, alpha = .01, step = .001, tol = 0, simd = 1L, threads = 1L)
  quiet <- function(it, objective) NULL
  pass <- function(kind, D) .Call(ffi_dlfumi_pass, x, s, 10L, kind, D, a(), p, par, NULL, NULL, NULL)
  worst <- function(target, D) x[, 2]
  list(ffi_arrange = list(a(), 4:1, rep(1, 4), 20:1, letters[1:4]),
       ffi_code = list(x, s, d, coding[c("lambda", "steps", "nonneg", "simd", "threads")]),
       ffi_dd_moments = list(x, s, 10L),
       ffi_dd_objective = list(x, s, bag, c(1L, 1L, 0L, 0L), rep(1, 5),
                               list(model = "noisy-or", scale_type = "single"), rep(.1, 6)),
       ffi_dd_quadratic = list(x, s, rep(.1, 5), rep(1, 5)),
       ffi_dd_select = list(s, bag, 4L),
       ffi_dlfumi_carried = list(a(), p, 1L, 1, s),
       ffi_dlfumi_confidence = list(x, s, d, coding),
       ffi_dlfumi_fit = list(x, s, 10L, d, a(), par, s, p, quiet),
       ffi_dlfumi_fit_kept = list(d, par, quiet, pass, worst),
       ffi_dlfumi_pass = list(x, s, 10L, "paper", d, a(), p, par, s, p, s),
       ffi_dlfumi_start_codes = list(x, s, 10L, d, coding[c("n_target", "simd", "threads")]),
       ffi_dlfumi_step = list(x, s, 10L, "objective", d, d, a(), p, par, s, p),
       ffi_dlfumi_worst = list(x, s, 10L, TRUE, d, a(), p, 2:3, par, s),
       ffi_dmil_code = list(x, s, d, crossprod(d), s, .05, 1L),
       ffi_dmil_fit = list(x, s, bag, c(TRUE, TRUE, FALSE, FALSE), d, dmil, quiet),
       ffi_dmil_step = list(x, s, bag, c(TRUE, TRUE, FALSE, FALSE), d, a(), dmil),
       ffi_efumi_unmix = list(crossprod(d), 1L, s, crossprod(d, x)),
       ffi_kernel_name = list(1L),
       ffi_kmeans = list(x, s, 10L, c(.1, .6), list(max_iter = 5L, simd = 1L, threads = 1L)),
       ffi_mihe_evaluate = list(x, s, 10L, bag[1:10], 2L, d, mihe),
       ffi_mihe_fit = list(x, s, 10L, bag[1:10], 2L, d, mihe, quiet),
       ffi_n_cores = list(),
       ffi_squared_norms = list(x, s, 1L),
       ffi_sum_columns = list(x, s, 3:1),
       ffi_take = list(list(a = 1, b = 2), "b"),
       ffi_unit_scale = list(x))
}

call_entry <- function(name, args = entry_calls()[[name]]) {
  do.call(.Call, c(list(get(name, asNamespace("fumi"))), args), quote = TRUE)
}

expect_refused <- function(name, args, what) {
  expect_error(call_entry(name, args), "internal error of fumi", info = paste(name, what))
}

test_that("every entry takes good arguments", {
  expect_setequal(names(entry_calls()), names(getDLLRegisteredRoutines("fumi")$.Call))
  for (name in names(entry_calls())) {
    out <- call_entry(name)
    if (is.list(out) && "status" %in% names(out))
      expect_true(out$status %in% c("ok", "converged", "max_iter"), info = name)
    else expect_true(is.character(out) || all(is.finite(unlist(out))), info = name)
  }
})

test_that("every entry refuses arguments of another type or length, and NA where it counts", {
  any_length <- c("ffi_sum_columns 3", "ffi_dlfumi_worst 8", "ffi_kmeans 4", "ffi_dlfumi_carried 2")
  any_rows <- paste0("ffi_", c("squared_norms", "sum_columns", "kmeans", "unit_scale", "dd_moments",
                               "dlfumi_carried"), " 1")
  for (name in names(entry_calls())) for (i in seq_along(entry_calls()[[name]])) {
    good <- entry_calls()[[name]]
    with <- function(value) {
      good[[i]] <- value
      good
    }
    expect_refused(name, with(1i), i)
    if (is.atomic(good[[i]])) {
      if (!paste(name, i) %in% any_length) expect_refused(name, with(c(good[[i]], good[[i]][1])), i)
      if (is.matrix(good[[i]]) && !paste(name, i) %in% any_rows)
        expect_refused(name, with(good[[i]][-1, , drop = FALSE]), i)
    }
    if (is.integer(good[[i]]) || is.logical(good[[i]]))
      expect_refused(name, with(replace(good[[i]], 1, NA)), i)
  }
})

test_that("every entry refuses parameters that are missing, of another type or out of range", {
  for (name in names(entry_calls())) for (i in which(vapply(entry_calls()[[name]], is.list, NA))) {
    if (name == "ffi_take") next
    good <- entry_calls()[[name]]
    for (part in names(good[[i]])) {
      bad <- good
      bad[[i]][[part]] <- NULL
      expect_refused(name, bad, part)
      for (value in list(1i, NA, "", -1i, c(1, 1))) {
        bad[[i]][[part]] <- value
        expect_refused(name, bad, part)
      }
    }
    bad <- good
    for (part in intersect(names(good[[i]]), c("lambda", "lambda_separate"))) {
      bad[[i]][[part]] <- -1
      expect_refused(name, bad, paste(part, -1))
    }
    bad <- good
    counts <- c("n_target", "simd", "threads", "steps", "max_iter", "inner")
    for (part in intersect(names(good[[i]]), counts)) {
      for (value in c(list(-1L, 1.5, 1e10, NaN), if (part == "n_target") list(0L, 4L))) {
        bad[[i]][[part]] <- value
        expect_refused(name, bad, paste(part, value))
      }
    }
  }
})

test_that("indices, bags and counts out of range are errors, not reads beyond the end", {
  bad <- list(
    ffi_arrange = list(list(2, c(1L, 1:3)), list(2, c(0L, 2:4)), list(4, c(21L, 1:19)),
                       list(4, c(1L, 1:19))),
    ffi_dd_moments = list(list(3, 0L), list(3, 21L)),
    ffi_dd_objective = list(list(3, rep(0:4, 4)), list(3, rep(-1:2, 5)),
                            list(3, rep(0:2, length.out = 20)), list(4, c(1L, 0L, 2L, 0L))),
    ffi_dd_select = list(list(2, rep(1:4, 5)), list(2, rep(-1:2, 5)),
                         list(2, rep(0:2, length.out = 20)), list(3, 0L), list(3, -1L),
                         list(3, 21L)),
    ffi_dlfumi_carried = list(list(2, rep(.5, 21)), list(3, 5L)),
    ffi_dlfumi_fit = list(list(3, 21L), list(3, -1L), list(8, rep(.5, 11))),
    ffi_dlfumi_start_codes = list(list(3, 21L)),
    ffi_dlfumi_worst = list(list(8, 0L), list(8, 21L), list(8, 1:5)),
    ffi_dmil_fit = list(list(3, rep(1:4, 5)), list(3, rep(0L, 20))),
    ffi_dmil_code = list(list(4, NULL), list(5, NULL), list(6, -1)),
    ffi_code = list(list(1, matrix(0, 0, 20))),
    ffi_efumi_unmix = list(list(2, -1L), list(2, 5L)),
    ffi_kmeans = list(list(3, 20L), list(4, numeric()), list(4, c(.5, 1)), list(4, c(-.5, 0)),
                      list(4, c(0, NaN))),
    ffi_mihe_fit = list(list(3, 21L), list(4, rep(1:2, 5)), list(4, rep(0L, 10)), list(5, 3L),
                        list(5, 0L), list(5, .Machine$integer.max)),
    ffi_sum_columns = list(list(3, 0L), list(3, 21L), list(3, -1L)),
    ffi_take = list(list(2, "c"), list(1, list(1, 2))))
  for (name in names(bad)) for (case in bad[[name]]) {
    args <- entry_calls()[[name]]
    args[case[[1]]] <- list(case[[2]])
    expect_refused(name, args, paste(case[[1]], toString(case[[2]])))
  }
})

test_that("an entry works in codes that nobody else holds, and in a copy of others", {
  args <- entry_calls()
  fit <- args$ffi_dlfumi_fit
  mine <- matrix(.1, 4, 20)
  run <- function(codes)
    .Call(ffi_dlfumi_fit, fit[[1]], fit[[2]], fit[[3]], fit[[4]], codes, fit[[6]], NULL, NULL, NULL)
  also <- mine
  out <- run(mine)
  expect_identical(mine, matrix(.1, 4, 20))
  expect_false(identical(out$codes, mine))
  turned <- .Call(ffi_arrange, mine, 4:1, c(1, 1, -1, 1), 20:1, letters[1:4])
  expect_identical(also, matrix(.1, 4, 20))
  expect_identical(unname(turned), matrix(c(.1, .1, -.1, .1), 4, 20))
  alone <- matrix(.1, 4, 20)
  turned <- .Call(ffi_arrange, alone, 4:1, c(1, 1, -1, 1), 20:1, letters[1:4])
  expect_identical(alone, turned)
})

test_that("an element is taken out of a list, unless somebody else holds the list", {
  own <- list(a = c(1, 2), b = 3)
  expect_identical(.Call(ffi_take, own, "a"), c(1, 2))
  expect_identical(own, list(a = NULL, b = 3))
  shared <- list(a = c(1, 2), b = 3)
  also <- shared
  expect_identical(.Call(ffi_take, shared, "a"), c(1, 2))
  expect_identical(also, list(a = c(1, 2), b = 3))
})

# ---- conditions -------------------------------------------------------------------------------

# Fits of some iterations by two methods and by a keeper of instances, as functions of a function
# to report to.
reporting <- function() {
  args <- entry_calls()
  with <- function(name, i) {
    force(args)
    function(report) call_entry(name, replace(args[[name]], i, list(report)))
  }
  list(dlfumi = with("ffi_dlfumi_fit", 9), kept = with("ffi_dlfumi_fit_kept", 3),
       dmil = with("ffi_dmil_fit", 7))
}

test_that("an error of the function that a fit reports to goes on as it is", {
  own <- structure(class = c("own", "error", "condition"), list(message = "enough", call = NULL))
  for (fit in reporting()) {
    whole <- fit(NULL)
    seen <- NULL
    got <- tryCatch(withCallingHandlers(fit(function(it, objective) if (it == 2) stop(own)),
                                        error = function(e) seen <<- class(e)), error = identity)
    expect_identical(got, own)
    expect_identical(seen, class(own))
    expect_identical(fit(NULL), whole)
  }
})

test_that("handlers outside of a fit see messages and warnings of its report function", {
  for (fit in reporting()) {
    whole <- fit(NULL)
    seen <- character()
    note <- function(restart) function(c) {
      seen <<- c(seen, trimws(conditionMessage(c)))
      invokeRestart(restart)
    }
    got <- withCallingHandlers(fit(function(it, objective) {
      message("iteration ", it)
      warning("objective ", signif(objective, 3))
    }), message = note("muffleMessage"), warning = note("muffleWarning"))
    expect_identical(got, whole)
    expect_identical(seen[c(1, 3)], c("iteration 1", "iteration 2"))
    expect_match(seen[c(2, 4)], "^objective [0-9.]+$")
  }
})

test_that("any other way out of the function that a fit reports to is taken too", {
  for (fit in reporting()) {
    left <- callCC(function(leave) fit(function(it, objective) leave(it)))
    expect_identical(left, 1L)
    left <- withRestarts(fit(function(it, objective) invokeRestart("out", it)), out = identity)
    expect_identical(left, 1L)
  }
})

test_that("an interrupt in the function that a fit reports to leaves whole iterations", {
  for (fit in reporting()) {
    got <- fit(function(it, objective) if (it == 2) rlang::interrupt())
    expect_identical(got$status, "interrupt")
    expect_identical(got$n_iter, 2L)
  }
})

test_that("errors of a keeper of instances go on as they are, and its wrong answers are errors", {
  args <- entry_calls()$ffi_dlfumi_fit_kept
  kept <- function(pass) call_entry("ffi_dlfumi_fit_kept", replace(args, 4, list(pass)))
  expect_error(kept(function(kind, D) stop_fumi("gone", class = "worker")), "gone",
               class = "fumi_error_worker")
  expect_identical(kept(function(kind, D) NULL)$status, "interrupt")
  expect_error(kept(function(kind, D) 1), "internal error of fumi")
  expect_error(kept(function(kind, D) list(U = D, S = diag(3), terms = 1:4 / 2)), "`S`")
})

test_that("an interrupt in either function of a keeper of instances stops the fit", {
  args <- stats::setNames(entry_calls()$ffi_dlfumi_fit_kept,
                          c("D", "par", "report", "pass", "worst"))
  kept <- function(...) call_entry("ffi_dlfumi_fit_kept", utils::modifyList(args, list(...)))
  unused <- function(kind, D) { # the second atom, so that another instance is asked for
    sums <- args$pass(kind, D)
    sums$S[2, ] <- sums$S[, 2] <- 0
    sums
  }
  asked <- 0
  interrupted <- function(...) {
    asked <<- asked + 1
    rlang::interrupt()
  }
  expect_identical(kept(pass = interrupted)$status, "interrupt")
  got <- kept(pass = unused, worst = interrupted)
  expect_identical(list(got$status, got$n_iter, asked), list("interrupt", 0L, 2))
  expect_identical(got$dictionary, args$D)
})
