/* Confidence (7) of new instances against its formula on codes of fumi_code(). */
#include "problem.h"

static const double LAMBDA = .05, LAMBDA_SEPARATE = .03;

/* ||x_i - D a||^2 for atoms and codes of one block of rows */
static double residual2(const fumi_data *x, int K, const double *D, const double *a, int i) {
  double sum = 0;
  for (int r = 0; r < x->d; r++) {
    double e = entry(x, r, i);
    for (int k = 0; k < K; k++) e -= a[k] * fumi_ccol(D, x->d, k)[r];
    sum += e * e;
  }
  return sum;
}

static double norm2_of(const fumi_data *x, int i) { return residual2(x, 0, NULL, NULL, i); }

static double *codes_on(const fumi_data *x, int K, const double *D, double lambda, int steps,
                        int nonneg) {
  recorder r = {0};
  const fumi_host host = host_of(&r);
  double *A = doubles((ptrdiff_t)K * x->N), gap;
  CHECK(fumi_code(x, K, D, lambda, steps, nonneg, 1, 2, A, &gap, &host) == FUMI_OK);
  return A;
}

static void check_confidence(const fumi_data *x, int T, int M, int separate, int steps,
                             int nonneg) {
  const int K = T + M;
  const double *D = random_atoms(x->d, K), *D_background = fumi_ccol(D, x->d, T);
  const double *A = codes_on(x, K, D, LAMBDA, steps, nonneg);
  const double *A_background = codes_on(x, M, D_background, LAMBDA_SEPARATE, steps, nonneg);
  double *confidence = doubles(x->N), *r_bg = doubles(x->N);
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(dlfumi_confidence(x, T, K, D, LAMBDA, LAMBDA_SEPARATE, separate, steps, nonneg, 0, 2,
                          confidence, r_bg, &host) == FUMI_OK);
  for (int i = 0; i < x->N; i++) {
    const double *a = separate ? fumi_ccol(A_background, M, i) : fumi_ccol(A, K, i) + T;
    const double background = residual2(x, M, D_background, a, i), e = 1e-12 * norm2_of(x, i);
    const double full = residual2(x, K, D, fumi_ccol(A, K, i), i);
    CHECK_NEAR(r_bg[i], background, 1e-10);
    if (e > 0) CHECK_NEAR(confidence[i] * (full + e), background + e, 1e-10);
    else CHECK(confidence[i] == 1);
  }
}

static void test_formula(void) {
  const shape shapes[] = {{1, 1, 1, 0, 1}, {7, 1, 1, 0, 5}, {20, 2, 5, 0, 130}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int separate = 0; separate <= 1; separate++)
      for (int steps = 0; steps <= 20; steps += 10) {
        const fumi_data x = random_data(shapes[s].d, 0, shapes[s].N_neg);
        for (int nonneg = 0; nonneg <= 1; nonneg++)
          check_confidence(&x, shapes[s].T, shapes[s].M, separate, steps, nonneg);
        arena_release();
      }
}

static void test_zero_instance(void) {
  const int d = 6, N = 20;
  double *X = random_doubles(d * N);
  for (int r = 0; r < d; r++) X[r + d * 3] = X[r + d * 15] = 0;
  const fumi_data x = {d, N, 0, X, filled(N, 1), NULL};
  check_confidence(&x, 2, 3, 0, 0, 0);
  check_confidence(&x, 2, 3, 1, 5, 0);
  arena_release();
}

int main(void) {
  RUN(test_formula);
  RUN(test_zero_instance);
  return mu_report();
}
