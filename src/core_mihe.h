/* core_mihe.h: what the files of MI-HE share and nobody else sees.
 *
 *   core_mihe.c        the objective, its gradient, the iterations
 *   core_mihe_codes.c  the codes of all instances, and the memory of a fit
 */
#ifndef FUMI_CORE_MIHE_H
#define FUMI_CORE_MIHE_H

#include "core.h"

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
  fumi_stop stop; /* of the codes that are being made */
  fumi_block block;
  mihe_worker *worker; /* one for each thread */
  int n_threads;
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

fumi_status mihe_init(mihe_work *f, const fumi_data *x, const mihe_bags *bags,
                      const mihe_param *par, const double *D, const fumi_host *host);
/* f->trial: the codes of all instances on D. The fast variant starts from those of f->now, and
 * those on D- stay unless `background`: where only a target atom has moved. */
fumi_status mihe_code(mihe_work *f, int background);
/* f->trial becomes f->now */
void mihe_accept(mihe_work *f);
/* G, B and f->now anew from D */
fumi_status mihe_code_anew(mihe_work *f);

/* x'y of short vectors */
static inline double mihe_product(int n, const double *x, const double *y) {
  double sum = 0;
  for (int k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

#endif
