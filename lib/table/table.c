/* libsvm files and what both formats share: classes are numbers while every target of training can be one as it stands,
 * else names. csv is in table_fit.c (training) and table_transform.c (later files). */
#include "table/table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "table/libsvm.h"
#include "table/table_reader_private.h"

/* ---- classes ---- */

cop_err cop_table_add_class(cop_encoder *p, const cop_table_name *name, double *target)
{
	uint32_t number = cop_name_table_find(&p->classes, 0, name->text, name->length);
	cop_err err = COP_OK;
	if (number == COP_NAME_NONE && p->classes.count == COP_DATASET_MAX_CLASSES)
		return COP_EFULL;
	if (number == COP_NAME_NONE)
		err = cop_name_table_add(
		        &p->classes, 0, (cop_name_prefix){ NULL, 0 }, name->text, name->length, &number);
	if (err == COP_OK)
		*target = number;
	return err;
}

/* Are the targets classes as they stand (table/table.h)? Then *classes is K, else 0. */
static cop_err find_numbered(const cop_dataset *data, size_t *classes)
{
	size_t there = 0, greatest = 0;
	*classes = 0;
	uint8_t *seen = cop_mem_alloc(COP_DATASET_MAX_CLASSES, sizeof *seen);
	if (seen == NULL)
		return COP_ENOMEM;
	bool all = true;
	for (size_t i = 0; i < data->n && all; i++) {
		if (isnan(data->target[i]))
			continue;
		all = cop_dataset_is_class(data->target[i]);
		size_t k = all ? (size_t)data->target[i] : 0;
		there += seen[k] == 0;
		seen[k] = 1;
		greatest = k > greatest ? k : greatest;
	}
	if (all && seen[0] && 2 * there >= greatest + 1)
		*classes = greatest + 1;
	cop_mem_free(seen);
	return COP_OK;
}

cop_err cop_table_number_targets(cop_encoder *p, cop_dataset *data)
{
	size_t classes;
	cop_err err = find_numbered(data, &classes);
	if (err != COP_OK)
		return err;
	if (classes > 0) {
		for (size_t i = 0; i < data->n; i++)
			data->target[i] += 0.0; /* no -0 */
		return cop_encoder_number_classes(p, classes);
	}
	for (size_t i = 0; i < data->n && err == COP_OK; i++) {
		cop_table_name name;
		if (isnan(data->target[i]))
			continue;
		cop_table_number_class(data->target[i], &name);
		err = cop_table_add_class(p, &name, &data->target[i]);
		if (p->classes.count > COP_TABLE_MAX_NUMBER_CLASSES)
			err = COP_EFULL;
	}
	return err;
}

double cop_table_number_to_class(const cop_encoder *p, double value)
{
	if (p->numbered)
		return cop_dataset_is_class(value) && value < (double)p->classes.count ? value + 0.0 : (double)NAN;
	cop_table_name name;
	cop_table_number_class(value, &name);
	uint32_t k = cop_name_table_find(&p->classes, 0, name.text, name.length);
	return k == COP_NAME_NONE ? (double)NAN : k;
}

cop_err cop_table_no_memory(const cop_stream *stream, cop_diag *diag)
{
	cop_diag_at_line(diag, cop_stream_name(stream), cop_stream_line_number(stream), "out of memory");
	return COP_ENOMEM;
}

/* ---- libsvm ---- */

typedef struct judgement {
	const cop_encoder *p; /* NULL: training */
	bool labelled;
} judgement;

static cop_err judge_target(void *owner, double *target, char says[COP_LIBSVM_SAYS])
{
	const judgement *j = owner;
	double value = *target;
	if (!(fabs(value) <= (double)FLT_MAX)) {
		(void)snprintf(says, COP_LIBSVM_SAYS, "target %g cannot be held; expected at most 3.4e38", value);
		return COP_ENONFINITE;
	}
	if (j->p == NULL || j->p->regression)
		return COP_OK;
	*target = cop_table_number_to_class(j->p, value);
	if (!isnan(*target) || !j->labelled)
		return COP_OK;
	(void)snprintf(says, COP_LIBSVM_SAYS,
	        "the target is class \"%.17g\"; expected one of the %zu classes of training", value,
	        j->p->classes.count);
	return COP_EFORMAT;
}

static cop_err no_such_column(const cop_stream *stream, const char *setting, const char *column, cop_diag *diag)
{
	cop_diag_of(diag, cop_stream_name(stream),
	        "there is no column \"%.60s\", which is to be %s; expected none to be named, as libsvm files have no "
	        "columns",
	        column, setting);
	return COP_EFORMAT;
}

static cop_err libsvm_training(
        cop_stream *stream, const cop_table_settings *settings, cop_encoder *p, cop_dataset **data, cop_diag *diag)
{
	judgement j = { .labelled = true };
	const char *what = COP_TABLE_TOO_MANY_NUMBERS;
	if (settings->target != NULL)
		return no_such_column(stream, "the target", settings->target, diag);
	if (settings->categories != NULL && settings->categories[0] != '\0')
		return no_such_column(stream, "a category", settings->categories, diag);
	if (settings->ignored != NULL && settings->ignored[0] != '\0')
		return no_such_column(stream, "ignored", settings->ignored, diag);
	cop_err err = cop_libsvm_read_judged(stream, &(cop_libsvm_judge){ &j, judge_target }, data, diag);
	if (err != COP_OK)
		return err;
	p->sparse = true;
	p->d = (*data)->d;
	p->index_base = (*data)->index_base;
	if (!settings->regression)
		err = cop_table_number_targets(p, *data);
	if (err == COP_OK)
		err = cop_encoder_finish(p, &what);
	if (err != COP_OK)
		cop_diag_of(diag, cop_stream_name(stream), "%s", err == COP_EFULL ? what : cop_err_text(err));
	return err;
}

static cop_err libsvm_later(cop_stream *stream, const cop_encoder *p, bool labelled, cop_dataset **data, cop_diag *diag)
{
	judgement j = { p, labelled };
	cop_err err = cop_libsvm_read_judged(stream, &(cop_libsvm_judge){ &j, judge_target }, data, diag);
	return err == COP_OK ? cop_dataset_conform(*data, p->d, p->index_base) : err;
}

/* ---- both ---- */

cop_err cop_table_training_from(cop_stream *stream, bool libsvm, const cop_table_settings *settings, cop_dataset **data,
        cop_encoder **preparation, cop_diag *diag)
{
	COP_ASSERT(settings->scaling < COP_SCALINGS && settings->missing < COP_MISSINGS);
	*data = NULL;
	*preparation = NULL;
	cop_encoder *p;
	if (cop_encoder_empty(&p) != COP_OK)
		return cop_table_no_memory(stream, diag);
	p->regression = settings->regression;
	p->missing = (uint8_t)settings->missing;
	cop_encoder_set_scaling(p, settings->scaling, settings->scale_target);
	cop_err err = (libsvm ? libsvm_training : cop_table_csv_training)(stream, settings, p, data, diag);
	if (err == COP_OK) {
		*preparation = p;
		return COP_OK;
	}
	cop_encoder_free(p);
	cop_dataset_free(*data);
	*data = NULL;
	return err;
}

cop_err cop_table_from(
        cop_stream *stream, bool libsvm, const cop_encoder *p, bool labelled, cop_dataset **data, cop_diag *diag)
{
	*data = NULL;
	if (libsvm != p->sparse) {
		cop_diag_of(diag, cop_stream_name(stream), "it is %s; expected %s as in training",
		        libsvm ? "libsvm" : "csv", p->sparse ? "libsvm" : "csv");
		return COP_ESHAPE;
	}
	cop_err err = (libsvm ? libsvm_later : cop_table_csv_later)(stream, p, labelled, data, diag);
	if (err == COP_OK)
		return COP_OK;
	cop_dataset_free(*data);
	*data = NULL;
	return err;
}

cop_err cop_table_read_training(const char *path, const cop_table_settings *settings, cop_dataset **data,
        cop_encoder **preparation, cop_diag *diag)
{
	cop_stream *stream;
	*data = NULL;
	*preparation = NULL;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	if (err != COP_OK)
		return err;
	err = cop_table_training_from(stream, cop_dataset_is_libsvm(path), settings, data, preparation, diag);
	cop_stream_free(stream);
	return err;
}

cop_err cop_table_read(
        const char *path, const cop_encoder *preparation, bool labelled, cop_dataset **data, cop_diag *diag)
{
	cop_stream *stream;
	*data = NULL;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	if (err != COP_OK)
		return err;
	err = cop_table_from(stream, cop_dataset_is_libsvm(path), preparation, labelled, data, diag);
	cop_stream_free(stream);
	return err;
}
