/* tests/support_io.h: makes the n-th call to the operating system fail, for tests of what is written to disk.
 *
 * A test that links cop_test_io has its library's calls of open, openat, read, pread, pwritev, write, fsync, fdatasync,
 * rename, renameat, ftruncate, unlink and unlinkat sent through a counter. One thread. */
#ifndef COP_TESTS_SUPPORT_IO_H
#define COP_TESTS_SUPPORT_IO_H

#include <stdbool.h>

enum {
	COP_TEST_IO_OPEN = 1,
	COP_TEST_IO_WRITE = 2, /* the failing call writes half of what it was given first, where it is a pwritev */
	COP_TEST_IO_SYNC = 4,
	COP_TEST_IO_RENAME = 8,
	COP_TEST_IO_CUT = 16,
	COP_TEST_IO_REMOVE = 32,
	COP_TEST_IO_ALL = 63,
	COP_TEST_IO_READ = 64, /* read and pread; not of ALL */
};

/* Counter back to 0; of the calls of these kinds the n-th fails with errno `code`, and all after it when `forever`
 * (n = 0: none). */
void cop_test_io_fail(unsigned kinds, unsigned long n, bool forever, int code);

/* Calls of the chosen kinds since then; whether one was made to fail. */
unsigned long cop_test_io_count(void);
bool cop_test_io_failed(void);

/* Called with the descriptor before a sync is made to fail (NULL: nothing): a place to lose what was not synced. */
void cop_test_io_on_lost(void (*lost)(int fd));

/* A file whose fdatasync was made to fail was synced again since the last cop_test_io_fail, with no renameat between.
 */
bool cop_test_io_synced_again(void);

#endif
