/* core_kernel_neon.c: the kernel for 64-bit ARM, whose 32 registers hold panels of 8 rows: 24 sums
 * keep four pipes busy. */
#include "core.h"

#ifdef FUMI_ARM64
#include <arm_neon.h>

enum { VEC = 2, PANEL = 8, COPIES = 1 };
typedef float64x2_t V;
#define TARGET
#define INLINE static inline __attribute__((always_inline))

INLINE V load(const double *p) { return vld1q_f64(p); }
INLINE void store(double *p, V x) { vst1q_f64(p, x); }
INLINE V splat(double x) { return vdupq_n_f64(x); }
INLINE V held(V x) { return x; }
INLINE V lower(V x, V y) { return vminq_f64(x, y); }
INLINE V higher(V x, V y) { return vmaxq_f64(x, y); }
INLINE V multiply_add(V s, V x, V y) { return vfmaq_f64(s, x, y); }
/* by a number of a vector: two of them take one load */
INLINE V add_multiple(V s, const double *h, int r, V x) {
  const V two = load(h + r / 2 * 2);
  return r % 2 ? vfmaq_laneq_f64(s, x, two, 1) : vfmaq_laneq_f64(s, x, two, 0);
}
INLINE void sums_of(V p, V q, V r, V s, double *out) {
  vst1q_f64(out, vpaddq_f64(p, q));
  vst1q_f64(out + 2, vpaddq_f64(r, s));
}

#include "core_kernel.h"
const fumi_kernel fumi_kernel_neon = KERNEL("neon");
#endif
