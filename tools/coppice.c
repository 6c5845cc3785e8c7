/* The one program of the tools: its subcommands. */
#include "tools/common/command.h"
#include "version.h"

static const cop_command commands[] = {
	{ "simulate", "stream labelled data as a bandit, in process or by a live daemon", cop_simulate_command },
	{ "bakeoff", "compare settings over many labelled datasets, with significance", cop_bakeoff_command },
	{ "replay", "replay a bandit log: learn from it, estimate its policy's value", cop_replay_command },
	{ "train", "fit a tree or a forest to labelled rows", cop_train_command },
	{ "predict", "write a trained model's predictions of a file's rows", cop_predict_command },
	{ "evaluate", "judge how well a trained model predicts a file's rows", cop_evaluate_command },
	{ "export", "write a trained model as C source", cop_export_command },
	{ "convert", "write a bandit log in another format, or make one of labelled rows", cop_convert_command },
	{ "inspect", "show what a checkpoint or model holds: text, JSON, dot, a page", cop_inspect_command },
	{ "ctl", "ask a running daemon: status, explain, checkpoint, reload", cop_ctl_command },
	{ "journal", "show, check or salvage a daemon's journal", cop_journal_command },
	{ "bench", "measure a running daemon, or how fast a log is read", cop_bench_command },
};

int main(int argc, char **argv)
{
	static const cop_program program = { "coppice", COP_VERSION, commands, sizeof commands / sizeof *commands };
	return cop_command_main(&program, argc, argv);
}
