/* problem.h: what the tests share: memory that is poisoned and freed as a whole, a
 * host that fails or stops on demand, random numbers, and random problems. */
#ifndef FUMI_PROBLEM_H
#define FUMI_PROBLEM_H

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "minunit.h"

/* ---- memory ------------------------------------------------------------------------ */

/* One block per array, so that the address sanitizer has a red zone around each. A host
 * need not clear its memory: all bits set make every double a NaN. */
enum { ARENA_SIZE = 1 << 16 };
static void *arena[ARENA_SIZE];
static int arena_used = 0;

static inline void *arena_take(size_t n, size_t size) {
  void *block = arena_used < ARENA_SIZE ? malloc(n * size) : NULL;
  if (!block) abort();
  memset(block, 0xff, n * size);
  return arena[arena_used++] = block;
}

static inline void arena_release(void) {
  while (arena_used > 0) free(arena[--arena_used]);
}

static inline double *doubles(ptrdiff_t n) { return arena_take((size_t)n, sizeof(double)); }

static inline double *filled(ptrdiff_t n, double value) {
  double *v = doubles(n);
  for (ptrdiff_t i = 0; i < n; i++) v[i] = value;
  return v;
}

static inline double *copied(const double *from, ptrdiff_t n) {
  return memcpy(doubles(n), from, sizeof(double) * (size_t)n);
}

/* ---- the host ---------------------------------------------------------------------- */

/* Counts what the core asks for; allocation fail_at fails, poll stop_at and report
 * last say stop. */
typedef struct {
  int allocations, fail_at, polls, stop_at, reports, last;
  double last_objective;
} recorder;

static inline void *recorder_alloc(void *ctx, size_t n, size_t size) {
  recorder *r = ctx;
  return ++r->allocations == r->fail_at ? NULL : arena_take(n, size);
}

static inline int recorder_poll(void *ctx) {
  recorder *r = ctx;
  return ++r->polls == r->stop_at;
}

static inline int recorder_report(void *ctx, int it, double objective) {
  recorder *r = ctx;
  r->reports++;
  CHECK(it == r->reports);
  r->last_objective = objective;
  return it == r->last;
}

static inline fumi_host host_of(recorder *r) {
  return (fumi_host){recorder_alloc, recorder_poll, recorder_report, r};
}

/* ---- random numbers ---------------------------------------------------------------- */

static unsigned long long random_state = 1;

static inline double uniform(void) {
  random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(random_state >> 11) / 9007199254740992.0;
}

static inline double symmetric(void) { return 2 * uniform() - 1; }

static inline double *random_doubles(ptrdiff_t n) {
  double *v = doubles(n);
  for (ptrdiff_t i = 0; i < n; i++) v[i] = symmetric();
  return v;
}

/* ---- vectors ----------------------------------------------------------------------- */

static inline double dot(int n, const double *x, const double *y) {
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i] * y[i];
  return s;
}

static inline double norm(int n, const double *x) { return sqrt(dot(n, x, x)); }

static inline double soft(double t, double l) { return fabs(t) > l ? copysign(fabs(t) - l, t) : 0; }

/* the threshold of a code that must not be negative */
static inline double soft_positive(double t, double l) { return t > l ? t - l : 0; }

/* Infinite if a value is NaN, so that a check against a tolerance fails. */
static inline double worst_difference(const double *x, const double *y, ptrdiff_t n) {
  double worst = 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    const double e = fabs(x[i] - y[i]);
    if (!(e <= worst)) worst = isnan(e) ? HUGE_VAL : e;
  }
  return worst;
}

static inline int all_finite(const double *x, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return 0;
  return 1;
}

static inline int none_negative(const double *x, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++)
    if (!(x[i] >= 0)) return 0;
  return 1;
}

static inline void unit_columns(int d, int K, double *D) {
  for (int k = 0; k < K; k++) {
    double *atom = fumi_col(D, d, k);
    const double size = norm(d, atom);
    for (int r = 0; r < d; r++) atom[r] /= size;
  }
}

static inline double *random_atoms(int d, int K) {
  double *D = random_doubles((ptrdiff_t)d * K);
  unit_columns(d, K, D);
  return D;
}

/* D'D with leading dimension ldg */
static inline double *gram_of(int d, int K, const double *D, int ldg) {
  double *G = doubles((ptrdiff_t)ldg * K);
  for (int k = 0; k < K; k++)
    for (int j = 0; j < K; j++)
      G[j + (ptrdiff_t)ldg * k] = dot(d, fumi_ccol(D, d, j), fumi_ccol(D, d, k));
  return G;
}

/* ---- problems ---------------------------------------------------------------------- */

/* Random instances of norms about 1, each with a scale of its own: never unit norm. */
static inline fumi_data random_data(int d, int N_pos, int N_neg) {
  const int N = N_pos + N_neg;
  double *X = random_doubles((ptrdiff_t)d * N), *scale = doubles(N);
  for (int i = 0; i < N; i++) scale[i] = (.5 + uniform()) / (1 + norm(d, fumi_col(X, d, i)));
  return (fumi_data){d, N, N_pos, X, scale, NULL};
}

/* entry r of the instance i as the core sees it */
static inline double entry(const fumi_data *x, int r, int i) {
  return x->scale[i] * fumi_ccol(x->X, x->d, i)[r];
}

typedef struct {
  int d, T, M, N_pos, N_neg;
} shape;

typedef struct {
  fumi_data x;
  dlfumi_param par;
  dlfumi_state s;
} problem;

static inline dlfumi_param default_param(int T, int M) {
  return (dlfumi_param){.variant = DLFUMI_PAPER,
                        .solver = DLFUMI_ACTIVE,
                        .dead = DLFUMI_KEEP,
                        .T = T,
                        .M = M,
                        .K = T + M,
                        .inner = 5,
                        .max_iter = 3,
                        .simd = 1,
                        .lambda = .01,
                        .beta = 2,
                        .gamma = .1,
                        .psi = 1.5,
                        .gap = 1e-10};
}

/* A state around the given start, with room for the results of dlfumi_fit. */
static inline dlfumi_state start_state(const fumi_data *x, const dlfumi_param *par, const double *D,
                                       const double *A) {
  int *n_dead = arena_take((size_t)par->K, sizeof(int));
  memset(n_dead, 0, sizeof(int) * (size_t)par->K);
  return (dlfumi_state){.D = copied(D, (ptrdiff_t)x->d * par->K),
                        .A = copied(A, (ptrdiff_t)par->K * x->N),
                        .p = doubles(x->N_pos),
                        .trace = doubles((ptrdiff_t)DLFUMI_TERMS * par->max_iter),
                        .n_dead = n_dead};
}

/* Random data, atoms, codes and p; target codes of negative bags are 0, as always. */
static inline problem random_problem(shape z) {
  problem q = {.x = random_data(z.d, z.N_pos, z.N_neg), .par = default_param(z.T, z.M)};
  const int K = q.par.K;
  double *A = random_doubles((ptrdiff_t)K * q.x.N);
  for (int i = z.N_pos; i < q.x.N; i++)
    for (int t = 0; t < z.T; t++) A[t + (ptrdiff_t)K * i] = 0;
  q.s = start_state(&q.x, &q.par, random_atoms(z.d, K), A);
  for (int i = 0; i < z.N_pos; i++) q.s.p[i] = uniform();
  return q;
}

/* Such a problem on non-negative data with atoms and codes that must not be negative, weights, and
 * a prior with both ends of its range. */
static inline problem bounded_problem(shape z) {
  problem q = random_problem(z);
  double *X = doubles((ptrdiff_t)z.d * q.x.N), *weight = doubles(q.x.N), *prior = doubles(z.N_pos);
  for (int j = 0; j < z.d * q.x.N; j++) X[j] = fabs(q.x.X[j]);
  for (int j = 0; j < z.d * q.par.K; j++) q.s.D[j] = fabs(q.s.D[j]);
  for (int j = 0; j < q.par.K * q.x.N; j++) q.s.A[j] = fabs(q.s.A[j]);
  for (int i = 0; i < q.x.N; i++) weight[i] = .2 + uniform();
  for (int i = 0; i < z.N_pos; i++) prior[i] = i % 5 == 3 ? 0 : i % 5 == 4 ? 1 : uniform();
  q.x.X = X, q.par.weight = weight, q.par.prior = prior;
  q.par.nonneg_codes = q.par.nonneg_atoms = 1;
  return q;
}

#endif
