# Starts of a dictionary fit. All random numbers of a fit are drawn here, for all starts before the
# first one runs, so that results do not depend on how the starts are run.

# A list of functions without arguments, each of which makes list(dictionary, codes). Nothing else
# may refer to the codes, because the fit overwrites them.
dlfumi_starts <- function(b, scale, spec, init, call) {
  if (identical(init, "paper")) {
    check_distinct_negatives(b, scale, spec, call)
    draws <- lapply(seq_len(spec$n_start), function(s)
      list(order = sample.int(b$n_positive), uniform = stats::runif(spec$n_background)))
    return(lapply(draws, function(draw) function() paper_start(b, scale, spec, draw, call)))
  }
  if (is.function(init)) {
    made <- lapply(seq_len(spec$n_start), function(s) init(b, spec$n_target, spec$n_background))
    return(lapply(made, function(start) function() given_start(start, b, scale, spec, call)))
  }
  if (inherits(init, "dlfumi")) init <- warm_start(init, b)
  if (is.matrix(init)) init <- list(dictionary = init)
  if (!is.list(init))
    stop_fumi("`init` must be \"paper\", a matrix of atoms, a list with a `dictionary`, a ",
              "function, or a fit, not ",
              describe(init), ".", call = call)
  if (spec$n_start > 1)
    stop_fumi("`n_start` must be 1 when `init` is given as atoms or a fit, not ", spec$n_start, ".",
              call = call)
  if (holds_targets_only(init, b, spec)) {
    targets <- check_atoms(init$dictionary, spec$n_target, b, call)
    check_distinct_negatives(b, scale, spec, call)
    draw <- list(order = seq_len(b$n_positive), uniform = stats::runif(spec$n_background))
    return(list(function() paper_start(b, scale, spec, draw, call, targets)))
  }
  list(function() given_start(init, b, scale, spec, call))
}

# Whether a start has target atoms alone: those of the background are then found as in the paper.
holds_targets_only <- function(init, b, spec) {
  size <- sort(c(spec$n_target, nrow(b$x)))
  identical(names(init), "dictionary") && !inherits(b, "bag_shards") &&
    is.matrix(init$dictionary) &&
    all(sort(dim(init$dictionary)) == size)
}

# Target atoms: means of random disjoint subsets of the instances of positive bags that may hold a
# target. Background atoms: k-means centres of the instances of negative bags. `targets`: target
# atoms that are given.
paper_start <- function(b, scale, spec, draw, call, targets = NULL) {
  drawn <- draw$order[if (is.null(spec$prior)) TRUE else spec$prior[draw$order] > 0]
  size <- length(drawn) %/% spec$n_target
  subset <- function(t) drawn[(t - 1) * size + seq_len(size)]
  target <- if (is.null(targets)) vapply(seq_len(spec$n_target), function(t)
    .Call(ffi_sum_columns, b$x, scale, subset(t)), numeric(nrow(b$x))) else targets
  clusters <- cluster_instances(b$x, scale, draw$uniform, b$n_positive,
                                threads = spec$control$threads)
  check_status(clusters$status, call)
  check_n_distinct(clusters$n_distinct, spec, call)
  dictionary <- unit_columns(bound_atoms(cbind(matrix(target, nrow(b$x)), clusters$centres), spec,
                                         call))
  list(dictionary = dictionary, codes = start_codes(b, scale, spec, dictionary, call))
}

# Checked before a random number is drawn: whether there are enough seeds for k-means, which a few
# instances usually show.
check_distinct_negatives <- function(b, scale, spec, call) {
  negative <- which(!in_positive(b))
  for (n in unique(c(min(2 * spec$n_background, length(negative)), length(negative)))) {
    some <- negative[seq_len(n)]
    seeds <- cluster_instances(b$x[, some, drop = FALSE], scale[some], rep(.5, spec$n_background),
                               max_iter = 0L, threads = spec$control$threads)
    check_status(seeds$status, call)
    if (seeds$n_distinct == spec$n_background) return(invisible())
  }
  check_n_distinct(seeds$n_distinct, spec, call)
}

check_n_distinct <- function(n, spec, call) {
  if (n < spec$n_background)
    stop_fumi("`n_background` must be at most the number of distinct instances in negative bags (",
              n, "), not ", spec$n_background, ".", call = call)
}

given_start <- function(init, b, scale, spec, call) {
  if (is.matrix(init)) init <- list(dictionary = init)
  unknown <- setdiff(names(init), c("dictionary", "codes"))
  if (!is.list(init) || length(unknown) || is.null(init$dictionary))
    stop_fumi("`init` must hold `dictionary` and optionally `codes`, ",
              if (length(unknown)) paste0("not `", unknown[1], "`.")
              else "but it has no `dictionary`.", call = call)
  n_atoms <- spec$n_target + spec$n_background
  dictionary <- bound_atoms(check_atoms(init$dictionary, n_atoms, b, call), spec, call)
  norm <- column_norms(dictionary)
  dictionary <- unit_columns(dictionary)
  if (is.null(init$codes))
    return(list(dictionary = dictionary, codes = start_codes(b, scale, spec, dictionary, call)))
  codes <- check_init_matrix(init$codes, "codes", n_atoms, length(b$order), call)
  list(dictionary = dictionary, codes = bound_codes(codes[, b$order, drop = FALSE] * norm, spec))
}

# Atoms and codes clipped at 0 where they must be non-negative.
bound_codes <- function(codes, spec) if (nonneg_codes(spec)) pmax(codes, 0) else codes

bound_atoms <- function(dictionary, spec, call) {
  if (!nonneg_atoms(spec)) return(dictionary)
  bound <- pmax(dictionary, 0)
  for (kind in list(target = seq_len(spec$n_target), background = -seq_len(spec$n_target)))
    if (max(bound[, kind]) == 0 && min(dictionary[, kind]) < 0)
      stop_fumi("`nonneg` must be \"none\" or \"codes\" when the ",
                if (kind[1] > 0) "target" else "background",
                " atoms of the start have no value above 0.", class = "scale", call = call)
  bound
}

# What a warm start needs from a fit; any other start is returned unchanged.
as_warm_start <- function(init) {
  if (!inherits(init, "dlfumi")) return(init)
  structure(unclass(init)[c("dictionary", "codes", "bag", "n_target", "n_background")],
            class = class(init))
}

# The codes of a fit serve again when they belong to the same instances.
warm_start <- function(fit, b) {
  same <- identical(fit$bag, in_user_order(b, b$ids[b$bag]))
  list(dictionary = fit$dictionary, codes = if (same) fit$codes)
}

# Atoms of a start, features x atoms.
check_atoms <- function(x, n_atoms, b, call) {
  if (!is.matrix(x) || !is.numeric(x) || !all(is.finite(x)) ||
      any(sort(dim(x)) != sort(c(n_atoms, nrow(b$x)))))
    stop_fumi("`init$dictionary` must be a finite numeric matrix of ", n_atoms, " atoms x ",
              nrow(b$x), " features, not ", describe(x), ".", call = call)
  storage.mode(x) <- "double"
  unname(atoms_in_columns(x, nrow(b$x), b$features, "init$dictionary", call))
}

# A matrix that has atoms as its rows, as `coef()` has them, or as its columns, turned so that they
# are columns. Its size tells which; for a square matrix, its names do. Features are matched by
# their names, if it has them.
atoms_in_columns <- function(x, d, features, name, call) {
  if (!atoms_are_columns(x, d, features, name, call)) x <- t(x)
  named <- !is.null(rownames(x)) && !anyDuplicated(features) && setequal(rownames(x), features)
  if (named) x[features, , drop = FALSE] else x
}

atoms_are_columns <- function(x, d, features, name, call) {
  if (nrow(x) != ncol(x)) return(nrow(x) == d)
  are_atoms <- function(names) !is.null(names) &&
    all(grepl("^(target|background|atom)[0-9]+$", names))
  are_features <- function(names) !is.null(names) && setequal(names, features)
  in_rows <- are_atoms(rownames(x)) || are_features(colnames(x))
  in_columns <- are_atoms(colnames(x)) || are_features(rownames(x))
  if (in_rows == in_columns && !identical(unname(x), t(unname(x))))
    stop_fumi(
      "`", name,
      "` must have names that tell its atoms from its features, because it is square: name its ",
      "rows target1, target2 and so on if they are atoms, and its columns if those are.",
      class = "dimension", call = call)
  !in_rows
}

check_init_matrix <- function(x, name, nrow, ncol, call) {
  if (!is.matrix(x) || !is.numeric(x) || !identical(dim(x), as.integer(c(nrow, ncol))) ||
      !all(is.finite(x)))
    stop_fumi("`init$", name, "` must be a finite numeric matrix of ", nrow, " x ", ncol, ", not ",
              describe(x), ".", call = call)
  storage.mode(x) <- "double"
  unname(x)
}

# NULL for shards, whose workers compute them.
start_codes <- function(b, scale, spec, dictionary, call) {
  if (inherits(b, "bag_shards")) return(NULL)
  out <- .Call(ffi_dlfumi_start_codes, b$x, scale, b$n_positive, dictionary,
               list(n_target = spec$n_target, simd = simd(),
                    threads = n_threads(spec$control$threads)))
  check_status(out$status, call)
  bound_codes(.Call(ffi_take, out, "codes"), spec)
}

# Columns brought to norm 1; a column of zeros stays.
unit_columns <- function(x) {
  x <- x / rep(column_peaks(x), each = nrow(x))
  x / rep(pmax(column_norms(x), 1), each = nrow(x))
}

# Norms that neither overflow nor underflow.
column_norms <- function(x) {
  peak <- column_peaks(x)
  peak * sqrt(colSums((x / rep(peak, each = nrow(x)))^2))
}

# Largest absolute values of the columns, 1 for a column of zeros.
column_peaks <- function(x) {
  peak <- apply(abs(x), 2, max)
  ifelse(peak > 0, peak, 1)
}
