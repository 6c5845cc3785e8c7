/* Each loss writes its gradient while it sums. The cross-entropy subtracts the largest output first, so that no
 * exponential overflows. */
#include "train/dgt_loss.h"

#include <math.h>

#include "base/assert.h"
#include "train/row_loss.h"

static double huber(size_t outputs, double delta, const float *y, const float *f, float *g)
{
	double sum = 0.0, share = 1.0 / (double)outputs;
	for (size_t k = 0; k < outputs; k++) {
		double error = (double)f[k] - (double)y[k], size = fabs(error);
		sum += size <= delta ? 0.5 * error * error : delta * (size - 0.5 * delta);
		g[k] = (float)(share * (size <= delta ? error : copysign(delta, error)));
	}
	return sum * share;
}

double cop_dgt_loss_row(
        const cop_dgt_fit_settings *settings, const cop_sample *sample, size_t row, const float *f, float *g)
{
	size_t outputs = sample->outputs;
	switch (settings->loss) {
	case COP_DGT_CROSS_ENTROPY:
		return cop_row_loss_cross_entropy(outputs, sample->label[row], f, g);
	case COP_DGT_SQUARED:
		return cop_row_loss_squared(outputs, sample->target + row * outputs, f, g);
	case COP_DGT_HUBER:
		return huber(outputs, settings->huber, sample->target + row * outputs, f, g);
	case COP_DGT_CUSTOM:
		return settings->custom(settings->custom_context, row, f, g);
	case COP_DGT_LOSSES:
		break;
	}
	COP_ASSERT(false);
	return 0.0;
}
