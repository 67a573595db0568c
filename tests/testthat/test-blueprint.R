# Ten bags of four instances with numbers and factors; a and z say which are targets.
frame_of <- function(n = 40, seed = 1) {
  set.seed(seed)
  id <- rep(letters[seq_len(n / 4)], each = 4)
  y <- rep(rep(1:0, length.out = n / 4), each = 4)
  hit <- y == 1 & seq_len(n) %% 4 == 1
  data.frame(id, y, a = rexp(n) + 3 * hit, b = runif(n, 1, 2),
             z = factor(ifelse(hit, "w", sample(c("u", "v"), n, TRUE))), flag = runif(n) > .5)
}
features_of <- function(formula, d = frame_of(), ...) as.matrix(bags(formula, data = d, ...))

# What model.matrix() says with one column for each level.
by_model_matrix <- function(formula, d = frame_of()) {
  d$flag <- d$flag + 0
  frame <- model.frame(formula, d)
  factors <- Filter(is.factor, frame)
  x <- model.matrix(formula, frame, contrasts.arg = lapply(factors, contrasts, contrasts = FALSE))
  x <- x[, colnames(x) != "(Intercept)", drop = FALSE]
  unname(x) |> structure(assign = NULL, contrasts = NULL, dimnames = list(NULL, colnames(x)))
}

test_that("terms are those of model.matrix() with one feature for each level", {
  rights <- list(~ a + z, ~ log(a) + b, ~ factor(round(b)), ~ a * b, ~ a:z, ~ z + a:z,
                 ~ (a + b + flag)^2, ~ I(a^2) + sqrt(b),
                 ~ poly(a, 2) + scale(b), ~ a + ifelse(b > 1.5, 1, 0), ~ cut(b, c(1, 1.5, 2)),
                 ~ poly(a, b, degree = 2),
                 ~ ordered(z), ~ z:factor(flag), ~ pmin(a, 2) - 1, ~ 0 + a + log1p(b), ~ I(a > 1))
  for (right in rights) {
    formula <- as.formula(paste("mi(y, id)", deparse(right)))
    want <- by_model_matrix(if (identical(right, ~ I(a > 1))) ~ as.numeric(I(a > 1)) else right)
    got <- features_of(formula)
    if (!identical(right, ~ I(a > 1)))
      expect_identical(colnames(got), colnames(want), info = deparse(right))
    expect_equal(unname(got), unname(want), tolerance = 1e-12, info = deparse(right))
  }
})

test_that("functions may be called by their package, and by no other", {
  skip_if_not_installed("splines")
  expect_identical(features_of(mi(y, id) ~ splines::ns(a, 3) * stats::poly(b, 2) + base::log(a)),
                   features_of(mi(y, id) ~ ns(a, 3) * poly(b, 2) + log(a)))
  expect_error(features_of(stats::as.formula("mi(y, id) ~ other::log(a)")), "other::log",
               class = "fumi_error_column")
})

test_that("splines are those of the package splines", {
  skip_if_not_installed("splines")
  d <- frame_of()
  expect_equal(unname(features_of(mi(y, id) ~ ns(a, 3))), unclass(splines::ns(d$a, 3))[, ],
               ignore_attr = TRUE)
  expect_equal(unname(features_of(mi(y, id) ~ bs(a, df = 4))),
               unclass(splines::bs(d$a, df = 4))[, ], ignore_attr = TRUE)
})

test_that("the data frame and the formula give the same features of factors", {
  d <- frame_of()
  by_frame <- bags(d, "id", "y")
  expect_identical(by_frame$features, c("a", "b", "zu", "zv", "zw", "flag"))
  expect_identical(by_frame, bags(mi(y, id) ~ ., data = d))
  expect_identical(as.matrix(by_frame), as.matrix(bags(mi(y, id) ~ a + b + z + flag + I(a^2),
                                                       data = d))[, c("a", "b", "zu", "zv", "zw",
                                                                      "flag")])
  expect_identical(as.matrix(by_frame)[, "zv"], (d$z == "v") + 0)
})

test_that("a level without instances, and contrasts that the user set, are kept", {
  d <- frame_of()
  levels(d$z) <- c("u", "v", "w", "never")
  expect_identical(bags(d, "id", "y")$features[3:6], c("zu", "zv", "zw", "znever"))
  contrasts(d$z) <- contr.sum(4)
  for (b in list(bags(d, "id", "y"), bags(mi(y, id) ~ a + b + z + log(a), data = d))) {
    expect_identical(unname(as.matrix(b)[, c("z1", "z2", "z3")]),
                     unname(contr.sum(4)[as.integer(d$z), ]))
  }
})

# Linear and by distances, with terms that learn from the training data.
test_that("new data get the levels, knots and centres of the training data", {
  d <- frame_of()
  new <- frame_of(8, seed = 2)
  new$z <- as.character(new$z)
  whole <- rbind(transform(d, z = as.character(z)), transform(new, id = paste0("new", id)))
  for (formula in list(mi(y, id) ~ poly(a, 2) + scale(b) + z, mi(y, id) ~ a + b + factor(z),
                       mi(y, id) ~ ns(a, 3) * z, mi(y, id) ~ log(a) + z:b)) {
    b <- bags(formula, data = d)
    fit <- sil(b)
    expect_identical(predict(fit, d)$.score, predict(fit, b)$.score)
    expect_equal(predict(fit, new)$.score, predict(fit, bags(formula, data = new,
                                                             like = fit))$.score)
    expect_equal(predict(fit, new)$.score, predict(fit, bags(formula, data = new, like = b))$.score)
    # A row alone, in company, in another order of columns, and in a list.
    expect_equal(predict(fit, new[3, 6:1])$.score, predict(fit, new)$.score[3])
    expect_equal(predict(fit, list(new[1:4, ], new[5:8, ]))$.score, predict(fit, new)$.score)
    expect_identical(nrow(predict(fit, new[0, ])), 0L)
    expect_identical(predict(fit, as.data.frame(b))$.score, predict(fit, b)$.score)
    expect_identical(predict(fit, new, bag = "id", level = "bag")$.bag, c("a", "b"))
  }
})

test_that("knots and centres agree with what lm() predicts", {
  d <- frame_of()
  new <- frame_of(8, seed = 2)
  formula <- mi(y, id) ~ poly(a, 3) + scale(b) + ns(b, 2)
  x <- as.matrix(bags(formula, data = d))
  own <- lm(y ~ x - 1, d)
  theirs <- lm(y ~ poly(a, 3) + scale(b) + splines::ns(b, 2) - 1, d)
  made <- as.matrix(bags(formula, data = new, like = bags(formula, data = d)))
  expect_equal(as.vector(made %*% coef(own)), unname(predict(theirs, new)), tolerance = 1e-8)
})

test_that("new levels are refused by name", {
  d <- frame_of()
  new <- frame_of(8, seed = 2)
  new$z <- as.character(new$z)
  new$z[2:3] <- c("green", "red")
  for (fit in list(sil(d, "id", "y"), sil(mi(y, id) ~ log(a) + z, data = d),
                   sil(mi(y, id) ~ a + factor(z), data = d)))
    expect_error(predict(fit, new), "z.*green, red", class = "fumi_error_level")
  new$z <- 1
  expect_error(predict(sil(d, "id", "y"), new), "z.*factor|factor.*z", class = "fumi_error_type")
  expect_error(predict(sil(d, "id", "y"), new[-5]), "lacks z", class = "fumi_error_column")
})

test_that("bags with other knots or levels than the fit are refused", {
  d <- frame_of()
  other <- frame_of(seed = 3)
  fit <- sil(mi(y, id) ~ poly(a, 2), data = d)
  expect_error(predict(fit, bags(mi(y, id) ~ poly(a, 2), data = other)), "`like = `",
               class = "fumi_error_blueprint")
  expect_error(c(bags(mi(y, id) ~ poly(a, 2), data = d),
                 bags(mi(y, paste(id, 2)) ~ poly(a, 2), data = other)), "blueprint",
  class = "fumi_error_combine")
  levels(other$z) <- c("u", "v", "green")
  expect_error(predict(sil(d, "id", "y"), bags(other, "id", "y")), "green",
               class = "fumi_error_level")
  b <- bags(mi(y, id) ~ poly(a, 2), data = d)
  expect_identical(predict(sil(b[1:6]), b[7:10])$.bag, rep(letters[7:10], each = 4))
  expect_error(bags(d, "id", "y", like = 1), "`like`", class = "fumi_error_type")
  expect_error(bags(d[c("id", "y", "a")], "id", "y", like = bags(d, "id", "y")), "lacks b",
               class = "fumi_error_column")
})

test_that("formulas use columns of the data and functions of one row only", {
  d <- frame_of()
  outside <- 2
  own <- function(x) x + 1
  for (formula in list(mi(y, id) ~ own(a), mi(y, id) ~ a + mean(b), mi(y, id) ~ stats::log(a),
                       mi(y, id) ~ I(a * outside),
                       mi(y, id) ~ cut(b, 3), mi(y, id) ~ poly(a, 99), mi(y, id) ~ log(z),
                       mi(y, id) ~ d$a, mi(y, id) ~ a[1],
                       mi(y, id) ~ offset(a) + b, mi(y, id) ~ (function(v) v)(a),
                       mi(y, id) ~ log(.)))
    expect_error(bags(formula, data = d), "`x`", class = "fumi_error_column",
                 info = deparse(formula))
  d$day <- as.Date("2020-01-01") + seq_len(nrow(d))
  expect_error(bags(mi(y, id) ~ log(a) + day, data = d), "day", class = "fumi_error_type")
  expect_identical(unname(features_of(mi(y, id) ~ as.numeric(day), d)[, 1]), as.numeric(d$day))
})

test_that("formulas do not depend on functions of the session", {
  d <- frame_of()
  log <- function(x) 0 * x
  expect_identical(unname(as.matrix(bags(mi(y, id) ~ log(a), data = d))[, 1]), base::log(d$a))
})

# ---- in files -------------------------------------------------------------------------------

test_that("a fit with terms is saved and comes back the same", {
  d <- frame_of()
  file <- tempfile()
  on.exit(unlink(file))
  for (formula in list(mi(y, id) ~ poly(a, 2) + scale(b) + ns(a, 3) + z, mi(y, id) ~ .,
                       mi(y, id) ~ I(a / 3) + cut(b, c(1, 1.5, 2)))) {
    fit <- sil(formula, data = d)
    mil_save(fit, file)
    expect_identical(mil_load(file), fit)
    expect_identical(predict(mil_load(file), d), predict(fit, d))
  }
})

test_that("a blueprint that names other functions runs nothing", {
  d <- frame_of()
  fit <- sil(mi(y, id) ~ log(a), data = d)
  target <- tempfile()
  bad <- list(variables = paste0("file.create(\"", target, "\")"), variables = "base::log(a)",
              variables = "(function() 1)()",
              variables = "log(a", variables = c("log(a)", "b"), variables = 1, terms = "log(a)",
              terms = "y ~ log(a)", terms = NA_character_,
              terms = "~ log(a) + b", columns = 1, columns = NA_character_, columns = "b",
              coding = 1, coding = list(1), coding = list(z = matrix("u")))
  for (i in seq_along(bad)) {
    broken <- fit
    broken$blueprint[names(bad)[i]] <- bad[i]
    expect_error(predict(broken, d), "blueprint", class = "fumi_error_model", info = names(bad)[i])
    expect_error(mil_save(broken, tempfile()), class = "fumi_error_model")
  }
  expect_false(file.exists(target))
  broken <- fit
  broken$na_action <- "perhaps"
  expect_error(predict(broken, d), "na_action", class = "fumi_error_model")
})

test_that("numbers in a blueprint are kept to the last digit", {
  value <- c(1 / 3, pi * 1e-300, 2^53 + 2, 1e22)
  expect_identical(eval(str2lang(expression_text(as.call(list(quote(c), value))))), value)
})

test_that("names that R must quote may stand beside terms", {
  d <- frame_of()
  names(d)[names(d) == "a"] <- "a (m/s)"
  expect_equal(unname(features_of(mi(y, id) ~ `a (m/s)` + log(b), d)),
               unname(features_of(mi(y, id) ~ a + log(b))))
})
