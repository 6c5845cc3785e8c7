/* coppice bakeoff: settings compared over labelled datasets. Runs first, then the report of what is in the files. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bakeoff_data.h"
#include "bakeoff_options.h"
#include "bakeoff_report.h"
#include "bakeoff_runs.h"
#include "bakeoff_store.h"
#include "base/mem.h"
#include "tools/common/command.h"

#define NAME COP_BAKEOFF_NAME

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* The first one ends the runs, the second one the program. */
static void catch_interrupt(void)
{
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

/* ---- datasets ---- */

static void complain_unknown(const cop_bakeoff_options *o, const cop_bakeoff_folder *folder, const char *name)
{
	char there[400] = "";
	size_t used = 0;
	for (size_t i = 0; i < folder->count && used + COP_BAKEOFF_NAME_ROOM + 8 < sizeof there; i++) {
		used += (size_t)snprintf(
		        there + used, sizeof there - used, "%s%s", i == 0 ? "" : ", ", folder->files[i].name);
		if (i + 1 < folder->count && used + COP_BAKEOFF_NAME_ROOM + 8 >= sizeof there)
			(void)snprintf(there + used, sizeof there - used, ", ...");
	}
	cop_command_complain(NAME, "no dataset '%s' in %s: expected %s.train.csv.gz (there: %s)", name, o->data_dir,
	        name, there[0] != '\0' ? there : "none");
}

/* The plan's entries, in the order of --datasets or of names. Caller frees them. */
static bool choose(const cop_bakeoff_options *o, const cop_bakeoff_folder *folder, cop_bakeoff_plan *plan)
{
	plan->found = o->datasets == 0;
	plan->count = plan->found ? folder->count : o->datasets;
	plan->entry = cop_mem_alloc(plan->count, sizeof *plan->entry);
	if (plan->entry == NULL)
		return cop_command_complain(NAME, "%s", cop_err_text(COP_ENOMEM));
	for (size_t i = 0; i < plan->count; i++) {
		const cop_bakeoff_files *files =
		        plan->found ? &folder->files[i] : cop_bakeoff_folder_find(folder, o->dataset[i]);
		if (files == NULL) {
			complain_unknown(o, folder, o->dataset[i]);
			return false;
		}
		plan->entry[i] =
		        (cop_bakeoff_entry){ .files = files, .most = cop_bakeoff_options_events(o, files->name) };
	}
	for (size_t i = 0; i < o->limits; i++)
		if (cop_bakeoff_folder_find(folder, o->limit[i].dataset) == NULL) {
			complain_unknown(o, folder, o->limit[i].dataset);
			return false;
		}
	if (plan->count == 0)
		cop_command_complain(NAME, "no datasets in %s: expected files such as NAME.train.csv.gz", o->data_dir);
	return plan->count > 0;
}

static int list(const cop_bakeoff_folder *folder)
{
	for (size_t i = 0; i < folder->count && interrupted == 0; i++) {
		cop_bakeoff_data data;
		cop_diag diag = { 0 };
		cop_err err = cop_bakeoff_data_init(&data, &folder->files[i], false, &diag);
		if (err == COP_OK)
			(void)printf("%-20s %8zu rows %6zu features %5zu classes%s\n", folder->files[i].name,
			        data.rows->n, data.features, data.classes, data.has_items ? ", with items" : "");
		else
			(void)printf("%-20s no dataset: %s\n", folder->files[i].name, diag.message);
		cop_bakeoff_data_fini(&data);
	}
	return fflush(stdout) == 0 ? 0 : COP_EXIT_FAILED;
}

/* ---- what is compared ---- */

typedef struct chosen {
	cop_bakeoff_rows rows;
	const char **datasets;
	size_t count;
} chosen;

/* Events of the runs that are compared: as planned, else the longest there are within the limit. */
static uint64_t compared_events(const cop_bakeoff_rows *rows, const cop_bakeoff_entry *entry)
{
	uint64_t most = 0;
	for (size_t i = 0; i < rows->count && entry->events == 0; i++) {
		const cop_bakeoff_row *row = &rows->row[i];
		bool within = entry->most == 0 || row->events <= entry->most;
		if (strcmp(row->dataset, entry->files->name) == 0 && within && row->events > most)
			most = row->events;
	}
	return entry->events != 0 ? entry->events : most;
}

static cop_err choose_planned(const cop_bakeoff_plan *plan, chosen *out)
{
	cop_err err = COP_OK;
	out->datasets = cop_mem_alloc(plan->count, sizeof *out->datasets);
	if (out->datasets == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < plan->count; i++)
		out->datasets[out->count++] = plan->entry[i].files->name;
	for (size_t s = 0; s < plan->settings->count; s++)
		for (size_t i = 0; i < plan->count; i++) {
			uint64_t events = compared_events(&plan->store->rows, &plan->entry[i]);
			for (uint64_t seed = 1; seed <= plan->seeds && err == COP_OK; seed++) {
				const cop_bakeoff_row *row = cop_bakeoff_rows_find(&plan->store->rows, out->datasets[i],
				        plan->settings->setting[s].name, seed, events);
				if (row != NULL)
					err = cop_bakeoff_rows_add(&out->rows, row);
			}
		}
	return err;
}

static bool is_listed(const chosen *c, const char *dataset)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->datasets[i], dataset) == 0)
			return true;
	return false;
}

/* Of a file that nothing is known of but its rows: of each dataset, setting and seed the longest run, the newest of
 * those. */
static cop_err choose_all(const cop_bakeoff_rows *rows, chosen *out)
{
	cop_err err = COP_OK;
	out->datasets = cop_mem_alloc(rows->count, sizeof *out->datasets);
	if (out->datasets == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < rows->count && err == COP_OK; i++) {
		const cop_bakeoff_row *row = &rows->row[i];
		bool best = true;
		if (!is_listed(out, row->dataset))
			out->datasets[out->count++] = row->dataset;
		for (size_t j = 0; j < rows->count && best; j++) {
			const cop_bakeoff_row *other = &rows->row[j];
			bool same = other->seed == row->seed && strcmp(other->setting, row->setting) == 0 &&
			            strcmp(other->dataset, row->dataset) == 0;
			best = !same || other->events < row->events || (other->events == row->events && j <= i);
		}
		if (best)
			err = cop_bakeoff_rows_add(&out->rows, row);
	}
	return err;
}

/* ---- the report ---- */

typedef struct peers {
	cop_bakeoff_rows rows[COP_BAKEOFF_MOST_PEERS];
	char name[COP_BAKEOFF_MOST_PEERS][64];
	const char *names[COP_BAKEOFF_MOST_PEERS];
} peers;

/* "a/b/vw.csv" is vw. */
static void name_file(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t length = strcspn(name, ".");
	(void)snprintf(out, size, "%.*s", (int)(length > 0 ? length : strlen(name)), name);
}

static cop_err read_peers(const cop_bakeoff_options *o, peers *p, cop_diag *diag)
{
	for (size_t i = 0; i < o->peers_count; i++) {
		cop_err err = cop_bakeoff_rows_read(o->peers[i], &p->rows[i], diag);
		if (err != COP_OK)
			return err;
		name_file(o->peers[i], p->name[i], sizeof p->name[i]);
		p->names[i] = p->name[i];
	}
	return COP_OK;
}

static cop_err report(const cop_bakeoff_options *o, const cop_bakeoff_store *store, const chosen *c, const peers *p,
        bool partial, cop_diag *diag)
{
	cop_bakeoff_score score = { .fields = 0 };
	cop_bakeoff_score_settings set = { .own = &c->rows,
		.peers = p->rows,
		.peer_names = p->names,
		.files = o->peers_count,
		.datasets = c->datasets,
		.datasets_count = c->count,
		.risk = o->risk,
		.reference = o->reference };
	cop_err err = cop_bakeoff_score_init(&score, &set, diag);
	if (err == COP_OK) {
		cop_bakeoff_report r = { .score = &score,
			.rows = &c->rows,
			.points = &store->points,
			.reference = o->reference,
			.risk = o->risk,
			.partial = partial };
		if (o->json)
			err = cop_bakeoff_report_json(&r);
		else
			cop_bakeoff_report_text(&r, stdout);
		if (err == COP_OK && o->report != NULL)
			err = cop_bakeoff_report_write(&r, o->report, diag);
	}
	cop_bakeoff_score_fini(&score);
	return err;
}

/* The exit status of a command whose rows are all there; a failure has been complained of. */
static int finish(const cop_bakeoff_options *o, const cop_bakeoff_store *store, const cop_bakeoff_plan *plan,
        const peers *p, bool partial)
{
	chosen c = { .count = 0 };
	cop_diag diag = { 0 };
	cop_err err = plan != NULL ? choose_planned(plan, &c) : choose_all(&store->rows, &c);
	if (err != COP_OK)
		cop_diag_message(&diag, "%s", cop_err_text(err));
	else if (c.rows.count == 0)
		cop_command_complain(NAME, "%s has no results to report", store->path);
	else
		err = report(o, store, &c, p, partial, &diag);
	int status = err != COP_OK ? cop_command_failed(NAME, &diag) : c.rows.count == 0 ? COP_EXIT_FAILED : 0;
	cop_bakeoff_rows_fini(&c.rows);
	cop_mem_free(c.datasets);
	return fflush(stdout) == 0 ? status : COP_EXIT_FAILED;
}

/* ---- the command ---- */

static int run_and_report(cop_bakeoff_options *o, cop_bakeoff_plan *plan, cop_bakeoff_store *store, const peers *p)
{
	cop_bakeoff_outcome outcome;
	cop_diag diag = { 0 };
	cop_err err = cop_bakeoff_settings_finish(&o->settings, &diag);
	if (err == COP_OK)
		err = cop_bakeoff_store_open(o->csv, &o->settings, o->replace, store, &diag);
	if (err != COP_OK)
		return cop_command_failed(NAME, &diag);
	plan->store = store;
	catch_interrupt();
	err = cop_bakeoff_run(plan, &outcome, &diag);
	if (err != COP_OK)
		return cop_command_failed(NAME, &diag);
	int status = finish(o, store, plan, p, outcome.done < outcome.runs);
	if (outcome.failed > 0)
		cop_command_complain(NAME, "%" PRIu64 " of %" PRIu64 " runs failed", outcome.failed, outcome.runs);
	if (outcome.stopped && outcome.done < outcome.runs)
		cop_command_complain(NAME,
		        "interrupted: %" PRIu64 " of %" PRIu64 " runs are in %s; the same command goes on",
		        outcome.done, outcome.runs, store->path);
	return outcome.done < outcome.runs ? COP_EXIT_FAILED : status;
}

static int with_data(cop_bakeoff_options *o, cop_bakeoff_store *store, const peers *p)
{
	cop_bakeoff_folder folder;
	cop_diag diag = { 0 };
	cop_bakeoff_plan plan = { .settings = &o->settings,
		.seeds = o->seeds,
		.jobs = (size_t)o->jobs,
		.progress = isatty(STDERR_FILENO) ? stderr : NULL,
		.stop = &interrupted };
	int status;
	if (cop_bakeoff_folder_init(&folder, o->data_dir, &diag) != COP_OK)
		status = cop_command_failed(NAME, &diag);
	else if (o->list)
		status = list(&folder);
	else if (!choose(o, &folder, &plan))
		status = COP_EXIT_FAILED;
	else
		status = run_and_report(o, &plan, store, p);
	cop_mem_free(plan.entry);
	cop_bakeoff_folder_fini(&folder);
	return status;
}

int cop_command_bakeoff(int argc, char **argv)
{
	static cop_bakeoff_options o; /* large */
	cop_bakeoff_store store = { .csv = -1, .curves = -1 };
	peers p = { .rows = { { NULL, 0, 0 } } };
	cop_diag diag = { 0 };
	int status = cop_bakeoff_options_read(argc, argv, &o);
	if (status >= 0)
		return status;
	if (read_peers(&o, &p, &diag) != COP_OK)
		status = cop_command_failed(NAME, &diag);
	else if (o.data_dir != NULL)
		status = with_data(&o, &store, &p);
	else if (cop_bakeoff_store_read(o.csv, &store, &diag) != COP_OK)
		status = cop_command_failed(NAME, &diag);
	else
		status = finish(&o, &store, NULL, &p, false);
	cop_bakeoff_store_close(&store);
	for (size_t i = 0; i < o.peers_count; i++)
		cop_bakeoff_rows_fini(&p.rows[i]);
	return status;
}
