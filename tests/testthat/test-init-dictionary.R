eight_bags <- function() {
  set.seed(1)
  sim_bags(n_bags = 8, bag_size = 4, n_features = 6)
}
quick <- dlfumi_control(max_iter = 3)
fit_from <- function(init, b = eight_bags(), ..., n_target = 1, n_background = 2, control = quick) {
  set.seed(2)
  dlfumi(b, init = init, n_target = n_target, n_background = n_background, ..., calibrate = 0,
         control = control)
}
some_dictionary <- function(b, n = 3) {
  set.seed(3)
  matrix(rnorm(nrow(b$x) * n), nrow(b$x))
}
start_of <- function(init, b = eight_bags(), n_target = 1, n_background = 2, n_start = 1,
                     normalize = "unit") {
  spec <- list(n_target = n_target, n_background = n_background, n_start = n_start,
               normalize = normalize)
  scale <- instance_scale(b$x, normalize)
  lapply(dlfumi_starts(b, scale, spec, init, call = rlang::current_env()), function(make) make())
}

# ---- "paper" -----------------------------------------------------------------

test_that("target atoms are means of disjoint subsets of instances of positive bags", {
  b <- eight_bags()
  x <- b$x * rep(instance_scale(b$x, "unit"), each = 6)
  set.seed(4)
  start <- start_of("paper", b, n_target = 3)[[1]]
  set.seed(4)
  order <- sample.int(16)
  for (t in 1:3) {
    mean <- rowMeans(x[, order[5 * (t - 1) + 1:5]])
    expect_equal(start$dictionary[, t], mean / sqrt(sum(mean^2)))
  }
})

test_that("background atoms are k-means centres of the instances of negative bags, all of norm 1", {
  set.seed(5)
  centre <- rbind(c(1, 0, 0), c(0, 1, 0))
  near <- centre[rep(1:2, each = 10), ] + rnorm(60, sd = .01)
  b <- bags(rbind(matrix(rnorm(30), 10), near), rep(1:6, each = 5), c(1, 1, 0, 0, 0, 0))
  start <- start_of("paper", b)[[1]]
  found <- start$dictionary[, 2:3]
  expect_equal(colSums(start$dictionary^2), rep(1, 3))
  expect_equal(abs(found[, order(found[2, ])]), t(centre), tolerance = .05)
})

test_that("codes are least squares, on background atoms alone in negative bags", {
  b <- eight_bags()
  x <- b$x * rep(instance_scale(b$x, "unit"), each = 6)
  start <- start_of("paper", b)[[1]]
  positive <- seq_len(b$n_positive)
  expect_equal(start$codes[, positive], unname(qr.solve(start$dictionary, x[, positive])))
  expect_equal(start$codes[2:3, -positive], unname(qr.solve(start$dictionary[, 2:3],
                                                            x[, -positive])))
  expect_true(all(start$codes[1, -positive] == 0))
})

test_that("as many atoms as instances can be started from, and no more", {
  b <- eight_bags()
  expect_identical(dim(start_of("paper", b, n_target = 16, n_background = 16)[[1]]$dictionary),
                   c(6L, 32L))
  expect_error(fit_from("paper", n_target = 17), "`n_target`", class = "fumi_error_input")
  expect_error(fit_from("paper", n_background = 17), "`n_background`", class = "fumi_error_input")
})

test_that("fewer distinct negatives than background atoms are refused", {
  b <- eight_bags()
  x <- as.matrix(b)
  x[18:32, ] <- x[rep(17:18, length.out = 15), ]
  few <- bags(x, rep(1:8, each = 4), b$label)
  expect_error(fit_from("paper", few, n_background = 3), "`n_background`.*\\(2\\)",
               class = "fumi_error_input")
  for (fit in list(dlfumi, e_fumi)) {
    set.seed(5)
    before <- .Random.seed
    expect_error(fit(few, n_target = 1, n_background = 3), "distinct instances",
                 class = "fumi_error_input")
    expect_identical(.Random.seed, before)
  }
  expect_true(all(is.finite(fit_from("paper", few, n_background = 2)$dictionary)))
})

test_that("the seed decides, for one start and for several", {
  b <- eight_bags()
  for (n_start in c(1, 3)) {
    expect_identical(fit_from("paper", b, n_start = n_start),
                     fit_from("paper", b, n_start = n_start))
  }
  set.seed(99)
  expect_false(identical(dlfumi(b, n_target = 1, n_background = 2, control = quick)$dictionary,
                         fit_from("paper", b)$dictionary))
  # All numbers are drawn before the first start runs, so the first start is the only one.
  expect_identical(fit_from("paper", b, n_start = 3)$starts[[1]], fit_from("paper", b)$starts[[1]])
})

test_that("the kind of random numbers is used, kept, and recorded", {
  old <- RNGkind()
  on.exit(do.call(RNGkind, as.list(old)))
  RNGkind("L'Ecuyer-CMRG", "Inversion", "Rejection")
  fit <- fit_from("paper")
  expect_identical(RNGkind(), c("L'Ecuyer-CMRG", "Inversion", "Rejection"))
  expect_identical(fit$rng_kind, RNGkind())
  RNGkind("Mersenne-Twister")
  expect_false(identical(fit_from("paper")$dictionary, fit$dictionary))
})

# The same fit, but for how its start was given.
expect_same_start <- function(fit, other) {
  fit$given <- other$given <- NULL
  expect_identical(fit, other)
}

# ---- given -------------------------------------------------------------------

test_that("nothing is drawn when the start is given", {
  b <- eight_bags()
  D <- some_dictionary(b)
  set.seed(6)
  state <- .Random.seed
  run <- function(init) dlfumi(b, init = init, n_target = 1, n_background = 2, control = quick)
  first <- run(list(dictionary = D))
  expect_identical(run(first)$n_iter, 3L)
  expect_identical(.Random.seed, state)
  set.seed(7)
  expect_identical(run(list(dictionary = D)), first)
})

test_that("a given dictionary is the start; its codes come by least squares unless given", {
  b <- eight_bags()
  D <- some_dictionary(b)
  unit <- D / rep(sqrt(colSums(D^2)), each = 6)
  start <- start_of(list(dictionary = D), b)[[1]]
  expect_equal(start$dictionary, unit)
  x <- b$x * rep(instance_scale(b$x, "unit"), each = 6)
  expect_equal(start$codes[, 1:16], unname(qr.solve(unit, x[, 1:16])))
  expect_equal(fit_from(list(dictionary = unit, codes = start$codes[, order(b$order)]))$dictionary,
               fit_from(list(dictionary = D))$dictionary, tolerance = 1e-10)
})

test_that("a dictionary that is not of norm 1 has its codes rescaled: D A stays", {
  b <- eight_bags()
  D <- some_dictionary(b) * rep(c(3, .1, 1e5), each = 6)
  A <- matrix(rnorm(96), 3)
  start <- start_of(list(dictionary = D, codes = A), b)[[1]]
  expect_equal(colSums(start$dictionary^2), rep(1, 3))
  expect_equal(start$dictionary %*% start$codes, D %*% A[, b$order])
})

test_that("codes belong to the instances in the order of the user", {
  x <- as.matrix(eight_bags())
  id <- rep(1:8, each = 4)
  label <- rep(1:0, each = 16)
  set.seed(8)
  mixed <- sample(32)
  A <- matrix(rnorm(96), 3)
  D <- some_dictionary(eight_bags())
  plain <- fit_from(list(dictionary = D, codes = A), bags(x, id, label))
  shuffled <- fit_from(list(dictionary = D, codes = A[, mixed]),
                       bags(x[mixed, ], id[mixed], label[mixed]))
  expect_equal(shuffled$dictionary, plain$dictionary, tolerance = 1e-12)
  expect_equal(shuffled$codes, plain$codes[, mixed], tolerance = 1e-10)
})

test_that("a function makes the start from the bags and the numbers of atoms", {
  b <- eight_bags()
  D <- some_dictionary(b)
  seen <- NULL
  init <- function(bags, n_target, n_background) {
    seen <<- list(bags, n_target, n_background)
    list(dictionary = D)
  }
  expect_same_start(fit_from(init, b), fit_from(list(dictionary = D), b))
  expect_identical(seen, list(b, 1L, 2L))
  expect_same_start(fit_from(function(...) D, b), fit_from(list(dictionary = D), b))
  drawn <- fit_from(function(b, n, m) list(dictionary = matrix(rnorm(18), 6)), b, n_start = 3)
  expect_length(drawn$starts, 3)
  expect_false(identical(drawn$starts[[1]], drawn$starts[[2]]))
})

test_that("a fit is a warm start, with its codes when they belong to the same instances", {
  b <- eight_bags()
  first <- fit_from("paper", b, control = dlfumi_control(max_iter = 20))
  again <- fit_from(first, b)
  expect_lte(again$objective$objective[1], utils::tail(first$objective$objective, 1) * 1.01)
  expect_same_start(again, fit_from(list(dictionary = first$dictionary, codes = first$codes), b))
  expect_identical(dlfumi(b, init = first, control = quick)[c("n_target", "n_background")],
                   first[c("n_target", "n_background")])
  fewer <- b[-1]
  expect_same_start(fit_from(first, fewer), fit_from(list(dictionary = first$dictionary), fewer))
})

test_that("coef() of a fit is a start, whichever way it is turned", {
  b <- eight_bags()
  first <- fit_from("paper", b)
  fit <- fit_from(coef(first), b)
  expect_same_start(fit, fit_from(list(dictionary = first$dictionary), b))
  expect_same_start(fit_from(first$dictionary, b), fit)
  expect_same_start(fit_from(list(dictionary = coef(first)), b), fit)
})

test_that("a square matrix of atoms is told by its names or refused", {
  set.seed(1)
  x <- matrix(rnorm(9), 3)
  named <- function(x, rows, columns) structure(x, dimnames = list(rows, columns))
  turn <- function(x, features = NULL) unname(atoms_in_columns(x, 3, features, "init$dictionary",
                                                               NULL))
  atoms <- c("target1", "background1", "background2")
  expect_identical(turn(named(x, atoms, NULL)), t(x))
  expect_identical(turn(named(x, NULL, atoms)), x)
  expect_identical(turn(named(x, NULL, letters[1:3]), letters[1:3]), t(x))
  expect_identical(turn(named(x, letters[1:3], NULL), letters[1:3]), x)
  expect_identical(turn(diag(3)), diag(3))
  for (odd in list(x, named(x, LETTERS[1:3], NULL), named(x, letters[1:3], letters[1:3])))
    expect_error(turn(odd, letters[1:3]), "`init$dictionary`", fixed = TRUE,
                 class = "fumi_error_dimension")
})

test_that("target atoms alone are a start, with background atoms as in the paper", {
  b <- eight_bags()
  first <- fit_from("paper", b)
  target <- coef(first, "target")
  fit <- fit_from(target, b, control = dlfumi_control(max_iter = 1))
  set.seed(12)
  start <- dlfumi_starts(b, instance_scale(b$x, "unit"),
                         list(n_target = 1, n_background = 2, n_start = 1), target, NULL)[[1]]()
  set.seed(12)
  uniform <- runif(2)
  clusters <- cluster_instances(b$x, instance_scale(b$x, "unit"), uniform, b$n_positive)
  expect_equal(start$dictionary[, 1], as.vector(target))
  expect_equal(start$dictionary[, 2:3], unit_columns(clusters$centres))
  expect_identical(fit$n_iter, 1L)
  expect_error(fit_from(target, b, n_start = 2), "`n_start`", class = "fumi_error_input")
})

test_that("an atom of zeros is replaced, never NaN", {
  D <- some_dictionary(eight_bags())
  D[, 2] <- 0
  expect_equal(colSums(fit_from(list(dictionary = D))$dictionary^2), rep(1, 3), ignore_attr = TRUE)
})

test_that("bad starts are refused by name", {
  b <- eight_bags()
  D <- some_dictionary(b)
  A <- matrix(0, 3, 32)
  fit <- fit_from("paper", b)
  bad <- list(
    "too few atoms" = list(list(dictionary = D[, 1:2]), "init$dictionary"),
    "too few atoms in a matrix" = list(D[, 1:2], "init$dictionary"),
    "too few features" = list(list(dictionary = D[1:4, ]), "init$dictionary"),
    "NA" = list(list(dictionary = replace(D, 3, NA)), "init$dictionary"),
    "Inf" = list(list(dictionary = replace(D, 3, Inf)), "init$dictionary"),
    "data frame" = list(list(dictionary = as.data.frame(D)), "init$dictionary"),
    "character" = list(list(dictionary = matrix("a", 6, 3)), "init$dictionary"),
    "codes of other size" = list(list(dictionary = D, codes = A[, -1]), "init$codes"),
    "codes NA" = list(list(dictionary = D, codes = replace(A, 1, NA)), "init$codes"),
    "misspelt" = list(list(dict = D), "dict"),
    "unnamed" = list(list(D), "init"),
    "no list from a function" = list(function(...) 3, "init"),
    "NULL from a function" = list(function(...) NULL, "init"),
    "a word" = list("random", "init"))
  for (name in names(bad)) {
    e <- rlang::catch_cnd(dlfumi(b, init = bad[[name]][[1]], n_target = 1, n_background = 2),
                          "error")
    expect_s3_class(e, "fumi_error_input")
    expect_match(conditionMessage(e), paste0("`", bad[[name]][[2]], "`"), fixed = TRUE, info = name)
  }
  expect_error(fit_from(fit, n_target = 2), "`init", class = "fumi_error_input")
  expect_error(fit_from(fit, bags(as.matrix(b)[, 1:3], rep(1:8, each = 4), b$label)), "`init",
               class = "fumi_error_input")
})

test_that("a bad start is reported as an error of dlfumi()", {
  b <- eight_bags()
  for (init in list("random", list(dictionary = diag(2)), function(...) 3)) {
    e <- rlang::catch_cnd(dlfumi(b, init = init, n_target = 1, n_background = 2), "error")
    expect_identical(deparse(as.list(conditionCall(e))[[1]]), "dlfumi", info = describe(init))
  }
})

test_that("several starts need something to draw", {
  D <- some_dictionary(eight_bags())
  for (init in list(list(dictionary = D), fit_from("paper")))
    expect_error(fit_from(init, n_start = 2), "`n_start`", class = "fumi_error_input")
})

# ---- arithmetic ----------------------------------------------------------------

test_that("unit_columns leaves a column of zeros", {
  expect_equal(unit_columns(cbind(c(3, 4), 0, c(0, -2))), cbind(c(.6, .8), 0, c(0, -1)))
})

test_that("scaled columns are added, however many", {
  sum_columns <- function(x, scale, which) .Call(ffi_sum_columns, x, scale, as.integer(which))
  set.seed(9)
  x <- matrix(rnorm(400), 2)
  scale <- runif(200)
  which <- sample(200, 150)
  expect_equal(sum_columns(x, scale, which), drop(x[, which] %*% scale[which]))
  expect_equal(sum_columns(x, scale, 7), x[, 7] * scale[7])
})

test_that("features of a start are matched by name", {
  b <- eight_bags()
  b <- bags(`colnames<-`(as.matrix(b), paste0("f", seq_len(ncol(as.matrix(b))))),
            as.data.frame(b)$bag, as.numeric(as.character(as.data.frame(b)$label)))
  atoms <- coef(fit_from("paper", b))
  turned <- atoms[, rev(colnames(atoms))]
  expect_identical(fit_from(turned, b)$dictionary, fit_from(atoms, b)$dictionary)
  expect_identical(sub_ace(b, turned[1, , drop = FALSE]), sub_ace(b, atoms[1, , drop = FALSE]))
})
