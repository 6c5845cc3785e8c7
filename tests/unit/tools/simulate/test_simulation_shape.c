/* What a daemon's status says of its model, against what rows and options need. Its answers are made here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "support.h"
#include "clients/c/client.h"
#include "tools/simulate/simulation.h"
#include "wire/wire_put.h"

/* The client goes through here (CMake). */
cop_err __wrap_cop_client_open(const char *endpoint, double timeout, cop_client **out, cop_diag *diag);
void __wrap_cop_client_close(cop_client *client);
cop_err __wrap_cop_client_request(cop_client *client, const char *verb, const char *model, const void *body,
        size_t length, cop_client_reply *out, cop_diag *diag);

static cop_bytes status;
static cop_err opened, answered; /* what the calls give */
static unsigned closed;
static int the_client;

cop_err __wrap_cop_client_open(const char *endpoint, double timeout, cop_client **out, cop_diag *diag)
{
	(void)diag;
	assert_string_equal(endpoint, "ipc://r");
	assert_true(timeout == 7.5);
	*out = opened == COP_OK ? (cop_client *)&the_client : NULL;
	return opened;
}

void __wrap_cop_client_close(cop_client *client)
{
	assert_ptr_equal(client, opened == COP_OK ? (cop_client *)&the_client : NULL);
	closed++;
}

cop_err __wrap_cop_client_request(cop_client *client, const char *verb, const char *model, const void *body,
        size_t length, cop_client_reply *out, cop_diag *diag)
{
	(void)client, (void)diag;
	assert_string_equal(verb, "status");
	assert_string_equal(model, "m");
	assert_true(length == 1 && *(const unsigned char *)body == 0x80);
	*out = (cop_client_reply){ .ok = true, .body = status.data, .length = status.length };
	return answered;
}

/* JSON as MessagePack. */
static void pack(const cop_json *value)
{
	const char *key = NULL, *text;
	const cop_json *member;
	int64_t whole;
	double number;
	if (cop_json_type_of(value) == COP_JSON_OBJECT) {
		cop_wire_put_map(&status, cop_json_size(value));
		while ((member = cop_json_next_member(value, &key)) != NULL) {
			cop_wire_put_string(&status, key, strlen(key));
			pack(member);
		}
	} else if (cop_json_type_of(value) == COP_JSON_ARRAY) {
		cop_wire_put_array(&status, cop_json_size(value));
		for (size_t i = 0; i < cop_json_size(value); i++)
			pack(cop_json_element(value, i));
	} else if (cop_json_get_integer(value, &whole) == COP_OK) {
		cop_wire_put_signed(&status, whole);
	} else if (cop_json_get_number(value, &number) == COP_OK) {
		cop_wire_put_double(&status, number);
	} else {
		assert_int_equal(cop_json_get_text(value, &text, NULL), COP_OK);
		cop_wire_put_string(&status, text, strlen(text));
	}
}

/* Against a daemon with this status. */
static cop_err fit_status(const char *text, cop_sim_shape *shape, cop_diag *diag)
{
	static const cop_sim_endpoints endpoints = { .requests = "ipc://r", .model = "m", .timeout = 7.5 };
	cop_json *json;
	diag->message[0] = '\0';
	cop_bytes_init(&status);
	assert_int_equal(cop_json_parse(text, strlen(text), &json, NULL), COP_OK);
	pack(json);
	assert_int_equal(status.err, COP_OK);
	cop_json_free(json);
	closed = 0;
	cop_err err = cop_sim_live_fit(&endpoints, shape, diag);
	assert_int_equal(closed, 1);
	cop_bytes_fini(&status);
	return err;
}

/* Against a daemon whose model has these members; NULL: it fits. */
static void expect(const char *members, cop_sim_shape shape, const char *says)
{
	char text[512], expected[600];
	cop_diag diag;
	(void)snprintf(text, sizeof text, "{\"models\":[{%s}]}", members);
	cop_err err = fit_status(text, &shape, &diag);
	if (says == NULL) {
		assert_int_equal(err, COP_OK);
		assert_string_equal(diag.message, "");
		return;
	}
	(void)snprintf(expected, sizeof expected, "model 'm' %s", says);
	assert_int_equal(err, COP_ESHAPE);
	assert_string_equal(diag.message, expected);
	assert_string_equal(diag.source, "ipc://r");
}

static void test_learners_of_another_kind_do_not_fit(void **state)
{
	(void)state;
	const cop_sim_shape arms = { .arms = 2, .features = 3 }, values = { .values = true, .features = 3 },
	                    ranks = { .candidates = 2, .candidate_features = 2, .features = 3 };
	expect("\"learner\":\"ensemble\"", arms, NULL);
	expect("\"learner\":\"value\"", arms, "learns values, expected arms (--learner value?)");
	expect("\"learner\":\"rank\"", arms, "ranks candidates, expected arms (--learner rank?)");
	expect("\"learner\":\"value\"", values, NULL);
	expect("\"learner\":\"dgt\"", values, "has arms, expected values (without --learner value?)");
	expect("\"learner\":\"rank\"", ranks, NULL);
	expect("\"learner\":\"dgt\"", ranks, "has arms, expected candidates (without --learner rank?)");
	expect("", arms, NULL); /* an older daemon */
}

static void test_features_are_the_rows_or_hashed_ones(void **state)
{
	(void)state;
	const cop_sim_shape dense = { .features = 3 }, sparse = { .bits = 10 },
	                    told = { .bits = 10, .bits_given = true };
	expect("\"features\":3", dense, NULL);
	expect("\"features\":2", dense, "has 2 features, the rows have 3");
	expect("\"features\":1", dense, "has 1 features, the rows have 3");
	expect("\"features\":0,\"bits\":2", dense, NULL);
	expect("\"features\":-1", dense, NULL); /* no count */
	expect("\"features\":0", sparse, NULL);
	expect("\"features\":1,\"bits\":10", sparse, NULL);
	expect("\"features\":0,\"bits\":10", sparse, NULL);
	expect("\"features\":0,\"bits\":11", sparse, NULL);
	expect("\"features\":0,\"bits\":9", sparse, "has bits = 9, expected 10 or more for these rows");
	expect("\"features\":0,\"bits\":10", told, NULL);
	expect("\"features\":0,\"bits\":11", told, "has bits = 11, expected 10 (--bits)");
	expect("\"bits\":9", sparse, NULL);
}

static void test_arms_are_as_many_as_there_are_classes(void **state)
{
	(void)state;
	const cop_sim_shape shape = { .features = 3, .arms = 4 };
	expect("\"features\":3,\"arms\":4", shape, NULL);
	expect("\"features\":3,\"arms\":5", shape, NULL);
	expect("\"features\":3,\"arms\":3", shape,
	        "has 3 arms, the rows have 4 classes (numbers need --learner value)");
	expect("\"features\":2,\"arms\":4", shape, "has 2 features, the rows have 3");
}

static void test_candidates_fit_with_their_features(void **state)
{
	(void)state;
	cop_sim_shape shape = { .features = 3, .candidates = 4, .candidate_features = 2 };
	expect("\"learner\":\"rank\",\"max_candidates\":4,\"candidate_features\":2", shape, NULL);
	expect("\"learner\":\"rank\",\"max_candidates\":5,\"candidate_features\":0", shape, NULL);
	expect("\"learner\":\"rank\",\"max_candidates\":3", shape,
	        "takes 3 candidates (max_candidates), expected 4 or more");
	expect("\"learner\":\"rank\",\"candidate_features\":1", shape,
	        "has candidate_features = 1, the candidates have 2");
	expect("\"learner\":\"rank\",\"features\":2", shape, "has 2 features, the rows have 3");
	shape.features = 0; /* hashed */
	expect("\"learner\":\"rank\",\"candidate_features\":1", shape, NULL);
}

static void test_feedback_is_the_daemons_when_it_was_not_given(void **state)
{
	(void)state;
	static const char *const words[] = { "bins", "one", "two" };
	for (size_t i = 0; i < 3; i++)
		for (size_t given = 0; given < 2; given++) {
			char text[128], says[128];
			cop_diag diag;
			cop_sim_shape shape = { .values = true, .features = 1, .feedback = (cop_value_feedback)1 };
			shape.feedback_given = given == 1;
			(void)snprintf(text, sizeof text,
			        "{\"models\":[{\"learner\":\"value\",\"feedback_points\":\"%s\"}]}", words[i]);
			(void)snprintf(
			        says, sizeof says, "model 'm' has feedback = \"%s\", --feedback is one", words[i]);
			cop_err err = fit_status(text, &shape, &diag);
			assert_int_equal(err, given == 1 && i != 1 ? COP_ESHAPE : COP_OK);
			if (err == COP_OK)
				assert_int_equal(shape.feedback, i);
			else
				assert_string_equal(diag.message, says);
		}
	cop_diag diag;
	cop_sim_shape shape = { .values = true, .features = 1, .feedback = (cop_value_feedback)2 };
	assert_int_equal(fit_status("{\"models\":[{\"learner\":\"value\"}]}", &shape, &diag), COP_OK);
	assert_int_equal(shape.feedback, 2);
}

static void test_range_is_the_daemons_when_it_was_not_given(void **state)
{
	(void)state;
	static const char range[] = "\"learner\":\"value\",\"value_range\":[10,20.5],\"delta\":1.05";
	static const char status_of_it[] =
	        "{\"models\":[{\"learner\":\"value\",\"value_range\":[10,20.5],\"delta\":1.05}]}";
	cop_diag diag;
	cop_sim_shape shape = { .values = true, .features = 1, .high = 1.0 };
	assert_int_equal(fit_status(status_of_it, &shape, &diag), COP_OK);
	assert_true(shape.low == 10.0 && shape.high == 20.5);
	cop_sim_shape given = { .values = true, .features = 1, .range_given = true, .low = 10.0, .high = 20.5 };
	expect(range, given, NULL);
	given.low = 9.0;
	expect(range, given, "has value_range = { 10, 20.5 }, --value-range is 9,20.5");
	given.low = 10.0;
	given.high = 20.0;
	expect(range, given, "has value_range = { 10, 20.5 }, --value-range is 10,20");
	given.range_given = false;
	given.delta = 0.1; /* of 10.5 */
	expect(range, given, NULL);
	given.delta = 0.1 * (1 + 2e-6);
	expect(range, given, "has delta = 1.05, --delta 0.1 of its range is 1.05");
	given.delta = 0.1 * (1 + 5e-7);
	expect(range, given, NULL);
	given.delta = 0.2;
	expect(range, given, "has delta = 1.05, --delta 0.2 of its range is 2.1");
	expect("\"learner\":\"value\",\"value_range\":[10,20.5]", given, NULL);
	expect("\"learner\":\"value\",\"value_range\":[10]", given, NULL);
	expect("\"learner\":\"value\",\"value_range\":[\"a\",1]", given, NULL);
	expect("\"learner\":\"value\",\"feedback_points\":\"one\",\"features\":7", given,
	        "has 7 features, the rows have 1");
}

static void test_status_of_no_or_several_models_is_not_compared(void **state)
{
	(void)state;
	cop_diag diag;
	cop_sim_shape shape = { .arms = 2, .features = 3 };
	assert_int_equal(fit_status("{}", &shape, &diag), COP_OK);
	assert_int_equal(fit_status("{\"models\":[]}", &shape, &diag), COP_OK);
	assert_int_equal(
	        fit_status("{\"models\":[{\"learner\":\"value\"},{\"learner\":\"value\"}]}", &shape, &diag), COP_OK);
}

static void test_errors_of_the_client_come_back(void **state)
{
	(void)state;
	cop_diag diag;
	cop_sim_shape shape = { .arms = 2, .features = 3 };
	opened = COP_EINVAL;
	cop_err err = fit_status("{}", &shape, &diag);
	opened = COP_OK;
	assert_int_equal(err, COP_EINVAL);
	answered = COP_EEND;
	err = fit_status("{\"models\":[{\"learner\":\"value\"}]}", &shape, &diag);
	answered = COP_OK;
	assert_int_equal(err, COP_EEND);
}

static void test_status_that_cannot_be_read_is_an_error(void **state)
{
	(void)state;
	static const cop_sim_endpoints endpoints = { .requests = "ipc://r", .model = "m", .timeout = 7.5 };
	cop_diag diag = { .message = "" };
	cop_sim_shape shape = { .arms = 2 };
	cop_bytes_init(&status);
	cop_bytes_put(&status, "\x81", 1); /* a map that is cut off */
	assert_int_equal(cop_sim_live_fit(&endpoints, &shape, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "its status cannot be read"));
	assert_string_equal(diag.source, "ipc://r");
	cop_bytes_fini(&status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learners_of_another_kind_do_not_fit),
		cmocka_unit_test(test_features_are_the_rows_or_hashed_ones),
		cmocka_unit_test(test_arms_are_as_many_as_there_are_classes),
		cmocka_unit_test(test_candidates_fit_with_their_features),
		cmocka_unit_test(test_feedback_is_the_daemons_when_it_was_not_given),
		cmocka_unit_test(test_range_is_the_daemons_when_it_was_not_given),
		cmocka_unit_test(test_status_of_no_or_several_models_is_not_compared),
		cmocka_unit_test(test_errors_of_the_client_come_back),
		cmocka_unit_test(test_status_that_cannot_be_read_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
