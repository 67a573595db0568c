/* core_codes.c: the codes of a block of instances, (10)-(13): `inner` gradient steps with a
 * threshold, or for "exact" the minimum of
 *
 *   p .5 ||x - D a||^2 + (1 - p) .5 ||x - D- a-||^2 + lambda (p |a+|_1 + |a-|_1)
 *
 * of each instance, by the active set of core_sparse.c or by gradient steps to convergence.
 * Blocks of negative bags have no target atoms. */
#include <math.h>
#include <string.h>

#include "core_dlfumi.h"

static void ista_negative(dlfumi_worker *v, double lambda) {
  fumi_block *b = &v->block;
  const double threshold[] = {lambda, fumi_below(lambda, v->w->par->nonneg_codes)};
  const ptrdiff_t size = (ptrdiff_t)v->w->par->M * b->kernel->lanes;
  for (int tile = 0; tile < b->tiles; tile++)
    b->kernel->ista(v->w->par->M, v->w->par->inner, v->w->H_negative, v->w->eta_negative,
                    b->B + tile * size, threshold, b->A + tile * size, v->spare);
}

static void ista_positive(dlfumi_worker *v, const double *p, double lambda) {
  fumi_block *b = &v->block;
  const double threshold[] = {lambda, fumi_below(lambda, v->w->par->nonneg_codes)};
  const int T = v->w->par->T, M = v->w->par->M, K = v->w->par->K, lanes = b->kernel->lanes;
  for (int i = 0; i < b->tiles * lanes; i++) v->p_lanes[i] = i < b->n ? p[b->first + i] : 0;
  for (int tile = 0; tile < b->tiles; tile++) {
    double *A = b->A + (ptrdiff_t)tile * K * lanes, *target = v->tile + (ptrdiff_t)K * lanes;
    const double *pt = v->p_lanes + tile * lanes;
    memcpy(v->tile, A, sizeof(double) * (size_t)(K * lanes));
    memcpy(target, A, sizeof(double) * (size_t)(T * lanes));
    for (int l = 0; l < T * lanes; l++) v->tile[l] *= pt[l % lanes];
    b->kernel->ista_positive(T, M, v->w->par->inner, v->w->H_background, v->w->H_target, v->w->eta,
                             b->B + (ptrdiff_t)tile * K * lanes, pt, threshold, v->tile, v->spare);
    memcpy(A, target, sizeof(double) * (size_t)(T * lanes));
    memcpy(A + T * lanes, v->tile + T * lanes, sizeof(double) * (size_t)(M * lanes));
  }
}

/* The lasso of instance i of the block, and its b and a in v->lasso. */
static fumi_lasso load_lasso(dlfumi_worker *v, const double *p, int i) {
  const fumi_block *b = &v->block;
  const int k0 = b->k0, rows = b->K - k0, lanes = b->kernel->lanes;
  const ptrdiff_t lane = fumi_at(lanes, rows, 0, i);
  for (int k = 0; k < rows; k++) {
    v->lasso.b[k] = b->B[lane + k * lanes];
    v->lasso.a[k] = b->A[lane + k * lanes];
  }
  return (fumi_lasso){.K = rows,
                      .T = k0 ? 0 : v->w->par->T,
                      .ldg = b->K,
                      .nonneg = v->w->par->nonneg_codes,
                      .G = fumi_ccol(b->G, b->K, k0) + k0,
                      .lambda = v->w->par->lambda,
                      .p = k0 ? 1 : p[b->first + i],
                      .norm2 = b->norm2[b->first + i],
                      .gap = v->w->par->gap};
}

static void codes_exact(dlfumi_worker *v, const double *p) {
  fumi_block *b = &v->block;
  const int rows = b->K - b->k0, lanes = b->kernel->lanes;
  for (int i = 0; i < b->n && !fumi_stopped(v->lasso.stop); i++) {
    const fumi_lasso problem = load_lasso(v, p, i);
    const double gap = fumi_lasso_solve(&problem, &v->lasso);
    if (gap > v->sums->worst_gap) v->sums->worst_gap = gap;
    double *lane = b->A + fumi_at(lanes, rows, 0, i);
    for (int k = 0; k < rows; k++) lane[k * lanes] = v->lasso.a[k];
  }
}

static double block_gap(dlfumi_worker *v, const double *p) {
  double worst = 0;
  for (int i = 0; i < v->block.n; i++) {
    const fumi_lasso problem = load_lasso(v, p, i);
    worst = fmax(worst, fumi_lasso_gap(&problem, &v->lasso));
  }
  return worst;
}

/* The proximal gradient steps of variant "exact", repeated to the gap. */
static void codes_proximal(dlfumi_worker *v, const double *p) {
  enum { MAX_ROUNDS = 2000 };
  const double lambda = v->w->par->lambda;
  double gap = HUGE_VAL;
  for (int round = 0; round < MAX_ROUNDS && gap > v->w->par->gap; round++) {
    if (v->block.k0) ista_negative(v, v->w->eta_negative * lambda);
    else ista_positive(v, p, v->w->eta * lambda);
    gap = block_gap(v, p);
    if (fumi_lasso_stopped(&v->lasso)) return;
  }
  if (gap > v->sums->worst_gap) v->sums->worst_gap = gap;
}

/* (10)-(13). DEVIATES D1 (exact): the threshold belongs to the step; "paper" and
 * "matlab" threshold by lambda itself, as the paper prints it. */
void dlfumi_block_codes(dlfumi_worker *v, const double *p) {
  if (v->w->par->variant != DLFUMI_EXACT) {
    if (v->block.k0) ista_negative(v, v->w->par->lambda);
    else ista_positive(v, p, v->w->par->lambda);
  } else if (v->w->par->solver == DLFUMI_ACTIVE) codes_exact(v, p);
  else codes_proximal(v, p);
}
