/* core_start.c: the codes that a fit starts from, by least squares on its first dictionary. */
#include "core.h"

#include "core_linalg.h"

/* Least squares for one block: Gram factor F of its K - k0 atoms. */
static void least_squares_block(const fumi_block *b, const double *F, double *A) {
  const int rows = b->K - b->k0, lanes = b->kernel->lanes;
  for (int i = 0; i < b->n; i++) {
    double *a = fumi_col(A, b->K, b->first + i);
    const double *lane = b->B + fumi_at(lanes, rows, 0, i);
    for (int k = 0; k < b->k0; k++) a[k] = 0;
    for (int k = 0; k < rows; k++) a[b->k0 + k] = lane[k * lanes];
    la_cholesky_solve(rows, 1, F, a + b->k0);
  }
}

/* Cholesky factor of the Gram matrix of atoms k0..K-1, with the smallest ridge that
 * makes it definite: atoms may outnumber features. */
static fumi_status gram_factor(const fumi_block *b, int k0, double *F) {
  const int n = b->K - k0, d = b->x->d;
  const double *from = fumi_ccol(b->D, d, k0);
  for (double ridge = 0; ridge < 1; ridge = ridge > 0 ? 100 * ridge : 1e-12) {
    b->kernel->inner(d, n, n, from, from, F, n);
    for (int k = 0; k < n; k++) F[k + (ptrdiff_t)n * k] += ridge;
    if (la_cholesky(n, F) == 0 && F[(ptrdiff_t)n * n - 1] > 1e-7) return FUMI_OK;
  }
  return FUMI_ESINGULAR;
}

fumi_status dlfumi_start_codes(const fumi_data *x, int T, int K, const double *D, int simd,
                               double *A, const fumi_host *host) {
  fumi_block b;
  double *F = fumi_doubles(host, (ptrdiff_t)K * K);
  fumi_status status = fumi_block_init(&b, x, fumi_choose_kernel(simd), K, host);
  if (status != FUMI_OK || !F) return FUMI_ENOMEM;
  b.D = D;
  for (int positive = 1; positive >= 0 && status == FUMI_OK; positive--) {
    const int k0 = positive ? 0 : T, end = positive ? x->N_pos : x->N;
    status = gram_factor(&b, k0, F);
    for (int i = positive ? 0 : x->N_pos; i < end && status == FUMI_OK; i += b.n) {
      fumi_block_project(&b, i, end, k0);
      least_squares_block(&b, F, A);
      if (host->poll(host->ctx)) status = FUMI_STOPPED;
    }
  }
  return status;
}
