/* core_memory.c: memory of the host. */
#include <stdint.h>

#include "core.h"

/* At the start of a cache line, so that no vector of a tile lies across two. */
double *fumi_doubles(const fumi_host *host, ptrdiff_t n) {
  enum { LINE = 64 };
  char *p = host->alloc(host->ctx, (size_t)(n > 0 ? n : 1) + LINE / sizeof(double), sizeof(double));
  return p ? (double *)(p + (LINE - (uintptr_t)p % LINE)) : NULL;
}

int *fumi_ints(const fumi_host *host, ptrdiff_t n) {
  return host->alloc(host->ctx, (size_t)(n > 0 ? n : 1), sizeof(int));
}

fumi_status fumi_take(const fumi_host *host, size_t n, const fumi_array *arrays) {
  for (size_t i = 0; i < n; i++)
    if (!(*arrays[i].at = fumi_doubles(host, arrays[i].size))) return FUMI_ENOMEM;
  return FUMI_OK;
}
