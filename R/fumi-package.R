#' @section Start here:
#' [bags()] takes the data, [dlfumi()] learns from them, `predict()` scores instances and bags
#' ([predict.mil_model()]), `plot()` shows the atoms ([plot.mil_model()]), and [mil_roc()] computes
#' the ROC curve. `vignette("fumi")` is a tutorial, `vignette("dlfumi-math")` has the equations.
#' @section Options:
#' `fumi.progress`: whether to show progress bars (default: in interactive use). `fumi.simd`:
#' `"portable"` restricts the core to its portable inner loops, `"avx2"` to at most those for AVX2;
#' the environment variable `FUMI_SIMD` does the same. `fumi.check_memory`: whether to refuse a fit
#' that needs more memory than is free, with an error of class `fumi_error_memory` (default:
#' `TRUE`). `fumi.threads`: see [dlfumi_control()].
#' @keywords internal
#' @useDynLib fumi, .registration = TRUE
#' @importFrom stats coef fitted predict residuals update
#' @importFrom rlang .data
"_PACKAGE"
