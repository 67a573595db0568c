/* core_kernel.c: the choice among the kernels at run time, and the sizes of what they work on. To
 * add an instruction set, write core_kernel_<set>.c, and here its name and the line that chooses
 * it; no compiler flag is needed. */
#include "core.h"

extern const fumi_kernel fumi_kernel_portable, fumi_kernel_avx2, fumi_kernel_avx512,
    fumi_kernel_neon;

const fumi_kernel *fumi_kernel_at(int i) {
#ifdef FUMI_X86
  if (i == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &fumi_kernel_avx2;
  if (i == 2 && fumi_kernel_at(1) && __builtin_cpu_supports("avx512f")) return &fumi_kernel_avx512;
#endif
#ifdef FUMI_ARM64
  if (i == 1) return &fumi_kernel_neon;
#endif
  return i == 0 ? &fumi_kernel_portable : NULL;
}

const fumi_kernel *fumi_choose_kernel(int simd) {
  int best = 0;
  while (best + 1 != simd && fumi_kernel_at(best + 1)) best++;
  return fumi_kernel_at(best);
}

/* Instances in a block: about a megabyte of X, whole tiles for either kernel. */
int fumi_block_size(int d) {
  const int n = (int)(131072 / (d > 0 ? d : 1)) / FUMI_MAX_LANES * FUMI_MAX_LANES;
  return n < FUMI_MAX_LANES ? FUMI_MAX_LANES : n > FUMI_MAX_BLOCK ? FUMI_MAX_BLOCK : n;
}

int fumi_padded(int d) { return (d + FUMI_MAX_LANES - 1) / FUMI_MAX_LANES * FUMI_MAX_LANES; }

ptrdiff_t fumi_panel_size(const fumi_kernel *kernel, int rows, int cols) {
  return (ptrdiff_t)kernel->copies * ((rows + kernel->panel - 1) / kernel->panel * kernel->panel) *
         cols;
}

void fumi_panel(const fumi_kernel *kernel, int rows, int cols, const double *C, int ldc,
                double *panel) {
  for (int k = 0; k < rows; k += kernel->panel)
    for (int j = 0; j < cols; j++)
      for (int r = k; r < k + kernel->panel; r++)
        for (int copy = 0; copy < kernel->copies; copy++)
          *panel++ = r < rows ? C[r + (ptrdiff_t)ldc * j] : 0;
}
