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

test_that("the number of threads is as given, else by option, else by environment, else 1", {
  old <- options(fumi.threads = NULL)
  env <- Sys.getenv("FUMI_THREADS", NA)
  on.exit({
    options(old)
    if (is.na(env)) Sys.unsetenv("FUMI_THREADS") else Sys.setenv(FUMI_THREADS = env)
  })
  Sys.unsetenv("FUMI_THREADS")
  expect_identical(n_threads(), 1L)
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

test_that("threads change no bit of a fit or of a score", {
  set.seed(1)
  b <- sim_bags(n_bags = 40, bag_size = 30, n_features = 9)
  old <- options(fumi.threads = NULL)
  on.exit(options(old))
  run <- function(threads, variant) {
    options(fumi.threads = threads)
    set.seed(2)
    fit <- dlfumi(b, n_target = 2, n_background = 4, control = dlfumi_control(variant, max_iter = 4))
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
    dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control(max_iter = 2, threads = 2))$codes
  }
  before <- fit()
  job <- parallel::mcparallel(list(n_threads(2), fit()))
  on.exit(tools::pskill(job$pid, tools::SIGKILL))
  result <- NULL
  for (i in 1:100) if (is.null(result)) result <- parallel::mccollect(job, wait = FALSE, timeout = .2)
  expect_identical(result[[1]], list(1L, before))
})

test_that("a failure of the core becomes a classed error", {
  expect_error(check_status("memory"), class = "fumi_error_memory")
  expect_error(check_status("singular"), class = "fumi_error_singular")
  expect_error(check_status("interrupt"), class = "fumi_error_interrupt")
  for (fine in c("ok", "converged", "max_iter")) expect_silent(check_status(fine))
})

test_that("a fitter gets both labels, something to learn from, and squares that do not overflow", {
  x <- matrix(c(1, 2, 3, -4), 2)
  trainable <- function(x, normalize, label = 0:1) check_trainable(bags(x, 1:2, label), normalize, 0)
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

test_that("the negatives are one a row, normalised", {
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
  stop_after <- function(n) utils::assignInNamespace("run_on_workers", function(tasks, todo, f, keep, call) {
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
  expect_warning(warn_interrupted(structure(list(1, 2), interrupted = TRUE), 3, NULL), "start 2 of 3",
                 class = "fumi_warning_interrupt")
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
  pid <- loaded$pid
  on.exit(loaded$pid <- pid)
  expect_equal(n_threads(3), 3)
  loaded$pid <- -1L
  expect_identical(n_threads(3), 1L)
})

test_that("the core says why there are no codes, and which loops it runs", {
  x <- diag(2)
  out <- .Call(ffi_dlfumi_start_codes, x, c(1, 1), 1L, cbind(1:2 / 2, NaN), 1L, TRUE)
  expect_identical(out$status, "singular")
  expect_error(check_status(out$status), class = "fumi_error_singular")
  expect_identical(.Call(ffi_kernel_name, 1L), "portable")
  expect_true(.Call(ffi_kernel_name, 2L) %in% c("portable", "avx2"))
  expect_true(.Call(ffi_kernel_name, 0L) %in% c("portable", "avx2", "avx512"))
})
