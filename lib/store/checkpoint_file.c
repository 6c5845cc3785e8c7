/* Everything happens relative to an open folder, so that the sync at the end is of the folder that was written to. */
#include "store/checkpoint_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file_atomic.h"
#include "base/mem.h"
#include "store/unreleased.h"

#define ENDING     ".checkpoint"
#define TEMPORARY  ".checkpoint.tmp"
#define DIGITS     20
#define FIXED_SIZE 16 /* magic, version and their CRC */
#define HEAD_SIZE  (FIXED_SIZE + 12)

static const char magic[8] = { 'C', 'O', 'P', 'C', 'H', 'E', 'C', 'K' };

static bool is_prefix(const char *prefix)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.#-";
	size_t length = strlen(prefix);
	return length > 0 && length <= COP_CHECKPOINT_PREFIX_MAX && prefix[0] != '.' &&
	       strspn(prefix, allowed) == length;
}

static cop_err wrong_prefix(const char *folder, const char *prefix, cop_diag *diag)
{
	cop_diag_of(diag, folder, "\"%s\" cannot name a checkpoint; expected 1 to %d of [A-Za-z0-9_.-]", prefix,
	        COP_CHECKPOINT_PREFIX_MAX);
	return COP_EINVAL;
}

/* Fills *diag from errno. */
static cop_err refused(const char *source, const char *what, cop_diag *diag)
{
	int code = errno;
	cop_diag_of(diag, source, "%s: %s", what, strerror(code));
	return code == ENOENT ? COP_ENOTFOUND : code == ENOSPC || code == EDQUOT ? COP_EFULL : COP_EIO;
}

void cop_checkpoint_name(const char *prefix, uint64_t sequence, char out[COP_CHECKPOINT_NAME_ROOM])
{
	(void)snprintf(out, COP_CHECKPOINT_NAME_ROOM, "%s.%0*" PRIu64 ENDING, prefix, DIGITS, sequence);
}

static cop_err open_folder(const char *folder, int *fd, cop_diag *diag)
{
	*fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd >= 0 ? COP_OK : refused(folder, "the folder cannot be opened", diag);
}

static void make_head(uint8_t head[HEAD_SIZE], const void *body, size_t length)
{
	uint32_t version = COP_CHECKPOINT_VERSION;
	uint64_t size = length;
	memcpy(head, magic, sizeof magic);
	memcpy(head + 8, &version, sizeof version);
	uint32_t crc = cop_crc32c(0, head, 12);
	memcpy(head + 12, &crc, sizeof crc);
	memcpy(head + FIXED_SIZE, &size, sizeof size);
	crc = cop_crc32c(cop_crc32c(0, &size, sizeof size), body, length);
	memcpy(head + FIXED_SIZE + 8, &crc, sizeof crc);
}

/* The whole file under a temporary name, on the disk; errno on failure. */
static bool write_temporary(int folder, const char *name, const void *body, size_t length)
{
	uint8_t head[HEAD_SIZE];
	make_head(head, body, length);
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return false;
	bool ok = cop_file_write_all(fd, head, sizeof head) == COP_OK &&
	          cop_file_write_all(fd, body, length) == COP_OK && fsync(fd) == 0;
	int code = errno;
	if (close(fd) != 0 && ok) {
		ok = false;
		code = errno;
	}
	errno = code;
	return ok;
}

cop_err cop_checkpoint_write(
        const char *folder, const char *prefix, uint64_t sequence, const void *body, size_t length, cop_diag *diag)
{
	if (!is_prefix(prefix))
		return wrong_prefix(folder, prefix, diag);
	if (sequence > COP_CHECKPOINT_SEQUENCE_MAX) {
		cop_diag_of(diag, folder, "no number is left for another checkpoint of %s", prefix);
		return COP_EINVAL;
	}
	int fd;
	cop_err err = open_folder(folder, &fd, diag);
	if (err != COP_OK)
		return err;
	char name[COP_CHECKPOINT_NAME_ROOM];
	char temporary[COP_CHECKPOINT_NAME_ROOM + 4];
	cop_checkpoint_name(prefix, sequence, name);
	(void)snprintf(temporary, sizeof temporary, "%s.tmp", name);
	bool written = write_temporary(fd, temporary, body, length);
	if (!written || renameat(fd, temporary, fd, name) != 0) {
		err = refused(folder, "the checkpoint cannot be written", diag);
		(void)unlinkat(fd, temporary, 0);
	} else if (fsync(fd) != 0) {
		err = refused(folder, "the folder cannot be synced", diag);
	}
	(void)close(fd);
	return err;
}

/* Whether `name` is PREFIX.DIGITS followed by `ending`; its sequence, UINT64_MAX beyond what 64 bits hold. */
static bool parse_name(const char *name, const char *prefix, const char *ending, uint64_t *sequence)
{
	size_t length = strlen(prefix);
	if (strncmp(name, prefix, length) != 0 || name[length] != '.')
		return false;
	const char *digits = name + length + 1;
	if (strspn(digits, "0123456789") != DIGITS || strcmp(digits + DIGITS, ending) != 0)
		return false;
	*sequence = 0;
	bool fits = true;
	for (size_t i = 0; i < DIGITS && fits; i++)
		fits = !__builtin_mul_overflow(*sequence, 10, sequence) &&
		       !__builtin_add_overflow(*sequence, (uint64_t)(digits[i] - '0'), sequence);
	*sequence = fits ? *sequence : UINT64_MAX;
	return true;
}

static int newest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;
	return (x < y) - (x > y);
}

/* Adds one sequence, doubling the array at each power of two. */
static cop_err add_sequence(uint64_t **sequences, size_t *count, uint64_t sequence)
{
	if (sequence > COP_CHECKPOINT_SEQUENCE_MAX)
		return COP_EFORMAT;
	if ((*count & (*count - 1)) == 0) {
		uint64_t *grown = cop_mem_resize(*sequences, *count, *count == 0 ? 1 : *count * 2, sizeof **sequences);
		if (grown == NULL)
			return COP_ENOMEM;
		*sequences = grown;
	}
	(*sequences)[(*count)++] = sequence;
	return COP_OK;
}

/* Sequences of the files of one ending, newest first; NULL and 0 on error. */
static cop_err scan(
        const char *folder, const char *prefix, const char *ending, uint64_t **sequences, size_t *count, cop_diag *diag)
{
	*sequences = NULL;
	*count = 0;
	if (!is_prefix(prefix))
		return wrong_prefix(folder, prefix, diag);
	DIR *dir = opendir(folder);
	if (dir == NULL)
		return refused(folder, "the folder cannot be opened", diag);
	cop_err err = COP_OK;
	const struct dirent *entry;
	errno = 0;
	while (err == COP_OK && (entry = readdir(dir)) != NULL) {
		uint64_t sequence;
		if (parse_name(entry->d_name, prefix, ending, &sequence))
			err = add_sequence(sequences, count, sequence);
		if (err == COP_EFORMAT)
			cop_diag_of(diag, folder,
			        "%s: no checkpoint has that number; expected at most %020" PRIu64
			        "; move the file out of the folder, or give it a lower number",
			        entry->d_name, (uint64_t)COP_CHECKPOINT_SEQUENCE_MAX);
		else if (err != COP_OK)
			cop_diag_of(diag, folder, "%s", cop_err_text(err));
		else
			errno = 0;
	}
	if (err == COP_OK && errno != 0)
		err = refused(folder, "the folder cannot be read", diag);
	(void)closedir(dir);
	if (err != COP_OK) {
		cop_mem_free(*sequences);
		*sequences = NULL;
		*count = 0;
	} else if (*count > 1) {
		qsort(*sequences, *count, sizeof **sequences, newest_first);
	}
	return err;
}

cop_err cop_checkpoint_list(const char *folder, const char *prefix, uint64_t **sequences, size_t *count, cop_diag *diag)
{
	return scan(folder, prefix, ENDING, sequences, count, diag);
}

static cop_err damaged(const char *path, uint64_t offset, const char *what, cop_diag *diag)
{
	cop_diag_at_offset(diag, path, offset, "%s", what);
	return COP_EFORMAT;
}

/* Length and checksum of the body that follows; file_size is the whole file's. */
static cop_err check_head(
        const uint8_t head[HEAD_SIZE], uint64_t got, uint64_t file_size, const char *path, cop_diag *diag)
{
	uint32_t version;
	uint32_t crc;
	uint64_t length;
	if (got < FIXED_SIZE)
		return damaged(path, got, "it ends within its head; expected a checkpoint", diag);
	if (cop_unreleased_begins(head, got)) {
		cop_diag_at_offset(diag, path, 0, "it " COP_UNRELEASED_REFUSAL);
		return COP_EVERSION;
	}
	if (memcmp(head, magic, sizeof magic) != 0)
		return damaged(path, 0, "it does not begin as a checkpoint does", diag);
	memcpy(&version, head + 8, sizeof version);
	memcpy(&crc, head + 12, sizeof crc);
	if (crc != cop_crc32c(0, head, 12) || version == 0)
		return damaged(path, 0, "its head is damaged (checksum)", diag);
	if (version > COP_CHECKPOINT_VERSION) {
		cop_diag_at_offset(diag, path, 8,
		        "format version %" PRIu32 " was written by a newer coppice; expected at most %u", version,
		        COP_CHECKPOINT_VERSION);
		return COP_EVERSION;
	}
	memcpy(&length, head + FIXED_SIZE, sizeof length);
	if (got < HEAD_SIZE || length != file_size - HEAD_SIZE)
		return damaged(path, FIXED_SIZE, "its length is not the one in its head", diag);
	return COP_OK;
}

/* Up to `length` bytes; less at the end of the file. False: errno. */
static bool read_all(int fd, uint8_t *to, size_t length, size_t *got)
{
	*got = 0;
	while (*got < length) {
		ssize_t n = read(fd, to + *got, length - *got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			return true;
		*got += (size_t)n;
	}
	return true;
}

static cop_err read_body(int fd, const uint8_t head[HEAD_SIZE], const char *path, cop_bytes *out, cop_diag *diag)
{
	uint64_t length;
	uint32_t crc;
	size_t got;
	memcpy(&length, head + FIXED_SIZE, sizeof length);
	memcpy(&crc, head + FIXED_SIZE + 8, sizeof crc);
	cop_bytes_reserve(out, (size_t)length);
	if (out->err != COP_OK) {
		cop_diag_of(diag, path, "no memory for %" PRIu64 " bytes", length);
		return out->err;
	}
	if (!read_all(fd, out->data, (size_t)length, &got))
		return refused(path, "cannot be read", diag);
	if (got != length)
		return damaged(path, HEAD_SIZE + got, "it became shorter while it was read", diag);
	if (crc != cop_crc32c(cop_crc32c(0, head + FIXED_SIZE, 8), out->data, got))
		return damaged(path, HEAD_SIZE, "its body is damaged (checksum)", diag);
	out->length = got;
	return COP_OK;
}

/* A regular file with a sound head. The caller closes *fd unless it is negative. */
static cop_err open_file(const char *path, uint8_t head[HEAD_SIZE], int *fd, cop_diag *diag)
{
	/* Without O_NONBLOCK a FIFO in the folder would hold us for ever. */
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return refused(path, "cannot be opened", diag);
	size_t got = 0;
	struct stat status;
	memset(head, 0, HEAD_SIZE);
	if (fstat(*fd, &status) != 0)
		return refused(path, "cannot be read", diag);
	if (!S_ISREG(status.st_mode))
		return damaged(path, 0, "it is no regular file", diag);
	if (!read_all(*fd, head, HEAD_SIZE, &got))
		return refused(path, "cannot be read", diag);
	return check_head(head, got, (uint64_t)status.st_size, path, diag);
}

cop_err cop_checkpoint_read(const char *path, cop_bytes *out, cop_diag *diag)
{
	uint8_t head[HEAD_SIZE];
	int fd;
	cop_bytes_clear(out);
	cop_err err = open_file(path, head, &fd, diag);
	if (err == COP_OK)
		err = read_body(fd, head, path, out, diag);
	if (fd >= 0)
		(void)close(fd);
	return err;
}

cop_err cop_checkpoint_file_beginning(const char *path, size_t most, void *out, size_t *length, cop_diag *diag)
{
	uint8_t head[HEAD_SIZE];
	int fd;
	*length = 0;
	cop_err err = open_file(path, head, &fd, diag);
	if (err == COP_OK && !read_all(fd, out, most, length))
		err = refused(path, "cannot be read", diag);
	if (fd >= 0)
		(void)close(fd);
	return err;
}

/* folder/name on the heap. */
static char *join(const char *folder, const char *name)
{
	size_t length = strlen(folder) + strlen(name) + 2;
	char *path = cop_mem_alloc(length, 1);
	if (path != NULL)
		(void)snprintf(path, length, "%s/%s", folder, name);
	return path;
}

static cop_err read_sequence(const char *folder, const char *prefix, uint64_t sequence, cop_bytes *out, cop_diag *diag)
{
	char name[COP_CHECKPOINT_NAME_ROOM];
	cop_checkpoint_name(prefix, sequence, name);
	char *path = join(folder, name);
	if (path == NULL) {
		cop_diag_of(diag, folder, "out of memory");
		return COP_ENOMEM;
	}
	cop_err err = cop_checkpoint_read(path, out, diag);
	cop_mem_free(path);
	return err;
}

cop_err cop_checkpoint_newest(const char *folder, const char *prefix, cop_bytes *out, uint64_t *sequence,
        const cop_checkpoint_listener *listener, cop_diag *diag)
{
	uint64_t *sequences;
	size_t count;
	*sequence = 0;
	cop_bytes_clear(out);
	cop_err err = cop_checkpoint_list(folder, prefix, &sequences, &count, diag);
	if (err != COP_OK)
		return err;
	cop_diag_of(diag, folder, "no checkpoint of %s %s", prefix, count == 0 ? "is there" : "is whole");
	err = COP_ENOTFOUND;
	for (size_t i = 0; i < count && err == COP_ENOTFOUND; i++) {
		cop_diag why;
		err = read_sequence(folder, prefix, sequences[i], out, &why);
		if (err == COP_OK)
			*sequence = sequences[i];
		else if (err == COP_ENOMEM || err == COP_EVERSION) {
			if (diag != NULL)
				*diag = why;
		} else {
			err = COP_ENOTFOUND;
			if (listener != NULL)
				listener->skipped(listener->context, sequences[i], &why);
		}
	}
	cop_mem_free(sequences);
	return err;
}

static bool is_among(const cop_checkpoint_stay *stay, uint64_t sequence)
{
	for (size_t i = 0; i < stay->count; i++)
		if (stay->sequence[i] == sequence)
			return true;
	return false;
}

/* Removes the files of one ending from the `newest`-th newest on, but for those that stay. */
static cop_err remove_from(int fd, const char *folder, const char *prefix, const char *ending,
        const cop_checkpoint_stay *stay, cop_diag *diag)
{
	uint64_t *sequences;
	size_t count;
	cop_err err = scan(folder, prefix, ending, &sequences, &count, diag);
	for (size_t i = stay->newest; i < count; i++) {
		char name[COP_CHECKPOINT_NAME_ROOM];
		if (is_among(stay, sequences[i]))
			continue;
		(void)snprintf(name, sizeof name, "%s.%0*" PRIu64 "%s", prefix, DIGITS, sequences[i], ending);
		if (unlinkat(fd, name, 0) != 0 && errno != ENOENT && err == COP_OK)
			err = refused(folder, "an old checkpoint cannot be removed", diag);
	}
	cop_mem_free(sequences);
	return err;
}

cop_err cop_checkpoint_prune(const char *folder, const char *prefix, size_t keep, cop_diag *diag)
{
	return cop_checkpoint_file_prune(folder, prefix, &(cop_checkpoint_stay){ .newest = keep }, diag);
}

cop_err cop_checkpoint_file_prune(
        const char *folder, const char *prefix, const cop_checkpoint_stay *stay, cop_diag *diag)
{
	static const cop_checkpoint_stay none = { .count = 0 };
	if (stay->newest == 0) {
		cop_diag_of(diag, folder, "0 checkpoints to keep; expected at least 1");
		return COP_EINVAL;
	}
	if (!is_prefix(prefix))
		return wrong_prefix(folder, prefix, diag);
	int fd;
	cop_err err = open_folder(folder, &fd, diag);
	if (err != COP_OK)
		return err;
	err = remove_from(fd, folder, prefix, ENDING, stay, diag);
	if (err == COP_OK)
		err = remove_from(fd, folder, prefix, TEMPORARY, &none, diag);
	if (err == COP_OK && fsync(fd) != 0)
		err = refused(folder, "the folder cannot be synced", diag);
	(void)close(fd);
	return err;
}
