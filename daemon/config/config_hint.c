/* Near is a name that a slip or two of the fingers make of another: a letter too many, too few, or another one. */
#include "daemon/config/config_hint.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config/config_rules.h"

#define NAME_MAX_LENGTH 40 /* of an option */
#define SLIPS           2
#define SECTIONS        (COP_CONFIG_SECTIONS + 2)

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Levenshtein's distance; SLIPS + 1 for texts that are too long. */
static size_t distance(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b);
	size_t row[NAME_MAX_LENGTH + 1];
	if (n > NAME_MAX_LENGTH || m > NAME_MAX_LENGTH)
		return SLIPS + 1;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t corner = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			const size_t change = corner + (a[i - 1] != b[j - 1]);
			corner = row[j];
			row[j] = least(change, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[m];
}

static const cop_config_section *section_at(size_t i)
{
	if (i < COP_CONFIG_SECTIONS)
		return &cop_config_sections[i];
	return i == COP_CONFIG_SECTIONS ? &cop_config_model_section : &cop_config_refit_section;
}

/* The name in the section that is at most `*far` from this one, which becomes how far it is; NULL: none is nearer. */
static const char *nearest_in(const cop_config_section *section, const char *name, size_t *far)
{
	const char *nearest = NULL;
	for (const cop_setting *rule = section->rules; rule->name != NULL; rule++) {
		const size_t one = distance(name, rule->name);
		if (one >= *far)
			continue;
		nearest = rule->name;
		*far = one;
	}
	return nearest;
}

/* Adds the sections that have the option; false: none has. */
static bool hint_sections(const char *name, char *to, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < SECTIONS && used < size; i++) {
		size_t far = 1;
		const cop_config_section *section = section_at(i);
		if (nearest_in(section, name, &far) == NULL)
			continue;
		const bool file = section->name[0] == '\0';
		used += (size_t)snprintf(to + used, size - used, "%s%s%s", used == 0 ? ", expected it " : " or ",
		        file ? "outside of sections" : "in a section ", section->name);
	}
	return used > 0;
}

static void hint_option(const char *name, char *to, size_t size)
{
	const size_t length = strlen(name);
	const char *nearest = NULL;
	size_t far = least(SLIPS, length / 3) + 1;
	if (length > 0 && name[length - 1] == ':') {
		(void)snprintf(to, size, ", expected %.*s = VALUE", (int)(length - 1), name);
		return;
	}
	if (hint_sections(name, to, size))
		return;
	for (size_t i = 0; i < SECTIONS; i++) {
		const char *one = nearest_in(section_at(i), name, &far);
		nearest = one != NULL ? one : nearest;
	}
	(void)snprintf(to, size, ", expected %s", nearest != NULL ? nearest : "one of coppice.conf(5)");
}

void cop_config_hint(char *text, size_t size)
{
	static const struct {
		const char *says, *hint;
	} known[] = {
		{ "unexpected token '{'",
		        ", expected one value (only lists stand in braces) or a section's name before it" },
		{ "unexpected token ','", ", expected options without commas between them" },
		{ "missing title for section 'model'", ", expected model \"NAME\" { ... }" },
		{ "missing opening brace", ", expected options in braces" },
	};
	static const char no_option[] = "no such option '";
	const size_t length = strlen(text);
	char name[NAME_MAX_LENGTH + 2];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(text, known[i].says, strlen(known[i].says)) == 0) {
			(void)snprintf(text + length, size - length, "%s", known[i].hint);
			return;
		}
	const size_t before = sizeof no_option - 1;
	if (strncmp(text, no_option, before) != 0 || length < before + 2 || length - before - 1 >= sizeof name)
		return;
	memcpy(name, text + before, length - before - 1);
	name[length - before - 1] = '\0';
	hint_option(name, text + length, size - length);
}
