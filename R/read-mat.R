# Bags from MAT-files and to them, by the package R.matlab.

# The names of variables in the authors' code; the first one found in a file is used.
mat_names <- list(data = c("dataBags", "bags", "X", "Inputdata", "X_train", "data"),
                  label = c("labels_bag", "labelsB", "labels", "label"),
                  bag = c("bag_number", "bag"), truth = "labels_point")

read_bags_mat <- function(file, data, bag, label, positive, image_dim, call = rlang::caller_env()) {
  content <- read_mat(file, call)
  pick <- function(role, given, needed = TRUE) mat_variable(content, role, given, needed, file,
                                                            call)
  x <- pick("data", data)
  y <- as.vector(unlist(pick("label", label)))
  if (is.list(x))
    return(bags(mat_cells(x, length(y), file, call), label = y, positive = positive,
                image_dim = image_dim))
  if (!is.numeric(x) || length(dim(x)) != 2)
    bad_file(file, "a MAT-file whose data are a numeric matrix or a cell array of matrices",
             call = call)
  id <- as.vector(unlist(pick("bag", bag, needed = FALSE)))
  if (is.null(id)) id <- mat_runs(y, call)
  x <- mat_rows(x, length(id), file, call)
  if (length(y) == length(unique(id)) && length(y) < length(id))
    names(y) <- value_names(sort(unique(id)))
  truth <- as.vector(pick("truth", NULL, needed = FALSE))
  bags(x, bag = id, label = y, truth = truth, positive = positive, image_dim = image_dim)
}

read_mat <- function(file, call) {
  check_package("R.matlab", "to read a MAT-file", call)
  head <- readBin(file, "raw", 128)
  if (length(grepRaw("MATLAB 7.3", head, fixed = TRUE)))
    stop_fumi("`file` must be a MAT-file of version 7 or older, but ", basename(file),
              " is of version 7.3: MATLAB writes the older one with `save(file, '-v7')`.",
              class = "file", call = call)
  tryCatch(R.matlab::readMat(file, fixNames = FALSE, sparseMatrixClass = "matrix"),
           error = function(e) bad_file(file, "a MAT-file of version 4 to 7", call = call))
}

mat_variable <- function(content, role, given, needed, file, call) {
  name <- if (is.null(given)) intersect(mat_names[[role]], names(content))[1] else given
  if (rlang::is_string(name) && name %in% names(content)) return(content[[name]])
  if (is.null(given) && !needed) return(NULL)
  stop_fumi("`", role, "` must name a variable of `file`, but there is no ",
            if (is.null(given)) paste(mat_names[[role]], collapse = ", ")
            else describe(given), " among ",
            enumerate(names(content), 10), ".", class = "column", call = call)
}

# The matrices of a cell array, one per bag. R.matlab wraps each in a list.
mat_cells <- function(x, n_labels, file, call) {
  parts <- lapply(x, function(cell) if (is.list(cell) && length(cell) == 1) cell[[1]] else cell)
  odd <- which(!vapply(parts, function(part) is.numeric(part) && length(dim(part)) == 2 &&
                       length(part) > 0, NA))
  if (length(odd))
    bad_file(
      file, "a cell array of numeric matrices with one row per instance, without empty ones (cell ",
      odd[1], ")", call = call)
  if (length(parts) != n_labels)
    bad_file(file, "a cell array with as many labels as cells (", n_labels, " and ", length(parts),
             ")", call = call)
  d <- vapply(parts, ncol, 1L)
  if (any(d != d[1]))
    bad_file(file, "a cell array of matrices with the same columns (", d[1], " in cell 1, ",
             d[d != d[1]][1], " in cell ", which(d != d[1])[1], ")", call = call)
  parts
}

# Instances in rows: the authors' code has them in columns, so that a square matrix is turned.
mat_rows <- function(x, n, file, call) {
  if (ncol(x) == n) return(t(x))
  if (nrow(x) == n) return(x)
  bad_file(file, "a MAT-file with a label or a bag number for each instance (", n,
           " for a matrix of ", paste(dim(x), collapse = " x "), ")", call = call)
}

mat_runs <- function(label, call) {
  run <- cumsum(c(TRUE, label[-1] != label[-length(label)]))
  warn_fumi(
    "`file` has no bag numbers, so each run of instances with the same label becomes one bag, ",
    max(run), " in all.", class = "no_bag", call = call)
  run
}

write_bags_mat <- function(x, file, call = rlang::caller_env()) {
  check_package("R.matlab", "to write a MAT-file", call)
  row <- function(v) matrix(as.double(in_user_order(x, v)), 1)
  number <- suppressWarnings(as.numeric(x$ids))
  if (anyNA(number) || any(number != round(number)) || anyDuplicated(number))
    number <- seq_along(x$ids)
  columns <- in_user_order(x, x$x)
  dimnames(columns) <- list(NULL, NULL)
  variables <- list(X = columns, labels_bag = row(x$label[x$bag]),
                    bag_number = row(number[x$bag]))
  if (!is.null(x$truth)) variables$labels_point <- row(x$truth)
  do.call(R.matlab::writeMat, c(list(file), variables))
}
