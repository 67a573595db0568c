/* core_kernel_portable.c: the kernel of any processor, on vectors of two doubles, which are those
 * of SSE2 on x86-64. */
#include "core.h"

/* SSE2 has no register left to spread a coefficient over: a panel holds each twice. */
enum { VEC = 2, PANEL = 4, COPIES = 2 };
typedef double V __attribute__((vector_size(8 * VEC), may_alias));
typedef double unaligned __attribute__((vector_size(8 * VEC), aligned(8), may_alias));
#define TARGET
#define INLINE static inline __attribute__((always_inline))

INLINE V load(const double *p) { return *(const unaligned *)p; }
INLINE void store(double *p, V x) { *(unaligned *)p = x; }
INLINE V splat(double x) { return (V){x, x}; }
INLINE V held(V x) { return x; }
INLINE V multiply_add(V s, V x, V y) { return s + x * y; }
INLINE V add_multiple(V s, const double *h, int r, V x) { return multiply_add(s, splat(h[r]), x); }
#ifdef __SSE2__
#include <emmintrin.h>
INLINE V lower(V x, V y) { return _mm_min_pd(x, y); }
INLINE V higher(V x, V y) { return _mm_max_pd(x, y); }
#else
INLINE V lower(V x, V y) { return (V){x[0] < y[0] ? x[0] : y[0], x[1] < y[1] ? x[1] : y[1]}; }
INLINE V higher(V x, V y) { return (V){x[0] > y[0] ? x[0] : y[0], x[1] > y[1] ? x[1] : y[1]}; }
#endif
INLINE void sums_of(V p, V q, V r, V s, double *out) {
  out[0] = p[0] + p[1], out[1] = q[0] + q[1], out[2] = r[0] + r[1], out[3] = s[0] + s[1];
}

#include "core_kernel.h"
const fumi_kernel fumi_kernel_portable = KERNEL("portable");
