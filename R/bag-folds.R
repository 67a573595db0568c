#' Folds of whole bags
#'
#' Draws the folds of a cross-validation: every bag, with all its instances, is in one fold.
#'
#' @param x [bags()].
#' @param k whole number >= 2, default 3: number of folds.
#' @param group `NULL` (default: none), or one value per bag, in the order of the bags or named by
#'   their ids: the person, scene or flight that a bag comes from. Bags of one group stay in one
#'   fold. They resemble each other, so a fit trained on some of them does better on the rest than
#'   it will on new groups.
#' @return An integer vector with the fold of each bag, named by the ids of the bags. Positive and
#'   negative bags are each spread evenly over the folds, at random; with `group`, as evenly as
#'   whole groups allow. Bags with the same instances, such as copies in a bootstrap sample, are
#'   treated as a group.
#' @seealso [mil_cv()], [mil_tune()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 12)
#' table(bag_folds(b, 3), summary(b)$label)
#' scene <- rep(1:6, 2)
#' table(bag_folds(b, 3, group = scene), scene)
#' @export
bag_folds <- function(x, k = 3, group = NULL) {
  if (!inherits(x, "bags")) stop_fumi("`x` must be bags, not ", describe(x), ".", class = "type")
  draw_folds(x, k, "k", check_group(group, x))
}

draw_folds <- function(b, k, name, group = NULL, call = rlang::caller_env()) {
  k <- check_count(k, name, min = 2, call = call)
  fewest <- min(sum(b$label), sum(!b$label))
  if (k > fewest)
    stop_fumi("`", name, "` must be at most the number of bags of each label (", sum(b$label),
              " positive, ", sum(!b$label), " negative), not ", k, ".", call = call)
  if (is.null(group)) group <- equal_bags(b)
  if (!is.null(group))
    return(stats::setNames(draw_group_folds(b$label, k, group, name, call), b$ids))
  fold <- integer(length(b))
  for (label in c(TRUE, FALSE)) {
    of_label <- which(b$label == label)
    fold[of_label[sample.int(length(of_label))]] <- rep_len(seq_len(k), length(of_label))
  }
  stats::setNames(fold, b$ids)
}

# A group for each bag if some bags have the same instances, because copies in both training and
# test would flatter every method; NULL if all differ.
equal_bags <- function(b) {
  mixture <- signif(drop(cross(b$x, cos(seq_len(nrow(b$x))))), 10)
  group <- unname(vapply(split(mixture, b$bag),
                         function(values) paste(sort(values), collapse = " "), ""))
  if (anyDuplicated(group)) as.character(match(group, group))
}

check_group <- function(group, b, call = rlang::caller_env()) {
  if (is.null(group)) return(NULL)
  if (is.atomic(group) && !is.null(names(group)) && all(b$ids %in% names(group)))
    group <- group[b$ids]
  if (!is.atomic(group) || length(group) != length(b) || anyNA(group))
    stop_fumi("`group` must have one value for each of the ", length(b),
              " bags, none of them missing, not ", describe(group), ".", call = call)
  as.character(group)
}

# Places groups, the largest first, where they keep the shares of both labels most even; of several
# random orders, takes one that gives every fold bags of both labels.
draw_group_folds <- function(label, k, group, name, call) {
  count <- table(factor(group, unique(group)), factor(label, c(TRUE, FALSE)))
  share <- sweep(count, 2, colSums(count), "/")
  for (attempt in seq_len(100)) {
    fold <- place_groups(share[sample.int(nrow(share)), , drop = FALSE], k)[rownames(share)]
    filled <- rowsum(unclass(count), fold)
    if (nrow(filled) == k && all(filled > 0)) return(unname(fold[group]))
  }
  stop_fumi(
    "`", name,
    "` must leave positive and negative bags in each fold, but ",
    k, " is too large for ", sum(count[, 1] > 0), " groups with positive and ",
    sum(count[, 2] > 0), " with negative bags (bags with the same instances form a group).",
    call = call)
}

place_groups <- function(share, k) {
  share <- share[order(-apply(share, 1, max)), , drop = FALSE]
  filled <- matrix(0, k, 2)
  fold <- integer(nrow(share))
  for (i in seq_along(fold)) {
    after <- vapply(seq_len(k), function(f) sum((filled[f, ] + share[i, ])^2 - filled[f, ]^2), 0)
    fold[i] <- which.min(after)
    filled[fold[i], ] <- filled[fold[i], ] + share[i, ]
  }
  stats::setNames(fold, rownames(share))
}
