/* welford: mean and sum of squares beside two passes over all rows, and the variants bit for bit beside the plain one.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "linalg/welford.h"

#define D    37
#define ROOM 48
#define ROWS 60

_Static_assert(ROOM % COP_WELFORD_ROOM == 0 && ROOM >= D, "room of the columns");

static void draw(cop_rng *rng, size_t d, float x[ROWS][D])
{
	for (size_t i = 0; i < ROWS; i++)
		for (size_t j = 0; j < d; j++)
			x[i][j] = 1000.0F + (float)j * (float)(cop_rng_unit(rng) - 0.5);
}

static void run(cop_welford_add *add, size_t d, float x[ROWS][D], double *mean, double *m2)
{
	double rows[ROOM] = { 0.0 };
	memset(mean, 0, ROOM * sizeof *mean);
	memset(m2, 0, ROOM * sizeof *m2);
	float *row = malloc(d * sizeof *row); /* no byte beyond it */
	for (size_t i = 0; i < ROWS; i++) {
		memcpy(row, x[i], d * sizeof *row);
		add(d, row, rows, mean, m2);
	}
	free(row);
	for (size_t j = 0; j < d; j++)
		assert_true(rows[j] == ROWS);
}

static void test_welford_beside_two_passes(void **state)
{
	(void)state;
	static float x[ROWS][D];
	double mean[ROOM], m2[ROOM], other_mean[ROOM], other_m2[ROOM];
	cop_rng rng;
	cop_rng_init(&rng, 9, 0);
	printf("seed 9\n");
	for (size_t d = 1; d <= D; d++) {
		draw(&rng, d, x);
		run(cop_welford_plain(), d, x, mean, m2);
		run(cop_welford_best(), d, x, other_mean, other_m2);
		assert_memory_equal(mean, other_mean, sizeof mean);
		assert_memory_equal(m2, other_m2, sizeof m2);
		for (size_t j = 0; j < ROOM; j++) {
			double sum = 0.0, squares = 0.0;
			for (size_t i = 0; i < ROWS && j < d; i++)
				sum += (double)x[i][j] / ROWS;
			for (size_t i = 0; i < ROWS && j < d; i++)
				squares += ((double)x[i][j] - sum) * ((double)x[i][j] - sum);
			assert_true(fabs(mean[j] - sum) <= 1e-12 * 1000.0);
			assert_true(fabs(m2[j] - squares) <= 1e-9 * (1.0 + squares));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_welford_beside_two_passes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
