/* Which files of a folder are which dataset, and what is read of them. */
#include "tools/bakeoff/bakeoff_data.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"
#include "support_io.h"

static char folder[64];
static unsigned descriptors;

static int make_folder(void **state)
{
	(void)state;
	descriptors = cop_test_io_descriptors();
	(void)snprintf(folder, sizeof folder, "/tmp/test_bakeoff_data_XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
	char command[96];
	(void)state;
	if (cop_test_io_descriptors() != descriptors)
		return 1;
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static const char *path_of(const char *name)
{
	static char path[2][400];
	static unsigned turn;
	turn = !turn;
	(void)snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
	return path[turn];
}

static void write_text(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* ---- names ---- */

static void expect_files(const cop_bakeoff_folder *data, const char *name, const char *first, const char *second,
        const char *items, uint64_t bytes)
{
	const cop_bakeoff_files *files = cop_bakeoff_folder_find(data, name);
	assert_non_null(files);
	assert_string_equal(files->name, name);
	assert_string_equal(files->path[0], path_of(first));
	assert_string_equal(files->path[1], second == NULL ? "" : path_of(second));
	assert_string_equal(files->items, items == NULL ? "" : path_of(items));
	assert_int_equal(files->bytes, bytes);
}

static void test_files_of_one_name_are_one_dataset(void **state)
{
	(void)state;
	static const char *const names[] = { "a.csv", "b.train.csv", "b.test.csv", "b.items.csv", "c.libsvm.gz",
		"d.train.svm.zst", "d.test.csv.gz", "e.test.libsvm", "x.y.csv" };
	static const char *const others[] = { "f.items.csv", "g.log.csv", "h.txt", ".csv", ".hidden.csv", "csv",
		"i.csv.xz", "j,k.csv", "l.gz", ".train.csv", "m.csv.gz.zst" };
	cop_bakeoff_folder data;
	cop_diag diag = { .message = "" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		write_text(names[i], &"1234567890"[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		write_text(others[i], "0\n");
	assert_int_equal(mkdir(path_of("n.csv"), 0700), 0);
	assert_int_equal(symlink("nowhere", path_of("o.csv")), 0);
	assert_int_equal(cop_bakeoff_folder_init(&data, folder, &diag), COP_OK);
	expect_files(&data, "a", "a.csv", NULL, NULL, 10);
	expect_files(&data, "b", "b.train.csv", "b.test.csv", "b.items.csv", 9 + 8 + 7);
	expect_files(&data, "c", "c.libsvm.gz", NULL, NULL, 6);
	expect_files(&data, "d", "d.train.svm.zst", "d.test.csv.gz", NULL, 5 + 4);
	expect_files(&data, "e", "e.test.libsvm", NULL, NULL, 3);
	expect_files(&data, "x.y", "x.y.csv", NULL, NULL, 2);
	for (size_t i = 1; i < data.count; i++)
		assert_true(strcmp(data.files[i - 1].name, data.files[i].name) < 0);
	assert_int_equal(data.count, 6);
	assert_null(cop_bakeoff_folder_find(&data, "f"));
	assert_null(cop_bakeoff_folder_find(&data, ""));
	cop_bakeoff_folder_fini(&data);
	assert_true(data.files == NULL && data.count == 0);
}

static void test_two_sets_of_files_of_one_name_are_refused(void **state)
{
	(void)state;
	static const char *const pairs[][2] = { { "a.csv", "a.csv.gz" }, { "a.csv", "a.train.csv" },
		{ "a.test.csv", "a.test.svm" }, { "a.items.csv", "a.items.csv.gz" } };
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		cop_bakeoff_folder data;
		cop_diag diag = { .message = "" };
		write_text(pairs[i][0], "0\n");
		write_text(pairs[i][1], "0\n");
		assert_int_equal(cop_bakeoff_folder_init(&data, folder, &diag), COP_EFORMAT);
		assert_non_null(strstr(diag.message, "are both dataset 'a'"));
		cop_bakeoff_folder_fini(&data);
		assert_int_equal(unlink(path_of(pairs[i][0])), 0);
		assert_int_equal(unlink(path_of(pairs[i][1])), 0);
	}
}

static void test_any_number_of_datasets_is_found(void **state)
{
	(void)state;
	cop_bakeoff_folder data;
	cop_diag diag = { .message = "" };
	char name[32];
	assert_int_equal(cop_bakeoff_folder_init(&data, folder, &diag), COP_OK);
	assert_int_equal(data.count, 0);
	cop_bakeoff_folder_fini(&data);
	for (int i = 0; i < 70; i++) {
		(void)snprintf(name, sizeof name, "s%02d.csv", i);
		write_text(name, "0\n");
	}
	for (unsigned long n = 1; n <= 3; n++) { /* grown twice */
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_bakeoff_folder_init(&data, folder, &diag), COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
		assert_string_equal(diag.source, folder);
		assert_string_equal(diag.message, cop_err_text(COP_ENOMEM));
		cop_bakeoff_folder_fini(&data);
	}
	assert_int_equal(cop_bakeoff_folder_init(&data, folder, &diag), COP_OK);
	assert_int_equal(data.count, 70);
	for (size_t i = 0; i < 70; i++) {
		(void)snprintf(name, sizeof name, "s%02zu", i);
		assert_string_equal(data.files[i].name, name);
		assert_ptr_equal(cop_bakeoff_folder_find(&data, name), &data.files[i]);
	}
	cop_bakeoff_folder_fini(&data);
}

static void test_folder_that_is_none_is_an_error(void **state)
{
	(void)state;
	cop_bakeoff_folder data;
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_bakeoff_folder_init(&data, path_of("none"), &diag), COP_EIO);
	assert_string_equal(diag.message, "No such file or directory; expected a folder of datasets");
	cop_bakeoff_folder_fini(&data);
}

/* ---- rows ---- */

static cop_err load(bool ranks, cop_bakeoff_data *data, cop_diag *diag)
{
	cop_bakeoff_folder all;
	diag->message[0] = '\0';
	assert_int_equal(cop_bakeoff_folder_init(&all, folder, diag), COP_OK);
	const cop_bakeoff_files *files = cop_bakeoff_folder_find(&all, "a");
	assert_non_null(files);
	cop_err err = cop_bakeoff_data_init(data, files, ranks, diag);
	cop_bakeoff_folder_fini(&all);
	return err;
}

static cop_bakeoff_setting setting_of(const char *text)
{
	cop_bakeoff_settings settings = { .count = 0 };
	assert_true(cop_bakeoff_settings_add(&settings, text));
	return settings.setting[0];
}

static void test_model_has_the_rows_shape(void **state)
{
	(void)state;
	cop_bakeoff_data data;
	cop_diag diag;
	cop_model_settings model;
	write_text("a.train.csv", "1,2,0\n3,4,2\n");
	write_text("a.test.csv", "5,6,1\n");
	assert_int_equal(load(false, &data, &diag), COP_OK);
	assert_true(data.rows->n == 3 && data.features == 2 && data.classes == 3 && !data.has_items);
	assert_int_equal(data.items.count, 0);
	const cop_bakeoff_setting setting = setting_of("mine=dgt:height=3");
	const cop_sim_items *items = cop_bakeoff_data_model(&data, &setting, 9, &model);
	assert_int_equal(items->count, 0);
	const cop_learner_settings *l = &model.learner;
	assert_true(l->seed == 9 && l->features == 2 && l->arms == 3 && l->height == 3);
	assert_string_equal(l->learner, "dgt");
	cop_bakeoff_data_fini(&data);
	assert_null(data.rows);
	assert_int_equal(load(true, &data, &diag), COP_OK); /* one-hot items for who ranks */
	assert_true(data.items.count == 3 && data.items.features == 3 && !data.has_items);
	const cop_bakeoff_setting ranked = setting_of("mine=rank");
	items = cop_bakeoff_data_model(&data, &ranked, 9, &model);
	assert_ptr_equal(items, &data.items);
	assert_true(l->max_candidates == 3 && l->candidate_features == 3 && l->arms != 3);
	const cop_bakeoff_setting other = setting_of("mine=ensemble");
	assert_int_equal(cop_bakeoff_data_model(&data, &other, 1, &model)->count, 0);
	assert_string_equal(l->learner, "ensemble");
	cop_bakeoff_data_fini(&data);
}

static void test_items_of_a_file_are_ranked(void **state)
{
	(void)state;
	cop_bakeoff_data data;
	cop_diag diag;
	cop_model_settings model;
	write_text("a.csv", "1,2,0\n3,4,1\n");
	write_text("a.items.csv", "1,0,0,1\n0,1,0,1\n");
	assert_int_equal(load(false, &data, &diag), COP_OK);
	assert_true(data.has_items && data.items.count == 2 && data.items.features == 4);
	const cop_bakeoff_setting ensemble = setting_of("mine=ensemble"), dgt = setting_of("mine=dgt");
	assert_ptr_equal(cop_bakeoff_data_model(&data, &ensemble, 1, &model), &data.items);
	assert_string_equal(model.learner.learner, "rank");
	assert_true(model.learner.max_candidates == 2 && model.learner.candidate_features == 4);
	assert_int_equal(cop_bakeoff_data_model(&data, &dgt, 1, &model)->count, 0);
	assert_true(strcmp(model.learner.learner, "dgt") == 0 && model.learner.arms == 2);
	cop_bakeoff_data_fini(&data);
	write_text("a.items.csv", "1,0,0,1\n"); /* too few */
	assert_int_equal(load(false, &data, &diag), COP_ESHAPE);
	cop_bakeoff_data_fini(&data);
}

static void test_rows_without_classes_are_refused(void **state)
{
	(void)state;
	cop_bakeoff_data data;
	cop_diag diag;
	write_text("a.csv", "1,2,0\n3,4,0\n");
	assert_int_equal(load(false, &data, &diag), COP_EINVAL);
	assert_string_equal(diag.message, "every row is of class 0, expected at least two classes");
	assert_string_equal(diag.source, path_of("a.csv"));
	cop_bakeoff_data_fini(&data);
	write_text("a.csv", "1,2,0\n3,4,0.5\n");
	assert_int_equal(load(false, &data, &diag), COP_EINVAL);
	cop_bakeoff_data_fini(&data);
	write_text("a.csv", "1,2,0\n3,4,x\n");
	assert_int_equal(load(false, &data, &diag), COP_EFORMAT);
	cop_bakeoff_data_fini(&data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files_of_one_name_are_one_dataset),
		TEST(test_two_sets_of_files_of_one_name_are_refused),
		TEST(test_any_number_of_datasets_is_found),
		TEST(test_folder_that_is_none_is_an_error),
		TEST(test_model_has_the_rows_shape),
		TEST(test_items_of_a_file_are_ranked),
		TEST(test_rows_without_classes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
