# The bytes of a BMP. `levels` are the bytes of the pixels, as a matrix with one row of
# the image a row (place in the palette for 8 bits; blue, green, red, ... for 24).
bmp_bytes <- function(levels, bits, palette = NULL, top_down = FALSE, gap = 0) {
  int <- function(x, size = 4) writeBin(as.integer(x), raw(), size = size, endian = "little")
  width <- ncol(levels) * 8 / bits
  height <- nrow(levels)
  padding <- matrix(165L, height, -ncol(levels) %% 4)
  rows <- if (top_down) seq_len(height) else rev(seq_len(height))
  pixels <- as.raw(t(cbind(levels, padding)[rows, , drop = FALSE]))
  palette <- as.raw(rbind(palette, if (length(palette)) 0L))
  offset <- 54 + length(palette) + gap
  c(charToRaw("BM"), int(c(offset + length(pixels), 0, offset, 40, width)),
    int(if (top_down) -height else height), int(c(1, bits), 2), int(c(0, length(pixels), 0, 0)),
    int(c(length(palette) / 4, 0)), palette, raw(gap), pixels)
}

# A palette of three rows: blue, green, red.
grey_palette <- function(n) matrix(seq_len(n) - 1L, 3, n, byrow = TRUE)

write_bmp <- function(bytes, dir = new_dir(), name = "m-001-01.bmp") {
  path <- file.path(dir, name)
  writeBin(bytes, path)
  path
}

new_dir <- function() {
  dir <- tempfile("ar")
  dir.create(dir)
  dir
}

# Bytes `at` .. replaced by a little-endian number of 4 bytes.
with_number <- function(bytes, at, value) {
  bytes[at + 1:4] <- as.raw(value %/% 256^(0:3) %% 256)
  bytes
}

expect_refused <- function(bytes, message = NULL) {
  path <- write_bmp(bytes)
  expect_error(read_bmp(path), message, class = "fumi_error_file")
  unlink(dirname(path), recursive = TRUE)
}

small_8 <- function() bmp_bytes(rbind(c(0, 1, 2), c(3, 4, 5)), 8, grey_palette(6))
small_24 <- function() bmp_bytes(rbind(1:6, 7:12, 13:18), 24)

test_that("8-bit files are read at every padding, both ways up", {
  for (width in 1:5) for (top_down in c(FALSE, TRUE)) {
    levels <- matrix(seq_len(3 * width) * 7L, 3, width)
    path <- write_bmp(bmp_bytes(levels, 8, grey_palette(256), top_down))
    expect_identical(read_bmp(path), levels / 255)
  }
})

test_that("24-bit files are read at every padding, both ways up", {
  for (width in 1:5) for (top_down in c(FALSE, TRUE)) {
    levels <- matrix(seq_len(3 * width) * 7L, 3, width)
    bgr <- levels[, rep(seq_len(width), each = 3), drop = FALSE]
    path <- write_bmp(bmp_bytes(bgr, 24, NULL, top_down))
    expect_identical(read_bmp(path), levels / 255)
  }
})

test_that("colours become grey by Rec. 601, in files and in palettes", {
  grey <- c(114, 587, 299, 1000) / 1000
  bgr <- c(255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255)
  expect_equal(read_bmp(write_bmp(bmp_bytes(t(bgr), 24))), t(grey), tolerance = 1e-15)
  palette <- matrix(bgr, 3)
  expect_equal(read_bmp(write_bmp(bmp_bytes(t(3:0), 8, palette))), t(rev(grey)), tolerance = 1e-15)
})

test_that("a palette that leaves its number of colours at 0 has 256", {
  bytes <- bmp_bytes(t(c(0, 255)), 8, grey_palette(256))
  expect_identical(read_bmp(write_bmp(with_number(bytes, 46, 0))), t(c(0, 1)))
})

test_that("a gap before the pixels and bytes after them are skipped", {
  levels <- rbind(1:6, 7:12)
  plain <- read_bmp(write_bmp(bmp_bytes(levels, 24)))
  expect_identical(read_bmp(write_bmp(c(bmp_bytes(levels, 24, gap = 70), raw(9)))), plain)
})

test_that("a file that ends too early is refused, wherever it ends", {
  for (bytes in list(small_8(), small_24())) {
    path <- write_bmp(bytes)
    expect_true(is.matrix(read_bmp(path)))
    for (n in seq_along(bytes) - 1) {
      writeBin(bytes[seq_len(n)], path)
      expect_error(read_bmp(path), class = "fumi_error_file")
    }
  }
})

test_that("a byte that is wrong gives an image or a classed error, never another failure", {
  path <- write_bmp(small_8())
  for (bytes in list(small_8(), small_24())) for (at in seq_along(bytes)) {
    for (value in c(0, 1, 127, 128, 255)) {
      writeBin(replace(bytes, at, as.raw(value)), path)
      image <- tryCatch(read_bmp(path), fumi_error_file = function(e) 0)
      if (!all(image >= 0 & image <= 1)) fail(paste("byte", at, "as", value, "left [0, 1]"))
    }
  }
  succeed()
})

test_that("sizes and places beyond the file are refused", {
  for (bytes in list(small_8(), small_24())) {
    for (value in c(2^32 - 1, 2^30, 4096)) {
      expect_refused(with_number(bytes, 10, value), "end at byte [0-9]+ and the file at")
      expect_refused(with_number(bytes, 14, value), "inside its header")
    }
    expect_refused(with_number(bytes, 18, 4096), "x 4096 pixels end at byte")
    expect_refused(with_number(bytes, 22, 2^32 - 4096), "its 4096 x . pixels end at byte")
    huge <- with_number(with_number(bytes, 18, 2^31 - 1), 22, 2^31)
    expect_refused(huge, "size is 2147483648 x 2147483647")
    for (value in c(0, 2^32 - 1, 2^31, 4097))
      expect_refused(with_number(bytes, 18, value), "size is")
    for (value in c(0, 2^31, 2^31 - 1, 4097))
      expect_refused(with_number(bytes, 22, value), "size is")
    expect_refused(with_number(bytes, 10, 20), "inside its header")
    expect_refused(with_number(bytes, 14, 12), "fewer than 40")
    expect_refused(with_number(bytes, 30, 1), "compressed")
    expect_refused(replace(bytes, 1, charToRaw("X")), "begin with BM")
    expect_refused(replace(bytes, 29, as.raw(32)), "32 bits")
  }
  expect_refused(with_number(small_8(), 46, 2^32 - 1), "4294967295 colours")
  expect_refused(with_number(small_8(), 46, 5), "colour 5 of a palette of 5")
})

test_that("a long thin image is refused although its bytes are all there", {
  expect_refused(bmp_bytes(matrix(0, 5000, 3), 24), "size is 5000 x 1")
})

test_that("a file larger than any face is refused unread", {
  path <- write_bmp(c(small_24(), raw(max_bmp_bytes)))
  expect_error(read_bmp(path), "more than the 8388608 allowed", class = "fumi_error_file")
  unlink(path)
})

test_that("area averages keep a constant, the mean and the range", {
  expect_identical(area_average(matrix(1, 165, 120), 83, 60), matrix(1, 83, 60))
  expect_equal(area_average(matrix(0.3, 7, 5), 3, 4), matrix(0.3, 3, 4), tolerance = 1e-14)
  image <- outer(1:165, 1:120, function(i, j) (i * 31 + j * 17) %% 101) / 100
  for (to in list(c(83, 60), c(1, 1), c(165, 7), c(200, 130))) {
    small <- area_average(image, to[1], to[2])
    expect_identical(dim(small), as.integer(to))
    expect_equal(mean(small), mean(image), tolerance = 1e-13)
    expect_true(all(small >= 0 & small <= 1))
  }
  expect_equal(area_average(image, 165, 120), image, tolerance = 1e-14)
})

test_that("area averages by a whole factor are the means of blocks", {
  image <- outer(1:12, 1:10, function(i, j) (i * 7 + j * 5) %% 11)
  blocks <- array(image, c(3, 4, 2, 5))
  expect_equal(area_average(image, 4, 5), apply(blocks, c(2, 4), mean), tolerance = 1e-14)
})

test_that("area averages by any factor agree with whole factors of a finer image", {
  image <- outer(1:7, 1:5, function(i, j) (i * 3 + j * 2) %% 5)
  fine <- image[rep(1:7, each = 4), rep(1:5, each = 3)]
  expect_equal(area_average(image, 4, 3), area_average(fine, 4, 3), tolerance = 1e-14)
})

test_that("a folder is read sorted, with what its names say", {
  dir <- new_dir()
  name <- c("w-001-01.bmp", "m-010-21.bmp", "m-002-14.bmp", "m-002-13.bmp", "m-002-08.bmp",
            "W-001-26.BMP", "m-010-11.bmp")
  for (i in seq_along(name))
    write_bmp(bmp_bytes(matrix(i, 6, 4), 8, grey_palette(256)), dir, name[i])
  for (other in c("m-1-01.bmp", "m-001-27.bmp", "m-001-00.bmp", "x-001-01.bmp", "m-001-01.bmp.txt",
                  "am-001-01.bmp", "readme.txt")) writeLines("no image", file.path(dir, other))
  ar <- read_ar(dir, height = 3, width = 2)
  expect_named(ar, c("images", "sex", "person", "image", "set", "sunglasses"))
  expect_identical(dim(ar$images), c(3L, 2L, 7L))
  expect_identical(ar$sex, rep(c("m", "w"), c(5, 2)))
  expect_identical(ar$person, c(2L, 2L, 2L, 10L, 10L, 1L, 1L))
  expect_identical(ar$image, c(8L, 13L, 14L, 11L, 21L, 1L, 26L))
  expect_identical(ar$set, c(1L, 1L, 2L, 1L, 2L, 1L, 2L))
  expect_identical(ar$sunglasses, c(TRUE, FALSE, FALSE, FALSE, TRUE, FALSE, FALSE))
  expect_equal(ar$images[1, 1, ] * 255, c(5, 4, 3, 7, 2, 1, 6))
})

test_that("an image has the size of the paper by default", {
  dir <- new_dir()
  write_bmp(bmp_bytes(matrix(255, 165, 360), 24), dir)
  expect_identical(read_ar(dir)$images, array(1, c(83, 60, 1)))
  expect_identical(dim(read_ar(dir, 1, 1)$images), c(1L, 1L, 1L))
})

test_that("all 26 images of a person have the right session and sunglasses", {
  dir <- new_dir()
  for (i in 1:26) write_bmp(small_24(), dir, sprintf("w-001-%02d.bmp", i))
  ar <- read_ar(dir, 2, 2)
  expect_identical(which(ar$sunglasses), c(8:10, 21:23))
  expect_identical(ar$set, rep(1:2, each = 13))
})

test_that("a bad folder, size or file is a classed error that names it", {
  for (dir in list(NULL, 1, NA_character_, c("a", "b"), tempfile()))
    expect_error(read_ar(dir), "`dir` must be an existing folder", class = "fumi_error_input")
  dir <- new_dir()
  expect_error(read_ar(dir), "has none", class = "fumi_error_file")
  write_bmp(small_8(), dir)
  expect_error(read_ar(dir, height = 0), "`height`", class = "fumi_error_input")
  expect_error(read_ar(dir, width = 1e9), "`width`", class = "fumi_error_input")
  write_bmp(small_8()[1:60], dir, "w-007-03.bmp")
  expect_error(read_ar(dir), "w-007-03.bmp", class = "fumi_error_file")
  unlink(file.path(dir, "w-007-03.bmp"))
  dir.create(file.path(dir, "w-008-03.bmp"))
  expect_error(read_ar(dir), "w-008-03.bmp is not one: it cannot be read", class = "fumi_error_file")
})
