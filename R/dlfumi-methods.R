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
  cat(model_title(x), " fit (variant \"", x$variant, "\")\n", sep = "")
  print_model_data(x)
  print_fact("atoms", x$n_target, " target, ", x$n_background, " background", atom_notes(x))
  print_fact("parameters", "lambda ", x$lambda, ", beta ", x$beta, ", gamma ", x$gamma, ", psi ",
             x$psi, ", normalize \"", x$normalize, "\"",
             if (nonneg_codes(x) || nonneg_atoms(x)) c(", nonneg \"", x$nonneg, "\""),
             if (is_difference(x)) ", score \"difference\"")
  if (!is.null(x$noise))
    print_fact("noise", "of the background, ",
               pluralize("{length(x$noise$gain)} direction{?s}"),
               if (x$noise$normalize_after == "unit") ", then instances scaled to norm 1")
  if (x$variant == "exact")
    print_fact("codes", "exact to a relative gap of ", format(x$worst_gap, digits = 2))
  print_fact("objective", objective_words(x, digits))
  print_fact("stopped", stop_words[[x$stop_reason]],
             if (x$stop_reason == "max_iter" && x$n_iter > 1) c("; ", moves_words(x)))
  if (isTRUE(x$witnesses > 0))
    print_fact("witnesses", "one in each positive bag, found in ",
               pluralize("{x$witnesses} round{?s}"))
  print_fact("starts", starts_words(x))
  print_calibration(x, digits)
  print_problems(x)
  invisible(x)
}

atom_notes <- function(x) {
  notes <- c(if (any(x$n_dead > 0)) paste(sum(x$n_dead > 0), "found unused at times"),
             if (x$n_dropped > 0) paste(x$n_dropped, "dropped"))
  if (length(notes)) paste0(" (", paste(notes, collapse = ", "), ")") else ""
}
