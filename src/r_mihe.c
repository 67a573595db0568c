/* r_mihe.c: .Call entries of MI-HE. Instances of positive bags come first; their bags are numbered
 * from 0 on. */
#include <limits.h>

#include "r_host.h"

/* in the order of mihe_coding and mihe_variant in core.h */
static const char *const codings[] = {"sparse", "convex", NULL};
static const char *const variants[] = {"fast", "literal", NULL};

static mihe_param read_param(SEXP par, int K) {
  const int T = r_par_integer(par, "n_target", 1, K - 1);
  return (mihe_param){.coding = (mihe_coding)r_par_choice(par, "coding", codings),
                      .variant = (mihe_variant)r_par_choice(par, "variant", variants),
                      .T = T,
                      .M = K - T,
                      .K = K,
                      .max_iter = r_par_integer(par, "max_iter", 0, INT_MAX - 1),
                      .simd = r_par_integer(par, "simd", 0, INT_MAX),
                      .threads = r_par_integer(par, "threads", 1, INT_MAX),
                      .beta = r_par_number(par, "beta"),
                      .power = r_par_number(par, "power"),
                      .rho = r_par_number(par, "rho"),
                      .lambda = r_par_penalty(par, "lambda"),
                      .alpha = r_par_number(par, "alpha"),
                      .step = r_par_number(par, "step"),
                      .tol = r_par_number(par, "tol")};
}

static mihe_bags read_bags(SEXP bag, SEXP n_bags, int N_pos) {
  const int n = r_integer(n_bags, 1, N_pos, "n_bags");
  return (mihe_bags){n, r_bags(bag, N_pos, n)};
}

SEXP ffi_mihe_fit(SEXP X, SEXP scale, SEXP n_positive, SEXP bag, SEXP n_bags, SEXP D, SEXP par,
                  SEXP report) {
  const fumi_data x = r_data(X, scale, n_positive);
  const mihe_param param = read_param(par, r_columns(D, "D"));
  const mihe_bags bags = read_bags(bag, n_bags, x.N_pos);
  r_matrix(D, x.d, param.K, "D");
  r_entry r;
  r_begin(&r, report);
  mihe_state s = {.D = r_put_copy(&r, "dictionary", D),
                  .last = r_put_matrix(&r, "last", x.d, param.K),
                  .trace = r_put_matrix(&r, "trace", MIHE_TERMS, 1 + param.max_iter),
                  .length = r_put_matrix(&r, "length", param.K, param.max_iter)};
  r_put_status(&r, mihe_fit(&x, &bags, &param, &s, &r.host));
  *r_put_integer(&r, "n_iter") = s.n_iter;
  *r_put_integer(&r, "best") = s.best;
  return r_end(&r);
}

SEXP ffi_mihe_evaluate(SEXP X, SEXP scale, SEXP n_positive, SEXP bag, SEXP n_bags, SEXP D,
                       SEXP par) {
  const fumi_data x = r_data(X, scale, n_positive);
  const mihe_param param = read_param(par, r_columns(D, "D"));
  const mihe_bags bags = read_bags(bag, n_bags, x.N_pos);
  const double *atoms = r_matrix(D, x.d, param.K, "D");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *A = r_put_matrix(&r, "codes", param.K, x.N),
         *C = r_put_matrix(&r, "background_codes", param.M, x.N);
  double *terms = r_put_doubles(&r, "objective", MIHE_TERMS);
  double *gradient = r_put_matrix(&r, "gradient", x.d, param.K);
  r_put_status(&r, mihe_evaluate(&x, &bags, &param, atoms, A, C, terms, gradient, &r.host));
  return r_end(&r);
}
