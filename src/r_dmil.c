/* r_dmil.c: .Call entries of DMIL and GD-MIL. Bags are numbered from 0 on. */
#include <limits.h>

#include "r_host.h"

/* in the order of dmil_pool in core.h */
static const char *const pools[] = {"noisy-or", "gmean", NULL};

static dmil_param read_param(SEXP par, int K) {
  return (dmil_param){.pool = (dmil_pool)r_par_choice(par, "pool", pools),
                      .K = K,
                      .max_iter = r_par_integer(par, "max_iter", 0, INT_MAX - 1),
                      .simd = r_par_integer(par, "simd", 0, INT_MAX),
                      .exponent = r_par_number(par, "exponent"),
                      .beta = r_par_number(par, "beta"),
                      .lambda = r_par_penalty(par, "lambda"),
                      .tol = r_par_number(par, "tol")};
}

static dmil_bags read_bags(SEXP bag, SEXP positive, int N) {
  const int n = r_length(positive, "positive");
  return (dmil_bags){n, r_bags(bag, N, n), r_flags(positive, n, "positive")};
}

SEXP ffi_dmil_fit(SEXP X, SEXP scale, SEXP bag, SEXP positive, SEXP D, SEXP par, SEXP report) {
  const fumi_data x = r_instances(X, scale);
  const dmil_param param = read_param(par, r_columns(D, "D"));
  const dmil_bags bags = read_bags(bag, positive, x.N);
  r_matrix(D, x.d, param.K, "D");
  r_entry r;
  r_begin(&r, report);
  dmil_state s = {.D = r_put_copy(&r, "dictionary", D),
                  .trace = r_put_matrix(&r, "trace", DMIL_TERMS, 1 + param.max_iter),
                  .n_dead = r_put_integers(&r, "n_dead", param.K)};
  r_put_status(&r, dmil_fit(&x, &bags, &param, &s, &r.host));
  *r_put_integer(&r, "n_iter") = s.n_iter;
  return r_end(&r);
}

SEXP ffi_dmil_step(SEXP X, SEXP scale, SEXP bag, SEXP positive, SEXP D, SEXP A, SEXP par) {
  const fumi_data x = r_instances(X, scale);
  const int K = r_columns(D, "D");
  const dmil_param param = read_param(par, K);
  const dmil_bags bags = read_bags(bag, positive, x.N);
  const double *codes = r_matrix(A, K, x.N, "A");
  r_matrix(D, x.d, K, "D");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *atoms = r_put_copy(&r, "dictionary", D);
  double *gradient = r_put_matrix(&r, "gradient", x.d, K);
  double *J = r_put_doubles(&r, "objective", 1 + K);
  r_put_status(&r, dmil_step(&x, &bags, &param, codes, atoms, gradient, J, &r.host));
  return r_end(&r);
}

/* G, norm2: NULL unless X holds k(instances of the fit, new instances) and D coefficients */
SEXP ffi_dmil_code(SEXP X, SEXP scale, SEXP D, SEXP G, SEXP norm2, SEXP lambda, SEXP simd) {
  const fumi_data x = r_instances(X, scale);
  const int K = r_columns(D, "D");
  const double *atoms = r_matrix(D, x.d, K, "D"), penalty = r_penalty(lambda, "lambda");
  const double *gram = G == R_NilValue ? NULL : r_matrix(G, K, K, "G");
  const double *norms = r_doubles_or_null(norm2, x.N, "norm2");
  const int at_most = r_integer(simd, 0, INT_MAX, "simd");
  r_must(!gram == !norms, "norm2", "given with `G`, and only then");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *A = r_put_matrix(&r, "codes", K, x.N), *e = r_put_doubles(&r, "e", x.N);
  r_put_status(&r, dmil_code(&x, K, atoms, gram, norms, penalty, at_most, A, e, &r.host));
  return r_end(&r);
}
