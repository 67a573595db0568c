/* DL-FUMI: whole fits against naive.h, when they stop, and what a fit must not depend on. */
#include "fits.h"

static void check_fit(problem q) {
  problem expected = twin(&q);
  recorder r = {0};
  naive_fit(&expected);
  CHECK(fit(&q, &r) == FUMI_MAXIT);
  check_same(&q, &expected, 1e-9);
  CHECK(q.s.n_iter == q.par.max_iter && r.reports == q.s.n_iter);
  for (int j = 0; j < DLFUMI_TERMS * q.s.n_iter; j++)
    CHECK_NEAR(q.s.trace[j], expected.s.trace[j], 1e-9 * (1 + fabs(expected.s.trace[j])));
  CHECK(r.last_objective == q.s.trace[DLFUMI_TERMS * (q.s.n_iter - 1)]);
}

static void test_fit(void) { with_problems(check_fit); }

/* A shorter run is the beginning of a longer one. */
static void test_max_iter(void) {
  for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++) {
    problem longest = random_problem((shape){12, 2, 4, 30, 30});
    longest.par.variant = (dlfumi_variant)variant;
    longest.par.max_iter = 6;
    problem start = twin(&longest);
    longest = twin(&start);
    recorder r = {0};
    CHECK(fit(&longest, &r) == FUMI_MAXIT);
    for (int n = 1; n <= 6; n++) {
      recorder shorter = {0};
      problem q = twin(&start);
      q.par.max_iter = n;
      CHECK(fit(&q, &shorter) == FUMI_MAXIT);
      CHECK(q.s.n_iter == n);
      CHECK(worst_difference(q.s.trace, longest.s.trace, DLFUMI_TERMS * n) == 0);
    }
    arena_release();
  }
}

/* Stops at the first iteration that changes the objective by less than tol. */
static void test_convergence(void) {
  for (int absolute = 0; absolute <= 1; absolute++)
    for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++) {
      problem q = random_problem((shape){12, 2, 4, 30, 30});
      q.par.variant = (dlfumi_variant)variant;
      q.par.absolute_tol = absolute;
      q.par.tol = 1e-3;
      q.par.max_iter = 200;
      problem run = twin(&q);
      recorder r = {0};
      CHECK(fit(&run, &r) == FUMI_CONVERGED);
      const double least = q.par.tol * (absolute ? 1 : fabs(run.s.trace[0]));
      for (int it = 1; it < run.s.n_iter; it++) {
        const double change = run.s.trace[DLFUMI_TERMS * it] - run.s.trace[DLFUMI_TERMS * (it - 1)];
        CHECK((fabs(change) < least) == (it == run.s.n_iter - 1));
      }
      arena_release();
    }
}

/* A fit continues if atoms are unused from the start, under each policy and variant. */
static void test_dead_in_a_fit(void) {
  const int unused[] = {1, 4};
  for (int dead = DLFUMI_RESAMPLE; dead <= DLFUMI_DROP; dead++)
    for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++) {
      problem q = problem_with_unused((dlfumi_dead)dead, unused, 2);
      recorder r = {0};
      q.par.variant = (dlfumi_variant)variant;
      CHECK(fit(&q, &r) == FUMI_MAXIT);
      CHECK(all_finite(q.s.D, q.x.d * q.par.K) && all_finite(q.s.A, q.par.K * q.x.N));
      for (int k = 0; k < q.par.K; k++) {
        const double size = norm(q.x.d, atom_of(&q, k));
        if (size == 0) CHECK(dead == DLFUMI_DROP && q.s.n_dead[k] > 0);
        else CHECK_NEAR(size, 1, 1e-12);
        for (int i = 0; i < q.x.N && size == 0; i++) CHECK(code_of(&q, i)[k] == 0);
      }
      arena_release();
    }
}

/* With p, cosines and old atoms frozen, neither sub-step can increase (4). */
static void check_exact_descends(problem q) {
  q.par.variant = DLFUMI_EXACT;
  q.par.gamma = 0;
  for (int it = 0; it < 5; it++) {
    double terms[4][DLFUMI_TERMS];
    CHECK(step(&q, STEP_EXPECT, NULL) == FUMI_OK);
    naive_objective(&q, q.s.D, terms[0]);
    CHECK(step(&q, STEP_ATOMS, NULL) == FUMI_OK);
    naive_objective(&q, q.s.D, terms[1]);
    CHECK(step(&q, STEP_CODES, NULL) == FUMI_OK);
    naive_objective(&q, q.s.D, terms[2]);
    CHECK(terms[1][0] <= terms[0][0] * (1 + 1e-12) && terms[2][0] <= terms[1][0] * (1 + 1e-12));
  }
  arena_release();
}

static void test_exact_descends(void) {
  check_exact_descends(random_problem((shape){12, 2, 4, 30, 30}));
  check_exact_descends(bounded_problem((shape){12, 2, 4, 30, 30}));
}

/* "exact" whose p is held by a prior of 0 and 1, so that (4) has a minimum. */
static problem steady_problem(int bounded) {
  const shape z = {12, 2, 4, 60, 60};
  problem q = bounded ? bounded_problem(z) : random_problem(z);
  double *prior = doubles(z.N_pos);
  for (int i = 0; i < z.N_pos; i++) prior[i] = i % 2;
  q.par.prior = prior;
  q.par.variant = DLFUMI_EXACT;
  q.par.gamma = 0, q.par.lambda = .05, q.par.max_iter = 400;
  return q;
}

/* Looks at the instances until (4) is as low as `goal`: there is a poll for each. */
static int looks_until(const problem *q, double goal) {
  problem run = twin(q), shorter = twin(q);
  recorder r[2] = {{0}, {0}};
  CHECK(fit(&run, r) == FUMI_MAXIT);
  int n = 0;
  while (n < run.s.n_iter && run.s.trace[DLFUMI_TERMS * n] > goal) n++;
  CHECK(n < run.s.n_iter);
  shorter.par.max_iter = n + 1;
  CHECK(fit(&shorter, r + 1) == FUMI_MAXIT);
  return r[1].polls;
}

/* Acceleration never raises (4), and takes something back to keep that. */
static void test_acceleration_never_raises(void) {
  for (int repeat = 0; repeat < 6; repeat++) {
    const problem start = steady_problem(repeat % 2);
    problem q = twin(&start), plain = twin(&start);
    recorder r[2] = {{0}, {0}};
    q.par.accelerate = 1;
    CHECK(fit(&q, r) == FUMI_MAXIT && fit(&plain, r + 1) == FUMI_MAXIT);
    for (int it = 1; it < q.par.max_iter; it++)
      CHECK(q.s.trace[DLFUMI_TERMS * it] <= q.s.trace[DLFUMI_TERMS * (it - 1)] * (1 + 1e-10));
    CHECK(r[0].polls > r[1].polls);
    for (int k = 0; k < q.par.K; k++) CHECK_NEAR(norm(q.x.d, atom_of(&q, k)), 1, 1e-12);
    arena_release();
  }
}

/* It takes at most half of the looks at the instances to come as low as the plain way ends. */
static void test_acceleration_is_fast(void) {
  int looks[2] = {0, 0};
  for (int repeat = 0; repeat < 10; repeat++) {
    problem plain = steady_problem(1), q = twin(&plain), ends[] = {twin(&plain), twin(&plain)};
    recorder r = {0};
    double goal = 0;
    q.par.accelerate = ends[1].par.accelerate = 1;
    for (int e = 0; e < 2; e++) {
      CHECK(fit(ends + e, &r) == FUMI_MAXIT);
      goal = fmax(goal, ends[e].s.trace[DLFUMI_TERMS * (ends[e].s.n_iter - 1)] * (1 + 1e-4));
      r = (recorder){0};
    }
    looks[0] += looks_until(&plain, goal), looks[1] += looks_until(&q, goal);
    arena_release();
  }
  CHECK(2 * looks[1] <= looks[0]);
}

/* An instance of weight 3 counts as three instances. */
static void test_weight_is_a_count(void) {
  const int d = 6, K = 5, N_pos = 8, N = 14;
  for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++) {
    problem one = random_problem((shape){d, 2, 3, N_pos, 6});
    problem many = random_problem((shape){d, 2, 3, N_pos + 2, 8});
    double *X = doubles(d * 18), *scale = doubles(18), *A = doubles(K * 18), *weight = filled(N, 1);
    for (int j = 0; j < 18; j++) { /* the first instance of each kind is there three times */
      const int i = j < 3 ? 0 : j < N_pos + 2 ? j - 2 : j < N_pos + 5 ? N_pos : j - 4;
      memcpy(fumi_col(X, d, j), fumi_ccol(one.x.X, d, i), sizeof(double) * (size_t)d);
      memcpy(fumi_col(A, K, j), code_of(&one, i), sizeof(double) * (size_t)K);
      scale[j] = one.x.scale[i];
    }
    weight[0] = weight[N_pos] = 3;
    one.par.weight = weight;
    one.par.variant = many.par.variant = (dlfumi_variant)variant;
    many.x.X = X, many.x.scale = scale;
    many.s = start_state(&many.x, &many.par, one.s.D, A);
    recorder r[2] = {{0}, {0}};
    CHECK(fit(&one, r) == FUMI_MAXIT && fit(&many, r + 1) == FUMI_MAXIT);
    CHECK_NEAR(worst_difference(one.s.D, many.s.D, d * K), 0, 1e-9);
    CHECK_NEAR(worst_difference(one.s.trace, many.s.trace, DLFUMI_TERMS * one.s.n_iter), 0, 1e-9);
    arena_release();
  }
}

static void test_carried(void) {
  problem q = bounded_problem((shape){5, 2, 3, 7, 9});
  double carried[10];
  dlfumi_carried(&q.par, q.x.N, q.x.N_pos, q.s.A, q.s.p, carried);
  for (int k = 0; k < 5; k++) {
    double energy = 0, sum = 0;
    for (int i = 0; i < q.x.N; i++) {
      const double p = i < q.x.N_pos ? q.s.p[i] : 0, a = code_of(&q, i)[k];
      const double w = weight_of(&q, i) * (k < 2 ? p : 1);
      energy += w * a * a;
      sum += w * a;
    }
    CHECK_NEAR(carried[2 * k], energy, 1e-12);
    CHECK_NEAR(carried[2 * k + 1], sum, 1e-12);
  }
  arena_release();
}

static void test_arrange(void) {
  const int K = 3, row[] = {2, 0, 1};
  const double sign[] = {1, -1, 1};
  for (int N = 0; N <= 12; N++) {
    recorder r = {0};
    const fumi_host host = host_of(&r);
    double *A = random_doubles(K * N + 1);
    const double *before = copied(A, K * N + 1);
    int order[12];
    for (int i = 0; i < N; i++) order[i] = N % 2 ? (2 * i + 1) % N : N % 5 ? (i + 3) % N : i;
    CHECK(fumi_arrange(K, N, row, sign, order, A, &host) == FUMI_OK);
    for (int i = 0; i < N; i++)
      for (int k = 0; k < K; k++) CHECK(A[k + K * order[i]] == sign[k] * before[row[k] + K * i]);
    arena_release();
  }
}

int main(void) {
  RUN(test_fit);
  RUN(test_max_iter);
  RUN(test_convergence);
  RUN(test_dead_in_a_fit);
  RUN(test_exact_descends);
  RUN(test_acceleration_never_raises);
  RUN(test_acceleration_is_fast);
  RUN(test_weight_is_a_count);
  RUN(test_carried);
  RUN(test_arrange);
  return mu_report();
}
