#include "support.h"

#include <string.h>

#include "base/hash.h"

static uint32_t murmur(const char *text, uint32_t seed) { return cop_hash_murmur3(text, strlen(text), seed); }

static void test_hash_murmur3_of_published_vectors_is_known(void **state)
{
	(void)state;
	assert_int_equal(murmur("", 0), 0);
	assert_int_equal(murmur("", 1), 0x514e28b7u);
	assert_int_equal(murmur("", 0xffffffffu), 0x81f16f39u);
	assert_int_equal(cop_hash_murmur3("\xff\xff\xff\xff", 4, 0), 0x76293b50u);
	assert_int_equal(cop_hash_murmur3("\x21\x43\x65\x87", 4, 0), 0xf55b516bu);
	assert_int_equal(cop_hash_murmur3("\x21\x43\x65\x87", 4, 0x5082edeeu), 0x2362f9deu);
	assert_int_equal(cop_hash_murmur3("\x21\x43\x65", 3, 0), 0x7e4a8634u);
	assert_int_equal(cop_hash_murmur3("\x21\x43", 2, 0), 0xa0f7b07au);
	assert_int_equal(cop_hash_murmur3("\x21", 1, 0), 0x72661cf4u);
	assert_int_equal(murmur("test", 0), 0xba6bd213u);
	assert_int_equal(murmur("Hello, world!", 0x9747b28cu), 0x24884cbau);
	assert_int_equal(murmur("The quick brown fox jumps over the lazy dog", 0x9747b28cu), 0x2fa826cdu);
}

/* Recorded with the audit output of Vowpal Wabbit 9.11.2, 18 bits. */
static void test_hash_feature_is_same_as_vowpal_wabbit(void **state)
{
	(void)state;
	static const struct {
		const char *space;
		const char *name;
		uint32_t index;
	} cases[] = { { "user", "age", 23567 }, { "user", "country=de", 227795 }, { "user", "premium", 183318 },
		{ "item", "price", 57086 }, { "item", "sports", 245402 }, { "", "a", 92594 }, { "", "b", 163331 },
		{ "", "c", 185951 }, { "user", "12", 15641 }, { "user", "13", 15642 }, { "item", "x1", 68747 },
		{ "ns_with_long_name", "\xc3\xa9mile", 208160 }, { "ns_with_long_name", "x^y", 100892 },
		{ "ns2", "p", 170515 }, { "ns2", "q", 170150 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t seed = cop_hash_feature(cases[i].space, strlen(cases[i].space), 0);
		uint32_t hash = cop_hash_feature(cases[i].name, strlen(cases[i].name), seed);
		assert_int_equal(hash & 0x3ffff, cases[i].index);
	}
	/* --hash all */
	uint32_t seed = murmur("user", 0);
	assert_int_equal(murmur("12", seed) & 0x3ffff, 135291);
	assert_int_equal(murmur("13", seed) & 0x3ffff, 199754);
}

static void test_hash_feature_of_digits_is_number_plus_seed(void **state)
{
	(void)state;
	assert_int_equal(cop_hash_feature("0", 1, 7), 7);
	assert_int_equal(cop_hash_feature(" 35 ", 4, 7), 42);
	assert_int_equal(cop_hash_feature("4294967297", 10, 0), 1);
	assert_int_equal(cop_hash_feature("", 0, 7), 7);
	assert_int_equal(cop_hash_feature("1a", 2, 7), murmur("1a", 7));
	assert_int_equal(cop_hash_feature(" a ", 3, 7), murmur("a", 7));
	assert_int_equal(cop_hash_feature("-1", 2, 7), murmur("-1", 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash_murmur3_of_published_vectors_is_known),
		cmocka_unit_test(test_hash_feature_is_same_as_vowpal_wabbit),
		cmocka_unit_test(test_hash_feature_of_digits_is_number_plus_seed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
