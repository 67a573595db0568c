#' Bags as the paper draws them
#'
#' `paper_protocol()` returns the settings of an experiment of Jiao and Zare (2016), `paper_bags()`
#' draws training bags and test images accordingly, and `draw_bags()` is the underlying generator,
#' for images of your own.
#'
#' @section Experiments:
#' * `"usps"`: one digit against the others, for each digit. 200 test images per digit are drawn
#'   first, from all 9298; the training bags come from the rest.
#' * `"ar_sunglasses"`, `"ar_person"`: sunglasses, and Woman No. 10, among the AR faces, which you
#'   must obtain yourself (see [read_ar()]). Images of the first session are for training, those of
#'   the second for testing.
#' * `"olivetti_eyeglasses"`, `"olivetti_person"`: their counterparts on faces that come with the
#'   package. A person's first five images are for training, the other five for testing.
#' * `"cmu_sunglasses"`, `"cmu_sunglasses_poses"`: sunglasses among the CMU faces, which you must
#'   obtain yourself (see [read_cmu_faces()]): people looking straight ahead, or in all four poses.
#' * `"olivetti_eyeglasses_apart"`, `"cmu_sunglasses_apart"`, `"cmu_sunglasses_poses_apart"`: the
#'   same with people kept apart (also by `apart = TRUE`): no person in the test set is in a
#'   training bag. The people of the training bags form three groups, each bag has images of one
#'   group, and `bag_group` gives the group of each bag, for the `group` of [bag_folds()].
#' * `"hyper_sandiego"`, `"hyper_hydice"`: aircraft and vehicles in hyperspectral scenes, which you
#'   must obtain yourself. Bags are blocks of 5 x 5 pixels, positive if they contain a pixel of a
#'   target. Half of the positive blocks and `n_negative` others are for training; the pixels of
#'   all other blocks are for testing.
#' * `"hyper_hydice_points"`, `"hyper_muufl_points"`: half of the targets are known only by
#'   imprecise points, as from a GPS receiver (for HYDICE, moved at random by up to two pixels);
#'   see [bags.SpatRaster]. Positive bags are the pixels within 3 of a point, negative bags are
#'   square tiles away from all targets. All other pixels are for testing. This needs the package
#'   terra.
#'
#' No image is used twice in a run. Where the paper gives no number of test images, all unused
#' images are for testing.
#'
#' @section Data not in this package:
#' The package has results for the AR and CMU faces and for the scenes, but not the images. The AR
#' faces are given to researchers on request; the CMU Face Images are set 124 of the UCI Machine
#' Learning Repository; the San Diego scene is an AVIRIS cube (189 bands, 100 x 100 pixels, three
#' aircraft), the HYDICE one an urban scene (162 bands, 80 x 100 pixels), both as crops commonly
#' used in the literature on anomaly detection; MUUFL Gulfport (64 bands, a crop of 100 x 100
#' pixels here) is at <https://github.com/GatorSense/MUUFLGulfport>. Each has terms of its own.
#'
#' @param name string, the experiment, see below: `"usps"`, `"olivetti_eyeglasses"`, ...
#' @param ... settings of the protocol to change, such as `n_negative = 10`.
#' @param run whole number >= 1, default 1: number of the repetition. Each has its own random
#'   stream.
#' @param unit `NULL` (default: the first), or the number of the digit (0 to 9) or person that is
#'   the target.
#' @param data `NULL` (default), or, for the AR and CMU faces, what [read_ar()] or
#'   [read_cmu_faces()] returns, or the folder to read; by default the folder named by the
#'   environment variable `FUMI_AR_DIR` or `FUMI_CMU_DIR`. For a scene, a list with `cube`, an
#'   array rows x columns x bands, and `truth`, a logical matrix rows x columns of the target
#'   pixels; or, for points, `points` in place of `truth`, a matrix of columns `x` and `y` in
#'   pixels from the lower left corner.
#' @param seed whole number >= 0: the seed of all runs. `NULL` (default): that of the stored
#'   results, 2016 for the experiments of version 0.1.0 and 2028 for the later ones.
#' @param apart `TRUE` or `FALSE` (default): whether to keep people apart.
#' @param target,other whole numbers: the numbers of the images with and without a target.
#' @param n_targets whole numbers from 1 to `positive_size`, default 1 in each of 50 bags: number of
#'   targets in each positive bag, one entry per bag.
#' @param positive_size,n_negative,negative_size whole numbers >= 1, default 4, 50 and 50: instances
#'   per positive bag, number of negative bags, instances per negative bag.
#' @return `paper_protocol()`: a list of class `paper_protocol`. `draw_bags()`: a data frame with
#'   one row per instance: `image` (its number), `bag`, `label`, `truth`. `paper_bags()`: a list
#'   with `train` ([bags()] with truth), `test` (array height x width x n), `truth` of the test
#'   images (logical; for `"usps"`, whether it is the digit), `index` (the numbers of the test
#'   images or pixels), `group` (digit or person of each) and, where people are kept apart,
#'   `bag_group`, the group of each training bag. For scenes, `test` is a matrix of pixels x bands.
#' @seealso [paper_experiment()]
#' @examples
#' paper_protocol("usps")
#' d <- paper_bags("olivetti_eyeglasses", run = 1)
#' d$train
#' table(d$truth)
#' @export
paper_bags <- function(name, run = 1, unit = NULL, ..., data = NULL, seed = NULL) {
  protocol <- paper_protocol(name, ...)
  unit <- check_unit(unit, protocol)
  source <- paper_source(protocol, data)
  drawn <- paper_draw(protocol, source, check_count(run, "run"), unit, check_seed(seed, protocol))
  c(list(train = training_bags(drawn, source),
         test = source$images(drawn$test), truth = source$is_target(unit)[drawn$test],
         index = drawn$test, group = source$group[drawn$test]),
    if (!is.null(drawn$train$part))
      list(bag_group = drawn$train$part[!duplicated(drawn$train$bag)]))
}

training_bags <- function(drawn, source) {
  train <- drawn$train
  bags(source$images(train$image), train$bag, train$label[!duplicated(train$bag)],
       truth = if (!anyNA(train$truth)) train$truth)
}

check_seed <- function(seed, protocol, call = rlang::caller_env()) {
  if (is.null(seed)) protocol$seed else check_count(seed, "seed", min = 0, call = call)
}

#' @rdname paper_bags
#' @export
paper_protocol <- function(name, ..., apart = FALSE) {
  name <- check_choice(name, names(paper_protocols), "name")
  if (check_flag(apart, "apart") && !endsWith(name, "_apart"))
    name <- check_choice(paste0(name, "_apart"), names(paper_protocols), "name")
  protocol <- c(list(name = name), paper_protocols[[name]])
  if (is.null(protocol$seed)) protocol$seed <- 2016
  changes <- list(...)
  odd <- setdiff(rlang::names2(changes), protocol_numbers)
  if (length(odd)) stop_unknown(odd[1], protocol_numbers, rlang::caller_env())
  for (number in setdiff(names(changes), "n_targets"))
    changes[[number]] <- check_count(changes[[number]], number)
  structure(utils::modifyList(protocol, changes), class = "paper_protocol")
}

#' @rdname paper_bags
#' @export
draw_bags <- function(target, other, n_targets = rep(1, 50), positive_size = 4, n_negative = 50,
                      negative_size = 50) {
  positive_size <- check_count(positive_size, "positive_size")
  n_negative <- check_count(n_negative, "n_negative")
  negative_size <- check_count(negative_size, "negative_size")
  if (!is.numeric(n_targets) || !length(n_targets) || !all(n_targets %in% seq_len(positive_size)))
    stop_fumi("`n_targets` must be whole numbers from 1 to `positive_size` (", positive_size,
              "), one per positive bag, not ", describe(n_targets), ".")
  positive <- seq_along(n_targets)
  bag <- c(rep(positive, n_targets), rep(positive, positive_size - n_targets),
           rep(length(positive) + seq_len(n_negative), each = negative_size))
  truth <- seq_along(bag) <= sum(n_targets)
  check_enough(target, "target", sum(truth))
  check_enough(other, "other", sum(!truth))
  data.frame(image = c(pick(target, sum(truth)), pick(other, sum(!truth))), bag = bag,
             label = as.integer(bag <= length(positive)), truth = truth)
}

pick <- function(from, n) from[sample.int(length(from), n)]

check_enough <- function(from, name, n, call = rlang::caller_env()) {
  if (length(from) < n)
    stop_fumi("`", name, "` must have the ", n, " images that the bags take, not ", length(from),
              ".", call = call)
}

check_unit <- function(unit, protocol, call = rlang::caller_env()) {
  if (is.null(unit)) return(protocol$units[1])
  if (is.numeric(unit) && length(unit) && all(unit %in% protocol$units)) return(as.integer(unit))
  stop_fumi("`unit` must be among ", enumerate(protocol$units, 40), " for \"", protocol$name,
            "\", not ", describe(unit), ".", call = call)
}

# ---- the numbers ---------------------------------------------------------------------------

protocol_numbers <- c("n_targets", "positive_size", "n_negative", "negative_size", "n_test")

glasses <- list(n_test = NULL, units = 1L, fpr = c(0.01, 0.184, 0.419),
                parameters = list(n_target = 3, n_background = 8, gamma = 0.001, beta = 30,
                                  lambda = 0.001),
                paper = list(`mi-SVM` = c(NA, NA, 96.2), `EM-DD` = c(78.2, 93.8, 98.1),
                             MMDL = c(NA, 98.0, NA),
                             DMIL = c(60.2, 95.2, 99.5), `DL-FUMI` = c(97.5, 100, 100)))
person <- list(n_test = 100, fpr = c(0.029, 0.05, 0.12),
               parameters = list(n_target = 3, n_background = 20, gamma = 0.001, beta = 50,
                                 lambda = 0.001),
               paper = list(`mi-SVM` = c(NA, NA, 69.2), `EM-DD` = c(0, 0, 0),
                            MMDL = c(31.5, NA, NA),
                            DMIL = c(54.5, 69.1, 78.8), `DL-FUMI` = c(78.9, 91.5, 95.5),
                            `DL-FUMI, subACE` = c(94.6, 100, 100)))

# `n_test`: test images per digit, or other people's images in the test (NULL: all that are left).
# `parameters` are the paper's own for DL-FUMI, `paper` its results in per cent: accuracy, or true
# positive rates at `fpr`.
paper_protocols <- list(
  usps = list(n_targets = rep(1, 50), positive_size = 4, n_negative = 50, negative_size = 50,
              n_test = 200, units = 0:9,
              parameters = list(n_target = 4, n_background = 15, gamma = 0.1, beta = 25,
                                lambda = 0.001),
              paper = list(`mi-SVM` = 81.1, `EM-DD` = 76.55, MMDL = 80.8, `GD-MIL` = 83.4,
                           `DL-FUMI` = 86.5)),
  ar_sunglasses = c(list(n_targets = rep(2, 50), positive_size = 10, n_negative = 50,
                         negative_size = 10), glasses),
  ar_person = c(list(n_targets = c(6, 7), positive_size = 50, n_negative = 3, negative_size = 200,
                     units = 10L), person),
  olivetti_eyeglasses = c(list(n_targets = rep(2, 25), positive_size = 6, n_negative = 15,
                               negative_size = 6), glasses),
  olivetti_person = c(list(n_targets = c(2, 3), positive_size = 20, n_negative = 3,
                           negative_size = 60, units = 1:40),
                      person))

# Experiments that are not in the paper. `apart`: the share of people for training; `n_parts`: the
# number of groups that they form. With a `halo`, in pixels, targets are given by points.
unlike_paper <- function(...) {
  utils::modifyList(glasses, list(..., seed = 2028, paper = NULL))
}
scene <- function(...) list(..., units = 1L, seed = 2028, fpr = c(0.01, 0.1),
                            parameters = list(lambda = 0.001))

paper_protocols <- c(paper_protocols, list(
  cmu_sunglasses = c(list(n_targets = rep(1, 8), positive_size = 5, n_negative = 5,
                          negative_size = 5, seed = 2028), glasses),
  cmu_sunglasses_poses = c(list(n_targets = rep(2, 12), positive_size = 10, n_negative = 10,
                                negative_size = 10, seed = 2028), glasses),
  olivetti_eyeglasses_apart = unlike_paper(n_targets = rep(1, 24), positive_size = 3,
                                           n_negative = 15, negative_size = 6, apart = 0.6,
                                           n_parts = 3),
  cmu_sunglasses_apart = unlike_paper(n_targets = rep(1, 6), positive_size = 5, n_negative = 6,
                                      negative_size = 4, apart = 0.75, n_parts = 3),
  cmu_sunglasses_poses_apart = unlike_paper(n_targets = rep(2, 12), positive_size = 10,
                                            n_negative = 12, negative_size = 9, apart = 0.75,
                                            n_parts = 3),
  hyper_sandiego = scene(n_negative = 40, block = 5),
  hyper_hydice = scene(n_negative = 40, block = 5),
  hyper_hydice_points = scene(n_negative = 40, negative_size = 25, halo = 3, off = 2),
  hyper_muufl_points = scene(n_negative = 40, negative_size = 25, halo = 3, off = 0)))

#' @export
print.paper_protocol <- function(x, ...) {
  if (is_scene(x)) return(print_scene(x))
  print_experiment(x, length(x$n_targets), " positive bags of ", x$positive_size, " with ",
                   paste(unique(x$n_targets), collapse = " or "),
                   if (all(x$n_targets == 1)) " target, " else " targets, ",
                   x$n_negative, " negative bags of ", x$negative_size)
  invisible(x)
}

print_experiment <- function(x, ...) {
  cat(strwrap(paste0("Experiment \"", x$name, "\": ", paste0(..., collapse = "")),
              getOption("width"), exdent = 2), sep = "\n")
}

# ---- the images ----------------------------------------------------------------------------

# What an experiment needs of a set of images: `images(which)`, the `group` (digit or person) of
# each, which are targets of a unit, and which of these are for training only (`early`; NULL: any).
paper_source <- function(protocol, data, call = rlang::caller_env()) {
  if (is_scene(protocol)) return(scene_source(protocol, data, call))
  if (protocol$name == "usps") {
    digit <- fumi::usps$digit
    return(list(images = usps_images, group = digit, is_target = function(unit) digit == unit))
  }
  if (startsWith(protocol$name, "olivetti")) {
    faces <- fumi::olivetti
    early <- stats::ave(faces$person, faces$person, FUN = seq_along) <= 5
    images <- olivetti_images
    person <- faces$person
    worn <- faces$eyeglasses
  } else if (startsWith(protocol$name, "cmu")) {
    faces <- cmu_source(data, !grepl("poses", protocol$name), call)
    images <- function(which) faces$images[, , which, drop = FALSE]
    person <- faces$person
    worn <- faces$sunglasses
  } else {
    faces <- check_ar(data, call)
    early <- faces$set == 1
    images <- function(which) faces$images[, , which, drop = FALSE]
    person <- paste0(faces$sex, faces$person)
    worn <- faces$sunglasses
  }
  by_person <- endsWith(protocol$name, "person")
  own <- function(unit) person == (if (is.character(person)) paste0("w", unit) else unit)
  list(images = images, group = person, early = if (by_person) early,
       is_target = if (by_person) own else function(unit) worn)
}

check_ar <- function(data, call) {
  check_faces(data, "the AR faces", "FUMI_AR_DIR", read_ar,
              c("images", "sex", "person", "set", "sunglasses"), call)
}

# The CMU faces in one pose, or in all.
cmu_source <- function(data, straight, call) {
  faces <- check_faces(data, "the CMU faces", "FUMI_CMU_DIR", read_cmu_faces,
                       c("images", "person", "pose", "sunglasses"), call)
  kept <- if (straight) faces$pose == "straight" else TRUE
  list(images = faces$images[, , kept, drop = FALSE], person = faces$person[kept],
       sunglasses = faces$sunglasses[kept])
}

# Faces that are not in the package: what `reader` returns, or a folder for it.
check_faces <- function(data, what, variable, reader, parts, call) {
  if (is.null(data) && nzchar(Sys.getenv(variable))) data <- Sys.getenv(variable)
  if (is.null(data))
    stop_fumi("`data` must be ", what, ", or the environment variable ", variable, " name ",
              "their folder: they are not in this package, see `?paper_bags`.",
              class = "no_data", call = call)
  if (is.character(data)) data <- reader(data)
  if (!is.list(data) || !all(parts %in% names(data)))
    stop_fumi("`data` must be what `", if (identical(reader, read_ar)) "read_ar" else
                "read_cmu_faces", "()` returns, not ", describe(data), ".", class = "type",
              call = call)
  data
}

# ---- the draw ------------------------------------------------------------------------------

# Numbers of the images: `train` (see draw_bags()) and `test`. Stream `run` has substream 0 for
# test images that all units share, and one for each unit.
paper_draw <- function(protocol, source, run, unit, seed) {
  target <- source$is_target(unit)
  shared <- if (protocol$name == "usps")
    with_stream(task_stream(seed, run, 0), unlist(lapply(protocol$units, function(u)
      pick(which(source$is_target(u)), protocol$n_test))))
  draw <- if (is_scene(protocol)) draw_scene
          else if (!is.null(protocol$apart)) draw_apart
          else draw_images
  with_stream(task_stream(seed, run, match(unit, protocol$units)),
              draw(protocol, source, target, shared))
}

draw_images <- function(protocol, source, target, shared) {
  early <- if (is.null(source$early)) TRUE else source$early
  train <- draw_bags(setdiff(which(target & early), shared), setdiff(which(!target), shared),
                     protocol$n_targets,
                     protocol$positive_size, protocol$n_negative, protocol$negative_size)
  unused <- setdiff(seq_along(target), train$image)
  test <- if (!is.null(shared)) shared else if (is.null(protocol$n_test)) unused else
    c(intersect(unused, which(target & !early)),
      pick(intersect(unused, which(!target)), protocol$n_test))
  list(train = train, test = test)
}

# Each group of people that train has bags of its own; all others are the test.
draw_apart <- function(protocol, source, target, shared) {
  part <- deal_people(source$group, target, protocol$apart, protocol$n_parts)
  part <- unname(part[as.character(source$group)])
  n <- length(protocol$n_targets)
  turn <- function(n) rep_len(seq_len(protocol$n_parts), n)
  train <- lapply(seq_len(protocol$n_parts), function(k) {
    drawn <- draw_bags(which(target & part == k), which(!target & part == k),
                       protocol$n_targets[turn(n) == k], protocol$positive_size,
                       sum(turn(protocol$n_negative) == k), protocol$negative_size)
    cbind(drawn, part = k)
  })
  train <- do.call(rbind, train)
  train$bag <- match(paste(train$part, train$bag), unique(paste(train$part, train$bag)))
  list(train = train, test = which(part == 0))
}

# The group of each person, named by the people, 0 for the test; people with a target and people
# without one are dealt out separately.
deal_people <- function(person, target, share, n_parts) {
  people <- as.character(sort(unique(person)))
  wears <- people %in% person[target]
  part <- stats::setNames(integer(length(people)), people)
  for (kind in unique(wears)) {
    mine <- pick(people[wears == kind], sum(wears == kind))
    train <- mine[seq_len(round(share * length(mine)))]
    part[train] <- rep_len(seq_len(n_parts), length(train))
  }
  part
}
