/* All spellings of a setting become one text of options in a fixed order. The fingerprint is a checksum of what a
 * new model of the setting decides on a fixed stream, so another build or processor shows as well. */
#include "bakeoff_settings.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/rng.h"
#include "base/stream.h"
#include "tools/common/command.h"
#include "tools/common/learner_options.h"
#include "tools/common/refit_options.h"
#include "tools/common/settings_text.h"
#include "tools/simulate/simulation.h"
#include "wire/wire_code.h"

#define TEXT_ROOM 1024

static const struct {
	const char *name;
	const char *text;
} built_in[] = {
	{ "default", "--learner ensemble" },
	{ "epsilon", "--learner ensemble --policy epsilon --epsilon 0.1 --epsilon-decay 0.01 --epsilon-floor 0.005" },
	{ "dgt", "--learner dgt" },
	{ "skyline", "--learner ensemble --skyline" },
};

static const char *const learners[] = { "ensemble", "dgt", "rank", NULL };

static bool complain(const char *text, const char *what)
{
	return cop_command_complain(COP_BAKEOFF_NAME, "setting '%s': %s (coppice bakeoff --help)", text, what);
}

const char *cop_bakeoff_settings_name_wrong(const char *name, size_t length)
{
	if (length == 0)
		return "a name is empty";
	if (length >= COP_BAKEOFF_NAME_ROOM)
		return "a name is longer than 95 bytes";
	if (name[0] == ' ' || name[length - 1] == ' ')
		return "a name begins or ends with a blank";
	for (size_t i = 0; i < length;) {
		size_t step = cop_wire_text_step(name + i, length - i);
		if (step == 0 || (unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return "a name holds bytes that are no text";
		if (name[i] == ',' || name[i] == '"')
			return "a name holds a comma or a quote";
		i += step;
	}
	return NULL;
}

/* ---- one setting ---- */

/* The same text for the same options, in whatever words and order they came. */
static void write_options(const cop_learner_options *o, char *out)
{
	cop_learner_options_write(o, out, COP_BAKEOFF_OPTIONS_ROOM);
	memmove(out, out + 1, strlen(out)); /* the blank before the first option */
	if (*o->skyline)
		strncat(out, " --skyline", COP_BAKEOFF_OPTIONS_ROOM - strlen(out) - 1);
	size_t used = strlen(out);
	cop_refit_options_write(o->refits, out + used, COP_BAKEOFF_OPTIONS_ROOM - used);
}

static bool finish(cop_bakeoff_settings *settings, const char *name, const cop_learner_options *options)
{
	char text[COP_LEARNER_WRONG_ROOM];
	const char *wrong = cop_bakeoff_settings_name_wrong(name, strlen(name));
	if (wrong == NULL)
		wrong = cop_learner_options_wrong(options, false, text);
	if (wrong == NULL)
		wrong = cop_refit_options_wrong(options->refits, options->settings.learner);
	if (wrong == NULL && *options->skyline && options->refits->settings.every > 0)
		wrong = "skyline has no refits beside it";
	if (wrong == NULL && settings->count == COP_BAKEOFF_MOST_SETTINGS)
		wrong = "too many settings, expected at most 64";
	for (size_t i = 0; i < settings->count && wrong == NULL; i++)
		if (strcmp(settings->setting[i].name, name) == 0)
			wrong = "another setting has this name";
	if (wrong != NULL)
		return complain(name, wrong);
	cop_bakeoff_setting *s = &settings->setting[settings->count++];
	*s = (cop_bakeoff_setting){
		.learner = options->settings, .refits = options->refits->settings, .skyline = *options->skyline
	};
	(void)snprintf(s->name, sizeof s->name, "%s", name);
	write_options(options, s->options);
	return true;
}

/* ---- texts ---- */

typedef struct options {
	cop_learner_options learner;
	cop_refit_options refits;
	bool skyline;
} options;

static void begin(options *o)
{
	*o = (options){ .skyline = false };
	cop_learner_options_init(&o->learner, COP_BAKEOFF_NAME, learners);
	cop_refit_options_init(&o->refits, COP_BAKEOFF_NAME);
	o->learner.refits = &o->refits;
	o->learner.skyline = &o->skyline;
}

/* `words` is a part of a copy that may be cut up; `text` is for complaints. */
static bool add_long(cop_bakeoff_settings *settings, const char *text, const char *name, char *words)
{
	options o;
	char wrong[COP_SETTING_WRONG_ROOM];
	begin(&o);
	if (!cop_setting_long(words, &o.learner, wrong))
		return wrong[0] != '\0' && complain(text, wrong);
	return finish(settings, name, &o.learner);
}

static bool read_long(cop_bakeoff_settings *settings, const char *text, char *copy)
{
	char name[TEXT_ROOM];
	char *words = strstr(copy, "--");
	size_t length = (size_t)(words - copy);
	while (length > 0 && (copy[length - 1] == ' ' || copy[length - 1] == ':' || copy[length - 1] == '='))
		length--;
	if (length == 0)
		return complain(text, "expected a name before the options, NAME: --OPTION VALUE ...");
	(void)snprintf(name, sizeof name, "%.*s", (int)length, copy);
	return add_long(settings, text, name, words);
}

/* "tall=dgt:height=8": a name ends at an equals sign that stands before any colon. */
static bool read_short(cop_bakeoff_settings *settings, const char *text, char *spec)
{
	options o;
	char wrong[COP_SETTING_WRONG_ROOM];
	char name[TEXT_ROOM];
	char *equals = strchr(spec, '=');
	const char *colon = strchr(spec, ':');
	bool named = equals != NULL && (colon == NULL || equals < colon);
	if (named)
		*equals = '\0';
	(void)snprintf(name, sizeof name, "%s", spec);
	if (named)
		spec = equals + 1;
	for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
		if (strcmp(spec, built_in[i].name) == 0) {
			char copy[TEXT_ROOM];
			(void)snprintf(copy, sizeof copy, "%s", built_in[i].text);
			return add_long(settings, text, name, copy);
		}
	begin(&o);
	if (!cop_setting_short(spec, &o.learner, wrong))
		return wrong[0] != '\0' && complain(text, wrong);
	return finish(settings, name, &o.learner);
}

bool cop_bakeoff_settings_add(cop_bakeoff_settings *settings, const char *text)
{
	char copy[TEXT_ROOM];
	if (strlen(text) >= sizeof copy)
		return complain(text, "too long");
	strcpy(copy, text);
	if (strstr(copy, "--") != NULL)
		return read_long(settings, text, copy);
	char *at = NULL;
	bool any = false;
	for (char *spec = strtok_r(copy, ",", &at); spec != NULL; spec = strtok_r(NULL, ",", &at)) {
		any = true;
		if (!read_short(settings, text, spec))
			return false;
	}
	return any || complain(text, "expected a setting's name");
}

bool cop_bakeoff_settings_read(cop_bakeoff_settings *settings, const char *path)
{
	cop_stream *stream;
	cop_diag diag = { 0 };
	char *line;
	size_t length;
	bool ok = true;
	if (cop_stream_open_read(path, &stream, &diag) != COP_OK) {
		(void)cop_command_failed(COP_BAKEOFF_NAME, &diag);
		return false;
	}
	cop_err err = cop_stream_line(stream, &line, &length);
	for (; ok && err == COP_OK; err = cop_stream_line(stream, &line, &length)) {
		line += strspn(line, " \t");
		if (line[0] != '\0' && line[0] != '#')
			ok = cop_bakeoff_settings_add(settings, line);
	}
	if (ok && err != COP_EEND)
		(void)cop_command_failed(COP_BAKEOFF_NAME, cop_stream_diag(stream));
	else if (!ok)
		cop_command_complain(COP_BAKEOFF_NAME, "that is a line of %s", path);
	cop_stream_free(stream);
	return ok && err == COP_EEND;
}

/* ---- backends ---- */

cop_err cop_bakeoff_settings_backend(const cop_bakeoff_setting *setting, const cop_model_settings *model,
        const cop_sim_items *items, cop_sim_backend *out, cop_diag *diag)
{
	return setting->skyline ? cop_sim_skyline(model, items, out, diag)
	                        : cop_sim_local(model, items, &setting->refits, out, diag);
}

/* ---- fingerprints ---- */

enum { PROBE_EVENTS = 400, PROBE_FEATURES = 4, PROBE_CLASSES = 3, PROBE_STREAM = 1 };

/* The action, its propensity, and the experts' predictions. */
static void put_decision(cop_bytes *bytes, const cop_decision *decision)
{
	cop_bytes_put_u32(bytes, decision->arm);
	cop_bytes_put_f64(bytes, decision->p);
	cop_bytes_put_f32s(bytes, decision->prediction, COP_LEARNER_EXPERTS);
}

static cop_err probe(const cop_sim_backend *backend, cop_bytes *bytes, cop_diag *diag)
{
	cop_rng rng;
	cop_err err = COP_OK;
	cop_rng_init(&rng, 1, PROBE_STREAM);
	for (uint64_t i = 0; i < PROBE_EVENTS && err == COP_OK; i++) {
		float x[PROBE_FEATURES];
		for (size_t j = 0; j < PROBE_FEATURES; j++)
			x[j] = (float)cop_rng_unit(&rng);
		unsigned class = x[0] + x[1] > 1.0F ? 2 : x[2] > x[3] ? 1 : 0;
		cop_row row = { .d = PROBE_FEATURES, .dense = x };
		cop_decision decision = { 0 };
		err = backend->decide(backend->state, i, &row, &decision, diag);
		double loss = decision.arm == class ? 0.0 : 1.0;
		if (err == COP_OK && backend->label != NULL)
			err = backend->label(backend->state, &row, class, diag);
		else if (err == COP_OK)
			err = backend->feedback(backend->state, i, &loss, 1, diag);
		put_decision(bytes, &decision);
	}
	return err;
}

static cop_err fingerprint(cop_bakeoff_setting *s, cop_diag *diag)
{
	cop_model_settings model;
	cop_sim_backend backend;
	cop_sim_items items = { .count = 0 };
	cop_sim_items_settings set = { .classes = PROBE_CLASSES };
	cop_bytes bytes;
	cop_err err = COP_OK;
	cop_bakeoff_setting probed = *s;
	probed.refits.every = 0;
	cop_model_settings_init(&model);
	model.learner = s->learner;
	model.learner.features = PROBE_FEATURES;
	model.learner.seed = 1;
	model.learner.exploration.shares.min.count = 0; /* the probe may not have those arms; their options differ */
	model.learner.exploration.shares.max.count = 0;
	if (!cop_learner_plays_candidates(&s->learner)) {
		model.learner.arms = PROBE_CLASSES;
	} else {
		err = cop_sim_items_init(&items, &set, diag);
		model.learner.max_candidates = model.learner.candidate_features = PROBE_CLASSES;
	}
	cop_bytes_init(&bytes);
	if (err == COP_OK)
		err = cop_bakeoff_settings_backend(&probed, &model, &items, &backend, diag);
	if (err == COP_OK) {
		err = probe(&backend, &bytes, diag);
		backend.close(backend.state);
	}
	if (err == COP_OK && bytes.err != COP_OK) {
		err = bytes.err;
		cop_diag_message(diag, "%s", cop_err_text(err));
	}
	if (err == COP_OK)
		s->fingerprint = cop_crc32c(0, bytes.data, bytes.length);
	cop_bytes_fini(&bytes);
	cop_sim_items_fini(&items);
	return err;
}

cop_err cop_bakeoff_settings_finish(cop_bakeoff_settings *settings, cop_diag *diag)
{
	for (size_t i = 0; i < settings->count; i++) {
		cop_err err = fingerprint(&settings->setting[i], diag);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}
