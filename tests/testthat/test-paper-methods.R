test_that("settings are those that were chosen", {
  for (name in c("usps", "olivetti_eyeglasses", "olivetti_person")) {
    settings <- paper_methods(name)
    expect_equal(settings[[1]]$parameters, paper_protocol(name)$parameters)
    tuning <- paper_tuning(name)
    expect_true(all(table(tuning$method) <= 12))
    expect_equal(as.vector(tapply(tuning$chosen, tuning$method, sum)),
                 rep(1, length(unique(tuning$method))))
    best <- tapply(seq_len(nrow(tuning)), tuning$method,
                   function(i) which(tuning$chosen[i]) - which.max(tuning$mean[i]))
    by_rule <- names(best) == "DL-FUMI, mil_tune()"     # the first within one standard error
    expect_true(all(best[!by_rule] == 0))
    expect_true(all(best[by_rule] <= 0))
    for (s in settings) {
      expect_true(is.function(get(s$fitter)))
      expect_length(setdiff(names(s$parameters), c(names(formals(s$fitter)), control_names())), 0)
    }
  }
  parameters <- function(name) lapply(paper_methods(name), `[[`, "parameters")
  expect_identical(parameters("ar_person"), parameters("olivetti_person"))
  expect_identical(parameters("ar_sunglasses")[-1], parameters("olivetti_eyeglasses")[-1])
})

test_that("every digit method with random starts has an averaged setting", {
  settings <- paper_methods("usps")
  averaged <- vapply(settings, function(s) identical(s$parameters$combine, "average"), NA)
  method <- vapply(settings, `[[`, "", "method")
  can <- vapply(settings, function(s) "combine" %in% names(formals(s$fitter)), NA)
  expect_setequal(method[averaged], method[can])
})

test_that("larger dictionaries were tried for the digits, and none is better by the criterion", {
  tuned <- stored("tuned.rds")
  first <- tuned$usps[["DL-FUMI"]]$tried
  larger <- tuned$usps_larger[["DL-FUMI"]]$tried
  expect_lte(nrow(larger), 12)
  expect_identical(sum(larger$chosen), 1L)
  expect_lt(max(larger$mean), first$mean[first$chosen])
})

test_that("the score of the row with witnesses is the one that held-out training bags prefer", {
  tuned <- stored("tuned.rds")
  tried <- tuned$usps_score[["DL-FUMI, witnesses"]]$tried
  score <- tuned$usps[["DL-FUMI, witnesses"]]$parameters$score
  expect_lte(nrow(tried) + nrow(tuned$usps[["DL-FUMI, witnesses"]]$tried), 12)
  expect_identical(which.max(tried$mean), which(tried$chosen))
  expect_match(tried$configuration[tried$chosen], paste("score", score))
})

test_that("the candidate of the fresh digits was chosen on draws that are not reported", {
  chosen <- stored("tuned.rds")$usps_fresh[["DL-FUMI, centred"]]
  run <- Filter(function(s) s$method == "DL-FUMI, centred", paper_methods("usps"))
  expect_length(run, 1)
  expect_identical(run[[1]]$parameters, chosen$parameters)
  expect_gte(min(chosen$seed, chosen$check$seed), 9000)
  expect_identical(sum(chosen$tried$chosen), 1L)
  expect_lte(max(chosen$tried$raw) - chosen$tried$raw[chosen$tried$chosen], 0.1)
})
