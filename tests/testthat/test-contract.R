for (method in names(mil_methods)) {
  test_that(paste(method, "keeps the contract"), {
    expect_mil_contract(mil_methods[[method]])
  })

  test_that(paste(method, "makes no matrix of features x features"), {
    skip_on_cran()
    expect_no_square(mil_methods[[method]], quick_arguments[[method]])
  })
}
