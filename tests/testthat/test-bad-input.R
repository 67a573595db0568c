# Each group: every case gets its answer, no input changes, and nothing large is allocated on the
# way.
expect_answers <- function(cases) {
  before <- rlang::hash(odd_data)
  used <- sum(gc(reset = TRUE)[, 2])
  expect_identical(run_cases(cases), NULL)
  # R keeps a second copy of constants where it is told to look after them.
  if (!nzchar(Sys.getenv("R_CHECK_CONSTANTS"))) expect_lt(sum(gc()[, 6]) - used, 300)
  expect_identical(rlang::hash(odd_data), before)
}

for (method in names(method_parameters))
  test_that(paste(method, "answers bad data, odd data and bad parameters"), {
  if (method != "dlfumi") skip_on_cran()
  expect_answers(c(data_cases(method), parameter_cases(method)))
})

test_that("every method is in the tables", {
  exported <- unique(vapply(mil_methods, function(fit) class(suppressWarnings(fit(odd_data$b)))[1],
                            ""))
  expect_setequal(names(method_parameters), exported)
  for (method in exported) {
    known <- names(formals(getExportedValue("fumi", method)))
    expect_identical(setdiff(unlist(method_parameters[[method]]), known), character(),
                     info = method)
  }
})

test_that("parameters that depend on the data or on each other are refused", {
  expect_answers(method_cases())
})

test_that("all other functions answer bad and odd input", {
  pdf(NULL)
  on.exit(dev.off())
  expect_answers(function_cases())
})

test_that("there are as many cases as we say", {
  n <- sum(lengths(lapply(names(method_parameters), data_cases)),
           lengths(lapply(names(method_parameters), parameter_cases)),
           length(method_cases()), length(function_cases()))
  expect_gt(n, 1000)
})

# The options of a session and the form of the data change no result.
test_that("options do not matter", {
  results <- function() {
    b <- bags(odd_data$x, odd_data$bag * 1e5, odd_data$label, truth = odd_data$label[odd_data$bag])
    named <- bags(odd_data$x, odd_data$bag, odd_data$label + 1, positive = 2)
    fit <- suppressWarnings(fit_to(b))
    list(b, named, fit, predict(fit, b, level = "bag"), pool_bags(odd_data$x[, 1], odd_data$bag),
         predict(one_vs_rest(odd_data$x, bag = odd_data$bag, label = odd_data$label, fitter = sil),
                 odd_data$x))
  }
  plain <- results()
  old <- options(OutDec = ",", scipen = -10, digits = 3, warn = 2, stringsAsFactors = FALSE)
  on.exit(options(old))
  expect_identical(results(), plain)
})
