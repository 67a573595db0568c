test_that("bags are drawn as told, and no image twice", {
  set.seed(1)
  d <- draw_bags(1:10, 101:200, n_targets = c(2, 3), positive_size = 5, n_negative = 3,
                 negative_size = 7)
  expect_equal(as.vector(table(d$bag)), c(5, 5, 7, 7, 7))
  expect_equal(as.vector(tapply(d$truth, d$bag, sum)), c(2, 3, 0, 0, 0))
  expect_identical(d$truth, d$image <= 10)
  expect_identical(d$label, as.integer(d$bag <= 2))
  expect_false(anyDuplicated(d$image) > 0)
  expect_error(draw_bags(1:4, 101:200, c(2, 3), 5), "`target` must have the 5",
               class = "fumi_error_input")
  expect_error(draw_bags(1:9, 101:110, c(2, 3), 5), "`other`", class = "fumi_error_input")
  expect_error(draw_bags(1:9, 101:200, 6, 5), "`n_targets`", class = "fumi_error_input")
})

# What the paper says of each experiment.
said <- list(
  usps = list(positive = 50, size = 4, negative = 50, negative_size = 50, targets = 50,
              test = 2000, test_targets = 200),
  olivetti_eyeglasses = list(positive = 25, size = 6, negative = 15, negative_size = 6,
                             targets = 50, test = 160, test_targets = 69),
  olivetti_person = list(positive = 2, size = 20, negative = 3, negative_size = 60, targets = 5,
                         test = 105, test_targets = 5))

for (name in names(said)) test_that(paste(name, "has the numbers of its protocol"), {
  p <- paper_bags(name, run = 2)
  s <- summary(p$train)
  is <- said[[name]]
  expect_equal(table(factor(s$label, 1:0), dnn = NULL),
               table(factor(rep(1:0, c(is$positive, is$negative)), 1:0), dnn = NULL))
  expect_equal(unique(s$instances[s$label == 1]), is$size)
  expect_equal(unique(s$instances[s$label == 0]), is$negative_size)
  expect_equal(sum(s$targets), is$targets)
  expect_true(all((s$targets > 0) == (s$label == 1)))
  expect_equal(c(dim(p$test)[3], sum(p$truth), length(p$index), length(p$group)),
               c(is$test, is$test_targets, is$test, is$test))
  source <- paper_source(paper_protocol(name), NULL)
  drawn <- paper_draw(paper_protocol(name), source, 2, paper_protocol(name)$units[1], 2016)
  expect_length(intersect(drawn$train$image, drawn$test), 0)
  expect_false(anyDuplicated(c(drawn$train$image, drawn$test)) > 0)
  expect_identical(drawn$train$truth,
                   source$is_target(paper_protocol(name)$units[1])[drawn$train$image])
})

test_that("digits share their test images, and people's first images train", {
  protocol <- paper_protocol("usps")
  source <- paper_source(protocol, NULL)
  tests <- lapply(c(0, 7), function(d) paper_draw(protocol, source, 1, d, 2016)$test)
  expect_identical(tests[[1]], tests[[2]])
  expect_equal(as.vector(table(usps$digit[tests[[1]]])), rep(200, 10))
  p <- paper_bags("olivetti_person", unit = 3)
  own <- which(olivetti$person == 3)
  expect_identical(sort(p$index[p$truth]), own[6:10])
})

test_that("run, unit and seed decide, and nothing else", {
  one <- paper_bags("olivetti_person", run = 1, unit = 2)$train
  set.seed(99)
  expect_identical(paper_bags("olivetti_person", run = 1, unit = 2)$train, one)
  for (other in list(list(run = 2), list(unit = 3), list(seed = 1)))
    expect_false(identical(do.call(paper_bags,
                                   utils::modifyList(list("olivetti_person", run = 1, unit = 2),
                                                     other))$train$x, one$x))
})

test_that("numbers of a protocol can be changed, and others are refused", {
  expect_equal(paper_protocol("usps", n_negative = 3)$n_negative, 3)
  expect_error(paper_protocol("usps", n_negativ = 3), "Did you mean `n_negative`",
               class = "fumi_error_argument")
  expect_error(paper_protocol("mnist"), "`name`", class = "fumi_error_input")
  expect_error(paper_bags("usps", unit = 10), "`unit`", class = "fumi_error_input")
  expect_output(print(paper_protocol("usps")),
                "50 positive bags of 4 with 1 target, 50 negative bags of 50")
})

test_that("people apart: no person of the test trains, and bags keep their group", {
  set.seed(601)
  faces <- make_cmu()
  for (name in c("olivetti_eyeglasses", "cmu_sunglasses", "cmu_sunglasses_poses")) {
    protocol <- paper_protocol(name, apart = TRUE)
    expect_equal(protocol$name, paste0(name, "_apart"))
    source <- paper_source(protocol, faces)
    for (run in 1:3) {
      drawn <- paper_draw(protocol, source, run, 1, 5)
      train <- drawn$train
      expect_length(intersect(source$group[train$image], source$group[drawn$test]), 0)
      expect_false(anyDuplicated(train$image) > 0)
      part_of <- tapply(train$part, source$group[train$image], function(k) length(unique(k)))
      expect_true(all(part_of == 1))
      expect_true(all(tapply(train$part, train$bag, function(k) length(unique(k))) == 1))
      expect_equal(sum(train$truth), sum(protocol$n_targets))
      expect_equal(length(unique(train$bag)), length(protocol$n_targets) + protocol$n_negative)
    }
  }
  p <- paper_bags("olivetti_eyeglasses", apart = TRUE)
  expect_length(p$bag_group, length(p$train))
  folds <- bag_folds(p$train, 3, group = p$bag_group)
  expect_equal(length(unique(paste(folds, p$bag_group))), 3)
  expect_error(paper_protocol("usps", apart = TRUE), "`name`", class = "fumi_error_input")
})

test_that("the CMU faces must be given, and come in one pose or in all", {
  old <- Sys.getenv("FUMI_CMU_DIR", NA)
  Sys.unsetenv("FUMI_CMU_DIR")
  on.exit(if (!is.na(old)) Sys.setenv(FUMI_CMU_DIR = old))
  expect_error(paper_bags("cmu_sunglasses"), "FUMI_CMU_DIR", class = "fumi_error_no_data")
  expect_error(paper_bags("cmu_sunglasses", data = list(1)), "`read_cmu_faces\\(\\)`",
               class = "fumi_error_type")
  set.seed(602)
  faces <- make_cmu()
  size <- function(name) {
    p <- paper_bags(name, data = faces)
    length(p$train$bag) + length(p$index)
  }
  expect_equal(size("cmu_sunglasses"), 160)
  expect_equal(size("cmu_sunglasses_poses"), 640)
  one <- list(list(method = "MI-ACE", setting = "defaults", fitter = "mi_ace"), background_only)
  table <- paper_table(paper_experiment("cmu_sunglasses", one, 1, data = faces))
  expect_true(all(table$AUC > 0.9))
  expect_true("paper 1 %" %in% names(table))
  table <- paper_table(paper_experiment("cmu_sunglasses_apart", one, 1, data = faces))
  expect_false("paper 1 %" %in% names(table))
})

test_that("the AR faces must be given", {
  withr_env <- Sys.getenv("FUMI_AR_DIR", NA)
  Sys.unsetenv("FUMI_AR_DIR")
  on.exit(if (!is.na(withr_env)) Sys.setenv(FUMI_AR_DIR = withr_env))
  expect_error(paper_bags("ar_person"), "FUMI_AR_DIR", class = "fumi_error_no_data")
  expect_error(paper_bags("ar_person", data = list(1)), "`read_ar\\(\\)`",
               class = "fumi_error_type")
})
