/* Classes come from the file's targets as they are, regression targets are scaled as in training. A row without a
 * target keeps 0 and does not count as known. */
#include "labelled_rows.h"

#include <math.h>

#include "base/mem.h"

/* From the file's targets. */
static cop_err fill(cop_labelled *rows, const cop_encoder *preparation)
{
	size_t n = rows->data->n;
	rows->classes = cop_encoder_classes(preparation);
	if (rows->classes > 0)
		rows->label = cop_mem_alloc(n, sizeof *rows->label);
	else
		rows->target = cop_mem_alloc(n, sizeof *rows->target);
	if (rows->label == NULL && rows->target == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		double target = rows->data->target[i];
		if (isnan(target))
			continue;
		rows->known++;
		if (rows->classes > 0)
			rows->label[i] = (uint32_t)target;
		else
			rows->target[i] = (float)cop_encoder_to_scale(preparation, target);
	}
	return COP_OK;
}

cop_err cop_labelled_rows_train(const char *path, const cop_table_settings *settings, cop_labelled *rows,
        cop_encoder **preparation, cop_diag *diag)
{
	*rows = (cop_labelled){ 0 };
	cop_err err = cop_table_read_training(path, settings, &rows->data, preparation, diag);
	if (err != COP_OK)
		return err;
	err = cop_encoder_fit(*preparation, rows->data, rows->data->n, NULL);
	if (err == COP_OK) {
		cop_encoder_apply(*preparation, rows->data);
		err = fill(rows, *preparation);
	}
	if (err != COP_OK)
		cop_diag_of(diag, path, "%s", cop_err_text(err));
	return err;
}

cop_err cop_labelled_rows_read(
        const char *path, const cop_encoder *preparation, bool labelled, cop_labelled *rows, cop_diag *diag)
{
	*rows = (cop_labelled){ 0 };
	cop_err err = cop_table_read(path, preparation, labelled, &rows->data, diag);
	if (err != COP_OK)
		return err;
	cop_encoder_apply(preparation, rows->data);
	if (rows->data->n > 0 && !isnan(rows->data->target[0]) && fill(rows, preparation) != COP_OK) {
		cop_diag_of(diag, path, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	return COP_OK;
}

void cop_labelled_rows_fini(cop_labelled *rows)
{
	cop_dataset_free(rows->data);
	cop_mem_free(rows->label);
	cop_mem_free(rows->target);
	*rows = (cop_labelled){ 0 };
}
