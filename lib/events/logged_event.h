/* events/logged_event.h: one event of a bandit log: what was known, what was done, what it cost.
 *
 * Readers fill it with views into their own memory, borrowed until their next call. Actions count from 0. */
#ifndef COP_EVENTS_LOGGED_EVENT_H
#define COP_EVENTS_LOGGED_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/event_id.h"
#include "linalg/row.h"

/* What readers refuse in a label: nothing that a log may hold gets near it, and one such cost would outweigh all. */
#define COP_LOGGED_COST_MAX        1e6
#define COP_LOGGED_PROBABILITY_MIN 1e-6

typedef struct cop_logged_event {
	uint64_t line;            /* where it begins, from 1; journals: the sequence number */
	cop_event_id id;          /* tag or event id; kind 0: none (or longer than an id may be) */
	cop_row x;                /* context; with candidates the features that they share */
	size_t candidates;        /* 0: numbered arms without features of their own */
	const cop_row *candidate; /* candidates of them, all of one dimension */
	const uint8_t *mask;      /* eligible arms, or candidates; NULL: all */
	size_t arms;              /* length of mask; 0 without one */
	bool labelled;            /* action, cost and p are known */
	bool learn;               /* labelled, and the log does not exclude it */
	uint32_t action;          /* of a log of values: the bin of y */
	bool has_y;               /* a value was played: */
	double y;                 /* it, in [0, 1] */
	double cost;              /* finite, at most COP_LOGGED_COST_MAX in size */
	double p;                 /* propensity of the action, in [COP_LOGGED_PROBABILITY_MIN, 1] */
	double weight;            /* > 0; 1 unless the log has another one */
	size_t features; /* as Vowpal Wabbit counts them, the constant and shared ones of every candidate included */
	size_t text;     /* bytes of the log that it took */
} cop_logged_event;

#endif
