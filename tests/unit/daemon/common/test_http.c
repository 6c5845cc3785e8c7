/* The test is the loop; a client on a thread of its own speaks HTTP. */
#include "daemon/common/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "support.h"

#define LONG_AGO 6000000000u /* nanoseconds; longer than a loop may be silent */

typedef struct client {
	pthread_t thread;
	uint16_t port;
	const char *request; /* "GET /metrics" */
	char answer[4096];
	atomic_bool done;
} client;

static void *run_client(void *argument)
{
	client *self = argument;
	char line[128];
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(self->port) };
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t length = 0;
	int size = snprintf(line, sizeof line, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", self->request);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 &&
	        send(fd, line, (size_t)size, MSG_NOSIGNAL) == size) {
		for (ssize_t got = 1; got > 0 && length<sizeof self->answer - 1; length += got> 0 ? (size_t)got : 0)
			got = recv(fd, self->answer + length, sizeof self->answer - 1 - length, 0);
	}
	self->answer[length] = '\0';
	if (fd >= 0)
		(void)close(fd);
	atomic_store(&self->done, true);
	return NULL;
}

static void start_client(client *self, const cop_http *http, const char *request)
{
	*self = (client){ .port = cop_http_port(http), .request = request };
	assert_int_equal(pthread_create(&self->thread, NULL, run_client, self), 0);
}

static void expect_answer(client *self, const char *status, const char *within)
{
	assert_int_equal(pthread_join(self->thread, NULL), 0);
	if (strncmp(self->answer, "HTTP/1.1 ", 9) != 0 || strncmp(self->answer + 9, status, strlen(status)) != 0 ||
	        strstr(self->answer, within) == NULL)
		fail_msg("%s: expected %s with \"%s\", got: %s", self->request, status, within, self->answer);
}

/* A request that needs no loop. */
static void expect(const cop_http *http, const char *request, const char *status, const char *within)
{
	client one;
	start_client(&one, http, request);
	expect_answer(&one, status, within);
}

static int http_start(void **state)
{
	cop_diag diag;
	return cop_http_open("127.0.0.1:0", (cop_http **)state, &diag) == COP_OK ? 0 : -1;
}

static int http_stop(void **state)
{
	cop_http_close(*state);
	return 0;
}

typedef struct page {
	unsigned rendered;
	cop_err err;
} page;

static page rendered; /* what `render` did */

static void render(const void *context, cop_bytes *out)
{
	char text[32];
	const page *kept = context;
	rendered = (page){ .rendered = kept->rendered + 1, .err = kept->err };
	cop_bytes_put(out, text, (size_t)snprintf(text, sizeof text, "page %u\n", rendered.rendered));
	out->err = kept->err;
}

static void scrape(client *self, cop_http *http, const char *request)
{
	cop_http_set_phase(http, COP_HTTP_SERVING);
	cop_http_alive(http, cop_clock_monotonic_ns());
	start_client(self, http, request);
}

static void turn_until_done(cop_http *http, const client *one)
{
	while (!atomic_load(&one->done)) {
		struct pollfd item = { .fd = cop_http_fd(http), .events = POLLIN };
		(void)poll(&item, 1, 10);
		cop_http_alive(http, cop_clock_monotonic_ns());
		cop_http_answer(http, render, &rendered);
	}
}

static void expect_fresh_pages(cop_http *http)
{
	client one;
	rendered = (page){ 0 };
	for (unsigned i = 1; i <= 3; i++) {
		char expected[32];
		(void)snprintf(expected, sizeof expected, "\r\n\r\npage %u\n", i);
		scrape(&one, http, "GET /metrics?x=y");
		turn_until_done(http, &one);
		expect_answer(&one, "200", expected);
		assert_non_null(strstr(one.answer, "text/plain; version=0.0.4; charset=utf-8"));
		struct pollfd item = { .fd = cop_http_fd(http), .events = POLLIN };
		assert_int_equal(poll(&item, 1, 0), 0); /* nothing is left that would wake the loop */
	}
	assert_int_equal(rendered.rendered, 3);
}

static void test_metrics_each_scrape_gets_a_fresh_page(void **state)
{
	expect_fresh_pages(*state);
	assert_int_equal(cop_http_missed(*state), 0);
}

static void test_metrics_head_has_no_body(void **state)
{
	client one;
	rendered = (page){ 0 };
	scrape(&one, *state, "HEAD /metrics");
	turn_until_done(*state, &one);
	expect_answer(&one, "200", "Content-Length: 7\r\n");
	assert_null(strstr(one.answer, "page"));
}

static void test_metrics_that_ran_out_of_memory_are_503(void **state)
{
	client one;
	rendered = (page){ .err = COP_ENOMEM };
	scrape(&one, *state, "GET /metrics");
	turn_until_done(*state, &one);
	expect_answer(&one, "503", "");
}

static void test_metrics_unanswered_by_the_loop_are_503(void **state)
{
	cop_http_set_phase(*state, COP_HTTP_SERVING);
	cop_http_alive(*state, cop_clock_monotonic_ns());
	expect(*state, "GET /metrics", "503", "no answer in time");
	cop_http_alive(*state, cop_clock_monotonic_ns() - LONG_AGO);
	expect(*state, "GET /metrics", "503", "no answer in time");
	assert_int_equal(cop_http_missed(*state), 2);
	/* What the first one left behind does no harm to the next. */
	cop_http_answer(*state, render, &rendered);
	expect_fresh_pages(*state);
}

/* A loop that does not serve, or has been silent for long, is not woken: nothing waits for it. */
static void test_metrics_ask_no_loop_that_cannot_answer(void **state)
{
	static const struct {
		cop_http_phase phase;
		uint64_t silent;
		bool asked;
	} cases[] = { { COP_HTTP_STARTING, 0, false }, { COP_HTTP_STOPPING, 0, false },
		{ COP_HTTP_SERVING, LONG_AGO, false }, { COP_HTTP_STARTING, LONG_AGO, false },
		{ COP_HTTP_SERVING, 0, true } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_http_set_phase(*state, cases[i].phase);
		cop_http_alive(*state, cop_clock_monotonic_ns() - cases[i].silent);
		expect(*state, "GET /metrics", "503", "no answer in time");
		struct pollfd item = { .fd = cop_http_fd(*state), .events = POLLIN };
		assert_int_equal(poll(&item, 1, 0), cases[i].asked ? 1 : 0);
	}
}

static void test_metrics_waiting_at_close_are_503(void **state)
{
	client one;
	cop_http *http;
	cop_diag diag;
	(void)state;
	assert_int_equal(cop_http_open("127.0.0.1:0", &http, &diag), COP_OK);
	scrape(&one, http, "GET /metrics");
	struct pollfd item = { .fd = cop_http_fd(http), .events = POLLIN };
	assert_int_equal(poll(&item, 1, -1), 1); /* it waits for the loop */
	cop_http_close(http);
	assert_int_equal(pthread_join(one.thread, NULL), 0);
	assert_true(one.answer[0] == '\0' || strncmp(one.answer, "HTTP/1.1 503", 12) == 0);
}

static void test_healthz_is_503_when_the_loop_is_silent(void **state)
{
	client one;
	start_client(&one, *state, "GET /healthz");
	expect_answer(&one, "200", "ok\n");
	assert_non_null(strstr(one.answer, "Content-Type: text/plain; charset=utf-8\r\n"));
	assert_null(strstr(one.answer, "Allow:")); /* only beside 405 */
	cop_http_alive(*state, cop_clock_monotonic_ns() - LONG_AGO);
	expect(*state, "GET /healthz", "503", "does not turn\n");
	cop_http_alive(*state, cop_clock_monotonic_ns());
	expect(*state, "GET /healthz", "200", "ok\n");
}

#define CROWD 200

static int connect_to(const cop_http *http)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(cop_http_port(http)) };
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

/* Half of them say nothing, the others begin a request that they do not end. */
static void test_healthz_is_200_beside_any_number_of_slow_connections(void **state)
{
	static const char begun[] = "GET /healthz HTTP/1.1\r\nHost: ";
	int fd[CROWD];
	char byte;
	cop_http_alive(*state, cop_clock_monotonic_ns());
	for (size_t i = 0; i < CROWD; i++) {
		fd[i] = connect_to(*state);
		if (i % 2 == 0)
			assert_int_equal(send(fd[i], begun, sizeof begun - 1, MSG_NOSIGNAL), sizeof begun - 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		cop_http_alive(*state, cop_clock_monotonic_ns());
		expect(*state, "GET /healthz", "200", "ok");
	}
	assert_true(recv(fd[0], &byte, 1, 0) <= 0);                        /* the oldest were ended */
	assert_int_equal(recv(fd[CROWD - 1], &byte, 1, MSG_DONTWAIT), -1); /* the youngest not */
	for (size_t i = 0; i < CROWD; i++)
		(void)close(fd[i]);
}

/* Sends and waits for the end of the answer, of which the last bytes are known. */
static void ask(int fd, const char *request, const char *ends)
{
	char answer[2048] = "";
	size_t length = 0;
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	while (length < strlen(ends) || strcmp(answer + length - strlen(ends), ends) != 0) {
		ssize_t got = recv(fd, answer + length, sizeof answer - 1 - length, 0);
		if (got <= 0)
			fail_msg("ended behind: %s", answer);
		length += (size_t)got;
		answer[length] = '\0';
	}
}

/* 32 that were answered and stay; each more ends the oldest of them, and those that were closed do not count. */
static void test_connection_beyond_32_ends_the_oldest(void **state)
{
	enum { OPEN = 32, MORE = 40 };
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
	int fd[OPEN + MORE];
	char byte;
	cop_http_alive(*state, cop_clock_monotonic_ns());
	for (size_t i = 0; i < OPEN + MORE; i++) {
		cop_http_alive(*state, cop_clock_monotonic_ns());
		fd[i] = connect_to(*state);
		ask(fd[i], request, "\r\n\r\nok\n");
		if (i < OPEN) {
			assert_int_equal(recv(fd[0], &byte, 1, MSG_DONTWAIT), -1);
			continue;
		}
		assert_int_equal(recv(fd[i - OPEN], &byte, 1, 0), 0);
		assert_int_equal(recv(fd[i - OPEN + 1], &byte, 1, MSG_DONTWAIT), -1);
		(void)close(fd[i - OPEN]);
	}
	for (size_t i = MORE; i < OPEN + MORE; i++)
		(void)close(fd[i]);
}

static void test_request_with_a_body_is_answered(void **state)
{
	int fd = connect_to(*state);
	cop_http_alive(*state, cop_clock_monotonic_ns());
	ask(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "\r\n\r\nok\n");
	ask(fd, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", "\r\n\r\nstarting\n");
	(void)close(fd);
}

static void test_readyz_is_200_only_while_serving(void **state)
{
	expect(*state, "GET /readyz", "503", "starting\n");
	expect(*state, "GET /metrics", "503", "");
	cop_http_set_phase(*state, COP_HTTP_SERVING);
	expect(*state, "GET /readyz", "200", "serving\n");
	cop_http_set_phase(*state, COP_HTTP_STOPPING);
	expect(*state, "GET /readyz", "503", "stopping\n");
}

static void test_other_paths_and_methods_are_refused(void **state)
{
	expect(*state, "GET /", "404", "expected /metrics");
	expect(*state, "GET /metrics/", "404", "expected /metrics");
	expect(*state, "POST /metrics", "405", "Allow: GET, HEAD");
	expect(*state, "OPTIONS *", "405", "Allow: GET, HEAD");
	expect(*state, "nonsense", "400", "");
}

static void test_open_taken_address_is_named(void **state)
{
	char address[32];
	cop_http *second;
	cop_diag diag;
	(void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)cop_http_port(*state));
	assert_int_equal(cop_http_open(address, &second, &diag), COP_EIO);
	assert_null(second);
	assert_non_null(strstr(diag.message, address));
	assert_non_null(strstr(diag.message, "Address already in use"));
}

static void test_open_wrong_address_is_refused(void **state)
{
	static const struct {
		const char *where, *says;
	} wrong[] = { { "", "http: listen: : expected ADDRESS:PORT" },
		{ ":80", "http: listen: :80: expected ADDRESS:PORT" },
		{ "80", "http: listen: 80: expected ADDRESS:PORT" },
		{ "127.0.0.1:none", "http: listen: cannot find 127.0.0.1:none: " },
		{ "[]:80", "http: listen: cannot find []:80: " },
		{ "[127.0.0.1:80", "http: listen: cannot find [127.0.0.1:80: " },
		{ "127.0.0.1]:80", "http: listen: cannot find 127.0.0.1]:80: " },
		{ "192.0.2.1:80", "http: listen: cannot bind 192.0.2.1:80: Cannot assign requested address" } };
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_http *http;
		cop_diag diag;
		assert_int_equal(cop_http_open(wrong[i].where, &http, &diag), COP_EIO);
		assert_null(http);
		assert_memory_equal(diag.message, wrong[i].says, strlen(wrong[i].says));
	}
}

static void test_open_host_of_256_characters_is_too_long(void **state)
{
	(void)state;
	for (int length = 255; length <= 256; length++) {
		char where[300];
		cop_http *http;
		cop_diag diag;
		memset(where, '1', (size_t)length);
		(void)snprintf(where + length, sizeof where - (size_t)length, ":80");
		assert_int_equal(cop_http_open(where, &http, &diag), COP_EIO);
		assert_non_null(strstr(diag.message, length == 256 ? "expected ADDRESS:PORT" : "cannot find"));
	}
}

static void test_open_address_in_brackets_is_found(void **state)
{
	(void)state;
	cop_http *http;
	cop_diag diag;
	assert_int_equal(cop_http_open("[127.0.0.1]:0", &http, &diag), COP_OK);
	expect(http, "GET /healthz", "200", "ok\n");
	cop_http_close(http);
	assert_int_equal(cop_http_open("[127.0.0.1:0", &http, &diag), COP_EIO);
	assert_int_equal(cop_http_open("127.0.0.1]:0", &http, &diag), COP_EIO);
	assert_int_equal(cop_http_open("[]:0", &http, &diag), COP_EIO);
}

/* A daemon that was started without standard input listens on the first descriptor. */
static void test_open_on_descriptor_0_listens(void **state)
{
	cop_http *http;
	cop_diag diag = { 0 };
	(void)state;
	int kept = dup(STDIN_FILENO);
	(void)close(STDIN_FILENO);
	cop_err err = cop_http_open("127.0.0.1:0", &http, &diag);
	bool first = fcntl(STDIN_FILENO, F_GETFD) >= 0;
	if (err == COP_OK)
		expect(http, "GET /healthz", "200", "ok\n");
	cop_http_close(http);
	if (kept >= 0) {
		assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
		(void)close(kept);
	}
	assert_int_equal(err, COP_OK);
	assert_true(first);
	assert_string_equal(diag.message, "");
}

static void test_open_without_memory_fails(void **state)
{
	cop_http *http;
	cop_diag diag;
	(void)state;
	cop_test_alloc_fail(1, 0);
	cop_err err = cop_http_open("127.0.0.1:0", &http, &diag);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(err, COP_ENOMEM);
	assert_null(http);
	assert_string_equal(diag.message, "http: out of memory");
}

static void test_off_does_nothing(void **state)
{
	(void)state;
	cop_http_alive(NULL, 1);
	cop_http_set_phase(NULL, COP_HTTP_SERVING);
	cop_http_answer(NULL, render, NULL);
	assert_int_equal(cop_http_fd(NULL), -1);
	assert_int_equal(cop_http_missed(NULL), 0);
	cop_http_close(NULL);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, http_start, http_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVED(test_metrics_each_scrape_gets_a_fresh_page),
		SERVED(test_metrics_head_has_no_body),
		SERVED(test_metrics_that_ran_out_of_memory_are_503),
		SERVED(test_metrics_unanswered_by_the_loop_are_503),
		SERVED(test_metrics_ask_no_loop_that_cannot_answer),
		cmocka_unit_test(test_metrics_waiting_at_close_are_503),
		SERVED(test_healthz_is_503_when_the_loop_is_silent),
		SERVED(test_healthz_is_200_beside_any_number_of_slow_connections),
		SERVED(test_connection_beyond_32_ends_the_oldest),
		SERVED(test_request_with_a_body_is_answered),
		SERVED(test_readyz_is_200_only_while_serving),
		SERVED(test_other_paths_and_methods_are_refused),
		SERVED(test_open_taken_address_is_named),
		cmocka_unit_test(test_open_wrong_address_is_refused),
		cmocka_unit_test(test_open_host_of_256_characters_is_too_long),
		cmocka_unit_test(test_open_address_in_brackets_is_found),
		cmocka_unit_test(test_open_on_descriptor_0_listens),
		cmocka_unit_test(test_open_without_memory_fails),
		cmocka_unit_test(test_off_does_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
