/* core_dlfumi.c: DL-FUMI (Jiao and Zare 2016), Algorithm 1.
 *
 *   E[F] = sum_i w_i { .5 [p_i ||x_i - D a_i||^2 + (1 - p_i) ||x_i - D- a_i-||^2]
 *                      + lambda (p_i |a_i+|_1 + |a_i-|_1) }
 *          + sum_kt gamma_kt <d_k-, d_t+old>                                  (4)
 *
 * w_i = psi and p_i = P(z_i = 1) in positive bags, w_i = 1 and p_i = 0 in negative
 * ones. An iteration reads X once, block by block (pass()): the dictionary needs X
 * only through U = X W' and S = A W', W the weighted codes. So the file has two
 * halves: dlfumi_work makes passes over instances, dlfumi_update knows no instance
 * and turns sums into atoms; between them is dlfumi_keeper (core.h), which may also
 * add up passes over parts of the instances. The variants "paper" and "exact" cut the
 * cycle  E-step, atoms, codes  after the codes; "matlab" runs E-step, codes, atoms.
 * DEVIATES tags are explained in the vignette "The maths". */
#include "core.h"

#include <math.h>
#include <string.h>

#include "core_linalg.h"

typedef struct dlfumi_work dlfumi_work;

/* What a thread works with. */
typedef struct {
  const dlfumi_work *w;
  dlfumi_sums *sums;                   /* of the group of its block */
  fumi_block block;
  fumi_lasso_work lasso;
  double *tile, *spare;                /* a tile of rows [p a_t; a_b; a_t], room for its steps */
  double *r_bg, *r_full, *p_lanes;     /* of the instances of a block */
} dlfumi_worker;

struct dlfumi_work {
  const fumi_data *x;
  const dlfumi_param *par;
  const fumi_host *host;
  double *A;
  dlfumi_worker worker[FUMI_GROUPS];
  dlfumi_sums group[FUMI_GROUPS];      /* after a pass the first one holds the total */
  int n_blocks, n_positive_blocks, n_threads;
  double *G, *eigen;                   /* D'D, room for its eigenvalues */
  double *H_negative, *H_background, *H_target; /* I - eta G in panels, eq. 10-13 */
  double eta, eta_negative;            /* 1 / lambda_max of D'D and D-'D- */
  double *p_done, *p_now, *p_next;     /* of the last whole, this and the next iteration */
  int *taken, n_taken;                 /* instances that became atoms since the last pass */
  int deaf;                            /* do not poll */
};

/* ---- workspace ---------------------------------------------------------------- */

static fumi_status take(const fumi_host *host, size_t n, double **const *arrays,
                        const ptrdiff_t *sizes) {
  for (size_t i = 0; i < n; i++)
    if (!(*arrays[i] = fumi_doubles(host, sizes[i]))) return FUMI_ENOMEM;
  return FUMI_OK;
}

/* w_i of (4). DEVIATES D8: times a weight of the instance, if there is one. */
static double weight_of(const dlfumi_param *par, int positive, int i) {
  return (positive ? par->psi : 1) * (par->weight ? par->weight[i] : 1);
}

static fumi_status worker_init(dlfumi_work *w, dlfumi_worker *v) {
  const ptrdiff_t nb = fumi_block_size(w->x->d), K = w->par->K, T = w->par->T;
  const fumi_kernel *kernel = fumi_choose_kernel(w->par->simd);
  v->w = w;
  fumi_status status = v == w->worker ? fumi_block_init(&v->block, w->x, kernel, w->par->K, w->host)
                                      : fumi_block_twin(&v->block, &w->worker->block, w->host);
  if (status == FUMI_OK) status = fumi_lasso_init(&v->lasso, kernel, w->par->K, w->host);
  double **arrays[] = {&v->tile, &v->spare, &v->r_bg, &v->r_full, &v->p_lanes};
  const ptrdiff_t row = kernel->lanes, sizes[] = {(K + T) * row, (2 * K + T) * row, nb, nb, nb};
  return status == FUMI_OK ? take(w->host, sizeof sizes / sizeof *sizes, arrays, sizes) : status;
}

static ptrdiff_t size_of_sums(const dlfumi_work *w) {
  return (ptrdiff_t)(fumi_padded(w->x->d) + w->par->K) * w->par->K;
}

static fumi_status groups_init(dlfumi_work *w) {
  const fumi_data *x = w->x;
  const int nb = fumi_block_size(x->d);
  w->n_positive_blocks = (x->N_pos + nb - 1) / nb;
  w->n_blocks = w->n_positive_blocks + (x->N - x->N_pos + nb - 1) / nb;
  w->n_threads = fumi_usable_threads(w->par->threads, w->n_blocks);
  fumi_status status = FUMI_OK;
  for (int g = 0; g < fumi_groups(w->n_blocks); g++) {
    w->group[g].U = fumi_doubles(w->host, size_of_sums(w));
    if (!w->group[g].U) return FUMI_ENOMEM;
    w->group[g].S = fumi_col(w->group[g].U, fumi_padded(x->d), w->par->K);
  }
  for (int t = 0; t < w->n_threads && status == FUMI_OK; t++) status = worker_init(w, w->worker + t);
  return status;
}

/* A: the codes, K x N, which passes read and write */
static fumi_status work_init(dlfumi_work *w, const fumi_data *x, const dlfumi_param *par, double *A,
                             const fumi_host *host) {
  const int K = par->K, T = par->T, M = par->M;
  const fumi_kernel *kernel = fumi_choose_kernel(par->simd);
  memset(w, 0, sizeof *w);
  w->x = x, w->par = par, w->A = A, w->host = host;
  double **arrays[] = {&w->G, &w->eigen, &w->H_negative, &w->H_background, &w->H_target,
                       &w->p_done, &w->p_now, &w->p_next};
  const ptrdiff_t sizes[] = {(ptrdiff_t)K * K, fumi_eigen_work(K), fumi_panel_size(kernel, M, M),
                             fumi_panel_size(kernel, M, K), fumi_panel_size(kernel, T, K),
                             x->N_pos, x->N_pos, x->N_pos};
  fumi_status status = groups_init(w);
  if (status == FUMI_OK) status = take(host, sizeof sizes / sizeof *sizes, arrays, sizes);
  w->taken = host->alloc(host->ctx, (size_t)K, sizeof(int));
  if (status != FUMI_OK || !w->taken) return FUMI_ENOMEM;
  memset(w->p_done, 0, sizeof(double) * (size_t)x->N_pos);
  for (int i = 0; i < x->N; i++)
    w->group->energy += weight_of(par, i < x->N_pos, i) * w->worker->block.norm2[i];
  return FUMI_OK;
}

/* Gram matrix, step lengths and ISTA coefficients of a dictionary. */
static fumi_status prepare_dictionary(dlfumi_work *w, const double *D) {
  const int d = w->x->d, T = w->par->T, M = w->par->M, K = w->par->K;
  const fumi_kernel *kernel = w->worker->block.kernel;
  double *G = w->G, *C = w->eigen;
  fumi_status status = FUMI_OK;
  kernel->inner(d, K, K, D, D, G, K);
  for (ptrdiff_t k = 0; k < (ptrdiff_t)K * K; k++)
    if (!isfinite(G[k])) return FUMI_ENONFINITE;
  const double *G_bb = fumi_ccol(G, K, T) + T;
  const double all = fumi_largest_eigenvalue(K, G, K, w->eigen, &status);
  const double background = fumi_largest_eigenvalue(M, G_bb, K, w->eigen, &status);
  w->eta = all > 0 ? 1 / all : 1;
  w->eta_negative = background > 0 ? 1 / background : 1;

  for (int k = 0; k < M; k++)
    for (int j = 0; j < M; j++)
      C[k + (ptrdiff_t)M * j] = (k == j) - w->eta_negative * G_bb[k + (ptrdiff_t)K * j];
  fumi_panel(kernel, M, M, C, M, w->H_negative);
  for (int k = 0; k < M; k++)
    for (int j = 0; j < K; j++)
      C[k + (ptrdiff_t)M * j] = (T + k == j) - w->eta * G[T + k + (ptrdiff_t)K * j];
  fumi_panel(kernel, M, K, C, M, w->H_background);
  for (int t = 0; t < T; t++)
    for (int j = 0; j < K; j++) /* columns in the order background, target */
      C[t + (ptrdiff_t)T * j] = -w->eta * G[t + (ptrdiff_t)K * (j < M ? T + j : j - M)];
  fumi_panel(kernel, T, K, C, T, w->H_target);
  for (int t = 0; t < w->n_threads; t++) w->worker[t].block.D = D, w->worker[t].block.G = G;
  return status;
}

/* ---- steps on a block ------------------------------------------------------------ */

/* DEVIATES D6: odds of (6), exp(beta r) - 1, times those of the prior; 0 and 1 stay */
static double with_prior(double prior, double beta_r) {
  const double yes = -expm1(-beta_r) * prior, no = exp(-beta_r) * (1 - prior);
  return yes + no > 0 ? yes / (yes + no) : prior;
}

/* (6): P(z_i = 1) = 1 - exp(-beta ||x_i - D- a_i-||^2); v->r_bg holds the norms */
static void block_expect(dlfumi_worker *v, double *p) {
  const fumi_block *b = &v->block;
  const double beta = v->w->par->beta, *prior = v->w->par->prior;
  for (int i = 0; i < b->n; i++)
    p[b->first + i] = prior ? with_prior(prior[b->first + i], beta * v->r_bg[i]) : -expm1(-beta * v->r_bg[i]);
}

static void ista_negative(dlfumi_worker *v, double lambda) {
  fumi_block *b = &v->block;
  const double threshold[] = {lambda, fumi_below(lambda, v->w->par->nonneg_codes)};
  const ptrdiff_t size = (ptrdiff_t)v->w->par->M * b->kernel->lanes;
  for (int tile = 0; tile < b->tiles; tile++)
    b->kernel->ista(v->w->par->M, v->w->par->inner, v->w->H_negative, v->w->eta_negative, b->B + tile * size,
                    threshold, b->A + tile * size, v->spare);
}

static void ista_positive(dlfumi_worker *v, const double *p, double lambda) {
  fumi_block *b = &v->block;
  const double threshold[] = {lambda, fumi_below(lambda, v->w->par->nonneg_codes)};
  const int T = v->w->par->T, M = v->w->par->M, K = v->w->par->K, lanes = b->kernel->lanes;
  for (int i = 0; i < b->tiles * lanes; i++) v->p_lanes[i] = i < b->n ? p[b->first + i] : 0;
  for (int tile = 0; tile < b->tiles; tile++) {
    double *A = b->A + (ptrdiff_t)tile * K * lanes, *target = v->tile + (ptrdiff_t)K * lanes;
    const double *pt = v->p_lanes + tile * lanes;
    memcpy(v->tile, A, sizeof(double) * (size_t)(K * lanes));
    memcpy(target, A, sizeof(double) * (size_t)(T * lanes));
    for (int l = 0; l < T * lanes; l++) v->tile[l] *= pt[l % lanes];
    b->kernel->ista_positive(T, M, v->w->par->inner, v->w->H_background, v->w->H_target, v->w->eta,
                             b->B + (ptrdiff_t)tile * K * lanes, pt, threshold, v->tile, v->spare);
    memcpy(A, target, sizeof(double) * (size_t)(T * lanes));
    memcpy(A + T * lanes, v->tile + T * lanes, sizeof(double) * (size_t)(M * lanes));
  }
}

/* The lasso of instance i of the block, and its b and a in v->lasso. */
static fumi_lasso load_lasso(dlfumi_worker *v, const double *p, int i) {
  const fumi_block *b = &v->block;
  const int k0 = b->k0, rows = b->K - k0, lanes = b->kernel->lanes;
  const ptrdiff_t lane = fumi_at(lanes, rows, 0, i);
  for (int k = 0; k < rows; k++) {
    v->lasso.b[k] = b->B[lane + k * lanes];
    v->lasso.a[k] = b->A[lane + k * lanes];
  }
  return (fumi_lasso){.K = rows, .T = k0 ? 0 : v->w->par->T, .ldg = b->K, .nonneg = v->w->par->nonneg_codes,
                      .G = fumi_ccol(b->G, b->K, k0) + k0, .lambda = v->w->par->lambda,
                      .p = k0 ? 1 : p[b->first + i], .norm2 = b->norm2[b->first + i],
                      .gap = v->w->par->gap};
}

static void codes_exact(dlfumi_worker *v, const double *p) {
  fumi_block *b = &v->block;
  const int rows = b->K - b->k0, lanes = b->kernel->lanes;
  for (int i = 0; i < b->n; i++) {
    const fumi_lasso problem = load_lasso(v, p, i);
    const double gap = fumi_lasso_solve(&problem, &v->lasso);
    if (gap > v->sums->worst_gap) v->sums->worst_gap = gap;
    double *lane = b->A + fumi_at(lanes, rows, 0, i);
    for (int k = 0; k < rows; k++) lane[k * lanes] = v->lasso.a[k];
  }
}

static double block_gap(dlfumi_worker *v, const double *p) {
  double worst = 0;
  for (int i = 0; i < v->block.n; i++) {
    const fumi_lasso problem = load_lasso(v, p, i);
    worst = fmax(worst, fumi_lasso_gap(&problem, &v->lasso));
  }
  return worst;
}

/* The proximal gradient steps of variant "exact", repeated to the gap. */
static void codes_proximal(dlfumi_worker *v, const double *p) {
  enum { MAX_ROUNDS = 2000 };
  const double lambda = v->w->par->lambda;
  double gap = HUGE_VAL;
  for (int round = 0; round < MAX_ROUNDS && gap > v->w->par->gap; round++) {
    if (v->block.k0) ista_negative(v, v->w->eta_negative * lambda);
    else ista_positive(v, p, v->w->eta * lambda);
    gap = block_gap(v, p);
  }
  if (gap > v->sums->worst_gap) v->sums->worst_gap = gap;
}

/* (10)-(13). DEVIATES D1 (exact): the threshold belongs to the step; "paper" and
 * "matlab" threshold by lambda itself, as the paper prints it. */
static void block_codes(dlfumi_worker *v, const double *p) {
  if (v->w->par->variant != DLFUMI_EXACT) {
    if (v->block.k0) ista_negative(v, v->w->par->lambda);
    else ista_positive(v, p, v->w->par->lambda);
  } else if (v->w->par->solver == DLFUMI_ACTIVE) codes_exact(v, p);
  else codes_proximal(v, p);
}

/* First term of (4); v->r_bg and v->r_full hold the residuals. */
static void block_reconstruction(dlfumi_worker *v, const double *p) {
  const fumi_block *b = &v->block;
  double reconstruction = 0;
  for (int i = 0; i < b->n; i++) {
    const double pi = b->k0 ? 0 : p[b->first + i], full = b->k0 ? 0 : v->r_full[i];
    const double weight = weight_of(v->w->par, !b->k0, b->first + i);
    reconstruction += .5 * weight * (pi * full + (1 - pi) * v->r_bg[i]);
  }
  v->sums->reconstruction += reconstruction;
}

/* Second term of (4), without lambda. */
static void block_l1(dlfumi_worker *v, const double *p) {
  const fumi_block *b = &v->block;
  const int rows = b->K - b->k0, T = b->k0 ? 0 : v->w->par->T, lanes = b->kernel->lanes;
  double l1 = 0;
  for (int i = 0; i < b->n; i++) {
    const double *lane = b->A + fumi_at(lanes, rows, 0, i);
    double target = 0, background = 0;
    for (int k = 0; k < T; k++) target += fabs(lane[k * lanes]);
    for (int k = T; k < rows; k++) background += fabs(lane[k * lanes]);
    l1 += weight_of(v->w->par, !b->k0, b->first + i) * ((T ? p[b->first + i] : 0) * target + background);
  }
  v->sums->l1 += l1;
}

/* W_t = p a_t and W_k = psi a_k (a_k in negative bags), each times the instance's weight and factor[i] if given */
static void weigh_codes(dlfumi_worker *v, const double *p, const double *factor) {
  fumi_block *b = &v->block;
  const int T = b->k0 ? 0 : v->w->par->T, rows = b->K - b->k0, lanes = b->kernel->lanes;
  const double psi = b->k0 ? 1 : v->w->par->psi, *weight = v->w->par->weight;
  for (int i = 0; i < b->tiles * lanes; i++) {
    const ptrdiff_t lane = fumi_at(lanes, rows, 0, i);
    const double f = i >= b->n ? 0 : (factor ? factor[b->first + i] : 1) * (weight ? weight[b->first + i] : 1);
    const double pi = T && i < b->n ? p[b->first + i] : 0;
    for (int k = 0; k < T; k++) b->W[lane + k * lanes] = f * pi * b->A[lane + k * lanes];
    for (int k = T; k < rows; k++) b->W[lane + k * lanes] = f * psi * b->A[lane + k * lanes];
  }
}

/* U += X W' and S += A W' */
static void block_statistics(dlfumi_worker *v, const double *p) {
  fumi_block *b = &v->block;
  const int d = v->w->x->d, k0 = b->k0, rows = b->K - k0, ldu = fumi_padded(d);
  weigh_codes(v, p, NULL);
  b->kernel->gram(b->tiles, rows, b->A, b->W, rows, fumi_col(v->sums->S, b->K, k0) + k0, b->K);
  weigh_codes(v, p, v->w->x->scale);
  b->kernel->accumulate(d, b->n, rows, fumi_ccol(v->w->x->X, d, b->first), b->W, rows,
                        fumi_col(v->sums->U, ldu, k0), ldu, b->pack);
}

/* ---- a pass over all instances ------------------------------------------------------ */

typedef struct {
  int expect_first, codes, objective, expect_last, statistics;
  double *p;      /* for codes and objective; written by expect_first */
  double *p_next; /* written by expect_last */
} pass_plan;

static void run_block(dlfumi_worker *v, const pass_plan *plan) {
  fumi_block *b = &v->block;
  const int positive = b->k0 == 0, T = v->w->par->T;
  fumi_block_load(b, v->w->A);
  if (plan->expect_first && positive) {
    fumi_block_residual(b, T, v->r_bg);
    block_expect(v, plan->p);
  }
  if (plan->codes) block_codes(v, plan->p);
  if (plan->codes || plan->objective) block_l1(v, plan->p);
  if (plan->objective || (plan->expect_last && positive)) fumi_block_residual(b, T, v->r_bg);
  if (plan->objective) {
    if (positive) fumi_block_residual(b, 0, v->r_full);
    block_reconstruction(v, plan->p);
  }
  if (plan->expect_last && positive) block_expect(v, plan->p_next);
  if (plan->statistics) block_statistics(v, plan->expect_last ? plan->p_next : plan->p);
  if (plan->codes) fumi_block_store(b, v->w->A);
}

typedef struct {
  dlfumi_work *w;
  const pass_plan *plan;
} pass_args;

static void clear_sums(const dlfumi_work *w, const pass_plan *plan, dlfumi_sums *sums) {
  sums->reconstruction = sums->l1 = sums->worst_gap = 0;
  if (plan->statistics) memset(sums->U, 0, sizeof(double) * (size_t)size_of_sums(w));
}

/* T >= 1, so that k0 = 0 marks the blocks of positive bags and k0 = T the others. */
static void pass_block(void *ctx, int thread, int group, int j) {
  const pass_args *args = ctx;
  dlfumi_work *w = args->w;
  dlfumi_worker *v = w->worker + thread;
  const int nb = fumi_block_size(w->x->d), positive = j < w->n_positive_blocks;
  const int first = positive ? j * nb : w->x->N_pos + (j - w->n_positive_blocks) * nb;
  v->sums = w->group + group;
  if (j == group) clear_sums(w, args->plan, v->sums);
  fumi_block_project(&v->block, first, positive ? w->x->N_pos : w->x->N, positive ? 0 : w->par->T);
  run_block(v, args->plan);
}

/* Adds the groups to the first one, in order: arrays by slices that stay in the first cache. */
static void add_sums(dlfumi_work *w, const pass_plan *plan) {
  enum { SLICE = 1024 };
  const ptrdiff_t n = plan->statistics ? size_of_sums(w) : 0;
  dlfumi_sums *total = w->group;
  for (ptrdiff_t from = 0; from < n; from += SLICE)
    for (int g = 1; g < fumi_groups(w->n_blocks); g++)
      la_add(n - from < SLICE ? (int)(n - from) : SLICE, w->group[g].U + from, total->U + from);
  for (int g = 1; g < fumi_groups(w->n_blocks); g++) {
    total->reconstruction += w->group[g].reconstruction;
    total->l1 += w->group[g].l1;
    total->worst_gap = fmax(total->worst_gap, w->group[g].worst_gap);
  }
}

/* Flops of a block; codes of "exact" by proximal steps take many rounds of them. */
static double block_work(const dlfumi_work *w) {
  const double d = w->x->d, K = w->par->K, steps = w->par->inner;
  const int proximal = w->par->variant == DLFUMI_EXACT && w->par->solver == DLFUMI_ISTA;
  return fumi_block_size(w->x->d) * (4 * d * K + 2 * steps * (proximal ? 100 : 1) * K * K);
}

static fumi_status pass(dlfumi_work *w, const pass_plan *plan) {
  pass_args args = {w, plan};
  const fumi_status status = fumi_each_block(w->x->d, w->n_blocks, w->n_threads, block_work(w), pass_block,
                                             &args, w->deaf ? NULL : w->host);
  if (status == FUMI_OK) add_sums(w, plan);
  return status;
}

/* ---- the keeper of instances in memory ------------------------------------------------- */

static fumi_status keeper_pass(void *ctx, dlfumi_pass_kind kind, const double *D, dlfumi_sums *sums) {
  dlfumi_work *w = ctx;
  const pass_plan plans[] = {
      [PASS_START] = {.expect_last = 1, .p_next = w->p_now, .statistics = 1},
      [PASS_PAPER] = {.codes = 1, .objective = 1, .p = w->p_now,  /* (10)-(13), (4) */
                      .expect_last = 1, .p_next = w->p_next,      /* (6) of the next iteration */
                      .statistics = 1},
      [PASS_MATLAB] = {.expect_first = 1, .codes = 1, .statistics = 1, .p = w->p_now},
      [PASS_OBJECTIVE] = {.objective = 1, .p = w->p_now}};
  w->n_taken = 0;
  fumi_status status = prepare_dictionary(w, D);
  if (status == FUMI_OK) status = pass(w, plans + kind);
  *sums = *w->group;
  return status;
}

static void keeper_whole(void *ctx) {
  dlfumi_work *w = ctx;
  double *free_one = w->p_done;
  w->p_done = w->p_now;
  w->p_now = w->p_next;
  w->p_next = free_one;
}

/* Codes recomputed for the dictionary and p of the last whole iteration. */
static void keeper_back(void *ctx, const double *D, int n_iter) {
  dlfumi_work *w = ctx;
  const pass_plan plan = {.expect_first = n_iter == 0, .codes = 1, .p = w->p_done};
  w->deaf = 1;
  if (prepare_dictionary(w, D) == FUMI_OK) pass(w, &plan);
}

static int is_taken(const dlfumi_work *w, int i) {
  for (int j = 0; j < w->n_taken; j++)
    if (w->taken[j] == i) return 1;
  return 0;
}

/* The instance that a dictionary represents worst: of positive bags, by p ||x - D a||^2, for
 * a target atom; of negative bags for a background atom. -1: each is represented wholly. */
static int worst_instance(dlfumi_work *w, int target, const double *D, double *most) {
  const fumi_data *x = w->x;
  const int begin = target ? 0 : x->N_pos, end = target ? x->N_pos : x->N;
  fumi_block *b = &w->worker->block;
  double *r_full = w->worker->r_full;
  int worst = -1;
  *most = 0;
  b->D = D;
  for (int first = begin; first < end; first += b->n) {
    fumi_block_project(b, first, end, target ? 0 : w->par->T);
    fumi_block_load(b, w->A);
    fumi_block_residual(b, b->k0, r_full);
    for (int i = 0; i < b->n; i++) {
      const double r = r_full[i] * (target ? w->p_now[first + i] : 1);
      if (r > *most && !is_taken(w, first + i)) *most = r, worst = first + i;
    }
  }
  return worst;
}

static int keeper_worst(void *ctx, int target, const double *D, double *x) {
  dlfumi_work *w = ctx;
  double most;
  const int i = worst_instance(w, target, D, &most);
  if (i < 0) return 0;
  memcpy(x, fumi_ccol(w->x->X, w->x->d, i), sizeof(double) * (size_t)w->x->d);
  w->taken[w->n_taken++] = i;
  return 1;
}

/* ---- the dictionary ------------------------------------------------------------------- */

/* What the update of the atoms works with. */
typedef struct {
  int d;
  const dlfumi_param *par;
  const dlfumi_keeper *keeper;
  dlfumi_state *s;
  dlfumi_sums sums;                    /* of the last pass */
  const fumi_kernel *kernel;
  double *G, *D_old, *cosine, *product; /* K x K, d x K, M x T, M x T */
  double *numerator, *coef;            /* d, K */
  int *every;                          /* 0 .. K - 1 */
} dlfumi_update;

static fumi_status update_init(dlfumi_update *f, const dlfumi_keeper *keeper, const dlfumi_param *par,
                               dlfumi_state *s, const fumi_host *host) {
  const ptrdiff_t d = keeper->d, K = par->K, MT = (ptrdiff_t)par->M * par->T;
  *f = (dlfumi_update){.d = keeper->d, .par = par, .keeper = keeper, .s = s,
                       .kernel = fumi_choose_kernel(par->simd)};
  double **arrays[] = {&f->G, &f->D_old, &f->cosine, &f->product, &f->numerator, &f->coef};
  const ptrdiff_t sizes[] = {K * K, d * K, MT, MT, d, K};
  f->every = host->alloc(host->ctx, (size_t)K, sizeof(int));
  if (!f->every) return FUMI_ENOMEM;
  for (int k = 0; k < par->K; k++) f->every[k] = k;
  return take(host, sizeof sizes / sizeof *sizes, arrays, sizes);
}

static fumi_status ask(dlfumi_update *f, dlfumi_pass_kind kind) {
  const fumi_status status = f->keeper->pass(f->keeper->ctx, kind, f->s->D, &f->sums);
  f->s->worst_gap = fmax(f->s->worst_gap, f->sums.worst_gap);
  return status;
}

/* The target atoms that eq. 5 and the third term of (4) compare with: old in the
 * paper. DEVIATES D2 (matlab): new ones. */
static const double *compared_targets(const dlfumi_update *f) {
  return f->par->variant == DLFUMI_MATLAB ? f->s->D : f->D_old;
}

/* <d_k, d_t> of the background atoms of D and the target atoms that they are compared with */
static void inner_products(const dlfumi_update *f, const double *D, double *products) {
  const int d = f->d, T = f->par->T, M = f->par->M;
  f->kernel->inner(d, M, T, fumi_ccol(D, d, T), compared_targets(f), products, M);
}

/* (5): cos theta_kt */
static void update_cosines(dlfumi_update *f) {
  const int d = f->d, T = f->par->T, M = f->par->M;
  inner_products(f, f->D_old, f->cosine);
  for (int k = 0; k < M; k++) f->coef[k] = fumi_norm(d, fumi_ccol(f->D_old, d, T + k));
  for (int t = 0; t < T; t++) {
    const double norm = fumi_norm(d, fumi_ccol(compared_targets(f), d, t));
    for (int k = 0; k < M; k++) {
      const double norms = f->coef[k] * norm;
      if (norms > 0) f->cosine[k + (ptrdiff_t)M * t] /= norms;
    }
  }
}

static double third_term(const dlfumi_update *f) {
  const ptrdiff_t n = (ptrdiff_t)f->par->M * f->par->T;
  double sum = 0;
  inner_products(f, f->s->D, f->product);
  for (ptrdiff_t kt = 0; kt < n; kt++) sum += f->cosine[kt] * f->product[kt];
  return f->par->gamma * sum;
}

static int atoms_left(const dlfumi_update *f, int from, int end) {
  int n = 0;
  for (int k = from; k < end; k++) n += fumi_norm(f->d, fumi_ccol(f->s->D, f->d, k)) > 0;
  return n;
}

/* DEVIATES D7: the numerator, without its negative part if atoms must not be negative; returns its norm. */
static double bound_numerator(dlfumi_update *f) {
  for (int r = 0; r < f->d && f->par->nonneg_atoms; r++) f->numerator[r] = fmax(f->numerator[r], 0);
  return fumi_norm(f->d, f->numerator);
}

/* DEVIATES D3: an atom that no code uses would be 0/0 in (8) and (9). */
static void revive_atom(dlfumi_update *f, int k) {
  const int d = f->d, T = f->par->T, target = k < T;
  double *atom = fumi_col(f->s->D, d, k);
  const int dropped = fumi_norm(d, atom) == 0 && f->par->dead == DLFUMI_DROP && f->s->n_dead[k] > 0;
  if (dropped) return;
  f->s->n_dead[k]++;
  if (f->par->dead == DLFUMI_DROP && atoms_left(f, target ? 0 : T, target ? T : f->par->K) > 1)
    memset(atom, 0, sizeof(double) * (size_t)d);
  if (f->par->dead != DLFUMI_RESAMPLE) return;
  if (!f->keeper->worst(f->keeper->ctx, target, f->D_old, f->numerator)) return;
  const double norm = bound_numerator(f);
  for (int r = 0; r < d && norm > 0; r++) atom[r] = f->numerator[r] / norm;
}

/* The atom is its numerator brought to norm 1: the denominators of (8) and (9) cancel. */
static void normalise_atom(dlfumi_update *f, int k) {
  const int d = f->d;
  const double usage = f->sums.S[k + (ptrdiff_t)f->par->K * k], norm = bound_numerator(f);
  if (!(usage > DBL_EPSILON * DBL_EPSILON * f->sums.energy) || !(norm > 0) || !isfinite(norm)) {
    revive_atom(f, k);
    return;
  }
  double *atom = fumi_col(f->s->D, d, k);
  for (int r = 0; r < d; r++) atom[r] = f->numerator[r] / norm;
}

/* (9), numerator: sum_i p_i a_it (x_i - sum_{l != t} a_il d_l) = U_t - sum_{l != t} S_lt d_l */
static void update_target_atoms(dlfumi_update *f) {
  const int d = f->d, K = f->par->K;
  for (int t = 0; t < f->par->T; t++) {
    memcpy(f->coef, fumi_ccol(f->sums.S, K, t), sizeof(double) * (size_t)K);
    f->coef[t] = 0;
    f->kernel->correlate(d, K, f->every, f->coef, f->s->D, d, fumi_ccol(f->sums.U, fumi_padded(d), t), f->numerator);
    normalise_atom(f, t);
  }
}

/* (8), numerator: U_k - psi sum_t S_kt d_t - sum_{l != k} S_lk d_l
 *                 - Gamma sum_t cos_kt d_t(old) */
static void update_background_atoms(dlfumi_update *f) {
  const int d = f->d, T = f->par->T, M = f->par->M, K = f->par->K;
  for (int k = T; k < K; k++) {
    for (int t = 0; t < T; t++) f->coef[t] = f->par->psi * f->sums.S[k + (ptrdiff_t)K * t];
    for (int l = T; l < K; l++) f->coef[l] = f->sums.S[l + (ptrdiff_t)K * k];
    f->coef[k] = 0;
    f->kernel->correlate(d, K, f->every, f->coef, f->s->D, d, fumi_ccol(f->sums.U, fumi_padded(d), k), f->numerator);
    for (int t = 0; t < T; t++) f->coef[t] = f->par->gamma * f->cosine[k - T + (ptrdiff_t)M * t];
    f->kernel->correlate(d, T, f->every, f->coef, f->D_old, d, f->numerator, f->numerator);
    normalise_atom(f, k);
  }
}

static void keep_old_dictionary(dlfumi_update *f) {
  memcpy(f->D_old, f->s->D, sizeof(double) * (size_t)f->d * (size_t)f->par->K);
}

static void update_atoms(dlfumi_update *f) {
  keep_old_dictionary(f);
  update_target_atoms(f);
  update_cosines(f);
  update_background_atoms(f);
}

/* ---- the objective ---------------------------------------------------------------------- */

static double record_objective(dlfumi_update *f, double *terms) {
  terms[1] = f->sums.reconstruction;
  terms[2] = f->par->lambda * f->sums.l1;
  terms[3] = third_term(f);
  return terms[0] = terms[1] + terms[2] + terms[3];
}

/* First term of (4) for the dictionary after the codes, from U and S alone. Where that
 * cancels, from the instances. */
static fumi_status objective_of_statistics(dlfumi_update *f) {
  const int d = f->d, T = f->par->T, K = f->par->K, ldu = fumi_padded(d);
  const double psi = f->par->psi, *G = f->G, *S = f->sums.S, *D = f->s->D;
  double e = f->sums.energy;
  f->kernel->inner(d, K, K, D, D, f->G, K);
  for (int k = 0; k < K; k++)
    e -= 2 * (k < T ? psi : 1) * la_dot(d, fumi_ccol(D, d, k), fumi_ccol(f->sums.U, ldu, k));
  for (int k = 0; k < K; k++)
    for (int l = 0; l < K; l++) {
      const double s = k < T ? psi * S[l + (ptrdiff_t)K * k]
                             : l < T ? psi * S[k + (ptrdiff_t)K * l] : S[l + (ptrdiff_t)K * k];
      e += G[l + (ptrdiff_t)K * k] * s;
    }
  f->sums.reconstruction = .5 * e;
  return e > 1e-4 * f->sums.energy ? FUMI_OK : ask(f, PASS_OBJECTIVE);
}

/* ---- the iterations ------------------------------------------------------------------------ */

/* Algorithm 1 cut after its codes: p and the statistics are there when it begins. */
static fumi_status iterate_paper(dlfumi_update *f) {
  update_atoms(f);                                              /* (5), (8), (9) */
  return ask(f, PASS_PAPER);                                    /* (10)-(13), (4), (6) */
}

/* DEVIATES D4 (matlab): codes before atoms. */
static fumi_status iterate_matlab(dlfumi_update *f) {
  keep_old_dictionary(f);
  const fumi_status status = ask(f, PASS_MATLAB);               /* (6), (10)-(13) */
  if (status != FUMI_OK) return status;
  update_atoms(f);                                              /* (5), (8), (9) */
  return objective_of_statistics(f);
}

/* Back to the last whole iteration. */
static void roll_back(dlfumi_update *f) {
  memcpy(f->s->D, f->D_old, sizeof(double) * (size_t)f->d * (size_t)f->par->K);
  if (f->keeper->back) f->keeper->back(f->keeper->ctx, f->s->D, f->s->n_iter);
}

static fumi_status iterate(dlfumi_update *f, const fumi_host *host) {
  const dlfumi_param *par = f->par;
  const int matlab = par->variant == DLFUMI_MATLAB;
  double before = HUGE_VAL, least = par->tol;
  fumi_status status = FUMI_MAXIT;
  for (int it = 0; it < par->max_iter; it++) {
    double *terms = f->s->trace + (ptrdiff_t)DLFUMI_TERMS * it;
    f->s->worst_gap = 0;
    status = matlab ? iterate_matlab(f) : iterate_paper(f);
    if (status != FUMI_OK) return status;
    const double objective = record_objective(f, terms);
    if (!isfinite(objective)) return FUMI_ENONFINITE;
    if (f->keeper->whole) f->keeper->whole(f->keeper->ctx);
    f->s->n_iter = it + 1;
    if (host->report && host->report(host->ctx, it + 1, objective)) {
      keep_old_dictionary(f); /* this iteration is whole */
      return FUMI_STOPPED;
    }
    if (it == 0 && !par->absolute_tol) least = par->tol * fabs(objective);
    if (fabs(before - objective) < least) return FUMI_CONVERGED;
    before = objective;
    status = FUMI_MAXIT;
  }
  return status;
}

fumi_status dlfumi_fit_kept(const dlfumi_keeper *keeper, const dlfumi_param *par, dlfumi_state *s,
                            const fumi_host *host) {
  dlfumi_update f;
  s->n_iter = 0;
  s->worst_gap = 0;
  fumi_status status = update_init(&f, keeper, par, s, host);
  if (status != FUMI_OK) return status;
  keep_old_dictionary(&f);
  if (par->variant != DLFUMI_MATLAB) status = ask(&f, PASS_START);
  if (status == FUMI_OK) status = iterate(&f, host);
  if (status == FUMI_STOPPED) roll_back(&f);
  return status;
}

static dlfumi_keeper keep_in_memory(dlfumi_work *w) {
  return (dlfumi_keeper){.d = w->x->d, .pass = keeper_pass, .worst = keeper_worst,
                         .whole = keeper_whole, .back = keeper_back, .ctx = w};
}

fumi_status dlfumi_fit(const fumi_data *x, const dlfumi_param *par, dlfumi_state *s,
                       const fumi_host *host) {
  dlfumi_work w;
  s->n_iter = 0;
  fumi_status status = work_init(&w, x, par, s->A, host);
  if (status != FUMI_OK) return status;
  const dlfumi_keeper keeper = keep_in_memory(&w);
  status = dlfumi_fit_kept(&keeper, par, s, host);
  memcpy(s->p, w.p_done, sizeof(double) * (size_t)x->N_pos);
  return status;
}

void dlfumi_carried(const dlfumi_param *par, int N, int N_pos, const double *A, const double *p,
                    double *carried) {
  memset(carried, 0, sizeof(double) * 2 * (size_t)par->K);
  for (int i = 0; i < N; i++) {
    const double *a = fumi_ccol(A, par->K, i), weight = weight_of(par, i < N_pos, i);
    for (int k = 0; k < par->K; k++) {
      const double wa = weight * (k < par->T ? (i < N_pos ? p[i] : 0) : 1) * a[k];
      carried[2 * k] += wa * a[k];
      carried[2 * k + 1] += wa;
    }
  }
}

/* ---- parts of the instances, single steps --------------------------------------------------- */

fumi_status dlfumi_pass(const fumi_data *x, const dlfumi_param *par, dlfumi_pass_kind kind,
                        const double *D, dlfumi_part *part, dlfumi_sums *sums, const fumi_host *host) {
  dlfumi_work w;
  const size_t size = sizeof(double) * (size_t)x->N_pos;
  fumi_status status = work_init(&w, x, par, part->A, host);
  if (status != FUMI_OK) return status;
  memcpy(w.p_now, part->p_next, size);
  status = keeper_pass(&w, kind, D, sums);
  memcpy(part->p, w.p_now, size);
  memcpy(part->p_next, kind == PASS_PAPER ? w.p_next : w.p_now, size);
  return status;
}

fumi_status dlfumi_worst(const fumi_data *x, const dlfumi_param *par, int target, const double *D,
                         const dlfumi_part *part, const int *taken, int n_taken, int *worst,
                         double *most, const fumi_host *host) {
  dlfumi_work w;
  fumi_status status = work_init(&w, x, par, part->A, host);
  if (status == FUMI_OK) status = prepare_dictionary(&w, D);
  if (status != FUMI_OK) return status;
  memcpy(w.p_now, part->p_next, sizeof(double) * (size_t)x->N_pos);
  for (int j = 0; j < n_taken; j++) w.taken[j] = taken[j];
  w.n_taken = n_taken;
  *worst = worst_instance(&w, target, D, most);
  return FUMI_OK;
}

fumi_status dlfumi_step(const fumi_data *x, const dlfumi_param *par, dlfumi_step_kind kind,
                        const double *D_old, dlfumi_state *s, const fumi_host *host) {
  dlfumi_work w;
  dlfumi_update f;
  s->worst_gap = 0;
  fumi_status status = work_init(&w, x, par, s->A, host);
  const dlfumi_keeper keeper = keep_in_memory(&w);
  if (status == FUMI_OK) status = update_init(&f, &keeper, par, s, host);
  if (status == FUMI_OK) status = prepare_dictionary(&w, s->D);
  if (status != FUMI_OK) return status;
  const pass_plan plan = {.expect_first = kind == STEP_EXPECT, .codes = kind == STEP_CODES,
                          .objective = kind == STEP_OBJECTIVE, .statistics = kind == STEP_ATOMS,
                          .p = s->p};
  memcpy(w.p_now, s->p, sizeof(double) * (size_t)x->N_pos);
  status = pass(&w, &plan);
  f.sums = *w.group;
  s->worst_gap = f.sums.worst_gap;
  if (kind == STEP_ATOMS && status == FUMI_OK) update_atoms(&f);
  if (kind == STEP_OBJECTIVE) {
    memcpy(f.D_old, D_old, sizeof(double) * (size_t)x->d * (size_t)par->K);
    update_cosines(&f);
    record_objective(&f, s->trace);
  }
  return status;
}
