/* Passes over parts of the instances against one over all, the worst represented instance of a
 * part, and single steps against those of a fit. */
#include "fits.h"

/* Instances from .. end - 1 of a problem, of one label or both. */
static fumi_data part_of(const fumi_data *x, int from, int end) {
  const int last = end < x->N_pos ? end : x->N_pos;
  return (fumi_data){x->d,
                     end - from,
                     last > from ? last - from : 0,
                     fumi_ccol(x->X, x->d, from),
                     x->scale + from,
                     x->norm2 ? x->norm2 + from : NULL};
}

static dlfumi_part room_for(const problem *q, int from, int end, const double *p_next) {
  const int n = end < q->x.N_pos ? end : q->x.N_pos;
  return (dlfumi_part){copied(code_of(q, from), (ptrdiff_t)q->par.K * (end - from)),
                       filled(n > from ? n - from : 0, 0),
                       copied(p_next + (from < q->x.N_pos ? from : 0), n > from ? n - from : 0)};
}

/* The sums of the parts are those of the whole, and so are codes, p and the next p. */
static void check_parts(problem q, dlfumi_pass_kind kind) {
  const int K = q.par.K, ldu = fumi_padded(q.x.d), cuts[] = {0, 7, 22, 31, 40};
  const double *p_next = q.s.p;
  dlfumi_part all = room_for(&q, 0, q.x.N, p_next);
  dlfumi_sums whole, sums;
  double reconstruction = 0, l1 = 0, energy = 0, *U = filled(ldu * K, 0), *S = filled(K * K, 0);
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(dlfumi_pass(&q.x, &q.par, kind, q.s.D, &all, &whole, &host) == FUMI_OK);
  for (int c = 0; c < 4; c++) {
    const fumi_data x = part_of(&q.x, cuts[c], cuts[c + 1]);
    dlfumi_part part = room_for(&q, cuts[c], cuts[c + 1], p_next);
    CHECK(dlfumi_pass(&x, &q.par, kind, q.s.D, &part, &sums, &host) == FUMI_OK);
    reconstruction += sums.reconstruction, l1 += sums.l1, energy += sums.energy;
    CHECK_NEAR(worst_difference(part.A, all.A + K * cuts[c], (ptrdiff_t)K * x.N), 0, 1e-12);
    CHECK_NEAR(worst_difference(part.p, all.p + cuts[c], x.N_pos), 0, 1e-12);
    CHECK_NEAR(worst_difference(part.p_next, all.p_next + cuts[c], x.N_pos), 0, 1e-12);
    for (int k = 0; k < K && kind != PASS_OBJECTIVE; k++) {
      for (int l = 0; l < q.x.d; l++) U[l + ldu * k] += sums.U[l + ldu * k];
      for (int l = 0; l < K; l++) S[l + K * k] += sums.S[l + K * k];
    }
  }
  CHECK_NEAR(reconstruction, whole.reconstruction, 1e-10);
  CHECK_NEAR(l1, whole.l1, 1e-10);
  CHECK_NEAR(energy, whole.energy, 1e-10);
  if (kind == PASS_OBJECTIVE) return;
  for (int k = 0; k < K; k++)
    CHECK_NEAR(worst_difference(U + ldu * k, whole.U + ldu * k, q.x.d), 0, 1e-10);
  CHECK_NEAR(worst_difference(S, whole.S, K * K), 0, 1e-10);
}

static void test_parts(void) {
  for (int kind = PASS_START; kind <= PASS_OBJECTIVE; kind++) {
    check_parts(random_problem((shape){11, 2, 3, 22, 18}), (dlfumi_pass_kind)kind);
    arena_release();
  }
}

/* Norms that come with the instances are those that a pass uses: it computes none. */
static void test_norms_given(void) {
  problem q = random_problem((shape){11, 2, 3, 22, 18});
  recorder r = {0};
  const fumi_host host = host_of(&r);
  double *norm2 = filled(q.x.N, 0);
  dlfumi_part part = room_for(&q, 0, q.x.N, q.s.p), same = room_for(&q, 0, q.x.N, q.s.p);
  dlfumi_sums sums, sums_same;
  CHECK(fumi_squared_norms(&q.x, 0, norm2, &host) == FUMI_OK);
  for (int i = 0; i < q.x.N; i++) {
    const double *x = q.x.X + (ptrdiff_t)q.x.d * i;
    double sum = 0;
    for (int l = 0; l < q.x.d; l++) sum += x[l] * x[l];
    CHECK_NEAR(norm2[i], q.x.scale[i] * q.x.scale[i] * sum, 1e-12);
  }
  fumi_data known = q.x;
  known.norm2 = norm2;
  CHECK(dlfumi_pass(&q.x, &q.par, PASS_PAPER, q.s.D, &part, &sums, &host) == FUMI_OK);
  CHECK(dlfumi_pass(&known, &q.par, PASS_PAPER, q.s.D, &same, &sums_same, &host) == FUMI_OK);
  CHECK(sums.energy == sums_same.energy && sums.reconstruction == sums_same.reconstruction);
  CHECK(worst_difference(part.A, same.A, (ptrdiff_t)q.par.K * q.x.N) == 0);
  for (int i = 0; i < q.x.N; i++) norm2[i] *= 4;
  CHECK(dlfumi_pass(&known, &q.par, PASS_PAPER, q.s.D, &same, &sums_same, &host) == FUMI_OK);
  CHECK_NEAR(sums_same.energy, 4 * sums.energy, 1e-9);
  arena_release();
}

/* of the instances not taken; taken ones in order of their residuals */
static void test_worst(void) {
  for (int target = 0; target <= 1; target++) {
    problem q = random_problem((shape){11, 2, 3, 130, 120});
    const dlfumi_part part = room_for(&q, 0, q.x.N, q.s.p);
    int taken[5], n_taken = 0;
    double before = HUGE_VAL;
    recorder r = {0};
    const fumi_host host = host_of(&r);
    for (; n_taken < 5; n_taken++) {
      int worst;
      double most;
      CHECK(dlfumi_worst(&q.x, &q.par, target, q.s.D, &part, taken, n_taken, &worst, &most,
                         &host) == FUMI_OK);
      CHECK(worst >= 0 && (worst < q.x.N_pos) == target && most <= before);
      CHECK_NEAR(most, naive_residual2(&q, 0, worst) * (target ? q.s.p[worst] : 1), 1e-12);
      int above = 0;
      for (int i = target ? 0 : q.x.N_pos; i < (target ? q.x.N_pos : q.x.N); i++)
        above += naive_residual2(&q, 0, i) * (target ? q.s.p[i] : 1) > most + 1e-12;
      CHECK(above == n_taken);
      taken[n_taken] = worst;
      before = most;
    }
    arena_release();
  }
}

/* A fit of one iteration is its steps, one after another. */
static void test_steps_of_a_fit(void) {
  for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++) {
    problem q = random_problem((shape){12, 2, 4, 30, 30});
    q.par.variant = (dlfumi_variant)variant;
    q.par.max_iter = 1;
    problem whole = twin(&q);
    recorder r = {0};
    CHECK(fit(&whole, &r) == FUMI_MAXIT);
    const double *D_old = copied(q.s.D, q.x.d * q.par.K);
    CHECK(step(&q, STEP_EXPECT, NULL) == FUMI_OK);
    if (variant == DLFUMI_MATLAB) CHECK(step(&q, STEP_CODES, NULL) == FUMI_OK);
    CHECK(step(&q, STEP_ATOMS, NULL) == FUMI_OK);
    if (variant != DLFUMI_MATLAB) CHECK(step(&q, STEP_CODES, NULL) == FUMI_OK);
    CHECK(step(&q, STEP_OBJECTIVE, D_old) == FUMI_OK);
    check_same(&q, &whole, 1e-12);
    CHECK_NEAR(worst_difference(q.s.trace, whole.s.trace, DLFUMI_TERMS), 0, 1e-9);
    arena_release();
  }
}

int main(void) {
  RUN(test_parts);
  RUN(test_norms_given);
  RUN(test_worst);
  RUN(test_steps_of_a_fit);
  return mu_report();
}
