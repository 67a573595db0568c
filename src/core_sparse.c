/* core_sparse.c: the lasso of one instance.
 *
 *   min_a  .5 a'Qa - c'a + sum_k penalty_k |a_k|,   a >= 0 if `nonneg`
 *
 * with Q_kl = p G_kl if k or l < T and G_kl otherwise, c_k = p b_k and penalty_k = p lambda if
 * k < T, b_k and lambda otherwise; b = D'x. The weight p of an atom divides out of
 * q_k = c_k - (Qa)_k and of its penalty, so every atom is held against lambda: a is the minimum if
 *
 *   q_k = lambda sign(a_k) where a_k is not 0,  |q_k| <= lambda elsewhere
 *
 * (q_k <= lambda if nonneg).
 *
 * By an active set (feature-sign search, Lee et al. 2007):
 *   1. minimise over the active atoms (Cholesky factor L of Q among them), and drop those whose
 *      code would change its sign;
 *   2. of the others, the one with the largest |q_k| enters if that is above lambda.
 * L grows by a row for an atom that enters and is rebuilt from the row of an atom that leaves. An
 * atom that depends on the active ones takes the place of one of them. What cycles or rounds is
 * handed to coordinate descent. The duality gap tells how exact a code is. */
#include "core.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

fumi_status fumi_lasso_init(fumi_lasso_work *w, const fumi_kernel *kernel, int K,
                            const fumi_host *host) {
  const fumi_array arrays[] = {{&w->b, K},
                               {&w->q, K},
                               {&w->a, K},
                               {&w->z, K},
                               {&w->y, K},
                               {&w->v, K},
                               {&w->L, (ptrdiff_t)K * K}};
  w->kernel = kernel;
  w->stop = NULL;
  w->asks = 0;
  if (FUMI_TAKE(host, arrays) != FUMI_OK) return FUMI_ENOMEM;
  w->active = fumi_ints(host, K);
  w->sign = fumi_ints(host, K);
  return w->active && w->sign ? FUMI_OK : FUMI_ENOMEM;
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
    if (k < first || l->G[k + (ptrdiff_t)l->ldg * k] <= 0)
      w->a[k] = 0; /* without weight, or of zeros */
    if (l->nonneg && w->a[k] < 0) w->a[k] = 0;
    if (w->a[k] == 0) continue;
    w->active[n] = k;
    w->sign[n++] = w->a[k] > 0 ? 1 : -1;
  }
  return n;
}

/* q_t of a target atom, in which the weight p divides out of every term */
static double target_correlation(const fumi_lasso *l, const fumi_lasso_work *w, int n, int t) {
  double q = w->b[t];
  for (int i = 0; i < n; i++) q -= w->a[w->active[i]] * l->G[t + (ptrdiff_t)l->ldg * w->active[i]];
  return q;
}

/* q_k = (c - Qa)_k / weight_k from the n active codes; 0 for atoms out of play */
static void correlations(const fumi_lasso *l, fumi_lasso_work *w, int n) {
  for (int i = 0; i < n; i++) w->v[i] = weight(l, w->active[i]) * w->a[w->active[i]];
  w->kernel->correlate(l->K, n, w->active, w->v, l->G, l->ldg, w->b, w->q);
  if (l->p == 1) return;
  for (int t = 0; t < l->T; t++) w->q[t] = first_atom(l) ? 0 : target_correlation(l, w, n, t);
}

/* Without a penalty the dual has no interior: the largest |q_k|, but for a code of 0 its pull,
 * beside |c_k|. */
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

/* The last active atom, whose code is still 0, depends on the others. Its code moves away from
 * 0, and theirs so that Da stays the same, while the penalty falls: until the code of one of
 * them is 0, whose place is returned. If the minimum along this way comes first, because the
 * atom depends on the others only nearly, nothing moves, and its own place is returned: it
 * leaves again. */
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

/* Minimises over the active atoms, of which the last one may be about to enter; returns their
 * number. */
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
  if (most > l->lambda + rounding) {
    worst = 0;
    while (pull(l, w->q[worst]) != most) worst++;
  }
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
    if (fumi_lasso_stopped(w)) return gap;
    for (int s = 0; s < SWEEPS; s++) moved = sweep(l, w);
    gap = fumi_lasso_gap(l, w);
  }
  return gap;
}

/* The codes to start from. Codes without a 0 are those of least squares: where atoms are many, it
 * is cheaper to begin at 0 than to let them leave one by one, each at the price of a factor. */
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
