# Long work as a list of tasks: resumable, in parallel when there is a plan for it, each task
# with a random stream of its own, so that neither order nor workers change a number.

# The random stream `i` of `seed`, and of that the substream `j` (L'Ecuyer).
task_stream <- function(seed, i, j = 0) {
  old <- random_state()
  on.exit(restore_random(old))
  set.seed(seed, "L'Ecuyer-CMRG", "Inversion", "Rejection")
  stream <- random_state()
  for (k in seq_len(i)) stream <- parallel::nextRNGStream(stream)
  for (k in seq_len(j)) stream <- parallel::nextRNGSubStream(stream)
  stream
}

# Evaluates `code` with its random numbers from a stream; those of the user go on as if nothing was.
with_stream <- function(stream, code) {
  old <- random_state()
  on.exit(restore_random(old))
  restore_random(stream)
  code
}

random_state <- function() {
  if (!exists(".Random.seed", globalenv(), inherits = FALSE)) stats::runif(1)
  get(".Random.seed", globalenv(), inherits = FALSE)
}

restore_random <- function(state) assign(".Random.seed", state, globalenv())

# f(task) for each of the list `tasks`, which have a `name` each: the results as a list, NULL for
# those that an interrupt left undone. In `dir` each result is kept in a file named after its task,
# with the task itself, and is not computed again. `f` goes to workers with all that it encloses: who makes it forces
# its arguments, or the frames in which they would be evaluated go along.
run_tasks <- function(tasks, f, dir = NULL, progress = FALSE, title = "tasks", call = rlang::caller_env()) {
  if (!is.null(dir) && !dir.exists(dir)) dir.create(dir, recursive = TRUE)
  results <- lapply(tasks, finished_task, dir, call)
  todo <- which(vapply(results, is.null, NA))
  bar <- task_progress(progress, title, length(tasks))
  on.exit(bar$done())
  for (i in setdiff(seq_along(tasks), todo)) bar$tick("kept from before")
  keep <- function(i, result) {
    keep_task(tasks[[i]], result, dir)
    results[[i]] <<- result
    bar$tick(tasks[[i]]$name)
  }
  run <- if (n_workers() > 1) run_on_workers else run_in_turn
  interrupted <- tryCatch({ run(tasks, todo, f, keep, call); FALSE }, interrupt = function(e) TRUE,
                          fumi_error_interrupt = function(e) TRUE)
  done <- sum(!vapply(results, is.null, NA))
  if (interrupted && done == 0)
    stop_fumi("Interrupted: none of ", length(tasks), " ", title, " is done.", class = "interrupt", call = call)
  if (interrupted)
    warn_fumi("Interrupted: ", done, " of ", length(tasks), " ", title, " are done",
              if (!is.null(dir)) ", and kept in `dir`", ".", class = "interrupt", call = call)
  results
}

# The message of an error that ends a task alone; an interrupt ends them all.
why_failed <- function(e) if (inherits(e, "fumi_error_interrupt")) stop(e) else conditionMessage(e)

# Workers are the daemons of mirai if some are set, else those of the plan of the package future.
n_workers <- function() {
  if (has_daemons()) max(1, n_daemons())
  else if (requireNamespace("future", quietly = TRUE)) future::nbrOfWorkers()
  else 1
}

has_daemons <- function() isNamespaceLoaded("mirai") && mirai::daemons_set()

n_daemons <- function() mirai::status()$connections

run_in_turn <- function(tasks, todo, f, keep, call) for (i in todo) keep(i, f(tasks[[i]]))

# As many tasks at a time as there are workers.
run_on_workers <- function(tasks, todo, f, keep, call) {
  busy <- list()
  on.exit(for (job in busy) if (inherits(job$work, "mirai")) mirai::stop_mirai(job$work))
  while (length(todo) || length(busy)) {
    while (length(todo) && length(busy) < n_workers()) {
      busy <- c(busy, list(list(i = todo[1], work = start_job(f, tasks[[todo[1]]], call))))
      todo <- todo[-1]
    }
    over <- vapply(busy, is_over, NA)
    for (job in busy[over]) keep(job$i, job_value(job, tasks[[job$i]], call))
    busy <- busy[!over]
    if (!any(over)) Sys.sleep(0.01)
  }
}

# The task draws from its own stream, which future need not know of (`seed = NULL`).
start_job <- function(f, task, call) {
  if (has_daemons()) return(mirai::mirai(answer(f, task), .args = list(answer = answer, f = f, task = task)))
  rlang::local_options(future.globals.maxSize = Inf)
  from_worker(task, call, future::future(f(task), globals = list(f = f, task = task), packages = "fumi", seed = NULL))
}

# What a daemon sends: an error as it is, with its class.
answer <- function(f, task) tryCatch(list(value = f(task)), error = identity)

# Also when its worker is gone, which job_value() then reports. A task that no daemon is left for would wait for ever.
is_over <- function(job) {
  if (inherits(job$work, "mirai")) return(!mirai::unresolved(job$work) || n_daemons() == 0)
  tryCatch(future::resolved(job$work), FutureError = function(e) TRUE)
}

job_value <- function(job, task, call) {
  if (!inherits(job$work, "mirai")) return(from_worker(task, call, future::value(job$work)))
  sent <- if (!mirai::unresolved(job$work)) job$work$data
  if (inherits(sent, "error")) stop(sent)
  if (!is.list(sent)) stop_gone(task, if (is.character(sent)) sent else "no daemon has an answer.", call)
  sent$value
}

from_worker <- function(task, call, code) {
  tryCatch(code, FutureError = function(e) stop_gone(task, conditionMessage(e), call))
}

stop_gone <- function(task, why, call) {
  stop_fumi("The worker of task ", task$name, " is gone: ", why, class = "worker", call = call)
}

# ---- on disk -----------------------------------------------------------------------------

task_file <- function(task, dir) file.path(dir, paste0(gsub("[^A-Za-z0-9_.-]+", "-", task$name), ".rds"))

finished_task <- function(task, dir, call) {
  if (is.null(dir) || !file.exists(file <- task_file(task, dir))) return(NULL)
  kept <- tryCatch(readRDS(file), error = function(e) NULL)
  if (is.null(kept)) return(NULL)
  if (!identical(kept$task, task_identity(task)))
    stop_fumi("`dir` must be empty or hold results of the same tasks, but ", basename(file),
              " has other parameters.", class = "dir", call = call)
  kept$result
}

# What makes a result that of this task: all but the data.
task_identity <- function(task) task[setdiff(names(task), "data")]

keep_task <- function(task, result, dir) {
  if (!is.null(dir)) save_whole(list(task = task_identity(task), result = result), task_file(task, dir))
}

# Written beside its place and then moved there, so that a file is whole or not there.
save_whole <- function(object, file, ...) {
  saveRDS(object, part <- paste0(file, ".part", Sys.getpid()), ...)
  file.rename(part, file)
}
