/* Options stand in one table; each has one default whatever the method. */
#include "embed_options.h"

#include <string.h>

#include "tools/common/command.h"
#include "tools/common/options.h"

#define NAME COP_EMBED_NAME

const char *const cop_embed_methods[COP_EMBEDDING_METHODS + 1] = { "tsne", "elastic", NULL };

static const char usage_text[] = "usage: coppice embed --train FILE [OPTION ...]\n\n"
                                 "Puts labelled rows (csv with or without a header, or libsvm; .gz, .zst) into\n"
                                 "the plane, neighbours close together, jointly with a sparse oblique tree with\n"
                                 "linear leaves that maps new rows there; and reports how far the tree's map is\n"
                                 "better than that of a tree fitted to the finished embedding (the direct fit).\n"
                                 "Classes colour the page and are not learned from.\n\n"
                                 "  --train FILE         rows; the last column is the class\n"
                                 "  --method NAME        tsne (the default) or elastic (elastic embedding)\n"
                                 "  --perplexity P       neighbours that count, of each row (default 15)\n"
                                 "  --lambda L           penalty of the tree's weights (default 0.01)\n"
                                 "  --height H           of the tree (default 4)\n"
                                 "  --rounds N           of embedding and tree in turn (default 20)\n"
                                 "  --sweeps N           of the tree's fit in each round (default 15)\n"
                                 "  --mu M               tie of embedding and tree in the first round (default:\n"
                                 "                       0.005 over the rows); 1.4 times stronger each round\n"
                                 "  --repulsion A        elastic: weight of the repulsion (default 100)\n"
                                 "  --theta T            coarseness of the sums over far rows, 0: exact\n"
                                 "                       (default 0.5)\n"
                                 "  --model OUT          write the tree there (coppice predict maps new rows)\n"
                                 "  --html OUT           write a page there: the rows in the plane, the tree, and\n"
                                 "                       each leaf's region and features\n"
                                 "  --out FILE           write a line for each row there: both coordinates, and\n"
                                 "                       those without a tree\n"
                                 "  --seed S             of every random choice (default 1)\n"
                                 "  --threads N          (default: the processors)\n"
                                 "  --json               one JSON object on standard output\n\n"
                                 "Columns:\n"
                                 "  --target COLUMN      name or number (from 0) of the class's column (default:\n"
                                 "                       the last)\n"
                                 "  --categories A,B     columns to be taken as categories, besides those that\n"
                                 "                       hold text\n"
                                 "  --ignore A,B         columns to leave out, such as a row's number or name;\n"
                                 "                       later files may lack them\n"
                                 "  --missing HOW        empty fields: refuse (default), mean, median, label (a\n"
                                 "                       category or feature of its own)\n"
                                 "  --scale HOW          features: none, standard, range, maximum, or auto (the\n"
                                 "                       default): maximum for amounts of one unit that are often\n"
                                 "                       0, as pixels are, else standard\n";

static const char *const missing_words[] = { "refuse", "mean", "median", "label", NULL };

#define OF(member) COP_OPTION_OF(cop_embed_options, member)

enum { REPULSION }; /* its row */

static const cop_option rows[] = {
	[REPULSION] = { "repulsion", COP_OPTION_NUMBER, OF(fit.repulsion), .low = 1e-9, .high = 1e9 },
	{ "rounds", COP_OPTION_WHOLE, OF(fit.rounds), 0, 10000 },
	{ "mu", COP_OPTION_NUMBER, OF(fit.mu), .low = 1e-30, .high = 1e30 },
	{ "train", COP_OPTION_TEXT, OF(train) },
	{ "method", COP_OPTION_WORD, OF(fit.method), .words = cop_embed_methods },
	{ "perplexity", COP_OPTION_NUMBER, OF(perplexity), .low = 1.0, .high = 1e6 },
	{ "lambda", COP_OPTION_NUMBER, OF(fit.lambda), .low = 0.0, .high = 1e30 },
	{ "height", COP_OPTION_WHOLE, OF(fit.tree.depth), 1, COP_TAO_MAX_DEPTH },
	{ "sweeps", COP_OPTION_WHOLE, OF(fit.tree.iterations), 1, 10000 },
	{ "theta", COP_OPTION_NUMBER, OF(fit.theta), .low = 0.0, .high = 2.0 },
	{ "model", COP_OPTION_TEXT, OF(model) },
	{ "html", COP_OPTION_TEXT, OF(html) },
	{ "out", COP_OPTION_TEXT, OF(out) },
	{ "seed", COP_OPTION_WHOLE, OF(seed), 0, UINT64_MAX },
	{ "threads", COP_OPTION_WHOLE, OF(threads), 1, COP_POOL_MAX_THREADS },
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ "target", COP_OPTION_TEXT, OF(table.target) },
	{ "categories", COP_OPTION_TEXT, OF(table.categories) },
	{ "ignore", COP_OPTION_TEXT, OF(table.ignored) },
	{ "missing", COP_OPTION_WORD, OF(table.missing), .words = missing_words },
	{ "scale", COP_OPTION_WORD, OF(table.scaling), .words = cop_scaling_names },
	{ .name = NULL },
};

int cop_embed_options_read(int argc, char **argv, cop_embed_options *o)
{
	bool given[sizeof rows / sizeof *rows] = { false };
	*o = (cop_embed_options){ .perplexity = 15.0, .seed = 1, .threads = cop_command_processors() };
	o->table.scaling = COP_SCALE_AUTO;
	cop_tree_embedding_defaults(COP_EMBEDDING_TSNE, &o->fit);
	const cop_options options = { NAME, usage_text, .sets = { { rows, o, given } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind != argc)
		return cop_command_misused(NAME, "'%s': expected options only (coppice embed --help)", argv[optind]);
	if (o->train == NULL)
		return cop_command_misused(NAME, "expected --train FILE (coppice embed --help)");
	if (given[REPULSION] && o->fit.method != COP_EMBEDDING_ELASTIC)
		return cop_command_misused(NAME, "--repulsion is for elastic");
	return -1;
}
