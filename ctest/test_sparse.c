/* The lasso solver against the conditions of its optimum. */
#include "problem.h"

static int nonneg; /* the codes of the cases must not be negative */

/* ---- one lasso problem and its conditions ------------------------------------------ */

typedef struct {
  int d;
  const double *D, *x;
  fumi_lasso l;
  fumi_lasso_work w;
} lasso_case;

/* The lasso of instance x on the atoms D, from codes 0. */
static lasso_case make_case(int d, int K, const double *D, const double *x, double lambda) {
  const int ldg = K + 1;
  lasso_case c = {.d = d, .D = D, .x = x};
  recorder r = {0};
  const fumi_host host = host_of(&r);
  c.l = (fumi_lasso){.K = K,
                     .ldg = ldg,
                     .nonneg = nonneg,
                     .G = gram_of(d, K, D, ldg),
                     .lambda = lambda,
                     .p = 1,
                     .norm2 = dot(d, x, x),
                     .gap = 1e-12};
  CHECK(fumi_lasso_init(&c.w, fumi_choose_kernel(0), K, &host) == FUMI_OK);
  for (int k = 0; k < K; k++) {
    c.w.b[k] = dot(d, fumi_ccol(D, d, k), x);
    c.w.a[k] = 0;
  }
  return c;
}

static lasso_case random_case(int d, int K, double lambda) {
  const double *D = random_atoms(d, K), *x = random_atoms(d, 1);
  return make_case(d, K, D, x, lambda);
}

/* p (x - D a) + (1 - p) (x - D- a-), whose products with the atoms are the gradient of
 * background rows; with p = 1 those of the target rows */
static void weighted_residual(const lasso_case *c, double p, double *r) {
  for (int j = 0; j < c->d; j++) {
    r[j] = c->x[j];
    for (int k = 0; k < c->l.K; k++)
      r[j] -= (k < c->l.T ? p : 1) * c->w.a[k] * fumi_ccol(c->D, c->d, k)[j];
  }
}

/* How far the codes are from the optimum: 0 <= q_k sign(a_k) = lambda, or |q_k| <= lambda, but q_k
 * <= lambda if codes must not be negative; infinitely if one is all the same. The weight p of a
 * target row is divided out, so that a small p hides nothing. */
static double kkt_violation(const lasso_case *c) {
  double *r_target = doubles(c->d), *r_background = doubles(c->d), worst = 0;
  weighted_residual(c, 1, r_target);
  weighted_residual(c, c->l.p, r_background);
  for (int k = 0; k < c->l.K; k++) {
    if (k < c->l.T && c->l.p < 1e-15) continue; /* such a row weighs nothing */
    const double a = c->w.a[k];
    const double q = dot(c->d, fumi_ccol(c->D, c->d, k), k < c->l.T ? r_target : r_background);
    const double zero = (c->l.nonneg ? q : fabs(q)) - c->l.lambda;
    const double e = c->l.nonneg && a < 0 ? HUGE_VAL
                     : a != 0             ? fabs(q - copysign(c->l.lambda, a))
                                          : zero;
    if (!(e <= worst)) worst = isnan(e) ? HUGE_VAL : e;
  }
  return worst;
}

/* The gap is relative to an objective of the order of lambda, and rounds accordingly. */
static void check_optimum(lasso_case *c) {
  const double gap = fumi_lasso_solve(&c->l, &c->w);
  CHECK(all_finite(c->w.a, c->l.K));
  CHECK_NEAR(kkt_violation(c), 0, 1e-9);
  CHECK_NEAR(gap, 0, 1e-9 + 1e-12 / c->l.lambda);
}

/* ---- the solver -------------------------------------------------------------------- */

static void test_identity_dictionary(void) {
  const int K = 6;
  double *D = filled(K * K, 0);
  for (int k = 0; k < K; k++) D[k + K * k] = 1;
  lasso_case c = make_case(K, K, D, random_atoms(K, 1), .2);
  check_optimum(&c);
  for (int k = 0; k < K; k++)
    CHECK_NEAR(c.w.a[k], nonneg ? soft_positive(c.x[k], .2) : soft(c.x[k], .2), 1e-15);
  arena_release();
}

static const double LAMBDAS[] = {1e-6, .001, .05, .3, .9, 2};
enum { N_LAMBDAS = sizeof LAMBDAS / sizeof *LAMBDAS };

static void test_random_problems(void) {
  const int sizes[][2] = {{1, 1}, {2, 1}, {3, 2}, {5, 5}, {20, 12}, {64, 30}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int j = 0; j < N_LAMBDAS; j++)
      for (int repeat = 0; repeat < 10; repeat++) {
        lasso_case c = random_case(sizes[s][0], sizes[s][1], LAMBDAS[j]);
        check_optimum(&c);
        arena_release();
      }
}

/* Codes that are all other than 0 lead to the same minimum, whether they serve as a start or are
 * too many for it. */
static void test_dense_start(void) {
  const int sizes[] = {20, 32, 33, 48};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    lasso_case c = random_case(64, sizes[s], .05);
    check_optimum(&c);
    double *a = filled(sizes[s], 0);
    memcpy(a, c.w.a, sizeof(double) * (size_t)sizes[s]);
    for (int k = 0; k < sizes[s]; k++) c.w.a[k] = k % 2 && !nonneg ? -1 : 1;
    check_optimum(&c);
    for (int k = 0; k < sizes[s]; k++) CHECK_NEAR(c.w.a[k], a[k], 1e-12);
    arena_release();
  }
}

static void test_weights(void) {
  const double weights[] = {0, 1e-20, 1e-3, .1, .5, .999, 1};
  for (size_t s = 0; s < sizeof weights / sizeof *weights; s++)
    for (int T = 1; T <= 4; T++)
      for (int repeat = 0; repeat < 10; repeat++) {
        lasso_case c = random_case(20, 9, .05);
        c.l.T = T;
        c.l.p = weights[s];
        check_optimum(&c);
        for (int t = 0; t < T && c.l.p == 0; t++) CHECK(c.w.a[t] == 0);
        arena_release();
      }
}

/* With a small p, target rows have almost no weight whatever their codes are: the gap shows it,
 * both from the solver and afterwards. */
static void test_small_weights(void) {
  for (double p = 1e-4; p > 1e-21; p /= 10) {
    lasso_case c = random_case(20, 9, .05);
    c.l.T = 3;
    c.l.p = p;
    const double gap = fumi_lasso_solve(&c.l, &c.w);
    CHECK(all_finite(c.w.a, c.l.K));
    CHECK_NEAR(gap, 0, 1e-6);
    CHECK_NEAR(fumi_lasso_gap(&c.l, &c.w), 0, 1e-6);
    arena_release();
  }
}

static void test_more_atoms_than_features(void) {
  const int sizes[][2] = {{1, 2}, {1, 5}, {3, 8}, {10, 25}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int j = 1; j < N_LAMBDAS; j++)
      for (int T = 0; T <= 1; T++) {
        lasso_case c = random_case(sizes[s][0], sizes[s][1], LAMBDAS[j]);
        c.l.T = T;
        c.l.p = T ? .5 : 1;
        check_optimum(&c);
        arena_release();
      }
}

/* Every atom has a twin or a mirror image, and half of them nearly so. */
static void test_all_atoms_twice(void) {
  const int d = 30, K = 24;
  for (int j = 1; j < N_LAMBDAS; j++)
    for (int repeat = 0; repeat < 12; repeat++) {
      double *D = random_atoms(d, K);
      for (int k = 0; k < K; k += 2)
        for (int r = 0; r < d; r++)
          D[r + d * (k + 1)] =
              (repeat % 2 ? -1 : 1) * D[r + d * k] + (k % 4 ? 0 : 1e-9 * symmetric());
      lasso_case c = make_case(d, K, D, random_atoms(d, 1), LAMBDAS[j]);
      c.l.T = repeat % 3;
      c.l.p = c.l.T ? .4 : 1;
      for (int k = 0; k < K; k++) c.w.a[k] = repeat >= 6 ? symmetric() : 0;
      check_optimum(&c);
      arena_release();
    }
}

/* Two equal atoms: one of them is enough, also where a start uses both. */
static void test_duplicate_atoms(void) {
  const int d = 10, K = 6;
  for (int j = 1; j < N_LAMBDAS; j++)
    for (int warm = 0; warm <= 1; warm++) {
      double *D = random_atoms(d, K);
      memcpy(fumi_col(D, d, 4), fumi_ccol(D, d, 1), sizeof(double) * (size_t)d);
      lasso_case c = make_case(d, K, D, random_atoms(d, 1), LAMBDAS[j]);
      for (int k = 0; k < K; k++) c.w.a[k] = warm * symmetric();
      check_optimum(&c);
      arena_release();
    }
}

/* The codes of one run as the start of another: nothing is left to do, and it says so. */
static void test_restart_at_the_optimum(void) {
  const int d = 10, K = 6;
  for (int twin = 0; twin <= 1; twin++) {
    double *D = random_atoms(d, K);
    if (twin) memcpy(fumi_col(D, d, 4), fumi_ccol(D, d, 1), sizeof(double) * (size_t)d);
    lasso_case c = make_case(d, K, D, fumi_ccol(D, d, 1), .05);
    c.w.a[1] = c.w.a[4] = .4;
    check_optimum(&c);
    check_optimum(&c);
    arena_release();
  }
}

static void test_zero_atoms(void) {
  const int d = 8, K = 5, none = 2;
  for (int warm = 0; warm <= 1; warm++) {
    double *D = random_atoms(d, K);
    for (int r = 0; r < d; r++) D[r + d * none] = 0;
    lasso_case c = make_case(d, K, D, random_atoms(d, 1), .05);
    for (int k = 0; k < K; k++) c.w.a[k] = warm * symmetric();
    check_optimum(&c);
    CHECK(c.w.a[none] == 0);
    arena_release();
  }
}

static void test_zero_instance(void) {
  for (int j = 0; j < N_LAMBDAS; j++) {
    lasso_case c = make_case(6, 4, random_atoms(6, 4), filled(6, 0), LAMBDAS[j]);
    c.w.a[1] = .5;
    check_optimum(&c);
    for (int k = 0; k < c.l.K; k++) CHECK(c.w.a[k] == 0);
    arena_release();
  }
}

/* Without a penalty it is least squares: K < d, K = d, and K > d, where it is not unique;
 * nor is it with a twin among the atoms. */
static void test_least_squares(void) {
  const int sizes[][2] = {{12, 5}, {5, 5}, {5, 8}};
  for (int s = 0; s < 3; s++)
    for (int repeat = 0; repeat < 10; repeat++) {
      const int d = sizes[s][0], K = sizes[s][1];
      double *D = random_atoms(d, K);
      if (repeat % 2) memcpy(fumi_col(D, d, 0), fumi_ccol(D, d, 3), sizeof(double) * (size_t)d);
      lasso_case c = make_case(d, K, D, random_atoms(d, 1), 0);
      for (int k = 0; k < K && repeat >= 5; k++) c.w.a[k] = symmetric();
      const double gap = fumi_lasso_solve(&c.l, &c.w);
      CHECK_NEAR(kkt_violation(&c), 0, 3e-8); /* a residual of 0 is known to sqrt(epsilon) */
      CHECK_NEAR(gap, 0, 1e-9);
      arena_release();
    }
}

/* Atoms of a few values, nearly dependent, without a penalty: some of these end in coordinate
 * descent. */
static void test_ill_conditioned(void) {
  const double values[] = {0, 1, -1, .5, 1e-6, 1e-4, 3, -1e-5};
  for (int repeat = 0; repeat < 4000; repeat++) {
    const int d = 1 + (int)(8 * uniform()), K = 2 + (int)(9 * uniform());
    double *D = doubles(d * K);
    for (int j = 0; j < d * K; j++) D[j] = values[(int)(8 * uniform())];
    for (int k = 0; k < K; k++) D[d * k] += norm(d, fumi_col(D, d, k)) == 0;
    unit_columns(d, K, D);
    lasso_case c = make_case(d, K, D, random_atoms(d, 1), 0);
    for (int k = 0; k < K; k++) c.w.a[k] = repeat % 5 ? symmetric() : 0;
    CHECK_NEAR(fumi_lasso_solve(&c.l, &c.w), 0, 1e-3);
    CHECK(all_finite(c.w.a, K) && (!nonneg || none_negative(c.w.a, K)));
    arena_release();
  }
}

static void test_warm_start(void) {
  const int K = 12;
  for (int repeat = 0; repeat < 30; repeat++) {
    lasso_case c = random_case(20, K, .05);
    c.l.T = repeat % 4;
    c.l.p = c.l.T ? .7 : 1;
    check_optimum(&c);
    const double *cold = copied(c.w.a, K);
    for (int k = 0; k < K; k++) c.w.a[k] = cold[k] == 0 || uniform() < .3 ? 3 * symmetric() : 0;
    check_optimum(&c);
    CHECK_NEAR(worst_difference(c.w.a, cold, K), 0, 1e-9);
    arena_release();
  }
}

/* fumi_lasso_gap judges codes that are not optimal: primal minus dual, never negative. */
static void test_gap(void) {
  for (int repeat = 0; repeat < 10; repeat++) {
    lasso_case c = random_case(15, 6, .05);
    const double from_zero = fumi_lasso_gap(&c.l, &c.w);
    CHECK(from_zero >= 0 && from_zero <= 1 && (nonneg || from_zero > 0));
    check_optimum(&c);
    CHECK_NEAR(fumi_lasso_gap(&c.l, &c.w), 0, 1e-12);
    arena_release();
  }
}

int main(void) {
  for (nonneg = 0; nonneg <= 1; nonneg++) {
    RUN(test_identity_dictionary);
    RUN(test_random_problems);
    RUN(test_dense_start);
    RUN(test_weights);
    RUN(test_small_weights);
    RUN(test_more_atoms_than_features);
    RUN(test_duplicate_atoms);
    RUN(test_all_atoms_twice);
    RUN(test_restart_at_the_optimum);
    RUN(test_zero_atoms);
    RUN(test_zero_instance);
    RUN(test_least_squares);
    RUN(test_ill_conditioned);
    RUN(test_warm_start);
    RUN(test_gap);
  }
  return mu_report();
}
