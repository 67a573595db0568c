grid_bags <- function(n = 12, ...) {
  set.seed(601)
  sim_bags(n_bags = n, bag_size = 4, n_features = 10, ...)
}

# What a fitter does if nothing is said.
default_of <- function(name, parameter) {
  value <- formals(get(name))[[parameter]]
  if (is.call(value)) eval(value)[[1]] else value
}

test_that("every fitter has a grid of at most twelve that begins with its defaults", {
  b <- grid_bags(20)
  fitters <- c("dlfumi", "mi_svm", "miles", "em_dd", "diverse_density", "mmdl", "dmil", "mi_ace",
               "mi_he", "e_fumi", "sil")
  expect_setequal(names(grid_makers), fitters)
  for (name in fitters) {
    grid <- suggest_grid(b, name)
    expect_lte(nrow(grid), 12)
    expect_gte(nrow(grid), 6)
    expect_false(anyDuplicated(grid) > 0)
    expect_true(all(names(grid) %in% c(names(formals(get(name))), "variant")), info = name)
    if (name == "dlfumi") grid <- grid[grid$noise == "white", ]
    first <- Filter(function(v) !anyNA(v), as.list(grid[1, ]))
    if (name == "dlfumi") {
      fit <- fit_quietly(dlfumi, b, list(max_iter = 1))
      expect_equal(first, c(noise = "white", fit[setdiff(names(first), "noise")]))
    } else for (parameter in names(first))
      expect_identical(first[[parameter]], default_of(name, parameter), info = paste(name, parameter))
  }
  expect_identical(suggest_grid(b, mi_svm), suggest_grid(b, "mi_svm"))
})

test_that("every configuration can be fitted, to few bags too", {
  b <- grid_bags(6)
  for (name in names(grid_makers)) {
    configurations <- check_grid(suggest_grid(b, name), list())
    for (i in seq_along(configurations))
      expect_s3_class(suppressWarnings(fit_quietly(get(name), b, configurations[[i]])), "mil_model")
  }
})

test_that("rows with witnesses can be fitted in three folds, whatever the number of positive bags", {
  for (n in c(5:14, 30)) {
    grid <- suggest_grid(grid_bags(2 * n))
    left <- n - ceiling(n / 3)
    expect_true(all(grid$n_target[which(grid$witnesses > 0)] <= seen_for_witnesses(left)), info = n)
  }
})

test_that("there is a grid for one feature, and for few different instances", {
  set.seed(602)
  few <- list(bags(matrix(rnorm(48), ncol = 1), rep(1:12, each = 4), rep(1:0, 6)),
              bags(matrix(c(1, 2, 3, 1, 1, 4), 12, 3, byrow = TRUE), rep(1:6, each = 2),
                   rep(1:0, 3)))
  for (b in few) for (name in setdiff(names(grid_makers), c("em_dd", "diverse_density")))
    for (parameters in check_grid(suggest_grid(b, name), list()))
      expect_s3_class(suppressWarnings(fit_quietly(get(name), b, parameters)), "mil_model")
})

test_that("the grid draws nothing, and neither order nor number of bags objects matters", {
  b <- grid_bags()
  set.seed(1)
  before <- .Random.seed
  grid <- suggest_grid(b)
  expect_identical(.Random.seed, before)
  expect_equal(suggest_grid(b[12:1]), grid)
  expect_equal(suggest_grid(list(b, b)), grid)
})

test_that("scales are those of the data", {
  b <- grid_bags(40)
  s <- grid_scales(list(b))
  expect_equal(s$distance, 1 / mi_svm(b, calibrate = 0)$kernel$kpar$sigma, tolerance = 0.05)
  quiet <- grid_scales(list(grid_bags(40, noise = 0.01)))
  expect_lt(quiet$residual, s$residual / 5)
})

test_that("what is fixed is not varied", {
  grid <- data.frame(noise = c("white", "white", "background"), ridge = c(NA, NA, 0.1),
                     lambda = c(0.1, 0.2, 0.1))
  expect_equal(narrowed_grid(grid, list(noise = "white")),
               data.frame(ridge = NA_real_, lambda = c(0.1, 0.2)))
  expect_equal(narrowed_grid(grid, list(lambda = 0.5)),
               data.frame(noise = c("white", "background"), ridge = c(NA, 0.1)))
  expect_equal(nrow(narrowed_grid(grid, list(noise = "white", lambda = 1, ridge = 1))), 1)
})

test_that("mil_tune() takes it by default, and asks for a grid where there is none", {
  b <- grid_bags()
  tuned <- mil_tune(b, sil, refit = FALSE)
  expect_equal(tuned$results[c("classifier", "cost")], suggest_grid(b, sil), ignore_attr = TRUE)
  expect_equal(nrow(mil_tune(b, sil, classifier = "svm", refit = FALSE)$results), 4)
  expect_error(mil_tune(b, function(b) b), "`grid` of your own", class = "fumi_error_grid")
  expect_error(suggest_grid(1), "`x`", class = "fumi_error_input")
  expect_error(suggest_grid(b, "no_such"), "`fitter`", class = "fumi_error_input")
})

test_that("the grid of dlfumi() looks for witnesses first, where there are bags enough", {
  faces <- function(n) {
    set.seed(602)
    suggest_grid(sim_bags(n_bags = n, bag_size = 2, n_features = 60))
  }
  few_atoms <- c("n_target", "n_background", "score", "witnesses")
  as_row <- function(grid) as.list(grid[1, few_atoms])
  expect_equal(as_row(faces(20)),
               list(n_target = 4, n_background = 8, score = NA_character_, witnesses = 2))
  expect_false("witnesses" %in% names(faces(10)))
  expect_equal(as_row(suggest_grid(grid_bags(20))),
               list(n_target = 4, n_background = 8, score = "ratio", witnesses = 2))
  expect_equal(as.list(suggest_grid(grid_bags(20))[1:2, c("normalize", "normalize_after", "ridge")]),
               list(normalize = c(NA, "unit"), normalize_after = c("unit", "unit"),
                    ridge = c(0.001, 0.01)))
  expect_equal(as_row(suggest_grid(grid_bags(10)))[c("n_target", "witnesses")],
               list(n_target = 2, witnesses = 2))
  few <- suggest_grid(grid_bags(8))
  expect_false("witnesses" %in% names(few))
  expect_equal(few[1, c("score", "n_background")], data.frame(score = "ratio", n_background = 1))
})

test_that("its grid goes by one standard error, one of your own by the best mean", {
  b <- grid_bags()
  expect_equal(mil_tune(b, sil, refit = FALSE)$rule, "one-se")
  expect_equal(mil_tune(b, sil, data.frame(cost = c(0.1, 1)), refit = FALSE)$rule, "best")
})
