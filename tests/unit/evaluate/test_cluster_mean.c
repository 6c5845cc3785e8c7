/* cluster_mean: bounds against the header's formulas in long double by other means, and saved ones. */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "unit/evaluate/cluster_oracle.h"

#define RISK 0.0125

/* The share at which the divergence is reached, by small steps from above. */
static long double share(long double seen, long double clusters)
{
	const long double far = logl((1 + clusters) / RISK) / clusters;
	for (long double q = 1 - 1e-5L; q > seen; q -= 1e-5L) {
		long double kl = (seen > 0 ? seen * logl(seen / q) : 0) +
		                 (seen < 1 ? (1 - seen) * logl((1 - seen) / (1 - q)) : 0);
		if (kl <= far)
			return q;
	}
	return seen;
}

static void oracle(const cop_cluster_mean *mean, long double out[2])
{
	long double n[COP_CLUSTERS], s[COP_CLUSTERS], r[COP_CLUSTERS], all = 0, sum = 0, with[2] = { 0, 0 };
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		n[c] = mean->count[c];
		s[c] = mean->sum[c];
		r[c] = n[c] - s[c];
		all += n[c];
		sum += s[c];
		with[0] += r[c] > 0 ? n[c] : 0;
		with[1] += s[c] > 0 ? n[c] : 0;
	}
	long double visits = oracle_effective(n), k = fminl(visits, fminl(oracle_effective(s), oracle_effective(r)));
	if (k < 10) {
		out[0] = 1 - share(with[0] / all, visits);
		out[1] = share(with[1] / all, visits);
		return;
	}
	const long double wide = oracle_half(n, s, k, RISK);
	out[0] = fmaxl(sum / all - wide, 0);
	out[1] = fminl(sum / all + wide, 1);
}

static void check(const cop_cluster_mean *mean, double slack)
{
	long double want[2];
	double low, high;
	oracle(mean, want);
	cop_cluster_mean_bounds(mean, RISK, &low, &high);
	assert_true(fabs(low - (double)want[0]) < slack && fabs(high - (double)want[1]) < slack);
}

static void test_bounds_are_those_of_the_formulas(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 3, 1);
	for (size_t trial = 0; trial < 200; trial++) {
		static cop_cluster_mean mean;
		mean = (cop_cluster_mean){ .count = { 0 } };
		size_t clusters = 3 + (size_t)(cop_rng_unit(&rng) * 125.0);
		double rate = trial % 3 == 0 ? 0.01 : cop_rng_unit(&rng);
		for (size_t i = 0; i < 20 * clusters; i++) {
			double unit = cop_rng_unit(&rng);
			unsigned c = (unsigned)(unit * unit * (double)clusters);
			cop_cluster_mean_add(&mean, c, cop_rng_unit(&rng) < rate * (double)(c % 3) / 2.0 ? 1.0 : 0.0);
		}
		check(&mean, 3e-5);
	}
}

static void test_nothing_and_one_cluster_are_unknown(void **state)
{
	(void)state;
	cop_cluster_mean mean = { .count = { 0 } };
	double low = 0.5, high = 0.5;
	cop_cluster_mean_bounds(&mean, RISK, &low, &high);
	assert_true(low == 0.0 && high == 1.0 && cop_cluster_mean_count(&mean) == 0);
	for (size_t i = 0; i < 1000; i++)
		cop_cluster_mean_add(&mean, 7, 0.25);
	cop_cluster_mean_bounds(&mean, RISK, &low, &high);
	assert_true(low == 0.0 && high == 1.0 && cop_cluster_mean_count(&mean) == 1000);
}

static void test_full_count_stays(void **state)
{
	(void)state;
	cop_cluster_mean mean = { .count = { [3] = UINT32_MAX }, .sum = { [3] = 5.0 } };
	cop_cluster_mean_add(&mean, 3, 1.0);
	cop_cluster_mean_add(&mean, 4, 1.0);
	assert_true(mean.count[3] == UINT32_MAX && mean.sum[3] == 5.0 && mean.count[4] == 1 && mean.sum[4] == 1.0);
}

static void test_saved_sums_come_back_and_nonsense_does_not(void **state)
{
	(void)state;
	cop_cluster_mean mean = { .count = { 0 } }, back, wrong;
	cop_bytes bytes;
	cop_cursor in;
	cop_bytes_init(&bytes);
	for (unsigned c = 0; c < COP_CLUSTERS; c++)
		for (unsigned i = 0; i < c; i++)
			cop_cluster_mean_add(&mean, c, (double)i / (double)c);
	cop_cluster_mean_save(&mean, &bytes);
	cop_cursor_init(&in, bytes.data, bytes.length);
	cop_cluster_mean_load(&back, &in);
	assert_true(in.err == COP_OK && cop_cursor_left(&in) == 0);
	assert_memory_equal(&back, &mean, sizeof mean);
	static const double sums[] = { -1.0, 3.0, (double)NAN };
	for (size_t i = 0; i < 3; i++) {
		wrong = mean;
		wrong.count[2] = 2;
		wrong.sum[2] = sums[i];
		cop_bytes_clear(&bytes);
		cop_cluster_mean_save(&wrong, &bytes);
		cop_cursor_init(&in, bytes.data, bytes.length);
		cop_cluster_mean_load(&back, &in);
		assert_int_not_equal(in.err, COP_OK);
	}
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_are_those_of_the_formulas),
		cmocka_unit_test(test_nothing_and_one_cluster_are_unknown),
		cmocka_unit_test(test_full_count_stays),
		cmocka_unit_test(test_saved_sums_come_back_and_nonsense_does_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
