#include "tools/bakeoff/bakeoff_score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "tools/bakeoff/bakeoff_report.h"
#include "tools/bakeoff/bakeoff_store.h"

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.17g, expected %.17g", value, expected);
}

static cop_bakeoff_cell cell(double loss, uint64_t events)
{
	return (cop_bakeoff_cell){ .seeds = 1, .events = events, .loss = loss };
}

static void add(cop_bakeoff_rows *rows, const char *dataset, const char *setting, uint64_t seed, double loss)
{
	cop_bakeoff_row row = {
		.seed = seed, .events = 1000, .features = 4, .classes = 3, .loss = loss, .seconds = 0.5
	};
	(void)snprintf(row.dataset, sizeof row.dataset, "%s", dataset);
	(void)snprintf(row.setting, sizeof row.setting, "%s", setting);
	assert_int_equal(cop_bakeoff_rows_add(rows, &row), COP_OK);
}

/* ---- two cells ---- */

static void test_tail_is_that_of_the_normal_distribution(void **state)
{
	(void)state;
	static const double losses[][2] = { { 0.3, 0.28 }, { 0.28, 0.3 }, { 0.5, 0.1 }, { 0.02, 0.0 }, { 1.0, 0.7 } };
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		double p = losses[i][0];
		double q = losses[i][1];
		cop_bakeoff_cell a = cell(p, 2000);
		cop_bakeoff_cell b = cell(q, 500);
		double z = (p - q) / sqrt(p * (1 - p) / 2000 + q * (1 - q) / 500);
		assert_near(cop_bakeoff_score_tail(&a, &b), 0.5 * erfc(z / sqrt(2.0)), 1e-12);
		assert_near(cop_bakeoff_score_tail(&a, &b) + cop_bakeoff_score_tail(&b, &a), 1.0, 1e-12);
	}
}

static void test_tail_of_a_known_case_is_as_tabulated(void **state)
{
	(void)state;
	/* z = 0.0329 / sqrt(2 * 0.25 / 1250) nearly; Phi(1.645) = 0.95002 */
	cop_bakeoff_cell a = cell(0.5 + 0.01645, 1250);
	cop_bakeoff_cell b = cell(0.5 - 0.01645, 1250);
	assert_near(cop_bakeoff_score_tail(&a, &b), 0.05, 2e-4);
}

static void test_tail_without_variance_is_certain_or_even(void **state)
{
	(void)state;
	cop_bakeoff_cell right = cell(0.0, 50);
	cop_bakeoff_cell wrong = cell(1.0, 50);
	assert_near(cop_bakeoff_score_tail(&right, &right), 0.5, 0.0);
	assert_near(cop_bakeoff_score_tail(&wrong, &right), 0.0, 0.0);
	assert_near(cop_bakeoff_score_tail(&right, &wrong), 1.0, 0.0);
	assert_int_equal(cop_bakeoff_score_compare(&right, &wrong, 0.05), 1);
	assert_int_equal(cop_bakeoff_score_compare(&wrong, &right, 0.05), -1);
	assert_int_equal(cop_bakeoff_score_compare(&right, &right, 0.05), 0);
}

static void test_compare_turns_at_the_risk(void **state)
{
	(void)state;
	/* z is 1.8: beyond 1.645, not beyond 1.960. */
	double error = sqrt(2 * 0.25 / 10000);
	cop_bakeoff_cell a = cell(0.5 - 0.9 * error, 10000);
	cop_bakeoff_cell b = cell(0.5 + 0.9 * error, 10000);
	assert_int_equal(cop_bakeoff_score_compare(&a, &b, 0.05), 1);
	assert_int_equal(cop_bakeoff_score_compare(&b, &a, 0.05), -1);
	assert_int_equal(cop_bakeoff_score_compare(&a, &b, 0.025), 0);
	a.events = b.events = 5000; /* z is 1.27 */
	assert_int_equal(cop_bakeoff_score_compare(&a, &b, 0.05), 0);
}

static void test_relative_of_a_faultless_reference_counts_one_event(void **state)
{
	(void)state;
	cop_bakeoff_cell a = cell(0.3, 100);
	cop_bakeoff_cell b = cell(0.2, 100);
	cop_bakeoff_cell none = cell(0.0, 100);
	assert_near(cop_bakeoff_score_relative(&a, &b), 0.5, 1e-12);
	assert_near(cop_bakeoff_score_relative(&b, &a), -1.0 / 3.0, 1e-12);
	assert_near(cop_bakeoff_score_relative(&a, &none), 30.0, 1e-9);
	assert_near(cop_bakeoff_score_relative(&none, &none), 0.0, 0.0);
}

static void test_deviation_of_one_seed_is_none(void **state)
{
	(void)state;
	cop_bakeoff_cell one = cell(0.3, 100);
	assert_true(isnan(cop_bakeoff_score_deviation(&one)));
	one.seeds = 3;
	one.squares = 8.0;
	assert_near(cop_bakeoff_score_deviation(&one), 2.0, 0.0);
}

/* ---- a table made by hand ---- */

typedef struct table {
	cop_bakeoff_rows own, peers[2];
	cop_bakeoff_score_settings set;
} table;

static const char *const datasets[] = { "one", "two", "three", "absent" };
static const char *const files[] = { "vw", "other" };

/* own: good and bad on one, two and three; peers: p on one and two, q on one alone, and a dataset of their own. */
static void fill(table *t)
{
	*t = (table){ .set = { .datasets = datasets, .datasets_count = 4, .risk = 0.05, .peer_names = files } };
	add(&t->own, "one", "good", 1, 0.10);
	add(&t->own, "one", "good", 2, 0.20);
	add(&t->own, "two", "good", 1, 0.30);
	add(&t->own, "three", "good", 1, 0.00);
	add(&t->own, "one", "bad", 1, 0.30);
	add(&t->own, "two", "bad", 1, 0.31);
	add(&t->own, "three", "bad", 1, 0.50);
	add(&t->peers[0], "one", "p", 1, 0.60);
	add(&t->peers[0], "two", "p", 1, 0.15);
	add(&t->peers[0], "one", "q", 1, 0.05);
	add(&t->peers[0], "elsewhere", "q", 1, 0.01);
	t->set.own = &t->own;
	t->set.peers = t->peers;
}

static void clear(table *t)
{
	cop_bakeoff_rows_fini(&t->own);
	cop_bakeoff_rows_fini(&t->peers[0]);
	cop_bakeoff_rows_fini(&t->peers[1]);
}

static void test_score_of_own_settings_is_as_by_hand(void **state)
{
	(void)state;
	table t;
	cop_bakeoff_score s;
	cop_diag diag;
	fill(&t);
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	assert_int_equal(s.fields, 3);
	assert_int_equal(s.common, 3);
	assert_int_equal(s.contenders, 2);
	assert_string_equal(s.contender[0].name, "good");
	assert_near(s.contender[0].mean, (0.15 + 0.30 + 0.00) / 3, 1e-12);
	assert_near(s.contender[1].mean, (0.30 + 0.31 + 0.50) / 3, 1e-12);
	assert_near(s.contender[0].relative, 0.0, 1e-12);
	assert_near(s.contender[1].relative, (1.0 + 0.01 / 0.30 + 0.50 / 0.001) / 3, 1e-9);
	assert_near(s.contender[0].seconds, 0.5 / 1000, 1e-12);
	assert_int_equal(cop_bakeoff_score_cell(&s, 0, 0)->seeds, 2);
	assert_near(cop_bakeoff_score_cell(&s, 0, 0)->errors, 150.0, 1e-9);
	assert_near(cop_bakeoff_score_deviation(cop_bakeoff_score_cell(&s, 0, 0)), 100.0 / sqrt(2.0), 1e-9);
	/* one and three are won, two is too close. */
	assert_int_equal(s.pair[1].wins, 2);
	assert_int_equal(s.pair[1].losses, 0);
	assert_int_equal(s.pair[2].wins, 0);
	assert_int_equal(s.pair[2].losses, 2);
	assert_int_equal(s.contender[0].wins, 2);
	assert_int_equal(s.contender[1].losses, 2);
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

static void test_score_with_peers_has_best_single_and_hindsight(void **state)
{
	(void)state;
	table t;
	cop_bakeoff_score s;
	cop_diag diag;
	fill(&t);
	t.set.files = 1;
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	assert_int_equal(s.contenders, 5); /* good, bad, p, q, hindsight */
	assert_int_equal(s.fields, 3);
	assert_int_equal(s.common, 2); /* no peer has three */
	assert_false(s.field[2].common);
	assert_true(s.contender[2].best_single);
	assert_false(s.contender[3].best_single);
	assert_int_equal(s.contender[3].missing, 1);
	assert_int_equal(s.contender[4].origin, COP_BAKEOFF_HINDSIGHT);
	assert_string_equal(s.contender[4].name, "vw: best per dataset");
	assert_near(s.contender[4].mean, (0.05 + 0.15) / 2, 1e-12);
	assert_near(s.contender[0].mean, (0.15 + 0.30) / 2, 1e-12);
	/* The least loss is a peer's, never hindsight itself. */
	assert_int_equal(s.best[0], 3);
	assert_int_equal(s.best[1], 2);
	assert_int_equal(s.best[2], 0);
	/* good against p: wins one, loses two; three is not p's. */
	assert_int_equal(s.pair[0 * 5 + 2].wins, 1);
	assert_int_equal(s.pair[0 * 5 + 2].losses, 1);
	assert_int_equal(s.pair[0 * 5 + 2].both, 2);
	assert_int_equal(s.pair[0 * 5 + 1].less, 3);
	assert_int_equal(s.pair[1 * 5 + 0].less, 0);
	/* In all: 2 over bad, 1 over p, none over q, which is in no short table. */
	assert_int_equal(s.contender[0].wins, 3);
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

static void test_score_names_of_peers_do_not_hide_own_ones(void **state)
{
	(void)state;
	table t;
	cop_bakeoff_score s;
	cop_diag diag;
	fill(&t);
	add(&t.peers[0], "one", "good", 1, 0.4);
	t.set.files = 1;
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	assert_string_equal(s.contender[0].name, "good");
	assert_string_equal(s.contender[2].name, "p");
	assert_string_equal(s.contender[4].name, "vw: good");
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

static void test_score_names_of_peers_of_two_files_say_which(void **state)
{
	(void)state;
	table t;
	cop_bakeoff_score s;
	cop_diag diag;
	fill(&t);
	add(&t.peers[1], "two", "p", 1, 0.01);
	t.set.files = 2;
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	static const char *const names[] = { "good", "bad", "vw: p", "vw: q", "vw: best per dataset", "other: p",
		"other: best per dataset" };
	assert_int_equal(s.contenders, 7);
	for (size_t i = 0; i < 7; i++)
		assert_string_equal(s.contender[i].name, names[i]);
	assert_int_equal(s.best[1], 5);
	assert_int_equal(s.common, 1); /* one and three are not other's */
	assert_true(s.contender[2].best_single && s.contender[5].best_single);
	assert_int_equal(s.contender[5].file, 1);
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

/* Of two that are equal the first is the best, and neither has less. */
static void test_score_of_equals_names_the_first(void **state)
{
	(void)state;
	table t = { .set = { .datasets = datasets, .datasets_count = 4, .risk = 0.05, .peer_names = files } };
	cop_bakeoff_score s;
	cop_diag diag;
	add(&t.own, "one", "a", 1, 0.2);
	add(&t.own, "one", "b", 1, 0.2);
	add(&t.peers[0], "one", "p", 1, 0.2);
	add(&t.peers[0], "one", "q", 1, 0.2);
	t.set.own = &t.own;
	t.set.peers = t.peers;
	t.set.files = 1;
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	assert_int_equal(s.best[0], 0);
	assert_true(s.contender[2].best_single && s.contender[2].shown);
	assert_false(s.contender[3].best_single || s.contender[3].shown);
	for (size_t i = 0; i < s.contenders * s.contenders; i++)
		assert_true(s.pair[i].less == 0 && s.pair[i].wins == 0 && s.pair[i].losses == 0);
	assert_int_equal(s.pair[1].both, 1);
	assert_int_equal(s.pair[0].both, 0); /* with itself */
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

static void add_run(cop_bakeoff_rows *rows, uint64_t seed, uint64_t events, uint64_t wide, double loss, double seconds)
{
	cop_bakeoff_row row = { .dataset = "one",
		.setting = "a",
		.seed = seed,
		.events = events,
		.features = wide,
		.classes = wide + 1,
		.loss = loss,
		.seconds = seconds };
	assert_int_equal(cop_bakeoff_rows_add(rows, &row), COP_OK);
}

static void test_score_of_runs_of_other_lengths_says_so(void **state)
{
	(void)state;
	table t = { .set = { .datasets = datasets, .datasets_count = 4, .risk = 0.05 } };
	cop_bakeoff_score s;
	cop_diag diag;
	t.set.own = &t.own;
	t.set.peers = t.peers;
	add_run(&t.own, 1, 1000, 5, 0.1, 2.0);
	add_run(&t.own, 2, 1000, 7, 0.4, 4.0);
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	assert_false(s.field[0].uneven);
	cop_bakeoff_score_fini(&s);
	add_run(&t.own, 3, 500, 6, 0.7, 0.5);
	add_run(&t.own, 4, 2000, 4, 0.0, 8.0);
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	assert_true(s.field[0].uneven);
	assert_int_equal(s.field[0].events, 2000);
	assert_int_equal(s.field[0].features, 7);
	assert_int_equal(s.field[0].classes, 8);
	const cop_bakeoff_cell *c = cop_bakeoff_score_cell(&s, 0, 0);
	assert_int_equal(c->events, 500);
	assert_int_equal(c->seeds, 4);
	assert_near(c->loss, (0.1 + 0.4 + 0.7 + 0.0) / 4, 1e-12);
	assert_near(c->errors, (100.0 + 400.0 + 350.0 + 0.0) / 4, 1e-9);
	assert_near(c->squares, 112.5 * 112.5 + 187.5 * 187.5 + 137.5 * 137.5 + 212.5 * 212.5, 1e-6);
	assert_near(c->seconds, (0.002 + 0.004 + 0.001 + 0.004) / 4, 1e-12);
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

static void test_score_relative_to_a_setting(void **state)
{
	(void)state;
	table t;
	cop_bakeoff_score s;
	cop_diag diag;
	fill(&t);
	t.set.reference = "bad";
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	assert_near(s.contender[0].relative, (-0.5 - 0.01 / 0.31 - 1.0) / 3, 1e-12);
	assert_near(s.contender[1].relative, 0.0, 1e-12);
	cop_bakeoff_score_fini(&s);
	t.set.reference = "nobody";
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "nobody"));
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

static void test_score_of_nothing_in_common_has_no_means(void **state)
{
	(void)state;
	table t = { .set = { .datasets = datasets, .datasets_count = 4, .risk = 0.05 } };
	cop_bakeoff_score s;
	cop_diag diag;
	add(&t.own, "one", "a", 1, 0.1);
	add(&t.own, "two", "b", 1, 0.1);
	t.set.own = &t.own;
	t.set.peers = t.peers;
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	assert_int_equal(s.common, 0);
	assert_true(isnan(s.contender[0].mean));
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

/* What a report, as text or as a page, says; the caller frees it. */
static char *printed(void (*print)(const cop_bakeoff_report *, FILE *), const cop_bakeoff_report *report)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	print(report, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_reports_name_what_is_not_in_means(void **state)
{
	(void)state;
	table t;
	cop_bakeoff_score s;
	cop_diag diag;
	fill(&t);
	add(&t.own, "absent", "good", 1, 0.40); /* the other setting has no such run */
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_OK);
	const cop_bakeoff_points none = { 0 };
	const cop_bakeoff_report report = {
		.score = &s, .rows = &t.own, .points = &none, .risk = 0.05, .partial = true
	};
	char *text = printed(cop_bakeoff_report_text, &report), *page = printed(cop_bakeoff_report_html, &report);
	assert_non_null(strstr(text, "Not in means, as not all have results: absent\n"));
	assert_non_null(strstr(text, "\nThe bakeoff is not complete: runs are missing.\n"));
	assert_non_null(strstr(page, "<p>4 datasets; means are over the 3 of them that every compared setting has."
	                             " Not in means: absent. <strong>The bakeoff is not complete: runs are missing."
	                             "</strong></p>\n"));
	free(text);
	free(page);
	char base[2 * COP_BAKEOFF_PATH_ROOM];
	memset(base, 'x', sizeof base - 1);
	base[sizeof base - 1] = '\0';
	assert_int_equal(cop_bakeoff_report_write(&report, base, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "too long"));
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

static void test_score_too_many_settings_are_refused(void **state)
{
	(void)state;
	table t = { .set = { .datasets = datasets, .datasets_count = 4, .risk = 0.05 } };
	cop_bakeoff_score s;
	cop_diag diag;
	for (int i = 0; i < 257; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "s%d", i);
		add(&t.own, "one", name, 1, 0.1);
	}
	t.set.own = &t.own;
	assert_int_equal(cop_bakeoff_score_init(&s, &t.set, &diag), COP_EFULL);
	assert_string_equal(diag.message, "more than 256 settings to compare");
	cop_bakeoff_score_fini(&s);
	clear(&t);
}

static void test_score_out_of_memory_is_told(void **state)
{
	(void)state;
	table t;
	cop_diag diag;
	fill(&t);
	t.set.files = 1;
	for (unsigned long n = 1;; n++) {
		cop_bakeoff_score s;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_bakeoff_score_init(&s, &t.set, &diag);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_bakeoff_score_fini(&s);
		if (!reached)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_string_equal(diag.message, cop_err_text(COP_ENOMEM));
		diag.message[0] = '\0';
	}
	clear(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tail_is_that_of_the_normal_distribution),
		cmocka_unit_test(test_tail_of_a_known_case_is_as_tabulated),
		cmocka_unit_test(test_tail_without_variance_is_certain_or_even),
		cmocka_unit_test(test_compare_turns_at_the_risk),
		cmocka_unit_test(test_relative_of_a_faultless_reference_counts_one_event),
		cmocka_unit_test(test_deviation_of_one_seed_is_none),
		cmocka_unit_test(test_score_of_own_settings_is_as_by_hand),
		cmocka_unit_test(test_score_with_peers_has_best_single_and_hindsight),
		cmocka_unit_test(test_score_names_of_peers_do_not_hide_own_ones),
		cmocka_unit_test(test_score_names_of_peers_of_two_files_say_which),
		cmocka_unit_test(test_score_of_equals_names_the_first),
		cmocka_unit_test(test_score_of_runs_of_other_lengths_says_so),
		cmocka_unit_test(test_score_relative_to_a_setting),
		cmocka_unit_test(test_score_of_nothing_in_common_has_no_means),
		cmocka_unit_test(test_reports_name_what_is_not_in_means),
		cmocka_unit_test(test_score_too_many_settings_are_refused),
		cmocka_unit_test(test_score_out_of_memory_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
