/* Complaints name the program and its subcommand, as getopt_long's do, which begin with argv[0]. */
#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "option_list.h"

static const char *program_name = "coppice";

static void usage(const cop_program *program, FILE *out)
{
	(void)fprintf(out,
	        "usage: %s SUBCOMMAND [OPTION ...]\n"
	        "       %s help [SUBCOMMAND]\n"
	        "       %s --version\n\n"
	        "Subcommands:\n",
	        program->name, program->name, program->name);
	for (size_t i = 0; i < program->count; i++)
		(void)fprintf(out, "  %-10s %s\n", program->commands[i].name, program->commands[i].summary);
}

static int run(const cop_command *command, int argc, char **argv)
{
	char name[64];
	(void)snprintf(name, sizeof name, "%s %s", program_name, command->name);
	argv[0] = name;
	return command->run(argc, argv);
}

int cop_command_main(const cop_program *program, int argc, char **argv)
{
	char help[] = "--help";
	program_name = program->name;
	if (argc < 2) {
		usage(program, stderr);
		return COP_EXIT_USAGE;
	}
	if (argc > 2 && strcmp(argv[1], "help") == 0) { /* help X is X --help */
		argv[1] = argv[2];
		argv[2] = help;
		argc = 3;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		usage(program, stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("%s %s\n", program->name, program->version);
		return 0;
	}
	if (strcmp(argv[1], "--options") == 0)
		return cop_option_list_print(program);
	for (size_t i = 0; i < program->count; i++)
		if (strcmp(argv[1], program->commands[i].name) == 0)
			return run(&program->commands[i], argc - 1, argv + 1);
	(void)fprintf(stderr, "%s: no subcommand '%s'\n\n", program->name, argv[1]);
	usage(program, stderr);
	return COP_EXIT_USAGE;
}

__attribute__((format(printf, 2, 0))) static void complain(const char *name, const char *format, va_list args)
{
	(void)fprintf(stderr, "%s %s: ", program_name, name);
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
}

bool cop_command_complain(const char *name, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	complain(name, format, args);
	va_end(args);
	return false;
}

int cop_command_misused(const char *name, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	complain(name, format, args);
	va_end(args);
	return COP_EXIT_USAGE;
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

cop_err cop_command_json_begin(bool wanted, cop_json_writer **out)
{
	*out = NULL;
	cop_err err = wanted ? cop_json_writer_new(COP_JSON_COMPACT, out) : COP_OK;
	if (*out != NULL)
		cop_json_begin_object(*out);
	return err;
}

int cop_command_end(const char *name, cop_err err, cop_json_writer *json, cop_diag *diag)
{
	if (err == COP_OK && json != NULL)
		err = cop_command_json(json);
	else
		cop_json_writer_free(json);
	if (err == COP_OK)
		return fflush(stdout) == 0 ? 0 : COP_EXIT_FAILED;
	if (diag->message[0] == '\0')
		cop_diag_message(diag, "%s", cop_err_text(err));
	return cop_command_failed(name, diag);
}

bool cop_command_number(const char *name, const char *option, const char *text, double low, double high, double *out)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end != '\0' || !(value >= low && value <= high))
		return cop_command_complain(
		        name, "%s: '%s' given, expected a number from %g to %g", option, text, low, high);
	*out = value;
	return true;
}

bool cop_command_whole(
        const char *name, const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || *text == '-' || errno != 0 || value < low || value > high)
		return cop_command_complain(name,
		        "%s: '%s' given, expected a whole number from %" PRIu64 " to %" PRIu64, option, text, low,
		        high);
	*out = value;
	return true;
}

bool cop_command_time(const char *name, const char *option, const char *text, double *out)
{
	struct tm utc = { 0 };
	if (cop_number_parse(text, strlen(text), out) == COP_OK && isfinite(*out))
		return true;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	if (end == NULL || (*end != '\0' && strcmp(end, "Z") != 0))
		return cop_command_complain(name,
		        "%s: '%s' given, expected unix seconds or a time like 2026-11-27T10:52:01Z", option, text);
	*out = (double)timegm(&utc);
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
	return cop_command_complain(name, "%s: '%s' given, expected one of %s", option, text, expected);
}

static const cop_ranks *all_ranks;

void cop_command_set_ranks(const cop_ranks *ranks) { all_ranks = ranks; }

const cop_ranks *cop_command_ranks(void) { return all_ranks; }

bool cop_command_leads(void) { return all_ranks == NULL || all_ranks->rank == 0; }

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
