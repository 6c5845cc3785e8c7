/* tools/bench/bench_options.h: options of a command line, read by a table into a struct of settings. */
#ifndef COP_TOOLS_BENCH_BENCH_OPTIONS_H
#define COP_TOOLS_BENCH_BENCH_OPTIONS_H

#include <stddef.h>

typedef enum cop_bench_option_kind {
	COP_BENCH_OPTION_FLAG,   /* bool, set when it is given */
	COP_BENCH_OPTION_TEXT,   /* const char * */
	COP_BENCH_OPTION_WHOLE,  /* uint64_t in [low, high] */
	COP_BENCH_OPTION_NUMBER, /* double in [low, high] */
	COP_BENCH_OPTION_WORD,   /* uint64_t: the place of one of `words`, counted from 1 */
} cop_bench_option_kind;

typedef struct cop_bench_option {
	const char *name; /* without dashes; NULL ends a table */
	cop_bench_option_kind kind;
	size_t offset; /* in the settings */
	double low, high;
	const char *const *words; /* NULL-terminated */
	unsigned takers;          /* a bit for each kind of work that takes the option */
} cop_bench_option;

#define COP_BENCH_OPTIONS_MOST 24 /* rows of a table */
#define COP_BENCH_OPTIONS_READ -1

/* Reads argv from its second word on; options that are not given leave their settings as they are. *takers keeps the
 * bits that all given options have (NULL: nobody asks). The first word that is no option is then argv[optind]. Returns
 * COP_BENCH_OPTIONS_READ, or the exit status: after --help, for which `usage` is printed, and after an option that is
 * wrong, which is complained of in the name of `name`. */
int cop_bench_options_read(const char *name, const char *usage, const cop_bench_option *table, int argc, char **argv,
        void *settings, unsigned *takers);

#endif
