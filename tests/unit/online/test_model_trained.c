#include "support.h"

#include "model_fixture.h"
#include "unit/view/trained_fixture.h"
#include "online/model.h"
#include "online/model_names.h"
#include "online/model_shadow.h"
#include "online/model_trained.h"
#include "store/section_file.h"

static const people_shape shapes[] = {
	{ .trees = 1, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES },
	{ .trees = 6, .depth = 3, .link = COP_TREE_VALUES, .rule = COP_TREES_SUM, .oblique = true, .linear = true },
	{ .trees = 2, .depth = 2, .classes = 6, .link = COP_TREE_LOGITS, .linear = true },
	{ .trees = 5, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES, .rule = COP_TREES_VOTE },
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static void convert(const people *f, cop_bytes *bytes)
{
	cop_diag diag = { .message = "" };
	cop_bytes_init(bytes);
	cop_trained_put(f->model, bytes);
	assert_int_equal(bytes->err, COP_OK);
	assert_true(cop_model_trained_is(bytes->data, bytes->length));
	if (cop_model_trained_convert(bytes, "people.model", &diag) != COP_OK)
		fail_msg("%s", diag.message);
	assert_false(cop_model_trained_is(bytes->data, bytes->length));
}

static cop_model *open_model(const people *f)
{
	cop_bytes bytes;
	cop_model *model;
	cop_diag diag = { .message = "" };
	convert(f, &bytes);
	if (cop_model_open(bytes.data, bytes.length, &model, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	cop_bytes_fini(&bytes);
	return model;
}

static cop_decision decide(cop_model *model, const people *f, size_t i, const uint8_t *mask)
{
	cop_row x;
	bool repeated;
	cop_decision decision;
	const cop_event_id id = model_id(i);
	cop_dataset_row(f->raw, i, &x);
	const cop_model_context context = { .id = &id, .x = &x, .mask = mask };
	assert_int_equal(cop_model_decide(model, &context, 1.0, &decision, &repeated), COP_OK);
	assert_false(repeated);
	return decision;
}

/* What the trees give for the prepared row; returns the class. */
static size_t predict(const people *f, size_t i, double *out)
{
	float work[PEOPLE_K];
	cop_row x;
	size_t best = 0;
	cop_dataset_row(f->rows, i, &x);
	cop_trees_predict(f->model->trees, &x, work, out);
	for (size_t k = 1; k < f->shape.classes; k++)
		best = out[k] > out[best] ? k : best;
	return best;
}

static void test_model_trained_decides_as_the_trees_predict(void **state)
{
	(void)state;
	for (size_t s = 0; s < SHAPES; s++) {
		people f;
		double out[PEOPLE_K];
		people_init(&f, &shapes[s]);
		cop_model *model = open_model(&f);
		for (size_t i = 0; i < f.raw->n; i++) {
			cop_decision decision = decide(model, &f, i, NULL);
			size_t best = predict(&f, i, out);
			if (shapes[s].classes == 0) {
				assert_true(decision.y == cop_encoder_from_scale(f.model->preparation, out[0]));
				assert_true(cop_model_value(model, decision.y) == decision.y);
			} else {
				assert_int_equal(decision.arm, best);
				assert_true(decision.p == 1.0 && decision.greedy);
			}
		}
		cop_model_free(model);
		people_fini(&f);
	}
}

static void test_model_trained_keeps_to_the_mask(void **state)
{
	(void)state;
	people f;
	double out[PEOPLE_K];
	people_init(&f, &shapes[0]);
	cop_model *model = open_model(&f);
	for (size_t i = 0; i < 50; i++) {
		uint8_t mask[3] = { 1, 1, 1 };
		size_t best = predict(&f, i, out), second = best == 0 ? 1 : 0;
		mask[best] = 0;
		for (size_t k = 0; k < 3; k++)
			second = k != best && out[k] > out[second] ? k : second;
		assert_int_equal(decide(model, &f, i, mask).arm, second);
	}
	cop_model_free(model);
	people_fini(&f);
}

static void save(const cop_model *model, cop_bytes *bytes)
{
	cop_bytes_init(bytes);
	size_t file = cop_section_file_begin(bytes);
	cop_model_save(model, bytes);
	cop_section_file_end(bytes, file);
	assert_int_equal(bytes->err, COP_OK);
}

static void test_model_trained_counts_losses_and_learns_none(void **state)
{
	(void)state;
	for (size_t s = 0; s < 2; s++) {
		people f;
		cop_bytes before, after;
		cop_feedback_result result;
		const double loss = 0.5;
		people_init(&f, &shapes[s]);
		cop_model *model = open_model(&f);
		const cop_learner *learner = cop_model_learner(model);
		cop_bytes_init(&before);
		cop_bytes_init(&after);
		cop_learner_save(learner, &before);
		for (size_t i = 0; i < 20; i++) {
			const cop_event_id id = model_id(i);
			(void)decide(model, &f, i, NULL);
			cop_model_freeze(model, i % 2 == 0);
			assert_int_equal(cop_model_feedback(model, &id, &loss, 1, 2.0, &result), COP_OK);
			assert_int_equal(result, COP_FEEDBACK_APPLIED);
		}
		cop_learner_save(learner, &after);
		assert_int_equal(after.length, before.length);
		assert_memory_equal(after.data, before.data, before.length);
		assert_int_equal(learner->rev, 0);
		cop_bytes_fini(&before);
		cop_bytes_fini(&after);
		cop_model_free(model);
		people_fini(&f);
	}
}

static void test_model_trained_comes_back_from_its_state(void **state)
{
	(void)state;
	for (size_t s = 0; s < SHAPES; s++) {
		people f;
		cop_bytes bytes, again;
		cop_model *second;
		cop_promotion_test_roles roles;
		people_init(&f, &shapes[s]);
		cop_model *model = open_model(&f);
		(void)decide(model, &f, 3, NULL);
		save(model, &bytes);
		assert_int_equal(cop_model_open(bytes.data, bytes.length, &second, NULL), COP_OK);
		save(second, &again);
		assert_int_equal(again.length, bytes.length);
		assert_memory_equal(again.data, bytes.data, bytes.length);
		cop_model_shadow_roles(second, &roles);
		assert_true(roles.frozen);
		cop_bytes_fini(&bytes);
		cop_bytes_fini(&again);
		cop_model_free(second);
		cop_model_free(model);
		people_fini(&f);
	}
}

static void test_model_trained_is_explained(void **state)
{
	(void)state;
	for (size_t s = 0; s < SHAPES; s++) {
		people f;
		double out[PEOPLE_K];
		const cop_explanation *e;
		cop_decision decision;
		bool kept;
		people_init(&f, &shapes[s]);
		cop_model *model = open_model(&f);
		cop_decision made = decide(model, &f, 5, NULL);
		const cop_event_id id = model_id(5);
		assert_int_equal(cop_model_explain(model, &id, &decision, &e, &kept), COP_OK);
		(void)predict(&f, 5, out);
		assert_true(e->prediction == (shapes[s].classes == 0 ? made.y : 1.0 - out[made.arm]));
		assert_int_equal(e->expert_count, 1);
		assert_int_equal(e->experts[0].trees, shapes[s].trees < 4 ? shapes[s].trees : 4);
		cop_row x;
		cop_dataset_row(f.rows, 5, &x);
		for (size_t m = 0; m < e->experts[0].trees; m++)
			assert_int_equal(e->trees[m].leaf, cop_tree_leaf(cop_trees_at(f.model->trees, m), &x));
		cop_model_free(model);
		people_fini(&f);
	}
}

static void test_model_trained_has_its_names(void **state)
{
	(void)state;
	people f;
	cop_bytes bytes;
	cop_section_file file;
	cop_feature_space *space;
	char **names;
	size_t count;
	people_init(&f, &shapes[0]);
	convert(&f, &bytes);
	assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL), COP_OK);
	assert_int_equal(cop_model_names_load(&file, NULL, &space, NULL), COP_OK);
	for (size_t j = 0; j < cop_encoder_features(f.model->preparation); j++)
		assert_string_equal(cop_feature_space_column(space, j), cop_encoder_feature(f.model->preparation, j));
	assert_int_equal(cop_model_trained_arms(bytes.data, bytes.length, &names, &count), COP_OK);
	assert_int_equal(count, 3);
	for (size_t k = 0; k < count; k++) {
		assert_string_equal(names[k], cop_encoder_class(f.model->preparation, k));
		cop_mem_free(names[k]);
	}
	cop_mem_free(names);
	cop_feature_space_free(space);
	cop_bytes_fini(&bytes);
	people_fini(&f);
}

static void test_model_trained_damaged_state_is_refused(void **state)
{
	(void)state;
	people f;
	cop_bytes bytes;
	people_init(&f, &shapes[0]);
	cop_model *model = open_model(&f);
	cop_bytes_init(&bytes);
	cop_learner_save(cop_model_learner(model), &bytes);
	for (size_t length = 0; length < bytes.length; length++) {
		cop_cursor cursor;
		cop_cursor_init(&cursor, bytes.data, length);
		assert_int_not_equal(cop_learner_load(cop_model_learner(model), &cursor), COP_OK);
	}
	(void)decide(model, &f, 0, NULL); /* what it had is still there */
	cop_bytes_fini(&bytes);
	cop_model_free(model);
	people_fini(&f);
}

static void test_model_trained_without_memory_leaves_the_bytes(void **state)
{
	(void)state;
	people f;
	people_init(&f, &shapes[0]);
	for (unsigned long n = 1;; n++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_trained_put(f.model, &bytes);
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_model_trained_convert(&bytes, "f", NULL);
		cop_test_alloc_fail(0, 0);
		assert_true(cop_model_trained_is(bytes.data, bytes.length) == (err != COP_OK));
		cop_bytes_fini(&bytes);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	people_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_trained_decides_as_the_trees_predict),
		cmocka_unit_test(test_model_trained_keeps_to_the_mask),
		cmocka_unit_test(test_model_trained_counts_losses_and_learns_none),
		cmocka_unit_test(test_model_trained_comes_back_from_its_state),
		cmocka_unit_test(test_model_trained_is_explained),
		cmocka_unit_test(test_model_trained_has_its_names),
		cmocka_unit_test(test_model_trained_damaged_state_is_refused),
		cmocka_unit_test(test_model_trained_without_memory_leaves_the_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
