/* Columns: n = pad(M 2^h); node t of tree m at t M + m, leaf l of tree m at l M + m; the 2^h-th node column and the
 * padding stay zero because their gradients are zero. Accumulators start at 1, so that a first step is at most the
 * rate. */
#include "learn/additive.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "learn/grown_inputs.h"
#include "learn/sparse_state.h"
#include "tree/dgt.h"

#define ACCUMULATOR_START 1.0f
#define LARGEST_GRADIENT  1e15f /* beyond it, the squares that AdaGrad sums could overflow */

struct cop_additive {
	cop_additive_settings set;
	float agree;
	size_t leaves;              /* 2^h; 0 without trees */
	size_t n;                   /* columns of w */
	size_t columns;             /* columns of linear */
	float *w, *w_sum;           /* D x n and its accumulator */
	float *theta, *theta_sum;   /* outputs x (2^h M) */
	float *linear, *linear_sum; /* D x columns */
	float *a, *da, *work;       /* n; margins of the last row, gradients, workspace */
	uint32_t *leaf;             /* M */
	float *first, *first_score; /* n and columns: sums over the first inputs, when asked for */
	float *score;               /* columns */
	float *value;               /* 2^h M: leaf values along a row, when asked for */
	cop_rng begun;              /* what W was drawn from */
	uint8_t *moved;             /* sparse: D; rows of W that are not as they were drawn */
};

static bool allocate(cop_additive *model)
{
	const cop_additive_settings *set = &model->set;
	size_t nodes = set->inputs * model->n;
	size_t values = set->outputs * model->leaves * set->trees;
	size_t linear = set->along ? 0 : set->inputs * model->columns;
	model->w = cop_mem_alloc(nodes, sizeof(float));
	model->w_sum = cop_mem_alloc(nodes, sizeof(float));
	model->theta = cop_mem_alloc(values, sizeof(float));
	model->theta_sum = cop_mem_alloc(values, sizeof(float));
	model->linear = cop_mem_alloc(linear, sizeof(float));
	model->linear_sum = cop_mem_alloc(linear, sizeof(float));
	model->value = cop_mem_alloc(set->along ? model->leaves * set->trees : 0, sizeof(float));
	model->a = cop_mem_alloc(model->n, sizeof(float));
	model->da = cop_mem_alloc(model->n, sizeof(float));
	model->work = cop_mem_alloc(set->trees == 0 ? 0 : cop_dgt_work(set->height, set->trees), sizeof(float));
	model->leaf = cop_mem_alloc(set->trees, sizeof(uint32_t));
	model->moved = cop_mem_alloc(set->sparse ? set->inputs : 0, sizeof *model->moved);
	if (set->in_parts) {
		model->first = cop_mem_alloc(model->n, sizeof(float));
		model->first_score = cop_mem_alloc(model->columns, sizeof(float));
		model->score = cop_mem_alloc(model->columns, sizeof(float));
		if (model->first == NULL || model->first_score == NULL || model->score == NULL)
			return false;
	}
	return model->w != NULL && model->w_sum != NULL && model->theta != NULL && model->theta_sum != NULL &&
	       model->linear != NULL && model->linear_sum != NULL && model->value != NULL && model->a != NULL &&
	       model->da != NULL && model->work != NULL && model->leaf != NULL && model->moved != NULL;
}

static void draw_splits(cop_additive *model, cop_rng *rng)
{
	const cop_additive_settings *set = &model->set;
	model->begun = *rng;
	double sd = 1.0 / sqrt((double)set->typical);
	size_t nodes = model->leaves == 0 ? 0 : (model->leaves - 1) * set->trees;
	for (size_t j = 0; j < set->inputs; j++)
		for (size_t i = 0; i < nodes; i++)
			model->w[j * model->n + i] = (float)(sd * cop_rng_normal(rng));
	for (size_t i = 0; i < set->inputs * model->n; i++)
		model->w_sum[i] = ACCUMULATOR_START;
}

static void start(cop_additive *model, cop_rng *rng)
{
	const cop_additive_settings *set = &model->set;
	draw_splits(model, rng);
	for (size_t i = 0; i < set->outputs * model->leaves * set->trees; i++)
		model->theta_sum[i] = ACCUMULATOR_START;
	for (size_t i = 0; !set->along && i < set->inputs * model->columns; i++)
		model->linear_sum[i] = ACCUMULATOR_START;
}

cop_err cop_additive_new(const cop_additive_settings *settings, cop_rng *rng, cop_additive **out)
{
	*out = NULL;
	if (settings->inputs == 0 || settings->typical == 0 || settings->outputs == 0)
		return COP_EINVAL;
	if (settings->trees > 0 && (settings->height < 1 || settings->height > COP_DGT_MAX_HEIGHT))
		return COP_EINVAL;
	cop_additive *model = cop_mem_alloc(1, sizeof *model);
	if (model == NULL)
		return COP_ENOMEM;
	model->set = *settings;
	model->agree = cop_dgt_agree(1.0);
	model->leaves = settings->trees == 0 ? 0 : (size_t)1 << settings->height;
	model->n = cop_kernel_pad(model->leaves * settings->trees);
	model->columns = cop_kernel_pad(settings->outputs);
	if (!allocate(model)) {
		cop_additive_free(model);
		return COP_ENOMEM;
	}
	start(model, rng);
	*out = model;
	return COP_OK;
}

double cop_additive_footprint(const cop_additive_settings *settings)
{
	size_t leaves = settings->trees == 0 ? 0 : (size_t)1 << settings->height;
	double inputs = (double)settings->inputs;
	double splits = inputs * (double)cop_kernel_pad(leaves * settings->trees);
	double values = (double)settings->outputs * (double)(leaves * settings->trees);
	double linear = settings->along ? 0.0 : inputs * (double)cop_kernel_pad(settings->outputs);
	return 2.0 * sizeof(float) * (splits + values + linear);
}

void cop_additive_free(cop_additive *model)
{
	if (model == NULL)
		return;
	cop_mem_free(model->w);
	cop_mem_free(model->w_sum);
	cop_mem_free(model->moved);
	cop_mem_free(model->theta);
	cop_mem_free(model->theta_sum);
	cop_mem_free(model->linear);
	cop_mem_free(model->linear_sum);
	cop_mem_free(model->a);
	cop_mem_free(model->da);
	cop_mem_free(model->work);
	cop_mem_free(model->leaf);
	cop_mem_free(model->first);
	cop_mem_free(model->first_score);
	cop_mem_free(model->score);
	cop_mem_free(model->value);
	cop_mem_free(model);
}

static void walk(cop_additive *model, const cop_row *x)
{
	memset(model->a, 0, model->n * sizeof *model->a);
	cop_kernel_forward_row(model->set.kernel, x, model->n, model->w, model->a);
	cop_dgt_leaves(model->set.height, model->set.trees, model->a, model->leaf);
}

/* Leaves' places in an output's values. */
static void place_leaves(cop_additive *model)
{
	size_t trees = model->set.trees;
	for (size_t m = 0; m < trees; m++)
		model->leaf[m] = model->leaf[m] * (uint32_t)trees + (uint32_t)m;
}

void cop_additive_scores(cop_additive *model, const cop_row *x, float *scores)
{
	const cop_additive_settings *set = &model->set;
	memset(scores, 0, model->columns * sizeof *scores);
	if (!set->along)
		cop_kernel_forward_row(set->kernel, x, model->columns, model->linear, scores);
	if (set->trees == 0)
		return;
	walk(model, x);
	place_leaves(model);
	for (size_t k = 0; k < set->outputs; k++) {
		const float *theta = model->theta + k * model->leaves * set->trees;
		float sum = 0.0f;
		for (size_t m = 0; m < set->trees; m++)
			sum += theta[model->leaf[m]];
		scores[k] += sum;
	}
}

void cop_additive_begin(cop_additive *model, const cop_row *first)
{
	const cop_kernel *kernel = model->set.kernel;
	memset(model->first_score, 0, model->columns * sizeof *model->first_score);
	cop_kernel_forward_row(kernel, first, model->columns, model->linear, model->first_score);
	if (model->set.trees == 0)
		return;
	memset(model->first, 0, model->n * sizeof *model->first);
	cop_kernel_forward_row(kernel, first, model->n, model->w, model->first);
}

float cop_additive_finish(cop_additive *model, const cop_row *rest, size_t at)
{
	const cop_additive_settings *set = &model->set;
	memcpy(model->score, model->first_score, model->columns * sizeof *model->score);
	cop_kernel_forward_row(set->kernel, rest, model->columns, model->linear + at * model->columns, model->score);
	float score = model->score[0];
	if (set->trees == 0)
		return score;
	memcpy(model->a, model->first, model->n * sizeof *model->a);
	cop_kernel_forward_row(set->kernel, rest, model->n, model->w + at * model->n, model->a);
	cop_dgt_leaves(set->height, set->trees, model->a, model->leaf);
	for (size_t m = 0; m < set->trees; m++)
		score += model->theta[model->leaf[m] * set->trees + m];
	return score;
}

/* As the kernels' adagrad: a sum stays at FLT_MAX once it is there. */
static void step(float *w, float *sum, float g, float rate)
{
	*sum = fminf(*sum + g * g, FLT_MAX);
	*w -= rate * g / sqrtf(*sum);
}

static void update_linear(cop_additive *model, const cop_row *x, size_t output, float g)
{
	size_t entries = cop_row_entries(x);
	for (size_t i = 0; i < entries; i++) {
		size_t at = cop_row_index(x, i) * model->columns + output;
		step(&model->linear[at], &model->linear_sum[at], g * cop_row_value(x, i), model->set.linear_rate);
	}
}

static void note_moved(cop_additive *model, const cop_row *x)
{
	for (size_t i = 0; model->set.sparse && i < x->nnz; i++)
		model->moved[x->index[i]] = 1;
}

cop_err cop_additive_update(cop_additive *model, const cop_row *x, size_t output, float g)
{
	const cop_additive_settings *set = &model->set;
	COP_ASSERT(output < set->outputs);
	if (!(fabsf(g) <= LARGEST_GRADIENT))
		return COP_EDIVERGED;
	update_linear(model, x, output, g);
	if (set->trees == 0)
		return COP_OK;
	size_t values = model->leaves * set->trees;
	float *theta = model->theta + output * values;
	float *theta_sum = model->theta_sum + output * values;
	/* The splits' gradient is linear in g, so u is the leaf values and g comes in afterwards. */
	set->kernel->trees_backward(set->height, set->trees, model->agree, model->a, theta, model->work, model->da);
	for (size_t i = 0; i < values - set->trees; i++)
		model->da[i] *= g;
	cop_kernel_adagrad_row(set->kernel, x, model->n, model->da, set->split_rate, model->w, model->w_sum);
	note_moved(model, x);
	for (size_t m = 0; m < set->trees; m++)
		step(&theta[model->leaf[m]], &theta_sum[model->leaf[m]], g, set->leaf_rate);
	return COP_OK;
}

void cop_additive_walk(cop_additive *model, const cop_row *x)
{
	if (model->set.trees == 0)
		return;
	walk(model, x);
	place_leaves(model);
}

float cop_additive_along(const cop_additive *model, const cop_row *c)
{
	size_t values = model->leaves * model->set.trees;
	float score = 0.0f;
	for (size_t i = 0; i < cop_row_entries(c); i++) {
		const float *theta = model->theta + cop_row_index(c, i) * values;
		float sum = 0.0f;
		for (size_t m = 0; m < model->set.trees; m++)
			sum += theta[model->leaf[m]];
		score += cop_row_value(c, i) * sum;
	}
	return score;
}

/* Leaf values along c: elements apart from one another, so that a vector unit gives the same bits. */
static void combine(cop_additive *model, const cop_row *c)
{
	size_t values = model->leaves * model->set.trees;
	float *restrict out = model->value;
	memset(out, 0, values * sizeof *out);
	for (size_t i = 0; i < cop_row_entries(c); i++) {
		const float *restrict theta = model->theta + cop_row_index(c, i) * values;
		float share = cop_row_value(c, i);
#pragma omp simd
		for (size_t v = 0; v < values; v++)
			out[v] += share * theta[v];
	}
}

cop_err cop_additive_update_along(cop_additive *model, const cop_row *x, const cop_row *c, float g)
{
	const cop_additive_settings *set = &model->set;
	COP_ASSERT(c->d == set->outputs);
	if (!(fabsf(g) <= LARGEST_GRADIENT))
		return COP_EDIVERGED;
	if (set->trees == 0)
		return COP_OK;
	size_t values = model->leaves * set->trees;
	combine(model, c);
	set->kernel->trees_backward(
	        set->height, set->trees, model->agree, model->a, model->value, model->work, model->da);
	for (size_t i = 0; i < values - set->trees; i++)
		model->da[i] *= g;
	cop_kernel_adagrad_row(set->kernel, x, model->n, model->da, set->split_rate, model->w, model->w_sum);
	note_moved(model, x);
	for (size_t i = 0; i < cop_row_entries(c); i++) {
		size_t at = cop_row_index(c, i) * values;
		float share = g * cop_row_value(c, i);
		for (size_t m = 0; m < set->trees; m++) {
			size_t leaf = at + model->leaf[m];
			step(&model->theta[leaf], &model->theta_sum[leaf], share, set->leaf_rate);
		}
	}
	return COP_OK;
}

void cop_additive_explain(
        cop_additive *model, const cop_row *x, size_t output, cop_explanation *e, cop_explained_expert *expert)
{
	const cop_additive_settings *set = &model->set;
	expert->count = cop_explanation_top(
	        x, model->linear + output, model->columns, COP_EXPLANATION_LINEAR, expert->features);
	double linear = 0.0;
	for (size_t i = 0; i < cop_row_entries(x); i++)
		linear += (double)model->linear[cop_row_index(x, i) * model->columns + output] *
		          (double)cop_row_value(x, i);
	expert->linear = linear;
	if (set->trees == 0)
		return;
	walk(model, x);
	place_leaves(model); /* as scores leaves them */
	for (size_t m = 0; m < set->trees; m++) {
		cop_explained_tree *tree = cop_explanation_tree(e, expert);
		cop_explanation_path(e, tree, x, model->a + m, set->trees, model->w + m, model->n, set->height);
		tree->value = model->theta[(output * model->leaves + tree->leaf) * set->trees + m];
	}
}

void cop_additive_explain_along(
        cop_additive *model, const cop_row *x, const cop_row *c, cop_explanation *e, cop_explained_expert *expert)
{
	const cop_additive_settings *set = &model->set;
	if (set->trees == 0)
		return;
	walk(model, x);
	combine(model, c);
	for (size_t m = 0; m < set->trees; m++) {
		cop_explained_tree *tree = cop_explanation_tree(e, expert);
		cop_explanation_path(e, tree, x, model->a + m, set->trees, model->w + m, model->n, set->height);
		tree->value = model->value[tree->leaf * set->trees + m];
	}
}

void cop_additive_anatomy(const cop_additive *model, cop_anatomy_linear *out)
{
	const cop_additive_settings *set = &model->set;
	*out = (cop_anatomy_linear){ model->linear, set->inputs, set->outputs, model->columns, 1, set->inputs, 1.0f };
}

size_t cop_additive_trees(const cop_additive *model) { return model->set.trees; }

cop_err cop_additive_tree(const cop_additive *model, size_t m, cop_oblique_tree **out)
{
	const cop_additive_settings *set = &model->set;
	COP_ASSERT(m < set->trees);
	size_t d = set->inputs - 1;
	cop_err err = cop_oblique_tree_new(d, set->height, set->outputs, out);
	if (err != COP_OK)
		return err;
	for (size_t t = 0; t + 1 < model->leaves; t++) {
		float *weights = cop_oblique_tree_weights(*out, t);
		for (size_t j = 0; j < d; j++)
			weights[j] = model->w[j * model->n + t * set->trees + m];
		*cop_oblique_tree_bias(*out, t) = model->w[d * model->n + t * set->trees + m];
	}
	for (size_t l = 0; l < model->leaves; l++)
		for (size_t k = 0; k < set->outputs; k++)
			cop_oblique_tree_values(*out, l)[k] = model->theta[(k * model->leaves + l) * set->trees + m];
	return COP_OK;
}

static cop_sparse_state splits_of(const cop_additive *model)
{
	return (cop_sparse_state){ .values = model->w,
		.sums = model->w_sum,
		.sums_started = ACCUMULATOR_START,
		.rows = model->set.inputs,
		.width = model->n };
}

static cop_sparse_state linear_of(const cop_additive *model)
{
	return (cop_sparse_state){ .values = model->linear,
		.sums = model->linear_sum,
		.sums_started = ACCUMULATOR_START,
		.rows = model->set.inputs,
		.width = model->columns };
}

static cop_sparse_state leaves_of(const cop_additive *model)
{
	return (cop_sparse_state){ .values = model->theta,
		.sums = model->theta_sum,
		.sums_started = ACCUMULATOR_START,
		.rows = model->set.outputs,
		.width = model->leaves * model->set.trees };
}

static void save_sparse(const cop_additive *model, cop_bytes *bytes)
{
	const cop_sparse_state splits = splits_of(model), leaves = leaves_of(model), linear = linear_of(model);
	cop_bytes_put_rng(bytes, &model->begun);
	cop_sparse_state_save(&splits, model->moved, bytes);
	cop_sparse_state_save(&leaves, NULL, bytes);
	if (!model->set.along)
		cop_sparse_state_save(&linear, NULL, bytes);
}

void cop_additive_save(const cop_additive *model, cop_bytes *bytes)
{
	const cop_additive_settings *set = &model->set;
	cop_bytes_put_u64(bytes, set->sparse ? set->inputs | COP_SPARSE_MARK : set->inputs);
	cop_bytes_put_u64(bytes, set->outputs);
	cop_bytes_put_u64(bytes, set->trees);
	cop_bytes_put_u32(bytes, set->height);
	if (set->sparse) {
		save_sparse(model, bytes);
		return;
	}
	size_t values = set->outputs * model->leaves * set->trees;
	cop_bytes_put_f32s(bytes, model->w, set->inputs * model->n);
	cop_bytes_put_f32s(bytes, model->w_sum, set->inputs * model->n);
	cop_bytes_put_f32s(bytes, model->theta, values);
	cop_bytes_put_f32s(bytes, model->theta_sum, values);
	if (set->along)
		return;
	cop_bytes_put_f32s(bytes, model->linear, set->inputs * model->columns);
	cop_bytes_put_f32s(bytes, model->linear_sum, set->inputs * model->columns);
}

/* Accumulators divide: zero or less would be as bad as a NaN. */
static void check_sums(cop_cursor *cursor, const float *sums, size_t count)
{
	for (size_t i = 0; i < count && cursor->err == COP_OK; i++)
		if (sums[i] < ACCUMULATOR_START)
			cursor->err = COP_EFORMAT;
}

static void load_sums(cop_cursor *cursor, float *sums, size_t count)
{
	cop_cursor_f32s(cursor, sums, count);
	check_sums(cursor, sums, count);
}

static void load_rows(cop_cursor *cursor, const cop_sparse_state *rows, bool begun, uint8_t *moved)
{
	cop_sparse_state_load(rows, begun, moved, cursor);
	check_sums(cursor, rows->sums, rows->rows * rows->width);
}

/* outputs: of the saved model; further ones stay as they began. */
static cop_err load_sparse(cop_additive *model, size_t outputs, cop_cursor *cursor)
{
	const cop_sparse_state splits = splits_of(model), leaves = leaves_of(model);
	cop_sparse_state linear = linear_of(model);
	linear.saved = cop_kernel_pad(outputs);
	cop_rng rng;
	cop_cursor_rng(cursor, &rng);
	if (cursor->err != COP_OK)
		return cursor->err;
	draw_splits(model, &rng);
	memset(model->moved, 0, model->set.inputs);
	load_rows(cursor, &splits, true, model->moved);
	load_rows(cursor, &leaves, false, NULL);
	if (!model->set.along)
		load_rows(cursor, &linear, false, NULL);
	return cursor->err;
}

static size_t behind_of(const cop_additive_settings *set) { return set->behind == 0 ? 1 : set->behind; }

/* Of `saved` rows of `width` numbers, those of what may be fewer inputs and fewer columns. */
static void load_inputs(const cop_additive *model, float *block, size_t saved, size_t width, cop_cursor *cursor)
{
	const size_t behind = behind_of(&model->set), added = model->set.inputs - saved,
	             columns = block == model->w || block == model->w_sum ? model->n : model->columns;
	for (size_t j = 0; j < saved; j++)
		cop_cursor_f32s(cursor, block + cop_grown_inputs_behind(j, saved, behind, added) * columns, width);
}

/* All rows of W, as they were written before only some were. */
static void load_splits(cop_additive *model, size_t saved, cop_cursor *cursor)
{
	const cop_additive_settings *set = &model->set;
	load_inputs(model, model->w, saved, model->n, cursor);
	load_inputs(model, model->w_sum, saved, model->n, cursor);
	check_sums(cursor, model->w_sum, set->inputs * model->n);
	memset(model->moved, 1, set->sparse ? set->inputs : 0);
}

static cop_err load_dense(cop_additive *model, size_t inputs, size_t outputs, cop_cursor *cursor)
{
	const cop_additive_settings *set = &model->set;
	const size_t values = outputs * model->leaves * set->trees, columns = cop_kernel_pad(outputs);
	load_splits(model, inputs, cursor);
	cop_cursor_f32s(cursor, model->theta, values);
	load_sums(cursor, model->theta_sum, values);
	if (set->along)
		return cursor->err;
	load_inputs(model, model->linear, inputs, columns, cursor);
	load_inputs(model, model->linear_sum, inputs, columns, cursor);
	check_sums(cursor, model->linear_sum, set->inputs * model->columns);
	return cursor->err;
}

cop_err cop_additive_load(cop_additive *model, cop_cursor *cursor)
{
	const cop_additive_settings *set = &model->set;
	uint64_t inputs = cop_cursor_u64(cursor);
	uint64_t outputs = cop_cursor_u64(cursor);
	uint64_t trees = cop_cursor_u64(cursor);
	uint32_t height = cop_cursor_u32(cursor);
	bool sparse = set->sparse && (inputs & COP_SPARSE_MARK) != 0;
	if (cursor->err != COP_OK)
		return cursor->err;
	inputs = sparse ? inputs ^ COP_SPARSE_MARK : inputs;
	if ((inputs != set->inputs && set->sparse) || inputs < behind_of(set) || inputs > set->inputs || outputs == 0 ||
	        outputs > set->outputs || trees != set->trees || height != set->height)
		return COP_ESHAPE;
	return sparse ? load_sparse(model, (size_t)outputs, cursor)
	              : load_dense(model, (size_t)inputs, (size_t)outputs, cursor);
}

cop_err cop_additive_make_room(cop_additive *model, const cop_additive *from)
{
	const cop_additive_settings *set = &model->set, *had = &from->set;
	bool same = had->inputs == set->inputs && had->sparse == set->sparse && had->outputs <= set->outputs &&
	            had->trees == set->trees && had->height == set->height && !set->along;
	return same ? COP_OK : COP_ESHAPE;
}

static void copy_columns(const cop_additive *model, float *to, const float *values, size_t columns)
{
	for (size_t j = 0; j < model->set.inputs; j++)
		memcpy(to + j * model->columns, values + j * columns, columns * sizeof *to);
}

void cop_additive_inherit(cop_additive *model, cop_additive *from)
{
	const size_t values = from->set.outputs * model->leaves * model->set.trees;
	model->begun = from->begun;
	cop_mem_exchange(&model->w, &from->w, sizeof model->w);
	cop_mem_exchange(&model->w_sum, &from->w_sum, sizeof model->w_sum);
	cop_mem_exchange(&model->moved, &from->moved, sizeof model->moved);
	memcpy(model->theta, from->theta, values * sizeof *model->theta);
	memcpy(model->theta_sum, from->theta_sum, values * sizeof *model->theta_sum);
	if (from->columns == model->columns) { /* those beyond the outputs are as they began */
		cop_mem_exchange(&model->linear, &from->linear, sizeof model->linear);
		cop_mem_exchange(&model->linear_sum, &from->linear_sum, sizeof model->linear_sum);
		return;
	}
	copy_columns(model, model->linear, from->linear, from->columns);
	copy_columns(model, model->linear_sum, from->linear_sum, from->columns);
}
