skip_if_not_installed("Matrix")

# Bags of mostly zeros: targets have the first features, as a dense matrix, ids and labels.
sparse_problem <- function(n = 60, d = 40) {
  set.seed(1)
  x <- matrix(rexp(n * d) * (runif(n * d) < .15), n)
  bag <- rep(seq_len(n / 4), each = 4)
  label <- rep(c(1, 0), length.out = n / 4)
  x[, 1:2] <- x[, 1:2] + (label[bag] == 1 & seq_len(n) %% 4 == 1)
  x[rowSums(x) == 0, 5] <- 1
  colnames(x) <- paste0("f", seq_len(d))
  list(x = x, sparse = Matrix::Matrix(x, sparse = TRUE), bag = bag, label = label)
}

test_that("every class of the package Matrix gives the same bags as the dense matrix", {
  p <- sparse_problem()
  expected <- bags(p$x, p$bag, p$label)
  for (class in c("CsparseMatrix", "RsparseMatrix", "TsparseMatrix", "unpackedMatrix")) {
    b <- bags(methods::as(p$sparse, class), p$bag, p$label)
    expect_identical(dense_bags(b), expected, info = class)
    expect_identical(as.matrix(b), p$x, info = class)
    expect_identical(as.data.frame(b), as.data.frame(expected), info = class)
    expect_identical(is_sparse(b$x), class != "unpackedMatrix")
  }
  square <- list(symmetric = Matrix::forceSymmetric(p$sparse[1:12, 1:12]),
                 triangular = Matrix::triu(p$sparse[1:12, 1:12]),
                 diagonal = Matrix::Diagonal(12), logical = p$sparse[1:12, ] > 1,
                 pattern = methods::as(p$sparse[1:12, ] != 0, "nMatrix"),
                 permutation = methods::as(12:1, "pMatrix"))
  for (name in names(square)) {
    b <- bags(square[[name]], 1:12, rep(0:1, 6))
    expect_identical(unname(as.matrix(b)), unname(as.matrix(square[[name]])) + 0, info = name)
  }
})

test_that("sparse bags are taken, put together, split and listed like dense ones", {
  p <- sparse_problem()
  b <- bags(p$sparse, p$bag, p$label)
  dense <- bags(p$x, p$bag, p$label)
  for (i in list(3:5, c(4, 1, 1), -1)) expect_identical(dense_bags(b[i]), dense[i])
  expect_identical(dense_bags(c(b[1:3], b[4:15])), dense)
  expect_identical(summary(b), summary(dense))
  expect_output(print(b), "60 instances of 40 features")
  parts <- list(p$sparse[1:8, ], p$sparse[9:60, ])
  expect_identical(dense_bags(bags(parts, 1:0)), bags(list(p$x[1:8, ], p$x[9:60, ]), 1:0))
})

test_that("missing and infinite values are found and named", {
  p <- sparse_problem()
  for (value in c(NA, Inf)) {
    p$sparse[7, 3] <- value
    expect_error(bags(p$sparse, p$bag, p$label), "instance 7, feature f3",
                 class = "fumi_error_nonfinite")
  }
  p$sparse[7, 3] <- NA
  expect_identical(dense_bags(bags(p$sparse, p$bag, p$label, na.action = na.omit)),
                   bags(replace(p$x, cbind(7, 3), NA), p$bag, p$label, na.action = na.omit))
})

test_that("fits to sparse and dense features agree, for every method", {
  p <- sparse_problem()
  for (method in names(mil_methods)) {
    fit <- function(x)
      suppressWarnings(do.call(seeded, c(list(mil_methods[[method]], x, p$bag, p$label,
                                              calibrate = 0), quick_arguments[[method]])))
    one <- fit(p$sparse)
    other <- fit(p$x)
    for (new in list(p$x, p$sparse, bags(p$sparse, p$bag, p$label)))
      expect_equal(predict(one, new)$.score, predict(other, p$x)$.score, tolerance = 1e-3,
                   info = method)
    # The optimum is the same; where a solver stops near it depends on rounding.
    expect_equal(predict(other, p$sparse)$.score, predict(other, p$x)$.score, tolerance = 1e-10,
                 info = method)
  }
})

test_that("weights by sparse and dense features are the same to rounding where the solver's path is", {
  p <- sparse_problem()
  for (fit in list(sil, function(...) sil(..., normalize = "none"),
                   function(...) mi_svm(..., kernel = "linear"),
                   function(...) mi_svm(..., type = "mi", kernel = "linear")))
    expect_equal(unname(coef(seeded(fit, p$sparse, p$bag, p$label))),
                 unname(coef(seeded(fit, p$x, p$bag, p$label))), tolerance = 1e-8)
})

test_that("norms are those of the core, also near the limits of doubles", {
  p <- sparse_problem()
  for (factor in c(1, 1e-290, 1e200)) {
    b <- bags(p$sparse * factor, p$bag, p$label)
    expect_equal(instance_scale(b$x, "unit"), instance_scale(dense_columns(b$x), "unit"),
                 tolerance = 1e-14)
  }
  empty <- bags(Matrix::Matrix(0, 4, 3, sparse = TRUE), 1:4, c(0, 0, 1, 1))
  expect_identical(instance_scale(empty$x, "unit"), numeric(4))
})

# 2000 x 50000 with 0.1 % that are not 0: 1.2 MB, and 800 MB if it were dense.
wide_problem <- function() {
  set.seed(2)
  n <- 2000
  d <- 50000
  row <- rep(seq_len(n), each = 50)
  x <- Matrix::sparseMatrix(row, as.vector(replicate(n, sample.int(d, 50))), x = rexp(50 * n),
                            dims = c(n, d))
  bag <- rep(seq_len(n / 5), each = 5)
  label <- rep(c(1, 0), length.out = n / 5)
  target <- label[bag] == 1 & seq_len(n) %% 5 == 1
  list(x = x + Matrix::sparseMatrix(which(target), rep(7, sum(target)), x = 5, dims = c(n, d)),
       bag = bag, label = label)
}

test_that("linear methods hold sparse features without making them dense", {
  p <- wide_problem()
  megabytes <- function(run) {
    before <- sum(gc(reset = TRUE)[, 2])
    force(run())
    sum(gc()[, 6]) - before
  }
  b <- bags(p$x, p$bag, p$label)
  expect_lt(as.numeric(utils::object.size(b$x)), 2e6)
  expect_lt(megabytes(function() fit <<- sil(b, calibrate = 0)), 200)
  expect_lt(megabytes(function() score <<- predict(fit, p$x)$.score), 100)
  expect_gt(as.numeric(mil_roc(fit, b, level = "bag")$auc), .9)
  expect_gt(coef(fit)[7], 10 * sd(coef(fit)))
  some <- b[1:60]
  expect_lt(megabytes(function() fit <<- mi_svm(some, kernel = "linear", calibrate = 0,
                                                max_iter = 3)), 200)
  expect_length(fit$model$weights, 50000)
  expect_lt(megabytes(function() fit <<- miles(some, calibrate = 0)), 300)
  expect_identical(nrow(fit$instances), 50000L)
})

test_that("what must be dense says how large it would be, above a limit that an option raises", {
  p <- wide_problem()
  b <- bags(p$x, p$bag, p$label)
  old <- options(fumi.max_dense = .5)
  on.exit(options(old))
  for (run in list(function() mi_ace(b), function() mi_svm(b, kernel = "rbf"),
                   function() as.matrix(b), function() as.data.frame(b),
                   function() bag_shards(b), function() sub_ace(b, 1:50000, b)))
    expect_error(run(), "2000 instances of 50000 features would take 0.745 GB.*fumi.max_dense",
                 class = "fumi_error_memory")
  few <- sparse_problem()
  options(fumi.max_dense = 1e-9)
  expect_error(dlfumi(few$sparse, few$bag, few$label), class = "fumi_error_memory")
  expect_error(predict(mi_ace(few$x, few$bag, few$label), few$sparse), "mi_ace()", fixed = TRUE,
               class = "fumi_error_memory")
  options(fumi.max_dense = 1)
  expect_s3_class(mi_ace(few$sparse, few$bag, few$label), "mil_model")
  options(fumi.max_dense = "much")
  expect_error(mi_ace(few$sparse, few$bag, few$label), "`fumi.max_dense`",
               class = "fumi_error_input")
})

test_that("files of index:value are read sparse on request, and written without becoming dense", {
  p <- wide_problem()
  b <- bags(p$x, p$bag, p$label)[1:10]
  file <- tempfile(fileext = ".svm")
  on.exit(unlink(file))
  old <- options(fumi.max_dense = .01)
  on.exit(options(old), add = TRUE)
  write_bags(b, file)
  expect_error(read_bags(file), "50 instances of 50000 features", class = "fumi_error_memory")
  back <- read_bags(file, sparse = TRUE)
  expect_equal(back$x, b$x)
  for (part in c("bag", "ids", "label")) expect_identical(back[[part]], b[[part]])
  options(fumi.max_dense = 1)
  expect_identical(dense_bags(read_bags(file, sparse = TRUE)), read_bags(file))
  expect_error(read_bags(file, "csv", sparse = TRUE), "`sparse`", class = "fumi_error_input")
  writeLines("0:1:1 3:1 3:2", file)
  expect_error(read_bags(file), "3 is twice", class = "fumi_error_file")
})

test_that("models saved after sparse fits are plain", {
  p <- sparse_problem()
  file <- tempfile()
  on.exit(unlink(file))
  for (fit in list(sil(p$sparse, p$bag, p$label),
                   mi_svm(p$sparse, p$bag, p$label, kernel = "linear"),
  miles(p$sparse, p$bag, p$label))) {
    mil_save(fit, file)
    expect_identical(mil_load(file), fit)
  }
})

test_that("plots, pages and several classes take sparse features", {
  p <- sparse_problem()
  b <- bags(p$sparse, p$bag, p$label)
  pdf(NULL)
  on.exit(dev.off())
  expect_invisible(plot(b))
  page <- mil_view(sil(b), b, open = FALSE)
  expect_gt(file.size(page), 1000)
  many <- one_vs_rest(p$sparse, bag = p$bag, label = c("u", "v")[1 + p$label], fitter = mi_ace)
  expect_equal(predict(many, p$sparse), predict(one_vs_rest(p$x, bag = p$bag,
                                                            label = c("u", "v")[1 + p$label],
  fitter = mi_ace), p$x))
  expect_equal(augment(sil(b), p$sparse)$.score, predict(sil(b), b)$.score)
})

test_that("a hundred million features take no memory for each of them", {
  skip_if_not_installed("Matrix")
  n <- 1e8
  x <- Matrix::sparseMatrix(1:4, c(1, n, 2, 5), x = 1, dims = c(4, n), repr = "T")
  b <- bags(x, 1:4, c(1, 0, 1, 0))
  expect_lt(as.numeric(object.size(b)), 1e5)
  before <- sum(gc(reset = TRUE)[, 2])
  bags(x, 1:4, c(1, 0, 1, 0))
  expect_lt(sum(gc()[, 6]) - before, 200)
})
