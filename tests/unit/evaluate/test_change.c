/* Change detectors: false alarms, delays, one alarm a change; adwin against a version that keeps every loss. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rng.h"
#include "evaluate/change.h"

static cop_change *made_quiet(const char *detector, uint64_t quiet)
{
	cop_change_settings settings;
	cop_change *change;
	cop_change_defaults(&settings);
	strcpy(settings.detector, detector);
	settings.quiet = quiet;
	assert_int_equal(cop_change_new(&settings, &change), COP_OK);
	return change;
}

static cop_change *made(const char *detector) { return made_quiet(detector, 1000); }

static const char *const names[] = { "adwin", "page-hinkley" };

static double bernoulli(cop_rng *rng, double mean) { return cop_rng_unit(rng) < mean ? 1.0 : 0.0; }

/* --- adwin as the header says it, over every loss kept, with buckets as a list of sizes --- */
#define KEPT 4000

typedef struct naive {
	double x[KEPT]; /* oldest first */
	size_t n, seen;
	size_t size[KEPT], buckets; /* oldest first */
} naive;

static void naive_insert(naive *v, double x, size_t most)
{
	v->x[v->n++] = x;
	v->size[v->buckets++] = 1;
	for (size_t size = 1;; size *= 2) {
		size_t first = v->buckets, count = 0;
		for (size_t i = v->buckets; i-- > 0;)
			if (v->size[i] == size) {
				first = i;
				count++;
			}
		if (count <= most)
			return;
		v->size[first] *= 2; /* the two oldest of this size stand side by side */
		memmove(&v->size[first + 1], &v->size[first + 2], (v->buckets - first - 2) * sizeof *v->size);
		v->buckets--;
	}
}

static double mean_of(const double *x, size_t n)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* How many times the least difference the means before and after `at` differ. */
static double naive_excess(const naive *v, size_t at, double delta)
{
	double n = (double)v->n, m = 1.0 / (1.0 / (double)at + 1.0 / (n - (double)at)), mean = mean_of(v->x, v->n);
	double variance = 0.0, log_term = log(2.0 * log(n) / delta);
	for (size_t i = 0; i < v->n; i++)
		variance += (v->x[i] - mean) * (v->x[i] - mean) / n;
	double least = sqrt(2.0 / m * variance * log_term) + 2.0 / (3.0 * m) * log_term;
	return fabs(mean_of(v->x, at) - mean_of(v->x + at, v->n - at)) / least;
}

/* True: it was cut, at the best boundary. */
static bool naive_cut(naive *v, double delta, bool *rise)
{
	size_t best = 0, best_bucket = 0, at = 0;
	double most = 1.0;
	for (size_t i = 0; i < v->buckets; i++) {
		at += v->size[i];
		if (at < 5 || v->n - at < 5)
			continue;
		double excess = naive_excess(v, at, delta);
		if (excess > most) {
			most = excess;
			best = at;
			best_bucket = i + 1;
		}
	}
	if (best == 0)
		return false;
	*rise = mean_of(v->x + best, v->n - best) > mean_of(v->x, best);
	v->n -= best;
	v->buckets -= best_bucket;
	memmove(v->x, v->x + best, v->n * sizeof *v->x);
	memmove(v->size, v->size + best_bucket, v->buckets * sizeof *v->size);
	return true;
}

static cop_change_alarm naive_add(naive *v, double x, const cop_change_settings *s)
{
	bool rise, first;
	naive_insert(v, x, s->buckets);
	if (++v->seen % s->every != 0 || !naive_cut(v, s->delta, &first))
		return COP_CHANGE_NONE;
	while (naive_cut(v, s->delta, &rise))
		;
	return first ? COP_CHANGE_RISE : COP_CHANGE_FALL;
}

static void test_adwin_equals_a_version_that_keeps_every_loss(void **state)
{
	(void)state;
	static naive v;
	const double means[] = { 0.5, 0.2, 0.6, 0.55, 0.05 };
	unsigned alarms = 0;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		cop_change_settings s;
		cop_change *change;
		cop_rng rng;
		cop_change_defaults(&s);
		s.quiet = 0; /* every finding is told */
		s.every = seed % 2 == 0 ? 32 : 5;
		s.buckets = seed % 3 == 0 ? 2 : 5;
		s.delta = seed % 4 == 0 ? 0.2 : 0.002;
		v = (naive){ .n = 0 };
		assert_int_equal(cop_change_new(&s, &change), COP_OK);
		cop_rng_init(&rng, seed, 0);
		for (size_t i = 0; i < 2500; i++) {
			double u = cop_rng_unit(&rng),
			       x = seed % 2 == 0 ? (u < means[i / 500]) : 0.5 * (u + means[i / 500]);
			cop_change_alarm got = cop_change_add(change, x), want = naive_add(&v, x, &s);
			assert_int_equal(got, want);
			assert_int_equal(cop_change_width(change), v.n);
			assert_true(fabs(cop_change_mean(change) - mean_of(v.x, v.n)) < 1e-12);
			alarms += got != COP_CHANGE_NONE;
		}
		cop_change_free(change);
	}
	print_message("seeds 1..8: %u cuts\n", alarms);
	assert_true(alarms >= 24);
}

static void test_stationary_streams_raise_alarms_as_seldom_as_delta_says(void **state)
{
	(void)state;
	const double means[] = { 0.02, 0.3, 0.5 };
	for (size_t d = 0; d < 2; d++)
		for (size_t m = 0; m < 3; m++) {
			unsigned alarms = 0, streams = 0;
			for (uint64_t seed = 1; seed <= 300; seed++) {
				cop_change *change = made(names[d]);
				cop_rng rng;
				unsigned before = alarms;
				cop_rng_init(&rng, seed, m);
				for (int i = 0; i < 5000; i++)
					alarms += cop_change_add(change, bernoulli(&rng, means[m])) != COP_CHANGE_NONE;
				streams += alarms > before;
				cop_change_free(change);
			}
			print_message("%s, mean %g, seeds 1..300: %u alarms in 1,500,000 losses, in %u streams\n",
			        names[d], means[m], alarms, streams);
			/* 0.002 of 300 x 156 looks is 94; streams: 3 % of them */
			assert_true(alarms <= 94 && streams <= 9);
		}
}

typedef struct heard {
	unsigned rises, falls;
	size_t first; /* loss after the change at which the first right one came; 0: none */
} heard;

/* `before` losses of one mean, then 3000 of another, reached over `drift` losses. */
static heard listen(const char *name, uint64_t seed, double from, double to, size_t before, size_t drift)
{
	cop_change *change = made_quiet(name, drift > 1000 ? drift : 1000);
	heard h = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, seed, 1);
	for (size_t i = 0; i < before + drift + 3000; i++) {
		double along = i < before ? 0.0 : drift == 0 ? 1.0 : fmin((double)(i - before) / (double)drift, 1.0);
		cop_change_alarm alarm = cop_change_add(change, bernoulli(&rng, from + along * (to - from)));
		h.rises += alarm == COP_CHANGE_RISE;
		h.falls += alarm == COP_CHANGE_FALL;
		if (h.first == 0 && i >= before && alarm == (to > from ? COP_CHANGE_RISE : COP_CHANGE_FALL))
			h.first = i - before + 1;
	}
	assert_true(fabs(cop_change_mean(change) - to) < 0.1); /* the window is of the new time */
	cop_change_free(change);
	return h;
}

/* Few in 50 streams: what is left of a drift may count as a change of its own once `quiet` is over. */
static void check_delay(const char *name, double from, double to, size_t drift, double longest)
{
	double sum = 0.0;
	unsigned more = 0;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		heard h = listen(name, seed, from, to, 2000, drift);
		if (h.first == 0)
			fail_msg("%s, %g to %g, seed %d: not found", name, from, to, (int)seed);
		sum += (double)h.first / 50.0;
		more += h.rises + h.falls - 1;
	}
	print_message("%s, %g to %g over %zu: found after %.0f losses, %u further alarms in 50 streams\n", name, from,
	        to, drift, sum, more);
	assert_true(sum <= longest && more <= (drift > 0 ? 6 : 1));
}

static void test_abrupt_changes_are_found_once_and_soon(void **state)
{
	(void)state;
	for (size_t d = 0; d < 2; d++) {
		check_delay(names[d], 0.2, 0.6, 0, 110.0);
		check_delay(names[d], 0.6, 0.2, 0, 110.0);
		check_delay(names[d], 0.3, 0.5, 0, 300.0);
		check_delay(names[d], 0.5, 0.3, 0, 300.0);
	}
	check_delay("adwin", 0.1, 0.2, 0, 700.0);
}

static void test_slow_drift_is_found_and_is_one_change(void **state)
{
	(void)state;
	for (size_t d = 0; d < 2; d++) {
		check_delay(names[d], 0.2, 0.6, 2000, 1500.0);
		check_delay(names[d], 0.7, 0.3, 2000, 1500.0);
	}
}

static void test_saved_and_loaded_gives_the_same_alarms(void **state)
{
	(void)state;
	for (size_t d = 0; d < 2; d++) {
		cop_change *change = made(names[d]), *read;
		unsigned alarms = 0;
		cop_rng rng;
		cop_rng_init(&rng, 5, d);
		for (int i = 0; i < 6000; i++) {
			double x = bernoulli(&rng, i / 1500 % 2 == 0 ? 0.2 : 0.7);
			cop_change_alarm got = cop_change_add(change, x);
			alarms += got != COP_CHANGE_NONE;
			if (i % 37 != 0)
				continue;
			cop_bytes bytes;
			cop_cursor in;
			cop_bytes_init(&bytes);
			cop_change_save(change, &bytes);
			cop_cursor_init(&in, bytes.data, bytes.length);
			assert_int_equal(cop_change_load(&in, &read), COP_OK);
			assert_int_equal(cop_cursor_left(&in), 0);
			assert_int_equal(cop_change_width(read), cop_change_width(change));
			cop_change_free(change);
			change = read; /* and go on with what was read */
			cop_bytes_fini(&bytes);
		}
		assert_int_equal(alarms, 3);
		cop_change_free(change);
	}
}

static void test_bytes_cut_or_changed_are_refused_or_go_on(void **state)
{
	(void)state;
	for (size_t d = 0; d < 2; d++) {
		cop_change *change = made(names[d]), *read;
		cop_bytes bytes;
		cop_cursor in;
		for (int i = 0; i < 300; i++)
			(void)cop_change_add(change, i % 10 * 0.1);
		cop_bytes_init(&bytes);
		cop_change_save(change, &bytes);
		for (size_t cut = 0; cut < bytes.length; cut++) {
			cop_cursor_init(&in, bytes.data, cut);
			assert_int_equal(cop_change_load(&in, &read), COP_EFORMAT);
			assert_null(read);
		}
		for (size_t i = 0; i < bytes.length * 8; i++) {
			bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
			cop_cursor_init(&in, bytes.data, bytes.length);
			if (cop_change_load(&in, &read) == COP_OK) {
				for (int k = 0; k < 50; k++)
					(void)cop_change_add(read, 0.5);
				assert_true(cop_change_mean(read) >= 0.0 && cop_change_mean(read) <= 1.0);
			}
			cop_change_free(read);
			bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
		}
		bytes.data[0] = 2;
		cop_cursor_init(&in, bytes.data, bytes.length);
		assert_int_equal(cop_change_load(&in, &read), COP_EVERSION);
		cop_bytes_fini(&bytes);
		cop_change_free(change);
	}
}

static void test_window_is_bounded_and_add_allocates_nothing(void **state)
{
	(void)state;
	cop_change_settings s;
	cop_change *change;
	cop_change_defaults(&s);
	s.buckets = 3;
	s.rows = 4;
	assert_int_equal(cop_change_new(&s, &change), COP_OK);
	cop_test_alloc_fail(0, 0);
	for (int i = 0; i < 10000; i++) {
		(void)cop_change_add(change, 0.5);
		assert_true(cop_change_width(change) <= 3 * 15);
	}
	assert_true(cop_change_width(change) > 30);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_change_free(change);
}

/* As the header has them. */
static void test_defaults_are_as_documented(void **state)
{
	(void)state;
	cop_change_settings s;
	memset(&s, 0xff, sizeof s);
	cop_change_defaults(&s);
	assert_string_equal(s.detector, "adwin");
	assert_int_equal(s.quiet, 1000);
	assert_true(s.delta == 0.002);
	assert_int_equal(s.buckets, 5);
	assert_int_equal(s.rows, 20);
	assert_int_equal(s.every, 32);
	assert_true(s.tolerance == 0.05);
	assert_true(s.threshold == 25.0);
	assert_int_equal(s.burn_in, 100);
}

static void test_odd_losses_are_clamped_or_passed_over(void **state)
{
	(void)state;
	for (size_t d = 0; d < 2; d++) {
		cop_change *change = made(names[d]);
		assert_true(cop_change_mean(change) == 0.0);
		assert_int_equal(cop_change_add(change, (double)NAN), COP_CHANGE_NONE);
		assert_int_equal(cop_change_width(change), 0);
		(void)cop_change_add(change, (double)INFINITY);
		(void)cop_change_add(change, -3.0);
		assert_true(cop_change_width(change) == 2 && cop_change_mean(change) == 0.5);
		cop_change_free(change);
	}
}

static void test_wrong_settings_and_lack_of_memory_are_told(void **state)
{
	(void)state;
	cop_change_settings s;
	cop_change *change;
	cop_change_defaults(&s);
	assert_int_equal((strcpy(s.detector, "oracle"), cop_change_new(&s, &change)), COP_ENOTFOUND);
	memset(s.detector, 'a', sizeof s.detector);
	assert_int_equal(cop_change_new(&s, &change), COP_ENOTFOUND);
	const struct {
		double *of, beyond, within;
	} ends[] = { { &s.delta, 0.0, 1e-300 }, { &s.delta, 1.0, 0.999 }, { &s.tolerance, -1e-300, 0.0 },
		{ &s.tolerance, 1.001, 1.0 }, { &s.threshold, 0.0, 1e-300 }, { &s.threshold, 1.001e12, 1e12 } };
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		cop_change_defaults(&s);
		assert_int_equal((*ends[i].of = (double)NAN, cop_change_new(&s, &change)), COP_ENONFINITE);
		assert_int_equal((*ends[i].of = ends[i].beyond, cop_change_new(&s, &change)), COP_EINVAL);
		assert_null(change);
		assert_int_equal((*ends[i].of = ends[i].within, cop_change_new(&s, &change)), COP_OK);
		cop_change_free(change);
	}
	const struct {
		uint32_t buckets, rows, every;
		cop_err err;
	} sizes[] = { { 1, 20, 32, COP_EINVAL }, { 2, 1, 1, COP_OK }, { 5, 0, 32, COP_EINVAL },
		{ 5, 20, 0, COP_EINVAL }, { COP_CHANGE_MAX_BUCKETS, COP_CHANGE_MAX_ROWS, 32, COP_OK },
		{ COP_CHANGE_MAX_BUCKETS + 1, 20, 32, COP_EINVAL }, { 5, COP_CHANGE_MAX_ROWS + 1, 32, COP_EINVAL } };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		cop_change_defaults(&s);
		s.buckets = sizes[i].buckets;
		s.rows = sizes[i].rows;
		s.every = sizes[i].every;
		assert_int_equal(cop_change_new(&s, &change), sizes[i].err);
		cop_change_free(change);
	}
	for (size_t d = 0; d < 2; d++)
		for (unsigned long n = 1;; n++) {
			cop_change_defaults(&s);
			strcpy(s.detector, names[d]);
			cop_test_alloc_fail(n, 0);
			cop_err err = cop_change_new(&s, &change);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			cop_change_free(change);
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
		}
}

/* In place: what was there is overwritten, nothing is allocated, and other settings are refused. */
static void test_loaded_into_another_gives_the_same(void **state)
{
	(void)state;
	for (size_t d = 0; d < 2; d++) {
		cop_change *change = made(names[d]), *other = made(names[d]), *wrong = made(names[1 - d]);
		cop_bytes bytes, again;
		cop_cursor in;
		cop_rng rng;
		cop_rng_init(&rng, 6, d);
		cop_bytes_init(&bytes);
		cop_bytes_init(&again);
		for (int i = 0; i < 3000; i++) {
			(void)cop_change_add(change, bernoulli(&rng, i < 2000 ? 0.2 : 0.7));
			(void)cop_change_add(other, bernoulli(&rng, i < 1000 ? 0.9 : 0.4));
		}
		cop_change_save(change, &bytes);
		cop_test_alloc_fail(0, 0);
		cop_cursor_init(&in, bytes.data, bytes.length);
		assert_int_equal(cop_change_load_into(other, &in), COP_OK);
		assert_int_equal(cop_cursor_left(&in), 0);
		cop_cursor_init(&in, bytes.data, bytes.length);
		assert_int_equal(cop_change_load_into(wrong, &in), COP_ESHAPE);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_change_save(other, &again);
		assert_int_equal(bytes.length, again.length);
		assert_memory_equal(bytes.data, again.data, bytes.length);
		for (size_t cut = 0; cut < bytes.length; cut++) {
			cop_cursor_init(&in, bytes.data, cut);
			assert_int_not_equal(cop_change_load_into(other, &in), COP_OK);
		}
		cop_bytes_fini(&bytes);
		cop_bytes_fini(&again);
		cop_change_free(change);
		cop_change_free(other);
		cop_change_free(wrong);
	}
}

/* Rows of two buckets each: the last one drops its oldest when it has three. */
static void test_adwin_drops_one_bucket_when_its_rows_are_full(void **state)
{
	(void)state;
	cop_change_settings s;
	cop_change *change;
	cop_change_defaults(&s);
	s.buckets = 2;
	s.rows = 2;
	assert_int_equal(cop_change_new(&s, &change), COP_OK);
	for (unsigned i = 0, ones = 0, twos = 0; i < 50; i++) {
		(void)cop_change_add(change, 0.5);
		if (++ones > 2) {
			ones -= 2;
			twos += twos < 2;
		}
		assert_int_equal(cop_change_width(change), ones + 2 * twos);
	}
	cop_change_free(change);
}

/* The alarm that the last of `before` zeros and `after` ones raises. */
static cop_change_alarm step_of(size_t before, size_t after, uint64_t *width)
{
	cop_change_settings s;
	cop_change *change;
	cop_change_alarm alarm = COP_CHANGE_NONE;
	cop_change_defaults(&s);
	s.buckets = 32; /* each loss has one */
	s.quiet = 0;
	s.delta = 0.999;
	s.every = (uint32_t)(before + after);
	assert_int_equal(cop_change_new(&s, &change), COP_OK);
	for (size_t i = 0; i < before + after; i++)
		alarm = cop_change_add(change, i < before ? 0.0 : 1.0);
	*width = cop_change_width(change);
	cop_change_free(change);
	return alarm;
}

static void test_adwin_cuts_parts_of_five_losses_and_of_no_fewer(void **state)
{
	(void)state;
	uint64_t width;
	assert_int_equal(step_of(5, 5, &width), COP_CHANGE_RISE);
	assert_int_equal(width, 5);
	assert_int_equal(step_of(20, 4, &width), COP_CHANGE_RISE);
	assert_int_equal(width, 5); /* though 4 differ more */
	assert_int_equal(step_of(4, 20, &width), COP_CHANGE_RISE);
	assert_int_equal(width, 19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_as_documented),
		cmocka_unit_test(test_adwin_equals_a_version_that_keeps_every_loss),
		cmocka_unit_test(test_stationary_streams_raise_alarms_as_seldom_as_delta_says),
		cmocka_unit_test(test_abrupt_changes_are_found_once_and_soon),
		cmocka_unit_test(test_slow_drift_is_found_and_is_one_change),
		cmocka_unit_test(test_saved_and_loaded_gives_the_same_alarms),
		cmocka_unit_test(test_loaded_into_another_gives_the_same),
		cmocka_unit_test(test_bytes_cut_or_changed_are_refused_or_go_on),
		cmocka_unit_test(test_window_is_bounded_and_add_allocates_nothing),
		cmocka_unit_test(test_odd_losses_are_clamped_or_passed_over),
		cmocka_unit_test(test_wrong_settings_and_lack_of_memory_are_told),
		cmocka_unit_test(test_adwin_drops_one_bucket_when_its_rows_are_full),
		cmocka_unit_test(test_adwin_cuts_parts_of_five_losses_and_of_no_fewer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
