# What a user knows of bags and of single instances beside the labels.

# One weight a bag in the order of `b$ids`, named by them; NULL as given. Names of other bags do no harm, so that
# the weights of all bags serve for some of them.
check_bag_weights <- function(weights, b, call = rlang::caller_env()) {
  if (is.null(weights)) return(NULL)
  n <- length(b$ids)
  if (!is.numeric(weights) || is.object(weights))
    stop_fumi("`bag_weights` must be numbers, not ", describe(weights), ".", call = call)
  odd <- which(!is.finite(weights) | weights <= 0)
  if (length(odd))
    stop_fumi("`bag_weights` must be finite and > 0, but value ", odd[1], " is ", weights[odd[1]], ".", call = call)
  lacking <- setdiff(b$ids, names(weights))
  if (is.null(names(weights))) {
    if (length(weights) != n)
      stop_fumi("`bag_weights` must have one value for each of the ", n, " bags, not ", length(weights), ".",
                call = call)
  } else if (length(lacking))
    stop_fumi("`bag_weights` must be named by the ids of the bags or not at all, but there is none for ",
              enumerate(lacking), ".", call = call)
  by_bag <- if (is.null(names(weights))) weights else weights[match(b$ids, names(weights))]
  stats::setNames(as.double(by_bag), b$ids)
}

# One probability an instance, in the user's order, 0.5 for no opinion and 0 in negative bags; NULL as given.
check_instance_prior <- function(prior, b, n_target, call = rlang::caller_env()) {
  if (is.null(prior)) return(NULL)
  n <- length(b$bag)
  if (!(is.numeric(prior) || is.logical(prior)) || is.object(prior) || length(prior) != n)
    stop_fumi("`instance_prior` must have a number for each of the ", n, " instances, not ", describe(prior), ".",
              call = call)
  if (any(prior < 0 | prior > 1, na.rm = TRUE))
    stop_fumi("`instance_prior` must be between 0 and 1 or NA, but its range is ",
              paste(range(prior, na.rm = TRUE), collapse = " to "), ".", call = call)
  positive <- in_user_order(b, in_positive(b))
  odd <- which(prior > 0 & !positive)
  if (length(odd))
    stop_fumi("`instance_prior` must be 0 or NA in negative bags, but it is ", prior[odd[1]], " for instance ", odd[1],
              ".", class = "label", call = call)
  prior <- ifelse(is.na(prior), ifelse(positive, .5, 0), as.double(prior))
  if (sum(prior > 0) < n_target)
    stop_fumi("`instance_prior` must be above 0 for at least `n_target` (", n_target, ") instances, not ",
              sum(prior > 0), ".", call = call)
  prior
}
