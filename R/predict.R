# Predictions, the same for every method: new data in, scores from `score_instances()`, bags pooled.

#' Predictions for instances and bags
#'
#' @param object a fitted model, such as one made by [dlfumi()].
#' @param new_data instances to score: [bags()], [bag_shards()], a matrix or data frame (one row an
#'   instance), a list of matrices (one a bag), or an array of images. Columns are matched
#'   by name if the training data had names; columns that were not there are ignored. For a raster of terra,
#'   [predict_raster()] makes a map.
#' @param type `"score"`: real numbers, higher = more target; for DL-FUMI the confidence of
#'   eq. 7, \eqn{\|x - D^- a^-\|^2 / \|x - D a\|^2}{|x - D- a-|^2 / |x - D a|^2}. `"class"`: the class whose side of the
#'   threshold the score is on. `"prob"`: the probability of a target; for DL-FUMI
#'   \eqn{p} of eq. 6, for diverse density and DMIL that of their model, else a logistic curve fitted
#'   to the scores of the training bags. `"codes"`: a matrix,
#'   instances x atoms. `"reconstruction"`: a matrix, instances x features, on the scale of
#'   the data given.
#' @param level one row an instance, or one row a bag.
#' @param ... for DL-FUMI: `coding = c("joint", "separate")`, whether the background part of
#'   eq. 7 comes from the code on all atoms or from a code on the background atoms alone;
#'   `detector = c("confidence", "subace")`, eq. 7 or the adaptive subspace detector
#'   [sub_ace()] with the target atoms; `background =`, the background instances
#'   ([bags()]: those of the negative bags) or [background_stats()] for the latter; `coding_steps =`, a fixed number of gradient steps
#'   instead of codes computed to convergence.
#' @param bag bag ids for data that don't carry them: a vector, or the name of a column.
#' @param pool how bag scores come from instance scores, see [pool_bags()]: `"max"` by default,
#'   `"noisy-or"` for probabilities.
#' @param threshold the score above which an instance or bag is called positive; by default the
#'   one chosen on the training bags.
#' @return For `"score"`, `"class"` and `"prob"` a data frame with `.bag` and `.score`,
#'   `.pred_class` or `.prob`: one row an instance, in the order given, or one row a bag, in the
#'   order in which the bags first appear. For `"codes"` and `"reconstruction"` a matrix.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' head(predict(fit, b))
#' head(predict(fit, b, type = "class", level = "bag"))
#' predict(fit, as.matrix(b)[1:2, ], type = "codes")
#' @export
predict.mil_model <- function(object, new_data,
                              type = c("score", "class", "prob", "codes", "reconstruction"),
                              level = c("instance", "bag"), ..., bag = NULL, pool = NULL,
                              threshold = NULL) {
  type <- check_choice(type, c("score", "class", "prob", "codes", "reconstruction"), "type")
  level <- check_choice(level, c("instance", "bag"), "level")
  if (missing(new_data) && length(...names())) stop_unknown(...names()[1], "new_data", rlang::current_env())
  if (missing(new_data))
    stop_fumi("`new_data` must be given: a fit keeps no training data.", class = "no_data")
  if (!is.null(pool)) pool <- check_choice(pool, names(poolers), "pool")
  if (inherits(new_data, "SpatRaster")) {
    if (level == "bag") stop_fumi("`level` must be \"instance\" for a raster, not \"bag\".")
    return(predict_raster(object, new_data, type = type, ..., threshold = threshold))
  }
  validate_model(object)
  in_parts <- inherits(new_data, "bag_shards")
  if (type %in% c("codes", "reconstruction")) {
    if (level == "bag")
      stop_fumi("`level` must be \"instance\" for `type = \"", type, "\"`, not \"bag\".")
    if (in_parts) return(matrix_of_shards(object, new_data, type, list(...)))
    return(predict_matrix(object, forge(object, new_data, bag), type, ...))
  }
  f <- if (type == "prob") prob_instances else score_instances
  if (in_parts) {
    value <- score_shards(object, new_data, f, list(...))
    ids <- in_user_order(new_data, new_data$ids[new_data$bag])
  } else {
    new <- forge(object, new_data, bag)
    value <- f(object, new$x, ...)[order(new$order)]
    ids <- new$bag
  }
  if (is.null(pool)) pool <- if (type == "prob") "noisy-or" else "max"
  if (level == "bag") {
    if (anyNA(ids) && length(ids))
      stop_fumi("`bag` must be given for `level = \"bag\"`: the new data do not carry bag ids.",
                class = "no_bag")
    value <- if (length(value)) pool_bags(value, ids, pool) else value
    ids <- unique(ids)
  }
  out <- data.frame(.bag = as.character(ids), stringsAsFactors = FALSE)
  if (type == "class") {
    cut <- model_threshold(object, threshold, pool, list(...))
    out$.pred_class <- factor(object$classes[1 + (value > cut)], levels = object$classes)
  } else out[[if (type == "prob") ".prob" else ".score"]] <- unname(value)
  out
}

predict_matrix <- function(object, new, type, ...) {
  codes <- code_instances(object, new$x, ..., call = rlang::caller_env())
  back <- order(new$order)
  if (type == "codes") return(t(codes[, back, drop = FALSE]))
  if (is.null(object$dictionary)) stop_no_meaning(object, type, rlang::caller_env())
  scale <- instance_scale(new$x, object$normalize)
  t((object$dictionary %*% codes)[, back, drop = FALSE]) / ifelse(scale[back] > 0, scale[back], 1)
}

# ---- thresholds ------------------------------------------------------------------------

# The cut with the best balanced accuracy; among equals, the midpoint of the widest gap.
choose_threshold <- function(score, positive) {
  at <- sort(unique(score))
  if (length(at) < 2) return(at)
  cut <- (at[-1] + at[-length(at)]) / 2
  below <- function(s) findInterval(cut, sort(s)) / length(s)
  accuracy <- below(score[!positive]) - below(score[positive])
  best <- which(accuracy >= max(accuracy) - 1e-12)
  cut[best[which.max(diff(at)[best])]]
}

add_thresholds <- function(object, b, score = training_scores(object, b)) {
  by_bag <- split(score, structure(b$bag, levels = as.character(seq_along(b$ids)), class = "factor"))
  cut <- function(pool) choose_threshold(vapply(by_bag, poolers[[pool]], 0), b$label)
  object$thresholds <- c(max = cut("max"), mean = cut("mean"), lse = cut("lse"))
  object
}

training_scores <- function(object, b) {
  if (inherits(b, "bag_shards")) score_shards(object, b, score_instances)[b$order] else score_instances(object, b$x)
}

# A logistic curve from training bag scores to probabilities, with Platt's (1999) smoothed
# targets, for methods that have no probability of their own.
add_logistic <- function(object, b) {
  score <- pool_bags(score_instances(object, b$x), b$ids[b$bag])
  positive <- b$label[match(names(score), b$ids)]
  target <- ifelse(positive, (sum(positive) + 1) / (sum(positive) + 2), 1 / (sum(!positive) + 2))
  # Standardised, so that a few steps suffice whatever the scale of the scores.
  scale <- positive_sd(score)
  fit <- stats::glm.fit(cbind(1, (score - mean(score)) / scale), target, family = stats::quasibinomial(),
                        control = list(maxit = 100))
  # Scores that are all the same have no slope, and every probability is the mean of the targets.
  slope <- if (is.na(fit$coefficients[[2]])) 0 else fit$coefficients[[2]] / scale
  object$logistic <- c(fit$coefficients[[1]] - slope * mean(score), slope)
  object
}

model_threshold <- function(object, threshold, pool, dots, call = rlang::caller_env()) {
  if (!is.null(threshold)) return(check_number(threshold, "threshold", call = call))
  usual <- (is.null(dots$detector) || identical(dots$detector, "confidence")) &&
    (is.null(dots$coding) || identical(dots$coding, "joint")) && is.null(dots$coding_steps)
  if (!usual || !pool %in% names(object$thresholds))
    stop_fumi("`threshold` must be given for another `detector`, `coding` or `pool` than those it was ",
              "chosen for at the fit.", class = "no_threshold", call = call)
  if (is.na(object$thresholds[[pool]]))
    stop_fumi("`threshold` must be given: the fit was interrupted before it chose one.",
              class = "no_threshold", call = call)
  object$thresholds[[pool]]
}
