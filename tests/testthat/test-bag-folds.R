test_that("folds hold whole bags, evenly by label", {
  set.seed(301)
  b <- sim_bags(n_bags = 14, bag_size = 4, n_features = 10)
  folds <- bag_folds(b, 3)
  expect_named(folds, b$ids)
  counts <- table(folds, b$label)
  expect_true(all(apply(counts, 2, function(n) diff(range(n))) <= 1))
  expect_error(bag_folds(b, 8), "7 positive, 7 negative", class = "fumi_error_input")
})

test_that("groups stay together, and labels are spread as evenly as they allow", {
  set.seed(301)
  b <- sim_bags(n_bags = 40, bag_size = 4, n_features = 10)
  for (i in 1:20) {
    group <- sample(letters[1:12], 40, replace = TRUE)
    folds <- bag_folds(b, 3, group = group)
    expect_named(folds, b$ids)
    expect_equal(unname(rowSums(table(group, folds) > 0)), rep(1, length(unique(group))))
    expect_true(all(table(folds, b$label) >= 2))
  }
  pairs <- rep(1:20, 2)                              # one positive and one negative bag each
  counts <- table(bag_folds(b, 4, group = pairs), b$label)
  expect_true(all(counts == 5))
  named <- setNames(rep(1:10, 4), b$ids)
  set.seed(4)
  one <- bag_folds(b, 2, group = named)
  set.seed(4)
  expect_identical(bag_folds(b, 2, group = rev(named)), one)
  expect_error(bag_folds(b, 3, group = rep(1:2, 20)), "`k`.*2 groups with positive",
               class = "fumi_error_input")
  expect_error(bag_folds(b, 3, group = 1:3), "`group`", class = "fumi_error_input")
  expect_error(bag_folds(b, 3, group = c(NA, 1:39)), "`group`", class = "fumi_error_input")
})

test_that("copies of a bag are in one fold, so that a bootstrap of noise is noise", {
  set.seed(9)
  b <- bags(matrix(rnorm(30 * 4 * 5), ncol = 5), rep(1:30, each = 4), rep(0:1, 15))
  copies <- b[sample(30, replace = TRUE)]
  fold <- bag_folds(copies, 3)
  origin <- sub("[.][0-9]+$", "", names(fold))
  expect_true(anyDuplicated(origin) > 0)
  expect_true(all(tapply(fold, origin, function(f) length(unique(f))) == 1))
  expect_null(equal_bags(b))
  auc <- replicate(6, mean(mil_cv(b[sample(30, replace = TRUE)], miles)$metric))
  expect_lt(abs(mean(auc) - 0.5), 0.2)
})
