/* Cookies of the page: whose they are, and that nothing else passes for one. */
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/api/api_session.h"

#define NOW 1795000000.0

static cop_access *read_text(const char *text)
{
	char path[] = "/tmp/cop-session-XXXXXX";
	cop_access *access;
	cop_diag diag = { 0 };
	int fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	(void)close(fd);
	cop_err err = cop_access_read(path, COP_ACCESS_TOKENS, &access, &diag);
	(void)unlink(path);
	assert_int_equal(err, COP_OK);
	return access;
}

/* The cookie of a header, without its attributes, which have to be these. */
static void split(const char *header, const char *attributes, char value[COP_API_SESSION_ROOM])
{
	static const char begin[] = COP_API_SESSION_COOKIE "=";
	assert_true(strncmp(header, begin, sizeof begin - 1) == 0);
	const char *text = header + sizeof begin - 1;
	size_t length = strcspn(text, ";");
	(void)snprintf(value, COP_API_SESSION_ROOM, "%.*s", (int)length, text);
	assert_string_equal(text + length, attributes);
}

static void test_cookie_is_its_token_until_it_ends(void **state)
{
	(void)state;
	cop_api_session session;
	char header[COP_API_SESSION_ROOM], value[COP_API_SESSION_ROOM];
	cop_access *access = read_text("a.b-c_1 0123456789abcdef read\nother 0123456789abcdeg all\n");
	for (int secure = 0; secure < 2; secure++) {
		assert_int_equal(cop_api_session_init(&session, secure), COP_OK);
		const cop_access_entry *entry = cop_access_named(access, "a.b-c_1");
		cop_api_session_begin(&session, entry, NOW, header);
		split(header,
		        secure ? "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure"
		               : "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict",
		        value);
		assert_null(strstr(value, entry->token));
		assert_ptr_equal(cop_api_session_find(&session, access, value, NOW), entry);
		assert_ptr_equal(
		        cop_api_session_find(&session, access, value, NOW + COP_API_SESSION_SECONDS - 1), entry);
		assert_null(cop_api_session_find(&session, access, value, NOW + COP_API_SESSION_SECONDS));
	}
	cop_access_free(access);
}

static void test_nothing_else_is_a_cookie(void **state)
{
	(void)state;
	cop_api_session session, other;
	char header[COP_API_SESSION_ROOM], value[COP_API_SESSION_ROOM], changed[COP_API_SESSION_ROOM];
	static const char text[] = "reader 0123456789abcdef read\nother 0123456789abcdeg all\n";
	cop_access *access = read_text(text), *renewed = read_text("reader 0123456789abcdeh read\n");
	assert_int_equal(cop_api_session_init(&session, false), COP_OK);
	assert_int_equal(cop_api_session_init(&other, false), COP_OK);
	cop_api_session_begin(&session, cop_access_named(access, "reader"), NOW, header);
	split(header, "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict", value);
	assert_non_null(cop_api_session_find(&session, access, value, NOW));
	assert_null(cop_api_session_find(&other, access, value, NOW));    /* another process's */
	assert_null(cop_api_session_find(&session, renewed, value, NOW)); /* the token is another one */
	assert_null(cop_api_session_find(&session, access, NULL, NOW));
	for (size_t i = 0; value[i] != '\0'; i++) { /* every character, and every length, counts */
		strcpy(changed, value);
		changed[i] ^= 1;
		assert_null(cop_api_session_find(&session, access, changed, NOW));
		changed[i] = '\0';
		assert_null(cop_api_session_find(&session, access, changed, NOW));
	}
	strcpy(changed, value);
	strcat(changed, "0");
	assert_null(cop_api_session_find(&session, access, changed, NOW));
	memset(changed, '.', sizeof changed - 1);
	changed[sizeof changed - 1] = '\0';
	assert_null(cop_api_session_find(&session, access, changed, NOW));
	cop_api_session_end(&session, header);
	split(header, "; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", value);
	assert_null(cop_api_session_find(&session, access, value, NOW));
	cop_access_free(access);
	cop_access_free(renewed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cookie_is_its_token_until_it_ends),
		cmocka_unit_test(test_nothing_else_is_a_cookie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
