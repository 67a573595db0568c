/* core_kmeans.c: k-means for the start of the background atoms: k-means++ seeds
 * from uniform draws that the host made, then Lloyd's iterations. Distances and
 * sums are those of blocks of instances, which run on threads. */
#include "core.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

/* What the blocks of a group add up to. */
typedef struct {
  double *sums, inertia; /* of the instances of each cluster (d x M), and of squared distances */
  int *count;
} kmeans_sums;

typedef struct {
  const fumi_data *x;
  fumi_block block[FUMI_GROUPS];  /* of each thread */
  kmeans_sums group[FUMI_GROUPS]; /* the first one holds the total in the end */
  int M, seeds, n_blocks, n_threads;
  double *C, *half_norm2; /* centres, .5 ||c||^2 */
  double *distance2;      /* of each instance to its nearest centre */
  const fumi_host *host;
} kmeans_work;

static fumi_status work_init(kmeans_work *w, const fumi_kernel *kernel) {
  const fumi_host *host = w->host;
  const int d = w->x->d, M = w->M;
  w->n_blocks = fumi_n_blocks(d, w->x->N);
  w->n_threads = fumi_usable_threads(w->n_threads, w->n_blocks);
  w->half_norm2 = fumi_doubles(host, M);
  w->distance2 = fumi_doubles(host, w->x->N);
  if (!w->half_norm2 || !w->distance2) return FUMI_ENOMEM;
  fumi_status status = fumi_block_init(w->block, w->x, kernel, M, host);
  for (int t = 1; t < w->n_threads && status == FUMI_OK; t++)
    status = fumi_block_twin(w->block + t, w->block, host);
  for (int t = 0; t < w->n_threads; t++) w->block[t].D = w->C;
  for (int g = 0; g < fumi_groups(w->n_blocks) && status == FUMI_OK; g++) {
    w->group[g].sums = fumi_doubles(host, (ptrdiff_t)d * M);
    w->group[g].count = host->alloc(host->ctx, (size_t)M, sizeof(int));
    if (!w->group[g].sums || !w->group[g].count) status = FUMI_ENOMEM;
  }
  return status;
}

static fumi_status each_block(kmeans_work *w, double centres, fumi_block_task *task) {
  const double work = fumi_block_size(w->x->d) * (3 * centres * w->x->d);
  return fumi_each_block(w->x->d, w->n_blocks, w->n_threads, work, task, w, w->host);
}

/* ---- seeds ---------------------------------------------------------------------- */

static void set_centre(kmeans_work *w, int k, int i) {
  const double *x = fumi_ccol(w->x->X, w->x->d, i), scale = w->x->scale[i];
  double *c = fumi_col(w->C, w->x->d, k);
  for (int r = 0; r < w->x->d; r++) c[r] = scale * x[r];
}

/* distance2 := min(distance2, ||x - c||^2), c the last seed; equal but for rounding is 0 */
static void nearer_task(void *ctx, int thread, int group, int j) {
  kmeans_work *w = ctx;
  const int nb = fumi_block_size(w->x->d), first = j * nb,
            n = w->x->N - first < nb ? w->x->N - first : nb;
  double r[FUMI_MAX_BLOCK];
  (void)group;
  fumi_block_distance(w->block + thread, first, n, fumi_ccol(w->C, w->x->d, w->seeds - 1), r);
  for (int i = 0; i < n; i++) {
    const double rounding = DBL_EPSILON * DBL_EPSILON * w->block->norm2[first + i];
    w->distance2[first + i] = fmin(w->distance2[first + i], r[i] > rounding ? r[i] : 0);
  }
}

/* The instance at the share u of the total squared distance, or -1 if that is 0. */
static int draw(const kmeans_work *w, double u) {
  double total = 0, sum = 0;
  int last = -1;
  for (int i = 0; i < w->x->N; i++) total += w->distance2[i];
  for (int i = 0; i < w->x->N; i++) {
    if (w->distance2[i] <= 0) continue;
    last = i;
    sum += w->distance2[i];
    if (sum > u * total) break;
  }
  return last;
}

/* w->seeds: how many there are, at most M */
static fumi_status seed(kmeans_work *w, const double *u) {
  for (int i = 0; i < w->x->N; i++) w->distance2[i] = HUGE_VAL;
  set_centre(w, 0, (int)(u[0] * w->x->N));
  for (w->seeds = 1; w->seeds < w->M; w->seeds++) {
    if (each_block(w, 1, nearer_task) != FUMI_OK) return FUMI_STOPPED;
    const int i = draw(w, u[w->seeds]);
    if (i < 0) break;
    set_centre(w, w->seeds, i);
  }
  return FUMI_OK;
}

/* ---- Lloyd's iterations ------------------------------------------------------------ */

static void clear_group(const kmeans_work *w, kmeans_sums *group) {
  memset(group->sums, 0, sizeof(double) * (size_t)w->x->d * (size_t)w->M);
  memset(group->count, 0, sizeof(int) * (size_t)w->M);
  group->inertia = 0;
}

/* The cluster of an instance: the largest c'x - .5 ||c||^2, which is put into *most. */
static int nearest(const kmeans_work *w, const double *lane, int lanes, double *most) {
  int best = 0;
  *most = -HUGE_VAL;
  for (int k = 0; k < w->M; k++) {
    const double s = lane[k * lanes] - w->half_norm2[k];
    if (s > *most) *most = s, best = k;
  }
  return best;
}

/* Assigns the instances of a block and adds them to the sums of its group. */
static void assign_task(void *ctx, int thread, int group, int j) {
  kmeans_work *w = ctx;
  fumi_block *b = w->block + thread;
  kmeans_sums *to = w->group + group;
  const int d = w->x->d, lanes = b->kernel->lanes, itself = 0;
  if (j == group) clear_group(w, to);
  fumi_block_project(b, j * fumi_block_size(d), w->x->N, 0);
  for (int i = 0; i < b->n; i++) {
    const int at = b->first + i;
    double most;
    const int best = nearest(w, b->B + fumi_at(lanes, w->M, 0, i), lanes, &most);
    const double minus_scale = -w->x->scale[at];
    double *sum = fumi_col(to->sums, d, best);
    b->kernel->correlate(d, 1, &itself, &minus_scale, fumi_ccol(w->x->X, d, at), d, sum,
                         sum); /* sum += scale x */
    to->count[best]++;
    w->distance2[at] = b->norm2[at] - 2 * most;
    to->inertia += w->distance2[at];
  }
}

/* Adds the groups to the first one, in order. */
static void add_groups(kmeans_work *w) {
  kmeans_sums *total = w->group;
  for (int g = 1; g < fumi_groups(w->n_blocks); g++) {
    for (int k = 0; k < w->M; k++) {
      la_add(w->x->d, fumi_ccol(w->group[g].sums, w->x->d, k), fumi_col(total->sums, w->x->d, k));
      total->count[k] += w->group[g].count[k];
    }
    total->inertia += w->group[g].inertia;
  }
}

/* An empty cluster takes the instance that is farthest from its own centre. */
static void fill_empty(kmeans_work *w, int k) {
  int far = 0;
  for (int i = 1; i < w->x->N; i++)
    if (w->distance2[i] > w->distance2[far]) far = i;
  set_centre(w, k, far);
  w->distance2[far] = 0;
}

static void move_centres(kmeans_work *w) {
  const int d = w->x->d;
  for (int k = 0; k < w->M; k++) {
    const int count = w->group->count[k];
    const double *sum = fumi_ccol(w->group->sums, d, k);
    double *c = fumi_col(w->C, d, k);
    if (count == 0) fill_empty(w, k);
    else
      for (int r = 0; r < d; r++) c[r] = sum[r] / count;
  }
}

static fumi_status lloyd(kmeans_work *w, int max_iter) {
  const double enough = 1e-4; /* relative fall of the inertia: a start, not an end */
  const int d = w->x->d;
  double before = HUGE_VAL;
  for (int it = 0; it < max_iter; it++) {
    for (int k = 0; k < w->M; k++)
      w->half_norm2[k] = .5 * la_dot(d, fumi_ccol(w->C, d, k), fumi_ccol(w->C, d, k));
    if (each_block(w, w->M, assign_task) != FUMI_OK) return FUMI_STOPPED;
    add_groups(w);
    move_centres(w);
    if (it > 0 && !(before - w->group->inertia > enough * before)) return FUMI_OK;
    before = w->group->inertia;
  }
  return FUMI_OK;
}

fumi_status fumi_kmeans(const fumi_data *x, int M, const double *u, int max_iter, int simd,
                        int threads, double *C, int *n_distinct, const fumi_host *host) {
  kmeans_work w = {.x = x, .M = M, .C = C, .n_threads = threads, .host = host};
  fumi_status status = work_init(&w, fumi_choose_kernel(simd));
  if (status == FUMI_OK) status = seed(&w, u);
  *n_distinct = w.seeds;
  return status != FUMI_OK || w.seeds < M ? status : lloyd(&w, max_iter);
}
