/* coppice whatif: what a model would have done, and what that would have cost, with other settings. The settings that it
 * has are those of its newest checkpoint. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/number.h"
#include "online/model_options.h"
#include "online/model_page_names.h"
#include "store/checkpoint_file.h"
#include "store/state_dir.h"
#include "tools/common/command.h"
#include "tools/common/options.h"
#include "tools/common/saved_file.h"
#include "whatif_run.h"

#define NAME        "whatif"
#define MOST_VALUES 65 /* of one option */
#define SHOWN       8  /* changes from arm to arm */
#define MOST_PATH   4096

static const char usage_text[] = "usage: coppice whatif STATE [OPTION ...] [SETTING=VALUE ...]\n\n"
                                 "Learns a span of a daemon's journal (in its state folder STATE) once with the\n"
                                 "settings that a model has and once with others, and estimates from the recorded\n"
                                 "propensities what the second policy would have cost, with an interval, and which\n"
                                 "decisions would have changed. A SETTING is an option of a model's section of the\n"
                                 "configuration (policy=squarecb, gamma=50, learner=dgt ...).\n\n"
                                 "  --model NAME    which model (default: the only one)\n"
                                 "  --from TIME     decisions from this time on: Unix seconds, or a time in UTC\n"
                                 "                  like 2026-11-27T10:52:01Z (default: all of the journal)\n"
                                 "  --to TIME       and until this one (default: its end)\n"
                                 "  --window S      losses that took longer are not waited for: the model's\n"
                                 "                  default loss is learned in their place, or nothing\n"
                                 "  --without A,B,...\n"
                                 "                  features of the context that are not seen: numbers from 0, or\n"
                                 "                  names\n"
                                 "  --names FILE    names of all features, one a line, for --without\n"
                                 "                  (default: those that the model's file has; a daemon's\n"
                                 "                  feature_names are in its configuration alone)\n"
                                 "  --level L       of the intervals (default 0.95)\n"
                                 "  --json          one JSON object on standard output\n";

typedef struct whatif {
	const char *state, *model, *without;
	double window, level, from, to;
	bool wants_json;
	cop_model_page_given given[COP_MODEL_PAGE_GIVEN];
	cop_bytes checkpoint;
	cop_section_file file;
	char name[COP_SAVED_FILE_NAME]; /* in the state folder */
	const void *data;               /* of the model's section */
	size_t length;
	char journal[MOST_PATH];
	uint8_t *left_out;
	cop_whatif_question question;
	cop_whatif_figures figures;
	cop_json_writer *json;
} whatif;

/* ---- the model ---- */

/* Whether it is called so, in whatever life. */
static bool is_model(const char *stored, const char *name)
{
	size_t length = strcspn(stored, "#");
	return name == NULL || (strlen(name) == length && strncmp(stored, name, length) == 0) ||
	       strcmp(stored, name) == 0;
}

static cop_err find_model(whatif *w, cop_diag *diag)
{
	cop_model_section section;
	size_t count = 0;
	for (size_t at = 0; cop_section_file_next(&w->file, &at, &section);) {
		char stored[COP_SAVED_FILE_NAME];
		cop_cursor cursor;
		if (!cop_saved_file_names(&section, stored) || !is_model(stored, w->model))
			continue;
		cop_cursor_init(&cursor, section.data, section.length);
		cop_cursor_text(&cursor, w->name, sizeof w->name);
		w->length = cop_cursor_left(&cursor);
		w->data = cop_cursor_take(&cursor, w->length);
		count++;
	}
	if (count == 1)
		return COP_OK;
	if (count == 0)
		cop_diag_of(diag, w->state, "no model '%s' in its newest checkpoint", w->model == NULL ? "" : w->model);
	else
		cop_diag_of(diag, w->state, "%zu models in its newest checkpoint; expected --model NAME", count);
	return COP_ENOTFOUND;
}

/* The newest file could not be used: an older one's settings may not be the model's. */
static void note_skipped(void *context, uint64_t sequence, const cop_diag *why)
{
	cop_diag *first = context;
	(void)sequence;
	if (first->message[0] == '\0')
		*first = *why;
}

static cop_err open_state(whatif *w, cop_diag *diag)
{
	uint64_t sequence;
	cop_diag why = { 0 }, skipped = { 0 };
	const cop_checkpoint_listener listener = { note_skipped, &skipped };
	(void)snprintf(w->journal, sizeof w->journal, "%s/" COP_STATE_DIR_JOURNAL, w->state);
	cop_err err =
	        cop_checkpoint_newest(w->state, COP_STATE_DIR_CHECKPOINT, &w->checkpoint, &sequence, &listener, &why);
	if (skipped.message[0] != '\0') {
		*diag = skipped;
		return COP_EIO;
	}
	if (err == COP_ENOTFOUND)
		cop_diag_of(diag, w->state, "no checkpoint in it; expected a daemon's state folder");
	else if (err != COP_OK)
		*diag = why;
	if (err == COP_OK)
		err = cop_section_file_open(&w->file, w->checkpoint.data, w->checkpoint.length, w->state, diag);
	if (err == COP_OK)
		err = find_model(w, diag);
	if (err == COP_OK)
		err = cop_model_peek(w->data, w->length, &w->question.was, diag);
	if (err == COP_OK && cop_model_options_learner(&w->question.was) == COP_SETTING_OF_VALUE) {
		cop_diag_of(diag, w->state, "model \"%s\" plays values; expected one of arms or candidates", w->name);
		err = COP_EINVAL;
	}
	w->question.was.explain_keep = 0;
	w->question.journal = w->journal;
	w->question.model = w->name;
	return err;
}

/* ---- the other settings ---- */

/* What the journal's rows and losses are. */
static bool is_fixed(const char *name)
{
	static const char *const names[] = { "arms", "features", "bits", "max_nonzeros", "candidate_features",
		"max_candidates", "loss_range", "value_range", "feedback", NULL };
	for (size_t i = 0; names[i] != NULL; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The defaults of a learner, for the same rows and losses. */
static void begin_learner(const cop_model_settings *was, const char *learner, cop_model_settings *out)
{
	cop_model_settings_init(out);
	cop_setting_copy(cop_model_options_find("learner"), out, was);
	for (const cop_setting *o = cop_model_options; o->name != NULL; o++)
		if (is_fixed(o->name))
			cop_setting_copy(o, out, was);
	out->has_default_loss = was->has_default_loss;
	out->default_loss = was->default_loss;
	out->reward_window = was->reward_window;
	out->pending_max = was->pending_max;
	out->pending_bytes = was->pending_bytes;
	out->explain_keep = 0;
	(void)snprintf(out->learner.learner, sizeof out->learner.learner, "%s", learner);
}

static bool wrong(const char *word, const cop_setting *o)
{
	char expected[192];
	cop_setting_describe(o, expected, sizeof expected);
	return cop_command_complain(NAME, "%s: expected %s", word, expected);
}

static bool read_setting(char *word, cop_model_settings *set)
{
	char *equals = strchr(word, '='), *value = equals + 1;
	const char *texts[MOST_VALUES];
	size_t count = 0, place;
	*equals = '\0';
	const cop_setting *o = cop_model_options_find(word);
	/* Beside what the learner goes by, only what --window learns in place of a loss. */
	bool acts = o != NULL && o->kind < COP_SETTING_OTHER &&
	            (o->offset < sizeof(cop_learner_settings) || strcmp(word, "default_loss") == 0);
	if (!acts || is_fixed(word))
		return cop_command_complain(NAME,
		        o != NULL && is_fixed(word)
		                ? "%s: is what the journal's decisions have; expected another option"
		                : "%s: no such option of a model that learns from a journal",
		        word);
	if (strcmp(word, "learner") != 0 && !cop_model_options_has(set, o))
		return cop_command_complain(NAME, "%s: learner %s has no such option", word, set->learner.learner);
	for (char *at = value; at != NULL && count < MOST_VALUES; count++) {
		char *comma = cop_setting_is_list(o) ? strchr(at, ',') : NULL;
		if (comma != NULL)
			*comma = '\0';
		texts[count] = at;
		at = comma == NULL ? NULL : comma + 1;
	}
	if (cop_setting_read(o, texts, count, set, &place))
		return true;
	return wrong(word, o);
}

static bool begins(const char *word, const char *name)
{
	size_t length = strlen(name);
	return strncmp(word, name, length) == 0 && word[length] == '=';
}

/* The learner and the policy before all else, on whose defaults the others hang. */
static bool read_settings(whatif *w, int count, char **words)
{
	cop_model_settings *would = &w->question.would;
	const cop_setting *policy = cop_model_options_find("policy");
	*would = w->question.was;
	for (int i = 0; i < count; i++) {
		if (strchr(words[i], '=') == NULL || words[i][0] == '=')
			return cop_command_complain(NAME, "'%s': expected SETTING=VALUE", words[i]);
		for (int k = 0; k < i; k++)
			if (strncmp(words[k], words[i], strcspn(words[i], "=") + 1) == 0)
				return cop_command_complain(NAME, "%s: given twice, expected once", words[i]);
		if (begins(words[i], "learner") && strcmp(words[i] + strlen("learner="), would->learner.learner) != 0)
			begin_learner(&w->question.was, words[i] + strlen("learner="), would);
	}
	for (int first = 1; first >= 0; first--)
		for (int i = 0; i < count; i++) {
			if (words[i][0] == '\0' ||
			        (first == 1 && !begins(words[i], "learner") && !begins(words[i], "policy")))
				continue;
			if (!read_setting(words[i], would))
				return false;
			words[i][0] = '\0';
			if (first == 1 && !cop_setting_equal(policy, would, &w->question.was)) {
				would->learner.exploration.gamma = -1.0;
				would->learner.exploration.shares.least_propensity = -1.0;
			}
		}
	cop_model_options_fill(would);
	return true;
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
		err = cop_model_page_names_read(&names, l, w->data, w->length, diag);
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

typedef struct answer {
	cop_estimate was, would, gain;
	double logged;
} answer;

static void estimate(const whatif *w, answer *out)
{
	const cop_offpolicy_estimator *dr = cop_offpolicy_find("dr");
	cop_estimate logged;
	(void)!cop_offpolicy_estimate(&w->figures.was, cop_offpolicy_find("logged"), NULL, w->level, &logged);
	(void)!cop_offpolicy_estimate(&w->figures.was, dr, NULL, w->level, &out->was);
	(void)!cop_offpolicy_estimate(&w->figures.would, dr, NULL, w->level, &out->would);
	(void)!cop_offpolicy_pair_estimate(&w->figures.gain, dr, NULL, w->level, &out->gain);
	out->logged = logged.value;
}

static void put_estimate(cop_json_writer *json, const char *key, const cop_estimate *e)
{
	cop_json_put_object(json, key);
	cop_json_put_number(json, "value", e->value);
	cop_json_put_number(json, "low", e->low);
	cop_json_put_number(json, "high", e->high);
	cop_json_end_object(json);
}

/* The most frequent changes that are left in `from`; false: there are none. */
static bool next_change(const cop_whatif_figures *f, uint64_t *before, size_t *was, size_t *would, uint64_t *count)
{
	*count = 0;
	size_t place = 0, last = *was * f->arms + *would;
	for (size_t i = 0; i < f->arms * f->arms; i++) {
		uint64_t n = f->change[i];
		bool left = n < *before || (n == *before && i > last);
		if (i / f->arms == i % f->arms || !left || n <= *count)
			continue;
		*count = n;
		place = i;
	}
	*was = f->arms > 0 ? place / f->arms : 0;
	*would = f->arms > 0 ? place % f->arms : 0;
	*before = *count;
	return *count > 0;
}

static void put_changes(const whatif *w, cop_json_writer *json)
{
	const cop_whatif_figures *f = &w->figures;
	uint64_t before = UINT64_MAX, count;
	size_t was = 0, would = 0;
	if (json != NULL)
		cop_json_put_array(json, "changes");
	for (size_t i = 0; i < SHOWN && next_change(f, &before, &was, &would, &count); i++) {
		if (json == NULL) {
			(void)printf("    arm %zu -> arm %zu: %" PRIu64 "\n", was, would, count);
			continue;
		}
		cop_json_begin_object(json);
		cop_json_put_unsigned(json, "was", was);
		cop_json_put_unsigned(json, "would", would);
		cop_json_put_unsigned(json, "decisions", count);
		cop_json_end_object(json);
	}
	if (json != NULL)
		cop_json_end_array(json);
}

static void put_json(const whatif *w, const answer *a)
{
	const cop_whatif_figures *f = &w->figures;
	cop_json_put_text(w->json, "model", w->name);
	cop_json_put_unsigned(w->json, "events", f->events);
	cop_json_put_unsigned(w->json, "bad", f->bad);
	cop_json_put_unsigned(w->json, "late", f->late);
	cop_json_put_unsigned(w->json, "refused", f->refused);
	cop_json_put_number(w->json, "from", f->first);
	cop_json_put_number(w->json, "to", f->last);
	cop_json_put_number(w->json, "mean_loss", a->logged);
	put_estimate(w->json, "was", &a->was);
	put_estimate(w->json, "would", &a->would);
	put_estimate(w->json, "gain", &a->gain);
	cop_json_put_unsigned(w->json, "changed", f->changed);
	put_changes(w, w->json);
}

static void put_time(const char *word, double time)
{
	char text[32] = "?";
	time_t seconds = (time_t)time;
	struct tm utc;
	if (gmtime_r(&seconds, &utc) != NULL)
		(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
	(void)printf(" %s %s", word, text);
}

static void put_line(const char *what, const cop_estimate *e)
{
	(void)printf("  %-13s%.4f [%.4f, %.4f]\n", what, e->value, e->low, e->high);
}

static const char *verdict(const cop_estimate *gain)
{
	if (gain->low == 0.0 && gain->high == 0.0)
		return "none";
	return gain->high < 0.0 ? "better" : gain->low > 0.0 ? "worse" : "neither is surely better";
}

static void put_text(const whatif *w, const answer *a)
{
	const cop_whatif_figures *f = &w->figures;
	(void)printf("model %s: %" PRIu64 " decisions whose loss is known", w->name, f->events);
	put_time("from", f->first);
	put_time("to", f->last);
	(void)printf("\n  %-13s%.4f\n", "mean loss", a->logged);
	put_line("as it is", &a->was);
	put_line("what if", &a->would);
	(void)printf("  %-13s%+.4f [%+.4f, %+.4f]: %s\n", "difference", a->gain.value + 0.0, a->gain.low + 0.0,
	        a->gain.high + 0.0, verdict(&a->gain));
	(void)printf("  another best action in %" PRIu64 " decisions (%.1f %%)\n", f->changed,
	        100.0 * (double)f->changed / (double)f->events);
	put_changes(w, NULL);
	if (f->late > 0)
		(void)printf("  %" PRIu64 " losses took longer than the window\n", f->late);
	if (f->bad > 0)
		(void)printf("  %" PRIu64 " events made no sense\n", f->bad);
	if (f->refused > 0)
		(void)printf("  %" PRIu64 " updates were refused: they would have diverged\n", f->refused);
}

static cop_err answer_it(whatif *w, cop_diag *diag)
{
	answer a;
	cop_err err = cop_whatif_run(&w->question, &w->figures, diag);
	if (err == COP_OK && w->figures.events == 0) {
		cop_diag_of(diag, w->journal, "no decision of model \"%s\" whose loss is known in that span", w->name);
		err = COP_ENOTFOUND;
	}
	if (err == COP_OK)
		err = cop_command_json_begin(w->wants_json, &w->json);
	if (err != COP_OK)
		return err;
	estimate(w, &a);
	if (w->json != NULL)
		put_json(w, &a);
	else
		put_text(w, &a);
	return COP_OK;
}

/* ---- arguments ---- */

static bool read_time(void *settings, const cop_option *row, char *text)
{
	double *out = (double *)(void *)((char *)settings + row->offset);
	struct tm utc = { 0 };
	if (cop_number_parse(text, strlen(text), out) == COP_OK && isfinite(*out))
		return true;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	if (end == NULL || (*end != '\0' && strcmp(end, "Z") != 0))
		return cop_command_complain(NAME,
		        "--%s: '%s' given, expected unix seconds or a time like 2026-11-27T10:52:01Z", row->name, text);
	*out = (double)timegm(&utc);
	return true;
}

#define OF(member) COP_OPTION_OF(whatif, member)

static const cop_option rows[] = {
	{ "model", COP_OPTION_TEXT, OF(model) },
	{ "from", COP_OPTION_CALL, OF(from), .read = read_time },
	{ "to", COP_OPTION_CALL, OF(to), .read = read_time },
	{ "window", COP_OPTION_NUMBER, OF(window), .low = 1e-6, .high = 1e9 },
	{ "without", COP_OPTION_TEXT, OF(without) },
	{ "names", COP_OPTION_TEXT, OF(given[COP_MODEL_PAGE_FEATURES].file) },
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
	if (optind == argc)
		return cop_command_misused(NAME, "expected STATE (coppice whatif --help)");
	w.state = argv[optind++];
	cop_bytes_init(&w.checkpoint);
	cop_err err = open_state(&w, &diag);
	if (err == COP_OK && !read_settings(&w, argc - optind, argv + optind)) {
		cop_bytes_fini(&w.checkpoint);
		return COP_EXIT_USAGE;
	}
	w.question.window = w.window;
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
	cop_bytes_fini(&w.checkpoint);
	return cop_command_end(NAME, err, w.json, &diag);
}
