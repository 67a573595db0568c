/* core_dmil.c: DMIL (Shrivastava et al. 2014) and GD-MIL (Shrivastava et al. 2015): one
 * dictionary on which some instance of each positive bag is represented well and all
 * instances of negative bags are represented badly.
 *
 *   J(D) = - sum_{positive bags j} log P_j - sum_{instances i of negative bags} log(1 - p_i)
 *   p_i = exp(-E_i),  E_i = beta e_i,  e_i = ||x_i - D a_i||^2,  a_i the lasso code of x_i
 *   P_j = 1 - prod_i (1 - p_i)             noisy-or
 *   P_j = ((1/n_j) sum_i p_i^r)^(1/r)      generalised mean, r the exponent
 *
 * Atoms move one at a time with the codes fixed, against
 *   grad_k J = -2 beta sum_i omega_i a_ik r_i,  r_i = x_i - D a_i,  omega_i = dJ/dE_i.
 *
 * With a kernel, X holds coordinates of the instances in the span of their images. */
#include "core.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

/* ---- codes and residuals ------------------------------------------------------------ */

typedef struct {
  const fumi_data *x;
  const fumi_host *host;
  fumi_block block;
  fumi_lasso_work lasso;
  int K;
  double lambda;
  const double *D, *norm2; /* atoms, ||x_i||^2 */
  double *G, *B, *A, *e;   /* <d_k, d_l>, <d_k, x_i>, codes, ||x_i - D a_i||^2 */
} dmil_coder;

static fumi_status coder_init(dmil_coder *c, const fumi_data *x, int K, double lambda, int simd,
                              const fumi_host *host) {
  *c = (dmil_coder){.x = x, .host = host, .K = K, .lambda = lambda};
  fumi_status status = fumi_block_init(&c->block, x, fumi_choose_kernel(simd), K, host);
  if (status == FUMI_OK) status = fumi_lasso_init(&c->lasso, c->block.kernel, K, host);
  c->norm2 = c->block.norm2;
  c->B = fumi_doubles(host, (ptrdiff_t)K * x->N);
  return status == FUMI_OK && c->B ? FUMI_OK : FUMI_ENOMEM;
}

static void use_atoms(dmil_coder *c, const double *D) { c->D = c->block.D = D; }

/* G = D'D, B = D'X */
static fumi_status project(dmil_coder *c) {
  c->block.kernel->inner(c->x->d, c->K, c->K, c->D, c->D, c->G, c->K);
  return fumi_block_project_all(&c->block, c->B, c->host);
}

/* a_i = argmin .5 ||x_i - D a||^2 + lambda |a|_1 */
static fumi_status solve(dmil_coder *c) {
  const size_t bytes = sizeof(double) * (size_t)c->K;
  fumi_stop stop = {.host = c->host};
  c->lasso.stop = &stop;
  c->lasso.asks = 1;
  for (int i = 0; i < c->x->N; i++) {
    if (i % 64 == 0 && fumi_ask(&stop)) return FUMI_STOPPED;
    const fumi_lasso l = {.K = c->K,
                          .ldg = c->K,
                          .G = c->G,
                          .lambda = c->lambda,
                          .p = 1,
                          .norm2 = c->norm2[i],
                          .gap = 1e-9};
    memcpy(c->lasso.b, fumi_col(c->B, c->K, i), bytes);
    memset(c->lasso.a, 0, bytes);
    fumi_lasso_solve(&l, &c->lasso);
    if (fumi_stopped(&stop)) return FUMI_STOPPED;
    memcpy(fumi_col(c->A, c->K, i), c->lasso.a, bytes);
  }
  return FUMI_OK;
}

/* <r_i, d_k> = b_ik - (G a_i)_k */
static double left_over(const dmil_coder *c, int i, int k) {
  const double *a = fumi_ccol(c->A, c->K, i);
  return fumi_ccol(c->B, c->K, i)[k] - la_dot(c->K, a, fumi_ccol(c->G, c->K, k));
}

/* e_i = ||x_i||^2 - <a_i, b_i> - <a_i, D'r_i>. The residual of a lasso code has a norm of at
 * least lambda, so little is lost to cancellation. An instance of zeros has no direction
 * and so is like no atom: e = 1, as for a unit vector at right angles to all. */
static void residuals(dmil_coder *c) {
  for (int i = 0; i < c->x->N; i++) {
    const double *a = fumi_ccol(c->A, c->K, i);
    double e = c->norm2[i] - la_dot(c->K, a, fumi_ccol(c->B, c->K, i));
    for (int k = 0; k < c->K; k++)
      if (a[k] != 0) e -= a[k] * left_over(c, i, k);
    c->e[i] = c->norm2[i] > 0 ? fmax(e, 0) : 1;
  }
}

/* Codes and residuals, with G and norm2 in place of the atoms' and instances' own, if given. */
static fumi_status code(dmil_coder *c, const double *G, const double *norm2) {
  fumi_status status = project(c);
  if (G) memcpy(c->G, G, sizeof(double) * (size_t)c->K * (size_t)c->K);
  if (norm2) c->norm2 = norm2;
  if (status == FUMI_OK) status = solve(c);
  if (status == FUMI_OK) residuals(c);
  return status;
}

fumi_status dmil_code(const fumi_data *x, int K, const double *D, const double *G,
                      const double *norm2, double lambda, int simd, double *A, double *e,
                      const fumi_host *host) {
  dmil_coder c;
  const fumi_status status = coder_init(&c, x, K, lambda, simd, host);
  c.G = fumi_doubles(host, (ptrdiff_t)K * K);
  if (status != FUMI_OK || !c.G) return FUMI_ENOMEM;
  use_atoms(&c, D);
  c.A = A;
  c.e = e;
  return code(&c, G, norm2);
}

/* ---- workspace of a fit ------------------------------------------------------------- */

typedef struct {
  dmil_coder c;
  const dmil_bags *bags;
  const dmil_param *par;
  int *size, *n_dead;             /* instances of each bag; times each atom was reseeded */
  double *D;                      /* the atoms that c.D points to */
  double *trial, *omega, *w;      /* e at a trial step; dJ/dE_i; omega_i a_ik */
  double *g, *z;                  /* direction, <d_l, g> */
  double *u, *v;                  /* <r_i, d_k>, <r_i, g> */
  double *least, *sum, *log_none; /* of each bag, see pool() */
} dmil_work;

static fumi_status work_init(dmil_work *f, const fumi_data *x, const dmil_bags *bags,
                             const dmil_param *par, int *n_dead, const fumi_host *host) {
  const ptrdiff_t d = x->d, N = x->N, K = par->K, n = bags->n;
  memset(f, 0, sizeof *f);
  const fumi_array arrays[] = {
      {&f->D, d * K},    {&f->trial, N},   {&f->omega, N},   {&f->w, N},     {&f->g, d},
      {&f->z, K},        {&f->u, N},       {&f->v, N},       {&f->least, n}, {&f->sum, n},
      {&f->log_none, n}, {&f->c.G, K * K}, {&f->c.A, K * N}, {&f->c.e, N}};
  fumi_status status = coder_init(&f->c, x, par->K, par->lambda, par->simd, host);
  f->size = fumi_ints(host, n);
  if (status == FUMI_OK) status = FUMI_TAKE(host, arrays);
  if (status != FUMI_OK || !f->size) return FUMI_ENOMEM;
  use_atoms(&f->c, f->D);
  f->bags = bags, f->par = par, f->n_dead = n_dead;
  memset(f->size, 0, sizeof(int) * (size_t)n);
  for (int i = 0; i < x->N; i++) f->size[bags->bag[i]]++;
  return FUMI_OK;
}

/* ---- the objective and its derivative by E ------------------------------------------- */

static const double LEAST_EXPONENT = 1e-10; /* of E: log(1 - p) has a pole at 0 */
static const double WEIGHT_CAP = 1e6;       /* of a negative instance that D represents */
static const double FAR = 36;               /* exp(-36) is about the last bit of 1 */

static double exponent(const dmil_work *f, double e) {
  return fmax(f->par->beta * e, LEAST_EXPONENT);
}

static int positive(const dmil_work *f, int i) { return f->bags->positive[f->bags->bag[i]]; }

/* r of the sums below; where all p are tiny, noisy-or is their sum and r = 1 */
static double power(const dmil_work *f) {
  return f->par->pool == DMIL_GMEAN ? f->par->exponent : 1;
}

static int is_sum(const dmil_work *f, int j) {
  return f->par->pool == DMIL_GMEAN || f->least[j] > FAR;
}

/* Of each bag: the least E, sum_i exp(-r (E_i - least)), and sum_i log(1 - p_i). */
static void pool(dmil_work *f, const double *e) {
  const int N = f->c.x->N, *bag = f->bags->bag;
  for (int j = 0; j < f->bags->n; j++) f->least[j] = HUGE_VAL, f->sum[j] = f->log_none[j] = 0;
  for (int i = 0; i < N; i++) f->least[bag[i]] = fmin(f->least[bag[i]], exponent(f, e[i]));
  for (int i = 0; i < N; i++) {
    const int j = bag[i];
    const double E = exponent(f, e[i]);
    f->sum[j] += exp(-power(f) * (E - f->least[j]));
    f->log_none[j] += fumi_log1mexp(E);
  }
}

/* -log P_j of a positive bag, -sum_i log(1 - p_i) of a negative one */
static double bag_loss(const dmil_work *f, int j) {
  if (!f->bags->positive[j]) return -f->log_none[j];
  if (f->par->pool == DMIL_GMEAN)
    return f->least[j] - (log(f->sum[j]) - log(f->size[j])) / f->par->exponent;
  return is_sum(f, j) ? f->least[j] - log(f->sum[j]) : -fumi_log1mexp(-f->log_none[j]);
}

static double objective(dmil_work *f, const double *e) {
  double J = 0;
  pool(f, e);
  for (int j = 0; j < f->bags->n; j++) J += bag_loss(f, j);
  return J;
}

/* omega_i = dJ/dE_i at the current residuals */
static void weights(dmil_work *f) {
  pool(f, f->c.e);
  for (int i = 0; i < f->c.x->N; i++) {
    const int j = f->bags->bag[i];
    const double E = exponent(f, f->c.e[i]);
    if (!positive(f, i)) f->omega[i] = -fmin(1 / expm1(E), WEIGHT_CAP);
    else if (is_sum(f, j)) f->omega[i] = exp(-power(f) * (E - f->least[j])) / f->sum[j];
    else f->omega[i] = 1 / (expm1(-f->log_none[j]) * expm1(E));
  }
}

/* ---- one atom ------------------------------------------------------------------------ */

/* g = sum_i w_i r_i = X w - D A w, w_i = omega_i a_ik: grad_k J = -2 beta g */
static void pull(dmil_work *f, int k) {
  const dmil_coder *c = &f->c;
  const int d = c->x->d, N = c->x->N, K = c->K;
  for (int i = 0; i < N; i++) f->w[i] = f->omega[i] * fumi_ccol(c->A, K, i)[k];
  la_gemv_n(K, N, 1.0, c->A, K, f->w, 0.0, f->z);
  la_gemv_n(d, K, -1.0, c->D, d, f->z, 0.0, f->g);
  for (int i = 0; i < N; i++) {
    if (f->w[i] == 0) continue;
    const double *x = fumi_ccol(c->x->X, d, i), w = f->w[i], scale = c->x->scale[i];
    for (int r = 0; r < d; r++) f->g[r] += w * (scale * x[r]);
  }
}

/* The unit direction g of steepest descent at right angles to d_k, and what a step along
 * it does to the residuals. Returns minus the slope of J along it, 0 if there is none. */
static double direction(dmil_work *f, int k) {
  const dmil_coder *c = &f->c;
  const fumi_data *x = c->x;
  const double *dk = fumi_ccol(c->D, x->d, k);
  weights(f);
  pull(f, k);
  const double along = la_dot(x->d, dk, f->g);
  for (int r = 0; r < x->d; r++) f->g[r] -= along * dk[r];
  const double norm = fumi_norm(x->d, f->g), slope = 2 * f->par->beta * norm;
  if (!(slope > 1e-12)) return 0;
  for (int r = 0; r < x->d; r++) f->g[r] /= norm;
  for (int l = 0; l < c->K; l++) f->z[l] = la_dot(x->d, fumi_ccol(c->D, x->d, l), f->g);
  for (int i = 0; i < x->N; i++) {
    const double *a = fumi_ccol(c->A, c->K, i);
    if (a[k] == 0) continue;
    f->u[i] = left_over(c, i, k);
    f->v[i] = x->scale[i] * la_dot(x->d, fumi_ccol(x->X, x->d, i), f->g) - la_dot(c->K, a, f->z);
  }
  return slope;
}

/* e_i after d_k <- d_k + delta, delta = (d_k + t g) / c - d_k, c = sqrt(1 + t^2):
 * e_i - 2 a_ik <r_i, delta> + a_ik^2 ||delta||^2 */
static void try_step(dmil_work *f, int k, double t) {
  const double c = sqrt(1 + t * t), shrink = t * t / (c * (c + 1)); /* 1 - 1/c */
  for (int i = 0; i < f->c.x->N; i++) {
    const double a = fumi_ccol(f->c.A, f->c.K, i)[k];
    f->trial[i] = f->c.e[i];
    if (a == 0) continue;
    const double change = t / c * f->v[i] - shrink * f->u[i];
    f->trial[i] = fmax(f->c.e[i] - 2 * a * change + 2 * a * a * shrink, 0);
  }
}

static void take_step(dmil_work *f, int k, double t) {
  dmil_coder *c = &f->c;
  const int d = c->x->d, K = c->K;
  const double length = sqrt(1 + t * t);
  double *dk = fumi_col(f->D, d, k);
  for (int r = 0; r < d; r++) dk[r] = (dk[r] + t * f->g[r]) / length;
  for (int l = 0; l < K; l++) {
    if (l == k) continue;
    double *gk = fumi_col(c->G, K, k) + l;
    *gk = (*gk + t * f->z[l]) / length;
    fumi_col(c->G, K, l)[k] = *gk;
  }
  memcpy(c->e, f->trial, sizeof(double) * (size_t)c->x->N);
}

/* Moves atom k with the codes fixed; returns the objective, never above J. Row k of B is
 * used here only, and so need not follow. */
static double move_atom(dmil_work *f, int k, double J) {
  const double slope = direction(f, k);
  if (slope == 0) return J;
  for (double t = .5; t >= 1e-4; t /= 2) {
    try_step(f, k, t);
    const double trial = objective(f, f->trial);
    if (!(trial <= J - 1e-4 * t * slope)) continue;
    take_step(f, k, t);
    return trial;
  }
  return J;
}

/* ---- the fit --------------------------------------------------------------------------- */

static int is_used(const dmil_coder *c, int k) {
  for (int i = 0; i < c->x->N; i++)
    if (fumi_ccol(c->A, c->K, i)[k] != 0) return 1;
  return 0;
}

/* d_k = x_i / ||x_i|| */
static void set_atom(dmil_work *f, int k, int i) {
  const fumi_data *x = f->c.x;
  const double *xi = fumi_ccol(x->X, x->d, i), norm = sqrt(f->c.norm2[i]);
  double *dk = fumi_col(f->D, x->d, k);
  for (int r = 0; r < x->d; r++) dk[r] = x->scale[i] * xi[r] / norm;
}

/* An atom that no code uses has no gradient: it becomes the instance of a positive bag with
 * the largest p e, another one for each such atom. Returns how many were replaced. */
static int reseed_dead(dmil_work *f) {
  const dmil_coder *c = &f->c;
  int n = 0;
  double *value = f->trial; /* log(p e) */
  for (int i = 0; i < c->x->N; i++)
    value[i] =
        positive(f, i) && c->norm2[i] > 0 ? log(c->e[i]) - f->par->beta * c->e[i] : -HUGE_VAL;
  for (int k = 0; k < c->K; k++) {
    if (is_used(c, k)) continue;
    int best = 0;
    for (int i = 1; i < c->x->N; i++)
      if (value[i] > value[best]) best = i;
    if (value[best] == -HUGE_VAL) return n;
    set_atom(f, k, best);
    value[best] = -HUGE_VAL;
    f->n_dead[k]++;
    n++;
  }
  return n;
}

/* Codes of all instances on the atoms, dead ones replaced, and J with these codes. */
static fumi_status code_and_judge(dmil_work *f, double *J) {
  fumi_status status = code(&f->c, NULL, NULL);
  if (status == FUMI_OK && reseed_dead(f) > 0) status = code(&f->c, NULL, NULL);
  if (status != FUMI_OK) return status;
  *J = objective(f, f->c.e);
  return isfinite(*J) ? FUMI_OK : FUMI_ENONFINITE;
}

/* Codes lower the reconstruction error, not J, so J may rise when they are renewed: s->D is
 * the dictionary with the lowest J so far. */
fumi_status dmil_fit(const fumi_data *x, const dmil_bags *bags, const dmil_param *par,
                     dmil_state *s, const fumi_host *host) {
  const size_t bytes = sizeof(double) * (size_t)x->d * (size_t)par->K;
  dmil_work f;
  double J = 0, best;
  fumi_status status = work_init(&f, x, bags, par, s->n_dead, host);
  if (status != FUMI_OK) return status;
  memcpy(f.D, s->D, bytes);
  status = code_and_judge(&f, &J);
  if (status != FUMI_OK) return status;
  memcpy(s->D, f.D, bytes);
  s->trace[0] = s->trace[1] = best = J;
  for (int it = 1; it <= par->max_iter; it++) {
    double *row = s->trace + DMIL_TERMS * it;
    const double before = J;
    for (int k = 0; k < par->K; k++) J = move_atom(&f, k, J);
    row[1] = J;
    status = code_and_judge(&f, &J);
    if (status != FUMI_OK) return status;
    row[0] = J;
    s->n_iter = it;
    if (J < best) best = J, memcpy(s->D, f.D, bytes);
    if (host->report && host->report(host->ctx, it, J)) return FUMI_STOPPED;
    if (fabs(J - before) < par->tol * fabs(s->trace[0])) return FUMI_CONVERGED;
  }
  return FUMI_MAXIT;
}

fumi_status dmil_step(const fumi_data *x, const dmil_bags *bags, const dmil_param *par,
                      const double *A, double *D, double *gradient, double *J,
                      const fumi_host *host) {
  dmil_work f;
  fumi_status status = work_init(&f, x, bags, par, NULL, host);
  if (status != FUMI_OK) return status;
  memcpy(f.D, D, sizeof(double) * (size_t)x->d * (size_t)par->K);
  memcpy(f.c.A, A, sizeof(double) * (size_t)par->K * (size_t)x->N);
  status = project(&f.c);
  if (status != FUMI_OK) return status;
  residuals(&f.c);
  weights(&f);
  for (int k = 0; k < par->K; k++) {
    pull(&f, k);
    for (int r = 0; r < x->d; r++) fumi_col(gradient, x->d, k)[r] = -2 * par->beta * f.g[r];
  }
  J[0] = objective(&f, f.c.e);
  for (int k = 0; k < par->K; k++) J[k + 1] = move_atom(&f, k, J[k]);
  memcpy(D, f.D, sizeof(double) * (size_t)x->d * (size_t)par->K);
  return FUMI_OK;
}
