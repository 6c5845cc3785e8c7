/* A scrape draws a ticket (`asked`), wakes the loop through an eventfd and waits until `given` is its ticket. There is
 * one asking thread, so the page belongs to it from the moment its ticket is given until it draws the next one; a page
 * for a ticket that is no longer waited for is not handed over.
 *
 * `lock` is the only lock here; nothing is called with it held but read and write of the eventfd, which never block.
 * Under it `wanted` and the eventfd are set and cleared together, so the loop is never left with one that stays
 * readable. */
#include "daemon/common/http.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "daemon/common/clock.h"
#include "daemon/common/exposition.h"
#include "daemon/common/http_connections.h"
#include "daemon/common/http_listen.h"

#define CONNECTIONS      32u           /* open; with one more the oldest is ended */
#define CONNECTION_IDLE  10u           /* seconds until a silent connection is closed */
#define CONNECTION_BYTES (16u << 10)   /* of memory for one: request line, headers, reply's headers */
#define WAIT_NS          1000000000ull /* for the loop's page */
#define ALIVE_NS         5000000000ull /* since the loop's last turn */
#define STALLED_NS       WAIT_NS       /* a loop that silent is not waited for */

struct cop_http {
	struct MHD_Daemon *daemon;
	cop_http_connections connections; /* the library's thread's */
	int wake;                         /* eventfd */
	uint16_t port;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t asked, given; /* under lock, as are closing and page */
	bool closing;
	cop_bytes page;
	cop_bytes spare; /* the loop's: what it renders into */
	atomic_bool wanted;
	atomic_int phase;
	_Atomic uint64_t alive, missed;
};

static enum MHD_Result reply(
        struct MHD_Connection *connection, unsigned status, const char *type, const void *body, size_t length)
{
	/* MHD wants a pointer to what it may change, and copies. */
	union {
		const void *borrowed;
		void *plain;
	} data = { .borrowed = body };
	struct MHD_Response *response = MHD_create_response_from_buffer(length, data.plain, MHD_RESPMEM_MUST_COPY);
	if (response == NULL)
		return MHD_NO;
	enum MHD_Result result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (result == MHD_YES && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (result == MHD_YES)
		result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
	return reply(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

static uint64_t silence(cop_http *http)
{
	uint64_t alive = atomic_load_explicit(&http->alive, memory_order_relaxed);
	uint64_t now = cop_clock_monotonic_ns();
	return now > alive ? now - alive : 0;
}

static struct timespec deadline_of(uint64_t from_now)
{
	uint64_t at = cop_clock_monotonic_ns() + from_now;
	return (struct timespec){ .tv_sec = (time_t)(at / 1000000000u), .tv_nsec = (long)(at % 1000000000u) };
}

/* Whether the loop gave a page for this scrape; it is in http->page until the next one asks. */
static bool ask_loop(cop_http *http)
{
	static const uint64_t one = 1;
	if (atomic_load(&http->phase) != COP_HTTP_SERVING || silence(http) > STALLED_NS)
		return false;
	struct timespec deadline = deadline_of(WAIT_NS);
	(void)pthread_mutex_lock(&http->lock);
	uint64_t ticket = ++http->asked;
	(void)!write(http->wake, &one, sizeof one); /* can fail only when it is readable already */
	atomic_store(&http->wanted, true);
	int waited = 0;
	while (http->given != ticket && !http->closing && waited == 0)
		waited = pthread_cond_timedwait(&http->changed, &http->lock, &deadline);
	bool given = http->given == ticket;
	if (!given)
		http->asked++; /* not waited for any longer */
	(void)pthread_mutex_unlock(&http->lock);
	return given && http->page.err == COP_OK;
}

static enum MHD_Result metrics(cop_http *http, struct MHD_Connection *connection)
{
	if (ask_loop(http))
		return reply(connection, MHD_HTTP_OK, COP_EXPOSITION_TYPE, http->page.data, http->page.length);
	(void)atomic_fetch_add(&http->missed, 1);
	return reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the serving loop gave no answer in time\n");
}

static enum MHD_Result health(cop_http *http, struct MHD_Connection *connection)
{
	if (silence(http) <= ALIVE_NS)
		return reply_text(connection, MHD_HTTP_OK, "ok\n");
	return reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the serving loop does not turn\n");
}

static enum MHD_Result readiness(cop_http *http, struct MHD_Connection *connection)
{
	static const char *const texts[] = { "starting\n", "serving\n", "stopping\n" };
	int phase = atomic_load(&http->phase);
	unsigned status = phase == COP_HTTP_SERVING ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
	return reply_text(connection, status, texts[phase]);
}

static const struct {
	const char *path;
	enum MHD_Result (*handle)(cop_http *http, struct MHD_Connection *connection);
} pages[] = { { "/metrics", metrics }, { "/healthz", health }, { "/readyz", readiness } };

/* MHD's callback: first with the headers alone, then for each piece of a body, then once more to be answered. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
        const char *version, const char *upload, size_t *upload_size, void **of_request)
{
	(void)version, (void)upload;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "expected GET or HEAD\n");
	if (*of_request == NULL || *upload_size != 0) {
		*of_request = context;
		*upload_size = 0;
		return MHD_YES;
	}
	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
		if (strcmp(url, pages[i].path) == 0)
			return pages[i].handle(context, connection);
	return reply_text(connection, MHD_HTTP_NOT_FOUND, "expected /metrics, /healthz or /readyz\n");
}

/* MHD's callback. */
static void notice(
        void *context, struct MHD_Connection *connection, void **of_socket, enum MHD_ConnectionNotificationCode what)
{
	cop_http *http = context;
	(void)of_socket;
	(void)cop_http_connections_notice(&http->connections, connection, what);
}

/* Takes the socket, also on error: MHD closes what it was given. */
static cop_err start(cop_http *http, int fd, const char *where, cop_diag *diag)
{
	http->port = cop_http_listen_port(fd);
	http->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (http->wake < 0)
		(void)close(fd);
	else {
		sigset_t before;
		cop_thread_block_signals(&before);
		http->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, handle, http,
		        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, 2 * CONNECTIONS,
		        MHD_OPTION_NOTIFY_CONNECTION, notice, http, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE,
		        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
		cop_thread_restore_signals(&before);
	}
	if (http->daemon != NULL)
		return COP_OK;
	cop_diag_message(diag, "http: listen: cannot serve %s: %s", where, strerror(errno));
	return COP_EIO;
}

static void init_locks(cop_http *http)
{
	pthread_condattr_t attributes;
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&http->changed, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	(void)pthread_mutex_init(&http->lock, NULL);
}

cop_err cop_http_open(const char *listen, cop_http **out, cop_diag *diag)
{
	int fd;
	*out = NULL;
	cop_err err = cop_http_listen("http: listen", listen, &fd, diag);
	if (err != COP_OK)
		return err;
	cop_http *http = cop_mem_alloc(1, sizeof *http);
	if (http == NULL || cop_http_connections_init(&http->connections, CONNECTIONS) != COP_OK) {
		cop_mem_free(http);
		(void)close(fd);
		cop_diag_message(diag, "http: %s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	cop_bytes_init(&http->page);
	cop_bytes_init(&http->spare);
	init_locks(http);
	cop_http_alive(http, cop_clock_monotonic_ns());
	err = start(http, fd, listen, diag);
	if (err != COP_OK)
		cop_http_close(http);
	else
		*out = http;
	return err;
}

void cop_http_close(cop_http *http)
{
	if (http == NULL)
		return;
	cop_http_set_phase(http, COP_HTTP_STOPPING);
	(void)pthread_mutex_lock(&http->lock);
	http->closing = true;
	(void)pthread_cond_broadcast(&http->changed);
	(void)pthread_mutex_unlock(&http->lock);
	if (http->daemon != NULL)
		MHD_stop_daemon(http->daemon);
	if (http->wake >= 0)
		(void)close(http->wake);
	(void)pthread_cond_destroy(&http->changed);
	(void)pthread_mutex_destroy(&http->lock);
	cop_bytes_fini(&http->page);
	cop_bytes_fini(&http->spare);
	cop_http_connections_fini(&http->connections);
	cop_mem_free(http);
}

uint16_t cop_http_port(const cop_http *http) { return http == NULL ? 0 : http->port; }
int cop_http_fd(const cop_http *http) { return http == NULL ? -1 : http->wake; }

uint64_t cop_http_missed(const cop_http *http) { return http == NULL ? 0 : atomic_load(&http->missed); }

void cop_http_set_phase(cop_http *http, cop_http_phase phase)
{
	if (http != NULL)
		atomic_store(&http->phase, (int)phase);
}

void cop_http_alive(cop_http *http, uint64_t now)
{
	if (http != NULL)
		atomic_store_explicit(&http->alive, now, memory_order_relaxed);
}

void cop_http_answer(cop_http *http, void (*render)(const void *context, cop_bytes *out), const void *context)
{
	if (http == NULL || !atomic_load(&http->wanted))
		return;
	uint64_t woken, ticket;
	(void)pthread_mutex_lock(&http->lock);
	(void)!read(http->wake, &woken, sizeof woken);
	ticket = http->asked;
	atomic_store(&http->wanted, false);
	(void)pthread_mutex_unlock(&http->lock);
	cop_bytes_clear(&http->spare);
	render(context, &http->spare);
	(void)pthread_mutex_lock(&http->lock);
	if (ticket == http->asked) {
		cop_bytes rendered = http->spare;
		http->spare = http->page;
		http->page = rendered;
		http->given = ticket;
		(void)pthread_cond_signal(&http->changed);
	}
	(void)pthread_mutex_unlock(&http->lock);
}
