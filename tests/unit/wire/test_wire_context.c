/* wire_context, with wire_features and the shared keys: what is accepted, what is refused and in which words. */
#include "support.h"

#include <math.h>

#include "base/hash.h"
#include "base/rng.h"
#include "wire/wire_context.h"
#include "wire_fixture.h"

typedef struct attempt {
	fixture f;
	cop_wire_context context;
	cop_wire_fault fault;
	cop_bytes bytes;
} attempt;

static cop_err try_shape(attempt *a, const cop_wire_shape *shape)
{
	memset(&a->fault, 0, sizeof a->fault);
	return cop_wire_context_decode(a->bytes.data, a->bytes.length, shape, &a->f.workspace, &a->context, &a->fault);
}

static cop_err try_text(attempt *a, const cop_wire_shape *shape, const char *text)
{
	cop_bytes_clear(&a->bytes);
	put_message(&a->bytes, text);
	return try_shape(a, shape);
}

static int setup(void **state)
{
	attempt *a = calloc(1, sizeof *a);
	if (a == NULL)
		return -1;
	fixture_init(&a->f);
	cop_bytes_init(&a->bytes);
	*state = a;
	return 0;
}

static int teardown(void **state)
{
	attempt *a = *state;
	cop_bytes_fini(&a->bytes);
	free(a);
	return 0;
}

/* ---- accepted ---- */

static void test_context_all_keys_are_read(void **state)
{
	attempt *a = *state;
	const cop_wire_context *c = &a->context;
	assert_int_equal(try_text(a, &a->f.dense,
	                         "{'n': 12, 'new': {'deep': [1, [2]]}, 'id': 'u1', 'x': [1, 0.5, -2, 0], 'src': 'web', "
	                         "'mask': [true, false, 1, 0, 0, true], 't': 3.5, 'defer': true, 'seq': 77}"),
	        COP_OK);
	assert_int_equal(c->id.kind, COP_EVENT_ID_STRING);
	assert_int_equal(c->id.length, 2);
	assert_true(c->has_x && c->x.d == FEATURES && c->x.dense == a->f.x);
	const float x[] = { 1.0F, 0.5F, -2.0F, 0.0F };
	assert_memory_equal(c->x.dense, x, sizeof x);
	const uint8_t mask[] = { 1, 0, 1, 0, 0, 1 };
	assert_true(c->has_mask && c->arms == ARMS);
	assert_memory_equal(c->mask, mask, sizeof mask);
	assert_true(c->has_t && c->t == 3.5 && c->defer);
	assert_int_equal(c->source.length, 3);
	assert_memory_equal(c->source.name, "web", 3);
	assert_true(c->source.has_n && c->source.n == 12);
	assert_int_equal(c->seq.length, 1);
	assert_int_equal(c->seq.bytes[0], 77);
}

static void test_context_without_optional_keys_has_defaults(void **state)
{
	attempt *a = *state;
	const cop_wire_context *c = &a->context;
	memset(a->f.mask, 0, sizeof a->f.mask);
	assert_int_equal(try_text(a, &a->f.dense, "{'id': -3, 'x': [1, 2, 3, 4]}"), COP_OK);
	const uint8_t mask[] = { 1, 1, 1, 1, 1, 1 };
	assert_memory_equal(c->mask, mask, sizeof mask);
	assert_false(c->has_mask || c->has_t || c->defer || c->source.has_n || c->source.name != NULL);
	assert_int_equal(c->seq.length, 0);
	assert_int_equal(c->id.kind, COP_EVENT_ID_NEGATIVE);
	assert_int_equal(try_text(a, &a->f.sparse, "{'id': 3, 'x': {}}"), COP_OK);
	assert_null(c->mask);
	assert_int_equal(c->x.nnz, 0);
}

static void test_context_ids_of_three_types_are_distinct(void **state)
{
	attempt *a = *state;
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 17, 'x': [1, 2, 3, 4]}"), COP_OK);
	cop_event_id number = a->context.id;
	assert_int_equal(try_text(a, &a->f.dense, "{'id': '17', 'x': [1, 2, 3, 4]}"), COP_OK);
	cop_event_id text = a->context.id;
	cop_bytes_clear(&a->bytes);
	put_hex(&a->bytes, "82 a2 69 64 c4 02 31 37 a1 78 94 01 02 03 04");
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
	assert_false(cop_event_id_equal(&number, &text));
	assert_false(cop_event_id_equal(&a->context.id, &text));
	assert_int_equal(a->context.id.kind, COP_EVENT_ID_BINARY);
}

static void test_context_packed_floats_are_read(void **state)
{
	attempt *a = *state;
	const float x[] = { 1.5F, -2.0F, 0.0F, 1e-30F };
	cop_wire_put_map(&a->bytes, 2);
	cop_wire_put_key_unsigned(&a->bytes, "id", 1);
	cop_wire_put_text(&a->bytes, "x");
	cop_wire_put_packed(&a->bytes, x, FEATURES);
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
	assert_memory_equal(a->context.x.dense, x, sizeof x);
	assert_int_equal(try_shape(a, &a->f.sparse), COP_OK);
	const uint32_t index[] = { 0, 1, 3 };
	assert_int_equal(a->context.x.nnz, 3);
	assert_memory_equal(a->context.x.index, index, sizeof index);
	assert_true(a->context.x.value[2] == 1e-30F);
}

static void test_context_dense_map_fills_by_name_and_index(void **state)
{
	attempt *a = *state;
	a->f.x[0] = a->f.x[2] = 99.0F;
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 1, 'x': {'d': 4, 'b': 0.25}}"), COP_OK);
	const float x[] = { 0.0F, 0.25F, 0.0F, 4.0F };
	assert_memory_equal(a->context.x.dense, x, sizeof x);
	cop_bytes_clear(&a->bytes);
	put_hex(&a->bytes, "82 a2 69 64 01 a1 78 82 03 07 a1 61 08"); /* {3: 7, "a": 8} */
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
	const float y[] = { 8.0F, 0.0F, 0.0F, 7.0F };
	assert_memory_equal(a->context.x.dense, y, sizeof y);
}

/* Workspaces as large as a model's, among bytes that nobody may write. */
static void test_context_dense_row_is_written_nowhere_else(void **state)
{
	static const char *const forms[] = { "{'id': 1, 'x': {'d': 4, 'b': 0.25}}", "{'id': 1, 'x': [1, 2, 3, 4]}",
		"{'id': 1, 'x': [1, 2, 3, 4, 5]}", "{'id': 1, 'x': {}}" };
	attempt *a = *state;
	static float around[FEATURES + 2];
	const float untouched = -NAN;
	static uint8_t mask[ARMS + 2];
	a->f.workspace.dense = around + 1;
	a->f.workspace.mask = mask + 1;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		around[0] = around[FEATURES + 1] = untouched; /* which a row that is filled in would lose */
		memset(mask, 0xa5, sizeof mask);
		(void)try_text(a, &a->f.dense, forms[i]);
		assert_memory_equal(&around[0], &untouched, sizeof untouched);
		assert_memory_equal(&around[FEATURES + 1], &untouched, sizeof untouched);
		assert_true(mask[0] == 0xa5 && mask[ARMS + 1] == 0xa5);
	}
}

static void test_context_sparse_names_are_hashed(void **state)
{
	attempt *a = *state;
	assert_int_equal(
	        try_text(a, &a->f.sparse, "{'id': 1, 'x': {'country=de': 1, 'hour': 0.5, 'gone': 0}}"), COP_OK);
	uint32_t country = cop_hash_feature("country=de", 10, 0) & ((1U << BITS) - 1);
	uint32_t hour = cop_hash_feature("hour", 4, 0) & ((1U << BITS) - 1);
	assert_int_not_equal(country, hour);
	const cop_row *x = &a->context.x;
	assert_int_equal(x->d, 1U << BITS);
	assert_null(x->dense);
	assert_int_equal(x->nnz, 2);
	assert_int_equal(x->index[country < hour ? 0 : 1], country);
	assert_true(x->value[country < hour ? 0 : 1] == 1.0F);
	assert_int_equal(x->index[country < hour ? 1 : 0], hour);
}

static void test_context_sparse_collisions_are_summed(void **state)
{
	attempt *a = *state;
	put_hex(&a->bytes, "82 a2 69 64 01 a1 78 85 05 01 03 02 05 04 09 03 09 fd"); /* {5:1, 3:2, 5:4, 9:3, 9:-3} */
	assert_int_equal(try_shape(a, &a->f.sparse), COP_OK);
	const uint32_t index[] = { 3, 5 };
	const float value[] = { 2.0F, 5.0F };
	assert_int_equal(a->context.x.nnz, 2);
	assert_memory_equal(a->context.x.index, index, sizeof index);
	assert_memory_equal(a->context.x.value, value, sizeof value);
}

/* Random sparse maps against a dense sum. */
static void test_context_sparse_random_maps_are_sorted(void **state)
{
	attempt *a = *state;
	cop_rng rng;
	cop_rng_init(&rng, 11, 0);
	uint32_t index[500];
	float value[500];
	cop_wire_shape shape = a->f.sparse;
	cop_wire_workspace workspace = { .index = index, .value = value };
	shape.max_nonzeros = 500;
	for (int round = 0; round < 200; round++) {
		float sum[1 << BITS] = { 0.0F };
		size_t n = (size_t)cop_rng_below(&rng, round < 100 ? 12 : 501);
		cop_bytes_clear(&a->bytes);
		cop_wire_put_map(&a->bytes, 2);
		cop_wire_put_key_unsigned(&a->bytes, "id", 1);
		cop_wire_put_text(&a->bytes, "x");
		cop_wire_put_map(&a->bytes, n);
		for (size_t i = 0; i < n; i++) {
			size_t at = (size_t)cop_rng_below(&rng, round % 2 ? 1 << BITS : 20);
			float v = (float)cop_rng_below(&rng, 9) - 4.0F;
			cop_wire_put_unsigned(&a->bytes, at);
			cop_wire_put_float(&a->bytes, v);
			sum[at] += v;
		}
		assert_int_equal(cop_wire_context_decode(
		                         a->bytes.data, a->bytes.length, &shape, &workspace, &a->context, &a->fault),
		        COP_OK);
		const cop_row *x = &a->context.x;
		size_t next = 0;
		for (uint32_t at = 0; at < 1U << BITS; at++) {
			if (sum[at] == 0.0F)
				continue;
			assert_true(next < x->nnz && x->index[next] == at && x->value[next] == sum[at]);
			next++;
		}
		assert_int_equal(next, x->nnz);
	}
}

static void test_context_mask_bit_set_is_read(void **state)
{
	attempt *a = *state;
	put_hex(&a->bytes, "83 a2 69 64 01 a1 78 94 01 02 03 04 a4 6d 61 73 6b c4 01 25");
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
	const uint8_t mask[] = { 1, 0, 1, 0, 0, 1 };
	assert_memory_equal(a->context.mask, mask, sizeof mask);
	a->bytes.data[a->bytes.length - 1] = 0x65; /* a seventh arm */
	assert_int_equal(try_shape(a, &a->f.dense), COP_EFORMAT);
	a->bytes.data[a->bytes.length - 1] = 0x00;
	assert_int_equal(try_shape(a, &a->f.dense), COP_EFORMAT);
	assert_string_equal(a->fault.message, "mask: no arm is eligible, expected at least one");
}

#define X4 "'x': [1, 2, 3, 4]"

/* Every set of arms, its names in falling order. */
static void test_context_mask_of_names_is_read(void **state)
{
	attempt *a = *state;
	static const char *const names[ARMS] = { "left", "middle", "right", "up", "down", "4" };
	a->f.dense.arm_names = fixture_arm_names();
	for (unsigned set = 1; set < 1U << ARMS; set++) {
		char text[160] = "{'id': 1, " X4 ", 'mask': [";
		const char *comma = "";
		for (unsigned arm = ARMS; arm-- > 0;) {
			if ((set >> arm & 1) == 0)
				continue;
			size_t used = strlen(text);
			(void)snprintf(text + used, sizeof text - used, "%s'%s'", comma, names[arm]);
			comma = ", ";
		}
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "]}");
		assert_int_equal(try_text(a, &a->f.dense, text), COP_OK);
		assert_true(a->context.has_mask);
		for (unsigned arm = 0; arm < ARMS; arm++)
			assert_int_equal(a->context.mask[arm], set >> arm & 1);
	}
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 1, " X4 ", 'mask': [0, 0, true, 0, 0, 0]}"), COP_OK);
	assert_true(a->context.mask[2] == 1 && a->context.mask[1] == 0);
}

static void test_context_mask_of_names_that_are_wrong_is_refused(void **state)
{
	attempt *a = *state;
	static const refusal refusals[] = {
		{ "{'id': 1, " X4 ", 'mask': ['up', 'north']}", COP_WIRE_BAD_REQUEST,
		        "mask[1]: no arm has the name \"north\"" },
		{ "{'id': 1, " X4 ", 'mask': ['up', 'left', 'up']}", COP_WIRE_BAD_REQUEST,
		        "mask[2]: the name stands twice" },
		{ "{'id': 1, " X4 ", 'mask': ['up', 1]}", COP_WIRE_BAD_REQUEST,
		        "mask[1]: got an integer, expected an arm's name" },
		{ "{'id': 1, " X4 ", 'mask': [1, 'up', 0, 0, 0, 0]}", COP_WIRE_BAD_REQUEST,
		        "mask[1]: got a string, expected a boolean, 0 or 1" },
		{ "{'id': 1, " X4 ", 'mask': []}", COP_WIRE_BAD_REQUEST, "mask: got 0 entries, expected 6" },
	};
	static const refusal unnamed = { "{'id': 1, " X4 ", 'mask': ['up', 'up', 'up', 'up', 'up', 'up']}",
		COP_WIRE_BAD_REQUEST, "mask[0]: got a string, expected a boolean, 0 or 1" };
	assert_refused(&a->fault, try_text(a, &a->f.dense, unnamed.message), &unnamed);
	a->f.dense.arm_names = fixture_arm_names();
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_text(a, &a->f.dense, refusals[i].message), &refusals[i]);
}

/* ---- refused ---- */

static void test_context_wrong_messages_are_refused_in_words(void **state)
{
	attempt *a = *state;
	static const refusal refusals[] = {
		{ "[1]", COP_WIRE_BAD_REQUEST, "message: got an array, expected a map" },
		{ "'text'", COP_WIRE_BAD_REQUEST, "message: got a string, expected a map" },
		{ "{}", COP_WIRE_BAD_REQUEST, "id: the key is missing" },
		{ "{'id': 1}", COP_WIRE_BAD_REQUEST, "x: the key is missing" },
		{ "{" X4 "}", COP_WIRE_BAD_REQUEST, "id: the key is missing" },
		{ "{'id': 1.5, " X4 "}", COP_WIRE_BAD_REQUEST,
		        "id: got a float, expected a string or binary of 1 to 64" },
		{ "{'id': null, " X4 "}", COP_WIRE_BAD_REQUEST, "id: got nil" },
		{ "{'id': [1], " X4 "}", COP_WIRE_BAD_REQUEST, "id: got an array" },
		{ "{'id': '', " X4 "}", COP_WIRE_BAD_REQUEST, "id: got 0 bytes" },
		{ "{'id': '01234567890123456789012345678901234567890123456789012345678901234', " X4 "}",
		        COP_WIRE_BAD_REQUEST, "id: got 65 bytes" },
		{ "{'id': 1, 'x': [1, 2, 3]}", COP_WIRE_BAD_FEATURES, "x: got 3 values, expected 4" },
		{ "{'id': 1, 'x': [1, 2, 3, 4, 5]}", COP_WIRE_BAD_FEATURES, "x: got 5 values, expected 4" },
		{ "{'id': 1, 'x': 7}", COP_WIRE_BAD_FEATURES,
		        "x: got an integer, expected an array of numbers, binary" },
		{ "{'id': 1, 'x': 'abcd'}", COP_WIRE_BAD_FEATURES, "x: got a string" },
		{ "{'id': 1, 'x': [1, 2, true, 4]}", COP_WIRE_BAD_FEATURES, "x[2]: got a boolean, expected a number" },
		{ "{'id': 1, 'x': [1, 2, 3, [4]]}", COP_WIRE_BAD_FEATURES, "x[3]: got an array, expected a number" },
		{ "{'id': 1, 'x': [1, 1e39, 3, 4]}", COP_WIRE_BAD_FEATURES, "x[1]: not a finite number" },
		{ "{'id': 1, 'x': {'q': 1}}", COP_WIRE_BAD_FEATURES,
		        "x[\"q\"]: no feature of the model has this name" },
		{ "{'id': 1, 'x': {'a': 'b'}}", COP_WIRE_BAD_FEATURES, "x[\"a\"]: got a string, expected a number" },
		{ "{'id': 1, " X4 ", 'mask': [1, 1]}", COP_WIRE_BAD_REQUEST,
		        "mask: got 2 entries, expected 6, one per arm" },
		{ "{'id': 1, " X4 ", 'mask': [0,0,0,0,0,0]}", COP_WIRE_BAD_REQUEST, "mask: no arm is eligible" },
		{ "{'id': 1, " X4 ", 'mask': [1,0,0,2,0,0]}", COP_WIRE_BAD_REQUEST,
		        "mask[3]: got an integer, expected a boolean, 0 or 1" },
		{ "{'id': 1, " X4 ", 'mask': 3}", COP_WIRE_BAD_REQUEST, "mask: got an integer" },
		{ "{'id': 1, " X4 ", 't': 'now'}", COP_WIRE_BAD_REQUEST,
		        "t: got a string, expected a number of seconds" },
		{ "{'id': 1, " X4 ", 'defer': 1}", COP_WIRE_BAD_REQUEST, "defer: got an integer, expected a boolean" },
		{ "{'id': 1, " X4 ", 'src': 5}", COP_WIRE_BAD_REQUEST, "src: got an integer" },
		{ "{'id': 1, " X4 ", 'src': ''}", COP_WIRE_BAD_REQUEST, "src: got 0 bytes" },
		{ "{'id': 1, " X4 ", 'n': -1}", COP_WIRE_BAD_REQUEST, "n: got a negative integer" },
		{ "{'id': 1, " X4 ", 'seq': {}}", COP_WIRE_BAD_REQUEST, "seq: got a map" },
		{ "{'id': 1, " X4 ", 'seq': '0123456789012345678901234567890123456789012345678901234567890123'}",
		        COP_WIRE_BAD_REQUEST, "seq: got 66 encoded bytes, at most 64 allowed" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_text(a, &a->f.dense, refusals[i].message), &refusals[i]);
}

static void test_context_wrong_sparse_messages_are_refused(void **state)
{
	attempt *a = *state;
	static const refusal refusals[] = {
		{ "{'id': 1, 'x': {'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,'g':1,'h':1,'i':1}}", COP_WIRE_BAD_FEATURES,
		        "x: got 9 entries, at most 8 allowed" },
		{ "{'id': 1, 'x': [1,2,3,4,5,6,7,8,9]}", COP_WIRE_BAD_FEATURES, "x: got 9 values, at most 8 allowed" },
		{ "{'id': 1, 'x': {'a': null}}", COP_WIRE_BAD_FEATURES, "x[\"a\"]: got nil" },
		{ "{'id': 1, 'x': {}, 'mask': [1]}", COP_WIRE_BAD_REQUEST, "mask: the model has no arms" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_text(a, &a->f.sparse, refusals[i].message), &refusals[i]);
}

static void test_context_wrong_bytes_are_refused(void **state)
{
	attempt *a = *state;
	static const struct {
		bool sparse;
		refusal refusal;
	} cases[] = {
		{ false, { "82 a2 69 64 01 a2 69 64 01", COP_WIRE_BAD_REQUEST, "id: the key comes twice" } },
		{ false,
		        { "82 a2 69 64 01 a1 78 94 01 02 03 04 00", COP_WIRE_BAD_REQUEST, "message: 1 bytes behind" } },
		{ false, { "82 a2 69 64 01 a1 78 dd ff ff ff ff", COP_WIRE_BAD_REQUEST, "x: malformed MessagePack" } },
		{ false, { "82 a2 69 64 01 a1 78 94 01 ca 7f c0 00 00 03 04", COP_WIRE_BAD_FEATURES,
		                 "x[1]: not a finite" } },
		{ false, { "82 a2 69 64 01 a1 78 c4 03 00 00 00", COP_WIRE_BAD_FEATURES, "x: got 3 bytes of binary" } },
		{ false, { "82 a2 69 64 01 a1 78 c4 04 00 00 00 00", COP_WIRE_BAD_FEATURES,
		                 "x: got 1 values, expected 4" } },
		{ false, { "82 a2 69 64 01 a1 78 c4 10 00 00 00 00 00 00 80 7f 00 00 00 00 00 00 00 00",
		                 COP_WIRE_BAD_FEATURES, "x[1]: not a finite number" } },
		{ false, { "82 a2 69 64 01 a1 78 82 00 01 a1 61 02", COP_WIRE_BAD_FEATURES,
		                 "x[\"a\"]: feature 0 is given tw" } },
		{ false,
		        { "82 a2 69 64 01 a1 78 81 04 01", COP_WIRE_BAD_FEATURES, "x[4]: expected an index below 4" } },
		{ false, { "82 a2 69 64 01 a1 78 81 ff 01", COP_WIRE_BAD_FEATURES, "x: key: got a negative integer" } },
		{ false, { "83 a2 69 64 01 a1 78 94 01 02 03 04 a1 74 cb 7f f0 00 00 00 00 00 00", COP_WIRE_BAD_REQUEST,
		                 "t: not a finite number" } },
		{ false, { "83 a2 69 64 01 a1 78 94 01 02 03 04 a4 6d 61 73 6b c4 02 01 00", COP_WIRE_BAD_REQUEST,
		                 "mask: got 2 bytes, expected 1 for 6 arms" } },
		{ true, { "82 a2 69 64 01 a1 78 81 cd 04 00 01", COP_WIRE_BAD_FEATURES,
		                "x[1024]: expected an index below" } },
		{ true, { "82 a2 69 64 01 a1 78 81 05 ca 7f 80 00 00", COP_WIRE_BAD_FEATURES,
		                "x[5]: not a finite number" } },
		{ true, { "82 a2 69 64 01 a1 78 82 05 ca 7f 7f ff ff 05 ca 7f 7f ff ff", COP_WIRE_BAD_FEATURES,
		                "x: the sum of the entries that share index 5 is not" } },
		{ true, { "82 a2 69 64 01 a1 78 81 a3 61 0a ff c0", COP_WIRE_BAD_FEATURES, "x[\"a??\"]: got nil" } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_bytes_clear(&a->bytes);
		put_hex(&a->bytes, cases[i].refusal.message);
		cop_err err = try_shape(a, cases[i].sparse ? &a->f.sparse : &a->f.dense);
		assert_refused(&a->fault, err, &cases[i].refusal);
	}
}

static void test_context_names_without_lookup_are_refused(void **state)
{
	attempt *a = *state;
	a->f.dense.naming = NULL;
	const refusal want = { "{'id': 1, 'x': {'a': 1}}", COP_WIRE_BAD_FEATURES,
		"x[\"a\"]: the model has no feature names, expected indices" };
	assert_refused(&a->fault, try_text(a, &a->f.dense, want.message), &want);
}

static void test_context_unknown_keys_nested_too_deeply_are_refused(void **state)
{
	attempt *a = *state;
	for (unsigned depth = 14; depth <= 17; depth++) {
		cop_bytes_clear(&a->bytes);
		put_hex(&a->bytes, "83 a2 69 64 01 a1 78 94 01 02 03 04 a1 7a");
		for (unsigned i = 0; i < depth; i++)
			cop_bytes_put_u8(&a->bytes, 0x91);
		cop_bytes_put_u8(&a->bytes, 0xc0);
		assert_int_equal(try_shape(a, &a->f.dense), depth < COP_WIRE_DEPTH ? COP_OK : COP_EFORMAT);
	}
}

static void test_context_keys_of_other_types_are_ignored(void **state)
{
	attempt *a = *state;
	put_hex(&a->bytes, "84 a2 69 64 01 07 08 92 01 02 c0 a1 78 94 01 02 03 04");
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
}

/* ---- explain ---- */

static void test_explain_takes_either_id_or_x(void **state)
{
	attempt *a = *state;
	static const struct {
		const char *text;
		bool fine, has_x;
	} cases[] = { { "{'id': 'u'}", true, false }, { "{'x': [1, 2, 3, 4], 'mask': [1,0,0,0,0,0]}", true, true },
		{ "{'id': 'u', 'x': [1, 2, 3, 4]}", false, false }, { "{}", false, false } };
	for (size_t i = 0; i < 4; i++) {
		cop_bytes_clear(&a->bytes);
		put_message(&a->bytes, cases[i].text);
		cop_err err = cop_wire_explain_decode(
		        a->bytes.data, a->bytes.length, &a->f.dense, &a->f.workspace, &a->context, &a->fault);
		assert_int_equal(err, cases[i].fine ? COP_OK : COP_EFORMAT);
		if (cases[i].fine)
			assert_int_equal(a->context.has_x, cases[i].has_x);
		else
			assert_memory_equal(a->fault.message, "id: expected either id", 22);
	}
}

/* ---- an apprentice's ---- */

static void test_context_of_an_apprentice_has_the_systems_action(void **state)
{
	attempt *a = *state;
	const cop_wire_context *c = &a->context;
	a->f.dense.apprentice = a->f.ranks.apprentice = true;
	assert_int_equal(
	        try_text(a, &a->f.dense, "{'p': 0.125, 'id': 1, " X4 ", 'a': 5, 'mask': [0,1,0,0,0,1]}"), COP_OK);
	assert_true(c->observed && c->a == 5 && c->p == 0.125);
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 1, " X4 ", 'a': 0, 'p': 1}"), COP_OK);
	assert_true(c->observed && c->a == 0 && c->p == 1.0);
	assert_int_equal(
	        try_text(a, &a->f.ranks, "{'id': 1, 'a': 1, 'p': 0.5, 'c': [[1,2,3],[4,5,6]], " X4 "}"), COP_OK);
	assert_true(c->observed && c->a == 1 && c->candidates == 2);
	static const refusal refusals[] = {
		{ "{'id': 1, " X4 "}", COP_WIRE_APPRENTICE, "a: missing; the model is an apprentice" },
		{ "{'id': 1, " X4 ", 'p': 0.5}", COP_WIRE_APPRENTICE, "a: missing; the model is an apprentice" },
		{ "{'id': 1, " X4 ", 'a': 1}", COP_WIRE_APPRENTICE, "p: missing; the model is an apprentice" },
		{ "{" X4 "}", COP_WIRE_BAD_REQUEST, "id: the key is missing" },
		{ "{'id': 1, " X4 ", 'a': 6, 'p': 0.5}", COP_WIRE_BAD_REQUEST, "a: got 6, expected an arm below 6" },
		{ "{'id': 1, " X4 ", 'a': 4294967296, 'p': 0.5}", COP_WIRE_BAD_REQUEST, "a: got 4294967295, expected" },
		{ "{'id': 1, " X4 ", 'a': -1, 'p': 0.5}", COP_WIRE_BAD_REQUEST, "a: got a negative integer" },
		{ "{'id': 1, " X4 ", 'a': 'b', 'p': 0.5}", COP_WIRE_BAD_REQUEST, "a: got a string" },
		{ "{'id': 1, " X4 ", 'a': 1, 'p': 0}", COP_WIRE_BAD_REQUEST, "p: got 0, expected a propensity" },
		{ "{'id': 1, " X4 ", 'a': 1, 'p': 1.5}", COP_WIRE_BAD_REQUEST, "p: got 1.5, expected a propensity" },
		{ "{'id': 1, " X4 ", 'a': 1, 'p': true}", COP_WIRE_BAD_REQUEST, "p: got a boolean" },
		{ "{'id': 1, " X4 ", 'a': 1, 'p': 0.5, 'mask': [1,0,1,1,1,1]}", COP_WIRE_BAD_REQUEST,
		        "a: got 1, which the mask excludes" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_text(a, &a->f.dense, refusals[i].message), &refusals[i]);
	static const refusal beyond = { "{'id': 1, 'a': 2, 'p': 0.5, 'c': [[1,2,3],[4,5,6]], " X4 "}",
		COP_WIRE_BAD_REQUEST, "a: got 2, expected a candidate below 2" };
	assert_refused(&a->fault, try_text(a, &a->f.ranks, beyond.message), &beyond);
}

static void test_context_of_an_apprentice_names_the_systems_arm(void **state)
{
	attempt *a = *state;
	const cop_wire_context *c = &a->context;
	a->f.dense.apprentice = true;
	a->f.dense.arm_names = fixture_arm_names();
	assert_int_equal(
	        try_text(a, &a->f.dense, "{'id': 1, 'a': 'down', 'p': 0.5, 'mask': ['up', 'down'], " X4 "}"), COP_OK);
	assert_true(c->observed && c->a == 4);
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 1, 'a': 4, 'p': 0.5, " X4 "}"), COP_OK);
	assert_true(c->observed && c->a == 4);
	static const refusal refusals[] = {
		{ "{'id': 1, " X4 ", 'a': 'b', 'p': 0.5}", COP_WIRE_BAD_REQUEST, "a: no arm has the name \"b\"" },
		{ "{'id': 1, " X4 ", 'a': true, 'p': 0.5}", COP_WIRE_BAD_REQUEST,
		        "a: got a boolean, expected an arm's number or name" },
		{ "{'id': 1, " X4 ", 'a': 'left', 'p': 0.5, 'mask': ['right']}", COP_WIRE_BAD_REQUEST,
		        "a: got 0, which the mask excludes" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_text(a, &a->f.dense, refusals[i].message), &refusals[i]);
}

/* ---- a control group's ---- */

static void test_context_has_what_its_caller_would_play(void **state)
{
	attempt *a = *state;
	const cop_wire_context *c = &a->context;
	a->f.dense.caller = a->f.ranks.caller = true;
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 1, " X4 ", 'a': 5, 'mask': [0,1,0,0,0,1]}"), COP_OK);
	assert_true(c->caller && !c->observed && c->a == 5 && c->p == 1.0);
	assert_int_equal(
	        try_text(a, &a->f.ranks, "{'id': 1, 'a': 1, 'p': 0.5, 'c': [[1,2,3],[4,5,6]], " X4 "}"), COP_OK);
	assert_true(c->caller && c->a == 1 && c->p == 0.5);
	static const refusal refusals[] = {
		{ "{'id': 1, " X4 "}", COP_WIRE_BAD_REQUEST, "a: missing; the model's baseline is the caller" },
		{ "{'id': 1, " X4 ", 'a': 6}", COP_WIRE_BAD_REQUEST, "a: got 6, expected an arm below 6" },
		{ "{'id': 1, " X4 ", 'a': 1, 'p': 0}", COP_WIRE_BAD_REQUEST, "p: got 0, expected a propensity" },
		{ "{'id': 1, " X4 ", 'a': 1, 'mask': [1,0,1,1,1,1]}", COP_WIRE_BAD_REQUEST,
		        "a: got 1, which the mask excludes" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_text(a, &a->f.dense, refusals[i].message), &refusals[i]);
}

static void test_context_has_a_unit_of_any_type_of_id(void **state)
{
	attempt *a = *state;
	const cop_wire_context *c = &a->context;
	cop_event_id want;
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 1, " X4 "}"), COP_OK);
	assert_int_equal(c->unit.kind, 0);
	assert_int_equal(try_text(a, &a->f.dense, "{'unit': 'p-17', 'id': 1, " X4 "}"), COP_OK);
	assert_true(cop_event_id_from_bytes(&want, COP_EVENT_ID_STRING, "p-17", 4));
	assert_true(cop_event_id_equal(&c->unit, &want));
	assert_int_equal(try_text(a, &a->f.ranks, "{'id': 1, 'unit': -3, 'c': [[1,2,3]], " X4 "}"), COP_OK);
	cop_event_id_from_signed(&want, -3);
	assert_true(cop_event_id_equal(&c->unit, &want) && !cop_event_id_equal(&c->unit, &c->id));
	static const refusal refusals[] = {
		{ "{'id': 1, " X4 ", 'unit': ''}", COP_WIRE_BAD_REQUEST, "unit: got 0 bytes, expected a string" },
		{ "{'id': 1, " X4 ", 'unit': 1.5}", COP_WIRE_BAD_REQUEST, "unit: got a" },
		{ "{'id': 1, " X4 ", 'unit': null}", COP_WIRE_BAD_REQUEST, "unit: got " },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_text(a, &a->f.dense, refusals[i].message), &refusals[i]);
}

#define TWO "'c': [[1,2,3],[4,5,6]], " X4

static void assert_name(const attempt *a, size_t candidate, const char *want)
{
	const char *text;
	size_t length;
	assert_int_equal(cop_wire_context_name(&a->context, candidate, &text, &length), want != NULL);
	if (want != NULL) {
		assert_int_equal(length, strlen(want));
		assert_memory_equal(text, want, length);
	}
}

static void test_context_candidates_have_names(void **state)
{
	attempt *a = *state;
	assert_int_equal(try_text(a, &a->f.ranks, "{'names': ['red', 'blue'], 'id': 1, " TWO "}"), COP_OK);
	assert_name(a, 0, "red");
	assert_name(a, 1, "blue");
	assert_name(a, 2, NULL);
	assert_true(a->context.mask[0] == 1 && a->context.mask[1] == 1);
	assert_int_equal(
	        try_text(a, &a->f.ranks, "{'mask': ['blue'], 'id': 1, " TWO ", 'names': ['red', 'blue']}"), COP_OK);
	assert_true(a->context.mask[0] == 0 && a->context.mask[1] == 1);
	assert_int_equal(try_text(a, &a->f.ranks, "{'id': 1, " TWO "}"), COP_OK);
	assert_name(a, 0, NULL);
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 1, 'names': 7, " X4 "}"), COP_OK); /* has no candidates */
	assert_name(a, 0, NULL);
	a->f.ranks.apprentice = true;
	assert_int_equal(
	        try_text(a, &a->f.ranks, "{'a': 'blue', 'id': 1, 'p': 0.5, " TWO ", 'names': ['red', 'blue']}"),
	        COP_OK);
	assert_true(a->context.observed && a->context.a == 1);
	static const refusal unknown = { "{'a': 'green', 'id': 1, 'p': 0.5, " TWO ", 'names': ['red', 'blue']}",
		COP_WIRE_BAD_REQUEST, "a: \"green\" is none of the candidates' names" };
	assert_refused(&a->fault, try_text(a, &a->f.ranks, unknown.message), &unknown);
}

static void test_context_wrong_names_of_candidates_are_refused(void **state)
{
	attempt *a = *state;
	static const refusal refusals[] = {
		{ "{'id': 1, " TWO ", 'names': ['red']}", COP_WIRE_BAD_REQUEST, "names: expected an array of 2 texts" },
		{ "{'id': 1, " TWO ", 'names': 'red'}", COP_WIRE_BAD_REQUEST, "names: expected an array of 2 texts" },
		{ "{'id': 1, " TWO ", 'names': ['red', 5]}", COP_WIRE_BAD_REQUEST,
		        "names[1]: expected a text of 1 to 64" },
		{ "{'id': 1, " TWO ", 'names': ['', 'red']}", COP_WIRE_BAD_REQUEST,
		        "names[0]: expected a text of 1 to 64" },
		{ "{'id': 1, " TWO ", 'names': ['red', 'blue'], 'mask': ['green']}", COP_WIRE_BAD_REQUEST,
		        "mask[0]: \"green\" is none of the candidates' names" },
		{ "{'id': 1, " TWO ", 'names': ['red', 'blue'], 'mask': ['red', 'red']}", COP_WIRE_BAD_REQUEST,
		        "mask[1]: the name stands twice" },
		{ "{'id': 1, " TWO ", 'names': ['red', 'blue'], 'mask': ['red', 1]}", COP_WIRE_BAD_REQUEST,
		        "mask[1]: got an integer, expected a candidate's name" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_text(a, &a->f.ranks, refusals[i].message), &refusals[i]);
}

/* They are unknown keys then, whatever they hold. */
static void test_context_elsewhere_has_no_action(void **state)
{
	attempt *a = *state;
	static const char *const fine[] = { "{'id': 1, " X4 ", 'a': 5, 'p': 0.5}", "{'id': 1, " X4 ", 'a': 99}",
		"{'id': 1, " X4 ", 'a': [{}], 'p': 'often'}" };
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(try_text(a, &a->f.dense, fine[i]), COP_OK);
		assert_false(a->context.observed);
	}
	cop_bytes_clear(&a->bytes); /* a comes twice */
	put_hex(&a->bytes, "84 a1 61 01 a2 69 64 01 a1 78 94 01 02 03 04 a1 61 02");
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
	a->f.dense.apprentice = true;
	assert_int_equal(try_shape(a, &a->f.dense), COP_EFORMAT);
	cop_bytes_clear(&a->bytes); /* explain has no action in any model */
	put_message(&a->bytes, "{" X4 ", 'a': 'x'}");
	assert_int_equal(cop_wire_explain_decode(
	                         a->bytes.data, a->bytes.length, &a->f.dense, &a->f.workspace, &a->context, &a->fault),
	        COP_OK);
	a->f.sparse.apprentice = true; /* of values: the configuration has none */
	assert_int_equal(try_text(a, &a->f.sparse, "{'id': 1, 'x': {}}"), COP_OK);
	assert_false(a->context.observed);
}

static void test_context_with_action_is_written_and_read_back(void **state)
{
	attempt *a = *state;
	a->f.dense.apprentice = true;
	assert_int_equal(try_text(a, &a->f.dense, "{'id': 1, " X4 ", 'a': 3, 'p': 0.1}"), COP_OK);
	const cop_wire_context c = a->context;
	float x[FEATURES] = { 1.0F, 2.0F, 3.0F, 4.0F };
	assert_memory_equal(c.x.dense, x, sizeof x);
	cop_bytes_clear(&a->bytes);
	cop_wire_context_put(&a->bytes, &c, COP_WIRE_FORM_ARRAY);
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
	assert_true(a->context.observed && a->context.a == 3 && a->context.p == 0.1);
	a->f.dense.apprentice = false;
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
}

/* ---- written and read ---- */

static void test_context_written_is_read_back(void **state)
{
	attempt *a = *state;
	float x[FEATURES] = { 0.1F, -2.0F, 3e38F, 0.0F };
	const uint8_t mask[ARMS] = { 0, 1, 1, 0, 0, 1 };
	cop_wire_context c = { .has_x = true,
		.x = { .d = FEATURES, .dense = x },
		.has_mask = true,
		.mask = mask,
		.arms = ARMS,
		.has_t = true,
		.t = 1.0 / 3.0,
		.defer = true,
		.source = { .name = "web", .length = 3, .n = 1, .has_n = true } };
	assert_true(cop_event_id_from_bytes(&c.id, COP_EVENT_ID_BINARY, "\0\1", 2));
	cop_wire_seq_from_unsigned(&c.seq, 1234567);
	for (int form = 0; form < 2; form++) {
		cop_bytes_clear(&a->bytes);
		cop_wire_context_put(&a->bytes, &c, (cop_wire_form)form);
		assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
		assert_memory_equal(a->context.x.dense, x, sizeof x);
		assert_memory_equal(a->context.mask, mask, sizeof mask);
		assert_true(a->context.t == c.t && a->context.defer && a->context.source.n == 1);
		assert_true(cop_event_id_equal(&a->context.id, &c.id));
		assert_int_equal(a->context.seq.length, 9);
		assert_memory_equal(a->context.seq.bytes, c.seq.bytes, 9);
	}
}

static void test_context_sparse_written_is_read_back(void **state)
{
	attempt *a = *state;
	const uint32_t index[] = { 0, 17, 1023 };
	const float value[] = { 0.1F, -2.0F, 1e-40F };
	cop_wire_context c = { .has_x = true, .x = { .d = 1 << BITS, .nnz = 3, .index = index, .value = value } };
	cop_event_id_from_signed(&c.id, INT64_MIN);
	cop_wire_context_put(&a->bytes, &c, COP_WIRE_FORM_PACKED);
	assert_int_equal(try_shape(a, &a->f.sparse), COP_OK);
	assert_int_equal(a->context.x.nnz, 3);
	assert_memory_equal(a->context.x.index, index, sizeof index);
	assert_memory_equal(a->context.x.value, value, sizeof value);
	assert_true(cop_event_id_equal(&a->context.id, &c.id));
}

/* ---- hostile ---- */

static cop_err decode_dense(fixture *f, const void *body, size_t length)
{
	cop_wire_context c;
	cop_wire_fault fault;
	return cop_wire_context_decode(body, length, &f->dense, &f->workspace, &c, &fault);
}

static cop_err decode_sparse(fixture *f, const void *body, size_t length)
{
	cop_wire_context c;
	cop_wire_fault fault;
	return cop_wire_context_decode(body, length, &f->sparse, &f->workspace, &c, &fault);
}

static cop_err decode_explain(fixture *f, const void *body, size_t length)
{
	cop_wire_context c;
	cop_wire_fault fault;
	return cop_wire_explain_decode(body, length, &f->dense, &f->workspace, &c, &fault);
}

static void test_context_cut_or_changed_is_never_read_out_of_bounds(void **state)
{
	attempt *a = *state;
	static const char *const texts[] = {
		"{'id': 'u1', 'x': [1, 0.5, -2, 70000], 'src': 'w', 'mask': [true, 0, 1, 0, "
		"0, 1], 't': 3.5, 'defer': false, 'n': 300, 'seq': 'q', 'z': {'k': [1]}}",
		"{'id': 70000, 'x': {'a': 1, 'c': 0.5}}"
	};
	for (size_t i = 0; i < 2; i++) {
		cop_bytes_clear(&a->bytes);
		put_message(&a->bytes, texts[i]);
		sweep_truncations(&a->f, decode_dense, &a->bytes);
		sweep_mutations(&a->f, decode_dense, &a->bytes);
		sweep_mutations(&a->f, decode_explain, &a->bytes);
		sweep_mutations(&a->f, decode_sparse, &a->bytes);
		if (i == 1)
			sweep_truncations(&a->f, decode_sparse, &a->bytes);
	}
	a->f.dense.apprentice = true;
	cop_bytes_clear(&a->bytes);
	put_message(&a->bytes, "{'id': 'u1', " X4 ", 'mask': [1, 1, 1, 0, 0, 1], 'a': 1, 'p': 0.25}");
	sweep_truncations(&a->f, decode_dense, &a->bytes);
	sweep_mutations(&a->f, decode_dense, &a->bytes);
	a->f.dense.arm_names = fixture_arm_names();
	cop_bytes_clear(&a->bytes);
	put_message(&a->bytes, "{'id': 'u1', " X4 ", 'mask': ['up', 'left', 'down'], 'a': 'left', 'p': 0.25}");
	sweep_truncations(&a->f, decode_dense, &a->bytes);
	sweep_mutations(&a->f, decode_dense, &a->bytes);
}

static void test_context_decoding_allocates_nothing(void **state)
{
	attempt *a = *state;
	put_message(&a->bytes, "{'id': 'u1', 'x': [1, 0.5, -2, 0], 'mask': [1, 1, 1, 0, 0, 1], 'new': [[1], 2]}");
	cop_test_alloc_fail(0, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
	assert_int_equal(cop_test_alloc_count(), 0);
	a->f.dense.arm_names = fixture_arm_names();
	cop_bytes_clear(&a->bytes);
	put_message(&a->bytes, "{'id': 'u1', " X4 ", 'mask': ['up', 'left']}");
	cop_test_alloc_fail(0, 0);
	assert_int_equal(try_shape(a, &a->f.dense), COP_OK);
	assert_int_equal(cop_test_alloc_count(), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_context_all_keys_are_read),
		CASE(test_context_without_optional_keys_has_defaults),
		CASE(test_context_ids_of_three_types_are_distinct),
		CASE(test_context_packed_floats_are_read),
		CASE(test_context_dense_map_fills_by_name_and_index),
		CASE(test_context_dense_row_is_written_nowhere_else),
		CASE(test_context_sparse_names_are_hashed),
		CASE(test_context_sparse_collisions_are_summed),
		CASE(test_context_sparse_random_maps_are_sorted),
		CASE(test_context_mask_bit_set_is_read),
		CASE(test_context_mask_of_names_is_read),
		CASE(test_context_mask_of_names_that_are_wrong_is_refused),
		CASE(test_context_wrong_messages_are_refused_in_words),
		CASE(test_context_wrong_sparse_messages_are_refused),
		CASE(test_context_wrong_bytes_are_refused),
		CASE(test_context_names_without_lookup_are_refused),
		CASE(test_context_unknown_keys_nested_too_deeply_are_refused),
		CASE(test_context_keys_of_other_types_are_ignored),
		CASE(test_explain_takes_either_id_or_x),
		CASE(test_context_of_an_apprentice_has_the_systems_action),
		CASE(test_context_of_an_apprentice_names_the_systems_arm),
		CASE(test_context_has_what_its_caller_would_play),
		CASE(test_context_has_a_unit_of_any_type_of_id),
		CASE(test_context_candidates_have_names),
		CASE(test_context_wrong_names_of_candidates_are_refused),
		CASE(test_context_elsewhere_has_no_action),
		CASE(test_context_with_action_is_written_and_read_back),
		CASE(test_context_written_is_read_back),
		CASE(test_context_sparse_written_is_read_back),
		CASE(test_context_cut_or_changed_is_never_read_out_of_bounds),
		CASE(test_context_decoding_allocates_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
