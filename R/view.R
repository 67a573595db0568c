# A fit and its bags as one HTML page: the template of the package with the data in it, as JSON.

#' Explore bags in a browser
#'
#' Writes a single HTML file that needs no server and no network. It shows a list of bags; the
#' instances of a bag as pictures, or as curves if they are not images; the reconstruction of an
#' instance with and without the target atoms, as in [mil_explain()]; the atoms, signatures or
#' weights of the fit; the scores of bags by label; and the ROC curve of bags, and of instances if
#' their truth is known. The page follows the light or dark mode of the browser, fits a phone, and
#' can be used with the keyboard: arrow keys move through bags and instances.
#'
#' **Threshold.** Set it with the slider, in its field, or by a click on the ROC curve or the plot
#' of the scores: hits, misses and false alarms are counted again, and a click on one of these
#' counts lists only such bags. Bags and instances are positive if their score is above the
#' threshold, as in [predict.mil_model()]. If the score of a bag is the highest score of its
#' instances, one threshold serves both; if the method scores bags in its own way, like [miles()],
#' bags and instances have separate thresholds, and the slider moves that of the chosen level.
#'
#' **Instances** are sorted by score, the highest first, and show `p`, the probability of a target
#' from `predict(type = "prob")`, if the fit has been calibrated for it.
#'
#' **Values** are stored for display only: a picture in 256 steps from its lowest value (black) to
#' its highest (white). An instance and its reconstructions share one grey range, so that they can
#' be compared; curves of a bag share their axis, which shows the names of the features.
#'
#' **Address.** Your choices are written to the address of the page, so that a link or bookmark
#' restores them: `page.html#bag=a&threshold=0.5&filter=miss`. `bag` is an id, `threshold` a
#' number, `cut` the threshold of instances if they have their own, `find` part of an id, and
#' `filter` one or more of `hit`, `miss`, `alarm` and `rejection`, separated by commas.
#'
#' @param fit a fitted model of any method.
#' @param bags [bags()]: those of the fit, or new ones with the same features.
#' @param file string, default a temporary file: the name of the file to write; an existing file is
#'   replaced, as by [mil_save()].
#' @param ... must be empty: an unknown argument is an error.
#' @param title string, the title of the page. `NULL` (default): one that names the method.
#' @param max_instances whole number >= 1: number of instances to show per bag, those with the
#'   highest scores; all are counted, and the page says how many it leaves out. `NULL` (default):
#'   50, or fewer to keep the page below about 35 MB.
#' @param open `TRUE` or `FALSE`: whether to open the page in the browser; by default in
#'   interactive sessions.
#' @return The name of the file, invisibly. The package jsonlite must be installed.
#' @examplesIf requireNamespace("jsonlite", quietly = TRUE)
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, image_dim = c(6, 6))
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' page <- mil_view(fit, b, title = "Twelve bags", open = FALSE)
#' file.size(page)
#' @export
mil_view <- function(fit, bags, file = tempfile("mil_view-", fileext = ".html"), ..., title = NULL,
                     max_instances = NULL, open = interactive()) {
  check_dots_empty(..., known = names(formals()))
  validate_model(fit, "fit")
  if (!inherits(fit, "mil_model"))
    stop_fumi("`fit` must be one model, not ", describe(fit), ": view one of its `fits`.",
              class = "model")
  if (missing(bags))
    stop_fumi("`bags` must be given: a fit keeps no training data.", class = "no_data")
  if (!inherits(bags, "bags"))
    stop_fumi("`bags` must be bags, not ", describe(bags), ".", class = "type")
  if (length(bags) == 0) stop_fumi("`bags` must have at least one bag to view.", class = "empty")
  check_same_positive(fit, bags, "bags")
  check_file_name(file)
  if (is.null(title)) title <- paste("Bags scored by", model_title(fit))
  if (!is.character(title) || length(title) != 1 || is.na(title))
    stop_fumi("`title` must be one string, not ", describe(title), ".", class = "type")
  if (!is.null(max_instances)) max_instances <- check_count(max_instances, "max_instances")
  open <- check_flag(open, "open")
  check_package("jsonlite", "to write the page")
  data <- page_json(view_data(fit, bags, title, max_instances))
  template <- readLines(system.file("view", "page.html", package = "fumi"), encoding = "UTF-8")
  place <- which(template == "{{data}}")
  part <- function(lines) charToRaw(paste0(lines, "\n", collapse = ""))
  write_whole(file, part(template[seq_len(place - 1)]), part(data), part(template[-seq_len(place)]))
  if (open) utils::browseURL(normalizePath(file))
  invisible(file)
}

# ---- what the page holds --------------------------------------------------------------------

view_data <- function(fit, b, title, max_instances, call = rlang::caller_env()) {
  new <- forge(fit, b, NULL, call, "bags")
  score <- predict(fit, b)$.score
  prob <- instance_probability(fit, score)
  own <- has_bag_function(fit) && is.null(calibration_of(fit)$pool)
  said <- list(score = score, prob = if (!anyNA(prob)) prob,
               own = if (own) predict(fit, b, level = "bag")$.score)
  # Per bag: the numbers of its instances, in the order given, and of those shown, highest first.
  bag <- in_user_order(b, b$bag)
  mine <- unname(split(seq_along(bag), bag))
  parts <- view_parts(fit)
  if (is.null(max_instances))
    max_instances <- affordable_instances(lengths(mine), length(parts) * (fit$n_features + 16))
  rank <- order(-score)
  shown <- lapply(unname(split(rank, bag[rank])), utils::head, max_instances)
  column <- order(new$order)
  x <- dense_columns(new$x, "`mil_view()`", call)
  threshold <- c(usual_threshold(fit), NA)[1]
  cut <- c(calibration_of(fit)$instance$threshold, NA)[1]
  list(title = title, classes = b$classes, parts = parts, features = fit$n_features,
       names = fit$features, dim = view_dim(fit, b), thresholds = exact(c(threshold, cut)),
       own = if (own) exact(said$own), atoms = view_atoms(fit),
       bags = cbind(view_bags(b, said, mine, shown),
                    view_values(fit, x, lapply(shown, function(i) column[i]))))
}

# One row per bag; a truth that is not known is 2.
view_bags <- function(b, said, mine, shown) {
  per_bag <- function(values, groups, code) vapply(groups, function(i) code(values[i]), "")
  rows <- data.frame(id = b$ids, label = as.integer(b$label))
  rows$score <- per_bag(said$score, mine, exact)
  rows$shown <- Map(match, shown, mine)
  if (!is.null(said$prob)) rows$prob <- per_bag(said$prob, shown, exact)
  if (!is.null(b$truth)) {
    truth <- as.raw(in_user_order(b, ifelse(is.na(b$truth), 2, b$truth)))
    rows$truth <- per_bag(truth, mine, base64)
  }
  rows
}

# As many instances per bag as make 25 MB of pixels.
affordable_instances <- function(size, bytes) {
  total <- vapply(1:50, function(n) sum(pmin(size, n)) * bytes, 0)
  max(1, which(total <= 25e6))
}

view_dim <- function(fit, b) {
  if (!is.null(fit$image_dim)) fit$image_dim
  else if (nrow(b$x) == fit$n_features) b$image_dim
}

view_atoms <- function(fit) {
  atoms <- tryCatch(atom_matrix(fit), fumi_error_no_meaning = function(e) NULL)
  if (is.null(atoms) || nrow(atoms) == 0) return(list())
  role <- atom_roles(fit, atoms)
  targets_first <- order(role != "target")
  coded <- in_steps(t(atoms[targets_first, , drop = FALSE]))
  one <- seq_len(nrow(atoms))
  data.frame(name = part_names(rownames(atoms))[targets_first], role = role[targets_first],
             limits = vapply(one, function(k) exact(coded$limits[, k]), ""),
             values = vapply(one, function(k) base64(coded$steps[, k]), ""))
}

# The pictures or curves shown for an instance, see `rebuilt()`.
view_parts <- function(fit) {
  c("Instance", if (rebuilds(fit)) "Reconstruction",
    if (inherits(fit, c("dlfumi", "e_fumi"))) "Without target atoms")
}

# The values of the instances that each bag shows, columns `shown[[k]]` of x, and of what is
# rebuilt of them; one row per bag. A few thousand instances at a time, so that many bags take
# little memory.
view_values <- function(fit, x, shown) {
  some_bags <- function(some) {
    columns <- x[, unlist(some), drop = FALSE]
    parts <- c(list(columns), rebuilt(fit, columns))
    coded <- in_steps(do.call(cbind, parts))
    before <- ncol(columns) * (seq_along(parts) - 1)
    mine <- lapply(split(seq_len(ncol(columns)), rep(seq_along(some), lengths(some))),
                   function(i) as.vector(outer(i, before, "+")))
    data.frame(limits = vapply(mine, function(i) exact(coded$limits[, i]), ""),
               values = vapply(mine, function(i) base64(coded$steps[, i]), ""))
  }
  blocks <- split(shown, cumsum(lengths(shown)) %/% 2000)
  do.call(rbind, unname(lapply(blocks, some_bags)))
}

# The reconstructions of the columns of x by the atoms, on their scale; with target and background
# atoms, also the reconstructions without the target atoms.
rebuilt <- function(fit, x) {
  if (!rebuilds(fit)) return(list())
  scale <- instance_scale(x, fit$normalize)
  scale <- rep(ifelse(scale > 0, scale, 1), each = nrow(x))
  parts <- if (inherits(fit, c("dlfumi",
                               "e_fumi"))) explain_parts(fit, x * scale)[c("with", "without")] else
    list(fit$dictionary %*% code_instances(fit, x))
  lapply(parts, function(part) part / scale)
}

# Each column in steps from 0, its lowest value, to 255, its highest.
in_steps <- function(x) {
  limits <- apply(x, 2, range)
  span <- limits[2, ] - limits[1, ]
  steps <- 255 * (x - rep(limits[1, ], each = nrow(x))) / rep(pmax(span, 1e-300), each = nrow(x))
  steps[!is.finite(steps)] <- 0
  list(limits = limits, steps = matrix(as.raw(round(steps)), nrow(x)))
}

# ---- JSON -----------------------------------------------------------------------------------

# Without "<", so that no text can end the script that holds it.
page_json <- function(data) {
  json <- jsonlite::toJSON(data, digits = NA, null = "null", na = "null")
  gsub("<", "\\u003c", json, fixed = TRUE)
}

base64 <- function(bytes) gsub("\n", "", jsonlite::base64_enc(as.vector(bytes)), fixed = TRUE)

# Doubles to the last bit, NA and infinite ones too.
exact <- function(x) base64(to_bytes(as.double(x)))
