/* The machine is little-endian (base/bytes.c asserts it), so fields are copied as they are. */
#include "store/journal_segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "store/journal_wipe.h"
#include "store/unreleased.h"

#define DIGITS     20
#define PLAIN      ".journal"
#define COMPRESSED ".journal.zst"
#define START      16 /* of a header: the same in every version */
#define HEADER_MAX (COP_JOURNAL_MODEL_SET_MAX + 4096)

static const char magic[8] = { 'C', 'O', 'P', 'J', 'O', 'U', 'R', 'N' };

static uint32_t load32(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

static uint64_t load64(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

/* Of a frame: its length, then all behind the checksum. */
static uint32_t frame_crc(const uint8_t *head, size_t length)
{
	return cop_crc32c(cop_crc32c(0, head, 4), head + 8, COP_JOURNAL_FRAME_HEAD - 8 + length);
}

size_t cop_journal_segment_record_begin(cop_bytes *bytes, uint64_t sequence, uint8_t type)
{
	size_t start = bytes->length;
	uint8_t head[COP_JOURNAL_FRAME_HEAD] = { 0 };
	memcpy(head + 8, &sequence, sizeof sequence);
	head[16] = type;
	if (bytes->err == COP_OK && (type == COP_JOURNAL_MARK || sequence == 0))
		bytes->err = COP_EINVAL;
	cop_bytes_put(bytes, head, sizeof head);
	return start;
}

void cop_journal_segment_record_end(cop_bytes *bytes, size_t start)
{
	if (bytes->err != COP_OK)
		return;
	size_t body = bytes->length - start - COP_JOURNAL_FRAME_HEAD;
	if (body > COP_JOURNAL_BODY_MAX) {
		bytes->err = COP_EINVAL;
		return;
	}
	uint32_t length = (uint32_t)body;
	memcpy(bytes->data + start, &length, sizeof length);
	uint32_t crc = frame_crc(bytes->data + start, body);
	memcpy(bytes->data + start + 4, &crc, sizeof crc);
}

void cop_journal_record_put(cop_bytes *bytes, uint64_t sequence, uint8_t type, const void *body, size_t length)
{
	if (bytes->err == COP_OK && length > COP_JOURNAL_BODY_MAX)
		bytes->err = COP_EINVAL;
	size_t start = cop_journal_segment_record_begin(bytes, sequence, type);
	cop_bytes_put(bytes, body, length);
	cop_journal_segment_record_end(bytes, start);
}

void cop_journal_segment_mark_make(uint64_t durable, uint8_t out[COP_JOURNAL_FRAME_HEAD])
{
	memset(out, 0, COP_JOURNAL_FRAME_HEAD);
	memcpy(out + 8, &durable, sizeof durable);
	uint32_t crc = frame_crc(out, 0);
	memcpy(out + 4, &crc, sizeof crc);
}

cop_err cop_journal_segment_frame_parse(const uint8_t *data, size_t have, cop_journal_record *out, size_t *need)
{
	*need = COP_JOURNAL_FRAME_HEAD;
	if (have < COP_JOURNAL_FRAME_HEAD)
		return COP_EEND;
	size_t length = load32(data);
	out->sequence = load64(data + 8);
	out->type = data[16];
	out->length = length;
	out->body = data + COP_JOURNAL_FRAME_HEAD;
	if (out->sequence == 0 || length > COP_JOURNAL_BODY_MAX || (load32(data + 16) & 0xffffff00u) != 0)
		return COP_EFORMAT;
	if (out->type == COP_JOURNAL_MARK && length != 0)
		return COP_EFORMAT;
	*need = COP_JOURNAL_FRAME_HEAD + length;
	if (have < *need)
		return COP_EEND;
	return load32(data + 4) == frame_crc(data, length) ? COP_OK : COP_EFORMAT;
}

void cop_journal_segment_header_put(
        cop_bytes *bytes, uint64_t base, uint64_t epoch, const void *model_set, size_t length)
{
	if (bytes->err == COP_OK && length > COP_JOURNAL_MODEL_SET_MAX)
		bytes->err = COP_EINVAL;
	size_t start = bytes->length;
	cop_bytes_put(bytes, magic, sizeof magic);
	cop_bytes_put_u32(bytes, COP_JOURNAL_VERSION);
	cop_bytes_put_u32(bytes, (uint32_t)(COP_JOURNAL_HEADER_MIN + length));
	cop_bytes_put_u64(bytes, base);
	cop_bytes_put_u64(bytes, epoch);
	cop_bytes_put_u32(bytes, (uint32_t)length);
	cop_bytes_put(bytes, model_set, length);
	if (bytes->err == COP_OK)
		cop_bytes_put_u32(bytes, cop_crc32c(0, bytes->data + start, bytes->length - start));
}

static cop_err wrong(cop_diag *diag, uint64_t offset, const char *what)
{
	if (diag != NULL) {
		diag->line = 0;
		diag->offset = offset;
		(void)snprintf(diag->message, sizeof diag->message, "%s", what);
	}
	return COP_EFORMAT;
}

cop_err cop_journal_segment_header_parse(
        const uint8_t *data, size_t have, cop_journal_header *out, size_t *need, cop_diag *diag)
{
	*need = START;
	if (have < START)
		return COP_EEND;
	if (cop_unreleased_begins(data, have)) {
		(void)wrong(diag, 0, "it " COP_UNRELEASED_REFUSAL);
		return COP_EVERSION;
	}
	if (memcmp(data, magic, sizeof magic) != 0)
		return wrong(diag, 0, "it does not begin as a journal segment does");
	uint32_t version = load32(data + 8);
	size_t length = load32(data + 12);
	if (length < START + 4 || length > HEADER_MAX)
		return wrong(diag, 12, "the header's length is damaged");
	*need = length;
	if (have < length)
		return COP_EEND;
	if (load32(data + length - 4) != cop_crc32c(0, data, length - 4) || version == 0)
		return wrong(diag, 0, "the header is damaged (checksum)");
	if (version > COP_JOURNAL_VERSION) {
		char text[128];
		(void)snprintf(text, sizeof text,
		        "journal format version %" PRIu32 " was written by a newer coppice; expected at most %u",
		        version, COP_JOURNAL_VERSION);
		(void)wrong(diag, 8, text);
		return COP_EVERSION;
	}
	if (length < COP_JOURNAL_HEADER_MIN || load32(data + 32) != length - COP_JOURNAL_HEADER_MIN ||
	        load64(data + 16) == 0)
		return wrong(diag, 12, "the header's fields contradict each other");
	out->base = load64(data + 16);
	out->epoch = load64(data + 24);
	out->length = length;
	out->model_set = data + COP_JOURNAL_HEADER_MIN - 4;
	out->model_set_length = length - COP_JOURNAL_HEADER_MIN;
	return COP_OK;
}

void cop_journal_name(uint64_t base, bool compressed, char out[COP_JOURNAL_NAME_ROOM])
{
	(void)snprintf(out, COP_JOURNAL_NAME_ROOM, "%0*" PRIu64 "%s", DIGITS, base, compressed ? COMPRESSED : PLAIN);
}

char *cop_journal_path(const char *folder, const char *name)
{
	size_t length = strlen(folder) + strlen(name) + 2;
	char *path = cop_mem_alloc(length, 1);
	if (path != NULL)
		(void)snprintf(path, length, "%s/%s", folder, name);
	return path;
}

cop_err cop_journal_segment_refused(const char *source, const char *what, cop_diag *diag)
{
	int code = errno;
	cop_diag_of(diag, source, "%s: %s", what, strerror(code));
	return code == ENOENT ? COP_ENOTFOUND : code == ENOSPC || code == EDQUOT ? COP_EFULL : COP_EIO;
}

/* Whether `name` is DIGITS.journal; the ending behind it. *base beyond what 64 bits hold: UINT64_MAX. */
static const char *parse_name(const char *name, uint64_t *base)
{
	if (strspn(name, "0123456789") != DIGITS || strncmp(name + DIGITS, PLAIN, sizeof PLAIN - 1) != 0)
		return NULL;
	*base = 0;
	bool fits = true;
	for (size_t i = 0; i < DIGITS && fits; i++)
		fits = !__builtin_mul_overflow(*base, 10, base) &&
		       !__builtin_add_overflow(*base, (uint64_t)(name[i] - '0'), base);
	*base = fits ? *base : UINT64_MAX;
	return *base == 0 ? NULL : name + DIGITS + sizeof PLAIN - 1;
}

/* Adds one file, doubling the array at each power of two. */
static cop_err add_file(cop_journal_file **files, size_t *count, const cop_journal_file *file)
{
	if ((*count & (*count - 1)) == 0) {
		cop_journal_file *grown = cop_mem_resize(*files, *count, *count == 0 ? 1 : *count * 2, sizeof **files);
		if (grown == NULL)
			return COP_ENOMEM;
		*files = grown;
	}
	(*files)[(*count)++] = *file;
	return COP_OK;
}

static cop_err no_base(const char *folder, const char *name, cop_diag *diag)
{
	cop_diag_of(diag, folder,
	        "%s: no record has that number; expected at most %020" PRIu64 "; move the file out of the folder", name,
	        (uint64_t)COP_JOURNAL_BASE_MAX);
	return COP_EFORMAT;
}

/* Adds `name` if it is a segment; what vanished meanwhile or is no regular file is not. COP_EFORMAT: its base. */
static cop_err list_entry(DIR *dir, const char *name, cop_journal_file **files, size_t *count)
{
	cop_journal_file file = { 0 };
	struct stat status;
	const char *ending = parse_name(name, &file.base);
	if (ending == NULL || (strcmp(ending, "") != 0 && strcmp(ending, ".zst") != 0))
		return COP_OK;
	if (fstatat(dirfd(dir), name, &status, 0) != 0)
		return errno == ENOENT ? COP_OK : COP_EIO;
	if (!S_ISREG(status.st_mode))
		return COP_OK;
	if (file.base > COP_JOURNAL_BASE_MAX)
		return COP_EFORMAT;
	file.bytes = (uint64_t)status.st_size;
	file.modified = status.st_mtim.tv_sec;
	file.compressed = ending[0] != '\0';
	return add_file(files, count, &file);
}

static int by_base(const void *a, const void *b)
{
	const cop_journal_file *x = a;
	const cop_journal_file *y = b;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return (int)x->compressed - (int)y->compressed;
}

/* Sorts, and keeps the first of each base: the plain one. */
static size_t sort_files(cop_journal_file *files, size_t count)
{
	if (count == 0)
		return 0;
	qsort(files, count, sizeof *files, by_base);
	size_t kept = 1;
	for (size_t i = 1; i < count; i++)
		if (files[i].base != files[kept - 1].base)
			files[kept++] = files[i];
	return kept;
}

cop_err cop_journal_list(const char *folder, cop_journal_file **files, size_t *count, cop_diag *diag)
{
	*files = NULL;
	*count = 0;
	DIR *dir = opendir(folder);
	if (dir == NULL)
		return cop_journal_segment_refused(folder, "the folder cannot be opened", diag);
	cop_err err = COP_OK;
	const struct dirent *entry;
	errno = 0;
	while (err == COP_OK && (entry = readdir(dir)) != NULL) {
		err = list_entry(dir, entry->d_name, files, count);
		if (err == COP_OK)
			errno = 0;
		else if (err == COP_EFORMAT)
			(void)no_base(folder, entry->d_name, diag);
	}
	if (err == COP_ENOMEM)
		cop_diag_of(diag, folder, "out of memory");
	else if (err == COP_EIO || (err == COP_OK && errno != 0))
		err = cop_journal_segment_refused(folder, "the folder cannot be read", diag);
	(void)closedir(dir);
	*count = err == COP_OK ? sort_files(*files, *count) : 0;
	if (err != COP_OK) {
		cop_mem_free(*files);
		*files = NULL;
	}
	return err;
}

static cop_err short_of_memory(const char *path, cop_diag *diag)
{
	cop_diag_of(diag, path, "out of memory");
	return COP_ENOMEM;
}

/* *folder becomes the path without its last part, "." when that is all of it. */
static cop_err list_one(const char *path, const char *name, const cop_journal_file *file, char **folder,
        cop_journal_file **files, size_t *count, cop_diag *diag)
{
	size_t length = name > path + 1 ? (size_t)(name - path) - 1 : (size_t)(name - path);
	*folder = cop_mem_alloc(length + 2, 1);
	*files = cop_mem_alloc(1, sizeof **files);
	if (*folder == NULL || *files == NULL) {
		cop_mem_free(*folder);
		cop_mem_free(*files);
		*folder = NULL;
		*files = NULL;
		return short_of_memory(path, diag);
	}
	memcpy(*folder, length == 0 ? "." : path, length == 0 ? 1 : length);
	**files = *file;
	*count = 1;
	return COP_OK;
}

cop_err cop_journal_segment_find(
        const char *path, char **folder, cop_journal_file **files, size_t *count, cop_diag *diag)
{
	struct stat status;
	cop_journal_file file = { 0 };
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	const char *ending = parse_name(name, &file.base);
	*folder = NULL;
	*files = NULL;
	*count = 0;
	if (ending != NULL && (ending[0] == '\0' || strcmp(ending, ".zst") == 0) && stat(path, &status) == 0 &&
	        S_ISREG(status.st_mode)) {
		if (file.base > COP_JOURNAL_BASE_MAX)
			return no_base("", path, diag);
		file.bytes = (uint64_t)status.st_size;
		file.modified = status.st_mtim.tv_sec;
		file.compressed = ending[0] != '\0';
		return list_one(path, name, &file, folder, files, count, diag);
	}
	cop_err err = cop_journal_list(path, files, count, diag);
	if (err == COP_OK && (*folder = cop_mem_strdup(path)) == NULL) {
		cop_mem_free(*files);
		*files = NULL;
		*count = 0;
		err = short_of_memory(path, diag);
	}
	return err;
}

cop_err cop_journal_segment_drop_temporary(const char *folder, uint64_t below, cop_diag *diag)
{
	DIR *dir = opendir(folder);
	if (dir == NULL)
		return cop_journal_segment_refused(folder, "the folder cannot be opened", diag);
	cop_err err = COP_OK;
	const struct dirent *entry;
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
		uint64_t base;
		const char *ending = parse_name(entry->d_name, &base);
		if (ending == NULL || strncmp(ending, ".tmp", 4) != 0 || base >= below)
			continue;
		if (!cop_journal_wipe_file(dirfd(dir), entry->d_name) && err == COP_OK)
			err = cop_journal_segment_refused(folder, "an unfinished segment cannot be removed", diag);
	}
	if (err == COP_OK && errno != 0)
		err = cop_journal_segment_refused(folder, "the folder cannot be read", diag);
	(void)closedir(dir);
	return err;
}

cop_err cop_journal_segment_settle(const char *path, int from, cop_diag *diag)
{
	struct stat status;
	cop_err err = COP_OK;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cop_journal_segment_refused(path, "cannot be opened", diag);
	if (fstat(from, &status) != 0 || fchmod(fd, status.st_mode & 0777) != 0 ||
	        futimens(fd, (struct timespec[]){ status.st_mtim, status.st_mtim }) != 0 || fsync(fd) != 0)
		err = cop_journal_segment_refused(path, "cannot be synced", diag);
	(void)close(fd);
	return err;
}
