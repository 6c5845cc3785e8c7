/* linalg/kernel_simd.h: the kernels' one source; each kernel_<isa>.c defines COP_KERNEL_NAME and COP_KERNEL_SYMBOL,
 * is compiled with that instruction set, and includes it once.
 *
 * A vec is one register of LANES floats. Columns are independent of one another, so their sums do not depend on LANES;
 * a dot product always runs in COP_KERNEL_LANES lanes, whatever number of registers holds them. Columns are taken in
 * panels of WIDE vecs that stay in registers while the features stream by. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/kernel.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#ifdef __AVX512F__
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#define WIDE  8
#define SPLIT (COP_KERNEL_LANES / LANES) /* vecs that a dot product's lanes take */

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES))); /* all bits of a lane, or none */
typedef float vec_any __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float vec_block __attribute__((vector_size(4 * LANES), aligned(4 * LANES), may_alias));

#define LOAD(p)     (*(const vec_block *)(p))
#define LOAD_ANY(p) (*(const vec_any *)(p))
#define STORE(p, v) (*(vec_block *)(p) = (v))
#define INLINE      static inline __attribute__((always_inline))

/* 1/sqrt(v) and 1/v, v in [FLT_MIN, FLT_MAX], by the processor's estimates where it has them: 14 bits (AVX-512) or 11
 * (AVX2). They only scale steps, whose length nobody knows to three digits. */
INLINE vec rsqrt(vec v)
{
#ifdef __AVX512F__
	return (vec)_mm512_rsqrt14_ps((__m512)v);
#elif defined(__AVX2__)
	return (vec)_mm256_rsqrt_ps((__m256)v);
#else
	vec out;
	for (int i = 0; i < LANES; i++)
		out[i] = 1.0f / sqrtf(v[i]);
	return out;
#endif
}

INLINE vec inverse(vec v)
{
#ifdef __AVX512F__
	return (vec)_mm512_rcp14_ps((__m512)v);
#elif defined(__AVX2__)
	return (vec)_mm256_rcp_ps((__m256)v);
#else
	return 1.0f / v;
#endif
}

/* Lanes above FLT_MAX, and NaN, become FLT_MAX: the square root of infinity would make a weight NaN. */
INLINE vec capped(vec v)
{
#ifdef __AVX512F__
	return (vec)_mm512_min_ps((__m512)v, _mm512_set1_ps(FLT_MAX));
#elif defined(__AVX2__)
	return (vec)_mm256_min_ps((__m256)v, _mm256_set1_ps(FLT_MAX));
#else
	mask fits = v < FLT_MAX;
	return (vec)((fits & (mask)v) | (~fits & (mask)((vec){ 0 } + FLT_MAX)));
#endif
}

INLINE float fold(const vec *v)
{
	float lane[COP_KERNEL_LANES];
	memcpy(lane, v, sizeof lane);
	for (int half = COP_KERNEL_LANES / 2; half > 0; half /= 2)
		for (int i = 0; i < half; i++)
			lane[i] += lane[i + half];
	return lane[0];
}

INLINE void dot_block(const float *x, const float *y, vec *sum)
{
	for (int v = 0; v < SPLIT; v++)
		sum[v] += LOAD_ANY(x + v * LANES) * LOAD_ANY(y + v * LANES);
}

/* Two rows of lanes, taken in turn. */
static float dot(size_t n, const float *x, const float *y)
{
	vec even[SPLIT] = { { 0 } };
	vec odd[SPLIT] = { { 0 } };
	size_t i = 0;
	for (; i + 2 * COP_KERNEL_LANES <= n; i += 2 * COP_KERNEL_LANES) {
		dot_block(x + i, y + i, even);
		dot_block(x + i + COP_KERNEL_LANES, y + i + COP_KERNEL_LANES, odd);
	}
	for (; i < n; i += COP_KERNEL_LANES) {
		size_t left = n - i < COP_KERNEL_LANES ? n - i : COP_KERNEL_LANES;
		float tail[2][COP_KERNEL_LANES] = { { 0 } };
		memcpy(tail[0], x + i, left * sizeof *x);
		memcpy(tail[1], y + i, left * sizeof *y);
		dot_block(tail[0], tail[1], even);
	}
	for (int v = 0; v < SPLIT; v++)
		even[v] += odd[v];
	return fold(even);
}

#define LINE  (64 / (int)sizeof(float)) /* floats of a cache line */
#define AHEAD 64                        /* lines of sparse rows that are on their way */

/* Asks for `floats` of the sparse row to come; dense rows are foreseen by the processor. */
INLINE void ask(size_t j, size_t d, const uint32_t *index, size_t floats, size_t n, const float *w)
{
	size_t ahead = AHEAD * LINE / floats;
	if (index == NULL || j + ahead >= d)
		return;
	const float *row = w + index[j + ahead] * n;
	for (size_t i = 0; i < floats; i += LINE)
		__builtin_prefetch(row + i);
}

#define GROUP 8    /* features summed by themselves */
#define TILE  1024 /* columns of a wide block that are taken at a time: their sums stay in the nearest cache */

/* Feature k of a group, k < rows: x[k] and its row. */
typedef struct group {
	vec x[GROUP];
	const float *row[GROUP];
} group;

INLINE void take_group(int rows, group *of, size_t j, const uint32_t *index, const float *x, size_t n, const float *w)
{
	for (int k = 0; k < rows; k++) {
		of->x[k] = x[j + (size_t)k] - (vec){ 0 };
		of->row[k] = w + (index == NULL ? j + (size_t)k : index[j + (size_t)k]) * n;
	}
}

/* Its sum for one vec of columns. Groups depend on one another only by the last addition, so that those of a narrow
 * block overlap. */
INLINE vec sum_group(int rows, const group *of, size_t at)
{
	vec sum = of->x[0] * LOAD(of->row[0] + at);
	for (int k = 1; k < rows; k++)
		sum += of->x[k] * LOAD(of->row[k] + at);
	return sum;
}

/* Groups of `rows` features from j on, as many as there are; width vecs of columns stay in registers. */
INLINE size_t forward_narrow(int rows, int width, size_t j, size_t d, const uint32_t *index, const float *x, size_t n,
        const float *w, float *a)
{
	vec sum[WIDE];
	for (int v = 0; v < width; v++)
		sum[v] = LOAD(a + v * LANES);
	for (; j + (size_t)rows <= d; j += (size_t)rows) {
		group of;
		for (int k = 0; k < rows; k++)
			ask(j + (size_t)k, d, index, (size_t)width * LANES, n, w);
		take_group(rows, &of, j, index, x, n, w);
		for (int v = 0; v < width; v++)
			sum[v] += sum_group(rows, &of, (size_t)v * LANES);
	}
	for (int v = 0; v < width; v++)
		STORE(a + v * LANES, sum[v]);
	return j;
}

/* The same for `columns` of a wider block, whose sums are in the nearest cache. */
INLINE size_t forward_wide(int rows, size_t columns, size_t j, size_t d, const uint32_t *index, const float *x,
        size_t n, const float *w, float *a)
{
	for (; j + (size_t)rows <= d; j += (size_t)rows) {
		group of;
		for (int k = 0; k < rows; k++)
			ask(j + (size_t)k, d, index, columns, n, w);
		take_group(rows, &of, j, index, x, n, w);
		for (size_t i = 0; i < columns; i += LANES)
			STORE(a + i, LOAD(a + i) + sum_group(rows, &of, i));
	}
	return j;
}

/* Groups of GROUP features, then of what is left. */
#define FORWARD(part, columns)                                                                                         \
	j = part(GROUP, columns, j, d, index, x, n, w + i, a + i);                                                     \
	j = part(GROUP / 2, columns, j, d, index, x, n, w + i, a + i);                                                 \
	j = part(GROUP / 4, columns, j, d, index, x, n, w + i, a + i);                                                 \
	(void)part(1, columns, j, d, index, x, n, w + i, a + i)

INLINE void forward_any(size_t d, const uint32_t *index, const float *x, size_t n, const float *w, float *a)
{
	for (size_t i = 0; i < n; i += TILE) {
		size_t columns = n - i < TILE ? n - i : TILE;
		size_t j = 0;
		if (columns == 4 * LANES) {
			FORWARD(forward_narrow, 4);
		} else if (columns == 2 * LANES) {
			FORWARD(forward_narrow, 2);
		} else if (columns == LANES) {
			FORWARD(forward_narrow, 1);
		} else {
			FORWARD(forward_wide, columns);
		}
	}
}

static void forward(size_t d, size_t n, const float *x, const float *w, float *a) { forward_any(d, NULL, x, n, w, a); }

static void forward_sparse(size_t nnz, const uint32_t *index, const float *x, size_t n, const float *w, float *a)
{
	forward_any(nnz, index, x, n, w, a);
}

/* Updates take pieces of some rows by some vecs of columns, at most PIECE vecs. A piece is read before any of it is
 * written: where two arrays, or two rows, lie alike in their pages, a store to one would else hold up the loads of the
 * other. Of wide blocks UPDATE_TILE columns are taken at a time, whose g stays near, of several rows, so that it is
 * read more seldom. */
#ifdef __AVX512F__
#define PIECE 8
#else
#define PIECE 4
#endif
#define ROWS        4
#define ACROSS      (PIECE / ROWS)
#define UPDATE_TILE 4096

typedef struct rows_of {
	size_t at[PIECE]; /* where they begin */
	float x[PIECE];
} rows_of;

INLINE void take_rows(int rows, rows_of *of, size_t j, const uint32_t *index, const float *x, size_t n)
{
	for (int k = 0; k < rows; k++) {
		of->at[k] = (index == NULL ? j + (size_t)k : index[j + (size_t)k]) * n;
		of->x[k] = x[j + (size_t)k];
	}
}

INLINE void ask_rows(int rows, size_t j, size_t d, const uint32_t *index, size_t columns, size_t n, const float *w)
{
	for (int k = 0; k < rows; k++)
		ask(j + (size_t)k, d, index, columns, n, w);
}

INLINE void rank1_piece(int rows, int width, const rows_of *of, const float *g, float *w)
{
	vec weight[PIECE];
	for (int k = 0; k < rows; k++)
		for (int v = 0; v < width; v++)
			weight[k * width + v] = LOAD(w + of->at[k] + v * LANES) + of->x[k] * LOAD(g + v * LANES);
	for (int k = 0; k < rows; k++)
		for (int v = 0; v < width; v++)
			STORE(w + of->at[k] + v * LANES, weight[k * width + v]);
}

/* `columns` of the rows from j on, as many as come in `rows`; the first row left. */
INLINE size_t rank1_rows(int rows, size_t columns, size_t j, size_t d, const uint32_t *index, const float *x, size_t n,
        const float *g, float *w)
{
	for (; j + (size_t)rows <= d; j += (size_t)rows) {
		rows_of of;
		size_t i = 0;
		ask_rows(rows, j, d, index, columns, n, w);
		take_rows(rows, &of, j, index, x, n);
		for (; i + ACROSS * LANES <= columns; i += ACROSS * LANES)
			rank1_piece(rows, ACROSS, &of, g + i, w + i);
		for (; i < columns; i += LANES)
			rank1_piece(rows, 1, &of, g + i, w + i);
	}
	return j;
}

INLINE void rank1_any(size_t d, const uint32_t *index, const float *x, size_t n, const float *g, float *w)
{
	for (size_t i = 0; i < n; i += UPDATE_TILE) {
		size_t columns = n - i < UPDATE_TILE ? n - i : UPDATE_TILE;
		size_t j = rank1_rows(ROWS, columns, 0, d, index, x, n, g + i, w + i);
		(void)rank1_rows(1, columns, j, d, index, x, n, g + i, w + i);
	}
}

static void rank1(size_t d, size_t n, const float *x, const float *g, float *w) { rank1_any(d, NULL, x, n, g, w); }

static void rank1_sparse(size_t nnz, const uint32_t *index, const float *x, size_t n, const float *g, float *w)
{
	rank1_any(nnz, index, x, n, g, w);
}

INLINE void adagrad_piece(int rows, int width, const rows_of *of, float eta, const float *g, float *w, float *s)
{
	vec weight[PIECE], sum[PIECE];
	for (int i = 0; i < rows * width; i++) {
		size_t at = of->at[i / width] + (size_t)(i % width) * LANES;
		vec gradient = of->x[i / width] * LOAD(g + i % width * LANES);
		sum[i] = capped(LOAD(s + at) + gradient * gradient);
		weight[i] = LOAD(w + at) - eta * gradient * rsqrt(sum[i]);
	}
	for (int i = 0; i < rows * width; i++) {
		size_t at = of->at[i / width] + (size_t)(i % width) * LANES;
		STORE(s + at, sum[i]);
		STORE(w + at, weight[i]);
	}
}

/* As rank1_rows. */
INLINE size_t adagrad_rows(int rows, int width, size_t columns, size_t j, size_t d, const uint32_t *index,
        const float *x, size_t n, const float *g, float eta, float *w, float *s)
{
	for (; j + (size_t)rows <= d; j += (size_t)rows) {
		rows_of of;
		size_t i = 0;
		ask_rows(rows, j, d, index, columns, n, w);
		ask_rows(rows, j, d, index, columns, n, s);
		take_rows(rows, &of, j, index, x, n);
		for (; i + (size_t)width * LANES <= columns; i += (size_t)width * LANES)
			adagrad_piece(rows, width, &of, eta, g + i, w + i, s + i);
		for (; i < columns; i += LANES)
			adagrad_piece(rows, 1, &of, eta, g + i, w + i, s + i);
	}
	return j;
}

/* With two arrays, several rows of a block that is not wide are more streams than they are worth. */
INLINE void adagrad_any(
        size_t d, const uint32_t *index, const float *x, size_t n, const float *g, float eta, float *w, float *s)
{
	for (size_t i = 0; i < n; i += UPDATE_TILE) {
		size_t columns = n - i < UPDATE_TILE ? n - i : UPDATE_TILE;
		size_t j = 0;
		if (n == LANES)
			j = adagrad_rows(PIECE, 1, LANES, 0, d, index, x, n, g, eta, w, s);
		else if (n == 2 * LANES)
			j = adagrad_rows(PIECE / 2, 2, 2 * LANES, 0, d, index, x, n, g, eta, w, s);
		else if (n > UPDATE_TILE)
			j = adagrad_rows(2, PIECE / 2, columns, 0, d, index, x, n, g + i, eta, w + i, s + i);
		(void)adagrad_rows(1, 4, columns, j, d, index, x, n, g + i, eta, w + i, s + i);
	}
}

static void adagrad(size_t d, size_t n, const float *x, const float *g, float eta, float *w, float *s)
{
	adagrad_any(d, NULL, x, n, g, eta, w, s);
}

static void adagrad_sparse(
        size_t nnz, const uint32_t *index, const float *x, size_t n, const float *g, float eta, float *w, float *s)
{
	adagrad_any(nnz, index, x, n, g, eta, w, s);
}

/* No root of zero is taken, whose inverse would be infinite. */
INLINE void rmsprop_lanes(const cop_kernel_rmsprop *c, vec g, vec *w, vec *s)
{
	*s = c->alpha * *s + c->rest * (g * g);
	vec v = *s + (c->in + FLT_MIN);
	*w -= c->lr * g * inverse(v * rsqrt(v) + c->out);
}

#define FLAT 4 /* vecs of a piece */

/* As adagrad_piece. */
INLINE void rmsprop_piece(int width, const cop_kernel_rmsprop *c, const float *g, float *w, float *s)
{
	vec weight[FLAT], state[FLAT];
	for (int v = 0; v < width; v++) {
		weight[v] = LOAD_ANY(w + v * LANES);
		state[v] = LOAD_ANY(s + v * LANES);
		rmsprop_lanes(c, LOAD_ANY(g + v * LANES), &weight[v], &state[v]);
	}
	for (int v = 0; v < width; v++) {
		*(vec_any *)(w + v * LANES) = weight[v];
		*(vec_any *)(s + v * LANES) = state[v];
	}
}

static void rmsprop(size_t n, const cop_kernel_rmsprop *constants, const float *g, float *w, float *s)
{
	const cop_kernel_rmsprop c = *constants; /* which no store can change */
	size_t i = 0;
	for (; i + FLAT * LANES <= n; i += FLAT * LANES)
		rmsprop_piece(FLAT, &c, g + i, w + i, s + i);
	for (; i + LANES <= n; i += LANES)
		rmsprop_piece(1, &c, g + i, w + i, s + i);
	if (i == n)
		return;
	float tail[3][LANES] = { { 0 } };
	size_t bytes = (n - i) * sizeof *w;
	memcpy(tail[0], g + i, bytes);
	memcpy(tail[1], w + i, bytes);
	memcpy(tail[2], s + i, bytes);
	rmsprop_piece(1, &c, tail[0], tail[1], tail[2]);
	memcpy(w + i, tail[1], bytes);
	memcpy(s + i, tail[2], bytes);
}

/* Nodes of one level, their children's values side by side. */
INLINE void gather_level(
        size_t nodes, float p, const float *restrict a, const float *restrict child, float *restrict out)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t i = 0; i < nodes; i++) {
		float left = child[2 * i];
		float right = child[2 * i + 1];
		out[i] = a[i] >= 0.0f ? q * left + p * right : p * left + q * right;
	}
}

/* da holds P on entry, the gradient on exit; p_child (NULL under the last level) gets the children's P. */
INLINE void spread_level(size_t nodes, float p, float root, const float *restrict a, const float *restrict child,
        float *restrict da, float *restrict p_child)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t i = 0; i < nodes; i++) {
		float pr = da[i] * (a[i] >= 0.0f ? p : q);
		float pl = da[i] * (a[i] >= 0.0f ? q : p);
		float d = pr * (child[2 * i + 1] - root) - pl * (child[2 * i] - root);
		if (p_child != NULL) {
			p_child[2 * i] = pl;
			p_child[2 * i + 1] = pr;
		}
		da[i] = fabsf(a[i]) <= 1.0f ? d : 0.0f;
	}
}

/* Children side by side, taken apart and put together. */
#if LANES == 16
#define EVEN(x, y)  __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(x, y)   __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define FRONT(x, y) __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define BACK(x, y)  __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif LANES == 8
#define EVEN(x, y)  __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(x, y)   __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15)
#define FRONT(x, y) __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define BACK(x, y)  __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define EVEN(x, y)  __builtin_shufflevector(x, y, 0, 2, 4, 6)
#define ODD(x, y)   __builtin_shufflevector(x, y, 1, 3, 5, 7)
#define FRONT(x, y) __builtin_shufflevector(x, y, 0, 4, 1, 5)
#define BACK(x, y)  __builtin_shufflevector(x, y, 2, 6, 3, 7)
#endif

/* Lanes of yes where sign >= 0, of no elsewhere and where sign is NaN. */
INLINE vec choose(vec sign, vec yes, vec no)
{
#ifdef __AVX512F__
	__mmask16 chosen = _mm512_cmp_ps_mask((__m512)sign, _mm512_setzero_ps(), _CMP_GE_OQ);
	return (vec)_mm512_mask_blend_ps(chosen, (__m512)no, (__m512)yes);
#else
	mask chosen = sign >= 0.0f;
	return (vec)((chosen & (mask)yes) | (~chosen & (mask)no));
#endif
}

/* gather_level and spread_level of whole vecs of nodes. */
INLINE void gather_wide(size_t nodes, float p, const float *a, const float *child, float *out)
{
	vec agree = p - (vec){ 0 };
	vec other = 1.0f - agree;
	for (size_t i = 0; i < nodes; i += LANES) {
		vec near = LOAD_ANY(child + 2 * i);
		vec far = LOAD_ANY(child + 2 * i + LANES);
		vec sign = LOAD_ANY(a + i);
		*(vec_any *)(out + i) =
		        choose(sign, other, agree) * EVEN(near, far) + choose(sign, agree, other) * ODD(near, far);
	}
}

INLINE void spread_wide(
        size_t nodes, float p, float root, const float *a, const float *child, float *da, float *p_child)
{
	vec agree = p - (vec){ 0 };
	vec other = 1.0f - agree;
	for (size_t i = 0; i < nodes; i += LANES) {
		vec near = LOAD_ANY(child + 2 * i);
		vec far = LOAD_ANY(child + 2 * i + LANES);
		vec sign = LOAD_ANY(a + i);
		vec share = LOAD_ANY(da + i);
		vec right = share * choose(sign, agree, other);
		vec left = share * choose(sign, other, agree);
		vec d = right * (ODD(near, far) - root) - left * (EVEN(near, far) - root);
		if (p_child != NULL) {
			*(vec_any *)(p_child + 2 * i) = FRONT(left, right);
			*(vec_any *)(p_child + 2 * i + LANES) = BACK(left, right);
		}
		vec size = (vec)((mask)sign & INT32_MAX);
		*(vec_any *)(da + i) = choose(1.0f - size, d, (vec){ 0 });
	}
}

INLINE void gather_any(size_t nodes, float p, const float *a, const float *child, float *out)
{
	if (nodes >= LANES)
		gather_wide(nodes, p, a, child, out);
	else
		gather_level(nodes, p, a, child, out);
}

INLINE void spread_any(size_t nodes, float p, float root, const float *a, const float *child, float *da, float *p_child)
{
	if (nodes >= LANES)
		spread_wide(nodes, p, root, a, child, da, p_child);
	else
		spread_level(nodes, p, root, a, child, da, p_child);
}

static void tree_backward(unsigned h, float p, const float *a, const float *u, float *work, float *da)
{
	size_t first = ((size_t)1 << (h - 1)) - 1;
	gather_any(first + 1, p, a + first, u, work + first);
	for (size_t nodes = (first + 1) / 2; nodes > 0; nodes /= 2)
		gather_any(nodes, p, a + nodes - 1, work + 2 * nodes - 1, work + nodes - 1);
	da[0] = 1.0f;
	for (size_t nodes = 1; nodes <= first; nodes *= 2)
		spread_any(nodes, p, work[0], a + nodes - 1, work + 2 * nodes - 1, da + nodes - 1, da + 2 * nodes - 1);
	spread_any(first + 1, p, work[0], a + first, u, da + first, NULL);
}

/* Many trees: lane j of a node is tree j's. One node upwards, from its children side by side. */
INLINE void gather_trees(size_t m, float p, const float *restrict a, const float *restrict child, float *restrict out)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		float to_right = a[j] >= 0.0f ? p : q;
		float to_left = a[j] >= 0.0f ? q : p;
		out[j] = to_left * child[j] + to_right * child[m + j];
	}
}

/* One node downwards: da holds P on entry, the gradient on exit; p_child as above. */
INLINE void spread_trees(size_t m, float p, const float *restrict a, const float *restrict root,
        const float *restrict child, float *restrict da, float *restrict p_child)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		float pr = da[j] * (a[j] >= 0.0f ? p : q);
		float pl = da[j] * (a[j] >= 0.0f ? q : p);
		float d = pr * (child[m + j] - root[j]) - pl * (child[j] - root[j]);
		if (p_child != NULL) {
			p_child[j] = pl;
			p_child[m + j] = pr;
		}
		da[j] = fabsf(a[j]) <= 1.0f ? d : 0.0f;
	}
}

/* Levels one after the other, the nodes of each in the order of memory. */
INLINE void backward_trees(unsigned h, size_t m, float p, const float *a, const float *u, float *work, float *da)
{
	size_t first = ((size_t)1 << (h - 1)) - 1; /* of the last level, whose children are leaves */
	for (size_t t = first; t <= 2 * first; t++)
		gather_trees(m, p, a + t * m, u + 2 * (t - first) * m, work + t * m);
	for (size_t level = first; level > 0; level = (level - 1) / 2)
		for (size_t t = (level - 1) / 2; t < level; t++)
			gather_trees(m, p, a + t * m, work + (2 * t + 1) * m, work + t * m);
	for (size_t j = 0; j < m; j++)
		da[j] = 1.0f;
	for (size_t t = 0; t < first; t++)
		spread_trees(m, p, a + t * m, work, work + (2 * t + 1) * m, da + t * m, da + (2 * t + 1) * m);
	for (size_t t = first; t <= 2 * first; t++)
		spread_trees(m, p, a + t * m, work, u + 2 * (t - first) * m, da + t * m, NULL);
}

/* The usual numbers of trees are known when it is compiled. */
static void trees_backward(unsigned h, size_t m, float p, const float *a, const float *u, float *work, float *da)
{
	switch (m) {
	case 1:
		tree_backward(h, p, a, u, work, da);
		break;
	case 8:
		backward_trees(h, 8, p, a, u, work, da);
		break;
	case 16:
		backward_trees(h, 16, p, a, u, work, da);
		break;
	case 32:
		backward_trees(h, 32, p, a, u, work, da);
		break;
	case 64:
		backward_trees(h, 64, p, a, u, work, da);
		break;
	default:
		backward_trees(h, m, p, a, u, work, da);
	}
}

static void standardise(size_t d, double count, const double *restrict mean, const double *restrict m2,
        float *restrict shift, float *restrict scale)
{
	const double largest = 1.0 / (double)FLT_MIN; /* beyond it, a float is or soon becomes infinite */
	double share = 1.0 / count;
#pragma omp simd
	for (size_t j = 0; j < d; j++) {
		double variance = m2[j] * share;
		double inverse = 1.0 / sqrt(variance > 0.0 ? variance : 1.0);
		inverse = variance > 1e-12 * (mean[j] * mean[j]) ? inverse : 0.0;
		inverse = inverse <= largest ? inverse : 0.0;
		shift[j] = (float)mean[j];
		scale[j] = (float)inverse;
	}
}

static float shrink(const float *x, float *p, float *k)
{
	vec sum[2][SPLIT] = { { { 0 } } };
	for (int j = 0; j < COP_KERNEL_LANES; j++)
		for (int v = 0; v < SPLIT; v++)
			sum[j % 2][v] += x[j] * LOAD(p + j * COP_KERNEL_LANES + v * LANES); /* P is symmetric */
	vec product[SPLIT];
	for (int v = 0; v < SPLIT; v++) {
		sum[0][v] += sum[1][v];
		STORE(k + v * LANES, sum[0][v]);
		product[v] = sum[0][v] * LOAD_ANY(x + v * LANES);
	}
	float spread = fold(product);
	if (!(spread >= 0.0f && spread <= FLT_MAX))
		return spread;
	float root = 1.0f / sqrtf(1.0f + spread);
	float share[COP_KERNEL_LANES];
	for (int v = 0; v < SPLIT; v++) {
		sum[0][v] *= root;
		memcpy(share + v * LANES, &sum[0][v], sizeof(vec));
	}
	for (int j = 0; j < COP_KERNEL_LANES; j++)
		for (int v = 0; v < SPLIT; v++) {
			float *at = p + j * COP_KERNEL_LANES + v * LANES;
			STORE(at, LOAD(at) - share[j] * sum[0][v]);
		}
	return spread;
}

/* v, each lane kept within +-bound. */
INLINE vec cut(vec v, float bound)
{
#ifdef __AVX512F__
	__m512 limit = _mm512_set1_ps(bound);
	return (vec)_mm512_max_ps(_mm512_min_ps((__m512)v, limit), -limit);
#elif defined(__AVX2__)
	__m256 limit = _mm256_set1_ps(bound);
	return (vec)_mm256_max_ps(_mm256_min_ps((__m256)v, limit), -limit);
#else
	vec out;
	for (int i = 0; i < LANES; i++)
		out[i] = v[i] > bound ? bound : v[i] < -bound ? -bound : v[i];
	return out;
#endif
}

static void products(size_t n, float factor, const float *x, float bound, float scale, float *y)
{
	for (size_t i = 0; i < n; i += COP_KERNEL_LANES)
		for (int v = 0; v < SPLIT; v++)
			*(vec_any *)(y + i + v * LANES) = scale * cut(factor * LOAD_ANY(x + i + v * LANES), bound);
}

INLINE mask larger(mask x, mask y)
{
#ifdef __AVX512F__
	return (mask)_mm512_max_epi32((__m512i)x, (__m512i)y);
#elif defined(__AVX2__)
	return (mask)_mm256_max_epi32((__m256i)x, (__m256i)y);
#else
	mask first = x > y;
	return (first & x) | (~first & y);
#endif
}

INLINE bool none_above(mask x, int32_t limit)
{
#ifdef __AVX512F__
	return _mm512_cmpgt_epi32_mask((__m512i)x, _mm512_set1_epi32(limit)) == 0;
#elif defined(__AVX2__)
	return _mm256_movemask_epi8(_mm256_cmpgt_epi32((__m256i)x, _mm256_set1_epi32(limit))) == 0;
#else
	int32_t above = 0;
	for (int k = 0; k < LANES; k++)
		above |= x[k] > limit;
	return above == 0;
#endif
}

/* Without their sign, floats compare as integers, and NaN is above all. */
static bool within(size_t n, const float *x, float bound)
{
	mask most[FLAT] = { { 0 } };
	int32_t limit;
	memcpy(&limit, &bound, sizeof limit);
	size_t i = 0;
	for (; i + FLAT * LANES <= n; i += FLAT * LANES)
		for (size_t v = 0; v < FLAT; v++)
			most[v] = larger(most[v], (mask)LOAD_ANY(x + i + v * LANES) & INT32_MAX);
	for (; i + LANES <= n; i += LANES)
		most[0] = larger(most[0], (mask)LOAD_ANY(x + i) & INT32_MAX);
	if (i < n) {
		float tail[LANES] = { 0 };
		memcpy(tail, x + i, (n - i) * sizeof *x);
		most[0] = larger(most[0], (mask)LOAD_ANY(tail) & INT32_MAX);
	}
	for (int v = 1; v < FLAT; v++)
		most[0] = larger(most[0], most[v]);
	return none_above(most[0], limit);
}

const cop_kernel COP_KERNEL_SYMBOL = {
	.name = COP_KERNEL_NAME,
	.dot = dot,
	.forward = forward,
	.forward_sparse = forward_sparse,
	.rank1 = rank1,
	.rank1_sparse = rank1_sparse,
	.adagrad = adagrad,
	.adagrad_sparse = adagrad_sparse,
	.rmsprop = rmsprop,
	.trees_backward = trees_backward,
	.tree_backward = tree_backward,
	.standardise = standardise,
	.shrink = shrink,
	.products = products,
	.within = within,
};
