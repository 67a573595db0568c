skip_if_not_installed("ggplot2")
built <- function(plot) ggplot2::ggplot_build(plot)$data
panels <- function(plot) length(unique(built(plot)[[1]]$PANEL))

test_that("atoms are rasters or curves, one panel each", {
  set.seed(1)
  b <- sim_bags(n_bags = 6, bag_size = 4, image_dim = c(4, 5))
  fit <- fit_to(b)
  plot <- ggplot2::autoplot(fit)
  expect_identical(panels(plot), 3L)
  raster <- plot$data[plot$data$atom == "target1", ]
  shown <- matrix(0, 4, 5)
  shown[cbind(raster$.row, raster$.column)] <- raster$value
  atom <- fit$dictionary[, 1]
  expect_equal(as.vector(shown), unname(atom / max(abs(atom))))
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
  expect_error(ggplot2::autoplot(fit, "bag"), "`what`", class = "fumi_error_input")
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
  set.seed(4)
  tuned <- mil_tune(odd_data$b, sil, data.frame(cost = c(.1, 1)), folds = 2, refit = FALSE)
  expect_equal(built(ggplot2::autoplot(tuned))[[1]]$y, tuned$results$mean)
  setting <- list(method = "SIL", setting = "s", fitter = "sil", parameters = list())
  e <- paper_experiment("usps", list(setting), runs = 1, units = 0:1, n_targets = rep(1, 10),
                        n_negative = 3, n_test = 10)
  expect_match(levels(ggplot2::autoplot(e, unit = 1)$data$curve), "^SIL, s, AUC")
  expect_error(ggplot2::autoplot(e, run = 9), "`run`", class = "fumi_error_input")
})
