/* r_instances.c: .Call entries that every method may use: scales, sums, k-means, codes, and which
 * machine this is. */
#include <limits.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "r_host.h"

SEXP ffi_unit_scale(SEXP X) {
  const double *x = r_matrix(X, R_ANY, R_ANY, "X");
  r_entry r;
  r_begin(&r, R_NilValue);
  fumi_unit_scale(Rf_nrows(X), Rf_ncols(X), x, r_put_doubles(&r, "scale", Rf_ncols(X)));
  return r_end_only(&r);
}

/* of the scaled instances */
SEXP ffi_squared_norms(SEXP X, SEXP scale, SEXP simd) {
  const fumi_data x = r_instances(X, scale);
  const int most = r_integer(simd, 0, INT_MAX, "simd");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *norm2 = r_put_doubles(&r, "norm2", x.N);
  r_put_status(&r, fumi_squared_norms(&x, most, norm2, &r.host));
  return r_end(&r);
}

/* which: columns, from 1 on */
SEXP ffi_sum_columns(SEXP X, SEXP scale, SEXP which) {
  const fumi_data x = r_instances(X, scale);
  const int n = r_length(which, "which"), *columns = r_index(which, n, x.N, "which");
  r_entry r;
  r_begin(&r, R_NilValue);
  fumi_sum_columns(&x, n, columns, r_put_doubles(&r, "sum", x.d));
  return r_end_only(&r);
}

/* k-means of the instances after the first n_positive ones; draws: a uniform number a centre;
 * par: max_iter, simd, threads */
SEXP ffi_kmeans(SEXP X, SEXP scale, SEXP n_positive, SEXP draws, SEXP par) {
  const fumi_data all = r_data(X, scale, n_positive);
  const int skip = r_integer(n_positive, 0, all.N - 1, "n_positive");
  const fumi_data x = {
      .d = all.d, .N = all.N - skip, .X = fumi_ccol(all.X, all.d, skip), .scale = all.scale + skip};
  const int M = r_length(draws, "draws"), max_iter = r_par_integer(par, "max_iter", 0, INT_MAX);
  const int simd = r_par_integer(par, "simd", 0, INT_MAX);
  const int threads = r_par_integer(par, "threads", 1, INT_MAX);
  const double *uniform = r_uniform(draws, M, "draws");
  r_must(M >= 1, "draws", "one number or more");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *C = r_put_matrix(&r, "centres", x.d, M);
  int *n_distinct = r_put_integer(&r, "n_distinct");
  r_put_status(&r, fumi_kmeans(&x, M, uniform, max_iter, simd, threads, C, n_distinct, &r.host));
  return r_end(&r);
}

/* par: lambda, steps (0: exact codes), nonneg, simd, threads */
SEXP ffi_code(SEXP X, SEXP scale, SEXP D, SEXP par) {
  const fumi_data x = r_instances(X, scale);
  const int K = r_columns(D, "D"), steps = r_par_integer(par, "steps", 0, INT_MAX);
  const double *atoms = r_matrix(D, x.d, K, "D"), lambda = r_par_penalty(par, "lambda");
  const int nonneg = r_par_flag(par, "nonneg"), simd = r_par_integer(par, "simd", 0, INT_MAX);
  const int threads = r_par_integer(par, "threads", 1, INT_MAX);
  r_entry r;
  r_begin(&r, R_NilValue);
  double *A = r_put_matrix(&r, "codes", K, x.N), *worst_gap = r_put_number(&r, "worst_gap");
  r_put_status(
      &r, fumi_code(&x, K, atoms, lambda, steps, nonneg, simd, threads, A, worst_gap, &r.host));
  return r_end(&r);
}

/* A with its columns in another order, and its rows in another with other signs; in place, if
 * nobody else holds A. row, order: permutations, from 1 on; names: of the rows */
SEXP ffi_arrange(SEXP A, SEXP row, SEXP sign, SEXP order, SEXP names) {
  r_matrix(A, R_ANY, R_ANY, "A");
  const int K = Rf_nrows(A), N = Rf_ncols(A);
  const int *from = r_permutation(row, K, "row"), *to = r_permutation(order, N, "order");
  const double *signs = r_doubles(sign, K, "sign");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *codes = r_put_own(&r, "codes", A);
  r_put_rownames(&r, names, K);
  r_put_status(&r, fumi_arrange(K, N, from, signs, to, codes, &r.host));
  return r_end_only(&r);
}

/* The element of a list, taken out of it unless somebody else holds the list: so that an entry that
 * gets the element may work in it. */
SEXP ffi_take(SEXP list, SEXP name) {
  r_must(TYPEOF(name) == STRSXP && XLENGTH(name) == 1, "name", "one string");
  SEXP value = r_element(list, CHAR(STRING_ELT(name, 0)));
  if (MAYBE_SHARED(list)) return value;
  for (R_xlen_t i = 0; i < XLENGTH(list); i++)
    if (VECTOR_ELT(list, i) == value) SET_VECTOR_ELT(list, i, R_NilValue);
  return value;
}

SEXP ffi_kernel_name(SEXP simd) {
  return Rf_mkString(fumi_choose_kernel(r_integer(simd, 0, INT_MAX, "simd"))->name);
}

/* processors that threads of this process may run on; 1 where the core has no threads */
SEXP ffi_n_cores(void) {
#ifdef _OPENMP
  return Rf_ScalarInteger(omp_get_num_procs());
#else
  return Rf_ScalarInteger(1);
#endif
}
