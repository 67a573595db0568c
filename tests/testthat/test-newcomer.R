# The way of someone who has a table and no knowledge of the package: the ten lines of vignette("fumi").

newcomer <- quote({
  scans <- read_bags(file, bag = "scan", label = "found", positive = "yes")
  set.seed(1)
  parts <- split(scans, 0.5)
  fit <- dlfumi(parts$train, n_target = 1, n_background = 4)
  head(predict(fit, parts$test, type = "class", level = "bag"), 3)
  r <- mil_roc(fit, parts$test, level = "bag")
  plot(r)
  why <- mil_explain(fit, parts$test, bag = 1)
  why
  plot(why)
})

test_that("ten lines lead from a CSV to a ROC and an explained bag", {
  set.seed(3)
  d <- as.data.frame(sim_bags(n_bags = 30, bag_size = 4, n_features = 20))
  d <- data.frame(scan = paste("scan", d$bag), found = ifelse(d$label == 1, "yes", "no"), d[-(1:2)])
  is_target <- d$truth
  file <- tempfile(fileext = ".csv")
  write.csv(d[names(d) != "truth"], file, row.names = FALSE)
  pdf(NULL)
  on.exit({
    dev.off()
    unlink(file)
  })
  eval(newcomer)
  expect_length(scans, 30)
  expect_equal(scans$classes, c("no", "yes"))
  expect_gt(as.numeric(pROC::auc(r)), 0.9)
  in_bag <- d$scan == parts$test$ids[1]
  expect_equal(nrow(why), sum(in_bag))
  expect_equal(which.max(why$drop), which(is_target[in_bag]))
})

test_that("the vignette has the same lines", {
  vignette <- c(test_path("..", "..", "vignettes", "fumi.Rmd"), system.file("doc", "fumi.Rmd", package = "fumi"))
  vignette <- vignette[file.exists(vignette)][1]
  skip_if(is.na(vignette), "no vignettes here")
  lines <- readLines(vignette)
  start <- grep("^```\\{r csv-explained", lines)
  end <- start + which(lines[-seq_len(start)] == "```")[1]
  expect_identical(as.list(parse(text = lines[start:end][-c(1, end - start + 1)], keep.source = FALSE)),
                   lapply(newcomer, identity)[-1])
})
