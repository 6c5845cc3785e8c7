/* control, of units that come again: the gain's interval, the split and what is told are those of units, not of
 * decisions. */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "online/control.h"

#define SEED 20261128u
#define KEY  5u

typedef struct scene {
	const char *name;
	size_t units, visits;
	double share;
	bool rare;           /* few units have nearly all losses */
	double spread;       /* else their means are so far from 1/2; 0: 0.4 */
	double effect;       /* what the policy takes off each mean */
	double held_come;    /* how often a held unit comes again, as a share of the others */
	double held_told;    /* share of the control group's losses that come */
	size_t strangers;    /* units that come at the end, once each and */
	bool strangers_held; /* all in the control group */
} scene;

typedef struct outcome {
	size_t missed, plain_missed, above, suspicious, uneven;
} outcome;

static double unit_mean(const scene *s, cop_rng *rng)
{
	const double spread = s->spread > 0.0 ? s->spread : 0.4;
	if (!s->rare)
		return 0.5 + (cop_rng_unit(rng) < 0.5 ? -spread : spread);
	double u = cop_rng_unit(rng);
	return u * u * u * u * u * u * u * u * 0.3;
}

static cop_control_split split_of(double share, uint64_t unit)
{
	const cop_control_terms terms = { share, COP_CONTROL_UNIFORM, 1.0 };
	cop_event_id id;
	cop_event_id_from_unsigned(&id, unit);
	return cop_control_find(&terms, &id, KEY);
}

static void come(cop_control *control, const cop_control_split *split, const double *loss)
{
	(void)cop_control_note(control, split, 1.0);
	cop_control_end(control, split->by, cop_control_cluster(split->place), 1.0, loss);
}

static void strange(cop_control *control, const scene *s, uint64_t first)
{
	for (size_t i = 0; i < s->strangers; i++) {
		cop_control_split split = split_of(s->share, first + s->units + i);
		const double loss = 0.5;
		if (s->strangers_held)
			split.by = COP_CONTROL_HELD;
		come(control, &split, &loss);
	}
}

static void visit(cop_control *control, const scene *s, uint64_t first, size_t u, double mean, cop_rng *rng)
{
	cop_control_split split = split_of(s->share, first + u);
	bool held = split.by == COP_CONTROL_HELD;
	bool comes = !held || cop_rng_unit(rng) < s->held_come, told = !held || cop_rng_unit(rng) < s->held_told;
	double loss = cop_rng_unit(rng) < (held ? mean : fmax(mean - s->effect, 0.0)) ? 1.0 : 0.0;
	if (comes)
		come(control, &split, told ? &loss : NULL);
}

static void launch(const scene *s, uint64_t number, outcome *out)
{
	static cop_control control;
	static double mean[2048];
	const uint64_t first = number * 1000003;
	cop_control_summary is;
	cop_rng rng;
	bool missed = false, plain = false;
	cop_rng_init(&rng, SEED, number);
	cop_control_init(&control);
	for (size_t u = 0; u < s->units; u++)
		mean[u] = unit_mean(s, &rng);
	for (size_t v = 0; v < s->visits; v++) {
		for (size_t u = 0; u < s->units; u++)
			visit(&control, s, first, u, mean[u], &rng);
		cop_control_summarise(&control, &is);
		missed |= is.low > s->effect || is.high < s->effect;
		cop_unit_mean_figures by[2];
		for (size_t g = 0; g < 2; g++)
			cop_unit_mean_get(&control.group[g].loss, COP_CONTROL_RISK / 4.0, &by[g]);
		plain |= by[1].low - by[0].high > s->effect || by[1].high - by[0].low < s->effect;
	}
	strange(&control, s, first);
	cop_control_summarise(&control, &is);
	out->missed += missed;
	out->plain_missed += plain;
	out->above += is.low > 0.0;
	out->suspicious += is.suspicious;
	out->uneven += is.uneven;
	if (s->visits > 1)
		assert_true(cop_control_returning(&control));
}

static outcome launches(const scene *s, size_t count)
{
	outcome out = { 0 };
	for (uint64_t number = 1; number <= count; number++)
		launch(s, number, &out);
	printf("%s: missed %zu (by decisions %zu), above 0 %zu, suspicious %zu, uneven %zu of %zu\n", s->name,
	        out.missed, out.plain_missed, out.above, out.suspicious, out.uneven, count);
	return out;
}

static void test_interval_is_one_of_units(void **state)
{
	(void)state;
	static const scene scenes[] = {
		{ "200 units", 200, 60, 0.2, .held_come = 1, .held_told = 1 },
		{ "40 units", 40, 100, 0.3, .held_come = 1, .held_told = 1 },
		{ "rare losses", 300, 60, 0.1, .rare = true, .held_come = 1, .held_told = 1 },
	};
	size_t plain = 0;
	for (size_t i = 0; i < 3; i++) {
		const outcome out = launches(&scenes[i], 60);
		assert_true(out.missed <= 3 && out.suspicious == 0 && out.uneven == 0);
		plain += out.plain_missed;
	}
	assert_true(plain > 30); /* what is looked for is there */
}

static void test_effect_on_many_units_is_found(void **state)
{
	(void)state;
	static const scene s = { "an effect", 2000, 20, 0.5, .spread = 0.1, .effect = 0.1, .held_come = 1,
		.held_told = 1 };
	const outcome out = launches(&s, 20);
	assert_true(out.above >= 18 && out.suspicious == 0 && out.uneven == 0);
}

static void test_split_goes_wrong_after_the_first_visit(void **state)
{
	(void)state;
	static const scene away = { "held units stay away", 500, 10, 0.5, .held_come = 0.1, .held_told = 1 };
	static const scene fair = { "a fair split", 500, 10, 0.5, .held_come = 1, .held_told = 1 };
	static const scene few = { "few units, a small group", 60, 20, 0.05, .held_come = 1, .held_told = 1 };
	static const scene late = { "late strangers", 2000, 3, 0.5, .held_come = 1, .held_told = 1, .strangers = 2000,
		.strangers_held = true };
	assert_int_equal(launches(&away, 30).suspicious, 30);
	assert_int_equal(launches(&late, 10).suspicious, 10);
	assert_int_equal(launches(&fair, 200).suspicious, 0);
	assert_int_equal(launches(&few, 300).suspicious, 0);
}

static void test_places_that_are_all_taken_do_not_blind(void **state)
{
	(void)state;
	static cop_control control;
	cop_control_summary is;
	const double loss = 0.5;
	enum { BEFORE = 700000, AFTER = 30000 };
	cop_control_init(&control);
	for (uint64_t u = 0; u < BEFORE; u++) {
		const cop_control_split split = split_of(0.5, u);
		come(&control, &split, &loss);
	}
	cop_control_summarise(&control, &is);
	assert_true(is.units > COP_CONTROL_PLACES - 100 && !is.suspicious);
	for (uint64_t u = BEFORE; u < BEFORE + AFTER; u++) {
		cop_control_split split = split_of(0.5, u);
		split.by = COP_CONTROL_HELD;
		come(&control, &split, &loss);
	}
	cop_control_summarise(&control, &is);
	assert_true(is.suspicious);
}

static void test_losses_that_one_group_lacks_are_noticed(void **state)
{
	(void)state;
	static const scene half = { "half of the control group's losses", 500, 10, 0.3, .held_come = 1,
		.held_told = 0.5 };
	const outcome out = launches(&half, 20);
	assert_int_equal(out.uneven, 20);
	assert_int_equal(out.suspicious, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval_is_one_of_units),
		cmocka_unit_test(test_effect_on_many_units_is_found),
		cmocka_unit_test(test_split_goes_wrong_after_the_first_visit),
		cmocka_unit_test(test_places_that_are_all_taken_do_not_blind),
		cmocka_unit_test(test_losses_that_one_group_lacks_are_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
