# New data in the features of a fit.

# New data in the model's features: list(x d x n, order, bag ids in the user's order).
forge <- function(object, new_data, bag, call = rlang::caller_env(), name = "new_data") {
  if (inherits(new_data, "bags")) {
    if (!is.null(bag))
      stop_fumi("`bag` must not be given when `", name, "` is bags, which have ids of their own.", call = call)
    x <- match_features(object, new_data$x, call, name)
    check_largest(x, name, object$normalize, call)
    return(list(x = x, order = new_data$order, bag = in_user_order(new_data, new_data$ids[new_data$bag])))
  }
  if (is.data.frame(new_data)) {
    column <- column_name(new_data, bag, "bag", call)
    if (!is.null(column)) {
      bag <- new_data[[column]]
      new_data <- new_data[setdiff(names(new_data), column)]
    }
    if (!is.null(object$features)) new_data <- pick_columns(object, new_data, call, name)
  } else if (is.list(new_data)) {
    part_of <- function(part, name) match_features(object, as_columns(part, name, call), call, name)
    parts <- Map(part_of, new_data, sprintf("%s[[%d]]", name, seq_along(new_data)))
    if (is.null(bag)) bag <- if (is.null(names(parts))) seq_along(parts) else names(parts)
    if (length(bag) == length(parts)) bag <- rep(bag, vapply(parts, ncol, 1L))
    new_data <- if (length(parts)) t(do.call(cbind, parts)) else matrix(0, 0, object$n_features)
  }
  x <- match_features(object, as_columns(new_data, name, call), call, name)
  check_largest(x, name, object$normalize, call)
  if (is.null(bag)) bag <- rep(NA_character_, ncol(x))
  if (length(bag) != ncol(x))
    stop_fumi("`bag` must give the bag of each of the ", ncol(x), " instances, not ", describe(bag), ".",
              call = call)
  list(x = x, order = seq_len(ncol(x)), bag = value_names(bag))
}

pick_columns <- function(object, new_data, call, name = "new_data") {
  lacking <- setdiff(object$features, names(new_data))
  if (length(lacking))
    stop_fumi("`", name, "` must have the features of the fit, but it lacks ", enumerate(lacking), ".",
              class = "column", call = call)
  new_data[object$features]
}

match_features <- function(object, x, call, name = "new_data") {
  if (!is.null(object$features) && !is.null(rownames(x))) {
    if (identical(rownames(x), object$features)) return(x)
    lacking <- setdiff(object$features, rownames(x))
    if (length(lacking))
      stop_fumi("`", name, "` must have the features of the fit, but it lacks ", enumerate(lacking), ".",
                class = "column", call = call)
    return(x[object$features, , drop = FALSE])
  }
  if (nrow(x) != object$n_features)
    stop_fumi("`", name, "` must have ", object$n_features, " features, not ", nrow(x),
              if (ncol(x) == object$n_features) is_transposed(name), ".", class = "column", call = call)
  x
}
