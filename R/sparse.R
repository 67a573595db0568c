# Sparse features: a dgCMatrix of the package Matrix, d x N with one column per instance. Methods
# that use instances only linearly take it as it is; the others get a dense matrix, if that is not
# too large.

is_sparse <- function(x) inherits(x, "dgCMatrix")

# Any matrix of the package Matrix, n x d, as columns.
sparse_columns <- function(x, name, call) {
  check_package("Matrix", "for a matrix of its classes", call)
  if (inherits(x, "denseMatrix")) return(as_columns(as.matrix(x), name, call, missing_ok = TRUE))
  # Turned first: compressed columns of the given matrix would take memory for each feature.
  x <- Matrix::t(x)
  for (class in c("dMatrix", "generalMatrix", "CsparseMatrix")) x <- methods::as(x, class)
  x <- Matrix::drop0(x)
  dimnames(x) <- list(rownames(x), NULL)
  x
}

# Rows and columns of some of the values that a sparse matrix stores.
sparse_places <- function(x, which) {
  cbind(row = x@i + 1L, col = rep(seq_len(ncol(x)), diff(x@p)))[which, , drop = FALSE]
}

# Stops if dense columns would take more memory than the user allows. `what` says what needs them
# dense.
check_dense <- function(n_features, n_instances, what, call) {
  size <- 8 * n_features * n_instances / 2^30
  limit <- check_number(getOption("fumi.max_dense", 1), "fumi.max_dense", above = 0, call = call)
  if (size > limit)
    stop_fumi("`x` must be dense for ", what, ", but ", n_instances, " instances of ", n_features,
              " features would take ", signif(size, 3), " GB, more than the ", limit,
              " GB of `options(fumi.max_dense = )`.", class = "memory", call = call)
}

# Columns as doubles.
dense_columns <- function(x, what = "this method", call = rlang::caller_env()) {
  if (!is_sparse(x)) return(x)
  check_dense(nrow(x), ncol(x), what, call)
  names <- dimnames(x)
  x <- as.matrix(x)
  dimnames(x) <- if (!is.null(names[[1]])) names
  x
}

dense_bags <- function(b, what = "this method", call = rlang::caller_env()) {
  b$x <- dense_columns(b$x, what, call)
  b
}

# Whether a fit scores sparse columns as they are.
scores_sparse <- function(object) {
  switch(object$method, sil = !is.list(object$spec$classifier),
         mi_svm = !is.null(object$model$weights), miles = TRUE, mmdl = TRUE, FALSE)
}

# Numbers that a matrix holds in memory.
n_stored <- function(x) if (is_sparse(x)) 1.5 * length(x@x) else length(x)

# One over the norm of each column, 0 for a column of zeros. Columns are divided by their largest
# value first, so that squares neither overflow nor vanish.
sparse_unit_scale <- function(x) {
  column <- rep(seq_len(ncol(x)), diff(x@p))
  largest <- vapply(split(abs(x@x), factor(column, seq_len(ncol(x)))), max, 0, 0)
  squares <- c((x@x / largest[column])^2, numeric(ncol(x)))
  norm <- largest * sqrt(as.vector(rowsum(squares, c(column, seq_len(ncol(x))))))
  unname(ifelse(norm >= .Machine$double.xmin, 1 / norm, 0))
}

# Instances in rows, normalised.
instance_rows <- function(x, normalize) {
  scale <- instance_scale(x, normalize)
  if (!is_sparse(x)) return(t(x) * scale)
  x@x <- x@x * rep(scale, diff(x@p))
  transpose(x)
}

# X'Y and XY' as dense matrices, whichever is sparse.
cross <- function(x, y = x) {
  if (is_sparse(x) || is_sparse(y)) as.matrix(Matrix::crossprod(x, y)) else crossprod(x, y)
}
cross_rows <- function(x, y = x) {
  if (is_sparse(x) || is_sparse(y)) as.matrix(Matrix::tcrossprod(x, y)) else tcrossprod(x, y)
}

row_squares <- function(x) if (is_sparse(x)) Matrix::rowSums(x^2) else rowSums(x^2)

# Rows as LiblineaR takes them without making them dense: compressed by row.
liblinear_rows <- function(x) {
  if (!is_sparse(x)) return(x)
  columns <- transpose(x)
  methods::new(methods::getClass("dgRMatrix", where = asNamespace("Matrix")), p = columns@p,
               j = columns@i, x = columns@x, Dim = dim(x))
}

transpose <- function(x) if (is_sparse(x)) Matrix::t(x) else t(x)
