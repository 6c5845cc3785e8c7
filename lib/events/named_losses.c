/* A weighted sum may leave its range by what rounding adds; SLACK, of the range's width, is let pass and cut off. */
#include "events/named_losses.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define SLACK 1e-9

_Static_assert(
        sizeof(cop_loss_weights) == sizeof(uint64_t) + COP_NAMED_LOSSES_MOST * (COP_NAMED_LOSSES_NAME + sizeof(double)),
        "compared and copied as bytes");
_Static_assert(sizeof(cop_loss_ranges) == sizeof(cop_loss_weights) + COP_NAMED_LOSSES_MOST * sizeof(double),
        "compared and copied as bytes");

/* Bytes of the name that the text begins with. */
static size_t name_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
}

/* names: COP_NAMED_LOSSES_NAME bytes for each. */
static size_t find(const char *names, uint64_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count && length < COP_NAMED_LOSSES_NAME; i++) {
		const char *at = names + i * COP_NAMED_LOSSES_NAME;
		if (memcmp(at, name, length) == 0 && at[length] == '\0')
			return i;
	}
	return COP_NAMED_LOSSES_MOST;
}

/* Of one more name; NULL: it may come. */
static const char *refuse_name(const char *names, uint64_t count, const char *name, size_t length)
{
	char text[COP_NAMED_LOSSES_NAME] = "";
	if (length < COP_NAMED_LOSSES_NAME)
		memcpy(text, name, length);
	if (length == 0 || length >= COP_NAMED_LOSSES_NAME || name_length(text) != length)
		return "expected a name of 1 to 31 letters, digits, '.', '_' or '-'";
	if (find(names, count, name, length) < COP_NAMED_LOSSES_MOST)
		return "expected each name once";
	return count == COP_NAMED_LOSSES_MOST ? "expected at most 16 names" : NULL;
}

static bool is_number(double value) { return fabs(value) <= 1e100; }

const char *cop_named_losses_put_weight(cop_loss_weights *weights, const char *name, size_t length, double weight)
{
	const char *wrong = refuse_name(weights->name[0], weights->count, name, length);
	if (wrong == NULL && !is_number(weight))
		return "expected a weight of at most 1e100 in size";
	if (wrong != NULL)
		return wrong;
	memcpy(weights->name[weights->count], name, length);
	weights->weight[weights->count++] = weight;
	return NULL;
}

const char *cop_named_losses_put_range(
        cop_loss_ranges *ranges, const char *name, size_t length, double low, double high)
{
	const char *wrong = refuse_name(ranges->name[0], ranges->count, name, length);
	if (wrong == NULL && !(is_number(low) && is_number(high) && high - low > 1e-100))
		return "expected LOW < HIGH, at most 1e100 in size";
	if (wrong != NULL)
		return wrong;
	memcpy(ranges->name[ranges->count], name, length);
	ranges->low[ranges->count] = low;
	ranges->high[ranges->count++] = high;
	return NULL;
}

const char *cop_named_losses_add_weight(cop_loss_weights *weights, const char *text)
{
	size_t length = name_length(text);
	const char *value = text + length + 1;
	double weight = 0.0;
	bool number = text[length] == '=' && cop_number_parse(value, strlen(value), &weight) == COP_OK;
	if (text[length] != '\0' && !number)
		return "expected NAME=WEIGHT, or NAME alone for a loss that is only reported";
	return cop_named_losses_put_weight(weights, text, length, weight);
}

const char *cop_named_losses_add_list(cop_loss_weights *weights, const char *text)
{
	char part[COP_NAMED_LOSSES_NAME + COP_NUMBER_ROOM];
	const char *wrong = NULL;
	for (const char *at = text; wrong == NULL; at++) {
		size_t length = strcspn(at, ",");
		bool alone = memchr(at, '=', length) == NULL;
		if (length + 3 > sizeof part)
			return "expected shorter names and numbers";
		(void)snprintf(part, sizeof part, "%.*s%s", (int)length, at, alone ? "=1" : "");
		wrong = cop_named_losses_add_weight(weights, part);
		at += length;
		if (*at == '\0')
			break;
	}
	return wrong;
}

const char *cop_named_losses_add_range(cop_loss_ranges *ranges, const char *text)
{
	size_t length = name_length(text);
	double low, high;
	const char *value = text + length + 1;
	const char *colon = text[length] == '=' ? strchr(value, ':') : NULL;
	if (colon == NULL || cop_number_parse(value, (size_t)(colon - value), &low) != COP_OK ||
	        cop_number_parse(colon + 1, strlen(colon + 1), &high) != COP_OK)
		return "expected NAME=LOW:HIGH with LOW < HIGH";
	return cop_named_losses_put_range(ranges, text, length, low, high);
}

size_t cop_named_losses_find(const cop_loss_weights *weights, const char *name, size_t length)
{
	return find(weights->name[0], weights->count, name, length);
}

void cop_named_losses_range(const cop_named_losses *losses, size_t i, double *low, double *high)
{
	const char *name = losses->weights.name[i];
	size_t at = find(losses->ranges.name[0], losses->ranges.count, name, strlen(name));
	*low = at < COP_NAMED_LOSSES_MOST ? losses->ranges.low[at] : 0.0;
	*high = at < COP_NAMED_LOSSES_MOST ? losses->ranges.high[at] : 1.0;
}

void cop_named_losses_span(const cop_named_losses *losses, double *low, double *high)
{
	*low = *high = 0.0;
	for (size_t i = 0; i < losses->weights.count; i++) {
		double weight = losses->weights.weight[i], from, to;
		cop_named_losses_range(losses, i, &from, &to);
		*low += fmin(weight * from, weight * to);
		*high += fmax(weight * from, weight * to);
	}
}

static bool refuse_range(const cop_named_losses *losses, char out[COP_NAMED_LOSSES_TEXT])
{
	for (size_t i = 0; i < losses->ranges.count; i++) {
		const char *name = losses->ranges.name[i];
		if (cop_named_losses_find(&losses->weights, name, strlen(name)) < COP_NAMED_LOSSES_MOST)
			continue;
		(void)snprintf(
		        out, COP_NAMED_LOSSES_TEXT, "loss_ranges: %s is no loss, expected names of losses", name);
		return true;
	}
	return false;
}

bool cop_named_losses_fit(
        const cop_named_losses *losses, double loss_low, double loss_high, char out[COP_NAMED_LOSSES_TEXT])
{
	double low, high, slack = SLACK * (loss_high - loss_low);
	bool any = losses->weights.count == 0;
	if (refuse_range(losses, out))
		return false;
	for (size_t i = 0; i < losses->weights.count; i++)
		any = any || losses->weights.weight[i] != 0.0;
	if (!any) {
		(void)snprintf(out, COP_NAMED_LOSSES_TEXT,
		        "losses: nothing would be learned, expected at least one with a weight other than 0");
		return false;
	}
	cop_named_losses_span(losses, &low, &high);
	if (losses->weights.count == 0 || (low >= loss_low - slack && high <= loss_high + slack))
		return true;
	(void)snprintf(out, COP_NAMED_LOSSES_TEXT,
	        "losses: their weighted sum goes from %.6g to %.6g (loss_ranges), expected it within loss_range, "
	        "%.6g to %.6g",
	        low, high, loss_low, loss_high);
	return false;
}

double cop_named_losses_weigh(const cop_named_losses *losses, const cop_loss_values *values)
{
	double sum = 0.0;
	for (size_t i = 0; i < losses->weights.count; i++)
		if ((values->told >> i & 1u) != 0)
			sum += losses->weights.weight[i] * values->value[i];
	return sum;
}

void cop_named_losses_places(
        const cop_loss_weights *was, const cop_loss_weights *is, int8_t from[COP_NAMED_LOSSES_MOST])
{
	for (size_t i = 0; i < COP_NAMED_LOSSES_MOST; i++) {
		size_t at = i < is->count ? cop_named_losses_find(was, is->name[i], strlen(is->name[i]))
		                          : COP_NAMED_LOSSES_MOST;
		from[i] = at < COP_NAMED_LOSSES_MOST ? (int8_t)at : -1;
	}
}
