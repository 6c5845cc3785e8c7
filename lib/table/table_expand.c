/* What missing fields become is worked out over the columns as they were read, for every column, as a later file may
 * miss what training did not; then NaN is filled in place, and rows are written anew only when there is a category or a
 * feature that is 1 where a field was missing. */
#include "table/table_reader_private.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

typedef struct expansion {
	cop_encoder *p;
	const uint32_t *missing;
	cop_dataset *raw;
	float *some;     /* n, for medians */
	uint32_t *count; /* one for each category of a column */
} expansion;

static size_t place_of(const cop_encoder *p, size_t column) { return column - (column > p->target); }

/* ---- what is filled in ---- */

/* Values 0 to k of v[0, n) are the smallest ones afterwards, v[k] the largest of them (Hoare). */
static void select_smallest(float *v, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;
	while (low < high) {
		float pivot = v[low + (high - low) / 2];
		size_t i = low, j = high;
		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			float swap = v[i];
			v[i++] = v[j];
			v[j--] = swap;
		}
		/* v[low..j] <= pivot <= v[j + 1..high], and j < high */
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
}

/* Of n > 0 values, which it reorders. */
static double median(float *v, size_t n)
{
	select_smallest(v, n, n / 2);
	double middle = (double)v[n / 2];
	if (n % 2 == 1)
		return middle;
	float below = v[0];
	for (size_t i = 1; i < n / 2; i++)
		below = v[i] > below ? v[i] : below;
	return ((double)below + middle) / 2;
}

static double fill_of_number(expansion *e, size_t column)
{
	const cop_dataset *raw = e->raw;
	size_t used = 0;
	double sum = 0;
	for (size_t i = 0; i < raw->n; i++) {
		float x = raw->x[i * raw->d + place_of(e->p, column)];
		if (isnan(x))
			continue;
		sum += (double)x;
		if (e->some != NULL)
			e->some[used] = x;
		used++;
	}
	if (used == 0)
		return 0;
	return e->some != NULL ? median(e->some, used) : sum / (double)used;
}

/* The most frequent one, the first of equals; none when there is no category. */
static uint32_t fill_of_category(expansion *e, size_t column)
{
	const cop_dataset *raw = e->raw;
	size_t categories = e->p->column[column].categories, best = 0;
	memset(e->count, 0, categories * sizeof *e->count);
	for (size_t i = 0; i < raw->n; i++) {
		float x = raw->x[i * raw->d + place_of(e->p, column)];
		if (!isnan(x))
			e->count[(size_t)x]++;
	}
	for (size_t k = 1; k < categories; k++)
		best = e->count[k] > e->count[best] ? k : best;
	return categories == 0 ? COP_NAME_NONE : (uint32_t)best;
}

static cop_err find_fill(expansion *e, size_t c, const char **what)
{
	cop_column *column = &e->p->column[c];
	bool label = e->p->missing == COP_MISSING_LABEL;
	if (column->kind == COP_COLUMN_NUMBER) {
		column->fill = fill_of_number(e, c);
		column->indicator = label && e->missing[c] > 0;
		return COP_OK;
	}
	*what = "a column has 4096 categories and missing fields; expected fewer categories";
	if (column->kind == COP_COLUMN_CATEGORY && label)
		return e->missing[c] == 0 ? COP_OK : cop_encoder_category(e->p, c, "?", 1, &column->fill_category);
	if (column->kind == COP_COLUMN_CATEGORY)
		column->fill_category = fill_of_category(e, c);
	return COP_OK;
}

static cop_err find_fills(expansion *e, const char **what)
{
	cop_err err = COP_OK;
	if (e->p->missing == COP_MISSING_REFUSE)
		return COP_OK;
	e->count = cop_mem_alloc(COP_ENCODER_MAX_CATEGORIES, sizeof *e->count);
	if (e->p->missing == COP_MISSING_MEDIAN)
		e->some = cop_mem_alloc(e->raw->n, sizeof *e->some);
	if (e->count == NULL || (e->p->missing == COP_MISSING_MEDIAN && e->some == NULL))
		err = COP_ENOMEM;
	for (size_t c = 0; c < e->p->columns && err == COP_OK; c++)
		err = find_fill(e, c, what);
	cop_mem_free(e->count);
	cop_mem_free(e->some);
	return err;
}

/* ---- rows ---- */

/* Numbers stay where they are when every column but the target is one feature. */
static void fill_in_place(const expansion *e)
{
	for (size_t c = 0; c < e->p->columns; c++)
		for (size_t i = 0; e->missing[c] > 0 && i < e->raw->n; i++) {
			float *x = &e->raw->x[i * e->raw->d + place_of(e->p, c)];
			if (isnan(*x))
				*x = (float)e->p->column[c].fill;
		}
}

/* The features of a column's value, which are 0 before. */
static void spread(const cop_column *column, float x, float *row)
{
	float *to = row + column->first;
	if (column->kind == COP_COLUMN_IGNORED)
		return;
	if (column->kind == COP_COLUMN_NUMBER) {
		to[0] = isnan(x) ? (float)column->fill : x;
		if (column->indicator)
			to[1] = isnan(x) ? 1.0f : 0.0f;
	} else if (!isnan(x)) {
		to[(size_t)x] = 1;
	} else if (column->fill_category != COP_NAME_NONE) {
		to[column->fill_category] = 1;
	}
}

static cop_err expand(const expansion *e, cop_dataset **out)
{
	const cop_encoder *p = e->p;
	float *row = cop_mem_alloc(p->d, sizeof *row);
	cop_err err = row == NULL ? COP_ENOMEM : cop_dataset_new_dense(p->d, out);
	if (err == COP_OK)
		err = cop_dataset_reserve(*out, e->raw->n);
	for (size_t i = 0; i < e->raw->n && err == COP_OK; i++) {
		memset(row, 0, p->d * sizeof *row);
		for (size_t c = 0; c < p->columns; c++)
			if (c != p->target)
				spread(&p->column[c], e->raw->x[i * e->raw->d + place_of(p, c)], row);
		err = cop_dataset_push_dense(*out, row, e->raw->target[i]);
	}
	cop_mem_free(row);
	return err;
}

static bool stays(const cop_encoder *p)
{
	for (size_t c = 0; c < p->columns; c++)
		if ((p->column[c].kind != COP_COLUMN_NUMBER && c != p->target) || p->column[c].indicator)
			return false;
	return true;
}

cop_err cop_table_fill_and_expand(cop_encoder *p, const uint32_t *missing, cop_dataset **data, const char **what)
{
	expansion e = { .p = p, .missing = missing, .raw = *data };
	cop_dataset *expanded = NULL;
	cop_err err = find_fills(&e, what);
	if (err == COP_OK)
		err = cop_encoder_finish(p, what);
	if (err != COP_OK)
		return err;
	if (stays(p)) {
		fill_in_place(&e);
		return COP_OK;
	}
	err = expand(&e, &expanded);
	cop_dataset_free(err == COP_OK ? *data : expanded);
	if (err == COP_OK)
		*data = expanded;
	return err;
}
