# The plot of a search: its axes show the parameters that were tried.

#' @rdname mil_tune
#' @export
plot.mil_tune <- function(x, ...) {
  tried <- tried_parameters(x)
  old <- graphics::par(c("mar", "mgp", "tcl"))
  on.exit(graphics::par(old))
  graphics::par(mgp = c(2.1, 0.5, 0), tcl = -0.25)
  if (is.null(tried$x)) plot_tried_rows(x, tried, ...) else plot_tried_lines(x, tried, ...)
  invisible(x)
}

# If one parameter varies, it is on the horizontal axis; if two vary on a full grid, the second has
# one line per value; otherwise there is one row per configuration. Values are sorted and equally
# spaced.
tried_parameters <- function(x) {
  r <- x$results
  parameter <- r[setdiff(names(r), c("mean", "se", "failed"))]
  parameter <- parameter[vapply(parameter, function(v) length(unique(value_text(v))) > 1, NA)]
  text <- as.data.frame(lapply(parameter, value_text), check.names = FALSE)
  if (!ncol(text)) parameter <- text <- data.frame(configuration = seq_len(nrow(r)))
  count <- vapply(text, function(v) length(unique(v)), 1L)
  out <- list(text = text, wanted = measure_words(x$measure))
  full <- !anyDuplicated(text) && prod(count) == nrow(r)
  if (length(count) == 1 || length(count) == 2 && full && min(count) <= length(okabe_ito)) {
    count <- sort(count, decreasing = TRUE)
    levels <- function(name) unique(text[[name]][order(sortable(parameter[[name]]))])
    out$x <- factor(text[[names(count)[1]]], levels(names(count)[1]))
    out$name <- names(count)
    out$line <- if (length(count) == 1) factor(rep("", nrow(r)))
                else factor(text[[names(count)[2]]], levels(names(count)[2]))
  }
  out
}

measure_words <- function(measure) {
  metric <- switch(measure$metric, auc = "AUC", measure$metric,
                   tpr = paste("true positive rate at FPR", measure$fpr))
  paste(metric, "of held-out",
        switch(measure$level, bag = "bags", instance = "instances", "witnesses"))
}

value_text <- function(v) {
  text <- vapply(v, value_words, "", USE.NAMES = FALSE)
  ifelse(is.na(text), "default", text)
}

sortable <- function(v) if (is.numeric(v)) v else seq_along(v)

plot_tried_lines <- function(x, tried, ...) {
  r <- x$results
  at <- as.integer(tried$x)
  several <- nlevels(tried$line) > 1
  graphics::par(mar = c(3.2, 4, if (several) 2.2 else 0.8, 0.5))
  col <- if (several) okabe_ito[as.integer(tried$line)] else rep(background_colour, nrow(r))
  frame <- list(range(at) + c(-0.2, 0.2), tried_range(r), type = "n", xlab = tried$name[1],
                ylab = "", xaxt = "n", las = 1, bty = "l")
  do.call(graphics::plot, utils::modifyList(frame, list(...)))
  graphics::mtext(tried$wanted, 2, 2.7)
  graphics::axis(1, seq_along(levels(tried$x)), levels(tried$x), lwd = 0, lwd.ticks = 1)
  beside <- if (several) (as.integer(tried$line) - (nlevels(tried$line) + 1) / 2) * 0.04 else 0
  at <- at + beside
  for (level in levels(tried$line)) {
    mine <- which(tried$line == level)
    mine <- mine[order(at[mine])]
    graphics::lines(at[mine], r$mean[mine], col = col[mine])
  }
  graphics::segments(at, r$mean - r$se, at, r$mean + r$se, col = col)
  graphics::points(at, r$mean, pch = 19, col = col)
  mark_chosen(at[x$best], r$mean[x$best])
  if (several)
    graphics::legend("top", paste(tried$name[2], "=", levels(tried$line)), lty = 1, pch = 19,
                     col = okabe_ito[seq_len(nlevels(tried$line))], bty = "n", xpd = NA,
                     horiz = TRUE, inset = -0.12, cex = 0.85, seg.len = 1)
}

# The best configurations, one per row, in the order of the grid, with their values as a table on
# the left, in which defaults are left empty.
plot_tried_rows <- function(x, tried, ...) {
  keep <- sort(utils::head(order(-x$results$mean, na.last = TRUE), 30))
  r <- x$results[keep, ]
  n <- nrow(r)
  place <- rev(seq_len(n))
  text <- tried$text[keep, , drop = FALSE]
  width <- open_table(in_columns(text), n)
  if (width$cex < 0.55)
    width <- open_table(data.frame(parameters = in_lines(given_text(text), 45)), n)
  text <- width$text
  frame <- list(tried_range(r), c(0.5, n + 0.5), type = "n", xlab = tried$wanted, ylab = "",
                yaxt = "n", bty = "l")
  do.call(graphics::plot, utils::modifyList(frame, list(...)))
  graphics::abline(h = place, col = "grey93")
  right <- graphics::grconvertX(0, "npc", "inches") - 0.1 - sum(width$inches) + cumsum(width$inches)
  for (j in seq_along(text))
    graphics::text(graphics::grconvertX(right[j], "inches"), c(n + 1, place),
                   c(names(text)[j], text[[j]]), adj = c(1, 0.5), cex = width$cex, xpd = NA)
  graphics::segments(r$mean - r$se, place, r$mean + r$se, place, col = background_colour)
  graphics::points(r$mean, place, pch = 19, col = background_colour)
  best <- match(x$best, keep)
  mark_chosen(r$mean[best], place[best])
}

# Columns of a table, short names above each other, and nothing where a parameter has its default.
in_columns <- function(text) {
  text[] <- lapply(text, function(value) ifelse(value == "default", "", value))
  stats::setNames(text, sub("_", "_\n", names(text)))
}

# The parameters of each row that are not left to their defaults in a line of text; words speak for
# themselves, numbers have a name.
given_text <- function(text) {
  word <- lapply(text, function(value) !is.na(value) & grepl("^[a-z]+$", value))
  said <- Map(function(name, value, word) ifelse(word, value, paste(name, "=", value)),
              names(text), text, word)
  given <- vapply(text, function(value) value != "default", logical(nrow(text)))
  rows <- lapply(seq_len(nrow(text)), function(i)
    vapply(said, `[`, "", i)[matrix(given, nrow(text))[i, ]])
  vapply(rows, function(row) if (length(row)) paste(row, collapse = ", ") else "defaults", "")
}

# Opens the page with a left margin for a table of `text` in `n` rows, and says how wide its columns
# are and how large its letters.
open_table <- function(text, n) {
  graphics::par(mar = c(3.2, 0.5, 1.6, 0.5))
  graphics::plot.new()
  graphics::par(new = TRUE)
  page <- graphics::par("fin")
  inches <- vapply(names(text), function(name)
    max(graphics::strwidth(c(name, as.character(text[[name]])), "inches")) + 0.12, 0)
  lines <- 1 + max(lengths(gregexpr("\n", unlist(text), fixed = TRUE)) *
                     grepl("\n", unlist(text), fixed = TRUE))
  cex <- min(0.9, 0.6 * page[1] / sum(inches), graphics::par("pin")[2] / (n + 1) / 0.17 / lines)
  graphics::par(mar = c(3.2, (sum(inches) * cex + 0.1) / graphics::par("csi"), 1.6, 0.5))
  list(text = text, inches = inches * cex, cex = cex)
}

tried_range <- function(r) range(r$mean, r$mean - r$se, r$mean + r$se, na.rm = TRUE)

mark_chosen <- function(x, y) graphics::points(x, y, cex = 2.2, lwd = 2.5, col = target_colour)
