/* Experts of the ensemble that rest: on a linear truth some do, and wake when it becomes one of products. */
#include "rows.h"

#include <math.h>
#include <stdio.h>

#include "learn/learner.h"

#define SEED    1013U
#define D       6
#define NOISE   0.1
#define LINEAR  14000  /* events */
#define LATE    400000 /* at most */
#define WAITING 40

typedef enum truth { STRAIGHT, PRODUCTS } truth;

typedef struct event {
	float x[D];
	cop_row row;
	uint32_t best;
} event;

static void draw(event *e, cop_rng *rng, truth as)
{
	for (size_t j = 0; j < D; j++)
		e->x[j] = (float)cop_rng_normal(rng);
	double straight = (double)(e->x[0] - 2.0f * e->x[1] + e->x[2]);
	double products = (double)(e->x[0] * e->x[1] + e->x[2] * e->x[3]);
	e->row = (cop_row){ .d = D, .dense = e->x };
	e->best = (as == STRAIGHT ? straight : products) > 0.0;
	if (cop_rng_unit(rng) < NOISE)
		e->best = 1 - e->best;
}

static cop_learner *make_of(size_t arms, uint64_t seed)
{
	cop_learner_settings s;
	cop_learner *learner;
	cop_diag diag = { 0 };
	cop_learner_settings_init(&s);
	s.features = D;
	s.arms = arms;
	s.seed = seed;
	s.exploration.shares.least_propensity = 0.0; /* what an expert saves shows sooner */
	assert_int_equal(cop_learner_new(&s, &learner, &diag), COP_OK);
	return learner;
}

static cop_learner *make(uint64_t seed) { return make_of(2, seed); }

static double step(cop_learner *learner, cop_rng *rng, truth as)
{
	event e;
	cop_decision d;
	draw(&e, rng, as);
	assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
	const double loss = d.arm == e.best ? 0.0 : 1.0;
	assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, true), COP_OK);
	return loss;
}

static double run(cop_learner *learner, cop_rng *rng, truth as, size_t n)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i++)
		sum += step(learner, rng, as);
	return sum / (double)n;
}

/* Bits of the experts that rest, which explain nothing and have no weight; the others' shares make up the prediction.
 */
static unsigned resting(cop_learner *learner)
{
	static const float zeros[D];
	const cop_row row = { .d = D, .dense = zeros };
	cop_decision d = { .arm = 1, .p = 1.0 };
	cop_explanation e;
	cop_policy_view view;
	unsigned bits = 0;
	double sum = 0.0;
	assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
	assert_int_equal(cop_learner_view(learner, &row, NULL, &d, &view), COP_OK);
	cop_learner_explain(learner, &row, NULL, &d, &e);
	const size_t average = e.expert_count - 1;
	assert_string_equal(e.experts[average].name, "average");
	for (size_t i = 0; i <= average; i++) {
		const cop_explained_expert *expert = &e.experts[i];
		sum += expert->weight * expert->prediction;
		if (!expert->resting)
			continue;
		bits |= 1u << i;
		assert_true(expert->weight == 0.0 && d.prediction[i] == d.prediction[average] &&
		            expert->prediction == e.experts[average].prediction);
		assert_true(expert->count == 0 && expert->trees == 0 && expert->linear == 0.0);
	}
	assert_true(fabs(sum - e.prediction) < 1e-5);
	cop_explanation_fini(&e);
	return bits;
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_learner_save(learner, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static void check_same(const cop_learner *a, const cop_learner *b)
{
	cop_bytes of_a, of_b;
	cop_bytes_init(&of_a);
	cop_bytes_init(&of_b);
	save(a, &of_a);
	save(b, &of_b);
	assert_bytes_equal(&of_a, &of_b);
	cop_bytes_fini(&of_a);
	cop_bytes_fini(&of_b);
}

/* ---- tests ---- */

static void test_nobody_rests_in_the_first_events(void **state)
{
	(void)state;
	cop_rng rng;
	cop_learner *learner = make(1);
	cop_rng_init(&rng, SEED, 1);
	for (size_t n = 0; n < 2999; n++)
		(void)step(learner, &rng, STRAIGHT);
	assert_int_equal(resting(learner), 0);
	cop_learner_free(learner);
}

static void test_rest_on_a_linear_truth_wake_at_another_one(void **state)
{
	(void)state;
	cop_rng rng;
	cop_learner *learner = make(2);
	cop_rng_init(&rng, SEED, 2);
	double early = run(learner, &rng, STRAIGHT, 3000);
	unsigned slept = 0;
	double late = 0.0;
	for (size_t n = 3000; n < LINEAR; n += 500) {
		late += run(learner, &rng, STRAIGHT, 500) / ((LINEAR - 3000) / 500);
		slept |= resting(learner);
	}
	unsigned asleep = resting(learner);
	printf("linear: loss %.4f, then %.4f; have slept %x, asleep at the end %x\n", early, late, slept, asleep);
	assert_true(asleep != 0 && late < early && late < 0.1256 + 0.003); /* with all awake all along: 0.1256 */
	assert_true((slept & COP_EXPERT_FOREST) == 0);                     /* exploration asks it for its doubts */
	size_t woke = 0;
	for (; resting(learner) != 0 && woke < 3000; woke += 50)
		(void)run(learner, &rng, PRODUCTS, 50);
	double first = run(learner, &rng, PRODUCTS, 2000), then = run(learner, &rng, PRODUCTS, 10000);
	printf("products: all awake after %zu events, loss %.4f, then %.4f\n", woke, first, then);
	assert_true(woke < 1000);
	assert_true(then < 0.25 && then < first);
	cop_learner_free(learner);
}

/* The same, saved and loaded, and cloned, at moments of all kinds. */
static void test_clones_go_on_alike(void **state)
{
	(void)state;
	static const size_t more[] = { 1500, 1000, 600, 1500, 4000 };
	cop_rng rng, again;
	cop_learner *a = make(3), *b;
	unsigned slept = 0;
	cop_rng_init(&rng, SEED, 3);
	for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
		(void)run(a, &rng, STRAIGHT, more[i]);
		slept |= resting(a);
		assert_int_equal(cop_learner_clone(a, &b), COP_OK);
		again = rng;
		(void)run(a, &rng, STRAIGHT, 1200);
		(void)run(b, &again, STRAIGHT, 1200);
		check_same(a, b);
		cop_learner_free(a);
		a = b;
		rng = again;
	}
	assert_true(slept != 0);
	cop_learner_free(a);
}

/* The first two arms lose by chance; products tell the third one's loss. */
static double loss_among_three(const event *e, uint32_t arm, cop_rng *rng)
{
	if (arm < 2)
		return cop_rng_unit(rng) < 0.3 + 0.3 * arm ? 1.0 : 0.0;
	return e->x[0] * e->x[1] + e->x[2] * e->x[3] > 0.0f ? 0.0 : 1.0;
}

/* The same 2,500 events, in the middle of a trial, with the mask that learning is told. */
static void learn_among_three(cop_learner *learner, const uint8_t *mask)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 6);
	for (size_t n = 0; n < 2500; n++) {
		event e;
		cop_decision d = { .arm = (uint32_t)(n % 3), .p = 1.0 / 3.0 };
		draw(&e, &rng, STRAIGHT);
		const double loss = loss_among_three(&e, d.arm, &rng);
		cop_learner_advance(learner, &e.row, NULL);
		assert_int_equal(
		        cop_learner_learn(learner, &e.row, &(cop_candidates){ .mask = mask }, &d, &loss, true), COP_OK);
	}
}

/* What the mixture without the tried one would choose is judged among the eligible arms. */
static void test_trials_look_at_the_eligible_arms(void **state)
{
	(void)state;
	static const uint8_t all[] = { 1, 1, 1 }, two[] = { 1, 1, 0 };
	cop_bytes of_any, of_two;
	cop_learner *any = make_of(3, 6), *whole = make_of(3, 6), *some = make_of(3, 6);
	learn_among_three(any, NULL);
	learn_among_three(whole, all);
	learn_among_three(some, two);
	check_same(any, whole);
	cop_bytes_init(&of_any);
	cop_bytes_init(&of_two);
	save(any, &of_any);
	save(some, &of_two);
	assert_true(of_any.length == of_two.length && memcmp(of_any.data, of_two.data, of_any.length) != 0);
	cop_bytes_fini(&of_any);
	cop_bytes_fini(&of_two);
	cop_learner_free(any);
	cop_learner_free(whole);
	cop_learner_free(some);
}

static void test_frozen_learner_leaves_sleepers_alone(void **state)
{
	(void)state;
	cop_rng rng;
	cop_learner *learner = make(2), *before;
	cop_rng_init(&rng, SEED, 2);
	(void)run(learner, &rng, STRAIGHT, LINEAR);
	unsigned asleep = resting(learner);
	assert_true(asleep != 0);
	assert_int_equal(cop_learner_clone(learner, &before), COP_OK);
	cop_learner_freeze(learner, true);
	for (size_t n = 0; n < 3000; n++) {
		event e;
		cop_decision d = { .arm = 0, .p = 1.0 };
		cop_policy_view view;
		const double loss = (double)(n % 2);
		draw(&e, &rng, PRODUCTS);
		assert_int_equal(cop_learner_view(learner, &e.row, NULL, &d, &view), COP_OK);
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, true), COP_OK);
	}
	assert_int_equal(resting(learner), asleep);
	check_same(learner, before);
	cop_learner_free(before);
	cop_learner_free(learner);
}

/* Losses come late and in no order: decisions wait while experts fall asleep and wake. A replay of what was logged,
 * which decides nothing, comes to the same bytes. */
static void test_replay_of_late_losses_comes_to_the_same(void **state)
{
	(void)state;
	typedef struct waiting {
		event e;
		cop_decision d;
	} waiting;
	static waiting queue[WAITING];
	cop_rng rng;
	cop_learner *live = make(5), *replay = make(5);
	unsigned slept = 0, changes = 0, before = 0;
	cop_rng_init(&rng, SEED, 5);
	/* Straight until an expert rests: when, depends on the processor's rounding. */
	for (size_t n = 0, since = 0; n < LATE && since < 12000; n++, since += slept != 0) {
		waiting *w = &queue[n < WAITING ? n : cop_rng_below(&rng, WAITING)];
		if (n >= WAITING) {
			const double loss = w->d.arm == w->e.best ? 0.0 : 1.0;
			assert_int_equal(cop_learner_learn(live, &w->e.row, NULL, &w->d, &loss, true), COP_OK);
			assert_int_equal(cop_learner_learn(replay, &w->e.row, NULL, &w->d, &loss, true), COP_OK);
		}
		draw(&w->e, &rng, since == 0 ? STRAIGHT : PRODUCTS);
		w->e.row.dense = w->e.x;
		assert_int_equal(cop_learner_decide(live, &w->e.row, NULL, &w->d), COP_OK);
		cop_learner_advance(replay, &w->e.row, NULL);
		if (n % 500 == 0) {
			unsigned now = resting(live);
			changes += now != before;
			slept |= now;
			before = now;
		}
	}
	printf("have slept %x, %u changes\n", slept, changes);
	assert_true(slept != 0 && changes >= 2);
	check_same(live, replay);
	cop_learner_free(live);
	cop_learner_free(replay);
}

static void test_resting_and_waking_allocate_nothing(void **state)
{
	(void)state;
	cop_rng rng;
	cop_learner *learner = make(2);
	cop_rng_init(&rng, SEED, 2);
	cop_test_alloc_fail(0, 0);
	(void)run(learner, &rng, STRAIGHT, LINEAR);
	(void)run(learner, &rng, PRODUCTS, 2000);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_learner_free(learner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_rests_in_the_first_events),
		cmocka_unit_test(test_rest_on_a_linear_truth_wake_at_another_one),
		cmocka_unit_test(test_clones_go_on_alike),
		cmocka_unit_test(test_trials_look_at_the_eligible_arms),
		cmocka_unit_test(test_frozen_learner_leaves_sleepers_alone),
		cmocka_unit_test(test_replay_of_late_losses_comes_to_the_same),
		cmocka_unit_test(test_resting_and_waking_allocate_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
