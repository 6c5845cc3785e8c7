/* Model sets: every kind of model there and back, sets that have no room for all, and bytes that are no set. */
#include "support.h"

#include <math.h>

#include "wire/wire_models.h"
#include "wire_fixture.h"

#define ROOM 65536

static const cop_wire_model dense = {
	.name = "front-page",
	.name_length = 10,
	.learner = "ensemble",
	.learner_length = 8,
	.features = 36,
	.arms = 6,
	.losses = 1,
	.loss_range = { -1.0, 2.5 },
	.reward = COP_WIRE_REWARD_SUM,
	.reward_window = 600.0,
	.has_default_loss = true,
	.default_loss = 0.75,
};

static const cop_wire_model sparse = {
	.name = "b",
	.name_length = 1,
	.learner = "value",
	.learner_length = 5,
	.bits = 14,
	.max_nonzeros = 200,
	.losses = 2,
	.loss_range = { 0.0, 1.0 },
	.value_range = { 1.0, 9.0 },
	.delta = 0.25,
	.reward = COP_WIRE_REWARD_EARLIEST,
	.reward_window = 0.5,
};

static void check_same(const cop_wire_model *a, const cop_wire_model *b)
{
	assert_int_equal(a->name_length, b->name_length);
	assert_memory_equal(a->name, b->name, a->name_length);
	assert_int_equal(a->learner_length, b->learner_length);
	assert_memory_equal(a->learner, b->learner, a->learner_length);
	assert_true(cop_wire_models_same_shape(a, b));
	assert_int_equal(a->max_nonzeros, b->max_nonzeros);
	assert_int_equal(a->reward, b->reward);
	assert_true(a->reward_window == b->reward_window);
	assert_int_equal(a->has_default_loss, b->has_default_loss);
	assert_int_equal(a->apart, b->apart);
	assert_int_equal(a->anew, b->anew);
	assert_int_equal(a->has_began, b->has_began);
	assert_int_equal(a->began, b->began);
	assert_true(a->default_loss == b->default_loss);
	assert_int_equal(b->named.count, a->named.put == NULL ? 0 : a->named.put->weights.count);
	cop_named_losses named;
	cop_wire_models_losses(b, &named);
	for (size_t i = 0; i < b->named.count; i++) {
		double low, high;
		cop_named_losses_range(a->named.put, i, &low, &high);
		assert_string_equal(named.weights.name[i], a->named.put->weights.name[i]);
		assert_true(named.weights.weight[i] == a->named.put->weights.weight[i]);
		assert_true(named.ranges.low[i] == low && named.ranges.high[i] == high);
	}
}

static void test_models_of_every_kind_come_back(void **state)
{
	(void)state;
	cop_wire_model both[] = { dense, sparse };
	cop_named_losses losses = { .weights.count = 0 };
	assert_null(cop_named_losses_add_weight(&losses.weights, "click=1"));
	assert_null(cop_named_losses_add_weight(&losses.weights, "revenue"));
	assert_null(cop_named_losses_add_range(&losses.ranges, "revenue=-2:50"));
	both[0].named.put = &losses;
	both[0].apart = both[0].anew = both[1].has_began = true;
	both[1].began = UINT32_MAX;
	cop_wire_models set;
	cop_wire_model model;
	cop_wire_fault fault;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	assert_int_equal(cop_wire_models_put(&bytes, both, 2, ROOM), 2);
	assert_int_equal(bytes.err, COP_OK);
	assert_int_equal(cop_wire_models_open(&set, bytes.data, bytes.length, &fault), COP_OK);
	assert_int_equal(set.left, 2);
	assert_int_equal(set.left_out, 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(cop_wire_models_next(&set, &model, &fault), COP_OK);
		check_same(&model, &both[i]);
	}
	assert_int_equal(cop_wire_models_next(&set, &model, &fault), COP_EEND);
	cop_bytes_fini(&bytes);
}

static void test_models_beyond_the_room_are_left_out_and_counted(void **state)
{
	(void)state;
	cop_wire_model many[40];
	cop_wire_models set;
	cop_wire_model model;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < 40; i++)
		many[i] = dense;
	for (size_t room = 64; room < 2000; room += 61) {
		cop_bytes_clear(&bytes);
		size_t put = cop_wire_models_put(&bytes, many, 40, room);
		assert_int_equal(bytes.err, COP_OK);
		assert_true(put < 40 && bytes.length <= room);
		assert_int_equal(cop_wire_models_open(&set, bytes.data, bytes.length, NULL), COP_OK);
		assert_int_equal(set.left, put);
		assert_int_equal(set.left_out, 40 - put);
		for (size_t i = 0; i < put; i++)
			assert_int_equal(cop_wire_models_next(&set, &model, NULL), COP_OK);
	}
	cop_bytes_fini(&bytes);
}

static void test_empty_set_of_old_journals_has_no_models(void **state)
{
	(void)state;
	cop_wire_models set;
	cop_wire_model model;
	assert_int_equal(cop_wire_models_open(&set, NULL, 0, NULL), COP_OK);
	assert_int_equal(cop_wire_models_next(&set, &model, NULL), COP_EEND);
}

static cop_err decode(fixture *f, const void *body, size_t length)
{
	(void)f;
	cop_wire_models set;
	cop_wire_model model;
	cop_wire_fault fault = { 0 };
	cop_err err = cop_wire_models_open(&set, body, length, &fault);
	assert_true(err == COP_OK || err == COP_EFORMAT);
	if (err != COP_OK) {
		assert_true(fault.message[0] != '\0');
		return err;
	}
	while ((err = cop_wire_models_next(&set, &model, &fault)) == COP_OK) {
		cop_wire_shape shape;
		cop_wire_models_shape(&model, &shape);
		assert_true((shape.features == 0) == (shape.bits >= 1 && shape.bits <= 31));
		assert_true(shape.features != 0 || shape.max_nonzeros >= 1);
		assert_true(
		        model.arms != 0 || model.max_candidates != 0 || model.value_range[0] < model.value_range[1]);
		assert_true(model.loss_range[0] < model.loss_range[1] && isfinite(model.default_loss));
		assert_true(model.reward_window > 0.0 && model.name_length >= 1 && model.name_length <= 64);
	}
	assert_int_equal(err, COP_EEND);
	return COP_OK;
}

static void test_cut_and_changed_sets_are_refused_or_a_set(void **state)
{
	(void)state;
	const cop_wire_model both[] = { dense, sparse };
	fixture f;
	cop_bytes bytes;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	assert_int_equal(cop_wire_models_put(&bytes, both, 2, ROOM), 2);
	for (size_t length = 1; length < bytes.length; length++)
		assert_int_equal(decode(&f, bytes.data, length), COP_EFORMAT);
	sweep_mutations(&f, decode, &bytes);
	cop_bytes_fini(&bytes);
}

#define HEAD "'name':'a','learner':'dgt','losses':1,'loss_range':[0,1],'reward':'last','reward_window':1"

static void test_set_whose_value_cannot_be_read_is_refused_by_its_key(void **state)
{
	(void)state;
	cop_bytes deep;
	fixture f;
	fixture_init(&f);
	cop_bytes_init(&deep);
	put_message(&deep, "{'models':[1]}");
	deep.length -= 2;
	for (size_t i = 0; i < 2 * COP_WIRE_DEPTH; i++)
		cop_bytes_put(&deep, "\x91", 1); /* an array of one */
	cop_bytes_put(&deep, "\x01", 1);
	for (size_t length = deep.length; length >= deep.length - 1; length--) { /* too deep; cut, too */
		cop_wire_models set;
		cop_wire_fault fault = { 0 };
		assert_int_equal(cop_wire_models_open(&set, deep.data, length, &fault), COP_EFORMAT);
		assert_string_equal(fault.message, "models: models: expected another value");
	}
	cop_bytes_fini(&deep);
}

static void test_wrong_sets_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"[]",
		"{}",
		"{'models':1}",
		"{'models':[1]}",
		"{'models':[],'left_out':-1}",
		"{'models':[{}]}",
		"{'models':[{" HEAD ",'arms':2}]}",
		"{'models':[{" HEAD ",'features':2}]}",
		"{'models':[{" HEAD ",'features':2,'bits':3,'arms':2}]}",
		"{'models':[{" HEAD ",'bits':3,'arms':2}]}",
		"{'models':[{" HEAD ",'bits':32,'max_nonzeros':3,'arms':2}]}",
		"{'models':[{" HEAD ",'features':0,'arms':2}]}",
		"{'models':[{" HEAD ",'features':9000000,'arms':2}]}",
		"{'models':[{" HEAD ",'features':2,'arms':2,'delta':1}]}",
		"{'models':[{" HEAD ",'features':2,'value_range':[1,0],'delta':1}]}",
		"{'models':[{" HEAD ",'features':2,'arms':2,'default_loss':'none'}]}",
		"{'models':[{" HEAD ",'features':2,'arms':2,'named':[1]}]}",
		"{'models':[{" HEAD ",'features':2,'arms':2,'named':{'a':1}}]}",
		"{'models':[{" HEAD ",'features':2,'arms':2,'named':{'a':[1,0]}}]}",
		"{'models':[{" HEAD ",'features':2,'arms':2,'named':{'a':[1,1,0]}}]}",
		"{'models':[{" HEAD ",'features':2,'arms':2,'named':{'a b':[1,0,1]}}]}",
	};
	fixture f;
	cop_bytes bytes;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_bytes_clear(&bytes);
		put_message(&bytes, wrong[i]);
		if (decode(&f, bytes.data, bytes.length) == COP_OK)
			fail_msg("%s was taken", wrong[i]);
	}
	cop_bytes_clear(&bytes);
	put_message(&bytes, "{'models':[{" HEAD ",'features':2,'arms':2,'of the future':{}}],'more':1}");
	assert_int_equal(decode(&f, bytes.data, bytes.length), COP_OK);
	cop_bytes_fini(&bytes);
}

/* Every key of every kind of model is needed, but for the default loss. */
static void test_set_without_a_key_is_refused(void **state)
{
	(void)state;
	enum { MOST = 12 };
	static const char *const kinds[][MOST] = {
		{ "'features':2", "'arms':2" },
		{ "'bits':3", "'max_nonzeros':3", "'arms':2" },
		{ "'features':2", "'max_candidates':2", "'candidate_features':3" },
		{ "'bits':3", "'max_nonzeros':3", "'max_candidates':2" },
		{ "'features':2", "'value_range':[0,1]", "'delta':0.5" },
		{ "'bits':3", "'max_nonzeros':3", "'value_range':[0,1]", "'delta':0" },
	};
	static const char *const head[] = { "'name':'a'", "'learner':'dgt'", "'losses':1", "'loss_range':[0,1]",
		"'reward':'last'", "'reward_window':1" };
	fixture f;
	cop_bytes bytes;
	fixture_init(&f);
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *pairs[MOST];
		size_t count = 0;
		for (; count < sizeof head / sizeof *head; count++)
			pairs[count] = head[count];
		for (size_t k = 0; kinds[i][k] != NULL; k++)
			pairs[count++] = kinds[i][k];
		for (size_t without = 0; without <= count; without++) {
			char text[512] = "{'models':[{";
			size_t put = 0;
			for (size_t k = 0; k < count; k++)
				if (k != without)
					(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
					        put++ == 0 ? "" : ",", pairs[k]);
			(void)snprintf(text + strlen(text), sizeof text - strlen(text), "}]}");
			cop_bytes_clear(&bytes);
			put_message(&bytes, text);
			if ((decode(&f, bytes.data, bytes.length) == COP_OK) != (without == count))
				fail_msg("%s", text);
		}
	}
	cop_bytes_fini(&bytes);
}

static void test_short_memory_while_putting_is_told(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_test_alloc_fail(1, 1);
	(void)cop_wire_models_put(&bytes, &dense, 1, ROOM);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(bytes.err, COP_ENOMEM);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_models_of_every_kind_come_back),
		cmocka_unit_test(test_models_beyond_the_room_are_left_out_and_counted),
		cmocka_unit_test(test_empty_set_of_old_journals_has_no_models),
		cmocka_unit_test(test_cut_and_changed_sets_are_refused_or_a_set),
		cmocka_unit_test(test_set_whose_value_cannot_be_read_is_refused_by_its_key),
		cmocka_unit_test(test_wrong_sets_are_refused),
		cmocka_unit_test(test_short_memory_while_putting_is_told),
		cmocka_unit_test(test_set_without_a_key_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
