/* tests/support_fail.h: a function under every failure that can meet it.
 *
 * cop_test_fail_each runs an attempt with the first allocation failing, then with the second, and so on until none
 * failed; then the same with each call to the operating system; and both again with everything failing from there on.
 * Each time the error has to be the right one with its reason in the diagnostic, and nothing may be left: no array of
 * base/mem, no descriptor. A test that calls it links cop_test_fail. One thread. */
#ifndef COP_TESTS_SUPPORT_FAIL_H
#define COP_TESTS_SUPPORT_FAIL_H

#include <stdbool.h>

#include "base/err.h"
#include "support_io.h"

typedef struct cop_test_attempt {
	const char *name;
	void (*before)(void *context); /* makes what it starts from; NULL: nothing */
	/* The function, with what it gives released again; what was wrong in *diag, unless it is `silent`. */
	cop_err (*run)(void *context, cop_diag *diag);
	void (*after)(void *context, bool failed); /* checks what must hold, whether a failure was met or not; NULL */
	cop_err end;                               /* what it returns when nothing fails */
	unsigned calls;                            /* kinds (support_io.h) of which each failure must be reported */
	unsigned tolerated;                        /* kinds of which a failure may be passed over */
	bool silent;
	bool spares_memory; /* a failed allocation may be passed over: the function then does without */
	unsigned long allocations, failures; /* there are at least so many; of calls, of the kinds in `calls` */
} cop_test_attempt;

void cop_test_fail_each(const cop_test_attempt *attempt, void *context);
/* That of each attempt (context NULL) as a test of its own, between set_up and tear_down; all of them between begin and
 * end. How many failed. */
int cop_test_fail_group(cop_test_attempt *attempts, size_t count, int (*set_up)(void **), int (*tear_down)(void **),
        int (*begin)(void **), int (*end)(void **));

/* Arrays of base/mem that were allocated since the last cop_test_fail_watch and not freed. */
void cop_test_fail_watch(void);
unsigned long cop_test_fail_left(void);

#endif
