/* Step lengths and the coefficients of a gradient step. */
#include "problem.h"

static double power_iteration(int n, const double *G, int ldg) {
  double v[32], next[32], value = 0;
  for (int k = 0; k < n; k++) v[k] = 1 + uniform();
  for (int step = 0; step < 3000; step++) {
    const double size = norm(n, v);
    for (int k = 0; k < n; k++) v[k] /= size;
    for (int k = 0; k < n; k++) next[k] = dot(n, fumi_ccol(G, ldg, k), v);
    value = dot(n, v, next);
    memcpy(v, next, sizeof v);
  }
  return value;
}

static void test_largest_eigenvalue(void) {
  for (int n = 1; n <= 30; n++) {
    const int ldg = n + 3;
    const double *G = gram_of(10, n, random_atoms(10, n), ldg);
    fumi_status status = FUMI_OK;
    const double value = fumi_largest_eigenvalue(n, G, ldg, doubles(fumi_eigen_work(n)), &status);
    CHECK(status == FUMI_OK);
    CHECK_NEAR(value, power_iteration(n, G, ldg), 1e-9 * value);
    arena_release();
  }
}

/* eta = 1 / lambda_max, and 1 where there is no atom other than 0 */
static void test_step_length(void) {
  const double *G = gram_of(10, 4, random_atoms(10, 4), 5);
  double *room = doubles(fumi_eigen_work(4));
  fumi_status status = FUMI_OK;
  const double largest = fumi_largest_eigenvalue(4, G, 5, room, &status);
  CHECK_NEAR(fumi_step_length(4, G, 5, room, &status) * largest, 1, 1e-12);
  CHECK(fumi_step_length(2, filled(4, 0), 2, room, &status) == 1);
  CHECK(status == FUMI_OK);
  arena_release();
}

/* The panel of I - eta G is that of the matrix itself, also for rows from the middle of it. */
static void test_step_panel(void) {
  const int K = 9, rows = 5, first = 3;
  const double eta = .3, *G = gram_of(12, K, random_atoms(12, K), K);
  for (int simd = 0; simd <= 2; simd++) {
    const fumi_kernel *kernel = fumi_choose_kernel(simd);
    const ptrdiff_t size = fumi_panel_size(kernel, rows, K);
    double *C = doubles(rows * K), *expected = filled(size, 0), *panel = filled(size, 0);
    for (int j = 0; j < K; j++)
      for (int k = 0; k < rows; k++)
        C[k + rows * j] = (first + k == j ? 1 : 0) - eta * G[first + k + K * j];
    fumi_panel(kernel, rows, K, C, rows, expected);
    fumi_step_panel(kernel, rows, K, G + first, K, eta, first, doubles(fumi_eigen_work(K)), panel);
    CHECK_NEAR(worst_difference(panel, expected, size), 0, 1e-15);
    CHECK(norm((int)size, panel) > 0);
  }
  arena_release();
}

int main(void) {
  RUN(test_largest_eigenvalue);
  RUN(test_step_length);
  RUN(test_step_panel);
  return mu_report();
}
