/* core_mihe_codes.c: the codes of MI-HE, on all atoms and on the background atoms alone: ISTA as
 * the released code makes it, exact (core_sparse.c), or convex. */
#include "core_mihe.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

enum { ISTA_STEPS = 100 };

/* ---- memory ----------------------------------------------------------------------------- */

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

fumi_status mihe_init(mihe_work *f, const fumi_data *x, const mihe_bags *bags,
                      const mihe_param *par, const double *D, const fumi_host *host) {
  memset(f, 0, sizeof *f);
  const fumi_kernel *kernel = fumi_choose_kernel(par->simd);
  const int threads = fumi_usable_threads(par->threads, fumi_n_blocks(x->d, x->N));
  f->x = x, f->bags = bags, f->par = par, f->host = host, f->n_threads = threads;
  fumi_status status = fumi_block_init(&f->block, x, kernel, par->K, host);
  if (status == FUMI_OK) status = arrays_init(f);
  if (status == FUMI_OK) status = codes_init(&f->now, par->K, par->M, x->N, host);
  if (status == FUMI_OK) status = codes_init(&f->trial, par->K, par->M, x->N, host);
  if (status == FUMI_OK) status = part_init(f->part, kernel, 0, par->K, host);
  if (status == FUMI_OK) status = part_init(f->part + 1, kernel, par->T, par->K, host);
  f->worker = host->alloc(host->ctx, (size_t)threads, sizeof *f->worker);
  if (!f->worker) return FUMI_ENOMEM;
  for (int t = 0; t < threads && status == FUMI_OK; t++) {
    status = worker_init(f->worker + t, kernel, par->K, host);
    f->worker[t].lasso.stop = &f->stop;
    f->worker[t].lasso.asks = t == 0;
  }
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

/* ---- codes ------------------------------------------------------------------------------ */

/* G = D'D, B = D'X */
static fumi_status project(mihe_work *f) {
  const int K = f->par->K;
  f->block.D = f->D;
  f->block.kernel->inner(f->x->d, K, K, f->D, f->D, f->G, K);
  return fumi_block_project_all(&f->block, f->B, f->host);
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
        if (p->regular) v->code[k * lanes + l] = mihe_product(n, fumi_ccol(p->inverse, n, k), b);
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

/* A = LL' of a symmetric matrix: row i of L into column i of A. 0: A is not definite. Neither this
 * nor the next function calls LAPACK, because they run on threads. */
static int factor(int n, double *A) {
  for (int i = 0; i < n; i++) {
    double *row = fumi_col(A, n, i);
    for (int j = 0; j < i; j++) {
      const double *other = fumi_ccol(A, n, j);
      row[j] = (row[j] - mihe_product(j, row, other)) / other[j];
    }
    const double pivot = row[i] - mihe_product(i, row, row);
    if (!(pivot > 0)) return 0;
    row[i] = sqrt(pivot);
  }
  return 1;
}

/* A x = b, A factored, in place of b */
static void solve(int n, const double *L, double *b) {
  for (int i = 0; i < n; i++) {
    const double *row = fumi_ccol(L, n, i);
    b[i] = (b[i] - mihe_product(i, row, b)) / row[i];
  }
  for (int i = n - 1; i >= 0; i--) {
    const double *row = fumi_ccol(L, n, i);
    b[i] /= row[i];
    for (int j = 0; j < i; j++) b[j] -= row[j] * b[i];
  }
}

/* Least squares with the sum 1 on the n kept atoms, into v->cross: 0 if they depend on each
 * other. */
static int sum_to_one(const mihe_work *f, const mihe_part *p, mihe_worker *v, int n,
                      const double *b) {
  const double *G = part_gram(f, p);
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < n; k++)
      v->gram[k + (ptrdiff_t)n * j] = G[v->kept[k] + (ptrdiff_t)f->par->K * v->kept[j]];
    v->ones[j] = 1;
    v->cross[j] = b[v->kept[j]];
  }
  if (!factor(n, v->gram)) return 0;
  solve(n, v->gram, v->ones);
  solve(n, v->gram, v->cross);
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
    if (a[k] != 0) e -= a[k] * (2 * b[k] - mihe_product(p->n, a, fumi_ccol(G, K, k)));
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
  for (int i = first; i < end && !fumi_stopped(&f->stop); i++) {
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
        mihe_product(f->par->T, fumi_ccol(f->trial.A, f->par->K, i), fumi_ccol(f->B, f->par->K, i));
}

fumi_status mihe_code(mihe_work *f, int background) {
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
  f->stop = (fumi_stop){.host = f->host};
  const fumi_host asked = fumi_stop_host(&f->stop);
  const double work = fumi_block_size(f->x->d) * 400. * K * K;
  return fumi_each_block(f->x->d, fumi_n_blocks(f->x->d, f->x->N), f->n_threads, work, code_task,
                         &ctx, &asked);
}

void mihe_accept(mihe_work *f) {
  const mihe_codes old = f->now;
  f->now = f->trial;
  f->trial = old;
}

fumi_status mihe_code_anew(mihe_work *f) {
  fumi_status status = project(f);
  if (status == FUMI_OK) status = mihe_code(f, 1);
  if (status == FUMI_OK) mihe_accept(f);
  return status;
}
