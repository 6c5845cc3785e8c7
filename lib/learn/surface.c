/* All weights lie behind one another: A (D x H), B ((H + D) x G), c (G), o (G), o_0 and its padding; the gradient, its
 * squares and the averaged weights likewise. Matrices are feature-major, as the kernels have them. The gradient that is
 * kept is a running mean (momentum); what is left of it where units are off is cut to 0 before it becomes denormal. */
#include "learn/surface.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "learn/grown_inputs.h"

#define BENT       16 /* H */
#define EDGES      32 /* G */
#define BATCH      8
#define ROWS       8192
#define MEMORY     ((size_t)2 << 20) /* of rows, at most */
#define RATE       0.005
#define RATE_HALF  2000.0 /* losses after which it is half */
#define MOMENTUM   0.9f
#define SQUARES    0.99f
#define OUT        1e-6f
#define AVERAGED   0.002 /* share of the newest weights, at least */
#define SUFFIX     0.2   /* of the steps so far, that count in the average */
#define CUT        4.0f  /* error, in deviations of the loss */
#define TINY       1e-18f
#define FIRST_LOSS 0.5f
#define LARGEST    1e6f /* weight */
#define SEED       1
#define STREAM     7

struct cop_surface {
	const cop_kernel *kernel;
	size_t inputs, weights, room;
	float *w, *gradient, *squares, *average; /* weights */
	float *x;                                /* room x inputs: the events that are kept */
	float *z, *loss;                         /* room */
	size_t kept;
	uint64_t learned;
	double mean, m2;
	cop_rng rng;
	float *a, *h, *da; /* H: of the context looked at */
	float *t, *dt;     /* G */
	float *work;       /* that all of these are in */
};

static size_t b_at(const cop_surface *s) { return s->inputs * BENT; }

static size_t c_at(const cop_surface *s) { return b_at(s) + (BENT + s->inputs) * EDGES; }

static size_t o_at(const cop_surface *s) { return c_at(s) + EDGES; }

static size_t weights_of(size_t inputs)
{
	return inputs * BENT + (BENT + inputs) * EDGES + 2 * EDGES + COP_KERNEL_LANES;
}

static size_t room_of(size_t inputs)
{
	size_t most = MEMORY / ((inputs + 2) * sizeof(float));
	return most < ROWS ? most : ROWS;
}

double cop_surface_footprint(size_t inputs)
{
	return (double)sizeof(cop_surface) +
	       (4.0 * (double)weights_of(inputs) + (double)room_of(inputs) * (double)(inputs + 2)) * sizeof(float);
}

static void scatter(cop_rng *rng, size_t n, double deviation, float *w)
{
	for (size_t i = 0; i < n; i++)
		w[i] = (float)(deviation * cop_rng_normal(rng));
}

/* Edges lie anywhere on the range, the surface itself is nearly flat. */
static void begin(cop_surface *s)
{
	const double rows = (double)(BENT + s->inputs);
	float *b = s->w + b_at(s), *c = s->w + c_at(s), *constant = c - EDGES;
	memset(s->w, 0, s->weights * sizeof *s->w);
	memset(s->gradient, 0, s->weights * sizeof *s->gradient);
	memset(s->squares, 0, s->weights * sizeof *s->squares);
	scatter(&s->rng, s->inputs * BENT, 1.0 / sqrt((double)s->inputs), s->w);
	scatter(&s->rng, (BENT + s->inputs) * EDGES, 1.0 / sqrt(rows), b);
	scatter(&s->rng, EDGES, 2.0, c);
	scatter(&s->rng, EDGES, 0.3 / sqrt((double)EDGES), s->w + o_at(s));
	for (size_t j = 0; j < EDGES; j++)
		constant[j] = c[j] * (float)(1.0 - 2.0 * cop_rng_unit(&s->rng));
	memcpy(s->average, s->w, s->weights * sizeof *s->average);
}

cop_err cop_surface_new(const cop_kernel *kernel, size_t inputs, cop_surface **out)
{
	*out = NULL;
	if (inputs == 0 || inputs > COP_SURFACE_MOST_INPUTS)
		return COP_EINVAL;
	cop_surface *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	s->kernel = kernel;
	s->inputs = inputs;
	s->weights = weights_of(inputs);
	s->room = room_of(inputs);
	s->w = cop_mem_alloc(s->weights, sizeof *s->w);
	s->gradient = cop_mem_alloc(s->weights, sizeof *s->gradient);
	s->squares = cop_mem_alloc(s->weights, sizeof *s->squares);
	s->average = cop_mem_alloc(s->weights, sizeof *s->average);
	s->x = cop_mem_reserve(s->room * inputs, sizeof *s->x);
	s->z = cop_mem_reserve(s->room, sizeof *s->z);
	s->loss = cop_mem_reserve(s->room, sizeof *s->loss);
	s->work = cop_mem_alloc(3 * BENT + 2 * EDGES, sizeof *s->work);
	if (s->work == NULL || s->w == NULL || s->gradient == NULL || s->squares == NULL || s->average == NULL ||
	        s->x == NULL || s->z == NULL || s->loss == NULL) {
		cop_surface_free(s);
		return COP_ENOMEM;
	}
	s->a = s->work;
	s->h = s->a + BENT;
	s->da = s->h + BENT;
	s->t = s->da + BENT;
	s->dt = s->t + EDGES;
	cop_rng_init(&s->rng, SEED, STREAM);
	begin(s);
	*out = s;
	return COP_OK;
}

void cop_surface_free(cop_surface *s)
{
	if (s == NULL)
		return;
	cop_mem_free(s->w);
	cop_mem_free(s->gradient);
	cop_mem_free(s->squares);
	cop_mem_free(s->average);
	cop_mem_free(s->x);
	cop_mem_free(s->z);
	cop_mem_free(s->loss);
	cop_mem_free(s->work);
	cop_mem_free(s);
}

/* ---- predictions ---- */

/* h and t of a context. */
static void forward(cop_surface *s, const float *w, const float *x)
{
	const float *b = w + b_at(s);
	memset(s->a, 0, BENT * sizeof *s->a);
	memset(s->t, 0, EDGES * sizeof *s->t);
	s->kernel->forward(s->inputs, BENT, x, w, s->a);
#pragma omp simd
	for (size_t i = 0; i < BENT; i++)
		s->h[i] = s->a[i] / sqrtf(1.0f + s->a[i] * s->a[i]);
	s->kernel->forward(BENT, EDGES, s->h, b, s->t);
	s->kernel->forward(s->inputs, EDGES, x, b + (size_t)BENT * EDGES, s->t);
}

static double deviation_of(const cop_surface *s) { return s->learned > 0 ? sqrt(s->m2 / (double)s->learned) : 0.0; }

static float standardised(const cop_surface *s, double loss)
{
	double deviation = deviation_of(s);
	return deviation > 0.0 ? (float)((loss - s->mean) / deviation) : 0.0f;
}

void cop_surface_predict(cop_surface *s, const float *x, size_t count, const float *z, float *loss)
{
	const float *c = s->average + c_at(s), *o = s->average + o_at(s);
	const float deviation = (float)deviation_of(s), mean = s->learned > 0 ? (float)s->mean : FIRST_LOSS;
	forward(s, s->average, x);
	for (size_t k = 0; k < count; k++)
		loss[k] = s->learned > 0 ? o[EDGES] : 0.0f;
	for (size_t j = 0; s->learned > 0 && j < EDGES; j++) {
		const float out = o[j], slope = c[j], from = s->t[j];
#pragma omp simd
		for (size_t k = 0; k < count; k++) {
			float t = from + slope * z[k];
			loss[k] += out * (t > 0.0f ? t : 0.0f);
		}
	}
	for (size_t k = 0; k < count; k++)
		loss[k] = mean + deviation * loss[k];
}

/* ---- learning ---- */

/* The standardised loss at z, after forward; dt is spoilt. */
static float level(const cop_surface *s, float z)
{
	const float *c = s->w + c_at(s), *o = s->w + o_at(s);
#pragma omp simd
	for (size_t j = 0; j < EDGES; j++) {
		float t = s->t[j] + c[j] * z;
		s->dt[j] = t > 0.0f ? t : 0.0f;
	}
	return s->kernel->dot(EDGES, o, s->dt) + o[EDGES];
}

/* Adds an event's share of the gradient. */
static void descend(cop_surface *s, size_t row, float target)
{
	const float *x = s->x + row * s->inputs, z = s->z[row];
	const float *b = s->w + b_at(s), *c = s->w + c_at(s), *o = s->w + o_at(s);
	float *db = s->gradient + b_at(s), *dc = s->gradient + c_at(s), *d_o = s->gradient + o_at(s);
	forward(s, s->w, x);
	const float error = (1.0f - MOMENTUM) / BATCH * fminf(fmaxf(level(s, z) - target, -CUT), CUT);
#pragma omp simd
	for (size_t j = 0; j < EDGES; j++) {
		float t = s->t[j] + c[j] * z;
		d_o[j] += error * (t > 0.0f ? t : 0.0f);
		s->dt[j] = t > 0.0f ? error * o[j] : 0.0f;
		dc[j] += s->dt[j] * z;
	}
	d_o[EDGES] += error;
	for (size_t i = 0; i < BENT; i++) {
		float q = 1.0f / (1.0f + s->a[i] * s->a[i]);
		s->da[i] = s->kernel->dot(EDGES, b + i * EDGES, s->dt) * q * sqrtf(q);
	}
	s->kernel->rank1(BENT, EDGES, s->h, s->dt, db);
	s->kernel->rank1(s->inputs, EDGES, x, s->dt, db + (size_t)BENT * EDGES);
	s->kernel->rank1(s->inputs, BENT, x, s->da, s->gradient);
}

/* Its place among the events that are kept. */
static size_t keep(cop_surface *s, const float *x, double z, double loss)
{
	size_t row = s->kept < s->room ? s->kept++ : (size_t)cop_rng_below(&s->rng, s->room);
	double away = loss - s->mean;
	s->learned++;
	s->mean += away / (double)s->learned;
	s->m2 += away * (loss - s->mean);
	memcpy(s->x + row * s->inputs, x, s->inputs * sizeof *s->x);
	s->z[row] = (float)z;
	s->loss[row] = (float)loss;
	return row;
}

static void step(cop_surface *s)
{
	const double n = (double)s->learned;
	const cop_kernel_rmsprop step = {
		.lr = (float)(RATE / (1.0 + n / RATE_HALF)), .alpha = SQUARES, .rest = 1.0f - SQUARES, .out = OUT
	};
	const float share = (float)fmax(AVERAGED, 1.0 / (1.0 + SUFFIX * n));
	s->kernel->rmsprop(s->weights, &step, s->gradient, s->w, s->squares);
#pragma omp simd
	for (size_t i = 0; i < s->weights; i++)
		s->average[i] += share * (s->w[i] - s->average[i]);
}

void cop_surface_learn(cop_surface *s, const float *x, double z, double loss)
{
	size_t row = keep(s, x, z, loss);
#pragma omp simd
	for (size_t i = 0; i < s->weights; i++)
		s->gradient[i] = (s->gradient[i] * MOMENTUM + TINY) - TINY;
	for (size_t k = 0; k < BATCH; k++) {
		descend(s, row, standardised(s, (double)s->loss[row]));
		row = (size_t)cop_rng_below(&s->rng, s->kept);
	}
	step(s);
	if (!s->kernel->within(s->weights, s->w, LARGEST) || !s->kernel->within(s->weights, s->average, LARGEST))
		begin(s);
}

/* ---- state ---- */

void cop_surface_save(const cop_surface *s, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, s->inputs);
	cop_bytes_put_u64(bytes, s->learned);
	cop_bytes_put_u64(bytes, s->kept);
	cop_bytes_put_f64(bytes, s->mean);
	cop_bytes_put_f64(bytes, s->m2);
	cop_bytes_put_rng(bytes, &s->rng);
	cop_bytes_put_f32s(bytes, s->w, s->weights);
	cop_bytes_put_f32s(bytes, s->gradient, s->weights);
	cop_bytes_put_f32s(bytes, s->squares, s->weights);
	cop_bytes_put_f32s(bytes, s->average, s->weights);
	cop_bytes_put_f32s(bytes, s->x, s->kept * s->inputs);
	cop_bytes_put_f32s(bytes, s->z, s->kept);
	cop_bytes_put_f32s(bytes, s->loss, s->kept);
}

static bool is_sound(const cop_surface *s)
{
	bool sound = s->m2 >= 0.0 && s->learned >= s->kept && s->kernel->within(s->weights, s->w, LARGEST) &&
	             s->kernel->within(s->weights, s->average, LARGEST);
	for (size_t i = 0; i < s->weights; i++)
		sound = sound && s->squares[i] >= 0.0f;
	return sound;
}

/* What is there of each weight, of a network of `saved` inputs. */
static void load_weights(const cop_surface *s, size_t saved, float *w, cop_cursor *cursor)
{
	memset(w, 0, s->weights * sizeof *w);
	for (size_t j = 0; j < saved; j++)
		cop_cursor_f32s(cursor, w + cop_grown_inputs_place(j, saved, s->inputs) * BENT, BENT);
	float *b = w + b_at(s);
	cop_cursor_f32s(cursor, b, (size_t)BENT * EDGES);
	for (size_t j = 0; j < saved; j++)
		cop_cursor_f32s(cursor, b + (BENT + cop_grown_inputs_place(j, saved, s->inputs)) * EDGES, EDGES);
	cop_cursor_f32s(cursor, w + c_at(s), s->weights - c_at(s));
}

/* The last `kept` of so many events: there may be less room for larger ones. */
static void load_rows(const cop_surface *s, size_t saved, uint64_t events, cop_cursor *cursor)
{
	const size_t skipped = (size_t)events - s->kept;
	memset(s->x, 0, s->kept * s->inputs * sizeof *s->x);
	(void)cop_cursor_take(cursor, skipped * saved * sizeof(float));
	for (size_t i = 0; i < s->kept && cursor->err == COP_OK; i++) {
		float *x = s->x + i * s->inputs;
		cop_cursor_f32s(cursor, x, saved);
		const float constant = x[saved - 1];
		x[saved - 1] = 0.0f;
		x[s->inputs - 1] = constant;
	}
	(void)cop_cursor_take(cursor, skipped * sizeof(float));
	cop_cursor_f32s(cursor, s->z, s->kept);
	(void)cop_cursor_take(cursor, skipped * sizeof(float));
	cop_cursor_f32s(cursor, s->loss, s->kept);
}

cop_err cop_surface_load(cop_surface *s, cop_cursor *cursor)
{
	uint64_t inputs = cop_cursor_u64(cursor);
	s->learned = cop_cursor_u64(cursor);
	uint64_t kept = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (inputs == 0 || inputs > s->inputs || kept > room_of((size_t)inputs))
		return COP_ESHAPE;
	const size_t saved = (size_t)inputs;
	s->kept = kept < s->room ? (size_t)kept : s->room;
	s->mean = cop_cursor_f64(cursor);
	s->m2 = cop_cursor_f64(cursor);
	cop_cursor_rng(cursor, &s->rng);
	load_weights(s, saved, s->w, cursor);
	load_weights(s, saved, s->gradient, cursor);
	load_weights(s, saved, s->squares, cursor);
	load_weights(s, saved, s->average, cursor);
	load_rows(s, saved, kept, cursor);
	return cursor->err == COP_OK && !is_sound(s) ? COP_EFORMAT : cursor->err;
}
