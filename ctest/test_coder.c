/* Codes of new instances: exact ones against many ISTA steps, several coders on threads. */
#include "problem.h"

/* ISTA as the paper prints it settles at the lasso with lambda times the eigenvalue. */
static void check_code(int d, int K, int N, int simd, int nonneg) {
  const fumi_data x = random_data(d, 0, N);
  const double *D = random_atoms(d, K), lambda = .01;
  fumi_status status = FUMI_OK;
  const double largest =
      fumi_largest_eigenvalue(K, gram_of(d, K, D, K), K, doubles(fumi_eigen_work(K)), &status);
  double *exact = doubles((ptrdiff_t)K * N), *ista = doubles((ptrdiff_t)K * N), gap, no_gap;
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(fumi_code(&x, K, D, lambda * largest, 0, nonneg, simd, 2, exact, &gap, &host) == FUMI_OK);
  CHECK(fumi_code(&x, K, D, lambda, 4000, nonneg, simd, 2, ista, &no_gap, &host) == FUMI_OK);
  CHECK_NEAR(worst_difference(exact, ista, (ptrdiff_t)K * N), 0, 1e-9);
  CHECK(gap <= 1e-9 && no_gap == 0);
  arena_release();
}

static void test_code(void) {
  for (int nonneg = 0; nonneg <= 1; nonneg++)
    for (int simd = 0; simd <= 2; simd++) {
      check_code(1, 1, 1, simd, nonneg);
      check_code(30, 1, 7, simd, nonneg);
      check_code(30, 6, 130, simd, nonneg);
    }
}

/* Two coders, one of them on the last atoms alone; the block has been projected, and every instance
 * comes once. */
typedef struct {
  int seen[300], k0;
  double *A;
} two_coders;

static void run_two(void *ctx, fumi_coding_worker *v) {
  two_coders *two = ctx;
  fumi_coder_run(v->coder, &v->block, 0);
  fumi_coder_run(v->coder + 1, &v->block, two->k0);
  for (int i = 0; i < v->block.n; i++) two->seen[v->block.first + i]++;
  fumi_block_store(&v->block, two->A);
}

static void test_code_blocks(void) {
  const int d = 20, K = 6, N = 300, k0 = 2;
  const fumi_data x = random_data(d, 0, N);
  const double *D = random_atoms(d, K);
  double *joint = doubles(K * N), *last = doubles((K - k0) * N), gap;
  two_coders two = {.k0 = k0, .A = doubles(K * N)};
  recorder r = {0};
  const fumi_host host = host_of(&r);
  for (int threads = 1; threads <= 3; threads++) {
    const fumi_coding how = {
        .n = 2, .k0 = {0, k0}, .lambda = {.05, .02}, .simd = 1, .threads = threads};
    memset(two.seen, 0, sizeof two.seen);
    CHECK(fumi_code_blocks(&x, K, D, &how, run_two, &two, &gap, &host) == FUMI_OK && gap <= 1e-9);
    CHECK(fumi_code(&x, K, D, .05, 0, 0, 1, 1, joint, &gap, &host) == FUMI_OK);
    CHECK(fumi_code(&x, K - k0, fumi_ccol(D, d, k0), .02, 0, 0, 1, 1, last, &gap, &host) ==
          FUMI_OK);
    for (int i = 0; i < N; i++) {
      CHECK(two.seen[i] == 1);
      CHECK(worst_difference(two.A + K * i, joint + K * i, k0) == 0);
      CHECK_NEAR(worst_difference(two.A + K * i + k0, last + (K - k0) * i, K - k0), 0, 1e-12);
    }
  }
  arena_release();
}

/* Atoms of a few values, nearly dependent, without a penalty: some of these end in coordinate
 * descent, which asks the host before each of its rounds and not only at the end of the block. */
static void test_long_codes_ask(void) {
  const double values[] = {0, 1, -1, .5, 1e-6, 1e-4, 3, -1e-5};
  int n_long = 0;
  for (int repeat = 0; repeat < 600; repeat++) {
    const int d = 1 + (int)(8 * uniform()), K = 2 + (int)(9 * uniform());
    double *D = doubles(d * K), *A = doubles(K), gap;
    for (int j = 0; j < d * K; j++) D[j] = values[(int)(8 * uniform())];
    for (int k = 0; k < K; k++) D[d * k] += norm(d, fumi_col(D, d, k)) == 0;
    unit_columns(d, K, D);
    const fumi_data x = random_data(d, 0, 1);
    recorder r = {0}, first = {.stop_at = 1};
    const fumi_host host = host_of(&r), stops = host_of(&first);
    CHECK(fumi_code(&x, K, D, 0, 0, 0, 1, 1, A, &gap, &host) == FUMI_OK && r.polls >= 1);
    n_long += r.polls > 1;
    CHECK(fumi_code(&x, K, D, 0, 0, 0, 1, 1, A, &gap, &stops) == FUMI_STOPPED && first.polls == 1);
    arena_release();
  }
  CHECK(n_long > 0);
}

int main(void) {
  RUN(test_code);
  RUN(test_code_blocks);
  RUN(test_long_codes_ask);
  return mu_report();
}
