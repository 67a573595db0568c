/* core_coder.c: codes of new instances, block by block: exact (core_sparse.c), or by a number of
 * gradient steps as a fit makes them (core_ista.c). */
#include "core.h"

#include <math.h>
#include <string.h>

fumi_status fumi_coder_twin(fumi_coder *c, const fumi_coder *of, const fumi_kernel *kernel,
                            const fumi_host *host) {
  *c = *of;
  c->spare = fumi_doubles(host, 2 * (ptrdiff_t)c->K * kernel->lanes);
  return c->spare ? fumi_lasso_init(&c->lasso, kernel, c->K, host) : FUMI_ENOMEM;
}

double fumi_coder_work(const fumi_coder *c, int d) {
  const double K = c->K, steps = c->steps > 0 ? c->steps : 2 * K;
  return fumi_block_size(d) * (2 * d * K + 2 * steps * K * K);
}

fumi_status fumi_coder_init(fumi_coder *c, const fumi_kernel *kernel, int K, const double *G,
                            int ldg, double lambda, int steps, int nonneg, const fumi_host *host) {
  const fumi_coder plain = {
      .K = K, .ldg = ldg, .steps = steps, .nonneg = nonneg, .G = G, .lambda = lambda};
  fumi_status status = fumi_coder_twin(c, &plain, kernel, host);
  c->H = fumi_doubles(host, fumi_panel_size(kernel, K, K));
  double *work = fumi_doubles(host, fumi_eigen_work(K));
  if (status != FUMI_OK || !c->H || !work) return FUMI_ENOMEM;
  if (steps == 0) return FUMI_OK;
  c->eta = fumi_step_length(K, G, ldg, work, &status);
  fumi_step_panel(kernel, K, K, G, ldg, c->eta, 0, work, c->H);
  return status;
}

static void code_exact(fumi_coder *c, fumi_block *b, int k0) {
  const int lanes = b->kernel->lanes;
  fumi_lasso_work *w = &c->lasso;
  for (int i = b->n; i < b->tiles * lanes; i++)
    for (int k = 0; k < c->K; k++) b->A[fumi_at(lanes, b->K, k0 + k, i)] = 0;
  for (int i = 0; i < b->n && !(w->stop && fumi_stopped(w->stop)); i++) {
    const fumi_lasso l = {.K = c->K,
                          .ldg = c->ldg,
                          .nonneg = c->nonneg,
                          .G = c->G,
                          .lambda = c->lambda,
                          .p = 1,
                          .norm2 = b->norm2[b->first + i],
                          .gap = 1e-9};
    const ptrdiff_t lane = fumi_at(lanes, b->K, k0, i);
    for (int k = 0; k < c->K; k++) w->b[k] = b->B[lane + k * lanes], w->a[k] = 0;
    const double gap = fumi_lasso_solve(&l, w);
    if (gap > c->worst_gap) c->worst_gap = gap;
    for (int k = 0; k < c->K; k++) b->A[lane + k * lanes] = w->a[k];
  }
}

static void code_ista(fumi_coder *c, fumi_block *b, int k0) {
  const int lanes = b->kernel->lanes;
  const double threshold[] = {c->lambda, fumi_below(c->lambda, c->nonneg)};
  for (int tile = 0; tile < b->tiles; tile++) {
    const ptrdiff_t at = ((ptrdiff_t)tile * b->K + k0) * lanes;
    memset(b->A + at, 0, sizeof(double) * (size_t)(c->K * lanes));
    b->kernel->ista(c->K, c->steps, c->H, c->eta, b->B + at, threshold, b->A + at, c->spare);
  }
}

void fumi_coder_run(fumi_coder *c, fumi_block *b, int k0) {
  if (c->steps == 0) code_exact(c, b, k0);
  else code_ista(c, b, k0);
}

/* ---- all instances, on threads -------------------------------------------------------------- */

typedef struct {
  const fumi_data *x;
  fumi_coding_worker *worker; /* one for each thread */
  fumi_coding_task *task;
  void *ctx;
  fumi_stop stop;
} coding_work;

static fumi_status first_worker(fumi_coding_worker *v, const fumi_data *x, int K, const double *D,
                                const fumi_coding *how, const fumi_host *host) {
  const fumi_kernel *kernel = fumi_choose_kernel(how->simd);
  fumi_status status = fumi_block_with_atoms(&v->block, x, kernel, K, D, host);
  for (int c = 0; c < how->n && status == FUMI_OK; c++) {
    const int k0 = how->k0[c];
    status = fumi_coder_init(v->coder + c, kernel, K - k0, fumi_ccol(v->block.G, K, k0) + k0, K,
                             how->lambda[c], how->steps, how->nonneg, host);
  }
  return status;
}

static fumi_status next_worker(fumi_coding_worker *v, const fumi_coding_worker *of, int n,
                               const fumi_host *host) {
  fumi_status status = fumi_block_twin(&v->block, &of->block, host);
  for (int c = 0; c < n && status == FUMI_OK; c++)
    status = fumi_coder_twin(v->coder + c, of->coder + c, of->block.kernel, host);
  return status;
}

static fumi_status workers_init(coding_work *w, int n_threads, int K, const double *D,
                                const fumi_coding *how, const fumi_host *host) {
  const ptrdiff_t nb = fumi_block_size(w->x->d);
  w->worker = host->alloc(host->ctx, (size_t)n_threads, sizeof *w->worker);
  fumi_status status = w->worker ? FUMI_OK : FUMI_ENOMEM;
  for (int t = 0; t < n_threads && status == FUMI_OK; t++) {
    fumi_coding_worker *v = w->worker + t;
    status =
        t == 0 ? first_worker(v, w->x, K, D, how, host) : next_worker(v, w->worker, how->n, host);
    for (int c = 0; c < how->n; c++)
      v->coder[c].lasso.stop = &w->stop, v->coder[c].lasso.asks = t == 0;
    if (status == FUMI_OK && !(v->room = fumi_doubles(host, 2 * nb))) status = FUMI_ENOMEM;
  }
  return status;
}

static void run_task(void *ctx, int thread, int group, int j) {
  const coding_work *w = ctx;
  fumi_coding_worker *v = w->worker + thread;
  (void)group;
  fumi_block_project(&v->block, j * fumi_block_size(w->x->d), w->x->N, 0);
  w->task(w->ctx, v);
}

fumi_status fumi_code_blocks(const fumi_data *x, int K, const double *D, const fumi_coding *how,
                             fumi_coding_task *task, void *ctx, double *worst_gap,
                             const fumi_host *host) {
  const int n_blocks = fumi_n_blocks(x->d, x->N);
  const int n_threads = fumi_usable_threads(how->threads, n_blocks);
  coding_work w = {.x = x, .task = task, .ctx = ctx, .stop = {.host = host}};
  const fumi_host asked = fumi_stop_host(&w.stop);
  fumi_status status = workers_init(&w, n_threads, K, D, how, host);
  if (status != FUMI_OK) return status;
  status = fumi_each_block(x->d, n_blocks, n_threads, fumi_coder_work(w.worker->coder, x->d),
                           run_task, &w, &asked);
  *worst_gap = 0;
  for (int t = 0; t < n_threads; t++)
    for (int c = 0; c < how->n; c++) *worst_gap = fmax(*worst_gap, w.worker[t].coder[c].worst_gap);
  return status;
}

static void code_task(void *ctx, fumi_coding_worker *v) {
  fumi_coder_run(v->coder, &v->block, 0);
  fumi_block_store(&v->block, ctx);
}

fumi_status fumi_code(const fumi_data *x, int K, const double *D, double lambda, int steps,
                      int nonneg, int simd, int threads, double *A, double *worst_gap,
                      const fumi_host *host) {
  const fumi_coding how = {.n = 1,
                           .lambda = {lambda},
                           .steps = steps,
                           .nonneg = nonneg,
                           .simd = simd,
                           .threads = threads};
  return fumi_code_blocks(x, K, D, &how, code_task, A, worst_gap, host);
}
