pgm_bytes <- function(levels, header = sprintf("P5\n%d %d\n255\n", ncol(levels), nrow(levels)))
  c(charToRaw(header), as.raw(t(levels)))

cmu_dir <- function(names, levels = matrix(0:5, 2), ...) {
  dir <- tempfile("cmu")
  dir.create(dir)
  for (name in names) {
    dir.create(dirname(file.path(dir, name)), recursive = TRUE, showWarnings = FALSE)
    writeBin(pgm_bytes(levels, ...), file.path(dir, name))
  }
  dir
}

test_that("names say person, pose, emotion and sunglasses, and images come sorted", {
  dir <- cmu_dir(c("tammo/tammo_up_sad_open_2.pgm", "an2i/an2i_left_angry_sunglasses_2.pgm",
                   "an2i/an2i_left_angry_open_2.pgm", "an2i/an2i_left_angry_open_4.pgm",
                   "an2i/an2i_left_angry_open.pgm"))
  faces <- read_cmu_faces(dir)
  expect_identical(faces[-1], list(person = c("an2i", "an2i", "tammo"),
                                   pose = c("left", "left", "up"),
                                   emotion = c("angry", "angry", "sad"),
                                   sunglasses = c(FALSE, TRUE, FALSE)))
  expect_identical(faces$images, array(rep(matrix(0:5, 2) / 255, 3), c(2, 3, 3)))
  expect_length(read_cmu_faces(dir, scale = 4)$person, 1)
  expect_length(read_cmu_faces(dir, scale = 1)$person, 1)
})

test_that("headers may have comments, any white space and another largest level", {
  levels <- matrix(c(0, 10, 100, 35, 9, 13), 2)
  for (header in c("P5 3 2 100\n", "P5\n# made by hand\n3\t2\n# twice\n100 ",
                   "P5\r\n3 2\r\n100\n")) {
    dir <- cmu_dir("a_up_sad_open_2.pgm", levels, header = header)
    expect_equal(read_cmu_faces(dir)$images[, , 1], levels / 100)
  }
})

test_that("pixels that look like white space or comments are pixels", {
  levels <- matrix(c(10, 35, 32, 13, 9, 255, 0, 128, 126), 3)
  expect_identical(read_cmu_faces(cmu_dir("a_up_sad_open_2.pgm", levels))$images[, , 1],
                   levels / 255)
})

test_that("files that are no such PGM are refused, with their names", {
  for (bytes in list(raw(0), charToRaw("P2\n3 2\n255\n1 2 3 4 5 6"),
                     charToRaw("P5\n3 2\n65535\n123456789012"),
                     charToRaw("P5\n99999 2\n255\n123456"), charToRaw("P5\n3 2\n255\n12345"),
                     charToRaw("P5\n0 2\n255\n12345"), as.raw(rep(0, 100)))) {
    dir <- cmu_dir("a_up_sad_open_2.pgm")
    writeBin(bytes, file.path(dir, "a_up_sad_open_2.pgm"))
    expect_error(read_cmu_faces(dir), "a_up_sad_open_2.pgm", class = "fumi_error_file")
  }
  dir <- cmu_dir(c("a_up_sad_open_2.pgm", "b_up_sad_open_2.pgm"))
  writeBin(pgm_bytes(matrix(0, 1, 1)), file.path(dir, "b_up_sad_open_2.pgm"))
  expect_error(read_cmu_faces(dir), "b_up_sad_open_2.pgm.* 2 x 3", class = "fumi_error_file")
})

test_that("a folder without such files and a wrong scale are refused", {
  expect_error(read_cmu_faces(tempfile()), "`dir` must be an existing folder", class = "fumi_error")
  expect_error(read_cmu_faces(cmu_dir("readme.pgm")),
               "named such as an2i_straight_happy_open_2.pgm", class = "fumi_error_file")
  expect_error(read_cmu_faces(cmu_dir("a_up_sad_open_2.pgm"), scale = 3),
               "`scale` must be 1, 2 or 4", class = "fumi_error")
})
