for (method in names(mil_methods)) {
  test_that(paste(method, "keeps the contract"), {
    expect_mil_contract(mil_methods[[method]])
  })
}
