/* core_kmeans.c: k-means for the start of the background atoms: k-means++ seeds
 * from uniform draws that the host made, then Lloyd's iterations. */
#include "core.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

enum { POLL_EVERY = 1024 }; /* instances */

typedef struct {
  const fumi_data *x;
  fumi_block block;
  int M;
  double *C, *sums, *half_norm2; /* centres, next sums, .5 ||c||^2 */
  double *distance2;             /* of each instance to its nearest centre */
  int *count;
} kmeans_work;

static void set_centre(kmeans_work *w, int k, int i) {
  const double *x = fumi_ccol(w->x->X, w->x->d, i), scale = w->x->scale[i];
  double *c = fumi_col(w->C, w->x->d, k);
  for (int r = 0; r < w->x->d; r++) c[r] = scale * x[r];
}

/* ||scale x - c||^2, in four sums that do not wait for each other */
static double squared_distance(int d, double scale, const double *x, const double *c) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  int r = 0;
  for (; r + 4 <= d; r += 4) {
    const double e0 = scale * x[r] - c[r], e1 = scale * x[r + 1] - c[r + 1];
    const double e2 = scale * x[r + 2] - c[r + 2], e3 = scale * x[r + 3] - c[r + 3];
    s0 += e0 * e0, s1 += e1 * e1, s2 += e2 * e2, s3 += e3 * e3;
  }
  for (; r < d; r++) s0 += (scale * x[r] - c[r]) * (scale * x[r] - c[r]);
  return (s0 + s1) + (s2 + s3);
}

/* distance2 := min(distance2, ||x - c_k||^2) */
static fumi_status nearer(kmeans_work *w, int k, const fumi_host *host) {
  const fumi_data *x = w->x;
  const double *c = fumi_ccol(w->C, x->d, k);
  for (int i = 0; i < x->N; i++) {
    if (i % POLL_EVERY == 0 && host->poll(host->ctx)) return FUMI_STOPPED;
    const double s = squared_distance(x->d, x->scale[i], fumi_ccol(x->X, x->d, i), c);
    if (s < w->distance2[i]) w->distance2[i] = s;
  }
  return FUMI_OK;
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

/* n_distinct: how many seeds there are, at most M */
static fumi_status seed(kmeans_work *w, const double *u, int *n_distinct, const fumi_host *host) {
  for (int i = 0; i < w->x->N; i++) w->distance2[i] = HUGE_VAL;
  set_centre(w, 0, (int)(u[0] * w->x->N));
  for (*n_distinct = 1; *n_distinct < w->M; ++*n_distinct) {
    if (nearer(w, *n_distinct - 1, host) != FUMI_OK) return FUMI_STOPPED;
    const int i = draw(w, u[*n_distinct]);
    if (i < 0) break;
    set_centre(w, *n_distinct, i);
  }
  return FUMI_OK;
}

/* Assigns one block and adds it to the sums. */
static double assign_block(kmeans_work *w) {
  fumi_block *b = &w->block;
  const int d = w->x->d, lanes = b->kernel->lanes, itself = 0;
  double inertia = 0;
  for (int i = 0; i < b->n; i++) {
    const double *lane = b->B + fumi_at(lanes, w->M, 0, i);
    int best = 0;
    double most = -HUGE_VAL;
    for (int k = 0; k < w->M; k++) {
      const double s = lane[k * lanes] - w->half_norm2[k];
      if (s > most) most = s, best = k;
    }
    const int at = b->first + i;
    const double minus_scale = -w->x->scale[at];
    double *sum = fumi_col(w->sums, d, best);
    b->kernel->correlate(d, 1, &itself, &minus_scale, fumi_ccol(w->x->X, d, at), d, sum, sum); /* sum += scale x */
    w->count[best]++;
    w->distance2[at] = b->norm2[at] - 2 * most;
    inertia += w->distance2[at];
  }
  return inertia;
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
    if (w->count[k] == 0) {
      fill_empty(w, k);
      continue;
    }
    const double *sum = fumi_ccol(w->sums, d, k);
    double *c = fumi_col(w->C, d, k);
    for (int r = 0; r < d; r++) c[r] = sum[r] / w->count[k];
  }
}

static fumi_status lloyd(kmeans_work *w, int max_iter, const fumi_host *host) {
  const double enough = 1e-4; /* relative fall of the inertia: a start, not an end */
  const int d = w->x->d, N = w->x->N;
  double before = HUGE_VAL;
  for (int it = 0; it < max_iter; it++) {
    double inertia = 0;
    memset(w->sums, 0, sizeof(double) * (size_t)d * (size_t)w->M);
    memset(w->count, 0, sizeof(int) * (size_t)w->M);
    for (int k = 0; k < w->M; k++)
      w->half_norm2[k] = .5 * la_dot(d, fumi_ccol(w->C, d, k), fumi_ccol(w->C, d, k));
    w->block.D = w->C;
    for (int i = 0; i < N; i += w->block.n) {
      fumi_block_project(&w->block, i, N, 0);
      inertia += assign_block(w);
      if (host->poll(host->ctx)) return FUMI_STOPPED;
    }
    move_centres(w);
    if (it > 0 && !(before - inertia > enough * before)) return FUMI_OK;
    before = inertia;
  }
  return FUMI_OK;
}

fumi_status fumi_kmeans(const fumi_data *x, int M, const double *u, int max_iter, int simd,
                        double *C, int *n_distinct, const fumi_host *host) {
  kmeans_work w = {.x = x, .M = M, .C = C};
  fumi_status status = fumi_block_init(&w.block, x, fumi_choose_kernel(simd), M, host);
  w.sums = fumi_doubles(host, (ptrdiff_t)x->d * M);
  w.half_norm2 = fumi_doubles(host, M);
  w.distance2 = fumi_doubles(host, x->N);
  w.count = host->alloc(host->ctx, (size_t)M, sizeof(int));
  if (status != FUMI_OK || !w.sums || !w.half_norm2 || !w.distance2 || !w.count)
    return FUMI_ENOMEM;
  status = seed(&w, u, n_distinct, host);
  return status != FUMI_OK || *n_distinct < M ? status : lloyd(&w, max_iter, host);
}
