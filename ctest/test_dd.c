/* Diverse density against its formulas instance by instance, and gradients against differences. */
#include "problem.h"

enum { D = 4, N = 12, BAGS = 5 };

static const int BAG[N] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4}, LABEL[BAGS] = {1, 0, 1, 0, 1};

static dd_problem random_dd(dd_model model, dd_scale scale) {
  return (dd_problem){random_data(D, 0, N), BAGS, BAG, LABEL, model, scale, filled(D, 1.3)};
}

static double scale_of(const dd_problem *p, const double *theta, int r) {
  if (p->scale == DD_FEATURE) return theta[D + r];
  return p->scale == DD_SINGLE ? theta[D] * p->unit[r] : p->unit[r];
}

/* (1) */
static double naive_q(const dd_problem *p, const double *theta, int i) {
  double q = 0;
  for (int r = 0; r < D; r++) {
    const double e = scale_of(p, theta, r) * (entry(&p->x, r, i) - theta[r]);
    q += e * e;
  }
  return q;
}

/* (2), (3): of the products themselves, which ordinary numbers allow */
static double naive_objective(const dd_problem *p, const double *theta) {
  double F = 0;
  for (int j = 0; j < BAGS; j++) {
    double none = 1, most = 0;
    for (int i = 0; i < N; i++) {
      const double probability = exp(-naive_q(p, theta, i));
      if (BAG[i] != j) continue;
      none *= 1 - probability;
      most = fmax(most, probability);
    }
    const double P = p->model == DD_NOISY_OR ? 1 - none : most;
    F -= log(LABEL[j] ? P : 1 - P);
  }
  return F;
}

static double objective(const dd_problem *p, const double *theta, double *gradient) {
  double F = 0;
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(dd_objective(p, theta, &F, gradient, &host) == FUMI_OK);
  return F;
}

static void check_gradient(const dd_problem *p, const double *theta, double tolerance) {
  const int n = dd_n_theta(p);
  double *gradient = doubles(n), *unused = doubles(n), *moved = copied(theta, n);
  objective(p, theta, gradient);
  for (int r = 0; r < n; r++) {
    const double h = 1e-6;
    moved[r] = theta[r] + h;
    const double above = objective(p, moved, unused);
    moved[r] = theta[r] - h;
    const double below = objective(p, moved, unused);
    moved[r] = theta[r];
    CHECK_NEAR(gradient[r], (above - below) / (2 * h), tolerance * (1 + fabs(gradient[r])));
  }
}

/* A point and scales, all of them positive. */
static double *random_theta(const dd_problem *p) {
  double *theta = random_doubles(dd_n_theta(p));
  for (int r = D; r < dd_n_theta(p); r++) theta[r] = .5 + fabs(theta[r]);
  return theta;
}

static void test_objective(void) {
  for (int model = DD_NOISY_OR; model <= DD_MOST_LIKELY_CAUSE; model++)
    for (int scale = DD_FEATURE; scale <= DD_FIXED; scale++)
      for (int repeat = 0; repeat < 5; repeat++) {
        const dd_problem p = random_dd((dd_model)model, (dd_scale)scale);
        const double *theta = random_theta(&p), expected = naive_objective(&p, theta);
        CHECK(dd_n_theta(&p) == (scale == DD_FEATURE ? 2 * D : scale == DD_SINGLE ? D + 1 : D));
        CHECK_NEAR(objective(&p, theta, doubles(2 * D)), expected, 1e-10 * (1 + fabs(expected)));
        check_gradient(&p, theta, 1e-5);
        arena_release();
      }
}

/* Far from every instance all p are 0 in doubles: F of one positive bag is its least q less the log
 * of how many instances there are at it, and its gradient is that of q. */
static void test_far(void) {
  dd_problem p = random_dd(DD_NOISY_OR, DD_FIXED);
  const int one = 1, *all = memset(arena_take(N, sizeof(int)), 0, sizeof(int) * N);
  double X[D * N], *theta = filled(D, 100);
  for (int j = 0; j < D * N; j++) X[j] = j < D * 3 ? .5 : 0; /* three at the least q */
  p.x.X = X, p.x.scale = filled(N, 1), p.bag = all, p.label = &one, p.n_bags = 1;
  const double least = naive_q(&p, theta, 0);
  CHECK(exp(-least) == 0 && naive_q(&p, theta, 3) > least + 100);
  CHECK_NEAR(objective(&p, theta, doubles(D)), least - log(3), 1e-9 * least);
  check_gradient(&p, theta, 1e-3);
  arena_release();
}

/* On a negative instance F is large and finite. */
static void test_on_an_instance(void) {
  for (int model = DD_NOISY_OR; model <= DD_MOST_LIKELY_CAUSE; model++) {
    const dd_problem p = random_dd((dd_model)model, DD_FIXED);
    double theta[D], gradient[D];
    for (int r = 0; r < D; r++) theta[r] = entry(&p.x, r, 3);
    const double F = objective(&p, theta, gradient);
    CHECK(isfinite(F) && F > 20 && all_finite(gradient, D));
    arena_release();
  }
}

static void test_select(void) {
  const double q[] = {3, 1, 1, 7, 5, 5, 2};
  const int bag[] = {0, 0, 0, 2, 1, 1, 2};
  int best[3];
  dd_select(7, q, bag, 3, best);
  CHECK(best[0] == 1 && best[1] == 4 && best[2] == 6);
}

static void test_quadratic(void) {
  for (int d = 1; d <= 9; d++) {
    const fumi_data x = random_data(d, 0, 6);
    const double *t = random_doubles(d), *s = random_doubles(d);
    double q[6];
    dd_quadratic(&x, t, s, q);
    for (int i = 0; i < 6; i++) {
      double expected = 0;
      for (int r = 0; r < d; r++) expected += s[r] * s[r] * pow(entry(&x, r, i) - t[r], 2);
      CHECK_NEAR(q[i], expected, 1e-12);
    }
    arena_release();
  }
}

static void test_moments(void) {
  fumi_data x = random_data(3, 0, 20);
  double *X = copied(x.X, 60), mean[3], variance[3];
  for (int i = 0; i < 20; i++) X[1 + 3 * i] = .1 / x.scale[i]; /* constant, once it is scaled */
  x.X = X;
  dd_moments(&x, 15, mean, variance);
  for (int r = 0; r < 3; r++) {
    double m = 0, v = 0;
    for (int i = 0; i < 15; i++) m += entry(&x, r, i) / 15;
    for (int i = 0; i < 15; i++) v += pow(entry(&x, r, i) - m, 2) / 14;
    CHECK_NEAR(mean[r], m, 1e-14);
    CHECK_NEAR(variance[r], v, 1e-14);
  }
  dd_moments(&x, 1, mean, variance);
  for (int r = 0; r < 3; r++) CHECK(mean[r] == entry(&x, r, 0) && variance[r] == 0);
  arena_release();
}

int main(void) {
  RUN(test_objective);
  RUN(test_far);
  RUN(test_on_an_instance);
  RUN(test_select);
  RUN(test_quadratic);
  RUN(test_moments);
  return mu_report();
}
