#!/usr/bin/env Rscript
# Repeats the experiments of Jiao and Zare (2016) on the data that come with the package, and on
# the AR faces where the environment variable FUMI_AR_DIR names their folder: prints one table per
# experiment beside the paper's numbers, and draws figures into results/. Without arguments, a
# small run: one repetition, five people. With --full, ten repetitions of everything, on all cores;
# finished tasks are kept in results/tasks, so a run can be resumed. Parameters are the paper's, or
# were chosen on training bags alone (inst/replication/run_all.R).

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(gsub("~+~", " ", script, fixed = TRUE)), "setup.R"), chdir = TRUE)

full <- identical(commandArgs(TRUE), "--full")
if (length(commandArgs(TRUE)) > 0 && !full)
  stop("usage: Rscript tools/reproduce.R [--full]", call. = FALSE)

titles <- c(usps = "Digits (USPS): per cent of 2000 test digits recognised",
            olivetti_eyeglasses = "Eyeglasses (Olivetti; the paper: sunglasses, AR)",
            olivetti_person = "One person among others (Olivetti; the paper: Woman No. 10, AR)",
            ar_sunglasses = "Sunglasses (AR)", ar_person = "Woman No. 10 (AR)")

# What the small run leaves out: averages of eight starts, except for DL-FUMI, and most people.
small_settings <- function(name) {
  Filter(function(s) s$method == "DL-FUMI" || !grepl("averaged", s$setting), paper_methods(name))
}

run <- function(name) {
  cat("\n", titles[[name]], "\n", sep = "")
  units <- if (!full && name == "olivetti_person") 1:5
  result <- paper_experiment(name, if (!full) small_settings(name), runs = if (full) 10 else 1,
                             units = units,
                             dir = if (full) file.path(root, "results", "tasks", name),
                             keep_fits = !full, progress = TRUE)
  shown <- if (name == "olivetti_eyeglasses") "DL-FUMI, mil_tune()" else "DL-FUMI"
  if (!full) figure(paste0(name, "-atoms"), 12, if (name == "usps") 4 else 5,
                    paper_plot(result, "atoms", shown, "tuned"))
  result
}

report <- function(name, result) {
  cat("\n", titles[[name]], ", ", if (full) "ten runs" else "one run", ":\n", sep = "")
  print(paper_table(result))
  if (name == "usps") {
    best <- paper_table(result)
    best <- best[best$method == "DL-FUMI", ][1, ]
    figure("usps-confusion", 7, 7, paper_plot(result, "confusion", best$method, best$setting))
    if (!full) figure("usps-errors", 10, 3.2,
                      paper_plot(result, "errors", "DL-FUMI", "tuned, one scale"))
    figure("usps-roc", 7, 5, paper_plot(result, "roc", "DL-FUMI", "tuned"))
  } else {
    figure(paste0(name, "-roc"), 9, 6, paper_plot(result, "roc"))
  }
}

# Width and height in inches. `draw` is evaluated once the device is open.
figure <- function(name, width, height, draw) {
  png(file.path(root, "results", paste0(name, ".png")), width, height, units = "in", res = 120)
  on.exit(dev.off())
  force(draw)
}

main <- function() {
  need(c(described("Imports"), if (full) "future"), system = compilers)
  lib <- tempfile("library")
  install_own(lib)
  use_libraries(c(lib, .libPaths()))
  library(fumi)
  dir.create(file.path(root, "results"), showWarnings = FALSE)
  if (full) future::plan("multisession", workers = parallel::detectCores())
  names <- c("usps", "olivetti_eyeglasses", "olivetti_person",
             if (nzchar(Sys.getenv("FUMI_AR_DIR"))) c("ar_sunglasses", "ar_person"))
  results <- lapply(setNames(nm = names), run)
  for (name in names) report(name, results[[name]])
}

# An interrupted fit is only a warning, but must not enter a table.
stop_interrupted <- function(warning) stop("interrupted", call. = FALSE)

seconds <- system.time(withCallingHandlers(main(), fumi_warning_interrupt = stop_interrupted))[["elapsed"]]
cat("\nFigures are in results/. Total time:", round(seconds), "s\n")
