/* core_kernel.h: the inner loops, one operation per section, for any instruction set. Each
 * core_kernel_<set>.c says what a vector is, and includes this file. It defines
 *
 *   INLINE             static inline, always, for this instruction set; TARGET, the attribute alone
 *   V, VEC             a vector of VEC doubles; load(p) and store(p, x), from and to any address
 *   PANEL              4 or 8: rows of coefficients that the ISTA loops take at once
 *   COPIES             how often a panel holds each coefficient
 *   add_multiple(s, h, r, x): s + h[r] x for a constant r; h[r + 1] may be read too if r is even
 *   splat(x)           a vector of one number
 *   lower(x, y), higher(x, y), multiply_add(s, x, y): elementwise minimum, maximum, s + x y
 *   held(x)            x itself, in a register that is not loaded again
 *   sums_of(p, q, r, s, out): the sums over each of four vectors
 *
 * and ends with `const fumi_kernel fumi_kernel_<set> = KERNEL("<set>");`.
 *
 * A strip is LANES = 3 VEC numbers: the instances of a tile for one atom, or some features. Loops
 * keep a quad of strips in registers: 12 sums that do not wait for each other. They are members of
 * structs, not arrays, because compilers at -O2 leave arrays in memory. */

enum { LANES = 3 * VEC };

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef struct {
  V a, b, c;
} strip;
typedef struct {
  strip r0, r1, r2, r3;
} quad;
typedef struct {
  const double *r0, *r1, *r2, *r3;
} four; /* rows or columns; where there are fewer than four, the first stands in for the others */

INLINE strip load_strip(const double *p) {
  return (strip){load(p), load(p + VEC), load(p + 2 * VEC)};
}
INLINE void store_strip(double *p, strip x) {
  store(p, x.a), store(p + VEC, x.b), store(p + 2 * VEC, x.c);
}
INLINE strip splat_strip(double x) { return (strip){splat(x), splat(x), splat(x)}; }
INLINE quad zero_quad(void) {
  const strip zero = splat_strip(0);
  return (quad){zero, zero, zero, zero};
}

INLINE four four_from(const double *p, ptrdiff_t apart, int n) {
  return (four){p, p + (n > 1 ? apart : 0), p + (n > 2 ? 2 * apart : 0),
                p + (n > 3 ? 3 * apart : 0)};
}
INLINE quad load_quad(const double *p, int n) {
  const four f = four_from(p, LANES, n);
  return (quad){load_strip(f.r0), load_strip(f.r1), load_strip(f.r2), load_strip(f.r3)};
}

/* s + h x */
INLINE strip add_product(strip s, V h, strip x) {
  return (strip){multiply_add(s.a, h, x.a), multiply_add(s.b, h, x.b), multiply_add(s.c, h, x.c)};
}
/* s + h[r] x */
INLINE strip add_multiples(strip s, const double *h, int r, strip x) {
  return (strip){add_multiple(s.a, h, r, x.a), add_multiple(s.b, h, r, x.b),
                 add_multiple(s.c, h, r, x.c)};
}
/* s_r + h_r x, one number h_r for each strip of the quad */
INLINE quad add_products(quad s, const double *h0, const double *h1, const double *h2,
                         const double *h3, strip x) {
  s.r0 = add_product(s.r0, splat(*h0), x), s.r1 = add_product(s.r1, splat(*h1), x);
  s.r2 = add_product(s.r2, splat(*h2), x), s.r3 = add_product(s.r3, splat(*h3), x);
  return s;
}

/* ---- ISTA: a <- S(eta b + H a) ------------------------------------------------ */

/* t - max(min(t, l), low): the soft threshold of eq. 12 and 13 for low = -l; max(t - l, 0), that
 * of a code that must not be negative, for a low below every t */
INLINE V soft(V t, V l, V low) { return t - higher(lower(t, l), low); }
INLINE strip soft_strip(strip t, strip l, strip low) {
  return (strip){soft(t.a, l.a, low.a), soft(t.b, l.b, low.b), soft(t.c, l.c, low.c)};
}

/* s + H_r x for row r of a column h of a panel of coefficients */
INLINE strip add_row(strip s, const double *h, int r, strip x) {
  return COPIES > 1 ? add_product(s, load(h + COPIES * r), x) : add_multiples(s, h, r, x);
}
/* the same for rows r .. r + 3 and the strips of a quad */
INLINE quad add_column(quad s, const double *h, int r, strip x) {
  return (quad){add_row(s.r0, h, r, x), add_row(s.r1, h, r + 1, x), add_row(s.r2, h, r + 2, x),
                add_row(s.r3, h, r + 3, x)};
}

/* eB + H in: rows 0..3 of a panel in lo, and 4..7 in hi if it is wide */
INLINE void multiply_panel(int n_in, int rows, int wide, const double *restrict H,
                           const double *restrict in, const double *restrict eB, quad *lo,
                           quad *hi) {
  quad s = load_quad(eB, rows), t = wide ? load_quad(eB + 4 * LANES, rows - 4) : s;
  for (int j = 0; j < n_in; j++) {
    const double *h = H + (ptrdiff_t)COPIES * PANEL * j;
    const strip x = load_strip(in + (ptrdiff_t)LANES * j);
    s = add_column(s, h, 0, x);
    if (wide) t = add_column(t, h, 4, x);
  }
  *lo = s, *hi = t;
}

INLINE void put_soft(quad s, int rows, const double *threshold, double *out) {
  const strip l = splat_strip(threshold[0]), low = splat_strip(threshold[1]);
  store_strip(out, soft_strip(s.r0, l, low));
  if (rows > 1) store_strip(out + LANES, soft_strip(s.r1, l, low));
  if (rows > 2) store_strip(out + 2 * LANES, soft_strip(s.r2, l, low));
  if (rows > 3) store_strip(out + 3 * LANES, soft_strip(s.r3, l, low));
}

/* out = S_threshold(eB + H in) for up to PANEL rows */
INLINE void ista_rows(int n_in, int rows, const double *H, const double *in, const double *eB,
                      const double *threshold, double *out) {
  quad lo, hi;
  if (PANEL > 4 && rows > 4) {
    multiply_panel(n_in, rows, 1, H, in, eB, &lo, &hi);
    put_soft(lo, 4, threshold, out);
    put_soft(hi, rows - 4, threshold, out + 4 * LANES);
  } else {
    multiply_panel(n_in, rows, 0, H, in, eB, &lo, &hi);
    put_soft(lo, rows, threshold, out);
  }
}

/* eB = eta B */
INLINE void scale_rows(int rows, double eta, const double *B, double *eB) {
  for (ptrdiff_t i = 0; i < (ptrdiff_t)LANES * rows; i += VEC)
    store(eB + i, splat(eta) * load(B + i));
}

/* eq. 13: a <- S_threshold(a + eta (b - G a)) = S_threshold(eta b + H a), H = I - eta G */
TARGET static void ista(int K, int steps, const double *H, double eta, const double *B,
                        const double *threshold, double *A, double *spare) {
  const ptrdiff_t row = LANES;
  double *eB = spare, *a = A, *next = spare + row * K;
  scale_rows(K, eta, B, eB);
  for (int q = 0; q < steps; q++) {
    for (int k = 0; k < K; k += PANEL)
      ista_rows(K, K - k, H + (ptrdiff_t)COPIES * k * K, a, eB + row * k, threshold,
                next + row * k);
    double *swap = a;
    a = next;
    next = swap;
  }
  if (a != A)
    for (ptrdiff_t i = 0; i < row * K; i++) A[i] = a[i];
}

/* ---- ISTA for positive bags: target rows are weighted by p ---------------------- */

/* out = S_{threshold p}(old + p s), out_p = p out, for one row */
INLINE void put_target(strip s, const double *p, const double *threshold, const double *old,
                       double *out, double *out_p) {
  const strip w = load_strip(p), t = load_strip(old);
  const V l = splat(threshold[0]), low = splat(threshold[1]);
  const strip u =
      soft_strip((strip){t.a + w.a * s.a, t.b + w.b * s.b, t.c + w.c * s.c},
                 (strip){l * w.a, l * w.b, l * w.c}, (strip){low * w.a, low * w.b, low * w.c});
  store_strip(out, u);
  store_strip(out_p, (strip){w.a * u.a, w.b * u.b, w.c * u.c});
}

INLINE void put_targets(quad s, int rows, const double *p, const double *threshold,
                        const double *old, double *out, double *out_p) {
  put_target(s.r0, p, threshold, old, out, out_p);
  if (rows > 1) put_target(s.r1, p, threshold, old + LANES, out + LANES, out_p + LANES);
  if (rows > 2) put_target(s.r2, p, threshold, old + 2 * LANES, out + 2 * LANES, out_p + 2 * LANES);
  if (rows > 3) put_target(s.r3, p, threshold, old + 3 * LANES, out + 3 * LANES, out_p + 3 * LANES);
}

/* out = S_{threshold p}(old + p (eB + H in)), out_p = p out, for up to PANEL rows */
INLINE void ista_target_rows(int n_in, int rows, const double *H, const double *in,
                             const double *eB, const double *p, const double *threshold,
                             const double *old, double *out, double *out_p) {
  const ptrdiff_t four_rows = 4 * LANES;
  quad lo, hi;
  if (PANEL > 4 && rows > 4) {
    multiply_panel(n_in, rows, 1, H, in, eB, &lo, &hi);
    put_targets(lo, 4, p, threshold, old, out, out_p);
    put_targets(hi, rows - 4, p, threshold, old + four_rows, out + four_rows, out_p + four_rows);
  } else {
    multiply_panel(n_in, rows, 0, H, in, eB, &lo, &hi);
    put_targets(lo, rows, p, threshold, old, out, out_p);
  }
}

/* eq. 10-12 on a tile of rows [p a_t; a_b; a_t]: background rows read the first K
 * rows, whose target part is already weighted by p; target rows read the last K
 * rows and are weighted by p as a whole. Ht has its columns in that order. */
TARGET static void ista_positive(int T, int M, int steps, const double *Hb, const double *Ht,
                                 double eta, const double *B, const double *p,
                                 const double *threshold, double *A, double *spare) {
  const int K = T + M;
  const ptrdiff_t row = LANES;
  double *eB = spare, *a = A, *next = spare + row * K;
  scale_rows(K, eta, B, eB);
  for (int q = 0; q < steps; q++) {
    for (int k = 0; k < M; k += PANEL)
      ista_rows(K, M - k, Hb + (ptrdiff_t)COPIES * k * K, a, eB + row * (T + k), threshold,
                next + row * (T + k));
    for (int t = 0; t < T; t += PANEL)
      ista_target_rows(K, T - t, Ht + (ptrdiff_t)COPIES * t * K, a + row * T, eB + row * t, p,
                       threshold, a + row * (K + t), next + row * (K + t), next + row * t);
    double *swap = a;
    a = next;
    next = swap;
  }
  if (a != A)
    for (ptrdiff_t i = 0; i < (K + T) * row; i++) A[i] = a[i];
}

/* ---- residuals by the Gram matrix ----------------------------------------------- */

INLINE strip times(strip x, strip y) { return (strip){x.a * y.a, x.b * y.b, x.c * y.c}; }
INLINE strip plus(strip x, strip y) { return (strip){x.a + y.a, x.b + y.b, x.c + y.c}; }
INLINE strip magnitude(strip x) {
  return (strip){higher(x.a, -x.a), higher(x.b, -x.b), higher(x.c, -x.c)};
}

/* r = sum_k a_k (sum_l G_kl a_l - 2 b_k) and size = sum_k norm_k |a_k| for the lanes of a tile */
TARGET static void quadratic(int K, const double *G, int ldg, const double *norm, const double *A,
                             const double *B, double *r, double *size) {
  const V minus2 = splat(-2);
  strip sum = splat_strip(0), sizes = sum;
  for (int k = 0; k < K; k += 4) {
    const int rows = K - k;
    quad s = zero_quad();
    for (int l = 0; l < K; l++) {
      const four g = four_from(G + (ptrdiff_t)ldg * l + k, 1, rows);
      s = add_products(s, g.r0, g.r1, g.r2, g.r3, load_strip(A + (ptrdiff_t)LANES * l));
    }
    const strip row[] = {s.r0, s.r1, s.r2, s.r3};
    for (int i = 0; i < 4 && i < rows; i++) {
      const strip a = load_strip(A + (ptrdiff_t)LANES * (k + i)),
                  b = load_strip(B + (ptrdiff_t)LANES * (k + i));
      sum = plus(sum, times(a, add_product(row[i], minus2, b)));
      sizes = add_product(sizes, splat(norm[k + i]), magnitude(a));
    }
  }
  store_strip(r, sum);
  store_strip(size, sizes);
}

/* ---- dot products: four columns by three, lanes along the features ------------------ */

/* s + x_r y_c over `whole` features; fetch: asks for two more columns meanwhile */
INLINE quad add_dots(quad s, int whole, four x, four y, int fetch, const double *ahead,
                     const double *other) {
  for (int l = 0; l < whole; l += VEC) {
    if (fetch) __builtin_prefetch(ahead + l), __builtin_prefetch(other + l);
    const strip of_y = {load(y.r0 + l), load(y.r1 + l), load(y.r2 + l)};
    s.r0 = add_product(s.r0, held(load(x.r0 + l)), of_y),
    s.r1 = add_product(s.r1, held(load(x.r1 + l)), of_y);
    s.r2 = add_product(s.r2, held(load(x.r2 + l)), of_y),
    s.r3 = add_product(s.r3, held(load(x.r3 + l)), of_y);
  }
  return s;
}

/* dots[c]: the four dot products with y_c, with the features that fill no vector */
INLINE void finish_dots(quad s, int whole, int len, four x, four y, double dots[3][4]) {
  sums_of(s.r0.a, s.r1.a, s.r2.a, s.r3.a, dots[0]);
  sums_of(s.r0.b, s.r1.b, s.r2.b, s.r3.b, dots[1]);
  sums_of(s.r0.c, s.r1.c, s.r2.c, s.r3.c, dots[2]);
  for (int l = whole; l < len; l++) {
    const double of_x[] = {x.r0[l], x.r1[l], x.r2[l], x.r3[l]},
                 of_y[] = {y.r0[l], y.r1[l], y.r2[l]};
    for (int c = 0; c < 3; c++)
      for (int r = 0; r < 4; r++) dots[c][r] += of_x[r] * of_y[c];
  }
}

/* C = A'B */
TARGET static void inner(int d, int m, int n, const double *A, const double *B, double *C,
                         int ldc) {
  const int whole = d / VEC * VEC;
  double dots[3][4];
  for (int k = 0; k < n; k += 3)
    for (int i = 0; i < m; i += 4) {
      const four x = four_from(A + (ptrdiff_t)i * d, d, m - i),
                 y = four_from(B + (ptrdiff_t)k * d, d, n - k);
      finish_dots(add_dots(zero_quad(), whole, x, y, 0, NULL, NULL), whole, d, x, y, dots);
      for (int c = 0; c < 3 && c < n - k; c++)
        for (int r = 0; r < 4 && r < m - i; r++) C[(i + r) + (ptrdiff_t)ldc * (k + c)] = dots[c][r];
    }
}

/* scale * dots of up to four instances, into a row of B or added to it: the first two go to `at`,
 * the others to `then`, because a tile may end between them */
INLINE void put_dots(int n, int add, const double *dots, const double *scale, double *at,
                     double *then) {
  if (n >= 4) {
    pair one = *(const pair *)scale * *(const pair *)dots;
    pair two = *(const pair *)(scale + 2) * *(const pair *)(dots + 2);
    if (add) one += *(pair *)at, two += *(pair *)then;
    *(pair *)at = one, *(pair *)then = two;
  } else {
    for (int r = 0; r < n; r++) {
      double *o = r < 2 ? at + r : then;
      *o = (add ? *o : 0) + scale[r] * dots[r];
    }
  }
}

/* B = D'X, scaled by instance; features in chunks that stay in the first cache. The first six atoms
 * fetch the next four instances, two for each three atoms; after the last instance of a chunk comes
 * the first of the next. */
TARGET static void project(int d, int n, int K, const double *X, const double *scale,
                           const double *D, double *B, int rows) {
  enum { CHUNK = 256 };
  double dots[3][4];
  for (int from = 0; from < d; from += CHUNK) {
    const int len = d - from < CHUNK ? d - from : CHUNK, whole = len / VEC * VEC;
    for (int i = 0; i < n; i += 4) {
      const int ni = n - i;
      const double *xi = X + (ptrdiff_t)i * d + from;
      const double *next = ni > 4             ? xi + (ptrdiff_t)4 * d
                           : from + CHUNK < d ? X + from + CHUNK
                                              : xi;
      const four x = four_from(xi, d, ni), ahead = four_from(next, d, ni > 4 ? ni - 4 : n);
      double *at = B + fumi_at(LANES, rows, 0, i),
             *then = B + fumi_at(LANES, rows, 0, i + (ni > 2 ? 2 : 0));
      for (int k = 0; k < K; k += 3) {
        const int odd = k / 3 % 2;
        const four y = four_from(D + (ptrdiff_t)k * d + from, d, K - k);
        const quad s = add_dots(zero_quad(), whole, x, y, 1, odd ? ahead.r2 : ahead.r0,
                                odd ? ahead.r3 : ahead.r1);
        finish_dots(s, whole, len, x, y, dots);
        for (int c = 0; c < 3 && c < K - k; c++)
          put_dots(ni, from > 0, dots[c], scale + i, at + (k + c) * LANES, then + (k + c) * LANES);
      }
    }
  }
}

/* S += A W': lanes along the instances */
TARGET static void gram(int tiles, int K, const double *A, const double *W, int rows, double *S,
                        int lds) {
  double dots[3][4];
  for (int i = 0; i < K; i += 4)
    for (int k = 0; k < K; k += 3) {
      quad s = zero_quad();
      four a = {0}, w = {0};
      for (int tile = 0; tile < tiles; tile++) {
        a = four_from(A + ((ptrdiff_t)tile * rows + i) * LANES, LANES, K - i);
        w = four_from(W + ((ptrdiff_t)tile * rows + k) * LANES, LANES, K - k);
        s = add_dots(s, LANES, a, w, 0, NULL, NULL);
      }
      finish_dots(s, LANES, LANES, a, w, dots);
      for (int c = 0; c < 3 && c < K - k; c++)
        for (int r = 0; r < 4 && r < K - i; r++)
          S[(i + r) + (ptrdiff_t)lds * (k + c)] += dots[c][r];
    }
}

/* ---- products of strips of features with codes ---------------------------------------- */

/* A strip of `len` features of n columns, one after the other, filled up with 0 to LANES. */
INLINE void pack_strip(int d, int n, int len, const double *X, double *pack) {
  for (int i = 0; i < n; i++, X += d, pack += LANES)
    if (len >= LANES) store_strip(pack, load_strip(X));
    else
      for (int l = 0; l < LANES; l++) pack[l] = l < len ? X[l] : 0;
}

INLINE void add_strip(double *o, strip s) { store_strip(o, plus(load_strip(o), s)); }

/* s + w_i x_i for one instance: a strip of its features, times its codes of four atoms. copy: where
 * to leave that strip, or NULL */
INLINE quad add_instance(quad s, four w, int i, const double *x, double *copy) {
  const strip xi = load_strip(x);
  if (copy) store_strip(copy, xi);
  return (quad){add_multiples(s.r0, w.r0, i, xi), add_multiples(s.r1, w.r1, i, xi),
                add_multiples(s.r2, w.r2, i, xi), add_multiples(s.r3, w.r3, i, xi)};
}

INLINE four four_on(four f, ptrdiff_t by) {
  return (four){f.r0 + by, f.r1 + by, f.r2 + by, f.r3 + by};
}

/* The same summed over n instances whose features are `stride` apart, by two; the last tile of
 * codes may have an odd number of them. */
INLINE quad add_instances(int n, const double *x, ptrdiff_t stride, const double *W, ptrdiff_t tile,
                          int atoms, double *copy) {
  quad s = zero_quad();
  four w = four_from(W, LANES, atoms);
  for (int left = n; left > 0; left -= LANES) {
    const int pairs = left < LANES ? left / 2 : LANES / 2;
    for (int i = 0; i < pairs; i++) {
      s = add_instance(s, w, 0, x, copy);
      s = add_instance(s, w, 1, x + stride, copy ? copy + LANES : NULL);
      x += 2 * stride, w = four_on(w, 2), copy = copy ? copy + 2 * LANES : NULL;
    }
    if (left < LANES && left % 2 == 1) s = add_instance(s, w, 0, x, copy);
    w = four_on(w, tile - LANES);
  }
  return s;
}

/* U += X W': LANES features by four atoms. The first four atoms read X itself and leave the strip
 * of features one instance after the other for the rest: in X a power-of-two stride would throw it
 * out of the first cache. */
TARGET static void accumulate(int d, int n, int K, const double *X, const double *W, int rows,
                              double *U, int ldu, double *pack) {
  const ptrdiff_t tile = (ptrdiff_t)rows * LANES;
  for (int from = 0; from < d; from += LANES) {
    const int packed = d - from < LANES;
    if (packed) pack_strip(d, n, d - from, X + from, pack);
    for (int k = 0; k < K; k += 4) {
      const int nk = K - k;
      const double *w = W + (ptrdiff_t)k * LANES;
      double *u = U + (ptrdiff_t)ldu * k + from;
      const quad s = k > 0 || packed ? add_instances(n, pack, LANES, w, tile, nk, NULL)
                                     : add_instances(n, X + from, d, w, tile, nk, pack);
      add_strip(u, s.r0);
      if (nk > 1) add_strip(u + ldu, s.r1);
      if (nk > 2) add_strip(u + (ptrdiff_t)2 * ldu, s.r2);
      if (nk > 3) add_strip(u + (ptrdiff_t)3 * ldu, s.r3);
    }
  }
}

/* the squares of scale x - s, added up over the strip */
INLINE V squares(double scale, const double *x, strip s) {
  const strip e = add_product((strip){-s.a, -s.b, -s.c}, splat(scale), load_strip(x));
  return e.a * e.a + e.b * e.b + e.c * e.c;
}

/* r_i = ||scale_i x_i - D a_i||^2 for n instances `which`: four of them by LANES features */
TARGET static void residual(int d, int n, const int *which, int K, const double *X,
                            const double *scale, const double *D, const double *A, int rows,
                            double *r, double *pack) {
  double last[4 * LANES], sums[4];
  for (int from = 0; from < d; from += LANES) {
    const int len = d - from;
    pack_strip(d, K, len, D + from, pack);
    for (int g = 0; g < n; g += 4) {
      const int i[] = {which[g], which[n - g > 1 ? g + 1 : g], which[n - g > 2 ? g + 2 : g],
                       which[n - g > 3 ? g + 3 : g]};
      const double *a[4], *x[4];
      for (int m = 0; m < 4; m++) {
        a[m] = A + fumi_at(LANES, rows, 0, i[m]);
        x[m] = X + (ptrdiff_t)d * i[m] + from;
        if (len >= LANES) continue;
        pack_strip(d, 1, len, x[m], last + m * LANES);
        x[m] = last + m * LANES;
      }
      quad s = zero_quad();
      for (ptrdiff_t k = 0; k < (ptrdiff_t)K * LANES; k += LANES)
        s = add_products(s, a[0] + k, a[1] + k, a[2] + k, a[3] + k, load_strip(pack + k));
      sums_of(squares(scale[i[0]], x[0], s.r0), squares(scale[i[1]], x[1], s.r1),
              squares(scale[i[2]], x[2], s.r2), squares(scale[i[3]], x[3], s.r3), sums);
      for (int m = 0; m < 4 && m < n - g; m++) r[i[m]] = (from > 0 ? r[i[m]] : 0) + sums[m];
    }
  }
}

/* ---- one instance ------------------------------------------------------------------------ */

/* q = b - sum_i v_i G[, active_i]: four vectors at a time, then one, then one number */
TARGET static void correlate(int K, int n, const int *active, const double *v, const double *G,
                             int ldg, const double *b, double *q) {
  int k = 0;
  for (; k + 4 * VEC <= K; k += 4 * VEC) {
    V y0 = load(b + k), y1 = load(b + k + VEC), y2 = load(b + k + 2 * VEC),
      y3 = load(b + k + 3 * VEC);
    for (int i = 0; i < n; i++) {
      const double *g = G + (ptrdiff_t)ldg * active[i] + k;
      const V vi = splat(v[i]);
      y0 -= vi * load(g), y1 -= vi * load(g + VEC), y2 -= vi * load(g + 2 * VEC),
          y3 -= vi * load(g + 3 * VEC);
    }
    store(q + k, y0), store(q + k + VEC, y1), store(q + k + 2 * VEC, y2),
        store(q + k + 3 * VEC, y3);
  }
  for (; k + VEC <= K; k += VEC) {
    V y = load(b + k);
    for (int i = 0; i < n; i++) y -= splat(v[i]) * load(G + (ptrdiff_t)ldg * active[i] + k);
    store(q + k, y);
  }
  for (; k < K; k++) {
    q[k] = b[k];
    for (int i = 0; i < n; i++) q[k] -= v[i] * G[(ptrdiff_t)ldg * active[i] + k];
  }
}

/* the largest |q_k| */
TARGET static double peak(int K, const double *q) {
  const int whole = K / VEC * VEC;
  V most = splat(0);
  double of_all = 0;
  for (int k = 0; k < whole; k += VEC) {
    const V y = load(q + k);
    most = higher(most, higher(y, -y));
  }
  for (int e = 0; e < VEC; e++) of_all = most[e] > of_all ? most[e] : of_all;
  for (int k = whole; k < K; k++) {
    const double size = q[k] < 0 ? -q[k] : q[k];
    of_all = size > of_all ? size : of_all;
  }
  return of_all;
}

#define KERNEL(name)                                                                      \
  {                                                                                       \
    name, LANES, COPIES, PANEL, project, quadratic, residual, ista, ista_positive, inner, \
        accumulate, gram, correlate, peak                                                 \
  }
