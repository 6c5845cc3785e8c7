/* Rows that moved go into a file and come back; all others are as they began. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "learn/additive.h"
#include "learn/sparse_state.h"

#define ROWS  9
#define WIDTH 2

typedef struct arrays {
	float values[ROWS * WIDTH], sums[ROWS * WIDTH];
} arrays;

static cop_sparse_state state_of(arrays *a)
{
	return (cop_sparse_state){
		.values = a->values, .sums = a->sums, .sums_started = 1.0F, .rows = ROWS, .width = WIDTH
	};
}

static void begin(arrays *a)
{
	memset(a, 0, sizeof *a);
	for (size_t i = 0; i < ROWS * WIDTH; i++)
		a->sums[i] = 1.0F;
}

static void test_sparse_state_moved_rows_come_back(void **state)
{
	(void)state;
	arrays from, to;
	cop_bytes bytes;
	cop_cursor cursor;
	begin(&from);
	from.values[2 * WIDTH + 1] = 1e-20F; /* so little that its sum stays */
	from.sums[7 * WIDTH] = 3.0F;
	from.values[8 * WIDTH] = -0.0F;
	memset(&to, 0x3f, sizeof to); /* whatever was there before */
	cop_bytes_init(&bytes);
	const cop_sparse_state out = state_of(&from), in = state_of(&to);
	cop_sparse_state_save(&out, NULL, &bytes);
	assert_int_equal(bytes.length, 8 + 3 * (4 + 2 * WIDTH * sizeof(float)));
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_sparse_state_load(&in, false, NULL, &cursor);
	assert_int_equal(cursor.err, COP_OK);
	assert_memory_equal(&from, &to, sizeof to);
	cop_bytes_fini(&bytes);
}

static void test_sparse_state_flagged_rows_are_written_and_others_stay(void **state)
{
	(void)state;
	arrays from, to;
	uint8_t moved[ROWS] = { [1] = 1, [4] = 1 }, seen[ROWS] = { 0 };
	cop_bytes bytes;
	cop_cursor cursor;
	begin(&from);
	begin(&to);
	from.values[1 * WIDTH] = 5.0F;
	from.values[6 * WIDTH] = 6.0F; /* not flagged */
	to.values[0] = 9.0F;
	cop_bytes_init(&bytes);
	const cop_sparse_state out = state_of(&from), in = state_of(&to);
	cop_sparse_state_save(&out, moved, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_sparse_state_load(&in, true, seen, &cursor);
	assert_int_equal(cursor.err, COP_OK);
	assert_true(to.values[0] == 9.0F && to.values[1 * WIDTH] == 5.0F && to.values[6 * WIDTH] == 0.0F);
	assert_memory_equal(seen, moved, sizeof seen);
	cop_bytes_fini(&bytes);
}

static cop_err load_rows(uint64_t count, const uint32_t *rows, size_t given, float value)
{
	arrays to;
	cop_bytes bytes;
	cop_cursor cursor;
	begin(&to);
	cop_bytes_init(&bytes);
	cop_bytes_put_u64(&bytes, count);
	for (size_t i = 0; i < given; i++) {
		const float numbers[2 * WIDTH] = { value, 1.0F, 1.0F, 1.0F };
		cop_bytes_put_u32(&bytes, rows[i]);
		cop_bytes_put_f32s(&bytes, numbers, 2 * WIDTH);
	}
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	const cop_sparse_state in = state_of(&to);
	cop_sparse_state_load(&in, false, NULL, &cursor);
	cop_bytes_fini(&bytes);
	return cursor.err;
}

static void test_sparse_state_wrong_rows_are_refused(void **state)
{
	(void)state;
	assert_int_equal(load_rows(2, (const uint32_t[]){ 0, 8 }, 2, 1.0F), COP_OK);
	assert_int_equal(load_rows(2, (const uint32_t[]){ 3, 3 }, 2, 1.0F), COP_EFORMAT);
	assert_int_equal(load_rows(2, (const uint32_t[]){ 4, 3 }, 2, 1.0F), COP_EFORMAT);
	assert_int_equal(load_rows(1, (const uint32_t[]){ 9 }, 1, 1.0F), COP_EFORMAT);
	assert_int_equal(load_rows(ROWS + 1, NULL, 0, 1.0F), COP_EFORMAT);
	assert_int_equal(load_rows(3, (const uint32_t[]){ 0, 8 }, 2, 1.0F), COP_EFORMAT);
	assert_int_equal(load_rows(1, (const uint32_t[]){ 0 }, 1, (float)NAN), COP_ENONFINITE);
}

/* ---- the model whose rows are drawn ---- */

#define INPUTS 64

static cop_additive *model_of(bool sparse, uint64_t seed)
{
	const cop_additive_settings settings = {
		.kernel = cop_kernel_best(),
		.inputs = INPUTS,
		.typical = 4,
		.outputs = 1,
		.trees = 2,
		.height = 2,
		.sparse = sparse,
		.split_rate = 0.1F,
		.leaf_rate = 0.3F,
		.linear_rate = 0.3F,
	};
	cop_additive *model;
	cop_rng rng;
	cop_rng_init(&rng, seed, 1);
	assert_int_equal(cop_additive_new(&settings, &rng, &model), COP_OK);
	return model;
}

static void teach(cop_additive *model, unsigned events)
{
	_Alignas(64) float scores[64];
	for (unsigned i = 0; i < events; i++) {
		const uint32_t index[] = { i % 3, 9, INPUTS - 1 };
		const float value[] = { 1.0F, 0.5F, 1.0F };
		const cop_row x = { .d = INPUTS, .nnz = 3, .index = index, .value = value };
		cop_additive_scores(model, &x, scores);
		assert_int_equal(cop_additive_update(model, &x, 0, i % 2 == 0 ? 0.5F : -0.25F), COP_OK);
	}
}

static void save(const cop_additive *model, cop_bytes *bytes)
{
	cop_bytes_init(bytes);
	cop_additive_save(model, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static void load(cop_additive *model, const cop_bytes *bytes)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, bytes->data, bytes->length);
	assert_int_equal(cop_additive_load(model, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
}

static void assert_saves_alike(const cop_additive *model, const cop_bytes *bytes)
{
	cop_bytes again;
	save(model, &again);
	assert_int_equal(again.length, bytes->length);
	assert_memory_equal(again.data, bytes->data, again.length);
	cop_bytes_fini(&again);
}

/* Into a fresh model, one that has learned other things, and one of another seed; then they go on alike. */
static void test_sparse_additive_comes_back_whole_in_any_model(void **state)
{
	(void)state;
	cop_additive *first = model_of(true, 1);
	cop_bytes bytes, later;
	teach(first, 40);
	save(first, &bytes);
	teach(first, 7);
	save(first, &later);
	for (unsigned i = 0; i < 3; i++) {
		cop_additive *other = model_of(true, i == 2 ? 2 : 1);
		teach(other, i == 1 ? 11 : 0);
		load(other, &bytes);
		assert_saves_alike(other, &bytes);
		teach(other, 7);
		assert_saves_alike(other, &later);
		cop_additive_free(other);
	}
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&later);
	cop_additive_free(first);
}

static void test_sparse_additive_reads_what_was_written_with_all_rows(void **state)
{
	(void)state;
	cop_additive *dense = model_of(false, 1), *sparse = model_of(true, 3);
	cop_bytes whole, rows;
	teach(dense, 20);
	save(dense, &whole);
	load(sparse, &whole);
	teach(dense, 5);
	teach(sparse, 5);
	cop_additive *other = model_of(true, 4);
	save(sparse, &rows);
	load(other, &rows);
	const cop_additive *both[] = { sparse, other };
	for (size_t i = 0; i < 2; i++)
		for (size_t m = 0; m < 2; m++) {
			cop_oblique_tree *a, *b;
			assert_int_equal(cop_additive_tree(dense, m, &a), COP_OK);
			assert_int_equal(cop_additive_tree(both[i], m, &b), COP_OK);
			for (size_t t = 0; t < 3; t++)
				assert_memory_equal(cop_oblique_tree_weights(a, t), cop_oblique_tree_weights(b, t),
				        (INPUTS - 1) * sizeof(float));
			cop_oblique_tree_free(a);
			cop_oblique_tree_free(b);
		}
	cop_bytes_fini(&whole);
	cop_bytes_fini(&rows);
	cop_additive_free(dense);
	cop_additive_free(sparse);
	cop_additive_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sparse_state_moved_rows_come_back),
		cmocka_unit_test(test_sparse_state_flagged_rows_are_written_and_others_stay),
		cmocka_unit_test(test_sparse_state_wrong_rows_are_refused),
		cmocka_unit_test(test_sparse_additive_comes_back_whole_in_any_model),
		cmocka_unit_test(test_sparse_additive_reads_what_was_written_with_all_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
