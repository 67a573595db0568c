# Kills `n` R processes, each at a moment while it saves one of two models again and again to the
# same file; returns how often the file was then not one of the two.
killed_saves <- function(n) {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  b <- bags_of(eight_bags())
  models <- list(fit_to(b), fit_to(b, n_background = 4))
  models[[1]]$extra <- numeric(2e5)
  path <- file.path(folder, "model")
  saveRDS(models, file.path(folder, "models"))
  lines <- c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
             sprintf("setwd('%s')", folder),
             "library(fumi)", "m <- readRDS('models')", "mil_save(m[[2]], 'model')",
             "cat(Sys.getpid(), file = 'pid')", "repeat for (i in 1:2) mil_save(m[[i]], 'model')")
  writeLines(lines, file.path(folder, "script.R"))
  lost <- 0L
  for (i in seq_len(n)) {
    unlink(file.path(folder, "pid"))
    system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file.path(folder, "script.R")),
            wait = FALSE, stdout = FALSE, stderr = FALSE)
    while (!file.exists(file.path(folder, "pid")) || !file.size(file.path(folder, "pid")))
      Sys.sleep(.01)
    Sys.sleep(.05 + .3 * (i * .618) %% 1)
    tools::pskill(scan(file.path(folder, "pid"), quiet = TRUE), tools::SIGKILL)
    whole <- tryCatch(any(vapply(models, identical, NA, mil_load(path))), error = function(e) FALSE)
    lost <- lost + !whole
  }
  lost
}
