# The two fixtures were written by scipy.io.savemat(do_compression = True), which writes what
# MATLAB's `save -v7` does.
mat_file <- function(..., env = parent.frame()) {
  skip_if_not_installed("R.matlab")
  file <- tempfile(fileext = ".mat")
  R.matlab::writeMat(file, ...)
  do.call(on.exit, list(substitute(unlink(file), list(file = file)), TRUE), envir = env)
  file
}

test_that("the layout of FUMI is read: instances in columns, a label and a bag number for each", {
  skip_if_not_installed("R.matlab")
  b <- read_bags(test_path("fixtures", "fumi.mat"))
  expect_identical(as.matrix(b), matrix(0:23 / 7, 8))
  expect_identical(structure(summary(b), class = "data.frame"),
                   data.frame(bag = as.character(1:4), label = factor(c(1, 0, 0, 1)),
                              instances = c(3L, 2L, 2L, 1L), targets = c(1L, 0L, 0L, 1L)))
})

test_that("a cell array of bags is read, as MI-ACE has it", {
  skip_if_not_installed("R.matlab")
  b <- read_bags(test_path("fixtures", "cells.mat"))
  expect_identical(as.matrix(b), c(0, 0, 10, 20, 20,
                                   20) + matrix(c(.5, 2.5, .5, .5, 2.5, 4.5, 1.5, 3.5, 1.5, 1.5,
                                                  3.5, 5.5), 6))
  expect_identical(structure(summary(b), class = "data.frame"),
                   data.frame(bag = as.character(1:3), label = factor(c(1, 0, 1)),
                              instances = c(2L, 1L, 3L)))
})

test_that("bags come back from a MAT-file", {
  skip_if_not_installed("R.matlab")
  set.seed(3)
  b <- sim_bags(n_bags = 5, bag_size = 3, n_features = 4)[c(4, 1, 5)]
  file <- tempfile(fileext = ".mat")
  on.exit(unlink(file))
  expect_identical(withVisible(write_bags(b, file)), list(value = b, visible = FALSE))
  again <- read_bags(file)
  expect_identical(unclass(again), unclass(b)[names(again)], ignore_attr = TRUE)
  named <- bags(matrix(1:6, 3), c("u", "v", "u"), c(1, 0))
  write_bags(named, file)
  expect_identical(read_bags(file)$ids, c("1", "2"))
  expect_identical(as.matrix(read_bags(file)), matrix(as.double(1:6), 3))
})

test_that("the sides of a matrix are told by the number of labels, and variables may have other names", {
  x <- matrix(1:12 / 2, 4)
  file <- mat_file(spectra = x, y = c(0, 0, 1, 1), box = c(7, 7, 9, 9))
  b <- read_bags(file, data = "spectra", label = "y", bag = "box")
  expect_identical(as.matrix(b), x)
  expect_identical(b$ids, c("7", "9"))
  square <- read_bags(mat_file(X = x[1:3, ], labels = c(0, 1, 1), bag_number = c(1, 2, 2)))
  expect_identical(as.matrix(square), t(x[1:3, ]))
  by_bag <- read_bags(mat_file(X = t(x), labels = c(-1, 1), bag_number = c(2, 1, 1, 2)))
  expect_identical(summary(by_bag)$label, factor(c(1, -1)))
  text <- mat_file(X = t(x), labels = c("no", "no", "yes", "yes"), bag_number = c(2, 2, 1, 1))
  expect_identical(read_bags(text, positive = "yes")$classes, c("no", "yes"))
})

test_that("without bag numbers a run of labels is a bag, with a warning", {
  file <- mat_file(X = matrix(1:10, 2), labels = c(1, 1, 0, 1, 1))
  expect_warning(b <- read_bags(file), "3 in all", class = "fumi_warning_no_bag")
  expect_identical(summary(b)$instances, c(2L, 1L, 2L))
})

test_that("what is lacking or does not fit is named", {
  skip_if_not_installed("R.matlab")
  x <- matrix(1:6, 2)
  refused <- function(class, message, ...,
                      file = mat_file(...)) expect_error(read_bags(file), message, class = class)
  refused("fumi_error_column", "`data`.*dataBags.*among u, labels", u = x, labels = 1:3)
  refused("fumi_error_column", "`label`.*among X, y", X = x, y = 1:3)
  plain <- mat_file(X = x, labels = 1:3)
  expect_error(read_bags(plain, data = "Y"), "`data`.*\"Y\" among X", class = "fumi_error_column")
  expect_error(read_bags(plain, label = 2), "`label`", class = "fumi_error_column")
  refused("fumi_error_file", "5 for a matrix of 2 x 3", X = x, labels = c(0, 1, 1, 0, 0),
          bag_number = 1:5)
  refused("fumi_error_file", "numeric matrix", X = "text", labels = 1:0)
  cells <- test_path("fixtures", "cells.mat")
  of_cells <- function(n_labels, ...) mat_cells(list(...), n_labels, "x.mat", rlang::current_env())
  expect_error(of_cells(3, diag(2), diag(2)), "3 and 2", class = "fumi_error_file")
  expect_error(of_cells(3, diag(2), diag(3), diag(2)), "2 in cell 1, 3 in cell 2",
               class = "fumi_error_file")
  expect_error(of_cells(2, diag(2), matrix(0, 0, 0)), "cell 2", class = "fumi_error_file")
  damaged <- tempfile(fileext = ".mat")
  on.exit(unlink(damaged))
  writeBin(head(readBin(cells, "raw", 400), 200), damaged)
  refused("fumi_error_file", "version 4 to 7", file = damaged)
  writeBin(as.raw(0:255), damaged)
  refused("fumi_error_file", "version 4 to 7", file = damaged)
  writeBin(c(charToRaw(formatC("MATLAB 7.3 MAT-file, Platform: GLNXA64", width = -128)),
             as.raw(1:99)), damaged)
  refused("fumi_error_file", "'-v7'", file = damaged)
})

test_that("ids that are the same number are not merged", {
  skip_if_not_installed("R.matlab")
  set.seed(1)
  b <- bags(matrix(rnorm(16), 8), rep(c("1", "01", "1.0", "2"), each = 2), c(1, 0, 1, 0))
  file <- tempfile(fileext = ".mat")
  on.exit(unlink(file))
  write_bags(b, file)
  again <- read_bags(file)
  expect_identical(again$ids, as.character(1:4))
  expect_identical(again$label, b$label)
})

test_that("sparse bags are written without a word", {
  skip_if_not_installed("R.matlab")
  skip_if_not_installed("Matrix")
  x <- Matrix::Matrix(diag(8)[, 1:3], sparse = TRUE)
  colnames(x) <- c("a", "b", "c")
  b <- bags(x, rep(1:4, each = 2), c(1, 0, 1, 0))
  file <- tempfile(fileext = ".mat")
  on.exit(unlink(file))
  expect_silent(write_bags(b, file))
  expect_identical(as.matrix(read_bags(file)), unname(as.matrix(b)))
})
