/* tests/support.h: what every unit test shares: a counting, failing allocator and cmocka's headers in order.
 *
 * The linker sends each aligned_alloc of base/mem through cop_test_alloc_*'s counter. One thread. */
#ifndef COP_TESTS_SUPPORT_H
#define COP_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Allocations since the last reset. */
unsigned long cop_test_alloc_count(void);
/* Bytes they asked for. */
size_t cop_test_alloc_bytes(void);
/* Counters back to 0; the n-th allocation from here fails, and all after it when `forever` (n = 0: none fails). */
void cop_test_alloc_fail(unsigned long n, int forever);
/* Whether one failed since the last call with n > 0. */
int cop_test_alloc_failed(void);
/* Called with each array that is given out (NULL: nothing). */
void cop_test_alloc_on(void (*given)(void *array));

/* The folder that COPPICE_DATA names; NULL where it is not set, or empty: what needs it is skipped. */
const char *cop_test_data_folder(void);

/* Sweeps over every byte take only each so many-th where a sanitizer makes each step a hundred times slower; for its
 * memory errors. A prime, so that all bytes of repeated parts are met. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define COP_TEST_STRIDE 7
#else
#define COP_TEST_STRIDE 1
#endif

#endif
