/* Arbitrary records of a journal, read as events. The first byte says what the journal tells of its model and how it is
 * read; then each record is a byte of its kind and, either, what is to happen (id, time, loss), from which a right
 * record is made, or a length and as many bytes of a body. What comes out keeps the promises of events/logged_event.h,
 * and a journal that is whole gives the same when it is read as a damaged one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "history/journal_history.h"
#include "wire/wire_models.h"
#include "wire/wire_record.h"

#include "fuzz_settled.h"

#define FEATURES 2
#define ARMS     3
#define BITS     6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
	const uint8_t *at, *end;
} input;

static unsigned take(input *in) { return in->at < in->end ? *in->at++ : 0; }

static cop_wire_model model_of(unsigned form)
{
	static const char *const names[] = { "m", "n" };
	bool values = (form & 12) == 12;
	cop_wire_model model = {
		.name = names[form >> 7 & 1],
		.name_length = 1,
		.learner = "dgt",
		.learner_length = 3,
		.features = form & 1 ? 0 : FEATURES,
		.bits = form & 1 ? BITS : 0,
		.max_nonzeros = form & 1 ? 4 : 0,
		.arms = form & 2 && form & 64 ? ARMS + 1 : ARMS,
		.losses = 1,
		.loss_range = { -1.0, 2.0 },
		.reward = (cop_wire_reward)((form >> 2 & 3) % COP_WIRE_REWARD_COUNT),
		.reward_window = 1.0 + (form >> 4 & 3) * 20.0,
		.has_default_loss = (form & 2) != 0,
		.default_loss = 0.5,
	};
	if (values) {
		model.arms = 0;
		model.losses = 1 + (form >> 6 & 1);
		model.value_range[1] = 1.0;
		model.delta = form & 2 ? 0.1 : 0.25;
	}
	return model;
}

static void put_set(cop_bytes *bytes, unsigned form)
{
	const cop_wire_model model = model_of(form);
	(void)cop_wire_models_put(bytes, &model, 1, 65536);
}

/* ---- records ---- */

static cop_bytes ended; /* of the record in hand */

static void put_right(cop_bytes *body, cop_wire_record_type type, unsigned form, input *in, double *now)
{
	static const float dense[FEATURES] = { 0.5f, -1.0f };
	static const uint32_t index[] = { 1, 9 };
	static const uint8_t mask[ARMS] = { 1, 1, 1 };
	cop_bytes set;
	unsigned id = take(in), step = take(in), flags = take(in);
	cop_wire_record r = { .model = "m", .model_length = 1, .time = *now += step };
	cop_event_id_from_unsigned(&r.id, id & 15);
	r.arms = ARMS;
	r.a = (id >> 4) % ARMS;
	r.p = flags & 128 ? 1e-9 : 0.25;
	r.x = (cop_row){ .d = FEATURES, .dense = dense };
	if (form & 1)
		r.x = (cop_row){ .d = 1u << BITS, .nnz = 2, .index = index, .value = dense };
	r.has_x = type == COP_WIRE_RECORD_DECISION || flags & 1;
	r.mask = flags & 2 ? mask : NULL;
	r.defer = (flags & 4) != 0;
	r.values = (form & 12) == 12;
	r.y = (double)(id >> 4) / 15.0;
	r.u = flags & 64 ? 1 : -1;
	r.observed = !r.values && r.has_x && type <= COP_WIRE_RECORD_FEEDBACK && step % 4 == 3;
	r.own_p = r.observed ? (double)(step >> 2) / 63.0 : 0.0;
	r.losses = r.values && form & 64 ? 2 : 1;
	r.loss[0] = flags & 8 ? 1e9 : (double)(flags >> 4) / 8.0;
	r.loss[1] = flags & 32 ? -r.loss[0] : 0.5;
	r.result = (cop_wire_result)(flags % COP_WIRE_RESULT_COUNT);
	r.joined = type == COP_WIRE_RECORD_FEEDBACK && r.has_x && r.result <= COP_WIRE_RECORDED && (step & 4) != 0;
	r.settled = settled_of(&ended, step & 3, id + 1, flags >> 4, r.losses);
	r.count = flags >> 3;
	r.promotion = (cop_wire_promotion)(id % COP_WIRE_PROMOTIONS);
	if (r.promotion == COP_WIRE_PROMOTION_CHALLENGE)
		r.count |= 1; /* files count from 1 */
	r.crc = flags * 0x01010101u;
	r.text = "";
	cop_bytes_init(&set);
	if (type == COP_WIRE_RECORD_CONFIG) {
		put_set(&set, flags);
		r.models = set.data;
		r.models_length = set.length;
	}
	cop_wire_record_put(body, type, &r);
	cop_bytes_fini(&set);
}

static void put_records(cop_bytes *bytes, unsigned form, input *in)
{
	cop_bytes body;
	double now = 0.0;
	cop_bytes_init(&body);
	for (uint64_t sequence = 1; in->at < in->end; sequence++) {
		unsigned kind = take(in);
		unsigned type = 1 + (kind >> 1) % COP_WIRE_RECORD_FORGOTTEN;
		cop_bytes_clear(&body);
		if (kind & 1 && type <= COP_WIRE_RECORD_FORGOTTEN) {
			put_right(&body, (cop_wire_record_type)type, form, in, &now);
		} else {
			size_t length = take(in);
			length = length < (size_t)(in->end - in->at) ? length : (size_t)(in->end - in->at);
			cop_bytes_put(&body, in->at, length);
			in->at += length;
		}
		cop_journal_record_put(bytes, sequence, (uint8_t)type, body.data, body.length);
	}
	cop_bytes_fini(&body);
}

/* ---- reading ---- */

typedef struct outcome {
	cop_err err;
	uint64_t events, bad;
	double sum;
} outcome;

static void check_event(const cop_logged_event *e, const cop_journal_history_model *model)
{
	COP_ASSERT(e->id.kind != 0 && e->x.d == (model->features != 0 ? model->features : (size_t)1 << model->bits));
	for (size_t i = 0; i < cop_row_entries(&e->x); i++)
		COP_ASSERT(isfinite(cop_row_value(&e->x, i)) && cop_row_index(&e->x, i) < e->x.d);
	for (size_t i = 0; i < e->arms; i++)
		COP_ASSERT(e->mask[i] <= 1);
	COP_ASSERT(e->labelled == e->learn && e->weight == 1.0 && e->line > 0);
	COP_ASSERT(!model->told || e->action < model->arms || (model->values && e->action == 0));
	if (e->labelled)
		COP_ASSERT(isfinite(e->cost) && fabs(e->cost) <= COP_LOGGED_COST_MAX &&
		           e->p >= COP_LOGGED_PROBABILITY_MIN && e->p <= 1.0);
}

static outcome read_all(const char *path, const cop_journal_history_settings *settings)
{
	outcome out = { 0 };
	cop_event_reader *reader;
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	out.err = cop_journal_history_open(path, settings, &reader, &diag);
	while (out.err == COP_OK) {
		out.err = cop_event_reader_next(reader, &event, &diag);
		if (out.err == COP_OK) {
			check_event(&event, cop_journal_history_get_model(reader));
			out.events++;
			out.sum += event.cost + (double)event.line * (double)out.events;
		} else if (out.err == COP_EFORMAT) {
			out.bad++;
			out.err = COP_OK;
		}
	}
	COP_ASSERT(out.err == COP_EEND || diag.message[0] != '\0');
	COP_ASSERT(out.err == COP_EEND || out.err == COP_ESHAPE || out.err == COP_EINVAL || out.err == COP_ENOTFOUND);
	cop_event_reader_free(reader);
	return out;
}

static const char *place(void)
{
	static char path[96];
	static char folder[64];
	if (path[0] == '\0') {
		(void)snprintf(folder, sizeof folder, "%s/fuzz_history_XXXXXX",
		        access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
		COP_ASSERT(mkdtemp(folder) != NULL);
		(void)snprintf(path, sizeof path, "%s/00000000000000000001.journal", folder);
	}
	return path;
}

static void drop_place(void)
{
	char folder[96];
	(void)snprintf(folder, sizeof folder, "%s", place());
	(void)unlink(folder);
	*strrchr(folder, '/') = '\0';
	(void)rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int registered;
	if (!registered)
		registered = 1 + atexit(drop_place);
	input in = { data, data + size };
	unsigned how = take(&in);
	unsigned form = take(&in);
	cop_bytes bytes, set;
	cop_bytes_init(&bytes);
	cop_bytes_init(&set);
	if (how & 1)
		put_set(&set, form);
	cop_journal_segment_header_put(&bytes, 1, 0, set.data, set.length);
	put_records(&bytes, form, &in);
	COP_ASSERT(bytes.err == COP_OK);
	FILE *file = fopen(place(), "wb");
	COP_ASSERT(file != NULL && fwrite(bytes.data, 1, bytes.length, file) == bytes.length && fclose(file) == 0);
	cop_journal_history_settings settings = {
		.model = how & 2 ? "m" : "",
		.unanswered = (how & 4) != 0,
		.waiting_max = how & 8 ? 3 : 0,
		.values = (how & 32) != 0,
	};
	outcome whole = read_all(place(), &settings);
	settings.skip = true;
	outcome skipping = read_all(place(), &settings);
	COP_ASSERT(whole.err == skipping.err && whole.events == skipping.events && whole.bad == skipping.bad);
	COP_ASSERT(whole.sum == skipping.sum);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&set);
	return 0;
}
