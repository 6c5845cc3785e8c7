/* How a leaf watches candidate splits and divides. A candidate's feature is drawn blindly for dense rows, among the
 * entries present for sparse ones (absent is 0); it waits there until its feature has shown two values. What came by
 * before goes with the first of them. */
#include <math.h>
#include <string.h>

#include "online/forest_parts.h"

#define EVERY     8    /* events of a leaf between two looks at its candidates, and at least an eighth of those seen */
#define FEWEST    2.0f /* events on either side of a split */
#define INHERIT   0.3f /* share of the parent's evidence that is taken to hold for a child */
#define CHANCE    0.5  /* share of an upper bound of what chance takes from the error */
#define LEAST     0.01 /* added to the variance of losses */
#define FRESH     0.3  /* chance that a candidate whose feature stays the same looks at another one */
#define DUE_NEVER UINT32_MAX

void cop_forest_begin_leaf(cop_forest *f, size_t row)
{
	size_t arms = f->set.arms;
	f->edge[row] = (cop_forest_edge){ .due = EVERY };
	memset(&f->candidate[row * COP_FOREST_CANDIDATES], 0, COP_FOREST_CANDIDATES * sizeof *f->candidate);
	memset(&f->sum[row * arms], 0, arms * sizeof *f->sum);
	memset(&f->right[row * arms * COP_FOREST_CANDIDATES], 0, arms * COP_FOREST_CANDIDATES * sizeof *f->right);
}

static void draw_feature(cop_forest *f, cop_forest_candidate *c, const cop_row *x)
{
	size_t features = f->set.inputs - 1;
	c->state = COP_FOREST_ONE_VALUE;
	if (x->dense != NULL) {
		c->feature = (uint32_t)cop_rng_below(&f->rng, features) & 0x3fffffffu;
		c->threshold = x->dense[c->feature];
		return;
	}
	size_t at = x->nnz == 0 ? 0 : (size_t)cop_rng_below(&f->rng, x->nnz);
	if (x->nnz == 0 || x->index[at] >= features || x->value[at] == 0.0f) {
		c->state = COP_FOREST_BLANK; /* the constant: another row may have more to say */
		return;
	}
	c->feature = x->index[at] & 0x3fffffffu;
	c->threshold = 0.5f * x->value[at];
	c->state = COP_FOREST_READY;
}

/* Between two different values; so that low < threshold <= high. */
static float between(cop_forest *f, float a, float b)
{
	float low = fminf(a, b);
	float high = fmaxf(a, b);
	float share = (float)cop_rng_unit(&f->rng);
	float threshold = low + share * (high - low);
	return threshold > low && threshold <= high ? threshold : high;
}

/* Candidate c of the leaf in `row` sees the feature's value; whether it has a threshold now. */
static bool ready(cop_forest *f, size_t row, size_t which, const cop_row *x)
{
	cop_forest_candidate *c = &f->candidate[row * COP_FOREST_CANDIDATES + which];
	if (c->state == COP_FOREST_READY)
		return true;
	if (c->state == COP_FOREST_BLANK) {
		draw_feature(f, c, x);
		return c->state == COP_FOREST_READY;
	}
	float value = x->dense[c->feature];
	float first = c->threshold;
	if (value == first) {
		if (cop_rng_unit(&f->rng) < FRESH)
			c->state = COP_FOREST_BLANK;
		return false;
	}
	c->threshold = between(f, first, value);
	c->state = COP_FOREST_READY;
	for (size_t k = 0; first >= c->threshold && k < f->set.arms; k++)
		f->right[(row * f->set.arms + k) * COP_FOREST_CANDIDATES + which] = f->sum[row * f->set.arms + k];
	return true;
}

/* What dividing takes from the squared error, over all arms; 0: too few on a side. */
static double gain(const cop_forest *f, size_t row, size_t which)
{
	const cop_forest_sum *sum = &f->sum[row * f->set.arms];
	const cop_forest_sum *right = &f->right[row * f->set.arms * COP_FOREST_CANDIDATES + which];
	double taken = 0.0;
	float on_right = 0.0f;
	for (size_t k = 0; k < f->set.arms; k++) {
		if (sum[k].n <= 0.0f)
			continue;
		float n = right[k * COP_FOREST_CANDIDATES].n;
		float loss = right[k * COP_FOREST_CANDIDATES].loss;
		float other = sum[k].loss - loss;
		on_right += n;
		if (n <= 0.0f || n >= sum[k].n)
			continue;
		taken += (double)(loss * loss / n + other * other / (sum[k].n - n) -
		                  sum[k].loss * sum[k].loss / sum[k].n);
	}
	float seen = (float)f->edge[row].seen;
	return on_right >= FEWEST && on_right <= seen - FEWEST ? taken : 0.0;
}

/* What the best of splits would have to take: splits at random take about variance times a chi-square number with a
 * degree of freedom for each arm that was played twice. */
static double needed(const cop_forest *f, size_t row)
{
	const cop_forest_sum *sum = &f->sum[row * f->set.arms];
	double error = (double)f->edge[row].squares;
	double freedom = 0.0;
	double played = 0.0;
	for (size_t k = 0; k < f->set.arms; k++) {
		if (sum[k].n <= 0.0f)
			continue;
		error -= (double)(sum[k].loss * sum[k].loss / sum[k].n);
		freedom += sum[k].n > 1.5f ? 1.0 : 0.0;
		played += (double)sum[k].n;
	}
	double variance = fmax(error, 0.0) / fmax(played, 1.0) + LEAST;
	return CHANCE * variance * (1.0 + freedom + 2.0 * sqrt(freedom));
}

static bool choose(const cop_forest *f, size_t row, size_t *best)
{
	double most = 0.0;
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++) {
		bool is_ready = f->candidate[row * COP_FOREST_CANDIDATES + c].state == COP_FOREST_READY;
		double taken = is_ready ? gain(f, row, c) : 0.0;
		if (taken > most) {
			most = taken;
			*best = c;
		}
	}
	return most > 0.0 && most >= needed(f, row);
}

static void divide(cop_forest *f, size_t m, uint32_t at, cop_forest_candidate split)
{
	size_t arms = f->set.arms;
	cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
	uint32_t child = 2 * f->leaves[m] - 1;
	uint32_t left = node[at].at;
	uint32_t right = f->leaves[m]++;
	size_t row = m * f->room + left;
	size_t other = m * f->room + right;
	uint32_t depth = node[at].depth + 1;
	memcpy(&f->before[(m * (f->room - 1) + right - 1) * arms], &f->w[row * arms], arms * sizeof *f->w);
	for (size_t k = 0; k < arms; k++) {
		float doubt = f->doubt[row * arms + k];
		f->doubt[row * arms + k] = doubt / (doubt + INHERIT * (1.0f - doubt));
	}
	memcpy(&f->w[other * arms], &f->w[row * arms], arms * sizeof *f->w);
	memcpy(&f->doubt[other * arms], &f->doubt[row * arms], arms * sizeof *f->doubt);
	node[child] = (cop_forest_node){ .at = left, .depth = depth };
	node[child + 1] = (cop_forest_node){ .at = right, .depth = depth };
	node[at].child = child;
	node[at].at = split.feature;
	node[at].threshold = split.threshold;
	cop_forest_begin_leaf(f, row);
	cop_forest_begin_leaf(f, other);
	if (depth >= COP_FOREST_DEPTH)
		f->edge[row].due = f->edge[other].due = DUE_NEVER;
}

void cop_forest_watch(cop_forest *f, size_t m, uint32_t at, const cop_row *x, size_t arm, float loss)
{
	size_t row = m * f->room + f->node[m * cop_forest_nodes(f) + at].at;
	cop_forest_edge *edge = &f->edge[row];
	if (f->leaves[m] >= f->room || edge->due == DUE_NEVER)
		return;
	const cop_forest_candidate *candidate = &f->candidate[row * COP_FOREST_CANDIDATES];
	cop_forest_sum *sum = &f->sum[row * f->set.arms + arm];
	cop_forest_sum *right = &f->right[(row * f->set.arms + arm) * COP_FOREST_CANDIDATES];
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++) {
		if (!ready(f, row, c, x))
			continue;
		float goes = cop_forest_value(f, x, candidate[c].feature) >= candidate[c].threshold ? 1.0f : 0.0f;
		right[c].n += goes;
		right[c].loss += goes * loss;
	}
	sum->n += 1.0f;
	sum->loss += loss;
	edge->squares += loss * loss;
	if (++edge->seen < edge->due)
		return;
	size_t best = 0;
	edge->due = edge->seen + (edge->seen / 8 > EVERY ? edge->seen / 8 : EVERY);
	if (choose(f, row, &best))
		divide(f, m, at, candidate[best]);
}
