/* learn/forest_rows.c and what new leaves make of it, against a log of all events that the test keeps itself: who
 * waits in which leaf, what a new leaf knows at once, and by how much its values move. */
#include "forest_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "learn/forest_parts.h"

enum { EVENTS = 2600, KEPT = 2000, ARMS = 3 };

typedef struct event {
	float x[FOREST_D];
	size_t arm;
	float loss;
} event;

static event seen[EVENTS];
static size_t count;

static size_t first_kept(void) { return count > KEPT ? count - KEPT : 0; }

/* Learns the next event and writes it down. */
static void learn_one(cop_forest *f, forest_events *e)
{
	forest_draw(e);
	memcpy(seen[count].x, e->row.dense, sizeof seen[count].x);
	seen[count].arm = e->arm;
	seen[count].loss = (float)e->y;
	count++;
	cop_forest_learn(f, &e->x, e->arm, e->y, false);
}

static size_t leaf_of(const cop_forest *f, size_t m, const float *x)
{
	const cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
	uint32_t at = 0;
	while (node[at].child != at)
		at = node[at].child + (x[node[at].feature] >= node[at].threshold ? 1u : 0u);
	return cop_forest_row(f, m, node[at].leaf);
}

/* Every kept event waits in the leaf where it ends, the oldest first. */
static void check_queues(cop_forest *f)
{
	for (size_t m = 0; m < f->set.trees; m++)
		for (size_t l = 0; l < f->leaves[m]; l++) {
			const size_t row = cop_forest_row(f, m, l);
			const size_t n = cop_forest_rows_find(&f->rows, m, row);
			size_t at = 0;
			for (size_t i = first_kept(); i < count; i++) {
				if (leaf_of(f, m, seen[i].x) != row)
					continue;
				assert_true(at < n);
				assert_int_equal(f->rows.found[at], i % KEPT);
				assert_int_equal(f->rows.arm[i % KEPT], seen[i].arm);
				assert_true(f->rows.loss[i % KEPT] == seen[i].loss);
				at++;
			}
			assert_int_equal(at, n);
		}
}

/* A leaf that was just made has counted what is kept of it, and so have its candidates. */
static size_t check_new_leaf(const cop_forest *f, size_t m, size_t row)
{
	const cop_forest_edge *edge = &f->edge[row];
	float n[ARMS] = { 0 }, loss[ARMS] = { 0 }, right[ARMS][COP_FOREST_CANDIDATES] = { { 0 } };
	size_t known = 0, ready = 0;
	float squares = 0.0f;
	for (size_t i = first_kept(); i < count; i++) {
		if (leaf_of(f, m, seen[i].x) != row)
			continue;
		known++;
		n[seen[i].arm] += 1.0f;
		loss[seen[i].arm] += seen[i].loss;
		squares += seen[i].loss * seen[i].loss;
		for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
			right[seen[i].arm][c] += seen[i].x[edge->feature[c]] >= edge->threshold[c] ? 1.0f : 0.0f;
	}
	assert_int_equal(edge->seen, known);
	assert_true(edge->squares == squares);
	for (size_t k = 0; k < ARMS; k++) {
		assert_true(f->sum[row * ARMS + k].n == n[k]);
		assert_true(fabsf(f->sum[row * ARMS + k].loss - loss[k]) < 1e-3f);
		for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
			if ((edge->ready >> c & 1u) != 0)
				assert_true(f->right[row * ARMS + k].n[c] == right[k][c]);
	}
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
		ready += edge->ready >> c & 1u;
	return ready;
}

static void check_log(bool sparse)
{
	cop_forest *f = forest_of(FOREST_D, sparse ? FOREST_D : 0, ARMS, 4, 11);
	forest_events e;
	uint32_t leaves[4] = { 1, 1, 1, 1 };
	size_t made = 0, ready = 0;
	forest_begin(&e, forest_band, ARMS, 80);
	e.sparse = sparse;
	for (count = 0; count < EVENTS;) {
		learn_one(f, &e);
		for (size_t m = 0; m < 4; m++)
			for (; leaves[m] < f->leaves[m]; leaves[m]++) {
				ready += check_new_leaf(f, m, cop_forest_row(f, m, leaves[m]));
				made++;
			}
		if (count % 130 == 0)
			check_queues(f);
	}
	printf("%s: %zu leaves, %.1f candidates each at once\n", sparse ? "sparse" : "dense", made,
	        (double)ready / (double)made);
	assert_true(made > 40 && ready > 6 * made);
	assert_int_equal(f->rows.held, KEPT);
	cop_forest_free(f);
}

static void test_rows_wait_where_they_end_and_new_leaves_know_them(void **state)
{
	(void)state;
	check_log(false);
	check_log(true);
}

/* What one of two leaves has after they divided, from what the leaf had before, learned included. */
static double wanted(double was, double n, double loss, double n_beside, double loss_beside)
{
	if (n == 0.0 || n_beside == 0.0)
		return was;
	return was + n / (n + 1.0) * (loss / n - (loss + loss_beside) / (n + n_beside));
}

static void check_sides(const cop_forest *f, const float *before, size_t left, size_t right)
{
	for (size_t side = 0; side < 2; side++) {
		const size_t row = side == 0 ? left : right, other = side == 0 ? right : left;
		for (size_t k = 0; k < ARMS; k++) {
			const cop_forest_sum own = f->sum[row * ARMS + k], beside = f->sum[other * ARMS + k];
			const double both = (double)own.n + (double)beside.n;
			const double n = 1.0 / (double)before[2 * ARMS + k] - 1.0;
			const double now = 1.0 / (double)cop_forest_doubts(f, row)[k] - 1.0;
			for (size_t kind = 0; kind < 2; kind++) {
				double want = wanted((double)before[kind * ARMS + k], (double)own.n, (double)own.loss,
				        (double)beside.n, (double)beside.loss);
				float *value = kind == 0 ? cop_forest_quick(f, row) : cop_forest_steady(f, row);
				assert_true(fabs((double)value[k] - want) < 1e-5);
			}
			assert_true(fabs(now - n * (both > 0.0 ? (double)own.n / both : 0.3)) < 1e-3 * (n + 1.0));
		}
	}
}

/* One tree. An event moves the value of its arm alone; what the others had before it they have when their leaf divides.
 * Arm 2 is not played any more after 300 events: in the end no row tells of it. */
static void test_divided_leaves_have_what_their_rows_say(void **state)
{
	(void)state;
	cop_forest *f = forest_of(FOREST_D, 0, ARMS, 1, 12);
	forest_events e;
	size_t divided = 0, forgotten = 0;
	forest_begin(&e, forest_noisy_threshold, ARMS, 81);
	for (size_t i = 0; i < 12000; i++) {
		float before[3 * ARMS];
		const uint32_t leaves = f->leaves[0];
		forest_draw(&e);
		e.arm = e.arm == 2 && i >= 300 ? 0 : e.arm;
		e.y = e.loss(e.row.dense, e.arm, &e.rng);
		const size_t row = leaf_of(f, 0, e.row.dense);
		memcpy(before, cop_forest_quick(f, row), sizeof before);
		double n = 1.0 / (double)before[2 * ARMS + e.arm] - 1.0;
		for (size_t kind = 0; kind < 2; kind++) {
			double r = 2.0 / (1.0 + (kind == 0 ? 0.02 : 1.0) * n);
			float *value = &before[kind * ARMS + e.arm];
			*value += (float)(r * (e.y - 0.5 - (double)*value) / (1.0 + r));
		}
		before[2 * ARMS + e.arm] /= 1.0f + before[2 * ARMS + e.arm];
		cop_forest_learn(f, &e.x, e.arm, e.y, false);
		if (f->leaves[0] != leaves + 1)
			continue;
		const size_t right = cop_forest_row(f, 0, leaves);
		check_sides(f, before, row, right);
		forgotten += f->sum[row * ARMS + 2].n + f->sum[right * ARMS + 2].n == 0.0f;
		divided++;
	}
	printf("%zu divisions, %zu without a row of arm 2\n", divided, forgotten);
	assert_true(divided > 20 && forgotten > 3 && forgotten < divided);
	cop_forest_free(f);
}

/* As many rows as fit into 8 MiB; of rows that are larger none, and the forest learns without. */
static void test_wide_rows_are_kept_as_far_as_they_fit(void **state)
{
	(void)state;
	static const size_t inputs[] = { (size_t)1 << 16, (size_t)1 << 22 };
	static const size_t held[] = { 32, 0 };
	for (size_t w = 0; w < 2; w++) {
		cop_forest *f = forest_of(inputs[w], 0, 1, 2, 1);
		float *x = calloc(inputs[w], sizeof *x);
		float loss;
		assert_non_null(x);
		const cop_row row = { .d = inputs[w], .dense = x };
		for (size_t i = 0; i < 60; i++) {
			for (size_t j = 0; j < inputs[w]; j++)
				x[j] = i % 2 == 0 ? 1.0f : -1.0f;
			cop_forest_learn(f, &row, 0, i % 2 == 0 ? 1.0 : 0.0, false);
		}
		cop_forest_predict(f, &row, &loss);
		assert_int_equal(f->rows.held, held[w]);
		assert_true(loss < 0.2f && cop_forest_leaves(f) >= 4);
		cop_forest_free(f);
		free(x);
	}
}

/* ---- saved ---- */

static cop_err load_patched(cop_forest *f, const cop_bytes *good, size_t from_end, const void *with)
{
	cop_bytes bad;
	cop_cursor cursor;
	cop_bytes_init(&bad);
	cop_bytes_put(&bad, good->data, good->length);
	memcpy(bad.data + bad.length - from_end, with, 4);
	cop_cursor_init(&cursor, bad.data, bad.length);
	cop_err err = cop_forest_load(f, &cursor);
	cop_bytes_fini(&bad);
	return err;
}

/* The last row of a saved forest: its arm, its loss, and (sparse) how many entries and where they are. */
static void test_load_of_a_row_that_cannot_be_is_refused(void **state)
{
	(void)state;
	const float large = 1.5f, negative = -0.5f, half = 0.5f, none = NAN;
	const uint32_t outside = ARMS, inside = 1, many = FOREST_D + 1, far = FOREST_D, again = 0;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_forest *f = forest_of(FOREST_D, sparse ? FOREST_D : 0, ARMS, 2, 5);
		forest_events e;
		cop_bytes good;
		cop_bytes_init(&good);
		forest_begin(&e, forest_band, ARMS, 82);
		e.sparse = sparse;
		for (count = 0; count < 40;)
			learn_one(f, &e);
		cop_forest_save(f, &good);
		const size_t values = FOREST_D * 4, indices = sparse ? FOREST_D * 4 + 4 : 0;
		const size_t loss = values + indices + 4, arm = loss + 4;
		assert_int_equal(load_patched(f, &good, arm, &inside), COP_OK);
		assert_int_equal(load_patched(f, &good, arm, &outside), COP_EFORMAT);
		assert_int_equal(load_patched(f, &good, loss, &half), COP_OK);
		assert_int_equal(load_patched(f, &good, loss, &large), COP_EFORMAT);
		assert_int_equal(load_patched(f, &good, loss, &negative), COP_EFORMAT);
		assert_int_not_equal(load_patched(f, &good, 4, &none), COP_OK);
		if (sparse) {
			assert_int_equal(load_patched(f, &good, values + indices, &many), COP_EFORMAT);
			assert_int_equal(load_patched(f, &good, values + 4, &far), COP_EFORMAT);
			assert_int_equal(load_patched(f, &good, values + 4, &again), COP_EFORMAT);
		}
		cop_bytes_fini(&good);
		cop_forest_free(f);
	}
}

/* A loaded forest has the same queues, also once rows have given way. */
static void test_loaded_rows_wait_where_they_waited(void **state)
{
	(void)state;
	cop_forest *a = forest_of(FOREST_D, 0, ARMS, 3, 6), *b = forest_of(FOREST_D, 0, ARMS, 3, 7);
	forest_events e;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	forest_begin(&e, forest_band, ARMS, 83);
	for (count = 0; count < 2500;)
		learn_one(a, &e);
	cop_forest_save(a, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_forest_load(b, &cursor), COP_OK);
	assert_int_equal(b->rows.held, KEPT);
	for (size_t m = 0; m < 3; m++)
		for (size_t l = 0; l < a->leaves[m]; l++) {
			const size_t row = cop_forest_row(a, m, l);
			const size_t n = cop_forest_rows_find(&a->rows, m, row);
			assert_int_equal(cop_forest_rows_find(&b->rows, m, row), n);
			for (size_t i = 0; i < n; i++) {
				const cop_row x = cop_forest_rows_at(a, a->rows.found[i]);
				const cop_row same = cop_forest_rows_at(b, b->rows.found[i]);
				assert_memory_equal(x.dense, same.dense, FOREST_D * sizeof(float));
			}
		}
	cop_bytes_fini(&bytes);
	cop_forest_free(a);
	cop_forest_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_wait_where_they_end_and_new_leaves_know_them),
		cmocka_unit_test(test_divided_leaves_have_what_their_rows_say),
		cmocka_unit_test(test_wide_rows_are_kept_as_far_as_they_fit),
		cmocka_unit_test(test_load_of_a_row_that_cannot_be_is_refused),
		cmocka_unit_test(test_loaded_rows_wait_where_they_waited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
