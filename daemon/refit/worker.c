/* The version among the arguments is compared first, before arguments that another version may not know. A test may
 * have the worker stop at a stage: the environment variable COPPICED_TEST_WORKER, HANG@STAGE, CRASH@STAGE or
 * MEMORY@STAGE, where STAGE is the beginning of a progress line's text. */
#include "daemon/refit/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/common/step_back.h"
#include "daemon/common/worker_line.h"
#include "daemon/durable/challenger.h"
#include "daemon/durable/checkpoint.h"
#include "daemon/durable/journaler.h"
#include "daemon/refit/duty_cycle.h"
#include "daemon/refit/worker_job.h"
#include "linalg/blas.h"
#include "online/model_shadow.h"
#include "refit/refit_file.h"
#include "refit/refit_run.h"
#include "store/checkpoint_file.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "train/lend.h"

#define TEST_VARIABLE "COPPICED_TEST_WORKER"
#define TELL_SECONDS  0.2  /* between lines of one text's beginning */
#define FIT_PART      0.75 /* of the memory is what events and fit are counted to take */

/* ---- its place ---- */

static void step_back(const cop_worker_job *job)
{
	const cop_step_back_settings settings = { .nice = job->nice, .idle = job->idle, .memory = job->memory };
	cop_step_back(&settings);
	if (job->idle)
		cop_duty_cycle_start();
}

/* ---- what it says ---- */

typedef struct worker {
	const cop_worker_job *job;
	const char *trap; /* of a test; NULL: none */
	cop_pool *pool;   /* with the ranks; NULL: it is alone */
	char said[COP_WORKER_TEXT];
	double when;
	cop_model *serving;
} worker;

static bool say(const cop_worker_line *line)
{
	char text[COP_WORKER_LINE];
	size_t length = cop_worker_line_put(line, text);
	for (size_t at = 0; at < length;) {
		ssize_t n = write(STDOUT_FILENO, text + at, length - at);
		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void spring(const worker *w, const char *text)
{
	const char *stage = w->trap == NULL ? NULL : strchr(w->trap, '@');
	if (stage == NULL || strncmp(text, stage + 1, strlen(stage + 1)) != 0)
		return;
	if (strncmp(w->trap, "HANG@", 5) == 0)
		for (;;)
			(void)pause();
	if (strncmp(w->trap, "CRASH@", 6) == 0)
		(void)raise(SIGSEGV);
	if (strncmp(w->trap, "MEMORY@", 7) != 0)
		return;
	(void)setrlimit(RLIMIT_AS, &(struct rlimit){ 1, 1 });
	for (size_t size = 65536; size > 64; size /= 4) /* what is free already */
		while (cop_mem_alloc(size, 1) != NULL)
			;
}

/* Texts of one stage differ in their figures; a new stage is told at once. */
static bool same_stage(const char *a, const char *b)
{
	size_t length = strcspn(a, " ,:0123456789");
	return length == strcspn(b, " ,:0123456789") && strncmp(a, b, length) == 0;
}

static bool report_progress(void *context, double share, const char *text)
{
	worker *w = context;
	double now = cop_clock_monotonic();
	if (w->pool != NULL && w->job->parent != 0 && kill(w->job->parent, 0) != 0 && errno == ESRCH)
		_exit(1); /* mpirun outlives the daemon that started it, and ends all when one of them ends so */
	if (same_stage(text, w->said) && now < w->when + TELL_SECONDS)
		return true;
	w->when = now;
	(void)snprintf(w->said, sizeof w->said, "%s", text);
	cop_worker_line line = { .share = fmin(fmax(share, 0.0), 1.0) };
	(void)snprintf(line.text, sizeof line.text, "%s", text);
	bool heard = say(&line);
	spring(w, text);
	return heard;
}

static cop_worker_line outcome_of(cop_err err, const cop_diag *diag)
{
	cop_worker_line line = { .result = true };
	line.outcome = err == COP_EEND                         ? COP_WORKER_NOTHING
	               : err == COP_ENOMEM || err == COP_EFULL ? COP_WORKER_MEMORY
	               : err == COP_EINVAL                     ? COP_WORKER_FAILED
	                                                       : COP_WORKER_DATA;
	char text[sizeof diag->source + sizeof diag->message + 32];
	cop_diag_text(diag, text, sizeof text);
	(void)snprintf(line.text, sizeof line.text, "%.*s", (int)sizeof line.text - 1,
	        text[0] != '\0' ? text : cop_err_text(err));
	return line;
}

/* ---- the serving model ---- */

static cop_err open_section(worker *w, const cop_model_section *section, cop_diag *diag)
{
	char name[COP_CONFIG_NAME_MAX + 1];
	cop_cursor cursor;
	cop_model_settings settings;
	cop_cursor_init(&cursor, section->data, section->length);
	cop_cursor_text(&cursor, name, sizeof name);
	if (cursor.err != COP_OK || strcmp(name, w->job->model) != 0)
		return cursor.err;
	size_t length = cop_cursor_left(&cursor);
	const uint8_t *data = cop_cursor_take(&cursor, length);
	cop_err err = cop_model_peek(data, length, &settings, diag);
	settings.explain_keep = 0;
	if (err == COP_OK && settings.learner.arms == 0)
		return COP_OK; /* only losses of arms are asked for */
	if (err == COP_OK)
		err = cop_model_new(&settings, &w->serving, diag);
	return err == COP_OK ? cop_model_load(w->serving, data, length, diag) : err;
}

/* From the newest checkpoint; without one, or when it is not in it, there is none. */
static cop_err open_serving(worker *w, cop_diag *diag)
{
	cop_bytes body;
	cop_section_file file;
	cop_model_section section;
	uint64_t sequence;
	cop_bytes_init(&body);
	cop_err err = cop_checkpoint_newest(w->job->state_dir, COP_STATE_DIR_CHECKPOINT, &body, &sequence, NULL, diag);
	if (err == COP_OK)
		err = cop_section_file_open(&file, body.data, body.length, NULL, diag);
	for (size_t at = 0; err == COP_OK && w->serving == NULL && cop_section_file_next(&file, &at, &section);)
		if (strcmp(section.name, COP_STATE_DIR_MODEL) == 0)
			err = open_section(w, &section, diag);
	cop_bytes_fini(&body);
	return err == COP_ENOTFOUND ? COP_OK : err;
}

static cop_err losses_of(void *context, const cop_row *x, size_t arms, float *out)
{
	const worker *w = context;
	return cop_model_losses(w->serving, x, arms, out);
}

/* ---- its work ---- */

static void fill_settings(const cop_worker_job *job, cop_refit_settings *set)
{
	cop_refit_defaults(set);
	set->model = job->model;
	set->method = job->method == COP_METHOD_FOREST   ? COP_REFIT_FOREST
	              : job->method == COP_METHOD_LAPTAO ? COP_REFIT_LAPTAO
	                                                 : COP_REFIT_TAO;
	set->window = job->window;
	set->holdout = job->holdout;
	set->after = job->after;
	set->until = job->durable;
	set->memory = (size_t)(FIT_PART * (double)job->memory);
	set->height = job->height;
	set->alpha = job->alpha;
	set->seed = job->seed;
	set->promotion.margin = job->margin;
	set->promotion.risk = job->risk;
}

static cop_err write_challenger(const worker *w, const cop_refit_file *file, cop_diag *diag)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_refit_file_put(file, &body);
	cop_err err = body.err;
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	else
		err = cop_challenger_write(w->job->state_dir, w->job->model, w->job->number, &body, diag);
	cop_bytes_fini(&body);
	return err;
}

static cop_worker_line made(const worker *w, const cop_refit_report *r)
{
	cop_worker_line line = {
		.result = true,
		.outcome = COP_WORKER_MADE,
		.number = w->job->number,
		.learned = r->learned,
		.leaves = r->leaves,
		.gain = r->model.values ? r->gain : r->summary.value[COP_PROMOTION_TEST_DR],
	};
	if (!isfinite(line.gain))
		line.gain = 0.0;
	(void)snprintf(line.text, sizeof line.text,
	        "%" PRIu64 " leaves from %" PRIu64 " decisions (%" PRIu64 " answered), judged by %" PRIu64, r->leaves,
	        r->fitted.events, r->fitted.answered, r->judged.answered);
	return line;
}

/* Of a window that the memory does not hold its newest half is fitted, or the newest half of that. */
static cop_err fit(worker *w, const char *journal, cop_refit_file *file, cop_diag *diag)
{
	const cop_progress progress = { report_progress, w };
	const cop_refit_estimate serving = { losses_of, w };
	cop_refit_settings *set = &file->settings;
	cop_err err;
	while ((err = cop_refit_run(set, journal, w->serving == NULL ? NULL : &serving, w->pool, &progress,
	                &file->report, &file->trees, diag)) == COP_EFULL &&
	        set->window / 2 >= set->least)
		set->window /= 2;
	return err;
}

static cop_worker_line work(worker *w)
{
	char journal[4096];
	cop_diag diag = { 0 };
	cop_refit_file file = { 0 };
	fill_settings(w->job, &file.settings);
	(void)snprintf(journal, sizeof journal, "%s/" COP_STATE_DIR_JOURNAL, w->job->state_dir);
	(void)report_progress(w, 0.0, "loading");
	cop_err err = open_serving(w, &diag);
	if (err == COP_OK)
		err = fit(w, journal, &file, &diag);
	cop_worker_line line;
	if (err == COP_OK && file.report.summary.verdict == COP_PROMOTION_TEST_WORSE) {
		line = made(w, &file.report);
		line.outcome = COP_WORKER_WORSE;
		line.number = 0;
	} else {
		if (err == COP_OK) {
			(void)report_progress(w, 1.0, "writing");
			err = write_challenger(w, &file, &diag);
		}
		line = err == COP_OK ? made(w, &file.report) : outcome_of(err, &diag);
		line.learned = file.report.learned;
	}
	cop_trees_free(file.trees);
	return line;
}

static int refuse_version(const char *daemon)
{
	cop_worker_line line = { .result = true, .outcome = COP_WORKER_FAILED };
	(void)snprintf(line.text, sizeof line.text,
	        "coppice-refit is of version " COP_VERSION
	        ", the daemon of %.32s; expected the same: install both from one "
	        "build, and restart coppiced",
	        daemon);
	return say(&line) ? 0 : 1;
}

static bool join_ranks(worker *w, const cop_ranks *ranks)
{
	if (ranks == NULL)
		return true;
	if (cop_pool_new(1, &w->pool) != COP_OK)
		return false;
	cop_pool_set_ranks(w->pool, ranks);
	return true;
}

static int help(worker *w)
{
	cop_err err = cop_lend_help(w->pool);
	if (err != COP_OK)
		(void)fprintf(stderr, "coppice-refit: a process that helps: %s\n", cop_err_text(err));
	return err == COP_OK ? 0 : 1;
}

static int lead(worker *w, const cop_ranks *ranks)
{
	(void)report_progress(w, 0.0, "starting");
	cop_worker_line line = work(w);
	cop_model_free(w->serving);
	bool said = say(&line);
	/* When it failed after it had read, the others may be in a fit still. */
	bool failed = line.outcome == COP_WORKER_MEMORY || line.outcome == COP_WORKER_DATA;
	bool apart = failed && !same_stage(w->said, "loading") && !same_stage(w->said, "reading") &&
	             !same_stage(w->said, "writing");
	return said && (ranks == NULL || (!apart && cop_lend_end(ranks) == COP_OK)) ? 0 : 1;
}

int cop_worker_main(int argc, char **argv, const cop_ranks *ranks)
{
	cop_worker_job job;
	const char *wrong, *version = cop_worker_read_version(argc, argv);
	if (version != NULL && strcmp(version, COP_VERSION) != 0)
		return ranks == NULL || ranks->rank == 0 ? refuse_version(version) : 0;
	if (!cop_worker_read_arguments(argc, argv, &job, &wrong)) {
		(void)fprintf(stderr, "coppice-refit: %s: expected what coppiced starts it with\n", wrong);
		return 2;
	}
	if (!cop_step_back_follow(ranks == NULL ? job.parent : 0))
		return 1;
	(void)signal(SIGPIPE, SIG_DFL);
	step_back(&job);
	cop_blas_threads(1);
	worker w = { .job = &job, .trap = getenv(TEST_VARIABLE) };
	int status = !join_ranks(&w, ranks) ? 1 : ranks != NULL && ranks->rank > 0 ? help(&w) : lead(&w, ranks);
	cop_pool_free(w.pool);
	return status;
}
