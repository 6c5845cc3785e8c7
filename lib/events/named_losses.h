/* events/named_losses.h: several named losses of one decision, of which a weighted sum is learned.
 *
 * Of decision t the losses l_i, i in [0, count), lie in [low_i, high_i], each in units of its own. What is learned is
 * the sum of w_i l_i over those that are told; w_i = 0: only reported. Names are 1 to COP_NAMED_LOSSES_NAME - 1
 * letters, digits, '.', '_' or '-', and stay in the order in which they are given: a decision's values are by that
 * order. Plain structs, pure functions; any thread. */
#ifndef COP_EVENTS_NAMED_LOSSES_H
#define COP_EVENTS_NAMED_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define COP_NAMED_LOSSES_MOST 16
#define COP_NAMED_LOSSES_NAME 32 /* bytes, with the NUL */
#define COP_NAMED_LOSSES_TEXT 160

/* Zero beyond count. No padding. */
typedef struct cop_loss_weights {
	uint64_t count;
	char name[COP_NAMED_LOSSES_MOST][COP_NAMED_LOSSES_NAME];
	double weight[COP_NAMED_LOSSES_MOST];
} cop_loss_weights;

/* The same; of names that are not here it is [0, 1]. */
typedef struct cop_loss_ranges {
	uint64_t count;
	char name[COP_NAMED_LOSSES_MOST][COP_NAMED_LOSSES_NAME];
	double low[COP_NAMED_LOSSES_MOST], high[COP_NAMED_LOSSES_MOST];
} cop_loss_ranges;

typedef struct cop_named_losses {
	cop_loss_weights weights; /* count 0: losses have no names */
	cop_loss_ranges ranges;
} cop_named_losses;

/* A decision's, by the order of the weights. */
typedef struct cop_loss_values {
	uint32_t told; /* bit i: value[i] is */
	double value[COP_NAMED_LOSSES_MOST];
} cop_loss_values;

/* One more, of a name of that many bytes. NULL, or what was expected. */
const char *cop_named_losses_put_weight(cop_loss_weights *weights, const char *name, size_t length, double weight);
const char *cop_named_losses_put_range(
        cop_loss_ranges *ranges, const char *name, size_t length, double low, double high);
/* "NAME=WEIGHT" or "NAME" (weight 0) behind those that are there. NULL, or what was expected. */
const char *cop_named_losses_add_weight(cop_loss_weights *weights, const char *text);
/* The same of several with commas between; a name alone has the weight 1. */
const char *cop_named_losses_add_list(cop_loss_weights *weights, const char *text);
/* "NAME=LOW:HIGH". */
const char *cop_named_losses_add_range(cop_loss_ranges *ranges, const char *text);

/* The place of a name (length bytes); COP_NAMED_LOSSES_MOST: there is none. */
size_t cop_named_losses_find(const cop_loss_weights *weights, const char *name, size_t length);
void cop_named_losses_range(const cop_named_losses *losses, size_t i, double *low, double *high);
/* Between which the weighted sum of all lies. */
void cop_named_losses_span(const cop_named_losses *losses, double *low, double *high);
/* Whether a model of this loss_range can learn the sum; else out begins with the option that is wrong, "option: ", and
 * says what was expected. */
bool cop_named_losses_fit(
        const cop_named_losses *losses, double loss_low, double loss_high, char out[COP_NAMED_LOSSES_TEXT]);
/* What is learned of them. */
double cop_named_losses_weigh(const cop_named_losses *losses, const cop_loss_values *values);

/* Where each name of `is` stands in `was`, -1: it does not. */
void cop_named_losses_places(
        const cop_loss_weights *was, const cop_loss_weights *is, int8_t from[COP_NAMED_LOSSES_MOST]);

#endif
