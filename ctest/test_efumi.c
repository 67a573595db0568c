/* Proportions of e-FUMI against the conditions of their optimum. */
#include <limits.h>
#include <stdint.h>

#include "problem.h"

enum { D = 9, N = 40 };

static double weighted(int T, int k, int l, double p, double g) {
  return (k < T || l < T ? p : 1) * g;
}

/* Of a: sum 1, none negative, and no endmember along which the objective falls: g_k - a'g >= 0, = 0
 * where a_k > 0. */
static void check_optimum(int K, int T, const double *G, double p, const double *c, const double *a,
                          double tolerance) {
  double sum = 0, along = 0, *g = doubles(K);
  for (int k = 0; k < K; k++) {
    g[k] = -c[k];
    for (int l = 0; l < K; l++) g[k] += weighted(T, k, l, p, G[k + K * l]) * a[l];
    sum += a[k];
    along += a[k] * g[k];
    CHECK(a[k] >= 0);
  }
  CHECK_NEAR(sum, 1, 1e-12);
  for (int k = 0; k < K; k++) {
    CHECK(g[k] - along > -tolerance);
    if (a[k] > 0) CHECK_NEAR(g[k] - along, 0, tolerance);
  }
}

static void check_unmix(int K, int T, const double *E, double scale, double tolerance) {
  const double *G = gram_of(D, K, E, K), *C = random_doubles(K * N);
  double *p = doubles(N), *A = doubles(K * N), *weighted_c = copied(C, K * N);
  for (int i = 0; i < N; i++) {
    p[i] = i % 4 == 0 ? 1 : i % 4 == 1 ? 1e-8 : uniform();
    for (int k = 0; k < K; k++) weighted_c[k + K * i] *= scale * (k < T ? p[i] : 1);
  }
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(efumi_unmix(K, N, T, G, p, weighted_c, A, &host) == FUMI_OK);
  for (int i = 0; i < N; i++)
    check_optimum(K, T, G, p[i], weighted_c + K * i, A + K * i, tolerance * (1 + scale));
  arena_release();
}

static void test_random(void) {
  for (int K = 1; K <= 8; K++)
    for (int T = 0; T <= (K > 1 ? 2 : 0); T++) {
      check_unmix(K, T, random_doubles(D * K), 1, 1e-8);
      check_unmix(K, T, random_doubles(D * K), 100, 1e-8);
      check_unmix(K, T, random_doubles(D * K), 0, 1e-8);
    }
}

/* A duplicated endmember, and more endmembers than features. */
static void test_dependent(void) {
  double *E = random_doubles(D * 5);
  memcpy(E + D * 3, E + D, sizeof(double) * D);
  check_unmix(5, 1, E, 1, 1e-7);
  check_unmix(14, 1, random_doubles(D * 14), 1, 1e-7);
}

/* A mixture of endmembers, p = 1: its proportions come back. */
static void test_mixture(void) {
  const int K = 4;
  const double *E = random_doubles(D * K), *G = gram_of(D, K, E, K), a[] = {.5, 0, .2, .3}, p = 1;
  double c[4], found[4];
  for (int k = 0; k < K; k++) {
    c[k] = 0;
    for (int l = 0; l < K; l++) c[k] += G[k + K * l] * a[l];
  }
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(efumi_unmix(K, 1, 1, G, &p, c, found, &host) == FUMI_OK);
  CHECK_NEAR(worst_difference(found, a, K), 0, 1e-7);
  arena_release();
}

/* Columns of matrices with more entries than an int counts. Only the place is computed: nothing is
 * read there. */
static void test_large_matrices(void) {
  if (sizeof(ptrdiff_t) < 8) return;
  double one = 0, *A = &one;
  const uintptr_t entry = sizeof(double), at = (uintptr_t)A;
  CHECK((uintptr_t)fumi_col(A, 7, 600000000) - at == entry * 4200000000u);
  CHECK((uintptr_t)fumi_ccol(A, 50000, 50000) - at == entry * 2500000000u);
  CHECK((uintptr_t)fumi_ccol(A, 1, INT_MAX) - at == entry * (uintptr_t)INT_MAX);
}

/* Has no memory for more doubles than an int counts, and keeps how many were asked for last. */
static void *refuse_large(void *ctx, size_t n, size_t size) {
  size_t *asked = ctx;
  *asked = n;
  return n > INT_MAX ? NULL : arena_take(n, size);
}

/* A Gram matrix of so many endmembers is asked for whole, and at once. */
static void test_large_work(void) {
  if (sizeof(size_t) < 8) return;
  const int K = 50000;
  size_t asked = 0;
  const fumi_host host = {.alloc = refuse_large, .ctx = &asked};
  CHECK(efumi_unmix(K, 0, 1, NULL, NULL, NULL, NULL, &host) == FUMI_ENOMEM);
  CHECK(asked >= (size_t)K * K && arena_used == 1);
  arena_release();
}

int main(void) {
  RUN(test_random);
  RUN(test_dependent);
  RUN(test_mixture);
  RUN(test_large_matrices);
  RUN(test_large_work);
  return mu_report();
}
