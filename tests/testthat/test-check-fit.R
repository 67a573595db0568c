checked_bags <- function(...) {
  set.seed(611)
  sim_bags(n_bags = 20, bag_size = 5, n_features = 20, ...)
}

small_fit <- function(b, ...) {
  set.seed(612)
  suppressWarnings(dlfumi(b, ..., calibrate = 0))
}

# The names of the checks that object, but that of `calibrate = 0`.
objections <- function(...) setdiff(check_fit(...)$check, "calibrated in-sample")

test_that("a good fit has no objections, of any method", {
  b <- contract_bags()
  for (name in c("dlfumi", "mi_svm", "sil", "miles", "mi_ace", "em_dd")) {
    fit <- seeded(mil_methods[[name]], b)
    expect_identical(setdiff(check_fit(fit, b)$check, "not settled"), character(), info = name)
    expect_false(any(grepl("problems:", capture.output(print(fit)))))
  }
  b <- checked_bags()
  fit <- small_fit(b, n_target = 1, n_background = 4, noise = "background")
  expect_identical(objections(fit, b), character())
  expect_output(print(as_fit_check(NULL)), "Nothing wrong")
})

test_that("spectra that differ little in direction are not passed over in silence", {
  skip_if_not_installed("pls")
  data <- new.env()
  utils::data("gasoline", package = "pls", envir = data)
  x <- unclass(data$gasoline$NIR)
  high <- data$gasoline$octane > stats::quantile(data$gasoline$octane, 0.8)
  row <- c(rbind(which(high)[1:10], which(!high)[1:10]), which(!high)[11:46])
  b <- bags(matrix(x[row, ], length(row)), c(rep(1:10, each = 2), rep(11:22, each = 3)),
            rep(1:0, c(10, 12)))
  fit <- small_fit(b)
  expect_output(print(fit), "problems: +target atoms equal background atoms")
  found <- check_fit(fit, b)
  expect_true(all(c("target atoms equal background atoms", "instances have one direction") %in%
                    found$check))
  expect_output(print(found), "Try `noise = \"background\"`")
})

test_that("each objection is raised where it is true, and only there", {
  b <- checked_bags()
  small <- function(...) small_fit(b, n_target = 1, n_background = 3, ...)
  fit <- small()
  expect_identical(objections(fit), character())
  expect_identical(objections(small(lambda = 5)), "every code is 0")
  expect_identical(objections(small(max_iter = 2)), "not settled")
  expect_identical(objections(small(beta = 1e-5)), "no instance is taken for a target")
  expect_identical(objections(small(beta = 1e7)), "all instances are taken for targets")
  expect_identical(objections(small_fit(b[c(1:3, 11:20)], n_target = 1, n_background = 3)),
                   "few bags")

  fit$codes[2:3, ] <- 0
  expect_identical(objections(fit), "unused background atoms")
  expect_match(check_fit(fit)$advice[1], "n_background = 1", fixed = TRUE)
  fit <- small()
  fit$dictionary[, 3] <- fit$dictionary[, 1]
  expect_identical(objections(fit), "target atoms equal background atoms")
  fit <- small()
  fit$prob_target[fit$prob_target > 0] <- rep_len(c(1e-9, 1), sum(fit$prob_target > 0))
  expect_identical(objections(fit), "saturated weights")
  fit$stop_reason <- "interrupt"
  expect_setequal(objections(fit), c("saturated weights", "interrupted"))
  expect_identical(setdiff(check_fit(small())$check, objections(small())), "calibrated in-sample")
  expect_match(check_fit(small(max_iter = 2))$finding[1], "over the last iteration.", fixed = TRUE)
})

test_that("what is said of the calibration can be followed", {
  b <- checked_bags()
  advice <- function(fit) with(check_fit(fit), advice[check == "calibrated in-sample"])
  expect_match(advice(sil(b, calibrate = 0)), "`calibrate = 5`", fixed = TRUE)
  expect_no_match(advice(sil(b[c(1:3, 11:20)])), "`calibrate = 5`", fixed = TRUE)
  fit <- sil(b)
  expect_false("folds differ" %in% check_fit(fit)$check)
  wrong <- fit
  wrong$model$weights <- -fit$model$weights
  differs <- mil_calibrate(fit, b, refit = function(b) wrong)
  expect_match(differs$calibration$why, "differ")
  expect_true("folds differ" %in% check_fit(differs)$check)
})

test_that("the beta that is proposed gives the median weight one half", {
  b <- checked_bags()
  proposal <- function(fit) as.numeric(sub("`beta = (.*)`", "\\1", check_fit(fit)$advice[1]))
  far <- small_fit(b, n_target = 1, n_background = 3, beta = 1e7)
  near <- small_fit(b, n_target = 1, n_background = 3, beta = proposal(far))
  expect_lt(stats::median(near$prob_target[near$prob_target > 0]), 0.9)
  fit <- small_fit(b, n_target = 1, n_background = 3, beta = 1e-5)
  proposed <- proposal(fit)
  p <- fit$prob_target[fit$prob_target > 0]
  expect_equal(stats::median(1 - (1 - p)^(proposed / fit$beta)), 0.5, tolerance = 0.05)
})

test_that("a beta that saturates every weight is lowered as far as the weights tell", {
  b <- checked_bags()
  found <- check_fit(small_fit(b, n_target = 1, n_background = 3, beta = 1e7))
  proposed <- as.numeric(sub("`beta = (.*)`", "\\1", found$advice[1]))
  expect_gt(proposed, 0)
  expect_lt(proposed, 1e7 / 50)
})

test_that("calibration by folds is proposed only where it is possible", {
  b <- checked_bags()
  advice <- function(fit) with(check_fit(fit), advice[check == "calibrated in-sample"])
  expect_match(advice(small_fit(b)), "calibrate = 5", fixed = TRUE)
  expect_no_match(advice(suppressWarnings(sil(b[c(1:3, 11:13)]))), "calibrate = 5", fixed = TRUE)
})

test_that("bags show what the fit alone does not", {
  set.seed(613)
  size <- rep(c(2, 20), 10)
  bag <- rep(1:20, size)
  x <- matrix(rnorm(length(bag) * 5), ncol = 5)
  uneven <- bags(x, bag, rep(1:0, each = 10))
  fit <- suppressWarnings(sil(uneven, calibrate = 0))
  expect_true("scores grow with the size of bags" %in% objections(fit, uneven))
  other <- bags(x, bag, rep(0:1, each = 10))
  expect_true("bags are not separated" %in% objections(suppressWarnings(sil(uneven, calibrate = 0)), other))

  larger <- bags(x, bag, as.integer(size == 20))
  expect_true("positive bags are larger" %in% objections(suppressWarnings(sil(larger, calibrate = 0)), larger))
  expect_false("positive bags are larger" %in% objections(fit, uneven))

  heavy <- cbind(x, mass = 1e4 + x[, 1])
  colnames(heavy)[1:5] <- letters[1:5]
  heavy <- bags(heavy, bag, rep(1:0, each = 10))
  found <- check_fit(suppressWarnings(sil(heavy, calibrate = 0)), heavy)
  expect_match(found$finding, "Feature `mass` has 99 %", all = FALSE)
  expect_match(found$advice, "scale(x)` by", fixed = TRUE, all = FALSE)

  wide <- checked_bags()
  wide$x <- wide$x * rep(10^(seq_len(ncol(wide$x)) %% 3), each = nrow(wide$x))
  fit <- small_fit(wide, n_target = 1, n_background = 3, normalize = "none")
  expect_true("norms of instances differ much" %in% objections(fit, wide))
  expect_error(check_fit(fit, 1), "`bags`", class = "fumi_error_type")
  expect_error(check_fit(fit, sim_bags(n_features = 3)), "`bags`.*not 3",
               class = "fumi_error_column")
  expect_error(check_fit(1), "`fit`", class = "fumi_error")
  expect_error(check_fit(structure(list(), class = "mil_one_vs_rest")), "one of its `fits`",
               class = "fumi_error_model")
})

test_that("one atom and several are said in words", {
  words <- function(...) some_of(c(...), "target atom", c("equals", "equal"))
  expect_identical(words(TRUE), "The target atom equals")
  expect_identical(words(TRUE, FALSE, FALSE), "1 of 3 target atoms equals")
  expect_identical(words(TRUE, TRUE, FALSE), "2 of 3 target atoms equal")
  set.seed(1)
  b <- sim_bags(n_bags = 6, bag_size = 3)[c(1, 4, 5)]
  expect_match(check_fit(fit_to(b), b)$finding, "There is only 1 positive bag.", fixed = TRUE, all = FALSE)
})

test_that("a fit that has hardly moved has settled, whatever method made it", {
  b <- checked_bags()
  set.seed(1)
  fit <- dmil(b, max_iter = 12, calibrate = 0)
  fit$stop_reason <- "max_iter"
  fit$objective$objective <- c(9, 5, seq(5.01, 5.3, length.out = nrow(fit$objective) - 2))
  expect_false("not settled" %in% check_fit(fit)$check)
  fit$objective$objective <- rev(seq_len(nrow(fit$objective)))
  expect_match(check_fit(fit)$finding[1], "still changed by .* over the last 10 iterations")
})

test_that("code in advice is not broken at the end of a line", {
  check <- as_fit_check(problem(TRUE, "a", strrep("word ", 12), "`n_target = 1`"))
  old <- options(width = 80)
  on.exit(options(old))
  expect_output(print(check), "`n_target = 1`", fixed = TRUE)
})

test_that("with noise of the background, witnesses are the first advice where all weights are 1", {
  fit <- small_fit(checked_bags(), n_target = 1, n_background = 3, noise = "background", beta = 1e7)
  found <- check_fit(fit)
  at <- found$check == "all instances are taken for targets"
  expect_match(found$advice[at], "^`witnesses = 1`, or `beta = ")
})
