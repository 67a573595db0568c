test_that("errors and warnings have their class, that of all, and the call given", {
  f <- function() stop_fumi("`a` must be ", 1, ", not ", 2, ".")
  e <- rlang::catch_cnd(f())
  expect_s3_class(e, c("fumi_error_input", "fumi_error", "error"))
  expect_identical(conditionMessage(e), "`a` must be 1, not 2.")
  expect_identical(conditionCall(e), quote(f()))
  expect_s3_class(rlang::catch_cnd(stop_fumi("x", class = "label")),
                  c("fumi_error_label", "fumi_error"))

  g <- function() warn_fumi("`a` is ", 1, ".", class = "beta")
  w <- rlang::catch_cnd(g())
  expect_s3_class(w, c("fumi_warning_beta", "fumi_warning", "warning"))
  expect_identical(conditionMessage(w), "`a` is 1.")
  expect_identical(conditionCall(w), quote(g()))
})

test_that("a user can catch all errors of the package, or one kind", {
  caught <- function(code) tryCatch(code, fumi_error_label = function(e) "label",
                                    fumi_error = function(e) "any")
  expect_identical(caught(bags(diag(2), 1:2, 1:2)), "label")
  expect_identical(caught(bags(diag(2), 1:3, 0:1)), "any")
})

test_that("describe says what a value is in a few words", {
  cases <- list(
    "NULL" = NULL, "a function" = mean, "NA" = NA, "NaN" = NaN, "TRUE" = TRUE, "1.5" = 1.5,
    "\"a\\\"b\"" = "a\"b", "NA" = NA_character_,
    "a list" = list(1), "a matrix of 2 x 3" = matrix(0, 2, 3),
    "a data.frame of 1 x 1" = data.frame(a = 1),
    "a factor" = factor("a"), "a double vector of length 2" = c(1, 2),
    "a character vector of length 0" = character(),
    "a formula" = y ~ x, "an integer vector of length 3" = 1:3,
    "an array of 1 x 1 x 2" = array(0, c(1, 1, 2)))
  for (i in seq_along(cases)) expect_identical(describe(cases[[i]]), names(cases)[i])
})

test_that("enumerate names a few and counts the rest", {
  expect_identical(enumerate("a"), "a")
  expect_identical(enumerate(letters[1:3]), "a, b, c")
  expect_identical(enumerate(letters[1:5]), "a, b, c and 2 more")
  expect_identical(enumerate(letters[1:5], 5), "a, b, c, d, e")
  expect_identical(enumerate(1:4, 1), "1 and 3 more")
})
