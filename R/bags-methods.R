#' Work with bags
#'
#' `length()` is the number of bags; `[` selects bags by number, id or logical, in the order asked
#' for; `c()` combines bags; `split()` divides them into sets of whole bags; `as.matrix()` and
#' `as.data.frame()` return the instances in the order in which they were given.
#'
#' A bag that is selected more than once, as in a bootstrap, becomes several bags: `b[c("u", "u")]`
#' has the ids `u` and `u.1`, as made by [make.unique()]. `rev(b)`, `head(b)`, `rep(b, 2)` and
#' `sample(b, replace = TRUE)` work as for any vector. If the selected bags stay in their order, so
#' do their instances; otherwise the instances are arranged bag by bag.
#'
#' @param x,object [bags()].
#' @param i vector of numbers, ids or logicals: the bags to keep.
#' @param f for `split()`: a vector with one entry per bag, as in [base::split()]; or one number in
#'   (0, 1\], the share of bags for training, drawn at random within each label; the result is then
#'   a list with `train` and `test`.
#' @param drop,row.names,optional ignored.
#' @param ... for `c()`, further bags; for `rep()`, how often, as in [base::rep()]; otherwise
#'   ignored.
#' @return `[` and `c()`: bags. `split()`: a list of bags. `as.matrix()`: n x d. `as.data.frame()`:
#'   columns `bag`, `label`, `truth` (if known), and one per feature, from which [bags()] makes the
#'   same bags again. `summary()`: a data frame with one row per bag: `bag`, `label`, `instances`
#'   and, if known, the number of `targets`. If it has more than eight rows, it prints as a table
#'   by label followed by the first bags; `as.data.frame(summary(b))` prints all rows.
#' @name bags-methods
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 6, bag_size = 3, n_features = 4)
#' b
#' summary(b)
#' b[1:2]
#' b[c(1, 1, 2)]$ids
#' rev(b)
#' parts <- split(b, 0.5)
#' length(parts$train)
#' head(as.data.frame(b), 2)
NULL

#' @rdname bags-methods
#' @export
print.bags <- function(x, ...) {
  size <- if (length(x$ids)) range(tabulate(x$bag, length(x$ids))) else c(0, 0)
  cat(pluralize("{length(x$ids)} bag{?s}"), ": ", sum(x$label), " positive (label ",
      x$classes[2], "), ", sum(!x$label), " negative (", x$classes[1], ")\n", sep = "")
  cat(pluralize("{ncol(x$x)} instance{?s} of {nrow(x$x)} feature{?s}"),
      if (!is.null(x$image_dim)) paste0(" (images of ", paste(x$image_dim, collapse = " x "), ")"),
      ", ", if (size[1] == size[2]) size[1]
            else paste(size, collapse = " to "), " per bag\n", sep = "")
  if (!is.null(x$truth))
    cat(pluralize("{sum(x$truth)} instance{?s} {?is a/are} known target{?s}"),
        " (for evaluation only)\n", sep = "")
  invisible(x)
}

#' @rdname bags-methods
#' @export
summary.bags <- function(object, ...) {
  n <- length(object$ids)
  out <- data.frame(bag = object$ids, label = factor(object$classes[1 + object$label],
                                                     object$classes),
                    instances = tabulate(object$bag, n))
  if (!is.null(object$truth)) out$targets <- tabulate(object$bag[object$truth], n)
  structure(out, class = c("summary.bags", "data.frame"))
}

#' @export
print.summary.bags <- function(x, ...) {
  rows <- as.data.frame(x)
  if (nrow(rows) <= 8 || !all(c("label", "instances") %in% names(rows))) {
    print(rows, row.names = FALSE)
    return(invisible(x))
  }
  by_label <- lapply(split(rows, rows$label, drop = TRUE), function(bags) data.frame(
    label = bags$label[1], bags = nrow(bags), instances = sum(bags$instances),
    smallest = min(bags$instances), median = stats::median(bags$instances),
    largest = max(bags$instances), targets = if (is.null(bags$targets)) NA else sum(bags$targets)))
  shown <- do.call(rbind, by_label)
  print(shown[c(rep(TRUE, 6), !is.null(rows$targets))], row.names = FALSE)
  cat("The first 4 of ", nrow(rows), " bags (all: `as.data.frame(summary(x))`):\n", sep = "")
  print(utils::head(rows, 4), row.names = FALSE)
  invisible(x)
}

#' @rdname bags-methods
#' @export
length.bags <- function(x) length(x$ids)

#' @rdname bags-methods
#' @export
`[.bags` <- function(x, i) {
  if (missing(i)) return(x)
  i <- bag_index(x, i)
  if (!is.unsorted(i, strictly = TRUE)) return(take_columns(x, which(x$bag %in% i)))
  bags_as_asked(x, i)
}

# Bags in a new order, or repeated: their instances bag by bag.
bags_as_asked <- function(x, i) {
  by_user <- order(x$order)
  members <- split(by_user, factor(x$bag[by_user], seq_along(x$ids)))[i]
  mine <- unlist(members, use.names = FALSE)
  rebuild_bags(x, x$x[, mine, drop = FALSE], rep(seq_along(i), lengths(members)),
               make.unique(x$ids[i]), x$label[i], seq_along(mine), x$truth[mine], x$cell[mine])
}

# Bags of the instances in the columns `mine`.
take_columns <- function(x, mine) {
  keep <- sort(unique(x$bag[mine]))
  position <- rank(x$order[mine])
  by_user <- order(position)
  code <- match(x$bag[mine], keep)
  first_seen <- unique(code[by_user])
  rebuild_bags(x, x$x[, mine, drop = FALSE], match(code, first_seen), x$ids[keep][first_seen],
               x$label[keep][first_seen], position, x$truth[mine], x$cell[mine])
}

# A bags object like `x` with other instances. `position` is each column's place in the
# order of the user.
rebuild_bags <- function(x, columns, code, ids, label, position, truth = NULL, cell = NULL) {
  order <- order(!label[code], position)
  x$x <- columns[, order, drop = FALSE]
  x[c("bag", "ids", "label", "n_positive")] <- list(code[order], ids, label, sum(label[code]))
  x["order"] <- list(as.integer(position[order]))
  x["truth"] <- list(truth[order])
  x$cell <- cell[order]
  if (!is.null(x$na.action)) x$na.action <- structure(integer(), class = class(x$na.action))
  x
}

bag_index <- function(x, i, name = "i", call = rlang::caller_env()) {
  n <- length(x$ids)
  if (is.character(i)) {
    unknown <- setdiff(i, x$ids)
    if (length(unknown))
      stop_fumi("`", name, "` must name existing bags, but there is no bag ",
                enumerate(unknown), ".", class = "subscript", call = call)
    return(match(i, x$ids))
  }
  if (is.logical(i) && length(i) == n && !anyNA(i)) return(which(i))
  if (!is.numeric(i) || anyNA(i) || any(abs(i) > n) || any(i != round(i)) || min(i, 0) < 0 &&
      max(i, 0) > 0)
    stop_fumi("`", name, "` must be numbers between 1 and ", n,
              ", ids, or one logical per bag, not ", describe(i), ".",
              class = "subscript", call = call)
  seq_len(n)[i]
}

#' @rdname bags-methods
#' @export
rep.bags <- function(x, ...) x[rep(seq_along(x$ids), ...)]

#' @rdname bags-methods
#' @export
c.bags <- function(...) {
  parts <- list(...)
  check_combinable(parts)
  before <- cumsum(c(0L, vapply(parts, function(b) length(b$ids), 0L)))
  instances <- cumsum(c(0L, vapply(parts, function(b) ncol(b$x), 0L)))
  all_have <- function(part) !any(vapply(parts, function(b) is.null(b[[part]]), NA))
  join <- function(f) do.call(c, lapply(seq_along(parts), function(s) f(parts[[s]], s)))
  rebuild_bags(
    parts[[1]], do.call(cbind, lapply(parts, `[[`, "x")), join(function(b, s) b$bag + before[s]),
    join(function(b, s) b$ids), join(function(b, s) b$label),
    join(function(b, s) b$order + instances[s]),
    if (all_have("truth")) join(function(b, s) b$truth),
    if (all_have("cell")) join(function(b, s) b$cell))
}

check_combinable <- function(parts, call = rlang::caller_env()) {
  first <- parts[[1]]
  for (b in parts) {
    if (!inherits(b, "bags"))
      stop_fumi("`...` must all be bags, but one is ", describe(b), ".", class = "type",
                call = call)
    for (part in c("classes", "features", "axis", "image_dim", "blueprint"))
      if (!identical(b[[part]], first[[part]]))
        stop_fumi("`...` must agree in their ", part, ", but they do not.", class = "combine",
                  call = call)
    if (nrow(b$x) != nrow(first$x))
      stop_fumi("`...` must have the same number of features, not ", nrow(first$x), " and ",
                nrow(b$x), ".", class = "combine", call = call)
  }
  ids <- unlist(lapply(parts, `[[`, "ids"))
  if (anyDuplicated(ids))
    stop_fumi("`...` must not share bag ids, but bag ", ids[duplicated(ids)][1],
              " is in more than one.", class = "combine", call = call)
}

#' @rdname bags-methods
#' @export
split.bags <- function(x, f, drop = FALSE, ...) {
  if (is.numeric(f) && length(f) == 1 && length(x$ids) > 1) {
    f <- check_number(f, "f", above = 0, max = 1)
    take <- function(index) index[sample.int(length(index), round(f * length(index)))]
    train <- sort(c(take(which(x$label)), take(which(!x$label))))
    return(list(train = x[train], test = x[setdiff(seq_along(x$ids), train)]))
  }
  if (length(f) != length(x$ids))
    stop_fumi("`f` must have one entry for each of the ", length(x$ids),
              " bags, or be a share, not ", describe(f), ".")
  lapply(split(seq_along(x$ids), f), function(i) x[i])
}

#' @rdname bags-methods
#' @export
as.matrix.bags <- function(x, ...) t(in_user_order(x, dense_columns(x$x, "`as.matrix()`")))

#' @rdname bags-methods
#' @export
as.data.frame.bags <- function(x, row.names = NULL, optional = FALSE, ...) {
  bag <- in_user_order(x, x$bag)
  out <- data.frame(bag = x$ids[bag], label = factor(x$classes[1 + x$label[bag]], x$classes))
  if (!is.null(x$truth)) out$truth <- in_user_order(x, x$truth)
  features <- as.data.frame(as.matrix(x))
  cbind(out, features)
}
