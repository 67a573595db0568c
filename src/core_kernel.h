/* core_kernel.h: the inner loops, written once in GNU vector types and included
 * by core_kernel.c once for each instruction set, with
 *
 *   NAME(x)    the name of a function of this instruction set
 *   TARGET     the function attribute that switches it on
 *   VEC        doubles in a vector; a row of a tile is LANES = 3 VEC instances
 *   VMIN, VMAX elementwise minimum and maximum of two vectors
 *
 * Each kernel keeps a 4 x 3 tile of vector accumulators in registers: rows s0..s3,
 * columns a, b, c. They are named variables, not arrays, because compilers at -O2
 * leave arrays in memory. */

typedef double NAME(vector) __attribute__((vector_size(8 * VEC), aligned(8), may_alias));
#define V NAME(vector)
#define LANES (3 * VEC)
#define LOAD(ptr) (*(const V *)(ptr))
#define STORE(ptr) (*(V *)(ptr))

#define ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#define DECLARE(r) V s##r##a, s##r##b, s##r##c;
#define ZERO(r) s##r##a = s##r##b = s##r##c = (V){0};
#define MULTIPLY_ADD(r, h) s##r##a += (h) * xa; s##r##b += (h) * xb; s##r##c += (h) * xc;
#define LOAD_X(ptr) const V xa = LOAD(ptr), xb = LOAD((ptr) + VEC), xc = LOAD((ptr) + 2 * VEC);

/* s_r += sum_j H[r, j] in_j for a panel of four rows of coefficients */
#define MULTIPLY_PANEL(n_in, H, in)                                           \
  for (int j = 0; j < (n_in); j++) {                                          \
    const double *h = (H) + FUMI_PANEL * j;                                   \
    LOAD_X((in) + (ptrdiff_t)LANES * j)                                       \
    MULTIPLY_ADD(0, h[0]) MULTIPLY_ADD(1, h[1])                               \
    MULTIPLY_ADD(2, h[2]) MULTIPLY_ADD(3, h[3])                               \
  }

/* S_l(t) = t - min(max(t, -l), l), the soft threshold of eq. 12 and 13 */
#define SOFT(t, l) ((t) - VMAX(VMIN((t), (l)), -(l)))

/* ---- ISTA ------------------------------------------------------------------ */

#define START(r) {                                                            \
  const double *b = B + (ptrdiff_t)LANES * (r < rows ? r : 0);                \
  s##r##a = eta * LOAD(b); s##r##b = eta * LOAD(b + VEC); s##r##c = eta * LOAD(b + 2 * VEC); }
#define FINISH(r) if (r < rows) {                                             \
  double *o = out + (ptrdiff_t)LANES * r;                                     \
  STORE(o) = SOFT(s##r##a, l); STORE(o + VEC) = SOFT(s##r##b, l);             \
  STORE(o + 2 * VEC) = SOFT(s##r##c, l); }

/* out = S_threshold(eta b + H in) for up to four rows */
TARGET static inline void NAME(ista_rows)(int n_in, int rows, const double *restrict H,
                                          const double *restrict in, double eta,
                                          const double *restrict B, double threshold,
                                          double *restrict out) {
  ROWS(DECLARE) ROWS(START)
  const V l = (V){0} + threshold;
  MULTIPLY_PANEL(n_in, H, in)
  ROWS(FINISH)
}

#define FINISH_LANES(r, c, at) {                                              \
  const V w = LOAD(p + (at)), l = threshold * w;                              \
  const V t = LOAD(old + (ptrdiff_t)LANES * r + (at)) + w * s##r##c;          \
  const V u = SOFT(t, l);                                                     \
  STORE(out + (ptrdiff_t)LANES * r + (at)) = u;                               \
  STORE(out_p + (ptrdiff_t)LANES * r + (at)) = w * u; }
#define FINISH_TARGET(r) if (r < rows) {                                      \
  FINISH_LANES(r, a, 0) FINISH_LANES(r, b, VEC) FINISH_LANES(r, c, 2 * VEC) }

/* out = S_{threshold p}(old + p (eta b + H in)), out_p = p out, up to four rows */
TARGET static inline void NAME(ista_target_rows)(int n_in, int rows, const double *restrict H,
                                                 const double *restrict in, double eta,
                                                 const double *restrict B,
                                                 const double *restrict p, double threshold,
                                                 const double *restrict old, double *restrict out,
                                                 double *restrict out_p) {
  ROWS(DECLARE) ROWS(START)
  MULTIPLY_PANEL(n_in, H, in)
  ROWS(FINISH_TARGET)
}

/* eq. 13: a <- S_threshold(a + eta (b - G a)) = S_threshold(eta b + H a), H = I - eta G */
TARGET static void NAME(ista)(int K, int steps, const double *H, double eta, const double *B,
                              double threshold, double *A, double *spare) {
  double *a = A, *next = spare;
  for (int q = 0; q < steps; q++) {
    for (int k = 0; k < K; k += FUMI_PANEL)
      NAME(ista_rows)(K, K - k, H + (ptrdiff_t)k * K, a, eta, B + (ptrdiff_t)LANES * k, threshold,
                      next + (ptrdiff_t)LANES * k);
    double *swap = a; a = next; next = swap;
  }
  if (a != A) for (ptrdiff_t i = 0; i < (ptrdiff_t)K * LANES; i++) A[i] = a[i];
}

/* eq. 10-12 on a tile of rows [p a_t; a_b; a_t]: background rows read the first K
 * rows, whose target part is already weighted by p; target rows read the last K
 * rows and are weighted by p as a whole. Ht has its columns in that order. */
TARGET static void NAME(ista_positive)(int T, int M, int steps, const double *Hb, const double *Ht,
                                       double eta, const double *B, const double *p,
                                       double threshold, double *A, double *spare) {
  const int K = T + M;
  const ptrdiff_t row = LANES;
  double *a = A, *next = spare;
  for (int q = 0; q < steps; q++) {
    for (int k = 0; k < M; k += FUMI_PANEL)
      NAME(ista_rows)(K, M - k, Hb + (ptrdiff_t)k * K, a, eta, B + row * (T + k), threshold,
                      next + row * (T + k));
    for (int t = 0; t < T; t += FUMI_PANEL)
      NAME(ista_target_rows)(K, T - t, Ht + (ptrdiff_t)t * K, a + row * T, eta, B + row * t, p,
                             threshold, a + row * (K + t), next + row * (K + t), next + row * t);
    double *swap = a; a = next; next = swap;
  }
  if (a != A) for (ptrdiff_t i = 0; i < (K + T) * row; i++) A[i] = a[i];
}

/* ---- residuals -------------------------------------------------------------- */

/* r = sum_k a_k (sum_l G_kl a_l - 2 b_k) = ||x - Da||^2 - ||x||^2 for the lanes of a tile */
TARGET static void NAME(quadratic)(int K, const double *G, int ldg, const double *A,
                                   const double *B, double *r) {
  V ra = {0}, rb = {0}, rc = {0};
  for (int k = 0; k < K; k++) {
    const double *b = B + (ptrdiff_t)LANES * k, *a = A + (ptrdiff_t)LANES * k;
    const double *g = G + (ptrdiff_t)ldg * k;
    V sa = -2 * LOAD(b), sb = -2 * LOAD(b + VEC), sc = -2 * LOAD(b + 2 * VEC);
    for (int l = 0; l < K; l++) {
      LOAD_X(A + (ptrdiff_t)LANES * l)
      sa += g[l] * xa; sb += g[l] * xb; sc += g[l] * xc;
    }
    ra += LOAD(a) * sa; rb += LOAD(a + VEC) * sb; rc += LOAD(a + 2 * VEC) * sc;
  }
  STORE(r) = ra; STORE(r + VEC) = rb; STORE(r + 2 * VEC) = rc;
}

/* ---- products with X --------------------------------------------------------- */

TARGET static inline double NAME(sum)(V v) {
  double s = 0;
  for (int e = 0; e < VEC; e++) s += v[e];
  return s;
}

#define DOT(r) { const V y = LOAD(x##r + l); s##r##a += y * ya; s##r##b += y * yb; s##r##c += y * yc; }
#define PUT_DOT(r, c, col) if (r < ni && col < nk) {                          \
  double s = NAME(sum)(s##r##c);                                              \
  for (int l = whole; l < len; l++) s += x##r[l] * d##col[l];                 \
  double *o = B + fumi_at(LANES, rows, k + col, i + r);                       \
  *o = (from ? *o : 0) + scale[i + r] * s; }
#define PUT_DOTS(r) PUT_DOT(r, a, 0) PUT_DOT(r, b, 1) PUT_DOT(r, c, 2)

/* B = D'X, scaled by instance: four instances by three atoms, lanes along the features,
 * features in chunks that stay in the first cache */
TARGET static void NAME(project)(int d, int n, int K, const double *X, const double *scale,
                                 const double *D, double *B, int rows) {
  enum { CHUNK = 512 };
  for (int from = 0; from < d; from += CHUNK) {
    const int len = d - from < CHUNK ? d - from : CHUNK, whole = len / VEC * VEC;
    for (int i = 0; i < n; i += 4) {
      const int ni = n - i;
      const double *x0 = X + (ptrdiff_t)i * d + from, *x1 = ni > 1 ? x0 + d : x0,
                   *x2 = ni > 2 ? x1 + d : x0, *x3 = ni > 3 ? x2 + d : x0;
      for (int k = 0; k < K; k += 3) {
        const int nk = K - k;
        const double *d0 = D + (ptrdiff_t)k * d + from, *d1 = nk > 1 ? d0 + d : d0,
                     *d2 = nk > 2 ? d1 + d : d0;
        ROWS(DECLARE) ROWS(ZERO)
        for (int l = 0; l < whole; l += VEC) {
          const V ya = LOAD(d0 + l), yb = LOAD(d1 + l), yc = LOAD(d2 + l);
          ROWS(DOT)
        }
        ROWS(PUT_DOTS)
      }
    }
  }
}

#define ADD_TO_U(r) if (r < nk) {                                             \
  double *o = U + (ptrdiff_t)ldu * (k + r) + from;                            \
  STORE(o) += s##r##a; STORE(o + VEC) += s##r##b; STORE(o + 2 * VEC) += s##r##c; }

/* A strip of LANES features of n instances, one after the other: in X itself a power-of-two
 * stride would throw it out of the first cache. */
TARGET static void NAME(pack_strip)(int d, int n, int len, const double *X, double *pack) {
  for (int i = 0; i < n; i++, X += d, pack += LANES) {
    if (len == LANES) {
      LOAD_X(X)
      STORE(pack) = xa; STORE(pack + VEC) = xb; STORE(pack + 2 * VEC) = xc;
    } else {
      for (int l = 0; l < LANES; l++) pack[l] = l < len ? X[l] : 0;
    }
  }
}

/* U += X W': LANES features by four atoms */
TARGET static void NAME(accumulate)(int d, int n, int K, const double *X, const double *W, int rows,
                                    double *U, int ldu, double *pack) {
  for (int from = 0; from < d; from += LANES) {
    NAME(pack_strip)(d, n, d - from < LANES ? d - from : LANES, X + from, pack);
    for (int k = 0; k < K; k += 4) {
      const int nk = K - k, to1 = nk > 1 ? LANES : 0, to2 = nk > 2 ? 2 * LANES : 0,
                to3 = nk > 3 ? 3 * LANES : 0;
      const double *x = pack;
      ROWS(DECLARE) ROWS(ZERO)
      for (int first = 0; first < n; first += LANES) {
        const double *w = W + fumi_at(LANES, rows, k, first);
        const double *end = w + (n - first < LANES ? n - first : LANES);
        for (; w < end; w++, x += LANES) {
          LOAD_X(x)
          MULTIPLY_ADD(0, w[0]) MULTIPLY_ADD(1, w[to1])
          MULTIPLY_ADD(2, w[to2]) MULTIPLY_ADD(3, w[to3])
        }
      }
      ROWS(ADD_TO_U)
    }
  }
}

#define PUT_GRAM(r, c, col) \
  if (r < ni && col < nk) S[(i + r) + (ptrdiff_t)lds * (k + col)] += NAME(sum)(s##r##c);
#define PUT_GRAMS(r) PUT_GRAM(r, a, 0) PUT_GRAM(r, b, 1) PUT_GRAM(r, c, 2)

/* S += A W': four atoms by three, lanes along the instances */
TARGET static void NAME(gram)(int tiles, int K, const double *A, const double *W, int rows,
                              double *S, int lds) {
  for (int i = 0; i < K; i += 4) {
    for (int k = 0; k < K; k += 3) {
      const int ni = K - i, nk = K - k;
      ROWS(DECLARE) ROWS(ZERO)
      for (int tile = 0; tile < tiles; tile++) {
        const double *x0 = A + ((ptrdiff_t)tile * rows + i) * LANES,
                     *x1 = ni > 1 ? x0 + LANES : x0, *x2 = ni > 2 ? x1 + LANES : x0,
                     *x3 = ni > 3 ? x2 + LANES : x0;
        const double *w = W + ((ptrdiff_t)tile * rows + k) * LANES;
        for (int l = 0; l < LANES; l += VEC) {
          const V ya = LOAD(w + l), yb = LOAD(w + (nk > 1 ? LANES : 0) + l),
                  yc = LOAD(w + (nk > 2 ? 2 * LANES : 0) + l);
          ROWS(DOT)
        }
      }
      ROWS(PUT_GRAMS)
    }
  }
}

static const fumi_kernel NAME(kernel) = {KERNEL_NAME,     LANES,         NAME(project),
                                         NAME(quadratic), NAME(ista),    NAME(ista_positive),
                                         NAME(accumulate), NAME(gram)};

#undef V
#undef LANES
#undef LOAD
#undef STORE
#undef ROWS
#undef DECLARE
#undef ZERO
#undef MULTIPLY_ADD
#undef LOAD_X
#undef MULTIPLY_PANEL
#undef SOFT
#undef START
#undef FINISH
#undef FINISH_LANES
#undef FINISH_TARGET
#undef DOT
#undef PUT_DOT
#undef PUT_DOTS
#undef ADD_TO_U
#undef PUT_GRAM
#undef PUT_GRAMS
