# Curves over the features, for instances that are not images: panels with shared axes.

# Each panel is a list of `x` (features x curves), `col` (one for each curve), `main` and, for a
# legend, `key`. Panels that do not `share` the axis of values are placed below each other. `main`
# may be words in several colours, as a legend for all panels.
curve_page <- function(panels, axis, ylab = "", main = NULL, share = TRUE, main_col = "black") {
  n <- length(panels)
  old <- graphics::par(c("mfrow", "mar", "oma", "mgp", "tcl", "cex"))
  on.exit(graphics::par(old))
  shape <- if (share) panel_shape(n, graphics::par("din")) else c(n, 1)
  cex <- if (n > 6) 0.7 else if (n > 1) 0.85 else 1
  axis <- turned_names(axis, graphics::par("fin")[1] / if (n > 1) shape[2] else 1, cex)
  outside <- c(axis$lines, if (nzchar(ylab)) 4 else 3, if (is.null(main)) 0.2 else 1.6, axis$over)
  if (n > 1) {
    graphics::par(mfrow = shape)
    graphics::par(mar = c(0.4, 0.4, 1.4, 1.2), oma = outside, cex = cex)
  } else graphics::par(mar = outside + c(0, 0, 1.4, 0))
  graphics::par(mgp = c(2, 0.5, 0), tcl = -0.25)
  for (i in seq_len(n))
    draw_curves_panel(panels[[i]], axis, key_room(if (share) panels else panels[i], axis),
                      left = (i - 1) %% shape[2] == 0, bottom = i + shape[2] > n)
  graphics::mtext(axis$label, 1, axis$lines - 1.2, outer = n > 1, cex = 0.9)
  graphics::mtext(ylab, 2, 2.6, outer = n > 1, cex = 0.9)
  if (!is.null(main)) draw_words(main, main_col, if (n > 1) 0.2 else 1.5, outer = n > 1)
}

# Words of several colours next to each other above a panel or, if `outer`, above a page of panels.
draw_words <- function(words, col, line, outer = FALSE) {
  ends <- graphics::grconvertX(0:1, if (outer) "ndc" else "nfc", "inches")
  letter <- graphics::par("cex")
  wide <- graphics::strwidth(paste0(words, "m"), "inches") / letter
  cex <- min(if (outer) 1 else letter, 0.98 * diff(ends) / sum(wide))
  left <- mean(ends) + cex * (cumsum(c(0, wide))[seq_along(words)] - sum(wide) / 2)
  graphics::mtext(words, 3, line, outer = outer, adj = 0, col = col, cex = cex,
                  at = graphics::grconvertX(left, "inches", if (outer) "nic" else "user"))
}

# Rows and columns for panels that are slightly wider than high, on a page of this size in inches.
panel_shape <- function(n, page) {
  columns <- seq_len(n)
  rows <- ceiling(n / columns)
  shape <- abs(log(page[1] / columns / (page[2] / rows) / 1.6)) + 0.3 * (rows * columns - n) / n
  c(rows[which.min(shape)], columns[which.min(shape)])
}

draw_curves_panel <- function(panel, axis, room, left, bottom) {
  by_place <- order(axis$at)
  graphics::matplot(axis$at[by_place], panel$x[by_place, , drop = FALSE], pch = 16, cex = 0.6,
                    type = if (nrow(panel$x) <= most_names) "o" else "l", lty = 1, lwd = 1.5,
                    col = panel$col, ylim = room$ylim, ann = FALSE, axes = FALSE)
  graphics::abline(h = 0, col = "grey85")
  graphics::box(bty = "l", col = "grey60")
  if (left) graphics::axis(2, las = 1, lwd = 0, lwd.ticks = 1)
  if (bottom) draw_feature_axis(axis)
  if (!is.null(panel$key) && is.null(room$corner))
    return(draw_words(c(paste0(panel$main, ":"), sub("^[a-z]+ ", "", panel$key)),
                      c("black", panel$col), 0.3))
  fitted_title(panel$main, 0.3)
  if (!is.null(panel$key))
    graphics::legend(room$corner, panel$key, col = panel$col, lty = 1, lwd = 2, seg.len = 1,
                     bty = "n", cex = 0.8, y.intersp = 0.9, inset = 0.01,
                     ncol = key_columns(panel$key))
}

# A title that is not wider than its panel.
fitted_title <- function(main, line = NA) {
  wide <- graphics::strwidth(main, "inches") * 1.05
  graphics::title(main, line = line, font.main = 1,
                  cex.main = min(1, graphics::par("pin")[1] / max(wide, 1e-9)))
}

# The limits of the values in all panels, and the corner where the legend covers no curve. If there
# is none, the title is the legend.
key_room <- function(panels, axis) {
  ylim <- range(0, lapply(panels, `[[`, "x"), finite = TRUE)
  if (diff(ylim) == 0) ylim <- c(-1, 1)
  with_key <- Filter(function(panel) !is.null(panel$key), panels)
  if (!length(with_key)) return(list(ylim = ylim, corner = NULL))
  letters <- vapply(with_key, function(panel) {
    columns <- key_columns(panel$key)
    c(columns * (max(nchar(panel$key)) + 4), ceiling(length(panel$key) / columns) + 1)
  }, numeric(2))
  letter <- graphics::par("cin") * 0.8 * graphics::par("cex")
  size <- pmin(1, apply(letters, 1, max) * letter / graphics::par("pin"))
  curves <- unlist(lapply(with_key, function(panel) asplit(panel$x, 2)), recursive = FALSE)
  along <- lapply(curves, function(y) {
    if (length(y) < 2) return(list(x = axis$at, y = y))
    stats::approx(axis$at, y, n = max(200, length(y)), ties = mean)
  })
  x <- unlist(lapply(along, `[[`, "x"))
  y <- unlist(lapply(along, `[[`, "y"))
  list(ylim = ylim, corner = if (size[2] < 0.5) free_corner(x, y, range(axis$at), ylim, size))
}

key_columns <- function(key) if (length(key) > 3) 2 else 1

# The first corner whose part of the plot, `size` as a share of it, has none of the points.
free_corner <- function(x, y, xlim, ylim, size,
                        corners = c("topright", "topleft", "bottomright", "bottomleft")) {
  within <- function(values, limits)
    (values - limits[1]) / if (diff(limits) > 0) diff(limits) else 1
  x <- within(x, xlim)
  y <- within(y, ylim)
  taken <- function(corner) {
    across <- if (endsWith(corner, "right")) x > 1 - size[1] else x < size[1]
    any(across & if (startsWith(corner, "top")) y > 1 - size[2] else y < size[2])
  }
  Find(Negate(taken), corners)
}

# ---- the axis of features ------------------------------------------------------------------------

most_names <- 12

# The position and label of each feature on the axis: from the `axis` of the bags; else from the
# numbers in the features' names, with the text around them as axis label; else up to twelve names,
# or numbers of features without names.
feature_axis <- function(features, axis, d) {
  if (!is.null(axis)) return(list(at = axis$values, label = axis$label))
  numbered <- numbers_in_names(features)
  if (!is.null(numbered)) return(numbered)
  if (d > most_names) return(list(at = seq_len(d), label = "feature"))
  if (is.null(features)) return(list(at = seq_len(d), label = "feature",
                                     names = as.character(seq_len(d))))
  list(at = seq_len(d), label = "", names = features)
}

# "900 nm", "X900.nm" and "t017ms": increasing or decreasing numbers, with the same text around
# them in all names.
numbers_in_names <- function(features) {
  pattern <- "^([^0-9]*?)(-?[0-9]+(?:[.][0-9]+)?)([^0-9]*)$"
  if (length(features) < 2 || !all(grepl(pattern, features, perl = TRUE))) return(NULL)
  part <- function(i) sub(pattern, paste0("\\", i), features, perl = TRUE)
  around <- c(part(1)[1], part(3)[1])
  at <- as.numeric(part(2))
  if (any(part(1) != around[1] | part(3) != around[2]) ||
      is.unsorted(at, strictly = TRUE) && is.unsorted(-at, strictly = TRUE)) return(NULL)
  around <- gsub("^[[:space:]._(]+|[[:space:]._)]+$", "", around)
  if (around[1] %in% c("X", "x", "V")) around[1] <- ""
  label <- if (all(nzchar(around))) paste0(around[1], " (", around[2], ")") else
    paste0(around, collapse = "")
  list(at = at, label = if (nzchar(label)) label else "feature")
}

# Long names have two lines, and names that are too wide for their share of a panel are rotated.
# `lines`: the margin that the axis needs; `over`: what the last name or number needs on the right.
# `cex`: the size of the panel's text.
turned_names <- function(axis, width, cex = 1) {
  axis$names <- short_names(axis$names)
  said <- if (length(axis$names)) axis$names else format(axis$at, digits = 4)
  long <- 0.9 * max(graphics::strwidth(said, "inches"))
  axis$turn <- length(axis$names) > 0 && cex * long > 0.8 * width / length(axis$at)
  line <- graphics::par("csi")
  names <- if (axis$turn) min(long / line + 0.3, 8) else max(1, lengths(strsplit(said, "\n")))
  axis$over <- max(0.5, if (!axis$turn) long / line / 2)
  axis$lines <- 0.9 + names + if (nzchar(axis$label)) 1.3 else 0
  axis
}

short_names <- function(names) {
  long <- nchar(names) > 10
  replace(names, long, in_lines(names[long], nchar(names[long]) / 2 + 3))
}

draw_feature_axis <- function(axis) {
  if (!length(axis$names)) return(graphics::axis(1, lwd = 0, lwd.ticks = 1))
  graphics::axis(1, axis$at, axis$names, las = if (axis$turn) 2 else 1, lwd = 0, lwd.ticks = 1,
                 cex.axis = 0.9, padj = if (axis$turn) NA else 1,
                 mgp = c(2, if (axis$turn) 0.5 else 0.2, 0))
}

# What `bags(axis = )` takes: numbers, or a list of one vector of numbers whose name is the label.
check_axis <- function(axis, d, call = rlang::caller_env()) {
  if (is.null(axis)) return(NULL)
  values <- if (is.list(axis) && length(axis) == 1) axis[[1]] else axis
  if (!is.numeric(values) || length(values) != d || !all(is.finite(values)))
    stop_fumi("`axis` must be one finite number for each of the ", d, " features, or a list of ",
              "such a vector with its label as name, not ", describe(axis), ".",
              class = "dimension", call = call)
  label <- rlang::names2(axis)[1]
  list(values = as.double(values), label = if (is.list(axis) && nzchar(label)) label else "feature")
}
