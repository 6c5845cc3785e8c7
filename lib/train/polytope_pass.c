/* Forward, parents before children: the rows that reach a node with more than a trifle are gathered, and their
 * probabilities divided between its children. Then the leaves' means move, and costs go up from children to parents:
 * what a row costs below a node is its children's costs, weighted, and the derivative by p is their difference. A child
 * that a row does not reach is given the other child's cost, which makes that derivative 0.
 *
 * Places: nodes, then leaves; reach and cost have a line of `batch` numbers for each. */
#include "train/polytope_pass.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define TRIFLE 1e-4

struct cop_polytope_pass {
	const cop_polytope_tree *tree;
	size_t batch, weights;
	size_t *first;        /* splits: of a node's parameters in w */
	double *steep;        /* splits: what lambda 1 is */
	double *reach, *cost; /* (splits + leaves) x batch */
	double *right;        /* splits x batch: p */
	double *mass;         /* leaves x outputs: running shares of all rows; of values the sum of the values */
	double *total;        /* leaves: running share of the rows */
	uint32_t *row;        /* of the batch, that reach a node */
	float *x, *z;
	double *s, *ds;
};

static size_t numbers_of(const cop_polytope_split *split) { return split->node.experts * (split->node.d + 2) + 1; }

cop_err cop_polytope_pass_new(const cop_polytope_tree *tree, size_t batch, cop_polytope_pass **out)
{
	const size_t places = tree->splits + tree->leaves;
	size_t experts = 1;
	*out = NULL;
	cop_polytope_pass *pass = cop_mem_alloc(1, sizeof *pass);
	if (pass == NULL)
		return COP_ENOMEM;
	pass->tree = tree;
	pass->batch = batch;
	pass->first = cop_mem_alloc(tree->splits, sizeof *pass->first);
	pass->steep = cop_mem_alloc(tree->splits, sizeof *pass->steep);
	for (size_t t = 0; pass->first != NULL && pass->steep != NULL && t < tree->splits; t++) {
		pass->first[t] = pass->weights;
		pass->steep[t] = 1.0 / fmax(-expm1(-tree->split[t].threshold), 1e-3);
		pass->weights += numbers_of(&tree->split[t]);
		experts = tree->split[t].node.experts > experts ? tree->split[t].node.experts : experts;
	}
	pass->reach = cop_mem_alloc(places, batch * sizeof *pass->reach);
	pass->cost = cop_mem_alloc(places, batch * sizeof *pass->cost);
	pass->right = cop_mem_alloc(tree->splits, batch * sizeof *pass->right);
	pass->mass = cop_mem_alloc(tree->leaves, tree->outputs * sizeof *pass->mass);
	pass->total = cop_mem_alloc(tree->leaves, sizeof *pass->total);
	pass->row = cop_mem_alloc(batch, sizeof *pass->row);
	pass->x = cop_mem_alloc(batch, (tree->d + 1) * sizeof *pass->x);
	pass->z = cop_mem_alloc(batch, experts * sizeof *pass->z);
	pass->s = cop_mem_alloc(batch, sizeof *pass->s);
	pass->ds = cop_mem_alloc(batch, sizeof *pass->ds);
	if (pass->first == NULL || pass->steep == NULL || pass->reach == NULL || pass->cost == NULL ||
	        pass->right == NULL || pass->mass == NULL || pass->total == NULL || pass->row == NULL ||
	        pass->x == NULL || pass->z == NULL || pass->s == NULL || pass->ds == NULL) {
		cop_polytope_pass_free(pass);
		return COP_ENOMEM;
	}
	*out = pass;
	return COP_OK;
}

void cop_polytope_pass_free(cop_polytope_pass *pass)
{
	if (pass == NULL)
		return;
	cop_mem_free(pass->first);
	cop_mem_free(pass->steep);
	cop_mem_free(pass->reach);
	cop_mem_free(pass->cost);
	cop_mem_free(pass->right);
	cop_mem_free(pass->mass);
	cop_mem_free(pass->total);
	cop_mem_free(pass->row);
	cop_mem_free(pass->x);
	cop_mem_free(pass->z);
	cop_mem_free(pass->s);
	cop_mem_free(pass->ds);
	cop_mem_free(pass);
}

size_t cop_polytope_pass_weights(const cop_polytope_pass *pass) { return pass->weights; }

void cop_polytope_pass_take(const cop_polytope_pass *pass, float *w)
{
	for (size_t t = 0; t < pass->tree->splits; t++) {
		const cop_polytope_split *split = &pass->tree->split[t];
		const size_t beta = split->node.experts * (split->node.d + 1);
		float *to = w + pass->first[t];
		memcpy(to, split->node.beta, beta * sizeof *to);
		memcpy(to + beta, split->node.log_r, split->node.experts * sizeof *to);
		to[beta + split->node.experts] = (float)split->threshold;
	}
}

void cop_polytope_pass_give(const cop_polytope_pass *pass, const float *w, cop_polytope_tree *tree)
{
	for (size_t t = 0; t < tree->splits; t++) {
		cop_polytope_split *split = &tree->split[t];
		const size_t beta = split->node.experts * (split->node.d + 1);
		const float *from = w + pass->first[t];
		memcpy(split->node.beta, from, beta * sizeof *from);
		memcpy(split->node.log_r, from + beta, split->node.experts * sizeof *from);
		split->threshold = (double)from[beta + split->node.experts];
	}
}

/* The node's parameters within w, or its gradients within g. */
static cop_polytope_node node_in(const cop_polytope_pass *pass, size_t t, float *w)
{
	const cop_polytope_node *node = &pass->tree->split[t].node;
	float *from = w + pass->first[t];
	return (cop_polytope_node){ node->d, node->experts, from, from + node->experts * (node->d + 1) };
}

static size_t place_of(const cop_polytope_pass *pass, int32_t child)
{
	return child >= 0 ? (size_t)child : pass->tree->splits + (size_t)~child;
}

/* ---- forward ---- */

/* The sums of the rows that reach node t; how many do. */
static size_t sums_at(cop_polytope_pass *pass, size_t t, const cop_polytope_node *node, const cop_polytope_rows *batch)
{
	const double *reach = pass->reach + t * pass->batch;
	const size_t width = batch->d + 1;
	size_t count = 0;
	for (size_t i = 0; i < batch->n; i++) {
		if (reach[i] <= TRIFLE)
			continue;
		memcpy(pass->x + count * width, batch->x + i * width, width * sizeof *pass->x);
		pass->row[count++] = (uint32_t)i;
	}
	if (count > 0)
		cop_polytope_node_sums(node, count, pass->x, pass->z, pass->s);
	return count;
}

static double sigmoid(double a) { return a >= 0.0 ? 1.0 / (1.0 + exp(-a)) : exp(a) / (1.0 + exp(a)); }

static void divide(cop_polytope_pass *pass, size_t t, float *w, const cop_polytope_rows *batch, double lambda)
{
	const cop_polytope_node node = node_in(pass, t, w);
	const double threshold = (double)node.log_r[node.experts], steep = lambda * pass->steep[t];
	const double *reach = pass->reach + t * pass->batch;
	double *right = pass->right + t * pass->batch;
	double *to_left = pass->reach + place_of(pass, pass->tree->left[t]) * pass->batch;
	double *to_right = pass->reach + place_of(pass, pass->tree->right[t]) * pass->batch;
	const size_t count = sums_at(pass, t, &node, batch);
	memset(to_left, 0, batch->n * sizeof *to_left);
	memset(to_right, 0, batch->n * sizeof *to_right);
	for (size_t c = 0; c < count; c++) {
		const size_t i = pass->row[c];
		right[i] = sigmoid(steep * (pass->s[c] - threshold));
		to_left[i] = reach[i] * (1.0 - right[i]);
		to_right[i] = reach[i] * right[i];
	}
}

static void move_means(cop_polytope_pass *pass, const cop_polytope_rows *batch, double memory)
{
	const cop_polytope_tree *tree = pass->tree;
	const double part = (1.0 - memory) / (double)batch->n;
	for (size_t l = 0; l < tree->leaves; l++) {
		const double *reach = pass->reach + (tree->splits + l) * pass->batch;
		double *mass = pass->mass + l * tree->outputs;
		pass->total[l] *= memory;
		for (size_t c = 0; c < tree->outputs; c++)
			mass[c] *= memory;
		for (size_t i = 0; i < batch->n; i++) {
			pass->total[l] += part * reach[i];
			if (tree->classes > 0)
				mass[batch->label[i]] += part * reach[i];
			else
				mass[0] += part * reach[i] * (double)batch->target[i];
		}
	}
}

/* ---- back ---- */

#define LITTLE 1e-5 /* of a class in a leaf without it, as a share of all rows */

static void cost_leaves(cop_polytope_pass *pass, const cop_polytope_rows *batch)
{
	const cop_polytope_tree *tree = pass->tree;
	for (size_t l = 0; l < tree->leaves; l++) {
		double *cost = pass->cost + (tree->splits + l) * pass->batch;
		const double *mass = pass->mass + l * tree->outputs;
		const double total = pass->total[l] + LITTLE * (double)tree->outputs;
		const double log_total = log(total), mean = tree->classes > 0 ? 0.0 : mass[0] / total;
		for (size_t i = 0; i < batch->n; i++) {
			if (tree->classes > 0) {
				cost[i] = log_total - log(mass[batch->label[i]] + LITTLE);
				continue;
			}
			const double away = (double)batch->target[i] - mean;
			cost[i] = away * away;
		}
	}
}

/* Costs of a node's rows from those of its children, and the derivatives by its parameters. */
static void go_back(
        cop_polytope_pass *pass, size_t t, float *w, const cop_polytope_rows *batch, double lambda, float *g)
{
	const cop_polytope_node node = node_in(pass, t, w);
	cop_polytope_node gradient = node_in(pass, t, g);
	const double steep = lambda * pass->steep[t], part = 1.0 / (double)batch->n;
	const size_t left = place_of(pass, pass->tree->left[t]), right = place_of(pass, pass->tree->right[t]);
	double by_threshold = 0.0;
	const size_t count = sums_at(pass, t, &node, batch);
	for (size_t c = 0; c < count; c++) {
		const size_t i = pass->row[c];
		const double p = pass->right[t * pass->batch + i], reach = pass->reach[t * pass->batch + i];
		double on_left = pass->cost[left * pass->batch + i], on_right = pass->cost[right * pass->batch + i];
		if (left < pass->tree->splits && pass->reach[left * pass->batch + i] <= TRIFLE)
			on_left = on_right;
		else if (right < pass->tree->splits && pass->reach[right * pass->batch + i] <= TRIFLE)
			on_right = on_left;
		pass->cost[t * pass->batch + i] = (1.0 - p) * on_left + p * on_right;
		pass->ds[c] = part * reach * (on_right - on_left) * steep * p * (1.0 - p);
		by_threshold -= pass->ds[c];
	}
	if (count > 0)
		cop_polytope_node_gradient(&node, count, pass->x, pass->ds, pass->z, &gradient);
	else
		memset(g + pass->first[t], 0, numbers_of(&pass->tree->split[t]) * sizeof *g);
	gradient.log_r[node.experts] = (float)by_threshold;
}

double cop_polytope_pass_run(
        cop_polytope_pass *pass, const float *w, const cop_polytope_rows *batch, double lambda, double memory, float *g)
{
	const size_t splits = pass->tree->splits;
	float *own = (float *)(uintptr_t)w; /* views of nodes are not const; nothing is written there */
	double sum = 0.0;
	for (size_t i = 0; i < batch->n; i++)
		pass->reach[i] = 1.0; /* the root's, or the lone leaf's */
	for (size_t t = 0; t < splits; t++)
		divide(pass, t, own, batch, lambda);
	move_means(pass, batch, memory);
	cost_leaves(pass, batch);
	for (size_t t = splits; t-- > 0;)
		go_back(pass, t, own, batch, lambda, g);
	for (size_t i = 0; i < batch->n; i++)
		sum += pass->cost[i];
	return sum / (double)batch->n;
}
