/* core_pass.c: a pass over the instances in memory, block by block and on threads: E-step (6),
 * codes, terms of (4), and the sums that the dictionary needs. */
#include <math.h>
#include <string.h>

#include "core_dlfumi.h"
#include "core_linalg.h"

/* ---- workspace ------------------------------------------------------------------------------ */

static fumi_status worker_init(dlfumi_work *w, dlfumi_worker *v) {
  const ptrdiff_t nb = fumi_block_size(w->x->d), K = w->par->K, T = w->par->T;
  const fumi_kernel *kernel = fumi_choose_kernel(w->par->simd);
  const fumi_array arrays[] = {{&v->tile, (K + T) * kernel->lanes},
                               {&v->spare, (2 * K + T) * kernel->lanes},
                               {&v->r_bg, nb},
                               {&v->r_full, nb},
                               {&v->p_lanes, nb}};
  *v = (dlfumi_worker){.w = w};
  fumi_status status = v == w->worker ? fumi_block_init(&v->block, w->x, kernel, w->par->K, w->host)
                                      : fumi_block_twin(&v->block, &w->worker->block, w->host);
  if (status == FUMI_OK) status = fumi_lasso_init(&v->lasso, kernel, w->par->K, w->host);
  v->lasso.stop = &w->stop;
  v->lasso.asks = v == w->worker;
  return status == FUMI_OK ? FUMI_TAKE(w->host, arrays) : status;
}

static ptrdiff_t size_of_sums(const dlfumi_work *w) {
  return (ptrdiff_t)(fumi_padded(w->x->d) + w->par->K) * w->par->K;
}

static fumi_status groups_init(dlfumi_work *w) {
  const int d = w->x->d, groups = fumi_groups(w->n_blocks);
  w->group = w->host->alloc(w->host->ctx, (size_t)groups, sizeof *w->group);
  if (!w->group) return FUMI_ENOMEM;
  for (int g = 0; g < groups; g++) {
    w->group[g] = (dlfumi_sums){.U = fumi_doubles(w->host, size_of_sums(w))};
    if (!w->group[g].U) return FUMI_ENOMEM;
    w->group[g].S = fumi_col(w->group[g].U, fumi_padded(d), w->par->K);
  }
  return FUMI_OK;
}

static fumi_status workers_init(dlfumi_work *w) {
  w->n_threads = fumi_usable_threads(w->par->threads, w->n_blocks);
  w->worker = w->host->alloc(w->host->ctx, (size_t)w->n_threads, sizeof *w->worker);
  fumi_status status = w->worker ? FUMI_OK : FUMI_ENOMEM;
  for (int t = 0; t < w->n_threads && status == FUMI_OK; t++)
    status = worker_init(w, w->worker + t);
  return status;
}

fumi_status dlfumi_work_init(dlfumi_work *w, const fumi_data *x, const dlfumi_param *par, double *A,
                             const fumi_host *host) {
  const int K = par->K, T = par->T, M = par->M;
  const fumi_kernel *kernel = fumi_choose_kernel(par->simd);
  const fumi_array arrays[] = {{&w->G, (ptrdiff_t)K * K},
                               {&w->eigen, fumi_eigen_work(K)},
                               {&w->H_negative, fumi_panel_size(kernel, M, M)},
                               {&w->H_background, fumi_panel_size(kernel, M, K)},
                               {&w->H_target, fumi_panel_size(kernel, T, K)},
                               {&w->p_done, x->N_pos},
                               {&w->p_now, x->N_pos},
                               {&w->p_next, x->N_pos},
                               {&w->misfit, x->N}};
  *w = (dlfumi_work){.x = x, .par = par, .A = A, .A_done = A, .A_other = A, .host = host};
  w->n_positive_blocks = fumi_n_blocks(x->d, x->N_pos);
  w->n_blocks = w->n_positive_blocks + fumi_n_blocks(x->d, x->N - x->N_pos);
  fumi_status status = groups_init(w);
  if (status == FUMI_OK) status = workers_init(w);
  if (status == FUMI_OK) status = FUMI_TAKE(host, arrays);
  if (status != FUMI_OK) return FUMI_ENOMEM;
  memset(w->p_done, 0, sizeof(double) * (size_t)x->N_pos);
  for (int i = 0; i < x->N; i++)
    w->group->energy += dlfumi_weight(par, i < x->N_pos, i) * w->worker->block.norm2[i];
  return FUMI_OK;
}

/* -eta G of the target rows, columns in the order background, target: (11) has no identity,
 * because the kernel weighs the target codes by p. */
static void target_panel(dlfumi_work *w) {
  const int T = w->par->T, M = w->par->M, K = w->par->K;
  double *C = w->eigen;
  for (int j = 0; j < K; j++)
    for (int t = 0; t < T; t++)
      C[t + (ptrdiff_t)T * j] = -w->eta * w->G[t + (ptrdiff_t)K * (j < M ? T + j : j - M)];
  fumi_panel(w->worker->block.kernel, T, K, C, T, w->H_target);
}

fumi_status dlfumi_use_dictionary(dlfumi_work *w, const double *D) {
  const int d = w->x->d, T = w->par->T, M = w->par->M, K = w->par->K;
  const fumi_kernel *kernel = w->worker->block.kernel;
  double *G = w->G;
  fumi_status status = FUMI_OK;
  kernel->inner(d, K, K, D, D, G, K);
  for (ptrdiff_t k = 0; k < (ptrdiff_t)K * K; k++)
    if (!isfinite(G[k])) return FUMI_ENONFINITE;
  const double *G_bb = fumi_ccol(G, K, T) + T;
  w->eta = fumi_step_length(K, G, K, w->eigen, &status);
  w->eta_negative = fumi_step_length(M, G_bb, K, w->eigen, &status);
  fumi_step_panel(kernel, M, M, G_bb, K, w->eta_negative, 0, w->eigen, w->H_negative);
  fumi_step_panel(kernel, M, K, G + T, K, w->eta, T, w->eigen, w->H_background);
  target_panel(w);
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
    p[b->first + i] =
        prior ? with_prior(prior[b->first + i], beta * v->r_bg[i]) : -expm1(-beta * v->r_bg[i]);
}

/* First term of (4); v->r_bg and v->r_full hold the residuals. */
static void block_reconstruction(dlfumi_worker *v, const double *p) {
  const fumi_block *b = &v->block;
  double reconstruction = 0;
  for (int i = 0; i < b->n; i++) {
    const double pi = b->k0 ? 0 : p[b->first + i], full = b->k0 ? 0 : v->r_full[i];
    const double weight = dlfumi_weight(v->w->par, !b->k0, b->first + i);
    reconstruction += .5 * weight * (pi * full + (1 - pi) * v->r_bg[i]);
  }
  v->sums->reconstruction += reconstruction;
}

/* Second term of (4), without lambda. */
static double block_l1(const dlfumi_worker *v, const double *p) {
  const fumi_block *b = &v->block;
  const int rows = b->K - b->k0, T = b->k0 ? 0 : v->w->par->T, lanes = b->kernel->lanes;
  double l1 = 0;
  for (int i = 0; i < b->n; i++) {
    const double *lane = b->A + fumi_at(lanes, rows, 0, i);
    double target = 0, background = 0;
    for (int k = 0; k < T; k++) target += fabs(lane[k * lanes]);
    for (int k = T; k < rows; k++) background += fabs(lane[k * lanes]);
    l1 += dlfumi_weight(v->w->par, !b->k0, b->first + i) *
          ((T ? p[b->first + i] : 0) * target + background);
  }
  return l1;
}

/* W_t = p a_t and W_k = psi a_k (a_k in negative bags), each times the instance's weight and
 * factor[i] if given */
static void weigh_codes(dlfumi_worker *v, const double *p, const double *factor) {
  fumi_block *b = &v->block;
  const int T = b->k0 ? 0 : v->w->par->T, rows = b->K - b->k0, lanes = b->kernel->lanes;
  const double psi = b->k0 ? 1 : v->w->par->psi, *weight = v->w->par->weight;
  for (int i = 0; i < b->tiles * lanes; i++) {
    const ptrdiff_t lane = fumi_at(lanes, rows, 0, i);
    const double f =
        i >= b->n ? 0 : (factor ? factor[b->first + i] : 1) * (weight ? weight[b->first + i] : 1);
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

/* ---- a pass over all instances --------------------------------------------------------------- */

static void run_block(dlfumi_worker *v, const dlfumi_plan *plan) {
  fumi_block *b = &v->block;
  const int positive = b->k0 == 0, T = v->w->par->T;
  fumi_block_load(b, v->w->A);
  if (plan->expect_first && positive) {
    fumi_block_residual(b, T, v->r_bg);
    block_expect(v, plan->p);
  }
  if (plan->codes) dlfumi_block_codes(v, plan->p);
  if (plan->codes || plan->objective) v->sums->l1 += block_l1(v, plan->p);
  if (plan->objective || (plan->expect_last && positive)) fumi_block_residual(b, T, v->r_bg);
  if (plan->objective) {
    if (positive) fumi_block_residual(b, 0, v->r_full);
    block_reconstruction(v, plan->p);
  }
  if (plan->expect_last && positive) block_expect(v, plan->p_next);
  if (plan->expect_last) v->sums->l1_next += block_l1(v, plan->p_next);
  if (plan->statistics) block_statistics(v, plan->expect_last ? plan->p_next : plan->p);
  if (plan->codes) fumi_block_store(b, v->w->A_other);
}

typedef struct {
  dlfumi_work *w;
  const dlfumi_plan *plan;
} pass_args;

static void clear_sums(const dlfumi_work *w, const dlfumi_plan *plan, dlfumi_sums *sums) {
  sums->reconstruction = sums->l1 = sums->l1_next = sums->worst_gap = 0;
  if (plan->statistics) memset(sums->U, 0, sizeof(double) * (size_t)size_of_sums(w));
}

/* Projects block j. T >= 1, so that k0 = 0 marks the blocks of positive bags and k0 = T the
 * others. */
static void project_block(dlfumi_work *w, fumi_block *b, int j) {
  const int nb = fumi_block_size(w->x->d), positive = j < w->n_positive_blocks;
  const int first = positive ? j * nb : w->x->N_pos + (j - w->n_positive_blocks) * nb;
  fumi_block_project(b, first, positive ? w->x->N_pos : w->x->N, positive ? 0 : w->par->T);
}

static void pass_block(void *ctx, int thread, int group, int j) {
  const pass_args *args = ctx;
  dlfumi_work *w = args->w;
  dlfumi_worker *v = w->worker + thread;
  v->sums = w->group + group;
  if (j == group) clear_sums(w, args->plan, v->sums);
  project_block(w, &v->block, j);
  run_block(v, args->plan);
}

/* Adds the groups to the first one, in order: arrays by slices that stay in the first cache. */
static void add_sums(dlfumi_work *w, const dlfumi_plan *plan) {
  enum { SLICE = 1024 };
  const ptrdiff_t n = plan->statistics ? size_of_sums(w) : 0;
  dlfumi_sums *total = w->group;
  for (ptrdiff_t from = 0; from < n; from += SLICE)
    for (int g = 1; g < fumi_groups(w->n_blocks); g++)
      la_add(n - from < SLICE ? (int)(n - from) : SLICE, w->group[g].U + from, total->U + from);
  for (int g = 1; g < fumi_groups(w->n_blocks); g++) {
    total->reconstruction += w->group[g].reconstruction;
    total->l1 += w->group[g].l1;
    total->l1_next += w->group[g].l1_next;
    total->worst_gap = fmax(total->worst_gap, w->group[g].worst_gap);
  }
}

/* Flops of a block; codes of "exact" by proximal steps take many rounds of them. */
static double block_work(const dlfumi_work *w) {
  const double d = w->x->d, K = w->par->K, steps = w->par->inner;
  const int proximal = w->par->variant == DLFUMI_EXACT && w->par->solver == DLFUMI_ISTA;
  return fumi_block_size(w->x->d) * (4 * d * K + 2 * steps * (proximal ? 100 : 1) * K * K);
}

/* New codes go to A_other, so that those of the pass before are still there; where A_other is A
 * itself, they are overwritten. */
fumi_status dlfumi_run_plan(dlfumi_work *w, const dlfumi_plan *plan, const fumi_host *host) {
  pass_args args = {w, plan};
  w->stop = (fumi_stop){.host = host};
  const fumi_host asked = fumi_stop_host(&w->stop);
  const fumi_status status = fumi_each_block(w->x->d, w->n_blocks, w->n_threads, block_work(w),
                                             pass_block, &args, host ? &asked : NULL);
  if (status != FUMI_OK) return status;
  add_sums(w, plan);
  if (plan->codes) {
    double *before = w->A;
    w->A = w->A_other;
    w->A_other = before;
  }
  return FUMI_OK;
}

/* ---- the keeper of instances in memory ------------------------------------------------- */

fumi_status dlfumi_run_pass(dlfumi_work *w, dlfumi_pass_kind kind, const double *D,
                            dlfumi_sums *sums) {
  const dlfumi_plan plans[] = {
      [PASS_START] = {.expect_last = 1, .p_next = w->p_now, .statistics = 1},
      [PASS_PAPER] = {.codes = 1,
                      .objective = 1,
                      .p = w->p_now, /* (10)-(13), (4) */
                      .expect_last = 1,
                      .p_next = w->p_next, /* (6) of the next iteration */
                      .statistics = 1},
      [PASS_MATLAB] = {.expect_first = 1, .codes = 1, .statistics = 1, .p = w->p_now},
      [PASS_OBJECTIVE] = {.objective = 1, .p = w->p_now}};
  w->misfit_known[0] = w->misfit_known[1] = 0;
  fumi_status status = dlfumi_use_dictionary(w, D);
  if (status == FUMI_OK) status = dlfumi_run_plan(w, plans + kind, w->host);
  *sums = *w->group;
  return status;
}

static fumi_status keeper_pass(void *ctx, dlfumi_pass_kind kind, const double *D,
                               dlfumi_sums *sums) {
  return dlfumi_run_pass(ctx, kind, D, sums);
}

static void keeper_whole(void *ctx) {
  dlfumi_work *w = ctx;
  double *free_one = w->p_done;
  w->p_done = w->p_now;
  w->p_now = w->p_next;
  w->p_next = free_one;
  w->A_done = w->A;
}

static void keeper_back(void *ctx) {
  dlfumi_work *w = ctx;
  if (w->A == w->A_done) return;
  w->A_other = w->A;
  w->A = w->A_done;
}

/* ---- the worst represented instance ---------------------------------------------------------- */

typedef struct {
  dlfumi_work *w;
  int first; /* block */
} misfit_args;

static void misfit_block(void *ctx, int thread, int group, int j) {
  const misfit_args *args = ctx;
  dlfumi_work *w = args->w;
  dlfumi_worker *v = w->worker + thread;
  fumi_block *b = &v->block;
  (void)group;
  project_block(w, b, args->first + j);
  fumi_block_load(b, w->A);
  fumi_block_residual(b, b->k0, v->r_full);
  for (int i = 0; i < b->n; i++)
    w->misfit[b->first + i] = v->r_full[i] * (b->k0 ? 1 : w->p_now[b->first + i]);
}

fumi_status dlfumi_find_misfit(dlfumi_work *w, int target, const double *D) {
  misfit_args args = {w, target ? 0 : w->n_positive_blocks};
  if (w->misfit_known[target]) return FUMI_OK;
  for (int t = 0; t < w->n_threads; t++) w->worker[t].block.D = D;
  const int n_blocks = target ? w->n_positive_blocks : w->n_blocks - w->n_positive_blocks;
  const fumi_status status =
      fumi_each_block(w->x->d, n_blocks, w->n_threads, block_work(w), misfit_block, &args, w->host);
  w->misfit_known[target] = status == FUMI_OK;
  return status;
}

int dlfumi_worst_instance(const dlfumi_work *w, int target) {
  const int end = target ? w->x->N_pos : w->x->N;
  double most = 0;
  int worst = -1;
  for (int i = target ? 0 : w->x->N_pos; i < end; i++)
    if (w->misfit[i] > most) most = w->misfit[i], worst = i;
  return worst;
}

/* It becomes an atom, and is not the worst any more. */
static int keeper_worst(void *ctx, int target, const double *D, double *x) {
  dlfumi_work *w = ctx;
  if (dlfumi_find_misfit(w, target, D) != FUMI_OK) return -1;
  const int i = dlfumi_worst_instance(w, target);
  if (i < 0) return 0;
  memcpy(x, fumi_ccol(w->x->X, w->x->d, i), sizeof(double) * (size_t)w->x->d);
  w->misfit[i] = 0;
  return 1;
}

dlfumi_keeper dlfumi_keep_in_memory(dlfumi_work *w) {
  return (dlfumi_keeper){.d = w->x->d,
                         .pass = keeper_pass,
                         .worst = keeper_worst,
                         .whole = keeper_whole,
                         .back = keeper_back,
                         .ctx = w};
}
