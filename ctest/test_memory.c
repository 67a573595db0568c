/* Memory of the host: aligned to cache lines, all arrays or none. */
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

int main(void) {
  RUN(test_doubles);
  RUN(test_take);
  return mu_report();
}
