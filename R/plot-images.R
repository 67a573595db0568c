# Small pictures in a grid, for atoms and for instances.

target_colour <- "#D55E00"
background_colour <- "#0072B2"

# One picture, row 1 at the top, grey on limits that are symmetric about 0 unless given.
draw_picture <- function(values, image_dim, main = "", frame = "grey70", width = 1,
                         limits = c(-1, 1) * max(abs(values), 1e-300)) {
  m <- matrix(values, image_dim[1], image_dim[2])
  graphics::image(seq_len(image_dim[2]), seq_len(image_dim[1]),
                  t(m[rev(seq_len(image_dim[1])), , drop = FALSE]),
                  zlim = limits, col = grDevices::grey(seq(0, 1, length.out = 256)), axes = FALSE,
                  xlab = "", ylab = "", asp = 1, useRaster = TRUE)
  corner <- c(.5, .5, image_dim[2] + .5, image_dim[1] + .5)
  graphics::rect(corner[1], corner[2], corner[3], corner[4], border = frame, lwd = width, xpd = NA)
  wide <- graphics::strwidth(main, "inches") * graphics::par("cex.main")
  graphics::title(main, line = .25, font.main = 1,
                  col.main = if (frame == "grey70") "grey30" else frame,
                  cex.main = graphics::par("cex.main") * min(1, .97 * graphics::par("pin")[1] / max(wide, 1e-9)))
}

# A grid of pictures: each group starts a new row. `draw[[i]]()` draws cell i.
picture_grid <- function(group, draw, n_col = NULL, main = NULL) {
  sizes <- as.vector(table(factor(group, unique(group))))
  if (is.null(n_col)) n_col <- min(max(sizes), max(4, ceiling(sqrt(1.6 * length(draw)))))
  rows <- lapply(seq_along(sizes), function(g) {
    cells <- sum(sizes[seq_len(g - 1)]) + seq_len(sizes[g])
    matrix(c(cells, rep(0, -length(cells) %% n_col)), ncol = n_col, byrow = TRUE)
  })
  old <- graphics::par(c("mfrow", "mar", "oma", "cex", "cex.main"))
  graphics::par(mar = c(.3, .3, 1.6, .3), oma = c(.2, .2, if (is.null(main)) .2 else 2, .2))
  on.exit({
    graphics::layout(1)
    graphics::par(old)
  })
  graphics::layout(do.call(rbind, rows))
  graphics::par(cex = max(.5, min(1, 6 / n_col)), cex.main = 1)
  for (cell in draw) cell()
  if (!is.null(main)) graphics::mtext(main, outer = TRUE, line = .3)
}

# Curves instead of pictures, when an instance is no image.
draw_feature_curves <- function(x, colour, main, ylab = "") {
  shade <- grDevices::adjustcolor(rep_len(colour, ncol(x)), alpha.f = if (ncol(x) > 8) .5 else .9)
  graphics::matplot(seq_len(nrow(x)), x, type = if (nrow(x) > 1) "l" else "p", pch = 1, lty = 1,
                    lwd = 1.5,
                    col = shade, xlab = "feature", ylab = ylab, main = main, font.main = 1,
                    las = 1, bty = "n")
  graphics::abline(h = 0, col = "grey85")
}
