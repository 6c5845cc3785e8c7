/* Classes that stand for kinds are numbered without holes and each is there for its rows; values of a count thin out
 * towards their ends. A hint may be wrong, so it is only printed. */
#include "train_hint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_CLASSES 10
#define RARE_SHARE    0.05 /* of an even share of the rows */
#define LEAST_RARE    3    /* classes that are so rare, or missing */
#define LEAST_ROWS    20
#define LEAST_NUMBERS 5 /* for each text of a column */
#define FEW_STEPS     4096.0
#define WIDE          16777216.0F /* beyond, floats leave out whole numbers */

static bool number_of(const char *text, double *value)
{
	char *end;
	*value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*value);
}

static size_t rows_of(const cop_labelled *rows, size_t k)
{
	size_t n = 0;
	for (size_t i = 0; i < rows->data->n; i++)
		n += rows->label[i] == k;
	return n;
}

bool cop_train_hint_numbers(const cop_labelled *rows, const cop_encoder *preparation)
{
	double least = HUGE_VAL;
	double most = -HUGE_VAL;
	bool whole = true;
	size_t rare = 0;
	for (size_t k = 0; k < rows->classes; k++) {
		double value;
		if (!number_of(cop_encoder_class(preparation, k), &value))
			return false;
		whole = whole && value == nearbyint(value);
		least = fmin(least, value);
		most = fmax(most, value);
		double even = (double)rows->known / (double)rows->classes;
		rare += rows->classes >= LEAST_CLASSES && (double)rows_of(rows, k) < RARE_SHARE * even;
	}
	if (!whole)
		return true;
	double missing = most - least + 1.0 - (double)rows->classes;
	return rows->classes >= LEAST_CLASSES && (double)rare + missing >= LEAST_RARE;
}

bool cop_train_hint_name(
        const cop_labelled *rows, const cop_encoder *preparation, const char **column, size_t *place, size_t *texts)
{
	*column = cop_encoder_widest(preparation, place, texts);
	return *column != NULL && rows->data->n >= LEAST_ROWS && *texts > rows->data->n / 2;
}

bool cop_train_hint_mixed(const cop_encoder *preparation, cop_train_mixed *mixed)
{
	const size_t d = cop_encoder_features(preparation);
	size_t texts = 0;
	*mixed = (cop_train_mixed){ 0 };
	for (size_t j = 0; j < d; j++) {
		const char *name = cop_encoder_feature(preparation, j);
		const size_t stem = cop_encoder_stem(preparation, j);
		const bool same =
		        stem == mixed->length && mixed->column != NULL && memcmp(name, mixed->column, stem) == 0;
		if (!same && texts > 0 && mixed->numbers >= LEAST_NUMBERS * texts)
			return true;
		if (!same) {
			*mixed = (cop_train_mixed){ .column = stem == 0 ? NULL : name, .length = stem };
			texts = 0;
		}
		double value;
		if (stem == 0 || strcmp(name + stem, "=?") == 0)
			continue;
		if (number_of(name + stem + 1, &value))
			mixed->numbers++;
		else if (texts++ == 0)
			mixed->text = name + stem + 1;
	}
	return texts > 0 && mixed->numbers >= LEAST_NUMBERS * texts;
}

/* Least and greatest value of a feature before it was scaled. */
static void range_of(const cop_dataset *data, const cop_encoder *preparation, size_t j, float *least, float *most)
{
	double shift, scale;
	float low = HUGE_VALF, high = -HUGE_VALF;
	cop_encoder_scale(preparation, j, &shift, &scale);
	for (size_t i = 0; i < data->n; i++) {
		low = fminf(low, data->x[i * data->d + j]);
		high = fmaxf(high, data->x[i * data->d + j]);
	}
	*least = (float)(scale > 0 ? (double)low / scale + shift : shift);
	*most = (float)(scale > 0 ? (double)high / scale + shift : shift);
}

bool cop_train_hint_lost(
        const cop_labelled *rows, const cop_encoder *preparation, size_t *feature, double *value, double *step)
{
	const cop_dataset *data = rows->data;
	for (size_t j = 0; !data->sparse && j < data->d; j++) {
		float least, most;
		range_of(data, preparation, j, &least, &most);
		const float inner = least > 0 ? least : -most;
		const float outer = fmaxf(most, -least);
		if (!(inner > WIDE) || !isfinite(outer))
			continue;
		*feature = j;
		*value = (double)(least > 0 ? outer : -outer);
		*step = (double)outer - (double)nextafterf(outer, 0);
		if ((double)most - (double)least < FEW_STEPS * *step)
			return true;
	}
	return false;
}
