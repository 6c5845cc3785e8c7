/* Groups of rows with equal values are moved, in order, from the far side to the near one; before each, the split
 * between it and what is near already is scored. Scores are the same whichever side is called near, so that a sparse
 * feature's negative values can come from below and its positive ones from above, and the zeros between them are never
 * visited.
 *
 * Of classes the sums of squares on both sides are kept up to date, and a row costs the same whatever their number.
 * With few distinct ranks the rows need no sorting: sums of moments are collected for each rank. */
#include "train/cart_split.h"

#include <string.h>

#include "base/mem.h"
#include "train/ordered.h"

typedef struct scan {
	const cop_cart_members *m;
	double *near, *far; /* sums of moments */
	double near_weight, far_weight;
	double near_square, far_square; /* classes: sums of squares of those */
	size_t feature;
	bool later; /* a tie goes to the later split */
	cop_cart_split best;
} scan;

cop_err cop_cart_split_searcher_init(cop_cart_searcher *searcher, size_t n, size_t outputs, bool sparse)
{
	*searcher = (cop_cart_searcher){ .best.feature = SIZE_MAX };
	searcher->spare = cop_mem_alloc(n, sizeof *searcher->spare);
	searcher->near = cop_mem_alloc(outputs, sizeof *searcher->near);
	searcher->far = cop_mem_alloc(outputs, sizeof *searcher->far);
	searcher->value = cop_mem_alloc(n, sizeof *searcher->value);
	if (searcher->spare == NULL || searcher->near == NULL || searcher->far == NULL || searcher->value == NULL)
		return COP_ENOMEM;
	if (sparse)
		return COP_OK;
	searcher->rank = cop_mem_alloc(n, sizeof *searcher->rank);
	searcher->pair = cop_mem_alloc(n, sizeof *searcher->pair);
	searcher->bins = cop_mem_alloc(COP_CART_BINS, sizeof *searcher->bins);
	if (searcher->rank == NULL || searcher->pair == NULL || searcher->bins == NULL)
		return COP_ENOMEM;
	return COP_OK;
}

void cop_cart_split_searcher_fini(cop_cart_searcher *searcher)
{
	cop_mem_free(searcher->rank);
	cop_mem_free(searcher->pair);
	cop_mem_free(searcher->spare);
	cop_mem_free(searcher->bins);
	cop_mem_free(searcher->near);
	cop_mem_free(searcher->far);
	cop_mem_free(searcher->value);
	*searcher = (cop_cart_searcher){ 0 };
}

static int compare(const cop_cart_split *a, const cop_cart_split *b)
{
	if (a->score != b->score)
		return a->score > b->score ? 1 : -1;
	return a->second > b->second ? 1 : a->second < b->second ? -1 : 0;
}

bool cop_cart_split_better(const cop_cart_split *a, const cop_cart_split *b)
{
	if (a->feature == SIZE_MAX || b->feature == SIZE_MAX)
		return b->feature == SIZE_MAX && a->feature != SIZE_MAX;
	int order = compare(a, b);
	return order > 0 || (order == 0 && a->feature < b->feature);
}

static void begin(scan *s, const cop_cart_searcher *searcher, const cop_cart_members *m, size_t feature)
{
	*s = (scan){ .m = m, .near = searcher->near, .far = searcher->far, .feature = feature };
	s->best.feature = SIZE_MAX;
	s->far_weight = m->total_weight;
	memset(s->near, 0, m->outputs * sizeof *s->near);
	memcpy(s->far, m->total, m->outputs * sizeof *s->far);
	for (size_t k = 0; m->task == COP_TASK_CLASSES && k < m->outputs; k++)
		s->far_square += m->total[k] * m->total[k];
}

static void move_class(scan *s, size_t class, double weight)
{
	s->near_square += weight * (2 * s->near[class] + weight);
	s->far_square -= weight * (2 * s->far[class] - weight);
	s->near[class] += weight;
	s->far[class] -= weight;
}

static void move_moments(scan *s, const double *moment)
{
	for (size_t k = 0; k < s->m->outputs; k++) {
		s->near[k] += moment[k];
		s->far[k] -= moment[k];
	}
}

static void move_row(scan *s, size_t i)
{
	const cop_cart_members *m = s->m;
	s->near_weight += m->weight[i];
	s->far_weight -= m->weight[i];
	if (m->task == COP_TASK_CLASSES)
		move_class(s, m->label[i], m->weight[i]);
	else
		move_moments(s, m->moment + i * m->outputs);
}

/* Rounding may leave more in a sum of squares than the weight allows, when that is small. */
static double at_most(double square, double weight)
{
	double quotient = square / weight;
	return quotient < weight ? quotient : weight;
}

static void score(const scan *s, cop_cart_split *split)
{
	if (s->m->task == COP_TASK_CLASSES) {
		split->score = at_most(s->near_square, s->near_weight) + at_most(s->far_square, s->far_weight);
		return;
	}
	double near = 0, far = 0, least_near = s->near[0], least_far = s->far[0];
	for (size_t k = 0; k < s->m->outputs; k++) {
		near += s->near[k] * s->near[k];
		far += s->far[k] * s->far[k];
		least_near = s->near[k] < least_near ? s->near[k] : least_near;
		least_far = s->far[k] < least_far ? s->far[k] : least_far;
	}
	split->score = near / s->near_weight + far / s->far_weight;
	if (s->m->task == COP_TASK_COSTS) {
		split->second = split->score;
		split->score = -(least_near + least_far);
	}
}

/* The split as the sides are now, ranks or keys from `first` on going right. */
static inline void consider(scan *s, uint32_t first)
{
	if (s->near_weight < s->m->min_leaf || s->far_weight < s->m->min_leaf)
		return;
	if (!(s->near_weight > 0) || !(s->far_weight > 0))
		return;
	cop_cart_split split = { .feature = s->feature, .first = first };
	score(s, &split);
	int order = s->best.feature == SIZE_MAX ? 1 : compare(&split, &s->best);
	if (order > 0 || (order == 0 && s->later))
		s->best = split;
}

static void end(const scan *s, cop_cart_searcher *searcher)
{
	if (cop_cart_split_better(&s->best, &searcher->best))
		searcher->best = s->best;
}

static void from_below(scan *s, size_t count, const uint64_t *pair)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t key = cop_ordered_key_of(pair[i]);
		if (i > 0 && key != cop_ordered_key_of(pair[i - 1]))
			consider(s, key);
		move_row(s, cop_ordered_place_of(pair[i]));
	}
}

static void from_above(scan *s, size_t count, const uint64_t *pair)
{
	for (size_t i = count; i-- > 0;) {
		uint32_t after = i + 1 < count ? cop_ordered_key_of(pair[i + 1]) : 0;
		if (i + 1 < count && after != cop_ordered_key_of(pair[i]))
			consider(s, after);
		move_row(s, cop_ordered_place_of(pair[i]));
	}
}

/* Sums for each rank: of classes K, else the weight and K moments. */
static void fill_bins(const cop_cart_searcher *searcher, const cop_cart_members *m, size_t values)
{
	double *bins = searcher->bins;
	const uint32_t *rank = searcher->rank;
	size_t stride = m->outputs + (m->task != COP_TASK_CLASSES);
	memset(bins, 0, values * stride * sizeof *bins);
	if (m->task == COP_TASK_CLASSES) {
		for (size_t i = 0; i < m->n; i++)
			bins[rank[i] * stride + m->label[i]] += m->weight[i];
		return;
	}
	for (size_t i = 0; i < m->n; i++) {
		double *bin = bins + rank[i] * stride;
		bin[0] += m->weight[i];
		for (size_t k = 0; k < m->outputs; k++)
			bin[1 + k] += m->moment[i * m->outputs + k];
	}
}

static void scan_class_bins(scan *s, const double *bins, uint32_t values)
{
	size_t classes = s->m->outputs;
	bool any = false;
	for (uint32_t v = 0; v < values; v++) {
		const double *bin = bins + v * classes;
		double weight = 0;
		for (size_t k = 0; k < classes; k++)
			weight += bin[k];
		if (weight == 0.0)
			continue;
		if (any)
			consider(s, v);
		any = true;
		s->near_weight += weight;
		s->far_weight -= weight;
		for (size_t k = 0; k < classes; k++) {
			if (bin[k] != 0.0)
				move_class(s, k, bin[k]);
		}
	}
}

static void scan_moment_bins(scan *s, const double *bins, uint32_t values)
{
	size_t stride = s->m->outputs + 1;
	bool any = false;
	for (uint32_t v = 0; v < values; v++) {
		const double *bin = bins + v * stride;
		if (bin[0] == 0.0)
			continue;
		if (any)
			consider(s, v);
		any = true;
		s->near_weight += bin[0];
		s->far_weight -= bin[0];
		move_moments(s, bin + 1);
	}
}

/* Bins cost (rows + ranks x classes), sorting one or two rounds more over the rows. */
static bool by_bins(const cop_cart_members *m, size_t values)
{
	bool classes = m->task == COP_TASK_CLASSES;
	size_t bins = values * (classes ? m->outputs : m->outputs + 1);
	return bins <= COP_CART_BINS && bins <= 2 * m->n * (classes ? 1 : m->outputs);
}

void cop_cart_split_dense(cop_cart_searcher *searcher, const cop_cart_members *members, const cop_cart_column *column,
        const uint32_t *place, size_t feature)
{
	if (column->values < 2)
		return;
	scan s;
	begin(&s, searcher, members, feature);
	cop_cart_data_ranks(column, members->n, place, searcher->rank);
	if (by_bins(members, column->values)) {
		fill_bins(searcher, members, column->values);
		if (members->task == COP_TASK_CLASSES)
			scan_class_bins(&s, searcher->bins, column->values);
		else
			scan_moment_bins(&s, searcher->bins, column->values);
	} else {
		uint32_t differ = 0;
		for (size_t i = 0; i < members->n; i++) {
			differ |= searcher->rank[i] ^ searcher->rank[0];
			searcher->pair[i] = cop_ordered_pair(searcher->rank[i], i);
		}
		if (differ == 0)
			return;
		from_below(&s, members->n, cop_ordered_sort(members->n, searcher->pair, searcher->spare));
	}
	end(&s, searcher);
}

void cop_cart_split_sparse(cop_cart_searcher *searcher, const cop_cart_members *members, size_t count,
        const uint64_t *sorted, size_t feature)
{
	scan below;
	begin(&below, searcher, members, feature);
	if (count == members->n) {
		from_below(&below, count, sorted);
		end(&below, searcher);
		return;
	}
	size_t negative = 0;
	while (negative < count && cop_ordered_key_of(sorted[negative]) < COP_ORDERED_ZERO)
		negative++;
	from_below(&below, negative, sorted);
	if (negative > 0)
		consider(&below, COP_ORDERED_ZERO);
	scan above;
	begin(&above, searcher, members, feature);
	above.later = true;
	from_above(&above, count - negative, sorted + negative);
	if (count > negative)
		consider(&above, cop_ordered_key_of(sorted[negative]));
	if (below.best.feature == SIZE_MAX || (above.best.feature != SIZE_MAX && compare(&above.best, &below.best) > 0))
		below.best = above.best;
	end(&below, searcher);
}

/* The node's values of the feature into searcher->value, and where they end. */
static void gather_values(cop_cart_searcher *searcher, size_t n, const cop_cart_data *data, const uint32_t *place,
        size_t feature, float ends[2])
{
	float *value = searcher->value;
	const cop_dataset *rows = data->sample->rows;
	if (rows->sparse) {
		for (size_t i = 0; i < n; i++)
			value[i] = cop_cart_data_value(rows, data->row[place[i]], feature);
	} else {
		for (size_t i = 0; i < n; i++)
			value[i] = rows->x[data->row[place[i]] * rows->d + feature];
	}
	ends[0] = ends[1] = value[0];
	for (size_t i = 1; i < n; i++) {
		ends[0] = value[i] < ends[0] ? value[i] : ends[0];
		ends[1] = value[i] > ends[1] ? value[i] : ends[1];
	}
}

/* Rows below the threshold to the near side. The sums of squares are made once, from the sums. */
static void move_below(scan *s, const float *value, float threshold)
{
	const cop_cart_members *m = s->m;
	if (m->task == COP_TASK_CLASSES) {
		for (size_t i = 0; i < m->n; i++) { /* no branch: which side a row is on cannot be foreseen */
			double weight = value[i] < threshold ? m->weight[i] : 0.0;
			s->near_weight += weight;
			s->near[m->label[i]] += weight;
		}
	} else {
		for (size_t i = 0; i < m->n; i++) {
			if (value[i] >= threshold)
				continue;
			s->near_weight += m->weight[i];
			for (size_t k = 0; k < m->outputs; k++)
				s->near[k] += m->moment[i * m->outputs + k];
		}
	}
	s->far_weight -= s->near_weight;
	s->far_square = 0;
	for (size_t k = 0; k < m->outputs; k++) {
		s->far[k] -= s->near[k];
		s->near_square += s->near[k] * s->near[k];
		s->far_square += s->far[k] * s->far[k];
	}
}

void cop_cart_split_drawn(cop_cart_searcher *searcher, const cop_cart_members *members, const cop_cart_data *data,
        const uint32_t *place, size_t feature, double share)
{
	float ends[2];
	scan s;
	gather_values(searcher, members->n, data, place, feature, ends);
	if (!(ends[0] < ends[1]))
		return;
	float threshold = (float)((1 - share) * (double)ends[0] + share * (double)ends[1]);
	if (!(threshold > ends[0])) /* or it would part nothing */
		threshold = ends[1];
	begin(&s, searcher, members, feature);
	move_below(&s, searcher->value, threshold);
	consider(&s, cop_ordered_key(threshold));
	end(&s, searcher);
}
