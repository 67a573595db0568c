/* r_args.c: arguments of the .Call entries, checked. They come from our own R code, so that an
 * error is a bug of ours; but it is an R error, never a read or write where nothing is. */
#include <limits.h>
#include <string.h>

#include <R.h>

#include "r_host.h"

void r_must(int ok, const char *name, const char *what) {
  if (!ok) Rf_error("internal error of fumi: `%s` must be %s", name, what);
}

/* ---- vectors and matrices -------------------------------------------------------------- */

static void must_be_long(SEXP x, R_xlen_t n, const char *name) {
  if (XLENGTH(x) != n)
    Rf_error("internal error of fumi: `%s` must have length %.0f, not %.0f", name, (double)n,
             (double)XLENGTH(x));
}

static void must_extend(int n, int wanted, const char *what, const char *name) {
  if (wanted != R_ANY && n != wanted)
    Rf_error("internal error of fumi: `%s` must have %d %s, not %d", name, wanted, what, n);
}

const double *r_matrix(SEXP x, int nrow, int ncol, const char *name) {
  r_must(TYPEOF(x) == REALSXP && Rf_isMatrix(x), name, "a matrix of doubles");
  must_extend(Rf_nrows(x), nrow, "rows", name);
  must_extend(Rf_ncols(x), ncol, "columns", name);
  return REAL_RO(x);
}

int r_columns(SEXP x, const char *name) {
  r_matrix(x, R_ANY, R_ANY, name);
  r_must(Rf_ncols(x) >= 1, name, "a matrix with columns");
  return Rf_ncols(x);
}

int r_length(SEXP x, const char *name) {
  r_must(Rf_xlength(x) <= INT_MAX, name, "shorter than 2^31");
  return (int)Rf_xlength(x);
}

const double *r_doubles(SEXP x, R_xlen_t n, const char *name) {
  r_must(TYPEOF(x) == REALSXP, name, "a vector of doubles");
  must_be_long(x, n, name);
  return REAL_RO(x);
}

const double *r_doubles_or_null(SEXP x, R_xlen_t n, const char *name) {
  return x == R_NilValue ? NULL : r_doubles(x, n, name);
}

const double *r_uniform(SEXP x, R_xlen_t n, const char *name) {
  const double *value = r_doubles(x, n, name);
  for (R_xlen_t i = 0; i < n; i++) r_must(value[i] >= 0 && value[i] < 1, name, "within [0, 1)");
  return value;
}

const int *r_integers(SEXP x, R_xlen_t n, int min, int max, const char *name) {
  r_must(TYPEOF(x) == INTSXP, name, "a vector of integers");
  must_be_long(x, n, name);
  const int *value = INTEGER_RO(x);
  for (R_xlen_t i = 0; i < n; i++)
    r_must(value[i] >= min && value[i] <= max && value[i] != NA_INTEGER, name, "within its range");
  return value;
}

const int *r_flags(SEXP x, R_xlen_t n, const char *name) {
  r_must(TYPEOF(x) == LGLSXP, name, "a vector of TRUE and FALSE");
  must_be_long(x, n, name);
  const int *value = LOGICAL_RO(x);
  for (R_xlen_t i = 0; i < n; i++) r_must(value[i] != NA_LOGICAL, name, "TRUE or FALSE throughout");
  return value;
}

const int *r_index(SEXP x, R_xlen_t n, int max, const char *name) {
  const int *from_1 = r_integers(x, n, 1, max, name);
  int *from_0 = (int *)R_alloc((size_t)n, sizeof(int));
  for (R_xlen_t i = 0; i < n; i++) from_0[i] = from_1[i] - 1;
  return from_0;
}

const int *r_permutation(SEXP x, int n, const char *name) {
  const int *index = r_index(x, n, n, name);
  char *seen = R_alloc((size_t)n + 1, 1);
  memset(seen, 0, (size_t)n + 1);
  for (int i = 0; i < n; i++) r_must(!seen[index[i]]++, name, "a permutation");
  return index;
}

const int *r_bags(SEXP bag, int N, int n_bags) {
  const int *number = r_integers(bag, N, 0, n_bags - 1, "bag");
  char *seen = R_alloc((size_t)n_bags + 1, 1);
  memset(seen, 0, (size_t)n_bags + 1);
  for (int i = 0; i < N; i++) seen[number[i]] = 1;
  for (int j = 0; j < n_bags; j++) r_must(seen[j], "bag", "such that each bag has an instance");
  return number;
}

fumi_data r_instances(SEXP X, SEXP scale) {
  const double *x = r_matrix(X, R_ANY, R_ANY, "X");
  const int d = Rf_nrows(X), N = Rf_ncols(X);
  r_must(d >= 1, "X", "a matrix with rows");
  return (fumi_data){.d = d, .N = N, .X = x, .scale = r_doubles(scale, N, "scale")};
}

fumi_data r_data(SEXP X, SEXP scale, SEXP n_positive) {
  fumi_data x = r_instances(X, scale);
  x.N_pos = r_integer(n_positive, 0, x.N, "n_positive");
  return x;
}

/* ---- single values --------------------------------------------------------------------- */

/* a double that is a whole number will do for an integer, and so will FALSE and TRUE */
int r_integer(SEXP x, int min, int max, const char *name) {
  const int is_double = TYPEOF(x) == REALSXP;
  r_must((is_double || TYPEOF(x) == INTSXP || TYPEOF(x) == LGLSXP) && XLENGTH(x) == 1, name,
         "one whole number");
  const int missing = !is_double && Rf_asInteger(x) == NA_INTEGER;
  const double value = missing ? R_NaN : Rf_asReal(x);
  r_must(value >= min && value <= max && value == (int)value, name, "a whole number in its range");
  return (int)value;
}

double r_number(SEXP x, const char *name) {
  r_must((TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP) && XLENGTH(x) == 1 && R_FINITE(Rf_asReal(x)),
         name, "one finite number");
  return Rf_asReal(x);
}

double r_penalty(SEXP x, const char *name) {
  r_must(r_number(x, name) >= 0, name, "at least 0");
  return r_number(x, name);
}

int r_flag(SEXP x, const char *name) { return *r_flags(x, 1, name); }

int r_choice(SEXP x, const char *const *choices, const char *name) {
  r_must(TYPEOF(x) == STRSXP && XLENGTH(x) == 1, name, "one string");
  for (int i = 0; choices[i]; i++)
    if (strcmp(CHAR(STRING_ELT(x, 0)), choices[i]) == 0) return i;
  r_must(0, name, "one of its choices");
  return 0;
}

SEXP r_function(SEXP x, const char *name) {
  r_must(Rf_isFunction(x), name, "a function");
  return x;
}

/* ---- elements of a list ------------------------------------------------------------------ */

SEXP r_element(SEXP list, const char *name) {
  r_must(TYPEOF(list) == VECSXP, name, "an element of a named list");
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  r_must(names != R_NilValue, name, "an element of a named list");
  for (R_xlen_t i = 0; i < XLENGTH(list); i++)
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) return VECTOR_ELT(list, i);
  r_must(0, name, "in the list");
  return R_NilValue;
}

int r_par_integer(SEXP par, const char *name, int min, int max) {
  return r_integer(r_element(par, name), min, max, name);
}

double r_par_number(SEXP par, const char *name) { return r_number(r_element(par, name), name); }
double r_par_penalty(SEXP par, const char *name) { return r_penalty(r_element(par, name), name); }
int r_par_flag(SEXP par, const char *name) { return r_flag(r_element(par, name), name); }

int r_par_choice(SEXP par, const char *name, const char *const *choices) {
  return r_choice(r_element(par, name), choices, name);
}
