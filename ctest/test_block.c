/* Blocks and threads: each block once, those of a group in their order, on threads that never wait
 * for each other; and the same bits for any number of them. Residuals against long doubles. */
#include <limits.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "problem.h"

/* By default OpenMP allows only as many threads as there are processors. */
static void allow_threads(int n) {
#ifdef _OPENMP
  omp_set_num_threads(n);
#else
  (void)n;
#endif
}

/* ---- blocks and groups --------------------------------------------------------------- */

static void test_number_of_blocks(void) {
  const int d[] = {1, 256, 4980, INT_MAX};
  for (int s = 0; s < 4; s++) {
    const int nb = fumi_block_size(d[s]),
              N[] = {0, 1, nb - 1, nb, nb + 1, INT_MAX - nb, INT_MAX - 1, INT_MAX};
    for (int j = 0; j < 8; j++) {
      const long long n = fumi_n_blocks(d[s], N[j]);
      CHECK(n * nb >= N[j] && (n - 1) * nb < N[j]);
    }
  }
}

/* There are far fewer groups than blocks: their sums need less memory than the instances. */
static void test_groups(void) {
  for (int n = 0; n < 3000; n++) {
    const int groups = fumi_groups(n);
    CHECK(groups == n ||
          (groups >= 8 && groups <= FUMI_GROUPS && (groups == 8 || 8 * groups <= n)));
    CHECK(groups <= fumi_groups(n + 1));
  }
  CHECK(fumi_groups(fumi_n_blocks(4, INT_MAX)) == FUMI_GROUPS);
}

static void test_usable_threads(void) {
  CHECK(fumi_usable_threads(0, 1000) == 1 && fumi_usable_threads(-3, 1000) == 1);
  CHECK(fumi_usable_threads(4, 0) == 1 && fumi_usable_threads(4, 1) == 1);
#ifdef _OPENMP
  const int limit = omp_get_thread_limit(), most = limit < 3 ? limit : 3;
  allow_threads(3);
  CHECK(fumi_usable_threads(1000, 1000) <= limit);
  if (omp_get_max_threads() == 3) CHECK(fumi_usable_threads(1000, 1000) == most);
  allow_threads(64);
  CHECK(fumi_usable_threads(64, 1000) == (limit < 64 ? limit : 64));
  CHECK(fumi_usable_threads(64, 40) == (limit < 8 ? limit : 8));
#else
  CHECK(fumi_usable_threads(8, 1000) == 1);
#endif
}

/* ---- each block ---------------------------------------------------------------------- */

typedef struct {
  int groups, *times, *last; /* of a block; of a group: its last block */
} log_of_blocks;

/* The data of a group are used by one thread at a time; the thread sanitizer checks it. */
static void note_block(void *ctx, int thread, int group, int j) {
  log_of_blocks *l = ctx;
  l->times[j]++;
  if (j % l->groups != group || j <= l->last[group] || thread < 0) l->times[j] = -1;
  l->last[group] = j;
}

static void check_each_block(int n_blocks, int threads, double work) {
  log_of_blocks l = {.groups = fumi_groups(n_blocks),
                     .times = arena_take((size_t)n_blocks + 1, sizeof(int))};
  l.last = arena_take((size_t)FUMI_GROUPS, sizeof(int)); /* all bits set: -1 */
  memset(l.times, 0, sizeof(int) * (size_t)n_blocks);
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(fumi_each_block(4, n_blocks, threads, work, note_block, &l, &host) == FUMI_OK);
  int once = 0;
  for (int j = 0; j < n_blocks; j++) once += l.times[j] == 1;
  CHECK(once == n_blocks);
  CHECK(n_blocks == 0 || r.polls > 0);
  arena_release();
}

static void test_each_block(void) {
  const int numbers[] = {0, 1, 2, 7, 8, 9, 100, 1500}, threads[] = {1, 2, 3, 8, 16, 64};
  allow_threads(64);
  for (int n = 0; n < 8; n++)
    for (int t = 0; t < 6; t++)
      for (double work = 1; work < 1e12; work *= 1e5)
        check_each_block(numbers[n], threads[t], work);
}

#ifdef _OPENMP
typedef struct {
  int others; /* blocks outside the first group that are still to do */
} patient_work;

/* The first block ends only when the other groups are done: a thread that waited for its turn in
 * the first group would never do them. */
static void patient_block(void *ctx, int thread, int group, int j) {
  patient_work *w = ctx;
  int others = 1;
  (void)thread;
  if (group > 0) {
#pragma omp atomic update seq_cst
    w->others -= 1;
  }
  while (j == 0 && omp_get_num_threads() > 1 && others > 0) {
#pragma omp atomic read seq_cst
    others = w->others;
  }
}

static void test_nobody_waits(void) {
  const int n_blocks = 64, groups = fumi_groups(n_blocks);
  patient_work w = {n_blocks - n_blocks / groups};
  allow_threads(2);
  CHECK(fumi_each_block(4, n_blocks, 2, 1, patient_block, &w, NULL) == FUMI_OK);
  CHECK(w.others == 0);
}
#endif

/* When the poll says stop, blocks in progress are finished and no new ones begin. */
static void test_stop(void) {
  log_of_blocks l = {.groups = FUMI_GROUPS, .times = arena_take(3000, sizeof(int))};
  l.last = arena_take((size_t)FUMI_GROUPS, sizeof(int));
  memset(l.times, 0, 3000 * sizeof(int));
  recorder r = {.stop_at = 2};
  const fumi_host host = host_of(&r);
  CHECK(fumi_each_block(4, 3000, 2, 1e12, note_block, &l, &host) == FUMI_STOPPED);
  for (int j = 0; j < 3000; j++) CHECK(l.times[j] == (j < 2 * FUMI_GROUPS));
  arena_release();
}

/* ---- the same bits for any number of threads ------------------------------------------- */

static problem copy_of(const problem *q) {
  problem copy = *q;
  copy.s = start_state(&q->x, &q->par, q->s.D, q->s.A);
  return copy;
}

static void test_same_bits(void) {
  const int threads[] = {2, 3, 8, 16, 64};
  problem q = random_problem((shape){4, 1, 2, 9000, 41000}); /* more than 64 groups */
  q.par.inner = 2, q.par.max_iter = 2, q.par.simd = 0;
  CHECK(fumi_groups(fumi_n_blocks(4, q.x.N)) >= 64);
  recorder r = {0};
  const fumi_host host = {recorder_alloc, recorder_poll, NULL, &r};
  problem one = copy_of(&q);
  CHECK(dlfumi_fit(&one.x, &one.par, &one.s, &host) == FUMI_MAXIT);
  allow_threads(64);
  for (int t = 0; t < 5; t++) {
    problem many = copy_of(&q);
    many.par.threads = threads[t];
    CHECK(dlfumi_fit(&many.x, &many.par, &many.s, &host) == FUMI_MAXIT);
    CHECK(memcmp(many.s.D, one.s.D, sizeof(double) * (size_t)(q.x.d * q.par.K)) == 0);
    CHECK(memcmp(many.s.A, one.s.A, sizeof(double) * (size_t)(q.par.K * q.x.N)) == 0);
    CHECK(memcmp(many.s.p, one.s.p, sizeof(double) * (size_t)q.x.N_pos) == 0);
    CHECK(memcmp(many.s.trace, one.s.trace, sizeof(double) * DLFUMI_TERMS * 2) == 0);
  }
  arena_release();
}

/* ---- residuals ------------------------------------------------------------------------ */

/* ||x_i - sum_{k >= from} a_ik d_k||^2 with the digits of a long double */
static double long_residual(const fumi_data *x, int K, int from, const double *D, const double *A,
                            int i) {
  long double sum = 0;
  for (int r = 0; r < x->d; r++) {
    long double e = (long double)x->scale[i] * fumi_ccol(x->X, x->d, i)[r];
    for (int k = from; k < K; k++)
      e -= (long double)fumi_ccol(A, K, i)[k] * fumi_ccol(D, x->d, k)[r];
    sum += e * e;
  }
  return (double)sum;
}

/* Residuals of all instances in blocks: the largest relative error */
static double worst_residual(const fumi_data *x, int K, int from, const double *D, const double *A,
                             int simd) {
  recorder rec = {0};
  const fumi_host host = host_of(&rec);
  fumi_block b;
  double r[FUMI_MAX_BLOCK], worst = 0;
  CHECK(fumi_block_with_atoms(&b, x, fumi_choose_kernel(simd), K, D, &host) == FUMI_OK);
  for (int first = 0; first < x->N; first += b.n) {
    fumi_block_project(&b, first, x->N, 0);
    fumi_block_load(&b, A);
    fumi_block_residual(&b, from, r);
    for (int i = 0; i < b.n; i++) {
      const double expected = long_residual(x, K, from, D, A, first + i);
      worst = fmax(worst, fabs(r[i] - expected) / expected);
    }
  }
  return worst;
}

/* Two atoms at an angle, with codes that cancel in Da: the Gram form has terms of 1 / angle^2. */
static void test_residuals_of_twin_atoms(void) {
  const int d = 30, K = 5, N = 100;
  for (int simd = 0; simd <= 2; simd++)
    for (int from = 0; from <= 1; from++)
      for (double angle = 1; angle > 1e-7; angle /= 10) {
        const fumi_data x = random_data(d, 0, N);
        double *D = random_atoms(d, K), *A = random_doubles(K * N);
        for (int r = 0; r < d; r++) D[r + d * 3] = D[r + d * 2] + angle * D[r + d * 3];
        for (int i = 0; i < N; i++) A[3 + K * i] = 1 / angle, A[2 + K * i] -= 1 / angle;
        CHECK_NEAR(worst_residual(&x, K, from, D, A, simd), 0, fmax(1e-11, 1e-14 / angle));
        arena_release();
      }
}

/* Codes that represent the instances to `noise`: the residual is small beside each term. */
static void test_residuals_of_good_codes(void) {
  const int d = 37, K = 6, N = 210;
  for (int simd = 0; simd <= 2; simd++)
    for (double noise = 1; noise > 1e-9; noise /= 10) {
      const double *D = random_atoms(d, K), *A = random_doubles(K * N);
      double *X = random_doubles((ptrdiff_t)d * N);
      for (int i = 0; i < N; i++)
        for (int r = 0; r < d; r++) {
          X[r + d * i] *= noise;
          for (int k = 0; k < K; k++) X[r + d * i] += A[k + K * i] * D[r + d * k];
        }
      const fumi_data x = {d, N, 0, X, filled(N, 1), NULL};
      CHECK_NEAR(worst_residual(&x, K, 0, D, A, simd), 0, fmax(1e-11, 1e-15 / noise));
      arena_release();
    }
}

int main(void) {
  RUN(test_residuals_of_twin_atoms);
  RUN(test_residuals_of_good_codes);
  RUN(test_number_of_blocks);
  RUN(test_groups);
  RUN(test_usable_threads);
  RUN(test_each_block);
#ifdef _OPENMP
  RUN(test_nobody_waits);
#endif
  RUN(test_stop);
  RUN(test_same_bits);
  return mu_report();
}
