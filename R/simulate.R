#' Simulated bags
#'
#' Draws bags from the model that DL-FUMI assumes: every instance is a sparse mixture of background
#' atoms plus noise; in a positive bag, some of the instances also contain target atoms. With
#' `image_dim`, atoms are smooth spots, which look like images.
#'
#' @param n_bags whole number >= 2, default 40: number of bags, half of them positive (rounded up).
#' @param bag_size whole number >= 1, default 8: instances per bag.
#' @param n_features whole number >= 1, default 30: number of features; the size of the image if
#'   `image_dim` is given.
#' @param n_target,n_background whole numbers >= 1, default 1 and 4: numbers of atoms.
#' @param witness_rate number in \[0, 1\], default 0.25: share of the instances of a positive bag
#'   that contain a target (at least one does).
#' @param noise number >= 0, default 0.1: standard deviation of the noise, relative to the norm of
#'   an instance.
#' @param image_dim `NULL` (default: no images), or two whole numbers: height and width, for images.
#' @return [bags()] with `truth`, and with the true atoms (features x atoms, target atoms first) as
#'   attribute `"dictionary"`.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 10, image_dim = c(8, 8))
#' b
#' plot(b)
#' @export
sim_bags <- function(n_bags = 40, bag_size = 8, n_features = 30, n_target = 1, n_background = 4,
                     witness_rate = 0.25, noise = 0.1, image_dim = NULL) {
  n_bags <- check_count(n_bags, "n_bags", min = 2)
  bag_size <- check_count(bag_size, "bag_size")
  n_target <- check_count(n_target, "n_target")
  n_background <- check_count(n_background, "n_background")
  witness_rate <- check_number(witness_rate, "witness_rate", min = 0, max = 1)
  noise <- check_number(noise, "noise", min = 0)
  if (is.null(image_dim)) n_features <- check_count(n_features, "n_features")
  else n_features <- prod(check_image_dim(image_dim,
                                          if (is.numeric(image_dim)) prod(image_dim) else NA))

  n <- n_bags * bag_size
  bag <- rep(seq_len(n_bags), each = bag_size)
  label <- rep(c(1, 0), c(ceiling(n_bags / 2), floor(n_bags / 2)))
  n_witness <- max(1, round(witness_rate * bag_size))
  place <- unlist(lapply(seq_len(n_bags), function(i) sample.int(bag_size)))
  truth <- label[bag] == 1 & place <= n_witness

  dictionary <- sim_atoms(n_features, n_target + n_background, image_dim)
  codes <- rbind(sim_codes(n_target, n) * rep(truth, each = n_target), sim_codes(n_background, n))
  x <- dictionary %*% codes
  x <- x + noise * sqrt(mean(colSums(x^2)) / n_features) * stats::rnorm(length(x))
  b <- bags(t(x), bag, label, truth = truth, image_dim = image_dim)
  attr(b, "dictionary") <- dictionary
  b
}

# One or two of the atoms in each column, with weights away from 0.
sim_codes <- function(n_atoms, n) {
  vapply(seq_len(n), function(i) {
    used <- sample.int(n_atoms, min(n_atoms, 1 + (stats::runif(1) < .5)))
    replace(numeric(n_atoms), used, stats::runif(length(used), .5, 1.5))
  }, numeric(n_atoms))
}

sim_atoms <- function(n_features, n_atoms, image_dim) {
  if (is.null(image_dim))
    return(unit_columns(matrix(stats::rnorm(n_features * n_atoms), n_features)))
  spot <- function(k) {
    centre <- stats::runif(2, 1, image_dim)
    width <- stats::runif(2, .12, .3) * image_dim
    c(outer(stats::dnorm(seq_len(image_dim[1]), centre[1], width[1]),
            stats::dnorm(seq_len(image_dim[2]), centre[2], width[2])))
  }
  unit_columns(matrix(vapply(seq_len(n_atoms), spot, numeric(n_features)), n_features))
}
