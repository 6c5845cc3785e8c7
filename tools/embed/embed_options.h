/* tools/embed/embed_options.h: the command line of `coppice embed`. */
#ifndef COP_TOOLS_EMBED_EMBED_OPTIONS_H
#define COP_TOOLS_EMBED_EMBED_OPTIONS_H

#include "table/table.h"
#include "train/tree_embedding.h"

#define COP_EMBED_NAME "embed"

typedef struct cop_embed_options {
	const char *train, *model, *html, *out;
	cop_table_settings table;
	cop_tree_embedding_settings fit;
	double perplexity;
	uint64_t seed;
	unsigned threads;
	bool json;
} cop_embed_options;

extern const char *const cop_embed_methods[COP_EMBEDDING_METHODS + 1];

/* -1: go on; else the exit status, after a message or the help. */
int cop_embed_options_read(int argc, char **argv, cop_embed_options *options);

#endif
