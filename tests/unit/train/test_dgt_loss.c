/* Losses of one row by hand, and their gradients against differences of the losses. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "train/dgt_loss.h"

#define K 4

static const uint32_t label[] = { 3, 1 };
static const float target[2 * K] = { 9, 9, 9, 9, 0.5f, -0.25f, 2.0f, 0.75f };
static const cop_sample sample = { .outputs = K, .label = label, .target = target };

static double half_square(double error, double delta)
{
	return fabs(error) <= delta ? 0.5 * error * error : delta * (fabs(error) - 0.5 * delta);
}

/* Of row 1. */
static double plain(const cop_dgt_fit_settings *s, const float *f)
{
	double sum = 0.0;
	for (size_t k = 0; k < K; k++) {
		double error = (double)f[k] - (double)target[K + k];
		if (s->loss == COP_DGT_CROSS_ENTROPY)
			sum += exp((double)f[k]);
		else
			sum += s->loss == COP_DGT_SQUARED ? error * error : half_square(error, s->huber);
	}
	return s->loss == COP_DGT_CROSS_ENTROPY ? log(sum) - (double)f[label[1]] : sum / K;
}

static void check(const cop_dgt_fit_settings *s, const float *f)
{
	float g[K], unused[K], moved[K];
	assert_true(fabs(cop_dgt_loss_row(s, &sample, 1, f, g) - plain(s, f)) < 1e-5);
	for (size_t k = 0; k < K; k++) {
		memcpy(moved, f, sizeof moved);
		moved[k] = f[k] + 0x1p-7f;
		double up = cop_dgt_loss_row(s, &sample, 1, moved, unused);
		moved[k] = f[k] - 0x1p-7f;
		double slope = (up - cop_dgt_loss_row(s, &sample, 1, moved, unused)) * 0x1p6;
		assert_true(fabs(slope - (double)g[k]) < 2e-4);
	}
}

static void test_loss_and_gradient_are_those_by_hand(void **state)
{
	(void)state;
	static const float f[][K] = { { 0, 0, 0, 0 }, { 1.0f, -2.0f, 0.5f, 3.0f }, { 0.45f, -0.2f, 2.15f, 0.5f },
		{ 2.0f, 1.0f, -1.0f, 0.75f } };
	for (unsigned loss = COP_DGT_CROSS_ENTROPY; loss <= COP_DGT_HUBER; loss++)
		for (size_t i = 0; i < sizeof f / sizeof *f; i++) {
			const cop_dgt_fit_settings s = { .loss = (cop_dgt_loss)loss, .huber = 0.4 };
			check(&s, f[i]);
		}
}

static void test_cross_entropy_of_large_scores_is_finite(void **state)
{
	(void)state;
	const cop_dgt_fit_settings s = { .loss = COP_DGT_CROSS_ENTROPY };
	const float f[K] = { 1000.0f, 400.0f, -1000.0f, 0.0f };
	float g[K];
	assert_true(cop_dgt_loss_row(&s, &sample, 1, f, g) == 600.0);
	assert_true(g[0] == 1.0f && g[1] == -1.0f && g[2] == 0.0f && g[3] == 0.0f);
}

static double twice_row(void *context, size_t row, const float *f, float *g)
{
	*g = *(const float *)context;
	return 2.0 * (double)row + (double)*f;
}

static void test_custom_loss_is_asked_with_its_context(void **state)
{
	(void)state;
	float seven = 7.0f, g[K] = { 0 };
	const float f[K] = { 0.5f };
	const cop_dgt_fit_settings s = { .loss = COP_DGT_CUSTOM, .custom = twice_row, .custom_context = &seven };
	assert_true(cop_dgt_loss_row(&s, &sample, 21, f, g) == 42.5);
	assert_true(g[0] == 7.0f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss_and_gradient_are_those_by_hand),
		cmocka_unit_test(test_cross_entropy_of_large_scores_is_finite),
		cmocka_unit_test(test_custom_loss_is_asked_with_its_context),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
