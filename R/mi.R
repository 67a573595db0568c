#' The response of a multiple-instance formula
#'
#' `mi(label, bag)` on the left-hand side of a formula says which column holds the labels and which
#' the bags. It keeps the values, the type and the levels of both.
#'
#' @param label vector of labels, one per instance.
#' @param bag vector of bag ids, one per instance.
#' @param x an object of class `mi`.
#' @param i indices of instances.
#' @param j,drop ignored: an `mi` has no columns of its own.
#' @param ... ignored.
#' @return `mi()` returns an object of class `mi` whose length is the number of
#'   instances; `[` keeps its class, `is.na()` is true where either part is
#'   missing, `format()` shows `label:bag`.
#' @examples
#' r <- mi(c("yes", "no", "no"), c(1, 2, 2))
#' r
#' r[2:3]
#' is.na(mi(c(1, NA), c("a", "b")))
#' @export
mi <- function(label, bag) {
  if (!is.atomic(label) || !is.atomic(bag))
    stop_fumi("`label` and `bag` must be vectors, not ", describe(label), " and ", describe(bag),
              ".")
  if (length(label) != length(bag))
    stop_fumi("`label` and `bag` must have one value per instance each, not ", length(label),
              " and ", length(bag), " values.")
  label <- comparable_values(label)
  bag <- comparable_values(bag)
  label_values <- if (is.factor(label)) levels(label) else sort(unique(label))
  bag_values <- if (is.factor(bag)) levels(bag) else sort(unique(bag))
  structure(cbind(label = match(label, label_values), bag = match(bag, bag_values)),
            label_values = label_values, bag_values = bag_values,
            label_is_factor = is.factor(label), bag_is_factor = is.factor(bag), class = "mi")
}

mi_part <- function(x, part) {
  values <- attr(x, paste0(part, "_values"))
  code <- unclass(x)[, part]
  if (attr(x, paste0(part, "_is_factor"))) factor(values[code], levels = values) else values[code]
}
mi_label <- function(x) mi_part(x, "label")
mi_bag <- function(x) mi_part(x, "bag")

#' @rdname mi
#' @export
`[.mi` <- function(x, i, j, drop = FALSE) {
  keep <- attributes(x)[c("label_values", "bag_values", "label_is_factor", "bag_is_factor",
                          "class")]
  part <- unclass(x)[i, , drop = FALSE]
  attributes(part) <- c(attributes(part)[c("dim", "dimnames")], keep)
  part
}

#' @rdname mi
#' @export
length.mi <- function(x) nrow(x)

#' @rdname mi
#' @export
is.na.mi <- function(x) as.vector(is.na(mi_label(x)) | is.na(mi_bag(x)))

#' @rdname mi
#' @export
format.mi <- function(x, ...) paste(mi_label(x), mi_bag(x), sep = ":")

#' @rdname mi
#' @export
print.mi <- function(x, ...) {
  print(format(x), quote = FALSE)
  invisible(x)
}

#' @rdname mi
#' @export
as.data.frame.mi <- function(x, ...) as.data.frame.model.matrix(x, ...)
