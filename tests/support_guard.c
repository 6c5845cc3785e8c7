/* A map of whole pages: one with what is known of the array, the array's, and one without access. */
#include "support_guard.h"

#include "support.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATTERN 0x5c
#define MOST    256 /* arrays at a time */

#if defined(__SANITIZE_ADDRESS__)
#define POISONED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONED 1
#endif
#endif
#ifdef POISONED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, length)   ((void)(at), (void)(length))
#define ASAN_UNPOISON_MEMORY_REGION(at, length) ((void)(at), (void)(length))
#endif

typedef struct guarded {
	uint8_t *map, *array;
	size_t before, length, behind, whole;
} guarded;

static guarded all[MOST];

void *cop_test_guard_new(size_t count, size_t size, size_t align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), length = count * size;
	size_t pages = (length + align + page - 1) / page * page + page;
	guarded *g = all;
	while (g < all + MOST && g->map != NULL)
		g++;
	assert_true(g < all + MOST);
	void *map = mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(map != MAP_FAILED);
	*g = (guarded){ .map = map, .length = length, .whole = pages + page };
	assert_int_equal(mprotect(g->map + pages, page, PROT_NONE), 0);
	g->before = (pages - length) & ~(align - 1);
	g->behind = pages - g->before - length;
	g->array = g->map + g->before;
	memset(g->map, PATTERN, pages);
	memset(g->array, 0xa5, length);
	ASAN_POISON_MEMORY_REGION(g->map, g->before);
	ASAN_POISON_MEMORY_REGION(g->array + length, g->behind);
	return g->array;
}

void cop_test_guard_free(void *array)
{
	guarded *g = all;
	if (array == NULL)
		return;
	while (g < all + MOST && g->array != array)
		g++;
	assert_true(g < all + MOST);
	ASAN_UNPOISON_MEMORY_REGION(g->map, g->before + g->length + g->behind);
	for (size_t i = 0; i < g->before; i++)
		assert_int_equal(g->map[i], PATTERN);
	for (size_t i = 0; i < g->behind; i++)
		assert_int_equal(g->array[g->length + i], PATTERN);
	assert_int_equal(munmap(g->map, g->whole), 0);
	*g = (guarded){ .map = NULL };
}
