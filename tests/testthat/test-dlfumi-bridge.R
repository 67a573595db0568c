test_that("a fit reports unused atoms, and drops them when told to", {
  set.seed(13)
  b <- sim_bags(n_bags = 12, n_features = 10)
  start <- list(dictionary = cbind(diag(10)[, 1:3], diag(10)[, 4:6]), codes = matrix(0, 6, 96))
  start$codes[c(1, 4, 5), ] <- 1
  fit <- function(dead) dlfumi(b, n_target = 3, n_background = 3, init = start, lambda = .2,
                               control = dlfumi_control(dead = dead, max_iter = 5))
  for (dead in c("resample", "keep")) {
    f <- fit(dead)
    expect_gt(sum(f$n_dead), 0)
    expect_true(all(is.finite(f$dictionary)) && all(is.finite(f$objective$objective)))
    expect_equal(dim(f$dictionary), c(10, 6))
  }
  dropped <- fit("drop")
  expect_gt(dropped$n_dropped, 0)
  expect_gte(dropped$n_target, 1)
  expect_gte(dropped$n_background, 1)
  expect_equal(ncol(dropped$dictionary), 6 - dropped$n_dropped)
  expect_equal(unname(colSums(dropped$dictionary^2)), rep(1, ncol(dropped$dictionary)))
  expect_output(print(dropped), "dropped")
  expect_true(all(is.finite(predict(dropped, b)$.score)))
})

test_that("atoms come in a canonical order and sign unless a start was given", {
  b <- easy()
  set.seed(17)
  fit <- dlfumi(b, n_target = 2, n_background = 3)
  p <- fit$prob_target
  energy <- c(rowSums(fit$codes[1:2, ]^2 * rep(p, each = 2)), rowSums(fit$codes[3:5, ]^2))
  expect_false(is.unsorted(-energy[1:2]))
  expect_false(is.unsorted(-energy[3:5]))
  expect_true(all(rowSums(fit$codes[3:5, ]) >= 0))
  expect_true(all(fit$codes[1:2, ] %*% p >= 0))
  flipped <- list(dictionary = -fit$dictionary[, c(2, 1, 5, 4, 3)])
  again <- dlfumi(b, n_target = 2, n_background = 3, init = flipped,
                  control = dlfumi_control(max_iter = 1))
  expect_gt(min(abs(colSums(unname(again$dictionary) * unname(flipped$dictionary)))), .9)
  expect_true(all(colSums(unname(again$dictionary) * unname(flipped$dictionary)) > 0))
  exact <- dlfumi(b, n_target = 2, n_background = 3, init = flipped,
                  control = dlfumi_control("exact", max_iter = 1))
  expect_true(all(rowSums(exact$codes[3:5, ]) >= 0))
})

test_that("restarts keep all traces; the best objective wins, or scores are averaged", {
  b <- easy()
  fit <- function(combine) {
    set.seed(18)
    dlfumi(b, n_target = 2, n_background = 3, n_start = 3, combine = combine,
           control = dlfumi_control(max_iter = 15))
  }
  best <- fit("best")
  last <- vapply(best$starts, function(s) s$objective[nrow(s)], 0)
  expect_length(best$starts, 3)
  expect_equal(best$objective$objective[best$n_iter], min(last))
  expect_equal(unique(loss_path(best)$start), 1:3)

  average <- fit("average")
  expect_length(average$members, 3)
  negative <- as.matrix(b[!b$label])
  by_hand <- lapply(average$members, function(m) {
    one <- best
    one$dictionary <- m$dictionary
    one$n_target <- m$n_target
    z <- log(predict(one, negative)$.score)
    (log(predict(one, as.matrix(b))$.score) - mean(z)) / sd(z)
  })
  expect_equal(predict(average, b)$.score, Reduce(`+`, by_hand) / 3)
})

test_that("stopping is reported as it happened", {
  b <- easy()
  set.seed(19)
  short <- dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control(max_iter = 2))
  expect_identical(short$stop_reason, "max_iter")
  expect_false(short$converged)
  expect_equal(short$n_iter, 2)
  loose <- dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control(tol = .5))
  expect_identical(loose$stop_reason, "converged")
  expect_true(loose$converged)
  path <- loss_path(loose)
  expect_equal(path$objective, path$reconstruction + path$sparsity + path$incoherence)
  first <- path$objective[1]
  expect_lt(abs(diff(tail(path$objective, 2))), .5 * first)
})

test_that("a beta that saturates the E-step is named, with one that would not", {
  b <- easy()
  set.seed(20)
  for (beta in c(1e-16, 1e8)) {
    w <- expect_warning(dlfumi(b, n_target = 1, n_background = 3, beta = beta),
                        class = "fumi_warning_beta")
    expect_match(conditionMessage(w), "try `beta` = ")
    better <- as.numeric(sub(".*try `beta` = ([0-9.e+-]+?)\\.$", "\\1", conditionMessage(w),
                             perl = TRUE))
    expect_no_warning(dlfumi(b, n_target = 1, n_background = 3, beta = better))
  }
})

test_that("a fit that diverges stops with the iteration and the likely cause", {
  b <- easy()
  b$x <- b$x * 1e155
  expect_error(dlfumi(b, n_target = 1, n_background = 3, normalize = "none"),
               class = "fumi_error_scale")
  set.seed(23)
  e <- expect_error(dlfumi(easy(), n_target = 3, n_background = 6, gamma = 1.7e308),
                    class = "fumi_error_diverged")
  expect_match(conditionMessage(e), "iteration [0-9]+: ")
})

test_that("codes that are all 0 and codes that are not exact are told", {
  b <- easy()
  expect_warning(dlfumi(b, n_target = 1, n_background = 2, lambda = 10),
                 class = "fumi_warning_lambda")
  wide <- sim_bags(n_bags = 6, bag_size = 3, n_features = 3)
  expect_warning(dlfumi(wide, n_target = 4, n_background = 8, lambda = 1e-5,
                        control = dlfumi_control("exact", max_iter = 3, gap = 1e-14)),
                        class = "fumi_warning_gap")
})

test_that("a fit that ends at `max_iter` before it settled says so, once, and print() always", {
  again <- function() rlang::reset_warning_verbosity("fumi_max_iter")
  on.exit({
    again()
    suppressWarnings(warn_fumi("", class = "max_iter", once = "fumi_max_iter"))
  })
  b <- easy()
  fit <- function(...) {
    set.seed(3)
    dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control(...))
  }
  again()
  expect_warning(short <- fit(max_iter = 5),
                 "`max_iter` = 5 .* changed by [0-9.]+ % over the last 4 iterations",
                 class = "fumi_warning_max_iter")
  expect_identical(short$stop_reason, "max_iter")
  path <- short$objective$objective
  expect_equal(still_moves(short), abs(path[5] - path[1]) / path[5])
  expect_output(print(short), "at `max_iter`; the objective still changed by")
  expect_no_warning(fit(max_iter = 6), class = "fumi_warning_max_iter") # it was said
  again()
  expect_no_warning(settled <- fit("exact", max_iter = 500), class = "fumi_warning_max_iter")
  expect_true(settled$converged)
  expect_output(print(settled), "the objective settled")
  # as many as asked for
  expect_no_warning(fit(max_iter = 5, tol = 0), class = "fumi_warning_max_iter")
  expect_no_warning(fit("exact", batch = 20), class = "fumi_warning_max_iter")
  expect_no_warning(one <- fit(max_iter = 1), class = "fumi_warning_max_iter")
  expect_output(print(one), "at `max_iter`\n", fixed = TRUE)
})

test_that("an interrupt after the last iteration leaves a usable fit", {
  b <- easy()
  fit <- dlfumi(b, n_target = 1, n_background = 3, control = dlfumi_control(max_iter = 3))
  broken <- structure(list(message = "", call = NULL), class = c("interrupt", "condition"))
  late <- function(...) stop(broken)
  environment(add_members) <- list2env(list(new_member = late), parent = environment(add_members))
  expect_warning(late_fit <- add_members(replace(fit, "combine", "average"), list(1), b, NULL),
                 class = "fumi_warning_interrupt")
  expect_identical(late_fit$stop_reason, "interrupt")
  environment(calibrate_fit) <- list2env(list(given_scores = late),
                                         parent = environment(calibrate_fit))
  expect_warning(late_fit <- calibrate_fit(late_fit, b, "auto", late, 0),
                 class = "fumi_warning_interrupt")
  expect_identical(predict(late_fit, b), predict(fit, b))
  expect_error(predict(late_fit, b, type = "class"), class = "fumi_error_no_threshold")
  expect_s3_class(predict(late_fit, b, type = "class", threshold = 2)$.pred_class, "factor")
  expect_output(print(late_fit), "interrupted")
  drawn(plot(late_fit, "bag", new_data = b, bag = 1))
})

test_that("an interrupt while progress is drawn ends the fit at that iteration", {
  b <- easy()
  set.seed(24)
  sizes <- list(n_target = 1, n_background = 3, n_start = 1, normalize = "unit")
  start <- dlfumi_starts(b, instance_scale(b$x, "unit"), sizes, "paper")[[1]]
  spec <- list(n_target = 1, lambda = .01, beta = 30, gamma = 0, psi = 1, normalize = "unit")
  for (variant in c("paper", "matlab", "exact")) {
    run <- function(n, report) dlfumi_run(
      b, instance_scale(b$x, "unit"), start,
      c(spec, list(control = dlfumi_control(variant, max_iter = n, tol = 0))), report, NULL)
    stopped <- run(30, function(it, objective) if (it == 5) rlang::interrupt())
    whole <- run(5, NULL)
    expect_identical(stopped$stop_reason, "interrupt")
    same <- setdiff(names(whole), "stop_reason")
    expect_identical(stopped[same], whole[same])
  }
})
