response <- function() mi(factor(c("no", "yes", "yes", "no"), c("yes", "no", "maybe")),
                          c("b", "a", "a", "c"))

test_that("an mi keeps its parts whole", {
  cases <- list(
    list(c("y", "n", "n"), c(3, 1, 1)), list(c(1, 0, 0), c("b", "a", "a")),
    list(c(TRUE, FALSE, FALSE), 3:1),
    list(factor(c("y", "n", "n"), c("y", "n")), factor(c("b", "a", "a"), c("c", "b", "a"))),
    list(c(0.5, -1, -1), c(1e5, 0.1, 0.1)), list(character(), numeric()))
  for (case in cases) {
    r <- mi(case[[1]], case[[2]])
    expect_s3_class(r, "mi")
    expect_length(r, length(case[[1]]))
    expect_identical(mi_label(r), case[[1]])
    expect_identical(mi_bag(r), case[[2]])
  }
})

test_that("[ keeps class, labels and levels", {
  r <- response()
  part <- r[c(4, 2)]
  expect_s3_class(part, "mi")
  expect_length(part, 2)
  expect_identical(mi_label(part), factor(c("no", "yes"), c("yes", "no", "maybe")))
  expect_identical(mi_bag(part), c("c", "a"))
  expect_identical(r[-1], r[2:4])
  expect_identical(r[c(FALSE, TRUE, TRUE, TRUE)], r[2:4])
  expect_identical(r[1:4], r)
  expect_length(r[0], 0)
})

test_that("is.na is true where either part is missing", {
  r <- mi(c(1, NA, 0, 0, NA), c("a", "b", NA, "d", NA))
  expect_identical(is.na(r), c(FALSE, TRUE, TRUE, FALSE, TRUE))
  expect_false(any(is.na(response())))
})

test_that("format and print show label:bag", {
  expect_identical(format(response()), c("no:b", "yes:a", "yes:a", "no:c"))
  expect_output(print(response()), "no:b  yes:a yes:a no:c")
  expect_identical(capture.output(returned <- print(response())), capture.output(response()))
  expect_identical(returned, response())
})

test_that("model.frame drops missing labels and bags, and keeps the rest", {
  d <- data.frame(y = factor(c("no", "yes", NA, "no", "yes"), c("yes", "no")),
                  id = c("b", "a", "a", NA, "c"), a = c(1, 2, 3, 4, NA))
  f <- model.frame(mi(y, id) ~ a, data = d)
  expect_identical(nrow(f), 2L)
  expect_identical(f$a, c(1, 2))
  kept <- model.response(f)
  expect_s3_class(kept, "mi")
  expect_identical(mi_label(kept), factor(c("no", "yes"), c("yes", "no")))
  expect_identical(mi_bag(kept), c("b", "a"))
  expect_identical(nrow(model.frame(mi(y, id) ~ a, data = d, na.action = na.pass)), 5L)
})

test_that("an mi is one column of a data frame", {
  d <- data.frame(a = 1:4)
  d$r <- response()
  expect_identical(dim(d), c(4L, 2L))
  expect_identical(mi_bag(d[2:3, ]$r), c("a", "a"))
})

test_that("levels and types reach bags() through a formula", {
  set.seed(1)
  d <- data.frame(a = rnorm(4), y = c("p", "n", "n", "p"), id = c(10, 2, 2, 7))
  expect_error(bags(mi(y, id) ~ a, data = d), class = "fumi_error_label")
  b <- bags(mi(y, id) ~ a, data = d, positive = "p")
  expect_identical(b$ids, c("10", "2", "7"))
  expect_identical(b$label, c(TRUE, FALSE, TRUE))
  d$y <- factor(d$y, c("p", "n"))
  expect_identical(bags(mi(y, id) ~ a, data = d)$classes, c("p", "n"))
})

test_that("parts of different length, and lists, are refused", {
  expect_error(mi(1:2, 1), "`label` and `bag`", class = "fumi_error_input")
  expect_error(mi(list(1), 1), "`label`", class = "fumi_error_input")
  expect_error(mi(1, list(1)), "`bag`", class = "fumi_error_input")
})

test_that("an mi becomes a data frame of one column", {
  d <- as.data.frame(response())
  expect_identical(dim(d), c(4L, 1L))
  expect_identical(d[[1]], response())
})
