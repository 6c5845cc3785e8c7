#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Arrays this large are touched all over by rows that nothing foretells: with small pages, most of such a touch is the
 * search for the page. */
#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE     (2 * HUGE_PAGE)

void *cop_mem_alloc(size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	size_t align = bytes >= LARGE ? HUGE_PAGE : COP_MEM_ALIGN;
	/* aligned_alloc wants a multiple of the alignment. */
	bytes = (bytes + align - (bytes > 0)) & ~(align - 1);
	void *array = aligned_alloc(align, bytes);
	if (array == NULL)
		return NULL;
	if (align == HUGE_PAGE)
		(void)madvise(array, bytes, MADV_HUGEPAGE); /* a wish: where it is refused, small pages do */
	memset(array, 0, bytes);
	return array;
}

void *cop_mem_resize(void *array, size_t old_count, size_t new_count, size_t size)
{
	void *moved = cop_mem_alloc(new_count, size);
	if (moved == NULL)
		return NULL;
	if (array != NULL)
		memcpy(moved, array, (old_count < new_count ? old_count : new_count) * size);
	cop_mem_free(array);
	return moved;
}

char *cop_mem_strdup(const char *text)
{
	size_t length = strlen(text) + 1;
	char *copy = cop_mem_alloc(length, 1);
	if (copy != NULL)
		memcpy(copy, text, length);
	return copy;
}

void cop_mem_free(void *array) { free(array); }
