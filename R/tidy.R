# Fitted models, ROC curves and cross-validations as tables.

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment

#' Models as tables
#'
#' `tidy()` returns what a model has learned as a long table, `glance()` a one-row summary of the
#' model, and `augment()` the instances with their predictions.
#'
#' There is no `logLik()`, because the objectives of these methods are not likelihoods.
#'
#' @param x a fitted model; for `tidy()` and `glance()` also what [mil_roc()] or [mil_tune()]
#'   returned.
#' @param what `"atoms"` (default): the atoms, signatures or weights, one row per atom and feature.
#'   `"trace"`: the objective by iteration, see [loss_path()]. `"params"`: the parameters of the
#'   fit.
#' @param new_data instances, as in [predict.mil_model()].
#' @param bag,threshold as in [predict.mil_model()].
#' @param ... must be empty: an unknown argument is an error.
#' @return A tibble where the package tibble is installed, otherwise a data frame.
#'   \item{`tidy()`, `"atoms"`}{`atom`, `role` (`"target"`, `"background"`, or what the method has
#'     instead), `feature`, `value`; for MILES the selected training instances, with a role given
#'     by the sign of their weight}
#'   \item{`tidy()`, `"params"`}{`parameter`, `value` (as text)}
#'   \item{`tidy()` of a curve}{`threshold`, `fpr`, `tpr`}
#'   \item{`tidy()` of [mil_tune()]}{one row per configuration, with the column `chosen`}
#'   \item{`glance()`}{for a model `method`, `n_bags`, `n_positive`, `n_instances`, `n_features`,
#'     `n_target` and `n_background` (atoms), `n_start`, `n_iter`, `stop_reason`, `objective` (the
#'     last), `sparsity` (share of codes that are 0), `dead_atoms` (ever found unused) and
#'     `threshold`; `NA` if something does not apply to the method}
#'   \item{`augment()`}{`.bag` and `.instance`, the instances, then `.score`, `.pred_class` and the
#'     probability of each class, `.pred_<class>`; if the method has codes on atoms, also `.atom`,
#'     the target atom that the instance uses most (`NA` if none), and `.resid`, the norm of the
#'     residual of its reconstruction}
#' @name tidy.mil_model
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, n_features = 10)
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' head(tidy(fit), 3)
#' tidy(fit, "params")
#' glance(fit)
#' augment(fit, b)[1:2, c(".bag", ".instance", ".score", ".pred_class", ".pred_1", ".atom",
#'                        ".resid")]
#' head(tidy(mil_roc(fit, b)), 3)
NULL

#' @rdname tidy.mil_model
#' @export
tidy.mil_model <- function(x, what = c("atoms", "trace", "params"), ...) {
  check_dots_empty(..., known = names(formals()))
  what <- check_choice(what, c("atoms", "trace", "params"), "what")
  validate_model(x, "x")
  as_table(switch(what, atoms = tidy_coefficients(x), trace = tidy_trace(x),
                  params = tidy_params(x)))
}

# A tibble where the package is installed, otherwise the data frame.
as_table <- function(frame) {
  if (rlang::is_installed("tibble")) tibble::as_tibble(frame, .name_repair = "minimal") else frame
}

tidy_coefficients <- function(x) {
  atoms <- atom_matrix(x)
  features <- if (is.null(colnames(atoms))) as.character(seq_len(ncol(atoms))) else colnames(atoms)
  data.frame(atom = rep(rownames(atoms), ncol(atoms)),
             role = rep(atom_roles(x, atoms), ncol(atoms)),
             feature = rep(features, each = nrow(atoms)), value = as.vector(atoms))
}

# What a method has learned in the space of the features, one row per atom.
atom_matrix <- function(x) {
  if (inherits(x, "miles"))
    return(matrix(t(x$instances), ncol(x$instances), x$n_features,
                  dimnames = list(sprintf("instance%d", x$selected), x$features)))
  atoms <- coef(x)
  if (!is.matrix(atoms)) atoms <- matrix(atoms, 1, dimnames = list("weights", names(atoms)))
  if (inherits(x, "mmdl")) rownames(atoms) <- paste0("cluster", rownames(atoms))
  atoms
}

atom_roles <- function(x, atoms) {
  kind <- function(target) ifelse(target, "target", "background")
  switch(x$method, miles = kind(x$weights > 0), mmdl = kind(rownames(atoms) != "cluster0"),
         dmil = rep(kind(!x$spec$swap), nrow(atoms)), sub("[0-9]+$", "", rownames(atoms)))
}

tidy_trace <- function(x, call = rlang::caller_env(2)) {
  if (is.null(x$starts))
    stop_fumi("`what` must not be \"trace\" for a model of class ", class(x)[1],
              ", which keeps no objective by ", "iteration.", class = "no_meaning", call = call)
  loss_path(x)
}

# A parameter that was left at its default is read from the fit.
tidy_params <- function(x) {
  spec <- x$spec
  spec <- c(spec[names(spec) != "control"], spec$control)
  unset <- vapply(spec, is.null, NA)
  spec[unset] <- x[names(spec)[unset]]
  data.frame(parameter = names(spec), value = vapply(spec, as_text, ""), row.names = NULL)
}

as_text <- function(value) {
  if (is.character(value) && length(value) == 1) return(value)
  if (is.null(value) ||
      !is.atomic(value)) return(if (length(value)) describe(value) else NA_character_)
  paste(format(value, trim = TRUE, digits = 7), collapse = ", ")
}

#' @rdname tidy.mil_model
#' @export
tidy.mil_roc <- function(x, ...) {
  check_dots_empty(...)
  percent <- if (isTRUE(x$percent)) 100 else 1
  out <- data.frame(threshold = x$thresholds, fpr = 1 - x$specificities / percent,
                    tpr = x$sensitivities / percent)
  as_table(out[order(out$fpr, out$tpr), ])
}

#' @rdname tidy.mil_model
#' @export
tidy.mil_tune <- function(x, ...) {
  check_dots_empty(...)
  n <- seq_len(nrow(x$results))
  as_table(data.frame(configuration = n, x$results, chosen = n == x$best, row.names = NULL,
                      check.names = FALSE))
}

#' @rdname tidy.mil_model
#' @export
glance.mil_model <- function(x, ...) {
  check_dots_empty(...)
  validate_model(x, "x")
  or_na <- function(value, na) if (is.null(value)) na else value
  codes <- x$codes
  as_table(data.frame(
    method = x$method, n_bags = sum(x$n_bags), n_positive = x$n_bags[["positive"]],
    n_instances = length(x$bag),
    n_features = x$n_features, n_target = or_na(x$n_target, NA_integer_),
    n_background = or_na(x$n_background, NA_integer_),
    n_start = max(1L, length(x$starts), length(x$start_objective)),
    n_iter = or_na(x$n_iter, NA_integer_),
    stop_reason = or_na(x$stop_reason, NA_character_), objective = last_objective(x),
    sparsity = if (is.null(codes)) NA_real_ else mean(codes == 0),
    dead_atoms = if (is.null(x$n_dead)) NA_integer_
                 else sum(x$n_dead > 0), threshold = usual_threshold(x)))
}

last_objective <- function(x) {
  path <- if (is.data.frame(x$objective)) x$objective$objective else
    if (is.null(x$objective)) x$starts[[1]]$objective else x$objective
  if (length(path)) path[[length(path)]] else NA_real_
}

#' @rdname tidy.mil_model
#' @export
glance.mil_roc <- function(x, ...) {
  check_dots_empty(...)
  as_table(data.frame(auc = as.numeric(x$auc) / if (isTRUE(x$percent)) 100 else 1,
                      n_positive = length(x$cases), n_negative = length(x$controls)))
}

#' @rdname tidy.mil_model
#' @export
glance.mil_tune <- function(x, ...) {
  check_dots_empty(...)
  best <- x$results[x$best, ]
  as_table(data.frame(metric = x$measure$metric, level = x$measure$level, rule = x$rule,
                      configurations = nrow(x$results),
                      folds = nrow(x$folds) / nrow(x$results), mean = best$mean, se = best$se,
                      failed = sum(x$results$failed)))
}

#' @rdname tidy.mil_model
#' @export
augment.mil_model <- function(x, new_data, ..., bag = NULL, threshold = NULL) {
  check_dots_empty(..., known = names(formals()))
  if (missing(new_data))
    stop_fumi("`new_data` must be given: a fit keeps no training data.", class = "no_data")
  said <- predict(x, new_data, bag = bag)
  prob <- tryCatch(predict(x, new_data, "prob", bag = bag),
                   fumi_error_no_probability = function(e) NULL)
  said <- cbind(said, predict(x, new_data, "class", bag = bag,
                              threshold = threshold)[".pred_class"])
  added <- setdiff(names(prob), names(said))
  said[added] <- prob[added]
  new <- forge(x, new_data, bag)
  if (rebuilds(x)) said <- cbind(said, pad_omitted(used_atoms(x, new), new))
  out <- if (is.data.frame(new_data)) new_data else
    if (inherits(new_data, "bags")) as.data.frame(new_data) else as.data.frame(given_rows(new))
  as_table(data.frame(said[c(".bag", ".instance")], out[setdiff(names(out), names(said))],
                      said[setdiff(names(said), c(".bag", ".instance"))], check.names = FALSE))
}

used_atoms <- function(x, new) {
  left <- t(new$x[, order(new$order), drop = FALSE]) - predict_matrix(x, new, "reconstruction")
  data.frame(.atom = strongest_target(x, predict_matrix(x, new, "codes")),
             .resid = sqrt(rowSums(left^2)))
}

# The target atom with the largest part in each row of `codes`, NA where none has any.
strongest_target <- function(x, codes) {
  part <- abs(codes[, seq_len(x$n_target), drop = FALSE]) *
    rep(sqrt(colSums(x$dictionary^2))[seq_len(x$n_target)], each = nrow(codes))
  if (!length(part)) return(rep(NA_character_, nrow(codes)))
  best <- max.col(part, "first")
  ifelse(part[cbind(seq_along(best), best)] > 0, colnames(part)[best], NA)
}

# ---- summary -------------------------------------------------------------------------------------

#' @rdname mil_model-methods
#' @export
summary.mil_model <- function(object, ...) {
  check_dots_empty(...)
  validate_model(object)
  structure(list(fit = object, facts = glance(object), atoms = atom_use(object),
                 weight = weight_quantiles(object),
                 features = strongest_features(object)), class = "summary.mil_model")
}

# How much the training instances use each atom, where the fit keeps codes.
atom_use <- function(object) {
  codes <- object$codes
  if (is.null(codes)) return(NULL)
  out <- data.frame(atom = rownames(codes), used = rowMeans(codes != 0),
                    energy = rowSums(codes^2) / sum(codes^2), row.names = NULL)
  if (!is.null(object$n_dead)) out$unused <- unname(object$n_dead)
  out
}

weight_quantiles <- function(object) {
  p <- object$prob_target
  if (!is.null(p)) stats::quantile(p[which(p > 0)])
}

# The features with the largest values of each of at most four signatures or vectors of weights;
# not for atoms with codes, nor for pixels.
strongest_features <- function(object, n = 5) {
  if (!is.null(object$codes) || !is.null(object$image_dim)) return(NULL)
  long <- tryCatch(as.data.frame(tidy(object)), fumi_error_no_meaning = function(e) NULL)
  if (is.null(long) || length(unique(long$atom)) > 4) return(NULL)
  parts <- lapply(split(long, factor(long$atom, unique(long$atom))), function(one)
    utils::head(one[order(-abs(one$value)), c("atom", "feature", "value")], n))
  do.call(rbind, c(parts, make.row.names = FALSE))
}

#' @rdname mil_model-methods
#' @export
print.summary.mil_model <- function(x, digits = 3, ...) {
  print(x$fit)
  table_of <- function(title, table) if (!is.null(table)) {
    cat("\n", title, ":\n", sep = "")
    print(table, digits = digits, row.names = FALSE)
  }
  if (!is.null(x$weight)) {
    cat("\nWeight of the E-step (1: a target), instances of positive bags:\n")
    print(x$weight, digits = digits)
  }
  table_of(paste0("Atoms (share of instances using it, share of the codes' energy",
                  if (!is.null(x$atoms$unused)) ", times unused", ")"), x$atoms)
  if (!is.null(x$features)) x$features$value <- significant(x$features$value, digits)
  table_of("Features with the largest values", x$features)
  invisible(x)
}
