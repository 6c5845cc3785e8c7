/* Addresses are tried in the resolver's order; the first that binds and listens is taken. */
#include "daemon/common/http_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64

/* A socket that listens on one of the host's addresses, or -1 with errno. */
static int listen_on(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
	        bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int saved = errno;
	(void)close(fd);
	errno = saved;
	return -1;
}

/* Splits ADDRESS:PORT and listens on the first address that can be had. */
cop_err cop_http_listen(const char *option, const char *where, int *fd, cop_diag *diag)
{
	char host[256];
	const char *colon = strrchr(where, ':');
	size_t length = colon == NULL ? 0 : (size_t)(colon - where);
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	if (length == 0 || length >= sizeof host) {
		cop_diag_message(diag, "%s: %.64s: expected ADDRESS:PORT", option, where);
		return COP_EIO;
	}
	bool brackets = length > 2 && where[0] == '[' && where[length - 1] == ']';
	(void)snprintf(host, sizeof host, "%.*s", (int)(brackets ? length - 2 : length), brackets ? where + 1 : where);
	int failed = getaddrinfo(host, colon + 1, &hints, &found);
	if (failed != 0) {
		cop_diag_message(diag, "%s: cannot find %s: %s", option, where, gai_strerror(failed));
		return COP_EIO;
	}
	*fd = -1;
	for (const struct addrinfo *at = found; at != NULL && *fd < 0; at = at->ai_next)
		*fd = listen_on(at);
	if (*fd < 0)
		cop_diag_message(diag, "%s: cannot bind %s: %s", option, where, strerror(errno));
	freeaddrinfo(found);
	return *fd < 0 ? COP_EIO : COP_OK;
}

uint16_t cop_http_listen_port(int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof address;
	struct sockaddr_in six_or_four; /* sin6_port lies where sin_port does */
	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return 0;
	memcpy(&six_or_four, &address, sizeof six_or_four);
	return ntohs(six_or_four.sin_port);
}
