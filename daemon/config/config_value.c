/* One option's value by its kind: texts of the file to the struct's field and back. Enums are moved as unsigned, which
 * is what gcc and clang give an enum without negative members. */
#include "daemon/config/config_rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"

#define TEXT_MAX     1024
#define ENDPOINT_MAX 256
#define IPC_PATH_MAX 107 /* sun_path without its end */
#define LIST_MAX     64
#define RANGE_MAX    1e100 /* so that widths and shares of them stay finite */
#define RANGE_WIDTH  1e-100

_Static_assert(sizeof(cop_config_learner) == sizeof(unsigned), "enums are moved as unsigned");

typedef struct unit {
	const char *name;
	uint64_t factor;
} unit;

/* Largest first, so that printing takes the first that divides. */
static const unit durations[] = {
	{ "d", 86400000000 },
	{ "h", 3600000000 },
	{ "min", 60000000 },
	{ "s", 1000000 },
	{ "ms", 1000 },
	{ "us", 1 },
};
static const unit sizes[] = {
	{ "TiB", 1ull << 40 },
	{ "GiB", 1ull << 30 },
	{ "MiB", 1ull << 20 },
	{ "KiB", 1ull << 10 },
	{ "B", 1 },
};
#define UNIT_COUNT(units) (sizeof(units) / sizeof *(units))

static bool plain_text(const char *text)
{
	size_t length = strlen(text);
	if (length == 0 || length > TEXT_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return true;
}

/* Digits only, and nothing else before *end. */
static bool parse_whole(const char *text, const char **end, uint64_t *value)
{
	uint64_t sum = 0;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
		        __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
			return false;
	*end = at;
	*value = sum;
	return at != text;
}

static bool parse_quantity(const char *text, const unit *units, size_t count, uint64_t *value)
{
	const char *end;
	uint64_t number;
	if (!parse_whole(text, &end, &number))
		return false;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < count; i++)
		if (strcmp(units[i].name, end) == 0)
			return !__builtin_mul_overflow(number, units[i].factor, value);
	return false;
}

static void format_quantity(uint64_t value, const unit *units, size_t count, char *out, size_t size)
{
	size_t i = 0;
	while (i + 1 < count && (value == 0 || value % units[i].factor != 0))
		i++;
	(void)snprintf(out, size, "%" PRIu64 "%s", value / units[i].factor, units[i].name);
}

static bool parse_number(const char *text, double *value)
{
	return cop_number_parse(text, strlen(text), value) == COP_OK;
}

/* HOST:PORT with a host that is not empty ("*" where any_host) and a port in [1, 65535]. */
static bool host_and_port(const char *text, bool any_host)
{
	const char *colon = strrchr(text, ':');
	if (colon == NULL || colon == text)
		return false;
	size_t length = (size_t)(colon - text);
	if (length == 1 && text[0] == '*')
		length = any_host ? 0 : SIZE_MAX;
	if (length == SIZE_MAX)
		return false;
	if (length != 0 && text[0] == '[' && (length < 4 || colon[-1] != ']'))
		return false;
	const char *allowed = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_";
	if (text[0] == '[' && strspn(text + 1, "0123456789abcdefABCDEF:.") != length - 2)
		return false;
	if (text[0] != '[' && length != 0 && strspn(text, allowed) != length)
		return false;
	const char *end;
	uint64_t port;
	return parse_whole(colon + 1, &end, &port) && *end == '\0' && port >= 1 && port <= 65535;
}

/* Whether HOST:PORT, well-formed, names something of this machine as ZeroMQ binds it: "*", an address in digits or an
 * interface. It looks no host name up, not even localhost. */
static bool bindable(const char *text)
{
	char host[ENDPOINT_MAX];
	struct in_addr address;
	(void)snprintf(host, sizeof host, "%.*s", (int)(strrchr(text, ':') - text), text);
	return host[0] == '*' || host[0] == '[' || inet_pton(AF_INET, host, &address) == 1 || if_nametoindex(host) != 0;
}

static bool endpoint_fits(const char *text, bool bind)
{
	if (!plain_text(text) || strlen(text) > ENDPOINT_MAX)
		return false;
	if (strncmp(text, "tcp://", 6) == 0)
		return host_and_port(text + 6, bind) && (!bind || bindable(text + 6));
	return strncmp(text, "ipc://", 6) == 0 && text[6] != '\0' && strlen(text + 6) <= IPC_PATH_MAX;
}

static bool parse_word(const char *text, const char *const *words, unsigned *value)
{
	for (unsigned i = 0; words[i] != NULL; i++) {
		if (words[i][0] != '\0' && strcmp(words[i], text) == 0) {
			*value = i;
			return true;
		}
	}
	return false;
}

static bool parse_flag(const char *text, bool *value)
{
	static const char *const words[] = { "false", "no", "off", "true", "yes", "on", NULL };
	unsigned word;
	if (!parse_word(text, words, &word))
		return false;
	*value = word >= 3;
	return true;
}

static bool in_range(const cop_config_rule *rule, double value) { return value >= rule->low && value <= rule->high; }

static bool is_size(const cop_config_rule *rule)
{
	return rule->kind == COP_KIND_SIZE || rule->kind == COP_KIND_AUTO_SIZE;
}

/* "0 to 100" with numbers, durations or sizes as the rule wants them. */
static void describe_range(const cop_config_rule *rule, char *out, size_t size)
{
	char low[40], high[40];
	if (rule->kind == COP_KIND_DURATION) {
		format_quantity((uint64_t)rule->low, durations, UNIT_COUNT(durations), low, sizeof low);
		format_quantity((uint64_t)rule->high, durations, UNIT_COUNT(durations), high, sizeof high);
	} else if (is_size(rule)) {
		format_quantity((uint64_t)rule->low, sizes, UNIT_COUNT(sizes), low, sizeof low);
		format_quantity((uint64_t)rule->high, sizes, UNIT_COUNT(sizes), high, sizeof high);
	} else {
		(void)snprintf(low, sizeof low, "%.12g", rule->low);
		(void)snprintf(high, sizeof high, "%.12g", rule->high);
	}
	(void)snprintf(out, size, "from %s to %s", low, high);
}

/* "a, b or c", or "a, b and c" */
static void describe_words(const char *const *words, const char *last, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; words[i] != NULL && used < size; i++) {
		if (words[i][0] == '\0')
			continue;
		const char *between = used == 0 ? "" : words[i + 1] == NULL ? last : ", ";
		int n = snprintf(out + used, size - used, "%s%s", between, words[i]);
		used += n > 0 ? (size_t)n : 0;
	}
}

static void describe(const cop_config_rule *rule, char *out, size_t size)
{
	char range[96];
	describe_range(rule, range, sizeof range);
	switch (rule->kind) {
	case COP_KIND_WORD:
		describe_words(rule->words, " or ", out, size);
		return;
	case COP_KIND_WORDS:
		describe_words(rule->words, " and ", range, sizeof range);
		(void)snprintf(out, size, "some of %s, each once", range);
		return;
	case COP_KIND_COUNT:
		(void)snprintf(out, size, "a whole number %s", range);
		return;
	case COP_KIND_NUMBER:
		(void)snprintf(out, size, "a number %s", range);
		return;
	case COP_KIND_AUTO:
		(void)snprintf(out, size, "auto or a number %s", range);
		return;
	case COP_KIND_DURATION:
		(void)snprintf(out, size, "a duration like 10ms, 60s, 10min, 1h or 7d, %s", range);
		return;
	case COP_KIND_SIZE:
		(void)snprintf(out, size, "a size like 64KiB, 1MiB or 10GiB, %s", range);
		return;
	case COP_KIND_AUTO_SIZE:
		(void)snprintf(out, size, "auto or a size like 64KiB, 1MiB or 10GiB, %s", range);
		return;
	default:
		break;
	}
	static const char *const texts[] = {
		[COP_KIND_TEXT] = "a text of 1 to 1024 printable characters",
		[COP_KIND_FACILITY] = "daemon, user or local0 to local7",
		[COP_KIND_LISTEN] = "ADDRESS:PORT, for example 127.0.0.1:5599",
		[COP_KIND_SEED] = "a whole number from 0 to 18446744073709551615",
		[COP_KIND_FLAG] = "true or false",
		[COP_KIND_RANGE] = "two numbers {LOW, HIGH} with LOW < HIGH",
		[COP_KIND_LOSS] = "none or a number",
		[COP_KIND_SHARES] =
		        "ARM=SHARE, an arm's number from 0 and a share from 0 to 1, each arm once, at most 64",
		[COP_KIND_BIND] =
		        "tcp://ADDRESS:PORT with an address or interface of this machine or * for all (no host "
		        "name), or ipc://PATH",
		[COP_KIND_CONNECT] = "tcp://HOST:PORT or ipc://PATH",
	};
	(void)snprintf(out, size, "%s", texts[rule->kind]);
}

static void complain_value(cop_config_reading *reading, uint64_t line, const cop_config_rule *rule, const char *text)
{
	char expected[192];
	describe(rule, expected, sizeof expected);
	cop_config_complain(reading, line, rule->name, "\"%.64s\" is not allowed, expected %s", text, expected);
}

/* Fills the field of a kind that has one text; false: not allowed. Texts are replaced. */
static bool read_text(cop_config_reading *reading, const cop_config_rule *rule, const char *text, char **field)
{
	bool fits = rule->kind == COP_KIND_FACILITY ? cop_log_facility_known(text)
	            : rule->kind == COP_KIND_LISTEN ? host_and_port(text, false)
	                                            : plain_text(text);
	if (!fits)
		return false;
	char *copy = cop_mem_strdup(text);
	reading->out_of_memory |= copy == NULL;
	if (copy != NULL) {
		cop_mem_free(*field);
		*field = copy;
	}
	return true;
}

static bool read_whole(const cop_config_rule *rule, const char *text, void *field)
{
	uint64_t whole;
	const char *end;
	bool fits;
	if (rule->kind == COP_KIND_AUTO_SIZE && strcmp(text, "auto") == 0) {
		*(uint64_t *)field = 0;
		return true;
	}
	if (rule->kind == COP_KIND_DURATION)
		fits = parse_quantity(text, durations, UNIT_COUNT(durations), &whole);
	else if (is_size(rule))
		fits = parse_quantity(text, sizes, UNIT_COUNT(sizes), &whole);
	else
		fits = parse_whole(text, &end, &whole) && *end == '\0';
	if (!fits || (rule->kind != COP_KIND_SEED && !in_range(rule, (double)whole)))
		return false;
	if (rule->kind == COP_KIND_COUNT)
		*(uint32_t *)field = (uint32_t)whole;
	else
		*(uint64_t *)field = whole;
	return true;
}

static bool read_single(cop_config_reading *reading, const cop_config_rule *rule, const char *text, void *field)
{
	double number;
	unsigned word;
	switch (rule->kind) {
	case COP_KIND_WORD:
		if (!parse_word(text, rule->words, &word))
			return false;
		memcpy(field, &word, sizeof word);
		return true;
	case COP_KIND_NUMBER:
		if (!parse_number(text, &number) || !in_range(rule, number))
			return false;
		*(double *)field = number;
		return true;
	case COP_KIND_FLAG:
		return parse_flag(text, field);
	case COP_KIND_LOSS: {
		cop_config_loss loss = { false, 0 };
		if (strcmp(text, "none") != 0) {
			if (!parse_number(text, &loss.value))
				return false;
			loss.given = true;
		}
		*(cop_config_loss *)field = loss;
		return true;
	}
	case COP_KIND_AUTO: {
		cop_config_auto automatic = { false, 0 };
		if (strcmp(text, "auto") != 0) {
			if (!parse_number(text, &automatic.value) || !in_range(rule, automatic.value))
				return false;
			automatic.given = true;
		}
		*(cop_config_auto *)field = automatic;
		return true;
	}
	case COP_KIND_TEXT:
	case COP_KIND_FACILITY:
	case COP_KIND_LISTEN:
		return read_text(reading, rule, text, field);
	default:
		return read_whole(rule, text, field);
	}
}

static void read_range(cop_config_reading *reading, cfg_t *section, const cop_config_rule *rule, double *field)
{
	double range[2];
	unsigned count = cfg_size(section, rule->name);
	for (unsigned i = 0; i < count; i++) {
		const cop_config_text *value = cfg_getnptr(section, rule->name, i);
		if (i >= 2 || !parse_number(value->text, &range[i]) || fabs(range[i]) > RANGE_MAX ||
		        (i == 1 && !(range[1] - range[0] >= RANGE_WIDTH))) {
			complain_value(reading, value->line, rule, value->text);
			return;
		}
	}
	if (count != 2)
		complain_value(reading, cop_config_line(section, rule->name), rule, count == 0 ? "{}" : "{one number}");
	else
		memcpy(field, range, sizeof range);
}

static void read_words(cop_config_reading *reading, cfg_t *section, const cop_config_rule *rule, unsigned *field)
{
	unsigned count = cfg_size(section, rule->name), set = 0, all = 0, word;
	for (unsigned i = 0; rule->words[i] != NULL; i++)
		all |= 1u << i;
	for (unsigned i = 0; i < count; i++) {
		const cop_config_text *value = cfg_getnptr(section, rule->name, i);
		if (!parse_word(value->text, rule->words, &word) || (set & 1u << word) != 0) {
			complain_value(reading, value->line, rule, value->text);
			return;
		}
		set |= 1u << word;
	}
	if (count == 0)
		complain_value(reading, cop_config_line(section, rule->name), rule, "{}");
	else
		*field = set == all ? 0 : set;
}

static void read_shares(cop_config_reading *reading, cfg_t *section, const cop_config_rule *rule, cop_arm_shares *field)
{
	cop_arm_shares shares = { .count = 0 };
	for (unsigned i = 0; i < cfg_size(section, rule->name); i++) {
		const cop_config_text *value = cfg_getnptr(section, rule->name, i);
		if (cop_shares_add(&shares, value->text) == NULL)
			continue;
		complain_value(reading, value->line, rule, value->text);
		return;
	}
	*field = shares;
}

static void read_endpoints(
        cop_config_reading *reading, cfg_t *section, const cop_config_rule *rule, cop_config_list *list)
{
	unsigned count = cfg_size(section, rule->name);
	if (count > LIST_MAX) {
		cop_config_complain(reading, cop_config_line(section, rule->name), rule->name,
		        "%u endpoints are too many, expected at most %d", count, LIST_MAX);
		return;
	}
	if (count == 0)
		return;
	list->items = cop_mem_alloc(count, sizeof *list->items);
	if (list->items == NULL) {
		reading->out_of_memory = true;
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		const cop_config_text *value = cfg_getnptr(section, rule->name, i);
		if (!endpoint_fits(value->text, rule->kind == COP_KIND_BIND)) {
			complain_value(reading, value->line, rule, value->text);
			continue;
		}
		char *copy = cop_mem_strdup(value->text);
		reading->out_of_memory |= copy == NULL;
		if (copy != NULL)
			list->items[list->count++] = copy;
	}
}

void cop_config_value_read(cop_config_reading *reading, cfg_t *section, const cop_config_rule *rule, void *base)
{
	void *field = (char *)base + rule->offset;
	if (!cop_config_has(section, rule->name))
		return;
	if (rule->kind == COP_KIND_BIND || rule->kind == COP_KIND_CONNECT) {
		read_endpoints(reading, section, rule, field);
		return;
	}
	if (rule->kind == COP_KIND_RANGE) {
		read_range(reading, section, rule, field);
		return;
	}
	if (rule->kind == COP_KIND_SHARES) {
		read_shares(reading, section, rule, field);
		return;
	}
	if (rule->kind == COP_KIND_WORDS) {
		read_words(reading, section, rule, field);
		return;
	}
	const cop_config_text *value = cfg_getptr(section, rule->name);
	if (!read_single(reading, rule, value->text, field))
		complain_value(reading, value->line, rule, value->text);
}

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

/* In double quotes; '$' would otherwise start an environment variable's name. */
static void put_quoted(cop_bytes *out, const char *text)
{
	put(out, "\"");
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\' || *c == '$')
			put(out, "\\");
		cop_bytes_put(out, c, 1);
	}
	put(out, "\"");
}

static void put_number(cop_bytes *out, double value)
{
	char text[COP_NUMBER_ROOM];
	(void)cop_number_format(value, text);
	if (strchr(text, '+') != NULL) /* an operator of the file's syntax */
		put_quoted(out, text);
	else
		put(out, text);
}

static void put_list(cop_bytes *out, const cop_config_list *list)
{
	put(out, "{");
	for (size_t i = 0; i < list->count; i++) {
		put(out, i == 0 ? " " : ", ");
		put_quoted(out, list->items[i]);
	}
	put(out, " }");
}

static void put_words(cop_bytes *out, const char *const *words, unsigned set)
{
	const char *between = "{ ";
	for (size_t i = 0; words[i] != NULL; i++) {
		if (set != 0 && (set >> i & 1u) == 0)
			continue;
		put(out, between);
		put_quoted(out, words[i]);
		between = ", ";
	}
	put(out, " }");
}

static void put_shares(cop_bytes *out, const cop_arm_shares *shares)
{
	char text[COP_NUMBER_ROOM + 16];
	put(out, "{");
	for (size_t i = 0; i < shares->count; i++) {
		int used = snprintf(text, sizeof text, "%s\"%" PRIu32 "=", i == 0 ? " " : ", ", shares->arm[i]);
		(void)cop_number_format(shares->share[i], text + used);
		put(out, text);
		put(out, "\"");
	}
	put(out, " }");
}

static void put_whole(cop_bytes *out, const cop_config_rule *rule, const void *field)
{
	char text[48];
	if (rule->kind == COP_KIND_DURATION) {
		format_quantity(*(const uint64_t *)field, durations, UNIT_COUNT(durations), text, sizeof text);
		put_quoted(out, text);
	} else if (rule->kind == COP_KIND_AUTO_SIZE && *(const uint64_t *)field == 0) {
		put(out, "\"auto\"");
	} else if (is_size(rule)) {
		format_quantity(*(const uint64_t *)field, sizes, UNIT_COUNT(sizes), text, sizeof text);
		put_quoted(out, text);
	} else {
		uint64_t whole = rule->kind == COP_KIND_COUNT ? *(const uint32_t *)field : *(const uint64_t *)field;
		(void)snprintf(text, sizeof text, "%" PRIu64, whole);
		put(out, text);
	}
}

void cop_config_value_print(const cop_config_rule *rule, const void *base, cop_bytes *out)
{
	const void *field = (const char *)base + rule->offset;
	const double *range = field;
	const cop_config_loss *loss = field;
	const cop_config_auto *automatic = field;
	unsigned word;
	switch (rule->kind) {
	case COP_KIND_WORD:
		memcpy(&word, field, sizeof word);
		put_quoted(out, rule->words[word]);
		return;
	case COP_KIND_WORDS:
		memcpy(&word, field, sizeof word);
		put_words(out, rule->words, word);
		return;
	case COP_KIND_NUMBER:
		put_number(out, *range);
		return;
	case COP_KIND_SHARES:
		put_shares(out, field);
		return;
	case COP_KIND_FLAG:
		put(out, *(const bool *)field ? "true" : "false");
		return;
	case COP_KIND_RANGE:
		put(out, "{ ");
		put_number(out, range[0]);
		put(out, ", ");
		put_number(out, range[1]);
		put(out, " }");
		return;
	case COP_KIND_LOSS:
		if (loss->given)
			put_number(out, loss->value);
		else
			put(out, "\"none\"");
		return;
	case COP_KIND_AUTO:
		if (automatic->given)
			put_number(out, automatic->value);
		else
			put(out, "\"auto\"");
		return;
	case COP_KIND_TEXT:
	case COP_KIND_FACILITY:
	case COP_KIND_LISTEN:
		put_quoted(out, *(char *const *)field == NULL ? "" : *(char *const *)field);
		return;
	case COP_KIND_BIND:
	case COP_KIND_CONNECT:
		put_list(out, field);
		return;
	default:
		put_whole(out, rule, field);
		return;
	}
}
