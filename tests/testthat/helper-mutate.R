# Damaged copies of a file of `mil_save()`: the n-th mutant of `bytes`, the same at every run.
mutant <- function(bytes, n) {
  state <- n * 7919
  draw <- function(k) {
    state <<- (state * 16807 + 11) %% 2147483647
    1 + state %% k
  }
  for (i in 1:3) draw(2)
  header <- fumi:::file_header
  at <- header + draw(length(bytes) - header)
  flip <- function(i) replace(bytes, i, xor(bytes[i], as.raw(2^(draw(8) - 1))))
  out <- switch(
    1 + n %% 8,
    flip(draw(length(bytes))),
    flip(at),
    head(bytes, draw(length(bytes)) - 1),
    append(bytes, as.raw(replicate(draw(9), draw(256) - 1)), at),
    bytes[-seq(at, length.out = min(draw(16), length(bytes) - at + 1))],
    replace(bytes, seq(at, length.out = 8) %% length(bytes) + 1, fumi:::to_bytes(10^draw(300))),
    replace(bytes, at, as.raw(draw(256) - 1)),
    replace(bytes, 13:20, fumi:::to_bytes(2^draw(60))))
  if (n %% 8 %in% c(0, 7) || length(out) <= header || n %% 5 == 0) out else sealed(out)
}

# With the size and the checksum that belong to the content, so that only the content is wrong.
sealed <- function(bytes) {
  payload <- bytes[-seq_len(fumi:::file_header)]
  c(fumi:::header_bytes(payload), payload)
}

# What came of each mutant: "refused", "model" for one that is whole and can be used (a changed
# number is no damage that shows), or the message of an error of another kind.
try_mutants <- function(bytes, n, x, file = tempfile()) {
  on.exit(unlink(file))
  without_traces()
  vapply(n, function(i) {
    writeBin(mutant(bytes, i), file)
    tryCatch({
      model <- mil_load(file)
      predict(model, x)
      predict(model, x, type = "class")
      "model"
    }, fumi_error = function(e) "refused", error = function(e) paste(i, conditionMessage(e)))
  }, "")
}
