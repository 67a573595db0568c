# Predictions, in the same way for all methods: scores from `score_instances()` or `score_bags()`,
# classes and probabilities from the calibration.

#' Predictions for instances and bags
#'
#' Scores instances or bags with a fit, and returns the score itself, the class, or the probability
#' of each class. The higher a score, the more an instance looks like a target, and a bag as if it
#' held one. New data need no labels.
#'
#' @param object a fitted model, such as one made by [dlfumi()].
#' @param new_data instances to score: [bags()], [bag_shards()], a matrix or data frame (one row
#'   per instance), a list of matrices (one per bag), or an array of images. Columns are matched by
#'   name if the training data had names; other columns are ignored. For a raster of terra,
#'   [predict_raster()] makes a map.
#' @param type `"score"` (default): real numbers, higher = more target; for DL-FUMI the confidence
#'   of eq. 7, \eqn{\|x - D^- a^-\|^2 / \|x - D a\|^2}{|x - D- a-|^2 / |x - D a|^2}. `"class"`: the
#'   positive class if the score is above the threshold, else the other one. `"prob"`: the
#'   probability of each class (that a bag is positive, or that an instance is a target) from the
#'   calibration of the fit, see [mil_calibrate()]. `"weight"`: for DL-FUMI the weight of the
#'   E-step, eq. 6, which is not the probability of a target. `"codes"`: a matrix, instances x
#'   atoms. `"reconstruction"`: a matrix, instances x features, on the scale of the data.
#' @param level `"instance"` (default), one row per instance, or `"bag"`, one row per bag.
#' @param ... for DL-FUMI: `coding = "joint"` (default) or `"separate"`, whether the background
#'   part of eq. 7 uses the code on all atoms or a separate code on the background atoms alone;
#'   `detector = "confidence"` (default), eq. 7, `"subace"`, the adaptive subspace detector
#'   [sub_ace()] with the target atoms, or `"norm"`, for fits with `noise = "background"` the
#'   squared norm alone; `background =`, for `"subace"` the background instances ([bags()]: those
#'   of the negative bags) or [background_stats()]; `coding_steps =`, a fixed number of gradient
#'   steps instead of codes computed to convergence.
#' @param bag `NULL` (default: the column `bag` of a data frame, unless it is a feature), or bag
#'   ids for data that do not contain them: a vector, or the name of a column.
#' @param pool `NULL` (default), or a string: how the score of a bag is computed from those of its
#'   instances, see [pool_bags()]. By default the method decides: [miles()], [dmil()],
#'   [diverse_density()], [em_dd()], and [mmdl()] with `bag_route = TRUE` have their own scores of
#'   bags; all others take the largest score of an instance. This tends to grow with the size of a
#'   bag: if sizes differ, try `"top"`. `"noisy-or"` pools the probabilities of instances.
#' @param threshold `NULL` (default: the threshold of the calibration), or a number: the score
#'   above which an instance or bag is positive.
#' @return For `"score"`, `"class"`, `"prob"` and `"weight"` a data frame: one row per instance, in
#'   the order given, with `.bag` and `.instance`, the number of the instance in the data; or one
#'   row per bag, in the order in which the bags first appear, with `.bag`. The other columns are
#'   `.score`, `.pred_class`, one column `.pred_<class>` per class, or `.weight`. The predicted
#'   class is positive if the probability is above that at the threshold. For `"codes"` and
#'   `"reconstruction"` a matrix.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' head(predict(fit, b))
#' head(predict(fit, b, type = "class", level = "bag"))
#' head(predict(fit, b, type = "prob", level = "bag"))
#' predict(fit, as.matrix(b)[1:2, ], type = "codes")
#' @export
predict.mil_model <- function(object, new_data,
                              type = c("score", "class", "prob", "weight", "codes",
                                       "reconstruction"),
                              level = c("instance", "bag"), ..., bag = NULL, pool = NULL,
                              threshold = NULL) {
  type <- check_choice(type, prediction_types, "type")
  level <- check_choice(level, c("instance", "bag"), "level")
  if (missing(new_data) && length(...names()))
    stop_unknown(...names()[1], "new_data", rlang::current_env())
  if (missing(new_data))
    stop_fumi("`new_data` must be given: a fit keeps no training data.", class = "no_data")
  if (!is.null(pool)) pool <- check_choice(pool, names(poolers), "pool")
  if (inherits(new_data, "SpatRaster")) {
    if (level == "bag") stop_fumi("`level` must be \"instance\" for a raster, not \"bag\".")
    return(predict_raster(object, new_data, type = type, ..., threshold = threshold))
  }
  validate_model(object)
  if (level == "bag" && type %in% c("weight", "codes", "reconstruction"))
    stop_fumi("`level` must be \"instance\" for `type = \"", type, "\"`, not \"bag\".")
  dots <- list(...)
  if (type %in% c("codes", "reconstruction")) {
    if (inherits(new_data, "bag_shards")) return(matrix_of_shards(object, new_data, type, dots))
    new <- forge(object, new_data, bag)
    return(pad_omitted(predict_matrix(object, new, type, ...), new))
  }
  said <- scored(object, new_data, bag, level, pool, type, ...)
  value <- switch(
    type,
    class = {
      cut <- model_threshold(object, threshold, level, pool, dots)
      list(.pred_class = factor(object$classes[1 + (said$value > cut)], levels = object$classes))
    },
    prob = probability_columns(object, said$value, level, pool, dots),
    stats::setNames(list(said$value), paste0(".", type)))
  pad_omitted(data.frame(said$rows, value, check.names = FALSE), said$new, level)
}

prediction_types <- c("score", "class", "prob", "weight", "codes", "reconstruction")

# Both columns of probabilities; `value` is a score, or already a probability if pooled by
# noisy-or.
probability_columns <- function(object, value, level, pool, dots, call = rlang::caller_env()) {
  pooled <- level == "bag" && identical(pool, "noisy-or")
  p <- if (pooled) value else model_probability(object, value, level, pool, dots, call)
  stats::setNames(list(1 - p, p), paste0(".pred_", object$classes))
}

# ---- scores ----------------------------------------------------------------------------

check_ids <- function(ids, call) {
  if (!anyNA(ids)) return(invisible())
  stop_fumi("`bag` must be given for `level = \"bag\"`",
            if (all(is.na(ids))) ": the new data do not carry bag ids"
            else paste0(", but it is missing for ", sum(is.na(ids)), " instances, the first is ",
                        which(is.na(ids))[1]), ".", class = "no_bag", call = call)
}

# The common path of all scores: the rows of a prediction, the score (or, for `type = "weight"`,
# the weight) of each, and the data.
scored <- function(object, new_data, bag, level, pool, type, ..., call = rlang::caller_env()) {
  in_parts <- inherits(new_data, "bag_shards")
  new <- if (in_parts) new_data else forge(object, new_data, bag, call)
  ids <- if (in_parts) in_user_order(new, new$ids[new$bag]) else new$bag
  instances <- function(f = score_instances) {
    if (in_parts) return(score_shards(object, new, f, list(...), call))
    with_call(f, object, new$x, ..., .call = call)[order(new$order)]
  }
  if (level == "instance") {
    value <- instances(if (type == "weight") weight_instances else score_instances)
    return(list(rows = data.frame(.bag = as.character(ids), .instance = seq_along(ids)),
                value = unname(value), new = new))
  }
  check_ids(ids, call)
  if (is.null(pool)) pool <- calibration_of(object)$pool
  rows <- data.frame(.bag = unique(as.character(ids)))
  code <- match(ids, rows$.bag)
  value <- if (!length(ids)) numeric()
           else if (!is.null(pool))
             pool_instances(object, instances(), code, pool, type, list(...), call)
           else if (!has_bag_function(object)) pool_codes(instances(), code)
           else if (in_parts) score_bags_in_parts(object, new, list(...), call)
           else with_call(score_bags, object, new$x, code[new$order], ..., .call = call)
  list(rows = rows, value = unname(value), new = new)
}

# f(...), with errors that refer to `.call`.
with_call <- function(f, ..., .call) {
  rlang::local_error_call(.call)
  f(...)
}

# Scores of bags by the pooling that the user chose; noisy-or is for probabilities.
pool_instances <- function(object, score, code, pool, type, dots, call) {
  if (pool != "noisy-or") return(pool_codes(score, code, pool))
  if (type != "prob")
    stop_fumi(
      "`type` must be \"prob\" for `pool = \"noisy-or\"`, which pools probabilities, not \"",
      type, "\".", class = "pool", call = call)
  pool_codes(model_probability(object, score, "instance", NULL, dots, call), code, pool)
}

predict_matrix <- function(object, new, type, ...) {
  codes <- code_instances(object, new$x, ..., call = rlang::caller_env())
  back <- order(new$order)
  if (type == "codes") return(t(codes[, back, drop = FALSE]))
  if (is.null(object$dictionary)) stop_no_meaning(object, type, rlang::caller_env())
  t(rebuild(object, codes, new$x)[, back, drop = FALSE])
}
