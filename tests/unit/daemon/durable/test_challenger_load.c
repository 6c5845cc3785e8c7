/* A challenger made ready on a thread: what is in the file comes out, or why not; given up at any time, all is freed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support.h"

#include "base/crc32c.h"
#include "daemon/durable/challenger.h"
#include "daemon/durable/challenger_load.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "tree/tree_build.h"

static char folder[4096];

static void put_trees(cop_bytes *body)
{
	static const float w[] = { 0.5f, -1.0f }, losses[] = { 0.25f, 0.75f, 0.5f };
	cop_tree_build *build;
	cop_tree *tree;
	cop_trees *trees;
	assert_int_equal(cop_tree_build_new(2, 2, COP_TREE_VALUES, &build), COP_OK);
	int32_t node = cop_tree_build_node(build, w, 0.125f);
	int32_t left = cop_tree_build_constant(build, losses), right = cop_tree_build_constant(build, losses + 1);
	cop_tree_build_children(build, node, left, right);
	assert_int_equal(cop_tree_build_finish(build, node, &tree), COP_OK);
	cop_tree_build_free(build);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees), COP_OK);
	size_t file = cop_section_file_begin(body);
	cop_trees_save(trees, body);
	cop_section_file_end(body, file);
	cop_trees_free(trees);
}

static cop_learner_settings settings(void)
{
	cop_learner_settings s;
	cop_learner *learner;
	cop_learner_settings_init(&s);
	s.features = s.arms = 2;
	assert_int_equal(cop_learner_new(&s, &learner, NULL), COP_OK);
	s = learner->settings;
	cop_learner_free(learner);
	return s;
}

static void wait_until_ready(const cop_challenger_load *load)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	while (!cop_challenger_load_is_ready(load))
		(void)nanosleep(&pause, NULL); /* ctest has a deadline */
}

static void test_load_gives_what_the_file_holds(void **state)
{
	(void)state;
	static cop_challenger_load load;
	const cop_learner_settings s = settings();
	cop_bytes body;
	cop_bytes_init(&body);
	put_trees(&body);
	assert_int_equal(cop_challenger_write(folder, "m", 7, &body, NULL), COP_OK);
	assert_false(cop_challenger_load_is_ready(&load));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cop_challenger_load_begin(&load, folder, "m", 7, &s, 1000), COP_OK);
		wait_until_ready(&load);
		assert_int_equal(load.err, COP_OK);
		assert_int_equal(load.number, 7);
		assert_int_equal(load.crc, cop_crc32c(0, body.data, body.length));
		assert_non_null(load.trees);
		assert_non_null(load.spare.learner);
		assert_true(load.spare.state.capacity >= 1000 && load.spare.state.length == 0);
		cop_challenger_load_release(&load);
		assert_false(cop_challenger_load_is_ready(&load));
	}
	cop_challenger_load_end(&load);
	cop_bytes_fini(&body);
}

static void test_load_of_a_missing_file_says_so(void **state)
{
	(void)state;
	static cop_challenger_load load;
	const cop_learner_settings s = settings();
	assert_int_equal(cop_challenger_load_begin(&load, folder, "m", 8, &s, 0), COP_OK);
	wait_until_ready(&load);
	assert_int_equal(load.err, COP_ENOTFOUND);
	assert_string_not_equal(load.why.message, "");
	assert_null(load.trees);
	assert_null(load.spare.learner);
	cop_challenger_load_end(&load);
}

static void test_load_may_be_given_up_at_any_time(void **state)
{
	(void)state;
	static cop_challenger_load load;
	const cop_learner_settings s = settings();
	cop_challenger_load_end(&load);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(cop_challenger_load_begin(&load, folder, "m", 7, &s, 1000), COP_OK);
		if (i % 2 == 0)
			cop_challenger_load_release(&load);
	}
	cop_challenger_load_end(&load);
	cop_challenger_load_end(&load);
}

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/test_challenger_load.XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
	static const char *const places[] = { ("/" COP_STATE_DIR_CHALLENGERS
		                               "/refit.m.00000000000000000007.checkpoint"),
		("/" COP_STATE_DIR_CHALLENGERS), "" };
	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char path[sizeof folder + 100];
		(void)snprintf(path, sizeof path, "%s%s", folder, places[i]);
		if (remove(path) != 0)
			return 1;
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_gives_what_the_file_holds),
		cmocka_unit_test(test_load_of_a_missing_file_says_so),
		cmocka_unit_test(test_load_may_be_given_up_at_any_time),
	};
	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
