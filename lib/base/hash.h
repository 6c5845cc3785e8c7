/* base/hash.h: MurmurHash3 (Appleby, x86, 32 bits), by which named features find their place.
 *
 * A namespace's name is hashed with seed 0 and its features' names with that hash as seed, as Vowpal Wabbit does:
 * masked to the same number of bits, indices are the same as there. Any thread. */
#ifndef COP_BASE_HASH_H
#define COP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint32_t cop_hash_murmur3(const void *data, size_t length, uint32_t seed);

/* Vowpal Wabbit's default for names ("strings"; its "all" is cop_hash_murmur3): a name of decimal digits only is that
 * number plus the seed, modulo 2^32, any other name is hashed; spaces around it do not count, an empty name gives the
 * seed. seed: the namespace's hash, which is this function of its name with seed 0 (so 0 for the default one). */
uint32_t cop_hash_feature(const char *name, size_t length, uint32_t seed);

#endif
