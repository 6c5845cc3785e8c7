/* The control group alone: who is held out, what the baseline plays, and whether what is said of the gain and of the
 * split is true, at all times at once, of worlds whose truth is known. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "online/control.h"

#define SEED 31U
#define KEY  UINT64_C(0x1234567)

static cop_event_id numbered(uint64_t n)
{
	cop_event_id id;
	cop_event_id_from_unsigned(&id, n);
	return id;
}

static cop_control_split split_of(double share, uint64_t unit)
{
	const cop_control_terms terms = { share, COP_CONTROL_UNIFORM, 1.0 };
	const cop_event_id id = numbered(unit);
	return cop_control_find(&terms, &id, KEY);
}

static void end_with(cop_control *control, cop_control_by by, double decided, double loss)
{
	cop_control_end(control, by, 0, decided, &loss);
}

static void test_units_are_held_in_proportion_and_stay(void **state)
{
	(void)state;
	static const double shares[] = { 0.01, 0.05, 0.3, 0.5, 0.9 };
	enum { UNITS = 100000 };
	for (size_t s = 0; s < 5; s++) {
		size_t held = 0, low = 0, low_held = 0;
		for (uint64_t u = 0; u < UNITS; u++) {
			cop_control_split split = split_of(shares[s], u);
			assert_true(split.place < COP_CONTROL_PLACES && split.terms.share == shares[s]);
			assert_true(split.by == COP_CONTROL_POLICY || s == 4 ||
			            split_of(shares[s + 1], u).by == COP_CONTROL_HELD); /* a larger share only adds */
			assert_int_equal(split.by, split_of(shares[s], u).by);
			held += split.by == COP_CONTROL_HELD;
			low += split.place < COP_CONTROL_PLACES / 2;
			low_held += split.by == COP_CONTROL_HELD && split.place < COP_CONTROL_PLACES / 2;
		}
		double deviation = sqrt(UNITS * shares[s] * (1.0 - shares[s]));
		assert_true(fabs((double)held - UNITS * shares[s]) < 4.0 * deviation);
		assert_true(fabs((double)low - UNITS / 2.0) < 4.0 * sqrt(UNITS / 4.0));
		assert_true(fabs((double)low_held - (double)held / 2.0) < 4.0 * sqrt((double)held / 4.0));
	}
}

static void test_another_key_holds_others_out(void **state)
{
	(void)state;
	const cop_control_terms terms = { 0.5, 0, 1.0 };
	size_t both = 0;
	for (uint64_t u = 0; u < 10000; u++) {
		cop_event_id id = numbered(u);
		both += cop_control_find(&terms, &id, 1).by == COP_CONTROL_HELD &&
		        cop_control_find(&terms, &id, 2).by == COP_CONTROL_HELD;
	}
	assert_in_range(both, 2300, 2700);
}

/* The share of each arm among many decisions is what the probabilities say. */
static void check_play(int64_t baseline, const cop_control_caller *caller, size_t arms, const uint8_t *mask)
{
	enum { PLAYS = 20000 };
	double p[8];
	size_t played[8] = { 0 };
	cop_control_probabilities(baseline, caller, arms, mask, p);
	for (uint64_t i = 0; i < PLAYS; i++) {
		uint32_t arm;
		cop_event_id id = numbered(i);
		double propensity = cop_control_play(baseline, caller, &id, KEY, arms, mask, &arm);
		assert_true(arm < arms && (mask == NULL || mask[arm] != 0));
		if (baseline != COP_CONTROL_CALLER || caller->p <= 0.0)
			assert_true(propensity == p[arm]);
		else
			assert_true(propensity == caller->p);
		played[arm]++;
	}
	double sum = 0.0;
	for (size_t k = 0; k < arms; k++) {
		sum += p[k];
		assert_true(fabs((double)played[k] - PLAYS * p[k]) <= 4.0 * sqrt(PLAYS * p[k] * (1.0 - p[k])));
	}
	assert_true(fabs(sum - 1.0) < 1e-12);
}

static void test_baseline_plays_what_it_says(void **state)
{
	(void)state;
	static const uint8_t mask[] = { 0, 1, 0, 1, 1, 0 };
	static const cop_control_caller nobody = { 0, 0.0 }, second = { 1, 0.25 };
	check_play(COP_CONTROL_UNIFORM, &nobody, 6, NULL);
	check_play(COP_CONTROL_UNIFORM, &second, 6, mask);
	check_play(3, &nobody, 6, mask);
	check_play(0, &nobody, 6, mask);  /* not eligible: an even draw */
	check_play(17, &nobody, 6, mask); /* of candidates, there may be fewer */
	check_play(COP_CONTROL_CALLER, &nobody, 6, mask);
	check_play(COP_CONTROL_CALLER, &second, 6, mask);
	check_play(COP_CONTROL_UNIFORM, &nobody, 1, NULL);
}

/* ---- the gain ---- */

/* A policy that gets better, in a world whose losses drift. */
static double mean_of(bool held, size_t t, size_t events)
{
	double way = (double)t / (double)events, season = 0.1 * sin(20.0 * way);
	return held ? 0.5 + season : 0.5 + season - 0.3 * way;
}

/* Looked at all along. *end: as it was last; whether the interval ever missed the gain so far. */
static bool misses(uint64_t launch, double share, size_t events, bool equal, cop_control_summary *end)
{
	static cop_control control;
	cop_rng rng;
	bool missed = false;
	double sum[2] = { 0.0, 0.0 }, n[2] = { 0.0, 0.0 };
	cop_rng_init(&rng, SEED, launch);
	cop_control_init(&control);
	for (size_t t = 0; t < events; t++) {
		cop_control_split split = split_of(share, launch * 1000003 + t);
		double mean = mean_of(split.by == COP_CONTROL_HELD && !equal, equal ? 0 : t, events);
		cop_control_note(&control, &split, (double)t);
		end_with(&control, split.by, (double)t, cop_rng_unit(&rng) < mean ? 1.0 : 0.0);
		sum[split.by] += mean;
		n[split.by] += 1.0;
		if (t % 25 != 24 || n[0] == 0.0 || n[1] == 0.0)
			continue;
		cop_control_summarise(&control, end);
		double gain = sum[1] / n[1] - sum[0] / n[0];
		missed |= end->low > gain || end->high < gain;
		assert_true(end->low <= end->gain && end->gain <= end->high);
	}
	return missed;
}

static void test_interval_covers_the_gain_at_all_times_and_finds_its_sign(void **state)
{
	(void)state;
	enum { LAUNCHES = 200 };
	for (int equal = 0; equal < 2; equal++) {
		size_t missed = 0, up = 0, down = 0;
		for (uint64_t launch = 1; launch <= LAUNCHES; launch++) {
			cop_control_summary end;
			missed += misses(launch, 0.2, 4000, equal != 0, &end);
			up += end.low > 0.0;
			down += end.high < 0.0;
		}
		printf("seed %u, %s: missed %zu, above 0 %zu, below 0 %zu of %d\n", SEED, equal ? "equal" : "better",
		        missed, up, down, LAUNCHES);
		assert_true(missed <= 0.05 * LAUNCHES && down == 0);
		assert_true(equal ? up <= 0.025 * LAUNCHES : up > 0.9 * LAUNCHES);
	}
}

static void test_gain_of_plain_means(void **state)
{
	(void)state;
	static cop_control control;
	cop_control_summary is;
	cop_control_init(&control);
	cop_control_summarise(&control, &is);
	assert_true(isnan(is.gain) && isnan(is.low) && isnan(is.high) && isnan(is.group[0].loss) && is.units == 0);
	assert_true(is.odds == 1.0 && !is.suspicious);
	cop_control_split split = split_of(0.5, 1);
	for (size_t t = 0; t < 6; t++) {
		split.by = t % 3 == 0 ? COP_CONTROL_HELD : COP_CONTROL_POLICY;
		split.place = (uint32_t)t;
		cop_control_note(&control, &split, (double)t);
		end_with(&control, split.by, (double)t, split.by == COP_CONTROL_HELD ? 0.75 : t < 3 ? 0.0 : 0.5);
	}
	cop_control_summarise(&control, &is);
	assert_true(is.group[0].decisions == 4 && is.group[1].decisions == 2 && is.units == 6 && is.held == 2);
	assert_true(fabs(is.gain - 0.5) < 1e-12 && fabs(is.group[0].loss - 0.25) < 1e-12);
	assert_true(is.low >= -1.0 && is.high <= 1.0 && is.low < is.gain && is.high > is.gain);
}

static void test_other_terms_begin_again(void **state)
{
	(void)state;
	static cop_control control;
	cop_control_summary is;
	cop_control_init(&control);
	for (size_t t = 0; t < 100; t++) {
		cop_control_split split = split_of(0.5, t);
		cop_control_note(&control, &split, (double)t);
	}
	cop_control_split other = split_of(0.25, 7);
	other.by = COP_CONTROL_POLICY;
	cop_control_note(&control, &other, 100.0);
	assert_true(control.since == 100.0 && control.terms.share == 0.25);
	end_with(&control, COP_CONTROL_POLICY, 99.0, 1.0); /* of a decision under the old terms */
	end_with(&control, COP_CONTROL_POLICY, 100.0, 0.5);
	end_with(&control, COP_CONTROL_POLICY, 100.0, 0.5); /* one more than there are decisions */
	cop_control_summarise(&control, &is);
	assert_true(is.group[0].decisions == 1 && is.group[0].losses == 1 && is.group[0].loss == 0.5);
	assert_true(is.group[1].decisions == 0 && isnan(is.gain) && is.units == 1);
	other.terms.baseline = 3;
	cop_control_note(&control, &other, 200.0);
	assert_true(control.since == 200.0 && control.group[0].decisions == 1 && control.group[0].loss.value.n == 0);
}

/* ---- the allowance ---- */

/* A launch of a policy whose mean loss is `policy` where the baseline's is `baseline`, each told `late` decisions
 * later, some never. Whether the mean loss so far ever was above the baseline's by more than the allowance, in
 * expectation. */
static bool exceeds(uint64_t launch, double policy, double baseline, double allowance, size_t late, double *share)
{
	enum { EVENTS = 4000, LATE = 200 };
	static cop_control control;
	static cop_control_by by[EVENTS];
	cop_rng rng;
	const cop_control_terms terms = { 0.1, 0, allowance };
	double excess = 0.0, decided = 0.0;
	bool ever = false;
	cop_rng_init(&rng, SEED, 90000 + launch);
	cop_control_init(&control);
	for (size_t t = 0; t < EVENTS; t++) {
		const cop_event_id id = numbered(launch * 1000003 + t);
		cop_control_split split = cop_control_find(&terms, &id, KEY);
		if (split.by == COP_CONTROL_POLICY && !cop_control_allows(&control, &terms))
			split.by = COP_CONTROL_KEPT;
		cop_control_note(&control, &split, (double)t);
		by[t] = split.by;
		excess += split.by == COP_CONTROL_POLICY ? policy - baseline : 0.0;
		decided += split.by == COP_CONTROL_POLICY;
		ever |= excess > allowance * (double)(t + 1);
		if (t < late)
			continue;
		cop_control_by then = by[t - late];
		if (cop_rng_below(&rng, 10) == 0)
			cop_control_end(&control, then, 0, (double)(t - late), NULL);
		else
			end_with(&control, then, (double)(t - late),
			        cop_rng_unit(&rng) < (then == COP_CONTROL_POLICY ? policy : baseline) ? 1.0 : 0.0);
	}
	*share = decided / EVENTS;
	return ever;
}

static void test_policy_costs_no_more_than_its_allowance(void **state)
{
	(void)state;
	enum { LAUNCHES = 100 };
	static const struct {
		double policy, baseline, allowance, least, most; /* of the policy's share of decisions */
	} scenes[] = { { 0.3, 0.5, 0.05, 0.5, 0.9 }, { 0.9, 0.3, 0.05, 0.02, 0.15 }, { 0.55, 0.5, 0.02, 0.01, 0.5 },
		{ 0.2, 0.2, 0.1, 0.6, 0.9 }, { 1.0, 0.0, 0.01, 0.0, 0.02 } };
	for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++)
		for (size_t late = 0; late <= 200; late += 100) {
			size_t missed = 0;
			double share, mean = 0.0;
			for (uint64_t launch = 0; launch < LAUNCHES; launch++) {
				missed += exceeds(launch, scenes[s].policy, scenes[s].baseline, scenes[s].allowance,
				        late, &share);
				mean += share / LAUNCHES;
			}
			printf("policy %.2f, baseline %.2f, allowance %.2f, %zu late: exceeded %zu of %d, policy "
			       "decides %.3f\n",
			        scenes[s].policy, scenes[s].baseline, scenes[s].allowance, late, missed, LAUNCHES,
			        mean);
			assert_true(missed <= 0.05 * LAUNCHES);
			assert_true(mean >= (late == 0 ? scenes[s].least : 0.0) && mean <= scenes[s].most);
		}
}

static void test_allowance_counts_what_is_not_told_as_lost(void **state)
{
	(void)state;
	static cop_control control;
	const cop_control_terms none = { 0.5, 0, 1.0 }, tenth = { 0.5, 0, 0.1 };
	cop_control_split split = { tenth, 0, COP_CONTROL_HELD };
	cop_control_init(&control);
	assert_true(cop_control_allows(&control, &none));
	assert_false(cop_control_allows(&control, &tenth));
	for (int i = 0; i < 9; i++) {
		cop_control_note(&control, &split, 0.0);
		assert_int_equal(cop_control_allows(&control, &tenth), i == 8); /* one loss of 1 among ten */
	}
	split.by = COP_CONTROL_POLICY;
	cop_control_note(&control, &split, 0.0);
	assert_false(cop_control_allows(&control, &tenth)); /* it waits */
	split.by = COP_CONTROL_KEPT;
	for (int i = 0; i < 9; i++)
		cop_control_note(&control, &split, 0.0);
	assert_true(cop_control_allows(&control, &tenth) && control.kept == 9);
	cop_control_end(&control, COP_CONTROL_POLICY, 0, 0.0, NULL);
	assert_int_equal(control.waiting, 0);
	cop_control_end(&control, COP_CONTROL_POLICY, 0, 0.0, NULL); /* of other terms, as it seems */
	assert_int_equal(control.waiting, 0);
}

/* ---- the split ---- */

/* Odds as they are at the end, and whether they were ever suspicious, of units that are held with another share. */
static bool suspects(uint64_t run, double promised, double truth, size_t units, double *odds)
{
	static cop_control control;
	cop_control_summary is = { .odds = 1.0 };
	cop_rng rng;
	bool ever = false;
	cop_rng_init(&rng, SEED, 5000 + run);
	cop_control_init(&control);
	for (size_t t = 0; t < units; t++) {
		cop_control_split split = { { promised, 0, 1.0 }, (uint32_t)cop_rng_below(&rng, COP_CONTROL_PLACES),
			cop_rng_unit(&rng) < truth ? COP_CONTROL_HELD : COP_CONTROL_POLICY };
		cop_control_note(&control, &split, (double)t);
		ever |= exp(control.log_odds) >= COP_CONTROL_SUSPECT;
	}
	cop_control_summarise(&control, &is);
	*odds = is.odds;
	assert_true(!is.suspicious || ever);
	return ever;
}

static void test_split_is_suspected_when_it_is_not_the_promised_one(void **state)
{
	(void)state;
	size_t falsely = 0, found = 0, slightly = 0;
	double odds, mean = 0.0;
	for (uint64_t run = 0; run < 300; run++) {
		falsely += suspects(run, 0.05, 0.05, 3000, &odds);
		mean += fmin(odds, 1000.0) / 300.0;
		found += suspects(run, 0.05, 0.10, 3000, &odds);
		slightly += suspects(run, 0.5, 0.45, 8000, &odds);
	}
	printf("seed %u: suspected falsely %zu, rightly %zu and %zu of 300; mean odds of a true split %.3f\n", SEED,
	        falsely, found, slightly, mean);
	assert_true(falsely <= 2 && found >= 299 && slightly >= 290); /* 0.3 expected at most */
	assert_true(mean < 1.6);                                      /* 1 in expectation */
}

/* The same unit again and again, even a heavy one, is one. */
static void test_units_count_once(void **state)
{
	(void)state;
	static cop_control control;
	cop_control_init(&control);
	for (size_t t = 0; t < 10000; t++) {
		cop_control_split split = split_of(0.5, t % 40);
		cop_control_note(&control, &split, (double)t);
	}
	assert_in_range(control.units, 38, 40);
	assert_int_equal(control.group[0].decisions + control.group[1].decisions, 10000);
	assert_true(exp(control.log_odds) < COP_CONTROL_SUSPECT);
}

/* By the gamma function: the mixture over shares of the odds. */
static void test_odds_are_those_of_the_mixture(void **state)
{
	(void)state;
	static cop_control control;
	const double share = 0.3, a = 100.0 * share, b = 100.0 - a;
	double held = 0.0, rest = 0.0;
	cop_control_init(&control);
	for (uint32_t t = 0; t < 500; t++) {
		cop_control_split split = { { share, 0, 1.0 }, t, t % 2 == 0 ? COP_CONTROL_HELD : COP_CONTROL_POLICY };
		cop_control_note(&control, &split, 0.0);
		held += split.by == COP_CONTROL_HELD;
		rest += split.by == COP_CONTROL_POLICY;
	}
	double wanted = lgamma(a + held) + lgamma(b + rest) - lgamma(100.0 + held + rest) - lgamma(a) - lgamma(b) +
	                lgamma(100.0) - held * log(share) - rest * log1p(-share);
	assert_true(fabs(control.log_odds - wanted) < 1e-9 * fabs(wanted) + 1e-9);
}

/* ---- saved ---- */

static void test_saved_figures_go_on_as_they_were(void **state)
{
	(void)state;
	static cop_control control, back;
	cop_bytes first, second;
	cop_cursor cursor;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_control_init(&control);
	for (size_t t = 0; t < 300; t++) {
		cop_control_split split = split_of(0.3, t);
		cop_control_note(&control, &split, (double)t);
		if (t % 3 != 0)
			end_with(&control, split.by, (double)t, (double)(t % 7) / 7.0);
	}
	cop_control_save(&control, &first);
	cop_cursor_init(&cursor, first.data, first.length);
	cop_control_load(&back, &cursor);
	assert_true(cursor.err == COP_OK && cop_cursor_left(&cursor) == 0);
	for (size_t t = 300; t < 400; t++) {
		cop_control_split split = split_of(0.3, t);
		cop_control_note(&control, &split, (double)t);
		cop_control_note(&back, &split, (double)t);
		end_with(&control, split.by, (double)t, 0.5);
		end_with(&back, split.by, (double)t, 0.5);
	}
	cop_bytes_clear(&first);
	cop_control_save(&control, &first);
	cop_control_save(&back, &second);
	assert_int_equal(first.length, second.length);
	assert_memory_equal(first.data, second.data, first.length);
	for (size_t length = 0; length < first.length; length += 97) {
		cop_cursor_init(&cursor, first.data, length);
		cop_control_load(&back, &cursor);
		assert_int_not_equal(cursor.err, COP_OK);
	}
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static void test_saved_nonsense_is_refused(void **state)
{
	(void)state;
	static cop_control control, wrong, back;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_control_split split = split_of(0.3, 4);
	cop_control_init(&control);
	cop_control_note(&control, &split, 1.0);
	for (int k = 0; k < 13; k++) {
		wrong = control;
		switch (k) {
		case 0:
			wrong.terms.share = 0.0;
			break;
		case 1:
			wrong.terms.share = 1.0;
			break;
		case 2:
			wrong.terms.baseline = -3;
			break;
		case 3:
			wrong.terms.baseline = INT64_C(1) << 40;
			break;
		case 4:
			wrong.since = (double)NAN;
			break;
		case 5:
			wrong.held = 2;
			break;
		case 6:
			wrong.units = COP_CONTROL_PLACES + 1;
			break;
		case 7:
			wrong.log_odds = (double)INFINITY;
			break;
		case 8:
			wrong.terms.allowance = 1.5;
			break;
		case 9:
			wrong.waiting = 2;
			break;
		case 10:
			wrong.judged = 1;
			break;
		case 11:
			wrong.high = -0.5;
			break;
		default:
			cop_running_bound_add(&wrong.group[0].loss.value, 0.5, 0.0);
			break; /* of one of the two */
		}
		cop_cursor cursor;
		cop_bytes_clear(&bytes);
		cop_control_save(&wrong, &bytes);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		cop_control_load(&back, &cursor);
		assert_int_not_equal(cursor.err, COP_OK);
	}
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_are_held_in_proportion_and_stay),
		cmocka_unit_test(test_another_key_holds_others_out),
		cmocka_unit_test(test_baseline_plays_what_it_says),
		cmocka_unit_test(test_interval_covers_the_gain_at_all_times_and_finds_its_sign),
		cmocka_unit_test(test_gain_of_plain_means),
		cmocka_unit_test(test_other_terms_begin_again),
		cmocka_unit_test(test_policy_costs_no_more_than_its_allowance),
		cmocka_unit_test(test_allowance_counts_what_is_not_told_as_lost),
		cmocka_unit_test(test_split_is_suspected_when_it_is_not_the_promised_one),
		cmocka_unit_test(test_units_count_once),
		cmocka_unit_test(test_odds_are_those_of_the_mixture),
		cmocka_unit_test(test_saved_figures_go_on_as_they_were),
		cmocka_unit_test(test_saved_nonsense_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
