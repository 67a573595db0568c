/* core_kernel_avx2.c: the kernel for x86-64 with AVX2 and FMA. */
#include "core.h"

#ifdef FUMI_X86
#include <immintrin.h>

enum { VEC = 4, PANEL = 4, COPIES = 1 };
typedef __m256d V;
#define TARGET __attribute__((target("avx2,fma")))
#define INLINE TARGET static inline __attribute__((always_inline))

INLINE V load(const double *p) { return _mm256_loadu_pd(p); }
INLINE void store(double *p, V x) { _mm256_storeu_pd(p, x); }
INLINE V splat(double x) { return _mm256_set1_pd(x); }
INLINE V held(V x) { return x; }
INLINE V lower(V x, V y) { return _mm256_min_pd(x, y); }
INLINE V higher(V x, V y) { return _mm256_max_pd(x, y); }
INLINE V multiply_add(V s, V x, V y) { return _mm256_fmadd_pd(x, y, s); }
INLINE V add_multiple(V s, const double *h, int r, V x) { return multiply_add(s, splat(h[r]), x); }
INLINE void sums_of(V p, V q, V r, V s, double *out) {
  const __m256d pq = _mm256_hadd_pd(p, q), rs = _mm256_hadd_pd(r, s);
  _mm256_storeu_pd(
      out, _mm256_add_pd(_mm256_permute2f128_pd(pq, rs, 0x21), _mm256_blend_pd(pq, rs, 0xc)));
}

#include "core_kernel.h"
const fumi_kernel fumi_kernel_avx2 = KERNEL("avx2");
#endif
