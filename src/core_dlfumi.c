/* core_dlfumi.c: DL-FUMI (Jiao and Zare 2016), Algorithm 1.
 *
 *   E[F] = sum_i w_i { .5 [p_i ||x_i - D a_i||^2 + (1 - p_i) ||x_i - D- a_i-||^2]
 *                      + lambda (p_i |a_i+|_1 + |a_i-|_1) }
 *          + sum_kt gamma_kt <d_k-, d_t+old>                                  (4)
 *
 * w_i = psi and p_i = P(z_i = 1) in positive bags, w_i = 1 and p_i = 0 in negative ones.
 * core_dlfumi.h says in which file each equation is; DEVIATES tags are explained in the
 * vignette "The maths". */
#include "core_dlfumi.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

static fumi_status run_pass(dlfumi_update *f, dlfumi_pass_kind kind);
static fumi_status objective_of_sums(dlfumi_update *f);
static fumi_status run_codes(dlfumi_update *f);

/* One pass over the instances ends with the E-step of the next iteration, because the sums that
 * the atoms need are weighted by its p. DEVIATES D4 (matlab): codes before atoms, so that its
 * pass begins with the E-step. */
static fumi_status iterate(dlfumi_update *f, const fumi_host *host) {
  const dlfumi_param *par = f->par;
  const int matlab = par->variant == DLFUMI_MATLAB;
  double before = HUGE_VAL, least = par->tol;
  fumi_status status = FUMI_OK;

  for (int it = 0; it < par->max_iter; it++) {
    dlfumi_mark_whole(f);
    f->s->worst_gap = 0;

    /* ---- E-step, (6); "paper" and "exact": made by the pass before */
    if (matlab) status = run_pass(f, PASS_MATLAB); /* (6), then the codes, (10)-(13) */
    if (status != FUMI_OK) return status;

    /* ---- atoms: target (9), cosines (5), background (8) */
    status = dlfumi_update_atoms(f);
    if (status != FUMI_OK) return status;

    /* ---- codes, (10)-(13), and the E-step of the next iteration, (6) */
    status = matlab ? objective_of_sums(f) : run_codes(f);
    if (status != FUMI_OK) return status;

    /* ---- objective, (4) */
    const double objective = dlfumi_record_objective(f, f->s->trace + (ptrdiff_t)DLFUMI_TERMS * it);
    if (!isfinite(objective)) return FUMI_ENONFINITE;
    if (f->keeper->whole) f->keeper->whole(f->keeper->ctx);
    f->s->n_iter = it + 1;

    if (host->report && host->report(host->ctx, it + 1, objective)) {
      dlfumi_mark_whole(f);
      return FUMI_STOPPED;
    }
    if (it == 0 && !par->absolute_tol) least = par->tol * fabs(objective);
    if (fabs(before - objective) < least) return FUMI_CONVERGED;
    before = objective;
  }
  return FUMI_MAXIT;
}

fumi_status dlfumi_fit_kept(const dlfumi_keeper *keeper, const dlfumi_param *par, dlfumi_state *s,
                            const fumi_host *host) {
  dlfumi_update f;
  s->n_iter = 0;
  s->worst_gap = 0;
  fumi_status status = dlfumi_update_init(&f, keeper, par, s, host);
  if (status != FUMI_OK) return status;
  dlfumi_mark_whole(&f);
  if (par->variant != DLFUMI_MATLAB) status = run_pass(&f, PASS_START); /* (6) */
  if (status == FUMI_OK) status = iterate(&f, host);
  if (status == FUMI_STOPPED) dlfumi_roll_back(&f);
  return status;
}

/* A fit that was stopped before its first whole iteration holds its start, and p of that. */
static void expect_start(dlfumi_work *w, const double *D) {
  const dlfumi_plan plan = {.expect_first = 1, .p = w->p_done};
  if (dlfumi_use_dictionary(w, D) == FUMI_OK) dlfumi_run_plan(w, &plan, NULL);
}

fumi_status dlfumi_fit(const fumi_data *x, const dlfumi_param *par, dlfumi_state *s,
                       const fumi_host *host) {
  const ptrdiff_t size = (ptrdiff_t)par->K * x->N;
  dlfumi_work w;
  s->n_iter = 0;
  fumi_status status = dlfumi_work_init(&w, x, par, s->A, host);
  if (status != FUMI_OK || !(w.A_other = fumi_doubles(host, size))) return FUMI_ENOMEM;
  const dlfumi_keeper keeper = dlfumi_keep_in_memory(&w);
  status = dlfumi_fit_kept(&keeper, par, s, host);
  if (status == FUMI_STOPPED && s->n_iter == 0) expect_start(&w, s->D);
  memcpy(s->p, w.p_done, sizeof(double) * (size_t)x->N_pos);
  if (w.A_done != s->A) memcpy(s->A, w.A_done, sizeof(double) * (size_t)size);
  return status;
}

static fumi_status run_pass(dlfumi_update *f, dlfumi_pass_kind kind) {
  const fumi_status status = f->keeper->pass(f->keeper->ctx, kind, f->s->D, &f->sums);
  f->s->worst_gap = fmax(f->s->worst_gap, f->sums.worst_gap);
  return status;
}

/* ---- the objective -------------------------------------------------------------------------- */

double dlfumi_record_objective(dlfumi_update *f, double *terms) {
  terms[1] = f->sums.reconstruction;
  terms[2] = f->par->lambda * f->sums.l1;
  terms[3] = dlfumi_incoherence(f);
  return terms[0] = terms[1] + terms[2] + terms[3];
}

/* First term of (4), twice, for the dictionary after the codes, from U and S alone. */
static double error_of_sums(dlfumi_update *f) {
  const int d = f->d, T = f->par->T, K = f->par->K, ldu = fumi_padded(d);
  const double psi = f->par->psi, *G = f->G, *S = f->sums.S, *D = f->s->D;
  double e = f->sums.energy;
  f->kernel->inner(d, K, K, D, D, f->G, K);
  for (int k = 0; k < K; k++)
    e -= 2 * (k < T ? psi : 1) * la_dot(d, fumi_ccol(D, d, k), fumi_ccol(f->sums.U, ldu, k));
  for (int k = 0; k < K; k++)
    for (int l = 0; l < K; l++) {
      const double s = k < T   ? psi * S[l + (ptrdiff_t)K * k]
                       : l < T ? psi * S[k + (ptrdiff_t)K * l]
                               : S[l + (ptrdiff_t)K * k];
      e += G[l + (ptrdiff_t)K * k] * s;
    }
  return e;
}

/* below this share of the energy, U and S have no digits left for the error */
static const double SUMS_FLOOR = 1e-4;

static fumi_status objective_of_sums(dlfumi_update *f) {
  const double e = error_of_sums(f);
  f->sums.reconstruction = .5 * e;
  return e > SUMS_FLOOR * f->sums.energy ? FUMI_OK : run_pass(f, PASS_OBJECTIVE);
}

/* ---- acceleration --------------------------------------------------------------------------- */

/* Codes for the new atoms, accelerated if they may be. Codes for the plain atoms could only lower
 * `sure`, which is (4) with the codes before: if the accelerated ones end above it, they are taken
 * back, and codes are made for the plain atoms. */
static fumi_status run_codes(dlfumi_update *f) {
  double terms[DLFUMI_TERMS];
  if (!f->par->accelerate || !f->keeper->back) return run_pass(f, PASS_PAPER);
  const double e = error_of_sums(f);
  const double sure = .5 * e + f->par->lambda * f->sums.l1_next + dlfumi_incoherence(f);
  if (e > SUMS_FLOOR * f->sums.energy && dlfumi_accelerate_atoms(f)) {
    const fumi_status status = run_pass(f, PASS_PAPER);
    if (status != FUMI_OK || dlfumi_record_objective(f, terms) <= sure) return status;
    dlfumi_take_back(f);
    f->keeper->back(f->keeper->ctx);
    f->s->worst_gap = 0;
  }
  return run_pass(f, PASS_PAPER);
}

/* ---- the energy of atoms -------------------------------------------------------------------- */

void dlfumi_carried(const dlfumi_param *par, int N, int N_pos, const double *A, const double *p,
                    double *carried) {
  memset(carried, 0, sizeof(double) * 2 * (size_t)par->K);
  for (int i = 0; i < N; i++) {
    const double *a = fumi_ccol(A, par->K, i), weight = dlfumi_weight(par, i < N_pos, i);
    for (int k = 0; k < par->K; k++) {
      const double wa = weight * (k < par->T ? (i < N_pos ? p[i] : 0) : 1) * a[k];
      carried[2 * k] += wa * a[k];
      carried[2 * k + 1] += wa;
    }
  }
}
