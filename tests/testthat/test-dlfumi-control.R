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
