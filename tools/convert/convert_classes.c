/* Rows with a class become events: the logging policy chooses an arm, which costs less when it is the class. The order
 * of rows, the draws and the policy's start come from separate streams of the seed. */
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/mem.h"
#include "convert.h"

typedef struct rows {
	cop_dataset *data;
	size_t arms;
	uint32_t *order;
	char **names; /* of the first file's columns; NULL: it has none */
	cop_rng shuffle;
} rows;

static void rows_fini(rows *r)
{
	for (size_t i = 0; r->names != NULL && i < r->data->d; i++)
		cop_mem_free(r->names[i]);
	cop_mem_free(r->names);
	cop_mem_free(r->order);
	cop_dataset_free(r->data);
}

static cop_err no_memory(const char *path, cop_diag *diag)
{
	cop_diag_of(diag, path, "out of memory");
	return COP_ENOMEM;
}

/* ---- reading ---- */

static cop_err check_classes(const char *path, const cop_dataset *data, cop_diag *diag)
{
	size_t classes;
	cop_err err = cop_dataset_classes(data, &classes, diag);
	if (err != COP_OK)
		(void)snprintf(diag->source, sizeof diag->source, "%s", path);
	return err;
}

static cop_err add_file(rows *r, const char *path, const char *first, cop_diag *diag)
{
	cop_dataset *more = NULL;
	cop_err err = cop_dataset_read(path, &more, diag);
	if (err == COP_OK)
		err = check_classes(path, more, diag);
	if (err == COP_OK && r->data == NULL) {
		r->data = more;
		return COP_OK;
	}
	if (err == COP_OK) {
		err = cop_dataset_append(r->data, more);
		if (err == COP_ESHAPE)
			cop_diag_of(diag, path, "its rows differ from those of %s: expected %s with %zu features",
			        first, r->data->sparse ? "sparse ones" : "dense ones", r->data->d);
		else if (err != COP_OK)
			cop_diag_of(diag, path, "%s", cop_err_text(err));
	}
	cop_dataset_free(more);
	return err;
}

static bool is_csv(const char *path)
{
	size_t length = strlen(path);
	static const char *const packed[] = { ".gz", ".zst" };
	for (size_t i = 0; i < 2; i++)
		if (length > strlen(packed[i]) && strcmp(path + length - strlen(packed[i]), packed[i]) == 0)
			length -= strlen(packed[i]);
	static const char *const sparse[] = { ".libsvm", ".svm" };
	for (size_t i = 0; i < 2; i++)
		if (length >= strlen(sparse[i]) &&
		        strncmp(path + length - strlen(sparse[i]), sparse[i], strlen(sparse[i])) == 0)
			return false;
	return cop_stream_can_repeat(path); /* else it has been read */
}

/* The names of the header, where there is one. */
static cop_err read_names(rows *r, const char *path, cop_diag *diag)
{
	cop_stream *stream;
	cop_csv *csv = NULL;
	const double *values;
	size_t count;
	if (r->data->sparse || !is_csv(path))
		return COP_OK;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	if (err != COP_OK)
		return err;
	err = cop_csv_new(stream, &csv);
	if (err == COP_OK)
		err = cop_csv_next(csv, &values, &count, diag);
	if (err == COP_OK && cop_csv_column(csv, 0) != NULL) {
		r->names = cop_mem_alloc(r->data->d, sizeof *r->names);
		err = r->names == NULL ? COP_ENOMEM : COP_OK;
		for (size_t i = 0; i < r->data->d && err == COP_OK; i++) {
			r->names[i] = cop_mem_strdup(cop_csv_column(csv, i));
			err = r->names[i] == NULL ? COP_ENOMEM : COP_OK;
		}
	}
	cop_csv_free(csv);
	cop_stream_free(stream);
	return err == COP_ENOMEM ? no_memory(path, diag) : err;
}

static cop_err read_rows(rows *r, const cop_convert_options *o, cop_diag *diag)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < o->files && err == COP_OK; i++)
		err = add_file(r, o->in[i], o->in[0], diag);
	if (err == COP_OK)
		err = read_names(r, o->in[0], diag);
	if (err != COP_OK)
		return err;
	err = cop_dataset_classes(r->data, &r->arms, diag);
	if (err == COP_OK && r->arms < 2) {
		cop_diag_of(diag, o->in[0], "every row is of class 0, expected at least two classes");
		return COP_EINVAL;
	}
	r->order = cop_mem_alloc(r->data->n, sizeof *r->order);
	if (r->order == NULL)
		return no_memory(o->in[0], diag);
	for (size_t i = 0; i < r->data->n; i++)
		r->order[i] = (uint32_t)i;
	cop_rng_init(&r->shuffle, o->logging.seed, 1);
	return err;
}

/* ---- writing ---- */

static cop_err write_pass(cop_convert_run *run, rows *r, cop_logging_policy *policy, bool *over, cop_diag *diag)
{
	const cop_convert_options *o = run->options;
	cop_err err = COP_OK;
	for (size_t i = 0; i < r->data->n && err == COP_OK && !*over; i++) {
		cop_logged_event event = {
			.line = (uint64_t)r->order[i] + 1, .labelled = true, .learn = true, .weight = 1.0
		};
		cop_dataset_row(r->data, r->order[i], &event.x);
		cop_logging_policy_draw(policy, &event.x, &event.action, &event.p);
		bool right = r->data->target[r->order[i]] == (double)event.action;
		event.cost = right ? o->cost_right : o->cost_wrong;
		err = cop_convert_put(run, &event, over, diag);
	}
	return err;
}

static cop_err write_rows(cop_convert_run *run, rows *r, cop_diag *diag)
{
	const cop_convert_options *o = run->options;
	cop_logging_policy *policy = NULL;
	bool over = false;
	if (o->shuffle)
		cop_rng_shuffle(&r->shuffle, r->data->n, r->order);
	cop_err err = cop_logging_policy_new(&o->logging, r->data, r->arms, r->order, &policy, diag);
	for (uint64_t pass = 0; pass < o->passes && err == COP_OK && !over; pass++) {
		if (o->shuffle && pass > 0)
			cop_rng_shuffle(&r->shuffle, r->data->n, r->order);
		err = write_pass(run, r, policy, &over, diag);
	}
	cop_logging_policy_free(policy);
	return err;
}

cop_err cop_convert_classes(cop_convert_run *run, cop_diag *diag)
{
	const cop_convert_options *o = run->options;
	rows r = { .data = NULL };
	run->in = o->in[0];
	cop_err err = read_rows(&r, o, diag);
	cop_event_writer_settings settings = {
		.names = (const char *const *)r.names,
		.name_count = r.names != NULL ? r.data->d : 0,
		.drop_zeros = o->zeros == COP_CONVERT_ZEROS_DROP,
		.rename = o->rename,
	};
	if (err == COP_OK)
		err = cop_convert_begin(run, &settings, diag);
	if (err == COP_OK)
		err = write_rows(run, &r, diag);
	err = cop_convert_end(run, err, diag);
	rows_fini(&r);
	return err;
}
