/* LapTAO on the graph of all rows, those of the sample with their labels. Neighbours depend on the rows alone, and come
 * by distance: those of a fit serve every later one that asks for no more of them. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "graph/affinity.h"
#include "linalg/blas.h"
#include "train/laptao.h"
#include "train_fit_parts.h"
#include "train_knn.h"
#include "train_teacher.h"

#define NEIGHBOURS        10
#define VALUES_PENALTY    0.03 /* default gamma and alpha of values */
#define MOST_EIGENVECTORS 10000
#define MOST_TO_CHOOSE    2000 /* labelled rows, to choose the graph by */

static cop_points points_of(const cop_dataset *data)
{
	return (cop_points){ .n = data->n,
		.d = data->d,
		.x = data->x,
		.start = data->start,
		.index = data->index,
		.value = data->value };
}

/* Column j of x (n x d) to sign(r) log(1 + |r|) of the file's values r, with mean 0 and standard deviation 1. */
static void take_logs(const cop_encoder *preparation, const cop_dataset *data, size_t j, float *x)
{
	double shift, scale, sum = 0.0, squares = 0.0;
	cop_encoder_scale(preparation, j, &shift, &scale);
	for (size_t i = 0; i < data->n; i++) {
		double raw = (double)data->x[i * data->d + j];
		raw = scale != 0.0 ? raw / scale + shift : 0.0;
		double value = copysign(log1p(fabs(raw)), raw);
		x[i * data->d + j] = (float)value;
		sum += value;
		squares += value * value;
	}
	double mean = sum / (double)data->n;
	double variance = squares / (double)data->n - mean * mean;
	double unit = variance > 1e-12 * squares / (double)data->n ? 1.0 / sqrt(variance) : 0.0;
	for (size_t i = 0; i < data->n; i++)
		x[i * data->d + j] = (float)(((double)x[i * data->d + j] - mean) * unit);
}

/* Logarithms of all rows: *x, which the caller frees. */
static cop_err make_logs(const cop_train_fitting *f, float **x)
{
	const cop_dataset *data = f->job->rows->data;
	if (data->sparse)
		return cop_train_refuse(f->diag, "--graph logs is for csv; expected features for libsvm rows");
	*x = cop_mem_alloc(data->n, data->d * sizeof **x);
	if (*x == NULL)
		return COP_ENOMEM;
	for (size_t j = 0; j < data->d; j++)
		take_logs(f->job->preparation, data, j, *x);
	return COP_OK;
}

/* By what rows are near each other. */
static cop_err choose_graph(const cop_train_fitting *f, size_t *graph)
{
	size_t k;
	float *x = NULL;
	double plain = 0.0, logs = 0.0;
	*graph = (size_t)cop_train_knob(f, COP_HYPERPARAMETER_GRAPH, COP_GRAPH_AUTO);
	if (*graph != COP_GRAPH_AUTO)
		return COP_OK;
	*graph = COP_GRAPH_FEATURES;
	if (f->job->rows->data->sparse)
		return COP_OK;
	cop_err err = make_logs(f, &x);
	if (err == COP_OK)
		err = cop_train_knn_choose(f->job, NULL, MOST_TO_CHOOSE, &k, &plain);
	if (err == COP_OK)
		err = cop_train_knn_choose(f->job, x, MOST_TO_CHOOSE, &k, &logs);
	if (err == COP_OK && logs < plain)
		*graph = COP_GRAPH_LOGS;
	cop_mem_free(x);
	return err;
}

static void report_progress(const cop_train_fitting *f, const char *text)
{
	if (f->progress != NULL)
		(void)f->progress->report(f->progress->context, 0.0, text);
}

/* At least k of each row into *kept. */
static cop_err find_neighbours(const cop_train_fitting *f, size_t graph, size_t k, cop_neighbours *kept)
{
	cop_points points = points_of(f->job->rows->data);
	float *x = NULL;
	cop_err err = COP_OK;
	if (kept->k >= k)
		return COP_OK;
	cop_neighbours_fini(kept);
	report_progress(f, "neighbours");
	if (graph == COP_GRAPH_LOGS) {
		err = make_logs(f, &x);
		points.x = x;
	}
	cop_blas_threads(1); /* each thread of the pool multiplies */
	if (err == COP_OK)
		err = cop_neighbours_find(&points, NULL, k, (uint32_t)f->job->seed, f->job->pool, kept);
	cop_mem_free(x);
	return err;
}

/* The k nearest of them: *out, to be ended by the caller in every case. */
static cop_err nearest_of(const cop_neighbours *found, size_t k, cop_neighbours *out)
{
	*out = (cop_neighbours){ .n = found->n, .k = k };
	out->index = cop_mem_alloc(found->n, k * sizeof *out->index);
	out->distance2 = cop_mem_alloc(found->n, k * sizeof *out->distance2);
	if (out->index == NULL || out->distance2 == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < found->n; i++) {
		memcpy(out->index + i * k, found->index + i * found->k, k * sizeof *out->index);
		memcpy(out->distance2 + i * k, found->distance2 + i * found->k, k * sizeof *out->distance2);
	}
	return COP_OK;
}

static cop_err weigh(const cop_train_fitting *f, const cop_neighbours *found, size_t k, cop_graph **out)
{
	cop_neighbours nearest;
	float *weight = cop_mem_alloc(found->n, k * sizeof *weight);
	double perplexity = cop_train_knob(f, COP_HYPERPARAMETER_PERPLEXITY, fmax(1.0, 0.5 * (double)k));
	cop_err err = nearest_of(found, k, &nearest);
	if (err == COP_OK && weight == NULL)
		err = COP_ENOMEM;
	if (err == COP_OK)
		err = cop_affinity_entropic(&nearest, perplexity, f->job->pool, weight);
	if (err == COP_OK)
		err = cop_graph_new(&nearest, weight, out);
	cop_neighbours_fini(&nearest);
	cop_mem_free(weight);
	return err;
}

static cop_err make_graph(const cop_train_fitting *f, cop_graph **out)
{
	size_t n = f->job->rows->data->n;
	size_t k = cop_train_whole(f, COP_HYPERPARAMETER_NEIGHBOURS, NEIGHBOURS);
	size_t graph;
	cop_neighbours own = { 0 };
	*out = NULL;
	cop_err err = choose_graph(f, &graph);
	if (err != COP_OK)
		return err;
	cop_neighbours *kept = f->job->neighbours != NULL ? &f->job->neighbours[graph] : &own;
	f->outcome->graph = graph;
	k = k < n - 1 ? k : n - 1;
	err = find_neighbours(f, graph, k, kept);
	if (err == COP_OK)
		err = weigh(f, kept, k, out);
	cop_neighbours_fini(&own);
	return err;
}

static void take_settings(const cop_train_fitting *f, const cop_sample *labelled, cop_laptao_settings *set)
{
	static const cop_laptao_solver solvers[] = { COP_LAPTAO_EITHER, COP_LAPTAO_GRADIENTS, COP_LAPTAO_EIGENVECTORS };
	cop_laptao_defaults(set);
	if (labelled->task == COP_TASK_VALUES)
		set->gamma = set->tree.alpha = VALUES_PENALTY;
	set->gamma = cop_train_knob(f, COP_HYPERPARAMETER_GAMMA, set->gamma);
	set->mu = cop_train_knob(f, COP_HYPERPARAMETER_MU, set->mu);
	set->growth = cop_train_knob(f, COP_HYPERPARAMETER_GROWTH, set->growth);
	set->rounds = cop_train_whole(f, COP_HYPERPARAMETER_ROUNDS, set->rounds);
	set->solver = solvers[(size_t)cop_train_knob(f, COP_HYPERPARAMETER_SOLVER, COP_LAPTAO_GRADIENTS)];
	set->trees = (size_t)cop_train_knob(f, COP_HYPERPARAMETER_TREES, 1.0);
	set->share = cop_train_knob(f, COP_HYPERPARAMETER_SHARE, set->share);
	cop_train_tao_knobs(f, cop_train_target_variance(labelled), &set->tree);
}

static cop_err check(const cop_train_fitting *f, const cop_laptao_settings *set)
{
	size_t n = f->job->rows->data->n;
	if (n < 2)
		return cop_train_refuse(f->diag, "laptao: one row; expected at least two");
	if (!isfinite(set->mu * pow(set->growth, set->rounds)))
		return cop_train_refuse(
		        f->diag, "--mu times --growth in each of --rounds is no number any more; expected less");
	if (set->solver == COP_LAPTAO_EIGENVECTORS && n > MOST_EIGENVECTORS) {
		cop_diag_message(f->diag,
		        "--solver eigenvectors takes a matrix of rows by rows, and there are %zu rows; expected at "
		        "most "
		        "%d, or gradients",
		        n, MOST_EIGENVECTORS);
		return COP_EINVAL;
	}
	return COP_OK;
}

/* Guesses are for values unless they are asked for. */
static cop_err take_guesses(const cop_train_fitting *f, const cop_sample *labelled, cop_train_teacher *out)
{
	size_t usual = labelled->task == COP_TASK_VALUES ? COP_TRAIN_TEACHER_TREES : 0;
	return cop_train_teacher_guess(f->job, labelled,
	        (size_t)cop_train_knob(f, COP_HYPERPARAMETER_TEACHER, (double)usual),
	        cop_train_knob(f, COP_HYPERPARAMETER_TEACHER_WEIGHT, COP_TRAIN_TEACHER_WEIGHT), out);
}

cop_err cop_train_fit_laptao(const cop_train_fitting *f, const cop_sample *labelled, cop_trees **out)
{
	cop_laptao_settings set;
	cop_laptao_report report = { 0 };
	cop_sample all = *labelled;
	cop_graph *graph = NULL;
	cop_train_teacher teacher = { 0 };
	cop_rng rng;
	all.n = all.rows->n;
	all.row = NULL;
	cop_rng_init(&rng, f->job->seed, 0);
	take_settings(f, labelled, &set);
	cop_err err = check(f, &set);
	if (err == COP_OK)
		err = make_graph(f, &graph);
	if (err == COP_OK)
		err = take_guesses(f, labelled, &teacher);
	all.label = teacher.label;
	all.target = teacher.target;
	if (err == COP_OK)
		err = cop_laptao_fit(&set, &all, teacher.mask, true, graph, f->job->start, f->job->pool, &rng,
		        f->progress, &report, out);
	if (err == COP_OK) {
		f->outcome->objective = report.objective;
		f->outcome->gap = report.gap;
		f->outcome->rounds = report.rounds;
		f->outcome->unlabelled_parts = report.unlabelled_parts;
	}
	cop_mem_free(report.lagrangian);
	cop_train_teacher_fini(&teacher);
	cop_graph_free(graph);
	return err;
}
