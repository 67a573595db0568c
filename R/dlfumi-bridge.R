# From checked arguments to a model: starts, iterations in C, order and sign of atoms, warnings.

dlfumi_bridge <- function(b, spec, init, progress, call = rlang::caller_env()) {
  fit <- if (spec$noise == "white") fit_white_noise else fit_background_noise
  fit(b, spec, init, progress, call)
}

fit_white_noise <- function(b, spec, init, progress, call) {
  scale <- instance_scale(b$x, spec$normalize)
  starts <- (if (inherits(b, "bag_shards")) shards_starts
             else dlfumi_starts)(b, scale, spec, init, call)
  starts <- online_starts(starts, b, spec$control)
  bar <- fit_progress(progress, spec$n_start, n_iterations(b, spec$control))
  on.exit(bar$done())
  run <- if (inherits(b, "bag_shards")) keep_until_interrupt else run_starts
  fits <- run(spec$n_start, function(s)
    dlfumi_run(b, scale, starts[[s]], spec, bar$report(s), call), call)
  interrupted <- attr(fits, "interrupted")
  given <- !identical(init, "paper") && spec$control$variant != "exact"
  fits <- lapply(fits, tidy_atoms, b = b, spec = spec, keep_order = given)
  warn_dlfumi(fits, interrupted, b, scale, spec, call)
  new_dlfumi(fits, interrupted, b, scale, spec, call)
}

# What r_dlfumi_param() in src/r_dlfumi.c reads.
dlfumi_par <- function(spec) {
  control <- spec$control
  c(spec[c("n_target", "lambda", "beta", "gamma", "psi")],
    control[c("variant", "solver", "dead", "inner", "max_iter", "tol", "gap")],
    list(absolute_tol = control$variant == "matlab", nonneg_codes = nonneg_codes(spec),
         nonneg_atoms = nonneg_atoms(spec), accelerate = isTRUE(control$accelerate), simd = simd(),
         threads = n_threads(control$threads)))
}

# What must not be negative, by the parameters of a fit or by a fit.
nonneg_codes <- function(spec) isTRUE(spec$nonneg %in% c("codes", "both"))
nonneg_atoms <- function(spec) isTRUE(spec$nonneg %in% c("dictionary", "both"))

dlfumi_run <- function(b, scale, start, spec, report, call) {
  start <- start()
  out <- if (is_online(spec$control)) online_fit(b, scale, start, spec, report, call)
         else if (inherits(b, "bag_shards")) shards_fit(b, start, spec, report, call)
         else .Call(ffi_dlfumi_fit, b$x, scale, b$n_positive, start$dictionary,
                    .Call(ffi_take, start, "codes"),
                    dlfumi_par(spec), spec$weight, spec$prior, report)
  if (out$status == "nonfinite")
    stop_fumi("The objective must stay finite, but it was not in iteration ", out$n_iter + 1, ": ",
              if (spec$normalize == "unit")
                "`psi`, `gamma`, `lambda` or `init$codes` is probably too large."
              else "the data are probably too large; try `normalize = \"unit\"` or rescale `x`.",
              class = "diverged", call = call)
  if (out$status != "interrupt") check_status(out$status, call)
  terms <- t(out$trace[, seq_len(out$n_iter), drop = FALSE])
  colnames(terms) <- c("objective", "reconstruction", "sparsity", "incoherence")
  list(dictionary = out$dictionary, codes = .Call(ffi_take, out, "codes"), p = out$p,
       n_dead = out$n_dead,
       objective = data.frame(iteration = seq_len(out$n_iter), terms), n_iter = out$n_iter,
       worst_gap = out$worst_gap, stop_reason = out$status)
}

# Removes dropped atoms; unless `keep_order`, sorts atoms of each kind by the energy they
# carry and gives each the sign that makes its codes positive on balance, if it may have it. Codes
# get names and the order of the user.
tidy_atoms <- function(fit, b, spec, keep_order) {
  is_target <- seq_len(ncol(fit$dictionary)) <= spec$n_target
  carried <- .Call(ffi_dlfumi_carried, fit$codes, fit$p, spec$n_target, spec$psi, spec$weight)
  kept <- spec$control$dead != "drop" | colSums(fit$dictionary^2) > 0
  for (kind in list(is_target, !is_target)) if (!any(kept & kind)) kept[which(kind)[1]] <- TRUE
  atom <- if (keep_order) seq_along(kept) else order(!is_target, -carried[1, ])
  atom <- atom[kept[atom]]
  sign <- if (keep_order || nonneg_atoms(spec)) rep(1, length(atom))
          else ifelse(carried[2, atom] < 0, -1, 1)
  kinds <- c(target = sum(is_target[atom]), background = sum(!is_target[atom]))
  names <- paste0(rep(names(kinds), kinds), unlist(lapply(kinds, seq_len)))
  if (!all(kept)) fit$codes <- fit$codes[kept, , drop = FALSE]
  fit$codes <- .Call(ffi_arrange, fit$codes, match(atom, which(kept)), sign, b$order, names)
  fit$dictionary <- fit$dictionary[, atom, drop = FALSE] * rep(sign, each = nrow(b$x))
  fit$n_dropped <- sum(!kept)
  fit$n_target <- kinds[["target"]]
  fit$n_dead <- fit$n_dead[atom]
  fit
}

warn_dlfumi <- function(fits, interrupted, b, scale, spec, call) {
  if (interrupted)
    warn_fumi("Interrupted: the fit holds the last complete iteration (",
              fits[[length(fits)]]$n_iter, ") of start ", length(fits), " of ", spec$n_start, ".",
              class = "interrupt", call = call)
  best <- fits[[best_fit(fits)]]
  p <- best$p[if (is.null(spec$prior)) TRUE else spec$prior > 0 & spec$prior < 1]
  if (max(best$codes) == 0 && min(best$codes) == 0)
    warn_fumi("`lambda` = ", spec$lambda, " makes every code 0: try a smaller one.",
              class = "lambda", call = call)
  else if (length(p) && all(p < 1e-12 | p > 1 - 1e-12)) {
    beta <- log(2) / stats::median(background_residual(best, b, scale))
    warn_fumi("`beta` = ", spec$beta, " makes every weight of the E-step 0 or 1",
              if (is.finite(beta)) paste0(": try `beta` = ", signif(beta, 2)), ".", class = "beta",
              call = call)
  }
  if (best$worst_gap > spec$control$gap)
    warn_fumi("The codes are not exact: their largest relative duality gap is ",
              signif(best$worst_gap, 2),
              ", because atoms are linearly dependent; try fewer atoms or a larger `lambda`.",
              class = "gap", call = call)
  warn_max_iter(best, spec$control, call)
}

# With `tol = 0` the user asked for that many iterations, and with mini-batches for that many
# epochs.
warn_max_iter <- function(fit, control, call) {
  if (fit$stop_reason != "max_iter" || control$tol == 0 || is_online(control)) return()
  if (isTRUE(still_moves(fit) > 0.001))
    warn_fumi("The fit ended at `max_iter` = ", fit$n_iter, " before it settled: ",
              moves_words(fit), ". Try a larger `max_iter` in `dlfumi_control()`",
              if (control$variant != "exact")
                ", or `variant = \"exact\"`, which takes fewer iterations",
              ".", class = "max_iter", call = call, once = "fumi_max_iter")
}

# The relative change of the objective over the last ten iterations, or of the lowest one for
# methods that keep it; NA after a single iteration.
still_moves <- function(fit) {
  path <- fit$objective$objective
  if (isTRUE(fit$method %in% c("dmil", "mi_he"))) path <- cummin(path)
  n <- length(path)
  if (n < 2) NA_real_ else abs(path[n] - path[max(1, n - 10)]) / abs(path[n])
}

moves_words <- function(fit) {
  over <- min(10, nrow(fit$objective) - 1)
  paste0("the objective still changed by ", signif(100 * still_moves(fit), 2), " % over the last ",
         if (over == 1) "iteration" else paste(over, "iterations"))
}

# The start with the lowest objective.
best_fit <- function(fits) {
  which.min(vapply(fits, function(f) if (f$n_iter) f$objective$objective[f$n_iter] else Inf, 0))
}

# ||x - D- a-||^2 of at most a thousand instances of positive bags; NA if they are not in memory
background_residual <- function(fit, b, scale) {
  if (inherits(b, "bag_shards")) return(NA)
  positive <- unique(round(seq(1, b$n_positive, length.out = 1000)))
  background <- -seq_len(fit$n_target)
  x <- b$x[, positive, drop = FALSE] * rep(scale[positive], each = nrow(b$x))
  colSums((x - fit$dictionary[, background, drop = FALSE] %*%
             fit$codes[background, b$order[positive], drop = FALSE])^2)
}

new_dlfumi <- function(fits, interrupted, b, scale, spec, call) {
  best <- fits[[best_fit(fits)]]
  atoms <- rownames(best$codes)
  object <- new_mil_model(
    "dlfumi", b,
    dictionary = structure(best$dictionary, dimnames = list(b$features, atoms)),
    codes = best$codes,
    prob_target = in_user_order(b, c(best$p, numeric(length(b$bag) - b$n_positive))),
    objective = best$objective, n_iter = best$n_iter, converged = best$stop_reason == "converged",
    stop_reason = if (interrupted) "interrupt" else best$stop_reason, n_target = best$n_target,
    n_background = length(atoms) - best$n_target, n_dead = stats::setNames(best$n_dead, atoms),
    n_dropped = best$n_dropped, worst_gap = best$worst_gap, lambda = spec$lambda, beta = spec$beta,
    gamma = spec$gamma, psi = spec$psi, nonneg = spec$nonneg, normalize = spec$normalize,
    variant = spec$control$variant,
    witnesses = spec$witnesses, combine = spec$combine, score = spec$score,
    score_scale = score_scale(spec), starts = lapply(fits, `[[`, "objective"),
    spec = c(spec$given, spec[c("witnesses", "nonneg", "normalize", "combine", "score", "n_start",
                                "keep_background", "calibrate", "control")]))
  if (spec$keep_background) object$background <- background_stats(normalised_negatives(b, scale))
  if (spec$combine == "average") add_members(object, fits, b, call) else object
}

# The members of an average, which need the scores of the training instances. After an interrupt
# the best start remains.
add_members <- function(object, fits, b, call) {
  late <- function(e) {
    warn_fumi("Interrupted after the last iteration: the fit holds the best start.",
              class = "interrupt", call = call)
    object[c("combine", "stop_reason")] <- c("best", "interrupt")
    object$score_scale <- score_scale(object)
    object
  }
  tryCatch({ object$members <- lapply(fits, new_member, object, b); object },
           fumi_error_interrupt = late, interrupt = late)
}

# A member of an average: its dictionary, and how its comparable score is standardised.
new_member <- function(fit, object, b) {
  object$members <- NULL
  object[c("dictionary", "n_target")] <- fit[c("dictionary", "n_target")]
  negative <- b$x[, -seq_len(b$n_positive), drop = FALSE]
  score <- averaged_score(object, negative)
  list(dictionary = fit$dictionary, n_target = fit$n_target, center = mean(score),
       scale = positive_sd(score))
}
