/* Whatever is printed is printed at the end and at once, so that an answer is whole or none. A decision whose model is
 * no longer known as it was then is answered by what its record holds. A test may hold an answer back: while the file
 * is there that the environment variable COPPICED_TEST_PAST names. */
#include "daemon/past_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/common/log.h"
#include "daemon/common/step_back.h"
#include "daemon/report/explain_body.h"
#include "daemon/report/past_body.h"
#include "daemon/report/past_desk.h"
#include "linalg/blas.h"
#include "store/journal_segment.h"
#include "store/state_dir.h"
#include "wire/wire_json.h"
#include "wire/wire_put.h"

#define TEST_VARIABLE "COPPICED_TEST_PAST"
#define HELD_US       1000
#define NICE          10
#define ROOM          (UINT64_C(256) << 20) /* bytes of memory beside the models */
#define MOST          4096                  /* bytes of a question */

/* Which names may not be those of then. */
static void put_names(bool today, bool later, bool unknown, cop_bytes *out)
{
	if (!today && !later && !unknown)
		return;
	cop_wire_put_text(out, "names");
	size_t map = cop_wire_put_map_open(out);
	if (today)
		cop_wire_put_key_bool(out, "today", true);
	if (later)
		cop_wire_put_key_bool(out, "later", true);
	if (unknown)
		cop_wire_put_key_bool(out, "unknown", true);
	cop_wire_put_map_close(out, map);
}

static cop_err put_explanation(cop_past *past, cop_bytes *out)
{
	static const cop_wire_seq none;
	cop_explain_past then = { .later = past->names.later };
	cop_explain_body e = { .served = past->slot, .seq = &none, .past = &then };
	cop_err err = cop_explain_body_of_waiting(&e, &past->id);
	if (err == COP_OK) {
		cop_explain_body_put_keys(&e, out);
		put_names(
		        cop_past_names_are_today(&past->names, past->slot->config), then.came_later, then.unknown, out);
		err = out->err;
	}
	return err;
}

int cop_past_answer_explain(cop_config *config, const cop_past_question *question)
{
	char text[COP_LOG_LINE];
	cop_diag diag = { 0 };
	cop_past past;
	cop_bytes body, out;
	cop_bytes_init(&body);
	cop_bytes_init(&out);
	cop_blas_threads(1);
	cop_err err = cop_past_open(&past, config, question, &diag);
	size_t map = cop_wire_put_map_open(&body);
	if (err == COP_OK)
		err = put_explanation(&past, &body);
	cop_wire_put_map_close(&body, map);
	if (err == COP_OK)
		err = cop_wire_json(&out, body.data, body.length, 0);
	if (err == COP_OK && printf("%.*s\n", (int)out.length, (const char *)out.data) < 0)
		err = COP_EIO;
	if (err != COP_OK) {
		cop_diag_text(&diag, text, sizeof text);
		(void)fprintf(stderr, "coppiced: %s\n", diag.message[0] != '\0' ? text : cop_err_text(err));
	}
	cop_past_close(&past);
	cop_bytes_fini(&body);
	cop_bytes_fini(&out);
	return err == COP_OK && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- on behalf of a daemon ---- */

typedef struct answer {
	cop_config *config;
	const cop_config_model *model;
	char *folder; /* of the journal */
	cop_wire_past question;
	cop_past_search search;
	cop_bytes out;
	cop_diag diag;
} answer;

static cop_past_search_wanted wanted_of(const answer *a)
{
	const cop_wire_past *q = &a->question;
	return (cop_past_search_wanted){ .folder = a->folder,
		.model = a->model->name,
		.id = q->id.kind == 0 ? NULL : &q->id,
		.prefix = q->prefix,
		.before = q->before,
		.limit = q->limit == 0 ? 1 : q->limit,
		.records = q->limit == 0 ? UINT64_MAX : COP_PAST_SEARCH_RECORDS };
}

static void tell_time(double seconds, char out[32])
{
	const time_t whole = (time_t)seconds;
	struct tm utc;
	if (gmtime_r(&whole, &utc) == NULL || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		(void)snprintf(out, 32, "%.0f", seconds);
}

/* The one decision, into search.found. */
static cop_err find_one(answer *a)
{
	const cop_past_search_wanted wanted = wanted_of(a);
	if (a->question.record != 0)
		return cop_past_search_record(&wanted, a->question.record, a->search.found, &a->diag);
	cop_err err = cop_past_search_run(&wanted, &a->search, &a->diag);
	if (err != COP_OK || a->search.count > 0)
		return err;
	char since[32];
	tell_time(a->search.since, since);
	if (a->search.to == 0)
		cop_diag_message(&a->diag, "no decision of this id; no record of the journal is there to look through");
	else
		cop_diag_message(&a->diag,
		        "no decision of this id; looked through the journal's records %" PRIu64 " to %" PRIu64
		        ", since %s",
		        a->search.from, a->search.to, since);
	return COP_ENOTFOUND;
}

/* As it would have been explained then, or by its record. */
static cop_err put_decision(answer *a)
{
	const cop_past_search_found *found = a->search.found;
	const cop_past_question question = { .model = a->model->name, .id = "", .record = found->sequence };
	cop_diag why = { 0 };
	cop_past past;
	cop_err err = cop_past_open(&past, a->config, &question, &why);
	if (err == COP_OK)
		err = put_explanation(&past, &a->out);
	const bool today = found->has_arm && cop_past_names_are_today(&past.names, a->model);
	cop_past_close(&past);
	if (err == COP_OK) {
		cop_wire_put_key_double(&a->out, "t", found->time);
		cop_wire_put_key_unsigned(&a->out, "record", found->sequence);
		cop_past_body_put_life(a->model, found, &a->out);
	} else if (err != COP_ENOMEM) {
		cop_past_body_put_found(a->model, found, &a->out);
		cop_wire_put_key_text(&a->out, "state", "record");
		cop_wire_put_key_text(&a->out, "why", why.message[0] != '\0' ? why.message : cop_err_text(err));
		put_names(today, false, false, &a->out);
		err = COP_OK;
	}
	return err;
}

static cop_err follow(answer *a, cop_past_fate *fates, size_t count)
{
	const cop_past_search_found *found = a->search.found;
	for (size_t i = 0; i < count; i++)
		fates[i] =
		        (cop_past_fate){ .id = found[i].id, .stored = found[i].stored, .sequence = found[i].sequence };
	return cop_past_fate_follow(a->folder, fates, count, COP_PAST_SEARCH_RECORDS, &a->diag);
}

static cop_err answer_decision(answer *a)
{
	cop_past_fate fate;
	cop_err err = find_one(a);
	if (err == COP_OK)
		err = follow(a, &fate, 1);
	if (err == COP_OK)
		err = put_decision(a);
	if (err == COP_OK)
		cop_past_body_put_fate(&fate, &a->out);
	return err;
}

static cop_err answer_decisions(answer *a)
{
	const cop_past_search_wanted wanted = wanted_of(a);
	cop_err err = cop_past_search_run(&wanted, &a->search, &a->diag);
	cop_past_fate *fates = cop_mem_alloc(COP_WIRE_PAST_LIMIT, sizeof *fates);
	if (err == COP_OK && fates == NULL)
		err = COP_ENOMEM;
	if (err == COP_OK)
		err = follow(a, fates, a->search.count);
	if (err == COP_OK) {
		cop_wire_put_key_text(&a->out, "state", "done");
		cop_past_body_put_search(a->model, &a->search, fates, &a->out);
	}
	cop_mem_free(fates);
	return err;
}

static bool read_question(answer *a, bool many)
{
	uint8_t body[MOST];
	size_t length = 0;
	ssize_t n;
	while (length < sizeof body && (n = read(STDIN_FILENO, body + length, sizeof body - length)) != 0) {
		if (n < 0 && errno != EINTR)
			return false;
		length += n > 0 ? (size_t)n : 0;
	}
	return (many ? cop_wire_past_decisions(body, length, &a->question, NULL)
	             : cop_wire_past_decision(body, length, &a->question, NULL)) == COP_OK;
}

static cop_err run(answer *a, bool many)
{
	size_t map = cop_wire_put_map_open(&a->out);
	cop_err err = many ? answer_decisions(a) : answer_decision(a);
	cop_wire_put_map_close(&a->out, map);
	return err == COP_OK ? a->out.err : err;
}

static void hold(void)
{
	const char *file = getenv(TEST_VARIABLE);
	while (file != NULL && access(file, F_OK) == 0)
		(void)usleep(HELD_US);
}

static int print(const answer *a, cop_err err)
{
	if (err == COP_OK)
		(void)fwrite(a->out.data, 1, a->out.length, stdout);
	else
		(void)fputs(a->diag.message[0] != '\0' ? a->diag.message : cop_err_text(err), stdout);
	if (fflush(stdout) != 0)
		return EXIT_FAILURE;
	return err == COP_OK ? EXIT_SUCCESS : err == COP_ENOTFOUND ? COP_PAST_DESK_NOTHING : EXIT_FAILURE;
}

int cop_past_answer_aside(cop_config *config, int parent, const char *verb, const char *model)
{
	bool many = strcmp(verb, "decisions") == 0;
	answer a = { .config = config, .model = cop_config_find(config, model, strlen(model)) };
	cop_step_back_settings settings = { .nice = NICE, .idle = true, .memory = ROOM };
	if (!cop_step_back_follow(parent) || a.model == NULL || !read_question(&a, many)) {
		(void)puts("expected to be asked by a daemon");
		return EXIT_FAILURE;
	}
	for (size_t i = 0; !many && i < config->model_count; i++)
		settings.memory += cop_config_model_bytes(&config->models[i]) / 4 * 5;
	cop_step_back(&settings);
	cop_blas_threads(1);
	cop_bytes_init(&a.out);
	a.folder = cop_journal_path(config->state_dir, COP_STATE_DIR_JOURNAL);
	cop_err err = a.folder == NULL ? COP_ENOMEM : run(&a, many);
	hold();
	int status = print(&a, err);
	cop_bytes_fini(&a.out);
	cop_mem_free(a.folder);
	return status;
}
