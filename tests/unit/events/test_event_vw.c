#include "vw_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "events/event_reader.h"
#include "events/event_vw_private.h"
#include "support_guard.h"

#define DIR_VW COP_TEST_DATA "/vw/"
#define PLACES 262144 /* 2^18 */

/* ---- as Vowpal Wabbit ---- */

static char *load_text(const char *path)
{
	cop_stream *stream;
	size_t got;
	char *text = cop_mem_alloc(1 << 16, 1);
	assert_non_null(text);
	assert_int_equal(cop_stream_open_read(path, &stream, NULL), COP_OK);
	assert_int_equal(cop_stream_read(stream, text, (1 << 16) - 1, &got), COP_OK);
	cop_stream_free(stream);
	return text;
}

/* One line of an audit, name:place:value:weight behind tabs, added up by place; how many, without the constant. */
static size_t add_audit(const char *line, double *sums)
{
	size_t count = 0;
	for (const char *at = strchr(line, '\t'); at != NULL; at = strchr(at + 1, '\t')) {
		char name[128];
		unsigned long place;
		double value;
		assert_int_equal(sscanf(at + 1, "%127[^:]:%lu:%lf:", name, &place, &value), 3);
		if (strcmp(name, "Constant") == 0)
			continue;
		assert_true(place < PLACES);
		sums[place] += value;
		count++;
	}
	return count;
}

/* hash.vw's features (its labels are of another kind) against the audit of Vowpal Wabbit. */
static void check_audit(const char *audit_path, const cop_feature_space_settings *features)
{
	char *log = load_text(DIR_VW "hash.vw");
	char *audit = load_text(audit_path);
	double *sums = cop_mem_alloc(PLACES, sizeof *sums);
	char *line = strtok(audit, "\n");
	size_t events = 0;
	for (char *at = log; (at = strchr(at, '|')) != NULL; at = strchr(at, '\n')) {
		opened o = open_text_as(at, strcspn(at, "\n"), features, COP_EVENT_LINES_ONE, 0);
		cop_logged_event event;
		memset(sums, 0, PLACES * sizeof *sums);
		read_on(&o, &event);
		line = strtok(NULL, "\n"); /* the prediction is behind */
		assert_int_equal(event.features, add_audit(line, sums) + 1);
		assert_int_equal(event.x.d, PLACES);
		for (size_t i = 0; i < event.x.nnz; i++) {
			double expected = sums[event.x.index[i]];
			if (fabs((double)event.x.value[i] - expected) > 1e-5 * fabs(expected))
				fail_msg("event %zu, place %u: %g instead of %g", events, event.x.index[i],
				        (double)event.x.value[i], expected);
			sums[event.x.index[i]] = 0;
		}
		for (size_t i = 0; i < PLACES; i++)
			assert_true(sums[i] == 0);
		line = strtok(NULL, "\n");
		events++;
		at_end(&o);
	}
	assert_int_equal(events, 4);
	cop_mem_free(sums);
	cop_mem_free(audit);
	cop_mem_free(log);
}

static void test_event_vw_hashes_names_as_vowpal_wabbit(void **state)
{
	(void)state;
	static const char *const pairs[] = { "::" };
	check_audit(DIR_VW "hash.audit.strings.txt", &vw_hashed);
	check_audit(DIR_VW "hash.audit.all.txt", &(cop_feature_space_settings){ .bits = 18, .hash_all = true });
	check_audit(DIR_VW "hash.audit.quadratic.txt",
	        &(cop_feature_space_settings){ .bits = 18, .pairs = pairs, .pair_count = 1 });
}

static void test_event_vw_hashes_text_values_as_vowpal_wabbit(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t place;
	} cases[] = { { "| happiness", 143395 }, { "| happiness:true", 42986 }, { "| sadness:false", 187175 },
		{ "|emotion happiness:1", 196388 }, { "|emotion happiness:true", 106841 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		opened o = open_text(cases[i].text);
		cop_logged_event event;
		read_on(&o, &event);
		assert_int_equal(event.features, 2);
		assert_int_equal(event.x.nnz, 1);
		assert_int_equal(event.x.index[0], cases[i].place);
		assert_true(event.x.value[0] == 1);
		at_end(&o);
	}
}

static void test_event_vw_counts_features_as_vowpal_wabbit(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		cop_event_lines lines;
		size_t counts[12]; /* 0 ends */
	} cases[] = {
		{ DIR_VW "cb_test.ldf", COP_EVENT_LINES_AUTO, { 18, 8, 8 } },
		{ DIR_VW "cb_test_nonewline.ldf", COP_EVENT_LINES_AUTO, { 18, 8, 8 } },
		{ DIR_VW "cb_test_small.ldf", COP_EVENT_LINES_SEVERAL, { 18, 8, 8, 18, 8, 8 } },
		{ DIR_VW "cb_test_with_empty_shared_feature.ldf", COP_EVENT_LINES_AUTO, { 18, 8, 8 } },
		{ DIR_VW "cb_features_w_zero_vals.dat", COP_EVENT_LINES_AUTO, { 3, 8, 2 } },
		{ DIR_VW "cb_adf_sm.data", COP_EVENT_LINES_AUTO, { 12, 12, 12, 16 } },
		{ DIR_VW "cb_multi_cost.dat", COP_EVENT_LINES_AUTO, { 4, 4, 4, 4, 4 } },
		{ DIR_VW "cb_eval", COP_EVENT_LINES_AUTO, { 3, 3, 3, 3, 3, 3, 3, 3 } },
		{ DIR_VW "cb_adf_crash_1.data", COP_EVENT_LINES_AUTO, { 4 } },
		{ DIR_VW "cb_adf_crash_2.data", COP_EVENT_LINES_AUTO, { 3 } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		opened o = open_file(cases[i].path, cases[i].lines);
		for (const size_t *count = cases[i].counts; *count != 0; count++) {
			cop_logged_event event;
			read_on(&o, &event);
			if (event.features != *count)
				fail_msg("%s, line %d: %zu instead of %zu", cases[i].path, (int)event.line,
				        event.features, *count);
		}
		at_end(&o);
	}
}

/* Vowpal Wabbit with two actions (its option cb) repeats the features for each of them. */
static void test_event_vw_counts_lines_of_candidates_as_vowpal_wabbit(void **state)
{
	(void)state;
	char *text = load_text(DIR_VW "cb_load.dat");
	char *table = load_text(DIR_VW "cb_load.cb2.stderr.txt");
	size_t total = 0;
	size_t events = 0;
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		opened o =
		        open_text_as(strchr(line, '|'), strlen(strchr(line, '|')), &vw_hashed, COP_EVENT_LINES_ONE, 0);
		cop_logged_event event;
		read_on(&o, &event);
		total += 2 * event.features;
		events++;
		at_end(&o);
	}
	assert_int_equal(events, 904);
	assert_int_equal(total, strtoul(strstr(table, "total feature number = ") + 23, NULL, 10));
	cop_mem_free(text);
	cop_mem_free(table);

	opened o = open_file(DIR_VW "cb_load.dat", COP_EVENT_LINES_AUTO);
	for (size_t i = 0; i < 113; i++) {
		cop_logged_event event;
		read_on(&o, &event);
		assert_int_equal(event.candidates, 7);
		assert_int_equal(event.features, 7 * (1 + 2 + 1));
		assert_true(event.labelled);
	}
	at_end(&o);
}

static void test_event_vw_of_candidates_is_read(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		struct {
			size_t candidates, shared;
			bool labelled;
			uint32_t action;
			double cost, p;
		} event[4];
	} cases[] = {
		{ DIR_VW "cb_test.ldf",
		        { { 3, 2, true, 0, 1, 0.5 }, { 2, 0, true, 1, 0, 0.5 }, { 2, 0, false, 0, 0, 0 } } },
		{ DIR_VW "cb_test_with_empty_shared_feature.ldf",
		        { { 3, 2, true, 0, 1, 0.5 }, { 2, 0, true, 1, 0, 0.5 }, { 2, 0, false, 0, 0, 0 } } },
		{ DIR_VW "cb_features_w_zero_vals.dat",
		        { { 3, 0, true, 0, 1, 0.5 }, { 2, 0, true, 1, 0, 0.5 }, { 2, 0, false, 0, 0, 0 } } },
		{ DIR_VW "cb_adf_sm.data", { { 3, 1, true, 0, 1.5, 0.25 }, { 3, 1, true, 0, 1.5, 0.25 },
		                                   { 3, 1, true, 0, -1.5, 0.5 }, { 4, 1, true, 0, -2, 0.5 } } },
		{ DIR_VW "cb_adf_crash_1.data", { { 2, 0, true, 0, -3, 0.2 } } },
		{ DIR_VW "cb_adf_crash_2.data", { { 1, 1, false, 0, 0, 0 } } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		opened o = open_file(cases[i].path, COP_EVENT_LINES_AUTO);
		for (size_t k = 0; k < 4 && cases[i].event[k].candidates > 0; k++) {
			cop_logged_event event;
			read_on(&o, &event);
			assert_int_equal(event.candidates, cases[i].event[k].candidates);
			assert_int_equal(event.x.nnz, cases[i].event[k].shared);
			assert_int_equal(event.labelled, cases[i].event[k].labelled);
			assert_int_equal(event.action, cases[i].event[k].action);
			assert_true(event.cost == cases[i].event[k].cost && event.p == cases[i].event[k].p);
			for (size_t j = 0; j < event.candidates; j++)
				assert_int_equal(event.candidate[j].d, PLACES);
		}
		at_end(&o);
	}
}

/* ---- labels and tags ---- */

/* Labels on two lines in a row are of two events, unless one is of action 0, which only candidates have. */
static void test_event_vw_lines_of_zero_are_candidates(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t candidates;
	} cases[] = { { "1:0.5:0.5 | a\n2:0.5:0.5 | b\n", 0 }, { "01:0.5:0.5 | a\n02:0.5:0.5 | b\n", 0 },
		{ "0:0.5:0.5 | a\n | b\n\n", 2 }, { "00:0.5:0.5 | a\n | b\n\n", 2 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		opened o = open_text_as(cases[i].text, strlen(cases[i].text), &vw_hashed, COP_EVENT_LINES_AUTO, 0);
		cop_logged_event event;
		read_on(&o, &event);
		assert_int_equal(event.candidates, cases[i].candidates);
		assert_true(event.labelled && event.action == 0 && event.cost == 0.5);
		if (cases[i].candidates == 0)
			read_on(&o, &event);
		at_end(&o);
	}
}

static void test_event_vw_label_forms_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text, *tag;
		bool labelled;
		uint32_t action;
		double cost, p;
	} cases[] = {
		{ "1:0.5:0.2 | a", "", true, 0, 0.5, 0.2 },
		{ "3:-1e2:1 'tag| a", "tag", true, 2, -100, 1 },
		{ "3:2:.5 tag| a", "tag", true, 2, 2, 0.5 },
		{ "3:2:.5 'tag | a", "tag", true, 2, 2, 0.5 },
		{ "tag|a", "tag", false, 0, 0, 0 },
		{ "'1:2:3|a", "1:2:3", false, 0, 0, 0 },
		{ "'|a", "", false, 0, 0, 0 },
		{ "|", "", false, 0, 0, 0 },
		{ "   |a b", "", false, 0, 0, 0 },
		{ "  2:0.25:0.125  \r", NULL, false, 0, 0, 0 },
		{ "1:1 2:2:0.75 3:3 | a", "", true, 1, 2, 0.75 },
		{ "4 1 2:2:0.75 | a", "", true, 1, 2, 0.75 },
		{ "passed over\t1:0:0.5 tag|a", "tag", true, 0, 0, 0.5 },
		{ "1:0:0.5\t|a", "", true, 0, 0, 0.5 },
		{ "1:0:0.5\t | a", "", true, 0, 0, 0.5 },
		{ "65536:1000000:0.000001 | a", "", true, 65535, 1e6, 1e-6 },
		{ "1:0:0.5 a_tag_of_more_than_64_characters_is_no_id_because_ids_are_not_longer_x| a", "", true, 0, 0,
		        0.5 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		opened o = open_text(cases[i].text);
		cop_logged_event event;
		if (cases[i].tag == NULL) {
			assert_int_equal(next(&o, &event), COP_EFORMAT);
			shut(&o);
			continue;
		}
		read_on(&o, &event);
		if (*cases[i].tag == '\0')
			assert_int_equal(event.id.kind, 0);
		else
			assert_true(has_id(&event, cases[i].tag));
		if (cases[i].labelled)
			assert_true(is_labelled(&event, cases[i].action, cases[i].cost, cases[i].p));
		else
			assert_true(!event.labelled && !event.learn);
		at_end(&o);
	}
}

static void test_event_vw_label_of_several_actions_is_mask(void **state)
{
	(void)state;
	opened o = open_text("4 1 2:2:0.75 | a\n3 | a\n1:1:0.5 | a\n2:1:1 2:3 | a\n");
	cop_logged_event event;
	read_on(&o, &event);
	assert_int_equal(event.arms, 4);
	assert_memory_equal(event.mask, "\1\1\0\1", 4);
	read_on(&o, &event);
	assert_false(event.labelled);
	assert_int_equal(event.arms, 3);
	assert_memory_equal(event.mask, "\0\0\1", 3);
	read_on(&o, &event);
	assert_true(event.mask == NULL && event.arms == 0);
	read_on(&o, &event);
	assert_int_equal(event.arms, 2);
	at_end(&o);
}

static void test_event_vw_without_probability_takes_the_assumed_one(void **state)
{
	(void)state;
	static const char text[] = "1:0.5 | a\n1:0.5 2:1 | a\n2:1:0.5 1:3 | a\n";
	opened o = open_text_as(text, strlen(text), &vw_hashed, COP_EVENT_LINES_AUTO, 0.25);
	cop_logged_event event;
	read_on(&o, &event);
	assert_true(is_labelled(&event, 0, 0.5, 0.25));
	assert_int_equal(next(&o, &event), COP_EFORMAT);
	read_on(&o, &event);
	assert_true(is_labelled(&event, 1, 1, 0.5));
	at_end(&o);
}

/* ---- features ---- */

static void test_event_vw_feature_forms_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text, *columns;
		float values[8];
		size_t features;
	} cases[] = {
		{ "|a x:2 y\n", "a^x a^y", { 2, 1 }, 3 },
		{ "|a:0.5 x:2 y |b x:-.5e1\n", "a^x a^y b^x", { 1, 0.5F, -5 }, 4 },
		{ "| x:+1. y:1E2 z:00012.5 w:1e-3", "x y z w", { 1, 100, 12.5F, 1e-3F }, 5 },
		{ "|\tx:2\t \ty:3 \t\r\n", "x y", { 2, 3 }, 3 },
		{ "| :1 :2 x :0 :4", "0 1 x 2 3", { 1, 2, 1, 0, 4 }, 5 },
		{ "|a :1 |b :2 |a :3", "a^0 b^0", { 4, 2 }, 4 },
		{ "|a x|b y:2|c|d", "a^x b^y", { 1, 2 }, 3 },
		{ "| x:0 y:1e-60 z:-0", "x y z", { 0, 0, 0 }, 1 },
		{ "|a:0 x:5 y", "a^x a^y", { 0, 0 }, 1 },
		{ "| city:Paris city:Rome url:http://x:80/|y", "city:Paris city:Rome url:http://x:80/|y", { 1, 1, 1 },
		        4 },
		{ "| 12345678:0.12345678 x:123456789.5 y:0.1234567890123456789 z:16777217", "12345678 x y z",
		        { 0.12345678F, 123456789.5F, 0.1234567890123456789F, 16777216 }, 5 },
		{ "| caf\xc3\xa9:2 'q\" a=b #1", "caf\xc3\xa9 'q\" a=b #1", { 2, 1, 1, 1 }, 5 },
		{ "| a_rather_long_name_for_a_feature:1 a_rather_long_name_for_a_feature_too:2",
		        "a_rather_long_name_for_a_feature a_rather_long_name_for_a_feature_too", { 1, 2 }, 3 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[1024];
		size_t length = strlen(cases[i].text);
		bool newline = cases[i].text[length - 1] == '\n';
		(void)snprintf(text, sizeof text, "%s%s%s%s%s", cases[i].text, newline ? "" : "\n", cases[i].text,
		        newline ? "" : "\r\n", cases[i].text);
		opened o = open_text_as(text, strlen(text), &vw_dense, COP_EVENT_LINES_AUTO, 0);
		for (int k = 0; k < 3; k++) {
			cop_logged_event event;
			read_on(&o, &event);
			assert_int_equal(event.features, cases[i].features);
			char columns[256] = "";
			for (size_t c = 0; c < event.x.d; c++) {
				size_t used = strlen(columns);
				(void)snprintf(columns + used, sizeof columns - used, "%s%s", c > 0 ? " " : "",
				        cop_feature_space_column(o.space, c));
				if (event.x.dense[c] != cases[i].values[c])
					fail_msg("%s: column %zu is %.9g", cases[i].text, c, (double)event.x.dense[c]);
			}
			assert_string_equal(columns, cases[i].columns);
		}
		at_end(&o);
	}
}

static void test_event_vw_bytes_behind_a_line_are_not_read_as_its_own(void **state)
{
	(void)state;
	/* Each line ends within a feature that the line before it had whole. */
	static const char text[] = "| ab:12 cd:345\n| ab:1\n| ab\n| a\n| ab:12 c\n| ab:12 cd:3\n| ab:12 cd:345\n";
	static const float values[][4] = { { 12, 345, 0, 0 }, { 1, 0, 0, 0 }, { 1, 0, 0, 0 }, { 0, 0, 1, 0 },
		{ 12, 0, 0, 1 }, { 12, 3, 0, 0 }, { 12, 345, 0, 0 } };
	opened o = open_text_as(text, strlen(text), &vw_dense, COP_EVENT_LINES_ONE, 0);
	for (size_t i = 0; i < 7; i++) {
		cop_logged_event event;
		read_on(&o, &event);
		assert_memory_equal(event.x.dense, values[i], event.x.d * sizeof(float));
	}
	at_end(&o);
}

/* ---- what is wrong ---- */

static const struct {
	const char *text;
	cop_err err;
	const char *says;
} wrong_lines[] = {
	{ "1:0:0.5 a b", COP_EFORMAT, "t.vw:3: column 12: the line ends without '|'" },
	{ "0:1:0.5 | a", COP_EFORMAT, "t.vw:3: column 1: action 0; expected them to count from 1" },
	{ "1:inf:0.5 | a", COP_ENONFINITE, "column 3: \"inf\" is no cost; expected a number from -1e+06 to 1e+06" },
	{ "1:nan:0.5 | a", COP_ENONFINITE, "column 3: \"nan\" is no cost" },
	{ "1:1e7:0.5 | a", COP_EFORMAT, "column 3: \"1e7\" is no cost" },
	{ "1:1e999:0.5 | a", COP_ENONFINITE, "column 3: \"1e999\" is no cost" },
	{ "1::0.5 | a", COP_EFORMAT, "column 3: \"\" is no cost" },
	{ "1: | a", COP_EFORMAT, "column 3: \"\" is no cost" },
	{ "1:x:0.5 | a", COP_EFORMAT, "column 3: \"x\" is no cost" },
	{ "1:2:1e-9 | a", COP_EFORMAT, "column 5: \"1e-9\" is no probability; expected a number from 1e-06 to 1" },
	{ "1:2:0 | a", COP_EFORMAT, "column 5: \"0\" is no probability" },
	{ "1:2:1.01 | a", COP_EFORMAT, "column 5: \"1.01\" is no probability" },
	{ "1:2:-0.5 | a", COP_EFORMAT, "column 5: \"-0.5\" is no probability" },
	{ "1:2:inf | a", COP_ENONFINITE, "column 5: \"inf\" is no probability" },
	{ "1:2: | a", COP_EFORMAT, "column 5: \"\" is no probability" },
	{ "1:2:0.5:7 | a", COP_EFORMAT, "column 5: \"0.5:7\" is no probability" },
	{ "1:2 | a", COP_EFORMAT,
	        "column 1: no probability stands behind a cost; expected ACTION:COST:PROBABILITY for the played action "
	        "(or "
	        "one to assume)\n" },
	{ "1:2 2:3 | a", COP_EFORMAT,
	        "column 5: no probability stands behind a cost; expected ACTION:COST:PROBABILITY for the played "
	        "action\n" },
	{ "1:2:.5 2:3:.5 | a", COP_EFORMAT, "column 8: a second action has a probability" },
	{ ":2:.5 | a", COP_EFORMAT, "column 1: no action stands before ':'" },
	{ "one:2:.5 | a", COP_EFORMAT, "column 1: \"one\" is no action; expected ACTION:COST:PROBABILITY" },
	{ "-1:2:.5 | a", COP_EFORMAT, "column 1: \"-1\" is no action" },
	{ "65537:2:.5 | a", COP_EFORMAT, "column 1: \"65537\" is too large for an action" },
	{ "99999999999999999999999:2:.5 | a", COP_EFORMAT, "is too large for an action" },
	{ "1:2:.5| a", COP_EFORMAT, "column 1: \"1:2:.5\" touches '|' and would be a tag" },
	{ "shared | a", COP_EFORMAT, "column 1: shared features in a file of one line for each event" },
	{ "shared| a", COP_EFORMAT, "column 1: \"shared\" touches '|'" },
	{ "shared 1:2:3 | a", COP_EFORMAT, "column 8: \"1:2:3\" behind shared" },
	{ "1:2:.5 | a:", COP_EFORMAT, "column 12: no value stands behind ':'" },
	{ "1:2:.5 | a: b", COP_EFORMAT, "column 12: no value stands behind ':'" },
	{ "1:2:.5 | a:1.5x b", COP_EFORMAT, "column 12: \"1.5x\" is no number" },
	{ "1:2:.5 | a:1.5.2 b", COP_EFORMAT, "column 12: \"1.5.2\" is no number" },
	{ "1:2:.5 | a:-b b", COP_EFORMAT, "column 12: \"-b\" is no number" },
	{ "1:2:.5 | a:NaN b", COP_ENONFINITE, "column 12: \"NaN\" is not finite" },
	{ "1:2:.5 | a:-Infinity", COP_ENONFINITE, "column 12: \"-Infinity\" is not finite" },
	{ "1:2:.5 | a:1e39", COP_ENONFINITE, "column 12: \"1e39\" is too large" },
	{ "1:2:.5 | a:1e999", COP_ENONFINITE, "column 12: \"1e999\" is too large" },
	{ "1:2:.5 |n:1e30 a:1e30", COP_ENONFINITE, "column 18: \"1e30\" is too large" },
	{ "1:2:.5 | a:3e38 a:3e38", COP_ENONFINITE, "column 8: a sum or product of features is too large" },
	{ "1:2:.5 |:1 a", COP_EFORMAT, "column 9: ':' behind '|'; expected a namespace's name" },
	{ "1:2:.5 |n: a", COP_EFORMAT, "column 11: \"\" is no weight of a namespace" },
	{ "1:2:.5 |n:x a", COP_EFORMAT, "column 11: \"x\" is no weight of a namespace" },
	{ "1:2:.5 |n:inf a", COP_ENONFINITE, "column 11: \"inf\" is no weight of a namespace" },
	{ "1:2:.5 |n:1e60 a", COP_ENONFINITE, "column 11: \"1e60\" is too large for a namespace's weight" },
};

static void test_event_vw_of_wrong_text_says_where_and_what(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof wrong_lines / sizeof *wrong_lines; i++) {
		char text[256];
		char said[600];
		(void)snprintf(text, sizeof text, "1:0:0.5 | a\n\n%s\n2:1:0.25 | b\n", wrong_lines[i].text);
		opened o = open_text_as(text, strlen(text), &vw_dense, COP_EVENT_LINES_ONE, 0);
		cop_logged_event event;
		read_on(&o, &event);
		cop_err err = next(&o, &event);
		cop_diag_text(&o.diag, said, sizeof said);
		strcat(said, "\n");
		if (err != wrong_lines[i].err || strstr(said, wrong_lines[i].says) == NULL ||
		        strncmp(said, "t.vw:3: ", 8) != 0)
			fail_msg("%s: %d, %s", wrong_lines[i].text, (int)err, said);
		assert_true(event.candidates == 0 && !event.labelled && event.x.d == 0);
		read_on(&o, &event); /* which the wrong one has left alone */
		assert_true(is_labelled(&event, 1, 1, 0.25) && event.line == 4 && event.features == 2);
		assert_int_equal(cop_feature_space_dimension(o.space), 2);
		assert_true(event.x.dense[0] == 0 && event.x.dense[1] == 1);
		at_end(&o);
	}
}

/* The text ends where nothing can be read any more. */
static void test_event_vw_wrong_text_is_shown_up_to_forty_characters(void **state)
{
	(void)state;
	for (int n = 1; n < 50; n++) {
		char *text;
		char want[128];
		cop_diag diag;
		COP_TEST_GUARD(text, (size_t)n);
		memset(text, 'x', (size_t)n);
		text[0] = '\x01';
		const cop_vw_line line = {
			.start = text, .end = text + n, .bar = text + n, .source = "t.vw", .number = 3, .diag = &diag
		};
		assert_int_equal(cop_vw_wrong_text(&line, text, text + n, COP_EFORMAT, "is wrong"), COP_EFORMAT);
		(void)snprintf(want, sizeof want, "column 1: \"?%.*s\" is wrong", n < 40 ? n - 1 : 39,
		        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
		assert_string_equal(diag.message, want);
		cop_test_guard_free(text);
	}
}

static void test_event_vw_of_wrong_candidates_says_where_and_what(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int line;
		const char *says;
	} cases[] = {
		{ "shared | a\n", 3, "column 1: no candidates follow the shared features" },
		{ "shared | a\nshared | b\n| x\n", 4, "column 1: shared features behind candidates" },
		{ "| a\nshared | b\n| x\n", 4, "column 1: shared features behind candidates" },
		{ "shared | a\n0:1:.5 | b\n0:1:.5 | c\n| d\n", 5, "column 1: a second candidate has a cost" },
		{ "shared | a\n0:1:.5 1:2 | b\n| d\n", 4, "column 8: a second action in a candidate's label" },
		{ "shared | a\n| new:x:y new2\n| b\n0:inf:.5 | c\n| d\n", 6, "column 3: \"inf\" is no cost" },
		{ "shared | a\nno bar\n| c\n", 4, "column 7: the line ends without '|'" },
		{ "shared | a\n0:1 | b\n| c\n", 4, "column 1: no probability stands behind a cost" },
		{ "shared | a:1e39\n0:1:1 | b\n| c\n", 3, "column 12: \"1e39\" is too large" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		(void)snprintf(text, sizeof text, "| a\n \t\r\n%s\n\n| b\n0:1:0.25 | c", cases[i].text);
		opened o = open_text_as(text, strlen(text), &vw_dense, COP_EVENT_LINES_SEVERAL, 0);
		cop_logged_event event;
		read_on(&o, &event);
		assert_int_equal(event.candidates, 1);
		cop_err err = next(&o, &event);
		if ((err != COP_EFORMAT && err != COP_ENONFINITE) || strstr(o.diag.message, cases[i].says) == NULL ||
		        o.diag.line != (uint64_t)cases[i].line)
			fail_msg("%s: %d, line %d: %s", cases[i].text, (int)err, (int)o.diag.line, o.diag.message);
		read_on(&o, &event);
		assert_true(is_labelled(&event, 1, 1, 0.25));
		assert_int_equal(event.candidates, 2);
		assert_int_equal(event.features, 4);
		assert_int_equal(cop_feature_space_dimension(o.space), 3);
		at_end(&o);
	}
}

static void test_event_vw_of_too_many_candidates_is_refused_once(void **state)
{
	(void)state;
	size_t lines = 65536 + 100;
	char *text = cop_mem_alloc(lines * 4 + 64, 1);
	char *to = text;
	for (size_t i = 0; i < lines; i++)
		to += sprintf(to, "| a\n");
	to += sprintf(to, "\n| b\n");
	opened o = open_text_as(text, (size_t)(to - text), &vw_dense, COP_EVENT_LINES_SEVERAL, 0);
	cop_logged_event event;
	assert_int_equal(next(&o, &event), COP_EFORMAT);
	assert_int_equal(o.diag.line, 65537);
	read_on(&o, &event);
	assert_int_equal(event.line, lines + 2);
	at_end(&o);
	cop_mem_free(text);
}

static void test_event_vw_of_damaged_file_cannot_be_read_on(void **state)
{
	(void)state;
	static const char gzip[] = "\x1f\x8b\x08\0\0\0\0\0\0\3garbage";
	cop_stream *stream;
	cop_diag diag;
	opened o = { 0 };
	if (cop_stream_open_memory("t.vw.gz", gzip, sizeof gzip - 1, &stream, &diag) != COP_OK)
		return;
	assert_int_equal(cop_feature_space_new(&vw_hashed, &o.space, &diag), COP_OK);
	cop_event_reader_settings settings = { .space = o.space };
	assert_int_equal(cop_event_format_vw.create(&stream, &settings, &o.reader, &diag), COP_OK);
	cop_logged_event event;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(next(&o, &event), COP_EIO);
		assert_non_null(strstr(o.diag.message, "gzip data is damaged"));
	}
	shut(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_vw_hashes_names_as_vowpal_wabbit),
		cmocka_unit_test(test_event_vw_hashes_text_values_as_vowpal_wabbit),
		cmocka_unit_test(test_event_vw_counts_features_as_vowpal_wabbit),
		cmocka_unit_test(test_event_vw_counts_lines_of_candidates_as_vowpal_wabbit),
		cmocka_unit_test(test_event_vw_of_candidates_is_read),
		cmocka_unit_test(test_event_vw_label_forms_are_read),
		cmocka_unit_test(test_event_vw_label_of_several_actions_is_mask),
		cmocka_unit_test(test_event_vw_without_probability_takes_the_assumed_one),
		cmocka_unit_test(test_event_vw_feature_forms_are_read),
		cmocka_unit_test(test_event_vw_bytes_behind_a_line_are_not_read_as_its_own),
		cmocka_unit_test(test_event_vw_of_wrong_text_says_where_and_what),
		cmocka_unit_test(test_event_vw_wrong_text_is_shown_up_to_forty_characters),
		cmocka_unit_test(test_event_vw_of_wrong_candidates_says_where_and_what),
		cmocka_unit_test(test_event_vw_of_too_many_candidates_is_refused_once),
		cmocka_unit_test(test_event_vw_of_damaged_file_cannot_be_read_on),
		cmocka_unit_test(test_event_vw_lines_of_zero_are_candidates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
