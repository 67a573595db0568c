# Which instances and bags `na.action` leaves out.

check_na_action <- function(na.action, call = rlang::caller_env()) {
  known <- list(fail = stats::na.fail, omit = stats::na.omit, exclude = stats::na.exclude)
  same <- vapply(names(known), function(name)
    identical(na.action, known[[name]]) || identical(na.action, paste0("na.", name)), NA)
  if (any(same)) return(names(known)[same])
  stop_fumi("`na.action` must be na.fail, na.omit or na.exclude, not ", describe(na.action), ".",
            call = call)
}

# Leaves out instances with a missing feature, bag or label of their own, and bags that have no
# other instances.
omit_missing <- function(given, action, call) {
  n <- ncol(given$x)
  given$omitted <- structure(integer(), class = action)
  rows <- missing_columns(given$x)
  for (part in c("bag", "label"))
    if (length(given[[part]]) == n) rows <- union(rows, which(is.na(given[[part]])))
  if (!length(rows) || length(given$bag) != n) return(given)
  id <- value_names(given$bag)
  gone <- setdiff(id, c(id[-rows], NA))
  ids <- unique(id[!is.na(id)])
  if (length(given$label) != n) {
    if (is.null(names(given$label)) && length(given$label) == length(ids)) names(given$label) <- ids
    if (!is.null(names(given$label))) given$label <- given$label[!names(given$label) %in% gone]
  } else given$label <- given$label[-rows]
  given$x <- given$x[, -rows, drop = FALSE]
  given$bag <- if (is.factor(given$bag)) droplevels(given$bag[-rows]) else given$bag[-rows]
  if (length(given$truth) == n) given$truth <- given$truth[-rows]
  if (!ncol(given$x))
    stop_fumi("`x` must have an instance without missing values, but all ", n, " have some.",
              class = "empty", call = call)
  if (length(gone))
    warn_fumi("`na.action` leaves no instance of ",
              pluralize("{length(gone)} bag{?s}, which {?is/are} dropped: "),
              enumerate(gone), ".", class = "empty_bag", call = call)
  given$omitted <- structure(sort(rows), class = action)
  given
}

# Columns with a missing value.
missing_columns <- function(x) {
  if (is_sparse(x)) return(unique(sparse_places(x, is.na(x@x))[, "col"]))
  if (anyNA(x)) which(colSums(is.na(x)) > 0) else integer()
}
