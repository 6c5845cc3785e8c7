/* tests/support_lock.h: what goes wrong with locks ends the test.
 *
 * A test that links cop_test_lock has its libraries' mutexes made of the kind that notices: to unlock one that is not
 * held, to lock one twice, or to wait on a condition without its lock aborts. Any thread. */
#ifndef COP_TESTS_SUPPORT_LOCK_H
#define COP_TESTS_SUPPORT_LOCK_H

#include <time.h>

/* Until when the last wait that had a deadline was to last, at most. */
struct timespec cop_test_lock_deadline(void);

#endif
