/* The table of verbs in docs/reference/protocol.md is what verbs.def has. */
#include <string.h>

#include "support.h"
#include "support_page.h"

typedef struct row {
	const char *name, *models, *right, *changes, *body, *reply, *meaning;
} row;

static const row rows[] = {
#define VERB(name, models, right, kind, event, handle, changes, body, reply, meaning)                                  \
	{ "`" #name "`", #models, #right, #changes, body, reply, meaning },
#include "daemon/verbs.def"
#undef VERB
};
#define ROWS (sizeof rows / sizeof *rows)

typedef struct text {
	const char *word, *text;
} text;

static const text models[] = {
	{ "ANY", "needed" },
	{ "NO_CANDIDATES", "needed, does not rank" },
	{ "CANDIDATES", "needed, ranks" },
	{ "NONE_NEEDED", "may be empty" },
	{ "NOT_YET", "needed, may be new" },
};

static const text rights[] = {
	{ "DECIDE", "`decide`" },
	{ "FEEDBACK", "`feedback`" },
	{ "READ", "`read`" },
	{ "ADMIN", "`admin`" },
};

static const char *find(const text *texts, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(texts[i].word, word) == 0)
			return texts[i].text;
	fail_msg("no text for %s", word);
	return "";
}
#define TEXT(texts, word) find(texts, sizeof(texts) / sizeof *(texts), word)

static void test_verbs_reference_is_what_the_table_says(void **state)
{
	static const char *const titles[] = { "verb", "what it does", "endpoint", "right", "model",
		"an instance that follows", "body", "reply" };
	cop_bytes table;
	(void)state;
	cop_bytes_init(&table);
	cop_test_page_head(&table, titles, 8);
	for (size_t i = 0; i < ROWS; i++) {
		const row *verb = &rows[i];
		const char *cells[] = { verb->name, verb->meaning,
			strcmp(verb->right, "ADMIN") == 0 ? "`admin`" : "`requests`", TEXT(rights, verb->right),
			TEXT(models, verb->models), strcmp(verb->changes, "true") == 0 ? "refuses" : "takes it",
			verb->body, verb->reply };
		cop_test_page_row(&table, cells, 8);
	}
	cop_test_page_check("protocol.md", "## Requests\n", &table);
	cop_bytes_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs_reference_is_what_the_table_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
