/* core_atoms.c: the dictionary from sums over instances, U = X W' and S = A W'. Each atom
 * minimises (4) with all else fixed, target atoms first, and each with those updated before it. For
 * "exact" there is a way to fewer iterations: more sweeps over the atoms, and momentum. */
#include <math.h>
#include <string.h>

#include "core_dlfumi.h"

fumi_status dlfumi_update_init(dlfumi_update *f, const dlfumi_keeper *keeper,
                               const dlfumi_param *par, dlfumi_state *s, const fumi_host *host) {
  const ptrdiff_t d = keeper->d, K = par->K, MT = (ptrdiff_t)par->M * par->T;
  *f = (dlfumi_update){.d = keeper->d,
                       .par = par,
                       .keeper = keeper,
                       .s = s,
                       .kernel = fumi_choose_kernel(par->simd)};
  const fumi_array arrays[] = {{&f->G, K * K},    {&f->D_old, d * K}, {&f->cosine, MT},
                               {&f->product, MT}, {&f->numerator, d}, {&f->coef, K}};
  f->every = fumi_ints(host, K);
  f->n_dead = fumi_ints(host, K);
  if (!f->every || !f->n_dead) return FUMI_ENOMEM;
  for (int k = 0; k < par->K; k++) f->every[k] = k;
  if (FUMI_TAKE(host, arrays) != FUMI_OK) return FUMI_ENOMEM;
  if (!par->accelerate) return FUMI_OK;
  f->D_plain = fumi_doubles(host, d * K);
  f->D_before = fumi_doubles(host, d * K);
  return f->D_plain && f->D_before ? FUMI_OK : FUMI_ENOMEM;
}

/* The target atoms that eq. 5 and the third term of (4) compare with: old in the
 * paper. DEVIATES D2 (matlab): new ones. */
static const double *compared_targets(const dlfumi_update *f) {
  return f->par->variant == DLFUMI_MATLAB ? f->s->D : f->D_old;
}

/* <d_k, d_t> of the background atoms of D and the target atoms that they are compared with */
static void inner_products(const dlfumi_update *f, const double *D, double *products) {
  const int d = f->d, T = f->par->T, M = f->par->M;
  f->kernel->inner(d, M, T, fumi_ccol(D, d, T), compared_targets(f), products, M);
}

/* (5): cos theta_kt */
void dlfumi_update_cosines(dlfumi_update *f) {
  const int d = f->d, T = f->par->T, M = f->par->M;
  inner_products(f, f->D_old, f->cosine);
  for (int k = 0; k < M; k++) f->coef[k] = fumi_norm(d, fumi_ccol(f->D_old, d, T + k));
  for (int t = 0; t < T; t++) {
    const double norm = fumi_norm(d, fumi_ccol(compared_targets(f), d, t));
    for (int k = 0; k < M; k++) {
      const double norms = f->coef[k] * norm;
      if (norms > 0) f->cosine[k + (ptrdiff_t)M * t] /= norms;
    }
  }
}

double dlfumi_incoherence(const dlfumi_update *f) {
  const ptrdiff_t n = (ptrdiff_t)f->par->M * f->par->T;
  double sum = 0;
  inner_products(f, f->s->D, f->product);
  for (ptrdiff_t kt = 0; kt < n; kt++) sum += f->cosine[kt] * f->product[kt];
  return f->par->gamma * sum;
}

static int atoms_left(const dlfumi_update *f, int from, int end) {
  int n = 0;
  for (int k = from; k < end; k++) n += fumi_norm(f->d, fumi_ccol(f->s->D, f->d, k)) > 0;
  return n;
}

/* DEVIATES D7: the numerator, without its negative part if atoms must not be negative; returns its
 * norm. */
static double bound_numerator(dlfumi_update *f) {
  if (f->par->nonneg_atoms)
    for (int r = 0; r < f->d; r++) f->numerator[r] = fmax(f->numerator[r], 0);
  return fumi_norm(f->d, f->numerator);
}

static void set_atom(dlfumi_update *f, int k, double norm) {
  double *atom = fumi_col(f->s->D, f->d, k);
  for (int r = 0; r < f->d; r++) atom[r] = f->numerator[r] / norm;
}

/* DEVIATES D3: an atom that no code uses would be 0/0 in (8) and (9). */
static fumi_status revive_atom(dlfumi_update *f, int k) {
  const int d = f->d, T = f->par->T, target = k < T;
  double *atom = fumi_col(f->s->D, d, k);
  const int dropped = fumi_norm(d, atom) == 0 && f->par->dead == DLFUMI_DROP && f->s->n_dead[k] > 0;
  if (dropped) return FUMI_OK;
  f->s->n_dead[k]++;
  if (f->par->dead == DLFUMI_DROP && atoms_left(f, target ? 0 : T, target ? T : f->par->K) > 1)
    memset(atom, 0, sizeof(double) * (size_t)d);
  if (f->par->dead != DLFUMI_RESAMPLE) return FUMI_OK;
  const int found = f->keeper->worst(f->keeper->ctx, target, f->D_old, f->numerator);
  if (found < 0) return FUMI_STOPPED;
  const double norm = found ? bound_numerator(f) : 0;
  if (norm > 0) set_atom(f, k, norm);
  return FUMI_OK;
}

/* The atom is its numerator brought to norm 1: the denominators of (8) and (9) cancel. */
static fumi_status normalise_atom(dlfumi_update *f, int k) {
  const double usage = f->sums.S[k + (ptrdiff_t)f->par->K * k], norm = bound_numerator(f);
  if (!(usage > DBL_EPSILON * DBL_EPSILON * f->sums.energy) || !(norm > 0) || !isfinite(norm))
    return revive_atom(f, k);
  set_atom(f, k, norm);
  return FUMI_OK;
}

/* (9), numerator: sum_i p_i a_it (x_i - sum_{l != t} a_il d_l) = U_t - sum_{l != t} S_lt d_l */
static fumi_status update_target_atoms(dlfumi_update *f) {
  const int d = f->d, K = f->par->K;
  fumi_status status = FUMI_OK;
  for (int t = 0; t < f->par->T && status == FUMI_OK; t++) {
    memcpy(f->coef, fumi_ccol(f->sums.S, K, t), sizeof(double) * (size_t)K);
    f->coef[t] = 0;
    f->kernel->correlate(d, K, f->every, f->coef, f->s->D, d,
                         fumi_ccol(f->sums.U, fumi_padded(d), t), f->numerator);
    status = normalise_atom(f, t);
  }
  return status;
}

/* (8), numerator: U_k - psi sum_t S_kt d_t - sum_{l != k} S_lk d_l
 *                 - Gamma sum_t cos_kt d_t(old) */
static fumi_status update_background_atoms(dlfumi_update *f) {
  const int d = f->d, T = f->par->T, M = f->par->M, K = f->par->K;
  fumi_status status = FUMI_OK;
  for (int k = T; k < K && status == FUMI_OK; k++) {
    for (int t = 0; t < T; t++) f->coef[t] = f->par->psi * f->sums.S[k + (ptrdiff_t)K * t];
    for (int l = T; l < K; l++) f->coef[l] = f->sums.S[l + (ptrdiff_t)K * k];
    f->coef[k] = 0;
    f->kernel->correlate(d, K, f->every, f->coef, f->s->D, d,
                         fumi_ccol(f->sums.U, fumi_padded(d), k), f->numerator);
    for (int t = 0; t < T; t++) f->coef[t] = f->par->gamma * f->cosine[k - T + (ptrdiff_t)M * t];
    f->kernel->correlate(d, T, f->every, f->coef, f->D_old, d, f->numerator, f->numerator);
    status = normalise_atom(f, k);
  }
  return status;
}

static int any_died(const dlfumi_update *f) {
  return memcmp(f->n_dead, f->s->n_dead, sizeof(int) * (size_t)f->par->K) != 0;
}

/* Accelerated fits go over all atoms a few times: the sums are there, so that it costs no look at
 * the instances, and (4) cannot rise. */
enum { SWEEPS = 3 };

fumi_status dlfumi_update_atoms(dlfumi_update *f) {
  const int sweeps = f->par->accelerate ? SWEEPS : 1;
  fumi_status status = update_target_atoms(f);
  if (status != FUMI_OK) return status;
  dlfumi_update_cosines(f);
  status = update_background_atoms(f);
  for (int i = 1; i < sweeps && status == FUMI_OK && !any_died(f); i++) {
    status = update_target_atoms(f);
    if (status == FUMI_OK) status = update_background_atoms(f);
  }
  return status;
}

/* ---- acceleration --------------------------------------------------------------------------- */

/* Atoms of norm 1 again; one that has lost all of it is the plain one. */
static void project_atoms(dlfumi_update *f) {
  for (int k = 0; k < f->par->K; k++) {
    memcpy(f->numerator, fumi_ccol(f->s->D, f->d, k), sizeof(double) * (size_t)f->d);
    const double norm = bound_numerator(f);
    if (norm > 0 && isfinite(norm)) set_atom(f, k, norm);
    else
      memcpy(fumi_col(f->s->D, f->d, k), fumi_ccol(f->D_plain, f->d, k),
             sizeof(double) * (size_t)f->d);
  }
}

int dlfumi_accelerate_atoms(dlfumi_update *f) {
  const ptrdiff_t size = (ptrdiff_t)f->d * f->par->K;
  double *before = f->D_plain, *plain = f->D_before, *D = f->s->D;
  f->D_before = before, f->D_plain = plain;
  memcpy(plain, D, sizeof(double) * (size_t)size);
  if (any_died(f)) f->momentum = 0;
  const double n = f->momentum++;
  if (n == 0) return 0;
  for (ptrdiff_t j = 0; j < size; j++) D[j] += n / (n + 3) * (plain[j] - before[j]);
  project_atoms(f);
  return 1;
}

void dlfumi_take_back(dlfumi_update *f) {
  memcpy(f->s->D, f->D_plain, sizeof(double) * (size_t)f->d * (size_t)f->par->K);
  f->momentum = 0;
}

/* ---- whole iterations ----------------------------------------------------------------------- */

void dlfumi_mark_whole(dlfumi_update *f) {
  memcpy(f->D_old, f->s->D, sizeof(double) * (size_t)f->d * (size_t)f->par->K);
  memcpy(f->n_dead, f->s->n_dead, sizeof(int) * (size_t)f->par->K);
  f->worst_gap = f->s->worst_gap;
}

void dlfumi_roll_back(dlfumi_update *f) {
  memcpy(f->s->D, f->D_old, sizeof(double) * (size_t)f->d * (size_t)f->par->K);
  memcpy(f->s->n_dead, f->n_dead, sizeof(int) * (size_t)f->par->K);
  f->s->worst_gap = f->worst_gap;
}
