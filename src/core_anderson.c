/* core_anderson.c: Anderson acceleration of a fixed point x = g(x), type II (Walker and Ni 2011).
 *
 * With f = g(x) - x, and dF, dG the last differences of f and of g(x) as columns,
 *
 *   min_gamma ||f - dF gamma||^2,   next x = g(x) - dG gamma,
 *
 * by the normal equations with a small ridge. The first step, and one for which the equations have
 * no solution, is the plain one. */
#include <math.h>
#include <string.h>

#include "core.h"
#include "core_linalg.h"

fumi_status fumi_anderson_init(fumi_anderson *a, int d, int K, const fumi_host *host) {
  const ptrdiff_t n = (ptrdiff_t)d * K, m = FUMI_ANDERSON;
  const fumi_array arrays[] = {{&a->dF, n * m}, {&a->dG, n * m}, {&a->f, n},
                               {&a->g, n},      {&a->FF, m * m}, {&a->gamma, m}};
  *a = (fumi_anderson){.d = d, .K = K};
  if (FUMI_TAKE(host, arrays) != FUMI_OK) return FUMI_ENOMEM;
  memset(a->f, 0, sizeof(double) * (size_t)n);
  memset(a->g, 0, sizeof(double) * (size_t)n);
  return FUMI_OK;
}

void fumi_anderson_forget(fumi_anderson *a) { a->n = 0; }

static double dot(const fumi_anderson *a, const double *x, const double *y) {
  double sum = 0;
  for (int k = 0; k < a->K; k++) sum += la_dot(a->d, fumi_ccol(x, a->d, k), fumi_ccol(y, a->d, k));
  return sum;
}

/* f and g of this step; their differences from the last one, if there was one, replace the oldest.
 * Returns the number of differences. */
static int remember(fumi_anderson *a, const double *x, const double *g) {
  const ptrdiff_t size = (ptrdiff_t)a->d * a->K,
                  at = size * (a->n > 0 ? (a->n - 1) % FUMI_ANDERSON : 0);
  for (ptrdiff_t j = 0; j < size; j++) {
    const double f = g[j] - x[j];
    a->dF[at + j] = f - a->f[j], a->dG[at + j] = g[j] - a->g[j];
    a->f[j] = f, a->g[j] = g[j];
  }
  a->n++;
  return a->n - 1 < FUMI_ANDERSON ? a->n - 1 : FUMI_ANDERSON;
}

/* gamma, of m differences; 0: there is none */
static int solve(fumi_anderson *a, int m) {
  const ptrdiff_t size = (ptrdiff_t)a->d * a->K;
  double trace = 0;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < m; j++) a->FF[i + m * j] = dot(a, a->dF + size * i, a->dF + size * j);
    a->gamma[i] = dot(a, a->dF + size * i, a->f);
    trace += a->FF[i + m * i];
  }
  for (int i = 0; i < m; i++) a->FF[i + m * i] += 1e-10 * trace;
  return la_cholesky(m, a->FF) == 0 && la_cholesky_solve(m, 1, a->FF, a->gamma) == 0;
}

int fumi_anderson_step(fumi_anderson *a, const double *x, double *g) {
  const ptrdiff_t size = (ptrdiff_t)a->d * a->K;
  const int m = remember(a, x, g);
  if (m == 0 || !solve(a, m)) return 0;
  for (int i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < size; j++) g[j] -= a->gamma[i] * a->dG[j + size * i];
  return 1;
}
