#' Handwritten digits of the US Postal Service
#'
#' 9298 digits from envelopes, with slant and size normalised, as grey images of 16 x 16 pixels.
#' The first 7291 images are the usual training set, the other 2007 the usual test set, which is
#' known to be harder.
#'
#' @format A list of class `mil_images`, which prints as a summary:
#' \describe{
#'   \item{`images`}{integer array 16 x 16 x 9298 (row, column, image), row 1 at
#'     the top: the grey level in thousandths, from -1000 (paper) to 1000 (ink).
#'     [usps_images()] gives it as doubles in \[-1, 1\].}
#'   \item{`digit`}{integer, the digit: 0 to 9.}
#' }
#' @section Terms:
#' The digits were made available by the neural network group of AT&T Research (Yann LeCun). They
#' come from the package `tensorBSS` (GPL >= 2), which has them from the package `ElemStatLearn`;
#' only the way they are stored was changed. Please cite the two papers below.
#' @source `zip.train` and `zip.test` of the source package `tensorBSS` 0.3.9 on
#'   CRAN.
#' @references
#' LeCun Y, Boser B, Denker JS, Henderson D, Howard RE, Hubbard W, Jackel LD
#' (1989). Backpropagation applied to handwritten zip code recognition. *Neural
#' Computation* 1(4), 541-551. \doi{10.1162/neco.1989.1.4.541}
#'
#' Hull JJ (1994). A database for handwritten text recognition research. *IEEE
#' Transactions on Pattern Analysis and Machine Intelligence* 16(5), 550-554.
#' \doi{10.1109/34.291440}
#' @seealso [usps_images()], [olivetti]
#' @examples
#' usps
#' table(usps$digit)
"usps"

#' The Olivetti faces, with eyeglasses labelled
#'
#' 400 grey photographs of 64 x 64 pixels: ten of each of 40 people, with changes of expression,
#' pose and light. Which images show eyeglasses was labelled by eye for this package: 119 do. Eight
#' people wear them in all of their images, seven in some.
#'
#' @format A list of class `mil_images`, which prints as a summary:
#' \describe{
#'   \item{`images`}{integer array 64 x 64 x 400 (row, column, image), row 1 at the
#'     top: the grey level from 0 (black) to 255. [olivetti_images()] gives it as
#'     doubles in \[0, 1\].}
#'   \item{`person`}{integer, the person: 1 to 40.}
#'   \item{`image`}{integer, the image of that person: 1 to 10.}
#'   \item{`eyeglasses`}{logical, whether the person wears eyeglasses in it.}
#' }
#' @section Terms:
#' The faces are the Database of Faces of AT&T Laboratories Cambridge, taken there (then the
#' Olivetti Research Laboratory) from 1992 to 1994. Whoever uses them is asked to **give credit to
#' AT&T Laboratories Cambridge** and to cite the paper below. The version of 64 x 64 pixels is Sam
#' Roweis's; it comes from the package `RnavGraphImageData` (GPL-2); only the way it is stored was
#' changed.
#' @source `faces` of the source package `RnavGraphImageData` 0.0.4 on CRAN.
#' @references
#' Samaria FS, Harter AC (1994). Parameterisation of a stochastic model for human
#' face identification. *Proceedings of the Second IEEE Workshop on Applications of
#' Computer Vision*, 138-142. \doi{10.1109/ACV.1994.341300}
#' @seealso [olivetti_images()], [read_ar()] for a larger set with sunglasses.
#' @examples
#' # Who wears them in only some images, and in how many
#' worn <- tapply(olivetti$eyeglasses, olivetti$person, sum)
#' worn[worn > 0 & worn < 10]
"olivetti"

#' Images as arrays of doubles
#'
#' The images of [usps] and [olivetti] as doubles, ready for [bags()].
#'
#' @param which `NULL` (default: all), or the images to return: their numbers, in the order wanted,
#'   or one `TRUE` or `FALSE` per image of the set.
#' @return An array height x width x n of doubles, row 1 at the top: from -1 (paper)
#'   to 1 (ink) for `usps_images()`, from 0 (black) to 1 (white) for
#'   `olivetti_images()`.
#' @seealso [usps] and [olivetti] for the labels, the origin and the terms.
#' @examples
#' # The first image of each digit, side by side.
#' x <- usps_images(match(0:9, usps$digit))
#' plot(as.raster((matrix(x, nrow = 16) + 1) / 2))
#'
#' @export
usps_images <- function(which = NULL) {
  usps <- fumi::usps
  usps$images[, , check_which(which, length(usps$digit)), drop = FALSE] / 1000
}

#' @rdname usps_images
#' @examples
#' # A person who wears eyeglasses in half of the images.
#' x <- olivetti_images(olivetti$person == 4)
#' plot(as.raster(matrix(x, nrow = 64)))
#' @export
olivetti_images <- function(which = NULL) {
  olivetti <- fumi::olivetti
  olivetti$images[, , check_which(which, length(olivetti$person)), drop = FALSE] / 255
}

#' @export
print.mil_images <- function(x, ...) {
  if (is.null(x$images)) return(print(unclass(x)))
  size <- dim(x$images)
  name <- attr(x, "name")
  what <- c(usps = "handwritten digits", olivetti = "faces")
  cat(name, ": ", size[3], " images of ", size[1], " x ", size[2], " pixels (", what[name],
      "), a list with\n", sep = "")
  for (part in names(x)) {
    value <- x[[part]]
    cat("  $", format(part, width = max(nchar(names(x)))), "  ", typeof(value),
        if (is.array(value)) paste0(" array ", paste(dim(value), collapse = " x ")),
        if (is.logical(value)) paste0(", ", sum(value), " TRUE")
        else paste0(", ", min(value), " to ", max(value)), "\n", sep = "")
  }
  cat("`", name, "_images()` gives the images as numbers for `bags()`; see `?", name, "`.\n",
      sep = "")
  invisible(x)
}

#' @export
summary.mil_images <- function(object, ...) object

# The numbers of the chosen ones among `n` images.
check_which <- function(which, n, call = rlang::caller_env()) {
  if (is.null(which)) return(seq_len(n))
  if (is.logical(which) && length(which) == n && !anyNA(which)) which <- base::which(which)
  if (!is.numeric(which) || is.object(which) || length(which) == 0)
    stop_fumi("`which` must choose at least one image, by numbers from 1 to ", n, " or by ", n,
              " logicals without NA, not ", describe(which), ".", call = call)
  bad <- !(which %in% seq_len(n))
  if (any(bad))
    stop_fumi("`which` must be whole numbers from 1 to ", n, ", but it has ",
              describe(which[bad][1]), ".", call = call)
  as.integer(which)
}
