/* wire_code: the texts of the protocol, and messages that stay clean whatever is put into them. */
#include "support.h"

#include <string.h>

#include "wire/wire_code.h"

static void test_code_texts_are_the_protocols(void **state)
{
	(void)state;
	static const char *const texts[] = { "bad_request", "bad_features", "bad_loss", "unknown_model", "unknown_verb",
		"too_large", "busy", "not_durable", "forbidden", "internal", "apprentice", "unknown_decision", "behind",
		"not_leader", "other_part" };
	assert_int_equal(COP_WIRE_CODE_COUNT, 16);
	for (unsigned i = 0; i < 15; i++) {
		cop_wire_code code;
		assert_string_equal(cop_wire_code_text((cop_wire_code)(i + 1)), texts[i]);
		assert_true(cop_wire_code_find(texts[i], strlen(texts[i]), &code));
		assert_int_equal(code, i + 1);
		assert_false(cop_wire_code_find(texts[i], strlen(texts[i]) - 1, &code));
	}
	cop_wire_code code;
	assert_false(cop_wire_code_find("ok", 2, &code));
}

static void test_result_texts_are_the_protocols(void **state)
{
	(void)state;
	static const char *const texts[] = { "applied", "recorded", "duplicate", "late", "unknown" };
	for (unsigned i = 0; i < COP_WIRE_RESULT_COUNT; i++) {
		cop_wire_result result;
		assert_string_equal(cop_wire_result_text((cop_wire_result)i), texts[i]);
		assert_true(cop_wire_result_find(texts[i], strlen(texts[i]), &result));
		assert_int_equal(result, i);
	}
}

static void test_fault_long_text_is_cut(void **state)
{
	(void)state;
	cop_wire_fault fault;
	char text[600];
	memset(text, 'y', sizeof text);
	text[sizeof text - 1] = '\0';
	assert_int_equal(cop_wire_fault_set(&fault, COP_WIRE_BAD_LOSS, "loss: %s", text), COP_EINVAL);
	assert_int_equal(fault.code, COP_WIRE_BAD_LOSS);
	assert_true(strlen(fault.message) < sizeof fault.message);
	assert_int_equal(cop_wire_fault_set(NULL, COP_WIRE_BAD_REQUEST, "nothing"), COP_EFORMAT);
}

static void test_text_malformed_characters_are_replaced(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "plain", "plain" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xf0\x9f\x8c\xb3", "\xf0\x9f\x8c\xb3" },
		{ "a\nb\x7f", "a?b?" },
		{ "\xc3", "?" },
		{ "\xc0\x80", "??" },
		{ "\xed\xa0\x80", "???" },
		{ "\xf4\x90\x80\x80", "????" },
		{ "\xe2\x82", "??" },
		{ "\xff", "?" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char out[32];
		cop_wire_text_clean(out, sizeof out, cases[i].in, strlen(cases[i].in));
		assert_string_equal(out, cases[i].out);
	}
}

static void test_text_too_long_is_cut_between_characters(void **state)
{
	(void)state;
	static const char text[] = "gr\xc3\xbc\xc3\x9f\xc3\xbc\xc3\x9f\xc3\xbc\xc3\x9f";
	for (size_t size = 1; size < 20; size++) {
		char out[20];
		memset(out, 'z', sizeof out);
		cop_wire_text_clean(out, size, text, sizeof text - 1);
		size_t length = strlen(out);
		assert_true(length < size);
		for (size_t i = 0; i < length;) {
			size_t step = cop_wire_text_step(out + i, length - i);
			assert_true(step > 0);
			i += step;
		}
		if (size >= sizeof text)
			assert_string_equal(out, text);
		else if (size >= 5)
			assert_string_equal(out + length - 3, "...");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_texts_are_the_protocols),
		cmocka_unit_test(test_result_texts_are_the_protocols),
		cmocka_unit_test(test_fault_long_text_is_cut),
		cmocka_unit_test(test_text_malformed_characters_are_replaced),
		cmocka_unit_test(test_text_too_long_is_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
