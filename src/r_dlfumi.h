/* r_dlfumi.h: what the .Call entries of DL-FUMI share. */
#ifndef FUMI_R_DLFUMI_H
#define FUMI_R_DLFUMI_H

#include "r_host.h"

dlfumi_param r_dlfumi_param(SEXP par, int K);

/* names of dlfumi_pass_kind */
static const char *const r_pass_kinds[] = {"start", "paper", "matlab", "objective", NULL};

/* of dlfumi_sums, beside U and S: reconstruction, l1, worst_gap, energy */
enum { R_SUMS_TERMS = 4 };

#endif
