/* The first thread blocks the three signals, as all of our own threads do, so one that comes stays with the process
 * until it is read from a signalfd. Threads that OpenBLAS started before main may not block them: a handler that runs
 * there writes the signal's number, one byte, into a pipe that does not block, and restores errno. Both are watched by
 * one epoll descriptor, and everything else happens in the loop. A full pipe loses a byte but holds others, and signals
 * are not counted anyway. SIGPIPE is ignored: a closed peer is an error code of the write. */
#include "daemon/common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { PIPE_OUT, PIPE_IN, PENDING, BOTH, FDS };
static int fds[FDS] = { -1, -1, -1, -1 };
static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
static sigset_t before;

static void handle(int number)
{
	int saved = errno;
	unsigned char byte = (unsigned char)number;
	(void)!write(fds[PIPE_IN], &byte, 1); /* a full pipe holds enough signals already */
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

static bool watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	return fd >= 0 && epoll_ctl(fds[BOTH], EPOLL_CTL_ADD, fd, &event) == 0;
}

cop_err cop_signals_open(int *fd)
{
	sigset_t ours;
	(void)sigemptyset(&ours);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		(void)sigaddset(&ours, numbers[i]);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return COP_EIO;
	fds[PENDING] = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	fds[BOTH] = epoll_create1(EPOLL_CLOEXEC);
	if (fds[BOTH] < 0 || !watch(fds[PIPE_OUT]) || !watch(fds[PENDING]))
		return COP_EIO;
	*fd = fds[BOTH];
	(void)signal(SIGPIPE, SIG_IGN);
	cop_err err = install(handle);
	if (err == COP_OK && pthread_sigmask(SIG_BLOCK, &ours, &before) != 0)
		err = COP_EIO;
	return err;
}

void cop_signals_close(void)
{
	bool opened = fds[BOTH] >= 0;
	(void)!install(SIG_DFL);
	for (int i = 0; i < FDS; i++)
		if (fds[i] >= 0) {
			(void)close(fds[i]);
			fds[i] = -1;
		}
	if (opened)
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool cop_signals_take(int *number)
{
	struct signalfd_siginfo came;
	unsigned char byte;
	if (read(fds[PENDING], &came, sizeof came) == (ssize_t)sizeof came) {
		*number = (int)came.ssi_signo;
		return true;
	}
	if (read(fds[PIPE_OUT], &byte, 1) != 1)
		return false;
	*number = byte;
	return true;
}
