# Bags from signals: a recording is a bag, its windows are the instances.

#' Bags from windows of signals
#'
#' Cuts signals (sound, acceleration, EEG, prices) into windows of equal length: each recording
#' becomes a bag and each of its windows an instance. Use it when a label is known for a whole
#' recording, such as "an alarm went off somewhere in it", but not the time.
#'
#' Window k of a recording holds its points `1 + (k - 1) * step` to `(k - 1) * step + window`.
#' Points at the end that do not fill a window are left out. A target should fit into a window;
#' with a `step` of half a window, some window contains all of a target that is no longer than half
#' a window.
#'
#' @param x the signals: a list with one recording per element; or a vector, matrix or data frame
#'   of all recordings, one row per point in time and one column per channel, with `recording`
#'   saying which rows belong together. Recordings may be vectors, matrices, data frames or `ts`,
#'   and may differ in length.
#' @param window whole number >= 1: length of a window, in points.
#' @param step whole number >= 1, default `window`: points from the start of a window to that of
#'   the next one. By default windows do not overlap; try `window / 2` if a target may start
#'   anywhere.
#' @param label `NULL` (default: none, for new data), or the labels, one per recording (in the order
#'   in which recordings first appear, or named by them) or, with `recording`, one per point or the
#'   name of a column of a data frame. See [bags()].
#' @param recording `NULL` (default: all points are one recording), or the recording of each point:
#'   a vector, or for a data frame the name of a column. For a list, its names are the ids.
#' @param features `NULL` (default: the values themselves, channel by channel), or a function that
#'   computes the features of a window: its argument is a matrix with one row per point and one
#'   column per channel, and it returns the same number of features for every window.
#' @param positive,na.action as in [bags()].
#' @param truth `NULL` (default: the column `truth` of `x`, if there is one), or one logical per
#'   point in time, in the shape of a channel of `x`: whether the point is part of a target. A
#'   window with such a point is a target. It is used for evaluation only.
#' @param ... must be empty: an unknown argument is an error.
#' @return With `label`: [bags()], with windows in the order of time. Without: a list with one
#'   matrix per recording, one row per window, as `predict()` takes it for new data.
#' @seealso `vignette("own-data")`, which uses it on stock markets.
#' @examples
#' # Eight recordings of noise; four of them hold a short wave somewhere.
#' set.seed(1)
#' signals <- replicate(8, rnorm(200, sd = 0.3), simplify = FALSE)
#' wave <- sin(2 * pi * (1:20) / 10)
#' for (i in 1:4) {
#'   at <- sample(180, 1)
#'   signals[[i]][at + 0:19] <- signals[[i]][at + 0:19] + wave
#' }
#' b <- windows_to_bags(signals, window = 20, step = 5, label = rep(c(1, 0), each = 4))
#' b
#'
#' # Features that do not depend on where the wave begins in its window: the spectrum
#' spectrum <- function(w) Mod(fft(w[, 1]))[2:11]
#' b <- windows_to_bags(signals, 20, 10, rep(c(1, 0), each = 4), features = spectrum)
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' plot(fit)
#'
#' # A new recording: which window contains the wave?
#' new <- windows_to_bags(rnorm(100), window = 20, step = 10, features = spectrum)
#' head(predict(fit, new), 3)
#' @export
windows_to_bags <- function(x, window, step = window, label = NULL, recording = NULL, ...,
                            positive = NULL, truth = NULL, features = NULL,
                            na.action = stats::na.fail) {
  check_dots_empty(..., known = names(formals()))
  window <- check_count(window, "window")
  step <- check_count(step, "step")
  if (!is.null(features) && !is.function(features))
    stop_fumi("`features` must be a function of a window or NULL, not ", describe(features), ".")
  if (is.data.frame(x)) {
    x <- plain_frame(x)
    given <- list(recording = recording, label = label, truth = truth)
    column <- Map(function(value, name) column_name(x, value, name), given, names(given))
    recording <- column_or_value(x, column$recording, recording)
    label <- column_or_value(x, column$label, label)
    truth <- column_or_value(x, column$truth, truth)
    x <- x[setdiff(names(x), unlist(column))]
  }
  whole <- is.data.frame(x) || !is.list(x)
  known <- if (whole) truth_column(x) else lapply(x, truth_column)
  if (is.null(truth) && length(unlist(known))) truth <- known
  x <- if (whole) without_truth(x) else lapply(x, without_truth)
  signals <- as_recordings(x, recording)
  check_same_channels(signals$of)
  starts <- lapply(signals$of, function(signal) window_starts(nrow(signal), window, step))
  check_long_enough(starts, window)
  parts <- Map(cut_windows, signals$of, starts,
               MoreArgs = list(window = window, features = features))
  if (is.null(label)) return(parts)
  truth <- if (!is.null(truth)) Map(windows_with, by_recording(truth, signals, "truth"), starts,
                                    MoreArgs = list(window = window))
  bags(parts, label = label_of_recordings(label, signals), positive = positive, truth = truth,
       na.action = na.action)
}

column_or_value <- function(x, column, value) if (is.null(column)) value else x[[column]]

# list(of, row): the recordings as matrices of points x channels, named by their ids, and of each
# the rows of `x` that it holds, NULL for a list.
as_recordings <- function(x, recording, call = rlang::caller_env()) {
  if (is.list(x) && !is.data.frame(x)) {
    if (!is.null(recording))
      stop_fumi("`recording` must not be given for a list, whose elements are the recordings.",
                call = call)
    if (!length(x)) stop_fumi("`x` must have a recording, but it is an empty list.", call = call)
    names <- sprintf("x[[%d]]", seq_along(x))
    return(list(of = stats::setNames(Map(function(one, name) as_signal(one, name, call), x, names),
                                     if (is.null(names(x))) seq_along(x) else names(x))))
  }
  x <- as_signal(x, "x", call)
  if (is.null(recording)) recording <- rep(1, nrow(x))
  if (length(recording) != nrow(x) || anyNA(recording))
    stop_fumi("`recording` must give the recording of each of the ", nrow(x), " points, not ",
              describe(recording), if (anyNA(recording)) " with missing values", ".", call = call)
  id <- value_names(recording)
  row <- split(seq_len(nrow(x)), factor(id, unique(id)))
  list(of = lapply(row, function(i) x[i, , drop = FALSE]), row = row)
}

as_signal <- function(x, name, call) {
  if (is.data.frame(x)) x <- numeric_columns(x, name, call)
  if (!is.numeric(x) || !length(dim(x)) %in% c(0, 2))
    stop_fumi("`", name, "` must be numbers, one row per point in time, not ", describe(x), ".",
              class = "type", call = call)
  names <- colnames(x)
  x <- matrix(as.double(x), NROW(x), NCOL(x))
  colnames(x) <- names
  x
}

# ---- windows --------------------------------------------------------------------------------

window_starts <- function(n, window, step) {
  if (n < window) integer() else seq.int(1L, n - window + 1L, by = step)
}

check_long_enough <- function(starts, window, call = rlang::caller_env()) {
  short <- names(starts)[!lengths(starts)]
  if (length(short))
    stop_fumi("`window` must not be longer than a recording, but ", window, " points are more ",
              "than ", if (length(short) > 1) "recordings " else "recording ", enumerate(short),
              if (length(short) > 1) " have." else " has.", call = call)
}

check_same_channels <- function(signals, call = rlang::caller_env()) {
  n <- vapply(signals, ncol, 1L)
  odd <- which(n != n[1])[1]
  if (!is.na(odd))
    stop_fumi("`x` must have the same channels in each recording, but ", names(n)[1], " has ", n[1],
              " and ", names(n)[odd], " has ", n[odd], ".", call = call)
}

# Windows x features; the names of features are those of channel and point.
cut_windows <- function(signal, starts, window, features) {
  if (!is.null(features)) return(made_features(signal, starts, window, features))
  at <- outer(starts, seq_len(window) - 1L, `+`)
  x <- matrix(signal[c(at), ], length(starts))
  channel <- if (is.null(colnames(signal))) seq_len(ncol(signal)) else colnames(signal)
  colnames(x) <- if (ncol(signal) == 1) paste0("t", seq_len(window))
                 else paste0(rep(channel, each = window), "_t", seq_len(window))
  x
}

made_features <- function(signal, starts, window, features, call = rlang::caller_env()) {
  made <- lapply(starts, function(s) features(signal[seq(s, length.out = window), , drop = FALSE]))
  odd <- which(!vapply(made, is.numeric, NA) | lengths(made) != length(made[[1]]) |
                 lengths(made) == 0)
  if (length(odd))
    stop_fumi("`features` must return the same number of values for each window, but window ",
              odd[1], " gave ", describe(made[[odd[1]]]), ".", call = call)
  do.call(rbind, made)
}

windows_with <- function(truth, starts, window) {
  vapply(starts, function(s) any(truth[seq(s, length.out = window)]), NA)
}

# ---- what is known of recordings ------------------------------------------------------------

# Values of points, given in the shape of `x`, as a list of recordings.
by_recording <- function(values, signals, name, call = rlang::caller_env()) {
  if (!is.list(values)) {
    row <- if (is.null(signals$row)) list() else signals$row
    values <- if (length(values) == sum(lengths(row))) lapply(row, function(i) values[i])
  }
  if (!identical(unname(lengths(values)), unname(vapply(signals$of, nrow, 1L))))
    stop_fumi("`", name, "` must have one value per point of `x`.", call = call)
  if (!all(unlist(values) %in% c(TRUE, FALSE)))
    stop_fumi("`", name, "` must be TRUE or FALSE for each point.", call = call)
  lapply(values, as.logical)
}

# One label per recording; labels of points must agree within a recording.
label_of_recordings <- function(label, signals, call = rlang::caller_env()) {
  n <- length(signals$of)
  if (length(label) == n) return(label)
  if (is.null(signals$row) || length(label) != sum(lengths(signals$row)))
    stop_fumi("`label` must give one label per recording (", n, "), not ", describe(label), ".",
              call = call)
  of_points <- lapply(signals$row, function(i) unique(label[i]))
  odd <- names(of_points)[lengths(of_points) != 1]
  if (length(odd))
    stop_fumi("`label` must be the same for all points of a recording, but it changes in ",
              enumerate(odd), ".", class = "label", call = call)
  label[vapply(signals$row, `[`, 1L, 1L)]
}
