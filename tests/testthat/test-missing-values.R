test_that("na.omit and na.exclude leave instances out, by every door", {
  x <- instances()
  hit <- per_instance == 1 & c(TRUE, FALSE, FALSE)
  holes <- x
  holes[2, 3] <- NA
  holes[c(7, 12), 1] <- NaN
  kept <- -c(2, 7, 12)
  expected <- bags(x[kept, ], ids[kept], per_bag, truth = hit[kept])
  d <- as_frame(holes, truth = hit)
  for (action in list(na.omit, na.exclude, "na.omit", "na.exclude")) {
    word <- if (is.character(action)) sub("na.", "", action, fixed = TRUE)
            else if (identical(action, na.omit)) "omit" else "exclude"
    doors <- list(bags(holes, ids, per_bag, truth = hit, na.action = action),
                  bags(holes, ids, per_instance, truth = hit, na.action = action),
                  bags(d, "id", "y", na.action = action),
                  bags(mi(y, id) ~ ., data = d, na.action = action),
                  bags(as_matrices(holes), per_bag, truth = hit, na.action = action))
    for (b in doors) {
      expect_identical(na.action(b), structure(c(2L, 7L, 12L), class = word), ignore_attr = FALSE)
      b$na.action <- NULL
      expect_identical(b, expected)
    }
  }
  for (action in list(na.fail, "na.fail"))
    expect_error(bags(holes, ids, per_bag, na.action = action), "na.omit",
                 class = "fumi_error_nonfinite")
  for (action in list(na.pass, NULL, "omit", 1))
    expect_error(bags(x, ids, per_bag, na.action = action), "`na.action`",
                 class = "fumi_error_input")
  whole <- bags(x, ids, per_bag, na.action = na.omit)
  expect_length(na.action(whole), 0)
  whole$na.action <- NULL
  expect_identical(whole, bags(x, ids, per_bag))
  expect_identical(coef(sil(holes, ids, per_bag, na.action = na.omit)),
                   coef(sil(x[kept, ], ids[kept], per_bag)))
})

test_that("missing ids and labels of instances are left out too, infinite values are not", {
  x <- instances()
  expect_identical(bags(x, replace(ids, 4, NA), per_bag, na.action = na.omit)$x,
                   bags(x[-4, ], ids[-4], per_bag)$x)
  expect_identical(bags(x, ids, replace(per_instance, 4, NA), na.action = na.omit)$x,
                   bags(x[-4, ], ids[-4], per_bag)$x)
  expect_error(bags(x, ids, replace(per_bag, 2, NA), na.action = na.omit), "`label`",
               class = "fumi_error_nonfinite")
  expect_error(bags(hole(Inf)$x, ids, per_bag, na.action = na.omit), "infinite",
               class = "fumi_error_nonfinite")
})

test_that("a bag that loses all its instances is dropped with a warning that names it", {
  x <- instances()
  x[4:6, 1] <- NA
  for (label in list(per_bag, per_instance, setNames(per_bag, unique(ids)))) {
    expect_warning(b <- bags(x, ids, label, na.action = na.omit), "q",
                   class = "fumi_warning_empty_bag")
    expect_identical(b$ids, c("p", "r", "s"))
    expect_identical(b$label, c(TRUE, TRUE, FALSE))
  }
  expect_warning(b <- bags(x, factor(ids), per_bag, na.action = na.omit),
                 class = "fumi_warning_empty_bag")
  expect_error(bags(x * NA, ids, per_bag, na.action = na.omit), "`x`", class = "fumi_error_empty")
})

test_that("rows are left out as lm() leaves them out, with factors and terms", {
  d <- as_frame(abs(instances()))
  d$z <- gl(3, 4, labels = c("u", "v", "w"))
  d$a[2] <- NA
  d$z[5] <- NA
  d$b[9] <- -1
  b <- suppressWarnings(bags(mi(y, id) ~ sqrt(b) + a + z + ns(a, 2), data = d, na.action = na.omit))
  model <- suppressWarnings(lm(y ~ sqrt(b) + a + z + splines::ns(a, 2), d))
  expect_identical(unclass(na.action(b))[1:3], unname(unclass(na.action(model)))[1:3])
  expect_equal(unname(as.matrix(b)[, c(1, 2, 6, 7)]), unname(model.matrix(model)[, c(2, 3, 6, 7)]))
})

test_that("na.omit counts for new data also if the training data were whole, or a part is fitted", {
  x <- instances()
  holes <- hole(NA)$x
  d <- as_frame(holes)
  whole <- bags(mi(y, id) ~ ., data = as_frame(x), na.action = na.omit)
  some <- bags(d, "id", "y", na.action = na.omit)
  for (b in list(whole, some, some[4:1], some[c(1, 1, 2)], c(some[1:2], some[3:4]),
                 split(some, rep(1, 4))[[1]])) {
    score <- predict(sil(b, calibrate = 0), holes)$.score
    expect_identical(which(is.na(score)), 3L)
  }
})
