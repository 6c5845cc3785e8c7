/* Named losses on the wire: there and back, walks without the names, feedback that is refused in words. */
#include "support.h"

#include <math.h>

#include "wire/wire_feedback.h"
#include "wire/wire_named.h"
#include "wire/wire_record.h"
#include "wire_fixture.h"

static cop_named_losses shop(void)
{
	cop_named_losses l = { .weights.count = 0 };
	assert_null(cop_named_losses_add_weight(&l.weights, "click=1"));
	assert_null(cop_named_losses_add_weight(&l.weights, "revenue=-0.02"));
	assert_null(cop_named_losses_add_weight(&l.weights, "seconds"));
	assert_null(cop_named_losses_add_range(&l.ranges, "revenue=0:50"));
	assert_null(cop_named_losses_add_range(&l.ranges, "seconds=0:600"));
	return l;
}

static void expect(
        const cop_wire_named *named, const cop_loss_weights *names, uint32_t told, double a, double b, double c)
{
	cop_loss_values out;
	cop_wire_named_find(named, names, &out);
	assert_int_equal(out.told, told);
	const double want[] = { a, b, c };
	for (size_t i = 0; i < 3; i++)
		assert_true((told >> i & 1u) == 0 || out.value[i] == want[i]);
}

static void test_named_come_back(void **state)
{
	(void)state;
	const cop_named_losses l = shop();
	const cop_loss_values values = { 5, { 1.0 / 3.0, 99.0, -0.0 } };
	uint8_t room[COP_WIRE_NAMED_ROOM];
	cop_wire_named named, back;
	cop_wire_cursor cursor;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_named_encode(&l.weights, &values, room, &named);
	assert_int_equal(named.count, 2);
	cop_wire_named_put(&bytes, &named);
	cop_wire_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_wire_named_read(&cursor, &back), COP_OK);
	assert_int_equal(cop_wire_cursor_left(&cursor), 0);
	expect(&back, &l.weights, 5, 1.0 / 3.0, 0.0, -0.0);
	cop_loss_weights others = { .count = 0 };
	assert_null(cop_named_losses_add_weight(&others, "seconds"));
	expect(&back, &others, 1, -0.0, 0.0, 0.0);
	const char *name;
	size_t length;
	double value;
	assert_true(cop_wire_named_next(&back, &name, &length, &value) && length == 5 && memcmp(name, "click", 5) == 0);
	assert_true(cop_wire_named_next(&back, &name, &length, &value) && value == 0.0);
	assert_false(cop_wire_named_next(&back, &name, &length, &value));
	cop_bytes_fini(&bytes);
}

static void test_longest_names_have_room(void **state)
{
	(void)state;
	cop_loss_weights names = { .count = 0 };
	cop_loss_values values = { .told = 0xffff };
	char text[] = "abcdefghijklmnopqrstuvwxyz_1234";
	uint8_t room[COP_WIRE_NAMED_ROOM];
	cop_wire_named named;
	for (size_t i = 0; i < COP_NAMED_LOSSES_MOST; i++) {
		text[0] = (char)('a' + i);
		values.value[i] = (double)i;
		assert_null(cop_named_losses_add_weight(&names, text));
	}
	cop_wire_named_encode(&names, &values, room, &named);
	assert_true(named.count == COP_NAMED_LOSSES_MOST && named.length <= sizeof room);
	cop_loss_values back;
	cop_wire_named_find(&named, &names, &back);
	assert_memory_equal(&back, &values, sizeof back);
}

static cop_err read_text(const char *text)
{
	cop_bytes bytes;
	cop_wire_cursor cursor;
	cop_wire_named named;
	cop_bytes_init(&bytes);
	put_message(&bytes, text);
	cop_wire_cursor_init(&cursor, bytes.data, bytes.length);
	const uint8_t *at = cursor.at;
	cop_err err = cop_wire_named_read(&cursor, &named);
	assert_true(err == COP_OK || cursor.at == at);
	cop_bytes_fini(&bytes);
	return err;
}

static void test_records_that_make_no_sense(void **state)
{
	(void)state;
	assert_int_equal(read_text("{}"), COP_OK);
	assert_int_equal(read_text("{'a': 1}"), COP_OK);
	assert_int_equal(read_text("[1]"), COP_EINVAL);
	assert_int_equal(read_text("{'a': 'b'}"), COP_EINVAL);
	assert_int_equal(read_text("{'a': null}"), COP_EINVAL);
	assert_int_equal(read_text("{'': 1}"), COP_EFORMAT);
	assert_int_equal(read_text("{'abcdefghijklmnopqrstuvwxyz_12345': 1}"), COP_EFORMAT);
	assert_int_equal(read_text("{'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,'g':1,'h':1,'i':1,'j':1,'k':1,'l':1,'m':1,"
	                           "'n':1,'o':1,'p':1,'q':1}"),
	        COP_EFORMAT);
}

static cop_wire_fault fault;

static cop_err decode(const cop_named_losses *l, const char *text, cop_wire_feedback *out)
{
	fixture f;
	cop_bytes bytes;
	fixture_init(&f);
	f.dense.named = l;
	cop_bytes_init(&bytes);
	put_message(&bytes, text);
	memset(&fault, 0, sizeof fault);
	cop_err err = cop_wire_feedback_decode(bytes.data, bytes.length, &f.dense, &f.workspace, out, &fault);
	cop_bytes_fini(&bytes);
	return err;
}

static void test_feedback_has_them(void **state)
{
	(void)state;
	const cop_named_losses l = shop();
	cop_wire_feedback out;
	assert_int_equal(decode(&l, "{'id': 1, 'losses': {'revenue': 10, 'click': 1}}", &out), COP_OK);
	assert_true(out.losses == 1 && out.named.told == 3 && out.named.value[1] == 10.0 &&
	            out.loss[0] == 1.0 - 0.02 * 10.0);
	assert_int_equal(decode(&l,
	                         "{'losses': {'seconds': 5, 'revenue': 0, 'click': 0}, 'id': 1, 'x': [1, 2, 3, 4], "
	                         "'a': 5, 'p': 1}",
	                         &out),
	        COP_OK);
	assert_true(out.has_x && out.named.told == 7 && out.named.value[2] == 5.0 && out.loss[0] == 0.0);
	static const struct {
		const char *text, *said;
	} bad[] = {
		{ "{'id': 1, 'loss': 1}", "loss: losses of this model have names" },
		{ "{'id': 1, 'losses': {'click': 1, 'revenue': 1}, 'loss': 1}",
		        "loss: losses of this model have names" },
		{ "{'id': 1}", "losses: the key is missing" },
		{ "{'id': 1, 'losses': 1}", "losses: got an integer, expected a map of names and numbers" },
		{ "{'id': 1, 'losses': {'click': 1}}", "losses: revenue: missing" },
		{ "{'id': 1, 'losses': {'click': 2, 'revenue': 1}}",
		        "losses: click: got 2, expected a number from 0 to 1" },
		{ "{'id': 1, 'losses': {'click': [1], 'revenue': 1}}",
		        "losses: click: got an array, expected a number" },
		{ "{'id': 1, 'losses': {'x\\u0007y': 1, 'revenue': 1}}", "is no loss of this model" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_true(decode(&l, bad[i].text, &out) != COP_OK);
		if (strstr(fault.message, bad[i].said) == NULL)
			fail_msg("%s: %s", bad[i].text, fault.message);
	}
	assert_true(decode(NULL, "{'id': 1, 'losses': {'click': 1}}", &out) != COP_OK);
	assert_non_null(strstr(fault.message, "have no names, expected loss alone"));
}

static void test_a_name_comes_once(void **state)
{
	(void)state;
	const cop_named_losses l = shop();
	cop_loss_values out;
	cop_wire_cursor cursor;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_put_map(&bytes, 2);
	for (size_t i = 0; i < 2; i++)
		cop_wire_put_key_double(&bytes, "click", 1.0);
	cop_wire_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_wire_named_decode(&cursor, &l, &out, &fault), COP_EINVAL);
	assert_non_null(strstr(fault.message, "click comes twice"));
	cop_bytes_fini(&bytes);
}

static void test_records_carry_them(void **state)
{
	(void)state;
	const cop_named_losses l = shop();
	const cop_loss_values values = { 3, { 0.5, 20.0 } };
	fixture f;
	uint8_t room[COP_WIRE_NAMED_ROOM];
	cop_bytes bytes, items;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	cop_bytes_init(&items);
	cop_wire_record r = { .model = "m", .model_length = 1, .time = 5.0, .losses = 1, .loss = { 0.1 } }, back;
	cop_event_id_from_unsigned(&r.id, 7);
	cop_wire_named_encode(&l.weights, &values, room, &r.named);
	cop_wire_settlement is = {
		.id = r.id, .outcome = COP_WIRE_OUTCOME_RECORDED, .loss = { 0.25 }, .losses = 1, .named = r.named
	};
	cop_wire_settled_add(&items, &is);
	is = (cop_wire_settlement){ .id = r.id, .outcome = COP_WIRE_OUTCOME_DEFAULT, .loss = { 1.0 }, .losses = 1 };
	cop_wire_settled_add(&items, &is);
	r.settled = (cop_wire_settled){ .items = items.data, .length = items.length, .count = 2 };
	cop_wire_record_put(&bytes, COP_WIRE_RECORD_FEEDBACK, &r);
	assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_FEEDBACK, bytes.data, bytes.length, &f.dense,
	                         &f.workspace, &back, &fault),
	        COP_OK);
	expect(&back.named, &l.weights, 3, 0.5, 20.0, 0.0);
	assert_true(cop_wire_settled_next(&back.settled, &is) && is.losses == 1 && is.loss[0] == 0.25);
	expect(&is.named, &l.weights, 3, 0.5, 20.0, 0.0);
	assert_true(cop_wire_settled_next(&back.settled, &is) && is.losses == 1 && is.named.count == 0);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_come_back),
		cmocka_unit_test(test_longest_names_have_room),
		cmocka_unit_test(test_records_that_make_no_sense),
		cmocka_unit_test(test_feedback_has_them),
		cmocka_unit_test(test_a_name_comes_once),
		cmocka_unit_test(test_records_carry_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
