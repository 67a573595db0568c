# Counts with their nouns, written as for the function of this name in cli, which needs glue:
# "{n} bag{?s}" is "1 bag" or "2 bags", and "{?is/are}" follows the count before it.
pluralize <- function(...) {
  text <- paste0(...)
  env <- parent.frame()
  parts <- regmatches(text, gregexpr("[{][^}]*[}]", text), invert = NA)[[1]]
  count <- NA
  for (i in seq(2, length(parts), by = 2)) {
    inside <- substr(parts[i], 2, nchar(parts[i]) - 1)
    if (startsWith(inside, "?")) {
      forms <- strsplit(substring(inside, 2), "/", fixed = TRUE)[[1]]
      if (length(forms) == 1) forms <- c("", forms)
      parts[i] <- forms[if (count == 1) 1 else 2]
    } else {
      count <- eval(parse(text = inside, keep.source = FALSE), env)
      parts[i] <- format(count, scientific = FALSE)
    }
  }
  paste(parts, collapse = "")
}
