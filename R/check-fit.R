#' What may be wrong with a fit
#'
#' Looks for the usual reasons why a fit is of little use, and suggests what to try next. Some can
#' be seen from the fit alone, and `print()` of a fit names them; others need the bags that it was
#' fitted to. Finding nothing does not mean that the fit is good: [mil_cv()] measures that.
#'
#' @section Checks:
#' For every fit:
#' * there are fewer than five bags of a label;
#' * classes and probabilities come from the fit's own scores of its training bags, or from fits to
#'   parts of the bags that differ much from it, see [mil_calibrate()];
#' * it was interrupted, or ended at `max_iter` (for [dlfumi()], [dmil()], [mi_he()] and
#'   [e_fumi()]: while its objective still changed by more than 0.1 % in ten iterations);
#' * with `bags`: its scores hardly separate them (AUC below 0.6); the scores of negative bags grow
#'   with their size (rank correlation above 0.5, p-value below 0.01); positive bags are larger (the
#'   size alone separates the labels with an AUC above 0.9); nearly all instances have the same
#'   direction (median cosine with their mean above 0.99) and are scaled to norm 1, perhaps because
#'   one feature outweighs all others; or their squared norms differ by a factor above 100 and they
#'   are not scaled to norm 1.
#'
#' For a [dlfumi()] fit also:
#' * every code is 0, or some atoms are used by no instance;
#' * some target atoms equal a background atom (cosine above 0.98, in the space in which the model
#'   was fitted);
#' * the E-step takes no instance of positive bags for a target (all weights below 0.05), takes all
#'   of them for targets (all above 0.9999), or has only weights of 0 and 1.
#'
#' @param fit a fitted model of any method.
#' @param bags `NULL` (default: check what can be seen without them), or the [bags()] that `fit`
#'   was fitted to.
#' @return A data frame of class `fit_check` with one row per problem: `check` (its name),
#'   `finding` and `advice`.
#' @seealso [mil_cv()] for how good a fit is, [suggest_grid()] for parameters to try
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' check_fit(dlfumi(b, n_target = 1, n_background = 4), b)
#' check_fit(suppressWarnings(dlfumi(b, lambda = 5)), b)
#' @export
check_fit <- function(fit, bags = NULL) {
  if (inherits(fit, "mil_one_vs_rest"))
    stop_fumi("`fit` must be one model, not a mil_one_vs_rest: check one of its `fits`.",
              class = "model")
  validate_model(fit, "fit")
  found <- known_problems(fit)
  if (!is.null(bags)) {
    if (!inherits(bags, "bags"))
      stop_fumi("`bags` must be the bags that `fit` was fitted to, not ", describe(bags), ".",
                class = "type")
    check_same_positive(fit, bags, "bags")
    if (nrow(bags$x) != fit$n_features)
      stop_fumi("`bags` must have the ", fit$n_features, " features of `fit`, not ", nrow(bags$x),
                ".", class = "column")
    found <- c(found, problems_with_bags(fit, bags))
  }
  as_fit_check(found)
}

# NULL unless `wrong`.
problem <- function(wrong, check, finding, advice) {
  if (isTRUE(wrong)) list(list(check = check, finding = paste0(finding, collapse = ""),
                               advice = paste0(advice, collapse = "")))
}

as_fit_check <- function(found) {
  part <- function(name) vapply(found, `[[`, "", name)
  structure(data.frame(check = part("check"), finding = part("finding"), advice = part("advice")),
            class = c("fit_check", "data.frame"))
}

#' @export
print.fit_check <- function(x, ...) {
  if (!nrow(x)) cat("Nothing wrong was found.\n")
  else cat(pluralize("{nrow(x)} problem{?s} found"), "\n", sep = "")
  for (i in seq_len(nrow(x)))
    cat(wrap_around_code(paste0(i, ". ", x$finding[i], " Try ", x$advice[i], "."), exdent = 3),
        sep = "\n")
  invisible(x)
}

# strwrap() that does not break `code`.
wrap_around_code <- function(text, ...) {
  code <- gregexpr("`[^`]*`", text)
  regmatches(text, code) <- lapply(regmatches(text, code), chartr, old = " ", new = "\001")
  chartr("\001", " ", strwrap(text, ...))
}

# The line in `print()` of a fit that names its problems. How the fit ended and how it was
# calibrated have their own lines.
print_problems <- function(x) {
  found <- as_fit_check(known_problems(x))$check
  found <- setdiff(found, c("not settled", "calibrated in-sample", "folds differ"))
  if (length(found)) print_fact("problems", paste(found, collapse = "; "), ": see `check_fit()`")
}

# ---- from the fit alone ------------------------------------------------------------------------

known_problems <- function(fit) {
  c(few_bags(fit), if (fit$method == "dlfumi") dlfumi_problems(fit), unsettled(fit),
    calibrated_in_sample(fit))
}

few_bags <- function(fit) {
  few <- fit$n_bags < 5
  n <- fit$n_bags[few][1]
  problem(any(few), "few bags",
          paste("There", if (isTRUE(n == 1)) "is" else "are", "only", n, names(n),
                if (isTRUE(n == 1)) "bag." else "bags."),
          "more bags, or simpler models: `n_target = 1`, or `mi_ace()`")
}

unsettled <- function(fit) {
  at_end <- identical(fit$stop_reason, "max_iter")
  by_objective <- fit$method %in% c("dlfumi", "dmil", "mi_he", "e_fumi")
  moving <- at_end && (!by_objective ||
                         isTRUE(!is_online(fit$spec$control) && still_moves(fit) > 0.001))
  c(problem(identical(fit$stop_reason, "interrupt"), "interrupted", "The fit was interrupted.",
            "the same call again"),
    problem(moving, "not settled",
            c("The fit ended at `max_iter` before it settled",
              if (by_objective) c(": ", moves_words(fit)), "."),
            c("a larger `max_iter`",
              if (identical(fit$variant, "paper")) ", or `variant = \"exact\"`")))
}

calibrated_in_sample <- function(fit) {
  all <- fit$calibration
  useless <- any(fit$n_bags < fewest_bags) ||
    isTRUE(all$why %in% c("a fit to a part of the bags failed", "the bags are in parts"))
  c(problem(identical(all$source, "in-sample"), "calibrated in-sample",
            c("The threshold and probabilities come from the fit's own scores of its training bags",
              if (!is.null(all$why)) c(" (", all$why, ")"), "."),
            c(if (!useless) "`calibrate = 5`, or ",
              "`mil_calibrate()` with bags that it has not seen")),
    problem(identical(all$source, "out-of-fold") && !is.null(all$why), "folds differ",
            "Fits to parts of the bags differ much from this one: its probabilities are uncertain.",
            "`n_start = 8` where the method has it, or `mil_cv()` to see how good they are"))
}

dlfumi_problems <- function(fit) {
  empty <- max(fit$codes, 0) == 0 && min(fit$codes, 0) == 0
  zero <- problem(empty, "every code is 0",
                  c("Every code is 0, so the atoms describe nothing."),
                  c("a smaller `lambda`, such as ", signif(fit$lambda / 10, 2)))
  c(zero, if (!empty) c(unused_atoms(fit), equal_atoms(fit), extreme_weights(fit)))
}

unused_atoms <- function(fit) {
  unused <- rowSums(abs(fit$codes)) == 0
  target <- seq_along(unused) <= fit$n_target
  kind <- function(which, name) problem(
    any(unused[which]), paste("unused", name, "atoms"),
    c(some_of(unused[which], paste(name, "atom"), c("is", "are")), " used by no instance."),
    c("fewer of them (`n_", name, " = ", max(1, sum(!unused[which])), "`), or a smaller `lambda`"))
  c(kind(target, "target"), kind(!target, "background"))
}

# "The target atom is", "1 of 4 target atoms is", "2 of 4 target atoms are".
some_of <- function(hit, noun, verbs) {
  n <- sum(hit)
  if (length(hit) == 1) return(paste("The", noun, verbs[1]))
  paste0(n, " of ", length(hit), " ", noun, "s ", verbs[1 + (n > 1)])
}

equal_atoms <- function(fit) {
  atoms <- if (is.null(fit$noise)) fit$dictionary else fit$noise$dictionary
  target <- seq_len(ncol(atoms)) <= fit$n_target
  cosine <- abs(crossprod(atoms[, target, drop = FALSE], atoms[, !target, drop = FALSE]))
  equal <- apply(cosine, 1, max) > 0.98
  problem(any(equal), "target atoms equal background atoms",
          c(some_of(equal, "target atom", c("equals", "equal")),
            " a background atom (cosine up to ", format(round(max(cosine), 4)), ")."),
          c(if (is.null(fit$noise)) "`noise = \"background\"`, which removes what they share; ",
            "other numbers of atoms; or a larger `gamma`"))
}

# The residual r of background atoms for the typical instance of a positive bag: from the weights
# p = 1 - exp(-beta r) or, where these are 1, from the part that target atoms have in it.
typical_residual <- function(fit, p) {
  residual <- stats::median(-log1p(-p)) / fit$beta
  if (is.finite(residual)) return(residual)
  atoms <- if (is.null(fit$noise)) fit$dictionary else fit$noise$dictionary
  target <- seq_len(fit$n_target)
  part <- atoms[, target, drop = FALSE] %*% fit$codes[target, fit$prob_target > 0, drop = FALSE]
  square <- colSums(part^2)
  stats::median(square[square > 0])
}

# Weights set by witnesses or a prior are meant to be extreme.
extreme_weights <- function(fit) {
  if (isTRUE(fit$witnesses > 0) || !is.null(fit$spec$instance_prior)) return()
  p <- fit$prob_target[fit$prob_target > 0]
  if (!length(p)) p <- 0
  residual <- typical_residual(fit, p)
  beta <- if (isTRUE(residual > 0)) log(2) / residual else fit$beta / 10
  advice <- c(if (!is.null(fit$noise)) "`witnesses = 1`, or ", "`beta = ", signif(beta, 2), "`")
  c(problem(max(p) < 0.05, "no instance is taken for a target",
            c("The E-step takes no instance for a target: the largest weight is ",
              format(max(p), digits = 2), "."), advice),
    problem(
      min(p) > 0.9999, "all instances are taken for targets",
      c("The E-step takes all instances of positive bags for targets: the smallest weight is ",
        "above 0.9999."), advice),
    problem(max(p) >= 0.05 && min(p) <= 0.9999 && all(p < 1e-6 | p > 1 - 1e-6), "saturated weights",
            "Every weight of the E-step is 0 or 1.", advice))
}

# ---- with the bags -----------------------------------------------------------------------------

problems_with_bags <- function(fit, b) {
  score <- stats::predict(fit, b, level = "bag")$.score
  c(no_separation(score, b), driven_by_size(score, b), larger_positives(b), odd_instances(fit, b))
}

no_separation <- function(score, b) {
  if (all(b$label) || !any(b$label)) return()
  auc <- as.numeric(pROC::auc(b$label, score, quiet = TRUE, direction = "<"))
  problem(auc < 0.6, "bags are not separated",
          c("The scores hardly separate these bags: their AUC is ", format(round(auc, 2)), "."),
          "another configuration by `mil_tune()`, or another method: `mi_svm()`")
}

driven_by_size <- function(score, b) {
  size <- tabulate(b$bag, length(b$ids))[!b$label]
  score <- score[!b$label]
  if (length(size) < 6 || length(unique(size)) < 2 || length(unique(score)) < 2) return()
  test <- suppressWarnings(stats::cor.test(size, score, method = "spearman"))
  problem(test$estimate > 0.5 && test$p.value < 0.01, "scores grow with the size of bags",
          c("Larger negative bags have larger scores (rank correlation ",
            format(round(test$estimate, 2)), ")."),
          "`pool = \"top\"` in `predict()`, and `level = \"witness\"` in `mil_tune()`")
}

larger_positives <- function(b) {
  if (min(sum(b$label), sum(!b$label)) < 5) return()
  size <- tabulate(b$bag, length(b$ids))
  auc <- as.numeric(pROC::auc(b$label, size, quiet = TRUE, direction = "<"))
  problem(auc > 0.9, "positive bags are larger",
          c("Positive bags are larger than negative ones, so that scores may tell sizes and not ",
            "targets: the AUC of the size alone is ", format(round(auc, 2)), "."),
          c("bags of like sizes, such as random instances of the large ones; `pool = \"top\"` in ",
            "`predict()`, and `level = \"witness\"` in `mil_tune()`"))
}

odd_instances <- function(fit, b) {
  if (is.null(fit$normalize) || !is.null(fit$noise) || is_sparse(b$x)) return()
  if (fit$normalize == "unit") return(same_direction(fit, b))
  square <- colSums(sampled_columns(b)^2)
  spread <- stats::quantile(square, c(0.05, 0.95), names = FALSE)
  problem(fit$method == "dlfumi" && spread[2] > 100 * spread[1], "norms of instances differ much",
          c("Squared norms of instances go from ", signif(spread[1], 2), " to ",
            signif(spread[2], 2), ", so no `beta` suits them all."), "`normalize = \"unit\"`")
}

same_direction <- function(fit, b) {
  x <- unit_columns(sampled_columns(b))
  cosine <- stats::median(crossprod(x, unit_columns(matrix(rowMeans(x)))))
  share <- rowMeans(x^2)
  if (cosine > 0.99 && max(share) > 0.9 && length(share) > 1)
    return(one_feature(fit, which.max(share), max(share)))
  problem(cosine > 0.99, "instances have one direction",
          c("Scaled to norm 1, instances differ little from their mean (median cosine ",
            format(round(cosine, 4)), ")."),
          c(if (fit$method == "dlfumi") "`noise = \"background\"`; or ",
            "features centred on the training data, `scale(x, scale = FALSE)`"))
}

one_feature <- function(fit, k, share) {
  name <- if (is.null(fit$features)) k else paste0("`", fit$features[k], "`")
  problem(TRUE, "one feature outweighs the others",
          c("Feature ", name, " has ", floor(100 * share), " % of the squared norms of instances, ",
            "so that all others hardly count."),
          "features of like scale, `scale(x)` by the training data")
}
