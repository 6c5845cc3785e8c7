#include "support_lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timespec deadline;

static int expect(const char *call, int result)
{
	if (result == 0 || result == ETIMEDOUT)
		return result;
	(void)fprintf(stderr, "%s: error %d\n", call, result);
	abort();
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
	pthread_mutexattr_t noticing;
	if (attributes != NULL)
		return __real_pthread_mutex_init(mutex, attributes);
	(void)pthread_mutexattr_init(&noticing);
	(void)pthread_mutexattr_settype(&noticing, PTHREAD_MUTEX_ERRORCHECK);
	int result = __real_pthread_mutex_init(mutex, &noticing);
	(void)pthread_mutexattr_destroy(&noticing);
	return result;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) { return expect("lock", __real_pthread_mutex_lock(mutex)); }
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) { return expect("unlock", __real_pthread_mutex_unlock(mutex)); }

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	return expect("wait", __real_pthread_cond_wait(condition, mutex));
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
	(void)__real_pthread_mutex_lock(&lock);
	deadline = *until;
	(void)__real_pthread_mutex_unlock(&lock);
	return expect("timed wait", __real_pthread_cond_timedwait(condition, mutex, until));
}

struct timespec cop_test_lock_deadline(void)
{
	(void)__real_pthread_mutex_lock(&lock);
	struct timespec last = deadline;
	(void)__real_pthread_mutex_unlock(&lock);
	return last;
}
