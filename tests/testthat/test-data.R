test_that("usps has the digits of the literature", {
  expect_named(usps, c("images", "digit"))
  expect_length(capture.output(print(usps)), 4)
  expect_output(print(usps), "usps: 9298 images of 16 x 16 pixels (handwritten digits), a list with", fixed = TRUE)
  expect_output(print(olivetti), "119 TRUE")
  expect_type(usps$images, "integer")
  expect_identical(dim(usps$images), c(16L, 16L, 9298L))
  expect_identical(range(usps$images), c(-1000L, 1000L))
  expect_identical(as.vector(table(usps$digit[1:7291])),
                   c(1194L, 1005L, 731L, 658L, 652L, 556L, 664L, 645L, 542L, 644L))
  expect_identical(as.vector(table(usps$digit[7292:9298])),
                   c(359L, 264L, 198L, 166L, 200L, 160L, 170L, 147L, 166L, 177L))
})

test_that("digits are upright", {
  # A seven has its bar at the top, a six its loop at the bottom and open to the right above.
  seven <- apply(usps$images[, , usps$digit == 7], 1:2, mean)
  expect_gt(mean(seven[2:4, ]), mean(seven[13:15, ]))
  six <- apply(usps$images[, , usps$digit == 6], 1:2, mean)
  expect_gt(mean(six[9:16, 9:16]), mean(six[1:8, 9:16]))
})

test_that("olivetti has 40 people, ten images each, 119 with eyeglasses", {
  expect_named(olivetti, c("images", "person", "image", "eyeglasses"))
  expect_type(olivetti$images, "integer")
  expect_identical(dim(olivetti$images), c(64L, 64L, 400L))
  expect_true(all(olivetti$images >= 0L & olivetti$images <= 255L))
  expect_identical(olivetti$person, rep(1:40, each = 10))
  expect_identical(olivetti$image, rep(1:10, 40))
  expect_type(olivetti$eyeglasses, "logical")
  expect_identical(sum(olivetti$eyeglasses), 119L)
  worn <- tapply(olivetti$eyeglasses, olivetti$person, sum)
  expect_identical(c(sum(worn == 10), sum(worn > 0 & worn < 10)), c(8L, 7L))
})

test_that("faces are upright", {
  # Both eyes are dark spots left and right of the bridge of the nose, in the upper half.
  face <- apply(olivetti$images[, , !olivetti$eyeglasses], 1:2, mean)
  darkest <- which.min(rowMeans(face[11:50, c(15:22, 43:50)])) + 10
  expect_lt(darkest, 32)
  expect_gt(mean(face[darkest, 31:34]), mean(face[darkest, c(15:22, 43:50)]))
})

test_that("images come as doubles on the documented scale", {
  x <- usps_images()
  expect_type(x, "double")
  expect_identical(dim(x), dim(usps$images))
  expect_identical(range(x), c(-1, 1))
  expect_identical(round(x, 3), x)

  x <- olivetti_images()
  expect_type(x, "double")
  expect_identical(dim(x), dim(olivetti$images))
  expect_true(all(x >= 0 & x <= 1))
})

test_that("images are chosen by number, in the order asked for, or by logicals", {
  expect_identical(usps_images(c(9298, 1))[, , 2], usps$images[, , 1] / 1000)
  expect_identical(dim(usps_images(5)), c(16L, 16L, 1L))
  expect_identical(olivetti_images(c(7, 7)), olivetti_images(7)[, , c(1, 1)])
  expect_identical(olivetti_images(olivetti$person == 2), olivetti_images(11:20))
})

test_that("a bad choice is a classed error", {
  bad <- list(0, 9299, 1.5, NA_real_, -1, Inf, c(1, NA), TRUE, rep(FALSE, 9298),
              c(NA, rep(TRUE, 9297)), integer(), "1", list(1), factor(1), usps_images)
  for (which in bad) expect_error(usps_images(which), class = "fumi_error_input")
  expect_error(olivetti_images(401), "`which` must be whole numbers from 1 to 400, but it has 401",
               class = "fumi_error_input")
})
