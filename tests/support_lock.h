/* tests/support_lock.h: what goes wrong with locks ends the test.
 *
 * A test that links cop_test_lock has its libraries' mutexes made of the kind that notices: to unlock one that is not
 * held, to lock one twice, or to wait on a condition without its lock aborts. So does the use of a mutex, condition or
 * condition's attributes that were not initialised, and the end of the test when one was not destroyed. Any thread. */
#ifndef COP_TESTS_SUPPORT_LOCK_H
#define COP_TESTS_SUPPORT_LOCK_H

#include <stddef.h>
#include <time.h>

/* Until when the last wait that had a deadline was to last, at most. */
struct timespec cop_test_lock_deadline(void);

/* Mutexes, conditions and attributes that were initialised and are not yet destroyed. */
size_t cop_test_lock_count(void);
/* Until there are no more than so many; fails the test when this takes half a minute. */
void cop_test_lock_wait(size_t count);

#endif
