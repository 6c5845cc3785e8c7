/* Experts that load a state of fewer inputs: with 0 in the further ones they predict what they predicted. */
#include "learn/expert.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "learn/second_order.h"
#include "support.h"

enum { ARMS = 3, MOST = 140, EVENTS = 200 };

static void *expert_of(const cop_expert_class *class, size_t inputs)
{
	const cop_expert_settings settings = {
		.kernel = cop_kernel_best(), .inputs = inputs, .typical = inputs, .arms = ARMS
	};
	cop_rng rng;
	void *expert;
	cop_rng_init(&rng, 3, 2);
	assert_int_equal(class->create(&settings, &rng, &expert), COP_OK);
	return expert;
}

/* A row of `known` values, 0 up to its constant. */
static cop_row row_of(cop_rng *rng, size_t known, size_t inputs, float *room)
{
	memset(room, 0, inputs * sizeof *room);
	for (size_t j = 0; j < known; j++)
		room[j] = (float)cop_rng_normal(rng);
	room[inputs - 1] = 1.0f;
	return (cop_row){ .d = inputs, .dense = room };
}

/* The same with further features, 0. */
static cop_row wider(const cop_row *x, size_t inputs, float *room)
{
	memset(room, 0, inputs * sizeof *room);
	memcpy(room, x->dense, (x->d - 1) * sizeof *room);
	room[inputs - 1] = 1.0f;
	return (cop_row){ .d = inputs, .dense = room };
}

static void teach(const cop_expert_class *class, void *expert, size_t known, size_t inputs, uint64_t seed)
{
	float room[MOST], loss[COP_KERNEL_LANES];
	cop_rng rng;
	cop_rng_init(&rng, seed, 1);
	for (int i = 0; i < EVENTS; i++) {
		const cop_row x = row_of(&rng, known, inputs, room);
		class->predict(expert, &x, loss);
		const double is = x.dense[0] * x.dense[1] > 0.0f ? 0.9 : 0.1;
		assert_int_equal(class->learn(expert, &x, (size_t)(i % ARMS), is, true), COP_OK);
	}
}

static void move(const cop_expert_class *class, const void *from, void *to)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	class->member.save(from, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(class->member.load(to, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	cop_bytes_fini(&bytes);
}

static void check_alike(const cop_expert_class *class, void *few, size_t inputs, void *more, size_t wide)
{
	float a[COP_KERNEL_LANES], b[COP_KERNEL_LANES], room[MOST], far[MOST];
	cop_rng rng;
	cop_rng_init(&rng, 11, 1);
	for (int i = 0; i < 50; i++) {
		const cop_row x = row_of(&rng, inputs - 1, inputs, room), y = wider(&x, wide, far);
		class->predict(few, &x, a);
		class->predict(more, &y, b);
		for (size_t k = 0; k < ARMS; k++)
			assert_true(fabsf(a[k] - b[k]) <= 2e-5f);
	}
}

/* Inputs of 22 and more have their products' covariance in blocks, those of 91 and more a choice of products. */
static void test_quadratic_keeps_its_products(void **state)
{
	static const size_t steps[][3] = { { 5, 9, 20 }, { 20, 21, 24 }, { 24, 60, 85 }, { 89, 90, 95 },
		{ 85, 100, 130 } };
	(void)state;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		const cop_expert_class *class = &cop_expert_quadratic;
		const size_t *inputs = steps[i];
		void *one = expert_of(class, inputs[0]), *two = expert_of(class, inputs[1]);
		void *three = expert_of(class, inputs[2]), *same = expert_of(class, inputs[2]);
		teach(class, one, inputs[0] - 1, inputs[0], 5);
		move(class, one, two);
		check_alike(class, one, inputs[0], two, inputs[1]);
		teach(class, two, inputs[0] - 1, inputs[1], 6);
		teach(class, two, inputs[1] - 1, inputs[1], 7);
		move(class, two, three);
		check_alike(class, two, inputs[1], three, inputs[2]);
		move(class, three, same);
		check_alike(class, two, inputs[1], same, inputs[2]);
		class->member.destroy(one);
		class->member.destroy(two);
		class->member.destroy(three);
		class->member.destroy(same);
	}
}

/* Covariance and all: it goes on as one that had the inputs from its beginning. */
static void test_linear_goes_on_as_one_that_had_them(void **state)
{
	const cop_expert_class *class = &cop_expert_linear;
	float a[COP_KERNEL_LANES], b[COP_KERNEL_LANES], room[MOST];
	cop_rng rng;
	(void)state;
	void *few = expert_of(class, 20), *late = expert_of(class, 37), *early = expert_of(class, 37);
	teach(class, few, 19, 20, 5);
	move(class, few, late);
	teach(class, early, 19, 37, 5);
	teach(class, late, 36, 37, 8);
	teach(class, early, 36, 37, 8);
	cop_rng_init(&rng, 12, 1);
	for (int i = 0; i < 50; i++) {
		const cop_row x = row_of(&rng, 36, 37, room);
		float of_late[ARMS], of_early[ARMS];
		class->predict(late, &x, a);
		class->predict(early, &x, b);
		cop_second_order_spreads(late, &x, of_late);
		cop_second_order_spreads(early, &x, of_early);
		for (size_t k = 0; k < ARMS; k++) {
			assert_true(fabsf(a[k] - b[k]) <= 1e-4f);
			assert_true(fabsf(of_late[k] - of_early[k]) <= 1e-4f * of_early[k]);
		}
	}
	class->member.destroy(few);
	class->member.destroy(late);
	class->member.destroy(early);
}

static void test_states_that_do_not_fit_are_refused(void **state)
{
	const cop_expert_class *class = &cop_expert_quadratic;
	cop_bytes bytes;
	cop_cursor cursor;
	(void)state;
	void *many = expert_of(class, 100), *few = expert_of(class, 90), *fewest = expert_of(class, 8);
	cop_bytes_init(&bytes);
	class->member.save(many, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(class->member.load(few, &cursor), COP_ESHAPE);
	for (size_t length = 0; length < 64; length++) {
		cop_cursor_init(&cursor, bytes.data, length);
		assert_int_not_equal(class->member.load(many, &cursor), COP_OK);
	}
	cop_bytes_clear(&bytes);
	class->member.save(few, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(class->member.load(fewest, &cursor), COP_ESHAPE);
	cop_bytes_fini(&bytes);
	class->member.destroy(many);
	class->member.destroy(few);
	class->member.destroy(fewest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quadratic_keeps_its_products),
		cmocka_unit_test(test_linear_goes_on_as_one_that_had_them),
		cmocka_unit_test(test_states_that_do_not_fit_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
