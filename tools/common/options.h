/* tools/common/options.h: options of a command line, as rows of a table that are read into a struct of settings.
 *
 * A subcommand lists its options once; getopt_long's array, the ranges, and the complaints follow from the rows.
 * Several tables, each with its settings, make one command line. Texts are kept (they are argv's). One thread. */
#ifndef COP_TOOLS_COMMON_OPTIONS_H
#define COP_TOOLS_COMMON_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum cop_option_kind {
	COP_OPTION_FLAG,          /* bool, set when it is given */
	COP_OPTION_TEXT,          /* const char * */
	COP_OPTION_WHOLE,         /* uint64_t, size_t or unsigned, in [least, most] */
	COP_OPTION_NUMBER,        /* double in [low, high] */
	COP_OPTION_WORD,          /* bool, or as WHOLE: the place of one of `words`, counted from `least` */
	COP_OPTION_TIME,          /* double: Unix seconds, or a time in UTC */
	COP_OPTION_CALL,          /* `read` takes the argument */
	COP_OPTION_CALL_BARE,     /* no argument: text is NULL */
	COP_OPTION_CALL_OPTIONAL, /* text may be NULL */
} cop_option_kind;

typedef struct cop_option {
	const char *name; /* without dashes; NULL ends a table */
	cop_option_kind kind;
	size_t offset, size; /* in the settings: COP_OPTION_OF */
	uint64_t least, most;
	double low, high;
	const char *const *words; /* NULL-terminated */
	/* False: complained of. The text may be cut up. */
	bool (*read)(void *settings, const struct cop_option *row, char *text);
	unsigned groups; /* bits of the command's own, for cop_options_given */
	char letter;     /* not 0: the option is -letter, not --name */
} cop_option;

#define COP_OPTION_OF(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

typedef struct cop_option_set {
	const cop_option *rows;
	void *settings;
	bool *given; /* of each row; NULL: not wanted */
} cop_option_set;

#define COP_OPTIONS_MOST_SETS 2
#define COP_OPTIONS_MOST      96 /* rows of all tables */
#define COP_OPTIONS_READ      (-1)
#define COP_OPTIONS_END       (-2)

typedef struct cop_options {
	const char *command;          /* for complaints */
	const char *usage;            /* printed by --help and -h */
	void (*usage_end)(FILE *out); /* prints what follows the usage; NULL: nothing */
	cop_option_set sets[COP_OPTIONS_MOST_SETS];
	bool in_order; /* options behind a word are left to the next call */
} cop_options;

/* Reads argv from its second word on; settings of options that are not given stay as they are. The first word that is
 * no option is then argv[optind]. Returns COP_OPTIONS_READ, or the exit status: after the help, and after a wrong
 * option, which was complained of. */
int cop_options_read(const cop_options *options, int argc, char **argv);
/* The option at argv[optind]. COP_OPTIONS_READ: it was read. COP_OPTIONS_END: none is there. Else the exit status. */
int cop_options_next(const cop_options *options, int argc, char **argv);
/* Reads one option; false: complained of. */
bool cop_options_take(const char *command, const cop_option_set *set, const cop_option *row, char *text);
/* How getopt_long knows a row that has no letter. */
struct option cop_options_long(const cop_option *row, int value);
/* The first row of the table that was given and is of one of the groups, NULL when there is none. */
const cop_option *cop_options_given(const cop_option_set *set, unsigned groups);

#endif
