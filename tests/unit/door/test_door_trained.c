/* Trained trees of the front door beside the trees themselves. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <coppice.h>

#include "unit/view/trained_fixture.h"

static char path[] = "/tmp/cop_door_trained_XXXXXX";

static const people_shape shapes[] = {
	{ .trees = 1, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES },
	{ .trees = 3, .depth = 3, .link = COP_TREE_VALUES, .rule = COP_TREES_SUM, .oblique = true, .linear = true },
	{ .trees = 2, .depth = 2, .classes = 6, .link = COP_TREE_LOGITS, .linear = true },
};
#define SHAPES (sizeof shapes / sizeof *shapes)

typedef struct both {
	people people;
	coppice_trained *trained;
} both;

static void both_init(both *b, const people_shape *shape)
{
	coppice_message message = { "" };
	people_init(&b->people, shape);
	assert_int_equal(cop_trained_save(b->people.model, path, NULL), COP_OK);
	if (coppice_trained_load(path, &b->trained, &message) != COPPICE_OK)
		fail_msg("%s", message.text);
}

static void both_fini(both *b)
{
	coppice_trained_free(b->trained);
	people_fini(&b->people);
}

/* Of row i, by the trees; the greatest comes back. */
static size_t expected(const both *b, size_t i, double *out)
{
	const cop_trained *model = b->people.model;
	size_t outputs = cop_trees_outputs(model->trees), best = 0;
	float work[PEOPLE_K];
	cop_row row;
	cop_dataset_row(b->people.rows, i, &row);
	cop_trees_predict(model->trees, &row, work, out);
	for (size_t k = 0; k < outputs; k++) {
		if (b->people.shape.classes == 0)
			out[k] = cop_encoder_from_scale(model->preparation, out[k]);
		else
			best = out[k] > out[best] ? k : best;
	}
	return best;
}

static void same(const both *b, size_t i, const double *out, size_t best)
{
	double wanted[PEOPLE_K];
	assert_int_equal(best, expected(b, i, wanted));
	assert_memory_equal(out, wanted, coppice_trained_outputs(b->trained) * sizeof *out);
}

static void test_door_trained_knows_its_names(void **state)
{
	(void)state;
	both b;
	both_init(&b, &shapes[0]);
	assert_int_equal(coppice_trained_features(b.trained), 10);
	assert_string_equal(coppice_trained_feature(b.trained, 0), "age");
	assert_string_equal(
	        coppice_trained_feature(b.trained, 9) + 0, cop_encoder_feature(b.people.model->preparation, 9));
	assert_int_equal(coppice_trained_classes(b.trained), 3);
	assert_int_equal(coppice_trained_outputs(b.trained), 3);
	assert_int_equal(coppice_trained_trees(b.trained), 1);
	assert_string_equal(coppice_trained_class(b.trained, 0), "keep");
	assert_string_equal(coppice_trained_target(b.trained), "kind");
	assert_string_equal(coppice_trained_message(b.trained), "");
	both_fini(&b);
	both_init(&b, &shapes[1]);
	assert_int_equal(coppice_trained_classes(b.trained), 0);
	assert_int_equal(coppice_trained_trees(b.trained), 3);
	both_fini(&b);
}

/* Dense, by places and by names, what is 0 left out. */
static void predict_each_way(both *b, size_t i)
{
	size_t d = coppice_trained_features(b->trained), count = 0, best;
	const float *x = b->people.raw->x + i * d;
	const char *name[PEOPLE_D];
	uint32_t place[PEOPLE_D];
	float value[PEOPLE_D];
	double out[PEOPLE_K];
	for (size_t j = d; j-- > 0;) {
		if (x[j] == 0.0f)
			continue;
		name[count] = coppice_trained_feature(b->trained, j);
		place[count] = (uint32_t)j;
		value[count++] = x[j];
	}
	assert_true(count < d);
	const coppice_row rows[] = { coppice_row_dense(x, d), coppice_row_places(place, value, count),
		coppice_row_names(name, value, count) };
	for (size_t way = 0; way < 3; way++) {
		best = 99;
		assert_int_equal(coppice_trained_predict(b->trained, &rows[way], out, &best), COPPICE_OK);
		same(b, i, out, best);
		assert_int_equal(coppice_trained_predict(b->trained, &rows[way], out, NULL), COPPICE_OK);
	}
}

static void test_door_trained_predicts_as_its_trees(void **state)
{
	(void)state;
	for (size_t s = 0; s < SHAPES; s++) {
		both b;
		both_init(&b, &shapes[s]);
		for (size_t i = 0; i < b.people.raw->n; i++)
			predict_each_way(&b, i);
		both_fini(&b);
	}
}

static void test_door_table_predicts_a_csv(void **state)
{
	(void)state;
	for (size_t s = 0; s < SHAPES; s++) {
		both b;
		cop_bytes csv;
		coppice_table *table;
		coppice_message message = { "" };
		both_init(&b, &shapes[s]);
		cop_rng_init(&b.people.rng, 7, 0); /* the rows of training again */
		cop_bytes_init(&csv);
		people_csv(&b.people, &csv);
		if (coppice_table_parse(b.trained, (const char *)csv.data, csv.length, &table, &message) != COPPICE_OK)
			fail_msg("%s", message.text);
		assert_int_equal(coppice_table_rows(table), b.people.raw->n);
		for (size_t i = 0; i < b.people.raw->n; i++) {
			double out[PEOPLE_K];
			size_t best;
			assert_int_equal(coppice_table_predict(table, i, b.trained, out, &best), COPPICE_OK);
			same(&b, i, out, best);
			assert_int_equal(coppice_table_predict(table, i, b.trained, out, NULL), COPPICE_OK);
		}
		coppice_table_free(table);
		cop_bytes_fini(&csv);
		both_fini(&b);
	}
}

static void expect(const coppice_trained *trained, coppice_err err, coppice_err wanted, const char *words)
{
	if (err != wanted || strstr(coppice_trained_message(trained), words) == NULL)
		fail_msg("error %d (%s), expected %d (%s)", (int)err, coppice_trained_message(trained), (int)wanted,
		        words);
}

static void test_door_trained_refusals(void **state)
{
	(void)state;
	both b;
	both_init(&b, &shapes[0]);
	const float x[11] = { 1.0f, (float)NAN };
	const uint32_t place[2] = { 0, 10 };
	const char *name[1] = { "agee" };
	const coppice_row two = { 1, x, place, name };
	const coppice_row rows[] = { coppice_row_dense(x, 9), coppice_row_dense(x, 10), coppice_row_places(place, x, 2),
		coppice_row_names(name, x, 1), two };
	const coppice_err errs[] = { COPPICE_ESHAPE, COPPICE_ENONFINITE, COPPICE_ESHAPE, COPPICE_ENOTFOUND,
		COPPICE_ESHAPE };
	const char *const words[] = { "9 values, expected 10", "entry 1: expected a finite number",
		"entry 1: place 10, expected one below 10", "\"agee\": no feature", "places and names" };
	double out[PEOPLE_K];
	for (size_t i = 0; i < 5; i++)
		expect(b.trained, coppice_trained_predict(b.trained, &rows[i], out, NULL), errs[i], words[i]);
	both_fini(&b);
}

static void refuse_table(const coppice_trained *trained, const char *csv, coppice_err wanted, const char *words)
{
	coppice_table *table = (coppice_table *)&table;
	coppice_message message = { "" };
	coppice_err err = coppice_table_parse(trained, csv, strlen(csv), &table, &message);
	if (err != wanted || strstr(message.text, words) == NULL || table != NULL)
		fail_msg("error %d (%s), expected %d (%s)", (int)err, message.text, (int)wanted, words);
}

static void test_door_table_refusals(void **state)
{
	(void)state;
	static const char good[] = "age,height,colour,income,city\n30,170,red,900,Oslo\n";
	both b;
	coppice_table *table;
	coppice_message message = { "" };
	double out[PEOPLE_K];
	size_t best;
	both_init(&b, &shapes[0]);
	refuse_table(b.trained, "1,2\n", COPPICE_ESHAPE, "fields; expected 6 as in training");
	refuse_table(b.trained, "age,height,colour,income,town\n30,170,red,900,Oslo\n", COPPICE_ESHAPE, "no column");
	refuse_table(b.trained, "age,height,colour,income,city\n30,170,red,?,Oslo\n", COPPICE_EFORMAT, "csv:2:");
	assert_int_equal(coppice_table_load(b.trained, "/nowhere/a.csv", &table, &message), COPPICE_ENOTFOUND);
	assert_non_null(strstr(message.text, "/nowhere/a.csv"));
	assert_null(table);
	assert_int_equal(coppice_table_parse(b.trained, good, strlen(good), &table, NULL), COPPICE_OK);
	assert_int_equal(coppice_table_rows(table), 1);
	assert_int_equal(coppice_table_predict(table, 0, b.trained, out, &best), COPPICE_OK);
	expect(b.trained, coppice_table_predict(table, 1, b.trained, out, &best), COPPICE_EINVAL,
	        "row 1, expected one below 1");
	coppice_table_free(table);
	both_fini(&b);
}

static void test_door_trained_load_refuses_other_files(void **state)
{
	(void)state;
	coppice_trained *trained = (coppice_trained *)&trained;
	coppice_message message = { "" };
	coppice_model *model;
	assert_int_equal(coppice_trained_load("/nowhere/t.model", &trained, &message), COPPICE_ENOTFOUND);
	assert_non_null(strstr(message.text, "/nowhere/t.model"));
	assert_null(trained);
	assert_int_equal(coppice_model_new("arms = 2 features = 2", &model, NULL), COPPICE_OK);
	assert_int_equal(coppice_model_save(model, path), COPPICE_OK);
	assert_int_equal(coppice_trained_load(path, &trained, &message), COPPICE_ENOTFOUND);
	assert_non_null(strstr(message.text, path));
	coppice_model_free(model);

	both b;
	both_init(&b, &shapes[0]);
	assert_int_equal(coppice_model_load(path, &model, &message), COPPICE_EFORMAT);
	assert_null(model);
	both_fini(&b);
}

static int set_up(void **state)
{
	(void)state;
	return close(mkstemp(path));
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_door_trained_knows_its_names),
		cmocka_unit_test(test_door_trained_predicts_as_its_trees),
		cmocka_unit_test(test_door_table_predicts_a_csv),
		cmocka_unit_test(test_door_trained_refusals),
		cmocka_unit_test(test_door_table_refusals),
		cmocka_unit_test(test_door_trained_load_refuses_other_files),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
