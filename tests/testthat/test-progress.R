bags_and_fit <- function(...) {
  set.seed(1)
  b <- sim_bags(n_bags = 4, bag_size = 3, n_features = 4)
  set.seed(2)
  dlfumi(b, n_target = 1, n_background = 2, control = dlfumi_control(max_iter = 3), ...)
}

# Bars at once, so that there is something to break.
eager <- function(code) {
  old <- options(cli.progress_show_after = 0, cli.progress_clear = FALSE)
  on.exit(options(old))
  force(code)
}

test_that("bars that are off do nothing", {
  bar <- fit_progress(FALSE, 2, 10)
  expect_null(bar$report(1))
  expect_null(bar$done())
  bar <- task_progress(FALSE, "tasks", 3)
  expect_silent(bar$tick("a"))
  expect_null(bar$done())
})

test_that("a fit without progress is silent", {
  eager({
    expect_silent(bags_and_fit(progress = FALSE))
    expect_silent(bags_and_fit())
  })
})

test_that("bars that are on count up and close", {
  eager({
    suppressMessages(capture.output(type = "message", {
      bar <- fit_progress(TRUE, 2, 10)
      report <- bar$report(2)
      expect_type(report, "closure")
      for (it in 1:10) report(it, 1 / it)
      expect_match(get("status", environment(report)), "2/2.* 10.* 0.1$")
      expect_no_error(bar$done())
      bar <- task_progress(TRUE, "tasks", 3)
      for (name in c("a", "b", "c")) bar$tick(name)
      expect_identical(get("status", environment(bar$tick)), "c")
      expect_no_error(bar$done())
    }))
  })
})

test_that("a bar changes nothing in a fit, whatever the number of starts", {
  eager({
    suppressMessages(capture.output(type = "message", {
      for (n_start in 1:2)
        expect_identical(bags_and_fit(progress = TRUE, n_start = n_start),
                         bags_and_fit(progress = FALSE, n_start = n_start))
    }))
  })
})

test_that("the core reports each iteration with its objective", {
  set.seed(1)
  b <- sim_bags(n_bags = 4, bag_size = 3, n_features = 4)
  spec <- list(n_target = 1L, n_background = 2L, lambda = .001, beta = 30, gamma = .001, psi = 1,
               normalize = "unit", n_start = 1L, control = dlfumi_control(max_iter = 3))
  start <- dlfumi_starts(b, instance_scale(b$x, "unit"), spec, "paper",
                         call = rlang::current_env())[[1]]
  seen <- NULL
  fit <- dlfumi_run(b, instance_scale(b$x, "unit"), start, spec,
                    function(it, objective) seen <<- rbind(seen, c(it, objective)))
  expect_equal(seen, cbind(1:3, fit$objective$objective))
})

test_that("a bar over classes changes nothing", {
  set.seed(1)
  x <- matrix(rnorm(72), 18)
  run <- function(progress) {
    set.seed(2)
    one_vs_rest(x, bag = rep(1:6, each = 3), label = rep(c("a", "b", "c"), 2), n_target = 1,
                n_background = 2, control = dlfumi_control(max_iter = 2), progress = progress)
  }
  eager(suppressWarnings(suppressMessages(capture.output(type = "message", {
    expect_identical(run(TRUE), run(FALSE))
  }))))
})

test_that("the option fumi.progress is the default", {
  old <- options(fumi.progress = NA)
  on.exit(options(old))
  expect_error(bags_and_fit(), "`progress`", class = "fumi_error_input")
  options(fumi.progress = FALSE)
  expect_silent(bags_and_fit())
})

test_that("a bar is closed when the fit fails", {
  before <- cli::cli_progress_num()
  eager(suppressMessages(capture.output(type = "message", {
    set.seed(1)
    b <- sim_bags(n_bags = 4, bag_size = 3, n_features = 4)
    expect_error(dlfumi(b, n_target = 1, n_background = 2, init = list(dictionary = diag(2)),
                        progress = TRUE),
                 class = "fumi_error_input")
  })))
  expect_identical(cli::cli_progress_num(), before)
})
