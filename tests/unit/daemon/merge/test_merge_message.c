/* Messages of the link: what is put is read back, by kind, and what is missing or wrong is named. */
#include "daemon/merge/merge_message.h"

#include "support.h"

static cop_merge_message full(cop_merge_kind kind)
{
	return (cop_merge_message){ .kind = kind,
		.version = 1,
		.of = 4,
		.part = 3,
		.own = 1,
		.life = UINT64_MAX,
		.number = 7,
		.features = 8,
		.arms = 9,
		.crc = 0xffffffff,
		.time = 1.5,
		.model = cop_merge_message_text("m"),
		.learner = cop_merge_message_text("ridge"),
		.reason = cop_merge_message_text("why"),
		.known = { "0123456789abcdef", 16 } };
}

static void test_message_of_each_kind_is_read_as_it_was_put(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < COP_MERGE_KINDS; kind++) {
		cop_merge_message put = full((cop_merge_kind)kind), is;
		cop_wire_fault fault;
		cop_bytes bytes, again;
		cop_bytes_init(&bytes);
		cop_bytes_init(&again);
		cop_merge_message_put(&bytes, &put);
		assert_int_equal(cop_merge_message_read(bytes.data, bytes.length, &is, &fault), COP_OK);
		assert_int_equal(is.kind, kind);
		assert_int_equal(is.version, 1);
		assert_int_equal(is.life, kind == COP_MERGE_SUMMARY ? UINT64_MAX : 0);
		assert_int_equal(is.known.length, kind == COP_MERGE_ASK ? 16 : 0);
		cop_merge_message_put(&again, &is);
		assert_int_equal(again.length, bytes.length);
		assert_memory_equal(again.data, bytes.data, bytes.length);
		for (size_t length = 0; length < bytes.length; length++)
			assert_int_equal(cop_merge_message_read(bytes.data, length, &is, &fault), COP_EFORMAT);
		cop_bytes_fini(&bytes);
		cop_bytes_fini(&again);
	}
}

static void test_message_that_is_wrong_is_refused_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t length;
		const char *holds;
	} cases[] = {
		{ "\x01", 1, "a map" },
		{ "\x80", 1, "k" },
		{ "\x81\xa1k\xa3"
		  "who",
		        7, "a kind of message" },
		{ "\x81\xa1k\x01", 4, "a kind of message" },
		{ "\x81\xa1k\xa3"
		  "end",
		        7, "version" },
		{ "\x82\xa1k\xa3"
		  "end\xa7version\xa1"
		  "1",
		        17, "a whole number" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_merge_message is;
		cop_wire_fault fault = { .message = "" };
		assert_int_not_equal(cop_merge_message_read(cases[i].bytes, cases[i].length, &is, &fault), COP_OK);
		if (strstr(fault.message, cases[i].holds) == NULL)
			fail_msg("%zu: \"%s\" does not name %s", i, fault.message, cases[i].holds);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message_of_each_kind_is_read_as_it_was_put),
		cmocka_unit_test(test_message_that_is_wrong_is_refused_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
