# Classed conditions. A message is one sentence: the argument in backticks, what
# must hold, what was found.

stop_fumi <- function(..., class = "input", call = rlang::caller_env()) {
  rlang::abort(paste0(...), class = c(paste0("fumi_error_", class), "fumi_error"), call = call)
}

# `once`: an id for a warning that is given once per session (rlang: every 8 hours), however many
# fits cause it.
warn_fumi <- function(..., class, call = rlang::caller_env(), once = NULL) {
  rlang::warn(paste0(...), class = c(paste0("fumi_warning_", class), "fumi_warning"), call = call,
              .frequency = if (is.null(once)) "always" else "regularly", .frequency_id = once)
}

# What a value is, in the few words that an error message has room for.
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (inherits(x, "bags")) return("bags")
  if (inherits(x, "mil_model")) return(paste0("a fit of ", class(x)[1], "()"))
  if (is.object(x) || length(dim(x)) || is.list(x)) {
    shape <- if (length(dim(x))) paste0(" of ", paste(dim(x), collapse = " x "))
    return(paste0(article(class(x)[1]), shape))
  }
  if (length(x) != 1) return(paste0(article(typeof(x)), " vector of length ", length(x)))
  if (is.character(x) && !is.na(x)) return(encodeString(x, quote = "\""))
  format(x)
}

article <- function(noun) paste(if (grepl("^[aeiou]", noun)) "an" else "a", noun)

# "a, b and 3 more", for messages that name columns or bags.
enumerate <- function(x, max = 3) {
  more <- length(x) - max
  if (more <= 0) return(paste(x, collapse = ", "))
  paste0(paste(x[seq_len(max)], collapse = ", "), " and ", more, " more")
}
