/* The policy against each arm alone, by blocks: its figures and intervals by plain recomputation from all decisions,
 * and against worlds whose truth is known. `test_arm_gains launches` prints the table of docs/evidence/intervals.md. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "online/arm_gains.h"
#include "unit/evaluate/cluster_oracle.h"

#define SEED   53U
#define ARMS   4
#define EVENTS 700
#define RISK   (COP_CONSTANT_ARMS_RISK / 2.0)

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * (1.0 + fabs(b)); }

/* ---- the oracle: all decisions, and the headers' formulas ---- */

typedef struct event {
	cop_arm_gains_loss told;
	uint8_t mask[ARMS];
} event;

typedef struct world {
	size_t n;
	event at[EVENTS];
} world;

static bool eligible(const event *e, size_t k) { return e->told.mask == NULL || e->mask[k] != 0; }
static long double weight(const event *e, size_t k) { return e->told.arm == k ? 1.0L / e->told.p : 0.0L; }

/* What one side's bound is of: w v - v, of losses v or of 1 less losses. */
static long double value(const event *e, size_t k, bool rest)
{
	long double v = rest ? 1.0L - e->told.loss : e->told.loss;
	return weight(e, k) * v - v;
}

static long double wealth_at(const world *w, size_t k, bool rest, long double mean)
{
	long double wealth = 0;
	for (int i = 2; i <= COP_RUNNING_BOUND_GRID; i++) { /* the first one's l b is 1: it has no wealth */
		long double l = powl(2.0L, -i), u = l * 2.0L, sum = 0, exponent = 0, foreseen = 0;
		size_t count = 0;
		for (size_t t = 0; t < w->n; t++) {
			if (t % COP_ARM_GAINS_BLOCK == 0)
				foreseen = fminl(fmaxl(sum / (1.0L + (long double)count), -1.0L), 1.0L);
			if (!eligible(&w->at[t], k))
				continue;
			long double x = value(&w->at[t], k, rest), gap = (x - foreseen) / 2.0L;
			exponent += l * (x - mean) - (-logl(1.0L - u) - u) * gap * gap;
			sum += x;
			count++;
		}
		wealth += expl(exponent) / COP_RUNNING_BOUND_GRID;
	}
	return wealth;
}

static long double bound(const world *w, size_t k, bool rest)
{
	long double least = -1, most = 100;
	for (int step = 0; step < 60; step++) {
		long double mean = (least + most) / 2;
		if (wealth_at(w, k, rest, mean) > 1.0L / (long double)RISK)
			least = mean;
		else
			most = mean;
	}
	return least;
}

/* By clusters: the middle and half the width; infinite where there are too few. */
static void over_clusters(const world *w, size_t k, long double out[2])
{
	long double of[6][COP_CLUSTERS] = { 0 }, gain[COP_CLUSTERS], all = 0, sum = 0, clusters = COP_CLUSTERS;
	for (size_t t = 0; t < w->n; t++) {
		const event *e = &w->at[t];
		size_t c = e->told.cluster == COP_ARM_GAINS_ALONE ? t % COP_CLUSTERS : e->told.cluster;
		long double l = e->told.loss, x = weight(e, k);
		const long double more[6] = { 1, l, 1 - l, x, x * l, x * (1 - l) };
		for (size_t i = 0; i < 6 && eligible(e, k); i++)
			of[i][c] += more[i];
	}
	for (size_t i = 0; i < 6; i++)
		clusters = fminl(clusters, oracle_effective(of[i]));
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		gain[c] = of[4][c] - of[1][c];
		all += of[0][c];
		sum += gain[c];
	}
	out[0] = sum / all;
	out[1] = oracle_half(of[0], gain, clusters, (long double)RISK);
	if (clusters < 10)
		out[1] = INFINITY;
}

static void check(const cop_arm_gains *gains, const world *w, size_t k, bool units)
{
	cop_constant_gain is;
	long double n = 0, sum = 0, ws = 0, squares = 0, over[2];
	cop_arm_gains_get(gains, k, &is);
	for (size_t t = 0; t < w->n; t++) {
		if (!eligible(&w->at[t], k))
			continue;
		long double x = weight(&w->at[t], k);
		n += 1;
		sum += value(&w->at[t], k, false);
		ws += x;
		squares += x * x;
	}
	long double low = bound(w, k, false), high = -bound(w, k, true);
	if (units) {
		over_clusters(w, k, over);
		low = fmaxl(fminl(low, over[0] - over[1]), -1);
		high = fminl(fmaxl(high, over[0] + over[1]), 1);
	}
	assert_true(is.losses == (uint64_t)n && near(is.effective, (double)(ws * ws / squares)));
	assert_true(near(is.low, (double)low) && near(is.high, (double)high));
	assert_true(near(is.gain, (double)fminl(fmaxl(sum / n, bound(w, k, false)), -bound(w, k, true))));
}

static size_t draw(const double *p, cop_rng *rng)
{
	double u = cop_rng_unit(rng);
	size_t arm = 0;
	for (; arm + 1 < ARMS && u >= p[arm]; arm++)
		u -= p[arm];
	return arm;
}

static void make_event(event *e, size_t t, bool units, cop_rng *rng)
{
	static const double p[ARMS] = { 0.1, 0.2, 0.3, 0.4 };
	bool masked = t % 3 == 0;
	double open = 0.0;
	for (size_t k = 0; k < ARMS; k++) {
		e->mask[k] = !masked || k == 0 || cop_rng_below(rng, 2) == 0;
		open += e->mask[k] ? p[k] : 0.0;
	}
	size_t arm = draw(p, rng);
	while (!e->mask[arm])
		arm = draw(p, rng);
	e->told = (cop_arm_gains_loss){
		.arm = (uint32_t)arm,
		.p = p[arm] / open,
		.mask = masked ? e->mask : NULL,
		.cluster = units && t % 7 != 6 ? (uint8_t)cop_rng_below(rng, 90) : COP_ARM_GAINS_ALONE,
		.loss = t % 5 == 0 ? (double)cop_rng_below(rng, 2) : cop_rng_unit(rng),
	};
}

static void compare(bool units)
{
	static world w;
	cop_arm_gains gains;
	cop_rng rng;
	cop_rng_init(&rng, SEED, units);
	assert_int_equal(cop_arm_gains_init(&gains, ARMS), COP_OK);
	for (w.n = 0; w.n < EVENTS;) {
		make_event(&w.at[w.n], w.n, units, &rng);
		cop_arm_gains_add(&gains, &w.at[w.n].told);
		w.n++;
		for (size_t k = 0; (w.n % 97 == 60 || w.n % 320 == 0) && k < ARMS; k++)
			check(&gains, &w, k, units);
	}
	cop_arm_gains_fini(&gains);
}

static void test_figures_and_intervals_are_those_of_a_plain_recomputation(void **state)
{
	(void)state;
	compare(false);
	compare(true);
}

/* ---- worlds whose truth is known ---- */

/* Shares of a policy at a time between 0 and 1, and mean losses of the arms then. */
typedef void scene_fn(double way, double p[ARMS], double mean[ARMS]);

static void turning(double way, double p[ARMS], double mean[ARMS])
{
	for (size_t k = 0; k < ARMS; k++) {
		mean[k] = 0.2 + 0.15 * (double)k + 0.1 * sin(9.0 * way);
		p[k] = 0.25 * (1.0 - way) + way * (k == 0 ? 0.94 : 0.02);
	}
}

/* A policy that hardly explores, and never plays the last arm; losses are rare. */
static void narrow(double way, double p[ARMS], double mean[ARMS])
{
	static const double shares[ARMS] = { 0.97, 0.02, 0.01, 0.0 };
	for (size_t k = 0; k < ARMS; k++) {
		p[k] = shares[k];
		mean[k] = 0.02 * (double)(k + 1) * (1.0 + way);
	}
}

/* Arms change their places, each time all at once. */
static void jumping(double way, double p[ARMS], double mean[ARMS])
{
	size_t shift = (size_t)(5.0 * way);
	for (size_t k = 0; k < ARMS; k++) {
		mean[k] = (k + shift) % ARMS == 0 ? 0.9 : 0.1;
		p[k] = (k + shift) % ARMS == 1 ? 0.7 : 0.1;
	}
}

/* Which arms' intervals ever missed the gain over the decisions so far; end: the last ones. */
static unsigned missed_by(scene_fn *scene, uint64_t launch, size_t events, cop_constant_gain *end)
{
	cop_arm_gains gains;
	cop_rng rng;
	unsigned missed = 0;
	double sum[ARMS] = { 0.0 }, policy = 0.0, p[ARMS], mean[ARMS];
	cop_rng_init(&rng, SEED, 100 + launch);
	assert_int_equal(cop_arm_gains_init(&gains, ARMS), COP_OK);
	for (size_t t = 0; t < events; t++) {
		scene((double)t / (double)events, p, mean);
		for (size_t k = 0; k < ARMS; k++) {
			policy += p[k] * mean[k];
			sum[k] += mean[k];
		}
		size_t arm = draw(p, &rng);
		while (p[arm] <= 0.0)
			arm = draw(p, &rng);
		const cop_arm_gains_loss told = { (uint32_t)arm, p[arm], NULL, COP_ARM_GAINS_ALONE,
			cop_rng_unit(&rng) < mean[arm] ? 1.0 : 0.0 };
		cop_arm_gains_add(&gains, &told);
		for (size_t k = 0; t % 25 == 24 && k < ARMS; k++) {
			double gain = (sum[k] - policy) / (double)(t + 1);
			cop_arm_gains_get(&gains, k, &end[k]);
			missed |= end[k].low > gain || end[k].high < gain ? 1u << k : 0u;
		}
	}
	cop_arm_gains_fini(&gains);
	return missed;
}

typedef struct counts {
	size_t missed[ARMS], better[ARMS], worse[ARMS];
	double width[ARMS];
} counts;

static counts launch_all(scene_fn *scene, size_t launches, size_t events)
{
	counts is = { .missed = { 0 } };
	for (uint64_t launch = 0; launch < launches; launch++) {
		cop_constant_gain end[ARMS];
		unsigned which = missed_by(scene, launch, events, end);
		for (size_t k = 0; k < ARMS; k++) {
			is.missed[k] += which >> k & 1u;
			is.better[k] += end[k].low > 0.0;
			is.worse[k] += end[k].high < 0.0;
			is.width[k] += (end[k].high - end[k].low) / (double)launches;
		}
	}
	return is;
}

static void test_intervals_cover_the_gain_at_all_times_and_find_its_sign(void **state)
{
	(void)state;
	enum { LAUNCHES = 100, FEW = 40 };
	const counts turns = launch_all(turning, LAUNCHES, 3000), jumps = launch_all(jumping, FEW, 3000);
	const counts rare = launch_all(narrow, FEW, 3000);
	for (size_t k = 0; k < ARMS; k++) {
		printf("seed %u, arm %zu: missed %zu, better %zu, worse %zu of %d\n", SEED, k, turns.missed[k],
		        turns.better[k], turns.worse[k], LAUNCHES);
		assert_true(turns.missed[k] <= 0.05 * LAUNCHES && jumps.missed[k] <= 0.05 * FEW);
		assert_true(rare.missed[k] <= 0.05 * FEW);
	}
	assert_true(turns.better[0] == 0 && turns.worse[3] == 0 && 2 * turns.better[3] > LAUNCHES);
	assert_true(rare.width[3] >= 1.0 && rare.better[3] == 0 && rare.worse[3] == 0); /* never played */
}

/* Units that come again: of each unit every arm's mean loss is its own, high for `share` of units, so that no arm is
 * better than the policy where all units are looked at. How many arms' intervals ever excluded that, by decisions alone
 * and over clusters. */
typedef struct visitors {
	size_t units, visits;
	double share, low, high;
} visitors;

typedef struct exclusions {
	size_t by_decisions, by_units;
	double width; /* of the last arm's, at last, on average */
} exclusions;

enum { MOST_UNITS = 1000 };

static bool excludes(const cop_arm_gains *gains, size_t k, double *width)
{
	cop_constant_gain is;
	cop_arm_gains_get(gains, k, &is);
	*width = is.high - is.low;
	return is.low > 0.0 || is.high < 0.0;
}

static void visit(const visitors *v, uint64_t launch, cop_arm_gains *alone, cop_arm_gains *over, exclusions *out)
{
	static const double p[ARMS] = { 0.4, 0.3, 0.2, 0.1 };
	static double mean[MOST_UNITS][ARMS];
	static uint8_t cluster[MOST_UNITS];
	bool seen[2][ARMS] = { { false } };
	double width = 0.0;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 5000 + launch);
	for (size_t u = 0; u < v->units; u++) {
		cluster[u] = (uint8_t)cop_rng_below(&rng, COP_CLUSTERS);
		for (size_t k = 0; k < ARMS; k++)
			mean[u][k] = cop_rng_unit(&rng) < v->share ? v->high : v->low;
	}
	for (size_t t = 0; t < v->units * v->visits; t++) {
		size_t u = t % v->units, arm = draw(p, &rng);
		cop_arm_gains_loss told = { (uint32_t)arm, p[arm], NULL, COP_ARM_GAINS_ALONE,
			cop_rng_unit(&rng) < mean[u][arm] ? 1.0 : 0.0 };
		cop_arm_gains_add(alone, &told);
		told.cluster = cluster[u];
		cop_arm_gains_add(over, &told);
		for (size_t k = 0; u + 1 == v->units && k < ARMS; k++) {
			seen[0][k] = excludes(alone, k, &width) || seen[0][k];
			seen[1][k] = excludes(over, k, &width) || seen[1][k];
		}
	}
	for (size_t k = 0; k < ARMS; k++) {
		out->by_decisions += seen[0][k];
		out->by_units += seen[1][k];
	}
	out->width += width;
}

static exclusions visit_all(const visitors *v, size_t launches)
{
	exclusions out = { .width = 0.0 };
	cop_arm_gains alone, over;
	for (uint64_t launch = 0; launch < launches; launch++) {
		assert_int_equal(cop_arm_gains_init(&alone, ARMS), COP_OK);
		assert_int_equal(cop_arm_gains_init(&over, ARMS), COP_OK);
		visit(v, launch, &alone, &over, &out);
		cop_arm_gains_fini(&alone);
		cop_arm_gains_fini(&over);
	}
	out.width /= (double)launches;
	return out;
}

static void test_units_that_come_again_are_no_evidence_of_their_own(void **state)
{
	(void)state;
	enum { LAUNCHES = 40 };
	static const visitors few = { 40, 100, 0.5, 0.1, 0.9 };
	const exclusions is = visit_all(&few, LAUNCHES);
	printf("seed %u: excluded %zu by decisions, %zu by units of %d\n", SEED, is.by_decisions, is.by_units,
	        ARMS * LAUNCHES);
	assert_true(is.by_decisions >= 20 && is.by_units <= 0.05 * ARMS * LAUNCHES);
}

/* ---- what is kept ---- */

static void test_first_unit_begins_anew(void **state)
{
	(void)state;
	cop_arm_gains gains;
	cop_constant_gain is;
	assert_int_equal(cop_arm_gains_init(&gains, ARMS), COP_OK);
	assert_false(cop_arm_gains_is_used(&gains));
	cop_arm_gains_clear(&gains, 0.0);
	cop_arm_gains_loss told = { 1, 0.5, NULL, COP_ARM_GAINS_ALONE, 0.25 };
	for (size_t t = 0; t < 100; t++)
		cop_arm_gains_add(&gains, &told);
	cop_arm_gains_get(&gains, 1, &is);
	assert_true(is.losses == 100 && near(is.effective, 100.0));
	cop_arm_gains_get(&gains, 0, &is);
	assert_true(is.losses == 100 && is.effective == 0.0 && isnan(is.gain) && is.high - is.low >= 1.0);
	told.cluster = 3;
	cop_arm_gains_add(&gains, &told);
	told.cluster = COP_ARM_GAINS_ALONE;
	cop_arm_gains_add(&gains, &told);
	cop_arm_gains_get(&gains, 1, &is);
	assert_true(is.losses == 2 && is.low == -1.0 && is.high == 1.0 && cop_arm_gains_is_used(&gains));
	cop_arm_gains_clear(&gains, 5.0);
	cop_arm_gains_get(&gains, 1, &is);
	assert_true(is.losses == 0 && isnan(is.gain) && isnan(is.low) && isnan(is.high) && gains.since == 5.0);
	assert_true(cop_arm_gains_is_used(&gains)); /* what was decided before that time shall not count */
	cop_arm_gains_fini(&gains);
}

static void save(const cop_arm_gains *gains, cop_bytes *out)
{
	cop_bytes_clear(out);
	cop_arm_gains_save(gains, out);
	assert_int_equal(out->err, COP_OK);
}

static cop_err load(cop_arm_gains *gains, const cop_bytes *saved, size_t length)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, saved->data, length);
	cop_arm_gains_load(gains, &cursor);
	return cursor.err == COP_OK && cop_cursor_left(&cursor) > 0 ? COP_EFORMAT : cursor.err;
}

static void play(cop_arm_gains *gains, size_t arms, size_t count, bool units)
{
	for (size_t t = 0; t < count; t++) {
		uint8_t mask[ARMS + 2] = { 1, 1, t % 2, 1, 1, 1 };
		const cop_arm_gains_loss told = { (uint32_t)(t % arms), t % arms == 2 ? 0.5 : 0.25,
			t % arms == 2 ? NULL : mask, units ? (uint8_t)(t % 100) : COP_ARM_GAINS_ALONE,
			(double)(t % 5) / 5.0 };
		cop_arm_gains_add(gains, &told);
	}
}

/* Saved in the middle of a block, loaded, and given on to more arms by both ways. */
static void go_on(bool units)
{
	cop_arm_gains gains, back, more, heir;
	cop_bytes first, second;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	assert_int_equal(cop_arm_gains_init(&gains, ARMS), COP_OK);
	assert_int_equal(cop_arm_gains_init(&back, ARMS), COP_OK);
	assert_int_equal(cop_arm_gains_init(&more, ARMS + 2), COP_OK);
	assert_int_equal(cop_arm_gains_init(&heir, ARMS + 2), COP_OK);
	play(&gains, ARMS, 210, units);
	save(&gains, &first);
	assert_int_equal(load(&back, &first, first.length), COP_OK);
	assert_int_equal(load(&more, &first, first.length), COP_OK);
	cop_arm_gains_inherit(&heir, &gains);
	save(&back, &second);
	assert_true(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	play(&gains, ARMS, 100, units);
	play(&back, ARMS, 100, units);
	play(&more, ARMS + 2, 100, units);
	play(&heir, ARMS + 2, 100, units);
	save(&gains, &first);
	save(&back, &second);
	assert_true(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	assert_int_equal(load(&back, &first, first.length), COP_OK);
	for (size_t length = 0; length < first.length; length += 61)
		assert_int_not_equal(load(&back, &first, length), COP_OK);
	save(&more, &first);
	save(&heir, &second);
	assert_true(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	assert_int_equal(load(&back, &first, first.length), COP_EFORMAT); /* fewer arms */
	cop_constant_gain is;
	cop_arm_gains_get(&heir, ARMS + 1, &is);
	assert_true(is.losses == 100);
	cop_arm_gains_get(&heir, 0, &is);
	assert_true(is.losses == 310);
	cop_arm_gains_fini(&gains);
	cop_arm_gains_fini(&back);
	cop_arm_gains_fini(&more);
	cop_arm_gains_fini(&heir);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static void test_saved_and_inherited_figures_go_on_as_they_were(void **state)
{
	(void)state;
	go_on(false);
	go_on(true);
}

static void test_wild_sums_from_a_file_are_refused_or_harmless(void **state)
{
	(void)state;
	cop_arm_gains gains, back;
	cop_bytes saved;
	cop_rng rng;
	size_t refused = 0, loaded = 0;
	cop_bytes_init(&saved);
	cop_rng_init(&rng, SEED, 9);
	assert_int_equal(cop_arm_gains_init(&gains, ARMS), COP_OK);
	assert_int_equal(cop_arm_gains_init(&back, ARMS), COP_OK);
	play(&gains, ARMS, 100, true);
	for (size_t i = 0; i < 3000; i++) {
		save(&gains, &saved);
		saved.data[cop_rng_below(&rng, saved.length)] ^= (uint8_t)(1u << cop_rng_below(&rng, 8));
		if (load(&back, &saved, saved.length) != COP_OK) {
			refused++;
			continue;
		}
		loaded++;
		for (size_t k = 0; k < ARMS; k++) {
			cop_constant_gain is;
			cop_arm_gains_get(&back, k, &is);
			assert_false(is.low < -1.0 || is.high > 1.0);
		}
		play(&back, ARMS, 100, true);
	}
	assert_true(refused > 100 && loaded > 100);
	cop_arm_gains_fini(&gains);
	cop_arm_gains_fini(&back);
	cop_bytes_fini(&saved);
}

static void test_more_arms_than_are_counted_have_no_figures(void **state)
{
	(void)state;
	cop_arm_gains gains, many;
	cop_bytes saved;
	cop_bytes_init(&saved);
	cop_arm_gains_loss told = { 7, 1e-300, NULL, COP_ARM_GAINS_ALONE, 1.0 }; /* a weight beyond all bounds */
	assert_int_equal(cop_arm_gains_init(&many, COP_CONSTANT_ARMS_MOST + 1), COP_OK);
	assert_int_equal(many.whole.count, 0);
	cop_arm_gains_add(&many, &told);
	assert_false(cop_arm_gains_is_used(&many));
	assert_int_equal(cop_arm_gains_init(&gains, COP_CONSTANT_ARMS_MOST), COP_OK);
	cop_arm_gains_add(&gains, &told);
	cop_constant_gain is;
	cop_arm_gains_get(&gains, 7, &is);
	assert_true(is.low >= -1.0 && is.high <= 1.0);
	told.cluster = 1;
	cop_arm_gains_add(&gains, &told);
	save(&gains, &saved);
	assert_int_equal(load(&many, &saved, saved.length), COP_OK); /* those of too many arms are left behind */
	assert_false(cop_arm_gains_is_used(&many));
	cop_arm_gains_inherit(&many, &gains);
	assert_false(cop_arm_gains_is_used(&many));
	cop_arm_gains_fini(&gains);
	cop_arm_gains_fini(&many);
	for (size_t n = 1; n <= 3; n++) {
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_arm_gains_init(&gains, 3), COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
	}
	cop_bytes_fini(&saved);
}

static void print_launches(void)
{
	static const struct {
		const char *name;
		scene_fn *scene;
	} scenes[] = { { "turning", turning }, { "narrow", narrow }, { "jumping", jumping } };
	static const visitors all[] = { { 40, 100, 0.5, 0.1, 0.9 }, { 200, 60, 0.5, 0.1, 0.9 },
		{ 1000, 20, 0.5, 0.1, 0.9 }, { 300, 60, 0.05, 0.01, 0.9 }, { 1000, 20, 0.02, 0.01, 0.9 } };
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		const counts is = launch_all(scenes[i].scene, 1000, 10000);
		printf("| %s |", scenes[i].name);
		for (size_t k = 0; k < ARMS; k++)
			printf(" %zu, %.3f |", is.missed[k], is.width[k]);
		printf("\n");
	}
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const exclusions is = visit_all(&all[i], 500);
		printf("| %zu, %zu | %g | %zu | %zu | %.3f |\n", all[i].units, all[i].visits, all[i].share,
		        is.by_decisions, is.by_units, is.width);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_and_intervals_are_those_of_a_plain_recomputation),
		cmocka_unit_test(test_intervals_cover_the_gain_at_all_times_and_find_its_sign),
		cmocka_unit_test(test_units_that_come_again_are_no_evidence_of_their_own),
		cmocka_unit_test(test_first_unit_begins_anew),
		cmocka_unit_test(test_saved_and_inherited_figures_go_on_as_they_were),
		cmocka_unit_test(test_wild_sums_from_a_file_are_refused_or_harmless),
		cmocka_unit_test(test_more_arms_than_are_counted_have_no_figures),
	};
	if (argc > 1 && strcmp(argv[1], "launches") == 0) {
		print_launches();
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
