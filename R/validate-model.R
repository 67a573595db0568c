# Checks that a fitted model must pass before use, because its numbers are passed to C. A rule
# takes a value and returns NULL if it is valid, else a description of what it must be.

# Checks class, fields, dimensions, types and finiteness, in time that does not grow with the
# training data; returns the model. `name` is what the user calls it.
validate_model <- function(object, name = "object", call = rlang::caller_env()) {
  if (inherits(object, "mil_one_vs_rest")) return(validate_one_vs_rest(object, name, call))
  if (!is.list(object) || !inherits(object, "mil_model"))
    stop_fumi("`", name, "` must be a fitted model, not ", describe(object), ".", class = "model",
              call = call)
  m <- unclass(object)
  follow(m, common_rules(m, class(object)), name, call)
  if (!is.null(model_rules[[m$method]]))
    follow(m, model_rules[[m$method]](m, m$n_features), name, call)
  object
}

validate_one_vs_rest <- function(object, name, call) {
  m <- unclass(object)
  named <- function(x)
    if (!is.list(x) || length(x) == 0 || length(names(x)) != length(x) || anyNA(names(x)) ||
        !all(nzchar(names(x))) ||
        anyDuplicated(names(x))) "a list of models with different names"
  follow(m, list(fits = named, scaled = a_flag), name, call)
  for (class in names(m$fits)) {
    one <- paste0(name, "$fits$", class)
    validate_model(m$fits[[class]], one, call)
    follow(unclass(m$fits[[class]]), list(scale = optional(numbers(2, c("center", "scale")))), one,
           call)
  }
  object
}

follow <- function(m, rules, name, call) {
  for (path in names(rules)) {
    words <- rules[[path]](part(m, path))
    if (!is.null(words))
      stop_fumi("`", name, "$", path, "` must be ", words, ", not ", describe(part(m, path)),
                ": the model is damaged.", class = "model", call = call)
  }
}

# The field that a path such as "background$mean" or "members$2$center" names, NULL if there is
# none.
part <- function(m, path) {
  for (step in strsplit(path, "$", fixed = TRUE)[[1]])
    m <- if (is.list(m)) m[[if (grepl("^[0-9]+$", step)) as.integer(step) else step]]
  m
}

# ---- rules ---------------------------------------------------------------------------------------

optional <- function(rule) function(x) if (!is.null(x)) rule(x)

a_list <- function(x) if (!is.list(x)) "a list"
a_flag <- function(x) if (!is.logical(x) || length(x) != 1 || is.na(x)) "TRUE or FALSE"
a_number <- function(x) if (!is.numeric(x) || length(x) != 1 ||
                            !is.finite(x)) "a single finite number"

count <- function(min = 0, max = Inf) function(x)
  if (!is.numeric(x) || length(x) != 1 || !is.finite(x) || x != round(x) || x < min || x > max)
    paste0("a whole number >= ", min, if (is.finite(max)) paste(" and <=", max))

one_of <- function(choices) function(x)
  if (!is.character(x) || length(x) != 1 || !x %in% choices)
    paste("one of", enumerate(encodeString(choices, quote = "\""), 10))

texts <- function(n = NULL) function(x)
  if (!is.character(x) || !is.null(n) && length(x) != n) paste(c(n, "strings"), collapse = " ")

# `finite = FALSE`: of that size, whatever the values.
numbers <- function(n, names = NULL, finite = TRUE) function(x)
  if (!is.numeric(x) || length(x) != n || !is.null(names) && !identical(names(x), names) ||
      finite && !is.finite(largest_value(x)))
    paste0(n, if (finite) " finite", " numbers",
           if (!is.null(names)) paste(" named", enumerate(names)))

# `columns`: how many there must be, or `least` of them. Finite are also the sums of its squares.
a_matrix <- function(rows, columns = NULL, least = 1, finite = TRUE) function(x)
  if (!is.double(x) || !is.matrix(x) || nrow(x) != rows || ncol(x) < least || !is.null(columns) &&
      ncol(x) != columns ||
      finite && !is.finite(nrow(x) * largest_value(x)^2))
    paste(c("a matrix of", if (finite) "finite", "doubles with", rows, "rows",
            if (!is.null(columns)) c("and", columns, "columns")),
          collapse = " ")

# The objective by iteration.
a_path <- function(x)
  if (!is.data.frame(x) || !"objective" %in% names(x) ||
      !all(vapply(x, is.numeric, NA) & lengths(x) == nrow(x)))
    "a data frame of numbers, `objective` among them"

paths <- function(x)
  if (!is.list(x) || !all(vapply(x, function(path) is.null(a_path(path)), NA)))
    "a list of data frames with an `objective`"

# Thresholds and curves for bags and for instances.
a_calibration <- function(x) {
  reading <- function(r) is.list(r) && (is.null(r$threshold) || is.numeric(r$threshold) &&
                                        length(r$threshold) == 1) &&
    (is.null(r$curve) || is.list(r$curve) && isTRUE(r$curve$link %in% names(inverse_links)) &&
       is.null(a_number(r$curve$intercept)) && is.null(a_number(r$curve$slope)))
  if (!is.list(x) || !is.list(x$bag) || !all(vapply(x$bag, reading, NA)) || !reading(x$instance) ||
      !isTRUE(x$source %in% c("out-of-fold", "in-sample", "given", "none")))
    "a list of thresholds and curves, as `mil_calibrate()` makes it"
}

a_kernel <- function(x) if (!is.function(x)) one_of(names(kernel_makers))(x)

# ---- models --------------------------------------------------------------------------------------

common_rules <- function(m, class) list(
  method = function(x)
    if (!is.character(x) || !identical(class, c(x, "mil_model")))
      paste0("its class, \"", class[1], "\""),
  n_features = count(1, .Machine$integer.max),
  features = optional(texts(m$n_features)),
  axis = optional(a_list),
  `axis$values` = optional(numbers(m$n_features)),
  `axis$label` = optional(texts(1)),
  image_dim = optional(function(x) if (!is.numeric(x) || length(x) != 2 ||
                                       !identical(prod(x) + 0, m$n_features + 0))
    "a height and a width"),
  classes = function(x) if (!is.character(x) || length(x) != 2 || anyNA(x) ||
                            x[1] == x[2]) "two different strings",
  bag = texts(),
  n_bags = numbers(2, c("positive", "negative")),
  normalize = optional(one_of(c("unit", "none"))),
  stop_reason = optional(one_of(names(stop_words))),
  n_target = optional(count()),
  n_background = optional(count()),
  n_iter = optional(count()),
  objective = optional(if (is.numeric(m$objective)) numbers(1, finite = FALSE) else a_path),
  starts = optional(paths),
  spec = optional(a_list),
  blueprint = optional(is_blueprint),
  na_action = optional(one_of(c("omit", "exclude"))),
  given = optional(a_list),
  thresholds = optional(numbers(3, c("max", "mean", "lse"), finite = FALSE)),
  logistic = optional(numbers(2, finite = FALSE)),
  calibration = optional(a_calibration),
  version = texts(1))

# Rules of the members of an average: those that rules(member) gives, and how a score is
# standardised.
member_rules <- function(m, rules) {
  if (!is.list(m$members)) return(list(members = optional(a_list)))
  one <- function(i) {
    own <- c(rules(m$members[[i]]), center = a_number, scale = a_number)
    stats::setNames(own, paste0("members$", i, "$", names(own)))
  }
  do.call(c, lapply(seq_along(m$members), one))
}

dictionary_rules <- function(m, d) list(
  normalize = one_of(c("unit", "none")),
  dictionary = a_matrix(d),
  n_target = count(1, ncol(m$dictionary) - 1),
  n_background = count(ncol(m$dictionary) - m$n_target, ncol(m$dictionary) - m$n_target),
  codes = a_matrix(ncol(m$dictionary), length(m$bag), finite = FALSE),
  prob_target = numbers(length(m$bag), finite = FALSE),
  n_dropped = count(),
  stop_reason = one_of(names(stop_words)))

background_rules <- function(m, d) list(
  `background$mean` = numbers(d),
  `background$basis` = a_matrix(d, least = 0),
  `background$kappa` = numbers(ncol(m$background$basis)),
  `background$delta` = function(x) if (!is.numeric(x) || length(x) != 1 || is.na(x) ||
                                       x <= 0) "a number > 0")

noise_rules <- function(m, d) list(
  `noise$mean` = numbers(d), `noise$basis` = a_matrix(d, least = 0),
  `noise$gain` = numbers(ncol(m$noise$basis)),
  `noise$scale` = function(x) if (!is.numeric(x) || length(x) != 1 || is.na(x) ||
                                  x <= 0) "a number > 0",
  `noise$dictionary` = a_matrix(d, ncol(m$dictionary)),
  `noise$normalize` = one_of(c("unit", "none")),
  `noise$normalize_after` = one_of(c("unit", "none")))

dd_rules <- function(m, d) list(
  normalize = one_of(c("unit", "none")), target = numbers(d), feature_scale = numbers(d),
  start_scale = a_number,
  objective = a_number, `spec$scale_type` = one_of(dd_scale_types),
  stop_reason = one_of(names(stop_words)))

# One entry per method: m is the model as a plain list, d its number of features. Later rules may
# rely on earlier ones.
model_rules <- list(
  dlfumi = function(m, d) c(
    dictionary_rules(m, d),
    list(lambda = a_number, beta = a_number, gamma = a_number, psi = a_number,
         worst_gap = numbers(1, finite = FALSE),
         n_dead = numbers(ncol(m$dictionary)), combine = one_of(c("best", "average")),
         variant = one_of(c("paper", "matlab", "exact")),
         witnesses = optional(count()), score = optional(one_of(c("ratio", "difference"))),
         nonneg = optional(one_of(c("none", "codes", "dictionary", "both")))),
    if (!is.null(m$background)) background_rules(m, d),
    if (!is.null(m$noise)) noise_rules(m, d),
    member_rules(m, function(s) list(dictionary = a_matrix(d),
                                     n_target = count(1, ncol(s$dictionary) - 1)))),
  e_fumi = function(m, d) dictionary_rules(m, d),
  mi_he = function(m, d) c(
    list(normalize = one_of(c("unit", "none")), dictionary = a_matrix(d),
         n_target = count(1, ncol(m$dictionary) - 1),
         n_background = count(ncol(m$dictionary) - m$n_target, ncol(m$dictionary) - m$n_target),
         best_iter = count(),
         `spec$coding` = one_of(c("sparse", "convex")),
         `spec$score` = one_of(c("confidence", "ace")),
         `spec$variant` = one_of(c("fast", "literal")), `spec$lambda` = a_number,
         stop_reason = one_of(names(stop_words))),
    background_rules(m, d)),
  mi_ace = function(m, d) c(
    list(normalize = one_of(c("unit", "none")), dictionary = a_matrix(d),
         n_target = count(ncol(m$dictionary), ncol(m$dictionary)), n_dropped = optional(count()),
         bags_won = optional(numbers(m$n_target)), `spec$type` = one_of(c("ace", "smf"))),
    background_rules(m, d)),
  dmil = function(m, d) {
    atoms <- function(s)
      if (is.null(part(m, "spec$kernel"))) list(dictionary = a_matrix(d, m$spec$n_atoms))
      else list(coefficients = a_matrix(ncol(m$support), m$spec$n_atoms),
                gram = a_matrix(m$spec$n_atoms, m$spec$n_atoms))
    c(list(normalize = one_of(c("unit", "none")), `spec$normalize` = one_of(c("unit", "none")),
           `spec$lambda` = a_number,
           `spec$beta` = a_number, `spec$swap` = a_flag,
           `spec$pool` = one_of(c("noisy-or", "gmean")), `spec$n_atoms` = count(1),
           n_dead = numbers(m$spec$n_atoms), objective = a_path,
           stop_reason = one_of(names(stop_words))),
      if (!is.null(part(m, "spec$kernel")))
        list(`kernel$name` = a_kernel, `kernel$kpar` = a_list, support = a_matrix(d)),
      atoms(m), member_rules(m, atoms))
  },
  diverse_density = function(m, d) c(dd_rules(m, d), `spec$model` = one_of(dd_models)),
  em_dd = function(m, d) c(
    dd_rules(m, d), combine = one_of(c("best", "average")),
    member_rules(m, function(s) list(target = numbers(d), feature_scale = numbers(d)))),
  mi_svm = function(m, d) c(
    list(normalize = one_of(c("unit", "none")), `kernel$name` = a_kernel, `kernel$kpar` = a_list,
         `model$bias` = a_number),
    if (identical(part(m, "kernel$name"), "linear")) list(`model$weights` = numbers(d))
    else list(`model$support` = a_matrix(d, least = 0),
              `model$alpha` = numbers(ncol(m$model$support)))),
  miles = function(m, d) c(
    list(normalize = one_of(c("unit", "none")), instances = a_matrix(d, least = 0),
         weights = numbers(ncol(m$instances)),
         bias = a_number, selected = numbers(ncol(m$instances))),
    if (is.null(m$kernel)) list(sigma = a_number) else list(`kernel$kpar$sigma` = a_number)),
  mmdl = function(m, d) c(
    list(normalize = one_of(c("unit", "none")), weights = a_matrix(d)),
    member_rules(m, function(s) list(weights = a_matrix(d))),
    list(bag_weights = optional(numbers(sum(vapply(if (is.null(m$members)) list(m) else m$members,
                                                   function(s) ncol(s$weights), 1L)))))),
  sil = function(m, d) c(
    list(normalize = one_of(c("unit", "none"))),
    if (!is.list(part(m, "spec$classifier")))
      list(`model$weights` = numbers(d), `model$bias` = a_number)))
