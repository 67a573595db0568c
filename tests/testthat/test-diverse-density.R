# The definition, term by term, where nothing underflows.
naive_dd <- function(x, bag, positive, t, s, model) {
  p <- exp(-colSums((s * (x - t))^2))
  in_bag <- function(j) if (model == "noisy-or") 1 - prod(1 - p[bag == j]) else max(p[bag == j])
  P <- vapply(seq_along(positive), in_bag, 0)
  -sum(log(ifelse(positive, P, 1 - P)))
}

# Bags whose instances are not side by side, with a scale for each instance.
dd_case <- function(scale_type, d = 4, n = 24, n_bags = 6, unit = .5) {
  bag <- sample(rep(seq_len(n_bags), length.out = n))
  list(x = matrix(rnorm(d * n), d), scale = runif(n, .5, 1.5), bag = bag - 1L,
       label = rep(1:0, length.out = n_bags), unit = unit * runif(d, .5, 1.5),
       scale_type = scale_type)
}

random_theta <- function(problem) {
  d <- nrow(problem$x)
  c(rnorm(d), switch(problem$scale_type, feature = problem$unit * sample(c(-1, 1), d, TRUE),
                     single = runif(1, .5, 1.5)))
}

difference_gradient <- function(f, at, h = 1e-5) {
  vapply(seq_along(at), function(k) {
    step <- replace(numeric(length(at)), k, h * max(1, abs(at[k])))
    (8 * (f(at + step) - f(at - step)) - f(at + 2 * step) + f(at - 2 * step)) / (12 * step[k])
  }, 0)
}

for_each_case <- function(check, ...) {
  set.seed(20010)
  for (model in dd_models) for (scale_type in dd_scale_types) for (i in 1:3) {
    problem <- dd_case(scale_type, ...)
    check(problem, random_theta(problem), model)
  }
}

test_that("the objective is its definition where that is safe", {
  for_each_case(function(problem, theta, model) {
    naive <- naive_dd(problem$x * rep(problem$scale, each = 4), problem$bag + 1, problem$label == 1,
                      dd_point(problem, theta), dd_scales(problem, theta), model)
    expect_equal(dd_objective(problem, theta, model)$value, naive, tolerance = 1e-10)
  })
})

expect_gradient <- function(problem, theta, model) {
  numeric <- difference_gradient(function(h) dd_objective(problem, h, model)$value, theta)
  exact <- dd_objective(problem, theta, model)$gradient
  expect_lt(max(abs(exact - numeric)) / max(abs(numeric)), 1e-6)
}

test_that("the gradient equals finite differences", {
  for_each_case(expect_gradient)
})

test_that("so it does where every probability is far below the smallest double", {
  for_each_case(function(problem, theta, model) {
    expect_gt(min(dd_quadratic(problem$x, list(target = dd_point(problem, theta),
                                               feature_scale = dd_scales(problem, theta)),
                                               "none")), 100)
    expect_gradient(problem, theta, model)
  }, unit = 40)
})

test_that("the two ways to compute the noisy-or of a far bag agree where they meet", {
  problem <- list(x = matrix(c(1, 1.01, 1.02), 1), scale = rep(1, 3), bag = rep(0L, 3), label = 1L,
                  unit = 1, scale_type = "fixed")
  at <- function(q) {
    problem$unit <- sqrt(q)
    dd_objective(problem, 0, "noisy-or")
  }
  expect_equal(at(40 + 1e-9)$value - at(40 - 1e-9)$value, 2e-9, tolerance = 1e-4)
  expect_equal(at(40 + 1e-9)$gradient, at(40 - 1e-9)$gradient, tolerance = 1e-8)
})

test_that("an instance at the point itself, and one beyond all numbers, leave the objective finite", {
  for (model in dd_models) for (label in list(1:0, 0:1)) for (far in c(1, 1e160)) {
    problem <- list(x = cbind(c(1, 2), c(1, 2), c(far, 2)), scale = rep(1, 3), bag = c(0L, 0L, 1L),
                    label = label, unit = c(1, 1), scale_type = "fixed")
    out <- dd_objective(problem, c(1, 2), model)
    expect_true(is.finite(out$value))
    if (far == 1) expect_true(all(is.finite(out$gradient)))
  }
})

test_that("one instance per bag makes both models one", {
  set.seed(1)
  for (scale_type in dd_scale_types) {
    problem <- dd_case(scale_type, n = 6)
    theta <- random_theta(problem)
    expect_equal(dd_objective(problem, theta, "noisy-or"),
                 dd_objective(problem, theta, "most-likely-cause"))
  }
})

test_that("a case solved by hand", {
  problem <- list(x = matrix(c(0, 3, 1, 4), 1), scale = rep(1, 4), bag = c(0L, 0L, 1L, 1L),
                  label = 1:0, unit = 2, scale_type = "fixed")
  q <- 4 * (c(0, 3, 1, 4) - 2)^2
  expect_equal(dd_objective(problem, 2, "most-likely-cause")$value, q[2] - log(1 - exp(-q[3])))
  P <- 1 - c((1 - exp(-q[1])) * (1 - exp(-q[2])), (1 - exp(-q[3])) * (1 - exp(-q[4])))
  expect_equal(dd_objective(problem, 2, "noisy-or")$value, -log(P[1]) - log(1 - P[2]))
  expect_equal(.Call(ffi_dd_select, c(2, 1, 1, 5), c(1L, 0L, 0L, 1L), 2L), c(2L, 1L))
})

test_that("moments are those of the scaled instances, and exact for a constant feature", {
  set.seed(2)
  x <- rbind(rnorm(9), .1, rnorm(9, 1e8))
  scale <- rep(c(1, 2), length.out = 9)
  out <- .Call(ffi_dd_moments, x, scale, 7L)
  scaled <- (x * rep(scale, each = 3))[, 1:7]
  expect_equal(out$mean, rowMeans(scaled))
  expect_equal(out$variance, apply(scaled, 1, var))
  expect_identical(.Call(ffi_dd_moments, x, rep(1, 9), 9L)$variance[2], 0)
  expect_identical(.Call(ffi_dd_moments, x, scale, 1L)$variance, numeric(3))
})

test_that("the scale at the start makes q 1 on average over pairs of positive instances", {
  set.seed(3)
  b <- sim_bags(n_bags = 6, n_features = 7)
  problem <- dd_problem(b, list(normalize = "none", scale_type = "feature"))
  q <- dist(t(b$x[, seq_len(b$n_positive)]))^2 * problem$scale_init^2
  expect_equal(mean(q), 1)
})

blob_bags <- function(d = 3, n_bags = 12, size = 5, shift = 3) {
  bag <- rep(seq_len(n_bags), each = size)
  x <- matrix(rnorm(length(bag) * d), length(bag))
  target <- bag <= n_bags / 2 & !duplicated(bag)
  x[target, ] <- shift + .2 * x[target, ]
  bags(x, bag, rep(1:0, each = n_bags / 2), truth = target)
}

test_that("the point is found where the positive bags meet", {
  set.seed(4)
  b <- blob_bags()
  for (model in dd_models) for (scale_type in dd_scale_types) {
    fit <- diverse_density(b, model = model, scale_type = scale_type, normalize = "none")
    # negative bags push the point further away where the scale may not grow
    if (scale_type != "fixed") expect_lt(max(abs(coef(fit)["target", ] - 3)), .5)
    expect_equal(fit$objective, min(fit$start_objective))
    expect_equal(as.numeric(pROC::auc(mil_roc(fit, b))), 1)
  }
})

test_that("a fit never ends above its start, and its scales obey their type", {
  set.seed(5)
  b <- blob_bags()
  for (model in dd_models) for (scale_type in dd_scale_types) {
    spec <- list(normalize = "none", scale_type = scale_type)
    problem <- dd_problem(b, spec)
    for (column in 1:4) {
      theta <- dd_theta(problem, column)
      out <- dd_minimise(problem, theta, model, 20)
      expect_lte(out$objective, dd_objective(problem, theta, model)$value)
      expect_equal(out$objective, dd_objective(problem, out$theta, model)$value)
      s <- dd_scales(problem, out$theta)
      if (scale_type == "fixed") expect_identical(s, problem$unit)
      if (scale_type == "single") expect_lt(diff(range(s)), 1e-12)
    }
  }
})

test_that("scores are -q, and the model's probabilities exp(-q), pooled by noisy-or, of new instances too", {
  set.seed(6)
  b <- blob_bags()
  fit <- diverse_density(b, n_start = 3)
  fit$feature_scale[] <- c(1, 2, 0.5)       # not what the optimiser found: q is moderate
  x <- matrix(rnorm(12), 4)
  unit <- x / sqrt(rowSums(x^2))
  q <- colSums((fit$feature_scale * (t(unit) - fit$target))^2)
  either <- exp(-q[1]) + exp(-q[2]) - exp(-q[1] - q[2])
  expect_equal(predict(fit, x)$.score, -q)
  curves <- probability_curves(fit)
  expect_equal(curve_probability(curves$instance, -q), exp(-q))
  of_bag <- predict(fit, x, level = "bag", bag = c(1, 1, 2, 2))$.score[1]
  expect_equal(curve_probability(curves$bag, of_bag), either)
  fit$calibration$instance$curve <- curves$instance
  fit$calibration$bag$own$curve <- curves$bag
  expect_equal(predict(fit, x, type = "prob")$.pred_1, exp(-q))
  expect_equal(predict(fit, x, type = "prob", level = "bag", bag = c(1, 1, 2, 2))$.pred_1[1],
               either)
  most_likely <- fit
  most_likely$spec$model <- "most-likely-cause"
  expect_equal(predict(most_likely, x, level = "bag", bag = c(1, 1, 2, 2))$.score,
               log(-log1p(-exp(-c(min(q[1:2]), min(q[3:4]))))))
  expect_error(predict(fit, x, type = "codes"), class = "fumi_error_no_meaning")
  expect_error(predict(fit, x, type = "prob", poool = "max"), class = "fumi_error_argument")
})

test_that("the noisy-or score is the complementary log-log, without ties at either end", {
  q <- c(.1, 2, 5, .3)
  p <- 1 - c(prod(1 - exp(-q[1:2])), prod(1 - exp(-q[3:4])))
  expect_equal(noisy_or_score(q, c(1, 1, 2, 2)), log(-log(1 - p)), ignore_attr = TRUE)
  far <- noisy_or_score(c(2000, 1000, 1e5, 1e6), 1:4)
  expect_equal(far, -c(2000, 1000, 1e5, 1e6), ignore_attr = TRUE)
  expect_equal(noisy_or_score(c(29.999999, 30.000001), 1:2), -c(30, 30), tolerance = 1e-6,
               ignore_attr = TRUE)
  expect_true(is.finite(noisy_or_score(0, 1)))
})

test_that("permuting instances and bags changes nothing, given the start", {
  set.seed(7)
  b <- blob_bags()
  x <- as.matrix(b)
  d <- as.data.frame(b)
  shuffled <- sample(nrow(x))
  other <- bags(x[shuffled, ], d$bag[shuffled], d$label[shuffled])
  for (model in dd_models) for (scale_type in dd_scale_types) {
    run <- function(b) {
      problem <- dd_problem(b, list(normalize = "none", scale_type = scale_type))
      column <- which(b$x[1, ] == x[1, 1])
      dd_minimise(problem, dd_theta(problem, column), model, 15)
    }
    expect_equal(run(other), run(b), tolerance = 1e-8)
  }
})

test_that("a constant feature has no say, in new data neither", {
  set.seed(8)
  b <- blob_bags()
  x <- as.matrix(b)
  d <- as.data.frame(b)
  for (scale_type in dd_scale_types) {
    fit <- function(x) {
      set.seed(9)
      diverse_density(x, d$bag, d$label, normalize = "none", n_start = 3, scale_type = scale_type)
    }
    with <- fit(cbind(x, 7))
    expect_identical(with$feature_scale[[4]], 0)
    expect_identical(with$target[[4]], 7)
    expect_equal(with$start_objective, fit(x)$start_objective, tolerance = 1e-6)
    expect_identical(predict(with, cbind(x, 8)), predict(with, cbind(x, 7)))
  }
  expect_error(diverse_density(x * 0 + 1, d$bag, d$label), class = "fumi_error_scale")
})

test_that("a scale that would grow without limit stops at its bound", {
  # both bags hold the origin
  x <- rbind(c(0, 0), c(5, 1), c(0, 0), c(7, 2), c(0, 1), c(1, -3), c(1, 3), c(-1, 2))
  set.seed(10)
  fit <- diverse_density(x, rep(1:4, each = 2), c(1, 1, 0, 0), normalize = "none", max_iter = 1000)
  expect_true(all(is.finite(coef(fit))))
  expect_true(all(fit$feature_scale <= 1e3 / apply(x, 2, sd) + 1e-9))
})

test_that("starts are instances of positive bags, each once", {
  set.seed(11)
  b <- blob_bags(n_bags = 20)
  ones <- rep(1, ncol(b$x))
  default <- dd_start_columns(b, ones, NULL)
  expect_length(default, 15)
  expect_length(unique(b$bag[default]), 3)
  expect_true(all(b$label[b$bag[default]]))
  expect_length(dd_start_columns(b, ones, NULL, most = 4), 4)
  expect_length(dd_start_columns(b, ones, 7), 7)
  expect_setequal(dd_start_columns(b, ones, 1000), seq_len(b$n_positive))
  b$x[, 2] <- b$x[, 1]
  expect_length(dd_start_columns(b, ones, 1000), b$n_positive - 1)
})

test_that("one positive instance, one feature, huge and tiny data are fitted", {
  set.seed(12)
  x <- matrix(rnorm(40), 10)
  fit <- diverse_density(x, 1:10, rep(1:0, c(1, 9)))
  expect_length(fit$start_objective, 1)
  expect_true(all(is.finite(predict(fit, x)$.score)))
  one <- diverse_density(x[, 1, drop = FALSE], 1:10, rep(1:0, 5), normalize = "none")
  expect_true(all(is.finite(predict(one, x[, 1, drop = FALSE])$.score)))
  at <- function(size) {
    set.seed(13)
    diverse_density(size * x, rep(1:5, 2), c(1, 1, 0, 0, 0), normalize = "none")
  }
  for (size in c(1e-100, 1e95))
    expect_equal(at(size)$start_objective, at(1)$start_objective, tolerance = 1e-3)
})

test_that("nothing is non-finite in 5000 dimensions", {
  set.seed(14)
  x <- matrix(runif(5000 * 24), 24)
  x[c(1, 7), ] <- rep(x[1, ], each = 2)
  bag <- rep(1:4, each = 6)
  for (model in dd_models) {
    fit <- diverse_density(x, bag, c(1, 1, 0, 0), model = model, n_start = 2, scale_init = 1,
                           normalize = "none", max_iter = 20)
    expect_true(all(is.finite(c(fit$start_objective, coef(fit), predict(fit, x)$.score))))
    expect_length(unique(predict(fit, x + rnorm(length(x)))$.score), 24)
  }
})

test_that("an interrupt keeps the starts that are done", {
  set.seed(15)
  b <- blob_bags()
  spec <- list(normalize = "none", scale_type = "fixed", n_start = 5)
  problem <- dd_problem(b, spec)
  interrupt <- function() signalCondition(structure(class = c("interrupt", "condition"), list()))
  until <- function(last) {
    n <- 0
    function(theta) {
      n <<- n + 1
      if (n == last) interrupt()
      dd_minimise(problem, theta, "noisy-or", 5)
    }
  }
  fits <- NULL
  expect_warning(fits <- dd_from_starts(b, problem, spec, FALSE, NULL, until(3)),
                 class = "fumi_warning_interrupt")
  expect_length(fits, 2)
  expect_identical(new_dd_model("diverse_density", fits, b, problem, spec)$stop_reason, "interrupt")
  expect_error(dd_from_starts(b, problem, spec, FALSE, NULL, until(1)),
               class = "fumi_error_interrupt")
})

test_that("max_iter is obeyed and told", {
  set.seed(16)
  b <- blob_bags()
  fit <- diverse_density(b, max_iter = 1, n_start = 1)
  expect_identical(fit$stop_reason, "max_iter")
  expect_output(print(fit), "max_iter")
  expect_identical(update(fit, b, max_iter = 500)$stop_reason, "converged")
})

test_that("arguments are checked", {
  b <- blob_bags()
  expect_error(diverse_density(b, model = "max"), class = "fumi_error_input")
  expect_error(diverse_density(b, scale_type = "none"), class = "fumi_error_input")
  expect_error(diverse_density(b, scale_init = 0), class = "fumi_error_input")
  expect_error(diverse_density(b, n_start = 0), class = "fumi_error_input")
  expect_error(diverse_density(b, max_iter = 0), class = "fumi_error_input")
  expect_error(diverse_density(b, progress = NA), class = "fumi_error_input")
  expect_error(coef(diverse_density(b, n_start = 1), "target"), class = "fumi_error_argument")
})

test_that("the point and the scales are drawn, as pictures or as curves", {
  pdf(NULL)
  on.exit(dev.off())
  set.seed(17)
  for (b in list(sim_bags(n_bags = 6, image_dim = c(4, 5)), blob_bags(), blob_bags(d = 1))) {
    fit <- diverse_density(b, n_start = 1, normalize = "none")
    before <- par(no.readonly = TRUE)
    expect_identical(withVisible(plot(fit)), list(value = fit, visible = FALSE))
    expect_identical(par("mfrow", "mar"), before[c("mfrow", "mar")])
  }
})
