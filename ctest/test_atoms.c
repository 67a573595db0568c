/* Atoms (5), (8), (9) against naive.h, and the policies for unused atoms. */
#include "fits.h"

static void check_atoms(problem q) {
  problem expected = twin(&q);
  naive_atoms(&expected);
  CHECK(step(&q, STEP_ATOMS, NULL) == FUMI_OK);
  check_same(&q, &expected, 1e-10);
  for (int k = 0; k < q.par.K; k++) CHECK(q.s.n_dead[k] == 0 || q.par.nonneg_atoms);
}

static void test_atoms(void) { with_problems(check_atoms); }

/* ---- unused atoms --------------------------------------------------------------------------- */

/* The instance that replaces atom k: the one represented worst that is not yet taken. */
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

int main(void) {
  RUN(test_atoms);
  RUN(test_dead_resample);
  RUN(test_dead_keep);
  RUN(test_dead_drop);
  return mu_report();
}
