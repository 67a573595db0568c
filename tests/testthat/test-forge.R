test_that("columns are matched by name: permuted, surplus, or unnamed", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  reference <- predict(fit, d$x)
  expect_identical(predict(fit, d$x[, 6:1]), reference)
  expect_identical(predict(fit, cbind(z = 9, d$x[, 6:1])), reference)
  expect_identical(predict(fit, data.frame(z = "a", d$x[, c(3, 1, 2, 6, 5, 4)])), reference)
  expect_identical(predict(fit, unname(d$x)), reference)
  expect_identical(predict(fit, list(d$x[1:9, 6:1], d$x[10:32, ]))$.score, reference$.score)
  permuted <- d
  permuted$x <- d$x[, 6:1]
  expect_identical(predict(fit, bags_of(permuted))$.score, reference$.score)
})

test_that("a fit without names takes columns by place, and sets the bag column aside", {
  d <- eight_bags()
  unnamed <- d
  colnames(unnamed$x) <- NULL
  fit <- fit_to(bags_of(unnamed))
  expect_identical(predict(fit, d$x), predict(fit, unnamed$x))
  expect_identical(predict(fit, data.frame(d$x, box = d$id), bag = "box"),
                   predict(fit, unnamed$x, bag = d$id))
})

test_that("a column truth of new data is no feature, by every door", {
  d <- eight_bags()
  truth <- rep(c(1, 0), length.out = nrow(d$x))
  for (names in list(colnames(d$x), NULL)) {
    x <- d$x
    colnames(x) <- names
    fit <- fit_to(bags(x, d$id, d$y, positive = "yes"))
    wanted <- predict(fit, x)$.score
    expect_identical(predict(fit, cbind(truth, d$x))$.score, wanted)
    expect_identical(predict(fit, data.frame(truth, d$x))$.score, wanted)
    expect_identical(predict(fit, list(a = cbind(truth, d$x)))$.score, wanted)
  }
  asked <- sil(mi(y, id) ~ a + truth, data.frame(d$x, y = d$y, id = d$id, truth),
               positive = "yes", calibrate = 0)
  x <- cbind(a = d$x[, "a"], truth = truth)
  expect_identical(predict(asked, x)$.score, predict(asked, x[, 2:1])$.score)
})

test_that("new data that do not fit are refused by name", {
  d <- eight_bags()
  fit <- fit_to(bags_of(d))
  hole <- function(value) replace(d$x, 3, value)
  cases <- list(
    "a column missing" = list(d$x[, -2], "column"),
    "a column missing in a data frame" = list(data.frame(d$x[, -2]), "column"),
    "other names" = list(`colnames<-`(d$x, LETTERS[1:6]), "column"),
    "too few, unnamed" = list(unname(d$x[, 1:3]), "column"),
    "too many, unnamed" = list(unname(d$x[, c(1:6, 1)]), "column"),
    "NA" = list(hole(NA), "nonfinite"),
    "NaN" = list(hole(NaN), "nonfinite"), "Inf" = list(hole(Inf), "nonfinite"),
    "a vector" = list(d$x[1, ], "type"),
    "characters" = list(matrix("a", 2, 6), "type"), "NULL" = list(NULL, "type"),
    "a word" = list("new", "type"),
    "a factor column" = list(data.frame(d$x[, -1], a = gl(2, 16)), "type"),
    "a list with a hole" = list(list(d$x, hole(NA)), "nonfinite"),
    "a list of vectors" = list(list(1:6), "type"))
  for (name in names(cases))
    expect_error(predict(fit, cases[[name]][[1]]), "^`new_data(\\[\\[[0-9]\\]\\])?` must",
                 class = paste0("fumi_error_", cases[[name]][[2]]), info = name)
  expect_error(predict(fit, d$x[, -2]), "lacks b")
  expect_error(predict(fit, unname(d$x[, 1:3])), "6 features, not 3")
  expect_error(predict(fit), "`new_data`", class = "fumi_error_no_data")
})

# ---- missing values ------------------------------------------------------------

test_that("new data with missing values get NA, in their places, if the fit was told to leave such instances out", {
  d <- eight_bags()
  holes <- replace(d$x, cbind(c(2, 9:12), c(1, 3, 3, 3, 3)), NA)
  whole <- fit_to(bags_of(d))
  expect_error(predict(whole, holes), "`new_data`", class = "fumi_error_nonfinite")
  for (action in list(na.omit, na.exclude)) {
    fit <- suppressWarnings(fit_to(bags(holes, d$id, d$y, positive = "yes", na.action = action)))
    full <- predict(fit, d$x, bag = d$id)
    gone <- c(2, 9:12)
    for (new in list(holes, as.data.frame(holes))) {
      p <- predict(fit, new, bag = d$id)
      expect_identical(p$.bag, d$id)
      expect_identical(which(is.na(p$.score)), as.integer(gone))
      expect_equal(p$.score[-gone], full$.score[-gone], tolerance = 1e-12)
      expect_identical(which(is.na(predict(fit, new, "class")$.pred_class)), as.integer(gone))
      codes <- predict(fit, new, "codes")
      expect_identical(which(is.na(codes[, 1])), as.integer(gone))
      expect_equal(codes[-gone, ], predict(fit, d$x, "codes")[-gone, ], tolerance = 1e-12)
      expect_equal(residuals(fit, new)[-gone, ], residuals(fit, d$x)[-gone, ], tolerance = 1e-12)
    }
    by_bag <- predict(fit, holes, bag = d$id, level = "bag")
    expect_identical(by_bag$.bag, unique(d$id))
    expect_identical(which(is.na(by_bag$.score)), 3L)
    expect_equal(by_bag$.score[1], max(full$.score[c(1, 3, 4)]))
    expect_identical(predict(fit, list(a = holes[1:5, ], b = holes[6:32, ]))$.score,
                     predict(fit, holes)$.score)
    expect_identical(which(is.na(augment(fit, as.data.frame(holes))$.resid)), as.integer(gone))
    expect_identical(nrow(predict(fit, holes[2, , drop = FALSE])), 1L)
    file <- tempfile()
    mil_save(fit, file)
    expect_identical(predict(mil_load(file), holes), predict(fit, holes))
    unlink(file)
  }
})

test_that("features that share a name are matched by position, or refused", {
  x <- instances()
  colnames(x) <- c("a", "a", "c", "d", "e", "f")
  fit <- sil(x, ids, per_bag, calibrate = 0)
  expected <- predict(fit, unname(x))
  expect_identical(predict(fit, x), expected)
  expect_identical(predict(fit, data.frame(x, check.names = FALSE)), expected)
  expect_error(predict(fit, x[, 6:1]), "several called a", class = "fumi_error_column")
  expect_error(predict(fit, data.frame(x[, 6:1], check.names = FALSE)), "several called a",
               class = "fumi_error_column")
  fit <- sil(instances(), ids, per_bag, calibrate = 0)
  twice <- data.frame(instances(), a = 0, check.names = FALSE)
  expect_error(predict(fit, twice), "several called a", class = "fumi_error_column")
})

test_that("a bag without instances is refused in new data, too", {
  x <- instances()
  fit <- sil(x, ids, per_bag, calibrate = 0)
  expect_error(predict(fit, list(a = x[1:2, ], b = x[0, ]), level = "bag"), "new_data[[2]]",
               fixed = TRUE, class = "fumi_error_empty")
})
