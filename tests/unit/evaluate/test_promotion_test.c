/* Verdicts under looks after every event: how often a challenger that is not better gets through, how soon a better one
 * does; and that every term means what the header says. With the argument "table", prints how soon challengers take
 * over by predictions in scenes of docs/evidence/intervals.md ("table RUNS": of fewer runs). */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "evaluate/promotion_test.h"

#define CONTEXTS 8
#define ARMS     5

/* Champion plays arm 0 always; the challenger arm 1 in three of four contexts. Losses are 0 or 1. */
typedef struct world {
	double mu[CONTEXTS][ARMS], q[CONTEXTS][ARMS];
	double epsilon; /* of logging, around the champion; 1: uniform */
	double gain;
	bool most_known;
} world;

static void make_world(world *w, double epsilon, double gain, bool most_known)
{
	*w = (world){ .epsilon = epsilon, .gain = gain, .most_known = most_known };
	for (size_t x = 0; x < CONTEXTS; x++)
		for (size_t k = 0; k < ARMS; k++) {
			w->mu[x][k] = 0.45 + 0.02 * (double)x;
			if (k == 1 && x % 4 != 0)
				w->mu[x][k] -= gain * 4.0 / 3.0;
			if (k > 1)
				w->mu[x][k] = 0.7;
			w->q[x][k] = 0.3 + 0.4 * w->mu[x][k] + (k == 0 ? 0.05 : 0.0); /* a poor model */
		}
}

/* *context and *arm: which ones it is of. */
static cop_promotion_test_event draw_at(const world *w, cop_rng *rng, size_t *context, size_t *arm)
{
	size_t x = (size_t)cop_rng_below(rng, CONTEXTS), k = 0, challenger = x % 4 != 0 ? 1 : 0;
	if (cop_rng_unit(rng) < w->epsilon)
		k = (size_t)cop_rng_below(rng, ARMS);
	double least = w->epsilon / ARMS;
	*context = x;
	*arm = k;
	return (cop_promotion_test_event){ .p = k == 0 ? 1.0 - w->epsilon + least : least,
		.loss = cop_rng_unit(rng) < w->mu[x][k] ? 1.0 : 0.0,
		.champion = k == 0 ? 1.0 : 0.0,
		.challenger = k == challenger ? 1.0 : 0.0,
		.weight_most = w->most_known ? 1.0 / least : 0.0,
		.has_model = true,
		.model_logged = w->q[x][k],
		.model_champion = w->q[x][0],
		.model_challenger = w->q[x][challenger] };
}

static cop_promotion_test_event draw(const world *w, cop_rng *rng)
{
	size_t context, arm;
	return draw_at(w, rng, &context, &arm);
}

static cop_promotion_test begun(cop_promotion_test_estimator estimator, double margin)
{
	cop_promotion_test_settings settings;
	cop_promotion_test promotion;
	cop_promotion_test_defaults(&settings);
	settings.estimator = estimator;
	settings.margin = margin;
	settings.worse_margin = margin;
	assert_int_equal(cop_promotion_test_init(&promotion, &settings), COP_OK);
	return promotion;
}

/* Events until the first verdict, looked for after every one; 0: open at the end. */
static size_t first_verdict(const world *w, cop_promotion_test *promotion, uint64_t seed, size_t events,
        cop_promotion_test_verdict *verdict)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	for (size_t i = 1; i <= events; i++) {
		cop_promotion_test_event e = draw(w, &rng);
		assert_int_equal(cop_promotion_test_add(promotion, &e), COP_OK);
		*verdict = cop_promotion_test_judge(promotion);
		if (*verdict != COP_PROMOTION_TEST_OPEN)
			return i;
	}
	return 0;
}

typedef struct scene {
	cop_promotion_test_estimator estimator;
	double epsilon;
	bool most_known;
} scene;

static const scene scenes[] = { { COP_PROMOTION_TEST_IPS, 0.1, true }, { COP_PROMOTION_TEST_IPS, 1.0, true },
	{ COP_PROMOTION_TEST_DR, 0.1, true }, { COP_PROMOTION_TEST_DR, 1.0, true },
	{ COP_PROMOTION_TEST_DR, 0.1, false } };
#define SCENES (sizeof scenes / sizeof *scenes)

/* Under sanitizers fewer runs, for their memory errors; the rates are judged without. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define RUNS 50
#else
#define RUNS 1000
#endif

/* How many of the runs get `verdict` at some time. */
static unsigned count_verdicts(const scene *s, double gain, double margin, cop_promotion_test_verdict verdict)
{
	unsigned count = 0;
	world w;
	make_world(&w, s->epsilon, gain, s->most_known);
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		cop_promotion_test promotion = begun(s->estimator, margin);
		cop_promotion_test_verdict got = COP_PROMOTION_TEST_OPEN;
		(void)first_verdict(&w, &promotion, seed, 1500, &got);
		count += got == verdict;
	}
	return count;
}

static void test_challenger_worse_by_the_margin_is_not_promoted(void **state)
{
	(void)state;
	for (size_t i = 0; i < SCENES; i++) {
		unsigned promoted = count_verdicts(&scenes[i], -0.02, 0.02, COP_PROMOTION_TEST_BETTER);
		print_message("scene %zu: %u of %d promoted\n", i, promoted, RUNS);
		assert_true(promoted <= 70); /* 5 % and three standard deviations; each end has half of it */
	}
}

/* As hard as it gets: no better than the margin, no worse than its negative. */
static void test_verdicts_at_the_margins_keep_the_error_rate(void **state)
{
	(void)state;
	for (size_t i = 0; i < SCENES; i++) {
		unsigned better = count_verdicts(&scenes[i], 0.02, 0.02, COP_PROMOTION_TEST_BETTER);
		unsigned worse = count_verdicts(&scenes[i], -0.02, 0.02, COP_PROMOTION_TEST_WORSE);
		print_message("scene %zu: %u better, %u worse of %d\n", i, better, worse, RUNS);
		assert_true(better <= 40 && worse <= 40); /* 2.5 % and three standard deviations */
	}
}

static void check_power(double gain, cop_promotion_test_verdict want)
{
	for (size_t i = 0; i < SCENES; i++) {
		size_t sum = 0;
		world w;
		make_world(&w, scenes[i].epsilon, gain, scenes[i].most_known);
		for (uint64_t seed = 1; seed <= 20; seed++) {
			cop_promotion_test promotion = begun(scenes[i].estimator, 0.02);
			cop_promotion_test_verdict got = COP_PROMOTION_TEST_OPEN;
			size_t events = first_verdict(&w, &promotion, seed, 40000, &got);
			assert_int_equal(got, want);
			sum += events;
		}
		print_message("scene %zu, gain %g: verdict after %zu events on average\n", i, gain, sum / 20);
		assert_true(sum / 20 < (scenes[i].epsilon < 1.0 ? 14000 : 3000));
	}
}

static void test_challenger_better_by_much_is_promoted_soon(void **state)
{
	(void)state;
	check_power(0.2, COP_PROMOTION_TEST_BETTER);
}

static void test_challenger_worse_by_much_is_found_soon(void **state)
{
	(void)state;
	check_power(-0.2, COP_PROMOTION_TEST_WORSE);
}

/* Exact means of every kind of term, over the action and its loss. */
static void add_all(const world *w, size_t x, const cop_promotion_test *empty, double lows[2], double highs[2])
{
	size_t challenger = x % 4 != 0 ? 1 : 0;
	double least = w->epsilon / ARMS;
	for (size_t k = 0; k < ARMS; k++)
		for (int lost = 0; lost < 2; lost++) {
			double p = k == 0 ? 1.0 - w->epsilon + least : least;
			double chance = p * (lost ? w->mu[x][k] : 1.0 - w->mu[x][k]);
			cop_promotion_test_event e = { .p = p,
				.loss = lost,
				.champion = k == 0,
				.challenger = k == challenger,
				.weight_most = w->most_known ? 1.0 / least : 0.0,
				.has_model = true,
				.model_logged = w->q[x][k],
				.model_champion = w->q[x][0],
				.model_challenger = w->q[x][challenger] };
			cop_promotion_test one = *empty;
			assert_int_equal(cop_promotion_test_add(&one, &e), COP_OK);
			for (size_t i = 0; i < 2; i++) {
				lows[i] += chance * cop_running_bound_mean(&one.below[i]);
				highs[i] -= chance * cop_running_bound_mean(&one.above[i]);
			}
		}
}

static void test_terms_have_the_gain_as_mean_and_clipped_ones_lie_outside(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++)
		for (int clipped = 0; clipped < 2; clipped++) {
			world w;
			make_world(&w, 0.1, 0.1, known);
			cop_promotion_test empty = begun(COP_PROMOTION_TEST_DR, 0.0);
			if (clipped) {
				empty.settings.difference_most = 5.0;
				empty.settings.clip = 20.0; /* of weights up to 50 */
			}
			cop_promotion_test_settings settings = empty.settings;
			assert_int_equal(cop_promotion_test_init(&empty, &settings), COP_OK);
			for (size_t x = 0; x < CONTEXTS; x++) {
				double lows[2] = { 0 }, highs[2] = { 0 };
				double gain = w.mu[x][0] - w.mu[x][x % 4 != 0 ? 1 : 0];
				add_all(&w, x, &empty, lows, highs);
				for (size_t i = 0; i < 2; i++) {
					bool heavy = clipped && x % 4 != 0;
					assert_true(lows[i] <= gain + 1e-9 && (lows[i] < gain - 0.1) == heavy);
					assert_true(highs[i] >= gain - 1e-9 && (highs[i] > gain + 0.1) == heavy);
				}
			}
		}
}

static void test_summary_of_three_events_equals_sums_by_hand(void **state)
{
	(void)state;
	cop_promotion_test promotion = begun(COP_PROMOTION_TEST_DR, 0.0);
	cop_promotion_test_summary s;
	cop_promotion_test_summarise(&promotion, &s);
	assert_true(s.events == 0 && isnan(s.champion_snips) && isnan(s.mean_loss) && s.value[0] == 0.0);
	assert_true(s.low[1] == -1.0 && s.high[0] == 1.0 && s.verdict == COP_PROMOTION_TEST_OPEN);
	const cop_promotion_test_event events[] = {
		{ .p = 0.5, .loss = 1.0, .champion = 0.5, .challenger = 0.25 },
		{ .p = 0.25, .loss = 0.5, .champion = 0.5, .challenger = 1.0 },
		{ .p = 0.005,
		        .loss = 0.0,
		        .challenger = 1.0,
		        .has_model = true,
		        .model_logged = 0.25,
		        .model_champion = 0.5,
		        .model_challenger = 0.125 },
	};
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(cop_promotion_test_add(&promotion, &events[i]), COP_OK);
	cop_promotion_test_summarise(&promotion, &s);
	assert_true(s.events == 3 && s.models == 1 && s.clipped == 1);
	assert_true(fabs(s.value[COP_PROMOTION_TEST_IPS] - (0.5 * 1.0 - 2.0 * 0.5) / 3.0) < 1e-12);
	/* baselines: 0.5 before the first event, 1 before the second */
	double dr = 0.5 * 0.5 + -2.0 * -0.5 + (0.375 - 200.0 * -0.25);
	assert_true(fabs(s.value[COP_PROMOTION_TEST_DR] - dr / 3.0) < 1e-12);
	assert_true(fabs(s.champion_snips - 2.0 / 3.0) < 1e-12 && fabs(s.challenger_snips - 2.5 / 204.5) < 1e-12);
	assert_true(fabs(s.mean_loss - 0.5) < 1e-12 && fabs(s.champion_weight - 1.0) < 1e-12);
	assert_true(fabs(s.effective_sample_size - 204.5 * 204.5 / 40016.25) < 1e-9);
}

/* What promotion_test.h says of each sum, anew and plainly: in steps of one event. */
typedef struct plain_sums {
	cop_running_bound below[2], above[2];
	double n, loss, worst, champion_gap, challenger_gap, error, wealth[3];
} plain_sums;

static void add_plain_bounds(plain_sums *s, const cop_promotion_test_event *e, double q, double difference)
{
	const double slack = 1.0 + 1e-6, l = e->loss, c = e->champion / e->p, n = e->challenger / e->p;
	if (e->weight_most > 0.0 && e->weight_most <= 3.0) {
		double dr = (c - n) * (l - q) - difference;
		cop_running_bound_add(&s->below[0], (n - c) * (1.0 - l), -slack * e->weight_most);
		cop_running_bound_add(&s->above[0], (n - c) * l, -slack * e->weight_most);
		cop_running_bound_add(&s->below[1], dr, -slack * (1.0 + e->weight_most));
		cop_running_bound_add(&s->above[1], -dr, -slack * (1.0 + e->weight_most));
		return;
	}
	double cut_c = fmin(c, 4.0), cut_n = fmin(n, 4.0);
	for (size_t i = 0; i < 2; i++) {
		cop_running_bound_add(&s->below[i], cut_c * l + cut_n * (1.0 - l) - 1.0, -1.0);
		cop_running_bound_add(&s->above[i], cut_n * l + cut_c * (1.0 - l) - 1.0, -1.0);
	}
}

static void add_plain_bets(plain_sums *s, const cop_promotion_test_event *e, double variance)
{
	static const double boldness[] = { 0.75, 1.5, 3.0 };
	double slack = fmin(0.2 * variance, 0.04);
	double c = fmin(fmax(e->said_champion + s->champion_gap / (s->n + 100.0), 0.0), 1.0);
	double d = fmin(fmax(e->said_challenger + s->challenger_gap / (s->n + 100.0), 0.0), 1.0);
	double b = d > c ? c + slack : c - slack;
	bool beyond = d > c ? d > b : d < b;
	for (size_t i = 0; beyond && i < 3; i++) {
		double stake = boldness[i] * (d - b) / variance;
		double least = -0.9 / (1.0 - b), most = 0.9 / b;
		s->wealth[i] += log(1.0 + fmin(fmax(stake, least), most) * (e->loss - b));
	}
	s->champion_gap += e->loss - e->said_champion;
	s->challenger_gap += e->loss - e->said_challenger;
	s->error += pow(e->said_champion - e->loss, 2.0) - pow(e->said_challenger - e->loss, 2.0);
}

static void add_plain(plain_sums *s, const cop_promotion_test_event *e)
{
	double mean = s->n > 0.0 ? s->loss / s->n : 0.5;
	double prior = (s->loss + 5.0) / (s->n + 10.0), variance = prior * (1.0 - prior);
	double difference = e->has_model ? e->model_challenger - e->model_champion : 0.0;
	add_plain_bounds(s, e, e->has_model ? e->model_logged : mean, difference);
	double predicted = (e->has_model ? difference : 1.0) + 2.0 * fmin(0.2 * variance, 0.04) * e->difference;
	s->worst += e->has_difference ? fmin(e->difference, predicted) : 1.0;
	if (e->has_said)
		add_plain_bets(s, e, variance);
	s->loss += e->loss;
	s->n += 1.0;
}

/* Of every kind: with and without what a model predicts and policies say; weights known to be small, large or not. */
static cop_promotion_test_event draw_any(cop_rng *rng)
{
	static const double most[] = { 0.0, 2.0, 3.0, 5.0 };
	cop_promotion_test_event e = { .p = 0.125 + 0.875 * cop_rng_unit(rng), .loss = cop_rng_unit(rng) };
	e.weight_most = most[cop_rng_below(rng, 4)];
	double largest = e.weight_most > 0.0 ? fmin(1.0, e.weight_most * e.p) : 1.0;
	e.champion = largest * cop_rng_unit(rng);
	e.challenger = largest * cop_rng_unit(rng);
	e.has_model = cop_rng_below(rng, 2) == 0;
	e.model_logged = cop_rng_unit(rng);
	e.model_champion = cop_rng_unit(rng);
	e.model_challenger = cop_rng_unit(rng);
	e.has_said = cop_rng_below(rng, 4) > 0;
	e.said_champion = cop_rng_unit(rng);
	e.said_challenger = 0.5 * (e.said_champion + cop_rng_unit(rng));
	if (cop_rng_below(rng, 4) == 0) { /* near the ends, where stakes are cut */
		e.said_champion = 0.02;
		e.said_challenger = cop_rng_below(rng, 2) == 0 ? 0.9 : 0.0;
	}
	e.has_difference = cop_rng_below(rng, 2) == 0;
	e.difference = cop_rng_unit(rng);
	return e;
}

static void assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-10 * (1.0 + fabs(want))))
		fail_msg("%.17g, expected %.17g", got, want);
}

static void test_sums_of_any_events_equal_the_plain_definition(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		cop_promotion_test_settings settings;
		cop_promotion_test promotion;
		plain_sums plain = { 0 };
		cop_rng rng;
		cop_rng_init(&rng, seed, 0);
		cop_promotion_test_defaults(&settings);
		settings.difference_most = 3.0;
		settings.clip = 4.0;
		settings.carried = 0.5;
		settings.stake = seed % 2 == 0 ? 0.25 : 0.0;
		settings.share = 0.75;
		assert_int_equal(cop_promotion_test_init(&promotion, &settings), COP_OK);
		for (size_t i = 0; i < 2; i++) {
			cop_running_bound_init(&plain.below[i], -1.0, 1.0);
			cop_running_bound_init(&plain.above[i], -1.0, 1.0);
		}
		for (size_t i = 0; i < 60; i++) {
			cop_promotion_test_event e = draw_any(&rng);
			assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
			add_plain(&plain, &e);
		}
		for (size_t i = 0; i < 2; i++) {
			assert_true(plain.below[i].n == 60 && cop_running_bound_low(&plain.below[i], 0.05) > -1.0);
			assert_near(cop_running_bound_low(&promotion.below[i], 0.05),
			        cop_running_bound_low(&plain.below[i], 0.05));
			assert_near(cop_running_bound_low(&promotion.above[i], 0.05),
			        cop_running_bound_low(&plain.above[i], 0.05));
		}
		double won = 0.0;
		for (size_t i = 0; i < 3; i++) {
			assert_near(cop_sum_value(&promotion.wealth[i]), plain.wealth[i]);
			won += exp(plain.wealth[i]) / 3.0;
		}
		assert_near(cop_promotion_test_winnings(&promotion), 0.5 + (seed % 2 == 0 ? 0.25 : 0.75) * won);
		assert_near(cop_sum_value(&promotion.worst), plain.worst);
		assert_near(cop_sum_value(&promotion.error), plain.error);
		assert_near(cop_sum_value(&promotion.champion_gap), plain.champion_gap);
		assert_near(cop_sum_value(&promotion.challenger_gap), plain.challenger_gap);
	}
}

static void refuse(cop_promotion_test_event e, cop_err want)
{
	cop_promotion_test promotion = begun(COP_PROMOTION_TEST_IPS, 0.0), before = promotion;
	assert_int_equal(cop_promotion_test_add(&promotion, &e), want);
	assert_memory_equal(&promotion, &before, sizeof before);
}

static void test_bad_events_and_settings_are_refused(void **state)
{
	(void)state;
	const cop_promotion_test_event good = { .p = 0.5, .loss = 0.5, .champion = 0.5, .challenger = 0.5 };
	cop_promotion_test_event e = good;
	refuse((e.p = 0.0, e), COP_EINVAL);
	refuse((e.p = 1.5, e), COP_EINVAL);
	refuse((e.p = 1e-300, e), COP_EINVAL);
	refuse((e.p = (double)NAN, e), COP_ENONFINITE);
	e = good;
	refuse((e.loss = 1.5, e), COP_EINVAL);
	refuse((e.loss = (double)INFINITY, e), COP_ENONFINITE);
	e = good;
	refuse((e.champion = -0.5, e), COP_EINVAL);
	e = good;
	refuse((e.challenger = 1.5, e), COP_EINVAL);
	e = good;
	refuse((e.weight_most = 0.5, e), COP_EINVAL); /* the weight is 1 */
	e = good;
	e.has_model = true;
	refuse((e.model_logged = 2.0, e), COP_EINVAL);
	refuse((e.model_logged = (double)NAN, e), COP_ENONFINITE);
	cop_promotion_test_settings s;
	cop_promotion_test promotion;
	cop_promotion_test_defaults(&s);
	assert_int_equal((s.risk = 0.0, cop_promotion_test_init(&promotion, &s)), COP_EINVAL);
	assert_int_equal((s.risk = (double)NAN, cop_promotion_test_init(&promotion, &s)), COP_ENONFINITE);
	cop_promotion_test_defaults(&s);
	s.difference_most = 20.0;
	assert_int_equal(
	        (s.clip = 10.0, cop_promotion_test_init(&promotion, &s)), COP_EINVAL); /* below difference_most */
	cop_promotion_test_defaults(&s);
	assert_int_equal((s.margin = -0.1, cop_promotion_test_init(&promotion, &s)), COP_EINVAL);
}

static void test_saved_and_loaded_goes_on_as_before(void **state)
{
	(void)state;
	world w;
	cop_rng rng;
	cop_bytes bytes;
	cop_cursor in;
	make_world(&w, 0.1, 0.2, true);
	cop_rng_init(&rng, 7, 0);
	cop_promotion_test promotion = begun(COP_PROMOTION_TEST_IPS, 0.01), read,
	                   untouched = begun(COP_PROMOTION_TEST_DR, 0.0);
	for (int i = 0; i < 500; i++) {
		cop_promotion_test_event e = draw(&w, &rng);
		assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	}
	cop_bytes_init(&bytes);
	cop_promotion_test_save(&promotion, &bytes);
	for (size_t cut = 0; cut < bytes.length; cut++) {
		read = untouched;
		cop_cursor_init(&in, bytes.data, cut);
		assert_int_equal(cop_promotion_test_load(&read, &in), COP_EFORMAT);
		assert_memory_equal(&read, &untouched, sizeof read);
	}
	for (size_t i = 0; i < bytes.length; i++) /* any byte changed: an error, or a state that can go on */
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes.data[i] ^= (uint8_t)(1u << bit);
			cop_cursor_init(&in, bytes.data, bytes.length);
			if (cop_promotion_test_load(&read, &in) == COP_OK) {
				cop_promotion_test_event e = draw(&w, &rng);
				cop_promotion_test_summary s;
				assert_int_equal(cop_promotion_test_add(&read, &e), COP_OK);
				cop_promotion_test_summarise(&read, &s);
			}
			bytes.data[i] ^= (uint8_t)(1u << bit);
		}
	cop_cursor_init(&in, bytes.data, bytes.length);
	assert_int_equal(cop_promotion_test_load(&read, &in), COP_OK);
	assert_int_equal(cop_cursor_left(&in), 0);
	cop_promotion_test_event e = draw(&w, &rng);
	assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
	assert_int_equal(cop_promotion_test_add(&read, &e), COP_OK);
	cop_bytes more[2];
	for (size_t i = 0; i < 2; i++) {
		cop_bytes_init(&more[i]);
		cop_promotion_test_save(i == 0 ? &promotion : &read, &more[i]);
		assert_true(more[i].err == COP_OK && more[i].length == bytes.length);
	}
	assert_memory_equal(more[0].data, more[1].data, bytes.length); /* bitwise the same from here on */
	cop_bytes_fini(&more[0]);
	cop_bytes_fini(&more[1]);
	bytes.data[0] = 5;
	cop_cursor_init(&in, bytes.data, bytes.length);
	assert_int_equal(cop_promotion_test_load(&read, &in), COP_EVERSION);
	cop_bytes_fini(&bytes);
}

/* After a promotion the new policy logs; the old one is better by 0.2. */
static void test_roles_turned_roll_a_bad_promotion_back(void **state)
{
	(void)state;
	world w;
	cop_promotion_test_verdict got = COP_PROMOTION_TEST_OPEN;
	make_world(&w, 0.1, 0.2, true); /* arm 0 is the promoted policy's, arm 1 the old one's */
	cop_promotion_test promotion = begun(COP_PROMOTION_TEST_DR, 0.02);
	assert_true(first_verdict(&w, &promotion, 3, 20000, &got) > 0);
	assert_int_equal(got, COP_PROMOTION_TEST_BETTER);
}

/* Losses are 1 with chance mu, which differs from event to event; one learner says mu but for a bit of noise, the other
 * one with more of it. Which one is the challenger: `gain` is by how much lower its squared error is, on average. */
static cop_promotion_test_event say(cop_rng *rng, double noise, bool challenger_is_noisy)
{
	double mu = 0.2 + 0.6 * cop_rng_unit(rng), off = cop_rng_unit(rng) < 0.5 ? noise : -noise;
	double exact = mu, noisy = mu + off;
	return (cop_promotion_test_event){ .p = 1.0,
		.loss = cop_rng_unit(rng) < mu ? 1.0 : 0.0,
		.champion = 1.0,
		.challenger = 1.0,
		.has_said = true,
		.said_champion = challenger_is_noisy ? exact : noisy,
		.said_challenger = challenger_is_noisy ? noisy : exact };
}

static unsigned count_by_error(
        double noise, bool challenger_is_noisy, cop_promotion_test_verdict verdict, size_t events)
{
	unsigned count = 0;
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		cop_promotion_test promotion = begun(COP_PROMOTION_TEST_ERROR, 0.0);
		cop_promotion_test_verdict got = COP_PROMOTION_TEST_OPEN;
		cop_rng rng;
		cop_rng_init(&rng, seed, 5);
		for (size_t i = 0; i < events && got == COP_PROMOTION_TEST_OPEN; i++) {
			const cop_promotion_test_event e = say(&rng, noise, challenger_is_noisy);
			assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
			got = cop_promotion_test_judge(&promotion);
		}
		count += got == verdict;
	}
	return count;
}

/* The champion says the truth, so odds for the challenger are a fair game's winnings at most. */
static void test_worse_predictor_is_not_promoted_beyond_the_risk(void **state)
{
	(void)state;
	static const double noises[] = { 0.2, 0.1, 0.05, 0.02 };
	for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
		unsigned promoted = count_by_error(noises[i], true, COP_PROMOTION_TEST_BETTER, 5000);
		print_message("noise %g: %u of %d promoted\n", noises[i], promoted, RUNS);
		assert_true(promoted <= 70); /* 5 % and three standard deviations */
	}
}

static void test_better_predictor_is_promoted_soon(void **state)
{
	(void)state;
	unsigned promoted = count_by_error(0.2, false, COP_PROMOTION_TEST_BETTER, 500);
	print_message("%u of %d promoted\n", promoted, RUNS);
	assert_true(promoted >= RUNS * 9 / 10);
}

static void test_policy_that_is_worse_is_not_promoted_for_what_it_says(void **state)
{
	(void)state;
	world w;
	cop_rng rng;
	cop_promotion_test_verdict got = COP_PROMOTION_TEST_OPEN;
	make_world(&w, 1.0, -0.2, true);
	cop_promotion_test promotion = begun(COP_PROMOTION_TEST_ERROR, 0.0);
	promotion.settings.least_events = 5000;
	cop_rng_init(&rng, 1, 0);
	for (size_t i = 0; i < 5000; i++) {
		cop_promotion_test_event e = draw(&w, &rng);
		e.has_said = true;
		e.said_champion = 1.0 - e.loss;
		e.said_challenger = e.loss;
		assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
		got = cop_promotion_test_judge(&promotion);
	}
	assert_int_equal(got, COP_PROMOTION_TEST_WORSE);
}

/* A world in which both learners predict the played arm's loss as well: the challenger's prediction is the truth, the
 * champion's is off by `bias` always, or (`turns`) up here and down there, or its policy's arm alone. */
typedef struct predicted_scene {
	double epsilon, gain, bias;
	bool turns;
} predicted_scene;

/* Events until the challenger takes over, looked for after every one; 0: it does not. */
static size_t taken_over(const predicted_scene *s, uint64_t seed, size_t events)
{
	world w;
	cop_rng rng;
	make_world(&w, s->epsilon, s->gain, true);
	cop_rng_init(&rng, seed, 6);
	cop_promotion_test promotion = begun(COP_PROMOTION_TEST_ERROR, 0.0);
	for (size_t i = 1; i <= events; i++) {
		size_t x, k;
		cop_promotion_test_event e = draw_at(&w, &rng, &x, &k);
		e.has_said = true;
		e.said_champion = w.mu[x][k] + (s->turns && x % 2 == 0 ? -s->bias : s->bias);
		e.said_challenger = w.mu[x][k];
		assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
		cop_promotion_test_verdict got = cop_promotion_test_judge(&promotion);
		if (got != COP_PROMOTION_TEST_OPEN)
			return got == COP_PROMOTION_TEST_BETTER ? i : 0;
	}
	return 0;
}

static int by_size(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	return (x > y) - (x < y);
}

/* How many of the runs end with a takeover; *middle: the events that it takes in half of those, 0 without any. */
static unsigned count_takeovers(const predicted_scene *s, size_t runs, size_t events, size_t *middle)
{
	size_t count = 0, after[RUNS] = { 0 };
	for (uint64_t seed = 1; seed <= runs; seed++) {
		size_t is = taken_over(s, seed, events);
		if (is > 0)
			after[count++] = is;
	}
	qsort(after, count, sizeof *after, by_size);
	*middle = count > 0 ? after[count / 2] : 0;
	return (unsigned)count;
}

static void test_worse_policy_does_not_take_over_beside_a_biased_champion(void **state)
{
	(void)state;
	static const predicted_scene biased[] = { { 0.1, -0.01, 0.0, false }, { 0.1, -0.01, 0.04, false },
		{ 0.1, -0.01, 0.04, true }, { 1.0, -0.01, 0.04, false }, { 1.0, -0.01, 0.04, true },
		{ 1.0, -0.01, -0.04, false } };
	for (size_t i = 0; i < sizeof biased / sizeof *biased; i++) {
		size_t middle;
		unsigned count = count_takeovers(&biased[i], RUNS, 1500, &middle);
		print_message("champion off by %g%s: %u of %d taken over\n", biased[i].bias,
		        biased[i].turns ? ", up and down" : "", count, RUNS);
		assert_true(count <= RUNS / 20);
	}
}

/* One after the other, none of which predicts better than the champion, each with its share. */
static void test_challengers_together_keep_the_risk(void **state)
{
	(void)state;
	unsigned wrong = 0;
	for (uint64_t seed = 1; seed <= RUNS / 2; seed++) {
		cop_promotion_test_verdict got = COP_PROMOTION_TEST_OPEN;
		cop_rng rng;
		cop_rng_init(&rng, seed, 7);
		for (unsigned k = 1; k <= 20 && got != COP_PROMOTION_TEST_BETTER; k++) {
			cop_promotion_test promotion = begun(COP_PROMOTION_TEST_ERROR, 0.0);
			promotion.settings.share = 2.0 / ((k + 1.0) * (k + 2.0));
			for (size_t i = 0; i < 500 && got != COP_PROMOTION_TEST_BETTER; i++) {
				const cop_promotion_test_event e = say(&rng, 0.15, true);
				assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
				got = cop_promotion_test_judge(&promotion);
			}
		}
		wrong += got == COP_PROMOTION_TEST_BETTER;
	}
	print_message("%u of %d champions displaced\n", wrong, RUNS / 2);
	assert_true(wrong <= RUNS / 40);
}

/* The champion says `bias` less than the truth of the arm of loss 1/2 that it plays, always; challengers, one after the
 * other, know it. Whether one of them takes over. */
static bool displaced(double bias, uint64_t seed, unsigned challengers, size_t events)
{
	double carried = 0.0;
	cop_rng rng;
	cop_rng_init(&rng, seed, 8);
	for (unsigned k = 1; k <= challengers; k++) {
		cop_promotion_test promotion = begun(COP_PROMOTION_TEST_ERROR, 0.0);
		promotion.settings.share = 2.0 / ((k + 1.0) * (k + 2.0));
		promotion.settings.stake = 1.0 / (k * (k + 1.0));
		promotion.settings.carried = carried;
		for (size_t i = 0; i < events; i++) {
			double off = cop_rng_unit(&rng) < 0.5 ? bias : -bias;
			const cop_promotion_test_event e = { .p = 1.0,
				.loss = cop_rng_unit(&rng) < 0.5 ? 1.0 : 0.0,
				.champion = 1.0,
				.challenger = 1.0,
				.has_said = true,
				.said_champion = 0.5 + off,
				.said_challenger = k % 2 == 0 ? 0.5 : 0.5 - off };
			assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
			if (cop_promotion_test_judge(&promotion) == COP_PROMOTION_TEST_BETTER) {
				assert_true(cop_promotion_test_is_won(&promotion));
				return true;
			}
		}
		carried = cop_promotion_test_winnings(&promotion);
	}
	return false;
}

/* Stakes of one champion's challengers sum to 1, and what they win is kept: still no more than the risk of all, and one
 * that is far off goes, though each of them is there for little time. */
static void test_rivals_of_one_champion_divide_its_risk(void **state)
{
	(void)state;
	unsigned within = 0, beyond = 0;
	for (uint64_t seed = 1; seed <= RUNS / 2; seed++)
		within += displaced(0.04, seed, 20, 500);
	for (uint64_t seed = 1; seed <= 20; seed++)
		beyond += displaced(0.15, seed, 20, 500);
	print_message("%u of %d displaced within the tolerance, %u of 20 beyond\n", within, RUNS / 2, beyond);
	assert_true(within <= RUNS / 40 && beyond == 20);
}

/* Winnings of earlier ones are not enough for one that has won nothing itself. */
static void test_winnings_carried_do_not_promote_who_wins_nothing(void **state)
{
	(void)state;
	cop_promotion_test promotion = begun(COP_PROMOTION_TEST_ERROR, 0.0);
	promotion.settings.carried = 1e6;
	promotion.settings.stake = 0.1;
	for (size_t i = 0; i < 500; i++) {
		const cop_promotion_test_event e = { .p = 1.0,
			.loss = i % 2 == 0 ? 0.0 : 1.0,
			.champion = 1.0,
			.challenger = 1.0,
			.has_said = true,
			.said_champion = 0.5,
			.said_challenger = 0.5 };
		assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
		assert_int_equal(cop_promotion_test_judge(&promotion), COP_PROMOTION_TEST_OPEN);
	}
	assert_true(cop_promotion_test_winnings(&promotion) > 1e6 && !cop_promotion_test_is_won(&promotion));
}

/* Two arms of loss 1/2, of which the champion plays the second one seldom, and the challenger more often by `distance`.
 * By the champion's model that costs `costs`; what it said of the played arm is off by 0.04, up and down. */
typedef struct near_scene {
	bool known;
	double distance, costs;
	bool promoted;
} near_scene;

static cop_promotion_test_event draw_near(const near_scene *s, cop_rng *rng, double off)
{
	const double seldom = 0.02;
	bool second = cop_rng_unit(rng) < seldom;
	double p = second ? seldom : 1.0 - seldom, of_second = 0.5 + s->costs / s->distance;
	return (cop_promotion_test_event){ .p = p,
		.loss = cop_rng_unit(rng) < 0.5 ? 1.0 : 0.0,
		.champion = p,
		.challenger = second ? p + s->distance : p - s->distance,
		.has_model = true,
		.model_logged = second ? of_second : 0.5,
		.model_champion = 0.5 + seldom * (of_second - 0.5),
		.model_challenger = 0.5 + (seldom + s->distance) * (of_second - 0.5),
		.has_said = true,
		.said_champion = 0.5 + off,
		.said_challenger = 0.5,
		.has_difference = s->known,
		.difference = s->distance };
}

/* Better predictions take over by plain odds where the policies are too near each other for a loss of 0.01, by what the
 * champion's model says of them, and not where they may be further. */
static void test_policy_that_cannot_be_much_worse_takes_over_by_plain_odds(void **state)
{
	(void)state;
	static const near_scene scenes_near[] = { { true, 0.05, 0.005, true }, { true, 0.05, 0.008, false },
		{ true, 0.009, 0.004, true }, { true, 0.13, 0.0, false }, { true, 0.13, -0.01, true },
		{ false, 0.05, 0.005, false } };
	for (size_t k = 0; k < sizeof scenes_near / sizeof *scenes_near; k++) {
		const near_scene *s = &scenes_near[k];
		unsigned promoted = 0;
		for (uint64_t seed = 1; seed <= 20; seed++) {
			cop_promotion_test promotion = begun(COP_PROMOTION_TEST_ERROR, 0.0);
			cop_promotion_test_verdict got = COP_PROMOTION_TEST_OPEN;
			cop_rng rng;
			cop_rng_init(&rng, seed, 9);
			for (size_t i = 0; i < 3000 && got == COP_PROMOTION_TEST_OPEN; i++) {
				const cop_promotion_test_event e = draw_near(s, &rng, i % 2 == 0 ? 0.04 : -0.04);
				assert_int_equal(cop_promotion_test_add(&promotion, &e), COP_OK);
				got = cop_promotion_test_judge(&promotion);
			}
			promoted += got == COP_PROMOTION_TEST_BETTER;
		}
		print_message("distance %g%s, costs %g: %u of 20 taken over\n", s->distance,
		        s->known ? "" : " (not known)", s->costs, promoted);
		assert_true(s->promoted ? promoted >= 18 : promoted == 0);
	}
}

/* Takeovers within 20,000 events, and when half of them have happened: docs/evidence/intervals.md. */
static int print_table(size_t runs)
{
	static const double epsilons[] = { 0.1, 1.0 }, gains[] = { -0.01, 0.01, 0.03 };
	static const predicted_scene says[] = { { 0.0, 0.0, 0.0, false }, { 0.0, 0.0, 0.04, false },
		{ 0.0, 0.0, 0.04, true }, { 0.0, 0.0, 0.1, true }, { 0.0, 0.0, 0.2, true } };
	for (size_t i = 0; i < 2; i++)
		for (size_t g = 0; g < sizeof gains / sizeof *gains; g++)
			for (size_t k = 0; k < sizeof says / sizeof *says; k++) {
				size_t middle;
				const predicted_scene s = { epsilons[i], gains[g], says[k].bias, says[k].turns };
				unsigned count = count_takeovers(&s, runs, 20000, &middle);
				printf("| %g | %+g | %s%g | %.1f | %zu |\n", s.epsilon, s.gain, s.turns ? "±" : "",
				        s.bias, 100.0 * count / (double)runs, middle);
				fflush(stdout);
			}
	return 0;
}

static void test_defaults_are_those_that_the_documents_name(void **state)
{
	(void)state;
	cop_promotion_test_settings s;
	cop_promotion_test_defaults(&s);
	assert_true(s.estimator == COP_PROMOTION_TEST_DR && s.margin == 0.0 && s.worse_margin == 0.0 && s.risk == 0.05);
	assert_true(s.difference_most == 6.0 && s.clip == 100.0 && s.least_events == 100);
	assert_true(s.share == 1.0 && s.stake == 0.0 && s.carried == 0.0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_those_that_the_documents_name),
		cmocka_unit_test(test_worse_predictor_is_not_promoted_beyond_the_risk),
		cmocka_unit_test(test_better_predictor_is_promoted_soon),
		cmocka_unit_test(test_policy_that_is_worse_is_not_promoted_for_what_it_says),
		cmocka_unit_test(test_worse_policy_does_not_take_over_beside_a_biased_champion),
		cmocka_unit_test(test_challengers_together_keep_the_risk),
		cmocka_unit_test(test_rivals_of_one_champion_divide_its_risk),
		cmocka_unit_test(test_winnings_carried_do_not_promote_who_wins_nothing),
		cmocka_unit_test(test_policy_that_cannot_be_much_worse_takes_over_by_plain_odds),
		cmocka_unit_test(test_challenger_worse_by_the_margin_is_not_promoted),
		cmocka_unit_test(test_verdicts_at_the_margins_keep_the_error_rate),
		cmocka_unit_test(test_challenger_better_by_much_is_promoted_soon),
		cmocka_unit_test(test_challenger_worse_by_much_is_found_soon),
		cmocka_unit_test(test_terms_have_the_gain_as_mean_and_clipped_ones_lie_outside),
		cmocka_unit_test(test_summary_of_three_events_equals_sums_by_hand),
		cmocka_unit_test(test_sums_of_any_events_equal_the_plain_definition),
		cmocka_unit_test(test_bad_events_and_settings_are_refused),
		cmocka_unit_test(test_saved_and_loaded_goes_on_as_before),
		cmocka_unit_test(test_roles_turned_roll_a_bad_promotion_back),
	};
	if (argc > 1 && strcmp(argv[1], "table") == 0)
		return print_table(argc > 2 ? strtoul(argv[2], NULL, 10) : RUNS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
