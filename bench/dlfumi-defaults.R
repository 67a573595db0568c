# The study behind the defaults of dlfumi(): which of a few configurations finds the targets in
# held-out bags of several kinds of data, by cross-validation over the training bags of each. Test
# images of the paper's experiments take no part, and runs of the stored results are not used.
#
#   Rscript bench/dlfumi-defaults.R [DIR]
#
# DIR holds hyper-<name>.rds: list(x, truth, nrow); without it there are no spectra.
#
# Result: bench/results/dlfumi-defaults.csv, one row per set and configuration: `instance`, the AUC
# of the instances of held-out bags by their truth; `bag`, that of the bags; `top`, the share of
# positive bags whose first instance is a target. Needs the package installed.

library(fumi)

seed <- 2026

# ---- data ----------------------------------------------------------------------------------------

# At most `n` instances of each bag, its targets first among them.
some_instances <- function(b, n = 12) {
  d <- as.data.frame(b)
  row <- unlist(lapply(split(seq_along(d$bag), factor(d$bag, unique(d$bag))), function(i)
    utils::head(i[order(!d$truth[i], stats::runif(length(i)))], n)))
  bags(as.matrix(b)[row, ], d$bag[row], d$label[row], truth = d$truth[row])
}

# Blocks of 5 x 5 pixels: half of those with a target, and 60 without.
block_bags <- function(file) {
  scene <- readRDS(file)
  pixel <- seq_len(ncol(scene$x)) - 1
  block <- paste((pixel %% scene$nrow) %/% 5, (pixel %/% scene$nrow) %/% 5)
  positive <- tapply(scene$truth > 0, block, any)
  kept <- c(sample(names(which(positive)), ceiling(sum(positive) / 2)),
            sample(names(which(!positive)), 60))
  row <- which(block %in% kept)
  row <- row[order(match(block[row], kept))]
  bags(t(scene$x[, row]), block[row], as.integer(positive[kept]), truth = scene$truth[row] > 0)
}

data_sets <- function(dir) {
  set.seed(seed)
  digits <- lapply(c(usps0 = 0, usps3 = 3, usps8 = 8), function(digit)
    some_instances(paper_bags("usps", 11, digit)$train))
  spectra <- if (!is.null(dir)) lapply(c(sandiego = "sandiego", hydice = "hydice"), function(name)
    block_bags(file.path(dir, paste0("hyper-", name, ".rds"))))
  c(digits, spectra,
    list(eyeglasses = paper_bags("olivetti_eyeglasses", 11)$train,
         person = paper_bags("olivetti_person", 11, 3)$train,
         sim = sim_bags(), sim_noisy = sim_bags(60, 6, noise = .5),
         sim_images = sim_bags(40, 6, image_dim = c(12, 12), n_target = 2, n_background = 8,
                               noise = .3)))
}

# ---- configurations ------------------------------------------------------------------------------

rows <- function(variant, lambda, n_target = 4, n_background = 15, beta = 30)
  expand.grid(variant = variant, lambda = lambda, n_target = n_target, n_background = n_background,
              beta = beta, stringsAsFactors = FALSE)
configurations <- rbind(
  rows("paper", c(.001, .003, .01, .03)), rows("paper", .01, 8, 30), rows("exact", c(.05, .1)))

# ---- measures ------------------------------------------------------------------------------------

auc <- function(score, positive) as.numeric(pROC::auc(positive, score, quiet = TRUE,
                                                      direction = "<"))

cross_validated <- function(b, configuration) {
  set.seed(seed)
  fold <- bag_folds(b, min(3, sum(b$label)))
  parts <- lapply(unique(fold), function(k) {
    set.seed(seed + k)
    fit <- suppressWarnings(do.call(dlfumi, c(list(b[fold != k]), configuration, calibrate = 0)))
    held <- b[fold == k]
    truth <- as.data.frame(held)$truth
    s <- predict(fit, held)
    in_positive <- held$label[match(s$.bag, held$ids)]
    first <- tapply(which(in_positive), as.character(s$.bag[in_positive]), function(i)
      truth[i][which.max(s$.score[i])])
    data.frame(instance = auc(s$.score, truth),
               bag = auc(predict(fit, held, level = "bag")$.score, held$label), top = mean(first))
  })
  colMeans(do.call(rbind, parts))
}

study <- function(dir) {
  sets <- data_sets(dir)
  table <- do.call(rbind, lapply(names(sets), function(set) {
    message(set)
    measured <- t(vapply(seq_len(nrow(configurations)), function(i)
      cross_validated(sets[[set]], configurations[i, ]), numeric(3)))
    data.frame(set = set, configurations, round(measured, 3))
  }))
  table$version <- as.character(utils::packageVersion("fumi"))
  table$date <- as.character(Sys.Date())
  utils::write.csv(table, "bench/results/dlfumi-defaults.csv", row.names = FALSE)
  by <- table[names(configurations)]
  print(stats::aggregate(table[c("instance", "bag", "top")], by, mean))
}

options(fumi.progress = FALSE)
dir <- commandArgs(TRUE)
study(if (length(dir)) dir)
