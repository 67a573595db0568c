# Four bags p, q, r, s of three instances each; p and r are positive.
instances <- function() {
  set.seed(1)
  matrix(rnorm(72), 12, dimnames = list(NULL, letters[1:6]))
}
ids <- rep(c("p", "q", "r", "s"), each = 3)
per_bag <- c(1, 0, 1, 0)
per_instance <- rep(per_bag, each = 3)

as_frame <- function(x, ...) data.frame(x, id = ids, y = per_instance, ...)
as_matrices <- function(x, by = ids) lapply(split(seq_len(nrow(x)), by),
                                            function(i) x[i, , drop = FALSE])

hole <- function(value, row = 3, column = 2) {
  x <- instances()
  x[row, column] <- value
  list(x = x)
}
