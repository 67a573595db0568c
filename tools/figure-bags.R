# The picture at the top of README.md, from left to right: three bags, the target atoms learned from
# a hundred such bags, and the score of each digit of a new bag. It is drawn 1600 pixels wide, to be
# read at a quarter of that on a phone.

target_orange <- "#D55E00"
other_blue <- "#0072B2"

draw_bags_figure <- function(file) {
  set.seed(3)
  drawn <- draw_bags(which(usps$digit == 3), which(usps$digit != 3))
  b <- bags(usps_images(drawn$image), drawn$bag, rep(c(1, 0), each = 50))
  fit <- dlfumi(b, n_target = 4, n_background = 15, gamma = 0.1, beta = 25, lambda = 0.01,
                witnesses = 3)
  new <- draw_new_bags(setdiff(seq_along(usps$digit), drawn$image))
  png(file, width = 1600, height = 640)
  on.exit(dev.off())
  par(mar = numeric(4))
  plot(NA, xlim = c(0, 1600), ylim = c(0, 640), xaxs = "i", yaxs = "i", axes = FALSE, ann = FALSE)
  put_text(c(18, 690, 1190), 586, c("1. Is there a 3?", "2. Learned", "3. A new bag"), 48,
           adj = c(0, 0), font = 2, col = "grey15")
  put_training(b[c(1, 2, 51)])
  put_arrow(632)
  for (k in 1:4)
    put_digit(fit$dictionary[, k], 700 + 180 * ((k - 1) %% 2), 298 - 180 * ((k - 1) %/% 2), 160,
              target_orange)
  put_arrow(1090)
  put_scored(typical_bag(fit, new), fit)
}

# Two hundred bags of one 3 and three other digits, of images that are in no training bag.
draw_new_bags <- function(unused) {
  is_3 <- usps$digit[unused] == 3
  new <- draw_bags(unused[is_3], unused[!is_3], n_targets = rep(1, 200), n_negative = 1)
  bags(usps_images(new$image), new$bag, rep(c(1, 0), c(200, 1)), truth = new$truth)[1:200]
}

# The new bag whose highest score is the median of all; says in how many the 3 has the highest.
typical_bag <- function(fit, new) {
  score <- predict(fit, new)
  best <- vapply(split(seq_len(nrow(score)), score$.bag), function(i)
    i[which.max(score$.score[i])], 1L)
  hit <- sum(as.data.frame(new)$truth[best])
  message("The 3 has the highest score in ", hit, " of ", length(new), " new bags.")
  best <- best[order(score$.score[best])]
  new[names(best)[length(best) %/% 2]]
}

put_training <- function(b) {
  for (row in 1:3) {
    one <- b[row]
    y <- 555 - 178 * row
    colour <- if (one$label) target_orange else other_blue
    put_box(18, y, 494, 154, colour)
    put_text(528, y + 77, if (one$label) "yes" else "no", adj = 0, col = colour, font = 2)
    digits <- as.matrix(one)[sample(4), ]
    for (i in 1:4) put_digit(digits[i, ], -84 + 118 * i, y + 22, 110)
  }
}

# The digit with the highest score is framed.
put_scored <- function(one, fit) {
  shuffled <- sample(4)
  score <- predict(fit, one)$.score[shuffled]
  put_box(1190, 21, 390, 534, "grey40")
  for (i in 1:4) {
    x <- 1210 + 184 * ((i - 1) %% 2)
    y <- 365 - 255 * ((i - 1) %/% 2)
    best <- score[i] == max(score)
    put_digit(as.matrix(one)[shuffled[i], ], x, y, 166, if (best) target_orange)
    put_text(x + 83, y - 42, sprintf("%.1f", score[i]), 46, font = 1 + best,
             col = if (best) target_orange else "grey30")
  }
}

# A digit with its lower left corner at x, y, grey from its own least to its largest value.
put_digit <- function(values, x, y, size, frame = NA) {
  grey <- matrix((values - min(values)) / diff(range(values)), 16)
  rasterImage(grey, x, y, x + size, y + size, interpolate = FALSE)
  rect(x, y, x + size, y + size, border = frame, lwd = 10)
}

put_box <- function(x, y, width, height, colour)
  rect(x, y, x + width, y + height, border = colour, col = adjustcolor(colour, 0.08), lwd = 5)

put_text <- function(x, y, label, size = 44, ...) text(x, y, label, cex = size / 12, ...)

put_arrow <- function(x) arrows(x, 288, x + 50, 288, length = 0.35, lwd = 9, col = "grey45")
