/* The one program of the tools: its subcommands. */
#include "tools/common/command.h"
#include "version.h"

static const cop_command commands[] = {
	{ "simulate", "stream labelled data as a bandit, in process or by a live daemon", cop_command_simulate },
	{ "bakeoff", "compare settings over many labelled datasets, with significance", cop_command_bakeoff },
	{ "replay", "replay a bandit log: learn from it, estimate its policy's value", cop_command_replay },
	{ "train", "fit a tree or a forest to labelled rows", cop_command_train },
	{ "predict", "write a trained model's predictions of a file's rows", cop_command_predict },
	{ "evaluate", "judge how well a trained model predicts a file's rows", cop_command_evaluate },
	{ "export", "write a trained model as C source", cop_command_export },
	{ "embed", "put labelled rows into the plane, with a tree that maps new ones", cop_command_embed },
	{ "convert", "write a bandit log in another format, or make one of labelled rows", cop_command_convert },
	{ "inspect", "show what a checkpoint or model holds: text, JSON, dot, a page", cop_command_inspect },
	{ "diff", "show in words what models learned between two checkpoints", cop_command_diff },
	{ "whatif", "estimate from the journal what other settings would have cost", cop_command_whatif },
	{ "ctl", "ask or administer a running daemon: status, explain, reload ...", cop_command_ctl },
	{ "keygen", "make a key pair for encrypted sockets (CURVE)", cop_command_keygen },
	{ "part", "find the instance of a partition that owns a key", cop_command_part },
	{ "journal", "show, check or salvage a daemon's journal", cop_command_journal },
	{ "bench", "measure a running daemon, or how fast a log is read", cop_command_bench },
};

int main(int argc, char **argv)
{
	static const cop_program program = { "coppice", COP_VERSION, commands, sizeof commands / sizeof *commands };
	return cop_command_main(&program, argc, argv);
}
