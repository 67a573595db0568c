set.seed(1)
small <- sim_bags(n_bags = 12, bag_size = 3, n_features = 5)
shown <- function(fit) {
  old <- options(width = 200)
  on.exit(options(old))
  paste(capture.output(print(fit)), collapse = "\n")
}

test_that("every method prints its data, what it learned, its parameters and its end", {
  fits <- suppressWarnings(list(
    mi_svm(small, cost = 3), mi_svm(small, type = "mi"), mi_ace(small, n_target = 2),
    mi_ace(small, type = "smf"), miles(small), mmdl(small, n_clusters = 2, bag_route = TRUE),
    sil(small), e_fumi(small, n_target = 1, n_background = 2), mi_he(small, max_iter = 1),
    em_dd(small), diverse_density(small, scale_type = "single"), dmil(small)))
  text <- vapply(fits, shown, "")
  expect_match(text, "bags: +6 positive, 6 negative \\(36 instances of 5 features\\)")
  expect_match(text, "learned:|atoms:")
  expect_match(text, "parameters: .*normalize \"(unit|none)\"")
  expect_match(text, "threshold: +a bag is \"1\" if its score is above -?[0-9.]+\n")
  expect_match(text, "calibrated: +(by 5-fold cross-validation \\([0-9]+( of [0-9]+)? bags\\)|in-sample)")
  expect_match(text, "^(MI-SVM|mi-SVM|MI-ACE|MI-SMF|MILES|MMDL|Single-instance|eFUMI|MI-HE|EM-DD|Div|DMIL)")
  expect_no_match(text, " 1 (bags|instances|iterations|starts|atoms|signatures)\\b")
  expect_match(text[1], "cost 3, .*sigma [0-9.]+")
  expect_match(text[6], "2 clusters of target instances, and a classifier of bags")
  expect_match(text[8:9], "alpha [0-9.]+")
  expect_match(text[9], "objective: .* in 1 iteration\n")
  expect_match(text[11], "one scale, ")
})

test_that("a long line goes on below its text", {
  out <- capture.output(print_fact("learned", paste(rep("word", 40), collapse = " ")))
  expect_gt(length(out), 1)
  expect_match(out[2], "^ {14}word")
  expect_identical(capture.output(print_fact("objective", NULL)), character())
})

test_that("a line of parameters ends at a comma, never between a name and its value", {
  words <- paste0("parameter ", 1:9, collapse = ", ")
  out <- capture.output(print_fact("parameters", words))
  expect_match(out[-length(out)], ",$")
  expect_lte(max(nchar(out)), 80)
  expect_identical(paste(substring(out, 15), collapse = " "), words)
  expect_identical(at_commas("", 40), "")
  expect_identical(at_commas("a = 1, b = 2, c = 3", 13, "  ", "    "), c("  a = 1,", "    b = 2,", "    c = 3"))
})

test_that("the line of the calibration says how many bags it has used", {
  fit <- sil(small)
  expect_match(shown(fit), "cross-validation (12 bags)", fixed = TRUE)
  fit$calibration$n_bags <- 10
  expect_match(shown(fit), "cross-validation (10 of 12 bags)", fixed = TRUE)
})

test_that("only parameters that had a part in the fit are printed", {
  parameters <- function(...) shown(suppressWarnings(mi_he(small, max_iter = 1, calibrate = 0, ...)))
  expect_no_match(parameters(), "step")
  expect_match(parameters(variant = "literal"), "step 0.001", fixed = TRUE)
  expect_no_match(parameters(coding = "convex"), "lambda")
})

test_that("each number has its own significant digits", {
  expect_identical(significant(c(-0.3, 1, 21.42, 12345, 0.00012345, 7.092e-9, 0)),
                   c("-0.300", "1.00", "21.4", "12345", "0.000123", "7.09e-09", "0"))
  expect_identical(significant(c(NA, Inf)), c("NA", "Inf"))
})

test_that("a summary is as short as the print of what it sums up", {
  roc <- mil_roc(1:4, c(0, 0, 1, 1))
  expect_identical(capture.output(summary(roc)), capture.output(roc))
  expect_output(print(summary(usps)), "9298 images")
  expect_output(print(summary(mil_tune(small, sil, data.frame(cost = 1:2)))), "2 configurations")
})
