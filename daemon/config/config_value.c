/* One option's value by its kind: texts of the file to the field and back. Kinds that are not of the daemon alone are
 * those of online/setting.c. */
#include "daemon/config/config_rules.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TEXT_MAX  1024
#define LIST_MAX  64
#define NUMBERED  64                    /* bytes of an arm's number and share */
#define TEXTS_MAX (COP_SHARES_ARMS + 1) /* of one option; each kind refuses more */

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
	char *end;
	unsigned long port = strtoul(colon + 1, &end, 10);
	return isdigit((unsigned char)colon[1]) && *end == '\0' && port >= 1 && port <= 65535;
}

/* Whether HOST:PORT, well-formed, names something of this machine as ZeroMQ binds it: "*", an address in digits or an
 * interface. It looks no host name up, not even localhost. */
static bool bindable(const char *text)
{
	char host[COP_CONFIG_ENDPOINT];
	struct in_addr address;
	(void)snprintf(host, sizeof host, "%.*s", (int)(strrchr(text, ':') - text), text);
	return host[0] == '*' || host[0] == '[' || inet_pton(AF_INET, host, &address) == 1 || if_nametoindex(host) != 0;
}

const char *cop_config_peer(const char *item, char endpoint[COP_CONFIG_ENDPOINT + 1])
{
	static const char word[] = " server_key=";
	const char *key = strstr(item, word);
	size_t length = key == NULL ? strlen(item) : (size_t)(key - item);
	(void)snprintf(endpoint, COP_CONFIG_ENDPOINT + 1, "%.*s", (int)length, item);
	return key == NULL ? NULL : key + sizeof word - 1;
}

static bool ipc_fits(const char *text)
{
	return strncmp(text, "ipc://", 6) == 0 && text[6] != '\0' && strlen(text + 6) <= COP_CONFIG_IPC_PATH;
}

/* here: what binds is of this machine, as that of a journal need not be. */
static bool endpoint_fits(const char *item, bool bind, bool here)
{
	char text[COP_CONFIG_ENDPOINT + 1];
	const char *key = cop_config_peer(item, text);
	size_t length = strcspn(item, " ");
	if (bind && plain_text(item) && ipc_fits(item)) /* also with spaces in its path */
		return true;
	if (!plain_text(item) || length > COP_CONFIG_ENDPOINT || length != strlen(text))
		return false;
	if (key != NULL && (bind || !cop_curve_key_is(key) || strncmp(text, "tcp://", 6) != 0))
		return false;
	if (strncmp(text, "tcp://", 6) == 0)
		return host_and_port(text + 6, bind) && (!bind || !here || bindable(text + 6));
	return ipc_fits(text);
}

static void describe(const cop_setting *rule, char *out, size_t size)
{
	static const char *const texts[] = {
		[COP_KIND_TEXT] = "a text of 1 to 1024 printable characters",
		[COP_KIND_FACILITY] = "daemon, user or local0 to local7",
		[COP_KIND_LISTEN] = "ADDRESS:PORT, for example 127.0.0.1:5599",
		[COP_KIND_BIND] =
		        "tcp://ADDRESS:PORT with an address or interface of this machine or * for all (no host "
		        "name), or ipc://PATH",
		[COP_KIND_CONNECT] =
		        "tcp://HOST:PORT, perhaps followed by server_key=KEY of 40 characters, or ipc://PATH",
		[COP_KIND_LISTENERS] = "ADDRESS:PORT, for example 127.0.0.1:5580",
		[COP_KIND_NAMES] = "the name of a model",
	};
	if (rule->kind < COP_SETTING_OTHER)
		cop_setting_describe(rule, out, size);
	else
		(void)snprintf(out, size, "%s", texts[rule->kind]);
}

static void complain_value(cop_config_reading *reading, uint64_t line, const cop_setting *rule, const char *text)
{
	char expected[192];
	describe(rule, expected, sizeof expected);
	cop_config_complain(reading, line, rule->name, "\"%.64s\" is not allowed, expected %s", text, expected);
}

/* Fills the field of a kind that has one text; false: not allowed. Texts are replaced. */
static bool read_text(cop_config_reading *reading, const cop_setting *rule, const char *text, char **field)
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

static bool item_fits(const cop_config_reading *reading, const cop_setting *rule, const char *text)
{
	if (rule->kind == COP_KIND_NAMES)
		return plain_text(text);
	return rule->kind == COP_KIND_LISTENERS
	               ? host_and_port(text, false)
	               : endpoint_fits(text, rule->kind == COP_KIND_BIND, strcmp(reading->source, "journal") != 0);
}

static void read_list(cop_config_reading *reading, cfg_t *section, const cop_setting *rule, cop_config_list *list)
{
	unsigned count = cfg_size(section, rule->name);
	if (count > LIST_MAX) {
		cop_config_complain(reading, cop_config_line(section, rule->name), rule->name,
		        "%u %s are too many, expected at most %d", count,
		        rule->kind == COP_KIND_NAMES ? "names" : "endpoints", LIST_MAX);
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
		if (!item_fits(reading, rule, value->text)) {
			complain_value(reading, value->line, rule, value->text);
			continue;
		}
		char *copy = cop_mem_strdup(value->text);
		reading->out_of_memory |= copy == NULL;
		if (copy != NULL)
			list->items[list->count++] = copy;
	}
}

/* NAME or NAME=SHARE with the arm's number for its name; else the text itself. */
static const char *number_arm(
        const cop_setting *rule, const cop_config_list *arms, const char *text, char out[NUMBERED])
{
	const char *mark = rule->kind == COP_SETTING_SHARES ? strrchr(text, '=') : NULL;
	size_t length = mark == NULL ? strlen(text) : (size_t)(mark - text);
	bool number = strspn(text, "0123456789") == length;
	for (const char *const *word = rule->words; word != NULL && *word != NULL; word++)
		number |= strcmp(*word, text) == 0;
	if (number) /* or a word */
		return text;
	for (size_t i = 0; i < arms->count; i++) {
		if (strncmp(arms->items[i], text, length) != 0 || arms->items[i][length] != '\0')
			continue;
		int size = snprintf(out, NUMBERED, "%zu%s", i, mark == NULL ? "" : mark);
		return size > 0 && size < NUMBERED ? out : text;
	}
	return text;
}

/* Of a kind of online/setting.h. */
static void read_option(cop_config_reading *reading, cfg_t *section, const cop_setting *rule, void *base)
{
	const char *texts[TEXTS_MAX];
	char numbered[TEXTS_MAX][NUMBERED];
	size_t count = cfg_size(section, rule->name), wrong;
	for (size_t i = 0; i < count && i < TEXTS_MAX; i++) {
		texts[i] = ((const cop_config_text *)cfg_getnptr(section, rule->name, (unsigned)i))->text;
		if ((rule->flags & COP_SETTING_IS_ARMED) != 0 && reading->arms != NULL)
			texts[i] = number_arm(rule, reading->arms, texts[i], numbered[i]);
	}
	if (cop_setting_read(rule, texts, count < TEXTS_MAX ? count : TEXTS_MAX, base, &wrong))
		return;
	if (wrong == count) {
		complain_value(reading, cop_config_line(section, rule->name), rule, count == 0 ? "{}" : "{one number}");
		return;
	}
	const cop_config_text *value = cfg_getnptr(section, rule->name, (unsigned)wrong);
	complain_value(reading, value->line, rule, value->text);
}

void cop_config_value_read(cop_config_reading *reading, cfg_t *section, const cop_setting *rule, void *base)
{
	void *field = (char *)base + rule->offset;
	if (!cop_config_has(section, rule->name))
		return;
	if (rule->kind < COP_SETTING_OTHER) {
		read_option(reading, section, rule, base);
	} else if (cop_config_rules_is_list(rule)) {
		read_list(reading, section, rule, field);
	} else {
		const cop_config_text *value = cfg_getptr(section, rule->name);
		if (!read_text(reading, rule, value->text, field))
			complain_value(reading, value->line, rule, value->text);
	}
}

static void put_list(cop_bytes *out, const cop_config_list *list)
{
	cop_bytes_put(out, "{", 1);
	for (size_t i = 0; i < list->count; i++) {
		cop_bytes_put(out, i == 0 ? " " : ", ", i == 0 ? 1 : 2);
		cop_setting_put_quoted(list->items[i], out);
	}
	cop_bytes_put(out, " }", 2);
}

void cop_config_value_print(const cop_setting *rule, const void *base, cop_bytes *out)
{
	const void *field = (const char *)base + rule->offset;
	if (rule->kind < COP_SETTING_OTHER)
		cop_setting_print(rule, &cop_setting_in_file, base, out);
	else if (cop_config_rules_is_list(rule))
		put_list(out, field);
	else
		cop_setting_put_quoted(*(char *const *)field == NULL ? "" : *(char *const *)field, out);
}
