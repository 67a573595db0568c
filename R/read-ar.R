#' Read the cropped AR face set
#'
#' Reads a folder with the cropped AR faces (Martinez and Benavente 1998; Martinez and Kak 2001).
#' The AR faces may not be redistributed, so they are not in this package: ask their owners for the
#' set.
#'
#' A file is named by sex, person and image, such as `m-001-01.bmp` or `w-010-26.bmp`. Images 1 to
#' 13 are from the first session and 14 to 26 from the second; 8 to 10 and 21 to 23 show
#' sunglasses. Other files are ignored. Files must be uncompressed BMP of 8 or 24 bits; colours are
#' converted to grey with the weights of Rec. 601, and the 165 x 120 pixels are averaged over areas
#' to `height` x `width`.
#'
#' @param dir string, the folder with the files.
#' @param height,width whole numbers >= 1, default 83 and 60: the size of the resulting images, in
#'   pixels.
#' @return A list with one entry per image, sorted by sex, person and image:
#' \describe{
#'   \item{`images`}{array height x width x n of doubles from 0 (black) to 1
#'     (white), row 1 at the top.}
#'   \item{`sex`}{character, `"m"` (man) or `"w"` (woman).}
#'   \item{`person`}{integer, the person among those of the same sex.}
#'   \item{`image`}{integer, 1 to 26.}
#'   \item{`set`}{integer, the session: 1 or 2.}
#'   \item{`sunglasses`}{logical, whether the person wears sunglasses.}
#' } Any other BMP file is an error of class `fumi_error_file`.
#' @references
#' Martinez AM, Benavente R (1998). *The AR face database*. CVC Technical Report 24.
#'
#' Martinez AM, Kak AC (2001). PCA versus LDA. *IEEE Transactions on Pattern Analysis
#' and Machine Intelligence* 23(2), 228-233. \doi{10.1109/34.908974}
#' @seealso [olivetti] for faces that are in this package.
#' @examples
#' # Two artificial files of 4 x 4 pixels, each of a single grey level
#' write_flat <- function(file, grey) {
#'   header <- c(102, 0, 54, 40, 4, 4, 1 + 24 * 65536, 0, 48, 0, 0, 0, 0)
#'   writeBin(c(charToRaw("BM"), writeBin(as.integer(header), raw(), endian = "little"),
#'              as.raw(rep(grey, 48))), file)
#' }
#' dir <- tempfile()
#' dir.create(dir)
#' write_flat(file.path(dir, "m-001-01.bmp"), 200)
#' write_flat(file.path(dir, "m-001-08.bmp"), 50)
#'
#' ar <- read_ar(dir, height = 2, width = 2)
#' ar$sunglasses
#' ar$images[, , 2]
#' unlink(dir, recursive = TRUE)
#' @export
read_ar <- function(dir, height = 83, width = 60) {
  height <- check_count(height, "height", max = max_bmp_side)
  width <- check_count(width, "width", max = max_bmp_side)
  files <- ar_files(dir)
  call <- environment()
  images <- vapply(files$path, function(path) area_average(read_bmp(path, call), height, width),
                   matrix(0, height, width), USE.NAMES = FALSE)
  # `vapply()` drops the dimensions of images of one pixel.
  dim(images) <- c(height, width, nrow(files))
  list(images = images, sex = files$sex, person = files$person, image = files$image,
       set = 1L + (files$image > 13), sunglasses = files$image %in% c(8:10, 21:23))
}

# What the file names in a folder say, one row per file, sorted.
ar_files <- function(dir, call = rlang::caller_env()) {
  if (!is.character(dir) || length(dir) != 1 || is.na(dir) || !dir.exists(dir))
    stop_fumi("`dir` must be an existing folder, not ", describe(dir), ".", call = call)
  pattern <- "^([mw])-([0-9]{3})-(0[1-9]|1[0-9]|2[0-6])[.]bmp$"
  name <- grep(pattern, list.files(dir), value = TRUE, ignore.case = TRUE)
  if (length(name) == 0)
    stop_fumi("`dir` must hold files named such as m-001-01.bmp, but ", describe(dir), " has none.",
              class = "file", call = call)
  part <- function(i) sub(pattern, paste0("\\", i), name, ignore.case = TRUE)
  files <- data.frame(path = file.path(dir, name), sex = tolower(part(1)),
                      person = as.integer(part(2)), image = as.integer(part(3)))
  files[order(files$sex, files$person, files$image), ]
}

# ---- size --------------------------------------------------------------------

# Each pixel of the result is the mean of the area of `image` that it covers.
# Overlaps are whole numbers until the one division at the end, so that the mean
# of an image in [0, 1] cannot leave [0, 1] by rounding.
area_average <- function(image, height, width) {
  rows <- overlaps(height, nrow(image))
  cols <- overlaps(width, ncol(image))
  rows %*% image %*% t(cols) / length(image)
}

# A line of length `to` * `from` is cut into `to` and into `from` equal parts: how
# much each part of the first cut shares with each part of the second.
overlaps <- function(to, from) {
  first <- seq_len(to) * from
  second <- seq_len(from) * to
  shared <- outer(first, second, pmin) - outer(first - from, second - to, pmax)
  pmax(shared, 0)
}

# ---- BMP ---------------------------------------------------------------------

# The grey levels of a BMP file, in [0, 1], row 1 at the top. Every number in the file is checked
# against the bytes that are there before it is used.
read_bmp <- function(path, call = rlang::caller_env()) {
  bytes <- read_bytes(path, call, stop_bmp, least = 54)
  header <- read_bmp_header(bytes, path, call)
  pixels <- matrix(bytes[header$offset + seq_len(header$stride * header$height)], header$stride)
  pixels <- as.integer(pixels[seq_len(header$width * header$bits / 8), ])
  grey <- if (header$bits == 24) bgr_to_grey(pixels, 3) else
    palette_to_grey(pixels, bytes, header, path, call)
  grey <- matrix(grey, header$height, header$width, byrow = TRUE)
  if (header$top_down) grey else grey[rev(seq_len(header$height)), , drop = FALSE]
}

# Several times the size of an uncropped AR image (576 x 768 in colour). The side has its own bound
# because the memory of `overlaps()` is proportional to it.
max_bmp_bytes <- 2^23
max_bmp_side <- 4096

# `refuse`: the error of a file that is not of its kind; `least`: the bytes of a header.
read_bytes <- function(path, call, refuse, least) {
  size <- file.size(path)
  if (dir.exists(path) || is.na(size)) refuse(path, call, "it cannot be read")
  if (size > max_bmp_bytes)
    refuse(path, call, "it has %.0f bytes, more than the %.0f allowed", size, max_bmp_bytes)
  bytes <- tryCatch(suppressWarnings(readBin(path, raw(), size)),
                    error = function(e) refuse(path, call, "it cannot be read"))
  if (length(bytes) < least)
    refuse(path, call, "it has %.0f bytes, fewer than the %.0f of a header", length(bytes), least)
  bytes
}

read_bmp_header <- function(bytes, path, call) {
  refuse_if <- function(bad, ...) if (bad) stop_bmp(path, call, ...)
  size <- little_endian(bytes, 14, 4)
  width <- signed(little_endian(bytes, 18, 4))
  height <- signed(little_endian(bytes, 22, 4))
  bits <- little_endian(bytes, 28, 2)
  refuse_if(!identical(bytes[1:2], charToRaw("BM")), "it does not begin with BM")
  refuse_if(size < 40, "its header has %.0f bytes, fewer than 40", size)
  refuse_if(!bits %in% c(8, 24), "its pixels have %.0f bits", bits)
  refuse_if(little_endian(bytes, 30, 4) != 0, "it is compressed")
  refuse_if(width < 1 || height == 0 || max(width, abs(height)) > max_bmp_side,
            "its size is %.0f x %.0f", abs(height), width)

  colours <- if (bits == 8) little_endian(bytes, 46, 4) else 0
  if (bits == 8 && colours == 0) colours <- 256
  palette <- 14 + size
  offset <- little_endian(bytes, 10, 4)
  refuse_if(colours > 256, "its palette has %.0f colours", colours)
  refuse_if(palette + 4 * colours > offset, "its pixels begin inside its header")

  # Rows are padded to whole groups of 4 bytes.
  stride <- 4 * ceiling(width * bits / 32)
  end <- offset + stride * abs(height)
  refuse_if(end > length(bytes), "its %.0f x %.0f pixels end at byte %.0f and the file at %.0f",
            abs(height), width, end, length(bytes))
  list(width = width, height = abs(height), top_down = height < 0, bits = bits, stride = stride,
       offset = offset, palette = palette, colours = colours)
}

# Pixels of 8 bits are places in the palette, counted from 0.
palette_to_grey <- function(pixels, bytes, header, path, call) {
  if (max(pixels) >= header$colours)
    stop_bmp(path, call, "it uses colour %.0f of a palette of %.0f", max(pixels), header$colours)
  palette <- as.integer(bytes[header$palette + seq_len(4 * header$colours)])
  bgr_to_grey(palette, 4)[pixels + 1]
}

# Rec. 601: 0.299 red, 0.587 green, 0.114 blue, in thousandths so that white is 1
# exactly. `step` bytes per pixel, of which the first three are blue, green and red.
bgr_to_grey <- function(levels, step) {
  levels <- matrix(levels, step)
  (114 * levels[1, ] + 587 * levels[2, ] + 299 * levels[3, ]) / 255000
}

# The number in `n` bytes after the first `at`, as a double: 4 unsigned bytes are
# more than an integer holds.
little_endian <- function(bytes, at, n) {
  sum(as.integer(bytes[at + seq_len(n)]) * 256^(seq_len(n) - 1))
}

signed <- function(x) if (x >= 2^31) x - 2^32 else x

stop_bmp <- function(path, call, problem, ...) {
  stop_fumi("`dir` must hold uncompressed BMP files of 8 or 24 bits, but ", basename(path),
            " is not one: ", sprintf(problem, ...), ".", class = "file", call = call)
}
