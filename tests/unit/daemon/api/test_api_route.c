/* Every row is found by a path of its form, and by no other. */
#include <stdio.h>
#include <string.h>

#include "daemon/api/api_route.h"
#include "support.h"

static char model[COP_CONFIG_NAME_MAX + 1];
static bool whole;

static void test_route_of_each_row_is_found(void **state)
{
	(void)state;
	size_t i = 0;
	for (const cop_api_route *row; (row = cop_api_route_at(i)) != NULL; i++) {
		char path[128];
		const char *star = strchr(row->path, '*');
		int before = star == NULL ? (int)strlen(row->path) : (int)(star - row->path);
		(void)snprintf(path, sizeof path, "%.*s%s%s", before, row->path, star == NULL ? "" : "front-page.v2",
		        star == NULL ? "" : star + 1);
		assert_ptr_equal(cop_api_route_find(path, model, &whole), row);
		assert_string_equal(model, star == NULL || row->shown == COP_API_SLOTS ? "" : "front-page.v2");
		assert_true(whole);
		strcat(path, "/");
		if (row->shown != COP_API_SLOTS) /* stands for all below it */
			assert_null(cop_api_route_find(path, model, &whole));
	}
	assert_true(i >= 11);
}

static void test_route_of_other_paths_is_none(void **state)
{
	(void)state;
	static const char *const paths[] = { "", "//", "page.js", "/page.html", "/login/x", "v1/version", "/v1", "/v1/",
		"/v1/models/", "/v1/models//decide", "/v1/models/m/", "/v1/models/m/decid", "/v1/models/m/decides",
		"/v1/models/m/n/decide", "/V1/version", "/v2/version", "//v1/version" };
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (cop_api_route_find(paths[i], model, &whole) != NULL)
			fail_msg("'%s' was found", paths[i]);
}

static void test_route_model_names_have_a_bound(void **state)
{
	(void)state;
	char path[256] = "/v1/models/";
	size_t start = strlen(path);
	memset(path + start, 'm', COP_CONFIG_NAME_MAX + 1);
	assert_null(cop_api_route_find(path, model, &whole));
	path[start + COP_CONFIG_NAME_MAX] = '\0';
	assert_non_null(cop_api_route_find(path, model, &whole));
	assert_int_equal(strlen(model), COP_CONFIG_NAME_MAX);
}

static void test_route_event_ids_may_hold_slashes(void **state)
{
	(void)state;
	assert_non_null(cop_api_route_find("/personalizer/v1.0/events/a/reward/b/reward", model, &whole));
	assert_string_equal(model, "a/reward/b");
	char path[256] = "/personalizer/v1.0/events/";
	memset(path + strlen(path), 'x', COP_CONFIG_NAME_MAX + 1);
	strcat(path, "/reward");
	assert_non_null(cop_api_route_find(path, model, &whole));
	assert_true(!whole && strlen(model) == COP_CONFIG_NAME_MAX);
	static const char *const slots[] = { "/personalizer/v1.1-preview.1/multislot/rank",
		"/personalizer/v1.0/multislot/events/e/reward", "/personalizer/v9/multislot/" };
	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
		assert_int_equal(cop_api_route_find(slots[i], model, &whole)->shown, COP_API_SLOTS);
	assert_null(cop_api_route_find("/personalizer/v1.0/events//reward", model, &whole));
	assert_null(cop_api_route_find("/personalizer/v1.0/events/reward", model, &whole));
	assert_null(cop_api_route_find("/personalizer/v1.0/events/a/rewards", model, &whole));
}

static void test_route_takes_its_methods_alone(void **state)
{
	(void)state;
	static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "get" };
	const char *allowed;
	const cop_api_route *post = cop_api_route_find("/v1/models/m/decide", model, &whole);
	const cop_api_route *get = cop_api_route_find("/v1/models", model, &whole);
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		assert_int_equal(cop_api_route_takes(post, methods[i], &allowed), i == 2);
		assert_string_equal(allowed, "POST");
		assert_int_equal(cop_api_route_takes(get, methods[i], &allowed), i < 2);
		assert_string_equal(allowed, "GET, HEAD");
	}
}

static void test_route_decode_keeps_what_is_no_escape_and_ends_no_text(void **state)
{
	(void)state;
	static const char *const texts[][2] = { { "", "" }, { "a%2Fb%2fc", "a/b/c" }, { "%D0%bc", "\xd0\xbc" },
		{ "%", "%" }, { "%4", "%4" }, { "%zz%4z", "%zz%4z" }, { "%2500", "%00" },
		{ "a%00b", "a\xff"
		           "b" },
		{ "%41%", "A%" }, { "+", "+" } };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[32];
		(void)snprintf(text, sizeof text, "%s", texts[i][0]);
		assert_int_equal(cop_api_route_decode(text), strlen(texts[i][1]));
		assert_string_equal(text, texts[i][1]);
	}
}

static void test_route_path_is_found_in_a_whole_address(void **state)
{
	(void)state;
	assert_string_equal(cop_api_route_path("/v1/version"), "/v1/version");
	assert_string_equal(cop_api_route_path("http://a:1/v1/version"), "/v1/version");
	assert_string_equal(cop_api_route_path("HTTPS://a/"), "/");
	assert_string_equal(cop_api_route_path("http://a"), "/");
	assert_string_equal(cop_api_route_path("*"), "*");
	assert_string_equal(cop_api_route_path("ftp://a/v1/version"), "ftp://a/v1/version");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_route_of_each_row_is_found),
		cmocka_unit_test(test_route_of_other_paths_is_none),
		cmocka_unit_test(test_route_model_names_have_a_bound),
		cmocka_unit_test(test_route_event_ids_may_hold_slashes),
		cmocka_unit_test(test_route_takes_its_methods_alone),
		cmocka_unit_test(test_route_decode_keeps_what_is_no_escape_and_ends_no_text),
		cmocka_unit_test(test_route_path_is_found_in_a_whole_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
