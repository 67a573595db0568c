#!/usr/bin/env Rscript
# Repeats the experiments of Jiao and Zare (2016) on the data that come with the package:
# prints tables beside the paper's numbers and draws figures into results/. With --full,
# ten repetitions and all people, as the paper has it; without, a small run of one
# repetition. Nothing is chosen by looking at test images: all parameters are the paper's.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(gsub("~+~", " ", script, fixed = TRUE)), "setup.R"), chdir = TRUE)

full <- identical(commandArgs(TRUE), "--full")
if (length(commandArgs(TRUE)) > 0 && !full) stop("usage: Rscript tools/reproduce.R [--full]", call. = FALSE)

# ---- protocols ----------------------------------------------------------------------

# `n_targets` has one entry for each positive bag; `paper` holds per cent.
digits <- list(
  bags = list(n_targets = rep(1, 50), size = 4, n_negative = 50, negative_size = 50), n_test = 200,
  fit = list(n_target = 4, n_background = 15, gamma = 0.1, beta = 25, lambda = 0.001),
  paper = 86.5)
eyeglasses <- list(
  bags = list(n_targets = rep(2, 25), size = 6, n_negative = 15, negative_size = 6),
  fit = list(n_target = 3, n_background = 8, gamma = 0.001, beta = 30, lambda = 0.001),
  fpr = c(0.01, 0.184, 0.419), paper = rbind(confidence = c(97.5, 100, 100)))
person <- list(
  bags = list(n_targets = c(2, 3), size = 20, n_negative = 3, negative_size = 60), n_other = 100,
  fit = list(n_target = 3, n_background = 20, gamma = 0.001, beta = 50, lambda = 0.001),
  fpr = c(0.029, 0.05, 0.12), paper = rbind(confidence = c(78.9, 91.5, 95.5), subACE = c(94.6, 100, 100)))

people <- if (full) 1:40 else 1:5
repetitions <- if (full) 1:10 else 1

# ---- bags ---------------------------------------------------------------------------

pick <- function(from, n = length(from)) from[sample.int(length(from), n)]

# Positive bags with some of the `target` images among others, negative bags of others only;
# no image is used twice. `images` is usps_images() or olivetti_images().
draw_bags <- function(images, target, other, protocol) {
  with(protocol, {
    positive <- seq_along(n_targets)
    negative <- length(positive) + seq_len(n_negative)
    bag <- c(rep(positive, n_targets), rep(positive, size - n_targets), rep(negative, each = negative_size))
    used <- c(pick(target, sum(n_targets)), pick(other, length(bag) - sum(n_targets)))
    list(used = used, bags = bags(images(used), bag, rep(1:0, c(length(positive), n_negative))))
  })
}

# ---- digits -------------------------------------------------------------------------

run_digits <- function(repetition) {
  set.seed(repetition)
  test <- unlist(lapply(0:9, function(d) pick(which(usps$digit == d), digits$n_test)))
  rest <- setdiff(seq_along(usps$digit), test)
  train <- lapply(setNames(0:9, 0:9), function(d) {
    is_target <- usps$digit[rest] == d
    draw_bags(usps_images, rest[is_target], rest[!is_target], digits$bags)$bags
  })
  one <- function(scale) {
    set.seed(repetition)
    model <- do.call(one_vs_rest, c(list(train), digits$fit, scale = scale))
    list(fits = model$fits, truth = usps$digit[test], predicted = predict(model, usps_images(test))$.pred_class,
         score = predict(model, usps_images(test), type = "score"))
  }
  list(`raw scores` = one(FALSE), `scale = TRUE` = one(TRUE))
}

report_digits <- function(runs) {
  accuracy <- sapply(runs, function(run) sapply(run, function(r) 100 * mean(r$predicted == r$truth)))
  cat("\nDigits (USPS), per cent of", 10 * digits$n_test, "test digits recognised:\n")
  print_table(cbind(paper = c(digits$paper, NA), here = rowMeans(accuracy), sd = apply(accuracy, 1, sd)))
  for (kind in rownames(accuracy)) {
    confusion <- Reduce(`+`, lapply(runs, function(run) table(digit = run[[kind]]$truth, run[[kind]]$predicted)))
    cat("\nDigits recognised as each digit, ", kind, ":\n", sep = "")
    print(cbind(confusion, `%` = round(100 * diag(confusion) / rowSums(confusion), 1)))
  }
  first <- runs[[1]][["raw scores"]]
  figure("digits-atoms", 10, 5.5, draw_dictionaries(first$fits))
  curves <- lapply(0:9, function(d) mil_roc(first$score[[paste0(".score_", d)]], first$truth == d))
  names(curves) <- paste("digit", 0:9)
  figure("digits-roc", 7, 5, do.call(plot, c(curves, main = "Each digit against the others")))
}

# One row a class: target atoms, a gap, background atoms, each on grey limits symmetric about 0.
draw_dictionaries <- function(fits) {
  n_atoms <- ncol(fits[[1]]$dictionary)
  par(mar = c(0, 0, 1.5, 0))
  plot(NA, xlim = c(0, n_atoms + 1.5), ylim = c(-length(fits), 0), asp = 1, axes = FALSE, xlab = "", ylab = "")
  title("Target atoms (left) and background atoms of each digit", font.main = 1)
  for (row in seq_along(fits)) {
    text(0, 0.5 - row, names(fits)[row])
    for (k in seq_len(n_atoms)) {
      atom <- fits[[row]]$dictionary[, k]
      left <- k - 0.5 + 0.5 * (k > fits[[row]]$n_target)
      picture <- matrix((1 + atom / max(abs(atom))) / 2, fits[[row]]$image_dim[1])
      rasterImage(picture, left, -row, left + 0.95, 0.95 - row, interpolate = FALSE)
    }
  }
}

# ---- faces --------------------------------------------------------------------------

# A fit, and its ROC curves on test images by both detectors.
run_faces <- function(protocol, train, test, truth) {
  fit <- do.call(dlfumi, c(list(train), protocol$fit, keep_background = TRUE))
  curve <- function(detector) {
    mil_roc(predict(fit, olivetti_images(test), detector = detector)$.score, truth)
  }
  list(fit = fit, roc = list(confidence = curve("confidence"), subACE = curve("subace")))
}

run_eyeglasses <- function(repetition) {
  set.seed(repetition)
  worn <- which(olivetti$eyeglasses)
  train <- draw_bags(olivetti_images, worn, which(!olivetti$eyeglasses), eyeglasses$bags)
  test <- setdiff(seq_along(olivetti$person), train$used)
  run_faces(eyeglasses, train$bags, test, test %in% worn)
}

# The person's first five images are for training, the others for the test.
run_person <- function(k, repetition) {
  set.seed(100 * k + repetition)
  own <- which(olivetti$person == k)
  other <- which(olivetti$person != k)
  train <- draw_bags(olivetti_images, own[1:5], other, person$bags)
  test <- c(own[6:10], pick(setdiff(other, train$used), person$n_other))
  run_faces(person, train$bags, test, test %in% own)
}

# Detectors x rates in per cent, and the AUC.
rates <- function(run, fpr) {
  cbind(100 * tpr_at(run$roc, fpr), AUC = vapply(run$roc, function(r) as.numeric(r$auc), 0))
}

mean_of <- function(tables) Reduce(`+`, tables) / length(tables)

sd_of <- function(tables) apply(simplify2array(tables), 1:2, sd)

# `tables`: what rates() gave, one a repetition.
report_rates <- function(title, tables, protocol, source) {
  cat("\n", title, ": true positives in per cent at these rates of false positives\n", sep = "")
  labelled <- function(table, words) structure(table, dimnames = list(paste(words, rownames(table)), NULL))
  out <- rbind(labelled(cbind(protocol$paper, NA), source), labelled(mean_of(tables), "here:"),
               labelled(sd_of(tables), "  sd:"))
  colnames(out) <- c(paste(100 * protocol$fpr, "%"), "AUC")
  print_table(out, decimals = c(rep(1, length(protocol$fpr)), 3))
}

report_eyeglasses <- function(runs) {
  report_rates("Eyeglasses (Olivetti faces)", lapply(runs, rates, eyeglasses$fpr), eyeglasses,
               "paper, sunglasses:")
  cat("The paper's row is for sunglasses on the AR faces: other data, so a counterpart and no replication.\n")
  figure("eyeglasses-atoms", 7, 6, plot(runs[[1]]$fit))
  figure("eyeglasses-roc", 7, 5, do.call(plot, c(runs[[1]]$roc, main = "Eyeglasses")))
}

report_people <- function(runs) {
  tables <- lapply(runs, function(run) mean_of(lapply(run, rates, person$fpr)))
  report_rates(paste("One person among others (Olivetti faces), mean over", length(people), "people"), tables,
               person, "paper, Woman 10:")
  cat("The paper's rows are for Woman 10 of the AR faces: other data, so a counterpart and no replication.\n")
  shown <- lapply(runs[[1]][1:5], function(run) run$roc$confidence)
  names(shown) <- paste("person", people[1:5])
  figure("person-roc", 7, 5, do.call(plot, c(shown, main = "One person among others")))
}

# ---- output -------------------------------------------------------------------------

# Empty where a number is missing, without rows and columns that are empty throughout.
print_table <- function(x, decimals = rep(1, ncol(x))) {
  text <- vapply(seq_len(ncol(x)), function(j) formatC(x[, j], decimals[j], format = "f"), character(nrow(x)))
  text[is.na(x)] <- ""
  dimnames(text) <- dimnames(x)
  filled <- text != ""
  print(text[rowSums(filled) > 0, colSums(filled) > 0], quote = FALSE, right = TRUE)
}

# Width and height in inches. `draw` is evaluated once the device is open.
figure <- function(name, width, height, draw) {
  png(file.path(root, "results", paste0(name, ".png")), width, height, units = "in", res = 120)
  on.exit(dev.off())
  force(draw)
}

# Runs all repetitions, with a line for each, and reports on the list of their results.
experiment <- function(name, run, report) {
  results <- lapply(repetitions, function(r) {
    timed(paste0(name, ", repetition ", r, " of ", length(repetitions)), result <- run(r))
    result
  })
  report(results)
}

main <- function() {
  need(described("Imports"))
  lib <- tempfile("library")
  install_own(lib)
  use_libraries(c(lib, .libPaths()))
  library(fumi)
  dir.create(file.path(root, "results"), showWarnings = FALSE)
  experiment("digits", run_digits, report_digits)
  experiment("eyeglasses", run_eyeglasses, report_eyeglasses)
  experiment("people", function(r) lapply(people, run_person, repetition = r), report_people)
}

# An interrupted fit is a fit with a warning, and no ground for a table.
stop_interrupted <- function(warning) stop("interrupted", call. = FALSE)

seconds <- system.time(withCallingHandlers(main(), fumi_warning_interrupt = stop_interrupted))[["elapsed"]]
cat("\nFigures are in results/. Total time:", round(seconds), "s\n")
