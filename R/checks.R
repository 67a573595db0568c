# Argument checks. Each returns the checked value, in the type that the rest of
# the package relies on, or stops with a `fumi_error_input`.

check_number <- function(x, name, min = -Inf, max = Inf, above = -Inf, call = rlang::caller_env()) {
  ok <- is.numeric(x) && !is.object(x) && length(x) == 1 && is.finite(x)
  if (ok && x >= min && x <= max && x > above) return(as.double(x))
  range <- c(if (is.finite(min)) paste0(">= ", min), if (is.finite(above)) paste0("> ", above),
             if (is.finite(max)) paste0("<= ", max))
  stop_fumi("`", name, "` must be a single finite number", if (length(range)) " ",
            paste(range, collapse = " and "), ", not ", describe(x), ".", call = call)
}

check_count <- function(x, name, min = 1, max = .Machine$integer.max, call = rlang::caller_env()) {
  ok <- is.numeric(x) && !is.object(x) && length(x) == 1 && is.finite(x)
  if (ok && x == round(x) && x >= min && x <= max) return(as.integer(x))
  stop_fumi("`", name, "` must be a single whole number >= ", min,
            if (max < .Machine$integer.max) paste0(" and <= ", max),
            ", not ", describe(x), ".", call = call)
}

check_flag <- function(x, name, call = rlang::caller_env()) {
  if (is.logical(x) && length(x) == 1 && !is.na(x)) return(x)
  stop_fumi("`", name, "` must be TRUE or FALSE, not ", describe(x), ".", call = call)
}

# `choices` is the default of the argument: an argument left at its default means the first choice.
check_choice <- function(x, choices, name, call = rlang::caller_env()) {
  if (identical(x, choices)) return(choices[1])
  if (is.character(x) && length(x) == 1 && x %in% choices) return(x)
  stop_fumi("`", name, "` must be one of ", paste0("\"", choices, "\"", collapse = ", "),
            ", not ", describe(x), ".", call = call)
}

# `known`: the names of the caller's arguments, of which the nearest is suggested.
check_dots_empty <- function(..., known = character(), call = rlang::caller_env()) {
  if (...length() == 0) return(invisible())
  name <- ...names()[1]
  if (is.null(name) || is.na(name) || name == "")
    stop_fumi("Arguments must be named, but ", pluralize("{(...length())} {?is/are}"),
              " given without a name.", class = "argument", call = call)
  stop_unknown(name, known, call)
}

# The `...` of a fitter goes to `bags()`: a name that neither of them knows is refused, and the
# nearest known name suggested. `own` and `given`: the names of the fitter's arguments and of its
# dots.
check_arguments <- function(own, given, call = rlang::caller_env()) {
  known <- c(own, "bag", "label", "positive", "truth", "image_dim", "axis", "data", "na.action",
             "like")
  of_others <- c("points", "halo", "negative", "n_negative", "negative_size", "block")
  if ("bag_weights" %in% setdiff(given, known))
    stop_fumi("`bag_weights` cannot be used by this method: `dlfumi()`, `dmil()`, `mi_ace()`, ",
              "`mi_svm()`, `miles()` and ",
              "`sil()` take weights of bags.", class = "no_meaning", call = call)
  odd <- setdiff(given, c(known, of_others, "", NA))
  if (length(odd)) stop_unknown(odd[1], known, call)
}

stop_unknown <- function(name, known, call) {
  known <- setdiff(known, "...")
  near <- nearest_name(name, known)
  stop_fumi("Unknown argument `", name, "`. ",
            if (is.null(near)) paste0("The arguments are ", enumerate(known, 30), ".")
            else paste0("Did you mean `", near, "`?"), class = "argument", call = call)
}

did_you_mean <- function(name, known) {
  near <- nearest_name(name, known)
  if (!is.null(near)) paste0(" (did you mean `", near, "`?)")
}

# The nearest of the known names, or NULL if none is near.
nearest_name <- function(name, known) {
  distance <- utils::adist(name, known)[1, ]
  if (any(distance <= min(3, nchar(name) - 2))) known[which.min(distance)]
}

# Stops unless a suggested package is installed; `purpose` says what it is needed for.
check_package <- function(package, purpose, call = rlang::caller_env()) {
  if (requireNamespace(package, quietly = TRUE)) return(invisible())
  stop_fumi("The package ", package, " must be installed ", purpose, ", but it is not.",
            class = "package", call = call)
}
