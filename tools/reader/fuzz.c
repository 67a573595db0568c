/* The libFuzzer target of the reader of models, which is R code: R runs in this process, and each input goes
 * to one_input() of the script that FUMI_READER names. What that returns, small numbers that stand for how far the
 * reader came, counts as coverage; an error that it does not catch is a fault. The job `fuzz-reader` of
 * tools/hardening.R builds and runs it, with the package compiled for libFuzzer too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define R_NO_REMAP
#include <Rembedded.h>
#include <Rinternals.h>
#define CSTACK_DEFNS
#define R_INTERFACE_PTRS
#include <Rinterface.h>

enum { N_COUNTERS = 1 << 14 };

/* libFuzzer reads this section beside the counters of the compiler. */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t counters[N_COUNTERS];

static void give_up(const char *why) {
  fprintf(stderr, "%s\n", why);
  abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  const char *script = getenv("FUMI_READER");
  char *arguments[] = {"R", "--vanilla", "--no-echo"};
  int failed = 0;
  if (!script) give_up("FUMI_READER must name a script");
  R_SignalHandlers = 0;
  Rf_initEmbeddedR(3, arguments);
  R_CStackLimit = (uintptr_t)-1;
  SEXP call = PROTECT(Rf_lang2(Rf_install("source"), Rf_mkString(script)));
  R_tryEval(call, R_GlobalEnv, &failed);
  if (failed) give_up("the script has an error");
  UNPROTECT(1);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int failed = 0;
  SEXP bytes = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
  if (size) memcpy(RAW(bytes), data, size);
  SEXP call = PROTECT(Rf_lang2(Rf_install("one_input"), bytes));
  SEXP came = PROTECT(R_tryEval(call, R_GlobalEnv, &failed));
  if (failed || TYPEOF(came) != INTSXP) give_up("the reader does not hold its promise");
  for (R_xlen_t i = 0; i < XLENGTH(came); i++)
    counters[(unsigned)INTEGER(came)[i] % N_COUNTERS] = 1;
  UNPROTECT(3);
  return 0;
}
