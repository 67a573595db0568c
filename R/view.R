# A fit and bags as one page to look through: the template of the package with the data in it, as
# JSON.

#' Look through bags in a browser
#'
#' Writes one HTML file that needs no server and no network: a list of bags with a filter; the
#' instances of a bag as pictures, or as curves if they are no images, the highest scores first;
#' what the atoms rebuild of an instance, with the target atoms and without them, as
#' [mil_explain()] has it; the atoms, signatures or weights of the fit; and the ROC curve of bags,
#' and of instances if their truth is known, with a threshold to move. Hits and false alarms are
#' counted anew as it moves.
#'
#' Bags and instances are called positive by their score, as [predict.mil_model()] does. Where the
#' score of a bag is the highest score of its instances, one threshold is for both; where a method
#' has a function of bags, as [miles()], bags and instances have a threshold each, and the slider
#' moves that of the level chosen. Instances are sorted by score.
#'
#' Values are kept for display only, in 256 steps from the lowest to the highest of a bag; an atom
#' has a range of its own, symmetric about 0. The address may end in `#threshold=0.5`, `#bag=a` or
#' `#threshold=0.5&bag=a` to open the page there.
#'
#' @param fit a fitted model of any method.
#' @param bags [bags()]: those of the fit, or new ones with the same features.
#' @param file the name of the file to write; one that is there is replaced, as by [mil_save()].
#' @param ... nothing: an unknown argument is an error.
#' @param max_instances how many instances of a bag to show, those that come first; all are
#'   counted, and the page says how many it leaves out. By default 50, or fewer, so that the page
#'   stays near 35 MB.
#' @param open open the page in the browser?
#' @return The name of the file, invisibly.
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 12, bag_size = 4, image_dim = c(6, 6))
#' fit <- dlfumi(b, n_target = 1, n_background = 3)
#' page <- mil_view(fit, b, open = FALSE)
#' file.size(page)
#' @export
mil_view <- function(fit, bags, file = tempfile("mil_view-", fileext = ".html"), ...,
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
  check_file_name(file)
  if (!is.null(max_instances)) max_instances <- check_count(max_instances, "max_instances")
  open <- check_flag(open, "open")
  json <- view_data(fit, bags, max_instances)
  template <- readLines(system.file("view", "page.html", package = "fumi"), encoding = "UTF-8")
  place <- which(template == "{{data}}")
  part <- function(lines) charToRaw(paste0(lines, "\n", collapse = ""))
  write_whole(file, part(template[seq_len(place - 1)]), part(json), part(template[-seq_len(place)]))
  if (open) utils::browseURL(normalizePath(file))
  invisible(file)
}

# ---- what the page holds --------------------------------------------------------------------

view_data <- function(fit, b, max_instances, call = rlang::caller_env()) {
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
    max_instances <- affordable_instances(lengths(mine), length(parts) * fit$n_features)
  rank <- order(-said$score)
  shown <- lapply(unname(split(rank, bag[rank])), utils::head, max_instances)
  column <- order(new$order)
  json_object(
    method = json_text(fit$method), classes = json_array(json_text(b$classes)),
    key = json_text("score"),
    parts = json_array(json_text(parts)), features = json_number(fit$n_features),
    dim = view_dim(fit, b), threshold = json_number(usual_threshold(fit)),
    cut = json_number(c(calibration_of(fit)$instance$threshold, NA)[1]), atoms = view_atoms(fit),
    bags = json_array(json_object(view_bags(b, said, mine, shown),
                                  view_values(fit, dense_columns(new$x, "`mil_view()`", call),
                                              lapply(shown, function(i) column[i])))))
}

# Fields with one value per bag; a truth that is not known is 2.
view_bags <- function(b, said, mine, shown) {
  doubles <- function(values, groups) base64_each(groups, function(i) to_bytes(values[i]))
  truth <- if (!is.null(b$truth)) in_user_order(b, ifelse(is.na(b$truth), 2, b$truth))
  number <- Map(function(some, all) json_array(json_number(match(some, all))), shown, mine)
  list(id = json_text(b$ids), label = json_number(b$label), score = doubles(said$score, mine),
       shown = unlist(number), own = if (is.null(said$own)) "null" else json_number(said$own),
       truth = if (is.null(truth)) "null" else base64_each(mine, function(i) as.raw(truth[i])),
       prob = if (is.null(said$prob)) "null" else doubles(said$prob, shown))
}

# As many instances per bag as make 25 MB of pixels.
affordable_instances <- function(size, bytes) {
  total <- vapply(1:50, function(n) sum(pmin(size, n)) * bytes, 0)
  max(1, which(total <= 25e6))
}

view_dim <- function(fit, b) {
  dim <- fit$image_dim
  if (is.null(dim) && nrow(b$x) == fit$n_features) dim <- b$image_dim
  if (is.null(dim)) "null" else json_array(json_number(dim))
}

view_atoms <- function(fit) {
  atoms <- tryCatch(atom_matrix(fit), fumi_error_no_meaning = function(e) NULL)
  if (is.null(atoms) || nrow(atoms) == 0) return("[]")
  largest <- apply(abs(atoms), 1, max)
  json_array(json_object(
    name = json_text(rownames(atoms)), role = json_text(atom_roles(fit, atoms)),
    largest = json_number(largest),
    values = base64_each(seq_len(nrow(atoms)),
                         function(k) to_steps(atoms[k, ], c(-1, 1) * largest[k]))))
}

# What is shown of an instance, see `rebuilt()`.
view_parts <- function(fit) {
  c("Instance", if (rebuilds(fit)) "Reconstruction",
    if (inherits(fit, c("dlfumi", "e_fumi"))) "Without target atoms")
}

# The values of the instances that each bag shows, columns `shown[[k]]` of x, and of what is
# rebuilt of them; one row per bag. Some thousand instances at a time, so that a long list of bags
# takes little memory.
view_values <- function(fit, x, shown) {
  some_bags <- function(some) {
    columns <- x[, unlist(some), drop = FALSE]
    parts <- c(list(columns), rebuilt(fit, columns))
    mine <- split(seq_len(ncol(columns)), rep(seq_along(some), lengths(some)))
    values <- lapply(mine, function(i) unlist(lapply(parts, function(part) part[, i]),
                                              use.names = FALSE))
    limits <- vapply(values, range, c(0, 0))
    data.frame(low = json_number(limits[1, ]), high = json_number(limits[2, ]),
               values = base64_each(values, function(v) to_steps(v, range(v))))
  }
  blocks <- split(shown, cumsum(lengths(shown)) %/% 2000)
  do.call(rbind, unname(lapply(blocks, some_bags)))
}

# What the atoms rebuild of the columns of x, on their scale; where there are target and background
# atoms, also what is left of that without the former.
rebuilt <- function(fit, x) {
  if (!rebuilds(fit)) return(list())
  scale <- instance_scale(x, fit$normalize)
  scale <- rep(ifelse(scale > 0, scale, 1), each = nrow(x))
  parts <- if (inherits(fit, c("dlfumi",
                               "e_fumi"))) explain_parts(fit, x * scale)[c("with", "without")] else
    list(fit$dictionary %*% code_instances(fit, x))
  lapply(parts, function(part) part / scale)
}

# 0 to 255 from the lower to the upper limit; all in the middle where there is no range.
to_steps <- function(values, limits) {
  share <- (values - limits[1]) / (limits[2] - limits[1])
  share[!is.finite(share)] <- .5
  as.raw(round(255 * share))
}

# ---- JSON -----------------------------------------------------------------------------------

# Each returns JSON, `json_text()`, `json_number()` and `json_object()` one string per value; fields
# of an object are JSON, or lists of such fields. Text has no "<", so that it cannot end the script
# that holds it.

json_text <- function(x) {
  x <- enc2utf8(as.character(x))
  x <- ifelse(validUTF8(x), x, iconv(x, "UTF-8", "UTF-8", sub = "byte"))
  x <- gsub("([\"\\\\])", "\\\\\\1", x)
  for (code in c(1:31, 60, 127))
    x <- gsub(intToUtf8(code), sprintf("\\u%04x", code), x, fixed = TRUE)
  paste0("\"", x, "\"")
}

json_number <- function(x) ifelse(is.finite(x), number_text("%.17g", as.double(x)), "null")

json_array <- function(x) paste0("[", paste(x, collapse = ","), "]")

json_object <- function(...) {
  fields <- unlist(lapply(list(...), function(f) if (is.list(f)) f else list(f)), recursive = FALSE)
  named <- Map(function(name, value) paste0("\"", name, "\":", value), names(fields), fields)
  paste0("{", do.call(paste, c(unname(named), sep = ",")), "}")
}

base64_each <- function(groups, bytes) vapply(groups, function(g) paste0("\"", base64(bytes(g)), "\""), "")

base64_digits <- charToRaw(paste(c(LETTERS, letters, 0:9, "+", "/"), collapse = ""))

# RFC 4648
base64 <- function(bytes) {
  padding <- -length(bytes) %% 3
  three <- matrix(as.integer(c(bytes, raw(padding))), 3)
  four <- rbind(three[1, ] %/% 4L, three[1, ] %% 4L * 16L + three[2, ] %/% 16L,
                three[2, ] %% 16L * 4L + three[3, ] %/% 64L, three[3, ] %% 64L)
  digits <- base64_digits[four + 1L]
  digits[length(digits) + 1 - seq_len(padding)] <- charToRaw("=")
  rawToChar(digits)
}
