#include "support.h"

#include "trained_fixture.h"
#include "view/tree_phrases.h"
#include "view/view.h"

/* Columns age (sd 2), colour (red, green, "") and yes; scaled; two classes. */
static const char csv_text[] = "age,colour,income,class\n40,red,100000,no\n44,green,200000,yes\n40,red,100000,no\n"
                               "44,green,200000,yes\n";

typedef struct table {
	cop_dataset *data;
	cop_encoder *preparation;
} table;

static void read_table(table *t, cop_scaling scaling)
{
	cop_stream *stream;
	cop_diag diag = { .message = "" };
	cop_table_settings settings = { .scaling = scaling };
	assert_int_equal(cop_stream_open_memory("t", csv_text, sizeof csv_text - 1, &stream, &diag), COP_OK);
	cop_err err = cop_table_training_from(stream, false, &settings, &t->data, &t->preparation, &diag);
	if (err != COP_OK)
		fail_msg("%s", diag.message);
	cop_stream_free(stream);
	assert_int_equal(cop_encoder_fit(t->preparation, t->data, t->data->n, NULL), COP_OK);
}

static void free_table(table *t)
{
	cop_dataset_free(t->data);
	cop_encoder_free(t->preparation);
}

/* Of a split by w and bias, both ways. */
static void check_test(const table *t, const float *w, float bias, const char *holds, const char *fails)
{
	cop_tree_build *build;
	cop_tree *tree;
	cop_bytes out;
	assert_int_equal(cop_tree_build_new(t->data->d, 2, COP_TREE_PROBABILITIES, &build), COP_OK);
	int32_t node = cop_tree_build_node(build, w, bias);
	int32_t left = cop_tree_build_constant(build, (float[]){ 1.0f, 0.0f });
	int32_t right = cop_tree_build_constant(build, (float[]){ 0.0f, 1.0f });
	cop_tree_build_children(build, node, left, right);
	assert_int_equal(cop_tree_build_finish(build, node, &tree), COP_OK);
	cop_tree_build_free(build);
	cop_tree_phrases words = { .tree = tree, .preparation = t->preparation, .top = 2 };
	cop_tree_test test = cop_tree_phrases_test_of(&words, 0);
	cop_bytes_init(&out);
	cop_tree_phrases_test(&words, &test, true, &out);
	cop_bytes_put(&out, "|", 1);
	cop_tree_phrases_test(&words, &test, false, &out);
	cop_bytes_put_u8(&out, 0);
	char want[256];
	(void)snprintf(want, sizeof want, "%s|%s", holds, fails);
	assert_string_equal((const char *)out.data, want);
	cop_bytes_fini(&out);
	cop_tree_free(tree);
}

static void test_words_of_one_feature_are_in_the_files_unit(void **state)
{
	(void)state;
	table t;
	read_table(&t, COP_SCALE_STANDARD); /* age: mean 42, sd 2; income: mean 150000, sd 50000 */
	assert_int_equal(t.data->d, 4);
	check_test(&t, (float[]){ 1, 0, 0, 0 }, 0.25f, "age >= 41.5", "age < 41.5");
	check_test(&t, (float[]){ -2, 0, 0, 0 }, 0.5f, "age <= 42.5", "age > 42.5");
	check_test(&t, (float[]){ 0, 0, 0, 1 }, -0.5f, "income >= 175000", "income < 175000");
	check_test(&t, (float[]){ 0, 0, 0, 0 }, 0.5f, "always", "never");
	check_test(&t, (float[]){ 0, 0, 0, 0 }, -0.5f, "never", "always");
	free_table(&t);
}

static void test_words_of_categories_name_them(void **state)
{
	(void)state;
	table t;
	for (int scaling = 0; scaling < 2; scaling++) { /* red: 0 and 1, or -1 and 1 */
		read_table(&t, scaling == 0 ? COP_SCALE_NONE : COP_SCALE_STANDARD);
		assert_string_equal(cop_encoder_feature(t.preparation, 1), "colour=red");
		check_test(&t, (float[]){ 0, 1, 0, 0 }, -0.5f, "colour is red", "colour is not red");
		check_test(&t, (float[]){ 0, 1, 0, 0 }, -1.0f, "colour is red", "colour is not red");
		check_test(&t, (float[]){ 0, 0, -1, 0 }, 0.5f, "colour is not green", "colour is green");
		check_test(&t, (float[]){ 0, 1, 0, 0 }, -3.0f,
		        scaling == 0 ? "colour=red >= 3" : "colour=red >= 2", /* parts nothing */
		        scaling == 0 ? "colour=red < 3" : "colour=red < 2");
		free_table(&t);
	}
}

static void test_words_of_sums_are_heaviest_first(void **state)
{
	(void)state;
	table t;
	read_table(&t, COP_SCALE_STANDARD);
	check_test(&t, (float[]){ 0.5f, -2.0f, 0, 1.0f }, -0.25f, "-2 colour=red +1 income (1 lighter) -0.25 >= 0",
	        "-2 colour=red +1 income (1 lighter) -0.25 < 0");
	free_table(&t);
}

static void check_clean(const char *text, const char *want)
{
	cop_bytes out;
	cop_bytes_init(&out);
	cop_tree_phrases_clean(text, &out);
	cop_bytes_put_u8(&out, 0);
	assert_string_equal((const char *)out.data, want);
	cop_bytes_fini(&out);
}

static void test_clean_shows_what_steers(void **state)
{
	(void)state;
	check_clean("größe 温度 <&>\"'", "größe 温度 <&>\"'");
	check_clean("a\x1b[2J\r\n\t\x7f", "a\\x1b[2J\\x0d\\x0a\\x09\\x7f");
	check_clean("\xc2\x9b|\xe2\x80\xae|\xe2\x80\x8b|\xef\xbb\xbf",
	        "\\xc2\\x9b|\\xe2\\x80\\xae|\\xe2\\x80\\x8b|\\xef\\xbb\\xbf");
	check_clean("\xff\xc3", "\\xff\\xc3");
	check_clean("\xed\xa0\x80", "\\xed\\xa0\\x80");
}

/* Of a tree that is one leaf with so many of these four rows. */
static void check_leaf(cop_tree_link link, size_t outputs, size_t rows, size_t top, bool mathematical, const char *want)
{
	static const uint32_t output[] = { 0, 1, 3, 4 };
	static const float v[] = { 0.5f, 0, -2, 0, 0, 0, 1, 0.25f, 3, 4, 0, 0 };
	static const float c[] = { 1.5f, -0.5f, 0, 7 };
	cop_tree_build *build;
	cop_tree *tree;
	cop_bytes out;
	assert_int_equal(cop_tree_build_new(3, outputs, link, &build), COP_OK);
	int32_t leaf = cop_tree_build_linear(build, rows, output, v, c);
	assert_int_equal(cop_tree_build_finish(build, leaf, &tree), COP_OK);
	cop_tree_build_free(build);
	const cop_tree_phrases words = { .tree = tree, .top = top, .mathematical = mathematical };
	cop_bytes_init(&out);
	cop_tree_phrases_leaf(&words, 0, &out);
	cop_bytes_put_u8(&out, 0);
	assert_string_equal((const char *)out.data, want);
	cop_bytes_fini(&out);
	cop_tree_free(tree);
}

static void test_words_of_a_linear_leaf_are_its_rows_sums(void **state)
{
	(void)state;
	check_leaf(COP_TREE_VALUES, 1, 1, 2, false, "-2 x2 +0.5 x0 +1.5");
	check_leaf(COP_TREE_VALUES, 1, 1, 1, true, "−2 x2 (1 lighter) +1.5");
	check_leaf(COP_TREE_VALUES, 2, 2, 2, false, "output 0: -2 x2 +0.5 x0 +1.5; output 1: -0.5");
	check_leaf(COP_TREE_LOGITS, 5, 3, 2, false,
	        "softmax of output 0: -2 x2 +0.5 x0 +1.5; output 1: -0.5; output 3: +3 x2 +1 x0 (1 lighter) +0");
	check_leaf(COP_TREE_PROBABILITIES, 5, 4, 3, false,
	        "greatest of output 0: -2 x2 +0.5 x0 +1.5; output 1: -0.5; output 3: +3 x2 +1 x0 +0.25 x1 +0; 1 more");
}

/* Code points around those that steer: C0, DEL, C1, what is invisible or changes the direction, the byte order mark. */
static void test_clean_knows_the_bounds_of_what_steers(void **state)
{
	(void)state;
	static const uint32_t steering[][2] = { { 0x01, 0x1f }, { 0x7f, 0x9f }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff } };
	for (uint32_t c = 1; c < 0x10000; c++) {
		bool steers = false;
		char text[4] = "", want[16] = "";
		size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
		if (c >= 0xd800 && c < 0xe000)
			continue;
		for (size_t i = 0; i < sizeof steering / sizeof *steering; i++)
			steers = steers || (c >= steering[i][0] && c <= steering[i][1]);
		text[0] = (char)(length == 1 ? c : length == 2 ? 0xc0 | c >> 6 : 0xe0 | c >> 12);
		for (size_t i = 1; i < length; i++)
			text[i] = (char)(0x80 | (c >> 6 * (length - 1 - i) & 0x3f));
		for (size_t i = 0; i < length; i++)
			(void)snprintf(
			        want + strlen(want), sizeof want - strlen(want), "\\x%02x", (unsigned char)text[i]);
		check_clean(text, steers ? want : text);
	}
	check_clean("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
}

static void check_number(double value, const char *want)
{
	cop_bytes out;
	cop_bytes_init(&out);
	cop_tree_phrases_number(value, &out);
	cop_bytes_put_u8(&out, 0);
	assert_string_equal((const char *)out.data, want);
	cop_bytes_fini(&out);
}

static void test_numbers_are_short(void **state)
{
	(void)state;
	check_number(41.500000123, "41.5");
	check_number(1234567.5, "1234567.5");
	check_number(-250000.0, "-250000");
	check_number(1e-7, "1e-07");
	check_number(1e300, "1e+300");
	check_number(-0.0, "0");
}

/* Ranges are gathered, and what another condition says already is left out. */
static void test_rules_gather_conditions(void **state)
{
	(void)state;
	table t;
	read_table(&t, COP_SCALE_NONE);
	cop_tree_build *build;
	cop_tree *tree;
	assert_int_equal(cop_tree_build_new(4, 2, COP_TREE_PROBABILITIES, &build), COP_OK);
	int32_t leaf[5], node[4];
	for (size_t i = 0; i < 5; i++)
		leaf[i] = cop_tree_build_constant(
		        build, (float[]){ i % 2 == 0 ? 0.75f : 0.25f, i % 2 == 0 ? 0.25f : 0.75f });
	node[0] = cop_tree_build_axis(build, 0, 30.0f);
	node[1] = cop_tree_build_axis(build, 0, 50.0f);
	node[2] = cop_tree_build_axis(build, 2, 0.5f);
	node[3] = cop_tree_build_axis(build, 1, 0.5f);
	cop_tree_build_children(build, node[0], leaf[0], node[1]);
	cop_tree_build_children(build, node[1], node[2], leaf[1]);
	cop_tree_build_children(build, node[2], node[3], leaf[2]);
	cop_tree_build_children(build, node[3], leaf[3], leaf[4]);
	assert_int_equal(cop_tree_build_finish(build, node[0], &tree), COP_OK);
	cop_tree_build_free(build);
	cop_trained model = { .learner = (char[]){ "cart" }, .settings = (char[]){ "" }, .preparation = t.preparation };
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &model.trees), COP_OK);
	cop_bytes out;
	cop_view_settings settings = { .tree = COP_VIEW_ALL };
	cop_bytes_init(&out);
	assert_int_equal(cop_view_rules(&model, &settings, &out), COP_OK);
	cop_bytes_put_u8(&out, 0);
	const char *text = strchr((const char *)out.data, '\n');
	text = strstr(text, "\nrule 0.0");
	assert_non_null(text);
	assert_string_equal(text, "\nrule 0.0\n  if  age < 30\n  then no (0.75)\n"
	                          "\nrule 0.1\n  if  30 <= age < 50\n  and colour is not green\n  and colour is not "
	                          "red\n  then yes (0.75)\n"
	                          "\nrule 0.2\n  if  30 <= age < 50\n  and colour is red\n  then no (0.75)\n"
	                          "\nrule 0.3\n  if  30 <= age < 50\n  and colour is green\n  then no (0.75)\n"
	                          "\nrule 0.4\n  if  age >= 50\n  then yes (0.75)\n");
	cop_bytes_fini(&out);
	cop_trees_free(model.trees);
	free_table(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_one_feature_are_in_the_files_unit),
		cmocka_unit_test(test_words_of_categories_name_them),
		cmocka_unit_test(test_words_of_sums_are_heaviest_first),
		cmocka_unit_test(test_words_of_a_linear_leaf_are_its_rows_sums),
		cmocka_unit_test(test_clean_shows_what_steers),
		cmocka_unit_test(test_clean_knows_the_bounds_of_what_steers),
		cmocka_unit_test(test_numbers_are_short),
		cmocka_unit_test(test_rules_gather_conditions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
