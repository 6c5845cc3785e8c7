#include "support_lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __real_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __real_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_destroy(pthread_cond_t *condition);
int __real_pthread_cond_destroy(pthread_cond_t *condition);
int __wrap_pthread_condattr_init(pthread_condattr_t *attributes);
int __real_pthread_condattr_init(pthread_condattr_t *attributes);
int __wrap_pthread_condattr_destroy(pthread_condattr_t *attributes);
int __real_pthread_condattr_destroy(pthread_condattr_t *attributes);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);

#define MOST     256 /* at once */
#define PATIENCE 30  /* seconds */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct timespec deadline;
static const void *made[MOST]; /* initialised and not yet destroyed; NULL: free */
static size_t count;           /* of those that are not NULL */
static pthread_cond_t fewer = PTHREAD_COND_INITIALIZER;

/* Where it stands; MOST when it does not. With the lock. */
static size_t place_of(const void *object)
{
	size_t i = 0;
	while (i < MOST && made[i] != object)
		i++;
	return i;
}

static void wrong(const char *what)
{
	(void)fprintf(stderr, "%s\n", what);
	abort();
}

/* before and after: the same place's content, NULL or the object. */
static void turn(const void *before, const void *after, const char *otherwise)
{
	(void)__real_pthread_mutex_lock(&lock);
	size_t i = place_of(before);
	if (i == MOST)
		wrong(otherwise);
	made[i] = after;
	if (before == NULL)
		count++;
	if (after == NULL)
		count--;
	(void)pthread_cond_broadcast(&fewer);
	(void)__real_pthread_mutex_unlock(&lock);
}

static void begin(const void *object) { turn(NULL, object, "too many locks and conditions at once"); }
static void end(const void *object) { turn(object, NULL, "destroyed, but not initialised"); }

/* One of the program's own storage may have been initialised where it is defined. */
static bool is_static(const void *object)
{
	extern const char __data_start, _end; /* the linker's: all that has its place from the beginning */
	return (uintptr_t)object >= (uintptr_t)&__data_start && (uintptr_t)object < (uintptr_t)&_end;
}

static void need(const void *object)
{
	if (!is_static(object))
		turn(object, object, "used, but not initialised");
}

__attribute__((destructor)) static void all_are_destroyed(void)
{
	if (count != 0)
		wrong("a lock or condition was not destroyed");
}

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
	begin(mutex);
	if (attributes != NULL)
		return __real_pthread_mutex_init(mutex, attributes);
	(void)pthread_mutexattr_init(&noticing);
	(void)pthread_mutexattr_settype(&noticing, PTHREAD_MUTEX_ERRORCHECK);
	int result = __real_pthread_mutex_init(mutex, &noticing);
	(void)pthread_mutexattr_destroy(&noticing);
	return result;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	end(mutex);
	return expect("destroy", __real_pthread_mutex_destroy(mutex));
}

int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
	if (attributes != NULL)
		need(attributes);
	begin(condition);
	return __real_pthread_cond_init(condition, attributes);
}

int __wrap_pthread_cond_destroy(pthread_cond_t *condition)
{
	end(condition);
	return __real_pthread_cond_destroy(condition);
}

int __wrap_pthread_condattr_init(pthread_condattr_t *attributes)
{
	begin(attributes);
	return __real_pthread_condattr_init(attributes);
}

int __wrap_pthread_condattr_destroy(pthread_condattr_t *attributes)
{
	end(attributes);
	return __real_pthread_condattr_destroy(attributes);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	need(mutex);
	return expect("lock", __real_pthread_mutex_lock(mutex));
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) { return expect("unlock", __real_pthread_mutex_unlock(mutex)); }

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	need(condition);
	return expect("wait", __real_pthread_cond_wait(condition, mutex));
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
	need(condition);
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

size_t cop_test_lock_count(void)
{
	(void)__real_pthread_mutex_lock(&lock);
	size_t now = count;
	(void)__real_pthread_mutex_unlock(&lock);
	return now;
}

void cop_test_lock_wait(size_t most)
{
	struct timespec until;
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	(void)__real_pthread_mutex_lock(&lock);
	while (count > most)
		if (__real_pthread_cond_timedwait(&fewer, &lock, &until) != 0)
			wrong("locks and conditions are not destroyed");
	(void)__real_pthread_mutex_unlock(&lock);
}
