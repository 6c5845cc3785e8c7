/* A row is expanded first: the standardised inputs, then, while they are few, the products of two features. The curve's
 * row is the tensor product of that with the polynomials at y, feature-major, so that a block of P holds features
 * whole. Products of sparse rows, of those with few entries, are hashed to as many places as there are inputs. A weight
 * c of a bin's step is a step on sqrt(c) times row and residual. */
#include "learn/bins.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "bandit/density.h"
#include "base/assert.h"
#include "base/mem.h"
#include "learn/convex.h"
#include "learn/grown_inputs.h"
#include "learn/second_order.h"
#include "learn/sparse_curve.h"
#include "learn/surface.h"

#define DEGREES            COP_SPARSE_CURVE_DEGREES /* Legendre polynomials 0 to 4 */
#define WIDTH              0.025
#define LEAST_WEIGHT       0.02f /* of a bin that is taught */
#define CURVE_RIDGE        0.1
#define STIFF_RIDGE        10.0
#define BINS_RIDGE         1.0
#define AVERAGE_ROWS       0.01 /* weight of what an average begins with */
#define BEGINNING          0.5
#define CUT                5.0f /* products, as the quadratic expert's */
#define SCALE              0.25f
#define MOST_PRODUCTS      45u
#define MOST_WITH_PRODUCTS 10u /* inputs */
#define MOST_IN_BINS       (size_t)1025
#define FULL_INPUTS        320u
#define BLOCK              16u
#define KEPT               0.9999 /* of the errors, a loss */
#define EQUAL              1.0    /* losses' worth of noise that speak for equal weights */
#define NOISE_SHARE        0.002
#define LARGEST_LOSS       1e15

#define FORM 0x20000u /* of the saved state */

enum { CURVE, STIFF, INDIVIDUAL, AVERAGE, SURFACE, MEMBERS };
static const char *const names[MEMBERS] = { "curve", "stiff", "bins", "average", "surface" };

struct cop_bins {
	cop_bins_settings set;
	size_t features;          /* of expanded rows */
	size_t pairs;             /* products among them */
	cop_second_order *curve;  /* one output; NULL: sparse */
	cop_second_order *stiff;  /* likewise */
	cop_sparse_curve *hashed; /* the same for sparse rows */
	cop_second_order *each;   /* an output a bin; NULL: none */
	cop_surface *surface;     /* NULL: none */
	double mean[COP_BINS];    /* average's */
	double weight[COP_BINS];
	size_t there[MEMBERS]; /* the members that there are */
	cop_convex convex;     /* of them */
	double noise;
	uint64_t learned;
	double shape[COP_BINS][DEGREES]; /* polynomials at the centres */
	double share[MEMBERS];           /* the members' weights, 0 of those that are not there */
	float place[COP_BINS];           /* the centres in [-1, 1] */
	cop_row row;                     /* the last expanded one */
	cop_row curved;                  /* sparse: the curve's */
	float *value;                    /* of dense ones, and of the sparse curve's */
	uint32_t *index;                 /* of that */
	float *tensor;                   /* the curve's row */
	float *scaled;                   /* the row times a weight's root */
	float *loss[MEMBERS];
	float *mixed;
};

static double centre_of(size_t k) { return ((double)k + 0.5) / COP_BINS; }

static uint64_t scatter(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static void polynomials(double y, double *out)
{
	double z = 2.0 * y - 1.0;
	out[0] = 1.0;
	out[1] = z;
	for (size_t n = 1; n + 1 < DEGREES; n++)
		out[n + 1] = ((2.0 * (double)n + 1.0) * z * out[n] - (double)n * out[n - 1]) / ((double)n + 1.0);
}

/* ---- shape ---- */

static size_t pairs_of(const cop_bins_settings *s)
{
	return s->sparse || s->inputs > MOST_WITH_PRODUCTS ? 0 : (s->inputs - 1) * s->inputs / 2;
}

static bool has_each(const cop_bins_settings *s) { return !s->sparse && s->inputs <= MOST_IN_BINS; }

static bool has_surface(const cop_bins_settings *s) { return !s->sparse && s->inputs <= COP_SURFACE_MOST_INPUTS; }

static size_t block_of(size_t inputs, size_t full) { return inputs <= full ? cop_kernel_pad(inputs) : BLOCK; }

static size_t each_block(size_t features) { return block_of(features, COP_SECOND_ORDER_BLOCK); }

static size_t curve_block(size_t features) { return block_of(features * DEGREES, FULL_INPUTS); }

bool cop_bins_same_form(size_t inputs, size_t others)
{
	const cop_bins_settings a = { .inputs = inputs }, b = { .inputs = others };
	return (pairs_of(&a) > 0) == (pairs_of(&b) > 0) && has_surface(&a) == has_surface(&b) &&
	       has_each(&a) == has_each(&b);
}

_Static_assert(MOST_WITH_PRODUCTS == 10 && COP_SURFACE_MOST_INPUTS == 129 && MOST_IN_BINS == 1025, "as in the words");
const char *const cop_bins_forms =
        "the bins' products, surface and own models end at 9, 128 and 1024 features: more come up to the next of these";

double cop_bins_footprint(const cop_bins_settings *s)
{
	size_t features = s->inputs + pairs_of(s);
	double sum = (double)sizeof(cop_bins);
	sum += s->sparse ? cop_sparse_curve_footprint(2 * features)
	                 : 2.0 * cop_second_order_footprint(features * DEGREES, 1, curve_block(features));
	if (has_surface(s))
		sum += cop_surface_footprint(s->inputs);
	if (has_each(s))
		sum += cop_second_order_footprint(features, COP_BINS, each_block(features));
	return sum +
	       (s->sparse ? 2.0 * (double)(s->entries + MOST_PRODUCTS) : (double)(DEGREES + 2) * (double)features) *
	               sizeof(float);
}

static bool has_room(cop_bins *b)
{
	size_t entries = b->set.sparse ? b->set.entries : b->features;
	bool room = true;
	b->value = cop_mem_alloc(cop_kernel_pad(entries + MOST_PRODUCTS), sizeof *b->value);
	b->index = cop_mem_alloc(b->set.sparse ? entries + MOST_PRODUCTS : 0, sizeof *b->index);
	b->scaled = cop_mem_alloc(cop_kernel_pad(b->set.sparse ? 1 : entries), sizeof *b->scaled);
	b->tensor = cop_mem_alloc(cop_kernel_pad(b->set.sparse ? 1 : entries * DEGREES), sizeof *b->tensor);
	b->mixed = cop_mem_alloc(COP_BINS, sizeof *b->mixed);
	for (size_t m = 0; m < MEMBERS; m++) {
		b->loss[m] = cop_mem_alloc(COP_BINS, sizeof **b->loss);
		room = room && b->loss[m] != NULL;
	}
	return room && b->value != NULL && b->scaled != NULL && b->index != NULL && b->tensor != NULL &&
	       b->mixed != NULL;
}

static cop_err new_curve(const cop_bins *b, double ridge, cop_second_order **out)
{
	return cop_second_order_new(b->set.kernel, b->features * DEGREES, 1, curve_block(b->features), ridge, out);
}

static cop_err new_members(cop_bins *b)
{
	const cop_bins_settings *s = &b->set;
	cop_err err = has_room(b) ? COP_OK : COP_ENOMEM;
	if (err == COP_OK && s->sparse)
		return cop_sparse_curve_new(2 * b->features, CURVE_RIDGE, &b->hashed);
	if (err == COP_OK)
		err = new_curve(b, CURVE_RIDGE, &b->curve);
	if (err == COP_OK)
		err = new_curve(b, STIFF_RIDGE, &b->stiff);
	if (err == COP_OK && has_each(s))
		err = cop_second_order_new(
		        s->kernel, b->features, COP_BINS, each_block(b->features), BINS_RIDGE, &b->each);
	if (err == COP_OK && has_surface(s))
		err = cop_surface_new(s->kernel, s->inputs, &b->surface);
	return err;
}

static void weigh(cop_bins *b)
{
	double weight[MEMBERS];
	cop_convex_weights(&b->convex, EQUAL * b->noise, weight);
	for (size_t i = 0; i < b->convex.count; i++)
		b->share[b->there[i]] = weight[i];
}

static void begin(cop_bins *b)
{
	const bool is[MEMBERS] = { true, b->stiff != NULL, b->each != NULL, true, b->surface != NULL };
	for (size_t m = 0; m < MEMBERS; m++)
		if (is[m])
			b->there[b->convex.count++] = m;
	weigh(b);
	for (size_t k = 0; k < COP_BINS; k++) {
		b->mean[k] = BEGINNING;
		b->weight[k] = AVERAGE_ROWS;
		b->place[k] = (float)(2.0 * centre_of(k) - 1.0);
		polynomials(centre_of(k), b->shape[k]);
	}
}

cop_err cop_bins_new(const cop_bins_settings *settings, cop_bins **out)
{
	*out = NULL;
	if (settings->inputs == 0)
		return COP_EINVAL;
	cop_bins *b = cop_mem_alloc(1, sizeof *b);
	if (b == NULL)
		return COP_ENOMEM;
	b->set = *settings;
	b->pairs = pairs_of(settings);
	b->features = settings->inputs + b->pairs;
	cop_err err = new_members(b);
	if (err != COP_OK) {
		cop_bins_free(b);
		return err;
	}
	begin(b);
	*out = b;
	return COP_OK;
}

void cop_bins_free(cop_bins *b)
{
	if (b == NULL)
		return;
	cop_second_order_free(b->curve);
	cop_second_order_free(b->stiff);
	cop_surface_free(b->surface);
	cop_sparse_curve_free(b->hashed);
	cop_second_order_free(b->each);
	cop_mem_free(b->value);
	cop_mem_free(b->index);
	cop_mem_free(b->scaled);
	cop_mem_free(b->tensor);
	cop_mem_free(b->mixed);
	for (size_t m = 0; m < MEMBERS; m++)
		cop_mem_free(b->loss[m]);
	cop_mem_free(b);
}

/* ---- rows ---- */

/* For the curve alone: its row has places for products behind the inputs, as many, that pairs share by chance. */
static void expand_hashed(cop_bins *b, const cop_row *x)
{
	size_t n = x->nnz;
	memcpy(b->value, x->value, n * sizeof *b->value);
	memcpy(b->index, x->index, n * sizeof *b->index);
	for (size_t i = 0; x->nnz <= MOST_WITH_PRODUCTS && i + 1 < x->nnz; i++)
		for (size_t j = i; j + 1 < x->nnz; j++, n++) {
			uint64_t pair = (uint64_t)x->index[i] << 32 | x->index[j];
			b->value[n] = SCALE * fminf(fmaxf(x->value[i] * x->value[j], -CUT), CUT);
			b->index[n] = (uint32_t)(b->set.inputs + scatter(pair) % b->set.inputs);
		}
	b->curved = (cop_row){ .d = 2 * b->set.inputs, .nnz = n, .index = b->index, .value = b->value };
}

static void expand(cop_bins *b, const cop_row *x)
{
	b->row = *x;
	if (b->set.sparse) {
		expand_hashed(b, x);
		return;
	}
	float *product = b->value + b->set.inputs;
	memcpy(b->value, x->dense, b->set.inputs * sizeof *b->value);
	for (size_t i = 0; b->pairs > 0 && i + 1 < b->set.inputs; i++)
		for (size_t j = i; j + 1 < b->set.inputs; j++)
			*product++ = SCALE * fminf(fmaxf(x->dense[i] * x->dense[j], -CUT), CUT);
	b->row = (cop_row){ .d = b->features, .dense = b->value };
}

static cop_row tensor_row(cop_bins *b, double y)
{
	double at[DEGREES];
	polynomials(y, at);
	for (size_t i = 0; i < b->features; i++)
		for (size_t n = 0; n < DEGREES; n++)
			b->tensor[i * DEGREES + n] = b->value[i] * (float)at[n];
	return (cop_row){ .d = b->features * DEGREES, .dense = b->tensor };
}

/* ---- predictions ---- */

/* of: a dense curve. */
static void coefficients(const cop_bins *b, const cop_second_order *of, double *out)
{
	if (b->set.sparse) {
		cop_sparse_curve_coefficients(b->hashed, &b->curved, out);
		return;
	}
	const float *w = cop_second_order_weights(of);
	memset(out, 0, DEGREES * sizeof *out);
	for (size_t i = 0; i < b->features; i++)
		for (size_t n = 0; n < DEGREES; n++)
			out[n] += (double)w[i * DEGREES + n] * (double)b->value[i];
}

static void predict_curve(cop_bins *b, const cop_second_order *of, float *loss)
{
	double coefficient[DEGREES];
	coefficients(b, of, coefficient);
	for (size_t k = 0; k < COP_BINS; k++) {
		double sum = (double)COP_SECOND_ORDER_PRIOR;
		for (size_t n = 0; n < DEGREES; n++)
			sum += coefficient[n] * b->shape[k][n];
		loss[k] = (float)sum;
	}
}

const float *cop_bins_predict(cop_bins *b, const cop_row *x)
{
	expand(b, x);
	predict_curve(b, b->curve, b->loss[CURVE]);
	if (b->stiff != NULL)
		predict_curve(b, b->stiff, b->loss[STIFF]);
	if (b->each != NULL)
		cop_second_order_predict(b->each, &b->row, b->loss[INDIVIDUAL]);
	if (b->surface != NULL)
		cop_surface_predict(b->surface, x->dense, COP_BINS, b->place, b->loss[SURFACE]);
	for (size_t k = 0; k < COP_BINS; k++)
		b->loss[AVERAGE][k] = (float)b->mean[k];
	for (size_t k = 0; k < COP_BINS; k++) {
		double sum = 0.0;
		for (size_t m = 0; m < MEMBERS; m++)
			sum += b->share[m] > 0.0 ? b->share[m] * (double)b->loss[m][k] : 0.0;
		b->mixed[k] = (float)sum;
	}
	return b->mixed;
}

uint64_t cop_bins_learned(const cop_bins *b) { return b->learned; }
double cop_bins_noise(const cop_bins *b) { return b->noise; }

/* ---- learning ---- */

static double square(double x) { return x * x; }

static void judge(cop_bins *b, size_t k, double loss)
{
	b->learned++;
	double share = fmax(1.0 / (double)b->learned, NOISE_SHARE);
	double error = square((double)b->mixed[k] - loss);
	b->noise += share * (error - b->noise);
	double missed[MEMBERS];
	for (size_t i = 0; i < b->convex.count; i++)
		missed[i] = (double)b->loss[b->there[i]][k] - loss;
	cop_convex_settle(&b->convex, KEPT, missed);
	weigh(b);
}

static cop_err teach_bin(cop_bins *b, size_t k, float weight, double loss)
{
	float root = sqrtf(weight);
	for (size_t i = 0; i < b->features; i++)
		b->scaled[i] = root * b->value[i];
	const cop_row row = { .d = b->features, .dense = b->scaled };
	double prior = (double)COP_SECOND_ORDER_PRIOR;
	return cop_second_order_learn(b->each, &row, k, prior + (double)root * (loss - prior));
}

static bool teach_bins(cop_bins *b, double y, double loss)
{
	bool moved = false;
	for (size_t k = 0; k < COP_BINS; k++) {
		double weight = exp(-0.5 * square((centre_of(k) - y) / WIDTH));
		if (weight < (double)LEAST_WEIGHT)
			continue;
		if (b->each != NULL)
			moved |= teach_bin(b, k, (float)weight, loss) == COP_OK;
		b->weight[k] += weight;
		b->mean[k] += weight / b->weight[k] * (loss - b->mean[k]);
	}
	return moved;
}

/* A member that refuses the step stays as it was. */
static void teach_curves(cop_bins *b, double y, double loss)
{
	cop_err err;
	if (b->set.sparse) {
		double at[DEGREES];
		polynomials(y, at);
		err = cop_sparse_curve_learn(b->hashed, &b->curved, at, loss - (double)COP_SECOND_ORDER_PRIOR);
		(void)err;
		return;
	}
	cop_second_order *const curves[] = { b->curve, b->stiff };
	const cop_row row = tensor_row(b, y);
	for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
		err = cop_second_order_learn(curves[i], &row, 0, loss);
		(void)err;
	}
}

cop_err cop_bins_learn(cop_bins *b, const cop_row *x, double y, double loss)
{
	size_t k = cop_density_bin(COP_BINS, y);
	if (!(fabs(loss) <= LARGEST_LOSS))
		return COP_EDIVERGED;
	cop_bins_predict(b, x);
	for (size_t i = 0; i < b->convex.count; i++)
		if (!isfinite(b->loss[b->there[i]][k]))
			return COP_EDIVERGED;
	judge(b, k, loss);
	teach_curves(b, y, loss);
	if (b->surface != NULL)
		cop_surface_learn(b->surface, x->dense, 2.0 * y - 1.0, loss);
	(void)teach_bins(b, y, loss);
	return COP_OK;
}

/* ---- views ---- */

void cop_bins_explain(cop_bins *b, const cop_row *x, double y, cop_explanation *e)
{
	size_t k = cop_density_bin(COP_BINS, y);
	cop_bins_predict(b, x);
	for (size_t i = 0; i < b->convex.count; i++) {
		size_t m = b->there[i];
		cop_explained_expert *expert = cop_explanation_expert(e, names[m]);
		expert->weight = b->share[m];
		expert->prediction = (double)b->loss[m][k];
		if (m == INDIVIDUAL)
			cop_second_order_explain(b->each, &b->row, k, expert);
	}
}

bool cop_bins_product(const cop_bins *b, size_t index, size_t *i, size_t *j)
{
	if (b->pairs == 0 || index < b->set.inputs || index >= b->features)
		return false;
	size_t at = index - b->set.inputs, row = b->set.inputs - 1;
	for (*i = 0; at >= row; ++*i)
		at -= row--;
	*j = *i + at;
	return true;
}

size_t cop_bins_anatomy(const cop_bins *b, cop_anatomy_part *parts)
{
	for (size_t i = 0; i < b->convex.count; i++) {
		size_t m = b->there[i];
		parts[i] = (cop_anatomy_part){ .name = names[m], .weight = b->share[m], .unit = COP_ANATOMY_LOSS };
	}
	return b->convex.count;
}

void cop_bins_save(const cop_bins *b, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, FORM | COP_BINS);
	cop_bytes_put_u64(bytes, b->learned);
	cop_bytes_put_f64(bytes, b->noise);
	cop_bytes_put_f64s(bytes, b->mean, COP_BINS);
	cop_bytes_put_f64s(bytes, b->weight, COP_BINS);
	cop_convex_save(&b->convex, bytes);
	if (b->set.sparse)
		cop_sparse_curve_save(b->hashed, bytes);
	else
		cop_second_order_save(b->curve, bytes);
	if (b->stiff != NULL)
		cop_second_order_save(b->stiff, bytes);
	if (b->surface != NULL)
		cop_surface_save(b->surface, bytes);
	if (b->each != NULL)
		cop_second_order_save(b->each, bytes);
}

static bool is_sound(const cop_bins *b)
{
	bool sound = isfinite(b->noise) && b->noise >= 0.0;
	for (size_t k = 0; k < COP_BINS; k++)
		sound = sound && isfinite(b->mean[k]) && isfinite(b->weight[k]) && b->weight[k] > 0.0;
	return sound;
}

/* Where the expanded feature i of fewer inputs lies. */
static size_t place_of(const cop_bins *b, size_t inputs, size_t i)
{
	size_t row = inputs - 1, wider = b->set.inputs - 1, place = b->set.inputs;
	if (i < inputs)
		return cop_grown_inputs_place(i, inputs, b->set.inputs);
	for (i -= inputs; i >= row; place += wider--)
		i -= row--;
	return place + i;
}

/* Of `width` numbers for each expanded feature. */
static cop_err load_placed(const cop_bins *b, size_t inputs, size_t width, cop_second_order *model, cop_cursor *cursor)
{
	const cop_bins_settings was = { .inputs = inputs };
	const size_t features = inputs + pairs_of(&was);
	if (inputs == b->set.inputs)
		return cop_second_order_load(model, cursor);
	uint32_t *place = cop_mem_alloc(features * width, sizeof *place);
	if (place == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < features; i++)
		for (size_t n = 0; n < width; n++)
			place[i * width + n] = (uint32_t)(place_of(b, inputs, i) * width + n);
	cop_err err = cop_second_order_load_placed(model, place, features * width, cursor);
	cop_mem_free(place);
	return err;
}

static cop_err load_members(cop_bins *b, size_t inputs, cop_cursor *cursor)
{
	if (b->set.sparse)
		return cop_sparse_curve_load(b->hashed, cursor);
	cop_err err = load_placed(b, inputs, DEGREES, b->curve, cursor);
	if (err == COP_OK)
		err = load_placed(b, inputs, DEGREES, b->stiff, cursor);
	if (err == COP_OK && b->surface != NULL)
		err = cop_surface_load(b->surface, cursor);
	return err == COP_OK && b->each != NULL ? load_placed(b, inputs, 1, b->each, cursor) : err;
}

cop_err cop_bins_load(cop_bins *b, size_t inputs, cop_cursor *cursor)
{
	const bool fits = inputs == b->set.inputs || (inputs > 0 && inputs < b->set.inputs && !b->set.sparse &&
	                                                     cop_bins_same_form(inputs, b->set.inputs));
	if (!fits)
		return COP_ESHAPE;
	if (cop_cursor_u32(cursor) != (FORM | COP_BINS))
		return cursor->err != COP_OK ? cursor->err : COP_ESHAPE;
	b->learned = cop_cursor_u64(cursor);
	b->noise = cop_cursor_f64(cursor);
	cop_cursor_f64s(cursor, b->mean, COP_BINS);
	cop_cursor_f64s(cursor, b->weight, COP_BINS);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (!is_sound(b))
		return COP_ENONFINITE;
	cop_err err = cop_convex_load(&b->convex, cursor);
	weigh(b);
	return err == COP_OK ? load_members(b, inputs, cursor) : err;
}
