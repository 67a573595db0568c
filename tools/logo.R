# Draws man/figures/logo.png, and the small ones of the site, from a fit to digits: the first
# target atom among background atoms. `Rscript tools/logo.R`, with the package installed.
library(fumi)
set.seed(3)
drawn <- draw_bags(which(usps$digit == 3), which(usps$digit != 3))
b <- bags(usps_images(drawn$image), drawn$bag, rep(c(1, 0), each = 50))
fit <- dlfumi(b, n_target = 4, n_background = 15, gamma = 0.1, beta = 25, lambda = 0.01)
atoms <- coef(fit)

# Pixels of a sticker with corners up and down, at radius 1 around the origin; three samples a
# pixel and direction.
height <- 480
width <- round(height * sqrt(3) / 2)
at <- expand.grid(x = seq(-1, 1, length.out = 3 * width) * sqrt(3) / 2,
                  y = seq(1, -1, length.out = 3 * height))
# Distance from a centre in which hexagons are the circles, 1 at the corners' radius.
ring <- function(x, y) pmax(abs(x), abs(x) / 2 + abs(y) * sqrt(3) / 2) * 2 / sqrt(3)

# The atom at (x, y), both from -1 to 1, from 0 to 1; 0.5, which is nothing, around it.
strength <- function(atom, x, y) {
  pixel <- function(v) pmin(pmax(ceiling((v + 1) * 8), 1), 16)
  value <- atoms[cbind(atom, (pixel(x) - 1) * 16 + pixel(-y))] / apply(abs(atoms), 1, max)[atom]
  0.5 + ifelse(pmax(abs(x), abs(y)) <= 1, value, 0) / 2
}

# A honeycomb of background atoms, fading towards the name, and one large cell with the target atom.
r <- 0.235
middle <- 0.21
distance <- rep(Inf, nrow(at))
cell <- dx <- dy <- numeric(nrow(at))
for (i in -3:3) for (j in -5:4) {
  x <- at$x - (i + (j %% 2) / 2) * r * sqrt(3)
  y <- at$y - j * r * 1.5 - middle
  closer <- x^2 + y^2 < distance
  distance[closer] <- (x^2 + y^2)[closer]
  cell[closer] <- 11 * j + i
  dx[closer] <- x[closer]
  dy[closer] <- y[closer]
}
navy <- c(11, 34, 57)
fade <- pmin(pmax((at$y + 0.62) / 0.75, 0.12), 1)
large <- ring(at$x, at$y - middle)
rim <- ring(at$x, at$y)
colour <- colorRamp(c("#0B2239", "#14507C", "#5FA8D3", "#D6ECF8"))(
  strength(5 + cell %% 15, dx / r * 1.15, dy / r * 1.15) * fade * 0.85)
sun <- colorRamp(c("#5A1E00", "#D55E00", "#FFB347",
                   "#FFF6E0"))(strength(1, at$x / 0.4, (at$y - middle) / 0.4))
paint <- function(where, by) colour[where, ] <<- if (is.matrix(by)) by[where, ] else rep(by, each = sum(where))
paint(ring(dx, dy) > r * 0.94 | large < 0.5, navy)
paint(large < 0.46, sun)
paint(rim > 0.945, c(213, 94, 0))

# Means of k x k samples, for a picture k times smaller.
shrink <- function(samples, k) {
  along <- function(m) {
    group <- ceiling(seq_len(nrow(m)) / k)
    t(rowsum(m, group) / tabulate(group))
  }
  array(apply(samples, 3, function(m) along(along(m))), c(ceiling(dim(samples)[1:2] / k), 4))
}
samples <- aperm(array(c(colour / 255, rim <= 1), c(3 * width, 3 * height, 4)), c(2, 1, 3))
pixels <- round(shrink(samples, 3) * 31) / 31

draw <- function(file, width, height, pixels, name = "") {
  png(file, width, height, bg = "transparent")
  par(mar = rep(0, 4), xaxs = "i", yaxs = "i")
  plot.new()
  plot.window(c(-1, 1) * width / height, c(-1, 1))
  rasterImage(as.raster(pixels), -sqrt(3) / 2, -1, sqrt(3) / 2, 1, interpolate = FALSE)
  text(0, -0.5, name, col = "white", cex = 7, font = 2, family = "sans")
  invisible(dev.off())
}
draw("man/figures/logo.png", width, height, pixels, "fumi")
for (size in c(16, 32))
  draw(sprintf("pkgdown/favicon/favicon-%dx%d.png", size, size), size, size,
       shrink(pixels, height / size))
