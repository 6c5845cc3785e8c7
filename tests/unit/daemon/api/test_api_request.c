/* A request's way without sockets: text in, a verb's body, the reply as text; and memory that runs out. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "daemon/api/api_request.h"
#include "support.h"
#include "wire/wire_json.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

static void begin(cop_api_request *r, const char *path, const char *body)
{
	cop_api_request_init(r);
	bool whole;
	r->route = cop_api_route_find(path, r->model, &whole);
	r->personal = cop_api_route_is_personalizer(r->route);
	assert_non_null(r->route);
	cop_bytes_put(&r->body, body, strlen(body));
}

static void assert_answer(cop_api_request *r, unsigned status, const char *text)
{
	assert_int_equal(r->status, status);
	assert_int_equal(r->answer.length, strlen(text));
	assert_memory_equal(r->answer.data, text, strlen(text));
}

static void assert_put(cop_api_request *r, uint64_t number, const char *json)
{
	cop_bytes out, text;
	uint64_t found;
	cop_bytes_init(&out);
	cop_bytes_init(&text);
	assert_true(cop_api_request_put(r, number, &out));
	assert_true(cop_api_request_number(out.data, out.length, &found) && found == number);
	assert_int_equal(cop_wire_json(&text, out.data, out.length, 0), COP_OK);
	cop_bytes_put_u8(&text, 0);
	assert_string_equal((const char *)text.data, json);
	cop_bytes_fini(&out);
	cop_bytes_fini(&text);
	assert_int_equal(r->status, 0);
}

static void test_request_becomes_a_body_with_the_listeners_number(void **state)
{
	(void)state;
	cop_api_request r;
	begin(&r, "/v1/models/m/decide", "{\"id\":1,\"seq\":\"mine\",\"x\":[0.5]}");
	assert_put(&r, 1ull << 40, "{\"id\":1,\"x\":[0.5],\"seq\":1099511627776}");
	cop_api_request_fini(&r);
	begin(&r, "/v1/models", "");
	assert_put(&r, 7, "{\"seq\":7}");
	cop_api_request_fini(&r);
}

static void test_request_with_a_wrong_body_is_a_problem(void **state)
{
	(void)state;
	cop_api_request r;
	cop_bytes out;
	cop_bytes_init(&out);
	begin(&r, "/v1/models/m/decide", "{\"id\":\"a\"");
	assert_false(cop_api_request_put(&r, 1, &out));
	assert_int_equal(r.status, 400);
	cop_json *json;
	assert_int_equal(cop_json_parse((const char *)r.answer.data, r.answer.length, &json, NULL), COP_OK);
	const char *code;
	assert_int_equal(cop_json_get_text(cop_json_member(json, "code"), &code, NULL), COP_OK);
	assert_string_equal(code, "bad_request");
	cop_json_free(json);
	cop_api_request_fini(&r);
	cop_bytes_fini(&out);
}

static void put_models(cop_bytes *out, size_t count)
{
	cop_wire_put_map(out, 3);
	cop_wire_put_key_text(out, "version", "1");
	cop_wire_put_text(out, "models");
	cop_wire_put_array(out, count);
	for (size_t i = 0; i < count; i++) {
		cop_wire_put_map(out, 1);
		cop_wire_put_key_unsigned(out, "rev", i);
	}
	cop_wire_put_key_unsigned(out, "seq", 5);
}

static void test_request_shows_the_part_of_a_reply_that_it_asked_for(void **state)
{
	(void)state;
	cop_api_request r;
	cop_bytes reply;
	cop_bytes_init(&reply);
	put_models(&reply, 2);
	begin(&r, "/v1/models", "");
	cop_api_request_take(&r, true, reply.data, reply.length);
	assert_answer(&r, 200, "{\"models\":[{\"rev\":0},{\"rev\":1}]}");
	cop_api_request_fini(&r);
	begin(&r, "/v1/models/m", "");
	cop_api_request_take(&r, true, reply.data, reply.length);
	assert_answer(&r, 200, "{\"rev\":0}");
	cop_api_request_fini(&r);
	begin(&r, "/v1/models/m/decide", "{}");
	cop_api_request_take(&r, true, reply.data, reply.length);
	assert_answer(&r, 200, "{\"version\":\"1\",\"models\":[{\"rev\":0},{\"rev\":1}]}");
	cop_api_request_reset(&r);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.answer.length, 0);
	cop_api_request_fini(&r);
	cop_bytes_clear(&reply);
	put_models(&reply, 0);
	begin(&r, "/v1/models/m", "");
	cop_api_request_take(&r, true, reply.data, reply.length);
	assert_int_equal(r.status, 500);
	cop_api_request_fini(&r);
	cop_bytes_fini(&reply);
}

static void test_request_of_the_past_is_asked_again_and_may_be_too_much(void **state)
{
	static const char looking[] = "\x82\xa5state\xa7looking\xa3seq\x01", done[] = "\x82\xa5state\xa4"
	                                                                              "done\xa3seq\x01";
	static const char *const paths[] = { "/v1/models/m/decision", "/v1/models/m/decisions" };
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		cop_api_request r;
		cop_bytes reply;
		begin(&r, paths[i], "");
		cop_api_request_take(&r, true, looking, sizeof looking - 1);
		assert_true(r.again && r.status == 0 && r.answer.length == 0);
		cop_api_request_take(&r, true, done, sizeof done - 1);
		assert_true(!r.again && r.status == 200);
		const char *expected = i == 0 ? "{\"found\":true,\"state\":\"done\"}" : "{\"state\":\"done\"}";
		assert_int_equal(r.answer.length, strlen(expected));
		assert_memory_equal(r.answer.data, expected, strlen(expected));
		cop_bytes_init(&reply);
		cop_wire_reply_error_put(&reply, COP_WIRE_BUSY, "why", NULL, NULL);
		cop_api_request_take(&r, false, reply.data, reply.length);
		assert_true(r.status == 429 && r.crowded);
		cop_bytes_fini(&reply);
		cop_api_request_fini(&r);
	}
}

static void test_request_errors_have_the_status_of_their_code(void **state)
{
	(void)state;
	static const unsigned statuses[COP_WIRE_CODE_COUNT] = { 0, 400, 422, 422, 404, 404, 413, 503, 503, 403, 500,
		422, 404, 409, 0, 409 };
	for (cop_wire_code code = COP_WIRE_BAD_REQUEST; code < COP_WIRE_CODE_COUNT; code++) {
		cop_api_request r;
		cop_bytes reply;
		char text[256];
		cop_bytes_init(&reply);
		cop_wire_reply_error_put(&reply, code, "why \"so\"", NULL, NULL);
		begin(&r, "/v1/models/m/decide", "{}");
		cop_api_request_take(&r, false, reply.data, reply.length);
		assert_int_equal(r.status, statuses[code]);
		(void)snprintf(text, sizeof text, "\"status\":%u,\"code\":\"%s\",\"detail\":\"why \\\"so\\\"\"}",
		        statuses[code], cop_wire_code_text(code));
		assert_int_equal(cop_api_request_status(code), statuses[code]);
		assert_true(r.answer.length > strlen(text));
		assert_memory_equal(r.answer.data + r.answer.length - strlen(text), text, strlen(text));
		cop_api_request_fini(&r);
		cop_bytes_fini(&reply);
	}
}

static void test_request_takes_replies_that_are_no_map(void **state)
{
	(void)state;
	static const uint8_t bytes[] = { 0xc1 };
	cop_api_request r;
	uint64_t number;
	assert_false(cop_api_request_number(bytes, sizeof bytes, &number));
	begin(&r, "/v1/models/m/decide", "{}");
	cop_api_request_take(&r, true, bytes, sizeof bytes);
	assert_int_equal(r.status, 500);
	cop_api_request_take(&r, false, bytes, sizeof bytes);
	assert_int_equal(r.status, 500);
	cop_api_request_fini(&r);
}

static const char ranked[] = "{\"contextFeatures\":[{\"a\":1},{\"b\":{\"c\":\"d\"}}],\"actions\":[{\"id\":\"x\","
                             "\"features\":[{\"e\":2},{\"f\":3}]},"
                             "{\"id\":\"y\"}],\"excludedActions\":[\"x\"],\"eventId\":\"e1\",\"deferActivation\":true}";

static void test_personalizer_rank_becomes_the_verbs_body(void **state)
{
	(void)state;
	cop_api_request r;
	begin(&r, "/personalizer/v1.0/rank", ranked);
	assert_put(&r, 9,
	        "{\"id\":\"e1\",\"probabilities\":true,\"defer\":true,\"x\":{\"a\":1.0,\"b\":{\"c\":"
	        "\"d\"}},"
	        "\"c\":[{\"e\":2.0,\"f\":3.0},{}],\"mask\":[false,true],\"a\":1,\"p\":1.0,\"seq\":9}");
	cop_bytes reply;
	cop_bytes_init(&reply);
	cop_wire_put_map(&reply, 3);
	cop_wire_put_key_unsigned(&reply, "a", 1);
	cop_wire_put_key_double(&reply, "p", 1.0);
	cop_wire_put_text(&reply, "probabilities");
	cop_wire_put_array(&reply, 2);
	cop_wire_put_double(&reply, 0.0);
	cop_wire_put_double(&reply, 1.0);
	cop_api_request_take(&r, true, reply.data, reply.length);
	assert_answer(&r, 201,
	        "{\"ranking\":[{\"id\":\"x\",\"probability\":0},{\"id\":\"y\",\"probability\":1}],\"eventId\":\"e1\","
	        "\"rewardActionId\":\"y\"}");
	reply.data[3] = 2; /* a place that is not there */
	cop_api_request_take(&r, true, reply.data, reply.length);
	assert_int_equal(r.status, 400);
	cop_bytes_fini(&reply);
	cop_api_request_fini(&r);
}

/* An answer is there at every failure: 500 when memory was short, else the status. */
static void answer_without_memory(const char *path, const char *body, const cop_bytes *reply, unsigned status)
{
	unsigned long n = 1;
	for (bool reached = true; reached; n++) {
		cop_api_request r;
		cop_bytes out;
		cop_bytes_init(&out);
		begin(&r, path, body);
		cop_test_alloc_fail(n, 0);
		bool put = cop_api_request_put(&r, 3, &out);
		assert_true(put || r.status == 500);
		if (put)
			cop_api_request_take(&r, true, reply->data, reply->length);
		reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(r.status, reached ? 500 : status);
		cop_api_request_fini(&r);
		cop_bytes_fini(&out);
	}
	assert_true(n > 3);
}

static void test_request_without_memory_is_answered(void **state)
{
	(void)state;
	cop_bytes reply;
	cop_bytes_init(&reply);
	put_models(&reply, 40);
	answer_without_memory("/v1/models/m/decide",
	        "{\"id\":1,\"x\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}", &reply, 200);
	cop_bytes_clear(&reply);
	cop_wire_put_map(&reply, 2);
	cop_wire_put_key_unsigned(&reply, "a", 1);
	cop_wire_put_key_double(&reply, "p", 1.0);
	answer_without_memory("/personalizer/v1.0/rank", ranked, &reply, 201);
	cop_bytes_fini(&reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_becomes_a_body_with_the_listeners_number),
		cmocka_unit_test(test_request_with_a_wrong_body_is_a_problem),
		cmocka_unit_test(test_request_shows_the_part_of_a_reply_that_it_asked_for),
		cmocka_unit_test(test_request_errors_have_the_status_of_their_code),
		cmocka_unit_test(test_request_of_the_past_is_asked_again_and_may_be_too_much),
		cmocka_unit_test(test_request_takes_replies_that_are_no_map),
		cmocka_unit_test(test_request_without_memory_is_answered),
		cmocka_unit_test(test_personalizer_rank_becomes_the_verbs_body),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
