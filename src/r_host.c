/* r_host.c: what a .Call entry holds (r_entry), and how it serves the core: memory, interrupts,
 * conditions. The only file with PROTECT. */
#include <setjmp.h>
#include <string.h>

#include <R.h>
#include <R_ext/Utils.h>

#include "r_host.h"

/* ---- calls of R that do not jump through the core -------------------------------------- */

/* the elements of r_entry.kept: results, their names, the jump that waits, classes to catch, the
 * last value of r_call() */
enum { VALUES, NAMES, JUMP, CLASSES, ANSWER, KEPT };

static void keep(r_entry *r, int where, SEXP value) { SET_VECTOR_ELT(r->kept, where, value); }

typedef struct {
  SEXP (*body)(void *);
  void *data;
  SEXP classes;
  int interrupted;
} guarded_call;

static void back_to_guard(void *guard, Rboolean jump) {
  if (jump) longjmp(*(jmp_buf *)guard, 1);
}

/* Runs body(data) so that a jump of R ends here. 1: there was none. Once one waits, no other
 * call is made. */
static int without_jump(r_entry *r, SEXP (*body)(void *), void *data) {
  jmp_buf here;
  if (r->jumped) return 0;
  if (setjmp(here)) {
    r->jumped = 1;
    return 0;
  }
  R_UnwindProtect(body, data, back_to_guard, &here, VECTOR_ELT(r->kept, JUMP));
  return 1;
}

static SEXP note_interrupt(SEXP condition, void *data) {
  (void)condition;
  ((guarded_call *)data)->interrupted = 1;
  return R_NilValue;
}

static SEXP until_interrupt(void *data) {
  guarded_call *call = data;
  return R_tryCatch(call->body, call->data, call->classes, note_interrupt, call, NULL, NULL);
}

int r_guard(r_entry *r, SEXP (*body)(void *), void *data) {
  guarded_call call = {body, data, VECTOR_ELT(r->kept, CLASSES), 0};
  return without_jump(r, until_interrupt, &call) && !call.interrupted;
}

SEXP r_call(r_entry *r, SEXP fun, SEXP first, const double *second, int nrow, int ncol) {
  PROTECT(first);
  SEXP value = PROTECT(ncol ? Rf_allocMatrix(REALSXP, nrow, ncol) : Rf_allocVector(REALSXP, nrow));
  memcpy(REAL(value), second, sizeof(double) * (size_t)XLENGTH(value));
  SEXP call = PROTECT(Rf_lang3(fun, first, value));
  keep(r, ANSWER, Rf_eval(call, R_GlobalEnv));
  UNPROTECT(3);
  return VECTOR_ELT(r->kept, ANSWER);
}

/* ---- the host ----------------------------------------------------------------------------- */

typedef struct {
  size_t n, size;
  void *memory;
} allocation;

static SEXP allocate(void *data) {
  allocation *a = data;
  a->memory = R_alloc(a->n, (int)a->size);
  return R_NilValue;
}

static void *host_alloc(void *ctx, size_t n, size_t size) {
  allocation a = {n, size, NULL};
  return without_jump(ctx, allocate, &a) ? a.memory : NULL;
}

static SEXP check_interrupt(void *data) {
  (void)data;
  R_CheckUserInterrupt();
  return R_NilValue;
}

/* R looks for interrupts between its own steps; a long call of the core asks it a hundred times a
 * second. */
static int host_poll(void *ctx) {
  r_entry *r = ctx;
  const clock_t now = clock();
  if (r->jumped) return 1;
  if (now - r->polled < CLOCKS_PER_SEC / 100) return 0;
  r->polled = now;
  return !r_guard(r, check_interrupt, NULL);
}

typedef struct {
  r_entry *entry;
  int it;
  double objective;
} progress;

static SEXP call_report(void *data) {
  const progress *p = data;
  return r_call(p->entry, p->entry->report, Rf_ScalarInteger(p->it), &p->objective, 1, 0);
}

static int host_report(void *ctx, int it, double objective) {
  r_entry *r = ctx;
  progress p = {r, it, objective};
  return !r_guard(r, call_report, &p);
}

/* ---- an entry ----------------------------------------------------------------------------- */

enum { MAX_RESULTS = 12 };

void r_begin(r_entry *r, SEXP report) {
  const int silent = report == R_NilValue;
  if (!silent) r_function(report, "report");
  *r = (r_entry){.report = report,
                 .polled = clock(),
                 .host = {host_alloc, host_poll, silent ? NULL : host_report, r}};
  r->kept = PROTECT(Rf_allocVector(VECSXP, KEPT));
  keep(r, VALUES, Rf_allocVector(VECSXP, MAX_RESULTS));
  keep(r, NAMES, Rf_allocVector(STRSXP, MAX_RESULTS));
  keep(r, JUMP, R_MakeUnwindCont());
  keep(r, CLASSES, Rf_mkString("interrupt"));
}

/* Values leave the entry's own list, so that it does not count among their holders. */
SEXP r_end(r_entry *r) {
  if (r->jumped) R_ContinueUnwind(VECTOR_ELT(r->kept, JUMP));
  SEXP values = VECTOR_ELT(r->kept, VALUES);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, r->n_results));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, r->n_results));
  for (int i = 0; i < r->n_results; i++) {
    SET_VECTOR_ELT(out, i, VECTOR_ELT(values, i));
    SET_VECTOR_ELT(values, i, R_NilValue);
    SET_STRING_ELT(names, i, STRING_ELT(VECTOR_ELT(r->kept, NAMES), i));
  }
  Rf_setAttrib(out, R_NamesSymbol, names);
  UNPROTECT(3); /* the last one is that of r_begin() */
  return out;
}

SEXP r_end_only(r_entry *r) {
  SEXP results = r_end(r), only = VECTOR_ELT(results, 0);
  SET_VECTOR_ELT(results, 0, R_NilValue);
  return only;
}

/* ---- results ------------------------------------------------------------------------------ */

static SEXP put(r_entry *r, const char *name, SEXP value) {
  if (r->n_results == MAX_RESULTS) Rf_error("internal error of fumi: MAX_RESULTS is too small");
  SET_VECTOR_ELT(VECTOR_ELT(r->kept, VALUES), r->n_results, value);
  SET_STRING_ELT(VECTOR_ELT(r->kept, NAMES), r->n_results++, Rf_mkChar(name));
  return value;
}

static double *zeros(SEXP value) {
  return XLENGTH(value) ? memset(REAL(value), 0, sizeof(double) * (size_t)XLENGTH(value))
                        : REAL(value);
}

double *r_put_matrix(r_entry *r, const char *name, int nrow, int ncol) {
  return zeros(put(r, name, Rf_allocMatrix(REALSXP, nrow, ncol)));
}

double *r_put_doubles(r_entry *r, const char *name, R_xlen_t n) {
  return zeros(put(r, name, Rf_allocVector(REALSXP, n)));
}

int *r_put_integers(r_entry *r, const char *name, R_xlen_t n) {
  SEXP value = put(r, name, Rf_allocVector(INTSXP, n));
  for (R_xlen_t i = 0; i < n; i++) INTEGER(value)[i] = 0;
  return INTEGER(value);
}

double *r_put_number(r_entry *r, const char *name) { return r_put_doubles(r, name, 1); }
int *r_put_integer(r_entry *r, const char *name) { return r_put_integers(r, name, 1); }

void r_put_string(r_entry *r, const char *name, const char *value) {
  put(r, name, Rf_mkString(value));
}

double *r_put_copy(r_entry *r, const char *name, SEXP value) {
  return REAL(put(r, name, Rf_duplicate(value)));
}

double *r_put_own(r_entry *r, const char *name, SEXP value) {
  return MAYBE_SHARED(value) ? r_put_copy(r, name, value) : REAL(put(r, name, value));
}

void r_put_rownames(r_entry *r, SEXP names, int nrow) {
  r_must(TYPEOF(names) == STRSXP && XLENGTH(names) == nrow, "names", "a name for each row");
  SEXP dimnames = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(dimnames, 0, names);
  Rf_setAttrib(VECTOR_ELT(VECTOR_ELT(r->kept, VALUES), r->n_results - 1), R_DimNamesSymbol,
               dimnames);
  UNPROTECT(1);
}

static const char *status_word(fumi_status status) {
  switch (status) {
    case FUMI_OK: return "ok";
    case FUMI_CONVERGED: return "converged";
    case FUMI_MAXIT: return "max_iter";
    case FUMI_STOPPED: return "interrupt";
    case FUMI_ENOMEM: return "memory";
    case FUMI_ENONFINITE: return "nonfinite";
    case FUMI_ESINGULAR: return "singular";
  }
  return "unknown";
}

void r_put_status(r_entry *r, fumi_status status) {
  r_put_string(r, "status", status_word(status));
}
