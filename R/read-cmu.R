#' Read the CMU face images
#'
#' Reads a folder of the CMU Face Images (Mitchell 1997): 20 people, each in four poses, with four
#' expressions, with and without sunglasses. The set is number 124 of the UCI Machine Learning
#' Repository, which states its terms of use; it is not part of this package.
#'
#' A file is named by person, pose, expression and eyes, such as
#' `an2i_straight_happy_sunglasses_2.pgm`, and may lie in a folder below `dir`. The number at the
#' end is the scale: none for 120 x 128 pixels, 2 for 60 x 64, 4 for 30 x 32. Other files are
#' ignored.
#'
#' @param dir string, the folder with the files.
#' @param scale 1, 2 (default, 60 x 64 pixels) or 4: which files.
#' @return A list with one entry per image, sorted by person, pose, expression and eyes:
#' \describe{
#'   \item{`images`}{array height x width x n of doubles from 0 (black) to 1 (white), row 1 at the
#'     top.}
#'   \item{`person`}{character, the person's name in the file name.}
#'   \item{`pose`}{character: `"left"`, `"right"`, `"straight"` or `"up"`.}
#'   \item{`emotion`}{character: `"angry"`, `"happy"`, `"neutral"` or `"sad"`.}
#'   \item{`sunglasses`}{logical, whether the person wears sunglasses.}
#' } Any other PGM file is an error of class `fumi_error_file`.
#' @references Mitchell, T. M. (1997). *Machine Learning*. McGraw-Hill. Chapter 4.
#' @seealso [read_ar()], [olivetti], [paper_bags()]
#' @examples
#' # Two artificial files of 2 x 3 pixels
#' dir <- tempfile()
#' dir.create(dir)
#' write_pgm <- function(name, grey)
#'   writeBin(c(charToRaw("P5\n3 2\n255\n"), as.raw(grey)), file.path(dir, name))
#' write_pgm("an2i_straight_happy_open_2.pgm", rep(200, 6))
#' write_pgm("an2i_straight_happy_sunglasses_2.pgm", rep(50, 6))
#'
#' faces <- read_cmu_faces(dir)
#' faces$sunglasses
#' faces$images[, , 2]
#' unlink(dir, recursive = TRUE)
#' @export
read_cmu_faces <- function(dir, scale = 2) {
  scale <- check_count(scale, "scale")
  if (!scale %in% c(1, 2, 4)) stop_fumi("`scale` must be 1, 2 or 4, not ", scale, ".")
  files <- cmu_files(dir, scale)
  call <- environment()
  images <- lapply(files$path, read_pgm, call = call)
  size <- dim(images[[1]])
  odd <- which(!vapply(images, function(image) identical(dim(image), size), NA))
  if (length(odd))
    stop_fumi("`dir` must hold images of one size, but ", basename(files$path[odd[1]]),
              " is not of ", paste(size, collapse = " x "), " pixels.", class = "file")
  list(images = array(unlist(images), c(size, length(images))), person = files$person,
       pose = files$pose, emotion = files$emotion, sunglasses = files$eyes == "sunglasses")
}

# What the file names in a folder and its subfolders say, one row per file, sorted.
cmu_files <- function(dir, scale, call = rlang::caller_env()) {
  if (!is.character(dir) || length(dir) != 1 || is.na(dir) || !dir.exists(dir))
    stop_fumi("`dir` must be an existing folder, not ", describe(dir), ".", call = call)
  pattern <- paste0(
    "^([a-z0-9]+)_(left|right|straight|up)_(angry|happy|neutral|sad)_(open|sunglasses)",
    if (scale > 1) paste0("_", scale), "[.]pgm$")
  path <- list.files(dir, recursive = TRUE)
  path <- path[grepl(pattern, basename(path))]
  if (length(path) == 0)
    stop_fumi("`dir` must hold files named such as an2i_straight_happy_open",
              if (scale > 1) paste0("_", scale),
              ".pgm, but ", describe(dir), " has none.", class = "file", call = call)
  part <- function(i) sub(pattern, paste0("\\", i), basename(path))
  files <- data.frame(path = file.path(dir, path), person = part(1), pose = part(2),
                      emotion = part(3), eyes = part(4))
  files[order(files$person, files$pose, files$emotion, files$eyes), ]
}

# The grey levels of a binary PGM file of at most 8 bits, in [0, 1]. Its header is "P5", width,
# height and the largest level, separated by white space; lines that begin with # are comments.
read_pgm <- function(path, call = rlang::caller_env()) {
  bytes <- read_bytes(path, call, stop_pgm, least = 8)
  header <- pgm_header(bytes, path, call)
  pixels <- bytes[header$end + seq_len(header$width * header$height)]
  if (anyNA(pixels) || length(bytes) < header$end + header$width * header$height)
    stop_pgm(path, call, "it ends before its %.0f x %.0f pixels do", header$height, header$width)
  matrix(as.integer(pixels), header$height, header$width, byrow = TRUE) / header$largest
}

pgm_header <- function(bytes, path, call) {
  text <- rawToChar(replace(bytes, bytes > as.raw(126) | bytes == as.raw(0),
                            as.raw(126))[seq_len(min(1000, length(bytes)))])
  found <- regmatches(text, regexec(
    "^P5((?:\\s|#[^\n]*\n)+)([0-9]+)((?:\\s|#[^\n]*\n)+)([0-9]+)((?:\\s|#[^\n]*\n)+)([0-9]+)\\s",
    text, perl = TRUE))[[1]]
  if (length(found) == 0)
    stop_pgm(path, call, "it does not begin with the header of a binary PGM file")
  number <- as.numeric(found[c(3, 5, 7)])
  if (min(number) < 1 || max(number[1:2]) > max_bmp_side || number[3] > 255)
    stop_pgm(path, call, "its size is %.0f x %.0f with levels to %.0f", number[2], number[1],
             number[3])
  list(width = number[1], height = number[2], largest = number[3], end = nchar(found[1], "bytes"))
}

stop_pgm <- function(path, call, problem, ...) {
  stop_fumi("`dir` must hold binary PGM files of 8 bits, but ", basename(path), " is not one: ",
            sprintf(problem, ...), ".", class = "file", call = call)
}
