# The class of every fitted model, `mil_model`, and its generics: a method must supply
# `score_instances()`, and may supply the others where they have a meaning.

#' Add a method of your own
#'
#' A new method, in this or another package, needs a fitting function that ends with
#' `new_mil_model()` and [mil_calibrate()], and a `score_instances()` method for its class. Then
#' `predict()`, [mil_roc()], [mil_tune()], [mil_benchmark()], [one_vs_rest()], `augment()` and
#' [mil_view()] work. `vignette("extending")` has a worked example.
#'
#' Bags are always scored by `score_bags()`. By default this is the largest score of the instances;
#' a method that scores whole bags, such as [miles()], has its own `score_bags()` method. A method
#' with codes on atoms may supply `code_instances()`. One with a probability model supplies
#' `probability_curves()`: a list with the curves `bag` and `instance`, each a list of `link`
#' (`"logit"`, `"cloglog"` or `"log"`), `intercept` and `slope`, such that the inverse link of
#' `intercept + slope * score` is the model's probability. [mil_calibrate()] then chooses between
#' these and its own curves.
#'
#' @param method string: the name of the class, which is also the name of the fitting function.
#' @param b the training data, [bags()].
#' @param ... for `new_mil_model()`, the contents of the model as named values, without data or
#'   functions, so that [mil_save()] can write it; `spec`, the list of the fitter's arguments, is
#'   what `update()` changes. For the generics, further arguments of `predict()`.
#' @param object a fitted model.
#' @param x instances as a matrix of features x instances, with the features of the fit in their
#'   order.
#' @param bag whole numbers, one per column of `x`: the number of its bag, from 1 to the number of
#'   bags.
#' @return `new_mil_model()`: a list of class `c(method, "mil_model")`. `score_instances()`: one
#'   finite number per column of `x`, higher = more target. `score_bags()`: one per bag.
#'   `code_instances()`: a matrix, atoms x instances. `probability_curves()`: see above, or `NULL`.
#' @seealso [mil_calibrate()], [predict.mil_model()]
#' @name new_mil_model
#' @examples
#' # A method that scores an instance by its distance from the mean of the negative bags.
#' far <- function(x, ..., calibrate = getOption("fumi.calibrate", "auto")) {
#'   b <- bags(x, ...)
#'   one <- function(b) {
#'     negative <- as.matrix(b[!b$label])
#'     new_mil_model("far", b, centre = colMeans(negative), spec = list(calibrate = calibrate))
#'   }
#'   mil_calibrate(one(b), b, refit = one, folds = calibrate)
#' }
#' score_instances.far <- function(object, x, ...) colSums((x - object$centre)^2)
#' registerS3method("score_instances", "far", score_instances.far)
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- far(b)
#' fit
#' head(predict(fit, b, type = "prob", level = "bag"), 3)
NULL

#' @rdname new_mil_model
#' @export
new_mil_model <- function(method, b, ...) {
  object <- list(
    ..., method = method, features = b$features, n_features = nrow(b$x), image_dim = b$image_dim,
    classes = b$classes, bag = in_user_order(b, b$ids[b$bag]),
    n_bags = c(positive = sum(b$label), negative = sum(!b$label)),
    rng_kind = RNGkind(), version = as.character(utils::packageVersion("fumi")))
  object$axis <- b$axis
  object$blueprint <- b$blueprint
  object$na_action <- oldClass(b$na.action)
  structure(object, class = c(method, "mil_model"))
}

#' @rdname new_mil_model
#' @export
score_instances <- function(object, x, ...) {
  check_columns(object, x)
  UseMethod("score_instances")
}

#' @rdname new_mil_model
#' @export
score_bags <- function(object, x, bag, ...) {
  check_columns(object, x)
  if (missing(bag) || !is.numeric(bag) || length(bag) != ncol(x))
    stop_fumi("`bag` must be the number of the bag of each of the ", ncol(x), " columns of `x`.")
  UseMethod("score_bags")
}

# Checks the input of the generics, to which `predict()` brings data of any shape.
check_columns <- function(object, x, call = rlang::caller_env()) {
  if (!inherits(object, "mil_model"))
    stop_fumi("`object` must be a fitted model, not ", describe(object), ".", class = "model",
              call = call)
  if (!(is.matrix(x) && is.numeric(x)) && !is_sparse(x) || nrow(x) != object$n_features)
    stop_fumi("`x` must be a numeric matrix with ", object$n_features,
              " rows and one column per instance, not ",
              describe(x), ": `predict()` takes data of other shapes.", class = "type", call = call)
}

#' @export
score_bags.default <- function(object, x, bag, ...) pool_codes(score_instances(object, x, ...), bag)

#' @rdname new_mil_model
#' @export
code_instances <- function(object, x, ...) UseMethod("code_instances")

#' @export
code_instances.default <- function(object, x, ...) stop_no_meaning(object, "codes")

#' @rdname new_mil_model
#' @export
probability_curves <- function(object) UseMethod("probability_curves")

#' @export
probability_curves.default <- function(object) NULL

# The weights of an E-step, for methods that have one.
weight_instances <- function(object, x, ...) UseMethod("weight_instances")

#' @export
weight_instances.default <- function(object, x, ...) stop_no_meaning(object, "weight")

stop_no_meaning <- function(object, type, call = rlang::caller_env(3)) {
  stop_fumi("`type` must not be \"", type, "\" for a fit of ", class(object)[1],
            "(), which has none.", class = "no_meaning", call = call)
}

# ---- looking at a model -------------------------------------------------------------------------

#' Inspect a fitted model
#'
#' `coef()` returns the atoms, `fitted()` and `residuals()` the reconstruction of instances and its
#' residuals (from `new_data`, since a fit keeps no data), and `loss_path()` the objective by
#' iteration. `update()` refits with the arguments that were given, some of them changed; arguments
#' that were not given take their defaults, which may depend on the others. If something does not
#' apply to a method, the error is of class `fumi_error_no_meaning` and says why.
#'
#' @param object,x a fitted model.
#' @param which `"all"` (default), `"target"` or `"background"`: which atoms.
#' @param filter `TRUE` or `FALSE` (default), for [dlfumi()] with `noise = "background"`: whether
#'   to return the directions that detect the atoms instead of the atoms.
#' @param new_data,bag as in [predict.mil_model()].
#' @param data the training data for the new fit: [bags()], or what [bags()] takes.
#' @param digits whole number >= 1, default 4: significant digits.
#' @param ... for `update()`, parameters to change, and arguments of [bags()]; otherwise passed on.
#' @return `coef()`: a matrix, atoms x features, that can be used as `init` of [dlfumi()] and as
#'   `target` of [ace()] and [sub_ace()]; for linear classifiers the weights, one per feature; for
#'   MILES the weights of the selected instances, named by their numbers. `fitted()`,
#'   `residuals()`: matrices, instances x features. `loss_path()`: a data frame with `start`,
#'   `iteration`, `objective`, and its three terms `reconstruction`, `sparsity` and `incoherence`.
#'   `update()`: a fit.
#' @name mil_model-methods
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' dim(coef(fit, "target"))
#' tail(loss_path(fit), 2)
#' mean(residuals(fit, b)^2)
#' update(fit, b, lambda = 0.01)
#' dlfumi(b, n_target = 1, n_background = 3, init = coef(fit))$n_iter
#' head(sub_ace(b, coef(fit, "target")))
NULL

#' @rdname mil_model-methods
#' @export
fitted.mil_model <- function(object, new_data, ..., bag = NULL) {
  if (!rebuilds(validate_model(object)))
    stop_fumi("`object` must have atoms and codes to reconstruct instances, but a model of class ",
              class(object)[1], " has none.", class = "no_meaning")
  if (missing(new_data))
    stop_fumi("`new_data` must be given: a fit keeps no training data.", class = "no_data")
  predict(object, new_data, type = "reconstruction", ..., bag = bag)
}

# Whether instances can be rebuilt from atoms in the space of the features.
rebuilds <- function(object) {
  !is.null(object$dictionary) && !is.null(utils::getS3method("code_instances", object$method,
                                                             optional = TRUE))
}

#' @rdname mil_model-methods
#' @export
coef.mil_model <- function(object, ...) {
  stop_fumi("`object` must have learned atoms or weights for `coef()`, but a model of class ",
            class(object)[1], " has none.", class = "no_meaning")
}

#' @rdname mil_model-methods
#' @export
residuals.mil_model <- function(object, new_data, ..., bag = NULL) {
  reconstruction <- fitted(object, new_data, ..., bag = bag)
  new <- forge(object, new_data, bag)
  pad_omitted(t(new$x[, order(new$order), drop = FALSE]), new) - reconstruction
}

#' @rdname mil_model-methods
#' @export
update.mil_model <- function(object, data, ...) {
  if (missing(data))
    stop_fumi("`data` must be given: a fit keeps no training data.", class = "no_data")
  given <- arguments_given(validate_model(object))
  changes <- list(...)
  named <- nzchar(rlang::names2(changes))
  if (object$method == "dlfumi") given <- merge_control(given, changes[named])
  given[names(changes)[named]] <- changes[named]
  data <- list(data)
  if (any(vapply(changes[!named], inherits, NA, "formula"))) names(data) <- "data"
  do.call(fitter_of(object), c(data, changes[!named], given))
}

# The function that made a fit, which is in the same package as its method of `score_instances()`.
fitter_of <- function(object) {
  scores <- utils::getS3method("score_instances", object$method)
  get(object$method, envir = topenv(environment(scores)), mode = "function")
}

# The arguments that the user gave to the calling fitter, as values, without the data and the
# progress bar.
given_arguments <- function(env = rlang::caller_env(), fitter = rlang::caller_fn()) {
  own <- setdiff(names(formals(fitter)), c("x", "...", "progress"))
  mget(Filter(function(name) !eval(call("missing", as.name(name)), env), own), env)
}

# A fit with these arguments, for `update()`, in a fixed order.
with_given <- function(object, given) {
  object$given <- given[order(rlang::names2(given))]
  object
}

# Fits of version 0.1.0 hold all their parameters instead, and MILES a width.
arguments_given <- function(object) {
  if (!is.null(object$given)) return(object$given)
  if (object$method == "miles" && !is.null(object$spec$sigma))
    object$spec$sigma <- object$spec$sigma^-2
  object$spec
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
