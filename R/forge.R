# Brings new data to the features of a fit.

# list(x d x n, order, bag ids in the user's order, omitted): `omitted` are the rows of the data
# given that have a missing value and are not in x, list(rows, bag), NULL without.
forge <- function(object, new_data, bag, call = rlang::caller_env(), name = "new_data") {
  if (inherits(new_data, "bags")) return(forge_bags(object, new_data, bag, call, name))
  missing_ok <- !is.null(object$na_action)
  if (is.data.frame(new_data)) {
    new_data <- plain_frame(new_data)
    if (is.null(bag) && "bag" %in% setdiff(names(new_data), object$features)) bag <- "bag"
    column <- column_name(new_data, bag, "bag", call)
    if (!is.null(column)) bag <- new_data[[column]]
    if (!is.null(column)) new_data <- new_data[names(new_data) != column]
    x <- frame_features(object, new_data, call, name)
  } else if (is.list(new_data)) {
    parts <- Map(function(part, name) list_part(object, part, call, name, missing_ok), new_data,
                 sprintf("%s[[%d]]", name, seq_along(new_data)))
    empty <- which(!vapply(parts, ncol, 1L))
    if (length(empty))
      stop_fumi("`", name, "[[", empty[1], "]]` must have at least one instance, not 0.",
                class = "empty", call = call)
    if (is.null(bag)) bag <- if (is.null(names(parts))) seq_along(parts) else names(parts)
    if (length(bag) == length(parts)) bag <- rep(bag, vapply(parts, ncol, 1L))
    x <- if (length(parts)) do.call(cbind, unname(parts)) else matrix(0, object$n_features, 0)
  } else x <- matrix_features(object, new_data, call, name, missing_ok)
  if (is.data.frame(new_data))
    x <- match_features(object, as_columns(x, name, call, missing_ok), call, name)
  if (is.null(bag)) bag <- rep(NA_character_, ncol(x))
  if (length(bag) != ncol(x))
    stop_fumi("`bag` must give the bag of each of the ", ncol(x), " instances, not ",
              describe(bag), ".", call = call)
  leave_out_missing(object, x, value_names(bag), name, call)
}

forge_bags <- function(object, new_data, bag, call, name) {
  if (!is.null(bag))
    stop_fumi("`bag` must not be given when `", name, "` is bags, which have ids of their own.",
              call = call)
  check_same_terms(object, new_data, call, name)
  x <- match_features(object, new_data$x, call, name)
  check_largest(x, name, object$normalize, call)
  list(x = columns_for(object, x, call), order = new_data$order,
       bag = in_user_order(new_data, new_data$ids[new_data$bag]))
}

# Sparse columns for a fit that scores them, else dense ones.
columns_for <- function(object, x, call = rlang::caller_env()) {
  if (scores_sparse(object)) x
  else dense_columns(x, paste0("a fit of `", object$method, "()`"), call)
}

leave_out_missing <- function(object, x, bag, name, call) {
  rows <- if (!is.null(object$na_action)) missing_columns(x)
  omitted <- if (length(rows)) list(rows = rows, bag = bag[rows])
  if (length(rows)) {
    x <- x[, -rows, drop = FALSE]
    bag <- bag[-rows]
  }
  check_largest(x, name, object$normalize, call)
  list(x = columns_for(object, x, call), order = seq_len(ncol(x)), bag = bag, omitted = omitted)
}

# Predictions (a data frame or a matrix with one row for each instance scored, or for `level =
# "bag"` a data frame with one row for each of their bags) with rows of NA for what had a missing
# value, in the order given.
pad_omitted <- function(said, new, level = "instance") {
  if (is.null(new$omitted)) return(said)
  n <- length(new$bag) + length(new$omitted$rows)
  from <- replace(rep(NA_integer_, n), setdiff(seq_len(n), new$omitted$rows), seq_along(new$bag))
  bag <- replace(new$bag[from], new$omitted$rows, new$omitted$bag)
  if (level == "bag") {
    bag <- unique(bag)
    from <- match(bag, said$.bag)
  }
  said <- said[from, , drop = FALSE]
  rownames(said) <- NULL
  if (is.data.frame(said) && !is.null(said$.bag)) said$.bag <- bag
  if (is.data.frame(said) && !is.null(said$.instance)) said$.instance <- seq_len(nrow(said))
  said
}

# ---- columns of data frames -----------------------------------------------------------------

list_part <- function(object, part, call, name, missing_ok) {
  x <- if (is.data.frame(part)) frame_features(object, plain_frame(part), call, name) else part
  matrix_features(object, x, call, name, missing_ok)
}

# A column `truth` of a matrix is no feature, unless the fit has one of that name.
matrix_features <- function(object, x, call, name, missing_ok) {
  if (!"truth" %in% object$features) x <- without_truth(x)
  image_size(x, name, object$image_dim, call)
  match_features(object, as_columns(x, name, call, missing_ok), call, name)
}

# The features of a data frame, n x d: by the blueprint of the fit, if it has one and the data are
# not features already. For a fit without names, all columns but those that as.data.frame() adds
# to the features of bags.
frame_features <- function(object, data, call, name) {
  if (is.null(object$features)) {
    own <- setdiff(names(data), c("bag", "label", "truth"))
    return(numeric_columns(data[own], name, call))
  }
  wanted <- object$blueprint$columns
  if (is.null(wanted) || !all(wanted %in% names(data)) && all(object$features %in% names(data)))
    return(numeric_columns(pick_columns(data, object$features, call, name), name, call))
  data <- pick_columns(data, wanted, call, name)
  if (nrow(data)) expand_frame(data, object$blueprint, name, call)
  else matrix(0, 0, object$n_features, dimnames = list(NULL, object$features))
}

pick_columns <- function(new_data, wanted, call, name = "new_data") {
  if (identical(names(new_data), wanted)) return(new_data)
  stop_ambiguous(wanted, names(new_data), name, call)
  stop_lacking(setdiff(wanted, names(new_data)), name, call)
  new_data[wanted]
}

# Features that are several times in the fit or in the data cannot be matched by name.
stop_ambiguous <- function(wanted, names, name, call) {
  twice <- unique(c(wanted[duplicated(wanted)], intersect(wanted, names[duplicated(names)])))
  if (length(twice))
    stop_fumi("`", name, "` must have the features of the fit in their order, since there are ",
              "several called ", enumerate(twice), ".", class = "column", call = call)
}

stop_lacking <- function(lacking, name, call) {
  if (length(lacking))
    stop_fumi("`", name, "` must have the features of the fit, but it lacks ", enumerate(lacking),
              ".", class = "column", call = call)
}

match_features <- function(object, x, call, name = "new_data") {
  if (!is.null(object$features) && !is.null(rownames(x))) {
    if (identical(rownames(x), object$features)) return(x)
    stop_ambiguous(object$features, rownames(x), name, call)
    stop_lacking(setdiff(object$features, rownames(x)), name, call)
    return(x[object$features, , drop = FALSE])
  }
  if (nrow(x) != object$n_features)
    stop_fumi("`", name, "` must have ", object$n_features, " features, not ", nrow(x),
              if (ncol(x) == object$n_features) is_transposed(name), ".", class = "column",
              call = call)
  x
}

# Bags made with other terms or levels than the fit have features with the same names but other
# meanings.
check_same_terms <- function(object, b, call, name) {
  ours <- object$blueprint
  theirs <- b$blueprint
  if (is.null(ours) || is.null(theirs) || identical(ours, theirs)) return(invisible())
  way_out <- "give the data frame itself, or make the bags with `like = ` the fit."
  if (!identical(ours$variables, theirs$variables))
    stop_fumi("`", name, "` must have terms with the knots and centres of the fit, but these bags ",
              "have others of their own: ", way_out, class = "blueprint", call = call)
  for (column in names(theirs$coding)) {
    new <- setdiff(rownames(theirs$coding[[column]]), rownames(ours$coding[[column]]))
    if (length(new) && column %in% names(ours$coding))
      stop_fumi("`", name, "` must have no levels in ", column, " that the fit has not seen, but ",
                "it has ", enumerate(new), ": ", way_out, class = "level", call = call)
  }
}

# The instances of new data, one row each, as dense numbers.
given_rows <- function(new) pad_omitted(t(dense_columns(new$x, "a data frame")), new)
