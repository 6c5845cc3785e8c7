/* Candidates on the wire: `c` and its mask in contexts, feedback and records, the order in actions; what is refused and
 * in which words. */
#include "support.h"

#include <math.h>

#include "wire/wire_context.h"
#include "wire/wire_feedback.h"
#include "wire/wire_models.h"
#include "wire/wire_record.h"
#include "wire/wire_reply.h"
#include "wire_fixture.h"

typedef struct attempt {
	fixture f;
	cop_wire_context context;
	cop_wire_feedback feedback;
	cop_wire_fault fault;
	cop_bytes bytes;
} attempt;

static int setup(void **state)
{
	attempt *a = calloc(1, sizeof *a);
	if (a == NULL)
		return -1;
	fixture_init(&a->f);
	cop_bytes_init(&a->bytes);
	*state = a;
	return 0;
}

static int teardown(void **state)
{
	attempt *a = *state;
	cop_bytes_fini(&a->bytes);
	free(a);
	return 0;
}

static cop_err try_context(attempt *a, const cop_wire_shape *shape, const char *text)
{
	memset(&a->fault, 0, sizeof a->fault);
	cop_bytes_clear(&a->bytes);
	put_message(&a->bytes, text);
	return cop_wire_context_decode(a->bytes.data, a->bytes.length, shape, &a->f.workspace, &a->context, &a->fault);
}

static cop_err try_feedback(attempt *a, const cop_wire_shape *shape, const char *text)
{
	memset(&a->fault, 0, sizeof a->fault);
	cop_bytes_clear(&a->bytes);
	put_message(&a->bytes, text);
	return cop_wire_feedback_decode(
	        a->bytes.data, a->bytes.length, shape, &a->f.workspace, &a->feedback, &a->fault);
}

static void test_dense_candidates_are_read_with_a_mask_before_them(void **state)
{
	attempt *a = *state;
	const cop_wire_context *c = &a->context;
	assert_int_equal(try_context(a, &a->f.ranks,
	                         "{'mask': [1, 0], 'id': 7, 'c': [[1, 2, 3], {'2': 9}], 'x': [1, 0.5, -2, 0], 'order': "
	                         "true, 'defer': true}"),
	        COP_ESHAPE); /* string keys are names, and candidates' features have none */
	assert_int_equal(try_context(a, &a->f.ranks,
	                         "{'mask': [1, 0], 'id': 7, 'c': [[1, 2, 3], [0, 0, 9]], 'x': [1, 0.5, -2, 0], "
	                         "'order': true, 'defer': true}"),
	        COP_OK);
	assert_true(c->candidates == 2 && c->arms == 2 && c->candidate == a->f.candidate && c->order && c->defer);
	const float first[] = { 1.0F, 2.0F, 3.0F }, second[] = { 0.0F, 0.0F, 9.0F };
	assert_int_equal(c->candidate[0].d, CANDIDATE_FEATURES);
	assert_memory_equal(c->candidate[0].dense, first, sizeof first);
	assert_memory_equal(c->candidate[1].dense, second, sizeof second);
	assert_true(c->has_mask && c->mask[0] == 1 && c->mask[1] == 0);
	assert_int_equal(try_context(a, &a->f.ranks, "{'id': 7, 'x': [1, 0, 0, 0], 'c': [[1, 2, 3]]}"), COP_OK);
	assert_true(c->candidates == 1 && !c->has_mask && c->mask[0] == 1 && !c->order);
}

static void test_sparse_candidates_share_their_room(void **state)
{
	attempt *a = *state;
	const cop_wire_context *c = &a->context;
	assert_int_equal(try_context(a, &a->f.sparse_ranks,
	                         "{'id': 7, 'x': {'3': 1}, 'c': [{'5': 1, '4': 2}, {}, {'9': 0.5, '8': 0, '7': 4}]}"),
	        COP_OK);
	assert_true(c->candidates == 3);
	assert_int_equal(c->candidate[0].nnz, 2);
	assert_int_equal(c->candidate[1].nnz, 0);
	assert_int_equal(c->candidate[2].nnz, 2);
	assert_int_equal(c->candidate[0].index[0], 4);
	assert_true(c->candidate[0].value[0] == 2.0F);
	assert_int_equal(c->candidate[2].index[1], 9);
	assert_true(c->candidate[2].value[0] == 4.0F && c->candidate[2].d == 1 << BITS);
}

static void test_wrong_candidates_are_refused_by_name(void **state)
{
	attempt *a = *state;
	static const refusal refusals[] = {
		{ "{'id': 1, 'x': [1,2,3,4]}", COP_WIRE_BAD_REQUEST, "c: the key is missing" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': 5}", COP_WIRE_BAD_FEATURES, "c: got an integer, expected an array" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': []}", COP_WIRE_BAD_FEATURES,
		        "c: got 0 candidates, expected 1 to 5 (max_candidates)" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': [[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3]]}",
		        COP_WIRE_BAD_FEATURES, "c: got 6 candidates, expected 1 to 5 (max_candidates)" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': [[1,2,3],[1,2]]}", COP_WIRE_BAD_FEATURES,
		        "c[1]: got 2 values, expected 3" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': [[1,2,3],[1,'a',3]]}", COP_WIRE_BAD_FEATURES,
		        "c[1][1]: got a string, expected a number" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': [[1,2,1e39]]}", COP_WIRE_BAD_FEATURES,
		        "c[0][2]: not a finite number in range" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': [{'a': 1}]}", COP_WIRE_BAD_FEATURES,
		        "c[0][\"a\"]: the model has no feature names" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': [[1,2,3]], 'mask': [1,1]}", COP_WIRE_BAD_REQUEST,
		        "mask: got 2 entries, expected 1, one per candidate" },
		{ "{'id': 1, 'x': [1,2,3,4], 'mask': [0,0], 'c': [[1,2,3],[1,2,3]]}", COP_WIRE_BAD_REQUEST,
		        "mask: no candidate is eligible" },
		{ "{'id': 1, 'x': [1,2,3,4], 'c': [[1,2,3]], 'order': 1}", COP_WIRE_BAD_REQUEST,
		        "order: got an integer, expected a boolean" },
		{ "{'id': 1, 'x': [1,2,3], 'c': [[1,2,3]]}", COP_WIRE_BAD_FEATURES, "x: got 3 values, expected 4" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_context(a, &a->f.ranks, refusals[i].message), &refusals[i]);
	const refusal arms = { "{'id': 1, 'x': [1,2,3,4], 'c': [[1]]}", COP_WIRE_BAD_REQUEST,
		"c: the model has arms, expected no candidates" };
	assert_refused(&a->fault, try_context(a, &a->f.dense, arms.message), &arms);
	const refusal values = { "{'id': 1, 'x': {'1': 1}, 'c': [[1]]}", COP_WIRE_BAD_REQUEST,
		"c: the model has values, expected no candidates" };
	assert_refused(&a->fault, try_context(a, &a->f.sparse, values.message), &values);
}

static void test_explain_needs_candidates_beside_x_alone(void **state)
{
	attempt *a = *state;
	static const struct {
		const char *message;
		cop_err err;
	} cases[] = {
		{ "{'id': 4}", COP_OK },
		{ "{'x': [1,2,3,4], 'c': [[1,2,3]]}", COP_OK },
		{ "{'x': [1,2,3,4]}", COP_EFORMAT },
		{ "{'id': 4, 'x': [1,2,3,4], 'c': [[1,2,3]]}", COP_EFORMAT },
	};
	for (size_t i = 0; i < 4; i++) {
		cop_bytes_clear(&a->bytes);
		put_message(&a->bytes, cases[i].message);
		assert_int_equal(cop_wire_explain_decode(a->bytes.data, a->bytes.length, &a->f.ranks, &a->f.workspace,
		                         &a->context, &a->fault),
		        cases[i].err);
	}
}

static void test_feedback_of_a_candidate_is_self_contained_without_its_place(void **state)
{
	attempt *a = *state;
	const cop_wire_feedback *b = &a->feedback;
	assert_int_equal(
	        try_feedback(a, &a->f.ranks, "{'id': 1, 'loss': 0.5, 'x': [1,2,3,4], 'c': [7,8,9], 'p': 0.25}"),
	        COP_OK);
	assert_true(b->has_x && b->has_c && b->has_p && !b->has_a);
	assert_true(b->candidate.dense[2] == 9.0F);
	assert_int_equal(try_feedback(a, &a->f.ranks, "{'id': 1, 'loss': 0.5}"), COP_OK);
	assert_false(b->has_c);
	static const refusal refusals[] = {
		{ "{'id': 1, 'loss': 0, 'x': [1,2,3,4], 'p': 1}", COP_WIRE_BAD_REQUEST, "c: the key is missing" },
		{ "{'id': 1, 'loss': 0, 'x': [1,2,3,4], 'c': [1,2,3]}", COP_WIRE_BAD_REQUEST, "p: the key is missing" },
		{ "{'id': 1, 'loss': 0, 'x': [1,2,3,4], 'c': [1,2], 'p': 1}", COP_WIRE_BAD_FEATURES,
		        "c: got 2 values, expected 3" },
		{ "{'id': 1, 'loss': 0, 'x': [1,2,3,4], 'c': [1,2,3], 'p': 1, 'a': 5}", COP_WIRE_BAD_REQUEST,
		        "a: got 5, expected a candidate below 5" },
	};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_refused(&a->fault, try_feedback(a, &a->f.ranks, refusals[i].message), &refusals[i]);
	const refusal arms = { "{'id': 1, 'loss': 0, 'c': [1]}", COP_WIRE_BAD_REQUEST, "c: the model has arms" };
	assert_refused(&a->fault, try_feedback(a, &a->f.dense, arms.message), &arms);
}

static void check_rows(const cop_row *a, const cop_row *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(a[i].d, b[i].d);
		assert_int_equal(cop_row_entries(&a[i]), cop_row_entries(&b[i]));
		for (size_t k = 0; k < cop_row_entries(&a[i]); k++) {
			assert_int_equal(cop_row_index(&a[i], k), cop_row_index(&b[i], k));
			assert_true(cop_row_value(&a[i], k) == cop_row_value(&b[i], k));
		}
	}
}

/* A context that was written is read back the same, in every form. */
static void test_context_round_trip(void **state)
{
	attempt *a = *state;
	static const char *const texts[] = {
		"{'id': 7, 'x': [1, 0.5, -2, 0], 'c': [[1,2,3],[4,5,6]], 'mask': [1,0], 'order': true}",
		"{'id': 7, 'x': {'3': 1}, 'c': [{'5': 1, '4': 2}, {}], 'probabilities': true}",
	};
	for (int sparse = 0; sparse < 2; sparse++) {
		const cop_wire_shape *shape = sparse ? &a->f.sparse_ranks : &a->f.ranks;
		for (int form = 0; form < 2; form++) {
			fixture other;
			cop_wire_context back;
			cop_bytes bytes;
			fixture_init(&other);
			cop_bytes_init(&bytes);
			assert_int_equal(try_context(a, shape, texts[sparse]), COP_OK);
			cop_wire_context_put(
			        &bytes, &a->context, form == 0 ? COP_WIRE_FORM_PACKED : COP_WIRE_FORM_ARRAY);
			assert_int_equal(
			        cop_wire_context_decode(bytes.data, bytes.length, shape, &other.workspace, &back, NULL),
			        COP_OK);
			assert_true(back.order == a->context.order && back.candidates == a->context.candidates);
			assert_true(back.probabilities == (sparse != 0) && back.has_mask == a->context.has_mask);
			assert_memory_equal(back.mask, a->context.mask, back.candidates);
			check_rows(back.candidate, a->context.candidate, back.candidates);
			cop_bytes_fini(&bytes);
		}
	}
}

static void test_feedback_round_trip(void **state)
{
	attempt *a = *state;
	fixture other;
	cop_wire_feedback back;
	cop_bytes bytes;
	fixture_init(&other);
	cop_bytes_init(&bytes);
	assert_int_equal(try_feedback(a, &a->f.sparse_ranks,
	                         "{'id': 1, 'loss': 0.5, 'x': {'2': 1}, 'c': {'7': 8, '9': 1}, 'p': 0.25, 'a': 3}"),
	        COP_OK);
	cop_wire_feedback_put(&bytes, &a->feedback, COP_WIRE_FORM_PACKED);
	assert_int_equal(
	        cop_wire_feedback_decode(bytes.data, bytes.length, &a->f.sparse_ranks, &other.workspace, &back, NULL),
	        COP_OK);
	assert_true(back.has_c && back.a == 3 && back.p == 0.25);
	check_rows(&back.candidate, &a->feedback.candidate, 1);
	cop_bytes_fini(&bytes);
}

static cop_wire_record record_of(const cop_wire_context *c)
{
	return (cop_wire_record){
		.model = "m",
		.model_length = 1,
		.time = 3.5,
		.id = c->id,
		.x = c->x,
		.has_x = true,
		.candidate = c->candidate,
		.candidates = c->candidates,
		.mask = c->has_mask ? c->mask : NULL,
		.arms = c->candidates,
		.a = 1,
		.p = 0.25,
		.greedy = true,
		.rev = 9,
		.prediction = { 0.5F, 0.25F },
		.predictions = 2,
	};
}

static void test_record_round_trip(void **state)
{
	attempt *a = *state;
	fixture other;
	cop_wire_record back;
	cop_bytes bytes;
	fixture_init(&other);
	cop_bytes_init(&bytes);
	assert_int_equal(try_context(a, &a->f.ranks,
	                         "{'id': 7, 'x': [1, 0.5, -2, 0], 'c': [[1,2,3],[4,5,6],[7,8,9]], 'mask': [1,1,0]}"),
	        COP_OK);
	cop_wire_record decision = record_of(&a->context);
	cop_wire_record_put(&bytes, COP_WIRE_RECORD_DECISION, &decision);
	assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_DECISION, bytes.data, bytes.length, &a->f.ranks,
	                         &other.workspace, &back, NULL),
	        COP_OK);
	assert_true(back.candidates == 3 && back.arms == 3 && !back.values && back.a == 1 && back.p == 0.25);
	assert_memory_equal(back.mask, decision.mask, 3);
	check_rows(back.candidate, decision.candidate, 3);
	/* Without its candidates, or with a place beyond them, it is none of this model's. */
	decision.a = 3;
	for (int i = 0; i < 2; i++) {
		cop_bytes_clear(&bytes);
		cop_wire_record_put(&bytes, COP_WIRE_RECORD_DECISION, &decision);
		assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_DECISION, bytes.data, bytes.length, &a->f.ranks,
		                         &other.workspace, &back, NULL),
		        COP_EFORMAT);
		decision.a = 0;
		decision.candidates = 0;
		decision.mask = NULL;
	}
	cop_wire_record feedback = record_of(&a->context);
	feedback.mask = NULL;
	feedback.losses = 1;
	for (int i = 0; i < 3; i++) {
		cop_bytes_clear(&bytes);
		feedback.candidates = i == 2 ? 2 : 1;
		feedback.a = i == 0 ? COP_WIRE_RECORD_ANY_ARM : 4;
		cop_wire_record_put(&bytes, COP_WIRE_RECORD_FEEDBACK, &feedback);
		assert_int_equal(cop_wire_record_decode(COP_WIRE_RECORD_FEEDBACK, bytes.data, bytes.length, &a->f.ranks,
		                         &other.workspace, &back, NULL),
		        i == 2 ? COP_EFORMAT : COP_OK);
		assert_true(i == 2 || (back.a == feedback.a && back.candidates == 1));
	}
	cop_bytes_fini(&bytes);
}

static cop_err decode_context(fixture *f, const void *body, size_t length)
{
	cop_wire_context out;
	return cop_wire_context_decode(body, length, &f->ranks, &f->workspace, &out, NULL);
}

static cop_err decode_sparse_context(fixture *f, const void *body, size_t length)
{
	cop_wire_context out;
	return cop_wire_context_decode(body, length, &f->sparse_ranks, &f->workspace, &out, NULL);
}

static cop_err decode_record(fixture *f, const void *body, size_t length)
{
	cop_wire_record out;
	return cop_wire_record_decode(COP_WIRE_RECORD_DECISION, body, length, &f->ranks, &f->workspace, &out, NULL);
}

static void test_cut_or_changed_messages_are_never_read_out_of_bounds(void **state)
{
	attempt *a = *state;
	cop_bytes record;
	cop_bytes_init(&record);
	assert_int_equal(try_context(a, &a->f.ranks,
	                         "{'mask': [1,0,1], 'id': 7, 'x': [1,2,3,4], 'c': [[1,2,3],[4,5,6],[7,8,9]]}"),
	        COP_OK);
	sweep_truncations(&a->f, decode_context, &a->bytes);
	sweep_mutations(&a->f, decode_context, &a->bytes);
	assert_int_equal(decode_context(&a->f, a->bytes.data, a->bytes.length), COP_OK);
	cop_wire_record decision = record_of(&a->context);
	assert_int_equal(try_context(a, &a->f.ranks,
	                         "{'mask': [1,1,1], 'id': 7, 'x': [1,2,3,4], 'c': [[1,2,3],[4,5,6],[7,8,9]]}"),
	        COP_OK);
	cop_wire_record_put(&record, COP_WIRE_RECORD_DECISION, &decision);
	sweep_truncations(&a->f, decode_record, &record);
	sweep_mutations(&a->f, decode_record, &record);
	assert_int_equal(try_context(a, &a->f.sparse_ranks,
	                         "{'id': 7, 'x': {'3': 1}, 'c': [{'5': 1, '4': 2}, {}, {'9': 0.5, 'b': 4}]}"),
	        COP_OK);
	sweep_truncations(&a->f, decode_sparse_context, &a->bytes);
	sweep_mutations(&a->f, decode_sparse_context, &a->bytes);
	cop_bytes_fini(&record);
}

static void test_action_carries_the_order(void **state)
{
	attempt *a = *state;
	const uint32_t order[] = { 2, 0, 300 };
	cop_wire_action action = { .a = 2, .p = 0.5, .order = order, .order_count = 3, .durable = true }, back;
	cop_event_id_from_unsigned(&action.id, 1);
	cop_bytes_clear(&a->bytes);
	cop_wire_reply_action_put(&a->bytes, &action);
	static const uint8_t tail[] = { 0xa5, 'o', 'r', 'd', 'e', 'r', 0x93, 2, 0, 0xcd, 1, 0x2c };
	assert_memory_equal(a->bytes.data + a->bytes.length - sizeof tail, tail, sizeof tail);
	assert_int_equal(cop_wire_reply_action_decode(a->bytes.data, a->bytes.length, &back, NULL), COP_OK);
	assert_true(back.a == 2 && back.order == NULL);
}

static void test_action_carries_probabilities(void **state)
{
	attempt *a = *state;
	const double probability[] = { 0.25, 0.75 };
	cop_wire_action action = {
		.a = 1, .p = 0.75, .probability = probability, .probability_count = 2, .durable = true
	};
	cop_wire_action back;
	cop_event_id_from_unsigned(&action.id, 1);
	cop_bytes_clear(&a->bytes);
	cop_wire_reply_action_put(&a->bytes, &action);
	static const uint8_t tail[] = { 0xad, 'p', 'r', 'o', 'b', 'a', 'b', 'i', 'l', 'i', 't', 'i', 'e', 's', 0x92,
		0xcb, 0x3f, 0xd0, 0, 0, 0, 0, 0, 0, 0xcb, 0x3f, 0xe8, 0, 0, 0, 0, 0, 0 };
	assert_memory_equal(a->bytes.data + a->bytes.length - sizeof tail, tail, sizeof tail);
	assert_int_equal(cop_wire_reply_action_decode(a->bytes.data, a->bytes.length, &back, NULL), COP_OK);
	assert_true(back.p == 0.75 && back.probability == NULL);
}

static void test_model_set_tells_of_candidates(void **state)
{
	attempt *a = *state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_wire_model model = {
			.name = "r",
			.name_length = 1,
			.learner = "rank",
			.learner_length = 4,
			.features = sparse ? 0 : 9,
			.bits = sparse ? 12 : 0,
			.max_nonzeros = sparse ? 50 : 0,
			.max_candidates = 40,
			.candidate_features = sparse ? 0 : 5,
			.losses = 1,
			.loss_range = { 0.0, 1.0 },
			.reward_window = 60.0,
		};
		cop_wire_models models;
		cop_wire_model back;
		cop_wire_shape shape;
		cop_bytes_clear(&a->bytes);
		assert_int_equal(cop_wire_models_put(&a->bytes, &model, 1, 4096), 1);
		assert_int_equal(cop_wire_models_open(&models, a->bytes.data, a->bytes.length, &a->fault), COP_OK);
		assert_int_equal(cop_wire_models_next(&models, &back, NULL), COP_OK);
		assert_true(cop_wire_models_same_shape(&model, &back) && back.max_candidates == 40);
		cop_wire_models_shape(&back, &shape);
		assert_true(shape.max_candidates == 40 && shape.arms == 0 && !cop_wire_features_has_values(&shape));
		assert_int_equal(shape.candidate_features, sparse ? 0 : 5);
		back.max_candidates = 0;
		assert_false(cop_wire_models_same_shape(&model, &back));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        test_dense_candidates_are_read_with_a_mask_before_them, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sparse_candidates_share_their_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_candidates_are_refused_by_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_explain_needs_candidates_beside_x_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(
		        test_feedback_of_a_candidate_is_self_contained_without_its_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_context_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_feedback_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_record_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(
		        test_cut_or_changed_messages_are_never_read_out_of_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_action_carries_the_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_action_carries_probabilities, setup, teardown),
		cmocka_unit_test_setup_teardown(test_model_set_tells_of_candidates, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
