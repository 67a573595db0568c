/* core_ista.c: the coefficients of a gradient step on codes, a <- S(a + eta D'(x - D a)), which
 * the kernels read as  S(eta b + H a)  with b = D'x and H = I - eta G, G = D'D. Steps of
 * eta = 1 / lambda_max(G) cannot increase the error. */
#include <string.h>

#include "core.h"
#include "core_linalg.h"

enum { EIGEN_WORK = 34 }; /* dsyev: (NB + 2) n with LAPACK's block of 32 */

ptrdiff_t fumi_eigen_work(int n) { return (ptrdiff_t)n * (n + 1 + EIGEN_WORK); }

double fumi_largest_eigenvalue(int n, const double *G, int ldg, double *room, fumi_status *status) {
  double *copy = room, *values = room + (ptrdiff_t)n * n, *rest = values + n;
  for (int k = 0; k < n; k++)
    memcpy(fumi_col(copy, n, k), fumi_ccol(G, ldg, k), sizeof(double) * (size_t)n);
  if (la_eigenvalues(n, copy, values, rest, EIGEN_WORK * n) != 0) *status = FUMI_ESINGULAR;
  return values[n - 1];
}

double fumi_step_length(int n, const double *G, int ldg, double *room, fumi_status *status) {
  const double largest = fumi_largest_eigenvalue(n, G, ldg, room, status);
  return largest > 0 ? 1 / largest : 1;
}

void fumi_step_panel(const fumi_kernel *kernel, int rows, int cols, const double *G, int ldg,
                     double eta, int diagonal, double *room, double *panel) {
  for (int j = 0; j < cols; j++)
    for (int k = 0; k < rows; k++)
      room[k + (ptrdiff_t)rows * j] = (k + diagonal == j) - eta * G[k + (ptrdiff_t)ldg * j];
  fumi_panel(kernel, rows, cols, room, rows, panel);
}
