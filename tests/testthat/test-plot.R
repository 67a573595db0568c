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
  expect_identical(page$text[1:5], c("target 1", "target 2", "background 1", "background 2",
                                     "background 3"))
  expect_match(page$text[6], "lowest to highest value of each picture")
  shades <- lapply(page$pictures, function(p) range(col2rgb(p)["red", ]))
  expect_identical(shades, rep(list(c(0L, 255L)), 5))
  expect_clean(page, fit)
})

test_that("one atom of each kind, and ninety atoms, fill one page", {
  fit <- fit_to(images(), 1, 1)
  expect_identical(drawn(plot(fit))$text[1:2], c("target 1", "background 1"))
  fit <- fit_to(images(30), 60, 30, max_iter = 1)
  page <- drawn(plot(fit))
  expect_identical(page$n_pictures, 90L)
  expect_identical(page$text[c(1, 60, 61, 90)], c("target 1", "target 60", "1", "30"))
  expect_clean(page, fit)
})

test_that("atoms of vectors are curves, for one feature too", {
  for (n in c(6, 1)) {
    fit <- fit_to(vectors(n), 2, 2, normalize = "none")
    page <- drawn(plot(fit))
    expect_identical(page$n_pictures, 0L)
    expect_true(all(c("target atoms", "background atoms", "background 2") %in% page$text))
    expect_clean(page, fit)
  }
})

test_that("more than six curves have a panel each, more than thirty share one", {
  part <- function(n) list(values = matrix(1, 5, n), name = paste("atom", seq_len(n)),
                           group = rep("target", n), colour = rep(target_colour, n), main = NULL)
  expect_length(curve_panels(part(6)), 1)
  expect_identical(curve_panels(part(6))[[1]]$key, paste("atom", 1:6))
  expect_length(curve_panels(part(7)), 7)
  expect_null(curve_panels(part(7))[[1]]$key)
  expect_length(curve_panels(part(31)), 1)
})

# ---- all methods ---------------------------------------------------------------

test_that("plot() works for every method, as pictures and as curves", {
  skip_on_cran()
  methods <- list(dlfumi = list(n_target = 2, n_background = 2), mi_he = list(n_target = 1, n_background = 2),
                  e_fumi = list(n_background = 2),
                  mi_ace = list(), dmil = list(n_atoms = 2), em_dd = list(n_start = 2),
                  diverse_density = list(n_start = 2), mi_svm = list(kernel = "linear"),
                  sil = list(), miles = list(), mmdl = list())
  for (b in list(images(12), vectors(20))) for (method in names(methods)) {
    set.seed(1)
    fit <- suppressWarnings(do.call(method, c(list(quote(b)), methods[[method]])))
    page <- drawn(plot(fit))
    expect_clean(page, fit)
    shown <- learned_parts(fit)
    expect_identical(page$n_pictures, if (is.null(b$image_dim)) 0L else length(shown$name),
                     info = method)
    signed <- method %in% c("mi_svm", "sil", "mmdl", "mi_ace")
    if (page$n_pictures)
      expect_match(page$text, if (signed) "grey: 0" else "lowest to highest", all = FALSE)
    expect_clean(drawn(plot(fit, "scores", new_data = b)), fit)
    expect_clean(drawn(plot(fit, "bag", new_data = b)), fit)
  }
})

test_that("a single scale for all features is no panel, and scales have an axis of their own", {
  set.seed(1)
  b <- vectors(20)
  one <- em_dd(b, scale_type = "single", n_start = 2)
  expect_identical(learned_parts(one)$name, "target")
  each <- drawn(plot(em_dd(b, n_start = 2)))
  expect_true(all(c("target", "scale") %in% each$text))
  expect_identical(sum(each$calls == "C_axis"), 3L)
})

test_that("kept instances and support vectors are shown with their weights, positive ones first", {
  for (b in list(images(12), vectors(20))) {
    kernel <- mi_svm(b, kernel = "rbf")
    shown <- learned_parts(kernel)
    weight <- as.numeric(sub(".*: ", "", shown$name))
    expect_false(is.unsorted(-sign(weight)))
    expect_identical(anyDuplicated(shown$name), 0L)
    expect_identical(shown$group == "weight > 0", weight > 0)
    page <- drawn(plot(kernel))
    expect_true("Support vectors: rank and weight" %in% page$text)
    expect_clean(page, kernel)
    kept <- learned_parts(miles(b))
    expect_false(is.unsorted(kept$group == "weight < 0"))
  }
})

test_that("a kernel without weights says what to plot instead", {
  fit <- dmil(vectors(), kernel = "rbf")
  error <- expect_error(drawn(plot(fit)), "`plot(x, \"scores\"", fixed = TRUE,
                        class = "fumi_error_no_meaning")
  expect_identical(deparse(as.list(conditionCall(error))[[1]]), "plot")
  expect_error(drawn(plot(sil(vectors()), "objective")), "`what`", class = "fumi_error_no_meaning")
})

test_that("names of features are on the axis", {
  d <- data.frame(matrix(rnorm(40), 20))
  named <- function(...) bags(stats::setNames(d, c(...)), rep(1:10, each = 2), rep(1:0, each = 5))
  written <- drawn(plot(sil(named("alcohol", "ash"))))
  expect_false("feature" %in% written$text)
  expect_true("nm" %in% drawn(plot(sil(named("900 nm", "910 nm"))))$text)
  expect_true("nm" %in% drawn(plot(named("900 nm", "910 nm")))$text)
})

# ---- objective ---------------------------------------------------------------

test_that("the objective is drawn for one iteration, many, and many starts", {
  b <- vectors()
  for (fit in list(fit_to(b, max_iter = 1), fit_to(b, max_iter = 5),
                   fit_to(b, n_start = 3, max_iter = 3))) {
    page <- drawn(plot(fit, "objective"))
    # One thin line per start, and the best one over them.
    expect_identical(sum(page$calls == "C_plotXY"), length(fit$starts) + 2L)
    title <- paste0("Objective by iteration", if (length(fit$starts) > 1) ", the best start in orange")
    expect_true(title %in% page$text)
    expect_clean(page, fit)
  }
})

test_that("a fit without an iteration has no objective to draw", {
  fit <- fit_to(vectors())
  fit$starts <- list(fit$objective[0, ])
  expect_error(drawn(plot(fit, "objective")), "`x`", class = "fumi_error_no_data")
})

test_that("the best start is over the others, and iterations are whole numbers", {
  set.seed(1)
  fit <- em_dd(vectors(20), n_start = 4)
  path <- objective_path(fit)
  best <- unique(path$start[path$best])
  expect_length(best, 1)
  # The objective over rounds is that of the M-step; the best start is chosen by another.
  expect_identical(best, which.min(fit$start_objective))
  axes <- Filter(function(args) identical(args[[2]], 1), drawn(plot(fit, "objective"))$axes)
  at <- axes[[length(axes)]][[3]]
  expect_identical(at, round(at))
  expect_identical(unique(objective_path(mi_svm(vectors()))$best), TRUE)
})

# ---- one bag -----------------------------------------------------------------

scores_by_rank <- function(score) {
  rank <- order(-score)
  paste0(rank, ": ", vapply(score[rank], format, "", digits = 3))
}

test_that("a bag is shown by number or id, its instances by falling score", {
  b <- images()
  fit <- fit_to(b)
  score <- predict(fit, b[2])$.score
  page <- drawn(plot(fit, "bag", new_data = b, bag = 2))
  expect_identical(page$n_pictures, 4L)
  expect_identical(page$text[1:4], scores_by_rank(score))
  cut <- format(fit$calibration$instance$threshold, digits = 3)
  expect_identical(page$text[5], paste0("bag 2 (label 1): score by instance, threshold ", cut))
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

test_that("bars rise from the threshold, and fall from it", {
  scores <- list(score = c(-1, -3), cut = -2, rank = 1:2, title = "")
  bars <- function(shown) Filter(function(args) is.list(args[[1]]) && args[[1]]$name == "C_rect",
                                 drawn(plot_instance_scores(shown, 1))$all)[[1]]
  expect_identical(unname(unlist(bars(scores)[c(3, 5)])), c(-2, -2, -1, -3))
  expect_identical(unname(unlist(bars(replace(scores, "cut", Inf))[c(3, 5)])), c(0, 0, -1, -3))
})

test_that("arguments for predict() go through", {
  b <- images()
  fit <- fit_to(b)
  separate <- predict(fit, b[1], coding = "separate")$.score
  expect_identical(drawn(plot(fit, "bag", new_data = b, coding = "separate"))$text[1:4],
                   scores_by_rank(separate))
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
  expect_identical(page$text[1:6], paste0("bag ", 1:6, ": ", rep(1:0, each = 3)))
  expect_match(page$text[7], "^black .*, white ")
  expect_clean(page, b)
  page <- drawn(plot(b, n_bags = 2, n_instances = 3))
  expect_identical(page$n_pictures, 12L)
  expect_identical(page$text[1:4], c("bag 1: 1", "bag 2: 1", "bag 4: 0", "bag 5: 0"))
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

test_that("curves of targets and of background share no colour of the other kind", {
  set.seed(1)
  fit <- fit_to(sim_bags(n_bags = 8, bag_size = 4, n_features = 20), n_target = 3, n_background = 5)
  panels <- curve_panels(learned_parts(fit))
  expect_identical(vapply(panels, function(panel) panel$col[1], ""), c(target_colour, background_colour))
  expect_false(background_colour %in% panels[[1]]$col)
  expect_false(target_colour %in% panels[[2]]$col)
  expect_identical(anyDuplicated(panels[[2]]$col), 0L)
})
