# Scores of bags by label.

# One row of points per label, spread so that bags with similar scores do not overlap, and the
# threshold. Ratios that range over orders of magnitude are on a logarithmic axis.
plot_scores <- function(x, new_data, ..., call = rlang::caller_env()) {
  said <- bag_scores(x, new_data, ..., call = call)
  label <- rows_of_scores(said)
  left <- 1 + 0.9 * max(graphics::strwidth(label, "inches")) / graphics::par("csi")
  old <- graphics::par(mar = c(3.2, left, 1.8, 0.9), mgp = c(2, 0.5, 0), tcl = -0.25)
  on.exit(graphics::par(old))
  log <- if (is_ratio(said$score)) "x" else ""
  cut <- drawn_threshold(said, log)
  row <- as.integer(said$label)
  graphics::plot(range(said$score, cut, na.rm = TRUE), c(0.5, nlevels(said$label) + 0.5),
                 type = "n", log = log, xlab = "score of the bag", ylab = "", xaxt = "n",
                 yaxt = "n", bty = "l")
  fitted_title(scores_title(said))
  if (nzchar(log)) plain_axis() else graphics::axis(1)
  graphics::axis(2, seq_along(label), label, las = 1, lwd = 0, cex.axis = 0.9)
  graphics::abline(v = cut, lty = 2, col = "grey30")
  colour <- ifelse(said$positive, target_colour, background_colour)
  graphics::points(said$score, row + beside(said$score, row, log), pch = 16,
                   col = grDevices::adjustcolor(colour, 0.7))
}

# The horizontal axis without powers of ten where plain numbers are as short.
plain_axis <- function() {
  at <- graphics::axTicks(1)
  graphics::axis(1, at, vapply(at, format, "", scientific = 3, digits = 6))
}

# A data frame with the `score` and the `label` of each bag.
bag_scores <- function(x, new_data, ..., call = rlang::caller_env()) {
  check_plotted_bags(new_data, call)
  if (!length(new_data))
    stop_fumi("`new_data` must have at least one bag to plot.", class = "empty", call = call)
  check_same_positive(x, new_data, "new_data", call)
  score <- predict(x, new_data, level = "bag", ...)$.score
  if (is.null(score)) stop_fumi("`type` must be \"score\" to plot scores.", call = call)
  label <- factor(new_data$classes[1 + new_data$label], new_data$classes)
  structure(data.frame(score, label = droplevels(label), positive = new_data$label),
            threshold = if (...length()) NA_real_ else usual_threshold(x))
}

# The threshold, or NA if a logarithmic axis cannot show it, or if it is so far away that all scores
# would be one point.
drawn_threshold <- function(said, log) {
  cut <- attr(said, "threshold")
  if (is.na(cut) || nzchar(log) && cut <= 0) return(NA_real_)
  scale <- if (nzchar(log)) base::log else identity
  span <- diff(range(scale(said$score)))
  if (span > 0 && diff(range(scale(c(said$score, cut)))) > 10 * span) NA_real_ else cut
}

is_ratio <- function(score) all(score > 0) && max(score) > max(1, 10 * min(score))

scores_title <- function(said) {
  cut <- attr(said, "threshold")
  cut <- if (!is.na(cut)) paste0(", threshold ", format(cut, digits = 3))
  paste0("Scores of bags by label", cut)
}

# Each label, and how many of its bags are above the threshold.
rows_of_scores <- function(said) {
  cut <- attr(said, "threshold")
  label <- in_lines(levels(said$label), 16)
  if (is.na(cut)) return(label)
  above <- tapply(said$score > cut, said$label, sum)
  paste0(label, "\n", above, " of ", table(said$label), " above")
}

# The vertical shift of each point, at most 0.35: by its rank among the points within a fortieth of
# the range.
beside <- function(score, row, log) {
  at <- if (nzchar(log)) base::log(score) else score
  slot <- round(40 * (at - min(at)) / max(diff(range(at)), 1e-300))
  nth <- stats::ave(seq_along(at), row, slot, FUN = seq_along)
  offset <- ifelse(nth %% 2 == 1, -1, 1) * (nth %/% 2)
  0.35 * offset / max(4, abs(offset))
}
