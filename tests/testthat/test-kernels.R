test_that("distances by cross products are distances, and 0 where instances coincide", {
  set.seed(2)
  x <- matrix(rnorm(20 * 300), 20)
  x[2, ] <- x[1, ]
  expect_equal(squared_distances(x), unname(as.matrix(dist(x)))^2)
  expect_equal(squared_distances(x[1:3, ], x[4:9, ]), squared_distances(x)[1:3, 4:9])
  expect_identical(squared_distances(x)[1, 2], 0)
})

test_that("a kernel is a name with plain parameters, however it is given", {
  expect_identical(check_kernel("linear", list()), list(name = "linear", kpar = list()))
  expect_identical(check_kernel("rbfdot", list(sigma = 2)),
                   list(name = "rbf", kpar = list(sigma = 2)))
  expect_identical(check_kernel(kernlab::rbfdot(2), list()),
                   list(name = "rbf", kpar = list(sigma = 2)))
  own <- function(x, y) sum(x * y)^2
  expect_identical(check_kernel(own, list())$name, own)
  for (bad in list(list("nope", list()), list("rbf", list(width = 1)),
                   list("rbf", list(sigma = -1)),
                   list(own, list(sigma = 1)), list("rbf", 3), list(3, list())))
    expect_error(check_kernel(bad[[1]], bad[[2]]), class = "fumi_error")
})

test_that("Gram matrices are those of the kernel, and finite", {
  set.seed(1)
  x <- matrix(rnorm(12), 4)
  expect_equal(c(gram_matrix(list(name = "linear", kpar = list()), x, NULL)), c(tcrossprod(x)))
  rbf <- gram_matrix(list(name = "rbf", kpar = list(sigma = .5)), x, NULL)
  expect_equal(c(rbf), c(exp(-.5 * squared_distances(x))))
  power <- list(name = "polydot", kpar = list(degree = 9))
  expect_error(gram_matrix(power, x * 1e100, NULL), class = "fumi_error_scale")
})
