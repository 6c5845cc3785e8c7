/* A thread inherits its starter's mask: it is set for the moment of the start. */
#include "base/thread.h"

#include <errno.h>

void cop_thread_block_signals(sigset_t *before)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
	sigset_t blocked;
	(void)sigfillset(&blocked);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		(void)sigdelset(&blocked, faults[i]);
	(void)pthread_sigmask(SIG_BLOCK, &blocked, before);
}

void cop_thread_restore_signals(const sigset_t *before) { (void)pthread_sigmask(SIG_SETMASK, before, NULL); }

cop_err cop_thread_start(pthread_t *thread, void *(*work)(void *), void *context)
{
	sigset_t before;
	cop_thread_block_signals(&before);
	int failed = pthread_create(thread, NULL, work, context);
	cop_thread_restore_signals(&before);
	if (failed == 0)
		return COP_OK;
	errno = failed;
	return COP_ENOMEM;
}
