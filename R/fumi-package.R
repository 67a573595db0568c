#' @section Start here:
#' [bags()] takes the data, [dlfumi()] learns from them, `predict()` scores
#' instances and bags ([predict.mil_model()]), `plot()` shows the atoms
#' ([plot.mil_model()]), [mil_roc()] draws the ROC. `vignette("fumi")` walks through
#' it, `vignette("dlfumi-math")` has the equations.
#' @section Options:
#' `fumi.progress`: show progress bars (default: in interactive use).
#' `fumi.simd`: `"portable"` keeps to the portable inner loops where faster ones
#' exist, `"avx2"` to those of AVX2 where there are AVX-512's; so does the environment variable
#' `FUMI_SIMD`. `fumi.check_memory`: refuse a fit that needs more memory than is free, with an
#' error of class `fumi_error_memory` (default: `TRUE`). `fumi.threads`: see [dlfumi_control()].
#' @keywords internal
#' @useDynLib fumi, .registration = TRUE
#' @importFrom stats coef fitted predict residuals update
#' @importFrom rlang .data
"_PACKAGE"
