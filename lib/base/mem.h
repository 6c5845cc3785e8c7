/* base/mem.h: the library's only way to memory.
 *
 * Arrays are zeroed, aligned to COP_MEM_ALIGN bytes (a cache line and the widest vector), and their size is
 * checked for overflow. Any thread. */
#ifndef COP_BASE_MEM_H
#define COP_BASE_MEM_H

#include <stddef.h>

#define COP_MEM_ALIGN 64

/* count * size zeroed bytes; NULL when they cannot be had or the product overflows. count or size 0 gives a
 * valid pointer. Caller frees with cop_mem_free. */
void *cop_mem_alloc(size_t count, size_t size) __attribute__((malloc, warn_unused_result));

/* The same, but what is in it is undefined: a large array then takes memory only where it is written. */
void *cop_mem_reserve(size_t count, size_t size) __attribute__((malloc, warn_unused_result));

/* Moves `array` of old_count elements (NULL: none) to room for new_count, the new ones zeroed. On failure NULL and
 * `array` stays valid; on success `array` is freed. */
void *cop_mem_resize(void *array, size_t old_count, size_t new_count, size_t size) __attribute__((warn_unused_result));

/* Copy of a string; NULL when memory is short. Caller frees with cop_mem_free. */
char *cop_mem_strdup(const char *text) __attribute__((malloc, warn_unused_result));

void cop_mem_free(void *array);

/* Two objects of that size, which do not overlap, change places. */
void cop_mem_exchange(void *a, void *b, size_t size);

#endif
