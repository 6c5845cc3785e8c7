/* What is said to etcd's gateway, letter by letter as its documents have it, and answers that a server gave. */
#include "support.h"

#include <string.h>

#include "daemon/lease/lease_text.h"

static void check(cop_bytes *made, const char *want)
{
	assert_int_equal(made->err, COP_OK);
	assert_string_equal((const char *)made->data, want);
	cop_bytes_fini(made);
}

static void test_requests_are_as_the_gateway_has_them(void **state)
{
	(void)state;
	cop_bytes made;
	cop_bytes_init(&made);
	cop_lease_text_grant(&made, 3);
	check(&made, "{\"TTL\":\"3\"}");
	cop_bytes_init(&made);
	cop_lease_text_lease(&made, 7587890000000000001);
	check(&made, "{\"ID\":\"7587890000000000001\"}");
	cop_bytes_init(&made);
	cop_lease_text_put(&made, "foo", "ba", 5); /* of RFC 4648, as the next ones */
	check(&made, "{\"key\":\"Zm9v\",\"value\":\"YmE=\",\"lease\":\"5\"}");
	cop_bytes_init(&made);
	cop_lease_text_prefix(&made, "foob");
	check(&made, "{\"key\":\"Zm9vYg==\",\"range_end\":\"Zm9vYw==\"}");
	cop_bytes_init(&made);
	cop_lease_text_take(&made, "fooba", "foobar", 9);
	check(&made, "{\"compare\":[{\"key\":\"Zm9vYmE=\",\"target\":\"CREATE\",\"result\":\"EQUAL\",\"create_"
	             "revision\":\"0\"}],"
	             "\"success\":[{\"request_put\":{\"key\":\"Zm9vYmE=\",\"value\":\"Zm9vYmFy\",\"lease\":\"9\"}}]}");
}

static cop_bytes answer_of(const char *text)
{
	cop_bytes answer;
	cop_bytes_init(&answer);
	cop_bytes_put(&answer, text, strlen(text));
	return answer;
}

static void test_lease_is_read_of_its_own_answer_and_of_a_stream(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		cop_err want;
		int64_t id;
		uint64_t seconds;
	} cases[] = {
		{ "{\"header\":{\"revision\":\"1\"},\"ID\":\"7587\",\"TTL\":\"3\"}", COP_OK, 7587, 3 },
		{ "{\"ID\":7587,\"TTL\":3}", COP_OK, 7587, 3 },
		{ "{\"result\":{\"header\":{},\"ID\":\"7587\",\"TTL\":\"2\"}}\n", COP_OK, 7587, 2 },
		{ "{\"result\":{\"header\":{},\"ID\":\"7587\"}}", COP_OK, 7587, 0 },
		{ "{\"ID\":\"7587\",\"TTL\":\"-3\"}", COP_EFORMAT, 0, 0 },
		{ "{\"ID\":\"75x\",\"TTL\":\"3\"}", COP_EFORMAT, 0, 0 },
		{ "{\"TTL\":\"3\"}", COP_EFORMAT, 0, 0 },
		{ "{\"ID\":\"99999999999999999999\"}", COP_EFORMAT, 0, 0 },
		{ "{\"error\":\"etcdserver: no leader\",\"code\":14}", COP_EFORMAT, 0, 0 },
		{ "{\"error\":{\"message\":\"etcdserver: no leader\"}}", COP_EFORMAT, 0, 0 },
		{ "[]", COP_EFORMAT, 0, 0 },
		{ "404 page not found", COP_EFORMAT, 0, 0 },
		{ "", COP_EFORMAT, 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t id;
		uint64_t seconds;
		cop_diag diag = { .message = "" };
		cop_bytes answer = answer_of(cases[i].text);
		assert_int_equal(cop_lease_text_read_lease(&answer, &id, &seconds, &diag), cases[i].want);
		if (cases[i].want == COP_OK) {
			assert_int_equal(id, cases[i].id);
			assert_int_equal(seconds, cases[i].seconds);
		} else {
			assert_non_null(strstr(diag.message, "etcd answered "));
			if (strstr(cases[i].text, "error") != NULL)
				assert_non_null(strstr(diag.message, "no leader"));
		}
		cop_bytes_fini(&answer);
	}
}

static void test_transaction_that_failed_has_no_succeeded(void **state)
{
	(void)state;
	bool taken;
	uint64_t revision;
	cop_diag diag;
	cop_bytes answer = answer_of("{\"header\":{\"revision\":\"12\"},\"succeeded\":true,\"responses\":[]}");
	assert_int_equal(cop_lease_text_read_take(&answer, &taken, &revision, &diag), COP_OK);
	assert_true(taken && revision == 12);
	cop_bytes_fini(&answer);
	answer = answer_of("{\"header\":{\"revision\":\"13\"}}");
	assert_int_equal(cop_lease_text_read_take(&answer, &taken, &revision, &diag), COP_OK);
	assert_true(!taken && revision == 13);
	cop_bytes_fini(&answer);
	answer = answer_of("{\"succeeded\":true}");
	assert_int_equal(cop_lease_text_read_take(&answer, &taken, &revision, &diag), COP_EFORMAT);
	cop_bytes_fini(&answer);
}

typedef struct heard {
	size_t count;
	cop_lease_text_pair pairs[4];
} heard;

static void hear(void *context, const cop_lease_text_pair *pair)
{
	heard *h = context;
	assert_true(h->count < 4);
	h->pairs[h->count++] = *pair;
}

static void test_range_gives_each_pair(void **state)
{
	(void)state;
	heard h = { 0 };
	cop_diag diag = { .message = "" };
	cop_bytes answer =
	        answer_of("{\"header\":{},\"kvs\":[{\"key\":\"Zm9v\",\"create_revision\":\"4\",\"lease\":\"8\","
	                  "\"value\":\"YmE=\"},{\"key\":\"Zm9vYmFy\",\"create_revision\":\"5\"}],\"count\":\"2\"}");
	assert_int_equal(cop_lease_text_read_range(&answer, hear, &h, &diag), COP_OK);
	assert_int_equal(h.count, 2);
	assert_string_equal(h.pairs[0].key, "foo");
	assert_string_equal(h.pairs[0].value, "ba");
	assert_true(h.pairs[0].created == 4 && h.pairs[0].lease == 8);
	assert_string_equal(h.pairs[1].key, "foobar");
	assert_string_equal(h.pairs[1].value, "");
	cop_bytes_fini(&answer);
	h.count = 0;
	answer = answer_of("{\"header\":{}}");
	assert_int_equal(cop_lease_text_read_range(&answer, hear, &h, &diag), COP_OK);
	assert_int_equal(h.count, 0);
	cop_bytes_fini(&answer);
	answer = answer_of("{\"header\":{},\"kvs\":[{\"key\":7}]}");
	assert_int_equal(cop_lease_text_read_range(&answer, hear, &h, &diag), COP_EFORMAT);
	cop_bytes_fini(&answer);
}

/* Any text up to the longest, whatever its bytes: there and back. */
static void test_base64_goes_there_and_back(void **state)
{
	(void)state;
	char text[COP_LEASE_TEXT_KEY];
	for (size_t length = 0; length < sizeof text; length++) {
		for (size_t i = 0; i < length; i++)
			text[i] = (char)(1 + (i * 37 + length) % 255);
		text[length] = '\0';
		cop_bytes made, answer;
		cop_bytes_init(&made);
		cop_bytes_init(&answer);
		cop_lease_text_put(&made, text, "", 1);
		static const char before[] = "{\"header\":{},\"kvs\":[", after[] = "]}";
		cop_bytes_put(&answer, before, sizeof before - 1);
		cop_bytes_put(&answer, made.data, made.length - 1);
		cop_bytes_put(&answer, after, sizeof after - 1);
		heard h = { 0 };
		cop_diag diag;
		assert_int_equal(cop_lease_text_read_range(&answer, hear, &h, &diag), COP_OK);
		assert_string_equal(h.pairs[0].key, text);
		cop_bytes_fini(&made);
		cop_bytes_fini(&answer);
	}
}

static void test_texts_without_memory_fail_cleanly(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned long n = 1; failed; n++) {
		cop_bytes made;
		cop_diag diag;
		int64_t id;
		uint64_t seconds;
		cop_bytes answer = answer_of("{\"ID\":\"7\",\"TTL\":\"3\"}");
		cop_bytes_init(&made);
		cop_test_alloc_fail(n, 0);
		cop_lease_text_take(&made, "k", "v", 1);
		cop_err err = cop_lease_text_read_lease(&answer, &id, &seconds, &diag);
		cop_test_alloc_fail(0, 0);
		failed = cop_test_alloc_failed();
		assert_int_equal(failed, made.err == COP_ENOMEM || err == COP_ENOMEM);
		cop_bytes_fini(&made);
		cop_bytes_fini(&answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_are_as_the_gateway_has_them),
		cmocka_unit_test(test_lease_is_read_of_its_own_answer_and_of_a_stream),
		cmocka_unit_test(test_transaction_that_failed_has_no_succeeded),
		cmocka_unit_test(test_range_gives_each_pair),
		cmocka_unit_test(test_base64_goes_there_and_back),
		cmocka_unit_test(test_texts_without_memory_fail_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
