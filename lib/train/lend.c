/* All ranks give what they have, which of all but the first is nothing. An empty message is the end. */
#include "train/lend.h"

#include "base/mem.h"
#include "train/tao_share.h"

enum { TAO, RANDOM_TREES }; /* what a message begins with */

/* ---- what is sent ---- */

static void put_settings(const cop_tao_settings *set, cop_bytes *bytes)
{
	const uint32_t words[] = { set->depth, set->loss, set->split, set->leaves, set->order, set->iterations,
		set->node_steps, set->monotone, set->prune };
	const double numbers[] = { set->alpha, set->leaf_alpha, set->missing, set->tolerance, set->node_tolerance };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		cop_bytes_put_u32(bytes, words[i]);
	cop_bytes_put_f64s(bytes, numbers, sizeof numbers / sizeof *numbers);
	cop_bytes_put_u64(bytes, set->leaf_classes);
}

/* How many of the dataset's first rows have all that are in the sample. */
static size_t rows_used(const cop_sample *sample)
{
	size_t n = sample->n;
	for (size_t i = 0; sample->row != NULL && i < sample->n; i++)
		n = n > sample->row[i] ? n : (size_t)sample->row[i] + 1;
	return n < sample->rows->n ? n : sample->rows->n;
}

static void put_rows(const cop_dataset *rows, size_t n, cop_bytes *bytes)
{
	size_t entries = rows->sparse ? rows->start[n] : 0;
	cop_bytes_put_u64(bytes, n);
	cop_bytes_put_u64(bytes, rows->d);
	cop_bytes_put_u8(bytes, rows->sparse);
	cop_tao_share_put_array(bytes, rows->x, n * rows->d, sizeof *rows->x);
	cop_tao_share_put_array(bytes, rows->start, n + 1, sizeof *rows->start);
	cop_tao_share_put_array(bytes, rows->index, entries, sizeof *rows->index);
	cop_tao_share_put_array(bytes, rows->value, entries, sizeof *rows->value);
}

static void put_sample(const cop_sample *sample, cop_bytes *bytes)
{
	size_t n = rows_used(sample);
	put_rows(sample->rows, n, bytes);
	cop_bytes_put_u64(bytes, sample->n);
	cop_bytes_put_u32(bytes, sample->task);
	cop_bytes_put_u64(bytes, sample->outputs);
	cop_tao_share_put_array(bytes, sample->row, sample->n, sizeof *sample->row);
	cop_tao_share_put_array(bytes, sample->label, n, sizeof *sample->label);
	cop_tao_share_put_array(bytes, sample->target, n * sample->outputs, sizeof *sample->target);
	cop_tao_share_put_array(bytes, sample->weight, n, sizeof *sample->weight);
}

static cop_err give(const cop_ranks *ranks, const cop_bytes *mine)
{
	cop_bytes all;
	cop_bytes_init(&all);
	cop_err err = mine->err != COP_OK ? mine->err : ranks->gather(ranks->context, mine, &all);
	cop_bytes_fini(&all);
	return err;
}

static bool lends(const cop_ranks *ranks) { return ranks != NULL && ranks->led && ranks->rank == 0; }

cop_err cop_lend_tao(const cop_ranks *ranks, const cop_tao_settings *settings, const cop_sample *sample,
        const cop_tree *start, const cop_rng *rng)
{
	cop_bytes bytes;
	if (!lends(ranks))
		return COP_OK;
	cop_bytes_init(&bytes);
	cop_bytes_put_u8(&bytes, TAO);
	put_settings(settings, &bytes);
	cop_bytes_put_u8(&bytes, rng != NULL); /* what has a start may have none */
	if (rng != NULL)
		cop_bytes_put_rng(&bytes, rng);
	cop_tree_put(start, &bytes);
	put_sample(sample, &bytes);
	cop_err err = give(ranks, &bytes);
	cop_bytes_fini(&bytes);
	return err;
}

cop_err cop_lend_random_trees(
        const cop_ranks *ranks, const cop_random_trees_settings *set, const cop_random_trees_sample *sample)
{
	cop_bytes bytes;
	if (!lends(ranks))
		return COP_OK;
	cop_bytes_init(&bytes);
	cop_bytes_put_u8(&bytes, RANDOM_TREES);
	cop_bytes_put_u64(&bytes, set->trees);
	cop_bytes_put_u64(&bytes, set->least);
	cop_bytes_put_u64(&bytes, set->seed);
	put_rows(sample->rows, sample->rows->n, &bytes);
	cop_bytes_put_u64(&bytes, sample->outputs);
	cop_tao_share_put_array(&bytes, sample->action, sample->rows->n, sizeof *sample->action);
	cop_tao_share_put_array(&bytes, sample->loss, sample->rows->n, sizeof *sample->loss);
	cop_err err = give(ranks, &bytes);
	cop_bytes_fini(&bytes);
	return err;
}

cop_err cop_lend_end(const cop_ranks *ranks)
{
	cop_bytes nothing;
	cop_bytes_init(&nothing);
	return give(ranks, &nothing);
}

/* ---- what comes ---- */

typedef struct lent {
	cop_tao_settings set;
	cop_rng rng;
	cop_tree *start;
	cop_dataset rows;
	cop_sample sample;
	uint32_t *row, *label;
	float *target, *weight;
} lent;

static void take_settings(cop_cursor *cursor, cop_tao_settings *set)
{
	uint32_t words[9];
	double numbers[5];
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		words[i] = cop_cursor_u32(cursor);
	cop_cursor_f64s(cursor, numbers, sizeof numbers / sizeof *numbers);
	*set = (cop_tao_settings){
		.depth = words[0],
		.loss = (cop_tao_loss)words[1],
		.split = (cop_tao_split)words[2],
		.leaves = (cop_tao_leaves)words[3],
		.order = (cop_tao_order)words[4],
		.iterations = words[5],
		.node_steps = words[6],
		.monotone = words[7] != 0,
		.prune = words[8] != 0,
		.alpha = numbers[0],
		.leaf_alpha = numbers[1],
		.missing = numbers[2],
		.tolerance = numbers[3],
		.node_tolerance = numbers[4],
		.leaf_classes = (size_t)cop_cursor_u64(cursor),
	};
}

static void take_rows(cop_cursor *cursor, cop_dataset *rows)
{
	size_t count;
	rows->n = (size_t)cop_cursor_u64(cursor);
	rows->d = (size_t)cop_cursor_u64(cursor);
	rows->sparse = cop_cursor_u8(cursor) != 0;
	rows->x = cop_tao_share_take_array(cursor, &count, sizeof *rows->x);
	rows->start = cop_tao_share_take_array(cursor, &count, sizeof *rows->start);
	rows->index = cop_tao_share_take_array(cursor, &count, sizeof *rows->index);
	rows->value = cop_tao_share_take_array(cursor, &count, sizeof *rows->value);
}

static cop_err take(lent *l, cop_cursor *cursor)
{
	size_t count;
	take_settings(cursor, &l->set);
	if (cop_cursor_u8(cursor) != 0)
		cop_cursor_rng(cursor, &l->rng);
	cop_err err = cop_tree_take(cursor, &l->start);
	if (err != COP_OK)
		return err;
	take_rows(cursor, &l->rows);
	l->sample.rows = &l->rows;
	l->sample.n = (size_t)cop_cursor_u64(cursor);
	l->sample.task = (cop_task)cop_cursor_u32(cursor);
	l->sample.outputs = (size_t)cop_cursor_u64(cursor);
	l->sample.row = l->row = cop_tao_share_take_array(cursor, &count, sizeof *l->row);
	l->sample.label = l->label = cop_tao_share_take_array(cursor, &count, sizeof *l->label);
	l->sample.target = l->target = cop_tao_share_take_array(cursor, &count, sizeof *l->target);
	l->sample.weight = l->weight = cop_tao_share_take_array(cursor, &count, sizeof *l->weight);
	return cursor->err;
}

static void lent_fini(lent *l)
{
	void *const arrays[] = { l->rows.x, l->rows.start, l->rows.index, l->rows.value, l->row, l->label, l->target,
		l->weight };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
	cop_tree_free(l->start);
}

static cop_err fit_tao(cop_pool *pool, cop_cursor *cursor)
{
	lent l = { .start = NULL };
	cop_tree *tree = NULL;
	cop_err err = take(&l, cursor);
	if (err == COP_OK)
		err = cop_tao_fit(&l.set, &l.sample, l.start, pool, &l.rng, NULL, NULL, &tree);
	cop_tree_free(tree);
	lent_fini(&l);
	return err;
}

static cop_err grow_lent(
        const cop_random_trees_settings *set, const cop_random_trees_sample *sample, const cop_ranks *ranks)
{
	cop_tree **tree = cop_mem_alloc(ranks->count, sizeof *tree);
	cop_err err = tree == NULL ? COP_ENOMEM : COP_OK;
	for (size_t first = 0, count = 0; err == COP_OK && first < set->trees; first += count) {
		err = cop_random_trees_round(set, sample, ranks, first, tree, &count);
		for (size_t i = 0; err == COP_OK && i < count; i++)
			cop_tree_free(tree[i]);
	}
	cop_mem_free(tree);
	return err;
}

static cop_err fit_random_trees(cop_pool *pool, cop_cursor *cursor)
{
	lent l = { .start = NULL };
	size_t actions, losses;
	cop_random_trees_settings set;
	set.trees = (size_t)cop_cursor_u64(cursor);
	set.least = (size_t)cop_cursor_u64(cursor);
	set.seed = cop_cursor_u64(cursor);
	take_rows(cursor, &l.rows);
	size_t outputs = (size_t)cop_cursor_u64(cursor);
	l.label = cop_tao_share_take_array(cursor, &actions, sizeof *l.label);
	double *loss = cop_tao_share_take_array(cursor, &losses, sizeof *loss);
	cop_err err = cursor->err;
	if (err == COP_OK && (l.label == NULL || loss == NULL || actions != l.rows.n || losses != l.rows.n))
		err = COP_EFORMAT;
	const cop_random_trees_sample sample = { &l.rows, outputs, l.label, loss };
	if (err == COP_OK)
		err = grow_lent(&set, &sample, cop_pool_ranks(pool));
	cop_mem_free(loss);
	lent_fini(&l);
	return err;
}

static cop_err fit_lent(cop_pool *pool, const cop_bytes *message)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, message->data, message->length);
	uint8_t kind = cop_cursor_u8(&cursor);
	return kind == TAO            ? fit_tao(pool, &cursor)
	       : kind == RANDOM_TREES ? fit_random_trees(pool, &cursor)
	                              : COP_EFORMAT;
}

cop_err cop_lend_help(cop_pool *pool)
{
	const cop_ranks *ranks = cop_pool_ranks(pool);
	cop_bytes nothing, message;
	cop_err err;
	cop_bytes_init(&nothing);
	cop_bytes_init(&message);
	for (;;) {
		cop_bytes_clear(&message);
		err = ranks->gather(ranks->context, &nothing, &message);
		if (err == COP_OK)
			err = message.err;
		if (err != COP_OK || message.length == 0)
			break;
		err = fit_lent(pool, &message);
		if (err != COP_OK)
			break;
	}
	cop_bytes_fini(&message);
	return err;
}
