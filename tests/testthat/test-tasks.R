square <- function(task) list(value = task$n^2, draw = with_stream(task$stream, stats::runif(1)))
some_tasks <- function(n = 4) {
  lapply(seq_len(n), function(i) list(name = paste("task", i), method = i, n = i, stream = task_stream(7, i)))
}

test_that("streams are their own and leave the user's random numbers alone", {
  set.seed(1)
  expected <- runif(2)
  set.seed(1)
  first <- runif(1)
  a <- with_stream(task_stream(7, 1), runif(3))
  b <- with_stream(task_stream(7, 2), runif(3))
  expect_equal(c(first, runif(1)), expected)
  expect_identical(with_stream(task_stream(7, 1), runif(3)), a)
  expect_false(any(a %in% b))
  expect_false(identical(task_stream(7, 1, 1), task_stream(7, 1, 2)))
  expect_error(with_stream(task_stream(7, 1), stop("inside")), "inside")
  expect_identical(RNGkind()[1], "Mersenne-Twister")
})

test_that("tasks give their results in order", {
  out <- run_tasks(some_tasks(), square)
  expect_equal(vapply(out, `[[`, 0, "value"), (1:4)^2)
})

test_that("a run goes on where it stopped", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  whole <- run_tasks(some_tasks(), square)
  calls <- 0
  counted <- function(task) {
    calls <<- calls + 1
    if (task$n == 3) rlang::interrupt()
    square(task)
  }
  expect_warning(part <- run_tasks(some_tasks(), counted, open_work(dir)), "2 of 4", class = "fumi_warning_interrupt")
  expect_null(part[[3]])
  expect_equal(length(list.files(dir)), 2)
  counted <- function(task) {
    calls <<- calls + 1
    square(task)
  }
  expect_identical(run_tasks(some_tasks(), counted, open_work(dir)), whole)
  expect_equal(calls, 5)
})

test_that("an interrupt before the first result is an error", {
  expect_error(run_tasks(some_tasks(), function(task) rlang::interrupt(), title = "folds"), "none of 4 folds",
               class = "fumi_error_interrupt")
})

test_that("an error ends its task, an interrupt all of them", {
  expect_identical(why_failed(simpleError("no luck")), "no luck")
  stopped <- tryCatch(check_status("interrupt"), error = identity)
  expect_error(why_failed(stopped), class = "fumi_error_interrupt")
})

test_that("a daemon sends a value, or an error as it is", {
  expect_identical(answer(function(task) task$n, list(n = 3)), list(value = 3))
  expect_s3_class(answer(function(task) stop_fumi("no", class = "scale"), list()), "fumi_error_scale")
})

test_that("results of other tasks are refused, and a torn file is made anew", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  run_tasks(some_tasks(), square, open_work(dir))
  other <- some_tasks()
  other[[2]]$method <- 10
  expect_error(run_tasks(other, square, open_work(dir)), "task-2-.*.rds was made with another method", class = "fumi_error_dir")
  writeLines("torn", task_file(some_tasks()[[1]], dir))
  expect_equal(run_tasks(some_tasks(), square, open_work(dir))[[1]]$value, 1)
  expect_error(open_work(1), "`dir`", class = "fumi_error_input")
})

test_that("a folder gives back what was drawn for it, and names each part that differs", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  open <- function(data = 1:10, measure = "auc", seed = 1) open_work(dir, list(data = data, measure = measure), list(seed = seed))
  expect_equal(open()$drawn$seed, 1)
  expect_equal(open(seed = 2)$drawn$seed, 2)               # nothing is kept yet
  run_tasks(some_tasks(1), square, open())
  expect_equal(open(seed = 2)$drawn$seed, 1)
  expect_error(open(data = 1:9), "other data:", class = "fumi_error_dir")
  expect_error(open(measure = "tpr"), "another measure:", class = "fumi_error_dir")
  expect_error(open(1, "tpr"), "other data, another measure:", class = "fumi_error_dir")
  expect_error(open_work(dir, list(data = 1:10)), "another measure:", class = "fumi_error_dir")
  file <- list.files(dir, full.names = TRUE)
  kept <- readRDS(file)
  kept$identity[["version"]] <- "0.0.1"
  saveRDS(kept, file)
  expect_error(open(), "another version:", class = "fumi_error_dir")
  saveRDS(list(task = list(name = "task 1"), result = 1), file)              # as version 0.1.0 wrote it
  expect_error(open(), "another version", class = "fumi_error_dir")
})

test_that("values have the same fingerprint however they are held, and other values another", {
  expect_identical(fingerprint(1:10), fingerprint(c(1L, 2L, 3:10)))
  ids <- as.character(1:10)
  before <- fingerprint(ids)
  sort(ids)
  expect_identical(fingerprint(ids), before)
  expect_identical(fingerprint(structure(1, a = 1, b = 2)), fingerprint(structure(1, b = 2, a = 1)))
  values <- list(1:10, as.numeric(1:10), 10:1, c(a = 1), 1, "1", NULL, NA, list(), list(NULL), list(a = 1), list(b = 1),
                 factor("a"), quote(a), quote(a + 1), y ~ x, as.Date("2026-01-01"), 1 + 1e-15)
  expect_length(unique(vapply(values, fingerprint, "")), length(values))
})

test_that("functions are the same by their code and what they use, and nothing else", {
  make <- function(cost) function(b) sil(b, cost = cost)
  expect_identical(fingerprint(make(1)), fingerprint(make(1)))
  expect_false(fingerprint(make(1)) == fingerprint(make(2)))
  code <- "function(b, k = 2) {\n  s <- k\n  lapply(b, function(x) x + s)\n}"
  with_source <- eval(parse(text = code, keep.source = TRUE))
  without <- eval(parse(text = gsub("\n *", "\n", code), keep.source = FALSE))
  expect_identical(fingerprint(with_source), fingerprint(without))
  expect_identical(fingerprint(compiler::cmpfun(without)), fingerprint(with_source))
  other <- eval(parse(text = sub("k = 2", "k = 3", code)))
  expect_false(fingerprint(other) == fingerprint(without))
  expect_false(fingerprint(sil) == fingerprint(mi_ace))
  expect_false(fingerprint(sum) == fingerprint(max))
  s <- 1                                                     # a local of the function has this name, too
  expect_identical(fingerprint(eval(parse(text = code))), fingerprint(without))
  helper <- function(x) x + 1
  uses <- function(b) helper(b)
  before <- fingerprint(uses)
  helper <- function(x) x + 2
  expect_false(fingerprint(uses) == before)
  calls_itself <- function(n) if (n) calls_itself(n - 1)
  expect_identical(fingerprint(calls_itself), fingerprint(calls_itself))
  e <- new.env()
  e$self <- e
  e$value <- 1
  before <- fingerprint(e)
  e$value <- 2
  expect_false(fingerprint(e) == before)
})

test_that("a function differs by each value from outside that it may use", {
  k <- 1
  cases <- list(
    default = function(b, cost = k) sil(b, cost = cost),
    assigned_after_use = function(b) { k <- 2 * k; sil(b, cost = k) },
    assigned_perhaps = function(b) { if (length(b) > 9) k <- 5; sil(b, cost = k) },
    element_assigned = function(b) { k[2] <- 3; sil(b, cost = k[1]) },
    argument_of_inner = function(b) { same <- function(k) k; sil(b, cost = same(k)) & k },
    default_of_inner = function(b) { g <- function(cost = k) cost; sil(b, cost = g()) })
  before <- vapply(cases, fingerprint, "")
  k <- 2
  expect_false(any(vapply(cases, fingerprint, "") == before))
  own <- list(function(b) { k <- 3; k + 1 }, function(b) { if (length(b)) k <- 1 else k <- 2; k },
              function(b) for (k in 1:3) print(k), function(k) k, function(b) b$k)
  before <- vapply(own, fingerprint, "")
  k <- 3
  expect_identical(vapply(own, fingerprint, ""), before)
})

test_that("a function differs by the dots that it was made with", {
  make <- function(...) function(b) sil(b, ...)
  expect_identical(fingerprint(make(cost = 1)), fingerprint(make(cost = 1)))
  expect_false(fingerprint(make(cost = 1)) == fingerprint(make(cost = 2)))
})

test_that("a method of one's own differs by how it scores", {
  score_instances.mine <- function(object, x, ...) x[1, ]
  mine <- function(b) new_mil_model("mine", b)
  before <- fingerprint(mine)
  score_instances.mine <- function(object, x, ...) x[2, ]
  expect_false(fingerprint(mine) == before)
})

test_that("tasks whose names differ have files of their own", {
  names <- c("a+b", "a-b", "a b", "\u03b1", "\u03b2")
  files <- vapply(names, function(name) task_file(list(name = name), "dir"), "")
  expect_length(unique(files), length(names))
  expect_identical(basename(task_file(list(name = "1-all-2"), "dir")), "1-all-2.rds")
})

test_that("a folder with files of others, or that cannot be written to, is refused", {
  dir <- tempfile()
  dir.create(dir)
  on.exit(unlink(dir, recursive = TRUE))
  for (other in list(1:3, mean, mtcars)) {
    saveRDS(other, file.path(dir, "x.rds"))
    expect_error(open_work(dir), "x.rds was made with", class = "fumi_error_dir")
  }
  expect_error(open_work(file.path(dir, "x.rds")), "written to", class = "fumi_error_dir")
  expect_error(open_work(""), "name of a folder", class = "fumi_error_input")
})

test_that("a fingerprint is that of another session", {
  skip_on_cran()
  code <- c("k <- 3; f <- function(b, ...) { g <- function(x) x * k; sil(b, cost = g(2), ...) }",
            "v <- list(f, sil, data.frame(a = 1:3, b = c('x', 'y', 'z')), as.character(1:5))")
  here <- new.env(parent = globalenv())
  eval(parse(text = code, keep.source = TRUE), here)
  out <- apart(c(code, "saveRDS(list(fumi:::fingerprint(v)), out)"))
  expect_identical(saved(out)[[1]], fingerprint(here$v))
})

test_that("an error of a task is the user's to see", {
  expect_error(run_tasks(some_tasks(), function(task) stop("no luck")), "no luck")
})

# Workers that have not come yet leave the work to this process, which is not to be killed.
kill_other <- function(pid, this) if (pid == this) stop("there is no worker") else tools::pskill(pid, 9)

dies_at_2 <- function(this = Sys.getpid(), kill = kill_other) {
  force(this)
  force(kill)
  function(task) if (task$n == 2) kill(Sys.getpid(), this) else task$n
}

test_that("two workers give the numbers of one, and one that dies is named", {
  skip_on_cran()
  skip_if_not_installed("future")
  one <- run_tasks(some_tasks(), square)
  old <- future::plan("multisession", workers = 2)
  on.exit(future::plan(old))
  expect_identical(run_tasks(some_tasks(), square), one)
  expect_error(run_tasks(some_tasks(), function(task) stop("no luck")), "no luck")
  die <- dies_at_2()
  expect_error(run_tasks(some_tasks(), die), "task 2", class = "fumi_error_worker")
})

# Runs `code` with `n` daemons of mirai, which do not outlive it.
with_daemons <- function(n, code) {
  mirai::daemons(n)
  on.exit(mirai::daemons(0))
  wait_for(function() n_daemons() == n)
  code
}

test_that("what each of many workers says once is said once", {
  rlang::reset_warning_verbosity("fumi_max_iter")
  worker <- function() warn_fumi("The fit ended.", class = "max_iter")
  expect_warning(from_worker(list(), NULL, worker()), "^The fit ended[.]",
                 class = "fumi_warning_max_iter")
  expect_silent(from_worker(list(), NULL, worker()))
})

test_that("two daemons give the numbers of one process, and errors with their class", {
  skip_on_cran()
  skip_if_not_installed("mirai")
  one <- run_tasks(some_tasks(), square)
  refuse <- function(task) stop_fumi("no luck", class = "type")
  with_daemons(2, {
    expect_equal(n_workers(), 2)
    expect_identical(run_tasks(some_tasks(), square), one)
    expect_error(run_tasks(some_tasks(), refuse), "no luck", class = "fumi_error_type")
    expect_error(run_tasks(some_tasks(), function(task) stop("plain")), "plain")
  })
  expect_false(has_daemons())
})

test_that("a daemon that dies is named, and none left is no wait", {
  skip_on_cran()
  skip_if_not_installed("mirai")
  die <- dies_at_2()
  with_daemons(2, expect_error(run_tasks(some_tasks(), die), "task 2", class = "fumi_error_worker"))
  with_daemons(2, {
    pids <- run_tasks(some_tasks(2), meeting())
    for (pid in pids) kill_other(pid, Sys.getpid())
    wait_for(function() n_daemons() == 0)
    keep <- function(i, result) force(result)
    expect_error(run_on_workers(some_tasks(), 1, square, keep, NULL), "task 1", class = "fumi_error_worker")
  })
})

test_that("starts on workers give the fit of starts in turn", {
  skip_on_cran()
  skip_if_not_installed("mirai")
  set.seed(1)
  b <- sim_bags(n_bags = 8, bag_size = 4, n_features = 6)
  fits <- function() {
    set.seed(2)
    list(dlfumi(b, n_target = 1, n_background = 2, n_start = 3, combine = "average", control = dlfumi_control(max_iter = 4)),
         dmil(b, n_atoms = 2, n_start = 2), e_fumi(b, n_background = 2, n_start = 2), mmdl(b, n_clusters = 2, n_start = 2))
  }
  in_turn <- fits()
  on_workers <- with_daemons(2, fits())
  expect_equal(on_workers, in_turn, tolerance = 1e-10)
  shown <- with_daemons(2, {
    set.seed(2)
    dlfumi(b, n_target = 1, n_background = 2, n_start = 3, progress = TRUE, control = dlfumi_control(max_iter = 4))
  })
  expect_equal(shown$starts, in_turn[[1]]$starts)
})

test_that("daemons choose what one process chooses", {
  skip_on_cran()
  skip_if_not_installed("mirai")
  set.seed(1)
  b <- sim_bags(n_bags = 12, bag_size = 4, n_features = 6)
  choose <- function() {
    set.seed(3)
    mil_tune(b, dlfumi, expand.grid(n_target = 1, n_background = 2:3, lambda = c(.01, .1)), folds = 2)
  }
  untimed <- function(tuned) tuned$folds[setdiff(names(tuned$folds), "seconds")]
  in_turn <- choose()
  on_workers <- with_daemons(2, choose())
  expect_identical(untimed(on_workers), untimed(in_turn))
  expect_identical(on_workers$fit$dictionary, in_turn$fit$dictionary)
})

test_that("a worker gets a function without the frames of those who made it", {
  from_large_frame <- function(make, ...) {
    large <- stats::rnorm(1e5)
    arguments <- list(...)
    length(serialize(make(arguments[[1]], arguments[[2]], arguments[[3]]), NULL))
  }
  fold <- function(a, b, c) fold_runner(a)
  bench <- function(a, b, c) benchmark_runner(a)
  expect_lt(from_large_frame(fold, list(metric = "auc"), 0, 0), 1e5)
  expect_lt(from_large_frame(bench, "max", 0, 0), 1e5)
  expect_lt(from_large_frame(task_runner, paper_protocol("usps"), list(), FALSE), 1e5)
})
