/* Models that are given further features: what was learned stays, contexts without them are taken as unknown there. */
#include "model_fixture.h"

#include "unit/learn/refitted_fixture.h"

enum { WIDEST = FIXTURE_D + 34 };

typedef struct kind {
	const char *learner; /* bins: value, with feedback from them */
	unsigned experts;
	size_t features; /* then */
	bool refitted;
	bool exact; /* no sum has another order */
} kind;

static const kind kinds[] = {
	{ "ensemble", 0, FIXTURE_D + 3, false, false },
	{ "ensemble", 0, FIXTURE_D + 16, true, false }, /* the quadratic expert's covariance is in blocks then */
	{ "ensemble", COP_EXPERT_TREES, FIXTURE_D + 16, true, false },
	{ "ensemble", COP_EXPERT_FOREST, FIXTURE_D + 5, false, true },
	{ "ensemble", COP_EXPERT_LINEAR, FIXTURE_D + 32, false, true }, { "dgt", 0, FIXTURE_D + 16, false, true },
	{ "dgt", 0, FIXTURE_D + 32, false, true }, { "ridge", 0, FIXTURE_D + 7, false, true },
	{ "value", 0, FIXTURE_D + 4, false, false }, { "value", 0, FIXTURE_D + 16, true, false },
	{ "bins", 0, 9, false, false }, /* from ten features on there are no products */
};
#define KINDS (sizeof kinds / sizeof *kinds)

static cop_model_settings settings_of(const kind *k)
{
	cop_model_settings s;
	const bool bins = strcmp(k->learner, "bins") == 0;
	model_settings(&s, bins ? "value" : k->learner, false);
	s.learner.experts = k->experts;
	if (bins)
		s.learner.feedback = COP_VALUE_BINS;
	s.reward_window = 1e6;
	s.pending_max = 1000;
	return s;
}

static void refit(cop_learner *learner)
{
	const cop_learner_settings *s = &learner->settings;
	const refit_shape shape = { .d = s->features, .outputs = s->arms == 0 ? 1 : s->arms, .depth = 3 };
	cop_trees *trees = refit_trees(&shape, 2, 5);
	assert_int_equal(cop_learner_refit(learner, trees, NULL), COP_OK);
	cop_trees_free(trees);
}

static cop_model *widened(const cop_model *model, size_t features)
{
	cop_model_settings s = *cop_model_get_settings(model);
	cop_bytes bytes;
	cop_diag diag = { 0 };
	cop_bytes_init(&bytes);
	model_save(model, &bytes);
	s.learner.features = features;
	cop_model *more = model_new(&s);
	if (cop_model_load(more, bytes.data, bytes.length, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	cop_bytes_fini(&bytes);
	return more;
}

/* The event's row with unknown features behind it. */
static cop_row lacking(const fixture_event *e, size_t features, float *room)
{
	memcpy(room, e->dense, sizeof e->dense);
	for (size_t j = FIXTURE_D; j < features; j++)
		room[j] = NAN;
	return (cop_row){ .d = features, .dense = room };
}

static size_t predict(cop_model *model, const cop_row *x, float *out)
{
	cop_learner *learner = cop_model_learner(model);
	if (learner->class->values) {
		*out = (float)cop_learner_greedy(learner, x, &(cop_candidates){ .count = 0 });
		return 1;
	}
	const cop_model_logged logged = { .x = x, .p = 1.0 };
	cop_policy_view view;
	assert_int_equal(cop_model_view_logged(model, &logged, &view), COP_OK);
	memcpy(out, view.loss, view.arms * sizeof *out);
	return view.arms;
}

static void check_alike(const kind *k, cop_model *few, cop_model *more)
{
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 90);
	for (int i = 0; i < 100; i++) {
		float a[FIXTURE_ARMS] = { 0 }, b[FIXTURE_ARMS] = { 0 }, room[WIDEST];
		fixture_event e;
		fixture_draw(&e, &rng, false);
		const cop_row x = lacking(&e, k->features, room);
		const size_t n = predict(few, &e.row, a);
		assert_int_equal(predict(more, &x, b), n);
		if (k->exact)
			assert_memory_equal(a, b, n * sizeof *a);
		for (size_t j = 0; j < n; j++)
			assert_true(fabsf(a[j] - b[j]) <= 1e-5f);
	}
}

static void check_same_bytes(const cop_model *a, const cop_model *b)
{
	cop_bytes first, second;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	model_save(a, &first);
	model_save(b, &second);
	assert_bytes_equal(&first, &second);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

/* Whether another one takes over from the model, which is only good for freeing then, or loads what it saves. */
static void check_heir(cop_model *from, size_t features)
{
	cop_model_settings s = *cop_model_get_settings(from);
	cop_bytes room;
	s.learner.features = features;
	cop_model *loaded = widened(from, features), *heir = model_new(&s);
	cop_bytes_init(&room);
	assert_true(cop_model_inherits(heir, from));
	assert_int_equal(cop_model_make_room(heir, from, &room, NULL), COP_OK);
	cop_model_inherit(heir, from);
	check_same_bytes(loaded, heir);
	cop_bytes_fini(&room);
	cop_model_free(loaded);
	cop_model_free(heir);
}

/* Arms come to it as to others: handed over or saved and loaded, it is the same. */
static void check_arms(const kind *k, const cop_model *model)
{
	cop_model_settings s = *cop_model_get_settings(model);
	cop_bytes bytes;
	if (s.learner.arms == 0)
		return;
	cop_bytes_init(&bytes);
	model_save(model, &bytes);
	s.learner.arms += 2;
	cop_model *loaded = model_new(&s), *heir = model_new(&s), *from = widened(model, k->features);
	assert_int_equal(cop_model_load(loaded, bytes.data, bytes.length, NULL), COP_OK);
	assert_true(cop_model_inherits(heir, from));
	assert_int_equal(cop_model_make_room(heir, from, NULL, NULL), COP_OK);
	cop_model_inherit(heir, from);
	assert_int_equal(cop_model_known(heir), FIXTURE_D);
	check_same_bytes(loaded, heir);
	cop_bytes_fini(&bytes);
	cop_model_free(loaded);
	cop_model_free(heir);
	cop_model_free(from);
}

static void decide_lacking(cop_model *model, cop_rng *rng, uint64_t n, double now)
{
	float room[WIDEST];
	fixture_event e;
	cop_decision d;
	bool repeated;
	const cop_event_id id = model_id(n);
	fixture_draw(&e, rng, false);
	const cop_row x = lacking(&e, cop_model_get_settings(model)->learner.features, room);
	assert_int_equal(decide_context(model, &id, &x, NULL, now, &d, &repeated), COP_OK);
}

static void test_what_was_learned_stays_and_what_waits_joins(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		const kind *k = &kinds[i];
		const cop_model_settings s = settings_of(k);
		cop_rng rng;
		cop_model *few = model_new(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 91 + i);
		model_run(few, &rng, false, 0, 300);
		if (k->refitted)
			refit(cop_model_learner(few));
		model_run(few, &rng, false, 300, 300);
		cop_model *more = widened(few, k->features);
		check_alike(k, few, more);
		assert_int_equal(cop_model_known(few), FIXTURE_D);
		assert_int_equal(cop_model_known(more), FIXTURE_D);
		assert_int_equal(cop_model_pending(more), cop_model_pending(few));
		for (uint64_t n = 2; n < 600; n += 5) /* never answered so far */
			assert_int_equal(model_feedback(more, n, 0.5, 600.0), COP_FEEDBACK_APPLIED);
		assert_int_equal(cop_model_get_counters(more)->shorter, 0);
		for (uint64_t n = 600; n < 900; n++) {
			decide_lacking(more, &rng, n, 600.0);
			if (n % 3 == 0)
				(void)model_feedback(more, n, cop_rng_unit(&rng), 600.0);
		}
		assert_int_equal(cop_model_get_counters(more)->shorter, 300);
		cop_model *same = widened(more, k->features); /* of as many: what is unknown waits, and is saved */
		check_same_bytes(more, same);
		check_arms(k, more);
		const size_t most = strcmp(k->learner, "bins") == 0 ? k->features : k->features + 2;
		cop_model *again = widened(more, most);
		assert_int_equal(cop_model_known(again), FIXTURE_D);
		check_heir(few, k->features);
		if (most > k->features)
			check_heir(more, most);
		cop_model_free(few);
		cop_model_free(more);
		cop_model_free(same);
		cop_model_free(again);
	}
}

/* Learned the same way, one with the features from its beginning, which nobody knew, and one that got them after. */
static void test_it_learns_as_if_the_features_had_been_there_unknown(void **state)
{
	static const kind alike[] = {
		{ "dgt", 0, FIXTURE_D + 16, false, true },
		{ "ridge", 0, FIXTURE_D + 3, false, true },
		{ "ensemble", COP_EXPERT_TREES, FIXTURE_D + 32, false, false },
		{ "ensemble", COP_EXPERT_LINEAR | COP_EXPERT_QUADRATIC, FIXTURE_D + 5, false, false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
		const kind *k = &alike[i];
		const cop_model_settings s = settings_of(k);
		cop_rng rng;
		cop_model *late = model_new(&s), *early = widened(late, k->features);
		cop_rng_init(&rng, FIXTURE_SEED, 191 + i);
		for (int n = 0; n < 800; n++) {
			float room[WIDEST];
			fixture_event e;
			cop_policy_view view;
			fixture_draw(&e, &rng, false);
			const cop_row x = lacking(&e, k->features, room);
			const uint32_t arm = (uint32_t)cop_rng_below(&rng, FIXTURE_ARMS);
			cop_model_logged logged = {
				.x = &x, .arm = arm, .p = 0.25, .loss = arm == e.best ? 0.0 : 1.0, .learn = true
			};
			assert_int_equal(cop_model_take_logged(early, &logged, &view), COP_OK);
			logged.x = n < 400 ? &e.row : &x;
			assert_int_equal(cop_model_take_logged(late, &logged, &view), COP_OK);
			if (n == 399) {
				cop_model *grown = widened(late, k->features);
				cop_model_free(late);
				late = grown;
			}
		}
		for (int n = 0; n < 50; n++) {
			float a[FIXTURE_ARMS], b[FIXTURE_ARMS], room[WIDEST];
			fixture_event e;
			fixture_draw(&e, &rng, false);
			const cop_row x = lacking(&e, k->features, room);
			(void)predict(early, &x, a);
			(void)predict(late, &x, b);
			for (size_t arm = 0; arm < FIXTURE_ARMS; arm++)
				assert_true(fabsf(a[arm] - b[arm]) <= (k->exact ? 0.0f : 1e-3f));
		}
		cop_model_free(early);
		cop_model_free(late);
	}
}

/* Which arm is best hangs on a feature that came later. */
static void test_new_features_are_learned(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		const kind *k = &kinds[i];
		const cop_model_settings s = settings_of(k);
		cop_rng rng;
		double lost = 0.0;
		if (k->refitted || (strcmp(k->learner, "ensemble") != 0 && strcmp(k->learner, "ridge") != 0))
			continue;
		cop_model *few = model_new(&s);
		cop_rng_init(&rng, FIXTURE_SEED, 291 + i);
		model_run(few, &rng, false, 0, 500);
		cop_model *more = widened(few, k->features);
		for (uint64_t n = 0; n < 2500; n++) {
			float room[WIDEST];
			fixture_event e;
			cop_decision d;
			bool repeated;
			const cop_event_id id = model_id(1000 + n);
			fixture_draw(&e, &rng, false);
			const cop_row x = lacking(&e, k->features, room);
			room[FIXTURE_D] = (float)cop_rng_normal(&rng);
			assert_int_equal(decide_context(more, &id, &x, NULL, 1000.0, &d, &repeated), COP_OK);
			const double loss = d.arm == (room[FIXTURE_D] > 0.0f ? 1U : 2U) ? 0.0 : 1.0;
			lost += n >= 2000 ? loss / 500.0 : 0.0;
			(void)model_feedback(more, 1000 + n, loss, 1000.0);
		}
		assert_true(lost < 0.6); /* 0.75 by chance */
		cop_model_free(few);
		cop_model_free(more);
	}
}

static void rank_settings_of(cop_model_settings *s)
{
	model_settings(s, "rank", false);
	s->learner.arms = 0;
	s->learner.candidate_features = 3;
	s->learner.max_candidates = 4;
	s->reward_window = 1e6;
	s->pending_max = 1000;
}

/* Decision n of a model that ranks, whose contexts lack all that it was given. */
static void rank_once(cop_model *model, cop_rng *rng, uint64_t n)
{
	float room[WIDEST], values[4][3];
	cop_row candidate[4];
	fixture_event e;
	cop_decision d;
	bool repeated;
	const cop_event_id id = model_id(n);
	fixture_draw(&e, rng, false);
	const cop_row x = lacking(&e, cop_model_get_settings(model)->learner.features, room);
	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 3; j++)
			values[i][j] = (float)cop_rng_normal(rng);
		candidate[i] = (cop_row){ .d = 3, .dense = values[i] };
	}
	const cop_model_context context = { .id = &id, .x = &x, .candidate = candidate, .candidates = 1 + n % 4 };
	assert_int_equal(cop_model_decide(model, &context, 600.0, &d, &repeated), COP_OK);
}

static void test_a_model_that_ranks_keeps_what_waits(void **state)
{
	cop_model_settings s;
	cop_rng rng;
	(void)state;
	rank_settings_of(&s);
	cop_model *few = model_new(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 391);
	for (uint64_t n = 0; n < 300; n++) {
		rank_once(few, &rng, n);
		if (n % 3 != 0)
			assert_int_equal(model_feedback(few, n, cop_rng_unit(&rng), 600.0), COP_FEEDBACK_APPLIED);
	}
	const refit_shape shape = { .d = FIXTURE_D + 3, .outputs = 1, .depth = 3 };
	cop_trees *trees = refit_trees(&shape, 2, 5);
	assert_int_equal(cop_learner_refit(cop_model_learner(few), trees, NULL), COP_OK);
	cop_trees_free(trees);
	cop_model *more = widened(few, FIXTURE_D + 5);
	assert_int_equal(cop_model_known(more), FIXTURE_D);
	assert_int_equal(cop_model_pending(more), cop_model_pending(few));
	for (uint64_t n = 0; n < 300; n += 6)
		assert_int_equal(model_feedback(more, n, 0.5, 600.0), COP_FEEDBACK_APPLIED);
	assert_int_equal(cop_model_get_counters(more)->shorter, 0);
	for (uint64_t n = 300; n < 400; n++)
		rank_once(more, &rng, n);
	assert_int_equal(cop_model_get_counters(more)->shorter, 100);
	cop_model *same = widened(more, FIXTURE_D + 5);
	check_same_bytes(more, same);
	check_heir(few, FIXTURE_D + 5);
	check_heir(more, FIXTURE_D + 7);
	cop_model_free(few);
	cop_model_free(more);
	cop_model_free(same);
}

static void check_refused(const cop_model_settings *was, size_t features)
{
	cop_model_settings s = *was;
	cop_bytes bytes;
	cop_diag diag = { 0 };
	cop_bytes_init(&bytes);
	cop_model *few = model_new(&s);
	model_save(few, &bytes);
	s.learner.features = features;
	cop_model *more = model_new(&s);
	assert_int_equal(cop_model_load(more, bytes.data, bytes.length, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "saved with "));
	cop_bytes_fini(&bytes);
	cop_model_free(few);
	cop_model_free(more);
}

static void test_fewer_features_and_other_forms_are_refused(void **state)
{
	cop_model_settings s;
	(void)state;
	model_settings(&s, "ensemble", false);
	check_refused(&s, FIXTURE_D - 1);
	model_settings(&s, "dgt", false);
	check_refused(&s, FIXTURE_D - 1);
	model_settings(&s, "ensemble", true);
	check_refused(&s, FIXTURE_D);
	model_settings(&s, "value", false);
	s.learner.feedback = COP_VALUE_BINS;
	check_refused(&s, 10);
	s.learner.features = 128;
	check_refused(&s, 129);
	s.learner.features = 1024;
	check_refused(&s, 1025);
	rank_settings_of(&s);
	check_refused(&s, FIXTURE_D - 1);
	check_refused(&s, 256); /* the linear scorer has no whole covariance there */
	s.learner.candidate_features = 2000;
	check_refused(&s, 33);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_learned_stays_and_what_waits_joins),
		cmocka_unit_test(test_it_learns_as_if_the_features_had_been_there_unknown),
		cmocka_unit_test(test_new_features_are_learned),
		cmocka_unit_test(test_a_model_that_ranks_keeps_what_waits),
		cmocka_unit_test(test_fewer_features_and_other_forms_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
