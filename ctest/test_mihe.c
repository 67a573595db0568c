/* MI-HE: its objective against the formula, its gradient against differences, and what a fit
 * guarantees. */
#include "problem.h"

enum { D = 7, T = 2, M = 2, K = T + M, POS = 15, N = 30, BAGS = 3 };

typedef struct {
  fumi_data x;
  int bag[POS];
  mihe_bags bags;
  mihe_param par;
} mihe_case;

static mihe_case *random_case(mihe_coding coding, mihe_variant variant) {
  mihe_case *c = arena_take(1, sizeof *c);
  c->x = random_data(D, POS, N - POS);
  for (int i = 0; i < POS; i++) c->bag[i] = i / 5;
  c->bags = (mihe_bags){BAGS, c->bag};
  c->par = (mihe_param){.coding = coding,
                        .variant = variant,
                        .T = T,
                        .M = M,
                        .K = K,
                        .max_iter = 10,
                        .simd = 1,
                        .threads = 1,
                        .beta = 2,
                        .power = 3,
                        .rho = .8,
                        .lambda = .01,
                        .alpha = .5,
                        .step = .001};
  return c;
}

static int near(double x, double y, double tol) { return fabs(x - y) <= tol * (1 + fabs(y)); }

static double residual2(const fumi_data *x, const double *atoms, const double *a, int n, int i) {
  double sum = 0;
  for (int r = 0; r < D; r++) {
    double e = entry(x, r, i);
    for (int k = 0; k < n; k++) e -= a[k] * atoms[r + D * k];
    sum += e * e;
  }
  return sum;
}

/* J of the file's head, in products */
static double naive_objective(const mihe_case *c, const double *atoms, const double *A,
                              const double *C) {
  double J = 0, mean[BAGS] = {0};
  for (int i = 0; i < N; i++) {
    const double full = residual2(&c->x, atoms, A + K * i, K, i);
    const double rest = residual2(&c->x, atoms + D * T, C + M * i, M, i);
    if (i < POS) {
      mean[c->bag[i]] += pow(exp(-c->par.beta * full / rest), c->par.power) / 5;
      continue;
    }
    double match = 0;
    for (int r = 0; r < D; r++)
      for (int t = 0; t < T; t++) match += A[K * i + t] * atoms[r + D * t] * entry(&c->x, r, i);
    J += c->par.rho * rest + c->par.alpha / 2 * match * match;
  }
  for (int j = 0; j < BAGS; j++) J -= log(pow(mean[j], 1 / c->par.power));
  return J;
}

static void check_evaluate(mihe_coding coding, mihe_variant variant) {
  mihe_case *c = random_case(coding, variant);
  recorder rec = {0};
  const fumi_host host = host_of(&rec);
  double *atoms = random_atoms(D, K), A[K * N], C[M * N], terms[MIHE_TERMS], gradient[D * K];
  CHECK(mihe_evaluate(&c->x, &c->bags, &c->par, atoms, A, C, terms, gradient, &host) == FUMI_OK);
  CHECK(near(terms[0], naive_objective(c, atoms, A, C), 1e-9));
  CHECK(near(terms[0], terms[1] + terms[2] + terms[3], 1e-12));
  for (int j = 0; j < D * K; j++) {
    const double at = atoms[j], h = 1e-6;
    atoms[j] = at + h;
    const double up = naive_objective(c, atoms, A, C);
    atoms[j] = at - h;
    const double down = naive_objective(c, atoms, A, C);
    atoms[j] = at;
    CHECK(near(gradient[j], (up - down) / (2 * h), 1e-4));
  }
  arena_release();
}

static void evaluate_is_the_formula(void) {
  check_evaluate(MIHE_SPARSE, MIHE_FAST);
  check_evaluate(MIHE_SPARSE, MIHE_LITERAL);
  check_evaluate(MIHE_CONVEX, MIHE_FAST);
}

static void check_fit(mihe_coding coding, mihe_variant variant) {
  mihe_case *c = random_case(coding, variant);
  recorder rec = {0};
  const fumi_host host = host_of(&rec);
  double last[D * K], trace[MIHE_TERMS * 11], length[K * 10], A[K * N], C[M * N], terms[MIHE_TERMS],
      g[D * K];
  mihe_state s = {.D = random_atoms(D, K), .last = last, .trace = trace, .length = length};
  CHECK(mihe_fit(&c->x, &c->bags, &c->par, &s, &host) == FUMI_MAXIT || s.n_iter < 10);
  double least = trace[0];
  for (int it = 1; it <= s.n_iter; it++) {
    if (variant == MIHE_FAST) CHECK(trace[MIHE_TERMS * it] <= trace[MIHE_TERMS * (it - 1)]);
    least = fmin(least, trace[MIHE_TERMS * it]);
  }
  CHECK(trace[MIHE_TERMS * s.best] == least);
  mihe_evaluate(&c->x, &c->bags, &c->par, s.D, A, C, terms, g, &host);
  CHECK(near(terms[0], least, 1e-6));
  arena_release();
}

static void fits_keep_the_best(void) {
  check_fit(MIHE_SPARSE, MIHE_FAST);
  check_fit(MIHE_SPARSE, MIHE_LITERAL);
  check_fit(MIHE_CONVEX, MIHE_FAST);
  check_fit(MIHE_CONVEX, MIHE_LITERAL);
}

int main(void) {
  RUN(evaluate_is_the_formula);
  RUN(fits_keep_the_best);
  return mu_report();
}
