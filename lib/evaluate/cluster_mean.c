/* A count that is full stays, and its cluster takes nothing more: the others go on. */
#include "evaluate/cluster_mean.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"

#define SPREAD   0.01 /* variance of the mixture over differences */
#define LEAST    10.0 /* effective clusters from which on the normal boundary holds */
#define WIDER    5.0
#define HALVINGS 48
#define SLACK    1e-6 /* of rounding, in sums */

void cop_cluster_mean_add(cop_cluster_mean *mean, unsigned cluster, double value)
{
	COP_ASSERT(cluster < COP_CLUSTERS);
	if (mean->count[cluster] == UINT32_MAX)
		return;
	mean->count[cluster]++;
	mean->sum[cluster] += value;
}

uint64_t cop_cluster_mean_count(const cop_cluster_mean *mean)
{
	uint64_t count = 0;
	for (size_t c = 0; c < COP_CLUSTERS; c++)
		count += mean->count[c];
	return count;
}

/* What the clusters add up to: values, their losses and the rest, the squares of each, and values of clusters that have
 * any loss, or any rest. */
typedef struct totals {
	double n, s, nn, ss, rr, with_loss, with_rest;
} totals;

static totals add_up(const cop_cluster_mean *mean)
{
	totals t = { 0 };
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		double n = (double)mean->count[c], s = mean->sum[c], r = fmax(n - s, 0.0);
		t.n += n;
		t.s += s;
		t.nn += n * n;
		t.ss += s * s;
		t.rr += r * r;
		t.with_loss += s > 0.0 ? n : 0.0;
		t.with_rest += r > 0.0 ? n : 0.0;
	}
	return t;
}

static double effective(double sum, double squares) { return squares > 0.0 ? sum * sum / squares : 0.0; }

double cop_cluster_mean_effective(const double w[COP_CLUSTERS])
{
	double sum = 0.0, squares = 0.0;
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		sum += w[c];
		squares += w[c] * w[c];
	}
	return effective(sum, squares);
}

static double boundary(double v, double risk)
{
	if (v <= 0.0)
		return 0.0;
	return sqrt(v * (v + SPREAD) / SPREAD * (log((v + SPREAD) / v) + 2.0 * log(0.5 / risk)));
}

double cop_cluster_mean_radius(const double n[COP_CLUSTERS], const double s[COP_CLUSTERS], double clusters, double risk)
{
	double all = 0.0, sum = 0.0, squares = 0.0;
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		all += n[c];
		sum += s[c];
	}
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		double left = s[c] - sum / all * n[c];
		squares += left * left;
	}
	return clusters < LEAST ? (double)INFINITY : boundary(squares / (all * all) * (1.0 + WIDER / clusters), risk);
}

static double divergence(double p, double q)
{
	double of_p = p > 0.0 ? p * log(p / q) : 0.0;
	return of_p + (p < 1.0 ? (1.0 - p) * log((1.0 - p) / (1.0 - q)) : 0.0);
}

/* The largest share that is not too far from the one seen. */
static double most_share(double seen, double clusters, double risk)
{
	double low = fmin(seen, 1.0), high = 1.0, far = log((1.0 + clusters) / risk) / clusters;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		double middle = 0.5 * (low + high);
		if (divergence(seen, middle) > far)
			high = middle;
		else
			low = middle;
	}
	return high;
}

void cop_cluster_mean_bounds(const cop_cluster_mean *mean, double risk, double *low, double *high)
{
	const totals t = add_up(mean);
	double n[COP_CLUSTERS];
	double visits = effective(t.n, t.nn);
	*low = 0.0;
	*high = 1.0;
	if (visits < 2.0)
		return;
	double least = fmin(visits, fmin(effective(t.s, t.ss), effective(t.n - t.s, t.rr)));
	if (least >= LEAST) {
		for (size_t c = 0; c < COP_CLUSTERS; c++)
			n[c] = (double)mean->count[c];
		double wide = cop_cluster_mean_radius(n, mean->sum, least, risk);
		*low = fmax(t.s / t.n - wide, 0.0);
		*high = fmin(t.s / t.n + wide, 1.0);
		return;
	}
	*low = 1.0 - most_share(t.with_rest / t.n, visits, risk);
	*high = most_share(t.with_loss / t.n, visits, risk);
}

void cop_cluster_mean_save(const cop_cluster_mean *mean, cop_bytes *out)
{
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		cop_bytes_put_u32(out, mean->count[c]);
		cop_bytes_put_f64(out, mean->sum[c]);
	}
}

void cop_cluster_mean_load(cop_cluster_mean *mean, cop_cursor *in)
{
	memset(mean, 0, sizeof *mean);
	for (size_t c = 0; c < COP_CLUSTERS && in->err == COP_OK; c++) {
		mean->count[c] = cop_cursor_u32(in);
		mean->sum[c] = cop_cursor_f64(in);
		double most = (double)mean->count[c] * (1.0 + SLACK);
		if (in->err == COP_OK && !(mean->sum[c] >= 0.0 && mean->sum[c] <= most))
			in->err = COP_EFORMAT;
	}
}
