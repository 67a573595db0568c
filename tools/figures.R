# Draws the pictures of README.md: `Rscript tools/figures.R`, with the package installed.
library(fumi)
set.seed(3)
draw <- function(pool, n) pool[sample.int(length(pool), n)]
image <- c(draw(which(usps$digit == 3), 50), draw(which(usps$digit != 3), 2650))
bag <- c(1:50, rep(1:50, each = 3), 50 + rep(1:50, each = 50))
b <- bags(usps_images(image), bag, rep(c(1, 0), each = 50))
fit <- dlfumi(b, n_target = 4, n_background = 15, gamma = 0.1, beta = 25)
png("man/figures/README-atoms.png", width = 900, height = 660, res = 120)
plot(fit)
invisible(dev.off())
