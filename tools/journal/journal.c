/* coppice journal: what a journal holds, whether it is whole, and what can be saved of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "journal_verb.h"
#include "journal_view.h"
#include "store/state_dir.h"
#include "tools/common/command.h"
#include "tools/common/options.h"

#define NAME COP_JOURNAL_COMMAND

static const char usage_text[] =

        "usage: coppice journal VERB FOLDER [OPTION ...]\n\n"
        "Reads a daemon's journal. FOLDER is its state folder or the folder with the\n"
        "segments; the daemon may be running.\n\n"
        "  ls FOLDER           the segments, one a line\n"
        "  stat FOLDER         how many records of which type and model, and how large\n"
        "  verify FOLDER       reads and checks everything; status 1 when something is\n"
        "                      damaged or missing\n"
        "  dump FOLDER         the records, one a line: sequence number, type, time\n"
        "                      (UTC), model, id, action, propensity, loss\n"
        "  salvage FOLDER OUT  copies every intact record of a damaged journal to the\n"
        "                      folder OUT\n\n"
        "  --json          ls, stat, verify, salvage: one JSON object; dump: one per\n"
        "                  record, with all of its fields\n"
        "  --from SEQ --to SEQ\n"
        "                  dump: records of these sequence numbers\n"
        "  --model NAME    dump: records of this model\n"
        "  --type TYPE     dump: decision, feedback, expiry, activation, config,\n"
        "                  promotion, unheard, forgotten or position\n"
        "  --id ID         dump: records of this decision\n"
        "  --unit UNIT     dump: records that name this unit\n";

typedef struct verb_row {
	const char *name;
	int folders;
	bool filters; /* takes dump's options */
	int (*run)(const cop_journal_request *request);
} verb_row;

static const verb_row verbs[] = {
	{ "ls", 1, false, cop_journal_verb_ls },
	{ "stat", 1, false, cop_journal_verb_stat },
	{ "verify", 1, false, cop_journal_verb_verify },
	{ "dump", 1, true, cop_journal_verb_dump },
	{ "salvage", 2, false, cop_journal_verb_salvage },
};

/* ---- what the verbs share ---- */

void cop_journal_verb_report_gap(uint64_t first, uint64_t last)
{
	if (first == last)
		cop_command_complain(NAME, "record %" PRIu64 " is missing", first);
	else
		cop_command_complain(NAME, "records %" PRIu64 " to %" PRIu64 " are missing", first, last);
}

int cop_journal_verb_report_damage(cop_err err, const cop_diag *diag)
{
	(void)cop_command_failed(NAME, diag);
	if (err == COP_EFORMAT)
		cop_command_complain(NAME, "'coppice journal salvage' copies what is intact");
	return COP_EXIT_FAILED;
}

bool cop_journal_verb_begin_json(bool wanted, cop_json_writer **json)
{
	cop_err err = cop_command_json_begin(wanted, json);
	return err == COP_OK || cop_command_complain(NAME, "%s", cop_err_text(err));
}

int cop_journal_verb_print_json(cop_json_writer *json)
{
	cop_diag diag = { 0 };
	return cop_command_end(NAME, COP_OK, json, &diag);
}

void cop_journal_verb_progress_begin(cop_journal_progress *progress)
{
	progress->on = isatty(STDERR_FILENO) != 0;
	progress->shown = false;
	progress->next = cop_command_now() + 1.0;
}

void cop_journal_verb_progress_show(cop_journal_progress *progress, uint64_t records)
{
	if (!progress->on || cop_command_now() < progress->next)
		return;
	(void)fprintf(stderr, "\r%" PRIu64 " records", records);
	progress->shown = true;
	progress->next = cop_command_now() + 0.2;
}

void cop_journal_verb_progress_clear(cop_journal_progress *progress)
{
	if (progress->shown)
		(void)fputs("\r\033[K", stderr);
	progress->shown = false;
}

int cop_journal_verb_finish(int status)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return status;
	cop_command_complain(NAME, "standard output: %s", strerror(errno));
	return COP_EXIT_FAILED;
}

/* ---- the folder ---- */

static cop_err count_segments(const char *folder, size_t *count, cop_diag *diag)
{
	cop_journal_file *files;
	cop_err err = cop_journal_list(folder, &files, count, diag);
	cop_mem_free(files);
	return err;
}

static bool is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* *path: the given folder, or when it has no segments its journal folder; caller frees with cop_mem_free. */
static cop_err find_folder(const char *given, char **path, cop_diag *diag)
{
	size_t count = 0;
	char *below = cop_journal_path(given, COP_STATE_DIR_JOURNAL);
	*path = cop_mem_strdup(given);
	if (below == NULL || *path == NULL) {
		cop_diag_of(diag, given, "out of memory");
		cop_mem_free(below);
		return COP_ENOMEM;
	}
	cop_err err = count_segments(*path, &count, diag);
	if (err == COP_OK && count == 0 && is_folder(below)) {
		cop_mem_free(*path);
		*path = below;
		below = NULL;
		err = count_segments(*path, &count, diag);
	}
	if (err == COP_OK && count == 0) {
		cop_diag_of(diag, *path, "no segments of a journal are in it");
		err = COP_ENOTFOUND;
	}
	cop_mem_free(below);
	return err;
}

/* ---- arguments ---- */

enum { FILTER = 1 }; /* a group: dump's options */

#define OF(member) COP_OPTION_OF(cop_journal_request, member)

static const cop_option rows[] = {
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ "from", COP_OPTION_WHOLE, OF(from), 0, UINT64_MAX, .groups = FILTER },
	{ "to", COP_OPTION_WHOLE, OF(to), 0, UINT64_MAX, .groups = FILTER },
	{ "model", COP_OPTION_TEXT, OF(model), .groups = FILTER },
	{ "type", COP_OPTION_WORD, OF(type), 1, .words = cop_journal_view_types, .groups = FILTER },
	{ "id", COP_OPTION_TEXT, OF(id), .groups = FILTER },
	{ "unit", COP_OPTION_TEXT, OF(unit), .groups = FILTER },
	{ .name = NULL },
};

static const verb_row *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	cop_command_complain(
	        NAME, "no verb '%s'; expected ls, stat, verify, dump or salvage (coppice journal --help)", name);
	return NULL;
}

static bool check(const verb_row *verb, int folders, bool filters)
{
	if (folders != verb->folders)
		cop_command_complain(NAME, "%s: expected %s (coppice journal --help)", verb->name,
		        verb->folders == 1 ? "one FOLDER" : "FOLDER and OUT");
	else if (filters && !verb->filters)
		cop_command_complain(NAME, "--from, --to, --model, --type, --id and --unit go with dump");
	else
		return true;
	return false;
}

int cop_command_journal(int argc, char **argv)
{
	cop_journal_request request = { .to = UINT64_MAX };
	bool given[sizeof rows / sizeof *rows] = { false };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &request, given } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind == argc)
		return cop_command_misused(NAME, "expected a verb (coppice journal --help)");
	const verb_row *verb = find_verb(argv[optind]);
	if (verb == NULL || !check(verb, argc - optind - 1, cop_options_given(&options.sets[0], FILTER) != NULL))
		return COP_EXIT_USAGE;
	char *path;
	cop_diag diag = { 0 };
	cop_err err = find_folder(argv[optind + 1], &path, &diag);
	request.folder = path;
	request.out = verb->folders == 2 ? argv[optind + 2] : NULL;
	status = err == COP_OK ? verb->run(&request) : cop_command_failed(NAME, &diag);
	cop_mem_free(path);
	return cop_journal_verb_finish(status);
}
