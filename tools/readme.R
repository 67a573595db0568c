# What the code of README.md prints. tools/figures.R writes it there, and a test compares it.

# The lines with those after the first `library(fumi)` of a chunk run, each followed by what it
# prints, as lines that begin with `#>`.
with_output <- function(readme) {
  chunk <- first_chunk(readme)
  code <- grep("^#>", readme[chunk], invert = TRUE, value = TRUE)
  c(readme[seq_len(chunk[1] - 1)], run_lines(code), readme[seq(chunk[length(chunk)] + 1, length(readme))])
}

first_chunk <- function(readme) {
  from <- which(readme == "library(fumi)")[1]
  seq(from, from + which(readme[-seq_len(from)] == "```")[1] - 1)
}

run_lines <- function(code) {
  parsed <- parse(text = code, keep.source = TRUE)
  where <- utils::getSrcref(parsed)
  env <- new.env(parent = globalenv())
  last <- 0
  unlist(lapply(seq_along(parsed), function(i) {
    lines <- seq(last + 1, where[[i]][3])
    last <<- where[[i]][3]
    said <- utils::capture.output({
      value <- withVisible(eval(parsed[[i]], env))
      if (value$visible) print(value$value)
    })
    c(code[lines], if (length(said)) paste("#>", said))
  }))
}
