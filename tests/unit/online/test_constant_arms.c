/* The policy against each arm alone: its figures by plain sums, its intervals against worlds whose truth is known. */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "online/constant_arms.h"

#define SEED 47U
#define ARMS 4

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * (1.0 + fabs(b)); }

static void begin(cop_constant_arms *arms, size_t count)
{
	assert_int_equal(cop_constant_arms_init(arms, count), COP_OK);
}

static size_t draw(const double *p, cop_rng *rng)
{
	double u = cop_rng_unit(rng);
	size_t arm = 0;
	for (; arm + 1 < ARMS && u >= p[arm]; arm++)
		u -= p[arm];
	return arm;
}

static void test_figures_are_plain_sums(void **state)
{
	(void)state;
	static const double p[ARMS] = { 0.1, 0.2, 0.3, 0.4 };
	cop_constant_arms arms;
	cop_constant_gain is;
	cop_rng rng;
	double sum[ARMS] = { 0.0 }, weight[ARMS] = { 0.0 }, square[ARMS] = { 0.0 }, n[ARMS] = { 0.0 };
	cop_rng_init(&rng, SEED, 1);
	begin(&arms, ARMS);
	cop_constant_arms_get(&arms, 2, &is);
	assert_true(is.losses == 0 && is.effective == 0.0 && isnan(is.gain) && isnan(is.low) && isnan(is.high));
	for (size_t t = 0; t < 3000; t++) {
		bool masked = t % 3 == 0;
		uint8_t mask[ARMS];
		double loss = cop_rng_unit(&rng), eligible = 0.0;
		for (size_t k = 0; k < ARMS; k++) {
			mask[k] = !masked || k == 0 || cop_rng_below(&rng, 2) == 0;
			eligible += mask[k] ? p[k] : 0.0;
		}
		size_t arm = draw(p, &rng);
		while (!mask[arm])
			arm = draw(p, &rng);
		double drawn = p[arm] / eligible;
		cop_constant_arms_add(&arms, (uint32_t)arm, drawn, masked ? mask : NULL, loss);
		for (size_t k = 0; k < ARMS; k++) {
			double w = k == arm ? 1.0 / drawn : 0.0;
			if (masked && !mask[k])
				continue;
			sum[k] += w * loss - loss;
			weight[k] += w;
			square[k] += w * w;
			n[k] += 1.0;
		}
	}
	for (size_t k = 0; k < ARMS; k++) {
		cop_constant_arms_get(&arms, k, &is);
		assert_true((double)is.losses == n[k] && near(is.gain, sum[k] / n[k]));
		assert_true(near(is.effective, weight[k] * weight[k] / square[k]));
		assert_true(is.low <= is.gain && is.gain <= is.high && is.low >= -1.0 && is.high <= 1.0);
	}
	cop_constant_arms_clear(&arms);
	cop_constant_arms_get(&arms, 0, &is);
	assert_true(is.losses == 0);
	cop_constant_arms_fini(&arms);
}

/* A policy that turns from even draws to the best arm, in a world that drifts. Which of the arms' intervals ever missed
 * the gain so far; the policy's share of losses is that of the worst arm's at last. */
static unsigned missed_by(uint64_t launch, cop_constant_gain *end)
{
	enum { EVENTS = 3000 };
	cop_constant_arms arms;
	cop_rng rng;
	unsigned missed = 0;
	double sum[ARMS] = { 0.0 }, policy = 0.0;
	cop_rng_init(&rng, SEED, 100 + launch);
	begin(&arms, ARMS);
	for (size_t t = 0; t < EVENTS; t++) {
		double way = (double)t / EVENTS, mean[ARMS], p[ARMS], own = 0.0;
		for (size_t k = 0; k < ARMS; k++) {
			mean[k] = 0.2 + 0.15 * (double)k + 0.1 * sin(9.0 * way);
			p[k] = 0.25 * (1.0 - way) + way * (k == 0 ? 0.94 : 0.02);
			own += p[k] * mean[k];
			sum[k] += mean[k];
		}
		policy += own;
		size_t arm = draw(p, &rng);
		cop_constant_arms_add(&arms, (uint32_t)arm, p[arm], NULL, cop_rng_unit(&rng) < mean[arm] ? 1.0 : 0.0);
		for (size_t k = 0; t % 25 == 24 && k < ARMS; k++) {
			double gain = (sum[k] - policy) / (double)(t + 1);
			cop_constant_arms_get(&arms, k, &end[k]);
			missed |= end[k].low > gain || end[k].high < gain ? 1u << k : 0u;
		}
	}
	cop_constant_arms_fini(&arms);
	return missed;
}

static void test_intervals_cover_the_gain_at_all_times_and_find_its_sign(void **state)
{
	(void)state;
	enum { LAUNCHES = 200 };
	size_t missed[ARMS] = { 0 }, up[ARMS] = { 0 }, down[ARMS] = { 0 };
	for (uint64_t launch = 0; launch < LAUNCHES; launch++) {
		cop_constant_gain end[ARMS];
		unsigned which = missed_by(launch, end);
		for (size_t k = 0; k < ARMS; k++) {
			missed[k] += which >> k & 1u;
			up[k] += end[k].low > 0.0;
			down[k] += end[k].high < 0.0;
		}
	}
	for (size_t k = 0; k < ARMS; k++) {
		printf("seed %u, arm %zu: missed %zu, better %zu, worse %zu of %d\n", SEED, k, missed[k], up[k],
		        down[k], LAUNCHES);
		assert_true(missed[k] <= 0.05 * LAUNCHES);
	}
	assert_true(up[0] == 0 && down[3] == 0 && 2 * up[3] > LAUNCHES); /* arm 0 is the best one, 3 the worst */
}

static void test_more_arms_than_are_counted_have_no_figures(void **state)
{
	(void)state;
	cop_constant_arms arms;
	begin(&arms, COP_CONSTANT_ARMS_MOST + 1);
	assert_int_equal(arms.count, 0);
	cop_constant_arms_add(&arms, 7, 0.5, NULL, 1.0);
	cop_constant_arms_fini(&arms);
	begin(&arms, COP_CONSTANT_ARMS_MOST);
	assert_int_equal(arms.count, COP_CONSTANT_ARMS_MOST);
	cop_constant_arms_add(&arms, 7, 1e-300, NULL, 1.0); /* a weight beyond all bounds */
	cop_constant_gain is;
	cop_constant_arms_get(&arms, 7, &is);
	assert_true(is.low >= -1.0 && is.high <= 1.0);
	cop_constant_arms_fini(&arms);
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_constant_arms_init(&arms, 3), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
}

static void test_saved_figures_go_on_as_they_were(void **state)
{
	(void)state;
	cop_constant_arms arms, back, other;
	cop_bytes first, second;
	cop_cursor cursor;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	begin(&arms, ARMS);
	begin(&back, ARMS);
	begin(&other, ARMS - 1);
	for (uint32_t t = 0; t < 100; t++)
		cop_constant_arms_add(&arms, t % 3, 0.25, NULL, t % 5 / 5.0);
	cop_constant_arms_save(&arms, &first);
	cop_cursor_init(&cursor, first.data, first.length);
	cop_constant_arms_load(&back, &cursor);
	assert_true(cursor.err == COP_OK && cop_cursor_left(&cursor) == 0);
	cop_constant_arms_add(&arms, 1, 0.5, NULL, 1.0);
	cop_constant_arms_add(&back, 1, 0.5, NULL, 1.0);
	cop_bytes_clear(&first);
	cop_constant_arms_save(&arms, &first);
	cop_constant_arms_save(&back, &second);
	assert_int_equal(first.length, second.length);
	assert_memory_equal(first.data, second.data, first.length);
	cop_cursor_init(&cursor, first.data, first.length);
	cop_constant_arms_load(&other, &cursor);
	assert_int_equal(cursor.err, COP_EFORMAT);
	for (size_t length = 0; length < first.length; length += 13) {
		cop_cursor_init(&cursor, first.data, length);
		cop_constant_arms_load(&back, &cursor);
		assert_int_not_equal(cursor.err, COP_OK);
	}
	cop_running_bound_add(&arms.arm[0].over, 0.5, 0.0); /* of one of the two */
	cop_bytes_clear(&first);
	cop_constant_arms_save(&arms, &first);
	cop_cursor_init(&cursor, first.data, first.length);
	cop_constant_arms_load(&back, &cursor);
	assert_int_equal(cursor.err, COP_EFORMAT);
	cop_constant_arms_fini(&arms);
	cop_constant_arms_fini(&back);
	cop_constant_arms_fini(&other);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_are_plain_sums),
		cmocka_unit_test(test_intervals_cover_the_gain_at_all_times_and_find_its_sign),
		cmocka_unit_test(test_more_arms_than_are_counted_have_no_figures),
		cmocka_unit_test(test_saved_figures_go_on_as_they_were),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
