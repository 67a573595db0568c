# The class of every fitted model, `mil_model`, and what all methods share. A method
# supplies `score_instances()`, and the other generics below where they have a meaning.

new_mil_model <- function(method, b, ...) {
  structure(
    list(..., method = method, features = b$features, n_features = nrow(b$x),
         image_dim = b$image_dim, classes = b$classes, bag = in_user_order(b, b$ids[b$bag]),
         n_bags = c(positive = sum(b$label), negative = sum(!b$label)),
         rng_kind = RNGkind(), version = as.character(utils::packageVersion("fumi"))),
    class = c(method, "mil_model"))
}

# Scores of instances, one a column of `x` (d x N), higher = more target.
score_instances <- function(object, x, ...) UseMethod("score_instances")

# Probabilities, codes: for methods that have them.
prob_instances <- function(object, x, ...) UseMethod("prob_instances")
code_instances <- function(object, x, ...) UseMethod("code_instances")

#' @export
prob_instances.default <- function(object, x, ...) {
  if (is.null(object$logistic)) stop_no_meaning(object, "prob")
  stats::plogis(object$logistic[[1]] + object$logistic[[2]] * score_instances(object, x, ...))
}
#' @export
code_instances.default <- function(object, x, ...) stop_no_meaning(object, "codes")

stop_no_meaning <- function(object, type, call = rlang::caller_env(3)) {
  stop_fumi("`type` must be one that a model of class ", class(object)[1], " has, but it has no \"",
            type, "\".", class = "no_meaning", call = call)
}

#' Predictions for instances and bags
#'
#' @param object a fitted model, such as one made by [dlfumi()].
#' @param new_data instances to score: [bags()], a matrix or data frame (one row an
#'   instance), a list of matrices (one a bag), or an array of images. Columns are matched
#'   by name if the training data had names; columns that were not there are ignored.
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
  new <- forge(object, new_data, bag)
  if (type %in% c("codes", "reconstruction")) {
    if (level == "bag")
      stop_fumi("`level` must be \"instance\" for `type = \"", type, "\"`, not \"bag\".")
    return(predict_matrix(object, new, type, ...))
  }
  if (type == "prob") value <- prob_instances(object, new$x, ...)
  else value <- score_instances(object, new$x, ...)
  if (is.null(pool)) pool <- if (type == "prob") "noisy-or" else "max"
  value <- value[order(new$order)]
  ids <- new$bag
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
  sensitivity <- vapply(cut, function(c) mean(score[positive] > c), 0)
  specificity <- vapply(cut, function(c) mean(score[!positive] <= c), 0)
  accuracy <- sensitivity + specificity
  best <- which(accuracy >= max(accuracy) - 1e-12)
  cut[best[which.max(diff(at)[best])]]
}

add_thresholds <- function(object, b) {
  score <- score_instances(object, b$x)
  cut <- function(pool) {
    pooled <- pool_bags(score, b$ids[b$bag], pool)
    choose_threshold(pooled, b$label[match(names(pooled), b$ids)])
  }
  object$thresholds <- c(max = cut("max"), mean = cut("mean"), lse = cut("lse"))
  object
}

# A logistic curve from training bag scores to probabilities, with Platt's (1999) smoothed
# targets, for methods that have no probability of their own.
add_logistic <- function(object, b) {
  score <- pool_bags(score_instances(object, b$x), b$ids[b$bag])
  positive <- b$label[match(names(score), b$ids)]
  target <- ifelse(positive, (sum(positive) + 1) / (sum(positive) + 2), 1 / (sum(!positive) + 2))
  fit <- stats::glm.fit(cbind(1, score), target, family = stats::quasibinomial())
  object$logistic <- unname(fit$coefficients)
  object
}

model_threshold <- function(object, threshold, pool, dots, call = rlang::caller_env()) {
  if (!is.null(threshold)) return(check_number(threshold, "threshold", call = call))
  usual <- (is.null(dots$detector) || identical(dots$detector, "confidence")) &&
    (is.null(dots$coding) || identical(dots$coding, "joint")) && is.null(dots$coding_steps)
  if (!usual || !pool %in% names(object$thresholds))
    stop_fumi("`threshold` must be given for another `detector`, `coding` or `pool` than those it was ",
              "chosen for at the fit.", class = "no_threshold", call = call)
  object$thresholds[[pool]]
}

# ---- new data -----------------------------------------------------------------------------

# New data in the model's features: list(x d x n, order, bag ids in the user's order).
forge <- function(object, new_data, bag, call = rlang::caller_env(), name = "new_data") {
  if (inherits(new_data, "bags")) {
    if (!is.null(bag))
      stop_fumi("`bag` must not be given when `", name, "` is bags, which have ids of their own.", call = call)
    x <- match_features(object, new_data$x, call, name)
    check_largest(x, name, object$normalize, call)
    return(list(x = x, order = new_data$order, bag = in_user_order(new_data, new_data$ids[new_data$bag])))
  }
  if (is.data.frame(new_data)) {
    column <- column_name(new_data, bag, "bag", call)
    if (!is.null(column)) {
      bag <- new_data[[column]]
      new_data <- new_data[setdiff(names(new_data), column)]
    }
    if (!is.null(object$features)) new_data <- pick_columns(object, new_data, call, name)
  } else if (is.list(new_data)) {
    parts <- lapply(new_data, function(part) match_features(object, as_columns(part, name, call), call, name))
    if (is.null(bag)) bag <- if (is.null(names(parts))) seq_along(parts) else names(parts)
    if (length(bag) == length(parts)) bag <- rep(bag, vapply(parts, ncol, 1L))
    new_data <- if (length(parts)) t(do.call(cbind, parts)) else matrix(0, 0, object$n_features)
  }
  x <- match_features(object, as_columns(new_data, name, call), call, name)
  check_largest(x, name, object$normalize, call)
  if (is.null(bag)) bag <- rep(NA_character_, ncol(x))
  if (length(bag) != ncol(x))
    stop_fumi("`bag` must give the bag of each of the ", ncol(x), " instances, not ", describe(bag), ".",
              call = call)
  list(x = x, order = seq_len(ncol(x)), bag = bag_names(bag))
}

pick_columns <- function(object, new_data, call, name = "new_data") {
  lacking <- setdiff(object$features, names(new_data))
  if (length(lacking))
    stop_fumi("`", name, "` must have the features of the fit, but it lacks ", enumerate(lacking), ".",
              class = "column", call = call)
  new_data[object$features]
}

match_features <- function(object, x, call, name = "new_data") {
  if (!is.null(object$features) && !is.null(rownames(x))) {
    if (identical(rownames(x), object$features)) return(x)
    lacking <- setdiff(object$features, rownames(x))
    if (length(lacking))
      stop_fumi("`", name, "` must have the features of the fit, but it lacks ", enumerate(lacking), ".",
                class = "column", call = call)
    return(x[object$features, , drop = FALSE])
  }
  if (nrow(x) != object$n_features)
    stop_fumi("`", name, "` must have ", object$n_features, " features, not ", nrow(x), ".",
              class = "column", call = call)
  x
}

# ---- looking at a model -------------------------------------------------------------------------

#' Look into a fitted model
#'
#' `coef()` gives the atoms, `fitted()` and `residuals()` the reconstruction of instances and
#' what it leaves (a fit keeps no data, so they take `new_data`), `loss_path()` the objective by
#' iteration, `update()` a fit with other parameters.
#'
#' @param object,x a fitted model.
#' @param which which atoms.
#' @param new_data instances, as in [predict.mil_model()].
#' @param data the training data for the new fit: [bags()], or what [bags()] takes.
#' @param digits significant digits.
#' @param ... for `update()`, parameters to change, and what [bags()] takes; otherwise passed on.
#' @return `coef()`: a matrix, atoms x features. `fitted()`, `residuals()`: matrices, instances x
#'   features. `loss_path()`: a data frame with `start`, `iteration`, `objective`, and its three
#'   terms `reconstruction`, `sparsity` and `incoherence`. `update()`: a fit.
#' @name mil_model-methods
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' dim(coef(fit, "target"))
#' tail(loss_path(fit), 2)
#' mean(residuals(fit, b)^2)
#' update(fit, b, lambda = 0.01)
NULL

#' @rdname mil_model-methods
#' @export
coef.dlfumi <- function(object, which = c("all", "target", "background"), ...) {
  which <- check_choice(which, c("all", "target", "background"), "which")
  target <- seq_len(ncol(object$dictionary)) <= object$n_target
  t(object$dictionary[, switch(which, all = TRUE, target = target, background = !target), drop = FALSE])
}

#' @rdname mil_model-methods
#' @export
fitted.mil_model <- function(object, new_data, ...) {
  if (missing(new_data))
    stop_fumi("`new_data` must be given: a fit keeps no training data.", class = "no_data")
  predict(object, new_data, type = "reconstruction", ...)
}

#' @rdname mil_model-methods
#' @export
residuals.mil_model <- function(object, new_data, ...) {
  reconstruction <- fitted(object, new_data, ...)
  new <- forge(object, new_data, NULL)
  t(new$x[, order(new$order), drop = FALSE]) - reconstruction
}

#' @rdname mil_model-methods
#' @export
update.mil_model <- function(object, data, ...) {
  if (missing(data))
    stop_fumi("`data` must be given: a fit keeps no training data.", class = "no_data")
  spec <- object$spec
  changes <- list(...)
  named <- nzchar(rlang::names2(changes))
  spec[names(changes)[named]] <- changes[named]
  do.call(get(object$method, envir = topenv(), mode = "function"), c(list(data), changes[!named], spec))
}

#' @rdname mil_model-methods
#' @export
loss_path <- function(object) {
  if (!inherits(object, "mil_model") || is.null(object$starts))
    stop_fumi("`object` must be a fit that keeps its objective, not ", describe(object), ".")
  paths <- lapply(seq_along(object$starts), function(s)
    if (nrow(object$starts[[s]])) data.frame(start = s, object$starts[[s]]))
  do.call(rbind, paths)
}

#' @rdname mil_model-methods
#' @export
print.dlfumi <- function(x, digits = 4, ...) {
  path <- x$objective$objective
  cat("DL-FUMI fit (variant \"", x$variant, "\")\n", sep = "")
  print_model_data(x)
  cat("  atoms:      ", x$n_target, " target, ", x$n_background, " background", atom_notes(x), "\n", sep = "")
  cat("  parameters: lambda ", x$lambda, ", beta ", x$beta, ", gamma ", x$gamma, ", psi ", x$psi,
      ", normalize \"", x$normalize, "\"\n", sep = "")
  if (x$variant == "exact") cat("  codes:      exact to a relative gap of ", format(x$worst_gap, digits = 2), "\n", sep = "")
  if (length(path))
    cat("  objective:  ", format(path[1], digits = digits), " -> ",
        format(path[length(path)], digits = digits), " in ", x$n_iter, " iterations\n", sep = "")
  cat("  stopped:    ", stop_words[[x$stop_reason]], "\n", sep = "")
  if (length(x$starts) > 1)
    cat("  starts:     ", length(x$starts), ", ", if (x$combine == "average") "scores averaged" else "the best kept",
        "\n", sep = "")
  cat("  threshold:  ", format(x$thresholds[["max"]], digits = digits), " (bag is \"", x$classes[2],
      "\" above)\n", sep = "")
  invisible(x)
}

stop_words <- c(converged = "the objective settled", max_iter = "at `max_iter`",
                interrupt = "interrupted; holds the last whole iteration")

atom_notes <- function(x) {
  notes <- c(if (any(x$n_dead > 0)) paste(sum(x$n_dead > 0), "found unused at times"),
             if (x$n_dropped > 0) paste(x$n_dropped, "dropped"))
  if (length(notes)) paste0(" (", paste(notes, collapse = ", "), ")") else ""
}

#' @rdname mil_model-methods
#' @export
summary.dlfumi <- function(object, ...) {
  codes <- object$codes
  positive <- object$prob_target > 0
  atoms <- data.frame(
    atom = rownames(codes), used = rowMeans(codes != 0), energy = rowSums(codes^2) / sum(codes^2),
    unused = unname(object$n_dead), row.names = NULL)
  structure(list(fit = object, atoms = atoms, prob = stats::quantile(object$prob_target[positive])),
            class = "summary.dlfumi")
}

#' @rdname mil_model-methods
#' @export
print.summary.dlfumi <- function(x, digits = 3, ...) {
  print(x$fit)
  cat("\nProbability of a target, instances of positive bags:\n")
  print(x$prob, digits = digits)
  cat("\nAtoms (share of instances that use it, share of the codes' energy, times found unused):\n")
  print(x$atoms, digits = digits, row.names = FALSE)
  invisible(x)
}

#' @rdname mil_model-methods
#' @export
print.mil_model <- function(x, digits = 4, ...) {
  cat(x$method, " fit\n", sep = "")
  print_model_data(x)
  cat("  threshold:  ", format(x$thresholds[["max"]], digits = digits), " (bag is \"", x$classes[2],
      "\" above)\n", sep = "")
  invisible(x)
}

print_model_data <- function(x) {
  cat("  bags:       ", x$n_bags[["positive"]], " positive, ", x$n_bags[["negative"]],
      " negative (", length(x$bag), " instances of ", x$n_features, " features)\n", sep = "")
}
