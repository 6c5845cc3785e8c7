/* Rows of a table become the options; lists among their arguments are cut up where they stand, in argv. */
#include "bakeoff_options.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tools/common/command.h"
#include "tools/common/options.h"

#define NAME COP_BAKEOFF_NAME

static const char usage_text[] = "usage: coppice bakeoff --data-dir DIR [--datasets A,B,...] --seeds N\n"
                                 "           --csv OUT.csv [OPTION ...]\n"
                                 "       coppice bakeoff --csv OUT.csv [--report BASE] [--peers FILE.csv ...]\n"
                                 "       coppice bakeoff --data-dir DIR --list\n\n"
                                 "Streams labelled datasets as bandits through several settings and compares their\n"
                                 "progressive losses. Each run (dataset, setting, seed) is written to OUT.csv when\n"
                                 "it ends; what is there already is not run again. Without --data-dir nothing is\n"
                                 "run: the report is made of what OUT.csv holds.\n\n"
                                 "  --data-dir DIR       NAME.train.csv and NAME.test.csv together are dataset\n"
                                 "                       NAME (also NAME.csv, .libsvm, .svm; .gz, .zst);\n"
                                 "                       NAME.items.csv: features of its classes, for learners\n"
                                 "                       that rank\n"
                                 "  --datasets A,B,...   datasets to run (default: all of the folder that have\n"
                                 "                       classes); may be repeated\n"
                                 "  --list               show the datasets of the folder and end\n"
                                 "  --settings S,...     default (the shipped learner and exploration), epsilon\n"
                                 "                       (the same learner, epsilon from 0.1 down to 0.005), dgt,\n"
                                 "                       skyline (the default with the loss of every arm as its\n"
                                 "                       feedback, which needs no exploration);\n"
                                 "                       or your own: [NAME=]LEARNER[:OPTION=VALUE...], divided by\n"
                                 "                       commas, or \"NAME: --OPTION VALUE ...\", refit-... as of\n"
                                 "                       simulate and `skyline` among them; may be repeated\n"
                                 "                       (default: default,epsilon,dgt)\n"
                                 "  --settings-file FILE settings, a text as of --settings in each line\n"
                                 "  --seeds N            seeds 1 to N of the shuffle and the model (default 1)\n"
                                 "  --events N           at most so many events of each dataset, and of single\n"
                                 "                       ones: 30000,mnist=20000 (default: all rows)\n"
                                 "  --jobs J             runs at the same time (default: one a processor)\n"
                                 "  --csv OUT.csv        results; curves and settings go to OUT.curves.csv and\n"
                                 "                       OUT.settings.csv\n"
                                 "  --replace            rows of settings that have changed are removed and run\n"
                                 "                       again, instead of refused\n"
                                 "  --peers FILE.csv     results of others, with the same columns; may be repeated\n"
                                 "  --report BASE        write BASE.txt and BASE.html\n"
                                 "  --reference NAME     losses are shown relative to this setting's (default: to\n"
                                 "                       the least of each dataset)\n"
                                 "  --risk R             risk of each side of the significance test (default\n"
                                 "                       0.05)\n"
                                 "  --json               one JSON object on standard output\n\n"
                                 "An interrupt (Ctrl-C) drops the runs under way and reports what there is; the\n"
                                 "same command goes on later.\n";

/* ---- lists ---- */

static bool add_dataset(cop_bakeoff_options *o, const char *name)
{
	const char *wrong = cop_bakeoff_settings_name_wrong(name, strlen(name));
	for (size_t i = 0; i < o->datasets && wrong == NULL; i++)
		if (strcmp(o->dataset[i], name) == 0)
			wrong = "it is there twice";
	if (wrong == NULL && o->datasets == COP_BAKEOFF_MOST_DATASETS)
		wrong = "too many datasets";
	if (wrong != NULL)
		return cop_command_complain(NAME, "--datasets: '%s': %s", name, wrong);
	o->dataset[o->datasets++] = name;
	return true;
}

/* argv's own texts are cut up: they live as long as the options. */
static bool read_datasets(void *options, const cop_option *row, char *text)
{
	cop_bakeoff_options *o = options;
	char *at = NULL;
	(void)row;
	size_t before = o->datasets;
	for (char *name = strtok_r(text, ",", &at); name != NULL; name = strtok_r(NULL, ",", &at))
		if (!add_dataset(o, name))
			return false;
	return o->datasets > before || cop_command_complain(NAME, "--datasets: expected names divided by commas");
}

/* "30000,mnist=20000". */
static bool read_events(void *options, const cop_option *row, char *text)
{
	cop_bakeoff_options *o = options;
	char *at = NULL;
	(void)row;
	for (char *word = strtok_r(text, ",", &at); word != NULL; word = strtok_r(NULL, ",", &at)) {
		uint64_t events;
		char *equals = strrchr(word, '=');
		if (!cop_command_whole(NAME, "--events", equals != NULL ? equals + 1 : word, 1, UINT32_MAX, &events))
			return false;
		if (equals == NULL) {
			o->events = events;
			continue;
		}
		*equals = '\0';
		if (o->limits == COP_BAKEOFF_MOST_DATASETS)
			return cop_command_complain(NAME, "--events: too many datasets");
		o->limit[o->limits++] = (cop_bakeoff_limit){ .dataset = word, .events = events };
	}
	return true;
}

uint64_t cop_bakeoff_options_events(const cop_bakeoff_options *o, const char *dataset)
{
	uint64_t events = o->events;
	for (size_t i = 0; i < o->limits; i++)
		if (strcmp(o->limit[i].dataset, dataset) == 0)
			events = o->limit[i].events;
	return events;
}

/* ---- options ---- */

static bool read_settings(void *options, const cop_option *row, char *text)
{
	(void)row;
	return cop_bakeoff_settings_add(&((cop_bakeoff_options *)options)->settings, text);
}

static bool read_settings_file(void *options, const cop_option *row, char *text)
{
	(void)row;
	return cop_bakeoff_settings_read(&((cop_bakeoff_options *)options)->settings, text);
}

static bool read_peers(void *options, const cop_option *row, char *text)
{
	cop_bakeoff_options *o = options;
	(void)row;
	if (o->peers_count == COP_BAKEOFF_MOST_PEERS)
		return cop_command_complain(NAME, "--peers: expected at most %d files", COP_BAKEOFF_MOST_PEERS);
	o->peers[o->peers_count++] = text;
	return true;
}

enum { OF_RUNS = 1 }; /* a group: what goes with --data-dir */

#define OF(member) COP_OPTION_OF(cop_bakeoff_options, member)

static const cop_option rows[] = {
	{ "data-dir", COP_OPTION_TEXT, OF(data_dir) },
	{ "datasets", COP_OPTION_CALL, .read = read_datasets, .groups = OF_RUNS },
	{ "list", COP_OPTION_FLAG, OF(list), .groups = OF_RUNS },
	{ "settings", COP_OPTION_CALL, .read = read_settings, .groups = OF_RUNS },
	{ "settings-file", COP_OPTION_CALL, .read = read_settings_file, .groups = OF_RUNS },
	{ "seeds", COP_OPTION_WHOLE, OF(seeds), 1, 1000, .groups = OF_RUNS },
	{ "events", COP_OPTION_CALL, .read = read_events, .groups = OF_RUNS },
	{ "jobs", COP_OPTION_WHOLE, OF(jobs), 1, 1024, .groups = OF_RUNS },
	{ "csv", COP_OPTION_TEXT, OF(csv) },
	{ "replace", COP_OPTION_FLAG, OF(replace), .groups = OF_RUNS },
	{ "peers", COP_OPTION_CALL, .read = read_peers },
	{ "report", COP_OPTION_TEXT, OF(report) },
	{ "reference", COP_OPTION_TEXT, OF(reference) },
	{ "risk", COP_OPTION_NUMBER, OF(risk), .low = 1e-9, .high = 0.5 },
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ .name = NULL },
};

static bool check_together(const cop_bakeoff_options *o, const cop_option_set *set)
{
	const cop_option *of_runs = o->data_dir == NULL ? cop_options_given(set, OF_RUNS) : NULL;
	if (of_runs != NULL)
		return cop_command_complain(NAME, "--%s goes with --data-dir (coppice bakeoff --help)", of_runs->name);
	const char *wrong = NULL;
	if (o->csv == NULL && !o->list)
		wrong = "expected --csv OUT.csv";
	else if (o->list && o->csv != NULL)
		wrong = "--list runs nothing, and --csv has no use then";
	return wrong == NULL || cop_command_complain(NAME, "%s (coppice bakeoff --help)", wrong);
}

int cop_bakeoff_options_read(int argc, char **argv, cop_bakeoff_options *o)
{
	bool given[sizeof rows / sizeof *rows] = { false };
	const cop_options options = { NAME, usage_text, .sets = { { rows, o, given } } };
	*o = (cop_bakeoff_options){ .seeds = 1, .risk = 0.05, .jobs = cop_command_processors() };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind < argc)
		return cop_command_misused(NAME, "unexpected argument '%s'", argv[optind]);
	if (!check_together(o, &options.sets[0]))
		return COP_EXIT_USAGE;
	if (o->settings.count == 0 && !cop_bakeoff_settings_add(&o->settings, "default,epsilon,dgt"))
		return COP_EXIT_USAGE;
	return -1;
}
