small_experiment <- function(name, ...) {
  one <- list(list(method = "DL-FUMI", setting = "small", fitter = "dlfumi",
                   parameters = list(n_target = 2, n_background = 4,
                                     control = dlfumi_control(max_iter = 3))),
              list(method = "mi-SVM", setting = "linear", fitter = "mi_svm",
                   parameters = list(max_iter = 2)))
  paper_experiment(name, one, runs = 1, keep_fits = TRUE, ...)
}

test_that("digits have their pictures", {
  e <- small_experiment("usps", n_targets = rep(1, 8), n_negative = 3, negative_size = 10,
                        n_test = 5)
  atoms <- drawn(plot(e, "atoms"))
  expect_equal(atoms$n_pictures, 10 * 6)
  expect_equal(atoms$text[1:10], as.character(0:9))
  expect_equal(atoms$left_changed, character())
  errors <- drawn(plot(e, "errors", n = 3))
  expect_match(errors$text[1], "^[0-9] as [0-9]$")
  expect_equal(sum(grepl("^atoms of", errors$text)), 3)
  confused <- drawn(plot(e, "confusion"))
  expect_true("DL-FUMI, small: per cent of each row" %in% confused$text)
  roc <- drawn(plot(e, "roc", method = "mi-SVM"))
  expect_true("mi-SVM, linear" %in% roc$text)
  expect_error(plot(e, "roc", method = "SVM"), "`method` and `setting`", class = "fumi_error_input")
  e$fits <- NULL
  expect_error(plot(e, "atoms"), "keep_fits", class = "fumi_error_no_data")
})

test_that("classifiers are points at their own thresholds", {
  e <- small_experiment("olivetti_eyeglasses")
  i <- which(e$tasks$method == "mi-SVM")
  point <- hard_point(i, e)
  truth <- e$tests[[1]]$truth
  expect_equal(c(point$fpr, point$tpr), c(mean(e$scores[[i]][!truth] > 0),
                                          mean(e$scores[[i]][truth] > 0)))
  drawn(plot(e, "roc"))
  twice <- e
  one <- e$tasks$method == "DL-FUMI"
  twice$tasks <- rbind(e$tasks, e$tasks[one, ])
  twice$fits <- c(e$fits, e$fits[one])
  expect_equal(drawn(plot(twice, "atoms"))$n_pictures, 6)
  expect_error(plot(e, "confusion"), class = "fumi_error_no_meaning")
  expect_error(plot(e, "roc", run = 2), class = "fumi_error_input")
})

test_that("confusions are in per cent of a row", {
  share <- confusion(paper_results("usps"), NULL, NULL)
  expect_equal(unname(rowSums(share)), rep(100, 10), tolerance = 0.003)
  expect_identical(share, round(share, 1))
  drawn(given <- paper_plot("usps", "confusion"))
  expect_identical(given, share)
})

test_that("a stored experiment is drawn by its name", {
  expect_identical(drawn(paper_plot("olivetti_eyeglasses", "roc"))$text,
                   drawn(plot(paper_results("olivetti_eyeglasses"), "roc"))$text)
})

test_that("what is no experiment is refused", {
  for (x in list(NULL, 1, mtcars))
    expect_error(paper_plot(x), "paper_experiment", class = "fumi_error_type")
})

test_that("the title says which run is drawn, and a run without scores is refused", {
  expect_true("olivetti_person, person 2, run 3" %in%
                drawn(paper_plot("olivetti_person", run = 3, unit = 2))$text)
  expect_true("mine" %in% drawn(paper_plot("hyper_hydice", main = "mine"))$text)
  expect_error(paper_plot("hyper_muufl_points"), "`x` must keep the scores", class = "fumi_error_no_data")
  expect_error(paper_plot("hyper_hydice", run = 2), "none of this run", class = "fumi_error_no_data")
})
