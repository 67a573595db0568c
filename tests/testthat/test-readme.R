# The printed output in README.md is what its code prints.

test_that("the README shows what its code prints", {
  file <- test_path("..", "..", c("README.md", "tools/readme.R"))
  skip_if_not(all(file.exists(file)), "no sources here")
  source(file[2], local = TRUE)
  readme <- readLines(file[1])
  pdf(NULL)
  on.exit(dev.off())
  shown <- readme[first_chunk(readme)]
  now <- with_output(readme)
  now <- now[first_chunk(now)]
  number <- "-?[0-9]+\\.?[0-9]*(e[-+]?[0-9]+)?"
  words <- function(x) gsub(" +", " ", gsub(number, "0", x))
  numbers <- function(x) as.numeric(unlist(regmatches(x, gregexpr(number, x))))
  expect_equal(words(shown), words(now))
  # Another BLAS may take another way to nearly the same atoms.
  expect_equal(numbers(shown), numbers(now), tolerance = 0.02)
})

test_that("the two commands and the call to install are on the first screen", {
  file <- test_path("..", "..", "README.md")
  skip_if_not(file.exists(file), "no sources here")
  screen <- readLines(file, 60)
  for (words in c("multiple-instance learning", "install.packages(", "library(fumi)", "README-bags",
                  "tools/reproduce.R", "tools/test.R", "#>"))
    expect_true(any(grepl(words, screen, fixed = TRUE)), info = words)
})

test_that("the README links to nothing that the package does not have", {
  file <- test_path("..", "..", "README.md")
  skip_if_not(file.exists(file), "no sources here")
  text <- paste(readLines(file), collapse = "\n")
  links <- regmatches(text, gregexpr("(?<=\\]\\()[^)]+", text, perl = TRUE))[[1]]
  expect_true(all(grepl("^(https://|man/figures/)", links)))
})
