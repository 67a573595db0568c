# Any container of instances as d x N numbers, one instance per column: a matrix of doubles, or a
# sparse matrix (R/sparse.R). Data frames with factors and formulas are in R/blueprint.R.

# Likely causes of a wrong size or type, for messages.
no_columns <- " (column names need a data frame)"
is_transposed <- function(name) paste0(" (instances are rows: is `", name, "` transposed?)")

# `missing_ok`: whether missing values may stay for `na.action` to treat.
as_columns <- function(x, name, call = rlang::caller_env(), missing_ok = FALSE) {
  if (is.data.frame(x)) x <- numeric_columns(x, name, call)
  if (inherits(x, "Matrix"))
    return(check_finite_columns(sparse_columns(x, name, call), name, call, missing_ok))
  if (length(dim(x)) %in% 2:3 && is.object(x)) x <- numbers_of(x, paste0("`", name, "`"), call)
  if (!(is.numeric(x) || is.logical(x)) || !length(dim(x)) %in% 2:3)
    stop_fumi("`", name, "` must be a numeric matrix with one row per instance, a data frame, ",
              "a list of matrices, or an array of images, not ",
              if (length(dim(x)) %in% 2:3) paste0("a matrix of type ", typeof(x)) else describe(x),
              if (is.numeric(x) &&
                  is.null(dim(x))) " (one row of a matrix stays a matrix with `drop = FALSE`)", ".",
              class = "type", call = call)
  if (length(dim(x)) == 2) x <- t(x) else x <- matrix(x, prod(dim(x)[1:2]), dim(x)[3])
  storage.mode(x) <- "double"
  dimnames(x) <- if (!is.null(rownames(x))) list(rownames(x), NULL)
  check_finite_columns(x, name, call, missing_ok)
}

check_finite_columns <- function(x, name, call = rlang::caller_env(), missing_ok = FALSE) {
  values <- if (is_sparse(x)) x@x else x
  largest <- if (missing_ok) max(abs(range(values, 0, na.rm = TRUE))) else largest_value(values)
  if (is.finite(largest)) return(x)
  bad <- if (is_sparse(x)) sparse_places(x, !is.finite(values))
         else which(!is.finite(x), arr.ind = TRUE)
  kind <- if (anyNA(values) && !missing_ok) "missing value" else "infinite value"
  stop_fumi("`", name, "` must be finite, but it has ", nrow(bad), " ", kind,
            if (nrow(bad) > 1) "s",
            ", the first in instance ", bad[1, 2], ", feature ",
            c(rownames(x)[bad[1, 1]], bad[1, 1])[1],
            if (kind == "missing value") " (`na.action = na.omit` leaves such instances out)", ".",
            class = "nonfinite", call = call)
}

# The columns of a data frame as a matrix, those that are matrices themselves side by side.
numeric_columns <- function(x, name, call) {
  x <- plain_frame(x)
  odd <- names(x)[!vapply(x, has_numbers, NA)]
  if (length(odd))
    stop_fumi("`", name, "` must have feature columns of numbers or factors, but ",
              enumerate(paste0(odd, " (", vapply(x[odd], class_words, ""), ")")),
              if (length(odd) > 1) " are not" else " is not",
              ": convert with `as.numeric()` or `factor()`.",
              class = "type", call = call)
  what <- paste0("`", name, "`, column ", names(x))
  x[] <- Map(function(column, what) numbers_of(column, what, call), x, what)
  as.matrix(x)
}

# A plain data frame, without the special behaviour of tibbles and data tables.
plain_frame <- function(x) {
  class(x) <- "data.frame"
  x
}

class_words <- function(x) {
  class <- setdiff(oldClass(x), "AsIs")
  if (length(class)) class[1] else typeof(x)
}

# ---- classes --------------------------------------------------------------------------------

# Classes whose numbers have one meaning only. Those of dates, times, units and codes are not among
# them: their numbers depend on an origin, a unit or a table.
harmless_classes <- c("AsIs", "ts", "mts", "table", "xtabs", "matrix", "array", "integer64")

has_numbers <- function(x) {
  (is.numeric(x) || is.logical(x)) && !is.factor(x) &&
    !length(setdiff(oldClass(x), harmless_classes))
}

# Numbers without a class.
numbers_of <- function(x, what, call) {
  if (!has_numbers(x))
    stop_fumi(what, " must hold numbers, not ", describe(x),
              ": convert it with `as.numeric()`.", class = "type", call = call)
  if (inherits(x, "integer64")) return(int64_numbers(x, what, call))
  oldClass(x) <- NULL
  attributes(x) <- attributes(x)[c("dim", "dimnames")]
  x
}

# An integer64 of the package bit64 has its 64 bits where R sees a double: its upper half with the
# sign, and its lower half without.
int64_halves <- function(x) {
  bytes <- writeBin(as.vector(unclass(x)), raw(), endian = "little")
  words <- readBin(bytes, "integer", 2 * length(x), endian = "little")
  words <- matrix(ifelse(is.na(words), -2^31, words), 2)
  missing <- words[2, ] == -2^31 & words[1, ] == 0
  high <- replace(words[2, ], missing, NA)
  low <- words[1, ] %% 2^32
  list(high = high, low = low, value = high * 2^32 + low,
       exact = missing | high >= -2^21 & high < 2^21)
}

int64_numbers <- function(x, what, call) {
  part <- int64_halves(x)
  value <- part$value
  if (!all(part$exact))
    stop_fumi(what, " must hold whole numbers that a double can hold, but ", sum(!part$exact),
              " of them are beyond 2^53: ", int64_text(x)[!part$exact][1], ".", class = "type",
              call = call)
  attributes(value) <- attributes(x)[c("dim", "dimnames")]
  value
}

# By long division, in numbers that a double holds exactly.
int64_text <- function(x) {
  part <- int64_halves(x)
  negative <- part$high < 0
  low <- ifelse(negative, -part$low %% 2^32, part$low)
  high <- ifelse(negative, -part$high - (part$low > 0), part$high)
  text <- ""
  for (digits in 1:4) {
    rest <- high %% 1e5 * 2^32 + low
    high <- high %/% 1e5
    low <- rest %/% 1e5
    text <- paste0(sprintf("%05.0f", rest %% 1e5), text)
  }
  replace(paste0(ifelse(negative, "-", ""), sub("^0+(?=.)", "", text, perl = TRUE)), is.na(high),
          NA)
}

# Labels and ids in a form in which R compares them as meant.
comparable_values <- function(x) {
  if (!inherits(x, "integer64")) return(x)
  part <- int64_halves(x)
  stats::setNames(if (all(part$exact)) part$value else int64_text(x), names(x))
}

# Ids and labels as text, the same whatever the options of the session.
value_names <- function(x) {
  if (inherits(x, "integer64")) return(int64_text(x))
  if (inherits(x, "POSIXct")) return(time_text(x))
  if (!is.numeric(x)) return(as.character(x))
  x <- as.vector(unclass(x))
  whole <- all(x == round(x), na.rm = TRUE)
  replace(number_text(if (whole) "%.0f" else "%.15g", x + 0), is.na(x), NA)
}

# With as many digits of the seconds as there are.
time_text <- function(x) {
  whole <- all(unclass(x) == round(unclass(x)), na.rm = TRUE)
  if (whole) as.character(x) else sub(",", ".", format(x, "%Y-%m-%d %H:%M:%OS6"), fixed = TRUE)
}

# sprintf() for numbers to be read back: with a decimal point in every locale.
number_text <- function(format, x) sub(",", ".", sprintf(format, x), fixed = TRUE)

# ---- several matrices -----------------------------------------------------------------------

# A list of matrices, one for each bag, side by side.
stack_columns <- function(x, call = rlang::caller_env(), missing_ok = FALSE) {
  if (length(x) == 0)
    stop_fumi("`x` must hold at least one bag, but the list is empty.", class = "empty",
              call = call)
  parts <- lapply(seq_along(x), function(i) as_columns(x[[i]], paste0("x[[", i, "]]"), call,
                                                       missing_ok))
  empty <- which(vapply(parts, ncol, 1L) == 0)
  if (length(empty))
    stop_fumi("`x[[", empty[1], "]]` must have at least one instance, not 0.", class = "empty",
              call = call)
  d <- vapply(parts, nrow, 1L)
  if (any(d != d[1]))
    stop_fumi("`x` must have the same features in each bag, but bag 1 has ", d[1], " and bag ",
              which(d != d[1])[1], " has ", d[d != d[1]][1], ".", call = call)
  names <- lapply(parts, rownames)
  if (!all(vapply(names, identical, NA, names[[1]])))
    stop_fumi("`x` must have the same feature names in the same order in each bag.", call = call)
  list(x = do.call(cbind, parts), size = vapply(parts, ncol, 1L))
}
