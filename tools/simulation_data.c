/* Files are checked one by one before they are joined, while the lines of their rows are known. */
#include <stdio.h>
#include <string.h>

#include "simulation.h"

static cop_err read_one(const cop_sim_files *files, const char *path, cop_dataset **out, cop_diag *diag)
{
	size_t classes;
	char message[sizeof diag->message];
	cop_err err = cop_dataset_read(path, out, diag);
	if (err != COP_OK || files->values)
		return err;
	err = cop_dataset_classes(*out, &classes, diag);
	if (err == COP_OK)
		return COP_OK;
	(void)snprintf(message, sizeof message, "%s", diag->message);
	cop_diag_set(diag, path, diag->line, 0,
	        "%s; classes count from 0 (-1 and +1 become 0 and 1), numbers need --learner value", message);
	return err;
}

static cop_err misfit(const cop_sim_files *files, const char *path, const cop_dataset *ds, const cop_dataset *first,
        cop_err err, cop_diag *diag)
{
	if (err != COP_ESHAPE)
		cop_diag_set(diag, path, 0, 0, "%s", cop_err_text(err));
	else if (ds->sparse != first->sparse)
		cop_diag_set(diag, path, 0, 0, "it is %s, expected %s rows as in %s", ds->sparse ? "sparse" : "dense",
		        first->sparse ? "sparse" : "dense", files->data[0]);
	else
		cop_diag_set(diag, path, 0, 0, "%zu columns with the label, expected %zu as in %s", ds->d + 1,
		        first->d + 1, files->data[0]);
	return err;
}

cop_err cop_sim_read(const cop_sim_files *files, cop_dataset **data, cop_dataset **holdout, cop_diag *diag)
{
	cop_err err = read_one(files, files->data[0], data, diag);
	for (size_t i = 1; i < files->count && err == COP_OK; i++) {
		cop_dataset *more = NULL;
		err = read_one(files, files->data[i], &more, diag);
		if (err == COP_OK) {
			err = cop_dataset_append(*data, more);
			if (err != COP_OK)
				err = misfit(files, files->data[i], more, *data, err, diag);
		}
		cop_dataset_free(more);
	}
	if (err != COP_OK || files->holdout == NULL)
		return err;
	err = read_one(files, files->holdout, holdout, diag);
	if (err != COP_OK)
		return err;
	err = cop_dataset_align(*data, *holdout);
	return err == COP_OK ? COP_OK : misfit(files, files->holdout, *holdout, *data, err, diag);
}
