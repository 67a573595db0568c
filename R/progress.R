# Progress bars: shown on request, silent otherwise.

# A bar over the iterations of `n_start` starts. `report(s)` is the function that the core calls
# after each iteration of start s (NULL in another process); `done()` closes the bar.
fit_progress <- function(show, n_start, max_iter) {
  if (!show) return(list(report = function(s) NULL, done = function() NULL))
  env <- environment()
  pid <- Sys.getpid()
  status <- ""
  bar <- cli::cli_progress_bar(
    format = "{cli::pb_bar} {cli::pb_percent} | {status} | {cli::pb_eta_str}",
    total = n_start * max_iter, clear = FALSE, .auto_close = FALSE, .envir = env)
  report <- function(s) if (Sys.getpid() == pid) function(it, objective) {
    start <- if (n_start > 1) paste0("start ", s, "/", n_start, " ") else ""
    status <<- paste0(start, "iter ", it, " obj ", format(objective, digits = 4))
    cli::cli_progress_update(set = (s - 1) * max_iter + it, id = bar, .envir = env)
  }
  list(report = report, done = function() cli::cli_progress_done(id = bar, .envir = env))
}

# A bar over tasks: `tick(label)` after each, `done()` at the end.
task_progress <- function(show, name, n) {
  if (!show) return(list(tick = function(label) NULL, done = function() NULL))
  env <- environment()
  status <- ""
  bar <- cli::cli_progress_bar(
    format = paste0(
      name, " {cli::pb_bar} {cli::pb_current}/{cli::pb_total} {status} | {cli::pb_eta_str}"),
    total = n, clear = FALSE, .auto_close = FALSE, .envir = env)
  tick <- function(label) {
    status <<- label
    cli::cli_progress_update(id = bar, .envir = env)
  }
  list(tick = tick, done = function() cli::cli_progress_done(id = bar, .envir = env))
}
