# Small data with names and a fit on them, for the tests of what a fit can do.
# Eight bags of four instances, the first four positive, with named features.
eight_bags <- function() {
  set.seed(1)
  b <- sim_bags(n_bags = 8, bag_size = 4, n_features = 6)
  x <- as.matrix(b)
  colnames(x) <- letters[1:6]
  list(x = x, id = rep(paste0("bag", 8:1), each = 4), y = rep(c("yes", "no"), each = 4))
}
bags_of <- function(d, ...) bags(d$x, d$id, d$y, positive = "yes", ...)
fit_to <- function(b, ..., n_target = 1, n_background = 2, max_iter = 3) {
  set.seed(2)
  dlfumi(b, n_target = n_target, n_background = n_background, ...,
         control = dlfumi_control(max_iter = max_iter))
}

# Bags that every variant of DL-FUMI separates.
easy <- function() {
  set.seed(14)
  sim_bags(n_bags = 16, bag_size = 4, n_features = 12, n_background = 3)
}

# Bags in which each is there as often as `times` says, in the order of the bags.
repeated_bags <- function(b, times) {
  d <- as.data.frame(b)
  n <- times[match(d$bag, unique(d$bag))]
  row <- rep(seq_len(nrow(d)), n)
  bags(as.matrix(b)[row, ], paste(d$bag[row], sequence(n)), d$label[row])
}
