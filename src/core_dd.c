/* core_dd.c: diverse density (Maron and Lozano-Perez 1998), which EM-DD (Zhang and Goldman
 * 2001) shares.
 *
 * A hypothesis is a point t and scales s. An instance is a target with probability
 *   p_i = exp(-q_i),  q_i = sum_r s_r^2 (x_ri - t_r)^2,                                  (1)
 * a bag j holds one with probability
 *   P_j = 1 - prod_i (1 - p_i)  (noisy-or)  or  P_j = max_i p_i  (most likely cause),    (2)
 * and the objective to minimise is
 *   F(t, s) = -sum_{j positive} log P_j - sum_{j negative} log(1 - P_j).                 (3)
 *
 * Everything stays in the domain of logarithms: with thousands of features every p_i is
 * below the smallest double, while q_i and F are ordinary numbers. With w_i = dF/dq_i,
 *   dF/dt_r = -2 s_r^2 sum_i w_i (x_ri - t_r),  dF/ds_r = 2 s_r sum_i w_i (x_ri - t_r)^2. (4)
 */
#include "core.h"

#include <math.h>

/* q is kept off 0, where log(1 - p) is infinite, and off the largest double, so that F is
 * finite. Beyond q_tiny, log(1 - p) = -p to the last digit. */
static const double q_least = 1e-12, q_most = 1e300, q_tiny = 40;

typedef struct {
  double *q, *w;   /* N */
  double *s, *gs;  /* d: scales, and dF/ds */
  double *S, *sum; /* n_bags: log(1 - P) by noisy-or, and sum_i exp(q_min - q_i) */
  int *best;       /* n_bags: the instance with the smallest q */
} dd_work;

static fumi_status work_init(dd_work *w, const dd_problem *p, const fumi_host *host) {
  const fumi_array arrays[] = {{&w->q, p->x.N},  {&w->w, p->x.N},    {&w->s, p->x.d},
                               {&w->gs, p->x.d}, {&w->S, p->n_bags}, {&w->sum, p->n_bags}};
  w->best = fumi_ints(host, p->n_bags);
  return w->best ? FUMI_TAKE(host, arrays) : FUMI_ENOMEM;
}

/* p / (1 - p) */
static double odds(double q) { return exp(-q - fumi_log1mexp(q)); }

/* eq. 1 for one instance; four sums, so that none waits for the one before */
static double quadratic(int d, const double *x, double scale, const double *t, const double *s) {
  double q[4] = {0, 0, 0, 0};
  int r = 0;
  for (; r + 4 <= d; r += 4)
    for (int l = 0; l < 4; l++) {
      const double e = s[r + l] * (scale * x[r + l] - t[r + l]);
      q[l] += e * e;
    }
  for (; r < d; r++) {
    const double e = s[r] * (scale * x[r] - t[r]);
    q[0] += e * e;
  }
  return (q[0] + q[1]) + (q[2] + q[3]);
}

void dd_quadratic(const fumi_data *x, const double *t, const double *s, double *q) {
  for (int i = 0; i < x->N; i++)
    q[i] = quadratic(x->d, fumi_ccol(x->X, x->d, i), x->scale[i], t, s);
}

void dd_select(int N, const double *q, const int *bag, int n_bags, int *best) {
  for (int j = 0; j < n_bags; j++) best[j] = -1;
  for (int i = 0; i < N; i++) {
    int *b = &best[bag[i]];
    if (*b < 0 || q[i] < q[*b]) *b = i;
  }
}

void dd_moments(const fumi_data *x, int n, double *mean, double *variance) {
  const int d = x->d;
  /* from the first instance on, so that a constant feature has a variance of 0 exactly */
  for (int r = 0; r < d; r++) mean[r] = x->scale[0] * x->X[r], variance[r] = 0;
  for (int i = 1; i < n; i++) {
    const double *xi = fumi_ccol(x->X, d, i), scale = x->scale[i];
    for (int r = 0; r < d; r++) mean[r] += (scale * xi[r] - x->scale[0] * x->X[r]) / n;
  }
  if (n == 1) return;
  for (int i = 0; i < n; i++) {
    const double *xi = fumi_ccol(x->X, d, i), scale = x->scale[i];
    for (int r = 0; r < d; r++) {
      const double e = scale * xi[r] - mean[r];
      variance[r] += e * e / (n - 1);
    }
  }
}

/* F and w = dF/dq by the most likely cause */
static double most_likely_cause(const dd_problem *p, dd_work *w) {
  double F = 0;
  for (int i = 0; i < p->x.N; i++) w->w[i] = 0;
  for (int j = 0; j < p->n_bags; j++) {
    const int i = w->best[j];
    F += p->label[j] ? w->q[i] : -fumi_log1mexp(w->q[i]);
    w->w[i] = p->label[j] ? 1 : -odds(w->q[i]);
  }
  return F;
}

/* A positive bag far from t: P_j = sum_i p_i, of which only the logarithm can be held. */
static int is_far(const dd_problem *p, const dd_work *w, int j) {
  return p->label[j] && w->q[w->best[j]] > q_tiny;
}

static double noisy_or_weight(const dd_problem *p, const dd_work *w, int i) {
  const int j = p->bag[i];
  if (!p->label[j]) return -odds(w->q[i]);
  if (is_far(p, w, j)) return exp(w->q[w->best[j]] - w->q[i]) / w->sum[j]; /* p_i / P_j */
  /* p_i / (1 - p_i) * (1 - P_j) / P_j */
  return exp(-w->q[i] - fumi_log1mexp(w->q[i]) + w->S[j] - fumi_log1mexp(-w->S[j]));
}

/* F and w = dF/dq by noisy-or */
static double noisy_or(const dd_problem *p, dd_work *w) {
  double F = 0;
  for (int j = 0; j < p->n_bags; j++) w->S[j] = w->sum[j] = 0;
  for (int i = 0; i < p->x.N; i++) {
    const int j = p->bag[i];
    w->S[j] += fumi_log1mexp(w->q[i]);
    w->sum[j] += exp(w->q[w->best[j]] - w->q[i]);
  }
  for (int j = 0; j < p->n_bags; j++) {
    if (!p->label[j]) F -= w->S[j];
    else if (is_far(p, w, j)) F += w->q[w->best[j]] - log(w->sum[j]);
    else F -= fumi_log1mexp(-w->S[j]);
  }
  for (int i = 0; i < p->x.N; i++) w->w[i] = noisy_or_weight(p, w, i);
  return F;
}

/* theta is t, then s (feature), or the factor of `unit` (single), or nothing (fixed) */
static void read_scales(const dd_problem *p, const double *theta, double *s) {
  const int d = p->x.d;
  const double factor = p->scale == DD_SINGLE ? theta[d] : 1;
  for (int r = 0; r < d; r++) s[r] = p->scale == DD_FEATURE ? theta[d + r] : factor * p->unit[r];
}

/* eq. 4; the sums over instances are in gt = sum w e and gs = sum w e^2 first */
static void gradient_of(const dd_problem *p, const dd_work *w, const double *t, double *gt,
                        double *gs) {
  const int d = p->x.d;
  for (int r = 0; r < d; r++) gt[r] = gs[r] = 0;
  for (int i = 0; i < p->x.N; i++) {
    const double *x = fumi_ccol(p->x.X, d, i), scale = p->x.scale[i], wi = w->w[i];
    if (wi == 0) continue;
    for (int r = 0; r < d; r++) {
      const double e = scale * x[r] - t[r];
      gt[r] += wi * e;
      gs[r] += wi * e * e;
    }
  }
  for (int r = 0; r < d; r++) {
    gt[r] *= -2 * w->s[r] * w->s[r];
    gs[r] *= 2 * w->s[r];
  }
}

int dd_n_theta(const dd_problem *p) {
  return p->x.d + (p->scale == DD_FEATURE ? p->x.d : p->scale == DD_SINGLE);
}

fumi_status dd_objective(const dd_problem *p, const double *theta, double *F, double *gradient,
                         const fumi_host *host) {
  const int d = p->x.d;
  dd_work w;
  if (work_init(&w, p, host) != FUMI_OK) return FUMI_ENOMEM;
  read_scales(p, theta, w.s);
  dd_quadratic(&p->x, theta, w.s, w.q);
  for (int i = 0; i < p->x.N; i++) w.q[i] = fmin(fmax(w.q[i], q_least), q_most);
  dd_select(p->x.N, w.q, p->bag, p->n_bags, w.best);
  *F = p->model == DD_NOISY_OR ? noisy_or(p, &w) : most_likely_cause(p, &w);
  gradient_of(p, &w, theta, gradient, p->scale == DD_FEATURE ? gradient + d : w.gs);
  if (p->scale == DD_SINGLE) {
    gradient[d] = 0;
    for (int r = 0; r < d; r++) gradient[d] += p->unit[r] * w.gs[r]; /* s = theta_d unit */
  }
  return FUMI_OK;
}
