/* Differences of two policies on one log: by hand, against the single estimates, refused, covered. */
#include "support.h"

#include <math.h>

#include "evaluate/offpolicy_pair.h"
#include "unit/evaluate/bandit_log.h"

static const char *const names[] = { "ips", "snips", "dm", "dr" };
#define NAMES (sizeof names / sizeof *names)

static void settings_of(cop_offpolicy_settings *settings)
{
	cop_offpolicy_defaults(settings);
	settings->cost_high = 1.0;
}

static void start(cop_offpolicy_pair *pair)
{
	cop_offpolicy_settings settings;
	settings_of(&settings);
	assert_int_equal(cop_offpolicy_pair_init(pair, &settings), COP_OK);
}

static cop_estimate estimate(const cop_offpolicy_pair *pair, const char *name, const char *method)
{
	cop_estimate out;
	assert_int_equal(cop_offpolicy_pair_estimate(pair, cop_offpolicy_find(name), method, 0.95, &out), COP_OK);
	return out;
}

/* Two views of a random event; B's target is A's, or moved a little. */
static double random_views(cop_rng *rng, cop_offpolicy_event *a, cop_offpolicy_event *b)
{
	*a = (cop_offpolicy_event){ .p = 0.05 + 0.95 * cop_rng_unit(rng),
		.cost = cop_rng_unit(rng),
		.weight = 0.5 + cop_rng_unit(rng),
		.target = cop_rng_unit(rng),
		.has_model = true,
		.model_logged = cop_rng_unit(rng),
		.model_target = cop_rng_unit(rng) };
	*b = *a;
	b->target = cop_rng_unit(rng);
	b->model_target = cop_rng_unit(rng);
	return fabs(a->target - b->target);
}

static void test_values_equal_differences_of_single_estimates(void **state)
{
	(void)state;
	cop_offpolicy_settings settings;
	cop_offpolicy one, two;
	cop_offpolicy_pair pair;
	cop_rng rng;
	settings_of(&settings);
	start(&pair);
	assert_int_equal(cop_offpolicy_init(&one, &settings), COP_OK);
	assert_int_equal(cop_offpolicy_init(&two, &settings), COP_OK);
	cop_rng_init(&rng, 21, 0);
	for (int i = 0; i < 2000; i++) {
		cop_offpolicy_event a, b;
		double distance = random_views(&rng, &a, &b);
		assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, distance), COP_OK);
		assert_int_equal(cop_offpolicy_add(&one, &a), COP_OK);
		assert_int_equal(cop_offpolicy_add(&two, &b), COP_OK);
	}
	for (size_t i = 0; i < NAMES; i++) {
		cop_estimate x, y, difference = estimate(&pair, names[i], NULL);
		assert_int_equal(cop_offpolicy_estimate(&one, cop_offpolicy_find(names[i]), NULL, 0.95, &x), COP_OK);
		assert_int_equal(cop_offpolicy_estimate(&two, cop_offpolicy_find(names[i]), NULL, 0.95, &y), COP_OK);
		assert_true(fabs(difference.value - (x.value - y.value)) <= 1e-12);
		assert_true(difference.error < x.error + y.error);
		assert_true(difference.low <= difference.value && difference.value <= difference.high);
	}
}

static void test_equal_policies_differ_by_nothing(void **state)
{
	(void)state;
	cop_offpolicy_pair pair;
	cop_rng rng;
	start(&pair);
	cop_rng_init(&rng, 22, 0);
	for (int i = 0; i < 100; i++) {
		cop_offpolicy_event a, b;
		(void)random_views(&rng, &a, &b);
		assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &a, 0.0), COP_OK);
	}
	for (size_t i = 0; i < NAMES; i++) {
		cop_estimate out = estimate(&pair, names[i], NULL);
		assert_true(out.value == 0.0 && out.error == 0.0 && out.low == 0.0 && out.high == 0.0);
	}
}

static void test_policies_that_seldom_differ_are_bounded_by_how_seldom(void **state)
{
	(void)state;
	cop_offpolicy_pair pair;
	cop_offpolicy_event a = { .p = 0.5, .cost = 0.5, .weight = 1.0, .target = 1.0 }, b = a;
	start(&pair);
	for (int i = 0; i < 1000; i++) /* one context in a hundred, and never was either arm logged there */
		if (i % 100 == 0) {
			cop_offpolicy_event neither = { .p = 0.5, .cost = 0.5, .weight = 1.0 };
			assert_int_equal(cop_offpolicy_pair_add(&pair, &neither, &neither, 1.0), COP_OK);
		} else {
			assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 0.0), COP_OK);
		}
	cop_estimate out = estimate(&pair, "ips", NULL);
	assert_true(out.value == 0.0 && out.low < -0.01 && out.low > -0.03 && out.high > 0.01 && out.high < 0.03);
}

/* The header's definitions on five events: value, and error with n / (n - 1), by sums over the events. */
static void test_errors_of_few_events_equal_their_definition(void **state)
{
	(void)state;
	enum { N = 5 };
	cop_offpolicy_event a[N], b[N];
	cop_offpolicy_pair pair;
	cop_rng rng;
	double all = 0.0, wa = 0.0, wb = 0.0, ca = 0.0, cb = 0.0;
	start(&pair);
	cop_rng_init(&rng, 25, 0);
	for (size_t i = 0; i < N; i++) {
		double distance = random_views(&rng, &a[i], &b[i]), e = a[i].weight;
		assert_int_equal(cop_offpolicy_pair_add(&pair, &a[i], &b[i], distance), COP_OK);
		all += e;
		wa += e * a[i].target / a[i].p;
		wb += e * b[i].target / a[i].p;
		ca += e * a[i].target / a[i].p * a[i].cost;
		cb += e * b[i].target / a[i].p * a[i].cost;
	}
	for (size_t k = 0; k < NAMES; k++) {
		double term[N], value = 0.0, centre, squares = 0.0;
		for (size_t i = 0; i < N; i++) {
			double one = a[i].target / a[i].p, two = b[i].target / a[i].p, c = a[i].cost;
			double dm = a[i].model_target - b[i].model_target;
			const double terms[NAMES] = { (one - two) * c,
				one * (c - ca / wa) * all / wa - two * (c - cb / wb) * all / wb, dm,
				dm + (one - two) * (c - a[i].model_logged) };
			term[i] = terms[k];
			value += a[i].weight * term[i] / all;
		}
		centre = k == 1 ? 0.0 : value;
		value = k == 1 ? ca / wa - cb / wb : value;
		for (size_t i = 0; i < N; i++)
			squares += a[i].weight * a[i].weight * (term[i] - centre) * (term[i] - centre);
		cop_estimate out = estimate(&pair, names[k], "delta");
		double error = sqrt(N / (N - 1.0) * squares) / all, half = 1.959963984540054 * error;
		assert_true(fabs(out.value - value) < 1e-12);
		assert_true(fabs(out.error - error) < 1e-12 * error);
		assert_true(fabs(out.low - fmax(value - half, -1.0)) < 1e-12);
		assert_true(fabs(out.high - fmin(value + half, 1.0)) < 1e-12);
	}
}

/* Where one policy has no weight, or next to none beside the other's, there is no snips; there is an ips. */
static void test_snips_without_weight_is_not_found(void **state)
{
	(void)state;
	static const double targets[][2] = { { 0.0, 0.5 }, { 0.5, 0.0 }, { 1e-12, 1.0 } };
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		cop_offpolicy_pair pair;
		cop_estimate out;
		cop_offpolicy_event a = { .p = 0.5, .cost = 0.5, .weight = 1.0, .target = targets[i][0] }, b = a;
		b.target = targets[i][1];
		start(&pair);
		for (int j = 0; j < 100; j++)
			assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 1.0), COP_OK);
		assert_int_equal(cop_offpolicy_pair_estimate(&pair, cop_offpolicy_find("snips"), NULL, 0.95, &out),
		        COP_ENOTFOUND);
		assert_true(isnan(out.value) && out.low == -1.0 && out.high == 1.0);
		out = estimate(&pair, "ips", NULL);
		assert_true(fabs(out.value - (a.target - b.target)) < 1e-12);
		assert_true(i > 0 || out.high > 0.9); /* nothing bounds a policy without any weight */
	}
}

/* A log without a cost, of whose policies the model holds what is true: that it was never wrong bounds nothing. */
static void test_costs_not_seen_are_allowed_for(void **state)
{
	(void)state;
	cop_offpolicy_pair pair;
	start(&pair);
	for (int i = 0; i < 1000; i++) {
		const cop_offpolicy_event a = { .p = 0.5, .weight = 1.0, .target = i % 2, .has_model = true };
		const cop_offpolicy_event b = { .p = 0.5, .weight = 1.0, .target = 1 - i % 2, .has_model = true };
		assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 1.0), COP_OK);
	}
	cop_estimate out = estimate(&pair, "dr", NULL);
	assert_true(out.value == 0.0 && out.low < -0.004 && out.low > -0.02 && out.high > 0.004 && out.high < 0.02);
}

/* One event says nothing of how far others are; two that are the same, that nothing varies. */
static void test_two_events_alike_have_an_interval_of_no_width_one_has_none(void **state)
{
	(void)state;
	const cop_offpolicy_event a = { .p = 0.5, .cost = 0.5, .weight = 1.0, .target = 0.5 };
	const cop_offpolicy_event b = { .p = 0.5, .cost = 0.5, .weight = 1.0, .target = 0.25 };
	static const char *const methods[] = { "delta", "sequence" };
	for (size_t i = 0; i < 2; i++) {
		cop_offpolicy_pair pair;
		start(&pair);
		assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 0.25), COP_OK);
		cop_estimate out = estimate(&pair, "ips", methods[i]);
		assert_true(out.value == 0.25 && out.low == -1.0 && out.high == 1.0);
		assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 0.25), COP_OK);
		out = estimate(&pair, "ips", methods[i]);
		assert_true(out.value == 0.25 && out.low == 0.25 && out.high == 0.25);
	}
}

static void refuse(cop_offpolicy_pair *pair, const cop_offpolicy_event *a, const cop_offpolicy_event *b,
        double distance, cop_err want)
{
	cop_offpolicy_pair before = *pair;
	assert_int_equal(cop_offpolicy_pair_add(pair, a, b, distance), want);
	assert_memory_equal(&before, pair, sizeof before);
}

static void test_bad_events_are_refused_and_change_nothing(void **state)
{
	(void)state;
	cop_offpolicy_pair pair;
	cop_offpolicy_event good = { .p = 0.5, .cost = 0.5, .weight = 1.0, .target = 0.5 }, bad = good;
	cop_estimate out;
	start(&pair);
	for (size_t i = 0; i < NAMES; i++) {
		assert_int_equal(cop_offpolicy_pair_estimate(&pair, cop_offpolicy_find(names[i]), NULL, 0.95, &out),
		        COP_ENOTFOUND);
		assert_true(out.low == -1.0 && out.high == 1.0);
	}
	refuse(&pair, &good, &good, (double)NAN, COP_ENONFINITE);
	refuse(&pair, &good, &good, 1.5, COP_EINVAL);
	refuse(&pair, &good, &good, -0.5, COP_EINVAL);
	bad.target = 1.0;
	refuse(&pair, &good, &bad, 0.25, COP_EINVAL); /* further apart than said */
	bad.target = (double)NAN;
	refuse(&pair, &good, &bad, 1.0, COP_ENONFINITE);
	bad = good;
	bad.cost = 2.0;
	refuse(&pair, &bad, &good, 1.0, COP_EINVAL);
	assert_int_equal(cop_offpolicy_pair_add(&pair, &good, &bad, 0.0), COP_OK); /* b's cost is not looked at */
	assert_int_equal(
	        cop_offpolicy_pair_estimate(&pair, cop_offpolicy_find("clipped"), NULL, 0.95, &out), COP_ENOTFOUND);
	assert_int_equal(
	        cop_offpolicy_pair_estimate(&pair, cop_offpolicy_find("logged"), NULL, 0.95, &out), COP_ENOTFOUND);
	assert_int_equal(
	        cop_offpolicy_pair_estimate(&pair, cop_offpolicy_find("ips"), "magic", 0.95, &out), COP_ENOTFOUND);
}

/* A second target in the same world. */
static void other_target(const world *one, world *two, double *distance, cop_rng *rng)
{
	*two = *one;
	two->value = 0.0;
	for (size_t x = 0; x < WORLD_CONTEXTS; x++) {
		if (x % 3 == 0)
			world_set_target(two, x, rng);
		world_finish_context(two, x);
		distance[x] = 0.0;
		for (size_t k = 0; k < one->settings.arms; k++)
			distance[x] += 0.5 * fabs(one->pi[x][k] - two->pi[x][k]);
	}
}

static void count_covered(
        const world *one, const world *two, const double *distance, size_t n, cop_rng *rng, size_t covered[NAMES])
{
	cop_offpolicy_pair pair;
	start(&pair);
	for (size_t i = 0; i < n; i++) {
		size_t x, k;
		cop_offpolicy_event a = world_draw(one, rng, &x, &k), b = a;
		b.target = two->pi[x][k];
		b.target_max = two->pi_max[x];
		b.model_target = two->m[x];
		assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, distance[x]), COP_OK);
	}
	double truth = one->value - two->value;
	for (size_t i = 0; i < NAMES; i++) {
		cop_estimate out = estimate(&pair, names[i], NULL);
		covered[i] += out.low <= truth && truth <= out.high;
	}
}

static void test_distances_at_the_bounds_are_taken_and_bad_settings_refused(void **state)
{
	(void)state;
	cop_offpolicy_pair pair;
	cop_offpolicy_settings settings;
	cop_offpolicy_event a = { .p = 0.5, .cost = 0.5, .weight = 1.0, .target = 0.5 }, b = a;
	start(&pair);
	assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 0.0), COP_OK);
	assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 1.0 + 0.5e-6), COP_OK);
	refuse(&pair, &a, &b, 1.0 + 2e-6, COP_EINVAL);
	refuse(&pair, &a, &b, -1e-9, COP_EINVAL);
	b.target = 0.75;
	assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 0.25 - 0.5e-6), COP_OK);
	refuse(&pair, &a, &b, 0.25 - 2e-6, COP_EINVAL);
	b.p = 0.0; /* the other one's, which is not looked at */
	assert_int_equal(cop_offpolicy_pair_add(&pair, &a, &b, 0.25), COP_OK);
	settings_of(&settings);
	settings.clip = 0.0;
	assert_int_equal(cop_offpolicy_pair_init(&pair, &settings), COP_EINVAL);
	settings.clip = (double)NAN;
	assert_int_equal(cop_offpolicy_pair_init(&pair, &settings), COP_ENONFINITE);
}

static void test_intervals_cover_the_true_difference_in_1000_logs(void **state)
{
	(void)state;
	const world_settings settings[] = { { 2, LOG_UNIFORM, TARGET_BEST, COST_RATE, true, 0.005, false },
		{ 2, LOG_UNIFORM, TARGET_BEST, COST_RATE, true, 0.005, true },
		{ 2, LOG_UNIFORM, TARGET_BEST, COST_BINARY, true, 0.0, false },
		{ 7, LOG_EPSILON, TARGET_GREEDY, COST_CONTINUOUS, false, 0.0, false },
		{ 26, LOG_SOFTMAX, TARGET_STOCHASTIC, COST_BINARY, true, 0.0, false } };
	for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
		world one, two;
		double distance[WORLD_CONTEXTS];
		size_t covered[NAMES] = { 0 };
		cop_rng rng;
		cop_rng_init(&rng, 31 + s, 0);
		world_init(&one, &settings[s], &rng);
		other_target(&one, &two, distance, &rng);
		for (int log = 0; log < 1000; log++)
			count_covered(&one, &two, distance, 400, &rng, covered);
		print_message("seed %zu: ips %zu, snips %zu, dr %zu of 1000 logs covered\n", 31 + s, covered[0],
		        covered[1], covered[3]);
		assert_true(covered[0] >= 940 && covered[1] >= 940 && covered[3] >= 940);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_equal_differences_of_single_estimates),
		cmocka_unit_test(test_equal_policies_differ_by_nothing),
		cmocka_unit_test(test_policies_that_seldom_differ_are_bounded_by_how_seldom),
		cmocka_unit_test(test_errors_of_few_events_equal_their_definition),
		cmocka_unit_test(test_snips_without_weight_is_not_found),
		cmocka_unit_test(test_costs_not_seen_are_allowed_for),
		cmocka_unit_test(test_two_events_alike_have_an_interval_of_no_width_one_has_none),
		cmocka_unit_test(test_bad_events_are_refused_and_change_nothing),
		cmocka_unit_test(test_distances_at_the_bounds_are_taken_and_bad_settings_refused),
		cmocka_unit_test(test_intervals_cover_the_true_difference_in_1000_logs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
