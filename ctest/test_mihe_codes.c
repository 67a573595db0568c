/* Codes of MI-HE: exact ones against those of fumi_code(), convex ones against their bounds. */
#include "problem.h"

enum { D = 7, T = 2, M = 2, K = T + M, POS = 15, N = 30, BAGS = 3 };

static void code(mihe_coding coding, mihe_variant variant, const fumi_data *x, const double *atoms,
                 double *A, double *C) {
  int bag[POS];
  for (int i = 0; i < POS; i++) bag[i] = i / 5;
  const mihe_bags bags = {BAGS, bag};
  const mihe_param par = {.coding = coding,
                          .variant = variant,
                          .T = T,
                          .M = M,
                          .K = K,
                          .simd = 1,
                          .threads = 1,
                          .beta = 2,
                          .power = 3,
                          .lambda = .05};
  recorder rec = {0};
  const fumi_host host = host_of(&rec);
  double terms[MIHE_TERMS], gradient[D * K];
  CHECK(mihe_evaluate(x, &bags, &par, atoms, A, C, terms, gradient, &host) == FUMI_OK);
}

static void exact_codes_are_those_of_the_coder(void) {
  const fumi_data x = random_data(D, POS, N - POS);
  const double *atoms = random_atoms(D, K);
  double A[K * N], C[M * N], full[K * N], rest[M * N], gap;
  recorder rec = {0};
  const fumi_host host = host_of(&rec);
  code(MIHE_SPARSE, MIHE_FAST, &x, atoms, A, C);
  fumi_code(&x, K, atoms, .05, 0, 0, 1, 1, full, &gap, &host);
  fumi_code(&x, M, atoms + D * T, .05, 0, 0, 1, 1, rest, &gap, &host);
  for (int j = 0; j < K * N; j++) CHECK(fabs(A[j] - full[j]) < 1e-7);
  for (int j = 0; j < M * N; j++) CHECK(fabs(C[j] - rest[j]) < 1e-7);
  arena_release();
}

static void convex_codes_are_proportions(void) {
  const fumi_data x = random_data(D, POS, N - POS);
  double A[K * N], C[M * N];
  code(MIHE_CONVEX, MIHE_LITERAL, &x, random_atoms(D, K), A, C);
  for (int i = 0; i < N; i++) {
    double sum = 0;
    for (int k = 0; k < K; k++) {
      CHECK(A[K * i + k] >= 0);
      sum += A[K * i + k];
    }
    CHECK(fabs(sum - 1) < 1e-9);
  }
  arena_release();
}

int main(void) {
  RUN(exact_codes_are_those_of_the_coder);
  RUN(convex_codes_are_proportions);
  return mu_report();
}
