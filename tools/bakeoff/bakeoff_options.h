/* tools/bakeoff/bakeoff_options.h: the options of `coppice bakeoff`, read and checked. */
#ifndef COP_TOOLS_BAKEOFF_BAKEOFF_OPTIONS_H
#define COP_TOOLS_BAKEOFF_BAKEOFF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bakeoff_settings.h"

enum { COP_BAKEOFF_MOST_DATASETS = 1024, COP_BAKEOFF_MOST_PEERS = 16 };

typedef struct cop_bakeoff_limit {
	const char *dataset;
	uint64_t events;
} cop_bakeoff_limit;

typedef struct cop_bakeoff_options {
	const char *data_dir; /* NULL: report only */
	bool list;
	const char *dataset[COP_BAKEOFF_MOST_DATASETS]; /* none: all that are found */
	size_t datasets;
	cop_bakeoff_settings settings;
	uint64_t seeds;
	uint64_t events; /* of each run; 0: all rows */
	cop_bakeoff_limit limit[COP_BAKEOFF_MOST_DATASETS];
	size_t limits;
	uint64_t jobs;
	const char *csv;
	const char *report; /* base of the files; NULL: none */
	const char *peers[COP_BAKEOFF_MOST_PEERS];
	size_t peers_count;
	const char *reference;
	double risk;
	bool replace;
	bool json;
} cop_bakeoff_options;

/* -1: go on; else the exit status (help was printed, or what is wrong). Texts lie in argv, some of which is cut up. */
int cop_bakeoff_options_read(int argc, char **argv, cop_bakeoff_options *out);
/* Most events of a dataset's runs, 0: all rows. */
uint64_t cop_bakeoff_options_events(const cop_bakeoff_options *options, const char *dataset);

#endif
