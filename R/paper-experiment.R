#' The paper's experiments
#'
#' Draws the bags of each run, trains every method, scores every test image, and keeps what tables
#' and figures need. [paper_table()] and `plot()` use the result without further training.
#'
#' @details
#' A task is one run, unit and setting of a method. Each has its own random stream, so results
#' depend neither on other tasks, nor on their order, nor on the number of workers. With
#' `mirai::daemons(2)` or `future::plan("multisession", workers = 2)`, tasks run on two workers.
#'
#' @inheritParams paper_bags
#' @param methods `NULL` (default: all of [paper_methods()]), a list of settings of the same form,
#'   or names of methods in [paper_methods()], such as `c("DL-FUMI", "mi-SVM")`.
#' @param runs whole number >= 1, default 10: number of repetitions; or their numbers, such as
#'   `3:4`.
#' @param units `NULL` (default: all), or the numbers of the digits or persons to use. The accuracy
#'   of `"usps"` needs all.
#' @param dir `NULL` (default: nothing is kept), or a folder in which the result of each task is
#'   kept, so that an experiment that was stopped, for whatever reason, continues where it was. A
#'   folder with results of other images, or of another protocol, seed, setting or version, is
#'   refused.
#' @param keep_fits `TRUE` or `FALSE` (default): whether to keep the fitted models.
#' @param progress `TRUE` or `FALSE`: whether to show a progress bar over the tasks; by default in
#'   interactive sessions.
#' @return A list of class `paper_experiment`:
#'   \item{tasks}{a data frame with one row per run, unit and setting: `run`, `unit`, `method`,
#'     `setting`, `seconds`, `center` and `scale` (of the scores of the negative training
#'     instances, see [one_vs_rest()]), `above` (number of test images above the method's own
#'     threshold, if it has one)}
#'   \item{scores}{a list with the scores of the test images, one entry per row of `tasks`}
#'   \item{tests}{a list with the test images of each run and unit (of each run for `"usps"`, where
#'     the truth is the `group`): `index`, `truth`, `group`}
#'   \item{settings}{what was run}
#'   and the protocol, `seed`, `rng_kind`, `version`, `date`, `machine`, `seconds` and
#'   `training_seconds`.
#' @seealso [paper_table()], [paper_bags()]
#' @examples
#' one <- list(list(method = "DL-FUMI", setting = "small", fitter = "dlfumi",
#'                  parameters = list(n_target = 2, n_background = 4)))
#' e <- paper_experiment("usps", one, runs = 1, units = 0:1, n_targets = rep(1, 10), n_negative = 5,
#'                       n_test = 20)
#' e
#' @export
paper_experiment <- function(name, methods = NULL, runs = 10, ..., units = NULL, data = NULL,
                             seed = NULL, dir = NULL, keep_fits = FALSE,
                             progress = getOption("fumi.progress", interactive())) {
  protocol <- paper_protocol(name, ...)
  settings <- check_settings(methods, protocol$name)
  units <- if (is.null(units)) protocol$units else check_unit(units, protocol)
  seed <- check_seed(seed, protocol)
  source <- paper_source(protocol, data)
  tasks <- paper_tasks(protocol, settings, check_runs(runs), units, seed)
  run <- task_runner(protocol, source, check_flag(keep_fits, "keep_fits"))
  work <- open_work(dir, list(data = source, protocol = unclass(protocol), seed = seed,
                              keep_fits = keep_fits))
  start <- Sys.time()
  done <- run_tasks(tasks, run, work, check_flag(progress, "progress"), "tasks")
  new_paper_experiment(done, protocol, settings, source, seed,
                       as.numeric(Sys.time() - start, units = "secs"))
}

check_runs <- function(runs, call = rlang::caller_env()) {
  if (length(runs) == 1) return(seq_len(check_count(runs, "runs", call = call)))
  if (is.numeric(runs) && length(runs) && all(runs >= 1 & runs == round(runs)) &&
      !anyDuplicated(runs))
    return(as.integer(runs))
  stop_fumi("`runs` must be a number of runs, or their numbers, not ", describe(runs), ".",
            call = call)
}

# Settings are lists with `method`, `setting`, `fitter`, `parameters` and `detectors`.
check_settings <- function(methods, name, call = rlang::caller_env()) {
  if (is.null(methods)) return(paper_methods(name))
  if (is.character(methods)) {
    known <- paper_methods(name)
    of_method <- vapply(known, `[[`, "", "method")
    odd <- setdiff(methods, of_method)
    if (length(odd))
      stop_fumi("`methods` must be among ", enumerate(unique(of_method), 20), ", not \"", odd[1],
                "\".", call = call)
    return(known[of_method %in% methods])
  }
  has <- function(s) is.list(s) && all(c("method", "setting", "fitter") %in% names(s))
  if (!is.list(methods) || !length(methods) || !all(vapply(methods, has, NA)))
    stop_fumi("`methods` must be names, or a list of settings with `method`, `setting`, `fitter` ",
              "and `parameters`, not ", describe(methods), ".", call = call)
  default <- list(parameters = list(), detectors = "score")
  lapply(methods, function(s) c(s, default[setdiff(names(default), names(s))]))
}

paper_tasks <- function(protocol, settings, runs, units, seed) {
  place <- expand.grid(setting = seq_along(settings), unit = units, run = runs)
  streams <- new.env()
  lapply(seq_len(nrow(place)), function(i) {
    at <- place[i, ]
    key <- paste(at$run, at$unit)
    if (is.null(streams[[key]]))
      streams[[key]] <- task_stream(seed, at$run, length(protocol$units) +
                                    match(at$unit, protocol$units))
    s <- settings[[at$setting]]
    list(name = paste(protocol$name, sprintf("run%02d-%02d", at$run, at$unit), s$method, s$setting,
                      sep = "-"),
         run = at$run, unit = at$unit, seed = seed, setting = s,
         method = list(s, setting_fitter(s)),
         stream = streams[[key]])
  })
}

setting_fitter <- function(s)
  if (is.function(s$fitter)) s$fitter else get(s$fitter, mode = "function")

task_runner <- function(protocol, source, keep_fits) {
  force(list(protocol, source, keep_fits))
  function(task) paper_task(task, protocol, source, keep_fits)
}

# Trains one setting on the bags of one run and unit, and scores the test images with each of
# its detectors.
paper_task <- function(task, protocol, source, keep_fits) {
  drawn <- paper_draw(protocol, source, task$run, task$unit, task$seed)
  b <- training_bags(drawn, source)
  s <- task$setting
  parameters <- c(s$parameters, keep_background = if ("subace" %in% s$detectors) TRUE)
  seconds <- system.time(
    fit <- with_stream(task$stream, fit_quietly(setting_fitter(s), b, parameters)))[["elapsed"]]
  if (identical(fit$stop_reason, "interrupt")) check_status("interrupt")
  test <- source$images(drawn$test)
  score <- lapply(s$detectors, function(detector)
    do.call(stats::predict, c(list(fit, test),
                              if (detector != "score") list(detector = detector)))$.score)
  scale <- negative_scale(fit, b)
  threshold <- if (is.null(fit$natural_threshold)) NA else fit$natural_threshold
  facts <- data.frame(run = task$run, unit = task$unit, method = s$method, setting = s$setting,
                      detector = s$detectors, seconds = seconds, center = scale[["center"]],
                      scale = scale[["scale"]], ratio = identical(fit$score_scale, "log"),
                      above = sum(score[[1]] > threshold))
  if (is_scene(protocol))
    facts <- cbind(facts, do.call(rbind, lapply(score, judge_scene, protocol, source, drawn)))
  list(score = score, fit = if (keep_fits) fit, facts = facts)
}

new_paper_experiment <- function(done, protocol, settings, source, seed, seconds) {
  done <- Filter(Negate(is.null), done)
  frame <- do.call(rbind, lapply(done, `[[`, "facts"))
  places <- unique(frame[c("run", "unit")])
  key <- test_key(protocol$name, places$run, places$unit)
  tests <- lapply(which(!duplicated(key)), function(i) {
    index <- paper_draw(protocol, source, places$run[i], places$unit[i], seed)$test
    list(index = index, truth = source$is_target(places$unit[i])[index],
         group = source$group[index])
  })
  fits <- unlist(lapply(done, function(d) rep(list(d$fit), nrow(d$facts))), recursive = FALSE)
  structure(list(name = protocol$name, protocol = protocol, settings = settings, tasks = frame,
                 scores = unlist(lapply(done, `[[`, "score"), recursive = FALSE),
                 tests = stats::setNames(tests, unique(key)),
                 fits = if (!all(vapply(fits, is.null, NA))) fits,
                 seed = seed, rng_kind = RNGkind(),
                 version = as.character(utils::packageVersion("fumi")),
                 date = as.character(Sys.Date()),
                 machine = paste(R.version$platform, R.version.string), seconds = seconds,
                 training_seconds = sum(vapply(done, function(d) d$facts$seconds[1], 0))),
            class = "paper_experiment")
}

#' @export
print.paper_experiment <- function(x, ...) {
  t <- x$tasks
  settings <- unique(t[c("method", "setting", "detector")])
  cat("Experiment \"", x$name, "\": ", pluralize(
    "{length(unique(t$run))} run{?s} x {length(unique(t$unit))} unit{?s} x ",
    "{nrow(settings)} setting{?s}"), "\n", sep = "")
  cat("  seed ", x$seed, ", fumi ", x$version, ", ", x$date, "; ", round(x$training_seconds),
      " s of training\n", sep = "")
  whole <- x$name != "usps" || all(x$protocol$units %in% t$unit)
  if (whole) print(paper_table(x)) else cat("  no accuracy: not all digits were used\n")
  invisible(x)
}

#' @export
summary.paper_experiment <- function(object, ...) object
