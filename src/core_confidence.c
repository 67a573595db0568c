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
  int T, separate;
  double *confidence, *r_bg;
} confidence_work;

static void confidence_task(void *ctx, fumi_coding_worker *v) {
  const confidence_work *w = ctx;
  fumi_block *b = &v->block;
  double *r_full = v->room, *r_bg = r_full + fumi_block_size(b->x->d);
  fumi_coder_run(v->coder, b, 0);
  fumi_block_residual(b, 0, r_full);
  if (w->separate) fumi_coder_run(v->coder + 1, b, w->T);
  fumi_block_residual(b, w->T, r_bg);
  memcpy(w->r_bg + b->first, r_bg, sizeof(double) * (size_t)b->n);
  block_confidence(b, w->r_bg, r_full, w->confidence);
}

fumi_status dlfumi_confidence(const fumi_data *x, int T, int K, const double *D, double lambda,
                              double lambda_separate, int separate, int steps, int nonneg, int simd,
                              int threads, double *confidence, double *r_bg,
                              const fumi_host *host) {
  const fumi_coding how = {.n = 2,
                           .k0 = {0, T},
                           .lambda = {lambda, lambda_separate},
                           .steps = steps,
                           .nonneg = nonneg,
                           .simd = simd,
                           .threads = threads};
  confidence_work w = {.T = T, .separate = separate, .confidence = confidence, .r_bg = r_bg};
  double worst_gap;
  return fumi_code_blocks(x, K, D, &how, confidence_task, &w, &worst_gap, host);
}
