#' Bags of instances
#'
#' `bags()` prepares data for every function of the package. It takes data
#' as they come (a matrix, a sparse matrix, a data frame, a list of matrices, an array of images,
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
#' @section Truth:
#' A column named `truth` holds the labels of the instances, as in the data frame that
#' `as.data.frame()` makes of bags: it is taken as `truth` and never as a feature, whether the data
#' come as a data frame, a matrix, a list of either, by a formula (also by its `.`), or from a
#' file. So
#' `bags(as.data.frame(b), "bag", "label")` gives `b` again. There are two exceptions: a formula
#' that names `truth` on its right side makes it a feature, and `truth = ` something else leaves
#' the column out. `predict()` ignores it. Columns that a model has added, such as `.score` and
#' `.pred_class` of [augment()], are left out of the features with a warning, unless a formula
#' names them.
#'
#' @section Classes of columns:
#' Numbers, logicals (0 and 1), matrices of numbers (one feature for each of their columns) and
#' factors become features. `integer64` is converted exactly, and refused where a number is beyond
#' 2^53. Every other class is refused with an error that names the column: dates, times,
#' `difftime`, `units`, labelled codes, `hexmode` and text have numbers that depend on an origin,
#' a unit or a table, so that you must say what you mean, by `as.numeric()` or `factor()`. Ids of
#' bags may be of any class whose values differ as text.
#'
#' @section Factors and formula terms:
#' A factor gives one feature for each of its levels, which is 1 for instances of that level and 0
#' for others, named by column and level; there is no intercept and no reference level. A factor
#' with contrasts of its own (`contrasts(f) <-`) gives those instead. Levels without an instance
#' are kept.
#'
#' The right side of a formula has the terms of [stats::model.matrix()] with the same coding:
#' columns, `.`, interactions, and the functions `I`, `log`, `log2`, `log10`, `log1p`, `exp`,
#' `expm1`, `sqrt`, `abs`, `sign`, `round`, `floor`, `ceiling`, `trunc`, `pmin`, `pmax`, `ifelse`,
#' `is.na`, the trigonometric ones, arithmetic and comparisons, `as.numeric`, `as.integer`,
#' `as.character`, `as.factor`, `factor`, `ordered`, `cut` (with its breaks), `scale`, `poly`, and
#' `ns` and `bs` of the package splines. All others are refused, as are variables that are no
#' columns: compute such a column first.
#'
#' Levels, codings, centres and knots are kept with the bags and with every fit to them, so that
#' `predict(fit, new_data)` gives new data the features of the training data. A level that the
#' training data did not have is an error that names it. To make *bags* of new data in the same
#' way, say `like = ` the fit or the training bags: bags with knots of their own are refused by
#' `predict()`.
#'
#' @section Missing values:
#' By default a missing value is an error that names the first one. `na.action = na.omit` leaves
#' out instances with a missing feature, id or label, as [stats::lm()] does. A bag that loses all
#' its instances is dropped, with a warning that names it. `na.action(b)` gives the numbers of the
#' instances left out. `na.exclude` does the same, because a fit keeps no training data: after
#' either of them, `predict()` returns `NA` for instances of new data with missing values, one row
#' for each row given, and for bags that have no other instances. Infinite values are always
#' refused.
#'
#' @section Sparse features:
#' A sparse matrix of the package Matrix, such as a `dgCMatrix`, with one row per instance, stays
#' sparse in the bags. [sil()] (but not with functions of your own), [mi_svm()] with the linear
#' kernel and [miles()] work on it without making it dense; [mmdl()] makes dense the instances of
#' positive bags only, for its clusters. All other methods make it dense and give the same results
#' as for a dense matrix. Where that would take more than 1 GB they stop with an error that says
#' how much it would be; `options(fumi.max_dense = 4)` allows 4 GB. `as.matrix()` and plots keep
#' to the same limit. `read_bags(sparse = TRUE)` reads files of `index:value`.
#'
#' @param x the instances: a numeric matrix, sparse matrix or data frame with one row per
#'   instance (n x d); a list of such matrices, one for each bag; an array of images
#'   (height x width x n); or a formula `mi(label, bag) ~ .`. A file-backed `big.matrix` of the
#'   package bigmemory has one *column* per instance, and is not loaded but read block by block,
#'   in each iteration of [dlfumi()] and in `predict()`: it gives [bag_shards()].
#' @param bag the bag of each instance: a vector of length n, or, for a data
#'   frame, the name of a column. For a list it defaults to the names of the
#'   list.
#' @param label the labels: a vector, one for each bag or one for each instance, or, for a data
#'   frame, the name of a column. See below.
#' @param positive `NULL` (default: 1, `TRUE` or the second level of a factor), or the label that
#'   means "contains a target"; labels of another kind need it.
#' @param truth `NULL` (default: not known), or labels of the instances themselves (length n), or,
#'   for a data frame, the name of a column (by default `truth`, if there is one); kept for
#'   evaluation only: no method looks at them. See below.
#' @param image_dim `NULL` (default: no images), or two whole numbers, height and width, if an
#'   instance is an image stored column by column; found by itself for an array.
#' @param axis `NULL` (default: the numbers in the features' names, if they have any, see
#'   [plot.mil_model()]), or where the features are on the horizontal axis of plots: one number per
#'   feature, such as wavelengths, or a list of such a vector with its label as name,
#'   `list("wavelength in nm" = 400:699)`.
#' @param data for a formula: a data frame.
#' @param na.action `na.fail` (default), `na.omit` or `na.exclude`: what to do with missing values.
#'   See below.
#' @param like `NULL` (default: none), or for a data frame or a formula, bags or a fit whose levels,
#'   codings and knots are to be used. See below.
#' @param block whole number >= 1, for a `big.matrix`: number of instances to read at a time. `NULL`
#'   (default): as many as take 64 MB.
#' @param ... passed on to the method; an unknown argument is an error.
#'
#' @return An object of class `bags`. Instances keep the order in which they were
#'   given: `as.matrix(b)`, `as.data.frame(b)` and all predictions are in that
#'   order. `length(b)` is the number of bags.
#'
#' @seealso [bags-methods] for what can be done with bags, [bags.SpatRaster()] for rasters,
#'   [read_bags()] for files, [sim_bags()] to make some, [dlfumi()] to learn from them.
#' @examples
#' set.seed(1)
#' x <- matrix(rexp(60), nrow = 12)
#' b <- bags(x, bag = rep(1:4, each = 3), label = c(1, 1, 0, 0))
#' b
#' length(b)
#'
#' d <- data.frame(x, box = rep(letters[1:4], each = 3),
#'                 found = rep(c("yes", "no"), each = 6))
#' bags(d, bag = "box", label = "found", positive = "yes")
#' bags(mi(found, box) ~ ., data = d, positive = "yes")
#'
#' # The truth about instances, and a data frame made of bags
#' d$truth <- rep(c("yes", "no", "no", "no"), 3) == "yes" & d$found == "yes"
#' b <- bags(d, bag = "box", label = "found", positive = "yes")
#' identical(bags(as.data.frame(b), "bag", "label"), b)
#'
#' # A factor: one feature for each level
#' d$colour <- factor(rep(c("red", "green", "blue"), 4))
#' head(as.matrix(bags(mi(found, box) ~ X1 + colour, data = d, positive = "yes")), 3)
#'
#' # Formula terms, whose centres and knots new data get too
#' fit <- sil(mi(found, box) ~ log(X1) + poly(X2, 2) + colour, data = d, positive = "yes")
#' predict(fit, d[1:3, ])
#' bags(mi(found, box) ~ log(X1) + poly(X2, 2) + colour, data = d[1:6, ], positive = "yes",
#'      like = fit)
#'
#' # Missing values
#' d$X1[2] <- NA
#' fit <- sil(mi(found, box) ~ X1 + X2, data = d, positive = "yes", na.action = na.omit)
#' predict(fit, d[1:3, ])
#'
#' # Sparse features
#' if (requireNamespace("Matrix", quietly = TRUE)) {
#'   sparse <- Matrix::rsparsematrix(12, 1000, 0.05)
#'   b <- bags(sparse, bag = rep(1:4, each = 3), label = c(1, 1, 0, 0))
#'   sil(b)
#' }
#' @export
bags <- function(x, ...) UseMethod("bags")

#' @rdname bags
#' @export
as_bags <- function(x, ...) bags(x, ...)

#' @rdname bags
#' @export
bags.default <- function(x, bag, label, ..., positive = NULL, truth = NULL, image_dim = NULL,
                         axis = NULL, na.action = stats::na.fail) {
  check_dots_empty(..., known = names(formals()))
  if (rlang::is_string(x))
    stop_fumi("`x` must be instances, not ", describe(x), ": `read_bags()` reads files.",
              class = "type")
  if (length(dim(x)) == 3 && is.null(image_dim)) image_dim <- dim(x)[1:2]
  action <- check_na_action(na.action)
  if (is.null(truth)) truth <- truth_column(x)
  new_bags(as_columns(without_truth(x), "x", missing_ok = action != "fail"), bag, label, positive,
           truth, image_dim, action, axis = axis)
}

#' @rdname bags
#' @export
bags.data.frame <- function(x, bag, label, ..., positive = NULL, truth = NULL, image_dim = NULL,
                            axis = NULL, na.action = stats::na.fail, like = NULL) {
  check_dots_empty(..., known = names(formals()))
  action <- check_na_action(na.action)
  x <- plain_frame(x)
  taken <- c(column_name(x, bag, "bag"), column_name(x, label, "label"))
  if (is.null(truth) && "truth" %in% setdiff(names(x), taken)) truth <- "truth"
  taken <- c(taken, column_name(x, truth, "truth"), "truth")
  pick <- function(value, name) if (is.null(column_name(x, value, name))) value else x[[value]]
  features <- x[setdiff(names(x), c(taken, said_by_models(x, taken)))]
  warn_copies(features, list(bag = bag, label = label, truth = truth))
  made <- frame_columns(features, column_blueprint(features), like, "x", action)
  new_bags(made$x, pick(bag, "bag"), pick(label, "label"), positive, pick(truth, "truth"),
           image_dim, action, made$blueprint, axis)
}

#' @rdname bags
#' @export
bags.list <- function(x, label, ..., bag = names(x), positive = NULL, truth = NULL,
                      image_dim = NULL, axis = NULL, na.action = stats::na.fail) {
  if (length(dim(x))) as_columns(x, "x")           # refuses a list with dimensions
  check_dots_empty(..., known = names(formals()))
  if (missing(label)) stop_fumi("`label` must be given.")
  if (length(bag) == 0) bag <- seq_along(x)
  if (length(bag) != length(x))
    stop_fumi("`bag` must give one id for each of the ", length(x), " elements of the list, not ",
              length(bag), ".")
  bag <- value_names(bag)
  if (anyDuplicated(bag))
    stop_fumi("`bag` must give each element of the list an id of its own, but ",
              describe(bag[duplicated(bag)][1]), " is there twice.")
  action <- check_na_action(na.action)
  if (is.null(truth)) truth <- lapply(x, truth_column)
  columns <- stack_columns(lapply(x, without_truth), missing_ok = action != "fail")
  if (is.null(image_dim) && length(dim(x[[1]])) == 3) image_dim <- dim(x[[1]])[1:2]
  if (is.list(truth)) truth <- unlist(truth, use.names = FALSE)
  if (length(label) == length(x) && is.null(names(label))) names(label) <- bag
  new_bags(columns$x, rep(bag, columns$size), label, positive, truth, image_dim, action,
           axis = axis)
}

#' @rdname bags
#' @export
bags.formula <- function(x, data, ..., positive = NULL, truth = NULL, image_dim = NULL,
                         axis = NULL, na.action = stats::na.fail, like = NULL) {
  check_dots_empty(..., known = names(formals()))
  call <- rlang::current_env()
  given <- formula_parts(x, if (!missing(data)) data, truth, na.action, like, call)
  new_bags(given$x, given$bag, given$label, positive, given$truth, image_dim, given$action,
           given$blueprint, axis)
}

# What a formula says of a data frame: features, bags, labels as they are, truth.
formula_parts <- function(x, data = NULL, truth = NULL, na.action = stats::na.fail, like = NULL,
                          call = rlang::caller_env()) {
  if (!is.data.frame(data))
    stop_fumi("`data` must be a data frame when `x` is a formula, not ",
              if (is.null(data)) "missing" else describe(data), ".", call = call)
  action <- check_na_action(na.action, call)
  data <- plain_frame(data)
  lacking <- function(e) stop_fumi("`x` must have columns of `data` on its left side, but: ",
                                   conditionMessage(e), ".", class = "column", call = call)
  response <- if (length(x) == 3) tryCatch(eval(x[[2]], data, environment(x)),
                                           simpleError = lacking)
  if (!inherits(response, "mi"))
    stop_fumi("`x` must be a formula `mi(label, bag) ~ features`, not `",
              paste(deparse(x), collapse = " "), "`.", call = call)
  named <- all.vars(x[[3]])
  if (is.null(truth) && "truth" %in% setdiff(names(data), c(named, all.vars(x[[2]]))))
    truth <- "truth"
  taken <- column_name(data, truth, "truth", call)
  if (!is.null(taken)) truth <- data[[taken]]
  hidden <- c(taken, "truth", if ("." %in% named) said_by_models(data, c(named, all.vars(x[[2]]))))
  right <- formula_blueprint(x, data, setdiff(names(data), setdiff(hidden, named)), call)
  made <- frame_columns(right$data, right$blueprint, like, "data", action, call)
  list(x = made$x, bag = mi_bag(response), label = mi_label(response), truth = truth,
       action = action, blueprint = made$blueprint)
}

#' @rdname bags
#' @export
bags.bags <- function(x, ...) {
  check_dots_empty(..., known = c("bag", "label", "positive", "truth", "image_dim", "axis",
                                     "na.action"))
  x
}

# The features of a data frame as columns, by its own blueprint or by that of `like`.
frame_columns <- function(data, blueprint, like, name, action, call = rlang::caller_env()) {
  if (!is.null(like)) {
    blueprint <- blueprint_of(like, call)
    lacking <- setdiff(blueprint$columns, names(data))
    if (length(lacking))
      stop_fumi("`", name, "` must have the columns of `like`, but it lacks ", enumerate(lacking),
                ".", class = "column", call = call)
  }
  x <- if (nrow(data) && length(data)) expand_frame(data, blueprint, name, call)
       else as.matrix(data)
  list(x = as_columns(x, name, call, missing_ok = action != "fail"), blueprint = blueprint)
}

# The canonical form. `x` is d x N with instances in columns; instances of
# positive bags come first, so that the core sees one contiguous block of each
# kind; `order` undoes it: column j is the user's instance `order[j]`.
new_bags <- function(x, bag, label, positive, truth, image_dim, action = "fail", blueprint = NULL,
                     axis = NULL, call = rlang::caller_env()) {
  if (missing(bag) || missing(label))
    stop_fumi("`bag` and `label` must both be given, but `", if (missing(bag)) "bag" else "label",
              "` is missing.", call = call)
  if (ncol(x) == 0 || nrow(x) == 0)
    stop_fumi("`x` must have at least one instance and one feature, not ", ncol(x), " and ",
              nrow(x), ".", class = "empty", call = call)
  image_dim <- check_image_dim(image_dim, nrow(x), call)
  axis <- check_axis(axis, nrow(x), call)
  given <- list(x = x, bag = comparable_values(bag), label = comparable_values(label),
                truth = truth)
  if (action != "fail") given <- omit_missing(given, action, call)
  x <- given$x
  bag <- check_bag(given$bag, ncol(x), call, nrow(x))
  parsed <- parse_label(given$label, positive, "label", call)
  y <- label_by_bag(parsed$is_positive, names(given$label), bag, call)
  truth <- given$truth
  if (!is.null(truth)) truth <- check_truth(truth, parsed$classes, bag, y, call)

  order <- order(!y[bag$code])
  if (is.unsorted(order)) x <- x[, order, drop = FALSE]
  b <- list(x = x, n_positive = sum(y[bag$code]), bag = bag$code[order], ids = bag$ids, label = y,
            classes = parsed$classes, order = order, truth = truth[order], image_dim = image_dim,
            features = rownames(x))
  b$axis <- axis
  b$blueprint <- blueprint
  b$na.action <- given$omitted
  structure(b, class = "bags")
}

# ---- missing values ----------------------------------------------------------

check_na_action <- function(na.action, call = rlang::caller_env()) {
  known <- list(fail = stats::na.fail, omit = stats::na.omit, exclude = stats::na.exclude)
  same <- vapply(names(known), function(name)
    identical(na.action, known[[name]]) || identical(na.action, paste0("na.", name)), NA)
  if (any(same)) return(names(known)[same])
  stop_fumi("`na.action` must be na.fail, na.omit or na.exclude, not ", describe(na.action), ".",
            call = call)
}

# Instances with a feature, bag or label of their own that is missing are left out, and bags of
# which none is left.
omit_missing <- function(given, action, call) {
  n <- ncol(given$x)
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
    stop_fumi("`x` must have an instance without a missing value, but none of the ", n, " is.",
              class = "empty", call = call)
  if (length(gone))
    warn_fumi("`na.action` leaves no instance of ", length(gone), " bags, which are dropped: ",
              enumerate(gone), ".", class = "empty_bag", call = call)
  given$omitted <- structure(sort(rows), class = action)
  given
}

# Columns with a missing value.
missing_columns <- function(x) {
  if (is_sparse(x)) return(unique(sparse_places(x, is.na(x@x))[, "col"]))
  if (anyNA(x)) which(colSums(is.na(x)) > 0) else integer()
}

# ---- bags and labels ---------------------------------------------------------

check_bag <- function(bag, n, call, n_features = NULL) {
  if (!is.atomic(bag) || is.null(bag) || length(bag) != n)
    stop_fumi("`bag` must give the bag of each of the ", n, " instances, not ", describe(bag),
              if (identical(length(bag), n_features)) is_transposed("x"),
              if (rlang::is_string(bag)) no_columns, ".", call = call)
  if (anyNA(bag))
    stop_fumi("`bag` must not be missing, but it is for ", sum(is.na(bag)),
              " instances, the first is ", which(is.na(bag))[1], ".", class = "nonfinite",
              call = call)
  if (is.factor(bag) && nlevels(bag) > nlevels(droplevels(bag)))
    warn_fumi("`bag` has levels without an instance, which are dropped: ",
              enumerate(setdiff(levels(bag), levels(droplevels(bag)))), ".",
              class = "empty_bag", call = call)
  name <- value_names(bag)
  if (length(unique(name)) < length(unique(bag)))
    stop_fumi("`bag` must differ as text where it differs, but ",
              if (is.object(bag))
                paste0("ids of class ", class(bag)[1], " do not: `as.character()` or `format()` ",
                       "makes text of them.")
              else "these numbers do not: `format(digits = 17)` makes text of them.",
              class = "type", call = call)
  ids <- unique(name)
  list(code = match(name, ids), ids = ids)
}

# Two-valued labels as logicals, with the names of both classes, negative first.
parse_label <- function(label, positive, name, call) {
  label <- comparable_values(label)
  if (!is.atomic(label) || is.null(label) || length(label) == 0)
    stop_fumi("`", name, "` must be a vector of labels, not ", describe(label), ".", call = call)
  if (anyNA(label))
    stop_fumi("`", name, "` must not be missing, but ", sum(is.na(label)),
              " labels are, the first is label ",
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
    stop_fumi("`positive` must name the positive one of the two values of `", name, "` (",
              enumerate(values), "), but it is not given.", class = "label", call = call)
  stop_fumi("`", name, "` must be 0/1, -1/1, logical, a factor with two levels, or any two values ",
            "with `positive` naming the positive one, not ", describe(label),
            if (rlang::is_string(label)) no_columns, if (length(values) > 2)
              paste0(" with ", length(values), " values: ", enumerate(values, 5),
                     " (`one_vs_rest()` takes several classes)"),
            ".", class = "label", call = call)
}

# One label per bag, from one per bag (in the order of first appearance, or named) or
# one per instance.
label_by_bag <- function(y, names, bag, call) {
  n_bags <- length(bag$ids)
  by_name <- length(y) == n_bags && setequal(names, bag$ids)
  if (by_name || length(y) == n_bags && length(y) < length(bag$code)) {
    if (is.null(names)) return(y)
    if (!setequal(names, bag$ids))
      stop_fumi(
        "`label` must be named by the ids of the bags or not at all, but there is no label for ",
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
              " has both (what is true of single instances goes into `truth`).", class = "label",
              call = call)
  unname(first)
}

check_truth <- function(truth, classes, bag, y, call) {
  if (length(truth) != length(bag$code))
    stop_fumi("`truth` must have one value for each of the ", length(bag$code), " instances, not ",
              length(truth), ".", call = call)
  truth <- comparable_values(truth)
  own <- !is.logical(truth) && all(value_names(truth) %in% classes)
  is_target <- parse_label(truth, if (own) classes[2], "truth", call)$is_positive
  odd <- which(is_target & !y[bag$code])
  if (length(odd))
    warn_fumi("`truth` calls ", length(odd),
              " instances of negative bags targets, the first in bag ",
              bag$ids[bag$code[odd[1]]], ".", class = "truth", call = call)
  is_target
}

check_image_dim <- function(image_dim, d, call = rlang::caller_env()) {
  if (is.null(image_dim)) return(NULL)
  if (!is.numeric(image_dim) || length(image_dim) != 2 || anyNA(image_dim) ||
      any(image_dim < 1 | image_dim != round(image_dim)) || prod(image_dim) != d)
    stop_fumi("`image_dim` must be a height and a width whose product is the number of features (",
              d, "), not ", paste(format(image_dim), collapse = " x "), ".", call = call)
  as.integer(image_dim)
}

# ---- columns of a data frame -------------------------------------------------

# The column `truth` of a matrix or data frame, NULL if there is none.
truth_column <- function(x) {
  if (length(dim(x)) != 2 || !"truth" %in% colnames(x)) return(NULL)
  if (is.data.frame(x)) x[["truth"]] else as.vector(x[, "truth"])
}

without_truth <- function(x) {
  if (length(dim(x)) != 2 || !"truth" %in% colnames(x)) return(x)
  x[, colnames(x) != "truth", drop = FALSE]
}

# The name of the column that `value` names, or NULL when it is no name.
column_name <- function(x, value, name, call = rlang::caller_env()) {
  if (missing(value))
    stop_fumi("`bag` and `label` must both be given, but `", name, "` is missing.", call = call)
  if (!is.character(value) || length(value) != 1 || nrow(x) == 1 && !value %in% names(x))
    return(NULL)
  if (value %in% names(x)) return(value)
  stop_fumi("`", name, "` must name a column of the data, but there is no column ", describe(value),
            " among ", enumerate(names(x), 5), did_you_mean(value, names(x)), ".",
            class = "column", call = call)
}

# Labels or ids given as vectors that are columns too would be taken for features.
warn_copies <- function(x, given, call = rlang::caller_env()) {
  for (name in names(given)) {
    value <- as.character(given[[name]])
    same <- function(v, i) identical(as.character(v[i]), value[i])
    plain <- function(v) is.atomic(v) && (!is.object(v) || is.factor(v)) && length(v) > 1 &&
      length(v) == length(value)
    is_copy <- vapply(x, function(v) plain(v) && same(v, 1) && same(v, seq_along(v)), NA)
    if (any(is_copy))
      warn_fumi("`", name, "` must not be a feature too, but it equals the column ",
                names(x)[is_copy][1], ": `", name,
                " = \"", names(x)[is_copy][1], "\"` takes that column out.", class = "copy",
                call = call)
  }
}

# Columns that predict() and augment() have added to a data frame: no features, unless a formula
# names them.
said_by_models <- function(x, named, call = rlang::caller_env()) {
  said <- setdiff(grep("^[.](bag|instance|score|prob|weight|atom|resid|pred_.*)$", names(x),
                       value = TRUE), named)
  if (length(said))
    warn_fumi("`x` has columns that a model said, which are left out of the features: ",
              enumerate(said), ".", class = "augmented", call = call)
  said
}

# ---- what a fitter needs ------------------------------------------------------

check_both_labels <- function(b, call = rlang::caller_env()) {
  if (any(b$label) && !all(b$label)) return(invisible(b))
  stop_fumi("`label` must have at least one positive and one negative bag, but ",
            if (!length(b$label)) "there is no bag"
            else paste("all", length(b$label), "are", if (any(b$label)) "positive" else "negative"),
            ".", class = "label", call = call)
}

# A vector or matrix with one entry or column per instance, back in the user's order.
in_user_order <- function(b, values) {
  if (length(dim(values)) == 2) values[, order(b$order), drop = FALSE] else values[order(b$order)]
}
