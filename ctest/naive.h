/* naive.h: the equations of DL-FUMI, transcribed instance by instance without any of
 * the algebra that makes the core fast. All functions work on a problem's s.D, s.A, s.p. */
#ifndef FUMI_NAIVE_H
#define FUMI_NAIVE_H

#include "problem.h"

static inline double *atom_of(const problem *q, int k) { return fumi_col(q->s.D, q->x.d, k); }
static inline double *code_of(const problem *q, int i) { return fumi_col(q->s.A, q->par.K, i); }
static inline double p_of(const problem *q, int i) { return i < q->x.N_pos ? q->s.p[i] : 0; }
static inline double weight_of(const problem *q, int i) {
  return (i < q->x.N_pos ? q->par.psi : 1) * (q->par.weight ? q->par.weight[i] : 1);
}

/* r = x_i - sum_{k >= from} a_ik d_k */
static inline void naive_residual(const problem *q, int from, int i, double *r) {
  for (int j = 0; j < q->x.d; j++) {
    r[j] = entry(&q->x, j, i);
    for (int k = from; k < q->par.K; k++) r[j] -= code_of(q, i)[k] * atom_of(q, k)[j];
  }
}

static inline double naive_residual2(const problem *q, int from, int i) {
  double *r = doubles(q->x.d);
  naive_residual(q, from, i, r);
  return dot(q->x.d, r, r);
}

/* (6), whose odds are multiplied by those of the prior */
static inline void naive_expect(problem *q) {
  for (int i = 0; i < q->x.N_pos; i++) {
    const double not_p = exp(-q->par.beta * naive_residual2(q, q->par.T, i));
    const double prior = q->par.prior ? q->par.prior[i] : .5,
                 odds = (1 - not_p) / not_p * prior / (1 - prior);
    q->s.p[i] = prior == 1 ? 1 : odds / (1 + odds);
  }
}

/* the new atom k: its numerator at norm 1, bounded if it must be; one of zeros keeps the atom */
static inline void naive_put_atom(problem *q, int k, double *numerator) {
  for (int j = 0; j < q->x.d && q->par.nonneg_atoms; j++) numerator[j] = fmax(numerator[j], 0);
  if (norm(q->x.d, numerator) == 0) return;
  unit_columns(q->x.d, 1, numerator);
  memcpy(atom_of(q, k), numerator, sizeof(double) * (size_t)q->x.d);
}

/* (9): target atoms in order, each with those updated before it */
static inline void naive_target_atoms(problem *q) {
  const int d = q->x.d;
  double *sum = doubles(d), *r = doubles(d);
  for (int t = 0; t < q->par.T; t++) {
    for (int j = 0; j < d; j++) sum[j] = 0;
    for (int i = 0; i < q->x.N_pos; i++) {
      const double a = code_of(q, i)[t];
      naive_residual(q, 0, i, r);
      for (int j = 0; j < d; j++)
        sum[j] += weight_of(q, i) * p_of(q, i) * a * (r[j] + a * atom_of(q, t)[j]);
    }
    naive_put_atom(q, t, sum);
  }
}

/* The target atoms of (5) and of the third term of (4): old, but new in the authors' code. */
static inline const double *naive_compared(const problem *q, const double *D_old, int t) {
  return q->par.variant == DLFUMI_MATLAB ? atom_of(q, t) : fumi_ccol(D_old, q->x.d, t);
}

/* (5): the cosine of background atom k, before its update, and target atom t */
static inline double naive_cosine(const problem *q, const double *D_old, int k, int t) {
  const double *x = fumi_ccol(D_old, q->x.d, k), *y = naive_compared(q, D_old, t);
  return dot(q->x.d, x, y) / (norm(q->x.d, x) * norm(q->x.d, y));
}

/* (8): background atoms in order */
static inline void naive_background_atoms(problem *q, const double *D_old) {
  const int d = q->x.d, T = q->par.T;
  double *sum = doubles(d), *r = doubles(d), *r_bg = doubles(d);
  for (int k = T; k < q->par.K; k++) {
    for (int j = 0; j < d; j++) sum[j] = 0;
    for (int i = 0; i < q->x.N; i++) {
      const double a = code_of(q, i)[k], p = p_of(q, i);
      naive_residual(q, 0, i, r);
      naive_residual(q, T, i, r_bg);
      for (int j = 0; j < d; j++)
        sum[j] += weight_of(q, i) * a * (p * r[j] + (1 - p) * r_bg[j] + a * atom_of(q, k)[j]);
    }
    for (int t = 0; t < T; t++)
      for (int j = 0; j < d; j++)
        sum[j] -= q->par.gamma * naive_cosine(q, D_old, k, t) * fumi_ccol(D_old, d, t)[j];
    naive_put_atom(q, k, sum);
  }
}

static inline void naive_atoms(problem *q) {
  const double *D_old = copied(q->s.D, (ptrdiff_t)q->x.d * q->par.K);
  naive_target_atoms(q);
  naive_background_atoms(q, D_old);
}

/* 1 / lambda_max of the Gram matrix of atoms from .. K-1; test_sparse.c checks the value */
static inline double naive_step_length(const problem *q, int from) {
  const int n = q->par.K - from;
  fumi_status status = FUMI_OK;
  const double *G = gram_of(q->x.d, n, atom_of(q, from), n);
  const double largest = fumi_largest_eigenvalue(n, G, n, doubles(fumi_eigen_work(n)), &status);
  CHECK(status == FUMI_OK);
  return 1 / largest;
}

/* (10)-(13): one step for instance i; target codes of negative bags stay 0 */
static inline void naive_ista_step(problem *q, double eta, int i) {
  const int d = q->x.d, T = q->par.T, positive = i < q->x.N_pos;
  const double p = p_of(q, i);
  double *r = doubles(d), *r_bg = doubles(d), *a = code_of(q, i);
  naive_residual(q, 0, i, r);
  naive_residual(q, T, i, r_bg);
  for (int k = positive ? 0 : T; k < q->par.K; k++) {
    const double full = dot(d, atom_of(q, k), r), background = dot(d, atom_of(q, k), r_bg);
    const double gradient = k < T ? p * full : p * full + (1 - p) * background;
    const double t = a[k] + eta * gradient, l = q->par.lambda * (k < T ? p : 1);
    a[k] = q->par.nonneg_codes ? soft_positive(t, l) : soft(t, l);
  }
}

static inline void naive_codes(problem *q) {
  const double eta = naive_step_length(q, 0), eta_negative = naive_step_length(q, q->par.T);
  for (int i = 0; i < q->x.N; i++)
    for (int step = 0; step < q->par.inner; step++)
      naive_ista_step(q, i < q->x.N_pos ? eta : eta_negative, i);
}

/* (4): the objective and its three terms */
static inline void naive_objective(const problem *q, const double *D_old, double *terms) {
  const int T = q->par.T, K = q->par.K;
  terms[1] = terms[2] = terms[3] = 0;
  for (int i = 0; i < q->x.N; i++) {
    const double p = p_of(q, i), w = weight_of(q, i);
    terms[1] += .5 * w * (p * naive_residual2(q, 0, i) + (1 - p) * naive_residual2(q, T, i));
    for (int k = 0; k < K; k++)
      terms[2] += q->par.lambda * w * (k < T ? p : 1) * fabs(code_of(q, i)[k]);
  }
  for (int k = T; k < K; k++)
    for (int t = 0; t < T; t++)
      terms[3] += q->par.gamma * naive_cosine(q, D_old, k, t) *
                  dot(q->x.d, atom_of(q, k), naive_compared(q, D_old, t));
  terms[0] = terms[1] + terms[2] + terms[3];
}

/* max_iter iterations of "paper" or "matlab" */
static inline void naive_fit(problem *q) {
  const int matlab = q->par.variant == DLFUMI_MATLAB;
  for (int it = 0; it < q->par.max_iter; it++) {
    const double *D_old = copied(q->s.D, (ptrdiff_t)q->x.d * q->par.K);
    naive_expect(q);
    if (matlab) naive_codes(q);
    naive_atoms(q);
    if (!matlab) naive_codes(q);
    naive_objective(q, D_old, q->s.trace + DLFUMI_TERMS * it);
  }
}

#endif
