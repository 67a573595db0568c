# Small pictures on one page, for atoms and for instances.

target_colour <- "#D55E00"
background_colour <- "#0072B2"

# The columns of `values` as pictures that fill the figure, row 1 at the top; each value of `group`
# starts a new row. `limits` are those of black and white: "own" for each picture's own range,
# "zero" for limits symmetric about 0, or two numbers for all; a line at the bottom says which. A
# title is above its picture or, with `by_row`, to the left of its group.
picture_page <- function(values, image_dim, title, colour = "grey70", group = rep(1, ncol(values)),
                         limits = "own", main = NULL, n_col = NULL, by_row = FALSE) {
  old <- graphics::par(mar = c(0, 0, 0, 0))
  on.exit(graphics::par(old))
  graphics::plot.new()
  page <- graphics::par("pin")
  graphics::plot.window(c(0, page[1]), c(0, page[2]), xaxs = "i", yaxs = "i")
  at <- picture_places(page, image_dim, group, title, n_col, by_row, is.character(main))
  colour <- rep_len(colour, ncol(values))
  for (i in seq_len(ncol(values))) {
    one <- if (is.character(limits)) picture_limits(values[, i], limits) else limits
    draw_picture(values[, i], image_dim, at$x[i], at$y[i], at$size, one, colour[i])
  }
  draw_titles(title, at, ifelse(colour == "grey70", "grey30", colour), by_row)
  if (!is.null(main)) page_text(main, page, max(at$y) + at$size[2] + at$above + 0.12, 1, "black")
  page_text(limits_note(limits), page, min(at$y) - 0.12, 0.75, "grey40")
}

picture_limits <- function(values, kind) {
  if (kind == "zero") return(c(-1, 1) * max(abs(values), 1e-300))
  range(values)
}

limits_note <- function(limits) {
  if (is.numeric(limits))
    return(paste0("black ", format(limits[1], digits = 3), ", white ",
                  format(limits[2], digits = 3)))
  switch(limits, own = "black to white: lowest to highest value of each picture",
         zero = "grey: 0, white: positive, black: negative; each picture to its largest value")
}

# A picture with its lower left corner at x, y and a frame, which is thick where it has a colour.
draw_picture <- function(values, image_dim, x, y, size, limits, frame = "grey70") {
  shade <- (values - limits[1]) / max(limits[2] - limits[1], 1e-300)
  if (limits[2] <= limits[1]) shade[] <- 0.5
  graphics::rasterImage(matrix(pmin(pmax(shade, 0), 1), image_dim[1], image_dim[2]), x, y,
                        x + size[1], y + size[2], interpolate = FALSE)
  graphics::rect(x, y, x + size[1], y + size[2], border = frame,
                 lwd = if (frame == "grey70") 1 else 2.5, xpd = NA)
}

# Lower left corners and size of pictures, as large as possible on a `page` of this size in inches,
# in the middle of the page, and the `width` of each with the space for its title. Groups stand next
# to each other where that makes pictures larger.
picture_places <- function(page, image_dim, group, title, n_col, by_row, has_main) {
  count <- as.vector(table(factor(group, unique(group))))
  left <- if (by_row) min(max(graphics::strwidth(title, "inches")) + 0.1, 0.3 * page[1]) else 0.05
  titled <- !by_row && any(nzchar(title))
  bottom <- 0.22
  room <- page - c(left + 0.05, bottom + 0.04 + if (has_main) 0.26 else 0)
  close <- if (by_row && max(count) > 12) 0.03 else 0.07
  wide <- function(title) max(0, if (titled) graphics::strwidth(title, "inches"))
  above <- function(n) if (!titled) 0 else
    0.05 + 1.6 * graphics::strheight("M", "inches") * title_size(title, room[1] / n - close)
  # No titles that are smaller than the smallest size.
  pixel <- function(n, rows = sum(ceiling(count / n)))
    if (n > 1 && room[1] / n < 0.4 * wide(short_titles(title))) -Inf
    else min((room / c(n, rows) - close - c(0, above(n))) / rev(image_dim))
  if (is.null(n_col)) {
    n_col <- which.max(vapply(seq_len(max(count)), pixel, 0))
    if (!by_row && pixel(sum(count), 1) > pixel(n_col)) count <- n_col <- sum(count)
  }
  size <- max(pixel(n_col), 1e-3) * rev(image_dim)
  gap <- close + c(0, above(n_col))
  step <- pmax(size + gap, c(min(room[1] / min(n_col, max(count)), wide(title) + gap[1]), 0))
  within <- sequence(count) - 1
  first <- rep(cumsum(c(0, ceiling(count / n_col)))[seq_along(count)], count)
  column <- within %% n_col
  row <- first + within %/% n_col
  used <- c(max(column) + 1, max(row) + 1) * step
  list(x = left + (room[1] - used[1] + step[1] - size[1]) / 2 + column * step[1],
       above = gap[2] - close,
       y = bottom + (room[2] + used[2]) / 2 - (row + 1) * step[2] + close,
       size = size, left = left, width = step[1] - gap[1])
}

# Titles that fit their space; if they would be too small to read, the word that all background
# atoms share is left out.
draw_titles <- function(title, at, colour, by_row) {
  place <- if (by_row) at$left - 0.1 else at$width
  if (title_fit(title, place) < 0.6) title <- short_titles(title)
  cex <- min(title_size(title, place),
             if (by_row) at$size[2] / max(graphics::strheight(title, "inches")))
  if (by_row)
    return(graphics::text(min(at$x) - 0.06, at$y + at$size[2] / 2, title, adj = c(1, 0.5),
                          cex = cex, col = colour))
  graphics::text(at$x + at$size[1] / 2, at$y + at$size[2] + 0.07, title, adj = c(0.5, 0), cex = cex,
                 col = colour, xpd = NA)
}

title_fit <- function(title, place)
  min(1, place / max(graphics::strwidth(title, "inches"), 1e-9))

title_size <- function(title, place) {
  fit <- title_fit(title, place)
  max(0.4, if (fit < 0.6) title_fit(short_titles(title), place) else fit)
}

short_titles <- function(title) sub("^background ", "", title)

page_text <- function(text, page, y, cex, colour) {
  wide <- graphics::strwidth(text, "inches", cex = cex)
  graphics::text(page[1] / 2, y, text, cex = cex * min(1, 0.97 * page[1] / wide), col = colour,
                 xpd = NA)
}
