# Starts an R process of its own that runs `lines`, in which `out` is the name of a file; returns
# that name.
apart <- function(lines) {
  script <- tempfile(fileext = ".R")
  out <- tempfile()
  writeLines(c(sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
               "library(fumi)", sprintf("out <- '%s'", out), lines), script)
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), wait = FALSE,
          stdout = FALSE, stderr = FALSE)
  out
}

# What such a process has saved in `out`, a list, once it is there.
saved <- function(out) {
  expect_true(wait_for(function() file.exists(out) && is.list(readRDS(out))))
  readRDS(out)
}

wait_for <- function(ok) for (i in 1:3000) if (isTRUE(try(ok(), TRUE))) return(TRUE) else Sys.sleep(.1)

# Runs `setup` and then `lines`, which make a list `result`, in an R process of its own; sends it
# an interrupt `delay` seconds after `lines` begin, and returns the list. Warnings are gathered, by
# class, in `warned`. One that comes before there is anything whole is sent again, later.
interrupted <- function(setup, lines, delay = 1) {
  out <- apart(c(
    setup, "warned <- NULL", "early <- function(e) result <<- list(early = TRUE)",
    "tryCatch({ cat(Sys.getpid(), file = out)",
    "withCallingHandlers({", lines,
    "}, warning = function(w) { warned <<- c(warned, class(w)); invokeRestart('muffleWarning') })",
    "}, interrupt = early, fumi_error_interrupt = early)",
    "saveRDS(c(result, list(warned = warned)), out)"))
  expect_true(wait_for(function() file.exists(out) && length(scan(out, quiet = TRUE)) == 1))
  pid <- scan(out, quiet = TRUE)
  Sys.sleep(delay)
  tools::pskill(pid, tools::SIGINT)
  result <- saved(out)
  if (isTRUE(result$early) && delay < 60) interrupted(setup, lines, 4 * delay) else result
}

# For two workers: a task of each that ends when both have begun, so that no worker does both.
meeting <- function(folder = tempfile()) {
  dir.create(folder)
  here <- function() length(list.files(folder)) >= 2
  function(...) {
    file.create(tempfile("here", folder))
    for (i in 1:3000) if (here()) break else Sys.sleep(.1)
    Sys.getpid()
  }
}

# interrupt_fit() of every method, in two processes of their own.
interrupted_fits <- function(methods) {
  helpers <- sprintf("source('%s')", normalizePath(test_path(c("helper-contract.R",
                                                               "helper-interrupt.R"))))
  part <- split(methods, seq_along(methods) %% 2)
  outs <- lapply(part, function(names)
    apart(c(helpers, sprintf("saveRDS(lapply(%s, interrupt_fit), out)",
                             paste(deparse(names), collapse = "")))))
  unlist(lapply(outs, saved), recursive = FALSE)
}

# Fits `method` to bags that take it some seconds, the quicker methods to more of them, sends this
# process an interrupt after `delay` seconds, and says what came of it and whether the next fit is
# sound. Seconds are those of the processor. One that comes too early to find anything whole is
# sent again, later, as other processes may be at work; one that comes after the end of a fit is
# sent again, earlier.
interrupt_fit <- function(method, delay = .5) {
  fit <- mil_methods[[method]]
  keeps <- method %in% names(endless_arguments)
  size <- if (method == "sil") c(300, 2500) else if (keeps) c(200, 50) else c(350, 300)
  set.seed(104)
  b <- sim_bags(n_bags = size[1], bag_size = 10, n_features = size[2], noise = .5)
  few <- as.matrix(b)[1:9, ]
  usable <- function(model) all(is.finite(predict(model, few)$.score))
  warned <- NULL
  whole <- function() {
    system(sprintf("(sleep %g; kill -INT %d) &", delay, Sys.getpid()))
    model <- do.call(fit, c(list(b), endless_arguments[[method]]))
    if (identical(model$stop_reason, "interrupt") && usable(model)) "kept" else "not interrupted"
  }
  stopped <- function(e) class(e)[1]
  time <- system.time(outcome <- tryCatch(
    withCallingHandlers(whole(), warning = function(w) {
      warned <<- c(warned, class(w))
      invokeRestart("muffleWarning")
    }), interrupt = stopped, fumi_error_interrupt = stopped))
  if (keeps && outcome %in% c("interrupt", "fumi_error_interrupt") && delay < 10)
    return(interrupt_fit(method, 4 * delay))
  if (outcome == "not interrupted") {
    tryCatch(Sys.sleep(delay + 1), interrupt = identity)
    if (delay > .05) return(interrupt_fit(method, delay / 4))
  }
  next_fit <- fit(sim_bags(n_bags = 10, n_features = ncol(few)))
  list(method = method, outcome = outcome, warned = warned, seconds = sum(time[1:2]) - delay,
       again = usable(next_fit))
}
