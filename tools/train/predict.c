/* coppice predict: a trained model's predictions of a file's rows, as csv. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/stream.h"
#include "tools/common/command.h"
#include "tools/common/options.h"
#include "tools/common/trained_score.h"
#include "view/trained.h"

#define NAME "predict"

static const char usage_text[] = "usage: coppice predict MODEL FILE [OPTION ...]\n\n"
                                 "Writes a line for each row of FILE: what the model that `coppice train` wrote\n"
                                 "predicts, or z0,z1: where the map of `coppice embed` puts it. FILE has the\n"
                                 "columns of the training file; the one that was to be predicted may be missing.\n\n"
                                 "  --out FILE        write there (.gz, .zst: compressed) instead of standard\n"
                                 "                    output\n"
                                 "  --probabilities   classes: the probability of each as well\n"
                                 "  --leaves          the leaf that the row reaches in each tree as well\n"
                                 "  --no-header       no line of names\n"
                                 "  --threads N       (default: the processors)\n"
                                 "  --json            one JSON object instead of csv: target, predictions, and\n"
                                 "                    what else was asked for\n";

typedef struct predicting {
	const char *model_path, *file, *out;
	bool probabilities, leaves, no_header, json;
	uint64_t threads;
	cop_pool *pool;
	cop_trained *model;
	cop_labelled rows;
	double *outputs; /* n x K */
	cop_bytes text;
	cop_stream *stream;
} predicting;

static void put(cop_bytes *text, const char *words) { cop_bytes_put(text, words, strlen(words)); }

/* In quotes where csv wants them. */
static void put_field(cop_bytes *text, const char *words)
{
	if (strpbrk(words, ",\"\n\r") == NULL) {
		put(text, words);
		return;
	}
	cop_bytes_put_u8(text, '"');
	for (const char *c = words; *c != '\0'; c++) {
		if (*c == '"')
			cop_bytes_put_u8(text, '"');
		cop_bytes_put_u8(text, (uint8_t)*c);
	}
	cop_bytes_put_u8(text, '"');
}

static void put_number(cop_bytes *text, const char *before, int digits, double value)
{
	char word[40];
	(void)snprintf(word, sizeof word, "%s%.*g", before, digits, value);
	put(text, word);
}

/* Numbers that a row's prediction is; 0: it is a class. */
static size_t values_of(const predicting *p)
{
	return cop_encoder_classes(p->model->preparation) > 0 ? 0 : cop_trees_outputs(p->model->trees);
}

static void put_header(predicting *p)
{
	const cop_encoder *preparation = p->model->preparation;
	char word[300];
	(void)snprintf(word, sizeof word, "%.250s", cop_encoder_target(preparation));
	if (values_of(p) < 2)
		put_field(&p->text, word);
	for (size_t k = 0; k < values_of(p) && values_of(p) > 1; k++) {
		(void)snprintf(word, sizeof word, "%sz%zu", k > 0 ? "," : "", k);
		put(&p->text, word);
	}
	for (size_t k = 0; k < cop_encoder_classes(preparation) && p->probabilities; k++) {
		(void)snprintf(word, sizeof word, "p(%.250s)", cop_encoder_class(preparation, k));
		put(&p->text, ",");
		put_field(&p->text, word);
	}
	for (size_t t = 0; t < cop_trees_count(p->model->trees) && p->leaves; t++) {
		(void)snprintf(word, sizeof word, ",leaf%zu", t);
		put(&p->text, word);
	}
	put(&p->text, "\n");
}

static void put_row(predicting *p, size_t i)
{
	const cop_encoder *preparation = p->model->preparation;
	size_t classes = cop_encoder_classes(preparation);
	size_t outputs = cop_trees_outputs(p->model->trees);
	const double *out = p->outputs + i * outputs;
	if (classes > 0)
		put_field(&p->text, cop_encoder_class(preparation, cop_trained_score_best(outputs, out)));
	for (size_t k = 0; k < values_of(p); k++)
		put_number(&p->text, k > 0 ? "," : "", 9, out[k]);
	for (size_t k = 0; k < classes && p->probabilities; k++)
		put_number(&p->text, ",", 6, out[k]);
	for (size_t t = 0; t < cop_trees_count(p->model->trees) && p->leaves; t++) {
		cop_row row;
		cop_dataset_row(p->rows.data, i, &row);
		put_number(&p->text, ",", 9, (double)cop_tree_leaf(cop_trees_at(p->model->trees, t), &row));
	}
	put(&p->text, "\n");
}

static cop_err flush_text(predicting *p)
{
	cop_err err = p->text.err == COP_OK ? cop_stream_write(p->stream, p->text.data, p->text.length) : p->text.err;
	cop_bytes_clear(&p->text);
	return err;
}

static void json_array(cop_json_writer *json, const char *key) { cop_json_put_array(json, key); }

static void json_prediction(const predicting *p, size_t i, cop_json_writer *json)
{
	size_t outputs = cop_trees_outputs(p->model->trees), values = values_of(p);
	const double *out = p->outputs + i * outputs;
	if (values == 0)
		cop_json_text(json, cop_encoder_class(p->model->preparation, cop_trained_score_best(outputs, out)));
	if (values > 1)
		cop_json_begin_array(json);
	for (size_t k = 0; k < values; k++)
		cop_json_number(json, out[k]);
	if (values > 1)
		cop_json_end_array(json);
}

static void json_probabilities(const predicting *p, cop_json_writer *json)
{
	size_t classes = cop_encoder_classes(p->model->preparation);
	json_array(json, "classes");
	for (size_t k = 0; k < classes; k++)
		cop_json_text(json, cop_encoder_class(p->model->preparation, k));
	cop_json_end_array(json);
	json_array(json, "probabilities");
	for (size_t i = 0; i < p->rows.data->n; i++) {
		cop_json_begin_array(json);
		for (size_t k = 0; k < classes; k++)
			cop_json_number(json, p->outputs[i * cop_trees_outputs(p->model->trees) + k]);
		cop_json_end_array(json);
	}
	cop_json_end_array(json);
}

static void json_leaves(const predicting *p, cop_json_writer *json)
{
	json_array(json, "leaves");
	for (size_t i = 0; i < p->rows.data->n; i++) {
		cop_row row;
		cop_dataset_row(p->rows.data, i, &row);
		cop_json_begin_array(json);
		for (size_t t = 0; t < cop_trees_count(p->model->trees); t++)
			cop_json_unsigned(json, cop_tree_leaf(cop_trees_at(p->model->trees, t), &row));
		cop_json_end_array(json);
	}
	cop_json_end_array(json);
}

static cop_err write_json(predicting *p)
{
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(true, &json);
	if (err != COP_OK)
		return err;
	cop_json_put_text(json, "target", cop_encoder_target(p->model->preparation));
	json_array(json, "predictions");
	for (size_t i = 0; i < p->rows.data->n; i++)
		json_prediction(p, i, json);
	cop_json_end_array(json);
	if (p->probabilities && cop_encoder_classes(p->model->preparation) > 0)
		json_probabilities(p, json);
	if (p->leaves)
		json_leaves(p, json);
	err = cop_command_json_line(json, &p->text);
	return err == COP_OK ? flush_text(p) : err;
}

static cop_err write_all(predicting *p)
{
	if (p->json)
		return write_json(p);
	cop_err err = COP_OK;
	if (!p->no_header)
		put_header(p);
	for (size_t i = 0; i < p->rows.data->n && err == COP_OK; i++) {
		put_row(p, i);
		if (p->text.length > 1 << 16)
			err = flush_text(p);
	}
	return err == COP_OK ? flush_text(p) : err;
}

static cop_err predict(predicting *p, cop_diag *diag)
{
	cop_err err = cop_trained_load(p->model_path, &p->model, diag);
	if (err == COP_OK)
		err = cop_labelled_rows_read(p->file, p->model->preparation, false, &p->rows, diag);
	if (err != COP_OK)
		return err;
	size_t n = p->rows.data->n;
	err = cop_pool_new((unsigned)p->threads, &p->pool);
	p->outputs = cop_mem_alloc(n, cop_trees_outputs(p->model->trees) * sizeof *p->outputs);
	if (err == COP_OK)
		err = p->outputs != NULL ? cop_trained_score_outputs(p->model->trees, p->model->preparation, &p->rows,
		                                   n, NULL, p->pool, p->outputs)
		                         : COP_ENOMEM;
	if (err != COP_OK) {
		cop_diag_of(diag, p->file, "%s", cop_err_text(err));
		return err;
	}
	err = cop_stream_open_replace(p->out, &p->stream, diag);
	if (err != COP_OK)
		return err;
	if (write_all(p) == COP_ENOMEM) { /* the stream has no error then, so it is not closed: an older file stays */
		cop_stream_free(p->stream);
		return COP_ENOMEM;
	}
	return cop_stream_close(p->stream, diag);
}

#define OF(member) COP_OPTION_OF(predicting, member)

static const cop_option rows[] = {
	{ "out", COP_OPTION_TEXT, OF(out) },
	{ "probabilities", COP_OPTION_FLAG, OF(probabilities) },
	{ "leaves", COP_OPTION_FLAG, OF(leaves) },
	{ "no-header", COP_OPTION_FLAG, OF(no_header) },
	{ "threads", COP_OPTION_WHOLE, OF(threads), 1, COP_POOL_MAX_THREADS },
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ .name = NULL },
};

int cop_command_predict(int argc, char **argv)
{
	predicting p = { .out = "-", .threads = cop_command_processors() };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &p, NULL } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind + 2 != argc)
		return cop_command_misused(NAME, "expected MODEL and FILE (coppice predict --help)");
	p.model_path = argv[optind];
	p.file = argv[optind + 1];
	cop_diag diag = { 0 };
	cop_bytes_init(&p.text);
	cop_err err = predict(&p, &diag);
	cop_bytes_fini(&p.text);
	cop_mem_free(p.outputs);
	cop_labelled_rows_fini(&p.rows);
	cop_trained_free(p.model);
	cop_pool_free(p.pool);
	return err == COP_OK ? 0 : cop_command_failed(NAME, &diag);
}
