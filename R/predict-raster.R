# Predictions for every pixel of a raster, as a map.

#' A map of predictions
#'
#' Scores each pixel of a raster and returns a raster on the same grid. The raster is read, scored
#' and written a few rows at a time, so neither it nor the map needs to fit into memory.
#' `predict(object, new_data)` with a raster calls this function. It needs the package terra.
#'
#' Each pixel is scored from its own bands alone, so the map has the same values as
#' [predict.mil_model()] for these pixels. Pixels with a missing or infinite band are missing in
#' the map. Layers are matched to the features of the fit by name, if these have names.
#'
#' @inheritParams predict.mil_model
#' @param object a fitted model.
#' @param new_data a `SpatRaster` of terra, one layer per feature.
#' @param filename string, the file for the map, such as `"map.tif"`. `""` (default): terra keeps it
#'   in memory, or in a temporary file if it is large.
#' @param ... passed on to [predict.mil_model()].
#' @param overwrite `TRUE` or `FALSE` (default): whether to replace an existing file.
#' @param datatype string, how `filename` stores numbers, as in `terra::writeRaster()`: `"FLT8S"`
#'   (default) as they are; `"FLT4S"` takes half the space. Classes are always `"INT1U"`.
#' @param rows whole number >= 1: number of rows of the raster to score at a time. `NULL`
#'   (default): as many as fit into 16 MB.
#' @param progress `TRUE` or `FALSE`: whether to show a progress bar; by default in interactive
#'   sessions.
#' @return A `SpatRaster` with the extent, resolution and coordinate system of `new_data`: one
#'   layer `score`, `prob` (of the positive class), `weight` or `class` (0 and 1, with the classes
#'   as categories), or one layer per atom or feature for `"codes"` and `"reconstruction"`.
#' @seealso [bags.SpatRaster()], [pd_far()]
#' @examplesIf requireNamespace("terra", quietly = TRUE)
#' set.seed(1)
#' b <- sim_bags(n_bags = 20, n_features = 5)
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' cube <- terra::rast(nrows = 10, ncols = 16, nlyrs = 5)
#' terra::values(cube) <- as.matrix(b)
#' map <- predict_raster(fit, cube)
#' map
#' all.equal(terra::values(map)[, "score"], predict(fit, b)$.score)
#' @export
predict_raster <- function(object, new_data, filename = "",
                           type = c("score", "class", "prob", "weight", "codes", "reconstruction"),
                           ..., threshold = NULL,
                           overwrite = FALSE, datatype = "FLT8S", rows = NULL,
                           progress = getOption("fumi.progress", interactive())) {
  type <- check_choice(type, prediction_types, "type")
  check_map(new_data, "new_data")
  overwrite <- check_flag(overwrite, "overwrite")
  check_new_file(filename, new_data, overwrite)
  rows <- if (is.null(rows)) block_rows(new_data) else check_count(rows, "rows")
  progress <- check_flag(progress, "progress")
  score <- function(x) map_values(predict(object, x, type = type, ..., threshold = threshold), type)
  # Predictions for zero pixels reveal mistakes in the arguments before a file is opened, and name
  # the layers.
  none <- matrix(0, 0, terra::nlyr(new_data), dimnames = list(NULL, names(new_data)))
  map <- terra::rast(new_data, nlyrs = ncol(score(none)), names = colnames(score(none)))
  if (type == "class") levels(map) <- data.frame(value = 0:1, class = object$classes)
  write_map(map, new_data, score, filename, overwrite, if (type == "class") "INT1U" else datatype,
            rows, progress)
}

check_new_file <- function(filename, x, overwrite, call = rlang::caller_env()) {
  if (!rlang::is_string(filename))
    stop_fumi("`filename` must be the name of a file, not ", describe(filename), ".",
              class = "file", call = call)
  if (!nzchar(filename) || !file.exists(filename)) return(invisible())
  if (!overwrite)
    stop_fumi("`filename` must be new unless `overwrite = TRUE`, but ", basename(filename),
              " exists.", class = "file", call = call)
  if (normalizePath(filename) %in% normalizePath(terra::sources(x), mustWork = FALSE))
    stop_fumi("`filename` must not be a file of `new_data`, but it is.", class = "file",
              call = call)
}

# Predictions as a matrix with one row per pixel and one named column per layer.
map_values <- function(said, type) {
  if (!is.data.frame(said)) return(said)
  matrix(as.numeric(said[[ncol(said)]]) - (type == "class"), dimnames = list(NULL, type))
}

# Writes the map block by block; a file that was not finished is removed.
write_map <- function(map, x, score, filename, overwrite, datatype, rows, progress) {
  bar <- task_progress(progress, "map", ceiling(terra::nrow(x) / rows))
  terra::writeStart(map, filename, overwrite = overwrite, datatype = datatype)
  finished <- FALSE
  on.exit({
    bar$done()
    if (!finished) {
      terra::writeStop(map)
      unlink(filename)
    }
  })
  for_blocks(x, rows, function(values, row, n) {
    complete <- complete_rows(values)
    out <- matrix(NA_real_, nrow(values), terra::nlyr(map))
    out[complete, ] <- score(values[complete, , drop = FALSE])
    terra::writeValues(map, out, row, n)
    bar$tick("")
  })
  finished <- TRUE
  terra::writeStop(map)
}
