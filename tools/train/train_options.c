/* Options are the fixed ones of the table below and one for each hyperparameter. */
#include "train_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/options.h"

#define NAME COP_TRAIN_NAME

static const char usage_text[] = "usage: coppice train --train FILE\n"
                                 "           [--learner cart|dgt|tao|softmax|laptao|latent|polytope]\n"
                                 "           [--test FILE] [OPTION ...]\n\n"
                                 "Fits a tree, or a forest, to labelled rows (csv with or without a header, or\n"
                                 "libsvm; .gz, .zst) and reports how well it predicts. What is not given is the\n"
                                 "learner's default; of tao and dgt, height and penalties are chosen from a\n"
                                 "short list on rows held back, and reported.\n\n"
                                 "  --learner NAME       cart (Breiman et al.), dgt (dense gradient trees), tao\n"
                                 "                       (tree alternating optimisation), softmax (TAO with\n"
                                 "                       softmax leaves, for many classes), laptao (TAO with a\n"
                                 "                       graph of all rows, of which only some are labelled),\n"
                                 "                       latent (latent trees), polytope (convex polytope trees).\n"
                                 "                       Without it the best of cart, tao and dgt on rows held\n"
                                 "                       back is taken and reported\n"
                                 "  --train FILE         rows to learn from; the last column is the class or\n"
                                 "                       number to predict\n"
                                 "  --test FILE          rows to judge by\n"
                                 "  --task T             classification (the default) or regression\n"
                                 "  --model OUT          write the trained model there (coppice predict, evaluate,\n"
                                 "                       inspect, export)\n"
                                 "  --search             choose what is not given by validation, then fit all rows\n"
                                 "                       with it\n"
                                 "  --search-log FILE    write each trial of the search there: its loss on the\n"
                                 "                       rows held back, and its options\n"
                                 "  --trials N           most fits of the search (default 60)\n"
                                 "  --repeats N          each with so many divisions and seeds (default 1)\n"
                                 "  --cross-validation K\n"
                                 "                       the search judges by the mean over K folds instead of one\n"
                                 "                       part held back\n"
                                 "  --validation SHARE   rows held back to choose by: a list of --alpha, the\n"
                                 "                       search (default 0.2); epochs of latent (default 0.2) and\n"
                                 "                       dgt (default 0: by the training rows)\n"
                                 "  --start-model FILE   tao, softmax, laptao: begin with this model's tree\n"
                                 "  --labelled SHARE     laptao: keep the labels of so many rows, drawn by the\n"
                                 "                       seed from each class alike, and use the others without; a\n"
                                 "                       row whose field is empty, ?, NA or nan never has one\n"
                                 "  --baselines A,B      laptao: judge others by the same test rows: oblique-lbl\n"
                                 "                       (tao on the labelled rows only), oblique-all (tao on all\n"
                                 "                       labels there are), self-training (tao that adopts what it\n"
                                 "                       is sure of), knn (nearest labelled rows), or all\n"
                                 "  --seed S             of every random choice (default 1)\n"
                                 "  --threads N          (default: the processors)\n"
                                 "  --json               one JSON object on standard output\n\n"
                                 "Columns:\n"
                                 "  --target COLUMN      name or number (from 0) of the column to predict\n"
                                 "                       (default: the last)\n"
                                 "  --categories A,B     columns to be taken as categories, besides those that\n"
                                 "                       hold text\n"
                                 "  --ignore A,B         columns to leave out, such as a row's number or name;\n"
                                 "                       later files may lack them\n"
                                 "  --missing HOW        empty fields: refuse (default), mean, median, label (a\n"
                                 "                       category or feature of its own)\n"
                                 "  --scale HOW          features: none (cart's and softmax's default), standard\n"
                                 "                       (dgt's and latent's), range, maximum, or auto (tao's and\n"
                                 "                       polytope's): maximum for amounts of one unit that are\n"
                                 "                       often 0, as pixels are, else standard\n";

static bool read_learner(void *options, const cop_option *row, char *text)
{
	cop_train_options *o = options;
	(void)row;
	o->job.learner = cop_train_learner_find(text);
	return o->job.learner != NULL ||
	       cop_command_complain(NAME,
	               "--learner: '%s' given, expected cart, dgt, tao, softmax, laptao, latent or "
	               "polytope",
	               text);
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x < y) - (x > y);
}

/* One number, or a path of several. */
static bool read_alphas(cop_train_options *o, char *text)
{
	char *at = NULL;
	cop_train_job *job = &o->job;
	job->alphas = 0;
	for (char *word = strtok_r(text, ",", &at); word != NULL; word = strtok_r(NULL, ",", &at)) {
		if (job->alphas == COP_TRAIN_MOST_ALPHAS)
			return cop_command_complain(NAME, "--alpha: expected at most %d", COP_TRAIN_MOST_ALPHAS);
		if (!cop_hyperparameters_read(COP_HYPERPARAMETER_ALPHA, word, &job->knobs))
			return false;
		job->alpha[job->alphas++] = job->knobs.value[COP_HYPERPARAMETER_ALPHA];
	}
	qsort(job->alpha, job->alphas, sizeof *job->alpha, descending);
	return job->alphas > 0 || cop_command_complain(NAME, "--alpha: expected numbers divided by commas");
}

/* The row's offset is the hyperparameter. */
static bool read_hyperparameter(void *options, const cop_option *row, char *text)
{
	cop_train_options *o = options;
	return row->offset == COP_HYPERPARAMETER_ALPHA
	               ? read_alphas(o, text)
	               : cop_hyperparameters_read((cop_hyperparameter)row->offset, text, &o->job.knobs);
}

static bool read_baselines(void *options, const cop_option *row, char *text)
{
	cop_train_options *o = options;
	char *at = NULL;
	(void)row;
	for (char *word = strtok_r(text, ",", &at); word != NULL; word = strtok_r(NULL, ",", &at)) {
		unsigned found = cop_train_baselines_find(word);
		if (found == 0)
			return cop_command_complain(NAME,
			        "--baselines: '%s' given, expected oblique-lbl, oblique-all, self-training, knn or all",
			        word);
		o->baselines |= found;
	}
	return o->baselines != 0 || cop_command_complain(NAME, "--baselines: expected names divided by commas");
}

static const char *const missing_words[] = { "refuse", "mean", "median", "label", NULL };
static const char *const task_words[] = { "classification", "regression", NULL };

#define OF(member) COP_OPTION_OF(cop_train_options, member)

enum { SCALE }; /* its row */

static const cop_option fixed[] = {
	[SCALE] = { "scale", COP_OPTION_WORD, OF(table.scaling), .words = cop_scaling_names },
	{ "learner", COP_OPTION_CALL, .read = read_learner },
	{ "train", COP_OPTION_TEXT, OF(train) },
	{ "test", COP_OPTION_TEXT, OF(test) },
	{ "task", COP_OPTION_WORD, OF(table.regression), .words = task_words },
	{ "model", COP_OPTION_TEXT, OF(model) },
	{ "search", COP_OPTION_FLAG, OF(search) },
	{ "search-log", COP_OPTION_TEXT, OF(search_log) },
	{ "trials", COP_OPTION_WHOLE, OF(trials), 1, 100000 },
	{ "repeats", COP_OPTION_WHOLE, OF(repeats), 1, 100000 },
	{ "cross-validation", COP_OPTION_WHOLE, OF(folds), 2, 100 },
	{ "validation", COP_OPTION_NUMBER, OF(job.validation), .low = 0.0, .high = 0.9 },
	{ "start-model", COP_OPTION_TEXT, OF(start_model) },
	{ "labelled", COP_OPTION_NUMBER, OF(labelled), .low = 1e-9, .high = 1.0 },
	{ "baselines", COP_OPTION_CALL, .read = read_baselines },
	{ "seed", COP_OPTION_WHOLE, OF(job.seed), 0, UINT64_MAX },
	{ "threads", COP_OPTION_WHOLE, OF(threads), 1, COP_POOL_MAX_THREADS },
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ "target", COP_OPTION_TEXT, OF(table.target) },
	{ "categories", COP_OPTION_TEXT, OF(table.categories) },
	{ "ignore", COP_OPTION_TEXT, OF(table.ignored) },
	{ "missing", COP_OPTION_WORD, OF(table.missing), .words = missing_words },
	{ .name = NULL },
};

/* What the learner is, COP_FOR_...; of a learner that is chosen, only what all those share. */
static unsigned learner_of(const cop_train_job *job)
{
	return job->learner != NULL ? cop_train_learner_for(job->learner) : COP_FOR_FOREST;
}

static bool check_search(const cop_train_options *o)
{
	const cop_train_job *job = &o->job;
	bool given = !(job->validation < 0.0);
	bool of_fits = job->alphas > 1 || (learner_of(job) & (COP_FOR_DGT | COP_FOR_LATENT)) != 0;
	if (o->search_log != NULL && !o->search)
		cop_command_complain(NAME, "--search-log is for --search");
	else if (o->folds > 0 && !o->search)
		cop_command_complain(NAME, "--cross-validation is for --search");
	else if (o->folds > 0 && given && !of_fits)
		cop_command_complain(NAME, "--cross-validation K or --validation SHARE: expected one of them");
	else if (o->search && o->folds == 0 && given && !(job->validation > 0.0))
		cop_command_complain(NAME, "--search needs rows to choose by; expected --validation above 0");
	else
		return true;
	return false;
}

static bool check_laptao(const cop_train_options *o)
{
	bool laptao = (learner_of(&o->job) & COP_FOR_LAPTAO) != 0;
	if (!laptao && (o->labelled > 0.0 || o->baselines != 0))
		cop_command_complain(NAME, "--%s is for laptao", o->labelled > 0.0 ? "labelled" : "baselines");
	else if (o->baselines != 0 && o->test == NULL)
		cop_command_complain(NAME, "--baselines needs rows to judge by; expected --test");
	else if (laptao && o->job.alphas > 1)
		cop_command_complain(NAME, "a list of --alpha is for tao; expected one for laptao");
	else
		return true;
	return false;
}

/* Without a learner it is chosen, and what is for one of them alone has no meaning. */
static bool check_knobs(const cop_train_job *job)
{
	const unsigned all = COP_FOR_CART | COP_FOR_DGT | COP_FOR_TAO;
	for (cop_hyperparameter knob = 0; knob < COP_HYPERPARAMETERS; knob++) {
		unsigned learners = cop_hyperparameters_for(knob);
		if (!job->knobs.given[knob] || (learners & learner_of(job)) != 0)
			continue;
		if (job->learner != NULL)
			return cop_command_complain(NAME, "--%s is not for %s (coppice train --help)",
			        cop_hyperparameters_name(knob), cop_train_learner_name(job->learner));
		if ((learners & all) != all)
			return cop_command_complain(NAME, "--%s is for some learners only; expected --learner too",
			        cop_hyperparameters_name(knob));
	}
	return true;
}

static bool check(const cop_train_options *o)
{
	const cop_train_job *job = &o->job;
	if (o->train == NULL)
		return cop_command_complain(NAME, "expected --train (coppice train --help)");
	if (job->learner == NULL && o->search)
		return cop_command_complain(NAME, "--search is for one learner; expected --learner too");
	if (!check_knobs(job))
		return false;
	if (o->start_model != NULL && (learner_of(job) & (COP_FOR_TAO | COP_FOR_SOFTMAX | COP_FOR_LAPTAO)) == 0)
		return cop_command_complain(NAME, "--start-model is for tao, softmax and laptao");
	return check_laptao(o) && check_search(o);
}

int cop_train_options_read(int argc, char **argv, cop_train_options *o)
{
	bool given[sizeof fixed / sizeof *fixed] = { false };
	cop_option knobs[COP_HYPERPARAMETERS + 1] = { { .name = NULL } };
	for (cop_hyperparameter knob = 0; knob < COP_HYPERPARAMETERS; knob++)
		knobs[knob] = (cop_option){ .name = cop_hyperparameters_name(knob),
			.kind = cop_hyperparameters_has_argument(knob) ? COP_OPTION_CALL : COP_OPTION_CALL_BARE,
			.offset = knob,
			.read = read_hyperparameter };
	*o = (cop_train_options){ .threads = cop_command_processors(), .trials = 60, .repeats = 1 };
	o->job.validation = -1.0;
	o->job.seed = 1;
	const cop_options options = { NAME, usage_text, cop_hyperparameters_help,
		.sets = { { fixed, o, given }, { knobs, o, NULL } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind != argc)
		return cop_command_misused(NAME, "'%s': expected options only (coppice train --help)", argv[optind]);
	if (!check(o))
		return COP_EXIT_USAGE;
	if (!given[SCALE])
		o->table.scaling = o->job.learner == NULL ? COP_SCALE_AUTO : cop_train_learner_scaling(o->job.learner);
	o->table.scale_target = true;
	o->table.unlabelled = (learner_of(&o->job) & COP_FOR_LAPTAO) != 0;
	return -1;
}
