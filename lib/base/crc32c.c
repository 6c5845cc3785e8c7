/* table[k][b] is the register after byte b and k zero bytes. The register is linear in the bits of b, so each of the
 * eight tables follows, at compile time, from its eight entries for single bits. Eight bytes are folded per step. */
#include "base/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

/* clang-format off */
#define BITS(b, i, m) ((b) & (1u << (i)) ? (m) : 0u)
#define ENTRY(b, m0, m1, m2, m3, m4, m5, m6, m7) \
	(BITS(b, 0, m0) ^ BITS(b, 1, m1) ^ BITS(b, 2, m2) ^ BITS(b, 3, m3) ^ \
	 BITS(b, 4, m4) ^ BITS(b, 5, m5) ^ BITS(b, 6, m6) ^ BITS(b, 7, m7))
#define FOUR(b, ...)    ENTRY(b, __VA_ARGS__), ENTRY((b) + 1u, __VA_ARGS__), ENTRY((b) + 2u, __VA_ARGS__), \
	ENTRY((b) + 3u, __VA_ARGS__)
#define SIXTEEN(b, ...) FOUR(b, __VA_ARGS__), FOUR((b) + 4u, __VA_ARGS__), FOUR((b) + 8u, __VA_ARGS__), \
	FOUR((b) + 12u, __VA_ARGS__)
#define SIXTY4(b, ...)  SIXTEEN(b, __VA_ARGS__), SIXTEEN((b) + 16u, __VA_ARGS__), SIXTEEN((b) + 32u, __VA_ARGS__), \
	SIXTEEN((b) + 48u, __VA_ARGS__)
#define TABLE(...)      { SIXTY4(0u, __VA_ARGS__), SIXTY4(64u, __VA_ARGS__), SIXTY4(128u, __VA_ARGS__), \
	SIXTY4(192u, __VA_ARGS__) }

static const uint32_t table[8][256] = {
	TABLE(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u),
	TABLE(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u),
	TABLE(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u),
	TABLE(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu),
	TABLE(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu),
	TABLE(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u),
	TABLE(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u),
	TABLE(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u),
};
/* clang-format on */

uint32_t cop_crc32c_table(uint32_t crc, const void *data, size_t length)
{
	const uint8_t *at = data;
	crc = ~crc;
	for (; length >= 8; length -= 8, at += 8) {
		uint32_t low;
		uint32_t high;
		memcpy(&low, at, sizeof low);
		memcpy(&high, at + 4, sizeof high);
		low ^= crc;
		crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
		      table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
		      table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
	}
	for (; length > 0; length--, at++)
		crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
	return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *at, size_t length)
{
	uint64_t wide = ~crc;
	for (; length >= 8; length -= 8, at += 8) {
		uint64_t word;
		memcpy(&word, at, sizeof word);
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t)wide;
	for (; length > 0; length--, at++)
		crc = _mm_crc32_u8(crc, *at);
	return ~crc;
}
#endif

uint32_t cop_crc32c(uint32_t crc, const void *data, size_t length)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return by_instruction(crc, data, length);
#endif
	return cop_crc32c_table(crc, data, length);
}
