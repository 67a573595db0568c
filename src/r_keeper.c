/* r_keeper.c: a fit of DL-FUMI whose instances are kept by two R functions (dlfumi_keeper in
 * core.h): pass(kind, D) gives list(U, S, terms), and worst(target, D) an instance; NULL of pass
 * stops the fit, NULL of worst says that there is none. */
#include <string.h>

#include "r_dlfumi.h"

typedef struct {
  r_entry *entry;
  SEXP pass, worst;
  int d, K;
  dlfumi_sums sums;
} r_keeper;

typedef struct {
  r_keeper *keeper;
  dlfumi_pass_kind kind;
  int target, found;
  const double *D;
  double *x;
} question;

static SEXP call_pass(void *data) {
  question *q = data;
  r_keeper *k = q->keeper;
  const int d = k->d, K = k->K;
  SEXP value = r_call(k->entry, k->pass, Rf_mkString(r_pass_kinds[q->kind]), q->D, d, K);
  q->found = value != R_NilValue;
  if (!q->found) return R_NilValue;
  const double *U = r_matrix(r_element(value, "U"), d, K, "U");
  const double *S = r_matrix(r_element(value, "S"), K, K, "S");
  const double *term = r_doubles(r_element(value, "terms"), R_SUMS_TERMS, "terms");
  for (int j = 0; j < K; j++)
    memcpy(fumi_col(k->sums.U, fumi_padded(d), j), fumi_ccol(U, d, j), sizeof(double) * (size_t)d);
  memcpy(k->sums.S, S, sizeof(double) * (size_t)K * (size_t)K);
  k->sums.reconstruction = term[0];
  k->sums.l1 = term[1];
  k->sums.worst_gap = term[2];
  k->sums.energy = term[3];
  return R_NilValue;
}

static fumi_status keeper_pass(void *ctx, dlfumi_pass_kind kind, const double *D,
                               dlfumi_sums *sums) {
  r_keeper *k = ctx;
  question q = {.keeper = k, .kind = kind, .D = D};
  if (!r_guard(k->entry, call_pass, &q) || !q.found) return FUMI_STOPPED;
  *sums = k->sums;
  return FUMI_OK;
}

static SEXP call_worst(void *data) {
  question *q = data;
  const r_keeper *k = q->keeper;
  const int d = k->d;
  SEXP x = r_call(k->entry, k->worst, Rf_ScalarLogical(q->target), q->D, d, k->K);
  q->found = x != R_NilValue;
  if (q->found) memcpy(q->x, r_doubles(x, d, "x"), sizeof(double) * (size_t)d);
  return R_NilValue;
}

static int keeper_worst(void *ctx, int target, const double *D, double *x) {
  r_keeper *k = ctx;
  question q = {.keeper = k, .target = target, .D = D, .x = x};
  return r_guard(k->entry, call_worst, &q) ? q.found : -1;
}

SEXP ffi_dlfumi_fit_kept(SEXP D, SEXP par, SEXP report, SEXP pass, SEXP worst) {
  const int d = Rf_nrows(D), K = r_columns(D, "D");
  const dlfumi_param param = r_dlfumi_param(par, K);
  r_entry r;
  r_begin(&r, report);
  r_keeper kept = {.entry = &r,
                   .d = d,
                   .K = K,
                   .pass = r_function(pass, "pass"),
                   .worst = r_function(worst, "worst"),
                   .sums = {.U = fumi_doubles(&r.host, (ptrdiff_t)fumi_padded(d) * K),
                            .S = fumi_doubles(&r.host, (ptrdiff_t)K * K)}};
  const dlfumi_keeper keeper = {.d = d, .pass = keeper_pass, .worst = keeper_worst, .ctx = &kept};
  dlfumi_state s = {.D = r_put_copy(&r, "dictionary", D),
                    .trace = r_put_matrix(&r, "trace", DLFUMI_TERMS, param.max_iter),
                    .n_dead = r_put_integers(&r, "n_dead", K)};
  r_put_status(
      &r, kept.sums.U && kept.sums.S ? dlfumi_fit_kept(&keeper, &param, &s, &r.host) : FUMI_ENOMEM);
  *r_put_integer(&r, "n_iter") = s.n_iter;
  *r_put_number(&r, "worst_gap") = s.worst_gap;
  return r_end(&r);
}
