# Every row of the table of peers in vignette("coming-from") says something of this package: here
# it is done. A row is a line of inst/extdata/peers.csv and a test of its name.

peer <- local({
  set.seed(1)
  x <- as.matrix(sim_bags(n_bags = 12, bag_size = 3, image_dim = c(2, 3)))
  colnames(x) <- letters[1:6]
  bag <- rep(1:12, each = 3)
  label <- rep(c(1, 0), each = 6)
  b <- bags(x, bag, label, image_dim = c(2, 3))
  list(x = x, bag = bag, label = label, b = b, d = data.frame(x, bag, label = label[bag]),
       fit = dlfumi(b, n_target = 1, n_background = 2))
})

# Of each method, made when first looked at.
delayedAssign("fits", {
  set.seed(2)
  lapply(mil_methods, function(fit) suppressWarnings(fit(mi(label, bag) ~ a + b + c,
                                                         data = peer$d)))
})

on_nothing <- function(code) {
  pdf(NULL)
  on.exit(dev.off())
  code
}

test_that("peer table: data in", {
  rows <- split(seq_along(peer$bag), peer$bag)
  images <- array(t(peer$x), c(2, 3, 36))
  plain <- unname(peer$x)
  expect_identical(bags(as.data.frame(peer$x), peer$bag, peer$label),
                   bags(peer$x, peer$bag, peer$label))
  expect_identical(bags(peer$d, bag = "bag", label = "label"), bags(peer$x, peer$bag, peer$label))
  expect_identical(bags(mi(label, bag) ~ ., peer$d), bags(peer$x, peer$bag, peer$label))
  expect_identical(bags(lapply(rows, function(i) plain[i, ]), peer$label),
                   bags(plain, peer$bag, peer$label))
  expect_identical(bags(images, peer$bag, peer$label),
                   bags(plain, peer$bag, peer$label, image_dim = c(2, 3)))
})

test_that("peer table: formula", {
  skip_on_cran()
  for (fit in fits) expect_equal(fit$features, c("a", "b", "c"))
})

test_that("peer table: a class for bags", {
  expect_s3_class(peer$b, "bags")
  expect_output(print(peer$b), "12 bags|6 positive")
  expect_silent(on_nothing(plot(peer$b)))
})

test_that("peer table: methods of a fit", {
  expect_output(print(peer$fit), "DL-FUMI")
  expect_output(print(summary(peer$fit)), "atoms")
  expect_equal(dim(coef(peer$fit)), c(3, 6))
  expect_equal(unname(fitted(peer$fit, peer$b) + residuals(peer$fit, peer$b)), unname(peer$x))
  expect_equal(nrow(predict(peer$fit, peer$b)), 36)
  expect_equal(update(peer$fit, peer$b, lambda = 0.02)$lambda, 0.02)
  expect_silent(on_nothing(plot(peer$fit)))
})

test_that("peer table: tidy tables", {
  expect_equal(nrow(tidy(peer$fit)), 3 * 6)
  expect_equal(nrow(glance(peer$fit)), 1)
  expect_equal(nrow(augment(peer$fit, peer$b)), 36)
})

test_that("peer table: predicts for", {
  skip_on_cran()
  for (fit in fits) {
    expect_equal(nrow(predict(fit, peer$b)), 36)
    expect_equal(nrow(predict(fit, peer$b, level = "bag")), 12)
  }
})

test_that("peer table: one row per bag", {
  predicted <- predict(peer$fit, peer$b, level = "bag")
  expect_equal(predicted$.bag, as.character(1:12))
})

test_that("peer table: predicts what", {
  what <- function(type) predict(peer$fit, peer$b, type = type)
  expect_type(what("score")$.score, "double")
  expect_equal(levels(what("class")$.pred_class), c("0", "1"))
  expect_true(all(abs(what("prob")$.pred_1 - 0.5) <= 0.5))
  expect_equal(dim(what("codes")), c(36, 3))
  expect_equal(dim(what("reconstruction")), c(36, 6))
})

test_that("peer table: probabilities", {
  skip_on_cran()
  for (fit in fits) {
    p <- predict(fit, peer$b, type = "prob")[[4]]
    expect_true(all(p >= 0 & p <= 1))
  }
})

test_that("peer table: cross-validation", {
  folds <- rep(1:2, 6)
  tuned <- mil_tune(peer$b, mi_svm, data.frame(kernel = c("linear", "rbf"), cost = c(1, 2)),
                    folds = folds)
  expect_equal(nrow(tuned$results), 2)
  expect_equal(tuned$results$failed, c(0, 0))
  expect_equal(nrow(mil_cv(peer$b, sil, folds = folds)), 2)
  expect_true(all(table(bag_folds(peer$b, 2), peer$label) == 3))
})

test_that("peer table: kernels", {
  for (kernel in c("linear", "rbf", "polydot", "laplacedot"))
    expect_equal(mi_svm(peer$b, kernel = kernel)$kernel$name, kernel)
  expect_s3_class(dmil(peer$b, kernel = "rbf", max_iter = 2), "dmil")
})

test_that("peer table: needs from elsewhere", {
  about <- utils::packageDescription("fumi")
  expect_null(about$SystemRequirements)
  expect_null(about$Additional_repositories)
  expect_no_match(about$Imports, "gurobi|cplex|mosek|reticulate|tensorflow|torch",
                  ignore.case = TRUE)
})

test_that("peer table: plots", {
  on_nothing({
    expect_silent(plot(peer$fit, "atoms"))
    expect_silent(plot(peer$fit, "objective"))
    expect_silent(plot(peer$fit, "bag", new_data = peer$b))
    expect_silent(plot(mil_roc(peer$fit, peer$b, level = "bag")))
  })
})

test_that("peer table: progress", {
  old <- options(cli.progress_handlers_force = "logger")
  on.exit(options(old))
  expect_output(suppressMessages(sil(peer$b, progress = TRUE)), "terminated")
  expect_silent(sil(peer$b, progress = FALSE))
})

test_that("peer table: seed", {
  fit <- function() {
    set.seed(5)
    dlfumi(peer$b, n_target = 1, n_background = 2, n_start = 2)
  }
  expect_identical(fit(), fit())
})

test_that("peer table: parallel", {
  fit <- function(threads) {
    set.seed(5)
    dlfumi(peer$b, n_target = 1, n_background = 2, control = dlfumi_control(threads = threads))
  }
  expect_identical(fit(2)$dictionary, fit(1)$dictionary)
  skip_on_cran()
  skip_if_not_installed("future")
  cv <- function() {
    set.seed(6)
    mil_cv(peer$b, sil, folds = 2)$metric
  }
  alone <- cv()
  old <- future::plan(future::multisession, workers = 2)
  on.exit(future::plan(old))
  expect_identical(cv(), alone)
})

test_that("peer table: data sets", {
  expect_gt(length(usps$digit), 9000)
  expect_equal(dim(usps_images(1:2)), c(16, 16, 2))
  expect_length(dim(olivetti_images(1:2)), 3)
  expect_s3_class(sim_bags(4), "bags")
})

test_that("peer table: sparse matrices", {
  skip_if_not_installed("Matrix")
  sparse <- Matrix::Matrix(diag(100), sparse = TRUE)
  b <- bags(sparse, rep(1:50, 2), rep(0:1, 25))
  expect_equal(predict(sil(b), sparse)$.score,
               predict(sil(bags(diag(100), rep(1:50, 2), rep(0:1, 25))), diag(100))$.score)
})

test_that("peer table: missing values", {
  expect_error(bags(replace(peer$x, 38, NA), peer$bag, peer$label), "instance 2, feature b",
               class = "fumi_error_nonfinite")
})

test_that("peer table: model on disk", {
  file <- tempfile()
  on.exit(unlink(file))
  mil_save(peer$fit, file)
  kept <- mil_load(file)
  expect_equal(predict(kept, peer$b), predict(peer$fit, peer$b))
  parts <- rapply(unclass(kept), function(part) !is.function(part) && !inherits(part, "bags"),
                  how = "unlist")
  expect_true(all(parts))
})

test_that("peer table: why a bag is positive", {
  why <- explain(peer$fit, peer$b, bag = 1)
  expect_equal(why$without / why$with, why$score, tolerance = 1e-6)
})

test_that("peer table: a page to look through", {
  page <- mil_view(peer$fit, peer$b, open = FALSE)
  on.exit(unlink(page))
  expect_match(paste(readLines(page, warn = FALSE), collapse = "\n"), "threshold")
})

test_that("peer table: methods compared", {
  compared <- mil_benchmark(peer$b, c("sil", "mi_svm"), folds = 2)
  expect_setequal(compared$results$method, c("sil", "mi_svm"))
  expect_true(compared$tests$p >= 0 && compared$tests$p <= 1)
})

test_that("peer table: non-negative", {
  b <- bags(abs(peer$x), peer$bag, peer$label)
  fit <- dlfumi(b, n_target = 1, n_background = 2, nonneg = "both", progress = FALSE)
  expect_gte(min(fit$codes, fit$dictionary), 0)
})

test_that("peer table: known instances", {
  prior <- ifelse(seq_along(peer$bag) == 1, 0, NA)
  fit <- dlfumi(peer$b, n_target = 1, n_background = 2, instance_prior = prior,
                bag_weights = rep(2, length(peer$b)))
  expect_identical(fit$prob_target[1], 0)
})

test_that("peer table: more than memory", {
  parts <- bag_shards(peer$b, n = 2)
  on.exit(unlink(parts$dir, recursive = TRUE))
  small <- dlfumi_control("exact", batch = 8, max_iter = 5)
  expect_s3_class(dlfumi(parts, n_target = 1, n_background = 2, control = small), "dlfumi")
})

test_that("peer table: files", {
  for (extension in c("csv", "svm", "arff", if (requireNamespace("R.matlab",
                                                                 quietly = TRUE)) "mat")) {
    file <- tempfile(fileext = paste0(".", extension))
    write_bags(peer$b, file)
    expect_equal(unname(as.matrix(read_bags(file))), unname(as.matrix(peer$b)))
    unlink(file)
  }
})

test_that("peer table: maps", {
  skip_if_not_installed("terra")
  cube <- small_cube()
  b <- bags(cube, rbind(c(110, 60), c(120, 70)), halo = 3)
  map <- predict(dlfumi(b, n_target = 1, n_background = 2), cube)
  expect_true(terra::compareGeom(map, cube))
})

test_that("each row has a test, each test a row", {
  rows <- utils::read.csv(system.file("extdata", "peers.csv", package = "fumi"))$capability
  tests <- grep("^test_that\\(\"peer table: ", readLines(test_path("test-peers.R")), value = TRUE)
  expect_identical(sub(".*peer table: ([^\"]*)\".*", "\\1", tests), rows)
})
