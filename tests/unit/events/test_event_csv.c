#include "event_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static opened open_text(const char *text, bool dense, const cop_event_reader_settings *given)
{
	return open_as(&cop_event_format_csv, "t.csv", text, dense, given);
}

static opened open_plain(const char *text) { return open_text(text, true, &(cop_event_reader_settings){ 0 }); }

static void check_row(const cop_row *row, size_t d, const float *expected)
{
	assert_non_null(row->dense);
	assert_int_equal(row->d, d);
	for (size_t i = 0; i < d; i++)
		assert_true(row->dense[i] == expected[i]);
}

static void test_csv_events_by_the_usual_columns_are_read(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"1.5,-2,3,0.25,1\n0,7,0,1,-0.5\n",
		"a,b,action,probability,cost\n1.5,-2,3,0.25,1\n0,7,0,1,-0.5\n",
		"cost,a,action,b,propensity\n1,1.5,3,-2,0.25\n-0.5,0,0,7,1\n",
		" \"cost\" , a,\"action\",\"b\",propensity\r\n1, 1.5,3,-2,0.25\r\n\r\n-0.5,0,0,7,1",
		"a,b,action,propensity,reward\n1.5,-2,3,0.25,0\n0,7,0,1,1.5\n",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		opened o = open_plain(texts[i]);
		cop_logged_event event;
		next_event(&o, &event);
		assert_true(event.labelled && event.learn && event.weight == 1);
		assert_true(event.action == 3 && event.cost == 1 && event.p == 0.25);
		assert_int_equal(event.line, i == 0 ? 1 : 2);
		assert_int_equal(event.features, 3);
		assert_int_equal(event.candidates, 0);
		assert_int_equal(event.id.kind, 0);
		check_row(&event.x, 2, (const float[]){ 1.5F, -2 });
		next_event(&o, &event);
		assert_true(event.action == 0 && event.cost == -0.5 && event.p == 1);
		assert_int_equal(event.features, 2);
		check_row(&event.x, 2, (const float[]){ 0, 7 });
		no_event(&o);
		assert_string_equal(cop_feature_space_column(o.space, 0), i == 0 ? "x0" : "a");
		assert_string_equal(cop_feature_space_column(o.space, 1), i == 0 ? "x1" : "b");
		close_opened(&o);
	}
}

static void test_csv_events_by_named_columns_are_read(void **state)
{
	(void)state;
	static const char text[] = "k,f-0,f-1,f-2,arm,price,p\n9,1,2,3,2,0.25,0.5\n9,1,2,3,2,0.25,0.5\n";
	static const struct {
		const char *context, *action, *cost, *probability;
		size_t d;
		float x[4];
	} cases[] = {
		{ "f-0-f-2", "arm", "price", "p", 3, { 1, 2, 3 } },
		{ "2-4", "5", "6", "7", 3, { 1, 2, 3 } },
		{ "f-0-f-1,k", "arm", "6", "p", 3, { 1, 2, 9 } },
		{ "f-2", "arm", "price", "7", 1, { 3 } },
		{ "k-2,4", "arm", "price", "p", 3, { 9, 1, 3 } },
		{ NULL, "arm", "price", "p", 4, { 9, 1, 2, 3 } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_event_reader_settings settings = { .columns = { .context = cases[i].context,
			                                       .action = cases[i].action,
			                                       .cost = cases[i].cost,
			                                       .probability = cases[i].probability },
			.action_from_one = true };
		settings.columns.reward = i == 0;
		opened o = open_text(text, true, &settings);
		for (int k = 0; k < 2; k++) {
			cop_logged_event event;
			next_event(&o, &event);
			check_row(&event.x, cases[i].d, cases[i].x);
			assert_true(event.action == 1 && event.p == 0.5 && event.cost == (i == 0 ? 0.75 : 0.25));
		}
		close_opened(&o);
	}
}

static void test_csv_columns_of_one_name_go_by_their_places(void **state)
{
	(void)state;
	static const char text[] = "a,a,cost,action,p,cost\n1,\"2\",9,\"3\",\"0.5\",1\n";
	cop_event_reader_settings settings = { .columns = { .context = "2", .cost = "6", .probability = "p" } };
	opened o = open_text(text, true, &settings);
	cop_logged_event event;
	next_event(&o, &event);
	check_row(&event.x, 1, (const float[]){ 2 });
	assert_true(event.action == 3 && event.p == 0.5 && event.cost == 1);
	no_event(&o);
	close_opened(&o);
}

static void test_csv_columns_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	static const char header[] = "a,b,action,probability,cost\n1,2,3,1,1\n";
	static const struct {
		const char *text;
		cop_event_columns columns;
		cop_err err;
		const char *says;
	} cases[] = {
		{ header, { .context = "a,c" }, COP_EINVAL,
		        "no column \"c\" for the context; expected a name of its first line (\"a\" ... \"cost\") or a "
		        "place from 1 to 5" },
		{ header, { .action = "6" }, COP_EINVAL,
		        "no column \"6\" for the action; expected a name of its first line (\"a\" ... \"cost\") or a "
		        "place from 1 to 5" },
		{ header, { .cost = "" }, COP_EINVAL,
		        "no column \"\" for the cost; expected a name of its first line (\"a\" ... \"cost\") or a "
		        "place "
		        "from 1 to 5" },
		{ header, { .context = "b-a" }, COP_EINVAL,
		        "no column \"b-a\" for the context; expected a name of its first line (\"a\" ... \"cost\") or "
		        "a "
		        "place from 1 to 5" },
		{ header, { .context = "a," }, COP_EINVAL,
		        "no column \"\" for the context; expected a name of its first line (\"a\" ... \"cost\") or a "
		        "place from 1 to 5" },
		{ header, { .context = "a,1" }, COP_EINVAL,
		        "column 1 is context and again that; expected one of them" },
		{ header, { .context = "1-3" }, COP_EINVAL, "column 3 is action and context; expected one of them" },
		{ header, { .cost = "action" }, COP_EINVAL, "column 3 is action and cost; expected one of them" },
		{ "1,2,3,1,1\n", { .action = "x" }, COP_EINVAL,
		        "no column \"x\" for the action; expected a place from 1 to 5, as the first line holds no "
		        "names" },
		{ "a,b\n1,2\n", { 0 }, COP_EFORMAT,
		        "the first line was taken for names, and none is \"action\"; expected it, or the place of "
		        "the column that is the action" },
		{ "a,action\n1,2\n", { 0 }, COP_EFORMAT,
		        "the first line was taken for names, and none is \"cost\" or \"reward\"; expected it, or the "
		        "place of the column that is the cost" },
		{ "a,action,cost\n1,2,0\n", { 0 }, COP_EFORMAT,
		        "the first line was taken for names, and none is \"probability\" or \"propensity\"; expected "
		        "it, or the place of the column that is the probability" },
		{ "action\n1\n", { 0 }, COP_EFORMAT,
		        "the first line was taken for names, and none is \"cost\" or \"reward\"; expected it, or the "
		        "place of the column that is the cost" },
		{ "action\n1\n", { .action = "x" }, COP_EINVAL,
		        "no column \"x\" for the action; expected a name of its first line (\"action\" ... \"action\") "
		        "or "
		        "a place from 1 to 1" },
		{ "cost,x,action,p,cost\n1,2,0,1,1\n", { .probability = "p" }, COP_EFORMAT,
		        "columns 1 and 5 are both named \"cost\"; expected the place of the cost, or one column of "
		        "that name" },
		{ "p,cost,x,action,p\n1,2,0,1,1\n", { .probability = "p" }, COP_EFORMAT,
		        "columns 1 and 5 are both named \"p\"; expected the place of the probability, or one column "
		        "of that name" },
		{ "a,b,a,action,cost,probability\n1,2,3,1,1,1\n", { 0 }, COP_EFORMAT,
		        "columns 1 and 3 of the context are both named \"a\"; expected different names" },
		{ "a,b,a,action,cost,probability\n1,2,3,1,1,1\n", { .context = "b,a" }, COP_EFORMAT,
		        "columns 1 and 3 are both named \"a\"; expected the place of the context, or one column of "
		        "that name" },
		{ ",b,x0,action,cost,probability\n1,2,3,1,1,1\n", { 0 }, COP_EFORMAT,
		        "columns 1 and 3 of the context are both named \"x0\"; expected different names" },
		{ "a,action,cost,probability,reward\n1,0,1,1,0\n", { 0 }, COP_EFORMAT,
		        "column 5, \"reward\", would be part of the context; expected the columns of the context, with "
		        "it or without" },
		{ "a,propensity,action,cost,probability\n1,0,1,1,1\n", { .cost = "cost" }, COP_EFORMAT,
		        "column 2, \"propensity\", would be part of the context; expected the columns of the context, "
		        "with it or without" },
		{ "1,2\n", { 0 }, COP_EFORMAT, "2 columns; expected context, action, probability and cost" },
		{ header, { .items = "/nowhere/at/all" }, COP_EINVAL, "cannot be opened: No such file or directory" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		opened o = open_text(cases[i].text, true, &(cop_event_reader_settings){ .columns = cases[i].columns });
		if (o.err != cases[i].err || strcmp(o.diag.message, cases[i].says) != 0)
			fail_msg("%zu: %d \"%s\"", i, (int)o.err, o.diag.message);
		close_opened(&o);
	}
}

static void test_csv_rows_that_are_wrong_cost_only_themselves(void **state)
{
	(void)state;
	static const struct {
		const char *row;
		cop_err err;
		const char *says;
	} cases[] = {
		{ "1,2,3,1", COP_EFORMAT, "4 fields; expected 5 as in the first line, whose fields end at commas" },
		{ "1,2,3,1,1,1", COP_EFORMAT, "6 fields; expected 5 as in the first line, whose fields end at commas" },
		{ "1,x,0,1,1", COP_EFORMAT, "field 2: \"x\" is not a number; expected a finite number" },
		{ "1,,0,1,1", COP_EFORMAT, "field 2: it is empty; expected a finite number" },
		{ "nan,2,0,1,1", COP_ENONFINITE, "field 1: \"nan\" is not finite; expected a finite number" },
		{ "1,1e39,0,1,1", COP_ENONFINITE, "field 2: 1e+39 is too large; expected at most 3.4e38" },
		{ "1,1e999,0,1,1", COP_ENONFINITE, "field 2: \"1e999\" is not finite; expected a finite number" },
		{ "1,2,0.5,1,1", COP_EFORMAT, "field 3: action 0.5; expected a whole number from 0 to 65535" },
		{ "1,2,-1,1,1", COP_EFORMAT, "field 3: action -1; expected a whole number from 0 to 65535" },
		{ "1,2,65536,1,1", COP_EFORMAT, "field 3: action 65536; expected a whole number from 0 to 65535" },
		{ "1,2,up,1,1", COP_EFORMAT, "field 3: \"up\" is not a number; expected a finite number" },
		{ "1,2,0,0,1", COP_EFORMAT, "field 4: probability 0; expected 1e-06 to 1" },
		{ "1,2,0,1e-9,1", COP_EFORMAT, "field 4: probability 1e-09; expected 1e-06 to 1" },
		{ "1,2,0,7,1", COP_EFORMAT, "field 4: probability 7; expected 1e-06 to 1" },
		{ "1,2,0,-0.5,1", COP_EFORMAT, "field 4: probability -0.5; expected 1e-06 to 1" },
		{ "1,2,0,,1", COP_EFORMAT, "field 4: it is empty; expected a finite number" },
		{ "1,2,0,inf,1", COP_ENONFINITE, "field 4: \"inf\" is not finite; expected a finite number" },
		{ "1,2,0,1,-inf", COP_ENONFINITE, "field 5: \"-inf\" is not finite; expected a finite number" },
		{ "1,2,0,1,1e7", COP_EFORMAT, "field 5: cost 1e+07; expected at most 1e+06 in size" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int dense = 0; dense < 2; dense++)
			for (int at = 0; at < 2; at++) { /* the first row, or a later one */
				char all[256];
				(void)snprintf(all, sizeof all, "a,b,action,probability,cost\n%s%s\n1,2,3,1,1\n",
				        at == 0 ? "" : "5,6,0,1,0\n", cases[i].row);
				if (at == 0 && i == 2)
					continue; /* a column of text, then */
				opened o = open_text(all, dense != 0, &(cop_event_reader_settings){ 0 });
				cop_logged_event event;
				cop_diag diag;
				if (at == 1)
					next_event(&o, &event);
				cop_err err = cop_event_reader_next(o.reader, &event, &diag);
				if (at == 0 && i == 3) {
					assert_int_equal(err, COP_EFORMAT);
				} else if (err != cases[i].err || strcmp(diag.message, cases[i].says) != 0) {
					fail_msg("%s: %d \"%s\"", cases[i].row, (int)err, diag.message);
				}
				assert_int_equal(diag.line, at + 2);
				next_event(&o, &event);
				assert_true(event.labelled && event.action == 3 && event.features == 3);
				if (dense)
					check_row(&event.x, 2, (const float[]){ 1, 2 });
				no_event(&o);
				close_opened(&o);
			}
}

static void test_csv_rows_without_action_or_cost_are_unlabelled(void **state)
{
	(void)state;
	opened o = open_plain("a,action,probability,cost\n1,,0.5,1\n2,1,0.5,\n3,1,0.5,1\n4,,,\n");
	cop_logged_event event;
	for (int i = 1; i <= 4; i++) {
		next_event(&o, &event);
		assert_true(event.labelled == (i == 3) && event.learn == (i == 3));
		check_row(&event.x, 1, (const float[]){ (float)i });
	}
	no_event(&o);
	close_opened(&o);
}

static void test_csv_without_probabilities_takes_the_assumed_one(void **state)
{
	(void)state;
	cop_event_reader_settings settings = { .assumed_probability = 0.125 };
	cop_logged_event event;
	opened o = open_text("a,action,cost\n1,0,1\n", true, &settings);
	next_event(&o, &event);
	assert_true(event.p == 0.125 && event.cost == 1);
	close_opened(&o);
	o = open_text("a,action,cost,propensity\n1,0,1,\n1,0,1,0.5\n", true, &settings);
	next_event(&o, &event);
	assert_true(event.p == 0.125);
	next_event(&o, &event);
	assert_true(event.p == 0.5);
	close_opened(&o);
}

static void test_csv_of_no_rows_has_no_events(void **state)
{
	(void)state;
	static const char *const texts[] = { "", "\n \n", "a,action,probability,cost\n" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		opened o = open_plain(texts[i]);
		assert_int_equal(o.err, COP_OK);
		no_event(&o);
		no_event(&o);
		close_opened(&o);
	}
}

static void test_csv_hashed_places_are_those_of_the_names(void **state)
{
	(void)state;
	opened o = open_text(
	        "age,pay,action,probability,cost\n30,0,1,1,0\n0,1e3,1,1,0\n", false, &(cop_event_reader_settings){ 0 });
	cop_logged_event event;
	next_event(&o, &event);
	assert_int_equal(event.x.nnz, 1);
	assert_true(value_of(&event.x, "", "age") == 30);
	assert_int_equal(event.features, 2);
	next_event(&o, &event);
	assert_int_equal(event.x.nnz, 1);
	assert_true(value_of(&event.x, "", "pay") == 1000);
	close_opened(&o);
}

static void test_csv_columns_of_text_are_categories(void **state)
{
	(void)state;
	static const char text[] = "age,town,action,probability,cost\n"
	                           "30,Oslo,1,1,0\n"
	                           "31,\"Rio, RJ\",1,1,0\n"
	                           "32,,1,1,0\n"
	                           "33,7,1,1,0\n"
	                           "34, Oslo ,1,1,0\n"
	                           "Oslo,Oslo,1,1,0\n"
	                           "36,nan,1,1,0\n";
	static const char *const names[] = { "town=Oslo", "town=Rio, RJ", NULL, "town=7", "town=Oslo", NULL,
		"town=nan" };
	for (int dense = 0; dense < 2; dense++) {
		opened o = open_text(text, dense != 0, &(cop_event_reader_settings){ 0 });
		for (size_t i = 0; i < 7; i++) {
			cop_logged_event event;
			cop_diag diag;
			if (i == 5) { /* a column of numbers stays one */
				assert_int_equal(cop_event_reader_next(o.reader, &event, &diag), COP_EFORMAT);
				assert_string_equal(
				        diag.message, "field 1: \"Oslo\" is not a number; expected a finite number");
				continue;
			}
			next_event(&o, &event);
			assert_int_equal(event.features, names[i] == NULL ? 2 : 3);
			for (size_t k = 0; dense && k < event.x.d; k++) {
				const char *column = cop_feature_space_column(o.space, k);
				float expected = strcmp(column, "age") == 0                          ? 30 + (float)i
				                 : names[i] != NULL && strcmp(column, names[i]) == 0 ? 1
				                                                                     : 0;
				assert_true(event.x.dense[k] == expected);
			}
			if (!dense && names[i] != NULL)
				assert_true(value_of(&event.x, "", names[i]) == 1);
		}
		assert_int_equal(cop_feature_space_dimension(o.space), dense ? 5 : 1 << COP_FEATURE_SPACE_BITS);
		close_opened(&o);
	}
}

/* A file of that text; the name is static. */
static const char *file_of(const char *text)
{
	static char path[] = "items-of-test-event-csv.tmp";
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	return path;
}

static void test_csv_items_become_candidates(void **state)
{
	(void)state;
	cop_event_reader_settings settings = { .columns = { .items = file_of("1,0,2.5\n0,3,0\n0,0,0\n") } };
	for (int dense = 0; dense < 2; dense++) {
		opened o = open_text("1,2,1,0.5,1\n3,0,2,0.5,1\n3,0,3,0.5,1\n1,0,0,0.5,1\n", dense != 0, &settings);
		cop_logged_event event;
		next_event(&o, &event);
		assert_int_equal(event.candidates, 3);
		assert_int_equal(event.features, 3 + 3 * (2 + 1));
		if (dense) {
			check_row(&event.x, 2, (const float[]){ 1, 2 });
			check_row(&event.candidate[0], 3, (const float[]){ 1, 0, 2.5F });
			check_row(&event.candidate[2], 3, (const float[]){ 0, 0, 0 });
		} else {
			assert_int_equal(event.candidate[0].nnz, 2);
			assert_true(value_of(&event.candidate[0], "item", "x2") == 2.5);
			assert_true(value_of(&event.candidate[1], "item", "x1") == 3);
			assert_int_equal(event.candidate[2].nnz, 0);
		}
		next_event(&o, &event);
		assert_int_equal(event.features, 3 + 3 * (1 + 1));
		assert_int_equal(event.action, 2);
		cop_diag diag;
		assert_int_equal(cop_event_reader_next(o.reader, &event, &diag), COP_EFORMAT);
		assert_string_equal(diag.message, "field 3: action 3; expected one of 3 candidates");
		next_event(&o, &event);
		no_event(&o);
		close_opened(&o);
	}
	static const char *const wrong[] = { "", "1,x\n", "a,b\n1,c\n", "1,2\n1\n", "1e39,1\n" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		settings.columns.items = file_of(wrong[i]);
		opened o = open_text("1,2,1,0.5,1\n", true, &settings);
		assert_int_equal(o.err, COP_EFORMAT);
		assert_true(o.diag.message[0] != '\0');
		close_opened(&o);
	}
	(void)unlink(settings.columns.items);
}

static void test_csv_of_a_space_that_knows_other_columns_goes_by_name(void **state)
{
	(void)state;
	cop_feature_space_settings space_settings = { .dense = true };
	cop_event_reader_settings settings = { 0 };
	assert_int_equal(cop_feature_space_new(&space_settings, &settings.space, NULL), COP_OK);
	static const char *const texts[] = { "b,a,action,probability,cost\n1,2,0,1,0\n3,4,0,1,0\n",
		"a,c,b,action,probability,cost\n2,9,1,0,1,0\n4,9,3,0,1,0\n" };
	for (size_t i = 0; i < 2; i++) {
		cop_event_reader *reader;
		cop_stream *stream;
		cop_logged_event event;
		assert_int_equal(cop_stream_open_memory("t.csv", texts[i], strlen(texts[i]), &stream, NULL), COP_OK);
		assert_int_equal(cop_event_format_csv.create(&stream, &settings, &reader, NULL), COP_OK);
		assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_OK);
		check_row(&event.x, 2, (const float[]){ 1, 2 });
		assert_int_equal(event.features, 3 + i);
		assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_OK);
		check_row(&event.x, 2, (const float[]){ 3, 4 });
		cop_event_reader_free(reader);
		cop_feature_space_freeze(settings.space);
	}
	cop_feature_space_free(settings.space);
}

static void test_csv_open_bandit_sample_is_read_end_to_end(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		double clicks, least, most;
	} logs[] = { { "obd_random_men", 46, 1.0 / 34 - 1e-9, 1.0 / 34 + 1e-9 },
		{ "obd_bts_men", 69, 0.000165, 0.72529 } };
	const char *folder = cop_test_data_folder();
	if (folder == NULL) {
		print_message("COPPICE_DATA is not set: nothing was tried\n");
		skip();
	}
	for (size_t i = 0; i < 2; i++) {
		char path[512], items[512];
		cop_feature_space_settings space_settings = { .dense = true };
		cop_event_reader_settings settings = { .columns = { .reward = true, .items = items } };
		cop_event_reader *reader;
		cop_logged_event event;
		size_t events = 0;
		double clicks = 0;
		(void)snprintf(path, sizeof path, "%s/%s.log.csv.gz", folder, logs[i].file);
		(void)snprintf(items, sizeof items, "%s/obd_men.items.csv.gz", folder);
		assert_int_equal(cop_feature_space_new(&space_settings, &settings.space, NULL), COP_OK);
		assert_int_equal(
		        cop_event_reader_open(cop_event_reader_format("csv"), path, &settings, &reader, NULL), COP_OK);
		while (cop_event_reader_next(reader, &event, NULL) == COP_OK) {
			assert_true(event.labelled && event.x.d == 61 && event.candidates == 34);
			assert_true(event.candidate[33].d == 28 && event.action < 34);
			assert_true(event.p >= logs[i].least && event.p <= logs[i].most);
			clicks += 1 - event.cost;
			events++;
		}
		assert_int_equal(events, 10000);
		assert_true(fabs(clicks - logs[i].clicks) < 1e-9);
		cop_event_reader_free(reader);
		cop_feature_space_free(settings.space);
	}
}

static cop_err read_all(bool dense, const char *items)
{
	static const char text[] =
	        "a,town,action,probability,cost\n1,Oslo,1,1,1\n1,a much longer name of a town,0,1,1\n";
	cop_feature_space_settings space_settings = { .dense = dense };
	cop_event_reader_settings settings = { .columns = { .items = items } };
	cop_event_reader *reader = NULL;
	cop_stream *stream = NULL;
	cop_logged_event event;
	size_t events = 0;
	cop_err err = cop_feature_space_new(&space_settings, &settings.space, NULL);
	if (err == COP_OK)
		err = cop_stream_open_memory("t", text, sizeof text - 1, &stream, NULL);
	if (err == COP_OK)
		err = cop_event_format_csv.create(&stream, &settings, &reader, NULL);
	for (; err == COP_OK; events++)
		err = cop_event_reader_next(reader, &event, NULL);
	cop_event_reader_free(reader);
	cop_feature_space_free(settings.space);
	if (err == COP_EEND)
		assert_int_equal(events, 3);
	return err == COP_EEND ? COP_OK : err;
}

static void test_csv_events_without_memory_fail_cleanly(void **state)
{
	(void)state;
	const char *items = file_of("1,2\n3,4\n");
	for (int dense = 0; dense < 2; dense++)
		for (int forever = 0; forever < 2; forever++) {
			unsigned long n = 1;
			size_t passed_over = 0;
			for (;; n++) {
				cop_test_alloc_fail(n, forever);
				cop_err err = read_all(dense != 0, items);
				cop_test_alloc_fail(0, 0);
				assert_true(err == COP_OK || err == COP_ENOMEM);
				if (!cop_test_alloc_failed())
					break;
				passed_over += err == COP_OK;
			}
			/* what only makes rows faster may go without */
			assert_true(passed_over <= (dense || forever ? 0 : 4));
			assert_true(n > 15);
		}
	(void)unlink(items);
}

/* The largest costs, and the only candidate. */
static void test_csv_events_at_the_ends_of_what_is_allowed_are_read(void **state)
{
	(void)state;
	cop_logged_event event;
	opened o = open_plain("1,0,1,1e6\n1,0,1e-6,-1e6\n1,65535,1,0\n");
	for (int k = 0; k < 3; k++) {
		next_event(&o, &event);
		assert_true(event.action == (k == 2 ? 65535 : 0) && event.p == (k == 1 ? 1e-6 : 1.0));
	}
	no_event(&o);
	close_opened(&o);
	const char *items = file_of("1,2\n");
	cop_diag diag;
	o = open_text("a,action,cost,probability\n1,0,1,1\n1,1,1,1\n", true,
	        &(cop_event_reader_settings){ .columns = { .items = items } });
	next_event(&o, &event);
	assert_int_equal(event.candidates, 1);
	assert_int_equal(cop_event_reader_next(o.reader, &event, &diag), COP_EFORMAT);
	assert_string_equal(diag.message, "field 2: action 1; expected one of 1 candidates");
	close_opened(&o);
	(void)unlink(items);
}

/* A word that came with a wrong label brings no column. */
static void test_csv_words_of_a_refused_row_are_forgotten(void **state)
{
	(void)state;
	cop_logged_event event;
	cop_diag diag;
	opened o = open_plain("kind,action,cost,probability\nred,0,1,1\nblue,0,1,2\nred,1,1,1\ngreen,1,1,1\n");
	next_event(&o, &event);
	assert_int_equal(cop_event_reader_next(o.reader, &event, &diag), COP_EFORMAT);
	next_event(&o, &event);
	assert_int_equal(cop_feature_space_dimension(o.space), 1);
	next_event(&o, &event);
	assert_int_equal(cop_feature_space_dimension(o.space), 2);
	no_event(&o);
	close_opened(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv_events_by_the_usual_columns_are_read),
		cmocka_unit_test(test_csv_events_by_named_columns_are_read),
		cmocka_unit_test(test_csv_columns_of_one_name_go_by_their_places),
		cmocka_unit_test(test_csv_columns_that_make_no_sense_are_refused),
		cmocka_unit_test(test_csv_rows_that_are_wrong_cost_only_themselves),
		cmocka_unit_test(test_csv_rows_without_action_or_cost_are_unlabelled),
		cmocka_unit_test(test_csv_without_probabilities_takes_the_assumed_one),
		cmocka_unit_test(test_csv_of_no_rows_has_no_events),
		cmocka_unit_test(test_csv_hashed_places_are_those_of_the_names),
		cmocka_unit_test(test_csv_columns_of_text_are_categories),
		cmocka_unit_test(test_csv_items_become_candidates),
		cmocka_unit_test(test_csv_of_a_space_that_knows_other_columns_goes_by_name),
		cmocka_unit_test(test_csv_open_bandit_sample_is_read_end_to_end),
		cmocka_unit_test(test_csv_events_without_memory_fail_cleanly),
		cmocka_unit_test(test_csv_events_at_the_ends_of_what_is_allowed_are_read),
		cmocka_unit_test(test_csv_words_of_a_refused_row_are_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
