/* What one core can do: fused multiply-adds from registers (GF/s) and reading memory (GB/s), the best
 * of some rounds by CPU time. Build with -O3 -mavx2 -mfma: at -O2 the registers spill. */
#define _POSIX_C_SOURCE 199309L
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { CHAINS = 12, STEPS = 5000000 };

static double flops_avx2(double *sum) {
  __m256d a[CHAINS], x = _mm256_set1_pd(1.0000001), y = _mm256_set1_pd(1e-9);
  for (int i = 0; i < CHAINS; i++) a[i] = _mm256_set1_pd(i);
  const double start = seconds();
  for (int n = 0; n < STEPS; n++)
    for (int i = 0; i < CHAINS; i++) a[i] = _mm256_fmadd_pd(a[i], x, y);
  const double used = seconds() - start;
  for (int i = 0; i < CHAINS; i++) *sum += a[i][0];
  return 8.0 * CHAINS * STEPS / used;
}

__attribute__((target("avx512f"))) static double flops_avx512(double *sum) {
  __m512d a[CHAINS], x = _mm512_set1_pd(1.0000001), y = _mm512_set1_pd(1e-9);
  for (int i = 0; i < CHAINS; i++) a[i] = _mm512_set1_pd(i);
  const double start = seconds();
  for (int n = 0; n < STEPS; n++)
    for (int i = 0; i < CHAINS; i++) a[i] = _mm512_fmadd_pd(a[i], x, y);
  const double used = seconds() - start;
  for (int i = 0; i < CHAINS; i++) *sum += a[i][0];
  return 16.0 * CHAINS * STEPS / used;
}

/* By the widest vectors that the processor has. */
static double flops(double *sum) {
  return __builtin_cpu_supports("avx512f") ? flops_avx512(sum) : flops_avx2(sum);
}

static double bandwidth(const double *x, size_t n, double *sum) {
  __m256d a[4] = {_mm256_setzero_pd()};
  const double start = seconds();
  for (size_t i = 0; i < n; i += 16)
    for (int j = 0; j < 4; j++) a[j] = _mm256_add_pd(a[j], _mm256_loadu_pd(x + i + 4 * j));
  const double used = seconds() - start;
  for (int j = 0; j < 4; j++) *sum += a[j][0];
  return 8.0 * (double)n / used;
}

int main(void) {
  const size_t n = 16 * 2500000;
  double *x = malloc(n * sizeof *x), most_flops = 0, most_bytes = 0, sum = 0;
  if (!x) return 1;
  for (size_t i = 0; i < n; i++) x[i] = 1;
  for (int round = 0; round < 10; round++) {
    const double f = flops(&sum), b = bandwidth(x, n, &sum);
    if (f > most_flops) most_flops = f;
    if (b > most_bytes) most_bytes = b;
  }
  printf("%.2f %.2f %g\n", most_flops * 1e-9, most_bytes * 1e-9, sum);
  free(x);
  return 0;
}
