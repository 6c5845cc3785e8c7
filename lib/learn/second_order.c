/* w by arms (D, padded, each) where P is kept in blocks; else a feature-major block (D x columns, an arm a column), as
 * sparse rows like it. P_k in blocks: D rows of `side` columns, row j a row of block j / side, kept symmetric bit for
 * bit by subtracting v vᵀ with v = P x / sqrt(1 + xᵀ P x), x the block's inputs. Diagonal: p is D x columns. What could
 * fail is made sure of before the first change. */
#include "learn/second_order.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "learn/grown_inputs.h"
#include "learn/sparse_state.h"

#define LARGEST_ERROR 1e15f              /* beyond it, weights could overflow */
#define LARGEST_INPUT 1e15f              /* of blocks: squares of P x stay finite */
#define FULL_BYTES    ((size_t)64 << 20) /* of P over all arms */
#define FULL_INPUTS   384

struct cop_second_order {
	const cop_kernel *kernel;
	size_t inputs, arms;
	size_t columns; /* pad(arms); of one arm 1 */
	size_t step;    /* weight of input j for arm k: w[j step + k jump] */
	size_t jump;
	size_t side; /* of a block: pad(inputs) for the full P; 0: diagonal */
	float start; /* P begins as this times I */
	float *w;
	float *p;
	float *px;     /* inputs, padded: P x */
	float *more;   /* side: v */
	float *less;   /* side: -v */
	float *spread; /* of each block */
};

bool cop_second_order_affordable(size_t inputs, size_t arms)
{
	size_t entries;
	return !__builtin_mul_overflow(inputs * cop_kernel_pad(inputs), arms, &entries) &&
	       entries <= FULL_BYTES / sizeof(float);
}

/* Nothing runs over the arms of one: its weights need no lanes. */
static size_t columns_of(size_t arms) { return arms == 1 ? 1 : cop_kernel_pad(arms); }

size_t cop_second_order_block(size_t inputs, size_t arms)
{
	return cop_second_order_affordable(inputs, arms) && inputs <= FULL_INPUTS ? cop_kernel_pad(inputs)
	                                                                          : COP_SECOND_ORDER_BLOCK;
}

double cop_second_order_footprint(size_t inputs, size_t arms, size_t block)
{
	double padded = (double)cop_kernel_pad(inputs);
	double side = (double)block < padded ? (double)block : padded;
	if (block == 0)
		return 2.0 * (double)inputs * (double)columns_of(arms) * sizeof(float);
	return ((double)arms * (padded + (double)inputs * side) + padded + 3.0 * side) * sizeof(float);
}

static size_t w_size(const cop_second_order *model)
{
	return model->side > 0 ? model->arms * model->jump : model->inputs * model->columns;
}

static size_t p_size(const cop_second_order *model)
{
	return model->inputs * (model->side > 0 ? model->arms * model->side : model->columns);
}

/* Nothing is learned. */
static void begin(cop_second_order *model)
{
	const size_t inputs = model->inputs;
	memset(model->w, 0, w_size(model) * sizeof *model->w);
	memset(model->p, 0, p_size(model) * sizeof *model->p);
	for (size_t i = 0; model->side == 0 && i < inputs * model->columns; i++)
		model->p[i] = model->start;
	for (size_t i = 0; model->side > 0 && i < model->arms * inputs; i++)
		model->p[i * model->side + i % inputs % model->side] = model->start;
}

cop_err cop_second_order_new(
        const cop_kernel *kernel, size_t inputs, size_t arms, size_t block, double ridge, cop_second_order **out)
{
	*out = NULL;
	if (inputs == 0 || arms == 0 || !(ridge > 0.0) || block % COP_KERNEL_LANES != 0)
		return COP_EINVAL;
	cop_second_order *model = cop_mem_alloc(1, sizeof *model);
	if (model == NULL)
		return COP_ENOMEM;
	model->kernel = kernel;
	model->inputs = inputs;
	model->arms = arms;
	model->columns = columns_of(arms);
	model->side = block < cop_kernel_pad(inputs) ? block : cop_kernel_pad(inputs);
	model->step = model->side > 0 ? 1 : model->columns;
	model->jump = model->side > 0 ? cop_kernel_pad(inputs) : 1;
	model->w = cop_mem_alloc(w_size(model), sizeof(float));
	model->p = cop_mem_alloc(p_size(model), sizeof(float));
	model->px = cop_mem_alloc(model->side > 0 ? cop_kernel_pad(inputs) + model->side : 0, sizeof(float));
	model->more = cop_mem_alloc(model->side, sizeof(float));
	model->less = cop_mem_alloc(model->side, sizeof(float));
	model->spread = cop_mem_alloc(model->side > 0 ? inputs / model->side + 1 : 0, sizeof(float));
	if (model->w == NULL || model->p == NULL || model->px == NULL || model->more == NULL || model->less == NULL ||
	        model->spread == NULL) {
		cop_second_order_free(model);
		return COP_ENOMEM;
	}
	model->start = (float)(1.0 / ridge);
	begin(model);
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
	cop_mem_free(model->more);
	cop_mem_free(model->less);
	cop_mem_free(model->spread);
	cop_mem_free(model);
}

static size_t place(const cop_second_order *model, const cop_row *x, size_t i, size_t arm)
{
	return cop_row_index(x, i) * model->step + arm * model->jump;
}

/* Less the prior. */
static float predicted(const cop_second_order *model, const cop_row *x, size_t arm)
{
	if (x->dense != NULL && model->step == 1)
		return model->kernel->dot(model->inputs, model->w + arm * model->jump, x->dense);
	float sum = 0.0f;
	for (size_t i = 0; i < cop_row_entries(x); i++)
		sum += model->w[place(model, x, i, arm)] * cop_row_value(x, i);
	return sum;
}

void cop_second_order_predict(const cop_second_order *model, const cop_row *x, float *loss)
{
	for (size_t k = 0; k < model->columns; k++)
		loss[k] = COP_SECOND_ORDER_PRIOR;
	if (model->step == 1)
		for (size_t k = 0; k < model->arms; k++)
			loss[k] += predicted(model, x, k);
	else
		cop_kernel_forward_row(model->kernel, x, model->columns, model->w, loss);
}

const float *cop_second_order_weights(const cop_second_order *model) { return model->w; }

void cop_second_order_anatomy(const cop_second_order *model, cop_anatomy_linear *out)
{
	*out = (cop_anatomy_linear){ model->w, model->inputs, model->arms, model->step, model->jump, model->inputs,
		1.0f };
}

static float residual(const cop_second_order *model, const cop_row *x, size_t arm, double loss)
{
	return (float)loss - COP_SECOND_ORDER_PRIOR - predicted(model, x, arm);
}

/* P x of `rows` inputs of one block into px; xᵀ P x. */
static float spread_of(const cop_second_order *model, size_t rows, const float *x, const float *p, float *px)
{
	memset(px, 0, model->side * sizeof *px);
	model->kernel->forward(rows, model->side, x, p, px); /* P is symmetric */
	return model->kernel->dot(rows, x, px);
}

static float spread_of_blocks(const cop_second_order *model, const float *x, size_t arm)
{
	const size_t side = model->side;
	const float *p = model->p + arm * model->inputs * side;
	float sum = 0.0f;
	for (size_t at = 0; at < model->inputs; at += side) {
		size_t rows = model->inputs - at < side ? model->inputs - at : side;
		sum += spread_of(model, rows, x + at, p + at * side, model->px);
	}
	return sum;
}

static float spread_of_diagonal(const cop_second_order *model, const cop_row *x, size_t arm)
{
	float sum = 0.0f;
	for (size_t i = 0; i < cop_row_entries(x); i++)
		sum += model->p[place(model, x, i, arm)] * cop_row_value(x, i) * cop_row_value(x, i);
	return sum;
}

void cop_second_order_spreads(cop_second_order *model, const cop_row *x, float *out)
{
	for (size_t k = 0; k < model->arms; k++) {
		float sum = model->side > 0 ? spread_of_blocks(model, x->dense, k) : spread_of_diagonal(model, x, k);
		out[k] = sum > 0.0f && sum <= FLT_MAX ? sum : 0.0f;
	}
}

/* A block cut to its diagonal, which lies in (0, start] unless it is spoiled too. */
static void restart(const cop_second_order *model, size_t rows, float *p)
{
	for (size_t j = 0; j < rows; j++) {
		float *row = p + j * model->side;
		float own = row[j] > 0.0f && row[j] <= model->start ? row[j] : model->start;
		memset(row, 0, model->side * sizeof *row);
		row[j] = own;
	}
}

static bool is_sound(float spread) { return spread >= 0.0f && spread <= FLT_MAX; }

/* k = P x of one block, which takes x in; xᵀ P x. */
static float take_in(cop_second_order *model, size_t rows, const float *x, float *p, float *k)
{
	float spread = spread_of(model, rows, x, p, k);
	if (!is_sound(spread)) { /* no x can: rounding has spoiled P */
		restart(model, rows, p);
		spread = spread_of(model, rows, x, p, k);
	}
	float share = 1.0f / sqrtf(1.0f + spread);
	for (size_t j = 0; j < model->side; j++) {
		model->more[j] = share * k[j];
		model->less[j] = -model->more[j];
	}
	model->kernel->rank1(rows, model->side, model->more, model->less, p);
	return spread;
}

/* The same of all whole blocks of the size that has a kernel of its own; the sum of their xᵀ P x. */
static float take_in_short(cop_second_order *model, size_t blocks, const float *x, float *p)
{
	float sum = 0.0f;
	model->kernel->shrink(blocks, x, p, model->px, model->spread);
	for (size_t b = 0; b < blocks; b++) {
		size_t at = b * COP_KERNEL_LANES;
		if (!is_sound(model->spread[b])) {
			restart(model, COP_KERNEL_LANES, p + at * COP_KERNEL_LANES);
			model->kernel->shrink(1, x + at, p + at * COP_KERNEL_LANES, model->px + at, &model->spread[b]);
		}
		sum += model->spread[b];
	}
	return sum;
}

static cop_err learn_blocks(cop_second_order *model, const cop_row *x, size_t arm, float error)
{
	const size_t side = model->side;
	float *p = model->p + arm * model->inputs * side;
	float spread = 1.0f;
	if (!model->kernel->within(model->inputs, x->dense, LARGEST_INPUT))
		return COP_EDIVERGED;
	size_t at = 0;
	if (side == COP_KERNEL_LANES) {
		at = model->inputs / side * side;
		spread += take_in_short(model, at / side, x->dense, p);
	}
	for (; at < model->inputs; at += side) {
		size_t rows = model->inputs - at < side ? model->inputs - at : side;
		spread += take_in(model, rows, x->dense + at, p + at * side, model->px + at);
	}
	float gain = error / spread;
	float *restrict w = model->w + arm * model->jump;
	const float *restrict k = model->px;
#pragma omp simd
	for (size_t j = 0; j < model->inputs; j++)
		w[j] += gain * k[j];
	return COP_OK;
}

static cop_err learn_diagonal(cop_second_order *model, const cop_row *x, size_t arm, float error)
{
	size_t entries = cop_row_entries(x);
	float spread = 1.0f + spread_of_diagonal(model, x, arm);
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
	COP_ASSERT(arm < model->arms && x->d == model->inputs && (x->dense != NULL || model->side == 0));
	float error = residual(model, x, arm, loss);
	if (!(fabsf(error) <= LARGEST_ERROR))
		return COP_EDIVERGED;
	return model->side > 0 ? learn_blocks(model, x, arm, error) : learn_diagonal(model, x, arm, error);
}

void cop_second_order_explain(const cop_second_order *model, const cop_row *x, size_t arm, cop_explained_expert *expert)
{
	expert->count = cop_explanation_top(
	        x, model->w + arm * model->jump, model->step, COP_EXPLANATION_LINEAR, expert->features);
	expert->linear = 0.0;
	for (size_t i = 0; i < cop_row_entries(x); i++)
		expert->linear += (double)model->w[place(model, x, i, arm)] * (double)cop_row_value(x, i);
}

enum { DIAGONAL, FULL, BLOCKS, DIAGONAL_ROWS }; /* the first is as diagonals were written before: all rows */

static uint8_t form_of(const cop_second_order *model)
{
	return model->side == 0 ? DIAGONAL_ROWS : model->side >= model->inputs ? FULL : BLOCKS;
}

static cop_sparse_state rows_of(const cop_second_order *model)
{
	return (cop_sparse_state){ .values = model->w,
		.sums = model->p,
		.sums_started = model->start,
		.rows = model->inputs,
		.width = model->columns };
}

/* What a saved model was like, and where its inputs are. */
typedef struct saved_form {
	size_t inputs, arms, side;
	const uint32_t *place; /* NULL: the constant is the last, and the others are where they were */
} saved_form;

/* Further arms, and inputs of diagonals, stay as they began. */
static void load_weights(cop_second_order *model, uint8_t form, const saved_form *saved, cop_cursor *cursor)
{
	const size_t arms = saved->arms, columns = columns_of(arms);
	if (form == DIAGONAL_ROWS) {
		cop_sparse_state rows = rows_of(model);
		rows.saved = columns;
		rows.place = saved->place;
		rows.places = saved->inputs;
		cop_sparse_state_load(&rows, false, NULL, cursor);
		return;
	}
	if (form == DIAGONAL) {
		for (size_t j = 0; j < model->inputs; j++)
			cop_cursor_f32s(cursor, model->w + j * model->columns, columns);
		for (size_t j = 0; j < model->inputs; j++)
			cop_cursor_f32s(cursor, model->p + j * model->columns, columns);
		return;
	}
	cop_cursor_f32s(cursor, model->w, arms * model->jump);
	cop_cursor_f32s(cursor, model->p, model->inputs * arms * model->side);
}

void cop_second_order_save(const cop_second_order *model, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, model->inputs);
	cop_bytes_put_u64(bytes, model->arms);
	uint8_t form = form_of(model);
	cop_bytes_put_u8(bytes, form);
	if (form == BLOCKS)
		cop_bytes_put_u64(bytes, model->side);
	if (form == DIAGONAL_ROWS) {
		const cop_sparse_state rows = rows_of(model);
		cop_sparse_state_save(&rows, NULL, bytes);
		return;
	}
	cop_bytes_put_f32s(bytes, model->w, w_size(model));
	cop_bytes_put_f32s(bytes, model->p, p_size(model));
}

static size_t place_of(const cop_second_order *model, const saved_form *form, size_t j)
{
	return form->place != NULL ? form->place[j] : cop_grown_inputs_place(j, form->inputs, model->inputs);
}

/* Row a of an arm's P, in the model's workspace, into the row that is its input's now: as much of it as lies in its
 * block. */
static void take_row(cop_second_order *model, const saved_form *form, size_t a, size_t arm)
{
	const size_t to = place_of(model, form, a), block = to / model->side, first = a / form->side * form->side;
	float *row = model->p + (arm * model->inputs + to) * model->side;
	memset(row, 0, model->side * sizeof *row);
	for (size_t c = 0; c < form->side && first + c < form->inputs; c++) {
		const size_t column = place_of(model, form, first + c);
		if (column / model->side == block)
			row[column % model->side] = model->px[c];
	}
}

static cop_err load_fewer(cop_second_order *model, const saved_form *form, cop_cursor *cursor)
{
	const size_t jump = cop_kernel_pad(form->inputs);
	begin(model);
	for (size_t k = 0; k < form->arms; k++) {
		cop_cursor_f32s(cursor, model->px, jump);
		for (size_t j = 0; j < form->inputs; j++)
			model->w[k * model->jump + place_of(model, form, j)] = model->px[j];
	}
	for (size_t k = 0; k < form->arms; k++)
		for (size_t a = 0; a < form->inputs && cursor->err == COP_OK; a++) {
			cop_cursor_f32s(cursor, model->px, form->side);
			take_row(model, form, a, k);
		}
	return cursor->err;
}

static cop_err load(cop_second_order *model, const uint32_t *place, size_t expected, cop_cursor *cursor)
{
	const uint64_t inputs = cop_cursor_u64(cursor), arms = cop_cursor_u64(cursor);
	const uint8_t form = cop_cursor_u8(cursor);
	const uint64_t side = form == BLOCKS          ? cop_cursor_u64(cursor)
	                      : inputs < SIZE_MAX / 2 ? cop_kernel_pad((size_t)inputs)
	                                              : 0;
	if (cursor->err != COP_OK)
		return cursor->err;
	if (arms == 0 || arms > model->arms || inputs != expected)
		return COP_ESHAPE;
	const saved_form saved = { (size_t)inputs, (size_t)arms, (size_t)side, place };
	const bool placed = form == DIAGONAL_ROWS && model->side == 0 && place != NULL;
	if (inputs < model->inputs && !placed) {
		const bool blocks = (form == FULL || form == BLOCKS) && model->side > 0 && side > 0;
		if (!blocks || side > cop_kernel_pad(saved.inputs))
			return COP_ESHAPE;
		return load_fewer(model, &saved, cursor);
	}
	bool same = form == form_of(model) || (form == DIAGONAL && model->side == 0);
	if (!same || (model->side > 0 && side != model->side))
		return COP_ESHAPE;
	load_weights(model, form, &saved, cursor);
	for (size_t i = 0; model->side == 0 && cursor->err == COP_OK && i < p_size(model); i++)
		if (!(model->p[i] >= 0.0f && model->p[i] <= model->start))
			return COP_EFORMAT; /* it only ever falls */
	return cursor->err;
}

cop_err cop_second_order_load_placed(cop_second_order *model, const uint32_t *place, size_t saved, cop_cursor *cursor)
{
	COP_ASSERT(saved <= model->inputs);
	return load(model, place, saved, cursor);
}

cop_err cop_second_order_load(cop_second_order *model, cop_cursor *cursor)
{
	cop_cursor ahead = *cursor;
	const uint64_t inputs = cop_cursor_u64(&ahead);
	if (ahead.err == COP_OK && (inputs == 0 || inputs > model->inputs))
		return COP_ESHAPE;
	return load(model, NULL, (size_t)inputs, cursor);
}

cop_err cop_second_order_make_room(cop_second_order *model, const cop_second_order *from)
{
	bool same = from->inputs == model->inputs && from->side == model->side && from->arms <= model->arms;
	return same ? COP_OK : COP_ESHAPE;
}

/* Of inputs and, in a row of each, arms. */
static void copy_columns(const cop_second_order *model, float *to, const float *values, size_t columns)
{
	for (size_t j = 0; j < model->inputs; j++)
		memcpy(to + j * model->columns, values + j * columns, columns * sizeof *to);
}

void cop_second_order_inherit(cop_second_order *model, cop_second_order *from)
{
	if (model->side > 0) {
		memcpy(model->w, from->w, w_size(from) * sizeof *model->w);
		memcpy(model->p, from->p, p_size(from) * sizeof *model->p);
		return;
	}
	if (from->columns == model->columns) { /* those beyond the arms are as they began */
		cop_mem_exchange(&model->w, &from->w, sizeof model->w);
		cop_mem_exchange(&model->p, &from->p, sizeof model->p);
		return;
	}
	copy_columns(model, model->w, from->w, from->columns);
	copy_columns(model, model->p, from->p, from->columns);
}
