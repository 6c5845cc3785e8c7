/* The ensemble from outside: which experts take part, optimism, what others' decisions teach, drift. */
#include "learner_fixture.h"

#include <stdio.h>

static void ensemble_settings(cop_learner_settings *s, bool sparse, unsigned experts)
{
	fixture_settings(s, "ensemble", sparse);
	s->experts = experts;
}

static cop_learner *ensemble_of(bool sparse, unsigned experts)
{
	cop_learner_settings s;
	ensemble_settings(&s, sparse, experts);
	return fixture_learner(&s);
}

/* ---- experts ---- */

static void test_expert_names_are_in_the_order_of_their_bits(void **state)
{
	(void)state;
	static const char *const names[] = { "linear", "trees", "quadratic", "forest" };
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(cop_learner_expert_names[i], names[i]);
	assert_null(cop_learner_expert_names[4]);
}

/* Whether the experts that explain are those of the mask. */
static void check_takes_part(cop_learner *learner, const cop_row *x, unsigned experts)
{
	cop_explanation e;
	const cop_decision d = { .arm = 1, .p = 1.0 };
	size_t count = 0;
	assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
	cop_learner_explain(learner, x, NULL, &d, &e);
	for (size_t i = 0; cop_learner_expert_names[i] != NULL; i++)
		if ((experts >> i & 1u) != 0) {
			assert_true(count < e.expert_count);
			assert_string_equal(e.experts[count++].name, cop_learner_expert_names[i]);
		}
	assert_int_equal(e.expert_count, count + 1);
	assert_string_equal(e.experts[count].name, "average"); /* always */
	cop_explanation_fini(&e);
}

static void test_each_mask_of_experts_learns(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++)
		for (unsigned experts = 1; experts <= COP_EXPERT_ALL; experts++) {
			unsigned helping = sparse ? experts & ~(unsigned)COP_EXPERT_QUADRATIC : experts;
			if (helping == 0)
				continue;
			cop_learner *learner = ensemble_of(sparse, experts);
			fixture_event e;
			cop_rng rng;
			cop_rng_init(&rng, FIXTURE_SEED, 1);
			(void)fixture_run(learner, &rng, sparse, 2000);
			double late = fixture_run(learner, &rng, sparse, 1000);
			fixture_draw(&e, &rng, sparse);
			check_takes_part(learner, &e.row, helping);
			if (!(late < 0.45)) /* chance: 0.75 */
				fail_msg("experts %u%s: %.3f", experts, sparse ? ", sparse" : "", late);
			cop_learner_free(learner);
		}
}

static void test_all_experts_by_default(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner *learner = ensemble_of(sparse, 0);
		fixture_event e;
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 2);
		fixture_draw(&e, &rng, sparse);
		check_takes_part(learner, &e.row, sparse ? 11 : 15);
		cop_learner_free(learner);
	}
}

static void test_mask_that_leaves_no_expert_is_refused(void **state)
{
	(void)state;
	cop_learner_settings s[3];
	ensemble_settings(&s[0], true, COP_EXPERT_QUADRATIC); /* not of sparse rows */
	ensemble_settings(&s[1], false, COP_EXPERT_ALL + 1);
	ensemble_settings(&s[2], false, UINT32_MAX);
	for (size_t i = 0; i < 3; i++) {
		cop_learner *learner;
		cop_diag diag = { 0 };
		assert_int_equal(cop_learner_new(&s[i], &learner, &diag), COP_EINVAL);
		assert_null(learner);
		printf("%s\n", diag.message);
		assert_true(strlen(diag.message) > 10);
	}
}

static void test_load_of_other_experts_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	for (unsigned from = 1; from <= COP_EXPERT_ALL; from++)
		for (unsigned to = 1; to <= COP_EXPERT_ALL; to += 3) {
			cop_learner *a = ensemble_of(false, from), *b = ensemble_of(false, to);
			fixture_save(a, &bytes);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			assert_int_equal(cop_learner_load(b, &cursor), from == to ? COP_OK : COP_ESHAPE);
			cop_learner_free(a);
			cop_learner_free(b);
		}
	cop_bytes_fini(&bytes);
}

/* ---- products ---- */

static void test_product_tells_every_pair_once(void **state)
{
	(void)state;
	cop_learner *dense = ensemble_of(false, 0), *sparse = ensemble_of(true, 0);
	cop_learner *linear = ensemble_of(false, COP_EXPERT_LINEAR);
	int seen[FIXTURE_D][FIXTURE_D] = { { 0 } };
	size_t found = 0, i, j;
	for (size_t index = 0; index < 1000; index++) {
		assert_false(sparse->class->product(sparse, index, &i, &j));
		assert_false(linear->class->product(linear, index, &i, &j));
		if (!dense->class->product(dense, index, &i, &j))
			continue;
		assert_true(index > FIXTURE_D && i <= j && j < FIXTURE_D);
		assert_int_equal(seen[i][j]++, 0);
		found++;
	}
	assert_int_equal(found, FIXTURE_D * (FIXTURE_D + 1) / 2);
	assert_false(dense->class->product(dense, SIZE_MAX, &i, &j));
	cop_learner_free(dense);
	cop_learner_free(sparse);
	cop_learner_free(linear);
}

/* Every explained index is a feature, the constant or a product; shares sum to the mixture's prediction. */
static void test_explain_features_are_inputs_or_products(void **state)
{
	(void)state;
	cop_learner *learner = ensemble_of(false, 0);
	cop_explanation e;
	cop_rng rng;
	size_t products = 0;
	assert_int_equal(cop_learner_explanation_init(learner, &e), COP_OK);
	cop_rng_init(&rng, FIXTURE_SEED, 3);
	(void)fixture_run(learner, &rng, false, 1000);
	for (size_t n = 0; n < 200; n++) {
		fixture_event event;
		cop_decision d;
		double sum = 0.0;
		fixture_draw(&event, &rng, false);
		assert_int_equal(cop_learner_decide(learner, &event.row, NULL, &d), COP_OK);
		cop_learner_explain(learner, &event.row, NULL, &d, &e);
		assert_int_equal(e.expert_count, 5);
		for (size_t m = 0; m < e.expert_count; m++) {
			const cop_explained_expert *expert = &e.experts[m];
			assert_true(fabs(expert->prediction - (double)d.prediction[m]) < 1e-5);
			sum += expert->weight * expert->prediction;
			for (size_t f = 0; f < expert->count; f++) {
				size_t i, j, index = expert->features[f].index;
				bool product = learner->class->product(learner, index, &i, &j);
				assert_true(index <= FIXTURE_D || product);
				assert_true(!product || strcmp(expert->name, "quadratic") == 0);
				products += product;
			}
		}
		assert_true(fabs(sum - e.prediction) < 1e-5);
	}
	assert_true(products > 0);
	cop_explanation_fini(&e);
	cop_learner_free(learner);
}

/* ---- optimism ---- */

#define PLAYED 0.4 /* the loss of all arms but the last, which is never played */

static cop_learner *hoping(double optimism, unsigned experts, const char *policy)
{
	cop_learner_settings s;
	cop_rng rng;
	ensemble_settings(&s, false, experts);
	strcpy(s.policy, policy);
	s.exploration.optimism = optimism;
	cop_learner *learner = fixture_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 4);
	for (size_t n = 0; n < 400; n++) {
		fixture_event e;
		cop_policy_view view;
		const double loss = PLAYED;
		cop_decision d = { .arm = (uint32_t)(n % (FIXTURE_ARMS - 1)), .p = 1.0 / 3.0 };
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_take(learner, &e.row, NULL, &d, &loss, &view), COP_OK);
	}
	return learner;
}

static void view_of(cop_learner *learner, const uint8_t *mask, float *loss, double *p, size_t *best)
{
	fixture_event e;
	cop_policy_view view;
	cop_rng rng;
	cop_decision d = { .arm = 0, .p = 1.0 };
	cop_rng_init(&rng, FIXTURE_SEED, 5);
	fixture_draw(&e, &rng, false);
	assert_int_equal(cop_learner_view(learner, &e.row, &(cop_candidates){ .mask = mask }, &d, &view), COP_OK);
	assert_int_equal(view.arms, FIXTURE_ARMS);
	memcpy(loss, view.loss, FIXTURE_ARMS * sizeof *loss);
	memcpy(p, view.p, FIXTURE_ARMS * sizeof *p);
	*best = view.best;
	size_t lowest = 0; /* what is best without optimism; no mask forbids arm 0 */
	for (size_t k = 1; k < FIXTURE_ARMS; k++)
		lowest = (mask == NULL || mask[k] != 0) && loss[k] < loss[lowest] ? k : lowest;
	assert_int_equal((size_t)cop_learner_greedy(learner, &e.row, &(cop_candidates){ .mask = mask }), lowest);
}

static void test_optimism_tries_what_was_never_played(void **state)
{
	(void)state;
	static const char *const policies[] = { "matching", "fastcb", "squarecb", "epsilon" };
	static const uint8_t mask[FIXTURE_ARMS] = { 1, 1, 1, 0 };
	const size_t never = FIXTURE_ARMS - 1;
	for (size_t i = 0; i < 3; i++) {
		cop_learner *none = hoping(0.0, 0, policies[i]), *some = hoping(1.0, 0, policies[i]);
		float loss[2][FIXTURE_ARMS];
		double p[2][FIXTURE_ARMS];
		size_t best[2];
		view_of(none, NULL, loss[0], p[0], &best[0]);
		view_of(some, NULL, loss[1], p[1], &best[1]);
		printf("%s: predicted %.3f %.3f %.3f, never played %.3f; p of that %.3f, with optimism %.3f\n",
		        policies[i], (double)loss[0][0], (double)loss[0][1], (double)loss[0][2], (double)loss[0][3],
		        p[0][never], p[1][never]);
		assert_memory_equal(loss[0], loss[1], sizeof loss[0]); /* the mixture's own */
		assert_true(best[0] != never && best[1] == best[0]);   /* greedy goes by predictions alone */
		/* matching goes by beliefs, as far as it is no fastcb */
		assert_true(p[1][never] > (i == 0 ? 0.99 : 2.0) * p[0][never]);
		view_of(some, mask, loss[1], p[1], &best[1]);
		assert_true(best[1] != never && p[1][never] == 0.0);
		cop_learner_free(none);
		cop_learner_free(some);
	}
}

static void test_optimism_without_an_expert_that_doubts_changes_nothing(void **state)
{
	(void)state;
	cop_learner *none = hoping(0.0, COP_EXPERT_LINEAR | COP_EXPERT_TREES, "");
	cop_learner *some = hoping(5.0, COP_EXPERT_LINEAR | COP_EXPERT_TREES, "");
	float loss[2][FIXTURE_ARMS];
	double p[2][FIXTURE_ARMS];
	size_t best[2];
	view_of(none, NULL, loss[0], p[0], &best[0]);
	view_of(some, NULL, loss[1], p[1], &best[1]);
	assert_memory_equal(loss[0], loss[1], sizeof loss[0]);
	assert_memory_equal(p[0], p[1], sizeof p[0]);
	assert_int_equal(best[0], best[1]);
	cop_learner_free(none);
	cop_learner_free(some);
}

/* Optimism wears off: once all arms are known, the best known one is played. */
static void test_optimism_wears_off(void **state)
{
	(void)state;
	cop_learner *learner = hoping(0.3, 0, "");
	cop_rng rng;
	size_t worse = 0;
	cop_rng_init(&rng, FIXTURE_SEED, 6);
	for (size_t n = 0; n < 3000; n++) {
		fixture_event e;
		cop_decision d;
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		const double loss = d.arm == FIXTURE_ARMS - 1 ? 0.9 : PLAYED;
		worse += n >= 1000 && d.arm == FIXTURE_ARMS - 1;
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, true), COP_OK);
	}
	printf("the worst arm: %zu of the last 2000\n", worse);
	assert_true(worse < 100);
	cop_learner_free(learner);
}

/* ---- others' decisions ---- */

typedef enum way { TAKE, FOLLOW_LEARN, FOLLOW_EXPLAIN_LEARN, TAKE_AND_LOOK_AROUND, WAYS } way;

static void one_event(cop_learner *learner, const fixture_event *e, const fixture_event *other, cop_decision d, way by,
        cop_explanation *why)
{
	const double loss = d.arm == e->best ? 0.0 : 1.0;
	const uint8_t mask[FIXTURE_ARMS] = { 1, 1, d.arm == 2, 1 };
	cop_policy_view view;
	if (by == TAKE_AND_LOOK_AROUND) {
		cop_decision looked = { .arm = 1, .p = 1.0 };
		assert_int_equal(cop_learner_view(learner, &other->row, NULL, &looked, &view), COP_OK);
		(void)cop_learner_greedy(learner, &other->row, NULL);
		cop_learner_explain(learner, &other->row, NULL, &looked, why);
	}
	if (by == TAKE || by == TAKE_AND_LOOK_AROUND) {
		assert_int_equal(
		        cop_learner_take(learner, &e->row, &(cop_candidates){ .mask = mask }, &d, &loss, &view),
		        COP_OK);
		return;
	}
	assert_int_equal(cop_learner_follow(learner, &e->row, &(cop_candidates){ .mask = mask }, &d, &view), COP_OK);
	if (by == FOLLOW_EXPLAIN_LEARN) {
		cop_learner_explain(learner, &e->row, NULL, &d, why);
		(void)cop_learner_greedy(learner, &other->row, NULL);
	}
	assert_int_equal(
	        cop_learner_learn(learner, &e->row, &(cop_candidates){ .mask = mask }, &d, &loss, true), COP_OK);
}

static void run_by(way by, bool sparse, unsigned experts, cop_bytes *bytes)
{
	cop_learner *learner = ensemble_of(sparse, experts);
	cop_explanation why;
	cop_rng rng;
	assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
	cop_rng_init(&rng, FIXTURE_SEED, 7);
	for (size_t n = 0; n < 600; n++) {
		fixture_event e, other;
		fixture_draw(&other, &rng, sparse);
		fixture_draw(&e, &rng, sparse);
		const cop_decision d = { .arm = (uint32_t)cop_rng_below(&rng, FIXTURE_ARMS), .p = 0.25 };
		one_event(learner, &e, &other, d, by, &why);
	}
	fixture_save(learner, bytes);
	cop_explanation_fini(&why);
	cop_learner_free(learner);
}

static void test_take_equals_follow_and_learn(void **state)
{
	(void)state;
	cop_bytes first, other;
	cop_bytes_init(&first);
	cop_bytes_init(&other);
	for (unsigned experts = 0; experts <= COP_EXPERT_FOREST; experts = experts == 0 ? 1 : 2 * experts)
		for (int sparse = 0; sparse < 2; sparse++) {
			if (sparse && experts == COP_EXPERT_QUADRATIC)
				continue;
			run_by(TAKE, sparse, experts, &first);
			for (way by = FOLLOW_LEARN; by < WAYS; by++) {
				run_by(by, sparse, experts, &other);
				assert_bytes_equal(&first, &other);
			}
		}
	cop_bytes_fini(&first);
	cop_bytes_fini(&other);
}

static void test_take_refused_changes_nothing(void **state)
{
	(void)state;
	static const uint8_t nobody[FIXTURE_ARMS] = { 0 };
	cop_learner *learner = ensemble_of(false, 0);
	cop_bytes before, after;
	cop_rng rng;
	fixture_event e;
	cop_policy_view view;
	cop_decision d = { .arm = 1, .p = 0.5 };
	const double loss = 0.5;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	cop_rng_init(&rng, FIXTURE_SEED, 8);
	(void)fixture_run(learner, &rng, false, 100);
	fixture_draw(&e, &rng, false);
	fixture_save(learner, &before);
	assert_int_equal(
	        cop_learner_take(learner, &e.row, &(cop_candidates){ .mask = nobody }, &d, &loss, &view), COP_EINVAL);
	assert_int_equal(
	        cop_learner_follow(learner, &e.row, &(cop_candidates){ .mask = nobody }, &d, &view), COP_EINVAL);
	fixture_save(learner, &after);
	assert_bytes_equal(&before, &after);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_learner_free(learner);
}

/* What evaluators see: finite losses, and p a distribution. */
static void test_view_is_finite_and_a_distribution(void **state)
{
	(void)state;
	cop_learner *learner = ensemble_of(false, 0);
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 9);
	for (size_t n = 0; n < 2000; n++) {
		fixture_event e;
		cop_policy_view view;
		cop_decision d = { .arm = (uint32_t)(n % FIXTURE_ARMS), .p = 0.25 };
		double sum = 0.0;
		fixture_draw(&e, &rng, false);
		const double loss = d.arm == e.best ? 0.0 : 1.0;
		assert_int_equal(cop_learner_view(learner, &e.row, NULL, &d, &view), COP_OK);
		for (size_t k = 0; k < FIXTURE_ARMS; k++) {
			assert_true(isfinite(view.loss[k]) && view.p[k] >= 0.0);
			sum += view.p[k];
		}
		assert_true(fabs(sum - 1.0) < 1e-9);
		assert_int_equal(cop_learner_take(learner, &e.row, NULL, &d, &loss, &view), COP_OK);
	}
	cop_learner_free(learner);
}

/* ---- drift ---- */

/* Where feature 0 is above its middle one arm is best, else another; later they change places. */
static double drifting(cop_learner *learner, cop_rng *rng, bool flipped, size_t n)
{
	double total = 0.0;
	for (size_t i = 0; i < n; i++) {
		fixture_event e;
		cop_decision d;
		fixture_draw(&e, rng, false);
		bool above = (e.dense[0] > 3.0f) != flipped;
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		const double loss = d.arm == (above ? 2u : 0u) ? 0.0 : 1.0;
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, true), COP_OK);
		total += loss;
	}
	return total / (double)n;
}

static void test_drift_is_followed(void **state)
{
	(void)state;
	double sum[3] = { 0.0 };
	for (uint64_t seed = 1; seed <= 3; seed++) {
		cop_learner_settings s;
		cop_rng rng;
		ensemble_settings(&s, false, 0);
		s.seed = seed;
		cop_learner *learner = fixture_learner(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 10 + seed);
		(void)drifting(learner, &rng, false, 1500);
		sum[0] += drifting(learner, &rng, false, 500) / 3.0;
		sum[1] += drifting(learner, &rng, true, 1000) / 3.0;
		(void)drifting(learner, &rng, true, 1000);
		sum[2] += drifting(learner, &rng, true, 1000) / 3.0;
		cop_learner_free(learner);
	}
	printf("before %.3f, the first 1000 after %.3f, from the 2000th %.3f\n", sum[0], sum[1], sum[2]);
	assert_true(sum[0] < 0.1);
	assert_true(sum[1] < 0.5);
	assert_true(sum[2] < 0.15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expert_names_are_in_the_order_of_their_bits),
		cmocka_unit_test(test_each_mask_of_experts_learns),
		cmocka_unit_test(test_all_experts_by_default),
		cmocka_unit_test(test_mask_that_leaves_no_expert_is_refused),
		cmocka_unit_test(test_load_of_other_experts_is_refused),
		cmocka_unit_test(test_product_tells_every_pair_once),
		cmocka_unit_test(test_explain_features_are_inputs_or_products),
		cmocka_unit_test(test_optimism_tries_what_was_never_played),
		cmocka_unit_test(test_optimism_without_an_expert_that_doubts_changes_nothing),
		cmocka_unit_test(test_optimism_wears_off),
		cmocka_unit_test(test_take_equals_follow_and_learn),
		cmocka_unit_test(test_take_refused_changes_nothing),
		cmocka_unit_test(test_view_is_finite_and_a_distribution),
		cmocka_unit_test(test_drift_is_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
