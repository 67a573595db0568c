# Bags in parts ("shards"): a fit needs only sums over its instances, so each shard may be in
# another process or on another machine, or be read when it is needed. A worker keeps its shards
# and their codes; it receives the dictionary and returns sums.

#' Bags in parts, for large data or several machines
#'
#' Splits data into parts for [dlfumi()], for data that do not fit into memory or for several
#' machines. Only the dictionary is sent to a part, and only the sums \eqn{U = X W'},
#' \eqn{S = A W'} and the terms of the objective are returned, so the fit is that to all instances
#' together (up to rounding, and bitwise the same for any number of workers). If there are several
#' workers, they process the parts: daemons of the package mirai, if set by `mirai::daemons()`,
#' else those of a [future::plan()]. Otherwise the parts are processed one after another in this
#' process.
#'
#' @details
#' A worker loads a part once and keeps it as long as it is given the same parts; this process
#' holds one part at a time and reads each part in each iteration. The codes (atoms x instances)
#' are kept in memory and, with workers, also in files in `dir`, so that one worker can take over
#' from another; all workers must have access to `dir` and to the files in `x`. If a worker dies,
#' the fit ends with an error of class `fumi_error_worker`, unless it is an idle daemon: then the
#' others take its parts. With `dlfumi_control(batch = )` parts are read in this process, in random
#' order, two at a time: one for the positive and one for the negative instances of a mini-batch.
#'
#' The start `init = "paper"` uses all instances if there are at most 1000, or at most as many as
#' in the largest part, otherwise a random sample of that size. `combine = "average"` and
#' `keep_background` need all instances at once and are refused.
#'
#' @param x the parts: [bags()], which are split into `n` parts with equal numbers of instances; a
#'   character vector of files, each with [bags()] written by [saveRDS()]; or a list of functions
#'   without arguments that return [bags()]. Instances of one bag may be in several parts.
#' @param n whole number >= 1, default 2: number of parts of `bags`; the number of workers is a
#'   good choice.
#' @param dir string, default a temporary directory, which is deleted with the session: the
#'   directory for the parts of `bags` and for codes, created if it does not exist. The files of
#'   codes are deleted after the fit.
#' @param ... must be empty: an unknown argument is an error.
#' @return An object of class `bag_shards`, for [dlfumi()] and [predict()][predict.mil_model()].
#' @seealso [dlfumi()], [predict.mil_model()]
#' @examples
#' set.seed(1)
#' b <- sim_bags(n_bags = 20, bag_size = 5, image_dim = c(8, 8))
#' parts <- bag_shards(b, n = 2)
#' fit <- dlfumi(parts, n_target = 1, n_background = 3)
#' head(predict(fit, parts, level = "bag"))
#' @export
bag_shards <- function(x, n = 2, ..., dir = tempfile("shards")) {
  check_dots_empty(..., known = names(formals()))
  if (!rlang::is_string(dir))
    stop_fumi("`dir` must be the name of a directory, not ", describe(dir), ".")
  if (!dir.exists(dir)) dir.create(dir, recursive = TRUE)
  dir <- normalizePath(dir)
  if (inherits(x, "bags"))
    x <- write_shards(dense_bags(x, "`bag_shards()`"), check_count(n, "n"), dir)
  if (is.character(x)) x <- lapply(x, file_loader)
  if (!is.list(x) || length(x) == 0 || !all(vapply(x, is.function, NA)))
    stop_fumi("`x` must be bags, names of files, or a list of functions, not ", describe(x), ".",
              class = "type")
  new_shards(x, dir)
}

write_shards <- function(b, n, dir, call = rlang::caller_env()) {
  size <- length(b$order)
  if (n > size)
    stop_fumi("`n` must be at most the number of instances (", size, "), not ", n, ".", call = call)
  part <- ceiling(b$order * n / size)
  vapply(seq_len(n), function(i) {
    file <- file.path(dir, paste0("shard-", i, ".rds"))
    saveRDS(take_columns(b, which(part == i)), file, compress = FALSE)
    file
  }, "")
}

file_loader <- function(file) {
  force(file)
  function() {
    if (!file.exists(file))
      stop_fumi("`x` must name existing files, but ", file, " does not exist.", call = NULL)
    readRDS(file)
  }
}

# Bags without their instances: `x` has no columns, everything else is that of all parts together.
# `at`: the indices of the instances of each part among all.
new_shards <- function(load, dir, call = rlang::caller_env()) {
  shards <- list(load = load, dir = dir, key = basename(tempfile("key")))
  parts <- map_shards(shards, shard_summary, call = call)
  for (what in c("n_features", "features", "classes", "image_dim"))
    for (i in seq_along(parts)) if (!identical(parts[[i]][[what]], parts[[1]][[what]]))
      stop_fumi("`x` must have parts of the same ", sub("n_", "number of ", what), ", but part ", i,
                " differs from part 1.", call = call)
  all_of <- function(what) unlist(lapply(parts, `[[`, what))
  size <- lengths(lapply(parts, `[[`, "order"))
  order <- all_of("order") + rep(cumsum(size) - size, size)
  positive <- all_of("positive")
  bag <- all_of("bag")
  ids <- unique(bag[order(order)])
  label <- positive[match(ids, bag)]
  mixed <- bag[positive != label[match(bag, ids)]]
  if (length(mixed))
    stop_fumi("`label` must be the same for all instances of a bag, but bag ", mixed[1],
              " has both.", class = "label", call = call)
  first <- order(!positive, order)
  facts <- list(nonzero = Reduce(`|`, lapply(parts, `[[`, "nonzero")),
                largest = max(all_of("largest")))
  structure(
    c(shards, facts,
      list(x = matrix(0, parts[[1]]$n_features, 0,
                      dimnames = if (!is.null(parts[[1]]$features)) list(parts[[1]]$features)),
           n_positive = sum(positive), bag = match(bag, ids)[first], ids = ids, label = label,
           classes = parts[[1]]$classes, order = order[first], image_dim = parts[[1]]$image_dim,
           features = parts[[1]]$features, at = unname(split(order(first),
                                                             rep(seq_along(size), size))))),
    class = "bag_shards")
}

shard_summary <- function(b, ...) {
  c(instance_facts(b),
    list(n_features = nrow(b$x), features = b$features, classes = b$classes,
         image_dim = b$image_dim, positive = in_positive(b), bag = b$ids[b$bag], order = b$order))
}

#' @export
length.bag_shards <- function(x) length(x$ids)

#' @export
print.bag_shards <- function(x, ...) {
  cat(pluralize("{length(x$ids)} bag{?s}"), ": ", sum(x$label), " positive (label ",
      x$classes[2], "), ", sum(!x$label), " negative (", x$classes[1], ")\n",
      pluralize("{length(x$bag)} instance{?s} of {nrow(x$x)} feature{?s} "),
      pluralize("in {length(x$load)} part{?s}"), "\n", sep = "")
  invisible(x)
}

#' @export
summary.bag_shards <- function(object, ...) summary.bags(object)

#' @rdname bags
#' @export
bags.bag_shards <- function(x, ...) {
  check_made(...)
  x
}

# ---- work on parts --------------------------------------------------------------------------

# f(bags of the part, its number, args) for each part. Workers get equal numbers of parts, and the
# same ones in each call as long as all are idle when it begins.
map_shards <- function(shards, f, args = list(), call = rlang::caller_env()) {
  n <- length(shards$load)
  workers <- min(n_workers(), n)
  share <- unname(split(seq_len(n), sort(rep_len(seq_len(workers), n))))
  tasks <- lapply(share, function(numbers)
    list(name = paste("part", numbers[1]), numbers = numbers, load = shards$load[numbers],
         key = shards$key, keep = if (workers > 1) length(numbers) else 1, f = f, args = args))
  results <- vector("list", workers)
  keep <- function(i, result) results[[i]] <<- result
  if (workers == 1 && n > 1) on.exit(shard_cache$parts <- NULL)
  if (is.null(args$fit)) on.exit(shard_cache$known <- NULL, add = TRUE)
  run <- if (workers > 1) run_on_workers else run_in_turn
  run(tasks, seq_along(tasks), run_shards, keep, call)
  unlist(results, recursive = FALSE)
}

run_shards <- function(task) {
  lapply(seq_along(task$numbers), function(j) task$f(load_shard(task, j), task$numbers[j],
                                                     task$args))
}

# What this process holds: parts, and the states of fits on them.
shard_cache <- new.env(parent = emptyenv())

load_shard <- function(task, j) {
  name <- paste(task$key, task$numbers[j])
  if (!identical(shard_cache$key, task$key)) shard_cache$known <- NULL
  shard_cache$key <- task$key
  if (is.null(shard_cache$parts[[name]])) {
    shard_cache$parts <- utils::tail(shard_cache$parts, task$keep - 1)
    b <- task$load[[j]]()
    if (!inherits(b, "bags"))
      stop_fumi("`x` must hold parts that are bags, but part ", task$numbers[j], " is ",
                describe(b), ".", class = "type", call = NULL)
    b$name <- name
    shard_cache$parts <- c(shard_cache$parts, stats::setNames(list(b), name))
  }
  shard_cache$parts[[name]]
}

# What is computed once for a part, even if the part is read again in each pass.
known_of <- function(b, what, compute) {
  if (is.null(shard_cache$known[[b$name]][[what]])) shard_cache$known[[b$name]][[what]] <- compute
  shard_cache$known[[b$name]][[what]]
}

shard_scale <- function(b, normalize) {
  if (normalize == "unit") known_of(b, "unit", instance_scale(b$x, "unit")) else rep(1, ncol(b$x))
}

# Squared norms of the scaled instances.
shard_norms <- function(b, normalize) {
  compute <- function() {
    out <- .Call(ffi_squared_norms, b$x, shard_scale(b, normalize), simd())
    check_status(out$status)
    out$norm2
  }
  known_of(b, paste("norms", normalize), compute())
}

# Codes and p of a part after iteration `it`; those of the last two are kept, because an
# interrupted iteration is undone.
state_name <- function(args, i, it) paste(args$fit, i, it %% 2, sep = "-")
state_file <- function(args, i, it) file.path(args$dir, paste0(state_name(args, i, it), ".rds"))

put_state <- function(args, i, it, state) {
  if (!identical(shard_cache$fit, args$fit)) shard_cache$states <- list()
  shard_cache$fit <- args$fit
  state$it <- it
  shard_cache$states[[state_name(args, i, it)]] <- state
  if (!is.null(args$dir)) save_whole(state, state_file(args, i, it), compress = FALSE)
}

get_state <- function(args, i, it) {
  state <- shard_cache$states[[state_name(args, i, it)]]
  if (identical(state$it, it)) return(state)
  if (is.null(args$dir) || !file.exists(file <- state_file(args, i, it))) return(NULL)
  state <- readRDS(file)
  if (identical(state$it, it)) state
}

need_state <- function(args, i, it) {
  state <- get_state(args, i, it)
  if (is.null(state))
    stop_fumi("The codes of part ", i, " are lost: `dir` must be the same folder for all workers.",
              class = "worker", call = NULL)
  state
}

forget_shards <- function(args, b) {
  rm(list = ls(shard_cache), envir = shard_cache)
  files <- lapply(seq_along(b$load), function(i) state_file(list(fit = args$fit, dir = b$dir), i,
                                                            0:1))
  unlink(unlist(files))
}

# ---- a fit ---------------------------------------------------------------------------------------

# A fit whose instances are kept by two functions (dlfumi_keeper in core.h): pass(kind, D) gives
# sums, or NULL if they are not finite, worst(target, D) an instance. An interrupt of a worker
# stops the core as one of this process does.
fit_kept <- function(start, par, report, pass, worst, call) {
  diverged <- FALSE
  stopping <- function(code) tryCatch(code, fumi_error_interrupt = function(e) rlang::interrupt())
  sums_or_null <- function(kind, D) stopping({
    sums <- pass(kind, D)
    diverged <<- is.null(sums)
    sums
  })
  out <- .Call(ffi_dlfumi_fit_kept, start$dictionary, par, report, sums_or_null,
               function(target, D) stopping(worst(target, D)))
  if (diverged) out$status <- "nonfinite"
  if (out$status != "nonfinite" && out$n_iter == 0) check_status(out$status, call)
  out
}

shards_fit <- function(b, start, spec, report, call) {
  args <- list(fit = basename(tempfile("fit")), dir = if (n_workers() > 1) b$dir,
               par = dlfumi_par(spec),
               n_target = spec$n_target, nonneg = spec$nonneg, normalize = spec$normalize, it = 0)
  on.exit(forget_shards(args, b))
  taken <- list()
  pass <- function(kind, D) {
    if (kind %in% c("paper", "matlab")) args$it <<- args$it + 1
    taken <<- lapply(b$load, function(i) integer())
    sum_parts(map_shards(b, shard_pass, c(args, list(kind = kind, D = D)), call))
  }
  worst <- function(target, D) {
    found <- map_shards(b, shard_worst, c(args, list(target = target, D = D, taken = taken)), call)
    i <- which.max(vapply(found, `[[`, 0, "residual"))
    if (found[[i]]$worst > 0) taken[[i]] <<- c(taken[[i]], found[[i]]$worst)
    found[[i]]$x
  }
  put_starts(args, b, start$codes, spec)
  out <- fit_kept(start, args$par, report, pass, worst, call)
  if (out$status == "nonfinite") return(out)
  args$it <- as.numeric(out$n_iter)
  c(out, gather_codes(b, map_shards(b, shard_state, args, call), ncol(out$dictionary)))
}

# The states of parts before the first pass: codes of a given start, weights and prior.
put_starts <- function(args, b, codes, spec) {
  if (is.null(codes) && is.null(spec$weight) && is.null(spec$prior)) return()
  for (i in seq_along(b$load)) {
    at <- b$at[[i]]
    put_state(args, i, 0, list(codes = if (!is.null(codes)) codes[, at, drop = FALSE],
                               weight = spec$weight[at],
                               prior = spec$prior[at[at <= b$n_positive]]))
  }
}

shard_pass <- function(b, i, args) {
  from <- if (args$kind %in% c("start", "objective")) args$it else args$it - 1
  scale <- shard_scale(b, args$normalize)
  state <- if (from > 0) need_state(args, i, from) else get_state(args, i, 0)
  if (is.null(state$codes)) state$codes <- start_codes(b, scale, args, args$D, NULL)
  if (is.null(state$p_next)) state$p_next <- numeric(b$n_positive)
  out <- .Call(ffi_dlfumi_pass, b$x, scale, b$n_positive, args$kind, args$D, state$codes,
               state$p_next, par_here(args$par), state$weight, state$prior,
               shard_norms(b, args$normalize))
  check_status(out$status)
  if (out$status == "ok" && args$kind != "objective")
    put_state(args, i, args$it, c(out[c("codes", "p", "p_next")], state[c("weight", "prior")]))
  out[c("U", "S", "terms", "status")]
}

# The parameters of a fit in the process that works on a part, which may have fewer processors or
# be a fork.
par_here <- function(par) {
  par$threads <- n_threads(par$threads)
  par
}

shard_worst <- function(b, i, args) {
  state <- need_state(args, i, args$it)
  found <- .Call(ffi_dlfumi_worst, b$x, shard_scale(b, args$normalize), b$n_positive, args$target,
                 args$D, state$codes, state$p_next, args$taken[[i]], par_here(args$par),
                 shard_norms(b, args$normalize))
  check_status(found$status)
  if (found$worst > 0) found$x <- b$x[, found$worst]
  found
}

shard_state <- function(b, i, args) {
  state <- need_state(args, i, args$it)
  state[c("codes", "p")]
}

# Sums in the order of the parts; NULL, which stops the fit, if a pass met a number that is not
# finite.
sum_parts <- function(parts) {
  if (any(vapply(parts, `[[`, "", "status") != "ok")) return(NULL)
  terms <- vapply(parts, `[[`, numeric(4), "terms")
  list(U = Reduce(`+`, lapply(parts, `[[`, "U")), S = Reduce(`+`, lapply(parts, `[[`, "S")),
       terms = c(sum(terms[1, ]), sum(terms[2, ]), max(terms[3, ]), sum(terms[4, ])), status = "ok")
}

gather_codes <- function(b, parts, n_atoms) {
  codes <- matrix(0, n_atoms, length(b$bag))
  p <- numeric(length(b$bag))
  for (i in seq_along(parts)) {
    codes[, b$at[[i]]] <- parts[[i]]$codes
    p[b$at[[i]][seq_along(parts[[i]]$p)]] <- parts[[i]]$p
  }
  list(codes = codes, p = p[seq_len(b$n_positive)])
}

# ---- start and scores -----------------------------------------------------------------------

# A list of functions that make starts, as dlfumi_starts(); codes of a sample are of no use to the
# fit.
shards_starts <- function(b, scale, spec, init, call) {
  if (!identical(init, "paper") && !is.function(init))
    return(dlfumi_starts(b, scale, spec, init, call))
  some <- sample_shards(b, call)
  spec$prior <- spec$prior[attr(some, "chosen")[seq_len(some$n_positive)]]
  starts <- dlfumi_starts(some, instance_scale(some$x, spec$normalize), spec, init, call)
  lapply(starts, function(start) function() start()["dictionary"])
}

# Bags from which a start is made, in the order of all parts: all instances, or a random sample.
# `chosen`: their indices among all.
sample_shards <- function(b, call) {
  n <- length(b$bag)
  limit <- max(1000, lengths(b$at))
  chosen <- if (n > limit) draw_chosen(b, limit) else seq_len(n)
  x <- matrix(0, nrow(b$x), length(chosen))
  columns <- map_shards(b, shard_columns,
                        list(which = lapply(b$at, function(at) which(at %in% chosen))), call)
  for (i in seq_along(columns)) x[, match(intersect(b$at[[i]], chosen), chosen)] <- columns[[i]]
  kept <- unique(b$bag[chosen])
  some <- rebuild_bags(structure(unclass(b)[c("classes", "image_dim", "features")],
                                 class = "bags"), x,
                       match(b$bag[chosen], kept), b$ids[kept], b$label[kept],
                       rank(b$order[chosen]))
  structure(some, chosen = chosen)
}

# Equal numbers of both labels, or all of one and more of the other.
draw_chosen <- function(b, limit) {
  n <- c(b$n_positive, length(b$bag) - b$n_positive)
  take <- pmin(n, limit %/% 2)
  take <- pmin(n, take + limit - sum(take))
  c(sort(sample.int(n[1], take[1])), n[1] + sort(sample.int(n[2], take[2])))
}

shard_columns <- function(b, i, args) b$x[, args$which[[i]], drop = FALSE]

# f(object, x, ...) of every instance, in the order given.
score_shards <- function(object, b, f, dots = list(), call = rlang::caller_env()) {
  unlist(map_shards(b, shard_scores, list(object = object, f = f, dots = dots), call))
}

shard_scores <- function(b, i, args) {
  new <- forge(args$object, b, NULL)
  do.call(args$f, c(list(args$object, new$x), args$dots))[order(new$order)]
}

# Scores of bags by the method's own function, in the order in which the bags first appear. Bags
# that lie in several parts are put together here.
score_bags_in_parts <- function(object, b, dots, call = rlang::caller_env()) {
  part <- integer(length(b$bag))
  for (i in seq_along(b$at)) part[b$at[[i]]] <- i
  spread <- vapply(split(part, factor(b$bag, seq_along(b$ids))), function(p) length(unique(p)) > 1,
                   NA)
  args <- list(object = object, dots = dots, leave = b$ids[spread])
  score <- unlist(map_shards(b, shard_bag_scores, args, call))
  if (any(spread)) {
    mine <- which(spread[b$bag])
    columns <- map_shards(b, shard_columns,
                          list(which = lapply(b$at, function(at) which(spread[b$bag[at]]))), call)
    x <- matrix(0, nrow(b$x), length(mine))
    for (i in seq_along(columns)) x[, match(intersect(b$at[[i]], mine), mine)] <- columns[[i]]
    code <- match(b$bag[mine], which(spread))
    score <- c(score, stats::setNames(do.call(score_bags, c(list(object, x, code), dots)),
                                      b$ids[spread]))
  }
  unname(score[b$ids])
}

shard_bag_scores <- function(b, i, args) {
  b <- b[!b$ids %in% args$leave]
  if (!length(b$ids)) return(NULL)
  new <- forge(args$object, b, NULL)
  stats::setNames(do.call(score_bags, c(list(args$object, new$x, b$bag), args$dots)), b$ids)
}

matrix_of_shards <- function(object, b, type, dots, call = rlang::caller_env()) {
  do.call(rbind, map_shards(b, shard_matrix, list(object = object, type = type, dots = dots), call))
}

shard_matrix <- function(b, i, args) {
  do.call(predict_matrix, c(list(args$object, forge(args$object, b, NULL), args$type), args$dots))
}

# ---- file-backed matrices -------------------------------------------------------------------

#' @rdname bags
#' @export
bags.big.matrix <- function(x, bag, label, ..., positive = NULL, image_dim = NULL, block = NULL) {
  check_dots_empty(..., known = names(formals()))
  if (!bigmemory::is.filebacked(x))
    stop_fumi("`x` must be file-backed if it is a big.matrix.", class = "type")
  if (missing(bag) || missing(label)) stop_fumi("`bag` and `label` must both be given.")
  n <- ncol(x)
  if (is.null(block)) block <- max(1, 2^23 %/% nrow(x))
  block <- check_count(block, "block")
  image_dim <- check_image_dim(image_dim, nrow(x))
  code <- check_bag(bag, n, rlang::current_env())
  parsed <- parse_label(label, positive, "label", rlang::current_env())
  y <- label_by_bag(parsed$is_positive, names(label), code, rlang::current_env())[code$code]
  blocks <- split(seq_len(n), (seq_len(n) - 1) %/% block)
  load <- lapply(blocks, function(columns)
    block_loader(bigmemory::describe(x), range(columns), code$ids[code$code[columns]], y[columns],
                 parsed$classes, image_dim))
  dir.create(dir <- tempfile("shards"))
  new_shards(unname(load), dir)
}

block_loader <- function(descriptor, range, bag, label, classes, image_dim) {
  force(list(descriptor, range, bag, label, classes, image_dim))
  function() {
    x <- bigmemory::attach.big.matrix(descriptor)[, range[1]:range[2], drop = FALSE]
    if (!is.double(x)) storage.mode(x) <- "double"
    if (!is.null(dimnames(x))) dimnames(x) <- if (!is.null(rownames(x))) list(rownames(x), NULL)
    check_finite_columns(x, sprintf("x[, %d:%d]", range[1], range[2]), NULL)
    b <- new_bags(x, bag, label, NULL, NULL, image_dim)
    b$classes <- classes
    b
  }
}
