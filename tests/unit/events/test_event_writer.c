#include "events/event_writer.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "events/event_reader.h"
#include "unit/events/some_events.h"

#define EVENTS 300

static char folder[] = "/tmp/test_event_writer_XXXXXX";
static char path[128];

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(path, sizeof path, "%s/log", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static void must(cop_err err, const cop_diag *diag)
{
	if (err != COP_OK)
		fail_msg("%d %s: %s", (int)err, diag->source, diag->message);
}

static cop_event_writer *open_writer(const char *format, const cop_event_writer_settings *settings)
{
	static const cop_event_writer_settings plain;
	cop_stream *stream;
	cop_event_writer *writer;
	cop_diag diag;
	must(cop_stream_open_write(path, &stream, &diag), &diag);
	must(cop_event_writer_new(
	             cop_event_writer_find(format), &stream, settings != NULL ? settings : &plain, &writer, &diag),
	        &diag);
	assert_null(stream);
	return writer;
}

static void close_writer(cop_event_writer *writer)
{
	cop_diag diag;
	must(cop_event_writer_close(writer, &diag), &diag);
}

/* What the file holds. */
static const char *written(void)
{
	static char text[4096];
	cop_stream *stream;
	cop_diag diag;
	size_t got;
	must(cop_stream_open_read(path, &stream, &diag), &diag);
	cop_err err = cop_stream_read(stream, text, sizeof text - 1, &got);
	assert_true(err == COP_OK || err == COP_EEND);
	text[got] = '\0';
	cop_stream_free(stream);
	return text;
}

/* ---- what is written is read back ---- */

static void write_some(const char *format, unsigned kinds)
{
	some_events made;
	cop_logged_event event;
	cop_diag diag;
	cop_event_writer *writer = open_writer(format, NULL);
	some_events_init(&made, kinds, 21 + kinds);
	for (int i = 0; i < EVENTS; i++) {
		some_event(&made, &event);
		must(cop_event_writer_put(writer, &event, &diag), &diag);
	}
	assert_int_equal(cop_event_writer_events(writer), EVENTS);
	assert_true(cop_event_writer_bytes(writer) > EVENTS);
	close_writer(writer);
}

/* The text that an id becomes is a string. */
static void as_text(cop_event_id *id)
{
	char text[32];
	int64_t number;
	memcpy(&number, id->bytes, sizeof number);
	if (id->kind == COP_EVENT_ID_BINARY) {
		assert_int_equal(id->length, 6);
		(void)snprintf(text, sizeof text, "00010220ff22");
	} else if (id->kind == COP_EVENT_ID_UNSIGNED || id->kind == COP_EVENT_ID_NEGATIVE) {
		(void)snprintf(text, sizeof text, "%lld", (long long)number);
	} else {
		return;
	}
	assert_true(cop_event_id_from_bytes(id, COP_EVENT_ID_STRING, text, strlen(text)));
}

/* Vowpal Wabbit text ends with the last eligible action. */
static void cut_mask(cop_logged_event *event)
{
	while (event->mask != NULL && event->mask[event->arms - 1] == 0)
		event->arms--;
}

static void read_some(const char *format, unsigned kinds)
{
	some_events made;
	cop_logged_event event;
	cop_logged_event read;
	cop_event_reader *reader;
	cop_diag diag;
	const cop_feature_space_settings room = { .dense = (kinds & SOME_DENSE) != 0, .bits = 10 };
	cop_event_reader_settings settings = { .space = NULL };
	must(cop_feature_space_new(&room, &settings.space, &diag), &diag);
	must(cop_event_reader_open(cop_event_reader_format(format), path, &settings, &reader, &diag), &diag);
	some_events_init(&made, kinds, 21 + kinds);
	for (int i = 0; i < EVENTS; i++) {
		some_event(&made, &event);
		must(cop_event_reader_next(reader, &read, &diag), &diag);
		as_text(&event.id);
		cut_mask(&event);
		assert_true(fabs(read.weight - event.weight) <= 1e-15 * event.weight);
		read.weight = event.weight;
		assert_same_event(&read, &event);
	}
	assert_int_equal(cop_event_reader_next(reader, &read, &diag), COP_EEND);
	if ((kinds & SOME_DENSE) != 0)
		assert_string_equal(cop_feature_space_column(settings.space, SOME_D - 1), "x16");
	cop_event_reader_free(reader);
	cop_feature_space_free(settings.space);
}

static void check_format(const char *format, unsigned all)
{
	for (unsigned kinds = 0; kinds <= SOME_ALL; kinds++) {
		bool masked_candidates = (kinds & SOME_MASKS) != 0 && (kinds & SOME_CANDIDATES) != 0;
		if ((kinds & ~all) != 0 || masked_candidates)
			continue;
		write_some(format, kinds);
		read_some(format, kinds);
	}
}

static void test_vw_text_of_random_events_is_read_back_equal(void **state)
{
	(void)state;
	check_format("vw", SOME_DENSE | SOME_CANDIDATES | SOME_UNLABELLED | SOME_IDS | SOME_OTHER_IDS | SOME_MASKS);
}

static void test_dsjson_of_random_events_is_read_back_equal(void **state)
{
	(void)state;
	check_format("dsjson", SOME_ALL & ~(unsigned)SOME_MASKS);
}

static void test_csv_of_random_events_is_read_back_equal(void **state)
{
	(void)state;
	write_some("csv", SOME_DENSE);
	read_some("csv", SOME_DENSE);
}

/* ---- the text itself ---- */

static const float two[2] = { 1.0f, 0.5f };
static const uint32_t places[2] = { 3, 70000 };
static const cop_row sparse = { .d = 1 << 18, .nnz = 2, .index = places, .value = two };
static const cop_row dense = { .d = 2, .dense = two };

static cop_logged_event labelled(const cop_row *x)
{
	return (cop_logged_event){
		.line = 9, .x = *x, .labelled = true, .learn = true, .action = 2, .cost = -1.5, .p = 0.1, .weight = 1.0
	};
}

/* The text of one event. */
static const char *text_of(const char *format, const cop_event_writer_settings *settings, const cop_logged_event *event)
{
	cop_diag diag;
	cop_event_writer *writer = open_writer(format, settings);
	must(cop_event_writer_put(writer, event, &diag), &diag);
	close_writer(writer);
	return written();
}

static void test_event_of_arms_is_one_line_in_every_format(void **state)
{
	(void)state;
	cop_logged_event event = labelled(&sparse);
	assert_true(cop_event_id_from_bytes(&event.id, COP_EVENT_ID_STRING, "u1-17", 5));
	assert_string_equal(text_of("vw", NULL, &event), "3:-1.5:0.1 'u1-17| 3 70000:0.5\n");
	assert_string_equal(text_of("dsjson", NULL, &event),
	        "{\"_label_cost\":-1.5,\"_label_probability\":0.1,\"_label_Action\":3,\"_labelIndex\":2,"
	        "\"EventId\":\"u1-17\",\"a\":[3],\"c\":{\"3\":1,\"70000\":0.5}}\n");
	event.x = dense;
	assert_string_equal(text_of("vw", NULL, &event), "3:-1.5:0.1 'u1-17| x0 x1:0.5\n");
	assert_string_equal(text_of("csv", NULL, &event), "x0,x1,action,probability,cost\n1,0.5,2,0.1,-1.5\n");
}

static void test_event_of_candidates_is_several_lines_of_vw(void **state)
{
	(void)state;
	const cop_row candidates[3] = { sparse, { .d = 1 << 18 }, sparse };
	cop_logged_event event = labelled(&sparse);
	event.candidates = 3;
	event.candidate = candidates;
	cop_event_id_from_unsigned(&event.id, 17);
	assert_string_equal(
	        text_of("vw", NULL, &event), "shared '17| 3 70000:0.5\n| 3 70000:0.5\n|\n0:-1.5:0.1 | 3 70000:0.5\n\n");
	assert_string_equal(text_of("dsjson", NULL, &event),
	        "{\"_label_cost\":-1.5,\"_label_probability\":0.1,\"_label_Action\":3,\"_labelIndex\":2,"
	        "\"EventId\":\"17\",\"a\":[3,1,2],\"c\":{\"3\":1,\"70000\":0.5,\"_multi\":[{\"3\":1,\"70000\":0.5},{},"
	        "{\"3\":1,\"70000\":0.5}]}}\n");
}

static void test_event_without_label_has_none_in_the_text(void **state)
{
	(void)state;
	const cop_row candidates[2] = { { .d = 8 }, { .d = 8 } };
	cop_logged_event event = { .x = { .d = 8 }, .weight = 1 };
	assert_string_equal(text_of("vw", NULL, &event), "|\n");
	assert_string_equal(text_of("dsjson", NULL, &event), "{\"c\":{}}\n");
	event.candidates = 2;
	event.candidate = candidates;
	assert_string_equal(text_of("vw", NULL, &event), "shared |\n|\n|\n\n");
	assert_string_equal(text_of("dsjson", NULL, &event), "{\"a\":[1,2],\"c\":{\"_multi\":[{},{}]}}\n");
}

/* Columns age, user^town, item^price, user^sex. */
static cop_feature_space *some_space(void)
{
	cop_feature_space *space;
	cop_feature_room room = { .used = 0 };
	cop_feature_span span;
	size_t features;
	cop_diag diag;
	const cop_feature_space_settings settings = { .dense = true };
	must(cop_feature_space_new(&settings, &space, &diag), &diag);
	cop_feature_space_begin(space);
	cop_feature_space_put(space, "age", 3, 1.0);
	cop_feature_space_namespace(space, "user", 4, 1.0);
	cop_feature_space_put(space, "town", 4, 1.0);
	cop_feature_space_namespace(space, "item", 4, 1.0);
	cop_feature_space_put(space, "price", 5, 1.0);
	cop_feature_space_namespace(space, "user", 4, 1.0);
	cop_feature_space_put(space, "sex", 3, 1.0);
	must(cop_feature_space_end(space, &room, &span, &features), &diag);
	cop_feature_room_fini(&room);
	return space;
}

static void test_columns_of_a_space_keep_namespace_and_name(void **state)
{
	(void)state;
	float x[4] = { 31, 1, 0, 2 };
	cop_feature_space *space = some_space();
	cop_event_writer_settings settings = { .space = space };
	const cop_row row = { .d = 4, .dense = x };
	cop_logged_event event = labelled(&row);
	assert_string_equal(
	        text_of("vw", &settings, &event), "3:-1.5:0.1 | age:31 |user town |item price:0 |user sex:2\n");
	assert_non_null(strstr(text_of("dsjson", &settings, &event),
	        "\"c\":{\"age\":31,\"user\":{\"town\":1,\"sex\":2},\"item\":{\"price\":0}}}\n"));
	assert_string_equal(text_of("csv", &settings, &event),
	        "age,user^town,item^price,user^sex,action,probability,cost\n31,1,0,2,2,0.1,-1.5\n");
	settings.drop_zeros = true;
	assert_string_equal(text_of("vw", &settings, &event), "3:-1.5:0.1 | age:31 |user town sex:2\n");
	assert_non_null(
	        strstr(text_of("dsjson", &settings, &event), "\"c\":{\"age\":31,\"user\":{\"town\":1,\"sex\":2}}}\n"));
	memset(x, 0, sizeof x);
	assert_string_equal(text_of("vw", &settings, &event), "3:-1.5:0.1 |\n");
	assert_non_null(strstr(text_of("dsjson", &settings, &event), "\"c\":{}}\n"));
	cop_feature_space_free(space);
}

static void test_dense_rows_may_grow_but_not_in_csv(void **state)
{
	(void)state;
	cop_diag diag;
	cop_logged_event event = labelled(&(cop_row){ .d = 1, .dense = two });
	cop_event_writer *writer = open_writer("vw", NULL);
	must(cop_event_writer_put(writer, &event, &diag), &diag);
	event.x.d = 2;
	must(cop_event_writer_put(writer, &event, &diag), &diag);
	close_writer(writer);
	assert_string_equal(written(), "3:-1.5:0.1 | x0\n3:-1.5:0.1 | x0 x1:0.5\n");
	writer = open_writer("csv", NULL);
	event.x.d = 1;
	must(cop_event_writer_put(writer, &event, &diag), &diag);
	event.x.d = 2;
	assert_int_equal(cop_event_writer_put(writer, &event, &diag), COP_EINVAL);
	close_writer(writer);
}

/* ---- what cannot be said ---- */

static void assert_refused(const char *format, const cop_event_writer_settings *settings, const cop_logged_event *event,
        const char *expected)
{
	static const cop_row plain = { .d = 2, .dense = two };
	cop_diag diag;
	cop_event_writer *writer = open_writer(format, NULL);
	cop_logged_event good = labelled(&plain);
	must(cop_event_writer_put(writer, &good, &diag), &diag);
	if (settings != NULL) { /* another writer, since names are a writer's */
		cop_event_writer_abandon(writer);
		writer = open_writer(format, settings);
	}
	size_t before = cop_event_writer_bytes(writer);
	assert_int_equal(cop_event_writer_put(writer, event, &diag), COP_EINVAL);
	assert_string_equal(diag.source, path);
	if (strstr(diag.message, expected) == NULL || strstr(diag.message, "line 9") == NULL)
		fail_msg("%s", diag.message);
	assert_int_equal(cop_event_writer_bytes(writer), before);
	if (settings == NULL)
		must(cop_event_writer_put(writer, &good, &diag), &diag);
	close_writer(writer);
}

static void test_what_a_format_cannot_say_is_refused_without_a_trace(void **state)
{
	(void)state;
	static const uint8_t mask[3] = { 1, 0, 1 };
	cop_logged_event event = labelled(&dense);
	event.mask = mask;
	event.arms = 3;
	assert_string_equal(text_of("vw", NULL, &event), "1 3:-1.5:0.1 | x0 x1:0.5\n");
	event.mask = mask + 1;
	event.arms = 2;
	event.action = 1;
	assert_refused("vw", NULL, &event, "1 action was eligible");
	event.candidates = 1;
	event.candidate = &dense;
	assert_refused("vw", NULL, &event, "candidates are eligible");
	event.candidates = 0;
	assert_refused("dsjson", NULL, &event, "eligible");
	assert_refused("csv", NULL, &event, "eligible");
	event = labelled(&dense);
	event.weight = 2.0;
	assert_refused("vw", NULL, &event, "weight (2)");
	assert_refused("csv", NULL, &event, "weight (2)");
	event.weight = 0.5;
	assert_refused("dsjson", NULL, &event, "weight below 1");
	event = labelled(&dense);
	event.learn = false;
	assert_refused("vw", NULL, &event, "not to be learned");
	assert_refused("csv", NULL, &event, "not to be learned");
	event = labelled(&dense);
	event.candidates = 1;
	event.candidate = &dense;
	assert_refused("csv", NULL, &event, "candidates");
	event = labelled(&sparse);
	assert_refused("csv", NULL, &event, "sparse");
	event = labelled(&dense);
	assert_true(cop_event_id_from_bytes(&event.id, COP_EVENT_ID_STRING, "a b", 3));
	assert_refused("vw", NULL, &event, "\"a b\"");
}

static void assert_name(const char *format, const char *name, const char *expected)
{
	const char *const names[2] = { "fine", name };
	cop_event_writer_settings settings = { .names = names, .name_count = 2 };
	cop_logged_event event = labelled(&dense);
	if (expected == NULL)
		assert_refused(format, &settings, &event, name);
	settings.rename = expected == NULL;
	const char *text = text_of(format, &settings, &event);
	if (expected != NULL && strstr(text, expected) == NULL)
		fail_msg("%s", text);
}

static void test_names_are_escaped_quoted_or_refused(void **state)
{
	(void)state;
	assert_name("vw", "caf\xc3\xa9^x", " caf\xc3\xa9^x:0.5");
	assert_name("vw", "a b", NULL);
	assert_name("vw", "a:b", NULL);
	assert_name("vw", "a|b", NULL);
	assert_name("vw", "a\tb", NULL);
	assert_name("dsjson", "say \"a\\b\"\n", ",\"say \\\"a\\\\b\\\"\\u000a\":0.5}");
	assert_name("dsjson", "_tag", NULL);
	assert_name("dsjson", "caf\xc3\xa9", ",\"caf\xc3\xa9\":0.5}");
	assert_name("dsjson", "caf\xe9", NULL);
	assert_name("dsjson", "caf\xc3", NULL);
	assert_name("csv", "a,b", "fine,\"a,b\",action");
	assert_name("csv", " a", "fine,\" a\",action");
	assert_name("csv", "cost", NULL);
	assert_name("csv", "a\"b", NULL);
	assert_name("csv", "a\nb", NULL);
}

static void test_renamed_characters_are_underscores(void **state)
{
	(void)state;
	static const char *const names[2] = { "a:b c|d", "x" };
	const cop_event_writer_settings settings = { .names = names, .name_count = 2, .rename = true };
	cop_logged_event event = labelled(&dense);
	assert_true(cop_event_id_from_bytes(&event.id, COP_EVENT_ID_STRING, "a b", 3));
	assert_string_equal(text_of("vw", &settings, &event), "3:-1.5:0.1 'a_b| a_b_c_d x:0.5\n");
	static const char *const latin[2] = { "caf\xe9", "\xff\xc3\xa9" };
	const cop_event_writer_settings of_latin = { .names = latin, .name_count = 2, .rename = true };
	const char *text = text_of("dsjson", &of_latin, &event);
	if (strstr(text, "\"caf_\":") == NULL || strstr(text, "\"_\xc3\xa9\":0.5}") == NULL)
		fail_msg("%s", text);
}

static void test_format_of_another_name_is_none(void **state)
{
	(void)state;
	assert_null(cop_event_writer_find("journal"));
	assert_null(cop_event_writer_find(""));
	assert_non_null(cop_event_writer_find("vw"));
}

static void test_write_that_fails_is_told(void **state)
{
	(void)state;
	cop_stream *stream;
	cop_event_writer *writer;
	cop_diag diag;
	const cop_event_writer_settings settings = { .rename = false };
	cop_logged_event event = labelled(&dense);
	if (access("/dev/full", W_OK) != 0)
		skip();
	must(cop_stream_open_write("/dev/full", &stream, &diag), &diag);
	must(cop_event_writer_new(cop_event_writer_find("vw"), &stream, &settings, &writer, &diag), &diag);
	must(cop_event_writer_put(writer, &event, &diag), &diag);
	assert_int_equal(cop_event_writer_close(writer, &diag), COP_EIO);
	assert_string_equal(diag.source, "/dev/full");
}

/* False when memory was short somewhere. */
static bool write_and_close(const char *format, const cop_event_writer_settings *settings, unsigned kinds)
{
	some_events made;
	cop_logged_event event;
	cop_stream *stream;
	cop_event_writer *writer = NULL;
	cop_diag diag;
	some_events_init(&made, kinds, 2);
	cop_err err = cop_stream_open_write(path, &stream, &diag);
	if (err == COP_OK)
		err = cop_event_writer_new(cop_event_writer_find(format), &stream, settings, &writer, &diag);
	for (int i = 0; i < 40 && err == COP_OK; i++) {
		some_event(&made, &event);
		err = cop_event_writer_put(writer, &event, &diag);
	}
	if (err == COP_OK)
		err = cop_event_writer_close(writer, &diag);
	else
		cop_event_writer_abandon(writer);
	assert_true(err == COP_OK || err == COP_ENOMEM);
	return err == COP_OK;
}

static void test_failed_allocations_are_reported(void **state)
{
	(void)state;
	static const struct {
		const char *format;
		unsigned kinds;
	} rows[] = { { "vw", SOME_DENSE | SOME_CANDIDATES }, { "dsjson", SOME_CANDIDATES }, { "csv", SOME_DENSE } };
	cop_feature_space *space = some_space();
	const cop_event_writer_settings settings = { .space = space };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool whole = false;
		for (unsigned long n = 1; !whole; n++) {
			cop_test_alloc_fail(n, 0);
			whole = write_and_close(rows[i].format, &settings, rows[i].kinds);
			cop_test_alloc_fail(0, 0);
		}
	}
	cop_feature_space_free(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vw_text_of_random_events_is_read_back_equal),
		cmocka_unit_test(test_dsjson_of_random_events_is_read_back_equal),
		cmocka_unit_test(test_csv_of_random_events_is_read_back_equal),
		cmocka_unit_test(test_event_of_arms_is_one_line_in_every_format),
		cmocka_unit_test(test_event_of_candidates_is_several_lines_of_vw),
		cmocka_unit_test(test_event_without_label_has_none_in_the_text),
		cmocka_unit_test(test_columns_of_a_space_keep_namespace_and_name),
		cmocka_unit_test(test_dense_rows_may_grow_but_not_in_csv),
		cmocka_unit_test(test_what_a_format_cannot_say_is_refused_without_a_trace),
		cmocka_unit_test(test_names_are_escaped_quoted_or_refused),
		cmocka_unit_test(test_renamed_characters_are_underscores),
		cmocka_unit_test(test_format_of_another_name_is_none),
		cmocka_unit_test(test_write_that_fails_is_told),
		cmocka_unit_test(test_failed_allocations_are_reported),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
