expect_clean <- function(page, object) {
  expect_identical(page$left_changed, character())
  expect_identical(page$returned, list(value = object, visible = FALSE))
}

images <- function(n_bags = 6, ...) {
  set.seed(1)
  sim_bags(n_bags = n_bags, bag_size = 4, image_dim = c(4, 5), ...)
}
vectors <- function(n_features = 6) {
  set.seed(1)
  sim_bags(n_bags = 6, bag_size = 4, n_features = n_features)
}
fit_to <- function(b, n_target = 1, n_background = 2, ..., max_iter = 2) {
  set.seed(2)
  suppressWarnings(dlfumi(b, n_target = n_target, n_background = n_background, ...,
                          control = dlfumi_control(max_iter = max_iter)))
}

# ---- atoms -------------------------------------------------------------------

test_that("atoms of images are pictures, target atoms first", {
  fit <- fit_to(images(), 2, 3)
  page <- drawn(plot(fit))
  expect_identical(page$n_pictures, 5L)
  expect_identical(page$text, c("target 1", "target 2", "background 1", "background 2",
                                "background 3"))
  expect_clean(page, fit)
})

test_that("one atom of each kind, and ninety atoms, fill one page", {
  fit <- fit_to(images(), 1, 1)
  expect_identical(drawn(plot(fit))$text, c("target 1", "background 1"))
  fit <- fit_to(images(30), 60, 30, max_iter = 1)
  page <- drawn(plot(fit))
  expect_identical(page$n_pictures, 90L)
  expect_identical(page$text[c(1, 60, 61, 90)], c("target 1", "target 60", "1", "30"))
  expect_clean(page, fit)
})

test_that("atoms of vectors are curves, for one feature too", {
  for (n in c(6, 1)) {
    fit <- fit_to(vectors(n), 1, 2, normalize = "none")
    page <- drawn(plot(fit))
    expect_identical(page$n_pictures, 0L)
    expect_true(all(c("target atoms", "background atoms") %in% page$text))
    expect_clean(page, fit)
  }
})

# ---- objective ---------------------------------------------------------------

test_that("the objective is drawn for one iteration, many, and many starts", {
  b <- vectors()
  for (fit in list(fit_to(b, max_iter = 1), fit_to(b, max_iter = 5),
                   fit_to(b, n_start = 3, max_iter = 3))) {
    page <- drawn(plot(fit, "objective"))
    # One thin line per start, and the best one over them.
    expect_identical(sum(page$calls == "C_plotXY"), length(fit$starts) + 2L)
    expect_true("Objective by iteration" %in% page$text)
    expect_clean(page, fit)
  }
})

test_that("a fit without an iteration has no objective to draw", {
  fit <- fit_to(vectors())
  fit$starts <- list(fit$objective[0, ])
  expect_error(drawn(plot(fit, "objective")), "`x`", class = "fumi_error_no_data")
})

# ---- one bag -----------------------------------------------------------------

test_that("a bag is shown by number or id, its instances by falling score", {
  b <- images()
  fit <- fit_to(b)
  score <- predict(fit, b[2])$.score
  page <- drawn(plot(fit, "bag", new_data = b, bag = 2))
  expect_identical(page$n_pictures, 4L)
  expect_identical(page$text[1:4], vapply(sort(score, decreasing = TRUE), format, "", digits = 3))
  expect_match(page$text[5], "bag 2 (label 1)", fixed = TRUE)
  expect_clean(page, fit)
  expect_identical(drawn(plot(fit, "bag", new_data = b, bag = "2"))$text, page$text)
  expect_identical(drawn(plot(fit, "bag", new_data = b[2]))$text, page$text)
})

test_that("a bag of vectors is bars, and a bag may have one instance", {
  b <- vectors()
  fit <- fit_to(b)
  page <- drawn(plot(fit, "bag", new_data = b, bag = 5))
  expect_identical(page$n_pictures, 0L)
  expect_match(page$text, "bag 5 (label 0)", fixed = TRUE, all = FALSE)
  expect_clean(page, fit)
  single <- bags(as.matrix(images()), 1:24, rep(1:0, each = 12), image_dim = c(4, 5))
  expect_identical(drawn(plot(fit_to(single), "bag", new_data = single, bag = 24))$n_pictures, 1L)
})

test_that("arguments for predict() go through", {
  b <- images()
  fit <- fit_to(b)
  separate <- sort(predict(fit, b[1], coding = "separate")$.score, decreasing = TRUE)
  expect_identical(drawn(plot(fit, "bag", new_data = b, coding = "separate"))$text[1:4],
                   vapply(separate, format, "", digits = 3))
})

test_that("bad arguments are refused by name, and as errors of plot()", {
  b <- images()
  fit <- fit_to(b)
  expect_error(drawn(plot(fit, "atom")), "`what`", class = "fumi_error_input")
  expect_error(drawn(plot(fit, "atoms", colour = 2)), "`colour`", class = "fumi_error_argument")
  for (new_data in list(NULL, as.matrix(b)))
    expect_error(drawn(plot(fit, "bag", new_data = new_data)), "`new_data`",
                 class = "fumi_error_no_data")
  for (bag in list(99, "x", NA))
    expect_error(drawn(plot(fit, "bag", new_data = b, bag = bag)), "`bag`",
                 class = "fumi_error_subscript", info = bag)
  for (bag in list(1:2, 0))
    expect_error(drawn(plot(fit, "bag", new_data = b, bag = bag)), "`bag`",
                 class = "fumi_error_input")
  e <- rlang::catch_cnd(drawn(plot(fit, "bag")), "error")
  expect_identical(deparse(as.list(conditionCall(e))[[1]]), "plot")
  expect_s3_class(rlang::catch_cnd(drawn(plot(fit, "bag", new_data = b, type = "class")), "error"),
                  "fumi_error")
})

# ---- bags --------------------------------------------------------------------

test_that("bags of images show the first instances of some bags of each label", {
  b <- images()
  page <- drawn(plot(b))
  expect_identical(page$n_pictures, 24L)
  expect_identical(page$text, paste0("bag ", 1:6, ": ", rep(1:0, each = 3)))
  expect_clean(page, b)
  page <- drawn(plot(b, n_bags = 2, n_instances = 3))
  expect_identical(page$n_pictures, 12L)
  expect_identical(page$text, c("bag 1: 1", "bag 2: 1", "bag 4: 0", "bag 5: 0"))
  expect_identical(drawn(plot(b, n_bags = 100, n_instances = 100))$n_pictures, 24L)
})

test_that("bags of vectors are curves; one bag and one feature are enough", {
  for (b in list(vectors(), vectors(1), vectors()[1], vectors()[6])) {
    page <- drawn(plot(b))
    expect_identical(page$n_pictures, 0L)
    expect_identical(sum(startsWith(page$text, "bag ")), length(b))
    expect_clean(page, b)
  }
  expect_identical(drawn(plot(images()[1]))$n_pictures, 4L)
})

test_that("bad arguments of plot.bags() are refused by name", {
  b <- images()
  expect_error(drawn(plot(b, n_bags = 0)), "`n_bags`", class = "fumi_error_input")
  expect_error(drawn(plot(b, n_instances = 1.5)), "`n_instances`", class = "fumi_error_input")
  expect_error(drawn(plot(b, bags = 3)), "`bags`", class = "fumi_error_argument")
  for (none in list(b[0], vectors()[0]))
    expect_error(drawn(plot(none)), "`x`", class = "fumi_error_empty")
})
