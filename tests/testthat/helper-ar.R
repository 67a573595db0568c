# A made set with the names and the shape of the cropped AR faces: `n_people` women and as many
# men, 26 images each, 165 x 120 grey levels. People differ by two spots, sunglasses are a dark
# band.
make_ar <- function(n_people) {
  dir <- tempfile("ar")
  dir.create(dir)
  height <- 165
  width <- 120
  header <- c(54 + 1024 + height * width, 0, 54 + 1024, 40, width, height, 1 + 8 * 65536, 0,
              height * width, 0, 0, 256, 256)
  head <- c(charToRaw("BM"), writeBin(as.integer(header), raw(), endian = "little"),
            as.raw(rep(0:255, each = 4)))
  spot <- function(y, x) outer(seq_len(height), seq_len(width),
                               function(i, j) exp(-((i - y)^2 + (j - x)^2) / 500))
  for (sex in c("m", "w")) for (person in seq_len(n_people)) {
    face <- 120 + 100 * spot(stats::runif(1, 60, 160), stats::runif(1, 10, 110)) -
      80 * spot(stats::runif(1, 60, 160), stats::runif(1, 10, 110))
    for (k in 1:26) {
      image <- face
      if (k %in% c(8:10, 21:23)) image[40:60, 15:105] <- 20
      image <- pmin(pmax(image + 10 * stats::rnorm(1) + sample(-6:6, length(image), TRUE), 0), 255)
      pixels <- as.raw(round(t(image[height:1, ])))
      writeBin(c(head, pixels), file.path(dir, sprintf("%s-%03d-%02d.bmp", sex, person, k)))
    }
  }
  dir
}
