/* Saved models: round trips to the byte, shapes that do not fit, cut and changed bytes. */
#include "model_fixture.h"

#include <stdio.h>

static const struct {
	const char *learner;
	bool sparse, one_point;
} kinds[] = { { "ensemble", false, false }, { "ensemble", true, false }, { "dgt", false, false },
	{ "dgt", true, false }, { "value", false, false }, { "value", true, true } };

#define KINDS (sizeof kinds / sizeof *kinds)

static void settings_of(cop_model_settings *s, size_t kind)
{
	model_settings(s, kinds[kind].learner, kinds[kind].sparse);
	s->learner.feedback = kinds[kind].one_point ? COP_VALUE_ONE : COP_VALUE_TWO;
	s->has_default_loss = true;
	s->default_loss = 0.75;
	s->explain_keep = 4;
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	cop_bytes first, second;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	for (size_t k = 0; k < KINDS; k++)
		for (int rule = 0; rule <= COP_REWARD_SUM; rule++) {
			cop_model_settings s, peeked;
			cop_diag diag = { 0 };
			settings_of(&s, k);
			s.reward = (cop_reward_rule)rule;
			s.value_low = -3.0;
			s.value_high = 7.0;
			s.pending_bytes = 3000 + 1000 * k;
			cop_model *a = model_new(&s);
			cop_rng rng, again;
			cop_rng_init(&rng, FIXTURE_SEED, 50);
			model_run(a, &rng, kinds[k].sparse, 0, 300);
			model_save(a, &first);
			assert_int_equal(cop_model_peek(first.data, first.length, &peeked, &diag), COP_OK);
			cop_model *b = model_new(&peeked);
			assert_int_equal(cop_model_load(b, first.data, first.length, &diag), COP_OK);
			model_save(b, &second);
			assert_bytes_equal(&first, &second);
			assert_int_equal(cop_model_pending(a), cop_model_pending(b));
			assert_int_equal(cop_model_pending_bytes(a), cop_model_pending_bytes(b));
			assert_int_equal(cop_model_get_settings(b)->pending_bytes, s.pending_bytes);
			assert_memory_equal(
			        cop_model_get_counters(a), cop_model_get_counters(b), sizeof(cop_model_counters));
			again = rng;
			model_run(a, &rng, kinds[k].sparse, 300, 300);
			model_run(b, &again, kinds[k].sparse, 300, 300);
			model_save(a, &first);
			model_save(b, &second);
			assert_bytes_equal(&first, &second);
			cop_model_free(a);
			cop_model_free(b);
		}
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static void test_load_other_shape_names_both(void **state)
{
	(void)state;
	cop_model_settings s, other;
	cop_bytes bytes;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 51);
	cop_bytes_init(&bytes);
	settings_of(&s, 0);
	cop_model *a = model_new(&s);
	model_run(a, &rng, false, 0, 20);
	model_save(a, &bytes);
	for (int i = 0; i < 5; i++) {
		settings_of(&other, i == 4 ? 1 : 0);
		other.learner.arms -= i == 0 ? 1 : 0;
		other.learner.features -= i == 1 ? 2 : 0;
		other.learner.height += i == 2 ? 1 : 0;
		if (i == 3)
			settings_of(&other, 2);
		cop_model *b = model_new(&other);
		cop_diag diag = { 0 };
		assert_int_equal(cop_model_load(b, bytes.data, bytes.length, &diag), COP_ESHAPE);
		assert_non_null(strstr(diag.message, "arms 4"));
		assert_non_null(strstr(diag.message, "features 6"));
		assert_non_null(strstr(diag.message, "ensemble"));
		if (i == 0)
			assert_non_null(strstr(diag.message, "arms 3"));
		if (i == 1)
			assert_non_null(strstr(diag.message, "features 4"));
		if (i == 3)
			assert_non_null(strstr(diag.message, "dgt"));
		if (i == 4)
			assert_non_null(strstr(diag.message, "bits 8"));
		cop_model_free(b);
	}
	cop_bytes_fini(&bytes);
	cop_model_free(a);
}

static void small(cop_model_settings *s, size_t kind)
{
	settings_of(s, kind);
	s->learner.height = 1;
	if (strcmp(s->learner.learner, "dgt") != 0)
		s->learner.trees = 1;
	if (s->learner.features == 0)
		s->learner.bits = FIXTURE_BITS;
	s->pending_max = 5;
}

/* What comes out of a damaged file either is refused or works. */
static void try_bytes(const cop_model_settings *s, bool sparse, const cop_bytes *bytes)
{
	cop_model *model = model_new(s);
	cop_model_settings peeked;
	cop_diag diag = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 52);
	(void)!cop_model_peek(bytes->data, bytes->length, &peeked, &diag);
	cop_err err = cop_model_load(model, bytes->data, bytes->length, &diag);
	if (err == COP_OK) {
		(void)cop_model_expire(model, 1e9, 100); /* learns all that waited, by the default loss */
		for (uint64_t i = 0; i < 4; i++) {
			fixture_event e;
			cop_decision d;
			bool repeated;
			const cop_explanation *why;
			cop_event_id id = model_id(1000000 + i);
			fixture_draw(&e, &rng, sparse);
			assert_int_equal(decide_context(model, &id, &e.row, NULL, 2e9, &d, &repeated), COP_OK);
			assert_true(d.p > 0.0 && d.p <= 1.0 && d.arm < FIXTURE_ARMS);
			const cop_model_context context = { .x = &e.row };
			assert_int_equal(cop_model_explain_context(model, &context, &d, &why), COP_OK);
			cop_feedback_result result;
			double loss[2] = { 0.25, 0.5 };
			size_t count = cop_learner_losses(&s->learner);
			err = cop_model_feedback(model, &id, loss, count, 2e9, &result);
			assert_true(err == COP_OK || err == COP_EDIVERGED);
		}
	} else {
		assert_true(strlen(diag.message) > 0);
	}
	cop_model_free(model);
}

static void make_small(size_t kind, cop_model_settings *s, cop_bytes *bytes)
{
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 53);
	small(s, kind);
	cop_model *model = model_new(s);
	model_run(model, &rng, kinds[kind].sparse, 0, 14);
	assert_in_range(cop_model_pending(model), 2, 5);
	model_save(model, bytes);
	cop_model_free(model);
}

static void test_load_cut_at_every_byte_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t k = 0; k < KINDS; k++) {
		cop_model_settings s;
		make_small(k, &s, &bytes);
		cop_model *model = model_new(&s);
		size_t step = bytes.length > 20000 ? 29 : 1;
		for (size_t length = 0; length < bytes.length; length += step * COP_TEST_STRIDE)
			assert_int_not_equal(cop_model_load(model, bytes.data, length, NULL), COP_OK);
		cop_model_free(model);
	}
	cop_bytes_fini(&bytes);
}

static void test_load_any_changed_byte_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t k = 0; k < KINDS; k++) {
		cop_model_settings s;
		make_small(k, &s, &bytes);
		cop_model *model = model_new(&s);
		size_t step = bytes.length > 20000 ? 31 : 1;
		for (size_t at = 0; at < bytes.length; at += step * COP_TEST_STRIDE) {
			bytes.data[at] ^= 0x10;
			assert_int_not_equal(cop_model_load(model, bytes.data, bytes.length, NULL), COP_OK);
			bytes.data[at] ^= 0x10;
		}
		cop_model_free(model);
	}
	cop_bytes_fini(&bytes);
}

/* The same file with byte `at` of section `which` changed, or the section cut there; checksums made anew. */
static void rewrap(const cop_bytes *good, size_t which, size_t at, uint8_t flip, bool cut, cop_bytes *out)
{
	cop_section_file file;
	cop_model_section section;
	assert_int_equal(cop_section_file_open(&file, good->data, good->length, NULL, NULL), COP_OK);
	cop_bytes_clear(out);
	size_t mark = cop_section_file_begin(out), place = 0, n = 0;
	while (cop_section_file_next(&file, &place, &section)) {
		size_t m = cop_section_file_begin_section(out, section.name, section.version), start = out->length;
		cop_bytes_put(out, section.data, n == which && cut ? at : section.length);
		if (n == which && !cut)
			out->data[start + at] ^= flip;
		cop_section_file_end_section(out, m);
		n++;
	}
	cop_section_file_end(out, mark);
	assert_int_equal(out->err, COP_OK);
}

static void test_load_forged_sections_is_refused_or_works(void **state)
{
	(void)state;
	static const uint8_t flips[] = { 0x01, 0x80, 0x40, 0xff };
	cop_bytes good, forged;
	cop_bytes_init(&good);
	cop_bytes_init(&forged);
	for (size_t k = 0; k < KINDS; k++) {
		cop_model_settings s;
		make_small(k, &s, &good);
		cop_section_file file;
		cop_model_section section;
		assert_int_equal(cop_section_file_open(&file, good.data, good.length, NULL, NULL), COP_OK);
		size_t place = 0;
		for (size_t n = 0; cop_section_file_next(&file, &place, &section); n++) {
			size_t step = 1 + section.length / 40; /* fuzz_checkpoint goes further */
			for (size_t at = 0; at < section.length; at += at < 24 ? 1 : step * COP_TEST_STRIDE) {
				for (size_t f = 0; f < sizeof flips; f++) {
					rewrap(&good, n, at, flips[f], false, &forged);
					try_bytes(&s, kinds[k].sparse, &forged);
				}
				rewrap(&good, n, at, 0, true, &forged);
				try_bytes(&s, kinds[k].sparse, &forged);
			}
		}
	}
	cop_bytes_fini(&good);
	cop_bytes_fini(&forged);
}

static void test_load_lowered_bound_keeps_what_waited(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_bytes bytes;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 54);
	cop_bytes_init(&bytes);
	settings_of(&s, 0);
	cop_model *a = model_new(&s);
	for (uint64_t i = 0; i < 50; i++)
		(void)model_decide(a, &rng, false, i, 0.0);
	model_save(a, &bytes);
	s.pending_max = 10;
	cop_model *b = model_new(&s);
	assert_int_equal(cop_model_load(b, bytes.data, bytes.length, NULL), COP_OK);
	assert_int_equal(cop_model_pending(b), 50);
	assert_int_equal(cop_model_get_settings(b)->pending_max, 100); /* the saved one, until adjusted again */
	assert_int_equal(cop_model_adjust(b, &s, NULL), COP_OK);
	assert_int_equal(cop_model_pending(b), 50);
	(void)model_decide(b, &rng, false, 100, 1.0);
	assert_int_equal(cop_model_pending(b), 10);
	assert_int_equal(cop_model_get_counters(b)->evicted, 41);
	cop_bytes_fini(&bytes);
	cop_model_free(a);
	cop_model_free(b);
}

/* Of two shapes: both are named in full. */
static void check_shapes(const cop_model_settings *a, const cop_model_settings *b, const char *was, const char *is)
{
	cop_diag diag;
	char want[sizeof diag.message];
	(void)snprintf(want, sizeof want, "saved with %s; configured with %s", was, is);
	assert_int_equal(cop_model_can_load(a, b, &diag), COP_ESHAPE);
	assert_string_equal(diag.message, want);
}

static void test_shapes_that_differ_are_named(void **state)
{
	(void)state;
	cop_model_settings dense, sparse, values, ranks;
	model_settings(&dense, "ensemble", false);
	dense.learner.experts = COP_EXPERT_TREES | COP_EXPERT_LINEAR;
	dense.loss_low = -0.5;
	dense.loss_high = 2.5;
	sparse = dense;
	sparse.learner.features = 0;
	sparse.learner.experts = 0;
	check_shapes(&dense, &sparse,
	        "learner ensemble, arms 4, features 6, loss_range {-0.5, 2.5}, height 3, trees 3, experts linear trees",
	        "learner ensemble, arms 4, sparse features, bits 8, max_nonzeros 6, loss_range {-0.5, 2.5}, height 3, "
	        "trees 3, experts all");
	values = dense;
	strcpy(values.learner.learner, "value");
	values.learner.arms = 0;
	values.learner.delta = 0.25;
	values.learner.feedback = COP_VALUE_ONE;
	values.value_low = -3.0;
	values.value_high = 7.5;
	ranks = sparse;
	strcpy(ranks.learner.learner, "rank");
	ranks.learner.arms = 0;
	ranks.learner.max_candidates = 12;
	ranks.learner.features = ranks.learner.candidate_features = 9;
	check_shapes(&values, &ranks,
	        "learner value, value_range {-3, 7.5}, delta 0.25, feedback one, features 6, loss_range {-0.5, 2.5}, "
	        "height 3, trees 3",
	        "learner rank, candidate_features 9, max_candidates 12, features 9, loss_range {-0.5, 2.5}, height 3, "
	        "trees 3");
	strcpy(dense.learner.learner, "dgt");
	values = dense;
	values.learner.literal = true;
	check_shapes(&dense, &values, "learner dgt, arms 4, features 6, loss_range {-0.5, 2.5}, height 3, trees 3",
	        "learner dgt without shared_bias, arms 4, features 6, loss_range {-0.5, 2.5}, height 3, trees 3");
}

/* Behind the options that every state has, by name, and only if they are not 0. */
static void test_later_options_are_saved_where_they_are_used(void **state)
{
	(void)state;
	cop_model_settings s, peeked;
	cop_bytes without, with;
	settings_of(&s, 0);
	cop_model *usual = model_new(&s);
	s.learner.exploration.first = 300;
	cop_model *model = model_new(&s);
	cop_bytes_init(&without);
	cop_bytes_init(&with);
	model_save(usual, &without);
	model_save(model, &with);
	assert_int_equal(with.length - without.length, 4 + strlen("explore_first") + 8);
	assert_int_equal(cop_model_peek(with.data, with.length, &peeked, NULL), COP_OK);
	assert_int_equal(peeked.learner.exploration.first, 300);
	assert_int_equal(cop_model_peek(without.data, without.length, &peeked, NULL), COP_OK);
	assert_int_equal(peeked.learner.exploration.first, 0);
	cop_bytes_fini(&without);
	cop_bytes_fini(&with);
	cop_model_free(usual);
	cop_model_free(model);
}

/* Each alone; what a state has room for may grow. */
static void test_every_part_of_a_shape_counts(void **state)
{
	(void)state;
	enum { ARMS, SPARSE, VALUES, RANKS, SHAPES };
	cop_model_settings shape[SHAPES], s;
	for (int k = 0; k < SHAPES; k++)
		model_settings(&shape[k], k == VALUES ? "value" : "ensemble", k == SPARSE);
	strcpy(shape[RANKS].learner.learner, "rank");
	shape[RANKS].learner.arms = 0;
	shape[RANKS].learner.candidate_features = 3;
	shape[RANKS].learner.max_candidates = 5;
	for (int k = 0; k < SHAPES; k++)
		assert_int_equal(cop_model_can_load(&shape[k], &shape[k], NULL), COP_OK);
#define DIFFERS(of, change, err)                                                                                       \
	do {                                                                                                           \
		s = shape[of];                                                                                         \
		change;                                                                                                \
		assert_int_equal(cop_model_can_load(&shape[of], &s, NULL), err);                                       \
	} while (0)
	DIFFERS(ARMS, strcpy(s.learner.learner, "dgt"), COP_ESHAPE);
	DIFFERS(ARMS, s.learner.arms--, COP_ESHAPE);
	DIFFERS(ARMS, s.learner.arms++, COP_OK);
	DIFFERS(ARMS, s.learner.features--, COP_ESHAPE);
	DIFFERS(ARMS, s.learner.features++, COP_OK);
	DIFFERS(SPARSE, s.learner.features++, COP_ESHAPE);
	DIFFERS(VALUES, s.learner.features++, COP_OK);
	DIFFERS(RANKS, s.learner.features++, COP_OK);
	DIFFERS(RANKS, s.learner.features--, COP_ESHAPE);
	DIFFERS(ARMS, s.learner.height++, COP_ESHAPE);
	DIFFERS(ARMS, s.learner.trees++, COP_ESHAPE);
	DIFFERS(ARMS, s.learner.literal = true, COP_ESHAPE);
	DIFFERS(ARMS, s.learner.experts = COP_EXPERT_LINEAR, COP_ESHAPE);
	DIFFERS(ARMS, s.loss_low -= 1.0, COP_ESHAPE);
	DIFFERS(ARMS, s.loss_high += 1.0, COP_ESHAPE);
	DIFFERS(ARMS, s.learner.bits++, COP_OK);
	DIFFERS(ARMS, s.learner.max_nonzeros--, COP_OK);
	DIFFERS(ARMS, s.learner.max_candidates--, COP_OK);
	DIFFERS(ARMS, s.learner.delta += 0.1, COP_OK);
	DIFFERS(ARMS, s.value_high += 1.0, COP_OK);
	DIFFERS(SPARSE, s.learner.bits++, COP_ESHAPE);
	DIFFERS(SPARSE, s.learner.max_nonzeros--, COP_ESHAPE);
	DIFFERS(SPARSE, s.learner.max_nonzeros++, COP_OK);
	DIFFERS(VALUES, s.learner.feedback = COP_VALUE_BINS, COP_ESHAPE);
	DIFFERS(VALUES, s.learner.delta += 0.1, COP_ESHAPE);
	DIFFERS(VALUES, s.learner.delta_decay += 0.1, COP_ESHAPE);
	DIFFERS(VALUES, s.learner.delta_floor += 0.1, COP_ESHAPE);
	DIFFERS(VALUES, s.value_low -= 1.0, COP_ESHAPE);
	DIFFERS(VALUES, s.value_high += 1.0, COP_ESHAPE);
	DIFFERS(VALUES, s.learner.experts = COP_EXPERT_LINEAR, COP_OK);
	DIFFERS(RANKS, s.learner.candidate_features++, COP_ESHAPE);
	DIFFERS(RANKS, s.learner.max_candidates--, COP_ESHAPE);
	DIFFERS(RANKS, s.learner.max_candidates++, COP_OK);
	DIFFERS(RANKS, s.value_high += 1.0, COP_OK);
}

static void test_load_short_of_memory_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t k = 0; k < KINDS; k++) {
		cop_model_settings s;
		make_small(k, &s, &bytes);
		bool met = true;
		size_t passed_over = 0;
		for (unsigned long n = 1; met; n++) {
			cop_model *model = model_new(&s);
			cop_test_alloc_fail(n, 0);
			cop_err err = cop_model_load(model, bytes.data, bytes.length, NULL);
			cop_test_alloc_fail(0, 0);
			met = cop_test_alloc_failed();
			assert_true(err == COP_OK || (met && err == COP_ENOMEM));
			passed_over += met && err == COP_OK;
			cop_model_free(model);
		}
		assert_true(passed_over <= 2); /* a model may forget who was answered, and decides as before */
	}
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_load_other_shape_names_both),
		cmocka_unit_test(test_load_cut_at_every_byte_is_refused),
		cmocka_unit_test(test_load_any_changed_byte_is_refused),
		cmocka_unit_test(test_load_forged_sections_is_refused_or_works),
		cmocka_unit_test(test_load_lowered_bound_keeps_what_waited),
		cmocka_unit_test(test_shapes_that_differ_are_named),
		cmocka_unit_test(test_later_options_are_saved_where_they_are_used),
		cmocka_unit_test(test_every_part_of_a_shape_counts),
		cmocka_unit_test(test_load_short_of_memory_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
