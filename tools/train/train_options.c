/* Options are the fixed ones of the table below and one for each knob, which getopt numbers from KNOB on. */
#include "train_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/command.h"

#define NAME COP_TRAIN_NAME

static const char usage_text[] = "usage: coppice train --learner cart|dgt|tao|laptao --train FILE [--test FILE]\n"
                                 "           [OPTION ...]\n\n"
                                 "Fits a tree, or a forest, to labelled rows (csv with or without a header, or\n"
                                 "libsvm; .gz, .zst) and tells how well it predicts. What is not given is the\n"
                                 "learner's default.\n\n"
                                 "  --learner NAME       cart (Breiman et al.), dgt (dense gradient trees), tao\n"
                                 "                       (tree alternating optimisation), laptao (TAO with a graph\n"
                                 "                       of all rows, of which only some are labelled)\n"
                                 "  --train FILE         rows to learn from; the last column is the class or\n"
                                 "                       number to predict\n"
                                 "  --test FILE          rows to judge by\n"
                                 "  --task T             classification (the default) or regression\n"
                                 "  --model OUT          write the trained model there (coppice predict, evaluate,\n"
                                 "                       inspect, export)\n"
                                 "  --search             choose what is not given by validation, then fit all rows\n"
                                 "                       with it\n"
                                 "  --trials N           most fits of the search (default 60)\n"
                                 "  --repeats N          each with so many divisions and seeds (default 1)\n"
                                 "  --cross-validation K\n"
                                 "                       the search judges by the mean over K folds instead of one\n"
                                 "                       part held back\n"
                                 "  --validation SHARE   rows held back to choose by: a list of --alpha, the\n"
                                 "                       search (default 0.2); epochs of dgt (default 0: by the\n"
                                 "                       training rows)\n"
                                 "  --start-model FILE   tao, laptao: begin with this model's tree\n"
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
                                 "  --missing HOW        empty fields: refuse (default), mean, median, label (a\n"
                                 "                       category or feature of its own)\n"
                                 "  --scale HOW          features: none (cart's default), standard (dgt's), range,\n"
                                 "                       maximum, or auto (tao's): maximum for amounts of one unit\n"
                                 "                       that are often 0, as pixels are, else standard\n";

enum {
	LEARNER = 256,
	TRAIN,
	TEST,
	TASK,
	MODEL,
	SEARCH,
	TRIALS,
	REPEATS,
	CROSS_VALIDATION,
	VALIDATION,
	START_MODEL,
	LABELLED,
	BASELINES,
	SEED,
	THREADS,
	JSON,
	TARGET,
	CATEGORIES,
	MISSING,
	SCALE,
	HELP,
	FIXED_END,
	KNOB = 512,
};

#define FIXED_OPTIONS ((size_t)(FIXED_END - LEARNER))

static const struct option fixed[FIXED_OPTIONS] = {
	{ "learner", required_argument, NULL, LEARNER },
	{ "train", required_argument, NULL, TRAIN },
	{ "test", required_argument, NULL, TEST },
	{ "task", required_argument, NULL, TASK },
	{ "model", required_argument, NULL, MODEL },
	{ "search", no_argument, NULL, SEARCH },
	{ "trials", required_argument, NULL, TRIALS },
	{ "repeats", required_argument, NULL, REPEATS },
	{ "cross-validation", required_argument, NULL, CROSS_VALIDATION },
	{ "validation", required_argument, NULL, VALIDATION },
	{ "start-model", required_argument, NULL, START_MODEL },
	{ "labelled", required_argument, NULL, LABELLED },
	{ "baselines", required_argument, NULL, BASELINES },
	{ "seed", required_argument, NULL, SEED },
	{ "threads", required_argument, NULL, THREADS },
	{ "json", no_argument, NULL, JSON },
	{ "target", required_argument, NULL, TARGET },
	{ "categories", required_argument, NULL, CATEGORIES },
	{ "missing", required_argument, NULL, MISSING },
	{ "scale", required_argument, NULL, SCALE },
	{ "help", no_argument, NULL, HELP },
};

static bool read_learner(cop_train_options *o)
{
	o->job.learner = cop_train_learner_find(optarg);
	if (o->job.learner == NULL)
		cop_command_complain(NAME, "--learner: '%s' given, expected cart, dgt, tao or laptao", optarg);
	return o->job.learner != NULL;
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x < y) - (x > y);
}

/* One number, or a path of several. argv's own text is cut up. */
static bool read_alphas(cop_train_options *o, char *text)
{
	char *at = NULL;
	cop_train_job *job = &o->job;
	job->alphas = 0;
	for (char *word = strtok_r(text, ",", &at); word != NULL; word = strtok_r(NULL, ",", &at)) {
		if (job->alphas == COP_TRAIN_MOST_ALPHAS) {
			cop_command_complain(NAME, "--alpha: expected at most %d", COP_TRAIN_MOST_ALPHAS);
			return false;
		}
		if (!cop_hyperparameters_read(COP_HYPERPARAMETER_ALPHA, word, &job->knobs))
			return false;
		job->alpha[job->alphas++] = job->knobs.value[COP_HYPERPARAMETER_ALPHA];
	}
	if (job->alphas == 0)
		cop_command_complain(NAME, "--alpha: expected numbers divided by commas");
	qsort(job->alpha, job->alphas, sizeof *job->alpha, descending);
	return job->alphas > 0;
}

/* argv's own text is cut up. */
static bool read_baselines(cop_train_options *o, char *text)
{
	char *at = NULL;
	for (char *word = strtok_r(text, ",", &at); word != NULL; word = strtok_r(NULL, ",", &at)) {
		unsigned found = cop_train_baseline_find(word);
		if (found == 0) {
			cop_command_complain(NAME,
			        "--baselines: '%s' given, expected oblique-lbl, oblique-all, self-training, knn or all",
			        word);
			return false;
		}
		o->baselines |= found;
	}
	if (o->baselines == 0)
		cop_command_complain(NAME, "--baselines: expected names divided by commas");
	return o->baselines != 0;
}

static bool read_columns(cop_train_options *o, int option)
{
	static const char *const missing[] = { "refuse", "mean", "median", "label", NULL };
	static const char *const tasks[] = { "classification", "regression", NULL };
	size_t place = 0;
	switch (option) {
	case TASK:
		if (!cop_command_word(NAME, "--task", optarg, tasks, &place))
			return false;
		o->table.regression = place == 1;
		return true;
	case TARGET:
		o->table.target = optarg;
		return true;
	case CATEGORIES:
		o->table.categories = optarg;
		return true;
	case MISSING:
		if (!cop_command_word(NAME, "--missing", optarg, missing, &place))
			return false;
		o->table.missing = (cop_missing)place;
		return true;
	default:
		if (!cop_command_word(NAME, "--scale", optarg, cop_scaling_names, &place))
			return false;
		o->table.scaling = (cop_scaling)place;
		o->scaling_given = true;
		return true;
	}
}

static bool read_fixed(cop_train_options *o, int option)
{
	uint64_t whole = 0;
	switch (option) {
	case LEARNER:
		return read_learner(o);
	case TRAIN:
		o->train = optarg;
		return true;
	case TEST:
		o->test = optarg;
		return true;
	case MODEL:
		o->model = optarg;
		return true;
	case START_MODEL:
		o->start_model = optarg;
		return true;
	case SEARCH:
		return o->search = true;
	case JSON:
		return o->json = true;
	case CROSS_VALIDATION:
		if (!cop_command_whole(NAME, "--cross-validation", optarg, 2, 100, &whole))
			return false;
		o->folds = (size_t)whole;
		return true;
	case VALIDATION:
		return cop_command_number(NAME, "--validation", optarg, 0.0, 0.9, &o->job.validation);
	case LABELLED:
		return cop_command_number(NAME, "--labelled", optarg, 1e-9, 1.0, &o->labelled);
	case BASELINES:
		return read_baselines(o, optarg);
	case SEED:
		return cop_command_whole(NAME, "--seed", optarg, 0, UINT64_MAX, &o->job.seed);
	case TRIALS:
	case REPEATS:
		if (!cop_command_whole(NAME, option == TRIALS ? "--trials" : "--repeats", optarg, 1, 100000, &whole))
			return false;
		*(option == TRIALS ? &o->trials : &o->repeats) = (size_t)whole;
		return true;
	case THREADS:
		if (!cop_command_whole(NAME, "--threads", optarg, 1, COP_POOL_MAX_THREADS, &whole))
			return false;
		o->threads = (unsigned)whole;
		return true;
	default:
		return read_columns(o, option);
	}
}

static bool check_search(const cop_train_options *o)
{
	const cop_train_job *job = &o->job;
	bool given = !(job->validation < 0.0);
	bool of_fits = job->alphas > 1 || (cop_train_learner_for(job->learner) & COP_FOR_DGT) != 0;
	if (o->folds > 0 && !o->search)
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
	bool laptao = (cop_train_learner_for(o->job.learner) & COP_FOR_LAPTAO) != 0;
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

static bool check(const cop_train_options *o)
{
	const cop_train_job *job = &o->job;
	if (job->learner == NULL || o->train == NULL) {
		cop_command_complain(NAME, "expected --learner and --train (coppice train --help)");
		return false;
	}
	for (cop_hyperparameter knob = 0; knob < COP_KNOBS; knob++)
		if (job->knobs.given[knob] &&
		        (cop_hyperparameters_for(knob) & cop_train_learner_for(job->learner)) == 0) {
			cop_command_complain(NAME, "--%s is not for %s (coppice train --help)",
			        cop_hyperparameters_name(knob), cop_train_learner_name(job->learner));
			return false;
		}
	if (o->start_model != NULL && (cop_train_learner_for(job->learner) & (COP_FOR_TAO | COP_FOR_LAPTAO)) == 0) {
		cop_command_complain(NAME, "--start-model is for tao and laptao");
		return false;
	}
	return check_laptao(o) && check_search(o);
}

int cop_train_options_read(int argc, char **argv, cop_train_options *o)
{
	struct option all[FIXED_OPTIONS + COP_KNOBS + 1] = { 0 };
	*o = (cop_train_options){ .threads = cop_command_processors(), .trials = 60, .repeats = 1 };
	o->job.validation = -1.0;
	o->job.seed = 1;
	memcpy(all, fixed, sizeof fixed);
	for (cop_hyperparameter knob = 0; knob < COP_KNOBS; knob++)
		all[FIXED_OPTIONS + knob] = (struct option){ cop_hyperparameters_name(knob),
			cop_hyperparameters_has_argument(knob) ? required_argument : no_argument, NULL,
			KNOB + (int)knob };
	optind = 1;
	for (int option; (option = getopt_long(argc, argv, "h", all, NULL)) != -1;) {
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			cop_hyperparameters_help(stdout);
			return 0;
		}
		bool ok = option == KNOB + COP_HYPERPARAMETER_ALPHA ? read_alphas(o, optarg)
		          : option >= KNOB
		                  ? cop_hyperparameters_read((cop_hyperparameter)(option - KNOB), optarg, &o->job.knobs)
		                  : option != '?' && read_fixed(o, option);
		if (!ok)
			return COP_EXIT_USAGE;
	}
	if (optind != argc) {
		cop_command_complain(NAME, "'%s': expected options only (coppice train --help)", argv[optind]);
		return COP_EXIT_USAGE;
	}
	if (!check(o))
		return COP_EXIT_USAGE;
	if (!o->scaling_given)
		o->table.scaling = cop_train_learner_scaling(o->job.learner);
	o->table.scale_target = true;
	o->table.unlabelled = (cop_train_learner_for(o->job.learner) & COP_FOR_LAPTAO) != 0;
	return -1;
}
