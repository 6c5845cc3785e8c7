/* tests/unit/wire/wire_fixture.h: what wire's tests share: a dense and a sparse model's shape with room for both, bytes
 * from hex digits, and the sweeps every decoder must survive. Include after support.h. */
#ifndef COP_TESTS_UNIT_WIRE_WIRE_FIXTURE_H
#define COP_TESTS_UNIT_WIRE_WIRE_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/bytes.h"
#include "wire/wire_features.h"
#include "wire/wire_put.h"

#define FEATURES           4
#define ARMS               6
#define BITS               10
#define NONZEROS           8
#define CANDIDATES         5 /* below ARMS, which the mask has room for */
#define CANDIDATE_FEATURES 3

typedef struct fixture {
	cop_wire_shape dense, sparse;
	cop_wire_shape ranks, sparse_ranks;
	cop_wire_workspace workspace;
	float x[FEATURES];
	uint32_t index[NONZEROS];
	float value[NONZEROS];
	uint8_t mask[ARMS];
	cop_row candidate[CANDIDATES];
	float candidate_value[CANDIDATES * NONZEROS];
	uint32_t candidate_index[CANDIDATES * NONZEROS];
} fixture;

/* Of all fixtures: tests run one after the other. */
static inline cop_wire_naming *fixture_letters(void)
{
	static cop_wire_naming *letters;
	const char *const names[FEATURES] = { "a", "b", "c", "d" };
	if (letters == NULL)
		assert_int_equal(cop_wire_names_new_list(names, FEATURES, CANDIDATES, &letters), COP_OK);
	return letters;
}

/* Of all fixtures too: arms are named left, middle, right, up, down and 4, which is arm 5. */
static inline const cop_name_table *fixture_arm_names(void)
{
	static cop_name_table table;
	static const char *const names[ARMS] = { "left", "middle", "right", "up", "down", "4" };
	const cop_name_prefix none = { 0 };
	for (size_t i = table.count; i < ARMS; i++) {
		uint32_t arm;
		assert_int_equal(cop_name_table_add(&table, 0, none, names[i], strlen(names[i]), &arm), COP_OK);
		assert_int_equal(arm, i);
	}
	return &table;
}

/* Dense features are named a, b, c, d. */
static inline void fixture_init(fixture *f)
{
	memset(f, 0, sizeof *f);
	f->dense = (cop_wire_shape){ .features = FEATURES, .arms = ARMS, .losses = 1, .naming = fixture_letters() };
	f->sparse = (cop_wire_shape){ .bits = BITS, .max_nonzeros = NONZEROS, .arms = 0, .losses = 0 };
	f->ranks = f->dense;
	f->ranks.arms = 0;
	f->ranks.max_candidates = CANDIDATES;
	f->ranks.candidate_features = CANDIDATE_FEATURES;
	f->sparse_ranks = f->sparse;
	f->sparse_ranks.max_candidates = CANDIDATES;
	f->sparse_ranks.losses = 1;
	f->workspace = (cop_wire_workspace){
		.dense = f->x,
		.index = f->index,
		.value = f->value,
		.mask = f->mask,
		.candidate = f->candidate,
		.candidate_value = f->candidate_value,
		.candidate_index = f->candidate_index,
	};
}

static inline unsigned hex_digit(char c) { return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10; }

/* Appends the bytes of "82 a2 69 64 …". */
static inline void put_hex(cop_bytes *bytes, const char *hex)
{
	while (*hex != '\0') {
		if (*hex == ' ') {
			hex++;
			continue;
		}
		cop_bytes_put_u8(bytes, (uint8_t)(hex_digit(hex[0]) << 4 | hex_digit(hex[1])));
		hex += 2;
	}
}

static inline void put_json(cop_bytes *bytes, const json_t *value)
{
	const char *key;
	json_t *child;
	size_t i;
	if (json_is_object(value)) {
		cop_wire_put_map(bytes, json_object_size(value));
		void *at = json_object_iter((json_t *)(uintptr_t)value);
		for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)value, at)) {
			key = json_object_iter_key(at);
			cop_wire_put_text(bytes, key);
			put_json(bytes, json_object_iter_value(at));
		}
	} else if (json_is_array(value)) {
		cop_wire_put_array(bytes, json_array_size(value));
		json_array_foreach(value, i, child) put_json(bytes, child);
	} else if (json_is_string(value)) {
		cop_wire_put_string(bytes, json_string_value(value), json_string_length(value));
	} else if (json_is_integer(value)) {
		cop_wire_put_signed(bytes, json_integer_value(value));
	} else if (json_is_real(value)) {
		cop_wire_put_double(bytes, json_real_value(value));
	} else if (json_is_null(value)) {
		cop_wire_put_nil(bytes);
	} else {
		cop_wire_put_bool(bytes, json_is_true(value));
	}
}

/* Appends what the JSON text (with ' for ") says as MessagePack; keys keep their order. */
static inline void put_message(cop_bytes *bytes, const char *text)
{
	char json[1024];
	assert_true(strlen(text) < sizeof json);
	for (size_t i = 0; i <= strlen(text); i++)
		json[i] = text[i] == '\'' ? '"' : text[i];
	json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
	assert_non_null(value);
	put_json(bytes, value);
	json_decref(value);
}

/* A message that must be refused: with this code, and a text that begins so. */
typedef struct refusal {
	const char *message;
	cop_wire_code code;
	const char *text;
} refusal;

static inline void assert_refused(const cop_wire_fault *fault, cop_err err, const refusal *want)
{
	if (err == COP_OK || fault->code != want->code || strncmp(fault->message, want->text, strlen(want->text)) != 0)
		print_error("for %s: error %d, %s: %s\n", want->message, (int)err, cop_wire_code_text(fault->code),
		        fault->message);
	assert_int_not_equal(err, COP_OK);
	assert_int_equal(fault->code, want->code);
	assert_memory_equal(fault->message, want->text, strlen(want->text));
}

typedef cop_err (*decoder)(fixture *f, const void *body, size_t length);

/* Every shorter message is refused. The copy ends where the message ends, so a sanitizer sees a read behind it. */
static inline void sweep_truncations(fixture *f, decoder decode, const cop_bytes *message)
{
	for (size_t length = 0; length < message->length; length++) {
		uint8_t *copy = malloc(length + 1);
		assert_non_null(copy);
		memcpy(copy + 1, message->data, length);
		assert_int_not_equal(decode(f, copy + 1, length), COP_OK);
		free(copy);
	}
}

/* Every value of every byte: whatever the answer, nothing is read or written out of bounds. */
static inline void sweep_mutations(fixture *f, decoder decode, const cop_bytes *message)
{
	uint8_t *copy = malloc(message->length);
	assert_non_null(copy);
	for (size_t at = 0; at < message->length; at++) {
		memcpy(copy, message->data, message->length);
		for (unsigned value = 0; value < 256; value++) {
			copy[at] = (uint8_t)value;
			(void)!decode(f, copy, message->length);
		}
	}
	free(copy);
}

#endif
