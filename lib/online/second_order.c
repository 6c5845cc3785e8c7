/* w is a feature-major block (D x columns, an arm a column). Full: P_k are `arms` blocks of D rows and `side` = pad(D)
 * columns, kept symmetric bit for bit by subtracting v vᵀ with v = P x / sqrt(1 + xᵀ P x). Diagonal: p is D x columns.
 */
#include "online/second_order.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define PRIOR_LOSS 0.5f

struct cop_second_order {
	const cop_kernel *kernel;
	size_t inputs, arms;
	size_t columns; /* pad(arms) */
	size_t side;    /* pad(inputs) */
	bool full;
	float *w;
	float *p;
	float *px;  /* side (full): P x */
	float *neg; /* side (full): -v */
};

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
	model->columns = cop_kernel_pad(arms);
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
	float start = (float)(1.0 / ridge);
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
		loss[k] = PRIOR_LOSS;
	cop_kernel_forward_row(model->kernel, x, model->columns, model->w, loss);
}

static size_t entries_of(const cop_row *x) { return x->dense != NULL ? x->d : x->nnz; }

static float value_at(const cop_row *x, size_t i) { return x->dense != NULL ? x->dense[i] : x->value[i]; }

static size_t place(const cop_second_order *model, const cop_row *x, size_t i, size_t arm)
{
	return (x->dense != NULL ? i : x->index[i]) * model->columns + arm;
}

static float residual(const cop_second_order *model, const cop_row *x, size_t arm, double loss)
{
	float predicted = PRIOR_LOSS;
	for (size_t i = 0; i < entries_of(x); i++)
		predicted += model->w[place(model, x, i, arm)] * value_at(x, i);
	return (float)loss - predicted;
}

static cop_err learn_full(cop_second_order *model, const cop_row *x, size_t arm, float error)
{
	float *p = model->p + arm * model->inputs * model->side;
	memset(model->px, 0, model->side * sizeof *model->px);
	cop_kernel_forward_row(model->kernel, x, model->side, p, model->px); /* P is symmetric */
	float spread = 1.0f + model->kernel->dot(model->inputs, x->dense, model->px);
	float gain = error / spread;
	if (!(spread >= 1.0f && isfinite(spread) &&
	            isfinite(gain))) /* rounding has spoiled P, or the numbers have run away */
		return COP_EDIVERGED;
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
	size_t entries = entries_of(x);
	float spread = 1.0f;
	for (size_t i = 0; i < entries; i++)
		spread += model->p[place(model, x, i, arm)] * value_at(x, i) * value_at(x, i);
	float gain = error / spread;
	if (!isfinite(spread) || !isfinite(gain))
		return COP_EDIVERGED;
	for (size_t i = 0; i < entries; i++) {
		size_t at = place(model, x, i, arm);
		float value = value_at(x, i);
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
	return model->full ? learn_full(model, x, arm, error) : learn_diagonal(model, x, arm, error);
}

void cop_second_order_explain(const cop_second_order *model, const cop_row *x, size_t arm, cop_explained_expert *expert)
{
	expert->count =
	        cop_explanation_top(x, model->w + arm, model->columns, COP_EXPLANATION_LINEAR, expert->features);
	expert->linear = 0.0;
	for (size_t i = 0; i < entries_of(x); i++)
		expert->linear += (double)model->w[place(model, x, i, arm)] * (double)value_at(x, i);
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
	return cursor->err;
}
