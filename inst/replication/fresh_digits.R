# How the candidate for the fresh digits was chosen: on bags of draws that are never reported.
#
#   Rscript fresh_digits.R [seed of a whole check, such as 9002]
#
# The training images of a draw (its test images are left alone) are split in two halves. Bags for
# each digit, as the protocol draws them, come from the first; the score of a configuration is the
# per cent of the images of the second that ten detectors recognise, as the mean of ten digits. So
# the digits of these held-out images are used. With seed 9001, configurations are compared with the
# witnesses that the published setting finds; with a seed that is given, mi-SVM and the choice are
# run from the bags alone.

library(fumi)
options(fumi.progress = FALSE, fumi.calibrate = 0)
given <- as.integer(commandArgs(TRUE))
images <- usps_images()
digit <- usps$digit

exploration_draw <- function(seed) {
  test <- paper_bags("usps", 1, 0, seed = seed)$index
  set.seed(seed)
  pool <- setdiff(seq_along(digit), test)
  first <- sort(unlist(lapply(0:9, function(u) {
    mine <- pool[digit[pool] == u]
    sample(mine, length(mine) %/% 2)
  })))
  held <- setdiff(pool, first)
  bags_of <- function(u) {
    d <- draw_bags(first[digit[first] == u], first[digit[first] != u])
    bags(images[, , d$image], d$bag, d$label[!duplicated(d$bag)], truth = d$truth)
  }
  list(bags = lapply(0:9, bags_of), images = images[, , held], digit = digit[held])
}

# Scores of the held-out images by a detector, raw and on the scale of its negatives.
two_scores <- function(fit, b, new) {
  score <- predict(fit, new)$.score
  if (identical(fit$score_scale, "log")) score <- log(score)
  scale <- fumi:::negative_scale(fit, b)
  list(raw = score, one = (score - scale[["center"]]) / scale[["scale"]])
}

recognised <- function(scores, kind, truth) {
  called <- max.col(vapply(scores, `[[`, numeric(length(truth)), kind), "first") - 1
  100 * mean(tapply(called == truth, truth, mean))
}

ten_detectors <- function(name, drawn, fit_digit, seed) {
  set.seed(seed)
  scores <- lapply(1:10, function(i) two_scores(suppressWarnings(fit_digit(i)), drawn$bags[[i]],
                                                drawn$images))
  out <- data.frame(configuration = name, raw = recognised(scores, "raw", drawn$digit),
                    one_scale = recognised(scores, "one", drawn$digit))
  print(out)
  out
}

setting <- function(method, setting) {
  found <- Filter(function(s) s$method == method && s$setting == setting,
                  paper_methods("usps"))[[1]]
  function(drawn) function(i) do.call(found$fitter, c(list(drawn$bags[[i]]), found$parameters))
}

# ---- what was looked at, as changes of the first row ----------------------------------------

usual <- list(n_target = 16, n_background = 60, beta = 25, gamma = 0.1, psi = 1, lambda = 0.1,
              variant = "exact", score = "difference", max_iter = 30)
one <- function(...) list(max_iter = 12, ...)
four <- function(...) one(n_start = 4, combine = "average", ...)
centred <- function(ridge, lambda, n_background = 120, max_iter = 8, n_start = 8)
  list(max_iter = max_iter, n_start = n_start, combine = "average", n_target = 32,
       n_background = n_background, noise = "background", ridge = ridge, lambda = lambda,
       normalize = "unit", normalize_after = "unit")
shaped <- function(ridge) one(noise = "background", ridge = ridge, n_start = 1, combine = "best",
                              normalize = "unit")
looked_at <- list(
  `16 and 60 atoms, lambda 0.1, one start of 30 iterations` = list(),
  `one start of 12 iterations` = one(),
  `ratio` = one(score = "ratio"),
  `32 and 60 atoms` = one(n_target = 32),
  `16 and 120 atoms` = one(n_background = 120),
  `lambda 0.05` = one(lambda = 0.05),
  `lambda 0.2` = one(lambda = 0.2),
  `gamma 0` = one(gamma = 0),
  `non-negative codes` = one(nonneg = "codes"),
  `noise of the background, ridge 1` = shaped(1),
  `noise of the background, ridge 10` = shaped(10),
  `four starts` = four(),
  `four starts, 50 and 60 atoms` = four(n_target = 50),
  `four starts, 32 and 120 atoms` = four(n_target = 32, n_background = 120),
  `four starts, 50 and 200 atoms` = four(n_target = 50, n_background = 200),
  `four starts, 50 and 200 atoms, lambda 0.2` = four(n_target = 50, n_background = 200,
                                                     lambda = 0.2),
  `four starts, 50 and 200 atoms, lambda 0.05` = four(n_target = 50, n_background = 200,
                                                      lambda = 0.05),
  `16 starts, 32 and 120 atoms` = one(n_start = 16, combine = "average", n_target = 32,
                                      n_background = 120),
  `centred, ridge 30, lambda 0.1, four starts of 12` = centred(30, 0.1, 120, 12, 4),
  `ridge 5, not of norm 1 after` = four(n_target = 32, n_background = 120, noise = "background",
                                        ridge = 5, normalize = "unit"),
  `centred, ridge 30, lambda 0.2` = centred(30, 0.2),
  `centred, ridge 10, lambda 0.2` = centred(10, 0.2),
  `centred, ridge 10, lambda 0.1` = centred(10, 0.1),
  `centred, ridge 100, lambda 0.2` = centred(100, 0.2),
  `centred, ridge 30, lambda 0.3, 32 and 60 atoms` = centred(30, 0.3, 60))

if (length(given)) {
  drawn <- exploration_draw(given)
  ten_detectors("mi-SVM, tuned", drawn, setting("mi-SVM", "tuned")(drawn), 1)
  ten_detectors("DL-FUMI, centred", drawn, setting("DL-FUMI, centred", "chosen")(drawn), 3)
} else {
  drawn <- exploration_draw(9001)
  ten_detectors("mi-SVM, tuned", drawn, setting("mi-SVM", "tuned")(drawn), 1)
  witnesses <- vector("list", 10)
  published <- setting("DL-FUMI, witnesses", "tuned, averaged")(drawn)
  ten_detectors("DL-FUMI, witnesses, tuned, averaged", drawn, function(i) {
    fit <- published(i)
    witnesses[[i]] <<- ifelse(fit$prob_target > 0.5, 1, 0)
    fit
  }, 1)
  for (name in names(looked_at)) {
    parameters <- utils::modifyList(usual, looked_at[[name]])
    ten_detectors(name, drawn, function(i)
      do.call(dlfumi, c(list(drawn$bags[[i]], instance_prior = witnesses[[i]]), parameters)), 2)
  }
}
