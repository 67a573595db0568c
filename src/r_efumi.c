/* r_efumi.c: the .Call entry of e-FUMI. */
#include "r_host.h"

SEXP ffi_efumi_unmix(SEXP G, SEXP n_target, SEXP p, SEXP C) {
  const double *linear = r_matrix(C, R_ANY, R_ANY, "C");
  const int K = Rf_nrows(C), N = Rf_ncols(C), T = r_integer(n_target, 0, K, "n_target");
  const double *gram = r_matrix(G, K, K, "G"), *prob = r_doubles(p, N, "p");
  r_must(K >= 1, "C", "a matrix with rows");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *A = r_put_matrix(&r, "codes", K, N);
  r_put_status(&r, efumi_unmix(K, N, T, gram, prob, linear, A, &r.host));
  return r_end(&r);
}
