/* fuzz.h: one input of bytes chooses an entry of the core, sizes and values, and
 * checks its promises: it ends, it touches only its own memory, and its numbers are finite. */
#ifndef FUMI_FUZZ_H
#define FUMI_FUZZ_H

#include "problem.h"

#define HOLDS(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      abort();                                                             \
    }                                                                      \
  } while (0)

/* ---- bytes to numbers ---------------------------------------------------------------- */

typedef struct {
  const unsigned char *at, *end;
} bytes;

/* Zeros once they are used up. */
static unsigned next_byte(bytes *b) { return b->at < b->end ? *b->at++ : 0; }

static int between(bytes *b, int low, int high) {
  return low + (int)(next_byte(b) % (unsigned)(high - low + 1));
}

static double any_bits(bytes *b) {
  unsigned char raw[8];
  double v;
  for (int i = 0; i < 8; i++) raw[i] = (unsigned char)next_byte(b);
  memcpy(&v, raw, 8);
  return isfinite(v) && fabs(v) < 1e100 ? v : 1;
}

/* A finite double below 1e100, as R lets through. Most are ordinary. */
static double value(bytes *b) {
  const unsigned kind = next_byte(b);
  if (kind < 200) return (kind - 100.) / 64;
  switch (kind % 8) {
    case 0: return 0;
    case 1: return 1e100 * ((kind & 8) ? -1 : 1);
    case 2: return 5e-324;
    case 3: return -1e-310;
    case 4: return 1e-160;
    case 5: return 1e50;
    case 6: return -1;
    default: return any_bits(b);
  }
}

static double *values(bytes *b, ptrdiff_t n) {
  double *v = doubles(n);
  for (ptrdiff_t i = 0; i < n; i++) v[i] = value(b);
  return v;
}

/* Unit columns, some of them the same. */
static double *atoms(bytes *b, int d, int K) {
  double *D = values(b, (ptrdiff_t)d * K);
  for (int k = 0; k < K; k++) {
    double *dk = fumi_col(D, d, k), largest = 0;
    for (int r = 0; r < d; r++) largest = fmax(largest, fabs(dk[r]));
    for (int r = 0; r < d; r++) dk[r] = largest > 0 ? dk[r] / largest : r == k % d;
  }
  unit_columns(d, K, D);
  return D;
}

static fumi_data data(bytes *b, int least_pos, int least_neg) {
  const int d = between(b, 1, 12), N_pos = between(b, least_pos, 14), unit = between(b, 0, 1);
  const int N = N_pos + between(b, least_neg, 14);
  double *X = values(b, (ptrdiff_t)d * N), *scale = filled(N, 1);
  if (unit) fumi_unit_scale(d, N, X, scale);
  HOLDS(all_finite(scale, N));
  return (fumi_data){d, N, N_pos, X, scale, NULL};
}

static double *weights(bytes *b, int n) {
  double *w = values(b, n);
  for (int i = 0; i < n; i++) w[i] = fabs(w[i]) + 1e-3;
  return w;
}

static double *priors(bytes *b, int n) {
  double *prior = doubles(n);
  for (int i = 0; i < n; i++) prior[i] = between(b, 0, 4) / 4.0;
  return prior;
}

/* Numbers of bags from 0, each with an instance; fewer than n instances make fewer bags. */
static int *bag_numbers(bytes *b, int N, int *n_bags) {
  int *bag = arena_take((size_t)N, sizeof(int));
  *n_bags = between(b, 1, N < 6 ? N : 6);
  for (int i = 0; i < N; i++) bag[i] = i < *n_bags ? i : between(b, 0, *n_bags - 1);
  return bag;
}

static int *labels(bytes *b, int n) {
  int *label = arena_take((size_t)n, sizeof(int));
  for (int j = 0; j < n; j++) label[j] = between(b, 0, 1);
  return label;
}

/* ---- entries --------------------------------------------------------------------------- */

static int ended(fumi_status status) {
  return status == FUMI_OK || status == FUMI_CONVERGED || status == FUMI_MAXIT;
}

/* No memory and a stop come from the host, which the bytes may make fail. */
static int excused(fumi_status status, const recorder *r) {
  return (status == FUMI_ENOMEM && r->fail_at && r->allocations >= r->fail_at) ||
         (status == FUMI_STOPPED && r->stop_at && r->polls >= r->stop_at) ||
         status == FUMI_ENONFINITE || status == FUMI_ESINGULAR;
}

static void fuzz_fit(bytes *b, const fumi_host *host, const recorder *r) {
  const fumi_data x = data(b, 1, 1);
  dlfumi_param par = default_param(between(b, 1, 3), between(b, 1, 4));
  par.variant = (dlfumi_variant)between(b, DLFUMI_PAPER, DLFUMI_EXACT);
  par.solver = par.variant == DLFUMI_EXACT ? (dlfumi_solver)between(b, 0, 1) : DLFUMI_ISTA;
  par.dead = (dlfumi_dead)between(b, DLFUMI_RESAMPLE, DLFUMI_DROP);
  par.lambda = fabs(value(b)), par.beta = fabs(value(b)) + 1e-3, par.gamma = fabs(value(b));
  par.psi = fabs(value(b)) + 1e-3, par.simd = between(b, 0, 1);
  double *D = atoms(b, x.d, par.K), *A = values(b, (ptrdiff_t)par.K * x.N);
  par.nonneg_codes = between(b, 0, 1), par.nonneg_atoms = between(b, 0, 1);
  for (ptrdiff_t j = 0; j < (ptrdiff_t)par.K * x.N && par.nonneg_codes; j++) A[j] = fabs(A[j]);
  for (ptrdiff_t j = 0; j < (ptrdiff_t)par.K * x.d && par.nonneg_atoms; j++) D[j] = fabs(D[j]);
  if (between(b, 0, 1)) par.weight = weights(b, x.N), par.prior = priors(b, x.N_pos);
  dlfumi_state s = start_state(&x, &par, D, A);
  const fumi_status status = dlfumi_fit(&x, &par, &s, host);
  HOLDS(ended(status) || excused(status, r));
  HOLDS(s.n_iter >= 0 && s.n_iter <= par.max_iter);
  if (!ended(status)) return;
  HOLDS(all_finite(s.D, (ptrdiff_t)x.d * par.K) && all_finite(s.A, (ptrdiff_t)par.K * x.N));
  HOLDS(!par.nonneg_codes || none_negative(s.A, (ptrdiff_t)par.K * x.N));
  HOLDS(!par.nonneg_atoms || none_negative(s.D, (ptrdiff_t)x.d * par.K));
  HOLDS(all_finite(s.trace, (ptrdiff_t)DLFUMI_TERMS * s.n_iter));
  for (int i = 0; i < x.N_pos; i++) HOLDS(s.p[i] >= 0 && s.p[i] <= 1);
}

static void fuzz_code(bytes *b, const fumi_host *host, const recorder *r) {
  const fumi_data x = data(b, 0, 1);
  const int K = between(b, 1, 8), nonneg = between(b, 0, 1), simd = between(b, 0, 1);
  double *A = doubles((ptrdiff_t)K * x.N), gap = 0;
  const fumi_status status = fumi_code(&x, K, atoms(b, x.d, K), fabs(value(b)), between(b, 0, 5),
                                       nonneg, simd, 1, A, &gap, host);
  HOLDS(status == FUMI_OK || excused(status, r));
  if (status != FUMI_OK) return;
  HOLDS(all_finite(A, (ptrdiff_t)K * x.N) && isfinite(gap));
  HOLDS(!nonneg || none_negative(A, (ptrdiff_t)K * x.N));
}

static void fuzz_confidence(bytes *b, const fumi_host *host, const recorder *r) {
  const fumi_data x = data(b, 0, 1);
  const int T = between(b, 1, 3), K = T + between(b, 1, 4);
  double *confidence = doubles(x.N), *r_bg = doubles(x.N);
  const double lambda = fabs(value(b));
  const fumi_status status = dlfumi_confidence(&x, T, K, atoms(b, x.d, K), lambda, lambda,
                                               between(b, 0, 1), between(b, 0, 5), between(b, 0, 1),
                                               between(b, 0, 1), 1, confidence, r_bg, host);
  HOLDS(status == FUMI_OK || excused(status, r));
  if (status != FUMI_OK) return;
  for (int i = 0; i < x.N; i++) HOLDS(!(confidence[i] < 0) && !(r_bg[i] < 0));
}

static void fuzz_start(bytes *b, const fumi_host *host, const recorder *r) {
  const fumi_data x = data(b, 1, 1);
  const int T = between(b, 1, 3), K = T + between(b, 1, 4);
  double *A = doubles((ptrdiff_t)K * x.N);
  const fumi_status status =
      dlfumi_start_codes(&x, T, K, atoms(b, x.d, K), between(b, 0, 1), 1, A, host);
  HOLDS(status == FUMI_OK || excused(status, r));
  if (status == FUMI_OK) HOLDS(all_finite(A, (ptrdiff_t)K * x.N));
}

static void fuzz_kmeans(bytes *b, const fumi_host *host, const recorder *r) {
  const fumi_data x = data(b, 0, 1);
  const int M = between(b, 1, 6);
  double *C = doubles((ptrdiff_t)x.d * M), u[6];
  int n_distinct = -1;
  for (int k = 0; k < M; k++) u[k] = next_byte(b) / 256.;
  const fumi_status status =
      fumi_kmeans(&x, M, u, between(b, 0, 8), between(b, 0, 1), 1, C, &n_distinct, host);
  HOLDS(status == FUMI_OK || excused(status, r));
  if (status != FUMI_OK) return;
  HOLDS(n_distinct >= 1 && n_distinct <= M);
  HOLDS(all_finite(C, (ptrdiff_t)x.d * n_distinct));
}

static void fuzz_dd(bytes *b, const fumi_host *host, const recorder *r) {
  dd_problem p = {.x = data(b, 0, 1)};
  p.bag = bag_numbers(b, p.x.N, &p.n_bags);
  p.label = labels(b, p.n_bags);
  p.model = (dd_model)between(b, 0, 1);
  p.scale = (dd_scale)between(b, 0, 2);
  p.unit = values(b, p.x.d);
  const int n = dd_n_theta(&p);
  double F = NAN, *gradient = doubles(n), *q = doubles(p.x.N);
  int *best = arena_take((size_t)p.n_bags, sizeof(int));
  const double *theta = values(b, n);
  const fumi_status status = dd_objective(&p, theta, &F, gradient, host);
  HOLDS(status == FUMI_OK || excused(status, r));
  if (status == FUMI_OK) HOLDS(isfinite(F));
  dd_quadratic(&p.x, theta, p.unit, q);
  dd_select(p.x.N, q, p.bag, p.n_bags, best);
  for (int j = 0; j < p.n_bags; j++) HOLDS(best[j] >= 0 && p.bag[best[j]] == j);
}

static void fuzz_dmil(bytes *b, const fumi_host *host, const recorder *r) {
  const fumi_data x = data(b, 0, 1);
  const int K = between(b, 1, 5);
  dmil_bags bags = {0, bag_numbers(b, x.N, &bags.n), NULL};
  bags.positive = labels(b, bags.n);
  const dmil_param par = {.pool = (dmil_pool)between(b, 0, 1),
                          .K = K,
                          .max_iter = 3,
                          .simd = between(b, 0, 1),
                          .exponent = fabs(value(b)) + 1e-3,
                          .beta = fabs(value(b)) + 1e-3,
                          .lambda = fabs(value(b)),
                          .tol = 1e-5};
  double *D = atoms(b, x.d, K), *A = doubles((ptrdiff_t)K * x.N), *e = doubles(x.N);
  dmil_state s = {.D = copied(D, (ptrdiff_t)x.d * K),
                  .trace = doubles(DMIL_TERMS * 4),
                  .n_dead = arena_take((size_t)K, sizeof(int))};
  memset(s.n_dead, 0, sizeof(int) * (size_t)K);
  fumi_status status = dmil_fit(&x, &bags, &par, &s, host);
  HOLDS(ended(status) || excused(status, r));
  if (!ended(status)) return;
  HOLDS(all_finite(s.D, (ptrdiff_t)x.d * K) && all_finite(s.trace, DMIL_TERMS * (1 + s.n_iter)));
  status = dmil_code(&x, K, s.D, NULL, NULL, par.lambda, par.simd, A, e, host);
  HOLDS(status == FUMI_OK || excused(status, r));
  if (status != FUMI_OK) return;
  HOLDS(all_finite(A, (ptrdiff_t)K * x.N));
  for (int i = 0; i < x.N; i++) HOLDS(e[i] >= 0);
}

static void fuzz_efumi(bytes *b, const fumi_host *host, const recorder *r) {
  const int d = between(b, 1, 8), K = between(b, 1, 6), N = between(b, 1, 8);
  const int T = between(b, 0, K);
  double *G = gram_of(d, K, values(b, (ptrdiff_t)d * K), K), *A = doubles((ptrdiff_t)K * N);
  double *p = doubles(N), *C = values(b, (ptrdiff_t)K * N);
  for (int i = 0; i < N; i++) p[i] = next_byte(b) / 255.;
  if (!all_finite(G, (ptrdiff_t)K * K)) return;
  const fumi_status status = efumi_unmix(K, N, T, G, p, C, A, host);
  HOLDS(status == FUMI_OK || excused(status, r));
  if (status != FUMI_OK) return;
  for (int i = 0; i < N; i++) {
    double sum = 0;
    for (int k = 0; k < K; k++) {
      HOLDS(A[k + (ptrdiff_t)K * i] >= 0);
      sum += A[k + (ptrdiff_t)K * i];
    }
    HOLDS(fabs(sum - 1) < 1e-9);
  }
}

typedef void fuzz_entry(bytes *b, const fumi_host *host, const recorder *r);

static fuzz_entry *const FUZZED[] = {fuzz_fit,    fuzz_code, fuzz_confidence, fuzz_start,
                                     fuzz_kmeans, fuzz_dd,   fuzz_dmil,       fuzz_efumi};
enum { N_FUZZED = sizeof FUZZED / sizeof *FUZZED };

int LLVMFuzzerTestOneInput(const unsigned char *input, size_t n);

int LLVMFuzzerTestOneInput(const unsigned char *input, size_t n) {
  bytes b = {input, input + n};
  const unsigned entry_number = next_byte(&b), host_kind = next_byte(&b);
  /* one host in four has no memory at some place, one in four stops */
  recorder r = {.fail_at = host_kind % 4 == 1 ? 1 + (int)host_kind / 4 : 0,
                .stop_at = host_kind % 4 == 2 ? 1 + (int)host_kind / 4 : 0};
  const fumi_host host = {recorder_alloc, recorder_poll, NULL, &r};
  FUZZED[entry_number % N_FUZZED](&b, &host, &r);
  arena_release();
  return 0;
}

#endif
