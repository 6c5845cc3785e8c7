/* A table is the lines that begin with a bar, from the first one below a text on. */
#include "support_page.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

void cop_test_page_row(cop_bytes *out, const char *const *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		put(out, cells[i][0] == '\0' ? "|" : "| ");
		put(out, cells[i]);
		put(out, " ");
	}
	put(out, "|\n");
}

void cop_test_page_head(cop_bytes *out, const char *const *titles, size_t count)
{
	cop_test_page_row(out, titles, count);
	for (size_t i = 0; i < count; i++)
		put(out, "|---");
	put(out, "|\n");
}

static void read_page(const char *path, cop_bytes *out)
{
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	for (int c; (c = getc(file)) != EOF;)
		cop_bytes_put_u8(out, (uint8_t)c);
	assert_int_equal(fclose(file), 0);
	cop_bytes_put_u8(out, 0);
	assert_int_equal(out->err, COP_OK);
}

/* Where the table begins and ends. */
static void find(const char *text, const char *after, size_t *begin, size_t *end)
{
	const char *at = strstr(text, after);
	assert_non_null(at);
	assert_null(strstr(at + 1, after));
	at = strstr(at, "\n|");
	assert_non_null(at);
	*begin = (size_t)(at + 1 - text);
	for (at++; *at == '|'; at++) {
		at = strchr(at, '\n');
		assert_non_null(at);
	}
	*end = (size_t)(at - text);
}

static void renew(const char *path, const char *text, size_t begin, size_t end, const cop_bytes *table)
{
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, begin, file), begin);
	assert_int_equal(fwrite(table->data, 1, table->length, file), table->length);
	assert_int_equal(fwrite(text + end, 1, strlen(text + end), file), strlen(text + end));
	assert_int_equal(fclose(file), 0);
}

void cop_test_page_check(const char *page, const char *after, const cop_bytes *table)
{
	char path[512];
	const char *wish = getenv("COPPICE_REFERENCE");
	cop_bytes text;
	size_t begin, end;
	cop_bytes_init(&text);
	assert_int_equal(table->err, COP_OK);
	(void)snprintf(path, sizeof path, "%s/../../docs/reference/%s", COP_TEST_DATA, page);
	read_page(path, &text);
	find((const char *)text.data, after, &begin, &end);
	if (wish != NULL && strcmp(wish, "renew") == 0) {
		renew(path, (const char *)text.data, begin, end, table);
		cop_bytes_clear(&text);
		read_page(path, &text);
		find((const char *)text.data, after, &begin, &end);
	}
	bool same = end - begin == table->length && memcmp(text.data + begin, table->data, table->length) == 0;
	if (!same)
		print_message("%s: the table below \"%s\" is not what the source has; COPPICE_REFERENCE=renew in the "
		              "environment of this test writes it\n",
		        page, after);
	cop_bytes_fini(&text);
	assert_true(same);
}
