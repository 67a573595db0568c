test_that("labels of every kind mean the same", {
  x <- instances()
  y <- per_bag == 1
  cases <- list(
    "0/1" = list(per_bag, NULL, c("0", "1")),
    integer = list(as.integer(per_bag), NULL, c("0", "1")),
    "-1/1" = list(2 * per_bag - 1, NULL, c("-1", "1")),
    logical = list(y, NULL, c("FALSE", "TRUE")),
    factor = list(factor(y, c(FALSE, TRUE), c("z", "a")), NULL, c("z", "a")),
    "factor, first level named" = list(factor(!y, c(FALSE, TRUE), c("z", "a")), "z", c("a", "z")),
    character = list(ifelse(y, "a", "z"), "a", c("z", "a")),
    "1/2" = list(ifelse(y, 2, 1), 2, c("1", "2")),
    "0/1 turned round" = list(1 - per_bag, 0, c("1", "0")))
  for (name in names(cases)) for (each in c(1, 3)) {
    b <- bags(x, ids, rep(cases[[name]][[1]], each = each), positive = cases[[name]][[2]])
    expect_identical(b$label, y, info = name)
    expect_identical(b$classes, cases[[name]][[3]], info = name)
  }
})

test_that("one value is enough for data to predict on", {
  x <- instances()
  expect_identical(bags(x, ids, rep("yes", 4), positive = "yes")$label, rep(TRUE, 4))
  expect_identical(bags(x, ids, rep("yes", 4), positive = "no")$label, rep(FALSE, 4))
  expect_identical(bags(x, ids, rep(0, 4))$label, rep(FALSE, 4))
})

test_that("labels with names go to the bags that they name", {
  x <- instances()
  named <- c(s = 0, r = 1, q = 0, p = 1)
  expect_identical(bags(x, ids, named), bags(x, ids, per_bag))
  expect_identical(bags(as_matrices(x), named), bags(x, ids, per_bag))
  # ... also when each bag is a single instance.
  one_each <- letters[1:12]
  named <- setNames(rep(1:0, 6), rev(one_each))
  expect_identical(bags(x, one_each, named)$label, rep(c(FALSE, TRUE), 6))
})

test_that("labels in order go to the bags as they first appear", {
  x <- instances()
  order <- c(10:12, 4:6, 1:3, 7:9)
  expect_identical(bags(x[order, ], ids[order], c(0, 0, 1, 1))$ids, c("s", "q", "p", "r"))
  expect_identical(bags(x[order, ], ids[order], c(0, 0, 1, 1))$label, c(FALSE, FALSE, TRUE, TRUE))
})

test_that("truth is kept in the order of the user and read like labels", {
  x <- instances()
  truth <- per_instance == 1 & c(TRUE, FALSE, FALSE)
  in_frame <- function(t, ...) as.data.frame(bags(x, ids, per_bag, truth = t, ...))$truth
  expect_identical(in_frame(truth), truth)
  expect_identical(in_frame(as.integer(truth)), truth)
  expect_identical(in_frame(factor(truth, labels = c("no", "yes"))), truth)
  expect_identical(as.data.frame(bags(as_frame(x, t = truth), "id", "y", truth = "t"))$truth, truth)
  by_bag <- split(truth, ids)
  expect_identical(as.data.frame(bags(as_matrices(x), per_bag, truth = by_bag))$truth, truth)
  words <- ifelse(truth, "yes", "no")
  expect_identical(as.data.frame(bags(x, ids, c("yes", "no")[c(1, 2, 1, 2)], positive = "yes",
                                      truth = words))$truth, truth)
  expect_warning(bags(x, ids, per_bag, truth = rep(TRUE, 12)), class = "fumi_warning_truth")
})

test_that("levels of `bag` without an instance are dropped with a warning", {
  x <- instances()
  expect_warning(b <- bags(x, factor(ids, c("p", "q", "r", "s", "t", "u")), per_bag), "t, u",
                 class = "fumi_warning_empty_bag")
  expect_identical(b, bags(x, ids, per_bag))
})

test_that("a fit needs both labels", {
  x <- instances()
  for (label in list(rep(1, 4), rep(0, 4)))
    expect_error(dlfumi(x, ids, label, n_target = 1, n_background = 1), "`label`",
                 class = "fumi_error_label")
  expect_error(dlfumi(x[1, , drop = FALSE], 1, 1, n_target = 1, n_background = 1),
               class = "fumi_error_label")
})

test_that("levels that no label has are no classes where two others are", {
  three <- factor(c("no", "yes", "no", "yes"), c("no", "perhaps", "yes"))
  b <- bags(instances(), ids, three)
  expect_identical(b$classes, c("no", "yes"))
  expect_identical(bags(instances(), ids, three, positive = "no")$classes, c("yes", "no"))
})
