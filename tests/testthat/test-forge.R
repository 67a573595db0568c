test_that("columns are matched by name: permuted, surplus, or unnamed", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  reference <- predict(fit, d$x)
  expect_identical(predict(fit, d$x[, 6:1]), reference)
  expect_identical(predict(fit, cbind(z = 9, d$x[, 6:1])), reference)
  expect_identical(predict(fit, data.frame(z = "a", d$x[, c(3, 1, 2, 6, 5, 4)])), reference)
  expect_identical(predict(fit, unname(d$x)), reference)
  expect_identical(predict(fit, list(d$x[1:9, 6:1], d$x[10:32, ]))$.score, reference$.score)
  permuted <- d
  permuted$x <- d$x[, 6:1]
  expect_identical(predict(fit, bags_of(permuted))$.score, reference$.score)
})

test_that("a fit without names takes columns by place, and sets the bag column aside", {
  d <- eight_bags()
  unnamed <- d
  colnames(unnamed$x) <- NULL
  fit <- fit_to(bags_of(unnamed))
  expect_identical(predict(fit, d$x), predict(fit, unnamed$x))
  expect_identical(predict(fit, data.frame(d$x, box = d$id), bag = "box"), predict(fit, unnamed$x, bag = d$id))
})

test_that("new data that do not fit are refused by name", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  hole <- function(value) replace(d$x, 3, value)
  cases <- list(
    "a column missing" = list(d$x[, -2], "column"), "a column missing in a data frame" = list(data.frame(d$x[, -2]), "column"),
    "other names" = list(`colnames<-`(d$x, LETTERS[1:6]), "column"), "too few, unnamed" = list(unname(d$x[, 1:3]), "column"),
    "too many, unnamed" = list(unname(d$x[, c(1:6, 1)]), "column"), "NA" = list(hole(NA), "nonfinite"),
    "NaN" = list(hole(NaN), "nonfinite"), "Inf" = list(hole(Inf), "nonfinite"), "a vector" = list(d$x[1, ], "type"),
    "characters" = list(matrix("a", 2, 6), "type"), "NULL" = list(NULL, "type"), "a word" = list("new", "type"),
    "a factor column" = list(data.frame(d$x[, -1], a = gl(2, 16)), "type"),
    "a list with a hole" = list(list(d$x, hole(NA)), "nonfinite"), "a list of vectors" = list(list(1:6), "type"))
  for (name in names(cases))
    expect_error(predict(fit, cases[[name]][[1]]), "^`new_data(\\[\\[[0-9]\\]\\])?` must", class = paste0("fumi_error_", cases[[name]][[2]]), info = name)
  expect_error(predict(fit, d$x[, -2]), "lacks b")
  expect_error(predict(fit, unname(d$x[, 1:3])), "6 features, not 3")
  expect_error(predict(fit), "`new_data`", class = "fumi_error_no_data")
})
