/* core_host.c: what the host provides: memory, and permission to continue. */
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

/* ---- permission to continue ----------------------------------------------------------------- */

int fumi_stopped(const fumi_stop *stop) {
  int now;
#ifdef _OPENMP
#pragma omp atomic read
#endif
  now = stop->now;
  return now;
}

int fumi_ask(fumi_stop *stop) {
  if (stop->host && stop->host->poll(stop->host->ctx)) {
#ifdef _OPENMP
#pragma omp atomic write
#endif
    stop->now = 1;
  }
  return fumi_stopped(stop);
}

static int poll_stop(void *ctx) { return fumi_stopped(ctx) || fumi_ask(ctx); }

fumi_host fumi_stop_host(fumi_stop *stop) { return (fumi_host){.poll = poll_stop, .ctx = stop}; }
