/* Data at the ends of what a double holds, and data without any variety: every output is finite, or
 * the status of a fit says that it is not, and no fit makes more iterations than asked. */
#include "problem.h"

enum { d = 9, T = 2, M = 3, K = T + M, N_POS = 30, N_NEG = 25, N = N_POS + N_NEG };

/* ---- kinds of data ----------------------------------------------------------------- */

typedef double *make_instances(void);

static double *scaled_instances(double size) {
  double *X = random_doubles(d * N);
  for (int j = 0; j < d * N; j++) X[j] *= size;
  return X;
}

static double *ordinary(void) { return scaled_instances(1); }
static double *huge(void) { return scaled_instances(1e140); }
static double *small(void) { return scaled_instances(1e-140); }
static double *underflowing(void) { return scaled_instances(1e-200); }
static double *denormal(void) { return scaled_instances(1e-310); }
static double *zeros(void) { return filled(d * N, 0); }

static double *some_zeros(void) {
  double *X = ordinary();
  for (int i = 0; i < N; i += 3)
    for (int r = 0; r < d; r++) X[r + d * i] = 0;
  return X;
}

static double *identical(void) {
  double *X = ordinary();
  for (int i = 1; i < N; i++) memcpy(X + d * i, X, sizeof(double) * d);
  return X;
}

static double *uneven(void) {
  double *X = ordinary();
  for (int i = 0; i < N; i++)
    for (int r = 0; r < d; r++) X[r + d * i] *= pow(10, i % 2 ? -120 : 120);
  return X;
}

static double *one_feature(void) {
  double *X = filled(d * N, 0);
  for (int i = 0; i < N; i++) X[d * i] = symmetric();
  return X;
}

typedef struct {
  const char *name;
  make_instances *make;
} kind;

static const kind KINDS[] = {{"ordinary", ordinary},     {"huge", huge},
                             {"small", small},           {"underflowing", underflowing},
                             {"denormal", denormal},     {"zeros", zeros},
                             {"some zeros", some_zeros}, {"identical", identical},
                             {"uneven", uneven},         {"one feature", one_feature}};

/* ---- what is checked for each ------------------------------------------------------- */

static void check_kmeans(const fumi_data *x, const fumi_host *host) {
  double u[M], *C = doubles(d * M);
  int n_distinct = -1;
  for (int k = 0; k < M; k++) u[k] = uniform();
  CHECK(fumi_kmeans(x, M, u, 50, 1, 1, C, &n_distinct, host) == FUMI_OK);
  CHECK(n_distinct >= 1 && n_distinct <= M);
  CHECK(all_finite(C, d * n_distinct));
}

static void check_codes(const fumi_data *x, int steps, const fumi_host *host) {
  double *A = doubles(K * N), gap;
  CHECK(fumi_code(x, K, random_atoms(d, K), .05, steps, 0, 1, 1, A, &gap, host) == FUMI_OK);
  CHECK(all_finite(A, K * N) && isfinite(gap));
}

static void check_confidence(const fumi_data *x, int steps, const fumi_host *host) {
  double *confidence = doubles(N), *r_bg = doubles(N);
  CHECK(dlfumi_confidence(x, T, K, random_atoms(d, K), .05, .05, steps > 0, steps, 0, 0, 1,
                          confidence, r_bg, host) == FUMI_OK);
  CHECK(all_finite(confidence, N) && all_finite(r_bg, N));
}

/* A fit from the given codes: finite throughout, or stopped because it is not. */
static fumi_status check_fit(const fumi_data *x, const dlfumi_param *par, const double *A,
                             const fumi_host *host) {
  dlfumi_state s = start_state(x, par, random_atoms(d, K), A);
  const fumi_status status = dlfumi_fit(x, par, &s, host);
  CHECK(s.n_iter <= par->max_iter);
  if (status == FUMI_MAXIT || status == FUMI_CONVERGED) {
    CHECK(all_finite(s.D, d * K) && all_finite(s.A, K * N) && all_finite(s.p, N_POS));
    CHECK(all_finite(s.trace, DLFUMI_TERMS * s.n_iter));
  } else {
    CHECK(status == FUMI_ENONFINITE);
  }
  return status;
}

static void check_fits(const fumi_data *x, const fumi_host *host) {
  dlfumi_param par = default_param(T, M);
  double *A = doubles(K * N);
  par.max_iter = 4;
  CHECK(dlfumi_start_codes(x, T, K, random_atoms(d, K), 1, 1, A, host) == FUMI_OK);
  CHECK(all_finite(A, K * N));
  for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++)
    for (int dead = DLFUMI_RESAMPLE; dead <= DLFUMI_DROP; dead++) {
      par.variant = (dlfumi_variant)variant;
      par.dead = (dlfumi_dead)dead;
      par.solver = dead == DLFUMI_DROP ? DLFUMI_ISTA : DLFUMI_ACTIVE;
      CHECK(check_fit(x, &par, A, host) != FUMI_ENONFINITE);
    }
}

/* Bags of five instances, every other one positive. */
static void fill_bags(int *bag, int *label) {
  for (int i = 0; i < N; i++) bag[i] = i / 5;
  for (int j = 0; j < N / 5; j++) label[j] = j % 2 == 0;
}

static void check_dd(const fumi_data *x, const fumi_host *host) {
  int bag[N], label[N / 5];
  double F, gradient[2 * d];
  fill_bags(bag, label);
  for (int model = DD_NOISY_OR; model <= DD_MOST_LIKELY_CAUSE; model++) {
    const dd_problem p = {*x, N / 5, bag, label, (dd_model)model, DD_FEATURE, filled(d, 1)};
    CHECK(dd_objective(&p, random_doubles(2 * d), &F, gradient, host) == FUMI_OK && isfinite(F));
  }
}

static void check_dmil(const fumi_data *x, const fumi_host *host) {
  int bag[N], label[N / 5], n_dead[M] = {0};
  fill_bags(bag, label);
  const dmil_bags bags = {N / 5, bag, label};
  for (int pool = DMIL_NOISY_OR; pool <= DMIL_GMEAN; pool++) {
    const dmil_param par = {.pool = (dmil_pool)pool,
                            .K = M,
                            .max_iter = 3,
                            .simd = 1,
                            .exponent = 5,
                            .beta = 1,
                            .lambda = .05};
    dmil_state s = {.D = random_atoms(d, M), .trace = doubles(DMIL_TERMS * 4), .n_dead = n_dead};
    const fumi_status status = dmil_fit(x, &bags, &par, &s, host);
    CHECK(status == FUMI_MAXIT || status == FUMI_CONVERGED || status == FUMI_ENONFINITE);
    CHECK(all_finite(s.D, d * M));
  }
}

static void check_unmix(const fumi_data *x, const fumi_host *host) {
  double *E = doubles(d * M), *C = doubles(M * N), *A = doubles(M * N);
  for (int k = 0; k < M; k++)
    for (int r = 0; r < d; r++) E[r + d * k] = entry(x, r, k);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < M; k++) {
      C[k + M * i] = 0;
      for (int r = 0; r < d; r++) C[k + M * i] += E[r + d * k] * entry(x, r, i);
    }
  CHECK(efumi_unmix(M, N, 1, gram_of(d, M, E, M), filled(N, .5), C, A, host) == FUMI_OK);
  CHECK(all_finite(A, M * N));
}

static fumi_host silent_host(recorder *r) {
  return (fumi_host){recorder_alloc, recorder_poll, NULL, r};
}

static void check_kind(const kind *k, int unit) {
  double *X = k->make(), *scale = filled(N, 1);
  recorder r = {0};
  const fumi_host host = silent_host(&r);
  const fumi_data x = {d, N, N_POS, X, scale, NULL};
  char name[80];
  snprintf(name, sizeof name, "%s%s", k->name, unit ? ", unit norm" : "");
  mu_test = name;
  if (unit) fumi_unit_scale(d, N, X, scale);
  CHECK(all_finite(scale, N));
  check_kmeans(&x, &host);
  for (int steps = 0; steps <= 20; steps += 20) {
    check_codes(&x, steps, &host);
    check_confidence(&x, steps, &host);
  }
  check_fits(&x, &host);
  check_dd(&x, &host);
  check_dmil(&x, &host);
  check_unmix(&x, &host);
  mu_test = "";
  arena_release();
}

/* ---- data beyond the range ---------------------------------------------------------- */

/* Squares overflow: no fit reports success with numbers that are not finite. */
static void test_overflow(void) {
  const double sizes[] = {1e160, 1e200, 1.7e308};
  for (int j = 0; j < 3; j++)
    for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++) {
      const fumi_data x = {d, N, N_POS, scaled_instances(sizes[j]), filled(N, 1), NULL};
      dlfumi_param par = default_param(T, M);
      recorder r = {0};
      const fumi_host host = silent_host(&r);
      par.variant = (dlfumi_variant)variant;
      CHECK(check_fit(&x, &par, filled(K * N, 0), &host) == FUMI_ENONFINITE);
      arena_release();
    }
}

static void test_bad_dictionary(void) {
  const fumi_data x = random_data(d, N_POS, N_NEG);
  const dlfumi_param par = default_param(T, M);
  recorder r = {0};
  const fumi_host host = host_of(&r);
  dlfumi_state s = start_state(&x, &par, filled(d * K, NAN), filled(K * N, 0));
  CHECK(dlfumi_fit(&x, &par, &s, &host) == FUMI_ENONFINITE);
  arena_release();
}

int main(void) {
  for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++)
    for (int unit = 0; unit <= 1; unit++) check_kind(&KINDS[k], unit);
  RUN(test_overflow);
  RUN(test_bad_dictionary);
  return mu_report();
}
