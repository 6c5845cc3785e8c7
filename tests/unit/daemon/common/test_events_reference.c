/* docs/reference/events.md is what log_events.def has. */
#include <stdbool.h>
#include <string.h>

#include "daemon/common/log.h"
#include "support.h"
#include "support_page.h"

typedef struct row {
	const char *name, *level, *worse, *keys, *meaning; /* of a program the name alone */
} row;

static const row rows[] = {
#define PROGRAM(name)                          { name, NULL, NULL, NULL, NULL },
#define EVENT(id, level, worse, keys, meaning) { #id, #level, #worse, keys, meaning },
#include "daemon/common/log_events.def"
#undef EVENT
#undef PROGRAM
};
#define ROWS (sizeof rows / sizeof *rows)

static const struct {
	const char *program, *after;
} tables[] = {
	{ "coppiced", "# Log events" },
	{ "coppice-lease", "logs as `coppice-lease`" },
	{ "coppiced-streams", "logs as `coppiced-streams`" },
};

/* The words in lower case, with a backquote on each side if `quoted`. */
static void put_words(const char *text, bool quoted, cop_bytes *out)
{
	for (const char *at = text; *at != '\0'; at++) {
		bool word = *at != ',' && *at != ' ';
		if (quoted && word && (at == text || at[-1] == ' '))
			cop_bytes_put_u8(out, '`');
		cop_bytes_put_u8(out, *at >= 'A' && *at <= 'Z' ? (uint8_t)(*at - 'A' + 'a') : (uint8_t)*at);
		if (quoted && word && (at[1] == '\0' || at[1] == ','))
			cop_bytes_put_u8(out, '`');
	}
}

static void put_event(const row *event, cop_bytes *out)
{
	cop_bytes name, level, keys;
	cop_bytes_init(&name);
	cop_bytes_init(&level);
	cop_bytes_init(&keys);
	put_words(event->name, true, &name);
	put_words(event->level, false, &level);
	if (strcmp(event->level, event->worse) != 0) {
		cop_bytes_put(&level, " or ", 4);
		put_words(event->worse, false, &level);
	}
	put_words(event->keys, true, &keys);
	cop_bytes_put_u8(&name, 0);
	cop_bytes_put_u8(&level, 0);
	cop_bytes_put_u8(&keys, 0);
	const char *cells[] = { (const char *)name.data, (const char *)level.data, (const char *)keys.data,
		event->meaning };
	cop_test_page_row(out, cells, 4);
	cop_bytes_fini(&name);
	cop_bytes_fini(&level);
	cop_bytes_fini(&keys);
}

static void test_events_reference_is_what_the_table_says(void **state)
{
	static const char *const titles[] = { "event", "level", "keys", "meaning" };
	size_t at = 0;
	(void)state;
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
		cop_bytes table;
		cop_bytes_init(&table);
		cop_test_page_head(&table, titles, 4);
		assert_string_equal(rows[at].name, tables[t].program);
		for (at++; at < ROWS && rows[at].level != NULL; at++)
			put_event(&rows[at], &table);
		cop_test_page_check("events.md", tables[t].after, &table);
		cop_bytes_fini(&table);
	}
	assert_int_equal(at, ROWS);
}

static void test_event_of_a_line_has_the_levels_of_its_row(void **state)
{
	(void)state;
	assert_int_equal(COP_LOG_EVENT(serving).level, COP_LOG_NOTICE);
	assert_string_equal(COP_LOG_EVENT(serving).name, "serving");
	assert_int_equal(COP_LOG_EVENT_WORSE(serving).level, COP_LOG_NOTICE);
	assert_int_equal(COP_LOG_EVENT(checkpoint).level, COP_LOG_INFO);
	assert_int_equal(COP_LOG_EVENT(reload).level, COP_LOG_NOTICE);
	assert_int_equal(COP_LOG_EVENT_WORSE(reload).level, COP_LOG_ERROR);
	assert_string_equal(COP_LOG_EVENT_WORSE(reload).name, "reload");
	assert_null(COP_LOG_NO_EVENT.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_reference_is_what_the_table_says),
		cmocka_unit_test(test_event_of_a_line_has_the_levels_of_its_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
