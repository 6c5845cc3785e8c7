/* coppice diff: what a model learned between two times, in words. Both files' models are read whole; a model of both is
 * compared, whatever else the files hold. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_terms.h"
#include "online/model_options.h"
#include "store/state_dir.h"
#include "tools/common/command.h"
#include "tools/common/options.h"
#include "tools/common/saved_file.h"
#include "tools/whatif/whatif_state.h"
#include "view/tree_phrases.h"

#define NAME      "diff"
#define USUAL_TOP 8
#define MOST_TOP  64

static const char usage_text[] = "usage: coppice diff OLD NEW [OPTION ...]\n"
                                 "       coppice diff STATE --model NAME --from TIME [--to TIME] [OPTION ...]\n\n"
                                 "Shows in words what models learned between two files of them: checkpoints of a\n"
                                 "daemon or of its backups, or models that `coppice replay` saved; or what a model\n"
                                 "learned between two times, from the journal and the checkpoints in a daemon's\n"
                                 "state folder STATE.\n\n"
                                 "  --model NAME    only this model\n"
                                 "  --from TIME     of STATE: the model as it was then: Unix seconds, or a time in\n"
                                 "                  UTC like 2026-11-27T10:52:01Z\n"
                                 "  --to TIME       of STATE: and as it was then (default: as it is)\n"
                                 "  --top N         changed terms shown of each expert (default 8)\n"
                                 "  --names FILE    names of all features, one a line (default: those saved with\n"
                                 "                  the newer model)\n"
                                 "  --candidate-names FILE\n"
                                 "                  the same of the features of candidates\n"
                                 "  --arm-names FILE\n"
                                 "                  the same of arms, else arm 0, arm 1 ...\n"
                                 "  --json          one JSON object on standard output\n";

typedef struct diff {
	cop_saved_file old, new;
	const char *only;  /* NULL: all models */
	const char *state; /* folder; NULL: files are compared */
	double from, to;   /* of state; NaN: not given */
	uint64_t top;
	bool wants_json;
	cop_model_page_given given[COP_MODEL_PAGE_GIVEN];
	cop_json_writer *json; /* NULL: text */
	cop_bytes out;
	size_t shown;
} diff;

/* ---- settings and figures ---- */

static void print_setting(const cop_setting *option, const cop_model *model, cop_bytes *out)
{
	cop_bytes_clear(out);
	cop_setting_print(option, &cop_setting_in_file, cop_model_get_settings(model), out);
	cop_bytes_put_u8(out, 0);
}

static bool is_compared(const cop_setting *option)
{
	return option->kind < COP_SETTING_OTHER && (option->flags & COP_SETTING_IS_SAVED) != 0;
}

static bool differs(const cop_setting *o, const cop_diff_pair *pair)
{
	return is_compared(o) &&
	       !cop_setting_equal(o, cop_model_get_settings(pair->old), cop_model_get_settings(pair->new));
}

static cop_err check_shape(const cop_diff_pair *pair, cop_diag *diag)
{
	cop_bytes old, new;
	cop_bytes_init(&old);
	cop_bytes_init(&new);
	cop_err err = COP_OK;
	for (const cop_setting *o = cop_model_options; o->name != NULL && err == COP_OK; o++) {
		if ((o->flags & COP_SETTING_IS_SHAPE) == 0 || !differs(o, pair))
			continue;
		print_setting(o, pair->old, &old);
		print_setting(o, pair->new, &new);
		err = old.err != COP_OK ? old.err : new.err != COP_OK ? new.err : COP_ESHAPE;
		if (err == COP_ESHAPE)
			cop_diag_message(diag, "models of different shapes cannot be compared: %s %.60s, then %.60s",
			        o->name, (const char *)old.data, (const char *)new.data);
	}
	cop_bytes_fini(&old);
	cop_bytes_fini(&new);
	return err;
}

/* Those that differ. */
static cop_err put_settings(diff *d, const cop_diff_pair *pair)
{
	cop_bytes old, new;
	cop_bytes_init(&old);
	cop_bytes_init(&new);
	cop_err err = COP_OK;
	if (d->json != NULL)
		cop_json_put_array(d->json, "settings");
	for (const cop_setting *o = cop_model_options; o->name != NULL && err == COP_OK; o++) {
		if (!differs(o, pair))
			continue;
		print_setting(o, pair->old, &old);
		print_setting(o, pair->new, &new);
		err = old.err != COP_OK ? old.err : new.err;
		const char *was = (const char *)old.data, *is = (const char *)new.data;
		if (err == COP_OK && d->json == NULL)
			cop_tree_phrases_put(&d->out, "  %s: %s -> %s\n", o->name, was, is);
		if (err != COP_OK || d->json == NULL)
			continue;
		cop_json_begin_object(d->json);
		cop_json_put_text(d->json, "option", o->name);
		cop_json_put_text(d->json, "old", was);
		cop_json_put_text(d->json, "new", is);
		cop_json_end_object(d->json);
	}
	if (d->json != NULL)
		cop_json_end_array(d->json);
	cop_bytes_fini(&old);
	cop_bytes_fini(&new);
	return err;
}

static double mean(double sum, uint64_t count) { return count > 0 ? sum / (double)count : 0.0; }

/* What was decided and learned in between; a newer file that has less is the older one, or of a model begun anew. */
static cop_err put_figures(diff *d, const cop_diff_pair *pair, cop_diag *diag)
{
	const cop_model_counters *was = cop_model_get_counters(pair->old), *is = cop_model_get_counters(pair->new);
	if (is->decisions < was->decisions || is->learned < was->learned) {
		cop_diag_message(diag,
		        "the newer model has fewer decisions (%" PRIu64 ") than the older one (%" PRIu64
		        "); expected OLD, then NEW, of a model that was not begun anew in between",
		        is->decisions, was->decisions);
		return COP_EINVAL;
	}
	uint64_t learned = is->learned - was->learned, decisions = is->decisions - was->decisions;
	double loss = mean(is->loss_sum - was->loss_sum, learned), before = mean(was->loss_sum, was->learned);
	if (d->json == NULL) {
		cop_tree_phrases_put(
		        &d->out, "  %" PRIu64 " new decisions, %" PRIu64 " losses learned", decisions, learned);
		if (learned > 0)
			cop_tree_phrases_put(&d->out, ", whose mean is %.4g", loss);
		if (learned > 0 && was->learned > 0)
			cop_tree_phrases_put(&d->out, " (%.4g before)", before);
		cop_tree_phrases_put(&d->out, "\n");
		return COP_OK;
	}
	cop_json_put_unsigned(d->json, "decisions", decisions);
	cop_json_put_unsigned(d->json, "learned", learned);
	if (learned > 0)
		cop_json_put_number(d->json, "mean_loss", loss);
	if (was->learned > 0)
		cop_json_put_number(d->json, "mean_loss_before", before);
	return COP_OK;
}

/* ---- models ---- */

static cop_err compare(diff *d, const cop_diff_pair *pair, cop_diag *diag)
{
	cop_err err = check_shape(pair, diag);
	if (err == COP_OK)
		err = put_figures(d, pair, diag);
	size_t before = d->out.length;
	if (err == COP_OK)
		err = put_settings(d, pair);
	if (err == COP_OK)
		err = cop_diff_terms_put(pair, &d->out, d->json);
	if (err == COP_OK && d->json == NULL && d->out.length == before)
		cop_tree_phrases_put(&d->out, "  nothing that it has learned changed\n");
	return err;
}

/* The older file's model of that name. COP_ENOTFOUND: it has none, but perhaps one in another life, *other. */
static cop_err find_old(
        const diff *d, const char *wanted, const void **data, size_t *length, char *other, cop_diag *diag)
{
	char name[COP_SAVED_FILE_NAME];
	const size_t base = strcspn(wanted, "#");
	size_t at = 0;
	cop_err err;
	other[0] = '\0';
	while ((err = cop_saved_file_next(&d->old, &at, name, data, length, diag)) == COP_OK) {
		if (strcmp(name, wanted) == 0)
			return COP_OK;
		if (strcspn(name, "#") == base && strncmp(name, wanted, base) == 0)
			memcpy(other, name, sizeof name);
	}
	return err == COP_EEND ? COP_ENOTFOUND : err;
}

static unsigned long life_of(const char *stored)
{
	const char *mark = strchr(stored, '#');
	return mark == NULL ? 0 : strtoul(mark + 1, NULL, 10);
}

/* The models are not one that went on: nothing of what the older one had learned is in the newer one. */
static void put_begun_anew(diff *d, const char *old, const char *new)
{
	const int base = (int)strcspn(new, "#");
	if (d->json == NULL) {
		cop_tree_phrases_put(&d->out,
		        "model %.*s\n  was begun anew in between (life %lu -> %lu): what it had learned is left "
		        "behind\n",
		        base, new, life_of(old), life_of(new));
		return;
	}
	cop_json_begin_object(d->json);
	cop_json_put_text_length(d->json, "model", new, (size_t)base);
	cop_json_put_object(d->json, "begun_anew");
	cop_json_put_unsigned(d->json, "old", life_of(old));
	cop_json_put_unsigned(d->json, "new", life_of(new));
	cop_json_end_object(d->json);
	cop_json_end_object(d->json);
}

/* With as many arms and features as the newer one has: some may have been added since. */
static cop_err open_old(
        diff *d, const void *data, size_t length, const cop_model *newer, cop_model **out, cop_diag *diag)
{
	const cop_model_settings *is = cop_model_get_settings(newer);
	cop_model_settings was;
	cop_err err = cop_model_peek(data, length, &was, diag);
	const cop_learner_settings *a = &was.learner, *b = &is->learner;
	const bool grown = err == COP_OK && (a->arms < b->arms || a->features < b->features);
	if (!grown || cop_model_can_load(&was, is, NULL) != COP_OK)
		return err == COP_OK ? cop_model_open(data, length, out, diag) : err;
	if (d->json == NULL && a->arms < b->arms)
		cop_tree_phrases_put(&d->out, "  arms: %zu -> %zu\n", a->arms, b->arms);
	if (d->json == NULL && a->features < b->features)
		cop_tree_phrases_put(&d->out, "  features: %zu -> %zu\n", a->features, b->features);
	err = cop_model_new(is, out, diag);
	return err == COP_OK ? cop_model_load(*out, data, length, diag) : err;
}

typedef struct found {
	const char *name; /* the newer one's */
	const void *old, *new;
	size_t old_length, new_length;
} found;

static void put_head(diff *d, const char *name)
{
	const size_t base = strcspn(name, "#");
	if (d->json != NULL) {
		cop_json_begin_object(d->json);
		cop_json_put_text_length(d->json, "model", name, base);
	} else {
		cop_tree_phrases_put(&d->out, "model %.*s\n", (int)base, name);
	}
}

static cop_err compare_found(diff *d, const found *f, cop_diag *diag)
{
	cop_diff_pair pair = { .top = (size_t)d->top };
	cop_model_page_names names = { .given = d->given };
	cop_err err = cop_model_open(f->new, f->new_length, &pair.new, diag);
	const cop_learner_settings *settings = err == COP_OK ? &cop_model_get_settings(pair.new)->learner : NULL;
	if (err == COP_OK)
		err = cop_model_page_names_read(&names, settings, f->new, f->new_length, diag);
	if (err == COP_OK)
		err = cop_model_page_names_check(&names, settings, diag);
	pair.name = &names;
	if (err == COP_OK)
		put_head(d, f->name);
	if (err == COP_OK)
		err = open_old(d, f->old, f->old_length, pair.new, &pair.old, diag);
	if (err == COP_OK)
		err = compare(d, &pair, diag);
	if (err == COP_OK && d->json != NULL)
		cop_json_end_object(d->json);
	cop_model_page_names_fini(&names);
	cop_model_free(pair.old);
	cop_model_free(pair.new);
	return err;
}

static cop_err compare_model(diff *d, found *f, cop_diag *diag)
{
	char other[COP_SAVED_FILE_NAME];
	cop_err err = find_old(d, f->name, &f->old, &f->old_length, other, diag);
	if (err == COP_OK)
		return compare_found(d, f, diag);
	if (err == COP_ENOTFOUND && other[0] != '\0') {
		put_begun_anew(d, other, f->name);
		return COP_OK;
	}
	if (err == COP_ENOTFOUND && d->only == NULL) {
		if (d->json == NULL)
			cop_tree_phrases_put(&d->out, "model %.*s\n  is new\n", (int)strcspn(f->name, "#"), f->name);
		return COP_OK;
	}
	if (err == COP_ENOTFOUND)
		cop_diag_of(diag, d->old.path, "no model '%s' in it", f->name);
	return err;
}

static cop_err compare_all(diff *d, cop_diag *diag)
{
	char name[COP_SAVED_FILE_NAME];
	found f = { .name = name };
	size_t at = 0;
	cop_err err;
	while ((err = cop_saved_file_next(&d->new, &at, name, &f.new, &f.new_length, diag)) == COP_OK) {
		if (!cop_whatif_state_is(name, d->only))
			continue;
		d->shown++;
		err = compare_model(d, &f, diag);
		if (err != COP_OK)
			return err;
	}
	if (err == COP_EEND && d->shown == 0) {
		cop_diag_of(diag, d->new.path, d->only != NULL ? "no model '%s' in it" : "no model in it%s",
		        d->only != NULL
		                ? d->only
		                : " that learns from decisions; expected a checkpoint, or a model of coppice replay");
		return COP_ENOTFOUND;
	}
	return err == COP_EEND ? COP_OK : err;
}

static cop_err open_files(diff *d, cop_diag *diag)
{
	cop_err err = cop_saved_file_open(&d->old, diag);
	return err == COP_OK ? cop_saved_file_open(&d->new, diag) : err;
}

/* The model as it was at a time, as a checkpoint of it alone: its name tells its life. */
static cop_err open_time(const diff *d, double time, cop_saved_file *out, cop_diag *diag)
{
	char name[COP_SAVED_FILE_NAME];
	cop_bytes file;
	cop_bytes_init(&file);
	out->path = d->state;
	out->checkpoint = true;
	cop_err err = cop_whatif_state_at(d->state, d->only, time, &file, name, diag);
	size_t all = cop_section_file_begin(&out->bytes);
	size_t section = cop_section_file_begin_section(&out->bytes, COP_STATE_DIR_MODEL, 1);
	cop_bytes_put_text(&out->bytes, name);
	cop_bytes_put(&out->bytes, file.data, file.length);
	cop_section_file_end_section(&out->bytes, section);
	cop_section_file_end(&out->bytes, all);
	cop_bytes_fini(&file);
	if (err == COP_OK)
		err = out->bytes.err;
	return err == COP_OK ? cop_section_file_open(&out->file, out->bytes.data, out->bytes.length, d->state, diag)
	                     : err;
}

static cop_err open_times(diff *d, cop_diag *diag)
{
	cop_bytes_init(&d->old.bytes);
	cop_bytes_init(&d->new.bytes);
	cop_err err = open_time(d, d->from, &d->old, diag);
	return err == COP_OK ? open_time(d, d->to, &d->new, diag) : err;
}

static cop_err run(diff *d, cop_diag *diag)
{
	cop_bytes_init(&d->out);
	cop_err err = d->state != NULL ? open_times(d, diag) : open_files(d, diag);
	for (size_t i = 0; i < COP_MODEL_PAGE_GIVEN && err == COP_OK; i++)
		err = cop_model_page_names_given_read(&d->given[i], diag);
	if (err == COP_OK)
		err = cop_command_json_begin(d->wants_json, &d->json);
	if (err == COP_OK && d->json != NULL)
		cop_json_put_array(d->json, "models");
	if (err == COP_OK)
		err = compare_all(d, diag);
	if (err == COP_OK && d->json != NULL)
		cop_json_end_array(d->json);
	if (err == COP_OK)
		err = d->out.err;
	if (err == COP_OK && d->json == NULL)
		(void)fwrite(d->out.data, 1, d->out.length, stdout);
	if (err != COP_OK && diag->source[0] == '\0')
		(void)snprintf(diag->source, sizeof diag->source, "%s", d->new.path);
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_of(diag, d->new.path, "%s", cop_err_text(err));
	for (size_t i = 0; i < COP_MODEL_PAGE_GIVEN; i++)
		cop_model_page_names_given_fini(&d->given[i]);
	cop_saved_file_close(&d->old);
	cop_saved_file_close(&d->new);
	cop_bytes_fini(&d->out);
	return err;
}

#define OF(member) COP_OPTION_OF(diff, member)

static const cop_option rows[] = {
	{ "model", COP_OPTION_TEXT, OF(only) },
	{ "from", COP_OPTION_TIME, OF(from) },
	{ "to", COP_OPTION_TIME, OF(to) },
	{ "top", COP_OPTION_WHOLE, OF(top), 1, MOST_TOP },
	{ "names", COP_OPTION_TEXT, OF(given[COP_MODEL_PAGE_FEATURES].file) },
	{ "candidate-names", COP_OPTION_TEXT, OF(given[COP_MODEL_PAGE_CANDIDATES].file) },
	{ "arm-names", COP_OPTION_TEXT, OF(given[COP_MODEL_PAGE_ARMS].file) },
	{ "json", COP_OPTION_FLAG, OF(wants_json) },
	{ .name = NULL },
};

int cop_command_diff(int argc, char **argv)
{
	diff d = { .top = USUAL_TOP, .from = (double)NAN, .to = (double)INFINITY };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &d, NULL } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	const bool times = !isnan(d.from);
	if (optind + (times ? 1 : 2) != argc)
		return cop_command_misused(NAME, times ? "--from: expected STATE alone (coppice diff --help)"
		                                       : "expected OLD and NEW (coppice diff --help)");
	if (times && d.only == NULL)
		return cop_command_misused(NAME, "--from: expected --model NAME");
	if (!times && isfinite(d.to))
		return cop_command_misused(NAME, "--to: expected --from TIME");
	if (times && d.to < d.from)
		return cop_command_misused(NAME, "--to: expected a time after --from");
	d.state = times ? argv[optind] : NULL;
	d.old.path = argv[optind];
	d.new.path = argv[argc - 1];
	cop_diag diag = { 0 };
	cop_err err = run(&d, &diag);
	return cop_command_end(NAME, err, d.json, &diag);
}
