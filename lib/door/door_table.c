/* A file's rows, read with the columns of training and scaled once. */
#include "door/door_trained.h"

#include "base/mem.h"
#include "table/table.h"

/* Scales the rows, which are taken. */
static cop_err make_table(const cop_encoder *encoder, cop_dataset **data, coppice_table **out)
{
	coppice_table *table = cop_mem_alloc(1, sizeof *table);
	if (table == NULL)
		return COP_ENOMEM;
	cop_encoder_apply(encoder, *data);
	table->data = *data;
	*data = NULL;
	*out = table;
	return COP_OK;
}

COP_DOOR_EXPORT coppice_err coppice_table_load(
        const coppice_trained *trained, const char *path, coppice_table **out, coppice_message *message)
{
	const cop_encoder *encoder = trained->trained->preparation;
	cop_diag diag = { .message = "" };
	cop_dataset *data = NULL;
	*out = NULL;
	cop_err err = cop_table_read(path, encoder, false, &data, &diag);
	if (err == COP_OK)
		err = make_table(encoder, &data, out);
	cop_dataset_free(data);
	return cop_door_error_report(err, &diag, message);
}

COP_DOOR_EXPORT coppice_err coppice_table_parse(
        const coppice_trained *trained, const char *csv, size_t length, coppice_table **out, coppice_message *message)
{
	const cop_encoder *encoder = trained->trained->preparation;
	cop_diag diag = { .message = "" };
	cop_dataset *data = NULL;
	cop_stream *stream;
	*out = NULL;
	cop_err err = cop_stream_open_memory("csv", csv, length, &stream, &diag);
	if (err == COP_OK) {
		err = cop_table_from(stream, false, encoder, false, &data, &diag);
		cop_stream_free(stream);
	}
	if (err == COP_OK)
		err = make_table(encoder, &data, out);
	cop_dataset_free(data);
	return cop_door_error_report(err, &diag, message);
}

COP_DOOR_EXPORT void coppice_table_free(coppice_table *table)
{
	if (table == NULL)
		return;
	cop_dataset_free(table->data);
	cop_mem_free(table);
}

COP_DOOR_EXPORT size_t coppice_table_rows(const coppice_table *table) { return table->data->n; }

COP_DOOR_EXPORT coppice_err coppice_table_predict(
        const coppice_table *table, size_t i, coppice_trained *trained, double *out, size_t *best)
{
	cop_diag diag = { .message = "" };
	cop_err err = COP_OK;
	cop_row row;
	if (table->data->d != coppice_trained_features(trained)) {
		cop_diag_message(&diag, "the table has %zu features, expected %zu: one that was read with this model",
		        table->data->d, coppice_trained_features(trained));
		err = COP_ESHAPE;
	} else if (i >= table->data->n) {
		cop_diag_message(&diag, "row %zu, expected one below %zu", i, table->data->n);
		err = COP_EINVAL;
	} else {
		cop_dataset_row(table->data, i, &row);
		cop_door_trained_predict(trained, &row, out, best);
	}
	return cop_door_error_report(err, &diag, &trained->message);
}
