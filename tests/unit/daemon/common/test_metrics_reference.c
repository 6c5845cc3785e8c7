/* docs/reference/metrics.md is what metrics.def has. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/metric.h"
#include "support.h"
#include "support_page.h"

/* A heading of the page, or a row of the table below it. */
typedef struct line {
	const char *heading;
	const cop_metric *metric;
} line;

static const line lines[] = {
#define GROUP(heading)                   { heading, NULL },
#define METRIC(name, type, labels, help) { NULL, COP_METRIC(name) },
#include "daemon/common/metrics.def"
#undef METRIC
#undef GROUP
};
#define LINES (sizeof lines / sizeof *lines)

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

/* "model, arm" with a backquote on each side of a word. */
static void put_labels(const char *labels, cop_bytes *out)
{
	for (size_t length; *labels != '\0'; labels += length) {
		length = strcspn(labels, ", ");
		put(out, "`");
		cop_bytes_put(out, labels, length);
		put(out, "`");
		size_t between = strspn(labels + length, ", ");
		cop_bytes_put(out, labels + length, between);
		length += between;
	}
}

/* A path from the root, in brackets, as a link with the name of the file, seen from docs/reference. */
static void put_link(const char *path, size_t length, cop_bytes *out)
{
	static const char beside[] = "docs/reference/", docs[] = "docs/";
	char name[128], *end;
	assert_true(length < sizeof name);
	memcpy(name, path, length);
	name[length] = '\0';
	bool near = strncmp(name, beside, sizeof beside - 1) == 0;
	put(out, "([");
	end = strchr(name, '#');
	size_t named = end == NULL ? length : (size_t)(end - name);
	size_t base = named;
	while (name[base - 1] != '/')
		base--;
	cop_bytes_put(out, name + base, named - base);
	put(out, near ? "](" : "](../");
	put(out, name + (near ? sizeof beside : sizeof docs) - 1);
	put(out, "))");
}

static void put_help(const char *help, cop_bytes *out)
{
	for (const char *at; (at = strstr(help, "(docs/")) != NULL; help = strchr(at, ')') + 1) {
		cop_bytes_put(out, help, (size_t)(at - help));
		put_link(at + 1, strcspn(at + 1, ")"), out);
	}
	put(out, help);
}

static void put_metric(const cop_metric *metric, cop_bytes *out)
{
	char name[96];
	cop_bytes labels, help;
	cop_bytes_init(&labels);
	cop_bytes_init(&help);
	(void)snprintf(name, sizeof name, "`%s`", metric->name);
	put_labels(metric->labels, &labels);
	put_help(metric->help, &help);
	cop_bytes_put_u8(&labels, 0);
	cop_bytes_put_u8(&help, 0);
	const char *cells[] = { name, cop_metric_type_text(metric->type), (const char *)labels.data,
		(const char *)help.data };
	cop_test_page_row(out, cells, 4);
	cop_bytes_fini(&labels);
	cop_bytes_fini(&help);
}

static void test_metrics_reference_is_what_the_table_says(void **state)
{
	static const char *const titles[] = { "metric", "type", "labels", "meaning" };
	(void)state;
	for (size_t i = 0; i < LINES;) {
		const char *heading = lines[i].heading;
		cop_bytes table;
		cop_bytes_init(&table);
		assert_non_null(heading);
		cop_test_page_head(&table, titles, 4);
		for (i++; i < LINES && lines[i].metric != NULL; i++)
			put_metric(lines[i].metric, &table);
		cop_test_page_check("metrics.md", heading, &table);
		cop_bytes_fini(&table);
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), most = strlen(end);
	return length >= most && strcmp(text + length - most, end) == 0;
}

/* As `promtool check metrics` wants them. */
static void test_metrics_have_names_types_and_help_as_prometheus_wants_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < COP_METRICS; i++) {
		const cop_metric *is = &cop_metric_table[i];
		assert_ptr_equal(cop_metric_find(is->name), is); /* the first of its name */
		assert_int_equal(ends_with(is->name, "_total"), is->type == COP_METRIC_COUNTER);
		assert_true(is->type != COP_METRIC_HISTOGRAM || ends_with(is->name, "_seconds"));
		assert_true(is->help[0] >= '0' && is->help[0] <= 'Z');
		assert_true(ends_with(is->help, "."));
		assert_null(strpbrk(is->help, "\\\n|"));
	}
	assert_string_equal(COP_METRIC(coppice_requests_total)->name, "coppice_requests_total");
	assert_string_equal(cop_metric_type_text(COP_METRIC_COUNTER), "counter");
	assert_string_equal(cop_metric_type_text(COP_METRIC_GAUGE), "gauge");
	assert_string_equal(cop_metric_type_text(COP_METRIC_HISTOGRAM), "histogram");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metrics_reference_is_what_the_table_says),
		cmocka_unit_test(test_metrics_have_names_types_and_help_as_prometheus_wants_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
