/* Live arrays are kept in a table of their addresses, with linear probing; what is removed lets the ones behind it move
 * up. */
#include "support_fail.h"

#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS ((size_t)1 << 18)

void __real_free(void *array);
void __wrap_free(void *array);

static void *slots[SLOTS];
static unsigned long live;
static bool watching;

static size_t slot_of(const void *array)
{
	return (size_t)(((uintptr_t)array >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 46) & (SLOTS - 1);
}

static size_t find(const void *array)
{
	size_t at = slot_of(array);
	while (slots[at] != NULL && slots[at] != array)
		at = (at + 1) & (SLOTS - 1);
	return at;
}

static void note(void *array)
{
	if (!watching || array == NULL)
		return;
	assert_true(live < SLOTS / 2);
	slots[find(array)] = array;
	live++;
}

static void forget(const void *array)
{
	size_t at = find(array);
	if (slots[at] == NULL)
		return;
	slots[at] = NULL;
	live--;
	for (at = (at + 1) & (SLOTS - 1); slots[at] != NULL; at = (at + 1) & (SLOTS - 1)) {
		void *moved = slots[at];
		slots[at] = NULL;
		slots[find(moved)] = moved;
	}
}

void __wrap_free(void *array)
{
	if (watching && array != NULL)
		forget(array);
	__real_free(array);
}

void cop_test_fail_watch(void)
{
	if (live != 0) /* else the table is empty, and it is large */
		memset(slots, 0, sizeof slots);
	live = 0;
	watching = true;
	cop_test_alloc_on(note);
}

unsigned long cop_test_fail_left(void) { return live; }

/* ---- attempts ---- */

typedef struct fault {
	unsigned calls; /* 0: memory */
	unsigned long n;
	bool forever, tolerated;
} fault;

static void begin_fault(const fault *f)
{
	if (f->calls == 0)
		cop_test_alloc_fail(f->n, f->forever);
	else
		cop_test_io_fail(f->calls, f->n, f->forever, EIO);
}

/* Whether it was met. */
static bool end_fault(const fault *f)
{
	bool met = f->calls == 0 ? cop_test_alloc_count() >= f->n : cop_test_io_failed();
	cop_test_alloc_fail(0, 0);
	cop_test_io_fail(COP_TEST_IO_EVERY, 0, false, 0);
	return met;
}

static void check_error(const cop_test_attempt *a, const fault *f, cop_err err, const cop_diag *diag, bool met)
{
	char text[800];
	cop_err expected = f->calls == 0 ? COP_ENOMEM : COP_EIO;
	const char *reason = f->calls == 0 ? "memory" : strerror(EIO);
	bool fine = err == a->end && (!met || f->tolerated);
	fine = fine || (met && err == expected && (a->silent || strstr(diag->message, reason) != NULL));
	if (fine)
		return;
	cop_diag_text(diag, text, sizeof text);
	fail_msg("%s, %s %lu%s%s: %s (%s)", a->name, f->calls == 0 ? "allocation" : "call", f->n,
	        f->forever ? " and all after it" : "", met ? " failing" : " not reached", cop_err_text(err), text);
}

/* Whether the fault was met. */
static bool run_once(const cop_test_attempt *a, void *context, const fault *f)
{
	cop_diag diag = { .message = "" };
	unsigned open = cop_test_io_descriptors();
	if (a->before != NULL)
		a->before(context);
	cop_test_fail_watch();
	begin_fault(f);
	cop_err err = a->run(context, &diag);
	bool met = end_fault(f);
	check_error(a, f, err, &diag, met);
	if (a->after != NULL)
		a->after(context, met);
	watching = false;
	if (live != 0 || cop_test_io_descriptors() != open)
		fail_msg("%s, %s %lu: %lu arrays left, %u descriptors open of %u", a->name,
		        f->calls == 0 ? "allocation" : "call", f->n, live, cop_test_io_descriptors(), open);
	return met;
}

static void run_all(const cop_test_attempt *a, void *context, unsigned calls, bool tolerated, unsigned long least)
{
	for (int forever = 0; forever < 2; forever++) {
		fault f = { .calls = calls, .n = 1, .forever = forever != 0, .tolerated = tolerated };
		while (run_once(a, context, &f))
			f.n++;
		if (f.n - 1 < least)
			fail_msg("%s: %lu failures; expected %lu or more", a->name, f.n - 1, least);
	}
}

void cop_test_fail_each(const cop_test_attempt *attempt, void *context)
{
	run_all(attempt, context, 0, attempt->spares_memory, attempt->allocations);
	if (attempt->calls != 0)
		run_all(attempt, context, attempt->calls, false, attempt->failures);
	if (attempt->tolerated != 0)
		run_all(attempt, context, attempt->tolerated, true, 0);
}

static void test_under_every_failure_reports_it_and_leaves_nothing(void **state) { cop_test_fail_each(*state, NULL); }

int cop_test_fail_group(cop_test_attempt *attempts, size_t count, int (*set_up)(void **), int (*tear_down)(void **),
        int (*begin)(void **), int (*end)(void **))
{
	struct CMUnitTest *tests = calloc(count, sizeof *tests);
	assert_non_null(tests);
	for (size_t i = 0; i < count; i++)
		tests[i] = (struct CMUnitTest){ attempts[i].name,
			test_under_every_failure_reports_it_and_leaves_nothing, set_up, tear_down, &attempts[i] };
	int failed = _cmocka_run_group_tests("failures", tests, count, begin, end);
	free(tests);
	return failed;
}
