/* Authentication as ZeroMQ asks for it (RFC 27): requests come from the test, over the same sockets inside the process.
 */
#include "daemon/serve/zap.h"

#include <stdio.h>
#include <string.h>

#include <zmq.h>

#include "support.h"

#define KEY_A "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_B "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

typedef struct fixture {
	void *contexts[COP_ZAP_CONTEXTS];
	void *asking[COP_ZAP_CONTEXTS];
	cop_log *log;
	cop_zap *zap;
} fixture;

typedef struct frame {
	size_t length;
	char data[256];
} frame;

static cop_access_entry first[] = { { .name = "alice", .token = KEY_A, .rights = COP_ACCESS_ALL } };
static cop_access_entry second[] = { { .name = "bob", .token = KEY_B, .rights = COP_ACCESS_READ } };
static const cop_access only_a = { 1, first }, only_b = { 1, second };
static char lines[4096];

static void note_line(void *context, cop_log_level level, const char *line)
{
	(void)context;
	(void)level;
	(void)strncat(lines, line, sizeof lines - strlen(lines) - 1);
}

static int set_up(void **state)
{
	static fixture f;
	const cop_log_settings logging = { .level = COP_LOG_DEBUG, .sink = note_line };
	cop_diag diag;
	lines[0] = '\0';
	assert_int_equal(cop_log_open(&logging, &f.log), COP_OK);
	for (size_t i = 0; i < COP_ZAP_CONTEXTS; i++)
		assert_non_null(f.contexts[i] = zmq_ctx_new());
	assert_int_equal(cop_zap_open(f.contexts, &only_a, f.log, &f.zap, &diag), COP_OK);
	for (size_t i = 0; i < COP_ZAP_CONTEXTS; i++) {
		int wait = 20000;
		assert_non_null(f.asking[i] = zmq_socket(f.contexts[i], ZMQ_REQ));
		assert_int_equal(zmq_setsockopt(f.asking[i], ZMQ_RCVTIMEO, &wait, sizeof wait), 0);
		assert_int_equal(zmq_connect(f.asking[i], "inproc://zeromq.zap.01"), 0);
	}
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	fixture *f = *state;
	for (size_t i = 0; i < COP_ZAP_CONTEXTS; i++)
		(void)zmq_close(f->asking[i]);
	cop_zap_close(f->zap);
	for (size_t i = 0; i < COP_ZAP_CONTEXTS; i++)
		(void)zmq_ctx_term(f->contexts[i]);
	(void)!cop_log_close(f->log, 2000);
	return 0;
}

static frame text(const char *content)
{
	frame f = { .length = strlen(content) };
	memcpy(f.data, content, f.length);
	return f;
}

static frame key(const char *z85)
{
	frame f = { .length = 32 };
	assert_non_null(zmq_z85_decode((uint8_t *)f.data, z85));
	return f;
}

/* Sends that many frames and takes the answer, which has six. */
static void ask(void *socket, const frame *sent, size_t count, frame answer[6])
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(zmq_send(socket, sent[i].data, sent[i].length, i + 1 < count ? ZMQ_SNDMORE : 0),
		        sent[i].length);
	int more = 1;
	for (size_t i = 0; i < 6; i++) {
		size_t size = sizeof more;
		int length = zmq_recv(socket, answer[i].data, sizeof answer[i].data - 1, 0);
		assert_true(length >= 0 && more);
		answer[i].length = (size_t)length;
		answer[i].data[length] = '\0';
		assert_int_equal(zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size), 0);
	}
}

/* A good request with this frame in place of its own; the answer's status. */
static const char *status(fixture *f, size_t context, size_t place, frame instead)
{
	static frame answer[6];
	frame sent[7] = { text("1.0"), text("7"), text(""), text("10.1.2.3"), text(""), text("CURVE"), key(KEY_A) };
	sent[place] = instead;
	ask(f->asking[context], sent, 7, answer);
	assert_string_equal(answer[0].data, "1.0");
	assert_memory_equal(answer[1].data, sent[1].data, sent[1].length);
	if (strcmp(answer[2].data, "200") != 0)
		assert_true(answer[4].length == 0 && answer[5].length == 0);
	return answer[2].data;
}

static void test_a_known_key_is_its_clients(void **state)
{
	fixture *f = *state;
	static const char properties[] = "\13" COP_ZAP_KEY "\0\0\0\50" KEY_A;
	for (size_t i = 0; i < COP_ZAP_CONTEXTS; i++) {
		const frame sent[7] = { text("1.0"), text("id"), text("any"), text("10.1.2.3"), text("me"),
			text("CURVE"), key(KEY_A) };
		frame answer[6];
		ask(f->asking[i], sent, 7, answer);
		assert_string_equal(answer[1].data, "id");
		assert_string_equal(answer[2].data, "200");
		assert_string_equal(answer[4].data, "alice");
		assert_int_equal(answer[5].length, sizeof properties - 1);
		assert_memory_equal(answer[5].data, properties, sizeof properties - 1);
	}
	assert_int_equal(cop_zap_look(f->zap).accepted, COP_ZAP_CONTEXTS);
	assert_int_equal(cop_zap_look(f->zap).refused, 0);
}

static void test_everybody_else_is_refused(void **state)
{
	fixture *f = *state;
	frame shorter = key(KEY_A), longer = key(KEY_A);
	shorter.length = 31;
	longer.length = 33;
	assert_string_equal(status(f, 0, 6, key(KEY_B)), "400");
	assert_string_equal(status(f, 1, 6, shorter), "400");
	assert_string_equal(status(f, 0, 6, longer), "400");
	assert_string_equal(status(f, 0, 6, text("")), "400");
	assert_string_equal(status(f, 0, 5, text("NULL")), "400");
	assert_string_equal(status(f, 1, 5, text("CURVES")), "400");
	assert_string_equal(status(f, 0, 0, text("1.1")), "400");
	assert_int_equal(cop_zap_look(f->zap).refused, 7);
	assert_int_equal(cop_zap_look(f->zap).accepted, 0);
	assert_string_equal(status(f, 0, 2, text("domain")), "200");
}

static void test_requests_of_other_lengths_are_refused_and_the_next_one_is_answered(void **state)
{
	fixture *f = *state;
	const frame sent[12] = { text("1.0"), text("n"), text(""), text("10.1.2.3"), text(""), text("CURVE"),
		key(KEY_A), text("more"), text("more"), text("more"), text("more"), text("more") };
	for (size_t count = 2; count <= 12; count += count == 6 ? 2 : 1) {
		frame answer[6];
		ask(f->asking[0], sent, count, answer);
		assert_string_equal(answer[2].data, "400");
	}
	assert_string_equal(status(f, 0, 6, key(KEY_A)), "200");
}

static void test_keys_change_with_a_reload(void **state)
{
	fixture *f = *state;
	assert_string_equal(status(f, 0, 6, key(KEY_A)), "200");
	cop_zap_set_access(f->zap, &only_b);
	assert_string_equal(status(f, 0, 6, key(KEY_A)), "400");
	assert_string_equal(status(f, 1, 6, key(KEY_B)), "200");
}

static void test_the_log_names_who_came(void **state)
{
	fixture *f = *state;
	assert_string_equal(status(f, 0, 6, key(KEY_A)), "200");
	assert_string_equal(status(f, 0, 6, key(KEY_B)), "400");
	cop_zap_close(f->zap); /* behind its last line */
	f->zap = NULL;
	(void)!cop_log_close(f->log, 2000);
	f->log = NULL;
	assert_non_null(strstr(lines, "event=curve_accepted name=alice address=10.1.2.3"));
	assert_non_null(strstr(lines, "event=curve_refused address=10.1.2.3 key=\"" KEY_B "\""));
}

static void test_an_endpoint_that_is_taken_is_an_error(void **state)
{
	fixture *f = *state;
	cop_zap *other;
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_zap_open(f->contexts, &only_a, f->log, &other, &diag), COP_EIO);
	assert_null(other);
	assert_non_null(strstr(diag.message, "in use"));
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_zap_open(f->contexts, &only_a, f->log, &other, &diag), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	assert_null(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_known_key_is_its_clients, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_everybody_else_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        test_requests_of_other_lengths_are_refused_and_the_next_one_is_answered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_keys_change_with_a_reload, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_log_names_who_came, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_endpoint_that_is_taken_is_an_error, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
