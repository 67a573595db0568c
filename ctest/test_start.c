/* The codes of the start: least squares on all atoms in positive bags, on the background
 * atoms in negative ones. */
#ifdef _OPENMP
#include <omp.h>
#endif

#include "problem.h"

/* d_k'(x_i - sum_{j >= k0} a_ij d_j), which is 0 at a least-squares code, at its largest */
static double worst_gradient(const fumi_data *x, int K, int k0, const double *D, const double *A,
                             int i) {
  double *residual = doubles(x->d), worst = 0;
  for (int r = 0; r < x->d; r++) {
    residual[r] = entry(x, r, i);
    for (int k = k0; k < K; k++) residual[r] -= fumi_ccol(A, K, i)[k] * fumi_ccol(D, x->d, k)[r];
  }
  for (int k = k0; k < K; k++)
    worst = fmax(worst, fabs(dot(x->d, fumi_ccol(D, x->d, k), residual)));
  return worst;
}

static double *codes_on(int threads, const fumi_data *x, int T, int K, const double *D, int simd,
                        fumi_status expected) {
  recorder r = {0};
  const fumi_host host = host_of(&r);
  double *A = doubles((ptrdiff_t)K * x->N);
  CHECK(dlfumi_start_codes(x, T, K, D, simd, threads, A, &host) == expected);
  return A;
}

static double *start_codes(const fumi_data *x, int T, int K, const double *D, int simd,
                           fumi_status expected) {
  return codes_on(1, x, T, K, D, simd, expected);
}

/* Least squares, with codes of a size that the instances explain. */
static void check_codes(const fumi_data *x, int T, int K, const double *D, double tolerance) {
  for (int simd = 0; simd <= 2; simd++) {
    const double *A = start_codes(x, T, K, D, simd, FUMI_OK);
    for (int i = 0; i < x->N; i++) {
      const int k0 = i < x->N_pos ? 0 : T;
      const double *a = fumi_ccol(A, K, i);
      for (int t = 0; t < k0; t++) CHECK(a[t] == 0);
      CHECK_NEAR(worst_gradient(x, K, k0, D, A, i), 0, tolerance);
      CHECK_NEAR(norm(K, a), 0, 4e4);
    }
  }
}

static void test_independent_atoms(void) {
  const shape shapes[] = {{2, 1, 1, 1, 1}, {9, 1, 1, 3, 5}, {20, 3, 4, 110, 105}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const shape z = shapes[s];
    const fumi_data x = random_data(z.d, z.N_pos, z.N_neg);
    check_codes(&x, z.T, z.T + z.M, random_atoms(z.d, z.T + z.M), 1e-10);
    arena_release();
  }
}

static void test_more_atoms_than_features(void) {
  for (int d = 1; d <= 6; d++) {
    const fumi_data x = random_data(d, 20, 30);
    check_codes(&x, 2, 9, random_atoms(d, 9), 1e-4);
    arena_release();
  }
}

/* Two equal atoms, wherever they stand, also where rounding leaves them a pivot above 0. */
static void test_equal_atoms(void) {
  const int d = 12, T = 2, K = 6;
  for (int first = 0; first < K; first++)
    for (int second = first + 1; second < K; second++)
      for (int repeat = 0; repeat < 4; repeat++) {
        const fumi_data x = random_data(d, 5, 5);
        double *D = random_atoms(d, K);
        memcpy(fumi_col(D, d, second), fumi_ccol(D, d, first), sizeof(double) * (size_t)d);
        check_codes(&x, T, K, D, 1e-4);
        arena_release();
      }
}

/* Atoms at an angle so small that codes could be its inverse, wherever they stand. */
static void test_twin_atoms(void) {
  const int d = 12, T = 2, K = 6;
  for (double angle = 1e-3; angle > 1e-17; angle /= 10)
    for (int first = 0; first < K; first++)
      for (int second = 0; second < K; second++) {
        if (first == second) continue;
        const fumi_data x = random_data(d, 5, 5);
        double *D = random_atoms(d, K);
        for (int r = 0; r < d; r++)
          D[r + d * second] = D[r + d * first] + angle * D[r + d * second];
        check_codes(&x, T, K, D, 1e-4);
        arena_release();
      }
}

/* Any number of threads: the same bits. */
static void test_threads(void) {
  const int d = 4, T = 1, K = 3, threads[] = {2, 3, 8, 16, 64};
  const fumi_data x = random_data(d, 9000, 41000);
  const double *D = random_atoms(d, K), *one = codes_on(1, &x, T, K, D, 0, FUMI_OK);
#ifdef _OPENMP
  omp_set_num_threads(64);
#endif
  for (int t = 0; t < 5; t++) {
    const double *many = codes_on(threads[t], &x, T, K, D, 0, FUMI_OK);
    CHECK(memcmp(many, one, sizeof(double) * (size_t)(K * x.N)) == 0);
  }
  arena_release();
}

static void test_zero_atom(void) {
  const int d = 12, T = 2, K = 6;
  for (int k = 0; k < K; k++) {
    const fumi_data x = random_data(d, 5, 5);
    double *D = random_atoms(d, K);
    for (int r = 0; r < d; r++) D[r + d * k] = 0;
    check_codes(&x, T, K, D, 1e-4);
    arena_release();
  }
}

/* No ridge makes the Gram matrix of an atom without a value definite. */
static void test_atom_without_value(void) {
  const int d = 12, T = 2, K = 6;
  for (int k = 0; k < K; k++) {
    const fumi_data x = random_data(d, 5, 5);
    double *D = random_atoms(d, K);
    D[d * k] = NAN;
    start_codes(&x, T, K, D, 1, FUMI_ESINGULAR);
    arena_release();
  }
}

int main(void) {
  RUN(test_independent_atoms);
  RUN(test_more_atoms_than_features);
  RUN(test_equal_atoms);
  RUN(test_twin_atoms);
  RUN(test_threads);
  RUN(test_zero_atom);
  RUN(test_atom_without_value);
  return mu_report();
}
