/* Shifts lie leaf by leaf over all trees, `outputs` of each. A tree's copy is made by saving and loading it: trees are
 * immutable, but their owner may free his. */
#include "learn/refit.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/explained_tree.h"

#define NOTHING_KNOWN 0.5f
#define LARGEST_SHARE 1e6  /* of a step */
#define MOST_SEEN     1e6f /* beyond it, counting changes nothing */
#define HEADER        24   /* bytes of a model file's head; its length stands behind mark and version */

struct cop_refit {
	size_t features, outputs;
	size_t saved;  /* outputs of what is loaded next, at most as many; 0: the same */
	size_t least;  /* features that its trees may have instead of all; 0: none */
	size_t behind; /* the last features, before which others are added; 0: they are the last */
	uint64_t rev;
	cop_trees *trees; /* NULL: none yet */
	size_t count;     /* trees */
	double *share;    /* of a tree in the prediction */
	float *step;      /* of a tree in a step: moves the prediction by the whole of it */
	size_t *first;    /* count + 1: where a tree's leaves begin */
	float *shift, *seen;
	uint32_t *leaf; /* reached last */
	cop_tree_step *path;
	float *work, *told; /* outputs; told: the last prediction */
	double *sum;        /* outputs */
};

cop_err cop_refit_check(const cop_trees *trees, size_t features, size_t outputs, cop_diag *diag)
{
	if (cop_trees_features(trees) != features || cop_trees_outputs(trees) > outputs) {
		cop_diag_message(diag,
		        "the trees have %zu features and %zu outputs; expected %zu features and at most %zu outputs",
		        cop_trees_features(trees), cop_trees_outputs(trees), features, outputs);
		return COP_ESHAPE;
	}
	if (cop_trees_latent(trees) != NULL) {
		cop_diag_message(diag, "a latent tree does not predict by its splits alone; expected a tree of tao");
		return COP_ESHAPE;
	}
	if (cop_trees_how(trees) == COP_TREES_VOTE || cop_trees_how(trees) == COP_TREES_SOFTMAX ||
	        cop_tree_view(cop_trees_at(trees, 0))->link != COP_TREE_VALUES) {
		cop_diag_message(diag, "the trees predict classes; expected predicted losses");
		return COP_ESHAPE;
	}
	return COP_OK;
}

cop_err cop_refit_empty(size_t features, size_t outputs, cop_refit **out)
{
	*out = NULL;
	cop_refit *r = cop_mem_alloc(1, sizeof *r);
	if (r == NULL)
		return COP_ENOMEM;
	r->features = features;
	r->outputs = outputs;
	r->work = cop_mem_alloc(outputs, sizeof *r->work);
	r->told = cop_mem_alloc(outputs, sizeof *r->told);
	r->sum = cop_mem_alloc(outputs, sizeof *r->sum);
	if (r->work == NULL || r->told == NULL || r->sum == NULL) {
		cop_refit_free(r);
		return COP_ENOMEM;
	}
	*out = r;
	return COP_OK;
}

static void clear(cop_refit *r)
{
	cop_trees_free(r->trees);
	cop_mem_free(r->share);
	cop_mem_free(r->step);
	cop_mem_free(r->first);
	cop_mem_free(r->shift);
	cop_mem_free(r->seen);
	cop_mem_free(r->leaf);
	cop_mem_free(r->path);
	r->trees = NULL;
	r->share = NULL;
	r->step = NULL;
	r->first = NULL;
	r->shift = NULL;
	r->seen = NULL;
	r->leaf = NULL;
	r->path = NULL;
	r->count = 0;
}

void cop_refit_free(cop_refit *refit)
{
	if (refit == NULL)
		return;
	clear(refit);
	cop_mem_free(refit->work);
	cop_mem_free(refit->told);
	cop_mem_free(refit->sum);
	cop_mem_free(refit);
}

/* Shares of the trees in predictions and steps. */
static cop_err share_out(cop_refit *r)
{
	double total = 0.0, squares = 0.0;
	for (size_t m = 0; m < r->count; m++)
		total += cop_trees_weight(r->trees, m);
	for (size_t m = 0; m < r->count; m++) {
		double weight = cop_trees_weight(r->trees, m);
		r->share[m] = cop_trees_how(r->trees) == COP_TREES_MEAN ? weight / total : weight;
		squares += r->share[m] * r->share[m];
	}
	for (size_t m = 0; m < r->count; m++) {
		double step = r->share[m] / squares;
		if (!(fabs(step) <= LARGEST_SHARE))
			return COP_EINVAL;
		r->step[m] = (float)step;
	}
	return COP_OK;
}

/* Room for the shifts of r->trees, all 0. */
static cop_err settle_in(cop_refit *r)
{
	size_t leaves = 0;
	unsigned depth = 0;
	r->count = cop_trees_count(r->trees);
	r->first = cop_mem_alloc(r->count + 1, sizeof *r->first);
	if (r->first == NULL)
		return COP_ENOMEM;
	for (size_t m = 0; m < r->count; m++) {
		const cop_tree *tree = cop_trees_at(r->trees, m);
		r->first[m] = leaves;
		leaves += cop_tree_leaves(tree);
		depth = cop_tree_depth(tree) > depth ? cop_tree_depth(tree) : depth;
	}
	r->first[r->count] = leaves;
	r->share = cop_mem_alloc(r->count, sizeof *r->share);
	r->step = cop_mem_alloc(r->count, sizeof *r->step);
	r->leaf = cop_mem_alloc(r->count, sizeof *r->leaf);
	r->path = cop_mem_alloc(depth, sizeof *r->path);
	r->shift = cop_mem_alloc(leaves, r->outputs * sizeof *r->shift);
	r->seen = cop_mem_alloc(leaves, r->outputs * sizeof *r->seen);
	bool room = r->share != NULL && r->step != NULL && r->leaf != NULL && r->path != NULL && r->shift != NULL &&
	            r->seen != NULL;
	return room ? share_out(r) : COP_ENOMEM;
}

static void put_trees(const cop_trees *trees, cop_bytes *bytes)
{
	size_t mark = cop_section_file_begin(bytes);
	cop_trees_save(trees, bytes);
	cop_section_file_end(bytes, mark);
}

static cop_err copy(const cop_trees *trees, cop_trees **out)
{
	cop_bytes bytes;
	cop_section_file file;
	cop_bytes_init(&bytes);
	put_trees(trees, &bytes);
	cop_err err = bytes.err;
	if (err == COP_OK)
		err = cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL);
	if (err == COP_OK)
		err = cop_trees_load(&file, out);
	cop_bytes_fini(&bytes);
	return err;
}

cop_err cop_refit_new(
        const cop_trees *trees, size_t features, size_t outputs, uint64_t rev, cop_refit **out, cop_diag *diag)
{
	*out = NULL;
	cop_refit *r = NULL;
	cop_err err = cop_refit_check(trees, features, outputs, diag);
	if (err != COP_OK)
		return err;
	err = cop_refit_empty(features, outputs, &r);
	if (err == COP_OK)
		err = copy(trees, &r->trees);
	if (err == COP_OK)
		err = settle_in(r);
	if (err != COP_OK) {
		cop_diag_message(diag, "trees of a refit: %s", cop_err_text(err));
		cop_refit_free(r);
		return err;
	}
	r->rev = rev;
	*out = r;
	return COP_OK;
}

uint64_t cop_refit_rev(const cop_refit *refit) { return refit->rev; }
const cop_trees *cop_refit_trees(const cop_refit *refit) { return refit->trees; }

/* Outputs that the trees have: arms that were added to a model since they were fitted have none. */
static size_t known_of(const cop_refit *r) { return r->trees == NULL ? r->outputs : cop_trees_outputs(r->trees); }

/* The trees' values of outputs that they do not have are the mean of those that they have. */
static void fill_unknown(const cop_refit *r, float *value)
{
	const size_t known = known_of(r);
	double sum = 0.0;
	if (known == r->outputs)
		return;
	for (size_t k = 0; k < known; k++)
		sum += (double)value[k];
	for (size_t k = known; k < r->outputs; k++)
		value[k] = (float)(sum / (double)known);
}

/* What the trees look at: features that were added to a model since they were fitted lie behind it. */
static cop_row seen_of(const cop_refit *r, const cop_row *raw)
{
	cop_row seen = *raw;
	if (r->trees != NULL && raw->dense != NULL)
		seen.d = cop_trees_features(r->trees);
	return seen;
}

static void walk(cop_refit *r, const cop_row *raw)
{
	const size_t n = r->outputs, known = known_of(r);
	const cop_row seen = seen_of(r, raw);
	double base = 0.0;
	for (size_t k = 0; k < n; k++) {
		r->sum[k] = r->trees == NULL ? (double)NOTHING_KNOWN
		            : k < known      ? cop_trees_base(r->trees)[k]
		                             : base / (double)known;
		base += k < known ? r->sum[k] : 0.0;
	}
	for (size_t m = 0; m < r->count; m++) {
		size_t leaf = cop_tree_predict(cop_trees_at(r->trees, m), &seen, r->work);
		const float *shift = r->shift + (r->first[m] + leaf) * n;
		r->leaf[m] = (uint32_t)leaf;
		fill_unknown(r, r->work);
		for (size_t k = 0; k < n; k++)
			r->sum[k] += r->share[m] * ((double)r->work[k] + (double)shift[k]);
	}
	for (size_t k = 0; k < n; k++)
		r->told[k] = isfinite(r->sum[k]) ? (float)fmin(fmax(r->sum[k], 0.0), 1.0) : NOTHING_KNOWN;
}

void cop_refit_predict(cop_refit *refit, const cop_row *raw, float *out)
{
	walk(refit, raw);
	memcpy(out, refit->told, refit->outputs * sizeof *out);
}

void cop_refit_learn(cop_refit *refit, const cop_row *raw, size_t output, double loss, bool again)
{
	if (!again)
		walk(refit, raw);
	float error = (float)loss - refit->told[output];
	for (size_t m = 0; m < refit->count; m++) {
		size_t i = (refit->first[m] + refit->leaf[m]) * refit->outputs + output;
		if (refit->seen[i] < MOST_SEEN)
			refit->seen[i] += 1.0f;
		float rate = fmaxf(1.0f / (COP_REFIT_EVIDENCE + refit->seen[i]), COP_REFIT_RATE);
		refit->shift[i] += rate * error * refit->step[m];
	}
}

static void explain_tree(
        cop_refit *r, size_t m, const cop_row *raw, size_t output, cop_explanation *e, cop_explained_expert *expert)
{
	const cop_tree *tree = cop_trees_at(r->trees, m);
	const cop_row seen = seen_of(r, raw);
	cop_explained_tree *out = cop_explanation_tree(e, expert);
	size_t leaf = cop_explained_tree_walk(tree, &seen, r->path, e, out);
	cop_tree_leaf_outputs(tree, leaf, &seen, r->work);
	fill_unknown(r, r->work);
	out->value = r->work[output] + r->shift[(r->first[m] + leaf) * r->outputs + output];
}

void cop_refit_explain(
        cop_refit *refit, const cop_row *raw, size_t output, cop_explanation *e, cop_explained_expert *expert)
{
	for (size_t m = 0; m < refit->count && m < COP_REFIT_PATHS; m++) {
		if (e->tree_count == e->tree_capacity ||
		        e->node_capacity - e->node_count < cop_tree_depth(cop_trees_at(refit->trees, m)))
			return;
		explain_tree(refit, m, raw, output, e, expert);
	}
}

void cop_refit_paths(const cop_refit *refit, size_t *trees, size_t *nodes)
{
	*trees = *nodes = 0;
	for (size_t m = 0; m < refit->count && m < COP_REFIT_PATHS; m++) {
		*nodes += cop_tree_depth(cop_trees_at(refit->trees, m));
		++*trees;
	}
}

void cop_refit_save(const cop_refit *refit, cop_bytes *bytes)
{
	size_t numbers = refit->trees == NULL ? 0 : refit->first[refit->count] * refit->outputs;
	cop_bytes_put_u64(bytes, refit->rev);
	cop_bytes_put_u8(bytes, refit->trees != NULL);
	if (refit->trees != NULL)
		put_trees(refit->trees, bytes);
	cop_bytes_put_f32s(bytes, refit->shift, numbers);
	cop_bytes_put_f32s(bytes, refit->seen, numbers);
}

/* The trees' last features become the last of all. */
static cop_err move_features(cop_refit *r)
{
	const size_t features = cop_trees_features(r->trees);
	cop_trees *moved;
	if (features < r->behind)
		return COP_EFORMAT;
	cop_err err = cop_trees_widen(r->trees, features - r->behind, r->features - features, &moved);
	if (err != COP_OK)
		return err;
	cop_trees_free(r->trees);
	r->trees = moved;
	return COP_OK;
}

static cop_err load_trees(cop_refit *r, cop_cursor *cursor)
{
	cop_cursor head = *cursor;
	cop_section_file file;
	(void)cop_cursor_u64(&head);
	uint64_t length = cop_cursor_u64(&head);
	if (head.err != COP_OK || length < HEADER || length > cop_cursor_left(cursor))
		return COP_EFORMAT;
	const uint8_t *data = cop_cursor_take(cursor, (size_t)length);
	cop_err err = cop_section_file_open(&file, data, (size_t)length, NULL, NULL);
	if (err == COP_OK)
		err = cop_trees_load(&file, &r->trees);
	if (err == COP_ENOTFOUND)
		return COP_EFORMAT;
	if (err != COP_OK)
		return err;
	const size_t features = cop_trees_features(r->trees);
	const bool fewer = r->least > 0 && features >= r->least && features < r->features;
	err = cop_refit_check(r->trees, fewer ? features : r->features, r->outputs, NULL);
	return err == COP_OK && fewer && r->behind > 0 ? move_features(r) : err;
}

/* Those of the saved outputs of each leaf; the others are 0, as they were made. */
static void load_leaves(cop_refit *r, float *number, cop_cursor *cursor)
{
	const size_t saved = r->saved == 0 ? r->outputs : r->saved;
	for (size_t i = 0; i < r->first[r->count]; i++)
		cop_cursor_f32s(cursor, number + i * r->outputs, saved);
}

static cop_err load_numbers(cop_refit *r, cop_cursor *cursor)
{
	size_t numbers = r->first[r->count] * r->outputs;
	load_leaves(r, r->shift, cursor);
	load_leaves(r, r->seen, cursor);
	for (size_t i = 0; i < numbers && cursor->err == COP_OK; i++)
		if (!(r->seen[i] >= 0.0f))
			return COP_EFORMAT;
	return cursor->err;
}

void cop_refit_expect_saved(cop_refit *refit, size_t outputs, size_t features)
{
	refit->saved = outputs;
	refit->least = features;
}

void cop_refit_expect_behind(cop_refit *refit, size_t behind) { refit->behind = behind; }

cop_err cop_refit_load(cop_refit *refit, cop_cursor *cursor)
{
	clear(refit);
	refit->rev = cop_cursor_u64(cursor);
	uint8_t has_trees = cop_cursor_u8(cursor);
	if (cursor->err != COP_OK || has_trees == 0)
		return cursor->err;
	cop_err err = has_trees == 1 ? load_trees(refit, cursor) : COP_EFORMAT;
	if (err == COP_OK)
		err = settle_in(refit);
	if (err == COP_OK)
		err = load_numbers(refit, cursor);
	if (err != COP_OK)
		clear(refit);
	return err == COP_EINVAL ? COP_EFORMAT : err;
}

cop_err cop_refit_make_room(cop_refit *refit, const cop_refit *from)
{
	if (from->features != refit->features || from->outputs > refit->outputs || refit->trees != NULL)
		return COP_ESHAPE;
	if (from->trees == NULL)
		return COP_OK;
	const size_t leaves = from->first[from->count];
	cop_mem_free(refit->shift);
	cop_mem_free(refit->seen);
	refit->shift = cop_mem_alloc(leaves, refit->outputs * sizeof *refit->shift);
	refit->seen = cop_mem_alloc(leaves, refit->outputs * sizeof *refit->seen);
	return refit->shift == NULL || refit->seen == NULL ? COP_ENOMEM : COP_OK;
}

/* Shifts are copied leaf by leaf; the trees change hands. */
void cop_refit_inherit(cop_refit *refit, cop_refit *from)
{
	const size_t leaves = from->trees == NULL ? 0 : from->first[from->count];
	const size_t all = refit->outputs, outputs = from->outputs;
	for (size_t l = 0; l < leaves; l++) {
		memcpy(refit->shift + l * all, from->shift + l * outputs, outputs * sizeof *refit->shift);
		memcpy(refit->seen + l * all, from->seen + l * outputs, outputs * sizeof *refit->seen);
	}
	refit->rev = from->rev;
	cop_mem_exchange(&refit->trees, &from->trees, sizeof refit->trees);
	cop_mem_exchange(&refit->count, &from->count, sizeof refit->count);
	cop_mem_exchange(&refit->share, &from->share, sizeof refit->share);
	cop_mem_exchange(&refit->step, &from->step, sizeof refit->step);
	cop_mem_exchange(&refit->first, &from->first, sizeof refit->first);
	cop_mem_exchange(&refit->leaf, &from->leaf, sizeof refit->leaf);
	cop_mem_exchange(&refit->path, &from->path, sizeof refit->path);
}
