/* core_efumi.c: proportions of e-FUMI (Jiao and Zare 2015).
 *
 * The proportions of instance i minimise
 *
 *   .5 a'Qa - c'a,  a >= 0,  sum a = 1,
 *
 * where Q is the Gram matrix E'E of the endmembers with the rows and columns of the
 * targets times p_i = P(z_i = 1), and c holds E'x, weighted alike, less the penalty. A
 * primal active-set method: from the best single endmember, one more at a time. */
#include "core.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

typedef struct {
  int K, n;       /* endmembers; how many of them are in use */
  double *Q, *L;  /* K x K; the factor of Q among those in use */
  double *ab, *g; /* K x 2: Q^-1 [c 1] among those in use; the gradient */
  double *a, *z;  /* proportions; those that the endmembers in use ask for */
  int *used;
} simplex_work;

static fumi_status simplex_init(simplex_work *w, int K, const fumi_host *host) {
  *w = (simplex_work){.K = K};
  const fumi_array arrays[] = {{&w->Q, (ptrdiff_t)K * K},
                               {&w->L, (ptrdiff_t)K * K},
                               {&w->ab, 2 * (ptrdiff_t)K},
                               {&w->g, K},
                               {&w->a, K},
                               {&w->z, K}};
  w->used = fumi_ints(host, K);
  return w->used ? FUMI_TAKE(host, arrays) : FUMI_ENOMEM;
}

/* z = Q^-1 (c + nu 1) with sum z = 1, among the endmembers in use */
static int solve_equality(simplex_work *w, const double *c) {
  const int n = w->n;
  double sum_c = 0, sum_1 = 0;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++)
      fumi_col(w->L, n, j)[i] = fumi_ccol(w->Q, w->K, w->used[j])[w->used[i]];
    w->ab[j] = c[w->used[j]];
    w->ab[n + j] = 1;
  }
  if (la_cholesky(n, w->L) || la_cholesky_solve(n, 2, w->L, w->ab)) return 0;
  for (int j = 0; j < n; j++) sum_c += w->ab[j], sum_1 += w->ab[n + j];
  for (int j = 0; j < n; j++) w->z[j] = w->ab[j] + w->ab[n + j] * (1 - sum_c) / sum_1;
  return 1;
}

/* Goes from a towards z until an endmember is at 0, which is then put out of use. */
static void step_to_boundary(simplex_work *w) {
  double step = 1;
  int out = -1;
  for (int j = 0; j < w->n; j++) {
    const double a = w->a[w->used[j]];
    if (w->z[j] <= 0 && a <= step * (a - w->z[j])) step = a / (a - w->z[j]), out = j;
  }
  for (int j = 0; j < w->n; j++) w->a[w->used[j]] += step * (w->z[j] - w->a[w->used[j]]);
  w->a[w->used[out]] = 0;
  memmove(w->used + out, w->used + out + 1, sizeof(int) * (size_t)(--w->n - out));
}

static int all_positive(const simplex_work *w) {
  for (int j = 0; j < w->n; j++)
    if (w->z[j] <= 0) return 0;
  return 1;
}

/* The endmember along which the objective falls fastest, g_k - a'g, or -1 if along none
 * by more than rounding. */
static int next_endmember(simplex_work *w, const double *c) {
  double mean = 0, size = 0;
  int next = -1;
  la_gemv_n(w->K, w->K, 1, w->Q, w->K, w->a, 0, w->g);
  for (int k = 0; k < w->K; k++) size = fmax(size, fabs(w->g[k]) + fabs(c[k]));
  double least = -1e-13 * size;
  for (int k = 0; k < w->K; k++) w->g[k] -= c[k], mean += w->a[k] * w->g[k];
  for (int k = 0; k < w->K; k++)
    if (w->a[k] == 0 && w->g[k] - mean < least) least = w->g[k] - mean, next = k;
  return next;
}

/* the objective of one endmember alone */
static double alone(const simplex_work *w, const double *c, int k) {
  return .5 * fumi_ccol(w->Q, w->K, k)[k] - c[k];
}

static int best_single(const simplex_work *w, const double *c) {
  int best = 0;
  for (int k = 1; k < w->K; k++)
    if (alone(w, c, k) < alone(w, c, best)) best = k;
  return best;
}

static fumi_status simplex_solve(simplex_work *w, const double *c) {
  memset(w->a, 0, sizeof(double) * (size_t)w->K);
  w->used[0] = best_single(w, c);
  w->a[w->used[0]] = 1;
  w->n = 1;
  /* Each endmember enters a few times at most; the cap is against rounding only. */
  for (int round = 0; round < 10 * w->K; round++) {
    const int next = next_endmember(w, c);
    if (next < 0) break;
    w->used[w->n++] = next;
    if (!solve_equality(w, c)) return FUMI_ESINGULAR;
    if (w->z[w->n - 1] <= 0) break; /* the fall was rounding */
    while (!all_positive(w)) {
      step_to_boundary(w);
      if (!solve_equality(w, c)) return FUMI_ESINGULAR;
    }
    for (int j = 0; j < w->n; j++) w->a[w->used[j]] = w->z[j];
  }
  return FUMI_OK;
}

static void weighted_gram(simplex_work *w, int T, const double *G, double p, double ridge) {
  const int K = w->K;
  for (int l = 0; l < K; l++) {
    const double *g = fumi_ccol(G, K, l);
    double *q = fumi_col(w->Q, K, l);
    for (int k = 0; k < K; k++) q[k] = (k < T || l < T ? p : 1) * g[k];
    q[l] += ridge; /* endmembers may be collinear, p may be 0 */
  }
}

fumi_status efumi_unmix(int K, int N, int T, const double *G, const double *p, const double *C,
                        double *A, const fumi_host *host) {
  simplex_work w;
  if (simplex_init(&w, K, host) != FUMI_OK) return FUMI_ENOMEM;
  double largest = 0;
  for (int k = 0; k < K; k++) largest = fmax(largest, fumi_ccol(G, K, k)[k]);
  const double ridge = fmax(1e-10 * largest, 1e-300);
  for (int i = 0; i < N; i++) {
    const double *c = fumi_ccol(C, K, i);
    if (i % 64 == 0 && host->poll(host->ctx)) return FUMI_STOPPED;
    weighted_gram(&w, T, G, p[i], ridge);
    const fumi_status status = simplex_solve(&w, c);
    if (status != FUMI_OK) return status;
    double sum = 0;
    for (int k = 0; k < K; k++) sum += w.a[k];
    double *a = fumi_col(A, K, i);
    for (int k = 0; k < K; k++) a[k] = w.a[k] / sum;
  }
  return FUMI_OK;
}
