shade <- function(page, i = 1) {
  p <- page$pictures[[i]]
  matrix(col2rgb(p)["red", ], nrow(p))
}
one_picture <- function(values, dim, ...) drawn(picture_page(cbind(values), dim, "", ...))

test_that("a picture is upright, from its lowest to its highest value", {
  # 2 x 3, column by column: the first value is top left, the last one bottom right.
  page <- one_picture(c(4, 2, 2, 2, 3, 0), c(2, 3))
  grey <- shade(page)
  expect_identical(dim(grey), 2:3)
  expect_identical(grey[1, 1], 255L)
  expect_identical(grey[2, 3], 0L)
  expect_true(all(abs(grey[cbind(c(2, 1, 2), c(1, 2, 2))] - 127.5) <= 1))
  expect_equal(grey[1, 3], 191, tolerance = .02)
  expect_match(page$text, "lowest to highest value of each picture", all = FALSE)
})

test_that("limits are symmetric or given where that is said", {
  page <- one_picture(c(-1, 0, 2, 2), c(2, 2), limits = "zero")
  expect_equal(c(shade(page)), c(64, 127.5, 255, 255), tolerance = .02)
  expect_match(page$text, "grey: 0, white: positive", all = FALSE)
  page <- one_picture(c(0, 1, 2, 9), c(2, 2), limits = c(0, 4))
  expect_equal(c(shade(page)), c(0, 64, 128, 255), tolerance = .02)
  expect_match(page$text, "black 0, white 4", all = FALSE)
})

test_that("a picture without any contrast is a picture", {
  expect_length(unique(c(shade(one_picture(numeric(4), c(2, 2))))), 1)
  expect_length(unique(c(shade(one_picture(numeric(4), c(2, 2), limits = "zero")))), 1)
  expect_length(shade(one_picture(1, c(1, 1))), 1)
})

test_that("pictures fill the page, each group on rows of its own", {
  at <- picture_places(c(10, 5), c(2, 2), rep(c("a", "b"), c(2, 7)), rep("", 9), 3, FALSE, FALSE)
  expect_equal(match(at$x, sort(unique(at$x))), c(1, 2, 1, 2, 3, 1, 2, 3, 1))
  expect_equal(match(at$y, sort(unique(at$y), decreasing = TRUE)), c(1, 1, 2, 2, 2, 3, 3, 3, 4))
  for (n in c(1, 5, 19, 90)) for (page in list(c(5.5, 3.6), c(9, 7), c(3, 8))) {
    at <- drawn(picture_places(page, c(16, 16), rep(1, n), rep("name", n), NULL, FALSE, TRUE))
    at <- at$returned$value
    expect_true(all(at$x >= 0 & at$x + at$size[1] <= page[1]))
    expect_true(all(at$y >= 0 & at$y + at$size[2] <= page[2]))
    expect_gt(n * prod(at$size + 0.3), 0.3 * prod(page))
  }
})

test_that("two groups of one picture each stand beside each other on a wide page", {
  place <- function(page) drawn(picture_places(page, c(16, 16), c("target", "scale"), rep("", 2), NULL,
                                               FALSE, FALSE))$returned$value
  expect_identical(length(unique(place(c(5.5, 3.6))$y)), 1L)
  expect_identical(length(unique(place(c(3, 6))$x)), 1L)
})

test_that("titles are above pictures, or at the left of rows, as large as fits", {
  page <- drawn(picture_page(matrix(1:16, 4), c(2, 2), paste("target", 1:4), main = "all"))
  expect_identical(page$text[1:5], c(paste("target", 1:4), "all"))
  expect_identical(page$left_changed, character())
  many <- drawn(picture_page(matrix(1, 4, 300), c(2, 2), paste("background", 1:300)))
  expect_identical(many$text[c(1, 300)], c("1", "300"))
  rows <- drawn(picture_page(matrix(1:16, 4), c(2, 2), c("bag 1", "", "bag 2", ""),
                             group = c(1, 1, 2, 2), by_row = TRUE))
  expect_identical(rows$text[1:2], c("bag 1", "bag 2"))
})

test_that("pictures are one panel of a user's own layout", {
  drawn({
    par(mfrow = c(2, 2), cex.main = .7)
    picture_page(matrix(1:16, 4), c(2, 2), rep("", 4))
    expect_identical(par("mfrow"), c(2L, 2L))
    expect_identical(par("cex.main"), .7)
    expect_identical(par("mfg")[1:2], c(1L, 1L))
  })
})

test_that("pictures of one column have room for their titles", {
  at <- drawn(picture_places(c(5.5, 3.6), c(12, 1), rep(1, 24), paste0(1:24, ": -0.12"), NULL, FALSE, FALSE))
  at <- at$returned$value
  wide <- drawn(strwidth("24: -0.12", "inches"))$returned$value
  expect_gte(at$width + 0.07, 0.4 * wide)
  expect_identical(rank(-unique(at$y)), as.numeric(1:length(unique(at$y))))
  # Small titles need little height.
  many <- drawn(picture_places(c(5.5, 3.6), c(6, 6), rep(1, 60), rep("24: -0.0012", 60), NULL, FALSE, TRUE))
  expect_gt(many$returned$value$size[1], 0.25)
  few <- drawn(picture_places(c(5.5, 3.6), c(12, 1), rep(1, 3), paste("target", 1:3), NULL, FALSE, FALSE))
  expect_gt(few$returned$value$width, 0.99 * drawn(strwidth("target 3", "inches"))$returned$value)
})
