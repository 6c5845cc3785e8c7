#include "event_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIR_VW COP_TEST_DATA "/vw/"

static cop_feature_space *space_of(bool dense, const char *const *pairs, size_t pair_count)
{
	cop_feature_space_settings settings = { .dense = dense, .pairs = pairs, .pair_count = pair_count };
	cop_feature_space *space;
	assert_int_equal(cop_feature_space_new(&settings, &space, NULL), COP_OK);
	return space;
}

static opened open_text(const char *text, bool dense, double assumed)
{
	const cop_event_reader_settings settings = { .assumed_probability = assumed };
	opened o = open_as(&cop_event_format_dsjson, "t.json", text, dense, &settings);
	assert_int_equal(o.err, COP_OK);
	return o;
}

static opened open_file(const char *name, bool dense)
{
	opened o = { .space = space_of(dense, NULL, 0) };
	cop_event_reader_settings settings = { .space = o.space };
	char path[512];
	(void)snprintf(path, sizeof path, DIR_VW "%s", name);
	assert_int_equal(
	        cop_event_reader_open(cop_event_reader_format("dsjson"), path, &settings, &o.reader, NULL), COP_OK);
	return o;
}

/* ---- what Vowpal Wabbit printed ---- */

/* "action:cost:probability" of a progress table, and the number of features: all lines of the file. */
static void follow_table(const char *data, const char *table, size_t expected)
{
	opened o = open_file(data, false);
	char line[256];
	size_t events = 0;
	FILE *file = fopen(table, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL) {
		double average, last, weight, cost, p;
		unsigned long number;
		unsigned action, features;
		if (sscanf(line, "%lf %lf %lu %lf %u:%lf:%lf %*s %u", &average, &last, &number, &weight, &action, &cost,
		            &p, &features) != 8)
			continue;
		cop_logged_event event;
		next_event(&o, &event);
		assert_int_equal(number, ++events);
		assert_true(event.labelled && event.learn && event.weight == 1 && weight == (double)events);
		assert_int_equal(event.action, action);
		assert_true(event.cost == cost && signbit(event.cost) == signbit(cost));
		assert_true(fabs(event.p - p) < 0.0051);
		assert_int_equal(event.features, features);
		assert_int_equal(event.line, events);
	}
	assert_int_equal(events, expected);
	no_event(&o);
	(void)fclose(file);
	close_opened(&o);
}

static void test_dsjson_labels_and_features_are_those_of_recorded_tables(void **state)
{
	(void)state;
	follow_table("decisionservice.json", DIR_VW "decisionservice.adf.stderr.txt", 3);
	follow_table("dsjson_cb.json", DIR_VW "dsjson_cb.adf.stderr.txt", 23);
}

static void test_dsjson_features_lie_where_their_names_hash(void **state)
{
	(void)state;
	opened o = open_file("dsjson_cb.json", false);
	cop_logged_event event;
	next_event(&o, &event);
	assert_int_equal(event.id.kind, COP_EVENT_ID_STRING);
	assert_memory_equal(event.id.bytes, "13118d9b4c114f8485d9dec417e3aefe", 32);
	assert_true(event.p == 0.05000000074505806);
	assert_int_equal(event.candidates, 4);
	assert_int_equal(event.x.nnz, 3);
	assert_int_equal(event.x.d, 1 << COP_FEATURE_SPACE_BITS);
	assert_true(value_of(&event.x, "FromUrl", "timeofdayAfternoon") == 1);
	assert_true(value_of(&event.x, "FromUrl", "weatherSunny") == 1);
	assert_true(value_of(&event.x, "FromUrl", "nameCathy") == 1);
	assert_int_equal(event.candidate[1].nnz, 6);
	assert_true(value_of(&event.candidate[1], "i", "constant") == 1);
	assert_true(value_of(&event.candidate[1], "i", "idCold_brew") == 1);
	assert_true(value_of(&event.candidate[3], "j", "roastdark") == 1);
	close_opened(&o);
	o = open_file("dsjson_cb_default_ns.json", false);
	next_event(&o, &event);
	assert_int_equal(event.features, 40);
	assert_true(value_of(&event.x, "", "timeofdayAfternoon") == 1);
	close_opened(&o);
}

/* ---- files with something odd in them ---- */

static void test_dsjson_plain_form_is_read(void **state)
{
	(void)state;
	static const struct {
		size_t candidates, features, nnz;
		bool labelled;
		unsigned action;
		double cost;
	} expected[] = { { 3, 18, 2, true, 0, 1 }, { 2, 8, 0, true, 1, 0 }, { 2, 8, 0, false, 0, 0 } };
	opened o = open_file("cb_test.json", false);
	for (size_t i = 0; i < 3; i++) {
		cop_logged_event event;
		next_event(&o, &event);
		assert_int_equal(event.candidates, expected[i].candidates);
		assert_int_equal(event.features, expected[i].features);
		assert_int_equal(event.x.nnz, expected[i].nnz); /* one member stands there twice: both count */
		assert_true(event.labelled == expected[i].labelled && event.learn == expected[i].labelled);
		assert_int_equal(event.action, expected[i].action);
		assert_true(event.cost == expected[i].cost);
		assert_true(value_of(&event.candidate[0], "", i == 1 ? "d_1" : "a_1") == 1);
	}
	no_event(&o);
	close_opened(&o);
}

static void test_dsjson_of_other_files_is_right(void **state)
{
	(void)state;
	cop_logged_event event;
	opened o = open_file("cb_simple.json", false);
	next_event(&o, &event);
	assert_int_equal(event.action, 1);
	assert_int_equal(event.features, 6);
	assert_true(value_of(&event.x, "shared", "f1") == 1 && value_of(&event.candidate[1], "action", "f2") == 1);
	close_opened(&o);
	o = open_file("no_shared_features.json", false);
	next_event(&o, &event);
	assert_int_equal(event.x.nnz, 0);
	assert_int_equal(event.candidates, 3);
	assert_int_equal(event.action, 1);
	assert_int_equal(event.features, 8);
	assert_true(value_of(&event.candidate[2], "name3", "name5") == (double)4.65312243F);
	no_event(&o);
	close_opened(&o);
	o = open_file("cb_features_w_zero_vals.dsjson", false);
	for (int i = 0; i < 2; i++) { /* "a" counts from 0 there; zeros are no features */
		next_event(&o, &event);
		assert_int_equal(event.action, 0);
		assert_int_equal(event.features, 2);
		assert_int_equal(event.x.nnz + event.candidate[0].nnz + event.candidate[1].nnz, 0);
	}
	no_event(&o);
	close_opened(&o);
}

static void test_dsjson_that_broke_others_gives_events_or_errors(void **state)
{
	(void)state;
	cop_logged_event event;
	cop_diag diag;
	opened o = open_file("b1848_dsjson_parser_regression.txt", false);
	next_event(&o, &event); /* then six observations and a checkpoint */
	assert_true(event.labelled && !event.learn);
	assert_int_equal(event.candidates, 6);
	assert_int_equal(event.action, 1);
	no_event(&o);
	close_opened(&o);
	o = open_file("issue4669.dsjson", false);
	assert_int_equal(cop_event_reader_next(o.reader, &event, &diag), COP_EFORMAT);
	assert_string_equal(
	        diag.message, "column 39: multi-slot events (\"_slots\") are not supported; expected one decision");
	no_event(&o);
	close_opened(&o);
	o = open_file("ccb_data_parse_error.json", false);
	for (uint64_t line = 1; line <= 70; line++) {
		assert_int_equal(cop_event_reader_next(o.reader, &event, &diag), COP_EFORMAT);
		assert_int_equal(diag.line, line);
		assert_true((strstr(diag.message, "multi-slot") == NULL) == (line == 57 || line == 69));
	}
	no_event(&o);
	close_opened(&o);
}

/* ---- rules ---- */

static void test_dsjson_of_all_kinds_of_features_follows_the_rules(void **state)
{
	(void)state;
	opened o = open_text(
	        "{\"c\":{\"n\":2.5,\"t\":true,\"f\":false,\"z\":null,\"s\":\"a b:c|d\\te\",\"_x\":{\"q\":[\"r\"]},"
	        "\"_text\":\"two  words:x\",\"_tag\":\"u\",\"ns\":{\"in\":{\"k\":1},\"v\":3},\"12\":7,"
	        "\"num\":[1,0,null,4.5,{\"o\":2}],\"es\\u0063\":\"\\u00e9\\\"\",\"big\":123456789012}}\n",
	        false, 0);
	cop_logged_event event;
	next_event(&o, &event);
	assert_false(event.labelled || event.learn);
	assert_true(event.weight == 1);
	assert_int_equal(event.candidates, 0);
	assert_true(value_of(&event.x, "", "n") == 2.5 && value_of(&event.x, "", "t") == 1);
	assert_true(isnan(value_of(&event.x, "", "f")) && isnan(value_of(&event.x, "", "z")));
	assert_true(value_of(&event.x, "", "sa_b_c_d_e") == 1);
	assert_true(value_of(&event.x, "", "two") == 1 && value_of(&event.x, "", "words_x") == 1);
	assert_true(value_of(&event.x, "in", "k") == 1 && value_of(&event.x, "ns", "v") == 3);
	assert_true(value_of(&event.x, "", "12") == 7);
	assert_true(value_of(&event.x, "num", "0") == 1 && value_of(&event.x, "num", "2") == 4.5);
	assert_true(value_of(&event.x, "num", "o") == 2);
	assert_true(value_of(&event.x, "", "esc\xc3\xa9\"") == 1);
	assert_true(value_of(&event.x, "", "big") == (double)123456789012.0F);
	assert_int_equal(event.x.nnz, 13);
	assert_int_equal(event.features, 14);
	no_event(&o);
	close_opened(&o);
}

/* A part of the label that was there already, in whichever spelling. */
static void test_dsjson_label_that_is_there_twice_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{\"_label\":\"1:0.5:0.5\",\"_label_probability\":0.5,\"a\":[1],\"c\":{\"a\":2}}\n",
		"{\"_label_probability\":0.5,\"_label\":\"1:0.5:0.5\",\"a\":[1],\"c\":{\"a\":2}}\n",
		"{\"_label\":\"1:0.5:0.5\",\"_label_cost\":0.5,\"a\":[1],\"c\":{\"a\":2}}\n",
		"{\"_label\":\"1:0.5:0.5\",\"_label_Action\":1,\"a\":[1],\"c\":{\"a\":2}}\n"
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		opened o = open_text(texts[i], true, 0);
		cop_logged_event event;
		cop_diag diag;
		assert_int_equal(cop_event_reader_next(o.reader, &event, &diag), COP_EFORMAT);
		close_opened(&o);
	}
}

/* Of names that begin with an underscore only some are told; the shortest is none of them. */
static void test_dsjson_names_with_underscores_are_passed_over(void **state)
{
	(void)state;
	static const char *const texts[] = { "{\"c\":{\"a\":2}}\n", "{\"c\":{\"_\":1,\"a\":2}}\n",
		"{\"c\":{\"a\":2,\"__a\":[1],\"_a\":{\"b\":1}}}\n" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		opened o = open_text(texts[i], true, 0);
		cop_logged_event event;
		next_event(&o, &event);
		assert_int_equal(event.x.d, 1);
		assert_true(event.x.dense[0] == 2.0F);
		no_event(&o);
		close_opened(&o);
	}
}

static void test_dsjson_label_in_any_spelling_is_the_same(void **state)
{
	(void)state;
	static const char *const labels[] = {
		"\"_label_cost\":0.5,\"_label_probability\":0.25,\"_labelIndex\":1",
		"\"_label_Cost\":0.5,\"_label_Probability\":0.25,\"_label_Action\":2",
		"\"_label_Cost\":0.5,\"_label_Probability\":0.25,\"_label_Action\":0,\"_labelIndex\":1",
		"\"_label\":{\"Action\":2,\"Cost\":0.5,\"Probability\":0.25}", "\"_label\":\"2:0.5:0.25\"",
		"\"_label\":\"2:0.5:0.25\",\"_label_cost\":null", "\"_label_cost\":0.5,\"p\":[0.25,0.75],\"a\":[2,1]",
		"\"_label_cost\":0.5,\"p\":[0.25,0.75],\"a\":[1,0]",
		"\"_label_cost\":0.5,\"_p\":[0.25,0.75],\"a\":[2,1]",
		"\"_original_label_cost\":0.5,\"_label_probability\":0.25,\"a\":[2,1]",
		"\"_original_label_cost\":3,\"_label_cost\":0.5,\"_label_probability\":0.25,\"a\":[2,1]",
		("\"_label_cost\":0.5,\"p\":[0.3,0.7],\"a\":[2,1],\"_label_probability\":0.25,\"_labelIndex\":1,"
		 "\"_label_Action\":2"),
		"\"_label_cost\":0.5,\"_labelIndex\":1", /* assumed */
	};
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
		for (int place = 0; place < 3; place++) { /* before "c", behind it, or in it */
			char text[512];
			if (place == 2 && (strstr(labels[i], "\"p\"") != NULL || strstr(labels[i], "\"a\"") != NULL))
				continue;
			(void)snprintf(text, sizeof text,
			        place == 0   ? "{%s,\"c\":{\"x\":1,\"_multi\":[{},{}]}}"
			        : place == 1 ? "{\"c\":{\"x\":1,\"_multi\":[{},{}]},%s}"
			                     : "{\"c\":{\"x\":1,\"_multi\":[{},{}],%s}}",
			        labels[i]);
			opened o = open_text(text, false, 0.25);
			cop_logged_event event;
			next_event(&o, &event);
			assert_true(event.labelled && event.learn);
			assert_int_equal(event.action, 1);
			assert_true(event.cost == 0.5 && event.p == 0.25 && event.weight == 1);
			assert_int_equal(event.text, strlen(text) + 1);
			close_opened(&o);
		}
}

static void test_dsjson_without_all_of_a_label_is_unlabelled(void **state)
{
	(void)state;
	static const char *const labels[] = { "\"Version\":\"1\"", "\"_labelIndex\":1", "\"a\":[2,1],\"p\":[0.5,0.5]",
		"\"_label_probability\":0.5", "\"_label_cost\":null,\"_labelIndex\":0", "\"_label\":null" };
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		char text[256];
		(void)snprintf(text, sizeof text, "{%s,\"c\":{\"_multi\":[{},{}]}}", labels[i]);
		opened o = open_text(text, false, 0);
		cop_logged_event event;
		next_event(&o, &event);
		assert_false(event.labelled || event.learn);
		assert_int_equal(event.candidates, 2);
		close_opened(&o);
	}
}

static void test_dsjson_switches_weight_id_are_taken(void **state)
{
	(void)state;
	opened o =
	        open_text("{\"_label_cost\":1,\"_label_probability\":1.0000001,\"_labelIndex\":0,\"_skipLearn\":true,"
	                  "\"pdrop\":0.5,\"EventId\":\"caf\\u00e9\",\"c\":{}}\n"
	                  "{\"event_id\":17,\"c\":{},\"skipLearn\":false,\"pdrop\":0}\n"
	                  "{\"EventId\":\"1234567890123456789012345678901234567890123456789012345678901234\","
	                  "\"c\":{}}\n"
	                  "{\"EventId\":\"12345678901234567890123456789012345678901234567890123456789012345\","
	                  "\"c\":{}}\n",
	                false, 0);
	cop_logged_event event;
	next_event(&o, &event);
	assert_true(event.labelled && !event.learn && event.p == 1 && event.weight == 2);
	assert_int_equal(event.id.length, 5);
	assert_memory_equal(event.id.bytes, "caf\xc3\xa9", 5);
	next_event(&o, &event);
	assert_int_equal(event.id.kind, 0);
	assert_true(event.weight == 1);
	next_event(&o, &event);
	assert_int_equal(event.id.length, 64);
	next_event(&o, &event);
	assert_int_equal(event.id.kind, 0);
	no_event(&o);
	close_opened(&o);
}

static void test_dsjson_of_forms_in_turn_is_told_apart(void **state)
{
	(void)state;
	static const char text[] = "\xef\xbb\xbf{\"c\":{\"x\":1}}\n"
	                           "{\"c\":{\"x\":1},\"y\":2,\"_multi\":[{\"z\":3}]}\n" /* plain: c is a namespace */
	                           "{\"x\":1,\"a\":\"b\",\"p\":2}\n"
	                           "\n  \t\n"
	                           "{\"y\":[\"not a feature\"],\"c\":{\"x\":1}}  \r\n"
	                           "{}\n"
	                           "{\"EventId\":\"e\"}\n"
	                           "{\"EventId\":\"e\",\"RewardValue\":1}\n"
	                           "[CHECKPOINT INFO LINE]\n"
	                           "{\"Observations\":[],\"x\":1}\n"
	                           "{\"x\":1}";
	static const struct {
		uint64_t line;
		size_t features, nnz;
	} expected[] = { { 1, 2, 1 }, { 2, 4, 2 }, { 3, 4, 3 }, { 6, 2, 1 }, { 7, 1, 0 }, { 12, 2, 1 } };
	for (int dense = 0; dense < 2; dense++) {
		opened o = open_text(text, dense != 0, 0);
		for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
			cop_logged_event event;
			next_event(&o, &event);
			assert_int_equal(event.line, expected[i].line);
			assert_int_equal(event.features, expected[i].features);
			if (dense == 0)
				assert_int_equal(event.x.nnz, expected[i].nnz);
		}
		no_event(&o);
		close_opened(&o);
	}
}

static void test_dsjson_features_behind_the_candidates_are_shared_too(void **state)
{
	(void)state;
	static const char text[] =
	        "{\"c\":{\"a\":1,\"_multi\":[{\"f\":2},{\"g\":3}],\"b\":4},\"_label_cost\":1,\"_labelIndex\":1}\n"
	        "{\"_multi\":[{\"f\":2},{\"g\":3}],\"b\":4,\"a\":1,\"_label_cost\":1,\"_labelIndex\":1}\n"
	        "{\"c\":{\"b\":4,\"a\":1,\"_multi\":[{\"f\":2},{\"g\":3}]},\"_label_cost\":1,\"_labelIndex\":1}\n"
	        "{\"c\":{\"_multi\":[{\"f\":2},{\"g\":3}],\"b\":{\"b\":4},\"a\":1},\"_label_cost\":1,\"_labelIndex\":1}"
	        "\n";
	for (int dense = 0; dense < 2; dense++) {
		opened o = open_text(text, dense != 0, 0.5);
		for (int i = 0; i < 4; i++) {
			cop_logged_event event;
			next_event(&o, &event);
			assert_int_equal(event.candidates, 2);
			assert_int_equal(event.features, 2 * 3 + 2);
			assert_int_equal(event.action, 1);
			if (dense) {
				assert_int_equal(event.x.d, i < 3 ? 4 : 5);
				assert_int_equal(event.candidate[0].d, event.x.d);
				assert_int_equal(event.candidate[1].d, event.x.d);
				continue;
			}
			assert_int_equal(event.x.nnz, 2);
			assert_true(value_of(&event.x, i == 3 ? "b" : "", "b") == 4);
			assert_true(value_of(&event.x, "", "a") == 1);
			assert_true(value_of(&event.candidate[0], "", "f") == 2);
			assert_true(value_of(&event.candidate[1], "", "g") == 3);
		}
		no_event(&o);
		close_opened(&o);
	}
}

/* ---- faults ---- */

static const struct {
	const char *text;
	cop_err err;
	const char *says;
} faults[] = {
	{ "nonsense", COP_EFORMAT, "column 1: expected an object in braces" },
	{ "[1]", COP_EFORMAT, "column 1: expected an object in braces" },
	{ "{\"c\":{\"x\":1}", COP_EFORMAT, "column 13: the text ends here; expected a comma or }" },
	{ "{\"c\":{\"x\":1}} {}", COP_EFORMAT, "column 15: '{'; expected nothing more" },
	{ "{\"_multi\":[{}]} {}", COP_EFORMAT, "column 17: '{'; expected nothing more" },
	{ "{\"x\":1,\"_multi\":[{}]} x", COP_EFORMAT, "column 23: 'x'; expected nothing more" },
	{ "{\"c\":{\"x\":NaN}}", COP_ENONFINITE, "column 11: NaN is not finite; expected a finite number" },
	{ "{\"c\":{\"x\":-Infinity}}", COP_ENONFINITE, "column 11: -Infinity is not finite; expected a finite number" },
	{ "{\"c\":{\"x\":1e999}}", COP_ENONFINITE,
	        "column 11: 1e999 is beyond the largest number; expected a finite one" },
	{ "{\"c\":{\"x\":1e39}}", COP_ENONFINITE,
	        "column 1: a feature, or features that add up, beyond 3.4e38; expected finite ones" },
	{ "{\"c\":{\"x\":3e38,\"x\":3e38}}", COP_ENONFINITE,
	        "column 1: a feature, or features that add up, beyond 3.4e38; expected finite ones" },
	{ "{\"c\":{\"x\":[\"t\"]}}", COP_EFORMAT, "column 12: expected numbers or objects in a list of features" },
	{ "{\"c\":{\"x\":[[1]]}}", COP_EFORMAT, "column 12: expected numbers or objects in a list of features" },
	{ "{\"c\":{\"_text\":1}}", COP_EFORMAT, "column 15: '1'; expected text in quotes" },
	{ "{\"c\":{},\"c\":{}}", COP_EFORMAT, "column 10: \"c\" stands here again; expected it once" },
	{ "{\"c\":{\"_multi\":[{}],\"_multi\":[{}]}}", COP_EFORMAT,
	        "column 22: \"_multi\" stands here again; expected it once" },
	{ "{\"c\":{\"_multi\":{}}}", COP_EFORMAT, "column 16: expected a list of candidates" },
	{ "{\"c\":{\"_multi\":[]}}", COP_EFORMAT, "column 16: no candidates; expected at least one" },
	{ "{\"c\":{\"_multi\":[1]}}", COP_EFORMAT, "column 17: expected an object for each candidate" },
	{ "{\"c\":{\"_multi\":[{\"_multi\":[{}]}]}}", COP_EFORMAT,
	        "column 19: \"_multi\" inside of features; expected it beside them" },
	{ "{\"c\":{\"_multi\":[{\"_label\":\"1:0:1\"}]}}", COP_EFORMAT,
	        "column 19: a label inside of features; expected it beside them, with \"_labelIndex\"" },
	{ "{\"c\":{\"_multi\":[{\"__aid\":1}]}}", COP_EFORMAT,
	        "column 19: candidates by reference (\"__aid\") are not supported; expected their features" },
	{ "{\"c\":{\"\\u005fmulti\":[{}]}}", COP_EFORMAT, "column 8: an escaped underscore; expected it plain" },
	{ "{\"_outcomes\":[],\"c\":{}}", COP_EFORMAT,
	        "column 3: multi-slot events (_outcomes) are not supported; expected one decision" },
	{ "{\"_label_cost\":\"1\",\"c\":{}}", COP_EFORMAT, "column 16: text; expected a number" },
	{ "{\"_label_cost\":\"NaN\",\"c\":{}}", COP_EFORMAT, "column 16: text; expected a number" },
	{ "{\"_label_cost\":1,\"_label_cost\":1,\"c\":{}}", COP_EFORMAT,
	        "column 19: \"_label_cost\" stands here again; expected it once" },
	{ "{\"_label_cost\":1e7,\"_labelIndex\":0,\"_label_probability\":1,\"c\":{}}", COP_EFORMAT,
	        "column 3: cost 1e+07; expected at most 1e+06 in size" },
	{ "{\"_label_cost\":1e999,\"_labelIndex\":0,\"_label_probability\":1,\"c\":{}}", COP_ENONFINITE,
	        "column 16: 1e999 is beyond the largest number; expected a finite one" },
	{ "{\"_label_cost\":1,\"_labelIndex\":0,\"_label_probability\":1e-9,\"c\":{}}", COP_EFORMAT,
	        "column 35: probability 1e-09; expected 1e-06 to 1" },
	{ "{\"_label_cost\":1,\"_labelIndex\":0,\"_label_probability\":7,\"c\":{}}", COP_EFORMAT,
	        "column 35: probability 7; expected 1e-06 to 1" },
	{ "{\"_label_cost\":1,\"_labelIndex\":0,\"_label_probability\":0,\"c\":{}}", COP_EFORMAT,
	        "column 35: probability 0; expected 1e-06 to 1" },
	{ "{\"_label_cost\":1,\"_labelIndex\":0,\"c\":{}}", COP_EFORMAT,
	        "column 3: a cost without a probability; expected \"_label_probability\"" },
	{ "{\"_label_cost\":1,\"_label_probability\":1,\"c\":{}}", COP_EFORMAT,
	        "column 3: a cost without an action; expected \"_labelIndex\"" },
	{ "{\"_labelIndex\":2,\"c\":{\"_multi\":[{},{}]}}", COP_EFORMAT,
	        "column 3: action 2 (from 0); expected one of 2 candidates" },
	{ "{\"_labelIndex\":0.5,\"c\":{}}", COP_EFORMAT,
	        "column 3: action 0.5; expected a whole number from 0 to 65535" },
	{ "{\"_labelIndex\":-1,\"c\":{}}", COP_EFORMAT,
	        "column 3: action -1; expected a whole number from 0 to 65535" },
	{ "{\"_label_Action\":0,\"c\":{}}", COP_EFORMAT,
	        "column 3: action 0; expected a whole number from 1 to 65535" },
	{ "{\"_labelIndex\":1,\"_label_Action\":1,\"c\":{}}", COP_EFORMAT,
	        "column 19: action 1 (from 1), but the line has played action 1 (from 0)" },
	{ "{\"_labelIndex\":1,\"a\":[1,2],\"c\":{}}", COP_EFORMAT,
	        "column 19: action 1 (from 1), but the line has played action 1 (from 0)" },
	{ "{\"a\":1,\"c\":{}}", COP_EFORMAT, "column 6: expected a list of numbers" },
	{ "{\"a\":[\"1\"],\"c\":{}}", COP_EFORMAT, "column 7: text; expected a number" },
	{ "{\"a\":[2,1],\"p\":[1],\"_label_cost\":0,\"c\":{}}", COP_EFORMAT,
	        "column 13: 1 probabilities; expected as many as there are actions in \"a\", 2" },
	{ "{\"pdrop\":1,\"c\":{}}", COP_EFORMAT, "column 3: \"pdrop\" is 1; expected 0 to less than 1" },
	{ "{\"pdrop\":-0.5,\"c\":{}}", COP_EFORMAT, "column 3: \"pdrop\" is -0.5; expected 0 to less than 1" },
	{ "{\"_label_ca\":1,\"c\":{}}", COP_EFORMAT,
	        "column 3: \"ca\" is no part of a label; expected cost, probability or action" },
	{ "{\"_label\":\"1:2:3:4\",\"c\":{}}", COP_EFORMAT, "column 12: expected a label \"action:cost:probability\"" },
	{ "{\"_label\":\"1\",\"c\":{}}", COP_EFORMAT, "column 12: expected a label \"action:cost:probability\"" },
	{ "{\"_label\":\"a:1:1\",\"c\":{}}", COP_EFORMAT, "column 12: expected a label \"action:cost:probability\"" },
	{ "{\"_label\":7,\"c\":{}}", COP_EFORMAT, "column 11: '7'; expected text in quotes" },
	{ "{\"_skipLearn\":1,\"c\":{}}", COP_EFORMAT, "column 15: '1'; expected true or false" },
};

#define FAULTS (sizeof faults / sizeof *faults)

static void test_dsjson_of_wrong_lines_says_where_and_what(void **state)
{
	(void)state;
	for (size_t i = 0; i < FAULTS; i++) {
		opened o = open_text(faults[i].text, false, 0);
		cop_logged_event event;
		cop_diag diag;
		cop_err err = cop_event_reader_next(o.reader, &event, &diag);
		if (err != faults[i].err || strcmp(diag.message, faults[i].says) != 0)
			fail_msg("%s: %d \"%s\"", faults[i].text, (int)err, diag.message);
		assert_string_equal(diag.source, "t.json");
		assert_int_equal(diag.line, 1);
		no_event(&o);
		close_opened(&o);
	}
}

/* What a reader says of an event, as bytes. */
static void describe(const cop_logged_event *event, char *out, size_t size)
{
	size_t at = (size_t)snprintf(out, size, "%d %d %u %g %g %g %zu %zu %zu id %d %.*s", event->labelled,
	        event->learn, event->action, event->cost, event->p, event->weight, event->features, event->candidates,
	        event->text, event->id.kind, event->id.length, (const char *)event->id.bytes);
	for (size_t k = 0; k <= event->candidates; k++) {
		const cop_row *row = k == 0 ? &event->x : &event->candidate[k - 1];
		at += (size_t)snprintf(out + at, size - at, " row %zu", row->d);
		for (size_t i = 0; i < cop_row_entries(row); i++)
			at += (size_t)snprintf(
			        out + at, size - at, " %zu:%g", cop_row_index(row, i), (double)cop_row_value(row, i));
		assert_true(at < size);
	}
}

static void test_dsjson_line_behind_a_wrong_one_is_as_if_it_were_alone(void **state)
{
	(void)state;
	static const char *const goods[] = {
		"{\"_label_cost\":1,\"_label_probability\":0.5,\"_labelIndex\":1,\"EventId\":\"e\",\"pdrop\":0.5,"
		"\"c\":{\"u\":{\"k\":1},\"_multi\":[{\"f\":2},{\"g\":3}]}}\n",
		"{\"x\":1,\"_multi\":[{\"f\":2},{\"g\":3}],\"y\":\"z\"}\n",
	};
	static char alone[4096], behind[4096], text[2048];
	for (size_t g = 0; g < 2; g++)
		for (int dense = 0; dense < 2; dense++)
			for (size_t i = 0; i < FAULTS; i++) {
				cop_logged_event event;
				opened o = open_text(goods[g], dense != 0, 0);
				next_event(&o, &event);
				describe(&event, alone, sizeof alone);
				close_opened(&o);
				(void)snprintf(text, sizeof text, "%s\n%s", faults[i].text, goods[g]);
				o = open_text(text, dense != 0, 0);
				assert_int_equal(cop_event_reader_next(o.reader, &event, NULL), faults[i].err);
				next_event(&o, &event);
				describe(&event, behind, sizeof behind);
				if (strcmp(alone, behind) != 0)
					fail_msg("%s: %s instead of %s", faults[i].text, behind, alone);
				no_event(&o);
				close_opened(&o);
			}
}

static void test_dsjson_cut_at_any_byte_is_a_fault(void **state)
{
	(void)state;
	static const char whole[] = "{\"_label_cost\":1,\"_label_probability\":0.5,\"_labelIndex\":1,\"a\":[2,1],"
	                            "\"c\":{\"u\":{\"k\":\"\\u00e9\"},\"_multi\":[{\"f\":2},{\"g\":[1]}],\"h\":null}}";
	for (size_t length = 1; length < sizeof whole - 1; length++) {
		char text[sizeof whole];
		cop_logged_event event;
		memcpy(text, whole, length);
		text[length] = '\0';
		opened o = open_text(text, false, 0);
		assert_int_equal(cop_event_reader_next(o.reader, &event, NULL), COP_EFORMAT);
		close_opened(&o);
	}
}

static void test_dsjson_of_damaged_stream_ends(void **state)
{
	(void)state;
	static const unsigned char cut[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab };
	opened o = { .space = space_of(false, NULL, 0) };
	cop_event_reader_settings settings = { .space = o.space };
	cop_stream *stream;
	cop_logged_event event;
	assert_int_equal(cop_stream_open_memory("t.json.gz", cut, sizeof cut, &stream, NULL), COP_OK);
	assert_int_equal(cop_event_format_dsjson.create(&stream, &settings, &o.reader, NULL), COP_OK);
	assert_int_equal(cop_event_reader_next(o.reader, &event, NULL), COP_EIO);
	assert_int_equal(cop_event_reader_next(o.reader, &event, NULL), COP_EIO);
	close_opened(&o);
}

static void test_dsjson_pairs_are_made_of_shared_and_candidates(void **state)
{
	(void)state;
	static const char *const pairs[] = { "ui" };
	opened o = { .space = space_of(false, pairs, 1) };
	cop_event_reader_settings settings = { .space = o.space };
	static const char text[] = "{\"c\":{\"u\":{\"a\":2,\"b\":3},\"_multi\":[{\"i\":{\"f\":5}},{\"i\":{\"f\":7}}]}}";
	cop_stream *stream;
	cop_logged_event event;
	assert_int_equal(cop_stream_open_memory("t", text, sizeof text - 1, &stream, NULL), COP_OK);
	assert_int_equal(cop_event_format_dsjson.create(&stream, &settings, &o.reader, NULL), COP_OK);
	next_event(&o, &event);
	assert_int_equal(event.x.nnz, 2);
	assert_int_equal(event.candidate[0].nnz, 3);
	assert_int_equal(event.features, 2 * (2 + 1 + 2 + 1));
	close_opened(&o);
}

/* Everything from opening to the last event; COP_OK when nothing failed. */
static cop_err read_all(bool dense)
{
	static const char text[] =
	        "{\"c\":{\"u\":{\"k\\n\":\"\\u00e9\"},\"_multi\":[{\"f\":2},{\"g\":3}],\"late\":1},\"_label_cost\":1}\n"
	        "{\"c\":{\"new names\":{\"and\":1,\"so on and so on, a longer line\":2},\"_multi\":[{},{},{},{},{},{},"
	        "{},{},{},{},{},{},{},{},{},{},{}]},\"a\":[1],\"_label_cost\":1,\"_label_probability\":1}\n"
	        "{\"x\":1}\n";
	cop_feature_space_settings space_settings = { .dense = dense };
	cop_event_reader_settings settings = { 0 };
	cop_event_reader *reader = NULL;
	cop_stream *stream = NULL;
	cop_logged_event event;
	size_t events = 0;
	cop_err err = cop_feature_space_new(&space_settings, &settings.space, NULL);
	if (err == COP_OK)
		err = cop_stream_open_memory("t", text, sizeof text - 1, &stream, NULL);
	if (err == COP_OK)
		err = cop_event_format_dsjson.create(&stream, &settings, &reader, NULL);
	while (err == COP_OK || err == COP_EFORMAT) { /* the first has no action */
		err = cop_event_reader_next(reader, &event, NULL);
		events += err == COP_OK;
	}
	cop_event_reader_free(reader);
	cop_feature_space_free(settings.space);
	if (err == COP_EEND)
		assert_int_equal(events, 2);
	return err == COP_EEND ? COP_OK : err;
}

static void test_dsjson_without_memory_fails_cleanly(void **state)
{
	(void)state;
	for (int dense = 0; dense < 2; dense++)
		for (int forever = 0; forever < 2; forever++) {
			unsigned long n = 1;
			size_t passed_over = 0;
			for (;; n++) {
				cop_test_alloc_fail(n, forever);
				cop_err err = read_all(dense != 0);
				cop_test_alloc_fail(0, 0);
				assert_true(err == COP_OK || err == COP_ENOMEM);
				if (!cop_test_alloc_failed())
					break;
				passed_over += err == COP_OK;
			}
			/* what only makes rows faster may go without */
			assert_true(passed_over <= (dense || forever ? 0 : 4));
			assert_true(n > 8);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dsjson_labels_and_features_are_those_of_recorded_tables),
		cmocka_unit_test(test_dsjson_features_lie_where_their_names_hash),
		cmocka_unit_test(test_dsjson_plain_form_is_read),
		cmocka_unit_test(test_dsjson_of_other_files_is_right),
		cmocka_unit_test(test_dsjson_that_broke_others_gives_events_or_errors),
		cmocka_unit_test(test_dsjson_of_all_kinds_of_features_follows_the_rules),
		cmocka_unit_test(test_dsjson_label_in_any_spelling_is_the_same),
		cmocka_unit_test(test_dsjson_without_all_of_a_label_is_unlabelled),
		cmocka_unit_test(test_dsjson_switches_weight_id_are_taken),
		cmocka_unit_test(test_dsjson_of_forms_in_turn_is_told_apart),
		cmocka_unit_test(test_dsjson_features_behind_the_candidates_are_shared_too),
		cmocka_unit_test(test_dsjson_of_wrong_lines_says_where_and_what),
		cmocka_unit_test(test_dsjson_line_behind_a_wrong_one_is_as_if_it_were_alone),
		cmocka_unit_test(test_dsjson_cut_at_any_byte_is_a_fault),
		cmocka_unit_test(test_dsjson_of_damaged_stream_ends),
		cmocka_unit_test(test_dsjson_pairs_are_made_of_shared_and_candidates),
		cmocka_unit_test(test_dsjson_without_memory_fails_cleanly),
		cmocka_unit_test(test_dsjson_names_with_underscores_are_passed_over),
		cmocka_unit_test(test_dsjson_label_that_is_there_twice_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
