#include "support.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/rng.h"

typedef uint32_t crc_function(uint32_t crc, const void *data, size_t length);

static crc_function *const ways[] = { cop_crc32c, cop_crc32c_table };

static uint32_t bit_by_bit(uint32_t crc, const uint8_t *data, size_t length)
{
	crc = ~crc;
	for (size_t i = 0; i < length; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
	}
	return ~crc;
}

/* RFC 3720, appendix B.4, and the check value of the catalogues. */
static void test_crc32c_of_known_data_is_known(void **state)
{
	(void)state;
	uint8_t zeros[32] = { 0 };
	uint8_t ones[32];
	uint8_t rising[32];
	uint8_t falling[32];
	memset(ones, 0xff, sizeof ones);
	for (uint8_t i = 0; i < 32; i++) {
		rising[i] = i;
		falling[i] = (uint8_t)(31 - i);
	}
	for (size_t way = 0; way < 2; way++) {
		assert_int_equal(ways[way](0, zeros, 32), 0x8a9136aau);
		assert_int_equal(ways[way](0, ones, 32), 0x62a8ab43u);
		assert_int_equal(ways[way](0, rising, 32), 0x46dd794eu);
		assert_int_equal(ways[way](0, falling, 32), 0x113fdb5cu);
		assert_int_equal(ways[way](0, "123456789", 9), 0xe3069283u);
		assert_int_equal(ways[way](0, "", 0), 0);
	}
}

static void test_crc32c_of_every_length_and_alignment_equals_plain_loop(void **state)
{
	(void)state;
	uint8_t data[128];
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)cop_rng_u64(&rng);
	for (size_t start = 0; start < 16; start++)
		for (size_t length = 0; length <= sizeof data - start; length++) {
			uint32_t seed = (uint32_t)cop_rng_u64(&rng);
			uint32_t expected = bit_by_bit(seed, data + start, length);
			assert_int_equal(cop_crc32c(seed, data + start, length), expected);
			assert_int_equal(cop_crc32c_table(seed, data + start, length), expected);
		}
}

static void test_crc32c_in_pieces_equals_whole(void **state)
{
	(void)state;
	const char *text = "the quick brown fox jumps over the lazy dog";
	size_t length = strlen(text);
	for (size_t way = 0; way < 2; way++)
		for (size_t cut = 0; cut <= length; cut++)
			assert_int_equal(ways[way](ways[way](0, text, cut), text + cut, length - cut),
			        ways[way](0, text, length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc32c_of_known_data_is_known),
		cmocka_unit_test(test_crc32c_of_every_length_and_alignment_equals_plain_loop),
		cmocka_unit_test(test_crc32c_in_pieces_equals_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
