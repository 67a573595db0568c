/* What the host provides: memory aligned to cache lines, all arrays or none; leave to continue. */
#include <limits.h>
#include <stdint.h>

#include "problem.h"

static void test_doubles(void) {
  recorder r = {0};
  const fumi_host host = host_of(&r);
  for (int n = 0; n < 20; n++) {
    double *v = fumi_doubles(&host, n);
    CHECK((uintptr_t)v % 64 == 0);
    for (int i = 0; i < n; i++) v[i] = i; /* the address sanitizer looks on */
    int *k = fumi_ints(&host, n);
    for (int i = 0; i < n; i++) k[i] = i;
  }
  arena_release();
}

static void test_take(void) {
  for (int fail_at = 0; fail_at <= 4; fail_at++) {
    double *one = NULL, *two = NULL, *three = NULL;
    const fumi_array arrays[] = {{&one, 3}, {&two, 0}, {&three, 5}};
    recorder r = {.fail_at = fail_at};
    const fumi_host host = host_of(&r);
    const int fails = fail_at >= 1 && fail_at <= 3;
    CHECK(FUMI_TAKE(&host, arrays) == (fails ? FUMI_ENOMEM : FUMI_OK));
    CHECK(r.allocations == (fails ? fail_at : 3));
    CHECK(fails || (one && two && three));
    arena_release();
  }
}

/* Once the host has said stop it is not asked again, because it does not remember. */
static void test_stop(void) {
  recorder r = {.stop_at = 3};
  const fumi_host host = host_of(&r);
  fumi_stop stop = {.host = &host}, nobody = {0};
  const fumi_host polled = fumi_stop_host(&stop);
  CHECK(!fumi_stopped(&stop) && !fumi_ask(&stop) && !polled.poll(polled.ctx));
  CHECK(fumi_ask(&stop) && fumi_stopped(&stop) && r.polls == 3);
  CHECK(polled.poll(polled.ctx) && r.polls == 3);
  CHECK(!fumi_ask(&nobody));
}

/* As many blocks as hold N instances, up to the largest N; under the sanitizer for overflow. */
static void test_n_blocks(void) {
  for (int d = 1; d < 5000; d += 777) {
    const int nb = fumi_block_size(d);
    CHECK(fumi_n_blocks(d, 0) == 0 && fumi_n_blocks(d, 1) == 1 && fumi_n_blocks(d, nb) == 1);
    CHECK(fumi_n_blocks(d, nb + 1) == 2);
    const long long blocks = fumi_n_blocks(d, INT_MAX);
    CHECK(blocks * nb >= INT_MAX && (blocks - 1) * nb < INT_MAX);
  }
}

int main(void) {
  RUN(test_doubles);
  RUN(test_take);
  RUN(test_stop);
  RUN(test_n_blocks);
  return mu_report();
}
