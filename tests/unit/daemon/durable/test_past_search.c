/* Searches of a made-up journal against the plain list of what was put into it: by prefix and by id, page by page, over
 * many segments; and what became of what was found. */
#include "daemon/durable/past_search.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/durable/past_fate.h"
#include "daemon/durable/past_find.h"
#include "store/journal_writer.h"
#include "support.h"
#include "wire/wire_record.h"

#define EVENTS  600
#define SEGMENT 4096

static char folder[] = "/tmp/past_search.XXXXXX";
static uint64_t sequence; /* of the last record */
static cop_journal_writer *writer;
static cop_bytes batch, body;

static void put(cop_wire_record_type type, cop_wire_record *r)
{
	cop_bytes_clear(&batch);
	cop_bytes_clear(&body);
	r->time = (double)++sequence;
	cop_wire_record_put(&body, type, r);
	cop_journal_record_put(&batch, sequence, (uint8_t)type, body.data, body.length);
	assert_int_equal(cop_journal_writer_write(writer, batch.data, batch.length, sequence, 1, NULL), COP_OK);
}

static cop_event_id named(const char *name, unsigned i)
{
	char text[32];
	cop_event_id id;
	int n = snprintf(text, sizeof text, "%s-%u", name, i);
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, text, (size_t)n));
	return id;
}

static void decide(const char *model, cop_event_id id, uint32_t arm)
{
	static const float values[] = { 1.0f };
	cop_wire_record r = { .model = model, .model_length = 1, .id = id, .has_x = true, .a = arm, .p = 0.5 };
	r.x = (cop_row){ .d = 1, .dense = values };
	put(COP_WIRE_RECORD_DECISION, &r);
}

static void give(cop_event_id id, double loss, cop_wire_result result)
{
	cop_wire_record r = {
		.model = "m", .model_length = 1, .id = id, .loss = { loss }, .losses = 1, .result = result
	};
	put(COP_WIRE_RECORD_FEEDBACK, &r);
}

static void expire(cop_event_id id, cop_wire_outcome outcome, unsigned losses)
{
	cop_bytes items;
	cop_bytes_init(&items);
	const cop_wire_settlement s = { .id = id, .outcome = outcome, .loss = { 0.125 }, .losses = losses };
	cop_wire_settled_add(&items, &s);
	cop_wire_record r = {
		.model = "m", .model_length = 1, .settled = { .items = items.data, .length = items.length, .count = 1 }
	};
	put(COP_WIRE_RECORD_EXPIRY, &r);
	cop_bytes_fini(&items);
}

static int make(void **state)
{
	const cop_journal_settings settings = { .segment_bytes = SEGMENT, .model_set = "", .model_set_length = 0 };
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/past_search.XXXXXX");
	sequence = 0;
	cop_bytes_init(&batch);
	cop_bytes_init(&body);
	return mkdtemp(folder) == NULL || cop_journal_writer_open(folder, &settings, 1, &writer, NULL) != COP_OK;
}

static int drop(void **state)
{
	char command[64];
	(void)state;
	cop_bytes_fini(&batch);
	cop_bytes_fini(&body);
	cop_err err = cop_journal_writer_close(writer, NULL);
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return err != COP_OK || system(command) != 0; // NOLINT(cert-env33-c)
}

static cop_past_search_wanted all_of(const char *prefix, size_t limit)
{
	return (cop_past_search_wanted){
		.folder = folder, .model = "m", .prefix = prefix, .limit = limit, .records = UINT64_MAX
	};
}

static void fill(void)
{
	for (unsigned i = 0; i < EVENTS; i++)
		decide(i % 3 == 2 ? "n" : "m", named(i % 2 ? "odd" : "even", i), i % 7);
}

static void test_pages_are_the_list_from_its_end(void **state)
{
	static cop_past_search found;
	(void)state;
	fill();
	for (size_t limit = 1; limit <= COP_WIRE_PAST_LIMIT; limit += 33) {
		cop_past_search_wanted wanted = all_of("odd-", limit);
		unsigned next = EVENTS;
		do {
			assert_int_equal(cop_past_search_run(&wanted, &found, NULL), COP_OK);
			for (size_t i = 0; i < found.count; i++) {
				do
					next--;
				while (next % 2 == 0 || next % 3 == 2);
				const cop_event_id id = named("odd", next);
				assert_true(cop_event_id_equal(&found.found[i].id, &id));
				assert_int_equal(found.found[i].sequence, next + 1);
				assert_int_equal(found.found[i].arm, next % 7);
				assert_true(found.found[i].has_arm && found.found[i].p == 0.5);
			}
			assert_true(found.count == limit || found.more == 0);
			assert_int_equal(found.to, wanted.before == 0 ? EVENTS : wanted.before - 1);
			assert_true(found.since == (double)found.from);
			wanted.before = found.more;
		} while (found.more != 0);
		assert_int_equal(next, 1);
	}
}

static void test_work_is_bounded_and_goes_on(void **state)
{
	static cop_past_search found;
	cop_past_search_wanted wanted = all_of("none", 5);
	(void)state;
	fill();
	wanted.records = 1; /* a segment each */
	unsigned steps = 0;
	uint64_t last = EVENTS + 1;
	do {
		assert_int_equal(cop_past_search_run(&wanted, &found, NULL), COP_OK);
		assert_int_equal(found.count, 0);
		assert_int_equal(found.to, last - 1);
		assert_int_equal(found.looked, found.to - found.from + 1);
		last = found.from;
		wanted.before = found.more;
		steps++;
	} while (found.more != 0);
	assert_int_equal(last, 1);
	assert_true(steps > 5);
}

static void test_whole_ids_and_records_are_found(void **state)
{
	static cop_past_search found;
	cop_past_search_found one;
	(void)state;
	fill();
	decide("m", named("odd", 1), 6); /* again */
	cop_event_id id = named("odd", 1);
	cop_past_search_wanted wanted = all_of("", 1);
	wanted.id = &id;
	assert_int_equal(cop_past_search_run(&wanted, &found, NULL), COP_OK);
	assert_true(found.count == 1 && found.found[0].sequence == EVENTS + 1);
	assert_int_equal(cop_past_search_record(&wanted, 2, &one, NULL), COP_OK);
	assert_true(one.sequence == 2 && one.arm == 1);
	assert_int_equal(cop_past_search_record(&wanted, 1, &one, NULL), COP_ENOTFOUND); /* another id */
	wanted.id = NULL;
	assert_int_equal(cop_past_search_record(&wanted, 3, &one, NULL), COP_ENOTFOUND); /* another model */
	assert_int_equal(cop_past_search_record(&wanted, EVENTS + 2, &one, NULL), COP_ENOTFOUND);
	cop_diag diag = { 0 };
	wanted.folder = "/nowhere";
	assert_int_equal(cop_past_search_run(&wanted, &found, &diag), COP_ENOTFOUND);
	assert_true(diag.message[0] != '\0');
}

static void test_segment_without_its_header_is_told(void **state)
{
	static cop_past_search found;
	const cop_past_search_wanted wanted = all_of("none of these", 3);
	char name[COP_JOURNAL_NAME_ROOM];
	cop_diag diag = { 0 };
	(void)state;
	fill();
	cop_journal_name(1, false, name);
	char *path = cop_journal_path(wanted.folder, name);
	assert_non_null(path);
	int file = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(file >= 0 && pwrite(file, "no header", 9, 0) == 9 && close(file) == 0);
	assert_int_equal(cop_past_search_run(&wanted, &found, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.source, name));
	cop_mem_free(path);
}

static void test_empty_journal_has_nothing(void **state)
{
	static cop_past_search found;
	const cop_past_search_wanted wanted = all_of("", 3);
	(void)state;
	assert_int_equal(cop_past_search_run(&wanted, &found, NULL), COP_OK);
	assert_true(found.count == 0 && found.looked == 0 && found.to == 0 && found.more == 0);
}

static void test_fates_are_those_that_the_records_tell(void **state)
{
	enum { GIVEN, LATER, OPEN, AGAIN, OVER, FATES };
	const cop_event_id ids[] = { named("a", 1), named("a", 2), named("a", 3), named("a", 4), named("a", 4) };
	cop_past_fate fates[FATES] = { 0 };
	(void)state;
	for (unsigned i = 0; i < AGAIN; i++)
		decide("m", ids[i], 0);
	decide("m", ids[OVER], 0); /* record 4 */
	fill();
	give(ids[LATER], 0.25, COP_WIRE_RECORDED);
	give(ids[GIVEN], 0.5, COP_WIRE_APPLIED);
	give(ids[GIVEN], 0.75, COP_WIRE_DUPLICATE); /* has ended */
	expire(ids[LATER], COP_WIRE_OUTCOME_RECORDED, 1);
	expire(ids[OVER], COP_WIRE_OUTCOME_UNANSWERED, 0);
	decide("m", ids[AGAIN], 0);
	const uint64_t again = sequence;
	for (unsigned i = 0; i < 2 * COP_PAST_FATE_FEEDBACK; i++)
		give(ids[AGAIN], (double)i, COP_WIRE_RECORDED);
	for (size_t i = 0; i < FATES; i++)
		fates[i] = (cop_past_fate){ .id = ids[i], .stored = "m", .sequence = i + 1 };
	fates[AGAIN].sequence = again;
	fates[OVER].sequence = 4;
	assert_int_equal(cop_past_fate_follow(folder, fates, FATES, UINT64_MAX, NULL), COP_OK);
	assert_string_equal(fates[GIVEN].how, "feedback");
	assert_true(fates[GIVEN].losses == 1 && fates[GIVEN].loss[0] == 0.5 && fates[GIVEN].feedbacks == 1);
	assert_string_equal(fates[LATER].how, "recorded");
	assert_true(fates[LATER].losses == 1 && fates[LATER].loss[0] == 0.125 && fates[LATER].feedbacks == 1);
	assert_true(fates[LATER].feedback[0].loss[0] == 0.25 && fates[LATER].time == (double)(again - 2));
	assert_true(fates[OPEN].waits && !fates[OPEN].ended);
	assert_true(fates[OVER].ended && !fates[OVER].waits);
	assert_string_equal(fates[OVER].how, "unanswered");
	assert_true(fates[AGAIN].waits);
	assert_int_equal(fates[AGAIN].feedbacks, COP_PAST_FATE_FEEDBACK);
	assert_true(fates[AGAIN].feedback[COP_PAST_FATE_FEEDBACK - 1].loss[0] == 2.0 * COP_PAST_FATE_FEEDBACK - 1.0);
	fates[OPEN] = (cop_past_fate){ .id = ids[OPEN], .sequence = 3 };
	assert_int_equal(cop_past_fate_follow(folder, &fates[OPEN], 1, 10, NULL), COP_OK);
	assert_true(!fates[OPEN].waits && !fates[OPEN].ended); /* not read to the end */
	assert_int_equal(cop_past_fate_follow(folder, NULL, 0, 10, NULL), COP_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

static bool is_of(const char *asked, const char *stored) { return cop_past_find_is_of(asked, stored, strlen(stored)); }

static void test_lives_of_a_model_are_told_apart(void **state)
{
	(void)state;
	assert_true(is_of("m", "m") && is_of("m", "m#1") && is_of("m", "m#12"));
	assert_false(is_of("m", "mm") || is_of("mm", "m#1") || is_of("m", "n#1") || is_of("", "m"));
	assert_true(is_of("m#0", "m") && is_of("m#1", "m#1") && is_of("m#12", "m#12"));
	assert_false(is_of("m#0", "m#1") || is_of("m#1", "m") || is_of("m#1", "m#12") || is_of("m#12", "m#1"));
	assert_false(is_of("m#", "m") || is_of("m#x", "m#1") || is_of("m#0", "n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives_of_a_model_are_told_apart),
		TEST(test_pages_are_the_list_from_its_end),
		TEST(test_work_is_bounded_and_goes_on),
		TEST(test_whole_ids_and_records_are_found),
		TEST(test_segment_without_its_header_is_told),
		TEST(test_empty_journal_has_nothing),
		TEST(test_fates_are_those_that_the_records_tell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
