/* core_kernel_neon.c: the kernel for 64-bit ARM, whose 32 registers hold panels of 8 rows: 24 sums
 * keep four pipes busy. */
#include "core.h"

#ifdef FUMI_ARM64
#include <arm_neon.h>

enum { VEC = 2, PANEL = 8, COPIES = 1 };
typedef double V __attribute__((vector_size(8 * VEC), aligned(8), may_alias));
#define TARGET
#define INLINE static inline __attribute__((always_inline))

INLINE V splat(double x) { return (V)vdupq_n_f64(x); }
INLINE V coefficient(const double *h) { return splat(*h); }
INLINE V held(V x) { return x; }
INLINE V lower(V x, V y) { return (V)vminq_f64((float64x2_t)x, (float64x2_t)y); }
INLINE V higher(V x, V y) { return (V)vmaxq_f64((float64x2_t)x, (float64x2_t)y); }
INLINE V multiply_add(V s, V x, V y) {
  return (V)vfmaq_f64((float64x2_t)s, (float64x2_t)x, (float64x2_t)y);
}
INLINE void sums_of(V p, V q, V r, V s, double *out) {
  vst1q_f64(out, vpaddq_f64((float64x2_t)p, (float64x2_t)q));
  vst1q_f64(out + 2, vpaddq_f64((float64x2_t)r, (float64x2_t)s));
}

#include "core_kernel.h"
const fumi_kernel fumi_kernel_neon = KERNEL("neon");
#endif
