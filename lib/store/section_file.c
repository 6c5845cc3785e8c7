/* A begun header is written with zeros where length, count and checksum go; ending patches them. Lengths are known only
 * then, so a mark is all the state that writing needs, and nesting is free. */
#include "store/section_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/file_atomic.h"
#include "base/mem.h"
#include "store/unreleased.h"

#define NAME_SIZE    (COP_SECTION_FILE_NAME_MAX + 1)
#define FILE_HEAD    24 /* magic 4, version 4, length 8, sections 4, crc 4 */
#define SECTION_HEAD 32 /* name 16, version 4, length 8, crc 4 */
#define CRC_SIZE     4

static const uint8_t magic[4] = { 'C', 'O', 'P', 'F' };

/* Patches `length` bytes at `at`, already written. */
static void patch(cop_bytes *bytes, size_t at, const void *value, size_t length)
{
	memcpy(bytes->data + at, value, length);
}

size_t cop_section_file_begin(cop_bytes *bytes)
{
	size_t mark = bytes->length;
	cop_bytes_put(bytes, magic, sizeof magic);
	cop_bytes_put_u32(bytes, COP_SECTION_FILE_VERSION);
	cop_bytes_put_u64(bytes, 0);
	cop_bytes_put_u32(bytes, 0);
	cop_bytes_put_u32(bytes, 0);
	return mark;
}

size_t cop_section_file_begin_section(cop_bytes *bytes, const char *name, uint32_t version)
{
	char padded[NAME_SIZE] = { 0 };
	size_t mark = bytes->length, length = strlen(name);
	COP_ASSERT(length >= 1 && length <= COP_SECTION_FILE_NAME_MAX);
	memcpy(padded, name, length);
	cop_bytes_put(bytes, padded, sizeof padded);
	cop_bytes_put_u32(bytes, version);
	cop_bytes_put_u64(bytes, 0);
	cop_bytes_put_u32(bytes, 0);
	return mark;
}

/* Of everything in the section but the checksum itself. */
static uint32_t section_crc(const uint8_t *head, uint64_t payload)
{
	uint32_t crc = cop_crc32c(0, head, SECTION_HEAD - CRC_SIZE);
	return cop_crc32c(crc, head + SECTION_HEAD, (size_t)payload);
}

void cop_section_file_end_section(cop_bytes *bytes, size_t mark)
{
	if (bytes->err != COP_OK)
		return;
	COP_ASSERT(mark <= bytes->length && bytes->length - mark >= SECTION_HEAD);
	uint64_t payload = bytes->length - mark - SECTION_HEAD;
	patch(bytes, mark + NAME_SIZE + 4, &payload, sizeof payload);
	uint32_t crc = section_crc(bytes->data + mark, payload);
	patch(bytes, mark + SECTION_HEAD - CRC_SIZE, &crc, sizeof crc);
}

typedef struct head {
	char name[NAME_SIZE];
	uint32_t version;
	uint64_t length;
	uint32_t crc;
} head;

/* The section header at data, which has at least SECTION_HEAD bytes. */
static head read_head(const uint8_t *data)
{
	head h;
	memcpy(h.name, data, NAME_SIZE);
	memcpy(&h.version, data + NAME_SIZE, sizeof h.version);
	memcpy(&h.length, data + NAME_SIZE + 4, sizeof h.length);
	memcpy(&h.crc, data + NAME_SIZE + 12, sizeof h.crc);
	return h;
}

void cop_section_file_end(cop_bytes *bytes, size_t mark)
{
	if (bytes->err != COP_OK)
		return;
	COP_ASSERT(mark <= bytes->length && bytes->length - mark >= FILE_HEAD);
	uint64_t length = bytes->length - mark;
	uint32_t sections = 0;
	for (size_t at = mark + FILE_HEAD; at < bytes->length; sections++) {
		COP_ASSERT(bytes->length - at >= SECTION_HEAD);
		at += SECTION_HEAD + (size_t)read_head(bytes->data + at).length;
	}
	patch(bytes, mark + 8, &length, sizeof length);
	patch(bytes, mark + 16, &sections, sizeof sections);
	uint32_t crc = cop_crc32c(0, bytes->data + mark, FILE_HEAD - CRC_SIZE);
	patch(bytes, mark + FILE_HEAD - CRC_SIZE, &crc, sizeof crc);
}

/* 1 to 15 printable characters, then zeros. */
static bool name_is_valid(const char *name)
{
	size_t i = 0;
	while (i < NAME_SIZE && name[i] > ' ' && name[i] < 0x7f)
		i++;
	if (i == 0 || i == NAME_SIZE)
		return false;
	while (i < NAME_SIZE && name[i] == '\0')
		i++;
	return i == NAME_SIZE;
}

/* The section at offset *at; moves *at behind it. NULL, or what is wrong. */
static const char *check_section(const uint8_t *data, size_t length, size_t *at)
{
	if (length - *at < SECTION_HEAD)
		return "cut inside a section's header";
	head h = read_head(data + *at);
	if (!name_is_valid(h.name))
		return "a section's name is malformed";
	if (h.length > length - *at - SECTION_HEAD)
		return "a section is longer than the file";
	if (section_crc(data + *at, h.length) != h.crc)
		return "a section's checksum is wrong";
	*at += SECTION_HEAD + (size_t)h.length;
	return NULL;
}

static cop_err malformed(const char *source, size_t offset, cop_diag *diag, const char *what)
{
	cop_diag_at_offset(diag, source, offset, "%s (at byte %zu)", what, offset);
	return COP_EFORMAT;
}

cop_err cop_section_file_open(
        cop_section_file *file, const void *data, size_t length, const char *source, cop_diag *diag)
{
	const uint8_t *bytes = data;
	uint64_t want;
	uint32_t crc;
	memset(file, 0, sizeof *file);
	if (cop_unreleased_begins(bytes, length)) {
		cop_diag_at_offset(diag, source, 0, "it " COP_UNRELEASED_REFUSAL);
		return COP_EVERSION;
	}
	if (length < FILE_HEAD || memcmp(bytes, magic, sizeof magic) != 0)
		return malformed(source, 0, diag, "no model file: expected the letters COPF and a header");
	memcpy(&file->version, bytes + 4, sizeof file->version);
	memcpy(&want, bytes + 8, sizeof want);
	memcpy(&file->sections, bytes + 16, sizeof file->sections);
	memcpy(&crc, bytes + 20, sizeof crc);
	if (file->version > COP_SECTION_FILE_VERSION) {
		cop_diag_at_offset(diag, source, 4, "model file version %u is newer than this program's %d",
		        file->version, COP_SECTION_FILE_VERSION);
		return COP_EVERSION;
	}
	if (crc != cop_crc32c(0, bytes, FILE_HEAD - CRC_SIZE) || file->version == 0)
		return malformed(source, 0, diag, "the model file's header is damaged");
	if (want != length)
		return malformed(source, length, diag, "the model file's length is not that of its header");
	size_t at = FILE_HEAD;
	for (uint32_t i = 0; i < file->sections; i++) {
		const char *wrong = check_section(bytes, length, &at);
		if (wrong != NULL)
			return malformed(source, at, diag, wrong);
	}
	if (at != length)
		return malformed(source, at, diag, "bytes after the last section");
	file->data = bytes;
	file->length = length;
	return COP_OK;
}

cop_err cop_section_file_first(const void *data, size_t length, cop_model_section *section)
{
	const uint8_t *bytes = data;
	uint32_t crc, sections;
	size_t at = FILE_HEAD, end = FILE_HEAD;
	memset(section, 0, sizeof *section);
	if (length < FILE_HEAD || memcmp(bytes, magic, sizeof magic) != 0)
		return COP_EFORMAT;
	memcpy(&sections, bytes + 16, sizeof sections);
	memcpy(&crc, bytes + 20, sizeof crc);
	if (crc != cop_crc32c(0, bytes, FILE_HEAD - CRC_SIZE))
		return COP_EFORMAT;
	if (sections == 0)
		return COP_ENOTFOUND;
	if (check_section(bytes, length, &end) != NULL)
		return COP_EFORMAT;
	const cop_section_file file = { .data = bytes, .length = end };
	(void)!cop_section_file_next(&file, &at, section);
	return COP_OK;
}

bool cop_section_file_next(const cop_section_file *file, size_t *at, cop_model_section *section)
{
	if (*at == 0)
		*at = FILE_HEAD;
	if (*at >= file->length)
		return false;
	head h = read_head(file->data + *at);
	memcpy(section->name, h.name, sizeof section->name);
	section->version = h.version;
	section->data = file->data + *at + SECTION_HEAD;
	section->length = (size_t)h.length;
	*at += SECTION_HEAD + section->length;
	return true;
}

cop_err cop_section_file_find(
        const cop_section_file *file, const char *name, size_t n, uint32_t newest, cop_model_section *section)
{
	size_t at = 0;
	while (cop_section_file_next(file, &at, section)) {
		if (strcmp(section->name, name) != 0 || n-- > 0)
			continue;
		return section->version > newest ? COP_EVERSION : COP_OK;
	}
	memset(section, 0, sizeof *section);
	return COP_ENOTFOUND;
}

static cop_err io_failed(const char *path, cop_diag *diag, const char *doing)
{
	int saved = errno;
	cop_diag_of(diag, path, "cannot %s: %s", doing, strerror(saved));
	errno = saved;
	return COP_EIO;
}

cop_err cop_section_file_save(const char *path, const cop_bytes *bytes, cop_diag *diag)
{
	return bytes->err != COP_OK ? bytes->err : cop_file_atomic_save(path, bytes->data, bytes->length, diag);
}

/* Up to the end of the file, whatever fstat said its size was. */
static cop_err read_all(int fd, size_t expected, const char *path, cop_bytes *bytes, cop_diag *diag)
{
	cop_bytes_reserve(bytes, expected + 1);
	for (;;) {
		cop_bytes_reserve(bytes, 1);
		if (bytes->err != COP_OK) {
			cop_diag_of(diag, path, "%s", cop_err_text(bytes->err));
			return bytes->err;
		}
		ssize_t n = read(fd, bytes->data + bytes->length, bytes->capacity - bytes->length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return io_failed(path, diag, "read");
		if (n == 0)
			return COP_OK;
		bytes->length += (size_t)n;
	}
}

static cop_err irregular(const char *path, cop_diag *diag)
{
	cop_diag_of(diag, path, "no regular file");
	return COP_EFORMAT;
}

cop_err cop_section_file_load(const char *path, cop_bytes *bytes, cop_diag *diag)
{
	struct stat st;
	cop_bytes_clear(bytes);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		(void)io_failed(path, diag, "open");
		return COP_ENOTFOUND;
	}
	if (fd < 0)
		return io_failed(path, diag, "open");
	cop_err err;
	if (fstat(fd, &st) != 0)
		err = io_failed(path, diag, "look at the file");
	else if (!S_ISREG(st.st_mode))
		err = irregular(path, diag);
	else
		err = read_all(fd, (size_t)st.st_size, path, bytes, diag);
	int saved = errno;
	(void)close(fd);
	errno = saved;
	return err;
}
