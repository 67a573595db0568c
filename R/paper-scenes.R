# Experiments on hyperspectral scenes: bags from blocks of pixels, or from imprecise points. A
# pixel is identified by its index in the matrix of the scene, which runs down the columns.

is_scene <- function(protocol) startsWith(protocol$name, "hyper")

by_points <- function(protocol) !is.null(protocol$halo)

print_scene <- function(x) {
  known <- if (by_points(x))
    paste0("the pixels within ", x$halo, " of points",
           if (x$off > 0) paste0(" that are up to ", x$off, " off"))
    else paste0("blocks of ", x$block, " x ", x$block, " pixels")
  print_experiment(x, "positive bags are ", known, ", half of them for training; ", x$n_negative,
                   " negative bags")
  invisible(x)
}

# What an experiment needs of a scene; `targets`, the pixels of each target, and `points`, its
# place (from the left, from the bottom).
scene_source <- function(protocol, data, call = rlang::caller_env()) {
  scene <- check_scene(data, call)
  height <- dim(scene$cube)[1]
  width <- dim(scene$cube)[2]
  x <- matrix(scene$cube, height * width)
  storage.mode(x) <- "double"
  colnames(x) <- paste0("band", seq_len(ncol(x)))
  row <- rep(seq_len(height), width)
  column <- rep(seq_len(width), each = height)
  known <- !is.null(scene$truth)
  targets <- if (known) connected_pixels(scene$truth)
  points <- if (is.null(scene$points)) pixel_centres(targets, height)
            else cbind(x = scene$points[, "x"], y = scene$points[, "y"])
  truth <- if (known) as.vector(scene$truth) else rep(NA, height * width)
  block <- if (by_points(protocol)) seq_along(row)
           else (row - 1) %/% protocol$block + ceiling(height / protocol$block) *
             ((column - 1) %/% protocol$block) + 1
  list(images = function(which) x[which, , drop = FALSE], group = block,
       is_target = function(unit) truth, size = c(height, width), targets = targets,
       points = points)
}

check_scene <- function(data, call) {
  if (is.null(data))
    stop_fumi("`data` must be the scene, a list with `cube` and `truth` or `points`: it is not in ",
              "this package, see `?paper_bags`.", class = "no_data", call = call)
  ok <- is.list(data) && is.numeric(data$cube) && length(dim(data$cube)) == 3
  fits <- function(truth) is.logical(truth) && identical(dim(truth), dim(data$cube)[1:2]) &&
    any(truth)
  placed <- function(xy) is.matrix(xy) && is.numeric(xy) && all(c("x", "y") %in% colnames(xy))
  if (!ok || !(if (is.null(data$points)) fits(data$truth) else placed(data$points)))
    stop_fumi("`data` must be a list with `cube`, an array rows x columns x bands, and `truth`, a ",
              "logical matrix rows x columns, or `points`, a matrix with columns `x` and `y`, not ",
              describe(data), ".", class = "type", call = call)
  data
}

# The pixels of each target, which are neighbours by a side or a corner.
connected_pixels <- function(truth) {
  height <- nrow(truth)
  left <- which(truth)
  found <- list()
  while (length(left)) {
    one <- left[1]
    repeat {
      near <- vapply(left, function(p) any(abs((p - 1) %% height - (one - 1) %% height) <= 1 &
        abs((p - 1) %/% height - (one - 1) %/% height) <= 1), NA)
      if (identical(left[near], one)) break
      one <- left[near]
    }
    found <- c(found, list(one))
    left <- setdiff(left, one)
  }
  found
}

pixel_centres <- function(targets, height) {
  centre <- function(pixels) c(x = mean((pixels - 1) %/% height) + 0.5,
                               y = height - mean((pixels - 1) %% height) - 0.5)
  do.call(rbind, lapply(targets, centre))
}

# ---- the draw ------------------------------------------------------------------------------

draw_scene <- function(protocol, source, target, shared) {
  (if (by_points(protocol)) draw_points else draw_blocks)(protocol, source, target)
}

draw_blocks <- function(protocol, source, target) {
  positive <- unique(source$group[target])
  negative <- setdiff(unique(source$group), positive)
  check_enough(negative, "data", protocol$n_negative + 1)
  train <- c(pick(positive, ceiling(length(positive) / 2)), pick(negative, protocol$n_negative))
  image <- which(source$group %in% train)
  bag <- match(source$group[image], train)
  image <- image[order(bag)]
  list(train = data.frame(image, bag = sort(bag),
                          label = as.integer(source$group[image] %in% positive),
                          truth = target[image]),
       test = which(!source$group %in% train))
}

# Pixels near the test targets are missing when bags are made, so that no bag contains them.
draw_points <- function(protocol, source, target) {
  check_package("terra", "for bags from points")
  n <- nrow(source$points)
  training <- sort(pick(seq_len(n), ceiling(n / 2)))
  off <- matrix(stats::runif(2 * n, -protocol$off, protocol$off), n)
  map <- scene_map(seq_len(prod(source$size)), source)
  away <- unlist(halo_cells(map, source$points[-training, , drop = FALSE], 2 * protocol$halo))
  near <- unlist(halo_cells(map, source$points[training, , drop = FALSE], protocol$halo))
  blank <- map
  blank[setdiff(away, near)] <- NA
  if (!is.null(source$targets)) blank[map_cells(unlist(source$targets[-training]), source)] <- NA
  b <- bags(blank, points = (source$points + off)[training, , drop = FALSE],
            halo = protocol$halo, negative = "tiles", n_negative = protocol$n_negative,
            negative_size = protocol$negative_size)
  image <- as.vector(as.matrix(b))
  d <- as.data.frame(b)
  bag <- match(d$bag, unique(d$bag))
  used <- c(image, scene_pixels(near, source), unlist(source$targets[training]))
  list(train = data.frame(image, bag, label = as.integer(as.character(d$label) == "1"),
                          truth = target[image]),
       test = setdiff(seq_len(prod(source$size)), used), training = training)
}

# Values of all pixels as a raster of one layer, one unit per pixel.
scene_map <- function(value, source) {
  map <- terra::rast(matrix(value, source$size[1]))
  terra::ext(map) <- terra::ext(0, source$size[2], 0, source$size[1])
  map
}

# Numbers of pixels as cells of such a raster, which go along the rows; and back.
map_cells <- function(pixel, source) {
  height <- source$size[1]
  (pixel - 1) %% height * source$size[2] + (pixel - 1) %/% height + 1
}

scene_pixels <- function(cell, source) {
  width <- source$size[2]
  (cell - 1) %% width * source$size[1] + (cell - 1) %/% width + 1
}

# ---- the measures --------------------------------------------------------------------------

# One row: AUC and true positive rates of pixels (NA where the truth of pixels is not known), and
# the probability of detection of targets at each of `scene_alarms` false alarms per pixel.
judge_scene <- function(score, protocol, source, drawn) {
  truth <- source$is_target(1)[drawn$test]
  pixel <- if (anyNA(truth)) NULL else mil_roc(score, truth)
  rates <- if (is.null(pixel)) rep(NA_real_, length(protocol$fpr)) else tpr_at(pixel, protocol$fpr)
  found <- if (requireNamespace("terra", quietly = TRUE))
    pd_at(judge_targets(score, protocol, source, drawn), scene_alarms)
    else rep(NA_real_, length(scene_alarms))
  data.frame(auc = if (is.null(pixel)) NA_real_ else as.numeric(pixel$auc),
             t(stats::setNames(rates, paste0("tpr", seq_along(rates)))),
             t(stats::setNames(found, paste0("pd", seq_along(found)))))
}

scene_alarms <- c(0, 0.001, 0.01)

# With blocks, a target is found by any of its pixels: the best of them stands for all. With
# points, by any pixel within the halo.
judge_targets <- function(score, protocol, source, drawn) {
  value <- replace(rep(NA_real_, prod(source$size)), drawn$test, score)
  if (by_points(protocol)) {
    near <- unlist(source$targets[-drawn$training])
    map <- scene_map(value, source)
    points <- source$points[-drawn$training, , drop = FALSE]
    around <- unlist(halo_cells(map, points, protocol$halo))
    map[setdiff(map_cells(near, source), around)] <- NA
    return(pd_far(map, points, halo = protocol$halo, unit = "pixel"))
  }
  seen <- Filter(length, lapply(source$targets, intersect, drawn$test))
  best <- vapply(seen, function(pixels) pixels[which.max(value[pixels])], 0)
  value[setdiff(unlist(seen), best)] <- NA
  pd_far(scene_map(value, source), pixel_centres(as.list(best), source$size[1]), halo = 0,
         unit = "pixel")
}

# ---- the table -----------------------------------------------------------------------------

# From the measures of each task, in per cent but for the AUC; sd of the AUC over runs.
scene_table <- function(x) {
  t <- x$tasks
  label <- setting_label(t)
  key <- paste(t$method, label)
  mean_of <- function(what, i) mean(t[[what]][i])
  percent <- c(stats::setNames(paste0("tpr", seq_along(x$protocol$fpr)),
                               paste(100 * x$protocol$fpr, "%")),
               stats::setNames(paste0("pd", seq_along(scene_alarms)), paste("PD at", scene_alarms)))
  rows <- lapply(split(seq_len(nrow(t)), factor(key, unique(key))), function(i) data.frame(
    method = t$method[i[1]], setting = label[i[1]], t(100 * vapply(percent, mean_of, 0, i = i)),
    AUC = mean(t$auc[i]), sd = stats::sd(t$auc[i]), runs = length(i), check.names = FALSE))
  rows <- do.call(rbind, rows)
  rows <- rows[order(if (anyNA(rows$AUC)) -rows[["PD at 0.01"]] else -rows$AUC), ]
  rows <- rows[vapply(rows, function(column) !all(is.na(column)) || is.character(column), NA)]
  rownames(rows) <- NULL
  rows
}
