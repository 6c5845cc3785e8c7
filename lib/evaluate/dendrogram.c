/* count[t][c] becomes the points of class c at or below node t, from the last node to the first, and below[t][c] the
 * pairs of them within one child. All other pairs of a node meet at it. */
#include "evaluate/dendrogram.h"

#include <math.h>
#include <stdbool.h>

#include "base/mem.h"

static bool ranges_hold(
        size_t nodes, const uint32_t *parent, size_t n, const uint32_t *place, const uint32_t *label, size_t classes)
{
	if (nodes == 0 || classes == 0)
		return false;
	for (size_t t = 1; t < nodes; t++)
		if (parent[t] >= t)
			return false;
	for (size_t i = 0; i < n; i++)
		if (place[i] >= nodes || label[i] >= classes)
			return false;
	return true;
}

static double pairs(double n) { return 0.5 * n * (n - 1.0); }

/* The pairs that meet at node t, and those under it for its parent. */
static void meet(size_t t, size_t parent, size_t classes, double *count, double *below, double *met, double *pure)
{
	const double *own = count + t * classes;
	double all = 0.0;
	for (size_t c = 0; c < classes; c++)
		all += own[c];
	for (size_t c = 0; c < classes; c++) {
		const double here = pairs(own[c]) - below[t * classes + c];
		*met += here;
		*pure += here > 0.0 ? here * own[c] / all : 0.0;
		if (t == 0)
			continue;
		count[parent * classes + c] += own[c];
		below[parent * classes + c] += pairs(own[c]);
	}
}

cop_err cop_dendrogram_purity(size_t nodes, const uint32_t *parent, size_t n, const uint32_t *place,
        const uint32_t *label, size_t classes, double *out)
{
	size_t cells;
	double met = 0.0, pure = 0.0;
	if (!ranges_hold(nodes, parent, n, place, label, classes))
		return COP_EINVAL;
	if (__builtin_mul_overflow(nodes, classes, &cells))
		return COP_ENOMEM;
	double *count = cop_mem_alloc(cells, sizeof *count), *below = cop_mem_alloc(cells, sizeof *below);
	if (count == NULL || below == NULL) {
		cop_mem_free(count);
		cop_mem_free(below);
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		count[place[i] * classes + label[i]] += 1.0;
	for (size_t t = nodes; t-- > 0;)
		meet(t, parent[t], classes, count, below, &met, &pure);
	*out = met > 0.0 ? pure / met : (double)NAN;
	cop_mem_free(count);
	cop_mem_free(below);
	return COP_OK;
}
