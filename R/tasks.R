# Long computations as a list of tasks: resumable, in parallel if there are workers, each task with
# its own random stream, so that results depend neither on the order nor on the workers.

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

# Evaluates `code` with random numbers from a stream, and leaves the user's random state unchanged.
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

# f(task) for each of the list `tasks`, which have a `name` and a `method` each: the results as a
# list, NULL for those that an interrupt left undone. `work` is what open_work() returned: in its
# folder each result is kept in a file named after its task, and is not computed again. `f` is sent
# to workers with its enclosing environment: its maker must force the arguments, or the frames in
# which they would be evaluated are sent too.
run_tasks <- function(tasks, f, work = open_work(), progress = FALSE, title = "tasks",
                      call = rlang::caller_env()) {
  if (!is.null(work$dir)) tasks <- lapply(tasks, identify_task, work)
  results <- lapply(tasks, finished_task, work$dir, call)
  todo <- which(vapply(results, is.null, NA))
  bar <- task_progress(progress, title, length(tasks))
  on.exit(bar$done())
  for (i in setdiff(seq_along(tasks), todo)) bar$tick("kept from before")
  keep <- function(i, result) {
    keep_task(tasks[[i]], result, work)
    results[[i]] <<- result
    bar$tick(tasks[[i]]$name)
  }
  run <- if (n_workers() > 1) run_on_workers else run_in_turn
  interrupted <- tryCatch({ run(tasks, todo, f, keep, call); FALSE }, interrupt = function(e) TRUE,
                          fumi_error_interrupt = function(e) TRUE)
  done <- sum(!vapply(results, is.null, NA))
  if (interrupted && done == 0)
    stop_fumi("Interrupted: none of ", length(tasks), " ", title, " is done.", class = "interrupt",
              call = call)
  if (interrupted)
    warn_fumi("Interrupted: ", done, " of ", length(tasks), " ", title, " are done",
              if (!is.null(work$dir)) ", and kept in `dir`", ".", class = "interrupt", call = call)
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
  if (has_daemons())
    return(mirai::mirai(answer(f, task), .args = list(answer = answer, f = f, task = task)))
  rlang::local_options(future.globals.maxSize = Inf)
  from_worker(task, call, future::future(f(task), globals = list(f = f, task = task),
                                         packages = "fumi", seed = NULL))
}

# What a daemon sends: an error as it is, with its class.
answer <- function(f, task) tryCatch(list(value = f(task)), error = identity)

# Also TRUE if its worker is gone, which job_value() then reports; without any daemon left, a task
# would wait for ever.
is_over <- function(job) {
  if (inherits(job$work, "mirai")) return(!mirai::unresolved(job$work) || n_daemons() == 0)
  tryCatch(future::resolved(job$work), FutureError = function(e) TRUE)
}

job_value <- function(job, task, call) {
  if (!inherits(job$work, "mirai")) return(from_worker(task, call, future::value(job$work)))
  sent <- if (!mirai::unresolved(job$work)) job$work$data
  if (inherits(sent, "error")) stop(sent)
  if (!is.list(sent)) stop_gone(task, if (is.character(sent)) sent else "no daemon has an answer.",
                                call)
  sent$value
}

from_worker <- function(task, call, code) {
  withCallingHandlers(tryCatch(code, FutureError = function(e)
    stop_gone(task, conditionMessage(e), call)), fumi_warning_max_iter = say_once)
}

# Repeats a worker's once-per-session warning at most once in this session.
say_once <- function(w) {
  warn_fumi(sub("\n.*", "", conditionMessage(w)), class = "max_iter", call = w$call,
            once = "fumi_max_iter")
  rlang::cnd_muffle(w)
}

stop_gone <- function(task, why, call) {
  stop_fumi("The worker of task ", task$name, " is gone: ", why, class = "worker", call = call)
}

# ---- on disk -----------------------------------------------------------------------------

# A folder for results, made if it is not there. `parts` is a named list of what decides every
# result in it, such as the data; their hashes and the version are its identity. `drawn`: random
# values that the tasks start from, such as folds and a seed; a folder with results of the same
# work returns those with which they were made.
open_work <- function(dir = NULL, parts = list(), drawn = NULL, call = rlang::caller_env()) {
  if (is.null(dir)) return(list(dir = NULL, drawn = drawn))
  if (!rlang::is_string(dir) || !nzchar(dir))
    stop_fumi("`dir` must be the name of a folder, not ", describe(dir), ".", call = call)
  if (!dir.exists(dir) && !dir.create(dir, showWarnings = FALSE, recursive = TRUE) ||
      file.access(dir, 2) != 0)
    stop_fumi("`dir` must be a folder that can be written to, but ", describe(dir), " is not.",
              class = "dir", call = call)
  identity <- c(vapply(parts, fingerprint, ""),
                version = as.character(utils::packageVersion("fumi")))
  for (file in list.files(dir, "[.]rds$", full.names = TRUE)) {
    kept <- read_task(file)
    if (is.null(kept)) next
    check_same_work(kept$identity[names(kept$identity) != "method"], identity, file, call)
    return(list(dir = dir, identity = identity, drawn = kept$drawn))
  }
  list(dir = dir, identity = identity, drawn = drawn)
}

identify_task <- function(task, work) {
  task$identity <- c(work$identity, method = fingerprint(task$method))
  task
}

# Names what differs: parts that one identity lacks, or that have different hashes.
check_same_work <- function(kept, now, file, call) {
  parts <- union(names(now), names(kept))
  differ <- parts[is.na(kept[parts]) | is.na(now[parts]) | kept[parts] != now[parts]]
  if (is.null(kept)) differ <- "version"
  if (length(differ))
    stop_fumi("`dir` must be empty or hold results of the same work, but ", basename(file),
              " was made with ",
              paste(ifelse(differ %in% names(part_words), part_words[differ],
                           paste("another", differ)), collapse = ", "),
              ": use another folder.", class = "dir", call = call)
}

part_words <- c(data = "other data", folds = "other folds",
                method = "another method or other parameters")

# Names that are changed to be names of files still differ.
task_file <- function(task, dir) {
  name <- gsub("[^A-Za-z0-9_.-]+", "-", task$name)
  if (name != task$name) name <- paste0(name, "-", substr(rlang::hash(enc2utf8(task$name)), 1, 8))
  file.path(dir, paste0(name, ".rds"))
}

# The content of a file, or NULL if it is incomplete.
read_task <- function(file) {
  kept <- tryCatch(readRDS(file), error = function(e) NULL, warning = function(w) NULL)
  if (is.null(kept) || is.list(kept)) kept else list(result = kept)
}

finished_task <- function(task, dir, call) {
  if (is.null(dir) || !file.exists(file <- task_file(task, dir))) return(NULL)
  kept <- read_task(file)
  if (is.null(kept)) return(NULL)
  check_same_work(kept$identity, task$identity, file, call)
  kept$result
}

keep_task <- function(task, result, work) {
  if (!is.null(work$dir))
    save_whole(list(identity = task$identity, drawn = work$drawn, result = result),
               task_file(task, work$dir))
}

# Writes to a temporary file and renames it, so that a file is either complete or absent.
save_whole <- function(object, file, ...) {
  saveRDS(object, part <- paste0(file, ".part", Sys.getpid()), ...)
  file.rename(part, file)
}

# ---- what makes work the same -------------------------------------------------------------

# A hash of any value that is the same in another session. A function is hashed by its code and by
# the outside values that it refers to, not by where its code was written or whether it is
# compiled; a package's function by its name.
fingerprint <- function(x) {
  # version 2 knows no compact forms of vectors
  bytes <- serialize(portable(x, list()), NULL, xdr = FALSE, version = 2)
  # after the header, which has R's version
  rlang::hash(bytes[-seq_len(14)])
}

# The same value without functions and environments. `seen`: the environments that enclose it.
portable <- function(x, seen) {
  if (is.function(x)) return(portable_function(x, seen))
  if (is.environment(x)) return(portable_environment(x, seen))
  if (is.language(x)) return(exact_code(x))
  if (typeof(x) == "externalptr") return(class(x))
  kept <- attributes(x)
  kept$srcref <- NULL
  kept <- kept[sort(names(kept))]
  if (is.list(x)) x <- lapply(unclass(x), portable, seen) else attributes(x) <- NULL
  if (length(kept)) list(x, lapply(kept, portable, seen)) else x
}

exact_code <- function(x) deparse(x, control = c("keepNA", "keepInteger", "niceNames", "digits17"))

portable_function <- function(f, seen) {
  if (is.primitive(f)) return(c("primitive", exact_code(f)))
  home <- environment(f)
  if (isNamespace(home)) {
    name <- Filter(function(n) identical(get0(n, home, inherits = FALSE), f),
                   ls(home, all.names = TRUE))
    if (length(name)) return(c(getNamespaceName(home), getNamespaceVersion(home), name[[1]]))
  }
  list(exact_code(as.list(formals(f))), exact_code(body(f)),
       portable_names(free_names(f), home, seen))
}

# The values of those of `names` that are bound in `home` or around it, up to the user's workspace.
portable_names <- function(names, home, seen) {
  values <- list()
  while (!isNamespace(home) && !identical(home, emptyenv()) && !identical(home, baseenv()) &&
         is.null(attr(home, "path"))) {
    here <- intersect(sort(names), ls(home, all.names = TRUE))
    at <- function(n) any(vapply(seen, identical, NA, list(home, n)))
    for (n in here) if (!at(n))
      values[[n]] <- portable(tryCatch(value_of(n, home), error = function(e) NULL),
                              c(seen, list(list(home, n))))
    names <- setdiff(names, here)
    home <- if (identical(home, globalenv())) emptyenv() else parent.env(home)
  }
  values
}

value_of <- function(name, env) {
  if (name == "...") eval(quote(list(...)), env) else get(name, env)
}

portable_environment <- function(env, seen) {
  if (isNamespace(env)) return(getNamespaceName(env))
  if (identical(env, globalenv()) || identical(env, baseenv()) || identical(env, emptyenv()))
    return(environmentName(env))
  if (any(vapply(seen, identical, NA, env))) return("an environment that this is inside of")
  portable(as.list.environment(env, all.names = TRUE, sorted = TRUE), c(seen, list(env)))
}

# The generics that a method of your own may have methods for.
method_generics <- c("score_instances", "score_bags", "code_instances", "weight_instances",
                     "probability_curves")

# Names in a function that it does not surely assign before it uses them; those after `$` are no
# variables. A string may be the class that the function gives a fit, whose methods it then uses.
free_names <- function(f) {
  used <- character()
  # Returns `bound` and the names that `e` surely assigns.
  walk <- function(e, bound) {
    if (is.name(e)) used <<- c(used, setdiff(as.character(e), bound))
    if (is.character(e)) used <<- c(used, paste0(method_generics, ".", e[1]))
    if (!is.call(e)) return(bound)
    head <- if (is.name(e[[1]])) as.character(e[[1]]) else ""
    if (head %in% c("<-", "=") && is.name(e[[2]]))
      return(c(walk(e[[3]], bound), as.character(e[[2]])))
    if (head %in% c("{", "("))
      return(Reduce(function(known, part) walk(part, known), as.list(e)[-1], bound))
    if (head == "function") walk_function(e[[2]], e[[3]], bound)
    else if (head == "for") walk(e[[4]], c(walk(e[[3]], bound), as.character(e[[2]])))
    else if (head == "if" && length(e) == 4)
      return(intersect(walk(e[[3]], walk(e[[2]], bound)), walk(e[[4]], bound)))
    else walk_all(switch(head, `$` = , `@` = e[1:2], `::` = , `:::` = list(), e), bound)
    bound
  }
  walk_all <- function(parts, bound) {
    for (part in Filter(function(e) !identical(e, quote(expr = )), as.list(parts)))
      walk(part, bound)
  }
  walk_function <- function(formals, body, bound) {
    bound <- c(bound, names(formals))
    walk_all(formals, bound)
    walk(body, bound)
  }
  walk_function(formals(f), body(f), character())
  unique(used)
}
