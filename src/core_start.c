/* core_start.c: the codes that a fit starts from, by least squares on its first dictionary:
 *
 *   a_i = (D'D + ridge I)^-1 D'x_i
 *
 * with all atoms in positive bags and the background atoms in negative ones. Blocks of instances
 * run on threads; the inverse is made once. */
#include "core.h"

#include <string.h>

#include "core_linalg.h"

typedef struct {
  const fumi_data *x;
  int T, n_positive_blocks;
  fumi_block block[FUMI_GROUPS];
  double *spare[FUMI_GROUPS];                  /* of each thread */
  double *inverse_positive, *inverse_negative; /* in panels */
  double *A;
} start_work;

/* No pivot is below this, so that no code is above its inverse, times the norm of the instance. */
static const double LEAST_PIVOT = 5e-5;

/* F: Cholesky factor of the Gram matrix of atoms k0..K-1, with the smallest ridge that makes it
 * definite: atoms may be equal, nearly so, or more than the features. */
static fumi_status gram_factor(const fumi_block *b, int k0, double *F) {
  const int n = b->K - k0, d = b->x->d;
  const double *from = fumi_ccol(b->D, d, k0);
  double ridge = 0;
  do {
    b->kernel->inner(d, n, n, from, from, F, n);
    for (int k = 0; k < n; k++) F[k + (ptrdiff_t)n * k] += ridge;
    int definite = la_cholesky(n, F) == 0;
    for (int k = 0; k < n; k++) definite = definite && F[k + (ptrdiff_t)n * k] > LEAST_PIVOT;
    if (definite) return FUMI_OK;
    ridge = ridge > 0 ? 100 * ridge : 1e-8;
  } while (ridge < 1);
  return FUMI_ESINGULAR;
}

/* The inverse in panels, as the ISTA kernel reads its coefficients. */
static fumi_status gram_inverse(const fumi_block *b, int k0, double *panels,
                                const fumi_host *host) {
  const int n = b->K - k0;
  double *F = fumi_doubles(host, (ptrdiff_t)n * n), *inverse = fumi_doubles(host, (ptrdiff_t)n * n);
  if (!F || !inverse || !panels) return FUMI_ENOMEM;
  const fumi_status status = gram_factor(b, k0, F);
  if (status != FUMI_OK) return status;
  for (ptrdiff_t j = 0; j < (ptrdiff_t)n * n; j++) inverse[j] = j % n == j / n;
  la_cholesky_solve(n, n, F, inverse);
  fumi_panel(b->kernel, n, n, inverse, n, panels);
  return FUMI_OK;
}

/* One ISTA step without a threshold and with eta = 0, from a = b: a <- H a, H the inverse. */
static void start_task(void *ctx, int thread, int group, int j) {
  start_work *w = ctx;
  fumi_block *b = w->block + thread;
  const int nb = fumi_block_size(w->x->d), positive = j < w->n_positive_blocks,
            k0 = positive ? 0 : w->T;
  const int first = positive ? j * nb : w->x->N_pos + (j - w->n_positive_blocks) * nb,
            n = b->K - k0;
  const double none[] = {0, 0};
  (void)group;
  fumi_block_project(b, first, positive ? w->x->N_pos : w->x->N, k0);
  for (int tile = 0; tile < b->tiles; tile++) {
    const ptrdiff_t size = (ptrdiff_t)n * b->kernel->lanes;
    memcpy(b->A + tile * size, b->B + tile * size, sizeof(double) * (size_t)size);
    b->kernel->ista(n, 1, positive ? w->inverse_positive : w->inverse_negative, 0,
                    b->B + tile * size, none, b->A + tile * size, w->spare[thread]);
  }
  fumi_block_store(b, w->A);
}

fumi_status dlfumi_start_codes(const fumi_data *x, int T, int K, const double *D, int simd,
                               int threads, double *A, const fumi_host *host) {
  start_work w = {.x = x, .T = T, .n_positive_blocks = fumi_n_blocks(x->d, x->N_pos), .A = A};
  const int n_blocks = w.n_positive_blocks + fumi_n_blocks(x->d, x->N - x->N_pos), M = K - T;
  const int n_threads = fumi_usable_threads(threads, n_blocks);
  const fumi_kernel *kernel = fumi_choose_kernel(simd);
  fumi_status status = fumi_block_init(w.block, x, kernel, K, host);
  w.block->D = D;
  for (int t = 0; t < n_threads && status == FUMI_OK; t++) {
    if (t > 0) status = fumi_block_twin(w.block + t, w.block, host);
    w.spare[t] = fumi_doubles(host, 2 * (ptrdiff_t)K * kernel->lanes);
    if (!w.spare[t]) status = FUMI_ENOMEM;
  }
  if (status != FUMI_OK) return status;
  w.inverse_positive = fumi_doubles(host, fumi_panel_size(kernel, K, K));
  w.inverse_negative = fumi_doubles(host, fumi_panel_size(kernel, M, M));
  status = gram_inverse(w.block, 0, w.inverse_positive, host);
  if (status == FUMI_OK) status = gram_inverse(w.block, T, w.inverse_negative, host);
  if (status != FUMI_OK) return status;
  const double work = fumi_block_size(x->d) * (2. * x->d * K + 2. * K * K);
  return fumi_each_block(x->d, n_blocks, n_threads, work, start_task, &w, host);
}
