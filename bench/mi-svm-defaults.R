# The study behind the defaults of mi_svm(): which kernel, cost, class weights and type do well on
# several data sets, by cross-validation over whole bags of their training bags. MUSK1 is not used
# for the choice; it shows its effect on other data.
#
#   Rscript bench/mi-svm-defaults.R choose DIR    # DIR holds mil-<name>.rds: list(x, bag, label)
#   Rscript bench/mi-svm-defaults.R musk1 FILE    # FILE is musk1norm.svm of the CRAN source
#   package milr, vignettes/
#
# Results: bench/results/mi-svm-defaults.csv, bench/results/mi-svm-musk1.csv. Needs the package
# installed.

library(fumi)

seed <- 2026
results <- "bench/results"

# ---- data ----------------------------------------------------------------------------------------

# At most `n_bags` bags of each label and `n_instances` instances of a bag, at random.
some_bags <- function(x, bag, label, n_bags = 50, n_instances = 10) {
  first <- label[!duplicated(bag)]
  ids <- unique(bag)
  kept <- unlist(lapply(split(ids, first), function(i) i[sample.int(length(i),
                                                                    min(n_bags, length(i)))]))
  row <- unlist(lapply(kept, function(id) {
    of_bag <- which(bag == id)
    of_bag[sample.int(length(of_bag), min(n_instances, length(of_bag)))]
  }))
  bags(x[row, ], bag[row], label[row])
}

real_bags <- function(file) {
  d <- readRDS(file)
  some_bags(d$x, d$bag, unname(d$label[as.character(d$bag)]))
}

digit_bags <- function(digit) {
  b <- paper_bags("usps", 1, digit)$train
  d <- as.data.frame(b)
  some_bags(as.matrix(b), d$bag, d$label, n_bags = 25)
}

data_sets <- function(dir) {
  set.seed(seed)
  c(sapply(c("musk2", "fox", "tiger", "elephant"), function(name)
      real_bags(file.path(dir, paste0("mil-", name, ".rds"))), simplify = FALSE),
    sapply(c(usps1 = 1, usps4 = 4, usps8 = 8), digit_bags, simplify = FALSE),
    list(sim = sim_bags(60, 6), sim_noisy = sim_bags(60, 6, n_features = 50, noise = .3),
         sim_wide = sim_bags(40, 15, n_features = 100, noise = .1)))
}

# ---- choose --------------------------------------------------------------------------------------

configurations <- expand.grid(type = c("mi", "MI"), kernel = c("linear", "rbf", "rbf, 3 sigma"),
                              cost = c(1, 10, 100),
                              class_weights = c("none", "balanced"), stringsAsFactors = FALSE)

fit_one <- function(b, configuration) {
  kernel <- sub(",.*", "", configuration$kernel)
  kpar <- list()
  if (kernel != configuration$kernel) {
    x <- as.matrix(b)
    unit <- x / pmax(sqrt(rowSums(x^2)), 1e-300)
    kpar <- list(sigma = 3 / fumi:::median_square(fumi:::squared_distances(unit)))
  }
  mi_svm(b, type = configuration$type, kernel = kernel, kpar = kpar, cost = configuration$cost,
         class_weights = configuration$class_weights, progress = FALSE)
}

auc_of <- function(score, positive) as.numeric(pROC::auc(pROC::roc(positive, score,
                                                                   direction = "<", quiet = TRUE)))

# Of held-out bags: AUC, and the share on the right side of the boundary of the SVM.
cross_validated <- function(b, fold, configuration) {
  parts <- lapply(unique(fold), function(k) {
    fit <- fit_one(b[fold != k], configuration)
    data.frame(score = predict(fit, b[fold == k], level = "bag")$.score,
               positive = b$label[fold == k])
  })
  bag <- do.call(rbind, parts)
  data.frame(auc = auc_of(bag$score, bag$positive),
             accuracy = mean((bag$score > 0) == bag$positive))
}

choose <- function(dir) {
  sets <- data_sets(dir)
  rows <- list()
  for (name in names(sets)) {
    set.seed(seed)
    fold <- bag_folds(sets[[name]], 3)
    for (i in seq_len(nrow(configurations))) {
      seconds <- system.time(one <- cross_validated(sets[[name]], fold,
                                                    configurations[i, ]))[["elapsed"]]
      rows[[length(rows) + 1]] <- data.frame(set = name, configurations[i, ], one,
                                             seconds = round(seconds, 2))
    }
    message(name)
  }
  table <- do.call(rbind, rows)
  table[c("auc", "accuracy")] <- round(table[c("auc", "accuracy")], 4)
  utils::write.csv(table, file.path(results, "mi-svm-defaults.csv"), row.names = FALSE)
  print(summarised(table))
}

# The mean over sets, best first.
summarised <- function(table) {
  by <- table[c("type", "kernel", "cost", "class_weights")]
  mean <- stats::aggregate(table[c("auc", "accuracy", "seconds")], by, base::mean)
  mean[order(-mean$auc), ]
}

# ---- MUSK1 ----------------------------------------------------------------------------------

# Lines "instance:bag:label 1:value ..." after those that begin with #.
read_musk1 <- function(file) {
  line <- grep("^#", readLines(file), value = TRUE, invert = TRUE)
  key <- do.call(rbind, strsplit(sub(" .*", "", line), ":"))
  value <- strsplit(gsub("[0-9]+:", "", sub("^[^ ]* ", "", line)), " ")
  x <- t(vapply(value, as.numeric, numeric(166)))
  bags(x, key[, 2], key[, 3] == "1")
}

# Ten folds of bags, five times: the class that predict() gives, the side of the boundary, and the
# AUC.
musk1 <- function(file) {
  b <- read_musk1(file)
  fitters <- list(
    "mi_svm(), defaults of 0.1.0" = function(b) mi_svm(b, type = "mi", kernel = "linear", cost = 1,
                                                       class_weights = "none"),
    "mi_svm()" = function(b) mi_svm(b),
    "mi_svm(type = \"mi\")" = function(b) mi_svm(b, type = "mi"),
    "dlfumi()" = function(b) dlfumi(b))
  rows <- list()
  for (name in names(fitters)) for (repetition in 1:5) {
    set.seed(seed + repetition)
    one <- musk1_folds(b, fitters[[name]])
    rows[[length(rows) + 1]] <- data.frame(method = name, repetition = repetition, one)
  }
  table <- do.call(rbind, rows)
  utils::write.csv(table, file.path(results, "mi-svm-musk1.csv"), row.names = FALSE)
  print(stats::aggregate(cbind(class, boundary, auc) ~ method, table, mean))
}

musk1_folds <- function(b, fitter) {
  fold <- bag_folds(b, 10)
  parts <- lapply(1:10, function(k) {
    fit <- suppressWarnings(fitter(b[fold != k]))
    held <- b[fold == k]
    called <- predict(fit, held, type = "class", level = "bag")$.pred_class
    data.frame(score = predict(fit, held, level = "bag")$.score, called = called == fit$classes[2],
               positive = held$label)
  })
  all <- do.call(rbind, parts)
  data.frame(class = round(mean(all$called == all$positive), 4),
             boundary = round(mean((all$score > 0) == all$positive), 4),
             auc = round(auc_of(all$score, all$positive), 4))
}

options(fumi.progress = FALSE)
arguments <- commandArgs(TRUE)
if (arguments[1] == "choose") choose(arguments[2]) else musk1(arguments[2])
