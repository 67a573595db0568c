# Makes data/olivetti.rda from the faces inside the source package
# `RnavGraphImageData` and from our own labels of who wears eyeglasses.
# Run from the root of the package: Rscript data-raw/olivetti.R

if (all(getOption("repos") %in% "@CRAN@")) chooseCRANmirror(ind = 1)
tarball <- download.packages("RnavGraphImageData", tempdir(), type = "source")[, 2]
untar(tarball, exdir = tempdir())

source_data <- new.env()
load(file.path(tempdir(), "RnavGraphImageData", "data", "faces.rda"), source_data)
faces <- as.matrix(source_data$faces)
stopifnot(is.integer(faces), dim(faces) == c(64^2, 400), faces >= 0, faces <= 255)

# The labels were made by eye, one row per column of `faces`.
labels <- read.csv(file.path("data-raw", "olivetti-eyeglasses.csv"))
stopifnot(labels$column == 1:400, labels$person == rep(1:40, each = 10),
          labels$image == rep(1:10, times = 40), labels$eyeglasses %in% 0:1)

olivetti <- structure(list(images = array(unname(faces), c(64, 64, 400)), person = labels$person,
                           image = labels$image, eyeglasses = labels$eyeglasses == 1),
                      name = "olivetti", class = "mil_images")
# On these grey levels bzip2 is a tenth smaller than xz.
save(olivetti, file = file.path("data", "olivetti.rda"), compress = "bzip2")
