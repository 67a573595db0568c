# Runs `lines` in an R process of its own, which make a list `result`; sends it an interrupt a second
# after they begin, and returns the list. Warnings are gathered, by class, in `warned`.
interrupted <- function(lines) {
  script <- tempfile(fileext = ".R")
  out <- tempfile()
  on.exit(unlink(c(script, out)))
  writeLines(c(
    sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")), "library(fumi)",
    sprintf("cat(Sys.getpid(), file = '%s')", out), "warned <- NULL",
    "withCallingHandlers({", lines,
    "}, warning = function(w) { warned <<- c(warned, class(w)); invokeRestart('muffleWarning') })",
    sprintf("saveRDS(c(result, list(warned = warned)), '%s')", out)), script)
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), wait = FALSE,
          stdout = FALSE, stderr = FALSE)
  wait_for <- function(ok) for (i in 1:600) if (isTRUE(try(ok(), TRUE))) return(TRUE) else Sys.sleep(.1)
  expect_true(wait_for(function() file.exists(out) && length(scan(out, quiet = TRUE)) == 1))
  pid <- scan(out, quiet = TRUE)
  Sys.sleep(1)
  tools::pskill(pid, tools::SIGINT)
  expect_true(wait_for(function() is.list(readRDS(out))))
  readRDS(out)
}
