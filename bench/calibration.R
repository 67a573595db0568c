#!/usr/bin/env Rscript
# How well calibrated the probabilities of bags are: for each method, problem and size of bags, the
# Brier score on new bags, and how much lower it would be with the best monotone transformation of
# the same scores (isotonic regression on the new bags themselves, which no fit can know). The goal
# is a mean of at most 0.02 more over five training sets. Replaces the rows of what it ran in
# bench/results/calibration.csv, and prints for each method the mean and the worst of these means.
# The package must be installed.
#
#     Rscript bench/calibration.R                       # all problems
#     Rscript bench/calibration.R shift cluster         # or some of them
library(fumi)
options(fumi.progress = FALSE)
seeds <- 52101:52105

methods <- list(
  dlfumi = list(dlfumi, n_target = 1, n_background = 5), `dlfumi defaults` = list(dlfumi),
  dmil = list(dmil), `dmil gmean` = list(dmil, pool = "gmean"),
  diverse_density = list(diverse_density, n_start = 5),
  em_dd = list(em_dd, n_start = 5), mi_svm = list(mi_svm),
  `mi_svm MI rbf` = list(mi_svm, type = "MI", kernel = "rbf"),
  miles = list(miles), e_fumi = list(e_fumi),
  mi_he = list(mi_he, n_background = 5), mi_ace = list(mi_ace),
  mi_smf = list(mi_ace, type = "smf"),
  mmdl = list(mmdl), `mmdl bag route` = list(mmdl, bag_route = TRUE), sil = list(sil))

# Each problem gives features of instances, of which those of `target` are targets; `part` is 1 for
# training bags and 2 for new ones, which share no image. No image is in two training bags, because
# these would not be independent; new bags share images, because there are more bags than images.
problems <- list(
  # a shift of two of eight features
  shift = function(target, part) {
    x <- matrix(rnorm(8 * length(target)), ncol = 8) + 3
    x[target, 1:2] <- x[target, 1:2] + 2.5
    x
  },
  # sparse mixtures of four background atoms, with a target atom in targets
  dictionary = function(target, part) {
    n <- length(target)
    codes <- cbind(target * runif(n, 0.4, 1.2), matrix(rexp(4 * n) * rbinom(4 * n, 1, 0.4), n))
    codes %*% atoms + rnorm(n * 20, sd = 0.12)
  },
  # three clusters of background, and a small one between them
  cluster = function(target, part) {
    centre <- rbind(c(3, 0), c(0, 3), c(3, 3))[sample(3, length(target), TRUE), ]
    centre[target, ] <- 1.6
    cbind(centre, 1, 1, 1) + rnorm(5 * length(target)) * ifelse(target, 0.35, 0.6)
  },
  # eights among other digits
  usps = function(target, part) {
    mine <- list(1:4649, 4650:9298)[[part]]
    of <- function(is_eight, n) sample(mine[(usps$digit[mine] == 8) == is_eight], n,
                                       replace = part == 2)
    image <- integer(length(target))
    image[target] <- of(TRUE, sum(target))
    image[!target] <- of(FALSE, sum(!target))
    t(matrix(usps_images(image), 256))
  })
set.seed(77)
atoms <- matrix(rnorm(100), 5)
atoms <- atoms / sqrt(rowSums(atoms^2))
n_new <- 2000

# Half of the bags are positive, and hold a target with probability 0.15 for each instance, but at
# least one.
make_bags <- function(problem, n_bags, size, part) {
  positive <- rep(c(TRUE, FALSE), each = n_bags / 2)
  target <- unlist(lapply(positive, function(y)
    sample.int(size) <= if (y) max(1, rbinom(1, size, 0.15)) else 0))
  bags(problems[[problem]](target, part), rep(seq_len(n_bags), each = size), positive)
}

isotonic_brier <- function(score, positive) {
  up <- order(score)
  mean((ave(isoreg(positive[up])$yf, score[up]) - positive[up])^2)
}

measure <- function(problem, size, seed, method) {
  set.seed(seed)
  train <- make_bags(problem, 100, size, 1)
  new <- make_bags(problem, n_new, size, 2)
  set.seed(seed)
  fit <- suppressWarnings(do.call(methods[[method]][[1]], c(list(train), methods[[method]][-1])))
  score <- predict(fit, new, level = "bag")$.score
  p <- predict(fit, new, type = "prob", level = "bag")[[3]]
  best <- isotonic_brier(score, new$label)
  data.frame(problem, size, method, seed, auc = as.numeric(mil_roc(score, new$label)$auc),
             brier = mean((p - new$label)^2), best, excess = mean((p - new$label)^2) - best,
             negatives = mean(p[!new$label]), source = fit$calibration$source,
             kept = fit$calibration$kept,
             version = as.character(packageVersion("fumi")), date = as.character(Sys.Date()),
             command = "Rscript bench/calibration.R")
}

file <- file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))),
                  "results", "calibration.csv")
asked <- commandArgs(TRUE)
if (!length(asked)) asked <- names(problems)
for (problem in asked) {
  cases <- expand.grid(method = names(methods), size = c(4, 20), seed = seeds,
                       stringsAsFactors = FALSE)
  for (i in seq_len(nrow(cases))) {
    row <- measure(problem, cases$size[i], cases$seed[i], cases$method[i])
    number <- c("auc", "brier", "best", "excess", "negatives")
    row[number] <- lapply(row[number], round, 4)
    cat(sprintf("%-10s %2d %-16s auc %.3f brier %.3f excess %.3f\n", problem, row$size, row$method,
                row$auc, row$brier, row$excess))
    before <- if (file.exists(file)) read.csv(file)
    same <- before$problem == row$problem & before$size == row$size &
      before$method == row$method & before$seed == row$seed
    write.csv(rbind(before[!same, ], row), file, row.names = FALSE)
  }
}

all <- aggregate(cbind(excess, brier, best) ~ problem + size + method, read.csv(file), mean)
print(data.frame(mean = tapply(all$excess, all$method, mean),
                 worst = tapply(all$excess, all$method, max)), digits = 2)
