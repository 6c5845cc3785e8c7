/* A journal in a folder, written record by record as a daemon does. Include after support.h. */
#ifndef COP_TESTS_UNIT_HISTORY_HISTORY_FIXTURE_H
#define COP_TESTS_UNIT_HISTORY_HISTORY_FIXTURE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history/journal_history.h"
#include "store/journal_writer.h"
#include "wire/wire_models.h"
#include "wire/wire_record.h"

#define FEATURES 3
#define ARMS     4

static char folder[64];

static inline int make_folder(void **state)
{
	(void)state;
	const char *place = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
	(void)snprintf(folder, sizeof folder, "%s/test_history_XXXXXX", place);
	return mkdtemp(folder) == NULL;
}

static inline int drop_folder(void **state)
{
	(void)state;
	char command[96];
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

static inline void empty_folder(void)
{
	assert_int_equal(drop_folder(NULL), 0);
	assert_int_equal(make_folder(NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

typedef struct book {
	cop_journal_writer *writer;
	cop_bytes batch;
	uint64_t next;
} book;

static inline cop_wire_model told(const char *name)
{
	return (cop_wire_model){
		.name = name,
		.name_length = strlen(name),
		.learner = "dgt",
		.learner_length = 3,
		.features = FEATURES,
		.arms = ARMS,
		.losses = 1,
		.loss_range = { 0.0, 1.0 },
		.reward_window = 100.0,
	};
}

/* Begins a segment with record `next`, whose header holds the models (count 0: it has no set). */
static inline void open_book(book *b, uint64_t next, const cop_wire_model *models, size_t count)
{
	cop_bytes set;
	cop_bytes_init(&set);
	if (count > 0)
		assert_int_equal(cop_wire_models_put(&set, models, count, 65536), count);
	const cop_journal_settings settings = { .model_set = set.data, .model_set_length = set.length };
	assert_int_equal(cop_journal_writer_open(folder, &settings, next, &b->writer, NULL), COP_OK);
	cop_bytes_fini(&set);
	cop_bytes_init(&b->batch);
	b->next = next;
}

static inline void close_book(book *b)
{
	assert_int_equal(cop_journal_writer_close(b->writer, NULL), COP_OK);
	cop_bytes_fini(&b->batch);
}

static inline void put_body(book *b, uint8_t type, const void *body, size_t length)
{
	cop_bytes_clear(&b->batch);
	cop_journal_record_put(&b->batch, b->next, type, body, length);
	assert_int_equal(b->batch.err, COP_OK);
	assert_int_equal(cop_journal_writer_write(b->writer, b->batch.data, b->batch.length, b->next, 1, NULL), COP_OK);
	b->next++;
}

static inline void put(book *b, cop_wire_record_type type, const cop_wire_record *record)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_wire_record_put(&body, type, record);
	assert_int_equal(body.err, COP_OK);
	put_body(b, (uint8_t)type, body.data, body.length);
	cop_bytes_fini(&body);
}

static inline cop_wire_record record_of(const char *model, double time, uint64_t id)
{
	cop_wire_record r = { .model = model, .model_length = strlen(model), .time = time };
	cop_event_id_from_unsigned(&r.id, id);
	return r;
}

/* Of arm id % ARMS with p = 1 / (1 + id), at context {id, 0, 1}. */
static inline cop_wire_record decision_of(const char *model, double time, uint64_t id, float room[FEATURES])
{
	cop_wire_record r = record_of(model, time, id);
	room[0] = (float)id;
	room[1] = 0.0f;
	room[2] = 1.0f;
	r.x = (cop_row){ .d = FEATURES, .dense = room };
	r.has_x = true;
	r.arms = ARMS;
	r.a = (uint32_t)(id % ARMS);
	r.p = 1.0 / (1.0 + (double)id);
	return r;
}

static inline void put_decision(book *b, double time, uint64_t id)
{
	float room[FEATURES];
	cop_wire_record r = decision_of("m", time, id, room);
	put(b, COP_WIRE_RECORD_DECISION, &r);
}

static inline void put_deferred(book *b, double time, uint64_t id)
{
	float room[FEATURES];
	cop_wire_record r = decision_of("m", time, id, room);
	r.defer = true;
	put(b, COP_WIRE_RECORD_DECISION, &r);
}

static inline void put_feedback(book *b, double time, uint64_t id, double loss, cop_wire_result result)
{
	cop_wire_record r = record_of("m", time, id);
	r.loss[0] = loss;
	r.losses = 1;
	r.result = result;
	put(b, COP_WIRE_RECORD_FEEDBACK, &r);
}

/* One waiting decision that a record ends. */
typedef struct ending {
	uint64_t id;
	cop_wire_outcome outcome;
	double loss;
} ending;

static inline void add_endings(cop_bytes *room, cop_wire_record *r, const ending *endings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cop_wire_settlement is = { .outcome = endings[i].outcome, .loss = { endings[i].loss } };
		is.losses = cop_wire_settled_learned(is.outcome) ? 1 : 0;
		cop_event_id_from_unsigned(&is.id, endings[i].id);
		cop_wire_settled_add(room, &is);
	}
	r->settled = (cop_wire_settled){ .items = room->data, .length = room->length, .count = count };
}

/* A record that ends those beside its own decision. */
static inline void put_ending(
        book *b, cop_wire_record_type type, cop_wire_record *r, const ending *endings, size_t count)
{
	cop_bytes room;
	cop_bytes_init(&room);
	add_endings(&room, r, endings, count);
	put(b, type, r);
	cop_bytes_fini(&room);
}

static inline void put_expiry(book *b, double time, const ending *endings, size_t count)
{
	cop_wire_record r = { .model = "m", .model_length = 1, .time = time };
	put_ending(b, COP_WIRE_RECORD_EXPIRY, &r, endings, count);
}

#define EXPIRE(book, time, ...)                                                                                        \
	do {                                                                                                           \
		const ending endings_[] = { __VA_ARGS__ };                                                             \
		put_expiry(book, time, endings_, sizeof endings_ / sizeof *endings_);                                  \
	} while (0)

static inline void put_activation(book *b, double time, uint64_t id, cop_wire_result result)
{
	cop_wire_record r = record_of("m", time, id);
	r.result = result;
	put(b, COP_WIRE_RECORD_ACTIVATION, &r);
}

static inline void put_unheard(book *b, double time, uint64_t id)
{
	cop_wire_record r = record_of("m", time, id);
	put(b, COP_WIRE_RECORD_UNHEARD, &r);
}

static inline cop_event_reader *open_history_of(const char *path, const cop_journal_history_settings *settings)
{
	cop_event_reader *reader;
	cop_diag diag = { .message = "" };
	cop_err err = cop_journal_history_open(path, settings, &reader, &diag);
	if (err != COP_OK)
		fail_msg("%s: %s", diag.source, diag.message);
	return reader;
}

static inline cop_event_reader *open_history(const cop_journal_history_settings *settings)
{
	return open_history_of(folder, settings);
}

static inline uint64_t id_of(const cop_logged_event *event)
{
	uint64_t id;
	memcpy(&id, event->id.bytes, sizeof id);
	return id;
}

#endif
