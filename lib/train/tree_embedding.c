/* The free embedding is led from small repulsion to the whole (a homotopy: attraction alone has one minimum, and what
 * grows out of it parts the clusters in order). With u = beta / mu the z step draws Z to F(X) + u, the tree step fits
 * Z - u. A tree that does not lower the tree step's own objective is still taken: E judges. */
#include "train/tree_embedding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define START_SCALE 1e-2 /* standard deviation of where the free embedding starts */
#define FIRST_TIE   5e-3 /* n times the first mu: the thesis's 1e-5 for the 569 rows of wdbc */
#define LEAST_SHARE 0.5  /* of the progress, that the free embedding and the direct fit are */

void cop_tree_embedding_defaults(cop_embedding_method method, cop_tree_embedding_settings *settings)
{
	*settings = (cop_tree_embedding_settings){
		.method = method,
		.repulsion = 100.0,
		.theta = 0.5,
		.lambda = 0.01,
		.growth = 1.4,
		.rounds = 20,
		.free_steps = 500,
		.steps = 100,
		.tolerance = 1e-4,
	};
	cop_tao_defaults(COP_TASK_VALUES, &settings->tree);
	settings->tree.depth = 4;
	settings->tree.iterations = 15;
	settings->tree.prune = false;
}

static bool settings_fit(const cop_tree_embedding_settings *s)
{
	return s->method < COP_EMBEDDING_METHODS && s->repulsion > 0.0 && isfinite(s->repulsion) && s->theta >= 0.0 &&
	       s->theta <= 2.0 && s->lambda >= 0.0 && isfinite(s->lambda) && s->mu >= 0.0 && isfinite(s->mu) &&
	       s->growth >= 1.0 && isfinite(s->growth) && s->tolerance >= 0.0;
}

typedef struct joining {
	const cop_tree_embedding_settings *set;
	const cop_dataset *rows;
	size_t n;
	cop_pool *pool;
	cop_rng *rng;
	const cop_progress *progress;
	cop_embedding *embedding;
	cop_sample sample;
	cop_tao_settings tree;
	float *target;              /* n x 2 */
	double *z, *t, *u, *centre; /* n x 2; t = F(X) */
	cop_tree *now;
	double b; /* of the embedding */
} joining;

static void joining_fini(joining *j)
{
	cop_embedding_free(j->embedding);
	cop_tree_free(j->now);
	cop_mem_free(j->target);
	cop_mem_free(j->z);
	cop_mem_free(j->t);
	cop_mem_free(j->u);
	cop_mem_free(j->centre);
}

static cop_err joining_init(joining *j, const cop_graph *graph, cop_tree_embedding_result *out)
{
	const size_t n = j->n;
	j->target = cop_mem_alloc(n, 2 * sizeof *j->target);
	j->z = cop_mem_alloc(n, 2 * sizeof *j->z);
	j->t = cop_mem_alloc(n, 2 * sizeof *j->t);
	j->u = cop_mem_alloc(n, 2 * sizeof *j->u);
	j->centre = cop_mem_alloc(n, 2 * sizeof *j->centre);
	out->free_z = cop_mem_alloc(n, 2 * sizeof *out->free_z);
	out->direct_z = cop_mem_alloc(n, 2 * sizeof *out->direct_z);
	out->joint_z = cop_mem_alloc(n, 2 * sizeof *out->joint_z);
	out->round = cop_mem_alloc(j->set->rounds, sizeof *out->round);
	out->gap = cop_mem_alloc(j->set->rounds, sizeof *out->gap);
	if (j->target == NULL || j->z == NULL || j->t == NULL || j->u == NULL || j->centre == NULL ||
	        out->free_z == NULL || out->direct_z == NULL || out->joint_z == NULL || out->round == NULL ||
	        out->gap == NULL)
		return COP_ENOMEM;
	j->b = j->set->method == COP_EMBEDDING_TSNE ? 1.0 : j->set->repulsion;
	j->sample = (cop_sample){ .rows = j->rows, .n = n, .task = COP_TASK_VALUES, .outputs = 2, .target = j->target };
	j->tree = j->set->tree;
	j->tree.loss = COP_TAO_SQUARED;
	j->tree.leaves = COP_TAO_LINEAR;
	j->tree.alpha = j->tree.leaf_alpha = j->set->lambda * (double)n;
	return cop_embedding_new(j->set->method, graph, j->pool, &j->embedding);
}

static bool report_progress(const joining *j, double share, const char *text)
{
	return j->progress == NULL || j->progress->report(j->progress->context, share, text);
}

/* ---- steps ---- */

static void find_free(joining *j)
{
	const double tsne[] = { 1.0 / 12.0, 1.0 }, elastic[] = { 1e-4, 1e-3, 1e-2, 1e-1, 1.0 };
	bool is_tsne = j->set->method == COP_EMBEDDING_TSNE;
	const double *share = is_tsne ? tsne : elastic;
	const size_t stages = is_tsne ? sizeof tsne / sizeof *tsne : sizeof elastic / sizeof *elastic;
	for (size_t i = 0; i < 2 * j->n; i++)
		j->z[i] = START_SCALE * cop_rng_normal(j->rng);
	for (size_t s = 0; s < stages; s++) {
		const cop_embedding_descent how = { .b = j->b * share[s],
			.theta = j->set->theta,
			.tolerance = s + 1 < stages ? j->set->tolerance : 0.1 * j->set->tolerance,
			.steps = j->set->free_steps };
		cop_embedding_descend(j->embedding, &how, j->z, NULL);
	}
	for (int c = 0; c < 2; c++) {
		double mean = 0.0;
		for (size_t i = 0; i < j->n; i++)
			mean += j->z[2 * i + (size_t)c] / (double)j->n;
		for (size_t i = 0; i < j->n; i++)
			j->z[2 * i + (size_t)c] -= mean;
	}
}

static void project(const joining *j, const cop_tree *tree, double *t)
{
	for (size_t i = 0; i < j->n; i++) {
		float out[2];
		cop_row row;
		cop_dataset_row(j->rows, i, &row);
		(void)cop_tree_predict(tree, &row, out);
		t[2 * i] = (double)out[0];
		t[2 * i + 1] = (double)out[1];
	}
}

/* The tree for Z - u, from `now` on (NULL: a random one), in its place. */
static cop_err fit_tree(joining *j)
{
	cop_tree *next;
	for (size_t i = 0; i < 2 * j->n; i++) {
		j->target[i] = (float)(j->z[i] - j->u[i]);
		if (!isfinite(j->target[i]))
			return COP_EDIVERGED;
	}
	cop_err err = cop_tao_fit(&j->tree, &j->sample, j->now, j->pool, j->rng, NULL, NULL, &next);
	if (err != COP_OK)
		return err;
	cop_tree_free(j->now);
	j->now = next;
	project(j, next, j->t);
	return COP_OK;
}

static double norm1(const cop_tree_vectors *v)
{
	double sum = 0.0;
	for (size_t e = 0; v->count > 0 && e < v->start[v->count]; e++)
		sum += fabs((double)v->weight[e]);
	return sum;
}

static double exact_theta(const joining *j) { return j->n <= COP_TREE_EMBEDDING_EXACT ? 0.0 : j->set->theta; }

/* P of `now`, whose predictions are t. */
static cop_tree_embedding_part judge(joining *j)
{
	const cop_tree_parts *parts = cop_tree_view(j->now);
	cop_tree_embedding_part part = { .penalty = norm1(&parts->nodes) + norm1(&parts->rows) };
	part.embedding = cop_embedding_objective(j->embedding, j->b, exact_theta(j), j->t, NULL);
	part.objective = part.embedding + j->set->lambda * part.penalty;
	return part;
}

static void z_step(joining *j, double mu)
{
	const cop_embedding_descent how = { .b = j->b,
		.theta = j->set->theta,
		.mu = mu,
		.centre = j->centre,
		.tolerance = j->set->tolerance,
		.steps = j->set->steps };
	for (size_t i = 0; i < 2 * j->n; i++)
		j->centre[i] = j->t[i] + j->u[i];
	cop_embedding_descend(j->embedding, &how, j->z, NULL);
}

static double gap(const joining *j)
{
	double away = 0.0, size = 0.0;
	for (size_t i = 0; i < 2 * j->n; i++) {
		away += (j->z[i] - j->t[i]) * (j->z[i] - j->t[i]);
		size += j->z[i] * j->z[i];
	}
	return size > 0.0 ? sqrt(away / size) : 0.0;
}

/* ---- the fit ---- */

static cop_err copy_tree(const cop_tree *tree, cop_tree **out)
{
	cop_tree_free(*out);
	return cop_tree_new(cop_tree_view(tree), out);
}

static cop_err begin(joining *j, cop_tree_embedding_result *out)
{
	(void)report_progress(j, 0.0, "free embedding");
	find_free(j);
	memcpy(out->free_z, j->z, 2 * j->n * sizeof *j->z);
	out->free_objective = cop_embedding_objective(j->embedding, j->b, exact_theta(j), j->z, NULL);
	(void)report_progress(j, 0.5 * LEAST_SHARE, "direct fit");
	cop_err err = fit_tree(j);
	if (err != COP_OK)
		return err;
	memcpy(out->direct_z, j->t, 2 * j->n * sizeof *j->t);
	memcpy(out->joint_z, j->t, 2 * j->n * sizeof *j->t);
	out->direct_part = out->joint_part = judge(j);
	err = copy_tree(j->now, &out->direct);
	return err == COP_OK ? copy_tree(j->now, &out->joint) : err;
}

static cop_err one_round(joining *j, double mu, cop_tree_embedding_result *out)
{
	z_step(j, mu);
	cop_err err = fit_tree(j);
	if (err != COP_OK)
		return err;
	unsigned r = out->rounds++;
	out->round[r] = judge(j);
	out->gap[r] = gap(j);
	for (size_t i = 0; i < 2 * j->n; i++) /* beta -= mu (Z - t), and the next mu */
		j->u[i] = (j->u[i] - (j->z[i] - j->t[i])) / j->set->growth;
	if (out->round[r].objective >= out->joint_part.objective)
		return COP_OK;
	out->joint_part = out->round[r];
	out->best = r + 1;
	memcpy(out->joint_z, j->t, 2 * j->n * sizeof *j->t);
	return copy_tree(j->now, &out->joint);
}

static cop_err run(joining *j, const cop_graph *graph, cop_tree_embedding_result *out)
{
	cop_err err = joining_init(j, graph, out);
	if (err == COP_OK)
		err = begin(j, out);
	double mu = j->set->mu > 0.0 ? j->set->mu : FIRST_TIE / (double)j->n;
	for (unsigned r = 0; r < j->set->rounds && err == COP_OK; r++, mu *= j->set->growth) {
		char text[120];
		(void)snprintf(text, sizeof text, "round %u of %u, objective %.6g, direct fit %.6g", r + 1,
		        j->set->rounds, out->joint_part.objective, out->direct_part.objective);
		if (!report_progress(j, LEAST_SHARE + (1.0 - LEAST_SHARE) * r / j->set->rounds, text))
			break;
		err = one_round(j, mu, out);
	}
	return err;
}

cop_err cop_tree_embedding_fit(const cop_tree_embedding_settings *settings, const cop_dataset *rows,
        const cop_graph *graph, cop_pool *pool, cop_rng *rng, const cop_progress *progress,
        cop_tree_embedding_result *out)
{
	joining j = { .set = settings, .rows = rows, .n = rows->n, .pool = pool, .rng = rng, .progress = progress };
	*out = (cop_tree_embedding_result){ 0 };
	if (!settings_fit(settings) || rows->n < 2)
		return COP_EINVAL;
	if (graph->n != rows->n)
		return COP_ESHAPE;
	cop_err err = run(&j, graph, out);
	joining_fini(&j);
	if (err != COP_OK)
		cop_tree_embedding_fini(out);
	return err;
}

void cop_tree_embedding_fini(cop_tree_embedding_result *result)
{
	cop_tree_free(result->direct);
	cop_tree_free(result->joint);
	cop_mem_free(result->free_z);
	cop_mem_free(result->direct_z);
	cop_mem_free(result->joint_z);
	cop_mem_free(result->round);
	cop_mem_free(result->gap);
	*result = (cop_tree_embedding_result){ 0 };
}
