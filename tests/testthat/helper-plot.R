# Runs code on a device that draws nowhere; gives the pictures (as colours), texts and calls of its
# last page, the graphical parameters that were not put back, and what the code returned.
drawn <- function(code) {
  pdf(NULL)
  on.exit(dev.off())
  dev.control("enable")
  par_before <- par(no.readonly = TRUE)
  returned <- withVisible(code)
  par_after <- par(no.readonly = TRUE)
  calls <- lapply(recordPlot()[[1]], function(e) as.list(e[[2]]))
  name <- vapply(calls, function(args) if (is.list(args[[1]])) args[[1]]$name else "", "")
  arg <- function(which, i) lapply(calls[name == which], `[[`, i)
  text <- c(unlist(arg("C_title", 2)), unlist(arg("C_mtext", 2)))
  coordinates <- c("usr", "xaxp", "yaxp")
  changed <- !mapply(identical, par_before, par_after) & !names(par_before) %in% coordinates
  list(pictures = lapply(arg("C_raster", 2), as.matrix), n_pictures = sum(name == "C_raster"),
       text = text[nzchar(text)], calls = name, left_changed = names(par_before)[changed],
       returned = returned)
}
