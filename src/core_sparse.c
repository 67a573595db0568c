/* core_sparse.c: exact sparse codes.
 *
 *   min_a  .5 a'Qa - c'a + sum_k penalty_k |a_k|
 *
 * by an active set (feature-sign search, Lee et al. 2007) on a Cholesky factor
 * that grows with the set and is rebuilt from the row of an atom that leaves. An
 * atom that depends on the active ones takes the place of one of them. The weight of
 * an atom divides out of q_k = c_k - (Qa)_k and of its penalty, so that every atom is
 * held against lambda. Codes that must not be negative are the same search in which
 * only a q_k > 0 pulls an atom in. What cycles or rounds is handed to coordinate descent. The
 * duality gap tells how exact a code is. */
#include "core.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

fumi_status fumi_lasso_init(fumi_lasso_work *w, const fumi_kernel *kernel, int K,
                            const fumi_host *host) {
  double **arrays[] = {&w->b, &w->q, &w->a, &w->z, &w->y, &w->v};
  w->kernel = kernel;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    if (!(*arrays[i] = fumi_doubles(host, K))) return FUMI_ENOMEM;
  w->L = fumi_doubles(host, (ptrdiff_t)K * K);
  w->active = host->alloc(host->ctx, (size_t)K, sizeof(int));
  w->sign = host->alloc(host->ctx, (size_t)K, sizeof(int));
  return w->L && w->active && w->sign ? FUMI_OK : FUMI_ENOMEM;
}

static double weight(const fumi_lasso *l, int k) { return k < l->T ? l->p : 1; }

/* How strongly correlation q pulls a code away from 0. */
static double pull(const fumi_lasso *l, double q) { return l->nonneg ? q : fabs(q); }

static double strongest_pull(const fumi_lasso *l, const fumi_lasso_work *w) {
  if (!l->nonneg) return w->kernel->peak(l->K, w->q);
  double most = 0;
  for (int k = 0; k < l->K; k++) most = fmax(most, w->q[k]);
  return most;
}

static double dot(int n, const double *x, const double *y) {
  double s0 = 0, s1 = 0;
  for (int i = 0; i + 1 < n; i += 2) s0 += x[i] * y[i], s1 += x[i + 1] * y[i + 1];
  return n % 2 ? s0 + s1 + x[n - 1] * y[n - 1] : s0 + s1;
}

/* Below this p the target block of Q is 0 to working precision, and its codes are 0. */
static int first_atom(const fumi_lasso *l) { return l->p > DBL_EPSILON ? 0 : l->T; }

/* The atoms whose codes are not 0; returns their number. */
static int find_active(const fumi_lasso *l, fumi_lasso_work *w) {
  const int first = first_atom(l);
  int n = 0;
  for (int k = 0; k < l->K; k++) {
    if (k < first || l->G[k + (ptrdiff_t)l->ldg * k] <= 0) w->a[k] = 0; /* without weight, or of zeros */
    if (l->nonneg && w->a[k] < 0) w->a[k] = 0;
    if (w->a[k] == 0) continue;
    w->active[n] = k;
    w->sign[n++] = w->a[k] > 0 ? 1 : -1;
  }
  return n;
}

/* q_k = (c - Qa)_k / weight_k from the n active codes; 0 for atoms out of play */
static void correlations(const fumi_lasso *l, fumi_lasso_work *w, int n) {
  for (int i = 0; i < n; i++) w->v[i] = weight(l, w->active[i]) * w->a[w->active[i]];
  w->kernel->correlate(l->K, n, w->active, w->v, l->G, l->ldg, w->b, w->q);
  for (int t = 0; t < l->T && l->p != 1; t++) {
    double q = first_atom(l) ? 0 : w->b[t];
    for (int i = 0; i < n && !first_atom(l); i++)
      q -= w->a[w->active[i]] * l->G[t + (ptrdiff_t)l->ldg * w->active[i]];
    w->q[t] = q;
  }
}

/* Without a penalty the dual has no interior: the largest |q_k|, but for a code of 0 its pull, beside |c_k|. */
static double largest_correlation(const fumi_lasso *l, const fumi_lasso_work *w) {
  double q = 0, c = 0;
  for (int k = first_atom(l); k < l->K; k++) {
    q = fmax(q, weight(l, k) * (w->a[k] == 0 ? pull(l, w->q[k]) : fabs(w->q[k])));
    c = fmax(c, weight(l, k) * fabs(w->b[k]));
  }
  return c > 0 ? q / c : 0;
}

/* Primal minus dual over primal. The dual point is the residual shrunk until
 * no atom is pulled by more than lambda. Needs w->q. */
static double relative_gap(const fumi_lasso *l, const fumi_lasso_work *w, int n) {
  if (l->lambda == 0) return largest_correlation(l, w);
  double ac = 0, aq = 0, l1 = 0;
  for (int i = 0; i < n; i++) {
    const int k = w->active[i];
    const double wa = weight(l, k) * w->a[k];
    ac += wa * w->b[k];
    aq += wa * w->q[k];
    l1 += l->lambda * fabs(wa);
  }
  const double largest = strongest_pull(l, w);
  const double shrink = largest > l->lambda ? l->lambda / largest : 1;
  const double rr = l->norm2 - ac - aq, primal = .5 * rr + l1;
  const double dual = shrink * (l->norm2 - ac) - .5 * shrink * shrink * rr;
  return primal > DBL_EPSILON * l->norm2 ? (primal - dual) / primal : 0;
}

/* Extends the factor Q_active = L L' (rows, inverse diagonal) and y = L^-1 (c - penalty * sign) by
 * rows from .. n - 1. Returns the place of the first atom that depends on those before it, or n. */
static int factor_rows(const fumi_lasso *l, fumi_lasso_work *w, int from, int n) {
  for (int i = from; i < n; i++) {
    double *row = w->L + (ptrdiff_t)l->K * i;
    const int k = w->active[i];
    const double *g = l->G + (ptrdiff_t)l->ldg * k, own = weight(l, k);
    for (int j = 0; j < i; j++) {
      const double *other = w->L + (ptrdiff_t)l->K * j;
      const int m = w->active[j];
      row[j] = ((m < l->T ? l->p : own) * g[m] - dot(j, row, other)) * other[j];
    }
    w->pivot = own * g[k] - dot(i, row, row);
    if (!(w->pivot > 1e-10 * own * g[k])) return i;
    row[i] = 1 / sqrt(w->pivot);
    w->y[i] = (own * (w->b[k] - w->sign[i] * l->lambda) - dot(i, row, w->y)) * row[i];
  }
  return n;
}

/* z = L'^-1 from */
static void solve_back(const fumi_lasso *l, fumi_lasso_work *w, int n, const double *from) {
  double *z = w->z;
  memcpy(z, from, sizeof(double) * (size_t)n);
  for (int i = n - 1; i >= 0; i--) {
    const double *row = w->L + (ptrdiff_t)l->K * i, zi = z[i] *= row[i];
    for (int m = 0; m < i; m++) z[m] -= zi * row[m];
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

/* The last active atom, whose code is still 0, depends on the others. Its code moves away from 0 and
 * theirs so that Da stays: the penalty falls until one of them is 0, whose place is returned, or the
 * small curve along that way ends it first: then it is not worth to enter, and its own place is. */
static int exchange(const fumi_lasso *l, fumi_lasso_work *w, int n) {
  const int last = n - 1, k = w->active[last];
  const double sign = w->sign[last], slope = weight(l, k) * (fabs(w->q[k]) - l->lambda);
  double step = w->pivot > 0 ? slope / w->pivot : HUGE_VAL;
  int leaves = last;
  solve_back(l, w, last, w->L + (ptrdiff_t)l->K * last);
  for (int i = 0; i < last; i++) {
    const double a = w->a[w->active[i]], move = -sign * w->z[i];
    if (a * move < 0 && -a / move < step) step = -a / move, leaves = i;
  }
  if (leaves == last) return last;
  for (int i = 0; i < last; i++) w->a[w->active[i]] -= step * sign * w->z[i];
  w->a[k] = step * sign;
  return leaves;
}

/* Minimises over the active atoms, of which the last one may be about to enter; returns their number. */
static int minimise_active(const fumi_lasso *l, fumi_lasso_work *w, int n, int factored) {
  while (n > 0) {
    int leaves = factor_rows(l, w, factored, n);
    if (leaves == n) {
      solve_back(l, w, n, w->y);
      leaves = step_to_sign_change(w, n);
      if (leaves == n) return n;
    } else if (leaves == n - 1 && w->a[w->active[leaves]] == 0) {
      leaves = exchange(l, w, n);
    }
    n = drop_active(w, n, leaves);
    factored = leaves;
  }
  return 0;
}

/* The inactive atom with the strongest pull, if that is above lambda, or -1. */
static int worst_violation(const fumi_lasso *l, fumi_lasso_work *w, int n, double rounding) {
  for (int i = 0; i < n; i++) w->z[i] = w->q[w->active[i]], w->q[w->active[i]] = 0;
  const double most = strongest_pull(l, w);
  int worst = -1;
  if (most > l->lambda + rounding)
    for (worst = 0; pull(l, w->q[worst]) != most;) worst++;
  for (int i = 0; i < n; i++) w->q[w->active[i]] = w->z[i];
  return worst;
}

/* One sweep of coordinate descent; returns the largest change over the largest code. */
static double sweep(const fumi_lasso *l, fumi_lasso_work *w) {
  const int first = first_atom(l);
  double moved = 0, largest = 0;
  for (int k = first; k < l->K; k++) {
    const double *g = l->G + (ptrdiff_t)l->ldg * k;
    if (g[k] <= 0) continue;
    const double t = w->q[k] + g[k] * w->a[k], size = pull(l, t) - l->lambda;
    const double change = (size > 0 ? copysign(size, t) / g[k] : 0) - w->a[k];
    w->a[k] += change;
    for (int j = first; j < l->T; j++) w->q[j] -= change * g[j];
    for (int j = l->T; j < l->K; j++) w->q[j] -= weight(l, k) * change * g[j];
    moved = fmax(moved, fabs(change));
    largest = fmax(largest, fabs(w->a[k]));
  }
  return largest > 0 ? moved / largest : 0;
}

double fumi_lasso_gap(const fumi_lasso *l, fumi_lasso_work *w) {
  const int n = find_active(l, w);
  correlations(l, w, n);
  return relative_gap(l, w, n);
}

/* Coordinate descent: slower, and safe whatever the atoms are. */
static double coordinate_descent(const fumi_lasso *l, fumi_lasso_work *w) {
  enum { MAX_ROUNDS = 1000, SWEEPS = 10 };
  double gap = fumi_lasso_gap(l, w), moved = 1;
  for (int round = 0; round < MAX_ROUNDS && gap > l->gap && moved >= 1e-15; round++) {
    for (int s = 0; s < SWEEPS; s++) moved = sweep(l, w);
    gap = fumi_lasso_gap(l, w);
  }
  return gap;
}

/* The codes to start from. Codes without a 0 are those of least squares: where atoms are many, it is cheaper
 * to begin at 0 than to let them leave one by one, each at the price of a factor. */
static int start_active(const fumi_lasso *l, fumi_lasso_work *w) {
  enum { CHEAP_TO_LEAVE = 32 };
  const int n = find_active(l, w);
  if (n < l->K - first_atom(l) || n <= CHEAP_TO_LEAVE) return n;
  memset(w->a, 0, sizeof(double) * (size_t)l->K);
  return 0;
}

double fumi_lasso_solve(const fumi_lasso *l, fumi_lasso_work *w) {
  const double rounding = 1e-13 * w->kernel->peak(l->K, w->b);
  int n = start_active(l, w), factored = 0, entered = -1;
  for (int round = 0; round < 20 * l->K + 100; round++) {
    n = minimise_active(l, w, n, factored);
    factored = n;
    correlations(l, w, n);
    const int enters = worst_violation(l, w, n, rounding);
    if (enters < 0) return relative_gap(l, w, n);
    if (enters == entered && w->a[enters] == 0) break;
    entered = enters;
    w->active[n] = enters;
    w->sign[n++] = w->q[enters] > 0 ? 1 : -1;
  }
  return coordinate_descent(l, w);
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
  return c->spare ? fumi_lasso_init(&c->lasso, kernel, c->K, host) : FUMI_ENOMEM;
}

double fumi_coder_work(const fumi_coder *c, int d) {
  const double K = c->K, steps = c->steps > 0 ? c->steps : 2 * K;
  return fumi_block_size(d) * (2 * d * K + 2 * steps * K * K);
}

fumi_status fumi_coder_init(fumi_coder *c, const fumi_kernel *kernel, int K, const double *G,
                            int ldg, double lambda, int steps, int nonneg, const fumi_host *host) {
  const fumi_coder plain = {.K = K, .ldg = ldg, .steps = steps, .nonneg = nonneg, .G = G, .lambda = lambda};
  fumi_status status = fumi_coder_twin(c, &plain, kernel, host);
  c->H = fumi_doubles(host, fumi_panel_size(kernel, K, K));
  double *work = fumi_doubles(host, fumi_eigen_work(K));
  if (status != FUMI_OK || !c->H || !work) return FUMI_ENOMEM;
  if (steps == 0) return FUMI_OK;
  const double largest = fumi_largest_eigenvalue(K, G, ldg, work, &status);
  c->eta = largest > 0 ? 1 / largest : 1;
  for (int k = 0; k < K; k++)
    for (int j = 0; j < K; j++)
      work[j + (ptrdiff_t)K * k] = (j == k) - c->eta * G[j + (ptrdiff_t)ldg * k];
  fumi_panel(kernel, K, K, work, K, c->H);
  return status;
}

static void code_exact(fumi_coder *c, fumi_block *b, int k0) {
  const int lanes = b->kernel->lanes;
  fumi_lasso_work *w = &c->lasso;
  for (int i = b->n; i < b->tiles * lanes; i++)
    for (int k = 0; k < c->K; k++) b->A[fumi_at(lanes, b->K, k0 + k, i)] = 0;
  for (int i = 0; i < b->n; i++) {
    const fumi_lasso l = {.K = c->K, .ldg = c->ldg, .nonneg = c->nonneg, .G = c->G, .lambda = c->lambda, .p = 1,
                          .norm2 = b->norm2[b->first + i], .gap = 1e-9};
    const ptrdiff_t lane = fumi_at(lanes, b->K, k0, i);
    for (int k = 0; k < c->K; k++) w->b[k] = b->B[lane + k * lanes], w->a[k] = 0;
    const double gap = fumi_lasso_solve(&l, w);
    if (gap > c->worst_gap) c->worst_gap = gap;
    for (int k = 0; k < c->K; k++) b->A[lane + k * lanes] = w->a[k];
  }
}

static void code_ista(fumi_coder *c, fumi_block *b, int k0) {
  const int lanes = b->kernel->lanes;
  const double threshold[] = {c->lambda, fumi_below(c->lambda, c->nonneg)};
  for (int tile = 0; tile < b->tiles; tile++) {
    const ptrdiff_t at = ((ptrdiff_t)tile * b->K + k0) * lanes;
    memset(b->A + at, 0, sizeof(double) * (size_t)(c->K * lanes));
    b->kernel->ista(c->K, c->steps, c->H, c->eta, b->B + at, threshold, b->A + at, c->spare);
  }
}

void fumi_coder_run(fumi_coder *c, fumi_block *b, int k0) {
  if (c->steps == 0) code_exact(c, b, k0);
  else code_ista(c, b, k0);
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

fumi_status fumi_code(const fumi_data *x, int K, const double *D, double lambda, int steps, int nonneg,
                      int simd, int threads, double *A, double *worst_gap, const fumi_host *host) {
  const int nb = fumi_block_size(x->d), n_blocks = (x->N + nb - 1) / nb;
  const int n_threads = fumi_usable_threads(threads, n_blocks);
  code_work w = {.x = x, .A = A};
  fumi_status status = fumi_block_with_atoms(w.block, x, fumi_choose_kernel(simd), K, D, host);
  if (status != FUMI_OK) return status;
  const double *G = w.block->G;
  status = fumi_coder_init(w.coder, w.block->kernel, K, G, K, lambda, steps, nonneg, host);
  for (int t = 1; t < n_threads && status == FUMI_OK; t++) {
    status = fumi_block_twin(w.block + t, w.block, host);
    if (status == FUMI_OK) status = fumi_coder_twin(w.coder + t, w.coder, w.block->kernel, host);
  }
  if (status == FUMI_OK)
    status = fumi_each_block(x->d, n_blocks, n_threads, fumi_coder_work(w.coder, x->d), code_task, &w, host);
  *worst_gap = 0;
  for (int t = 0; t < n_threads; t++) *worst_gap = fmax(*worst_gap, w.coder[t].worst_gap);
  return status;
}
