/* k-means: true clusters are found, also with the smallest and largest M. */
#ifdef _OPENMP
#include <omp.h>
#endif

#include "problem.h"

enum { MAX_ITER = 50 };

typedef struct {
  fumi_status status;
  int n_distinct;
  double *C;
} clusters;

static clusters run_on(int threads, const fumi_data *x, int M, const double *u, int simd) {
  recorder r = {0};
  const fumi_host host = host_of(&r);
  clusters c = {.C = doubles((ptrdiff_t)x->d * M)};
  c.status = fumi_kmeans(x, M, u, MAX_ITER, simd, threads, c.C, &c.n_distinct, &host);
  return c;
}

static clusters run_kmeans(const fumi_data *x, int M, const double *u, int simd) {
  return run_on(1, x, M, u, simd);
}

static double *draws(int M) {
  double *u = doubles(M);
  for (int k = 0; k < M; k++) u[k] = uniform();
  return u;
}

/* Squared distance of the point y to the nearest centre. */
static double nearest2(int d, int M, const double *C, const double *y) {
  double least = HUGE_VAL;
  for (int k = 0; k < M; k++) {
    double s = 0;
    for (int r = 0; r < d; r++) s += pow(y[r] - fumi_ccol(C, d, k)[r], 2);
    if (s < least) least = s;
  }
  return least;
}

/* Instances about M points far from each other; scale undoes a factor of each. */
static fumi_data blobs(int d, int M, int size, double *centre) {
  const int N = M * size;
  double *X = doubles((ptrdiff_t)d * N), *scale = doubles(N);
  for (int k = 0; k < M; k++)
    for (int r = 0; r < d; r++) centre[r + d * k] = (r == k % d) * (10 + 10 * (k / d));
  for (int i = 0; i < N; i++) {
    scale[i] = .5 + uniform();
    for (int r = 0; r < d; r++)
      X[r + d * i] = (centre[r + d * (i % M)] + .01 * symmetric()) / scale[i];
  }
  return (fumi_data){d, N, 0, X, scale, NULL};
}

static void test_separated_clusters(void) {
  for (int simd = 0; simd <= 2; simd++)
    for (int M = 1; M <= 6; M++)
      for (int repeat = 0; repeat < 5; repeat++) {
        const int d = 4;
        double *centre = doubles(d * M);
        const fumi_data x = blobs(d, M, 40, centre);
        const clusters c = run_kmeans(&x, M, draws(M), simd);
        CHECK(c.status == FUMI_OK && c.n_distinct == M);
        for (int k = 0; k < M; k++)
          CHECK_NEAR(nearest2(d, M, c.C, fumi_ccol(centre, d, k)), 0, 1e-3);
        arena_release();
      }
}

/* On a line, from seeds that both lie at its left end: the boundary between the two
 * clusters must travel, which takes several of Lloyd's iterations. */
static void test_several_iterations(void) {
  const int N = 40;
  double *X = doubles(N), u[] = {0, 0};
  for (int i = 0; i < N; i++) X[i] = i < 4 ? i : i + 1;
  const fumi_data x = {1, N, 0, X, filled(N, 1), NULL};
  const clusters c = run_kmeans(&x, 2, u, 1);
  const double low = fmin(c.C[0], c.C[1]), high = fmax(c.C[0], c.C[1]);
  CHECK(c.status == FUMI_OK);
  CHECK(low > 8 && low < 12 && high > 28 && high < 33);
  arena_release();
}

static void test_fewer_distinct_instances(void) {
  const int d = 3, N = 60, distinct = 4;
  double *X = random_doubles(d * N);
  for (int i = distinct; i < N; i++) memcpy(X + d * i, X + d * (i % distinct), sizeof(double) * d);
  for (int simd = 0; simd <= 2; simd++)
    for (int M = 1; M <= 7; M++) {
      const fumi_data x = {d, N, 0, X, filled(N, 1 / uniform()), NULL};
      const clusters c = run_kmeans(&x, M, draws(M), simd);
      CHECK(c.status == FUMI_OK);
      CHECK(c.n_distinct == (M < distinct ? M : distinct));
    }
  arena_release();
}

static void test_one_cluster(void) {
  const int d = 5, N = 130;
  const fumi_data x = random_data(d, 0, N);
  const clusters c = run_kmeans(&x, 1, draws(1), 0);
  for (int r = 0; r < d; r++) {
    double mean = 0;
    for (int i = 0; i < N; i++) mean += entry(&x, r, i) / N;
    CHECK_NEAR(c.C[r], mean, 1e-12);
  }
  CHECK(c.status == FUMI_OK && c.n_distinct == 1);
  arena_release();
}

static void test_a_cluster_each(void) {
  for (int N = 1; N <= 30; N += 7) {
    const int d = 3;
    const fumi_data x = random_data(d, 0, N);
    const clusters c = run_kmeans(&x, N, draws(N), 1);
    CHECK(c.status == FUMI_OK && c.n_distinct == N);
    for (int i = 0; i < N; i++) {
      double y[3];
      for (int r = 0; r < d; r++) y[r] = entry(&x, r, i);
      CHECK_NEAR(nearest2(d, N, c.C, y), 0, 1e-24);
    }
    arena_release();
  }
}

/* The last share of the draws: rounding must not run past the last instance. */
static void test_draws_at_the_ends(void) {
  const double ends[] = {0, 1 - 0x1p-53};
  for (int e = 0; e < 2; e++) {
    const fumi_data x = random_data(4, 0, 33);
    const clusters c = run_kmeans(&x, 5, filled(5, ends[e]), 1);
    CHECK(c.status == FUMI_OK && c.n_distinct == 5 && all_finite(c.C, 20));
    arena_release();
  }
}

static double inertia(const fumi_data *x, int M, const double *C) {
  double sum = 0, *y = doubles(x->d);
  for (int i = 0; i < x->N; i++) {
    for (int r = 0; r < x->d; r++) y[r] = entry(x, r, i);
    sum += nearest2(x->d, M, C, y);
  }
  return sum;
}

/* The same bits for any number of threads, and centres that are better than their seeds. */
static void test_threads(void) {
  const int d = 5, M = 7, N = 50000, threads[] = {2, 3, 8, 16, 64};
  const fumi_data x = random_data(d, 0, N);
  const double *u = draws(M);
  const clusters one = run_on(1, &x, M, u, 0);
  double *seeds = doubles(d * M);
  recorder r = {0};
  const fumi_host host = host_of(&r);
  int n_distinct;
#ifdef _OPENMP
  omp_set_num_threads(64);
#endif
  CHECK(fumi_kmeans(&x, M, u, 0, 0, 64, seeds, &n_distinct, &host) == FUMI_OK);
  CHECK(inertia(&x, M, one.C) < inertia(&x, M, seeds));
  for (int t = 0; t < 5; t++) {
    const clusters many = run_on(threads[t], &x, M, u, 0);
    CHECK(many.status == FUMI_OK && memcmp(many.C, one.C, sizeof(double) * (size_t)(d * M)) == 0);
  }
  arena_release();
}

int main(void) {
  RUN(test_threads);
  RUN(test_separated_clusters);
  RUN(test_several_iterations);
  RUN(test_fewer_distinct_instances);
  RUN(test_one_cluster);
  RUN(test_a_cluster_each);
  RUN(test_draws_at_the_ends);
  return mu_report();
}
