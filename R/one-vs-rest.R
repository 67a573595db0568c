#' One-vs-rest classification
#'
#' Fits one model per class, in which the bags of that class are positive and all others negative.
#' `predict()` gives an instance or bag the class whose model has the highest score.
#'
#' @param x a named list of [bags()], one per class, in which that class is the positive one; or
#'   instances as [bags()] takes them, with `bag` and a `label` of two or more classes: a bag is
#'   then positive for its own class and negative for the others; or a formula
#'   `mi(label, bag) ~ .`, with its data frame as the next argument or as `data`.
#' @param bag,label for instances: see [bags()]. A column `truth` is ignored.
#' @param fitter the method, such as [dlfumi()] (default), or a function of your own whose first
#'   argument is the bags.
#' @param ... parameters of the method, and for instances `data`, `image_dim`, `axis`,
#'   `na.action` and `like` of [bags()].
#' @param scale `TRUE` (default) or `FALSE`: whether to put the scores of all classes on one scale.
#'   The scores of a class (their logarithms, if they are ratios) are then centred and scaled by
#'   their mean and standard deviation over the instances of its own negative training bags.
#'   Otherwise scores of independent fits are compared as they are, and the fit with the largest
#'   scores wins too often.
#' @param progress `TRUE` or `FALSE`: whether to show a progress bar over the classes; by default
#'   in interactive sessions.
#' @param object an object made by `one_vs_rest()`.
#' @param new_data,level as in [predict.mil_model()].
#' @param type `"class"` (default), the class with the largest score, or `"score"`, all scores.
#' @return `one_vs_rest()`: a list of class `mil_one_vs_rest` with the `fits`, one per class.
#'   `predict()`: a data frame with `.bag` (and `.instance`) and `.pred_class`, or one column
#'   `.score_<class>` per class.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(360), ncol = 4) + rep(c(3, 0, 0), each = 30)
#' x[, 2] <- x[, 2] + rep(c(0, 3, 0), each = 30)
#' d <- one_vs_rest(x, bag = rep(1:30, each = 3), label = rep(c("a", "b", "c"), each = 30),
#'                  n_target = 1, n_background = 2)
#' d
#' table(predict(d, x)$.pred_class, rep(c("a", "b", "c"), each = 30))
#'
#' frame <- data.frame(x, box = rep(1:30, each = 3), kind = rep(c("a", "b", "c"), each = 30))
#' one_vs_rest(mi(kind, box) ~ ., frame, fitter = sil)
#' @export
one_vs_rest <- function(x, bag, label, fitter = dlfumi, ..., scale = TRUE,
                        progress = getOption("fumi.progress", interactive())) {
  scale <- check_flag(scale, "scale")
  fitter <- check_fitter(fitter, rlang::caller_env())
  given <- list(...)
  from_list <- missing(label) && !inherits(x, "formula")
  for_bags <- if (from_list) character()
          else intersect(names(given), c("data", "image_dim", "axis", "na.action", "like"))
  classes <- if (from_list) check_class_list(x) else class_bags(x, bag, label, given[for_bags])
  given[for_bags] <- NULL
  bar <- task_progress(check_flag(progress, "progress"), "one-vs-rest", length(classes))
  on.exit(bar$done())
  fits <- keep_until_interrupt(length(classes), function(i) {
    fit <- fit_quietly(fitter, classes[[i]], given)
    fit[["scale"]] <- if (scale) negative_scale(fit, classes[[i]])
    bar$tick(names(classes)[i])
    fit
  })
  if (attr(fits, "interrupted"))
    warn_fumi("Interrupted: ", length(fits), " of ", length(classes), " classes were trained.",
              class = "interrupt")
  fits <- stats::setNames(fits[seq_along(fits)], names(classes)[seq_along(fits)])
  structure(list(fits = fits, scaled = scale), class = "mil_one_vs_rest")
}

# A fit without a progress bar, and with cross-validated calibration only on request. The fitter
# gets `progress` only if it has such an argument. It is called by name, which its warnings show.
fit_quietly <- function(fitter, b, parameters, calibrate = FALSE) {
  rlang::local_options(fumi.progress = FALSE)
  if (!calibrate) rlang::local_options(fumi.calibrate = 0)
  quiet <- if ("progress" %in% names(formals(args(fitter)))) list(progress = FALSE)
  fit <- do.call("fitter", c(list(quote(b)), parameters, quiet))
  if (inherits(fit, "mil_model")) return(fit)
  stop_fumi("`fitter` must return a fitted model, not ", describe(fit), ".", class = "model",
            call = NULL)
}

# A function, or the name of one that is visible to the caller.
check_fitter <- function(fitter, env, call = rlang::caller_env()) {
  f <- if (rlang::is_string(fitter)) get0(fitter, env, mode = "function") else fitter
  if (is.function(f)) return(f)
  stop_fumi("`fitter` must be a function that fits a model, or the name of one, not ",
            describe(fitter), ".", call = call)
}

check_class_list <- function(x, call = rlang::caller_env()) {
  ok <- is.list(x) && length(x) >= 2 && !is.null(names(x)) && all(nzchar(names(x))) &&
    all(vapply(x, inherits, NA, "bags"))
  if (!ok)
    stop_fumi(
      "`x` must be a named list of two or more bags objects, one per class, unless `bag` and ",
      "`label` are given, not ", describe(x), ".", call = call)
  if (anyDuplicated(names(x)))
    stop_fumi("`x` must have a name of its own for each class, but ",
              describe(names(x)[duplicated(names(x))][1]), " appears twice.", call = call)
  x
}

# Bags for each class. `for_bags`: arguments of bags().
class_bags <- function(x, bag, label, for_bags, call = rlang::caller_env()) {
  if (inherits(x, "formula")) {
    if (!missing(bag)) for_bags$data <- bag
    return(formula_classes(x, for_bags, call))
  }
  if (missing(bag) && (is.data.frame(x) || !is.list(x)))
    stop_fumi("`bag` must be given with `label`.", call = call)
  if (is.data.frame(x)) {
    x <- plain_frame(x)
    column <- column_name(x, label, "label", call)
    if (!is.null(column)) label <- x[[column]]
    x <- x[setdiff(names(x), column)]
  }
  x <- if (is.list(x) && !is.data.frame(x)) lapply(x, without_truth) else without_truth(x)
  name <- stats::setNames(value_names(label), names(label))
  given <- c(list(x), if (!missing(bag)) list(bag = bag), for_bags)
  by_class(label, call, function(v) do.call(bags, c(given, list(label = name == v))))
}

formula_classes <- function(x, for_bags, call) {
  given <- do.call(formula_parts, c(list(x, call = call),
                                    for_bags[setdiff(names(for_bags), c("image_dim", "axis"))]))
  name <- value_names(given$label)
  by_class(given$label, call, function(v)
    new_bags(given$x, given$bag, name == v, NULL, NULL, for_bags$image_dim, given$action,
             given$blueprint, for_bags$axis, call))
}

# make(class) for each class of the labels, named by them.
by_class <- function(label, call, make) {
  values <- if (is.factor(label)) levels(droplevels(label))
            else value_names(sort(unique(comparable_values(label))))
  if (length(values) < 2)
    stop_fumi("`label` must have two or more classes, not ", length(values), ".", class = "label",
              call = call)
  stats::setNames(lapply(values, make), values)
}

# Scores on the scale on which they are compared: logarithms for ratios.
comparable <- function(fit, score) if (identical(fit$score_scale, "log")) log(score) else score

# Mean and sd of the comparable scores over the instances of the negative training bags.
negative_scale <- function(fit, b) {
  s <- comparable(fit, score_instances(fit, columns_for(fit, b$x[, -seq_len(b$n_positive),
                                                                 drop = FALSE])))
  c(center = mean(s), scale = positive_sd(s))
}

#' @rdname one_vs_rest
#' @export
predict.mil_one_vs_rest <- function(object, new_data, type = c("class", "score"),
                                    level = c("instance", "bag"), ...) {
  type <- check_choice(type, c("class", "score"), "type")
  if (missing(new_data)) stop_fumi("`new_data` must be given.", class = "no_data")
  validate_model(object)
  other <- intersect(c("coding", "coding_steps", "detector"), ...names())
  if (object$scaled && length(other))
    stop_fumi("`", other[1],
              "` must not be changed when scores are on one scale, which was made for the usual ",
              "scores.", class = "no_meaning")
  one <- function(fit) {
    out <- predict(fit, new_data, type = "score", level = level, ...)
    if (!is.null(fit[["scale"]]))
      out$.score <- (comparable(fit, out$.score) - fit[["scale"]][["center"]]) /
        fit[["scale"]][["scale"]]
    out
  }
  parts <- lapply(object$fits, one)
  score <- vapply(parts, function(p) p$.score, numeric(nrow(parts[[1]])))
  score <- matrix(score, ncol = length(parts),
                  dimnames = list(NULL, paste0(".score_", names(parts))))
  id_columns <- setdiff(names(parts[[1]]), ".score")
  if (type == "score") return(data.frame(parts[[1]][id_columns], score, check.names = FALSE))
  data.frame(parts[[1]][id_columns],
             .pred_class = factor(names(parts)[max.col(score, "first")], levels = names(parts)))
}

#' @rdname one_vs_rest
#' @export
print.mil_one_vs_rest <- function(x, ...) {
  cat("One-vs-rest of ", length(x$fits), " classes (", class(x$fits[[1]])[1], "): ",
      enumerate(names(x$fits), 12), if (x$scaled) "; scores on one scale", "\n", sep = "")
  invisible(x)
}

#' @export
summary.mil_one_vs_rest <- function(object, ...) object
