/* What surfaces learn, in any unit; that a saved one goes on to the bit, and that what is hostile spoils none. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "learn/surface.h"

#define D      4 /* the last is the constant */
#define PLACES 16

static cop_surface *surface_new(size_t inputs)
{
	cop_surface *surface;
	assert_int_equal(cop_surface_new(cop_kernel_best(), inputs, &surface), COP_OK);
	return surface;
}

/* |z - .5 tanh(x_0 + x_1)|, an edge that the context moves. */
static double truth(const float *x, double z) { return fabs(z - 0.5 * tanh((double)x[0] + (double)x[1])); }

static void draw(float *x, cop_rng *rng)
{
	for (size_t i = 0; i + 1 < D; i++)
		x[i] = (float)cop_rng_normal(rng);
	x[D - 1] = 1.0f;
}

static void teach(cop_surface *surface, cop_rng *rng, size_t events, double scale, double shift)
{
	for (size_t i = 0; i < events; i++) {
		float x[D];
		draw(x, rng);
		double z = 2.0 * cop_rng_unit(rng) - 1.0;
		cop_surface_learn(surface, x, z, scale * (truth(x, z) + 0.1 * cop_rng_normal(rng)) + shift);
	}
}

static double squared_error(cop_surface *surface)
{
	double sum = 0.0;
	cop_rng rng;
	cop_rng_init(&rng, 8, 1);
	for (size_t i = 0; i < 500; i++) {
		float x[D], z[PLACES], loss[PLACES];
		draw(x, &rng);
		for (size_t k = 0; k < PLACES; k++)
			z[k] = (float)(2.0 * cop_rng_unit(&rng) - 1.0);
		cop_surface_predict(surface, x, PLACES, z, loss);
		for (size_t k = 0; k < PLACES; k++)
			sum += pow((double)loss[k] - truth(x, (double)z[k]), 2.0);
	}
	return sum / (500.0 * PLACES);
}

static void test_an_edge_that_the_context_moves_is_learned(void **state)
{
	(void)state;
	cop_surface *surface = surface_new(D);
	cop_rng rng;
	cop_rng_init(&rng, 4, 1);
	double before = squared_error(surface);
	teach(surface, &rng, 8000, 1.0, 0.0);
	double after = squared_error(surface);
	print_message("squared error %.4f to %.5f\n", before, after);
	assert_true(before > 0.05 && after < 0.002); /* the best plane misses by .06, the best parabola by .004 */
	cop_surface_free(surface);
}

static void test_unit_of_losses_does_not_matter(void **state)
{
	(void)state;
	cop_surface *one = surface_new(D), *other = surface_new(D);
	const float x[D] = { 0.5f, -1.0f, 0.2f, 1.0f };
	float z[PLACES], a[PLACES], b[PLACES];
	cop_rng rng, same;
	for (size_t k = 0; k < PLACES; k++)
		z[k] = (float)k / PLACES;
	cop_surface_predict(one, x, PLACES, z, a);
	for (size_t k = 0; k < PLACES; k++)
		assert_true(a[k] == 0.5f); /* nothing was told */
	cop_rng_init(&rng, 5, 1);
	same = rng;
	teach(one, &rng, 300, 1.0, 0.0);
	teach(other, &same, 300, 0x1p20, 0.0);
	cop_surface_predict(one, x, PLACES, z, a);
	cop_surface_predict(other, x, PLACES, z, b);
	for (size_t k = 0; k < PLACES; k++)
		assert_true(a[k] * 0x1p20f == b[k]);
	cop_surface_free(one);
	cop_surface_free(other);
}

/* More events than are kept, so that places are taken. */
static void test_saved_surface_goes_on_and_cut_ones_are_refused(void **state)
{
	(void)state;
	cop_surface *surface = surface_new(D), *again = surface_new(D), *fewer = surface_new(D - 1);
	cop_bytes bytes = { 0 }, later = { 0 };
	cop_cursor cursor;
	cop_rng rng, same;
	cop_rng_init(&rng, 6, 1);
	teach(surface, &rng, 8500, 1.0, 3.0);
	cop_surface_save(surface, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_surface_load(again, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_surface_load(fewer, &cursor), COP_ESHAPE);
	same = rng;
	teach(surface, &rng, 50, 1.0, 3.0);
	teach(again, &same, 50, 1.0, 3.0);
	cop_bytes_clear(&bytes);
	cop_surface_save(surface, &bytes);
	cop_surface_save(again, &later);
	assert_int_equal(bytes.length, later.length);
	assert_memory_equal(bytes.data, later.data, bytes.length);
	for (size_t cut = 0; cut < bytes.length; cut += 1 + bytes.length / 200) {
		cop_cursor_init(&cursor, bytes.data, cut);
		assert_int_not_equal(cop_surface_load(again, &cursor), COP_OK);
	}
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&later);
	cop_surface_free(surface);
	cop_surface_free(again);
	cop_surface_free(fewer);
}

static cop_surface *widened(const cop_surface *surface, size_t inputs)
{
	cop_bytes bytes = { 0 };
	cop_cursor cursor;
	cop_surface *more = surface_new(inputs);
	cop_surface_save(surface, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_surface_load(more, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	cop_bytes_fini(&bytes);
	return more;
}

/* Learned the same way, one with the inputs from its beginning and 0 all along, and one that got them after. */
static void test_further_inputs_change_nothing_until_they_come(void **state)
{
	(void)state;
	enum { MORE = 7 };
	cop_surface *late = surface_new(D), *early = widened(late, D + MORE);
	cop_rng rng;
	cop_rng_init(&rng, 14, 1);
	for (size_t i = 0; i < 800; i++) {
		float x[D], wide[D + MORE] = { 0 }, z[PLACES], a[PLACES], b[PLACES];
		draw(x, &rng);
		memcpy(wide, x, sizeof x);
		wide[D - 1] = 0.0f;
		wide[D + MORE - 1] = 1.0f;
		if (i == 400) {
			cop_surface *grown = widened(late, D + MORE);
			cop_surface_free(late);
			late = grown;
		}
		for (size_t k = 0; k < PLACES; k++)
			z[k] = (float)k / PLACES;
		cop_surface_predict(late, i < 400 ? x : wide, PLACES, z, a);
		cop_surface_predict(early, wide, PLACES, z, b);
		for (size_t k = 0; k < PLACES; k++)
			assert_true(fabsf(a[k] - b[k]) < 1e-3f);
		const double at = 2.0 * cop_rng_unit(&rng) - 1.0, loss = truth(x, at);
		cop_surface_learn(late, i < 400 ? x : wide, at, loss);
		cop_surface_learn(early, wide, at, loss);
	}
	cop_surface_free(late);
	cop_surface_free(early);
}

/* There is less room for events of more inputs: the last ones stay, which all have their own loss here. */
static void test_events_that_have_no_room_go(void **state)
{
	(void)state;
	enum { FEW = 40, MANY = COP_SURFACE_MOST_INPUTS, KEPT = 8000, ROOM = (2 << 20) / (4 * (MANY + 2)) };
	cop_surface *surface = surface_new(FEW);
	cop_bytes bytes = { 0 };
	cop_cursor cursor;
	float x[FEW];
	for (size_t i = 0; i < KEPT; i++) {
		for (size_t j = 0; j < FEW; j++)
			x[j] = (float)(i + j);
		cop_surface_learn(surface, x, 0.5, (double)i);
	}
	cop_surface *more = widened(surface, MANY);
	cop_surface_save(more, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	(void)cop_cursor_take(&cursor, 2 * sizeof(uint64_t));
	assert_int_equal(cop_cursor_u64(&cursor), ROOM);
	const size_t rows = (size_t)ROOM * (MANY + 2) * sizeof(float);
	(void)cop_cursor_take(&cursor, cop_cursor_left(&cursor) - rows);
	for (size_t i = KEPT - ROOM; i < KEPT; i++)
		for (size_t j = 0; j < MANY; j++) {
			const float wanted = j == MANY - 1 ? (float)(i + FEW - 1) : j < FEW - 1 ? (float)(i + j) : 0.0f;
			assert_true(cop_cursor_f32(&cursor) == wanted);
		}
	(void)cop_cursor_take(&cursor, ROOM * sizeof(float));
	for (size_t i = KEPT - ROOM; i < KEPT; i++)
		assert_true(cop_cursor_f32(&cursor) == (float)i);
	cop_bytes_fini(&bytes);
	cop_surface_free(surface);
	cop_surface_free(more);
}

static void test_huge_losses_and_inputs_leave_numbers(void **state)
{
	(void)state;
	cop_surface *surface = surface_new(D);
	cop_rng rng;
	cop_rng_init(&rng, 7, 1);
	for (size_t i = 0; i < 400; i++) {
		float x[D], z = 0.3f, loss;
		draw(x, &rng);
		x[i % D] = i % 3 == 0 ? 1e15f : x[i % D];
		cop_surface_learn(surface, x, 0.3, i % 2 == 0 ? 1e15 : -1e15);
		draw(x, &rng);
		cop_surface_predict(surface, x, 1, &z, &loss);
		assert_true(isfinite(loss));
	}
	cop_surface_free(surface);
}

static void test_a_loss_that_never_changes_is_predicted(void **state)
{
	(void)state;
	cop_surface *surface = surface_new(D);
	cop_rng rng;
	cop_rng_init(&rng, 9, 1);
	float x[D], z[2] = { -1.0f, 1.0f }, loss[2];
	for (size_t i = 0; i < 2000; i++) {
		draw(x, &rng);
		cop_surface_learn(surface, x, 2.0 * cop_rng_unit(&rng) - 1.0, 7.0);
	}
	cop_surface_predict(surface, x, 2, z, loss);
	assert_true(fabsf(loss[0] - 7.0f) < 0.2f && fabsf(loss[1] - 7.0f) < 0.2f);
	cop_surface_free(surface);
}

static void test_sizes_that_are_out_of_range_are_refused(void **state)
{
	(void)state;
	cop_surface *surface;
	assert_int_equal(cop_surface_new(cop_kernel_best(), 0, &surface), COP_EINVAL);
	assert_int_equal(cop_surface_new(cop_kernel_best(), COP_SURFACE_MOST_INPUTS + 1, &surface), COP_EINVAL);
	assert_null(surface);
	cop_surface_free(surface_new(COP_SURFACE_MOST_INPUTS));
	assert_true(cop_surface_footprint(D) > 8192.0 * (D + 2) * sizeof(float));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_edge_that_the_context_moves_is_learned),
		cmocka_unit_test(test_unit_of_losses_does_not_matter),
		cmocka_unit_test(test_saved_surface_goes_on_and_cut_ones_are_refused),
		cmocka_unit_test(test_further_inputs_change_nothing_until_they_come),
		cmocka_unit_test(test_events_that_have_no_room_go),
		cmocka_unit_test(test_huge_losses_and_inputs_leave_numbers),
		cmocka_unit_test(test_a_loss_that_never_changes_is_predicted),
		cmocka_unit_test(test_sizes_that_are_out_of_range_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
