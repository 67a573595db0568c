/* core_kernel_avx512.c: the kernel for x86-64 with AVX-512. */
#include "core.h"

#ifdef FUMI_X86
#include <immintrin.h>

enum { VEC = 8, PANEL = 8, COPIES = 1 };
typedef __m512d V;
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define INLINE TARGET static inline __attribute__((always_inline))

INLINE V load(const double *p) { return _mm512_loadu_pd(p); }
INLINE void store(double *p, V x) { _mm512_storeu_pd(p, x); }
INLINE V splat(double x) { return _mm512_set1_pd(x); }
/* Otherwise compilers load it once for each product. */
INLINE V held(V x) {
  __asm__("" : "+v"(x));
  return x;
}
INLINE V lower(V x, V y) { return _mm512_min_pd(x, y); }
INLINE V higher(V x, V y) { return _mm512_max_pd(x, y); }
INLINE V multiply_add(V s, V x, V y) { return _mm512_fmadd_pd(x, y, s); }
INLINE V add_multiple(V s, const double *h, int r, V x) { return multiply_add(s, splat(h[r]), x); }
INLINE __m256d halves(V x) {
  return _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
}
INLINE void sums_of(V p, V q, V r, V s, double *out) {
  const __m256d pq = _mm256_hadd_pd(halves(p), halves(q)),
                rs = _mm256_hadd_pd(halves(r), halves(s));
  _mm256_storeu_pd(
      out, _mm256_add_pd(_mm256_permute2f128_pd(pq, rs, 0x21), _mm256_blend_pd(pq, rs, 0xc)));
}

#include "core_kernel.h"
const fumi_kernel fumi_kernel_avx512 = KERNEL("avx512");
#endif
