/* online/model_counters.h: what a model counts, and the one table of it: the checkpoint's section, the daemon's status
 * and metrics, and `coppice inspect` are written from its rows. Any thread, distinct counters. */
#ifndef COP_ONLINE_MODEL_COUNTERS_H
#define COP_ONLINE_MODEL_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

typedef enum cop_feedback_result {
	COP_FEEDBACK_APPLIED,
	COP_FEEDBACK_RECORDED,
	COP_FEEDBACK_DUPLICATE,
	COP_FEEDBACK_LATE,
	COP_FEEDBACK_UNKNOWN,
	COP_FEEDBACK_RESULTS
} cop_feedback_result;

/* "applied" ...; never NULL. */
const char *cop_feedback_result_text(cop_feedback_result result);

typedef struct cop_model_counters {
	uint64_t decisions; /* new ones */
	uint64_t repeated;  /* asked again while waiting */
	uint64_t greedy;    /* of the decisions, those that took the best predicted arm */
	uint64_t feedback[COP_FEEDBACK_RESULTS];
	uint64_t learned;   /* updates, from feedback and from expiry */
	uint64_t defaulted; /* expired and learned with the default loss */
	uint64_t dropped;   /* expired without any loss */
	uint64_t evicted;   /* gave way at pending_max */
	uint64_t refused;   /* updates that would have diverged */
	double loss_sum;    /* of learned losses, in loss_range; two-point: mean of both */
	double awaited;     /* seconds from decisions to their feedback, added up */
	uint64_t passed;    /* events of event logs that had been taken in before */
	uint64_t shorter;   /* contexts in which features that were added are unknown */
} cop_model_counters;

typedef enum cop_model_counter_kind {
	COP_MODEL_COUNTER_WHOLE, /* a uint64_t that only rises */
	COP_MODEL_COUNTER_WORDS, /* one of them for each of some words */
	COP_MODEL_COUNTER_SUM,   /* a double, which may fall */
} cop_model_counter_kind;

typedef struct cop_model_counter {
	const char *key;    /* in status; NULL: not shown */
	const char *metric; /* a family with the label `model`, of the daemon's table; NULL: none */
	size_t offset;      /* in cop_model_counters */
	cop_model_counter_kind kind;
	bool saved;               /* a part of the model's saved state, */
	bool quiet;               /* at its end, and only where it is not 0: one row at most */
	const char *label;        /* WORDS: of the metric, beside `model` */
	size_t count;             /* WORDS: how many */
	const char *const *words; /* the same: keys in status, values of the label */
} cop_model_counter;

/* In the order in which they are saved and shown. */
#define COP_MODEL_COUNTERS 13
extern const cop_model_counter cop_model_counters_table[COP_MODEL_COUNTERS];

/* The row's counter; of WORDS the i-th, of others i is 0. */
uint64_t cop_model_counters_whole(const cop_model_counters *counters, const cop_model_counter *row, size_t i);
double cop_model_counters_sum(const cop_model_counters *counters, const cop_model_counter *row);

/* Adds what `now` has more than `was`, which may be less than nothing: so that their distance stays as it is when `now`
 * takes the place of `was`. */
void cop_model_counters_shift(
        cop_model_counters *counters, const cop_model_counters *was, const cop_model_counters *now);

/* Appends the saved ones. */
void cop_model_counters_save(const cop_model_counters *counters, cop_bytes *bytes);
/* Reads what save wrote; others stay. COP_EFORMAT: other words, or too few bytes. */
COP_CHECK cop_err cop_model_counters_load(cop_model_counters *counters, cop_cursor *cursor);

#endif
