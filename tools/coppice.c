/* The one program of the tools: finds the subcommand and hands over. */
#include <stdio.h>
#include <string.h>

#include "tools/common/command.h"
#include "version.h"

static const cop_command commands[] = {
	{ "simulate", "stream labelled data as a bandit, in process or by a live daemon", cop_simulate_command },
	{ "bakeoff", "compare settings over many labelled datasets, with significance", cop_bakeoff_command },
	{ "replay", "replay a bandit log: learn from it, estimate its policy's value", cop_replay_command },
	{ "train", "fit a tree or a forest to labelled rows", cop_train_command },
	{ "predict", "write a trained model's predictions of a file's rows", cop_predict_command },
	{ "evaluate", "tell how well a trained model predicts a file's rows", cop_evaluate_command },
	{ "export", "write a trained model as C source", cop_export_command },
	{ "convert", "write a bandit log in another format, or make one of labelled rows", cop_convert_command },
	{ "inspect", "show what a checkpoint or model holds: text, JSON, dot, a page", cop_inspect_command },
	{ "ctl", "ask a running daemon: status, explain, checkpoint, reload", cop_ctl_command },
	{ "journal", "show, check or salvage a daemon's journal", cop_journal_command },
	{ "bench", "measure the kernels and learners, or load a live daemon", cop_bench_command },
};

static void usage(FILE *out)
{
	(void)fputs("usage: coppice SUBCOMMAND [OPTION ...]\n"
	            "       coppice help [SUBCOMMAND]\n"
	            "       coppice --version\n\n"
	            "Subcommands:\n",
	        out);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		(void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
}

/* getopt_long begins its complaints with argv[0]. */
static int run(const cop_command *command, int argc, char **argv)
{
	char name[64];
	(void)snprintf(name, sizeof name, "coppice %s", command->name);
	argv[0] = name;
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	char help[] = "--help";
	if (argc < 2) {
		usage(stderr);
		return COP_EXIT_USAGE;
	}
	if (argc > 2 && strcmp(argv[1], "help") == 0) { /* help X is X --help */
		argv[1] = argv[2];
		argv[2] = help;
		argc = 3;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		usage(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)puts("coppice " COP_VERSION);
		return 0;
	}
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return run(&commands[i], argc - 1, argv + 1);
	(void)fprintf(stderr, "coppice: no subcommand '%s'\n\n", argv[1]);
	usage(stderr);
	return COP_EXIT_USAGE;
}
