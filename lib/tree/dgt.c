/* A walk reads one margin a level: the node's in heap order, of its own lane. */
#include "tree/dgt.h"

#include <math.h>

#include "base/assert.h"

float cop_dgt_agree(double fac) { return (float)(1.0 / (1.0 + exp(-2.0 * fac))); }

void cop_dgt_leaves(unsigned h, size_t m, const float *a, uint32_t *leaf)
{
	COP_ASSERT(h >= 1 && h <= COP_DGT_MAX_HEIGHT);
	uint32_t n = (UINT32_C(1) << h) - 1;
	for (size_t j = 0; j < m; j++) {
		uint32_t t = 0;
		while (t < n)
			t = 2 * t + 1 + (a[t * m + j] >= 0.0f);
		leaf[j] = t - n;
	}
}

size_t cop_dgt_work(unsigned h, size_t m)
{
	COP_ASSERT(h >= 1 && h <= COP_DGT_MAX_HEIGHT);
	return (((size_t)1 << h) - 1) * m;
}
