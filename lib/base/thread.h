/* base/thread.h: threads that signals to the process pass by.
 *
 * Such a signal goes to any thread that does not block it. Threads of ours block all but those of their own faults
 * (SIGSEGV and its like), so that the others are for the program's first thread, which waits for them. */
#ifndef COP_BASE_THREAD_H
#define COP_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

#include "base/err.h"

/* Starts work(context) with signals blocked; the caller joins *thread. COP_ENOMEM with errno when the system gives
 * no more threads. */
COP_CHECK cop_err cop_thread_start(pthread_t *thread, void *(*work)(void *), void *context);

/* Around a library that starts threads by itself: blocks signals, and sets them as they were. */
void cop_thread_block_signals(sigset_t *before);
void cop_thread_restore_signals(const sigset_t *before);

#endif
