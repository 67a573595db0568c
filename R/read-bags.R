# Reads and writes bags.

#' Read and write bags
#'
#' Reads and writes [bags()] in formats that other multiple-instance software uses.
#'
#' @section Formats:
#' \describe{
#'   \item{`"csv"`}{one row per instance, with columns `bag`, `label`, `truth` (if known), and one
#'     per feature}
#'   \item{`"svm"`}{one line per instance, `instance:bag:label index:value index:value ...`, with
#'     features that are 0 left out: the format in which Andrews et al. (2002) published their data
#'     sets fox, tiger and elephant; text after `#` is ignored; it has no place for the truth}
#'   \item{`"arff"`}{relational ARFF of Weka: one row per bag, with its id, a relational attribute
#'     with its instances, and its class, whose second declared value is positive; it has no place
#'     for the truth}
#'   \item{`"images"`}{a folder with one subfolder per label, each with one subfolder per bag,
#'     which contains the images of that bag (PNG or JPEG, all of the same size; colours are
#'     averaged to grey). It needs the package png or jpeg, and can only be read}
#'   \item{`"mat"`}{a MAT-file of MATLAB up to version 7; it needs the package R.matlab. Either a
#'     matrix (`X`) with one column per instance, a label for each (`labels_bag` or `labels`) and
#'     preferably the number of its bag (`bag_number`), as in the authors' code of FUMI; or a cell
#'     array (`dataBags`) with one matrix per bag, one row per instance, and a label for each bag,
#'     as in that of MI-ACE. If only the number of rows of a matrix equals the number of labels,
#'     its rows are taken as instances. Without bag numbers, which FUMI does not need, each run of
#'     equal labels becomes one bag, with a warning. `labels_point` is the truth. Files are written
#'     in the first of these layouts, without the names of features; bags whose ids are not whole
#'     numbers are numbered}
#' } Numbers are written as text with up to 17 digits, so that they are read back exactly. Text is
#' in UTF-8.
#'
#' @param file string, the name of a file, or for `"images"` of a folder.
#' @param format string, one of the above. `NULL` (default): from the file extension.
#' @param x [bags()].
#' @param positive,image_dim as in [bags()].
#' @param bag,label `NULL` (default: the names above), or, for `"csv"` and `"mat"`, the names of
#'   the columns or variables.
#' @param data `NULL` (default: the names above), or, for `"mat"`, the name of the variable with
#'   the instances.
#' @param sparse `TRUE` or `FALSE` (default), for `"svm"`: whether to keep the features in a sparse
#'   matrix. It needs the package Matrix; see [bags()].
#' @param ... must be empty: an unknown argument is an error.
#' @return `read_bags()`: [bags()]. `write_bags()`: the bags, invisibly.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 4, bag_size = 2, n_features = 3)
#' file <- tempfile(fileext = ".csv")
#' write_bags(b, file)
#' readLines(file, 2)
#' read_bags(file)
#' unlink(file)
#' @export
read_bags <- function(file, format = NULL, ..., positive = NULL, image_dim = NULL, bag = NULL,
                      label = NULL, data = NULL, sparse = FALSE) {
  check_dots_empty(..., known = names(formals()))
  if (!rlang::is_string(file) || !file.exists(file))
    stop_fumi("`file` must be a file or folder that exists, not ", describe(file), ".",
              class = "file")
  format <- check_format(file, format, c("csv", "svm", "arff", "mat", "images"))
  sparse <- check_flag(sparse, "sparse")
  if (sparse && format != "svm")
    stop_fumi("`sparse` must be FALSE for all formats but \"svm\", not TRUE for \"", format, "\".")
  switch(format, csv = read_bags_csv(file, bag, label, positive, image_dim),
         mat = read_bags_mat(file, data, bag, label, positive, image_dim),
         svm = read_bags_svm(file, positive, image_dim, sparse),
         arff = read_bags_arff(file, positive, image_dim),
         images = read_bags_images(file, positive))
}

#' @rdname read_bags
#' @export
write_bags <- function(x, file, format = NULL, ...) {
  check_dots_empty(..., known = names(formals()))
  if (!inherits(x, "bags")) stop_fumi("`x` must be bags, not ", describe(x), ".", class = "type")
  if (!rlang::is_string(file))
    stop_fumi("`file` must be the name of a file, not ", describe(file), ".", class = "file")
  format <- check_format(file, format, c("csv", "svm", "arff", "mat"))
  if (format == "mat") {
    write_bags_mat(x, file)
    return(invisible(x))
  }
  lines <- switch(format, csv = csv_lines(x), svm = svm_lines(x), arff = arff_lines(x))
  writeLines(enc2utf8(lines), file, useBytes = TRUE)
  invisible(x)
}

check_format <- function(file, format, choices, call = rlang::caller_env()) {
  if (is.null(format)) format <- if (dir.exists(file)) "images"
  else tolower(sub(".*\\.", "", basename(file)))
  check_choice(format, choices, "format", call = call)
}

# The shorter of two texts from which each number is read back exactly.
exact_text <- function(x) {
  short <- number_text("%.15g", x)
  ifelse(as.numeric(short) == x, short, number_text("%.17g", x))
}

text_lines <- function(file, call = rlang::caller_env(2)) {
  lines <- readLines(file, warn = FALSE, encoding = "UTF-8")
  if (!all(validUTF8(lines))) bad_file(file, "text in UTF-8", call = call)
  lines
}

bad_file <- function(file, ..., call = rlang::caller_env(2)) {
  stop_fumi("`file` must be ", ..., ", but ", basename(file), " is not.", class = "file",
            call = call)
}

# ---- csv ------------------------------------------------------------------------------------

csv_lines <- function(x) {
  d <- check_column_names(as.data.frame(x), "x", rlang::caller_env())
  d[vapply(d, is.double, NA)] <- lapply(d[vapply(d, is.double, NA)], exact_text)
  quoted <- function(text) ifelse(grepl("[\",\n\r]|^\\s|\\s$", text),
                                  paste0("\"", gsub("\"", "\"\"", text), "\""), text)
  d[] <- lapply(d, function(column) quoted(as.character(column)))
  c(paste(quoted(names(d)), collapse = ","), do.call(paste, c(unname(d), sep = ",")))
}

read_bags_csv <- function(file, bag, label, positive, image_dim) {
  if (is.null(bag)) bag <- "bag"
  if (is.null(label)) label <- "label"
  d <- tryCatch(utils::read.csv(file, check.names = FALSE, colClasses = "character",
                                na.strings = "NA", strip.white = FALSE, encoding = "UTF-8"),
                error = function(e) NULL)
  if (is.null(d) || ncol(d) == 1) bad_file(file, "a table with commas between its columns")
  if (!all(validUTF8(c(names(d), unlist(d))))) bad_file(file, "a table in UTF-8")
  lacking <- setdiff(c(bag, label), names(d))
  if (length(lacking))
    stop_fumi("`file` must have the columns `", bag, "` and `", label, "`, but ", basename(file),
              " has ", enumerate(names(d), 5), did_you_mean(lacking[1], names(d)),
              "; give their names as `bag` and `label`.", class = "file",
              call = rlang::caller_env())
  if (any(names(d) == ""))
    stop_fumi("`file` must have a name for each column, but column ", which(names(d) == "")[1],
              " of ", basename(file),
              " has none (row names are left out by `write.csv(row.names = FALSE)`).",
              class = "file", call = rlang::caller_env())
  is_id <- names(d) == bag
  d[!is_id] <- lapply(d[!is_id], utils::type.convert, as.is = TRUE)
  bags(d, bag = bag, label = label, positive = positive, image_dim = image_dim)
}

# ---- svm ------------------------------------------------------------------------------------

svm_lines <- function(x) {
  bag <- in_user_order(x, x$bag)
  id <- gsub("[:#[:space:]]", "_", x$ids)
  if (anyDuplicated(id))
    stop_fumi("`x` must have bag ids that differ without blanks, `:` and `#` for this format.",
              class = "file", call = rlang::caller_env())
  features <- vapply(order(x$order), function(i) {
    v <- x$x[, i]
    used <- which(v != 0 | seq_along(v) == length(v))
    paste0(used, ":", exact_text(v[used]), collapse = " ")
  }, "")
  paste0(seq_along(bag) - 1, ":", id[bag], ":", ifelse(x$label[bag], 1, -1), " ", features)
}

read_bags_svm <- function(file, positive, image_dim, sparse, call = rlang::caller_env()) {
  lines <- trimws(sub("#.*", "", text_lines(file)))
  words <- strsplit(lines[nzchar(lines)], "[[:space:]]+")
  head <- strsplit(vapply(words, `[`, "", 1), ":", fixed = TRUE)
  pairs <- strsplit(as.character(unlist(lapply(words, `[`, -1))), ":", fixed = TRUE)
  if (!length(words) || any(lengths(head) != 3) || any(lengths(pairs) != 2))
    bad_file(file, "lines of `instance:bag:label index:value ...`")
  row <- rep(seq_along(words), lengths(words) - 1)
  index <- suppressWarnings(as.integer(vapply(pairs, `[`, "", 1)))
  value <- suppressWarnings(as.numeric(vapply(pairs, `[`, "", 2)))
  if (anyNA(index) || anyNA(value) || any(index < 1))
    bad_file(file, "lines with numbers for `index:value`, counted from 1")
  again <- duplicated((row - 1) * max(index, 1) + index)
  if (any(again))
    bad_file(file, "lines in which each index is once (", index[again][1], " is twice)")
  if (sparse) check_package("Matrix", "for `sparse = TRUE`", call)
  else check_dense(max(index, 1), length(words), "`sparse = FALSE`", call)
  x <- if (sparse) Matrix::sparseMatrix(row, index, x = value,
                                        dims = c(length(words), max(index, 1)), repr = "T")
       else replace(matrix(0, length(words), max(index, 1)), cbind(row, index), value)
  label <- utils::type.convert(vapply(head, `[`, "", 3), as.is = TRUE)
  bags(x, bag = vapply(head, `[`, "", 2), label = label, positive = positive, image_dim = image_dim)
}

# ---- relational arff ------------------------------------------------------------------------

arff_quote <- function(text) {
  ifelse(grepl("^[A-Za-z0-9_.-]+$", text), text,
         paste0("'", gsub("(['\\\\])", "\\\\\\1", text), "'"))
}

arff_lines <- function(x) {
  text <- c(x$ids, x$features, x$classes)
  if (any(!nzchar(text) | grepl("[\r\n]", text)))
    stop_fumi("`x` must have ids, features and labels of one line of text for this format.",
              class = "file", call = rlang::caller_env())
  features <- if (is.null(x$features)) paste0("f", seq_len(nrow(x$x))) else x$features
  instances <- apply(as.matrix(x), 1, function(v) paste(exact_text(v), collapse = ","))
  bag <- in_user_order(x, x$bag)
  inside <- vapply(split(instances, factor(bag, seq_along(x$ids))), paste, "", collapse = "\\n")
  c("@relation bags", "", "@attribute bag-id string", "@attribute bag relational",
    paste("  @attribute", arff_quote(features), "numeric"), "@end bag",
    paste0("@attribute class {", paste(arff_quote(x$classes), collapse = ","), "}"), "", "@data",
    paste0(arff_quote(x$ids), ",\"", inside, "\",", arff_quote(x$classes[1 + x$label])))
}

read_bags_arff <- function(file, positive, image_dim) {
  lines <- text_lines(file)
  lines <- lines[!grepl("^\\s*(%|$)", lines)]
  start <- grep("^\\s*@data", lines, ignore.case = TRUE)
  header <- lines[seq_len(max(start[1] - 1, 0, na.rm = TRUE))]
  from <- grep("^\\s*@attribute\\s.*\\srelational\\s*$", header, ignore.case = TRUE)
  to <- grep("^\\s*@end\\s", header, ignore.case = TRUE)
  if (length(start) != 1 || length(from) != 1 || length(to) != 1)
    bad_file(file, "relational ARFF: a bag id, a relational attribute, and a class")
  name <- arff_fields(sub("^\\s*@attribute\\s+", "", header[(from + 1):(to - 1)],
                          ignore.case = TRUE), "[:space:]")
  classes <- arff_fields(sub("^[^{]*\\{(.*)\\}[^}]*$", "\\1", utils::tail(header, 1)), ",")[[1]]
  rows <- arff_fields(lines[-seq_len(start)], ",")
  if (!all(lengths(rows) == 3)) bad_file(file, "rows of `id,\"instances\",class`")
  parts <- lapply(rows, function(row) arff_instances(row[2]))
  if (any(lengths(parts) == 0) || any(vapply(parts, ncol, 1L) != length(name)) ||
      anyNA(unlist(parts)))
    bad_file(file, "bags of instances with ", length(name), " numbers each")
  x <- do.call(rbind, parts)
  colnames(x) <- vapply(name, `[`, "", 1)
  id <- vapply(rows, `[`, "", 1)
  label <- factor(vapply(rows, `[`, "", 3), classes)
  bags(x, bag = rep(id, vapply(parts, nrow, 1L)), label = rep(label, vapply(parts, nrow, 1L)),
       positive = positive, image_dim = image_dim)
}

# The fields of each line, without their quotes; what is between quotes is not divided.
arff_fields <- function(lines, separator) {
  pattern <- paste0("'(\\\\.|[^'\\\\])*'|\"(\\\\.|[^\"\\\\])*\"|[^", separator, "'\"]+")
  unquote <- function(field) {
    field <- trimws(field)
    quoted <- grepl("^(['\"]).*\\1$", field)
    field[quoted] <- gsub("\\\\(['\"\\\\])", "\\1",
                          substring(field[quoted], 2, nchar(field[quoted]) - 1))
    field
  }
  lapply(regmatches(lines, gregexpr(pattern, lines, perl = TRUE)), function(fields) {
    fields <- unquote(fields)
    fields[nzchar(fields)]
  })
}

arff_instances <- function(text) {
  lines <- strsplit(strsplit(text, "\\n", fixed = TRUE)[[1]], ",", fixed = TRUE)
  if (length(unique(lengths(lines))) != 1) return(NULL)
  suppressWarnings(matrix(as.numeric(unlist(lines)), length(lines), byrow = TRUE))
}

# ---- images ---------------------------------------------------------------------------------

read_bags_images <- function(file, positive) {
  images <- list.files(file, "\\.(png|jpe?g)$", recursive = TRUE, ignore.case = TRUE)
  place <- strsplit(images, "/", fixed = TRUE)
  if (!length(place) || any(lengths(place) != 3)) bad_file(file, "a folder `label/bag/image`")
  pixels <- lapply(file.path(file, images), read_image)
  size <- vapply(pixels, dim, c(1L, 1L))
  if (any(size != size[, 1])) bad_file(file, "a folder of images of one size")
  label <- utils::type.convert(vapply(place, `[`, "", 1), as.is = TRUE)
  bags(array(unlist(pixels), c(size[, 1], length(pixels))), bag = dirname(images), label = label,
       positive = positive)
}

read_image <- function(file) {
  package <- if (grepl("png$", file, ignore.case = TRUE)) "png" else "jpeg"
  check_package(package, "to read `file`", rlang::caller_env(3))
  image <- if (package == "png") png::readPNG(file) else jpeg::readJPEG(file)
  if (length(dim(image)) == 2) return(image)
  # Without the last of two or four channels, which is transparency.
  colours <- dim(image)[3] - (dim(image)[3] %% 2 == 0)
  apply(image[, , seq_len(colours), drop = FALSE], 1:2, mean)
}
