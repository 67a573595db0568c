/* Unit tests on one page: CHECK() records a failure and continues, RUN() names the
 * test in which it happened, and main() ends with `return mu_report();`. */
#ifndef FUMI_MINUNIT_H
#define FUMI_MINUNIT_H

#include <math.h>
#include <stdio.h>

static int mu_checks = 0;
static int mu_failures = 0;
static const char *mu_test = "";

#define CHECK(condition)                                                                \
  do {                                                                                  \
    mu_checks++;                                                                        \
    if (!(condition)) {                                                                 \
      mu_failures++;                                                                    \
      printf("%s:%d: %s: %s does not hold\n", __FILE__, __LINE__, mu_test, #condition); \
    }                                                                                   \
  } while (0)

/* Written so that a NaN on either side fails. */
#define CHECK_NEAR(actual, expected, tolerance)                                                 \
  do {                                                                                          \
    const double mu_a = (actual), mu_e = (expected);                                            \
    mu_checks++;                                                                                \
    if (!(fabs(mu_a - mu_e) <= (tolerance))) {                                                  \
      mu_failures++;                                                                            \
      printf("%s:%d: %s: %s is %.17g, not %.17g\n", __FILE__, __LINE__, mu_test, #actual, mu_a, \
             mu_e);                                                                             \
    }                                                                                           \
  } while (0)

#define RUN(test)    \
  do {               \
    mu_test = #test; \
    test();          \
  } while (0)

/* The exit status: a file of tests that checks nothing has failed too. */
static inline int mu_report(void) {
  printf("%d checks, %d failed\n", mu_checks, mu_failures);
  return mu_failures > 0 || mu_checks == 0;
}

#endif
