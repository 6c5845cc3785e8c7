/* The wrapper sits between base/mem and libc: count first, then fail or pass on. */
#include <stdlib.h>

unsigned long cop_test_alloc_count(void);
void cop_test_alloc_fail(unsigned long n, int forever);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static unsigned long count;
static unsigned long fail_at;
static int fail_on;

unsigned long cop_test_alloc_count(void) { return count; }

void cop_test_alloc_fail(unsigned long n, int forever)
{
	count = 0;
	fail_at = n;
	fail_on = forever;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	count++;
	if (fail_at != 0 && (count == fail_at || (fail_on && count > fail_at)))
		return NULL;
	return __real_aligned_alloc(alignment, size);
}
