expect_input_error <- function(code, name = "arg", class = "fumi_error_input", info = NULL) {
  expect_error(code, paste0("`", name, "`"), fixed = TRUE, class = class, info = info)
}

test_that("check_number takes single finite numbers in range, as doubles", {
  expect_identical(check_number(2L, "arg"), 2)
  expect_identical(check_number(0, "arg", min = 0), 0)
  expect_identical(check_number(1, "arg", above = 0, max = 1), 1)
  for (x in list(NULL, NA, NaN, Inf, -Inf, "1", TRUE, c(1, 2), numeric(), list(1), factor(1), mean,
                 1i, Sys.Date()))
    expect_input_error(check_number(x, "arg"), info = describe(x))
  expect_input_error(check_number(-1e-9, "arg", min = 0))
  expect_input_error(check_number(0, "arg", above = 0))
  expect_input_error(check_number(1.1, "arg", max = 1))
  expect_error(check_number(0, "arg", above = 0, max = 1), "> 0 and <= 1, not 0.", fixed = TRUE)
})

test_that("check_count takes single whole numbers in range, as integers", {
  expect_identical(check_count(3, "arg"), 3L)
  expect_identical(check_count(0, "arg", min = 0), 0L)
  for (x in list(NULL, NA, NaN, Inf, 0, -1, 1.5, "2", TRUE, c(1, 2), 1e10, factor(1), list(1)))
    expect_input_error(check_count(x, "arg"), info = describe(x))
  expect_error(check_count(9, "arg", max = 8), ">= 1 and <= 8, not 9.", fixed = TRUE)
})

test_that("check_flag takes TRUE and FALSE only", {
  expect_true(check_flag(TRUE, "arg"))
  expect_false(check_flag(FALSE, "arg"))
  for (x in list(NULL, NA, 1, "TRUE", c(TRUE, FALSE), logical()))
    expect_input_error(check_flag(x, "arg"), info = describe(x))
})

test_that("check_choice takes one of the choices, and the first when untouched", {
  choices <- c("one", "two", "three")
  expect_identical(check_choice(choices, choices, "arg"), "one")
  expect_identical(check_choice("three", choices, "arg"), "three")
  for (x in list(NULL, NA_character_, "tw", 1, c("one", "two"), character()))
    expect_input_error(check_choice(x, choices, "arg"), info = describe(x))
  expect_error(check_choice("tw", choices, "arg"), "\"one\", \"two\", \"three\", not \"tw\"")
})

test_that("an unknown argument is refused, and the nearest one is suggested", {
  known <- c("...", "x", "label", "lambda", "max_iter", "tol", "dead")
  expect_silent(check_dots_empty(known = known))
  expect_error(check_dots_empty(1, 2, known = known), "2", class = "fumi_error_argument")
  expect_error(check_dots_empty(lambda = 1, 2, known = known), class = "fumi_error_argument")
  near <- c(lamda = "lambda", labels = "label", maxiter = "max_iter", toll = "tol", ded = "dead",
            dea = "dead")
  for (wrong in names(near))
    expect_error(do.call(check_dots_empty, c(setNames(list(1), wrong), list(known = known))),
                 paste0("`", wrong, "`.*Did you mean `", near[[wrong]], "`"),
                 class = "fumi_error_argument", info = wrong)
  for (wrong in c("whatever", "colour", "q")) {
    e <- rlang::catch_cnd(do.call(check_dots_empty,
                                  c(setNames(list(1), wrong), list(known = known))))
    expect_s3_class(e, "fumi_error_argument")
    expect_no_match(conditionMessage(e), "Did you mean", info = wrong)
  }
})

test_that("a fitter takes what bags() takes", {
  b <- sim_bags(n_bags = 8, n_features = 4)
  d <- as.data.frame(b)
  expect_identical(sil(as.matrix(b), d$bag, d$label, axis = c(900, 910, 920, 930))$axis,
                   bags(as.matrix(b), d$bag, d$label, axis = c(900, 910, 920, 930))$axis)
})

test_that("an error is reported as one of the function that the user called", {
  f <- function(arg) check_count(arg, "arg")
  expect_identical(rlang::catch_cnd(f(0))$call, quote(f(0)))
})

# ---- at the door ----------------------------------------------------------------

small <- function() {
  set.seed(1)
  sim_bags(n_bags = 4, bag_size = 3, n_features = 4)
}

test_that("dlfumi() refuses bad parameters by name", {
  b <- small()
  no_count <- list(0, -1, NA, 1.5, "2", c(1, 2), 1e10, Inf)
  no_number <- list(-1, NA, NaN, Inf, "1", c(1, 2), TRUE)
  bad <- list(n_target = no_count, n_background = no_count, n_start = no_count, lambda = no_number,
              gamma = no_number, beta = c(no_number, 0), psi = c(no_number, 0),
              normalize = list("l2", NA, 1), combine = list("worst"), keep_background = list(NA, 1),
              progress = list(NA, "yes"), init = list("random", 3, NULL, NA))
  set.seed(2)
  state <- .Random.seed
  for (name in names(bad)) for (value in bad[[name]]) {
    args <- list(b, n_target = 1, n_background = 2)
    args[name] <- list(value)
    if (is.null(value) && name != "init") next
    expect_input_error(do.call(dlfumi, args), name, info = paste(name, describe(value)))
  }
  expect_identical(.Random.seed, state)
})

test_that("0 is allowed where the mathematics allows it", {
  fit <- dlfumi(small(), n_target = 1, n_background = 2, lambda = 0, gamma = 0,
                control = dlfumi_control(max_iter = 2))
  expect_true(all(is.finite(fit$codes)))
  expect_identical(c(fit$lambda, fit$gamma), c(0, 0))
})

test_that("dlfumi_control() refuses bad options by name, and so does a hand-made list", {
  bad <- list(variant = list("papr", NA), inner = list(0, 1.5, NA),
              max_iter = list(0, -1, 1.5, NA, Inf),
              tol = list(-1, NA, Inf, "a"), solver = list("lars"), gap = list(0, -1, 2, NA),
              dead = list("bury"))
  for (name in names(bad)) for (value in bad[[name]]) {
    wrong <- setNames(list(value), name)
    expect_input_error(do.call(dlfumi_control, wrong), name, info = paste(name, describe(value)))
    expect_input_error(dlfumi(small(), n_target = 1, n_background = 2, control = wrong), name)
  }
  expect_error(dlfumi_control("paper", solver = "active"), "`solver`", class = "fumi_error_input")
  expect_error(dlfumi_control(maxit = 1), "Did you mean `max_iter`", class = "fumi_error_argument")
  for (wrong in list(5, "paper", NULL))
    expect_input_error(dlfumi(small(), n_target = 1, n_background = 2, control = wrong), "control")
  expect_identical(dlfumi_control("exact")$tol, 1e-6)
  expect_identical(dlfumi_control()$tol, 1e-8)
})

test_that("one iteration is a fit, and says that it did not converge", {
  fit <- dlfumi(small(), n_target = 1, n_background = 2, control = dlfumi_control(max_iter = 1))
  expect_identical(fit$n_iter, 1L)
  expect_false(fit$converged)
  expect_identical(fit$stop_reason, "max_iter")
})

test_that("a misspelt parameter of dlfumi() is refused with its own name suggested", {
  b <- small()
  near <- c(lamda = "lambda", n_targets = "n_target", normalise = "normalize", nstart = "n_start")
  for (wrong in names(near))
    expect_error(do.call(dlfumi, c(list(b), setNames(list(1), wrong))),
                 paste0("Did you mean `", near[[wrong]], "`"),
                 class = "fumi_error_argument", info = wrong)
  expect_error(dlfumi(b, 3), class = "fumi_error_argument")
})

test_that("more atoms than instances are refused", {
  b <- small()
  expect_input_error(dlfumi(b, n_target = 7, n_background = 2), "n_target")
  expect_input_error(dlfumi(b, n_target = 1, n_background = 7), "n_background")
})

test_that("odd data are either fitted or refused, and never give NaN", {
  b <- small()
  x <- as.matrix(b)
  id <- as.data.frame(b)$bag
  y <- c(1, 1, 0, 0)
  fit <- function(x, ...) {
    set.seed(3)
    dlfumi(x, id, y, n_target = 1, n_background = 2, ..., control = dlfumi_control(max_iter = 3))
  }
  all_finite <- function(f) all(is.finite(f$dictionary)) && all(is.finite(f$codes)) &&
    all(is.finite(f$objective$objective))
  constant <- zero <- x
  constant[, 2] <- 3
  zero[c(1, 9), ] <- 0
  fitted <- list("constant column" = constant, "instances of zeros" = zero,
                 "more atoms than features" = x[, 1:2],
                 large = x * 1e160, small = x * 1e-160, "twice each" = x[rep(1:6, each = 2), ])
  for (name in names(fitted)) expect_true(all_finite(fit(fitted[[name]])), info = name)
  expect_true(all_finite(fit(zero, normalize = "none")))
  expect_equal(fit(x * 1e160)$codes, fit(x)$codes, tolerance = 1e-6)

  expect_true(all_finite(fit(x[, 1, drop = FALSE], normalize = "none")))

  expect_error(fit(x * 0), "`x`", class = "fumi_error_scale")
  expect_error(fit(x * 0 + 1), "`n_background`", class = "fumi_error_input")
  expect_error(fit(x * 1e160, normalize = "none"), "`x`", class = "fumi_error_scale")
  for (largest in c(1.7e308, 1e-310)) {
    extreme <- tryCatch(fit(x / max(abs(x)) * largest), error = identity)
    if (inherits(extreme, "error")) expect_s3_class(extreme, "fumi_error_scale")
    else expect_true(all_finite(extreme))
  }
})

test_that("a package that is lacking is named with what it is for", {
  expect_silent(check_package("stats", "to test"))
  expect_error(check_package("none.such", "to read `file`"),
               "none.such must be installed to read `file`", class = "fumi_error_package")
})
