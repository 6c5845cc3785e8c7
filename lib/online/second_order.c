/* w is a feature-major block (D x columns, an arm a column). Full: P_k are `arms` blocks of D rows and `side` = pad(D)
 * columns, kept symmetric bit for bit by subtracting v vᵀ with v = P x / sqrt(1 + xᵀ P x). Diagonal: p is D x columns.
 */
#include "online/second_order.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define LARGEST_ERROR 1e15f              /* beyond it, weights could overflow; so could P by P x */
#define FULL_BYTES    ((size_t)64 << 20) /* of P over all arms */

struct cop_second_order {
	const cop_kernel *kernel;
	size_t inputs, arms;
	size_t columns; /* pad(arms); of one arm 1 */
	size_t side;    /* pad(inputs) */
	bool full;
	float start; /* P begins as this times I */
	float *w;
	float *p;
	float *px;  /* side (full): P x */
	float *neg; /* side (full): -v */
};

bool cop_second_order_affordable(size_t inputs, size_t arms)
{
	size_t entries;
	return !__builtin_mul_overflow(inputs * cop_kernel_pad(inputs), arms, &entries) &&
	       entries <= FULL_BYTES / sizeof(float);
}

/* Nothing runs over the arms of one: its weights need no lanes. */
static size_t columns_of(size_t arms) { return arms == 1 ? 1 : cop_kernel_pad(arms); }

double cop_second_order_footprint(size_t inputs, size_t arms, bool full)
{
	double w = (double)inputs * (double)columns_of(arms);
	double p = full ? (double)arms * (double)inputs * (double)cop_kernel_pad(inputs) : w;
	return (w + p + 2.0 * (double)cop_kernel_pad(inputs)) * sizeof(float);
}

static size_t p_size(const cop_second_order *model)
{
	return model->full ? model->arms * model->inputs * model->side : model->inputs * model->columns;
}

cop_err cop_second_order_new(
        const cop_kernel *kernel, size_t inputs, size_t arms, bool full, double ridge, cop_second_order **out)
{
	*out = NULL;
	if (inputs == 0 || arms == 0 || !(ridge > 0.0))
		return COP_EINVAL;
	cop_second_order *model = cop_mem_alloc(1, sizeof *model);
	if (model == NULL)
		return COP_ENOMEM;
	model->kernel = kernel;
	model->inputs = inputs;
	model->arms = arms;
	model->columns = columns_of(arms);
	model->side = cop_kernel_pad(inputs);
	model->full = full;
	model->w = cop_mem_alloc(inputs * model->columns, sizeof(float));
	model->p = cop_mem_alloc(p_size(model), sizeof(float));
	model->px = cop_mem_alloc(model->side, sizeof(float));
	model->neg = cop_mem_alloc(model->side, sizeof(float));
	if (model->w == NULL || model->p == NULL || model->px == NULL || model->neg == NULL) {
		cop_second_order_free(model);
		return COP_ENOMEM;
	}
	float start = model->start = (float)(1.0 / ridge);
	for (size_t k = 0; full && k < arms; k++)
		for (size_t j = 0; j < inputs; j++)
			model->p[(k * inputs + j) * model->side + j] = start;
	for (size_t i = 0; !full && i < inputs * model->columns; i++)
		model->p[i] = start;
	*out = model;
	return COP_OK;
}

void cop_second_order_free(cop_second_order *model)
{
	if (model == NULL)
		return;
	cop_mem_free(model->w);
	cop_mem_free(model->p);
	cop_mem_free(model->px);
	cop_mem_free(model->neg);
	cop_mem_free(model);
}

void cop_second_order_predict(const cop_second_order *model, const cop_row *x, float *loss)
{
	for (size_t k = 0; k < model->columns; k++)
		loss[k] = COP_SECOND_ORDER_PRIOR;
	if (model->arms == 1)
		for (size_t i = 0; i < cop_row_entries(x); i++)
			loss[0] += model->w[cop_row_index(x, i)] * cop_row_value(x, i);
	else
		cop_kernel_forward_row(model->kernel, x, model->columns, model->w, loss);
}

const float *cop_second_order_weights(const cop_second_order *model) { return model->w; }

static size_t place(const cop_second_order *model, const cop_row *x, size_t i, size_t arm)
{
	return cop_row_index(x, i) * model->columns + arm;
}

static float residual(const cop_second_order *model, const cop_row *x, size_t arm, double loss)
{
	float predicted = COP_SECOND_ORDER_PRIOR;
	for (size_t i = 0; i < cop_row_entries(x); i++)
		predicted += model->w[place(model, x, i, arm)] * cop_row_value(x, i);
	return (float)loss - predicted;
}

/* P x into px; 1 + xᵀ P x, or NaN when P x is so large that P minus its square could overflow. */
static float spread_of(cop_second_order *model, const cop_row *x, const float *p)
{
	memset(model->px, 0, model->side * sizeof *model->px);
	cop_kernel_forward_row(model->kernel, x, model->side, p, model->px); /* P is symmetric */
	float square = model->kernel->dot(model->inputs, model->px, model->px);
	return square <= LARGEST_ERROR * LARGEST_ERROR ? 1.0f + model->kernel->dot(model->inputs, x->dense, model->px)
	                                               : NAN;
}

/* One arm's P cut to its diagonal, which lies in (0, start] unless it is spoiled too. */
static void restart(const cop_second_order *model, float *p)
{
	for (size_t j = 0; j < model->inputs; j++) {
		float *row = p + j * model->side;
		float own = row[j] > 0.0f && row[j] <= model->start ? row[j] : model->start;
		memset(row, 0, model->side * sizeof *row);
		row[j] = own;
	}
}

static cop_err learn_full(cop_second_order *model, const cop_row *x, size_t arm, float error)
{
	float *p = model->p + arm * model->inputs * model->side;
	float spread = spread_of(model, x, p);
	if (!(spread >= 1.0f)) { /* unless x is too large, rounding has spoiled P */
		if (!(model->kernel->dot(model->inputs, x->dense, x->dense) <= LARGEST_ERROR))
			return COP_EDIVERGED;
		restart(model, p);
		spread = spread_of(model, x, p);
	}
	if (!isfinite(spread))
		return COP_EDIVERGED;
	float gain = error / spread;
	float root = 1.0f / sqrtf(spread);
	for (size_t j = 0; j < model->side; j++) {
		model->px[j] *= root;
		model->neg[j] = -model->px[j];
	}
	float step = gain / root;
	for (size_t j = 0; j < model->inputs; j++)
		model->w[j * model->columns + arm] += step * model->px[j];
	model->kernel->rank1(model->inputs, model->side, model->px, model->neg, p);
	return COP_OK;
}

static cop_err learn_diagonal(cop_second_order *model, const cop_row *x, size_t arm, float error)
{
	size_t entries = cop_row_entries(x);
	float spread = 1.0f;
	for (size_t i = 0; i < entries; i++)
		spread += model->p[place(model, x, i, arm)] * cop_row_value(x, i) * cop_row_value(x, i);
	if (!isfinite(spread))
		return COP_EDIVERGED;
	float gain = error / spread;
	for (size_t i = 0; i < entries; i++) {
		size_t at = place(model, x, i, arm);
		float value = cop_row_value(x, i);
		float px = model->p[at] * value;
		model->w[at] += gain * px;
		model->p[at] = 1.0f / (1.0f / model->p[at] + value * value);
	}
	return COP_OK;
}

cop_err cop_second_order_learn(cop_second_order *model, const cop_row *x, size_t arm, double loss)
{
	COP_ASSERT(arm < model->arms && x->d == model->inputs && (x->dense != NULL || !model->full));
	float error = residual(model, x, arm, loss);
	if (!(fabsf(error) <= LARGEST_ERROR))
		return COP_EDIVERGED;
	return model->full ? learn_full(model, x, arm, error) : learn_diagonal(model, x, arm, error);
}

void cop_second_order_explain(const cop_second_order *model, const cop_row *x, size_t arm, cop_explained_expert *expert)
{
	expert->count =
	        cop_explanation_top(x, model->w + arm, model->columns, COP_EXPLANATION_LINEAR, expert->features);
	expert->linear = 0.0;
	for (size_t i = 0; i < cop_row_entries(x); i++)
		expert->linear += (double)model->w[place(model, x, i, arm)] * (double)cop_row_value(x, i);
}

void cop_second_order_save(const cop_second_order *model, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, model->inputs);
	cop_bytes_put_u64(bytes, model->arms);
	cop_bytes_put_u8(bytes, model->full);
	cop_bytes_put_f32s(bytes, model->w, model->inputs * model->columns);
	cop_bytes_put_f32s(bytes, model->p, p_size(model));
}

cop_err cop_second_order_load(cop_second_order *model, cop_cursor *cursor)
{
	uint64_t inputs = cop_cursor_u64(cursor);
	uint64_t arms = cop_cursor_u64(cursor);
	uint8_t full = cop_cursor_u8(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (inputs != model->inputs || arms != model->arms || full != (uint8_t)model->full)
		return COP_ESHAPE;
	cop_cursor_f32s(cursor, model->w, model->inputs * model->columns);
	cop_cursor_f32s(cursor, model->p, p_size(model));
	for (size_t i = 0; !model->full && cursor->err == COP_OK && i < p_size(model); i++)
		if (!(model->p[i] >= 0.0f && model->p[i] <= model->start))
			return COP_EFORMAT; /* it only ever falls */
	return cursor->err;
}
