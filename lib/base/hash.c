/* Words are read little-endian, which the machine is (asserted in base/bytes). */
#include "base/hash.h"

#include <string.h>

static uint32_t rotl(uint32_t x, unsigned k) { return x << k | x >> (32 - k); }

static uint32_t scramble(uint32_t word) { return rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u; }

uint32_t cop_hash_murmur3(const void *data, size_t length, uint32_t seed)
{
	const uint8_t *at = data;
	uint32_t h = seed;
	size_t left = length;
	for (; left >= 4; left -= 4, at += 4) {
		uint32_t word;
		memcpy(&word, at, sizeof word);
		h = rotl(h ^ scramble(word), 13) * 5 + 0xe6546b64u;
	}
	uint32_t tail = 0;
	for (size_t i = left; i > 0; i--)
		tail = tail << 8 | at[i - 1];
	h ^= scramble(tail);
	h ^= (uint32_t)length;
	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

uint32_t cop_hash_feature(const char *name, size_t length, uint32_t seed)
{
	const char *end = name + length;
	while (name < end && (unsigned char)*name <= ' ')
		name++;
	while (name < end && (unsigned char)end[-1] <= ' ')
		end--;
	uint32_t number = 0;
	for (const char *at = name; at < end; at++) {
		if ((unsigned char)(*at - '0') > 9)
			return cop_hash_murmur3(name, (size_t)(end - name), seed);
		number = number * 10 + (uint32_t)(*at - '0');
	}
	return number + seed;
}
