/* Lines are taken apart at white space; every entry is checked before the next one. Looking up a token walks all
 * entries and all bytes of each, whatever matches; looking up a name halves the entries, which are sorted at the end.
 */
#include "daemon/config/access.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_guarded.h"
#include "base/hash.h"
#include "base/mem.h"
#include "online/setting.h"
#include "wire/curve_key.h"

#define LINE 4096 /* bytes of a line */
#define GAPS " \t\r\n"

static const struct {
	const char *word;
	unsigned rights;
} words[] = {
	{ "decide", COP_ACCESS_DECIDE },
	{ "feedback", COP_ACCESS_FEEDBACK },
	{ "read", COP_ACCESS_READ },
	{ "admin", COP_ACCESS_ADMIN },
	{ "replicate", COP_ACCESS_REPLICATE },
	{ "all", COP_ACCESS_ALL },
};
#define WORDS (sizeof words / sizeof *words)

const char *cop_access_right_text(unsigned right)
{
	for (size_t i = 0; i < WORDS; i++)
		if (words[i].rights == right)
			return words[i].word;
	return "several";
}

typedef struct reading {
	const char *path;
	cop_access_kind kind;
	uint64_t line;
	cop_access *access;
	cop_diag *diag;
} reading;

static cop_err refuse(const reading *r, const char *what, const char *expected)
{
	cop_diag_at_line(r->diag, r->path, r->line, "%s; expected %s", what, expected);
	return COP_EFORMAT;
}

static const char *form(const reading *r)
{
	return r->kind == COP_ACCESS_TOKENS ? "NAME TOKEN RIGHTS [MODELS] [LIMITS]"
	                                    : "NAME KEY RIGHTS [MODELS] [LIMITS]";
}

static bool is_name(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(text);
	return length <= COP_ACCESS_NAME && strspn(text, allowed) == length;
}

static bool is_token(const char *text)
{
	size_t length = strlen(text);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x21 || (unsigned char)text[i] > 0x7e)
			return false;
	return length >= COP_ACCESS_LEAST && length <= COP_ACCESS_MOST;
}

static bool read_rights(char *text, unsigned *rights)
{
	char *rest = NULL;
	for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
		size_t i = 0;
		while (i < WORDS && strcmp(words[i].word, word) != 0)
			i++;
		if (i == WORDS)
			return false;
		*rights |= words[i].rights;
	}
	return *rights != 0;
}

static cop_err read_models(const reading *r, const char *text, cop_access_entry *entry)
{
	char copy[LINE];
	char *rest = NULL;
	(void)snprintf(copy, sizeof copy, "%s", text);
	for (char *name = strtok_r(copy, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
		if (!is_name(name))
			return refuse(r, "a model's name is wrong", "names of models divided by commas");
	entry->models = cop_mem_strdup(text);
	return entry->models == NULL ? COP_ENOMEM : COP_OK;
}

static cop_err check_new(const reading *r, const cop_access_entry *entry)
{
	for (size_t i = 0; i < r->access->count; i++) {
		const cop_access_entry *other = &r->access->entries[i];
		if (strcmp(other->name, entry->name) == 0)
			return refuse(r, "the name stands there twice", "each name once");
		if (strcmp(other->token, entry->token) == 0)
			return r->kind == COP_ACCESS_TOKENS
			               ? refuse(r, "the token stands there twice", "a token of its own for each name")
			               : refuse(r, "the key stands there twice", "a key of its own for each name");
	}
	return COP_OK;
}

/* NAME=VALUE, one after the other. */
static cop_err read_limits(const reading *r, char *word, char **rest, cop_access_entry *entry)
{
	static const cop_setting rows[] = {
		{ "rate", COP_SETTING_COUNT, .offset = offsetof(cop_quota_limits, rate), .low = 1, .high = 1e9 },
		{ "bytes", COP_SETTING_SIZE, .offset = offsetof(cop_quota_limits, bytes), .low = 1, .high = 1e15 },
		{ "pending", COP_SETTING_COUNT, .offset = offsetof(cop_quota_limits, pending), .low = 1, .high = 1e9 },
	};
	unsigned seen = 0;
	for (; word != NULL; word = strtok_r(NULL, GAPS, rest)) {
		size_t length = strcspn(word, "="), i = 0, wrong;
		const char *value = word + length + (word[length] == '=');
		while (i < 3 && (strlen(rows[i].name) != length || strncmp(rows[i].name, word, length) != 0))
			i++;
		if (i == 3 || !cop_setting_read(&rows[i], &value, 1, &entry->limits, &wrong))
			return refuse(r, "a limit is wrong",
			        "rate=N (events in a second), bytes=SIZE (in a second, like 4MiB) or pending=N "
			        "(decisions that wait)");
		if ((seen & 1U << i) != 0)
			return refuse(r, "a limit stands there twice", "each limit once");
		seen |= 1U << i;
	}
	entry->quota = cop_mem_alloc(1, sizeof *entry->quota);
	return entry->quota == NULL ? COP_ENOMEM : COP_OK;
}

/* Words with "=" are limits: no name of a model has one. */
static cop_err read_rest(const reading *r, char *word, char **rest, cop_access_entry *entry)
{
	bool models = word != NULL && strchr(word, '=') == NULL;
	cop_err err = models ? read_models(r, word, entry) : COP_OK;
	if (models)
		word = strtok_r(NULL, GAPS, rest);
	return err != COP_OK || word == NULL ? err : read_limits(r, word, rest, entry);
}

/* Three words at least. */
static cop_err read_entry(const reading *r, char *line, cop_access_entry *entry)
{
	char *rest = NULL;
	const char *name = strtok_r(line, GAPS, &rest), *token = strtok_r(NULL, GAPS, &rest);
	char *rights = strtok_r(NULL, GAPS, &rest);
	char *more = strtok_r(NULL, GAPS, &rest);
	if (rights == NULL)
		return refuse(r, "the number of words is wrong", form(r));
	if (!is_name(name))
		return refuse(r, "the name is wrong", "1 to 64 letters, digits, points, dashes and underscores");
	if (r->kind == COP_ACCESS_TOKENS && !is_token(token))
		return refuse(r, "the token is wrong", "16 to 256 printable characters without spaces");
	if (r->kind == COP_ACCESS_KEYS && !cop_curve_key_is(token))
		return refuse(r, "the key is wrong", "the 40 characters of a public key");
	if (!read_rights(rights, &entry->rights))
		return refuse(r, "the rights are wrong", "decide, feedback, read and admin divided by commas, or all");
	(void)snprintf(entry->name, sizeof entry->name, "%s", name);
	(void)snprintf(entry->token, sizeof entry->token, "%s", token);
	cop_err err = check_new(r, entry);
	entry->owner = cop_hash_murmur3(name, strlen(name), 0);
	entry->owner += entry->owner == 0;
	return err != COP_OK ? err : read_rest(r, more, &rest, entry);
}

static void free_entry(cop_access_entry *entry)
{
	cop_mem_free(entry->models);
	cop_mem_free(entry->quota);
}

static cop_err add_line(const reading *r, char *line)
{
	cop_access *access = r->access;
	line += strspn(line, GAPS);
	if (*line == '\0' || *line == '#')
		return COP_OK;
	if (access->count == COP_ACCESS_MOST_ROWS)
		return refuse(r, "too many names", "at most 4096");
	if ((access->count & (access->count - 1)) == 0) { /* 0 or a power of two: full */
		size_t room = access->count == 0 ? 1 : 2 * access->count;
		cop_access_entry *more = cop_mem_alloc(room, sizeof *more);
		if (more == NULL)
			return COP_ENOMEM;
		if (access->count > 0)
			memcpy(more, access->entries, access->count * sizeof *more);
		cop_mem_free(access->entries);
		access->entries = more;
	}
	cop_access_entry entry = { .models = NULL };
	cop_err err = read_entry(r, line, &entry);
	if (err == COP_OK)
		access->entries[access->count++] = entry;
	else
		free_entry(&entry);
	return err;
}

static cop_err read_lines(reading *r, FILE *file)
{
	char line[LINE];
	while (fgets(line, sizeof line, file) != NULL) {
		r->line++;
		if (strchr(line, '\n') == NULL && strlen(line) == sizeof line - 1)
			return refuse(r, "the line is too long", "at most 4094 bytes");
		cop_err err = add_line(r, line);
		if (err != COP_OK)
			return err;
	}
	if (ferror(file) != 0) {
		cop_diag_of(r->diag, r->path, "%s", strerror(errno));
		return COP_EIO;
	}
	r->line = 0;
	return r->access->count > 0 ? COP_OK : refuse(r, "there is no name in it", form(r));
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const cop_access_entry *)a)->name, ((const cop_access_entry *)b)->name);
}

cop_err cop_access_read(const char *path, cop_access_kind kind, cop_access **out, cop_diag *diag)
{
	*out = NULL;
	FILE *file;
	cop_err err =
	        cop_file_guarded_open(path, kind == COP_ACCESS_TOKENS ? COP_FILE_SECRET : COP_FILE_RULES, &file, diag);
	if (err != COP_OK)
		return err;
	reading r = { .path = path, .kind = kind, .diag = diag, .access = cop_mem_alloc(1, sizeof *r.access) };
	err = r.access == NULL ? COP_ENOMEM : read_lines(&r, file);
	(void)fclose(file);
	if (err == COP_OK) {
		qsort(r.access->entries, r.access->count, sizeof *r.access->entries, compare_names);
		*out = r.access;
		return COP_OK;
	}
	if (err == COP_ENOMEM)
		cop_diag_of(diag, path, "%s", cop_err_text(err));
	cop_access_free(r.access);
	return err;
}

void cop_access_free(cop_access *access)
{
	if (access == NULL)
		return;
	for (size_t i = 0; i < access->count; i++)
		free_entry(&access->entries[i]);
	cop_mem_free(access->entries);
	cop_mem_free(access);
}

/* All COP_ACCESS_MOST bytes of the entry's, beyond whose end there are zeros. */
static bool is_same(const cop_access_entry *entry, const char *padded)
{
	unsigned differ = 0;
	for (size_t i = 0; i < COP_ACCESS_MOST; i++)
		differ |= (unsigned)(unsigned char)(entry->token[i] ^ padded[i]);
	return differ == 0;
}

const cop_access_entry *cop_access_find(const cop_access *access, const char *token, size_t length)
{
	char padded[COP_ACCESS_MOST] = "";
	const cop_access_entry *found = NULL;
	if (length < COP_ACCESS_LEAST || length > COP_ACCESS_MOST)
		return NULL;
	memcpy(padded, token, length);
	for (size_t i = 0; i < access->count; i++)
		if (is_same(&access->entries[i], padded))
			found = &access->entries[i];
	return found;
}

const cop_access_entry *cop_access_named(const cop_access *access, const char *name)
{
	size_t low = 0, high = access->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, access->entries[middle].name);
		if (order == 0)
			return &access->entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

bool cop_access_allows(const cop_access_entry *entry, unsigned right, const char *model)
{
	if ((entry->rights & right) != right)
		return false;
	if (entry->models == NULL)
		return true;
	size_t length = strlen(model);
	for (const char *at = entry->models; *at != '\0';) {
		size_t own = strcspn(at, ",");
		if (own == length && length > 0 && strncmp(at, model, length) == 0)
			return true;
		at += own + (at[own] == ',');
	}
	return false;
}

static bool is_alike(const cop_access_entry *a, const cop_access_entry *b)
{
	bool models =
	        a->models == NULL || b->models == NULL ? a->models == b->models : strcmp(a->models, b->models) == 0;
	return models && strcmp(a->token, b->token) == 0 && a->rights == b->rights &&
	       a->limits.rate == b->limits.rate && a->limits.bytes == b->limits.bytes &&
	       a->limits.pending == b->limits.pending;
}

void cop_access_compare(const cop_access *was, const cop_access *is, cop_access_tell *tell, void *context)
{
	size_t i = 0, j = 0, before = was == NULL ? 0 : was->count, after = is == NULL ? 0 : is->count;
	while (i < before || j < after) {
		int order = i == before ? 1 : j == after ? -1 : strcmp(was->entries[i].name, is->entries[j].name);
		if (order < 0)
			tell(context, was->entries[i].name, "removed");
		else if (order > 0)
			tell(context, is->entries[j].name, "added");
		else if (!is_alike(&was->entries[i], &is->entries[j]))
			tell(context, is->entries[j].name, "changed");
		i += order <= 0;
		j += order >= 0;
	}
}
