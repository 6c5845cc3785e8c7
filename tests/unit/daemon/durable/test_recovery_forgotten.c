/* Two models live through many decisions, some of them of a unit that is then forgotten. The journal, erased, recovers
 * to the bytes of one in which the unit's records never were, which this test writes beside it by a book of its own. */
#include "daemon/durable/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "history/forget.h"
#include "online/model_record.h"
#include "store/journal_keep.h"
#include "store/journal_writer.h"
#include "store/section_file.h"
#include "support.h"

#define EVENTS   900
#define BEFORE   60 /* events before the unit's first */
#define IDS      40
#define FEATURES 2
#define UNIT     "person-1728"
#define ONES_OWN 12 /* ids that the unit alone has; of the next ones it has some now and then */
#define SHARED   8
#define SEGMENT  4000

static char state_dir[64];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(state_dir, sizeof state_dir, "/tmp/test_forgotten.XXXXXX");
	return mkdtemp(state_dir) == NULL;
}

static int drop_folder(void **state)
{
	char command[96];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", state_dir);
	return system(command);
}

/* ---- journals ---- */

typedef struct book {
	char folder[96];
	cop_journal_writer *writer;
	uint64_t next;
} book;

static void open_book(book *b, const char *name)
{
	const cop_journal_settings settings = { .segment_bytes = SEGMENT };
	(void)snprintf(b->folder, sizeof b->folder, "%s/%s", state_dir, name);
	(void)mkdir(b->folder, 0700);
	b->next = b->next == 0 ? 1 : b->next;
	assert_int_equal(cop_journal_writer_open(b->folder, &settings, b->next, &b->writer, NULL), COP_OK);
}

static void close_book(book *b) { assert_int_equal(cop_journal_writer_close(b->writer, NULL), COP_OK); }

static void write_record(book *b, cop_wire_record_type type, const cop_wire_record *record)
{
	cop_bytes body, frame;
	cop_bytes_init(&body);
	cop_bytes_init(&frame);
	cop_wire_record_put(&body, type, record);
	cop_journal_record_put(&frame, b->next, (uint8_t)type, body.data, body.length);
	assert_int_equal(frame.err, COP_OK);
	assert_int_equal(cop_journal_writer_write(b->writer, frame.data, frame.length, b->next, 1, NULL), COP_OK);
	b->next++;
	cop_bytes_fini(&body);
	cop_bytes_fini(&frame);
}

/* ---- the town ---- */

typedef struct town {
	cop_config *config;
	cop_model_table models;
	book whole, without; /* all records; those that are not the unit's */
	bool owned[2][IDS];  /* the id's last decision was the unit's */
	cop_rng rng;
	double now;
	uint64_t mine, endings; /* records of the unit; endings of its decisions in others' */
} town;

static const char *const names[2] = { "m", "n" };

static void open_models(const char *text, cop_config **config, cop_model_table *models)
{
	cop_config_report report;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, strlen(text), "test", NULL, config, &report), COP_OK);
	cop_config_report_fini(&report);
	assert_int_equal(cop_model_table_init(models, *config, NULL), COP_OK);
}

static cop_model *model_of(cop_model_table *models, unsigned which)
{
	return cop_model_table_find(models, names[which], 1)->model;
}

static cop_event_id id_of(unsigned number)
{
	cop_event_id id;
	char text[32];
	(void)snprintf(text, sizeof text, "id-%u", number);
	(void)!cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, text, strlen(text));
	return id;
}

static unsigned number_of(const cop_event_id *id)
{
	char text[COP_EVENT_ID_MAX + 1] = "";
	memcpy(text, id->bytes, id->length);
	return (unsigned)strtoul(text + 3, NULL, 10);
}

/* The endings that are not of the unit's decisions. */
static cop_wire_settled others_of(town *t, unsigned which, const cop_wire_settled *settled, cop_bytes *room)
{
	cop_wire_settled rest = *settled, kept = { 0 };
	cop_wire_settlement is;
	while (cop_wire_settled_next(&rest, &is))
		if (!t->owned[which][number_of(&is.id)]) {
			cop_wire_settled_add(room, &is);
			kept.count++;
		}
	kept.items = room->data;
	kept.length = room->length;
	return kept;
}

/* Into both journals, or, of the unit's, only what else it ended into the second. */
static void note(town *t, unsigned which, cop_wire_record_type type, const cop_wire_record *record, bool mine)
{
	cop_bytes room;
	cop_wire_record other = *record;
	write_record(&t->whole, type, record);
	t->mine += mine;
	cop_bytes_init(&room);
	other.settled = others_of(t, which, &record->settled, &room);
	t->endings += mine ? 0 : record->settled.count - other.settled.count;
	if (mine || type == COP_WIRE_RECORD_EXPIRY) {
		const cop_wire_record ended = { .model = record->model,
			.model_length = record->model_length,
			.time = record->time,
			.settled = other.settled };
		if (other.settled.count > 0)
			write_record(&t->without, COP_WIRE_RECORD_EXPIRY, &ended);
	} else {
		write_record(&t->without, type, &other);
	}
	cop_bytes_fini(&room);
}

static cop_wire_record record_of(const town *t, unsigned which, const cop_event_id *id)
{
	return (cop_wire_record){ .model = names[which], .model_length = 1, .time = t->now, .id = *id };
}

static void decide(town *t, unsigned which, unsigned number, bool mine)
{
	const float x[FEATURES] = { (float)cop_rng_unit(&t->rng), (float)(number % 5) };
	const cop_row row = { .d = FEATURES, .dense = x };
	const cop_event_id id = id_of(number);
	cop_event_id unit;
	cop_decision decision;
	bool repeated;
	(void)!cop_event_id_from_bytes(&unit, COP_EVENT_ID_STRING, UNIT, strlen(UNIT));
	const cop_model_context context = { .id = &id, .x = &row, .unit = mine ? &unit : NULL };
	cop_model *model = model_of(&t->models, which);
	assert_int_equal(cop_model_decide(model, &context, t->now, &decision, &repeated), COP_OK);
	if (repeated)
		return;
	cop_wire_record record = record_of(t, which, &id);
	cop_model_record_decision(model, &context, &decision, &record);
	note(t, which, COP_WIRE_RECORD_DECISION, &record, mine);
	t->owned[which][number] = mine;
}

static void give_feedback(town *t, unsigned which, unsigned number)
{
	const cop_event_id id = id_of(number);
	const double loss = cop_rng_unit(&t->rng);
	cop_feedback_result result;
	cop_model *model = model_of(&t->models, which);
	assert_int_equal(cop_model_feedback(model, &id, &loss, 1, t->now, &result), COP_OK);
	cop_wire_record record = record_of(t, which, &id);
	record.losses = 1;
	record.loss[0] = loss;
	record.result = cop_model_record_result(result);
	cop_model_record_ended(model, &record);
	note(t, which, COP_WIRE_RECORD_FEEDBACK, &record, t->owned[which][number]);
}

/* Feedback that brings its context; of the unit it takes the id. */
static void give_whole(town *t, unsigned which, unsigned number, bool mine)
{
	const float x[FEATURES] = { (float)cop_rng_unit(&t->rng), 0.5f };
	const cop_row row = { .d = FEATURES, .dense = x };
	const cop_event_id id = id_of(number);
	const double loss = cop_rng_unit(&t->rng);
	const uint32_t arm = (uint32_t)cop_rng_below(&t->rng, 3);
	cop_feedback_result result;
	cop_model *model = model_of(&t->models, which);
	assert_int_equal(cop_model_feedback_full(model, &id, &row, arm, 0.5, &loss, 1, t->now, &result), COP_OK);
	cop_wire_record record = record_of(t, which, &id);
	record.has_x = true;
	record.x = row;
	record.a = arm;
	record.p = 0.5;
	record.losses = 1;
	record.loss[0] = loss;
	record.result = cop_model_record_result(result);
	if (mine)
		(void)!cop_event_id_from_bytes(&record.unit, COP_EVENT_ID_STRING, UNIT, strlen(UNIT));
	cop_model_record_ended(model, &record);
	note(t, which, COP_WIRE_RECORD_FEEDBACK, &record, mine || t->owned[which][number]);
	t->owned[which][number] = mine || t->owned[which][number];
}

static void mark_unheard(town *t, unsigned which, unsigned number)
{
	const cop_event_id id = id_of(number);
	const cop_wire_record record = record_of(t, which, &id);
	if (cop_model_unheard(model_of(&t->models, which), &id, NULL))
		note(t, which, COP_WIRE_RECORD_UNHEARD, &record, t->owned[which][number]);
}

static void activate(town *t, unsigned which, unsigned number)
{
	const cop_event_id id = id_of(number);
	cop_feedback_result result;
	cop_model *model = model_of(&t->models, which);
	cop_model_activate(model, &id, t->now, &result);
	cop_wire_record record = record_of(t, which, &id);
	record.result = cop_model_record_result(result);
	cop_model_record_ended(model, &record);
	note(t, which, COP_WIRE_RECORD_ACTIVATION, &record, t->owned[which][number]);
}

static void expire(town *t, unsigned which)
{
	const cop_event_id none = { .kind = 0 };
	cop_model *model = model_of(&t->models, which);
	size_t ended = cop_model_expire(model, t->now, 100);
	cop_wire_record record = record_of(t, which, &none);
	cop_model_record_ended(model, &record);
	if (ended > 0)
		note(t, which, COP_WIRE_RECORD_EXPIRY, &record, false);
}

/* The unit has the first ids for itself, others have theirs, and some are used by both, one after the other. */
static void live(town *t, unsigned event)
{
	unsigned which = (unsigned)cop_rng_below(&t->rng, 2), kind = (unsigned)cop_rng_below(&t->rng, 20);
	unsigned number = (unsigned)cop_rng_below(&t->rng, IDS);
	bool may = event >= BEFORE;
	bool mine = may && (number < ONES_OWN || (number < ONES_OWN + SHARED && cop_rng_below(&t->rng, 2) == 0));
	if (!may && number < ONES_OWN)
		number += ONES_OWN;
	t->now += cop_rng_unit(&t->rng);
	if (kind < 9)
		decide(t, which, number, mine);
	else if (kind < 15)
		give_feedback(t, which, number);
	else if (kind == 15)
		give_whole(t, which, number, mine && number < ONES_OWN);
	else if (kind == 16)
		mark_unheard(t, which, number);
	else if (kind == 17)
		activate(t, which, number);
	else
		expire(t, which);
}

static void save(const cop_model_table *models, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	size_t file = cop_section_file_begin(bytes);
	cop_model_table_save(models, bytes);
	cop_section_file_end(bytes, file);
	assert_int_equal(bytes->err, COP_OK);
}

/* ---- recovery ---- */

static void recover(const char *text, const book *b, const cop_bytes *checkpoint, uint64_t next, cop_bytes *out)
{
	cop_config *config;
	cop_model_table models;
	cop_log *log;
	cop_diag diag = { .message = "" };
	const cop_log_settings logging = { .level = COP_LOG_ERROR };
	const cop_checkpoint_mark mark = { .journal_next = next };
	open_models(text, &config, &models);
	assert_int_equal(cop_model_table_load(&models, checkpoint, NULL, &diag), COP_OK);
	assert_int_equal(cop_log_open(&logging, &log), COP_OK);
	cop_recovery recovery = { .state_dir = state_dir, .folder = b->folder, .log = log };
	cop_err err = cop_recovery_run(&recovery, &models, &mark, &diag);
	if (err != COP_OK)
		print_error("%s: %s\n", diag.source, diag.message);
	assert_int_equal(err, COP_OK);
	assert_int_equal(recovery.skipped, 0);
	assert_int_equal(cop_log_close(log, 30000), COP_OK);
	save(&models, out);
	cop_model_table_fini(&models);
	cop_config_free(config);
}

static void compress_some(const book *b)
{
	cop_journal_file *files;
	size_t count;
	assert_int_equal(cop_journal_list(b->folder, &files, &count, NULL), COP_OK);
	assert_true(count > 10);
	for (size_t i = 0; i + 1 < count; i += 3)
		assert_int_equal(cop_journal_keep_compress(b->folder, files[i].base, NULL), COP_OK);
	cop_mem_free(files);
}

static void erase(town *t, bool exact)
{
	const cop_forget_whom whom = { .unit = true, .text = UNIT };
	cop_forget_plan *plan;
	cop_journal_rewritten done;
	size_t count;
	uint64_t own = 0, endings = 0;
	assert_int_equal(cop_forget_plan_new(&whom, &plan), COP_OK);
	assert_int_equal(cop_forget_scan(plan, t->whole.folder, UINT64_MAX, NULL), COP_OK);
	const cop_forget_model *found = cop_forget_models(plan, &count);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++) {
		own += found[i].decisions + found[i].feedback + found[i].activations + found[i].unheard;
		endings += found[i].endings;
	}
	assert_true(cop_forget_first(plan) > BEFORE / 3);
	if (exact)
		assert_true(own == t->mine && endings == t->endings);
	assert_int_equal(cop_forget_erase(plan, t->whole.folder, &done, NULL), COP_OK);
	assert_true(done.records >= own);
	cop_forget_plan_free(plan);
}

/* Lives, writes both journals, and keeps the state from before the unit's first record. */
static void run_town(town *t, const char *text, uint64_t seed, cop_bytes *checkpoint, uint64_t *next)
{
	*t = (town){ .now = 1e9 };
	cop_rng_init(&t->rng, seed, 1);
	open_models(text, &t->config, &t->models);
	open_book(&t->whole, "whole");
	open_book(&t->without, "without");
	for (unsigned event = 0; event < EVENTS; event++) {
		if (event == BEFORE) {
			assert_int_equal(t->whole.next, t->without.next);
			*next = t->whole.next;
			save(&t->models, checkpoint);
		}
		live(t, event);
	}
	assert_true(t->mine > 100 && t->endings > 10);
	close_book(&t->whole);
	close_book(&t->without);
	open_book(&t->whole, "whole"); /* so that all of it is closed */
	close_book(&t->whole);
}

static void end_town(town *t)
{
	cop_model_table_fini(&t->models);
	cop_config_free(t->config);
}

#define TOWN(more)                                                                                                     \
	"sockets { requests = { \"ipc://r\" } }\n"                                                                     \
	"model \"m\" { arms = 3 features = 2 height = 2 trees = 2 reward_window = 20s default_loss = 0.7 "             \
	"refit { enabled = false } " more "}\n"                                                                        \
	"model \"n\" { learner = dgt arms = 3 features = 2 height = 2 reward = last reward_window = 9s "               \
	"refit { enabled = false } " more "}\n"

static void test_recovery_of_a_forgotten_unit_gives_the_model_that_never_had_it(void **state)
{
	(void)state;
	cop_bytes checkpoint, live_state, erased, never;
	cop_bytes_init(&checkpoint);
	cop_bytes_init(&live_state);
	cop_bytes_init(&erased);
	cop_bytes_init(&never);
	for (uint64_t seed = 1; seed <= 4; seed++) {
		town t;
		uint64_t next;
		run_town(&t, TOWN(""), seed, &checkpoint, &next);
		save(&t.models, &live_state);
		recover(TOWN(""), &t.whole, &checkpoint, next, &erased);
		assert_int_equal(erased.length, live_state.length);
		assert_memory_equal(erased.data, live_state.data, live_state.length);
		compress_some(&t.whole);
		erase(&t, true);
		recover(TOWN(""), &t.whole, &checkpoint, next, &erased);
		recover(TOWN(""), &t.without, &checkpoint, next, &never);
		assert_int_equal(erased.length, never.length);
		assert_memory_equal(erased.data, never.data, never.length);
		assert_true(
		        erased.length != live_state.length || memcmp(erased.data, live_state.data, erased.length) != 0);
		end_town(&t);
		assert_int_equal(drop_folder(NULL) + make_folder(NULL), 0);
	}
	cop_bytes_fini(&checkpoint);
	cop_bytes_fini(&live_state);
	cop_bytes_fini(&erased);
	cop_bytes_fini(&never);
}

/* Decisions that were pushed out by the unit's stay pushed out, since what follows relies on it. */
static void test_recovery_of_a_forgotten_unit_that_pushed_others_out_goes_through(void **state)
{
	(void)state;
	cop_bytes checkpoint, once, twice;
	cop_bytes_init(&checkpoint);
	cop_bytes_init(&once);
	cop_bytes_init(&twice);
	for (uint64_t seed = 1; seed <= 6; seed++) {
		town t;
		uint64_t next;
		run_town(&t, TOWN("pending_max = 5 "), seed, &checkpoint, &next);
		erase(&t, false);
		recover(TOWN("pending_max = 5 "), &t.whole, &checkpoint, next, &once);
		recover(TOWN("pending_max = 5 "), &t.whole, &checkpoint, next, &twice);
		assert_int_equal(once.length, twice.length);
		assert_memory_equal(once.data, twice.data, once.length);
		end_town(&t);
		assert_int_equal(drop_folder(NULL) + make_folder(NULL), 0);
	}
	cop_bytes_fini(&checkpoint);
	cop_bytes_fini(&once);
	cop_bytes_fini(&twice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        test_recovery_of_a_forgotten_unit_gives_the_model_that_never_had_it, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_recovery_of_a_forgotten_unit_that_pushed_others_out_goes_through,
		        make_folder, drop_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
