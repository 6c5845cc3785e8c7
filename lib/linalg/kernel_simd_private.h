/* linalg/kernel_simd_private.h: the kernels' one source; each kernel_<isa>.c defines COP_KERNEL_NAME and
 * COP_KERNEL_SYMBOL, is compiled with that instruction set, and includes it once.
 *
 * A vec is one register of LANES floats. Columns are independent of one another, so their sums do not depend on LANES;
 * a dot product always runs in COP_KERNEL_LANES lanes, whatever number of registers holds them. Columns are taken in
 * panels of WIDE vecs that stay in registers while the features stream by. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/kernel.h"
#include "linalg/kernel_lanes_private.h"
#include "linalg/kernel_trees_private.h"

#define WIDE 8

/* 1/sqrt(v) and 1/v, v in [FLT_MIN, FLT_MAX], by the processor's estimates where it has them: 14 bits (AVX-512), 11
 * (AVX2) or, after one of Newton's steps, 15 (NEON). They only scale steps, whose length need not be right to three
 * digits. */
INLINE vec rsqrt(vec v)
{
#ifdef __AVX512F__
	return (vec)_mm512_rsqrt14_ps((__m512)v);
#elif defined(__AVX2__)
	return (vec)_mm256_rsqrt_ps((__m256)v);
#elif defined(COP_KERNEL_NEON)
	float32x4_t is = vrsqrteq_f32((float32x4_t)v);
	return (vec)vmulq_f32(is, vrsqrtsq_f32(vmulq_f32((float32x4_t)v, is), is));
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
#elif defined(COP_KERNEL_NEON)
	float32x4_t is = vrecpeq_f32((float32x4_t)v);
	return (vec)vmulq_f32(is, vrecpsq_f32((float32x4_t)v, is));
#else
	return 1.0f / v;
#endif
}

/* sum + x^2, at most FLT_MAX: the square root of infinity would make a weight NaN. Rounding towards zero ends there by
 * itself. */
INLINE vec plus_square(vec sum, vec x)
{
#ifdef __AVX512F__
	return (vec)_mm512_fmadd_round_ps((__m512)x, (__m512)x, (__m512)sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
	return (vec)_mm256_min_ps((__m256)(sum + x * x), _mm256_set1_ps(FLT_MAX));
#elif defined(COP_KERNEL_NEON)
	return (vec)vminnmq_f32((float32x4_t)(sum + x * x), vdupq_n_f32(FLT_MAX));
#else
	vec out = sum + x * x;
	mask fits = out < FLT_MAX;
	return (vec)((fits & (mask)out) | (~fits & (mask)((vec){ 0 } + FLT_MAX)));
#endif
}

/* Sum over COP_KERNEL_LANES lanes, by halves. */
INLINE float fold(const vec *v)
{
#if defined(__AVX512F__) || defined(__AVX2__)
#ifdef __AVX512F__
	__m512 all = (__m512)v[0];
	__m256 eight = _mm256_add_ps(
	        _mm512_castps512_ps256(all), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(all), 1)));
#else
	__m256 eight = _mm256_add_ps((__m256)v[0], (__m256)v[1]);
#endif
	__m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
	__m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
#elif defined(COP_KERNEL_NEON)
	float32x4_t four = (float32x4_t)((v[0] + v[2]) + (v[1] + v[3]));
	float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
	return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
#else
	float lane[COP_KERNEL_LANES];
	memcpy(lane, v, sizeof lane);
	for (int half = COP_KERNEL_LANES / 2; half > 0; half /= 2)
		for (int i = 0; i < half; i++)
			lane[i] += lane[i + half];
	return lane[0];
#endif
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
#if defined(__AVX512F__) || defined(COP_KERNEL_NEON)
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

/* Rows of one vec of columns, g. */
INLINE size_t rank1_narrow(int rows, size_t j, size_t d, const uint32_t *index, const float *x, vec g, float *w)
{
	for (; j + (size_t)rows <= d; j += (size_t)rows) {
		rows_of of;
		vec weight[PIECE];
		ask_rows(rows, j, d, index, LANES, LANES, w);
		take_rows(rows, &of, j, index, x, LANES);
		for (int k = 0; k < rows; k++)
			weight[k] = LOAD(w + of.at[k]) + of.x[k] * g;
		for (int k = 0; k < rows; k++)
			STORE(w + of.at[k], weight[k]);
	}
	return j;
}

INLINE void rank1_any(size_t d, const uint32_t *index, const float *x, size_t n, const float *g, float *w)
{
	if (n == LANES) {
		size_t j = rank1_narrow(PIECE, 0, d, index, x, LOAD(g), w);
		(void)rank1_narrow(1, j, d, index, x, LOAD(g), w);
		return;
	}
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
		sum[i] = plus_square(LOAD(s + at), gradient);
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

/* Longer rows of two arrays, several at a time, are more streams than they are worth. */
#define SHORT_ROW 256 /* columns */

INLINE void adagrad_any(
        size_t d, const uint32_t *index, const float *x, size_t n, const float *g, float eta, float *w, float *s)
{
	for (size_t i = 0; i < n; i += UPDATE_TILE) {
		size_t columns = n - i < UPDATE_TILE ? n - i : UPDATE_TILE;
		size_t j = 0;
		if (n == LANES)
			j = adagrad_rows(PIECE, 1, LANES, 0, d, index, x, n, g, eta, w, s);
		else if (n <= SHORT_ROW)
			j = adagrad_rows(PIECE / 2, 1, columns, 0, d, index, x, n, g, eta, w, s);
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

#define FLAT 4 /* vecs of a piece */

/* As adagrad_piece. S never falls below FLT_MIN: no root of zero is taken, whose inverse would be infinite, and a
 * gradient that stays 0 does not take S among the subnormal numbers, with which some processors are twenty times as
 * slow. */
INLINE void rmsprop_piece(int width, bool in, const cop_kernel_rmsprop *c, const float *g, float *w, float *s)
{
	vec step[FLAT], state[FLAT];
	for (int v = 0; v < width; v++) {
		vec gradient = LOAD_ANY(g + v * LANES);
		step[v] = c->lr * gradient;
		state[v] = c->alpha * LOAD_ANY(s + v * LANES) + (c->rest * gradient * gradient + FLT_MIN);
	}
	for (int v = 0; v < width; v++) {
		vec of = in ? state[v] + c->in : state[v];
		step[v] *= inverse(of * rsqrt(of) + c->out);
	}
	for (int v = 0; v < width; v++) {
		*(vec_any *)(w + v * LANES) = LOAD_ANY(w + v * LANES) - step[v];
		*(vec_any *)(s + v * LANES) = state[v];
	}
}

INLINE void rmsprop_any(bool in, size_t n, const cop_kernel_rmsprop *c, const float *g, float *w, float *s)
{
	size_t i = 0;
	for (; i + FLAT * LANES <= n; i += FLAT * LANES)
		rmsprop_piece(FLAT, in, c, g + i, w + i, s + i);
	for (; i + LANES <= n; i += LANES)
		rmsprop_piece(1, in, c, g + i, w + i, s + i);
	if (i == n)
		return;
	float tail[3][LANES] = { { 0 } };
	size_t bytes = (n - i) * sizeof *w;
	memcpy(tail[0], g + i, bytes);
	memcpy(tail[1], w + i, bytes);
	memcpy(tail[2], s + i, bytes);
	rmsprop_piece(1, in, c, tail[0], tail[1], tail[2]);
	memcpy(w + i, tail[1], bytes);
	memcpy(s + i, tail[2], bytes);
}

static void rmsprop(size_t n, const cop_kernel_rmsprop *constants, const float *g, float *w, float *s)
{
	const cop_kernel_rmsprop c = *constants; /* which no store can change */
	if (c.in > 0.0f)
		rmsprop_any(true, n, &c, g, w, s);
	else
		rmsprop_any(false, n, &c, g, w, s);
}

static void standardise(size_t d, const double *restrict rows, const double *restrict mean, const double *restrict m2,
        float *restrict shift, float *restrict scale)
{
	const double largest = 1.0 / (double)FLT_MIN; /* beyond it, a float is or soon becomes infinite */
#pragma omp simd
	for (size_t j = 0; j < d; j++) {
		double variance = m2[j] * (1.0 / rows[j]);
		double inverse = 1.0 / sqrt(variance > 0.0 ? variance : 1.0);
		inverse = variance > 1e-17 * (mean[j] * mean[j]) ? inverse : 0.0;
		inverse = inverse <= largest ? inverse : 0.0;
		shift[j] = (float)mean[j];
		scale[j] = (float)inverse;
	}
}

static void scaled(size_t d, const float *restrict x, const float *restrict shift, const float *restrict scale,
        const float *restrict wild, float most, float *restrict out)
{
#pragma omp simd
	for (size_t j = 0; j < d; j++) {
		float away = x[j] - shift[j];
		float distance = fabsf(away);
		float value = away * scale[j];
		float above = value > -most ? value : -most;
		float inside = above < most ? above : most;
		float known = distance <= wild[j] ? inside : 0.0f;
		out[j] = scale[j] > 0.0f ? known : 0.0f; /* not infinity * 0 */
	}
}

static size_t bound(size_t n, const float *restrict low, const float *restrict high, float *restrict x,
        float *restrict least, float *restrict most, float *restrict outside)
{
	float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
	for (size_t i = 0; i < n; i++) {
		float value = x[i];
		float above = value > low[i] ? value : low[i];
		float inside = above < high[i] ? above : high[i];
		float cut = inside == value ? 0.0f : 1.0f;
		least[i] = value < least[i] ? value : least[i];
		most[i] = value > most[i] ? value : most[i];
		x[i] = inside;
		outside[i] += cut;
		sum += cut;
	}
	return (size_t)sum;
}

#define SQUARE          ((size_t)COP_KERNEL_LANES * COP_KERNEL_LANES)
#define GROUP_OF_BLOCKS 4 /* whose sums across lanes are folded at once */
#define BEHIND          6 /* blocks that P - v v' is behind P x */
#define RING            (2 * GROUP_OF_BLOCKS)

/* Blocks in a row, v = k / sqrt(1 + s). While P x of one block is summed, v v' is taken off an earlier one, a row of
 * each in turn: reads and writes overlap, and nothing waits for the root. A block is four to a page: were it a multiple
 * of four behind, stores would hold up the loads. v of a group comes when the next one has begun, as its sums then are
 * there. */
typedef struct shrinking {
	vec product[RING][SPLIT]; /* x[i] k[i] */
	_Alignas(64) float v[RING][COP_KERNEL_LANES];
} shrinking;

/* Four floats, and again in each four lanes. */
INLINE vec quad(const float *x)
{
#ifdef __AVX512F__
	return (vec)_mm512_broadcast_f32x4(_mm_loadu_ps(x));
#elif defined(__AVX2__)
	__m128 four = _mm_loadu_ps(x);
	return (vec)_mm256_broadcast_ps(&four);
#else
	return LOAD_ANY(x);
#endif
}

/* The i-th of them in all lanes. */
#if LANES == 16
#define OF_QUAD(q, i)                                                                                                  \
	__builtin_shufflevector(q, q, i, i, i, i, 4 + i, 4 + i, 4 + i, 4 + i, 8 + i, 8 + i, 8 + i, 8 + i, 12 + i,      \
	        12 + i, 12 + i, 12 + i)
#elif LANES == 8
#define OF_QUAD(q, i) __builtin_shufflevector(q, q, i, i, i, i, 4 + i, 4 + i, 4 + i, 4 + i)
#else
#define OF_QUAD(q, i) __builtin_shufflevector(q, q, i, i, i, i)
#endif

/* from - x y, fused where the processor can however it is compiled: the same on either side of the diagonal. */
INLINE vec less_product(vec from, vec x, vec y)
{
#ifdef __AVX512F__
	return (vec)_mm512_fnmadd_ps((__m512)x, (__m512)y, (__m512)from);
#elif defined(__AVX2__)
	return (vec)_mm256_fnmadd_ps((__m256)x, (__m256)y, (__m256)from);
#else
	return from - x * y;
#endif
}

/* A row of P times x, added to sum; a row of `old`, less v[j] v. */
INLINE void shrink_row(bool in, bool off, vec x, const float *p, vec *sum, vec vj, const vec *v, float *old)
{
	for (size_t i = 0; in && i < SPLIT; i++)
		sum[i] += x * LOAD(p + i * LANES); /* P is symmetric */
	for (size_t i = 0; off && i < SPLIT; i++)
		STORE(old + i * LANES, less_product(LOAD(old + i * LANES), vj, v[i]));
}

/* `in`: k = P x of one block, and product; `off`: v v' off another one, `old`. What the other one needs is not read.
 */
INLINE void shrink_block(
        bool in, bool off, const float *x, const float *p, float *k, vec *product, const float *v, float *old)
{
	vec sum[2][SPLIT] = { { { 0 } } }; /* of even and odd rows */
	vec whole[SPLIT] = { { 0 } };
	for (size_t i = 0; off && i < SPLIT; i++)
		whole[i] = LOAD(v + i * LANES);
	for (size_t j = 0; j < COP_KERNEL_LANES; j += 4) {
		vec xs = in ? quad(x + j) : (vec){ 0 };
		vec vs = off ? quad(v + j) : (vec){ 0 };
#define ROW(i)                                                                                                         \
	shrink_row(in, off, OF_QUAD(xs, i), p + (j + (i)) * COP_KERNEL_LANES, sum[(i) % 2], OF_QUAD(vs, i), whole,     \
	        old + (j + (i)) * COP_KERNEL_LANES)
		ROW(0);
		ROW(1);
		ROW(2);
		ROW(3);
#undef ROW
	}
	for (size_t i = 0; in && i < SPLIT; i++) {
		vec of = sum[0][i] + sum[1][i];
		STORE(k + i * LANES, of);
		product[i] = of * LOAD_ANY(x + i * LANES);
	}
}

/* fold() of each of a group. */
INLINE void fold_group(vec (*v)[SPLIT], float *sum)
{
#ifdef __AVX512F__
	__m512 a = (__m512)v[0][0], b = (__m512)v[1][0], c = (__m512)v[2][0], d = (__m512)v[3][0];
	__m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
	__m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
	__m512 all = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
	all = _mm512_add_ps(all, _mm512_permute_ps(all, 0x4e));
	all = _mm512_add_ps(all, _mm512_permute_ps(all, 0xb1));
	__m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
	_mm_storeu_ps(sum, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, all)));
#else
	for (int b = 0; b < GROUP_OF_BLOCKS; b++)
		sum[b] = fold(v[b]);
#endif
}

/* v of the group of blocks from `first` on, of which there are `count`: 0 for a block that stays as it is. */
INLINE void shrink_by(shrinking *s, size_t first, size_t count, const float *k, float *spread)
{
	float sum[GROUP_OF_BLOCKS], root[GROUP_OF_BLOCKS];
	fold_group(s->product + first % RING, sum);
	for (int b = 0; b < GROUP_OF_BLOCKS; b++)
		root[b] = 1.0f / sqrtf(1.0f + sum[b]);
	for (size_t b = 0; b < count; b++) {
		bool sound = sum[b] >= 0.0f && sum[b] <= FLT_MAX;
		spread[first + b] = sum[b];
		for (size_t i = 0; i < COP_KERNEL_LANES; i += LANES) {
			vec v = root[b] * LOAD(k + (first + b) * COP_KERNEL_LANES + i);
			STORE(s->v[(first + b) % RING] + i, sound ? v : (vec){ 0 });
		}
	}
}

static void shrink(size_t blocks, const float *x, float *p, float *k, float *spread)
{
	shrinking s;
	for (size_t b = 0; b < blocks; b++) {
		const size_t at = b * COP_KERNEL_LANES;
		float *const here = p + b * SQUARE;
		vec *const product = s.product[b % RING];
		if (b < BEHIND)
			shrink_block(true, false, x + at, here, k + at, product, s.v[0], p);
		else
			shrink_block(true, true, x + at, here, k + at, product, s.v[(b - BEHIND) % RING],
			        here - BEHIND * SQUARE);
		if (b % GROUP_OF_BLOCKS == 0 && b > 0)
			shrink_by(&s, b - GROUP_OF_BLOCKS, GROUP_OF_BLOCKS, k, spread);
	}
	for (size_t b = blocks; b % GROUP_OF_BLOCKS != 0; b++)
		for (int i = 0; i < SPLIT; i++)
			s.product[b % RING][i] = (vec){ 0 };
	if (blocks > 0) {
		size_t last = (blocks - 1) / GROUP_OF_BLOCKS * GROUP_OF_BLOCKS;
		shrink_by(&s, last, blocks - last, k, spread);
	}
	for (size_t b = blocks < BEHIND ? 0 : blocks - BEHIND; b < blocks; b++)
		shrink_block(false, true, x, p, k, s.product[0], s.v[b % RING], p + b * SQUARE);
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
	.scaled = scaled,
	.bound = bound,
	.shrink = shrink,
	.products = products,
	.within = within,
};
