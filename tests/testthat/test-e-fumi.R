fumi_bags <- function(n_bags = 20) sim_bags(n_bags = n_bags, bag_size = 5, n_features = 12)

# The least of .5 a'Qa - c'a over the simplex: the best of the stationary points of all faces.
brute_simplex <- function(Q, c) {
  K <- length(c)
  best <- NULL
  least <- Inf
  for (face in seq_len(2^K - 1)) {
    S <- which(bitwAnd(face, 2^(seq_len(K) - 1)) > 0)
    n <- length(S)
    a <- solve(rbind(cbind(Q[S, S], 1), c(rep(1, n), 0)), c(c[S], 1))[seq_len(n)]
    value <- sum(a * (Q[S, S, drop = FALSE] %*% a)) / 2 - sum(c[S] * a)
    if (all(a >= -1e-12) && value < least) {
      least <- value
      best <- replace(numeric(K), S, a)
    }
  }
  best
}

test_that("proportions are the minimiser that an enumeration of all faces finds", {
  set.seed(1)
  for (K in c(1, 2, 5)) for (i in 1:20) {
    E <- matrix(rnorm(8 * K), 8)
    x <- matrix(2 * rnorm(8))
    T <- sample(0:K, 1)
    p <- runif(1, .05, 1)
    weight <- outer(seq_len(K) <= T, seq_len(K) <= T, "|")
    Q <- crossprod(E) * ifelse(weight, p, 1)
    linear <- crossprod(E, x) * ifelse(seq_len(K) <= T, p, 1) - runif(K)
    a <- solve_simplex(crossprod(E), linear, T, p)
    expect_equal(drop(a), brute_simplex(Q, drop(linear)), tolerance = 1e-6)
    expect_true(all(a >= 0))
    expect_lt(abs(sum(a) - 1), 1e-12)
  }
})

test_that("unmixing leaves the optimality conditions to rounding, collinear endmembers or not", {
  set.seed(2)
  E <- matrix(rnorm(200), 20)
  E <- cbind(E, E[, 1], (E[, 2] + E[, 3]) / 2)
  x <- matrix(rnorm(20 * 50), 20) + rowMeans(E)
  a <- unmix(E, x)
  expect_true(all(a >= 0))
  expect_lt(max(abs(colSums(a) - 1)), 1e-12)
  slope <- crossprod(E, E %*% a - x)
  slope <- slope - rep(colSums(slope * a), each = 12)
  expect_gt(min(slope), -1e-6)
  expect_lt(max(abs(slope[a > 1e-6])), 1e-6)
  expect_equal(dim(unmix(E, x[, 0])), c(12L, 0L))
})

test_that("a mixture is recovered, and an endmember unmixes to itself", {
  set.seed(3)
  E <- matrix(rnorm(60), 20)
  a <- matrix(rexp(30), 3)
  a <- a / rep(colSums(a), each = 3)
  expect_equal(unmix(E, E %*% a), a, tolerance = 1e-8)
  expect_equal(unmix(E, E), diag(3), tolerance = 1e-8)
})

e_fumi_problem <- function(n_target, ...) {
  set.seed(4)
  b <- fumi_bags()
  spec <- e_fumi(b, n_target = n_target, max_iter = 1, ...)$spec
  data <- e_fumi_data(b, spec)
  list(spec = spec, data = data, state = e_fumi_start(data, c(.1, .5, .9), spec))
}

# J with everything given, term by term and instance by instance.
slow_objective <- function(E, A, p, gamma, data, spec) {
  T <- seq_len(spec$n_target)
  J <- 0
  for (i in seq_len(ncol(A))) {
    w <- if (data$positive[i]) spec$alpha * sum(!data$positive) / sum(data$positive) else 1
    r0 <- sum((data$x[, i] - E[, -T] %*% A[-T, i])^2)
    r1 <- sum((data$x[, i] - E %*% A[, i])^2)
    J <- J + .5 * (1 - spec$u) * w * ((1 - p[i]) * r0 + p[i] * r1) + sum(gamma * A[, i])
  }
  J + .5 * spec$u * sum((E - rowMeans(data$x))^2)
}

test_that("the objective is what its formula says, and both updates are its minimisers", {
  for (n_target in 1:2) {
    o <- e_fumi_problem(n_target, gamma = 2)
    state <- e_fumi_step(e_fumi_step(o$state, o$data, o$spec), o$data, o$spec)
    J <- function(E = state$endmembers,
                  A = state$codes) slow_objective(E, A, state$p, state$gamma, o$data, o$spec)
    expect_equal(unname(state$path[2, "objective"]), J())
    set.seed(5)
    for (i in 1:10) {
      E <- state$endmembers + 1e-3 * rnorm(length(state$endmembers))
      expect_gt(J(E), J())
    }
    # the proportions of this step belong to the endmembers before it
    before <- e_fumi_step(o$state, o$data, o$spec)
    for (i in 1:10) {
      A <- state$codes
      A[, o$data$positive] <- .99 * A[, o$data$positive] + .01 / nrow(A)
      A[-seq_len(n_target), !o$data$positive] <- .99 * A[-seq_len(n_target),
                                                         !o$data$positive] + .01 / 3
      expect_gte(J(before$endmembers, A), J(before$endmembers))
    }
    expect_lt(J(), J(before$endmembers))
  }
})

test_that("the E-step is that of the residual on the background", {
  o <- e_fumi_problem(1)
  state <- e_fumi_step(o$state, o$data, o$spec)
  r <- colSums((o$data$x - o$state$endmembers[, -1] %*% o$state$codes[-1, ])^2)
  expect_equal(state$p, ifelse(o$data$positive, 1 - exp(-45 * r), 0))
})

test_that("proportions of a fit are on the simplex, without target in negative bags", {
  set.seed(6)
  b <- fumi_bags()
  for (n_target in 1:2) {
    fit <- e_fumi(b, n_target = n_target)
    for (codes in list(fit$codes, t(predict(fit, b, type = "codes")))) {
      expect_true(all(codes >= 0))
      expect_lt(max(abs(colSums(codes) - 1)), 1e-8)
    }
    negative <- as.data.frame(b)$label == "0"
    expect_true(all(fit$codes[seq_len(n_target), negative] == 0))
    expect_true(all(fit$prob_target[negative] == 0))
    expect_equal(dim(coef(fit, "target")), c(n_target, 12L))
    expect_equal(residuals(fit, b), as.matrix(b) - fitted(fit, b))
  }
  expect_equal(fit$spec[c("u", "gamma", "beta")], list(u = .01, gamma = .01, beta = 50))
})

test_that("the target is found among convex mixtures", {
  set.seed(7)
  E <- matrix(runif(4 * 30), 30)
  mix <- function(k, n) {
    a <- matrix(rexp(length(k) * n), length(k))
    E[, k] %*% (a / rep(colSums(a), each = length(k)))
  }
  x <- t(cbind(mix(1:4, 40), mix(2:4, 160))) + rnorm(200 * 30, sd = .005)
  bag <- c(1:40, rep(1:40, 2), rep(41:60, 4))
  fit <- e_fumi(x, bag, rep(1:0, c(40, 20)), normalize = "none", gamma = .01)
  truth <- seq_len(200) <= 40
  expect_gt(as.numeric(pROC::auc(truth, predict(fit, x)$.score, direction = "<", quiet = TRUE)),
            .95)
  expect_gt(cor(drop(coef(fit, "target")), E[, 1]), .95)
  # the proportion of target tells the same
  expect_gt(cor(predict(fit, x, type = "codes")[truth, 1], predict(fit, x)$.score[truth],
                method = "spearman"), .5)
})

test_that("scores are log ratios of residuals, slopes where no target helps, and never tied", {
  set.seed(8)
  b <- fumi_bags()
  fit <- e_fumi(b, gamma = .1)
  s <- predict(fit, b)$.score
  x <- t(as.matrix(b) / sqrt(rowSums(as.matrix(b)^2)))
  E <- fit$dictionary
  residual <- function(E) colSums((x - E %*% unmix(E, x))^2)
  ratio <- log(residual(E[, -1]) / residual(E))
  held <- predict(fit, b, type = "codes")[, 1] > 1e-9
  expect_true(any(held) && !all(held))
  expect_equal(s[held], unname(ratio[held]))
  expect_true(all(s[!held] <= 0))
  expect_equal(anyDuplicated(s), 0L)
  # the slope is that of log r as target takes the place of background
  i <- which(!held)[1]
  a <- unmix(E[, -1, drop = FALSE], x[, i, drop = FALSE])
  log_r <- function(h) log(sum((x[, i] - h * E[, 1] - (1 - h) * E[, -1] %*% a)^2))
  expect_equal(s[i], -(log_r(1e-6) - log_r(0)) / 1e-6, tolerance = 1e-4)
})

test_that("a background endmember that is not used is dropped, but never the last", {
  o <- e_fumi_problem(1)
  state <- o$state
  state$codes[2, ] <- 5e-4
  less <- drop_unused(state, list(n_target = 1, prune = 1e-3))
  expect_equal(less$endmembers, state$endmembers[, -2])
  expect_equal(dim(less$codes), dim(state$codes) - c(1L, 0L))
  expect_equal(less$gram, crossprod(less$endmembers))
  expect_equal(less$cross, crossprod(less$endmembers, o$data$x))
  state$codes[2:4, ] <- c(1e-5, 1e-4, 1e-6)
  expect_equal(drop_unused(state, list(n_target = 1, prune = 1e-3))$endmembers,
               state$endmembers[, c(1, 3)])
  set.seed(9)
  fit <- e_fumi(fumi_bags(), n_background = 8, gamma = 20, prune = .3)
  expect_equal(fit$n_background + fit$n_dropped, 8)
  expect_gt(fit$n_dropped, 0)
  expect_equal(dim(fit$codes)[1], fit$n_background + 1)
})

test_that("it says so when `beta` does not suit the data, and checks its parameters", {
  set.seed(10)
  b <- fumi_bags()
  expect_warning(e_fumi(b, beta = 1e-15), class = "fumi_warning_beta")
  expect_error(e_fumi(b, n_background = 51), class = "fumi_error_input")
  for (bad in list(list(u = 1), list(u = -1), list(alpha = 0), list(gamma = -1), list(beta = 0),
                   list(tol = -1),
                   list(prune = 0), list(n_target = 0), list(n_start = 0), list(max_iter = 0)))
    expect_error(do.call(e_fumi, c(list(b), bad)), class = "fumi_error_input")
  same <- matrix(1:3 / 4, 40, 3, byrow = TRUE) * rep(1 + (seq_len(40) <= 20), 3)
  expect_error(e_fumi(same, rep(1:8, each = 5), rep(1:0, each = 4), normalize = "none"),
               "distinct instances")
})

test_that("several starts are kept by their objective", {
  set.seed(11)
  b <- fumi_bags()
  fit <- e_fumi(b, n_start = 3)
  path <- loss_path(fit)
  last <- tapply(path$objective, path$start, function(o) o[length(o)])
  expect_equal(fit$objective$objective[fit$n_iter], min(last))
  expect_equal(update(fit, b, max_iter = 3, n_start = 1)$n_iter, 3)
})

test_that("an interrupt keeps the last whole iteration", {
  o <- e_fumi_problem(1)
  fit <- e_fumi_run(o$state, o$data, replace(o$spec, "max_iter", 9L), function(it, objective)
    if (it == 3) rlang::interrupt())
  expect_equal(fit[c("n_iter", "stop_reason")], list(n_iter = 3L, stop_reason = "interrupt"))
  whole <- e_fumi_run(o$state, o$data, replace(o$spec, "max_iter", 3L), NULL)
  expect_equal(fit$endmembers, whole$endmembers)
})
