/* Anderson acceleration of a linear map, whose fixed point it must find in one step more than there
 * are dimensions, and of fits, whose objective it must never raise. */
#include "fits.h"

static void test_linear_map(void) {
  const int n = 4;
  const double slow[] = {.99, .9, -.5, .3}, c[] = {1, -2, .5, 3};
  double x[4] = {0, 0, 0, 0}, plain[4] = {0, 0, 0, 0}, g[4];
  fumi_anderson a;
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(fumi_anderson_init(&a, 2, 2, &host) == FUMI_OK);
  for (int step = 0; step < n + 2; step++) {
    for (int j = 0; j < n; j++) g[j] = slow[j] * x[j] + c[j], plain[j] = slow[j] * plain[j] + c[j];
    CHECK(fumi_anderson_step(&a, x, g) == (step > 0));
    memcpy(x, g, sizeof x);
  }
  for (int j = 0; j < n; j++)
    CHECK_NEAR(x[j], c[j] / (1 - slow[j]), 1e-4 * fabs(c[j] / (1 - slow[j])));
  CHECK(fabs(plain[0] - 100) > 90);
  fumi_anderson_forget(&a);
  CHECK(fumi_anderson_step(&a, x, g) == 0);
  arena_release();
}

/* A prior of 0 and 1 holds p, and without incoherence no iteration may raise (4). */
static void test_never_raises(void) {
  for (int repeat = 0; repeat < 6; repeat++) {
    problem q = repeat % 2 ? bounded_problem((shape){12, 2, 4, 60, 60})
                           : random_problem((shape){12, 2, 4, 60, 60});
    double *prior = doubles(60);
    for (int i = 0; i < 60; i++) prior[i] = i % 2;
    q.par.prior = prior;
    q.par.variant = DLFUMI_EXACT;
    q.par.gamma = 0, q.par.lambda = .05, q.par.accelerate = 1, q.par.max_iter = 60;
    q = twin(&q);
    problem plain = twin(&q);
    plain.par.accelerate = 0;
    recorder r[2] = {{0}, {0}};
    CHECK(fit(&q, r) == FUMI_MAXIT && fit(&plain, r + 1) == FUMI_MAXIT);
    for (int it = 1; it < 60; it++)
      CHECK(q.s.trace[DLFUMI_TERMS * it] <= q.s.trace[DLFUMI_TERMS * (it - 1)] * (1 + 1e-10));
    CHECK(worst_difference(q.s.trace, plain.s.trace, DLFUMI_TERMS * 60) >
          1e-6);                    /* it does something */
    CHECK(r[0].polls > r[1].polls); /* and some of it was taken back */
    for (int k = 0; k < q.par.K; k++) CHECK_NEAR(norm(q.x.d, atom_of(&q, k)), 1, 1e-12);
    arena_release();
  }
}

int main(void) {
  RUN(test_linear_map);
  RUN(test_never_raises);
  return mu_report();
}
