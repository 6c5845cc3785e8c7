/* Tables of counters: names of their own, and the rows' values where status and metrics want them. */
#include "daemon/report/counter_tables.h"

#include <string.h>

#include "daemon/durable/journaler.h"
#include "daemon/models/apprentice_body.h"
#include "support.h"

static const cop_counter *const tables[] = { cop_counter_tables_requests, cop_counter_tables_streams,
	cop_counter_tables_stream, cop_counter_tables_checkpoint, cop_counter_tables_journal, cop_counter_tables_past,
	cop_apprentice_body_counters };
static const size_t rows_of[] = { 7, 7, 3, 4, 5, 6, 3 };
#define TABLES (sizeof tables / sizeof *tables)

/* Every metric so far; fails if the row's is among them. */
static void check_metric(const cop_counter *row, const cop_metric **met, size_t *count)
{
	if (row->metric == NULL)
		return;
	for (size_t i = 0; i < *count; i++)
		assert_ptr_not_equal(met[i], row->metric);
	met[(*count)++] = row->metric;
}

static void test_rows_have_names_of_their_own(void **state)
{
	const cop_metric *met[64];
	size_t count = 0;
	(void)state;
	for (size_t t = 0; t < TABLES; t++) {
		size_t rows = 0;
		for (const cop_counter *row = tables[t]; !cop_counters_is_end(row); row++, rows++) {
			check_metric(row, met, &count);
			for (const cop_counter *other = tables[t]; other != row; other++) {
				assert_string_not_equal(row->key, other->key);
				assert_int_not_equal(row->offset, other->offset);
			}
		}
		assert_int_equal(rows, rows_of[t]);
	}
	assert_int_equal(count, 31);
}

static void test_status_has_every_key_with_its_value(void **state)
{
	static const cop_journaler_counts counts = { .records = 1, .bytes = 2, .writes = 3, .syncs = 4, .failures = 5 };
	static const char want[] = "\xa7records\x01\xa5"
	                           "bytes\x02\xa6writes\x03\xa5syncs\x04\xa8"
	                           "failures\x05";
	cop_bytes out;
	(void)state;
	cop_bytes_init(&out);
	cop_counters_put_status(cop_counter_tables_journal, &counts, &out);
	assert_int_equal(out.err, COP_OK);
	assert_int_equal(out.length, sizeof want - 1);
	assert_memory_equal(out.data, want, sizeof want - 1);
	cop_bytes_fini(&out);
}

static void test_metrics_have_every_row_with_a_metric(void **state)
{
	typedef struct counted {
		uint64_t first, second, third;
	} counted;
	static const cop_metric a = { "x_a_total", COP_METRIC_COUNTER, "", "A." };
	static const cop_metric c = { "x_c", COP_METRIC_GAUGE, "", "C." };
	static const cop_counter table[] = {
		{ "a", &a, offsetof(counted, third) },
		{ "b", NULL, offsetof(counted, second) },
		{ NULL, &c, offsetof(counted, first) },
		{ NULL, NULL, 0 },
	};
	static const char want[] = "# HELP x_a_total A.\n# TYPE x_a_total counter\nx_a_total 30\n"
	                           "# HELP x_c C.\n# TYPE x_c gauge\nx_c 10\n";
	static const counted of = { 10, 20, 30 };
	cop_bytes out;
	(void)state;
	cop_bytes_init(&out);
	cop_counters_put_metrics(table, &of, &out);
	assert_int_equal(out.length, sizeof want - 1);
	assert_memory_equal(out.data, want, sizeof want - 1);
	cop_bytes_clear(&out);
	cop_counters_put_status(table, &of, &out); /* a row without a key is not in status */
	assert_int_equal(out.length, 6);
	assert_memory_equal(out.data, "\xa1\x61\x1e\xa1\x62\x14", 6);
	cop_bytes_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_have_names_of_their_own),
		cmocka_unit_test(test_status_has_every_key_with_its_value),
		cmocka_unit_test(test_metrics_have_every_row_with_a_metric),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
