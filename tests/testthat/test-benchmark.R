benchmark_bags <- function() {
  set.seed(5)
  sim_bags(n_bags = 16, bag_size = 3, n_features = 5, noise = .3)
}
# Methods that score by one feature: fast, and their numbers are known.
by_feature <- function(k) list(fit = function(x, y) k, score = function(model, x) x[, model])
first <- list(sil, classifier = by_feature(1), normalize = "none")
second <- list(sil, classifier = by_feature(2), normalize = "none")

test_that("a benchmark scores each bag once a method, on the same folds, and tests pairs as pROC does", {
  b <- benchmark_bags()
  set.seed(6)
  folds <- bag_folds(b, 2)
  r <- mil_benchmark(b, list(one = first, two = second, again = first), folds = folds, adjust = "none")
  expect_identical(as.vector(table(r$scores$method)), c(16L, 16L, 16L))
  expect_identical(r$scores$fold, unname(folds[r$scores$bag]))
  expect_identical(r$scores$positive, setNames(b$label, b$ids)[r$scores$bag], ignore_attr = TRUE)
  one <- r$scores[r$scores$method == "one", ]
  x <- as.matrix(b)
  bag <- as.data.frame(b)$bag
  best <- pool_bags(x[, 1], bag)[one$bag]
  expected <- best
  for (k in 1:2) {
    training <- x[bag %in% b$ids[!b$label & folds != k], 1]
    expected[one$fold == k] <- (best[one$fold == k] - mean(training)) / sd(training)
  }
  expect_equal(one$score, unname(expected))
  expect_equal(r$results$auc, sort(vapply(r$curves, function(c) as.numeric(c$auc), 0), TRUE), ignore_attr = TRUE)
  expect_false(is.unsorted(-r$results$auc))
  pair <- r$tests[r$tests$first != "again" & r$tests$second != "again", ]
  direct <- pROC::roc.test(r$curves$one, r$curves$two, method = "delong", paired = TRUE)
  expect_equal(pair$p, as.numeric(direct$p.value))
  expect_equal(r$tests$p[r$tests$difference == 0], 1)
  expect_equal(r$results$low[r$results$method == "one"], as.numeric(pROC::ci.auc(r$curves$one))[1])
  expect_output(print(r), "Paired DeLong tests (p adjusted: none)", fixed = TRUE)
  expect_identical(drawn(plot(r))$returned, list(value = r, visible = FALSE))
})

test_that("a method that fails is named with its reason, and the others go on", {
  b <- benchmark_bags()
  set.seed(6)
  r <- mil_benchmark(b, list(good = first, bad = list(sil, cost = -1)), folds = 2)
  expect_identical(r$results$method, c("good", "bad"))
  expect_match(r$results$error[2], "`cost`")
  expect_null(r$tests)
  expect_output(print(r), "bad failed: `cost`")
  expect_error(mil_benchmark(b, list(bad = list(sil, cost = -1)), folds = 2), "all fail", class = "fumi_error_fit")
})

test_that("the seed decides, and what is in `dir` is not done again", {
  b <- benchmark_bags()
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  run <- function(...) {
    set.seed(7)
    mil_benchmark(b, c("sil"), folds = 2, ...)
  }
  kept <- run(dir = dir)
  expect_length(list.files(dir), 2)
  expect_identical(run(dir = dir)$results, kept$results)
  expect_identical(run()$scores, kept$scores)
})

test_that("an interrupt ends a benchmark, and no fold is kept as one that failed", {
  b <- benchmark_bags()
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  stopped <- function(x, progress) list(stop_reason = "interrupt")
  expect_error(mil_benchmark(b, list(a = stopped), folds = 2, dir = dir), class = "fumi_error_interrupt")
  expect_length(list.files(dir), 0)
  expect_warning(r <- mil_benchmark(b, list(a = sil, b = stopped), folds = 2), "2 of 4", class = "fumi_warning_interrupt")
  expect_identical(unique(r$scores$method), "a")
})

test_that("bad arguments are refused by name", {
  b <- benchmark_bags()
  for (methods in list(NULL, list(), 1, "none such", list(a = 1), list(a = list()), list(sil), list(a = sil, a = sil)))
    expect_error(mil_benchmark(b, methods), "`methods`", class = "fumi_error_input")
  expect_error(mil_benchmark(1, list(a = sil)), "`x`", class = "fumi_error_input")
  expect_error(mil_benchmark(list(b, b), list(a = sil)), "`x`", class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), folds = 100), class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), adjust = "some"), "`adjust`", class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), level = 2), "`level`", class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), fold = 2), "`fold`", class = "fumi_error_argument")
})
