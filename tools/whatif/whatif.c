/* coppice whatif: what a model would have done, and what that would have cost, with other settings. The settings that
 * it has are those of its newest checkpoint. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "online/model_options.h"
#include "online/model_page_names.h"
#include "tools/common/command.h"
#include "tools/common/options.h"
#include "whatif_answer.h"
#include "whatif_run.h"
#include "whatif_state.h"

#define NAME "whatif"

static const char usage_text[] = "usage: coppice whatif STATE [OPTION ...] [SETTING=VALUE ...]\n\n"
                                 "Learns a span of a daemon's journal (in its state folder STATE) once as a model\n"
                                 "learned it and once with other settings, and estimates from the recorded\n"
                                 "propensities what the second policy would have cost, with an interval, and which\n"
                                 "decisions would have changed. A SETTING is an option of a model's section of the\n"
                                 "configuration (policy=squarecb, gamma=50, learner=dgt ...).\n\n"
                                 "  --model NAME    which model (default: the only one); NAME#1 is its life after\n"
                                 "                  it was begun anew once, NAME#0 its first, if a checkpoint\n"
                                 "                  still has it\n"
                                 "  --from TIME     decisions from this time on: Unix seconds, or a time in UTC\n"
                                 "                  like 2026-11-27T10:52:01Z (default: all of the journal)\n"
                                 "  --to TIME       and until this one (default: its end)\n"
                                 "  --fresh         both begin new with the span (default: as the model was then,\n"
                                 "                  by the newest checkpoint from before the span or the journal's\n"
                                 "                  first record, where the other settings can go on with that)\n"
                                 "  --window S      how long losses are waited for, as reward_window\n"
                                 "  --without A,B,...\n"
                                 "                  features of the context that are not seen: numbers from 0, or\n"
                                 "                  names\n"
                                 "  --names FILE    names of all features, one a line, for --without\n"
                                 "                  (default: those that the model's file has; a daemon's\n"
                                 "                  feature_names are in its configuration alone)\n"
                                 "  --save FILE     write the model of the other settings, as it is at the span's\n"
                                 "                  end, for a daemon's start_from\n"
                                 "  --changed FILE  write the decisions that would have changed, a JSON line each:\n"
                                 "                  id, t, record, the best action as it was and as it would be,\n"
                                 "                  what was played with which p, and its loss\n"
                                 "  --level L       of the intervals (default 0.95)\n"
                                 "  --json          one JSON object on standard output\n";

typedef struct whatif {
	const char *state, *model, *without;
	const char *save, *changed;
	double level, from, to;
	bool wants_json, fresh;
	cop_whatif_changes changes;
	cop_bytes saved;
	cop_whatif_changed lines;
	cop_model_page_given given[COP_MODEL_PAGE_GIVEN];
	cop_whatif_state is;
	uint8_t *left_out;
	cop_whatif_question question;
	cop_whatif_figures figures;
	cop_json_writer *json;
} whatif;

/* ---- the model ---- */

static cop_err open_state(whatif *w, cop_diag *diag)
{
	const cop_whatif_state *s = &w->is;
	cop_err err = cop_whatif_state_open(w->state, w->model, &w->is, diag);
	w->question.state = w->state;
	w->question.journal = s->journal;
	w->question.model = s->name;
	w->question.was = s->was;
	w->question.data = s->data;
	w->question.length = s->length;
	w->question.next = s->next;
	return err;
}

/* ---- features that are left out ---- */

static cop_err mark(whatif *w, const cop_model_page_names *names, const char *text, size_t d, cop_diag *diag)
{
	char name[COP_MODEL_PAGE_NAME_ROOM];
	bool digits = text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
	unsigned long long number = digits ? strtoull(text, NULL, 10) : 0;
	if (digits && strlen(text) < 10 && number < d) {
		w->left_out[number] = 1;
		return COP_OK;
	}
	for (size_t j = 0; j < d && !digits; j++) {
		if (cop_model_page_names_feature(names, j, name, sizeof name) && strcmp(name, text) == 0) {
			w->left_out[j] = 1;
			return COP_OK;
		}
	}
	cop_diag_of(diag, "--without",
	        "'%.80s': expected a feature's name (--names, or saved with the model), or its number below %zu", text,
	        d);
	return COP_EINVAL;
}

static cop_err read_without(whatif *w, cop_diag *diag)
{
	const cop_learner_settings *l = &w->question.was.learner;
	const size_t d = l->features != 0 ? l->features : (size_t)1 << l->bits;
	cop_model_page_names names = { .given = w->given };
	cop_err err = COP_OK;
	if (w->without == NULL && w->given[COP_MODEL_PAGE_FEATURES].file != NULL) {
		cop_diag_of(diag, "--names", "goes with --without");
		return COP_EINVAL;
	}
	if (w->without == NULL)
		return COP_OK;
	w->left_out = cop_mem_alloc(d, 1);
	char *list = cop_mem_strdup(w->without);
	if (w->left_out == NULL || list == NULL)
		err = COP_ENOMEM;
	if (err == COP_OK)
		err = cop_model_page_names_given_read(&w->given[COP_MODEL_PAGE_FEATURES], diag);
	if (err == COP_OK)
		err = cop_model_page_names_read(&names, l, w->is.data, w->is.length, diag);
	if (err == COP_OK)
		err = cop_model_page_names_check(&names, l, diag);
	for (char *at = list; err == COP_OK && at != NULL;) {
		char *comma = strchr(at, ',');
		if (comma != NULL)
			*comma = '\0';
		err = mark(w, &names, at, d, diag);
		at = comma == NULL ? NULL : comma + 1;
	}
	cop_model_page_names_fini(&names);
	cop_mem_free(list);
	w->question.without = w->left_out;
	return err;
}

/* ---- the answer ---- */

/* The lines of what would have changed are written meanwhile. */
static cop_err run(whatif *w, cop_diag *diag)
{
	if (w->changed == NULL)
		return cop_whatif_run(&w->question, &w->figures, diag);
	cop_err err = cop_whatif_changed_open(&w->lines, w->changed, &w->question.was, diag);
	if (err != COP_OK)
		return err;
	w->question.changed = &w->lines;
	err = cop_whatif_run(&w->question, &w->figures, diag);
	const bool keep = err == COP_OK && w->figures.unwritten != COP_ENOMEM;
	cop_err closed =
	        cop_whatif_changed_close(&w->lines, keep, diag); /* what could not be written comes back here */
	if (err == COP_OK && !keep)
		err = COP_ENOMEM;
	return err == COP_OK ? closed : err;
}

static cop_err answer_it(whatif *w, cop_diag *diag)
{
	cop_err err = run(w, diag);
	if (err == COP_OK && w->figures.events == 0) {
		cop_diag_of(diag, w->is.journal, "no decision of model \"%s\" whose loss is known in that span",
		        w->is.name);
		err = COP_ENOTFOUND;
	}
	if (err == COP_OK && w->save != NULL)
		err = cop_section_file_save(w->save, &w->saved, diag);
	if (err == COP_OK)
		err = cop_command_json_begin(w->wants_json, &w->json);
	if (err != COP_OK)
		return err;
	cop_whatif_answer(w->is.name, &w->figures, w->level, w->json);
	return COP_OK;
}

/* ---- arguments ---- */

#define OF(member) COP_OPTION_OF(whatif, member)

static const cop_option rows[] = {
	{ "model", COP_OPTION_TEXT, OF(model) },
	{ "from", COP_OPTION_TIME, OF(from) },
	{ "to", COP_OPTION_TIME, OF(to) },
	{ "window", COP_OPTION_NUMBER, OF(changes.window), .low = 1e-6, .high = 1e9 },
	{ "without", COP_OPTION_TEXT, OF(without) },
	{ "names", COP_OPTION_TEXT, OF(given[COP_MODEL_PAGE_FEATURES].file) },
	{ "fresh", COP_OPTION_FLAG, OF(fresh) },
	{ "save", COP_OPTION_TEXT, OF(save) },
	{ "changed", COP_OPTION_TEXT, OF(changed) },
	{ "level", COP_OPTION_NUMBER, OF(level), .low = 0.5, .high = 0.999999 },
	{ "json", COP_OPTION_FLAG, OF(wants_json) },
	{ .name = NULL },
};

int cop_command_whatif(int argc, char **argv)
{
	whatif w = { .level = 0.95, .from = (double)-INFINITY, .to = (double)INFINITY };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &w, NULL } } };
	cop_diag diag = { 0 };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind == argc || w.to < w.from)
		return cop_command_misused(NAME, optind == argc ? "expected STATE (coppice whatif --help)"
		                                                : "--to: expected a time after --from");
	w.state = argv[optind++];
	cop_bytes_init(&w.saved);
	cop_err err = open_state(&w, &diag);
	cop_model_settings would;
	w.changes.count = (size_t)(argc - optind);
	w.changes.words = argv + optind;
	if (err == COP_OK && !cop_whatif_settings_change(&w.changes, &w.question.was, &would)) {
		cop_whatif_state_close(&w.is);
		return COP_EXIT_USAGE;
	}
	w.question.changes = &w.changes;
	w.question.fresh = w.fresh;
	w.question.save = w.save != NULL ? &w.saved : NULL;
	w.question.from = w.from;
	w.question.to = w.to;
	w.question.level = w.level;
	if (err == COP_OK)
		err = read_without(&w, &diag);
	if (err == COP_OK)
		err = answer_it(&w, &diag);
	if (err != COP_OK && diag.message[0] == '\0')
		cop_diag_of(&diag, w.state, "%s", cop_err_text(err));
	cop_model_page_names_given_fini(&w.given[COP_MODEL_PAGE_FEATURES]);
	cop_whatif_run_fini(&w.figures);
	cop_mem_free(w.left_out);
	cop_bytes_fini(&w.saved);
	cop_whatif_state_close(&w.is);
	return cop_command_end(NAME, err, w.json, &diag);
}
