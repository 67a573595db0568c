library(testthat)
library(fumi)

test_check("fumi")
