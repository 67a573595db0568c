/* The kernels of each instruction set against plain loops over tiles. Buffers have
 * exactly the size that core.h promises, so that a kernel that reads or writes past
 * a tile meets a red zone. */
#include "problem.h"

static const fumi_kernel *kernel;

static int tiles_of(int n) { return (n + kernel->lanes - 1) / kernel->lanes; }
static int panels_of(int rows) {
  return (rows + kernel->panel - 1) / kernel->panel * kernel->panel;
}

/* Agreement relative to the sizes of the terms that were summed. */
static void check_sum(double actual, double expected, double size) {
  CHECK_NEAR(actual, expected, 1e-12 * size);
}

/* ---- products with X --------------------------------------------------------------- */

static void check_project(int d, int n, int K, int rows) {
  const double untouched = 42;
  const double *X = random_doubles((ptrdiff_t)d * n), *D = random_doubles((ptrdiff_t)d * K);
  const double *scale = random_doubles(n);
  double *B = filled((ptrdiff_t)tiles_of(n) * rows * kernel->lanes, untouched);
  kernel->project(d, n, K, X, scale, D, B, rows);
  for (int i = 0; i < tiles_of(n) * kernel->lanes; i++)
    for (int k = 0; k < rows; k++) {
      const double actual = B[fumi_at(kernel->lanes, rows, k, i)];
      if (i < n && k < K)
        check_sum(actual, scale[i] * dot(d, fumi_ccol(X, d, i), fumi_ccol(D, d, k)), d);
      else CHECK(actual == untouched);
    }
  arena_release();
}

static void test_project(void) {
  const int sizes[] = {1, 2, 3, 7, 511, 512, 513, 1030}, counts[] = {1, 2, 3, 4, 5, 7, 13, 26};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (int K = 1; K <= 7; K++) {
        check_project(sizes[s], counts[c], K, K);
        check_project(sizes[s], counts[c], K, K + 2);
      }
}

static void check_accumulate(int d, int n, int K, int rows) {
  const int ldu = fumi_padded(d), lanes = kernel->lanes;
  const double *X = random_doubles((ptrdiff_t)d * n);
  const double *W = random_doubles((ptrdiff_t)tiles_of(n) * rows * lanes);
  double *U = random_doubles((ptrdiff_t)ldu * K);
  const double *before = copied(U, (ptrdiff_t)ldu * K);
  kernel->accumulate(d, n, K, X, W, rows, U, ldu, doubles((ptrdiff_t)n * lanes));
  for (int k = 0; k < K; k++)
    for (int r = 0; r < ldu; r++) {
      double expected = fumi_ccol(before, ldu, k)[r];
      for (int i = 0; i < n && r < d; i++)
        expected += fumi_ccol(X, d, i)[r] * W[fumi_at(lanes, rows, k, i)];
      check_sum(fumi_ccol(U, ldu, k)[r], expected, n + 1);
    }
  arena_release();
}

static void test_accumulate(void) {
  const int sizes[] = {1, 3, 5, 6, 7, 11, 12, 13, 25, 40}, counts[] = {1, 2, 5, 12, 13, 25};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (int K = 1; K <= 7; K++) {
        check_accumulate(sizes[s], counts[c], K, K);
        check_accumulate(sizes[s], counts[c], K, K + 1);
      }
}

/* ---- products of codes ------------------------------------------------------------- */

static void check_gram(int tiles, int K, int rows) {
  const int lanes = kernel->lanes, lds = K + 2;
  const double *A = random_doubles((ptrdiff_t)tiles * rows * lanes);
  const double *W = random_doubles((ptrdiff_t)tiles * rows * lanes);
  double *S = random_doubles((ptrdiff_t)lds * K);
  const double *before = copied(S, (ptrdiff_t)lds * K);
  kernel->gram(tiles, K, A, W, rows, S, lds);
  for (int k = 0; k < K; k++)
    for (int j = 0; j < lds; j++) {
      double expected = before[j + lds * k];
      for (int i = 0; i < tiles * lanes && j < K; i++)
        expected += A[fumi_at(lanes, rows, j, i)] * W[fumi_at(lanes, rows, k, i)];
      check_sum(S[j + lds * k], expected, tiles * lanes + 1);
    }
  arena_release();
}

static void test_gram(void) {
  for (int tiles = 1; tiles <= 3; tiles++)
    for (int K = 1; K <= 9; K++) {
      check_gram(tiles, K, K);
      check_gram(tiles, K, K + 1);
    }
}

static void test_quadratic(void) {
  const int lanes = kernel->lanes;
  for (int K = 1; K <= 9; K++) {
    const int ldg = K + 1;
    const double *G = gram_of(6, K, random_atoms(6, K), ldg);
    const double *A = random_doubles(K * lanes), *B = random_doubles(K * lanes);
    const double *norm = random_doubles(K);
    double *r = doubles(lanes), *size = doubles(lanes);
    kernel->quadratic(K, G, ldg, norm, A, B, r, size);
    for (int i = 0; i < lanes; i++) {
      double expected = 0, expected_size = 0;
      for (int k = 0; k < K; k++) {
        const double a = A[fumi_at(lanes, K, k, i)];
        expected_size += norm[k] * fabs(a);
        expected -= 2 * a * B[fumi_at(lanes, K, k, i)];
        for (int j = 0; j < K; j++) expected += a * G[j + ldg * k] * A[fumi_at(lanes, K, j, i)];
      }
      check_sum(r[i], expected, K * (K + 2));
      check_sum(size[i], expected_size, K);
    }
    arena_release();
  }
}

/* Every third instance, or all; others keep what they had. */
static void check_residual(int d, int n, int K, int rows, int every) {
  const int lanes = kernel->lanes;
  const double *X = random_doubles((ptrdiff_t)d * n), *D = random_doubles((ptrdiff_t)d * K),
               *scale = random_doubles(n);
  const double *A = random_doubles((ptrdiff_t)tiles_of(n) * rows * lanes);
  double *r = filled(n, 42);
  int *which = arena_take((size_t)n, sizeof(int)), chosen = 0;
  for (int i = 0; i < n; i += every) which[chosen++] = i;
  kernel->residual(d, chosen, which, K, X, scale, D, A, rows, r, doubles((ptrdiff_t)K * lanes));
  for (int i = 0; i < n; i++) {
    double expected = 0;
    for (int l = 0; l < d; l++) {
      double e = scale[i] * fumi_ccol(X, d, i)[l];
      for (int k = 0; k < K; k++) e -= A[fumi_at(lanes, rows, k, i)] * fumi_ccol(D, d, k)[l];
      expected += e * e;
    }
    if (i % every == 0) check_sum(r[i], expected, d * (K + 1));
    else CHECK(r[i] == 42);
  }
  arena_release();
}

static void test_residual(void) {
  const int sizes[] = {1, 2, 5, 6, 7, 12, 13, 24, 25, 50}, counts[] = {1, 2, 3, 4, 5, 13, 26};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (int K = 1; K <= 5; K += 2)
        for (int every = 1; every <= 3; every += 2)
          check_residual(sizes[s], counts[c], K, K + 2, every);
}

/* ---- one instance ------------------------------------------------------------------ */

static void check_inner(int d, int m, int n) {
  const int ldc = m + 1;
  const double *A = random_doubles(d * m), *B = random_doubles(d * n);
  double *C = doubles(ldc * n);
  for (int l = 0; l < ldc * n; l++) C[l] = 9;
  kernel->inner(d, m, n, A, B, C, ldc);
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < m; i++) check_sum(C[i + ldc * k], dot(d, A + d * i, B + d * k), d);
    CHECK(C[m + ldc * k] == 9);
  }
  arena_release();
}

static void test_inner(void) {
  for (int d = 1; d <= 9; d++)
    for (int m = 1; m <= 9; m++)
      for (int n = 1; n <= 7; n++) check_inner(d, m, n);
  check_inner(300, 5, 4);
}

static void test_correlate(void) {
  for (int K = 1; K <= 40; K++)
    for (int n = 0; n <= 3 && n <= K; n++) {
      const int ldg = K + 1;
      const double *G = random_doubles(ldg * K), *b = random_doubles(K), *v = random_doubles(n + 1);
      int active[3];
      double *q = doubles(K);
      for (int i = 0; i < n; i++) active[i] = (7 * i + K / 2) % K;
      kernel->correlate(K, n, active, v, G, ldg, b, q);
      for (int k = 0; k < K; k++) {
        double expected = b[k];
        for (int i = 0; i < n; i++) expected -= v[i] * G[k + ldg * active[i]];
        check_sum(q[k], expected, n + 1);
      }
      arena_release();
    }
}

static void test_peak(void) {
  for (int K = 1; K <= 20; K++)
    for (int at = 0; at < K; at++) {
      double *q = random_doubles(K);
      q[at] = at % 2 ? -2.5 : 2.5;
      CHECK(kernel->peak(K, q) == 2.5);
      arena_release();
    }
}

/* ---- ISTA -------------------------------------------------------------------------- */

static const double LAMBDA = .02;

/* A step length that makes the iteration contract: the trace bounds the eigenvalues. */
static double step_length(int K, const double *G) {
  double trace = 0;
  for (int k = 0; k < K; k++) trace += G[k + K * k];
  return 1 / trace;
}

/* (10)-(12) for one instance; T = 0 or p = 1 is (13) */
static void naive_ista(int T, int K, const double *G, double eta, const double *b, double p,
                       int nonneg, double *a) {
  double next[16];
  for (int k = 0; k < K; k++) {
    const double weight = k < T ? p : 1;
    double gradient = weight * b[k];
    for (int j = 0; j < K; j++) gradient -= (k < T || j < T ? p : 1) * G[k + K * j] * a[j];
    const double t = a[k] + eta * gradient, l = weight * LAMBDA;
    next[k] = nonneg ? soft_positive(t, l) : soft(t, l);
  }
  memcpy(a, next, sizeof(double) * (size_t)K);
}

static void lane_of(int K, const double *tile, int i, double *a) {
  for (int k = 0; k < K; k++) a[k] = tile[fumi_at(kernel->lanes, K, k, i)];
}

static void make_nonneg(ptrdiff_t n, double *x) {
  for (ptrdiff_t i = 0; i < n; i++) x[i] = fabs(x[i]);
}

static void check_ista(int K, int steps, int nonneg) {
  const int lanes = kernel->lanes;
  const double threshold[] = {LAMBDA, fumi_below(LAMBDA, nonneg)};
  const double *G = gram_of(5, K, random_atoms(5, K), K), eta = step_length(K, G);
  const double *B = random_doubles(K * lanes);
  double *A = random_doubles(K * lanes), *C = doubles(K * K),
         *H = doubles(fumi_panel_size(kernel, K, K));
  if (nonneg) make_nonneg(K * lanes, A);
  const double *before = copied(A, K * lanes);
  for (int j = 0; j < K * K; j++) C[j] = (j % K == j / K) - eta * G[j];
  fumi_panel(kernel, K, K, C, K, H);
  kernel->ista(K, steps, H, eta, B, threshold, A, doubles(2 * K * lanes));
  for (int i = 0; i < lanes; i++) {
    double a[16], b[16], actual[16];
    lane_of(K, before, i, a);
    lane_of(K, B, i, b);
    lane_of(K, A, i, actual);
    for (int q = 0; q < steps; q++) naive_ista(0, K, G, eta, b, 1, nonneg, a);
    for (int k = 0; k < K; k++) check_sum(actual[k], a[k], 1);
  }
  arena_release();
}

static void test_ista(void) {
  const int steps[] = {0, 1, 2, 7};
  for (int K = 1; K <= 9; K++)
    for (int s = 0; s < 4; s++)
      for (int nonneg = 0; nonneg <= 1; nonneg++) check_ista(K, steps[s], nonneg);
}

/* The coefficients of the background rows, columns in the order of the atoms. */
static double *background_panels(int T, int M, const double *G, double eta) {
  const int K = T + M;
  double *C = doubles(M * K), *H = doubles(fumi_panel_size(kernel, M, K));
  for (int k = 0; k < M; k++)
    for (int j = 0; j < K; j++) C[k + M * j] = (T + k == j) - eta * G[T + k + K * j];
  fumi_panel(kernel, M, K, C, M, H);
  return H;
}

/* Those of the target rows, without the identity, columns in the order background, target. */
static double *target_panels(int T, int M, const double *G, double eta) {
  const int K = T + M;
  double *C = doubles(T * K), *H = doubles(fumi_panel_size(kernel, T, K));
  for (int t = 0; t < T; t++)
    for (int j = 0; j < K; j++) C[t + T * j] = -eta * G[t + K * (j < M ? T + j : j - M)];
  fumi_panel(kernel, T, K, C, T, H);
  return H;
}

/* p of the lanes: the ends of its range among others */
static double *random_p(int lanes) {
  double *p = doubles(lanes);
  for (int i = 0; i < lanes; i++) p[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : uniform();
  return p;
}

static void check_ista_positive(int T, int M, int steps, int nonneg) {
  const int K = T + M, rows = K + T, lanes = kernel->lanes;
  const double threshold[] = {LAMBDA, fumi_below(LAMBDA, nonneg)};
  const double *G = gram_of(7, K, random_atoms(7, K), K), eta = step_length(K, G);
  const double *B = random_doubles(K * lanes), *p = random_p(lanes);
  double *A = random_doubles(rows * lanes);
  if (nonneg) make_nonneg(rows * lanes, A);
  for (int t = 0; t < T; t++)
    for (int i = 0; i < lanes; i++) A[t * lanes + i] = p[i] * A[(K + t) * lanes + i];
  const double *before = copied(A, rows * lanes);
  kernel->ista_positive(T, M, steps, background_panels(T, M, G, eta), target_panels(T, M, G, eta),
                        eta, B, p, threshold, A, doubles((rows + K) * lanes));
  for (int i = 0; i < lanes; i++) {
    double a[16], b[16], actual[16];
    lane_of(rows, before, i, a);
    memcpy(a, a + K, sizeof(double) * (size_t)T);
    lane_of(K, B, i, b);
    lane_of(rows, A, i, actual);
    for (int q = 0; q < steps; q++) naive_ista(T, K, G, eta, b, p[i], nonneg, a);
    for (int k = T; k < K; k++) check_sum(actual[k], a[k], 1);
    for (int t = 0; t < T; t++) {
      check_sum(actual[K + t], a[t], 1);
      check_sum(actual[t], p[i] * a[t], 1);
    }
  }
  arena_release();
}

static void test_ista_positive(void) {
  for (int T = 1; T <= 5; T++)
    for (int M = 1; M <= 6; M++)
      for (int steps = 0; steps <= 5; steps++)
        for (int nonneg = 0; nonneg <= 1; nonneg++) check_ista_positive(T, M, steps, nonneg);
}

/* ---- layout ------------------------------------------------------------------------ */

static void test_panel(void) {
  for (int rows = 1; rows <= 9; rows++)
    for (int cols = 1; cols <= 6; cols++) {
      const int ldc = rows + 1;
      const double *C = random_doubles(ldc * cols);
      const int copies = kernel->copies, all = panels_of(rows);
      double *panel = doubles(copies * all * cols);
      CHECK(fumi_panel_size(kernel, rows, cols) == copies * all * cols);
      fumi_panel(kernel, rows, cols, C, ldc, panel);
      for (int k = 0; k < all; k++)
        for (int j = 0; j < cols * copies; j++) {
          const int first = k / kernel->panel * kernel->panel, r = k % kernel->panel;
          const double c =
              panel[copies * (first * cols + kernel->panel * (j / copies) + r) + j % copies];
          CHECK(c == (k < rows ? C[k + ldc * (j / copies)] : 0));
        }
      arena_release();
    }
}

static void test_sizes(void) {
  for (int d = 1; d < 200000; d += 1 + d / 3) {
    CHECK(fumi_block_size(d) >= FUMI_MAX_LANES && fumi_block_size(d) % FUMI_MAX_LANES == 0);
    CHECK(fumi_padded(d) >= d && fumi_padded(d) < d + FUMI_MAX_LANES);
    CHECK(fumi_padded(d) % FUMI_MAX_LANES == 0);
  }
}

static void test_choice(void) {
  CHECK(strcmp(fumi_choose_kernel(1)->name, "portable") == 0);
  CHECK(fumi_choose_kernel(2)->lanes <= 12);
  CHECK(FUMI_MAX_LANES % kernel->lanes == 0);
  CHECK(fumi_choose_kernel(0)->lanes >= kernel->lanes);
}

int main(void) {
  for (int i = 0; (kernel = fumi_kernel_at(i)); i++) {
    RUN(test_choice);
    RUN(test_project);
    RUN(test_accumulate);
    RUN(test_gram);
    RUN(test_quadratic);
    RUN(test_residual);
    RUN(test_inner);
    RUN(test_correlate);
    RUN(test_peak);
    RUN(test_ista);
    RUN(test_ista_positive);
    RUN(test_panel);
  }
  RUN(test_sizes);
  return mu_report();
}
