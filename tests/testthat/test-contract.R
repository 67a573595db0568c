for (method in names(mil_methods)) {
  test_that(paste(method, "keeps the contract"), {
    expect_mil_contract(mil_methods[[method]])
    expect_order_free(mil_methods[[method]], same_start[[method]])
    expect_progress(mil_methods[[method]])
  })

  test_that(paste(method, "gives bags of any size honest probabilities"), {
    skip_on_cran()
    limit <- honest_limits[[method]]
    expect_honest(mil_methods[[method]], honest_arguments[[method]],
                  if (is.null(limit)) .02 else limit)
  })

  test_that(paste("update is a refit of", method), {
    skip_on_cran()
    first <- quick_arguments[[method]]
    expect_update(mil_methods[[method]], if (is.null(first)) list() else first,
                  changed_parameters[[method]])
  })

  test_that(paste(method, "makes no matrix of features x features"), {
    skip_on_cran()
    expect_no_square(mil_methods[[method]], quick_arguments[[method]])
  })
}

test_that("every method can be interrupted, keeps what is whole, and fits again", {
  skip_on_cran()
  skip_on_os("windows")
  for (one in interrupted_fits(names(mil_methods))) {
    expect_lt(one$seconds, 3, label = paste("seconds that an interrupt of", one$method, "takes"))
    keeps <- one$method %in% names(endless_arguments)
    expect_true(one$outcome %in% c("kept", if (!keeps) c("interrupt", "fumi_error_interrupt")),
                label = paste0("an interrupt of ", one$method, " (", one$outcome,
                               ") ends as it should"))
    if (one$outcome == "kept")
      expect_true("fumi_warning_interrupt" %in% one$warned, label = one$method)
    expect_true(one$again, label = paste("the next fit of", one$method))
  }
})
