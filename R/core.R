# What all methods share on their way to the core.

# One factor per instance, which the core applies as it reads X.
instance_scale <- function(x, normalize) {
  if (normalize != "unit") rep(1, ncol(x))
  else if (is_sparse(x)) sparse_unit_scale(x)
  else .Call(ffi_unit_scale, x)
}

# The widest inner loops that the core may run, as fumi_choose_kernel() takes it; 0: any.
simd <- function() {
  asked <- getOption("fumi.simd", Sys.getenv("FUMI_SIMD"))
  if (identical(asked, "portable")) 1L else if (identical(asked, "avx2")) 2L else 0L
}

# Remembers the process that loaded the package, and whether that was a fork.
loaded <- new.env(parent = emptyenv())
.onLoad <- function(libname, pkgname) {
  loaded$pid <- Sys.getpid()
  loaded$by_fork <- is_fork()
}

# Whether this process is a fork that has not started a program of its own, as a child of
# parallel::mclapply() is. `parallel` knows its own; Linux knows all (the flag PF_FORKNOEXEC, 64).
is_fork <- function(stat = "/proc/self/stat") {
  is_child <- get0("isChild", asNamespace("parallel"), mode = "function", inherits = FALSE)
  if (!is.null(is_child) && isTRUE(is_child())) return(TRUE)
  line <- tryCatch(suppressWarnings(readLines(stat, 1)), error = function(e) "")
  after_name <- strsplit(sub("^.*[)] ", "", line), " ")
  flags <- suppressWarnings(as.numeric(unlist(after_name)[7]))
  isTRUE(flags %/% 64 %% 2 == 1)
}

# The number of threads: as given, else by option, else by FUMI_THREADS, else by OMP_NUM_THREADS,
# else 1. It is at most the number of processors and OMP_THREAD_LIMIT. A forked process gets 1:
# OpenMP's threads do not survive a fork, and if this or another package has used some before, the
# child would wait for them for ever.
n_threads <- function(threads = NULL, call = rlang::caller_env()) {
  threads <- asked_threads(threads, call)
  if (Sys.getpid() != loaded$pid || loaded$by_fork) return(1L)
  min(threads, n_cores(), openmp_number("OMP_THREAD_LIMIT"))
}

asked_threads <- function(threads, call) {
  if (is.null(threads)) threads <- getOption("fumi.threads")
  if (!is.null(threads)) return(check_count(threads, "fumi.threads", call = call))
  own <- Sys.getenv("FUMI_THREADS")
  if (nzchar(own))
    return(check_count(utils::type.convert(own, as.is = TRUE), "FUMI_THREADS", call = call))
  c(openmp_number("OMP_NUM_THREADS"), 1L)[1]
}

# A number among OpenMP's environment variables, or NULL; of several ("4,2") the first counts.
openmp_number <- function(name) {
  value <- suppressWarnings(as.integer(sub(",.*", "", Sys.getenv(name))))
  if (!is.na(value) && value >= 1) value
}

# Processors that threads of this process may run on; 1 if the package was built without OpenMP.
n_cores <- function() .Call(ffi_n_cores)

# Clusters of the instances after the first `n_positive`: list(centres, n_distinct, status).
# `draws` are uniform random numbers, one for each centre.
cluster_instances <- function(x, scale, draws, n_positive = 0L, max_iter = 50L, threads = NULL) {
  .Call(ffi_kmeans, x, scale, n_positive, draws,
        list(max_iter = max_iter, simd = simd(), threads = n_threads(threads)))
}

# Turns an unfinished status of the core into an error.
check_status <- function(status, call = rlang::caller_env(2)) {
  if (status == "interrupt")
    stop_fumi("Interrupted before all instances were done: there is no complete result to return.",
              class = "interrupt", call = call)
  if (status == "memory") stop_fumi("Not enough memory.", class = "memory", call = call)
  if (status == "singular") stop_fumi("LAPACK failed on the Gram matrix of the atoms.",
                                      class = "singular", call = call)
}

# What every fitter requires of its bags: both labels, enough memory, instances that are not all
# zero, and squares that do not overflow. The method holds `copies` of the instances and `more`
# doubles at once. Bags in parts and sparse features are passed on only to methods that say that
# they take them.
check_trainable <- function(b, normalize, copies, more = 0, shards = FALSE, sparse = FALSE,
                            call = rlang::caller_env()) {
  if (inherits(b, "bag_shards") && !shards)
    stop_fumi("`x` must be in memory for this method, not in parts.",
              class = "type", call = call)
  check_both_labels(b, call)
  if (!sparse) b <- dense_bags(b, call = call)
  check_memory(8 * (copies * n_stored(b$x) + more), call)
  facts <- if (inherits(b, "bag_shards")) b else instance_facts(b)
  for (kind in c("positive", "negative"))
    if (!facts$nonzero[[kind]])
      stop_fumi("`x` must have values other than 0, but all instances of ", kind, " bags are 0.",
                class = "scale", call = call)
  check_largest(facts$largest, "x", normalize, call)
  b
}

instance_facts <- function(b) {
  nonzero <- instance_scale(b$x, "unit") != 0
  n <- sum(nonzero[seq_len(b$n_positive)])
  list(nonzero = c(positive = n > 0, negative = sum(nonzero) > n),
       largest = largest_value(b$x))
}

# range() would copy x.
largest_value <- function(x) {
  if (is_sparse(x)) x <- x@x
  max(x, 0, -min(x, 0))
}

# Squares (normalize "none") and norms must not overflow.
check_largest <- function(x, name, normalize, call) {
  limit <- if (identical(normalize, "unit")) 1e300 else 1e100
  largest <- largest_value(x)
  if (largest > limit)
    stop_fumi("`", name, "` must stay below ", limit, " with `normalize = \"", normalize,
              "\"`, but its largest value is ", signif(largest, 3), ": rescale the data.",
              class = "scale", call = call)
}

# sd, or 1 where that is 0: a divisor for standardised scores.
positive_sd <- function(x) {
  s <- stats::sd(x)
  if (is.na(s) || s == 0) 1 else s
}

# Instances of the negative bags, one per row, normalised.
normalised_negatives <- function(b, scale) {
  negative <- !in_positive(b)
  t(b$x[, negative, drop = FALSE]) * scale[negative]
}

# f(1), ..., f(n) as a list, in which an interrupt keeps what is done: the attribute
# "interrupted" says whether the list is cut short or its last fit is.
keep_until_interrupt <- function(n, f, call = rlang::caller_env()) {
  done <- list()
  interrupted <- FALSE
  for (i in seq_len(n)) {
    stopped <- function(e) if (i == 1) check_status("interrupt", call) else NULL
    one <- tryCatch(f(i), fumi_error_interrupt = stopped, interrupt = stopped)
    if (!is.null(one)) done[[i]] <- one
    interrupted <- is.null(one) || identical(one$stop_reason, "interrupt")
    if (interrupted) break
  }
  structure(done, interrupted = interrupted)
}

# The same for starts, whose random numbers have been drawn: on the workers, if there are any.
run_starts <- function(n, f, call = rlang::caller_env()) {
  if (n == 1 || n_workers() == 1) return(keep_until_interrupt(n, f, call))
  tasks <- lapply(seq_len(n), function(s) list(name = paste("start", s), start = s))
  fits <- vector("list", n)
  keep <- function(s, fit) fits[[s]] <<- fit
  stopped <- function(e) NULL
  tryCatch(run_on_workers(tasks, seq_len(n), function(task) f(task$start), keep, call),
           fumi_error_interrupt = stopped, interrupt = stopped)
  done <- !vapply(fits, is.null, NA)
  if (!any(done)) check_status("interrupt", call)
  structure(fits[done], interrupted = !all(done))
}

# Why an iteration ended: the value of `reason`, or "interrupt" if one comes once it has `started`;
# an earlier one goes on to the user. Both are evaluated here, when they are needed.
until_interrupt <- function(reason, started, call = rlang::caller_env()) {
  stopped <- function(e) if (started) "interrupt" else check_status("interrupt", call)
  tryCatch(reason, fumi_error_interrupt = stopped, interrupt = stopped)
}

warn_interrupted <- function(fits, n_start, call) {
  if (attr(fits, "interrupted"))
    warn_fumi("Interrupted: the fit holds the last complete iteration of start ", length(fits),
              " of ", n_start, ".", class = "interrupt", call = call)
}

# Which columns of `b$x` are instances of positive bags.
in_positive <- function(b) seq_along(b$bag) <= b$n_positive

# Bags with their instances in an order that depends on the instances alone, positive bags first,
# and bags numbered as they appear. Random draws of instances or bags, and the point near the
# optimum where a solver stops, depend on that order, so the user's order makes no difference. Ties
# between equal instances are broken by all the instances of their bags.
sort_instances <- function(b) {
  direction <- cos(seq_len(nrow(b$x)))
  mixture <- if (is_sparse(b$x)) drop(cross(b$x, direction)) else colSums(b$x * direction)
  place <- sprintf("%012.1f", rank(mixture))
  contents <- vapply(split(place, b$bag), function(part) paste(sort(part), collapse = " "), "")
  sorted <- order(!in_positive(b), mixture, rank(contents, ties.method = "first")[b$bag])
  b$x <- b$x[, sorted, drop = FALSE]
  number <- unique(b$bag[sorted])
  b$bag <- match(b$bag[sorted], number)
  b$ids <- b$ids[number]
  b$label <- b$label[number]
  b$order <- b$order[sorted]
  b$truth <- b$truth[sorted]
  b
}

# Weights of a linear classifier of LiblineaR's `type` with balanced classes, and its bias,
# positive where `positive` is TRUE.
linear_classifier <- function(x, positive, type, cost, ...) {
  weight <- length(positive) / (2 * c(positive = sum(positive), negative = sum(!positive)))
  fit <- LiblineaR::LiblineaR(liblinear_rows(x), factor(ifelse(positive, "positive", "negative")),
                              type = type, cost = cost, bias = 1, wi = weight, ...)
  sign <- if (fit$ClassNames[1] == "positive") 1 else -1
  list(weights = sign * unname(fit$W[1, seq_len(ncol(x))]), bias = sign * fit$W[[1, ncol(x) + 1]])
}
