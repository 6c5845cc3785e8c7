/* A handler writes the signal's number, one byte, into a pipe that does not block, and restores errno; everything else
 * happens in the loop. A full pipe loses a byte but holds others, and signals are not counted anyway. SIGPIPE is
 * ignored: a closed peer is an error code of the write. */
#include "daemon/common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int ends[2] = { -1, -1 };
static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };

static void handle(int number)
{
	int saved = errno;
	unsigned char byte = (unsigned char)number;
	(void)!write(ends[1], &byte, 1); /* a full pipe holds enough signals already */
	errno = saved;
}

static cop_err install(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	(void)sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigaction(numbers[i], &action, NULL) != 0)
			return COP_EIO;
	return COP_OK;
}

cop_err cop_signals_open(int *fd)
{
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return COP_EIO;
	*fd = ends[0];
	(void)signal(SIGPIPE, SIG_IGN);
	return install(handle);
}

void cop_signals_close(void)
{
	(void)!install(SIG_DFL);
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0) {
			(void)close(ends[i]);
			ends[i] = -1;
		}
}

bool cop_signals_take(int *number)
{
	unsigned char byte;
	if (read(ends[0], &byte, 1) != 1)
		return false;
	*number = byte;
	return true;
}
