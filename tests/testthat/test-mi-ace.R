ace_bags <- function(n_bags = 20) sim_bags(n_bags = n_bags, bag_size = 5, n_features = 12)

test_that("the objective never falls, and a fit ends where its choice repeats", {
  for (seed in 1:5) for (type in c("ace", "smf")) for (init in c("instances", "kmeans")) {
    set.seed(seed)
    b <- sim_bags(n_bags = 20, bag_size = 5, n_features = 12, noise = .5)
    fit <- mi_ace(b, type = type, init = init, n_clusters = 5)
    expect_true(all(diff(loss_path(fit)$objective) > -1e-12))
    expect_equal(fit$stop_reason, "converged")
    # the choice of the last signature is the choice that made it
    s <- predict(fit, b)$.score
    positive <- as.data.frame(b)$label == "1"
    best <- tapply(which(positive), factor(fit$bag[positive], unique(fit$bag[positive])),
                   function(i) i[which.max(s[i])])
    expect_equal(unname(fit$selected), unname(c(best)))
  }
})

test_that("the objective is the mean best score of positive bags less the mean score of negative bags", {
  set.seed(1)
  b <- ace_bags()
  for (type in c("ace", "smf")) {
    fit <- mi_ace(b, type = type)
    s <- predict(fit, b)
    bag <- factor(s$.bag, unique(s$.bag))
    positive <- summary(b)$label == "1"
    value <- mean(tapply(s$.score, bag, max)[positive]) - mean(tapply(s$.score, bag,
                                                                      mean)[!positive])
    expect_equal(fit$objective$objective[nrow(fit$objective)], value)
  }
})

test_that("an ascent step is the maximiser for its choice", {
  set.seed(2)
  problem <- list(positive = matrix(rnorm(60), 6), bag = rep(c(9, 4), each = 5), share = c(.5, .5),
                  negative = rnorm(6))
  target <- rnorm(6)
  chosen <- mi_ace_select(matrix(target), problem)
  score <- drop(target %*% problem$positive)
  expect_equal(drop(chosen$selected), c(which.max(score[1:5]), 5 + which.max(score[6:10])))
  fit <- mi_ace_ascend(unit_columns(matrix(target)), problem, 1)
  fixed <- function(s) sum(s * (rowMeans(problem$positive[, chosen$selected]) - problem$negative))
  expect_equal(sum(fit$targets^2), 1)
  others <- replicate(200, rnorm(6))
  expect_true(all(apply(others, 2, function(s) fixed(s / sqrt(sum(s^2)))) <= fixed(fit$targets)))
})

test_that("the start is the instance, or the centre, with the largest objective", {
  set.seed(3)
  problem <- list(positive = matrix(rnorm(3000), 5), bag = rep(1:60, each = 10),
                  share = rep(1 / 60, 60), negative = rnorm(5))
  unit <- unit_columns(problem$positive)
  value <- apply(unit, 2, function(s) mi_ace_select(matrix(s), problem)$objective)
  expect_equal(candidate_values(unit, problem), value)
  expect_equal(mi_ace_start(problem, NULL, list(init = "instances", n_target = 1, alpha = 1)),
               unit[, which.max(value), drop = FALSE])
  # as many centres as instances are the instances
  expect_equal(max(candidate_values(unit_columns(whitened_centres(problem$positive, runif(600))),
                                    problem)), max(value))
})

test_that("the signature has norm 1, inverts the whitening, and scores are signed ACE or SMF with it", {
  set.seed(4)
  b <- ace_bags()
  x <- as.matrix(b)
  for (whitener in c("ridge", "ledoit-wolf", "ppca", "none")) {
    fit <- mi_ace(b, whitener = whitener)
    s <- coef(fit)
    expect_equal(dim(s), c(1L, 12L))
    expect_equal(sum(s^2), 1)
    expect_equal(predict(fit, x)$.score, ace(x, drop(s), background = fit$background))
    expect_equal(predict(fit, x)$.score, ace(x, fit, background = background_stats(b, whitener)))
    w <- whiten(matrix(rnorm(12)), fit$background)
    expect_equal(drop(whiten(matrix(unwhiten(w, fit$background)), fit$background)), drop(w))
  }
  fit <- mi_ace(b, type = "smf")
  z <- t(x) - fit$background$mean
  covariance <- cov(t(b$x[, -seq_len(b$n_positive)]))
  inverse <- solve(covariance + fit$background$delta * diag(12))
  s <- drop(coef(fit))
  expect_equal(predict(fit, x)$.score,
               drop(t(z) %*% inverse %*% s) / sqrt(drop(s %*% inverse %*% s)))
})

test_that("bags without a direction are refused, parameters checked", {
  x <- rbind(matrix(1, 4, 3), matrix(c(0, 2), 4, 3))
  expect_error(mi_ace(x, rep(1:4, each = 2), c(1, 1, 0, 0)), class = "fumi_error_scale")
  set.seed(5)
  b <- ace_bags()
  for (bad in list(list(type = "cos"), list(init = 1), list(ridge = 0), list(energy = 2),
                   list(max_iter = 0),
                   list(whitener = "pca"), list(n_clusters = 0), list(progress = 1)))
    expect_error(do.call(mi_ace, c(list(b), bad)), class = "fumi_error_input")
  expect_equal(mi_ace(b, max_iter = 1)$stop_reason, "max_iter")
  expect_equal(update(mi_ace(b), b, type = "smf")$spec$type, "smf")
})

# ---- several signatures ---------------------------------------------------------------------

mt_fixture <- function(name) {
  f <- trajectory(name)
  c(f[setdiff(names(f), c("parameters", "background"))], f$parameters)
}

mt_start <- function(f, w) {
  s <- w$z[, f$start$instance, drop = FALSE]
  s / rep(sqrt(colSums(s^2)), each = nrow(s))
}

# What mi_ace() makes of a fixture's instances, with the covariance as the released code takes it.
mt_problem <- function(f) {
  positive <- f$label[f$bag] == 1
  x <- f$X[, c(which(positive), which(!positive))]
  b <- list(bag = f$bag[c(which(positive), which(!positive))], label = f$label == 1,
            n_positive = sum(positive))
  background <- make_background(t(if (f$background == "all") f$X else f$X[, !positive]), "x",
                                "pinv")
  list(background = background,
       problem = mi_ace_problem(x, b, background, f$detector, rep(1, length(f$label)),
                                environment()))
}

test_that("the transcription of the released code follows it, with its assignment and stop", {
  for (name in c("mtmiace-a", "mtmiace-b", "mtmiace-c", "mtmiace-d", "mtmismf-a")) {
    f <- mt_fixture(name)
    w <- ref_mt_whiten(f)
    fit <- ref_mt_fit(f, mt_start(f, w))
    expect_equal(length(fit$path), f$final$n_iter)
    for (it in seq_along(fit$path)) {
      expect_equal(fit$path[[it]]$signature, f$iterations$signature[[it]], tolerance = 1e-9)
      expect_equal(fit$path[[it]]$objective, c(f$iterations$objective[[it]]), tolerance = 1e-9)
      expect_equal(c(fit$path[[it]]$selection), c(f$iterations$selection[[it]]))
      expect_equal(fit$path[[it]]$winner, c(f$iterations$winner_R[[it]]))
    }
    expect_equal(vapply(fit$path, `[[`, 0, "dropped"), f$iterations$dropped_R)
    start <- ref_mt_start(f, w$z)
    expect_equal(start$index, f$init_instance$index)
    expect_equal(start$objective, f$init_instance$objective, tolerance = 1e-9)
  }
})

test_that("signatures follow the released code with its assignment mended", {
  for (name in c("mtmiace-c", "mtmismf-a")) {
    f <- mt_fixture(name)
    made <- mt_problem(f)
    start <- unit_columns(made$problem$positive[, f$start$instance])
    for (it in seq_len(f$final$n_iter)) {
      fit <- mi_ace_ascend(start, made$problem, it, f$alpha)
      signature <- unit_columns(apply(fit$targets, 2, unwhiten, made$background))
      expect_equal(signature, f$iterations$signature[[it]], tolerance = 1e-9)
    }
    # no limit: it ends where the released code does
    fit <- mi_ace_ascend(start, made$problem, 1000, f$alpha)
    expect_equal(c(fit$n_iter, fit$stop_reason), c(f$final$n_iter, "converged"))
    signature <- unit_columns(apply(fit$targets, 2, unwhiten, made$background))
    expect_equal(signature, f$final$signature, tolerance = 1e-9)
    model <- list(dictionary = signature, n_target = ncol(signature), background = made$background,
                  normalize = "none", spec = list(type = f$detector))
    expect_equal(score_instances.mi_ace(model, f$X), f$score, tolerance = 1e-9)
  }
})

test_that("one signature stops when its choice comes back, not when differences cancel", {
  f <- mt_fixture("mtmiace-d")
  made <- mt_problem(f)
  fit <- mi_ace_ascend(unit_columns(made$problem$positive[, f$start$instance, drop = FALSE]),
                       made$problem, 1000, f$alpha)
  mended <- ref_mt_fit(utils::modifyList(f, list(sumstop = FALSE)), mt_start(f, ref_mt_whiten(f)))
  expect_equal(unit_columns(apply(fit$targets, 2, unwhiten, made$background)), mended$signature,
               tolerance = 1e-9)
  expect_gt(max(abs(mended$signature - f$final$signature)), 1e-3)
  expect_equal(length(mended$path), 4)
})

test_that("a start is chosen beside those before it", {
  f <- mt_fixture("mtmiace-c")
  problem <- mt_problem(f)$problem
  z <- problem$positive
  score <- function(chosen, bags, z,
                    pool) vapply(bags, function(i) pool(crossprod(chosen, z[, i, drop = FALSE])), 0)
  gain <- function(c, chosen, alpha) {
    C <- z[, c(chosen, c), drop = FALSE]
    negative <- split(seq_len(ncol(problem$others)), rep(1:8, each = 5))
    mean(score(C, split(seq_along(problem$bag), problem$bag), z, max)) -
      mean(score(C, negative, problem$others, function(s) mean(apply(s, 2, max)))) -
      if (length(chosen)) alpha * mean(crossprod(z[, chosen, drop = FALSE], z[, c])) else 0
  }
  chosen <- integer()
  for (t in 1:3) chosen <- c(chosen, which.max(vapply(seq_len(ncol(z)), function(c)
    if (c %in% chosen) -Inf else gain(c, chosen, .2), 0)))
  expect_equal(mi_ace_start(problem, NULL, list(init = "instances", n_target = 3, alpha = .2)),
               z[, chosen])
  expect_error(mi_ace_start(problem, runif(2), list(init = "kmeans", n_target = 3, alpha = 1)),
               "`n_target`", class = "fumi_error_input")
})

test_that("a pass maximises the objective of each signature over the bags that it won", {
  f <- mt_fixture("mtmiace-c")
  problem <- mt_problem(f)$problem
  problem$share <- (1:8) / 36
  set.seed(6)
  targets <- unit_columns(matrix(rnorm(36), 12))
  now <- mi_ace_select(targets, problem, .2)
  new <- mi_ace_pass(targets, now, problem, .2)
  value <- crossprod(targets, problem$positive)
  own <- vapply(split(seq_along(problem$bag), problem$bag), function(i) apply(value[, i], 1, max),
                numeric(3))
  expect_equal(now$winner, unname(apply(own, 2, which.max)))
  others <- vapply(1:3, function(t) mean(crossprod(targets[, t], targets[, -t])), 0)
  expect_equal(now$objective,
               drop(own %*% problem$share) - drop(problem$negative %*% targets) - .2 * others)
  # the last one sees the new ones before it
  won <- now$winner == 3
  fixed <- function(s) sum(problem$share[won] * (s %*% problem$positive[, now$selected[won, 3], drop = FALSE])) /
    sum(problem$share[won]) - sum(s * problem$negative) - .2 * mean(s %*% new[, 1:2])
  random <- unit_columns(matrix(rnorm(12 * 200), 12))
  expect_true(all(apply(random, 2, fixed) < fixed(new[, 3])))
  # one that wins no bag is dropped, and those after it stay
  targets[, 2] <- targets[, 1]
  now <- mi_ace_select(targets, problem, .2)
  expect_false(2 %in% now$winner)
  expect_equal(mi_ace_pass(targets, now, problem, .2)[, 2], targets[, 3])
})

# Two kinds of targets, each in half of the positive bags.
two_kinds <- function(seed, n = 40, d = 12, size = 5) {
  set.seed(seed)
  x <- matrix(rnorm(n * size * d), ncol = d)
  label <- rep(1:0, each = n / 2)
  target <- seq(1, by = size, length.out = n / 2)
  kind <- rep(1:2, length.out = n / 2)
  x[cbind(target, kind)] <- x[cbind(target, kind)] + 8
  list(b = bags(x, rep(seq_len(n), each = size), label, truth = seq_len(nrow(x)) %in% target),
       kind = kind, target = target)
}

test_that("two signatures find two kinds of targets, and say which bags they won", {
  for (type in c("ace", "smf")) for (init in c("instances", "kmeans")) {
    made <- two_kinds(7)
    fit <- mi_ace(made$b, n_target = 2, alpha = .1, type = type, init = init)
    peak <- apply(coef(fit), 1, which.max)
    expect_setequal(peak, 1:2)
    expect_equal(unname(fit$bags_won), c(10L, 10L))
    expect_equal(unname(fit$selected), made$target)
    expect_identical(dim(coef(fit)), c(2L, 12L))
    expect_equal(rowSums(coef(fit)^2), c(target1 = 1, target2 = 1))
    expect_equal(c(fit$n_target, fit$n_dropped), c(2, 0))
    # the score is the larger of the two
    one <- sapply(1:2, function(t) {
      m <- fit
      m$dictionary <- fit$dictionary[, t, drop = FALSE]
      m$n_target <- 1L
      m$bags_won <- NULL
      predict(m, made$b)$.score
    })
    expect_equal(predict(fit, made$b)$.score, apply(one, 1, max), tolerance = 1e-12)
    alone <- mi_ace(made$b, type = type, init = init)
    expect_gt(as.numeric(pROC::auc(mil_roc(fit, two_kinds(8)$b))),
              as.numeric(pROC::auc(mil_roc(alone, two_kinds(8)$b))))
  }
})

test_that("signatures that win nothing are dropped and counted", {
  set.seed(9)
  b <- ace_bags()
  fit <- mi_ace(b, n_target = 25, calibrate = 0)
  expect_lte(fit$n_target, 10)
  expect_equal(fit$n_target + fit$n_dropped, 25)
  expect_equal(sum(fit$bags_won), fit$n_bags[["positive"]])
  expect_named(fit$bags_won, rownames(coef(fit)))
  expect_error(mi_ace(b, n_target = 1000), "`n_target` must be at most", class = "fumi_error_input")
})

test_that("a bag of weight k counts as k bags, for several signatures too", {
  made <- two_kinds(10)
  x <- as.matrix(made$b)
  weights <- rep(c(1, 2, 3, 1), 10)
  bag <- as.data.frame(made$b)$bag
  copies <- unlist(lapply(unique(bag), function(j) rep(list(which(bag == j)),
                                                       weights[as.integer(j)])), recursive = FALSE)
  again <- bags(x[unlist(copies), ], rep(seq_along(copies), lengths(copies)),
                rep(made$b$label, weights) + 0)
  weighted <- mi_ace(made$b, n_target = 2, bag_weights = weights, calibrate = 0)
  expect_equal(coef(weighted), coef(mi_ace(again, n_target = 2, calibrate = 0)), tolerance = 1e-10)
})

test_that("signatures are drawn, and instances are not explained by them", {
  made <- two_kinds(11)
  fit <- mi_ace(made$b, n_target = 2)
  expect_identical(drawn(plot(fit))$returned$value, fit)
  expect_identical(drawn(plot(fit, "objective"))$returned$value, fit)
  expect_identical(drawn(plot(fit, "bag", new_data = made$b, bag = 1))$returned$value, fit)
  expect_error(plot(fit, "codes"), class = "fumi_error_input")
  expect_error(mil_explain(fit, made$b), class = "fumi_error_no_meaning")
  expect_error(ace(made$b, fit), "sub_ace", class = "fumi_error_dimension")
})

test_that("of signatures that are equal on a bag but for rounding the first wins it", {
  problem <- list(positive = diag(2), bag = 1:2, share = c(.5, .5), negative = c(0, 0))
  targets <- cbind(c(1 - 1e-15, 0), c(1, .1))
  expect_identical(mi_ace_select(targets, problem)$winner, 1:2)
})
