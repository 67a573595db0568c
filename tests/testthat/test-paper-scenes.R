ace <- list(list(method = "MI-ACE", setting = "defaults", fitter = "mi_ace"),
            list(method = "single instances", setting = "defaults", fitter = "sil"))

test_that("blocks are bags, positive where a target is inside, and no pixel is used twice", {
  set.seed(701)
  scene <- make_scene()
  p <- paper_bags("hyper_sandiego", 1, data = scene, n_negative = 8)
  s <- summary(p$train)
  expect_equal(unique(s$instances), 25)
  expect_equal(sum(s$label == 0), 8)
  expect_true(all((s$targets > 0) == (s$label == 1)))
  expect_equal(nrow(p$test), 600 - 25 * nrow(s))
  expect_identical(p$truth, as.vector(scene$truth)[p$index])
  expect_equal(unname(p$test), matrix(scene$cube, 600)[p$index, ])
  # a block holds neighbours
  d <- paper_draw(paper_protocol("hyper_sandiego", n_negative = 8),
                  scene_source(paper_protocol("hyper_sandiego"), scene), 1, 1, 5)$train
  for (image in split(d$image, d$bag)) {
    expect_lte(diff(range((image - 1) %% 20)), 4)
    expect_lte(diff(range((image - 1) %/% 20)), 4)
  }
})

test_that("pixels that touch are one target", {
  set.seed(702)
  found <- connected_pixels(make_scene()$truth)
  expect_equal(sort(lengths(found)), c(1, 1, 2, 2))
  expect_setequal(unlist(found), which(make_scene()$truth))
  expect_equal(pixel_centres(list(1, c(1, 2), 21), 20),
               cbind(x = c(.5, .5, 1.5), y = c(19.5, 19, 19.5)))
})

test_that("points give haloes, and the training sees no other target", {
  skip_if_not_installed("terra")
  set.seed(703)
  scene <- make_scene()
  protocol <- paper_protocol("hyper_hydice_points", n_negative = 5)
  source <- scene_source(protocol, scene)
  for (run in 1:5) {
    drawn <- paper_draw(protocol, source, run, 1, 5)
    train <- drawn$train
    expect_equal(length(unique(train$bag[train$label == 1])), 2)
    expect_false(any(train$truth[train$label == 0]))
    expect_true(all(tapply(train$truth, train$bag, any)[unique(train$bag[train$label == 1])]))
    expect_length(intersect(drawn$test, train$image), 0)
    expect_true(all(unlist(source$targets[-drawn$training]) %in% drawn$test))
  }
  cells <- map_cells(1:600, source)
  expect_equal(scene_pixels(cells, source), 1:600)
  map <- scene_map(1:600, source)
  expect_equal(terra::values(map, mat = FALSE)[cells], 1:600)
  placed <- terra::cellFromXY(map, pixel_centres(list(47), 20))
  expect_equal(placed, map_cells(47, source))
})

test_that("scenes run to a table, are resumable, and are stored small", {
  skip_if_not_installed("terra")
  set.seed(704)
  scene <- make_scene()
  dir <- tempfile()
  on.exit(unlink(dir, recursive = TRUE))
  run <- function(...) paper_experiment("hyper_hydice", ace, 2, data = scene, n_negative = 8, ...)
  e <- run(dir = dir)
  unlink(list.files(dir, full.names = TRUE)[2])
  expect_identical(run(dir = dir)$scores, e$scores)
  table <- paper_table(e)
  expect_equal(names(table), c("method", "setting", "1 %", "10 %", "PD at 0", "PD at 0.001",
                               "PD at 0.01", "AUC", "sd", "runs"))
  ours <- table[table$method == "MI-ACE", ]
  expect_equal(ours$AUC, 1, tolerance = 0.01)
  expect_equal(ours[["PD at 0"]], 100)
  expect_equal(table$AUC[table$method == "MI-ACE"],
               mean(vapply(which(e$tasks$method == "MI-ACE"),
                           function(i) as.numeric(task_roc(i, e)$auc), 0)))
  kept <- compact_experiment(e)
  expect_equal(paper_table(kept), table)
  expect_null(kept$scores[[3]])
  expect_equal(as.numeric(task_roc(1, kept)$auc), as.numeric(task_roc(1, e)$auc))
  expect_output(print(e), "PD .001", fixed = TRUE)
  expect_output(print(e$protocol), "blocks of 5 x 5")
})

test_that("where only points are known, targets are counted and pixels are not", {
  skip_if_not_installed("terra")
  set.seed(705)
  scene <- make_scene()
  points <- pixel_centres(connected_pixels(scene$truth), 20)
  e <- paper_experiment("hyper_muufl_points", ace, 1, n_negative = 5,
                        data = list(cube = scene$cube, points = points))
  expect_true(all(is.na(e$tasks$auc)))
  table <- paper_table(e)
  expect_false("AUC" %in% names(table))
  expect_true(all(table[["PD at 0.01"]] %in% c(0, 50, 100)))
  expect_equal(paper_table(compact_experiment(e)), table)
  local_reproducible_output(width = 80)
  shown <- capture.output(print(paper_protocol("hyper_muufl_points")))
  expect_match(paste(trimws(shown), collapse = " "), "pixels within 3 of points, half")
  expect_lte(max(nchar(shown)), 80)
  protocol <- paper_protocol("hyper_hydice_points", n_negative = 5)
  source <- scene_source(protocol, scene)
  drawn <- paper_draw(protocol, source, 1, 1, 5)
  perfect <- as.numeric(as.vector(scene$truth)[drawn$test])
  expect_equal(unlist(judge_scene(perfect, protocol, source, drawn)), rep(1, 6), ignore_attr = TRUE)
  expect_equal(judge_scene(-perfect, protocol, source, drawn)$auc, 0)
})

test_that("a target is found by any of its pixels", {
  skip_if_not_installed("terra")
  set.seed(706)
  protocol <- paper_protocol("hyper_hydice")
  source <- scene_source(protocol, make_scene())
  drawn <- list(test = 1:600)
  score <- numeric(600)
  score[vapply(source$targets, `[`, 0, 1)] <- 1:4
  score[300] <- 2.5
  expect_equal(judge_scene(score, protocol, source, drawn)$pd1, .5)
  expect_equal(pd_at(judge_targets(score, protocol, source, drawn), c(0, 1 / 590)), c(.5, 1))
})

test_that("what is no scene is refused", {
  expect_error(paper_bags("hyper_sandiego"), "`data` must be the scene",
               class = "fumi_error_no_data")
  set.seed(707)
  scene <- make_scene()
  for (odd in list(1, list(cube = 1), scene["cube"], list(cube = scene$cube, truth = t(scene$truth)),
                   list(cube = scene$cube, truth = scene$truth & FALSE),
                   list(cube = scene$cube, points = cbind(1, 2))))
    expect_error(paper_bags("hyper_sandiego", data = odd), "`data`", class = "fumi_error_type")
})
