/* How a leaf watches candidate splits and divides. A candidate's feature is drawn blindly for dense rows, among the
 * entries present for sparse ones (absent is 0); it waits there until its feature has shown two values. What came by
 * before goes with the first of them. */
#include <math.h>
#include <string.h>

#include "learn/forest_parts.h"

#define EVERY     8    /* events of a leaf between two looks at its candidates, and at least an eighth of those seen */
#define FEWEST    2.0f /* events on either side of a split */
#define INHERIT   0.3f /* share of the parent's evidence that is taken to hold for a child, where no rows tell */
#define CHANCE    0.5  /* share of an upper bound of what chance takes from the error */
#define FREE      16   /* leaves of a tree that need not show that contexts tell anything */
#define FALSELY   0.05 /* chance that noise divides a leaf, however often it is looked at, before they do */
#define LEAST     0.01 /* added to the variance of losses */
#define DRAWS     4    /* times that a new leaf tries to find a split of the rows it knows */
#define FRESH     0.3  /* chance that a candidate whose feature stays the same looks at another one */
#define DUE_NEVER UINT32_MAX
#define ALL_READY ((1u << COP_FOREST_CANDIDATES) - 1)

static bool has(uint8_t set, size_t c) { return ((unsigned)set >> c & 1u) != 0; }

void cop_forest_begin_leaf(cop_forest *f, size_t row, uint16_t depth)
{
	size_t arms = f->set.arms;
	f->edge[row] = (cop_forest_edge){ .due = depth < COP_FOREST_DEPTH ? EVERY : DUE_NEVER, .depth = depth };
	memset(&f->sum[row * arms], 0, arms * sizeof *f->sum);
	memset(&f->right[row * arms], 0, arms * sizeof *f->right);
}

/* Candidate c looks at another feature; sparse: at one that this row has, half its value the threshold. */
static void draw_feature(cop_forest *f, cop_forest_edge *e, size_t c, const cop_row *x)
{
	size_t features = f->set.inputs - 1;
	if (x->dense != NULL) {
		e->feature[c] = (uint32_t)cop_rng_below(&f->rng, features);
		e->threshold[c] = x->dense[e->feature[c]];
		e->one |= (uint8_t)(1u << c);
		return;
	}
	size_t at = x->nnz == 0 ? 0 : (size_t)cop_rng_below(&f->rng, x->nnz);
	if (x->nnz == 0 || x->index[at] >= features || x->value[at] == 0.0f)
		return; /* the constant: another row may have more to say */
	e->feature[c] = x->index[at];
	e->threshold[c] = 0.5f * x->value[at];
	e->ready |= (uint8_t)(1u << c);
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

/* Candidate c of the leaf in `row` sees another row, and may have its threshold then. */
static void prepare(cop_forest *f, size_t row, size_t c, const cop_row *x)
{
	cop_forest_edge *e = &f->edge[row];
	if (!has(e->one, c)) {
		draw_feature(f, e, c, x);
		return;
	}
	float value = x->dense[e->feature[c]];
	float first = e->threshold[c];
	if (value == first) {
		if (cop_rng_unit(&f->rng) < FRESH)
			e->one &= (uint8_t) ~(1u << c);
		return;
	}
	e->threshold[c] = between(f, first, value);
	e->ready |= (uint8_t)(1u << c);
	for (size_t k = 0; first >= e->threshold[c] && k < f->set.arms; k++) {
		f->right[row * f->set.arms + k].n[c] = f->sum[row * f->set.arms + k].n;
		f->right[row * f->set.arms + k].loss[c] = f->sum[row * f->set.arms + k].loss;
	}
}

/* What dividing takes from the squared error, over all arms; 0: too few on a side. */
static double gain(const cop_forest *f, size_t row, size_t c)
{
	const cop_forest_sum *sum = &f->sum[row * f->set.arms];
	const cop_forest_right *right = &f->right[row * f->set.arms];
	double taken = 0.0;
	float on_right = 0.0f;
	for (size_t k = 0; k < f->set.arms; k++) {
		if (sum[k].n <= 0.0f)
			continue;
		float n = right[k].n[c];
		float loss = right[k].loss[c];
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
 * degree of freedom for each arm that was played twice. Once contexts tell of losses, the half of an upper bound does:
 * a false split costs less then than one that comes late. Before (`strict`), Laurent and Massart's bound (2000), its
 * risk shared by the candidates and by all looks there were. */
static double needed(const cop_forest *f, size_t row, bool strict)
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
	if (!strict)
		return CHANCE * variance * (1.0 + freedom + 2.0 * sqrt(freedom));
	double looks = 1.0 + (double)f->edge[row].seen / EVERY;
	double odds = log((double)COP_FOREST_CANDIDATES * looks * (looks + 1.0) / FALSELY);
	return variance * (freedom + 2.0 * sqrt(freedom * odds) + 2.0 * odds);
}

static bool choose(const cop_forest *f, size_t m, size_t row, size_t *best)
{
	double most = 0.0;
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++) {
		double taken = has(f->edge[row].ready, c) ? gain(f, row, c) : 0.0;
		if (taken > most) {
			most = taken;
			*best = c;
		}
	}
	return most > 0.0 && most >= needed(f, row, !f->gate.open && f->leaves[m] >= FREE);
}

/* An arm's event whose row has these values of the candidates' features. */
static void count_right(const cop_forest_edge *e, const float *value, float loss, cop_forest_right *right)
{
	float goes[COP_FOREST_CANDIDATES];
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
		goes[c] = has(e->ready, c) && value[c] >= e->threshold[c] ? 1.0f : 0.0f;
#pragma omp simd
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++) {
		right->n[c] += goes[c];
		right->loss[c] += goes[c] * loss;
	}
}

/* Candidate c's feature and threshold from two of the n rows found: dense. */
static void draw_between(cop_forest *f, cop_forest_edge *e, size_t c, size_t n)
{
	const uint32_t *found = f->rows.found;
	const uint32_t feature = (uint32_t)cop_rng_below(&f->rng, f->set.inputs - 1);
	const float a = cop_forest_rows_value(f, found[cop_rng_below(&f->rng, n)], feature);
	const float b = cop_forest_rows_value(f, found[cop_rng_below(&f->rng, n)], feature);
	if (a == b)
		return;
	e->feature[c] = feature;
	e->threshold[c] = between(f, a, b);
	e->ready |= (uint8_t)(1u << c);
}

/* The same of sparse rows: of one of them, an entry. */
static void draw_present(cop_forest *f, cop_forest_edge *e, size_t c, size_t n)
{
	const cop_row x = cop_forest_rows_at(f, f->rows.found[cop_rng_below(&f->rng, n)]);
	draw_feature(f, e, c, &x);
}

/* A new leaf takes in the rows kept of those that would have ended there, and has its candidates from them. */
static void recall(cop_forest *f, size_t m, size_t row)
{
	const cop_forest_rows *rows = &f->rows;
	cop_forest_edge *e = &f->edge[row];
	const size_t n = cop_forest_rows_find(&f->rows, m, row);
	e->seen = (uint32_t)n;
	for (size_t c = 0; c < COP_FOREST_CANDIDATES && n > 1; c++)
		for (size_t i = 0; i < DRAWS && !has(e->ready, c); i++)
			f->set.entries > 0 ? draw_present(f, e, c, n) : draw_between(f, e, c, n);
	for (size_t i = 0; i < n; i++) {
		const uint32_t known = rows->found[i];
		const size_t of_arm = row * f->set.arms + rows->arm[known];
		const float loss = rows->loss[known];
		float value[COP_FOREST_CANDIDATES];
		cop_forest_rows_values(f, known, e->feature, value);
		count_right(e, value, loss, &f->right[of_arm]);
		f->sum[of_arm].n += 1.0f;
		f->sum[of_arm].loss += loss;
		e->squares += loss * loss;
	}
}

/* The values of one of two leaves that were one: moved by as much as the mean loss of its rows differs from that of
 * both, with the share of the evidence that its rows are. */
static void inherit(const cop_forest *f, size_t row, size_t other)
{
	for (size_t k = 0; k < f->set.arms; k++) {
		const cop_forest_sum own = f->sum[row * f->set.arms + k];
		const cop_forest_sum beside = f->sum[other * f->set.arms + k];
		const float both = own.n + beside.n;
		const float share = both > 0.0f ? own.n / both : INHERIT;
		float *doubt = &cop_forest_doubts(f, row)[k];
		*doubt /= *doubt + share * (1.0f - *doubt);
		if (own.n == 0.0f || beside.n == 0.0f)
			continue;
		const float by = own.n / (own.n + 1.0f) * (own.loss / own.n - (own.loss + beside.loss) / both);
		cop_forest_quick(f, row)[k] = cop_forest_moved(cop_forest_quick(f, row)[k], by);
		cop_forest_steady(f, row)[k] = cop_forest_moved(cop_forest_steady(f, row)[k], by);
	}
}

/* The left child keeps the leaf's place, the right one takes the next. */
static void divide(cop_forest *f, size_t m, uint32_t at, size_t row, size_t c)
{
	size_t arms = f->set.arms;
	cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
	uint32_t child = 2 * f->leaves[m] - 1;
	uint32_t right = f->leaves[m]++;
	size_t other = cop_forest_row(f, m, right);
	uint16_t depth = (uint16_t)(f->edge[row].depth + 1);
	memcpy(cop_forest_before(f, m, right), cop_forest_quick(f, row), 2 * arms * sizeof(float));
	memcpy(cop_forest_quick(f, other), cop_forest_quick(f, row), 3 * arms * sizeof(float));
	node[child] = cop_forest_leaf(child, node[at].leaf);
	node[child + 1] = cop_forest_leaf(child + 1, right);
	node[at] = (cop_forest_node){
		.child = child, .feature = f->edge[row].feature[c], .threshold = f->edge[row].threshold[c]
	};
	cop_forest_rows_divide(f, m, row, other, &node[at]);
	cop_forest_begin_leaf(f, row, depth);
	cop_forest_begin_leaf(f, other, depth);
	recall(f, m, row);
	recall(f, m, other);
	inherit(f, row, other);
	inherit(f, other, row);
	if (f->depth[m] < depth)
		f->depth[m] = depth;
}

/* The leaf at a node divides if that is due and worth it, and so do its children then. */
static void grow(cop_forest *f, size_t m, uint32_t at)
{
	const size_t row = cop_forest_row(f, m, f->node[m * cop_forest_nodes(f) + at].leaf);
	cop_forest_edge *edge = &f->edge[row];
	size_t best = 0;
	if (f->leaves[m] >= f->room || edge->seen < edge->due)
		return;
	edge->due = edge->seen + (edge->seen / 8 > EVERY ? edge->seen / 8 : EVERY);
	if (!choose(f, m, row, &best))
		return;
	divide(f, m, at, row, best);
	const uint32_t child = f->node[m * cop_forest_nodes(f) + at].child;
	grow(f, m, child);
	grow(f, m, child + 1);
}

void cop_forest_watch(cop_forest *f, size_t m, const cop_row *x, size_t arm, float loss)
{
	size_t row = cop_forest_row_of(f, m);
	cop_forest_edge *edge = &f->edge[row];
	float value[COP_FOREST_CANDIDATES];
	if (f->leaves[m] >= f->room || edge->due == DUE_NEVER)
		return;
	for (size_t c = 0; edge->ready != ALL_READY && c < COP_FOREST_CANDIDATES; c++)
		if (!has(edge->ready, c))
			prepare(f, row, c, x);
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
		value[c] = has(edge->ready, c) ? cop_forest_value(f, x, edge->feature[c]) : 0.0f;
	count_right(edge, value, loss, &f->right[row * f->set.arms + arm]);
	cop_forest_sum *sum = &f->sum[row * f->set.arms + arm];
	sum->n += 1.0f;
	sum->loss += loss;
	edge->squares += loss * loss;
	edge->seen++;
	grow(f, m, f->end[m]);
}
