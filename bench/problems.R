# The problems that are timed, and the start that all contenders share.

unit <- function(x) x / rep(sqrt(colSums(x^2)), each = nrow(x))

# Bags of USPS digits in which one instance of each positive bag is a 3; with more instances than
# digits, noise makes repeated ones differ.
digit_bags <- function(n_bags, size) {
  digit <- fumi::usps$digit
  n <- n_bags * size
  draw <- function(from, n) sample(from, n, replace = n > length(from))
  used <- c(draw(which(digit == 3), n_bags[1]), draw(which(digit != 3), sum(n) - n_bags[1]))
  bag <- c(rep(seq_len(n_bags[1]), size[1]), rep(n_bags[1] + seq_len(n_bags[2]), each = size[2]))
  x <- fumi::usps_images(used)
  fumi::bags(x + rnorm(length(x), sd = if (anyDuplicated(used)) 0.05 else 0), bag, rep(1:0, n_bags))
}

# goal: times vectorised R, share of the peak, 2 threads over 1
problems <- list(
  usps = list(make = function() digit_bags(c(50, 50), c(4, 50)), n_target = 4, n_background = 15,
              beta = 25,
              gamma = 0.1, n_iter = c(r = 20, core = 100), batches = 5, goal = c(11, 0.50, 1.7)),
  ar = list(make = function() fumi::sim_bags(100, 10, n_features = 4980, n_target = 3,
                                             n_background = 8),
            n_target = 3, n_background = 8, beta = 30, gamma = 0.001, n_iter = c(r = 4, core = 30),
            batches = 5, goal = c(8, 0.38, 1.5)),
  large = list(make = function() digit_bags(c(2500, 800), c(4, 50)), n_target = 10,
               n_background = 50,
               beta = 25, gamma = 0.1, n_iter = c(r = 1, core = 8), batches = 3,
               goal = c(6, 0.70, 1.85)))
lambda <- 0.001

make_problem <- function(name) {
  problem <- problems[[name]]
  set.seed(1)
  problem$bags <- problem$make()
  problem$x <- unit(problem$bags$x)
  problem$start <- with(problem, make_start(x, bags$n_positive, n_target, n_background))
  problem
}

# Target atoms: means of the first instances of positive bags; background atoms: instances
# of negative bags; codes by least squares.
make_start <- function(x, n_positive, n_target, n_background) {
  positive <- seq_len(n_positive)
  subset <- split(positive, rep_len(seq_len(n_target), n_positive))
  target <- vapply(subset, function(i) rowMeans(x[, i]), numeric(nrow(x)))
  chosen <- n_positive + seq_len(n_background) * ((ncol(x) - n_positive) %/% n_background)
  d <- unname(unit(cbind(target, x[, chosen])))
  least_squares <- function(d, x) solve(crossprod(d), crossprod(d, x))
  zero <- matrix(0, n_target, ncol(x) - n_positive)
  negative <- rbind(zero, least_squares(d[, -seq_len(n_target)], x[, -positive]))
  list(dictionary = d, codes = cbind(least_squares(d, x[, positive]), negative))
}

# Multiplications and additions of an iteration: both products with X, 50 inner steps, S.
flops <- function(d, n_positive, n_negative, n_target, n_background) {
  one <- function(k) 4 * d * k + 100 * k^2 + 2 * k^2
  n_positive * one(n_target + n_background) + n_negative * one(n_background)
}

# The core alone: `n_iter` iterations from the start, with the options as they are. `scale` brings
# instances to norm 1, which is done before the clock runs, for all contenders but the whole call
# of dlfumi().
run_core <- function(problem, n_iter, scale,
                     control = fumi::dlfumi_control(max_iter = n_iter, tol = 0)) {
  spec <- c(problem[c("n_target", "beta", "gamma")],
            list(lambda = lambda, psi = 1, control = control))
  own <- function() list(dictionary = problem$start$dictionary, codes = problem$start$codes + 0)
  fumi:::dlfumi_run(problem$bags, scale, own, spec, NULL, NULL)$objective$objective
}
