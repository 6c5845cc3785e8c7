/* Rows lie one after the other in `value`; sparse ones have their indices beside them, zeros left out. */
#include "base/mem.h"
#include "simulation.h"

/* Row i of the file: all of its columns, the last one (a dataset's target) too. */
static float column(const cop_dataset *ds, size_t i, size_t j)
{
	return j < ds->d ? ds->x[i * ds->d + j] : (float)ds->target[i];
}

static void fill_row(cop_sim_items *items, const cop_sim_items_settings *set, const cop_dataset *ds, size_t i)
{
	float *value = items->value + i * items->features;
	uint32_t *index = items->index == NULL ? NULL : items->index + i * items->features;
	size_t nnz = 0;
	for (size_t j = 0; j < items->features; j++) {
		float x = ds != NULL ? column(ds, i, j) : i == j ? 1.0F : 0.0F;
		if (index == NULL) {
			value[j] = x;
		} else if (x != 0.0F) {
			value[nnz] = x;
			index[nnz++] = (uint32_t)j;
		}
	}
	if (index == NULL)
		items->row[i] = (cop_row){ .d = items->features, .dense = value };
	else
		items->row[i] = (cop_row){ .d = (size_t)1 << set->bits, .nnz = nnz, .index = index, .value = value };
}

static cop_err check(const cop_sim_items_settings *set, const cop_sim_items *items, cop_diag *diag)
{
	const char *path = set->path != NULL ? set->path : "";
	if (items->count < set->classes) {
		cop_diag_of(
		        diag, path, "%zu lines, expected one for each of the %zu classes", items->count, set->classes);
		return COP_ESHAPE;
	}
	if (items->count > COP_LEARNER_MAX_CANDIDATES) {
		cop_diag_of(
		        diag, path, "%zu candidates, expected at most %d", items->count, COP_LEARNER_MAX_CANDIDATES);
		return COP_ESHAPE;
	}
	if (set->sparse && items->features > (size_t)1 << set->bits) {
		cop_diag_of(diag, path, "%zu features, expected at most 2^%u (--bits)", items->features, set->bits);
		return COP_ESHAPE;
	}
	return COP_OK;
}

static cop_err read_items(const cop_sim_items_settings *set, cop_dataset **ds, cop_diag *diag)
{
	cop_err err = cop_dataset_read(set->path, ds, diag);
	if (err != COP_OK || !(*ds)->sparse)
		return err;
	cop_diag_of(diag, set->path, "expected csv, a line of numbers for each class");
	return COP_ESHAPE;
}

cop_err cop_sim_items_init(cop_sim_items *items, const cop_sim_items_settings *set, cop_diag *diag)
{
	cop_dataset *ds = NULL;
	*items = (cop_sim_items){ .count = set->classes, .features = set->classes };
	if (set->path != NULL) {
		cop_err err = read_items(set, &ds, diag);
		if (err != COP_OK) {
			cop_dataset_free(ds);
			return err;
		}
		items->count = ds->n;
		items->features = ds->d + 1;
	}
	cop_err err = check(set, items, diag);
	if (err == COP_OK) {
		items->row = cop_mem_alloc(items->count, sizeof *items->row);
		items->value = cop_mem_alloc(items->count * items->features, sizeof *items->value);
		items->index = set->sparse ? cop_mem_alloc(items->count * items->features, sizeof *items->index) : NULL;
		if (items->row == NULL || items->value == NULL || (set->sparse && items->index == NULL)) {
			err = COP_ENOMEM;
			cop_diag_message(diag, "%s", cop_err_text(err));
		}
	}
	for (size_t i = 0; err == COP_OK && i < items->count; i++)
		fill_row(items, set, ds, i);
	cop_dataset_free(ds);
	if (err != COP_OK)
		cop_sim_items_fini(items);
	return err;
}

void cop_sim_items_fini(cop_sim_items *items)
{
	cop_mem_free(items->row);
	cop_mem_free(items->value);
	cop_mem_free(items->index);
	*items = (cop_sim_items){ .count = 0 };
}
