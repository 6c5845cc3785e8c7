/* Journals of several units, written record by record; what is the unit's by the test's own book must be gone, all else
 * as it was. */
#include "history/forget.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "store/journal_keep.h"
#include "support.h"
#include "support_io.h"

#include "history_fixture.h"

#define UNIT "person-1728"

/* ---- writing ---- */

static cop_event_id text_id(const char *text)
{
	cop_event_id id;
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, text, strlen(text)));
	return id;
}

/* A record under the id, of the unit (NULL: of none). */
static cop_wire_record of(const char *model, double time, const char *id, const char *unit)
{
	cop_wire_record r = { .model = model, .model_length = strlen(model), .time = time };
	r.id = text_id(id);
	if (unit != NULL)
		r.unit = text_id(unit);
	return r;
}

static void decide(book *b, const char *model, const char *id, const char *unit)
{
	const float x[FEATURES] = { unit != NULL && strcmp(unit, UNIT) == 0 ? 1234.5f : 1.0f, 0.0f, (float)b->next };
	cop_wire_record r = of(model, (double)b->next, id, unit);
	r.x = (cop_row){ .d = FEATURES, .dense = x };
	r.has_x = true;
	r.arms = ARMS;
	r.p = 0.5;
	put(b, COP_WIRE_RECORD_DECISION, &r);
}

static void give_feedback(book *b, const char *model, const char *id)
{
	cop_wire_record r = of(model, (double)b->next, id, NULL);
	r.losses = 1;
	r.loss[0] = 0.5;
	put(b, COP_WIRE_RECORD_FEEDBACK, &r);
}

/* Feedback that brings its context. */
static void give_whole(book *b, const char *id, const char *unit, bool joined)
{
	static const float x[FEATURES] = { 77.25f };
	cop_wire_record r = of("m", (double)b->next, id, unit);
	r.x = (cop_row){ .d = FEATURES, .dense = x };
	r.has_x = true;
	r.losses = 1;
	r.p = 1.0;
	r.joined = joined;
	put(b, COP_WIRE_RECORD_FEEDBACK, &r);
}

static void note(book *b, cop_wire_record_type type, const char *id)
{
	cop_wire_record r = of("m", (double)b->next, id, NULL);
	put(b, type, &r);
}

/* Ends the ids' decisions, each without a loss, in a record of that type (of the id, where it has one). */
static void end(book *b, cop_wire_record_type type, const char *id, const char *const *ids, size_t count)
{
	cop_bytes room;
	cop_wire_record r = of("m", (double)b->next, id == NULL ? "-" : id, NULL);
	cop_bytes_init(&room);
	for (size_t i = 0; i < count; i++) {
		cop_wire_settlement is = { .outcome = COP_WIRE_OUTCOME_UNANSWERED };
		is.id = text_id(ids[i]);
		cop_wire_settled_add(&room, &is);
	}
	r.settled = (cop_wire_settled){ .items = room.data, .length = room.length, .count = count };
	if (id == NULL)
		r.id = (cop_event_id){ .kind = 0 };
	if (type == COP_WIRE_RECORD_FEEDBACK) {
		r.losses = 1;
		r.result = COP_WIRE_UNKNOWN;
	}
	put(b, type, &r);
	cop_bytes_fini(&room);
}

static void begin(book *b, uint64_t next)
{
	const cop_wire_model models[] = { told("m"), told("other") };
	open_book(b, next, models, 2);
}

/* ---- reading ---- */

static cop_forget_plan *plan_of(bool unit, const char *text, const char *model)
{
	cop_forget_plan *plan;
	const cop_forget_whom whom = { .unit = unit, .text = text, .model = model };
	assert_int_equal(cop_forget_plan_new(&whom, &plan), COP_OK);
	return plan;
}

static cop_forget_plan *scanned(bool unit, const char *text, const char *model)
{
	cop_diag diag = { .message = "" };
	cop_forget_plan *plan = plan_of(unit, text, model);
	assert_int_equal(cop_forget_scan(plan, folder, UINT64_MAX, &diag), COP_OK);
	return plan;
}

/* The fate of each record of the journal as a letter: Keep, eDited, eRased. */
static const char *fates(const cop_forget_plan *plan)
{
	static char letters[200];
	cop_journal_reader *reader;
	cop_journal_record record, out;
	cop_forget_fate fate;
	cop_bytes room;
	size_t count = 0;
	cop_bytes_init(&room);
	assert_int_equal(cop_journal_reader_open(folder, 0, false, &reader, NULL), COP_OK);
	while (cop_journal_next(reader, &record, NULL) == COP_OK) {
		assert_int_equal(cop_forget_edit(plan, &record, &room, &out, &fate), COP_OK);
		assert_int_equal(out.sequence, record.sequence);
		assert_true(fate == COP_FORGET_KEEP ? out.body == record.body : out.body == room.data);
		letters[count++] = "KDR"[fate];
	}
	letters[count] = '\0';
	cop_journal_reader_close(reader);
	cop_bytes_fini(&room);
	return letters;
}

static void check_fates(bool unit, const char *text, const char *model, const char *expected)
{
	cop_forget_plan *plan = scanned(unit, text, model);
	assert_string_equal(fates(plan), expected);
	cop_forget_plan_free(plan);
}

static bool found_in_folder(const void *what, size_t length)
{
	bool found = false;
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	while ((entry = readdir(dir)) != NULL) {
		static uint8_t data[1 << 20];
		char path[400];
		cop_stream *stream;
		size_t got = 0;
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || cop_stream_open_read(path, &stream, NULL) != COP_OK)
			continue;
		(void)!cop_stream_read(stream, data, sizeof data, &got);
		found = found || memmem(data, got, what, length) != NULL;
		cop_stream_free(stream);
	}
	(void)closedir(dir);
	return found;
}

static bool has_text(const char *text) { return found_in_folder(text, strlen(text)); }

/* ---- whose it is ---- */

static void test_forget_finds_all_records_of_a_unit(void **state)
{
	(void)state;
	book b;
	begin(&b, 1);
	decide(&b, "m", "a", UNIT);                /* 1 */
	decide(&b, "m", "b", "another");           /* 2 */
	note(&b, COP_WIRE_RECORD_UNHEARD, "a");    /* 3 */
	note(&b, COP_WIRE_RECORD_ACTIVATION, "a"); /* 4 */
	decide(&b, "other", "a", "another");       /* 5 */
	give_feedback(&b, "m", "a");               /* 6 */
	give_feedback(&b, "m", "b");               /* 7 */
	give_feedback(&b, "other", "a");           /* 8 */
	decide(&b, "other", "c", UNIT);            /* 9 */
	decide(&b, "m", "d", NULL);                /* 10 */
	give_feedback(&b, "m", "a");               /* 11, a duplicate */
	close_book(&b);
	size_t count;
	cop_forget_plan *plan = scanned(true, UNIT, NULL);
	const cop_forget_model *models = cop_forget_models(plan, &count);
	assert_int_equal(count, 2);
	assert_string_equal(models[0].name, "m");
	assert_true(models[0].decisions == 1 && models[0].feedback == 2 && models[0].activations == 1);
	assert_true(models[0].unheard == 1 && models[0].endings == 0);
	assert_true(models[0].first == 1 && models[0].last == 11);
	assert_true(models[0].first_time == 1.0 && models[0].last_time == 11.0);
	assert_string_equal(models[1].name, "other");
	assert_true(models[1].decisions == 1 && models[1].feedback == 0 && models[1].first == 9);
	assert_true(cop_forget_first(plan) == 1 && cop_forget_last(plan) == 11);
	assert_int_equal(cop_forget_unread(plan), 0);
	assert_string_equal(fates(plan), "RKRRKRKKRKR");
	cop_forget_plan_free(plan);
	check_fates(true, UNIT, "other", "KKKKKKKKRKK");
	check_fates(true, UNIT, "nosuch", "KKKKKKKKKKK");
	plan = scanned(true, "nobody", NULL);
	(void)cop_forget_models(plan, &count);
	assert_true(count == 0 && cop_forget_first(plan) == 0 && cop_forget_last(plan) == 0);
	cop_forget_plan_free(plan);
}

static void test_forget_ends_with_anothers_decision_under_the_id(void **state)
{
	(void)state;
	static const char *const a[] = { "a" };
	book b;
	begin(&b, 1);
	decide(&b, "m", "a", "another");             /* 1 */
	give_feedback(&b, "m", "a");                 /* 2 */
	decide(&b, "m", "a", UNIT);                  /* 3 */
	give_feedback(&b, "m", "a");                 /* 4 */
	decide(&b, "m", "a", UNIT);                  /* 5: its own again */
	give_feedback(&b, "m", "a");                 /* 6 */
	end(&b, COP_WIRE_RECORD_EXPIRY, NULL, a, 1); /* 7 */
	decide(&b, "m", "a", NULL);                  /* 8 */
	give_feedback(&b, "m", "a");                 /* 9 */
	end(&b, COP_WIRE_RECORD_EXPIRY, NULL, a, 1); /* 10 */
	decide(&b, "m", "a", UNIT);                  /* 11 */
	decide(&b, "m", "a", "another");             /* 12 */
	close_book(&b);
	check_fates(true, UNIT, NULL, "KKRRRRRKKKRK");
}

static void test_forget_takes_feedback_that_brings_its_context(void **state)
{
	(void)state;
	book b;
	begin(&b, 1);
	give_whole(&b, "a", UNIT, false);      /* 1 */
	give_feedback(&b, "m", "a");           /* 2 */
	give_whole(&b, "a", "another", false); /* 3: begins anew */
	give_feedback(&b, "m", "a");           /* 4 */
	decide(&b, "m", "b", UNIT);            /* 5 */
	give_whole(&b, "b", NULL, true);       /* 6: answers it */
	give_whole(&b, "b", "another", true);  /* 7 */
	give_whole(&b, "b", NULL, false);      /* 8 */
	give_whole(&b, "c", NULL, false);      /* 9 */
	close_book(&b);
	check_fates(true, UNIT, NULL, "RRKKRRRRK");
}

/* ---- endings ---- */

static void test_forget_edits_what_others_list(void **state)
{
	(void)state;
	static const char *const ids[] = { "b", "a", "c" }, *const both[] = { "b", "c" };
	book b;
	begin(&b, 1);
	decide(&b, "m", "a", UNIT);                           /* 1 */
	decide(&b, "m", "b", NULL);                           /* 2 */
	decide(&b, "m", "c", NULL);                           /* 3 */
	end(&b, COP_WIRE_RECORD_EXPIRY, NULL, ids, 3);        /* 4: loses one */
	end(&b, COP_WIRE_RECORD_EXPIRY, NULL, ids + 1, 1);    /* 5: nothing is left */
	end(&b, COP_WIRE_RECORD_FEEDBACK, "d", ids + 1, 1);   /* 6: loses its only one */
	end(&b, COP_WIRE_RECORD_ACTIVATION, "a", ids, 3);     /* 7: its own; others end */
	end(&b, COP_WIRE_RECORD_FORGOTTEN, NULL, ids, 3);     /* 8 */
	end(&b, COP_WIRE_RECORD_FORGOTTEN, NULL, ids + 1, 1); /* 9 */
	end(&b, COP_WIRE_RECORD_EXPIRY, NULL, both, 2);       /* 10 */
	close_book(&b);
	begin(&b, b.next);
	close_book(&b);
	cop_forget_plan *plan = scanned(true, UNIT, NULL);
	size_t count;
	assert_string_equal(fates(plan), "RKKDRDRDDK");
	assert_int_equal(cop_forget_models(plan, &count)->endings, 5);
	cop_journal_rewritten done;
	assert_int_equal(cop_forget_erase(plan, folder, &done, NULL), COP_OK);
	assert_int_equal(done.records, 7);
	cop_forget_plan_free(plan);
	cop_journal_reader *reader;
	cop_journal_record raw;
	static const struct {
		uint8_t type;
		size_t endings;
	} expected[] = { { 8, 0 }, { 1, 0 }, { 1, 0 }, { 3, 2 }, { 8, 0 }, { 2, 0 }, { 8, 2 }, { 8, 2 }, { 8, 0 },
		{ 3, 2 } };
	assert_int_equal(cop_journal_reader_open(folder, 0, false, &reader, NULL), COP_OK);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		static const cop_wire_shape shape = { .features = FEATURES, .arms = ARMS };
		float dense[FEATURES];
		uint8_t mask[ARMS];
		const cop_wire_workspace workspace = { .dense = dense, .mask = mask };
		cop_wire_record r;
		assert_int_equal(cop_journal_next(reader, &raw, NULL), COP_OK);
		assert_int_equal(raw.type, expected[i].type);
		assert_int_equal(cop_wire_record_decode((cop_wire_record_type)raw.type, raw.body, raw.length, &shape,
		                         &workspace, &r, NULL),
		        COP_OK);
		assert_int_equal(r.settled.count, expected[i].endings);
		assert_true(r.time == (double)(i + 1));
	}
	cop_journal_reader_close(reader);
}

/* ---- names ---- */

static void put_numbered(book *b, uint64_t id, const cop_event_id *unit)
{
	float room[FEATURES];
	cop_wire_record r = decision_of("m", 1.0, id, room);
	if (unit != NULL)
		r.unit = *unit;
	put(b, COP_WIRE_RECORD_DECISION, &r);
}

static void test_forget_a_text_counts_before_a_number(void **state)
{
	(void)state;
	book b;
	cop_event_id number, negative;
	cop_event_id_from_unsigned(&number, 17);
	cop_event_id_from_signed(&negative, -3);
	begin(&b, 1);
	put_numbered(&b, 17, &number);   /* 1 */
	put_numbered(&b, 18, &negative); /* 2 */
	close_book(&b);
	cop_forget_plan *plan = scanned(true, "17", NULL);
	assert_true(cop_forget_is_number(plan));
	assert_string_equal(fates(plan), "RK");
	cop_forget_plan_free(plan);
	check_fates(true, "-3", NULL, "KR");
	check_fates(false, "17", NULL, "RK");
	check_fates(false, "-3", NULL, "KK");
	begin(&b, 3);
	decide(&b, "m", "x", "17");  /* 3 */
	decide(&b, "m", "17", NULL); /* 4 */
	close_book(&b);
	plan = scanned(true, "17", NULL);
	assert_false(cop_forget_is_number(plan));
	assert_string_equal(fates(plan), "KKRK");
	cop_forget_plan_free(plan);
	check_fates(false, "17", NULL, "KKKR");
	const cop_forget_whom exact = { .unit = true, .name = number };
	assert_int_equal(cop_forget_plan_new(&exact, &plan), COP_OK);
	assert_int_equal(cop_forget_scan(plan, folder, UINT64_MAX, NULL), COP_OK);
	assert_string_equal(fates(plan), "RKKK");
	cop_forget_plan_free(plan);
}

static void test_forget_of_an_id_takes_all_that_stands_under_it(void **state)
{
	(void)state;
	static const char *const a[] = { "a" };
	book b;
	begin(&b, 1);
	give_feedback(&b, "m", "a");                 /* 1: of a decision that is gone */
	decide(&b, "m", "a", "another");             /* 2 */
	decide(&b, "m", "b", "another");             /* 3 */
	decide(&b, "other", "a", NULL);              /* 4 */
	end(&b, COP_WIRE_RECORD_EXPIRY, NULL, a, 1); /* 5 */
	close_book(&b);
	check_fates(false, "a", NULL, "RRKRR");
	check_fates(false, "a", "m", "RRKKR");
}

static void test_forget_refuses_names_that_are_none(void **state)
{
	(void)state;
	char text[67], model[70];
	cop_forget_plan *plan;
	memset(text, '1', 65);
	text[65] = '\0';
	memset(model, 'm', 65);
	model[65] = '\0';
	const cop_forget_whom wrong[] = { { .text = "" }, { .text = text }, { .text = "a", .model = model } };
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(cop_forget_plan_new(&wrong[i], &plan), COP_EINVAL);
		assert_null(plan);
	}
	cop_forget_plan_free(NULL);
}

/* ---- the scan ---- */

static void test_forget_scan_goes_on_where_it_ended(void **state)
{
	(void)state;
	book b;
	begin(&b, 1);
	for (unsigned i = 0; i < 60; i++) {
		char id[8];
		(void)snprintf(id, sizeof id, "i%u", i % 7);
		if (i % 3 == 1)
			give_feedback(&b, "m", id);
		else
			decide(&b, "m", id, i % 4 == 0 ? UNIT : i % 4 == 1 ? "another" : NULL);
	}
	close_book(&b);
	char at_once[100];
	cop_forget_plan *plan = scanned(true, UNIT, NULL);
	(void)snprintf(at_once, sizeof at_once, "%s", fates(plan));
	size_t count;
	const cop_forget_model whole = *cop_forget_models(plan, &count);
	cop_forget_plan_free(plan);
	plan = plan_of(true, UNIT, NULL);
	for (uint64_t to = 1; to <= 60; to += 1 + to % 5) {
		assert_int_equal(cop_forget_scan(plan, folder, to, NULL), COP_OK);
		assert_memory_equal(fates(plan), at_once, to);
		for (uint64_t i = to; i < 60; i++) /* what was not read yet stays */
			assert_int_equal(fates(plan)[i], 'K');
		assert_int_equal(cop_forget_scan(plan, folder, to - 1, NULL), COP_OK);
	}
	assert_int_equal(cop_forget_scan(plan, folder, UINT64_MAX, NULL), COP_OK);
	assert_string_equal(fates(plan), at_once);
	assert_memory_equal(cop_forget_models(plan, &count), &whole, sizeof whole);
	cop_forget_plan_free(plan);
	plan = plan_of(true, UNIT, NULL);
	assert_int_equal(cop_forget_scan(plan, "/nonexistent", 9, NULL), COP_ENOTFOUND);
	cop_forget_plan_free(plan);
}

static void test_forget_counts_bodies_that_it_cannot_read(void **state)
{
	(void)state;
	book b;
	begin(&b, 1);
	put_body(&b, COP_WIRE_RECORD_DECISION, "\x81\xa1t", 3);
	put_body(&b, 77, "\x81\xa1t", 3); /* of a later version */
	put_body(&b, COP_WIRE_RECORD_CONFIG, "\x80", 1);
	decide(&b, "m", "a", UNIT);
	close_book(&b);
	cop_forget_plan *plan = scanned(true, UNIT, NULL);
	assert_int_equal(cop_forget_unread(plan), 1);
	assert_string_equal(fates(plan), "KKKR");
	cop_forget_plan_free(plan);
}

/* ---- the journal ---- */

/* Segments of five records each, of which every fourth decision is the unit's, some compressed; and a newest one. */
static void write_town(void)
{
	static const char *const ids[] = { "secret-id-2", "public-2" };
	book b;
	uint64_t next = 1, before = 0;
	for (unsigned segment = 0; segment < 6; segment++) {
		char mine[32], theirs[32];
		uint64_t first = next;
		(void)snprintf(mine, sizeof mine, "secret-id-%u", segment);
		(void)snprintf(theirs, sizeof theirs, "public-%u", segment);
		begin(&b, next);
		decide(&b, "m", mine, UNIT);
		decide(&b, "m", theirs, "another");
		give_feedback(&b, "m", theirs);
		if (segment == 4)
			end(&b, COP_WIRE_RECORD_EXPIRY, NULL, ids, 2);
		else
			give_whole(&b, mine, UNIT, true);
		if (segment > 0) {
			(void)snprintf(mine, sizeof mine, "secret-id-%u", segment - 1);
			give_feedback(&b, "m", mine);
		}
		next = b.next;
		close_book(&b);
		if (segment % 2 == 1)
			assert_int_equal(cop_journal_keep_compress(folder, before, NULL), COP_OK);
		before = first;
	}
	begin(&b, next);
	decide(&b, "m", "public-9", NULL);
	close_book(&b);
}

static void check_gone(void)
{
	static const float first = 1234.5f, second = 77.25f;
	assert_false(has_text(UNIT));
	assert_false(has_text("secret-id"));
	assert_false(found_in_folder(&first, sizeof first));
	assert_false(found_in_folder(&second, sizeof second));
	assert_true(has_text("public-0") && has_text("public-5") && has_text("another"));
}

static void test_forget_erase_leaves_nothing_of_the_unit(void **state)
{
	(void)state;
	static const float secret = 1234.5f;
	write_town();
	assert_true(has_text(UNIT) && has_text("secret-id-3") && found_in_folder(&secret, sizeof secret));
	cop_forget_plan *plan = scanned(true, UNIT, NULL);
	cop_journal_rewritten done;
	assert_int_equal(cop_forget_erase(plan, folder, &done, NULL), COP_OK);
	assert_int_equal(done.segments, 6);
	size_t count;
	const cop_forget_model *m = cop_forget_models(plan, &count);
	assert_int_equal(done.records, m->decisions + m->feedback + m->endings);
	check_gone();
	cop_forget_plan_free(plan);
	plan = scanned(true, UNIT, NULL);
	assert_int_equal(cop_forget_last(plan), 0);
	assert_int_equal(cop_forget_erase(plan, folder, &done, NULL), COP_OK);
	assert_int_equal(done.segments, 0);
	cop_forget_plan_free(plan);
}

/* Readers of histories give what they would if the records had never been. */
static void test_forget_leaves_the_others_history(void **state)
{
	(void)state;
	write_town();
	cop_forget_plan *plan = scanned(true, UNIT, NULL);
	cop_journal_rewritten done;
	assert_int_equal(cop_forget_erase(plan, folder, &done, NULL), COP_OK);
	cop_forget_plan_free(plan);
	const cop_journal_history_settings settings = { .model = "m", .unanswered = true };
	cop_event_reader *reader = open_history(&settings);
	cop_logged_event event;
	unsigned events = 0;
	while (cop_event_reader_next(reader, &event, NULL) == COP_OK) {
		assert_int_equal(event.id.bytes[0], 'p');
		events++;
	}
	const cop_journal_history_counts *counts = cop_journal_history_get_counts(reader);
	assert_int_equal(events, 7);
	assert_int_equal(counts->forgotten, 16);
	assert_int_equal(counts->records, 16 + 14);
	assert_int_equal(counts->unjoined + counts->bad, 0);
	cop_event_reader_free(reader);
}

static void test_forget_erase_refuses_the_newest_segment(void **state)
{
	(void)state;
	book b;
	cop_diag diag;
	cop_journal_rewritten done;
	begin(&b, 1);
	decide(&b, "m", "a", UNIT);
	close_book(&b);
	begin(&b, 2);
	give_feedback(&b, "m", "a");
	close_book(&b);
	cop_forget_plan *plan = scanned(true, UNIT, NULL);
	assert_int_equal(cop_forget_erase(plan, folder, &done, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "record 2 is to be erased"));
	assert_true(has_text(UNIT));
	begin(&b, 3);
	close_book(&b);
	assert_int_equal(cop_forget_erase(plan, folder, &done, &diag), COP_OK);
	assert_false(has_text(UNIT));
	cop_forget_plan_free(plan);
}

/* ---- kills ---- */

static unsigned long calls, kill_at;

static void die(void)
{
	if (++calls == kill_at)
		_exit(7);
}

static bool erase_killed(unsigned long n)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		cop_journal_rewritten done;
		cop_forget_plan *plan = scanned(true, UNIT, NULL);
		calls = 0;
		kill_at = n;
		cop_test_io_fail(COP_TEST_IO_EVERY, 0, false, 0);
		cop_test_io_on_call(die);
		_exit(cop_forget_erase(plan, folder, &done, NULL) == COP_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7));
	return WEXITSTATUS(status) == 0;
}

/* What is left names, until the last of it is gone, what else is the unit's. */
static void test_forget_killed_at_any_call_is_ended_by_the_next(void **state)
{
	(void)state;
	unsigned long n = 1;
	for (bool ended = false; !ended; n += 3) {
		cop_journal_rewritten done;
		empty_folder();
		write_town();
		ended = erase_killed(n);
		cop_forget_plan *plan = scanned(true, UNIT, NULL);
		assert_int_equal(cop_forget_erase(plan, folder, &done, NULL), COP_OK);
		cop_forget_plan_free(plan);
		check_gone();
	}
	assert_true(n > 100);
}

/* ---- while a journal is written ---- */

static void test_forget_takes_records_behind_the_scan(void **state)
{
	(void)state;
	book b;
	size_t count;
	cop_event_id *ids;
	cop_journal_reader *reader;
	cop_journal_record record;
	begin(&b, 1);
	decide(&b, "m", "a", UNIT);      /* 1 */
	decide(&b, "m", "b", UNIT);      /* 2 */
	decide(&b, "m#2", "c", UNIT);    /* 3: another life */
	decide(&b, "m", "a", "another"); /* 4 */
	give_feedback(&b, "m", "b");     /* 5 */
	decide(&b, "m2", "d", UNIT);     /* 6: another model */
	close_book(&b);
	cop_forget_plan *plan = plan_of(true, UNIT, "m");
	assert_int_equal(cop_forget_scan(plan, folder, 2, NULL), COP_OK);
	assert_int_equal(cop_journal_reader_open(folder, 3, false, &reader, NULL), COP_OK);
	while (cop_journal_next(reader, &record, NULL) == COP_OK)
		assert_int_equal(cop_forget_take(plan, &record), COP_OK);
	cop_journal_reader_close(reader);
	assert_string_equal(fates(plan), "RRRKRK");
	assert_int_equal(cop_forget_ids(plan, "m", &ids, &count), COP_OK);
	assert_int_equal(count, 1); /* a is another's now */
	const cop_event_id b_id = text_id("b");
	assert_true(cop_event_id_equal(&ids[0], &b_id));
	cop_mem_free(ids);
	assert_int_equal(cop_forget_ids(plan, "other", &ids, &count), COP_OK);
	assert_int_equal(count, 0);
	cop_mem_free(ids);
	cop_forget_plan_free(plan);
	plan = plan_of(false, "b", NULL); /* an id is theirs in every model, whatever was scanned */
	assert_int_equal(cop_forget_ids(plan, "other", &ids, &count), COP_OK);
	assert_true(count == 1 && cop_event_id_equal(&ids[0], &b_id));
	cop_mem_free(ids);
	cop_forget_plan_free(plan);
}

static bool goes_on(void *context)
{
	unsigned *left = context;
	return (*left)-- > 0;
}

static void test_forget_ends_when_it_is_told_to(void **state)
{
	(void)state;
	book b;
	unsigned asked = 2;
	cop_diag diag = { .message = "" };
	cop_journal_rewritten done;
	begin(&b, 1);
	for (unsigned i = 0; i < 4000; i++)
		decide(&b, "m", "a", i % 2 == 0 ? UNIT : "another");
	close_book(&b);
	begin(&b, 4001);
	decide(&b, "m", "z", NULL);
	close_book(&b);
	cop_forget_plan *plan = plan_of(true, UNIT, NULL);
	cop_forget_ask(plan, goes_on, &asked);
	assert_int_equal(cop_forget_scan(plan, folder, UINT64_MAX, &diag), COP_EEND);
	assert_int_equal(cop_forget_last(plan), 3 * 1024 - 1);
	cop_forget_ask(plan, NULL, NULL);
	assert_int_equal(cop_forget_scan(plan, folder, UINT64_MAX, &diag), COP_OK);
	asked = 1;
	cop_forget_ask(plan, goes_on, &asked);
	assert_int_equal(cop_forget_erase(plan, folder, &done, &diag), COP_EEND);
	assert_true(done.segments == 0 && has_text(UNIT));
	cop_forget_ask(plan, NULL, NULL);
	assert_int_equal(cop_forget_erase(plan, folder, &done, &diag), COP_OK);
	assert_true(done.segments == 1 && !has_text(UNIT));
	cop_forget_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_forget_finds_all_records_of_a_unit),
		TEST(test_forget_ends_with_anothers_decision_under_the_id),
		TEST(test_forget_takes_feedback_that_brings_its_context),
		TEST(test_forget_edits_what_others_list),
		TEST(test_forget_a_text_counts_before_a_number),
		TEST(test_forget_of_an_id_takes_all_that_stands_under_it),
		TEST(test_forget_refuses_names_that_are_none),
		TEST(test_forget_scan_goes_on_where_it_ended),
		TEST(test_forget_counts_bodies_that_it_cannot_read),
		TEST(test_forget_erase_leaves_nothing_of_the_unit),
		TEST(test_forget_leaves_the_others_history),
		TEST(test_forget_erase_refuses_the_newest_segment),
		TEST(test_forget_takes_records_behind_the_scan),
		TEST(test_forget_ends_when_it_is_told_to),
		TEST(test_forget_killed_at_any_call_is_ended_by_the_next),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
