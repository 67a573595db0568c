/* Codes (10)-(13) against naive.h, and the optimality of the codes of the variant "exact". */
#include "fits.h"

/* A start may hold target codes for negative bags: the step makes them 0. */
static void check_codes(problem q) {
  problem expected = twin(&q);
  naive_codes(&expected);
  for (int i = q.x.N_pos; i < q.x.N; i++) code_of(&q, i)[0] = 42;
  CHECK(step(&q, STEP_CODES, NULL) == FUMI_OK);
  check_same(&q, &expected, 1e-10);
}

static void test_codes(void) { with_problems(check_codes); }

/* ---- variant "exact" ------------------------------------------------------------------------ */

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
    worst = fmax(worst, a != 0 ? fabs(c - copysign(lambda, a))
                               : (q->par.nonneg_codes ? c : fabs(c)) - lambda);
  }
  return worst;
}

static void check_exact_codes(shape z, int bounded, dlfumi_solver solver, double gap,
                              double tolerance) {
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

/* A solver that stops at a duality gap meets the conditions only to the square root of the gap.
 * ISTA with more atoms than features converges too slowly to be tested. */
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

int main(void) {
  RUN(test_codes);
  RUN(test_exact_codes);
  RUN(test_exact_at_extreme_p);
  return mu_report();
}
