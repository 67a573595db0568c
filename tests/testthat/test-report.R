# The report of RStudio's "New file > R Markdown > From template".

skeleton <- function() system.file("rmarkdown", "templates", "report", "skeleton", "skeleton.Rmd", package = "fumi")

# The page of a report, with its code left out, and the warnings of making it.
report <- function(params = NULL) {
  skip_on_cran()
  skip_if_not_installed("rmarkdown")
  skip_if_not(rmarkdown::pandoc_available("1.14"))
  folder <- tempfile("report")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  file.copy(skeleton(), folder)
  warned <- character()
  page <- withCallingHandlers(
    rmarkdown::render(file.path(folder, "skeleton.Rmd"), params = params, envir = new.env(), quiet = TRUE),
    warning = function(w) { warned <<- c(warned, conditionMessage(w)); invokeRestart("muffleWarning") })
  lines <- paste(readLines(page, encoding = "UTF-8"), collapse = "\n")
  main <- sub(".*<h1 class=\"title", "", lines)
  main <- gsub("(?s)<pre class=\"(sourceCode )?r\">.*?</pre>|data:image[^\"]*", "", main, perl = TRUE)
  list(all = lines, main = main, warned = warned)
}

test_that("the report is made of a CSV with columns of any name", {
  set.seed(4)
  b <- sim_bags(n_bags = 18, bag_size = 4, n_features = 8)
  d <- as.data.frame(b)
  d$truth <- NULL
  d$bag <- paste0("plot <img src=x onerror=alert(1)> *", d$bag, "*")
  d$label <- ifelse(d$label == 1, "oil & gas", "water")
  names(d)[1:2] <- c("plot", "class")
  file <- tempfile(fileext = ".csv")
  utils::write.csv(d, file, row.names = FALSE)
  made <- report(list(file = file, bag = "plot", label = "class", positive = "oil & gas"))
  expect_identical(made$warned, character())
  expect_false(grepl("Warning|params|simulated", made$main))
  expect_false(grepl("<img src=x", made$main, fixed = TRUE))
  # A row per test bag: its name, its true label, its score, and what it was called.
  rows <- regmatches(made$main, gregexpr("(?s)<tr>\\s*<td.*?</tr>", made$main, perl = TRUE))[[1]]
  cells <- lapply(regmatches(rows, gregexpr("(?s)<td[^>]*>.*?</td>", rows, perl = TRUE)), function(cell)
    gsub("^\\s+|\\s+$", "", gsub("<[^>]*>", "", cell)))
  cells <- as.data.frame(do.call(rbind, cells))
  expect_identical(dim(cells), c(6L, 4L))
  true <- unique(d[c("plot", "class")])
  plain <- function(text) gsub("&amp;", "&", gsub("&gt;", ">", gsub("&lt;", "<", text)))
  expect_identical(plain(cells$V2), true$class[match(plain(cells$V1), true$plot)])
  expect_false(is.unsorted(-as.numeric(cells$V3)))
  expect_true(all(plain(cells$V4) %in% c("oil & gas", "water")))
  expect_error(report(list(file = file)), "columns `bag` and `label`.*plot, class.*as `bag` and `label`",
               class = "fumi_error_file")
})

test_that("without a file the report says that its bags are simulated; parameters have a form", {
  made <- report()
  expect_identical(made$warned, character())
  expect_match(made$main, "These bags are simulated", fixed = TRUE)
  expect_false(grepl("Warning|params", made$main))
  # It asks for nothing from the network.
  expect_false(grepl("<[^a][^>]* (src|href)=\"(https?:)?//", made$all))
  params <- knitr::knit_params(readLines(skeleton()))
  expect_named(params, c("file", "bag", "label", "positive"))
  for (param in params) expect_true(nzchar(param$label) && is.character(param$value))
})
