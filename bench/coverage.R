# Coverage of the intervals, and size of the paired tests, of mil_benchmark(), by simulation:
#
#   Rscript bench/coverage.R [replicates] [bags] [folds] [repeats]
#
# 40 bags of 4 instances, half of them positive. One instance of each positive bag is shifted by
# `shift` in all of ten features: 0 is noise, 0.6 a weak signal. Each of two methods, the
# difference of means and ridge regression of the labels of bags on their instances, is run on the
# first five features and on the last five: these two are equally good, so the null hypothesis
# holds. The fits are a few lines of R, to be quick; folds, pairs, variances, intervals and tests
# are those of the package. The truth of noise is 0.5; of the signal, the mean over all replicates
# of both halves. Rows are appended to bench/results/coverage.csv.

library(fumi)
given <- as.integer(commandArgs(TRUE))
setting <- replace(c(500L, 40L, 5L, 5L), seq_along(given), given)
names(setting) <- c("replicates", "bags", "folds", "repeats")
size <- 4
seed <- 2026

difference <- function(x, positive) colMeans(x[positive, ]) - colMeans(x[!positive, ])
ridge <- function(x, positive) solve(crossprod(x) + diag(3 * size, ncol(x)),
                                     crossprod(x, positive - mean(positive)))
methods <- list(difference = difference, ridge = ridge)
halves <- list(first = 1:5, last = 6:10)

# The scores of all held-out bags of each method and half, as mil_benchmark() keeps them.
held_out <- function(x, bag, label, folds) {
  places <- expand.grid(fold = seq_len(setting[["folds"]]), run = seq_len(ncol(folds)))
  one <- function(fit, columns) do.call(rbind, Map(function(fold, run) {
    held <- folds[bag, run] == fold
    score <- x[held, columns] %*% fit(x[!held, columns], label[bag[!held]])
    best <- apply(matrix(score, size), 2, max)
    data.frame(bag = unique(bag[held]), run, fold, positive = label[unique(bag[held])],
               score = best)
  }, places$fold, places$run))
  lapply(methods, function(fit) lapply(halves, function(columns) one(fit, columns)))
}

replicate_once <- function(shift) {
  n <- setting[["bags"]]
  label <- rep(c(TRUE, FALSE), each = n / 2)
  bag <- rep(seq_len(n), each = size)
  x <- matrix(rnorm(n * size * 10), ncol = 10)
  target <- label[bag] & !duplicated(bag)
  x[target, ] <- x[target, ] + shift
  folds <- fumi:::repeated_folds(setting[["folds"]], setting[["repeats"]],
                                 list(bags(x, bag, label)), NULL)
  do.call(rbind, lapply(held_out(x, bag, label, folds), function(scores) {
    pairs <- lapply(scores, fumi:::fold_pairs)
    rows <- lapply(names(halves), function(half)
      fumi:::benchmark_row(half, scores[[half]], pairs[[half]], list(), NA, 0.95))
    p <- fumi:::benchmark_tests(pairs, scores[[1]], "none")$p
    data.frame(do.call(rbind, rows)[c("auc", "low", "high")], p)
  }))
}

simulate <- function(shift) {
  all <- do.call(rbind, lapply(seq_len(setting[["replicates"]]), function(i) replicate_once(shift)))
  method <- rep(rep(names(methods), each = 2), setting[["replicates"]])
  do.call(rbind, lapply(names(methods), function(m) {
    s <- all[method == m, ]
    truth <- if (shift == 0) 0.5 else mean(s$auc)
    data.frame(method = m, shift, truth = round(truth, 4),
               coverage = mean(s$low <= truth & truth <= s$high),
               size = mean(s$p[c(TRUE, FALSE)] < 0.05))
  }))
}

set.seed(seed)
rows <- do.call(rbind, lapply(c(0, 0.6), simulate))
rows <- data.frame(t(setting), rows, seed, date = as.character(Sys.Date()),
                   version = as.character(packageVersion("fumi")),
                   command = paste("Rscript bench/coverage.R", paste(given, collapse = " ")))
print(rows, row.names = FALSE)
file <- "bench/results/coverage.csv"
write.table(rows, file, sep = ",", row.names = FALSE, append = file.exists(file),
            col.names = !file.exists(file), qmethod = "double")
