# What a user knows about bags and single instances besides the labels.

# One weight per bag in the order of `b$ids`, named by them; NULL as given. Names of other bags are
# ignored, so that the weights of all bags can be used for some of them.
check_bag_weights <- function(weights, b, call = rlang::caller_env()) {
  if (is.null(weights)) return(NULL)
  n <- length(b$ids)
  if (!is.numeric(weights) || is.object(weights))
    stop_fumi("`bag_weights` must be numbers, not ", describe(weights), ".", call = call)
  odd <- which(!is.finite(weights) | weights <= 0)
  if (length(odd))
    stop_fumi("`bag_weights` must be finite and > 0, but value ", odd[1], " is ", weights[odd[1]],
              ".", call = call)
  lacking <- setdiff(b$ids, names(weights))
  if (is.null(names(weights))) {
    if (length(weights) != n)
      stop_fumi("`bag_weights` must have one value for each of the ", n, " bags, not ",
                length(weights), ".", call = call)
  } else if (length(lacking))
    stop_fumi(
      "`bag_weights` must be named by the ids of the bags or not at all, but there is none for ",
      enumerate(lacking), ".", call = call)
  by_bag <- if (is.null(names(weights))) weights else weights[match(b$ids, names(weights))]
  stats::setNames(as.double(by_bag), b$ids)
}

# Weights as copies: a bag of weight w is n = w / unit copies of itself, each of weight `unit`. For
# methods whose solvers take no weights of instances. Without weights there is one copy of each
# bag.
bag_copies <- function(weights, b, call = rlang::caller_env()) {
  if (is.null(weights)) return(list(n = rep(1, length(b$ids)), unit = 1))
  ratio <- unname(weights[b$ids]) / min(weights[b$ids])
  parts <- Filter(function(q) all(abs(q * ratio - round(q * ratio)) <= 1e-7 * q * ratio), 1:100)
  if (!length(parts))
    stop_fumi("`bag_weights` must be whole multiples of a common unit for this method, such as 1, ",
              "2 and 3 or 0.5 and 1.25, because it counts a bag of weight 2 twice: round them, ",
              "say with `round(bag_weights, 1)`.", call = call)
  n <- round(parts[1] * ratio)
  check_memory(8 * nrow(b$x) * sum(n[b$bag]), call)
  list(n = n, unit = min(weights[b$ids]) / parts[1])
}

# Elements or rows of `x`, each repeated.
with_copies <- function(x, times) {
  if (all(times == 1)) return(x)
  row <- rep(seq_along(times), times)
  if (length(dim(x))) x[row, , drop = FALSE] else x[row]
}

# Bags with `n` copies of each; the copies of an instance are adjacent.
repeat_bags <- function(b, n) {
  if (all(n == 1)) return(b)
  times <- n[b$bag]
  column <- rep(seq_along(times), times)
  copy <- paste(b$bag[column], sequence(times))
  first <- column[!duplicated(copy)]
  b$n_positive <- as.integer(sum(times[in_positive(b)]))
  b$label <- b$label[b$bag[first]]
  b$ids <- unique(copy)
  b$bag <- match(copy, b$ids)
  b$x <- b$x[, column, drop = FALSE]
  b$truth <- b$truth[column]
  b$order <- seq_along(column)
  b
}

# One probability per instance, in the user's order, 0.5 for no opinion and 0 in negative bags;
# NULL as given.
check_instance_prior <- function(prior, b, n_target, call = rlang::caller_env()) {
  if (is.null(prior)) return(NULL)
  n <- length(b$bag)
  if (!(is.numeric(prior) || is.logical(prior)) || is.object(prior) || length(prior) != n)
    stop_fumi("`instance_prior` must have a number for each of the ", n, " instances, not ",
              describe(prior), ".", call = call)
  if (any(prior < 0 | prior > 1, na.rm = TRUE))
    stop_fumi("`instance_prior` must be between 0 and 1 or NA, but its range is ",
              paste(range(prior, na.rm = TRUE), collapse = " to "), ".", call = call)
  positive <- in_user_order(b, in_positive(b))
  odd <- which(prior > 0 & !positive)
  if (length(odd))
    stop_fumi("`instance_prior` must be 0 or NA in negative bags, but it is ", prior[odd[1]],
              " for instance ", odd[1], ".", class = "label", call = call)
  prior <- ifelse(is.na(prior), ifelse(positive, .5, 0), as.double(prior))
  if (sum(prior > 0) < n_target)
    stop_fumi("`instance_prior` must be above 0 for at least `n_target` (", n_target,
              ") instances, not ", sum(prior > 0), ".", call = call)
  prior
}
