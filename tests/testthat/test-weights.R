some_bags <- function() {
  set.seed(1)
  b <- sim_bags(n_bags = 12, bag_size = 4, n_features = 10, n_background = 3)
  # instances of a bag lie apart, labels are mixed
  mixed <- sample(48)
  bags(as.matrix(b)[mixed, ], paste0("b", rep(1:12, each = 4))[mixed],
       rep(b$label, each = 4)[mixed])
}

fit_some <- function(b = some_bags(), variant = "paper", ..., max_iter = 4, init = "paper",
                     beta = 1) {
  set.seed(2)
  dlfumi(b, n_target = 2, n_background = 3, beta = beta, ..., init = init,
         control = dlfumi_control(variant, inner = 10, max_iter = max_iter, tol = 0))
}

numbers_of <- function(fit) lapply(fit[c("dictionary", "codes", "prob_target", "objective")],
                                   unname)
positive_instances <- function(b) in_user_order(b, in_positive(b))
start <- list(dictionary = local({ set.seed(3); matrix(rnorm(50), 10) }))

# ---- weights of bags ------------------------------------------------------------------------

test_that("steps with weights and a prior equal their transcription", {
  set.seed(4)
  for (trial in 1:10) {
    s <- random_problem(n_pos = 30, n_neg = 25)
    s$weight <- runif(55, .1, 3)
    s$prior <- runif(30)
    expect_lt(relative_difference(core_step(s, "expect")$p,
                                  ref_expect(s$X, 30, s$D, s$A, s$n_target, s$beta, s$prior)),
                                  1e-10)
    for (variant in c("paper", "matlab")) {
      D <- ref_target_atoms(s$X, 30, s$D, s$A, s$p, s$n_target, s$weight)
      cosine <- ref_cosines(s$D, if (variant == "matlab") D else s$D, s$n_target)
      D <- ref_background_atoms(s$X, 30, D, s$D, s$A, s$p, s$n_target, s$psi, s$gamma, cosine,
                                s$weight)
      expect_lt(relative_difference(core_step(s, "atoms", variant)$dictionary, D), 1e-10)
      compared <- if (variant == "matlab") s$D else s$D_old
      f <- ref_objective(s$X, 30, s$D, s$A, s$p, s$n_target, s$psi, s$lambda, s$gamma,
                         ref_cosines(s$D_old, compared, s$n_target), compared, s$weight)
      expect_lt(relative_difference(core_step(s, "objective", variant)$terms, f), 1e-10)
    }
  }
})

test_that("iterations with weights and a prior equal the transcription", {
  b <- some_bags()
  weights <- stats::setNames(seq(.5, 3, length.out = 12), b$ids)
  set.seed(5)
  prior <- ifelse(positive_instances(b), sample(c(0, .2, NA, .9), 48, TRUE), 0)
  x <- apply(b$x, 2, ref_unit)
  for (variant in c("paper", "matlab")) {
    first <- fit_some(b, variant, lambda = .001, init = start, max_iter = 1)
    fit <- fit_some(b, variant, lambda = .001, init = first, max_iter = 1, bag_weights = weights,
                    instance_prior = prior)
    own <- ifelse(is.na(prior), .5, prior)[b$order][seq_len(b$n_positive)]
    truth <- ref_iterate(variant, x, b$n_positive, unname(first$dictionary),
                         unname(first$codes)[, b$order], 2, .001, 1,
                         .001, first$psi, 10, weight = unname(weights)[b$bag], prior = own)
    expect_lt(relative_difference(unname(fit$dictionary), truth$D), 1e-9)
    expect_lt(relative_difference(unname(fit$codes)[, b$order], truth$A), 1e-9)
    expect_lt(relative_difference(fit$prob_target[b$order][seq_len(b$n_positive)], truth$p), 1e-9)
    expect_lt(relative_difference(fit$objective$objective, truth$objective[1]), 1e-9)
  }
})

test_that("a bag of weight k counts as k bags", {
  b <- some_bags()
  d <- as.data.frame(b)
  count <- stats::setNames(rep(1:3, 4), b$ids)
  row <- rep(seq_len(48), count[d$bag])
  copy <- paste(d$bag[row], sequence(count[d$bag]))
  repeated <- bags(as.matrix(b)[row, ], copy, d$label[row])
  for (variant in c("paper", "matlab", "exact")) {
    weighted <- fit_some(b, variant, init = start, bag_weights = count)
    expect_equal(fit_some(repeated, variant, init = start)$objective, weighted$objective,
                 tolerance = 1e-9)
    expect_false(isTRUE(all.equal(fit_some(b, variant, init = start)$objective,
                                  weighted$objective)))
  }
})

test_that("weights go by id or by order, and equal ones of 1 change no bit", {
  b <- some_bags()
  weights <- seq(1, 3, length.out = 12)
  named <- rev(stats::setNames(weights, b$ids))
  fit <- fit_some(b, bag_weights = weights)
  expect_identical(numbers_of(fit_some(b, bag_weights = named)), numbers_of(fit))
  expect_identical(numbers_of(fit_some(b, bag_weights = c(named, other = 7))), numbers_of(fit))
  expect_identical(numbers_of(fit_some(b, bag_weights = rep(1, 12))), numbers_of(fit_some(b)))
  expect_identical(fit$spec$bag_weights, stats::setNames(weights, b$ids))
})

test_that("atoms are ordered by the energy that they carry with weights", {
  b <- some_bags()
  set.seed(1)
  weights <- stats::setNames(exp(rnorm(12, sd = 2)), b$ids)
  fit <- fit_some(b, bag_weights = weights)
  energy <- function(w) drop(fit$codes[3:5, ]^2 %*% w)
  expect_false(is.unsorted(-energy(weights[fit$bag])))
  expect_true(is.unsorted(-energy(rep(1, 48))))
})

test_that("a bag of weight k is k bags for the other methods, and equal weights are a matter of cost", {
  b <- some_bags()
  times <- rep(c(1, 2, 1, 3), 3)
  fits <- list(
    function(b, ..., cost = 1) sil(b, ..., cost = cost),
    function(b, ..., cost = 1) sil(b, ..., classifier = "svm", cost = cost),
    function(b, ..., cost = 1) mi_svm(b, ..., type = "mi", kernel = "linear", cost = cost),
    function(b, ..., cost = 1) mi_svm(b, ..., type = "MI", kernel = "linear",
                                      class_weights = "balanced", cost = cost),
    function(b, ..., cost = 1) mi_svm(b, ..., kernel = "rbf", kpar = list(sigma = 1),
                                      class_weights = "balanced", cost = cost),
    function(b, ..., cost = 1) mi_ace(b, ...),
    function(b, ..., cost = 1) mi_ace(b, ..., type = "smf", whitener = "ledoit-wolf"),
    function(b, ..., cost = 1) dmil(b, ..., n_atoms = 2),
    function(b, ..., cost = 1) dmil(b, ..., n_atoms = 2, swap = TRUE),
    function(b, ..., cost = 1) dmil(b, ..., n_atoms = 2, kernel = "rbf", kpar = list(sigma = 1),
                                    pool = "gmean"))
  scores <- function(fit, ...) {
    set.seed(7)
    predict(fit(...), b)$.score
  }
  for (fit in fits) {
    weighted <- scores(fit, b, bag_weights = times)
    expect_equal(weighted, scores(fit, repeated_bags(b, times)), tolerance = 1e-10)
    expect_equal(scores(fit, b, bag_weights = 1.5 * times, cost = 2),
                 scores(fit, b, bag_weights = times, cost = 3), tolerance = 1e-10)
    expect_gt(max(abs(weighted - scores(fit, b))), 1e-4)
    expect_identical(scores(fit, b, bag_weights = rep(1, 12)), scores(fit, b))
  }
})

test_that("weights as copies are exact, and refused where they would not be", {
  b <- some_bags()
  for (weights in list(rep(c(.5, 1.25), 6), 1 / rep(4:6, 4), rep(c(2, 6), 6), exp(1) * (1:12))) {
    copies <- bag_copies(stats::setNames(weights, b$ids), b)
    expect_equal(copies$n * copies$unit, weights)
    expect_identical(copies$n, round(copies$n))
  }
  expect_identical(bag_copies(stats::setNames(rep(c(2, 6), 6), b$ids), b),
                   list(n = rep(c(1, 3), 6), unit = 2))
  for (fit in list(sil, miles, mi_svm, mi_ace, dmil)) {
    expect_error(fit(b, bag_weights = sqrt(1:12)), "`bag_weights`.*whole multiples",
                 class = "fumi_error_input")
    expect_error(fit(b, bag_weights = 1:11), "`bag_weights`", class = "fumi_error_input")
  }
})

test_that("methods that take no weights of bags say so, and which do", {
  b <- some_bags()
  for (fit in list(e_fumi, mmdl, em_dd, diverse_density))
    expect_error(fit(b, bag_weights = rep(1, 12)), "`bag_weights`.*`mi_svm\\(\\)`",
                 class = "fumi_error_no_meaning")
})

test_that("repeated bags are those that a user would make", {
  b <- sort_instances(some_bags())
  times <- rep(1:3, 4)
  made <- repeat_bags(b, times)
  by_hand <- sort_instances(repeated_bags(b, times[order(match(b$ids, unique(as.data.frame(b)$bag)))]))
  expect_identical(made$x, by_hand$x)
  for (part in c("bag", "label", "n_positive"))
    expect_identical(made[[part]], by_hand[[part]], ignore_attr = TRUE)
})

# ---- prior of instances ---------------------------------------------------------------------

test_that("a prior of 0 or 1 is the probability, and the odds between are multiplied", {
  b <- some_bags()
  positive <- positive_instances(b)
  prior <- rep(NA_real_, 48)
  prior[positive] <- rep_len(c(0, 1, NA, .5, .9), 24)
  one <- function(...) fit_some(b, init = start, max_iter = 1, ...)$prob_target
  with <- one(instance_prior = prior)
  without <- one()
  expect_true(all(with[which(prior == 0)] == 0) && all(with[which(prior == 1)] == 1))
  expect_true(all(with[!positive] == 0))
  none <- positive & (is.na(prior) | prior == .5)
  expect_equal(with[none], without[none], tolerance = 1e-14)
  odds <- function(p) p / (1 - p)
  likely <- which(prior == .9)
  expect_equal(odds(with[likely]), 9 * odds(without[likely]), tolerance = 1e-6)
  expect_equal(one(instance_prior = ifelse(positive, .5, 0)), without, tolerance = 1e-14)
})

test_that("an instance that holds no target has no say in target atoms", {
  b <- some_bags()
  i <- which(positive_instances(b))[3]
  prior <- replace(rep(NA, 48), i, 0)
  other <- b
  other$x[, which(b$order == i)] <- rev(b$x[, which(b$order == i)]) + 1
  given <- c(start, list(codes = matrix(.3, 5, 48)))
  target <- function(b, prior) fit_some(b, init = given, max_iter = 1,
                                        instance_prior = prior)$dictionary[, 1:2]
  expect_equal(target(other, prior), target(b, prior), tolerance = 1e-12)
  expect_gt(max(abs(target(other, NULL) - target(b, NULL))), 1e-3)
  made <- function(b, prior) {
    set.seed(6)
    spec <- list(n_target = 2, n_background = 3, n_start = 1,
                 prior = prior[b$order[seq_len(b$n_positive)]])
    dlfumi_starts(b, instance_scale(b$x, "unit"), spec, "paper", NULL)[[1]]()$dictionary[, 1:2]
  }
  known <- ifelse(is.na(prior), .5, prior)
  expect_identical(made(other, known), made(b, known))
  expect_gt(max(abs(made(other, NULL) - made(b, NULL))), 1e-3)
})

test_that("what is known wholly is no reason to blame beta", {
  b <- some_bags()
  expect_no_warning(fit_some(b, instance_prior = positive_instances(b)))
  expect_warning(fit_some(b, instance_prior = replace(rep(NA, 48), which(positive_instances(b))[1],
                                                      0), beta = 1e8),
                 class = "fumi_warning_beta")
})

# ---- both -----------------------------------------------------------------------------------

test_that("parts, threads, starts, updates, warm starts and files take both", {
  b <- some_bags()
  weights <- seq(.5, 2, length.out = 12)
  prior <- ifelse(positive_instances(b), rep_len(c(0, .1, .9, NA), 48), NA)
  parts <- bag_shards(b, n = 3)
  for (variant in c("paper", "matlab", "exact")) {
    fit <- function(b, ...) fit_some(b, variant, bag_weights = weights, instance_prior = prior, ...)
    whole <- fit(b)
    expect_equal(numbers_of(fit(parts)), numbers_of(whole), tolerance = 1e-9)
    expect_equal(numbers_of(fit(parts, init = whole)), numbers_of(fit(b, init = whole)),
                 tolerance = 1e-9)
    expect_gt(max(abs(whole$dictionary - fit_some(b, variant)$dictionary)), 1e-3)
  }
  two <- fit(b, n_start = 2)
  expect_identical(two$starts[[1]], whole$starts[[1]])
  set.seed(2)
  expect_identical(update(whole, b), whole)
  set.seed(2)
  without <- update(whole, b, bag_weights = NULL, instance_prior = NULL)
  expect_identical(numbers_of(without), numbers_of(fit_some(b, variant)))
  mil_save(whole, file <- tempfile())
  expect_identical(mil_load(file), whole)
  expect_true(all(c("bag_weights", "instance_prior") %in% tidy(whole, "params")$parameter))
})

test_that("a sample for the start of parts keeps the prior of its instances", {
  b <- some_bags()
  parts <- bag_shards(b, n = 3)
  some <- sample_shards(parts, NULL)
  expect_identical(unname(some$x), unname(b$x[, match(parts$order[attr(some, "chosen")], b$order)]))
})

test_that("an interrupt gives the last whole iteration with weights and a prior", {
  b <- some_bags()
  weights <- seq(.5, 2, length.out = 12)[b$bag]
  prior <- seq(0, 1, length.out = 24)
  scale <- instance_scale(b$x, "unit")
  spec <- list(n_target = 2, n_background = 3, n_start = 1, lambda = .01, beta = 30, gamma = 0,
               psi = 1, normalize = "unit", nonneg = "codes", weight = weights, prior = prior)
  first <- dlfumi_starts(b, scale, spec, start, NULL)[[1]]
  run <- function(n, report)
    dlfumi_run(b, scale, first, c(spec, list(control = dlfumi_control(max_iter = n, tol = 0))),
               report, NULL)
  stopped <- run(30, function(it, objective) if (it == 3) rlang::interrupt())
  whole <- run(3, NULL)
  expect_identical(stopped$stop_reason, "interrupt")
  expect_equal(stopped[c("dictionary", "p", "n_iter")], whole[c("dictionary", "p", "n_iter")])
})

test_that("bad weights and priors are refused by name", {
  b <- some_bags()
  for (weights in list("a", numeric(), 1:11, rep(0, 12), rep(Inf, 12), factor(1:12), list(1),
                       c(b1 = 1), stats::setNames(rep(1, 12), 1:12)))
    expect_error(fit_some(b, bag_weights = weights), "`bag_weights`", class = "fumi_error_input")
  expect_error(fit_some(b, bag_weights = replace(rep(1, 12), 3, NA)), "value 3 is NA",
               class = "fumi_error_input")
  for (prior in list("a", .5, rep(.5, 47), rep(-1, 48), rep(2, 48), factor(rep(0, 48)),
                     numeric(48), list(1)))
    expect_error(fit_some(b, instance_prior = prior), "`instance_prior`",
                 class = "fumi_error_input")
  expect_error(fit_some(b, instance_prior = rep(.5, 48)), "`instance_prior`.*negative",
               class = "fumi_error_label")
})
