# What every method shares on its way to the core.

# One factor an instance, which the core applies as it reads X.
instance_scale <- function(x, normalize) {
  if (normalize == "unit") .Call(ffi_unit_scale, x) else rep(1, ncol(x))
}

portable <- function() {
  identical(getOption("fumi.simd", Sys.getenv("FUMI_SIMD")), "portable")
}

check_status <- function(status, call = rlang::caller_env(2)) {
  if (status == "memory") stop_fumi("Not enough memory.", class = "memory", call = call)
  if (status == "singular") stop_fumi("LAPACK failed on the Gram matrix of the atoms.",
                                      class = "singular", call = call)
}

# Squares must not overflow, and something must be there to learn from.
check_scaled <- function(x, scale, call = rlang::caller_env(2)) {
  largest <- max(abs(range(x)))
  if (all(scale == 1) && largest > 1e100)
    stop_fumi("`x` must stay below 1e100 with `normalize = \"none\"`, but its largest value is ",
              signif(largest, 3), ": rescale the data.", class = "scale", call = call)
  if (largest == 0)
    stop_fumi("`x` must not be zero throughout.", class = "scale", call = call)
}

# sd, or 1 where that is 0: a divisor for standardised scores.
positive_sd <- function(x) {
  s <- stats::sd(x)
  if (is.na(s) || s == 0) 1 else s
}

# Instances of the negative bags, one a row, normalised.
normalised_negatives <- function(b, scale) {
  negative <- seq_len(ncol(b$x)) > b$n_positive
  t(b$x[, negative, drop = FALSE]) * scale[negative]
}
