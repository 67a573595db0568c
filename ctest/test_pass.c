/* E-step (6) and objective (4) against naive.h; a pass on any number of threads. */
#include "fits.h"

static void check_expect(problem q) {
  problem expected = twin(&q);
  naive_expect(&expected);
  CHECK(step(&q, STEP_EXPECT, NULL) == FUMI_OK);
  check_same(&q, &expected, 1e-10);
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

static void test_expect(void) { with_problems(check_expect); }
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

/* A prior of .5 is none; one of 0 or 1 is the probability whatever the residual, also 0 and very
 * large. */
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

int main(void) {
  RUN(test_expect);
  RUN(test_objective);
  RUN(test_small_residuals);
  RUN(test_prior);
  RUN(test_threads);
  return mu_report();
}
