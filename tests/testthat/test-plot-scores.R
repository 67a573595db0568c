scored_fit <- function() {
  set.seed(1)
  b <- sim_bags(n_bags = 12, bag_size = 4, n_features = 10)
  list(b = b, fit = sil(b))
}

test_that("scores of bags are drawn by label, with the threshold and the counts above it", {
  s <- scored_fit()
  said <- bag_scores(s$fit, s$b)
  expect_identical(said$score, predict(s$fit, s$b, level = "bag")$.score)
  expect_identical(said$positive, s$b$label)
  cut <- attr(said, "threshold")
  expect_identical(cut, usual_threshold(s$fit))
  above <- function(label) sum(said$score[said$positive == label] > cut)
  page <- drawn(plot(s$fit, "scores", new_data = s$b))
  expect_identical(page$returned, list(value = s$fit, visible = FALSE))
  expect_identical(page$left_changed, character())
  expect_match(page$text, paste0("threshold ", format(cut, digits = 3)), fixed = TRUE, all = FALSE)
  rows <- Filter(function(args) identical(args[[2]], 2), page$axes)
  expect_identical(rows[[length(rows)]][[4]], paste0(0:1, "\n", c(above(FALSE), above(TRUE)), " of 6 above"))
})

test_that("one label, one bag, and a pooling without a threshold are drawn", {
  s <- scored_fit()
  expect_match(rows_of_scores(bag_scores(s$fit, s$b[1])), "^1\n[01] of 1 above$")
  page <- drawn(plot(s$fit, "scores", new_data = s$b, pool = "mean"))
  expect_true("Scores of bags by label" %in% page$text)
})

test_that("ratios over orders of magnitude are on a logarithmic axis, others are not", {
  expect_true(is_ratio(c(1, 2, 30)))
  expect_false(is_ratio(c(1, 2, 3)))
  expect_false(is_ratio(c(-1, 2, 30)))
  expect_false(is_ratio(c(0.01, 0.9)))
})

test_that("points of like scores are beside each other, within their row", {
  offset <- beside(c(1, 1, 1, 5, 1), c(1, 1, 1, 1, 2), "")
  expect_identical(offset[4:5], c(0, 0))
  expect_identical(anyDuplicated(offset[1:3]), 0L)
  expect_lte(max(abs(beside(rep(1, 500), rep(1, 500), ""))), 0.35)
  expect_identical(beside(1, 1, "x"), 0)
})

test_that("scores need bags", {
  s <- scored_fit()
  expect_error(drawn(plot(s$fit, "scores")), "`new_data`", class = "fumi_error_no_data")
  expect_error(drawn(plot(s$fit, "scores", new_data = s$b[0])), "`new_data`",
               class = "fumi_error_empty")
  expect_error(drawn(plot(s$fit, "scores", new_data = s$b, type = "class")), class = "fumi_error")
})

test_that("a threshold far from all scores is in the title only", {
  said <- function(score, cut) structure(data.frame(score), threshold = cut)
  expect_identical(drawn_threshold(said(c(1, 5, 7), 12), ""), 12)
  expect_identical(drawn_threshold(said(c(1, 5, 7), 1e9), ""), NA_real_)
  expect_identical(drawn_threshold(said(c(1, 5, 700), 1e9), "x"), 1e9)
  expect_identical(drawn_threshold(said(c(1, 5, 700), 1e99), "x"), NA_real_)
  expect_identical(drawn_threshold(said(c(1, 5, 700), -1), "x"), NA_real_)
  expect_identical(drawn_threshold(said(c(1, 1), 2), ""), 2)
})

test_that("long labels have several lines, and leave room for the scores", {
  said <- structure(data.frame(label = factor("a very long label of positive bags")), threshold = NA)
  expect_identical(rows_of_scores(said), "a very long\nlabel of\npositive bags")
})
