#' mi-SVM and MI-SVM: support vector machines with latent labels
#'
#' A support vector machine in which the labels of the instances of positive bags (`"mi"`), or the
#' one instance that stands for each positive bag (`"MI"`), are learned together with the decision
#' boundary.
#'
#' @details
#' With \eqn{f(x) = \langle w, \phi(x) \rangle + b}{f(x) = <w, phi(x)> + b}, `type = "mi"` minimises
#' \deqn{\tfrac12 \|w\|^2 + C \sum_i c_i
#'   \max(0, 1 - y_i f(x_i))}{1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i f(x_i))}
#' over \eqn{w}, \eqn{b} and the labels \eqn{y_i}, where all labels in negative bags are -1 and at
#' least one in each positive bag is +1. `type = "MI"` has one term per positive bag, for its
#' instance with the largest \eqn{f}, and one term per instance of negative bags.
#'
#' Both alternate between an ordinary SVM (kernlab's) and new labels: \eqn{y_i = +1} where
#' \eqn{f(x_i) > 0} and for the instance with the largest \eqn{f} of each positive bag (the first,
#' if tied). `"mi"` starts with +1 for all instances of positive bags; `"MI"` starts with the mean
#' of each positive bag, which for a kernel is the mean in feature space. If an earlier labelling
#' other than the last one recurs, the labels cycle, and the fit of the cycle with the lowest
#' objective is kept. With equal weights each step lowers the objective, so cycles are rare; they
#' come from ties and from the tolerance of the SVM.
#'
#' Scores are as accurate as kernlab's SVM, about 0.001. Training is slow if instances are far from
#' norm 1, such as grey levels up to 255 with `normalize = "none"`: rescale those to \[0, 1\].
#'
#' The kernel matrix of all training instances is computed once and held in memory: 8 bytes times
#' the square of their number.
#'
#' @section Class weights:
#' `"none"` is the objective of the paper for `"mi"`. `"balanced"` multiplies the terms of a class
#' by \eqn{N / (2 N_c)}, where \eqn{N_c} counts the instances (`"mi"`) or bags (`"MI"`) of that
#' class and \eqn{N} all of them; the weights do not change with the labels, so the objective stays
#' the same throughout. For `"MI"`, the instances of a negative bag share one slack in the paper;
#' kernlab has only class weights, so here each has its own, divided by the mean size of the
#' negative bags. Two numbers are used as they are: `c(1, 1)` gives each instance of a negative bag
#' the weight of a positive bag.
#'
#' @section Defaults:
#' `type`, `kernel` and `cost` were chosen on ten data sets by cross-validation over whole bags:
#' bags of MUSK2, Fox, Tiger and Elephant (at most 50 of each label and ten instances of each bag),
#' training bags of three digits of [usps], and three kinds of [sim_bags()]. The 36 configurations
#' tried were both types; the linear kernel and the RBF kernel with \eqn{\sigma} as below and three
#' times that; costs of 1, 10 and 100; with and without class weights. The default has the highest
#' accuracy at the boundary (86.4 %, mean over the sets) and an AUC of bags within 0.004 of the
#' highest (0.901). The defaults of version 0.1.0 and of the Python package misvm, `type = "mi"`,
#' `cost = 1` and a linear kernel, reach 78.5 % and 0.876. On MUSK1, which was not among the sets
#' (though some configurations had been tried on it before the grid was drawn up), held-out bags
#' have an AUC of 0.91 instead of 0.84, and 82 % instead of 74 % are on the right side of the
#' boundary (ten folds of bags, repeated five times). The study is `bench/mi-svm-defaults.R` in the
#' sources. Other data may need other values: [mil_tune()] finds them.
#'
#' @inheritParams dlfumi
#' @param type `"MI"` (default): one instance stands for each positive bag; `"mi"`: each instance
#'   has a label.
#' @param kernel `"rbf"` (default), `"linear"`, the name of another kernel of kernlab
#'   ([kernlab::dots], such as `"polydot"`), a kernel made by one of those functions, or a function
#'   of two instances that returns a number.
#' @param kpar list, default empty: parameters for a kernel given by its name, such as
#'   `list(sigma = 2)` for `"rbf"`, \eqn{\exp(-\sigma \|x - y\|^2)}{exp(-sigma |x - y|^2)}, the
#'   \eqn{\sigma} of kernlab and of [miles()]. For `"rbf"`, \eqn{1/\sigma} is by default the median
#'   squared distance between the (normalised) training instances; try a third and three times that.
#'   Other kernels have the defaults of kernlab.
#' @param cost number > 0, default 10: \eqn{C}, the weight of the loss; try 1 to 100.
#' @param class_weights \eqn{c_i}: `"none"` (default), `"balanced"`, or two positive numbers, for
#'   negatives and positives.
#' @param bag_weights `NULL` (default: 1 for each bag), or positive numbers, one per bag, in the
#'   order in which the bags first appear, or named by their ids; names of bags that are not in the
#'   data are ignored. A bag of weight 2 counts twice: it is repeated, because the solvers accept
#'   no weights of instances, so the weights must be whole multiples of a common unit, such as 0.5,
#'   1 and 1.5. Weights do not affect what is computed from distances, such as the default of
#'   \eqn{\sigma}.
#' @param max_iter whole number >= 1, default 50: largest number of SVMs to train.
#' @param normalize `"unit"` (default) scales every instance, also of new data, to norm 1; `"none"`
#'   leaves instances as they are.
#' @return A list of class `c("mi_svm", "mil_model")`, for `predict()` and [mil_roc()]:
#'   \item{kernel}{its name and parameters; a function of your own is kept as it is}
#'   \item{model}{`bias`, and for the linear kernel `weights` (one per feature), otherwise the
#'     `support` vectors (features x vectors) and their coefficients `alpha`}
#'   \item{is_target}{logical, one value per instance, in the order given: whether the fit takes it
#'     for a target; for `"MI"`, whether it represents its bag}
#'   \item{n_iter, converged, stop_reason}{how it ended: `"converged"`, `"cycle"`, `"max_iter"`, or
#'     `"interrupt"`: Ctrl-C, which takes effect when the current SVM is trained, keeps the last
#'     complete iteration, with a warning; `converged` is `TRUE`, `"cycle"` or `FALSE`}
#'   \item{natural_threshold}{0, the boundary of the SVM; unless told otherwise, `predict()` uses
#'     the threshold of the calibration, see [mil_calibrate()]} [loss_path()] gives the objective
#'     by iteration. The score is \eqn{f(x)}; `coef()` gives the weights of a linear fit, for
#'     normalised instances.
#' @references Andrews, S., Tsochantaridis, I. and Hofmann, T. (2002). Support vector machines for
#'   multiple-instance learning. *Advances in Neural Information Processing Systems* 15.
#'
#'   Karatzoglou, A., Smola, A., Hornik, K. and Zeileis, A. (2004). kernlab: an S4 package for
#'   kernel methods in R. *Journal of Statistical Software* 11(9). \doi{10.18637/jss.v011.i09}
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- mi_svm(b, type = "mi", kernel = "linear", cost = 1)
#' fit
#' table(called = fit$is_target, true = as.data.frame(b)$truth)
#' mil_roc(mi_svm(b), b)
#' @export
mi_svm <- function(x, ..., type = c("MI", "mi"), kernel = "rbf", kpar = list(), cost = 10,
                   class_weights = c("none", "balanced"), bag_weights = NULL, max_iter = 50,
                   normalize = c("unit", "none"), calibrate = getOption("fumi.calibrate", "auto"),
                   progress = getOption("fumi.progress", interactive())) {
  check_arguments(names(formals()), ...names())
  given <- given_arguments()
  kernel <- check_kernel(kernel, kpar)
  given <- with_kernel(given, kernel)
  spec <- list(type = check_choice(type, c("MI", "mi"), "type"),
               kernel = kernel$name, kpar = kernel$kpar,
               cost = check_number(cost, "cost", above = 0),
               class_weights = check_class_weights(class_weights),
               max_iter = check_count(max_iter, "max_iter"),
               normalize = check_choice(normalize, c("unit", "none"), "normalize"),
               calibrate = check_calibrate(calibrate))
  progress <- check_flag(progress, "progress")
  b <- bags(x, ...)
  spec$bag_weights <- given$bag_weights <- check_bag_weights(bag_weights, b)
  n_copies <- sum(bag_copies(spec$bag_weights, b)$n[b$bag])
  b <- check_trainable(b, spec$normalize, copies = 2, more = n_copies^2,
                       sparse = identical(spec$kernel, "linear"))
  fit <- mi_svm_bridge(b, spec, progress)
  with_given(calibrate_fit(fit, b, spec$calibrate, function(b) mi_svm_bridge(b, spec, FALSE),
                           work = n_copies^2 * (nrow(b$x) + 50 * fit$n_iter), progress), given)
}

check_class_weights <- function(x, call = rlang::caller_env()) {
  if (!is.numeric(x)) return(check_choice(x, c("none", "balanced"), "class_weights", call = call))
  if (length(x) == 2 && all(is.finite(x)) && all(x > 0)) return(as.double(x))
  stop_fumi("`class_weights` must be \"none\", \"balanced\" or two numbers > 0, not ", describe(x),
            ".", call = call)
}

# ---- fit ------------------------------------------------------------------------------------

mi_svm_bridge <- function(b, spec, progress, call = rlang::caller_env()) {
  b <- sort_instances(b)
  x <- instance_rows(b$x, spec$normalize)
  kernel <- with_sigma(list(name = spec$kernel, kpar = spec$kpar), squared_distances(x))
  fit <- mi_svm_impl(gram_matrix(kernel, x, call), b, spec, progress, call)
  new_mil_model(
    "mi_svm", b, type = spec$type, kernel = kernel, model = fold_svm(fit, x, kernel),
    is_target = in_user_order(b, fit$target), n_iter = length(fit$path), converged = fit$converged,
    stop_reason = fit$stop_reason, natural_threshold = 0, normalize = spec$normalize,
    starts = list(data.frame(iteration = seq_along(fit$path), objective = fit$path)), spec = spec)
}

# What scores need: one vector for the linear kernel, the support vectors otherwise.
fold_svm <- function(fit, x, kernel) {
  if (identical(kernel$name, "linear"))
    return(list(weights = drop(cross(x, fit$alpha)), bias = fit$bias))
  used <- which(fit$alpha != 0)
  list(support = t(x[used, , drop = FALSE]), alpha = fit$alpha[used], bias = fit$bias)
}

mi_svm_impl <- function(gram, b, spec, progress, call) {
  copies <- bag_copies(spec$bag_weights, b, call)
  weight <- spec$cost * copies$unit * svm_weights(b, spec, copies$n)
  bar <- task_progress(progress, "mi-SVM", spec$max_iter)
  on.exit(bar$done())
  step <- function(target) {
    fit <- svm_on_points(gram, training_points(b, target, spec$type), weight, copies$n[b$bag])
    fit$target <- call_targets(b, fit$score, spec$type)
    bar$tick(paste("obj", format(fit$objective, digits = 4)))
    fit
  }
  fit <- alternate(in_positive(b), step, spec$max_iter, call)
  if (fit$stop_reason == "interrupt")
    warn_fumi("Interrupted: the fit holds the last complete iteration (", length(fit$path), ").",
              class = "interrupt", call = call)
  fit
}

# Weights of negatives and positives; `copies` of each bag count.
svm_weights <- function(b, spec, copies) {
  if (is.numeric(spec$class_weights)) return(spec$class_weights)
  counted <- function(bag) c(sum(copies[bag[!b$label[bag]]]), sum(copies[bag[b$label[bag]]]))
  n <- counted(if (spec$type == "mi") b$bag else seq_along(b$label))
  weight <- if (spec$class_weights == "balanced") sum(n) / (2 * n) else c(1, 1)
  if (spec$type == "MI") weight[1] <- weight[1] * n[1] / counted(b$bag)[1]
  weight
}

# From `start`, `step()` fits to a labelling and returns the next one as `target`, until one
# recurs: the last (converged) or an earlier one (a cycle, of which the best is kept).
alternate <- function(start, step, max_iter, call = rlang::caller_env()) {
  seen <- list(start)
  fits <- list()
  back <- integer()
  iterate <- function() {
    for (it in seq_len(max_iter)) {
      fits[[it]] <<- step(seen[[it]])
      back <<- which(vapply(seen, identical, NA, fits[[it]]$target))
      if (length(back)) return(if (back == it) "converged" else "cycle")
      seen[[it + 1]] <<- fits[[it]]$target
    }
    "max_iter"
  }
  stop_reason <- until_interrupt(iterate(), started = length(fits) > 0, call)
  path <- vapply(fits, `[[`, 0, "objective")
  best <- length(path)
  if (stop_reason == "cycle") best <- back - 1 + which.min(path[back:best])
  c(fits[[best]], list(path = path, stop_reason = stop_reason,
                       converged = if (stop_reason == "cycle") "cycle"
                                   else stop_reason == "converged"))
}

# The points that an SVM is trained on: `id` says to which point each instance belongs (0: to
# none), `positive` the labels of the points. For "MI" a positive bag is one point: the mean of its
# targets, which at the start are all its instances, and afterwards one.
training_points <- function(b, target, type) {
  if (type == "mi") return(list(id = seq_along(target), positive = target))
  positive <- in_positive(b)
  own <- length(b$label) + seq_along(target)
  list(id = ifelse(positive, b$bag * target, own), positive = positive)
}

# New labels: the instance with the largest score of each positive bag (the first, if tied), and
# for "mi" all with a positive score.
call_targets <- function(b, score, type) {
  positive <- in_positive(b)
  members <- split(which(positive), b$bag[positive])
  target <- positive & type == "mi" & score > 0
  replace(target, vapply(members, function(i) i[which.max(score[i])], 1L), TRUE)
}

# An SVM on the means of points in feature space, with one coefficient per instance: a point
# shares its own equally among its instances. `weight`: of negatives and positives; `copies`: how
# often each instance counts.
svm_on_points <- function(gram, points, weight, copies = rep(1L, nrow(gram))) {
  used <- which(points$id > 0)
  id <- match(points$id[used], unique(points$id[used]))
  share <- 1 / tabulate(id)
  positive <- points$positive[used][!duplicated(id)]
  by_point <- function(rows) rowsum(rows * share[id], id)
  kernel <- if (length(used) < nrow(gram)) gram[used, used] else gram
  if (any(share < 1)) kernel <- by_point(t(by_point(kernel)))
  fit <- solve_svm(kernel, positive, weight, copies[used][!duplicated(id)])

  alpha <- replace(numeric(nrow(gram)), used, (fit$alpha * share)[id])
  inner <- drop(gram %*% alpha)
  slack <- pmax(0, 1 - (2 * positive - 1) * (drop(by_point(inner[used])) + fit$bias))
  list(alpha = alpha, bias = fit$bias, score = inner + fit$bias,
       objective = sum(alpha * inner) / 2 +
         sum(copies[used][!duplicated(id)] * weight[1 + positive] * slack))
}

# kernlab's SMO, which with `shrinking` loses the order of a given kernel matrix and stops away
# from the optimum (kernlab 0.9-32).
solve_svm <- function(kernel, positive, weight, copies) {
  row <- rep(seq_along(positive), copies)
  if (any(copies > 1)) kernel <- kernel[row, row]
  positive <- positive[row]
  fit <- kernlab::ksvm(kernlab::as.kernelMatrix(kernel), factor(positive, c(FALSE, TRUE)),
                       type = "C-svc",
                       C = 1, class.weights = c(`FALSE` = weight[1], `TRUE` = weight[2]),
                       shrinking = FALSE, fit = FALSE)
  alpha <- replace(numeric(length(positive)), kernlab::alphaindex(fit)[[1]],
                   kernlab::coef(fit)[[1]])
  list(alpha = if (any(copies > 1)) as.vector(rowsum(alpha, row)) else alpha,
       bias = -kernlab::b(fit))
}

# ---- scores -----------------------------------------------------------------------------------

#' @export
score_instances.mi_svm <- function(object, x, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("new_data", "type", "level", "bag", "pool", "threshold"),
                   call = call)
  scale <- instance_scale(x, object$normalize)
  model <- object$model
  if (!is.null(model$weights)) return(drop(cross(x, model$weights)) * scale + model$bias)
  if (ncol(x) == 0) return(numeric())
  drop(kernlab::kernelMult(kernlab_kernel(object$kernel), t(x) * scale, t(model$support),
                           model$alpha)) +
    model$bias
}

#' @export
coef.mi_svm <- function(object, ...) {
  validate_model(object)
  if (is.null(object$model$weights))
    stop_fumi("`object` must have a linear kernel for `coef()`: other kernels have no weights of ",
              "features, but `plot()` shows their support vectors.", class = "no_meaning")
  stats::setNames(object$model$weights, object$features)
}
