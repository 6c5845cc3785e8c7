/* xoshiro256++ as published: the output is rotl(s0 + s3, 23) + s0, and the state never becomes all zero, since
 * splitmix64 seeds it. Every function spends a fixed number of outputs, except cop_rng_below, which rejects the few
 * that would favour small remainders, and the shuffle, which calls it. A normal deviate spends two (Box and Muller,
 * the cosine alone), so nothing is kept between calls. */
#include "base/rng.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

void cop_rng_init(cop_rng *rng, uint64_t seed, uint64_t stream)
{
	/* The stream is mixed on its own first: neighbouring (seed, stream) pairs share no state words. */
	uint64_t salt = stream ^ UINT64_C(0x6a09e667f3bcc909);
	uint64_t state = seed ^ splitmix(&salt);
	for (int i = 0; i < 4; i++)
		rng->s[i] = splitmix(&state);
}

uint64_t cop_rng_u64(cop_rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rotl(s[0] + s[3], 23) + s[0];
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

double cop_rng_unit(cop_rng *rng) { return (double)(cop_rng_u64(rng) >> 11) * 0x1.0p-53; }

uint64_t cop_rng_below(cop_rng *rng, uint64_t n)
{
	/* Reject the values below 2^64 mod n so that each remainder is equally likely. */
	uint64_t threshold = (0 - n) % n;
	uint64_t r;
	do
		r = cop_rng_u64(rng);
	while (r < threshold);
	return r % n;
}

int cop_rng_sign(cop_rng *rng) { return (cop_rng_u64(rng) >> 63) != 0 ? 1 : -1; }

double cop_rng_normal(cop_rng *rng)
{
	double u = 1.0 - cop_rng_unit(rng);
	double v = cop_rng_unit(rng);
	return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

void cop_rng_shuffle(cop_rng *rng, size_t n, uint32_t *index)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)cop_rng_below(rng, i);
		uint32_t swap = index[i - 1];
		index[i - 1] = index[j];
		index[j] = swap;
	}
}
