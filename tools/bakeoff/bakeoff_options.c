#include "bakeoff_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tools/common/command.h"

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
                                 "  --datasets A,B,...   which (default: all of the folder that have classes); may\n"
                                 "                       be repeated\n"
                                 "  --list               show the datasets of the folder and end\n"
                                 "  --settings S,...     default (the shipped learner and exploration), epsilon\n"
                                 "                       (the same learner, epsilon from 0.1 down to 0.005), dgt,\n"
                                 "                       skyline (the default told the loss of every arm, so that\n"
                                 "                       it need not explore: what partial feedback costs);\n"
                                 "                       or your own: [NAME=]LEARNER[:OPTION=VALUE...], divided by\n"
                                 "                       commas, or \"NAME: --OPTION VALUE ...\", refit-... as of\n"
                                 "                       simulate and `skyline` among them; may be repeated\n"
                                 "                       (default: default,epsilon,dgt)\n"
                                 "  --settings-file FILE settings, a text as of --settings in each line\n"
                                 "  --seeds N            seeds 1 to N of shuffle and policy (default 1)\n"
                                 "  --events N           at most so many events of each dataset, and of single\n"
                                 "                       ones: 30000,mnist=20000 (default: all rows)\n"
                                 "  --jobs J             runs at once (default: the processors)\n"
                                 "  --csv OUT.csv        results; curves and settings go to OUT.curves.csv and\n"
                                 "                       OUT.settings.csv\n"
                                 "  --replace            rows of settings that have changed are removed and run\n"
                                 "                       again, instead of refused\n"
                                 "  --peers FILE.csv     results of others, with the same columns; may be repeated\n"
                                 "  --report BASE        write BASE.txt and BASE.html\n"
                                 "  --reference NAME     relative losses are to this setting's (default: to the\n"
                                 "                       least of each dataset)\n"
                                 "  --risk R             of each side of the significance test (default 0.05)\n"
                                 "  --json               one JSON object on standard output\n\n"
                                 "An interrupt (Ctrl-C) gives up the runs under way and reports what there is; the\n"
                                 "same command goes on later.\n";

enum {
	DATA_DIR = 256,
	DATASETS,
	LIST,
	SETTINGS,
	SETTINGS_FILE,
	SEEDS,
	EVENTS,
	JOBS,
	CSV,
	REPLACE,
	PEERS,
	REPORT,
	REFERENCE,
	RISK,
	JSON,
	HELP,
};

static const struct option long_options[] = {
	{ "data-dir", required_argument, NULL, DATA_DIR },
	{ "datasets", required_argument, NULL, DATASETS },
	{ "list", no_argument, NULL, LIST },
	{ "settings", required_argument, NULL, SETTINGS },
	{ "settings-file", required_argument, NULL, SETTINGS_FILE },
	{ "seeds", required_argument, NULL, SEEDS },
	{ "events", required_argument, NULL, EVENTS },
	{ "jobs", required_argument, NULL, JOBS },
	{ "csv", required_argument, NULL, CSV },
	{ "replace", no_argument, NULL, REPLACE },
	{ "peers", required_argument, NULL, PEERS },
	{ "report", required_argument, NULL, REPORT },
	{ "reference", required_argument, NULL, REFERENCE },
	{ "risk", required_argument, NULL, RISK },
	{ "json", no_argument, NULL, JSON },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

/* ---- lists ---- */

static bool add_dataset(cop_bakeoff_options *o, const char *name)
{
	const char *wrong = cop_bakeoff_name_wrong(name, strlen(name));
	for (size_t i = 0; i < o->datasets && wrong == NULL; i++)
		if (strcmp(o->dataset[i], name) == 0)
			wrong = "it is there twice";
	if (wrong == NULL && o->datasets == COP_BAKEOFF_MOST_DATASETS)
		wrong = "too many datasets";
	if (wrong != NULL) {
		cop_command_complain(NAME, "--datasets: '%s': %s", name, wrong);
		return false;
	}
	o->dataset[o->datasets++] = name;
	return true;
}

/* argv's own texts are cut up: they live as long as the options. */
static bool read_datasets(cop_bakeoff_options *o, char *text)
{
	char *at = NULL;
	size_t before = o->datasets;
	for (char *name = strtok_r(text, ",", &at); name != NULL; name = strtok_r(NULL, ",", &at))
		if (!add_dataset(o, name))
			return false;
	if (o->datasets == before)
		cop_command_complain(NAME, "--datasets: expected names divided by commas");
	return o->datasets > before;
}

/* "30000,mnist=20000". */
static bool read_events(cop_bakeoff_options *o, char *text)
{
	char *at = NULL;
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
		if (o->limits == COP_BAKEOFF_MOST_DATASETS) {
			cop_command_complain(NAME, "--events: too many datasets");
			return false;
		}
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

static bool read_option(cop_bakeoff_options *o, int option, char *text)
{
	switch (option) {
	case DATA_DIR:
		o->data_dir = text;
		return true;
	case DATASETS:
		return read_datasets(o, text);
	case LIST:
		o->list = true;
		return true;
	case SETTINGS:
		return cop_bakeoff_settings_add(&o->settings, text);
	case SETTINGS_FILE:
		return cop_bakeoff_settings_read(&o->settings, text);
	case SEEDS:
		return cop_command_whole(NAME, "--seeds", text, 1, 1000, &o->seeds);
	case EVENTS:
		return read_events(o, text);
	case JOBS:
		return cop_command_whole(NAME, "--jobs", text, 1, 1024, &o->jobs);
	case CSV:
		o->csv = text;
		return true;
	case REPLACE:
		o->replace = true;
		return true;
	case PEERS:
		if (o->peers_count == COP_BAKEOFF_MOST_PEERS) {
			cop_command_complain(NAME, "--peers: expected at most %d files", COP_BAKEOFF_MOST_PEERS);
			return false;
		}
		o->peers[o->peers_count++] = text;
		return true;
	case REPORT:
		o->report = text;
		return true;
	case REFERENCE:
		o->reference = text;
		return true;
	case RISK:
		return cop_command_number(NAME, "--risk", text, 1e-9, 0.5, &o->risk);
	default:
		o->json = true;
		return true;
	}
}

static bool check_together(const cop_bakeoff_options *o, const bool *given)
{
	static const struct {
		int option;
		const char *otherwise;
	} of_runs[] = {
		{ DATASETS, "--datasets goes with --data-dir" },
		{ LIST, "--list goes with --data-dir" },
		{ SETTINGS, "--settings goes with --data-dir" },
		{ SETTINGS_FILE, "--settings-file goes with --data-dir" },
		{ SEEDS, "--seeds goes with --data-dir" },
		{ EVENTS, "--events goes with --data-dir" },
		{ JOBS, "--jobs goes with --data-dir" },
		{ REPLACE, "--replace goes with --data-dir" },
	};
	const char *wrong = NULL;
	for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs && o->data_dir == NULL && wrong == NULL; i++)
		if (given[of_runs[i].option - DATA_DIR])
			wrong = of_runs[i].otherwise;
	if (wrong == NULL && o->csv == NULL && !o->list)
		wrong = "expected --csv OUT.csv";
	if (wrong == NULL && o->list && o->csv != NULL)
		wrong = "--list runs nothing, and --csv has no use then";
	if (wrong != NULL)
		cop_command_complain(NAME, "%s (coppice bakeoff --help)", wrong);
	return wrong == NULL;
}

int cop_bakeoff_options_read(int argc, char **argv, cop_bakeoff_options *o)
{
	bool given[HELP - DATA_DIR] = { false };
	*o = (cop_bakeoff_options){ .seeds = 1, .risk = 0.05, .jobs = cop_command_processors() };
	optind = 1;
	for (;;) {
		int option = getopt_long(argc, argv, "h", long_options, NULL);
		if (option == -1)
			break;
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			return 0;
		}
		if (option == '?')
			return COP_EXIT_USAGE;
		given[option - DATA_DIR] = true;
		if (!read_option(o, option, optarg))
			return COP_EXIT_USAGE;
	}
	if (optind < argc) {
		cop_command_complain(NAME, "unexpected argument '%s'", argv[optind]);
		return COP_EXIT_USAGE;
	}
	if (!check_together(o, given))
		return COP_EXIT_USAGE;
	if (o->settings.count == 0 && !cop_bakeoff_settings_add(&o->settings, "default,epsilon,dgt"))
		return COP_EXIT_USAGE;
	return -1;
}
