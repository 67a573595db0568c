# Ids and labels of bags and the truth of instances: checked and brought to one form.

check_bag <- function(bag, n, call, n_features = NULL) {
  if (!is.atomic(bag) || is.null(bag) || length(bag) != n)
    stop_fumi("`bag` must give the bag of each of the ", n, " instances, not ", describe(bag),
              if (identical(length(bag), n_features)) is_transposed("x"),
              if (rlang::is_string(bag)) no_columns, ".", call = call)
  if (anyNA(bag))
    stop_fumi("`bag` must have no missing values, but it has ", sum(is.na(bag)),
              ", the first for instance ", which(is.na(bag))[1], ".", class = "nonfinite",
              call = call)
  if (is.factor(bag) && nlevels(bag) > nlevels(droplevels(bag)))
    warn_fumi("`bag` has levels without an instance, which are dropped: ",
              enumerate(setdiff(levels(bag), levels(droplevels(bag)))), ".",
              class = "empty_bag", call = call)
  name <- value_names(bag)
  if (length(unique(name)) < length(unique(bag)))
    stop_fumi("`bag` must have ids that differ as text, but ",
              if (is.object(bag)) paste("those of class", class(bag)[1]) else "these numbers",
              " do not: convert them with ",
              if (is.object(bag)) "`as.character()` or `format()`." else "`format(digits = 17)`.",
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
    stop_fumi("`", name, "` must have no missing values, but it has ", sum(is.na(label)),
              ", the first at position ", which(is.na(label))[1], ".", class = "nonfinite",
              call = call)
  classes <- label_classes(label, positive, name, call)
  list(is_positive = value_names(label) == classes[2], classes = classes)
}

label_classes <- function(label, positive, name, call) {
  if (nlevels(label) > 2) label <- droplevels(label)
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
              " has both (labels of single instances go into `truth`).", class = "label",
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
    warn_fumi("`truth` marks ", pluralize("{length(odd)} instance{?s}"),
              " of negative bags as targets, the first in bag ", bag$ids[bag$code[odd[1]]],
              ".", class = "truth", call = call)
  is_target
}

check_both_labels <- function(b, call = rlang::caller_env()) {
  if (any(b$label) && !all(b$label)) return(invisible(b))
  n <- length(b$label)
  found <- if (n == 0) "there is no bag"
           else paste("all", n, "are", if (any(b$label)) "positive" else "negative")
  stop_fumi("`label` must have at least one positive and one negative bag, but ", found, ".",
            class = "label", call = call)
}
