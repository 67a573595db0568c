# Bad input and odd input, by table. A case has the answer that it must get: the class of an error
# ("type" for fumi_error_type), which must name the argument in backticks, or "ok" for input that
# must work.

# Errors by the hundred, without the cost of a backtrace each, until the calling function ends.
without_traces <- function(env = parent.frame()) {
  old <- options("rlang:::disable_trace_capture" = TRUE)
  do.call(on.exit, list(substitute(options(old), list(old = old)), TRUE), envir = env)
}

case <- function(what, answer, argument, run) list(what = what, answer = answer,
                                                   argument = argument, run = run)

# The parameters of each method, by kind; a method joins `mil_methods` and gets a line here.
method_parameters <- list(
  dlfumi = list(count = c("n_target", "n_background", "n_start"), positive = c("beta", "psi"),
                number = c("lambda", "gamma", "witnesses"),
                choice = c("normalize", "combine", "nonneg", "score"),
                flag = c("keep_background", "progress")),
  dmil = list(count = c("n_atoms", "max_iter", "n_start"), positive = c("exponent", "beta"),
              number = c("lambda", "tol"),
              choice = c("pool", "combine", "normalize"), flag = c("swap", "progress")),
  diverse_density = list(count = c("n_start", "max_iter"), positive = "scale_init",
                         choice = c("model", "scale_type", "normalize"), flag = "progress"),
  em_dd = list(count = c("n_start", "max_iter", "inner"), positive = "scale_init",
               choice = c("scale_type", "combine", "normalize"), flag = "progress"),
  mi_svm = list(count = "max_iter", positive = "cost",
                choice = c("type", "kernel", "class_weights", "normalize"), flag = "progress"),
  miles = list(positive = c("sigma", "cost"), choice = "normalize", flag = "progress"),
  e_fumi = list(count = c("n_target", "n_background", "max_iter", "n_start"),
                positive = c("alpha", "beta", "prune"),
                number = c("u", "gamma", "tol"), choice = "normalize", flag = "progress"),
  mi_he = list(count = c("n_target", "n_background", "max_iter", "n_start"),
               positive = c("beta", "power", "step"),
               number = c("rho", "lambda", "alpha", "tol"),
               choice = c("coding", "score", "variant", "normalize"), flag = "progress"),
  mi_ace = list(count = c("n_target", "n_clusters", "max_iter"), positive = c("ridge", "energy"),
                number = "alpha",
                choice = c("type", "init", "whitener", "normalize"), flag = "progress"),
  mmdl = list(count = c("n_clusters", "max_iter", "n_start"),
              positive = c("rho", "sigma", "cost", "negative_weight"),
              choice = c("normalize", "combine"),
              flag = c("assign0", "resample", "bag_route", "progress")),
  sil = list(positive = "cost", choice = c("classifier", "normalize"), flag = "progress"))

# One of each kind of mistake: test-checks.R has the rest of them.
bad_values <- list(
  count = list(0, 1.5, "2", 1e10),
  positive = list(0, NA, c(1, 2)),
  number = list(-1, Inf),
  choice = list("none such", NULL),
  flag = list(NA, "yes"))

parameter_cases <- function(method) {
  fit <- getExportedValue("fumi", method)
  b <- odd_data$b
  kinds <- method_parameters[[method]]
  one <- function(name, value) case(paste0(method, "(", name, " = ",
                                           paste(deparse(value), collapse = ""), ")"), "input",
  name,
                                    function() do.call(fit, c(list(b), stats::setNames(list(value), name))))
  unlist(lapply(names(kinds), function(kind) unlist(lapply(kinds[[kind]], function(name)
    lapply(bad_values[[kind]], function(value) one(name, value))), recursive = FALSE)),
    recursive = FALSE)
}

odd_data <- local({
  set.seed(11)
  x <- matrix(rnorm(48), 12, dimnames = list(NULL, letters[1:4]))
  list(x = x, bag = rep(1:6, each = 2), label = c(1, 1, 1, 0, 0, 0),
       b = bags(x, rep(1:6, each = 2), c(1, 1, 1, 0, 0, 0)))
})

# What a fitter is given for its data: name, answer, argument, arguments.
data_cases <- function(method) {
  x <- odd_data$x
  bag <- odd_data$bag
  label <- odd_data$label
  d <- data.frame(x, id = bag, y = label[bag])
  at <- function(value) replace(x, 3, value)
  sparse <- if (requireNamespace("Matrix",
                                 quietly = TRUE)) Matrix::Matrix(x * (x > -.5),
                                                                 sparse = TRUE) else x
  table <- list(
    list("characters", "type", "x", matrix("a", 12, 4), bag, label),
    list("complex numbers", "type", "x", x + 0i, bag, label),
    list("raw", "type", "x", matrix(raw(48), 12), bag, label),
    list("a list with dimensions", "type", "x", matrix(as.list(x), 12), bag, label),
    list("a vector", "type", "x", 1:12, bag, label),
    list("no data", "type", "x", NULL, bag, label),
    list("a function", "type", "x", mean, bag, label),
    list("four dimensions", "type", "x", array(0, c(2, 2, 3, 12)), bag, label),
    list("dates", "type", "x", data.frame(a = as.Date("2020-01-01") + 1:12, b = 1:12), bag, label),
    list("a text column", "type", "x", data.frame(a = rep("u", 12), b = 1:12), bag, label),
    list("no instance", "empty", "x", x[0, ], integer(), integer()),
    list("no feature", "empty", "x", x[, 0], bag, label),
    list("an empty list", "empty", "x", list(), label = label),
    list("a list with an empty bag", "empty", "x[[2]]", list(x[1:3, ], x[0, ]), label = 1:0),
    list("a list of unlike bags", "input", "x", list(x, x[, -1]), label = 1:0),
    list("NA", "nonfinite", "x", at(NA), bag, label),
    list("NaN", "nonfinite", "x", at(NaN), bag, label),
    list("Inf", "nonfinite", "x", at(Inf), bag, label),
    list("-Inf", "nonfinite", "x", at(-Inf), bag, label),
    list("NA in a data frame", "nonfinite", "x", data.frame(at(NA)), bag, label),
    list("all positive", "label", "label", x, bag, rep(1, 6)),
    list("all negative", "label", "label", x, bag, rep(0, 6)),
    list("one instance", "label", "label", x[1, , drop = FALSE], 1, 1),
    list("both labels in a bag", "label", "label", x, bag, rep(1:0, 6)),
    list("too few ids", "input", "bag", x, bag[-1], label),
    list("no ids", "input", "bag", x, NULL, label),
    list("ids in a list", "input", "bag", x, as.list(bag), label),
    list("a missing id", "nonfinite", "bag", x, replace(bag, 2, NA), label),
    list("ids not given", "input", "bag", x, label = label),
    list("labels not given", "input", "label", x, bag),
    list("too few labels", "input", "label", x, bag, label[-1]),
    list("labels 1 and 2", "label", "label", x, bag, label + 1),
    list("labels of text", "label", "label", x, bag, c("u", "v")[1 + label]),
    list("three levels", "label", "label", x, bag, factor(c("u", "v", "w", "u", "v", "w"))),
    list("a missing label", "nonfinite", "label", x, bag, replace(label, 2, NA)),
    list("no label", "input", "label", x, bag, NULL),
    list("labels of other bags", "label", "label", x, bag, stats::setNames(label, letters[1:6])),
    list("a positive value that is none", "label", "positive", x, bag, label, positive = 2),
    list("truth of another size", "input", "truth", x, bag, label, truth = 1),
    list("images of another size", "input", "image_dim", x, bag, label, image_dim = c(3, 3)),
    list("a column that is not there", "column", "bag", d, "ids", "y"),
    list("a label column that is not there", "column", "label", d, "id", "z"),
    list("a formula without mi()", "input", "x", y ~ a, d),
    list("a formula without data", "input", "data", mi(y, id) ~ a),
    list("an unknown name in a formula", "column", "x", mi(z, id) ~ a, d),
    list("a misspelt argument", "argument", "lable", x, bag, lable = label),
    list("an argument that is none", "argument", "no_such", x, bag, label, no_such = 1),
    list("zeros", "scale", "x", x * 0, bag, label),
    list("zeros in positive bags", "scale", "x", x * (bag > 3), bag, label),
    list("values that overflow", "scale", "x", x * 1e305, bag, label),
    list("squares that overflow", "scale", "x", x * 1e160, bag, label, normalize = "none"),
    list("a sparse matrix", "ok", "", sparse, bag, label),
    list("a factor column", "ok", "", data.frame(a = gl(3, 4), b = 1:12), bag, label),
    list("a formula with terms", "ok", "", bags(mi(y, id) ~ poly(a, 2) + exp(b), data = d)),
    list("integers", "ok", "", matrix(as.integer(10 * x), 12), bag, label),
    list("logicals", "ok", "", cbind(x > 0, TRUE), bag, label),
    list("a data frame", "ok", "", d, "id", "y"),
    list("a level without instances", "ok", "", x, factor(bag, 0:6), label),
    list("bags of one instance", "ok", "", x, 1:12, label[bag]),
    list("labels in a factor", "ok", "", x, bag, factor(label)),
    list("labels -1 and 1", "ok", "", x, bag, 2 * label - 1),
    list("labels TRUE and FALSE", "ok", "", x, bag, label > 0),
    list("text with the positive one", "ok", "", x, bag, c("u", "v")[1 + label], positive = "v"),
    list("a constant column", "ok", "", cbind(x, 1), bag, label),
    list("a column of zeros", "ok", "", cbind(x, 0), bag, label),
    list("an instance of zeros", "ok", "", replace(x, cbind(5, 1:4), 0), bag, label),
    list("values of 1e-310, whose norm is 0", "scale", "x", x * 1e-310, bag, label),
    list("values of 1e-290", "ok", "", x * 1e-290, bag, label, normalize = "unit"),
    list("values of 1e150", "ok", "", x * 1e150, bag, label, normalize = "unit"),
    list("doubled instances", "ok", "", x[c(1:4, 1:4, 5, 5, 6, 6), ], bag, label),
    list("names that are doubled, empty or not ASCII", "ok", "",
         structure(x, dimnames = list(NULL, c("a", "a", "", "\u00e9"))), bag, label))
  lapply(table, function(row) case(paste(method, row[[1]], sep = ": "), row[[2]], row[[3]],
                                   function()
    all(is.finite(predict(do.call(mil_methods[[method]], row[-(1:3)]), row[[4]],
                          bag = if (is.data.frame(row[[4]]) &&
      "id" %in% names(row[[4]])) "id")$.score))))
}

# What depends on the size of the data, and parameters with rules of their own.
method_cases <- function() {
  b <- odd_data$b
  small <- function(b, ...) dlfumi(b, n_target = 1, n_background = 2, ...)
  list(
    case("more target atoms than instances", "input", "n_target",
         function() dlfumi(b, n_target = 7)),
    case("more background atoms than instances", "input", "n_background",
         function() dlfumi(b, n_background = 7)),
    case("2^31 - 1 target atoms", "input", "n_target",
         function() dlfumi(b, n_target = .Machine$integer.max)),
    case("a start that is none", "input", "init",
         function() dlfumi(b, n_target = 1, n_background = 2, init = 1)),
    case("a start of other size", "input", "init$dictionary", function()
      dlfumi(b, n_target = 1, n_background = 2, init = list(dictionary = diag(2)))),
    case("weights of too few bags", "input", "bag_weights", function() small(b, bag_weights = 1:5)),
    case("a weight of 0", "input", "bag_weights", function() small(b, bag_weights = 0:5)),
    case("weights of other bags", "input", "bag_weights",
         function() small(b, bag_weights = c(u = 1, v = 2))),
    case("weights of text", "input", "bag_weights",
         function() small(b, bag_weights = letters[1:6])),
    case("weights in a list", "input", "bag_weights", function() small(b, bag_weights = list(1))),
    case("a prior of too few instances", "input", "instance_prior",
         function() small(b, instance_prior = .5)),
    case("a prior above 1", "input", "instance_prior",
         function() small(b, instance_prior = rep(c(2, 0), each = 6))),
    case("a prior of text", "input", "instance_prior",
         function() small(b, instance_prior = rep("0", 12))),
    case("a prior for negative bags", "label", "instance_prior",
         function() small(b, instance_prior = rep(.5, 12))),
    case("a prior without hope", "input", "instance_prior",
         function() small(b, instance_prior = numeric(12))),
    case("a prior of logicals", "ok", "", function()
      all(is.finite(small(b, instance_prior = rep(c(TRUE, NA, FALSE), c(1, 5, 6)))$dictionary))),
    case("non-negative atoms from a negative start", "scale", "nonneg", function()
      small(b, init = list(dictionary = -diag(4)[, 1:3]), nonneg = "both")),
    case("control that is no list", "input", "control", function() dlfumi(b, control = 1)),
    case("control with an unknown name", "argument", "max_itr",
         function() dlfumi(b, control = list(max_itr = 2))),
    case("no iteration", "input", "max_iter", function() dlfumi_control(max_iter = 0)),
    case("no inner step", "input", "inner", function() dlfumi_control(inner = 0)),
    case("a negative tolerance", "input", "tol", function() dlfumi_control(tol = -1)),
    case("an infinite tolerance", "input", "tol", function() dlfumi_control(tol = Inf)),
    case("a gap of 0", "input", "gap", function() dlfumi_control(gap = 0)),
    case("a solver of another variant", "input", "solver",
         function() dlfumi_control("paper", solver = "active")),
    case("an unknown variant", "input", "variant", function() dlfumi_control("papers")),
    case("an unknown fate of dead atoms", "input", "dead",
         function() dlfumi_control(dead = "bury")),
    case("more atoms than instances", "input", "n_atoms", function() dmil(b, n_atoms = 7)),
    case("2^31 - 1 atoms", "input", "n_atoms", function() dmil(b, n_atoms = .Machine$integer.max)),
    case("more clusters than instances", "input", "n_clusters", function() mmdl(b, n_clusters = 7)),
    case("2^31 - 1 clusters", "input", "n_clusters",
         function() mmdl(b, n_clusters = .Machine$integer.max)),
    case("more endmembers than instances", "input", "n_target", function() e_fumi(b, n_target = 7)),
    case("more background endmembers than instances", "input", "n_background",
         function() e_fumi(b, n_background = 7)),
    case("a limit above 1", "input", "prune", function() e_fumi(b, prune = 2)),
    case("a weight of 1", "input", "u", function() e_fumi(b, u = 1)),
    case("kernel parameters in no list", "input", "kpar",
         function() mi_svm(b, kernel = "rbf", kpar = 1)),
    case("kernel parameters of another kernel", "argument", "kpar",
         function() mi_svm(b, kernel = "rbf", kpar = list(degree = 2))),
    case("a negative width", "input", "kpar$sigma",
         function() mi_svm(b, kernel = "rbf", kpar = list(sigma = -1))),
    case("a kernel that is not finite", "scale", "kernel",
         function() mi_svm(b, kernel = function(x, y) NaN)),
    case("a kernel of zeros", "scale", "kernel",
         function() dmil(b, n_atoms = 2, kernel = function(x, y) 0)),
    case("one class weight", "input", "class_weights", function() mi_svm(b, class_weights = 1)),
    case("negative class weights", "input", "class_weights",
         function() mi_svm(b, class_weights = c(1, -1))),
    case("half a classifier", "input", "classifier",
         function() sil(b, classifier = list(fit = mean))),
    case("energy above 1", "input", "energy", function() mi_ace(b, energy = 2)),
    case("all instances the same", "scale", "x",
         function() em_dd(matrix(1, 12, 4), odd_data$bag, odd_data$label)),
    case("a positive bag that is no longer the same", "argument", "label",
         function() dlfumi(b, label = 1)))
}

# Everything that takes data or a model and is no fitter.
function_cases <- function() {
  x <- odd_data$x
  b <- odd_data$b
  bag <- odd_data$bag
  fit <- fit_to(b)
  bare <- fit_to(bags(unname(x), bag, odd_data$label))
  roc <- mil_roc(c(1, 2, 3, 4), c(0, 1, 0, 1))
  many <- one_vs_rest(list(a = b, b = b), fitter = sil)
  stats <- background_stats(x)
  at <- function(value) replace(x, 3, value)
  list(
    # predict
    case("no new data", "no_data", "new_data", function() predict(fit)),
    case("newdata", "argument", "newdata", function() predict(fit, newdata = x)),
    case("too few columns", "column", "new_data", function() predict(bare, x[, -1])),
    case("too many columns", "column", "new_data", function() predict(bare, cbind(unname(x), 1))),
    case("other names", "column", "new_data",
         function() predict(fit, structure(x, dimnames = list(NULL, letters[2:5])))),
    case("a data frame with other names", "column", "new_data",
         function() predict(fit, data.frame(a = 1, b = 2))),
    case("new NA", "nonfinite", "new_data", function() predict(fit, at(NA))),
    case("new Inf", "nonfinite", "new_data", function() predict(fit, at(Inf))),
    case("new text", "type", "new_data", function() predict(fit, matrix("a", 2, 4))),
    case("new complex numbers", "type", "new_data", function() predict(fit, x + 0i)),
    case("a new vector", "type", "new_data", function() predict(fit, x[1, ])),
    case("new NULL", "type", "new_data", function() predict(fit, NULL)),
    case("a new function", "type", "new_data", function() predict(fit, mean)),
    case("new values that overflow", "scale", "new_data", function() predict(fit, x * 1e305)),
    case("no new rows", "ok", "", function() nrow(predict(fit, x[0, ])) == 0),
    case("new names in another order", "ok", "",
         function() identical(predict(fit, x[, 4:1]), predict(fit, x))),
    case("new zeros", "ok", "", function() all(is.finite(predict(fit, x * 0)$.score))),
    case("new denormals", "ok", "", function() all(is.finite(predict(fit, x * 1e-310)$.score))),
    case("an unknown type", "input", "type", function() predict(fit, x, "scores")),
    case("an unknown level", "input", "level", function() predict(fit, x, level = "image")),
    case("codes of bags", "input", "level", function() predict(fit, b, "codes", level = "bag")),
    case("bags without ids", "no_bag", "bag", function() predict(fit, x, level = "bag")),
    case("new ids of another number", "input", "bag", function() predict(fit, x, bag = 1:3)),
    case("ids for bags", "input", "bag", function() predict(fit, b, bag = bag)),
    case("an id column that is not there", "column", "bag",
         function() predict(fit, data.frame(x), bag = "id")),
    case("an unknown pool", "input", "pool", function() predict(fit, b, level = "bag",
                                                                pool = "median")),
    case("noisy-or of scores", "pool", "pool = \"noisy-or\"",
         function() predict(fit, b, level = "bag", pool = "noisy-or")),
    case("a threshold of text", "input", "threshold",
         function() predict(fit, b, "class", threshold = "a")),
    case("a threshold of NA", "input", "threshold",
         function() predict(fit, b, "class", threshold = NA)),
    case("a threshold for another coding", "no_threshold", "threshold",
         function() predict(fit, b, "class", coding = "separate")),
    case("an unknown coding", "input", "coding", function() predict(fit, b, coding = "none")),
    case("no coding step", "input", "coding_steps", function() predict(fit, b, coding_steps = 0)),
    case("an unknown detector", "input", "detector", function() predict(fit, b, detector = "sub")),
    case("a detector without background", "no_background", "background",
         function() predict(fit, b, detector = "subace")),
    case("a background of other features", "column", "background", function()
      predict(bare, x, detector = "subace", background = x[, -1])),
    case("a surplus argument", "argument", "colour", function() predict(fit, b, colour = 1)),
    case("codes of a model without", "no_meaning", "type", function() predict(sil(b), b, "codes")),
    case("the fit without data", "no_data", "new_data", function() fitted(fit)),
    case("a new fit without data", "no_data", "data", function() update(fit)),
    case("a new fit with a wrong parameter", "input", "lambda",
         function() update(fit, b, lambda = -1)),
    case("the path of no model", "input", "object", function() loss_path(1)),
    case("unknown atoms", "input", "which", function() coef(fit, "some")),
    # bags and mi
    case("a bag that is not there", "subscript", "i", function() b[7]),
    case("an id that is not there", "subscript", "i", function() b["u"]),
    case("half a bag", "subscript", "i", function() b[1.5]),
    case("bags and a number", "type", "...", function() c(b, 1)),
    case("bags with shared ids", "combine", "...", function() c(b, b)),
    case("a share above 1", "input", "f", function() split(b, 2)),
    case("too few parts", "input", "f", function() split(b, 1:2)),
    case("labels in a list", "input", "label", function() mi(list(1), 1)),
    case("more labels than ids", "input", "bag", function() mi(1:2, 1)),
    case("ids in a function", "input", "bag", function() mi(1, mean)),
    case("simulated bags of no instance", "input", "bag_size", function() sim_bags(bag_size = 0)),
    case("one simulated bag", "input", "n_bags", function() sim_bags(1)),
    case("a share of witnesses above 1", "input", "witness_rate",
         function() sim_bags(witness_rate = 2)),
    case("images without width", "input", "image_dim", function() sim_bags(image_dim = 3)),
    case("image 0", "input", "which", function() usps_images(0)),
    case("no image", "input", "which", function() olivetti_images(integer())),
    # pool
    case("scores of text", "input", "score", function() pool_bags("a", 1)),
    case("scores without bags", "input", "bag", function() pool_bags(1:2, 1)),
    case("a missing bag", "nonfinite", "bag", function() pool_bags(1:2, c(1, NA))),
    case("probabilities above 1", "pool", "score", function() pool_bags(2, 1, "noisy-or")),
    case("an unknown way to pool", "input", "pool", function() pool_bags(1, 1, "min")),
    # detectors
    case("a target of text", "type", "target", function() ace(x, "a", x)),
    case("a target of other length", "dimension", "target", function() ace(x, 1:3, x)),
    case("a target with NA", "nonfinite", "target", function() ace(x, c(1, NA, 1, 1), x)),
    case("a target of zeros", "input", "target", function() sub_ace(x, numeric(4), x)),
    case("no target", "dimension", "target", function() sub_ace(x, x[0, ], x)),
    case("two targets", "dimension", "target", function() ace(x, t(x[1:2, ]), x)),
    case("a model without targets", "type", "target", function() ace(x, sil(b), x)),
    case("a background of other columns", "dimension", "x", function() ace(x[, -1], 1:3, x)),
    case("a background with other names", "column", "x",
         function() ace(structure(x, dimnames = list(NULL, letters[2:5])), 1:4, stats)),
    case("an unknown whitener", "input", "whitener", function() background_stats(x, "zca")),
    case("a ridge of 0", "input", "ridge", function() background_stats(x, ridge = 0)),
    case("no energy", "input", "energy", function() background_stats(x, energy = 0)),
    case("a background of one", "empty", "x", function() background_stats(x[1, , drop = FALSE])),
    case("a background of text", "type", "x", function() background_stats(matrix("a", 3, 3))),
    case("a background with NA", "nonfinite", "background", function() ace(x, 1:4, at(NA))),
    case("instances with NA", "nonfinite", "x", function() sub_ace(at(NaN), 1:4, x)),
    case("a sign that is none", "input", "sign", function() ace(x, 1:4, x, sign = NA)),
    case("a centre that is none", "input", "center_target",
         function() sub_ace(x, 1:4, x, center_target = 1)),
    case("a whitener for finished statistics", "argument", "whitener",
         function() ace(x, 1:4, stats, whitener = "none")),
    case("a surplus argument of a detector", "argument", "rdge",
         function() ace(x, 1:4, x, rdge = 1)),
    # read_ar
    case("a folder that is not there", "input", "dir",
         function() read_ar(file.path(tempdir(), "none"))),
    case("a folder of NA", "input", "dir", function() read_ar(NA_character_)),
    case("two folders", "input", "dir", function() read_ar(c(".", "."))),
    case("a number of a folder", "input", "dir", function() read_ar(1)),
    case("a height of 0", "input", "height", function() read_ar(tempdir(), height = 0)),
    case("a width without end", "input", "width", function() read_ar(tempdir(), width = 1e9)),
    case("a folder without pictures", "file", "dir", function() {
      dir.create(folder <- tempfile())
      on.exit(unlink(folder, recursive = TRUE))
      read_ar(folder)
    }),
    # ROC
    case("a curve of text", "type", "x", function() mil_roc("a", 1)),
    case("a curve without truth", "truth", "truth", function() mil_roc(1:2)),
    case("truth of another length", "dimension", "truth", function() mil_roc(1:3, 1:0)),
    case("scores of NA", "nonfinite", "x", function() mil_roc(c(1, NA, 2), c(0, 1, 1))),
    case("scores of Inf", "nonfinite", "x", function() mil_roc(c(1, Inf, 2), c(0, 1, 1))),
    case("truth of one class", "label", "truth", function() mil_roc(1:3, c(1, 1, 1))),
    case("truth of three classes", "label", "truth", function() mil_roc(1:3, 1:3)),
    case("missing truth", "nonfinite", "truth", function() mil_roc(1:3, c(1, 0, NA))),
    case("an unknown way with NA", "input", "na", function() mil_roc(1:2, 1:0, na = "omit")),
    case("the curve of a model without data", "input", "new_data", function() mil_roc(fit)),
    case("the curve of data without truth", "truth", "truth", function() mil_roc(fit, b)),
    case("the curve of a matrix without truth", "truth", "truth", function() mil_roc(fit, x)),
    case("a rate above 1", "input", "fpr", function() tpr_at(roc, 1.1)),
    case("a rate of NA", "input", "fpr", function() tpr_at(roc, NA_real_)),
    case("no rate", "input", "fpr", function() tpr_at(roc, numeric())),
    case("a rate of text", "input", "fpr", function() tpr_at(roc, "a")),
    case("no curve", "type", "roc", function() tpr_at(list(), .1)),
    case("a number for a curve", "type", "roc", function() tpr_at(1, .1)),
    # one-vs-rest
    case("no list of bags", "input", "x", function() one_vs_rest(1)),
    case("one class", "input", "x", function() one_vs_rest(list(a = b))),
    case("classes without names", "input", "x", function() one_vs_rest(list(b, b))),
    case("a class twice", "input", "x", function() one_vs_rest(list(a = b, a = b))),
    case("classes without bags", "input", "bag", function() one_vs_rest(x, label = odd_data$label)),
    case("labels of one class", "label", "label",
         function() one_vs_rest(x, bag = bag, label = rep("a", 12))),
    case("a fitter that is none", "input", "fitter",
         function() one_vs_rest(list(a = b, b = b), fitter = 1)),
    case("a fitter that is not there", "input", "fitter",
         function() one_vs_rest(list(a = b, b = b), fitter = "no_such_fitter")),
    case("a scale that is none", "input", "scale",
         function() one_vs_rest(list(a = b, b = b), scale = 2)),
    case("a parameter of the fitter", "input", "cost",
         function() one_vs_rest(list(a = b, b = b), fitter = sil, cost = -1)),
    case("classes without new data", "no_data", "new_data", function() predict(many)),
    case("an unknown type of classes", "input", "type", function() predict(many, x, "prob")),
    case("new data of other features", "column", "new_data", function() predict(many, x[, -1])),
    # plots
    case("an unknown picture", "input", "what", function() plot(fit, "atom")),
    case("a bag of no data", "no_data", "new_data", function() plot(fit, "bag")),
    case("a bag that is not there to plot", "subscript", "bag",
         function() plot(fit, "bag", new_data = b, bag = 9)),
    case("a surplus argument of a plot", "argument", "colour", function() plot(fit, colour = 1)),
    case("no bag to plot", "input", "n_bags", function() plot(b, n_bags = 0)),
    case("no instance to plot", "input", "n_instances", function() plot(b, n_instances = 0)),
    case("operating points that are none", "type", "points", function() plot(roc, points = 1)),
    # the page
    case("no bags to view", "no_data", "bags", function() mil_view(fit)),
    case("a matrix to view", "type", "bags", function() mil_view(fit, x, open = FALSE)),
    case("a number for a model to view", "model", "fit", function() mil_view(1, b, open = FALSE)),
    case("several models to view", "model", "fit", function() mil_view(many, b, open = FALSE)),
    case("bags without a bag to view", "empty", "bags",
         function() mil_view(fit, b[integer()], open = FALSE)),
    case("bags of other features to view", "column", "bags", function()
      mil_view(fit, bags(x[, -1], bag, odd_data$label), open = FALSE)),
    case("a page without a name", "input", "file",
         function() mil_view(fit, b, NA_character_, open = FALSE)),
    case("a page in no folder", "file", "file",
         function() mil_view(fit, b, file.path(tempdir(), "none", "a"), open = FALSE)),
    case("no instance to view", "input", "max_instances",
         function() mil_view(fit, b, max_instances = 0, open = FALSE)),
    case("half an instance to view", "input", "max_instances",
         function() mil_view(fit, b, max_instances = 1.5, open = FALSE)),
    case("an answer that is none", "input", "open", function() mil_view(fit, b, open = NA)),
    case("two titles", "type", "title", function() mil_view(fit, b, title = c("a", "b"), open = FALSE)),
    case("a misspelt argument of the page", "argument", "max_instance",
         function() mil_view(fit, b, max_instance = 2)),
    case("bags with features in another order to view", "ok", "", function()
      file.exists(mil_view(fit, bags(x[, 4:1], bag, odd_data$label), open = FALSE))),
    # models and files
    case("a number for a model", "model", "object", function() mil_save(1, tempfile())),
    case("no name of a file", "input", "file", function() mil_load(NULL)),
    case("a file that is not there", "file", "file", function() mil_load(tempfile())),
    # calibration
    case("a number to calibrate", "model", "object", function() mil_calibrate(1, b)),
    case("one fold of calibration", "input", "calibrate", function() sil(b, calibrate = 1)),
    case("half a fold of calibration", "input", "calibrate", function() sil(b, calibrate = 2.5)),
    case("a word for the folds of calibration", "input", "folds",
         function() mil_calibrate(fit, b, folds = "all")),
    case("no function to fit again", "input", "refit", function() mil_calibrate(fit, b, refit = 1)),
    case("one label to calibrate by", "label", "label", function() mil_calibrate(fit, b[b$label])))
}

# Runs the cases; returns what went otherwise, one string per case: another answer, a message without
# the argument, a warning that is not ours, or a changed `.Random.seed`.
run_cases <- function(cases) {
  set.seed(12)
  without_traces()
  wrong <- function(one) {
    seed <- .Random.seed
    foreign <- character()
    got <- tryCatch(
      withCallingHandlers(one$run(), warning = function(w) {
        if (!inherits(w, "fumi_warning")) foreign <<- conditionMessage(w)
        invokeRestart("muffleWarning")
      }), error = identity)
    failed <- inherits(got, "error")
    c(if (one$answer == "ok" && failed) conditionMessage(got),
      if (one$answer == "ok" && identical(got, FALSE)) "a result that is not finite",
      if (one$answer != "ok" && !failed) "no error",
      if (failed && one$answer != "ok" && !inherits(got, paste0("fumi_error_", one$answer)))
        paste0(class(got)[1], ": ", conditionMessage(got)),
      if (failed && one$answer != "ok" && !grepl(paste0("`", one$argument, "`"),
                                                 conditionMessage(got), fixed = TRUE))
        paste0("no `", one$argument, "` in: ", conditionMessage(got)),
      if (length(foreign)) paste("warning:", foreign),
      if (failed && !identical(seed, .Random.seed)) "the random numbers moved on")
  }
  unlist(lapply(cases, function(one) {
    problem <- wrong(one)
    if (length(problem)) paste0(one$what, ": ", problem)
  }))
}
