# Scores, weights and codes of new instances by a DL-FUMI fit.

# Penalty of the lasso whose solution the codes converge to, on all atoms and on background atoms
# alone. The unscaled threshold of "paper" and "matlab" has the fixed point lambda * lambda_max.
coding_penalty <- function(object) {
  background <- object$dictionary[, -seq_len(object$n_target), drop = FALSE]
  largest <- function(d) max(eigen(crossprod(d), TRUE, TRUE)$values)
  factor <- if (object$variant == "exact") c(1, 1)
            else c(largest(object$dictionary), largest(background))
  object$lambda * factor
}

dlfumi_confidence <- function(object, x, coding = "joint", coding_steps = NULL,
                              scale = instance_scale(x, object$normalize)) {
  lambda <- if (is.null(coding_steps)) coding_penalty(object) else rep(object$lambda, 2)
  out <- .Call(ffi_dlfumi_confidence, x, scale, unname(object$dictionary),
               list(n_target = object$n_target, lambda = lambda[1], lambda_separate = lambda[2],
                    separate = coding == "separate",
                    steps = if (is.null(coding_steps)) 0L else coding_steps,
                    nonneg = nonneg_codes(object), simd = simd(), threads = n_threads()))
  check_status(out$status)
  if (!all(is.finite(out$confidence)))
    stop_fumi("`new_data` must have values whose squares are finite, but its largest value is ",
              signif(largest_value(x), 3), ".", class = "scale", call = rlang::caller_env(3))
  out
}

# Eq. 7, or DEVIATES D10: the difference of its residuals, (r- + e) (1 - 1 / c) for
# c = (r- + e) / (r + e).
dlfumi_score <- function(object, x, ...) {
  out <- dlfumi_confidence(object, x, ...)
  if (is_difference(object)) out$r_bg * (1 - 1 / out$confidence) else out$confidence
}

is_difference <- function(object) identical(object[["score"]], "difference")

# The scale on which scores are compared: logarithms for the ratios of a single start, otherwise as
# they are.
score_scale <- function(object) if (object$combine == "best" && !is_difference(object)) "log"

averaged_score <- function(object, x)
  if (is_difference(object)) dlfumi_score(object, x) else log(dlfumi_score(object, x))

#' @export
score_instances.dlfumi <- function(object, x, coding = c("joint", "separate"), coding_steps = NULL,
                                   detector = c("confidence", "subace", "norm"),
                                   background = NULL, ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("coding", "coding_steps", "detector", "background", "new_data",
                                  "type", "level", "bag", "pool", "threshold"), call = call)
  coding <- check_choice(coding, c("joint", "separate"), "coding", call = call)
  if (!is.null(coding_steps)) coding_steps <- check_count(coding_steps, "coding_steps", call = call)
  detector <- check_choice(detector, c("confidence", "subace", "norm"), "detector", call = call)
  if (detector == "subace") return(subace_score(object, x, background, call))
  if (detector == "norm") return(norm_score(object, x, call))
  if (!is.null(object$noise))
    return(score_instances(white_model(object), to_noise_space(object$noise, x), coding,
                           coding_steps, call = call))
  if (is.null(object$members)) return(dlfumi_score(object, x, coding, coding_steps))
  if (coding != "joint" || !is.null(coding_steps))
    stop_fumi("`coding` must be \"joint\" and `coding_steps` NULL for a fit with averaged scores, ",
              "which are standardised for these.", class = "no_meaning", call = call)
  standard <- lapply(object$members, function(m) {
    object[c("dictionary", "n_target")] <- m[c("dictionary", "n_target")]
    (averaged_score(object, x) - m$center) / m$scale
  })
  Reduce(`+`, standard) / length(standard)
}

# A control for detectors with atoms: the distance of an instance from the background, without any
# atom.
norm_score <- function(object, x, call) {
  if (is.null(object$noise))
    stop_fumi("`detector` must not be \"norm\" for a fit with white noise: it is the norm of ",
              "instances from which the ",
              "covariance of the background has been taken out.", class = "no_meaning", call = call)
  colSums(to_noise_space(object$noise, x)^2)
}

subace_score <- function(object, x, background, call) {
  if (is.null(background)) background <- object$background
  if (is.null(background))
    stop_fumi("`background` must be given, or kept by `dlfumi(keep_background = TRUE)`, for ",
              "`detector = \"subace\"`.", class = "no_background", call = call)
  if (!inherits(background, "fumi_background")) {
    if (inherits(background, "bags")) background <- background[!background$label]
    background <- forge(object, background, NULL, call, "background")$x
    background <- make_background(t(background * rep(instance_scale(background, object$normalize),
                                                     each = nrow(background))), "background",
                                  call = call)
  }
  if (length(background$mean) != object$n_features)
    stop_fumi("`background` must have the ", object$n_features, " features of the fit, not ",
              length(background$mean), ".", class = "column", call = call)
  x <- x * rep(instance_scale(x, object$normalize), each = nrow(x))
  target <- object$dictionary[, seq_len(object$n_target), drop = FALSE]
  detect_columns(x, unname(target), background, FALSE)
}

#' @export
weight_instances.dlfumi <- function(object, x, coding = c("joint", "separate"), coding_steps = NULL,
                                    ..., call = rlang::caller_env()) {
  check_dots_empty(..., known = c("coding", "coding_steps", "new_data", "pool", "bag"), call = call)
  coding <- check_choice(coding, c("joint", "separate"), "coding", call = call)
  if (!is.null(coding_steps)) coding_steps <- check_count(coding_steps, "coding_steps", call = call)
  if (!is.null(object$noise))
    return(weight_instances(white_model(object), to_noise_space(object$noise, x), coding,
                            coding_steps, call = call))
  -expm1(-object$beta * dlfumi_confidence(object, x, coding, coding_steps)$r_bg)
}

#' @export
code_instances.dlfumi <- function(object, x, ..., coding_steps = NULL, call = rlang::caller_env()) {
  check_dots_empty(..., known = c("coding_steps", "new_data"), call = call)
  if (!is.null(object$noise))
    return(code_instances(white_model(object), to_noise_space(object$noise, x),
                          coding_steps = coding_steps, call = call))
  lambda <- if (is.null(coding_steps)) coding_penalty(object)[1] else object$lambda
  steps <- if (is.null(coding_steps)) 0L else check_count(coding_steps, "coding_steps", call = call)
  out <- .Call(ffi_code, x, instance_scale(x, object$normalize), unname(object$dictionary),
               list(lambda = lambda, steps = steps, nonneg = nonneg_codes(object), simd = simd(),
                    threads = n_threads()))
  check_status(out$status, call)
  rownames(out$codes) <- colnames(object$dictionary)
  out$codes
}
