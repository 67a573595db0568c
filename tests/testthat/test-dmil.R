# J as it is printed, instance by instance, for given atoms and codes.
ref_dmil <- function(x, bag, positive, d, codes, pool, exponent, beta) {
  p <- exp(-beta * colSums((x - d %*% codes)^2))
  by_bag <- split(p, bag)
  bag_loss <- function(j) {
    q <- by_bag[[j]]
    if (!positive[j]) return(-sum(log(1 - q)))
    -log(if (pool == "gmean") mean(q^exponent)^(1 / exponent) else 1 - prod(1 - q))
  }
  sum(vapply(seq_along(by_bag), bag_loss, 0))
}

central <- function(f, at, h = 1e-6) {
  vapply(seq_along(at), function(m) {
    step <- replace(numeric(length(at)), m, h)
    (f(at + step) - f(at - step)) / (2 * h)
  }, 0)
}

dmil_spec <- function(...) {
  spec <- list(n_atoms = 3L, pool = "noisy-or", exponent = 5, beta = 1, lambda = .05, kernel = NULL,
               kpar = list(), swap = FALSE, max_iter = 8L, tol = 1e-5, n_start = 1L,
               combine = "best", normalize = "unit")
  spec[names(list(...))] <- list(...)
  spec
}

small_bags <- function(seed = 1, n_bags = 8, bag_size = 3, ...) {
  set.seed(seed)
  sim_bags(n_bags = n_bags, bag_size = bag_size, n_features = 7, ...)
}

# A start and its codes, as the core sees them.
dmil_case <- function(b, spec, start = NULL) {
  data <- dmil_data(b, spec)
  set.seed(3)
  if (is.null(start)) start <- dmil_start(b, data, spec, runif(spec$n_atoms), rlang::current_env())
  codes <- .Call(ffi_dmil_code, data$x, data$scale, start, NULL, NULL, spec$lambda, FALSE)$codes
  list(data = data, start = start, codes = codes, spec = spec,
       x = scaled_columns(b$x, spec$normalize))
}

one_step <- function(case, spec = case$spec) {
  data <- case$data
  .Call(ffi_dmil_step, data$x, data$scale, data$bag, data$positive, case$start, case$codes,
        dmil_par(spec))
}

fit_dmil <- function(b, ...) {
  set.seed(2)
  dmil(b, ..., progress = FALSE)
}

# ---- the objective and its gradient ----------------------------------------------------

test_that("the objective is the printed one, its gradient that of finite differences", {
  pools <- list(list("noisy-or", 5), list("gmean", 1), list("gmean", 5), list("gmean", 40))
  for (bag_size in c(1, 3))
    for (pool in pools) for (beta in c(.3, 1, 6)) for (swap in c(FALSE, TRUE)) {
    spec <- dmil_spec(pool = pool[[1]], exponent = pool[[2]], beta = beta, swap = swap)
    case <- dmil_case(small_bags(n_bags = 12, bag_size = bag_size), spec)
    loss <- function(d) ref_dmil(case$x, case$data$bag, case$data$positive,
                                 matrix(d, nrow(case$x)), case$codes,
                                 spec$pool, spec$exponent, spec$beta)
    got <- one_step(case)
    expect_equal(got$objective[1], loss(case$start), tolerance = 1e-10)
    expect_lt(relative_difference(c(got$gradient), central(loss, c(case$start))), 1e-6)
  }
})

test_that("with a kernel, objective and gradient are those of atoms Phi(X) B", {
  b <- small_bags()
  spec <- dmil_spec(kernel = "rbf", kpar = list(sigma = .5), beta = 2)
  gram <- kernlab::kernelMatrix(kernlab::rbfdot(.5), t(scaled_columns(b$x, "unit")))@.Data
  label <- dmil_data(b, spec)$positive
  for (pool in c("noisy-or", "gmean")) {
    spec$pool <- pool
    case <- dmil_case(b, spec)
    a <- case$codes
    coefficients <- solve(gram, crossprod(case$data$x, case$start))
    loss <- function(coefficients) {
      p <- exp(-2 * (diag(gram) - 2 * colSums(a * crossprod(coefficients, gram)) +
                       colSums(a * (crossprod(coefficients, gram %*% coefficients) %*% a))))
      positive <- split(p, case$data$bag)[label]
      sum(-log(vapply(positive,
                      if (pool == "gmean") function(q) mean(q^5)^.2
                      else function(q) 1 - prod(1 - q), 0))) -
        sum(log(1 - p[!label[case$data$bag + 1]]))
    }
    got <- one_step(case)
    expect_equal(got$objective[1], loss(coefficients), tolerance = 1e-8)
    by_coefficient <- central(function(v) loss(matrix(v, nrow(gram))), c(coefficients), 1e-5)
    expect_lt(relative_difference(c(crossprod(case$data$x, got$gradient)), by_coefficient), 1e-6)
  }
})

test_that("with one instance per bag, noisy-or is the generalised mean of any exponent", {
  case <- dmil_case(small_bags(n_bags = 20, bag_size = 1), dmil_spec())
  noisy_or <- one_step(case)
  for (exponent in c(.5, 1, 5, 200))
    expect_equal(one_step(case, dmil_spec(pool = "gmean", exponent = exponent)), noisy_or,
                 tolerance = 1e-9)
})

test_that("a case done by hand", {
  # x1 = d: code 1 - lambda, e = lambda^2; x2 at right angles: code 0, e = 1
  x <- diag(2)
  got <- .Call(ffi_dmil_code, x, c(1, 1), x[, 1, drop = FALSE], NULL, NULL, .2, FALSE)
  expect_equal(got$codes, cbind(.8, 0))
  expect_equal(got$e, c(.04, 1))
  step <- .Call(ffi_dmil_step, x, c(1, 1), 0:1, c(TRUE, FALSE), x[, 1, drop = FALSE], got$codes,
                dmil_par(dmil_spec(beta = 3)))
  expect_equal(step$objective[1], 3 * .04 - log(1 - exp(-3)))
  expect_equal(step$gradient, cbind(c(-2 * 3 * .8 * .2, 0))) # omega = 1, r = (lambda, 0)
  expect_equal(step$dictionary, x[, 1, drop = FALSE])        # no slope on the sphere
})

test_that("instances that are far from all atoms do not underflow", {
  case <- dmil_case(small_bags(), dmil_spec())
  e <- colSums((case$x - case$start %*% case$codes)^2)
  member <- split(seq_along(e), case$data$bag)[case$data$positive]
  for (beta in c(1e4, 1e6)) for (pool in c("noisy-or", "gmean")) {
    got <- one_step(case, dmil_spec(beta = beta, pool = pool))
    r <- if (pool == "gmean") 5 else 1 # 1 - prod(1 - p) = sum(p) where all p are tiny
    lse <- function(s) max(s) + log(sum(exp(s - max(s))))
    loss <- vapply(member, function(i) -(lse(-r * beta * e[i]) - (pool == "gmean") * log(length(i))) / r, 0)
    expect_equal(got$objective[1], sum(loss), tolerance = 1e-10)
    expect_true(all(is.finite(got$gradient)) && any(got$gradient != 0))
  }
  # both forms agree where one hands over to the other: E = 36
  x <- cbind(c(1, 0), c(0, 1), c(0, 1))
  value <- function(beta) .Call(ffi_dmil_step, x, c(1, 1, 1), c(0L, 0L, 1L), c(TRUE, FALSE),
                                cbind(c(1, 0)),
                                cbind(0, 0, 0), dmil_par(dmil_spec(beta = beta)))$objective[1]
  expect_equal(value(36 - 1e-9), value(36 + 1e-9), tolerance = 1e-9)
})

test_that("a negative instance that an atom equals pushes, but not without bound", {
  x <- cbind(c(1, 0), c(1, 0) + c(0, 1e-9))
  got <- .Call(ffi_dmil_step, x, c(1, 1), 0:1, c(TRUE, FALSE), x[, 1, drop = FALSE], cbind(1, 1),
               dmil_par(dmil_spec()))
  expect_true(all(is.finite(got$objective)) && all(is.finite(got$gradient)))
  expect_lte(max(abs(got$gradient)), 2 * 1e6 * 1e-9 + 1e-9)
})

# ---- atoms and codes -------------------------------------------------------------------

test_that("J never rises while the codes are fixed, and the residuals that are kept are true", {
  for (seed in 1:5) for (pool in c("noisy-or", "gmean")) for (beta in c(1, 10)) {
    case <- dmil_case(small_bags(seed), dmil_spec(pool = pool, beta = beta))
    got <- one_step(case)
    expect_true(all(diff(got$objective) <= 0))
    expect_lt(got$objective[4], got$objective[1])
    expect_equal(colSums(got$dictionary^2), rep(1, 3), tolerance = 1e-12)
    case$start <- got$dictionary
    expect_equal(one_step(case)$objective[1], got$objective[4], tolerance = 1e-9)
  }
  path <- fit_dmil(small_bags(), n_atoms = 3)$objective
  expect_true(all(path$fixed_codes[-1] <= path$objective[-nrow(path)]))
})

test_that("the best dictionary met is kept", {
  for (seed in 1:3) {
    spec <- dmil_spec(tol = 0, max_iter = 15L)
    case <- dmil_case(small_bags(seed), spec)
    fit <- dmil_run(case$data, case$start, spec)
    expect_gt(max(diff(fit$objective$objective)), 0) # it did rise, so that there is a best to keep
    best <- one_step(dmil_case(small_bags(seed), spec, fit$dictionary))$objective[1]
    expect_equal(best, min(fit$objective$objective), tolerance = 1e-10)
  }
})

test_that("codes are those of the shared coder, errors those of the residual", {
  case <- dmil_case(small_bags(n_bags = 20), dmil_spec(n_atoms = 5L))
  shared <- .Call(ffi_code, case$data$x, case$data$scale, case$start, code_par(.05))$codes
  expect_equal(case$codes, shared, tolerance = 1e-10)
  e <- .Call(ffi_dmil_code, case$data$x, case$data$scale, case$start, NULL, NULL, .05, FALSE)$e
  expect_equal(e, colSums((case$x - case$start %*% shared)^2), tolerance = 1e-12)
})

test_that("an atom without use becomes the instance of a positive bag with the largest p e", {
  b <- small_bags()
  spec <- dmil_spec(max_iter = 1L, n_atoms = 2L, lambda = .4)
  data <- dmil_data(b, spec)
  x <- scaled_columns(b$x, "unit")
  start <- cbind(x[, 1], 0)
  fit <- dmil_run(data, start, spec)
  e <- .Call(ffi_dmil_code, data$x, data$scale, start, NULL, NULL, spec$lambda, FALSE)$e
  value <- ifelse(data$positive[b$bag], e * exp(-e), -1)
  replaced <- dmil_case(b, spec, cbind(x[, 1], x[, which.max(value)]))
  expect_true(any(fit$n_dead > 0))
  expect_equal(fit$objective$objective[1], one_step(replaced)$objective[1], tolerance = 1e-10)
  expect_equal(colSums(fit$dictionary^2), c(1, 1), tolerance = 1e-12)
})

test_that("the order of bags and of instances changes nothing but rounding", {
  b <- small_bags(n_bags = 12)
  d <- as.data.frame(b)
  x <- as.matrix(b)
  set.seed(4)
  shuffle <- sample(nrow(x))
  other <- bags(x[shuffle, ], d$bag[shuffle], d$label[shuffle])
  for (pool in c("noisy-or", "gmean")) {
    spec <- dmil_spec(pool = pool)
    case <- dmil_case(b, spec)
    one <- dmil_run(case$data, case$start, spec)
    two <- dmil_run(dmil_data(other, spec), case$start, spec)
    expect_lt(max(abs(one$dictionary - two$dictionary)), 1e-8)
    expect_equal(one$objective, two$objective, tolerance = 1e-8)
  }
})

# ---- kernels -----------------------------------------------------------------------------

test_that("the linear kernel gives the plain version", {
  b <- small_bags(n_bags = 12)
  for (pool in c("noisy-or", "gmean")) for (swap in c(FALSE, TRUE)) {
    plain <- fit_dmil(b, n_atoms = 3, pool = pool, swap = swap, max_iter = 10)
    kernel <- fit_dmil(b, n_atoms = 3, pool = pool, swap = swap, max_iter = 10, kernel = "linear")
    expect_equal(kernel$objective, plain$objective, tolerance = 1e-7)
    expect_equal(kernel$support %*% kernel$coefficients, plain$dictionary, tolerance = 1e-6,
                 ignore_attr = TRUE)
    expect_equal(dim(kernel$support), c(7L, 7L)) # seven instances span the features
    new <- matrix(rnorm(35), 5)
    for (type in c("score", "prob", "codes"))
      expect_equal(predict(kernel, new, type), predict(plain, new, type), tolerance = 1e-6)
  }
})

test_that("a kernel is an object of kernlab or a name with parameters, and finds the targets", {
  b <- contract_bags()
  named <- fit_dmil(b, kernel = "rbf", kpar = list(sigma = .5))
  expect_identical(fit_dmil(b, kernel = kernlab::rbfdot(.5)), named)
  expect_gt(as.numeric(pROC::auc(mil_roc(named, b))), .95)
  expect_equal(diag(named$gram), rep(1, 4), tolerance = 1e-10)
  own <- structure(function(x, y = NULL) exp(-.5 * sum((x - y)^2)), class = "kernel")
  expect_equal(predict(fit_dmil(small_bags(), n_atoms = 2, kernel = own, max_iter = 3),
                       small_bags()),
               predict(fit_dmil(small_bags(), n_atoms = 2, kernel = kernlab::rbfdot(.5),
                                max_iter = 3), small_bags()),
               tolerance = 1e-8)
  expect_output(print(named), "rbf")
  expect_error(coef(named), class = "fumi_error_no_meaning")
  expect_error(plot(named), class = "fumi_error_no_meaning")
  expect_equal(update(named, b, kernel = NULL, max_iter = 2)$spec$kernel, NULL)
  expect_error(predict(named, b, "reconstruction"), "`type`", class = "fumi_error_no_meaning")
  nothing <- structure(function(x, y = NULL) 0, class = "kernel")
  expect_error(fit_dmil(b, kernel = nothing), "`kernel`", class = "fumi_error_scale")
  expect_error(fit_dmil(b, kernel = "stringdot"), "`kernel`", class = "fumi_error_input")
  x <- as.matrix(b) / sqrt(rowSums(as.matrix(b)^2))
  expect_equal(fit_dmil(b, kernel = "rbf", max_iter = 1)$kernel$kpar$sigma, 1 / median(dist(x)^2),
               tolerance = 1e-6)
})

# ---- the model ---------------------------------------------------------------------------

test_that("scores and probabilities come from the error of the code on the atoms", {
  b <- contract_bags()
  fit <- fit_dmil(b, beta = 2, lambda = .1, max_iter = 5)
  x <- as.matrix(b)
  x <- x / sqrt(rowSums(x^2))
  e <- rowSums((x - predict(fit, b, type = "codes") %*% coef(fit))^2)
  expect_equal(predict(fit, b)$.score, -e, tolerance = 1e-10)
  curves <- probability_curves(fit)
  expect_equal(curve_probability(curves$instance, -e), exp(-2 * e), tolerance = 1e-10)
  by_bag <- split(exp(-2 * e), factor(fit$bag, unique(fit$bag)))
  expect_equal(curve_probability(curves$bag, predict(fit, b, level = "bag")$.score),
               vapply(by_bag, function(p) 1 - prod(1 - p), 0), tolerance = 1e-8, ignore_attr = TRUE)
  # the generalised mean of the same probabilities
  fit$spec[c("pool", "exponent")] <- list("gmean", 3)
  expect_equal(curve_probability(probability_curves(fit)$bag,
                                 predict(fit, b, level = "bag")$.score),
               vapply(by_bag, function(p) mean(p^3)^(1 / 3), 0), tolerance = 1e-8,
               ignore_attr = TRUE)
  expect_equal(dim(coef(fit)), c(4L, 15L))
  expect_identical(rownames(coef(fit)), paste0("atom", 1:4))
  energy <- colSums(predict(fit, b, type = "codes")[as.data.frame(b)$label == 1, ]^2)
  expect_false(is.unsorted(rev(energy)))
  expect_equal(residuals(fit, b), as.matrix(b) - fitted(fit, b))
  expect_length(sub_ace(b, fit), ncol(b$x)) # its atoms are target atoms
})

test_that("swapped labels give the atoms of the other bags, and scores keep their direction", {
  b <- small_bags(n_bags = 12)
  d <- as.data.frame(b)
  swapped <- fit_dmil(b, n_atoms = 3, swap = TRUE)
  same <- dmil_case(b, dmil_spec(swap = TRUE))
  other <- dmil_data(bags(as.matrix(b), d$bag, 1 - as.numeric(as.character(d$label))), dmil_spec())
  expect_equal(dmil_run(same$data, same$start, dmil_spec(swap = TRUE))$dictionary,
               dmil_run(other, same$start, dmil_spec())$dictionary, tolerance = 1e-7)
  score <- predict(swapped, b)$.score
  expect_true(all(score >= 0))
  expect_identical(predict(swapped, b, level = "bag")$.score, unname(pool_bags(score, d$bag)))
  expect_null(probability_curves(swapped))
  expect_output(print(swapped), "swapped")
})

test_that("several starts: the lowest objective is kept, or the scores averaged", {
  b <- small_bags(n_bags = 12)
  best <- fit_dmil(b, n_atoms = 3, n_start = 3, max_iter = 4)
  lowest <- vapply(best$starts, function(s) min(s$objective), 0)
  expect_length(unique(lowest), 3)
  expect_equal(min(best$objective$objective), min(lowest))
  expect_equal(unique(loss_path(best)$start), 1:3)

  average <- fit_dmil(b, n_atoms = 3, n_start = 3, max_iter = 4, combine = "average")
  negative <- as.data.frame(b)$label == 0
  standard <- lapply(average$members, function(m) {
    one <- best
    one$dictionary[] <- m$dictionary
    s <- predict(one, b)$.score
    (s - mean(s[negative])) / sd(s[negative])
  })
  expect_equal(predict(average, b)$.score, Reduce(`+`, standard) / 3, tolerance = 1e-10)
  expect_true(all(is.finite(predict(average, b, type = "prob")$.pred_1)))
  expect_identical(predict(average, b, level = "bag"),
                   predict(average, b, level = "bag", pool = "max"))
})

test_that("an instance of zeros is like no atom", {
  b <- small_bags()
  fit <- fit_dmil(b, n_atoms = 2, max_iter = 3)
  expect_equal(predict(fit, matrix(0, 1, 7))$.score, -1)
  d <- as.data.frame(b)
  with_zeros <- fit_dmil(as.matrix(b) * (seq_len(24) %% 5 > 0), d$bag, d$label, n_atoms = 2)
  expect_true(all(is.finite(predict(with_zeros, b)$.score)))
})

test_that("instances as they are, whatever their size", {
  b <- contract_bags()
  d <- as.data.frame(b)
  for (size in c(1e-3, 1e3)) {
    fit <- fit_dmil(as.matrix(b) * size, d$bag, d$label, normalize = "none", max_iter = 5)
    expect_true(all(is.finite(predict(fit, as.matrix(b) * size)$.score)))
    expect_true(all(is.finite(fit$objective$objective)))
  }
})

test_that("it refuses what it cannot use", {
  b <- small_bags()
  for (bad in list(list(n_atoms = 0), list(beta = 0), list(lambda = -1), list(exponent = 0),
                   list(pool = "max"),
                   list(swap = NA), list(max_iter = 0), list(tol = -1), list(n_start = 0),
                   list(combine = "all"), list(normalize = "max")))
    expect_error(do.call(fit_dmil, c(list(b), bad)), paste0("`", names(bad), "`"),
                 class = "fumi_error_input")
  expect_error(fit_dmil(b, n_atoms = 13), "`n_atoms` must be .* positive bags \\(12\\)",
               class = "fumi_error_input")
  expect_error(fit_dmil(b, n_atoms = 13, swap = TRUE), "negative bags", class = "fumi_error_input")
  expect_error(predict(fit_dmil(b, n_atoms = 2), b, coding = "joint"),
               class = "fumi_error_argument")
})

test_that("atoms are drawn as pictures or curves", {
  page <- function(code) {
    pdf(NULL)
    on.exit(dev.off())
    dev.control("enable")
    code
    names <- vapply(recordPlot()[[1]], function(e) as.character(e[[2]][[1]]$name)[1], "")
    sum(names == "C_raster")
  }
  set.seed(1)
  images <- sim_bags(n_bags = 6, image_dim = c(5, 4))
  fit <- fit_dmil(images, n_atoms = 3, max_iter = 2)
  expect_equal(page(expect_identical(plot(fit), fit)), 3)
  expect_equal(page(plot(fit, "bag", new_data = images)), 8)
  expect_equal(page(plot(fit, "objective")), 0)
  expect_equal(page(plot(fit_dmil(small_bags(), n_atoms = 2, max_iter = 2))), 0)
  expect_error(plot(fit, colour = 1), class = "fumi_error_argument")
})

test_that("faces of 4980 pixels fit in little memory", {
  skip_on_cran()
  set.seed(1)
  x <- matrix(runif(700 * 4980), 700)
  b <- bags(x, rep(1:70, each = 10), rep(1:0, each = 35))
  rm(x)
  used <- gc(reset = TRUE)[, 6]
  fit <- fit_dmil(b, max_iter = 3, calibrate = 0)
  expect_lt(sum(gc()[, 6] - used), 200) # MB; the instances themselves are 28
  expect_equal(dim(coef(fit)), c(4L, 4980L))
})

test_that("an interrupt returns the best whole iteration as a usable fit", {
  skip_on_cran()
  skip_on_os("windows")
  res <- interrupted(c(
    "set.seed(1)", "b <- sim_bags(n_bags = 100, bag_size = 20, n_features = 100)"), c(
    "f <- dmil(b, n_start = 3, max_iter = 1e6, tol = 0)",
    "result <- list(f = f, score = predict(f, b)$.score)"))
  expect_identical(res$f$stop_reason, "interrupt")
  expect_true("fumi_warning_interrupt" %in% res$warned)
  expect_length(res$f$starts, 1)
  expect_gt(res$f$n_iter, 0)
  expect_true(all(is.finite(res$score)))
})

test_that("an objective that is not finite ends the fit", {
  b <- small_bags()
  b$x <- b$x * 1e99
  expect_error(fit_dmil(b, normalize = "none", beta = 1e300), "iteration 1",
               class = "fumi_error_diverged")
})
