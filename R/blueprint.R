# How the columns of a data frame become features: the levels and codings of its factors, and the
# terms of a formula with what they learned from the training data, such as knots. A blueprint is
# plain data, which a fit keeps:
#   columns     the columns of the data frame that are read
#   coding      for each factor a matrix, levels x features
#   terms       the right side of the formula as text; NULL where each column stands for itself
#   variables   the variables of the terms as text, as new data need them
# It is NULL where each feature is a numeric column.

# The functions that a formula may use. They work row by row, or (the last ones) keep what they
# need from the training data. No other function is run, so a fit does not depend on what else is
# loaded, and the file of a fit contains no code.
term_functions <- c("(", "+", "-", "*", "/", "^", "%%", "%/%", "<", ">", "<=", ">=", "==", "!=",
                    "&", "|", "!", "c",
                    "list", "I", "log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs",
                    "sign", "sin", "cos",
                    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "floor", "ceiling",
                    "round", "trunc", "pmin",
                    "pmax", "ifelse", "is.na", "as.numeric", "as.integer", "as.character",
                    "as.factor", "factor", "ordered", "cut", "scale", "poly", "ns", "bs")

# The package that a function of a term is from.
term_package <- function(name) switch(name, poly = "stats", ns = , bs = "splines", "base")

# A term without the packages of these functions: `splines::ns(x, 3)` is `ns(x, 3)`.
without_packages <- function(term) {
  if (!is.call(term)) return(term)
  if (identical(term[[1]], as.name("::")) && length(term) == 3) {
    name <- as.character(term[[3]])
    known <- name %in% term_functions && identical(as.character(term[[2]]), term_package(name))
    return(if (known) as.name(name) else term)
  }
  term[] <- lapply(term, without_packages)
  term
}

term_environment <- function() {
  own <- list(cut = cut_at)
  functions <- lapply(setdiff(term_functions, names(own)), function(name)
    getExportedValue(term_package(name), name))
  names(functions) <- setdiff(term_functions, names(own))
  list2env(c(functions, own, pi = pi), parent = emptyenv())
}

# Given as a number, breaks would depend on the data that they are applied to.
cut_at <- function(x, breaks, ...) {
  if (length(breaks) < 2) stop("`cut()` needs its breaks, not their number")
  cut(x, breaks, ...)
}

# ---- making one -----------------------------------------------------------------------------

# For columns used as they are.
column_blueprint <- function(data) {
  is_factor <- vapply(data, is.factor, NA)
  if (!any(is_factor) && !any(vapply(data, is.matrix, NA))) return(NULL)
  list(columns = names(data), coding = lapply(data[is_factor], factor_coding))
}

# One feature for each level, or the contrasts that the user gave the factor.
factor_coding <- function(f) {
  coding <- if (is.null(attr(f, "contrasts"))) diag(nlevels(f)) else stats::contrasts(f)
  named <- if (is.null(attr(f, "contrasts"))) levels(f) else colnames(coding)
  if (is.null(named)) named <- seq_len(ncol(coding))
  matrix(as.double(coding), nrow(coding), dimnames = list(levels(f), as.character(named)))
}

# For the right side of a formula, `.` being the columns in `dot`: list(data, blueprint), data
# with the columns it reads.
formula_blueprint <- function(formula, data, dot, call) {
  refuse <- function(...) stop_fumi("`x` must have ", ..., ".", class = "column", call = call)
  failed <- function(e) refuse("a right-hand side that can be computed, but: ", conditionMessage(e))
  formula[[length(formula)]] <- without_packages(formula[[length(formula)]])
  terms <- tryCatch(stats::delete.response(stats::terms(formula, data = data[dot])), error = failed)
  if (!is.null(attr(terms, "offset"))) refuse("a right-hand side without an offset")
  labels <- lapply(attr(terms, "term.labels"), str2lang)
  for (label in labels) {
    odd <- odd_names(label, names(data), c(term_functions, ":"))
    if (!is.null(odd)) refuse(odd)
  }
  columns <- unique(unlist(lapply(labels, all.vars)))
  data <- data[columns]
  if (all(vapply(labels, is.name, NA)))
    return(list(data = data, blueprint = column_blueprint(data)))
  text <- paste("~", paste(attr(terms, "term.labels"), collapse = " + "))
  blueprint <- list(columns = columns, terms = text)
  look <- function() stats::model.frame(text_terms(text), term_data(data, call),
                                        na.action = stats::na.pass)
  frame <- tryCatch(suppressWarnings(look()), error = failed)
  blueprint$coding <- lapply(frame[vapply(frame, is.factor, NA)], factor_coding)
  blueprint$variables <- vapply(as.list(attr(attr(frame, "terms"), "predvars"))[-1],
                                expression_text, "")
  if (!is.null(is_blueprint(blueprint)))
    refuse("terms that can be kept as text, but ", text, " cannot")
  list(data = data, blueprint = blueprint)
}

# What in a term or a variable of a formula is not allowed, in words; NULL if nothing is.
odd_names <- function(expression, columns, functions = term_functions) {
  if (is.name(expression) && !as.character(expression) %in% c(columns, "pi"))
    return(paste0("columns of `data` on its right-hand side, but ",
                  as.character(expression), " is not one"))
  if (!is.call(expression)) return(NULL)
  name <- expression[[1]]
  if (!is.name(name) || !as.character(name) %in% functions)
    return(paste0(
      "functions that can be applied to new data, such as log(), poly() and factor(), but ",
      paste(deparse(name), collapse = ""), "() is not one of them: compute that column first"))
  odd <- unlist(lapply(as.list(expression)[-1], odd_names, columns, functions))
  if (length(odd)) odd[1]
}

# Exact to the last digit.
expression_text <- function(expression) {
  exact <- c("keepNA", "keepInteger", "niceNames", "showAttributes", "digits17")
  paste(deparse(expression, 500L, backtick = TRUE, control = exact), collapse = " ")
}

text_terms <- function(text) {
  terms <- stats::terms(as_formula(str2lang(text)))
  environment(terms) <- term_environment()
  terms
}

# Columns as terms see them: logicals are 0 and 1, and an integer64 its numbers.
term_data <- function(data, call) {
  data[] <- Map(function(column, name) {
    if (is.logical(column)) column + 0
    else if (inherits(column, "integer64")) numbers_of(column, paste("column", name), call)
    else column
  }, data, names(data))
  data
}

# ---- using one ------------------------------------------------------------------------------

# The features of a data frame, n x d.
expand_frame <- function(data, blueprint, name, call) {
  if (is.null(blueprint)) return(numeric_columns(data, name, call))
  data <- plain_frame(data)[blueprint$columns]
  if (!is.null(blueprint$terms)) return(expand_terms(term_data(data, call), blueprint, name, call))
  parts <- lapply(blueprint$columns, function(column) {
    if (!column %in% names(blueprint$coding)) return(stats::setNames(list(data[[column]]), column))
    coded <- code_factor(data[[column]], blueprint$coding[[column]], column, name, call)
    stats::setNames(lapply(seq_len(ncol(coded)), function(j) coded[, j]),
                    paste0(column, colnames(coded)))
  })
  parts <- unlist(parts, recursive = FALSE)
  numeric_columns(structure(parts, row.names = .set_row_names(nrow(data)), class = "data.frame"),
                  name, call)
}

check_levels <- function(f, coding, column, name, call) {
  if (!is.factor(f) && !is.character(f))
    stop_fumi("`", name, "` must have a factor in its column ", column, ", not ", describe(f), ".",
              class = "type", call = call)
  new <- setdiff(unique(as.character(f)), c(rownames(coding), NA))
  if (length(new))
    stop_fumi("`", name, "` must have no levels in ", column, " that the fit has not seen (",
              enumerate(rownames(coding), 5), "), but it has ", enumerate(new), ".",
              class = "level", call = call)
  factor(as.character(f), rownames(coding))
}

code_factor <- function(f, coding, column, name, call) {
  coded <- coding[as.integer(check_levels(f, coding, column, name, call)), , drop = FALSE]
  rownames(coded) <- NULL
  coded
}

expand_terms <- function(data, blueprint, name, call) {
  failed <- function(e) stop_fumi("`", name, "` must have columns for `", blueprint$terms,
                                  "`, but: ",
                                  conditionMessage(e), ".", class = "column", call = call)
  terms <- text_terms(blueprint$terms)
  attr(terms, "predvars") <- as.call(c(quote(list), lapply(blueprint$variables, str2lang)))
  frame <- tryCatch(stats::model.frame(terms, data, na.action = stats::na.pass), error = failed)
  frame[] <- Map(function(variable, label) {
    coding <- blueprint$coding[[label]]
    if (is.null(coding)) term_numbers(variable, label, name, call)
    else check_levels(variable, coding, label, name, call)
  }, frame, names(frame))
  x <- stats::model.matrix(terms, frame, contrasts.arg = blueprint$coding)
  structure(x[, colnames(x) != "(Intercept)", drop = FALSE], assign = NULL, contrasts = NULL)
}

term_numbers <- function(variable, label, name, call) {
  if (is.logical(variable)) return(variable + 0)
  oldClass(variable) <- setdiff(oldClass(variable), c("poly", "ns", "bs", "basis"))
  if (!has_numbers(variable))
    stop_fumi("`", name, "` must have numbers or a factor in ", label, ", not ",
              describe(variable), ".", class = "type", call = call)
  numbers_of(variable, label, call)
}

# The blueprint of bags or of a fit, to make other bags by.
blueprint_of <- function(like, call) {
  if (is.null(like)) return(NULL)
  if (inherits(like, "mil_model")) return(validate_model(like, "like", call)$blueprint)
  if (inherits(like, "bags")) return(like$blueprint)
  stop_fumi("`like` must be bags or a fit, not ", describe(like), ".", class = "type", call = call)
}

# ---- checking one ---------------------------------------------------------------------------

# A rule of validate_model(): words for what is wrong, else NULL.
is_blueprint <- function(x) {
  words <- "a list of columns, codings and terms that uses no other functions than a formula may"
  is_coding <- function(m) is.double(m) && is.matrix(m) && all(is.finite(m)) &&
    all(lengths(dimnames(m)) == dim(m))
  if (!is.list(x) || !is.character(x$columns) || anyNA(x$columns) || !is.list(x$coding))
    return(words)
  if (length(x$coding) && (is.null(names(x$coding)) || !all(vapply(x$coding, is_coding, NA))))
    return(words)
  if (is.null(x$terms)) return(if (!all(names(x$coding) %in% x$columns)) words)
  if (!is.character(c(x$terms, x$variables)) || length(x$terms) != 1 || !is.character(x$variables))
    return(words)
  parsed <- tryCatch(lapply(c(x$terms, x$variables), str2lang), error = function(e) NULL)
  if (is.null(parsed) || !rlang::is_formula(parsed[[1]], lhs = FALSE)) return(words)
  terms <- tryCatch(stats::terms(as_formula(parsed[[1]])), error = function(e) NULL)
  if (length(attr(terms, "variables")) != length(parsed)) return(words)
  if (length(unlist(lapply(parsed[-1], odd_names, x$columns)))) words
}

# The formula that a call to `~` is, without running anything.
as_formula <- function(expression) structure(expression, class = "formula",
                                             .Environment = baseenv())
