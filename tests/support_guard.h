/* tests/support_guard.h: arrays whose surroundings nobody may touch.
 *
 * An array ends where a page begins that can neither be read nor written, or as many bytes before it as its alignment
 * asks for. These bytes and those before the array hold a pattern that is checked when it is freed, and cannot be read
 * under the address sanitizer. The content begins as 0xa5. One thread. */
#ifndef COP_TESTS_SUPPORT_GUARD_H
#define COP_TESTS_SUPPORT_GUARD_H

#include <stddef.h>

/* align: a power of 2, up to the page size. Caller frees with cop_test_guard_free; never NULL. */
void *cop_test_guard_new(size_t count, size_t size, size_t align);
/* Fails the test where a byte around the array was changed. NULL is allowed. */
void cop_test_guard_free(void *array);

/* count elements of the type of *p, without alignment beyond the type's. */
#define COP_TEST_GUARD(p, count) ((p) = cop_test_guard_new((count), sizeof *(p), _Alignof(__typeof__(*(p)))))
/* The same as base/mem aligns. */
#define COP_TEST_GUARD_ALIGNED(p, count) ((p) = cop_test_guard_new((count), sizeof *(p), 64))

#endif
