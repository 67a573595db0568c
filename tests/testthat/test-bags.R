# The same data through every door: each is a list of the arguments of bags().
named_doors <- function(x) {
  d <- as_frame(x)
  list(
    matrix = list(x, ids, per_bag),
    "labels by instance" = list(x, ids, per_instance),
    "data frame, names of columns" = list(d, "id", "y"),
    "data frame, vectors" = list(as.data.frame(x), bag = ids, label = per_instance),
    "named list" = list(as_matrices(x), per_bag),
    "list with ids" = list(unname(as_matrices(x)), per_bag, bag = unique(ids)),
    "list of data frames" = list(lapply(as_matrices(x), as.data.frame), per_bag),
    "formula with a dot" = list(mi(y, id) ~ ., data = d),
    "formula with names" = list(mi(y, id) ~ a + b + c + d + e + f, data = d),
    "formula with a column taken out" = list(mi(y, id) ~ . - z, data = data.frame(d, z = 9)),
    bags = list(bags(x, ids, per_bag)))
}

test_that("every door gives the same bags and the same fit", {
  x <- instances()
  reference <- bags(x, ids, per_bag)
  fit <- function(args) {
    set.seed(3)
    do.call(dlfumi, c(args, list(n_target = 1, n_background = 2,
                                 control = dlfumi_control(max_iter = 3))))
  }
  doors <- named_doors(x)
  for (door in names(doors)) {
    expect_identical(do.call(bags, doors[[door]]), reference, info = door)
    expect_identical(fit(doors[[door]]), fit(list(reference)), info = door)
  }
})

test_that("doors without names agree too: unnamed list, array of images", {
  x <- unname(instances())
  numbered <- rep(1:4, each = 3)
  reference <- bags(x, numbered, per_bag, image_dim = c(2, 3))
  expect_identical(bags(unname(as_matrices(x)), per_bag, image_dim = c(2, 3)), reference)
  images <- array(t(x), c(2, 3, 12))
  expect_identical(bags(images, numbered, per_bag), reference)
  expect_identical(as.matrix(bags(images, numbered, per_bag))[5, ], c(images[, , 5]))
  by_bag <- lapply(split(1:12, numbered), function(i) images[, , i])
  expect_identical(bags(by_bag, per_bag), reference)
})

test_that("interleaved bags keep the order of the user through every door that can hold them", {
  x <- instances()
  set.seed(2)
  mixed <- sample(12)
  d <- as_frame(x)[mixed, ]
  b <- bags(x[mixed, ], ids[mixed], per_instance[mixed])
  expect_identical(as.matrix(b), x[mixed, ])
  expect_identical(as.data.frame(b)$bag, ids[mixed])
  expect_identical(b$ids, unique(ids[mixed]))
  expect_identical(summary(b)$label, factor(per_bag[match(b$ids, unique(ids))]))
  expect_identical(bags(d, "id", "y"), b)
  expect_identical(bags(mi(y, id) ~ ., data = d), b)
})

test_that("a formula takes columns by name, whatever they are called, and from data first", {
  x <- instances()
  d <- as_frame(x)
  id <- "not this one"
  expect_identical(bags(mi(y, id) ~ c + a, data = d), bags(x[, c("c", "a")], ids, per_bag))
  expect_identical(bags(mi(y, id) ~ . - b - e, data = d), bags(x[, -c(2, 5)], ids, per_bag))
  outside <- d$y
  expect_identical(bags(mi(outside, id) ~ a + b, data = d), bags(x[, 1:2], ids, per_bag))
  names(d)[1:2] <- c("a b", "2nd")
  expect_identical(bags(mi(y, id) ~ ., data = d)$features, c("a b", "2nd", "c", "d", "e", "f"))
  expect_identical(bags(mi(y, id) ~ `2nd` + c, data = d)$features, c("2nd", "c"))
  d$hidden <- rep(c(TRUE, FALSE, FALSE), 4) & d$y == 1
  b <- bags(mi(y, id) ~ ., data = d, truth = "hidden")
  expect_identical(as.data.frame(b)$truth, d$hidden)
  expect_false("hidden" %in% b$features)
})

test_that("ids are kept as they are written, whatever the options", {
  x <- instances()
  id_of <- function(values) bags(x, rep(values, each = 3), per_bag)$ids
  expect_identical(id_of(c(1e5, 1e15, 3, 20)), c("100000", "1000000000000000", "3", "20"))
  expect_identical(id_of(factor(c("d", "c", "b", "a"))), c("d", "c", "b", "a"))
  expect_identical(bags(x, rep(c(TRUE, FALSE), each = 6), 1:0)$ids, c("TRUE", "FALSE"))
  expect_error(id_of(1.7e9 + 1:4 / 2^22), "`bag`", class = "fumi_error_type")
  expect_length(id_of(format(1.7e9 + 1:4 / 2^22, digits = 17)), 4)
  plain <- id_of(c(0.5, 1e5, 2, 3))
  old <- options(OutDec = ",", scipen = 100)
  on.exit(options(old))
  expect_identical(id_of(c(0.5, 1e5, 2, 3)), plain)
})

# ---- truth, images, names ----------------------------------------------------

test_that("no method looks at the truth", {
  x <- instances()
  fit <- function(...) {
    set.seed(5)
    dlfumi(x, ids, per_bag, ..., n_target = 1, n_background = 2,
           control = dlfumi_control(max_iter = 2))
  }
  expect_identical(fit(truth = per_instance), fit())
})

test_that("image_dim is checked and kept", {
  x <- unname(instances())
  expect_identical(bags(x, ids, per_bag, image_dim = c(2, 3))$image_dim, 2:3)
  expect_null(bags(x, ids, per_bag)$image_dim)
  bad <- list(c(2, 4), 6, c(1, 2, 3), c(NA, 6), "6", c(-2, -3), c(1.5, 4))
  for (dim in bad)
    expect_error(bags(x, ids, per_bag, image_dim = dim), "`image_dim`", class = "fumi_error_input",
                 info = deparse(dim))
})

test_that("names of features are kept, even odd ones, and never used as keys", {
  x <- instances()
  expect_identical(bags(x, ids, per_bag)$features, letters[1:6])
  expect_null(bags(unname(x), ids, per_bag)$features)
  for (names in list(rep("a", 6), c("", letters[2:6]), c("\u00e9", "a b", "1", "if", "..", "NA"))) {
    colnames(x) <- names
    b <- bags(x, ids, per_bag)
    expect_identical(b$features, names)
    expect_identical(as.matrix(b), x)
  }
})

test_that("integers, logicals and single columns are taken as numbers", {
  whole <- matrix(1:12, 12)
  expect_identical(bags(whole, ids, per_bag), bags(whole + 0, ids, per_bag))
  expect_identical(as.matrix(bags(whole > 6, ids, per_bag)), (whole > 6) + 0)
  expect_identical(nrow(bags(whole, ids, per_bag)$x), 1L)
})

test_that("bags of one instance, and a single bag, are bags", {
  x <- instances()
  expect_length(bags(x, 1:12, rep(0:1, 6)), 12)
  expect_length(bags(x[1, , drop = FALSE], "only", 1), 1)
})

# ---- what bags() leaves alone --------------------------------------------------

test_that("the input and the random numbers are left as they were", {
  x <- instances()
  d <- as_frame(x)
  before <- list(unserialize(serialize(x, NULL)), unserialize(serialize(d, NULL)))
  set.seed(4)
  state <- .Random.seed
  b <- bags(x, ids, per_bag, truth = per_instance)
  bags(d, "id", "y")
  bags(mi(y, id) ~ ., data = d)
  expect_identical(.Random.seed, state)
  dlfumi(x, ids, per_bag, n_target = 1, n_background = 2, control = dlfumi_control(max_iter = 2))
  expect_identical(list(x, d), before)
  expect_false(identical(.Random.seed, state))
})

test_that("options of the session change nothing", {
  x <- instances()
  run <- function() {
    set.seed(6)
    dlfumi(as_frame(x), "id", "y", n_target = 1, n_background = 2,
           control = dlfumi_control(max_iter = 3))
  }
  plain <- run()
  old <- options(OutDec = ",", scipen = 100, warn = 2, digits = 3, stringsAsFactors = FALSE)
  on.exit(options(old))
  expect_identical(run(), plain)
})

# ---- what is refused -------------------------------------------------------------

# Runs `door` with the good arguments, some replaced: the error must have its class and name
# the argument, and x and the random numbers must be as before.
expect_refused <- function(door, good, cases) {
  for (name in names(cases)) {
    args <- good
    args[names(cases[[name]]$with)] <- cases[[name]]$with
    set.seed(1)
    state <- .Random.seed
    e <- rlang::catch_cnd(do.call(door, args), "error")
    if (is.null(e)) {
      fail(paste(name, "is accepted"))
      next
    }
    expect_identical(class(e)[1], paste0("fumi_error_", cases[[name]]$class), info = name)
    expect_match(conditionMessage(e), paste0("`", cases[[name]]$names, "`"), fixed = TRUE,
                 info = name)
    expect_identical(.Random.seed, state, info = name)
  }
}
case <- function(with, class, names) list(with = with, class = class, names = names)

test_that("bad instances are refused, by bags() and by dlfumi()", {
  x <- instances()
  cases <- list(
    character = case(list(x = matrix("a", 12, 2)), "type", "x"),
    complex = case(list(x = x + 1i), "type", "x"),
    raw = case(list(x = matrix(as.raw(1:12), 12)), "type", "x"),
    vector = case(list(x = 1:12), "type", "x"),
    "four dimensions" = case(list(x = array(0, c(2, 2, 2, 2))), "type", "x"),
    "NULL" = case(list(x = NULL), "type", "x"),
    "a function" = case(list(x = mean), "type", "x"),
    "character column" = case(list(x = data.frame(a = 1:12, shade = letters[1:12])), "type", "x"),
    "date column" = case(list(x = data.frame(a = Sys.Date() + 1:12)), "type", "x"),
    "list column" = case(list(x = data.frame(a = I(as.list(1:12)))), "type", "x"),
    "no rows" = case(list(x = x[0, ]), "empty", "x"),
    "no columns" = case(list(x = x[, 0]), "empty", "x"),
    "no columns in a data frame" = case(list(x = data.frame(x)[0]), "empty", "x"),
    "NA" = case(hole(NA), "nonfinite", "x"),
    "NaN" = case(hole(NaN), "nonfinite", "x"),
    "Inf" = case(hole(Inf), "nonfinite", "x"),
    "-Inf" = case(hole(-Inf), "nonfinite", "x"))
  good <- list(x = x, bag = ids, label = per_bag)
  expect_refused(bags, good, cases)
  expect_refused(dlfumi, c(good, n_target = 1, n_background = 2), cases)
})

test_that("the first bad value is named by instance and feature, a bad column by its name", {
  expect_error(bags(hole(NA, 7, 5)$x, ids, per_bag), "instance 7, feature e")
  expect_error(bags(hole(Inf, 12, 1)$x, ids, per_bag), "instance 12, feature a")
  expect_error(bags(data.frame(a = 1:12, shade = letters[1:12]), ids, per_bag), "shade")
  expect_error(bags(list(instances(), hole(NA, 2, 4)$x), 0:1), "x[[2]]", fixed = TRUE)
})

test_that("bad bags and labels are refused, by bags() and by dlfumi()", {
  x <- instances()
  cases <- list(
    "bag NA" = case(list(bag = c(NA, ids[-1])), "nonfinite", "bag"),
    "bag too short" = case(list(bag = ids[-1]), "input", "bag"),
    "bag a list" = case(list(bag = as.list(ids)), "input", "bag"),
    "bag NULL" = case(list(bag = NULL), "input", "bag"),
    "label too short" = case(list(label = 0:1), "input", "label"),
    "label NULL" = case(list(label = NULL), "input", "label"),
    "label a list" = case(list(label = as.list(per_bag)), "input", "label"),
    "label NA" = case(list(label = c(1, NA, 1, 0)), "nonfinite", "label"),
    "label 1/2" = case(list(label = per_bag + 1), "label", "label"),
    "label of three levels" = case(list(label = factor(c("a", "b", "c", "a"))), "label", "label"),
    "label of three numbers" = case(list(label = c(0, 1, 2, 1)), "label", "label"),
    "label of words" = case(list(label = c("a", "b", "a", "b")), "label", "positive"),
    "names that are no bags" = case(list(label = setNames(per_bag, c("p", "q", "r", "t"))),
                                    "label", "label"),
    "both labels in a bag" = case(list(label = rep(0:1, 6)), "label", "label"),
    "positive is no label" = case(list(positive = "z"), "label", "positive"),
    "positive twice" = case(list(positive = 0:1), "label", "positive"),
    "positive NA" = case(list(positive = NA), "label", "positive"),
    "truth too short" = case(list(truth = 0:1), "input", "truth"),
    "truth NA" = case(list(truth = c(NA, per_instance[-1])), "nonfinite", "truth"),
    "unknown argument" = case(list(postive = 1), "argument", "positive"))
  good <- list(x = x, bag = ids, label = per_bag)
  expect_refused(bags, good, cases)
  expect_refused(dlfumi, c(good, n_target = 1, n_background = 2), cases)
  expect_error(bags(x, ids, rep(0:1, 6)), "bag p")
  expect_error(bags(x, ids[-1], per_bag), "12.*11")
})

test_that("what is missing is named, whatever the door", {
  x <- instances()
  d <- as_frame(x)
  for (call in expression(bags(x, ids), bags(x, label = per_bag), bags(d, "id"),
                          bags(d, label = "y"), bags(as_matrices(x)), bags(mi(y, id) ~ .)))
    expect_error(eval(call), "`label`|`data`", class = "fumi_error_input", info = deparse(call))
  expect_error(bags(x, ids, per_bag, NULL, 3), class = "fumi_error_argument")
})

test_that("bad data frames and formulas are refused", {
  x <- instances()
  d <- as_frame(x)
  expect_error(bags(d, "nope", "y"), "`bag`", class = "fumi_error_column")
  expect_error(bags(d, "id", "nope"), "`label`", class = "fumi_error_column")
  expect_error(bags(d, "id", "y", truth = "nope"), "`truth`", class = "fumi_error_column")
  cases <- list(
    list(y ~ a, "input"), list(~ a, "input"), list(mi(y, id) ~ 1, "empty"),
    list(mi(y, id) ~ mean(a), "column"), list(mi(y, id) ~ a + offset(b), "column"),
    list(mi(y, id) ~ nope, "column"), list(mi(y, nope) ~ a, "column"))
  for (case in cases)
    expect_error(bags(case[[1]], data = d), "`x`|`data`", class = paste0("fumi_error_", case[[2]]),
                 info = deparse(case[[1]]))
  expect_error(bags(mi(y, id) ~ a, data = x), "`data`", class = "fumi_error_input")
  d$a[2] <- NA
  expect_error(bags(mi(y, id) ~ ., data = d), "`data`", class = "fumi_error_nonfinite")
})

test_that("bad lists are refused", {
  x <- instances()
  two <- list(x[1:6, ], x[7:12, ])
  cases <- list(
    "no bag" = case(list(x = list()), "empty", "x"),
    "vectors" = case(list(x = list(1:3, 1:3)), "type", "x[[1]]"),
    "other width" = case(list(x = list(x, x[, 1:2])), "input", "x"),
    "other names" = case(list(x = list(x, x[, 6:1])), "input", "x"),
    "an empty bag" = case(list(x = list(x, x[0, ])), "empty", "x[[2]]"),
    "same id twice" = case(list(bag = c("a", "a")), "input", "bag"),
    "too few ids" = case(list(bag = "a"), "input", "bag"),
    "id missing" = case(list(bag = c("a", NA)), "nonfinite", "bag"),
    "too few labels" = case(list(label = 1), "input", "label"))
  expect_refused(bags, list(x = two, label = 0:1), cases)
  expect_s3_class(tryCatch(bags(matrix(as.list(1:12), 12), bag = ids, label = per_bag),
                           error = identity),
                  "fumi_error")
})

test_that("a number that is read back has a decimal point also where C has a comma", {
  expect_identical(number_text("%s", c("0,5", "1.5", "3")), c("0.5", "1.5", "3"))
  expect_identical(number_text("%.15g", c(0.1, -2)), c("0.1", "-2"))
})

# ---- the column `truth`, and what models said -----------------------------------

test_that("a column `truth` is the truth by every door, unless it is named as a feature", {
  x <- instances()
  hit <- per_instance == 1 & c(TRUE, FALSE, FALSE)
  d <- as_frame(x, truth = hit)
  expected <- bags(x, ids, per_bag, truth = hit)
  expect_identical(bags(d, "id", "y"), expected)
  expect_identical(bags(d[names(d) != "id"], ids, "y"), expected)
  expect_identical(bags(mi(y, id) ~ ., data = d), expected)
  expect_identical(bags(mi(y, id) ~ a + b + c + d + e + f, data = d), expected)
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  write_bags(expected, file)
  expect_identical(read_bags(file), expected)
  fit <- sil(d, "id", "y")
  expect_identical(predict(fit, d)$.score, predict(fit, expected)$.score)
  wide <- cbind(x, truth = hit)
  expect_identical(bags(wide, ids, per_bag), expected)
  expect_identical(bags(lapply(split(seq_along(ids), ids), function(i) wide[i, ])[unique(ids)],
                        per_bag), expected)
  expect_identical(bags(wide, ids, per_bag, truth = !hit & per_instance == 1)$features,
                   expected$features)
  expect_identical(predict(fit, wide)$.score, predict(fit, x)$.score)
  skip_if_not_installed("Matrix")
  sparse <- bags(Matrix::Matrix(wide, sparse = TRUE), ids, per_bag)
  expect_identical(unclass(sparse)[c("truth", "features")],
                   unclass(expected)[c("truth", "features")])

  named <- bags(mi(y, id) ~ a + truth, data = d)
  expect_identical(named$features, c("a", "truth"))
  expect_null(named$truth)
  expect_identical(bags(mi(y, id) ~ . + truth, data = d)$features, c(letters[1:6], "truth"))
  d$other <- !duplicated(ids) & per_instance == 1
  for (b in list(bags(d, "id", "y", truth = "other"),
                 bags(mi(y, id) ~ ., data = d, truth = "other"))) {
    expect_identical(b$features, letters[1:6])
    expect_identical(as.data.frame(b)$truth, d$other)
  }
  names(d)[names(d) == "y"] <- "label"
  expect_null(bags(d[c("a", "id", "label")], "id", "label")$truth)
  expect_identical(bags(transform(d[c("a", "id")], truth = per_instance), "id", "truth")$label,
                   per_bag == 1)
})

test_that("a `truth` that is none is refused, not made a feature", {
  d <- as_frame(instances(), truth = rnorm(12))
  expect_error(bags(d, "id", "y"), "`truth`", class = "fumi_error_label")
  expect_error(bags(mi(y, id) ~ ., data = d), "`truth`", class = "fumi_error_label")
})

test_that("a fit without names of features ignores the truth in new data", {
  x <- unname(instances())
  fit <- sil(x, ids, per_bag)
  expect_identical(predict(fit, data.frame(x, truth = 1, id = ids), bag = "id"),
                   predict(fit, x, bag = ids))
  b <- bags(x, ids, per_bag, truth = per_instance)
  expect_identical(predict(fit, as.data.frame(b), bag = "bag"), predict(fit, b))
})

test_that("what a model said is no feature", {
  d <- as_frame(instances())
  b <- bags(d, "id", "y")
  said <- augment(sil(b), d, bag = "id")
  expect_gt(length(setdiff(names(said), names(d))), 2)
  expect_warning(again <- bags(said, "id", "y"), "\\.score", class = "fumi_warning_augmented")
  expect_identical(again, b)
  expect_warning(again <- bags(mi(y, id) ~ ., data = said), class = "fumi_warning_augmented")
  expect_identical(again, b)
  expect_silent(named <- bags(mi(y, id) ~ a + .score, data = said))
  expect_identical(named$features, c("a", ".score"))
  expect_identical(suppressWarnings(bags(said[names(said) != "id"], ".bag", "y")), b)
})

test_that("a column that is the label or the id of its bag is named at every door", {
  x <- cbind(instances(), id = rep(1:4, each = 3), y = per_instance)
  number <- rep(1:4, each = 3)
  doors <- list(function() bags(x, number, per_instance),
                function() bags(unname(x), number, per_instance),
                function() bags(as.data.frame(x), number, per_instance),
                function() bags(as_matrices(x, number), per_bag),
                function() bags(lapply(as_matrices(x, number), as.data.frame), per_bag))
  if (requireNamespace("Matrix", quietly = TRUE))
    doors <- c(doors, function() bags(Matrix::Matrix(x, sparse = TRUE), number, per_instance))
  for (door in doors)
    expect_warning(expect_warning(door(), "`bag` must not be a feature", class = "fumi_warning_copy"),
                   "`label` must not be a feature", class = "fumi_warning_copy")
  d <- data.frame(x)
  expect_warning(bags(mi(per_instance, ids) ~ . - id, data = d), "column y",
                 class = "fumi_warning_copy")
  expect_silent(bags(mi(per_instance, ids) ~ a + y, data = d))
  expect_silent(bags(instances(), ids, per_instance))
})

test_that("columns that share a name, or have none, are refused", {
  d <- as_frame(instances())
  twice <- cbind(d, a = d$b)
  expect_error(bags(twice, "id", "y"), "several columns a[.]", class = "fumi_error_column")
  expect_error(bags(cbind(d, id = rev(d$id)), "id", "y"), "several columns id",
               class = "fumi_error_column")
  names(d)[2] <- ""
  expect_error(bags(d, "id", "y"), "column 2 has none", class = "fumi_error_column")
})

test_that("features that bags() cannot read back from a data frame are no silent loss", {
  x <- instances()
  colnames(x)[1] <- "bag"
  b <- bags(x, ids, per_bag)
  expect_error(bags(as.data.frame(b), "bag", "label"), "several columns bag",
               class = "fumi_error_column")
  expect_error(write_bags(b, tempfile(fileext = ".csv")), "several columns bag",
               class = "fumi_error_column")
})

test_that("images of another size are refused, also those with as many pixels", {
  images <- array(t(instances()), c(2, 3, 12))
  turned <- aperm(images, c(2, 1, 3))
  fit <- sil(images, ids, per_bag, calibrate = 0)
  expect_error(predict(fit, turned), "2 x 3, not of 3 x 2", class = "fumi_error_dimension")
  expect_error(predict(fit, list(turned)), "2 x 3, not of 3 x 2", class = "fumi_error_dimension")
  expect_error(bags(list(images, turned), c(1, 0)), "2 x 3, not of 3 x 2",
               class = "fumi_error_dimension")
  expect_error(bags(images, ids, per_bag, image_dim = c(3, 2)), "3 x 2, not of 2 x 3",
               class = "fumi_error_dimension")
  expect_identical(bags(images, ids, per_bag, image_dim = c(2, 3)), bags(images, ids, per_bag))
})
