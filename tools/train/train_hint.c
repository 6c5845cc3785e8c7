/* Classes that stand for kinds are numbered without holes and each is there for its rows; values of a count thin out
 * towards their ends. A hint may be wrong, so it is only printed. */
#include "train_hint.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_CLASSES 10
#define RARE_SHARE    0.05 /* of an even share of the rows */
#define LEAST_RARE    3    /* classes that are so rare, or missing */
#define LEAST_ROWS    20

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
