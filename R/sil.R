#' Single-instance learner
#'
#' Gives every instance the label of its bag and trains an ordinary classifier: the simplest
#' baseline, and the smallest example of a method in this package.
#'
#' @details
#' `"logistic"` minimises \eqn{\tfrac12 \|w\|^2 + C \sum_i c_i \log(1 + \exp(-y_i (w'x_i + b)))}{1/2
#' |w|^2 + C sum_i c_i log(1 + exp(-y_i (w'x_i + b)))}, `"svm"` the same with the squared hinge
#' loss, both by LiblineaR, where \eqn{y_i} is the label of the bag and \eqn{c_i} balances the
#' classes. The defaults are ours. The score is \eqn{w'x + b}.
#'
#' @inheritParams mi_svm
#' @inheritParams dlfumi
#' @param classifier `"logistic"` (default), `"svm"`, or a list of two functions: `fit(x, y)`,
#'   which takes an instances x features matrix and logical labels and returns a model, and
#'   `score(model, x)`, which returns one number per instance.
#' @param cost number > 0, default 1: \eqn{C}, the weight of the loss; try 0.01 to 100.
#' @return A model of class `c("sil", "mil_model")`, for `predict()` and [mil_roc()]. It also keeps
#'   a classifier of your own, with its functions.
#' @references Ray, S. and Craven, M. (2005). Supervised versus multiple instance learning: an
#'   empirical comparison. *International Conference on Machine Learning*.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- sil(b)
#' fit
#' mil_roc(fit, b)
#' @export
sil <- function(x, ..., classifier = c("logistic", "svm"), cost = 1, bag_weights = NULL,
                normalize = c("unit", "none"), calibrate = getOption("fumi.calibrate", "auto"),
                progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  spec <- list(classifier = check_classifier(classifier),
               cost = check_number(cost, "cost", above = 0),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- check_trainable(bags(x, ...), spec$normalize, copies = 2, sparse = !is.list(spec$classifier))
  spec$bag_weights <- given$bag_weights <- check_bag_weights(bag_weights, b)
  with_given(calibrate_fit(sil_bridge(b, spec, progress), b, spec$calibrate,
                           function(b) sil_bridge(b, spec, FALSE),
                           work = 200 * n_stored(b$x), progress), given)
}

check_classifier <- function(classifier, call = rlang::caller_env()) {
  if (!is.list(classifier))
    return(check_choice(classifier, c("logistic", "svm"), "classifier", call = call))
  if (!is.function(classifier$fit) || !is.function(classifier$score))
    stop_fumi("`classifier` must have two functions, `fit` and `score`.", call = call)
  classifier
}

sil_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  bar <- task_progress(progress, "SIL", 1)
  on.exit(bar$done())
  b <- sort_instances(b)
  copies <- bag_copies(spec$bag_weights, b, call)
  x <- with_copies(instance_rows(b$x, spec$normalize), copies$n[b$bag])
  y <- with_copies(b$label[b$bag], copies$n[b$bag])
  model <- if (is.list(spec$classifier)) spec$classifier$fit(x, y)
           else linear_classifier(x, y, c(logistic = 0, svm = 1)[[spec$classifier]],
                                  spec$cost * copies$unit)
  bar$tick("classifier trained")
  new_mil_model("sil", b, model = model, normalize = spec$normalize, spec = spec)
}

#' @export
score_instances.sil <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  scale <- instance_scale(x, object$normalize)
  classifier <- object$spec$classifier
  if (is.list(classifier)) return(as.numeric(classifier$score(object$model, t(x) * scale)))
  drop(cross(x, object$model$weights)) * scale + object$model$bias
}

#' @rdname mil_model-methods
#' @export
coef.sil <- function(object, ...) {
  check_dots_empty(...)
  validate_model(object)
  if (is.list(object$spec$classifier))
    stop_fumi(
      "`object` must have a linear classifier for `coef()`: this one is your own.",
      class = "no_meaning")
  stats::setNames(object$model$weights, object$features)
}
