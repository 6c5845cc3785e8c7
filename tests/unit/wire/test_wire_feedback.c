/* wire_feedback: one and two losses, self-contained feedback, refusals in words. */
#include "support.h"

#include "wire/wire_feedback.h"
#include "wire_fixture.h"

static cop_wire_fault fault;

static cop_err decode(const cop_wire_shape *shape, fixture *f, const cop_bytes *bytes, cop_wire_feedback *out)
{
	memset(&fault, 0, sizeof fault);
	return cop_wire_feedback_decode(bytes->data, bytes->length, shape, &f->workspace, out, &fault);
}

static cop_err decode_text(const cop_wire_shape *shape, fixture *f, const char *text, cop_wire_feedback *out)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_message(&bytes, text);
	cop_err err = decode(shape, f, &bytes, out);
	cop_bytes_fini(&bytes);
	return err;
}

static void test_feedback_plain_is_read(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	cop_wire_feedback out;
	assert_int_equal(decode_text(&f.dense, &f, "{'loss': 0.25, 'id': 'u1', 'n': 3}", &out), COP_OK);
	assert_true(out.losses == 1 && out.loss[0] == 0.25 && !out.has_x && out.source.n == 3);
	assert_int_equal(decode_text(&f.dense, &f, "{'loss': 1, 'id': 2}", &out), COP_OK);
	assert_true(out.loss[0] == 1.0 && out.id.kind == COP_EVENT_ID_UNSIGNED);
	assert_int_equal(decode_text(&f.sparse, &f, "{'loss': [1, 0.5], 'id': 2}", &out), COP_OK);
	assert_true(out.losses == 2 && out.loss[0] == 1.0 && out.loss[1] == 0.5);
}

static void test_feedback_self_contained_is_read(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	cop_wire_feedback out;
	assert_int_equal(
	        decode_text(&f.dense, &f, "{'id': 1, 'loss': 0, 'x': [1, 2, 3, 4], 'a': 5, 'p': 0.125}", &out), COP_OK);
	assert_true(out.has_x && out.has_a && out.has_p && out.a == 5 && out.p == 0.125);
	assert_true(out.x.dense[3] == 4.0F);
	assert_int_equal(decode_text(&f.sparse, &f, "{'id': 1, 'loss': 0, 'x': {'k': 1}, 'y': -2.5}", &out), COP_OK);
	assert_true(out.has_y && out.y == -2.5 && out.x.nnz == 1);
	assert_int_equal(decode_text(&f.dense, &f, "{'id': 1, 'loss': 0, 'a': 5, 'p': 1}", &out), COP_OK);
	assert_false(out.has_x);
}

static cop_err decode_named(fixture *f, const void *body, size_t length)
{
	cop_wire_feedback out;
	return cop_wire_feedback_decode(body, length, &f->dense, &f->workspace, &out, &fault);
}

static void test_feedback_names_its_arm(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	f.dense.arm_names = fixture_arm_names();
	cop_wire_feedback out;
	static const struct {
		const char *text;
		size_t arm;
	} cases[] = {
		{ "{'id': 1, 'loss': 0, 'x': [1, 2, 3, 4], 'a': 'left', 'p': 0.125}", 0 },
		{ "{'id': 1, 'loss': 0, 'x': [1, 2, 3, 4], 'a': 'down', 'p': 0.125}", 4 },
		{ "{'id': 1, 'loss': 0, 'x': [1, 2, 3, 4], 'a': '4', 'p': 0.125}", 5 },
		{ "{'id': 1, 'loss': 0, 'x': [1, 2, 3, 4], 'a': 4, 'p': 0.125}", 4 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(decode_text(&f.dense, &f, cases[i].text, &out), COP_OK);
		assert_true(out.has_a && out.a == cases[i].arm);
	}
	static const refusal refusals[] = {
		{ "{'id': 1, 'loss': 0, 'a': 'lefT'}", COP_WIRE_BAD_REQUEST, "a: no arm has the name \"lefT\"" },
		{ "{'id': 1, 'loss': 0, 'a': ''}", COP_WIRE_BAD_REQUEST, "a: no arm has the name \"\"" },
		{ "{'id': 1, 'loss': 0, 'a': 6}", COP_WIRE_BAD_REQUEST, "a: got 6, expected an arm below 6" },
		{ "{'id': 1, 'loss': 0, 'a': null}", COP_WIRE_BAD_REQUEST,
		        "a: got nil, expected an arm's number or name" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		assert_refused(&fault, decode_text(&f.dense, &f, refusals[i].message, &out), &refusals[i]);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_message(&bytes, cases[1].text);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(decode(&f.dense, &f, &bytes, &out), COP_OK);
	assert_int_equal(cop_test_alloc_count(), 0);
	sweep_truncations(&f, decode_named, &bytes);
	sweep_mutations(&f, decode_named, &bytes);
	cop_bytes_fini(&bytes);
}

static void test_feedback_wrong_messages_are_refused_in_words(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	cop_wire_feedback out;
	static const refusal refusals[] = {
		{ "{'loss': 1}", COP_WIRE_BAD_REQUEST, "id: the key is missing" },
		{ "{'id': 1}", COP_WIRE_BAD_REQUEST, "loss: the key is missing" },
		{ "{'id': 1, 'loss': 'low'}", COP_WIRE_BAD_LOSS,
		        "loss: got a string, expected a number, or two in an arr" },
		{ "{'id': 1, 'loss': null}", COP_WIRE_BAD_LOSS, "loss: got nil" },
		{ "{'id': 1, 'loss': [1]}", COP_WIRE_BAD_LOSS, "loss: got an array of 1, expected 2 numbers" },
		{ "{'id': 1, 'loss': [1, 2, 3]}", COP_WIRE_BAD_LOSS, "loss: got an array of 3" },
		{ "{'id': 1, 'loss': [1, 'a']}", COP_WIRE_BAD_LOSS, "loss[1]: got a string" },
		{ "{'id': 1, 'loss': [1, 2]}", COP_WIRE_BAD_LOSS, "loss: got two numbers, expected one number" },
		{ "{'id': 1, 'loss': 1, 'x': [1, 2, 3, 4]}", COP_WIRE_BAD_REQUEST, "a: the key is missing" },
		{ "{'id': 1, 'loss': 1, 'x': [1, 2, 3, 4], 'a': 1}", COP_WIRE_BAD_REQUEST, "p: the key is missing" },
		{ "{'id': 1, 'loss': 1, 'x': [1, 2, 3], 'a': 1, 'p': 1}", COP_WIRE_BAD_FEATURES, "x: got 3 values" },
		{ "{'id': 1, 'loss': 1, 'a': 6}", COP_WIRE_BAD_REQUEST, "a: got 6, expected an arm below 6" },
		{ "{'id': 1, 'loss': 1, 'a': -1}", COP_WIRE_BAD_REQUEST, "a: got a negative integer" },
		{ "{'id': 1, 'loss': 1, 'p': 0}", COP_WIRE_BAD_REQUEST, "p: got 0, expected a propensity in (0, 1]" },
		{ "{'id': 1, 'loss': 1, 'p': 1.5}", COP_WIRE_BAD_REQUEST, "p: got 1.5" },
		{ "{'id': 1, 'loss': 1, 'p': 'x'}", COP_WIRE_BAD_REQUEST, "p: got a string" },
		{ "{'id': 1, 'loss': 1, 'y': []}", COP_WIRE_BAD_REQUEST, "y: got an array" },
		{ "7", COP_WIRE_BAD_REQUEST, "message: got an integer" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&fault, decode_text(&f.dense, &f, refusals[i].message, &out), &refusals[i]);
	f.sparse.losses = 2;
	const refusal two = { "{'id': 1, 'loss': 1}", COP_WIRE_BAD_LOSS,
		"loss: got one number, expected an array of two numbers" };
	assert_refused(&fault, decode_text(&f.sparse, &f, two.message, &out), &two);
	const refusal y = { "{'id': 1, 'loss': [1, 2], 'x': {}}", COP_WIRE_BAD_REQUEST, "y: the key is missing" };
	assert_refused(&fault, decode_text(&f.sparse, &f, y.message, &out), &y);
}

static void test_feedback_nonfinite_loss_is_refused(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	cop_wire_feedback out;
	static const refusal refusals[] = {
		{ "82 a2 69 64 01 a4 6c 6f 73 73 cb 7f f8 00 00 00 00 00 00", COP_WIRE_BAD_LOSS, "loss: not a finite" },
		{ "82 a2 69 64 01 a4 6c 6f 73 73 ca ff 80 00 00", COP_WIRE_BAD_LOSS, "loss: not a finite" },
		{ "82 a2 69 64 01 a4 6c 6f 73 73 92 01 ca 7f 80 00 00", COP_WIRE_BAD_LOSS, "loss[1]: not a finite" },
		{ "82 a2 69 64 01 a4 6c 6f 73 73 dd ff ff ff ff", COP_WIRE_BAD_REQUEST, "loss: malformed MessagePack" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		put_hex(&bytes, refusals[i].message);
		assert_refused(&fault, decode(&f.sparse, &f, &bytes, &out), &refusals[i]);
		cop_bytes_fini(&bytes);
	}
}

static void test_feedback_written_is_read_back(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	const float x[FEATURES] = { 1.0F, 2.0F, 3.0F, 0.1F };
	cop_wire_feedback in = { .loss = { 1.0 / 3.0, 0.0 },
		.losses = 1,
		.has_x = true,
		.x = { .d = FEATURES, .dense = x },
		.has_a = true,
		.a = 2,
		.has_p = true,
		.p = 0.1,
		.has_y = true,
		.y = 7.0,
		.source = { .name = "s", .length = 1 } };
	cop_wire_feedback out;
	cop_event_id_from_unsigned(&in.id, UINT64_MAX);
	cop_wire_seq_from_unsigned(&in.seq, 9);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_feedback_put(&bytes, &in, COP_WIRE_FORM_PACKED);
	assert_int_equal(decode(&f.dense, &f, &bytes, &out), COP_OK);
	assert_true(cop_event_id_equal(&in.id, &out.id) && out.loss[0] == in.loss[0] && out.p == in.p && out.a == 2);
	assert_true(out.has_y && out.y == 7.0 && out.seq.length == in.seq.length);
	assert_memory_equal(out.x.dense, x, sizeof x);
	cop_bytes_clear(&bytes);
	in.losses = 2;
	in.has_x = false;
	cop_wire_feedback_put(&bytes, &in, COP_WIRE_FORM_ARRAY);
	f.dense.losses = 0;
	assert_int_equal(decode(&f.dense, &f, &bytes, &out), COP_OK);
	assert_true(out.losses == 2 && out.loss[0] == in.loss[0] && out.loss[1] == in.loss[1]);
	cop_bytes_fini(&bytes);
}

static cop_err decode_dense(fixture *f, const void *body, size_t length)
{
	cop_wire_feedback out;
	return cop_wire_feedback_decode(body, length, &f->dense, &f->workspace, &out, &fault);
}

static cop_err decode_sparse(fixture *f, const void *body, size_t length)
{
	cop_wire_feedback out;
	return cop_wire_feedback_decode(body, length, &f->sparse, &f->workspace, &out, &fault);
}

static void test_feedback_cut_or_changed_is_never_read_out_of_bounds(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_message(&bytes, "{'id': 'u', 'loss': 0.5, 'x': [1, 2, 3, 4.5], 'a': 1, 'p': 0.5, 'y': 1, 'seq': 300}");
	sweep_truncations(&f, decode_dense, &bytes);
	sweep_mutations(&f, decode_dense, &bytes);
	sweep_mutations(&f, decode_sparse, &bytes);
	cop_bytes_clear(&bytes);
	put_message(&bytes, "{'id': 'u', 'loss': [0.5, 1], 'x': {'k': 1, 'l': 2}, 'y': 1}");
	sweep_truncations(&f, decode_sparse, &bytes);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(decode_sparse(&f, bytes.data, bytes.length), COP_OK);
	assert_int_equal(cop_test_alloc_count(), 0);
	sweep_mutations(&f, decode_sparse, &bytes);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_feedback_plain_is_read),
		cmocka_unit_test(test_feedback_self_contained_is_read),
		cmocka_unit_test(test_feedback_names_its_arm),
		cmocka_unit_test(test_feedback_wrong_messages_are_refused_in_words),
		cmocka_unit_test(test_feedback_nonfinite_loss_is_refused),
		cmocka_unit_test(test_feedback_written_is_read_back),
		cmocka_unit_test(test_feedback_cut_or_changed_is_never_read_out_of_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
