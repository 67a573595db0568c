/* core_dlfumi.h: what the files of DL-FUMI share and nobody else sees.
 *
 *   core_dlfumi.c  the iteration, the objective            (4)
 *   core_atoms.c   sums over instances to atoms            (5), (8), (9)
 *   core_pass.c    instances, block by block, to sums      (6), terms of (4)
 *   core_codes.c   the codes of a block                    (10)-(13)
 *   core_parts.c   passes over parts, single steps
 *
 * An iteration goes over X once, because the dictionary needs X only through U = X W' and S = A W',
 * W the weighted codes. (It goes over X again where an atom died, an accelerated step is taken
 * back, or, in "matlab", the error is too small to be had from the sums.) So dlfumi_work knows
 * instances, dlfumi_update knows their sums; between them is dlfumi_keeper (core.h), which may
 * also add up passes over parts of the instances. */
#ifndef FUMI_CORE_DLFUMI_H
#define FUMI_CORE_DLFUMI_H

#include "core.h"

/* ---- core_pass.c: passes over instances in memory ------------------------------------------ */

typedef struct dlfumi_work dlfumi_work;

/* What a thread works with. */
typedef struct {
  const dlfumi_work *w;
  dlfumi_sums *sums; /* of the group of its block */
  fumi_block block;
  fumi_lasso_work lasso;
  double *tile, *spare;            /* a tile of rows [p a_t; a_b; a_t], room for its steps */
  double *r_bg, *r_full, *p_lanes; /* of the instances of a block */
} dlfumi_worker;

struct dlfumi_work {
  const fumi_data *x;
  const dlfumi_param *par;
  const fumi_host *host;
  fumi_stop stop;           /* of the pass that runs */
  double *A;                /* codes of the last pass, K x N */
  double *A_done, *A_other; /* of the last whole iteration; where the next pass writes */
  dlfumi_worker *worker;    /* one for each thread */
  dlfumi_sums *group;       /* one for each group; after a pass the first one holds the total */
  int n_blocks, n_positive_blocks, n_threads;
  double *G, *eigen;                            /* D'D, room for its eigenvalues */
  double *H_negative, *H_background, *H_target; /* I - eta G in panels, (10)-(13) */
  double eta, eta_negative;                     /* 1 / lambda_max of D'D and D-'D- */
  double *p_done, *p_now, *p_next;              /* of the last whole, this and the next iteration */
  double *misfit;      /* N: how badly D represents each instance, by dlfumi_find_misfit() */
  int misfit_known[2]; /* since the last pass: of negative, of positive bags */
};

/* What a pass does with each block, in this order. */
typedef struct {
  int expect_first, codes, objective, expect_last, statistics;
  double *p;      /* for codes and objective; written by expect_first */
  double *p_next; /* written by expect_last */
} dlfumi_plan;

/* A: the codes, which passes read and write */
fumi_status dlfumi_work_init(dlfumi_work *w, const fumi_data *x, const dlfumi_param *par, double *A,
                             const fumi_host *host);
/* Gram matrix, step lengths and ISTA coefficients of a dictionary */
fumi_status dlfumi_use_dictionary(dlfumi_work *w, const double *D);
/* host: whom to ask whether to go on; NULL: nobody */
fumi_status dlfumi_run_plan(dlfumi_work *w, const dlfumi_plan *plan, const fumi_host *host);
fumi_status dlfumi_run_pass(dlfumi_work *w, dlfumi_pass_kind kind, const double *D,
                            dlfumi_sums *sums);
/* misfit = p ||x - D a||^2 of the instances of positive bags, or ||x - D a||^2 of those of negative
 * ones: one pass, unless it is known */
fumi_status dlfumi_find_misfit(dlfumi_work *w, int target, const double *D);
/* the instance of the largest misfit, or -1 if each is represented wholly */
int dlfumi_worst_instance(const dlfumi_work *w, int target);
dlfumi_keeper dlfumi_keep_in_memory(dlfumi_work *w);

/* w_i of (4). DEVIATES D8: times a weight of the instance, if there is one. */
static inline double dlfumi_weight(const dlfumi_param *par, int positive, int i) {
  return (positive ? par->psi : 1) * (par->weight ? par->weight[i] : 1);
}

/* ---- core_codes.c --------------------------------------------------------------------------- */

/* (10)-(13): the codes of the worker's block, in place */
void dlfumi_block_codes(dlfumi_worker *v, const double *p);

/* ---- core_atoms.c: sums to atoms ------------------------------------------------------------ */

typedef struct {
  int d;
  const dlfumi_param *par;
  const dlfumi_keeper *keeper;
  dlfumi_state *s;
  dlfumi_sums sums; /* of the last pass */
  const fumi_kernel *kernel;
  double *G, *D_old, *cosine, *product; /* K x K, d x K, M x T, M x T */
  double *numerator, *coef;             /* d, K */
  int *every;                           /* 0 .. K - 1 */
  int *n_dead;                          /* n_dead and worst_gap of the last whole iteration */
  double worst_gap;
  double *D_plain,
      *D_before; /* d x K, accelerated: D without momentum, now and one iteration ago */
  int momentum;  /* iterations since it began */
} dlfumi_update;

fumi_status dlfumi_update_init(dlfumi_update *f, const dlfumi_keeper *keeper,
                               const dlfumi_param *par, dlfumi_state *s, const fumi_host *host);
/* what is there now is that of a whole iteration, D_old among it; and back to it */
void dlfumi_mark_whole(dlfumi_update *f);
void dlfumi_roll_back(dlfumi_update *f);
fumi_status dlfumi_update_atoms(dlfumi_update *f); /* (9), (5), (8) */
void dlfumi_update_cosines(dlfumi_update *f);      /* (5) */
/* D goes on in the direction of its last step: D + n / (n + 3) (D - D_before) after n iterations
 * (Nesterov 1983); 0: it stays, because there is no such step */
int dlfumi_accelerate_atoms(dlfumi_update *f);
void dlfumi_take_back(dlfumi_update *f);           /* D without momentum, which begins anew */
double dlfumi_incoherence(const dlfumi_update *f); /* third term of (4) */

/* ---- core_dlfumi.c -------------------------------------------------------------------------- */

/* the terms of (4) from the sums of the last pass; returns the objective */
double dlfumi_record_objective(dlfumi_update *f, double *terms);

#endif
