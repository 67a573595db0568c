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
# the left.
plot_tried_rows <- function(x, tried, ...) {
  keep <- sort(utils::head(order(-x$results$mean, na.last = TRUE), 30))
  r <- x$results[keep, ]
  place <- rev(seq_len(nrow(r)))
  table <- open_table(tried$text[keep, , drop = FALSE])
  frame <- list(tried_range(r), c(0.5, nrow(r) + 0.5), type = "n", xlab = tried$wanted, ylab = "",
                yaxt = "n", bty = "l")
  do.call(graphics::plot, utils::modifyList(frame, list(...)))
  graphics::abline(h = place, col = "grey93")
  draw_table(table, place)
  graphics::segments(r$mean - r$se, place, r$mean + r$se, place, col = background_colour)
  graphics::points(r$mean, place, pch = 19, col = background_colour)
  best <- match(x$best, keep)
  mark_chosen(r$mean[best], place[best])
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

given_lines <- function(text)
  vapply(given_text(text), function(row) paste(at_commas(row, 45), collapse = "\n"), "",
         USE.NAMES = FALSE)

# Opens the page with a left margin for a table of `text`: one column per parameter, empty where it
# has its default, under names that are turned where the columns are narrow; where these are too
# small to read, one column with the parameters of each row as words.
open_table <- function(text) {
  graphics::par(mar = c(3.2, 0.5, 0.5, 0.5))
  graphics::plot.new()
  graphics::par(new = TRUE)
  columns <- text
  columns[] <- lapply(text, function(value) ifelse(value == "default", "", value))
  table <- table_size(columns, FALSE)
  turned <- table_size(columns, TRUE)
  if (table$cex < 0.7 && turned$cex > table$cex) table <- turned
  if (table$cex < 0.45) table <- table_size(data.frame(parameters = given_lines(text)), FALSE)
  csi <- graphics::par("csi")
  graphics::par(mar = c(3.2, (sum(table$inches) + 0.1) / csi, table$top / csi, 0.5))
  table
}

# How large the letters of a table can be, and then, in inches, how wide its columns and how high
# its names are.
table_size <- function(text, turned) {
  head <- if (turned) names(text) else sub("_", "_\n", names(text))
  page <- graphics::par("fin")
  wide <- function(words) max(graphics::strwidth(words, "inches"))
  inches <- vapply(seq_along(text), function(j) wide(c(if (!turned) head[j], text[[j]])), 0)
  inches <- if (turned) pmax(inches, 0.15) + 0.1 else inches + 0.12
  lines <- function(words) max(lengths(strsplit(words, "\n", fixed = TRUE)), 1)
  top <- 0.1 + if (turned) wide(head) else 0.17 * lines(head)
  high <- 0.17 * nrow(text) * lines(unlist(text))
  cex <- min(0.9, 0.6 * page[1] / sum(inches),
             (page[2] - 3.2 * graphics::par("csi")) / (top + high))
  list(text = text, head = head, turned = turned, inches = cex * inches, top = cex * top, cex = cex)
}

# Values that most rows share are grey.
draw_table <- function(table, place) {
  edge <- graphics::grconvertX(0, "npc", "inches") - 0.1
  right <- edge - sum(table$inches) + cumsum(table$inches)
  top <- graphics::grconvertY(graphics::grconvertY(1, "npc", "inches") + 0.04, "inches")
  middle <- right - 0.08 * table$cex
  write <- function(x, y, ...)
    graphics::text(graphics::grconvertX(x, "inches"), y, ..., cex = table$cex, xpd = NA)
  for (j in seq_along(table$text)) {
    value <- table$text[[j]]
    usual <- stats::ave(seq_along(value), value, FUN = length) > 2 / 3 * length(value)
    write(right[j], place, value, adj = c(1, 0.5), col = ifelse(usual, "grey60", "black"))
    if (table$turned) write(middle[j], top, table$head[j], adj = c(0, 0.5), srt = 90)
    else write(right[j], top, table$head[j], adj = c(1, 0))
  }
}

tried_range <- function(r) range(r$mean, r$mean - r$se, r$mean + r$se, na.rm = TRUE)

mark_chosen <- function(x, y) graphics::points(x, y, cex = 2.2, lwd = 2.5, col = target_colour)
