#!/usr/bin/env Rscript
# One contender on one problem in a process of its own, started by run.R:
#   contender.R <contender> <problem>
# prints CPU and wall milliseconds per iteration (the least of some batches), the share of R in a
# whole call, the BLAS, and the objective of the iterations that all contenders make.

bench <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(bench, "problems.R"))
source(file.path(bench, "vectorised.R"))
asked <- commandArgs(TRUE)
problem <- make_problem(asked[2])
batches <- problem$batches
scale <- fumi:::instance_scale(problem$bags$x, "unit")

run <- list(
  vectorised = function() with(problem, vectorised_dlfumi(
    x, bags$n_positive, start, n_target, lambda, beta, gamma, n_iter[["r"]])),
  core = function() run_core(problem, problem$n_iter[["core"]], scale),
  dlfumi = function() with(problem, fumi::dlfumi(
    bags, n_target = n_target, n_background = n_background, lambda = lambda, beta = beta,
    gamma = gamma,
    init = start, control = fumi::dlfumi_control(max_iter = n_iter[["core"]], tol = 0),
    progress = FALSE))$objective$objective)
run$avx2 <- run$portable <- run$threads <- run$threads8 <- run$reference <- run$core
if (asked[1] %in% c("portable", "avx2")) options(fumi.simd = asked[1])
if (asked[1] == "threads") options(fumi.threads = 2)
if (asked[1] == "threads8") options(fumi.threads = 8)

# Share of the samples of a profile that are neither in .Call() nor in a function that calls it:
# compiled code counts for that function.
share_of_r <- function(f) {
  own <- as.list(asNamespace("fumi"))
  callers <- names(Filter(function(f) is.function(f) && ".Call" %in% all.names(body(f)), own))
  file <- tempfile()
  utils::Rprof(file, interval = 0.002)
  for (i in seq_len(10)) f()
  utils::Rprof(NULL)
  self <- utils::summaryRprof(file)$by.self
  compiled <- gsub("\"", "", rownames(self)) %in% c(".Call", callers)
  sum(self$self.time[!compiled]) / sum(self$self.time)
}

# Share of the last second in which the processors were idle.
idle <- function() {
  ticks <- function() as.numeric(strsplit(readLines("/proc/stat", 1), " +")[[1]][-1])
  if (!file.exists("/proc/stat")) return(NA)
  before <- ticks()
  Sys.sleep(1)
  passed <- ticks() - before
  passed[4] / sum(passed)
}

quiet <- if (asked[1] == "threads") idle() else NA
used <- vapply(seq_len(batches), function(i) {
  time <- system.time(path <<- run[[asked[1]]]())
  1000 * c(sum(time[c("user.self", "sys.self")]), time[["elapsed"]]) / length(path)
}, numeric(2))
share <- if (asked[1] == "dlfumi" && asked[2] == "usps") share_of_r(run$dlfumi) else NA
b <- problem$bags
cat(deparse(list(
  cpu = min(used[1, ]), wall = min(used[2, ]), share_of_r = share, idle = quiet,
  blas = extSoftVersion()[["BLAS"]], d = nrow(b$x), n = ncol(b$x), n_positive = b$n_positive,
  path = path[seq_len(problem$n_iter[["r"]])]), control = c("digits17", "keepNA", "niceNames")),
  sep = "\n")
