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
    value <- mean(tapply(s$.score, bag, max)[positive]) - mean(tapply(s$.score, bag, mean)[!positive])
    expect_equal(fit$objective$objective[nrow(fit$objective)], value)
  }
})

test_that("an ascent step is the maximiser for its choice", {
  set.seed(2)
  problem <- list(positive = matrix(rnorm(60), 6), bag = rep(c(9, 4), each = 5), share = c(.5, .5), negative = rnorm(6))
  target <- rnorm(6)
  chosen <- mi_ace_select(target, problem)
  score <- drop(target %*% problem$positive)
  expect_equal(chosen$selected, c(which.max(score[1:5]), 5 + which.max(score[6:10])))
  fit <- mi_ace_ascend(target / sqrt(sum(target^2)), problem, 1)
  fixed <- function(s) sum(s * (rowMeans(problem$positive[, chosen$selected]) - problem$negative))
  expect_equal(sum(fit$target^2), 1)
  others <- replicate(200, rnorm(6))
  expect_true(all(apply(others, 2, function(s) fixed(s / sqrt(sum(s^2)))) <= fixed(fit$target)))
})

test_that("the start is the instance, or the centre, with the largest objective", {
  set.seed(3)
  problem <- list(positive = matrix(rnorm(3000), 5), bag = rep(1:60, each = 10), share = rep(1 / 60, 60), negative = rnorm(5))
  unit <- unit_columns(problem$positive)
  value <- apply(unit, 2, function(s) mi_ace_select(s, problem)$objective)
  expect_equal(candidate_values(unit, problem), value)
  expect_equal(mi_ace_start(problem, NULL, list(init = "instances")), unit[, which.max(value)])
  # as many centres as instances are the instances
  expect_equal(max(candidate_values(unit_columns(whitened_centres(problem$positive, runif(600))), problem)), max(value))
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
  expect_equal(predict(fit, x)$.score, drop(t(z) %*% inverse %*% s) / sqrt(drop(s %*% inverse %*% s)))
})

test_that("bags without a direction are refused, parameters checked", {
  x <- rbind(matrix(1, 4, 3), matrix(c(0, 2), 4, 3))
  expect_error(mi_ace(x, rep(1:4, each = 2), c(1, 1, 0, 0)), class = "fumi_error_scale")
  set.seed(5)
  b <- ace_bags()
  for (bad in list(list(type = "cos"), list(init = 1), list(ridge = 0), list(energy = 2), list(max_iter = 0),
                   list(whitener = "pca"), list(n_clusters = 0), list(progress = 1)))
    expect_error(do.call(mi_ace, c(list(b), bad)), class = "fumi_error_input")
  expect_equal(mi_ace(b, max_iter = 1)$stop_reason, "max_iter")
  expect_equal(update(mi_ace(b), b, type = "smf")$spec$type, "smf")
})
