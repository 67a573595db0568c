/* core_kernel.h: the inner loops, written once in GNU vector types and included
 * by core_kernel.c once for each instruction set, with
 *
 *   NAME(x)    the name of a function of this instruction set
 *   TARGET     the function attribute that switches it on
 *   VEC        doubles in a vector; a row of a tile is LANES = 3 VEC instances
 *   COPIES     times that a panel holds a coefficient, and COEFFICIENT, a vector of it: where there is no
 *              instruction to load one number into a whole vector, all of it is in the panel
 *   PANEL      rows of a panel of coefficients, and PANEL_ROWS(DO), that many DO()
 *   VMIN, VMAX elementwise minimum and maximum of two vectors
 *   VSPLAT     a vector of one number
 *   VFMA       a + b * c, fused where the instruction set can
 *   HOLD       keeps a vector that was loaded in its register, where a compiler would load it for each use
 *   VSUMS      the sums over each of four vectors, into an array
 *
 * Each kernel keeps a 4 x 3 tile of vector accumulators in registers, or PANEL x 3: rows s0, s1, ...,
 * columns a, b, c. They are named variables, not arrays, because compilers at -O2
 * leave arrays in memory. */

typedef double NAME(vector) __attribute__((vector_size(8 * VEC), aligned(8), may_alias));
typedef double NAME(tile_vector) __attribute__((vector_size(8 * VEC), aligned(16), may_alias));
#define QUAD (VEC < 4 ? VEC : 4) /* doubles of a vector for the results of four instances */
typedef double NAME(quad_vector) __attribute__((vector_size(8 * QUAD), aligned(8), may_alias));
#define V NAME(vector)
#define LANES (3 * VEC)
#define LOAD(ptr) (*(const V *)(ptr))
#define STORE(ptr) (*(V *)(ptr))
#define TILE(ptr) ((V)*(const NAME(tile_vector) *)(ptr)) /* from a tile or panel, which are aligned */

#define ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#define DECLARE(r) V s##r##a, s##r##b, s##r##c;
#define ZERO(r) s##r##a = s##r##b = s##r##c = (V){0};
#define MULTIPLY_ADD(r, h) MULTIPLY_VECTOR(r, VSPLAT(h))
#define MULTIPLY_VECTOR(r, h) { const V y = (h);                               \
  s##r##a = VFMA(s##r##a, y, xa); s##r##b = VFMA(s##r##b, y, xb); s##r##c = VFMA(s##r##c, y, xc); }
#define LOAD_X(ptr) const V xa = LOAD(ptr), xb = LOAD((ptr) + VEC), xc = LOAD((ptr) + 2 * VEC);

/* s_r += sum_j H[r, j] in_j for the rows of a panel of coefficients */
#define MULTIPLY_COEFFICIENT(r) MULTIPLY_VECTOR(r, COEFFICIENT(h + COPIES * r))
#define MULTIPLY_PANEL(THESE, n_in, H, in)                                    \
  for (int j = 0; j < (n_in); j++) {                                          \
    const double *h = (H) + (ptrdiff_t)COPIES * PANEL * j;                    \
    const double *x = (in) + (ptrdiff_t)LANES * j;                            \
    const V xa = TILE(x), xb = TILE(x + VEC), xc = TILE(x + 2 * VEC);         \
    THESE(MULTIPLY_COEFFICIENT)                                               \
  }

/* t - max(min(t, l), low): the soft threshold of eq. 12 and 13 for low = -l, that of a code that must not be
 * negative, max(t - l, 0), for a low beyond every t */
#define SOFT(t, l, low) ((t) - VMAX(VMIN((t), (l)), (low)))

/* ---- ISTA ------------------------------------------------------------------ */

#define START(r) {                                                            \
  const double *e = eB + (ptrdiff_t)LANES * (r < rows ? r : 0);               \
  s##r##a = LOAD(e); s##r##b = LOAD(e + VEC); s##r##c = LOAD(e + 2 * VEC); }
#define FINISH(r) if (r < rows) {                                             \
  double *o = out + (ptrdiff_t)LANES * r;                                     \
  STORE(o) = SOFT(s##r##a, l, low); STORE(o + VEC) = SOFT(s##r##b, l, low);   \
  STORE(o + 2 * VEC) = SOFT(s##r##c, l, low); }

#define ISTA_ROWS(THESE) {                                                    \
  THESE(DECLARE) THESE(START)                                                 \
  MULTIPLY_PANEL(THESE, n_in, H, in)                                          \
  const V l = VSPLAT(threshold[0]), low = VSPLAT(threshold[1]);               \
  THESE(FINISH) }

/* out = S_threshold(eB + H in) for up to PANEL rows; the threshold stays in memory, because the
 * loop has no register left for it */
TARGET static inline void NAME(ista_rows)(int n_in, int rows, const double *restrict H,
                                          const double *restrict in, const double *restrict eB,
                                          const double *restrict threshold, double *restrict out) {
  if (rows > 4) ISTA_ROWS(PANEL_ROWS)
  else ISTA_ROWS(ROWS)
}

#define FINISH_LANES(r, c, at) {                                              \
  const V w = LOAD(p + (at)), l = threshold[0] * w, low = threshold[1] * w;   \
  const V t = LOAD(old + (ptrdiff_t)LANES * r + (at)) + w * s##r##c;          \
  const V u = SOFT(t, l, low);                                                \
  STORE(out + (ptrdiff_t)LANES * r + (at)) = u;                               \
  STORE(out_p + (ptrdiff_t)LANES * r + (at)) = w * u; }
#define FINISH_TARGET(r) if (r < rows) {                                      \
  FINISH_LANES(r, a, 0) FINISH_LANES(r, b, VEC) FINISH_LANES(r, c, 2 * VEC) }

#define ISTA_TARGET_ROWS(THESE) {                                             \
  THESE(DECLARE) THESE(START)                                                 \
  MULTIPLY_PANEL(THESE, n_in, H, in)                                          \
  THESE(FINISH_TARGET) }

/* out = S_{threshold p}(old + p (eB + H in)), out_p = p out, up to PANEL rows */
TARGET static inline void NAME(ista_target_rows)(int n_in, int rows, const double *restrict H,
                                                 const double *restrict in,
                                                 const double *restrict eB,
                                                 const double *restrict p,
                                                 const double *restrict threshold,
                                                 const double *restrict old, double *restrict out,
                                                 double *restrict out_p) {
  if (rows > 4) ISTA_TARGET_ROWS(PANEL_ROWS)
  else ISTA_TARGET_ROWS(ROWS)
}

/* eB = eta B */
TARGET static inline void NAME(scale_rows)(int rows, double eta, const double *B, double *eB) {
  for (ptrdiff_t i = 0; i < (ptrdiff_t)LANES * rows; i += VEC) STORE(eB + i) = eta * LOAD(B + i);
}

/* eq. 13: a <- S_threshold(a + eta (b - G a)) = S_threshold(eta b + H a), H = I - eta G */
TARGET static void NAME(ista)(int K, int steps, const double *H, double eta, const double *B,
                              const double *threshold, double *A, double *spare) {
  const ptrdiff_t row = LANES;
  double *eB = spare, *a = A, *next = spare + row * K;
  NAME(scale_rows)(K, eta, B, eB);
  for (int q = 0; q < steps; q++) {
    for (int k = 0; k < K; k += PANEL)
      NAME(ista_rows)(K, K - k, H + (ptrdiff_t)COPIES * k * K, a, eB + row * k, threshold, next + row * k);
    double *swap = a; a = next; next = swap;
  }
  if (a != A) for (ptrdiff_t i = 0; i < row * K; i++) A[i] = a[i];
}

/* eq. 10-12 on a tile of rows [p a_t; a_b; a_t]: background rows read the first K
 * rows, whose target part is already weighted by p; target rows read the last K
 * rows and are weighted by p as a whole. Ht has its columns in that order. */
TARGET static void NAME(ista_positive)(int T, int M, int steps, const double *Hb, const double *Ht,
                                       double eta, const double *B, const double *p,
                                       const double *threshold, double *A, double *spare) {
  const int K = T + M;
  const ptrdiff_t row = LANES;
  double *eB = spare, *a = A, *next = spare + row * K;
  NAME(scale_rows)(K, eta, B, eB);
  for (int q = 0; q < steps; q++) {
    for (int k = 0; k < M; k += PANEL)
      NAME(ista_rows)(K, M - k, Hb + (ptrdiff_t)COPIES * k * K, a, eB + row * (T + k), threshold,
                      next + row * (T + k));
    for (int t = 0; t < T; t += PANEL)
      NAME(ista_target_rows)(K, T - t, Ht + (ptrdiff_t)COPIES * t * K, a + row * T, eB + row * t, p,
                             threshold, a + row * (K + t), next + row * (K + t), next + row * t);
    double *swap = a; a = next; next = swap;
  }
  if (a != A) for (ptrdiff_t i = 0; i < (K + T) * row; i++) A[i] = a[i];
}

/* ---- residuals -------------------------------------------------------------- */

#define START_RESIDUAL(r) {                                                   \
  const double *b = B + (ptrdiff_t)LANES * (k + (r < rows ? r : 0));          \
  s##r##a = -2 * LOAD(b); s##r##b = -2 * LOAD(b + VEC); s##r##c = -2 * LOAD(b + 2 * VEC); }
#define ADD_RESIDUAL(r) if (r < rows) {                                       \
  LOAD_X(A + (ptrdiff_t)LANES * (k + r))                                      \
  ra = VFMA(ra, xa, s##r##a); rb = VFMA(rb, xb, s##r##b); rc = VFMA(rc, xc, s##r##c); }

/* r = sum_k a_k (sum_l G_kl a_l - 2 b_k) = ||x - Da||^2 - ||x||^2 for the lanes of a tile */
TARGET static void NAME(quadratic)(int K, const double *G, int ldg, const double *A,
                                   const double *B, double *r) {
  V ra = {0}, rb = {0}, rc = {0};
  for (int k = 0; k < K; k += 4) {
    const int rows = K - k, to1 = rows > 1, to2 = rows > 2 ? 2 : 0, to3 = rows > 3 ? 3 : 0;
    ROWS(DECLARE) ROWS(START_RESIDUAL)
    for (int l = 0; l < K; l++) {
      const double *g = G + (ptrdiff_t)ldg * l + k;
      LOAD_X(A + (ptrdiff_t)LANES * l)
      MULTIPLY_ADD(0, g[0]) MULTIPLY_ADD(1, g[to1]) MULTIPLY_ADD(2, g[to2]) MULTIPLY_ADD(3, g[to3])
    }
    ROWS(ADD_RESIDUAL)
  }
  STORE(r) = ra; STORE(r + VEC) = rb; STORE(r + 2 * VEC) = rc;
}

/* ---- products with X --------------------------------------------------------- */

#define DOT(r) { V y = LOAD(x##r + l); HOLD(y)                               \
  s##r##a = VFMA(s##r##a, y, ya); s##r##b = VFMA(s##r##b, y, yb); s##r##c = VFMA(s##r##c, y, yc); }
/* the products of the features that fill no vector */
#define LAST_FEATURES(r, col) for (int l = whole; l < len; l++) dots[r] += x##r[l] * d##col[l];
#define PUT_DOTS(c, col) if (col < nk) {                                      \
  VSUMS(s0##c, s1##c, s2##c, s3##c, dots)                                     \
  LAST_FEATURES(0, col) LAST_FEATURES(1, col) LAST_FEATURES(2, col) LAST_FEATURES(3, col) \
  NAME(put_dots)(ni, from > 0, dots, scale + i, B, rows, k + col, i); }

/* row k of B, instances i .. i + 3: (+)= scale * dots */
TARGET static inline void NAME(put_dots)(int n, int add, const double *dots, const double *scale,
                                         double *B, int rows, int k, int i) {
  for (int e = 0; e < 4 && n >= 4; e += QUAD) {
    NAME(quad_vector) *o = (NAME(quad_vector) *)(B + fumi_at(LANES, rows, k, i + e));
    const NAME(quad_vector) b = *(const NAME(quad_vector) *)(scale + e) * *(const NAME(quad_vector) *)(dots + e);
    if (add) *o += b;
    else *o = b;
  }
  for (int r = 0; r < n && n < 4; r++) {
    double *o = B + fumi_at(LANES, rows, k, i + r);
    *o = (add ? *o : 0) + scale[r] * dots[r];
  }
}

/* B = D'X, scaled by instance: four instances by three atoms, lanes along the features,
 * features in chunks that stay in the first cache. The first six atoms ask for the next four instances ahead
 * of their use, two each three; behind the last of a chunk comes the first of the next chunk. */
TARGET static void NAME(project)(int d, int n, int K, const double *X, const double *scale,
                                 const double *D, double *B, int rows) {
  enum { CHUNK = 256 };
  double dots[4];
  for (int from = 0; from < d; from += CHUNK) {
    const int len = d - from < CHUNK ? d - from : CHUNK, whole = len / VEC * VEC;
    for (int i = 0; i < n; i += 4) {
      const int ni = n - i;
      const double *x0 = X + (ptrdiff_t)i * d + from, *x1 = ni > 1 ? x0 + d : x0,
                   *x2 = ni > 2 ? x1 + d : x0, *x3 = ni > 3 ? x2 + d : x0;
      const double *next = ni > 4 ? x0 + (ptrdiff_t)4 * d : from + CHUNK < d ? X + from + CHUNK : x0;
      const int n_next = ni > 4 ? ni - 4 : n;
      for (int k = 0; k < K; k += 3) {
        const int nk = K - k, one = 2 * (k / 3) % 4;
        const double *d0 = D + (ptrdiff_t)k * d + from, *d1 = nk > 1 ? d0 + d : d0,
                     *d2 = nk > 2 ? d1 + d : d0;
        const double *ahead = next + (one < n_next ? (ptrdiff_t)one * d : 0),
                     *other = next + (one + 1 < n_next ? (ptrdiff_t)(one + 1) * d : 0);
        ROWS(DECLARE) ROWS(ZERO)
        for (int l = 0; l < whole; l += VEC) {
          __builtin_prefetch(ahead + l);
          __builtin_prefetch(other + l);
          const V ya = LOAD(d0 + l), yb = LOAD(d1 + l), yc = LOAD(d2 + l);
          ROWS(DOT)
        }
        PUT_DOTS(a, 0) PUT_DOTS(b, 1) PUT_DOTS(c, 2)
      }
    }
  }
}

#define PUT_INNER(c, col) if (col < nk) {                                     \
  VSUMS(s0##c, s1##c, s2##c, s3##c, dots)                                     \
  LAST_FEATURES(0, col) LAST_FEATURES(1, col) LAST_FEATURES(2, col) LAST_FEATURES(3, col) \
  for (int r = 0; r < 4 && r < ni; r++) C[(i + r) + (ptrdiff_t)ldc * (k + col)] = dots[r]; }

/* C = A'B: four columns by three, lanes along the features */
TARGET static void NAME(inner)(int len, int m, int n, const double *A, const double *B, double *C, int ldc) {
  const int whole = len / VEC * VEC;
  double dots[4];
  for (int k = 0; k < n; k += 3) {
    const int nk = n - k;
    const double *d0 = B + (ptrdiff_t)k * len, *d1 = nk > 1 ? d0 + len : d0, *d2 = nk > 2 ? d1 + len : d0;
    for (int i = 0; i < m; i += 4) {
      const int ni = m - i;
      const double *x0 = A + (ptrdiff_t)i * len, *x1 = ni > 1 ? x0 + len : x0,
                   *x2 = ni > 2 ? x1 + len : x0, *x3 = ni > 3 ? x2 + len : x0;
      ROWS(DECLARE) ROWS(ZERO)
      for (int l = 0; l < whole; l += VEC) {
        const V ya = LOAD(d0 + l), yb = LOAD(d1 + l), yc = LOAD(d2 + l);
        ROWS(DOT)
      }
      PUT_INNER(a, 0) PUT_INNER(b, 1) PUT_INNER(c, 2)
    }
  }
}

#define ADD_TO_U(r) if (r < nk) {                                             \
  double *o = U + (ptrdiff_t)ldu * (k + r) + from;                            \
  STORE(o) += s##r##a; STORE(o + VEC) += s##r##b; STORE(o + 2 * VEC) += s##r##c; }

/* The last features, fewer than LANES, filled up with 0. */
TARGET static void NAME(pack_rest)(int d, int n, int len, const double *X, double *pack) {
  for (int i = 0; i < n; i++)
    for (int l = 0; l < LANES; l++) pack[(ptrdiff_t)LANES * i + l] = l < len ? X[(ptrdiff_t)d * i + l] : 0;
}

/* U += X W': LANES features by four atoms. The first four atoms read X itself and leave the strip of
 * features one instance after the other for the rest: in X a power-of-two stride would throw it out of
 * the first cache. */
TARGET static void NAME(accumulate)(int d, int n, int K, const double *X, const double *W, int rows,
                                    double *U, int ldu, double *pack) {
  for (int from = 0; from < d; from += LANES) {
    const int rest = d - from < LANES;
    if (rest) NAME(pack_rest)(d, n, d - from, X + from, pack);
    for (int k = 0; k < K; k += 4) {
      const int nk = K - k, to1 = nk > 1 ? LANES : 0, to2 = nk > 2 ? 2 * LANES : 0,
                to3 = nk > 3 ? 3 * LANES : 0, direct = k == 0 && !rest;
      const double *x = direct ? X + from : pack;
      const ptrdiff_t stride = direct ? d : LANES;
      double *copy = pack;
      ROWS(DECLARE) ROWS(ZERO)
      for (int first = 0; first < n; first += LANES) {
        const double *w = W + fumi_at(LANES, rows, k, first);
        const double *end = w + (n - first < LANES ? n - first : LANES);
        for (; w < end; w++, x += stride) {
          LOAD_X(x)
          if (direct) { STORE(copy) = xa; STORE(copy + VEC) = xb; STORE(copy + 2 * VEC) = xc; copy += LANES; }
          MULTIPLY_ADD(0, w[0]) MULTIPLY_ADD(1, w[to1])
          MULTIPLY_ADD(2, w[to2]) MULTIPLY_ADD(3, w[to3])
        }
      }
      ROWS(ADD_TO_U)
    }
  }
}

#define PUT_GRAMS(c, col) if (col < nk) {                                     \
  VSUMS(s0##c, s1##c, s2##c, s3##c, dots)                                     \
  for (int r = 0; r < 4 && r < ni; r++) S[(i + r) + (ptrdiff_t)lds * (k + col)] += dots[r]; }

/* S += A W': four atoms by three, lanes along the instances */
TARGET static void NAME(gram)(int tiles, int K, const double *A, const double *W, int rows,
                              double *S, int lds) {
  double dots[4];
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
      PUT_GRAMS(a, 0) PUT_GRAMS(b, 1) PUT_GRAMS(c, 2)
    }
  }
}

/* ---- one instance ------------------------------------------------------------- */

#define SUBTRACT(r) y##r -= v[i] * LOAD(g + r * VEC);
#define LOAD_B(r) V y##r = LOAD(b + k + r * VEC);
#define STORE_Q(r) STORE(q + k + r * VEC) = y##r;

/* q = b - sum_i v_i G[, active_i]: four vectors at a time, then one, then one number */
TARGET static void NAME(correlate)(int K, int n, const int *active, const double *v, const double *G,
                                   int ldg, const double *b, double *q) {
  int k = 0;
  for (; k + 4 * VEC <= K; k += 4 * VEC) {
    ROWS(LOAD_B)
    for (int i = 0; i < n; i++) {
      const double *g = G + (ptrdiff_t)ldg * active[i] + k;
      ROWS(SUBTRACT)
    }
    ROWS(STORE_Q)
  }
  for (; k + VEC <= K; k += VEC) {
    LOAD_B(0)
    for (int i = 0; i < n; i++) {
      const double *g = G + (ptrdiff_t)ldg * active[i] + k;
      SUBTRACT(0)
    }
    STORE_Q(0)
  }
  for (; k < K; k++) {
    q[k] = b[k];
    for (int i = 0; i < n; i++) q[k] -= v[i] * G[(ptrdiff_t)ldg * active[i] + k];
  }
}

TARGET static double NAME(peak)(int K, const double *q) {
  const int whole = K / VEC * VEC;
  V most = {0};
  double peak = 0;
  for (int k = 0; k < whole; k += VEC) {
    const V y = LOAD(q + k);
    most = VMAX(most, VMAX(y, -y));
  }
  for (int e = 0; e < VEC; e++) peak = most[e] > peak ? most[e] : peak;
  for (int k = whole; k < K; k++) {
    const double size = q[k] < 0 ? -q[k] : q[k];
    peak = size > peak ? size : peak;
  }
  return peak;
}

static const fumi_kernel NAME(kernel) = {
    KERNEL_NAME, LANES, COPIES, PANEL, NAME(project), NAME(quadratic), NAME(ista), NAME(ista_positive),
    NAME(inner), NAME(accumulate), NAME(gram), NAME(correlate), NAME(peak)};

#undef V
#undef LANES
#undef QUAD
#undef LOAD
#undef STORE
#undef ROWS
#undef DECLARE
#undef ZERO
#undef MULTIPLY_ADD
#undef LOAD_X
#undef MULTIPLY_COEFFICIENT
#undef MULTIPLY_PANEL
#undef MULTIPLY_VECTOR
#undef TILE
#undef SOFT
#undef START
#undef FINISH
#undef FINISH_LANES
#undef FINISH_TARGET
#undef ISTA_ROWS
#undef ISTA_TARGET_ROWS
#undef START_RESIDUAL
#undef ADD_RESIDUAL
#undef DOT
#undef LAST_FEATURES
#undef PUT_DOTS
#undef PUT_INNER
#undef ADD_TO_U
#undef PUT_GRAMS
#undef SUBTRACT
#undef LOAD_B
#undef STORE_Q
