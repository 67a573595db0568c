/* core.h: the table of contents of the core, which is plain C99 and knows no R.
 *
 * The core speaks the paper (Jiao and Zare 2016), R speaks words:
 *
 *   paper          core                R                     shape
 *   x_i, X         X                   x                     d x N, one instance per column
 *   D = [D+ D-]    D                   dictionary            d x K, unit-norm columns
 *   alpha_i        A                   codes                 K x N
 *   P(z_i = 1)     p                   prob_target           N_pos
 *   T, M           T, M, K = T + M     n_target, n_background
 *   psi            psi                 psi                   weight of positive bags
 *   lambda, beta   lambda, beta        lambda, beta
 *   Gamma          gamma               gamma
 *
 * Indices mean one thing everywhere: i an instance, k an atom, t a target atom,
 * r a feature, it an iteration. Instances of positive bags come first. Matrices
 * are column-major; a product of two dimensions is a ptrdiff_t.
 */
#ifndef FUMI_CORE_H
#define FUMI_CORE_H

#include <float.h>
#include <math.h>
#include <stddef.h>

/* What the core asks of whoever runs it. Memory belongs to the host: the core
 * allocates only in *_init functions and frees nothing. */
typedef struct {
  void *(*alloc)(void *ctx, size_t n, size_t size);   /* NULL: no memory */
  int (*poll)(void *ctx);                             /* non-zero: stop */
  int (*report)(void *ctx, int it, double objective); /* may be NULL; non-zero: stop */
  void *ctx;
} fumi_host;

typedef enum {
  FUMI_OK,
  FUMI_CONVERGED,
  FUMI_MAXIT,
  FUMI_STOPPED,    /* the host said stop */
  FUMI_ENOMEM,     /* the host has no memory */
  FUMI_ENONFINITE, /* the objective is not finite */
  FUMI_ESINGULAR   /* LAPACK failed */
} fumi_status;

/* Instances as the core sees them: column i of X times scale[i]. */
typedef struct {
  int d, N, N_pos;
  const double *X, *scale;
  const double *norm2; /* their squared norms; NULL: they are computed where they are needed */
} fumi_data;

static inline double *fumi_col(double *A, int nrow, int j) { return A + (ptrdiff_t)nrow * j; }
static inline const double *fumi_ccol(const double *A, int nrow, int j) {
  return A + (ptrdiff_t)nrow * j;
}

/* log(1 - exp(-a)), a > 0, to full precision (Maechler 2012) */
static inline double fumi_log1mexp(double a) {
  return a > .6931471805599453 ? log1p(-exp(-a)) : log(-expm1(-a));
}

/* ---- core_host.c: what the host provides ------------------------------------------ */
/* memory; NULL, FUMI_ENOMEM: it has none */
double *fumi_doubles(const fumi_host *host, ptrdiff_t n);
int *fumi_ints(const fumi_host *host, ptrdiff_t n);
typedef struct {
  double **at;
  ptrdiff_t size;
} fumi_array;
fumi_status fumi_take(const fumi_host *host, size_t n, const fumi_array *arrays);
#define FUMI_TAKE(host, arrays) fumi_take(host, sizeof(arrays) / sizeof *(arrays), arrays)

/* Permission to continue, for a loop on threads: the thread that called the core asks, all see the
 * answer. A stop is remembered, because a host may say it only once. */
typedef struct {
  const fumi_host *host; /* NULL: nobody is asked */
  int now;
} fumi_stop;
int fumi_stopped(const fumi_stop *stop);
int fumi_ask(fumi_stop *stop);             /* on the calling thread only */
fumi_host fumi_stop_host(fumi_stop *stop); /* to poll, for fumi_each_block() */

/* ---- core_kernel.c: the arithmetic on blocks of instances ------------------
 * A block is a row of tiles. A tile holds `lanes` instances, atom by atom: entry
 * (k, i) of a block with `rows` atoms is at fumi_at(lanes, rows, k, i). Lanes
 * without an instance hold 0. */
typedef struct {
  const char *name;
  int lanes;
  int copies, panel; /* how often a panel of coefficients holds each of them, and its rows */
  /* B = D'X for n instances, column i times scale[i]; B has `rows` rows a tile */
  void (*project)(int d, int n, int K, const double *X, const double *scale, const double *D,
                  double *B, int rows);
  /* one tile: r = a'Ga - 2a'b and size = sum_k norm_k |a_k| for each lane */
  void (*quadratic)(int K, const double *G, int ldg, const double *norm, const double *A,
                    const double *B, double *r, double *size);
  /* r[i] = ||scale_i x_i - D a_i||^2 for the n instances `which` of a block; pack: K tile rows */
  void (*residual)(int d, int n, const int *which, int K, const double *X, const double *scale,
                   const double *D, const double *A, int rows, double *r, double *pack);
  /* one tile, eq. 13, `steps` times: a <- S(eta b + H a), H = I - eta G in panels; S takes off
   * at most threshold[0] above 0 and threshold[1] = fumi_below() below; spare: 2 K rows */
  void (*ista)(int K, int steps, const double *H, double eta, const double *B,
               const double *threshold, double *A, double *spare);
  /* one tile of rows [p a_t; a_b; a_t], eq. 10-12, `steps` times; spare: 2 K + T rows. Where
   * p = 0, a_t stays */
  void (*ista_positive)(int T, int M, int steps, const double *Hb, const double *Ht, double eta,
                        const double *B, const double *p, const double *threshold, double *A,
                        double *spare);
  /* C = A'B (m x n, leading dimension ldc) of A (d x m) and B (d x n) */
  void (*inner)(int d, int m, int n, const double *A, const double *B, double *C, int ldc);
  /* U += X W' (d x K, leading dimension ldu = fumi_padded(d)) */
  void (*accumulate)(int d, int n, int K, const double *X, const double *W, int rows, double *U,
                     int ldu, double *pack);
  /* S += A W' (K x K, leading dimension lds) */
  void (*gram)(int tiles, int K, const double *A, const double *W, int rows, double *S, int lds);
  /* q = b - sum_i v_i G[, active_i], n of them; q may be b */
  void (*correlate)(int K, int n, const int *active, const double *v, const double *G, int ldg,
                    const double *b, double *q);
  double (*peak)(int K, const double *q); /* the largest |q_k| */
} fumi_kernel;

enum { FUMI_MAX_LANES = 24, FUMI_MAX_BLOCK = 96 };

/* gcc for Windows keeps vectors on a stack that it does not align for them: there, Makevars.win
 * asks the assembler for moves that need no alignment, and says so. */
#if defined(__x86_64__) && defined(__GNUC__) && \
    (!defined(_WIN32) || defined(__clang__) || defined(FUMI_UNALIGNED_MOVES))
#define FUMI_X86
#elif defined(__aarch64__) && defined(__GNUC__)
#define FUMI_ARM64
#endif
/* kernels by the width of their vectors, portable first; NULL: this processor has no such one */
const fumi_kernel *fumi_kernel_at(int i);
/* simd, here and below: 0 for the widest that this processor has, n for the n-th at most */
const fumi_kernel *fumi_choose_kernel(int simd);
static inline ptrdiff_t fumi_at(int lanes, int rows, int k, int i) {
  return ((ptrdiff_t)(i / lanes) * rows + k) * lanes + i % lanes;
}
int fumi_block_size(int d);
int fumi_padded(int d);
/* what a threshold l takes off below 0: codes that must not be negative lose all */
static inline double fumi_below(double l, int nonneg) { return nonneg ? -DBL_MAX : -l; }
/* rows of coefficients in panels, as the ISTA kernels read them, and the doubles that they take */
void fumi_panel(const fumi_kernel *kernel, int rows, int cols, const double *C, int ldc,
                double *panel);
ptrdiff_t fumi_panel_size(const fumi_kernel *kernel, int rows, int cols);

/* ---- core_block.c: one block of instances under one dictionary ------------- */
typedef struct {
  const fumi_data *x;
  const fumi_kernel *kernel;
  const double *D, *G; /* d x K, and its Gram matrix D'D */
  const double *norm2; /* squared norm of each scaled instance */
  int K, k0;           /* the block uses atoms k0..K-1 */
  int first, n, tiles; /* instances first .. first + n - 1 */
  double *B, *A, *W;   /* tiles of K - k0 rows: D'x, codes, weighted codes */
  double *pack, *norm; /* room for strips of X or D, and the norms of the atoms */
} fumi_block;

fumi_status fumi_block_init(fumi_block *b, const fumi_data *x, const fumi_kernel *kernel, int K,
                            const fumi_host *host);
/* the same with its dictionary and the Gram matrix of it */
fumi_status fumi_block_with_atoms(fumi_block *b, const fumi_data *x, const fumi_kernel *kernel,
                                  int K, const double *D, const fumi_host *host);
/* another block on the same instances, for another thread: it shares norm2 */
fumi_status fumi_block_twin(fumi_block *b, const fumi_block *of, const fumi_host *host);
/* the next block of at most fumi_block_size() instances up to `end`; projects it */
void fumi_block_project(fumi_block *b, int first, int end, int k0);
/* B (K x N) = D'X of all instances, on one thread */
fumi_status fumi_block_project_all(fumi_block *b, double *B, const fumi_host *host);
void fumi_block_load(fumi_block *b, const double *A);
void fumi_block_store(const fumi_block *b, double *A);
/* r[i] = ||x_i - sum_{k >= from} a_ik d_k||^2, with a relative error of some 1e-11, or of what the
 * rounding of this vector makes, where that is more: where its terms are 1e5 times its norm */
void fumi_block_residual(const fumi_block *b, int from, double *r);
/* r[i] = ||x_i - c||^2 of n instances from `first` on; c NULL: ||x_i||^2 */
void fumi_block_distance(const fumi_block *b, int first, int n, const double *c, double *r);
double fumi_norm(int d, const double *x); /* ||x||, safe from overflow */
void fumi_unit_scale(int d, int N, const double *X, double *scale);
/* ||x_i||^2 of the scaled instances, for the norm2 of x */
fumi_status fumi_squared_norms(const fumi_data *x, int simd, double *norm2, const fumi_host *host);
/* sum (d) of the n scaled instances `which` */
void fumi_sum_columns(const fumi_data *x, int n, const int *which, double *sum);
/* A (K x N) in place: column i goes to order[i], entry k of it is sign[k] times the old row[k] */
fumi_status fumi_arrange(int K, int N, const int *row, const double *sign, const int *order,
                         double *A, const fumi_host *host);

/* Block j of n belongs to the group j % fumi_groups(n). Groups run beside each other, the blocks
 * of one in their order, whichever thread takes them: what is summed by group, and the groups in
 * theirs, has the same bits for any number of threads. */
enum { FUMI_GROUPS = 128 }; /* at most */
typedef void fumi_block_task(void *ctx, int thread, int group, int j);
int fumi_groups(int n_blocks);
/* blocks of N instances; N may be as large as an int */
static inline int fumi_n_blocks(int d, int N) {
  return N / fumi_block_size(d) + (N % fumi_block_size(d) > 0);
}
/* `threads`, or as many as there are groups or as OpenMP allows (OMP_NUM_THREADS,
 * OMP_THREAD_LIMIT) */
int fumi_usable_threads(int threads, int n_blocks);
/* Runs task on each block, of `work` flops, on up to fumi_usable_threads(threads, n_blocks)
 * threads. Between some number of blocks the host is polled, unless it is NULL. */
fumi_status fumi_each_block(int d, int n_blocks, int threads, double work, fumi_block_task *task,
                            void *ctx, const fumi_host *host);

/* ---- core_sparse.c: exact codes -------------------------------------------- */
/* min_a .5 a'Qa - c'a + sum_k penalty_k |a_k|, where atoms k < T are weighted by
 * p: Q_kl = p G_kl if k or l < T, c_k = p b_k and penalty_k = p lambda if k < T;
 * over a >= 0 if nonneg. */
typedef struct {
  int K, T, ldg, nonneg;
  const double *G;
  double lambda, p, norm2, gap; /* stop at this relative duality gap */
} fumi_lasso;

typedef struct {
  const fumi_kernel *kernel;
  double *L, *b, *q, *a, *z, *y, *v, pivot;
  int *active, *sign;
  fumi_stop *stop; /* NULL: what is long is not interrupted */
  int asks;        /* this is the thread that asks */
} fumi_lasso_work;
/* whether the host said stop, asked now if it may be; codes are then not those of a minimum */
static inline int fumi_lasso_stopped(const fumi_lasso_work *w) {
  return w->stop && (w->asks ? fumi_ask(w->stop) : fumi_stopped(w->stop));
}

fumi_status fumi_lasso_init(fumi_lasso_work *w, const fumi_kernel *kernel, int K,
                            const fumi_host *host);
/* solves for w->b, from the start w->a, in place; returns the relative gap */
double fumi_lasso_solve(const fumi_lasso *problem, fumi_lasso_work *w);
double fumi_lasso_gap(const fumi_lasso *problem, fumi_lasso_work *w);

/* ---- core_ista.c: steps on codes ---------------------------------------------- */
/* room: fumi_eigen_work(n) doubles, here and below */
ptrdiff_t fumi_eigen_work(int n);
double fumi_largest_eigenvalue(int n, const double *G, int ldg, double *room, fumi_status *status);
/* eta = 1 / lambda_max(G), or 1 */
double fumi_step_length(int n, const double *G, int ldg, double *room, fumi_status *status);
/* the first rows and columns of I - eta G in panels, where `diagonal` rows were left out above */
void fumi_step_panel(const fumi_kernel *kernel, int rows, int cols, const double *G, int ldg,
                     double eta, int diagonal, double *room, double *panel);

/* ---- core_coder.c: codes of new instances -------------------------------------- */
/* codes of a block, from 0, on the atoms k0 .. k0 + K - 1 of its dictionary: exact
 * for steps = 0, else that many ISTA steps with threshold lambda */
typedef struct {
  int K, ldg, steps, nonneg;
  const double *G; /* Gram matrix of those atoms */
  double lambda, eta, worst_gap;
  double *H, *spare;
  fumi_lasso_work lasso;
} fumi_coder;

fumi_status fumi_coder_init(fumi_coder *c, const fumi_kernel *kernel, int K, const double *G,
                            int ldg, double lambda, int steps, int nonneg, const fumi_host *host);
/* the same coder for another thread */
fumi_status fumi_coder_twin(fumi_coder *c, const fumi_coder *of, const fumi_kernel *kernel,
                            const fumi_host *host);
void fumi_coder_run(fumi_coder *c, fumi_block *b, int k0);
/* flops of a block of d features, at most */
double fumi_coder_work(const fumi_coder *c, int d);

/* Codes of every instance, block by block: coder c is on the atoms k0[c] .. K - 1. */
enum { FUMI_CODERS = 2 };
typedef struct {
  int n, steps, nonneg, simd, threads;
  int k0[FUMI_CODERS];
  double lambda[FUMI_CODERS];
} fumi_coding;

/* What a thread works with. */
typedef struct {
  fumi_block block;
  fumi_coder coder[FUMI_CODERS];
  double *room; /* 2 fumi_block_size() */
} fumi_coding_worker;

/* with the block projected, before its codes */
typedef void fumi_coding_task(void *ctx, fumi_coding_worker *v);
fumi_status fumi_code_blocks(const fumi_data *x, int K, const double *D, const fumi_coding *how,
                             fumi_coding_task *task, void *ctx, double *worst_gap,
                             const fumi_host *host);

/* codes of every instance on D, K x N */
fumi_status fumi_code(const fumi_data *x, int K, const double *D, double lambda, int steps,
                      int nonneg, int simd, int threads, double *A, double *worst_gap,
                      const fumi_host *host);

/* ---- core_kmeans.c ---------------------------------------------------------- */
/* centres C (d x M) of all instances of x; u: M uniform draws for the k-means++
 * seeds. *n_distinct < M if there are fewer distinct instances. */
fumi_status fumi_kmeans(const fumi_data *x, int M, const double *u, int max_iter, int simd,
                        int threads, double *C, int *n_distinct, const fumi_host *host);

/* ---- core_dlfumi.c: DL-FUMI -------------------------------------------------- */
typedef enum { DLFUMI_PAPER, DLFUMI_MATLAB, DLFUMI_EXACT } dlfumi_variant;
typedef enum { DLFUMI_RESAMPLE, DLFUMI_KEEP, DLFUMI_DROP } dlfumi_dead;
typedef enum { DLFUMI_ISTA, DLFUMI_ACTIVE } dlfumi_solver;

typedef struct {
  dlfumi_variant variant;
  dlfumi_solver solver;
  dlfumi_dead dead;
  int T, M, K, inner, max_iter, absolute_tol, simd, threads;
  int accelerate;                 /* "exact": fewer iterations, by momentum of the dictionary */
  int nonneg_codes, nonneg_atoms; /* they must not be negative, and are not at the start */
  double lambda, beta, gamma, psi, tol, gap;
  const double *weight; /* of each instance, beside psi; NULL: 1 */
  const double
      *prior; /* P(z_i = 1) before x_i is seen, of the instances of positive bags; NULL: .5 */
} dlfumi_param;

enum { DLFUMI_TERMS = 4 }; /* objective, reconstruction, sparsity, incoherence */

typedef struct {
  double *D, *A, *p; /* in: the start; out: the last whole iteration */
  double *trace;     /* DLFUMI_TERMS x max_iter */
  int *n_dead;       /* K: how often each atom was found unused */
  int n_iter;
  double worst_gap;
} dlfumi_state;

fumi_status dlfumi_fit(const fumi_data *x, const dlfumi_param *par, dlfumi_state *s,
                       const fumi_host *host);

/* of each atom, sum_i w_i a_ik^2 and sum_i w_i a_ik (2 x K); w_i as in (4), times p_i for target
 * atoms */
void dlfumi_carried(const dlfumi_param *par, int N, int N_pos, const double *A, const double *p,
                    double *carried);
/* Sums over instances, all that the dictionary needs of them. */
typedef struct {
  double *U, *S;             /* X W' (fumi_padded(d) x K), and A W' (K x K) behind it */
  double reconstruction, l1; /* first two terms of (4), without lambda */
  double l1_next;            /* the same with p of the next iteration, for the codes of this one */
  double worst_gap;
  double energy; /* sum_i w_i ||x_i||^2 */
} dlfumi_sums;

/* The passes of a fit over the instances: U and S for the start; an iteration of "paper" and
 * "exact"; one of "matlab"; the objective. */
typedef enum { PASS_START, PASS_PAPER, PASS_MATLAB, PASS_OBJECTIVE } dlfumi_pass_kind;

/* Who keeps the instances, their codes and their p, for a fit that sees their sums only. */
typedef struct {
  int d;
  /* a pass with D; U and S stay where they are until the next one */
  fumi_status (*pass)(void *ctx, dlfumi_pass_kind kind, const double *D, dlfumi_sums *sums);
  /* x: the instance, not asked for since the last pass, that D represents worst; 0: there is none;
   * -1: stop */
  int (*worst)(void *ctx, int target, const double *D, double *x);
  void (*whole)(void *ctx); /* the iteration is whole; may be NULL */
  void (*back)(void *ctx);  /* codes and p are those of the last whole one; may be NULL */
  void *ctx;
} dlfumi_keeper;

fumi_status dlfumi_fit_kept(const dlfumi_keeper *keeper, const dlfumi_param *par, dlfumi_state *s,
                            const fumi_host *host);

/* What a keeper of a part of the instances keeps beside them: codes, p of the last pass, and p for
 * the next one. */
typedef struct {
  double *A, *p, *p_next;
} dlfumi_part;

fumi_status dlfumi_pass(const fumi_data *x, const dlfumi_param *par, dlfumi_pass_kind kind,
                        const double *D, dlfumi_part *part, dlfumi_sums *sums,
                        const fumi_host *host);
/* the instance, none of `taken`, that D represents worst, and how badly; -1: there is none */
fumi_status dlfumi_worst(const fumi_data *x, const dlfumi_param *par, int target, const double *D,
                         const dlfumi_part *part, const int *taken, int n_taken, int *worst,
                         double *most, const fumi_host *host);

/* Single steps, for tests and for whoever wants to see them. */
typedef enum { STEP_EXPECT, STEP_CODES, STEP_ATOMS, STEP_OBJECTIVE } dlfumi_step_kind;
/* D_old: the dictionary before the step; trace: DLFUMI_TERMS values */
fumi_status dlfumi_step(const fumi_data *x, const dlfumi_param *par, dlfumi_step_kind kind,
                        const double *D_old, dlfumi_state *s, const fumi_host *host);

/* ---- core_start.c ------------------------------------------------------------- */
/* codes of the start: least squares on D (positive bags) and on D- (negative) */
fumi_status dlfumi_start_codes(const fumi_data *x, int T, int K, const double *D, int simd,
                               int threads, double *A, const fumi_host *host);

/* ---- core_confidence.c ---------------------------------------------------------- */
/* eq. 7 for each instance, and r_bg = ||x - D- a-||^2; separate: a- codes x on D- alone */
fumi_status dlfumi_confidence(const fumi_data *x, int T, int K, const double *D, double lambda,
                              double lambda_separate, int separate, int steps, int nonneg, int simd,
                              int threads, double *confidence, double *r_bg, const fumi_host *host);

/* ---- core_dd.c: diverse density and EM-DD ------------------------------------ */
typedef enum { DD_NOISY_OR, DD_MOST_LIKELY_CAUSE } dd_model;
typedef enum { DD_FEATURE, DD_SINGLE, DD_FIXED } dd_scale;

/* Instances in any order, with bag[i] in 0 .. n_bags - 1, and a label per bag. A hypothesis is
 * theta = (t, s) for DD_FEATURE, (t, f) with s = f unit for DD_SINGLE, t with s = unit for
 * DD_FIXED. */
typedef struct {
  fumi_data x;
  int n_bags;
  const int *bag, *label;
  dd_model model;
  dd_scale scale;
  const double *unit; /* d */
} dd_problem;

int dd_n_theta(const dd_problem *p);
/* -log diverse density and its gradient; the latter has dd_n_theta() entries */
fumi_status dd_objective(const dd_problem *p, const double *theta, double *F, double *gradient,
                         const fumi_host *host);
/* q_i = sum_r s_r^2 (x_ri - t_r)^2 of every instance */
void dd_quadratic(const fumi_data *x, const double *t, const double *s, double *q);
/* best[j]: the instance of bag j with the smallest q, the first of equals */
void dd_select(int N, const double *q, const int *bag, int n_bags, int *best);
/* of each feature, over the first n instances */
void dd_moments(const fumi_data *x, int n, double *mean, double *variance);

/* ---- core_efumi.c: e-FUMI ----------------------------------------------------- */
/* proportions A (K x N): column i minimises .5 a'Qa - C[, i]'a, a >= 0, sum a = 1, where
 * Q_kl = p_i G_kl if k or l < T, and G_kl otherwise */
fumi_status efumi_unmix(int K, int N, int T, const double *G, const double *p, const double *C,
                        double *A, const fumi_host *host);

/* ---- core_dmil.c: DMIL and GD-MIL -------------------------------------------- */
typedef enum { DMIL_NOISY_OR, DMIL_GMEAN } dmil_pool;

typedef struct {
  dmil_pool pool;
  int K, max_iter, simd;
  double exponent, beta, lambda, tol;
} dmil_param;

typedef struct {
  int n;
  const int *bag, *positive; /* the bag of each instance, from 0; the label of each bag */
} dmil_bags;

enum { DMIL_TERMS = 2 }; /* objective with renewed codes, and before that */

typedef struct {
  double *D;     /* in: the start; out: the atoms with the lowest objective */
  double *trace; /* DMIL_TERMS x (1 + max_iter), from the start on */
  int *n_dead;   /* K: how often each atom was found unused and replaced */
  int n_iter;
} dmil_state;

fumi_status dmil_fit(const fumi_data *x, const dmil_bags *bags, const dmil_param *par,
                     dmil_state *s, const fumi_host *host);

/* one update of each atom, with the codes fixed: the gradient (as D) at the start, the
 * objective (1 + K) before and after each */
fumi_status dmil_step(const fumi_data *x, const dmil_bags *bags, const dmil_param *par,
                      const double *A, double *D, double *gradient, double *J,
                      const fumi_host *host);

/* codes (K x N) and e = ||x - D a||^2. G, norm2: NULL, or <d_k, d_l> and ||x||^2 when D
 * and X are such that D'X are the inner products but D'D and X'X are not (a kernel) */
fumi_status dmil_code(const fumi_data *x, int K, const double *D, const double *G,
                      const double *norm2, double lambda, int simd, double *A, double *e,
                      const fumi_host *host);

/* ---- core_mihe.c: MI-HE --------------------------------------------------------- */
typedef enum { MIHE_SPARSE, MIHE_CONVEX } mihe_coding;
typedef enum { MIHE_FAST, MIHE_LITERAL } mihe_variant;

typedef struct {
  mihe_coding coding;
  mihe_variant variant;
  int T, M, K, max_iter, simd, threads;
  double beta, power, rho, lambda, alpha, step, tol;
} mihe_param;

typedef struct {
  int n;          /* positive bags */
  const int *bag; /* of each of the N_pos first instances, from 0 */
} mihe_bags;

enum { MIHE_TERMS = 4 }; /* objective, positive, background, discrimination */

typedef struct {
  double *D;        /* in: the start; out: the atoms with the lowest objective */
  double *last;     /* d x K: those of the last whole iteration */
  double *trace;    /* MIHE_TERMS x (1 + max_iter), from the start on */
  double *length;   /* K x max_iter: how far each atom moved */
  int n_iter, best; /* `best`: the iteration that D is from, 0 for the start */
} mihe_state;

fumi_status mihe_fit(const fumi_data *x, const mihe_bags *bags, const mihe_param *par,
                     mihe_state *s, const fumi_host *host);
/* with the codes A (K x N) and C (M x N) of `par` on D, or of the literal variant's: the objective
 * and its terms, and the gradient by each atom (d x K) with the codes fixed */
fumi_status mihe_evaluate(const fumi_data *x, const mihe_bags *bags, const mihe_param *par,
                          const double *D, double *A, double *C, double *terms, double *gradient,
                          const fumi_host *host);

#endif
