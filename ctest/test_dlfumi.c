/* DL-FUMI: each step and whole fits against naive.h, what happens to an atom without
 * use, and the optimality of the codes of the variant "exact". */
#include "naive.h"

static const shape SHAPES[] = {
    {1, 1, 1, 1, 1},  {1, 2, 1, 3, 2},  {3, 1, 1, 1, 5},    {3, 1, 2, 5, 1},     {2, 3, 4, 9, 8},
    {7, 2, 3, 30, 40}, {40, 3, 7, 25, 13}, {13, 4, 5, 130, 100}, {513, 1, 1, 13, 12}};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

/* A copy of a problem that shares its data and nothing else. */
static problem twin(const problem *q) {
  problem other = *q;
  other.s = start_state(&q->x, &q->par, q->s.D, q->s.A);
  memcpy(other.s.p, q->s.p, sizeof(double) * (size_t)q->x.N_pos);
  return other;
}

static fumi_status step(problem *q, dlfumi_step_kind kind, const double *D_old) {
  recorder r = {0};
  const fumi_host host = host_of(&r);
  return dlfumi_step(&q->x, &q->par, kind, D_old, &q->s, &host);
}

static fumi_status fit(problem *q, recorder *r) {
  const fumi_host host = host_of(r);
  return dlfumi_fit(&q->x, &q->par, &q->s, &host);
}

static void check_same(const problem *actual, const problem *expected, double tolerance) {
  const ptrdiff_t d = actual->x.d, K = actual->par.K;
  CHECK_NEAR(worst_difference(actual->s.D, expected->s.D, d * K), 0, tolerance);
  CHECK_NEAR(worst_difference(actual->s.A, expected->s.A, K * actual->x.N), 0, tolerance);
  CHECK_NEAR(worst_difference(actual->s.p, expected->s.p, actual->x.N_pos), 0, tolerance);
}

/* ---- single steps ------------------------------------------------------------------ */

static void check_expect(problem q) {
  problem expected = twin(&q);
  naive_expect(&expected);
  CHECK(step(&q, STEP_EXPECT, NULL) == FUMI_OK);
  check_same(&q, &expected, 1e-10);
}

/* A start may hold target codes for negative bags: the step makes them 0. */
static void check_codes(problem q) {
  problem expected = twin(&q);
  naive_codes(&expected);
  for (int i = q.x.N_pos; i < q.x.N; i++) code_of(&q, i)[0] = 42;
  CHECK(step(&q, STEP_CODES, NULL) == FUMI_OK);
  check_same(&q, &expected, 1e-10);
}

static void check_atoms(problem q) {
  problem expected = twin(&q);
  naive_atoms(&expected);
  CHECK(step(&q, STEP_ATOMS, NULL) == FUMI_OK);
  check_same(&q, &expected, 1e-10);
  for (int k = 0; k < q.par.K; k++) CHECK(q.s.n_dead[k] == 0 || q.par.nonneg_atoms);
}

static void check_objective(problem q) {
  const double *D_old = random_atoms(q.x.d, q.par.K);
  double terms[DLFUMI_TERMS];
  problem before = twin(&q);
  naive_objective(&q, D_old, terms);
  CHECK(step(&q, STEP_OBJECTIVE, D_old) == FUMI_OK);
  check_same(&q, &before, 0);
  for (int j = 0; j < DLFUMI_TERMS; j++)
    CHECK_NEAR(q.s.trace[j], terms[j], 1e-10 * (1 + fabs(terms[j])));
}

/* Every shape, variant and kernel, with and without bounds, weights and a prior, each time on a new random
 * problem. */
static void with_problems(void (*check)(problem)) {
  for (int s = 0; s < N_SHAPES; s++)
    for (int matlab = 0; matlab <= 1; matlab++)
      for (int simd = 0; simd <= 5; simd++) {
        problem q = simd > 2 ? bounded_problem(SHAPES[s]) : random_problem(SHAPES[s]);
        q.par.variant = matlab ? DLFUMI_MATLAB : DLFUMI_PAPER;
        q.par.simd = simd % 3;
        check(q);
        arena_release();
      }
}

static void test_expect(void) { with_problems(check_expect); }
static void test_codes(void) { with_problems(check_codes); }
static void test_atoms(void) { with_problems(check_atoms); }
static void test_objective(void) { with_problems(check_objective); }

/* Residuals that are tiny beside x, where the Gram form has no digits left: p is small,
 * and right to its last digits. */
static void test_small_residuals(void) {
  problem q = random_problem((shape){20, 1, 3, 30, 30});
  double *X = doubles(20 * 60);
  q.x.scale = filled(60, 1);
  q.x.X = X;
  for (int i = 0; i < 60; i++)
    for (int r = 0; r < 20; r++) {
      X[r + 20 * i] = 1e-7 * symmetric();
      for (int k = 1; k < 4; k++) X[r + 20 * i] += code_of(&q, i)[k] * atom_of(&q, k)[r];
    }
  CHECK(step(&q, STEP_EXPECT, NULL) == FUMI_OK);
  for (int i = 0; i < 30; i++) {
    const double expected = q.par.beta * naive_residual2(&q, 1, i);
    CHECK_NEAR(q.s.p[i], expected, 1e-6 * expected);
  }
  arena_release();
}

/* ---- fits -------------------------------------------------------------------------- */

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

/* Threads: the same bits for any number of them. */
static void test_threads(void) {
  for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++)
    for (int s = 0; s < N_SHAPES; s++) {
      const shape z = s == 0 ? (shape){5, 2, 3, 300, 900} : SHAPES[s];
      problem q = s % 2 ? bounded_problem(z) : random_problem(z);
      q.par.variant = (dlfumi_variant)variant;
      q.par.simd = s % 3;
      problem one = twin(&q);
      recorder first = {0};
      CHECK(fit(&one, &first) == FUMI_MAXIT);
      for (int threads = 2; threads <= 9; threads += 7) {
        problem many = twin(&q);
        recorder r = {0};
        many.par.threads = threads;
        CHECK(fit(&many, &r) == FUMI_MAXIT);
        check_same(&many, &one, 0);
        CHECK(worst_difference(many.s.trace, one.s.trace, DLFUMI_TERMS * one.s.n_iter) == 0);
        CHECK(many.s.worst_gap == one.s.worst_gap);
      }
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

/* ---- atoms without use ------------------------------------------------------------- */

/* A problem where no code uses the atoms in `unused`. */
static problem problem_with_unused(dlfumi_dead dead, const int *unused, int n) {
  problem q = random_problem((shape){9, 3, 3, 110, 105});
  q.par.dead = dead;
  for (int i = 0; i < q.x.N; i++)
    for (int j = 0; j < n; j++) code_of(&q, i)[unused[j]] = 0;
  return q;
}

/* The instance that stands in for atom k: the worst represented but those already taken. */
static int naive_worst(const problem *q, int k, int taken) {
  const int target = k < q->par.T;
  double most = 0;
  int worst = -1;
  for (int i = target ? 0 : q->x.N_pos; i < (target ? q->x.N_pos : q->x.N); i++) {
    const double e = naive_residual2(q, 0, i) * (target ? p_of(q, i) : 1);
    if (i != taken && e > most) most = e, worst = i;
  }
  return worst;
}

static double distance_to_instance(const problem *q, int k, int i) {
  double *x = copied(fumi_ccol(q->x.X, q->x.d, i), q->x.d);
  unit_columns(q->x.d, 1, x);
  return worst_difference(atom_of(q, k), x, q->x.d);
}

static void test_dead_resample(void) {
  for (int first = 0; first < 6; first += 3) {
    const int unused[] = {first, first + 2};
    problem q = problem_with_unused(DLFUMI_RESAMPLE, unused, 2), before = twin(&q);
    CHECK(step(&q, STEP_ATOMS, NULL) == FUMI_OK);
    const int i = naive_worst(&before, unused[0], -1), j = naive_worst(&before, unused[1], i);
    CHECK(i != j);
    CHECK_NEAR(distance_to_instance(&q, unused[0], i), 0, 1e-14);
    CHECK_NEAR(distance_to_instance(&q, unused[1], j), 0, 1e-14);
    for (int k = 0; k < 6; k++) CHECK(q.s.n_dead[k] == (k == unused[0] || k == unused[1]));
    arena_release();
  }
}

static void test_dead_keep(void) {
  for (int k = 0; k < 6; k++) {
    problem q = problem_with_unused(DLFUMI_KEEP, &k, 1), before = twin(&q);
    CHECK(step(&q, STEP_ATOMS, NULL) == FUMI_OK);
    CHECK(worst_difference(atom_of(&q, k), atom_of(&before, k), q.x.d) == 0);
    CHECK(q.s.n_dead[k] == 1);
    arena_release();
  }
}

/* Dropped atoms become 0, but the last of a kind stays; nothing is dropped twice. */
static void test_dead_drop(void) {
  for (int first = 0; first < 6; first += 3) {
    const int unused[] = {first, first + 1, first + 2};
    problem q = problem_with_unused(DLFUMI_DROP, unused, 3), before = twin(&q);
    for (int repeat = 1; repeat <= 2; repeat++) {
      CHECK(step(&q, STEP_ATOMS, NULL) == FUMI_OK);
      for (int j = 0; j < 2; j++) {
        CHECK(norm(q.x.d, atom_of(&q, unused[j])) == 0);
        CHECK(q.s.n_dead[unused[j]] == 1);
      }
      CHECK(worst_difference(atom_of(&q, unused[2]), atom_of(&before, unused[2]), q.x.d) == 0);
      CHECK(q.s.n_dead[unused[2]] == repeat);
    }
    arena_release();
  }
}

/* A fit goes on with atoms that died at its start, under each policy and variant. */
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

/* ---- variant "exact" --------------------------------------------------------------- */

/* Distance of the codes of instance i from the optimum of their lasso. */
static double kkt_violation(const problem *q, int i) {
  const int d = q->x.d, T = q->par.T, positive = i < q->x.N_pos;
  const double p = p_of(q, i), lambda = q->par.lambda;
  double *r = doubles(d), *r_bg = doubles(d), worst = 0;
  naive_residual(q, 0, i, r);
  naive_residual(q, T, i, r_bg);
  for (int k = positive ? 0 : T; k < q->par.K; k++) {
    const double a = code_of(q, i)[k], full = dot(d, atom_of(q, k), r);
    const double c = k < T ? full : p * full + (1 - p) * dot(d, atom_of(q, k), r_bg);
    worst = fmax(worst, a != 0 ? fabs(c - copysign(lambda, a)) : (q->par.nonneg_codes ? c : fabs(c)) - lambda);
  }
  return worst;
}

static void check_exact_codes(shape z, int bounded, dlfumi_solver solver, double gap, double tolerance) {
  problem q = bounded ? bounded_problem(z) : random_problem(z);
  q.par.variant = DLFUMI_EXACT;
  q.par.solver = solver;
  q.par.gap = gap;
  q.par.lambda = .05;
  q.par.inner = 50;
  for (int i = 0; i < z.N_pos; i++) q.s.p[i] = .1 + .9 * uniform();
  CHECK(step(&q, STEP_CODES, NULL) == FUMI_OK);
  CHECK_NEAR(q.s.worst_gap, 0, 1e-10);
  CHECK(!bounded || none_negative(q.s.A, q.par.K * q.x.N));
  for (int i = 0; i < q.x.N; i++) {
    CHECK_NEAR(kkt_violation(&q, i), 0, tolerance);
    for (int t = 0; t < z.T && i >= z.N_pos; t++) CHECK(code_of(&q, i)[t] == 0);
  }
  arena_release();
}

/* What stops at a gap meets the conditions to its square root. ISTA on more atoms than
 * features gets there too slowly to be asked. */
static void test_exact_codes(void) {
  for (int s = 0; s < N_SHAPES; s++) {
    const shape z = SHAPES[s];
    for (int bounded = 0; bounded <= 1; bounded++) {
      check_exact_codes(z, bounded, DLFUMI_ACTIVE, 1e-16, 1e-9);
      if (z.T + z.M <= z.d) check_exact_codes(z, bounded, DLFUMI_ISTA, 1e-10, 1e-4);
    }
  }
}

/* p at the ends of its range: no target code at 0, and codes that are finite. */
static void test_exact_at_extreme_p(void) {
  const double ends[] = {0, 1e-20, 1};
  for (int e = 0; e < 3; e++)
    for (int solver = DLFUMI_ISTA; solver <= DLFUMI_ACTIVE; solver++) {
      problem q = random_problem((shape){12, 2, 4, 20, 5});
      q.par.variant = DLFUMI_EXACT;
      q.par.solver = (dlfumi_solver)solver;
      for (int i = 0; i < q.x.N_pos; i++) q.s.p[i] = ends[e];
      CHECK(step(&q, STEP_CODES, NULL) == FUMI_OK);
      CHECK(all_finite(q.s.A, q.par.K * q.x.N));
      CHECK_NEAR(q.s.worst_gap, 0, q.par.gap);
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

/* A prior of .5 is none; one of 0 or 1 is the probability whatever the residual, also 0 and very large. */
static void test_prior(void) {
  const double ends[] = {0, .5, 1}, betas[] = {2, 1e300};
  for (int e = 0; e < 3; e++)
    for (int b = 0; b < 2; b++) {
      problem q = random_problem((shape){7, 2, 3, 30, 4});
      q.par.beta = betas[b];
      q.x.scale = memset(copied(q.x.scale, 34), 0, sizeof(double) * 3);
      memset(q.s.A, 0, sizeof(double) * 3 * 5);
      problem plain = twin(&q);
      q.par.prior = filled(30, ends[e]);
      CHECK(step(&q, STEP_EXPECT, NULL) == FUMI_OK && step(&plain, STEP_EXPECT, NULL) == FUMI_OK);
      for (int i = 0; i < 30; i++)
        if (ends[e] == .5) CHECK_NEAR(q.s.p[i], plain.s.p[i], 1e-15);
        else CHECK(q.s.p[i] == ends[e]);
      arena_release();
    }
}

int main(void) {
  RUN(test_expect);
  RUN(test_codes);
  RUN(test_atoms);
  RUN(test_objective);
  RUN(test_small_residuals);
  RUN(test_fit);
  RUN(test_threads);
  RUN(test_carried);
  RUN(test_arrange);
  RUN(test_max_iter);
  RUN(test_convergence);
  RUN(test_dead_resample);
  RUN(test_dead_keep);
  RUN(test_dead_drop);
  RUN(test_dead_in_a_fit);
  RUN(test_exact_codes);
  RUN(test_exact_at_extreme_p);
  RUN(test_exact_descends);
  RUN(test_weight_is_a_count);
  RUN(test_prior);
  return mu_report();
}
