/* fits.h: what the tests of DL-FUMI share: problems of many shapes, one step or a whole fit of the
 * core on them, and comparison with the naive one. */
#ifndef FUMI_FITS_H
#define FUMI_FITS_H

#include "naive.h"

static const shape SHAPES[] = {{1, 1, 1, 1, 1},    {1, 2, 1, 3, 2},      {3, 1, 1, 1, 5},
                               {3, 1, 2, 5, 1},    {2, 3, 4, 9, 8},      {7, 2, 3, 30, 40},
                               {40, 3, 7, 25, 13}, {13, 4, 5, 130, 100}, {513, 1, 1, 13, 12}};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

/* A copy of a problem that shares its data and nothing else. */
static inline problem twin(const problem *q) {
  problem other = *q;
  other.s = start_state(&q->x, &q->par, q->s.D, q->s.A);
  memcpy(other.s.p, q->s.p, sizeof(double) * (size_t)q->x.N_pos);
  return other;
}

static inline fumi_status step(problem *q, dlfumi_step_kind kind, const double *D_old) {
  recorder r = {0};
  const fumi_host host = host_of(&r);
  return dlfumi_step(&q->x, &q->par, kind, D_old, &q->s, &host);
}

static inline fumi_status fit(problem *q, recorder *r) {
  const fumi_host host = host_of(r);
  return dlfumi_fit(&q->x, &q->par, &q->s, &host);
}

static inline void check_same(const problem *actual, const problem *expected, double tolerance) {
  const ptrdiff_t d = actual->x.d, K = actual->par.K;
  CHECK_NEAR(worst_difference(actual->s.D, expected->s.D, d * K), 0, tolerance);
  CHECK_NEAR(worst_difference(actual->s.A, expected->s.A, K * actual->x.N), 0, tolerance);
  CHECK_NEAR(worst_difference(actual->s.p, expected->s.p, actual->x.N_pos), 0, tolerance);
}

/* Every shape, variant and kernel, with and without bounds, weights and a prior, each time on a new
 * random problem. */
static inline void with_problems(void (*check)(problem)) {
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

/* A problem where no code uses the atoms in `unused`. */
static inline problem problem_with_unused(dlfumi_dead dead, const int *unused, int n) {
  problem q = random_problem((shape){9, 3, 3, 110, 105});
  q.par.dead = dead;
  for (int i = 0; i < q.x.N; i++)
    for (int j = 0; j < n; j++) code_of(&q, i)[unused[j]] = 0;
  return q;
}

#endif
