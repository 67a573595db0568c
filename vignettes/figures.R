# How the vignettes draw; each sources this file before its first figure.

# An SVG file without what shows nothing, a third of it: digits beyond a hundredth of a point, except
# in factors of scale, and defaults. Other files stay as they are.
smaller_svg <- function(paths) {
  for (path in grep("[.]svg$", paths, value = TRUE)) {
    svg <- gsub("(fill-opacity:1|stroke-opacity:1|stroke:none);", "", readLines(path))
    plain <- !grepl("matrix(", svg, fixed = TRUE)
    svg[plain] <- gsub("(?<=[.][0-9]{2})[0-9]+", "", svg[plain], perl = TRUE)
    writeLines(svg, path)
  }
  paths
}

knitr::opts_chunk$set(fig.width = 7, fig.height = 4.2, dpi = 120, out.width = "98%", comment = "#>",
                      dev = if (capabilities("cairo")) "svg" else "png",
                      fig.process = smaller_svg)
