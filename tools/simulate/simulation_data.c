/* Files are checked one by one before they are joined, while the lines of their rows are known. */
#include <stdio.h>
#include <string.h>

#include "simulation.h"

static cop_err read_one(const cop_sim_files *files, const char *path, cop_dataset **out, cop_diag *diag)
{
	size_t classes;
	cop_err err = cop_dataset_read(path, out, diag);
	if (err != COP_OK || files->values)
		return err;
	err = cop_dataset_classes(*out, &classes, diag);
	if (err == COP_OK)
		return COP_OK;
	const cop_diag why = *diag;
	cop_diag_at_line(diag, path, why.line, "%.300s; classes count from 0 (write -1 and +1 as 0 and 1)%s",
	        why.message, files->only_classes ? "" : ", numbers need --learner value");
	return err;
}

static cop_err misfit(const cop_sim_files *files, const char *path, const cop_dataset *ds, const cop_dataset *first,
        cop_err err, cop_diag *diag)
{
	if (err != COP_ESHAPE)
		cop_diag_of(diag, path, "%s", cop_err_text(err));
	else if (ds->sparse != first->sparse)
		cop_diag_of(diag, path, "it is %s, expected %s rows as in %s", ds->sparse ? "sparse" : "dense",
		        first->sparse ? "sparse" : "dense", files->data[0]);
	else
		cop_diag_of(diag, path, "%zu columns with the label, expected %zu as in %s", ds->d + 1, first->d + 1,
		        files->data[0]);
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

static void count_nonzeros(cop_learner_settings *l, const cop_dataset *data)
{
	for (size_t i = 0; i < data->n; i++)
		if (data->start[i + 1] - data->start[i] > l->max_nonzeros)
			l->max_nonzeros = data->start[i + 1] - data->start[i];
}

cop_err cop_sim_fit_dimension(cop_learner_settings *l, bool bits_given, const char *source, cop_dataset *data,
        cop_dataset *holdout, cop_diag *diag)
{
	if (!data->sparse) {
		l->features = data->d;
		if (!bits_given)
			return COP_OK;
		cop_diag_of(diag, source, "--bits goes with sparse data (libsvm), and this is dense");
		return COP_EINVAL;
	}
	while (!bits_given && l->bits < COP_LEARNER_MAX_BITS && (size_t)1 << l->bits < data->d)
		l->bits++;
	if ((size_t)1 << l->bits < data->d) {
		cop_diag_of(
		        diag, source, "feature index up to %zu, expected at most 2^%u (--bits)", data->d - 1, l->bits);
		return COP_ESHAPE;
	}
	count_nonzeros(l, data);
	data->d = (size_t)1 << l->bits;
	if (holdout != NULL) {
		count_nonzeros(l, holdout);
		holdout->d = data->d;
	}
	return COP_OK;
}

cop_err cop_sim_fit_items(cop_learner_settings *l, const cop_dataset *data, size_t classes, const char *path,
        cop_sim_items *items, cop_diag *diag)
{
	cop_sim_items_settings set = { .classes = classes, .sparse = data->sparse, .bits = l->bits, .path = path };
	cop_err err = cop_sim_items_init(items, &set, diag);
	if (err != COP_OK)
		return err;
	l->max_candidates = items->count;
	l->candidate_features = data->sparse ? 0 : items->features;
	for (size_t i = 0; data->sparse && i < items->count; i++)
		if (items->row[i].nnz > l->max_nonzeros)
			l->max_nonzeros = items->row[i].nnz;
	return COP_OK;
}
