test_that("nouns follow their counts", {
  n <- 1
  expect_identical(as.character(pluralize("{n} bag{?s}")), "1 bag")
  expect_identical(as.character(pluralize("{n + 1} bag{?s}")), "2 bags")
  expect_identical(pluralize("{n} run{?s} x ", "{2} unit{?s}"), "1 run x 2 units")
  expect_identical(as.character(pluralize("{0} instance{?s} {?is a/are} known target{?s}")),
                   "0 instances are known targets")
})

test_that("the package works where only what it imports is installed", {
  skip_on_cran()
  skip_on_os("windows")
  skip_if_not(file.exists(system.file("Meta", "package.rds", package = "fumi")), "not installed")
  installed <- utils::installed.packages()
  imports <- tools::package_dependencies("fumi", installed, recursive = TRUE)$fumi
  base <- rownames(installed)[installed[, "Priority"] %in% "base"]
  lib <- tempfile()
  on.exit(unlink(lib, recursive = TRUE))
  dir.create(lib)
  for (package in setdiff(c("fumi", imports), base))
    file.symlink(dirname(dirname(system.file("Meta", "package.rds", package = package))), lib)
  code <- c(sprintf(".libPaths('%s', include.site = FALSE)", lib),
            "library(fumi)", "set.seed(1)", "b <- sim_bags(n_bags = 20)", "b", "print(dlfumi(b, n_target = 1))",
            "invisible(lapply(list(sil, miles, mi_svm, mi_ace), function(fitter) print(fitter(b))))")
  script <- file.path(lib, "code.R")
  writeLines(code, script)
  said <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script),
                                   stdout = TRUE, stderr = TRUE, env = "R_LIBS="))
  expect_null(attr(said, "status"), info = paste(said, collapse = "\n"))
  expect_match(said, "20 bags", all = FALSE)
})
