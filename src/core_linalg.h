/* core_linalg.h: BLAS and LAPACK by value, with the formula as the comment. The
 * only file that knows how Fortran is called: through R's declarations, or
 * through plain prototypes when the core is built without R. */
#ifndef FUMI_CORE_LINALG_H
#define FUMI_CORE_LINALG_H

#ifdef FUMI_STANDALONE
#define F77_CALL(name) name##_
#define FCONE , 1
void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *,
            const double *, const int *, const double *, double *, const int *, size_t);
double dnrm2_(const int *, const double *, const int *);
double ddot_(const int *, const double *, const int *, const double *, const int *);
void daxpy_(const int *, const double *, const double *, const int *, double *, const int *);
void dsyev_(const char *, const char *, const int *, double *, const int *, double *, double *,
            const int *, int *, size_t, size_t);
void dpotrf_(const char *, const int *, double *, const int *, int *, size_t);
void dpotrs_(const char *, const int *, const int *, const double *, const int *, double *,
             const int *, int *, size_t);
#else
#define USE_FC_LEN_T
#include <Rconfig.h>
#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>
#ifndef FCONE
#define FCONE
#endif
#endif

/* y := alpha A x + beta y, A m x n */
static inline void la_gemv_n(int m, int n, double alpha, const double *A, int lda, const double *x,
                             double beta, double *y) {
  const int one = 1;
  F77_CALL(dgemv)("N", &m, &n, &alpha, A, &lda, x, &one, &beta, y, &one FCONE);
}

/* ||x||, safe from overflow */
static inline double la_nrm2(int n, const double *x) {
  const int one = 1;
  return F77_CALL(dnrm2)(&n, x, &one);
}

/* x'y */
static inline double la_dot(int n, const double *x, const double *y) {
  const int one = 1;
  return F77_CALL(ddot)(&n, x, &one, y, &one);
}

/* y := y + x */
static inline void la_add(int n, const double *x, double *y) {
  const int one = 1;
  const double alpha = 1;
  F77_CALL(daxpy)(&n, &alpha, x, &one, y, &one);
}

/* eigenvalues of the symmetric A (destroyed), ascending in w; returns LAPACK's info */
static inline int la_eigenvalues(int n, double *A, double *w, double *work, int lwork) {
  int info;
  F77_CALL(dsyev)("N", "U", &n, A, &n, w, work, &lwork, &info FCONE FCONE);
  return info;
}

/* A = U'U in place; returns LAPACK's info */
static inline int la_cholesky(int n, double *A) {
  int info;
  F77_CALL(dpotrf)("U", &n, A, &n, &info FCONE);
  return info;
}

/* solves A Z = B in place of B (n x m), A factored by la_cholesky */
static inline int la_cholesky_solve(int n, int m, const double *A, double *B) {
  int info;
  F77_CALL(dpotrs)("U", &n, &m, A, &n, B, &n, &info FCONE);
  return info;
}

#endif
