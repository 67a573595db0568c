/* core_kernel.c: one table of kernels for each instruction set, and the choice
 * among them at run time. No compiler flag is needed. */
#include "core.h"

#define NAME(x) x##_portable
#define KERNEL_NAME "portable"
#define TARGET
#define VEC 2
#define COPIES 2
#define PANEL 4
#define PANEL_ROWS ROWS
#define COEFFICIENT(h) TILE(h)
#if defined(__SSE2__)
#include <emmintrin.h>
#define VMIN(a, b) ((V)_mm_min_pd((__m128d)(a), (__m128d)(b)))
#define VMAX(a, b) ((V)_mm_max_pd((__m128d)(a), (__m128d)(b)))
#else
typedef double vector2 __attribute__((vector_size(16), aligned(8), may_alias));
static inline vector2 min2(vector2 a, vector2 b) {
  return (vector2){a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]};
}
static inline vector2 max2(vector2 a, vector2 b) {
  return (vector2){a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]};
}
#define VMIN(a, b) ((V)min2((vector2)(a), (vector2)(b)))
#define VMAX(a, b) ((V)max2((vector2)(a), (vector2)(b)))
#endif
#define VSPLAT(x) ((V){(x), (x)})
#define HOLD(y)
#define VFMA(a, b, c) ((a) + (b) * (c))
#define VSUMS(p, q, r, s, out) \
  out[0] = p[0] + p[1]; out[1] = q[0] + q[1]; out[2] = r[0] + r[1]; out[3] = s[0] + s[1];
#include "core_kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef VEC
#undef COPIES
#undef COEFFICIENT
#undef VMIN
#undef VMAX
#undef VSPLAT
#undef VFMA
#undef VSUMS

/* MinGW does not align the stack for 32-byte spills: Windows takes the portable path. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define FUMI_AVX2
#include <immintrin.h>
#define NAME(x) x##_avx2
#define KERNEL_NAME "avx2"
#define TARGET __attribute__((target("avx2,fma")))
#define VEC 4
#define COPIES 1
#define COEFFICIENT(h) VSPLAT(*(h))
#define VMIN(a, b) ((V)_mm256_min_pd((__m256d)(a), (__m256d)(b)))
#define VMAX(a, b) ((V)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define VSPLAT(x) ((V)_mm256_set1_pd(x))
#define VFMA(a, b, c) ((V)_mm256_fmadd_pd((__m256d)(b), (__m256d)(c), (__m256d)(a)))
#define SUMS_OF_4(p, q, r, s, out) {                                          \
  const __m256d pq = _mm256_hadd_pd(p, q), rs = _mm256_hadd_pd(r, s);         \
  _mm256_storeu_pd(out, _mm256_add_pd(_mm256_permute2f128_pd(pq, rs, 0x21),   \
                                      _mm256_blend_pd(pq, rs, 0xc))); }
#define VSUMS(p, q, r, s, out) SUMS_OF_4((__m256d)(p), (__m256d)(q), (__m256d)(r), (__m256d)(s), out)
#include "core_kernel.h"
#undef NAME
#undef KERNEL_NAME
#undef TARGET
#undef VEC
#undef PANEL
#undef PANEL_ROWS
#undef VMIN
#undef VMAX
#undef VSPLAT
#undef VFMA
#undef HOLD
#undef VSUMS

#define NAME(x) x##_avx512
#define KERNEL_NAME "avx512"
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define VEC 8
#define PANEL 8
#define PANEL_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define VMIN(a, b) ((V)_mm512_min_pd((__m512d)(a), (__m512d)(b)))
#define VMAX(a, b) ((V)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#define VSPLAT(x) ((V)_mm512_set1_pd(x))
#define VFMA(a, b, c) ((V)_mm512_fmadd_pd((__m512d)(b), (__m512d)(c), (__m512d)(a)))
#define HOLD(y) __asm__("" : "+v"(y));
#define HALVES(p) _mm256_add_pd(_mm512_castpd512_pd256((__m512d)(p)), _mm512_extractf64x4_pd((__m512d)(p), 1))
#define VSUMS(p, q, r, s, out) SUMS_OF_4(HALVES(p), HALVES(q), HALVES(r), HALVES(s), out)
#include "core_kernel.h"
#endif

const fumi_kernel *fumi_kernel_at(int i) {
#ifdef FUMI_AVX2
  if (i == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &kernel_avx2;
  if (i == 2 && fumi_kernel_at(1) && __builtin_cpu_supports("avx512f")) return &kernel_avx512;
#endif
  return i == 0 ? &kernel_portable : NULL;
}

const fumi_kernel *fumi_choose_kernel(int simd) {
  int best = 0;
  while (best + 1 != simd && fumi_kernel_at(best + 1)) best++;
  return fumi_kernel_at(best);
}

/* Instances in a block: about a megabyte of X, whole tiles for either kernel. */
int fumi_block_size(int d) {
  const int n = (int)(131072 / (d > 0 ? d : 1)) / FUMI_MAX_LANES * FUMI_MAX_LANES;
  return n < 24 ? 24 : n > 96 ? 96 : n;
}

int fumi_padded(int d) { return (d + FUMI_MAX_LANES - 1) / FUMI_MAX_LANES * FUMI_MAX_LANES; }

ptrdiff_t fumi_panel_size(const fumi_kernel *kernel, int rows, int cols) {
  return (ptrdiff_t)kernel->copies * ((rows + kernel->panel - 1) / kernel->panel * kernel->panel) * cols;
}

void fumi_panel(const fumi_kernel *kernel, int rows, int cols, const double *C, int ldc, double *panel) {
  for (int k = 0; k < rows; k += kernel->panel)
    for (int j = 0; j < cols; j++)
      for (int r = k; r < k + kernel->panel; r++)
        for (int copy = 0; copy < kernel->copies; copy++)
          *panel++ = r < rows ? C[r + (ptrdiff_t)ldc * j] : 0;
}
