/* Who may do what, by the name and the key that a connection has: here they come from the test instead of ZeroMQ. */
#include "daemon/serve/permit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/serve/zap.h"
#include "support.h"

#define KEY_A "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_B "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

static const char *name, *key; /* of the connection; NULL: it has none */

const char *__wrap_zmq_msg_gets(const zmq_msg_t *frame, const char *property);
const char *__wrap_zmq_msg_gets(const zmq_msg_t *frame, const char *property)
{
	(void)frame;
	return strcmp(property, COP_ZAP_KEY) == 0 ? key : strcmp(property, "User-Id") == 0 ? name : NULL;
}

static cop_access *read_lines(const char *lines)
{
	char path[64];
	cop_access *access;
	cop_diag diag = { .message = "" };
	(void)snprintf(path, sizeof path, "permit-%d.clients", (int)getpid());
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	(void)fputs(lines, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0600), 0);
	cop_err err = cop_access_read(path, COP_ACCESS_KEYS, &access, &diag);
	(void)remove(path);
	if (err != COP_OK)
		fail_msg("%s", diag.message);
	return access;
}

static const cop_access_entry *client; /* of the last ask */
static cop_wire_fault fault;

static bool may(const cop_access *access, unsigned right, const char *model)
{
	zmq_msg_t frame;
	const cop_permit_asked asked = { .right = right, .model = model, .bytes = 10 };
	(void)zmq_msg_init(&frame);
	fault = (cop_wire_fault){ .code = COP_WIRE_OK };
	cop_err err = cop_permit_take(access, &frame, &asked, &client, &fault);
	(void)zmq_msg_close(&frame);
	assert_int_equal(err == COP_OK, fault.code == COP_WIRE_OK);
	return err == COP_OK;
}

static void test_who_has_no_key_may_do_all(void **state)
{
	(void)state;
	cop_access *access = read_lines("a " KEY_A " read\n");
	name = key = NULL;
	assert_true(may(access, COP_ACCESS_ADMIN, ""));
	assert_null(client);
	name = "a";
	assert_true(may(NULL, COP_ACCESS_ADMIN, "")); /* no CURVE */
	assert_null(client);
	cop_access_free(access);
}

static void test_a_client_may_do_what_its_line_says(void **state)
{
	(void)state;
	cop_access *access = read_lines("a " KEY_A " decide,read m,n\nb " KEY_B " all\n");
	name = "a";
	key = KEY_A;
	assert_true(may(access, COP_ACCESS_DECIDE, "m") && may(access, COP_ACCESS_READ, "n"));
	assert_ptr_equal(client, cop_access_named(access, "a"));
	assert_false(may(access, COP_ACCESS_FEEDBACK, "m"));
	assert_int_equal(fault.code, COP_WIRE_FORBIDDEN);
	assert_string_equal(fault.message, "a lacks the right feedback for the model m");
	assert_false(may(access, COP_ACCESS_READ, ""));
	assert_string_equal(fault.message, "a lacks the right read for all models");
	name = "b";
	key = KEY_B;
	assert_true(may(access, COP_ACCESS_ADMIN, "") && may(access, COP_ACCESS_DECIDE, "other"));
	cop_access_free(access);
}

/* As after a reload: a name that is gone, or has another key, counts as gone. */
static void test_a_line_that_is_gone_allows_nothing(void **state)
{
	(void)state;
	cop_access *access = read_lines("a " KEY_A " all\n");
	const char *const names[] = { "b", "a", "a" }, *const keys[] = { KEY_B, KEY_B, NULL };
	for (size_t i = 0; i < 3; i++) {
		name = names[i];
		key = keys[i];
		assert_false(may(access, COP_ACCESS_READ, "m"));
		assert_int_equal(fault.code, COP_WIRE_FORBIDDEN);
		assert_non_null(strstr(fault.message, "is no longer in the file of clients"));
		assert_null(client);
	}
	cop_access_free(access);
}

static void test_limits_are_of_those_that_may_alone(void **state)
{
	(void)state;
	cop_access *access = read_lines("a " KEY_A " decide rate=3 pending=9\nb " KEY_B " decide\n");
	name = "a";
	key = KEY_A;
	for (int i = 0; i < 50; i++)
		assert_false(may(access, COP_ACCESS_READ, "m")); /* costs it nothing */
	assert_true(may(access, COP_ACCESS_DECIDE, "m"));
	assert_int_equal(client->limits.pending, 9);
	cop_permit_charge(client, 1000);
	assert_false(may(access, COP_ACCESS_DECIDE, "m"));
	assert_int_equal(fault.code, COP_WIRE_BUSY);
	assert_string_equal(
	        fault.message, "a sends more events than its line allows in a second; expected to be sent again later");
	name = "b";
	key = KEY_B;
	for (int i = 0; i < 5000; i++)
		assert_true(may(access, COP_ACCESS_DECIDE, "m"));
	cop_permit_charge(client, 1000);
	cop_permit_charge(NULL, 1000);
	cop_access_free(access);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_has_no_key_may_do_all),
		cmocka_unit_test(test_a_client_may_do_what_its_line_says),
		cmocka_unit_test(test_a_line_that_is_gone_allows_nothing),
		cmocka_unit_test(test_limits_are_of_those_that_may_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
