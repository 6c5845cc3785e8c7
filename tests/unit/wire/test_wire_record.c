/* Journal records: every type and field there and back to the bit; cut, changed and foreign bytes; msgpack-c as the
 * judge of what is well-formed. */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include <msgpack.h>

#include "base/rng.h"
#include "wire/wire_put.h"
#include "wire/wire_record.h"
#include "wire_fixture.h"

#define SEED    59U
#define ROUNDS  3000
#define LETTERS "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz 0123456789"

static const cop_wire_record_type types[] = { COP_WIRE_RECORD_DECISION, COP_WIRE_RECORD_FEEDBACK,
	COP_WIRE_RECORD_EXPIRY, COP_WIRE_RECORD_ACTIVATION, COP_WIRE_RECORD_CONFIG, COP_WIRE_RECORD_PROMOTION,
	COP_WIRE_RECORD_UNHEARD, COP_WIRE_RECORD_FORGOTTEN, COP_WIRE_RECORD_MERGE };

#define TYPES (sizeof types / sizeof *types)

/* A record and what it points to. The fixture's two shapes are a dense model of arms and a sparse one of values. */
typedef struct sample {
	cop_wire_record record;
	float dense[FEATURES];
	uint32_t index[NONZEROS];
	float value[NONZEROS];
	uint8_t mask[ARMS];
	char name[COP_WIRE_RECORD_MODEL];
	char text[400];
} sample;

static const cop_wire_shape *shape_of(const fixture *f, bool values) { return values ? &f->sparse : &f->dense; }

/* Any finite double or float, bit by bit. */
static double any_double(cop_rng *rng)
{
	double value;
	do {
		uint64_t bits = cop_rng_u64(rng);
		memcpy(&value, &bits, sizeof value);
	} while (!isfinite(value));
	return value;
}

static float any_float(cop_rng *rng)
{
	float value;
	do {
		uint32_t bits = (uint32_t)cop_rng_u64(rng);
		memcpy(&value, &bits, sizeof value);
	} while (!isfinite(value));
	return value;
}

/* Words of every size. */
static uint64_t any_word(cop_rng *rng) { return cop_rng_u64(rng) >> cop_rng_below(rng, 64); }

static cop_bytes ended; /* of the last sample */

static void any_id(cop_event_id *id, cop_rng *rng)
{
	char text[COP_EVENT_ID_MAX];
	size_t length = 1 + (size_t)cop_rng_below(rng, COP_EVENT_ID_MAX);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)cop_rng_u64(rng);
	switch (cop_rng_below(rng, 4)) {
	case 0:
		assert_true(cop_event_id_from_bytes(id, COP_EVENT_ID_STRING, text, length));
		break;
	case 1:
		assert_true(cop_event_id_from_bytes(id, COP_EVENT_ID_BINARY, text, length));
		break;
	case 2:
		cop_event_id_from_unsigned(id, any_word(rng));
		break;
	default:
		cop_event_id_from_signed(id, -(int64_t)(any_word(rng) >> 1) - 1);
		break;
	}
}

static void any_row(sample *s, cop_rng *rng)
{
	cop_wire_record *r = &s->record;
	r->has_x = true;
	if (!r->values) {
		for (size_t i = 0; i < FEATURES; i++)
			s->dense[i] = any_float(rng);
		r->x = (cop_row){ .d = FEATURES, .dense = s->dense };
		return;
	}
	r->x = (cop_row){ .d = (size_t)1 << BITS, .index = s->index, .value = s->value };
	uint32_t at = 0;
	for (size_t i = (size_t)cop_rng_below(rng, NONZEROS + 1); i > 0; i--) {
		at += 1 + (uint32_t)cop_rng_below(rng, ((1U << BITS) - 1) / NONZEROS - 1);
		s->index[r->x.nnz] = at;
		do
			s->value[r->x.nnz] = any_float(rng);
		while (s->value[r->x.nnz] == 0.0f);
		r->x.nnz++;
	}
}

static void any_observed(cop_wire_record *r, cop_rng *rng)
{
	static const double ends[] = { 0.0, 1.0 };
	r->observed = cop_rng_below(rng, 3) == 0;
	if (r->observed)
		r->own_p = cop_rng_below(rng, 4) == 0 ? ends[cop_rng_below(rng, 2)] : cop_rng_unit(rng);
}

static void any_split(cop_wire_record *r, cop_rng *rng)
{
	static const int64_t baselines[] = { -2, -1, 0, 1, ARMS - 1, UINT32_MAX };
	r->split = cop_rng_below(rng, 3) == 0;
	if (!r->split)
		return;
	r->split_by = (cop_wire_split){ .share = 1.0 - 0.999 * cop_rng_unit(rng) - 1e-9,
		.baseline = baselines[cop_rng_below(rng, 6)],
		.allowance = cop_rng_below(rng, 2) == 0 ? 1.0 : cop_rng_unit(rng),
		.place = (uint32_t)cop_rng_below(rng, 65536) };
	r->split_by.kept = r->split_by.allowance < 1.0 && cop_rng_below(rng, 2) == 0;
}

/* What a record ended beside its own decision; an expiry ended something. */
static void any_settled(sample *s, cop_wire_record_type type, cop_rng *rng)
{
	cop_wire_record *r = &s->record;
	bool ends = type == COP_WIRE_RECORD_EXPIRY;
	cop_bytes_clear(&ended);
	cop_bytes_reserve(&ended, 512);
	r->settled.count = (ends ? 1 : 0) + (size_t)cop_rng_below(rng, 3);
	for (size_t i = 0; i < r->settled.count; i++) {
		cop_wire_settlement is = { .outcome = (cop_wire_outcome)cop_rng_below(rng, COP_WIRE_OUTCOMES) };
		any_id(&is.id, rng);
		is.losses = cop_wire_settled_learned(is.outcome) ? 1 + (unsigned)cop_rng_below(rng, 2) : 0;
		for (unsigned k = 0; k < is.losses; k++)
			is.loss[k] = any_double(rng);
		cop_wire_settled_add(&ended, &is);
	}
	r->settled.items = ended.data;
	r->settled.length = ended.length;
}

static void any_decision(sample *s, cop_rng *rng)
{
	cop_wire_record *r = &s->record;
	any_row(s, rng);
	if (cop_rng_below(rng, 2) != 0)
		any_id(&r->unit, rng);
	r->rev = any_word(rng);
	r->defer = cop_rng_below(rng, 2) != 0;
	r->predictions = (unsigned)cop_rng_below(rng, COP_WIRE_RECORD_PREDICTIONS + 1);
	for (unsigned i = 0; i < r->predictions; i++)
		r->prediction[i] = any_float(rng);
	if (r->values) {
		r->y = any_double(rng);
		r->u = (int8_t)((int)cop_rng_below(rng, 3) - 1);
		return;
	}
	r->a = (uint32_t)cop_rng_below(rng, ARMS);
	r->p = 1.0 - cop_rng_unit(rng);
	r->limit = (cop_wire_limit)cop_rng_below(rng, COP_WIRE_LIMITS);
	r->greedy = cop_rng_below(rng, 2) != 0;
	any_observed(r, rng);
	any_split(r, rng);
	if (cop_rng_below(rng, 2) != 0) {
		r->played = LETTERS;
		r->played_length = 1 + (size_t)cop_rng_below(rng, COP_WIRE_CANDIDATE_NAME);
	}
	if (cop_rng_below(rng, 2) != 0) {
		for (size_t k = 0; k < ARMS; k++)
			s->mask[k] = (uint8_t)cop_rng_below(rng, 2);
		s->mask[cop_rng_below(rng, ARMS)] = 1;
		r->mask = s->mask;
	}
}

static void any_feedback(sample *s, cop_rng *rng)
{
	cop_wire_record *r = &s->record;
	r->losses = 1 + (unsigned)cop_rng_below(rng, 2);
	for (unsigned i = 0; i < r->losses; i++)
		r->loss[i] = any_double(rng);
	r->result = (cop_wire_result)cop_rng_below(rng, COP_WIRE_RESULT_COUNT);
	if (cop_rng_below(rng, 2) == 0)
		return;
	any_row(s, rng);
	if (cop_rng_below(rng, 2) != 0)
		any_id(&r->unit, rng);
	r->joined = r->result <= COP_WIRE_RECORDED && cop_rng_below(rng, 2) != 0;
	if (r->values)
		return;
	r->a = (uint32_t)cop_rng_below(rng, ARMS);
	r->p = 1.0 - cop_rng_unit(rng);
	any_observed(r, rng);
	r->greedy = r->observed && cop_rng_below(rng, 2) != 0;
}

/* A life's beginning, or a summary. */
static void any_merge(sample *s, cop_rng *rng)
{
	cop_wire_record *r = &s->record;
	r->life = 1 + (any_word(rng) >> 1);
	if (cop_rng_below(rng, 3) == 0)
		return;
	r->part = (uint32_t)any_word(rng);
	r->count = any_word(rng);
	r->at = any_double(rng);
	r->sums_length = (size_t)cop_rng_below(rng, sizeof s->text + 1);
	memset(s->text, 's', r->sums_length);
	r->sums = (const uint8_t *)s->text;
}

static void any_record(sample *s, cop_wire_record_type type, bool values, cop_rng *rng)
{
	memset(s, 0, sizeof *s);
	cop_wire_record *r = &s->record;
	r->values = values;
	r->arms = values ? 0 : ARMS;
	r->time = any_double(rng);
	if (type == COP_WIRE_RECORD_CONFIG) {
		r->text = s->text;
		r->text_length = (size_t)cop_rng_below(rng, sizeof s->text + 1);
		memset(s->text, 'c', r->text_length);
		if (cop_rng_below(rng, 2) != 0) {
			r->models = (const uint8_t *)s->text;
			r->models_length = r->text_length;
		}
		return;
	}
	if (type == COP_WIRE_RECORD_MERGE)
		any_merge(s, rng);
	r->model = s->name;
	r->model_length = 1 + (size_t)cop_rng_below(rng, sizeof s->name);
	memset(s->name, 'a' + (int)(r->model_length % 26), r->model_length);
	if (type == COP_WIRE_RECORD_MERGE)
		return;
	if (type != COP_WIRE_RECORD_EXPIRY && type != COP_WIRE_RECORD_PROMOTION && type != COP_WIRE_RECORD_FORGOTTEN)
		any_id(&r->id, rng);
	if (type == COP_WIRE_RECORD_DECISION)
		any_decision(s, rng);
	else if (type == COP_WIRE_RECORD_FEEDBACK)
		any_feedback(s, rng);
	else if (type == COP_WIRE_RECORD_ACTIVATION)
		r->result = (cop_wire_result)cop_rng_below(rng, COP_WIRE_RESULT_COUNT);
	else if (type == COP_WIRE_RECORD_PROMOTION)
		r->promotion = (cop_wire_promotion)cop_rng_below(rng, COP_WIRE_PROMOTIONS);
	if (type != COP_WIRE_RECORD_PROMOTION && type != COP_WIRE_RECORD_UNHEARD)
		any_settled(s, type, rng);
	if (r->promotion == COP_WIRE_PROMOTION_CHALLENGE) {
		r->count = 1 + (any_word(rng) >> 1);
		r->crc = (uint32_t)cop_rng_u64(rng);
	}
}

static bool same_text(const char *a, size_t a_length, const char *b, size_t b_length)
{
	return (a == NULL) == (b == NULL) && a_length == b_length && (a_length == 0 || memcmp(a, b, a_length) == 0);
}

/* To the bit, so that -0 is not 0. */
static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static void check_row(const cop_row *a, const cop_row *b)
{
	assert_int_equal(a->d, b->d);
	assert_int_equal(a->nnz, b->nnz);
	assert_int_equal(a->dense == NULL, b->dense == NULL);
	if (a->dense != NULL)
		assert_memory_equal(a->dense, b->dense, a->d * sizeof(float));
	for (size_t i = 0; i < a->nnz; i++)
		assert_true(a->index[i] == b->index[i] && memcmp(&a->value[i], &b->value[i], sizeof(float)) == 0);
}

static void check_settled(const cop_wire_settled *a, const cop_wire_settled *b)
{
	cop_wire_settled one = *a, other = *b;
	cop_wire_settlement x, y;
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_true(cop_wire_settled_next(&one, &x) && cop_wire_settled_next(&other, &y));
		assert_true(cop_event_id_equal(&x.id, &y.id) && x.outcome == y.outcome && x.losses == y.losses);
		assert_true(same_bits(x.loss[0], y.loss[0]) && same_bits(x.loss[1], y.loss[1]));
	}
	assert_false(cop_wire_settled_next(&other, &y));
}

static void check_same(const cop_wire_record *a, const cop_wire_record *b)
{
	assert_true(same_text(a->model, a->model_length, b->model, b->model_length));
	assert_true(same_text(a->text, a->text_length, b->text, b->text_length));
	assert_true(same_bits(a->time, b->time) && same_bits(a->p, b->p) && same_bits(a->y, b->y));
	assert_true(cop_event_id_equal(&a->id, &b->id) && cop_event_id_equal(&a->unit, &b->unit));
	assert_true(a->life == b->life && a->part == b->part && same_bits(a->at, b->at));
	assert_true(same_text((const char *)a->sums, a->sums_length, (const char *)b->sums, b->sums_length));
	assert_int_equal(a->has_x, b->has_x);
	if (a->has_x)
		check_row(&a->x, &b->x);
	assert_int_equal(a->arms, b->arms);
	assert_int_equal(a->mask == NULL, b->mask == NULL);
	if (a->mask != NULL)
		assert_memory_equal(a->mask, b->mask, a->arms);
	assert_int_equal(a->values, b->values);
	assert_int_equal(a->a, b->a);
	assert_int_equal(a->greedy, b->greedy);
	assert_int_equal(a->limit, b->limit);
	assert_true(same_text(a->played, a->played_length, b->played, b->played_length));
	assert_int_equal(a->observed, b->observed);
	assert_true(same_bits(a->own_p, b->own_p));
	assert_int_equal(a->split, b->split);
	assert_true(same_bits(a->split_by.share, b->split_by.share) && a->split_by.baseline == b->split_by.baseline);
	assert_int_equal(a->split_by.place, b->split_by.place);
	assert_true(!a->split ||
	            (same_bits(a->split_by.allowance, b->split_by.allowance) && a->split_by.kept == b->split_by.kept));
	assert_int_equal(a->u, b->u);
	assert_true(a->rev == b->rev && a->count == b->count);
	assert_true(a->promotion == b->promotion && a->crc == b->crc);
	assert_true(a->result == b->result && a->joined == b->joined);
	check_settled(&a->settled, &b->settled);
	assert_true(same_text((const char *)a->models, a->models_length, (const char *)b->models, b->models_length));
	assert_int_equal(a->defer, b->defer);
	assert_int_equal(a->predictions, b->predictions);
	assert_memory_equal(a->prediction, b->prediction, sizeof a->prediction);
	assert_int_equal(a->losses, b->losses);
	assert_true(same_bits(a->loss[0], b->loss[0]) && same_bits(a->loss[1], b->loss[1]));
}

static bool is_well_formed(const void *data, size_t length)
{
	msgpack_unpacked unpacked;
	size_t end = 0;
	msgpack_unpacked_init(&unpacked);
	msgpack_unpack_return answer = msgpack_unpack_next(&unpacked, data, length, &end);
	bool fine = answer == MSGPACK_UNPACK_SUCCESS && end == length && unpacked.data.type == MSGPACK_OBJECT_MAP;
	msgpack_unpacked_destroy(&unpacked);
	return fine;
}

static void test_any_record_comes_back_to_the_bit(void **state)
{
	(void)state;
	static sample s;
	fixture f;
	cop_rng rng;
	cop_bytes bytes;
	cop_wire_record back;
	cop_wire_fault fault = { 0 };
	fixture_init(&f);
	cop_rng_init(&rng, SEED, 0);
	cop_bytes_init(&bytes);
	cop_bytes_reserve(&bytes, 2048);
	printf("seed %u\n", SEED);
	for (size_t n = 0; n < ROUNDS * TYPES; n++) {
		bool values = cop_rng_below(&rng, 2) != 0;
		cop_wire_record_type type = types[n % TYPES];
		any_record(&s, type, values, &rng);
		cop_bytes_clear(&bytes);
		cop_test_alloc_fail(1, 1);
		cop_wire_record_put(&bytes, type, &s.record);
		assert_int_equal(bytes.err, COP_OK);
		cop_err err = cop_wire_record_decode(
		        type, bytes.data, bytes.length, shape_of(&f, values), &f.workspace, &back, &fault);
		if (err != COP_OK)
			fail_msg("round %zu: %s", n, fault.message);
		check_same(&s.record, &back);
		const char *model = "";
		size_t length = 1;
		assert_int_equal(cop_wire_record_model(bytes.data, bytes.length, &model, &length), COP_OK);
		assert_true(same_text(model, length, s.record.model, s.record.model_length));
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_test_alloc_fail(0, 0);
		assert_true(is_well_formed(bytes.data, bytes.length));
	}
	cop_bytes_fini(&bytes);
}

static cop_wire_record_type sweep_type;
static bool sweep_values;

/* A decoded record that is not well-formed, or whose fields break the header's promises, is a failure. */
static cop_err decode(fixture *f, const void *body, size_t length)
{
	const cop_wire_shape *shape = shape_of(f, sweep_values);
	cop_wire_record r;
	cop_wire_fault fault = { 0 };
	const char *model;
	size_t model_length;
	(void)!cop_wire_record_model(body, length, &model, &model_length);
	(void)!cop_wire_record_decode(sweep_type, body, length, shape, &f->workspace, &r, NULL);
	cop_err err = cop_wire_record_decode(sweep_type, body, length, shape, &f->workspace, &r, &fault);
	if (err != COP_OK) {
		assert_true(fault.message[0] != '\0');
		return err;
	}
	assert_true(is_well_formed(body, length));
	assert_true(isfinite(r.time) && isfinite(r.p) && isfinite(r.y) && r.u >= -1 && r.u <= 1);
	assert_true(r.predictions <= COP_WIRE_RECORD_PREDICTIONS && r.losses <= 2);
	assert_true(r.values || r.a < ARMS);
	assert_true(!r.observed || (!r.values && r.has_x && r.own_p >= 0.0 && r.own_p <= 1.0));
	assert_true(!r.split || (r.split_by.share > 0.0 && r.split_by.share < 1.0));
	if (sweep_type == COP_WIRE_RECORD_DECISION)
		assert_true(r.has_x && r.id.kind != 0 && r.model != NULL && (r.values || (r.p > 0.0 && r.p <= 1.0)));
	if (sweep_type == COP_WIRE_RECORD_FEEDBACK)
		assert_true(r.losses >= 1 && (!r.has_x || r.values || (r.p > 0.0 && r.p <= 1.0)));
	if (r.has_x && r.x.dense != NULL)
		for (size_t i = 0; i < FEATURES; i++)
			assert_true(isfinite(r.x.dense[i]));
	return COP_OK;
}

static void sweep(void (*over)(fixture *f, decoder decode, const cop_bytes *message), size_t rounds)
{
	static sample s;
	fixture f;
	cop_rng rng;
	cop_bytes bytes;
	fixture_init(&f);
	cop_rng_init(&rng, SEED, 1);
	cop_bytes_init(&bytes);
	for (size_t n = 0; n < rounds * TYPES; n++) {
		sweep_type = types[n % TYPES];
		sweep_values = n / TYPES % 2 != 0;
		any_record(&s, sweep_type, sweep_values, &rng);
		cop_bytes_clear(&bytes);
		cop_wire_record_put(&bytes, sweep_type, &s.record);
		assert_int_equal(decode(&f, bytes.data, bytes.length), COP_OK);
		over(&f, decode, &bytes);
		cop_bytes_put_u8(&bytes, 0xc0); /* and nothing may follow */
		assert_int_not_equal(decode(&f, bytes.data, bytes.length), COP_OK);
	}
	cop_bytes_fini(&bytes);
}

static void test_cut_record_is_refused(void **state)
{
	(void)state;
	sweep(sweep_truncations, 40);
}

static void test_changed_byte_is_refused_or_a_record(void **state)
{
	(void)state;
	sweep(sweep_mutations, 4);
}

static void test_arbitrary_bytes_are_refused_or_a_record(void **state)
{
	(void)state;
	fixture f;
	cop_rng rng;
	fixture_init(&f);
	cop_rng_init(&rng, SEED, 2);
	for (size_t n = 0; n < 20000; n++) {
		uint8_t body[64];
		size_t length = (size_t)cop_rng_below(&rng, sizeof body);
		for (size_t i = 0; i < length; i++)
			body[i] = (uint8_t)cop_rng_u64(&rng);
		if (length > 0)
			body[0] = (uint8_t)(0x80 | (body[0] & 0x0f));
		sweep_type = types[n % TYPES];
		sweep_values = n / TYPES % 2 != 0;
		(void)!decode(&f, body, length);
	}
}

/* Of a model that was given features: what is missing at the end is left out, in between it is NaN; readers that know
 * of more features have the rest as unknown, and those of a model that was not given any take none of it. */
static void test_unknown_features_come_back(void **state)
{
	enum { WIDTH = 6 };
	static const float contexts[][WIDTH] = { { 1, 2, 3, NAN, NAN, NAN }, { 1, 2, 3, NAN, 5, NAN },
		{ 1, 2, 3, 4, 5, 6 } };
	(void)state;
	for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
		float room[WIDTH];
		uint8_t mask[2];
		cop_wire_shape shape = { .features = WIDTH, .least_features = 2, .arms = 2, .losses = 1 };
		const cop_wire_workspace workspace = { .dense = room, .mask = mask };
		const cop_wire_record in = { .model = "m",
			.model_length = 1,
			.id = { .kind = COP_EVENT_ID_STRING, .length = 1, .bytes = { 'a' } },
			.x = { .d = WIDTH, .dense = contexts[i] },
			.has_x = true,
			.p = 0.5 };
		cop_wire_record out;
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_wire_record_put(&bytes, COP_WIRE_RECORD_DECISION, &in);
		assert_int_equal(bytes.err, COP_OK);
		cop_wire_record_type type = COP_WIRE_RECORD_DECISION;
		assert_int_equal(
		        cop_wire_record_decode(type, bytes.data, bytes.length, &shape, &workspace, &out, NULL), COP_OK);
		assert_int_equal(out.x.d, WIDTH);
		for (size_t j = 0; j < WIDTH; j++)
			assert_true(isnan(contexts[i][j]) ? isnan(room[j]) : room[j] == contexts[i][j]);
		shape.least_features = 0;
		cop_err err = cop_wire_record_decode(type, bytes.data, bytes.length, &shape, &workspace, &out, NULL);
		assert_int_equal(err == COP_OK, i == 2);
		cop_bytes_fini(&bytes);
	}
}

static void test_context_where_none_belongs_is_passed_over(void **state)
{
	(void)state;
	static const cop_wire_shape shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace nothing = { 0 };
	cop_wire_record r;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_message(&bytes,
	        "{'t':1,'text':'a','x':{'0':1},'mask':[1],'c':[[1]],'m':'a','id':1,'r':0,'s':[[1,2]],'sums':[1]}");
	for (size_t i = 2; i < TYPES; i++) {
		assert_int_equal(
		        cop_wire_record_decode(types[i], bytes.data, bytes.length, &shape, &nothing, &r, NULL), COP_OK);
		assert_true(!r.has_x && r.candidates == 0 && r.mask == NULL);
	}
	cop_bytes_fini(&bytes);
}

static void test_wrong_records_are_refused(void **state)
{
	(void)state;
	static const struct {
		cop_wire_record_type type;
		bool values;
		const char *message;
	} wrong[] = {
		{ COP_WIRE_RECORD_DECISION, false, "[]" },
		{ COP_WIRE_RECORD_DECISION, false, "{}" },
		/* Without x; arm beyond; p outside; no p; action of the other kind of model; too many features. */
		{ COP_WIRE_RECORD_DECISION, false, "{'m':'a','t':1,'id':1,'rev':0,'a':0,'p':0.5,'g':true}" },
		{ COP_WIRE_RECORD_DECISION, false,
		        "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':6,'p':0.5,'g':true}" },
		{ COP_WIRE_RECORD_DECISION, false,
		        "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':0,'p':0.0,'g':true}" },
		{ COP_WIRE_RECORD_DECISION, false,
		        "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':0,'p':1.5,'g':true}" },
		{ COP_WIRE_RECORD_DECISION, false, "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':0,'g':true}" },
		{ COP_WIRE_RECORD_DECISION, false, "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'y':0.5,'u':0}" },
		{ COP_WIRE_RECORD_DECISION, true, "{'m':'a','t':1,'id':1,'x':{},'rev':0,'a':0,'p':1.0,'g':true}" },
		{ COP_WIRE_RECORD_DECISION, true, "{'m':'a','t':1,'id':1,'x':{},'rev':0,'y':0.5,'u':2}" },
		{ COP_WIRE_RECORD_DECISION, true, "{'m':'a','t':1,'id':1,'x':{},'rev':0,'y':0.5,'u':0,'mask':[1]}" },
		{ COP_WIRE_RECORD_DECISION, false,
		        "{'m':'a','t':1,'id':1,'x':[1,2,3,4,5],'rev':0,'a':0,'p':0.5,'g':true}" },
		{ COP_WIRE_RECORD_DECISION, false,
		        "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':0,'p':0.5,'g':true,'mask':[0,0,0,0,0,0]}" },
		/* Observed: a probability outside; of values; of what is no decision, or not complete. */
		{ COP_WIRE_RECORD_DECISION, false,
		        "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':0,'p':0.5,'g':true,'o':1.5}" },
		{ COP_WIRE_RECORD_DECISION, false,
		        "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':0,'p':0.5,'g':true,'o':true}" },
		{ COP_WIRE_RECORD_DECISION, true, "{'m':'a','t':1,'id':1,'x':{},'rev':0,'y':0.5,'u':0,'o':0.5}" },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'loss':[1],'r':0,'o':0.5}" },
		{ COP_WIRE_RECORD_ACTIVATION, false, "{'m':'a','t':1,'id':1,'r':0,'o':0.5}" },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'r':0}" },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'r':0,'loss':[]}" },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'r':0,'loss':[1,2,3]}" },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'r':0,'loss':['x']}" },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'r':0,'loss':[1],'x':[1,2,3,4]}" },
		{ COP_WIRE_RECORD_FEEDBACK, false,
		        "{'m':'a','t':1,'id':1,'r':0,'loss':[1],'x':[1,2,3,4],'a':6,'p':1}" },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'loss':[1],'r':5}" },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'loss':[1],'r':'applied'}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1}" },
		/* Endings: no array; an unknown outcome; learned without a loss, or the other way round; three losses.
		 */
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':1}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':[1]}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':[[1]]}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':[[1,6]]}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':[[1,0]]}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':[[1,2,0.5]]}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':[[1,0,1,1,1]]}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':[[1,0,'x']]}" },
		{ COP_WIRE_RECORD_EXPIRY, false, "{'m':'a','t':1,'s':[[[],2]]}" },
		/* Joined, but not self-contained; but not taken. */
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'loss':[1],'r':0,'j':true}" },
		{ COP_WIRE_RECORD_FEEDBACK, false,
		        "{'m':'a','t':1,'id':1,'loss':[1],'r':2,'x':[1,2,3,4],'a':1,'p':1,'j':true}" },
		{ COP_WIRE_RECORD_ACTIVATION, false, "{'m':'a','t':1}" },
		{ COP_WIRE_RECORD_ACTIVATION, false, "{'m':'a','id':1}" },
		{ COP_WIRE_RECORD_UNHEARD, false, "{'m':'a','t':1}" },
		{ COP_WIRE_RECORD_UNHEARD, false, "{'t':1,'id':1}" },
		{ COP_WIRE_RECORD_CONFIG, false, "{'t':1}" },
		{ COP_WIRE_RECORD_CONFIG, false, "{'t':1,'text':7}" },
		{ COP_WIRE_RECORD_CONFIG, false, "{'t':1,'text':'a','models':[]}" },
		{ COP_WIRE_RECORD_PROMOTION, false, "{'t':1}" },
		{ COP_WIRE_RECORD_MERGE, false, "{'m':'a','t':1}" },
		{ COP_WIRE_RECORD_MERGE, false, "{'t':1,'sums':[1]}" },
		{ COP_WIRE_RECORD_MERGE, false, "{'m':'a','t':1,'sums':[-1]}" },
		{ COP_WIRE_RECORD_MERGE, false, "{'m':'a','t':1,'sums':1}" },
		{ COP_WIRE_RECORD_MERGE, false, "{'m':'a','t':1,'sums':[1,1,2,3]}" },
		{ COP_WIRE_RECORD_MERGE, false, "{'m':'a','t':1,'sums':[1,1,2,3,4]}" },
		{ COP_WIRE_RECORD_MERGE, false, "{'m':'a','t':1,'sums':[1,'a',2,3,4]}" },
		{ COP_WIRE_RECORD_PROMOTION, false, "{'m':'a','m':'b'}" },
		{ COP_WIRE_RECORD_PROMOTION, false, "{'m':'a','t':1,'k':7}" },
		{ COP_WIRE_RECORD_PROMOTION, false, "{'m':'a','t':1,'k':1}" },
		{ COP_WIRE_RECORD_PROMOTION, false, "{'m':'a','t':1,'k':1,'n':1,'crc':4294967296}" },
	};
	fixture f;
	cop_bytes bytes;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_bytes_clear(&bytes);
		put_message(&bytes, wrong[i].message);
		sweep_type = wrong[i].type;
		sweep_values = wrong[i].values;
		if (decode(&f, bytes.data, bytes.length) == COP_OK)
			fail_msg("%s was taken", wrong[i].message);
	}
	cop_bytes_fini(&bytes);
}

/* Predictions are whole floats, and not more of them than a record holds. */
static void test_predictions_of_wrong_length_are_refused(void **state)
{
	(void)state;
	static const float some[COP_WIRE_RECORD_PREDICTIONS + 1] = { 0.5F };
	fixture f;
	cop_bytes bytes;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	for (size_t length = 0; length <= sizeof some; length++) {
		cop_wire_record record;
		cop_wire_fault fault = { .message = "" };
		cop_bytes_clear(&bytes);
		put_message(&bytes, "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':0,'p':0.5,'g':true}");
		bytes.data[0]++; /* one pair more */
		cop_wire_put_text(&bytes, "e");
		cop_wire_put_binary(&bytes, some, length);
		cop_err err = cop_wire_record_decode(
		        COP_WIRE_RECORD_DECISION, bytes.data, bytes.length, &f.dense, &f.workspace, &record, &fault);
		if (length % sizeof *some == 0 && length < sizeof some) {
			assert_int_equal(err, COP_OK);
			assert_int_equal(record.predictions, length / sizeof *some);
		} else {
			assert_int_equal(err, COP_EFORMAT);
			assert_non_null(strstr(fault.message, "record: e: "));
		}
	}
	cop_bytes_fini(&bytes);
}

static void test_density_is_of_decisions_of_values_alone(void **state)
{
	(void)state;
	static const struct {
		cop_wire_record_type type;
		bool values;
		const char *message;
		bool density;
	} cases[] = { { COP_WIRE_RECORD_DECISION, false,
		              "{'m':'a','t':1,'id':1,'x':[1,2,3,4],'rev':0,'a':0,'p':0.5,'g':true}", false },
		{ COP_WIRE_RECORD_DECISION, true, "{'m':'a','t':1,'id':1,'x':{},'rev':0,'y':0.5,'u':0}", false },
		{ COP_WIRE_RECORD_DECISION, true, "{'m':'a','t':1,'id':1,'x':{},'rev':0,'y':0.5,'u':0,'p':0.5}", true },
		{ COP_WIRE_RECORD_FEEDBACK, false, "{'m':'a','t':1,'id':1,'loss':[1],'r':0,'x':[1,2,3,4],'a':0,'p':1}",
		        false } };
	fixture f;
	cop_bytes bytes;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_wire_record record;
		cop_bytes_clear(&bytes);
		put_message(&bytes, cases[i].message);
		assert_int_equal(cop_wire_record_decode(cases[i].type, bytes.data, bytes.length,
		                         shape_of(&f, cases[i].values), &f.workspace, &record, NULL),
		        COP_OK);
		assert_int_equal(record.density, cases[i].density);
		assert_int_equal(record.values, cases[i].values);
	}
	cop_bytes_fini(&bytes);
}

/* Every key that a record cannot be without, left out. */
static void test_record_without_a_needed_key_is_refused(void **state)
{
	(void)state;
	static const struct {
		cop_wire_record_type type;
		bool values;
		const char *pairs[10];
	} cases[] = {
		{ COP_WIRE_RECORD_DECISION, false,
		        { "'m':'a'", "'t':1", "'id':1", "'x':[1,2,3,4]", "'rev':0", "'a':0", "'p':0.5", "'g':true" } },
		{ COP_WIRE_RECORD_DECISION, true,
		        { "'m':'a'", "'t':1", "'id':1", "'x':{}", "'rev':0", "'y':0.5", "'u':0" } },
		{ COP_WIRE_RECORD_FEEDBACK, false, { "'m':'a'", "'t':1", "'id':1", "'loss':[1]", "'r':0" } },
		{ COP_WIRE_RECORD_EXPIRY, false, { "'m':'a'", "'t':1", "'s':[[1,2]]" } },
		{ COP_WIRE_RECORD_ACTIVATION, false, { "'m':'a'", "'t':1", "'id':1", "'r':0" } },
		{ COP_WIRE_RECORD_UNHEARD, false, { "'m':'a'", "'t':1", "'id':1" } },
		{ COP_WIRE_RECORD_CONFIG, false, { "'t':1", "'text':'a'" } },
		{ COP_WIRE_RECORD_PROMOTION, false, { "'m':'a'", "'t':1" } },
	};
	fixture f;
	cop_bytes bytes;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t count = 0;
		while (count < 10 && cases[i].pairs[count] != NULL)
			count++;
		for (size_t without = 0; without <= count; without++) {
			char text[256] = "{";
			for (size_t k = 0; k < count; k++)
				if (k != without)
					(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
					        text[1] == '\0' ? "" : ",", cases[i].pairs[k]);
			(void)snprintf(text + strlen(text), sizeof text - strlen(text), "}");
			cop_wire_record record;
			cop_bytes_clear(&bytes);
			put_message(&bytes, text);
			cop_err err = cop_wire_record_decode(cases[i].type, bytes.data, bytes.length,
			        shape_of(&f, cases[i].values), &f.workspace, &record, NULL);
			if ((err == COP_OK) != (without == count))
				fail_msg("%s", text);
		}
	}
	cop_bytes_fini(&bytes);
}

/* As the first versions wrote them. */
static void test_promotion_without_kind_is_none(void **state)
{
	(void)state;
	fixture f;
	cop_bytes bytes;
	cop_wire_record record;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	cop_wire_put_map(&bytes, 2);
	cop_wire_put_key_text(&bytes, "m", "a");
	cop_wire_put_key_double(&bytes, "t", 1.0);
	cop_err err = cop_wire_record_decode(
	        COP_WIRE_RECORD_PROMOTION, bytes.data, bytes.length, &f.dense, &f.workspace, &record, NULL);
	assert_int_equal(err, COP_OK);
	assert_int_equal(record.promotion, COP_WIRE_PROMOTION_NONE);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_record_comes_back_to_the_bit),
		cmocka_unit_test(test_cut_record_is_refused),
		cmocka_unit_test(test_promotion_without_kind_is_none),
		cmocka_unit_test(test_changed_byte_is_refused_or_a_record),
		cmocka_unit_test(test_arbitrary_bytes_are_refused_or_a_record),
		cmocka_unit_test(test_unknown_features_come_back),
		cmocka_unit_test(test_context_where_none_belongs_is_passed_over),
		cmocka_unit_test(test_wrong_records_are_refused),
		cmocka_unit_test(test_predictions_of_wrong_length_are_refused),
		cmocka_unit_test(test_density_is_of_decisions_of_values_alone),
		cmocka_unit_test(test_record_without_a_needed_key_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
