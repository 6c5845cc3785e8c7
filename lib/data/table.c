#include "data/table.h"

#include "base/assert.h"
#include "data/preparation_state.h"

cop_err cop_table_read_training(const char *path, const cop_table_settings *settings, cop_dataset **data,
        cop_preparation **preparation, cop_diag *diag)
{
	size_t classes = 0;
	*preparation = NULL;
	cop_err err = cop_dataset_read(path, data, diag);
	if (err == COP_OK && !settings->regression)
		err = cop_dataset_classes(*data, &classes, diag);
	if (err == COP_OK)
		err = cop_preparation_new((*data)->d, classes, preparation);
	if (err == COP_OK) {
		cop_preparation_set_scaling(*preparation, settings->scaling, settings->scale_target);
		return COP_OK;
	}
	cop_dataset_free(*data);
	*data = NULL;
	return err;
}

cop_err cop_table_read(
        const char *path, const cop_preparation *preparation, bool labelled, cop_dataset **data, cop_diag *diag)
{
	(void)labelled;
	cop_err err = cop_dataset_read(path, data, diag);
	if (err != COP_OK || (*data)->d == preparation->d)
		return err;
	cop_diag_set(diag, path, 0, 0, "%zu features; expected %zu as in training", (*data)->d, preparation->d);
	cop_dataset_free(*data);
	*data = NULL;
	return COP_ESHAPE;
}
