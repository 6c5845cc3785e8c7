/* The stacked mixture against recursive least squares with forgetting in double: its start is read off a fresh mixture,
 * all else must follow. */
#include "rows.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "learn/mixture.h"

#define SEED 611U
#define ROOM 20

/* ---- members that do nothing ---- */

static int alive;

static void destroy(void *member)
{
	(void)member;
	alive--;
}

static void save_member(const void *member, cop_bytes *bytes) { cop_bytes_put_u8(bytes, *(const uint8_t *)member); }

static cop_err load_member(void *member, cop_cursor *cursor)
{
	*(uint8_t *)member = cop_cursor_u8(cursor);
	return cursor->err;
}

static const cop_member_class kinds[2] = {
	{ .name = "plain", .destroy = destroy, .save = save_member, .load = load_member },
	{ .name = "other", .destroy = destroy, .save = save_member, .load = load_member },
};

static uint8_t members[COP_LEARNER_EXPERTS];

static void make(cop_mixture *mixture, size_t count)
{
	assert_int_equal(cop_mixture_init(mixture, ROOM), COP_OK);
	for (size_t i = 0; i < count; i++) {
		members[i] = (uint8_t)(10 + i);
		assert_int_equal(cop_mixture_join(mixture, &kinds[0], &members[i]), COP_OK);
		alive++;
	}
	cop_mixture_begin(mixture);
	assert_int_equal(mixture->count, count);
}

/* ---- the oracle ---- */

typedef struct oracle {
	size_t count;
	double start, v, events, w[COP_LEARNER_EXPERTS], r[COP_LEARNER_EXPERTS][COP_LEARNER_EXPERTS];
} oracle;

static void oracle_begin(oracle *o, const cop_mixture *mixture)
{
	*o = (oracle){ .count = mixture->count, .start = mixture->stack.r[0][0], .v = 0.25 };
	for (size_t i = 0; i < o->count; i++) {
		o->w[i] = mixture->stack.weight[i];
		o->r[i][i] = o->start;
	}
}

static double oracle_predict(const oracle *o, const float *f)
{
	double sum = 0.5;
	for (size_t i = 0; i < o->count; i++)
		sum += o->w[i] * ((double)f[i] - 0.5);
	return sum;
}

/* R x = z by Gauss and Jordan. */
static void oracle_solve(const oracle *o, const double *z, double *x)
{
	double m[COP_LEARNER_EXPERTS][COP_LEARNER_EXPERTS + 1];
	for (size_t i = 0; i < o->count; i++) {
		memcpy(m[i], o->r[i], o->count * sizeof(double));
		m[i][o->count] = z[i];
	}
	for (size_t i = 0; i < o->count; i++)
		for (size_t row = 0; row < o->count; row++) {
			double times = row == i ? 0.0 : m[row][i] / m[i][i];
			for (size_t j = 0; j <= o->count; j++)
				m[row][j] -= times * m[i][j];
		}
	for (size_t i = 0; i < o->count; i++)
		x[i] = m[i][o->count] / m[i][i];
}

/* Each event counts 1 / v, v being the mean squared error of the last 2,000 or so; of the old ones 1 in 2,000 is
 * forgotten, fewer while they weigh less than 1,000 each. */
static void oracle_settle(oracle *o, const float *f, double loss)
{
	double z[COP_LEARNER_EXPERTS], step[COP_LEARNER_EXPERTS], error = loss - oracle_predict(o, f), trace = 0.0;
	o->events = o->events < 2000.0 ? o->events + 1.0 : 2000.0;
	o->v = (o->v * o->events + error * error) / (o->events + 1.0);
	const double v = o->v > 0.001 ? o->v : 0.001;
	for (size_t i = 0; i < o->count; i++) {
		z[i] = (double)f[i] - 0.5;
		trace += (o->r[i][i] - o->start) / (double)o->count;
	}
	const double keep = 1.0 - 0.0005 * (trace < 1000.0 ? trace / 1000.0 : 1.0);
	for (size_t i = 0; i < o->count; i++)
		for (size_t j = 0; j < o->count; j++)
			o->r[i][j] = keep * o->r[i][j] + z[i] * z[j] / v + (i == j ? (1.0 - keep) * o->start : 0.0);
	oracle_solve(o, z, step);
	for (size_t i = 0; i < o->count; i++)
		o->w[i] += step[i] * error / v;
}

/* ---- tests ---- */

static void test_begin_weights_are_equal(void **state)
{
	(void)state;
	for (size_t count = 1; count <= COP_LEARNER_EXPERTS; count++) {
		cop_mixture mixture;
		make(&mixture, count);
		for (size_t i = 0; i < count; i++) {
			assert_true(fabs(mixture.stack.weight[i] - 1.0 / (double)count) < 1e-15);
			for (size_t j = 0; j < count; j++)
				assert_true(i == j ? mixture.stack.r[i][i] > 0.0 : mixture.stack.r[i][j] == 0.0);
		}
		cop_mixture_fini(&mixture);
		assert_int_equal(alive, 0);
	}
}

static void test_mix_adds_what_members_are_off_one_half(void **state)
{
	(void)state;
	static const double weights[COP_LEARNER_EXPERTS] = { 0.75, -0.5, 1.25, 0.0625 };
	cop_mixture mixture;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	make(&mixture, 4);
	memcpy(mixture.stack.weight, weights, sizeof weights);
	for (size_t n = 1; n <= ROOM; n++) {
		float f[COP_LEARNER_EXPERTS], want[ROOM][COP_LEARNER_EXPERTS];
		for (size_t k = 0; k < n; k++)
			for (size_t i = 0; i < 4; i++)
				want[k][i] = mixture.loss[i][k] = (float)(2.0 * cop_rng_unit(&rng) - 0.5);
		cop_mixture_mix(&mixture, n);
		for (size_t k = 0; k < n; k++) {
			double sum = 0.5;
			cop_mixture_predictions(&mixture, k, f);
			for (size_t i = 0; i < 4; i++) {
				assert_true(f[i] == want[k][i]);
				sum += weights[i] * ((double)f[i] - 0.5);
			}
			assert_true(fabs((double)mixture.mixed[k] - sum) < 1e-6);
		}
	}
	cop_mixture_fini(&mixture);
}

static void test_mix_predictions_not_finite_count_as_one_half(void **state)
{
	(void)state;
	static const float strange[] = { NAN, INFINITY, -INFINITY };
	cop_mixture mixture;
	make(&mixture, 3);
	for (size_t s = 0; s < 3; s++) {
		float f[COP_LEARNER_EXPERTS];
		for (size_t i = 0; i < 3; i++)
			for (size_t k = 0; k < ROOM; k++)
				mixture.loss[i][k] = k % 3 == i || k == 7 ? strange[s] : 0.75f;
		cop_mixture_mix(&mixture, ROOM);
		for (size_t k = 0; k < ROOM; k++) {
			double want = k == 7 ? 0.5 : 0.5 + 0.25 * 2.0 / 3.0;
			assert_true(fabs((double)mixture.mixed[k] - want) < 1e-6);
			cop_mixture_predictions(&mixture, k, f);
			for (size_t i = 0; i < 3; i++)
				assert_true(f[i] == (k % 3 == i || k == 7 ? 0.5f : 0.75f));
		}
	}
	cop_mixture_fini(&mixture);
}

static void test_settle_equals_recursive_least_squares(void **state)
{
	(void)state;
	printf("seed %u\n", SEED);
	for (size_t count = 1; count <= COP_LEARNER_EXPERTS; count++) {
		cop_mixture mixture;
		oracle o;
		cop_rng rng;
		cop_rng_init(&rng, SEED, count);
		make(&mixture, count);
		oracle_begin(&o, &mixture);
		for (size_t n = 0; n < 3000; n++) {
			float f[COP_LEARNER_EXPERTS] = { 0 };
			double truth = cop_rng_unit(&rng);
			for (size_t i = 0; i < count; i++)
				f[i] = (float)(truth + 0.05 * (double)(i + 1) * cop_rng_normal(&rng));
			double loss = n % 3 == 0 ? truth : truth > 0.5 ? 1.0 : 0.0;
			cop_mixture_settle(&mixture, f, loss, NULL, 1);
			oracle_settle(&o, f, loss);
			for (size_t i = 0; i < count; i++) {
				assert_true(fabs(mixture.stack.weight[i] - o.w[i]) < 1e-6);
				for (size_t j = 0; j < count; j++)
					assert_true(fabs(mixture.stack.r[i][j] - o.r[i][j]) <=
					            1e-6 * sqrt(o.r[i][i] * o.r[j][j]));
			}
		}
		cop_mixture_fini(&mixture);
	}
}

/* loss = 1/2 + a (f1 - 1/2) + b (f2 - 1/2) + noise: the weights become a and b, the third's 0. */
static void recovers(double a, double b, uint64_t stream)
{
	cop_mixture mixture;
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	make(&mixture, 3);
	for (size_t n = 0; n < 20000; n++) {
		float f[COP_LEARNER_EXPERTS];
		for (size_t i = 0; i < 3; i++)
			f[i] = (float)cop_rng_unit(&rng);
		double loss = 0.5 + a * ((double)f[0] - 0.5) + b * ((double)f[1] - 0.5);
		cop_mixture_settle(&mixture, f, loss + 0.05 * cop_rng_normal(&rng), NULL, 1);
	}
	if (!(fabs(mixture.stack.weight[0] - a) < 0.04 && fabs(mixture.stack.weight[1] - b) < 0.04 &&
	            fabs(mixture.stack.weight[2]) < 0.04))
		fail_msg("weights %.3f, %.3f, %.3f; expected %.3f, %.3f, 0", mixture.stack.weight[0],
		        mixture.stack.weight[1], mixture.stack.weight[2], a, b);
	cop_mixture_fini(&mixture);
}

static void check_choice(cop_dormancy_choice choice, double regret, double spread)
{
	assert_true(fabs(choice.regret - regret) < 1e-6);
	assert_true(fabs(choice.spread - spread) < 1e-6);
}

/* Two members; the trial's mixture has the first alone. Of losses 0.4, 0.5, 0.1 the first sees 0.4, 0.5, 0.9. */
static void test_choice_is_among_the_eligible_alone(void **state)
{
	(void)state;
	static const float first[] = { 0.4f, 0.5f, 0.9f }, second[] = { 0.4f, 0.5f, -0.7f };
	static const struct {
		uint8_t mask[3];
		double regret, spread;
	} cases[] = { { { 1, 1, 1 }, 0.3 - 0.0015 * (1.0 / 3.0 - 0.1), 0.14 - 1.0 / 9.0 },
		{ { 1, 0, 1 }, 0.3 - 0.0015 * 0.15, 0.0225 }, { { 0, 1, 1 }, 0.4 - 0.0015 * 0.2, 0.04 },
		{ { 1, 1, 0 }, -0.0015 * 0.05, 0.0025 }, { { 0, 0, 1 }, 0.0, 0.0 }, { { 0, 0, 0 }, 0.0, 0.0 } };
	cop_mixture mixture;
	make(&mixture, 2);
	mixture.rest.without = mixture.stack;
	mixture.rest.without.weight[0] = 1.0;
	mixture.rest.without.weight[1] = 0.0;
	memcpy(mixture.loss[0], first, sizeof first);
	memcpy(mixture.loss[1], second, sizeof second);
	cop_mixture_mix(&mixture, 3);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_choice(cop_mixture_choice(&mixture, cases[i].mask, 3), cases[i].regret, cases[i].spread);
	check_choice(cop_mixture_choice(&mixture, NULL, 3), cases[0].regret, cases[0].spread);
	cop_mixture_fini(&mixture);
}

static void test_settle_recovers_the_best_linear_combination(void **state)
{
	(void)state;
	recovers(0.7, 0.3, 20);
	recovers(2.0, 0.0, 21);  /* an expert on half the scale */
	recovers(0.5, 0.0, 22);  /* on twice the scale */
	recovers(1.0, -0.6, 23); /* one that helps by being wrong */
	recovers(0.0, 0.0, 24);  /* none helps */
}

/* Two experts change places: old events are forgotten. */
static void test_settle_follows_experts_that_change_places(void **state)
{
	(void)state;
	cop_mixture mixture;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 30);
	make(&mixture, 2);
	for (size_t n = 0; n < 20000; n++) {
		float f[COP_LEARNER_EXPERTS];
		double loss = cop_rng_unit(&rng);
		f[n < 10000] = (float)cop_rng_unit(&rng);
		f[n >= 10000] = (float)loss;
		cop_mixture_settle(&mixture, f, loss, NULL, 1);
		if (n == 9999)
			assert_true(fabs(mixture.stack.weight[0] - 1.0) < 0.02 && fabs(mixture.stack.weight[1]) < 0.02);
	}
	printf("after changing places: %.3f, %.3f\n", mixture.stack.weight[0], mixture.stack.weight[1]);
	assert_true(mixture.stack.weight[1] > 0.6 && mixture.stack.weight[0] < 0.4);
	cop_mixture_fini(&mixture);
}

static void test_settle_not_finite_changes_nothing(void **state)
{
	(void)state;
	static const float strange[] = { NAN, INFINITY, -INFINITY };
	cop_mixture mixture;
	make(&mixture, 4);
	float f[COP_LEARNER_EXPERTS] = { 0.25f, 0.5f, 0.75f, 1.0f };
	for (size_t n = 0; n < 100; n++) {
		f[n % 4] = (float)n / 100.0f;
		cop_mixture_settle(&mixture, f, n % 2 == 0 ? 0.0 : 1.0, NULL, 1);
	}
	const cop_mixture before = mixture;
	for (size_t i = 0; i < 4; i++)
		for (size_t s = 0; s < 3; s++) {
			float bad[COP_LEARNER_EXPERTS];
			memcpy(bad, f, sizeof bad);
			bad[i] = strange[s];
			cop_mixture_settle(&mixture, bad, 0.5, NULL, 1);
			cop_mixture_settle(&mixture, f, (double)strange[s], NULL, 1);
			assert_memory_equal(mixture.stack.weight, before.stack.weight, sizeof before.stack.weight);
			assert_memory_equal(mixture.stack.r, before.stack.r, sizeof before.stack.r);
		}
	cop_mixture_fini(&mixture);
}

static void check_sound(const cop_mixture *mixture)
{
	for (size_t i = 0; i < mixture->count; i++) {
		assert_true(isfinite(mixture->stack.weight[i]));
		assert_true(isfinite(mixture->stack.r[i][i]) && mixture->stack.r[i][i] > 0.0);
		for (size_t j = 0; j < i; j++) {
			double scale = sqrt(mixture->stack.r[i][i] * mixture->stack.r[j][j]);
			assert_true(fabs(mixture->stack.r[i][j]) <= scale * (1.0 + 1e-6));
			assert_true(fabs(mixture->stack.r[i][j] - mixture->stack.r[j][i]) <= 1e-6 * scale);
		}
	}
}

/* Members that always say the same, or 1/2, for very long: P may not run away, nor lose its sign. */
static void test_settle_long_dull_streams_stay_sound(void **state)
{
	(void)state;
	for (int dull = 0; dull < 4; dull++) {
		cop_mixture mixture;
		cop_rng rng;
		cop_rng_init(&rng, SEED, 40);
		make(&mixture, 4);
		for (size_t n = 0; n < 300000; n++) {
			float f[COP_LEARNER_EXPERTS] = { 0.5f, 0.5f, 0.5f, 0.5f };
			float same = (float)cop_rng_unit(&rng);
			for (size_t i = 0; i < 4 && dull != 0; i++)
				f[i] = dull == 1 ? 0.25f : dull == 2 ? same : same + (float)(i * n % 7) * 1e-7f;
			cop_mixture_settle(&mixture, f, n % 3 == 0 ? 1.0 : 0.0, NULL, 1);
		}
		check_sound(&mixture);
		for (size_t n = 0; n < 30000; n++) { /* and what comes then is learned */
			float f[COP_LEARNER_EXPERTS];
			for (size_t i = 0; i < 4; i++)
				f[i] = (float)cop_rng_unit(&rng);
			cop_mixture_settle(&mixture, f, (double)f[2], NULL, 1);
		}
		check_sound(&mixture);
		printf("dull stream %d, then: %.3f %.3f %.3f %.3f\n", dull, mixture.stack.weight[0],
		        mixture.stack.weight[1], mixture.stack.weight[2], mixture.stack.weight[3]);
		assert_true(mixture.stack.weight[2] > 0.7 && mixture.stack.weight[2] - mixture.stack.weight[1] > 0.9);
		cop_mixture_fini(&mixture);
	}
}

static void test_settle_huge_predictions_stay_finite(void **state)
{
	(void)state;
	static const float huge[] = { FLT_MAX, -FLT_MAX, 1e30f, 1e-38f, 1e15f, -1e20f, 1.0f };
	cop_mixture mixture;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 50);
	make(&mixture, 4);
	for (size_t n = 0; n < 100000; n++) {
		float f[COP_LEARNER_EXPERTS];
		for (size_t i = 0; i < 4; i++)
			f[i] = huge[cop_rng_below(&rng, sizeof huge / sizeof *huge)];
		cop_mixture_settle(&mixture, f, n % 3 == 0 ? 1.0 : 0.0, NULL, 1);
	}
	for (size_t i = 0; i < 4; i++) {
		assert_true(isfinite(mixture.stack.weight[i]));
		for (size_t j = 0; j < 4; j++)
			assert_true(isfinite(mixture.stack.r[i][j]));
	}
	cop_mixture_fini(&mixture);
}

static void test_saved_weights_load_and_others_are_refused(void **state)
{
	(void)state;
	cop_mixture a, b;
	cop_bytes bytes, again;
	cop_cursor cursor;
	cop_rng rng;
	cop_bytes_init(&bytes);
	cop_bytes_init(&again);
	cop_rng_init(&rng, SEED, 60);
	make(&a, 3);
	for (size_t n = 0; n < 200; n++) {
		float f[COP_LEARNER_EXPERTS];
		for (size_t i = 0; i < 3; i++)
			f[i] = (float)cop_rng_unit(&rng);
		cop_mixture_settle(&a, f, cop_rng_unit(&rng), NULL, 1);
	}
	cop_mixture_save_weights(&a, &bytes);
	make(&b, 3);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_mixture_load_weights(&b, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_true(a.stack.weight[i] == b.stack.weight[i]);
		for (size_t j = 0; j < 3; j++)
			assert_true(a.stack.r[i][j] == b.stack.r[i][j]);
	}
	cop_mixture_save_weights(&b, &again);
	assert_bytes_equal(&bytes, &again);
	for (size_t cut = 0; cut < bytes.length; cut++) {
		cop_cursor_init(&cursor, bytes.data, cut);
		assert_int_not_equal(cop_mixture_load_weights(&b, &cursor), COP_OK);
	}
	cop_mixture_fini(&b);
	make(&b, 4);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_mixture_load_weights(&b, &cursor), COP_ESHAPE);
	cop_mixture_fini(&b);
	cop_mixture_fini(&a);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&again);
}

/* What loads must stay finite: numbers beyond those of a living mixture are refused, or do no harm. */
static void test_load_spoiled_weights_is_refused_or_stays_finite(void **state)
{
	(void)state;
	static const double spoiled[] = { 1e308, -1e308, 1e200, -1e200, 1e155, 1e100, -1e30, 1e9, -0.2, 0.15, 0.0 };
	const size_t count = sizeof spoiled / sizeof *spoiled;
	cop_mixture a, b;
	cop_bytes good, bytes;
	cop_cursor cursor;
	cop_rng rng;
	cop_bytes_init(&good);
	cop_bytes_init(&bytes);
	cop_rng_init(&rng, SEED, 70);
	make(&a, 2);
	make(&b, 2);
	cop_mixture_save_weights(&a, &good);
	const size_t numbers = 6, first = 2 * sizeof(uint32_t); /* behind the marks of both */
	for (size_t n = 0; n < 20000; n++) {
		cop_bytes_clear(&bytes);
		cop_bytes_put(&bytes, good.data, good.length);
		for (size_t i = 0; i < numbers; i++)
			if (cop_rng_below(&rng, 2) == 0)
				memcpy(bytes.data + first + i * sizeof(double), &spoiled[cop_rng_below(&rng, count)],
				        sizeof(double));
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		cop_err err = cop_mixture_load_weights(&b, &cursor);
		assert_true(err == COP_OK || err == COP_EFORMAT);
		for (size_t i = 0; i < 4 && err == COP_OK; i++) {
			const float f[2] = { (float)cop_rng_unit(&rng), i % 2 == 0 ? FLT_MAX : 0.25f };
			cop_mixture_settle(&b, f, 1.0, NULL, 1);
			cop_bytes_clear(&bytes);
			cop_mixture_save_weights(&b, &bytes);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			assert_int_equal(cop_mixture_load_weights(&b, &cursor), COP_OK);
		}
	}
	cop_mixture_fini(&a);
	cop_mixture_fini(&b);
	cop_bytes_fini(&good);
	cop_bytes_fini(&bytes);
}

static void test_saved_members_load_and_others_are_refused(void **state)
{
	(void)state;
	cop_mixture a, b;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	make(&a, 3);
	cop_mixture_save_members(&a, &bytes);
	members[0] = members[1] = members[2] = 0;
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_mixture_load_members(&a, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	assert_true(members[0] == 10 && members[1] == 11 && members[2] == 12);
	for (size_t cut = 0; cut < bytes.length; cut++) {
		cop_cursor_init(&cursor, bytes.data, cut);
		assert_int_not_equal(cop_mixture_load_members(&a, &cursor), COP_OK);
	}
	assert_int_equal(cop_mixture_init(&b, ROOM), COP_OK);
	for (size_t i = 0; i < 3; i++, alive++)
		assert_int_equal(cop_mixture_join(&b, &kinds[i == 1], &members[i]), COP_OK);
	cop_mixture_begin(&b);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_mixture_load_members(&b, &cursor), COP_ESHAPE);
	cop_mixture_fini(&b);
	cop_mixture_fini(&a);
	cop_bytes_fini(&bytes);
	assert_int_equal(alive, 0);
}

static void test_join_short_of_memory_takes_the_member_anyway(void **state)
{
	(void)state;
	bool done = false;
	for (unsigned long n = 1; !done; n++) {
		cop_mixture mixture;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_mixture_init(&mixture, ROOM);
		for (size_t i = 0; i < 2 && err == COP_OK; i++, alive++)
			err = cop_mixture_join(&mixture, &kinds[0], &members[i]);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		done = err == COP_OK;
		cop_mixture_fini(&mixture);
		assert_int_equal(alive, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begin_weights_are_equal),
		cmocka_unit_test(test_mix_adds_what_members_are_off_one_half),
		cmocka_unit_test(test_mix_predictions_not_finite_count_as_one_half),
		cmocka_unit_test(test_settle_equals_recursive_least_squares),
		cmocka_unit_test(test_choice_is_among_the_eligible_alone),
		cmocka_unit_test(test_settle_recovers_the_best_linear_combination),
		cmocka_unit_test(test_settle_follows_experts_that_change_places),
		cmocka_unit_test(test_settle_not_finite_changes_nothing),
		cmocka_unit_test(test_settle_long_dull_streams_stay_sound),
		cmocka_unit_test(test_settle_huge_predictions_stay_finite),
		cmocka_unit_test(test_saved_weights_load_and_others_are_refused),
		cmocka_unit_test(test_load_spoiled_weights_is_refused_or_stays_finite),
		cmocka_unit_test(test_saved_members_load_and_others_are_refused),
		cmocka_unit_test(test_join_short_of_memory_takes_the_member_anyway),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
