/* Losses are summed in double; gradients leave as floats, as the networks take them. */
#include "train/row_loss.h"

#include <math.h>

double cop_row_loss_cross_entropy(size_t outputs, uint32_t label, const float *f, float *g)
{
	float top = f[0];
	double sum = 0.0;
	for (size_t i = 1; i < outputs; i++)
		top = f[i] > top ? f[i] : top;
	size_t k = 0;
	do {
		g[k] = expf(f[k] - top);
		sum += (double)g[k];
	} while (++k < outputs);
	float scale = (float)(1.0 / sum);
	for (k = 0; k < outputs; k++)
		g[k] *= scale;
	g[label] -= 1.0f;
	return log(sum) - (double)(f[label] - top);
}

double cop_row_loss_squared(size_t outputs, const float *y, const float *f, float *g)
{
	double sum = 0.0, share = 1.0 / (double)outputs;
	for (size_t k = 0; k < outputs; k++) {
		double error = (double)f[k] - (double)y[k];
		sum += error * error;
		g[k] = (float)(2.0 * error * share);
	}
	return sum * share;
}
