em_bags <- function(d = 3, n_bags = 12, size = 5, n_positive = n_bags / 2) {
  bag <- rep(seq_len(n_bags), each = size)
  x <- matrix(rnorm(length(bag) * d), length(bag))
  target <- bag <= n_positive & !duplicated(bag)
  x[target, ] <- 3 + .2 * x[target, ]
  bags(x, bag, rep(1:0, c(n_positive, n_bags - n_positive)), truth = target)
}

em_problem <- function(b, scale_type = "feature") dd_problem(b, list(normalize = "none",
                                                                     scale_type = scale_type))

test_that("the E-step takes the nearest instance of every bag, the first of equals", {
  set.seed(1)
  b <- em_bags()
  problem <- em_problem(b)
  theta <- dd_theta(problem, 3)
  q <- colSums((problem$scale_init * (b$x - b$x[, 3]))^2)
  nearest <- vapply(seq_along(b$label), function(j) which(b$bag == j)[which.min(q[b$bag == j])], 1L)
  expect_identical(em_dd_choose(problem, theta), nearest)
  problem$x[, 4:5] <- problem$x[, 3]
  expect_identical(em_dd_choose(problem, theta)[1], 3L)
})

test_that("the M-step's objective is that of the chosen instances", {
  set.seed(2)
  b <- em_bags()
  for (scale_type in dd_scale_types) {
    problem <- em_problem(b, scale_type)
    theta <- dd_theta(problem, 2) + .1
    chosen <- em_dd_choose(problem, theta)
    q <- colSums((dd_scales(problem, theta) * (b$x[, chosen] - dd_point(problem, theta)))^2)
    by_hand <- sum(q[b$label]) - sum(log(1 - exp(-q[!b$label])))
    expect_equal(dd_objective(dd_subset(problem, chosen), theta, "most-likely-cause")$value,
                 by_hand)
    expect_equal(dd_objective(problem, theta, "most-likely-cause")$value, by_hand)
  }
})

test_that("the gradient of the M-step equals finite differences, for far bags too", {
  set.seed(3)
  b <- em_bags()
  for (scale_type in dd_scale_types) for (size in c(1, 30)) {
    problem <- em_problem(b, scale_type)
    problem$unit <- problem$unit * size
    theta <- dd_theta(problem, 2) + .1
    problem <- dd_subset(problem, em_dd_choose(problem, theta))
    value <- function(h) dd_objective(problem, h, "most-likely-cause")$value
    numeric <- vapply(seq_along(theta), function(k) {
      step <- replace(numeric(length(theta)), k, 1e-5)
      (8 * (value(theta + step) - value(theta - step)) - value(theta + 2 * step) + value(theta - 2 * step)) / 12e-5
    }, 0)
    exact <- dd_objective(problem, theta, "most-likely-cause")$gradient
    expect_lt(max(abs(exact - numeric)) / max(abs(numeric)), 1e-6)
  }
})

test_that("no M-step raises its objective, and rounds fall until the last", {
  set.seed(4)
  b <- sim_bags(n_bags = 12)
  for (scale_type in dd_scale_types) {
    problem <- em_problem(b, scale_type)
    for (column in 1:5) {
      theta <- dd_theta(problem, column)
      for (it in 1:3) {
        part <- dd_subset(problem, em_dd_choose(problem, theta))
        step <- dd_minimise(part, theta, "most-likely-cause", 30)
        expect_lte(step$objective, dd_objective(part, theta, "most-likely-cause")$value)
        theta <- step$theta
      }
      path <- em_dd_run(problem, dd_theta(problem, column), 10, 100)$path$objective
      expect_true(all(diff(path) < 0))
    }
  }
})

test_that("the best start has the lowest objective on all training bags", {
  set.seed(5)
  b <- em_bags()
  fit <- em_dd(b, n_start = 12)
  expect_length(fit$start_objective, 12)
  expect_equal(fit$objective, min(fit$start_objective))
  q <- -predict(fit, b, level = "bag", pool = "max")$.score
  expect_equal(fit$objective, sum(q[b$label]) - sum(log(1 - exp(-q[!b$label]))))
  expect_identical(unique(loss_path(fit)$start), 1:12)
  expect_lte(max(loss_path(fit)$iteration), 10)
})

test_that("the point is found with many positive bags and with two", {
  set.seed(6)
  for (n_positive in c(6, 2)) for (scale_type in dd_scale_types) {
    b <- em_bags(n_positive = n_positive)
    fit <- em_dd(b, scale_type = scale_type, normalize = "none")
    # two bags leave the point free where each feature has a scale of its own
    if (scale_type == "single") expect_lt(max(abs(coef(fit)["target", ] - 3)), .5)
    expect_gt(as.numeric(pROC::auc(mil_roc(fit, b))), .99)
  }
})

test_that("one instance per bag is diverse density", {
  set.seed(7)
  x <- matrix(rnorm(60), 20)
  x[1:6, ] <- x[1:6, ] + 2
  fit <- function(method) {
    set.seed(8)
    method(x, 1:20, rep(1:0, c(6, 14)), normalize = "none", n_start = 6, max_iter = 100)
  }
  expect_equal(fit(em_dd)$start_objective, fit(diverse_density)$start_objective, tolerance = 1e-3)
})

test_that("permuting instances and bags changes nothing, given the start", {
  set.seed(9)
  b <- em_bags()
  x <- as.matrix(b)
  d <- as.data.frame(b)
  shuffled <- sample(nrow(x))
  other <- bags(x[shuffled, ], d$bag[shuffled], d$label[shuffled])
  for (scale_type in dd_scale_types) {
    run <- function(b) {
      problem <- em_problem(b, scale_type)
      em_dd_run(problem, dd_theta(problem, which(b$x[1, ] == x[1, 1])), 2, 10)
    }
    expect_equal(run(other), run(b), tolerance = 1e-8)
  }
})

test_that("an average is the mean of the members' standardised scores", {
  set.seed(10)
  b <- em_bags()
  fit <- em_dd(b, n_start = 4, combine = "average")
  x <- as.matrix(b)
  unit <- t(x / sqrt(rowSums(x^2)))
  negative <- !b$label[as.integer(as.data.frame(b)$bag)]
  q <- vapply(fit$members, function(m) colSums((m$feature_scale * (unit - m$target))^2),
              numeric(nrow(x)))
  standard <- apply(-q, 2, function(s) (s - mean(s[negative])) / sd(s[negative]))
  expect_equal(predict(fit, b)$.score, rowMeans(standard))
  expect_null(probability_curves(fit))
  expect_identical(predict(fit, b, level = "bag"), predict(fit, b, level = "bag", pool = "max"))
  expect_identical(update(fit, b, combine = "best", n_start = 2)$members, NULL)
  expect_output(print(fit), "averaged")
})

test_that("scores in 4980 dimensions are finite and without ties, from two positive bags", {
  set.seed(11)
  x <- matrix(runif(4980 * 30), 30)
  x[c(1, 7), ] <- rep(x[1, ], each = 2) + rnorm(2 * 4980, sd = .05)
  b <- bags(x, rep(1:5, each = 6), c(1, 1, 0, 0, 0), image_dim = c(83, 60))
  for (normalize in c("unit", "none")) for (scale_init in list(NULL, 1)) {
    fit <- em_dd(b, n_start = 2, max_iter = 2, inner = 10, normalize = normalize,
                 scale_init = scale_init)
    expect_true(all(is.finite(c(fit$start_objective, coef(fit)))))
    s <- predict(fit, matrix(runif(4980 * 20), 20) * 1e3)$.score
    expect_true(all(is.finite(s)))
    expect_length(unique(s), 20)
  }
  pdf(NULL)
  on.exit(dev.off())
  expect_identical(withVisible(plot(fit)), list(value = fit, visible = FALSE))
})

test_that("rounds and M-steps are limited", {
  set.seed(12)
  b <- sim_bags(n_bags = 10)
  fit <- em_dd(b, max_iter = 1, inner = 1, n_start = 2)
  expect_identical(fit$stop_reason, "max_iter")
  expect_identical(loss_path(fit)$iteration, c(1L, 1L))
  expect_error(em_dd(b, inner = 0), class = "fumi_error_input")
  expect_error(em_dd(b, combine = "all"), class = "fumi_error_input")
  expect_error(em_dd(b, scale_init = -1), class = "fumi_error_input")
})

test_that("one against the rest works with it", {
  set.seed(13)
  x <- matrix(rnorm(180), ncol = 4) + rep(c(4, 0, 0), each = 15)
  x[, 2] <- x[, 2] + rep(c(0, 4, 0), each = 15)
  label <- rep(c("a", "b", "c"), each = 15)
  for (scale in c(FALSE, TRUE)) {
    detectors <- one_vs_rest(x, bag = rep(1:15, each = 3), label = label, fitter = em_dd,
                             n_start = 5, scale = scale, normalize = "none", scale_type = "single")
    expect_gt(mean(predict(detectors, x)$.pred_class == label), .7)
  }
})
