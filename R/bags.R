#' Bags of instances
#'
#' `bags()` prepares data for all functions of the package. It takes a matrix, a sparse matrix, a
#' data frame, a list of matrices, an array of images, or a formula, checks the data once, and
#' returns an object of class `bags`, which every method of the package works on. `as_bags()` is
#' another name for it.
#'
#' @section Labels:
#' Give one label per bag or one per instance; labels of instances must agree within a bag. They
#' may be `0`/`1`, `-1`/`1`, logical, a factor with two levels (the second one is positive unless
#' `positive` says otherwise), or any two values, with `positive` naming the positive one. Labels
#' of bags are in the order in which the bags first appear, unless they are named by the ids of the
#' bags.
#'
#' @section Truth:
#' A column named `truth` holds the labels of the instances, as in the data frames that
#' `as.data.frame()` makes from bags. It is used as `truth` and never as a feature, whether the
#' data come as a data frame, a matrix or a list of either, through a formula (also through its
#' `.`), or from a file. So
#' `bags(as.data.frame(b), "bag", "label")` gives `b` again. There are two exceptions: a formula
#' that names `truth` on its right-hand side makes it a feature, and setting the argument `truth`
#' to something else leaves the column out. `predict()` ignores it. Columns that a model has added,
#' such as `.score` and `.pred_class` of [augment()], are left out of the features with a warning,
#' unless a formula names them.
#'
#' @section Classes of columns:
#' Numbers, logicals (0 and 1), matrices of numbers (one feature for each of their columns) and
#' factors become features. `integer64` is converted exactly; numbers beyond 2^53 are refused. Any
#' other class is refused with an error that names the column: the numbers behind dates, times,
#' `difftime`, `units`, labelled codes, `hexmode` and text depend on an origin, a unit or a table,
#' so you must say what you mean with `as.numeric()` or `factor()`. Ids of bags may be of any class
#' whose values differ as text.
#'
#' @section Factors and formula terms:
#' A factor becomes one feature per level, which is 1 for instances of that level and 0 for others
#' and is named by column and level; there is no intercept and no reference level. A factor with
#' contrasts of its own (`contrasts(f) <-`) uses those instead. Levels without an instance are
#' kept.
#'
#' The right-hand side of a formula may have the terms of [stats::model.matrix()], with the same
#' coding: columns, `.`, interactions, and the functions `I`, `log`, `log2`, `log10`, `log1p`,
#' `exp`, `expm1`, `sqrt`, `abs`, `sign`, `round`, `floor`, `ceiling`, `trunc`, `pmin`, `pmax`,
#' `ifelse`, `is.na`, the trigonometric ones, arithmetic and comparisons, `as.numeric`,
#' `as.integer`, `as.character`, `as.factor`, `factor`, `ordered`, `cut` (with its breaks),
#' `scale`, `poly`, and `ns` and `bs` of the package splines. Other functions are refused, and so
#' are variables that are not columns of the data: compute such a column first.
#'
#' Levels, codings, centres and knots are kept with the bags and with every fit to them, so that
#' `predict(fit, new_data)` gives new data the same features as the training data. A level that the
#' training data did not have is an error that names it. To make *bags* of new data in the same
#' way, pass the fit or the training bags as `like`: `predict()` refuses bags with knots of their
#' own.
#'
#' @section Missing values:
#' By default a missing value is an error that names the first one. `na.action = na.omit` leaves
#' out instances with a missing feature, id or label, as [stats::lm()] does. A bag that loses all
#' its instances is dropped, with a warning that names it. `na.action(b)` gives the numbers of the
#' instances left out. `na.exclude` does the same, since a fit keeps no training data. After either
#' of them, also of parts of the bags and where nothing was missing, `predict()` returns one row per
#' row of new data, with `NA` for instances with missing values and for bags that have no other
#' instances. Infinite values are always refused.
#'
#' @section Sparse features:
#' A sparse matrix of the package Matrix, such as a `dgCMatrix`, with one row per instance, stays
#' sparse in the bags. [sil()] (unless you give it functions of your own), [mi_svm()] with the
#' linear kernel and [miles()] work on it as it is; [mmdl()] converts only the instances of
#' positive bags to a dense matrix, for its clusters. All other methods convert the whole matrix
#' and give the same results as for a dense one. If that would take more than 1 GB, they stop with
#' an error that says how much; `options(fumi.max_dense = 4)` allows 4 GB. `as.matrix()` and plots
#' keep to the same limit. `read_bags(sparse = TRUE)` reads files of `index:value` pairs.
#'
#' @param x the instances: a numeric matrix, sparse matrix or data frame with one row per instance
#'   (n x d); a list of such matrices, one per bag; an array of images (height x width x n); or a
#'   formula `mi(label, bag) ~ .`. A file-backed `big.matrix` of the package bigmemory has one
#'   *column* per instance; it is not loaded but read block by block, in each iteration of
#'   [dlfumi()] and in `predict()`, and gives [bag_shards()].
#' @param bag the bag of each instance: a vector of length n, or, for a data frame, the name of a
#'   column. For a list, the id of each element (default: the names of the list, else 1, 2, ...).
#' @param label the labels: a vector with one value per bag or per instance, or, for a data frame,
#'   the name of a column. See below.
#' @param positive `NULL` (default: 1, `TRUE` or the second level of a factor), or the label that
#'   means "contains a target"; labels of another kind need it.
#' @param truth `NULL` (default: not known), labels of the instances themselves (length n), or, for
#'   a data frame, the name of a column (by default `truth`, if there is one). They are used for
#'   evaluation only, by no method. See below.
#' @param image_dim `NULL` (default: no images, or the size of the images of an array), or two
#'   whole numbers, height and width, if an instance is an image stored column by column.
#' @param axis `NULL` (default: the numbers in the features' names, if they have any, see
#'   [plot.mil_model()]), or the positions of the features on the horizontal axis of plots: one
#'   number per feature, such as wavelengths, or a list of one such vector, named by the axis
#'   label: `list("wavelength in nm" = 400:699)`.
#' @param data for a formula: a data frame.
#' @param na.action `na.fail` (default), `na.omit` or `na.exclude`: what to do with missing values.
#'   See below.
#' @param like `NULL` (default: none), or, for a data frame or a formula, bags or a fit whose
#'   levels, codings and knots are to be used. See below.
#' @param block whole number >= 1, for a `big.matrix`: number of instances to read at a time. `NULL`
#'   (default): as many as take 64 MB.
#' @param ... passed on to the method; an unknown argument is an error.
#'
#' @return An object of class `bags`. Instances keep their order: `as.matrix(b)`,
#'   `as.data.frame(b)` and all predictions are in the order in which the instances were given.
#'   `length(b)` is the number of bags.
#'
#' @seealso [bags-methods] for methods of bags, [bags.SpatRaster()] for rasters, [read_bags()] for
#'   files, [sim_bags()] to make some, [dlfumi()] to learn from them.
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
#' # The truth about instances, and bags turned into a data frame and back
#' d$truth <- rep(c("yes", "no", "no", "no"), 3) == "yes" & d$found == "yes"
#' b <- bags(d, bag = "box", label = "found", positive = "yes")
#' identical(bags(as.data.frame(b), "bag", "label"), b)
#'
#' # A factor: one feature per level
#' d$colour <- factor(rep(c("red", "green", "blue"), 4))
#' head(as.matrix(bags(mi(found, box) ~ X1 + colour, data = d, positive = "yes")), 3)
#'
#' # Formula terms, whose centres and knots are used for new data too
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
  image_dim <- image_size(x, "x", image_dim)
  action <- check_na_action(na.action)
  if (is.null(truth)) truth <- truth_column(x)
  columns <- as_columns(without_truth(x), "x", missing_ok = action != "fail")
  if (!missing(bag) && !missing(label)) warn_row_copies(columns, list(bag = bag, label = label))
  new_bags(columns, bag, label, positive, truth, image_dim, action, axis = axis)
}

#' @rdname bags
#' @export
bags.data.frame <- function(x, bag, label, ..., positive = NULL, truth = NULL, image_dim = NULL,
                            axis = NULL, na.action = stats::na.fail, like = NULL) {
  check_dots_empty(..., known = names(formals()))
  action <- check_na_action(na.action)
  x <- check_column_names(plain_frame(x), "x")
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
              describe(bag[duplicated(bag)][1]), " appears twice.")
  action <- check_na_action(na.action)
  if (is.null(truth)) truth <- lapply(x, truth_column)
  columns <- stack_columns(lapply(x, without_truth), missing_ok = action != "fail")
  for (i in seq_along(x)) image_dim <- image_size(x[[i]], paste0("x[[", i, "]]"), image_dim)
  if (is.list(truth)) truth <- unlist(truth, use.names = FALSE)
  each <- function(values) if (length(values) == length(x)) rep(values, columns$size) else values
  warn_row_copies(columns$x, list(bag = each(type_of_ids(bag)), label = each(label)))
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

# What a formula selects from a data frame: features, bags, labels as given, truth.
formula_parts <- function(x, data = NULL, truth = NULL, na.action = stats::na.fail, like = NULL,
                          call = rlang::caller_env()) {
  if (!is.data.frame(data))
    stop_fumi("`data` must be a data frame when `x` is a formula, not ",
              if (is.null(data)) "missing" else describe(data), ".", call = call)
  action <- check_na_action(na.action, call)
  data <- plain_frame(data)
  lacking <- function(e) stop_fumi("`x` must have columns of `data` on its left-hand side, but: ",
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
  if ("." %in% named)
    warn_copies(right$data[setdiff(names(right$data), named)],
                list(bag = mi_bag(response), label = mi_label(response)), call)
  made <- frame_columns(right$data, right$blueprint, like, "data", action, call)
  list(x = made$x, bag = mi_bag(response), label = mi_label(response), truth = truth,
       action = action, blueprint = made$blueprint)
}

#' @rdname bags
#' @export
bags.bags <- function(x, ...) {
  check_made(...)
  x
}

# Bags have everything that `bags()` asks for, so all arguments are refused.
check_made <- function(..., call = rlang::caller_env()) {
  known <- c("bag", "label", "positive", "truth", "image_dim", "axis", "na.action")
  again <- intersect(...names(), known)
  if (length(again))
    stop_fumi("`", again[1], "` must not be given for bags, which have been made already.",
              class = "argument", call = call)
  check_dots_empty(..., known = known, call = call)
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

# The size of the images of an array, which must be the `known` one; `known` for anything else.
image_size <- function(x, name, known, call = rlang::caller_env()) {
  if (length(dim(x)) != 3) return(known)
  if (!is.null(known) && !(is.numeric(known) && identical(as.integer(known), dim(x)[1:2])))
    stop_fumi("`", name, "` must have images of ", paste(format(known), collapse = " x "),
              ", not of ", dim(x)[1], " x ", dim(x)[2], ".", class = "dimension", call = call)
  dim(x)[1:2]
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

# The name of the column that `value` names, or NULL if it is not a name.
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

# Labels or ids that are given as vectors and are also columns would become features.
warn_copies <- function(x, given, call = rlang::caller_env()) {
  for (name in names(given)) {
    value <- as.character(given[[name]])
    same <- function(v, i) identical(as.character(v[i]), value[i])
    plain <- function(v) is.atomic(v) && (!is.object(v) || is.factor(v)) && length(v) > 1 &&
      length(v) == length(value)
    is_copy <- vapply(x, function(v) plain(v) && same(v, 1) && same(v, seq_along(v)), NA)
    if (any(is_copy))
      warn_fumi("`", name, "` must not be a feature too, but it equals the column ",
                names(x)[is_copy][1], ": `", name, " = \"", names(x)[is_copy][1],
                "\"` leaves that column out of the features.", class = "copy",
                call = call)
  }
}

# The same for the features of a matrix, d x N; in fewer than eight instances, chance makes copies.
warn_row_copies <- function(x, given, call = rlang::caller_env()) {
  n <- ncol(x)
  few <- unique(round(seq(1, n, length.out = min(n, 20))))
  for (name in names(given)) {
    value <- comparable_values(given[[name]])
    if (!has_numbers(value) || length(value) != n || n < 8) next
    value <- as.vector(numbers_of(value, name, call)) + 0
    near <- which(colSums(t(as.matrix(x[, few, drop = FALSE])) != value[few]) == 0)
    copy <- Find(function(j) isTRUE(all(x[j, ] == value)), near)
    if (!is.null(copy))
      warn_fumi("`", name, "` must not be a feature too, but it equals feature ",
                c(rownames(x)[copy], copy)[1], " of `x`: leave that column out.", class = "copy",
                call = call)
  }
}

# Ids as numbers, if they are.
type_of_ids <- function(id) utils::type.convert(id, as.is = TRUE)

# A data frame whose columns have each a name of its own.
check_column_names <- function(x, name, call = rlang::caller_env()) {
  twice <- unique(names(x)[duplicated(names(x))])
  if (anyNA(names(x)) || any(names(x) == ""))
    stop_fumi("`", name, "` must have a name for each column, but column ",
              which(is.na(names(x)) | names(x) == "")[1], " has none.", class = "column",
              call = call)
  if (length(twice))
    stop_fumi("`", name, "` must have a name of its own for each column, but it has several ",
              "columns ", enumerate(twice), ".", class = "column", call = call)
  x
}

# Columns that predict() and augment() have added to a data frame; they are features only where a
# formula names them.
said_by_models <- function(x, named, call = rlang::caller_env()) {
  said <- setdiff(grep("^[.](bag|instance|score|prob|weight|atom|resid|pred_.*)$", names(x),
                       value = TRUE), named)
  if (length(said))
    warn_fumi("`x` has columns that a model added, which are left out of the features: ",
              enumerate(said), ".", class = "augmented", call = call)
  said
}

# A vector or matrix with one entry or column per instance, back in the user's order.
in_user_order <- function(b, values) {
  if (length(dim(values)) == 2) values[, order(b$order), drop = FALSE] else values[order(b$order)]
}
