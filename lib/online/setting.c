/* Texts are judged whole before the field changes. Enums are moved as unsigned, which is what gcc and clang give an
 * enum without negative members, and sizes as uint64_t. */
#include "online/setting.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "events/named_losses.h"
#include "bandit/shares.h"
#include "base/number.h"

#define RANGE_WIDTH 1e-100

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are moved as uint64_t");

const cop_setting_style cop_setting_in_file = { "{ ", ", ", " }", true };
const cop_setting_style cop_setting_on_line = { "", "+", "", false };

typedef struct unit {
	const char *name;
	uint64_t factor;
} unit;

/* Largest first, so that printing takes the first that divides. */
static const unit durations[] = { { "d", 86400000000 }, { "h", 3600000000 }, { "min", 60000000 }, { "s", 1000000 },
	{ "ms", 1000 }, { "us", 1 }, { NULL, 0 } };
static const unit sizes[] = { { "TiB", 1ull << 40 }, { "GiB", 1ull << 30 }, { "MiB", 1ull << 20 },
	{ "KiB", 1ull << 10 }, { "B", 1 }, { NULL, 0 } };
static const unit plain[] = { { "", 1 }, { NULL, 0 } };

/* How each kind is kept and described. */
static const struct {
	size_t size;
	const unit *units;   /* of whole numbers; else NULL */
	const char *expects; /* "%s": the range */
} kinds[] = {
	[COP_SETTING_NAME] = { COP_SETTING_NAME_ROOM, NULL, NULL },
	[COP_SETTING_WORD] = { sizeof(unsigned), NULL, NULL },
	[COP_SETTING_WORDS] = { sizeof(unsigned), NULL, NULL },
	[COP_SETTING_COUNT] = { sizeof(uint32_t), plain, "a whole number" },
	[COP_SETTING_WHOLE] = { sizeof(uint64_t), plain, "a whole number" },
	[COP_SETTING_NUMBER] = { sizeof(double), NULL, "a number" },
	[COP_SETTING_MICROS] = { sizeof(uint64_t), durations, "a duration like 10ms, 60s, 10min, 1h or 7d," },
	[COP_SETTING_SECONDS] = { sizeof(double), durations, "a duration like 10ms, 60s, 10min, 1h or 7d," },
	[COP_SETTING_SIZE] = { sizeof(uint64_t), sizes, "a size like 64KiB, 1MiB or 10GiB," },
	[COP_SETTING_FLAG] = { sizeof(bool), NULL, "true or false" },
	[COP_SETTING_UNLESS] = { sizeof(bool), NULL, "true or false" },
	[COP_SETTING_RANGE] = { 2 * sizeof(double), NULL, "two numbers {LOW, HIGH} with LOW < HIGH" },
	[COP_SETTING_MAYBE] = { sizeof(cop_setting_maybe), NULL, "a number" },
	[COP_SETTING_SHARES] = { sizeof(cop_arm_shares), NULL,
	        "ARM=SHARE, an arm's number from 0 and a share from 0 to 1, each arm once, at most 64" },
	[COP_SETTING_WEIGHTS] = { sizeof(cop_loss_weights), NULL,
	        "NAME or NAME=WEIGHT, each name once, of at most 31 letters, digits, '.', '_' or '-', at most 16" },
	[COP_SETTING_RANGES] = { sizeof(cop_loss_ranges), NULL,
	        "NAME=LOW:HIGH with LOW < HIGH, each name once, at most 16" },
};

size_t cop_setting_size(const cop_setting *option) { return kinds[option->kind].size; }

bool cop_setting_is_list(const cop_setting *option)
{
	return option->kind == COP_SETTING_RANGE || option->kind == COP_SETTING_WORDS ||
	       option->kind == COP_SETTING_SHARES || option->kind == COP_SETTING_WEIGHTS ||
	       option->kind == COP_SETTING_RANGES;
}

/* ---- texts ---- */

static bool in_range(const cop_setting *o, double value) { return value >= o->low && value <= o->high; }

static bool read_number(const cop_setting *o, const char *text, double *value)
{
	return cop_number_parse(text, strlen(text), value) == COP_OK && in_range(o, *value);
}

/* Digits and a unit. */
static bool read_whole(const cop_setting *o, const char *text, uint64_t *value)
{
	uint64_t sum = 0;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
		        __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
			return false;
	const unit *units = kinds[o->kind].units;
	bool digits = at != text;
	if (units != plain)
		at += strspn(at, " ");
	while (units->name != NULL && strcmp(units->name, at) != 0)
		units++;
	return digits && units->name != NULL && !__builtin_mul_overflow(sum, units->factor, value) &&
	       in_range(o, (double)*value);
}

static bool read_word(const char *text, const char *const *words, unsigned *place)
{
	for (*place = 0; words[*place] != NULL; ++*place)
		if (words[*place][0] != '\0' && strcmp(words[*place], text) == 0)
			return true;
	return false;
}

static bool read_quantity(const cop_setting *o, const char *text, void *field)
{
	uint64_t whole = 0;
	bool is_zero = o->words != NULL && strcmp(text, o->words[0]) == 0;
	if (!is_zero && !read_whole(o, text, &whole))
		return false;
	if (o->kind == COP_SETTING_COUNT)
		*(uint32_t *)field = (uint32_t)whole;
	else if (o->kind == COP_SETTING_SECONDS)
		*(double *)field = 1e-6 * (double)whole;
	else
		*(uint64_t *)field = whole;
	return true;
}

static bool read_flag(const cop_setting *o, const char *text, bool *field)
{
	static const char *const words[] = { "false", "no", "off", "true", "yes", "on", NULL };
	unsigned word;
	if (!read_word(text, words, &word))
		return false;
	*field = (word >= 3) == (o->kind == COP_SETTING_FLAG);
	return true;
}

static bool read_maybe(const cop_setting *o, const char *text, cop_setting_maybe *field)
{
	unsigned word;
	double number;
	bool given = !read_word(text, o->words, &word);
	if (given && !read_number(o, text, &number))
		return false;
	field->given = given;
	field->value = given ? number : word;
	return true;
}

static bool read_single(const cop_setting *o, const char *text, void *field)
{
	unsigned word;
	double number;
	switch (o->kind) {
	case COP_SETTING_NAME:
		if (!read_word(text, o->words, &word))
			return false;
		(void)snprintf(field, COP_SETTING_NAME_ROOM, "%s", text);
		return true;
	case COP_SETTING_WORD:
		if (!read_word(text, o->words, &word))
			return false;
		memcpy(field, &word, sizeof word);
		return true;
	case COP_SETTING_NUMBER:
		if (!read_number(o, text, &number))
			return false;
		*(double *)field = number;
		return true;
	case COP_SETTING_MAYBE:
		return read_maybe(o, text, field);
	case COP_SETTING_FLAG:
	case COP_SETTING_UNLESS:
		return read_flag(o, text, field);
	default:
		return read_quantity(o, text, field);
	}
}

static bool read_range(const cop_setting *o, const char *const *texts, size_t count, double *field, size_t *wrong)
{
	double range[2];
	for (*wrong = 0; *wrong < count; ++*wrong)
		if (*wrong >= 2 || !read_number(o, texts[*wrong], &range[*wrong]) ||
		        (*wrong == 1 && !(range[1] - range[0] >= RANGE_WIDTH)))
			return false;
	if (count == 2)
		memcpy(field, range, sizeof range);
	return count == 2;
}

static bool read_words(const cop_setting *o, const char *const *texts, size_t count, unsigned *field, size_t *wrong)
{
	unsigned set = 0, all = 0, word;
	for (unsigned i = 0; o->words[i] != NULL; i++)
		all |= 1u << i;
	for (*wrong = 0; *wrong < count; ++*wrong) {
		if (!read_word(texts[*wrong], o->words, &word) || (set & 1u << word) != 0)
			return false;
		set |= 1u << word;
	}
	if (count > 0)
		*field = set == all ? 0 : set;
	return count > 0;
}

static bool read_shares(const char *const *texts, size_t count, cop_arm_shares *field, size_t *wrong)
{
	cop_arm_shares shares = { .count = 0 };
	for (*wrong = 0; *wrong < count; ++*wrong)
		if (cop_shares_add(&shares, texts[*wrong]) != NULL)
			return false;
	*field = shares;
	return true;
}

static bool read_weights(const char *const *texts, size_t count, cop_loss_weights *field, size_t *wrong)
{
	cop_loss_weights weights = { .count = 0 };
	for (*wrong = 0; *wrong < count; ++*wrong)
		if (cop_named_losses_add_weight(&weights, texts[*wrong]) != NULL)
			return false;
	*field = weights;
	return true;
}

static bool read_ranges(const char *const *texts, size_t count, cop_loss_ranges *field, size_t *wrong)
{
	cop_loss_ranges ranges = { .count = 0 };
	for (*wrong = 0; *wrong < count; ++*wrong)
		if (cop_named_losses_add_range(&ranges, texts[*wrong]) != NULL)
			return false;
	*field = ranges;
	return true;
}

bool cop_setting_read(const cop_setting *o, const char *const *texts, size_t count, void *base, size_t *wrong)
{
	void *field = (char *)base + o->offset;
	switch (o->kind) {
	case COP_SETTING_RANGE:
		return read_range(o, texts, count, field, wrong);
	case COP_SETTING_WORDS:
		return read_words(o, texts, count, field, wrong);
	case COP_SETTING_SHARES:
		return read_shares(texts, count, field, wrong);
	case COP_SETTING_WEIGHTS:
		return read_weights(texts, count, field, wrong);
	case COP_SETTING_RANGES:
		return read_ranges(texts, count, field, wrong);
	default:
		*wrong = count == 0 ? 0 : count - 1;
		return count == 1 && read_single(o, texts[0], field);
	}
}

/* ---- what was expected ---- */

static void format_quantity(uint64_t value, const unit *units, char *out, size_t size)
{
	while (units[1].name != NULL && (value == 0 || value % units->factor != 0))
		units++;
	(void)snprintf(out, size, "%" PRIu64 "%s", value / units->factor, units->name);
}

static void format_bound(const cop_setting *o, double bound, char *out, size_t size)
{
	const unit *units = kinds[o->kind].units;
	if (units == NULL)
		(void)snprintf(out, size, "%.12g", bound);
	else
		format_quantity(bound < 0x1p64 ? (uint64_t)bound : UINT64_MAX, units, out, size);
}

void cop_setting_name_words(
        const char *const *words, unsigned set, const char *between, const char *last, char *out, size_t size)
{
	size_t used = 0, end = 0;
	out[0] = '\0';
	for (size_t i = 0; words[i] != NULL; i++)
		if (words[i][0] != '\0' && (set >> i & 1u) != 0)
			end = i;
	for (size_t i = 0; i <= end && used < size; i++) {
		if (words[i] == NULL || words[i][0] == '\0' || (set >> i & 1u) == 0)
			continue;
		const char *before = used == 0 ? "" : i == end ? last : between;
		int n = snprintf(out + used, size - used, "%s%s", before, words[i]);
		used += n > 0 ? (size_t)n : 0;
	}
}

void cop_setting_describe(const cop_setting *o, char *out, size_t size)
{
	char words[96], low[40], high[40];
	const char *expects = kinds[o->kind].expects;
	bool bounded = kinds[o->kind].units != NULL || o->kind == COP_SETTING_NUMBER || o->kind == COP_SETTING_MAYBE;
	if (o->kind == COP_SETTING_WORDS) {
		cop_setting_name_words(o->words, UINT_MAX, ", ", " and ", words, sizeof words);
		(void)snprintf(out, size, "some of %s, each once", words);
		return;
	}
	if (expects == NULL) {
		cop_setting_name_words(o->words, UINT_MAX, ", ", " or ", out, size);
		return;
	}
	words[0] = '\0';
	if (o->words != NULL)
		cop_setting_name_words(
		        o->words, o->kind == COP_SETTING_MAYBE ? UINT_MAX : 1, ", ", ", ", words, sizeof words);
	int used = snprintf(out, size, "%s%s%s", words, words[0] != '\0' ? " or " : "", expects);
	if (!bounded || isinf(o->high))
		return;
	format_bound(o, o->low, low, sizeof low);
	format_bound(o, o->high, high, sizeof high);
	(void)snprintf(out + used, size - (size_t)used, " from %s to %s", low, high);
}

/* ---- values as text ---- */

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

/* '$' would otherwise start an environment variable's name. */
void cop_setting_put_quoted(const char *text, cop_bytes *out)
{
	put(out, "\"");
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\' || *c == '$')
			put(out, "\\");
		cop_bytes_put(out, c, 1);
	}
	put(out, "\"");
}

static void put_text(cop_bytes *out, const cop_setting_style *style, const char *text)
{
	if (style->quotes)
		cop_setting_put_quoted(text, out);
	else
		put(out, text);
}

/* Of a value that is no number; the last word where there are not so many. */
static const char *word_of(const cop_setting *o, const cop_setting_maybe *maybe)
{
	size_t word = 0;
	while ((double)word < maybe->value && o->words[word + 1] != NULL)
		word++;
	return o->words[word];
}

static void put_number(cop_bytes *out, const cop_setting_style *style, double value)
{
	char text[COP_NUMBER_ROOM];
	(void)cop_number_format(value, text);
	if (strchr(text, '+') != NULL) /* an operator of the file's syntax */
		put_text(out, style, text);
	else
		put(out, text);
}

static void put_words(const cop_setting *o, const cop_setting_style *style, unsigned set, cop_bytes *out)
{
	const char *before = style->begin;
	for (size_t i = 0; o->words[i] != NULL; i++) {
		if (set != 0 && (set >> i & 1u) == 0)
			continue;
		put(out, before);
		put_text(out, style, o->words[i]);
		before = style->between;
	}
	put(out, style->end);
}

/* Item i of a list of named values as text. */
typedef void put_item(const void *list, size_t i, char *out);
#define ITEM (COP_NAMED_LOSSES_NAME + 2 * COP_NUMBER_ROOM)

static void share_text(const void *list, size_t i, char *out)
{
	const cop_arm_shares *shares = list;
	int used = snprintf(out, ITEM, "%" PRIu32 "=", shares->arm[i]);
	(void)cop_number_format(shares->share[i], out + used);
}

static void weight_text(const void *list, size_t i, char *out)
{
	const cop_loss_weights *weights = list;
	bool named = weights->weight[i] == 0.0;
	int used = snprintf(out, ITEM, "%s%s", weights->name[i], named ? "" : "=");
	if (!named)
		(void)cop_number_format(weights->weight[i], out + used);
}

static void range_text(const void *list, size_t i, char *out)
{
	char low[COP_NUMBER_ROOM], high[COP_NUMBER_ROOM];
	const cop_loss_ranges *ranges = list;
	(void)cop_number_format(ranges->low[i], low);
	(void)cop_number_format(ranges->high[i], high);
	(void)snprintf(out, ITEM, "%s=%s:%s", ranges->name[i], low, high);
}

static void put_items(const void *list, uint64_t count, put_item *item, const cop_setting_style *style, cop_bytes *out)
{
	char text[ITEM];
	if (count == 0) {
		put(out, style->quotes ? "{ }" : "");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		item(list, i, text);
		put(out, i == 0 ? style->begin : style->between);
		put_text(out, style, text);
	}
	put(out, style->end);
}

static void put_whole(const cop_setting *o, const cop_setting_style *style, const void *field, cop_bytes *out)
{
	char text[48];
	const unit *units = kinds[o->kind].units;
	uint64_t whole = o->kind == COP_SETTING_COUNT     ? *(const uint32_t *)field
	                 : o->kind == COP_SETTING_SECONDS ? (uint64_t)llround(1e6 * *(const double *)field)
	                                                  : *(const uint64_t *)field;
	if (o->words != NULL && whole == 0) {
		put_text(out, style, o->words[0]);
		return;
	}
	format_quantity(whole, units, text, sizeof text);
	if (units == plain)
		put(out, text);
	else
		put_text(out, style, text);
}

static void put_range(const double *range, const cop_setting_style *style, cop_bytes *out)
{
	put(out, style->begin);
	put_number(out, style, range[0]);
	put(out, style->between);
	put_number(out, style, range[1]);
	put(out, style->end);
}

void cop_setting_print(const cop_setting *o, const cop_setting_style *style, const void *base, cop_bytes *out)
{
	const void *field = (const char *)base + o->offset;
	const cop_setting_maybe *maybe = field;
	switch (o->kind) {
	case COP_SETTING_NAME:
		put_text(out, style, field);
		return;
	case COP_SETTING_WORD:
		put_text(out, style, o->words[*(const unsigned *)field]);
		return;
	case COP_SETTING_WORDS:
		put_words(o, style, *(const unsigned *)field, out);
		return;
	case COP_SETTING_NUMBER:
		put_number(out, style, *(const double *)field);
		return;
	case COP_SETTING_SHARES:
		put_items(field, ((const cop_arm_shares *)field)->count, share_text, style, out);
		return;
	case COP_SETTING_WEIGHTS:
		put_items(field, ((const cop_loss_weights *)field)->count, weight_text, style, out);
		return;
	case COP_SETTING_RANGES:
		put_items(field, ((const cop_loss_ranges *)field)->count, range_text, style, out);
		return;
	case COP_SETTING_FLAG:
	case COP_SETTING_UNLESS:
		put(out, *(const bool *)field == (o->kind == COP_SETTING_FLAG) ? "true" : "false");
		return;
	case COP_SETTING_RANGE:
		put_range(field, style, out);
		return;
	case COP_SETTING_MAYBE:
		if (maybe->given)
			put_number(out, style, maybe->value);
		else
			put_text(out, style, word_of(o, maybe));
		return;
	default:
		put_whole(o, style, field, out);
		return;
	}
}

/* ---- values ---- */

bool cop_setting_is_silent(const cop_setting *o, const void *base)
{
	if (o->kind >= COP_SETTING_OTHER) /* its value is not in base */
		return (o->flags & COP_SETTING_IS_QUIET) != 0;
	const unsigned char *field = (const unsigned char *)base + o->offset;
	const cop_setting_maybe *maybe = (const void *)field;
	size_t i = 0;
	if (o->kind == COP_SETTING_MAYBE) /* it has padding */
		return (o->flags & COP_SETTING_IS_QUIET) != 0 && !maybe->given && maybe->value == 0.0;
	while ((o->flags & COP_SETTING_IS_QUIET) != 0 && i < cop_setting_size(o) && field[i] == 0)
		i++;
	return i == cop_setting_size(o);
}

bool cop_setting_equal(const cop_setting *o, const void *a, const void *b)
{
	const void *left = (const char *)a + o->offset, *right = (const char *)b + o->offset;
	if (o->kind == COP_SETTING_NAME)
		return strcmp(left, right) == 0;
	if (o->kind != COP_SETTING_MAYBE)
		return memcmp(left, right, cop_setting_size(o)) == 0;
	const cop_setting_maybe *x = left, *y = right; /* it has padding */
	return x->given == y->given && memcmp(&x->value, &y->value, sizeof x->value) == 0;
}

void cop_setting_copy(const cop_setting *o, void *a, const void *b)
{
	memcpy((char *)a + o->offset, (const char *)b + o->offset, cop_setting_size(o));
}
