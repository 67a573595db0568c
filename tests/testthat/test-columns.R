# Six bags of two instances.
six <- rep(1:6, each = 2)
half <- rep(1:0, each = 3)

# The bits of an integer64 of the package bit64, from its upper and lower 32 bits.
int64 <- function(high, low) {
  bytes <- writeBin(as.integer(rbind(low, high)), raw(), endian = "little")
  structure(readBin(bytes, "double", length(high), endian = "little"), class = "integer64")
}
largest64 <- int64(2147483647L, -1L)
missing64 <- int64(NA_integer_, 0L)

# Every class of column gives its numbers, or an error that names the column.
test_that("columns of every class give the right numbers or are refused by name", {
  n <- 12
  v <- c(3:1, 4:12) + 0
  labelled <- structure(v, labels = c(low = 1), class = c("haven_labelled", "vctrs_vctr", "double"))
  metres <- structure(v, units = structure(list(numerator = "m", denominator = character()),
                                           class = "symbolic_units"),
                      class = "units")
  good <- list(double = v, integer = as.integer(v), logical = v > 3,
               integer64 = int64(rep(0L, n), as.integer(v)),
               "negative integer64" = int64(rep(-1L, n), -as.integer(v)), AsIs = I(v),
               ts = stats::ts(v), names = stats::setNames(v, letters[1:n]))
  numbers <- list(logical = v > 3, "negative integer64" = -v)
  for (name in names(good)) {
    d <- data.frame(a = 1:n)
    d$odd <- good[[name]]
    expected <- if (is.null(numbers[[name]])) v else numbers[[name]] + 0
    expect_identical(as.matrix(bags(d, six, half)), cbind(a = 1:n + 0, odd = expected), info = name)
    matrix_of <- structure(good[[name]], dim = c(n, 1), names = NULL, tsp = NULL)
    expect_identical(as.matrix(bags(matrix_of, six, half))[, 1], expected,
                     info = paste("matrix", name))
  }
  bad <- list(Date = as.Date("2020-01-01") + v, POSIXct = as.POSIXct("2020-01-01", tz = "UTC") + v,
              POSIXlt = I(as.POSIXlt(as.POSIXct("2020-01-01", tz = "UTC") + v)),
              difftime = as.difftime(v, units = "mins"),
              units = metres, haven_labelled = labelled, hexmode = as.hexmode(as.integer(v)),
              octmode = as.octmode(as.integer(v)),
              character = as.character(v), roman = utils::as.roman(v), raw = as.raw(v),
              complex = v + 0i, list = as.list(v),
              "AsIs list" = I(as.list(v)), "AsIs Date" = I(as.Date("2020-01-01") + v),
              "data frame" = data.frame(b = v),
              version = numeric_version(as.character(v)),
              "integer64 beyond 2^53" = int64(rep(2147483647L, n), rep(-1L, n)))
  for (name in names(bad)) {
    d <- data.frame(a = 1:n)
    d[["odd"]] <- bad[[name]]
    expect_error(bags(d, six, half), "odd", class = "fumi_error_type", info = name)
    expect_error(bags(mi(y, id) ~ odd, data = cbind(d, id = six, y = half[six])), "odd",
                 class = "fumi_error_type", info = name)
    fit <- sil(cbind(odd = v, a = 1:n), six, half)
    expect_error(predict(fit, d), "odd", class = "fumi_error_type", info = paste("predict", name))
  }
})

test_that("matrices of classes without plain numbers are refused", {
  for (class in c("difftime", "units", "hexmode", "Date"))
    expect_error(bags(structure(matrix(1:24, 12), class = class), six, half), "`x`",
                 class = "fumi_error_type", info = class)
  expect_error(bags(matrix(list(1), 12, 2), six, half), "`x`", class = "fumi_error_type")
})

test_that("columns that are matrices give one feature for each of their columns, in new data too", {
  m <- matrix(rnorm(24), 12, dimnames = list(NULL, c("u", "v")))
  for (column in list(m, I(m))) {
    d <- data.frame(a = 1:12)
    d$m <- column
    b <- bags(d, six, half)
    expect_identical(b$features, c("a", "m.u", "m.v"))
    expect_identical(as.matrix(b), cbind(a = 1:12, m.u = m[, 1], m.v = m[, 2]))
    fit <- sil(b)
    expect_identical(predict(fit, d[2:1])$.score, predict(fit, b)$.score)
    expect_identical(predict(fit, as.data.frame(b))$.score, predict(fit, b)$.score)
  }
})

test_that("tibbles and data tables are data frames", {
  d <- data.frame(a = rnorm(12), b = rnorm(12), id = six, y = half[six])
  expected <- bags(d, "id", "y")
  for (class in c("tbl_df", "data.table", "grouped_df")) {
    other <- structure(d, class = unique(c(class, if (class != "data.table") "tbl", "data.frame")))
    expect_identical(bags(other, "id", "y"), expected, info = class)
    expect_identical(bags(mi(y, id) ~ ., data = other), expected, info = class)
    expect_identical(predict(sil(expected), other)$.score, predict(sil(expected), d)$.score,
                     info = class)
  }
})

# ---- integer64 ------------------------------------------------------------------------------

test_that("an integer64 is read exactly", {
  x <- c(int64(c(0L, 0L, -1L, 1L), c(0L, -1L, -1L, 5L)))
  x <- structure(x, class = "integer64")
  expect_identical(int64_numbers(x, "x", NULL), c(0, 2^32 - 1, -1, 2^32 + 5))
  expect_identical(int64_text(x), c("0", "4294967295", "-1", "4294967301"))
  expect_identical(int64_text(largest64), "9223372036854775807")
  expect_identical(int64_text(int64(-2147483647L, 0L)), "-9223372032559808512")
  expect_identical(int64_text(int64(2097152L, 1L)), "9007199254740993")
  expect_identical(int64_text(missing64), NA_character_)
  expect_identical(int64_numbers(missing64, "x", NULL), NA_real_)
  expect_error(int64_numbers(int64(2097152L, 1L), "`x`", NULL), "9007199254740993",
               class = "fumi_error_type")
  expect_identical(int64_numbers(int64(c(2097151L, -2097152L), c(-1L, 0L)), "`x`", NULL),
                   c(2^53 - 1, -2^53))
})

test_that("ids and labels of integer64 stay apart, however large", {
  x <- matrix(rnorm(24), 12)
  id <- int64(rep(2097152L, 12), six)
  b <- bags(x, id, half)
  expect_identical(b$ids, paste0("900719925474099", 3:8))
  y <- int64(rep(0L, 12), half[six])
  expect_identical(bags(x, six, y)$label, half == 1)
  expect_identical(bags(x, six, y, truth = y)$truth, rep(c(TRUE, FALSE), each = 6))
  d <- data.frame(x)
  d$id <- id
  d$y <- y
  expect_identical(bags(d, "id", "y")$ids, b$ids)
  expect_identical(bags(mi(y, id) ~ ., data = d)$ids, b$ids)
  expect_identical(predict(sil(bags(d, "id", "y")), d, bag = "id", level = "bag")$.bag, b$ids)
  below <- int64(rep(-1L, 12), -six)
  expect_identical(bags(x, below, half)$ids, as.character(-1:-6))
  expect_error(bags(x, structure(c(missing64, id[-1]), class = "integer64"), half), "`bag`",
               class = "fumi_error_nonfinite")
})

test_that("ids of other classes stay apart", {
  x <- matrix(rnorm(24), 12)
  second <- as.POSIXct("2020-01-01", tz = "UTC")
  expect_identical(bags(x, as.Date("2020-01-01") + six, half)$ids,
                   as.character(as.Date("2020-01-01") + 1:6))
  expect_length(bags(x, second + six, half), 6)
  expect_length(bags(x, second + six / 10, half), 6)
  expect_error(bags(x, second + six * 1e-7, half), "`bag`", class = "fumi_error_type")
  expect_identical(bags(x, as.hexmode(six + 9L), half)$ids, as.character(10:15))
  expect_identical(bags(x, as.difftime(six, units = "mins"), half)$ids, as.character(1:6))
})
