/* Codes of MI-HE: exact ones against those of fumi_code(), convex ones against their bounds. */
#ifdef _OPENMP
#include <omp.h>
#endif

#include "problem.h"

enum { D = 7, T = 2, M = 2, K = T + M, POS = 15, N = 30, BAGS = 3 };

static void code_on(const fumi_host *host, int threads, mihe_coding coding, mihe_variant variant,
                    const fumi_data *x, const double *atoms, double *A, double *C) {
  int *bag = arena_take((size_t)x->N_pos, sizeof(int));
  for (int i = 0; i < x->N_pos; i++) bag[i] = BAGS * i / x->N_pos;
  const mihe_bags bags = {BAGS, bag};
  const mihe_param par = {.coding = coding,
                          .variant = variant,
                          .T = T,
                          .M = M,
                          .K = K,
                          .simd = 1,
                          .threads = threads,
                          .beta = 2,
                          .power = 3,
                          .lambda = .05};
  double terms[MIHE_TERMS], gradient[D * K];
  CHECK(mihe_evaluate(x, &bags, &par, atoms, A, C, terms, gradient, host) == FUMI_OK);
}

static void code(mihe_coding coding, mihe_variant variant, const fumi_data *x, const double *atoms,
                 double *A, double *C) {
  recorder rec = {0};
  const fumi_host host = host_of(&rec);
  code_on(&host, 1, coding, variant, x, atoms, A, C);
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

/* Any number of threads: the same bits. */
static void threads_make_the_same_codes(void) {
  enum { MANY = 2000 };
  const fumi_data x = random_data(D, MANY / 2, MANY / 2);
  const double *atoms = random_atoms(D, K);
  double *A = doubles(K * MANY), *C = doubles(M * MANY), *one = doubles(K * MANY),
         *one_C = doubles(M * MANY);
  recorder rec = {0};
  const fumi_host host = host_of(&rec);
#ifdef _OPENMP
  omp_set_num_threads(64);
#endif
  for (int way = 0; way < 4; way++) {
    const mihe_coding coding = way % 2 ? MIHE_CONVEX : MIHE_SPARSE;
    const mihe_variant variant = way / 2 ? MIHE_LITERAL : MIHE_FAST;
    code(coding, variant, &x, atoms, one, one_C);
    for (int threads = 2; threads <= 16; threads *= 8) {
      code_on(&host, threads, coding, variant, &x, atoms, A, C);
      CHECK(memcmp(A, one, sizeof(double) * K * MANY) == 0);
      CHECK(memcmp(C, one_C, sizeof(double) * M * MANY) == 0);
    }
  }
  arena_release();
}

#ifdef _OPENMP
static int allow_more(void *ctx) {
  (void)ctx;
  omp_set_num_threads(8);
  return 0;
}

/* What the host calls may let OpenMP have more threads than there were when a fit began. */
static void more_threads_than_workers(void) {
  const fumi_data x = random_data(D, 1000, 1000);
  recorder rec = {0};
  fumi_host host = host_of(&rec);
  host.poll = allow_more;
  omp_set_num_threads(1);
  code_on(&host, 8, MIHE_SPARSE, MIHE_FAST, &x, random_atoms(D, K), doubles(K * x.N),
          doubles(M * x.N));
  arena_release();
}
#endif

/* As in test_coder.c: some of these end in coordinate descent, which asks the host before each of
 * its rounds, not only before and after the block. */
static void long_codes_ask(void) {
  const double values[] = {0, 1, -1, .5, 1e-6, 1e-4, 3, -1e-5};
  const int bag[] = {0};
  const mihe_bags bags = {1, bag};
  int n_long = 0;
  for (int repeat = 0; repeat < 600; repeat++) {
    const int d = 1 + (int)(8 * uniform()), k = 2 + (int)(9 * uniform());
    double *atoms = doubles(d * k), *A = doubles(k), *C = doubles(k), *gradient = doubles(d * k);
    for (int j = 0; j < d * k; j++) atoms[j] = values[(int)(8 * uniform())];
    for (int j = 0; j < k; j++) atoms[d * j] += norm(d, fumi_col(atoms, d, j)) == 0;
    unit_columns(d, k, atoms);
    const fumi_data x = random_data(d, 1, 0);
    const mihe_param par = {
        .variant = MIHE_FAST, .T = 1, .M = k - 1, .K = k, .simd = 1, .threads = 1, .power = 1};
    double terms[MIHE_TERMS];
    recorder r = {0}, second = {.stop_at = 2};
    const fumi_host host = host_of(&r), stops = host_of(&second);
    CHECK(mihe_evaluate(&x, &bags, &par, atoms, A, C, terms, gradient, &host) == FUMI_OK);
    n_long += r.polls > 2;
    CHECK(mihe_evaluate(&x, &bags, &par, atoms, A, C, terms, gradient, &stops) == FUMI_STOPPED);
    CHECK(second.polls == 2);
    arena_release();
  }
  CHECK(n_long > 0);
}

int main(void) {
  RUN(exact_codes_are_those_of_the_coder);
  RUN(convex_codes_are_proportions);
  RUN(threads_make_the_same_codes);
#ifdef _OPENMP
  RUN(more_threads_than_workers);
#endif
  RUN(long_codes_ask);
  return mu_report();
}
