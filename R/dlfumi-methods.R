# Looking at a DL-FUMI fit.

#' @rdname mil_model-methods
#' @export
coef.dlfumi <- function(object, which = c("all", "target", "background"), filter = FALSE, ...) {
  which <- check_choice(which, c("all", "target", "background"), "which")
  filter <- check_flag(filter, "filter")
  validate_model(object)
  atoms <- object$dictionary
  if (filter && !is.null(object$noise))
    atoms <- structure(noise_filter(object$noise, unname(object$noise$dictionary)),
                       dimnames = dimnames(atoms))
  target <- seq_len(ncol(atoms)) <= object$n_target
  t(atoms[, switch(which, all = TRUE, target = target, background = !target), drop = FALSE])
}

#' @rdname mil_model-methods
#' @export
print.dlfumi <- function(x, digits = 4, ...) {
  path <- x$objective$objective
  cat("DL-FUMI fit (variant \"", x$variant, "\")\n", sep = "")
  print_model_data(x)
  cat("  atoms:      ", x$n_target, " target, ", x$n_background, " background", atom_notes(x),
      "\n", sep = "")
  cat("  parameters: lambda ", x$lambda, ", beta ", x$beta, ", gamma ", x$gamma, ", psi ", x$psi,
      ", normalize \"", x$normalize, "\"",
      if (nonneg_codes(x) || nonneg_atoms(x)) paste0(", nonneg \"", x$nonneg, "\""),
      if (is_difference(x)) ", score \"difference\"", "\n", sep = "")
  if (!is.null(x$noise))
    cat("  noise:      of the background, ", length(x$noise$gain), " directions",
        if (x$noise$normalize_after == "unit") ", instances of norm 1 after it", "\n", sep = "")
  if (x$variant == "exact")
    cat("  codes:      exact to a relative gap of ", format(x$worst_gap, digits = 2), "\n",
        sep = "")
  if (length(path))
    cat("  objective:  ", format(path[1], digits = digits), " -> ",
        format(path[length(path)], digits = digits),
        pluralize(" in {x$n_iter} iteration{?s}"), "\n", sep = "")
  cat("  stopped:    ", stop_words[[x$stop_reason]],
      if (x$stop_reason == "max_iter" && x$n_iter > 1) paste0("; ", moves_words(x)), "\n", sep = "")
  if (isTRUE(x$witnesses > 0))
    cat("  witnesses:  one in each positive bag, found in ", x$witnesses,
        if (x$witnesses == 1) " round" else " rounds", "\n", sep = "")
  if (length(x$starts) > 1)
    cat("  starts:     ", length(x$starts), ", ",
        if (x$combine == "average") "scores averaged" else "the best kept", "\n", sep = "")
  print_calibration(x, digits)
  print_problems(x)
  invisible(x)
}

atom_notes <- function(x) {
  notes <- c(if (any(x$n_dead > 0)) paste(sum(x$n_dead > 0), "found unused at times"),
             if (x$n_dropped > 0) paste(x$n_dropped, "dropped"))
  if (length(notes)) paste0(" (", paste(notes, collapse = ", "), ")") else ""
}
