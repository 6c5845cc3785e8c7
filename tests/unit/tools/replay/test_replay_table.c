#include "tools/replay/replay_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define HEADER                                                                                                         \
	"average  since         example        example        current        current  current\n"                       \
	"loss     last          counter         weight          label        predict features\n"

typedef struct printed {
	char *text;
	size_t length;
	cop_replay_table table;
	cop_estimates tally;
} printed;

static void begin(printed *p, double step, bool adds)
{
	FILE *out = open_memstream(&p->text, &p->length);
	assert_non_null(out);
	cop_replay_table_init(&p->table, out, step, adds);
	assert_int_equal(cop_estimates_init(&p->tally, -10.0, 10.0, 10.0), COP_OK);
}

static void add(printed *p, double cost, double probability, double target, bool labelled)
{
	cop_logged_event event = {
		.action = 3, .cost = cost, .p = probability, .weight = 1.0, .labelled = labelled, .features = 40
	};
	cop_replay_seen seen = { .target = target, .target_max = 1.0, .best = 2, .best_p = 0.85, .best_cost = 0.5 };
	cop_replay_place place = { .first_pass = true, .last_pass = true };
	assert_int_equal(cop_estimates_add(&p->tally, &event, &seen, place), COP_OK);
	cop_replay_table_add(&p->table, &p->tally, &event, &seen);
}

static void end(printed *p, const char *expected)
{
	assert_int_equal(fclose(p->table.out), 0);
	assert_string_equal(p->text, expected);
	free(p->text);
}

static void test_table_line_is_cut_and_aligned_as_vowpal_wabbits(void **state)
{
	(void)state;
	printed p;
	begin(&p, 1.0, true);
	add(&p, -0.0, 0.05, 0.25, true);
	add(&p, -1.0, 0.85, 0.25, true);
	add(&p, 0.0, 0.5, 0.0, false);
	end(&p, HEADER "0.000000 0.000000            1            1.0      3:-0:0.05         2:0.85       40\n"
	               "-0.14705 -0.29411            2            2.0      3:-1:0.85         2:0.85       40\n"
	               "-0.14705 n.a.                3            3.0        unknown         2:0.85       40\n");
}

static void test_table_without_a_label_has_no_average(void **state)
{
	(void)state;
	printed p;
	begin(&p, 2.0, false);
	add(&p, 0.0, 0.5, 0.0, false);
	end(&p, HEADER "n.a.     n.a.                1            1.0        unknown         2:0.85       40\n");
}

static size_t lines_for(double step, bool adds, int events)
{
	printed p;
	size_t lines = 0;
	begin(&p, step, adds);
	for (int i = 0; i < events; i++)
		add(&p, 1.0, 0.5, 1.0, true);
	assert_int_equal(fclose(p.table.out), 0);
	for (const char *at = p.text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	free(p.text);
	return lines - 2;
}

static void test_table_marks_multiply_or_add(void **state)
{
	(void)state;
	assert_int_equal(lines_for(2.0, false, 100), 7); /* 1 2 4 ... 64 */
	assert_int_equal(lines_for(10.0, false, 100), 3);
	assert_int_equal(lines_for(10.0, true, 100), 10);
}

static void test_table_heavy_event_passes_many_marks_at_once(void **state)
{
	(void)state;
	printed p;
	begin(&p, 1.0, true);
	p.tally.weight = 1e9;
	add(&p, 1.0, 0.5, 1.0, true);
	assert_true(p.table.mark > 1e9);
	assert_int_equal(fclose(p.table.out), 0);
	free(p.text);
}

static void test_table_resumed_goes_on_between_its_marks(void **state)
{
	(void)state;
	printed p;
	begin(&p, 2.0, false);
	p.tally.examples = 5;
	p.tally.weight = 5.0;
	p.tally.labelled_weight = 5.0;
	p.tally.loss_sum = 2.5;
	cop_replay_table_resume(&p.table, &p.tally);
	for (int i = 0; i < 3; i++)
		add(&p, 1.0, 0.5, 0.5, true);
	end(&p, HEADER "0.687500 1.000000            8            8.0        3:1:0.5         2:0.85       40\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_line_is_cut_and_aligned_as_vowpal_wabbits),
		cmocka_unit_test(test_table_without_a_label_has_no_average),
		cmocka_unit_test(test_table_marks_multiply_or_add),
		cmocka_unit_test(test_table_heavy_event_passes_many_marks_at_once),
		cmocka_unit_test(test_table_resumed_goes_on_between_its_marks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
