# A scene of 20 x 30 pixels and 6 bands, with four targets of one or two pixels that are bright in
# the last band.
make_scene <- function() {
  truth <- matrix(FALSE, 20, 30)
  truth[cbind(c(3, 4, 8, 12, 13, 18), c(4, 4, 20, 10, 11, 26))] <- TRUE
  cube <- array(stats::rnorm(20 * 30 * 6), c(20, 30, 6))
  cube[, , 5:6][c(truth, truth)] <- 20
  list(cube = cube, truth = truth)
}

# Faces as read_cmu_faces() gives them: people differ by a spot, sunglasses are a dark band.
make_cmu <- function(n_people = 20) {
  d <- expand.grid(sunglasses = c(FALSE, TRUE), emotion = c("angry", "happy", "neutral", "sad"),
                   pose = c("left", "right", "straight", "up"), person = sprintf("p%02d", seq_len(n_people)),
                   stringsAsFactors = FALSE)
  spot <- stats::setNames(sample.int(40, n_people), unique(d$person))
  images <- vapply(seq_len(nrow(d)), function(i) {
    face <- matrix(0.6 + stats::rnorm(80, sd = 0.05), 10, 8)
    face[41:80][spot[d$person[i]]] <- 1
    if (d$sunglasses[i]) face[3:4, 2:7] <- 0.1
    face
  }, matrix(0, 10, 8))
  c(list(images = images), as.list(d))
}
