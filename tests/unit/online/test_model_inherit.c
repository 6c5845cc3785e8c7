/* Models that inherit the state of one with fewer arms or features: the bytes are those that saving and loading gives,
 * and so is all that comes after; what was made room for, and not taken, changes nothing. */
#include "model_fixture.h"

#include "online/model_shadow.h"
#include "unit/learn/refitted_fixture.h"

enum { MORE = 9 }; /* another padding of rows */
#define WIDEST (FIXTURE_D + MORE)

typedef enum beside { ALONE, REFITTED, CHALLENGED, PROMOTED, RETIRED, FROZEN } beside;

static const struct {
	const char *learner;
	bool sparse;
	size_t arms; /* then */
	beside beside;
	double holdout;
	size_t features; /* more of them then */
} kinds[] = {
	{ "ensemble", false, FIXTURE_ARMS + 1, ALONE, 0.0, 0 },
	{ "ensemble", false, FIXTURE_ARMS + MORE, REFITTED, 0.2, 0 },
	{ "ensemble", false, FIXTURE_ARMS + 1, CHALLENGED, 0.2, 0 },
	{ "ensemble", true, FIXTURE_ARMS + MORE, CHALLENGED, 0.0, 0 },
	{ "ensemble", true, FIXTURE_ARMS + 1, PROMOTED, 0.2, 0 },
	{ "ensemble", false, FIXTURE_ARMS + MORE, RETIRED, 0.0, 0 },
	{ "ensemble", false, FIXTURE_ARMS + 2, FROZEN, 0.0, 0 },
	{ "dgt", false, FIXTURE_ARMS + 1, ALONE, 0.2, 0 },
	{ "dgt", true, FIXTURE_ARMS + MORE, ALONE, 0.0, 0 },
	{ "dgt", false, FIXTURE_ARMS + MORE, CHALLENGED, 0.0, 0 },
	{ "ensemble", false, FIXTURE_ARMS + 1, ALONE, 0.2, 2 },
	{ "ensemble", false, FIXTURE_ARMS + MORE, REFITTED, 0.0, MORE },
	{ "ensemble", false, FIXTURE_ARMS + 1, CHALLENGED, 0.2, 3 },
	{ "ensemble", false, FIXTURE_ARMS + MORE, PROMOTED, 0.0, 2 },
	{ "ensemble", false, FIXTURE_ARMS + 1, FROZEN, 0.0, 4 },
	{ "dgt", false, FIXTURE_ARMS + 1, ALONE, 0.2, MORE },
	{ "dgt", false, FIXTURE_ARMS + MORE, CHALLENGED, 0.0, 2 },
};
#define KINDS (sizeof kinds / sizeof *kinds)

static cop_trees *trees_for(const cop_learner *learner, bool sparse)
{
	const cop_learner_settings *s = &learner->settings;
	const refit_shape shape = { .d = cop_learner_dimension(s), .outputs = s->arms, .depth = 3, .sparse = sparse };
	return refit_trees(&shape, strcmp(s->learner, "dgt") == 0 ? 1 : 2, 5);
}

static void put_beside(cop_model *model, beside what, bool sparse)
{
	cop_diag diag = { 0 };
	cop_err err = COP_OK;
	if (what == ALONE)
		return;
	cop_trees *trees = trees_for(cop_model_learner(model), sparse);
	err = what == REFITTED ? cop_learner_refit(cop_model_learner(model), trees, &diag)
	                       : cop_model_challenge(model, trees, &diag);
	cop_trees_free(trees);
	if (err != COP_OK)
		fail_msg("%s", diag.message);
	if (what == PROMOTED)
		assert_int_equal(cop_model_promote(model), COP_OK);
	if (what == RETIRED)
		assert_int_equal(cop_model_retire(model), COP_OK);
	if (what == FROZEN)
		cop_model_freeze(model, true);
}

/* The event of so many features, of which every other one that was added is unknown. */
static cop_row widen(const fixture_event *e, size_t features, float room[WIDEST])
{
	if (e->row.dense == NULL || features == FIXTURE_D)
		return e->row;
	memcpy(room, e->row.dense, FIXTURE_D * sizeof *room);
	for (size_t j = FIXTURE_D; j < features; j++)
		room[j] = j % 2 == 0 ? NAN : 0.5f * e->row.dense[0];
	return (cop_row){ .d = features, .dense = room };
}

/* Decisions of several owners, with and without a mask, some of which are never answered. */
static void live(cop_model *model, cop_rng *rng, bool sparse, uint64_t from, size_t n)
{
	const size_t arms = cop_model_get_settings(model)->learner.arms;
	float room[WIDEST];
	for (uint64_t i = from; i < from + n; i++) {
		uint8_t mask[FIXTURE_ARMS + MORE];
		fixture_event e;
		cop_decision d;
		bool repeated;
		const cop_event_id id = model_id(i);
		fixture_draw(&e, rng, sparse);
		const cop_row x = widen(&e, cop_model_get_settings(model)->learner.features, room);
		for (size_t k = 0; k < arms; k++)
			mask[k] = k == i % arms || cop_rng_below(rng, 2) != 0;
		const cop_model_context context = { .id = &id,
			.x = &x,
			.mask = i % 3 == 0 ? mask : NULL,
			.owner = (uint32_t)(i % 4),
			.defer = i % 7 == 0 };
		assert_int_equal(cop_model_decide(model, &context, (double)i, &d, &repeated), COP_OK);
		const double loss = cop_rng_unit(rng);
		const cop_loss_values told = { i % 2 == 0 ? 3 : 1, { loss, 0.5 } };
		cop_model_tell_losses(model, cop_model_named_losses(model)->count > 0 ? &told : NULL);
		if (i >= 3 && i % 5 != 0)
			(void)model_feedback(model, i - 3, loss, (double)i);
		(void)cop_model_expire(model, (double)i, 10);
	}
}

static cop_model *new_model(size_t kind)
{
	cop_model_settings s;
	cop_rng rng;
	model_settings(&s, kinds[kind].learner, kinds[kind].sparse);
	s.holdout = kinds[kind].holdout;
	if (s.holdout > 0.0) {
		assert_null(cop_named_losses_add_weight(&s.losses.weights, "click=1"));
		assert_null(cop_named_losses_add_weight(&s.losses.weights, "seconds"));
	}
	s.reward_window = 200.0;
	s.pending_max = 1000;
	s.explain_keep = 8;
	cop_model *model = model_new(&s);
	cop_rng_init(&rng, FIXTURE_SEED, 400 + kind);
	live(model, &rng, kinds[kind].sparse, 0, 300);
	put_beside(model, kinds[kind].beside, kinds[kind].sparse);
	live(model, &rng, kinds[kind].sparse, 300, 150);
	return model;
}

static cop_model *fresh_of(const cop_model *model, size_t arms, size_t more)
{
	cop_model_settings s = *cop_model_get_settings(model);
	s.learner.arms = arms;
	s.learner.features += more;
	return model_new(&s);
}

static cop_model *loaded_of(const cop_model *model, size_t arms, size_t more)
{
	cop_bytes bytes;
	cop_diag diag = { 0 };
	cop_bytes_init(&bytes);
	model_save(model, &bytes);
	cop_model *heir = fresh_of(model, arms, more);
	if (cop_model_load(heir, bytes.data, bytes.length, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	cop_bytes_fini(&bytes);
	return heir;
}

/* With memory for what the model is now. */
static cop_model *held_of(const cop_model *model, size_t arms, size_t more)
{
	cop_diag diag = { 0 };
	cop_model_extent extent;
	cop_model *held = fresh_of(model, arms, more);
	cop_model_measure(model, &extent);
	if (cop_model_hold(held, &extent, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	return held;
}

/* Takes the model. */
static cop_model *become_heir(cop_model *heir, cop_model *model)
{
	cop_diag diag = { 0 };
	cop_bytes room;
	cop_bytes_init(&room);
	assert_true(cop_model_inherits(heir, model));
	if (cop_model_make_room(heir, model, &room, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	cop_bytes_fini(&room);
	cop_test_alloc_fail(1, 1);
	cop_model_inherit(heir, model);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_test_alloc_fail(0, 0);
	cop_model_free(model);
	return heir;
}

static cop_model *heir_of(cop_model *model, size_t arms, size_t more)
{
	return become_heir(fresh_of(model, arms, more), model);
}

static void check_alike(const cop_model *a, const cop_model *b)
{
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	model_save(a, &one);
	model_save(b, &two);
	assert_bytes_equal(&one, &two);
	assert_int_equal(cop_model_pending_bytes(a), cop_model_pending_bytes(b));
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
}

static void live_both(cop_model *a, cop_model *b, size_t kind, uint64_t from, size_t n)
{
	for (int i = 0; i < 2; i++) {
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 500 + from);
		live(i == 0 ? a : b, &rng, kinds[kind].sparse, from, n);
	}
	check_alike(a, b);
}

static void test_heir_is_as_the_loaded_one_now_and_later(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		cop_model *few = new_model(kind);
		const size_t more = kinds[kind].features > 0;
		cop_model *loaded = loaded_of(few, kinds[kind].arms - 1, more);
		cop_model *heir = heir_of(few, kinds[kind].arms - 1, more);
		check_alike(heir, loaded);
		live_both(heir, loaded, kind, 450, 30); /* what waited over one time waits over the next one, too */
		cop_model *again = loaded_of(loaded, kinds[kind].arms, kinds[kind].features - more);
		heir = heir_of(heir, kinds[kind].arms, kinds[kind].features - more);
		check_alike(heir, again);
		live_both(heir, again, kind, 480, 400);
		cop_model_free(loaded);
		cop_model_free(again);
		cop_model_free(heir);
	}
}

/* What was measured has grown, and a challenger has come or gone, since the memory was made. */
static void test_heir_whose_memory_was_made_before_is_as_the_loaded_one(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		const size_t arms = kinds[kind].arms, more = kinds[kind].features;
		cop_rng rng;
		cop_model *few = new_model(kind), *held = held_of(few, arms, more);
		cop_rng_init(&rng, FIXTURE_SEED, 600 + kind);
		live(few, &rng, kinds[kind].sparse, 450, 60);
		if (kinds[kind].beside == CHALLENGED)
			assert_int_equal(cop_model_retire(few), COP_OK);
		else if (kinds[kind].beside == ALONE)
			put_beside(few, CHALLENGED, kinds[kind].sparse);
		cop_model *loaded = loaded_of(few, arms, more);
		cop_model *heir = become_heir(held, few);
		check_alike(heir, loaded);
		live_both(heir, loaded, kind, 510, 200);
		cop_model_free(loaded);
		cop_model_free(heir);
	}
}

/* The other way of taking over. */
static void test_memory_that_was_made_takes_what_is_loaded(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		cop_bytes bytes;
		const size_t arms = kinds[kind].arms, more = kinds[kind].features;
		cop_model *few = new_model(kind), *held = held_of(few, arms, more);
		cop_model *loaded = loaded_of(few, arms, more);
		cop_bytes_init(&bytes);
		model_save(few, &bytes);
		assert_int_equal(cop_model_load(held, bytes.data, bytes.length, NULL), COP_OK);
		check_alike(held, loaded);
		live_both(held, loaded, kind, 450, 200);
		cop_bytes_fini(&bytes);
		cop_model_free(loaded);
		cop_model_free(held);
		cop_model_free(few);
	}
}

/* By bytes, and by count. */
static void test_what_gives_way_in_an_heir_is_as_in_the_loaded_one(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		const bool by_bytes = i % 2 != 0;
		const size_t more = i < 2 ? 0 : MORE;
		cop_model *few = new_model(0);
		cop_model *loaded = loaded_of(few, FIXTURE_ARMS + MORE, more);
		cop_model *heir = heir_of(few, FIXTURE_ARMS + MORE, more);
		cop_model_settings s = *cop_model_get_settings(heir);
		s.pending_max = by_bytes ? s.pending_max : cop_model_pending(heir) - 10;
		s.pending_bytes = by_bytes ? cop_model_pending_bytes(heir) - 1000 : s.pending_bytes;
		assert_int_equal(cop_model_adjust(heir, &s, NULL), COP_OK);
		assert_int_equal(cop_model_adjust(loaded, &s, NULL), COP_OK);
		live_both(heir, loaded, 0, 450, 60);
		cop_model_free(loaded);
		cop_model_free(heir);
	}
}

static void test_explanations_kept_stay(void **state)
{
	(void)state;
	cop_model *model = new_model(2);
	const cop_explanation *e;
	const cop_event_id id = model_id(449);
	cop_decision d;
	bool kept;
	assert_int_equal(cop_model_explain(model, &id, &d, &e, &kept), COP_OK);
	assert_true(kept);
	const double prediction = e->prediction;
	model = heir_of(model, FIXTURE_ARMS + 1, 0);
	assert_int_equal(cop_model_explain(model, &id, &d, &e, &kept), COP_OK);
	assert_true(kept && e->prediction == prediction);
	cop_model_free(model);
}

static void test_only_further_arms_and_features_are_inherited(void **state)
{
	(void)state;
	cop_model *model = new_model(0);
	for (int i = 0; i < 4; i++) {
		cop_model_settings s = *cop_model_get_settings(model);
		s.learner.arms += i != 0;
		s.learner.features -= i == 1;
		s.learner.height += i == 2;
		s.learner.seed += i == 3;
		cop_model *other = model_new(&s);
		assert_true(cop_model_inherits(other, model) == (i == 0));
		cop_model_free(other);
	}
	cop_model_free(model);
}

/* A forest of so many arms has fewer trees. */
static void test_arms_that_there_is_no_room_for_change_nothing(void **state)
{
	(void)state;
	cop_model *model = new_model(2), *same = loaded_of(model, FIXTURE_ARMS, 0);
	cop_model *heir = fresh_of(model, 700, 0);
	cop_diag diag = { 0 };
	assert_true(cop_model_inherits(heir, model));
	assert_int_equal(cop_model_make_room(heir, model, NULL, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "saved with 4 arms, in a form that has no room for 700"));
	cop_model_free(heir);
	heir = fresh_of(model, 700, 0);
	cop_model_extent extent;
	cop_model_measure(model, &extent);
	extent.leaves = 100000;
	assert_int_equal(cop_model_hold(heir, &extent, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "saved with 4 arms, in a form that has no room for 700"));
	cop_model_free(heir);
	live_both(model, same, 2, 450, 100);
	cop_model_free(same);
	cop_model_free(model);
}

static void test_room_that_is_not_taken_changes_nothing(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		cop_model *model = new_model(kind), *same = loaded_of(model, FIXTURE_ARMS, 0);
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_model *heir = fresh_of(model, kinds[kind].arms, kinds[kind].features);
			cop_bytes room;
			cop_bytes_init(&room);
			cop_test_alloc_fail(n, 0);
			err = cop_model_make_room(heir, model, &room, NULL);
			cop_test_alloc_fail(0, 0);
			cop_bytes_fini(&room);
			assert_int_equal(err, cop_test_alloc_failed() ? COP_ENOMEM : COP_OK);
			cop_model_free(heir);
		}
		cop_model_extent extent;
		cop_model_measure(model, &extent);
		err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_model *heir = fresh_of(model, kinds[kind].arms, kinds[kind].features);
			cop_test_alloc_fail(n, 0);
			err = cop_model_hold(heir, &extent, NULL);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err, cop_test_alloc_failed() ? COP_ENOMEM : COP_OK);
			cop_model_free(heir);
		}
		check_alike(model, same);
		live_both(model, same, kind, 450, 50);
		cop_model_free(same);
		cop_model_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heir_is_as_the_loaded_one_now_and_later),
		cmocka_unit_test(test_heir_whose_memory_was_made_before_is_as_the_loaded_one),
		cmocka_unit_test(test_memory_that_was_made_takes_what_is_loaded),
		cmocka_unit_test(test_what_gives_way_in_an_heir_is_as_in_the_loaded_one),
		cmocka_unit_test(test_explanations_kept_stay),
		cmocka_unit_test(test_only_further_arms_and_features_are_inherited),
		cmocka_unit_test(test_arms_that_there_is_no_room_for_change_nothing),
		cmocka_unit_test(test_room_that_is_not_taken_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
