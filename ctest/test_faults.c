/* A host that has no memory or says stop, at each place where the core asks it. */
#include "problem.h"

static const shape SMALL = {15, 2, 4, 110, 105}; /* two blocks of each label */
static const shape LONG = {3, 1, 2, 6500, 6600}; /* polled in the middle of a pass */

/* Each runs one entry of the core on a problem of its own, always the same. */
typedef fumi_status entry_run(const fumi_host *host);

static problem fixed_problem(shape z, dlfumi_variant variant, dlfumi_solver solver) {
  random_state = 7;
  problem q = random_problem(z);
  q.par.variant = variant;
  q.par.solver = solver;
  q.par.max_iter = 4;
  q.par.accelerate = variant == DLFUMI_EXACT && solver == DLFUMI_ACTIVE;
  /* proximal steps ask the host on one thread, as often as that thread has rounds to make */
  q.par.threads = variant == DLFUMI_EXACT && solver == DLFUMI_ISTA ? 1 : 2;
  q.par.dead = DLFUMI_RESAMPLE;
  for (int i = 0; i < q.x.N; i++) q.s.A[1 + (ptrdiff_t)q.par.K * i] = 0; /* one is not in use */
  const double *p = q.s.p;
  q.s = start_state(&q.x, &q.par, q.s.D, q.s.A);
  memcpy(q.s.p, p, sizeof(double) * (size_t)q.x.N_pos);
  return q;
}

static problem paper_problem(void) { return fixed_problem(SMALL, DLFUMI_PAPER, DLFUMI_ISTA); }

static fumi_status run_fit(const fumi_host *host) {
  problem q = paper_problem();
  return dlfumi_fit(&q.x, &q.par, &q.s, host);
}

static fumi_status run_accelerated(const fumi_host *host) {
  problem q = fixed_problem(SMALL, DLFUMI_EXACT, DLFUMI_ACTIVE);
  return dlfumi_fit(&q.x, &q.par, &q.s, host);
}

static fumi_status run_step(const fumi_host *host) {
  problem q = paper_problem();
  return dlfumi_step(&q.x, &q.par, STEP_CODES, q.s.D, &q.s, host);
}

static fumi_status run_pass(const fumi_host *host) {
  problem q = paper_problem();
  dlfumi_part part = {q.s.A, q.s.p, filled(q.x.N_pos, .5)};
  dlfumi_sums sums;
  return dlfumi_pass(&q.x, &q.par, PASS_PAPER, q.s.D, &part, &sums, host);
}

static fumi_status run_worst(const fumi_host *host) {
  problem q = paper_problem();
  const dlfumi_part part = {q.s.A, q.s.p, filled(q.x.N_pos, .5)};
  int worst = -1, next = -1;
  double most = 0, less = 0;
  fumi_status status = dlfumi_worst(&q.x, &q.par, 1, q.s.D, &part, NULL, 0, &worst, &most, host);
  if (status == FUMI_OK)
    status = dlfumi_worst(&q.x, &q.par, 1, q.s.D, &part, &worst, 1, &next, &less, host);
  CHECK(status != FUMI_OK ||
        (worst >= 0 && next >= 0 && next < q.x.N_pos && next != worst && less <= most));
  return status;
}

static fumi_status run_arrange(const fumi_host *host) {
  const int row[] = {1, 0}, order[] = {1, 2, 0};
  const double sign[] = {1, -1};
  return fumi_arrange(2, 3, row, sign, order, random_doubles(6), host);
}

static fumi_status run_start_codes(const fumi_host *host) {
  problem q = paper_problem();
  return dlfumi_start_codes(&q.x, q.par.T, q.par.K, q.s.D, 1, 1, q.s.A, host);
}

static fumi_status run_confidence(const fumi_host *host) {
  problem q = paper_problem();
  return dlfumi_confidence(&q.x, q.par.T, q.par.K, q.s.D, .05, .05, 1, 0, 0, 1, 2, doubles(q.x.N),
                           doubles(q.x.N), host);
}

static fumi_status run_code(const fumi_host *host) {
  problem q = paper_problem();
  double gap;
  return fumi_code(&q.x, q.par.K, q.s.D, .05, 10, 0, 1, 2, q.s.A, &gap, host);
}

static fumi_status run_kmeans(const fumi_host *host) {
  problem q = paper_problem();
  const double u[] = {.1, .5, .9};
  int n_distinct;
  return fumi_kmeans(&q.x, 3, u, 10, 1, 1, doubles(q.x.d * 3), &n_distinct, host);
}

/* Bags of five instances, every other one positive. */
static int *every_fifth(int N) {
  int *bag = arena_take((size_t)N, sizeof(int));
  for (int i = 0; i < N; i++) bag[i] = i / 5;
  return bag;
}

static int *alternating(int n) {
  int *label = arena_take((size_t)n, sizeof(int));
  for (int j = 0; j < n; j++) label[j] = j % 2 == 0;
  return label;
}

static const dmil_param DMIL = {.pool = DMIL_NOISY_OR,
                                .K = 4,
                                .max_iter = 3,
                                .simd = 1,
                                .exponent = 5,
                                .beta = 1,
                                .lambda = .05};

static fumi_status run_dmil_fit(const fumi_host *host) {
  problem q = paper_problem();
  const int n = q.x.N / 5;
  const dmil_bags bags = {n, every_fifth(q.x.N), alternating(n)};
  int n_dead[4] = {0, 0, 0, 0};
  dmil_state s = {.D = random_atoms(q.x.d, 4), .trace = doubles(DMIL_TERMS * 4), .n_dead = n_dead};
  return dmil_fit(&q.x, &bags, &DMIL, &s, host);
}

static fumi_status run_dmil_step(const fumi_host *host) {
  problem q = paper_problem();
  const int n = q.x.N / 5;
  const dmil_bags bags = {n, every_fifth(q.x.N), alternating(n)};
  return dmil_step(&q.x, &bags, &DMIL, random_doubles((ptrdiff_t)4 * q.x.N), random_atoms(q.x.d, 4),
                   doubles(q.x.d * 4), doubles(5), host);
}

static fumi_status run_dmil_code(const fumi_host *host) {
  problem q = paper_problem();
  return dmil_code(&q.x, 4, random_atoms(q.x.d, 4), NULL, NULL, .05, 1,
                   doubles((ptrdiff_t)4 * q.x.N), doubles(q.x.N), host);
}

static fumi_status run_dd(const fumi_host *host) {
  problem q = paper_problem();
  const int n = q.x.N / 5;
  const dd_problem p = {q.x,         n,          every_fifth(q.x.N), alternating(n),
                        DD_NOISY_OR, DD_FEATURE, filled(q.x.d, 1)};
  double F;
  return dd_objective(&p, random_doubles(2 * q.x.d), &F, doubles(2 * q.x.d), host);
}

static fumi_status run_unmix(const fumi_host *host) {
  problem q = paper_problem();
  const int K = q.par.K, N = 2500;
  return efumi_unmix(K, N, q.par.T, gram_of(q.x.d, K, q.s.D, K), filled(N, .5),
                     random_doubles((ptrdiff_t)K * N), doubles((ptrdiff_t)K * N), host);
}

/* The first N_POLLING of them ask whether to stop; the last two are too short to. */
static entry_run *const ENTRIES[] = {run_fit,        run_accelerated, run_step,   run_start_codes,
                                     run_confidence, run_code,        run_kmeans, run_dmil_fit,
                                     run_dmil_step,  run_dmil_code,   run_unmix,  run_pass,
                                     run_worst,      run_dd,          run_arrange};
enum { N_ENTRIES = sizeof ENTRIES / sizeof *ENTRIES, N_POLLING = N_ENTRIES - 2 };

static int succeeded(fumi_status status) {
  return status == FUMI_OK || status == FUMI_CONVERGED || status == FUMI_MAXIT;
}

/* ---- no memory --------------------------------------------------------------------- */

static void check_without_memory(entry_run *run) {
  for (int fail_at = 1;; fail_at++) {
    recorder r = {.fail_at = fail_at};
    const fumi_host host = host_of(&r);
    const fumi_status status = run(&host);
    arena_release();
    if (r.allocations < fail_at) {
      CHECK(succeeded(status) && fail_at > 1);
      return;
    }
    CHECK(status == FUMI_ENOMEM);
  }
}

static void test_no_memory(void) {
  for (int e = 0; e < N_ENTRIES; e++) check_without_memory(ENTRIES[e]);
}

/* ---- stop -------------------------------------------------------------------------- */

static void check_stopped(entry_run *run) {
  for (int stop_at = 1;; stop_at++) {
    recorder r = {.stop_at = stop_at};
    const fumi_host host = host_of(&r);
    const fumi_status status = run(&host);
    arena_release();
    if (r.polls < stop_at) {
      CHECK(succeeded(status) && stop_at > 1);
      return;
    }
    CHECK(status == FUMI_STOPPED && r.polls == stop_at);
  }
}

static void test_stop(void) {
  for (int e = 0; e < N_POLLING; e++) check_stopped(ENTRIES[e]);
}

static void check_sane(const problem *q) {
  for (int k = 0; k < q->par.K; k++)
    CHECK_NEAR(norm(q->x.d, fumi_ccol(q->s.D, q->x.d, k)), 1, 1e-12);
  for (int i = 0; i < q->x.N_pos; i++) CHECK(q->s.p[i] >= 0 && q->s.p[i] <= 1);
  CHECK(all_finite(q->s.A, (ptrdiff_t)q->par.K * q->x.N));
}

/* All that a run of n_iter iterations returns, bit for bit; before the first complete iteration,
 * the start and its p. */
static void check_last_whole_iteration(const problem *q, shape z) {
  problem whole = fixed_problem(z, q->par.variant, q->par.solver);
  const ptrdiff_t size = (ptrdiff_t)q->x.d * q->par.K;
  const int n = q->s.n_iter;
  recorder r = {0};
  const fumi_host host = host_of(&r);
  whole.par.max_iter = n;
  if (n > 0) CHECK(dlfumi_fit(&whole.x, &whole.par, &whole.s, &host) == FUMI_MAXIT);
  else CHECK(dlfumi_step(&whole.x, &whole.par, STEP_EXPECT, NULL, &whole.s, &host) == FUMI_OK);
  CHECK(worst_difference(q->s.D, whole.s.D, size) == 0);
  CHECK(worst_difference(q->s.p, whole.s.p, q->x.N_pos) == 0);
  CHECK(worst_difference(q->s.A, whole.s.A, (ptrdiff_t)q->par.K * q->x.N) == 0);
  CHECK(memcmp(q->s.n_dead, whole.s.n_dead, sizeof(int) * (size_t)q->par.K) == 0);
  CHECK(n == 0 || worst_difference(q->s.trace, whole.s.trace, DLFUMI_TERMS * n) == 0);
  CHECK(q->s.worst_gap == (n > 0 ? whole.s.worst_gap : 0));
}

/* One run for each place to stop; returns 0 when the run came to its end instead. */
static int check_stopped_fit(shape z, dlfumi_variant variant, dlfumi_solver solver, int stop_at,
                             int *n_iter) {
  problem q = fixed_problem(z, variant, solver);
  recorder r = {.stop_at = stop_at};
  const fumi_host host = host_of(&r);
  const fumi_status status = dlfumi_fit(&q.x, &q.par, &q.s, &host);
  const int stopped = r.polls >= stop_at;
  CHECK(status == (stopped ? FUMI_STOPPED : FUMI_MAXIT));
  CHECK(r.reports == q.s.n_iter);
  CHECK(q.s.n_iter >= *n_iter && q.s.n_iter <= *n_iter + 1);
  CHECK(stopped ? q.s.n_iter < q.par.max_iter : q.s.n_iter == q.par.max_iter);
  *n_iter = q.s.n_iter;
  check_sane(&q);
  check_last_whole_iteration(&q, z);
  arena_release();
  return stopped;
}

static void test_stopped_fit(void) {
  const struct {
    shape z;
    dlfumi_variant variant;
    dlfumi_solver solver;
    int polls; /* in each of four iterations */
  } ways[] = {{LONG, DLFUMI_PAPER, DLFUMI_ISTA, 2},
              {LONG, DLFUMI_MATLAB, DLFUMI_ISTA, 2},
              {LONG, DLFUMI_EXACT, DLFUMI_ACTIVE, 2},
              {SMALL, DLFUMI_EXACT, DLFUMI_ISTA, 1}};
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    int n_iter = 0, stop_at = 1;
    while (check_stopped_fit(ways[w].z, ways[w].variant, ways[w].solver, stop_at, &n_iter))
      stop_at++;
    CHECK(stop_at > 4 * ways[w].polls);
  }
}

/* A report that says stop ends a fit with the iteration that it reports, which is whole. */
static void test_stopped_report(void) {
  for (int variant = DLFUMI_PAPER; variant <= DLFUMI_EXACT; variant++)
    for (int last = 1; last < 4; last++) {
      problem q = fixed_problem(SMALL, (dlfumi_variant)variant, DLFUMI_ISTA);
      recorder r = {.last = last};
      const fumi_host host = host_of(&r);
      CHECK(dlfumi_fit(&q.x, &q.par, &q.s, &host) == FUMI_STOPPED);
      CHECK(q.s.n_iter == last && r.reports == last);
      check_last_whole_iteration(&q, SMALL);
      arena_release();
    }
}

/* One pass over the instances serves all unused atoms, and polls the host. */
static void test_stopped_among_dead_atoms(void) {
  for (int stop_at = 1; stop_at <= 3; stop_at++) {
    problem q = fixed_problem(SMALL, DLFUMI_PAPER, DLFUMI_ISTA);
    const double *before = copied(q.s.D, (ptrdiff_t)q.x.d * q.par.K);
    for (int i = 0; i < q.x.N; i++)
      for (int k = 2; k < 5; k++) q.s.A[k + (ptrdiff_t)q.par.K * i] = 0; /* three of background */
    recorder r = {.stop_at = stop_at};
    const fumi_host host = host_of(&r);
    const fumi_status status = dlfumi_step(&q.x, &q.par, STEP_ATOMS, q.s.D, &q.s, &host);
    /* one poll for the sums, one for target atoms, one for background atoms */
    CHECK(status == FUMI_STOPPED && r.polls == stop_at);
    CHECK(worst_difference(q.s.D, before, (ptrdiff_t)q.x.d * q.par.K) == 0);
    for (int k = 0; k < q.par.K; k++) CHECK(q.s.n_dead[k] == 0);
    arena_release();
  }
  problem q = fixed_problem(SMALL, DLFUMI_PAPER, DLFUMI_ISTA);
  for (int i = 0; i < q.x.N; i++)
    for (int k = 2; k < 5; k++) q.s.A[k + (ptrdiff_t)q.par.K * i] = 0;
  recorder r = {0};
  const fumi_host host = host_of(&r);
  CHECK(dlfumi_step(&q.x, &q.par, STEP_ATOMS, q.s.D, &q.s, &host) == FUMI_OK && r.polls == 3);
  for (int k = 0; k < q.par.K; k++) CHECK(q.s.n_dead[k] == (k >= 1 && k < 5));
  arena_release();
}

/* A stopped step leaves the dictionary as it was: half the statistics make no atoms. */
static void test_stopped_atoms(void) {
  problem q = fixed_problem(LONG, DLFUMI_PAPER, DLFUMI_ISTA),
          before = fixed_problem(LONG, DLFUMI_PAPER, DLFUMI_ISTA);
  recorder r = {.stop_at = 1};
  const fumi_host host = host_of(&r);
  CHECK(dlfumi_step(&q.x, &q.par, STEP_ATOMS, q.s.D, &q.s, &host) == FUMI_STOPPED);
  CHECK(worst_difference(q.s.D, before.s.D, (ptrdiff_t)q.x.d * q.par.K) == 0);
  arena_release();
}

int main(void) {
  RUN(test_no_memory);
  RUN(test_stop);
  RUN(test_stopped_fit);
  RUN(test_stopped_report);
  RUN(test_stopped_among_dead_atoms);
  RUN(test_stopped_atoms);
  return mu_report();
}
