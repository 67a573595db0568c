/* core_sparse.c: exact sparse codes.
 *
 *   min_a  .5 a'Qa - c'a + sum_k penalty_k |a_k|
 *
 * by an active set (feature-sign search, Lee et al. 2007) on a Cholesky factor
 * that grows with the set and is rebuilt from the row of an atom that leaves. An
 * instance whose active atoms are linearly dependent is handed to coordinate
 * descent, which does not mind. The duality gap tells how exact a code is. */
#include "core.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core_linalg.h"

fumi_status fumi_lasso_init(fumi_lasso_work *w, int K, const fumi_host *host) {
  w->L = fumi_doubles(host, (ptrdiff_t)K * K);
  w->b = fumi_doubles(host, K);
  w->q = fumi_doubles(host, K);
  w->z = fumi_doubles(host, K);
  w->a = fumi_doubles(host, K);
  w->active = host->alloc(host->ctx, (size_t)K, sizeof(int));
  w->sign = host->alloc(host->ctx, (size_t)K, sizeof(int));
  return w->L && w->b && w->q && w->z && w->a && w->active && w->sign ? FUMI_OK : FUMI_ENOMEM;
}

static double weight(const fumi_lasso *l, int k) { return k < l->T ? l->p : 1; }
static double linear(const fumi_lasso *l, const double *b, int k) { return weight(l, k) * b[k]; }
static double penalty(const fumi_lasso *l, int k) { return weight(l, k) * l->lambda; }
static double quadratic(const fumi_lasso *l, int j, int k) {
  return weight(l, j < k ? j : k) * l->G[j + (ptrdiff_t)l->ldg * k];
}

/* q = c - Qa, from the non-zero codes; atoms below `first` are out of play */
static void correlations(const fumi_lasso *l, fumi_lasso_work *w, int first) {
  for (int j = 0; j < l->K; j++) w->q[j] = linear(l, w->b, j);
  for (int k = first; k < l->K; k++) {
    if (w->a[k] == 0) continue;
    const double *g = l->G + (ptrdiff_t)l->ldg * k, mixed = weight(l, k) * w->a[k];
    for (int j = first; j < l->T; j++) w->q[j] -= l->p * w->a[k] * g[j];
    for (int j = first > l->T ? first : l->T; j < l->K; j++) w->q[j] -= mixed * g[j];
  }
}

/* Without a penalty the dual has no interior: the largest |q_k| beside the largest |c_k|. */
static double largest_correlation(const fumi_lasso *l, const fumi_lasso_work *w, int first) {
  double q = 0, c = 0;
  for (int k = first; k < l->K; k++) {
    q = fmax(q, fabs(w->q[k]));
    c = fmax(c, fabs(linear(l, w->b, k)));
  }
  return c > 0 ? q / c : 0;
}

/* Primal minus dual over primal. The dual point is the residual shrunk until
 * |q_k| <= penalty_k for every atom. Needs w->q. */
static double relative_gap(const fumi_lasso *l, const fumi_lasso_work *w, int first) {
  if (l->lambda == 0) return largest_correlation(l, w, first);
  double ac = 0, aq = 0, l1 = 0, shrink = 1;
  for (int k = first; k < l->K; k++) {
    const double size = fabs(w->q[k]);
    ac += w->a[k] * linear(l, w->b, k);
    aq += w->a[k] * w->q[k];
    l1 += penalty(l, k) * fabs(w->a[k]);
    if (size * shrink > penalty(l, k)) shrink = penalty(l, k) / size;
  }
  const double rr = l->norm2 - ac - aq, primal = .5 * rr + l1;
  const double dual = shrink * (l->norm2 - ac) - .5 * shrink * shrink * rr;
  return primal > DBL_EPSILON * l->norm2 ? (primal - dual) / primal : 0;
}

/* Extends the factor Q_active = L L' by rows from .. n-1 (row-major, inverse
 * diagonal). Returns 0 if an atom depends on those before it. */
static int factor_rows(const fumi_lasso *l, fumi_lasso_work *w, int from, int n) {
  const int K = l->K;
  for (int i = from; i < n; i++) {
    double *row = w->L + (ptrdiff_t)K * i;
    const int k = w->active[i];
    for (int j = 0; j < i; j++) {
      const double *other = w->L + (ptrdiff_t)K * j;
      double s = quadratic(l, w->active[j], k);
      for (int m = 0; m < j; m++) s -= row[m] * other[m];
      row[j] = s * other[j];
    }
    double pivot = quadratic(l, k, k);
    const double least = 1e-10 * pivot;
    for (int m = 0; m < i; m++) pivot -= row[m] * row[m];
    if (!(pivot > least)) return 0;
    row[i] = 1 / sqrt(pivot);
  }
  return 1;
}

/* z = Q_active^-1 (c - penalty * sign) */
static void solve_active(const fumi_lasso *l, fumi_lasso_work *w, int n) {
  const int K = l->K;
  double *z = w->z;
  for (int i = 0; i < n; i++) {
    const double *row = w->L + (ptrdiff_t)K * i;
    double s = linear(l, w->b, w->active[i]) - w->sign[i] * penalty(l, w->active[i]);
    for (int m = 0; m < i; m++) s -= row[m] * z[m];
    z[i] = s * row[i];
  }
  for (int i = n - 1; i >= 0; i--) {
    const double *row = w->L + (ptrdiff_t)K * i;
    z[i] *= row[i];
    for (int m = 0; m < i; m++) z[m] -= z[i] * row[m];
  }
}

/* Moves towards z until a code changes its sign; returns its place, or n if none does. */
static int step_to_sign_change(fumi_lasso_work *w, int n) {
  double step = 1;
  int leaves = n;
  for (int i = 0; i < n; i++) {
    const double a = w->a[w->active[i]];
    if (w->z[i] * w->sign[i] > 0) continue;
    const double reach = a == 0 ? 0 : a / (a - w->z[i]);
    if (reach < step || leaves == n) step = reach, leaves = i;
  }
  for (int i = 0; i < n; i++) {
    double *a = w->a + w->active[i];
    *a = leaves == n ? w->z[i] : *a + step * (w->z[i] - *a);
  }
  return leaves;
}

static int drop_active(fumi_lasso_work *w, int n, int place) {
  w->a[w->active[place]] = 0;
  for (int i = place; i + 1 < n; i++) {
    w->active[i] = w->active[i + 1];
    w->sign[i] = w->sign[i + 1];
  }
  return n - 1;
}

/* Minimises over the active atoms. Returns their number, or -1 if they are dependent. */
static int minimise_active(const fumi_lasso *l, fumi_lasso_work *w, int n, int factored) {
  while (n > 0) {
    if (!factor_rows(l, w, factored, n)) return -1;
    solve_active(l, w, n);
    const int leaves = step_to_sign_change(w, n);
    if (leaves == n) return n;
    n = drop_active(w, n, leaves);
    factored = leaves;
  }
  return 0;
}

/* The inactive atom that breaks |q_k| <= penalty_k most, both over the weight of the atom,
 * or -1. */
static int worst_violation(const fumi_lasso *l, const fumi_lasso_work *w, int first) {
  double most = 0, largest = 0;
  int worst = -1;
  for (int k = first; k < l->K; k++) {
    const double excess = fabs(w->q[k]) / weight(l, k) - l->lambda;
    largest = fmax(largest, fabs(w->b[k]));
    if (w->a[k] == 0 && excess > most) most = excess, worst = k;
  }
  return most > 1e-13 * largest ? worst : -1;
}

/* One sweep of coordinate descent; returns the largest change over the largest code. */
static double sweep(const fumi_lasso *l, fumi_lasso_work *w, int first) {
  double moved = 0, largest = 0;
  for (int k = first; k < l->K; k++) {
    const double curve = quadratic(l, k, k);
    if (curve <= 0) continue;
    const double t = w->q[k] + curve * w->a[k], size = fabs(t) - penalty(l, k);
    const double change = (size > 0 ? copysign(size, t) / curve : 0) - w->a[k];
    w->a[k] += change;
    for (int j = first; j < l->K; j++) w->q[j] -= change * quadratic(l, j, k);
    moved = fmax(moved, fabs(change));
    largest = fmax(largest, fabs(w->a[k]));
  }
  return largest > 0 ? moved / largest : 0;
}

/* Coordinate descent: slower, and safe whatever the atoms are. */
static double coordinate_descent(const fumi_lasso *l, fumi_lasso_work *w, int first) {
  enum { MAX_ROUNDS = 1000, SWEEPS = 10 };
  double gap = 1;
  for (int round = 0; round < MAX_ROUNDS && gap > l->gap; round++) {
    double moved = 0;
    correlations(l, w, first);
    for (int s = 0; s < SWEEPS; s++) moved = sweep(l, w, first);
    correlations(l, w, first);
    gap = relative_gap(l, w, first);
    if (moved < 1e-15) break;
  }
  return gap;
}

/* Below this p the target block of Q is 0 to working precision, and its codes are 0. */
static int first_atom(const fumi_lasso *l) { return l->p > DBL_EPSILON ? 0 : l->T; }

double fumi_lasso_gap(const fumi_lasso *l, fumi_lasso_work *w) {
  const int first = first_atom(l);
  correlations(l, w, first);
  return relative_gap(l, w, first);
}

double fumi_lasso_solve(const fumi_lasso *l, fumi_lasso_work *w) {
  const int first = first_atom(l);
  int n = 0, factored = 0;
  for (int k = 0; k < first; k++) w->a[k] = 0;
  for (int k = first; k < l->K; k++) {
    if (quadratic(l, k, k) <= 0) w->a[k] = 0; /* an atom of zeros */
    if (w->a[k] == 0) continue;
    w->active[n] = k;
    w->sign[n++] = w->a[k] > 0 ? 1 : -1;
  }
  for (int round = 0; round < 20 * l->K + 100; round++) {
    n = minimise_active(l, w, n, factored);
    if (n < 0) break;
    factored = n;
    correlations(l, w, first);
    const int enters = worst_violation(l, w, first);
    if (enters < 0) return relative_gap(l, w, first);
    w->active[n] = enters;
    w->sign[n++] = w->q[enters] > 0 ? 1 : -1;
  }
  return coordinate_descent(l, w, first);
}

/* ---- eigenvalues and codes of new instances ---------------------------------- */

enum { EIGEN_WORK = 34 }; /* dsyev: (NB + 2) n with LAPACK's block of 32 */

ptrdiff_t fumi_eigen_work(int n) { return (ptrdiff_t)n * (n + 1 + EIGEN_WORK); }

double fumi_largest_eigenvalue(int n, const double *G, int ldg, double *work,
                               fumi_status *status) {
  double *copy = work, *values = work + (ptrdiff_t)n * n, *rest = values + n;
  for (int k = 0; k < n; k++)
    memcpy(fumi_col(copy, n, k), fumi_ccol(G, ldg, k), sizeof(double) * (size_t)n);
  if (la_eigenvalues(n, copy, values, rest, EIGEN_WORK * n) != 0) *status = FUMI_ESINGULAR;
  return values[n - 1];
}

fumi_status fumi_coder_twin(fumi_coder *c, const fumi_coder *of, const fumi_kernel *kernel,
                            const fumi_host *host) {
  *c = *of;
  c->spare = fumi_doubles(host, 2 * (ptrdiff_t)c->K * kernel->lanes);
  return c->spare ? fumi_lasso_init(&c->lasso, c->K, host) : FUMI_ENOMEM;
}

double fumi_coder_work(const fumi_coder *c, int d) {
  const double K = c->K, steps = c->steps > 0 ? c->steps : 2 * K;
  return fumi_block_size(d) * (2 * d * K + 2 * steps * K * K);
}

fumi_status fumi_coder_init(fumi_coder *c, const fumi_kernel *kernel, int K, const double *G,
                            int ldg, double lambda, int steps, const fumi_host *host) {
  const fumi_coder plain = {.K = K, .ldg = ldg, .steps = steps, .G = G, .lambda = lambda};
  fumi_status status = fumi_coder_twin(c, &plain, kernel, host);
  c->H = fumi_doubles(host, (ptrdiff_t)K * (K + FUMI_PANEL));
  double *work = fumi_doubles(host, fumi_eigen_work(K));
  if (status != FUMI_OK || !c->H || !work) return FUMI_ENOMEM;
  if (steps == 0) return FUMI_OK;
  const double largest = fumi_largest_eigenvalue(K, G, ldg, work, &status);
  c->eta = largest > 0 ? 1 / largest : 1;
  for (int k = 0; k < K; k++)
    for (int j = 0; j < K; j++)
      work[j + (ptrdiff_t)K * k] = (j == k) - c->eta * G[j + (ptrdiff_t)ldg * k];
  fumi_panel(K, K, work, K, c->H);
  return status;
}

static void code_exact(fumi_coder *c, fumi_block *b, int k0) {
  const int lanes = b->kernel->lanes;
  fumi_lasso_work *w = &c->lasso;
  for (int i = 0; i < b->n; i++) {
    const fumi_lasso l = {.K = c->K, .ldg = c->ldg, .G = c->G, .lambda = c->lambda, .p = 1,
                          .norm2 = b->norm2[b->first + i], .gap = 1e-9};
    const ptrdiff_t lane = fumi_at(lanes, b->K, k0, i);
    for (int k = 0; k < c->K; k++) w->b[k] = b->B[lane + k * lanes], w->a[k] = 0;
    const double gap = fumi_lasso_solve(&l, w);
    if (gap > c->worst_gap) c->worst_gap = gap;
    for (int k = 0; k < c->K; k++) b->A[lane + k * lanes] = w->a[k];
  }
}

void fumi_coder_run(fumi_coder *c, fumi_block *b, int k0) {
  const int lanes = b->kernel->lanes;
  for (int tile = 0; tile < b->tiles; tile++) {
    const ptrdiff_t at = ((ptrdiff_t)tile * b->K + k0) * lanes;
    memset(b->A + at, 0, sizeof(double) * (size_t)(c->K * lanes));
    b->kernel->ista(c->K, c->steps, c->H, c->eta, b->B + at, c->lambda, b->A + at, c->spare);
  }
  if (c->steps == 0) code_exact(c, b, k0);
}

typedef struct {
  const fumi_data *x;
  fumi_block block[FUMI_GROUPS];
  fumi_coder coder[FUMI_GROUPS];
  double *A;
} code_work;

static void code_task(void *ctx, int thread, int group, int j) {
  code_work *w = ctx;
  fumi_block *b = w->block + thread;
  (void)group;
  fumi_block_project(b, j * fumi_block_size(w->x->d), w->x->N, 0);
  fumi_coder_run(w->coder + thread, b, 0);
  fumi_block_store(b, w->A);
}

fumi_status fumi_code(const fumi_data *x, int K, const double *D, double lambda, int steps,
                      int portable, int threads, double *A, double *worst_gap, const fumi_host *host) {
  const int nb = fumi_block_size(x->d), n_blocks = (x->N + nb - 1) / nb;
  const int n_threads = fumi_usable_threads(threads, n_blocks);
  code_work w = {.x = x, .A = A};
  double *G = fumi_doubles(host, (ptrdiff_t)K * K);
  fumi_status status = fumi_block_init(w.block, x, fumi_choose_kernel(portable), K, host);
  if (status != FUMI_OK || !G) return FUMI_ENOMEM;
  la_gemm_tn(K, K, x->d, 1.0, D, x->d, D, x->d, 0.0, G, K);
  w.block->D = D, w.block->G = G;
  status = fumi_coder_init(w.coder, w.block->kernel, K, G, K, lambda, steps, host);
  for (int t = 1; t < n_threads && status == FUMI_OK; t++) {
    status = fumi_block_twin(w.block + t, w.block, host);
    if (status == FUMI_OK) status = fumi_coder_twin(w.coder + t, w.coder, w.block->kernel, host);
  }
  if (status == FUMI_OK)
    status = fumi_each_block(n_blocks, n_threads, fumi_coder_work(w.coder, x->d), code_task, &w, host);
  *worst_gap = 0;
  for (int t = 0; t < n_threads; t++) *worst_gap = fmax(*worst_gap, w.coder[t].worst_gap);
  return status;
}
