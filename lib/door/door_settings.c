/* A text is cut into an option's name and its words; the table gives each option its kind, its place in the settings
 * and its range. What options have to do with each other is judged when the model is made. */
#include "door/door_settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define WORD_ROOM   64
#define WORDS_MOST  COP_SHARES_ARMS
#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

typedef enum kind {
	NAME,     /* char[16] */
	CHOICE,   /* an enum, the word's place in words */
	CHOICES,  /* unsigned, a bit for each word; all of them: 0 */
	COUNT,    /* size_t in [low, high] */
	SMALL,    /* unsigned in [low, high] */
	NUMBER,   /* double in [low, high] */
	SEED,     /* uint64_t */
	DURATION, /* double, seconds in [low, high] */
	SIZE,     /* size_t, bytes in [low, high] */
	UNLESS,   /* bool: true sets it to false */
	RANGE,    /* two doubles, low < high */
	LOSS,     /* default_loss and has_default_loss */
	SHARES,   /* cop_arm_shares */
} kind;

typedef struct option {
	const char *name;
	kind kind;
	size_t offset;
	double low, high;
	const char *const *words; /* NULL at the end */
	bool living;              /* may change in a living model */
} option;

static const char *const reward_words[] = { "earliest", "last", "sum", "first", NULL };

#define IN(member) offsetof(cop_model_settings, member)
#define L(member)  IN(learner.member)
#define X(member)  IN(learner.exploration.member)
#define DAY        86400.0

static const option options[] = {
	{ "learner", NAME, L(learner), 0, 0, NULL, false },
	{ "features", COUNT, L(features), 0, COP_LEARNER_MAX_FEATURES, NULL, false },
	{ "arms", COUNT, L(arms), 2, COP_LEARNER_MAX_ARMS, NULL, false },
	{ "bits", SMALL, L(bits), 1, COP_LEARNER_MAX_BITS, NULL, false },
	{ "max_nonzeros", COUNT, L(max_nonzeros), 1, COP_LEARNER_MAX_NONZEROS, NULL, false },
	{ "max_candidates", COUNT, L(max_candidates), 1, COP_LEARNER_MAX_CANDIDATES, NULL, false },
	{ "candidate_features", COUNT, L(candidate_features), 0, COP_LEARNER_MAX_FEATURES, NULL, false },
	{ "policy", NAME, L(policy), 0, 0, NULL, false },
	{ "epsilon", NUMBER, X(epsilon), 0, 1, NULL, true },
	{ "epsilon_decay", NUMBER, X(epsilon_decay), 0, COP_LEARNER_MAX_EPSILON_DECAY, NULL, true },
	{ "epsilon_floor", NUMBER, X(epsilon_floor), 0, 1, NULL, true },
	{ "gamma", NUMBER, X(gamma), 1e-6, 1e9, NULL, true },
	{ "optimism", NUMBER, X(optimism), 0, 1000, NULL, true },
	{ "least_propensity", NUMBER, X(shares.least_propensity), 0, 1, NULL, true },
	{ "share_min", SHARES, X(shares.min), 0, 0, NULL, true },
	{ "share_max", SHARES, X(shares.max), 0, 0, NULL, true },
	{ "experts", CHOICES, L(experts), 0, 0, cop_learner_expert_names, false },
	{ "height", SMALL, L(height), 1, COP_LEARNER_MAX_HEIGHT, NULL, false },
	{ "trees", COUNT, L(trees), 0, COP_LEARNER_MAX_TREES, NULL, false },
	{ "learning_rate", NUMBER, L(learning_rate), 1e-9, COP_LEARNER_MAX_RATE, NULL, false },
	{ "seed", SEED, L(seed), 0, 0, NULL, false },
	{ "reward_window", DURATION, IN(reward_window), 1e-3, 365 * DAY, NULL, true },
	{ "default_loss", LOSS, IN(default_loss), -1e100, 1e100, NULL, true },
	{ "reward", CHOICE, IN(reward), 0, 0, reward_words, true },
	{ "loss_range", RANGE, IN(loss_low), -1e100, 1e100, NULL, false },
	{ "value_range", RANGE, IN(value_low), -1e100, 1e100, NULL, false },
	{ "delta", NUMBER, L(delta), 1e-102, 1e100, NULL, false },
	{ "delta_decay", NUMBER, L(delta_decay), 0, COP_LEARNER_MAX_EPSILON_DECAY, NULL, false },
	{ "delta_floor", NUMBER, L(delta_floor), 0, 1e100, NULL, false },
	{ "feedback", CHOICE, L(feedback), 0, 0, cop_value_feedback_words, false },
	{ "shared_bias", UNLESS, L(literal), 0, 0, NULL, false },
	{ "pending_max", COUNT, IN(pending_max), 1, 100000000, NULL, true },
	{ "pending_bytes", SIZE, IN(pending_bytes), 65536, 1024.0 * 1024 * 1024 * 1024, NULL, true },
	{ "explain_keep", COUNT, IN(explain_keep), 0, 65536, NULL, true },
};

/* Known to configurations, but of the daemon alone. */
static const char *const daemons[] = { "apprentice", "unheard", "unheard_max", "unheard_bytes", "unheard_age",
	"names_bytes", "feature_names", "arm_names", "start_from", "refit" };

_Static_assert(IN(loss_high) == IN(loss_low) + sizeof(double), "a range is two doubles");
_Static_assert(IN(value_high) == IN(value_low) + sizeof(double), "a range is two doubles");
_Static_assert(sizeof(cop_reward_rule) == sizeof(unsigned), "enums are moved as unsigned");
_Static_assert(COUNT_OF(options) <= 64, "an option's place is a bit of a word");

typedef struct unit {
	const char *name;
	double factor;
} unit;

static const unit durations[] = { { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { "min", 60 }, { "h", 3600 },
	{ "d", DAY }, { NULL, 0 } };
static const unit sizes[] = { { "B", 1 }, { "KiB", 1024.0 }, { "MiB", 1024.0 * 1024 }, { "GiB", 1024.0 * 1024 * 1024 },
	{ "TiB", 1024.0 * 1024 * 1024 * 1024 }, { NULL, 0 } };

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

/* ---- values ---- */

static bool in_range(const option *o, double value) { return value >= o->low && value <= o->high; }

static bool read_number(const char *text, double *value)
{
	return cop_number_parse(text, strlen(text), value) == COP_OK;
}

static bool read_whole(const char *text, const char **end, uint64_t *value)
{
	*value = 0;
	for (*end = text; **end >= '0' && **end <= '9'; ++*end)
		if (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
		        __builtin_add_overflow(*value, (uint64_t)(**end - '0'), value))
			return false;
	return *end != text;
}

/* A whole number and its unit. */
static bool read_quantity(const char *text, const unit *units, double *value)
{
	const char *end;
	uint64_t whole;
	if (!read_whole(text, &end, &whole))
		return false;
	end += strspn(end, " ");
	for (; units->name != NULL; units++)
		if (strcmp(units->name, end) == 0) {
			*value = (double)whole * units->factor;
			return true;
		}
	return false;
}

static bool find_word(const char *text, const char *const *words, unsigned *place)
{
	for (*place = 0; words[*place] != NULL; ++*place)
		if (strcmp(words[*place], text) == 0)
			return true;
	return false;
}

static bool take_size(const option *o, double value, void *field)
{
	size_t whole = (size_t)value;
	if (!in_range(o, value))
		return false;
	memcpy(field, &whole, sizeof whole);
	return true;
}

static bool take_whole(const option *o, const char *text, void *field)
{
	const char *end;
	uint64_t whole;
	if (!read_whole(text, &end, &whole) || *end != '\0')
		return false;
	unsigned small = (unsigned)whole;
	if (o->kind == COUNT)
		return take_size(o, (double)whole, field);
	if (o->kind == SEED)
		memcpy(field, &whole, sizeof whole);
	else if (!in_range(o, (double)whole))
		return false;
	else
		memcpy(field, &small, sizeof small);
	return true;
}

static bool take_number(const option *o, const char *text, void *field)
{
	double value;
	bool fits = o->kind == DURATION ? read_quantity(text, durations, &value) : read_number(text, &value);
	if (!fits || !in_range(o, value))
		return false;
	memcpy(field, &value, sizeof value);
	return true;
}

static bool take_loss(const option *o, const char *text, cop_model_settings *settings)
{
	settings->has_default_loss = strcmp(text, "none") != 0;
	settings->default_loss = 0.0;
	return !settings->has_default_loss || take_number(o, text, &settings->default_loss);
}

/* One word. */
static bool take_one(reading *r, const option *o, void *field)
{
	const char *text = r->word[0];
	double bytes;
	unsigned place;
	switch (o->kind) {
	case NAME:
		if (text[0] == '\0' || strlen(text) >= sizeof r->settings->learner.learner)
			return false;
		memcpy(field, text, strlen(text) + 1);
		return true;
	case CHOICE:
		if (!find_word(text, o->words, &place))
			return false;
		memcpy(field, &place, sizeof place);
		return true;
	case SIZE:
		return read_quantity(text, sizes, &bytes) && take_size(o, bytes, field);
	case UNLESS:
		*(bool *)field = strcmp(text, "false") == 0;
		return *(bool *)field || strcmp(text, "true") == 0;
	case LOSS:
		return take_loss(o, text, r->settings);
	case NUMBER:
	case DURATION:
		return take_number(o, text, field);
	default:
		return take_whole(o, text, field);
	}
}

static bool take_range(const reading *r, const option *o, double *field)
{
	double range[2];
	if (r->count != 2 || !read_number(r->word[0], &range[0]) || !read_number(r->word[1], &range[1]) ||
	        !in_range(o, range[0]) || !in_range(o, range[1]) || !(range[1] - range[0] >= 1e-100))
		return false;
	memcpy(field, range, sizeof range);
	return true;
}

static bool take_choices(const reading *r, const option *o, unsigned *field)
{
	unsigned set = 0, all = 0, place;
	for (size_t i = 0; o->words[i] != NULL; i++)
		all |= 1u << i;
	for (size_t i = 0; i < r->count; i++) {
		if (!find_word(r->word[i], o->words, &place) || (set & 1u << place) != 0)
			return false;
		set |= 1u << place;
	}
	*field = set == all ? 0 : set;
	return r->count > 0;
}

static bool take_shares(const reading *r, cop_arm_shares *field)
{
	*field = (cop_arm_shares){ .count = 0 };
	for (size_t i = 0; i < r->count; i++)
		if (cop_arm_shares_add(field, r->word[i]) != NULL)
			return false;
	return true;
}

static bool take(reading *r, const option *o)
{
	void *field = (char *)r->settings + o->offset;
	switch (o->kind) {
	case RANGE:
		return take_range(r, o, field);
	case CHOICES:
		return take_choices(r, o, field);
	case SHARES:
		return take_shares(r, field);
	default:
		return r->count == 1 && take_one(r, o, field);
	}
}

/* ---- what was expected ---- */

static void put_words(const char *const *words, char *out, size_t size)
{
	size_t used = strlen(out);
	for (size_t i = 0; words[i] != NULL && used < size; i++) {
		const char *between = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";
		int length = snprintf(out + used, size - used, "%s%s", between, words[i]);
		used += length > 0 ? (size_t)length : 0;
	}
}

static void describe(const option *o, char *out, size_t size)
{
	static const char *const texts[] = {
		[NAME] = "a word of at most 15 characters",
		[CHOICE] = "",
		[CHOICES] = "some of ",
		[COUNT] = "a whole number",
		[SMALL] = "a whole number",
		[NUMBER] = "a number",
		[SEED] = "a whole number from 0 to 18446744073709551615",
		[DURATION] = "a duration like 10ms, 60s, 10min, 1h or 7d, from 1ms to 365d",
		[SIZE] = "a size like 64KiB, 1MiB or 10GiB, from 64KiB to 1TiB",
		[UNLESS] = "true or false",
		[RANGE] = "two numbers {LOW, HIGH} with LOW < HIGH",
		[LOSS] = "none or a number",
		[SHARES] = "ARM=SHARE, an arm's number from 0 and a share from 0 to 1, each arm once, at most 64",
	};
	bool ranged = o->kind == COUNT || o->kind == SMALL || o->kind == NUMBER;
	(void)snprintf(out, size, "%s", texts[o->kind]);
	if (ranged)
		(void)snprintf(out, size, "%s from %.12g to %.12g", texts[o->kind], o->low, o->high);
	if (o->words != NULL)
		put_words(o->words, out, size);
}

static cop_err refuse_value(reading *r, const option *o)
{
	char expected[160], text[320];
	describe(o, expected, sizeof expected);
	if (r->count == 1)
		(void)snprintf(text, sizeof text, "\"%s\" is not allowed, expected %s", r->word[0], expected);
	else
		(void)snprintf(text, sizeof text, "%zu values are not allowed, expected %s", r->count, expected);
	return complain(r, COP_EINVAL, o->name, text);
}

/* ---- options ---- */

static cop_err find_option(reading *r, const char *name, size_t *place)
{
	for (*place = 0; *place < COUNT_OF(options); ++*place)
		if (strcmp(options[*place].name, name) == 0)
			return COP_OK;
	for (size_t i = 0; i < COUNT_OF(daemons); i++)
		if (strcmp(daemons[i], name) == 0)
			return complain(r, COP_EINVAL, name, "expected this in a daemon's configuration only");
	return complain(r, COP_EFORMAT, name, "there is no such option, expected one of coppice.conf(5)");
}

static cop_err read_option(reading *r)
{
	char name[WORD_ROOM];
	size_t place;
	cop_err err = read_name(r, name);
	if (err == COP_OK)
		err = find_option(r, name, &place);
	if (err != COP_OK)
		return err;
	const option *o = &options[place];
	if ((r->seen & UINT64_C(1) << place) != 0)
		return complain(r, COP_EINVAL, name, "stands twice, expected each option once");
	if (r->living && !o->living)
		return complain(r, COP_EINVAL, name, "cannot change in a living model, expected it when one is made");
	r->seen |= UINT64_C(1) << place;
	r->count = 0;
	err = *r->at == '{' ? read_list(r, name) : read_word(r, name);
	if (err != COP_OK)
		return err;
	return take(r, o) ? COP_OK : refuse_value(r, o);
}

/* Without it a model would be sparse unasked. */
static cop_err need_features(reading *r)
{
	size_t place;
	cop_err err = find_option(r, "features", &place);
	if (err != COP_OK || (r->seen & UINT64_C(1) << place) != 0)
		return err;
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
	return living ? COP_OK : need_features(&r);
}
