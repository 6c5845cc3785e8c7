/* A bare server of libmicrohttpd, which HTTP in the daemon is measured against: http_echo PORT BYTES
 *
 * Takes a request's body whole and answers with as many bytes of text, whatever was asked. One thread, epoll, as the
 * daemon's. Ends by a signal. */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <unistd.h>

#define MOST_BYTES 65536

static char answer[MOST_BYTES];
static size_t answer_bytes;

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
        const char *version, const char *data, size_t *bytes, void **state)
{
	static int begun;
	(void)context;
	(void)url;
	(void)method;
	(void)version;
	(void)data;
	if (*state == NULL) {
		*state = &begun;
		return MHD_YES;
	}
	if (*bytes > 0) {
		*bytes = 0;
		return MHD_YES;
	}
	struct MHD_Response *response = MHD_create_response_from_buffer(answer_bytes, answer, MHD_RESPMEM_PERSISTENT);
	if (response == NULL)
		return MHD_NO;
	(void)MHD_add_response_header(response, "Content-Type", "application/json");
	enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

int main(int argc, char **argv)
{
	long port = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	long bytes = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	if (port < 1 || port > 65535 || bytes < 1 || bytes > MOST_BYTES) {
		(void)fputs("usage: http_echo PORT BYTES\n", stderr);
		return 2;
	}
	memset(answer, 'a', sizeof answer);
	answer_bytes = (size_t)bytes;
	struct sockaddr_in where = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	struct MHD_Daemon *server = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, NULL,
	        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&where, MHD_OPTION_END);
	if (server == NULL) {
		(void)fprintf(stderr, "http_echo: cannot serve port %ld\n", port);
		return 1;
	}
	for (;;)
		(void)pause();
}
