/* operations.c: runs one operation of a kernel of the core, for whoever counts instructions:
 *
 *   operations <kernel: 0 is the portable one> <operation> <times>
 *
 * prints nothing. Sizes are those of the problem `usps`: some tiles of a block. VERSION_0_1_0: the
 * kernels of that version, whose quadratic() gave no sizes, and which had no residual(). */
#include <stdlib.h>
#include <string.h>

#include "core.h"

enum { D = 256, T = 4, M = 15, K = T + M, N = 96, STEPS = 50 };

static double *numbers(int n) {
  double *x = malloc(sizeof(double) * (size_t)n);
  for (int i = 0; i < n; i++) x[i] = (i * 37 % 101 - 50) / 500.;
  return x;
}

int main(int argc, char **argv) {
  if (argc != 4) return 1;
  const fumi_kernel *k = fumi_kernel_at(atoi(argv[1]));
  const char *asked = argv[2];
  const int tile = K * k->lanes, tiles = N / k->lanes, ldu = fumi_padded(D);
  double *X = numbers(D * N), *dictionary = numbers(D * K), *scale = numbers(N),
         *B = numbers(K * N);
  double *A = numbers(2 * K * N), *W = numbers(K * N), *G = numbers(K * K), *U = numbers(ldu * K);
  double *H = numbers((int)fumi_panel_size(k, K, K)), *Ht = numbers((int)fumi_panel_size(k, T, K));
  double *pack = numbers(N * FUMI_MAX_LANES), *spare = numbers(3 * tile), *r = numbers(N),
         *size = numbers(N);
  const double threshold[] = {.01, -.01};
  int all[N];
  for (int i = 0; i < N; i++) all[i] = i;

  for (int times = atoi(argv[3]); times > 0; times--)
    if (!strcmp(asked, "project")) k->project(D, 24, K, X, scale, dictionary, B, K);
    else if (!strcmp(asked, "ista"))
      for (int t = 0; t < 2; t++)
        k->ista(K, STEPS, H, .1, B + t * tile, threshold, A + t * tile, spare);
    else if (!strcmp(asked, "ista_positive"))
      for (int t = 0; t < 2; t++)
        k->ista_positive(T, M, STEPS, H, Ht, .1, B + t * tile, r, threshold, A + t * tile, spare);
#ifdef VERSION_0_1_0
    else if (!strcmp(asked, "quadratic"))
      for (int t = 0; t < tiles; t++) k->quadratic(K, G, K, A + t * tile, B + t * tile, r);
#else
    else if (!strcmp(asked, "quadratic"))
      for (int t = 0; t < tiles; t++)
        k->quadratic(K, G, K, scale, A + t * tile, B + t * tile, r, size);
    else if (!strcmp(asked, "residual"))
      k->residual(D, 8, all, K, X, scale, dictionary, A, K, r, pack);
#endif
    else if (!strcmp(asked, "inner")) k->inner(D, K, K, dictionary, dictionary, G, K);
    else if (!strcmp(asked, "accumulate")) k->accumulate(D, 24, K, X, W, K, U, ldu, pack);
    else if (!strcmp(asked, "gram")) k->gram(tiles, K, A, W, K, G, K);
    else if (!strcmp(asked, "correlate")) k->correlate(D, K, all, scale, X, D, U, U + ldu);
    else if (!strcmp(asked, "peak")) r[0] = k->peak(N, r);
    else return 1;
  return 0;
}
