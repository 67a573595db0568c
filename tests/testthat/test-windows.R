test_that("windows are where the help page says, in all shapes of input", {
  x <- list(a = c(1, 2, 3, 4, 5, 6, 7), b = 11:15)
  b <- windows_to_bags(x, window = 3, step = 2, label = c(1, 0))
  expect_equal(unname(as.matrix(b)), rbind(1:3, 3:5, 5:7, 11:13, 13:15))
  expect_equal(colnames(as.matrix(b)), c("t1", "t2", "t3"))
  expect_equal(b$ids, c("a", "b"))
  expect_equal(as.data.frame(b)$bag, c("a", "a", "a", "b", "b"))

  flat <- unlist(x, use.names = FALSE)
  id <- rep(c("a", "b"), c(7, 5))
  same <- list(
    windows_to_bags(flat, 3, 2, c(1, 0), recording = id),
    windows_to_bags(ts(flat), 3, 2, c(b = 0, a = 1), recording = factor(id, c("b", "a", "none"))),
    windows_to_bags(cbind(flat), 3, 2, rep(c(1, 0), c(7, 5)), recording = id),
    windows_to_bags(data.frame(v = flat, id = id, found = id == "a"), 3, 2, "found", "id"),
    windows_to_bags(lapply(x, ts), 3, 2, c(1, 0)),
    windows_to_bags(lapply(x, function(v) data.frame(v)), 3, 2, c(1, 0)))
  for (other in same) {
    expect_equal(as.matrix(other), as.matrix(b))
    expect_equal(unname(other$label[match(b$ids, other$ids)]), unname(b$label))
  }
})

test_that("recordings whose points are mixed keep the order of their points", {
  b <- windows_to_bags(c(1, 10, 2, 20, 3, 30), 2, 1, c(u = 1, v = 0),
                       recording = c("u", "v", "u", "v", "u", "v"))
  expect_equal(unname(as.matrix(b)), rbind(c(1, 2), c(2, 3), c(10, 20), c(20, 30)))
})

test_that("channels stand side by side under their names", {
  two <- cbind(left = 1:4, right = 5:8)
  b <- windows_to_bags(list(two, two + 10), 2, 2, c(1, 0))
  expect_equal(colnames(as.matrix(b)), c("left_t1", "left_t2", "right_t1", "right_t2"))
  expect_equal(unname(as.matrix(b))[1:2, ], rbind(c(1, 2, 5, 6), c(3, 4, 7, 8)))
  expect_equal(colnames(as.matrix(windows_to_bags(list(unname(two), unname(two)), 2, 2, c(1, 0)))),
               c("1_t1", "1_t2", "2_t1", "2_t2"))
})

test_that("a window with a point of a target is one", {
  truth <- list(c(0, 0, 0, 1, 0, 0), rep(0, 6))
  b <- windows_to_bags(list(1:6, 1:6), 2, 1, c(1, 0), truth = truth)
  expect_equal(as.data.frame(b)$truth, c(FALSE, FALSE, TRUE, TRUE, FALSE, rep(FALSE, 5)))
  flat <- windows_to_bags(c(1:6, 1:6), 2, 1, c(1, 0), recording = rep(1:2, each = 6),
                          truth = unlist(truth))
  expect_equal(as.data.frame(flat)$truth, as.data.frame(b)$truth)
  d <- data.frame(v = rep(1:6, 2), truth = unlist(truth), id = rep(1:2, each = 6))
  for (found in list(windows_to_bags(d, 2, 1, c(1, 0), recording = "id"),
                     windows_to_bags(split(d[-3], d$id), 2, 1, c(1, 0)))) {
    expect_identical(found$features, b$features)
    expect_identical(found$truth, b$truth)
  }
  expect_identical(windows_to_bags(d, 2, 1, recording = "id"),
                   windows_to_bags(d[-2], 2, 1, recording = "id"))
})

test_that("features are made of the windows as matrices", {
  x <- list(cbind(1:6, 6:1), cbind(2:7, 7:2))
  b <- windows_to_bags(x, 3, 3, c(1, 0), features = function(w) c(size = dim(w), colMeans(w)))
  expect_equal(unname(as.matrix(b)), rbind(c(3, 2, 2, 5), c(3, 2, 5, 2), c(3, 2, 3, 6),
                                           c(3, 2, 6, 3)))
  expect_error(windows_to_bags(x, 3, 3, c(1, 0), features = function(w) w[w > 3]),
               class = "fumi_error_input")
})

test_that("windows without labels are what predict() takes", {
  set.seed(1)
  x <- replicate(6, rnorm(40), simplify = FALSE)
  fit <- sil(windows_to_bags(x, 8, 4, rep(c(1, 0), 3)))
  new <- windows_to_bags(list(r = rnorm(20), s = rnorm(12)), 8, 4)
  said <- predict(fit, new)
  expect_equal(said$.bag, rep(c("r", "s"), c(4, 2)))
  expect_equal(predict(fit, do.call(rbind, unname(new)))$.score, said$.score)
})

test_that("missing values are refused or left out by window", {
  x <- list(c(1, NA, 3:8), 1:8)
  expect_error(windows_to_bags(x, 2, 2, c(1, 0)), class = "fumi_error_nonfinite")
  expect_equal(nrow(as.matrix(windows_to_bags(x, 2, 2, c(1, 0), na.action = na.omit))), 7)
})

test_that("mistakes are told by the argument", {
  x <- list(a = 1:10, b = 1:4)
  expect_error(windows_to_bags(x, 5, label = c(1, 0)), "b", class = "fumi_error_input")
  expect_error(windows_to_bags(x, 0, label = c(1, 0)), "`window`", class = "fumi_error_input")
  expect_error(windows_to_bags(x, 2, 1.5, label = c(1, 0)), "`step`", class = "fumi_error_input")
  expect_error(windows_to_bags(x, 2, label = 1), "`label`", class = "fumi_error_input")
  expect_error(windows_to_bags(x, 2, label = c(1, 0), recording = 1:2), "`recording`",
               class = "fumi_error_input")
  expect_error(windows_to_bags(1:10, 2, label = 1, recording = 1:3), "`recording`",
               class = "fumi_error_input")
  expect_error(windows_to_bags(1:4, 2, label = c(1, 0, 0, 0), recording = c(1, 1, 2, 2)),
               "`label`", class = "fumi_error_label")
  expect_error(windows_to_bags(letters, 2), class = "fumi_error_type")
  expect_error(windows_to_bags(list(), 2), class = "fumi_error_input")
  expect_error(windows_to_bags(x, 2, label = c(1, 0), truth = 1), "`truth`",
               class = "fumi_error_input")
  expect_error(windows_to_bags(1:4, 2, label = 1, truth = c(-1, 1, 1, -1)), "`truth` must be TRUE",
               class = "fumi_error_input")
  expect_error(windows_to_bags(x, 2, label = c(1, 0), feature = mean), "features",
               class = "fumi_error_argument")
  expect_error(windows_to_bags(data.frame(v = 1:4), 2, label = "found"), class = "fumi_error_column")
})
