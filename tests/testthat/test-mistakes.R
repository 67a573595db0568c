# What users do wrong most often, with the sentence that they read.

spoiled <- local({
  set.seed(1)
  x <- as.matrix(sim_bags(n_bags = 8, bag_size = 4, n_features = 6))
  colnames(x) <- letters[1:6]
  bag <- rep(1:8, each = 4)
  label <- rep(c(1, 0), each = 4)
  d <- data.frame(x, bag = bag, label = label[bag])
  b <- bags(d, bag = "bag", label = "label")
  folder <- tempfile()
  dir.create(folder)
  csv <- function(name, write = utils::write.csv, ...) {
    write(d, file.path(folder, name), ...)
    file.path(folder, name)
  }
  list(x = x, bag = bag, label = label, d = d, b = b, folder = folder,
       fit = dlfumi(b, n_target = 1, n_background = 2),
       plain = csv("plain.csv", row.names = FALSE), numbered = csv("numbered.csv"),
       semicolon = csv("semicolon.csv", utils::write.csv2))
})

# Rows: the mistake, as a call in the data above; the answer.
mistakes <- function() list(
  # labels
  quote(bags(x, bag, replace(label[bag], 2:4, 0))),
  "`label` must be the same for all instances of a bag, but bag 1 has both (labels of single instances go into `truth`).",
  quote(bags(x, bag, label[1:7])),
  "`label` must have one value for each of the 8 bags or for each of the 32 instances, not 7.",
  quote(bags(x, bag, rep(c("yes", "no"), 4))),
  "`positive` must name the positive one of the two values of `label` (no, yes), but it is not given.",
  quote(bags(x, bag, rep(c("yes", "no"), 4), positive = "Yes")),
  "`positive` must be one of the two values of `label` (no, yes), not \"Yes\".",
  quote(bags(x, bag, factor(rep(c("a", "b", "c", "a"), 2)))),
  paste("`label` must be 0/1, -1/1, logical, a factor with two levels, or any two values with `positive` naming the positive",
        "one, not a factor with 3 values: a, b, c (`one_vs_rest()` takes several classes)."),
  quote(dlfumi(x, bag, rep(1, 8))),
  "`label` must have at least one positive and one negative bag, but all 8 are positive.",
  quote(sil(bags(x, bag, label)[0])),
  "`label` must have at least one positive and one negative bag, but there is no bag.",
  quote(dlfumi(x, label)),
  "`bag` and `label` must both be given, but `label` is missing.",
  # instances
  quote(bags(cbind(d, sex = "f"), bag = "bag", label = "label")),
  "`x` must have feature columns of numbers or factors, but sex (character) is not: convert with `as.numeric()` or `factor()`.",
  quote(bags(t(x), bag, label)),
  "`bag` must give the bag of each of the 6 instances, not an integer vector of length 32 (instances are rows: is `x` transposed?).",
  quote(bags(replace(x, 5, NA), bag, label)),
  "`x` must be finite, but it has 1 missing value, the first in instance 5, feature a (`na.action = na.omit` leaves such instances out).",
  quote(bags(d, bag = "bagg", label = "label")),
  "`bag` must name a column of the data, but there is no column \"bagg\" among a, b, c, d, e and 3 more (did you mean `bag`?).",
  quote(bags(x, bag = "bag", label = label)),
  "`bag` must give the bag of each of the 32 instances, not \"bag\" (column names need a data frame).",
  quote(bags(x, bag = bag, label = "label")),
  paste("`label` must be 0/1, -1/1, logical, a factor with two levels, or any two values with `positive` naming the positive",
        "one, not \"label\" (column names need a data frame)."),
  quote(bags(label ~ ., data = d)),
  "`x` must be a formula `mi(label, bag) ~ features`, not `label ~ .`.",
  quote(dlfumi("scans.csv")),
  "`x` must be instances, not \"scans.csv\": `read_bags()` reads files.",
  # files
  quote(read_bags(plain, bag = "Bag")),
  "`file` must have the columns `Bag` and `label`, but plain.csv has a, b, c, d, e and 3 more (did you mean `bag`?); give their names as `bag` and `label`.",
  quote(read_bags(numbered)),
  paste("`file` must have a name for each column, but column 1 of numbered.csv has none (row names are left out by",
        "`write.csv(row.names = FALSE)`)."),
  quote(read_bags(semicolon)),
  "`file` must be a table with commas between its columns, but semicolon.csv is not.",
  quote(windows_to_bags(list(a = 1:9, b = 1:4), 5)),
  "`window` must not be longer than a recording, but 5 points are more than recording b has.",
  quote(windows_to_bags(list(a = 1:9, b = matrix(1, 9, 2)), 5)),
  "`x` must have the same channels in each recording, but a has 1 and b has 2.",
  # parameters
  quote(dlfumi(b, label = label)),
  "`label` must not be given for bags, which have been made already.",
  quote(dlfumi(b, lamda = 0.1)),
  "Unknown argument `lamda`. Did you mean `lambda`?",
  quote(dlfumi(b, maxiter = 10)),
  "Unknown argument `maxiter`. Did you mean `max_iter`?",
  quote(dlfumi(b, max_iter = 10, control = dlfumi_control("exact"))),
  "`max_iter` must be given directly or in `control`, not both.",
  quote(em_dd(b, bag_weights = 1:8)),
  paste("`bag_weights` cannot be used by this method: `dlfumi()`, `dmil()`, `mi_ace()`, `mi_svm()`, `miles()` and `sil()`",
        "take weights of bags."),
  quote(dlfumi(b, control = dlfumi_control("exakt"))),
  "`variant` must be one of \"paper\", \"matlab\", \"exact\", not \"exakt\".",
  quote(dlfumi(b, n_target = 50)),
  "`n_target` must be at most the number of instances in positive bags (16), not 50.",
  quote(dlfumi(b, lambda = -1)),
  "`lambda` must be a single finite number >= 0, not -1.",
  quote(miles(b, C = 1)),
  paste("Unknown argument `C`. The arguments are x, sigma, cost, bag_weights, normalize, calibrate, progress, bag, label,",
        "positive, truth, image_dim, axis, data, na.action, like."),
  # new data
  quote(predict(fit, x[, 1:5])),
  "`new_data` must have the features of the fit, but it lacks f.",
  quote(predict(fit, t(x))),
  "`new_data` must have 6 features, not 32 (instances are rows: is `new_data` transposed?).",
  quote(predict(fit, x[1, ])),
  paste("`new_data` must be a numeric matrix with one row per instance, a data frame, a list of matrices, or an array of images,",
        "not a double vector of length 6 (one row of a matrix stays a matrix with `drop = FALSE`)."),
  quote(predict(fit, list(x, "b"))),
  paste("`new_data[[2]]` must be a numeric matrix with one row per instance, a data frame, a list of matrices, or an array of",
        "images, not \"b\"."),
  quote(predict(fit, newdata = b)),
  "Unknown argument `newdata`. Did you mean `new_data`?",
  quote(predict(fit)),
  "`new_data` must be given: a fit keeps no training data.",
  quote(predict(fit, x, level = "bag")),
  "`bag` must be given for `level = \"bag\"`: the new data do not carry bag ids.",
  quote(predict(fit, b, type = "response")),
  "`type` must be one of \"score\", \"class\", \"prob\", \"weight\", \"codes\", \"reconstruction\", not \"response\".",
  quote(predict(fit, b, type = "class", threshold = "0.5")),
  "`threshold` must be a single finite number, not \"0.5\".",
  quote(mil_explain(fit, b, bag = "b17")),
  "`bag` must name existing bags, but there is no bag b17.",
  quote(plot(dmil(b, kernel = "rbfdot"))),
  paste("`x` must have atoms or weights of features to plot, but this model of class dmil has none: `plot(x, \"scores\",",
        "new_data = bags)` shows the scores of bags, `plot(x, \"bag\", new_data = bags)` the instances of one."),
  # evaluation
  quote(mil_roc(fit, b)),
  "`truth` must be given when `new_data` has none for its instances, but it is NULL (`level = \"bag\"` needs only the labels).",
  quote(mil_roc(predict(fit, b), label[bag])),
  "`x` must be numeric scores or a fitted model, not a data.frame of 32 x 3 (its column `.score` has them).",
  quote(mil_roc(predict(fit, b)$.score, label)),
  "`truth` must have one value for each of the 32 scores, not 8.",
  quote(mil_tune(b, function(b) dlfumi(b))),
  paste("`fitter` must be one of dlfumi, mi_svm, miles, em_dd, diverse_density, mmdl, dmil, mi_ace,",
        "mi_he, e_fumi, sil for a suggested grid: other methods need a `grid` of your own, a data",
        "frame with one configuration per row."),
  quote(mil_tune(b, dlfumi, data.frame(lambda = 1), lambda = 2)),
  "`lambda` must be given as a column of `grid` or as an argument, not both.",
  quote(mil_tune(b, sil, data.frame(cost = 1), nfolds = 2)),
  "Unknown argument `nfolds`. Did you mean `folds`?",
  quote(mil_cv(b, sil, metrics = "auc")),
  "Unknown argument `metrics`. Did you mean `metric`?",
  quote(mil_tune(b, "dlfumy", data.frame(lambda = 1))),
  "`fitter` must be a function that fits a model, or the name of one, not \"dlfumy\".",
  quote(mil_tune(b, dlfumi, data.frame(lambda = 1), folds = 10)),
  "`folds` must be at most the number of bags of each label (4 positive, 4 negative), not 10.",
  quote(mil_benchmark(b, c("dlfumi", "misvm"))),
  "`methods` must be names of functions of this package, but misvm is not one (did you mean `mi_svm`?).",
  quote(bag_folds(d, 3)),
  "`x` must be bags, not a data.frame of 32 x 8.")

test_that("a common mistake gets one sentence that helps", {
  table <- matrix(mistakes(), ncol = 2, byrow = TRUE)
  for (i in seq_len(nrow(table))) {
    answer <- tryCatch(eval(table[[i, 1]], spoiled), error = identity)
    expect_s3_class(answer, "fumi_error")
    expect_identical(conditionMessage(answer), table[[i, 2]])
  }
  unlink(spoiled$folder, recursive = TRUE)
})

test_that("labels and ids that would be features too are told of", {
  d <- spoiled$d
  expect_warning(bags(d, bag = d$bag, label = "label"), "leaves that column out",
                 class = "fumi_warning_copy")
  expect_warning(bags(d, bag = "bag", label = factor(d$label)), "`label = \"label\"`",
                 class = "fumi_warning_copy")
  expect_silent(bags(d[-8], bag = "bag", label = d$label))
  expect_silent(bags(d, bag = "bag", label = "label"))
})
