small <- list(list(method = "DL-FUMI", setting = "small", fitter = "dlfumi",
                   parameters = list(n_target = 2, n_background = 4,
                                     control = dlfumi_control(max_iter = 5))),
              list(method = "MI-ACE", setting = "defaults", fitter = "mi_ace"))

few_digits <- function(...) {
  paper_experiment("usps", small, runs = 2, n_targets = rep(1, 8), n_negative = 4,
                   negative_size = 10, n_test = 5, ...)
}

test_that("an experiment has one row per task, and all that tables need", {
  e <- few_digits()
  expect_equal(nrow(e$tasks), 2 * 10 * 2)
  expect_equal(lengths(e$scores), rep(50, 40))
  expect_true(all(is.finite(unlist(e$scores))))
  expect_equal(unname(lapply(e$tests, function(t) as.vector(table(t$group)))),
               list(rep(5, 10), rep(5, 10)))
  expect_equal(e$seed, 2016)
  expect_equal(e$version, as.character(utils::packageVersion("fumi")))
  table <- paper_table(e)
  expect_equal(nrow(table), 4)
  expect_equal(table$runs, rep(2, 4))
  expect_true(all(table$mean > 15))
  expect_output(print(e), "2 runs x 10 units x 2 settings")
})

test_that("an experiment goes on where it stopped, and other workers change nothing", {
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  whole <- few_digits()
  same <- function(e) expect_identical(e$scores, whole$scores)
  same(few_digits(dir = dir))
  files <- list.files(dir, full.names = TRUE)
  expect_length(files, 40)
  unlink(files[c(1, 17, 40)])
  same(few_digits(dir = dir))
  expect_error(few_digits(dir = dir, seed = 1), "another seed:", class = "fumi_error_dir")
  expect_error(few_digits(dir = dir, keep_fits = TRUE), "another keep_fits:",
               class = "fumi_error_dir")
  skip_on_cran()
  skip_if_not_installed("future")
  old <- future::plan("multisession", workers = 2)
  on.exit(future::plan(old), add = TRUE)
  same(few_digits())
})

test_that("an experiment that is killed goes on", {
  skip_on_cran()
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  script <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
               "library(fumi)",
               "keep <- fumi:::keep_task",
               "die_at_3 <- function(task, result, work) {",
               "  keep(task, result, work)",
               "  if (length(list.files(work$dir, 'rds$')) == 3)",
               "    tools::pskill(Sys.getpid(), tools::SIGKILL)",
               "}",
               "utils::assignInNamespace('keep_task', die_at_3, 'fumi')",
               paste0("one <- list(list(method = 'DL-FUMI', setting = 'small', fitter = 'dlfumi', parameters = ",
                      "list(n_target = 2, n_background = 4, control = dlfumi_control(max_iter = 20))))"),
               sprintf("e <- paper_experiment('olivetti_person', one, runs = 1, dir = '%s')",
                       dir)), script)
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), stdout = FALSE,
          stderr = FALSE)
  expect_length(list.files(dir, "rds$"), 3)
  one <- list(list(method = "DL-FUMI", setting = "small", fitter = "dlfumi", parameters =
    list(n_target = 2, n_background = 4, control = dlfumi_control(max_iter = 20))))
  e <- paper_experiment("olivetti_person", one, runs = 1, units = 1:5, dir = dir)
  expect_identical(e$scores, paper_experiment("olivetti_person", one, runs = 1, units = 1:5)$scores)
})

test_that("one fit serves several detectors, and fits are kept on request", {
  one <- list(list(method = "DL-FUMI", setting = "small", fitter = "dlfumi",
                   detectors = c("score", "subace"),
                   parameters = list(n_target = 2, n_background = 4,
                                     control = dlfumi_control(max_iter = 5))))
  e <- paper_experiment("olivetti_eyeglasses", one, runs = 1, keep_fits = TRUE)
  expect_equal(e$tasks$detector, c("score", "subace"))
  test <- olivetti_images(e$tests[[1]]$index)
  expect_equal(e$scores, lapply(c("confidence", "subace"),
                                function(d) predict(e$fits[[1]], test, detector = d)$.score))
})

test_that("the AR experiments run from files to a table", {
  skip_on_cran()
  set.seed(401)
  dir <- make_ar(17)
  on.exit(unlink(dir, recursive = TRUE))
  faces <- read_ar(dir, 33, 24)
  expect_equal(dim(faces$images), c(33, 24, 17 * 2 * 26))
  one <- function(...) list(list(method = "DL-FUMI", setting = "the paper's parameters",
                                 fitter = "dlfumi", parameters = paper_protocol(...)$parameters))
  e <- paper_experiment("ar_sunglasses", one("ar_sunglasses"), runs = 1, data = faces,
                        n_negative = 20)
  expect_equal(length(e$scores[[1]]), 884 - 700)
  expect_gt(paper_table(e)$AUC, 0.9)
  expect_equal(unlist(paper_table(e)[c("paper 1 %", "paper 18.4 %", "paper 41.9 %")],
                      use.names = FALSE), c(97.5, 100, 100))

  old <- Sys.getenv("FUMI_AR_DIR", NA)
  Sys.setenv(FUMI_AR_DIR = dir)
  on.exit(if (is.na(old)) Sys.unsetenv("FUMI_AR_DIR") else Sys.setenv(FUMI_AR_DIR = old),
          add = TRUE)
  e <- paper_experiment("ar_person", one("ar_person"), runs = 1)
  test <- e$tests[[1]]
  expect_equal(c(sum(test$truth), sum(!test$truth)), c(13, 100))
  expect_true(all(test$group[test$truth] == "w10"))
  expect_gt(paper_table(e)$AUC, 0.9)
})

test_that("a setting may look at the truth about training images, as no method of the package does", {
  share <- numeric()
  knowing <- function(b, ...) {
    share <<- c(share, mean(as.data.frame(b)$truth[as.data.frame(b)$label == "1"]))
    sil(b, ...)
  }
  setting <- list(list(method = "SIL", setting = "told", fitter = knowing))
  paper_experiment("usps", setting, runs = 1, units = 1:2, n_test = 5, n_targets = rep(1, 5),
                   n_negative = 3)
  expect_equal(share, c(1, 1) / 4)
})

test_that("a part of the digits is shown without a table", {
  e <- paper_experiment("usps", small[2], runs = 1, units = 1, n_test = 5, n_targets = rep(1, 5),
                        n_negative = 3)
  expect_output(print(e), "not all digits")
})

test_that("runs are a number of them or their numbers, methods all that are known or some", {
  expect_identical(check_runs(3), 1:3)
  expect_identical(check_runs(c(4, 2)), c(4L, 2L))
  for (runs in list(c(1, 1), c(0, 1), c(1.5, 2), c("1", "2")))
    expect_error(check_runs(runs), "`runs`", class = "fumi_error_input")
  expect_identical(check_settings(NULL, "usps"), paper_methods("usps"))
  expect_identical(check_settings(paper_methods("usps"), "usps"), paper_methods("usps"))
  expect_identical(check_settings(small, "usps")[[2]]$parameters, list())
  expect_setequal(vapply(check_settings(c("MI-ACE", "EM-DD"), "usps"), `[[`, "", "method"),
                  c("MI-ACE", "EM-DD"))
})

test_that("an interrupt keeps the tasks that are done, and is an error if there are none", {
  n <- 0
  cut <- structure(list(stop_reason = "interrupt"), class = "mil_model")
  stopped <- function(b, ...) if ((n <<- n + 1) > 1) cut
                              else sil(b, ...)
  setting <- list(list(method = "SIL", setting = "stopped", fitter = stopped))
  run <- function() paper_experiment("olivetti_eyeglasses", setting, runs = 2, n_negative = 5)
  expect_warning(e <- run(), "1 of 2", class = "fumi_warning_interrupt")
  expect_identical(e$tasks$run, 1L)
  expect_error(run(), class = "fumi_error_interrupt")
})

test_that("what cannot be run is refused", {
  expect_error(paper_experiment("usps", "SVM"), "`methods` must be among",
               class = "fumi_error_input")
  expect_error(paper_experiment("usps", list(1)), "`methods`", class = "fumi_error_input")
  expect_error(paper_experiment("usps", small, runs = 0), "`runs`", class = "fumi_error_input")
  expect_error(paper_experiment("usps", small, runs = 1, units = 11), "`unit`",
               class = "fumi_error_input")
  expect_error(paper_table(paper_experiment("usps", small[2], runs = 1, units = 1, n_test = 5)),
               "all digits", class = "fumi_error_units")
})
