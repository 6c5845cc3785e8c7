/* fuzz_wire: every decoder of lib/wire on arbitrary bytes. The first byte chooses the decoder and the model's shape,
 * the rest is the message. What was accepted must keep the promises of the headers, and written again must read the
 * same. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire_feedback.h"
#include "wire/wire_glance.h"
#include "wire/wire_items.h"
#include "wire/wire_json.h"
#include "wire/wire_mention.h"
#include "wire/wire_models.h"
#include "wire/wire_past.h"
#include "wire/wire_record.h"
#include "wire/wire_reply.h"

#define FEATURES           5
#define ARMS               11
#define NONZEROS           40
#define CANDIDATES         7
#define CANDIDATE_FEATURES 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct room {
	float dense[FEATURES];
	uint32_t index[NONZEROS];
	float value[NONZEROS];
	uint8_t mask[ARMS]; /* more than candidates */
	cop_row candidate[CANDIDATES];
	float candidate_value[CANDIDATES * NONZEROS];
	uint32_t candidate_index[CANDIDATES * NONZEROS];
} room;

static void check(int condition)
{
	if (!condition)
		abort();
}

static cop_wire_shape shapes[] = {
	{ .features = FEATURES, .arms = ARMS, .losses = 1 },
	{ .bits = 6, .max_nonzeros = NONZEROS, .losses = 2 },
	{ .features = FEATURES },
	{ .bits = 3, .max_nonzeros = NONZEROS, .arms = ARMS },
};

/* Of models that rank. */
static cop_wire_shape ranking[] = {
	{ .features = FEATURES, .max_candidates = CANDIDATES, .candidate_features = CANDIDATE_FEATURES, .losses = 1 },
	{ .bits = 6, .max_nonzeros = NONZEROS, .max_candidates = CANDIDATES, .losses = 1 },
};

static cop_wire_naming *naming_of(const cop_feature_space_settings *settings)
{
	cop_feature_space *space;
	cop_wire_naming *naming;
	check(cop_feature_space_new(settings, &space, NULL) == COP_OK);
	check(cop_wire_names_new(&space, NONZEROS, CANDIDATES, &naming) == COP_OK);
	return naming;
}

/* Names of every kind: columns that are all there are, plain hashes, products of namespaces. */
static void name_shapes(void)
{
	static const char *const names[FEATURES] = { "a", "b", "c^d", "e", "" };
	static const char *const pairs[] = { "ab", "::" };
	static const char arms[ARMS][2] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k" };
	static cop_name_table table;
	const cop_name_prefix none = { 0 };
	if (shapes[0].naming != NULL)
		return;
	for (uint32_t i = 0, arm; i < ARMS; i++)
		check(cop_name_table_add(&table, 0, none, arms[i], 1, &arm) == COP_OK && arm == i);
	shapes[0].arm_names = &table;
	check(cop_wire_names_new_list(names, FEATURES, CANDIDATES, &shapes[0].naming) == COP_OK);
	check(cop_wire_names_new_list(names, FEATURES, CANDIDATES, &ranking[0].naming) == COP_OK);
	ranking[0].naming->strict = false;
	shapes[1].naming = naming_of(&(cop_feature_space_settings){ .bits = 6 });
	shapes[3].naming = naming_of(&(cop_feature_space_settings){ .bits = 3, .hash_all = true, .ignore = "i" });
	ranking[1].naming = naming_of(&(cop_feature_space_settings){ .bits = 6, .pairs = pairs, .pair_count = 2 });
}

static cop_wire_workspace workspace_of(room *r)
{
	return (cop_wire_workspace){
		.dense = r->dense,
		.index = r->index,
		.value = r->value,
		.mask = r->mask,
		.candidate = r->candidate,
		.candidate_value = r->candidate_value,
		.candidate_index = r->candidate_index,
	};
}

static void check_fault(cop_err err, const cop_wire_fault *fault)
{
	check(fault->code > COP_WIRE_OK && fault->code < COP_WIRE_CODE_COUNT);
	check(memchr(fault->message, 0, sizeof fault->message) != NULL && fault->message[0] != '\0');
	check((err == COP_EFORMAT) == (fault->code == COP_WIRE_BAD_REQUEST));
}

static void check_row(const cop_row *x, const cop_wire_shape *shape)
{
	if (shape->features != 0) {
		check(x->d == shape->features && x->dense != NULL);
		for (size_t i = 0; i < x->d; i++)
			check(isfinite(x->dense[i]));
		return;
	}
	check(x->d == (size_t)1 << shape->bits && x->dense == NULL && x->nnz <= shape->max_nonzeros);
	for (size_t i = 0; i < x->nnz; i++) {
		check(x->index[i] < x->d && isfinite(x->value[i]) && x->value[i] != 0.0F);
		check(i == 0 || x->index[i - 1] < x->index[i]);
	}
}

static void check_same_row(const cop_row *a, const cop_row *b)
{
	check(a->d == b->d && a->nnz == b->nnz && (a->dense == NULL) == (b->dense == NULL));
	for (size_t i = 0; a->dense != NULL && i < a->d; i++)
		check(a->dense[i] == b->dense[i]);
	for (size_t i = 0; i < a->nnz; i++)
		check(a->index[i] == b->index[i] && a->value[i] == b->value[i]);
}

static void check_candidates(const cop_row *candidate, size_t count, const cop_wire_shape *shape)
{
	cop_wire_shape own = *shape;
	own.features = shape->candidate_features;
	check(count <= shape->max_candidates);
	for (size_t i = 0; i < count; i++)
		check_row(&candidate[i], &own);
}

static void check_context(const cop_wire_context *c, const cop_wire_shape *shape)
{
	size_t eligible = 0;
	for (size_t i = 0; i < c->arms; i++) {
		check(c->mask[i] <= 1);
		eligible += c->mask[i];
	}
	check(c->arms == 0 || eligible > 0);
	check(c->arms == (shape->max_candidates != 0 ? c->candidates : shape->arms));
	check_candidates(c->candidate, c->candidates, shape);
	for (size_t i = 0; i < c->candidates && c->names.at != NULL; i++) {
		const char *name = NULL;
		size_t length = 0;
		check(cop_wire_context_name(c, i, &name, &length) && length >= 1 && length <= 64);
	}
	check(c->id.kind == 0 || (c->id.length >= 1 && c->id.length <= COP_EVENT_ID_MAX));
	check(c->seq.length <= COP_WIRE_SEQ_MAX && isfinite(c->t));
	if (c->has_x)
		check_row(&c->x, shape);
	if (c->observed)
		check(shape->apprentice && c->mask[c->a] == 1 && c->a < c->arms && c->p > 0.0 && c->p <= 1.0);
}

static void fuzz_context(const cop_wire_shape *shape, bool explain, const uint8_t *data, size_t size)
{
	room first, second;
	cop_wire_workspace w1 = workspace_of(&first), w2 = workspace_of(&second);
	cop_wire_context a, b;
	cop_wire_fault fault = { 0 };
	cop_err err = explain ? cop_wire_explain_decode(data, size, shape, &w1, &a, &fault)
	                      : cop_wire_context_decode(data, size, shape, &w1, &a, &fault);
	if (err != COP_OK) {
		check_fault(err, &fault);
		return;
	}
	check_context(&a, shape);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_context_put(&bytes, &a, size % 2 ? COP_WIRE_FORM_ARRAY : COP_WIRE_FORM_PACKED);
	err = explain ? cop_wire_explain_decode(bytes.data, bytes.length, shape, &w2, &b, &fault)
	              : cop_wire_context_decode(bytes.data, bytes.length, shape, &w2, &b, &fault);
	check(err == COP_OK);
	check(cop_event_id_equal(&a.unit, &b.unit));
	check(cop_event_id_equal(&a.id, &b.id) && a.has_x == b.has_x && a.defer == b.defer && a.t == b.t);
	check(a.seq.length == b.seq.length && memcmp(a.seq.bytes, b.seq.bytes, a.seq.length) == 0);
	check(a.arms == b.arms && memcmp(first.mask, second.mask, a.arms) == 0);
	check(a.order == b.order && a.candidates == b.candidates);
	check(a.observed == b.observed && a.a == b.a && a.p == b.p);
	for (size_t i = 0; i < a.candidates; i++)
		check_same_row(&a.candidate[i], &b.candidate[i]);
	check(a.source.length == b.source.length && a.source.n == b.source.n);
	if (a.has_x)
		check_same_row(&a.x, &b.x);
	cop_bytes_fini(&bytes);
}

/* To decide, by a model that does and by an apprentice, which takes no more. */
static void fuzz_decide(const cop_wire_shape *shape, const uint8_t *data, size_t size)
{
	cop_wire_shape apprentice = *shape;
	apprentice.apprentice = true;
	fuzz_context(shape, false, data, size);
	fuzz_context(&apprentice, false, data, size);
}

static void fuzz_feedback(const cop_wire_shape *shape, const uint8_t *data, size_t size)
{
	room first, second;
	cop_wire_workspace w1 = workspace_of(&first), w2 = workspace_of(&second);
	cop_wire_feedback a, b;
	cop_wire_fault fault = { 0 };
	cop_err err = cop_wire_feedback_decode(data, size, shape, &w1, &a, &fault);
	if (err != COP_OK) {
		check_fault(err, &fault);
		return;
	}
	check(a.losses >= 1 && a.losses <= 2 && isfinite(a.loss[0]) && isfinite(a.loss[1]));
	check(!a.has_a || a.a < (shape->max_candidates != 0 ? shape->max_candidates : shape->arms));
	check(a.has_c <= (shape->max_candidates != 0));
	check_candidates(&a.candidate, a.has_c, shape);
	check(!a.has_p || (a.p > 0.0 && a.p <= 1.0));
	if (a.has_x)
		check_row(&a.x, shape);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_feedback_put(&bytes, &a, COP_WIRE_FORM_PACKED);
	check(cop_wire_feedback_decode(bytes.data, bytes.length, shape, &w2, &b, &fault) == COP_OK);
	check(cop_event_id_equal(&a.id, &b.id) && a.losses == b.losses && a.loss[0] == b.loss[0]);
	check(a.loss[1] == b.loss[1] && a.has_x == b.has_x && a.a == b.a && a.p == b.p && a.y == b.y);
	if (a.has_x)
		check_same_row(&a.x, &b.x);
	check(a.has_c == b.has_c);
	if (a.has_c)
		check_same_row(&a.candidate, &b.candidate);
	cop_bytes_fini(&bytes);
}

static void fuzz_items(const cop_wire_shape *shape, bool batch, const uint8_t *data, size_t size)
{
	cop_wire_items items;
	cop_wire_seq seq;
	cop_event_id id;
	cop_wire_fault fault = { 0 };
	cop_err err = batch ? cop_wire_items_batch(&items, data, size, &seq, &fault)
	                    : cop_wire_items_stream(&items, data, size, &fault);
	if (err != COP_OK) {
		check_fault(err, &fault);
		return;
	}
	const void *item;
	size_t length, count = 0;
	while (cop_wire_items_next(&items, &item, &length)) {
		const uint8_t *at = item;
		check(at >= data && length >= 1 && length <= (size_t)(data + size - at));
		cop_wire_envelope(item, length, &id, &seq);
		check(id.length <= COP_EVENT_ID_MAX && seq.length <= COP_WIRE_SEQ_MAX);
		(void)cop_wire_reply_is_error(item, length);
		fuzz_feedback(shape, item, length);
		count++;
	}
	check(count == items.count);
}

static void fuzz_action(const uint8_t *data, size_t size)
{
	cop_wire_action a, b;
	cop_wire_fault fault = { 0 };
	cop_err err = cop_wire_reply_action_decode(data, size, &a, &fault);
	if (err != COP_OK) {
		check_fault(err, &fault);
		return;
	}
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_reply_action_put(&bytes, &a);
	check(cop_wire_reply_action_decode(bytes.data, bytes.length, &b, &fault) == COP_OK);
	check(a.value == b.value && a.rev == b.rev && a.durable == b.durable && a.repeated == b.repeated);
	check(a.value ? a.y == b.y && a.probes == b.probes : a.a == b.a && a.p == b.p && a.greedy == b.greedy);
	cop_bytes_fini(&bytes);
}

static void fuzz_replies(const uint8_t *data, size_t size)
{
	cop_event_id id;
	cop_wire_seq seq;
	cop_wire_fault fault = { 0 }, error = { 0 };
	cop_wire_result result;
	cop_err err = cop_wire_reply_result_decode(data, size, &id, &result, &seq, &fault);
	if (err != COP_OK)
		check_fault(err, &fault);
	else
		check(result < COP_WIRE_RESULT_COUNT);
	err = cop_wire_reply_error_decode(data, size, &error, &id, &seq, &fault);
	if (err != COP_OK)
		check_fault(err, &fault);
	else
		check(error.code > COP_WIRE_OK && error.code < COP_WIRE_CODE_COUNT);
	err = cop_wire_plain_decode(data, size, &seq, &fault);
	if (err != COP_OK)
		check_fault(err, &fault);
}

static void fuzz_json(const uint8_t *data, size_t size)
{
	cop_bytes out;
	cop_bytes_init(&out);
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, data, size);
	bool fine = cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH) == COP_OK && cop_wire_cursor_left(&cursor) == 0;
	cop_err err = cop_wire_json(&out, data, size, (unsigned)(size % 3));
	check(err == COP_OK ? fine && out.length > 0 : err == COP_EFORMAT);
	for (size_t i = 0; i < out.length;) { /* valid UTF-8 whatever came in */
		size_t step = cop_wire_text_step((const char *)out.data + i, out.length - i);
		check(step > 0);
		i += step;
	}
	cop_bytes_fini(&out);
}

static void check_record(cop_wire_record_type type, const cop_wire_record *r, const cop_wire_shape *shape)
{
	check(isfinite(r->time) && isfinite(r->p) && isfinite(r->y) && r->u >= -1 && r->u <= 1);
	check(r->predictions <= COP_WIRE_RECORD_PREDICTIONS && r->losses <= 2);
	bool ranks = shape->max_candidates != 0;
	check(r->arms == (ranks ? r->candidates : shape->arms));
	check(ranks || r->values || r->a < shape->arms);
	check(!ranks || type != COP_WIRE_RECORD_DECISION || r->a < r->candidates);
	check(!ranks || r->a == COP_WIRE_RECORD_ANY_ARM || r->a < shape->max_candidates);
	check_candidates(r->candidate, r->candidates, shape);
	check(type != COP_WIRE_RECORD_DECISION || (r->has_x && (r->values || r->p > 0.0)));
	check(type != COP_WIRE_RECORD_FEEDBACK || r->losses >= 1);
	check(r->result < COP_WIRE_RESULT_COUNT && (r->models == NULL) <= (r->models_length == 0));
	if (r->has_x)
		check_row(&r->x, shape);
}

/* A glance sees what the record's decoder does. */
static void check_glance(const cop_wire_record *r, cop_wire_record_type type, const uint8_t *data, size_t size)
{
	cop_wire_glance glance;
	check(cop_wire_glance_head(data, size, &glance) == COP_OK);
	check(glance.model_length == r->model_length && glance.model == r->model);
	check(cop_wire_glance_read(data, size, &glance) == COP_OK);
	check(glance.time == r->time && cop_event_id_equal(&glance.id, &r->id));
	if (type == COP_WIRE_RECORD_DECISION)
		check(r->values ? glance.value == r->y : glance.arm == r->a && glance.p == r->p);
	if (type == COP_WIRE_RECORD_FEEDBACK)
		check(glance.losses == r->losses && glance.loss[0] == r->loss[0] && glance.result == r->result);
	check(glance.settled.count == r->settled.count && glance.settled.items == r->settled.items);
}

static void check_past(const cop_wire_past *past, bool many)
{
	cop_wire_past again;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_past_put(past, &bytes);
	check(bytes.err == COP_OK);
	check((many ? cop_wire_past_decisions(bytes.data, bytes.length, &again, NULL)
	            : cop_wire_past_decision(bytes.data, bytes.length, &again, NULL)) == COP_OK);
	check(cop_event_id_equal(&again.id, &past->id) && again.record == past->record);
	check(strcmp(again.prefix, past->prefix) == 0 && again.before == past->before);
	check(again.limit == past->limit && again.waiting == past->waiting);
	cop_bytes_fini(&bytes);
}

static void fuzz_past(const uint8_t *data, size_t size)
{
	cop_wire_past past;
	cop_wire_fault fault = { 0 };
	cop_err err = cop_wire_past_decision(data, size, &past, &fault);
	if (err == COP_OK)
		check_past(&past, false);
	else
		check_fault(err, &fault);
	err = cop_wire_past_decisions(data, size, &past, &fault);
	if (err == COP_OK)
		check_past(&past, true);
	else
		check_fault(err, &fault);
}

static bool keep_even(void *context, const cop_wire_settlement *is)
{
	(void)context;
	return is->id.bytes[0] % 2 == 0;
}

/* What is taken out of a body leaves a body: of the same record, and of one that was forgotten. */
static void check_mention(const uint8_t *data, size_t size, const cop_wire_record *decoded)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	cop_wire_glance mention, after;
	cop_wire_record forgotten;
	cop_err err = cop_wire_mention_read(data, size, &mention);
	check(err == COP_OK || (err == COP_EFORMAT && (decoded == NULL || decoded->model == NULL)));
	if (err != COP_OK)
		return;
	size_t gone = cop_wire_mention_count(&mention, keep_even, NULL);
	check(gone <= mention.settled.count);
	check(decoded == NULL || (cop_event_id_equal(&mention.id, &decoded->id) && mention.time == decoded->time &&
	                                 cop_event_id_equal(&mention.unit, &decoded->unit) &&
	                                 mention.settled.count == decoded->settled.count));
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_mention_put_forgotten(&bytes, &mention, keep_even, NULL);
	check(cop_wire_record_decode(COP_WIRE_RECORD_FORGOTTEN, bytes.data, bytes.length, &no_shape, &no_workspace,
	              &forgotten, NULL) == COP_OK);
	check(forgotten.settled.count == mention.settled.count - gone);
	cop_bytes_clear(&bytes);
	if (mention.settled_at != NULL) {
		cop_wire_mention_put_rest(&bytes, data, size, &mention, keep_even, NULL);
		check(cop_wire_mention_read(bytes.data, bytes.length, &after) == COP_OK);
		check(after.settled.count == mention.settled.count - gone && after.has_x == mention.has_x);
	}
	cop_bytes_fini(&bytes);
}

static void fuzz_record(const cop_wire_shape *shape, cop_wire_record_type type, const uint8_t *data, size_t size)
{
	room first, second;
	cop_wire_workspace w1 = workspace_of(&first), w2 = workspace_of(&second);
	cop_wire_record a, b;
	cop_wire_fault fault = { 0 };
	const char *model;
	size_t length;
	cop_err named = cop_wire_record_model(data, size, &model, &length);
	if (cop_wire_record_decode(type, data, size, shape, &w1, &a, &fault) != COP_OK) {
		check(fault.message[0] != '\0');
		check_mention(data, size, NULL);
		return;
	}
	check_mention(data, size, &a);
	check(named == COP_OK && length == a.model_length && model == a.model);
	check_record(type, &a, shape);
	check_glance(&a, type, data, size);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_record_put(&bytes, type, &a);
	check(cop_wire_record_decode(type, bytes.data, bytes.length, shape, &w2, &b, &fault) == COP_OK);
	check(cop_event_id_equal(&a.id, &b.id) && a.has_x == b.has_x && a.time == b.time);
	if (a.has_x)
		check_same_row(&a.x, &b.x);
	if (type == COP_WIRE_RECORD_DECISION) {
		check(a.rev == b.rev && a.defer == b.defer && a.predictions == b.predictions);
		check(a.values ? a.y == b.y && a.u == b.u : a.a == b.a && a.p == b.p && a.greedy == b.greedy);
		check((a.mask == NULL) == (b.mask == NULL));
		check(a.mask == NULL || memcmp(first.mask, second.mask, a.arms) == 0);
		check(a.candidates == b.candidates);
		for (size_t i = 0; i < a.candidates; i++)
			check_same_row(&a.candidate[i], &b.candidate[i]);
	}
	check(a.settled.count == b.settled.count && a.settled.length == b.settled.length);
	check(a.joined == b.joined);
	check(!a.observed || (!a.values && a.has_x && a.own_p >= 0.0 && a.own_p <= 1.0));
	check(a.observed == b.observed && a.own_p == b.own_p);
	check(type != COP_WIRE_RECORD_FEEDBACK || (a.losses == b.losses && a.loss[0] == b.loss[0]));
	check(type != COP_WIRE_RECORD_FEEDBACK || a.result == b.result);
	check(type != COP_WIRE_RECORD_CONFIG || a.models_length == b.models_length);
	cop_bytes_fini(&bytes);
}

static void check_model(const cop_wire_model *m)
{
	cop_wire_shape shape;
	cop_wire_models_shape(m, &shape);
	check(m->name_length >= 1 && m->name_length <= COP_WIRE_MODEL_NAME && m->learner_length >= 1);
	check(shape.features != 0 ? shape.bits == 0 : shape.bits >= 1 && shape.bits <= 31 && shape.max_nonzeros >= 1);
	check(shape.losses >= 1 && shape.losses <= 2 && m->loss_range[0] < m->loss_range[1]);
	check((m->candidate_features != 0) == (m->max_candidates != 0 && m->features != 0));
	check(m->arms != 0 || m->max_candidates != 0 || (m->value_range[0] < m->value_range[1] && m->delta > 0.0));
	check(m->reward < COP_WIRE_REWARD_COUNT && m->reward_window > 0.0 && isfinite(m->default_loss));
}

static void fuzz_models(const uint8_t *data, size_t size)
{
	cop_wire_models set;
	cop_wire_model models[16];
	cop_wire_fault fault = { 0 };
	size_t count = 0;
	cop_err err = cop_wire_models_open(&set, data, size, &fault);
	check(err == COP_OK || (err == COP_EFORMAT && fault.message[0] != '\0'));
	if (err != COP_OK)
		return;
	while (count < 16 && (err = cop_wire_models_next(&set, &models[count], &fault)) == COP_OK)
		check_model(&models[count++]);
	check(err == COP_OK || err == COP_EEND);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	check(cop_wire_models_put(&bytes, models, count, 1u << 20) == count && bytes.err == COP_OK);
	check(cop_wire_models_open(&set, bytes.data, bytes.length, &fault) == COP_OK && set.left == count);
	for (size_t i = 0; i < count; i++) {
		cop_wire_model back;
		check(cop_wire_models_next(&set, &back, &fault) == COP_OK);
		check(cop_wire_models_same_shape(&models[i], &back) && back.reward == models[i].reward);
		check(models[i].apart == back.apart && models[i].has_began == back.has_began &&
		        models[i].began == back.began);
	}
	cop_bytes_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	name_shapes();
	const cop_wire_shape *shape = &shapes[data[0] >> 3 & 3];
	unsigned which = data[0] & 7;
	unsigned record = data[0] >> 5; /* 0: none, one of the other decoders; 7: a set of models */
	unsigned ranks = record == 0 && which == 7 ? data[0] >> 3 & 3 : 0;
	if (record != 0 && (which == 4 || which == 5)) /* the low bits of records were 0 before there was ranking */
		shape = &ranking[which - 4];
	data++;
	size--;
	if (ranks == 3)
		fuzz_feedback(&ranking[size % 2], data, size);
	else if (ranks > 0)
		fuzz_decide(&ranking[ranks - 1], data, size);
	else if (record == COP_WIRE_RECORD_ACTIVATION && which == 6) /* they are alike; 7 is taken */
		fuzz_record(shape, COP_WIRE_RECORD_UNHEARD, data, size);
	else if (record == COP_WIRE_RECORD_ACTIVATION && which == 7)
		fuzz_record(shape, COP_WIRE_RECORD_FORGOTTEN, data, size);
	else if (record >= COP_WIRE_RECORD_DECISION && record <= COP_WIRE_RECORD_PROMOTION)
		fuzz_record(shape, (cop_wire_record_type)record, data, size);
	else if (record == 7)
		fuzz_models(data, size);
	else if (which == 0)
		fuzz_decide(shape, data, size);
	else if (which == 1)
		fuzz_context(shape, true, data, size);
	else if (which == 2)
		fuzz_feedback(shape, data, size);
	else if (which <= 4)
		fuzz_items(shape, which == 4, data, size);
	else if (which == 5)
		fuzz_action(data, size);
	else if (which == 6)
		fuzz_replies(data, size);
	else
		fuzz_json(data, size);
	if (record == 0 && which == 6)
		fuzz_past(data, size);
	return 0;
}
