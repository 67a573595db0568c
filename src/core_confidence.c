/* core_confidence.c: how much of an instance the target atoms explain, eq. 7. */
#include "core.h"

#include <string.h>

/* (7): c = ||x - D- a-||^2 / ||x - D a||^2. DEVIATES D5: 1e-12 ||x||^2 is added to both. */
static void block_confidence(const fumi_block *b, const double *r_bg, const double *r_full,
                             double *confidence) {
  for (int i = 0; i < b->n; i++) {
    const double e = 1e-12 * b->norm2[b->first + i];
    confidence[b->first + i] = e > 0 ? (r_bg[b->first + i] + e) / (r_full[i] + e) : 1;
  }
}

typedef struct {
  const fumi_data *x;
  int T, separate;
  fumi_block block[FUMI_GROUPS];
  fumi_coder joint[FUMI_GROUPS], background[FUMI_GROUPS];
  double *r[FUMI_GROUPS]; /* ||x - D a||^2 in a block */
  double *confidence, *r_bg;
} confidence_work;

static void confidence_task(void *ctx, int thread, int group, int j) {
  confidence_work *w = ctx;
  fumi_block *b = w->block + thread;
  const int first = j * fumi_block_size(w->x->d);
  double *r_full = w->r[thread], *r_bg = r_full + fumi_block_size(w->x->d);
  (void)group;
  fumi_block_project(b, first, w->x->N, 0);
  fumi_coder_run(w->joint + thread, b, 0);
  fumi_block_residual(b, 0, r_full);
  if (w->separate) fumi_coder_run(w->background + thread, b, w->T);
  fumi_block_residual(b, w->T, r_bg);
  memcpy(w->r_bg + first, r_bg, sizeof(double) * (size_t)b->n);
  block_confidence(b, w->r_bg, r_full, w->confidence);
}

fumi_status dlfumi_confidence(const fumi_data *x, int T, int K, const double *D, double lambda,
                              double lambda_separate, int separate, int steps, int nonneg,
                              int simd, int threads, double *confidence, double *r_bg, const fumi_host *host) {
  const int nb = fumi_block_size(x->d), n_blocks = (x->N + nb - 1) / nb;
  const int n_threads = fumi_usable_threads(threads, n_blocks);
  confidence_work w = {.x = x, .T = T, .separate = separate, .confidence = confidence, .r_bg = r_bg};
  fumi_status status = fumi_block_with_atoms(w.block, x, fumi_choose_kernel(simd), K, D, host);
  if (status != FUMI_OK) return status;
  const double *G = w.block->G;
  status = fumi_coder_init(w.joint, w.block->kernel, K, G, K, lambda, steps, nonneg, host);
  if (status == FUMI_OK)
    status = fumi_coder_init(w.background, w.block->kernel, K - T, fumi_ccol(G, K, T) + T, K,
                             lambda_separate, steps, nonneg, host);
  for (int t = 0; t < n_threads && status == FUMI_OK; t++) {
    if (t > 0) status = fumi_block_twin(w.block + t, w.block, host);
    if (t > 0 && status == FUMI_OK) status = fumi_coder_twin(w.joint + t, w.joint, w.block->kernel, host);
    if (t > 0 && status == FUMI_OK)
      status = fumi_coder_twin(w.background + t, w.background, w.block->kernel, host);
    w.r[t] = fumi_doubles(host, 2 * (ptrdiff_t)nb);
    if (!w.r[t]) status = FUMI_ENOMEM;
  }
  if (status != FUMI_OK) return status;
  return fumi_each_block(x->d, n_blocks, n_threads, fumi_coder_work(w.joint, x->d), confidence_task, &w, host);
}
