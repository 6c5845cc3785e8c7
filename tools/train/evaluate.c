/* coppice evaluate: how well a trained model predicts a file's rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tools/common/command.h"
#include "tools/common/options.h"
#include "tools/common/trained_score.h"
#include "view/trained.h"

#define NAME           "evaluate"
#define CONFUSION_TEXT 30 /* most classes of a table on a terminal */
#define MANY           20 /* classes from which on the five best are judged too */
#define SMOOTHING      1e-6

static const char usage_text[] = "usage: coppice evaluate MODEL FILE [--confusion] [--smoothing E]\n"
                                 "           [--threads N] [--json]\n\n"
                                 "How well a model that `coppice train` wrote predicts the rows of FILE, which has\n"
                                 "the columns of the training file: share of wrong classes and, of two classes,\n"
                                 "the area under the ROC curve; of 20 classes or more also the share of rows whose\n"
                                 "class is not among the five most probable, and the perplexity over the rows\n"
                                 "whose class has a probability above 0, and over all rows, smoothed; or RMSE in\n"
                                 "the file's unit; parameters, and FLOPs of a prediction.\n\n"
                                 "  --confusion   rows by true class (lines) and predicted class (columns) as well\n"
                                 "  --smoothing E\n"
                                 "                what each class of probability 0 gets for the smoothed\n"
                                 "                perplexity, before all are divided by their sum (default 1e-6)\n"
                                 "  --threads N   (default: the processors)\n"
                                 "  --json        one JSON object on standard output\n";

typedef struct evaluation {
	const char *model_path, *file;
	bool confusion, json;
	uint64_t threads;
	double smoothing;
	cop_pool *pool;
	cop_trained *model;
	cop_labelled rows;
	cop_trained_score score;
	cop_trained_many many;
	uint64_t *counts; /* K x K: true, predicted */
} evaluation;

static cop_err count_confusion(evaluation *e)
{
	size_t n = e->rows.data->n;
	size_t k = e->rows.classes;
	double *outputs = cop_mem_alloc(n, k * sizeof *outputs);
	e->counts = cop_mem_alloc(k, k * sizeof *e->counts);
	cop_err err = outputs != NULL && e->counts != NULL
	                      ? cop_trained_score_outputs(
	                                e->model->trees, e->model->preparation, &e->rows, n, NULL, e->pool, outputs)
	                      : COP_ENOMEM;
	for (size_t i = 0; i < n && err == COP_OK; i++)
		e->counts[e->rows.label[i] * k + cop_trained_score_best(k, outputs + i * k)]++;
	cop_mem_free(outputs);
	return err;
}

static cop_err evaluate(evaluation *e, cop_diag *diag)
{
	cop_err err = cop_trained_load(e->model_path, &e->model, diag);
	if (err == COP_OK && cop_encoder_classes(e->model->preparation) == 0 &&
	        cop_trees_outputs(e->model->trees) > 1) {
		cop_diag_of(diag, e->model_path, "predicts %zu values of a row, expected a class or one value",
		        cop_trees_outputs(e->model->trees));
		err = COP_ESHAPE;
	}
	if (err == COP_OK)
		err = cop_labelled_rows_read(e->file, e->model->preparation, true, &e->rows, diag);
	if (err != COP_OK)
		return err;
	err = cop_pool_new((unsigned)e->threads, &e->pool);
	if (err == COP_OK)
		err = cop_trained_score_rate(e->model->trees, e->model->preparation, &e->rows, e->rows.data->n, NULL,
		        true, e->pool, &e->score);
	if (err == COP_OK && e->rows.classes >= MANY)
		err = cop_trained_score_many(
		        e->model->trees, e->model->preparation, &e->rows, e->smoothing, e->pool, &e->many);
	if (err == COP_OK && e->confusion && e->rows.classes > 0)
		err = count_confusion(e);
	if (err != COP_OK)
		cop_diag_of(diag, e->file, "%s", cop_err_text(err));
	return err;
}

static void put_confusion(const evaluation *e, cop_json_writer *json)
{
	size_t k = e->rows.classes;
	cop_json_put_array(json, "classes");
	for (size_t i = 0; i < k; i++)
		cop_json_text(json, cop_encoder_class(e->model->preparation, i));
	cop_json_end_array(json);
	cop_json_put_array(json, "confusion");
	for (size_t i = 0; i < k; i++) {
		cop_json_begin_array(json);
		for (size_t j = 0; j < k; j++)
			cop_json_unsigned(json, e->counts[i * k + j]);
		cop_json_end_array(json);
	}
	cop_json_end_array(json);
}

static cop_err show_json(const evaluation *e)
{
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(true, &json);
	if (err != COP_OK)
		return err;
	cop_json_put_unsigned(json, "rows", e->rows.data->n);
	cop_trained_score_put(&e->score, "", json);
	if (e->rows.classes >= MANY) {
		cop_json_put_number(json, "top5_error", e->many.top5);
		cop_json_put_number(json, "perplexity", e->many.perplexity);
		cop_json_put_number(json, "covered", e->many.covered);
		cop_json_put_number(json, "smoothed_perplexity", e->many.smoothed);
	}
	cop_json_put_unsigned(json, "parameters", cop_trees_parameters(e->model->trees));
	cop_json_put_number(json, "flops", e->score.flops);
	if (e->counts != NULL)
		put_confusion(e, json);
	return cop_command_json(json);
}

static void show_confusion(const evaluation *e)
{
	size_t k = e->rows.classes;
	const cop_encoder *preparation = e->model->preparation;
	if (k > CONFUSION_TEXT) {
		(void)printf("%zu classes: the table is in --json\n", k);
		return;
	}
	(void)printf("\n%-12s", "true \\ pred.");
	for (size_t j = 0; j < k; j++)
		(void)printf(" %7.7s", cop_encoder_class(preparation, j));
	for (size_t i = 0; i < k; i++) {
		(void)printf("\n%-12.12s", cop_encoder_class(preparation, i));
		for (size_t j = 0; j < k; j++)
			(void)printf(" %7llu", (unsigned long long)e->counts[i * k + j]);
	}
	(void)puts("");
}

static void show_text(const evaluation *e)
{
	const cop_trained_score *s = &e->score;
	(void)printf("%zu rows, ", e->rows.data->n);
	if (e->rows.classes == 0)
		(void)printf("RMSE %.6g", s->rmse);
	else
		(void)printf("error %.2f %%", 100.0 * s->error);
	if (e->rows.classes >= MANY)
		(void)printf(", top-5 error %.2f %%, perplexity %.4g (%.2f %% covered; smoothed %.4g)",
		        100.0 * e->many.top5, e->many.perplexity, 100.0 * e->many.covered, e->many.smoothed);
	if (!isnan(s->auc))
		(void)printf(", AUC %.4f", s->auc);
	(void)printf("; %zu parameters, %.0f FLOPs a row\n", cop_trees_parameters(e->model->trees), s->flops);
	if (e->counts != NULL)
		show_confusion(e);
}

#define OF(member) COP_OPTION_OF(evaluation, member)

static const cop_option rows[] = {
	{ "confusion", COP_OPTION_FLAG, OF(confusion) },
	{ "smoothing", COP_OPTION_NUMBER, OF(smoothing), .low = 1e-300, .high = 1.0 },
	{ "threads", COP_OPTION_WHOLE, OF(threads), 1, COP_POOL_MAX_THREADS },
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ .name = NULL },
};

int cop_command_evaluate(int argc, char **argv)
{
	evaluation e = { .threads = cop_command_processors(), .smoothing = SMOOTHING };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &e, NULL } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind + 2 != argc)
		return cop_command_misused(NAME, "expected MODEL and FILE (coppice evaluate --help)");
	e.model_path = argv[optind];
	e.file = argv[optind + 1];
	cop_diag diag = { 0 };
	cop_err err = evaluate(&e, &diag);
	if (err == COP_OK && e.json)
		err = show_json(&e);
	else if (err == COP_OK)
		show_text(&e);
	cop_mem_free(e.counts);
	cop_labelled_rows_fini(&e.rows);
	cop_trained_free(e.model);
	cop_pool_free(e.pool);
	return cop_command_end(NAME, err, NULL, &diag);
}
