benchmark_bags <- function() {
  set.seed(5)
  sim_bags(n_bags = 16, bag_size = 3, n_features = 5, noise = .3)
}
# Methods that score by one feature: fast, and their numbers are known.
by_feature <- function(k) list(fit = function(x, y) k, score = function(model, x) x[, model])
first <- list(sil, classifier = by_feature(1), normalize = "none")
second <- list(sil, classifier = by_feature(2), normalize = "none")

test_that("a benchmark scores each bag once per method and repeat, on the same folds", {
  b <- benchmark_bags()
  set.seed(6)
  folds <- cbind(bag_folds(b, 2), bag_folds(b, 2))
  r <- mil_benchmark(b, list(one = first, two = second, again = first), folds = folds,
                     adjust = "none")
  expect_identical(as.vector(table(r$scores$method)), c(32L, 32L, 32L))
  expect_identical(r$scores$fold, unname(folds[cbind(match(r$scores$bag, b$ids), r$scores$run)]))
  expect_identical(r$scores$positive, setNames(b$label, b$ids)[r$scores$bag], ignore_attr = TRUE)
  one <- r$scores[r$scores$method == "one" & r$scores$run == 2, ]
  x <- as.matrix(b)
  bag <- as.data.frame(b)$bag
  best <- pool_bags(x[, 1], bag)[one$bag]
  expected <- best
  for (k in 1:2) {
    training <- x[bag %in% b$ids[!b$label & folds[, 2] != k], 1]
    expected[one$fold == k] <- (best[one$fold == k] - mean(training)) / sd(training)
  }
  expect_equal(one$score, unname(expected))
  by_fold <- vapply(split(r$scores, r$scores[c("fold", "run", "method")]), function(s)
    as.numeric(pROC::auc(s$positive, s$score, direction = "<", quiet = TRUE)), 0)
  expect_equal(r$results$auc[match(c("again", "one", "two"), r$results$method)],
               unname(colMeans(matrix(by_fold, 4))))
  expect_false(is.unsorted(-r$results$auc))
  expect_equal(r$tests$p[r$tests$difference == 0], 1)
  expect_equal(r$tests$difference, with(r$results,
                                        auc[match(r$tests$first,
                                                  method)] - auc[match(r$tests$second, method)]))
  expect_output(print(r), "16 bags, 2 folds, repeated 2 times")
  expect_output(print(r), "(p adjusted: none)", fixed = TRUE)
  expect_identical(drawn(plot(r))$returned, list(value = r, visible = FALSE))
})

test_that("the variance of a fold is unbiased, and that of the mean has the correlation of Nadeau and Bengio", {
  by_hand <- function(p) {
    all <- expand.grid(i = seq_len(nrow(p)), j = seq_len(ncol(p)))
    products <- outer(seq_len(nrow(all)), seq_len(nrow(all)), Vectorize(function(s, t)
      if (all$i[s] != all$i[t] && all$j[s] != all$j[t]) p[all$i[s],
                                                          all$j[s]] * p[all$i[t], all$j[t]] else NA))
    mean(p)^2 - mean(products, na.rm = TRUE)
  }
  named <- function(p) `dimnames<-`(p, list(seq_len(nrow(p)), -seq_len(ncol(p))))
  set.seed(1)
  pairs <- lapply(1:4, function(i) named(matrix(sample(c(0, .5, 1), 12, TRUE), 3)))
  expect_equal(pair_variance(pairs[[1]]), by_hand(pairs[[1]]))
  expect_true(is.na(pair_variance(named(matrix(1, 1, 3)))))
  over <- mean_over_folds(pairs, .5)
  expect_equal(over$variance, mean(vapply(pairs, by_hand, 0)) * (.5 + .5 / 4))
  narrow <- lapply(pairs, function(p) p[1, , drop = FALSE])
  expect_equal(mean_over_folds(narrow, .5)$variance,
               var(vapply(narrow, mean, 0)) / .5 * (.5 + .5 / 4))
  drawn <- replicate(4000, {
    p <- named(outer(rnorm(4), rnorm(4), ">") + 0)
    c(mean(p), pair_variance(p))
  })
  # of Mann and Whitney's statistic
  expect_equal(mean(drawn[2, ]), 9 / (12 * 16), tolerance = .05)
})

test_that("pairs with a group in common tell nothing of the variance", {
  by_hand <- function(p) {
    cell <- expand.grid(i = rownames(p), j = colnames(p), stringsAsFactors = FALSE)
    apart <- outer(seq_len(nrow(cell)), seq_len(nrow(cell)), Vectorize(function(s, t)
      !any(unlist(cell[s, ]) %in% unlist(cell[t, ]))))
    mean(p)^2 - mean(outer(c(p), c(p))[apart])
  }
  set.seed(3)
  p <- matrix(runif(20), 4, dimnames = list(c("a", "a", "b", "c"), c("d", "e", "a", "b", "e")))
  expect_equal(pair_variance(p), by_hand(p))
  alone <- p[1:2, ]
  expect_true(is.na(pair_variance(alone[, 3, drop = FALSE])))
})

test_that("intervals and tests allow for groups, and for rare positives", {
  # bags of a group share an effect, and each group has one label
  covers <- function(label, group, n_folds) {
    group <- setNames(paste0("g", group), seq_along(group))
    each <- unique(group)
    kind <- label[match(each, group)]
    fold <- setNames(ave(seq_along(each), kind, FUN = seq_along) %% n_folds + 1, each)
    rowMeans(replicate(150, {
      x <- lapply(1:2, function(m)
        as.vector(setNames(rnorm(length(each)), each)[group]) + 0.5 * rnorm(length(group)))
      pairs <- lapply(x, function(score) fold_pairs(data.frame(
        bag = names(group), run = 1, fold = fold[group], positive = label, score), group))
      scores <- data.frame(run = 1, fold = fold)
      row <- benchmark_row("m", scores, pairs[[1]], list(), NA, .95)
      names(pairs) <- c("a", "b")
      c(row$low <= .5 && .5 <= row$high, benchmark_tests(pairs, scores, "none")$p < .05)
    }))
  }
  set.seed(4)
  patients <- covers(rep(c(TRUE, FALSE), each = 30), rep(1:20, each = 3), 5)
  expect_gt(patients[1], .9)
  expect_lt(patients[2], .1)
  rare <- covers(rep(c(TRUE, FALSE), c(5, 45)), 1:50, 5)
  expect_gt(rare[1], .9)
  expect_lt(rare[2], .1)
})

test_that("a difference that is the same in all pairs is no certainty", {
  b <- benchmark_bags()
  perfect <- list(sil, classifier = list(fit = function(x, y) NULL, score = function(model, x)
    round(x[, 1])), normalize = "none")
  b$x[1, ] <- b$label[b$bag]
  constant <- list(sil, classifier = list(fit = function(x, y) NULL, score = function(model, x)
    numeric(nrow(x))), normalize = "none")
  set.seed(6)
  r <- mil_benchmark(b, list(perfect = perfect, constant = constant), folds = 2, repeats = 1)
  expect_equal(r$tests$difference, .5)
  expect_equal(r$tests$p, 2^(1 - 8))
})

test_that("sizes of bags fool a benchmark, but not with pool = \"top\"", {
  set.seed(2)
  size <- rep(c(4, 20), each = 20)
  b <- bags(matrix(rnorm(2 * sum(size)), ncol = 2), rep(1:40, size), rep(1:0, each = 20))
  plain <- mil_benchmark(b, list(one = first), repeats = 2)$results
  even <- mil_benchmark(b, list(one = first), repeats = 2, pool = "top")$results
  expect_lt(plain$high, .5)
  expect_true(even$low < .5 && .5 < even$high)
})

test_that("groups stay together in every repeat", {
  b <- benchmark_bags()
  scene <- rep(1:8, 2)
  set.seed(6)
  s <- mil_benchmark(b, list(one = first), folds = 2, repeats = 3, group = scene)$scores
  at <- table(scene[match(s$bag, b$ids)], paste(s$run, s$fold)) > 0
  expect_true(all(rowSums(at) == 3))
})

test_that("a method that fails is named with its reason, and the others go on", {
  b <- benchmark_bags()
  set.seed(6)
  r <- mil_benchmark(b, list(good = first, bad = list(sil, cost = -1)), folds = 2, repeats = 1)
  expect_identical(r$results$method, c("good", "bad"))
  expect_match(r$results$error[2], "`cost`")
  expect_null(r$tests)
  expect_output(print(r), "bad failed: `cost`")
  expect_error(mil_benchmark(b, list(bad = list(sil, cost = -1)), folds = 2), "all fail",
               class = "fumi_error_fit")
})

test_that("the seed decides, and what is in `dir` is not done again", {
  b <- benchmark_bags()
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  run <- function(...) {
    set.seed(7)
    mil_benchmark(b, c("sil"), folds = 2, repeats = 2, ...)
  }
  kept <- run(dir = dir)
  expect_length(list.files(dir), 4)
  expect_identical(run(dir = dir)$results, kept$results)
  expect_identical(run()$scores, kept$scores)
  unlink(list.files(dir, full.names = TRUE)[1])
  # goes on from the folds that were kept
  set.seed(8)
  expect_identical(mil_benchmark(b, "sil", folds = 2, repeats = 2, dir = dir)$scores, kept$scores)
  more <- mil_benchmark(b, list(sil = sil, plain = function(b) sil(b, cost = 2)), folds = 2,
                        repeats = 2, dir = dir)
  expect_identical(more$scores[more$scores$method == "sil", ], kept$scores,
                   ignore_attr = "row.names")
  expect_error(mil_benchmark(b, list(sil = mi_ace), folds = 2, repeats = 2, dir = dir),
               "another method or other parameters:", class = "fumi_error_dir")
  expect_error(mil_benchmark(b, "sil", folds = 2, repeats = 3, dir = dir), "other folds:",
               class = "fumi_error_dir")
  expect_error(mil_benchmark(b[-1], "sil", folds = 2, repeats = 2, dir = dir), "other data:",
               class = "fumi_error_dir")
})

test_that("an interrupt ends a benchmark, and no fold is kept as one that failed", {
  b <- benchmark_bags()
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  cut <- structure(list(stop_reason = "interrupt"), class = "mil_model")
  stopped <- function(x, progress) cut
  expect_error(mil_benchmark(b, list(a = stopped), folds = 2, dir = dir),
               class = "fumi_error_interrupt")
  expect_length(list.files(dir), 0)
  expect_warning(r <- mil_benchmark(b, list(a = sil, b = stopped), folds = 2, repeats = 1),
                 "2 of 4", class = "fumi_warning_interrupt")
  expect_identical(unique(r$scores$method), "a")
})

test_that("bad arguments are refused by name", {
  b <- benchmark_bags()
  for (methods in list(NULL, list(), 1, "none such", list(a = 1), list(a = list()), list(sil),
                       list(a = sil, a = sil)))
    expect_error(mil_benchmark(b, methods), "`methods`", class = "fumi_error_input")
  expect_error(mil_benchmark(1, list(a = sil)), "`x`", class = "fumi_error_input")
  expect_error(mil_benchmark(list(b, b), list(a = sil)), "`x`", class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), folds = 100), class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), adjust = "some"), "`adjust`",
               class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), repeats = 0), "`repeats`",
               class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), pool = "median"), "`pool`",
               class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), level = 2), "`level`", class = "fumi_error_input")
  expect_error(mil_benchmark(b, list(a = sil), fold = 2), "`fold`", class = "fumi_error_argument")
})
