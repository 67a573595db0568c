# The benchmarks of the field: MUSK1, MUSK2, fox, tiger and elephant, by repeated ten-fold
# cross-validation over whole bags (`mil_benchmark()`), every method with its defaults.
#
#   Rscript run_benchmarks.R --data=folder [--dir=folder] [--store=folder] [--repeats=n] [set ...]
#
# `data` holds mil_<set>.rds, a list of `x` (instances x features), `bag` and `label` (0/1, named by
# bag), and for MUSK1 musk1norm.svm of the CRAN source package milr (folder vignettes). Every fold
# leaves a file in `dir`, so that a run that was stopped goes on. `store` is where benchmarks.rds is.

library(fumi)

given <- commandArgs(TRUE)
option <- function(name, default) {
  found <- sub(paste0("^--", name, "="), "", grep(paste0("^--", name, "="), given, value = TRUE))
  if (length(found)) found else default
}
dir <- option("dir", "replication")
store <- option("store", dir)
repeats <- as.integer(option("repeats", "10"))
sets <- grep("^--", given, value = TRUE, invert = TRUE)
if (!length(sets)) sets <- c("musk1", "fox", "tiger", "elephant", "musk2")
seed <- 2028
dir.create(store, recursive = TRUE, showWarnings = FALSE)

read_musk1 <- function(file) {
  line <- grep("^#", readLines(file), value = TRUE, invert = TRUE)
  key <- do.call(rbind, strsplit(sub(" .*", "", line), ":"))
  value <- strsplit(gsub("[0-9]+:", "", sub("^[^ ]* ", "", line)), " ")
  list(x = t(vapply(value, as.numeric, numeric(166))), bag = key[, 2], label = key[, 3] == "1")
}

# Every feature has mean 0 and variance 1 over all instances; no label takes part in that.
bags_of <- function(set) {
  d <- if (set == "musk1") read_musk1(file.path(option("data", "."), "musk1norm.svm"))
       else readRDS(file.path(option("data", "."), paste0("mil_", set, ".rds")))
  label <- if (set == "musk1") d$label else d$label[as.character(d$bag)]
  x <- scale(d$x)
  bags(x[, apply(x, 2, function(v) all(is.finite(v)))], d$bag, as.integer(label))
}

methods <- list(`MI-SVM` = mi_svm, `mi-SVM` = list(mi_svm, type = "mi"), MILES = miles, DMIL = dmil,
                `EM-DD` = em_dd, `DL-FUMI` = dlfumi,
                `DL-FUMI, noise of the background` = list(dlfumi, noise = "background"),
                `MI-ACE` = mi_ace, `single instances` = sil)

run_set <- function(set) {
  set.seed(seed)
  compared <- mil_benchmark(bags_of(set), methods, folds = 10, repeats = repeats,
                            dir = file.path(dir, "benchmarks", paste0(set, repeats)))
  scores <- compared$scores
  of_run <- aggregate(called == positive ~ method + run, scores, mean)
  names(of_run)[3] <- "right"
  spread <- tapply(of_run$right, of_run$method, sd)
  r <- compared$results
  data.frame(set, r[c("method", "auc", "low", "high", "accuracy")], sd = spread[r$method],
             repeats = repeats, seconds = r$seconds, row.names = NULL)
}

file <- file.path(store, "benchmarks.rds")
for (set in sets) {
  old <- if (file.exists(file)) readRDS(file)
  new <- run_set(set)
  print(new)
  results <- rbind(old$results[old$results$set != set, ], new)
  saveRDS(list(results = results, seed = seed, version = as.character(packageVersion("fumi")),
               date = unique(c(old$date, as.character(Sys.Date()))),
               machine = paste(R.version$platform, R.version.string),
               command = "Rscript run_benchmarks.R"), file, compress = "xz")
}
