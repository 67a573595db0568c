shuffled_bags <- function(...) {
  set.seed(8)
  x <- matrix(rnorm(30) * 10^(-4:5), 10, dimnames = list(NULL, c("a b", "c,d", "e'")))
  x[2, ] <- 0
  x[3, 1] <- 0.1 + 0.2
  bags(x, c("u", "v", "u", "w x", "v", "z:1", "w x", "u", "z:1", "v"),
       c(u = "no", v = "yes", `w x` = "no", `z:1` = "yes"), positive = "yes", ...)
}
through <- function(b, ending, ...) {
  file <- tempfile(fileext = ending)
  on.exit(unlink(file))
  returned <- withVisible(write_bags(b, file))
  expect_identical(returned, list(value = b, visible = FALSE))
  read_bags(file, ...)
}
file_of <- function(lines, ending, env = parent.frame()) {
  file <- tempfile(fileext = ending)
  writeLines(lines, file)
  do.call(on.exit, list(substitute(unlink(file), list(file = file)), TRUE), envir = env)
  file
}

test_that("bags come back from CSV as they were", {
  b <- shuffled_bags(truth = c(0, 1, 0, 0, 0, 1, 0, 0, 0, 0))
  expect_equal(through(b, ".csv", positive = "yes"), b, tolerance = 1e-15)
  set.seed(1)
  images <- sim_bags(n_bags = 4, bag_size = 2, image_dim = c(2, 3))
  again <- through(images, ".csv", image_dim = c(2, 3))
  expect_equal(as.matrix(again), as.matrix(images), tolerance = 1e-15, ignore_attr = TRUE)
  same <- c("order", "bag", "ids", "label", "classes", "image_dim", "truth")
  expect_identical(unclass(again)[same], unclass(images)[same])
  other <- file_of(c("x,y,box,found", "1,2,a,1", "3,4,b,0"), ".csv")
  expect_identical(as.matrix(read_bags(other, bag = "box", label = "found")),
                   cbind(x = c(1, 3), y = c(2, 4)))
  expect_error(read_bags(other), "`bag`", class = "fumi_error_file")
})

test_that("bags come back from relational ARFF, bag by bag", {
  b <- shuffled_bags()
  again <- through(b, ".arff")
  expect_identical(again$classes, b$classes)
  expect_identical(again$ids, b$ids)
  expect_identical(again$label, b$label)
  for (id in b$ids) expect_equal(as.matrix(again[id]), as.matrix(b[id]), tolerance = 1e-15)
})

test_that("ARFF as Weka writes it is read", {
  file <- file_of(c("% a comment", "@relation musk", "",
                    "@attribute molecule_name {MUSK-1,'NON 2'}",
                    "@attribute bag relational", "\t@attribute f1 numeric",
                    "  @attribute 'f 2' real", "@end bag", "@attribute class {0,1}", "", "@data",
                    "MUSK-1,\"1,2\\n3,4\",1", "'NON 2','5,6',0"), ".arff")
  b <- read_bags(file)
  expect_identical(as.matrix(b), cbind(f1 = c(1, 3, 5), `f 2` = c(2, 4, 6)))
  expect_identical(summary(b)$label, factor(c(1, 0)))
  expect_identical(b$ids, c("MUSK-1", "NON 2"))
  lines <- readLines(file)
  expect_error(read_bags(file_of(lines[-(5:8)], ".arff")), "relational", class = "fumi_error_file")
  expect_error(read_bags(file_of(c(lines, "x,\"1\",0"), ".arff")), "2 numbers",
               class = "fumi_error_file")
  expect_error(read_bags(file_of(c(lines, "x,\"1,2\\n3\",0"), ".arff")), "2 numbers",
               class = "fumi_error_file")
  expect_error(read_bags(file_of(c(lines, "x,1"), ".arff")), "rows", class = "fumi_error_file")
})

test_that("the svm format keeps instances, bags and labels, and leaves zeros out", {
  b <- shuffled_bags()
  again <- through(b, ".svm")
  expect_equal(as.matrix(again), unname(as.matrix(b)), tolerance = 1e-15)
  expect_identical(again$ids, c("u", "v", "w_x", "z_1"))
  expect_identical(again$label, b$label)
  expect_identical(again$classes, c("-1", "1"))
  file <- file_of(c("# name", "0:10:1 1:2 3:-1.5 # end", "", "1:10:1", "2:11:0 2:7"), ".svm")
  expect_identical(as.matrix(read_bags(file)), rbind(c(2, 0, -1.5), 0, c(0, 7, 0)))
  expect_error(write_bags(bags(diag(2), c("a b", "a:b"), 0:1), tempfile(), "svm"), "`x`",
               class = "fumi_error_file")
  for (line in c("0:10 1:2", "0:10:1 1", "0:10:1 x:2", "0:10:1 0:2", ""))
    expect_error(read_bags(file_of(line, ".svm")), "`file`", class = "fumi_error_file")
})

test_that("folders of images are bags of grey images", {
  skip_if_not_installed("png")
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  image <- function(label, bag, name, pixels) {
    dir.create(file.path(dir, label, bag), recursive = TRUE, showWarnings = FALSE)
    png::writePNG(pixels, file.path(dir, label, bag, name))
  }
  grey <- matrix(c(0, 51, 102, 153, 204, 255) / 255, 2)
  image("1", "a", "1.png", grey)
  image("1", "a", "2.png", array(c(grey, grey, 1 - grey), c(2, 3, 3)))
  image("0", "a", "1.png", array(c(grey, grey, grey, 0 * grey), c(2, 3, 4)))
  b <- read_bags(dir)
  expect_identical(b$ids, c("0/a", "1/a"))
  expect_identical(b$image_dim, 2:3)
  expect_equal(as.matrix(b), rbind(c(grey), c(grey), (1 + c(grey)) / 3))
  image("0", "b", "1.png", t(grey))
  expect_error(read_bags(dir), "one size", class = "fumi_error_file")
  png::writePNG(grey, file.path(dir, "stray.png"))
  expect_error(read_bags(dir), "label/bag/image", class = "fumi_error_file")
})

test_that("what is no file, format or bags is refused", {
  for (file in list("none such", 1, NULL, c("a", "b")))
    expect_error(read_bags(file), "`file`", class = "fumi_error_file")
  expect_error(read_bags(file_of("a", ".txt")), "`format`", class = "fumi_error_input")
  expect_error(write_bags(odd_data$b, tempfile(), "images"), "`format`", class = "fumi_error_input")
  expect_error(write_bags(odd_data$x, tempfile(fileext = ".csv")), "`x`", class = "fumi_error_type")
  expect_error(write_bags(odd_data$b, 1), "`file`", class = "fumi_error_file")
})

test_that("labels with braces and quotes survive ARFF, and what it cannot hold is refused", {
  b <- shuffled_bags()
  b$classes <- c("no {x", "it's } 100 %")
  expect_identical(through(b, ".arff")$classes, b$classes)
  b$ids[1] <- "two\nlines"
  expect_error(through(b, ".arff"), "one line", class = "fumi_error_file")
  b$ids[1] <- ""
  expect_error(through(b, ".arff"), "one line", class = "fumi_error_file")
})

test_that("text that is not UTF-8 is refused", {
  rows <- list(csv = c("bag,label,caf\xe9", "1,1,2", "2,0,3"), svm = c("0:\xe9:1 1:2", "1:b:-1 1:1"),
               arff = c("@relation \xe9", "@data"))
  for (format in names(rows)) {
    file <- tempfile(fileext = paste0(".", format))
    con <- file(file, "wb")
    writeLines(rows[[format]], con, useBytes = TRUE)
    close(con)
    expect_error(read_bags(file), "UTF-8", class = "fumi_error_file")
    unlink(file)
  }
})

test_that("a byte order mark and text in UTF-8 are read", {
  file <- tempfile(fileext = ".csv")
  con <- file(file, "wb")
  writeLines("\ufeffbag,label,caf\u00e9\n\u00fc1,1,2\n\u00fc2,0,3", con, useBytes = TRUE)
  close(con)
  b <- read_bags(file)
  unlink(file)
  expect_identical(b$ids, c("\u00fc1", "\u00fc2"))
  expect_identical(b$features, "caf\u00e9")
})
