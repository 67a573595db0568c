# The way of someone who has a table and no knowledge of the package: the code of vignette("fumi"),
# and whether what its text says is so.

test_that("the first vignette's text says what its code finds", {
  vignette <- c(test_path("..", "..", "vignettes", "fumi.Rmd"),
                system.file("doc", "fumi.Rmd", package = "fumi"))
  vignette <- vignette[file.exists(vignette)][1]
  skip_if(is.na(vignette), "no vignettes here")
  skip_if_not_installed("knitr")
  lines <- readLines(vignette)
  inside <- cumsum(grepl("^```", lines)) %% 2 == 1
  code <- lines[inside & !grepl("^```|figures[.]R", lines)]
  pdf(NULL)
  on.exit(dev.off())
  here <- new.env(parent = globalenv())
  expect_silent(suppressMessages(capture.output(eval(parse(text = code), here))))
  on.exit(unlink(c(here$file, here$new_file)), add = TRUE)

  # "The two target atoms are 3s": nearer to the mean 3 than to the mean of any other digit.
  mean_digit <- sapply(0:9, function(digit) rowMeans(matrix(usps_images(usps$digit == digit), 256)))
  nearest <- max.col(cor(t(coef(here$fit, "target")), mean_digit)) - 1
  expect_equal(nearest, c(3, 3))
  expect_gt(as.numeric(pROC::auc(here$r)), 0.9)
  called <- predict(here$fit, here$new, bag = "box", type = "class", level = "bag")
  expect_equal(as.character(called$.pred_class), c("yes", "no", "no"))
  # "... of what the background leaves of the 3, and next to nothing of the other digits"
  expect_equal(which.max(here$why$drop), which(usps$digit[7292:7295] == 3))
  expect_gt(max(here$why$drop), 0.5)
  expect_lt(sort(here$why$drop, decreasing = TRUE)[2], 0.1)
})
