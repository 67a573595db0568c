/* core_mihe.h: what the two files of MI-HE share. */
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

/* x'y of short vectors */
static inline double mihe_product(int n, const double *x, const double *y) {
  double sum = 0;
  for (int k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

/* core_mihe_codes.c */
fumi_status mihe_init(mihe_work *f, const fumi_data *x, const mihe_bags *bags,
                      const mihe_param *par, const double *D, const fumi_host *host);
/* G = D'D, B = D'X */
fumi_status mihe_project(mihe_work *f);
/* Codes of all instances in f->trial: both, or those on background atoms alone stay. */
fumi_status mihe_code(mihe_work *f, int background);
/* The trial's codes become the present ones. */
void mihe_accept(mihe_work *f);

#endif
