some_bags <- function() {
  set.seed(1)
  b <- sim_bags(n_bags = 14, bag_size = 5, n_features = 12, n_background = 3)
  mixed <- sample(70)                          # instances of a bag lie apart
  bags(as.matrix(b)[mixed, ], rep(1:14, each = 5)[mixed], rep(b$label, each = 5)[mixed])
}

fit_some <- function(x, variant = "paper", ..., max_iter = 8) {
  force(x)
  set.seed(3)
  dlfumi(x, n_target = 2, n_background = 3, control = dlfumi_control(variant, max_iter = max_iter,
                                                                     tol = 0), ...)
}

expect_same_fit <- function(parts, whole) {
  for (what in c("dictionary", "codes", "prob_target", "objective", "n_dead", "bag", "n_bags"))
    expect_equal(parts[[what]], whole[[what]], tolerance = 1e-10, info = what)
}

test_that("a fit of parts is the fit of the whole, in each variant", {
  b <- some_bags()
  parts <- bag_shards(b, n = 3)
  for (variant in c("paper", "matlab", "exact")) {
    whole <- fit_some(b, variant)
    expect_same_fit(fit_some(parts, variant), whole)
    expect_same_fit(fit_some(parts, variant, init = whole), fit_some(b, variant, init = whole))
  }
  start <- list(dictionary = diag(12)[, 1:5])
  expect_same_fit(fit_some(parts, init = start), fit_some(b, init = start))
  expect_length(parts, 14)
  expect_length(list.files(parts$dir), 3)
  expect_null(shard_cache$parts)
  expect_null(shard_cache$states)
})

test_that("an unused atom gets the instance that is worst of all parts", {
  b <- some_bags()
  start <- list(dictionary = diag(12)[, 1:5], codes = matrix(0, 5, 70))
  whole <- fit_some(b, init = start, max_iter = 2)
  expect_true(all(whole$n_dead > 0))
  expect_same_fit(fit_some(bag_shards(b, n = 4), init = start, max_iter = 2), whole)
})

test_that("predictions of parts are those of the whole, in the user's order", {
  b <- some_bags()
  parts <- bag_shards(b, n = 3)
  fit <- fit_some(b)
  for (type in c("score", "class", "prob")) for (level in c("instance", "bag"))
    expect_equal(predict(fit, parts, type, level), predict(fit, b, type, level))
  for (type in c("codes", "reconstruction"))
    expect_equal(predict(fit, parts, type), predict(fit, b, type))
})

test_that("parts may be files or functions, and must fit together", {
  b <- some_bags()
  parts <- split(b, rep(1:2, 7))
  files <- vapply(parts, function(part) { saveRDS(part, file <- tempfile()); file }, "")
  expect_same_fit(fit_some(bag_shards(files)),
                  fit_some(bag_shards(list(function() parts[[1]], function() parts[[2]]))))
  expect_output(print(bag_shards(files)),
                "14 bags: 7 positive.*70 instances of 12 features in 2 parts")
  expect_error(bag_shards("no-such-file"), "no-such-file", class = "fumi_error_input")
  expect_error(bag_shards(1), "`x`", class = "fumi_error_type")
  expect_error(bag_shards(b, dir = 1), "`dir`", class = "fumi_error_input")
  expect_error(bag_shards(list(function() 1)), "part 1", class = "fumi_error_type")
  expect_error(bag_shards(b, n = 71), "`n`", class = "fumi_error_input")
  narrow <- bags(as.matrix(b)[, -1], 1:70, rep(0:1, 35))
  expect_error(bag_shards(list(function() b, function() narrow)), "number of features",
               class = "fumi_error_input")
  d <- as.data.frame(b)
  turned <- bags(as.matrix(b), d$bag, d$label == "FALSE")
  expect_error(bag_shards(list(function() b, function() turned)), "`label`",
               class = "fumi_error_label")
})

test_that("what needs all instances at once says so", {
  parts <- bag_shards(some_bags())
  expect_error(fit_some(parts, combine = "average"), "`combine`", class = "fumi_error_no_meaning")
  expect_error(fit_some(parts, keep_background = TRUE), "`keep_background`",
               class = "fumi_error_no_meaning")
  expect_error(mi_svm(parts), "`x`", class = "fumi_error_type")
})

test_that("a sample for the start has both labels and no instance twice", {
  b <- list(n_positive = 100, bag = 1:5000)
  chosen <- draw_chosen(b, 1000)
  expect_length(unique(chosen), 1000)
  expect_equal(sum(chosen <= 100), 100)
})

# Runs `code` with `hook(n)` called before the n-th pass over the parts.
with_hook <- function(hook, code) {
  real <- map_shards
  on.exit(utils::assignInNamespace("map_shards", real, "fumi"))
  n <- 0
  utils::assignInNamespace("map_shards", function(shards, f, ...) {
    if (identical(f, shard_pass)) hook(n <<- n + 1)
    real(shards, f, ...)
  }, "fumi")
  code
}

test_that("an interrupt gives the last whole iteration", {
  b <- some_bags()
  parts <- bag_shards(b, n = 2)
  stop_at <- function(at) function(n) if (n == at) rlang::interrupt()
  expect_warning(fit <- with_hook(stop_at(4), fit_some(parts)), "iteration \\(2\\)",
                 class = "fumi_warning_interrupt")
  expect_same_fit(fit, fit_some(b, max_iter = 2))
  expect_error(with_hook(stop_at(1), fit_some(parts)), class = "fumi_error_interrupt")
})

test_that("what is wrong with a fit is said as for the whole", {
  parts <- bag_shards(some_bags())
  w <- expect_warning(fit_some(parts, beta = 1e9), class = "fumi_warning_beta")
  expect_no_match(conditionMessage(w), "try")
  expect_error(fit_some(parts, gamma = 1.7e308), class = "fumi_error_diverged")
  expect_error(need_state(list(fit = "none", dir = tempfile()), 2, 1), "part 2",
               class = "fumi_error_worker")
  real <- shard_pass
  on.exit(utils::assignInNamespace("shard_pass", real, "fumi"))
  utils::assignInNamespace("shard_pass", function(b, i, args) {
    out <- real(b, i, args)
    if (i == 2 && args$it == 3) out$status <- "nonfinite"
    out
  }, "fumi")
  expect_error(fit_some(parts), "iteration 3:", class = "fumi_error_diverged")
})

test_that("workers give the same fit, and one that dies ends it", {
  skip_on_cran()
  skip_if_not_installed("future")
  b <- some_bags()
  parts <- bag_shards(b, n = 3)
  alone <- fit_some(parts)
  old <- future::plan("multisession", workers = 2)
  on.exit(future::plan(old))
  expect_identical(fit_some(parts)$dictionary, alone$dictionary)
  expect_same_fit(fit_some(parts, "matlab"), fit_some(b, "matlab"))
  known <- function(x) fit_some(x, nonneg = "codes", bag_weights = 1:14,
                                instance_prior = rep(c(NA, 0), c(69, 1)))
  expect_same_fit(known(parts), known(b))
  expect_length(list.files(parts$dir), 3)
  expect_equal(predict(alone, parts), predict(alone, b))
  pid <- future::value(future::future(Sys.getpid(), seed = NULL))
  kill <- function(n) if (n == 4) tools::pskill(pid, 9)
  expect_error(with_hook(kill, fit_some(parts)), "worker", class = "fumi_error_worker")
})

test_that("daemons of mirai give the same fit, and one that dies does not hold it up", {
  skip_on_cran()
  skip_if_not_installed("mirai")
  b <- some_bags()
  parts <- bag_shards(b, n = 3)
  alone <- fit_some(b)
  mirai::daemons(2)
  on.exit(mirai::daemons(0))
  expect_same_fit(fit_some(parts), alone)
  expect_length(list.files(parts$dir), 3)
  expect_equal(predict(alone, parts), predict(alone, b))
  ended <- function(code) tryCatch({ expect_same_fit(code, alone); TRUE },
                                   fumi_error_worker = function(e) TRUE)
  for (n_killed in 1:2) {
    mirai::daemons(0)
    mirai::daemons(2)
    wait_for(function() n_daemons() == 2)
    pids <- unlist(map_shards(parts, meeting()))
    expect_length(unique(pids), 2)
    if (Sys.getpid() %in% pids) stop("there is no daemon")
    kill <- function(n) if (n == 4) for (pid in unique(pids)[seq_len(n_killed)]) tools::pskill(pid, 9)
    expect_true(ended(with_hook(kill, fit_some(parts))))
  }
})

# A file-backed matrix with the instances `x` (one per column), `times` times side by side.
big <- function(x, times = 1) {
  m <- bigmemory::filebacked.big.matrix(nrow(x), ncol(x) * times, backingfile = "x.bin",
                                        descriptorfile = "x.desc",
                                        backingpath = { dir.create(dir <- tempfile()); dir })
  for (i in seq_len(times)) m[, (i - 1) * ncol(x) + seq_len(ncol(x))] <- x
  m
}

test_that("a file-backed matrix gives the fit and the predictions of one in memory", {
  skip_if_not_installed("bigmemory")
  b <- some_bags()
  d <- as.data.frame(b)
  x <- big(t(as.matrix(b)))
  on_file <- bags(x, d$bag, d$label, positive = "TRUE", block = 20)
  expect_length(on_file$load, 4)
  fit <- fit_some(b)
  expect_same_fit(fit_some(on_file), fit)
  expect_equal(predict(fit, on_file, level = "bag"), predict(fit, b, level = "bag"))
  x[3, 25] <- NA
  expect_error(bags(x, d$bag, d$label, positive = "TRUE", block = 20), "`x[, 21:40]`", fixed = TRUE,
               class = "fumi_error_nonfinite")
  expect_error(bags(bigmemory::big.matrix(2, 2), 1:2, 0:1), "file-backed",
               class = "fumi_error_type")
  expect_error(bags(x, d$bag), "`bag` and `label`", class = "fumi_error_input")
})

test_that("a file-backed matrix of whole numbers with names is the same bags", {
  skip_if_not_installed("bigmemory")
  dir.create(dir <- tempfile())
  values <- matrix(c(1:5, 9L), 2, dimnames = list(c("a", "b"), NULL))
  x <- bigmemory::as.big.matrix(values, type = "integer", backingfile = "x.bin",
                                descriptorfile = "x.desc", backingpath = dir)
  on_file <- bags(x, c(1, 1, 2), c(0, 0, 1))
  expect_length(on_file$load, 1)
  part <- on_file$load[[1]]()
  expect_type(part$x, "double")
  expect_equal(as.matrix(part), t(values))
  expect_identical(on_file$features, bags(t(values), c(1, 1, 2), c(0, 0, 1))$features)
})

test_that("a file-backed matrix is never in memory as a whole", {
  skip_on_cran()
  skip_if_not_installed("bigmemory")
  set.seed(1)
  x <- big(matrix(rnorm(512 * 1000), 512), times = 40)                       # 164 MB
  on_file <- bags(x, rep(1:400, each = 100), rep(0:1, 200), block = 500)
  skip_if_not(capabilities("profmem"))
  log <- tempfile()
  on.exit(unlink(log))
  before <- sum(gc()[, 2])
  Rprofmem(log, threshold = 2^24)                                            # blocks are of 2 MB
  fit <- dlfumi(on_file, n_target = 1, n_background = 2, beta = .5,
                control = dlfumi_control(inner = 1, max_iter = 2))
  predict(fit, on_file)
  Rprofmem(NULL)
  expect_length(grep("^[0-9]+ :", readLines(log)), 0)
  expect_lt(sum(gc()[, 2]) - before, 20)
})

test_that("norms of a part are computed once, though the part is read for each pass", {
  forget <- function() rm(list = ls(shard_cache), envir = shard_cache)
  forget()
  on.exit(forget())
  part <- list(x = cbind(c(3, 4), c(0, 2)), name = "some part 1")
  expect_equal(shard_norms(part, "unit"), c(1, 1))
  expect_equal(shard_norms(part, "none"), c(25, 4))
  expect_equal(shard_scale(part, "unit"), c(1 / 5, 1 / 2))
  part$x[] <- 1
  expect_equal(shard_norms(part, "none"), c(25, 4))
  expect_equal(shard_scale(part, "unit"), c(1 / 5, 1 / 2))
  b <- some_bags()
  fit <- fit_some(bag_shards(b, n = 3))
  expect_null(shard_cache$known)
  expect_s3_class(fit, "dlfumi")
})
