/* Reported intervals against true values: 1,000 simulated logs for each setting, of which 95 % intervals must cover the
 * value in at least 940. With the argument "table" prints what docs/evidence/intervals.md shows, all methods and sizes;
 * with "rates" its table of rare costs and rare rewards; "rates SEED LOGS N LEAST RATE" (sizes from LEAST to N, rates
 * up to RATE) takes other worlds than the table's. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/evaluate/bandit_log.h"

#define LOGS 1000

static const char *const estimator_names[] = { "logged", "ips", "snips", "dr", "switch", "clipped" };
#define ESTIMATORS (sizeof estimator_names / sizeof *estimator_names)
static const char *const method_names[] = { "robust", "delta", "cressie-read", "sequence" };
#define METHODS (sizeof method_names / sizeof *method_names)

static const char *const logging_names[] = { "uniform", "epsilon", "softmax" };
static const char *const target_names[] = { "best", "stochastic", "rare", "greedy", "agrees" };
static const char *const cost_names[] = { "0/1", "continuous", "seldom", "rate", "gathered" };

typedef struct tally {
	size_t covered[ESTIMATORS][METHODS], known[ESTIMATORS][METHODS];
	double width[ESTIMATORS][METHODS];
	double effective;
} tally;

static double logged_value(const world *w)
{
	double value = 0.0;
	for (size_t x = 0; x < WORLD_CONTEXTS; x++)
		for (size_t k = 0; k < w->settings.arms; k++)
			value += w->p[x][k] * w->mu[x][k] / WORLD_CONTEXTS;
	return value;
}

static void draw_log(const world *w, size_t n, cop_rng *rng, cop_offpolicy *o)
{
	cop_offpolicy_settings settings;
	cop_offpolicy_defaults(&settings);
	settings.cost_high = 1.0;
	assert_int_equal(cop_offpolicy_init(o, &settings), COP_OK);
	for (size_t i = 0; i < n; i++) {
		size_t x, k;
		cop_offpolicy_event e = world_draw(w, rng, &x, &k);
		assert_int_equal(cop_offpolicy_add(o, &e), COP_OK);
	}
}

static void judge(const cop_offpolicy *o, const world *w, size_t methods, tally *t)
{
	cop_offpolicy_summary summary;
	cop_offpolicy_summarise(o, &summary);
	t->effective += summary.effective_sample_size / LOGS;
	for (size_t i = 0; i < ESTIMATORS; i++)
		for (size_t k = 0; k < methods; k++) {
			cop_estimate out;
			double value = i == 0 ? logged_value(w) : w->value;
			cop_err err = cop_offpolicy_estimate(
			        o, cop_offpolicy_find(estimator_names[i]), method_names[k], 0.95, &out);
			t->known[i][k] += err == COP_OK;
			t->covered[i][k] += out.low <= value && value <= out.high;
			t->width[i][k] += (out.high - out.low) / LOGS;
		}
}

static void run(const world_settings *settings, size_t n, uint64_t seed, size_t methods, int logs, tally *t)
{
	world w;
	cop_rng rng;
	*t = (tally){ 0 };
	cop_rng_init(&rng, seed, n);
	world_init(&w, settings, &rng);
	for (int log = 0; log < logs; log++) {
		cop_offpolicy o;
		draw_log(&w, n, &rng, &o);
		judge(&o, &w, methods, t);
	}
}

static void check(const world_settings *settings, size_t n, uint64_t seed)
{
	tally t;
	run(settings, n, seed, 1, LOGS, &t);
	print_message("seed %2u, n %5zu, K %2zu, %-7s, %-10s, %-10s (%6.1f effective):", (unsigned)seed, n,
	        settings->arms, logging_names[settings->logging], target_names[settings->target],
	        cost_names[settings->cost], t.effective);
	for (size_t i = 0; i < ESTIMATORS; i++)
		print_message(" %s %zu", estimator_names[i], t.covered[i][0]);
	print_message("\n");
	for (size_t i = 0; i < ESTIMATORS; i++)
		assert_true(t.covered[i][0] >= LOGS * 94 / 100);
}

static void test_intervals_cover_with_uniform_logging(void **state)
{
	(void)state;
	check(&(world_settings){ 2, LOG_UNIFORM, TARGET_BEST, COST_BINARY, true, 0.0, false }, 200, 1);
	check(&(world_settings){ 7, LOG_UNIFORM, TARGET_STOCHASTIC, COST_CONTINUOUS, true, 0.0, false }, 1000, 2);
	check(&(world_settings){ 26, LOG_UNIFORM, TARGET_BEST, COST_BINARY, false, 0.0, false }, 200, 3);
	check(&(world_settings){ 26, LOG_UNIFORM, TARGET_BEST, COST_SELDOM, false, 0.0, false }, 1000, 4);
}

static void test_intervals_cover_with_greedy_logging_and_weights_of_70(void **state)
{
	(void)state;
	check(&(world_settings){ 2, LOG_EPSILON, TARGET_BEST, COST_BINARY, true, 0.0, false }, 200, 11);
	check(&(world_settings){ 7, LOG_EPSILON, TARGET_RARE, COST_BINARY, true, 0.0, false }, 200, 12);
	check(&(world_settings){ 7, LOG_EPSILON, TARGET_BEST, COST_CONTINUOUS, true, 0.0, false }, 2000, 13);
	check(&(world_settings){ 26, LOG_EPSILON, TARGET_GREEDY, COST_BINARY, false, 0.0, false }, 1000, 14);
}

static void test_intervals_cover_with_softmax_logging(void **state)
{
	(void)state;
	check(&(world_settings){ 2, LOG_SOFTMAX, TARGET_RARE, COST_CONTINUOUS, true, 0.0, false }, 200, 21);
	check(&(world_settings){ 7, LOG_SOFTMAX, TARGET_STOCHASTIC, COST_BINARY, true, 0.0, false }, 1000, 22);
	check(&(world_settings){ 26, LOG_SOFTMAX, TARGET_BEST, COST_CONTINUOUS, false, 0.0, false }, 1000, 23);
}

/* At such rates most logs of this length show a cost (a reward) a few times, or not at all where it matters. */
static void test_intervals_cover_rare_costs_and_rare_rewards(void **state)
{
	(void)state;
	check(&(world_settings){ 2, LOG_UNIFORM, TARGET_BEST, COST_RATE, true, 0.002, false }, 1000, 41);
	check(&(world_settings){ 2, LOG_UNIFORM, TARGET_AGREES, COST_RATE, true, 0.005, false }, 1000, 42);
	check(&(world_settings){ 7, LOG_EPSILON, TARGET_AGREES, COST_GATHERED, true, 0.01, false }, 1000, 43);
	check(&(world_settings){ 2, LOG_UNIFORM, TARGET_AGREES, COST_RATE, true, 0.002, true }, 1000, 44);
	check(&(world_settings){ 7, LOG_EPSILON, TARGET_AGREES, COST_GATHERED, true, 0.005, true }, 1000, 45);
}

static void test_intervals_of_long_logs_are_not_much_wider_than_delta(void **state)
{
	(void)state;
	const world_settings settings = { 7, LOG_UNIFORM, TARGET_BEST, COST_BINARY, true, 0.0, false };
	tally t;
	run(&settings, 20000, 31, 2, 100, &t);
	for (size_t i = 0; i < 4; i++) {
		double ratio = t.width[i][0] / t.width[i][1];
		print_message("seed 31, n 20000: %s covered %zu of 100, %.2f times delta's width\n", estimator_names[i],
		        t.covered[i][0], ratio);
		assert_true(t.covered[i][0] >= 91);
		assert_true(ratio < 1.3);
	}
}

static void print_row(const world_settings *settings, size_t n, uint64_t seed)
{
	tally t;
	run(settings, n, seed, METHODS, LOGS, &t);
	printf("| %zu | %s | %s | %s | %zu | %.0f |", settings->arms, logging_names[settings->logging],
	        target_names[settings->target], cost_names[settings->cost], n, t.effective);
	for (size_t i = 1; i < 4; i++)
		printf(" %.1f / %.1f |", 0.1 * (double)t.covered[i][1], 0.1 * (double)t.covered[i][0]);
	printf(" %.3f | %.2f | %.1f | %.1f |\n", t.width[2][0], t.width[2][0] / t.width[2][1],
	        0.1 * (double)t.covered[2][2], 0.1 * (double)t.covered[2][3]);
	fflush(stdout);
}

static int print_table(void)
{
	const world_settings rows[] = { { 2, LOG_UNIFORM, TARGET_BEST, COST_BINARY, true, 0.0, false },
		{ 2, LOG_EPSILON, TARGET_GREEDY, COST_CONTINUOUS, true, 0.0, false },
		{ 7, LOG_UNIFORM, TARGET_BEST, COST_BINARY, true, 0.0, false },
		{ 7, LOG_EPSILON, TARGET_BEST, COST_BINARY, true, 0.0, false },
		{ 7, LOG_EPSILON, TARGET_RARE, COST_CONTINUOUS, true, 0.0, false },
		{ 7, LOG_SOFTMAX, TARGET_STOCHASTIC, COST_BINARY, true, 0.0, false },
		{ 26, LOG_UNIFORM, TARGET_BEST, COST_CONTINUOUS, true, 0.0, false },
		{ 26, LOG_UNIFORM, TARGET_RARE, COST_SELDOM, false, 0.0, false },
		{ 26, LOG_EPSILON, TARGET_BEST, COST_BINARY, false, 0.0, false },
		{ 26, LOG_SOFTMAX, TARGET_BEST, COST_BINARY, true, 0.0, false } };
	const size_t sizes[] = { 200, 2000, 20000 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < 3; k++)
			print_row(&rows[i], sizes[k], 101 + i);
	return 0;
}

/* Lowest coverage of both models, a good one and one that says 0.5 always. */
static void print_rate_row(world_settings settings, size_t n, uint64_t seed, int logs)
{
	tally t[2];
	for (int model = 0; model < 2; model++) {
		settings.good_model = model == 0;
		run(&settings, n, seed, 1, logs, &t[model]);
	}
	printf("| %g | %s | %s | %s | %s | %zu |", 100.0 * settings.rate, settings.rewards ? "rewards" : "costs",
	        cost_names[settings.cost], logging_names[settings.logging], target_names[settings.target], n);
	for (size_t i = 0; i < ESTIMATORS; i++) {
		size_t least = t[0].covered[i][0] < t[1].covered[i][0] ? t[0].covered[i][0] : t[1].covered[i][0];
		printf(" %.1f |", 100.0 * (double)least / logs);
	}
	printf(" %.4f | %.4f |\n", t[0].width[2][0] * LOGS / logs, t[0].width[3][0] * LOGS / logs);
	fflush(stdout);
}

static void print_rates_of(size_t n, double rate, uint64_t seed, int logs)
{
	static const world_settings scenes[] = { { 2, LOG_UNIFORM, TARGET_AGREES, COST_RATE, true, 0.0, false },
		{ 7, LOG_UNIFORM, TARGET_BEST, COST_GATHERED, true, 0.0, false },
		{ 7, LOG_EPSILON, TARGET_AGREES, COST_GATHERED, true, 0.0, false },
		{ 7, LOG_EPSILON, TARGET_RARE, COST_RATE, true, 0.0, false } };
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		for (int rewards = 0; rewards < 2; rewards++) {
			world_settings settings = scenes[i];
			settings.rate = rate;
			settings.rewards = rewards != 0;
			print_rate_row(settings, n, seed + i, logs);
		}
}

static int print_rates(uint64_t seed, int logs, size_t most, size_t least, double largest)
{
	static const double rates[] = { 0.002, 0.005, 0.01, 0.02 };
	for (size_t n = least; n <= most; n *= 10)
		for (size_t i = 0; i < sizeof rates / sizeof *rates && rates[i] <= largest; i++)
			print_rates_of(n, rates[i], seed, logs);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals_cover_with_uniform_logging),
		cmocka_unit_test(test_intervals_cover_with_greedy_logging_and_weights_of_70),
		cmocka_unit_test(test_intervals_cover_with_softmax_logging),
		cmocka_unit_test(test_intervals_cover_rare_costs_and_rare_rewards),
		cmocka_unit_test(test_intervals_of_long_logs_are_not_much_wider_than_delta),
	};
	if (argc > 1 && strcmp(argv[1], "table") == 0)
		return print_table();
	if (argc > 1 && strcmp(argv[1], "rates") == 0)
		return print_rates(argc > 2 ? strtoull(argv[2], NULL, 10) : 201, argc > 3 ? atoi(argv[3]) : LOGS,
		        argc > 4 ? strtoul(argv[4], NULL, 10) : 100000, argc > 5 ? strtoul(argv[5], NULL, 10) : 1000,
		        argc > 6 ? strtod(argv[6], NULL) : 1.0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
