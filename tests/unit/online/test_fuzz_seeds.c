/* The fuzz targets' seeds that are saved states load: where one does not, its format has changed and fuzzing begins at
 * nothing. Then `cmake --build <build> --target fuzz_seeds` (tests/fuzz/make_seeds.c) writes them anew. */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/forest_shape.h"
#include "online/model_shadow.h"
#include "store/checkpoint_file.h"
#include "store/model_file.h"

#define CORPUS COP_TEST_DATA "/../fuzz/corpus/"

/* Calls check with every file of the folder whose name begins so; how many there were. */
static size_t each(const char *folder, const char *prefix, void (*check)(const char *path))
{
	size_t count = 0;
	const struct dirent *entry;
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		char path[4096];
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		check(path);
		count++;
	}
	(void)closedir(dir);
	return count;
}

static void check_forest(const char *path)
{
	cop_bytes bytes, again;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_bytes_init(&again);
	assert_int_equal(cop_model_file_load(path, &bytes, NULL), COP_OK); /* any file's bytes */
	assert_true(bytes.length > SHAPE_BYTES);
	cop_forest *forest = shape_forest(bytes.data);
	cop_cursor_init(&cursor, bytes.data + SHAPE_BYTES, bytes.length - SHAPE_BYTES);
	cop_err err = cop_forest_load(forest, &cursor);
	if (err != COP_OK || cop_cursor_left(&cursor) != 0)
		fail_msg("%s: %s, %zu bytes left", path, cop_err_text(err), cop_cursor_left(&cursor));
	cop_forest_save(forest, &again);
	assert_int_equal(again.length, bytes.length - SHAPE_BYTES);
	assert_memory_equal(again.data, bytes.data + SHAPE_BYTES, again.length);
	cop_forest_free(forest);
	cop_bytes_fini(&again);
	cop_bytes_fini(&bytes);
}

static cop_model *load_checkpoint(const char *path)
{
	cop_bytes body;
	cop_model_file file;
	cop_model_section section;
	cop_cursor cursor;
	char name[64];
	cop_model_settings settings;
	cop_model *model;
	cop_diag diag = { .message = "" };
	cop_bytes_init(&body);
	assert_int_equal(cop_checkpoint_read(path, &body, NULL), COP_OK);
	assert_int_equal(cop_model_file_open(&file, body.data, body.length, NULL, NULL), COP_OK);
	assert_int_equal(cop_model_file_find(&file, "model", 0, 1, &section), COP_OK);
	cop_cursor_init(&cursor, section.data, section.length);
	cop_cursor_text(&cursor, name, sizeof name);
	size_t left = cop_cursor_left(&cursor);
	const uint8_t *data = cop_cursor_take(&cursor, left);
	assert_int_equal(cursor.err, COP_OK);
	assert_int_equal(cop_model_peek(data, left, &settings, NULL), COP_OK);
	assert_int_equal(cop_model_new(&settings, &model, NULL), COP_OK);
	if (cop_model_load(model, data, left, &diag) != COP_OK)
		fail_msg("%s: %s", path, diag.message);
	assert_true(cop_model_get_counters(model)->learned > 0);
	cop_bytes_fini(&body);
	return model;
}

static void check_checkpoint(const char *path) { cop_model_free(load_checkpoint(path)); }

static void check_challenged(const char *path)
{
	cop_model_evidence is;
	cop_model *model = load_checkpoint(path);
	cop_model_get_evidence(model, &is);
	assert_true(is.challenges == 1 && (is.shadow || is.promoted));
	cop_model_free(model);
}

static void test_seeds_of_forests_load(void **state)
{
	(void)state;
	assert_in_range(each(CORPUS "forest", "", check_forest), 7, 1000);
}

static void test_seeds_of_mixtures_load(void **state)
{
	(void)state;
	assert_in_range(each(CORPUS "checkpoint", "mixture", check_checkpoint), 5, 1000);
}

static void test_seeds_of_challenged_models_load_with_both_learners(void **state)
{
	(void)state;
	static const char *const names[] = { "mixture_challenged", "mixture_promoted", "mixture_rolled_back",
		"mixture_retired", "mixture_rank_promoted", "dgt_challenged", "dgt_frozen", "value_promoted" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_int_equal(each(CORPUS "checkpoint", names[i], check_challenged), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds_of_forests_load),
		cmocka_unit_test(test_seeds_of_mixtures_load),
		cmocka_unit_test(test_seeds_of_challenged_models_load_with_both_learners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
