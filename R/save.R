# Models on disk, in a format that cannot hold code. All numbers are little endian:
#
#   8 bytes   magic
#   4 bytes   format, an integer
#   8 bytes   size of what follows the header, a double
#   4 bytes   its Adler-32 (RFC 1950), two unsigned integers of 2 bytes
#
# and then one value: a byte for its kind, in `saved_kinds`; unless NULL, its length, a double, and
# its elements: of 4 bytes (logical, integer), of 8 (double), of 1 (raw), values (list), or, of
# strings, their sizes in 4 bytes each, -1 for NA, and their text in UTF-8. 128 added to the kind
# announces attributes: a byte for their number, and for each a byte for its name, in
# `saved_attributes`, and a value.

file_magic <- as.raw(c(0x89, utf8ToInt("FUMI"), 0x0d, 0x0a, 0x1a))
file_format <- 1L
file_header <- 24
saved_kinds <- c("NULL", "logical", "integer", "double", "character", "raw", "list")
saved_attributes <- c("names", "dim", "dimnames", "class", "levels", "row.names")
element_bytes <- c(logical = 4, integer = 4, double = 8, character = 4, raw = 1, list = 1)
deepest <- 16

#' Save and load a model
#'
#' `mil_save()` writes a fitted model to a file, and `mil_load()` reads it back exactly. Unlike the
#' files of [saveRDS()] and [save()], the file format cannot hold code, so reading somebody else's
#' file cannot run their code. It has a checksum, and damaged or truncated files are refused.
#'
#' The file is first written under a temporary name and then renamed, so a session that is killed
#' leaves either the old file or the complete new one. Later versions of the package read files of
#' all earlier ones.
#'
#' `saveRDS()` also works for every model, and is needed for models that hold functions: a `kernel`
#' of your own in [mi_svm()] or [dmil()], a `classifier` of your own in [sil()], or an `init` of
#' your own in [dlfumi()].
#'
#' @param object a fitted model, or the object of [one_vs_rest()].
#' @param file string, the name of the file.
#' @return `mil_save()`: the name of the file, invisibly. `mil_load()`: the model.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20)
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' file <- tempfile(fileext = ".fumi")
#' mil_save(fit, file)
#' identical(mil_load(file), fit)
#' @export
mil_save <- function(object, file) {
  check_file_name(file)
  validate_model(object)
  if (inherits(object, "mil_model") && is.null(model_rules[[object$method]]))
    stop_fumi("`object` must be a fit of a method of this package, not of class ", class(object)[1],
              ": `saveRDS()` keeps it.", class = "model")
  payload <- unlist(encode(object, "object", 1, rlang::current_env()))
  write_whole(file, header_bytes(payload), payload)
  invisible(file)
}

#' @rdname mil_save
#' @export
mil_load <- function(file) {
  check_file_name(file)
  call <- rlang::current_env()
  bytes <- read_model_file(file, call)
  damaged <- function(e) stop_file(file, "its content is damaged", call)
  object <- tryCatch(decode(bytes), error = damaged, warning = damaged)
  method <- if (inherits(object, "mil_one_vs_rest")) "" else part(object, "method")
  if (!identical(method, "") && !isTRUE(method %in% names(model_rules)))
    stop_file(file, "it holds no model of a known method", call)
  validate_model(object, "file", call)
}

check_file_name <- function(file, call = rlang::caller_env()) {
  if (!is.character(file) || length(file) != 1 || is.na(file) || !nzchar(file))
    stop_fumi("`file` must be the name of a file, not ", describe(file), ".", call = call)
}

stop_file <- function(file, problem, call)
  stop_fumi("`file` must be one that `mil_save()` wrote, but ", basename(file), " is not one: ",
            problem, ".", class = "file", call = call)

# ---- the header -----------------------------------------------------------------------------

header_bytes <- function(payload) {
  c(file_magic, to_bytes(file_format), to_bytes(as.double(length(payload))), adler32(payload))
}

# Writes bytes to a temporary file and renames it: the file is complete, or what it was before.
write_whole <- function(file, ..., call = rlang::caller_env()) {
  size <- sum(lengths(list(...)))
  beside <- tempfile(paste0(basename(file), "-"), dirname(file))
  on.exit(unlink(beside))
  written <- tryCatch(suppressWarnings({
    write_bytes(beside, ...)
    file.size(beside) == size && file.rename(beside, file)
  }), error = function(e) FALSE)
  if (!isTRUE(written))
    stop_fumi("`file` must be writable, but ", describe(file), " is not.",
              class = "file", call = call)
}

write_bytes <- function(file, ...) {
  con <- file(file, "wb")
  on.exit(close(con))
  for (bytes in list(...)) writeBin(bytes, con)
}

to_bytes <- function(x) writeBin(x, raw(), endian = "little")

# In parts whose sums a double represents exactly.
adler32 <- function(bytes) {
  sums <- c(1, 0)
  for (first in seq(1, by = 2^20, length.out = ceiling(length(bytes) / 2^20))) {
    values <- as.double(bytes[first:min(first + 2^20 - 1, length(bytes))])
    n <- length(values)
    sums <- c(sums[1] + sum(values), sums[2] + n * sums[1] + sum((n:1) * values)) %% 65521
  }
  writeBin(as.integer(sums), raw(), size = 2, endian = "little")
}

# What follows the header of a file whose size, format and checksum are right.
read_model_file <- function(file, call) {
  size <- file.size(file)
  if (is.na(size) || dir.exists(file)) stop_file(file, "there is no such file", call)
  if (size >= 2^31) stop_file(file, "it is larger than 2 GiB", call)
  con <- tryCatch(suppressWarnings(file(file, "rb")),
                  error = function(e) stop_file(file, "it cannot be read", call))
  on.exit(close(con))
  header <- readBin(con, raw(), file_header)
  if (length(header) < file_header || !identical(header[1:8], file_magic))
    stop_file(file, "it begins otherwise", call)
  format <- readBin(header[9:12], "integer", endian = "little")
  if (!identical(format, file_format))
    stop_file(file, paste0("it has format ", format, ", and this version of fumi knows format ",
                           file_format), call)
  announced <- readBin(header[13:20], "double", endian = "little")
  if (!identical(announced, size - file_header))
    stop_file(file, paste("it has", size - file_header, "bytes after its header, not the",
                          announced, "that it announces"), call)
  payload <- readBin(con, raw(), announced)
  if (!identical(adler32(payload), header[21:24])) stop_file(file, "its checksum is wrong", call)
  payload
}

# ---- values to bytes ------------------------------------------------------------------------

# A nested list of raw vectors; `path` says where in the object x is.
encode <- function(x, path, depth, call) {
  kind <- match(typeof(x), saved_kinds)
  if (is.na(kind) || isS4(x) || depth > deepest)
    stop_fumi("`object` must be made of plain vectors and lists to be saved without code, but `",
              path, "` is ",
              if (is.na(kind) || isS4(x)) describe(x)
              else "too deep", ": use `saveRDS()`.", class = "unsaved", call = call)
  if (is.null(x)) return(as.raw(0))
  kept <- attributes(x)
  odd <- setdiff(names(kept), saved_attributes)
  if (length(odd))
    stop_fumi("`object` must have no attributes other than ", enumerate(saved_attributes, 6),
              ", but `", path, "` has ", odd[1], ": use `saveRDS()`.", class = "unsaved",
              call = call)
  inner <- function(value, name) encode(value, paste0(path, "$", name), depth + 1, call)
  attributes <- lapply(names(kept), function(a) list(as.raw(match(a, saved_attributes)),
                                                     inner(kept[[a]], a)))
  list(as.raw(kind - 1 + 128 * (length(kept) > 0)), to_bytes(as.double(length(x))),
       elements(x, inner, call), if (length(kept)) c(list(as.raw(length(kept))), attributes))
}

elements <- function(x, inner, call) {
  name <- if (is.list(x)) rlang::names2(x)
  x <- unclass(x)
  switch(typeof(x),
         list = lapply(seq_along(x),
                       function(i) inner(x[[i]], if (nzchar(name[i])) name[i] else i)),
         character = string_bytes(x, call),
         raw = as.vector(x),
         logical = to_bytes(as.integer(x)),
         to_bytes(as.vector(x)))
}

string_bytes <- function(x, call) {
  x <- as.vector(x)
  if (!all(validEnc(x)))
    stop_fumi("`object` must have text in a known encoding to be saved, but ",
              encodeString(x[!validEnc(x)][1], quote = "\""), " is not valid.", class = "unsaved",
              call = call)
  x <- enc2utf8(x)
  size <- ifelse(is.na(x), -1L, nchar(x, "bytes"))
  list(to_bytes(as.integer(size)), charToRaw(paste(x[!is.na(x)], collapse = "")))
}

# ---- bytes to values ------------------------------------------------------------------------

# The value that fills `bytes`. Anything wrong is an error before memory is allocated for data that
# are not there.
decode <- function(bytes) {
  con <- rawConnection(bytes)
  on.exit(close(con))
  left <- length(bytes)
  take <- function(n, what, size) {
    stopifnot(n * size <= left)
    left <<- left - n * size
    readBin(con, what, n, size, endian = "little")
  }
  byte <- function() as.integer(take(1, "raw", 1))
  integers <- function(n) take(n, "integer", 4)
  doubles <- function(n) take(n, "double", 8)
  value <- function(depth) {
    kind <- byte()
    stopifnot(depth <= deepest, kind %% 128 < length(saved_kinds))
    name <- saved_kinds[kind %% 128 + 1]
    if (name == "NULL") return(NULL)
    n <- doubles(1)
    stopifnot(is.finite(n), n >= 0, n == floor(n), n * element_bytes[[name]] <= left)
    x <- switch(name, logical = as.logical(integers(n)), integer = integers(n), double = doubles(n),
                character = strings(n), raw = take(n, "raw", 1),
                list = lapply(seq_len(n), function(i) value(depth + 1)))
    if (kind >= 128) attributes(x) <- saved_attribute_list(depth)
    x
  }
  strings <- function(n) {
    size <- integers(n)
    there <- size >= 0
    stopifnot(!anyNA(size), size >= -1)
    text <- take(sum(as.double(size[there])), "raw", 1)
    stopifnot(all(text != 0))
    out <- rep(NA_character_, n)
    out[there] <- readChar(text, size[there], useBytes = TRUE)
    Encoding(out) <- "UTF-8"
    stopifnot(validUTF8(out))
    out
  }
  saved_attribute_list <- function(depth) {
    out <- list()
    for (i in seq_len(byte())) {
      name <- saved_attributes[byte()]
      out[[name]] <- value(depth + 1)
      if (name == "class") stopifnot(out$class %in% saved_classes())
      if (name == "row.names") stopifnot(!anyNA(out$row.names))
    }
    out
  }
  x <- value(1)
  stopifnot(left == 0)
  x
}

# The classes that a file may contain, since a class decides which code runs.
saved_classes <- function() c(names(model_rules), "mil_model", "mil_one_vs_rest",
                              "fumi_background", "data.frame", "factor")
