/* Estimators on logs small enough to work out by hand; merging, saving, refusals, extremes. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "evaluate/offpolicy.h"

static void assert_close(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12 * (1.0 + fabs(want))))
		fail_msg("got %.17g, want %.17g", got, want);
}

static void start(cop_offpolicy *o, double low, double high)
{
	cop_offpolicy_settings settings;
	cop_offpolicy_defaults(&settings);
	settings.cost_low = low;
	settings.cost_high = high;
	settings.threshold = 3.0;
	settings.clip = 3.0;
	assert_int_equal(cop_offpolicy_init(o, &settings), COP_OK);
}

static cop_offpolicy_event event(double p, double cost, double target)
{
	return (cop_offpolicy_event){ .p = p, .cost = cost, .weight = 1.0, .target = target };
}

static cop_estimate estimate(const cop_offpolicy *o, const char *name)
{
	cop_estimate out;
	assert_int_equal(cop_offpolicy_estimate(o, cop_offpolicy_find(name), NULL, 0.95, &out), COP_OK);
	return out;
}

/* Costs of 0 and 1 alone have the exact interval, whether their range is known or not; others have not. */
static void test_interval_of_costs_at_both_ends_is_the_exact_one(void **state)
{
	(void)state;
	cop_offpolicy known, open, between;
	start(&known, 0.0, 1.0);
	start(&open, 0.0, 0.0);
	start(&between, 0.0, 0.0);
	for (int i = 0; i < 20; i++) {
		const cop_offpolicy_event e = event(0.5, (double)(i % 4 == 0), 0.5);
		const cop_offpolicy_event other = event(0.5, i < 2 ? 0.5 : e.cost, 0.5);
		assert_int_equal(cop_offpolicy_add(&known, &e), COP_OK);
		assert_int_equal(cop_offpolicy_add(&open, &e), COP_OK);
		assert_int_equal(cop_offpolicy_add(&between, &other), COP_OK);
	}
	assert_true(known.extreme == 20 && open.extreme == 20 && between.extreme == 18);
	cop_estimate exact = estimate(&known, "logged"), same = estimate(&open, "logged");
	assert_close(same.value, 0.25);
	assert_close(same.low, exact.low);
	assert_close(same.high, exact.high);
}

/* Weights 2, 0, 4 and 1 (with event weight 2) by hand. */
static void test_estimates_of_four_events_equal_those_by_hand(void **state)
{
	(void)state;
	cop_offpolicy o;
	start(&o, 0.0, 1.0);
	cop_offpolicy_event events[4] = { event(0.5, 1.0, 1.0), event(0.5, 0.25, 0.0), event(0.25, 0.5, 1.0),
		event(0.5, 0.0, 0.5) };
	const double q[4] = { 0.75, 0.5, 0.25, 0.5 }, m[4] = { 0.5, 0.5, 0.25, 0.125 };
	events[3].weight = 2.0;
	for (size_t i = 0; i < 4; i++) {
		events[i].has_model = true;
		events[i].model_logged = q[i];
		events[i].model_target = m[i];
		assert_int_equal(cop_offpolicy_add(&o, &events[i]), COP_OK);
	}
	assert_close(estimate(&o, "logged").value, 1.75 / 5.0);
	assert_close(estimate(&o, "ips").value, 4.0 / 5.0);
	assert_close(estimate(&o, "snips").value, 4.0 / 8.0);
	assert_close(estimate(&o, "dm").value, 1.5 / 5.0);
	assert_close(estimate(&o, "dr").value, (1.0 + 0.5 + 1.25 - 2.0 * 0.375) / 5.0);
	assert_close(estimate(&o, "switch").value, (1.0 + 0.5 + 0.25 - 2.0 * 0.375) / 5.0);
	assert_close(estimate(&o, "clipped").value, (2.0 + 1.5) / 5.0);
	/* snips: squares of e w (c - v) are 1, 0, 0, 1 */
	assert_close(estimate(&o, "snips").error, sqrt(4.0 / 3.0 * (1.0 + 0.0 + 0.0 + 1.0)) / 8.0);
	cop_offpolicy_summary s;
	cop_offpolicy_summarise(&o, &s);
	assert_int_equal(s.events, 4);
	assert_close(s.weight, 5.0);
	assert_close(s.effective_sample_size, 64.0 / (4.0 + 16.0 + 4.0));
	assert_close(s.matched_share, 0.75);
	assert_close(s.mean_target, 3.0 / 5.0);
	assert_close(s.largest_weight, 4.0);
	assert_close(s.mean_weight, 8.0 / 5.0);
	/* deviations 0.4, -1.6, 2.4 and twice -0.6 */
	assert_close(s.mean_weight_z, 0.6 / (sqrt(0.16 + 2.56 + 5.76 + 1.44) / 5.0));
}

/* All weights alike, and not 1: there is no error to measure by. */
static void test_weights_that_are_all_off_alike_are_off_by_the_most(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		cop_offpolicy o;
		cop_offpolicy_summary s;
		start(&o, 0.0, 1.0);
		for (int i = 0; i < 3; i++) {
			cop_offpolicy_event e = event(0.5, 1.0, more ? 1.0 : 0.25);
			assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
		}
		cop_offpolicy_summarise(&o, &s);
		assert_true(s.mean_weight_z == (more ? 1e6 : -1e6));
	}
}

static void test_log_of_the_target_itself_gives_its_own_average(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_rng rng;
	double sum = 0.0;
	cop_rng_init(&rng, 3, 0);
	start(&o, 0.0, 1.0);
	for (int i = 0; i < 1000; i++) {
		double p = 0.1 + 0.9 * cop_rng_unit(&rng), cost = cop_rng_unit(&rng);
		cop_offpolicy_event e = event(p, cost, p);
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
		sum += cost;
	}
	assert_close(estimate(&o, "logged").value, sum / 1000.0);
	assert_close(estimate(&o, "ips").value, sum / 1000.0);
	assert_close(estimate(&o, "snips").value, sum / 1000.0);
	assert_close(estimate(&o, "dr").value, sum / 1000.0); /* without a model: ips */
	cop_offpolicy_summary s;
	cop_offpolicy_summarise(&o, &s);
	assert_close(s.effective_sample_size, 1000.0);
	assert_true(s.mean_weight_z == 0.0);
	cop_estimate out;
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("dm"), NULL, 0.95, &out), COP_ENOTFOUND);
}

static void test_no_event_and_no_match_give_the_whole_range(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_estimate out;
	start(&o, -1.0, 3.0);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; cop_offpolicy_estimator_at(i) != NULL; i++) {
			cop_err err = cop_offpolicy_estimate(&o, cop_offpolicy_estimator_at(i), NULL, 0.95, &out);
			assert_true(out.low == -1.0 && out.high == 3.0);
			assert_true(err == COP_OK ? isfinite(out.value) : isnan(out.value));
			if (round == 0)
				assert_int_equal(err, COP_ENOTFOUND);
		}
		cop_offpolicy_event e = event(0.5, 1.0, 0.0); /* no match, then one event alone */
		if (round == 1) {
			start(&o, -1.0, 3.0);
			e = event(0.5, 1.0, 1.0);
		}
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	}
	assert_close(estimate(&o, "snips").value, 1.0);
}

static void test_intervals_hold_the_value_and_stay_in_the_range(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 11, 0);
	for (int round = 0; round < 200; round++) {
		cop_offpolicy o;
		start(&o, -2.0, 1.0);
		size_t n = 1 + (size_t)cop_rng_below(&rng, 200);
		for (size_t i = 0; i < n; i++) {
			cop_offpolicy_event e = event(pow(10.0, -6.0 * cop_rng_unit(&rng)),
			        3.0 * cop_rng_unit(&rng) - 2.0, cop_rng_below(&rng, 3) == 0 ? 0.0 : cop_rng_unit(&rng));
			e.weight = 0.5 + cop_rng_unit(&rng);
			e.has_model = round % 2 == 0;
			e.model_logged = cop_rng_unit(&rng);
			e.model_target = cop_rng_unit(&rng);
			assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
		}
		for (size_t i = 0; cop_offpolicy_estimator_at(i) != NULL; i++)
			for (size_t k = 0; cop_offpolicy_method_at(k) != NULL; k++) {
				const cop_offpolicy_estimator *by = cop_offpolicy_estimator_at(i);
				cop_estimate out;
				cop_err err = cop_offpolicy_estimate(&o, by, cop_offpolicy_method_at(k), 0.9, &out);
				assert_true(out.low >= -2.0 && out.high <= 1.0 && out.low <= out.high);
				if (err == COP_OK && !by->truncated && out.value >= -2.0 && out.value <= 1.0)
					assert_true(out.low <= out.value && out.high >= out.value);
			}
	}
}

static cop_offpolicy_event random_event(cop_rng *rng)
{
	cop_offpolicy_event e = event(0.05 + 0.95 * cop_rng_unit(rng), cop_rng_unit(rng), cop_rng_unit(rng));
	e.weight = 0.1 + cop_rng_unit(rng);
	e.has_model = true;
	e.model_logged = cop_rng_unit(rng);
	e.model_target = cop_rng_unit(rng);
	return e;
}

static void assert_same_estimates(const cop_offpolicy *a, const cop_offpolicy *b, double tolerance)
{
	for (size_t i = 0; cop_offpolicy_estimator_at(i) != NULL; i++)
		for (size_t k = 0; k < 5; k++) {
			cop_estimate x, y;
			const cop_offpolicy_estimator *by = cop_offpolicy_estimator_at(i);
			cop_err err = cop_offpolicy_estimate(a, by, cop_offpolicy_method_at(k), 0.95, &x);
			assert_int_equal(cop_offpolicy_estimate(b, by, cop_offpolicy_method_at(k), 0.95, &y), err);
			assert_true(fabs(x.value - y.value) <= tolerance && fabs(x.error - y.error) <= tolerance);
			assert_true(fabs(x.low - y.low) <= tolerance && fabs(x.high - y.high) <= tolerance);
		}
}

static void test_saved_and_loaded_goes_on_as_before(void **state)
{
	(void)state;
	cop_offpolicy o, read, untouched;
	cop_rng rng;
	cop_bytes bytes;
	cop_cursor in;
	cop_rng_init(&rng, 6, 0);
	start(&o, 0.0, 1.0);
	start(&untouched, 0.0, 1.0);
	for (size_t i = 0; i < 500; i++) {
		cop_offpolicy_event e = random_event(&rng);
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	}
	cop_bytes_init(&bytes);
	cop_offpolicy_save(&o, &bytes);
	assert_int_equal(bytes.err, COP_OK);
	for (size_t cut = 0; cut < bytes.length; cut++) {
		read = untouched;
		cop_cursor_init(&in, bytes.data, cut);
		assert_int_equal(cop_offpolicy_load(&read, &in), COP_EFORMAT);
		assert_memory_equal(&read, &untouched, sizeof read);
	}
	cop_cursor_init(&in, bytes.data, bytes.length);
	assert_int_equal(cop_offpolicy_load(&read, &in), COP_OK);
	cop_offpolicy_event e = random_event(&rng);
	assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	assert_int_equal(cop_offpolicy_add(&read, &e), COP_OK);
	assert_same_estimates(&o, &read, 0.0);
	bytes.data[0] = 99;
	cop_cursor_init(&in, bytes.data, bytes.length);
	assert_int_equal(cop_offpolicy_load(&read, &in), COP_EVERSION);
	cop_bytes_fini(&bytes);
}

static cop_err reload(const cop_offpolicy *o, cop_offpolicy *read)
{
	cop_bytes bytes;
	cop_cursor in;
	cop_bytes_init(&bytes);
	cop_offpolicy_save(o, &bytes);
	assert_int_equal(bytes.err, COP_OK);
	cop_cursor_init(&in, bytes.data, bytes.length);
	cop_err err = cop_offpolicy_load(read, &in);
	cop_bytes_fini(&bytes);
	return err;
}

static void test_states_that_cannot_be_are_refused(void **state)
{
	(void)state;
	enum { CASES = 13 };
	for (int known = 0; known < 2; known++) {
		cop_offpolicy good, bad[CASES + COP_OFFPOLICY_TERMS], read;
		size_t n = 0;
		start(&good, 0.0, known);
		assert_int_equal(reload(&good, &read), COP_OK); /* empty */
		const cop_offpolicy_event e = event(0.5, 1.0, 0.5);
		assert_int_equal(cop_offpolicy_add(&good, &e), COP_OK); /* every range of no width */
		good.models = good.matched;
		good.weight_max = good.weight_bound;
		assert_int_equal(good.extreme, 1);
		assert_int_equal(reload(&good, &read), COP_OK);
		for (size_t i = 0; i < CASES + COP_OFFPOLICY_TERMS; i++)
			bad[i] = good;
		for (size_t i = 0; i < COP_OFFPOLICY_TERMS; i++)
			bad[n++].term[i].n = 2;
		bad[n++].n = 2;
		bad[n++].matched = 2;
		bad[n++].models = 2;
		bad[n++].extreme = 2;
		bad[n].weight_bound = -1.0;
		bad[n++].weight_max = -2.0;
		bad[n++].weight_max = 1e6;
		bad[n++].cost_min = 1.25;
		bad[n++].model_min = 1.25;
		bad[n++].below.n = 2;
		bad[n++].above.n = 2;
		bad[n++].settings.level = 1.0;
		bad[n++].settings.cost_low = 2.0;
		bad[n++].settings.clip = -1.0;
		assert_int_equal(n, sizeof bad / sizeof *bad);
		for (size_t i = 0; i < n; i++) {
			read = good;
			assert_int_equal(reload(&bad[i], &read), COP_EFORMAT);
			assert_memory_equal(&read, &good, sizeof read);
		}
	}
}

static void test_damaged_state_is_refused_or_harmless(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_rng rng;
	cop_bytes bytes;
	cop_rng_init(&rng, 7, 0);
	start(&o, 0.0, 1.0);
	for (size_t i = 0; i < 50; i++) {
		cop_offpolicy_event e = random_event(&rng);
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	}
	cop_bytes_init(&bytes);
	cop_offpolicy_save(&o, &bytes);
	for (int round = 0; round < 20000; round++) {
		size_t at = (size_t)cop_rng_below(&rng, bytes.length);
		uint8_t old = bytes.data[at];
		cop_cursor in;
		cop_offpolicy read;
		cop_estimate out;
		bytes.data[at] = (uint8_t)cop_rng_u64(&rng);
		cop_cursor_init(&in, bytes.data, bytes.length);
		if (cop_offpolicy_load(&read, &in) == COP_OK && round % 20 == 0)
			for (size_t i = 0; cop_offpolicy_estimator_at(i) != NULL; i++)
				if (cop_offpolicy_estimate(&read, cop_offpolicy_estimator_at(i), NULL, 0.95, &out) ==
				        COP_OK)
					assert_false(isnan(out.low) || isnan(out.high));
		bytes.data[at] = old;
	}
	cop_bytes_fini(&bytes);
}

static void refuse(cop_offpolicy *o, cop_offpolicy_event e, cop_err want)
{
	cop_offpolicy before = *o;
	assert_int_equal(cop_offpolicy_add(o, &e), want);
	assert_memory_equal(&before, o, sizeof before);
}

static void test_bad_events_are_refused_and_change_nothing(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_offpolicy_event good = event(0.5, 0.5, 0.5), e;
	start(&o, 0.0, 1.0);
	good.has_model = true;
	assert_int_equal(cop_offpolicy_add(&o, &good), COP_OK);
	const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
	for (size_t i = 0; i < 3; i++)
		for (size_t field = 0; field < 7; field++) {
			e = good;
			double *fields[] = { &e.p, &e.cost, &e.weight, &e.target, &e.target_max, &e.model_logged,
				&e.model_target };
			*fields[field] = bad[i];
			refuse(&o, e, COP_ENONFINITE);
		}
	refuse(&o, event(0.0, 0.5, 0.5), COP_EINVAL);
	refuse(&o, event(1.1, 0.5, 0.5), COP_EINVAL);
	refuse(&o, event(1e-13, 0.5, 0.5), COP_EINVAL); /* a weight beyond all bounds */
	refuse(&o, event(0.5, 1.5, 0.5), COP_EINVAL);
	refuse(&o, event(0.5, -0.5, 0.5), COP_EINVAL);
	refuse(&o, event(0.5, 0.5, 1.5), COP_EINVAL);
	refuse(&o, event(0.5, 0.5, -0.1), COP_EINVAL);
	e = good;
	e.weight = 0.0;
	refuse(&o, e, COP_EINVAL);
	e = good;
	e.target_max = 0.25;
	refuse(&o, e, COP_EINVAL);
	e = good;
	e.model_target = 1e13;
	refuse(&o, e, COP_EINVAL);
}

static void test_bad_settings_are_refused(void **state)
{
	(void)state;
	cop_offpolicy_settings good, s;
	cop_offpolicy o;
	cop_offpolicy_defaults(&good);
	double *fields[] = { &s.cost_low, &s.cost_high, &s.level, &s.threshold, &s.clip };
	for (size_t i = 0; i < 5; i++) {
		s = good;
		*fields[i] = (double)NAN;
		assert_int_equal(cop_offpolicy_init(&o, &s), COP_ENONFINITE);
		s = good;
		*fields[i] = i == 0 ? 1.0 : -1.0;
		assert_int_equal(cop_offpolicy_init(&o, &s), COP_EINVAL);
	}
}

static void test_huge_weights_stay_finite(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_offpolicy_settings settings;
	cop_offpolicy_defaults(&settings); /* range not known */
	assert_int_equal(cop_offpolicy_init(&o, &settings), COP_OK);
	for (int i = 0; i < 100; i++) {
		cop_offpolicy_event e = event(1e-12, i % 2 == 0 ? 1e12 : -1e12, 1.0);
		e.weight = i % 3 == 0 ? 1e12 : 1e-12;
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	}
	for (size_t i = 0; cop_offpolicy_estimator_at(i) != NULL; i++) {
		cop_estimate out;
		cop_err err = cop_offpolicy_estimate(&o, cop_offpolicy_estimator_at(i), NULL, 0.95, &out);
		assert_true(err == COP_ENOTFOUND || (isfinite(out.value) && isfinite(out.error)));
		assert_true(isfinite(out.low) && isfinite(out.high));
	}
}

/* A cost of 1e8 beside one of 1e-8 more: compensated sums keep the small part over a million events. */
static void test_long_stream_keeps_its_digits(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_offpolicy_settings settings;
	cop_offpolicy_defaults(&settings);
	assert_int_equal(cop_offpolicy_init(&o, &settings), COP_OK);
	for (int i = 0; i < 1000000; i++) {
		cop_offpolicy_event e = event(0.1, 1000.0 + (i % 2 == 0 ? 0.1 : 0.3), 0.1);
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	}
	cop_estimate out = estimate(&o, "snips");
	assert_true(fabs(out.value - 1000.2) <= 1e-15 * 1000.2);
	assert_true(fabs(out.error - 0.1 / sqrt(999999.0)) <= 1e-9 * out.error);
}

static void test_unknown_range_follows_the_costs(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_offpolicy_settings settings;
	double low, high;
	cop_offpolicy_defaults(&settings);
	assert_int_equal(cop_offpolicy_init(&o, &settings), COP_OK);
	const double costs[] = { 0.0, -0.5, 0.25, -3.0 };
	const double lows[] = { 0.0, -1.0, -0.5, -3.0 }, highs[] = { 1.0, 0.0, 0.25, 0.25 };
	for (size_t i = 0; i < 4; i++) {
		cop_offpolicy_event e = event(0.5, costs[i], 0.5);
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
		cop_offpolicy_range(&o, &low, &high);
		assert_true(low == lows[i] && high == highs[i]);
	}
	/* the ends of what counts as [0, 1] and as [-1, 0] */
	static const double cases[][4] = { { 0.0, 1.0, 0.0, 1.0 }, { -1.0, 0.0, -1.0, 0.0 }, { 0.0, 1.5, 0.0, 1.5 },
		{ 0.5, 2.0, 0.5, 2.0 }, { -1.5, 0.0, -1.5, 0.0 }, { -1.5, -0.5, -1.5, -0.5 }, { -1.0, 0.5, -1.0, 0.5 },
		{ 0.25, 0.5, 0.0, 1.0 }, { -0.5, -0.25, -1.0, 0.0 }, { -0.5, 1.0, -0.5, 1.0 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_offpolicy_range_of(&settings, cases[i][0], cases[i][1], &low, &high);
		assert_true(low == cases[i][2] && high == cases[i][3]);
	}
}

static void test_range_of_costs_seen_is_the_unit_one_on_either_side_or_their_own(void **state)
{
	(void)state;
	cop_offpolicy_settings settings;
	cop_offpolicy_defaults(&settings);
	static const double cases[][4] = { /* least, most, low, high */
		{ 0.0, 1.0, 0.0, 1.0 }, { 0.25, 0.5, 0.0, 1.0 }, { 0.0, 1.5, 0.0, 1.5 }, { 0.5, 1.5, 0.5, 1.5 },
		{ -1.0, 0.0, -1.0, 0.0 }, { -0.5, -0.25, -1.0, 0.0 }, { -1.5, 0.0, -1.5, 0.0 },
		{ -1.5, -0.5, -1.5, -0.5 }, { -0.5, 0.5, -0.5, 0.5 }, { -1.0, 1.0, -1.0, 1.0 }
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double low, high;
		cop_offpolicy_range_of(&settings, cases[i][0], cases[i][1], &low, &high);
		assert_true(low == cases[i][2] && high == cases[i][3]);
	}
}

static void accept(cop_offpolicy_event e)
{
	cop_offpolicy_settings settings;
	cop_offpolicy_defaults(&settings);
	assert_int_equal(cop_offpolicy_check(&settings, &e), COP_OK);
}

static void test_events_at_the_bounds_are_taken_and_beyond_refused(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_offpolicy_settings settings;
	cop_offpolicy_defaults(&settings); /* costs of any range */
	assert_int_equal(cop_offpolicy_init(&o, &settings), COP_OK);
	const double slack = 1.0 + 1e-6, beyond = 1.0 + 1.5e-6, most = COP_OFFPOLICY_MAX, more = 1.5 * most;
	accept(event(slack, 0.0, 1.0));
	refuse(&o, event(beyond, 0.0, 1.0), COP_EINVAL);
	accept(event(1.0, 0.0, slack));
	refuse(&o, event(1.0, 0.0, beyond), COP_EINVAL);
	accept(event(1.0, most, 0.0));
	accept(event(1.0, -most, 0.0));
	refuse(&o, event(1.0, more, 0.0), COP_EINVAL);
	refuse(&o, event(1.0, -more, 0.0), COP_EINVAL);
	cop_offpolicy_event e = event(1.0, 0.0, 0.5);
	const double weights[] = { 1.0 / most, most }, wrong[] = { 0.9 / most, more, -1.0 };
	for (size_t i = 0; i < 3; i++) {
		e.weight = wrong[i];
		refuse(&o, e, COP_EINVAL);
		e.weight = weights[i % 2];
		accept(e);
	}
	e.target_max = slack;
	accept(e);
	e.target_max = beyond;
	refuse(&o, e, COP_EINVAL);
	e.target_max = -0.1;
	refuse(&o, e, COP_EINVAL);
	e.target_max = 0.5;
	e.target = 0.5 * slack;
	accept(e);
	e.target = 0.5 * beyond;
	refuse(&o, e, COP_EINVAL);
	e = event(0.25 / most, 0.0, 0.0);
	e.target_max = 0.25;
	accept(e);
	e.target_max = 0.26;
	refuse(&o, e, COP_EINVAL);
	e = event(1.0, 0.0, 0.5);
	e.model_logged = more; /* there is no model */
	accept(e);
	e.has_model = true;
	refuse(&o, e, COP_EINVAL);
	e.model_logged = -most;
	e.model_target = most;
	accept(e);
	e.model_target = -more;
	refuse(&o, e, COP_EINVAL);
	start(&o, -1.0, 3.0);
	e = event(1.0, -1.0, 0.5);
	assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	e.cost = 3.0;
	assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	assert_int_equal(o.extreme, 2);
	refuse(&o, event(1.0, -1.1, 0.5), COP_EINVAL);
	refuse(&o, event(1.0, 3.1, 0.5), COP_EINVAL);
}

/* Of the arm that was logged, had it been the favourite, and of another one, which has at most 1 - p. */
static void test_largest_possible_weight_is_that_by_hand(void **state)
{
	(void)state;
	static const struct {
		double p, target, target_max, bound;
	} cases[] = {
		{ 0.5, 0.5, 0.0, 2.0 },
		{ 0.25, 0.5, 0.0, 4.0 },
		{ 0.75, 0.5, 0.0, 4.0 },
		{ 0.75, 1.0, 0.0, 1.0 / 0.75 }, /* it is the favourite */
		{ 0.9, 0.2, 0.8, 8.0 },
		{ 0.1, 0.2, 0.8, 8.0 },
		{ 1.0, 0.5, 0.0, COP_OFFPOLICY_MAX },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_offpolicy o;
		start(&o, 0.0, 1.0);
		cop_offpolicy_event e = event(cases[i].p, 0.0, cases[i].target);
		e.target_max = cases[i].target_max;
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
		assert_close(o.weight_bound, cases[i].bound);
		assert_close(o.weight_max, e.target / e.p);
	}
}

/* Each side of the interval may fail in half of what the level leaves. */
static void test_sequences_are_of_costs_from_both_ends_at_half_the_risk(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_interval_sequence below = { 0 }, above = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, 12, 0);
	start(&o, -1.0, 3.0);
	for (int i = 0; i < 100; i++) {
		cop_offpolicy_event e = event(0.5, 4.0 * cop_rng_unit(&rng) - 1.0, cop_rng_unit(&rng));
		e.weight = 0.5 + cop_rng_unit(&rng);
		double w = e.target / e.p, scaled = (e.cost + 1.0) / 4.0;
		double scale = cop_moments_typical_weight(&o.term[COP_OFFPOLICY_DM]);
		cop_interval_sequence_add(&below, e.weight, w * scaled, scale, 0.5 * (1.0 - 0.95));
		cop_interval_sequence_add(&above, e.weight, w * (1.0 - scaled), scale, 0.5 * (1.0 - 0.95));
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	}
	assert_memory_equal(&o.below, &below, sizeof below);
	assert_memory_equal(&o.above, &above, sizeof above);
}

static void test_bernstein_interval_is_that_of_the_effective_events(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_estimate logged, ips, clipped;
	cop_rng rng;
	cop_rng_init(&rng, 13, 0);
	start(&o, -1.0, 3.0);
	double a1 = 0.0, a2 = 0.0, ay = 0.0, y2 = 0.0, y1 = 0.0;
	for (int i = 0; i < 2000; i++) {
		cop_offpolicy_event e = event(1.0, cop_rng_unit(&rng), 1.0); /* all weights are 1 */
		e.weight = 0.5 + cop_rng_unit(&rng);
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
		a1 += e.weight;
		a2 += e.weight * e.weight;
		ay += e.weight * e.cost;
		y1 += e.weight * e.weight * e.cost;
		y2 += e.weight * e.weight * e.cost * e.cost;
	}
	double n = a1 * a1 / a2, mean = ay / a1;
	double variance = (y2 - 2.0 * mean * y1 + mean * mean * a2) / a2 * n / (n - 1.0);
	double half = cop_interval_bernstein(n, variance, 4.0, 0.1);
	assert_true(half < 0.5);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("logged"), "bernstein", 0.9, &logged), COP_OK);
	assert_true(fabs(logged.low - (mean - half)) < 1e-9 && fabs(logged.high - (mean + half)) < 1e-9);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("ips"), "bernstein", 0.9, &ips), COP_OK);
	half = cop_interval_bernstein(n, variance, 4.0 * o.weight_bound, 0.1);
	assert_true(fabs(ips.low - fmax(mean - half, -1.0)) < 1e-9 && fabs(ips.high - fmin(mean + half, 3.0)) < 1e-9);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("clipped"), "bernstein", 0.9, &clipped), COP_OK);
	half = cop_interval_bernstein(n, variance, 4.0 * fmin(3.0, o.weight_bound), 0.1);
	assert_true(fabs(clipped.low - fmax(mean - half, -1.0)) < 1e-9);
	assert_int_equal(
	        cop_offpolicy_estimate(&o, cop_offpolicy_find("snips"), "bernstein", 0.9, &ips), COP_ENOTFOUND);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("dm"), "bernstein", 0.9, &ips), COP_ENOTFOUND);
}

static void test_exact_interval_is_of_the_effective_trials(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_estimate out;
	double low, high, a1 = 0.0, a2 = 0.0, hits = 0.0;
	start(&o, -1.0, 3.0);
	for (int i = 0; i < 50; i++) {
		cop_offpolicy_event e = event(1.0, i % 5 == 0 ? 3.0 : -1.0, 1.0);
		e.weight = 1.0 + i % 3;
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
		a1 += e.weight;
		a2 += e.weight * e.weight;
		hits += i % 5 == 0 ? e.weight : 0.0;
	}
	double trials = a1 * a1 / a2;
	cop_interval_clopper_pearson(hits / a1 * trials, trials, 0.1, &low, &high);
	assert_int_equal(
	        cop_offpolicy_estimate(&o, cop_offpolicy_find("logged"), "clopper-pearson", 0.9, &out), COP_OK);
	assert_true(fabs(out.low - (4.0 * low - 1.0)) < 1e-9 && fabs(out.high - (4.0 * high - 1.0)) < 1e-9);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("snips"), "clopper-pearson", 0.9, &out), COP_OK);
	assert_true(fabs(out.low - (4.0 * low - 1.0)) < 1e-9 && fabs(out.high - (4.0 * high - 1.0)) < 1e-9);
	assert_int_equal(
	        cop_offpolicy_estimate(&o, cop_offpolicy_find("ips"), "clopper-pearson", 0.9, &out), COP_ENOTFOUND);
}

static void test_sequence_interval_is_that_of_both_sequences(void **state)
{
	(void)state;
	cop_offpolicy o;
	cop_estimate out;
	cop_rng rng;
	cop_rng_init(&rng, 14, 0);
	start(&o, -1.0, 3.0);
	for (int i = 0; i < 3000; i++) {
		const cop_offpolicy_event e = event(0.5, cop_rng_unit(&rng), i % 2 == 0 ? 0.9 : 0.1);
		assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	}
	double risk = 0.5 * (1.0 - 0.95);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("ips"), "sequence", 0.95, &out), COP_OK);
	assert_true(out.low > -0.9 && out.high < 2.9);
	assert_close(out.low, -1.0 + 4.0 * cop_interval_sequence_low(&o.below, risk));
	assert_close(out.high, 3.0 - 4.0 * cop_interval_sequence_low(&o.above, risk));
}

static void test_names_are_found_and_unknown_ones_are_not(void **state)
{
	(void)state;
	const char *names[] = { "logged", "ips", "snips", "dm", "dr", "switch", "clipped" };
	cop_offpolicy o;
	cop_estimate out;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_ptr_equal(cop_offpolicy_find(names[i]), cop_offpolicy_estimator_at(i));
		assert_string_equal(cop_offpolicy_find(names[i])->name, names[i]);
	}
	assert_null(cop_offpolicy_estimator_at(7));
	assert_null(cop_offpolicy_find("magic"));
	assert_string_equal(cop_offpolicy_method_at(0), "robust");
	assert_null(cop_offpolicy_method_at(6));
	start(&o, 0.0, 1.0);
	cop_offpolicy_event e = event(0.5, 0.5, 0.5);
	assert_int_equal(cop_offpolicy_add(&o, &e), COP_OK);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("ips"), "magic", 0.95, &out), COP_ENOTFOUND);
	assert_close(out.value, 0.5);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("ips"), NULL, 1.0, &out), COP_ENOTFOUND);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("ips"), "sequence", 0.9, &out), COP_ENOTFOUND);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("ips"), "sequence", 0.95, &out), COP_OK);
	assert_int_equal(cop_offpolicy_estimate(&o, cop_offpolicy_find("dr"), "sequence", 0.95, &out), COP_ENOTFOUND);
}

static void test_defaults_are_those_that_the_documents_name(void **state)
{
	(void)state;
	cop_offpolicy_settings s;
	cop_offpolicy_defaults(&s);
	assert_true(
	        s.level == 0.95 && s.threshold == 10.0 && s.clip == 10.0 && s.cost_low == 0.0 && s.cost_high == 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_those_that_the_documents_name),
		cmocka_unit_test(test_interval_of_costs_at_both_ends_is_the_exact_one),
		cmocka_unit_test(test_estimates_of_four_events_equal_those_by_hand),
		cmocka_unit_test(test_weights_that_are_all_off_alike_are_off_by_the_most),
		cmocka_unit_test(test_log_of_the_target_itself_gives_its_own_average),
		cmocka_unit_test(test_no_event_and_no_match_give_the_whole_range),
		cmocka_unit_test(test_intervals_hold_the_value_and_stay_in_the_range),
		cmocka_unit_test(test_saved_and_loaded_goes_on_as_before),
		cmocka_unit_test(test_damaged_state_is_refused_or_harmless),
		cmocka_unit_test(test_bad_events_are_refused_and_change_nothing),
		cmocka_unit_test(test_range_of_costs_seen_is_the_unit_one_on_either_side_or_their_own),
		cmocka_unit_test(test_events_at_the_bounds_are_taken_and_beyond_refused),
		cmocka_unit_test(test_largest_possible_weight_is_that_by_hand),
		cmocka_unit_test(test_sequences_are_of_costs_from_both_ends_at_half_the_risk),
		cmocka_unit_test(test_bernstein_interval_is_that_of_the_effective_events),
		cmocka_unit_test(test_exact_interval_is_of_the_effective_trials),
		cmocka_unit_test(test_sequence_interval_is_that_of_both_sequences),
		cmocka_unit_test(test_bad_settings_are_refused),
		cmocka_unit_test(test_huge_weights_stay_finite),
		cmocka_unit_test(test_long_stream_keeps_its_digits),
		cmocka_unit_test(test_unknown_range_follows_the_costs),
		cmocka_unit_test(test_names_are_found_and_unknown_ones_are_not),
		cmocka_unit_test(test_states_that_cannot_be_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
