/* r_dd.c: .Call entries of diverse density and EM-DD. Bags are numbered from 0 on. */
#include <limits.h>

#include "r_host.h"

/* in the order of the enums of core.h */
static const char *const models[] = {"noisy-or", "most-likely-cause", NULL};
static const char *const scale_types[] = {"feature", "single", "fixed", NULL};

/* par: model, scale_type */
SEXP ffi_dd_objective(SEXP X, SEXP scale, SEXP bag, SEXP label, SEXP unit, SEXP par, SEXP theta) {
  const fumi_data x = r_instances(X, scale);
  const int n_bags = r_length(label, "label");
  const dd_problem p = {.x = x,
                        .n_bags = n_bags,
                        .bag = r_bags(bag, x.N, n_bags),
                        .label = r_integers(label, n_bags, 0, 1, "label"),
                        .model = (dd_model)r_par_choice(par, "model", models),
                        .scale = (dd_scale)r_par_choice(par, "scale_type", scale_types),
                        .unit = r_doubles(unit, x.d, "unit")};
  const int n = dd_n_theta(&p);
  const double *at = r_doubles(theta, n, "theta");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *value = r_put_number(&r, "value"), *gradient = r_put_doubles(&r, "gradient", n);
  r_put_status(&r, dd_objective(&p, at, value, gradient, &r.host));
  return r_end(&r);
}

SEXP ffi_dd_quadratic(SEXP X, SEXP scale, SEXP t, SEXP s) {
  const fumi_data x = r_instances(X, scale);
  const double *target = r_doubles(t, x.d, "t"), *scales = r_doubles(s, x.d, "s");
  r_entry r;
  r_begin(&r, R_NilValue);
  dd_quadratic(&x, target, scales, r_put_doubles(&r, "q", x.N));
  return r_end_only(&r);
}

/* the column, from 1 on, of each bag's instance with the smallest q */
SEXP ffi_dd_select(SEXP q, SEXP bag, SEXP n_bags) {
  const int N = r_length(q, "q"), n = r_integer(n_bags, 0, N, "n_bags");
  const double *of = r_doubles(q, N, "q");
  const int *number = r_bags(bag, N, n);
  r_entry r;
  r_begin(&r, R_NilValue);
  int *best = r_put_integers(&r, "best", n);
  dd_select(N, of, number, n, best);
  for (int j = 0; j < n; j++) best[j]++;
  return r_end_only(&r);
}

/* of each feature, over the first n instances */
SEXP ffi_dd_moments(SEXP X, SEXP scale, SEXP n) {
  const fumi_data x = r_instances(X, scale);
  const int first = r_integer(n, 1, x.N, "n");
  r_entry r;
  r_begin(&r, R_NilValue);
  double *mean = r_put_doubles(&r, "mean", x.d), *variance = r_put_doubles(&r, "variance", x.d);
  dd_moments(&x, first, mean, variance);
  return r_end(&r);
}
