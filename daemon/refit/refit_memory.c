/* Each text is read whole and each figure looked for at the beginning of a line. A group's path is shortened from its
 * end, so that the limits of all groups above count, up to the hierarchy's root (which in a container has limits). */
#include "daemon/refit/refit_memory.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#define TEXT_ROOM 16384 /* of one file; memory.stat has about 2,000 characters */
#define PART      4     /* of what is free */

static bool read_text(const char *path, char text[TEXT_ROOM])
{
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	size_t length = fread(text, 1, TEXT_ROOM - 1, file);
	text[length] = '\0';
	(void)fclose(file);
	return length > 0;
}

/* The whole number behind the word that begins a line. */
static bool find_figure(const char *text, const char *word, uint64_t *out)
{
	size_t length = strlen(word);
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, length) != 0)
			continue;
		char *end;
		errno = 0;
		*out = strtoull(line + length, &end, 10);
		return end != line + length && errno == 0;
	}
	return false;
}

/* ---- the machine ---- */

/* Where /proc is hidden there are only pages that nothing uses at all. */
static uint64_t unused_pages(void)
{
	struct sysinfo is;
	return sysinfo(&is) == 0 ? (uint64_t)(is.freeram + is.bufferram) * is.mem_unit : UINT64_MAX;
}

static uint64_t machine_free(const char *root)
{
	char path[PATH_MAX], text[TEXT_ROOM];
	uint64_t kibibytes = 0;
	(void)snprintf(path, sizeof path, "%.2048s/proc/meminfo", root);
	bool known = read_text(path, text) && find_figure(text, "MemAvailable:", &kibibytes);
	return known ? kibibytes << 10 : unused_pages();
}

/* ---- control groups ---- */

static bool read_group(const char *root, const char *group, const char *name, char text[TEXT_ROOM])
{
	char path[2 * PATH_MAX];
	(void)snprintf(path, sizeof path, "%.2048s/sys/fs/cgroup%.2048s/%.64s", root, group, name);
	return read_text(path, text);
}

/* A limit of one group; "max", or none: UINT64_MAX. */
static uint64_t limit_of(const char *root, const char *group, const char *name)
{
	char text[TEXT_ROOM];
	uint64_t bytes = UINT64_MAX;
	return read_group(root, group, name, text) && find_figure(text, "", &bytes) ? bytes : UINT64_MAX;
}

/* Pages of files, which the kernel takes back when the group needs room. */
static uint64_t cached_of(const char *root, const char *group)
{
	char text[TEXT_ROOM];
	uint64_t active = 0, inactive = 0;
	if (!read_group(root, group, "memory.stat", text))
		return 0;
	(void)find_figure(text, "active_file ", &active);
	(void)find_figure(text, "inactive_file ", &inactive);
	return active + inactive;
}

static uint64_t group_free(const char *root, const char *group)
{
	uint64_t most = limit_of(root, group, "memory.max"), high = limit_of(root, group, "memory.high");
	uint64_t limit = most < high ? most : high;
	if (limit == UINT64_MAX)
		return limit;
	uint64_t used = limit_of(root, group, "memory.current"), cached = cached_of(root, group);
	if (used == UINT64_MAX)
		return limit;
	used = used > cached ? used - cached : 0;
	return limit > used ? limit - used : 0;
}

/* The path of our group in the unified hierarchy; "": not known, or its root. */
static void find_group(const char *root, char group[PATH_MAX])
{
	char path[PATH_MAX], text[TEXT_ROOM];
	group[0] = '\0';
	(void)snprintf(path, sizeof path, "%.2048s/proc/self/cgroup", root);
	const char *line = read_text(path, text) ? text : NULL;
	while (line != NULL && strncmp(line, "0::", 3) != 0) {
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	if (line != NULL)
		(void)snprintf(group, PATH_MAX, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
}

uint64_t cop_refit_memory_free(const char *root)
{
	char group[PATH_MAX];
	uint64_t least = machine_free(root);
	find_group(root, group);
	for (;;) {
		uint64_t here = group_free(root, group);
		least = here < least ? here : least;
		char *slash = strrchr(group, '/');
		if (slash == NULL)
			return least;
		*slash = '\0';
	}
}

uint64_t cop_refit_memory_of(uint64_t free_bytes)
{
	uint64_t part = free_bytes / PART;
	if (part < COP_REFIT_MEMORY_LEAST)
		return 0;
	return part < COP_REFIT_MEMORY_MOST ? part : COP_REFIT_MEMORY_MOST;
}
