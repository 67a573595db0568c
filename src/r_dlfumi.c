/* r_dlfumi.c: .Call entries of DL-FUMI, but for those of a fit whose instances are kept elsewhere
 * (r_keeper.c). */
#include <limits.h>
#include <string.h>

#include "r_dlfumi.h"

/* in the order of the enums of core.h */
static const char *const variants[] = {"paper", "matlab", "exact", NULL};
static const char *const solvers[] = {"ista", "active", NULL};
static const char *const deaths[] = {"resample", "keep", "drop", NULL};
static const char *const steps[] = {"expect", "codes", "atoms", "objective", NULL};

dlfumi_param r_dlfumi_param(SEXP par, int K) {
  const int T = r_par_integer(par, "n_target", 1, K - 1);
  return (dlfumi_param){.variant = (dlfumi_variant)r_par_choice(par, "variant", variants),
                        .solver = (dlfumi_solver)r_par_choice(par, "solver", solvers),
                        .dead = (dlfumi_dead)r_par_choice(par, "dead", deaths),
                        .T = T,
                        .M = K - T,
                        .K = K,
                        .inner = r_par_integer(par, "inner", 1, INT_MAX),
                        .max_iter = r_par_integer(par, "max_iter", 1, INT_MAX),
                        .absolute_tol = r_par_flag(par, "absolute_tol"),
                        .simd = r_par_integer(par, "simd", 0, INT_MAX),
                        .threads = r_par_integer(par, "threads", 1, INT_MAX),
                        .nonneg_codes = r_par_flag(par, "nonneg_codes"),
                        .nonneg_atoms = r_par_flag(par, "nonneg_atoms"),
                        .accelerate = r_par_flag(par, "accelerate"),
                        .lambda = r_par_penalty(par, "lambda"),
                        .beta = r_par_number(par, "beta"),
                        .gamma = r_par_number(par, "gamma"),
                        .psi = r_par_number(par, "psi"),
                        .tol = r_par_number(par, "tol"),
                        .gap = r_par_number(par, "gap")};
}

static dlfumi_param weighted_param(SEXP par, int K, const fumi_data *x, SEXP weight, SEXP prior) {
  dlfumi_param param = r_dlfumi_param(par, K);
  param.weight = r_doubles_or_null(weight, x->N, "weight");
  param.prior = r_doubles_or_null(prior, x->N_pos, "prior");
  return param;
}

/* par: n_target, simd, threads */
SEXP ffi_dlfumi_start_codes(SEXP X, SEXP scale, SEXP n_positive, SEXP D, SEXP par) {
  const fumi_data x = r_data(X, scale, n_positive);
  const int K = r_columns(D, "D"), T = r_par_integer(par, "n_target", 1, K - 1);
  const int simd = r_par_integer(par, "simd", 0, INT_MAX);
  const int threads = r_par_integer(par, "threads", 1, INT_MAX);
  const double *atoms = r_matrix(D, x.d, K, "D");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *A = r_put_matrix(&r, "codes", K, x.N);
  r_put_status(&r, dlfumi_start_codes(&x, T, K, atoms, simd, threads, A, &r.host));
  return r_end(&r);
}

/* The codes of the start are handed over: unless somebody else holds them, the core works in them,
 * and they are returned. */
SEXP ffi_dlfumi_fit(SEXP X, SEXP scale, SEXP n_positive, SEXP D, SEXP A, SEXP par, SEXP weight,
                    SEXP prior, SEXP report) {
  const fumi_data x = r_data(X, scale, n_positive);
  const int K = r_columns(D, "D");
  const dlfumi_param param = weighted_param(par, K, &x, weight, prior);
  r_matrix(D, x.d, K, "D");
  r_matrix(A, K, x.N, "A");
  r_entry r;
  r_begin(&r, report);
  dlfumi_state s = {.D = r_put_copy(&r, "dictionary", D),
                    .A = r_put_own(&r, "codes", A),
                    .p = r_put_doubles(&r, "p", x.N_pos),
                    .trace = r_put_matrix(&r, "trace", DLFUMI_TERMS, param.max_iter),
                    .n_dead = r_put_integers(&r, "n_dead", K)};
  r_put_status(&r, dlfumi_fit(&x, &param, &s, &r.host));
  *r_put_integer(&r, "n_iter") = s.n_iter;
  *r_put_number(&r, "worst_gap") = s.worst_gap;
  return r_end(&r);
}

SEXP ffi_dlfumi_carried(SEXP A, SEXP p, SEXP n_target, SEXP psi, SEXP weight) {
  const double *codes = r_matrix(A, R_ANY, R_ANY, "A");
  const int K = Rf_nrows(A), N = Rf_ncols(A);
  const int N_pos = r_length(p, "p");
  const double *prob = r_doubles(p, N_pos, "p");
  const dlfumi_param par = {.T = r_integer(n_target, 0, K, "n_target"),
                            .K = K,
                            .psi = r_number(psi, "psi"),
                            .weight = r_doubles_or_null(weight, N, "weight")};
  r_must(N_pos <= N, "p", "at most as long as there are codes");
  r_entry r;
  r_begin(&r, R_NilValue);
  dlfumi_carried(&par, N, N_pos, codes, prob, r_put_matrix(&r, "carried", 2, K));
  return r_end_only(&r);
}

static fumi_data with_norms(fumi_data x, SEXP norm2) {
  x.norm2 = r_doubles_or_null(norm2, x.N, "norm2");
  return x;
}

/* One pass over a part of the instances. p: for this pass; out: of it, and for the next one; norm2:
 * squared norms of the scaled instances, or NULL. */
SEXP ffi_dlfumi_pass(SEXP X, SEXP scale, SEXP n_positive, SEXP kind, SEXP D, SEXP A, SEXP p,
                     SEXP par, SEXP weight, SEXP prior, SEXP norm2) {
  const fumi_data x = with_norms(r_data(X, scale, n_positive), norm2);
  const int K = r_columns(D, "D");
  const dlfumi_pass_kind which = (dlfumi_pass_kind)r_choice(kind, r_pass_kinds, "kind");
  const dlfumi_param param = weighted_param(par, K, &x, weight, prior);
  const double *atoms = r_matrix(D, x.d, K, "D");
  r_matrix(A, K, x.N, "A");
  r_doubles(p, x.N_pos, "p");
  r_entry r;
  r_begin(&r, R_NilValue);
  dlfumi_part part = {.A = r_put_copy(&r, "codes", A),
                      .p = r_put_doubles(&r, "p", x.N_pos),
                      .p_next = r_put_copy(&r, "p_next", p)};
  double *U = r_put_matrix(&r, "U", x.d, K), *S = r_put_matrix(&r, "S", K, K);
  double *terms = r_put_doubles(&r, "terms", R_SUMS_TERMS);
  dlfumi_sums sums;
  const fumi_status status = dlfumi_pass(&x, &param, which, atoms, &part, &sums, &r.host);
  if (status == FUMI_OK) {
    for (int k = 0; k < K; k++)
      memcpy(fumi_col(U, x.d, k), fumi_ccol(sums.U, fumi_padded(x.d), k),
             sizeof(double) * (size_t)x.d);
    memcpy(S, sums.S, sizeof(double) * (size_t)K * (size_t)K);
    const double term[R_SUMS_TERMS] = {sums.reconstruction, sums.l1, sums.worst_gap, sums.energy};
    memcpy(terms, term, sizeof term);
  }
  r_put_status(&r, status);
  return r_end(&r);
}

/* taken, and the value `worst`: columns of X from 1 on; 0: there is none */
SEXP ffi_dlfumi_worst(SEXP X, SEXP scale, SEXP n_positive, SEXP target, SEXP D, SEXP A, SEXP p,
                      SEXP taken, SEXP par, SEXP norm2) {
  const fumi_data x = with_norms(r_data(X, scale, n_positive), norm2);
  const int K = r_columns(D, "D"), n_taken = r_length(taken, "taken");
  const int *columns = r_index(taken, n_taken, x.N, "taken"), of_target = r_flag(target, "target");
  const double *atoms = r_matrix(D, x.d, K, "D");
  const dlfumi_param param = r_dlfumi_param(par, K);
  r_must(n_taken <= K, "taken", "at most as long as there are atoms");
  r_matrix(A, K, x.N, "A");
  r_doubles(p, x.N_pos, "p");
  dlfumi_part part = {REAL(A), REAL(p), REAL(p)};
  int worst = -1;
  r_entry r;
  r_begin(&r, R_NilValue);
  double *most = r_put_number(&r, "residual");
  r_put_status(&r, dlfumi_worst(&x, &param, of_target, atoms, &part, columns, n_taken, &worst, most,
                                &r.host));
  *r_put_integer(&r, "worst") = worst + 1;
  return r_end(&r);
}

SEXP ffi_dlfumi_step(SEXP X, SEXP scale, SEXP n_positive, SEXP kind, SEXP D_old, SEXP D, SEXP A,
                     SEXP p, SEXP par, SEXP weight, SEXP prior) {
  const fumi_data x = r_data(X, scale, n_positive);
  const int K = r_columns(D, "D");
  const dlfumi_step_kind which = (dlfumi_step_kind)r_choice(kind, steps, "kind");
  const dlfumi_param param = weighted_param(par, K, &x, weight, prior);
  const double *before = r_matrix(D_old, x.d, K, "D_old");
  r_matrix(D, x.d, K, "D");
  r_matrix(A, K, x.N, "A");
  r_doubles(p, x.N_pos, "p");
  r_entry r;
  r_begin(&r, R_NilValue);
  dlfumi_state s = {.D = r_put_copy(&r, "dictionary", D),
                    .A = r_put_copy(&r, "codes", A),
                    .p = r_put_copy(&r, "p", p),
                    .trace = r_put_doubles(&r, "terms", DLFUMI_TERMS),
                    .n_dead = r_put_integers(&r, "n_dead", K)};
  r_put_status(&r, dlfumi_step(&x, &param, which, before, &s, &r.host));
  *r_put_number(&r, "worst_gap") = s.worst_gap;
  return r_end(&r);
}

/* par: n_target, lambda of the joint code, lambda_separate of the code on the background atoms
 * alone, separate (use the latter), steps (0: exact codes), nonneg, simd, threads */
SEXP ffi_dlfumi_confidence(SEXP X, SEXP scale, SEXP D, SEXP par) {
  const fumi_data x = r_instances(X, scale);
  const int K = r_columns(D, "D"), T = r_par_integer(par, "n_target", 1, K - 1);
  const double *atoms = r_matrix(D, x.d, K, "D");
  const double lambda = r_par_penalty(par, "lambda");
  const double lambda_separate = r_par_penalty(par, "lambda_separate");
  const int separate = r_par_flag(par, "separate"), nonneg = r_par_flag(par, "nonneg");
  const int n_steps = r_par_integer(par, "steps", 0, INT_MAX);
  const int simd = r_par_integer(par, "simd", 0, INT_MAX);
  const int threads = r_par_integer(par, "threads", 1, INT_MAX);
  r_entry r;
  r_begin(&r, R_NilValue);
  double *confidence = r_put_doubles(&r, "confidence", x.N), *r_bg = r_put_doubles(&r, "r_bg", x.N);
  r_put_status(&r, dlfumi_confidence(&x, T, K, atoms, lambda, lambda_separate, separate, n_steps,
                                     nonneg, simd, threads, confidence, r_bg, &r.host));
  return r_end(&r);
}
