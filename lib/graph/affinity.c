/* With t = (d2 - nearest d2) / (farthest d2 - nearest d2) in [0, 1], S = sum exp(-b t), the entropy is
 * log S + b E[t], and falls with log b by b^2 Var[t]. Newton's method on log b, within brackets that always hold the
 * root and are halved when it leaves them. Bounds of log b: at the lower one the entropy is log k to the last bit; at
 * the upper one even distances that differ in the last place of the smallest numbers have parted. */
#include "graph/affinity.h"

#include <math.h>

#define POINTS     ((size_t)1024) /* of a task */
#define LOG_LEAST  (-40.0)
#define LOG_MOST   300.0
#define MOST_STEPS 200
#define CLOSE      1e-10 /* of the entropy */
#define MOST_SHARE 0.99  /* of k, for the perplexity */

typedef struct affinity {
	const cop_neighbours *neighbours;
	double perplexity;
	float *weight;
} affinity;

/* k distances, ascending; d[0] < d[k - 1]. */
typedef struct point {
	const float *d;
	size_t k;
	double first, width;
} point;

static double place(const point *p, size_t i) { return ((double)p->d[i] - p->first) / p->width; }

/* The entropy at b; *slope its derivative by log b, *sum the sum of exp. */
static double entropy(const point *p, double b, double *slope, double *sum)
{
	double s = 1.0, first = 0.0, second = 0.0; /* the nearest is at t = 0 */
	for (size_t i = 1; i < p->k; i++) {
		double t = place(p, i), bt = b * t;
		double e = exp(-bt);
		s += e;
		first += e > 0.0 ? e * bt : 0.0;
		second += e > 0.0 ? e * bt * bt : 0.0;
	}
	double mean = first / s;
	*slope = -(second / s - mean * mean);
	*sum = s;
	return log(s) + mean;
}

static double solve(const point *p, double target)
{
	double low = LOG_LEAST, high = LOG_MOST, at = 0.0;
	for (int step = 0; step < MOST_STEPS && high - low > 1e-13; step++) {
		double slope, sum;
		double excess = entropy(p, exp(at), &slope, &sum) - target;
		if (fabs(excess) < CLOSE)
			break;
		if (excess > 0.0)
			low = at;
		else
			high = at;
		double next = slope < 0.0 ? at - excess / slope : low;
		/* Far off it would creep along a flat side, or leap off it. */
		at = next > low && next < high && fabs(next - at) < 4.0 ? next : 0.5 * (low + high);
	}
	return exp(at);
}

static void share_evenly(size_t among, size_t k, float *weight)
{
	for (size_t i = 0; i < k; i++)
		weight[i] = i < among ? (float)(1.0 / (double)among) : 0.0f;
}

static void point_weights(const float *d, size_t k, double perplexity, float *weight)
{
	size_t finite = k, nearest = 0;
	while (finite > 0 && !isfinite(d[finite - 1]))
		finite--;
	while (nearest < finite && d[nearest] <= d[0])
		nearest++;
	if (perplexity > MOST_SHARE * (double)finite)
		perplexity = MOST_SHARE * (double)finite;
	/* However narrow, those that are nearest share evenly. */
	if (finite == 0 || nearest == finite || perplexity <= (double)nearest) {
		share_evenly(finite == 0 ? k : nearest, k, weight);
		return;
	}
	point p = { .d = d, .k = finite, .first = (double)d[0], .width = (double)d[finite - 1] - (double)d[0] };
	double slope, sum;
	double b = solve(&p, log(perplexity));
	(void)entropy(&p, b, &slope, &sum);
	for (size_t i = 0; i < k; i++)
		weight[i] = i < finite ? (float)(exp(-b * place(&p, i)) / sum) : 0.0f;
}

static cop_err some_points(void *context, size_t task, unsigned worker)
{
	const affinity *a = context;
	size_t n = a->neighbours->n, k = a->neighbours->k;
	(void)worker;
	for (size_t i = task * POINTS; i < n && i < (task + 1) * POINTS; i++)
		point_weights(a->neighbours->distance2 + i * k, k, a->perplexity, a->weight + i * k);
	return COP_OK;
}

cop_err cop_affinity_entropic(const cop_neighbours *neighbours, double perplexity, cop_pool *pool, float *weight)
{
	if (!isfinite(perplexity) || perplexity < 1.0)
		return COP_EINVAL;
	affinity a = { .neighbours = neighbours, .perplexity = perplexity, .weight = weight };
	return cop_pool_run(pool, (neighbours->n + POINTS - 1) / POINTS, some_points, &a);
}
