# Two runs of three digits with scores that are known.
made_digits <- function() {
  protocol <- paper_protocol("usps")
  protocol$units <- 0:2
  tasks <- expand.grid(unit = 0:2, run = 1:2)
  tasks <- data.frame(run = tasks$run, unit = tasks$unit, method = "DL-FUMI", setting = "made",
                      detector = "score", seconds = 1,
                      center = c(0, 0, 5), scale = 1, ratio = FALSE, above = NA)
  # run 1: the third digit's scores are 5 too large throughout
  scores <- list(c(3, 0, 0), c(0, 3, 0), c(5, 5, 8), c(1, 0, 0), c(0, 1, 0), c(5, 5, 6))
  tests <- list(`run 1` = list(index = 1:3, group = 0:2), `run 2` = list(index = 1:3, group = 0:2))
  structure(list(name = "usps", protocol = protocol, tasks = tasks, scores = scores, tests = tests,
                 seed = 1, version = "0", date = ""), class = "paper_experiment")
}

test_that("accuracy is counted over runs, with raw scores and on one scale", {
  table <- paper_table(made_digits())
  expect_equal(table$setting, c("made, one scale", "made"))
  expect_equal(table$mean, c(100, 100 / 3))
  expect_equal(table$sd, c(0, 0))
  expect_equal(table$paper, c(86.5, 86.5))
  expect_output(print(table), "33.3 / 100.0")
})

test_that("tables print as people read them, in 80 columns", {
  for (name in c("usps", "olivetti_eyeglasses", "olivetti_person")) {
    shown <- capture.output(print(paper_table(name)))
    expect_lte(max(nchar(shown)), 80)
    expect_lt(length(shown), 25)
  }
  usps <- paper_table("usps")
  wide <- format(usps)
  expect_equal(wide$method, unique(usps$method))
  at <- function(setting) usps$mean[usps$method == "MMDL" & usps$setting == setting]
  expect_equal(wide$tuned[wide$method == "MMDL"],
               sprintf("%.1f / %.1f", at("tuned"), at("tuned, one scale")))
  expect_equal(wide$paper[wide$method == "EM-DD"], "76.55")
  glasses <- format(paper_table("olivetti_eyeglasses"))
  expect_match(glasses[["95 % interval"]], "^0\\.[0-9]{3} - [01]\\.[0-9]{3}$")
  every <- rbind(usps, subset(paper_table("usps", 2030), method == "DL-FUMI, centred"))
  expect_length(capture.output(print(every)), length(unique(every$method)) + 3)
  expect_output(print(paper_table("olivetti_person")), "DL-FUMI, subACE +94.6")
  expect_output(print(usps[c("method", "mean")]), "mi-SVM +93.145")
  expect_output(print(usps[0, ]), "0 rows")
})

test_that("a run that lacks a digit has no accuracy", {
  e <- made_digits()
  e$tasks <- e$tasks[-6, ]
  e$scores <- e$scores[-6]
  expect_equal(paper_table(e)$runs, c(1, 1))
})

made_detection <- function() {
  tasks <- data.frame(run = 1:2, unit = 1L, method = "EM-DD", setting = "made", detector = "score",
                      seconds = 1, center = 0, scale = 1, ratio = FALSE, above = NA)
  tests <- list(list(index = 1:6, truth = c(TRUE, TRUE, FALSE, FALSE, FALSE, FALSE),
                     group = c(1, 2, 1, 2, 3, 3)))
  tests <- stats::setNames(c(tests, tests), c("run 1 unit 1", "run 2 unit 1"))
  structure(list(name = "olivetti_eyeglasses", protocol = paper_protocol("olivetti_eyeglasses"),
                 tasks = tasks, tests = tests,
                 scores = list(c(6, 5, 4, 3, 2, 1), c(6, 1, 2, 3, 4, 5)), seed = 1, version = "0",
                 date = ""), class = "paper_experiment")
}

test_that("rates and AUC are means over runs, with an interval around them", {
  table <- paper_table(made_detection())
  expect_equal(table$AUC, (1 + .5) / 2)
  expect_equal(table[["1 %"]], 100 * mean(c(1, .5)))
  expect_equal(table[["paper 18.4 %"]], 93.8)
  expect_true(table$low <= table$AUC && table$high >= table$AUC)
})

test_that("resampling weighs pairs of images by their people", {
  x <- made_detection()
  case <- auc_parts(2, x)
  ones <- c(`1` = 1, `2` = 1, `3` = 1)
  expect_equal(weighted_auc(case, ones), .5)
  # without person 2: image 1 against images 3, 5 and 6
  expect_equal(weighted_auc(case, c(`1` = 1, `2` = 0, `3` = 2)), 1)
})

test_that("what is kept of an experiment gives the same table", {
  digits <- made_digits()
  expect_equal(paper_table(compact_experiment(digits)), paper_table(digits))
  detection <- made_detection()
  kept <- compact_experiment(detection)
  expect_equal(as.vector(kept$scores[[1]]) * attr(kept$scores[[1]], "unit"), detection$scores[[1]],
               tolerance = 1e-7)
  expect_type(kept$scores[[2]], "integer")
  kept$scores <- lapply(kept$scores, as.vector)
  expect_equal(paper_table(kept), paper_table(detection))
})

test_that("stored tables have what they promise", {
  for (name in c("usps", "olivetti_eyeglasses", "olivetti_person")) {
    x <- paper_results(name)
    expect_equal(x$seed, 2016)
    for (field in c("date", "version", "machine", "command", "rng_kind"))
      expect_true(length(x[[field]]) > 0)
    table <- paper_table(name)
    runs <- with(if (name == "usps") x$predicted else x$tasks,
                 tapply(run, method, function(r) length(unique(r))))
    expect_equal(table$runs, as.vector(runs[table$method]))
    expect_gte(max(table$runs), 10)
    expect_false(is.unsorted(-(if (name == "usps") table$mean else table$AUC)))
    settings <- unique(paste(table$method, table$setting))
    expect_equal(length(settings), nrow(table))
  }
  expect_equal(names(paper_table("usps")), c("method", "setting", "mean", "sd", "runs", "paper"))
  expect_error(paper_table("mnist"), class = "fumi_error_input")
  expect_error(paper_table(1), class = "fumi_error_input")
  size <- sum(file.size(list.files(system.file("extdata", package = "fumi"), full.names = TRUE)))
  expect_lt(size, 1.2e6)
})

test_that("results of fresh draws and of other people's data have what they promise", {
  fresh <- list(c("usps", 2030), c("olivetti_eyeglasses", 2028), "olivetti_eyeglasses_apart",
                "cmu_sunglasses", "cmu_sunglasses_poses", "hyper_sandiego", "hyper_hydice",
                c("hyper_sandiego", 2029), c("hyper_hydice", 2029), "hyper_hydice_points",
                "hyper_muufl_points",
                c("hyper_sandiego", 2030), c("hyper_hydice", 2030), c("hyper_sandiego", 2031),
                c("hyper_hydice", 2031), c("hyper_hydice_points", 2031), c("hyper_sandiego", 2032),
                c("hyper_hydice", 2032), c("hyper_hydice_points", 2032),
                c("olivetti_eyeglasses", 2030),
                c("olivetti_eyeglasses_apart", 2030), "cmu_sunglasses_apart",
                c("cmu_sunglasses", 2030))
  for (of in fresh) {
    seed <- if (length(of) > 1) as.numeric(of[2])
    x <- paper_results(of[1], seed)
    expect_equal(x$seed, if (is.null(seed)) 2028 else seed)
    for (field in c("date", "version", "machine", "command", "rng_kind"))
      expect_true(length(x[[field]]) > 0)
    table <- paper_table(of[1], seed)
    expect_output(print(table), "runs?")
    if (of[1] != "usps") expect_true("background only" %in% table$method)
  }
  expect_error(paper_table("usps", seed = 1), "with seed 1", class = "fumi_error_no_data")
  expect_error(paper_table("cmu_sunglasses_poses_apart"), class = "fumi_error_no_data")
})

test_that("what DL-FUMI reaches when it is told the targets has a table of its own", {
  told <- paper_results("usps")$told
  table <- paper_table(told)
  expect_identical(unique(table$method), "DL-FUMI, told the targets")
  expect_false(any(table$method %in% paper_table("usps")$method))
  expect_true(all(table$runs == 3))
  expect_equal(told$seed, 2016)
  expect_match(told$command, "run_all.R told")
})

# One replicate of each experiment, run anew: all methods but those that take long.
rerun <- function(name, unit, methods, seed = NULL) {
  x <- paper_results(name, seed)
  again <- Filter(function(s) s$method %in% methods && !grepl("averaged", s$setting),
                  paper_methods(name))
  e <- paper_experiment(name, again, runs = 1, units = unit, seed = seed)
  key <- function(t) paste(t$run, t$unit, t$method, t$setting, t$detector)
  at <- match(key(e$tasks), key(x$tasks))
  expect_false(anyNA(at))
  for (i in seq_along(at)) expect_equal(e$scores[[i]], x$scores[[at[i]]], tolerance = 1e-6)
}

test_that("a stored replicate of each experiment can be had again", {
  skip_on_cran()
  rerun("usps", 3, c("DL-FUMI", "DL-FUMI, exact codes", "DL-FUMI, witnesses", "mi-SVM", "EM-DD",
                     "DMIL", "MI-ACE"))
  rerun("olivetti_eyeglasses", 1, c("DL-FUMI", "mi-SVM", "DMIL", "MI-ACE"))
  rerun("olivetti_person", 4, c("DL-FUMI", "mi-SVM", "DMIL", "MI-ACE"))
  rerun("olivetti_eyeglasses_apart", 1, c("DL-FUMI", "DMIL", "background only"))
  rerun("usps", 3, c("mi-SVM", "MI-ACE", "DL-FUMI, centred"), seed = 2030)
})

test_that("steps have the ROC curve of their scores", {
  set.seed(1)
  for (i in 1:20) {
    truth <- c(TRUE, FALSE, sample(c(TRUE, FALSE), 38, replace = TRUE))
    score <- round(rnorm(40) + truth, if (i %% 2) 1 else 5)
    steps <- roc_steps(score, truth)
    at <- seq(0.01, 0.99, by = 0.07)
    expect_equal(tpr_at(mil_roc(steps, truth), at), tpr_at(mil_roc(score, truth), at))
    expect_equal(as.numeric(mil_roc(steps, truth)$auc), as.numeric(mil_roc(score, truth)$auc))
  }
  expect_identical(roc_steps(c(.1, .2, .3, .3, .5, .6), c(FALSE, FALSE, TRUE, FALSE, TRUE, TRUE)),
                   c(0L, 0L, 1L, 1L, 2L, 2L))
})
