/* What promotion_test.h allows, to the last value, and each verdict at its threshold. States are set as no stream of
 * events would reach them exactly. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "evaluate/promotion_test.h"

#define SLACK (1.0 + 1e-6)
#define RISK  0.05

static double above(double x) { return nextafter(x, HUGE_VAL); }
static double below(double x) { return nextafter(x, -HUGE_VAL); }

static cop_promotion_test_settings defaults_of(cop_promotion_test_estimator estimator)
{
	cop_promotion_test_settings s;
	cop_promotion_test_defaults(&s);
	s.estimator = estimator;
	return s;
}

static cop_promotion_test begun_with(const cop_promotion_test_settings *settings)
{
	cop_promotion_test promotion;
	assert_int_equal(cop_promotion_test_init(&promotion, settings), COP_OK);
	return promotion;
}

static cop_err try_settings(double *of, double value, const cop_promotion_test_settings *s)
{
	cop_promotion_test promotion;
	double before = *of;
	*of = value;
	cop_err err = cop_promotion_test_init(&promotion, s);
	*of = before;
	return err;
}

static void test_settings_are_allowed_up_to_their_ends(void **state)
{
	(void)state;
	cop_promotion_test promotion;
	cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_ERROR);
	const struct {
		double *of, least, most;
	} ranges[] = { { &s.margin, 0.0, 1.0 }, { &s.worse_margin, 0.0, 1.0 }, { &s.risk, 1e-12, below(1.0) },
		{ &s.difference_most, 1.0, 100.0 }, { &s.clip, 6.0, 1e6 }, { &s.share, DBL_TRUE_MIN, 1.0 },
		{ &s.stake, 0.0, 1.0 }, { &s.carried, 0.0, 1e18 } };
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		double *of = ranges[i].of;
		assert_int_equal(try_settings(of, ranges[i].least, &s), COP_OK);
		assert_int_equal(try_settings(of, ranges[i].most, &s), COP_OK);
		assert_int_equal(try_settings(of, below(ranges[i].least), &s), COP_EINVAL);
		assert_int_equal(try_settings(of, above(ranges[i].most), &s), COP_EINVAL);
		assert_int_equal(try_settings(of, (double)NAN, &s), COP_ENONFINITE);
		assert_int_equal(try_settings(of, HUGE_VAL, &s), COP_ENONFINITE);
	}
	assert_int_equal(cop_promotion_test_init(&promotion, &s), COP_OK);
	s.estimator = (cop_promotion_test_estimator)3;
	assert_int_equal(cop_promotion_test_init(&promotion, &s), COP_EINVAL);
}

static cop_err add_to_new(const cop_promotion_test_event *e)
{
	const cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_DR);
	cop_promotion_test promotion = begun_with(&s), before = promotion;
	cop_err err = cop_promotion_test_add(&promotion, e);
	if (err != COP_OK)
		assert_memory_equal(&promotion, &before, sizeof before);
	return err;
}

static cop_err try_event(double *of, double value, const cop_promotion_test_event *e)
{
	double before = *of;
	*of = value;
	cop_err err = add_to_new(e);
	*of = before;
	return err;
}

static void test_events_are_allowed_up_to_their_ends(void **state)
{
	(void)state;
	cop_promotion_test_event e = { .p = 0.5,
		.loss = 0.5,
		.champion = 0.5,
		.challenger = 0.5,
		.has_model = true,
		.has_said = true,
		.has_difference = true };
	const struct {
		double *of, least, most;
	} ranges[] = { { &e.p, 0.5 / 1e12, SLACK }, { &e.loss, 0.0, 1.0 }, { &e.champion, 0.0, SLACK },
		{ &e.challenger, 0.0, SLACK }, { &e.model_logged, 0.0, 1.0 }, { &e.model_champion, 0.0, SLACK },
		{ &e.model_challenger, 0.0, SLACK }, { &e.said_champion, 0.0, 1.0 }, { &e.said_challenger, 0.0, 1.0 },
		{ &e.difference, 0.0, 1.0 } };
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		double *of = ranges[i].of;
		assert_int_equal(try_event(of, ranges[i].least, &e), COP_OK);
		assert_int_equal(try_event(of, ranges[i].most, &e), COP_OK);
		assert_int_equal(try_event(of, below(ranges[i].least) * (1.0 - 1e-15), &e), COP_EINVAL);
		assert_int_equal(try_event(of, above(ranges[i].most), &e), COP_EINVAL);
		assert_int_equal(try_event(of, (double)NAN, &e), COP_ENONFINITE);
		assert_int_equal(try_event(of, HUGE_VAL, &e), COP_ENONFINITE);
	}
	assert_int_equal(try_event(&e.weight_most, (double)NAN, &e), COP_ENONFINITE);
	assert_int_equal(try_event(&e.weight_most, -DBL_TRUE_MIN, &e), COP_EINVAL);
	e.champion = e.challenger = 0.0;
	assert_int_equal(try_event(&e.p, 0.0, &e), COP_EINVAL);
}

/* Of the larger one, whichever policy's it is. */
static void test_weights_are_allowed_up_to_what_was_given_and_up_to_1e12(void **state)
{
	(void)state;
	cop_promotion_test_event e = { .p = 0.25, .weight_most = 2.0 };
	for (int i = 0; i < 2; i++) {
		double *of = i == 0 ? &e.champion : &e.challenger;
		e.p = 0.25;
		e.weight_most = 2.0;
		assert_int_equal(try_event(of, 0.5 * SLACK, &e), COP_OK);
		assert_int_equal(try_event(of, above(0.5 * SLACK), &e), COP_EINVAL);
		e.weight_most = 0.5; /* below 1 as well */
		assert_int_equal(try_event(of, above(0.125 * SLACK), &e), COP_EINVAL);
		e.weight_most = 0.0; /* not known */
		e.p = 0x1p-40;
		assert_int_equal(try_event(of, 1e12 * 0x1p-40, &e), COP_OK);
		assert_int_equal(try_event(of, above(1e12 * 0x1p-40), &e), COP_EINVAL);
	}
}

static void test_what_an_event_does_not_have_is_not_looked_at(void **state)
{
	(void)state;
	double none = (double)NAN;
	for (int i = 0; i < 2; i++, none = 2.0) {
		const cop_promotion_test_event e = { .p = 0.5,
			.loss = 0.5,
			.champion = 0.5,
			.challenger = 0.5,
			.model_logged = none,
			.model_champion = none,
			.model_challenger = none,
			.said_champion = none,
			.said_challenger = none,
			.difference = none };
		assert_int_equal(add_to_new(&e), COP_OK);
	}
}

/* Ninety losses of 0: a mean of 0.05 with those that the mean begins with, so that a fifth of the variance counts. */
static void test_tolerance_is_a_part_of_the_variance_where_the_mean_loss_is_small(void **state)
{
	(void)state;
	const cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_ERROR);
	const cop_promotion_test_event e = { .p = 1.0, .has_model = true, .has_difference = true, .difference = 0.5 };
	cop_promotion_test promotion = begun_with(&s);
	promotion.n = 90;
	assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	assert_true(fabs(cop_sum_value(&promotion.worst) - 0.2 * 0.05 * 0.95) < 1e-15);
}

/* One event's bet of k = 3/4, from a state. */
static double bet_of(cop_promotion_test promotion, double said_champion, double said_challenger)
{
	const cop_promotion_test_event e = { .p = 1.0,
		.loss = 1.0,
		.has_said = true,
		.said_champion = said_champion,
		.said_challenger = said_challenger };
	assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	return cop_sum_value(&promotion.wealth[0]);
}

static void test_bets_are_of_what_lies_beyond_the_tolerance_within_the_losses(void **state)
{
	(void)state;
	const cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_ERROR);
	cop_promotion_test promotion = begun_with(&s);
	promotion.n = 90;
	double variance = 0.05 * 0.95, b = 0.05 + 0.2 * variance;
	double want = log1p(0.75 * (0.08 - b) / variance * (1.0 - b));
	assert_true(fabs(bet_of(promotion, 0.05, 0.08) - want) < 1e-12 && want > 0.1);
	promotion.n = 0;
	promotion.challenger_gap.total = 50.0; /* half too little: 1.5, which is 1 */
	want = log1p(0.75 * (1.0 - 0.24) / 0.25 * (1.0 - 0.24));
	assert_true(fabs(bet_of(promotion, 0.2, 1.0) - want) < 1e-12);
}

/* Also below 1: where both are unsure that they play what was logged. */
static void test_weights_that_are_known_to_be_small_have_terms_of_their_own(void **state)
{
	(void)state;
	const cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_IPS);
	const cop_promotion_test_event e = { .p = 1.0, .champion = 0.25, .challenger = 0.5, .weight_most = 0.75 };
	cop_promotion_test promotion = begun_with(&s);
	assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	assert_true(cop_running_bound_mean(&promotion.below[COP_PROMOTION_TEST_IPS]) == 0.25);
	assert_true(cop_running_bound_mean(&promotion.above[COP_PROMOTION_TEST_IPS]) == 0.0);
}

/* n events whose policies' difference is not known to be small: only predictions count. */
static cop_promotion_test predicted(uint64_t n)
{
	cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_ERROR);
	s.least_events = n;
	cop_promotion_test promotion = begun_with(&s);
	promotion.n = n;
	promotion.worst.total = (double)n;
	return promotion;
}

static void test_predictions_that_are_worse_end_it_at_the_odds_of_the_risk(void **state)
{
	(void)state;
	cop_promotion_test promotion = predicted(100);
	promotion.error.total = 0.5 * log(RISK);
	assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_WORSE);
	promotion.error.total = above(promotion.error.total);
	assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_OPEN);
	promotion.error.total = 0.5 * log(RISK);
	promotion.n--;
	assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_OPEN);
}

static void test_predictions_that_are_better_win_at_the_odds_where_the_policy_is_safe(void **state)
{
	(void)state;
	cop_promotion_test promotion = predicted(100);
	for (int staked = 0; staked < 2; staked++) {
		promotion.settings.share = 0.5;
		promotion.settings.stake = staked ? 0.25 : 0.0;
		double odds = 0.5 * log(1.0 / (0.8 * RISK) / (staked ? 0.25 : 0.5));
		promotion.error.total = odds;
		promotion.worst.total = below(0.01 * 100.0);
		assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_BETTER);
		assert_false(cop_promotion_test_is_won(&promotion));
		promotion.worst.total = 0.01 * 100.0;
		assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_OPEN);
		promotion.worst.total = 0.0;
		promotion.error.total = odds - 1e-12;
		assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_OPEN);
	}
}

static void test_policy_is_safe_too_when_its_bound_says_so(void **state)
{
	(void)state;
	cop_promotion_test promotion = predicted(100);
	double risk = 0.2 * RISK * 0.5, low;
	promotion.settings.share = 0.5;
	promotion.error.total = 100.0;
	do {
		cop_running_bound_add(&promotion.below[COP_PROMOTION_TEST_DR], 0.0, -1.0);
		low = cop_running_bound_low(&promotion.below[COP_PROMOTION_TEST_DR], risk);
		cop_promotion_test_verdict want = low > -0.01 ? COP_PROMOTION_TEST_BETTER : COP_PROMOTION_TEST_OPEN;
		assert_int_equal(cop_promotion_test_judge(&promotion), want);
	} while (low < -0.009);
}

static void set_wealth(cop_promotion_test *promotion, double logarithm)
{
	for (size_t i = 0; i < COP_PROMOTION_TEST_BETS; i++)
		promotion->wealth[i].total = logarithm;
}

static void test_wealth_wins_with_its_stake_and_what_was_carried(void **state)
{
	(void)state;
	const double enough = 1.0 / (0.8 * RISK);
	cop_promotion_test promotion = predicted(100);
	set_wealth(&promotion, log(enough) + 1e-9);
	assert_true(cop_promotion_test_is_won(&promotion));
	assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_BETTER);
	promotion.settings.estimator = COP_PROMOTION_TEST_DR;
	assert_false(cop_promotion_test_is_won(&promotion));
	promotion.settings.estimator = COP_PROMOTION_TEST_ERROR;
	promotion.settings.stake = 0.5;
	assert_false(cop_promotion_test_is_won(&promotion));
	promotion.settings.carried = 0.5 * enough;
	assert_true(cop_promotion_test_is_won(&promotion));
	set_wealth(&promotion, log(enough) - 1e-9);
	promotion.settings.carried = 1e6;
	assert_false(cop_promotion_test_is_won(&promotion)); /* not by itself */
	set_wealth(&promotion, 100.0);
	promotion.settings.stake = 1e-100;
	promotion.settings.carried = enough;
	assert_true(cop_promotion_test_is_won(&promotion));
	promotion.settings.carried = below(enough);
	assert_false(cop_promotion_test_is_won(&promotion));
}

static void test_wealth_counts_up_to_its_limit(void **state)
{
	(void)state;
	cop_promotion_test promotion = predicted(100);
	assert_true(fabs(cop_promotion_test_winnings(&promotion) - 1.0) < 1e-15);
	set_wealth(&promotion, -1000.0);
	promotion.settings.carried = 0.25;
	assert_true(cop_promotion_test_winnings(&promotion) == 0.25);
	promotion.wealth[0].total = 1000.0;
	promotion.settings.share = 0.5;
	promotion.settings.carried = 0.0;
	assert_true(fabs(cop_promotion_test_winnings(&promotion) / (0.5 * 1e18 / 3.0) - 1.0) < 1e-12);
	set_wealth(&promotion, 1000.0);
	promotion.settings.carried = 1e18;
	assert_true(cop_promotion_test_winnings(&promotion) == 1e18);
}

/* Events of one sign, so that either end moves. */
static cop_promotion_test after_events(cop_promotion_test_settings settings, bool better, uint64_t n)
{
	cop_promotion_test promotion = begun_with(&settings);
	for (uint64_t i = 0; i < n; i++) {
		bool second = i % 2 == 0;
		const cop_promotion_test_event e = { .p = 0.5,
			.loss = second == better ? 0.0 : 1.0,
			.champion = second ? 0.0 : 1.0,
			.challenger = second ? 1.0 : 0.0,
			.weight_most = 2.0 };
		assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	}
	return promotion;
}

static void assert_verdict(
        cop_promotion_test promotion, double margin, double worse_margin, cop_promotion_test_verdict want)
{
	promotion.settings.margin = margin;
	promotion.settings.worse_margin = worse_margin;
	assert_int_equal(cop_promotion_test_judge(&promotion), want);
}

static void test_interval_has_its_share_of_the_risk_and_decides_at_the_margins(void **state)
{
	(void)state;
	static const double lower_part[] = { 0.5, 0.5, 0.2 };
	for (int estimator = COP_PROMOTION_TEST_IPS; estimator <= COP_PROMOTION_TEST_ERROR; estimator++) {
		size_t by = estimator == COP_PROMOTION_TEST_IPS ? COP_PROMOTION_TEST_IPS : COP_PROMOTION_TEST_DR;
		cop_promotion_test_settings s = defaults_of((cop_promotion_test_estimator)estimator);
		cop_promotion_test_summary sums;
		s.share = 0.25;
		cop_promotion_test promotion = after_events(s, true, 400);
		double low = cop_running_bound_low(&promotion.below[by], lower_part[estimator] * RISK * 0.25);
		cop_promotion_test_summarise(&promotion, &sums);
		assert_true(sums.low[by] == low && low > 0.1);
		assert_verdict(promotion, low - 1e-3, 0.0, COP_PROMOTION_TEST_BETTER);
		assert_verdict(promotion, low + 1e-3, 0.0, COP_PROMOTION_TEST_OPEN);
		promotion = after_events(s, false, 400);
		double high = -cop_running_bound_low(&promotion.above[by], 0.5 * RISK);
		cop_promotion_test_summarise(&promotion, &sums);
		assert_true(sums.high[by] == high && high < -0.1);
		assert_verdict(promotion, 0.0, -high - 1e-3, COP_PROMOTION_TEST_WORSE);
		assert_verdict(promotion, 0.0, -high + 1e-3, COP_PROMOTION_TEST_OPEN);
	}
}

static void test_verdict_waits_for_the_least_events(void **state)
{
	(void)state;
	cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_DR);
	s.least_events = 400;
	cop_promotion_test promotion = after_events(s, true, 399);
	assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_OPEN);
	promotion = after_events(s, true, 400);
	assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_BETTER);
}

static void test_summary_without_events_and_with_some(void **state)
{
	(void)state;
	const cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_IPS);
	cop_promotion_test promotion = begun_with(&s);
	cop_promotion_test_summary sums;
	cop_promotion_test_summarise(&promotion, &sums);
	for (size_t i = 0; i < COP_PROMOTION_TEST_ESTIMATORS; i++)
		assert_true(sums.value[i] == 0.0 && sums.low[i] == -1.0 && sums.high[i] == 1.0);
	assert_true(isnan(sums.champion_snips) && isnan(sums.challenger_snips) && isnan(sums.mean_loss));
	assert_true(sums.champion_weight == 0.0 && sums.challenger_weight == 0.0);
	assert_true(sums.effective_sample_size == 0.0 && sums.error == 0.0);
	const cop_promotion_test_event e = { .p = 0.5, .loss = 1.0, .champion = 0.25, .challenger = 0.125 };
	assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	promotion.error.total = 2.5;
	cop_promotion_test_summarise(&promotion, &sums);
	assert_true(sums.events == 1 && sums.mean_loss == 1.0 && sums.error == 2.5);
	assert_true(sums.champion_weight == 0.5 && sums.challenger_weight == 0.25);
	assert_true(sums.champion_snips == 1.0 && sums.challenger_snips == 1.0);
	assert_true(sums.effective_sample_size == 1.0 && sums.value[0] == 0.25);
	assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	cop_promotion_test_summarise(&promotion, &sums);
	assert_true(sums.events == 2 && sums.champion_weight == 0.5 && sums.challenger_weight == 0.25);
	assert_true(sums.effective_sample_size == 2.0 && sums.value[0] == 0.25);
}

/* The settings' clip itself is no cut. */
static void test_weights_beyond_the_clip_are_counted(void **state)
{
	(void)state;
	cop_promotion_test_settings s = defaults_of(COP_PROMOTION_TEST_IPS);
	cop_promotion_test_event e = { .p = 0.125, .loss = 1.0, .champion = 1.0, .challenger = 0.0 };
	s.clip = 8.0;
	cop_promotion_test promotion = begun_with(&s);
	assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	assert_int_equal(promotion.clipped, 0);
	e.p = below(0.125);
	assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	assert_int_equal(promotion.clipped, 1);
}

static cop_err load_back(const cop_promotion_test *promotion)
{
	cop_promotion_test read;
	cop_bytes bytes;
	cop_cursor in;
	cop_bytes_init(&bytes);
	cop_promotion_test_save(promotion, &bytes);
	assert_int_equal(bytes.data[0], 1);
	cop_cursor_init(&in, bytes.data, bytes.length);
	cop_err err = cop_promotion_test_load(&read, &in);
	cop_bytes_fini(&bytes);
	return err;
}

static void test_state_is_read_if_events_can_have_led_to_it(void **state)
{
	(void)state;
	cop_promotion_test p = after_events(defaults_of(COP_PROMOTION_TEST_DR), true, 8);
	const double n = 8.0, most = n * SLACK, least = -1e-6 * n;
	const struct {
		cop_sum *sum;
		double least, most;
	} ranges[] = { { &p.wealth[0], -64.0 * n, 64.0 * n }, { &p.wealth[1], -64.0 * n, 64.0 * n },
		{ &p.wealth[2], -64.0 * n, 64.0 * n }, { &p.error, -most, most }, { &p.champion_gap, -most, most },
		{ &p.challenger_gap, -most, most }, { &p.worst, -most, most }, { &p.loss, least, most },
		{ &p.champion, least, 1e15 }, { &p.challenger, least, 1e15 }, { &p.champion_loss, least, 1e15 },
		{ &p.challenger_loss, least, 1e15 }, { &p.challenger_square, least, 1e15 } };
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		cop_sum before = *ranges[i].sum;
		*ranges[i].sum = (cop_sum){ .total = ranges[i].least };
		assert_int_equal(load_back(&p), COP_OK);
		*ranges[i].sum = (cop_sum){ .total = below(ranges[i].least) };
		assert_int_equal(load_back(&p), COP_EFORMAT);
		*ranges[i].sum = (cop_sum){ .total = ranges[i].most };
		assert_int_equal(load_back(&p), COP_OK);
		*ranges[i].sum = (cop_sum){ .total = above(ranges[i].most) };
		assert_int_equal(load_back(&p), ranges[i].most == 1e15 ? COP_OK : COP_EFORMAT);
		*ranges[i].sum = before;
	}
	uint64_t *const counts[] = { &p.models, &p.clipped };
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal((*counts[i] = 8, load_back(&p)), COP_OK);
		assert_int_equal((*counts[i] = 9, load_back(&p)), COP_EFORMAT);
		*counts[i] = 0;
	}
	cop_running_bound *const bounds[] = { &p.below[0], &p.below[1], &p.above[0], &p.above[1] };
	for (size_t i = 0; i < 4; i++) {
		cop_running_bound before = *bounds[i];
		cop_running_bound_add(bounds[i], 0.0, -1.0);
		assert_int_equal(load_back(&p), COP_EFORMAT);
		*bounds[i] = before;
	}
	assert_int_equal(load_back(&p), COP_OK);
}

static void test_settings_come_back_from_a_state(void **state)
{
	(void)state;
	const cop_promotion_test_settings s = { COP_PROMOTION_TEST_ERROR, 0.125, 0.25, 0.0625, 3.0, 50.0, 77, 0.5,
		0.375, 2.0 };
	cop_promotion_test promotion = begun_with(&s), read;
	cop_bytes bytes;
	cop_cursor in;
	cop_bytes_init(&bytes);
	cop_promotion_test_save(&promotion, &bytes);
	cop_cursor_init(&in, bytes.data, bytes.length);
	assert_int_equal(cop_promotion_test_load(&read, &in), COP_OK);
	cop_bytes_fini(&bytes);
	const cop_promotion_test_settings *r = &read.settings;
	assert_true(r->estimator == s.estimator && r->margin == s.margin && r->worse_margin == s.worse_margin);
	assert_true(r->risk == s.risk && r->difference_most == s.difference_most && r->clip == s.clip);
	assert_true(r->least_events == s.least_events && r->share == s.share);
	assert_true(r->stake == s.stake && r->carried == s.carried);
}

static void test_state_of_settings_that_cannot_be_is_refused(void **state)
{
	(void)state;
	cop_promotion_test p = after_events(defaults_of(COP_PROMOTION_TEST_ERROR), true, 8);
	assert_int_equal(load_back(&p), COP_OK);
	p.settings.risk = 1.0;
	assert_int_equal(load_back(&p), COP_EFORMAT);
	p.settings.risk = RISK;
	p.settings.estimator = (cop_promotion_test_estimator)3;
	assert_int_equal(load_back(&p), COP_EFORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings_are_allowed_up_to_their_ends),
		cmocka_unit_test(test_events_are_allowed_up_to_their_ends),
		cmocka_unit_test(test_weights_are_allowed_up_to_what_was_given_and_up_to_1e12),
		cmocka_unit_test(test_what_an_event_does_not_have_is_not_looked_at),
		cmocka_unit_test(test_tolerance_is_a_part_of_the_variance_where_the_mean_loss_is_small),
		cmocka_unit_test(test_bets_are_of_what_lies_beyond_the_tolerance_within_the_losses),
		cmocka_unit_test(test_weights_that_are_known_to_be_small_have_terms_of_their_own),
		cmocka_unit_test(test_predictions_that_are_worse_end_it_at_the_odds_of_the_risk),
		cmocka_unit_test(test_predictions_that_are_better_win_at_the_odds_where_the_policy_is_safe),
		cmocka_unit_test(test_policy_is_safe_too_when_its_bound_says_so),
		cmocka_unit_test(test_wealth_wins_with_its_stake_and_what_was_carried),
		cmocka_unit_test(test_wealth_counts_up_to_its_limit),
		cmocka_unit_test(test_interval_has_its_share_of_the_risk_and_decides_at_the_margins),
		cmocka_unit_test(test_verdict_waits_for_the_least_events),
		cmocka_unit_test(test_summary_without_events_and_with_some),
		cmocka_unit_test(test_weights_beyond_the_clip_are_counted),
		cmocka_unit_test(test_state_is_read_if_events_can_have_led_to_it),
		cmocka_unit_test(test_settings_come_back_from_a_state),
		cmocka_unit_test(test_state_of_settings_that_cannot_be_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
