/* A text is cut into an option's name and its words; the options are those of online/model_options.h. What options have
 * to do with each other is judged when the model is made. */
#include "door/door_settings.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "online/model_options.h"

#define WORD_ROOM  64
#define WORDS_MOST COP_SHARES_ARMS

typedef struct reading {
	const char *at;
	uint64_t line;
	uint64_t seen; /* bits of options */
	bool living;
	cop_model_settings *settings;
	cop_diag *diag;
	size_t count; /* words of the value under way */
	char word[WORDS_MOST][WORD_ROOM];
} reading;

static cop_err complain(reading *r, cop_err err, const char *name, const char *what)
{
	cop_diag_at_line(r->diag, "settings", r->line, "%.64s: %s", name, what);
	return err;
}

/* ---- the text ---- */

static void skip_blanks(reading *r)
{
	for (;;) {
		if (*r->at == '#')
			r->at += strcspn(r->at, "\n");
		if (*r->at == '\0' || !isspace((unsigned char)*r->at))
			return;
		r->line += *r->at == '\n';
		r->at++;
	}
}

/* The next word of a value. */
static cop_err read_word(reading *r, const char *name)
{
	bool quoted = *r->at == '"';
	r->at += quoted;
	size_t length = strcspn(r->at, quoted ? "\"\n" : " \t\r\n\v\f,{}\"#");
	if (quoted && r->at[length] != '"')
		return complain(r, COP_EFORMAT, name, "a quote is not closed, expected \"...\" on one line");
	if (length == 0 && !quoted)
		return complain(r, COP_EFORMAT, name, "expected a value behind =");
	if (length >= WORD_ROOM || r->count == WORDS_MOST)
		return complain(r, COP_EINVAL, name, "expected at most 64 values of at most 63 characters");
	memcpy(r->word[r->count], r->at, length);
	r->word[r->count++][length] = '\0';
	r->at += length + quoted;
	return COP_OK;
}

static cop_err read_list(reading *r, const char *name)
{
	cop_err err = COP_OK;
	r->at++;
	for (skip_blanks(r); *r->at != '}' && err == COP_OK; skip_blanks(r)) {
		if (*r->at == '\0')
			return complain(r, COP_EFORMAT, name, "a list is not closed, expected { ... }");
		err = read_word(r, name);
		skip_blanks(r);
		r->at += *r->at == ',';
	}
	r->at += err == COP_OK;
	return err;
}

static cop_err read_name(reading *r, char name[WORD_ROOM])
{
	size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_");
	(void)snprintf(name, WORD_ROOM, "%.*s", (int)(length < WORD_ROOM ? length : WORD_ROOM - 1), r->at);
	if (length == 0)
		(void)snprintf(name, WORD_ROOM, "%.20s", r->at);
	r->at += length;
	skip_blanks(r);
	if (length == 0 || *r->at != '=')
		return complain(r, COP_EFORMAT, name, "expected OPTION = VALUE");
	r->at++;
	skip_blanks(r);
	return COP_OK;
}

/* ---- options ---- */

static cop_err refuse_value(reading *r, const cop_setting *o, size_t wrong)
{
	char expected[192], text[320];
	cop_setting_describe(o, expected, sizeof expected);
	if (wrong < r->count)
		(void)snprintf(text, sizeof text, "\"%s\" is not allowed, expected %s", r->word[wrong], expected);
	else
		(void)snprintf(text, sizeof text, "%zu values are not allowed, expected %s", r->count, expected);
	return complain(r, COP_EINVAL, o->name, text);
}

static cop_err find_option(reading *r, const char *name, const cop_setting **option)
{
	*option = cop_model_options_find(name);
	if ((*option != NULL && (*option)->kind >= COP_SETTING_WEIGHTS) || strcmp(name, "refit") == 0)
		return complain(r, COP_EINVAL, name, "expected this in a daemon's configuration only");
	if (*option == NULL)
		return complain(r, COP_EFORMAT, name, "there is no such option, expected one of coppice.conf(5)");
	return COP_OK;
}

static cop_err take(reading *r, const cop_setting *o)
{
	const char *words[WORDS_MOST];
	size_t wrong;
	for (size_t i = 0; i < r->count; i++)
		words[i] = r->word[i];
	if (r->count != 1 && !cop_setting_is_list(o))
		return refuse_value(r, o, r->count);
	return cop_setting_read(o, words, r->count, r->settings, &wrong) ? COP_OK : refuse_value(r, o, wrong);
}

static uint64_t bit_of(const cop_setting *o) { return UINT64_C(1) << (o - cop_model_options); }

static cop_err read_option(reading *r)
{
	char name[WORD_ROOM];
	const cop_setting *o;
	cop_err err = read_name(r, name);
	if (err == COP_OK)
		err = find_option(r, name, &o);
	if (err != COP_OK)
		return err;
	if ((r->seen & bit_of(o)) != 0)
		return complain(r, COP_EINVAL, name, "stands twice, expected each option once");
	if (r->living && (o->flags & COP_SETTING_IS_LIVE) == 0)
		return complain(r, COP_EINVAL, name, "cannot change in a living model, expected it when one is made");
	r->seen |= bit_of(o);
	r->count = 0;
	err = *r->at == '{' ? read_list(r, name) : read_word(r, name);
	return err == COP_OK ? take(r, o) : err;
}

/* Without it a model would be sparse unasked. */
static cop_err need_features(reading *r)
{
	if ((r->seen & bit_of(cop_model_options_find("features"))) != 0)
		return COP_OK;
	cop_diag_message(r->diag, "features: is missing, expected their number, or 0 for sparse names");
	return COP_EINVAL;
}

cop_err cop_door_settings_read(const char *text, bool living, cop_model_settings *settings, cop_diag *diag)
{
	reading r = { .at = text, .line = 1, .living = living, .settings = settings, .diag = diag };
	for (skip_blanks(&r); *r.at != '\0'; skip_blanks(&r)) {
		cop_err err = read_option(&r);
		if (err != COP_OK)
			return err;
	}
	if (living)
		return COP_OK;
	const cop_learner_class *class = cop_learner_find(settings->learner.learner);
	if (class != NULL && class->fixed)
		return complain(
		        &r, COP_EINVAL, "learner", "its models come from files of coppice train, expected another");
	return need_features(&r);
}
