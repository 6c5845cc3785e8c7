/* Texts in double quotes may name environment variables, ${NAME} or ${NAME:-instead}, which libconfuse replaces; it
 * takes one that is not set for an empty text. Here the text is walked once more, as libconfuse's scanner does it
 * (comments, both kinds of quotes, escapes), and variables that are not set are complained of. */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/config_rules.h"

#define NAME_ROOM 128

typedef struct walk {
	const char *at, *end;
	uint64_t line;
} walk;

static bool begins(const walk *w, const char *what)
{
	size_t length = strlen(what);
	return (size_t)(w->end - w->at) >= length && memcmp(w->at, what, length) == 0;
}

static void step(walk *w, size_t count)
{
	for (; count > 0 && w->at < w->end; count--)
		w->line += *w->at++ == '\n';
}

/* Up to and with `what`, or the end. */
static void skip_behind(walk *w, const char *what)
{
	while (w->at < w->end && !begins(w, what))
		step(w, 1);
	step(w, strlen(what));
}

/* At "${": steps behind it. */
static void check_variable(cop_config_reading *reading, walk *w)
{
	char name[NAME_ROOM];
	size_t length = 0;
	step(w, 2);
	while (w->at < w->end && *w->at != '}' && *w->at != ':' && *w->at != '"' && length + 1 < sizeof name) {
		name[length++] = *w->at;
		step(w, 1);
	}
	name[length] = '\0';
	bool has_other = begins(w, ":-");
	if (!has_other && getenv(name) == NULL)
		cop_config_complain(reading, w->line, "",
		        "the environment variable %s is not set, expected a value for ${%s}, or ${%s:-TEXT}", name,
		        name, name);
}

static void check_text(cop_config_reading *reading, walk *w)
{
	step(w, 1);
	while (w->at < w->end && *w->at != '"') {
		if (*w->at == '\\')
			step(w, 2);
		else if (begins(w, "${"))
			check_variable(reading, w);
		else
			step(w, 1);
	}
	step(w, 1);
}

/* In single quotes nothing is replaced. */
static void skip_text(walk *w)
{
	step(w, 1);
	skip_behind(w, "'");
}

void cop_config_check_variables(cop_config_reading *reading, const char *text, size_t length)
{
	walk w = { text, text + length, 1 };
	while (w.at < w.end) {
		if (*w.at == '#' || begins(&w, "//"))
			skip_behind(&w, "\n");
		else if (begins(&w, "/*"))
			skip_behind(&w, "*/");
		else if (*w.at == '\'')
			skip_text(&w);
		else if (*w.at == '"')
			check_text(reading, &w);
		else
			step(&w, 1);
	}
}
