skip_if_not_installed("ggplot2")
built <- function(plot) ggplot2::ggplot_build(plot)$data
panels <- function(plot) length(unique(built(plot)[[1]]$PANEL))

test_that("atoms are rasters or curves, one panel each", {
  set.seed(1)
  b <- sim_bags(n_bags = 6, bag_size = 4, image_dim = c(4, 5))
  fit <- fit_to(b)
  plot <- ggplot2::autoplot(fit)
  expect_identical(panels(plot), 3L)
  raster <- plot$data[plot$data$atom == "target 1", ]
  shown <- matrix(0, 4, 5)
  shown[cbind(raster$.row, raster$.column)] <- raster$value
  atom <- fit$dictionary[, 1]
  expect_equal(as.vector(shown), unname((atom - min(atom)) / diff(range(atom))))
  expect_match(plot$labels$caption, "lowest to highest")
  framed <- built(plot)[[2]]
  expect_identical(as.character(plot$data$atom[1]), "target 1")
  expect_identical(framed[c("PANEL", "colour")], data.frame(PANEL = factor(1, 1:3), colour = target_colour))
  d <- eight_bags()
  curves <- ggplot2::autoplot(fit_to(bags_of(d)))
  expect_identical(panels(curves), 3L)
  expect_identical(nrow(built(curves)[[1]]), 18L)
  expect_silent(built(ggplot2::autoplot(sil(bags_of(d)))))
})

test_that("the objective has one line per start, where there is one", {
  b <- bags_of(eight_bags())
  fit <- fit_to(b, n_start = 2)
  expect_equal(built(ggplot2::autoplot(fit, "objective"))[[1]]$y, loss_path(fit)$objective)
  expect_error(ggplot2::autoplot(sil(b), "objective"), "`what`", class = "fumi_error_no_meaning")
  expect_error(ggplot2::autoplot(fit, "bags"), "`what`", class = "fumi_error_input")
  expect_error(ggplot2::autoplot(fit, "bag"), "`new_data`", class = "fumi_error_no_data")
})

test_that("bags are their first instances", {
  set.seed(1)
  images <- sim_bags(n_bags = 6, bag_size = 4, image_dim = c(4, 5))
  expect_identical(panels(ggplot2::autoplot(images, n_bags = 1, n_instances = 3)), 6L)
  b <- bags_of(eight_bags())
  expect_identical(panels(ggplot2::autoplot(b, n_bags = 2)), 4L)
  expect_error(ggplot2::autoplot(b[0]), "`object`", class = "fumi_error_empty")
  expect_error(ggplot2::autoplot(b, bags = 1), "`bags`", class = "fumi_error_argument")
})

test_that("curves, cross-validations and experiments are drawn as they are", {
  r <- mil_roc(c(5, 4, 3, 2, 1), c(1, 0, 1, 1, 0))
  plot <- ggplot2::autoplot(r)
  expect_equal(built(plot)[[2]]$y, roc_vertices(r)$tpr)
  expect_identical(levels(plot$data$curve), "AUC 0.667")
  expect_identical(plot$labels$title, "AUC 0.667")
  # Newer versions of ggplot2 keep guides in a list of their own.
  expect_identical(c(plot$guides$colour, plot$guides$guides$colour), "none")
  many <- ggplot2::autoplot(r, r, r, r, r, r, r, r)
  drawn <- unique(built(many)[[2]][c("colour", "linetype")])
  expect_identical(nrow(drawn), 8L)
  set.seed(4)
  tuned <- mil_tune(odd_data$b, sil, data.frame(cost = c(.1, 1)), folds = 2, refit = FALSE)
  expect_equal(built(ggplot2::autoplot(tuned))[[1]]$y, tuned$results$mean)
  setting <- list(method = "SIL", setting = "s", fitter = "sil", parameters = list())
  e <- paper_experiment("usps", list(setting), runs = 1, units = 0:1, n_targets = rep(1, 10),
                        n_negative = 3, n_test = 10)
  expect_match(levels(ggplot2::autoplot(e, unit = 1)$data$curve), "^SIL, s, AUC")
  expect_error(ggplot2::autoplot(e, run = 9), "`run`", class = "fumi_error_input")
})

test_that("every method has its picture", {
  skip_on_cran()
  set.seed(1)
  for (b in list(sim_bags(n_bags = 8, bag_size = 4, image_dim = c(4, 5)),
                 sim_bags(n_bags = 8, bag_size = 4, n_features = 6))) {
    fits <- list(mi_svm(b, kernel = "linear"), mi_ace(b), suppressWarnings(e_fumi(b, n_background = 2)), miles(b),
                 mi_he(b, n_target = 1, n_background = 2), mmdl(b), sil(b), dmil(b, n_atoms = 2),
                 em_dd(b, n_start = 2), diverse_density(b, n_start = 2))
    for (fit in fits) {
      expect_identical(panels(ggplot2::autoplot(fit)), length(learned_parts(fit)$name))
      scores <- ggplot2::autoplot(fit, "scores", new_data = b)
      expect_identical(nrow(built(scores)[[1]]), 8L)
      expect_silent(built(ggplot2::autoplot(fit, "bag", new_data = b, bag = 2)))
    }
  }
  expect_error(ggplot2::autoplot(dmil(b, kernel = "rbf")), "`x`", class = "fumi_error_no_meaning")
  several <- ggplot2::autoplot(mi_svm(b, kernel = "rbf"))
  expect_identical(panels(several), length(unique(several$data$instance)))
})

test_that("names of features are on the axis", {
  x <- matrix(rnorm(16), 8, dimnames = list(NULL, c("900 nm", "910 nm")))
  b <- bags(x, rep(1:4, each = 2), rep(1:0, each = 2))
  plot <- ggplot2::autoplot(b)
  expect_identical(plot$labels$x, "nm")
  expect_setequal(built(plot)[[1]]$x, c(900, 910))
  colnames(x) <- c("alcohol", "ash")
  plot <- ggplot2::autoplot(sil(bags(x, rep(1:4, each = 2), rep(1:0, each = 2))))
  expect_identical(plot$scales$get_scales("x")$labels, c("alcohol", "ash"))
})

test_that("several curves, benchmarks and detections have a legend", {
  r <- mil_roc(c(5, 4, 3, 2, 1), c(1, 0, 1, 1, 0))
  curves <- function(plot) levels(plot$data$curve)
  expect_identical(curves(ggplot2::autoplot(r, second = r)),
                   c("curve 1, AUC 0.667", "second, AUC 0.667"))
  expect_identical(curves(ggplot2::autoplot(r, r, labels = c("a", "b"))),
                   c("a, AUC 0.667", "b, AUC 0.667"))
  expect_identical(curves(ggplot2::autoplot(r, r, labels = c("a", "a"))),
                   c("a, AUC 0.667", "a, AUC 0.667 #1"))
  expect_error(ggplot2::autoplot(r, 3), "`...`", class = "fumi_error_type")
  expect_error(ggplot2::autoplot(r, labels = c("a", "b")), "`labels`",
               class = "fumi_error_dimension")
  compared <- structure(list(curves = list(SIL = r, MILES = r)), class = "mil_benchmark")
  expect_identical(curves(ggplot2::autoplot(compared)), c("SIL, AUC 0.667", "MILES, AUC 0.667"))
  found <- structure(list(curve = data.frame(threshold = 3:2, pd = c(.5, 1), false_alarms = 0:1,
                                             far = c(0, .1)), n_targets = 2, area = 10, unit = "ha",
                          halo = 1), class = "pd_far")
  plot <- ggplot2::autoplot(found, found)
  expect_identical(curves(plot), c("curve 1, NAUC 0.500", "curve 2, NAUC 0.500"))
  expect_identical(plot$data$pd[1:6], c(0, 0, .5, .5, 1, 1))
  found$unit <- "km2"
  expect_silent(built(ggplot2::autoplot(found)))
})

test_that("searches name their parameters, explanations their parts", {
  tuned <- function(grid) structure(list(
    results = data.frame(grid, mean = seq_len(nrow(grid)) / 100, se = .01, failed = 0), best = 2,
    measure = list(metric = "auc", level = "bag"), rule = "best"), class = "mil_tune")
  plot <- ggplot2::autoplot(tuned(expand.grid(a = 1:2, b = 1:3)))
  expect_identical(plot$labels[c("x", "colour")], list(x = "b", colour = "a"))
  plot <- ggplot2::autoplot(tuned(expand.grid(a = 1:2, b = 1:2, c = 1:2)))
  expect_identical(levels(plot$data$x)[8], "a = 1, b = 1, c = 1")
  set.seed(1)
  for (b in list(sim_bags(n_bags = 8, bag_size = 4, image_dim = c(4, 5)),
                 sim_bags(n_bags = 8, bag_size = 4, n_features = 6))) {
    why <- mil_explain(fit_to(b), b)
    plot <- ggplot2::autoplot(why, n = 3)
    expect_identical(panels(plot), if (is.null(b$image_dim)) 3L else 9L)
    expect_identical(levels(plot$data$role), c("instance", "with target", "without"))
  }
  expect_error(ggplot2::autoplot(why[0, ]), "`object`", class = "fumi_error_empty")
})

test_that("every picture has a frame, constant ones are grey, and few features have points", {
  set.seed(1)
  b <- sim_bags(n_bags = 6, bag_size = 4, image_dim = c(4, 5))
  fit <- fit_to(b)
  fit$dictionary[, 2] <- 0
  plot <- ggplot2::autoplot(fit)
  expect_identical(unique(plot$data$value[plot$data$atom == "background 1"]), 0.5)
  frames <- do.call(rbind, lapply(built(plot)[-1], `[`, c("PANEL", "colour")))
  expect_setequal(as.character(frames$PANEL), c("1", "2", "3"))
  kept <- ggplot2::autoplot(miles(b))
  frames <- unlist(lapply(built(kept)[-1], `[[`, "colour"))
  expect_setequal(frames, unique(learned_parts(miles(b))$colour))
  one <- fit_to(sim_bags(n_bags = 6, bag_size = 4, n_features = 1), normalize = "none")
  expect_silent(shown <- built(ggplot2::autoplot(one)))
  expect_identical(unique(shown[[1]]$x), 1)
  expect_identical(picture_columns(6, c(12, 5)), 6L)
  expect_identical(picture_columns(6, c(3, 20)), 1L)
})

test_that("the best start is marked, and numbers are within the range of the data", {
  set.seed(1)
  fit <- em_dd(sim_bags(n_bags = 20, bag_size = 4, n_features = 6), n_start = 3)
  plot <- ggplot2::autoplot(fit, "objective")
  best <- as.character(unique(plot$data$start[plot$data$best]))
  expect_identical(best, as.character(which.min(fit$start_objective)))
  expect_match(plot$labels$title, "best start in orange")
  breaks <- feature_scale(list(at = c(900, 1490)), TRUE)$breaks(c(900, 1490))
  expect_true(all(breaks >= 900 & breaks <= 1490))
})

test_that("experiments have the points of plot()", {
  plot <- ggplot2::autoplot(paper_results("hyper_hydice"))
  points <- built(plot)[[3]]
  expect_identical(nrow(points), 1L)
  expect_false(any(grepl("mi-SVM", levels(plot$data$curve))))
  expect_identical(plot$labels$title, "hyper_hydice, run 1")
})
