#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void cop_command_complain(const char *name, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)fprintf(stderr, "coppice %s: ", name);
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
	va_end(args);
}

void cop_command_reason(const cop_diag *diag, char text[COP_COMMAND_REASON])
{
	cop_diag_text(diag, text, COP_COMMAND_REASON);
	size_t used = strlen(text);
	if (diag->message[0] == '\0')
		(void)snprintf(text + used, COP_COMMAND_REASON - used, "%s", cop_err_text(COP_ENOMEM));
}

int cop_command_failed(const char *name, const cop_diag *diag)
{
	char text[COP_COMMAND_REASON];
	cop_command_reason(diag, text);
	cop_command_complain(name, "%s", text);
	return COP_EXIT_FAILED;
}

cop_err cop_command_json_line(cop_json_writer *json, cop_bytes *out)
{
	const char *text;
	size_t length;
	cop_json_end_object(json);
	cop_err err = cop_json_writer_finish(json, &text, &length);
	if (err == COP_OK) {
		cop_bytes_put(out, text, length);
		cop_bytes_put(out, "\n", 1);
	}
	cop_json_writer_free(json);
	return err == COP_OK ? out->err : err;
}

cop_err cop_command_json(cop_json_writer *json)
{
	const char *text;
	cop_json_end_object(json);
	cop_err err = cop_json_writer_finish(json, &text, NULL);
	if (err == COP_OK)
		(void)puts(text);
	cop_json_writer_free(json);
	return err;
}

bool cop_command_number(const char *name, const char *option, const char *text, double low, double high, double *out)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end != '\0' || !(value >= low && value <= high)) {
		cop_command_complain(name, "%s: '%s' given, expected a number from %g to %g", option, text, low, high);
		return false;
	}
	*out = value;
	return true;
}

bool cop_command_whole(
        const char *name, const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || *text == '-' || errno != 0 || value < low || value > high) {
		cop_command_complain(name, "%s: '%s' given, expected a whole number from %" PRIu64 " to %" PRIu64,
		        option, text, low, high);
		return false;
	}
	*out = value;
	return true;
}

bool cop_command_word(const char *name, const char *option, const char *text, const char *const *words, size_t *out)
{
	char expected[256] = "";
	size_t used = 0;
	for (size_t i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return true;
		}
		int more = snprintf(expected + used, sizeof expected - used, "%s%s", i == 0 ? "" : ", ", words[i]);
		used += more > 0 && (size_t)more < sizeof expected - used ? (size_t)more : 0;
	}
	cop_command_complain(name, "%s: '%s' given, expected one of %s", option, text, expected);
	return false;
}

unsigned cop_command_processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

double cop_command_now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
