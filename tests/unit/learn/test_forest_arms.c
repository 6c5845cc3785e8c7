/* Forests that are given further arms: trees keep the leaves that they have, beyond the memory meant for them, and the
 * two ways, by saving and loading and by handing over, lead to the same bytes. */
#include "forest_fixture.h"

#include "learn/forest_parts.h"

enum { MANY = 400, MORE = 500, TREES = 48 }; /* arms whose forests have few leaves */

static void run(cop_forest *forest, size_t arms, uint64_t stream, size_t n)
{
	forest_events e;
	float loss[MORE];
	forest_begin(&e, forest_threshold, arms, stream);
	for (size_t i = 0; i < n; i++) {
		forest_draw(&e);
		cop_forest_predict(forest, &e.x, loss);
		cop_forest_learn(forest, &e.x, e.arm, e.y, true);
	}
}

static void save(const cop_forest *forest, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_forest_save(forest, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static cop_forest *loaded_of(const cop_bytes *bytes, size_t arms)
{
	cop_forest *forest = forest_of(FOREST_D, 0, arms, TREES, 9);
	cop_cursor cursor;
	cop_cursor_init(&cursor, bytes->data, bytes->length);
	assert_int_equal(cop_forest_load(forest, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	return forest;
}

static size_t most_leaves(const cop_forest *f)
{
	size_t most = 0;
	for (size_t m = 0; m < f->set.trees; m++)
		most = f->leaves[m] > most ? f->leaves[m] : most;
	return most;
}

static void check_predictions(cop_forest *few, cop_forest *many)
{
	forest_events e;
	float a[MORE], b[MORE];
	forest_begin(&e, forest_threshold, MANY, 8);
	for (int i = 0; i < 20; i++) {
		forest_draw(&e);
		cop_forest_predict(few, &e.x, a);
		cop_forest_predict(many, &e.x, b);
		assert_memory_equal(a, b, MANY * sizeof *a);
	}
}

static void test_full_trees_keep_their_leaves(void **state)
{
	(void)state;
	cop_bytes bytes, other;
	cop_bytes_init(&bytes);
	cop_bytes_init(&other);
	cop_forest *few = forest_of(FOREST_D, 0, MANY, TREES, 1);
	run(few, MANY, 1, 20000);
	assert_int_equal(most_leaves(few), few->room);
	save(few, &bytes);
	cop_forest *loaded = loaded_of(&bytes, MORE);
	assert_true(cop_forest_parts_room(loaded) < few->room && loaded->room == few->room);
	check_predictions(few, loaded);
	cop_forest *heir = forest_of(FOREST_D, 0, MORE, TREES, 9);
	assert_int_equal(cop_forest_make_room(heir, few), COP_OK);
	cop_forest_inherit(heir, few);
	cop_forest_free(few);
	for (int i = 0; i < 2; i++) { /* then, and after more was learned */
		save(loaded, &bytes);
		save(heir, &other);
		assert_bytes_equal(&bytes, &other);
		run(loaded, MORE, 2, 2000);
		run(heir, MORE, 2, 2000);
	}
	cop_forest *again = loaded_of(&other, MORE); /* the same arms */
	save(again, &bytes);
	assert_bytes_equal(&bytes, &other);
	cop_forest_free(again);
	cop_forest_free(loaded);
	cop_forest_free(heir);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&other);
}

/* What was made room for while the trees went on growing takes nothing more at the end, young or full. */
static void test_memory_held_before_the_trees_grew_on_is_enough(void **state)
{
	static const size_t events[][2] = { { 0, 10 }, { 60, 100 }, { 2000, 40 }, { 20000, 500 } };
	(void)state;
	cop_bytes bytes, other;
	cop_bytes_init(&bytes);
	cop_bytes_init(&other);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		cop_forest *few = forest_of(FOREST_D, 0, MANY, TREES, 1),
		           *heir = forest_of(FOREST_D, 0, MORE, TREES, 9);
		run(few, MANY, 1, events[i][0]);
		assert_in_range(cop_forest_grown(few), most_leaves(few), few->room);
		assert_int_equal(cop_forest_hold(heir, cop_forest_grown(few)), COP_OK);
		run(few, MANY, 2, events[i][1]);
		save(few, &bytes);
		cop_forest *loaded = loaded_of(&bytes, MORE);
		const float *value = heir->value;
		assert_int_equal(cop_forest_make_room(heir, few), COP_OK);
		assert_ptr_equal(heir->value, value);
		cop_forest_inherit(heir, few);
		assert_true(heir->held <= few->held && heir->nodes >= 2 * heir->held - 1);
		cop_forest_free(few);
		run(heir, MORE, 3, 300);
		run(loaded, MORE, 3, 300);
		save(heir, &bytes);
		save(loaded, &other);
		assert_bytes_equal(&bytes, &other);
		cop_forest_free(heir);
		cop_forest_free(loaded);
	}
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&other);
}

/* Trees that are not full grow on, as far as there is room among so many arms. */
static void test_young_trees_have_the_room_of_their_arms(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_forest *few = forest_of(FOREST_D, 0, MANY, TREES, 1);
	run(few, MANY, 1, 30);
	save(few, &bytes);
	cop_forest *loaded = loaded_of(&bytes, MORE), *heir = forest_of(FOREST_D, 0, MORE, TREES, 9);
	assert_int_equal(cop_forest_make_room(heir, few), COP_OK);
	cop_forest_inherit(heir, few);
	assert_int_equal(loaded->room, cop_forest_parts_room(loaded));
	assert_int_equal(heir->room, cop_forest_parts_room(heir));
	cop_forest_free(few);
	run(heir, MORE, 3, 20000); /* to the last leaf that there is memory for */
	assert_int_equal(most_leaves(heir), heir->room);
	save(heir, &bytes);
	cop_forest_free(heir);
	heir = loaded_of(&bytes, MORE);
	assert_int_equal(heir->room, cop_forest_parts_room(heir));
	cop_forest_free(loaded);
	cop_forest_free(heir);
	cop_bytes_fini(&bytes);
}

/* What has more leaves than a forest that was grown may have, or fewer than one of its shape has, is no such forest. */
static void test_room_out_of_bounds_is_refused(void **state)
{
	(void)state;
	enum { ROOM = 8 + 1 + 8 + 8 };
	static const struct {
		uint64_t room;
		cop_err want;
	} cases[] = { { 22, COP_ESHAPE }, { 23, COP_OK }, { 24, COP_OK }, { 94, COP_OK }, { 95, COP_ESHAPE },
		{ COP_FOREST_LEAVES + 1, COP_ESHAPE }, { UINT64_MAX, COP_ESHAPE } };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_forest *forest = forest_of(FOREST_D, 0, MANY, TREES, 1);
	assert_int_equal(forest->room, 23);
	save(forest, &bytes);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_cursor cursor;
		memcpy(bytes.data + ROOM, &cases[i].room, sizeof cases[i].room);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		cop_forest *other = forest_of(FOREST_D, 0, MANY, TREES, 1);
		assert_int_equal(cop_forest_load(other, &cursor), cases[i].want);
		if (cases[i].want == COP_OK)
			assert_int_equal(other->room, cases[i].room);
		cop_forest_free(other);
	}
	cop_forest_free(forest);
	cop_bytes_fini(&bytes);
}

static void test_other_shapes_have_no_room(void **state)
{
	(void)state;
	static const cop_forest_settings shapes[] = { { 9, 0, 3, 4 }, { 8, 0, 3, 4 }, { 9, 9, 3, 4 }, { 9, 0, 2, 4 },
		{ 9, 0, 3, 5 } };
	cop_forest *from = forest_of(9, 0, 3, 4, 1);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const cop_forest_settings *s = &shapes[i];
		cop_forest *to = forest_of(s->inputs, s->entries, s->arms, s->trees, 1);
		assert_int_equal(cop_forest_make_room(to, from), i == 0 ? COP_OK : COP_ESHAPE);
		cop_forest_free(to);
	}
	cop_forest_free(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_trees_keep_their_leaves),
		cmocka_unit_test(test_memory_held_before_the_trees_grew_on_is_enough),
		cmocka_unit_test(test_young_trees_have_the_room_of_their_arms),
		cmocka_unit_test(test_room_out_of_bounds_is_refused),
		cmocka_unit_test(test_other_shapes_have_no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
