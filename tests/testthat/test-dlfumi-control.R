test_that("options are those of the variant unless given, and are checked by name", {
  expect_equal(dlfumi_control("exact")$tol, 1e-6)
  expect_equal(dlfumi_control("exact")$solver, "active")
  expect_error(dlfumi_control(max_iterations = 3), "max_iter", class = "fumi_error_argument")
  expect_error(dlfumi_control("paper", solver = "active"), class = "fumi_error_input")
  for (threads in list(0, 1.5, "2", NA)) expect_error(dlfumi_control(threads = threads), "`threads`", class = "fumi_error_input")
})

test_that("mini-batches are of the variant exact, and numbers are checked", {
  expect_error(dlfumi_control("paper", batch = 10), "`batch`", class = "fumi_error_input")
  expect_error(dlfumi_control("exact", batch = 0), "`batch`", class = "fumi_error_input")
  expect_error(dlfumi_control("exact", batch = 10, epochs = 0), "`epochs`", class = "fumi_error_input")
})

test_that("dlfumi() takes the options by name", {
  b <- bags_of(eight_bags())
  fit <- function(...) {
    set.seed(2)
    out <- dlfumi(b, n_target = 1, n_background = 2, ...)
    out$given <- NULL
    out
  }
  options <- list(variant = "exact", inner = 7, max_iter = 3, tol = 0, solver = "ista", gap = 1e-3, dead = "keep", threads = 1,
                  batch = 8, epochs = 1)
  expect_setequal(names(options), control_names())
  for (name in names(options)) {
    one <- options[unique(c(if (name %in% c("batch", "epochs")) "variant", name))]
    expect_identical(do.call(fit, one), fit(control = do.call(dlfumi_control, one)), label = name)
  }
  d <- eight_bags()
  set.seed(2)
  by_id <- dlfumi(d$x, d$id, d$y, positive = "yes", n_target = 1, n_background = 2, max_iter = 3)
  expect_identical(by_id$dictionary, fit(max_iter = 3)$dictionary)
  expect_error(fit(max_iter = 3, control = dlfumi_control()), "`max_iter`.*`control`", class = "fumi_error_argument")
  expect_error(fit(max_iter = 0), "`max_iter`", class = "fumi_error_input")
  expect_error(fit(max_itr = 3), "Did you mean `max_iter`", class = "fumi_error_argument")
})
