/* Arguments are --NAME=VALUE, from one table that writes and reads them. */
#include "daemon/refit/worker_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

typedef enum argument_kind { TEXT, WHOLE, SMALL, FLAG, NUMBER, PROCESS } argument_kind;

#define AT(member) offsetof(cop_worker_job, member)

static const struct {
	const char *name;
	argument_kind kind;
	size_t offset;
} known[] = {
	{ "version", TEXT, AT(version) },
	{ "state-dir", TEXT, AT(state_dir) },
	{ "model", TEXT, AT(model) },
	{ "parent", PROCESS, AT(parent) },
	{ "number", WHOLE, AT(number) },
	{ "durable", WHOLE, AT(durable) },
	{ "after", WHOLE, AT(after) },
	{ "seed", WHOLE, AT(seed) },
	{ "idle", FLAG, AT(idle) },
	{ "nice", SMALL, AT(nice) },
	{ "window", SMALL, AT(window) },
	{ "height", SMALL, AT(height) },
	{ "memory", WHOLE, AT(memory) },
	{ "holdout", NUMBER, AT(holdout) },
	{ "margin", NUMBER, AT(margin) },
	{ "risk", NUMBER, AT(risk) },
	{ "alpha", NUMBER, AT(alpha) },
	{ "method", SMALL, AT(method) },
};
#define KNOWN (sizeof known / sizeof *known)
_Static_assert(KNOWN + 2 <= COP_WORKER_ARGUMENTS, "COP_WORKER_ARGUMENTS is too small");
_Static_assert(sizeof(cop_config_method) == sizeof(uint32_t), "methods are moved as uint32_t");

static size_t print_value(argument_kind kind, const void *field, char *out, size_t size)
{
	char number[COP_NUMBER_ROOM];
	int n = 0;
	switch (kind) {
	case TEXT:
		n = snprintf(out, size, "%s", *(const char *const *)field);
		break;
	case WHOLE:
		n = snprintf(out, size, "%" PRIu64, *(const uint64_t *)field);
		break;
	case SMALL:
		n = snprintf(out, size, "%" PRIu32, *(const uint32_t *)field);
		break;
	case FLAG:
		n = snprintf(out, size, "%d", *(const bool *)field);
		break;
	case PROCESS:
		n = snprintf(out, size, "%d", *(const int *)field);
		break;
	case NUMBER:
		(void)cop_number_format(*(const double *)field, number);
		n = snprintf(out, size, "%s", number);
		break;
	}
	return n < 0 || (size_t)n >= size ? 0 : (size_t)n;
}

void cop_worker_arguments(
        const cop_worker_job *job, const char *program, char *room, size_t size, char *argv[COP_WORKER_ARGUMENTS])
{
	size_t count = 0;
	int n = snprintf(room, size, "%s", program);
	size_t used = n < 0 ? size : (size_t)n + 1;
	argv[count++] = room;
	for (size_t i = 0; i < KNOWN && used < size; i++) {
		argv[count++] = room + used;
		n = snprintf(room + used, size - used, "--%s=", known[i].name);
		used += n < 0 ? size : (size_t)n;
		if (used >= size)
			break;
		const void *field = (const char *)job + known[i].offset;
		used += print_value(known[i].kind, field, room + used, size - used) + 1;
	}
	argv[count] = NULL;
}

static bool read_whole(const char *text, uint64_t most, uint64_t *out)
{
	char *end;
	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *out <= most;
}

static bool read_value(argument_kind kind, const char *text, void *field)
{
	uint64_t whole = 0;
	switch (kind) {
	case TEXT:
		*(const char **)field = text;
		return *text != '\0';
	case WHOLE:
		return read_whole(text, UINT64_MAX, field);
	case SMALL:
		if (!read_whole(text, UINT32_MAX, &whole))
			return false;
		*(uint32_t *)field = (uint32_t)whole;
		return true;
	case FLAG:
		if (!read_whole(text, 1, &whole))
			return false;
		*(bool *)field = whole != 0;
		return true;
	case PROCESS:
		if (!read_whole(text, INT32_MAX, &whole))
			return false;
		*(int *)field = (int)whole;
		return true;
	case NUMBER:
		return cop_number_parse(text, strlen(text), field) == COP_OK;
	}
	return false;
}

bool cop_worker_read_arguments(int argc, char **argv, cop_worker_job *job, const char **wrong)
{
	*job = (cop_worker_job){ .number = 1, .alpha = -1.0 };
	for (int i = 1; i < argc; i++) {
		bool fits = false;
		*wrong = argv[i];
		for (size_t k = 0; k < KNOWN && !fits && strncmp(argv[i], "--", 2) == 0; k++) {
			size_t length = strlen(known[k].name);
			fits = strncmp(argv[i] + 2, known[k].name, length) == 0 && argv[i][2 + length] == '=' &&
			       read_value(known[k].kind, argv[i] + 3 + length, (char *)job + known[k].offset);
		}
		if (!fits)
			return false;
	}
	*wrong = "--version, --state-dir, --model";
	return job->version != NULL && job->state_dir != NULL && job->model != NULL && job->method <= COP_METHOD_FOREST;
}

const char *cop_worker_read_version(int argc, char **argv)
{
	static const char name[] = "--version=";
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], name, sizeof name - 1) == 0)
			return argv[i] + sizeof name - 1;
	return NULL;
}
