/* Whom a body mentions is what the decoder with the model's shape reads, and bodies that mention less decode. */
#include "support.h"
#include "wire/wire_mention.h"
#include "wire/wire_put.h"
#include "wire/wire_record.h"
#include "wire_fixture.h"

static bool keeps_even(void *context, const cop_wire_settlement *is)
{
	(void)context;
	return is->id.kind == COP_EVENT_ID_UNSIGNED && is->id.bytes[0] % 2 == 0;
}

static bool keeps_all(void *context, const cop_wire_settlement *is) { return context == NULL && is->losses < 3; }

static cop_wire_settled settled_of(cop_bytes *room, uint64_t count)
{
	cop_bytes_clear(room);
	for (uint64_t i = 0; i < count; i++) {
		cop_wire_settlement is = { .outcome = i % 3 == 0 ? COP_WIRE_OUTCOME_RECORDED
			                                         : COP_WIRE_OUTCOME_UNANSWERED };
		is.losses = is.outcome == COP_WIRE_OUTCOME_RECORDED;
		is.loss[0] = (double)i / 7.0;
		cop_event_id_from_unsigned(&is.id, i);
		cop_wire_settled_add(room, &is);
	}
	return (cop_wire_settled){ .items = room->data, .length = room->length, .count = count };
}

/* A decision of the dense shape, with all that a record may mention. */
static void put_record(cop_bytes *body, cop_bytes *room, uint64_t endings)
{
	static const float x[FEATURES] = { 1.0f };
	cop_wire_record r = { .model = "m", .model_length = 1, .time = 12.5, .has_x = true, .arms = ARMS, .p = 0.5 };
	r.x = (cop_row){ .d = FEATURES, .dense = x };
	cop_event_id_from_unsigned(&r.id, 77);
	assert_true(cop_event_id_from_bytes(&r.unit, COP_EVENT_ID_STRING, "somebody", 8));
	r.settled = settled_of(room, endings);
	cop_wire_record_put(body, COP_WIRE_RECORD_DECISION, &r);
	assert_int_equal(body->err, COP_OK);
}

static void check_endings(const cop_wire_settled *settled, uint64_t step, uint64_t count)
{
	cop_wire_settled rest = *settled;
	cop_wire_settlement is;
	uint64_t next = 0;
	for (; cop_wire_settled_next(&rest, &is); next += step) {
		assert_int_equal(is.id.bytes[0], next);
		assert_true(is.losses == 0 || is.loss[0] == (double)next / 7.0);
	}
	assert_int_equal(settled->count, count);
}

static void test_mention_is_what_the_record_holds(void **state)
{
	(void)state;
	cop_bytes body, room;
	cop_wire_glance mention;
	cop_bytes_init(&body);
	cop_bytes_init(&room);
	put_record(&body, &room, 40);
	assert_int_equal(cop_wire_mention_read(body.data, body.length, &mention), COP_OK);
	assert_true(mention.model_length == 1 && mention.model[0] == 'm' && mention.time == 12.5);
	assert_true(mention.has_x && !mention.joined);
	assert_true(mention.unit.length == 8 && mention.id.bytes[0] == 77);
	check_endings(&mention.settled, 1, 40);
	assert_int_equal(cop_wire_mention_count(&mention, keeps_even, NULL), 20);
	assert_int_equal(cop_wire_mention_count(&mention, keeps_all, NULL), 0);
	for (size_t cut = 0; cut < body.length; cut++)
		assert_int_equal(cop_wire_mention_read(body.data, cut, &mention), COP_EFORMAT);
	cop_bytes_fini(&body);
	cop_bytes_fini(&room);
}

static void test_mention_of_what_is_no_record_is_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = { "[]", "{}", "{'t':1}", "{'m':'a'}", "{'t':'a','m':'a'}", "{'t':1,'m':1}",
		"{'t':1,'m':'a','id':[]}", "{'t':1,'m':'a','unit':1.5}", "{'t':1,'m':'a','unit':''}",
		"{'t':1,'m':'a','s':1}", "{'t':1,'m':'a','s':[[1]]}", "{'t':1,'m':'a','j':1}" };
	cop_bytes bytes;
	cop_wire_glance mention;
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_bytes_clear(&bytes);
		put_message(&bytes, wrong[i]);
		assert_int_equal(cop_wire_mention_read(bytes.data, bytes.length, &mention), COP_EFORMAT);
	}
	cop_bytes_clear(&bytes);
	put_message(&bytes, "{'t':1,'m':'a','later':{'x':[1]},'s':[]}");
	assert_int_equal(cop_wire_mention_read(bytes.data, bytes.length, &mention), COP_OK);
	assert_true(!mention.has_x && mention.settled_at != NULL && mention.settled.count == 0);
	cop_bytes_fini(&bytes);
}

/* With 0, few and more endings than a short array header tells. */
static void test_mention_rest_loses_the_endings_alone(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	cop_bytes body, room, out, second;
	cop_bytes_init(&body);
	cop_bytes_init(&room);
	cop_bytes_init(&out);
	cop_bytes_init(&second);
	for (uint64_t endings = 1; endings < 40; endings++) {
		cop_wire_glance mention, after;
		cop_wire_record before, record;
		cop_bytes_clear(&body);
		cop_bytes_clear(&out);
		put_record(&body, &room, endings);
		assert_int_equal(cop_wire_mention_read(body.data, body.length, &mention), COP_OK);
		cop_wire_mention_put_rest(&out, body.data, body.length, &mention, keeps_even, NULL);
		assert_int_equal(cop_wire_mention_read(out.data, out.length, &after), COP_OK);
		check_endings(&after.settled, 2, (endings + 1) / 2);
		assert_memory_equal(body.data, out.data, (size_t)(mention.settled_at - body.data));
		assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_DECISION, out.data, out.length, &f.dense,
		                         &f.workspace, &record, NULL),
		        COP_OK);
		cop_bytes_clear(&second);
		cop_wire_mention_put_rest(&second, body.data, body.length, &mention, keeps_all, NULL);
		assert_int_equal(second.length, body.length);
		assert_memory_equal(second.data, body.data, body.length);
		assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_DECISION, body.data, body.length, &f.dense,
		                         &f.workspace, &before, NULL),
		        COP_OK);
		assert_true(before.p == record.p && cop_event_id_equal(&before.unit, &record.unit));
	}
	cop_bytes_fini(&body);
	cop_bytes_fini(&room);
	cop_bytes_fini(&out);
	cop_bytes_fini(&second);
}

static void test_mention_forgotten_keeps_time_model_and_others_endings(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	cop_bytes body, room, out;
	cop_bytes_init(&body);
	cop_bytes_init(&room);
	cop_bytes_init(&out);
	for (uint64_t endings = 0; endings < 3; endings++) {
		cop_wire_glance mention;
		cop_wire_record record;
		cop_bytes_clear(&body);
		cop_bytes_clear(&out);
		put_record(&body, &room, endings);
		assert_int_equal(cop_wire_mention_read(body.data, body.length, &mention), COP_OK);
		cop_wire_mention_put_forgotten(&out, &mention, keeps_even, NULL);
		assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_FORGOTTEN, out.data, out.length, &f.dense,
		                         &f.workspace, &record, NULL),
		        COP_OK);
		assert_true(record.time == 12.5 && record.model_length == 1 && record.model[0] == 'm');
		assert_true(!record.has_x && record.id.kind == 0 && record.unit.kind == 0);
		check_endings(&record.settled, 2, endings > 0);
		if (endings == 0)
			assert_int_equal(out.length, 1 + 2 + 9 + 2 + 2);
	}
	cop_bytes_fini(&body);
	cop_bytes_fini(&room);
	cop_bytes_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mention_is_what_the_record_holds),
		cmocka_unit_test(test_mention_of_what_is_no_record_is_refused),
		cmocka_unit_test(test_mention_rest_loses_the_endings_alone),
		cmocka_unit_test(test_mention_forgotten_keeps_time_model_and_others_endings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
