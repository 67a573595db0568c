/* r_host.h: what the .Call entries share. Only src/r_*.c know R's C interface.
 *
 * To add an entry: write it in r_<method>.c, add its line to the table in r_init.c, and call it in
 * R by .Call(ffi_<name>, ...). An entry reads its arguments, begins, puts its results, ends:
 *
 *   SEXP ffi_median_code(SEXP X, SEXP scale, SEXP D, SEXP par) {
 *     const fumi_data x = r_instances(X, scale);          // each checks type, length and range,
 *     const int K = r_columns(D, "D");                    // and stops with an R error that
 *     const double *atoms = r_matrix(D, x.d, K, "D");     // names the argument
 *     const double lambda = r_par_penalty(par, "lambda"); // parameters: by name, from a list
 *     const int pool = r_par_choice(par, "pool", pools);  // a string, as a value of an enum
 *     r_entry r;
 *     r_begin(&r, R_NilValue);                            // or the R function to report to
 *     double *A = r_put_matrix(&r, "codes", K, x.N);      // a named result, of zeros, to fill
 *     r_put_status(&r, median_code(&x, K, atoms, lambda, pool, A, &r.host));
 *     return r_end(&r);                                   // list(codes =, status =)
 *   }
 *
 * where pools is static const char *const pools[] = {"max", "mean", NULL}.
 *
 * Nothing is PROTECTed by hand: what is put is safe until r_end(). The core gets r.host, calls R
 * only through it, and R never jumps through the core: an interrupt becomes the status "interrupt";
 * an R error, or any other jump, makes the core stop, and goes on in r_end(). */
#ifndef FUMI_R_HOST_H
#define FUMI_R_HOST_H

#include <time.h>

#include <Rinternals.h>

#include "core.h"

/* ---- r_host.c: an entry, its results, and the host that serves the core ------------- */
typedef struct {
  SEXP kept;      /* protects all that the entry holds */
  SEXP report;    /* an R function of iteration and objective, or NULL */
  fumi_host host; /* for the core */
  clock_t polled; /* the processor's time when R was asked for interrupts */
  int n_results;
  int jumped; /* R jumped: go on with it in r_end() */
} r_entry;

void r_begin(r_entry *r, SEXP report);
SEXP r_end(r_entry *r);      /* the results, as a named list */
SEXP r_end_only(r_entry *r); /* the only result */

/* A result and its name. Those that are not given a value are made, as zeros, to be filled. */
double *r_put_matrix(r_entry *r, const char *name, int nrow, int ncol);
double *r_put_doubles(r_entry *r, const char *name, R_xlen_t n);
int *r_put_integers(r_entry *r, const char *name, R_xlen_t n);
double *r_put_number(r_entry *r, const char *name);
int *r_put_integer(r_entry *r, const char *name);
void r_put_string(r_entry *r, const char *name, const char *value);
void r_put_status(r_entry *r, fumi_status status);
/* a double vector, to be changed in place: itself if nobody else holds it, else a copy */
double *r_put_own(r_entry *r, const char *name, SEXP value);
double *r_put_copy(r_entry *r, const char *name, SEXP value);
void r_put_rownames(r_entry *r, SEXP names, int nrow); /* of the last result */

/* Runs body(data), which may call R. 1: it ran to its end; 0: the core must stop. */
int r_guard(r_entry *r, SEXP (*body)(void *), void *data);
/* fun(first, second), for a body: second is a matrix, or a vector if ncol is 0. The value is safe
 * until the next call. */
SEXP r_call(r_entry *r, SEXP fun, SEXP first, const double *second, int nrow, int ncol);

/* ---- r_args.c: arguments, checked ---------------------------------------------------- */
enum { R_ANY = -1 }; /* any number of rows or columns */

/* stops unless `ok`: `name` must be `what` */
void r_must(int ok, const char *name, const char *what);

fumi_data r_instances(SEXP X, SEXP scale);
/* the same, of which the first n_positive are those of positive bags */
fumi_data r_data(SEXP X, SEXP scale, SEXP n_positive);

const double *r_matrix(SEXP x, int nrow, int ncol, const char *name);
int r_columns(SEXP x, const char *name); /* of a double matrix, at least 1 */
int r_length(SEXP x, const char *name);
const double *r_doubles(SEXP x, R_xlen_t n, const char *name);
const double *r_doubles_or_null(SEXP x, R_xlen_t n, const char *name);
const double *r_uniform(SEXP x, R_xlen_t n, const char *name); /* within [0, 1) */
const int *r_integers(SEXP x, R_xlen_t n, int min, int max, const char *name);
const int *r_flags(SEXP x, R_xlen_t n, const char *name);
/* columns (or rows) 1 .. max, counted from 0 as the core does */
const int *r_index(SEXP x, R_xlen_t n, int max, const char *name);
const int *r_permutation(SEXP x, int n, const char *name);
/* the bag of each of N instances, from 0 on; each bag has one */
const int *r_bags(SEXP bag, int N, int n_bags);
int r_integer(SEXP x, int min, int max, const char *name);
double r_number(SEXP x, const char *name);
double r_penalty(SEXP x, const char *name); /* a number that is not negative */
int r_flag(SEXP x, const char *name);
int r_choice(SEXP x, const char *const *choices, const char *name); /* choices end with NULL */
SEXP r_function(SEXP x, const char *name);

/* The element of a list that has this name; and the same as above, of that element. */
SEXP r_element(SEXP list, const char *name);
int r_par_integer(SEXP par, const char *name, int min, int max);
double r_par_number(SEXP par, const char *name);
double r_par_penalty(SEXP par, const char *name);
int r_par_flag(SEXP par, const char *name);
int r_par_choice(SEXP par, const char *name, const char *const *choices);

#endif
