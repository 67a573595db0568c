#' Bags of instances
#'
#' `bags()` is the one door through which data enter the package. It takes data
#' as they come (a matrix, a data frame, a list of matrices, an array of images,
#' or a formula), checks them once, and returns the one class that every method
#' of the package works on. `as_bags()` is another name for it.
#'
#' @section Labels:
#' A label is given for each bag or for each instance; labels given for each
#' instance must agree within a bag. They may be `0`/`1`, `-1`/`1`, logical, a
#' factor with two levels (the second one is the positive one unless `positive`
#' says otherwise), or any two values with `positive` naming the positive one.
#' Labels given for each bag are in the order in which the bags first appear,
#' unless they carry the bags' ids as names.
#'
#' @param x the instances: a numeric matrix or data frame with one row an
#'   instance (n x d); a list of such matrices, one a bag; an array of images
#'   (height x width x n); or a formula `mi(label, bag) ~ .`. A file-backed `big.matrix` of the
#'   package bigmemory has one *column* an instance, and is not loaded but read block by block,
#'   in each iteration of [dlfumi()] and in `predict()`: it gives [bag_shards()].
#' @param bag the bag of each instance: a vector of length n, or, for a data
#'   frame, the name of a column. For a list it defaults to the names of the
#'   list.
#' @param label the labels, one a bag or one an instance, or, for a data frame,
#'   the name of a column. See below.
#' @param positive the label that means "contains a target".
#' @param truth optional labels of the instances themselves (length n), kept for
#'   evaluation only: no method looks at them.
#' @param image_dim height and width, if an instance is an image stored column by
#'   column; found by itself for an array.
#' @param data for a formula: a data frame.
#' @param block for a `big.matrix`: number of instances to read at a time. `NULL`: as many as take 64 MB.
#' @param ... passed on to the method; an unknown argument is an error.
#'
#' @return An object of class `bags`. Instances keep the order in which they were
#'   given: `as.matrix(b)`, `as.data.frame(b)` and all predictions are in that
#'   order. `length(b)` is the number of bags.
#'
#' @seealso [bags-methods] for what can be done with bags, [bags.SpatRaster()] for rasters,
#'   [read_bags()] for files, [sim_bags()] to make some, [dlfumi()] to learn from them.
#' @examples
#' x <- matrix(rnorm(60), nrow = 12)
#' b <- bags(x, bag = rep(1:4, each = 3), label = c(1, 1, 0, 0))
#' b
#' length(b)
#'
#' d <- data.frame(x, box = rep(letters[1:4], each = 3),
#'                 found = rep(c("yes", "no"), each = 6))
#' bags(d, bag = "box", label = "found", positive = "yes")
#' bags(mi(found, box) ~ ., data = d, positive = "yes")
#' @export
bags <- function(x, ...) UseMethod("bags")

#' @rdname bags
#' @export
as_bags <- function(x, ...) bags(x, ...)

#' @rdname bags
#' @export
bags.default <- function(x, bag, label, ..., positive = NULL, truth = NULL, image_dim = NULL) {
  check_dots_empty(..., known = names(formals()))
  if (rlang::is_string(x))
    stop_fumi("`x` must be instances, not ", describe(x), ": `read_bags()` reads files.", class = "type")
  if (length(dim(x)) == 3 && is.null(image_dim)) image_dim <- dim(x)[1:2]
  new_bags(as_columns(x, "x"), bag, label, positive, truth, image_dim)
}

#' @rdname bags
#' @export
bags.data.frame <- function(x, bag, label, ..., positive = NULL, truth = NULL, image_dim = NULL) {
  check_dots_empty(..., known = names(formals()))
  taken <- c(column_name(x, bag, "bag"), column_name(x, label, "label"),
             column_name(x, truth, "truth"))
  pick <- function(value, name) if (is.null(column_name(x, value, name))) value else x[[value]]
  warn_copies(x[setdiff(names(x), taken)], list(bag = bag, label = label))
  new_bags(as_columns(x[setdiff(names(x), taken)], "x"), pick(bag, "bag"),
           pick(label, "label"), positive, pick(truth, "truth"), image_dim)
}

#' @rdname bags
#' @export
bags.list <- function(x, label, ..., bag = names(x), positive = NULL, truth = NULL,
                      image_dim = NULL) {
  if (length(dim(x))) as_columns(x, "x")           # refuses a list with dimensions
  check_dots_empty(..., known = names(formals()))
  if (missing(label)) stop_fumi("`label` must be given.")
  if (length(bag) == 0) bag <- seq_along(x)
  if (length(bag) != length(x))
    stop_fumi("`bag` must give one id for each of the ", length(x), " elements of the list, not ",
              length(bag), ".")
  if (anyDuplicated(bag))
    stop_fumi("`bag` must give each element of the list an id of its own, but ",
              describe(bag[duplicated(bag)][1]), " is there twice.")
  columns <- stack_columns(x)
  if (is.null(image_dim) && length(dim(x[[1]])) == 3) image_dim <- dim(x[[1]])[1:2]
  if (is.list(truth)) truth <- unlist(truth, use.names = FALSE)
  if (length(label) == length(x) && is.null(names(label))) names(label) <- bag
  new_bags(columns$x, rep(bag, columns$size), label, positive, truth, image_dim)
}

#' @rdname bags
#' @export
bags.formula <- function(x, data, ..., positive = NULL, truth = NULL, image_dim = NULL) {
  check_dots_empty(..., known = names(formals()))
  if (missing(data) || !is.data.frame(data))
    stop_fumi("`data` must be a data frame when `x` is a formula, not ",
              if (missing(data)) "missing" else describe(data), ".")
  call <- rlang::current_env()
  lacking <- function(e) stop_fumi("`x` must have columns of `data` on its left side, but: ",
                                   conditionMessage(e), ".", class = "column", call = call)
  response <- if (length(x) == 3) tryCatch(eval(x[[2]], data, environment(x)), simpleError = lacking)
  if (!inherits(response, "mi"))
    stop_fumi("`x` must be a formula `mi(label, bag) ~ features`, not `",
              paste(deparse(x), collapse = " "), "`.")
  taken <- column_name(data, truth, "truth")
  if (!is.null(taken)) truth <- data[[taken]]
  features <- setdiff(formula_features(x, data), taken)
  new_bags(as_columns(data[features], "data"), mi_bag(response), mi_label(response),
           positive, truth, image_dim)
}

#' @rdname bags
#' @export
bags.bags <- function(x, ...) {
  check_dots_empty(..., known = c("bag", "label", "positive", "truth", "image_dim"))
  x
}

# The canonical form. `x` is d x N with instances in columns; instances of
# positive bags come first, so that the core sees one contiguous block of each
# kind; `order` undoes it: column j is the user's instance `order[j]`.
new_bags <- function(x, bag, label, positive, truth, image_dim, call = rlang::caller_env()) {
  if (missing(bag) || missing(label))
    stop_fumi("`bag` and `label` must both be given, but `", if (missing(bag)) "bag" else "label", "` is missing.",
              call = call)
  if (ncol(x) == 0 || nrow(x) == 0)
    stop_fumi("`x` must have at least one instance and one feature, not ", ncol(x), " and ",
              nrow(x), ".", class = "empty", call = call)
  image_dim <- check_image_dim(image_dim, nrow(x), call)
  bag <- check_bag(bag, ncol(x), call, nrow(x))
  parsed <- parse_label(label, positive, "label", call)
  y <- label_by_bag(parsed$is_positive, names(label), bag, call)
  if (!is.null(truth)) truth <- check_truth(truth, parsed$classes, bag, y, call)

  order <- order(!y[bag$code])
  if (is.unsorted(order)) x <- x[, order, drop = FALSE]
  structure(
    list(x = x, n_positive = sum(y[bag$code]), bag = bag$code[order], ids = bag$ids, label = y,
         classes = parsed$classes, order = order, truth = truth[order], image_dim = image_dim,
         features = rownames(x)),
    class = "bags")
}

# ---- instances ---------------------------------------------------------------

# What may be behind a wrong size or type, for messages.
no_columns <- " (the name of a column is for a data frame)"
is_transposed <- function(name) paste0(" (instances are rows: is `", name, "` transposed?)")

# Any numeric container of instances as d x N doubles, one instance a column.
as_columns <- function(x, name, call = rlang::caller_env()) {
  if (is.data.frame(x)) x <- numeric_columns(x, name, call)
  if (inherits(x, "Matrix"))
    stop_fumi("`", name, "` must be a dense matrix, not a ", class(x)[1], ": `as.matrix()` makes one of ",
              format(structure(8 * prod(dim(x)), class = "object_size"), units = "auto"), ".",
              class = "type", call = call)
  if (!(is.numeric(x) || is.logical(x)) || !length(dim(x)) %in% 2:3)
    stop_fumi("`", name, "` must be a numeric matrix with one row an instance, a data frame, ",
              "a list of matrices, or an array of images, not ",
              if (length(dim(x)) %in% 2:3) paste0("a matrix of type ", typeof(x)) else describe(x),
              if (is.numeric(x) && is.null(dim(x))) " (one row of a matrix stays a matrix with `drop = FALSE`)", ".",
              class = "type", call = call)
  if (length(dim(x)) == 2) x <- t(x) else x <- matrix(x, prod(dim(x)[1:2]), dim(x)[3])
  storage.mode(x) <- "double"
  dimnames(x) <- if (!is.null(rownames(x))) list(rownames(x), NULL)
  check_finite_columns(x, name, call)
}

check_finite_columns <- function(x, name, call = rlang::caller_env()) {
  if (is.finite(largest_value(x))) return(x)
  bad <- which(!is.finite(x), arr.ind = TRUE)
  kind <- if (anyNA(x)) "missing value" else "infinite value"
  stop_fumi("`", name, "` must be finite, but it has ", nrow(bad), " ", kind, if (nrow(bad) > 1) "s",
            ", the first in instance ", bad[1, 2], ", feature ", c(rownames(x)[bad[1, 1]], bad[1, 1])[1], ".",
            class = "nonfinite", call = call)
}

numeric_columns <- function(x, name, call) {
  ok <- vapply(x, function(v) (is.numeric(v) || is.logical(v)) && !is.factor(v), NA)
  if (!all(ok))
    stop_fumi("`", name, "` must have numeric feature columns, but ",
              enumerate(paste0(names(x), " (", vapply(x, function(v) class(v)[1], ""), ")")[!ok]),
              if (sum(!ok) > 1) " are not." else " is not.", class = "type", call = call)
  as.matrix(x)
}

# A list of matrices, one a bag, side by side.
stack_columns <- function(x, call = rlang::caller_env()) {
  if (length(x) == 0)
    stop_fumi("`x` must hold at least one bag, but the list is empty.", class = "empty", call = call)
  parts <- lapply(seq_along(x), function(i) as_columns(x[[i]], paste0("x[[", i, "]]"), call))
  empty <- which(vapply(parts, ncol, 1L) == 0)
  if (length(empty))
    stop_fumi("`x[[", empty[1], "]]` must have at least one instance, not 0.", class = "empty", call = call)
  d <- vapply(parts, nrow, 1L)
  if (any(d != d[1]))
    stop_fumi("`x` must have the same features in each bag, but bag 1 has ", d[1], " and bag ",
              which(d != d[1])[1], " has ", d[d != d[1]][1], ".", call = call)
  names <- lapply(parts, rownames)
  if (!all(vapply(names, identical, NA, names[[1]])))
    stop_fumi("`x` must have the same feature names in the same order in each bag.", call = call)
  list(x = do.call(cbind, parts), size = vapply(parts, ncol, 1L))
}

# ---- bags and labels ---------------------------------------------------------

check_bag <- function(bag, n, call, n_features = NULL) {
  if (!is.atomic(bag) || is.null(bag) || length(bag) != n)
    stop_fumi("`bag` must give the bag of each of the ", n, " instances, not ", describe(bag),
              if (identical(length(bag), n_features)) is_transposed("x"), if (rlang::is_string(bag)) no_columns, ".",
              call = call)
  if (anyNA(bag))
    stop_fumi("`bag` must not be missing, but it is for ", sum(is.na(bag)),
              " instances, the first is ", which(is.na(bag))[1], ".", class = "nonfinite", call = call)
  if (is.factor(bag) && nlevels(bag) > nlevels(droplevels(bag)))
    warn_fumi("`bag` has levels without an instance, which are dropped: ",
              enumerate(setdiff(levels(bag), levels(droplevels(bag)))), ".",
              class = "empty_bag", call = call)
  name <- value_names(bag)
  ids <- unique(name)
  list(code = match(name, ids), ids = ids)
}

# Ids and labels as text, the same whatever the options of the session.
value_names <- function(x) {
  if (!is.numeric(x)) return(as.character(x))
  whole <- all(x == round(x), na.rm = TRUE)
  replace(number_text(if (whole) "%.0f" else "%.15g", x + 0), is.na(x), NA)
}

# sprintf() for one that reads it back: with a decimal point also where C was told of another.
number_text <- function(format, x) sub(",", ".", sprintf(format, x), fixed = TRUE)

# Two-valued labels as logicals, with the names of both classes, negative first.
parse_label <- function(label, positive, name, call) {
  if (!is.atomic(label) || is.null(label) || length(label) == 0)
    stop_fumi("`", name, "` must be a vector of labels, not ", describe(label), ".", call = call)
  if (anyNA(label))
    stop_fumi("`", name, "` must not be missing, but ", sum(is.na(label)), " labels are, the first is label ",
              which(is.na(label))[1], ".", class = "nonfinite", call = call)
  classes <- label_classes(label, positive, name, call)
  list(is_positive = value_names(label) == classes[2], classes = classes)
}

label_classes <- function(label, positive, name, call) {
  values <- if (is.factor(label)) levels(label) else value_names(sort(unique(label)))
  if (!is.null(positive)) {
    positive <- value_names(positive)
    if (length(values) > 2 || length(positive) != 1 || !positive %in% values && length(values) == 2)
      stop_fumi("`positive` must be one of the two values of `", name, "` (", enumerate(values, 5),
                "), not ", describe(positive), ".", class = "label", call = call)
    other <- setdiff(values, positive)
    return(c(if (length(other)) other else paste("not", positive), positive))
  }
  if (is.logical(label)) return(c("FALSE", "TRUE"))
  if (is.numeric(label) && all(label %in% c(0, 1))) return(c("0", "1"))
  if (is.numeric(label) && all(label %in% c(-1, 1))) return(c("-1", "1"))
  if (is.factor(label) && length(values) == 2) return(values)
  if (length(values) == 2)
    stop_fumi("`positive` must name the positive one of the two values of `", name, "` (", enumerate(values),
              "), but it is not given.", class = "label", call = call)
  stop_fumi("`", name, "` must be 0/1, -1/1, logical, a factor with two levels, or any two values ",
            "with `positive` naming the positive one, not ", describe(label), if (rlang::is_string(label)) no_columns,
            if (length(values) > 2)
              paste0(" with ", length(values), " values: ", enumerate(values, 5), " (`one_vs_rest()` takes several classes)"),
            ".", class = "label", call = call)
}

# One label a bag, from one a bag (in the order of first appearance, or named) or
# one an instance.
label_by_bag <- function(y, names, bag, call) {
  n_bags <- length(bag$ids)
  by_name <- length(y) == n_bags && setequal(names, bag$ids)
  if (by_name || length(y) == n_bags && length(y) < length(bag$code)) {
    if (is.null(names)) return(y)
    if (!setequal(names, bag$ids))
      stop_fumi("`label` must be named by the ids of the bags or not at all, but there is no label for ",
                enumerate(setdiff(bag$ids, names)), ".", class = "label", call = call)
    return(unname(y[match(bag$ids, names)]))
  }
  if (length(y) != length(bag$code))
    stop_fumi("`label` must have one value for each of the ", n_bags, " bags or for each of the ",
              length(bag$code), " instances, not ", length(y), ".", call = call)
  first <- y[match(seq_len(n_bags), bag$code)]
  mixed <- bag$code[y != first[bag$code]]
  if (length(mixed))
    stop_fumi("`label` must be the same for all instances of a bag, but bag ", bag$ids[mixed[1]],
              " has both (what is true of single instances goes into `truth`).", class = "label", call = call)
  unname(first)
}

check_truth <- function(truth, classes, bag, y, call) {
  if (length(truth) != length(bag$code))
    stop_fumi("`truth` must have one value for each of the ", length(bag$code), " instances, not ",
              length(truth), ".", call = call)
  own <- !is.logical(truth) && all(value_names(truth) %in% classes)
  is_target <- parse_label(truth, if (own) classes[2], "truth", call)$is_positive
  odd <- which(is_target & !y[bag$code])
  if (length(odd))
    warn_fumi("`truth` calls ", length(odd), " instances of negative bags targets, the first in bag ",
              bag$ids[bag$code[odd[1]]], ".", class = "truth", call = call)
  is_target
}

check_image_dim <- function(image_dim, d, call = rlang::caller_env()) {
  if (is.null(image_dim)) return(NULL)
  if (!is.numeric(image_dim) || length(image_dim) != 2 || anyNA(image_dim) ||
      any(image_dim < 1 | image_dim != round(image_dim)) || prod(image_dim) != d)
    stop_fumi("`image_dim` must be a height and a width whose product is the number of features (", d,
              "), not ", paste(format(image_dim), collapse = " x "), ".", call = call)
  as.integer(image_dim)
}

# ---- columns of a data frame -------------------------------------------------

# The name of the column that `value` names, or NULL when it is no name.
column_name <- function(x, value, name, call = rlang::caller_env()) {
  if (missing(value)) stop_fumi("`bag` and `label` must both be given, but `", name, "` is missing.", call = call)
  if (!is.character(value) || length(value) != 1 || nrow(x) == 1 && !value %in% names(x)) return(NULL)
  if (value %in% names(x)) return(value)
  stop_fumi("`", name, "` must name a column of the data, but there is no column ", describe(value),
            " among ", enumerate(names(x), 5), did_you_mean(value, names(x)), ".", class = "column", call = call)
}

# Labels or ids given as vectors that are columns too would be taken for features.
warn_copies <- function(x, given, call = rlang::caller_env()) {
  for (name in names(given)) {
    value <- as.character(given[[name]])
    same <- function(v, i) identical(as.character(v[i]), value[i])
    is_copy <- vapply(x, function(v) length(v) > 1 && length(v) == length(value) && same(v, 1) && same(v, seq_along(v)), NA)
    if (any(is_copy))
      warn_fumi("`", name, "` must not be a feature too, but it equals the column ", names(x)[is_copy][1], ": `", name,
                " = \"", names(x)[is_copy][1], "\"` takes that column out.", class = "copy", call = call)
  }
}

# Feature columns of `mi(label, bag) ~ a + b` or `~ .` or `~ . - a`.
formula_features <- function(formula, data, call = rlang::caller_env()) {
  features <- attr(stats::terms(formula, data = data), "term.labels")
  names <- gsub("^`|`$", "", features)
  if (!all(names %in% names(data)))
    stop_fumi("`x` must have plain columns of `data` on its right side, but ",
              enumerate(setdiff(names, names(data))), " is none: transform the column first.",
              class = "column", call = call)
  names
}

# ---- what a fitter needs ------------------------------------------------------

check_both_labels <- function(b, call = rlang::caller_env()) {
  if (any(b$label) && !all(b$label)) return(invisible(b))
  stop_fumi("`label` must have at least one positive and one negative bag, but all ",
            length(b$label), " are ", if (any(b$label)) "positive" else "negative", ".",
            class = "label", call = call)
}

# A vector or matrix with one entry or column an instance, back in the user's order.
in_user_order <- function(b, values) {
  if (is.matrix(values)) values[, order(b$order), drop = FALSE] else values[order(b$order)]
}
