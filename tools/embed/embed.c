/* coppice embed: labelled rows in the plane, and the tree that maps rows there. */
#include "embed_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "graph/affinity.h"
#include "linalg/blas.h"
#include "tools/common/command.h"
#include "tools/common/labelled_rows.h"
#include "view/trained.h"
#include "view/view_embedding.h"

#define NAME       COP_EMBED_NAME
#define NEIGHBOURS 3.0 /* for each unit of perplexity */

typedef struct embedding {
	const cop_embed_options *o;
	cop_pool *pool;
	cop_labelled rows;
	cop_encoder *preparation;
	cop_graph *graph;
	cop_tree_embedding_result result;
	cop_trained *model; /* owns preparation once it is there */
	double seconds, shown;
} embedding;

static bool report_progress(void *context, double share, const char *text)
{
	embedding *e = context;
	double now = cop_command_now();
	if (now - e->shown > 0.2) {
		(void)fprintf(stderr, "\r\033[K%3.0f %%  %.100s", 100.0 * share, text);
		e->shown = now;
	}
	return true;
}

static cop_err make_graph(embedding *e)
{
	const cop_dataset *data = e->rows.data;
	const cop_points points = { .n = data->n,
		.d = data->d,
		.x = data->x,
		.start = data->start,
		.index = data->index,
		.value = data->value };
	cop_neighbours near;
	double wanted = ceil(NEIGHBOURS * e->o->perplexity);
	size_t k = wanted < (double)(data->n - 1) ? (size_t)wanted : data->n - 1;
	if (e->o->perplexity >= (double)k)
		cop_command_complain(NAME,
		        "%zu rows have fewer neighbours than --perplexity %g asks for; all of them count", data->n,
		        e->o->perplexity);
	cop_blas_threads(1); /* each thread of the pool multiplies */
	cop_err err = cop_neighbours_find(&points, NULL, k, (uint32_t)e->o->seed, e->pool, &near);
	if (err != COP_OK)
		return err;
	float *weight = cop_mem_alloc(data->n, k * sizeof *weight);
	err = weight == NULL ? COP_ENOMEM : cop_affinity_entropic(&near, e->o->perplexity, e->pool, weight);
	if (err == COP_OK)
		err = cop_graph_new(&near, weight, &e->graph);
	cop_mem_free(weight);
	cop_neighbours_fini(&near);
	return err;
}

static cop_err fit(embedding *e)
{
	const cop_progress progress = { report_progress, e };
	bool shows = isatty(STDERR_FILENO);
	cop_rng rng;
	double start = cop_command_now();
	cop_rng_init(&rng, e->o->seed, 0);
	cop_err err = make_graph(e);
	if (err == COP_OK)
		err = cop_tree_embedding_fit(
		        &e->o->fit, e->rows.data, e->graph, e->pool, &rng, shows ? &progress : NULL, &e->result);
	if (shows)
		(void)fputs("\r\033[K", stderr);
	e->seconds = cop_command_now() - start;
	return err;
}

/* ---- the model ---- */

static cop_err make_trees(embedding *e, cop_trees **out)
{
	cop_tree *copy;
	cop_err err = cop_tree_new(cop_tree_view(e->result.joint), &copy);
	if (err != COP_OK)
		return err;
	err = cop_trees_new(COP_TREES_MEAN, 1, &copy, NULL, NULL, out);
	cop_tree_free(copy);
	return err;
}

static void take_words(const embedding *e, char *out, size_t size)
{
	const cop_embed_options *o = e->o;
	int used = snprintf(out, size,
	        "--method %s --perplexity %.10g --lambda %.10g --height %u --rounds %u --sweeps %u --theta %.10g "
	        "--seed %llu --scale %s",
	        cop_embed_methods[o->fit.method], o->perplexity, o->fit.lambda, o->fit.tree.depth, o->fit.rounds,
	        o->fit.tree.iterations, o->fit.theta, (unsigned long long)o->seed,
	        cop_scaling_names[cop_encoder_scaling(e->preparation)]);
	if (o->fit.mu > 0.0) /* else it is chosen */
		used += snprintf(out + used, size - (size_t)used, " --mu %.10g", o->fit.mu);
	if (o->fit.method == COP_EMBEDDING_ELASTIC)
		(void)snprintf(out + used, size - (size_t)used, " --repulsion %.10g", o->fit.repulsion);
}

/* The census records where the rows of each node and leaf lie. */
static cop_err take_census(embedding *e)
{
	const size_t n = e->rows.data->n;
	float *z = cop_mem_alloc(n, 2 * sizeof *z);
	if (z == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < 2 * n; i++)
		z[i] = (float)e->result.joint_z[i];
	cop_err err = cop_trained_take_census(e->model, e->rows.data, NULL, z);
	cop_mem_free(z);
	return err;
}

static cop_err make_model(embedding *e)
{
	char words[1024];
	cop_trees *trees;
	cop_err err = make_trees(e, &trees);
	if (err != COP_OK)
		return err;
	e->model = cop_mem_alloc(1, sizeof *e->model);
	if (e->model == NULL) {
		cop_trees_free(trees);
		return COP_ENOMEM;
	}
	take_words(e, words, sizeof words);
	cop_encoder_forget_classes(e->preparation);
	e->model->preparation = e->preparation;
	e->model->trees = trees;
	e->model->learner = cop_mem_strdup("embed");
	e->model->settings = cop_mem_strdup(words);
	return e->model->learner != NULL && e->model->settings != NULL ? take_census(e) : COP_ENOMEM;
}

/* ---- reports ---- */

static void put_part(cop_json_writer *json, const char *key, const cop_tree_embedding_part *part)
{
	cop_json_put_object(json, key);
	cop_json_put_number(json, "objective", part->objective);
	cop_json_put_number(json, "embedding", part->embedding);
	cop_json_put_number(json, "penalty", part->penalty);
	cop_json_end_object(json);
}

static cop_err show_json(const embedding *e)
{
	const cop_tree_embedding_result *r = &e->result;
	char words[1024];
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(true, &json);
	if (err != COP_OK)
		return err;
	cop_json_put_text(json, "method", cop_embed_methods[e->o->fit.method]);
	cop_json_put_unsigned(json, "rows", e->rows.data->n);
	cop_json_put_number(json, "lambda", e->o->fit.lambda);
	cop_json_put_number(json, "free", r->free_objective);
	put_part(json, "direct", &r->direct_part);
	put_part(json, "joint", &r->joint_part);
	cop_json_put_unsigned(json, "round", r->best);
	cop_json_put_array(json, "objectives");
	for (unsigned i = 0; i < r->rounds; i++)
		cop_json_number(json, r->round[i].objective);
	cop_json_end_array(json);
	cop_json_put_array(json, "gaps");
	for (unsigned i = 0; i < r->rounds; i++)
		cop_json_number(json, r->gap[i]);
	cop_json_end_array(json);
	cop_json_put_unsigned(json, "leaves", cop_tree_leaves(r->joint));
	cop_json_put_unsigned(json, "depth", cop_tree_depth(r->joint));
	cop_json_put_unsigned(json, "parameters", cop_tree_parameters(r->joint));
	cop_json_put_number(json, "seconds", e->seconds);
	take_words(e, words, sizeof words);
	cop_json_put_text(json, "settings", words);
	return cop_command_json(json);
}

static void show_part(const char *of, const cop_tree_embedding_part *part)
{
	(void)printf("%-15s %12.6g %12.6g %12.6g\n", of, part->objective, part->embedding, part->penalty);
}

static cop_err show(const embedding *e)
{
	const cop_tree_embedding_result *r = &e->result;
	if (e->o->json)
		return show_json(e);
	(void)printf("%-15s %12s %12s %12s\n", "", "objective", "embedding", "weights");
	(void)printf("%-15s %12s %12.6g\n", "free embedding", "", r->free_objective);
	show_part("direct fit", &r->direct_part);
	show_part("tree embedding", &r->joint_part);
	(void)printf("of round %u of %u; %zu leaves, %zu parameters; %.1f s\n", r->best, r->rounds,
	        cop_tree_leaves(r->joint), cop_tree_parameters(r->joint), e->seconds);
	return COP_OK;
}

static cop_err write_rows(const embedding *e, cop_diag *diag)
{
	cop_stream *stream;
	const cop_tree_embedding_result *r = &e->result;
	cop_err err = cop_stream_open_replace(e->o->out, &stream, diag);
	char line[160];
	if (err != COP_OK)
		return err;
	err = cop_stream_write(stream, "z0,z1,free0,free1\n", 18);
	for (size_t i = 0; i < e->rows.data->n && err == COP_OK; i++) {
		int length = snprintf(line, sizeof line, "%.9g,%.9g,%.9g,%.9g\n", r->joint_z[2 * i],
		        r->joint_z[2 * i + 1], r->free_z[2 * i], r->free_z[2 * i + 1]);
		err = cop_stream_write(stream, line, (size_t)length);
	}
	return cop_stream_close(stream, diag);
}

/* ---- the page ---- */

static const char **name_classes(const embedding *e)
{
	const char **names = cop_mem_alloc(e->rows.classes, sizeof *names);
	for (size_t k = 0; names != NULL && k < e->rows.classes; k++)
		names[k] = cop_encoder_class(e->preparation, k);
	return names;
}

/* Before the preparation forgets the classes. */
static cop_err draw(embedding *e, cop_bytes *page)
{
	char figures[300];
	const cop_tree_embedding_result *r = &e->result;
	cop_trees *trees;
	cop_err err = make_trees(e, &trees);
	if (err != COP_OK)
		return err;
	const char **names = name_classes(e);
	cop_trained model = { .preparation = e->preparation, .trees = trees };
	(void)snprintf(figures, sizeof figures,
	        "%s, %zu rows, lambda %.6g: objective %.6g (embedding %.6g), direct fit %.6g (%.6g), free embedding "
	        "%.6g",
	        cop_embed_methods[e->o->fit.method], e->rows.data->n, e->o->fit.lambda, r->joint_part.objective,
	        r->joint_part.embedding, r->direct_part.objective, r->direct_part.embedding, r->free_objective);
	const cop_view_embedding what = { .model = &model,
		.rows = e->rows.data,
		.z = r->joint_z,
		.free_z = r->free_z,
		.label = e->rows.label,
		.classes = e->rows.classes,
		.class_name = names,
		.title = e->o->train,
		.figures = figures };
	err = names != NULL ? cop_view_embedding_html(&what, page) : COP_ENOMEM;
	cop_mem_free(names);
	cop_trees_free(trees);
	return err;
}

static cop_err write_page(embedding *e, cop_diag *diag)
{
	cop_bytes page;
	cop_stream *stream;
	cop_bytes_init(&page);
	cop_err err = draw(e, &page);
	if (err != COP_OK)
		cop_diag_of(diag, e->o->html, "%s", cop_err_text(err));
	else
		err = cop_stream_open_replace(e->o->html, &stream, diag);
	if (err == COP_OK) {
		err = cop_stream_write(stream, page.data, page.length); /* close has the reason */
		cop_err end = cop_stream_close(stream, diag);
		err = err == COP_OK ? end : err;
	}
	cop_bytes_fini(&page);
	return err;
}

static cop_err run(embedding *e, cop_diag *diag)
{
	const cop_embed_options *o = e->o;
	cop_err err = cop_labelled_rows_train(o->train, &o->table, &e->rows, &e->preparation, diag);
	if (err != COP_OK)
		return err;
	if (e->rows.data->n < 3) {
		cop_diag_of(diag, o->train, "%zu rows, expected at least 3", e->rows.data->n);
		return COP_EINVAL;
	}
	err = cop_pool_new(o->threads, &e->pool);
	if (err == COP_OK)
		err = fit(e);
	if (err != COP_OK) {
		cop_diag_of(diag, o->train, "%s", cop_err_text(err));
		return err;
	}
	if (o->out != NULL)
		err = write_rows(e, diag);
	if (err == COP_OK && o->html != NULL)
		err = write_page(e, diag);
	if (err == COP_OK && o->model != NULL)
		err = make_model(e);
	if (err == COP_OK && o->model != NULL)
		err = cop_trained_save(e->model, o->model, diag);
	return err == COP_OK ? show(e) : err;
}

int cop_command_embed(int argc, char **argv)
{
	cop_embed_options options;
	int status = cop_embed_options_read(argc, argv, &options);
	if (status >= 0)
		return status;
	embedding e = { .o = &options };
	cop_diag diag = { 0 };
	cop_err err = run(&e, &diag);
	if (e.model == NULL)
		cop_encoder_free(e.preparation);
	cop_trained_free(e.model);
	cop_tree_embedding_fini(&e.result);
	cop_graph_free(e.graph);
	cop_labelled_rows_fini(&e.rows);
	cop_pool_free(e.pool);
	return cop_command_end(NAME, err, NULL, &diag);
}
