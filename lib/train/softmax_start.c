/* Points are rows of a sparse matrix. A cluster is a node of the forest of pairs: the first `clusters` of them are
 * k-means' own, in order, and each pair comes after its parts. Centres stand in one matrix, a pair's where its left
 * part's was. */
#include "train/softmax_start.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/kernel.h"
#include "optim/l1_logistic.h"
#include "train/screened.h"
#include "tree/tree_build.h"

typedef struct points {
	size_t count, d;
	size_t *start;   /* count + 1 */
	uint32_t *index; /* start[count], ascending in a point */
	float *value;
	double *weight; /* count */
	double *square; /* count */
} points;

typedef struct cluster {
	int32_t part[2]; /* left, right; -1: none, it is k-means' own */
	uint32_t centre; /* its row of the centres */
	double weight;
} cluster;

typedef struct growth {
	const cop_softmax_start_settings *set;
	const cop_sample *sample;
	const cop_kernel *kernel;
	points points;
	size_t d, most;   /* k-means makes so many clusters at most */
	float *centre;    /* most x d */
	double *square;   /* most: of each centre */
	double *nearest;  /* points: squared distance to the nearest centre */
	uint32_t *own;    /* points: the cluster of each */
	cluster *cluster; /* 2 most - 1 */
	size_t clusters;  /* in use */
	int32_t root;
	uint32_t *cluster_of; /* n: of each row of the sample */
	uint32_t *rows;       /* n: scratch of a node: numbers in the dataset */
	int8_t *sign;         /* n */
	bool *right;          /* 2 most - 1: clusters that are right of the node at hand */
	bool *below;          /* 2 most - 1: clusters below it */
	float *w, *weight;    /* d, n */
	cop_tree_build *build;
} growth;

/* ---- points ---- */

static void points_fini(points *p)
{
	cop_mem_free(p->start);
	cop_mem_free(p->index);
	cop_mem_free(p->value);
	cop_mem_free(p->weight);
	cop_mem_free(p->square);
}

static size_t entries_of(const cop_sample *sample)
{
	size_t entries = 0;

	for (size_t i = 0; i < sample->n; i++) {
		cop_row row;
		cop_dataset_row(sample->rows, cop_sample_row(sample, i), &row);
		entries += cop_row_entries(&row);
	}
	return entries;
}

static cop_err points_init(points *p, size_t count, size_t entries)
{
	p->start = cop_mem_alloc(count + 1, sizeof *p->start);
	p->index = cop_mem_alloc(entries, sizeof *p->index);
	p->value = cop_mem_alloc(entries, sizeof *p->value);
	p->weight = cop_mem_alloc(count, sizeof *p->weight);
	p->square = cop_mem_alloc(count, sizeof *p->square);
	bool all = p->start != NULL && p->index != NULL && p->value != NULL && p->weight != NULL && p->square != NULL;
	return all ? COP_OK : COP_ENOMEM;
}

/* Ends the point whose entries were put from start[count] on. */
static void point_end(points *p, size_t entries, double weight)
{
	for (size_t e = p->start[p->count]; e < entries; e++)
		p->square[p->count] += (double)p->value[e] * (double)p->value[e];
	p->weight[p->count++] = weight;
	p->start[p->count] = entries;
}

static void points_of_rows(growth *g)
{
	points *p = &g->points;
	size_t e = 0;

	for (size_t i = 0; i < g->sample->n; i++) {
		size_t at = cop_sample_row(g->sample, i);
		cop_row row;
		cop_dataset_row(g->sample->rows, at, &row);
		for (size_t k = 0; k < cop_row_entries(&row); k++) {
			if (cop_row_value(&row, k) == 0)
				continue;
			p->index[e] = (uint32_t)cop_row_index(&row, k);
			p->value[e++] = cop_row_value(&row, k);
		}
		point_end(p, e, cop_sample_weight(g->sample, at));
		g->cluster_of[i] = (uint32_t)i;
	}
}

/* The mean of rows[0..n), whose weights sum to `weight`; g->w is zeros before and after. */
static void put_mean(growth *g, const uint32_t *rows, size_t n, double weight)
{
	points *p = &g->points;
	size_t e = p->start[p->count];

	for (size_t i = 0; i < n; i++) {
		size_t at = cop_sample_row(g->sample, rows[i]);
		float share = (float)(cop_sample_weight(g->sample, at) / weight);
		cop_row row;
		cop_dataset_row(g->sample->rows, at, &row);
		for (size_t k = 0; k < cop_row_entries(&row); k++)
			g->w[cop_row_index(&row, k)] += share * cop_row_value(&row, k);
	}
	for (size_t j = 0; j < g->d; j++) {
		if (g->w[j] == 0)
			continue;
		p->index[e] = (uint32_t)j;
		p->value[e++] = g->w[j];
		g->w[j] = 0;
	}
	point_end(p, e, weight);
}

/* cluster_of becomes the point of each row. */
static cop_err points_of_classes(growth *g)
{
	const cop_sample *sample = g->sample;
	size_t *begin = cop_mem_alloc(sample->outputs + 1, sizeof *begin);

	if (begin == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < sample->n; i++)
		begin[sample->label[cop_sample_row(sample, i)]]++;
	for (size_t k = 0, sum = 0; k <= sample->outputs; k++) {
		size_t rows = begin[k];
		begin[k] = sum;
		sum += rows;
	}
	for (size_t i = 0; i < sample->n; i++)
		g->rows[begin[sample->label[cop_sample_row(sample, i)]]++] = (uint32_t)i;
	for (size_t k = 0; k < sample->outputs; k++) {
		size_t from = k > 0 ? begin[k - 1] : 0, to = begin[k];
		double weight = 0;
		for (size_t i = from; i < to; i++) {
			g->cluster_of[g->rows[i]] = (uint32_t)g->points.count;
			weight += cop_sample_weight(sample, cop_sample_row(sample, g->rows[i]));
		}
		if (weight > 0)
			put_mean(g, g->rows + from, to - from, weight);
		else /* rows without weight go with whichever point comes next */
			for (size_t i = from; i < to; i++)
				g->cluster_of[g->rows[i]] = 0;
	}
	cop_mem_free(begin);
	return COP_OK;
}

/* ---- k-means ---- */

/* Squared distance of a point to centre c. */
static double distance(const growth *g, size_t point, size_t c)
{
	const points *p = &g->points;
	const float *centre = g->centre + c * g->d;
	double dot = 0;

	for (size_t e = p->start[point]; e < p->start[point + 1]; e++)
		dot += (double)p->value[e] * (double)centre[p->index[e]];
	return fmax(p->square[point] - 2 * dot + g->square[c], 0);
}

/* The next centre is a point, drawn by weight times the squared distance to the centres that there are. False: every
 * point of weight stands on a centre. */
static bool seed_next(growth *g, cop_rng *rng)
{
	const points *p = &g->points;
	double total = 0, sum = 0;
	size_t chosen = p->count;

	for (size_t i = 0; i < p->count; i++)
		total += p->weight[i] * g->nearest[i];
	double least = total * cop_rng_unit(rng);
	for (size_t i = 0; i < p->count && total > 0; i++) {
		double part = p->weight[i] * g->nearest[i];
		sum += part;
		if (part > 0 && (chosen == p->count || sum - part <= least))
			chosen = i;
	}
	if (chosen == p->count)
		return false;
	size_t c = g->clusters++;
	for (size_t e = p->start[chosen]; e < p->start[chosen + 1]; e++)
		g->centre[c * g->d + p->index[e]] = p->value[e];
	g->square[c] = p->square[chosen];
	for (size_t i = 0; i < p->count; i++) {
		double away = i == chosen ? 0 : distance(g, i, c);
		g->nearest[i] = c == 0 ? away : fmin(g->nearest[i], away);
	}
	return true;
}

/* Each point to its nearest centre, of least number among equals. Whether any moved. */
static bool assign(growth *g)
{
	bool moved = false;

	for (size_t i = 0; i < g->points.count; i++) {
		double least = (double)INFINITY;
		uint32_t best = 0;
		for (uint32_t c = 0; c < g->clusters; c++) {
			double away = distance(g, i, c);
			if (away < least) {
				least = away;
				best = c;
			}
		}
		moved |= g->own[i] != best;
		g->own[i] = best;
	}
	return moved;
}

/* Centres become the means of their points; one without points stays where it is, of weight 0. */
static void recentre(growth *g)
{
	const points *p = &g->points;

	for (size_t c = 0; c < g->clusters; c++)
		g->cluster[c].weight = 0;
	for (size_t i = 0; i < p->count; i++)
		g->cluster[g->own[i]].weight += p->weight[i];
	for (size_t c = 0; c < g->clusters; c++)
		if (g->cluster[c].weight > 0)
			memset(g->centre + c * g->d, 0, g->d * sizeof *g->centre);
	for (size_t i = 0; i < p->count; i++) {
		float *centre = g->centre + g->own[i] * g->d;
		double total = g->cluster[g->own[i]].weight;
		for (size_t e = p->start[i]; e < p->start[i + 1] && total > 0; e++)
			centre[p->index[e]] += (float)(p->weight[i] / total) * p->value[e];
	}
	for (size_t c = 0; c < g->clusters; c++)
		g->square[c] = (double)g->kernel->dot(g->d, g->centre + c * g->d, g->centre + c * g->d);
}

static void find_clusters(growth *g, cop_rng *rng)
{
	for (size_t i = 0; i < g->points.count; i++)
		g->nearest[i] = 1; /* the first one by weight alone */
	while (g->clusters < g->most && seed_next(g, rng))
		continue;
	(void)assign(g);
	recentre(g);
	for (unsigned k = 0; k < g->set->iterations && assign(g); k++)
		recentre(g);
	for (size_t c = 0; c < g->clusters; c++)
		g->cluster[c] = (cluster){ { -1, -1 }, (uint32_t)c, g->cluster[c].weight };
}

/* ---- pairs ---- */

static void merge(growth *g, uint32_t a, uint32_t b)
{
	cluster *x = &g->cluster[a], *y = &g->cluster[b];
	double total = x->weight + y->weight, share = total > 0 ? y->weight / total : 0.5;
	float *to = g->centre + x->centre * g->d;
	const float *other = g->centre + y->centre * g->d;

	for (size_t j = 0; j < g->d; j++)
		to[j] += (float)share * (other[j] - to[j]);
	g->square[x->centre] = (double)g->kernel->dot(g->d, to, to);
	g->cluster[g->clusters++] = (cluster){ { (int32_t)a, (int32_t)b }, x->centre, total };
}

/* away: count x count, of the clusters item[0..count), of which -1 is paired already; the nearest two. */
static void nearest_pair(size_t count, const double *away, const int32_t *item, size_t *a, size_t *b)
{
	double least = (double)INFINITY;

	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			if (item[i] >= 0 && item[j] >= 0 && (away[i * count + j] < least || !isfinite(least))) {
				least = away[i * count + j];
				*a = i;
				*b = j;
			}
}

static void measure_pairs(const growth *g, size_t count, const int32_t *item, double *away)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++) {
			size_t a = g->cluster[item[i]].centre, b = g->cluster[item[j]].centre;
			double dot = (double)g->kernel->dot(g->d, g->centre + a * g->d, g->centre + b * g->d);
			away[i * count + j] = g->square[a] - 2 * dot + g->square[b];
		}
}

/* One level: item[0..count) becomes the next one's, whose number is returned. */
static size_t pair_level(growth *g, size_t count, int32_t *item, double *away)
{
	size_t a = 0, b = 0, made = 0, first = g->clusters;
	int32_t alone = -1;

	measure_pairs(g, count, item, away);
	for (size_t left = count; left > 1; left -= 2) {
		nearest_pair(count, away, item, &a, &b);
		merge(g, (uint32_t)item[a], (uint32_t)item[b]);
		item[a] = item[b] = -1;
	}
	for (size_t i = 0; i < count; i++)
		alone = item[i] >= 0 ? item[i] : alone;
	for (size_t c = first; c < g->clusters; c++)
		item[made++] = (int32_t)c;
	if (alone >= 0)
		item[made++] = alone;
	return made;
}

static cop_err pair_all(growth *g)
{
	size_t count = 0, k = g->clusters;
	int32_t *item = cop_mem_alloc(k, sizeof *item);
	double *away = cop_mem_alloc(k * k, sizeof *away);
	cop_err err = item != NULL && away != NULL ? COP_OK : COP_ENOMEM;

	for (size_t c = 0; c < k && err == COP_OK; c++)
		if (g->cluster[c].weight > 0)
			item[count++] = (int32_t)c;
	while (err == COP_OK && count > 1)
		count = pair_level(g, count, item, away);
	if (err == COP_OK)
		g->root = item[0];
	cop_mem_free(item);
	cop_mem_free(away);
	return err;
}

/* ---- the tree ---- */

/* Marks the clusters at and below c. */
static void mark(const growth *g, int32_t c, bool *to)
{
	to[c] = true;
	for (int side = 0; side < 2 && g->cluster[c].part[0] >= 0; side++)
		mark(g, g->cluster[c].part[side], to);
}

/* The rows below node c: rows, weight, and sign by the side. */
static size_t gather(growth *g, int32_t c)
{
	size_t n = 0;

	memset(g->right, 0, 2 * g->most * sizeof *g->right);
	memset(g->below, 0, 2 * g->most * sizeof *g->below);
	mark(g, c, g->below);
	if (g->cluster[c].part[0] >= 0)
		mark(g, g->cluster[c].part[1], g->right);
	for (size_t i = 0; i < g->sample->n; i++) {
		uint32_t own = g->own[g->cluster_of[i]];
		if (!g->below[own])
			continue;
		size_t at = cop_sample_row(g->sample, i);
		g->rows[n] = (uint32_t)at;
		g->weight[n] = (float)cop_sample_weight(g->sample, at);
		g->sign[n++] = g->right[own] ? 1 : -1;
	}
	return n;
}

static cop_err put_leaf(growth *g, size_t n, int32_t *out)
{
	float *share = cop_mem_alloc(g->sample->outputs, sizeof *share);
	double total = 0;

	if (share == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		total += (double)g->weight[i];
	for (size_t i = 0; i < n && total > 0; i++)
		share[g->sample->label[g->rows[i]]] += (float)((double)g->weight[i] / total);
	*out = cop_tree_build_constant(g->build, share);
	cop_mem_free(share);
	return COP_OK;
}

static cop_err fit_node(growth *g, size_t n, float *bias)
{
	const cop_dataset *data = g->sample->rows;
	cop_l1_settings solver = {
		.lambda = g->set->alpha, .tolerance = g->set->node_tolerance, .max_steps = g->set->node_steps
	};
	cop_screened screened;
	cop_err err = cop_screened_init(&screened, data, n, g->rows, g->weight, g->set->alpha);

	memset(g->w, 0, g->d * sizeof *g->w);
	*bias = 0;
	if (err == COP_OK) {
		err = cop_l1_logistic_fit(&solver, &screened.columns, g->sign, g->weight, g->w, bias, NULL);
		cop_screened_spread(&screened, g->d, g->w);
	}
	cop_screened_fini(&screened);
	return err == COP_ENONFINITE ? COP_OK : err;
}

/* As deep as there are levels, at most COP_SOFTMAX_START_MAX_HEIGHT. */
static cop_err put(growth *g, int32_t c, int32_t *out)
{
	const int32_t *part = g->cluster[c].part;
	int32_t child[2] = { 0, 0 };
	float bias = 0;
	size_t n = gather(g, c);

	if (part[0] < 0)
		return put_leaf(g, n, out);
	cop_err err = fit_node(g, n, &bias);
	if (err == COP_OK)
		*out = cop_tree_build_node(g->build, g->w, bias);
	for (int side = 0; side < 2 && err == COP_OK; side++)
		err = put(g, part[side], &child[side]);
	if (err == COP_OK)
		cop_tree_build_children(g->build, *out, child[0], child[1]);
	return err;
}

/* ---- all of it ---- */

static void growth_fini(growth *g)
{
	points_fini(&g->points);
	cop_mem_free(g->centre);
	cop_mem_free(g->square);
	cop_mem_free(g->nearest);
	cop_mem_free(g->own);
	cop_mem_free(g->cluster);
	cop_mem_free(g->cluster_of);
	cop_mem_free(g->rows);
	cop_mem_free(g->sign);
	cop_mem_free(g->right);
	cop_mem_free(g->below);
	cop_mem_free(g->w);
	cop_mem_free(g->weight);
	cop_tree_build_free(g->build);
}

static cop_err make_points(growth *g)
{
	const cop_sample *sample = g->sample;
	bool classes = g->set->points == COP_SOFTMAX_START_CLASSES;
	size_t most = classes && sample->outputs < sample->n ? sample->outputs : sample->n;

	g->cluster_of = cop_mem_alloc(sample->n, sizeof *g->cluster_of);
	g->rows = cop_mem_alloc(sample->n, sizeof *g->rows);
	g->sign = cop_mem_alloc(sample->n, sizeof *g->sign);
	g->weight = cop_mem_alloc(sample->n, sizeof *g->weight);
	g->w = cop_mem_alloc(g->d, sizeof *g->w);
	cop_err err = points_init(&g->points, most, entries_of(sample));
	if (err != COP_OK || g->cluster_of == NULL || g->rows == NULL || g->sign == NULL || g->weight == NULL ||
	        g->w == NULL)
		return COP_ENOMEM;
	if (classes)
		return points_of_classes(g);
	points_of_rows(g);
	return COP_OK;
}

static cop_err make_clusters(growth *g, cop_rng *rng)
{
	g->most = (size_t)1 << g->set->height;
	if (g->most > g->points.count)
		g->most = g->points.count;
	g->centre = cop_mem_alloc(g->most * g->d, sizeof *g->centre);
	g->square = cop_mem_alloc(g->most, sizeof *g->square);
	g->nearest = cop_mem_alloc(g->points.count, sizeof *g->nearest);
	g->own = cop_mem_alloc(g->points.count, sizeof *g->own);
	g->cluster = cop_mem_alloc(2 * g->most, sizeof *g->cluster);
	g->right = cop_mem_alloc(2 * g->most, sizeof *g->right);
	g->below = cop_mem_alloc(2 * g->most, sizeof *g->below);
	if (g->centre == NULL || g->square == NULL || g->nearest == NULL || g->own == NULL || g->cluster == NULL ||
	        g->right == NULL || g->below == NULL)
		return COP_ENOMEM;
	find_clusters(g, rng);
	return pair_all(g);
}

cop_err cop_softmax_start_grow(
        const cop_softmax_start_settings *settings, const cop_sample *sample, cop_rng *rng, cop_tree **out)
{
	growth g = { .set = settings, .sample = sample, .kernel = cop_kernel_best(), .d = sample->rows->d };
	int32_t root = 0;

	*out = NULL;
	if (sample->task != COP_TASK_CLASSES || !cop_sample_is_valid(sample) || settings->height < 1 ||
	        settings->height > COP_SOFTMAX_START_MAX_HEIGHT || !(settings->alpha >= 0) ||
	        !isfinite(settings->alpha) || !(settings->node_tolerance > 0) || settings->node_steps < 1)
		return COP_EINVAL;
	cop_err err = make_points(&g);
	if (err == COP_OK)
		err = make_clusters(&g, rng);
	if (err == COP_OK)
		err = cop_tree_build_new(g.d, sample->outputs, COP_TREE_PROBABILITIES, &g.build);
	if (err == COP_OK)
		err = put(&g, g.root, &root);
	if (err == COP_OK)
		err = cop_tree_build_finish(g.build, root, out);
	growth_fini(&g);
	return err;
}
