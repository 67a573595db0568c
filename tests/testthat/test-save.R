saved <- function(object) {
  file <- tempfile()
  on.exit(unlink(file))
  mil_save(object, file)
  mil_load(file)
}

plain <- function(value) {
  fit <- fit_to(bags_of(eight_bags()))
  fit$extra <- value
  saved(fit)$extra
}

test_that("every method's model comes back the same, and predicts the same", {
  b <- contract_bags()[c(1:6, 21:26)]
  quick <- c(quick_arguments, list(dlfumi = list(control = dlfumi_control(max_iter = 3))))
  for (method in names(mil_methods)) {
    fit <- do.call(seeded, c(list(mil_methods[[method]], b), quick[[method]]))
    expect_identical(saved(fit), fit)
    expect_identical(predict(saved(fit), b), predict(fit, b))
  }
})

test_that("averages, kernels, kept backgrounds, bag routes and one-vs-rest come back the same", {
  b <- bags_of(eight_bags())
  set.seed(3)
  fits <- list(
    dlfumi(b, n_target = 1, n_background = 2, n_start = 2, combine = "average",
           keep_background = TRUE, control = dlfumi_control(max_iter = 2)),
    dmil(b, n_atoms = 2, kernel = "rbf", n_start = 2, combine = "average", max_iter = 2),
    em_dd(b, n_start = 2, combine = "average", max_iter = 2),
    mmdl(b, n_clusters = 2, bag_route = TRUE, n_start = 2, combine = "average"),
    one_vs_rest(list(a = b, b = b), fitter = sil, scale = TRUE))
  for (fit in fits) {
    expect_identical(saved(fit), fit)
    expect_identical(predict(saved(fit), b), predict(fit, b))
  }
})

test_that("values keep their type, their bits and their attributes", {
  expect_identical(plain(c(NA, NaN, Inf, -Inf, 5e-324, .1)), c(NA, NaN, Inf, -Inf, 5e-324, .1))
  expect_identical(1 / plain(c(0, -0)), c(Inf, -Inf))
  expect_identical(is.nan(plain(c(NA, NaN))), c(FALSE, TRUE))
  for (value in list(
    1:3, c(1, 2), c(NA, 1L), c(TRUE, NA, FALSE), as.raw(0:255), list(), list(NULL, list(1)),
    character(), "", integer(),
    c("\u00e9\u4e2d", NA, "NA", ""), c(a = 1, "\u00e9" = 2),
    matrix(1:6, 2, dimnames = list(NULL, letters[1:3])),
    array(0, c(2, 1, 0)), data.frame(x = 1:2, y = c("a", "b")), data.frame(x = 1, row.names = "r"),
    factor(c("u", NA, "v"), c("v", "u")), iconv("\u00e9", "UTF-8", "latin1")))
    expect_identical(plain(value), value)
})

test_that("what may hold code is refused, with its place", {
  b <- bags_of(eight_bags())
  refused <- function(object, words) expect_error(mil_save(object, tempfile()), words,
                                                  class = "fumi_error_unsaved")
  refused(sil(b, classifier = list(fit = function(x, y) 1, score = function(model, x) x[, 1])),
          "`object\\$spec\\$classifier\\$fit` is a function.*saveRDS")
  refused(mi_svm(b, kernel = function(x, y) sum(x * y)), "`object\\$kernel\\$name` is a function")
  fit <- fit_to(b)
  for (value in list(new.env(), quote(a + b), y ~ x, as.name("a"), expression(1), 1i, sum))
    refused(replace(fit, "extra", list(list(value))), "`object\\$extra\\$1` is")
  refused(replace(fit, "extra", list(structure(1, tag = 2))), "`object\\$extra` has tag")
  deep <- 1
  for (i in 1:20) deep <- list(deep)
  refused(replace(fit, "extra", list(deep)), "too deep")
})

test_that("what is no model is not saved, and no file is left", {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  for (x in list(1, NULL, list(), structure(list(), class = "mil_model")))
    expect_error(mil_save(x, file.path(folder, "m")), "`object", class = "fumi_error_model")
  fit <- fit_to(bags_of(eight_bags()))
  expect_error(mil_save(fit, file.path(folder, "none", "m")), "`file`", class = "fumi_error_file")
  expect_error(mil_save(fit, folder), "`file`", class = "fumi_error_file")
  for (x in list(1, NA_character_, character(), c("a", "b"), "", NULL)) {
    expect_error(mil_save(fit, x), "`file`", class = "fumi_error_input")
    expect_error(mil_load(x), "`file`", class = "fumi_error_input")
  }
  expect_length(list.files(folder), 0)
  expect_identical(mil_save(fit, file.path(folder, "m")), file.path(folder, "m"))
  expect_identical(list.files(folder), "m")
})

test_that("a file that is no model is refused, with the reason", {
  file <- tempfile()
  on.exit(unlink(file))
  fit <- fit_to(bags_of(eight_bags()))
  mil_save(fit, file)
  bytes <- readBin(file, raw(), file.size(file))
  refused <- function(bytes, words) {
    writeBin(bytes, file)
    expect_error(mil_load(file), words, class = "fumi_error_file")
  }
  expect_error(mil_load(tempfile()), "no such file", class = "fumi_error_file")
  expect_error(mil_load(tempdir()), "no such file", class = "fumi_error_file")
  refused(raw(), "begins otherwise")
  refused(head(bytes, 23), "begins otherwise")
  refused(replace(bytes, 1, as.raw(0)), "begins otherwise")
  refused(replace(bytes, 9, as.raw(2)), "format 2, and this version of fumi knows format 1")
  refused(head(bytes, -1), "announces")
  refused(c(bytes, as.raw(0)), "announces")
  refused(replace(bytes, 13:20, to_bytes(NA_real_)), "announces")
  refused(replace(bytes, 21, xor(bytes[21], as.raw(1))), "checksum")
  refused(replace(bytes, 500, xor(bytes[500], as.raw(1))), "checksum")
  for (content in list(raw(), as.raw(7), as.raw(c(6, rep(255, 8))), c(as.raw(3), to_bytes(1e300)),
                       c(as.raw(3), to_bytes(-1)), c(as.raw(2), to_bytes(.5)),
                       c(as.raw(0), as.raw(0)), rep(c(as.raw(6), to_bytes(1)), 30)))
    refused(c(header_bytes(content), content), "content is damaged")
  nothing <- unlist(encode(list(1), "object", 1, NULL))
  refused(c(header_bytes(nothing), nothing), "no model of a known method")
})

# `update()` calls the function that a model names.
test_that("a file cannot choose the functions that are called", {
  fit <- unclass(fit_to(bags_of(eight_bags())))
  fit[c("method", "spec")] <- list("system", list(command = "true"))
  file <- tempfile()
  on.exit(unlink(file))
  for (class in list(c("system", "mil_model"), "evil", c("sil", "mil_model"))) {
    bytes <- unlist(encode(structure(fit, class = class), "object", 1, NULL))
    writeBin(c(header_bytes(bytes), bytes), file)
    expect_error(mil_load(file), "`file`", class = "fumi_error_file")
  }
})

test_that("a file of 2 GiB is refused unread", {
  skip_on_cran()
  skip_on_os(c("windows", "mac"))
  file <- tempfile()
  on.exit(unlink(file))
  system2("truncate", c("--size=2G", file))
  expect_error(mil_load(file), "larger than 2 GiB", class = "fumi_error_file")
})

test_that("Adler-32 is that of RFC 1950, also over its own parts", {
  sums <- function(bytes) readBin(adler32(bytes), "integer", 2, size = 2, signed = FALSE,
                                  endian = "little")
  expect_identical(sums(raw()), c(1L, 0L))
  expect_identical(sums(charToRaw("Wikipedia")), c(0x0398L, 0x11E6L))
  bytes <- as.raw(seq_len(3e6) %% 251)
  a <- (1 + sum(as.integer(bytes))) %% 65521
  b <- sum((1 + cumsum(as.double(as.integer(bytes)))) %% 65521) %% 65521
  expect_equal(sums(bytes), c(a, b))
})

test_that("a model of version 0.1.0 is read and scores as it did", {
  fit <- mil_load(test_path("fixtures", "model-0.1.0.fumi"))
  expected <- readRDS(test_path("fixtures", "model-0.1.0-scores.rds"))
  expect_identical(fit$version, "0.1.0")
  expect_equal(predict(fit, expected$x)$.score, expected$score, tolerance = 1e-10)
  expect_identical(predict(fit, expected$x, type = "class")$.pred_class, expected$class)
})

test_that("1,000 damaged files are refused, or are models, without much memory", {
  skip_on_cran()
  file <- test_path("fixtures", "model-0.1.0.fumi")
  bytes <- readBin(file, raw(), file.size(file))
  x <- readRDS(test_path("fixtures", "model-0.1.0-scores.rds"))$x
  gc(reset = TRUE)
  before <- sum(gc()[, 2])
  answers <- try_mutants(bytes, c(1:1000, 2341), x)
  # what waits for the collector counts too; a size that was believed would be gigabytes
  expect_lt(sum(gc()[, 6]) - before, 500)
  expect_identical(setdiff(answers, c("refused", "model")), character())
  expect_gt(mean(answers == "refused"), .6)
})

test_that("a session that is killed while it saves leaves a whole file", {
  skip_on_cran()
  expect_identical(killed_saves(5), 0L)
})

test_that("text that no encoding explains is refused, since it could not be read back", {
  x <- instances()
  colnames(x)[1] <- "caf\xe9"
  fit <- sil(x, ids, per_bag, calibrate = 0)
  skip_if(validEnc(colnames(x)[1]), "the session's encoding knows it")
  expect_error(mil_save(fit, tempfile()), "encoding", class = "fumi_error_unsaved")
  Encoding(colnames(x)) <- "latin1"
  fit <- sil(x, ids, per_bag, calibrate = 0)
  file <- tempfile()
  on.exit(unlink(file))
  mil_save(fit, file)
  expect_identical(mil_load(file), fit)
})
