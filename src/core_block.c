/* core_block.c: a block of instances under one dictionary: D'x, codes in tiles, residuals; and
 * the threads that work off blocks. What runs on them calls neither the host (but for a poll by the
 * calling thread) nor BLAS. */
#include "core.h"

#include <float.h>
#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "core_linalg.h"

static fumi_status take_buffers(fumi_block *b, const fumi_host *host) {
  const int nb = fumi_block_size(b->x->d);
  b->B = fumi_doubles(host, (ptrdiff_t)nb * b->K);
  b->A = fumi_doubles(host, (ptrdiff_t)nb * b->K);
  b->W = fumi_doubles(host, (ptrdiff_t)nb * b->K);
  b->pack = fumi_doubles(host, (ptrdiff_t)(nb > b->K ? nb : b->K) * FUMI_MAX_LANES);
  b->norm = fumi_doubles(host, b->K);
  return b->B && b->A && b->W && b->pack && b->norm ? FUMI_OK : FUMI_ENOMEM;
}

/* The slow way only where the sum of squares is out of range. */
double fumi_norm(int d, const double *x) {
  const double sum = la_dot(d, x, x);
  return sum > 1e-200 && sum < 1e200 ? sqrt(sum) : la_nrm2(d, x);
}

/* The residuals of n instances on the one atom c, with the code 1 for each. */
void fumi_block_distance(const fumi_block *b, int first, int n, const double *c, double *r) {
  const fumi_data *x = b->x;
  const double *atom = c ? c : x->X;
  double one[FUMI_MAX_LANES];
  int all[FUMI_MAX_BLOCK];
  for (int l = 0; l < FUMI_MAX_LANES; l++) one[l] = 1;
  for (int i = 0; i < n; i++) all[i] = i;
  b->kernel->residual(x->d, n, all, c ? 1 : 0, fumi_ccol(x->X, x->d, first), x->scale + first, atom,
                      one, 0, r, b->pack);
}

/* The slow way only where a sum of squares is out of range. */
static void squared_norms(const fumi_block *b, double *norm2) {
  const fumi_data *x = b->x;
  const int nb = fumi_block_size(x->d);
  for (int j = 0; j < fumi_n_blocks(x->d, x->N); j++) {
    const int first = j * nb, n = x->N - first < nb ? x->N - first : nb;
    fumi_block_distance(b, first, n, NULL, norm2 + first);
    for (int i = first; i < first + n; i++) {
      if (norm2[i] > 1e-200 && norm2[i] < 1e200) continue;
      const double norm = x->scale[i] * fumi_norm(x->d, fumi_ccol(x->X, x->d, i));
      norm2[i] = norm * norm;
    }
  }
}

fumi_status fumi_squared_norms(const fumi_data *x, int simd, double *norm2, const fumi_host *host) {
  fumi_block b = {.x = x, .kernel = fumi_choose_kernel(simd), .K = 1};
  if (take_buffers(&b, host) != FUMI_OK) return FUMI_ENOMEM;
  squared_norms(&b, norm2);
  return FUMI_OK;
}

fumi_status fumi_block_init(fumi_block *b, const fumi_data *x, const fumi_kernel *kernel, int K,
                            const fumi_host *host) {
  *b = (fumi_block){.x = x, .kernel = kernel, .K = K, .norm2 = x->norm2};
  if (take_buffers(b, host) != FUMI_OK) return FUMI_ENOMEM;
  if (b->norm2) return FUMI_OK;
  double *norm2 = fumi_doubles(host, x->N);
  if (!norm2) return FUMI_ENOMEM;
  squared_norms(b, norm2);
  b->norm2 = norm2;
  return FUMI_OK;
}

fumi_status fumi_block_with_atoms(fumi_block *b, const fumi_data *x, const fumi_kernel *kernel,
                                  int K, const double *D, const fumi_host *host) {
  double *G = fumi_doubles(host, (ptrdiff_t)K * K);
  if (fumi_block_init(b, x, kernel, K, host) != FUMI_OK || !G) return FUMI_ENOMEM;
  kernel->inner(x->d, K, K, D, D, G, K);
  b->D = D, b->G = G;
  return FUMI_OK;
}

fumi_status fumi_block_twin(fumi_block *b, const fumi_block *of, const fumi_host *host) {
  *b = *of;
  return take_buffers(b, host);
}

/* A group for each 8 blocks, so that the sums of all groups stay small beside the instances. */
int fumi_groups(int n_blocks) {
  const int few = 8, groups = n_blocks / 8;
  if (n_blocks < few) return n_blocks;
  return groups < few ? few : groups < FUMI_GROUPS ? groups : FUMI_GROUPS;
}

#ifdef _OPENMP
static int allowed_threads(void) {
  const int most = omp_get_max_threads(), limit = omp_get_thread_limit();
  return most < limit ? most : limit;
}

static int this_thread(void) { return omp_get_thread_num(); }

/* Threads to ask for beyond those that work: one where these are as many as the processors, because
 * gcc's OpenMP lets threads that wait sleep at once only if there are more of them than processors,
 * and otherwise only after they have spun for some milliseconds. */
static int idle_threads(int used) { return used > 1 && used == omp_get_num_procs(); }
#else
static int allowed_threads(void) { return 1; }
static int this_thread(void) { return 0; }
#endif

int fumi_usable_threads(int threads, int n_blocks) {
  const int allowed = allowed_threads(), groups = fumi_groups(n_blocks);
  const int most = allowed < groups ? allowed : groups;
  return threads < 1 || most < 1 ? 1 : threads < most ? threads : most;
}

/* Blocks of each group between two polls: a tenth of a second on one thread, or less; few of each
 * where groups are many. */
static int blocks_between_polls(double work, int groups) {
  const double n = 4e9 / (work * groups);
  const int most = groups > 32 ? 4 : 128 / groups;
  return n < 1 ? 1 : n > most ? most : (int)n;
}

/* The blocks up to `end` that are still to do. A group is with one thread at a time. */
typedef struct {
  int groups, end, run;                      /* run: blocks that a thread takes at once */
  int next[FUMI_GROUPS], taken[FUMI_GROUPS]; /* by group: its next block; a thread is at it */
} block_queue;

/* Gives back the group `done` (-1: none) and takes the one with the most blocks left, or -1: those
 * that are left are with other threads, and there is nothing to wait for. */
static int take_group(block_queue *q, int done) {
  int most = -1;
#ifdef _OPENMP
#pragma omp critical(fumi_block_queue)
#endif
  {
    if (done >= 0) q->next[done] += q->run * q->groups, q->taken[done] = 0;
    for (int g = 0; g < q->groups; g++)
      if (!q->taken[g] && q->next[g] < q->end && (most < 0 || q->next[g] < q->next[most])) most = g;
    if (most >= 0) q->taken[most] = 1;
  }
  return most;
}

static void work_off(block_queue *q, fumi_block_task *task, void *ctx) {
  for (int g = take_group(q, -1); g >= 0; g = take_group(q, g)) {
    int j = q->next[g];
    for (int b = 0; b < q->run && j < q->end; b++, j += q->groups) task(ctx, this_thread(), g, j);
  }
}

static void work_off_on(int used, block_queue *q, fumi_block_task *task, void *ctx) {
#ifdef _OPENMP
#pragma omp parallel num_threads(used + idle_threads(used)) if (used > 1)
#endif
  if (this_thread() < used) work_off(q, task, ctx);
}

/* One thread takes group by group, so that the sums of a group stay in its cache; several take some
 * blocks of a group at once only where these are small beside its sums. */
fumi_status fumi_each_block(int d, int n_blocks, int threads, double work, fumi_block_task *task,
                            void *ctx, const fumi_host *host) {
  const int groups = fumi_groups(n_blocks), used = fumi_usable_threads(threads, n_blocks);
  const int in_group = n_blocks > 0 ? blocks_between_polls(work, groups) : 0;
  const int small = fumi_block_size(0) / fumi_block_size(d);
  for (int from = 0; from < n_blocks; from += groups * in_group) {
    block_queue q = {.groups = groups, .run = used > 1 ? small * small : in_group};
    q.end = n_blocks - from < groups * in_group ? n_blocks : from + groups * in_group;
    for (int g = 0; g < groups; g++) q.next[g] = from + g;
    work_off_on(used, &q, task, ctx);
    if (host && host->poll(host->ctx)) return FUMI_STOPPED;
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
  memset(b->B + (ptrdiff_t)(b->tiles - 1) * rows * lanes, 0,
         sizeof(double) * (size_t)(rows * lanes));
  b->kernel->project(x->d, b->n, rows, fumi_ccol(x->X, x->d, first), x->scale + first,
                     fumi_ccol(b->D, x->d, k0), b->B, rows);
}

fumi_status fumi_block_project_all(fumi_block *b, double *B, const fumi_host *host) {
  const int K = b->K, lanes = b->kernel->lanes;
  for (int i = 0; i < b->x->N; i += b->n) {
    if (host->poll(host->ctx)) return FUMI_STOPPED;
    fumi_block_project(b, i, b->x->N, 0);
    for (int m = 0; m < b->n; m++)
      for (int k = 0; k < K; k++) fumi_col(B, K, i + m)[k] = b->B[fumi_at(lanes, K, k, m)];
  }
  return FUMI_OK;
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

/* The Gram form ||x||^2 - 2a'b + a'Ga adds terms whose sizes sum up to
 * (||x|| + sum_k |a_k| ||d_k||)^2 at most. Where it is below this share of them, too many digits
 * have cancelled: there the residual is computed from the vector x - Da itself. */
static const double GRAM_RESIDUAL_FLOOR = 1e-4;

void fumi_block_residual(const fumi_block *b, int from, double *r) {
  const fumi_data *x = b->x;
  const int lanes = b->kernel->lanes, rows = b->K - b->k0, skip = from - b->k0, K = b->K - from;
  const double *G = fumi_ccol(b->G, b->K, from) + from;
  double size[FUMI_MAX_BLOCK];
  int cancelled[FUMI_MAX_BLOCK], n = 0;
  for (int k = 0; k < K; k++) b->norm[k] = sqrt(G[k + (ptrdiff_t)b->K * k]);
  for (int tile = 0; tile < b->tiles; tile++) {
    const ptrdiff_t at = ((ptrdiff_t)tile * rows + skip) * lanes;
    b->kernel->quadratic(K, G, b->K, b->norm, b->A + at, b->B + at, r + tile * lanes,
                         size + tile * lanes);
  }
  for (int i = 0; i < b->n; i++) {
    const double norm2 = b->norm2[b->first + i];
    r[i] += norm2;
    if (r[i] < GRAM_RESIDUAL_FLOOR * (norm2 + size[i] * size[i])) cancelled[n++] = i;
  }
  b->kernel->residual(x->d, n, cancelled, K, fumi_ccol(x->X, x->d, b->first), x->scale + b->first,
                      fumi_ccol(b->D, x->d, from), b->A + (ptrdiff_t)skip * lanes, rows, r,
                      b->pack);
}

/* One over the norm of each column; 0 for a column of zeros, or so small that its inverse
 * overflows. */
void fumi_unit_scale(int d, int N, const double *X, double *scale) {
  for (int i = 0; i < N; i++) {
    const double norm = fumi_norm(d, fumi_ccol(X, d, i));
    scale[i] = norm >= DBL_MIN ? 1 / norm : 0;
  }
}

void fumi_sum_columns(const fumi_data *x, int n, const int *which, double *sum) {
  memset(sum, 0, sizeof(double) * (size_t)x->d);
  for (int i = 0; i < n; i++) {
    const double *xi = fumi_ccol(x->X, x->d, which[i]), scale = x->scale[which[i]];
    for (int r = 0; r < x->d; r++) sum[r] += scale * xi[r];
  }
}

/* Along each cycle of the order, a column is taken out before another comes in. */
fumi_status fumi_arrange(int K, int N, const int *row, const double *sign, const int *order,
                         double *A, const fumi_host *host) {
  double *out = fumi_doubles(host, K), *in = fumi_doubles(host, K);
  char *done = host->alloc(host->ctx, (size_t)N + 1, 1);
  if (!out || !in || !done) return FUMI_ENOMEM;
  memset(done, 0, (size_t)N);
  for (int first = 0; first < N; first++) {
    memcpy(out, fumi_ccol(A, K, first), sizeof(double) * (size_t)K);
    int i = first;
    while (!done[i]) {
      double *to = fumi_col(A, K, order[i]);
      for (int k = 0; k < K; k++) in[k] = sign[k] * out[row[k]];
      memcpy(out, to, sizeof(double) * (size_t)K);
      memcpy(to, in, sizeof(double) * (size_t)K);
      done[i] = 1;
      i = order[i];
    }
  }
  return FUMI_OK;
}
