# Counts with their nouns, as cli::pluralize() writes them, which needs one more package:
# "{n} bag{?s}" is "1 bag" or "2 bags", and "{?is/are}" follows the count before it.
pluralize <- function(...) {
  envir <- parent.frame()
  rlang::local_options(scipen = 100)
  cli::format_inline(..., .envir = envir)
}
