/* Each row becomes an option of getopt_long, whose value is FIRST and the row's place; -h and --help need no row. */
#include "bench_options.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "tools/common/command.h"

#define FIRST 256

static bool read_value(const char *name, const cop_bench_option *row, void *settings)
{
	char option[32];
	void *at = (char *)settings + row->offset;
	(void)snprintf(option, sizeof option, "--%s", row->name);
	switch (row->kind) {
	case COP_BENCH_OPTION_FLAG:
		*(bool *)at = true;
		return true;
	case COP_BENCH_OPTION_TEXT:
		*(const char **)at = optarg;
		return true;
	case COP_BENCH_OPTION_WHOLE:
		return cop_command_whole(name, option, optarg, (uint64_t)row->low, (uint64_t)row->high, at);
	case COP_BENCH_OPTION_NUMBER:
		return cop_command_number(name, option, optarg, row->low, row->high, at);
	default: {
		size_t place = 0;
		bool ok = cop_command_word(name, option, optarg, row->words, &place);
		*(uint64_t *)at = place + 1;
		return ok;
	}
	}
}

int cop_bench_options_read(const char *name, const char *usage, const cop_bench_option *table, int argc, char **argv,
        void *settings, unsigned *takers)
{
	struct option options[COP_BENCH_OPTIONS_MOST + 2] = { { NULL, 0, NULL, 0 } };
	int count = 0;
	for (const cop_bench_option *row = table; row->name != NULL; row++, count++) {
		COP_ASSERT(count < COP_BENCH_OPTIONS_MOST);
		options[count] = (struct option){ row->name,
			row->kind == COP_BENCH_OPTION_FLAG ? no_argument : required_argument, NULL, FIRST + count };
	}
	options[count] = (struct option){ "help", no_argument, NULL, 'h' };
	optind = 1;
	for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (option == 'h') {
			(void)fputs(usage, stdout);
			return 0;
		}
		if (option == '?' || !read_value(name, &table[option - FIRST], settings))
			return COP_EXIT_USAGE;
		if (takers != NULL)
			*takers &= table[option - FIRST].takers;
	}
	return COP_BENCH_OPTIONS_READ;
}
