/* r_glue.c: everything that touches R's C interface: the .Call entries (ffi_*),
 * the host that serves the core, and the registration table. Arguments come
 * checked from our own R code; GLUE_ASSERT guards against a bug of ours only. */
#include <string.h>
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <R_ext/Utils.h>
#include <R_ext/Visibility.h>

#include "core.h"

#define GLUE_ASSERT(ok) \
  if (!(ok)) Rf_error("internal error of fumi: %s (%s:%d)", #ok, __FILE__, __LINE__)

/* ---- the host -------------------------------------------------------------------- */

static void *host_alloc(void *ctx, size_t n, size_t size) {
  (void)ctx;
  return R_alloc(n, (int)size);
}

static void check_interrupt(void *ctx) {
  (void)ctx;
  R_CheckUserInterrupt();
}

/* A pending interrupt becomes a status: R never jumps through the core. */
static int host_poll(void *ctx) {
  (void)ctx;
  return !R_ToplevelExec(check_interrupt, NULL);
}

typedef struct {
  SEXP fun;
  int it;
  double objective;
} report_args;

static void call_report(void *data) {
  const report_args *args = data;
  SEXP it = PROTECT(Rf_ScalarInteger(args->it));
  SEXP objective = PROTECT(Rf_ScalarReal(args->objective));
  SEXP call = PROTECT(Rf_lang3(args->fun, it, objective));
  Rf_eval(call, R_GlobalEnv);
  UNPROTECT(3);
}

/* An interrupt that arrives while the bar is drawn stops the fit like any other. */
static int host_report(void *ctx, int it, double objective) {
  report_args args = {ctx, it, objective};
  return !R_ToplevelExec(call_report, &args);
}

static fumi_host make_host(SEXP report) {
  const int silent = report == R_NilValue;
  return (fumi_host){host_alloc, host_poll, silent ? NULL : host_report, silent ? NULL : report};
}

/* ---- reading arguments, making results --------------------------------------------- */

static int is_matrix(SEXP x, int nrow, int ncol) {
  return TYPEOF(x) == REALSXP && Rf_isMatrix(x) && (nrow < 0 || Rf_nrows(x) == nrow) &&
         (ncol < 0 || Rf_ncols(x) == ncol);
}

static fumi_data read_data(SEXP X, SEXP scale, SEXP n_positive) {
  GLUE_ASSERT(is_matrix(X, -1, -1));
  GLUE_ASSERT(TYPEOF(scale) == REALSXP && XLENGTH(scale) == Rf_ncols(X));
  const int N_pos = Rf_asInteger(n_positive);
  GLUE_ASSERT(N_pos >= 0 && N_pos <= Rf_ncols(X));
  return (fumi_data){Rf_nrows(X), Rf_ncols(X), N_pos, REAL_RO(X), REAL_RO(scale)};
}

/* The order is that of dlfumi_par() in R/dlfumi.R. */
static dlfumi_param read_param(SEXP par, int K) {
  GLUE_ASSERT(TYPEOF(par) == REALSXP && XLENGTH(par) == 17);
  const double *v = REAL_RO(par);
  const int T = (int)v[3];
  GLUE_ASSERT(T >= 1 && T < K);
  return (dlfumi_param){.variant = (dlfumi_variant)v[0], .solver = (dlfumi_solver)v[1],
                        .dead = (dlfumi_dead)v[2], .T = T, .M = K - T, .K = K,
                        .inner = (int)v[4], .max_iter = (int)v[5], .absolute_tol = (int)v[6],
                        .simd = (int)v[7], .lambda = v[8], .beta = v[9], .gamma = v[10],
                        .psi = v[11], .tol = v[12], .gap = v[13], .threads = (int)v[14],
                        .nonneg_codes = (int)v[15], .nonneg_atoms = (int)v[16]};
}

/* n numbers, or NULL for NULL */
static const double *read_optional(SEXP value, int n) {
  if (value == R_NilValue) return NULL;
  GLUE_ASSERT(TYPEOF(value) == REALSXP && XLENGTH(value) == n);
  return REAL_RO(value);
}

static dlfumi_param read_weighted_param(SEXP par, int K, const fumi_data *x, SEXP weight, SEXP prior) {
  dlfumi_param param = read_param(par, K);
  param.weight = read_optional(weight, x->N);
  param.prior = read_optional(prior, x->N_pos);
  return param;
}

static SEXP named_list(int n, const char *const *names, SEXP *values) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n)), labels = PROTECT(Rf_allocVector(STRSXP, n));
  for (int i = 0; i < n; i++) {
    SET_VECTOR_ELT(out, i, values[i]);
    SET_STRING_ELT(labels, i, Rf_mkChar(names[i]));
  }
  Rf_setAttrib(out, R_NamesSymbol, labels);
  UNPROTECT(2);
  return out;
}

static const char *status_word(fumi_status status) {
  switch (status) {
    case FUMI_OK: return "ok";
    case FUMI_CONVERGED: return "converged";
    case FUMI_MAXIT: return "max_iter";
    case FUMI_STOPPED: return "interrupt";
    case FUMI_ENOMEM: return "memory";
    case FUMI_ENONFINITE: return "nonfinite";
    case FUMI_ESINGULAR: return "singular";
  }
  return "unknown";
}

/* ---- entries -------------------------------------------------------------------------- */

static SEXP ffi_unit_scale(SEXP X) {
  GLUE_ASSERT(is_matrix(X, -1, -1));
  SEXP scale = PROTECT(Rf_allocVector(REALSXP, Rf_ncols(X)));
  fumi_unit_scale(Rf_nrows(X), Rf_ncols(X), REAL_RO(X), REAL(scale));
  UNPROTECT(1);
  return scale;
}

static int *zero_based(SEXP index) {
  int *from_0 = (int *)R_alloc((size_t)XLENGTH(index), sizeof(int));
  for (R_xlen_t i = 0; i < XLENGTH(index); i++) from_0[i] = INTEGER_RO(index)[i] - 1;
  return from_0;
}

static SEXP ffi_sum_columns(SEXP X, SEXP scale, SEXP which) {
  SEXP zero = PROTECT(Rf_ScalarInteger(0));
  const fumi_data x = read_data(X, scale, zero);
  GLUE_ASSERT(TYPEOF(which) == INTSXP);
  SEXP sum = PROTECT(Rf_allocVector(REALSXP, x.d));
  fumi_sum_columns(&x, Rf_length(which), zero_based(which), REAL(sum));
  UNPROTECT(2);
  return sum;
}

/* k-means of the instances after the first n_positive ones */
static SEXP ffi_kmeans(SEXP X, SEXP scale, SEXP n_positive, SEXP draws, SEXP max_iter,
                       SEXP simd) {
  fumi_data x = read_data(X, scale, n_positive);
  const int M = Rf_length(draws), skip = x.N_pos;
  GLUE_ASSERT(TYPEOF(draws) == REALSXP && M >= 1 && skip < x.N);
  x = (fumi_data){x.d, x.N - skip, 0, fumi_ccol(x.X, x.d, skip), x.scale + skip};
  const fumi_host host = make_host(R_NilValue);
  int n_distinct = 0;
  SEXP C = PROTECT(Rf_allocMatrix(REALSXP, x.d, M));
  const fumi_status status = fumi_kmeans(&x, M, REAL_RO(draws), Rf_asInteger(max_iter),
                                         Rf_asInteger(simd), REAL(C), &n_distinct, &host);
  SEXP values[] = {C, PROTECT(Rf_ScalarInteger(n_distinct)),
                   PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"centres", "n_distinct", "status"};
  SEXP out = named_list(3, names, values);
  UNPROTECT(3);
  return out;
}

static SEXP ffi_dlfumi_start_codes(SEXP X, SEXP scale, SEXP n_positive, SEXP D, SEXP n_target,
                                   SEXP simd) {
  const fumi_data x = read_data(X, scale, n_positive);
  GLUE_ASSERT(is_matrix(D, x.d, -1));
  const fumi_host host = make_host(R_NilValue);
  SEXP A = PROTECT(Rf_allocMatrix(REALSXP, Rf_ncols(D), x.N));
  const fumi_status status =
      dlfumi_start_codes(&x, Rf_asInteger(n_target), Rf_ncols(D), REAL_RO(D),
                         Rf_asInteger(simd), REAL(A), &host);
  SEXP values[] = {A, PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"codes", "status"};
  SEXP out = named_list(2, names, values);
  UNPROTECT(2);
  return out;
}

static dlfumi_state make_state(SEXP D, SEXP A, SEXP p, SEXP trace, SEXP n_dead) {
  memset(INTEGER(n_dead), 0, sizeof(int) * (size_t)XLENGTH(n_dead));
  return (dlfumi_state){.D = REAL(D), .A = REAL(A), .p = REAL(p), .trace = REAL(trace),
                        .n_dead = INTEGER(n_dead)};
}

/* The codes of the start are handed over: the core works in them, and they are returned. */
static SEXP ffi_dlfumi_fit(SEXP X, SEXP scale, SEXP n_positive, SEXP D0, SEXP A0, SEXP par,
                           SEXP weight, SEXP prior, SEXP report) {
  const fumi_data x = read_data(X, scale, n_positive);
  GLUE_ASSERT(is_matrix(D0, x.d, -1) && is_matrix(A0, Rf_ncols(D0), x.N));
  const int K = Rf_ncols(D0);
  const dlfumi_param param = read_weighted_param(par, K, &x, weight, prior);
  const fumi_host host = make_host(report);
  SEXP D = PROTECT(Rf_duplicate(D0)), A = PROTECT(A0);
  SEXP p = PROTECT(Rf_allocVector(REALSXP, x.N_pos));
  SEXP trace = PROTECT(Rf_allocMatrix(REALSXP, DLFUMI_TERMS, param.max_iter));
  SEXP n_dead = PROTECT(Rf_allocVector(INTSXP, K));
  dlfumi_state s = make_state(D, A, p, trace, n_dead);
  const fumi_status status = dlfumi_fit(&x, &param, &s, &host);
  SEXP values[] = {D, A, p, trace, n_dead, PROTECT(Rf_ScalarInteger(s.n_iter)),
                   PROTECT(Rf_ScalarReal(s.worst_gap)), PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"dictionary", "codes", "p", "trace", "n_dead", "n_iter",
                               "worst_gap", "status"};
  SEXP out = named_list(8, names, values);
  UNPROTECT(8);
  return out;
}

static SEXP ffi_dlfumi_carried(SEXP A, SEXP p, SEXP n_target, SEXP psi, SEXP weight) {
  GLUE_ASSERT(is_matrix(A, -1, -1) && TYPEOF(p) == REALSXP && XLENGTH(p) <= Rf_ncols(A));
  const dlfumi_param par = {.T = Rf_asInteger(n_target), .K = Rf_nrows(A), .psi = Rf_asReal(psi),
                            .weight = read_optional(weight, Rf_ncols(A))};
  SEXP carried = PROTECT(Rf_allocMatrix(REALSXP, 2, par.K));
  dlfumi_carried(&par, Rf_ncols(A), Rf_length(p), REAL_RO(A), REAL_RO(p), REAL(carried));
  UNPROTECT(1);
  return carried;
}

/* in place, for codes that nobody else holds; row and order: 1-based permutations */
static SEXP ffi_arrange(SEXP A, SEXP row, SEXP sign, SEXP order, SEXP names) {
  const int K = Rf_nrows(A), N = Rf_ncols(A);
  GLUE_ASSERT(is_matrix(A, -1, -1) && TYPEOF(sign) == REALSXP && XLENGTH(sign) == K);
  GLUE_ASSERT(TYPEOF(row) == INTSXP && XLENGTH(row) == K && TYPEOF(order) == INTSXP && XLENGTH(order) == N);
  GLUE_ASSERT(TYPEOF(names) == STRSXP && XLENGTH(names) == K);
  const fumi_host host = make_host(R_NilValue);
  const fumi_status status =
      fumi_arrange(K, N, zero_based(row), REAL_RO(sign), zero_based(order), REAL(A), &host);
  GLUE_ASSERT(status == FUMI_OK);
  SEXP dimnames = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(dimnames, 0, names);
  Rf_setAttrib(A, R_DimNamesSymbol, dimnames);
  UNPROTECT(1);
  return A;
}

/* A keeper of instances that is two R functions: pass(kind, D) gives list(U, S, terms), terms =
 * reconstruction, l1, worst_gap and energy; worst(target, D) gives an instance or NULL. */
typedef struct {
  SEXP pass, worst;
  int d, K;
  dlfumi_sums sums;
} r_keeper;

typedef struct {
  SEXP fun, value;
  int which, d, K;
  const double *D;
} keeper_args;

static void call_keeper(void *data) {
  keeper_args *args = data;
  SEXP which = PROTECT(Rf_ScalarInteger(args->which));
  SEXP D = PROTECT(Rf_allocMatrix(REALSXP, args->d, args->K));
  memcpy(REAL(D), args->D, sizeof(double) * (size_t)XLENGTH(D));
  SEXP call = PROTECT(Rf_lang3(args->fun, which, D));
  args->value = Rf_eval(call, R_GlobalEnv);
  UNPROTECT(3);
}

/* What the R function returns, NULL if it did not; the caller protects it. */
static SEXP ask_keeper(const r_keeper *k, SEXP fun, int which, const double *D) {
  keeper_args args = {fun, R_NilValue, which, k->d, k->K, D};
  return R_ToplevelExec(call_keeper, &args) ? args.value : R_NilValue;
}

static fumi_status r_keeper_pass(void *ctx, dlfumi_pass_kind kind, const double *D, dlfumi_sums *sums) {
  r_keeper *k = ctx;
  const int K = k->K, d = k->d;
  SEXP value = PROTECT(ask_keeper(k, k->pass, kind, D));
  const int whole = value != R_NilValue;
  if (whole) {
    SEXP U = VECTOR_ELT(value, 0), S = VECTOR_ELT(value, 1), terms = VECTOR_ELT(value, 2);
    GLUE_ASSERT(is_matrix(U, d, K) && is_matrix(S, K, K) && TYPEOF(terms) == REALSXP && XLENGTH(terms) == 4);
    for (int j = 0; j < K; j++)
      memcpy(fumi_col(k->sums.U, fumi_padded(d), j), fumi_ccol(REAL_RO(U), d, j), sizeof(double) * (size_t)d);
    memcpy(k->sums.S, REAL_RO(S), sizeof(double) * (size_t)XLENGTH(S));
    const double *term = REAL_RO(terms);
    k->sums.reconstruction = term[0], k->sums.l1 = term[1];
    k->sums.worst_gap = term[2], k->sums.energy = term[3];
    *sums = k->sums;
  }
  UNPROTECT(1);
  return whole ? FUMI_OK : FUMI_STOPPED;
}

static int r_keeper_worst(void *ctx, int target, const double *D, double *x) {
  r_keeper *k = ctx;
  SEXP value = PROTECT(ask_keeper(k, k->worst, target, D));
  const int found = value != R_NilValue;
  GLUE_ASSERT(!found || (TYPEOF(value) == REALSXP && XLENGTH(value) == k->d));
  if (found) memcpy(x, REAL_RO(value), sizeof(double) * (size_t)k->d);
  UNPROTECT(1);
  return found;
}

static SEXP ffi_dlfumi_fit_kept(SEXP D0, SEXP par, SEXP report, SEXP pass, SEXP worst) {
  GLUE_ASSERT(is_matrix(D0, -1, -1) && Rf_isFunction(pass) && Rf_isFunction(worst));
  const int d = Rf_nrows(D0), K = Rf_ncols(D0);
  const dlfumi_param param = read_param(par, K);
  const fumi_host host = make_host(report);
  r_keeper kept = {.pass = pass, .worst = worst, .d = d, .K = K};
  kept.sums.U = fumi_doubles(&host, (ptrdiff_t)fumi_padded(d) * K);
  kept.sums.S = fumi_doubles(&host, (ptrdiff_t)K * K);
  const dlfumi_keeper keeper = {.d = d, .pass = r_keeper_pass, .worst = r_keeper_worst, .ctx = &kept};
  SEXP D = PROTECT(Rf_duplicate(D0)), n_dead = PROTECT(Rf_allocVector(INTSXP, K));
  SEXP trace = PROTECT(Rf_allocMatrix(REALSXP, DLFUMI_TERMS, param.max_iter));
  memset(INTEGER(n_dead), 0, sizeof(int) * (size_t)K);
  dlfumi_state s = {.D = REAL(D), .trace = REAL(trace), .n_dead = INTEGER(n_dead)};
  const fumi_status status = dlfumi_fit_kept(&keeper, &param, &s, &host);
  SEXP values[] = {D, trace, n_dead, PROTECT(Rf_ScalarInteger(s.n_iter)),
                   PROTECT(Rf_ScalarReal(s.worst_gap)), PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"dictionary", "trace", "n_dead", "n_iter", "worst_gap", "status"};
  SEXP out = named_list(6, names, values);
  UNPROTECT(6);
  return out;
}

/* One pass over a part of the instances. p: for this pass; out: of it, and for the next one. */
static SEXP ffi_dlfumi_pass(SEXP X, SEXP scale, SEXP n_positive, SEXP kind, SEXP D, SEXP A0, SEXP p0,
                            SEXP par, SEXP weight, SEXP prior) {
  const fumi_data x = read_data(X, scale, n_positive);
  const int K = Rf_ncols(D);
  GLUE_ASSERT(is_matrix(D, x.d, -1) && is_matrix(A0, K, x.N));
  GLUE_ASSERT(TYPEOF(p0) == REALSXP && XLENGTH(p0) == x.N_pos);
  const dlfumi_param param = read_weighted_param(par, K, &x, weight, prior);
  const fumi_host host = make_host(R_NilValue);
  SEXP A = PROTECT(Rf_duplicate(A0)), p = PROTECT(Rf_allocVector(REALSXP, x.N_pos));
  SEXP p_next = PROTECT(Rf_duplicate(p0)), U = PROTECT(Rf_allocMatrix(REALSXP, x.d, K));
  SEXP S = PROTECT(Rf_allocMatrix(REALSXP, K, K)), terms = PROTECT(Rf_allocVector(REALSXP, 4));
  dlfumi_part part = {REAL(A), REAL(p), REAL(p_next)};
  dlfumi_sums sums;
  const fumi_status status = dlfumi_pass(&x, &param, (dlfumi_pass_kind)Rf_asInteger(kind), REAL_RO(D), &part,
                                         &sums, &host);
  if (status == FUMI_OK) {
    for (int k = 0; k < K; k++)
      memcpy(fumi_col(REAL(U), x.d, k), fumi_ccol(sums.U, fumi_padded(x.d), k), sizeof(double) * (size_t)x.d);
    memcpy(REAL(S), sums.S, sizeof(double) * (size_t)XLENGTH(S));
    const double term[] = {sums.reconstruction, sums.l1, sums.worst_gap, sums.energy};
    memcpy(REAL(terms), term, sizeof term);
  }
  SEXP values[] = {A, p, p_next, U, S, terms, PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"codes", "p", "p_next", "U", "S", "terms", "status"};
  SEXP out = named_list(7, names, values);
  UNPROTECT(7);
  return out;
}

/* taken, and the value: columns of X from 1 on; 0: there is none */
static SEXP ffi_dlfumi_worst(SEXP X, SEXP scale, SEXP n_positive, SEXP target, SEXP D, SEXP A, SEXP p,
                             SEXP taken, SEXP par) {
  const fumi_data x = read_data(X, scale, n_positive);
  const int K = Rf_ncols(D), n_taken = Rf_length(taken);
  GLUE_ASSERT(is_matrix(D, x.d, -1) && is_matrix(A, K, x.N) && TYPEOF(taken) == INTSXP && n_taken <= K);
  GLUE_ASSERT(TYPEOF(p) == REALSXP && XLENGTH(p) == x.N_pos);
  const dlfumi_param param = read_param(par, K);
  const fumi_host host = make_host(R_NilValue);
  dlfumi_part part = {REAL(A), REAL(p), REAL(p)};
  int worst = -1;
  double most = 0;
  const fumi_status status = dlfumi_worst(&x, &param, Rf_asLogical(target), REAL_RO(D), &part, zero_based(taken),
                                          n_taken, &worst, &most, &host);
  SEXP values[] = {PROTECT(Rf_ScalarInteger(worst + 1)), PROTECT(Rf_ScalarReal(most)),
                   PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"worst", "residual", "status"};
  SEXP out = named_list(3, names, values);
  UNPROTECT(3);
  return out;
}

static SEXP ffi_dlfumi_step(SEXP X, SEXP scale, SEXP n_positive, SEXP kind, SEXP D_old, SEXP D0,
                            SEXP A0, SEXP p0, SEXP par, SEXP weight, SEXP prior) {
  const fumi_data x = read_data(X, scale, n_positive);
  const int K = Rf_ncols(D0);
  GLUE_ASSERT(is_matrix(D0, x.d, -1) && is_matrix(D_old, x.d, K) && is_matrix(A0, K, x.N));
  GLUE_ASSERT(TYPEOF(p0) == REALSXP && XLENGTH(p0) == x.N_pos);
  const dlfumi_param param = read_weighted_param(par, K, &x, weight, prior);
  const fumi_host host = make_host(R_NilValue);
  SEXP D = PROTECT(Rf_duplicate(D0)), A = PROTECT(Rf_duplicate(A0)), p = PROTECT(Rf_duplicate(p0));
  SEXP terms = PROTECT(Rf_allocVector(REALSXP, DLFUMI_TERMS));
  memset(REAL(terms), 0, sizeof(double) * DLFUMI_TERMS);
  SEXP n_dead = PROTECT(Rf_allocVector(INTSXP, K));
  dlfumi_state s = make_state(D, A, p, terms, n_dead);
  const fumi_status status = dlfumi_step(&x, &param, (dlfumi_step_kind)Rf_asInteger(kind),
                                         REAL_RO(D_old), &s, &host);
  SEXP values[] = {D, A, p, terms, n_dead, PROTECT(Rf_ScalarReal(s.worst_gap)),
                   PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"dictionary", "codes", "p", "terms", "n_dead", "worst_gap",
                               "status"};
  SEXP out = named_list(7, names, values);
  UNPROTECT(7);
  return out;
}

static SEXP ffi_code(SEXP X, SEXP scale, SEXP D, SEXP lambda, SEXP steps, SEXP nonneg, SEXP simd,
                     SEXP threads) {
  SEXP zero = PROTECT(Rf_ScalarInteger(0));
  const fumi_data x = read_data(X, scale, zero);
  GLUE_ASSERT(is_matrix(D, x.d, -1));
  const fumi_host host = make_host(R_NilValue);
  double worst_gap = 0;
  SEXP A = PROTECT(Rf_allocMatrix(REALSXP, Rf_ncols(D), x.N));
  const fumi_status status =
      fumi_code(&x, Rf_ncols(D), REAL_RO(D), Rf_asReal(lambda), Rf_asInteger(steps), Rf_asLogical(nonneg),
                Rf_asInteger(simd), Rf_asInteger(threads), REAL(A), &worst_gap, &host);
  SEXP values[] = {A, PROTECT(Rf_ScalarReal(worst_gap)), PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"codes", "worst_gap", "status"};
  SEXP out = named_list(3, names, values);
  UNPROTECT(4);
  return out;
}

/* lambda: of the joint code, and of the code on the background atoms alone */
static SEXP ffi_dlfumi_confidence(SEXP X, SEXP scale, SEXP D, SEXP n_target, SEXP lambda,
                                  SEXP separate, SEXP steps, SEXP nonneg, SEXP simd, SEXP threads) {
  SEXP zero = PROTECT(Rf_ScalarInteger(0));
  const fumi_data x = read_data(X, scale, zero);
  const int T = Rf_asInteger(n_target), K = Rf_ncols(D);
  GLUE_ASSERT(is_matrix(D, x.d, -1) && T >= 1 && T < K);
  GLUE_ASSERT(TYPEOF(lambda) == REALSXP && XLENGTH(lambda) == 2);
  const fumi_host host = make_host(R_NilValue);
  SEXP confidence = PROTECT(Rf_allocVector(REALSXP, x.N));
  SEXP r_bg = PROTECT(Rf_allocVector(REALSXP, x.N));
  const fumi_status status = dlfumi_confidence(
      &x, T, K, REAL_RO(D), REAL_RO(lambda)[0], REAL_RO(lambda)[1], Rf_asLogical(separate),
      Rf_asInteger(steps), Rf_asLogical(nonneg), Rf_asInteger(simd), Rf_asInteger(threads),
      REAL(confidence), REAL(r_bg), &host);
  SEXP values[] = {confidence, r_bg, PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"confidence", "r_bg", "status"};
  SEXP out = named_list(3, names, values);
  UNPROTECT(4);
  return out;
}

/* bag: 0-based; kind: the model and the type of scales, as in core.h */
static SEXP ffi_dd_objective(SEXP X, SEXP scale, SEXP bag, SEXP label, SEXP unit, SEXP kind,
                             SEXP theta) {
  SEXP zero = PROTECT(Rf_ScalarInteger(0));
  const fumi_data x = read_data(X, scale, zero);
  GLUE_ASSERT(TYPEOF(bag) == INTSXP && XLENGTH(bag) == x.N && TYPEOF(label) == INTSXP);
  GLUE_ASSERT(TYPEOF(unit) == REALSXP && XLENGTH(unit) == x.d);
  GLUE_ASSERT(TYPEOF(kind) == INTSXP && XLENGTH(kind) == 2);
  const dd_problem p = {x, Rf_length(label), INTEGER_RO(bag), INTEGER_RO(label),
                        (dd_model)INTEGER_RO(kind)[0], (dd_scale)INTEGER_RO(kind)[1],
                        REAL_RO(unit)};
  GLUE_ASSERT(TYPEOF(theta) == REALSXP && XLENGTH(theta) == dd_n_theta(&p));
  const fumi_host host = make_host(R_NilValue);
  double F = 0;
  SEXP gradient = PROTECT(Rf_allocVector(REALSXP, XLENGTH(theta)));
  const fumi_status status = dd_objective(&p, REAL_RO(theta), &F, REAL(gradient), &host);
  SEXP values[] = {PROTECT(Rf_ScalarReal(F)), gradient, PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"value", "gradient", "status"};
  SEXP out = named_list(3, names, values);
  UNPROTECT(4);
  return out;
}

static SEXP ffi_dd_quadratic(SEXP X, SEXP scale, SEXP t, SEXP s) {
  SEXP zero = PROTECT(Rf_ScalarInteger(0));
  const fumi_data x = read_data(X, scale, zero);
  GLUE_ASSERT(TYPEOF(t) == REALSXP && XLENGTH(t) == x.d);
  GLUE_ASSERT(TYPEOF(s) == REALSXP && XLENGTH(s) == x.d);
  SEXP q = PROTECT(Rf_allocVector(REALSXP, x.N));
  dd_quadratic(&x, REAL_RO(t), REAL_RO(s), REAL(q));
  UNPROTECT(2);
  return q;
}

/* the column, 1-based, of each bag's instance with the smallest q; bag: 0-based */
static SEXP ffi_dd_select(SEXP q, SEXP bag, SEXP n_bags) {
  GLUE_ASSERT(TYPEOF(q) == REALSXP && TYPEOF(bag) == INTSXP && XLENGTH(q) == XLENGTH(bag));
  SEXP best = PROTECT(Rf_allocVector(INTSXP, Rf_asInteger(n_bags)));
  dd_select(Rf_length(q), REAL_RO(q), INTEGER_RO(bag), Rf_length(best), INTEGER(best));
  for (int j = 0; j < Rf_length(best); j++) INTEGER(best)[j]++;
  UNPROTECT(1);
  return best;
}

/* of each feature, over the first n instances */
static SEXP ffi_dd_moments(SEXP X, SEXP scale, SEXP n) {
  const fumi_data x = read_data(X, scale, n);
  GLUE_ASSERT(x.N_pos >= 1);
  SEXP mean = PROTECT(Rf_allocVector(REALSXP, x.d));
  SEXP variance = PROTECT(Rf_allocVector(REALSXP, x.d));
  dd_moments(&x, x.N_pos, REAL(mean), REAL(variance));
  SEXP values[] = {mean, variance};
  const char *const names[] = {"mean", "variance"};
  SEXP out = named_list(2, names, values);
  UNPROTECT(2);
  return out;
}

static SEXP ffi_efumi_unmix(SEXP G, SEXP n_target, SEXP p, SEXP C) {
  const int K = Rf_nrows(C), N = Rf_ncols(C), T = Rf_asInteger(n_target);
  GLUE_ASSERT(is_matrix(C, -1, -1) && is_matrix(G, K, K) && K >= 1 && T >= 0 && T <= K);
  GLUE_ASSERT(TYPEOF(p) == REALSXP && XLENGTH(p) == N);
  const fumi_host host = make_host(R_NilValue);
  SEXP A = PROTECT(Rf_allocMatrix(REALSXP, K, N));
  const fumi_status status =
      efumi_unmix(K, N, T, REAL_RO(G), REAL_RO(p), REAL_RO(C), REAL(A), &host);
  SEXP values[] = {A, PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"codes", "status"};
  SEXP out = named_list(2, names, values);
  UNPROTECT(2);
  return out;
}

/* The order is that of dmil_par() in R/dmil.R. */
static dmil_param read_dmil_param(SEXP par, int K) {
  GLUE_ASSERT(TYPEOF(par) == REALSXP && XLENGTH(par) == 7);
  const double *v = REAL_RO(par);
  return (dmil_param){.pool = (dmil_pool)v[0], .K = K, .max_iter = (int)v[1],
                      .simd = (int)v[2], .exponent = v[3], .beta = v[4], .lambda = v[5],
                      .tol = v[6]};
}

static dmil_bags read_dmil_bags(SEXP bag, SEXP positive, const fumi_data *x) {
  GLUE_ASSERT(TYPEOF(bag) == INTSXP && XLENGTH(bag) == x->N && TYPEOF(positive) == LGLSXP);
  const dmil_bags bags = {Rf_length(positive), INTEGER_RO(bag), LOGICAL_RO(positive)};
  for (int i = 0; i < x->N; i++) GLUE_ASSERT(bags.bag[i] >= 0 && bags.bag[i] < bags.n);
  return bags;
}

static SEXP ffi_dmil_fit(SEXP X, SEXP scale, SEXP bag, SEXP positive, SEXP D0, SEXP par,
                         SEXP report) {
  SEXP zero = PROTECT(Rf_ScalarInteger(0));
  const fumi_data x = read_data(X, scale, zero);
  const int K = Rf_ncols(D0);
  GLUE_ASSERT(is_matrix(D0, x.d, -1));
  const dmil_param param = read_dmil_param(par, K);
  const dmil_bags bags = read_dmil_bags(bag, positive, &x);
  const fumi_host host = make_host(report);
  SEXP D = PROTECT(Rf_duplicate(D0)), n_dead = PROTECT(Rf_allocVector(INTSXP, K));
  SEXP trace = PROTECT(Rf_allocMatrix(REALSXP, DMIL_TERMS, 1 + param.max_iter));
  memset(INTEGER(n_dead), 0, sizeof(int) * (size_t)K);
  dmil_state s = {.D = REAL(D), .trace = REAL(trace), .n_dead = INTEGER(n_dead)};
  const fumi_status status = dmil_fit(&x, &bags, &param, &s, &host);
  SEXP values[] = {D, trace, n_dead, PROTECT(Rf_ScalarInteger(s.n_iter)),
                   PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"dictionary", "trace", "n_dead", "n_iter", "status"};
  SEXP out = named_list(5, names, values);
  UNPROTECT(6);
  return out;
}

static SEXP ffi_dmil_step(SEXP X, SEXP scale, SEXP bag, SEXP positive, SEXP D0, SEXP A, SEXP par) {
  SEXP zero = PROTECT(Rf_ScalarInteger(0));
  const fumi_data x = read_data(X, scale, zero);
  const int K = Rf_ncols(D0);
  GLUE_ASSERT(is_matrix(D0, x.d, -1) && is_matrix(A, K, x.N));
  const dmil_param param = read_dmil_param(par, K);
  const dmil_bags bags = read_dmil_bags(bag, positive, &x);
  const fumi_host host = make_host(R_NilValue);
  SEXP D = PROTECT(Rf_duplicate(D0)), gradient = PROTECT(Rf_allocMatrix(REALSXP, x.d, K));
  SEXP J = PROTECT(Rf_allocVector(REALSXP, 1 + K));
  const fumi_status status =
      dmil_step(&x, &bags, &param, REAL_RO(A), REAL(D), REAL(gradient), REAL(J), &host);
  SEXP values[] = {D, gradient, J, PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"dictionary", "gradient", "objective", "status"};
  SEXP out = named_list(4, names, values);
  UNPROTECT(5);
  return out;
}

/* G, norm2: NULL unless X holds k(instances of the fit, new instances) and D coefficients */
static SEXP ffi_dmil_code(SEXP X, SEXP scale, SEXP D, SEXP G, SEXP norm2, SEXP lambda,
                          SEXP simd) {
  SEXP zero = PROTECT(Rf_ScalarInteger(0));
  const fumi_data x = read_data(X, scale, zero);
  const int K = Rf_ncols(D), kernel = G != R_NilValue;
  GLUE_ASSERT(is_matrix(D, x.d, -1));
  GLUE_ASSERT(!kernel || (is_matrix(G, K, K) && TYPEOF(norm2) == REALSXP && XLENGTH(norm2) == x.N));
  const fumi_host host = make_host(R_NilValue);
  SEXP A = PROTECT(Rf_allocMatrix(REALSXP, K, x.N)), e = PROTECT(Rf_allocVector(REALSXP, x.N));
  const fumi_status status = dmil_code(
      &x, K, REAL_RO(D), kernel ? REAL_RO(G) : NULL, kernel ? REAL_RO(norm2) : NULL,
      Rf_asReal(lambda), Rf_asInteger(simd), REAL(A), REAL(e), &host);
  SEXP values[] = {A, e, PROTECT(Rf_mkString(status_word(status)))};
  const char *const names[] = {"codes", "e", "status"};
  SEXP out = named_list(3, names, values);
  UNPROTECT(4);
  return out;
}

static SEXP ffi_kernel_name(SEXP simd) {
  return Rf_mkString(fumi_choose_kernel(Rf_asInteger(simd))->name);
}

/* ---- registration ------------------------------------------------------------------------ */

#define ENTRY(name, n) {#name, (DL_FUNC)&name, n}

static const R_CallMethodDef entries[] = {
    ENTRY(ffi_arrange, 5),
    ENTRY(ffi_code, 8),
    ENTRY(ffi_dd_moments, 3),
    ENTRY(ffi_dd_objective, 7),
    ENTRY(ffi_dd_quadratic, 4),
    ENTRY(ffi_dd_select, 3),
    ENTRY(ffi_dlfumi_carried, 5),
    ENTRY(ffi_dlfumi_confidence, 10),
    ENTRY(ffi_dlfumi_fit, 9),
    ENTRY(ffi_dlfumi_fit_kept, 5),
    ENTRY(ffi_dlfumi_pass, 10),
    ENTRY(ffi_dlfumi_start_codes, 6),
    ENTRY(ffi_dlfumi_step, 11),
    ENTRY(ffi_dlfumi_worst, 9),
    ENTRY(ffi_efumi_unmix, 4),
    ENTRY(ffi_dmil_code, 7),
    ENTRY(ffi_dmil_fit, 7),
    ENTRY(ffi_dmil_step, 7),
    ENTRY(ffi_kernel_name, 1),
    ENTRY(ffi_kmeans, 6),
    ENTRY(ffi_sum_columns, 3),
    ENTRY(ffi_unit_scale, 1),
    {NULL, NULL, 0},
};

void attribute_visible R_init_fumi(DllInfo *dll) {
  R_registerRoutines(dll, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
