# Runs code on a device that draws nowhere; gives the pictures (as colours), texts, labels of axes, calls of
# axes and of all of its last page, the graphical parameters that were not put back, and what the code returned.
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
  said <- list(C_title = 2, C_mtext = 2, C_text = 3)
  text <- unlist(lapply(which(name %in% names(said)), function(i)
    as.character(calls[[i]][[said[[name[i]]]]])))
  label <- unlist(lapply(calls[name == "C_title"], function(args) as.character(unlist(args[4:5]))))
  coordinates <- c("usr", "xaxp", "yaxp", "xlog", "ylog")
  changed <- !mapply(identical, par_before, par_after) & !names(par_before) %in% coordinates
  list(pictures = lapply(arg("C_raster", 2), as.matrix), n_pictures = sum(name == "C_raster"),
       text = text[nzchar(text)], axes = calls[name == "C_axis"], all = calls, labels = label[nzchar(label)], calls = name, left_changed = names(par_before)[changed],
       returned = returned)
}
