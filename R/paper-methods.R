#' The settings of the methods in the paper's experiments
#'
#' DL-FUMI with the paper's parameters, and every method with parameters chosen by cross-validation
#' on the training bags of run 1, from at most twelve configurations each. `paper_tuning()` returns
#' the configurations that were tried, which are stored in `tuned.rds` beside the results. The
#' digits' `"DL-FUMI, centred"` was chosen on separate draws whose truth was used, before the fresh
#' draws of seed 2030 were made: see `vignette("digits")`.
#'
#' @param name string, the experiment, see [paper_bags()].
#' @return `paper_methods()`: a list of settings, each a list with `method`, `setting`, `fitter`
#'   (the name of a function), `parameters` and `detectors`. `paper_tuning()`: a data frame with
#'   one row per method and configuration: the `mean` and `se` of its criterion over folds, and
#'   whether it was `chosen`. There, `sigma` of MILES is a width, as in version 0.1.0:
#'   \eqn{1 / \sqrt\sigma}{1 / sqrt(sigma)} of [miles()].
#' @seealso [paper_experiment()]
#' @examples
#' vapply(paper_methods("usps"), function(s) paste(s$method, s$setting, sep = ": "), "")
#' subset(paper_tuning("usps"), chosen)[c("method", "configuration", "mean")]
#' @export
paper_methods <- function(name) {
  protocol <- paper_protocol(name)
  own <- setting("DL-FUMI",
                 paste("the paper's", if (is_scene(protocol)) "lambda" else "parameters"),
                 "dlfumi", protocol$parameters)
  tuned <- stored("tuned.rds")[[counterpart(name)]]
  chosen <- lapply(names(tuned), function(method)
    setting(method, "tuned", tuned[[method]]$fitter, tuned[[method]]$parameters,
            pin = protocol$seed == 2016))
  if (name == "usps") return(c(list(own), unlist(lapply(chosen, with_average), recursive = FALSE),
                               list(fresh_digits())))
  all <- c(list(own), chosen)
  if (protocol$seed == 2016) all <- lapply(all, with_subace)
  if (endsWith(name, "person")) all else c(all, list(background_only))
}

# The candidate for the fresh digits, whose parameters were chosen on separate draws.
fresh_digits <- function() {
  chosen <- stored("tuned.rds")$usps_fresh[["DL-FUMI, centred"]]
  setting("DL-FUMI, centred", "chosen", chosen$fitter, chosen$parameters)
}

# A control for detectors with atoms: the distance of an instance from the background, without any
# atom.
background_only <- list(method = "background only", setting = "no atoms", fitter = "dlfumi",
                        parameters = list(noise = "background", n_target = 1, n_background = 1,
                                          n_start = 1, combine = "best", max_iter = 1),
                        detectors = "norm")

#' @rdname paper_methods
#' @export
paper_tuning <- function(name) {
  tuned <- stored("tuned.rds")[[counterpart(paper_protocol(name)$name)]]
  tried <- do.call(rbind, lapply(names(tuned), function(method) cbind(method = method,
                                                                      tuned[[method]]$tried)))
  rownames(tried) <- NULL
  tried
}

# The settings of the stored results of version 0.1.0, independent of later defaults.
pinned <- list(mi_svm = list(class_weights = "none", max_iter = 50, normalize = "unit"))

setting <- function(method, setting, fitter, parameters, detectors = "score", pin = TRUE) {
  if (pin && is.character(fitter))
    parameters <- c(parameters, pinned[[fitter]][setdiff(names(pinned[[fitter]]),
                                                         names(parameters))])
  list(method = method, setting = setting, fitter = fitter, parameters = parameters,
       detectors = detectors)
}

# Methods with random starts also appear with the scores of several starts averaged.
with_average <- function(s) {
  arguments <- formals(s$fitter)
  if (!"combine" %in% names(arguments)) return(list(s))
  several <- s
  several$setting <- paste0(s$setting, ", averaged")
  several$parameters$combine <- "average"
  if (identical(arguments$n_start, 1)) several$parameters$n_start <- n_averaged
  list(s, several)
}

n_averaged <- 8

with_subace <- function(s) {
  if (s$method == "DL-FUMI") s$detectors <- c("score", "subace")
  s
}

# The AR faces are not in the package: they use the parameters chosen for their counterparts.
counterpart <- function(name) {
  switch(name, ar_sunglasses = "olivetti_eyeglasses", ar_person = "olivetti_person", name)
}
