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
#include "core.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

enum { ISTA_STEPS = 100, LITERAL_TRIALS = 20 };

/* ---- workspace ---------------------------------------------------------------------------- */

/* Codes, and what J needs of them. */
typedef struct {
  double *A, *C;                 /* K x N on D, M x N on D- */
  double *r_full, *r_bg, *match; /* |r+|^2, |r-|^2, (D+ a+)'x of each instance */
} mihe_codes;

/* One of the two dictionaries that instances are coded on: atoms k0 .. K - 1. */
typedef struct {
  int k0, n, regular;
  double eta, *H, *factor, *inverse; /* of ISTA; Cholesky factor and inverse of the Gram matrix */
} mihe_part;

/* What a thread works with. */
typedef struct {
  fumi_lasso_work lasso;
  double *tile, *code, *spare; /* D'x and codes of a tile; room */
  double *gram, *ones, *cross; /* of the convex code */
  int *kept;
} mihe_worker;

typedef struct {
  const fumi_data *x;
  const mihe_bags *bags;
  const mihe_param *par;
  const fumi_host *host;
  fumi_block block;
  mihe_worker *worker;
  mihe_part part[2];
  mihe_codes now, trial;
  double *D, *G, *B; /* atoms, D'D, D'X */
  double *old_atom, *old_gram, *old_row;
  double *w, *most, *sum; /* shares; of each bag, the largest exponent and the sum */
  int *size;
  double *u, *v, *e;              /* coefficients of r+, r- and x in a gradient */
  double *g, *z, *k;              /* direction, D'g, K */
  double *xg, *rg, *rd, *sg, *sd; /* x'g, r+'g, r+'d, r-'g, r-'d of each instance */
  double *length;                 /* of the last step of each atom */
  double *room;
} mihe_work;

static fumi_status worker_init(mihe_worker *v, const fumi_kernel *kernel, int K,
                               const fumi_host *host) {
  const ptrdiff_t tile = (ptrdiff_t)K * kernel->lanes;
  const fumi_array arrays[] = {{&v->tile, tile},      {&v->code, tile},
                               {&v->spare, 2 * tile}, {&v->gram, (ptrdiff_t)K * K},
                               {&v->ones, K},         {&v->cross, K}};
  fumi_status status = FUMI_TAKE(host, arrays);
  v->kept = fumi_ints(host, K);
  if (status == FUMI_OK) status = fumi_lasso_init(&v->lasso, kernel, K, host);
  return v->kept ? status : FUMI_ENOMEM;
}

static fumi_status part_init(mihe_part *p, const fumi_kernel *kernel, int k0, int K,
                             const fumi_host *host) {
  const ptrdiff_t n = K - k0;
  const fumi_array arrays[] = {
      {&p->H, fumi_panel_size(kernel, (int)n, (int)n)}, {&p->factor, n * n}, {&p->inverse, n * n}};
  p->k0 = k0, p->n = (int)n;
  return FUMI_TAKE(host, arrays);
}

static fumi_status codes_init(mihe_codes *c, int K, int M, int N, const fumi_host *host) {
  const fumi_array arrays[] = {{&c->A, (ptrdiff_t)K * N},
                               {&c->C, (ptrdiff_t)M * N},
                               {&c->r_full, N},
                               {&c->r_bg, N},
                               {&c->match, N}};
  return FUMI_TAKE(host, arrays);
}

static fumi_status arrays_init(mihe_work *f) {
  const ptrdiff_t d = f->x->d, N = f->x->N, K = f->par->K, n = f->bags->n;
  const fumi_array arrays[] = {{&f->D, d * K},
                               {&f->G, K * K},
                               {&f->B, K * N},
                               {&f->old_atom, d},
                               {&f->old_gram, K * K},
                               {&f->old_row, N},
                               {&f->w, N},
                               {&f->most, n},
                               {&f->sum, n},
                               {&f->u, N},
                               {&f->v, N},
                               {&f->e, N},
                               {&f->g, d},
                               {&f->z, K},
                               {&f->k, K},
                               {&f->xg, N},
                               {&f->rg, N},
                               {&f->rd, N},
                               {&f->sg, N},
                               {&f->sd, N},
                               {&f->length, K},
                               {&f->room, fumi_eigen_work((int)K)}};
  f->size = fumi_ints(f->host, n);
  return f->size ? FUMI_TAKE(f->host, arrays) : FUMI_ENOMEM;
}

static int n_threads(const mihe_work *f) {
  return fumi_usable_threads(f->par->threads, fumi_n_blocks(f->x->d, f->x->N));
}

static fumi_status work_init(mihe_work *f, const fumi_data *x, const mihe_bags *bags,
                             const mihe_param *par, const double *D, const fumi_host *host) {
  memset(f, 0, sizeof *f);
  f->x = x, f->bags = bags, f->par = par, f->host = host;
  const fumi_kernel *kernel = fumi_choose_kernel(par->simd);
  const int threads = n_threads(f);
  fumi_status status = fumi_block_init(&f->block, x, kernel, par->K, host);
  if (status == FUMI_OK) status = arrays_init(f);
  if (status == FUMI_OK) status = codes_init(&f->now, par->K, par->M, x->N, host);
  if (status == FUMI_OK) status = codes_init(&f->trial, par->K, par->M, x->N, host);
  if (status == FUMI_OK) status = part_init(f->part, kernel, 0, par->K, host);
  if (status == FUMI_OK) status = part_init(f->part + 1, kernel, par->T, par->K, host);
  f->worker = host->alloc(host->ctx, (size_t)threads, sizeof *f->worker);
  if (!f->worker) return FUMI_ENOMEM;
  for (int t = 0; t < threads && status == FUMI_OK; t++)
    status = worker_init(f->worker + t, kernel, par->K, host);
  if (status != FUMI_OK) return status;
  memcpy(f->D, D, sizeof(double) * (size_t)x->d * (size_t)par->K);
  memset(f->now.A, 0, sizeof(double) * (size_t)par->K * (size_t)x->N);
  memset(f->now.C, 0, sizeof(double) * (size_t)par->M * (size_t)x->N);
  memset(f->now.r_bg, 0, sizeof(double) * (size_t)x->N);
  memset(f->size, 0, sizeof(int) * (size_t)bags->n);
  for (int i = 0; i < x->N_pos; i++) f->size[bags->bag[i]]++;
  for (int k = 0; k < par->K; k++) f->length[k] = .05;
  return FUMI_OK;
}

/* x'y of short vectors */
static double product(int n, const double *x, const double *y) {
  double sum = 0;
  for (int k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

/* ---- codes ---------------------------------------------------------------------------------- */

/* G = D'D, B = D'X */
static fumi_status project(mihe_work *f) {
  fumi_block *b = &f->block;
  const int K = f->par->K;
  b->D = f->D;
  b->kernel->inner(f->x->d, K, K, f->D, f->D, f->G, K);
  for (int i = 0; i < f->x->N; i += b->n) {
    if (f->host->poll(f->host->ctx)) return FUMI_STOPPED;
    fumi_block_project(b, i, f->x->N, 0);
    for (int m = 0; m < b->n; m++)
      for (int k = 0; k < K; k++)
        fumi_col(f->B, K, i + m)[k] = b->B[fumi_at(b->kernel->lanes, K, k, m)];
  }
  return FUMI_OK;
}

static const double *part_gram(const mihe_work *f, const mihe_part *p) {
  return fumi_ccol(f->G, f->par->K, p->k0) + p->k0;
}

/* The inverse of a Gram matrix that is not near a singular one, and what ISTA needs of it:
 * eta = .99 / lambda_max(G) and I - eta G. */
static fumi_status part_use(mihe_work *f, mihe_part *p) {
  const int K = f->par->K, n = p->n;
  const double *G = part_gram(f, p);
  fumi_status status = FUMI_OK;
  for (int k = 0; k < n; k++)
    memcpy(fumi_col(p->factor, n, k), fumi_ccol(G, K, k), sizeof(double) * (size_t)n);
  p->regular = la_cholesky(n, p->factor) == 0;
  for (int k = 0; k < n; k++)
    p->regular =
        p->regular && p->factor[k + (ptrdiff_t)n * k] > 1e-7 * sqrt(G[k + (ptrdiff_t)K * k]);
  for (ptrdiff_t j = 0; j < (ptrdiff_t)n * n; j++) p->inverse[j] = j % n == j / n;
  if (p->regular) la_cholesky_solve(n, n, p->factor, p->inverse);
  if (f->par->variant == MIHE_FAST) return FUMI_OK;
  const double largest = fumi_largest_eigenvalue(n, G, K, f->room, &status);
  p->eta = largest > 0 ? .99 / largest : 1;
  fumi_step_panel(f->block.kernel, n, n, G, K, p->eta, 0, f->room, p->H);
  return status;
}

/* a <- soft(a + eta (b - G a), lambda), ISTA_STEPS times, from G^-1 b */
static void code_ista(const mihe_work *f, const mihe_part *p, mihe_worker *v, int first, int end,
                      double *codes) {
  const int n = p->n, lanes = f->block.kernel->lanes;
  const double threshold[] = {f->par->lambda, -f->par->lambda};
  for (int i = first; i < end; i += lanes) {
    const int m = end - i < lanes ? end - i : lanes;
    memset(v->tile, 0, sizeof(double) * (size_t)(n * lanes));
    memset(v->code, 0, sizeof(double) * (size_t)(n * lanes));
    for (int l = 0; l < m; l++) {
      const double *b = fumi_ccol(f->B, f->par->K, i + l) + p->k0;
      for (int k = 0; k < n; k++) {
        v->tile[k * lanes + l] = b[k];
        if (p->regular) v->code[k * lanes + l] = product(n, fumi_ccol(p->inverse, n, k), b);
      }
    }
    f->block.kernel->ista(n, ISTA_STEPS, p->H, p->eta, v->tile, threshold, v->code, v->spare);
    for (int l = 0; l < m; l++)
      for (int k = 0; k < n; k++) fumi_col(codes, n, i + l)[k] = v->code[k * lanes + l];
  }
}

/* The minimiser if no code is 0 and none changes its sign: a = G^-1 (b - lambda sign(a)). 0:
 * it is not. */
static int code_dense(const mihe_work *f, const mihe_part *p, mihe_worker *v, const double *b,
                      double *code) {
  const int n = p->n;
  for (int k = 0; k < n; k++) {
    if (code[k] == 0) return 0;
    v->cross[k] = b[k] - (code[k] > 0 ? f->par->lambda : -f->par->lambda);
  }
  for (int k = 0; k < n; k++) {
    const double *row = fumi_ccol(p->inverse, n, k);
    double a = 0;
    for (int l = 0; l < n; l++) a += row[l] * v->cross[l];
    if (!(a * code[k] > 0)) return 0;
    v->ones[k] = a;
  }
  memcpy(code, v->ones, sizeof(double) * (size_t)n);
  return 1;
}

/* argmin 1/2 |x - D a|^2 + lambda |a|_1, from the code before */
static void code_lasso(const mihe_work *f, const mihe_part *p, mihe_worker *v, int i,
                       double *code) {
  const size_t bytes = sizeof(double) * (size_t)p->n;
  const double *b = fumi_ccol(f->B, f->par->K, i) + p->k0;
  const fumi_lasso l = {.K = p->n,
                        .ldg = f->par->K,
                        .G = part_gram(f, p),
                        .lambda = f->par->lambda,
                        .p = 1,
                        .norm2 = f->block.norm2[i],
                        .gap = 1e-9};
  if (p->regular && code_dense(f, p, v, b, code)) return;
  memcpy(v->lasso.b, b, bytes);
  memcpy(v->lasso.a, code, bytes);
  fumi_lasso_solve(&l, &v->lasso);
  memcpy(code, v->lasso.a, bytes);
}

/* Least squares with the sum 1 on the n kept atoms, into v->cross: 0 if they depend on each
 * other. */
static int sum_to_one(const mihe_work *f, const mihe_part *p, mihe_worker *v, int n,
                      const double *b) {
  const double *G = part_gram(f, p);
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < n; k++)
      v->gram[k + n * j] = G[v->kept[k] + (ptrdiff_t)f->par->K * v->kept[j]];
    v->ones[j] = 1;
    v->cross[j] = b[v->kept[j]];
  }
  if (la_cholesky(n, v->gram) != 0) return 0;
  la_cholesky_solve(n, 1, v->gram, v->ones);
  la_cholesky_solve(n, 1, v->gram, v->cross);
  double sum = 0, total = 0;
  for (int k = 0; k < n; k++) sum += v->ones[k], total += v->cross[k];
  for (int k = 0; k < n; k++) v->cross[k] += v->ones[k] * (1 - total) / sum;
  return 1;
}

/* a >= 0, sum a = 1: atoms with a negative code leave, all at once, until there is none. */
static void code_convex(const mihe_work *f, const mihe_part *p, mihe_worker *v, int i,
                        double *code) {
  const double *b = fumi_ccol(f->B, f->par->K, i) + p->k0;
  int n = p->n;
  memset(code, 0, sizeof(double) * (size_t)n);
  for (int k = 0; k < n; k++) v->kept[k] = k;
  while (n > 1) {
    int left = 0;
    if (!sum_to_one(f, p, v, n, b)) {
      n--;
      continue;
    }
    for (int k = 0; k < n; k++)
      if (v->cross[k] >= 0) v->kept[left] = v->kept[k], v->cross[left++] = v->cross[k];
    if (left == n) break;
    n = left;
  }
  if (n == 1) v->cross[0] = 1;
  for (int k = 0; k < n; k++) code[v->kept[k]] = v->cross[k];
}

/* |x_i - sum_k a_k d_k|^2 over the atoms of a part; directly where the fast way would cancel */
static double residual(const mihe_work *f, const mihe_part *p, int i, const double *a) {
  const int K = f->par->K, d = f->x->d;
  const double *b = fumi_ccol(f->B, K, i) + p->k0, *G = part_gram(f, p);
  double e = f->block.norm2[i];
  for (int k = 0; k < p->n; k++)
    if (a[k] != 0) e -= a[k] * (2 * b[k] - product(p->n, a, fumi_ccol(G, K, k)));
  if (e > 1e-6 * f->block.norm2[i]) return e;
  e = 0;
  for (int r = 0; r < d; r++) {
    double left = f->x->scale[i] * fumi_ccol(f->x->X, d, i)[r];
    for (int k = 0; k < p->n; k++) left -= a[k] * fumi_ccol(f->D, d, p->k0 + k)[r];
    e += left * left;
  }
  return e;
}

static void code_part(const mihe_work *f, int which, mihe_worker *v, int first, int end) {
  const mihe_part *p = f->part + which;
  double *codes = which == 0 ? f->trial.A : f->trial.C;
  double *r = which == 0 ? f->trial.r_full : f->trial.r_bg;
  const int sparse = f->par->coding == MIHE_SPARSE;
  if (sparse && f->par->variant == MIHE_LITERAL) code_ista(f, p, v, first, end, codes);
  for (int i = first; i < end; i++) {
    double *code = fumi_col(codes, p->n, i);
    if (!sparse) code_convex(f, p, v, i, code);
    else if (f->par->variant == MIHE_FAST) code_lasso(f, p, v, i, code);
    r[i] = residual(f, p, i, code);
  }
}

typedef struct {
  mihe_work *f;
  int background; /* code on D- too */
} code_context;

static void code_task(void *ctx, int thread, int group, int j) {
  const code_context *c = ctx;
  const mihe_work *f = c->f;
  const int size = fumi_block_size(f->x->d), first = j * size;
  const int end = f->x->N - first < size ? f->x->N : first + size;
  (void)group;
  code_part(f, 0, f->worker + thread, first, end);
  if (c->background) code_part(f, 1, f->worker + thread, first, end);
  for (int i = first; i < end; i++)
    f->trial.match[i] =
        product(f->par->T, fumi_ccol(f->trial.A, f->par->K, i), fumi_ccol(f->B, f->par->K, i));
}

/* f->trial: the codes of all instances on D. The fast variant starts from those of f->now, and
 * those on D- stay where only a target atom has moved. */
static fumi_status code(mihe_work *f, int background) {
  const int K = f->par->K, M = f->par->M;
  const size_t N = (size_t)f->x->N, size = sizeof(double);
  code_context ctx = {f, background};
  fumi_status status = FUMI_OK;
  if (f->par->coding == MIHE_SPARSE) {
    status = part_use(f, f->part);
    if (status == FUMI_OK) status = part_use(f, f->part + 1);
    if (status != FUMI_OK) return status;
  }
  memcpy(f->trial.A, f->now.A, size * (size_t)K * N);
  memcpy(f->trial.C, f->now.C, size * (size_t)M * N);
  memcpy(f->trial.r_bg, f->now.r_bg, size * N);
  const double work = fumi_block_size(f->x->d) * 400. * K * K;
  return fumi_each_block(f->x->d, fumi_n_blocks(f->x->d, f->x->N), n_threads(f), work, code_task,
                         &ctx, f->host);
}

static void accept(mihe_work *f) {
  const mihe_codes old = f->now;
  f->now = f->trial;
  f->trial = old;
}

/* ---- the objective
 * ----------------------------------------------------------------------------- */

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

/* ---- the gradient
 * ------------------------------------------------------------------------------- */

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
    f->rg[i] = f->xg[i] - product(K, a, f->z);
    f->rd[i] = b - product(K, a, gram);
    f->sg[i] = f->xg[i] - product(M, c, f->z + T);
    f->sd[i] = b - product(M, c, gram + T);
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

/* ---- the literal iteration
 * ------------------------------------------------------------------------ */

static fumi_status code_anew(mihe_work *f) {
  fumi_status status = project(f);
  if (status == FUMI_OK) status = code(f, 1);
  if (status == FUMI_OK) accept(f);
  return status;
}

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
    const fumi_status status = code_anew(f);
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
  return code_anew(f);
}

/* ---- the fast iteration
 * ------------------------------------------------------------------------------ */

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
  const fumi_status status = code(f, k >= f->par->T);
  if (status != FUMI_OK) {
    put_back(f, k);
    return status;
  }
  const double next = objective(f, f->trial.r_full, f->trial.r_bg, f->trial.match, NULL);
  if (next <= *J) {
    accept(f);
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

/* ---- the fit
 * -------------------------------------------------------------------------------------- */

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
  fumi_status status = work_init(&f, x, bags, par, s->D, host);
  s->n_iter = s->best = 0;
  memcpy(s->last, s->D, bytes);
  if (status == FUMI_OK) status = code_anew(&f);
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
  fumi_status status = work_init(&f, x, bags, par, D, host);
  if (status == FUMI_OK) status = code_anew(&f);
  if (status != FUMI_OK) return status;
  judge(&f, terms);
  memcpy(A, f.now.A, sizeof(double) * (size_t)par->K * (size_t)x->N);
  memcpy(C, f.now.C, sizeof(double) * (size_t)par->M * (size_t)x->N);
  for (int k = 0; k < par->K; k++) gradient_of(&f, k, fumi_col(gradient, x->d, k));
  return FUMI_OK;
}
