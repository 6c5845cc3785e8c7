/* tests/support_io.h: makes the n-th call to the operating system fail, for tests of what is written to disk.
 *
 * A test that links cop_test_io has its library's calls of open, openat, fcntl, read, pread, pwritev, write, fsync,
 * fdatasync, rename, renameat, ftruncate, unlink, unlinkat, stat, fstat, fstatat, lstat, opendir, readdir, close,
 * fchmod and futimens sent through a counter. One thread. */
#ifndef COP_TESTS_SUPPORT_IO_H
#define COP_TESTS_SUPPORT_IO_H

#include <stdbool.h>
#include <stddef.h>

enum {
	COP_TEST_IO_OPEN = 1,  /* also a descriptor's copy by fcntl */
	COP_TEST_IO_WRITE = 2, /* the failing call writes half of what it was given first, where it is a pwritev */
	COP_TEST_IO_SYNC = 4,
	COP_TEST_IO_RENAME = 8,
	COP_TEST_IO_CUT = 16,
	COP_TEST_IO_REMOVE = 32,
	COP_TEST_IO_ALL = 63,
	COP_TEST_IO_READ = 64, /* read and pread; this kind and those that follow are not of ALL */
	COP_TEST_IO_STAT = 128,
	COP_TEST_IO_LIST = 256,  /* opendir and readdir */
	COP_TEST_IO_CLOSE = 512, /* the descriptor is closed nevertheless */
	COP_TEST_IO_MODE = 1024, /* fchmod and futimens */
	COP_TEST_IO_EVERY = 2047,
};

/* Counter back to 0; of the calls of these kinds the n-th fails with errno `code`, and all after it when `forever`
 * (n = 0: none). Code 0: a read or write that fails returns 0. */
void cop_test_io_fail(unsigned kinds, unsigned long n, bool forever, int code);

/* No read or write passes more than so many bytes at once (0: as many as there are). */
void cop_test_io_limit(size_t bytes);

/* Calls of the chosen kinds since then; whether one was made to fail. */
unsigned long cop_test_io_count(void);
bool cop_test_io_failed(void);

/* Called with the descriptor before a sync is made to fail (NULL: nothing): a place to lose what was not synced. */
void cop_test_io_on_lost(void (*lost)(int fd));

/* Called before each call of the chosen kinds (NULL: nothing): a place for what others do meanwhile. */
void cop_test_io_on_call(void (*called)(void));

/* A file whose fdatasync was made to fail was synced again since the last cop_test_io_fail, with no renameat between.
 */
bool cop_test_io_synced_again(void);

/* Descriptors of the process that are open. */
unsigned cop_test_io_descriptors(void);

#endif
