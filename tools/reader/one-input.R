# What a file may do to the reader of models: `mil_load()` gives a model that can be used, or a condition of ours.
# An input is a file whose first byte is even, or one whose size and checksum were made right, so that what follows
# the header is read.

library(fumi)
options(warn = -1)
model_file <- tempfile(fileext = ".fumi")

one_input <- function(input) {
  bytes <- input[-1]
  if (length(input) && as.integer(input[1]) %% 2) bytes <- c(fumi:::header_bytes(bytes), bytes)
  writeBin(bytes, model_file)
  answer <- tryCatch(used(mil_load(model_file)), fumi_error = conditionMessage)
  place_of(c(answer, how_far(bytes[-seq_len(fumi:::file_header)])))
}

# A model that is let through can be used in each way, or refuses with a condition.
used <- function(model) {
  one <- if (inherits(model, "mil_one_vs_rest")) model$fits[[1]] else model
  x <- matrix(seq_len(3 * one$n_features) / 7, 3, dimnames = list(NULL, one$features))
  uses <- list(
    function() stopifnot(nrow(predict(model, x)) == 3), function() predict(model, x, "class"), function() predict(model, x, "prob"),
    function() predict(model, x, "reconstruction"), function() predict(model, x, bag = c(1, 1, 2), level = "bag"),
    function() coef(model), function() glance(model), function() tidy(model, "params"), function() loss_path(model),
    function() utils::capture.output(print(model), print(summary(model))))
  if (inherits(model, "mil_one_vs_rest")) uses <- uses[c(1, 2, 10)]
  for (use in uses) tryCatch(use(), fumi_error = identity)
  class(model)
}

# What stopped the decoder and how much was left: for the fuzzer, as coverage is for C.
how_far <- function(payload) {
  stopped <- NULL
  note <- function(e) {
    left <- unlist(lapply(sys.frames(), function(f) if (exists("left", f, inherits = FALSE)) f$left))
    stopped <<- c(conditionMessage(e), paste("left", round(8 * left[1] / length(payload))))
  }
  tryCatch(withCallingHandlers({fumi:::decode(payload); "decoded"}, error = note, warning = note), error = function(e) stopped)
}

# A number for each text, of which what was found instead does not count.
place_of <- function(texts) {
  number <- function(t) as.integer(sum(utf8ToInt(rlang::hash(t)) * 31^(0:31 %% 6)) %% 16384)
  vapply(sub("(, (not|but) |[0-9]).*", "", texts), number, 0L, USE.NAMES = FALSE)
}
