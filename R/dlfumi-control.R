#' Options of a DL-FUMI fit
#'
#' Which of three variants of the algorithm [dlfumi()] uses, when it stops, and how it uses the
#' computer. The options may also be given to [dlfumi()] directly.
#'
#' @param variant `"paper"` (default): Algorithm 1 as printed. `"matlab"`: the order and details of
#'   the authors' released code. `"exact"`: each code is the exact minimiser of its part of the
#'   objective. In the first two, codes are thresholded by `lambda` itself after each gradient
#'   step, which amounts to a penalty of `lambda` times the largest eigenvalue of \eqn{D'D}; in
#'   `"exact"`, `lambda` is the penalty.
#' @param inner whole number >= 1, default 50: gradient steps on the codes per iteration
#'   (`"paper"`, `"matlab"`), or between two checks of the duality gap (`"exact"` with
#'   `solver = "ista"`).
#' @param max_iter whole number >= 1, default 100: largest number of iterations.
#' @param tol number >= 0: stop when the objective changes by less than this, relative to the first
#'   objective (absolute for `"matlab"`); with 0 it never stops early. `NULL` (default): 1e-8, or
#'   1e-6 for `"exact"`.
#' @param solver for `"exact"`: `"active"`, an active-set method, or `"ista"`, proximal gradient
#'   steps to convergence, which is slow and meant as a check. `NULL` (default): `"active"`.
#' @param gap number > 0, default 1e-6: relative duality gap to which the codes of `"exact"` are
#'   computed where the active set does not reach the minimum itself: with `solver = "ista"`, and
#'   for linearly dependent atoms.
#' @param dead what happens to an atom that no code uses: `"resample"` (default) replaces it by the
#'   instance that is represented worst (from a positive bag for a target atom, from a negative bag
#'   for a background atom), `"keep"` leaves it as it was, `"drop"` removes it (but never the last
#'   atom of its kind).
#' @param threads whole number >= 1: number of threads. `NULL` (default): the value of
#'   `options(fumi.threads = )`, else of the environment variable `FUMI_THREADS`, else of
#'   `OMP_NUM_THREADS`, else 1. `predict()` uses the option and the variables. It is never more
#'   than the number of processors or `OMP_THREAD_LIMIT`, and always 1 in a forked process
#'   (`parallel::mclapply()`). Results are bitwise the same for any number.
#' @param batch for `"exact"`: whole number >= 1, the size of a mini-batch: atoms are updated after
#'   each mini-batch instead of after each pass over all instances (Mairal et al. 2010). `NULL`
#'   (default): no mini-batches. The size is reduced if an epoch would have fewer than 80
#'   mini-batches. An iteration is then a mini-batch; its objective is an estimate, except for the
#'   last one, which is that of all instances.
#' @param epochs whole number >= 1, default 2: how often a fit by mini-batches visits each
#'   instance; it replaces `max_iter` and `tol`. All instances are visited once more at the end,
#'   for their codes.
#' @param accelerate `TRUE` or `FALSE` (default), for `"exact"` in memory: update the atoms three
#'   times per pass over the instances, with momentum (Nesterov 1983). A step that does not improve
#'   on what the plain step guarantees is undone, and the momentum is reset (O'Donoghue and Candes
#'   2015). On two problems of the size of the paper's it came within 1e-4 of the best objective in
#'   at most a seventh of the time, and on one of 50000 instances in less than half
#'   (`bench/results/acceleration.csv` of the sources). It may end in another optimum than the plain
#'   fit.
#' @param ... must be empty: an unknown argument is an error.
#' @return A list, for the argument `control` of [dlfumi()].
#' @references Mairal, J., Bach, F., Ponce, J. and Sapiro, G. (2010). Online learning for matrix
#'   factorization and sparse coding. *Journal of Machine Learning Research* 11, 19-60.
#'
#'   Nesterov, Y. (1983). A method for solving the convex programming problem with convergence rate
#'   O(1/k^2). *Soviet Mathematics Doklady* 27, 372-376.
#'
#'   O'Donoghue, B. and Candes, E. (2015). Adaptive restart for accelerated gradient schemes.
#'   *Foundations of Computational Mathematics* 15, 715-732.
#' @examples
#' dlfumi_control("exact", max_iter = 50)$tol
#' @export
dlfumi_control <- function(variant = c("paper", "matlab", "exact"), inner = 50, max_iter = 100,
                           tol = NULL, solver = NULL, gap = 1e-6,
                           dead = c("resample", "keep", "drop"), threads = NULL, batch = NULL,
                           epochs = 2, accelerate = FALSE, ...) {
  check_dots_empty(..., known = names(formals()))
  variant <- check_choice(variant, c("paper", "matlab", "exact"), "variant")
  if (is.null(tol)) tol <- if (variant == "exact") 1e-6 else 1e-8
  solvers <- if (variant == "exact") c("active", "ista") else "ista"
  if (is.null(solver)) solver <- solvers[1]
  if (!is.null(batch) && variant != "exact")
    stop_fumi("`batch` must be NULL for `variant = \"", variant,
              "\"`: mini-batches are for \"exact\".")
  accelerate <- check_flag(accelerate, "accelerate")
  if (accelerate && variant != "exact")
    stop_fumi("`accelerate` must be FALSE for `variant = \"", variant,
              "\"`: acceleration is for \"exact\".")
  list(variant = variant,
       inner = check_count(inner, "inner"),
       max_iter = check_count(max_iter, "max_iter", max = 1e6),
       tol = check_number(tol, "tol", min = 0),
       solver = check_choice(solver, solvers, "solver"),
       gap = check_number(gap, "gap", above = 0, max = 1),
       dead = check_choice(dead, c("resample", "keep", "drop"), "dead"),
       threads = if (!is.null(threads)) check_count(threads, "threads"),
       batch = if (!is.null(batch)) check_count(batch, "batch"),
       epochs = check_count(epochs, "epochs"), accelerate = accelerate)
}

# Names of the options that `dlfumi()` also takes directly.
control_names <- function() setdiff(names(formals(dlfumi_control)), "...")

# The options: in `control`, which may be `given`, or `by_name`.
merged_dlfumi_control <- function(control, by_name, given, call = rlang::caller_env()) {
  if (length(by_name) && given)
    stop_fumi("`", names(by_name)[1], "` must be given directly or in `control`, not both.",
              class = "argument", call = call)
  if (length(by_name)) do.call(dlfumi_control, by_name) else check_dlfumi_control(control, call)
}

# For `update()`: options that change by name change those of a `control` that was given, and a new
# `control` replaces options that were given by name. Another variant brings its own defaults of
# `tol` and `solver`.
merge_control <- function(given, changes) {
  if ("control" %in% names(changes)) return(given[!names(given) %in% control_names()])
  by_name <- changes[names(changes) %in% control_names()]
  if (is.null(given$control) || !length(by_name)) return(given)
  if ("variant" %in% names(by_name)) given$control[c("tol", "solver")] <- NULL
  c(given[names(given) != "control"], given$control)
}

check_dlfumi_control <- function(control, call = rlang::caller_env()) {
  if (!is.list(control))
    stop_fumi("`control` must be a list made by `dlfumi_control()`, not ", describe(control), ".",
              call = call)
  do.call(dlfumi_control, control)
}

dlfumi_defaults <- function(variant, noise = "white") {
  matlab <- variant == "matlab"
  background <- noise == "background"
  list(n_target = if (background) 3 else if (matlab) 2 else 4,
       n_background = if (background) 8 else if (matlab) 5 else 15,
       lambda = switch(variant, paper = 0.01, matlab = 0.001, exact = 0.05), beta = 30,
       gamma = 0.001,
       psi = if (matlab) 1.5 else 1)
}
