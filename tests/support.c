/* The wrapper sits between base/mem and libc: count first, then fail or pass on. */
#include <stdlib.h>

unsigned long cop_test_alloc_count(void);
size_t cop_test_alloc_bytes(void);
void cop_test_alloc_fail(unsigned long n, int forever);
int cop_test_alloc_failed(void);
void cop_test_alloc_on(void (*given)(void *array));
const char *cop_test_data_folder(void);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static unsigned long count;
static size_t bytes;
static unsigned long fail_at;
static int fail_on;
static int failed;
static void (*on_given)(void *array);

unsigned long cop_test_alloc_count(void) { return count; }

size_t cop_test_alloc_bytes(void) { return bytes; }

void cop_test_alloc_fail(unsigned long n, int forever)
{
	count = 0;
	bytes = 0;
	fail_at = n;
	fail_on = forever;
	if (n != 0)
		failed = 0;
}

int cop_test_alloc_failed(void) { return failed; }

void cop_test_alloc_on(void (*given)(void *array)) { on_given = given; }

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	count++;
	bytes += size;
	if (fail_at != 0 && (count == fail_at || (fail_on && count > fail_at))) {
		failed = 1;
		return NULL;
	}
	void *array = __real_aligned_alloc(alignment, size);
	if (on_given != NULL)
		on_given(array);
	return array;
}

const char *cop_test_data_folder(void)
{
	const char *folder = getenv("COPPICE_DATA");
	return folder == NULL || folder[0] == '\0' ? NULL : folder;
}
