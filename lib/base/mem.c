/* Sizes are multiplied with an overflow check and rounded up to a multiple of the alignment, with at least one byte to
 * spare, so an array of no elements is not NULL. Resizing always moves and zeroes what is new; on failure the old
 * array stays. Arrays of LARGE bytes or more request huge pages, which changes their speed only. */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Arrays this large are touched all over by rows that nothing foretells: with small pages, most of such a touch is the
 * search for the page. */
#define HUGE_PAGE ((uintptr_t)2 << 20)
#define LARGE     ((size_t)4 << 20)

/* A wish: where it is refused, small pages do. */
static void wish_for_huge_pages(void *array, size_t bytes)
{
	uintptr_t start = ((uintptr_t)array + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)array + bytes) & ~(HUGE_PAGE - 1);
	if (start < end)
		(void)madvise((char *)array + (start - (uintptr_t)array), end - start, MADV_HUGEPAGE);
}

/* *room: the bytes that there are. */
static void *reserve(size_t count, size_t size, size_t *room)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	/* aligned_alloc takes multiples of the alignment only. */
	bytes = (bytes + COP_MEM_ALIGN) & ~(size_t)(COP_MEM_ALIGN - 1);
	void *array = aligned_alloc(COP_MEM_ALIGN, bytes);
	if (array == NULL)
		return NULL;
	if (bytes >= LARGE)
		wish_for_huge_pages(array, bytes);
	*room = bytes;
	return array;
}

void *cop_mem_alloc(size_t count, size_t size)
{
	size_t bytes;
	void *array = reserve(count, size, &bytes);
	if (array != NULL)
		memset(array, 0, bytes);
	return array;
}

void *cop_mem_reserve(size_t count, size_t size)
{
	size_t bytes;
	return reserve(count, size, &bytes);
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

void cop_mem_exchange(void *a, void *b, size_t size)
{
	unsigned char *left = a, *right = b, kept[64];
	for (size_t done = 0; done < size;) {
		size_t part = size - done < sizeof kept ? size - done : sizeof kept;
		memcpy(kept, left + done, part);
		memcpy(left + done, right + done, part);
		memcpy(right + done, kept, part);
		done += part;
	}
}
