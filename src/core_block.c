/* core_block.c: a block of instances under one dictionary: D'x, codes in tiles,
 * residuals. Everything that reads X goes through here. */
#include "core.h"

#include <float.h>
#include <string.h>

#include "core_linalg.h"

double *fumi_doubles(const fumi_host *host, ptrdiff_t n) {
  return host->alloc(host->ctx, (size_t)(n > 0 ? n : 1), sizeof(double));
}

fumi_status fumi_block_init(fumi_block *b, const fumi_data *x, const fumi_kernel *kernel, int K,
                            const fumi_host *host) {
  const int nb = fumi_block_size(x->d);
  memset(b, 0, sizeof *b);
  b->x = x;
  b->kernel = kernel;
  b->K = K;
  b->B = fumi_doubles(host, (ptrdiff_t)nb * K);
  b->A = fumi_doubles(host, (ptrdiff_t)nb * K);
  b->W = fumi_doubles(host, (ptrdiff_t)nb * K);
  b->pack = fumi_doubles(host, (ptrdiff_t)nb * FUMI_MAX_LANES);
  b->column = fumi_doubles(host, (ptrdiff_t)x->d + K);
  b->norm2 = fumi_doubles(host, x->N);
  if (!b->B || !b->A || !b->W || !b->pack || !b->column || !b->norm2) return FUMI_ENOMEM;
  for (int i = 0; i < x->N; i++) {
    const double norm = x->scale[i] * la_nrm2(x->d, fumi_ccol(x->X, x->d, i));
    b->norm2[i] = norm * norm;
  }
  return FUMI_OK;
}

void fumi_block_project(fumi_block *b, int first, int end, int k0) {
  const fumi_data *x = b->x;
  const int nb = fumi_block_size(x->d), lanes = b->kernel->lanes, rows = b->K - k0;
  b->first = first;
  b->n = end - first < nb ? end - first : nb;
  b->tiles = (b->n + lanes - 1) / lanes;
  b->k0 = k0;
  memset(b->B + (ptrdiff_t)(b->tiles - 1) * rows * lanes, 0, sizeof(double) * (size_t)(rows * lanes));
  b->kernel->project(x->d, b->n, rows, fumi_ccol(x->X, x->d, first), x->scale + first,
                     fumi_ccol(b->D, x->d, k0), b->B, rows);
}

void fumi_block_load(fumi_block *b, const double *A) {
  const int lanes = b->kernel->lanes, rows = b->K - b->k0;
  for (int i = 0; i < b->tiles * lanes; i++) {
    double *lane = b->A + fumi_at(lanes, rows, 0, i);
    const double *a = i < b->n ? fumi_ccol(A, b->K, b->first + i) + b->k0 : NULL;
    for (int k = 0; k < rows; k++) lane[k * lanes] = a ? a[k] : 0;
  }
}

void fumi_block_store(const fumi_block *b, double *A) {
  const int lanes = b->kernel->lanes, rows = b->K - b->k0;
  for (int i = 0; i < b->n; i++) {
    double *a = fumi_col(A, b->K, b->first + i);
    const double *lane = b->A + fumi_at(lanes, rows, 0, i);
    for (int k = 0; k < b->k0; k++) a[k] = 0;
    for (int k = 0; k < rows; k++) a[b->k0 + k] = lane[k * lanes];
  }
}

/* ||x - D a||^2 from the residual itself */
static double explicit_residual(const fumi_block *b, int from, int i) {
  const fumi_data *x = b->x;
  const int d = x->d, rows = b->K - b->k0, n_atoms = b->K - from;
  const double *xi = fumi_ccol(x->X, d, b->first + i), scale = x->scale[b->first + i];
  double *r = b->column, *a = b->column + d;
  for (int l = 0; l < d; l++) r[l] = scale * xi[l];
  for (int k = 0; k < n_atoms; k++)
    a[k] = b->A[fumi_at(b->kernel->lanes, rows, from - b->k0 + k, i)];
  la_gemv_n(d, n_atoms, -1.0, fumi_ccol(b->D, d, from), d, a, 1.0, r);
  const double norm = la_nrm2(d, r);
  return norm * norm;
}

/* The Gram form ||x||^2 - 2a'b + a'Ga loses digits where the residual is small
 * beside x: below this share of ||x||^2 it is computed from the residual vector. */
static const double GRAM_RESIDUAL_FLOOR = 1e-4;

void fumi_block_residual(const fumi_block *b, int from, double *r) {
  const int lanes = b->kernel->lanes, rows = b->K - b->k0, skip = from - b->k0;
  for (int tile = 0; tile < b->tiles; tile++) {
    const ptrdiff_t at = ((ptrdiff_t)tile * rows + skip) * lanes;
    b->kernel->quadratic(b->K - from, fumi_ccol(b->G, b->K, from) + from, b->K, b->A + at,
                         b->B + at, r + tile * lanes);
  }
  for (int i = 0; i < b->n; i++) {
    const double norm2 = b->norm2[b->first + i];
    r[i] += norm2;
    if (r[i] < GRAM_RESIDUAL_FLOOR * norm2) r[i] = explicit_residual(b, from, i);
  }
}

/* One over the norm of each column; 0 for a column of zeros, or so small that its inverse
 * overflows. */
void fumi_unit_scale(int d, int N, const double *X, double *scale) {
  for (int i = 0; i < N; i++) {
    const double norm = la_nrm2(d, fumi_ccol(X, d, i));
    scale[i] = norm >= DBL_MIN ? 1 / norm : 0;
  }
}
