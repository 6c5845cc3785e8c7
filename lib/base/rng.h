/* base/rng.h: the pseudo-random generator, xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64.
 *
 * The state is a plain struct that its owner saves in checkpoints. Streams of one seed are independent: use one for
 * each purpose (shuffle, policy, delay). Distinct generators on distinct threads. */
#ifndef COP_BASE_RNG_H
#define COP_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct cop_rng {
	uint64_t s[4];
} cop_rng;

void cop_rng_init(cop_rng *rng, uint64_t seed, uint64_t stream);
uint64_t cop_rng_u64(cop_rng *rng);
/* Uniform in [0, 1), 53 random bits. */
double cop_rng_unit(cop_rng *rng);
/* Uniform in [0, n), unbiased; n > 0. */
uint64_t cop_rng_below(cop_rng *rng, uint64_t n);
/* Fair +1 or -1. */
int cop_rng_sign(cop_rng *rng);
/* Standard normal (Box-Muller, one value for two draws). */
double cop_rng_normal(cop_rng *rng);
/* Fisher-Yates shuffle of n indices. */
void cop_rng_shuffle(cop_rng *rng, size_t n, uint32_t *index);

#endif
