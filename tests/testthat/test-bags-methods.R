# Five bags whose instances are mixed: u, w and y are positive, v and z are not.
mixed <- function(truth = TRUE, names = letters[1:3]) {
  set.seed(1)
  id <- c("u", "v", "w", "u", "z", "w", "v", "y", "z", "y", "u")
  x <- matrix(rnorm(33), 11, dimnames = list(NULL, names))
  positive <- id %in% c("u", "w", "y")
  bags(x, id, positive, truth = if (truth) positive & !duplicated(id))
}
id_of <- function(b) as.data.frame(b)$bag

test_that("length, print and summary say what is there", {
  b <- mixed()
  expect_length(b, 5)
  expect_output(print(b), "5 bags: 3 positive (label TRUE), 2 negative (FALSE)", fixed = TRUE)
  expect_output(print(b), "11 instances of 3 features, 2 to 3 per bag", fixed = TRUE)
  expect_output(print(b), "3 instances are known targets", fixed = TRUE)
  expect_output(print(b[c("v", "z")]), "2 per bag", fixed = TRUE)
  image <- bags(matrix(0, 4, 6), c(1, 1, 2, 2), 0:1, image_dim = c(2, 3))
  expect_output(print(image), "6 features (images of 2 x 3), 2 per bag", fixed = TRUE)
  expect_failure(expect_output(print(image), "known targets"))
  expect_identical(capture.output(returned <- print(b)), capture.output(b))
  expect_identical(returned, b)

  expect_identical(as.data.frame(summary(b)), data.frame(
    bag = c("u", "v", "w", "z", "y"), label = factor(c(TRUE, FALSE, TRUE, FALSE, TRUE)),
    instances = c(3L, 2L, 2L, 2L, 2L), targets = c(1L, 0L, 1L, 0L, 1L)))
  expect_named(summary(mixed(truth = FALSE)), c("bag", "label", "instances"))
})

test_that("matrix and data frame are in the order of the user", {
  b <- mixed()
  set.seed(1)
  x <- matrix(rnorm(33), 11, dimnames = list(NULL, letters[1:3]))
  expect_identical(as.matrix(b), x)
  d <- as.data.frame(b)
  expect_named(d, c("bag", "label", "truth", "a", "b", "c"))
  expect_identical(d$bag, c("u", "v", "w", "u", "z", "w", "v", "y", "z", "y", "u"))
  expect_identical(d$label, factor(d$bag %in% c("u", "w", "y")))
  expect_identical(as.matrix(d[4:6]), x)
  expect_identical(bags(d, "bag", "label", truth = "truth"), b)
  expect_named(as.data.frame(mixed(FALSE, NULL)), c("bag", "label", "V1", "V2", "V3"))
})

test_that("[ takes bags by number, id and logical, and keeps the order of the instances", {
  b <- mixed()
  kept <- c("v", "z", "y")
  d <- as.data.frame(b)
  expected <- bags(d[d$bag %in% kept, ], "bag", "label", truth = "truth")
  for (i in list(c(2, 4, 5), -c(1, 3), kept, c(FALSE, TRUE, FALSE, TRUE, TRUE), c(0, 2, 4, 5)))
    expect_identical(b[i], expected, info = deparse(i))
  expect_identical(b[1:5], b)
  expect_identical(b[-(1:5)], b[0])
  expect_length(b[0], 0)
  expect_identical(b["w"], bags(d[d$bag == "w", ], "bag", "label", truth = "truth"))
  expect_identical(b[], b)
})

# The bags numbered i, one after the other, made from the rows of the data frame.
by_hand <- function(b, i) {
  d <- as.data.frame(b)
  name <- make.unique(b$ids[i])
  parts <- lapply(seq_along(i), function(k) replace(d[d$bag == b$ids[i[k]], ], "bag", name[k]))
  bags(do.call(rbind, parts), "bag", "label")
}

test_that("bags come in the order asked for, and a bag taken twice is two bags", {
  b <- mixed()
  for (i in list(c(5, 2, 4), 5:1, c(1, 1, 2), c(3, 1, 3, 3), c(2, 2), sample(5, 9, replace = TRUE)))
    expect_identical(b[i], by_hand(b, i), info = deparse(i))
  expect_identical(b[c("y", "u")], by_hand(b, c(5, 1)))
  expect_identical(b[c("u", "u")]$ids, c("u", "u.1"))
  expect_identical(rev(b), by_hand(b, 5:1))
  expect_identical(rev(rev(b))$ids, b$ids)
  expect_identical(head(b, 2), b[1:2])
  expect_identical(tail(b, 2), b[4:5])
  set.seed(7)
  drawn <- sample(b, replace = TRUE)
  set.seed(7)
  expect_identical(drawn, by_hand(b, sample.int(5, replace = TRUE)))
})

test_that("new ids never meet old ones", {
  b <- bags(matrix(1:3 + 0, 3), c("1", "1.1", "2"), c(1, 0, 1))
  twice <- b[c(1, 1, 2)]
  expect_identical(twice$ids, c("1", "1.2", "1.1"))
  expect_identical(as.matrix(twice)[, 1], c(1, 1, 2))
})

test_that("bags taken twice keep images, truth and cells, and weigh twice in a fit", {
  set.seed(2)
  b <- sim_bags(n_bags = 8, bag_size = 3, image_dim = c(2, 2))
  b$cell <- b$order + 100L
  twice <- b[c(1:8, 1:8)]
  expect_identical(twice$image_dim, c(2L, 2L))
  expect_identical(bag_cells(twice)$cell, rep(bag_cells(b)$cell, 2))
  expect_identical(as.data.frame(twice)$truth, rep(as.data.frame(b)$truth, 2))
  expect_equal(coef(sil(twice, cost = 1)), coef(sil(b, cost = 2)), tolerance = 1e-3)
})

test_that("a data frame made of bags is those bags again", {
  b <- mixed()
  expect_identical(bags(as.data.frame(b), "bag", "label"), b)
  expect_identical(bags(mi(label, bag) ~ ., data = as.data.frame(b)), b)
  b <- mixed(truth = FALSE)
  expect_identical(bags(as.data.frame(b), "bag", "label"), b)
})

test_that("[ refuses what names no bag", {
  b <- mixed()
  for (i in list(6, -6, 1.5, NA, NULL, "x", c("u", NA), c(-1, 2), c(TRUE, FALSE), list(1),
                 factor("u"), Inf))
    expect_error(b[i], "`i`", class = "fumi_error_subscript", info = deparse(i))
})

test_that("no bags at all can be looked at", {
  none <- mixed()[0]
  expect_silent(expect_output(print(none), "0 bags"))
  expect_identical(dim(as.matrix(none)), c(0L, 3L))
  expect_identical(nrow(as.data.frame(none)), 0L)
  expect_identical(nrow(summary(none)), 0L)
})

test_that("c() puts bags together, instances one after the other, and [ takes them apart again", {
  b <- mixed()
  parts <- list(b[c("v", "y")], b["u"], b[c("w", "z")])
  together <- do.call(c, parts)
  expect_identical(id_of(together), unlist(lapply(parts, id_of)))
  expect_identical(as.matrix(together), do.call(rbind, lapply(parts, as.matrix)))
  d <- do.call(rbind, lapply(parts, as.data.frame))
  expect_identical(together, bags(d, "bag", "label", truth = "truth"))
  expect_identical(together[c("v", "y")], parts[[1]])
  expect_identical(together[c("w", "z")], parts[[3]])
  expect_identical(c(b), b)
  expect_identical(c(b[0], b), b)
  expect_null(c(mixed(truth = FALSE)["u"], b["v"])$truth)
})

test_that("a fit on parts put together is the fit on the whole", {
  set.seed(2)
  b <- sim_bags(n_bags = 6, bag_size = 4, n_features = 5)
  fit <- function(b) {
    set.seed(3)
    dlfumi(b, n_target = 1, n_background = 2, control = dlfumi_control(max_iter = 3))
  }
  expect_identical(fit(c(b[1:2], b[3:6])), fit(b))
})

test_that("c() refuses what does not go together", {
  b <- mixed()
  one <- function(...) bags(matrix(1, 2, 3, dimnames = list(NULL, letters[1:3])), c("k", "k"),
                            TRUE, ...)
  expect_error(c(b, 1), class = "fumi_error_type")
  expect_error(c(b, b["u"]), "bag u", class = "fumi_error_combine")
  expect_error(c(b, bags(matrix(1, 2, 3), c("k", "k"), TRUE)), "features",
               class = "fumi_error_combine")
  expect_error(c(bags(diag(2), 1:2, 0:1), bags(diag(3), 3:5, c(0, 0, 1))), "2 and 3",
               class = "fumi_error_combine")
  expect_error(c(b, bags(matrix(1, 2, 2, dimnames = list(NULL, c("a", "b"))), c("k", "k"), TRUE)),
               class = "fumi_error_combine")
  expect_error(c(b, one(positive = "TRUE")), "classes", class = "fumi_error_combine")
  expect_error(c(b, one(image_dim = c(1, 3))), "image_dim", class = "fumi_error_combine")
  expect_length(c(b, one()), 6)
})

test_that("a share splits whole bags, within each label", {
  set.seed(4)
  b <- sim_bags(n_bags = 20, bag_size = 3, n_features = 4)
  parts <- split(b, 0.7)
  expect_named(parts, c("train", "test"))
  expect_identical(c(sum(parts$train$label), sum(!parts$train$label)), c(7L, 7L))
  expect_setequal(c(parts$train$ids, parts$test$ids), b$ids)
  expect_length(intersect(parts$train$ids, parts$test$ids), 0)
  expect_identical(parts$train, b[parts$train$ids])
  expect_identical(parts$test, b[parts$test$ids])
  set.seed(5)
  again <- split(b, 0.7)
  expect_false(identical(again, parts))
  set.seed(5)
  expect_identical(split(b, 0.7), again)
  expect_length(split(b, 1)$test, 0)
  expect_length(split(b, 0.33)$train, 6)
  for (f in list(0, -0.1, 1.5, NA_real_, Inf))
    expect_error(split(b, f), "`f`", class = "fumi_error_input", info = format(f))
})

test_that("a factor splits by bag", {
  b <- mixed()
  parts <- split(b, c("left", "right", "left", "left", "right"))
  expect_identical(parts, list(left = b[c("u", "w", "z")], right = b[c("v", "y")]))
  expect_named(split(b, b$label), c("FALSE", "TRUE"))
  expect_error(split(b, c("left", "right")), "`f`", class = "fumi_error_input")
  expect_error(split(b, "left"), "`f`", class = "fumi_error_input")
})

test_that("a summary is data, and prints in ten lines whatever the size", {
  b <- sim_bags(n_bags = 60, bag_size = 3, n_features = 2)
  s <- summary(b)
  expect_s3_class(s, "data.frame")
  expect_identical(s$bag, b$ids)
  expect_identical(dim(s), c(60L, 4L))
  expect_lte(length(capture.output(print(s))), 10)
  expect_output(print(s), "30 +90 +3 +3 +3 +30")
  expect_length(capture.output(print(s[1:5, ])), 6)
  expect_length(capture.output(print(as.data.frame(s))), 61)
  expect_output(print(s["bag"]), "60")
  expect_output(print(b[1]), "^1 bag: .*\n3 instances of 2 features, 3 per bag\n1 instance is a known")
})

test_that("bags are repeated as a vector is", {
  b <- sim_bags(n_bags = 4, bag_size = 2, n_features = 3)
  expect_identical(rep(b, 2)$ids, b[c(1:4, 1:4)]$ids)
  expect_identical(rep(b, each = 2)$ids, b[rep(1:4, each = 2)]$ids)
})
