# Everything behind the stored results of the paper's experiments, from the choice of parameters to
# the tables:
#
#   Rscript run_all.R [--dir=folder] [--workers=n] [--store=folder] [--methods=a;b] [--data=folder]
#   [--seed=n] [--runs=n] [tune | run | told] [experiment ...]
#
# For experiments on data that are not in the package, `data` is a folder with one file per set,
# cmu.rds, hyper_sandiego.rds, hyper_hydice.rds and hyper_muufl.rds, each with what
# `paper_experiment(data = )` takes.
#
# Parameters are chosen on the training bags of run 1 alone, by the mean over folds of whole bags
# of the AUC of the best instance of each positive bag against all negative instances; test images
# are not used. Every task leaves a file in `dir`, so that a run that was stopped can be resumed.
# `store` is the folder for the results that the package keeps and for the tables as CSV; results
# of methods that are not run are kept. `told` computes what DL-FUMI could reach on the digits if
# it knew which training images are targets: not a result, but an upper limit.

library(fumi)

given <- commandArgs(TRUE)
option <- function(name, default) {
  found <- sub(paste0("^--", name, "="), "", grep(paste0("^--", name, "="), given, value = TRUE))
  if (length(found)) found else default
}
dir <- option("dir", "replication")
store <- option("store", dir)
workers <- as.integer(option("workers", "1"))
words <- grep("^--", given, value = TRUE, invert = TRUE)
stages <- intersect(c("tune", "run", "told"), words)
if (!length(stages)) stages <- c("tune", "run", "told")
experiments <- setdiff(words, stages)
if (!length(experiments)) experiments <- c("usps", "olivetti_eyeglasses", "olivetti_person")
seed <- if (length(option("seed", NULL))) as.integer(option("seed", NULL))
runs <- eval(parse(text = option("runs", "10")))

data_of <- function(name) {
  set <- sub("^(cmu|hyper_[a-z]+).*", "\\1", name)
  if (set != name || startsWith(name, "hyper"))
    readRDS(file.path(option("data", "."), paste0(set, ".rds")))
}
dir.create(store, recursive = TRUE, showWarnings = FALSE)
options(fumi.progress = TRUE)
if (workers > 1) future::plan("multisession", workers = workers)

# ---- what is tried -----------------------------------------------------------------------------

# At most twelve configurations per method.
atoms <- function(sizes, lambda = c(0.001, 0.003, 0.01, 0.03)) {
  grid <- expand.grid(lambda = lambda, size = seq_len(nrow(sizes)))
  cbind(sizes[grid$size, ], lambda = grid$lambda)
}
paper_sizes <- list(
  usps = data.frame(n_target = c(4, 8, 8), n_background = c(15, 30, 30), beta = c(25, 25, 5),
                    gamma = 0.1),
  olivetti_eyeglasses = data.frame(n_target = c(3, 6, 6), n_background = c(8, 20, 20),
                                   beta = c(30, 30, 5), gamma = 0.001),
  olivetti_person = data.frame(n_target = 3, n_background = c(20, 20, 40), beta = c(50, 10, 50),
                               gamma = 0.001))

# The choice for the digits is at the edge of its grid: `tune usps_larger` tries values beyond it,
# and stores the result separately.
larger_sizes <- data.frame(n_target = c(16, 8, 16, 32), n_background = c(30, 60, 60, 60),
                           beta = 25, gamma = 0.1)

# Variant "exact", whose lambda is on a scale of its own, for the digits.
exact_grid <- function() {
  sizes <- data.frame(n_target = c(4, 8, 16), n_background = c(15, 30, 60), beta = 25, gamma = 0.1)
  grid <- atoms(sizes, c(0.02, 0.05, 0.1, 0.2))
  grid$control <- rep(list(dlfumi_control("exact")), nrow(grid))
  grid
}

# The same with a witness in each positive bag.
witness_grid <- function() {
  sizes <- expand.grid(n_target = 16, n_background = c(60, 120), beta = 25, gamma = 0.1,
                       psi = c(1, 3), witnesses = 1)
  grid <- atoms(sizes, c(0.1, 0.2))
  grid$control <- rep(list(dlfumi_control("exact")), nrow(grid))
  grid
}

# And, with what was chosen of these and averaged, two scores: `tune usps_score`.
score_grid <- function() {
  chosen <- readRDS(file.path(store, "tuned.rds"))$usps[["DL-FUMI, witnesses"]]$parameters
  grid <- data.frame(chosen[setdiff(names(chosen), c("control", "score"))], n_start = 8,
                     combine = "average", score = c("ratio", "difference"))
  grid$control <- list(chosen$control, chosen$control)
  grid
}

method_grids <- function(name) list(
  `DL-FUMI` = list("dlfumi", atoms(paper_sizes[[name]])),
  `DL-FUMI, exact codes` = list("dlfumi", exact_grid()),
  `DL-FUMI, witnesses` = list("dlfumi", witness_grid()),
  `mi-SVM` = list("mi_svm", expand.grid(
    type = c("mi", "MI"), stringsAsFactors = FALSE,
    kernel = c("linear 1", "linear 10", "rbf 1", "rbf 10", "rbf 100", "narrow 10"))),
  `EM-DD` = list("em_dd", expand.grid(scale_type = c("feature", "single", "fixed"),
                                      scale_init = c(NA, 3),
                                      normalize = c("unit", "none"),
                                      n_start = if (name == "usps") NA else 5,
                                      stringsAsFactors = FALSE)),
  MMDL = list("mmdl", expand.grid(n_clusters = c(5, 10, 20), cost = c(1, 10),
                                  assign0 = c(FALSE, TRUE))),
  DMIL = list("dmil", expand.grid(n_atoms = c(4, 12), beta = c(1, 5, 20), lambda = c(0.05, 0.005),
                                  pool = "noisy-or", stringsAsFactors = FALSE)),
  `GD-MIL` = list("dmil", expand.grid(n_atoms = c(4, 12), beta = c(1, 5, 20),
                                      kernel = c(NA, "rbf"), pool = "gmean",
                                      stringsAsFactors = FALSE)),
  MILES = list("miles", expand.grid(sigma = c(NA, 4, 1), cost = c(0.1, 1, 10, 100))),
  `MI-ACE` = list("mi_ace", expand.grid(ridge = c(0.001, 0.01, 0.1), type = c("ace", "smf"),
                                        normalize = c("none", "unit"), stringsAsFactors = FALSE)),
  `single instances` = list("sil", expand.grid(cost = 10^(-2:1), classifier = c("logistic", "svm"),
                                               stringsAsFactors = FALSE)))

# Experiments of version 0.2.0 take the first eight rows of suggest_grid() for each method. Of
# DL-FUMI they take two rows of white noise and six of the background's, as below; and, in a row of
# its own, all that suggest_grid() has.
suggested <- c(`DL-FUMI, noise chosen` = "dlfumi", `mi-SVM` = "mi_svm", `MI-ACE` = "mi_ace",
               `MI-HE` = "mi_he", MILES = "miles", `e-FUMI` = "e_fumi", DMIL = "dmil",
               `EM-DD` = "em_dd", `single instances` = "sil", `DL-FUMI, suggest_grid()` = "dlfumi",
               `DL-FUMI, mil_tune()` = "dlfumi")
own_choice <- c("DL-FUMI, suggest_grid()", "DL-FUMI, mil_tune()")

noise_grid <- function(x) {
  s <- fumi:::grid_scales(x)
  row <- function(noise, lambda, beta = NA, ridge = NA, norm = NA, n_target = 3, n_background = 8)
    data.frame(noise, lambda, n_target, n_background, beta, ridge, normalize = norm,
               normalize_after = norm, variant = "exact")
  white <- signif(0.1 * s$correlation, 2)
  rbind(row("white", white, n_target = 4, n_background = 15),
        row("white", white, signif(log(2) / s$residual, 2), n_target = 4, n_background = 15),
        row("background", 0.05, ridge = 0.1), row("background", 0.05, ridge = 0.001),
        row("background", 0.05, ridge = 0.1, norm = "unit"),
        row("background", 0.05, ridge = 0.001, norm = "unit"),
        row("background", 0.1, ridge = 0.001),
        row("background", 0.05, ridge = 0.001, n_target = 6, n_background = 15))
}

is_new <- function(name, method = "") paper_protocol(sub("^usps_.*", "usps", name))$seed != 2016 ||
  name == "olivetti_eyeglasses" && method %in% c("DL-FUMI, noise chosen", "DL-FUMI, mil_tune()")

suggested_grid <- function(name, method) {
  bags <- tuning_bags(name)
  if (method == "DL-FUMI, noise chosen") return(noise_grid(bags))
  grid <- suggest_grid(bags, get(suggested[[method]]))
  if (method %in% own_choice) grid else utils::head(grid, 8)
}

grids <- function(name) switch(
  name,
  usps_larger = list(`DL-FUMI` = list("dlfumi", atoms(larger_sizes, c(0.003, 0.006, 0.01)))),
  usps_score = list(`DL-FUMI, witnesses` = list("dlfumi", score_grid())),
  method_grids(name))

# The kernel, its width and the cost of an SVM are one choice.
svm_columns <- function(grid) {
  choice <- strsplit(grid$kernel, " ")
  grid$cost <- vapply(choice, function(k) as.numeric(k[2]), 0)
  narrow <- grepl("narrow", grid$kernel)
  grid$kernel <- ifelse(grepl("linear", grid$kernel), "linear", "rbf")
  grid$kpar <- lapply(narrow, function(n) if (n) list(sigma = 3) else list())
  grid
}

# Faces take the methods of the paper's own comparison, and MI-ACE; scenes have no DMIL and EM-DD.
methods_of <- function(name) {
  all_methods <- if (grepl("usps", name)) names(grids(name))
                 else if (startsWith(name, "hyper")) setdiff(names(suggested), c("DMIL", "EM-DD"))
                 else if (is_new(name)) setdiff(names(suggested),
                                             c("e-FUMI", "MILES", "EM-DD", "DL-FUMI, suggest_grid()"))
                 else c("DL-FUMI", "mi-SVM", "EM-DD", "MMDL", "DMIL", "MI-ACE",
                        c("DL-FUMI, noise chosen", "DL-FUMI, mil_tune()")[name == "olivetti_eyeglasses"])
  intersect(all_methods, strsplit(option("methods", paste(all_methods, collapse = ";")), ";")[[1]])
}

# ---- tune --------------------------------------------------------------------------------------

# Training bags of run 1: all digits; the eyeglasses; the first ten people, of whom each has two
# positive bags.
tuning_bags <- function(name) {
  lapply(tuning_draws(name), `[[`, "train")
}

tuning_draws <- function(name) {
  units <- switch(name, usps = , usps_larger = , usps_score = 0:9, olivetti_person = 1:10, 1)
  lapply(setNames(units, units), function(unit) paper_bags(sub("usps_.*", "usps", name), 1,
                                                           unit, data = data_of(name)))
}

tune_method <- function(name, method) {
  new <- is_new(name, method)
  fitter <- if (new) suggested[[method]] else grids(name)[[method]][[1]]
  grid <- if (new) suggested_grid(name, method) else grids(name)[[method]][[2]]
  if (fitter == "mi_svm" && !new) grid <- svm_columns(grid)
  message(name, ": ", method, ", ", nrow(grid), " configurations")
  set.seed(2016)
  tuned <- mil_tune(tuning_bags(name), get(fitter), grid,
                    folds = if (name == "olivetti_person") 2 else 3,
                    group = tuning_draws(name)[[1]]$bag_group,
                    level = if (new) "witness" else "witness-0.1",
                    rule = if (method == "DL-FUMI, mil_tune()") "one-se" else "best",
                    refit = FALSE, dir = file.path(dir, "tune", name, method))
  text <- vapply(seq_len(nrow(grid)), function(i) {
    row <- Filter(function(v) length(v) && !anyNA(v),
                  lapply(grid[names(grid) != "control"], `[[`, i))
    paste(names(row), vapply(row, function(v) paste(format(unlist(v)), collapse = " "), ""),
          collapse = ", ")
  }, "")
  tried <- data.frame(configuration = text, tuned$results[c("mean", "se", "failed")],
                      seconds = as.vector(tapply(tuned$folds$seconds, tuned$folds$configuration,
                                                 sum)),
                      chosen = seq_along(text) == tuned$best)
  list(fitter = fitter, parameters = tuned$parameters, tried = tried, measure = tuned$measure,
       seed = 2016,
       date = as.character(Sys.Date()), version = as.character(packageVersion("fumi")))
}

tune_all <- function() {
  file <- file.path(store, "tuned.rds")
  tuned <- if (file.exists(file)) readRDS(file) else list()
  for (name in experiments) {
    for (method in methods_of(name)) {
      tuned[[name]][[method]] <- tune_method(name, method)
      if (name == "usps_score")
        tuned$usps[[method]]$parameters$score <- tuned[[name]][[method]]$parameters$score
      saveRDS(tuned, file, compress = "xz")
    }
  }
}

# ---- run ---------------------------------------------------------------------------------------

# paper_methods() reads the parameters that the package has stored: install it again after a new
# choice.
run_experiment <- function(name) {
  known <- vapply(paper_methods(name), `[[`, "", "method")
  asked <- if (nzchar(option("methods", ""))) strsplit(option("methods"), ";")[[1]] else known
  used <- if (is.null(seed)) paper_protocol(name)$seed else seed
  result <- fumi:::compact_experiment(paper_experiment(
    name, run_settings(name, intersect(known, asked)), runs = runs, seed = used,
    data = data_of(name), dir = file.path(dir, "run", paste(name, used))))
  changed <- c(if (used != paper_protocol(name)$seed) paste0("--seed=", used),
               if (!identical(runs, 10)) paste0("--runs=", option("runs")))
  result$command <- paste(c("Rscript run_all.R", changed, "run", name), collapse = " ")
  file <- file.path(store, fumi:::result_file(name, used))
  if (file.exists(file)) result <- beside(result, readRDS(file))
  saveRDS(result, file, compress = "xz")
  result$scores <- lapply(result$scores, fumi:::whole_score)
  described <- data.frame(paper_table(result), seed = result$seed, version = result$version,
                          date = paste(result$date, collapse = " "), check.names = FALSE)
  utils::write.csv(described, file.path(store, sub("rds$", "csv", basename(file))),
                   row.names = FALSE)
  utils::write.csv(paper_tuning(name), file.path(store, paste0(name, "-tuning.csv")),
                   row.names = FALSE)
  print(paper_table(result))
}

# The rows of the fresh digits, named before their draws (seed 2030) were scored: three methods with
# the parameters that they had, and the candidate that `fresh_digits.R` chose, to be compared by its
# raw scores, one row, with the better of mi-SVM's two.
fresh_rows <- c("mi-SVM tuned", "MI-ACE tuned", "DL-FUMI, witnesses tuned, averaged",
                "DL-FUMI, centred chosen")

run_settings <- function(name, methods) {
  all <- Filter(function(s) s$method %in% methods, paper_methods(name))
  if (name == "usps" && identical(seed, 2030L))
    return(Filter(function(s) paste(s$method, s$setting) %in% fresh_rows, all))
  wanted <- strsplit(option("settings", ""), ";")[[1]]
  if (length(wanted)) Filter(function(s) s$setting %in% wanted, all) else all
}

# What was just run, beside what is stored of other methods.
beside <- function(new, old) {
  stays <- !old$tasks$method %in% new$tasks$method
  new$tasks <- rbind(new$tasks, old$tasks[stays, ])
  new$scores <- c(new$scores, old$scores[stays])
  new$predicted <- rbind(new$predicted,
                         old$predicted[!old$predicted$method %in% new$predicted$method, ])
  others <- Filter(function(s) !s$method %in% vapply(new$settings, `[[`, "", "method"),
                   old$settings)
  if (length(others)) {
    new[c("seconds", "training_seconds")] <- Map(`+`, new[c("seconds", "training_seconds")],
                                                 old[c("seconds", "training_seconds")])
    new$date <- unique(c(old$date, new$date))
  }
  new$settings <- c(new$settings, others)
  new$told <- old$told
  new
}

# ---- told --------------------------------------------------------------------------------------

# The chosen settings with exact codes, for a fitter that knows the truth about each training
# image; three runs.
run_told <- function() {
  knowing <- function(b, ...) dlfumi(b, ..., instance_prior = as.numeric(as.data.frame(b)$truth))
  settings <- Filter(function(s) s$method == "DL-FUMI, exact codes", paper_methods("usps"))
  settings <- lapply(settings,
                     function(s) utils::modifyList(s, list(method = "DL-FUMI, told the targets",
                                                           fitter = knowing)))
  told <- fumi:::compact_experiment(paper_experiment("usps", settings, runs = 3))
  told[c("scores", "settings")] <- NULL
  told$command <- "Rscript run_all.R told usps"
  file <- file.path(store, "usps.rds")
  result <- readRDS(file)
  result$told <- told
  saveRDS(result, file, compress = "xz")
  print(paper_table(told))
}

if ("tune" %in% stages) tune_all()
if ("run" %in% stages) for (name in experiments) run_experiment(name)
if ("told" %in% stages && "usps" %in% experiments) run_told()
