/* DMIL: its objective against the formula, its gradient against differences, codes against those of
 * fumi_code(), and what a fit guarantees. */
#include "problem.h"

enum { D = 7, K = 4, N = 30, BAGS = 6 };

typedef struct {
  fumi_data x;
  int bag[N], positive[BAGS];
  dmil_bags bags;
  dmil_param par;
} dmil_case;

static dmil_case *random_case(dmil_pool pool, double beta) {
  dmil_case *c = arena_take(1, sizeof *c);
  c->x = random_data(D, 0, N);
  for (int i = 0; i < N; i++) c->bag[i] = i / 5;
  for (int j = 0; j < BAGS; j++) c->positive[j] = j % 2;
  c->bags = (dmil_bags){BAGS, c->bag, c->positive};
  c->par = (dmil_param){.pool = pool,
                        .K = K,
                        .max_iter = 10,
                        .simd = 1,
                        .exponent = 5,
                        .beta = beta,
                        .lambda = .05,
                        .tol = 0};
  return c;
}

static double residual2(const fumi_data *x, const double *atoms, const double *a, int i) {
  double sum = 0;
  for (int r = 0; r < D; r++) {
    double e = entry(x, r, i);
    for (int k = 0; k < K; k++) e -= a[k] * atoms[r + D * k];
    sum += e * e;
  }
  return sum;
}

/* J of the file's head, in products */
static double naive_objective(const dmil_case *c, const double *atoms, const double *A) {
  double J = 0;
  for (int j = 0; j < BAGS; j++) {
    double none = 1, mean = 0;
    for (int i = 5 * j; i < 5 * j + 5; i++) {
      const double p = exp(-c->par.beta * residual2(&c->x, atoms, A + K * i, i));
      none *= 1 - p;
      mean += pow(p, c->par.exponent) / 5;
    }
    if (!c->positive[j]) J -= log(none);
    else J -= c->par.pool == DMIL_GMEAN ? log(mean) / c->par.exponent : log(1 - none);
  }
  return J;
}

static void check_step(dmil_pool pool, double beta) {
  dmil_case *c = random_case(pool, beta);
  double *atoms = random_atoms(D, K), *A = random_doubles(K * N), gradient[D * K], J[1 + K];
  const double *before = copied(atoms, D * K);
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(dmil_step(&c->x, &c->bags, &c->par, A, atoms, gradient, J, &host) == FUMI_OK);
  CHECK_NEAR(J[0], naive_objective(c, before, A), 1e-9 * (1 + fabs(J[0])));
  CHECK_NEAR(J[K], naive_objective(c, atoms, A), 1e-9 * (1 + fabs(J[0])));
  for (int k = 0; k < K; k++) {
    CHECK(J[k + 1] <= J[k]);
    CHECK_NEAR(norm(D, atoms + D * k), 1, 1e-12);
  }
  double *moved = copied(before, D * K);
  for (int j = 0; j < D * K; j++) {
    const double h = 1e-6;
    moved[j] = before[j] + h;
    const double above = naive_objective(c, moved, A);
    moved[j] = before[j] - h;
    const double below = naive_objective(c, moved, A);
    moved[j] = before[j];
    CHECK_NEAR(gradient[j], (above - below) / (2 * h), 1e-6 * (1 + fabs(gradient[j])));
  }
  CHECK(J[K] < J[0]);
  arena_release();
}

static void test_step(void) {
  for (int repeat = 0; repeat < 5; repeat++) {
    check_step(DMIL_NOISY_OR, .5);
    check_step(DMIL_NOISY_OR, 2);
    check_step(DMIL_GMEAN, .5);
  }
}

/* All p are 0 in doubles: the objective of one instance per bag is its E, and the step still
 * descends. */
static void test_far(void) {
  dmil_case *c = random_case(DMIL_NOISY_OR, 1e5);
  double *atoms = random_atoms(D, K), gradient[D * K], J[1 + K], expected = 0;
  for (int j = 0; j < BAGS; j++) { /* positive bags: the first instance by far */
    double least = HUGE_VAL, sum = 0;
    for (int i = 5 * j; i < 5 * j + 5; i++)
      least = fmin(least, 1e5 * residual2(&c->x, atoms, filled(K, 0), i));
    for (int i = 5 * j; i < 5 * j + 5; i++)
      sum += exp(least - 1e5 * residual2(&c->x, atoms, filled(K, 0), i));
    if (c->positive[j]) expected += least - log(sum);
  }
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(dmil_step(&c->x, &c->bags, &c->par, filled(K * N, 0), atoms, gradient, J, &host) ==
        FUMI_OK);
  CHECK_NEAR(J[0], expected, 1e-9 * expected);
  arena_release();
}

static void test_code(void) {
  const dmil_case *c = random_case(DMIL_NOISY_OR, 1);
  const double *atoms = random_atoms(D, K);
  double A[K * N], expected[K * N], e[N], again[N], gap, *norm2 = doubles(N);
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(dmil_code(&c->x, K, atoms, NULL, NULL, .05, 1, A, e, &host) == FUMI_OK);
  CHECK(fumi_code(&c->x, K, atoms, .05, 0, 0, 1, 1, expected, &gap, &host) == FUMI_OK);
  CHECK_NEAR(worst_difference(A, expected, K * N), 0, 1e-12);
  for (int i = 0; i < N; i++) {
    CHECK_NEAR(e[i], residual2(&c->x, atoms, A + K * i, i), 1e-12);
    norm2[i] = residual2(&c->x, atoms, filled(K, 0), i);
  }
  /* the Gram matrix and norms of the linear kernel */
  CHECK(dmil_code(&c->x, K, atoms, gram_of(D, K, atoms, K), norm2, .05, 1, A, again, &host) ==
        FUMI_OK);
  CHECK_NEAR(worst_difference(e, again, N), 0, 1e-12);
  arena_release();
}

/* The atoms returned are those with the lowest objective of the trace. */
static void test_fit(void) {
  for (int pool = DMIL_NOISY_OR; pool <= DMIL_GMEAN; pool++) {
    dmil_case *c = random_case((dmil_pool)pool, 1);
    int n_dead[K] = {0};
    dmil_state s = {.D = random_atoms(D, K), .trace = doubles(DMIL_TERMS * 11), .n_dead = n_dead};
    recorder r = {0};
    const fumi_host host = host_of(&r);
    CHECK(dmil_fit(&c->x, &c->bags, &c->par, &s, &host) == FUMI_MAXIT);
    CHECK(s.n_iter == 10 && r.reports == 10);
    double best = s.trace[0], A[K * N], e[N];
    for (int it = 1; it <= 10; it++) {
      best = fmin(best, s.trace[DMIL_TERMS * it]);
      CHECK(s.trace[DMIL_TERMS * it + 1] <= s.trace[DMIL_TERMS * (it - 1)] + 1e-12);
    }
    CHECK(dmil_code(&c->x, K, s.D, NULL, NULL, .05, 1, A, e, &host) == FUMI_OK);
    CHECK_NEAR(naive_objective(c, s.D, A), best, 1e-9 * (1 + fabs(best)));
    arena_release();
  }
}

/* An atom at right angles to all instances becomes the instance of a positive bag with the largest
 * p e. */
static void test_dead_atom(void) {
  dmil_case *c = random_case(DMIL_NOISY_OR, 1);
  double *X = copied(c->x.X, D * N);
  for (int i = 0; i < N; i++) X[D * i] = 0; /* feature 0 is the dead atom's */
  c->x.X = X;
  c->par.max_iter = 1;
  double *atoms = random_atoms(D, K);
  for (int k = 0; k < K; k++) atoms[D * k] = k == 2;
  for (int r = 1; r < D; r++) atoms[r + D * 2] = 0;
  unit_columns(D, K, atoms);
  int n_dead[K] = {0};
  dmil_state s = {.D = atoms, .trace = doubles(DMIL_TERMS * 2), .n_dead = n_dead};
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(dmil_fit(&c->x, &c->bags, &c->par, &s, &host) == FUMI_MAXIT);
  for (int k = 0; k < K; k++) CHECK(n_dead[k] == (k == 2));
  CHECK(s.D[D * 2] == 0 && fabs(norm(D, s.D + D * 2) - 1) < 1e-12);
  arena_release();
}

int main(void) {
  RUN(test_step);
  RUN(test_far);
  RUN(test_code);
  RUN(test_fit);
  RUN(test_dead_atom);
  return mu_report();
}
