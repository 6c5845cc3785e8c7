/* A model that watches an existing system: its figures and its learner against a loop over a bare learner, its rules
 * for what waits, what it would gain and what it does once it decides itself. */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "model_fixture.h"
#include "online/model_apprentice.h"
#include "online/model_shadow.h"
#include "unit/learn/rank_fixture.h"
#include "unit/learn/refitted_fixture.h"

static const struct {
	const char *learner;
	bool sparse;
} kinds[] = { { "ensemble", false }, { "ensemble", true }, { "dgt", false } };
#define KINDS (sizeof kinds / sizeof *kinds)

/* The system: one arm most of the time, the rest shared. */
typedef struct choice {
	uint32_t arm;
	double p;
} choice;

static choice choose(cop_rng *rng, size_t favourite, double epsilon)
{
	double rest = epsilon / FIXTURE_ARMS;
	bool explores = cop_rng_unit(rng) < epsilon;
	uint32_t arm = explores ? (uint32_t)cop_rng_below(rng, FIXTURE_ARMS) : (uint32_t)favourite;
	return (choice){ arm, arm == favourite ? 1.0 - epsilon + rest : rest };
}

static cop_err observe(cop_model *model, uint64_t n, const cop_row *x, const choice *c, double now,
        cop_model_observed *made, bool *repeated)
{
	cop_event_id id = model_id(n);
	const cop_model_context context = { .id = &id, .x = x };
	*made = (cop_model_observed){ .decision = { .arm = c->arm, .p = c->p } };
	return cop_model_observe(model, &context, now, made, repeated);
}

/* Observes an event of the stream under id n. */
static cop_model_observed watch(cop_model *model, cop_rng *rng, uint64_t n, double now)
{
	fixture_event e;
	cop_model_observed made;
	bool repeated;
	fixture_draw(&e, rng, false);
	choice c = choose(rng, 0, 0.5);
	assert_int_equal(observe(model, n, &e.row, &c, now, &made, &repeated), COP_OK);
	assert_false(repeated);
	return made;
}

static cop_apprentice_summary figures(const cop_model *model)
{
	cop_apprentice_summary is;
	cop_model_get_apprentice(model, &is);
	return is;
}

static void assert_same_model(const cop_model *a, const cop_bytes *before)
{
	cop_bytes after;
	cop_bytes_init(&after);
	model_save(a, &after);
	assert_bytes_equal(before, &after);
	cop_bytes_fini(&after);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * (1.0 + fabs(b)); }

static void test_figures_and_learner_equal_a_loop_over_a_bare_learner(void **state)
{
	(void)state;
	printf("seed %u\n", FIXTURE_SEED);
	for (size_t k = 0; k < KINDS; k++) {
		cop_model_settings s;
		cop_rng rng;
		cop_bytes one, two;
		double own = 0.0, agreed = 0.0, gain = 0.0, weight = 0.0, losses = 0.0;
		cop_bytes_init(&one);
		cop_bytes_init(&two);
		cop_rng_init(&rng, FIXTURE_SEED, 1);
		model_settings(&s, kinds[k].learner, kinds[k].sparse);
		cop_model *model = model_new(&s);
		cop_learner *bare = fixture_learner(&s.learner);
		for (uint64_t i = 0; i < 2000; i++) {
			fixture_event e;
			cop_model_observed made;
			cop_policy_view view;
			bool repeated;
			fixture_draw(&e, &rng, kinds[k].sparse);
			choice c = choose(&rng, 1, 0.6);
			double loss = c.arm == e.best ? 0.0 : 1.0;
			cop_decision d = { .arm = c.arm, .p = c.p };
			assert_int_equal(cop_learner_follow(bare, &e.row, NULL, &d, &view), COP_OK);
			double q = view.p[c.arm];
			own += q;
			agreed += view.best == c.arm;
			gain += (1.0 - q / c.p) * (loss - (i > 0 ? losses / (double)i : 0.5));
			weight += q / c.p;
			losses += loss;
			assert_int_equal(cop_learner_learn(bare, &e.row, NULL, &d, &loss, true), COP_OK);
			assert_int_equal(observe(model, i, &e.row, &c, (double)i, &made, &repeated), COP_OK);
			assert_true(made.own_p == q && made.decision.greedy == (view.best == c.arm));
			assert_true(made.decision.arm == c.arm && made.decision.p == c.p && made.decision.rev == d.rev);
			assert_memory_equal(made.decision.prediction, d.prediction, sizeof d.prediction);
			assert_int_equal(model_feedback(model, i, loss, (double)i), COP_FEEDBACK_APPLIED);
		}
		fixture_save(bare, &one);
		fixture_save(cop_model_learner(model), &two);
		assert_bytes_equal(&one, &two);
		cop_apprentice_summary is = figures(model);
		assert_true(is.observed == 2000 && is.losses == 2000 && near(is.agreement, agreed / 2000.0));
		assert_true(near(is.own_p, own / 2000.0) && near(is.support, weight / 2000.0));
		assert_int_equal(is.doubt, COP_APPRENTICE_SURE);
		assert_true(near(is.gain, gain / 2000.0));
		const cop_model_counters *count = cop_model_get_counters(model);
		assert_true(count->decisions == 2000 && (double)count->greedy == agreed && count->learned == 2000);
		cop_bytes_fini(&one);
		cop_bytes_fini(&two);
		cop_learner_free(bare);
		cop_model_free(model);
	}
}

/* A system that mostly plays one arm, or mostly the best one; the model learns from it. */
static cop_model *taught(uint64_t seed, bool good, size_t events, double *first, double *last)
{
	cop_model_settings s;
	cop_rng rng;
	double agreed[2] = { 0.0, 0.0 };
	cop_rng_init(&rng, FIXTURE_SEED, seed);
	model_settings(&s, "ensemble", false);
	strcpy(s.learner.policy, "epsilon");
	s.learner.exploration.epsilon = 0.2;
	s.learner.seed = seed;
	cop_model *model = model_new(&s);
	for (uint64_t i = 0; i < events; i++) {
		fixture_event e;
		cop_model_observed made;
		bool repeated;
		fixture_draw(&e, &rng, false);
		choice c = choose(&rng, good ? e.best : 0, good ? 0.2 : 0.8);
		assert_int_equal(observe(model, i, &e.row, &c, (double)i, &made, &repeated), COP_OK);
		(void)model_feedback(model, i, c.arm == e.best ? 0.0 : 1.0, (double)i);
		agreed[i >= events / 2] += made.decision.greedy;
	}
	*first = agreed[0] / (double)(events / 2);
	*last = agreed[1] / (double)(events / 2);
	return model;
}

/* Own decisions with feedback: their mean loss. */
static double run_itself(cop_model *model, uint64_t seed)
{
	cop_rng rng;
	double total = 0.0;
	cop_rng_init(&rng, FIXTURE_SEED, 1000 + seed);
	for (uint64_t i = 0; i < 500; i++) {
		fixture_event e;
		cop_decision d;
		bool repeated;
		cop_event_id id = model_id(1000000 + i);
		fixture_draw(&e, &rng, false);
		assert_int_equal(decide_context(model, &id, &e.row, NULL, 1e6, &d, &repeated), COP_OK);
		double loss = d.arm == e.best ? 0.0 : 1.0;
		total += loss;
		(void)model_feedback(model, 1000000 + i, loss, 1e6);
	}
	return total / 500.0;
}

static void test_better_apprentice_is_found_and_decides_better(void **state)
{
	(void)state;
	size_t gains = 0;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		double first, last;
		cop_model *model = taught(seed, false, 3000, &first, &last);
		cop_apprentice_summary is = figures(model);
		gains += is.doubt == COP_APPRENTICE_SURE && is.low > 0.0;
		double loss = run_itself(model, seed);
		assert_true(loss < 0.45); /* the system's is 0.75 */
		assert_true(figures(model).observed == 3000 && figures(model).losses == 3000);
		cop_model_free(model);
	}
	assert_true(gains >= 9);
}

static void test_worse_apprentice_is_never_said_to_gain(void **state)
{
	(void)state;
	size_t worse = 0;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		double first, last;
		cop_model *model = taught(seed, true, 3000, &first, &last);
		cop_apprentice_summary is = figures(model);
		assert_false(is.low > 0.0);
		worse += is.high < 0.0;
		assert_true(last > first && last > 0.7);
		cop_model_free(model);
	}
	assert_true(worse >= 5);
}

static void test_observed_decisions_wait_by_the_rules_of_own_ones(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	cop_feedback_result result;
	model_settings(&s, "ensemble", false);
	s.has_default_loss = true;
	s.default_loss = 1.0;
	s.pending_max = 3;
	cop_model *model = model_new(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 2);
	cop_model_observed made = watch(model, &rng, 1, 0.0), again;
	bool repeated;
	fixture_event e;
	fixture_draw(&e, &rng, false);
	const choice other = { (made.decision.arm + 1) % FIXTURE_ARMS, 0.125 };
	assert_int_equal(observe(model, 1, &e.row, &other, 1.0, &again, &repeated), COP_OK);
	assert_true(repeated && again.decision.arm == made.decision.arm && again.decision.p == made.decision.p);
	assert_true(again.own_p == made.own_p);
	cop_decision d;
	cop_event_id id = model_id(1);
	assert_int_equal(decide_context(model, &id, &e.row, NULL, 1.0, &d, &repeated), COP_OK);
	assert_true(repeated && d.arm == made.decision.arm && d.p == made.decision.p);
	assert_int_equal(cop_model_get_counters(model)->repeated, 2);
	assert_int_equal(cop_model_expire(model, WINDOW, 10), 1); /* its default loss is evidence */
	assert_true(figures(model).observed == 1 && figures(model).losses == 1);
	assert_int_equal(model_feedback(model, 1, 0.0, WINDOW), COP_FEEDBACK_LATE);
	for (uint64_t i = 2; i < 7; i++)
		(void)watch(model, &rng, i, 20.0);
	assert_true(cop_model_pending(model) == 3 && cop_model_get_counters(model)->evicted == 2);
	assert_int_equal(model_feedback(model, 5, 0.25, 21.0), COP_FEEDBACK_APPLIED);
	assert_int_equal(model_feedback(model, 5, 0.25, 21.0), COP_FEEDBACK_DUPLICATE);
	assert_true(figures(model).observed == 6 && figures(model).losses == 2);
	id = model_id(8); /* never shown: dropped, and nothing is learned of it */
	const cop_model_context deferred = { .id = &id, .x = &e.row, .defer = true };
	assert_int_equal(cop_model_observe(model, &deferred, 21.0, &made, &repeated), COP_OK);
	(void)cop_model_expire(model, 100.0, 10);
	assert_true(cop_model_pending(model) == 0 && figures(model).losses == 4);
	assert_int_equal(cop_model_get_counters(model)->dropped, 1);
	cop_model_activate(model, &id, 100.0, &result);
	assert_int_equal(result, COP_FEEDBACK_LATE);
	cop_model_free(model);
}

static void test_explained_is_the_arm_that_was_played(void **state)
{
	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		cop_model_settings s;
		cop_rng rng;
		cop_decision d;
		const cop_explanation *kept, *fresh;
		bool is_kept;
		double then;
		model_settings(&s, kinds[k].learner, false);
		s.explain_keep = 2;
		cop_model *model = model_new(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 3);
		for (uint64_t i = 0; i < 50; i++) {
			(void)watch(model, &rng, i, 0.0);
			(void)model_feedback(model, i, cop_rng_unit(&rng), 0.0);
		}
		cop_model_observed made = watch(model, &rng, 100, 0.0);
		cop_event_id id = model_id(100);
		assert_int_equal(cop_model_explain(model, &id, &d, &kept, &is_kept), COP_OK);
		assert_true(is_kept && d.arm == made.decision.arm && d.p == made.decision.p);
		assert_true(kept->arm == made.decision.arm && kept->rev == made.decision.rev);
		then = kept->prediction;
		for (uint64_t i = 101; i < 103; i++) /* pushes it out, without learning */
			(void)watch(model, &rng, i, 0.0);
		assert_int_equal(cop_model_explain(model, &id, &d, &fresh, &is_kept), COP_OK);
		assert_true(!is_kept && fresh->arm == made.decision.arm && isfinite(fresh->prediction));
		assert_true(fabs(fresh->prediction - then) < 0.2); /* only statistics have moved */
		cop_model_free(model);
	}
}

static void test_answered_decisions_count_when_they_are_new(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	fixture_event e;
	cop_feedback_result result;
	model_settings(&s, "ensemble", false);
	cop_model *model = model_new(&s), *plain = model_new(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 4);
	fixture_draw(&e, &rng, false);
	cop_decision view = { .arm = 2, .p = 0.25 };
	cop_policy_view own;
	assert_int_equal(cop_learner_view(cop_model_learner(model), &e.row, NULL, &view, &own), COP_OK);
	double q = own.p[2];
	bool best = own.best == 2;
	cop_event_id id = model_id(1);
	cop_model_answered answered = { .x = &e.row, .arm = 2, .p = 0.25, .loss = 0.75 };
	assert_int_equal(cop_model_observe_answered(model, &id, &answered, 0.0, &result), COP_OK);
	assert_int_equal(result, COP_FEEDBACK_APPLIED);
	assert_true(answered.observed && answered.own_p == q && answered.agrees == best);
	assert_true(figures(model).observed == 1 && figures(model).losses == 1);
	assert_true(near(figures(model).support, q / 0.25));
	/* What it learns is what any model learns of such feedback. */
	assert_int_equal(cop_model_feedback_full(plain, &id, &e.row, 2, 0.25, &answered.loss, 1, 0.0, &result), COP_OK);
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	fixture_save(cop_model_learner(model), &one);
	fixture_save(cop_model_learner(plain), &two);
	assert_bytes_equal(&one, &two);
	answered.observed = false;
	assert_int_equal(cop_model_observe_answered(model, &id, &answered, 0.0, &result), COP_OK);
	assert_true(result == COP_FEEDBACK_DUPLICATE && !answered.observed);
	cop_model_observed made = watch(model, &rng, 2, 0.0);
	id = model_id(2); /* it waits: joined */
	answered = (cop_model_answered){ .x = &e.row, .arm = made.decision.arm, .p = 0.9, .loss = 0.5 };
	assert_int_equal(cop_model_observe_answered(model, &id, &answered, 0.0, &result), COP_OK);
	assert_true(result == COP_FEEDBACK_APPLIED && !answered.observed);
	assert_true(figures(model).observed == 2 && figures(model).losses == 2);
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
	cop_model_free(model);
	cop_model_free(plain);
}

static void test_what_cannot_be_observed_changes_nothing(void **state)
{
	(void)state;
	static const choice wrong[] = { { FIXTURE_ARMS, 0.5 }, { 1, 0.0 }, { 1, -0.5 }, { 1, 1.5 }, { 1, (double)NAN },
		{ 2, 0.5 /* masked */ } };
	cop_model_settings s;
	cop_rng rng;
	fixture_event e;
	cop_bytes before;
	cop_feedback_result result;
	bool repeated;
	cop_bytes_init(&before);
	cop_rng_init(&rng, FIXTURE_SEED, 5);
	model_settings(&s, "ensemble", false);
	cop_model *model = model_new(&s);
	for (uint64_t i = 0; i < 5; i++)
		(void)watch(model, &rng, i, 0.0);
	model_save(model, &before);
	fixture_draw(&e, &rng, false);
	const uint8_t mask[FIXTURE_ARMS] = { 1, 1, 0, 1 };
	cop_event_id id = model_id(100);
	const cop_model_context context = { .id = &id, .x = &e.row, .mask = mask };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_model_observed made = { .decision = { .arm = wrong[i].arm, .p = wrong[i].p } };
		assert_int_equal(cop_model_observe(model, &context, 1.0, &made, &repeated), COP_EINVAL);
		assert_same_model(model, &before);
		cop_model_answered answered = { .x = &e.row, .arm = wrong[i].arm, .p = wrong[i].p, .loss = 0.5 };
		if (i < 5)
			assert_int_equal(cop_model_observe_answered(model, &id, &answered, 1.0, &result), COP_EINVAL);
		assert_same_model(model, &before);
	}
	for (double own = -0.5; own < 2.0; own += 2.0) {
		const cop_model_observed made = { { .arm = 1, .p = 0.5 }, own };
		assert_int_equal(model_replay(model, model, &context, 1.0, &made.decision, &made.own_p), COP_EINVAL);
		cop_model_answered answered = { &e.row, 1, 0.5, 0.5, true, own, false };
		assert_int_equal(cop_model_observe_answered(model, &id, &answered, 1.0, &result), COP_EINVAL);
	}
	cop_model_answered late = { .x = &e.row, .arm = 1, .p = 0.5, .loss = 1.5 };
	assert_int_equal(cop_model_observe_answered(model, &id, &late, 1.0, &result), COP_EINVAL);
	assert_same_model(model, &before);
	cop_model_free(model);
	model_settings(&s, "value", false);
	model = model_new(&s);
	const cop_model_context value = { .id = &id, .x = &e.row };
	cop_model_observed made = { .decision = { .p = 1.0 } };
	assert_int_equal(cop_model_observe(model, &value, 1.0, &made, &repeated), COP_EINVAL);
	assert_int_equal(model_replay(model, model, &value, 1.0, &made.decision, &made.own_p), COP_EINVAL);
	cop_model_free(model);
	cop_bytes_fini(&before);
}

/* The file's sections but the one of that name. */
static void copy_without(const cop_bytes *from, const char *name, cop_bytes *to)
{
	cop_section_file file;
	cop_model_section section;
	cop_bytes_clear(to);
	assert_int_equal(cop_section_file_open(&file, from->data, from->length, NULL, NULL), COP_OK);
	size_t whole = cop_section_file_begin(to);
	for (size_t at = 0; cop_section_file_next(&file, &at, &section);) {
		if (strcmp(section.name, name) == 0)
			continue;
		size_t mark = cop_section_file_begin_section(to, section.name, section.version);
		cop_bytes_put(to, section.data, section.length);
		cop_section_file_end_section(to, mark);
	}
	cop_section_file_end(to, whole);
}

static void test_saved_only_once_used_and_refused_when_it_does_not_fit(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	cop_bytes bytes, cut;
	cop_section_file file;
	cop_model_section section;
	cop_bytes_init(&bytes);
	cop_bytes_init(&cut);
	cop_rng_init(&rng, FIXTURE_SEED, 6);
	model_settings(&s, "ensemble", false);
	cop_model *model = model_new(&s);
	model_run(model, &rng, false, 0, 20);
	model_save(model, &bytes);
	assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL), COP_OK);
	assert_int_equal(cop_section_file_find(&file, "apprentice", 0, 1, &section), COP_ENOTFOUND);
	(void)watch(model, &rng, 1000, 20.0);
	model_save(model, &bytes);
	assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL), COP_OK);
	assert_int_equal(cop_section_file_find(&file, "apprentice", 0, 1, &section), COP_OK);
	cop_model *b = model_new(&s);
	assert_int_equal(cop_model_load(b, bytes.data, bytes.length, NULL), COP_OK);
	assert_same_model(b, &bytes);
	assert_true(figures(b).observed == 1);
	copy_without(&bytes, "apprentice", &cut); /* one waits that was never counted */
	cop_diag diag = { 0 };
	assert_int_equal(cop_model_load(b, cut.data, cut.length, &diag), COP_EFORMAT);
	assert_true(diag.message[0] != '\0');
	cop_model_free(b);
	b = model_new(&s); /* loading what observed nothing forgets what was observed */
	(void)watch(b, &rng, 1, 0.0);
	(void)model_feedback(b, 1, 0.5, 0.0);
	model_save(b, &bytes);
	copy_without(&bytes, "apprentice", &cut);
	assert_int_equal(cop_model_load(b, cut.data, cut.length, NULL), COP_OK);
	assert_true(figures(b).observed == 0);
	cop_model_free(b);
	cop_model_free(model);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&cut);
}

static void test_steady_observing_allocates_nothing(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 7);
	model_settings(&s, "ensemble", false);
	s.explain_keep = 4;
	cop_model *model = model_new(&s);
	for (uint64_t i = 0; i < 2000; i++) {
		if (i == 1000)
			cop_test_alloc_fail(0, 0);
		(void)watch(model, &rng, i, (double)i);
		if (i >= 3 && i % 5 != 0)
			(void)model_feedback(model, i - 3, cop_rng_unit(&rng), (double)i);
		(void)cop_model_expire(model, (double)i, 10);
	}
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_model_free(model);
}

static void test_without_memory_nothing_is_observed(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	fixture_event e;
	cop_bytes before;
	size_t refused = 0;
	cop_bytes_init(&before);
	cop_rng_init(&rng, FIXTURE_SEED, 8);
	model_settings(&s, "ensemble", false);
	s.pending_max = 10000;
	cop_model *model = model_new(&s);
	for (uint64_t i = 0; i < 1000; i++) {
		fixture_draw(&e, &rng, false);
		choice c = choose(&rng, 0, 0.5);
		cop_err err = COP_ENOMEM;
		model_save(model, &before);
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_model_observed made;
			bool repeated;
			cop_test_alloc_fail(n, 0);
			err = observe(model, i, &e.row, &c, 0.0, &made, &repeated);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || err == COP_ENOMEM);
			if (err != COP_OK)
				assert_same_model(model, &before);
			refused += err != COP_OK;
		}
	}
	assert_true(refused > 2);
	cop_model_free(model);
	cop_bytes_fini(&before);
}

/* Both learners see what was played; the serving one is the champion with its own probability, not the system's. */
static void test_challenger_follows_and_is_weighed_against_the_model(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_rng rng;
	cop_model_evidence is;
	double champion = 0.0;
	model_settings(&s, "ensemble", false);
	cop_model *model = model_new(&s);
	const refit_shape shape = { .d = FIXTURE_D, .outputs = FIXTURE_ARMS, .depth = 3 };
	cop_trees *trees = refit_trees(&shape, 1, 3);
	assert_int_equal(cop_model_challenge(model, trees, NULL), COP_OK);
	cop_trees_free(trees);
	cop_rng_init(&rng, FIXTURE_SEED, 9);
	for (uint64_t i = 0; i < 300; i++) {
		cop_model_observed made = watch(model, &rng, i, (double)i);
		champion += made.own_p / made.decision.p;
		(void)model_feedback(model, i, cop_rng_unit(&rng), (double)i);
	}
	cop_model_get_evidence(model, &is);
	assert_int_equal(is.summary.events, 300);
	assert_true(near(is.summary.champion_weight, champion / 300.0));
	assert_true(near(figures(model).support, champion / 300.0));
	cop_model_free(model);
}

static void test_candidates_are_observed_by_their_place(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_model_settings s;
		cop_rng rng;
		double agreed[2] = { 0.0, 0.0 };
		cop_model_settings_init(&s);
		rank_settings(&s.learner, sparse != 0);
		s.explain_keep = 2;
		cop_model *model = model_new(&s), *replayed = model_new(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 10);
		for (uint64_t i = 0; i < 3000; i++) {
			rank_event e;
			bool repeated;
			cop_feedback_result result;
			rank_draw(&e, &rng, sparse != 0, 4);
			cop_event_id id = model_id(i);
			const cop_model_context context = {
				.id = &id, .x = &e.row, .candidate = e.candidate, .candidates = e.set.count
			};
			cop_model_observed made = { .decision = {
				                            .arm = (uint32_t)cop_rng_below(&rng, 4), .p = 0.25 } };
			uint32_t place = made.decision.arm;
			assert_int_equal(cop_model_observe(model, &context, 0.0, &made, &repeated), COP_OK);
			assert_int_equal(made.decision.arm, place);
			assert_int_equal(
			        model_replay(model, replayed, &context, 0.0, &made.decision, &made.own_p), COP_OK);
			assert_int_equal(cop_model_feedback(model, &id, &e.loss[place], 1, 0.0, &result), COP_OK);
			assert_int_equal(cop_model_feedback(replayed, &id, &e.loss[place], 1, 0.0, &result), COP_OK);
			agreed[i >= 2000] += made.decision.greedy == (place == e.best);
		}
		cop_apprentice_summary is = figures(model);
		assert_true(is.observed == 3000 && is.doubt == COP_APPRENTICE_SURE && is.low > 0.0);
		assert_true(agreed[1] / 1000.0 > agreed[0] / 2000.0); /* it says ever better which one is best */
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		model_save(model, &bytes);
		assert_same_model(replayed, &bytes);
		cop_bytes_fini(&bytes);
		rank_event e;
		rank_draw(&e, &rng, sparse != 0, 4);
		cop_event_id id = model_id(5000);
		const cop_model_context context = { .id = &id, .x = &e.row, .candidate = e.candidate, .candidates = 4 };
		cop_model_observed beyond = { .decision = { .arm = 4, .p = 0.25 } };
		bool repeated;
		assert_int_equal(cop_model_observe(model, &context, 0.0, &beyond, &repeated), COP_EINVAL);
		cop_model_answered answered = { .x = &e.row, .arm = 0, .p = 0.25 };
		cop_feedback_result result;
		assert_int_equal(cop_model_observe_answered(model, &id, &answered, 0.0, &result), COP_EINVAL);
		cop_model_free(model);
		cop_model_free(replayed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_and_learner_equal_a_loop_over_a_bare_learner),
		cmocka_unit_test(test_better_apprentice_is_found_and_decides_better),
		cmocka_unit_test(test_worse_apprentice_is_never_said_to_gain),
		cmocka_unit_test(test_observed_decisions_wait_by_the_rules_of_own_ones),
		cmocka_unit_test(test_explained_is_the_arm_that_was_played),
		cmocka_unit_test(test_answered_decisions_count_when_they_are_new),
		cmocka_unit_test(test_what_cannot_be_observed_changes_nothing),
		cmocka_unit_test(test_saved_only_once_used_and_refused_when_it_does_not_fit),
		cmocka_unit_test(test_steady_observing_allocates_nothing),
		cmocka_unit_test(test_without_memory_nothing_is_observed),
		cmocka_unit_test(test_challenger_follows_and_is_weighed_against_the_model),
		cmocka_unit_test(test_candidates_are_observed_by_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
