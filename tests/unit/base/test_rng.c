#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rng.h"

/* The sequence published with the generator's ports for the state 1, 2, 3, 4. */
static void test_rng_u64_of_known_state_is_xoshiro256pp(void **state)
{
	(void)state;
	static const uint64_t expected[] = { UINT64_C(41943041), UINT64_C(58720359), UINT64_C(3588806011781223),
		UINT64_C(3591011842654386), UINT64_C(9228616714210784205), UINT64_C(9973669472204895162),
		UINT64_C(14011001112246962877), UINT64_C(12406186145184390807), UINT64_C(15849039046786891736),
		UINT64_C(10450023813501588000) };
	cop_rng rng = { { 1, 2, 3, 4 } };
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		assert_true(cop_rng_u64(&rng) == expected[i]);
}

/* Recorded from an independent implementation in Python. */
static void test_rng_init_of_seed_and_stream_is_recorded(void **state)
{
	(void)state;
	static const struct {
		uint64_t seed;
		uint64_t stream;
		uint64_t values[4];
	} cases[] = {
		{ 0, 0,
		        { UINT64_C(0xf35b831afff5033d), UINT64_C(0xb27a5e9eec9455bf), UINT64_C(0xc15787f3d6e02e2f),
		                UINT64_C(0x7b0a651b90abcc0f) } },
		{ 1, 0,
		        { UINT64_C(0x8efd11a8d5d7acdf), UINT64_C(0x6c7b7b09c5f93226), UINT64_C(0x1dc6bb8454838491),
		                UINT64_C(0x2991403ee20a2739) } },
		{ 1, 1,
		        { UINT64_C(0x7d094d2dc15f68bd), UINT64_C(0xc80ee0e070df3bcd), UINT64_C(0xddf0ce5ab99b2aaf),
		                UINT64_C(0x56cfecb931b8d9bc) } },
		{ 12345, 7,
		        { UINT64_C(0x542307d4c86ccecd), UINT64_C(0x766ea5e1a1c89068), UINT64_C(0x5c1d444c7c2e22dd),
		                UINT64_C(0x1bdb17dde334c8c9) } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_rng rng;
		cop_rng_init(&rng, cases[i].seed, cases[i].stream);
		for (size_t k = 0; k < 4; k++)
			assert_true(cop_rng_u64(&rng) == cases[i].values[k]);
	}
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	assert_true(cop_rng_unit(&rng) == 0.5585490262218104);
	assert_true(cop_rng_unit(&rng) == 0.4237591647015264);
	assert_true(cop_rng_unit(&rng) == 0.1163136671134577);
}

static void test_rng_copied_state_goes_on_the_same(void **state)
{
	(void)state;
	cop_rng a;
	cop_rng_init(&a, 9, 9);
	(void)cop_rng_u64(&a);
	cop_rng b = a;
	for (int i = 0; i < 100; i++)
		assert_true(cop_rng_u64(&a) == cop_rng_u64(&b));
}

/* 5 standard deviations of a binomial count: the seed is fixed, so this either always holds or never. */
static void check_share(size_t count, size_t draws, double share)
{
	double mean = (double)draws * share;
	assert_true(fabs((double)count - mean) < 5 * sqrt(mean * (1 - share)));
}

static void test_rng_below_is_uniform(void **state)
{
	(void)state;
	enum { DRAWS = 70000 };
	cop_rng rng;
	cop_rng_init(&rng, 21, 0);
	size_t counts[7] = { 0 };
	for (int i = 0; i < DRAWS; i++) {
		uint64_t value = cop_rng_below(&rng, 7);
		assert_true(value < 7);
		counts[value]++;
	}
	for (int i = 0; i < 7; i++)
		check_share(counts[i], DRAWS, 1.0 / 7);
	assert_true(cop_rng_below(&rng, 1) == 0);
	uint64_t large = (UINT64_C(1) << 63) + 1; /* nearly half of the draws are rejected */
	for (int i = 0; i < 1000; i++)
		assert_true(cop_rng_below(&rng, large) < large);
}

static void test_rng_unit_and_sign_are_uniform(void **state)
{
	(void)state;
	enum { DRAWS = 100000 };
	cop_rng rng;
	cop_rng_init(&rng, 22, 0);
	size_t counts[10] = { 0 };
	size_t plus = 0;
	for (int i = 0; i < DRAWS; i++) {
		double u = cop_rng_unit(&rng);
		assert_true(u >= 0 && u < 1);
		counts[(size_t)(u * 10)]++;
		int sign = cop_rng_sign(&rng);
		assert_true(sign == 1 || sign == -1);
		plus += sign == 1;
	}
	for (int i = 0; i < 10; i++)
		check_share(counts[i], DRAWS, 0.1);
	check_share(plus, DRAWS, 0.5);
}

static void test_rng_normal_has_mean_0_and_variance_1(void **state)
{
	(void)state;
	enum { DRAWS = 100000 };
	cop_rng rng;
	cop_rng_init(&rng, 23, 0);
	double sum = 0;
	double squares = 0;
	size_t within = 0;
	for (int i = 0; i < DRAWS; i++) {
		double z = cop_rng_normal(&rng);
		assert_true(isfinite(z));
		sum += z;
		squares += z * z;
		within += fabs(z) < 1;
	}
	assert_true(fabs(sum / DRAWS) < 5 / sqrt(DRAWS));
	assert_true(fabs(squares / DRAWS - 1) < 5 * sqrt(2.0 / DRAWS));
	check_share(within, DRAWS, 0.6826894921370859);
}

static void test_rng_shuffle_is_a_recorded_permutation(void **state)
{
	(void)state;
	static const uint32_t expected[] = { 7, 3, 1, 0, 5, 9, 2, 6, 4, 8 };
	uint32_t index[1000];
	for (uint32_t i = 0; i < 1000; i++)
		index[i] = i;
	cop_rng rng;
	cop_rng_init(&rng, 3, 2);
	cop_rng_shuffle(&rng, 10, index);
	assert_memory_equal(index, expected, sizeof expected);
	cop_rng_shuffle(&rng, 1000, index);
	bool seen[1000] = { false };
	for (size_t i = 0; i < 1000; i++) {
		assert_true(index[i] < 1000 && !seen[index[i]]);
		seen[index[i]] = true;
	}
	cop_rng before = rng;
	cop_rng_shuffle(&rng, 0, NULL);
	cop_rng_shuffle(&rng, 1, index);
	assert_memory_equal(&before, &rng, sizeof rng);
}

static void test_rng_shuffle_gives_each_order_alike(void **state)
{
	(void)state;
	enum { DRAWS = 60000 };
	cop_rng rng;
	cop_rng_init(&rng, 24, 0);
	size_t counts[27] = { 0 };
	for (int i = 0; i < DRAWS; i++) {
		uint32_t index[] = { 0, 1, 2 };
		cop_rng_shuffle(&rng, 3, index);
		counts[index[0] * 9 + index[1] * 3 + index[2]]++;
	}
	static const size_t orders[] = { 5, 7, 11, 15, 19, 21 };
	for (size_t i = 0; i < 6; i++)
		check_share(counts[orders[i]], DRAWS, 1.0 / 6);
}

static void test_rng_init_sets_no_more_than_its_state(void **state)
{
	(void)state;
	cop_rng rngs[2] = { { { 0 } }, { { 1, 2, 3, 4 } } };
	cop_rng_init(&rngs[0], 1, 1);
	for (size_t i = 0; i < 4; i++)
		assert_true(rngs[1].s[i] == i + 1);
}

/* The state whose first value is this one. */
static cop_rng about_to_give(uint64_t value) { return (cop_rng){ { 0, 1, 2, value >> 23 | value << 41 } }; }

/* For n = 2^63 + 1 the first 2^63 - 1 values would be one too many of each remainder. */
static void test_rng_below_draws_again_below_the_remainder_of_2_to_64(void **state)
{
	(void)state;
	const uint64_t n = (UINT64_C(1) << 63) + 1, least = (UINT64_C(1) << 63) - 1;
	cop_rng rng = about_to_give(least), other = about_to_give(least - 1);
	cop_rng copy = rng;
	assert_true(cop_rng_u64(&copy) == least);
	assert_true(cop_rng_below(&rng, n) == least);
	assert_memory_equal(&rng, &copy, sizeof rng);
	copy = other;
	(void)cop_rng_u64(&copy);
	(void)cop_rng_below(&other, n);
	assert_memory_not_equal(&other, &copy, sizeof other);
}

/* What was drawn is replayed from journals: the same numbers give the same signs and normals. */
static void test_rng_sign_and_normal_are_these_functions_of_the_numbers(void **state)
{
	(void)state;
	cop_rng rng, plain;
	cop_rng_init(&rng, 25, 0);
	plain = rng;
	for (int i = 0; i < 100; i++) {
		double u = 1.0 - cop_rng_unit(&plain), v = cop_rng_unit(&plain);
		assert_true(fabs(cop_rng_normal(&rng) - sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v)) < 1e-12);
		assert_int_equal(cop_rng_sign(&rng), cop_rng_u64(&plain) < UINT64_C(1) << 63 ? -1 : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rng_u64_of_known_state_is_xoshiro256pp),
		cmocka_unit_test(test_rng_init_of_seed_and_stream_is_recorded),
		cmocka_unit_test(test_rng_copied_state_goes_on_the_same),
		cmocka_unit_test(test_rng_below_is_uniform),
		cmocka_unit_test(test_rng_unit_and_sign_are_uniform),
		cmocka_unit_test(test_rng_normal_has_mean_0_and_variance_1),
		cmocka_unit_test(test_rng_shuffle_is_a_recorded_permutation),
		cmocka_unit_test(test_rng_shuffle_gives_each_order_alike),
		cmocka_unit_test(test_rng_init_sets_no_more_than_its_state),
		cmocka_unit_test(test_rng_below_draws_again_below_the_remainder_of_2_to_64),
		cmocka_unit_test(test_rng_sign_and_normal_are_these_functions_of_the_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
