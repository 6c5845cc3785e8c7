/* An address is tried with port 0, any free one, so that what serves there already does not matter. Names and
 * interfaces are not resolved: that is the start's. */
#include "daemon/config/bindable.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FOLDER 256

/* made: a folder that a start makes. */
static cop_err check_folder(const char *option, const char *path, const char *made, cop_diag *diag)
{
	char folder[FOLDER] = ".";
	const char *end = strrchr(path, '/');
	if (path[0] == '@' || path[0] == '*' || strncmp(path, "/run/", strlen("/run/")) == 0)
		return COP_OK;
	if (end != NULL)
		(void)snprintf(folder, sizeof folder, "%.*s", end == path ? 1 : (int)(end - path), path);
	if (strcmp(folder, made) == 0 || access(folder, W_OK | X_OK) == 0)
		return COP_OK;
	cop_diag_message(diag, "%s: cannot bind ipc://%s: %s: %s, expected a folder that can be written", option, path,
	        folder, strerror(errno));
	return COP_EIO;
}

/* The address before the port, without brackets, if it is one in digits. */
static struct addrinfo *read_address(const char *address)
{
	char host[64];
	const struct addrinfo wanted = {
		.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM
	};
	struct addrinfo *found = NULL;
	const char *colon = strrchr(address, ':');
	size_t skip = address[0] == '[';
	if (colon == NULL || (size_t)(colon - address) < 1 + 2 * skip || (size_t)(colon - address) >= sizeof host)
		return NULL;
	(void)snprintf(host, sizeof host, "%.*s", (int)((size_t)(colon - address) - 2 * skip), address + skip);
	return getaddrinfo(host, "0", &wanted, &found) == 0 ? found : NULL;
}

static cop_err check_address(const char *option, const char *address, cop_diag *diag)
{
	struct addrinfo *found = read_address(address);
	if (found == NULL)
		return COP_OK;
	const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool strange = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) != 0 && errno == EADDRNOTAVAIL;
	if (fd >= 0)
		(void)close(fd);
	freeaddrinfo(found);
	if (!strange)
		return COP_OK;
	cop_diag_message(diag, "%s: cannot bind %s: expected an address of this machine", option, address);
	return COP_EIO;
}

cop_err cop_bindable_check(const cop_config *config, cop_diag *diag)
{
	const char *option, *at;
	cop_err err = COP_OK;
	for (size_t i = 0; err == COP_OK && (at = cop_config_bound(config, i, &option)) != NULL; i++) {
		if (strncmp(at, "ipc://", strlen("ipc://")) == 0)
			err = check_folder(option, at + strlen("ipc://"), config->state_dir, diag);
		else if (strncmp(at, "tcp://", strlen("tcp://")) == 0)
			err = check_address(option, at + strlen("tcp://"), diag);
		else if (strstr(at, "://") == NULL)
			err = check_address(option, at, diag);
	}
	return err;
}
