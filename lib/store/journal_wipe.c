/* A file that has two names is a segment that was about to be replaced: only the name goes. */
#include "store/journal_wipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)

bool cop_journal_wipe_bytes(int fd)
{
	static const uint8_t zeros[CHUNK];
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1)
		return false;
	for (off_t at = 0; at < status.st_size;) {
		size_t left = (size_t)(status.st_size - at);
		ssize_t n = pwrite(fd, zeros, left < CHUNK ? left : CHUNK, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
	}
	return fdatasync(fd) == 0;
}

bool cop_journal_wipe_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		(void)cop_journal_wipe_bytes(fd);
		(void)close(fd);
	}
	return unlinkat(folder, name, 0) == 0 || errno == ENOENT;
}
