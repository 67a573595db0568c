/* core_mihe.c: MI-HE, the multiple-instance hybrid estimator (Jiao et al. 2018).
 *
 * Each instance has two codes, a on all atoms D = [D+ D-] and c on the background atoms D- alone:
 * r+ = x - D a, r- = x - D- c, q = (|r+|^2 + eps) / (|r-|^2 + eps). The objective is
 *
 *   J = - sum_{positive bags j} log ((1/n_j) sum_{i in j} exp(-beta power q_i)) / power    positive
 *       + rho sum_{negative i} |r-_i|^2                                                  background
 *       + alpha/2 sum_{negative i} ((D+ a+_i)'x_i)^2                                 discrimination
 *
 * Atoms move one at a time with the codes fixed. With w_i the share of instance i in the sum of its
 * bag, 0 in negative bags, the gradients are
 *
 *   target t      sum_i u_i r+_i + alpha sum_{negative i} ((D+ a+_i)'x_i) a_it x_i
 *   background k  sum_i u_i r+_i + sum_i v_i r-_i
 *   u_i = -2 beta w_i a_ik / |r-_i|^2
 *   v_i = 2 beta w_i c_ik |r+_i|^2 / |r-_i|^4 in positive bags, -2 rho c_ik in negative ones
 *
 * MIHE_LITERAL does what the released code does. MIHE_FAST differs in three ways.
 * DEVIATES D13: codes are the exact minimisers of 1/2 |x - D a|^2 + lambda |a|_1, each from the
 * code before; the released code makes 100 ISTA steps from least squares with lambda as the
 * threshold.
 * DEVIATES D14: an atom of norm 1 moves along the sphere, by twice its last move, halved until J
 * falls, and stays where it was if J is higher with the new codes; the released code makes up to 19
 * steps of one length and brings the atom to norm 1 afterwards.
 * DEVIATES D15, both: the dictionary with the lowest J is returned, not the last one. */
#include "core_mihe.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

enum { LITERAL_TRIALS = 20 };

/* ---- the objective ---------------------------------------------------------------------- */

static double ratio(double r_full, double r_bg) {
  return (r_full + DBL_EPSILON) / (r_bg + DBL_EPSILON);
}

/* Of each positive bag: the largest exponent -beta power q, and the sum of exponentials beside
 * it. */
static void pool(mihe_work *f, const double *r_full, const double *r_bg) {
  const double sharpness = f->par->beta * f->par->power;
  for (int j = 0; j < f->bags->n; j++) f->most[j] = -HUGE_VAL, f->sum[j] = 0;
  for (int i = 0; i < f->x->N_pos; i++) {
    const int j = f->bags->bag[i];
    f->w[i] = -sharpness * ratio(r_full[i], r_bg[i]);
    if (f->w[i] > f->most[j]) f->most[j] = f->w[i];
  }
  for (int i = 0; i < f->x->N_pos; i++) {
    const int j = f->bags->bag[i];
    f->w[i] = exp(f->w[i] - f->most[j]);
    f->sum[j] += f->w[i];
  }
}

static double objective(mihe_work *f, const double *r_full, const double *r_bg, const double *match,
                        double *terms) {
  double positive = 0, background = 0, discrimination = 0;
  pool(f, r_full, r_bg);
  for (int j = 0; j < f->bags->n; j++)
    positive -= (f->most[j] + log(f->sum[j] / f->size[j])) / f->par->power;
  for (int i = f->x->N_pos; i < f->x->N; i++) {
    background += f->par->rho * r_bg[i];
    discrimination += f->par->alpha / 2 * match[i] * match[i];
  }
  const double J = positive + background + discrimination;
  if (terms) terms[0] = J, terms[1] = positive, terms[2] = background, terms[3] = discrimination;
  return J;
}

static double judge(mihe_work *f, double *terms) {
  return objective(f, f->now.r_full, f->now.r_bg, f->now.match, terms);
}

/* ---- the gradient ----------------------------------------------------------------------- */

/* u, v, e: coefficients of r+_i, r-_i and x_i in the gradient by atom k */
static void coefficients(mihe_work *f, int k) {
  const int T = f->par->T, K = f->par->K, M = f->par->M;
  const mihe_codes *c = &f->now;
  const double beta = f->par->beta;
  pool(f, c->r_full, c->r_bg);
  for (int i = 0; i < f->x->N; i++) {
    const int positive = i < f->x->N_pos;
    const double a = fumi_ccol(c->A, K, i)[k], b = k < T ? 0 : fumi_ccol(c->C, M, i)[k - T];
    /* an instance that the background represents has a ratio of 1 or more */
    const double w =
        positive && c->r_bg[i] > 0 ? f->w[i] / f->sum[f->bags->bag[i]] / c->r_bg[i] : 0;
    f->u[i] = -2 * beta * w * a;
    f->v[i] = positive ? (w > 0 ? 2 * beta * w * b * c->r_full[i] / c->r_bg[i] : 0)
                       : -2 * f->par->rho * b;
    f->e[i] = positive || k >= T ? 0 : f->par->alpha * c->match[i] * a;
  }
}

/* g = sum_i u_i r+_i + v_i r-_i + e_i x_i = X (u + v + e) - D A u - D- C v */
static void gradient_of(mihe_work *f, int k, double *g) {
  const int d = f->x->d, N = f->x->N, K = f->par->K, M = f->par->M, T = f->par->T;
  coefficients(f, k);
  la_gemv_n(K, N, 1.0, f->now.A, K, f->u, 0.0, f->k);
  la_gemv_n(M, N, 1.0, f->now.C, M, f->v, 0.0, f->z);
  for (int m = 0; m < M; m++) f->k[T + m] += f->z[m];
  la_gemv_n(d, K, -1.0, f->D, d, f->k, 0.0, g);
  for (int i = 0; i < N; i++) f->e[i] = f->x->scale[i] * (f->u[i] + f->v[i] + f->e[i]);
  la_gemv_n(d, N, 1.0, f->x->X, d, f->e, 1.0, g);
}

/* What a move of atom k along d_k and g does to the residuals: products of them with both. */
static void products(mihe_work *f, int k) {
  const int d = f->x->d, K = f->par->K, M = f->par->M, T = f->par->T;
  for (int l = 0; l < K; l++) f->z[l] = la_dot(d, fumi_ccol(f->D, d, l), f->g);
  const double *gram = fumi_ccol(f->G, K, k);
  for (int i = 0; i < f->x->N; i++) {
    const double *a = fumi_ccol(f->now.A, K, i), *c = fumi_ccol(f->now.C, M, i);
    f->xg[i] = f->x->scale[i] * la_dot(d, fumi_ccol(f->x->X, d, i), f->g);
    const double b = fumi_ccol(f->B, K, i)[k];
    f->rg[i] = f->xg[i] - mihe_product(K, a, f->z);
    f->rd[i] = b - mihe_product(K, a, gram);
    f->sg[i] = f->xg[i] - mihe_product(M, c, f->z + T);
    f->sd[i] = b - mihe_product(M, c, gram + T);
  }
}

/* J with d_k + along d_k + across g, codes fixed: |r - a delta|^2 = |r|^2 - 2 a r'delta + a^2
 * |delta|^2 */
static double try_move(mihe_work *f, int k, double along, double across) {
  const int T = f->par->T, K = f->par->K, M = f->par->M;
  const mihe_codes *c = &f->now;
  const double moved2 =
      along * along * f->G[k + (ptrdiff_t)K * k] + 2 * along * across * f->z[k] + across * across;
  for (int i = 0; i < f->x->N; i++) {
    const double a = fumi_ccol(c->A, K, i)[k], b = k < T ? 0 : fumi_ccol(c->C, M, i)[k - T];
    const double full = along * f->rd[i] + across * f->rg[i],
                 rest = along * f->sd[i] + across * f->sg[i];
    f->trial.r_full[i] = fmax(c->r_full[i] - 2 * a * full + a * a * moved2, 0);
    f->trial.r_bg[i] = fmax(c->r_bg[i] - 2 * b * rest + b * b * moved2, 0);
    f->trial.match[i] = c->match[i];
    if (k < T) f->trial.match[i] += a * (along * fumi_ccol(f->B, K, i)[k] + across * f->xg[i]);
  }
  return objective(f, f->trial.r_full, f->trial.r_bg, f->trial.match, NULL);
}

/* d_k <- d_k + along d_k + across g, with G and B */
static void move(mihe_work *f, int k, double along, double across) {
  const int d = f->x->d, K = f->par->K;
  double *atom = fumi_col(f->D, d, k);
  for (int r = 0; r < d; r++) atom[r] += along * atom[r] + across * f->g[r];
  for (int l = 0; l < K; l++)
    f->G[l + (ptrdiff_t)K * k] = f->G[k + (ptrdiff_t)K * l] =
        la_dot(d, atom, fumi_ccol(f->D, d, l));
  for (int i = 0; i < f->x->N; i++) {
    double *b = fumi_col(f->B, K, i) + k;
    *b += along * *b + across * f->xg[i];
  }
}

/* ---- the literal iteration -------------------------------------------------------------- */

/* How many steps atom k goes: the last length before the trial that falls by less than .3 or
 * .7 of it. */
static int literal_steps(mihe_work *f, int k, double J) {
  int kept = 0;
  for (int trial = 1; trial <= LITERAL_TRIALS; trial++) {
    const double length = trial * f->par->step, next = try_move(f, k, 0, -length);
    if (!(next <= J - .3 * length) || next >= J - .7 * length || trial == LITERAL_TRIALS) break;
    kept = trial;
  }
  return kept;
}

static fumi_status literal_iteration(mihe_work *f, double *length) {
  const int d = f->x->d;
  for (int k = 0; k < f->par->K; k++) {
    const fumi_status status = mihe_code_anew(f);
    if (status != FUMI_OK) return status;
    gradient_of(f, k, f->g);
    const double norm = fumi_norm(d, f->g);
    length[k] = 0;
    if (!(norm > 0)) continue;
    for (int r = 0; r < d; r++) f->g[r] /= norm;
    products(f, k);
    length[k] = literal_steps(f, k, judge(f, NULL)) * f->par->step;
    double *atom = fumi_col(f->D, d, k);
    for (int r = 0; r < d; r++) atom[r] -= length[k] * f->g[r];
    const double size = fumi_norm(d, atom);
    if (f->par->coding == MIHE_SPARSE && size > 0)
      for (int r = 0; r < d; r++) atom[r] /= size;
  }
  return mihe_code_anew(f);
}

/* ---- the fast iteration ----------------------------------------------------------------- */

/* A move of length t against g: along the sphere for atoms of norm 1. */
static void arc(const mihe_work *f, double t, double *along, double *across) {
  const double c = f->par->coding == MIHE_SPARSE ? 1 / sqrt(1 + t * t) : 1;
  *along = c - 1;
  *across = -t * c;
}

static double try_length(mihe_work *f, int k, double t) {
  double along, across;
  arc(f, t, &along, &across);
  return try_move(f, k, along, across);
}

/* The unit direction against which atom k moves; returns the slope of J along it, 0 if there
 * is none. */
static double direction(mihe_work *f, int k) {
  const int d = f->x->d;
  const double *atom = fumi_ccol(f->D, d, k);
  gradient_of(f, k, f->g);
  if (f->par->coding == MIHE_SPARSE) {
    const double along = la_dot(d, atom, f->g);
    for (int r = 0; r < d; r++) f->g[r] -= along * atom[r];
  }
  const double slope = fumi_norm(d, f->g);
  if (!(slope > 1e-12)) return 0;
  for (int r = 0; r < d; r++) f->g[r] /= slope;
  return slope;
}

/* Twice the length of the last step, halved until J falls with the codes fixed; 0 if it does
 * not. */
static double search(mihe_work *f, int k, double J, double slope) {
  for (double t = fmin(2 * f->length[k], 1); t > 1e-9; t /= 2)
    if (try_length(f, k, t) <= J - 1e-4 * t * slope) return t;
  return 0;
}

static void keep_atom(mihe_work *f, int k) {
  const int d = f->x->d, K = f->par->K;
  memcpy(f->old_atom, fumi_ccol(f->D, d, k), sizeof(double) * (size_t)d);
  memcpy(f->old_gram, f->G, sizeof(double) * (size_t)K * (size_t)K);
  for (int i = 0; i < f->x->N; i++) f->old_row[i] = fumi_ccol(f->B, K, i)[k];
}

static void put_back(mihe_work *f, int k) {
  const int d = f->x->d, K = f->par->K;
  memcpy(fumi_col(f->D, d, k), f->old_atom, sizeof(double) * (size_t)d);
  memcpy(f->G, f->old_gram, sizeof(double) * (size_t)K * (size_t)K);
  for (int i = 0; i < f->x->N; i++) fumi_col(f->B, K, i)[k] = f->old_row[i];
}

/* Moves atom k, unless J rises when the codes follow; *J is that with the codes of D. */
static fumi_status move_atom(mihe_work *f, int k, double *J, double *length) {
  *length = 0;
  const double slope = direction(f, k);
  if (slope == 0) return FUMI_OK;
  products(f, k);
  const double t = search(f, k, *J, slope);
  double along, across;
  if (t == 0) return FUMI_OK;
  arc(f, t, &along, &across);
  keep_atom(f, k);
  move(f, k, along, across);
  const fumi_status status = mihe_code(f, k >= f->par->T);
  if (status != FUMI_OK) {
    put_back(f, k);
    return status;
  }
  const double next = objective(f, f->trial.r_full, f->trial.r_bg, f->trial.match, NULL);
  if (next <= *J) {
    mihe_accept(f);
    *J = next, *length = f->length[k] = t;
  } else {
    put_back(f, k);
    f->length[k] = t / 8;
  }
  return FUMI_OK;
}

static fumi_status fast_iteration(mihe_work *f, double *length) {
  double J = judge(f, NULL);
  fumi_status status = FUMI_OK;
  for (int k = 0; k < f->par->K && status == FUMI_OK; k++) status = move_atom(f, k, &J, length + k);
  return status;
}

/* ---- the fit ---------------------------------------------------------------------------- */

/* Whether J changes little: by less than tol, or for the fast variant than tol times the first
 * J. */
static int settled(const mihe_param *par, const double *trace, int it) {
  const double change = fabs(trace[MIHE_TERMS * it] - trace[MIHE_TERMS * (it - 1)]);
  return change < par->tol * (par->variant == MIHE_FAST ? fmax(fabs(trace[0]), DBL_MIN) : 1);
}

fumi_status mihe_fit(const fumi_data *x, const mihe_bags *bags, const mihe_param *par,
                     mihe_state *s, const fumi_host *host) {
  const size_t bytes = sizeof(double) * (size_t)x->d * (size_t)par->K;
  mihe_work f;
  fumi_status status = mihe_init(&f, x, bags, par, s->D, host);
  s->n_iter = s->best = 0;
  memcpy(s->last, s->D, bytes);
  if (status == FUMI_OK) status = mihe_code_anew(&f);
  if (status != FUMI_OK) return status;
  double best = judge(&f, s->trace);
  if (!isfinite(best)) return FUMI_ENONFINITE;
  for (int it = 1; it <= par->max_iter; it++) {
    double *length = s->length + (ptrdiff_t)par->K * (it - 1);
    status = par->variant == MIHE_FAST ? fast_iteration(&f, length) : literal_iteration(&f, length);
    if (status != FUMI_OK) return status;
    const double J = judge(&f, s->trace + (ptrdiff_t)MIHE_TERMS * it);
    if (!isfinite(J)) return FUMI_ENONFINITE;
    s->n_iter = it;
    memcpy(s->last, f.D, bytes);
    if (J < best) best = J, s->best = it, memcpy(s->D, f.D, bytes);
    if (host->report && host->report(host->ctx, it, J)) return FUMI_STOPPED;
    if (settled(par, s->trace, it)) return FUMI_CONVERGED;
  }
  return FUMI_MAXIT;
}

fumi_status mihe_evaluate(const fumi_data *x, const mihe_bags *bags, const mihe_param *par,
                          const double *D, double *A, double *C, double *terms, double *gradient,
                          const fumi_host *host) {
  mihe_work f;
  fumi_status status = mihe_init(&f, x, bags, par, D, host);
  if (status == FUMI_OK) status = mihe_code_anew(&f);
  if (status != FUMI_OK) return status;
  judge(&f, terms);
  memcpy(A, f.now.A, sizeof(double) * (size_t)par->K * (size_t)x->N);
  memcpy(C, f.now.C, sizeof(double) * (size_t)par->M * (size_t)x->N);
  for (int k = 0; k < par->K; k++) gradient_of(&f, k, fumi_col(gradient, x->d, k));
  return FUMI_OK;
}
