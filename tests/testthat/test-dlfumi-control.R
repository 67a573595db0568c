test_that("options are those of the variant unless given, and are checked by name", {
  expect_equal(dlfumi_control("exact")$tol, 1e-6)
  expect_equal(dlfumi_control("exact")$solver, "active")
  expect_error(dlfumi_control(max_iterations = 3), "max_iter", class = "fumi_error_argument")
  expect_error(dlfumi_control("paper", solver = "active"), class = "fumi_error_input")
  for (threads in list(0, 1.5, "2", NA))
    expect_error(dlfumi_control(threads = threads), "`threads`", class = "fumi_error_input")
})

test_that("mini-batches are of the variant exact, and numbers are checked", {
  expect_error(dlfumi_control("paper", batch = 10), "`batch`", class = "fumi_error_input")
  expect_error(dlfumi_control("exact", batch = 0), "`batch`", class = "fumi_error_input")
  expect_error(dlfumi_control("exact", batch = 10, epochs = 0), "`epochs`",
               class = "fumi_error_input")
})

test_that("dlfumi() takes the options by name", {
  b <- bags_of(eight_bags())
  fit <- function(...) {
    set.seed(2)
    out <- dlfumi(b, n_target = 1, n_background = 2, ...)
    out$given <- NULL
    out
  }
  options <- list(variant = "exact", inner = 7, max_iter = 3, tol = 0, solver = "ista", gap = 1e-3,
                  dead = "keep", threads = 1, batch = 8, epochs = 1, accelerate = TRUE)
  expect_setequal(names(options), control_names())
  for (name in names(options)) {
    one <- options[unique(c(if (name %in% c("batch", "epochs", "accelerate")) "variant", name))]
    expect_identical(do.call(fit, one), fit(control = do.call(dlfumi_control, one)), label = name)
  }
  d <- eight_bags()
  set.seed(2)
  by_id <- dlfumi(d$x, d$id, d$y, positive = "yes", n_target = 1, n_background = 2, max_iter = 3)
  expect_identical(by_id$dictionary, fit(max_iter = 3)$dictionary)
  expect_error(fit(max_iter = 3, control = dlfumi_control()), "`max_iter`.*`control`",
               class = "fumi_error_argument")
  expect_error(fit(max_iter = 0), "`max_iter`", class = "fumi_error_input")
  expect_error(fit(max_itr = 3), "Did you mean `max_iter`", class = "fumi_error_argument")
})

test_that("acceleration is for \"exact\", changes the path and keeps what a fit promises", {
  expect_false(dlfumi_control("exact")$accelerate)
  expect_error(dlfumi_control("paper", accelerate = TRUE), "`accelerate`",
               class = "fumi_error_input")
  set.seed(1)
  b <- sim_bags(n_bags = 20, bag_size = 5, image_dim = c(8, 8))
  fit <- function(accelerate) {
    set.seed(2)
    dlfumi(b, n_target = 1, n_background = 3,
           control = dlfumi_control("exact", max_iter = 200, accelerate = accelerate))
  }
  fast <- fit(TRUE)
  plain <- fit(FALSE)
  expect_true(fast$converged)
  expect_false(identical(fast$objective, plain$objective))
  expect_equal(fast$objective$objective[fast$n_iter], plain$objective$objective[plain$n_iter],
               tolerance = 0.05)
  expect_equal(colSums(fast$dictionary^2), rep(1, 4), ignore_attr = TRUE)
})
