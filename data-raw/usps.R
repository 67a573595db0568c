# Makes data/usps.rda from the digits inside the source package `tensorBSS`.
# Run from the root of the package: Rscript data-raw/usps.R

if (all(getOption("repos") %in% "@CRAN@")) chooseCRANmirror(ind = 1)
tarball <- download.packages("tensorBSS", tempdir(), type = "source")[, 2]
untar(tarball, exdir = tempdir())

source_data <- new.env()
for (set in c("zip.train", "zip.test"))
  load(file.path(tempdir(), "tensorBSS", "data", paste0(set, ".RData")), source_data)
zip <- rbind(source_data$zip.train, source_data$zip.test)
stopifnot(dim(source_data$zip.train) == c(7291, 257), dim(source_data$zip.test) == c(2007, 257))

# One image per row of `zip`, its pixels row by row: the transpose runs along the
# columns of an image first, so rows and columns have to change places.
pixels <- array(t(zip[, -1]), c(16, 16, nrow(zip)))
pixels <- aperm(pixels, c(2, 1, 3))

# Pixels have three digits, so whole thousandths lose nothing and compress better.
thousandths <- round(1000 * pixels)
storage.mode(thousandths) <- "integer"
stopifnot(identical(thousandths / 1000, pixels), abs(thousandths) <= 1000, zip[, 1] %in% 0:9)

usps <- structure(list(images = thousandths, digit = as.integer(zip[, 1])), name = "usps",
                  class = "mil_images")
save(usps, file = file.path("data", "usps.rda"), compress = "bzip2")
