/* tools/common/command.h: a program of subcommands, those of `coppice`, and what their argument reading shares.
 *
 * Exit status: 0 success, 1 the work failed, 2 usage. Figures go to standard output, everything else to standard error.
 */
#ifndef COP_TOOLS_COMMON_COMMAND_H
#define COP_TOOLS_COMMON_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/ranks.h"

#define COP_EXIT_FAILED 1
#define COP_EXIT_USAGE  2

typedef struct cop_command {
	const char *name;
	const char *summary;               /* one line */
	int (*run)(int argc, char **argv); /* argv[0] is "PROGRAM NAME" */
} cop_command;

typedef struct cop_program {
	const char *name, *version;
	const cop_command *commands;
	size_t count;
} cop_program;

/* What main returns: finds the subcommand and hands over, or prints the list of subcommands or the version. Complaints
 * begin with the program's name from then on; without this call, with "coppice". */
int cop_command_main(const cop_program *program, int argc, char **argv);

int cop_command_replay(int argc, char **argv);
int cop_command_convert(int argc, char **argv);
int cop_command_simulate(int argc, char **argv);
int cop_command_bakeoff(int argc, char **argv);
int cop_command_inspect(int argc, char **argv);
int cop_command_diff(int argc, char **argv);
int cop_command_whatif(int argc, char **argv);
int cop_command_ctl(int argc, char **argv);
int cop_command_bench(int argc, char **argv);
int cop_command_journal(int argc, char **argv);
int cop_command_train(int argc, char **argv);
int cop_command_predict(int argc, char **argv);
int cop_command_evaluate(int argc, char **argv);
int cop_command_export(int argc, char **argv);
int cop_command_embed(int argc, char **argv);
int cop_command_keygen(int argc, char **argv);
int cop_command_part(int argc, char **argv);

/* "PROGRAM NAME: message" on standard error. Returns false. */
bool cop_command_complain(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same; returns COP_EXIT_USAGE. */
int cop_command_misused(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The diagnostic as text. One without a message is of memory: COP_ENOMEM alone leaves none. */
#define COP_COMMAND_REASON (sizeof((cop_diag *)0)->source + sizeof((cop_diag *)0)->message + 32)
void cop_command_reason(const cop_diag *diag, char text[COP_COMMAND_REASON]);
/* It is complained of; returns COP_EXIT_FAILED. */
int cop_command_failed(const char *name, const cop_diag *diag);

/* Ends the object that was begun first, appends it as one line to out, and frees the writer. COP_ENOMEM. */
COP_CHECK cop_err cop_command_json_line(cop_json_writer *json, cop_bytes *out);
/* Ends the object that was begun first, prints it as one line on standard output, and frees the writer. COP_ENOMEM. */
COP_CHECK cop_err cop_command_json(cop_json_writer *json);
/* The writer of an object that is begun; NULL if none is wanted. COP_ENOMEM. */
COP_CHECK cop_err cop_command_json_begin(bool wanted, cop_json_writer **out);
/* The end of a command: prints the object (NULL: there is none) if err is COP_OK, complains otherwise, and frees the
 * writer. Returns the exit status. */
int cop_command_end(const char *name, cop_err err, cop_json_writer *json, cop_diag *diag);

/* Reads an option's argument; false: wrong, after a complaint. Numbers in [low, high]. */
bool cop_command_number(const char *name, const char *option, const char *text, double low, double high, double *out);
bool cop_command_whole(
        const char *name, const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *out);
/* The processes that this one is one of, as coppice-mpi says (kept); NULL: it is alone. Each does all of the work but
 * what a pool divides among ranks; files and standard output are those of the first. */
void cop_command_set_ranks(const cop_ranks *ranks);
const cop_ranks *cop_command_ranks(void);
/* Whether this process is alone, or the first. */
bool cop_command_leads(void);
/* Processors that this process may use, at least 1. */
unsigned cop_command_processors(void);
/* Seconds on a clock that never goes back. */
double cop_command_now(void);
/* "2026-11-27T10:52:01Z", or Unix seconds. */
bool cop_command_time(const char *name, const char *option, const char *text, double *out);
/* One of the NULL-terminated words; its place in *out. */
bool cop_command_word(const char *name, const char *option, const char *text, const char *const *words, size_t *out);

#endif
