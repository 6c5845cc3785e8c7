/* Subcommands in a folder of small files, with every allocation and every call that reads failing in turn
 * (support_fail.h): each time status 1 with the reason on standard error, and nothing is left. */
#include "support.h"

#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support_fail.h"
#include "tools/common/command.h"

#define MOST_WORDS 32

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "train", cop_command_train },
	{ "predict", cop_command_predict },
	{ "evaluate", cop_command_evaluate },
	{ "export", cop_command_export },
	{ "embed", cop_command_embed },
	{ "simulate", cop_command_simulate },
	{ "inspect", cop_command_inspect },
	{ "convert", cop_command_convert },
	{ "journal", cop_command_journal },
};

static char folder[64], start[4096];
static int kept[2], printed[2]; /* standard output and error themselves; the files that they go to during a command */

static int run_command(int argc, char **argv)
{
	optind = 0;
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, argv[0]) == 0)
			return commands[i].run(argc, argv);
	return -1;
}

static void redirect(const int to[2])
{
	(void)fflush(stdout);
	(void)fflush(stderr);
	for (int i = 0; i < 2; i++)
		if (dup2(to[i], i + 1) < 0)
			abort();
}

static int run_line(const char *line)
{
	char copy[512];
	char *argv[MOST_WORDS + 1] = { NULL };
	int argc = 0;
	(void)snprintf(copy, sizeof copy, "%s", line);
	for (char *word = strtok(copy, " "); word != NULL && argc < MOST_WORDS; word = strtok(NULL, " "))
		argv[argc++] = word;
	redirect(printed);
	int status = run_command(argc, argv);
	redirect(kept);
	return status;
}

/* The beginning of what is in a file of this folder. */
static size_t read_text(const char *name, size_t room, char *out)
{
	FILE *file = fopen(name, "r");
	assert_non_null(file);
	size_t length = fread(out, 1, room - 1, file);
	out[length] = '\0';
	assert_int_equal(fclose(file), 0);
	return length;
}

static void empty_printed(void *context)
{
	(void)context;
	for (int i = 0; i < 2; i++)
		assert_int_equal(ftruncate(printed[i], 0), 0);
}

/* Of the attempt that is under way: its name, and how many lines it prints when nothing fails. */
static const char *line;
static size_t whole;

static size_t lines_printed(void)
{
	static char text[1 << 16];
	size_t count = 0;
	(void)read_text("printed.out", sizeof text, text);
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		count++;
	return count;
}

static cop_err run_attempt(void *context, cop_diag *diag)
{
	(void)context;
	int status = run_line(line);
	(void)read_text("printed.err", sizeof diag->message, diag->message);
	assert_true(status == 0 || status == COP_EXIT_FAILED);
	if (status == 0) {
		assert_int_equal(lines_printed(), whole);
		return COP_OK;
	}
	return strstr(diag->message, "memory") != NULL ? COP_ENOMEM : COP_EIO;
}

static void empty_printed_and_write_kept(void *context)
{
	empty_printed(context);
	FILE *file = fopen("kept.csv", "w");
	assert_non_null(file);
	assert_true(fputs("as it was", file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* A file that is to be replaced is replaced as a whole, or stays as it was. */
static cop_err run_replacing(void *context, cop_diag *diag)
{
	char text[64];
	cop_err err = run_attempt(context, diag);
	(void)read_text("kept.csv", sizeof text, text);
	assert_int_equal(strcmp(text, "as it was") == 0, err != COP_OK);
	return err;
}

/* ---- the folder ---- */

static void write_rows(const char *name, int rows)
{
	FILE *file = fopen(name, "w");
	assert_non_null(file);
	for (int i = 0; i < rows; i++)
		(void)fprintf(file, "%d,%d,%d,%d\n", i * 7 % 11, i * 5 % 13, i % 3, i * 7 % 11 < 5);
	assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
	static const char *const names[] = { "printed.out", "printed.err" };
	(void)state;
	const char *place = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
	(void)snprintf(folder, sizeof folder, "%s/test_tools_XXXXXX", place);
	if (getcwd(start, sizeof start) == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		kept[i] = dup(i + 1);
		printed[i] = open(names[i], O_CREAT | O_RDWR | O_APPEND, 0600);
		if (kept[i] < 0 || printed[i] < 0)
			return 1;
	}
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 26); /* memory that is given back by one attempt serves the next */
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 26);
	write_rows("rows.csv", 12);
	write_rows("items.csv", 3);
	return run_line("train --learner cart --train rows.csv --height 2 --threads 1 --model tree") != 0 ||
	       run_line("convert --from class --to csv rows.csv log.csv") != 0;
}

static int end(void **state)
{
	char command[96];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	return chdir(start) != 0 || system(command) != 0;
}

static int set_line(void **state)
{
	line = ((const cop_test_attempt *)*state)->name;
	empty_printed(NULL);
	int status = run_line(line);
	whole = lines_printed();
	return status;
}

#define CORPUS COP_TESTS_DIR "/fuzz/corpus"
#define STATE  COP_TESTS_DIR "/data/state/journal"
#define FILES  (COP_TEST_IO_OPEN | COP_TEST_IO_READ)
#define SAVED  (FILES | COP_TEST_IO_WRITE | COP_TEST_IO_SYNC | COP_TEST_IO_RENAME)
#define TRAIN  "train --train rows.csv --height 1 --threads 1"
/* Ids that are no longer open are kept as far as there is memory: what a model is made for passes over such a failure.
 */
#define MODEL(text)                                                                                                    \
	{                                                                                                              \
		.name = text, .before = empty_printed, .run = run_attempt, .calls = FILES, .spares_memory = true       \
	}
#define ATTEMPT(text, kinds)                                                                                           \
	{                                                                                                              \
		.name = text, .before = empty_printed, .run = run_attempt, .calls = kinds                              \
	}

static cop_test_attempt attempts[] = {
	ATTEMPT(TRAIN " --learner cart --test rows.csv --json --model saved", SAVED),
	ATTEMPT(TRAIN " --learner tao --iterations 1 --trees 2", FILES),
	ATTEMPT(TRAIN " --learner dgt --epochs 1", FILES),
	ATTEMPT(TRAIN " --learner laptao --test rows.csv --labelled 0.5 --rounds 1 --baselines all", FILES),
	ATTEMPT(TRAIN " --learner latent --epochs 1", FILES),
	ATTEMPT(TRAIN " --learner cart --search --trials 2", FILES),
	ATTEMPT("predict tree rows.csv --probabilities --leaves", FILES),
	{ .name = "predict tree rows.csv --out kept.csv",
	        .before = empty_printed_and_write_kept,
	        .run = run_replacing,
	        .calls = COP_TEST_IO_READ | COP_TEST_IO_WRITE },
	ATTEMPT("evaluate tree rows.csv --confusion --threads 1", FILES),
	ATTEMPT("export --c tree", FILES),
	ATTEMPT("embed --train rows.csv --height 1 --rounds 1 --sweeps 1 --threads 1 --json --model saved", SAVED),
	ATTEMPT("embed --train rows.csv --height 1 --rounds 1 --sweeps 1 --threads 1 --html page.html", SAVED),
	ATTEMPT("embed --train rows.csv --height 1 --rounds 1 --sweeps 1 --threads 1 --out rows.out", SAVED),
	ATTEMPT("inspect tree --view json", FILES),
	ATTEMPT("inspect tree --view html --out page.html", SAVED),
	ATTEMPT("inspect tree --importance", FILES),
	MODEL("inspect " CORPUS "/checkpoint/several --json"),
	MODEL("inspect " CORPUS "/checkpoint/mixture --view html"),
	MODEL("inspect " CORPUS "/checkpoint/mixture_promoted --view html"),
	ATTEMPT("convert --from class --to csv rows.csv out.csv", SAVED),
	ATTEMPT("convert --from csv --to dsjson log.csv out.dsjson", SAVED),
	ATTEMPT("journal stat " STATE, FILES),
	ATTEMPT("journal stat " STATE " --json", FILES),
	ATTEMPT("journal verify " STATE, FILES),
	ATTEMPT("journal dump " STATE, FILES),
	MODEL("simulate --data rows.csv --learner dgt --height 1 --json"),
	{ .name = "simulate --data rows.csv --learner dgt --height 1 --refit-every 5", /* a refit's files may fail */
	        .before = empty_printed,
	        .run = run_attempt,
	        .spares_memory = true },
	MODEL("simulate --data rows.csv --learner rank --height 1 --trees 1 --items items.csv --holdout rows.csv"),
};

int main(void) { return cop_test_fail_group(attempts, sizeof attempts / sizeof *attempts, set_line, NULL, begin, end); }
