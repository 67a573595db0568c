test_that("a picture is upright, with grey 0.5 for 0 and white for the largest", {
  # 2 x 3, column by column: the first value is top left, the last one bottom right.
  p <- drawn(draw_picture(c(1, 0, 0, 0, 0.5, -1), c(2, 3)))$pictures
  expect_length(p, 1)
  shade <- matrix(col2rgb(p[[1]])["red", ], 2)
  expect_identical(dim(p[[1]]), 2:3)
  expect_identical(shade[1, 1], 255L)
  expect_identical(shade[2, 3], 0L)
  expect_true(all(abs(shade[cbind(c(2, 1, 2), c(1, 2, 2))] - 127.5) <= 1))
  expect_equal(shade[1, 3], 191, tolerance = .02)
})

test_that("limits can be given, and a picture of zeros is a picture", {
  shade <- function(...) col2rgb(drawn(draw_picture(...))$pictures[[1]])["red", ]
  expect_identical(unname(shade(c(0, 1, 2, 4), c(2, 2), limits = c(0, 4))[c(1, 4)]), c(0L, 255L))
  expect_length(unique(shade(numeric(4), c(2, 2))), 1)
  expect_length(shade(1, c(1, 1)), 1)
  expect_identical(drawn(draw_picture(1:4, c(2, 2), "a title"))$text, "a title")
})

test_that("a grid puts all cells on one page, each group on rows of its own", {
  at <- NULL
  cell <- function() {
    draw_picture(1:4, c(2, 2))
    at <<- rbind(at, par("fig")[c(1, 4)])
  }
  expect_length(drawn(picture_grid(rep(c("a", "b"), c(2, 7)), rep(list(cell), 9),
                                   n_col = 3))$pictures, 9)
  expect_equal(match(at[, 1], sort(unique(at[, 1]))), c(1, 2, 1, 2, 3, 1, 2, 3, 1))
  expect_equal(match(at[, 2], sort(unique(at[, 2]), decreasing = TRUE)),
               c(1, 1, 2, 2, 2, 3, 3, 3, 4))
})

test_that("a grid puts the graphical parameters back, also after an error", {
  cell <- function() draw_picture(1:4, c(2, 2))
  expect_identical(drawn(picture_grid(1:3, rep(list(cell), 3)))$left_changed, character())
  expect_identical(drawn(picture_grid(1:3, rep(list(cell), 3), main = "all"))$left_changed,
                   character())
  failing <- list(cell, function() stop("no"))
  expect_identical(drawn(try(picture_grid(1:2, failing), silent = TRUE))$left_changed, character())
  expect_true("all" %in% drawn(picture_grid(1, list(cell), main = "all"))$text)
})

test_that("a user's own layout survives a grid", {
  cell <- function() draw_picture(1:4, c(2, 2))
  drawn({
    par(mfrow = c(2, 2), cex.main = .7)
    picture_grid(1:3, rep(list(cell), 3))
    expect_identical(par("mfrow"), c(2L, 2L))
    expect_identical(par("cex.main"), .7)
  })
})

test_that("curves are drawn for any number of features and atoms", {
  for (size in list(c(1, 1), c(1, 5), c(10, 1), c(10, 30)))
    expect_identical(drawn(draw_feature_curves(matrix(0, size[1], size[2]), "red",
                                               "curves"))$text[1], "curves",
                     info = paste(size, collapse = " x "))
})
