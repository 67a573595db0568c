/* r_init.c: the table of .Call entries, each with the number of its arguments. */
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#include "r_host.h"

/* clang-format off */
#define ENTRIES(entry)             \
  entry(ffi_arrange, 5)            \
  entry(ffi_code, 4)               \
  entry(ffi_dd_moments, 3)         \
  entry(ffi_dd_objective, 7)       \
  entry(ffi_dd_quadratic, 4)       \
  entry(ffi_dd_select, 3)          \
  entry(ffi_dlfumi_carried, 5)     \
  entry(ffi_dlfumi_confidence, 4)  \
  entry(ffi_dlfumi_fit, 9)         \
  entry(ffi_dlfumi_fit_kept, 5)    \
  entry(ffi_dlfumi_pass, 11)       \
  entry(ffi_dlfumi_start_codes, 5) \
  entry(ffi_dlfumi_step, 11)       \
  entry(ffi_dlfumi_worst, 10)      \
  entry(ffi_dmil_code, 7)          \
  entry(ffi_dmil_fit, 7)           \
  entry(ffi_dmil_step, 7)          \
  entry(ffi_efumi_unmix, 4)        \
  entry(ffi_kernel_name, 1)        \
  entry(ffi_kmeans, 5)             \
  entry(ffi_mihe_evaluate, 7)      \
  entry(ffi_mihe_fit, 8)           \
  entry(ffi_n_cores, 0)            \
  entry(ffi_squared_norms, 3)      \
  entry(ffi_sum_columns, 3)        \
  entry(ffi_take, 2)               \
  entry(ffi_unit_scale, 1)
/* clang-format on */

/* n arguments, as in a declaration */
#define TAKES_0 void
#define TAKES_1 SEXP
#define TAKES_2 TAKES_1, SEXP
#define TAKES_3 TAKES_2, SEXP
#define TAKES_4 TAKES_3, SEXP
#define TAKES_5 TAKES_4, SEXP
#define TAKES_6 TAKES_5, SEXP
#define TAKES_7 TAKES_6, SEXP
#define TAKES_8 TAKES_7, SEXP
#define TAKES_9 TAKES_8, SEXP
#define TAKES_10 TAKES_9, SEXP
#define TAKES_11 TAKES_10, SEXP

#define DECLARATION(name, n) SEXP name(TAKES_##n);
/* by way of void (*)(void), of which compilers do not warn */
#define ROW(name, n) {#name, (DL_FUNC)(void (*)(void))name, n},

ENTRIES(DECLARATION)

static const R_CallMethodDef entries[] = {ENTRIES(ROW){NULL, NULL, 0}};

void attribute_visible R_init_fumi(DllInfo *dll) {
  R_registerRoutines(dll, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
